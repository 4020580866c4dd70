/* SPDX-License-Identifier: Apache-2.0 */
/* exec/value.h: an array in device memory that is there, or will be. */
#ifndef HALO_EXEC_VALUE_H
#define HALO_EXEC_VALUE_H

#include "opencl/event.h"
#include "opencl/opencl.h"

/* Reference-counted. The block has the value's memory when `ready` is no longer pending. */
typedef struct halo_device_value {
  atomic_int references;
  halo_cl_device *device; /* a reference */
  halo_cl_event *ready;   /* a reference; NULL: the value is there */
  halo_cl_block *block; /* a reference; may be NULL while `ready` is pending, and when it failed */
} halo_device_value;

/* Takes over one reference each to `block` and `ready` (both may be NULL). Cannot fail. */
halo_device_value *halo_device_value_create(halo_cl_device *device, halo_cl_block *block,
                                            halo_cl_event *ready);
void halo_device_value_retain(halo_device_value *value);
void halo_device_value_release(halo_device_value *value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* exec/value.c: values as counted objects. */
#include "exec/value.h"

#include "base/memory.h"

halo_device_value *halo_device_value_create(halo_cl_device *device, halo_cl_block *block,
                                            halo_cl_event *ready) {
  halo_device_value *value = halo_alloc(sizeof *value);
  atomic_init(&value->references, 1);
  value->device = device;
  halo_cl_device_retain(device);
  value->block = block;
  value->ready = ready;
  return value;
}

void halo_device_value_retain(halo_device_value *value) { atomic_fetch_add(&value->references, 1); }

void halo_device_value_release(halo_device_value *value) {
  if (!value || atomic_fetch_sub(&value->references, 1) != 1) return;
  halo_cl_free(value->block);
  halo_cl_event_release(value->ready);
  halo_cl_device_release(value->device);
  halo_free(value);
}

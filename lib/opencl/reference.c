/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/reference.c: references to a device, and what those who hold one ask of it. */
#include "opencl/private.h"

void halo_cl_device_retain(halo_cl_device *device) { atomic_fetch_add(&device->references, 1); }

void halo_cl_device_release(halo_cl_device *device) {
  if (device && atomic_fetch_sub(&device->references, 1) == 1) device->destroy(device);
}

bool halo_cl_take_sync_queue(halo_cl_device *device) {
  return device->sync_queue && !atomic_exchange(&device->sync_queue_taken, true);
}

void halo_cl_give_sync_queue(halo_cl_device *device) {
  atomic_store(&device->sync_queue_taken, false);
}

halo_status halo_cl_device_check_runs(const halo_cl_device *device, const char *what) {
  if (!device->caps.is_null) return halo_cl_process_check();
  return halo_fail(HALO_UNIMPLEMENTED, "%s needs a device that can run; \"%s\" is a null device",
                   what, device->caps.name);
}

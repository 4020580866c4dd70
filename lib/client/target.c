/* client/target.c: what things cost on a device, for the passes. */
#include "client/executable.h"

enum { TARGET_BYTES_MAX = 1024 }; /* of arguments that kernels get, however many a device allows */

halo_target halo_target_of_device(const halo_caps *caps) {
  halo_target target = caps->is_cpu ? halo_target_cpu : halo_target_gpu;
  uint64_t bytes = caps->max_parameters ? caps->max_parameters : TARGET_BYTES_MAX;
  if (bytes > TARGET_BYTES_MAX) bytes = TARGET_BYTES_MAX;
  /* A pointer and an offset each; two are left for scratch. */
  target.max_buffers = (int32_t)(bytes / (caps->address_bits / 8 + 8)) - 2;
  return target;
}

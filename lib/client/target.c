/* SPDX-License-Identifier: Apache-2.0 */
/* client/target.c: a device as passes and kernels see it. */
#include "client/executable.h"

enum { TARGET_BYTES_MAX = 1024 }; /* of arguments that kernels get, however many a device allows */

halo_target halo_target_of_device(const halo_device *device) {
  const halo_caps *caps = &device->cl->caps;
  halo_target target = {.prices = device->tuned->tuning.prices,
                        .parameters = device->tuned->tuning.parameters};
  target.has_f64 = caps->has_f64;
  target.exact_division = caps->correctly_rounded;
  target.max_rounds = caps->max_rounds;
  uint64_t bytes = caps->max_parameters ? caps->max_parameters : TARGET_BYTES_MAX;
  if (bytes > TARGET_BYTES_MAX) bytes = TARGET_BYTES_MAX;
  /* A pointer and an offset each; two are left for scratch. */
  target.max_buffers = (int32_t)(bytes / (caps->address_bits / 8 + 8)) - 2;
  return target;
}

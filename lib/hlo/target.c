/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/target.c: targets of which nothing is known but their kind. */
#include "hlo/target.h"

static halo_target target_of_kind(const halo_prices *prices) {
  return (halo_target){
      .prices = *prices, .max_buffers = 60, .has_f64 = true, .exact_division = true};
}

halo_target halo_target_cpu(void) { return target_of_kind(&halo_prices_cpu); }

halo_target halo_target_gpu(void) { return target_of_kind(&halo_prices_gpu); }

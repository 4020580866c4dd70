/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/target.c: targets of which nothing is known but their kind. */
#include "hlo/target.h"

static halo_target target_of_kind(const halo_prices *prices, const halo_parameters *parameters) {
  return (halo_target){.prices = *prices,
                       .parameters = *parameters,
                       .max_buffers = 60,
                       .has_f64 = true,
                       .exact_division = true};
}

halo_target halo_target_cpu(void) { return target_of_kind(&halo_prices_cpu, &halo_parameters_cpu); }

halo_target halo_target_gpu(void) { return target_of_kind(&halo_prices_gpu, &halo_parameters_gpu); }

static double target_rate(double whole, double one, double items) {
  double some = one * (items > 1 ? items : 1);
  return some < whole ? some : whole;
}

double halo_target_operations(const halo_target *target, double operations, double items) {
  const halo_prices *p = &target->prices;
  return operations / target_rate(p->rate, p->item_rate, items);
}

double halo_target_bytes(const halo_target *target, double bytes, double items) {
  const halo_prices *p = &target->prices;
  return bytes / target_rate(p->bandwidth, p->item_bandwidth, items);
}

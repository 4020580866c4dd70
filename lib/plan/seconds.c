/* SPDX-License-Identifier: Apache-2.0 */
/* plan/seconds.c: what a plan is expected to take. */
#include "plan/lower.h"
#include "plan/lowering.h"

typedef struct seconds_site {
  const halo_target *target;
  const halo_caps *caps;
} seconds_site;

static double seconds_of_list(const halo_steps *steps, const seconds_site *at);

static double seconds_of_loop(const halo_step *step, const seconds_site *at) {
  bool known = step->trips >= 0;
  double round = known ? 0 : at->target->prices.region_wait * at->target->prices.launch;
  for (int32_t l = 0; l < step->list_count; l++) round += seconds_of_list(&step->lists[l], at);
  return round * (known ? (double)step->trips : LOWER_ROUNDS);
}

/* The branch that takes longest. */
static double seconds_of_branches(const halo_step *step, const seconds_site *at) {
  double most = 0;
  for (int32_t l = 0; l < step->list_count; l++) {
    double branch = seconds_of_list(&step->lists[l], at);
    if (branch > most) most = branch;
  }
  return most + at->target->prices.region_wait * at->target->prices.launch;
}

static double seconds_of_step(const halo_step *step, const seconds_site *at) {
  const halo_prices *p = &at->target->prices;
  if (step->kind == HALO_STEP_WHILE) return step->goes_on ? 0 : seconds_of_loop(step, at);
  if (step->kind == HALO_STEP_CONDITIONAL) return seconds_of_branches(step, at);
  if (step->kind == HALO_STEP_COPY) return p->launch + (double)step->bytes / p->bandwidth;
  if (step->kind == HALO_STEP_KERNEL) {
    return p->launch + lower_work(at->target, at->caps, step, lower_items(step));
  }
  return step->seconds > p->launch ? step->seconds : p->launch;
}

static double seconds_of_list(const halo_steps *steps, const seconds_site *at) {
  double sum = 0;
  for (int32_t i = 0; i < steps->count; i++) sum += seconds_of_step(&steps->data[i], at);
  return sum;
}

double halo_plan_seconds(const halo_plan *plan, const halo_target *target, const halo_caps *caps) {
  seconds_site at = {target, caps};
  return seconds_of_list(&plan->steps, &at);
}

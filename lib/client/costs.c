/* client/costs.c: what a compiled program takes, from its plan. */
#include "client/executable.h"

#include <string.h>

typedef struct costs_work {
  double flops, traffic;
} costs_work;

/* Of one round through a list, with the rounds of what is in it. */
static costs_work costs_of_list(const halo_steps *steps) {
  costs_work sum = {0};
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    double rounds = step->kind == HALO_STEP_WHILE && step->trips >= 0 ? (double)step->trips : 1;
    costs_work inner = {0};
    /* Of kernels without products or sums the simple operations count. */
    sum.flops += step->flops > 0        ? (double)step->flops
                 : step->operations > 0 ? step->operations
                                        : 0;
    sum.traffic += (double)(step->kind == HALO_STEP_COPY ? 2 * step->bytes : step->bytes);
    for (int32_t l = 0; l < step->list_count; l++) {
      costs_work list = costs_of_list(&step->lists[l]);
      if (step->kind != HALO_STEP_CONDITIONAL) {
        inner.flops += list.flops;
        inner.traffic += list.traffic;
      } else if (list.flops + list.traffic > inner.flops + inner.traffic) {
        inner = list;
      }
    }
    sum.flops += rounds * inner.flops;
    sum.traffic += rounds * inner.traffic;
  }
  return sum;
}

void halo_executable_get_costs(const halo_executable *e, halo_executable_costs *out) {
  const halo_plan *plan = halo_executable_plan(e);
  *out = (halo_executable_costs){.constants = plan->constant_bytes};
  for (int32_t i = 0; i < plan->argument_count; i++) {
    out->arguments += halo_shape_byte_size(plan->arguments[i]);
  }
  for (int32_t r = 0; r < plan->result_count; r++) {
    int64_t size = halo_shape_byte_size(plan->results[r]);
    const halo_plan_buffer *buffer = &plan->buffers.data[plan->result_buffers[r]];
    out->results += size;
    if (plan->result_alias[r] >= 0 || buffer->place == HALO_PLACE_ARGUMENT) out->aliased += size;
  }
  for (int32_t a = 0; a < plan->arenas.count; a++) out->temporaries += plan->arenas.data[a];
  for (int32_t u = 0; u < plan->units.count; u++) {
    out->code += (int64_t)strlen(plan->units.data[u].text);
  }
  costs_work work = costs_of_list(&plan->steps);
  out->flops = work.flops;
  out->traffic = work.traffic;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/costs.c: what a compiled program takes, from its plan. */
#include "client/executable.h"

#include <string.h>

/* As far as 64 bits go. */
static int64_t costs_sum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

void halo_executable_get_costs(const halo_executable *e, halo_executable_costs *out) {
  const halo_plan *plan = halo_executable_plan(e);
  *out = (halo_executable_costs){.constants = plan->constant_bytes};
  for (int32_t i = 0; i < plan->argument_count; i++) {
    out->arguments = costs_sum(out->arguments, halo_shape_byte_size(plan->arguments[i]));
  }
  for (int32_t r = 0; r < plan->result_count; r++) {
    int64_t size = halo_shape_byte_size(plan->results[r]);
    const halo_plan_buffer *buffer = &plan->buffers.data[plan->result_buffers[r]];
    out->results = costs_sum(out->results, size);
    bool aliased = plan->result_alias[r] >= 0 || buffer->place == HALO_PLACE_ARGUMENT;
    if (aliased) out->aliased = costs_sum(out->aliased, size);
  }
  for (int32_t a = 0; a < plan->arenas.count; a++) {
    const halo_plan_arena *arena = &plan->arenas.data[a];
    if (arena->result < 0) out->temporaries = costs_sum(out->temporaries, arena->size);
  }
  for (int32_t u = 0; u < plan->units.count; u++) {
    out->code += (int64_t)halo_plan_unit_bytes(&plan->units.data[u]);
  }
  for (int32_t i = 0; i < plan->steps.count; i++) {
    halo_plan_work work = halo_step_work(&plan->steps.data[i]);
    out->flops += work.flops;
    out->traffic += work.traffic;
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_entry.c: a program's arguments and results as buffers. */
#include "plan/lowering.h"

void lower_arguments(lower_state *s, const halo_module *module, int32_t **out) {
  halo_plan *plan = s->plan;
  int32_t leaves = 0, next = 0;
  for (int32_t p = 0; p < module->entry->params.count; p++) {
    leaves += halo_shape_leaf_count(module->entry_params[p]);
  }
  int32_t *ids = halo_arena_array(&plan->arena, int32_t, leaves);
  plan->arguments = halo_arena_array(&plan->arena, const halo_shape *, leaves);
  for (int32_t p = 0; p < module->entry->params.count; p++) {
    int32_t count;
    const halo_shape **shapes = lower_leaf_shapes(s, module->entry_params[p], &count);
    for (int32_t l = 0; l < count; l++) {
      ids[next] = LOWER_NO_BUFFER;
      if (halo_shape_is_array(shapes[l])) {
        ids[next] =
            lower_buffer(s, HALO_PLACE_ARGUMENT, plan->argument_count,
                         halo_shape_byte_size(shapes[l]), module->entry->params.data[p]->name);
        s->plan->buffers.data[ids[next]].first = -1;
        plan->arguments[plan->argument_count++] = halo_shape_clone(&plan->arena, shapes[l]);
      }
      next++;
    }
  }
  plan->size_argument_count = module->entry->params.count - halo_module_visible_params(module);
  *out = ids;
}

void lower_results(lower_state *s, const halo_module *module, const int32_t *root) {
  halo_plan *plan = s->plan;
  int32_t leaves;
  const halo_shape **shapes = lower_leaf_shapes(s, module->entry_result, &leaves);
  if (halo_module_sizes_are_values(module)) {
    plan->size_result_count = halo_shape_dynamic_count(module->entry_result);
  }
  plan->results = halo_arena_array(&plan->arena, const halo_shape *, leaves);
  plan->result_buffers = halo_arena_array(&plan->arena, int32_t, leaves);
  plan->result_alias = halo_arena_array(&plan->arena, int32_t, leaves);
  plan->result_offered = halo_arena_array(&plan->arena, bool, leaves);
  for (int32_t l = 0; l < leaves; l++) {
    if (!halo_shape_is_array(shapes[l])) continue;
    int32_t n = plan->result_count++;
    plan->results[n] = halo_shape_clone(&plan->arena, shapes[l]);
    plan->result_alias[n] = -1;
    plan->result_buffers[n] = root[l];
    if (plan->buffers.data[root[l]].place == HALO_PLACE_ARGUMENT) continue;
    int32_t id = lower_buffer(s, HALO_PLACE_RESULT, n, halo_shape_byte_size(shapes[l]), "result");
    lower_copy(s, &plan->steps, root[l], id, "result");
    plan->result_buffers[n] = id;
  }
}

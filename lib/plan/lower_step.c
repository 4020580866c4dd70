/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_step.c: steps and their arguments. */
#include "plan/lowering.h"

#include <string.h>

halo_step *lower_step(lower_state *s, halo_steps *steps, halo_step_kind kind, const char *label) {
  halo_vec_reserve(steps, steps->count + 1);
  halo_step *step = &steps->data[steps->count++];
  *step = (halo_step){.kind = kind,
                      .number = s->clock++,
                      .unit = -1,
                      .label = label ? halo_arena_strdup(&s->plan->arena, label) : "",
                      .operations = -1,
                      .trips = -1};
  return step;
}

void lower_set_args(lower_state *s, halo_step *step, int32_t count) {
  step->args = halo_arena_array(&s->plan->arena, halo_plan_arg, count);
  step->arg_count = count;
}

const char *lower_value_name(const lower_state *s, const halo_step *step) {
  return halo_arena_strndup(&s->plan->arena, step->label, strcspn(step->label, " "));
}

halo_steps *lower_lists(lower_state *s, halo_step *step, int32_t count) {
  step->lists = halo_arena_array(&s->plan->arena, halo_steps, count);
  step->list_count = count;
  return step->lists;
}

void lower_arg(lower_state *s, halo_step *step, int32_t i, int32_t buffer, size_t element,
               bool written) {
  step->args[i] = (halo_plan_arg){buffer, (int32_t)element, written};
  lower_touch(s, buffer, step->number);
}

void lower_copy(lower_state *s, halo_steps *steps, int32_t from, int32_t to, const char *label) {
  int64_t bytes = s->plan->buffers.data[to].size;
  if (bytes == 0 || from == to) return;
  halo_step *step = lower_step(s, steps, HALO_STEP_COPY, label);
  lower_set_args(s, step, 2);
  lower_arg(s, step, 0, from, 1, false);
  lower_arg(s, step, 1, to, 1, true);
  step->bytes = bytes;
}

void lower_random(lower_state *s, halo_instr *instr, halo_steps *steps) {
  int32_t *leaves = lower_leaves(s, instr);
  leaves[0] = lower_temp(s, instr->shape, instr->name);
  halo_step *step = lower_step(s, steps, HALO_STEP_RANDOM, instr->name);
  step->delta = halo_instr_int(instr, HALO_ATTR_DELTA, 0);
  lower_set_args(s, step, 1);
  lower_arg(s, step, 0, leaves[0], 1, true);
  step->bytes = halo_shape_byte_size(instr->shape);
}

double lower_items(const halo_step *step) {
  enum { COPIED = 16 }; /* bytes by a work item */
  if (step->kind == HALO_STEP_COPY) return (double)step->bytes / COPIED;
  return halo_grid_count(&step->grid);
}

double lower_work(const halo_target *target, const halo_caps *caps, const halo_step *step,
                  double items) {
  const halo_prices *p = &target->prices;
  double bytes = (double)step->bytes, work = halo_target_bytes(target, bytes, items);
  double operations = halo_target_operations(target, step->operations, items);
  bool simple = step->kind == HALO_STEP_COPY || step->operations >= 0;
  if (!simple) {
    /* The price is of all its work items together. */
    double all = lower_items(step), one = halo_target_operations(target, 1, all);
    double apart = (step->seconds - p->launch) * halo_target_operations(target, 1, items) / one;
    return apart > work ? apart : work;
  }
  if (caps->is_cpu && bytes <= p->shared_bytes) {
    work /= bytes <= p->near_bytes ? p->near_gain : p->shared_gain;
  }
  if (caps->is_cpu) operations /= p->vector_gain;
  return operations > work ? operations : work;
}

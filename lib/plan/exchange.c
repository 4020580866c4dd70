/* SPDX-License-Identifier: Apache-2.0 */
/* plan/exchange.c: loops whose state changes places with what a round makes of it, instead of being copied. */
#include "plan/lowering.h"

/* The last number in a step. */
int32_t lower_last_number(const halo_step *step) {
  int32_t last = step->number;
  for (int32_t l = 0; l < step->list_count; l++) {
    int32_t count = step->lists[l].count;
    if (!count) continue;
    int32_t inner = lower_last_number(&step->lists[l].data[count - 1]);
    if (inner > last) last = inner;
  }
  return last;
}

/* What runs aside keeps the places that it was started with. */
static bool exchange_has_pairs(const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    if (step->kind == HALO_STEP_START || step->kind == HALO_STEP_DONE) return true;
    for (int32_t l = 0; l < step->list_count; l++) {
      if (exchange_has_pairs(&step->lists[l])) return true;
    }
  }
  return false;
}

static bool exchange_uses(const halo_step *copy, int32_t buffer) {
  return copy->args[0].buffer == buffer || copy->args[1].buffer == buffer;
}

/* Whether the last thing that is done with a value of the round is this copy of it to another place, which
 * nobody asks for what was copied before the round is over: `behind` are the copies that follow. */
static bool exchange_is_one(const halo_plan *plan, const halo_steps *body, const halo_step *copy,
                            const halo_step *behind, int32_t behind_count) {
  int32_t from = copy->args[0].buffer, to = copy->args[1].buffer;
  const halo_plan_buffer *source = &plan->buffers.data[from], *target = &plan->buffers.data[to];
  bool own = source->place == HALO_PLACE_TEMP && source->first >= body->data[0].number &&
             source->last == copy->number && source->size == target->size;
  if (!own || (target->place != HALO_PLACE_TEMP && target->place != HALO_PLACE_RESULT))
    return false;
  for (int32_t i = 0; i < behind_count; i++) {
    if (exchange_uses(&behind[i], from) || exchange_uses(&behind[i], to)) return false;
  }
  return true;
}

static void exchange_in_loop(lower_state *s, halo_step *loop) {
  enum { BODY = 1 };
  halo_plan *plan = s->plan;
  halo_steps *body = &loop->lists[BODY];
  int32_t end = lower_last_number(loop) + 1, first = body->count, kept = 0;
  if (end >= s->clock) end = s->clock - 1;
  while (first && body->data[first - 1].kind == HALO_STEP_COPY) first--;
  int32_t copies = body->count - first;
  if (!copies || exchange_has_pairs(body)) return;
  loop->exchanges = halo_arena_array(&plan->arena, halo_plan_exchange, copies);
  halo_step *copy = &body->data[first];
  for (int32_t i = copies - 1; i >= 0; i--) {
    /* Those that stay are at the end of the list, in their order. */
    halo_step one = copy[i];
    if (!exchange_is_one(plan, body, &one, &copy[copies - kept], kept)) {
      copy[copies - ++kept] = one;
      continue;
    }
    halo_plan_exchange *pair = &loop->exchanges[loop->exchange_count++];
    *pair = (halo_plan_exchange){one.args[1].buffer, one.args[0].buffer, one.bytes};
    lower_touch(s, pair->state, loop->number);
    lower_touch(s, pair->state, end);
    lower_touch(s, pair->next, loop->number);
    lower_touch(s, pair->next, end);
    plan->buffers.data[pair->state].moves = plan->buffers.data[pair->next].moves = true;
  }
  for (int32_t i = 0; i < kept; i++) copy[i] = copy[copies - kept + i];
  body->count = first + kept;
}

static void exchange_in_list(lower_state *s, halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    for (int32_t l = 0; l < step->list_count; l++) exchange_in_list(s, &step->lists[l]);
    if (step->kind == HALO_STEP_WHILE) exchange_in_loop(s, step);
  }
}

void lower_exchanges(lower_state *s) { exchange_in_list(s, &s->plan->steps); }

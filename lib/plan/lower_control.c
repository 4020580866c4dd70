/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_control.c: loops, whose state stays in one set of buffers, and branches. */
#include "base/memory.h"
#include "passes/loops/trip_count.h"
#include "plan/lowering.h"

#include <stdlib.h>

/* ---- The state of a loop ---- */

/* State := next state, for all leaves at once: values that are themselves parts of the old state are
 * saved before any part is overwritten. */
static void lower_assign_state(lower_state *s, halo_steps *steps, const int32_t *state,
                               const int32_t *next, int32_t count, const char *label) {
  int32_t *from = halo_arena_array(&s->plan->arena, int32_t, count);
  halo_map parts = {0};
  for (int32_t l = 0; l < count; l++) {
    if (state[l] >= 0) halo_map_set(&parts, &state[l], sizeof state[l], s);
  }
  for (int32_t l = 0; l < count; l++) {
    from[l] = next[l];
    if (state[l] < 0 || next[l] < 0 || next[l] == state[l]) continue;
    if (!halo_map_get(&parts, &next[l], sizeof next[l])) continue;
    from[l] = lower_buffer(s, HALO_PLACE_TEMP, 0, s->plan->buffers.data[next[l]].size, label);
    lower_copy(s, steps, next[l], from[l], label);
  }
  halo_map_deinit(&parts);
  for (int32_t l = 0; l < count; l++) {
    if (state[l] >= 0 && from[l] >= 0) lower_copy(s, steps, from[l], state[l], label);
  }
}

/* Which leaves of a loop's state its body hands on as they are. Looks through one tuple, which is what
 * front ends write; others merely cost a copy. */
static bool *lower_find_invariants(lower_state *s, const halo_computation *body, int32_t count) {
  bool *invariant = halo_arena_array(&s->plan->arena, bool, count);
  const halo_instr *root = body->root;
  if (root->opcode == HALO_OP_PARAMETER) {
    for (int32_t l = 0; l < count; l++) invariant[l] = true;
  }
  if (root->opcode != HALO_OP_TUPLE) return invariant;
  int32_t start = 0;
  for (int32_t i = 0; i < root->operand_count; i++) {
    const halo_instr *element = root->operands[i];
    int32_t leaves = halo_shape_leaf_count(element->shape);
    bool same = element->opcode == HALO_OP_GET_TUPLE_ELEMENT &&
                element->operands[0]->opcode == HALO_OP_PARAMETER &&
                halo_instr_int(element, HALO_ATTR_INDEX, 0) == i;
    for (int32_t l = 0; l < leaves; l++) invariant[start + l] = same;
    start += leaves;
  }
  return invariant;
}

/* Which leaves nobody needs, of a loop that asks nobody how long it is. */
static bool *lower_find_dead(lower_state *s, const halo_instr *loop, int32_t count) {
  bool *dead = halo_arena_array(&s->plan->arena, bool, count);
  const bool *live = halo_noted_trip_count(loop) >= 0 ? lower_find_live(s, loop) : NULL;
  for (int32_t i = 0; live && i < loop->shape->count; i++) {
    int32_t start = halo_leaf_start(loop->shape, i);
    int32_t leaves = halo_shape_leaf_count(loop->shape->elements[i]);
    for (int32_t l = 0; l < leaves; l++) dead[start + l] = !live[i];
  }
  return dead;
}

/* Where an instruction comes in a computation: behind others of the same position, by turn. */
typedef struct lower_order {
  halo_instr *instr;
  int32_t position, turn;
} lower_order;

static int lower_compare_orders(const void *a, const void *b) {
  const lower_order *x = a, *y = b;
  if (x->position != y->position) return x->position < y->position ? -1 : 1;
  return x->turn < y->turn ? -1 : x->turn > y->turn;
}

/* A link of a list, one a part of the state, of the instructions that read it. */
typedef struct lower_reader {
  int32_t instr, next;
} lower_reader;

static const halo_instr *lower_part(const halo_instr *instr) {
  bool part =
      instr->opcode == HALO_OP_GET_TUPLE_ELEMENT && instr->operands[0]->opcode == HALO_OP_PARAMETER;
  return part ? instr : NULL;
}

/* Moves the computation of a part of the next state behind the last reader of the old part, where
 * nothing else needs it: it can then be written over the old part, without a copy. */
static void lower_delay_state(halo_computation *body) {
  halo_instr *root = body->root, **instrs = body->instrs.data;
  int32_t count = body->instrs.count, parts = root->operand_count, turns = 0;
  if (root->opcode != HALO_OP_TUPLE || instrs[count - 1] != root) return;
  int32_t *uses = halo_alloc(sizeof *uses * ((size_t)count + 1));
  int32_t *first = halo_alloc(sizeof *first * ((size_t)parts + 1));
  lower_order *order = halo_alloc(sizeof *order * (size_t)count);
  HALO_VEC(lower_reader) readers = {0};
  for (int32_t part = 0; part < parts; part++) first[part] = -1;
  for (int32_t i = 0; i < count; i++) {
    instrs[i]->mark = i;
    order[i] = (lower_order){instrs[i], i, 0};
  }
  for (int32_t i = 0; i < count; i++) {
    for (int32_t c = 0; c < instrs[i]->control_pred_count; c++) {
      uses[instrs[i]->control_preds[c]->mark]++;
    }
    for (int32_t o = 0; o < instrs[i]->operand_count; o++) {
      const halo_instr *operand = instrs[i]->operands[o], *part = lower_part(operand);
      uses[operand->mark]++;
      int64_t index = part && i + 1 < count ? halo_instr_int(part, HALO_ATTR_INDEX, 0) : parts;
      if (index >= parts) continue;
      halo_vec_push(&readers, (lower_reader){i, first[index]});
      first[index] = readers.count - 1;
    }
  }
  for (int32_t part = 0; part < parts; part++) {
    halo_instr *next = root->operands[part];
    if (uses[next->mark] != 1 || next->opcode == HALO_OP_PARAMETER) continue;
    lower_order *mine = &order[next->mark], *last = NULL;
    for (int32_t r = first[part]; r >= 0; r = readers.data[r].next) {
      lower_order *reader = &order[readers.data[r].instr];
      if (reader != mine && (!last || lower_compare_orders(last, reader) < 0)) last = reader;
    }
    if (!last || lower_compare_orders(last, mine) < 0) continue;
    mine->position = last->position;
    mine->turn = ++turns;
  }
  if (turns) {
    qsort(order, (size_t)count, sizeof *order, lower_compare_orders);
    for (int32_t i = 0; i < count; i++) instrs[i] = order[i].instr;
  }
  halo_vec_deinit(&readers);
  halo_free(uses);
  halo_free(first);
  halo_free(order);
}

/* ---- Loops ---- */

halo_status lower_while(lower_state *s, halo_instr *instr, halo_steps *steps) {
  halo_computation *condition = halo_instr_comp(instr, HALO_ATTR_CONDITION);
  halo_computation *body = halo_instr_comp(instr, HALO_ATTR_BODY);
  int32_t count;
  const halo_shape **shapes = lower_leaf_shapes(s, instr->shape, &count);
  const bool *invariant = lower_find_invariants(s, body, count);
  const bool *dead = lower_find_dead(s, instr, count);
  const int32_t *init = lower_value(instr->operands[0]);
  int32_t *state = lower_leaves(s, instr);
  for (int32_t l = 0; l < count; l++) {
    state[l] = dead[l] ? LOWER_NO_BUFFER : init[l];
    if (state[l] < 0 || invariant[l]) continue;
    state[l] = lower_temp(s, shapes[l], instr->name);
    lower_copy(s, steps, init[l], state[l], instr->name);
  }
  halo_step *step = lower_step(s, steps, HALO_STEP_WHILE, instr->name);
  int32_t begin = step->number;
  step->trips = halo_noted_trip_count(instr);
  enum { CONDITION, BODY };
  halo_steps *lists = lower_lists(s, step, 2);
  const int32_t *predicate = NULL, *next = NULL;
  halo_status status = HALO_OK;
  /* A loop of known length asks nobody. */
  if (step->trips < 0) {
    lists[CONDITION].label = "condition";
    status = lower_computation(s, condition, state, &lists[CONDITION], &predicate);
    /* The predicate must stay alive until it is read. */
    if (status == HALO_OK) lower_touch(s, predicate[0], s->clock++);
  }
  lower_delay_state(body);
  lists[BODY].label = "body";
  if (status == HALO_OK) status = lower_computation(s, body, state, &lists[BODY], &next);
  HALO_TRY(status);
  lower_assign_state(s, &lists[BODY], state, next, count, instr->name);
  int32_t end = s->clock++;
  if (predicate) {
    lower_set_args(s, step, 1);
    step->args[0] = (halo_plan_arg){predicate[0], 1, false};
  }
  for (int32_t l = 0; l < count; l++) {
    if (state[l] < 0) continue;
    lower_touch(s, state[l], begin);
    lower_touch(s, state[l], end);
  }
  return HALO_OK;
}

/* ---- Branches ---- */

halo_status lower_conditional(lower_state *s, halo_instr *instr, halo_steps *steps) {
  int32_t branches = halo_conditional_branch_count(instr), count;
  const halo_shape **shapes = lower_leaf_shapes(s, instr->shape, &count);
  int32_t *leaves = lower_leaves(s, instr);
  for (int32_t l = 0; l < count; l++) {
    bool token = halo_shape_is_token(shapes[l]);
    leaves[l] = token ? LOWER_NO_BUFFER : lower_temp(s, shapes[l], instr->name);
  }
  halo_step *step = lower_step(s, steps, HALO_STEP_CONDITIONAL, instr->name);
  lower_set_args(s, step, 1);
  lower_arg(s, step, 0, lower_value(instr->operands[0])[0], 1, false);
  step->selector_is_pred = instr->operands[0]->shape->type == HALO_PRED;
  halo_steps *lists = lower_lists(s, step, branches);
  int32_t begin = step->number;
  for (int32_t b = 0; b < branches; b++) {
    const int32_t *root = NULL;
    lists[b].label = halo_arena_printf(&s->plan->arena, "branch %d", b);
    HALO_TRY(lower_computation(s, halo_conditional_branch(instr, b),
                               lower_value(instr->operands[1 + b]), &lists[b], &root));
    for (int32_t l = 0; l < count; l++) {
      if (leaves[l] >= 0) lower_copy(s, &lists[b], root[l], leaves[l], instr->name);
    }
  }
  int32_t end = s->clock++;
  for (int32_t l = 0; l < count; l++) {
    if (leaves[l] < 0) continue;
    lower_touch(s, leaves[l], begin);
    lower_touch(s, leaves[l], end);
  }
  return HALO_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_async.c: asynchronous pairs: a step that starts a list of steps beside those that follow, and
 * one that waits for them. */
#include "base/memory.h"
#include "plan/lowering.h"

/* ---- Which ---- */

/* Whether an instruction may use the result of a start, a send or a recv, which is not there before the done. */
static bool async_may_use(const halo_instr *user, const halo_instr *operand) {
  bool sends = operand->opcode == HALO_OP_SEND, receives = operand->opcode == HALO_OP_RECV;
  if (operand->opcode == HALO_OP_ASYNC_START) return user->opcode == HALO_OP_ASYNC_DONE;
  if (!sends && !receives) return true;
  if (user->opcode == HALO_OP_GET_TUPLE_ELEMENT) {
    return sends || halo_instr_int(user, HALO_ATTR_INDEX, 0) != 0;
  }
  return user->opcode == (sends ? HALO_OP_SEND_DONE : HALO_OP_RECV_DONE);
}

/* The passes see to that; a serialised module may come from elsewhere. */
halo_status lower_check_pairs(const halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i], *wrong = NULL;
    for (int32_t o = 0; o < instr->operand_count && !wrong; o++) {
      if (!async_may_use(instr, instr->operands[o])) wrong = instr->operands[o];
    }
    /* A root is used by the caller, as a copy would. */
    halo_instr caller = {.opcode = HALO_OP_COPY};
    if (instr == computation->root && !async_may_use(&caller, instr)) wrong = instr;
    if (wrong) {
      return halo_fail(HALO_UNIMPLEMENTED, "%s: the result of %s %s has no use but its done",
                       instr->name, wrong->opcode == HALO_OP_ASYNC_START ? "an" : "a",
                       halo_opcode_name(wrong->opcode));
    }
  }
  return HALO_OK;
}

/* ---- Order ---- */

/* Behind which position a start may run: that of the last instruction it needs, or its own where it needs
 * the end of another pair, since ends are late. */
static int32_t async_needs(const halo_instr *start) {
  int32_t last = -1;
  for (int32_t i = 0; i < start->operand_count + start->control_pred_count; i++) {
    const halo_instr *before = i < start->operand_count
                                   ? start->operands[i]
                                   : start->control_preds[i - start->operand_count];
    if (before->data) return start->mark;
    if (before->mark > last) last = before->mark;
  }
  return last;
}

typedef struct async_early {
  halo_instr *start;
  int32_t next; /* with the same position; -1: none */
} async_early;

void lower_spread_pairs(halo_computation *computation) {
  int32_t count = computation->instrs.count, starts = 0;
  halo_instr **instrs = computation->instrs.data;
  for (int32_t i = 0; i < count; i++) starts += instrs[i]->opcode == HALO_OP_ASYNC_START;
  if (starts == 0) return;
  /* `data` says what can be put off: dones, and what only renames their values. */
  for (int32_t i = 0; i < count; i++) {
    halo_instr *instr = instrs[i];
    instr->mark = i;
    bool late = instr->opcode == HALO_OP_ASYNC_DONE;
    if (halo_opcode_exec(instr->opcode) == HALO_EXEC_ALIAS && instr != computation->root) {
      for (int32_t o = 0; o < instr->operand_count; o++) late |= instr->operands[o]->data != NULL;
    }
    instr->data = late ? instr : NULL;
  }
  /* By position, from 0 (before all) on, the starts that come there. */
  int32_t *first = halo_alloc(sizeof *first * ((size_t)count + 1));
  HALO_VEC(async_early) early = {0};
  HALO_VEC(halo_instr *) order = {0};
  for (int32_t i = 0; i <= count; i++) first[i] = -1;
  for (int32_t i = count - 1; i >= 0; i--) {
    if (instrs[i]->opcode != HALO_OP_ASYNC_START) continue;
    int32_t at = async_needs(instrs[i]) + 1;
    halo_vec_push(&early, (async_early){instrs[i], first[at]});
    first[at] = early.count - 1;
  }
  for (int32_t i = 0; i <= count; i++) {
    halo_instr *instr = i > 0 ? instrs[i - 1] : NULL;
    if (instr && !instr->data && instr->opcode != HALO_OP_ASYNC_START) {
      halo_vec_push(&order, instr);
    }
    for (int32_t e = first[i]; e >= 0; e = early.data[e].next) {
      halo_vec_push(&order, early.data[e].start);
    }
  }
  for (int32_t i = 0; i < count; i++) {
    if (instrs[i]->data) halo_vec_push(&order, instrs[i]);
  }
  for (int32_t i = 0; i < count; i++) instrs[i] = order.data[i];
  /* Sorting pulls what was put off to where it is needed, and keeps the order of the rest. */
  halo_computation_sort(computation);
  halo_vec_deinit(&order);
  halo_vec_deinit(&early);
  halo_free(first);
}

/* ---- Steps ---- */

/* The value is ((operands), result, contexts); nobody reads the contexts. */
static halo_status async_start(lower_state *s, halo_instr *start, halo_steps *steps) {
  halo_computation *callee = halo_instr_comp(start, HALO_ATTR_CALLS);
  int32_t *leaves = lower_leaves(s, start), next = 0;
  int32_t all = halo_shape_leaf_count(start->shape);
  for (int32_t i = 0; i < start->operand_count; i++) {
    int32_t count = halo_shape_leaf_count(start->operands[i]->shape);
    for (int32_t l = 0; l < count; l++) leaves[next++] = lower_value(start->operands[i])[l];
  }
  int32_t at = steps->count;
  halo_step *step = lower_step(s, steps, HALO_STEP_START, start->name);
  halo_pointer_map_set(&s->starts, start, (void *)(intptr_t)(step->number + 1));
  halo_steps *list = lower_lists(s, &steps->data[at], 1);
  list->label = "aside";
  const int32_t *root;
  HALO_TRY(lower_computation(s, callee, leaves, list, &root));
  int32_t count = halo_shape_leaf_count(callee->root->shape);
  for (int32_t l = 0; l < count; l++) leaves[next++] = root[l];
  while (next < all) leaves[next++] = LOWER_NO_BUFFER;
  return HALO_OK;
}

/* Its arguments are what the steps aside share with the others: to these it is as if all were used
 * here. */
static halo_status async_done(lower_state *s, halo_instr *done, halo_steps *steps) {
  halo_instr *start = done->operands[0];
  int32_t number = (int32_t)(intptr_t)halo_pointer_map_get(&s->starts, start) - 1;
  if (number < 0) return halo_emitter_check(done);
  const int32_t *leaves = lower_value(start);
  int32_t inputs = halo_shape_leaf_count(start->shape->elements[0]);
  int32_t shared = inputs + halo_shape_leaf_count(start->shape->elements[1]), count = 0;
  halo_step *step = lower_step(s, steps, HALO_STEP_DONE, done->name);
  step->ends = number;
  for (int32_t l = 0; l < shared; l++) count += leaves[l] >= 0;
  lower_set_args(s, step, count);
  for (int32_t l = 0, a = 0; l < shared; l++) {
    if (leaves[l] >= 0) lower_arg(s, step, a++, leaves[l], 1, false);
  }
  done->data = (void *)(leaves + inputs);
  return HALO_OK;
}

halo_status lower_async(lower_state *s, halo_instr *instr, halo_steps *steps) {
  bool starts = instr->opcode == HALO_OP_ASYNC_START;
  return starts ? async_start(s, instr, steps) : async_done(s, instr, steps);
}

/* ---- Memory ---- */

static void async_hold(halo_plan *plan, const halo_steps *steps, int32_t from, int32_t to) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    for (int32_t a = 0; a < step->arg_count; a++) {
      halo_plan_buffer *b = &plan->buffers.data[step->args[a].buffer];
      if (from < b->first) b->first = from;
      if (to > b->last) b->last = to;
    }
    for (int32_t l = 0; l < step->list_count; l++) async_hold(plan, &step->lists[l], from, to);
  }
}

static void async_hold_within(halo_plan *plan, halo_step *const *steps, const halo_steps *list) {
  for (int32_t i = 0; i < list->count; i++) {
    const halo_step *step = &list->data[i];
    /* Pairs within a start's steps first: what they use is held for longer by the outer one. */
    for (int32_t l = 0; l < step->list_count; l++) {
      async_hold_within(plan, steps, &step->lists[l]);
    }
    if (step->kind != HALO_STEP_DONE) continue;
    async_hold(plan, &steps[step->ends]->lists[0], step->ends, step->number);
  }
}

void lower_hold_pairs(halo_plan *plan) {
  halo_step **steps = halo_alloc(sizeof *steps * ((size_t)plan->step_count + 1));
  halo_plan_index_steps(&plan->steps, steps);
  async_hold_within(plan, steps, &plan->steps);
  halo_free(steps);
}

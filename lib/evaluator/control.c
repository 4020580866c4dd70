/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/control.c: computations, and the instructions that run them once or many times. */
#include "base/memory.h"
#include "evaluator/eval.h"

#include <stdlib.h>

/* The values so far; dropped also when memory runs out. */
typedef struct control_values {
  int32_t count;
  halo_literal *of[]; /* [count] references, or NULL */
} control_values;

static void control_drop(void *object) {
  control_values *values = object;
  for (int32_t i = 0; i < values->count; i++) halo_literal_release(values->of[i]);
  values->count = 0;
}

/* A computation's instructions by id, what of them the root needs, and where values die. */
typedef struct control_plan {
  int32_t count;
  struct control_slot {
    int32_t id, position;
  } * slots;               /* sorted by id */
  bool *needed;            /* [count] */
  int32_t *last_use;       /* [count] position of the last user; -1: none */
  control_values *held;    /* [count] */
  halo_literal **values;   /* held->of */
  halo_literal **operands; /* room for one instruction's */
} control_plan;

static int control_slot_order(const void *a, const void *b) {
  const struct control_slot *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* The instruction's position in the computation, or -1. */
static int32_t control_position(const control_plan *plan, const halo_instr *instr) {
  struct control_slot key = {instr->id, 0};
  const struct control_slot *slot =
      bsearch(&key, plan->slots, (size_t)plan->count, sizeof key, control_slot_order);
  return slot ? slot->position : -1;
}

static halo_status control_plan_init(control_plan *plan, const halo_computation *computation) {
  int32_t count = computation->instrs.count, most = 1;
  size_t n = (size_t)count;
  plan->count = count;
  plan->slots = halo_alloc(n * sizeof *plan->slots);
  plan->needed = halo_alloc(n * sizeof *plan->needed);
  plan->last_use = halo_alloc(n * sizeof *plan->last_use);
  plan->held = halo_alloc_object(sizeof *plan->held + n * sizeof *plan->values, control_drop);
  plan->held->count = count;
  plan->values = plan->held->of;
  for (int32_t i = 0; i < count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    plan->slots[i] = (struct control_slot){instr->id, i};
    plan->last_use[i] = -1;
    if (instr->operand_count > most) most = instr->operand_count;
  }
  plan->operands = halo_alloc((size_t)most * sizeof *plan->operands);
  qsort(plan->slots, n, sizeof *plan->slots, control_slot_order);
  int32_t root = computation->root ? control_position(plan, computation->root) : -1;
  if (root < 0) return halo_fail(HALO_INTERNAL, "%s has no root", computation->name);
  plan->needed[root] = true;
  plan->last_use[root] = count;
  for (int32_t i = count - 1; i >= 0; i--) {
    const halo_instr *instr = computation->instrs.data[i];
    for (int32_t k = 0; k < instr->operand_count && plan->needed[i]; k++) {
      int32_t at = control_position(plan, instr->operands[k]);
      if (at < 0 || at >= i) {
        return halo_fail(HALO_INTERNAL, "%s: operand %s does not come before it", instr->name,
                         instr->operands[k]->name);
      }
      plan->needed[at] = true;
      if (plan->last_use[at] < i) plan->last_use[at] = i;
    }
  }
  return HALO_OK;
}

static void control_plan_deinit(control_plan *plan) {
  if (plan->held) control_drop(plan->held);
  halo_free(plan->slots);
  halo_free(plan->needed);
  halo_free(plan->last_use);
  halo_free(plan->held);
  halo_free(plan->operands);
}

static halo_status control_run(control_plan *plan, const halo_computation *computation,
                               halo_literal *const *args, int depth) {
  for (int32_t i = 0; i < plan->count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (!plan->needed[i]) continue;
    if (instr->opcode == HALO_OP_PARAMETER) {
      plan->values[i] = args[instr->parameter_number];
      halo_literal_retain(plan->values[i]);
      continue;
    }
    for (int32_t k = 0; k < instr->operand_count; k++) {
      plan->operands[k] = plan->values[control_position(plan, instr->operands[k])];
    }
    eval_call call = {.instr = instr, .operands = plan->operands, .depth = depth};
    HALO_TRY(eval_instr(&call, &plan->values[i]));
    for (int32_t k = 0; k < instr->operand_count; k++) {
      int32_t at = control_position(plan, instr->operands[k]);
      if (plan->last_use[at] != i) continue;
      halo_literal_release(plan->values[at]);
      plan->values[at] = NULL;
    }
  }
  return HALO_OK;
}

halo_status eval_computation(const halo_computation *computation, halo_literal *const *args,
                             int32_t arg_count, int depth, halo_literal **out) {
  *out = NULL;
  if (depth > EVAL_MAX_DEPTH) {
    return halo_fail(HALO_UNIMPLEMENTED, "computations nest deeper than %d", EVAL_MAX_DEPTH);
  }
  if (arg_count != computation->params.count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s takes %d argument%s, not %d", computation->name,
                     computation->params.count, halo_plural(computation->params.count), arg_count);
  }
  for (int32_t i = 0; i < arg_count; i++) {
    const halo_shape *shape = computation->params.data[i]->shape;
    if (halo_shape_fits(args[i]->shape, shape)) continue;
    halo_arena scratch = {0};
    halo_status status = halo_fail(
        HALO_INVALID_ARGUMENT, "argument %d of %s is %s, not %s", i, computation->name,
        halo_shape_text(&scratch, args[i]->shape, false), halo_shape_text(&scratch, shape, false));
    halo_arena_deinit(&scratch);
    return status;
  }
  control_plan plan = {0};
  halo_status status = control_plan_init(&plan, computation);
  if (status == HALO_OK) status = control_run(&plan, computation, args, depth);
  if (status == HALO_OK) {
    *out = plan.values[control_position(&plan, computation->root)];
    halo_literal_retain(*out);
  }
  control_plan_deinit(&plan);
  return status;
}

halo_status halo_evaluate(const halo_computation *computation, halo_literal *const *args,
                          int32_t arg_count, halo_literal **out) {
  return eval_computation(computation, args, arg_count, 0, out);
}

halo_status eval_call_op(const eval_call *call, halo_literal **out) {
  return eval_computation(halo_instr_called(call->instr, 0), call->operands,
                          call->instr->operand_count, call->depth + 1, out);
}

halo_status eval_while(const eval_call *call, halo_literal **out) {
  const halo_computation *condition = halo_instr_comp(call->instr, HALO_ATTR_CONDITION);
  const halo_computation *body = halo_instr_comp(call->instr, HALO_ATTR_BODY);
  *out = call->operands[0];
  halo_literal_retain(*out);
  for (;;) {
    halo_literal *more, *next;
    HALO_TRY(eval_computation(condition, out, 1, call->depth + 1, &more));
    bool go_on = eval_get(more, 0).re != 0;
    halo_literal_release(more);
    if (!go_on) return HALO_OK;
    HALO_TRY(eval_computation(body, out, 1, call->depth + 1, &next));
    halo_literal_release(*out);
    *out = next;
  }
}

halo_status eval_conditional(const eval_call *call, halo_literal **out) {
  const halo_literal *selector = call->operands[0];
  int32_t count = halo_conditional_branch_count(call->instr), branch;
  if (selector->shape->type == HALO_PRED) {
    branch = eval_get(selector, 0).re ? 0 : 1;
  } else {
    int64_t index = halo_literal_get_i64(selector, 0);
    branch = index < 0 || index >= count ? count - 1 : (int32_t)index;
  }
  return eval_computation(halo_conditional_branch(call->instr, branch), &call->operands[1 + branch],
                          1, call->depth + 1, out);
}

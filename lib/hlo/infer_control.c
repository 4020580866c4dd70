/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_control.c: inference of calls, loops and conditionals. */
#include "hlo/infer_util.h"

halo_status halo_infer_args(const halo_instr *instr, const halo_computation *computation,
                            int32_t from) {
  int32_t count = instr->operand_count - from;
  if (computation->params.count != count) {
    return halo_infer_fail(instr, "the computation %s takes %d parameter%s, but %d %s given",
                           computation->name, computation->params.count,
                           halo_plural(computation->params.count), count,
                           count == 1 ? "is" : "are");
  }
  for (int32_t i = 0; i < count; i++) {
    if (!halo_shape_compatible(halo_infer_param(computation, i),
                               halo_infer_operand(instr, from + i))) {
      return halo_infer_fail(instr, "operand %d does not have the shape of parameter %d of %s",
                             from + i, i, computation->name);
    }
  }
  return HALO_OK;
}

halo_status halo_infer_call(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  (void)arena;
  const halo_computation *computation;
  halo_attr_id id = instr->opcode == HALO_OP_FUSION ? HALO_ATTR_CALLS : HALO_ATTR_TO_APPLY;
  HALO_TRY(halo_infer_comp(instr, id, &computation));
  HALO_TRY(halo_infer_args(instr, computation, 0));
  *out = computation->root->shape;
  return HALO_OK;
}

halo_status halo_infer_while(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  (void)arena;
  const halo_computation *condition, *body;
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_CONDITION, &condition));
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_BODY, &body));
  HALO_TRY(halo_infer_args(instr, condition, 0));
  HALO_TRY(halo_infer_args(instr, body, 0));
  if (!halo_shape_is_scalar_of(condition->root->shape, HALO_PRED)) {
    return halo_infer_fail(instr, "the condition %s must return a pred scalar", condition->name);
  }
  if (!halo_shape_compatible(body->root->shape, halo_infer_operand(instr, 0))) {
    return halo_infer_fail(instr, "the body %s must return the shape it takes", body->name);
  }
  *out = halo_infer_operand(instr, 0);
  return HALO_OK;
}

/* The selector picks the attributes: pred has two named branches, s32 a list of them. */
static halo_status control_check_selector(const halo_instr *instr) {
  const halo_shape *selector = halo_infer_operand(instr, 0);
  bool named = halo_instr_comp(instr, HALO_ATTR_TRUE_COMPUTATION) &&
               halo_instr_comp(instr, HALO_ATTR_FALSE_COMPUTATION);
  bool any_named = halo_instr_attr(instr, HALO_ATTR_TRUE_COMPUTATION) ||
                   halo_instr_attr(instr, HALO_ATTR_FALSE_COMPUTATION);
  bool listed = halo_instr_comp(instr, HALO_ATTR_BRANCH_COMPUTATIONS) != NULL;
  if (halo_shape_is_scalar_of(selector, HALO_PRED)) {
    if (named && !listed) return HALO_OK;
    return halo_infer_fail(instr, "a pred selector needs true_computation and false_computation");
  }
  if (halo_shape_is_scalar_of(selector, HALO_S32)) {
    if (listed && !any_named) return HALO_OK;
    return halo_infer_fail(instr, "an s32 selector needs branch_computations");
  }
  return halo_infer_fail(instr, "the selector must be a pred or s32 scalar");
}

static halo_status control_check_branch(const halo_instr *instr, const halo_computation *branch,
                                        int32_t i) {
  if (!branch || !branch->root || !branch->root->shape) {
    return halo_infer_fail(instr, "branch %d is missing or has no root", i);
  }
  if (branch->params.count != 1 || !branch->params.data[0]) {
    return halo_infer_fail(instr, "branch %s must take exactly one parameter", branch->name);
  }
  if (!halo_shape_compatible(halo_infer_param(branch, 0), halo_infer_operand(instr, 1 + i))) {
    return halo_infer_fail(instr, "operand %d does not have the shape that branch %s takes", 1 + i,
                           branch->name);
  }
  return HALO_OK;
}

halo_status halo_infer_conditional(const halo_instr *instr, halo_arena *arena,
                                   const halo_shape **out) {
  (void)arena;
  HALO_TRY(control_check_selector(instr));
  int32_t count = halo_conditional_branch_count(instr);
  if (instr->operand_count != 1 + count) {
    return halo_infer_fail(instr, "expects one operand for each of the %d branch%s", count,
                           count == 1 ? "" : "es");
  }
  const halo_shape *first = NULL;
  for (int32_t i = 0; i < count; i++) {
    const halo_computation *branch = halo_conditional_branch(instr, i);
    HALO_TRY(control_check_branch(instr, branch, i));
    if (!first) first = branch->root->shape;
    if (!halo_shape_compatible(first, branch->root->shape)) {
      return halo_infer_fail(instr, "branch %s must return the shape that branch 0 returns",
                             branch->name);
    }
    if (halo_shape_is_dynamic(branch->root->shape)) first = branch->root->shape;
  }
  *out = first;
  return HALO_OK;
}

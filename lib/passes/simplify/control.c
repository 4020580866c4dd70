/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/control.c: rules for reduce, dot, conditional and while. */
#include "base/vec.h"
#include "passes/expand/elementwise.h"
#include "passes/loops/trip_count.h"
#include "passes/simplify/simplify.h"

/* ---- reduce ---- */

/* Every operand has the element type of its parameter, so that the computation fits as it is. */
static bool control_types_fit(const halo_instr *reduce, const halo_computation *computation) {
  int32_t n = reduce->operand_count / 2;
  if (computation->params.count != 2 * n) return false;
  for (int32_t i = 0; i < n; i++) {
    halo_type type = reduce->operands[i]->shape->type;
    if (computation->params.data[i]->shape->type != type ||
        computation->params.data[n + i]->shape->type != type ||
        reduce->operands[n + i]->shape->type != type) {
      return false;
    }
  }
  return true;
}

static const halo_shape *control_reduce_shape(const halo_instr *reduce, int32_t i) {
  return halo_shape_is_tuple(reduce->shape) ? reduce->shape->elements[i] : reduce->shape;
}

/* Over an extent of 0: the initial values. */
static halo_instr *control_reduce_nothing(halo_rewriter *r, halo_instr *instr) {
  int32_t n = instr->operand_count / 2;
  HALO_VEC(halo_instr *) parts = {0};
  for (int32_t i = 0; i < n; i++) {
    halo_vec_push(&parts, halo_rewrite_make_splat(r, instr, instr->operands[n + i],
                                                  control_reduce_shape(instr, i)));
  }
  halo_instr *result = parts.data[0];
  if (halo_shape_is_tuple(instr->shape)) {
    result = halo_rewrite_make(r, instr, HALO_OP_TUPLE, instr->shape, parts.data, n, NULL, 0);
  }
  halo_vec_deinit(&parts);
  return result;
}

/* Over extents of 1: the computation once, elementwise. */
static halo_instr *control_reduce_once(halo_rewriter *r, halo_instr *instr,
                                       const halo_computation *computation) {
  int32_t n = instr->operand_count / 2;
  HALO_VEC(halo_instr *) args = {0};
  halo_arena *arena = &r->computation->module->arena;
  const halo_shape *result = control_reduce_shape(instr, 0);
  for (int32_t i = 0; i < 2 * n; i++) {
    halo_instr *operand = instr->operands[(i + n) % (2 * n)];
    const halo_shape *shape = halo_shape_with_type(arena, result, operand->shape->type);
    if (i < n) {
      halo_vec_push(&args, halo_rewrite_make_splat(r, instr, operand, shape));
    } else if (halo_shape_same_dims(operand->shape, shape)) {
      halo_vec_push(&args, operand);
    } else {
      halo_vec_push(&args, halo_rewrite_make_unary(r, instr, HALO_OP_RESHAPE, shape, operand));
    }
  }
  halo_instr *inlined = halo_elementwise_inline(r, instr, computation, args.data, result);
  halo_vec_deinit(&args);
  return inlined;
}

halo_instr *halo_simplify_reduce(halo_rewriter *r, halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const halo_computation *computation = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  const halo_shape *operand = instr->operands[0]->shape;
  bool nothing = false, once = true;
  for (int32_t i = 0; i < count; i++) {
    nothing |= operand->dims[dims[i]] == 0;
    once &= operand->dims[dims[i]] == 1;
  }
  if ((!nothing && !once) || !control_types_fit(instr, computation)) return NULL;
  for (int32_t i = 0; i < instr->operand_count / 2; i++) {
    const halo_shape *part = control_reduce_shape(instr, i);
    const halo_shape *like =
        halo_shape_with_type(&r->computation->module->arena, control_reduce_shape(instr, 0),
                             instr->operands[i]->shape->type);
    if (!halo_shape_equal(part, like)) return NULL;
  }
  if (nothing) return control_reduce_nothing(r, instr);
  if (!halo_elementwise_computation(computation)) return NULL;
  return control_reduce_once(r, instr, computation);
}

/* ---- dot ---- */

halo_instr *halo_simplify_dot(halo_rewriter *r, halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_LHS_CONTRACTING_DIMS, &count);
  for (int32_t i = 0; i < count; i++) {
    if (instr->operands[0]->shape->dims[dims[i]] == 0) return halo_simplify_fill(r, instr, 0);
  }
  return NULL;
}

/* ---- conditional, while ---- */

static halo_instr *control_inline(halo_rewriter *r, const halo_instr *instr,
                                  const halo_computation *callee, halo_instr *arg) {
  if (!halo_shape_equal(callee->root->shape, instr->shape)) return NULL;
  if (r->copies_left < callee->instrs.count) return NULL;
  r->copies_left -= callee->instrs.count;
  return halo_computation_inline(r->computation, callee, &arg);
}

halo_instr *halo_simplify_conditional(halo_rewriter *r, halo_instr *instr) {
  int32_t branches = halo_conditional_branch_count(instr), chosen = 0;
  const halo_instr *selector = instr->operands[0];
  const halo_literal *literal = halo_simplify_splat(selector);
  if (!literal && branches > 1) return NULL;
  if (literal && selector->shape->type == HALO_PRED) {
    chosen = halo_literal_get_i64(literal, 0) ? 0 : 1;
  } else if (literal) {
    int64_t index = halo_literal_get_i64(literal, 0);
    chosen = index < 0 || index >= branches ? branches - 1 : (int32_t)index;
  }
  return control_inline(r, instr, halo_conditional_branch(instr, chosen),
                        instr->operands[1 + chosen]);
}

halo_instr *halo_simplify_while(halo_rewriter *r, halo_instr *instr) {
  const halo_computation *condition = halo_instr_comp(instr, HALO_ATTR_CONDITION);
  for (int32_t i = 0; i < condition->instrs.count; i++) {
    if (halo_instr_has_side_effect(condition->instrs.data[i])) return NULL;
  }
  int64_t trips;
  if (halo_simplify_is_int(condition->root, 0)) return instr->operands[0];
  if (!halo_while_trip_count(instr, &trips)) return NULL;
  if (trips == 0) return instr->operands[0];
  if (trips > 1) return NULL;
  return control_inline(r, instr, halo_instr_comp(instr, HALO_ATTR_BODY), instr->operands[0]);
}

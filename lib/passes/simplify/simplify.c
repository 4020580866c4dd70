/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/simplify.c: algebraic simplification: which rule an opcode has, and the pass. */
#include "passes/simplify/simplify.h"
#include "passes/passes.h"

#include <string.h>

/* ---- Rules for every opcode ---- */

/* A result without elements needs no operands. */
static halo_status simplify_empty(halo_rewriter *r, halo_instr *instr, halo_instr **out) {
  halo_literal *literal;
  HALO_TRY(halo_literal_create(instr->shape, &literal));
  *out = halo_rewrite_make_constant(r, instr, literal);
  return HALO_OK;
}

/* A constant that is the same everywhere becomes broadcast(scalar constant). */
static halo_status simplify_uniform(halo_rewriter *r, halo_instr *instr, halo_instr **out) {
  const halo_literal *literal = instr->literal;
  size_t size = halo_type_size(instr->shape->type);
  size_t bytes = (size_t)halo_shape_byte_size(instr->shape);
  const char *data = literal->data;
  if (literal->elided || memcmp(data, data + size, bytes - size) != 0) return HALO_OK;
  halo_literal *scalar;
  HALO_TRY(halo_literal_create_array(instr->shape->type, 0, NULL, data, &scalar));
  *out =
      halo_rewrite_make_splat(r, instr, halo_rewrite_make_constant(r, instr, scalar), instr->shape);
  return HALO_OK;
}

/* op(broadcast(c1), broadcast(c2)) -> broadcast(op(c1, c2)) for elementwise ops of constants. */
static halo_instr *simplify_uniform_operands(halo_rewriter *r, halo_instr *instr) {
  if (instr->shape->rank == 0 || instr->operand_count > 3) return NULL;
  halo_instr *scalars[3];
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (!halo_simplify_splat(instr->operands[i])) return NULL;
    scalars[i] = halo_simplify_scalar(instr->operands[i]);
  }
  if (instr->opcode == HALO_OP_COPY) {
    return halo_rewrite_make_splat(r, instr, scalars[0], instr->shape);
  }
  const halo_shape *shape =
      halo_shape_new(&r->computation->module->arena, instr->shape->type, 0, NULL);
  halo_instr *scalar = halo_rewrite_make(r, instr, instr->opcode, shape, scalars,
                                         instr->operand_count, instr->attrs, instr->attr_count);
  return halo_rewrite_make_splat(r, instr, scalar, instr->shape);
}

/* ---- The table ---- */

static halo_simplify_fn *const simplify_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_ADD] = halo_simplify_add,
    [HALO_OP_SUBTRACT] = halo_simplify_binary,
    [HALO_OP_MULTIPLY] = halo_simplify_binary,
    [HALO_OP_DIVIDE] = halo_simplify_binary,
    [HALO_OP_REMAINDER] = halo_simplify_binary,
    [HALO_OP_POWER] = halo_simplify_binary,
    [HALO_OP_MAXIMUM] = halo_simplify_binary,
    [HALO_OP_MINIMUM] = halo_simplify_binary,
    [HALO_OP_AND] = halo_simplify_binary,
    [HALO_OP_OR] = halo_simplify_binary,
    [HALO_OP_XOR] = halo_simplify_binary,
    [HALO_OP_SHIFT_LEFT] = halo_simplify_binary,
    [HALO_OP_SHIFT_RIGHT_LOGICAL] = halo_simplify_binary,
    [HALO_OP_SHIFT_RIGHT_ARITHMETIC] = halo_simplify_binary,
    [HALO_OP_COMPARE] = halo_simplify_compare,
    [HALO_OP_SELECT] = halo_simplify_select,
    [HALO_OP_NEGATE] = halo_simplify_negate,
    [HALO_OP_NOT] = halo_simplify_not,
    [HALO_OP_ABS] = halo_simplify_abs,
    [HALO_OP_REAL] = halo_simplify_real,
    [HALO_OP_IMAG] = halo_simplify_imag,
    [HALO_OP_COMPLEX] = halo_simplify_complex,
    [HALO_OP_REDUCE_PRECISION] = halo_simplify_reduce_precision,
    [HALO_OP_CONVERT] = halo_simplify_convert,
    [HALO_OP_BITCAST_CONVERT] = halo_simplify_bitcast_convert,
    [HALO_OP_RESHAPE] = halo_simplify_reshape,
    [HALO_OP_TRANSPOSE] = halo_simplify_transpose,
    [HALO_OP_BROADCAST] = halo_simplify_broadcast,
    [HALO_OP_REVERSE] = halo_simplify_reverse,
    [HALO_OP_PAD] = halo_simplify_pad,
    [HALO_OP_IOTA] = halo_simplify_iota,
    [HALO_OP_SLICE] = halo_simplify_slice,
    [HALO_OP_CONCATENATE] = halo_simplify_concatenate,
    [HALO_OP_DYNAMIC_SLICE] = halo_simplify_dynamic_slice,
    [HALO_OP_DYNAMIC_UPDATE_SLICE] = halo_simplify_dynamic_update_slice,
    [HALO_OP_REDUCE] = halo_simplify_reduce,
    [HALO_OP_DOT] = halo_simplify_dot,
    [HALO_OP_CONDITIONAL] = halo_simplify_conditional,
    [HALO_OP_WHILE] = halo_simplify_while,
};

/* ---- The pass ---- */

static bool simplify_is_static(const halo_instr *instr) {
  if (halo_shape_is_dynamic(instr->shape)) return false;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (halo_shape_is_dynamic(instr->operands[i]->shape)) return false;
  }
  return true;
}

static halo_status simplify_find(halo_rewriter *r, halo_instr *instr, halo_instr **out) {
  *out = NULL;
  bool array = halo_shape_is_array(instr->shape);
  int64_t elements = array ? halo_shape_element_count(instr->shape) : 0;
  if (instr->opcode == HALO_OP_PARAMETER) return HALO_OK;
  if (instr->opcode == HALO_OP_CONSTANT) {
    return array && elements > 0 && instr->shape->rank > 0 ? simplify_uniform(r, instr, out)
                                                           : HALO_OK;
  }
  if (array && elements == 0 && !halo_instr_has_side_effect(instr)) {
    return simplify_empty(r, instr, out);
  }
  if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW)) {
    *out = simplify_uniform_operands(r, instr);
  }
  if (!*out && simplify_rules[instr->opcode]) *out = simplify_rules[instr->opcode](r, instr);
  return HALO_OK;
}

static halo_status simplify_instr(halo_rewriter *r, halo_instr *instr) {
  halo_instr *with;
  HALO_TRY(simplify_find(r, instr, &with));
  if (!with) return HALO_OK;
  with = halo_rewrite_resolve(with);
  /* Of operands of several types, which canonicalize makes one, a rule may return one as it is. */
  if (with->shape->type != instr->shape->type) return HALO_OK;
  if (!halo_shape_equal(with->shape, instr->shape)) {
    /* Users see the layout they saw before. */
    if (!halo_shape_is_array(instr->shape)) return HALO_OK;
    with = halo_rewrite_make_unary(r, instr, HALO_OP_COPY, instr->shape, with);
  }
  halo_rewrite_replace(r, instr, with);
  return HALO_OK;
}

/* Branches and loop bodies put in place in one run: nested ones could double without end. */
enum { SIMPLIFY_MAX_COPIES = 1 << 17 };

halo_status halo_pass_simplify(halo_module *module, bool *changed) {
  int64_t copies_left = SIMPLIFY_MAX_COPIES;
  *changed = false;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_rewriter r;
    halo_rewrite_begin(&r, module->computations.data[c]);
    r.copies_left = copies_left;
    for (int32_t i = 0; i < r.computation->instrs.count; i++) {
      halo_instr *instr = halo_rewrite_next(&r, i);
      if (!instr || halo_rewrite_pinned(instr) || !simplify_is_static(instr)) continue;
      HALO_TRY(simplify_instr(&r, instr));
    }
    copies_left = r.copies_left;
    HALO_TRY(halo_rewrite_end(&r, changed));
  }
  return HALO_OK;
}

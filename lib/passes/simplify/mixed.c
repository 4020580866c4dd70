/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/mixed.c: operations on operands of several element types, which HLO allows among floats, get conversions: what
 * comes later knows one type for all operands. Products of floats with a whole result are made in floats. */
#include "hlo/infer_util.h"
#include "passes/simplify/canonicalize.h"

typedef enum mixed_kind {
  MIXED_NONE,
  MIXED_COMPUTED, /* in a type that holds the operands, then rounded to the result's */
  MIXED_MOVED,    /* each element is one of the result */
  MIXED_APPLIED,  /* what its computation's parameters take */
  MIXED_PRODUCT
} mixed_kind;

static const mixed_kind mixed_kinds[HALO_OPCODE_COUNT] = {
    [HALO_OP_SELECT] = MIXED_MOVED,
    [HALO_OP_PAD] = MIXED_MOVED,
    [HALO_OP_CONCATENATE] = MIXED_MOVED,
    [HALO_OP_DYNAMIC_UPDATE_SLICE] = MIXED_MOVED,
    [HALO_OP_TRIANGULAR_SOLVE] = MIXED_COMPUTED,
    [HALO_OP_MAP] = MIXED_APPLIED,
    [HALO_OP_REDUCE] = MIXED_APPLIED,
    [HALO_OP_SCATTER] = MIXED_APPLIED,
    [HALO_OP_DOT] = MIXED_PRODUCT,
    [HALO_OP_CONVOLUTION] = MIXED_PRODUCT,
};

static mixed_kind mixed_kind_of(const halo_instr *instr) {
  if (mixed_kinds[instr->opcode]) return mixed_kinds[instr->opcode];
  return halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW) ? MIXED_COMPUTED : MIXED_NONE;
}

static bool mixed_holds(halo_type type, halo_type other) {
  return halo_type_exponent_bits(type) >= halo_type_exponent_bits(other) &&
         halo_type_mantissa_bits(type) >= halo_type_mantissa_bits(other);
}

/* The smallest type that has all values of the float operands. */
static halo_type mixed_common(const halo_instr *instr) {
  halo_type type = instr->operands[0]->shape->type;
  for (int32_t i = 1; i < instr->operand_count; i++) {
    halo_type other = instr->operands[i]->shape->type;
    halo_type higher = halo_infer_higher_type(type, other);
    bool holds = mixed_holds(higher, type) && mixed_holds(higher, other);
    type = holds ? higher : HALO_F32; /* of f16 and bf16 neither has the other's */
  }
  return type;
}

/* Whether operands that are elements of arrays are of several types, all floats. */
static bool mixed_differs(const halo_instr *instr, int32_t first, int32_t end) {
  bool differs = false;
  for (int32_t i = first; i < end; i++) {
    const halo_shape *shape = instr->operands[i]->shape;
    if (!halo_shape_is_array(shape) || !halo_type_is_float(shape->type)) return false;
    differs |= shape->type != instr->operands[first]->shape->type;
  }
  return differs;
}

static void mixed_convert(halo_rewriter *r, halo_instr *instr, int32_t operand, halo_type type) {
  halo_instr *x = instr->operands[operand];
  if (x->shape->type == type) return;
  const halo_shape *shape = halo_shape_with_type(&r->computation->module->arena, x->shape, type);
  instr->operands[operand] = halo_rewrite_make_unary(r, instr, HALO_OP_CONVERT, shape, x);
  r->changed = true;
}

/* The same operation with a result of another type, and that converted to the result that it had. */
static void mixed_result(halo_rewriter *r, halo_instr *instr, halo_type type) {
  if (instr->shape->type == type) return;
  const halo_shape *shape =
      halo_shape_with_type(&r->computation->module->arena, instr->shape, type);
  halo_instr *made = halo_rewrite_make(r, instr, instr->opcode, shape, instr->operands,
                                       instr->operand_count, instr->attrs, instr->attr_count);
  halo_rewrite_replace(r, instr,
                       halo_rewrite_make_unary(r, instr, HALO_OP_CONVERT, instr->shape, made));
}

static void mixed_computed(halo_rewriter *r, halo_instr *instr) {
  if (!mixed_differs(instr, 0, instr->operand_count)) return;
  halo_type type = mixed_common(instr);
  for (int32_t i = 0; i < instr->operand_count; i++) mixed_convert(r, instr, i, type);
  if (instr->opcode != HALO_OP_COMPARE) mixed_result(r, instr, type);
}

static void mixed_moved(halo_rewriter *r, halo_instr *instr) {
  int32_t first = instr->opcode == HALO_OP_SELECT ? 1 : 0, end = instr->operand_count;
  if (instr->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE) end = 2; /* behind them are indices */
  if (!mixed_differs(instr, first, end)) return;
  for (int32_t i = first; i < end; i++) mixed_convert(r, instr, i, instr->shape->type);
}

/* The parameter that takes elements of an operand. Reductions have their values first, and then where they start, which
 * is what parameters begin with; scatters have their indices in the middle, which none takes. */
static int32_t mixed_parameter(const halo_instr *instr, int32_t operand) {
  int32_t half = instr->operand_count / 2;
  if (instr->opcode == HALO_OP_REDUCE) return (operand + half) % instr->operand_count;
  if (instr->opcode != HALO_OP_SCATTER || operand < half) return operand;
  return operand == half ? -1 : operand - 1;
}

static void mixed_applied(halo_rewriter *r, halo_instr *instr) {
  const halo_computation *computation = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    int32_t p = mixed_parameter(instr, i);
    if (p >= 0) mixed_convert(r, instr, i, computation->params.data[p]->shape->type);
  }
}

/* Products whose operands, rounded to the result's type first, would give another result: floats with whole ones, wide
 * floats with narrow ones. Those of f16 and its like are added in f32 anyway. */
static void mixed_product(halo_rewriter *r, halo_instr *instr) {
  halo_type a = instr->operands[0]->shape->type, b = instr->operands[1]->shape->type;
  halo_type higher = halo_infer_higher_type(a, b), result = instr->shape->type;
  bool whole = halo_type_is_integral(result) || result == HALO_PRED;
  bool real = halo_type_is_complex(higher) && !halo_type_is_complex(result);
  bool wide = halo_type_real_part(higher) == HALO_F64 && halo_type_real_part(result) != HALO_F64;
  if (!real && !wide && !(whole && halo_type_is_float(higher))) return;
  mixed_result(r, instr, halo_type_is_complex(result) ? HALO_C128 : higher);
}

void halo_mixed_convert(halo_rewriter *r, halo_instr *instr) {
  switch (mixed_kind_of(instr)) {
    case MIXED_NONE: return;
    case MIXED_COMPUTED: mixed_computed(r, instr); return;
    case MIXED_MOVED: mixed_moved(r, instr); return;
    case MIXED_APPLIED: mixed_applied(r, instr); return;
    case MIXED_PRODUCT: mixed_product(r, instr); return;
  }
}

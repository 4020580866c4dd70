/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/unary.c: rules for unary ops and conversions. */
#include "passes/simplify/simplify.h"

/* not(compare) with the opposite direction; NaN makes order comparisons of floats no opposites. */
static halo_instr *unary_not_compare(halo_rewriter *r, halo_instr *instr, halo_instr *compare) {
  static const halo_direction opposite[] = {
      [HALO_EQ] = HALO_NE, [HALO_NE] = HALO_EQ, [HALO_GE] = HALO_LT,
      [HALO_GT] = HALO_LE, [HALO_LE] = HALO_GT, [HALO_LT] = HALO_GE,
  };
  halo_direction direction = (halo_direction)halo_instr_int(compare, HALO_ATTR_DIRECTION, HALO_EQ);
  bool equality = direction == HALO_EQ || direction == HALO_NE;
  if (!equality && halo_compare_type_of(compare) == HALO_COMPARE_FLOAT) return NULL;
  halo_instr *operands[] = {halo_simplify_arg(compare, 0), halo_simplify_arg(compare, 1)};
  halo_instr *flipped = halo_rewrite_make(r, instr, HALO_OP_COMPARE, instr->shape, operands, 2,
                                          compare->attrs, compare->attr_count);
  halo_attr attr = {.id = HALO_ATTR_DIRECTION, .i = opposite[direction]};
  halo_instr_set_attr(flipped, &attr);
  return flipped;
}

static halo_instr *unary_complex(halo_instr *re, halo_instr *im) {
  if (re->opcode != HALO_OP_REAL || im->opcode != HALO_OP_IMAG) return NULL;
  halo_instr *z = halo_simplify_arg(re, 0);
  return z == halo_simplify_arg(im, 0) && halo_type_is_complex(z->shape->type) ? z : NULL;
}

static halo_instr *unary_reduce_precision(halo_instr *instr, halo_instr *x) {
  int64_t exponent = halo_instr_int(instr, HALO_ATTR_EXPONENT_BITS, 0);
  int64_t mantissa = halo_instr_int(instr, HALO_ATTR_MANTISSA_BITS, 0);
  halo_type type = x->shape->type;
  bool all = exponent >= halo_type_exponent_bits(type) && mantissa >= halo_type_mantissa_bits(type);
  if (all && halo_type_mantissa_bits(type) > 0) return x;
  bool again = x->opcode == HALO_OP_REDUCE_PRECISION &&
               halo_instr_int(x, HALO_ATTR_EXPONENT_BITS, 0) == exponent &&
               halo_instr_int(x, HALO_ATTR_MANTISSA_BITS, 0) == mantissa;
  return again ? x : NULL;
}

halo_instr *halo_simplify_negate(halo_rewriter *r, halo_instr *instr) {
  (void)r;
  halo_instr *x = instr->operands[0];
  return x->opcode == HALO_OP_NEGATE ? halo_simplify_arg(x, 0) : NULL;
}

halo_instr *halo_simplify_not(halo_rewriter *r, halo_instr *instr) {
  halo_instr *x = instr->operands[0];
  if (x->opcode == HALO_OP_NOT) return halo_simplify_arg(x, 0);
  return x->opcode == HALO_OP_COMPARE ? unary_not_compare(r, instr, x) : NULL;
}

halo_instr *halo_simplify_abs(halo_rewriter *r, halo_instr *instr) {
  halo_instr *x = instr->operands[0];
  if (halo_type_is_complex(x->shape->type)) return NULL;
  if (x->opcode == HALO_OP_ABS) return x;
  if (x->opcode != HALO_OP_NEGATE) return NULL;
  return halo_rewrite_make_unary(r, instr, HALO_OP_ABS, instr->shape, halo_simplify_arg(x, 0));
}

halo_instr *halo_simplify_real(halo_rewriter *r, halo_instr *instr) {
  (void)r;
  halo_instr *x = instr->operands[0];
  if (!halo_type_is_complex(x->shape->type)) return x;
  return x->opcode == HALO_OP_COMPLEX ? halo_simplify_arg(x, 0) : NULL;
}

halo_instr *halo_simplify_imag(halo_rewriter *r, halo_instr *instr) {
  halo_instr *x = instr->operands[0];
  if (!halo_type_is_complex(x->shape->type)) return halo_simplify_fill(r, instr, 0);
  return x->opcode == HALO_OP_COMPLEX ? halo_simplify_arg(x, 1) : NULL;
}

halo_instr *halo_simplify_complex(halo_rewriter *r, halo_instr *instr) {
  (void)r;
  return unary_complex(instr->operands[0], instr->operands[1]);
}

halo_instr *halo_simplify_reduce_precision(halo_rewriter *r, halo_instr *instr) {
  (void)r;
  return unary_reduce_precision(instr, instr->operands[0]);
}

/* ---- convert ---- */

static bool convert_is_wide_float(halo_type type) {
  return type == HALO_F16 || type == HALO_BF16 || type == HALO_F32 || type == HALO_F64;
}

/* Every value of `from`, NaN and infinities included, has its like in `to`. */
static bool convert_lossless(halo_type from, halo_type to) {
  if (halo_type_is_complex(from) || halo_type_is_complex(to) || to == HALO_PRED) return false;
  int bits = halo_type_bits(from);
  if (from == HALO_PRED) {
    return convert_is_wide_float(to) || (halo_type_is_integral(to) && to != HALO_S1);
  }
  if (halo_type_is_integral(from)) {
    if (convert_is_wide_float(to)) {
      int digits = bits - (halo_type_is_sint(from) ? 1 : 0);
      return digits <= halo_type_mantissa_bits(to) + 1;
    }
    if (!halo_type_is_integral(to)) return false;
    if (halo_type_is_sint(from) == halo_type_is_sint(to)) return halo_type_bits(to) >= bits;
    return halo_type_is_uint(from) && halo_type_bits(to) > bits;
  }
  return convert_is_wide_float(to) &&
         halo_type_exponent_bits(to) >= halo_type_exponent_bits(from) &&
         halo_type_mantissa_bits(to) >= halo_type_mantissa_bits(from);
}

/* Whether from -> middle -> to always gives what from -> to gives. */
static bool convert_skippable(halo_type from, halo_type middle, halo_type to) {
  if (halo_type_is_complex(from) || halo_type_is_complex(middle) || halo_type_is_complex(to)) {
    return false;
  }
  bool ints = halo_type_is_integral(from) && halo_type_is_integral(middle);
  /* The low bits of an integer survive any detour through one that is as wide as the result. */
  if (ints && halo_type_is_integral(to) && halo_type_bits(middle) >= halo_type_bits(to) &&
      halo_type_bits(middle) >= halo_type_bits(from)) {
    return true;
  }
  if (!convert_lossless(from, middle)) return false;
  if (from == HALO_PRED || to == from) return true;
  if (to == HALO_PRED) return true;
  if (halo_type_is_integral(from)) {
    /* Out of range values wrap from integers but saturate from floats. */
    if (halo_type_is_integral(to)) return ints || convert_lossless(from, to);
    return convert_is_wide_float(to);
  }
  return convert_is_wide_float(to) || halo_type_is_integral(to);
}

halo_instr *halo_simplify_convert(halo_rewriter *r, halo_instr *instr) {
  halo_instr *middle = instr->operands[0];
  if (middle->shape->type == instr->shape->type) return middle;
  if (middle->opcode != HALO_OP_CONVERT) return NULL;
  halo_instr *from = halo_simplify_arg(middle, 0);
  if (!convert_skippable(from->shape->type, middle->shape->type, instr->shape->type)) return NULL;
  if (from->shape->type == instr->shape->type) return from;
  return halo_rewrite_make_unary(r, instr, HALO_OP_CONVERT, instr->shape, from);
}

halo_instr *halo_simplify_bitcast_convert(halo_rewriter *r, halo_instr *instr) {
  halo_instr *middle = instr->operands[0];
  if (middle->shape->type == instr->shape->type) return middle;
  if (middle->opcode != HALO_OP_BITCAST_CONVERT) return NULL;
  halo_instr *from = halo_simplify_arg(middle, 0);
  int bits = halo_type_bits(instr->shape->type);
  if (halo_type_bits(middle->shape->type) != bits || halo_type_bits(from->shape->type) != bits) {
    return NULL;
  }
  if (from->shape->type == instr->shape->type) return from;
  return halo_rewrite_make_unary(r, instr, HALO_OP_BITCAST_CONVERT, instr->shape, from);
}

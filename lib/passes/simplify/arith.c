/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/arith.c: rules for binary arithmetic and logic, compare and select. */
#include "passes/simplify/simplify.h"
#include "shape/floats.h"

#include <math.h>

static bool arith_is_int_like(halo_type type) {
  return halo_type_is_integral(type) || type == HALO_PRED;
}

/* Types with the IEEE notions of zero and infinity that the float rules need. */
static bool arith_is_ieee(halo_type type) {
  return type == HALO_F16 || type == HALO_BF16 || type == HALO_F32 || type == HALO_F64;
}

/* ---- Integers and pred (pred: add is or, multiply is and, max is or, min is and) ---- */

static int64_t arith_int_min(halo_type type) {
  return halo_type_is_sint(type) ? INT64_MIN >> (64 - halo_type_bits(type)) : 0;
}

static int64_t arith_int_max(halo_type type) {
  int bits = halo_type_bits(type);
  if (halo_type_is_sint(type)) return INT64_MAX >> (64 - bits);
  return bits == 64 ? -1 : (int64_t)((UINT64_C(1) << bits) - 1);
}

/* A rule for one operation: what stands for instr(x, y), or NULL. */
typedef halo_instr *arith_rule(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y);

/* A constant of all bits. */
static bool arith_is_ones(const halo_instr *y) {
  return halo_simplify_is_int(y, y->shape->type == HALO_PRED ? 1 : -1);
}

static halo_instr *int_add(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  (void)r;
  bool same = instr->shape->type == HALO_PRED && x == y;
  return same || halo_simplify_is_int(y, 0) ? x : NULL;
}

static halo_instr *int_subtract(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  if (halo_simplify_is_int(y, 0)) return x;
  if (x == y) return halo_simplify_fill(r, instr, 0);
  if (!halo_simplify_is_int(x, 0)) return NULL;
  return halo_rewrite_make_unary(r, instr, HALO_OP_NEGATE, instr->shape, y);
}

static halo_instr *int_multiply(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  (void)r;
  if (halo_simplify_is_int(y, 1)) return x;
  if (halo_simplify_is_int(y, 0)) return y;
  return instr->shape->type == HALO_PRED && x == y ? x : NULL;
}

static halo_instr *int_divide(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  (void)r;
  (void)instr;
  return halo_simplify_is_int(y, 1) ? x : NULL;
}

static halo_instr *int_remainder(halo_rewriter *r, halo_instr *instr, halo_instr *x,
                                 halo_instr *y) {
  (void)x;
  return halo_simplify_is_int(y, 1) ? halo_simplify_fill(r, instr, 0) : NULL;
}

static halo_instr *int_and(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  (void)r;
  (void)instr;
  if (x == y || arith_is_ones(y)) return x;
  return halo_simplify_is_int(y, 0) ? y : NULL;
}

static halo_instr *int_or(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  (void)r;
  (void)instr;
  if (x == y || halo_simplify_is_int(y, 0)) return x;
  return arith_is_ones(y) ? y : NULL;
}

static halo_instr *int_xor(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  if (halo_simplify_is_int(y, 0)) return x;
  if (x == y) return halo_simplify_fill(r, instr, 0);
  if (!arith_is_ones(y)) return NULL;
  return halo_rewrite_make_unary(r, instr, HALO_OP_NOT, instr->shape, x);
}

static halo_instr *int_maximum(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  (void)r;
  halo_type type = instr->shape->type;
  if (halo_simplify_is_int(y, arith_int_min(type))) return x;
  return halo_simplify_is_int(y, arith_int_max(type)) ? y : NULL;
}

static halo_instr *int_minimum(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  (void)r;
  halo_type type = instr->shape->type;
  if (halo_simplify_is_int(y, arith_int_max(type))) return x;
  return halo_simplify_is_int(y, arith_int_min(type)) ? y : NULL;
}

static halo_instr *int_shift(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  (void)r;
  (void)instr;
  return halo_simplify_is_int(y, 0) ? x : NULL;
}

/* ---- Floats ---- */

/* Whether a number is normal in a type, and its reciprocal as well. */
static bool arith_is_normal(halo_type type, double number) {
  int exponent;
  frexp(number, &exponent);
  int limit = type == HALO_F64 ? 1000 : type == HALO_F16 ? 13 : 120;
  return isfinite(number) && number != 0 && exponent <= limit && exponent >= -limit;
}

/* 1/c as the type has it, or 0 where that is no normal number. x * (1/c) is x/c for powers of two; of other c it may
 * differ in the last place, as it does in XLA, which does the same: divisions take many times as long. Not of bf16,
 * which XLA divides in f32: rounded to 8 bits, 1/c is a worse divisor. */
static double arith_reciprocal(halo_type type, double c) {
  int exponent;
  if (type == HALO_BF16 && fabs(frexp(c, &exponent)) != 0.5) return 0;
  return arith_is_ieee(type) && arith_is_normal(type, c) ? 1 / c : 0;
}

/* x * c or x + c, for a constant that `like` holds in its type. */
static halo_instr *float_with(halo_rewriter *r, halo_instr *instr, halo_opcode opcode,
                              halo_instr *x, const halo_instr *like, double c) {
  const halo_literal *held = halo_simplify_splat(like);
  halo_instr *scalar = halo_rewrite_make_scalar(r, instr, held->shape->type, 1);
  halo_literal_set_f64(scalar->literal, 0, c);
  return halo_rewrite_make_binary(r, instr, opcode, instr->shape, x,
                                  halo_rewrite_make_splat(r, instr, scalar, like->shape));
}

/* (x * c) * d is x * (c * d), and (x + c) + d is x + (c + d), as in XLA: it differs in the last place, and numbers that
 * programs make in two steps, as jnp.linspace its places, become whole. Not of bf16, which XLA rounds after each step,
 * and not where the two constants together are out of the type's range. */
static halo_instr *float_together(halo_rewriter *r, halo_instr *instr, halo_instr *x,
                                  halo_instr *y) {
  const halo_literal *second = halo_simplify_splat(y);
  bool product = instr->opcode == HALO_OP_MULTIPLY;
  bool same = product ? x->opcode == HALO_OP_MULTIPLY
                      : x->opcode == HALO_OP_ADD || x->opcode == HALO_OP_SUBTRACT;
  if (!second || !same || instr->shape->type == HALO_BF16) return NULL;
  halo_instr *inner = halo_simplify_arg(x, 0);
  const halo_literal *first = halo_simplify_splat(halo_simplify_arg(x, 1));
  if (!first || halo_simplify_splat(inner)) return NULL;
  double c = halo_literal_get_f64(first, 0), d = halo_literal_get_f64(second, 0);
  if (x->opcode == HALO_OP_SUBTRACT) c = -c;
  if (instr->opcode == HALO_OP_SUBTRACT) d = -d;
  double both = product ? c * d : c + d;
  if (both != 0 && !arith_is_normal(instr->shape->type, both)) return NULL;
  if (product && both == 0) return NULL;
  return float_with(r, instr, product ? HALO_OP_MULTIPLY : HALO_OP_ADD, inner, y, both);
}

/* (x * c) * s, for one number s that stands everywhere, is x * (s * c), as in XLA. */
static halo_instr *float_scaled(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  halo_instr *scale = halo_simplify_scalar(y);
  if (x->opcode != HALO_OP_MULTIPLY || !scale || halo_shape_is_scalar(instr->shape)) return NULL;
  halo_instr *inner = halo_simplify_arg(x, 0), *constant = halo_simplify_arg(x, 1);
  if (!halo_simplify_splat(constant) || halo_simplify_splat(inner)) return NULL;
  if (halo_simplify_splat(y) || instr->shape->type == HALO_BF16) return NULL;
  halo_instr *both = halo_rewrite_make_binary(r, instr, HALO_OP_MULTIPLY, scale->shape, scale,
                                              halo_simplify_scalar(constant));
  return halo_rewrite_make_binary(r, instr, HALO_OP_MULTIPLY, instr->shape, inner,
                                  halo_rewrite_make_splat(r, instr, both, instr->shape));
}

static halo_instr *float_divide(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  if (halo_simplify_is_float(y, 1)) return x;
  const halo_literal *divisor = halo_simplify_splat(y);
  if (!divisor) return NULL;
  double reciprocal = arith_reciprocal(divisor->shape->type, halo_literal_get_f64(divisor, 0));
  if (reciprocal == 0) return NULL;
  return float_with(r, instr, HALO_OP_MULTIPLY, x, y, reciprocal);
}

/* x + 0 is not x for x = -0, x * 0 is not 0 for NaN, x - x is not 0 for Inf: none of those here. */
static halo_instr *float_add(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  return halo_simplify_is_float(y, -0.0) ? x : float_together(r, instr, x, y);
}

static halo_instr *float_subtract(halo_rewriter *r, halo_instr *instr, halo_instr *x,
                                  halo_instr *y) {
  return halo_simplify_is_float(y, 0.0) ? x : float_together(r, instr, x, y);
}

static halo_instr *float_multiply(halo_rewriter *r, halo_instr *instr, halo_instr *x,
                                  halo_instr *y) {
  if (halo_simplify_is_float(y, 1)) return x;
  if (!halo_simplify_is_float(y, -1)) {
    halo_instr *together = float_together(r, instr, x, y);
    if (!together) together = float_scaled(r, instr, x, y);
    return together ? together : float_scaled(r, instr, y, x);
  }
  return halo_rewrite_make_unary(r, instr, HALO_OP_NEGATE, instr->shape, x);
}

static halo_instr *float_maximum(halo_rewriter *r, halo_instr *instr, halo_instr *x,
                                 halo_instr *y) {
  (void)r;
  (void)instr;
  return halo_simplify_is_float(y, -INFINITY) ? x : NULL;
}

static halo_instr *float_minimum(halo_rewriter *r, halo_instr *instr, halo_instr *x,
                                 halo_instr *y) {
  (void)r;
  (void)instr;
  return halo_simplify_is_float(y, INFINITY) ? x : NULL;
}

/* Powers with a constant exponent; pow(x, 0) is 1 even for NaN. */
static halo_instr *arith_power(halo_rewriter *r, halo_instr *instr, halo_instr *x, halo_instr *y) {
  halo_type type = instr->shape->type;
  const halo_literal *exponent = halo_simplify_splat(y);
  if (!exponent || !(halo_type_is_integral(type) || arith_is_ieee(type))) return NULL;
  double value = halo_literal_get_f64(exponent, 0);
  if (value == 0) return halo_simplify_fill(r, instr, 1);
  if (value == 1) return x;
  if (value == 2) {
    return halo_rewrite_make_binary(r, instr, HALO_OP_MULTIPLY, instr->shape, x, x);
  }
  if (value == -1 && arith_is_ieee(type)) {
    return halo_rewrite_make_binary(r, instr, HALO_OP_DIVIDE, instr->shape,
                                    halo_simplify_fill(r, instr, 1), x);
  }
  return NULL;
}

/* By operation and kind of element; an operation of which nothing is known has no rule. */
static const struct {
  arith_rule *integer; /* and pred */
  arith_rule *ieee;
} arith_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_ADD] = {int_add, float_add},
    [HALO_OP_SUBTRACT] = {int_subtract, float_subtract},
    [HALO_OP_MULTIPLY] = {int_multiply, float_multiply},
    [HALO_OP_DIVIDE] = {int_divide, float_divide},
    [HALO_OP_REMAINDER] = {int_remainder, NULL},
    [HALO_OP_POWER] = {arith_power, arith_power},
    [HALO_OP_MAXIMUM] = {int_maximum, float_maximum},
    [HALO_OP_MINIMUM] = {int_minimum, float_minimum},
    [HALO_OP_AND] = {int_and, NULL},
    [HALO_OP_OR] = {int_or, NULL},
    [HALO_OP_XOR] = {int_xor, NULL},
    [HALO_OP_SHIFT_LEFT] = {int_shift, NULL},
    [HALO_OP_SHIFT_RIGHT_LOGICAL] = {int_shift, NULL},
    [HALO_OP_SHIFT_RIGHT_ARITHMETIC] = {int_shift, NULL},
};

halo_instr *halo_simplify_binary(halo_rewriter *r, halo_instr *instr) {
  halo_instr *x = instr->operands[0], *y = instr->operands[1];
  if (halo_opcode_commutes(instr->opcode, instr->shape->type) && halo_simplify_splat(x) &&
      !halo_simplify_splat(y)) {
    /* Constants stand on the right, so that rules look for them there only. */
    instr->operands[0] = y;
    instr->operands[1] = x;
    r->changed = true;
    x = instr->operands[0];
    y = instr->operands[1];
  }
  if ((instr->opcode == HALO_OP_MAXIMUM || instr->opcode == HALO_OP_MINIMUM) && x == y) return x;
  arith_rule *rule = NULL;
  if (arith_is_int_like(instr->shape->type)) rule = arith_rules[instr->opcode].integer;
  if (arith_is_ieee(instr->shape->type)) rule = arith_rules[instr->opcode].ieee;
  return rule ? rule(r, instr, x, y) : NULL;
}

/* ---- compare ---- */

static halo_direction arith_mirrored(halo_direction direction) {
  switch (direction) {
    case HALO_EQ: return HALO_EQ;
    case HALO_NE: return HALO_NE;
    case HALO_GE: return HALO_LE;
    case HALO_GT: return HALO_LT;
    case HALO_LE: return HALO_GE;
    case HALO_LT: return HALO_GT;
  }
  return direction;
}

static halo_instr *arith_compare_self(halo_rewriter *r, halo_instr *instr, halo_direction direction,
                                      bool has_nan) {
  switch (direction) {
    case HALO_EQ:
    case HALO_LE:
    case HALO_GE: return has_nan ? NULL : halo_simplify_fill(r, instr, 1);
    case HALO_NE: return has_nan ? NULL : halo_simplify_fill(r, instr, 0);
    case HALO_LT:
    case HALO_GT: return halo_simplify_fill(r, instr, 0);
  }
  return NULL;
}

halo_instr *halo_simplify_compare(halo_rewriter *r, halo_instr *instr) {
  halo_instr *x = instr->operands[0], *y = instr->operands[1];
  halo_direction direction = (halo_direction)halo_instr_int(instr, HALO_ATTR_DIRECTION, HALO_EQ);
  halo_compare_type type = halo_compare_type_of(instr);
  if (halo_simplify_splat(x) && !halo_simplify_splat(y)) {
    direction = arith_mirrored(direction);
    halo_attr attr = {.id = HALO_ATTR_DIRECTION, .i = direction};
    halo_instr_set_attr(instr, &attr);
    instr->operands[0] = y;
    instr->operands[1] = x;
    r->changed = true;
    x = instr->operands[0];
    y = instr->operands[1];
  }
  if (x == y) return arith_compare_self(r, instr, direction, type == HALO_COMPARE_FLOAT);
  if (x->shape->type == HALO_PRED && (direction == HALO_EQ || direction == HALO_NE)) {
    bool one = halo_simplify_is_int(y, 1);
    if (!one && !halo_simplify_is_int(y, 0)) return NULL;
    if (one == (direction == HALO_EQ)) return x;
    return halo_rewrite_make_unary(r, instr, HALO_OP_NOT, instr->shape, x);
  }
  if (type == HALO_COMPARE_UNSIGNED && halo_simplify_is_int(y, 0)) {
    if (direction == HALO_LT) return halo_simplify_fill(r, instr, 0);
    if (direction == HALO_GE) return halo_simplify_fill(r, instr, 1);
  }
  return NULL;
}

/* ---- select ---- */

halo_instr *halo_simplify_select(halo_rewriter *r, halo_instr *instr) {
  halo_instr *pred = instr->operands[0], *a = instr->operands[1], *b = instr->operands[2];
  if (a == b) return a;
  if (halo_simplify_is_int(pred, 1)) return a;
  if (halo_simplify_is_int(pred, 0)) return b;
  if (pred->opcode == HALO_OP_NOT) {
    instr->operands[0] = halo_simplify_arg(pred, 0);
    instr->operands[1] = b;
    instr->operands[2] = a;
    r->changed = true;
    return NULL;
  }
  if (instr->shape->type == HALO_PRED && halo_shape_same_dims(pred->shape, instr->shape)) {
    if (halo_simplify_is_int(a, 1) && halo_simplify_is_int(b, 0)) return pred;
    if (halo_simplify_is_int(a, 0) && halo_simplify_is_int(b, 1)) {
      return halo_rewrite_make_unary(r, instr, HALO_OP_NOT, instr->shape, pred);
    }
  }
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* generate_elementwise.c: random elementwise operations, with bounds of their results. */
#include "generator.h"

#include <math.h>

/* ULP a device's function may be off; generous: tolerances are about wrong, not about rounding. */
#define FUNCTION_ULP 32.0

static bool gen_done(generator *g, halo_instr *instr, double size, double error, bool whole) {
  gen_push(g, (gen_value){.instr = instr, .size = size, .error = error, .whole = whole});
  return instr != NULL;
}

static gen_value gen_number_like(generator *g, gen_value like, double number) {
  const halo_shape *shape = like.instr->shape;
  return gen_constant(g, shape->type, shape->rank, shape->dims, number);
}

/* |a| + 1: at least 1, for divisors and logarithms. */
static gen_value gen_at_least_one(generator *g, gen_value a) {
  double epsilon = gen_epsilon(a.instr->shape->type);
  gen_value one = gen_number_like(g, a, 1);
  bool exact = a.whole && a.error == 0;
  a.instr = gen_binary(g, HALO_OP_ADD, gen_unary(g, HALO_OP_ABS, a.instr), one.instr);
  a.size += 1;
  a.error += exact ? 0 : a.size * epsilon;
  return a;
}

/* a limited to -limit .. limit. */
static gen_value gen_limited(generator *g, gen_value a, double limit) {
  const halo_shape *shape = a.instr->shape;
  int rank = gen_chance(g, 50) ? 0 : shape->rank;
  gen_value low = gen_constant(g, shape->type, rank, shape->dims, -limit);
  gen_value high = gen_constant(g, shape->type, rank, shape->dims, limit);
  halo_instr *operands[3] = {low.instr, a.instr, high.instr};
  a.instr = gen_emit(g, HALO_OP_CLAMP, NULL, 3, operands, 0, NULL);
  if (a.size > limit) a.size = limit;
  return a;
}

/* ---- Floats ---- */

/* A function f(x) of a prepared argument: |f| <= size, |f'| <= slope. */
static bool gen_function(generator *g, halo_opcode opcode, gen_value x, double size, double slope) {
  double epsilon = gen_epsilon(x.instr ? x.instr->shape->type : HALO_F32);
  return gen_done(g, gen_unary(g, opcode, x.instr), size,
                  x.error * slope + size * epsilon * FUNCTION_ULP, false);
}

static bool gen_float_function(generator *g, gen_value a) {
  switch (gen_below(g, 16)) {
    case 0: return gen_function(g, HALO_OP_SIN, a, 1, 1);
    case 1: return gen_function(g, HALO_OP_COS, a, 1, 1);
    case 2: return gen_function(g, HALO_OP_TANH, a, 1, 1);
    case 3: return gen_function(g, HALO_OP_LOGISTIC, a, 1, 0.25);
    case 4: return gen_function(g, HALO_OP_EXP, gen_limited(g, a, 4), 55, 55);
    case 5: return gen_function(g, HALO_OP_EXPM1, gen_limited(g, a, 4), 55, 55);
    case 6: return gen_function(g, HALO_OP_LOG, gen_at_least_one(g, a), log(a.size + 2), 1);
    case 7: return gen_function(g, HALO_OP_LOG1P, gen_at_least_one(g, a), log(a.size + 3), 1);
    case 8: return gen_function(g, HALO_OP_SQRT, gen_at_least_one(g, a), sqrt(a.size + 2), 0.5);
    case 9: return gen_function(g, HALO_OP_RSQRT, gen_at_least_one(g, a), 1, 0.5);
    case 10: return gen_function(g, HALO_OP_CBRT, gen_at_least_one(g, a), cbrt(a.size + 2), 0.34);
    case 11: return gen_function(g, HALO_OP_ERF, a, 1, 1.13);
    case 12: return gen_function(g, HALO_OP_TAN, gen_limited(g, a, 1), 1.6, 3.5);
    case 13: return gen_function(g, HALO_OP_LOGISTIC, gen_limited(g, a, 8), 1, 0.25);
    case 14: {
      gen_value x = gen_at_least_one(g, a), b = gen_partner(g, a);
      double epsilon = gen_epsilon(a.instr->shape->type);
      return gen_done(g, gen_binary(g, HALO_OP_ATAN2, b.instr, x.instr), 1.6,
                      x.error + b.error + 1.6 * epsilon * FUNCTION_ULP, false);
    }
    default: {
      gen_value x = gen_at_least_one(g, gen_limited(g, a, 8));
      gen_value y = gen_limited(g, gen_partner(g, a), 2);
      double size = x.size * x.size, epsilon = gen_epsilon(a.instr->shape->type);
      return gen_done(
          g, gen_binary(g, HALO_OP_POWER, x.instr, y.instr), size,
          2 * x.size * x.error + log(x.size) * size * y.error + size * epsilon * FUNCTION_ULP,
          false);
    }
  }
}

/* These jump, so they take exact values only, and give whole numbers. */
static bool gen_float_jump(generator *g, gen_value a) {
  static const halo_opcode rounding[] = {HALO_OP_FLOOR, HALO_OP_CEIL, HALO_OP_ROUND_AFZ,
                                         HALO_OP_ROUND_EVEN, HALO_OP_SIGN};
  if (a.error > 0) return false;
  if (gen_chance(g, 60)) {
    return gen_done(g, gen_unary(g, rounding[gen_below(g, 5)], a.instr), a.size + 1, 0, true);
  }
  if (gen_chance(g, 40)) {
    gen_value b = gen_at_least_one(g, gen_partner(g, a));
    if (b.error > 0) return false;
    return gen_done(g, gen_binary(g, HALO_OP_REMAINDER, a.instr, b.instr), a.size, 0, a.whole);
  }
  halo_type type = a.instr->shape->type;
  halo_attr bits[2] = {
      gen_int(HALO_ATTR_EXPONENT_BITS, halo_type_exponent_bits(type)),
      gen_int(HALO_ATTR_MANTISSA_BITS, 1 + gen_below(g, (uint32_t)halo_type_mantissa_bits(type)))};
  return gen_done(g, gen_emit(g, HALO_OP_REDUCE_PRECISION, NULL, 1, &a.instr, 2, bits), a.size * 2,
                  0, false);
}

/* Sums and products, also complex ones (then each part has two products). */
static bool gen_arithmetic(generator *g, gen_value a) {
  halo_type type = a.instr->shape->type;
  gen_value b = gen_partner(g, a);
  double epsilon = gen_epsilon(type), parts = halo_type_is_complex(type) ? 2 : 1;
  uint32_t what = gen_below(g, 3);
  halo_opcode opcode = what == 0 ? HALO_OP_ADD : what == 1 ? HALO_OP_SUBTRACT : HALO_OP_MULTIPLY;
  bool multiply = opcode == HALO_OP_MULTIPLY;
  double size = multiply ? parts * a.size * b.size : a.size + b.size;
  double error = multiply ? parts * (a.size * b.error + b.size * a.error + a.error * b.error)
                          : a.error + b.error;
  bool whole = a.whole && b.whole && a.error == 0 && b.error == 0 && size <= gen_whole_limit(type);
  if (!whole) error += 2 * parts * size * epsilon;
  return gen_done(g, gen_binary(g, opcode, a.instr, b.instr), size, error, whole);
}

static bool gen_float(generator *g, gen_value a) {
  halo_type type = a.instr->shape->type;
  double epsilon = gen_epsilon(type);
  switch (gen_below(g, 10)) {
    case 0:
    case 1: return gen_float_function(g, a);
    case 2: return gen_float_jump(g, a);
    case 3: {
      halo_opcode opcode = gen_chance(g, 50) ? HALO_OP_NEGATE : HALO_OP_ABS;
      return gen_done(g, gen_unary(g, opcode, a.instr), a.size, a.error, a.whole);
    }
    case 4: {
      gen_value b = gen_partner(g, a);
      halo_opcode opcode = gen_chance(g, 50) ? HALO_OP_MAXIMUM : HALO_OP_MINIMUM;
      return gen_done(g, gen_binary(g, opcode, a.instr, b.instr), fmax(a.size, b.size),
                      fmax(a.error, b.error), a.whole && b.whole);
    }
    case 5: {
      gen_value b = gen_at_least_one(g, gen_partner(g, a));
      return gen_done(g, gen_binary(g, HALO_OP_DIVIDE, a.instr, b.instr), a.size,
                      a.error + a.size * b.error + 4 * a.size * epsilon, false);
    }
    case 6: {
      gen_value limited = gen_limited(g, a, 1 + gen_below(g, 4));
      return gen_done(g, limited.instr, limited.size, limited.error, limited.whole);
    }
    case 7:
      if (type == HALO_F32 || type == HALO_F64) {
        gen_value b = gen_partner(g, a);
        return gen_done(g, gen_binary(g, HALO_OP_COMPLEX, a.instr, b.instr), fmax(a.size, b.size),
                        fmax(a.error, b.error), a.whole && b.whole);
      }
      return gen_arithmetic(g, a);
    default: return gen_arithmetic(g, a);
  }
}

static bool gen_complex(generator *g, gen_value a) {
  double epsilon = gen_epsilon(a.instr->shape->type);
  switch (gen_below(g, 6)) {
    case 0: {
      halo_opcode opcode = gen_chance(g, 50) ? HALO_OP_REAL : HALO_OP_IMAG;
      return gen_done(g, gen_unary(g, opcode, a.instr), a.size, a.error, a.whole);
    }
    case 1:
      return gen_done(g, gen_unary(g, HALO_OP_ABS, a.instr), 1.5 * a.size,
                      1.5 * a.error + 8 * a.size * epsilon, false);
    case 2: return gen_done(g, gen_unary(g, HALO_OP_NEGATE, a.instr), a.size, a.error, a.whole);
    default: return gen_arithmetic(g, a);
  }
}

/* ---- Integers and pred ---- */

static bool gen_integer(generator *g, gen_value a) {
  static const halo_opcode binary[] = {HALO_OP_ADD,
                                       HALO_OP_SUBTRACT,
                                       HALO_OP_MULTIPLY,
                                       HALO_OP_DIVIDE,
                                       HALO_OP_REMAINDER,
                                       HALO_OP_MAXIMUM,
                                       HALO_OP_MINIMUM,
                                       HALO_OP_AND,
                                       HALO_OP_OR,
                                       HALO_OP_XOR,
                                       HALO_OP_SHIFT_LEFT,
                                       HALO_OP_SHIFT_RIGHT_LOGICAL,
                                       HALO_OP_SHIFT_RIGHT_ARITHMETIC,
                                       HALO_OP_POWER};
  static const halo_opcode unary[] = {HALO_OP_NEGATE, HALO_OP_NOT, HALO_OP_CLZ,
                                      HALO_OP_POPCNT, HALO_OP_ABS, HALO_OP_SIGN};
  halo_type type = a.instr->shape->type;
  uint32_t signed_too = halo_type_is_sint(type) ? 6 : 4;
  if (gen_chance(g, 25)) {
    return gen_done(g, gen_unary(g, unary[gen_below(g, signed_too)], a.instr), 8, 0, true);
  }
  gen_value b = gen_partner(g, a);
  halo_opcode opcode = binary[gen_below(g, 14)];
  if (opcode == HALO_OP_POWER) {
    /* XLA's own emitters disagree about exponents outside 0 .. 63. */
    b.instr = gen_binary(g, HALO_OP_AND, b.instr, gen_number_like(g, b, 3).instr);
  }
  if (gen_chance(g, 8)) {
    gen_value c = gen_partner(g, a);
    halo_instr *operands[3] = {b.instr, a.instr, c.instr};
    return gen_done(g, gen_emit(g, HALO_OP_CLAMP, NULL, 3, operands, 0, NULL), 8, 0, true);
  }
  return gen_done(g, gen_binary(g, opcode, a.instr, b.instr), 8, 0, true);
}

static bool gen_logic(generator *g, gen_value a) {
  static const halo_opcode binary[] = {HALO_OP_AND,    HALO_OP_OR,       HALO_OP_XOR,
                                       HALO_OP_ADD,    HALO_OP_MULTIPLY, HALO_OP_MAXIMUM,
                                       HALO_OP_MINIMUM};
  if (gen_chance(g, 20)) return gen_done(g, gen_unary(g, HALO_OP_NOT, a.instr), 1, 0, true);
  gen_value b = gen_partner(g, a);
  return gen_done(g, gen_binary(g, binary[gen_below(g, 7)], a.instr, b.instr), 1, 0, true);
}

/* ---- Between types ---- */

static bool gen_compare(generator *g, gen_value a) {
  halo_type type = a.instr->shape->type;
  gen_value b = gen_partner(g, a);
  if (a.error > 0 || b.error > 0) return false;
  bool complex_ = halo_type_is_complex(type), floating = halo_type_is_float(type);
  halo_attr attrs[2] = {gen_int(HALO_ATTR_DIRECTION, gen_below(g, complex_ ? 2 : 6)),
                        gen_int(HALO_ATTR_COMPARE_TYPE, HALO_COMPARE_TOTALORDER)};
  halo_instr *operands[2] = {a.instr, b.instr};
  /* Zeros may differ in sign between evaluations, so that the total order sees only some values. */
  bool total = floating && gen_chance(g, 20) && a.instr->opcode == HALO_OP_PARAMETER &&
               b.instr->opcode == HALO_OP_PARAMETER;
  return gen_done(g, gen_emit(g, HALO_OP_COMPARE, NULL, 2, operands, total ? 2 : 1, attrs), 1, 0,
                  true);
}

static bool gen_select(generator *g, gen_value a) {
  gen_value b = gen_partner(g, a), p = gen_pred_like(g, a);
  halo_instr *operands[3] = {p.instr, a.instr, b.instr};
  return gen_done(g, gen_emit(g, HALO_OP_SELECT, NULL, 3, operands, 0, NULL), fmax(a.size, b.size),
                  fmax(a.error, b.error), a.whole && b.whole);
}

static bool gen_convert(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  halo_type from = shape->type, to = gen_random_type(g);
  bool from_float = halo_type_is_float(from) || halo_type_is_complex(from);
  bool to_float = halo_type_is_float(to) || halo_type_is_complex(to);
  if (from == to || (halo_type_is_complex(from) && !halo_type_is_complex(to))) return false;
  if (from_float && !to_float && a.error > 0) return false;
  if (!from_float && to_float) {
    if (halo_type_is_integral(from)) {
      /* Small numbers: the lower bits, or one of the few values of a narrow type. */
      gen_value mask = gen_number_like(g, a, halo_type_bits(from) <= 4 ? 7 : 31);
      a.instr = gen_binary(g, HALO_OP_AND, a.instr, mask.instr);
    }
    a.size = 32;
    a.whole = true;
  }
  if (from_float && to_float && gen_epsilon(to) > gen_epsilon(from)) {
    a.whole = a.whole && a.error == 0 && a.size <= gen_whole_limit(to);
    if (!a.whole) a.error += a.size * gen_epsilon(to) * 2;
  }
  const halo_shape *result = halo_shape_with_type(&g->module->arena, shape, to);
  return gen_done(g, gen_emit(g, HALO_OP_CONVERT, result, 1, &a.instr, 0, NULL), a.size, a.error,
                  a.whole);
}

bool gen_elementwise(generator *g, gen_value a) {
  if (!a.instr) return false;
  uint32_t what = gen_below(g, 10);
  if (what == 0) return gen_compare(g, a);
  if (what == 1) return gen_select(g, a);
  if (what == 2) return gen_convert(g, a);
  switch (halo_type_class_of(a.instr->shape->type)) {
    case HALO_CLASS_PRED: return gen_logic(g, a);
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT: return gen_integer(g, a);
    case HALO_CLASS_FLOAT: return gen_float(g, a);
    case HALO_CLASS_COMPLEX: return gen_complex(g, a);
    case HALO_CLASS_OTHER: break;
  }
  return false;
}

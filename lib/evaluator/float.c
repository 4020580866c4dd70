/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/float.c: real float operations. Every type is computed in double and rounded once; the
 * functions of F64 are computed in long double. */
#include "evaluator/scalar.h"

#include "shape/floats.h"

#include <math.h>

static double float_logistic(double x) {
  double e = exp(-x);
  /* The definition is 1/(1+exp(-x)) in f32: where exp overflows there, the result is 0. */
  return isinf((float)e) ? 0.0 : 1 / (1 + e);
}

static long double float_logistic_long(long double x) {
  long double e = expl(-x);
  return isinf((double)e) ? 0.0L : 1 / (1 + e);
}

static double float_rsqrt(double x) { return 1 / sqrt(x); }
static long double float_rsqrt_long(long double x) { return 1 / sqrtl(x); }

/* Whether abs and negate are a matter of the sign bit alone. */
static bool float_has_plain_sign(halo_type type) {
  return type != HALO_F8E4M3B11FNUZ && type != HALO_F8E4M3FNUZ && type != HALO_F8E5M2FNUZ &&
         type != HALO_F8E8M0FNU;
}

static uint64_t float_abs(halo_type type, const eval_scalar *args) {
  uint64_t bits = args[0].re;
  uint64_t sign = 1ull << (halo_type_bits(type) - 1);
  if (float_has_plain_sign(type)) return bits & ~sign;
  return eval_encode(type, fabs(eval_decode(type, bits)));
}

static uint64_t float_negate(halo_type type, const eval_scalar *args) {
  uint64_t bits = args[0].re;
  uint64_t sign = 1ull << (halo_type_bits(type) - 1);
  if (float_has_plain_sign(type)) return bits ^ sign;
  return eval_encode(type, -eval_decode(type, bits));
}

/* NaN wins, and plus zero is larger than minus zero. */
static uint64_t float_extreme(halo_type type, uint64_t a, uint64_t b, bool largest) {
  double x = eval_decode(type, a), y = eval_decode(type, b);
  if (isnan(x)) return a;
  if (isnan(y)) return b;
  bool less = x < y || (x == y && signbit(x) && !signbit(y));
  return less == largest ? b : a;
}

static double float_sign(double x) {
  if (isnan(x) || x == 0) return x;
  return x < 0 ? -1 : 1;
}

static uint64_t float_maximum(halo_type type, const eval_scalar *args) {
  return float_extreme(type, args[0].re, args[1].re, true);
}

static uint64_t float_minimum(halo_type type, const eval_scalar *args) {
  return float_extreme(type, args[0].re, args[1].re, false);
}

static uint64_t float_clamp(halo_type type, const eval_scalar *args) {
  return float_extreme(type, float_maximum(type, args), args[2].re, false);
}

static uint64_t float_is_finite(halo_type type, const eval_scalar *args) {
  return isfinite(eval_decode(type, args[0].re)) != 0;
}

static double float_add(double x, double y) { return x + y; }
static double float_subtract(double x, double y) { return x - y; }
static double float_multiply(double x, double y) { return x * y; }
static double float_divide(double x, double y) { return x / y; }

/* What computes one operation: one of the three. */
static const struct float_rule {
  /* On the encoding itself, where that is more than a number or less. */
  uint64_t (*bits)(halo_type type, const eval_scalar *args);
  /* In double, and for F64 in long double where double does not round right by itself. */
  double (*unary)(double);
  long double (*unary_long)(long double);
  double (*binary)(double, double);
  long double (*binary_long)(long double, long double);
} float_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_ABS] = {.bits = float_abs},
    [HALO_OP_NEGATE] = {.bits = float_negate},
    [HALO_OP_IS_FINITE] = {.bits = float_is_finite},
    [HALO_OP_MAXIMUM] = {.bits = float_maximum},
    [HALO_OP_MINIMUM] = {.bits = float_minimum},
    [HALO_OP_CLAMP] = {.bits = float_clamp},
    [HALO_OP_SIGN] = {.unary = float_sign},
    [HALO_OP_SQRT] = {.unary = sqrt},
    [HALO_OP_CEIL] = {.unary = ceil},
    [HALO_OP_FLOOR] = {.unary = floor},
    [HALO_OP_ROUND_AFZ] = {.unary = round},
    [HALO_OP_ROUND_EVEN] = {.unary = nearbyint},
    [HALO_OP_ACOS] = {.unary = acos, .unary_long = acosl},
    [HALO_OP_ACOSH] = {.unary = acosh, .unary_long = acoshl},
    [HALO_OP_ASIN] = {.unary = asin, .unary_long = asinl},
    [HALO_OP_ASINH] = {.unary = asinh, .unary_long = asinhl},
    [HALO_OP_ATAN] = {.unary = atan, .unary_long = atanl},
    [HALO_OP_ATANH] = {.unary = atanh, .unary_long = atanhl},
    [HALO_OP_CBRT] = {.unary = cbrt, .unary_long = cbrtl},
    [HALO_OP_COS] = {.unary = cos, .unary_long = cosl},
    [HALO_OP_COSH] = {.unary = cosh, .unary_long = coshl},
    [HALO_OP_SIN] = {.unary = sin, .unary_long = sinl},
    [HALO_OP_SINH] = {.unary = sinh, .unary_long = sinhl},
    [HALO_OP_TAN] = {.unary = tan, .unary_long = tanl},
    [HALO_OP_TANH] = {.unary = tanh, .unary_long = tanhl},
    [HALO_OP_ERF] = {.unary = erf, .unary_long = erfl},
    [HALO_OP_EXP] = {.unary = exp, .unary_long = expl},
    [HALO_OP_EXPM1] = {.unary = expm1, .unary_long = expm1l},
    [HALO_OP_LOG] = {.unary = log, .unary_long = logl},
    [HALO_OP_LOG1P] = {.unary = log1p, .unary_long = log1pl},
    [HALO_OP_LOGISTIC] = {.unary = float_logistic, .unary_long = float_logistic_long},
    [HALO_OP_RSQRT] = {.unary = float_rsqrt, .unary_long = float_rsqrt_long},
    [HALO_OP_ADD] = {.binary = float_add},
    [HALO_OP_SUBTRACT] = {.binary = float_subtract},
    [HALO_OP_MULTIPLY] = {.binary = float_multiply},
    [HALO_OP_DIVIDE] = {.binary = float_divide},
    [HALO_OP_REMAINDER] = {.binary = fmod},
    [HALO_OP_POWER] = {.binary = pow, .binary_long = powl},
    [HALO_OP_ATAN2] = {.binary = atan2, .binary_long = atan2l},
};

bool eval_float_knows(halo_opcode opcode) {
  const struct float_rule *rule = &float_rules[opcode];
  return rule->bits || rule->unary || rule->binary;
}

eval_scalar eval_float_op(const eval_op *op, const eval_scalar *args) {
  halo_type type = op->in;
  const struct float_rule *rule = &float_rules[op->opcode];
  if (rule->bits) return (eval_scalar){rule->bits(type, args), 0};
  double x = eval_decode(type, args[0].re), result;
  if (rule->unary) {
    result = type == HALO_F64 && rule->unary_long ? (double)rule->unary_long(x) : rule->unary(x);
  } else {
    double y = eval_decode(type, args[1].re);
    result = type == HALO_F64 && rule->binary_long ? (double)rule->binary_long(x, y)
                                                   : rule->binary(x, y);
  }
  return (eval_scalar){eval_encode(type, result), 0};
}

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

/* The functions with a rounding that depends on the library, in both precisions. */
static const struct float_function {
  double (*f)(double);
  long double (*l)(long double);
} float_functions[HALO_OPCODE_COUNT] = {
    [HALO_OP_ACOS] = {acos, acosl},
    [HALO_OP_ACOSH] = {acosh, acoshl},
    [HALO_OP_ASIN] = {asin, asinl},
    [HALO_OP_ASINH] = {asinh, asinhl},
    [HALO_OP_ATAN] = {atan, atanl},
    [HALO_OP_ATANH] = {atanh, atanhl},
    [HALO_OP_CBRT] = {cbrt, cbrtl},
    [HALO_OP_COS] = {cos, cosl},
    [HALO_OP_COSH] = {cosh, coshl},
    [HALO_OP_SIN] = {sin, sinl},
    [HALO_OP_SINH] = {sinh, sinhl},
    [HALO_OP_TAN] = {tan, tanl},
    [HALO_OP_TANH] = {tanh, tanhl},
    [HALO_OP_ERF] = {erf, erfl},
    [HALO_OP_EXP] = {exp, expl},
    [HALO_OP_EXPM1] = {expm1, expm1l},
    [HALO_OP_LOG] = {log, logl},
    [HALO_OP_LOG1P] = {log1p, log1pl},
    [HALO_OP_LOGISTIC] = {float_logistic, float_logistic_long},
    [HALO_OP_RSQRT] = {float_rsqrt, float_rsqrt_long},
};

/* Whether abs and negate are a matter of the sign bit alone. */
static bool float_has_plain_sign(halo_type type) {
  return type != HALO_F8E4M3B11FNUZ && type != HALO_F8E4M3FNUZ && type != HALO_F8E5M2FNUZ &&
         type != HALO_F8E8M0FNU;
}

static uint64_t float_abs(halo_type type, uint64_t bits) {
  uint64_t sign = 1ull << (halo_type_bits(type) - 1);
  if (float_has_plain_sign(type)) return bits & ~sign;
  return eval_encode(type, fabs(eval_decode(type, bits)));
}

static uint64_t float_negate(halo_type type, uint64_t bits) {
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

static double float_binary(halo_opcode opcode, double x, double y) {
  switch ((int)opcode) {
    case HALO_OP_ADD: return x + y;
    case HALO_OP_SUBTRACT: return x - y;
    case HALO_OP_MULTIPLY: return x * y;
    case HALO_OP_DIVIDE: return x / y;
    case HALO_OP_REMAINDER: return fmod(x, y);
    case HALO_OP_POWER: return pow(x, y);
    case HALO_OP_ATAN2: return atan2(x, y);
  }
  return NAN;
}

/* These round correctly, or are exact, in double. */
static double float_unary(halo_opcode opcode, double x) {
  switch ((int)opcode) {
    case HALO_OP_SIGN: return float_sign(x);
    case HALO_OP_SQRT: return sqrt(x);
    case HALO_OP_CEIL: return ceil(x);
    case HALO_OP_FLOOR: return floor(x);
    case HALO_OP_ROUND_AFZ: return round(x);
    case HALO_OP_ROUND_EVEN: return nearbyint(x);
  }
  return NAN;
}

eval_scalar eval_float_op(const eval_op *op, const eval_scalar *args) {
  halo_type type = op->in;
  uint64_t bits = args[0].re;
  const struct float_function *function = &float_functions[op->opcode];
  switch ((int)op->opcode) {
    case HALO_OP_ABS: return (eval_scalar){float_abs(type, bits), 0};
    case HALO_OP_NEGATE: return (eval_scalar){float_negate(type, bits), 0};
    case HALO_OP_IS_FINITE: return (eval_scalar){isfinite(eval_decode(type, bits)) != 0, 0};
    case HALO_OP_MAXIMUM:
    case HALO_OP_MINIMUM: {
      bool largest = op->opcode == HALO_OP_MAXIMUM;
      return (eval_scalar){float_extreme(type, bits, args[1].re, largest), 0};
    }
    case HALO_OP_CLAMP: {
      uint64_t low = float_extreme(type, bits, args[1].re, true);
      return (eval_scalar){float_extreme(type, low, args[2].re, false), 0};
    }
  }
  double x = eval_decode(type, bits), result;
  if (halo_op_info_of(op->opcode)->min_operands == 2) {
    double y = eval_decode(type, args[1].re);
    if (type == HALO_F64 && op->opcode == HALO_OP_POWER) {
      result = (double)powl(x, y);
    } else if (type == HALO_F64 && op->opcode == HALO_OP_ATAN2) {
      result = (double)atan2l(x, y);
    } else {
      result = float_binary(op->opcode, x, y);
    }
  } else if (!function->f) {
    result = float_unary(op->opcode, x);
  } else {
    result = type == HALO_F64 ? (double)function->l(x) : function->f(x);
  }
  return (eval_scalar){eval_encode(type, result), 0};
}

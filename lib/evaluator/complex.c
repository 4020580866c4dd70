/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/complex.c: complex operations by the formulas of XLA's CPU backend, in long double and
 * rounded once a part. */
#include "evaluator/cmplx.h"
#include "evaluator/scalar.h"

#include <math.h>

typedef long double real;

/* A complex number; C's own type multiplies and divides by rules that are not XLA's. */
typedef struct cnum {
  real re, im;
} cnum;

static cnum complex_add(cnum a, cnum b) { return (cnum){a.re + b.re, a.im + b.im}; }
static cnum complex_multiply(cnum a, cnum b) {
  return (cnum){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* What division gives when Smith's formula gave NaN in both parts. */
static cnum complex_divide_special(cnum a, cnum b, cnum quotient) {
  if (b.re == 0 && b.im == 0 && (!isnan(a.re) || !isnan(a.im))) {
    real infinity = copysignl(INFINITY, b.re);
    return (cnum){infinity * a.re, infinity * a.im};
  }
  if ((isinf(a.re) || isinf(a.im)) && isfinite(b.re) && isfinite(b.im)) {
    real x = copysignl(isinf(a.re) ? 1 : 0, a.re), y = copysignl(isinf(a.im) ? 1 : 0, a.im);
    return (cnum){INFINITY * (x * b.re + y * b.im), INFINITY * (y * b.re - x * b.im)};
  }
  if ((isinf(b.re) || isinf(b.im)) && isfinite(a.re) && isfinite(a.im)) {
    real x = copysignl(isinf(b.re) ? 1 : 0, b.re), y = copysignl(isinf(b.im) ? 1 : 0, b.im);
    return (cnum){0 * (a.re * x + a.im * y), 0 * (a.im * x - a.re * y)};
  }
  return quotient;
}

static cnum complex_divide(cnum a, cnum b) {
  cnum q;
  if (fabsl(b.re) < fabsl(b.im)) {
    real r = b.re / b.im, d = b.im + b.re * r;
    q = (cnum){(a.re * r + a.im) / d, (a.im * r - a.re) / d};
  } else {
    real r = b.im / b.re, d = b.re + b.im * r;
    q = (cnum){(a.re + a.im * r) / d, (a.im - a.re * r) / d};
  }
  return isnan(q.re) && isnan(q.im) ? complex_divide_special(a, b, q) : q;
}

/* NaN in either part gives NaN, an infinite other part notwithstanding. */
static real complex_abs(cnum z) {
  return isnan(z.re) || isnan(z.im) ? (real)NAN : hypotl(z.re, z.im);
}

static cnum complex_sign(cnum z) {
  real size = complex_abs(z);
  if (size == 0) return (cnum){0, 0};
  return (cnum){z.re / size, z.im / size};
}

static cnum complex_exp(cnum z) {
  real e = expl(z.re);
  return (cnum){e * cosl(z.im), e * sinl(z.im)};
}

static cnum complex_expm1(cnum z) {
  real s = sinl(z.im / 2), cosm1 = 0 - 2 * s * s; /* never -0 */
  return (cnum){expm1l(z.re) * cosl(z.im) + cosm1, z.im == 0 ? 0 : expl(z.re) * sinl(z.im)};
}

static cnum complex_log(cnum z) { return (cnum){logl(complex_abs(z)), atan2l(z.im, z.re)}; }

static cnum complex_log1p(cnum z) {
  real a = fabsl(z.re + 1), b = fabsl(z.im), large = fmaxl(a, b), small = fminl(a, b);
  real ratio = large == 0 ? 0 : small / large;
  /* log of the larger part, from z.re itself while that part is 1 + re. */
  real log_large = a >= b && z.re > -1 ? log1pl(z.re) : logl(large);
  return (cnum){log_large + log1pl(ratio * ratio) / 2, atan2l(z.im, z.re + 1)};
}

static cnum complex_sqrt(cnum z) {
  if (z.re == 0 && z.im == 0) return (cnum){0, 0};
  if (isinf(z.im) || (isinf(z.re) && z.re > 0)) return (cnum){INFINITY, isinf(z.im) ? z.im : 0};
  if (isinf(z.re) && isfinite(z.im)) return (cnum){0, copysignl(INFINITY, z.im)};
  real r = sqrtl(complex_abs(z)), half = atan2l(z.im, z.re) / 2;
  return (cnum){r * cosl(half), r * sinl(half)};
}

static cnum complex_rsqrt(cnum z) {
  if (z.re == 0 && z.im == 0) return (cnum){INFINITY, NAN};
  if (isinf(z.re)) return (cnum){copysignl(0, z.re), copysignl(0, -z.im)};
  real r = 1 / sqrtl(complex_abs(z)), half = -atan2l(z.im, z.re) / 2;
  return (cnum){r * cosl(half), r * sinl(half)};
}

static cnum complex_power(cnum z, cnum w) {
  real c = w.re, d = w.im;
  if (isinf(z.re) && z.re > 0 && z.im == 0 && c != 0) {
    return (cnum){c > 0 ? (real)INFINITY : 0, 0};
  }
  if (z.re == 1 && z.im == 0) return (cnum){1, 0};
  if (c == 0 && d == 0) return (cnum){1, 0};
  if (z.re == 0 && z.im == 0 && c > 0 && d == 0) return (cnum){0, 0};
  real size = complex_abs(z), angle = atan2l(z.im, z.re);
  real scale = powl(size, c) * expl(-d * angle), q = c * angle + (d == 0 ? 0 : d * logl(size));
  return (cnum){scale * cosl(q), scale * sinl(q)};
}

static cnum complex_sin(cnum z) {
  return (cnum){sinl(z.re) * coshl(z.im), cosl(z.re) * sinhl(z.im)};
}

static cnum complex_cos(cnum z) {
  return (cnum){cosl(z.re) * coshl(z.im), -sinl(z.re) * sinhl(z.im)};
}

static cnum complex_tanh(cnum z) {
  real a = z.re, b = z.im;
  if (isinf(a)) return (cnum){copysignl(1, a), 0};
  if (b == 0) return (cnum){tanhl(a), 0};
  if (!isfinite(b)) return (cnum){NAN, NAN};
  real up = expm1l(2 * a), down = expm1l(-2 * a), c = cosl(b);
  real denominator = up + down + 4 * c * c;
  if (isinf(denominator)) return (cnum){copysignl(1, a), 0};
  return (cnum){(up - down) / denominator, 4 * sinl(b) * c / denominator};
}

/* tan z = -i tanh(i z) */
static cnum complex_tan(cnum z) {
  cnum t = complex_tanh((cnum){-z.im, z.re});
  return (cnum){t.im, -t.re};
}

/* -i log((x + i y) / sqrt(x^2 + y^2)) */
static cnum complex_atan2(cnum y, cnum x) {
  cnum sum = complex_add(complex_multiply(x, x), complex_multiply(y, y));
  cnum rotated = complex_add(x, (cnum){-y.im, y.re});
  cnum l = complex_log(complex_divide(rotated, complex_sqrt(sum)));
  return (cnum){l.im, -l.re};
}

static cnum complex_logistic(cnum z) {
  cnum e = complex_exp((cnum){-z.re, -z.im});
  return complex_divide((cnum){1, 0}, (cnum){1 + e.re, e.im});
}

static cnum complex_negate(cnum z) { return (cnum){-z.re, -z.im}; }

/* Sums round as the component type's own do: from double, not from long double. */
static cnum complex_plus(cnum a, cnum b) {
  return (cnum){(double)a.re + (double)b.re, (double)a.im + (double)b.im};
}

static cnum complex_minus(cnum a, cnum b) {
  return (cnum){(double)a.re - (double)b.re, (double)a.im - (double)b.im};
}

/* The real parts decide; the second one is taken where they do not compare. */
static cnum complex_maximum(cnum a, cnum b) { return a.re >= b.re ? a : b; }
static cnum complex_minimum(cnum a, cnum b) { return a.re <= b.re ? a : b; }

/* No part is -0: they are sums. */
static long double _Complex complex_sinh(long double _Complex z) {
  long double _Complex s = csinhl(z);
  return CMPLXL(creall(s) + 0, cimagl(s) + 0);
}

static long double _Complex complex_cosh(long double _Complex z) {
  long double _Complex c = ccoshl(z);
  return CMPLXL(creall(c) + 0, cimagl(c) + 0);
}

/* What computes one operation: one of the three. */
static const struct complex_rule {
  cnum (*unary)(cnum);
  cnum (*binary)(cnum, cnum);
  long double _Complex (*library)(long double _Complex); /* the C library's */
} complex_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_NEGATE] = {.unary = complex_negate},
    [HALO_OP_SIGN] = {.unary = complex_sign},
    [HALO_OP_EXP] = {.unary = complex_exp},
    [HALO_OP_EXPM1] = {.unary = complex_expm1},
    [HALO_OP_LOG] = {.unary = complex_log},
    [HALO_OP_LOG1P] = {.unary = complex_log1p},
    [HALO_OP_SQRT] = {.unary = complex_sqrt},
    [HALO_OP_RSQRT] = {.unary = complex_rsqrt},
    [HALO_OP_SIN] = {.unary = complex_sin},
    [HALO_OP_COS] = {.unary = complex_cos},
    [HALO_OP_TAN] = {.unary = complex_tan},
    [HALO_OP_TANH] = {.unary = complex_tanh},
    [HALO_OP_LOGISTIC] = {.unary = complex_logistic},
    [HALO_OP_ADD] = {.binary = complex_plus},
    [HALO_OP_SUBTRACT] = {.binary = complex_minus},
    [HALO_OP_MULTIPLY] = {.binary = complex_multiply},
    [HALO_OP_DIVIDE] = {.binary = complex_divide},
    [HALO_OP_POWER] = {.binary = complex_power},
    [HALO_OP_ATAN2] = {.binary = complex_atan2},
    [HALO_OP_MAXIMUM] = {.binary = complex_maximum},
    [HALO_OP_MINIMUM] = {.binary = complex_minimum},
    [HALO_OP_ACOS] = {.library = cacosl},
    [HALO_OP_ACOSH] = {.library = cacoshl},
    [HALO_OP_ASIN] = {.library = casinl},
    [HALO_OP_ASINH] = {.library = casinhl},
    [HALO_OP_ATAN] = {.library = catanl},
    [HALO_OP_ATANH] = {.library = catanhl},
    [HALO_OP_COSH] = {.library = complex_cosh},
    [HALO_OP_SINH] = {.library = complex_sinh},
};

bool eval_complex_knows(halo_opcode opcode) {
  const struct complex_rule *rule = &complex_rules[opcode];
  /* A real result: no rule of the table. */
  return opcode == HALO_OP_ABS || opcode == HALO_OP_CLAMP || rule->unary || rule->binary ||
         rule->library;
}

eval_scalar eval_complex_op(const eval_op *op, const eval_scalar *args) {
  halo_type part = halo_type_real_part(op->in);
  const struct complex_rule *rule = &complex_rules[op->opcode];
  cnum a = {eval_decode(part, args[0].re), eval_decode(part, args[0].im)}, r;
  if (op->opcode == HALO_OP_ABS) return (eval_scalar){eval_encode_long(part, complex_abs(a)), 0};
  if (op->opcode == HALO_OP_CLAMP) {
    cnum x = {eval_decode(part, args[1].re), eval_decode(part, args[1].im)};
    cnum high = {eval_decode(part, args[2].re), eval_decode(part, args[2].im)};
    r = complex_minimum(complex_maximum(a, x), high);
  } else if (rule->unary) {
    r = rule->unary(a);
  } else if (rule->binary) {
    r = rule->binary(a, (cnum){eval_decode(part, args[1].re), eval_decode(part, args[1].im)});
  } else {
    long double _Complex value = rule->library(CMPLXL(a.re, a.im));
    r = (cnum){creall(value), cimagl(value)};
  }
  return (eval_scalar){eval_encode_long(part, r.re), eval_encode_long(part, r.im)};
}

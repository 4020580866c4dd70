/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_zeta.c: the Hurwitz zeta function, and the derivatives of digamma that it gives, which MLIR text
 * has by name: as JAX's artifacts have them written out, so that the same bits come out. */
#include "shape/types.h"
#include "stablehlo/translate_forms.h"

#include <float.h>
#include <math.h>

/* Of the Euler-Maclaurin expansion: the Bernoulli numbers of order 2k over (2k)!, from k = 12 down to 2. */
static const double zeta_terms[] = {
    -1.3954464685812522e-19, 5.5090028283602295e-18,  -2.1748686985580617e-16,
    8.5860620562778452e-15,  -3.3896802963225832e-13, 1.3382536530684679e-11,
    -5.2841901386874932e-10, 2.08767569878681e-08,    -8.2671957671957675e-07,
    3.3068783068783071e-05,  -0.0013888888888888889};
enum {
  ZETA_TERMS = sizeof zeta_terms / sizeof zeta_terms[0],
  ZETA_ADDED = 9 /* numbers that are summed one by one, after the first */
};

static halo_instr *zeta_plus(halo_translator *t, halo_instr *x, double value) {
  return halo_translate_binary(t, HALO_OP_ADD, x, form_number(t, x, value));
}

static halo_instr *zeta_floor(halo_translator *t, halo_instr *x) {
  return halo_translate_unary(t, HALO_OP_FLOOR, x);
}

static halo_instr *zeta_both(halo_translator *t, halo_instr *a, halo_instr *b) {
  return halo_translate_binary(t, HALO_OP_AND, a, b);
}

/* What is left of the sum from `at` on, where the term is `power`. */
static halo_instr *zeta_rest(halo_translator *t, halo_instr *x, halo_instr *at, halo_instr *power) {
  halo_instr *inverse = form_div(t, form_number(t, x, 1), form_mul(t, at, at));
  halo_instr *sum = form_number(t, x, 0);
  for (int i = 0; i < ZETA_TERMS; i++) {
    double k = 2 * (ZETA_TERMS - i);
    halo_instr *rising = form_mul(t, zeta_plus(t, x, k), zeta_plus(t, x, k - 1));
    sum = form_mul(t, rising, form_mul(t, inverse, zeta_plus(t, sum, zeta_terms[i])));
  }
  sum = form_mul(t, form_div(t, x, at), zeta_plus(t, sum, 1.0 / 12));
  return form_mul(t, power, zeta_plus(t, sum, 0.5));
}

/* Where the function has poles or is not defined. */
static halo_instr *zeta_special(halo_translator *t, halo_instr *x, halo_instr *q,
                                halo_instr *value) {
  halo_instr *zero = form_number(t, x, 0), *one = form_number(t, x, 1);
  halo_instr *infinity = form_number(t, x, HUGE_VAL), *nan = form_number(t, x, NAN);
  value = halo_translate_select(t, halo_translate_compare(t, HALO_LT, x, one), nan, value);
  halo_instr *left = halo_translate_compare(t, HALO_LE, q, zero);
  halo_instr *broken = halo_translate_compare(t, HALO_NE, x, zeta_floor(t, x));
  value = halo_translate_select(t, zeta_both(t, left, broken), nan, value);
  halo_instr *pole = zeta_both(t, left, halo_translate_compare(t, HALO_EQ, q, zeta_floor(t, q)));
  halo_instr *rest = halo_translate_binary(t, HALO_OP_REMAINDER, x, form_number(t, x, 2));
  halo_instr *even = zeta_both(t, halo_translate_compare(t, HALO_EQ, x, zeta_floor(t, x)),
                               halo_translate_compare(t, HALO_EQ, rest, zero));
  value = halo_translate_select(t, pole, halo_translate_select(t, even, infinity, nan), value);
  return halo_translate_select(t, halo_translate_compare(t, HALO_EQ, x, one), infinity, value);
}

halo_instr *halo_translate_zeta(halo_translator *t, halo_instr *x, halo_instr *q) {
  if (!halo_translate_ok(t)) return NULL;
  halo_instr *exponent = halo_translate_unary(t, HALO_OP_NEGATE, x), *at = q;
  halo_instr *power = halo_translate_binary(t, HALO_OP_POWER, at, exponent), *sum = power;
  for (int i = 0; i <= ZETA_ADDED; i++) {
    at = zeta_plus(t, at, 1);
    power = halo_translate_binary(t, HALO_OP_POWER, at, exponent);
    if (i < ZETA_ADDED) sum = form_add(t, sum, power);
  }
  halo_instr *below = halo_translate_binary(t, HALO_OP_SUBTRACT, x, form_number(t, x, 1));
  halo_instr *integral = form_div(t, form_mul(t, power, at), below);
  halo_instr *value = form_add(t, form_add(t, sum, integral), zeta_rest(t, x, at, power));
  double least = halo_translate_ok(t) && x->shape->type == HALO_F64 ? DBL_TRUE_MIN : FLT_TRUE_MIN;
  halo_instr *bound =
      form_mul(t, halo_translate_unary(t, HALO_OP_ABS, sum), form_number(t, x, least));
  halo_instr *done =
      halo_translate_compare(t, HALO_LT, halo_translate_unary(t, HALO_OP_ABS, power), bound);
  return zeta_special(t, x, q, halo_translate_select(t, done, sum, value));
}

halo_instr *halo_translate_polygamma(halo_translator *t, halo_instr *m, halo_instr *x) {
  if (!halo_translate_ok(t)) return NULL;
  halo_instr *zero = form_number(t, m, 0), *one = form_number(t, m, 1), *two = form_number(t, m, 2);
  halo_instr *odd = halo_translate_binary(t, HALO_OP_REMAINDER, m, two);
  halo_instr *sign = halo_translate_binary(t, HALO_OP_SUBTRACT, form_mul(t, two, odd), one);
  halo_instr *order = form_add(t, m, one);
  halo_instr *factorial = halo_translate_unary(t, HALO_OP_EXP, halo_translate_lgamma(t, order));
  halo_instr *value = form_mul(t, form_mul(t, sign, factorial), halo_translate_zeta(t, order, x));
  halo_instr *first = halo_translate_compare(t, HALO_EQ, m, zero);
  value = halo_translate_select(t, first, halo_translate_digamma(t, x), value);
  halo_instr *none =
      halo_translate_binary(t, HALO_OP_OR, halo_translate_compare(t, HALO_NE, m, zeta_floor(t, m)),
                            halo_translate_compare(t, HALO_LT, m, zero));
  return halo_translate_select(t, none, form_number(t, m, NAN), value);
}

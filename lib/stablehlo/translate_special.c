/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_special.c: special functions of CHLO, which MLIR text has by name; in artifacts they are written out.
 * The formulas and their order are those that JAX's artifacts have, so that the same bits come out. Narrow types
 * are computed in f32. */
#include "shape/types.h"
#include "stablehlo/translate_forms.h"

#include <math.h>

/* ---- Short forms ---- */

/* The polynomial with these coefficients, the one of the highest power first. */
static halo_instr *special_polynomial(halo_translator *t, halo_instr *x, const double *from,
                                      int count) {
  halo_instr *sum = form_number(t, x, from[0]);
  for (int i = 1; i < count; i++) {
    sum = form_add(t, form_mul(t, sum, x), form_number(t, x, from[i]));
  }
  return sum;
}

/* ---- The inverse of erf (Giles) ---- */

static const double erf_inv_single[2][9] = {
    {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
     -0.00417768164, 0.246640727, 1.50140941},
    {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
     0.00943887047, 1.00167406, 2.83297682}};

static const double erf_inv_double_0[23] = {
    -3.6444120640178197e-21, -1.6850591381820166e-19, 1.28584807152564e-18,
    1.1157877678025181e-17,  -1.3331716628546209e-16, 2.0972767875968562e-17,
    6.6376381343583238e-15,  -4.0545662729752069e-14, -8.1519341976054721e-14,
    2.6335093153082323e-12,  -1.2975133253453532e-11, -5.4154120542946279e-11,
    1.0512122733215323e-09,  -4.1126339803469837e-09, -2.9070369957882005e-08,
    4.2347877827932404e-07,  -1.3654692000834679e-06, -1.3882523362786469e-05,
    1.8673420803405714e-04,  -7.4070253416626698e-04, -6.0336708714301491e-03,
    0.24015818242558962,     1.6536545626831027};
static const double erf_inv_double_1[19] = {
    2.2137376921775787e-09,  9.075656193888539e-08,   -2.7517406297064545e-07,
    1.8239629214389228e-08,  1.5027403968909828e-06,  -4.013867526981546e-06,
    2.9234449089955446e-06,  1.2475304481671779e-05,  -4.7318229009055734e-05,
    6.8284851459573175e-05,  2.4031110387097894e-05,  -3.5503752036284748e-04,
    9.5328937973738049e-04,  -1.6882755560235047e-03, 2.4914420961078508e-03,
    -3.7512085075692412e-03, 5.370914553590063e-03,   1.0052589676941592,
    3.0838856104922208};
static const double erf_inv_double_2[17] = {
    -2.7109920616438573e-11, -2.5556418169965252e-10, 1.5076572693500548e-09,
    -3.789465440126737e-09,  7.6157012080783394e-09,  -1.496002662714924e-08,
    2.9147953450901081e-08,  -6.7711997758452339e-08, 2.2900482228026655e-07,
    -9.9298272942317003e-07, 4.5260625972231537e-06,  -1.9681778105531671e-05,
    7.5995277030017761e-05,  -2.1503011930044477e-04, -1.3871931833623122e-04,
    1.0103004648645344,      4.8499064014085844};

/* -log(1 - x x), by which the argument is told to be in the middle or in the tails. */
static halo_instr *erf_inv_distance(halo_translator *t, halo_instr *x) {
  halo_instr *square = form_mul(t, x, halo_translate_unary(t, HALO_OP_NEGATE, x));
  return halo_translate_unary(t, HALO_OP_NEGATE, halo_translate_unary(t, HALO_OP_LOG1P, square));
}

static halo_instr *erf_inv_f32(halo_translator *t, halo_instr *x, halo_instr *w) {
  halo_instr *small = halo_translate_compare(t, HALO_LT, w, form_number(t, w, 5));
  halo_instr *root = halo_translate_unary(t, HALO_OP_SQRT, w);
  halo_instr *at = halo_translate_select(t, small, form_sub(t, w, form_number(t, w, 2.5)),
                                         form_sub(t, root, form_number(t, w, 3)));
  halo_instr *sum = NULL;
  for (int i = 0; i < 9; i++) {
    halo_instr *next = halo_translate_select(t, small, form_number(t, x, erf_inv_single[0][i]),
                                             form_number(t, x, erf_inv_single[1][i]));
    sum = sum ? form_add(t, next, form_mul(t, sum, at)) : next;
  }
  return sum;
}

static halo_instr *erf_inv_f64(halo_translator *t, halo_instr *w) {
  halo_instr *root = halo_translate_unary(t, HALO_OP_SQRT, w);
  halo_instr *middle =
      special_polynomial(t, form_sub(t, w, form_number(t, w, 3.125)), erf_inv_double_0, 23);
  halo_instr *near =
      special_polynomial(t, form_sub(t, root, form_number(t, w, 3.25)), erf_inv_double_1, 19);
  halo_instr *far =
      special_polynomial(t, form_sub(t, root, form_number(t, w, 5)), erf_inv_double_2, 17);
  halo_instr *is_near = halo_translate_compare(t, HALO_LT, w, form_number(t, w, 16));
  halo_instr *is_middle = halo_translate_compare(t, HALO_LT, w, form_number(t, w, 6.25));
  return halo_translate_select(t, is_middle, middle, halo_translate_select(t, is_near, near, far));
}

halo_instr *halo_translate_erf_inv(halo_translator *t, halo_instr *x) {
  halo_instr *w = erf_inv_distance(t, x);
  if (!w) return NULL;
  halo_instr *factor = x->shape->type == HALO_F64 ? erf_inv_f64(t, w) : erf_inv_f32(t, x, w);
  halo_instr *end = halo_translate_compare(t, HALO_EQ, halo_translate_unary(t, HALO_OP_ABS, x),
                                           form_number(t, x, 1));
  return halo_translate_select(t, end, form_mul(t, x, form_number(t, x, HUGE_VAL)),
                               form_mul(t, factor, x));
}

/* ---- What is left of 1 beside erf ---- */

/* Of f32, as its artifacts have it. */
static halo_instr *erfc_f32(halo_translator *t, halo_instr *x) {
  static const double far_near[9] = {2.326820e-02, -0.138703942, 0.368742466,
                                     -0.582473278, 0.621000468,  -0.494451523,
                                     3.404880e-01, -0.274112701, 0.563825965};
  static const double far_far[8] = {-10.477664,  1.297720e+01, -7.49551868,  2.92101908,
                                    -1.01526523, 0.42184633,   -0.282076746, 0.564189494};
  static const double middle[7] = {7.85386146e-05, -8.0101937e-04, 0.00518832775, -0.0268538129,
                                   0.112835854,    -0.37612626,    1.12837911};
  halo_instr *square = form_mul(t, x, x), *size = halo_translate_unary(t, HALO_OP_ABS, x);
  halo_instr *minus = halo_translate_unary(t, HALO_OP_NEGATE, square);
  halo_instr *one = form_number(t, x, 1), *two = form_number(t, x, 2);
  halo_instr *zero = form_number(t, x, 0), *inverse = form_div(t, one, square);
  halo_instr *scale =
      form_mul(t, halo_translate_unary(t, HALO_OP_EXP, minus), form_div(t, one, size));
  halo_instr *tail =
      form_mul(t, scale,
               halo_translate_select(t, halo_translate_compare(t, HALO_LT, size, two),
                                     special_polynomial(t, inverse, far_near, 9),
                                     special_polynomial(t, inverse, far_far, 8)));
  halo_instr *gone = halo_translate_compare(t, HALO_LT, minus, form_number(t, x, -88.7228394));
  tail = halo_translate_select(t, gone, zero, tail);
  halo_instr *left = halo_translate_compare(t, HALO_LT, x, zero);
  tail = halo_translate_select(t, left, form_sub(t, two, tail), tail);
  halo_instr *erf = form_mul(t, x, special_polynomial(t, square, middle, 7));
  return halo_translate_select(t, halo_translate_compare(t, HALO_LT, size, one),
                               form_sub(t, one, erf), tail);
}

/* Of f64: 1 - erf near 0 (Cephes), else exp(-x x) by a quotient of two polynomials of |x|. */
static halo_instr *erfc_f64(halo_translator *t, halo_instr *x) {
  static const double erf_above[5] = {9.6049737398705162, 90.026019720384269, 2232.0053459468431,
                                      7003.3251411280507, 55592.301301039493};
  static const double erf_below[6] = {1,
                                      33.561714164750313,
                                      521.35794978015269,
                                      4594.3238297098014,
                                      22629.000061389095,
                                      49267.394260863592};
  static const double near_above[9] = {
      2.4619698147353052e-10, 0.56418956483106886, 7.4632105644226989,
      48.637197098568137,     196.5208329560771,   526.44519499547732,
      934.52852717195765,     1027.5518868951572,  557.53533536939938};
  static const double near_below[9] = {1,
                                       13.228195115474499,
                                       86.707214088598974,
                                       354.93777888781989,
                                       975.70850174320549,
                                       1823.9091668790973,
                                       2246.3376081871097,
                                       1656.6630919416134,
                                       557.53534081772773};
  static const double far_above[6] = {0.56418958354775506, 1.275366707599781,  5.0190504225118051,
                                      6.160210979930536,   7.4097426995044895, 2.9788666537210022};
  static const double far_below[7] = {1,
                                      2.2605286322011726,
                                      9.3960352493800148,
                                      12.048953980809666,
                                      17.081445074756591,
                                      9.6089680906328585,
                                      3.3690764510008151};
  halo_instr *square = form_mul(t, x, x), *size = halo_translate_unary(t, HALO_OP_ABS, x);
  halo_instr *minus = halo_translate_unary(t, HALO_OP_NEGATE, square);
  halo_instr *scale = halo_translate_unary(t, HALO_OP_EXP, minus), *zero = form_number(t, x, 0);
  halo_instr *near = form_div(t, form_mul(t, scale, special_polynomial(t, size, near_above, 9)),
                              special_polynomial(t, size, near_below, 9));
  halo_instr *far = form_div(t, form_mul(t, scale, special_polynomial(t, size, far_above, 6)),
                             special_polynomial(t, size, far_below, 7));
  halo_instr *is_near = halo_translate_compare(t, HALO_LT, size, form_number(t, x, 8));
  halo_instr *tail = halo_translate_select(t, is_near, near, far);
  halo_instr *gone =
      halo_translate_compare(t, HALO_LT, minus, form_number(t, x, -709.782712893384));
  tail = halo_translate_select(t, gone, zero, tail);
  halo_instr *left = halo_translate_compare(t, HALO_LT, x, zero);
  tail = halo_translate_select(t, left, form_sub(t, form_number(t, x, 2), tail), tail);
  halo_instr *one = form_number(t, x, 1);
  halo_instr *erf = form_div(t, form_mul(t, x, special_polynomial(t, square, erf_above, 5)),
                             special_polynomial(t, square, erf_below, 6));
  return halo_translate_select(t, halo_translate_compare(t, HALO_LT, size, one),
                               form_sub(t, one, erf), tail);
}

halo_instr *halo_translate_erfc(halo_translator *t, halo_instr *x) {
  if (!halo_translate_ok(t)) return NULL;
  return x->shape->type == HALO_F64 ? erfc_f64(t, x) : erfc_f32(t, x);
}

/* ---- The gamma function (Lanczos) ---- */

static const double lanczos_first = 0.99999999999980993227684700473478;
static const double lanczos[8] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931155834e-7};

/* What both functions begin with: z, where the argument or its reflection is, and log(z + 7.5). */
typedef struct gamma_parts {
  halo_instr *reflected, *z, *t, *log_t, *half;
} gamma_parts;

static gamma_parts gamma_begin(halo_translator *t, halo_instr *x) {
  gamma_parts parts = {.half = form_number(t, x, 0.5)};
  halo_instr *base = form_number(t, x, 7.5);
  parts.reflected = halo_translate_compare(t, HALO_LT, x, parts.half);
  parts.z = halo_translate_select(t, parts.reflected, halo_translate_unary(t, HALO_OP_NEGATE, x),
                                  form_sub(t, x, form_number(t, x, 1)));
  parts.t = form_add(t, base, parts.z);
  halo_instr *rest = halo_translate_unary(t, HALO_OP_LOG1P, form_div(t, parts.z, base));
  parts.log_t = form_add(t, form_number(t, x, log(7.5)), rest);
  return parts;
}

static halo_instr *gamma_reflect(halo_translator *t, halo_instr *x, const gamma_parts *parts,
                                 halo_instr *value) {
  halo_instr *size = halo_translate_unary(t, HALO_OP_ABS, x);
  halo_instr *part = form_sub(t, size, halo_translate_unary(t, HALO_OP_FLOOR, size));
  halo_instr *above = halo_translate_compare(t, HALO_LT, parts->half, part);
  part = halo_translate_select(t, above, form_sub(t, form_number(t, x, 1), part), part);
  halo_instr *sine =
      halo_translate_unary(t, HALO_OP_SIN, form_mul(t, form_number(t, x, M_PI), part));
  halo_instr *log_sine = halo_translate_unary(t, HALO_OP_LOG, sine);
  halo_instr *other =
      form_sub(t, form_sub(t, form_number(t, x, 1.1447298858494001741434), log_sine), value);
  return halo_translate_select(t, halo_translate_unary(t, HALO_OP_IS_FINITE, log_sine), other,
                               halo_translate_unary(t, HALO_OP_NEGATE, log_sine));
}

halo_instr *halo_translate_lgamma(halo_translator *t, halo_instr *x) {
  if (!halo_translate_ok(t)) return NULL;
  gamma_parts parts = gamma_begin(t, x);
  halo_instr *sum = form_number(t, x, lanczos_first);
  for (int i = 0; i < 8; i++) {
    halo_instr *below = form_add(t, parts.z, form_number(t, x, i + 1));
    sum = form_add(t, sum, form_div(t, form_number(t, x, lanczos[i]), below));
  }
  halo_instr *scaled =
      form_sub(t, form_add(t, parts.z, parts.half), form_div(t, parts.t, parts.log_t));
  halo_instr *value =
      form_add(t, form_number(t, x, 0.91893853320467266 /* as JAX rounds log(2 pi) / 2 */),
               form_mul(t, scaled, parts.log_t));
  value = form_add(t, value, halo_translate_unary(t, HALO_OP_LOG, sum));
  value = halo_translate_select(t, parts.reflected, gamma_reflect(t, x, &parts, value), value);
  halo_instr *infinity = form_number(t, x, HUGE_VAL);
  halo_instr *endless =
      halo_translate_compare(t, HALO_EQ, halo_translate_unary(t, HALO_OP_ABS, x), infinity);
  return halo_translate_select(t, endless, infinity, value);
}

halo_instr *halo_translate_digamma(halo_translator *t, halo_instr *x) {
  if (!halo_translate_ok(t)) return NULL;
  gamma_parts parts = gamma_begin(t, x);
  halo_instr *zero = form_number(t, x, 0), *slope = zero, *sum = form_number(t, x, lanczos_first);
  for (int i = 0; i < 8; i++) {
    halo_instr *below = form_add(t, parts.z, form_number(t, x, i + 1));
    halo_instr *factor = form_number(t, x, lanczos[i]);
    slope = form_sub(t, slope, form_div(t, factor, form_mul(t, below, below)));
    sum = form_add(t, sum, form_div(t, factor, below));
  }
  halo_instr *value = form_sub(t, form_add(t, parts.log_t, form_div(t, slope, sum)),
                               form_div(t, form_number(t, x, 7), parts.t));
  halo_instr *pi = form_number(t, x, M_PI);
  halo_instr *whole = halo_translate_unary(t, HALO_OP_FLOOR, form_add(t, x, parts.half));
  halo_instr *angle = form_mul(t, pi, form_add(t, x, halo_translate_unary(t, HALO_OP_ABS, whole)));
  halo_instr *cotangent = form_div(t, form_mul(t, pi, halo_translate_unary(t, HALO_OP_COS, angle)),
                                   halo_translate_unary(t, HALO_OP_SIN, angle));
  value = halo_translate_select(t, parts.reflected, form_sub(t, value, cotangent), value);
  halo_instr *pole = halo_translate_binary(
      t, HALO_OP_AND, halo_translate_compare(t, HALO_LE, x, zero),
      halo_translate_compare(t, HALO_EQ, x, halo_translate_unary(t, HALO_OP_FLOOR, x)));
  return halo_translate_select(t, pole, form_number(t, x, NAN), value);
}

/* ---- Neighbours ---- */

/* Numbers of one sign are ordered as their bits are; -0 and 0 are one number with two neighbours. */
halo_instr *halo_translate_next_after(halo_translator *t, halo_instr *x, halo_instr *y) {
  if (!halo_translate_ok(t)) return NULL;
  int bits = halo_type_bits(x->shape->type);
  if (!halo_type_is_float(x->shape->type) || (bits != 16 && bits != 32 && bits != 64)) {
    halo_translate_refuse(t, "it is not supported for %s", halo_type_name(x->shape->type));
    return NULL;
  }
  halo_type type = bits == 16 ? HALO_U16 : bits == 32 ? HALO_U32 : HALO_U64;
  const halo_shape *shape = halo_shape_with_type(t->arena, x->shape, type);
  halo_instr *from = halo_translate_emit(t, HALO_OP_BITCAST_CONVERT, shape, &x, 1, NULL, 0);
  halo_instr *to = halo_translate_emit(t, HALO_OP_BITCAST_CONVERT, shape, &y, 1, NULL, 0);
  halo_literal *mask = halo_literal_new_scalar(type);
  halo_literal_set_i64(mask, 0, (int64_t)(UINT64_MAX >> 1 >> (64 - bits)));
  halo_instr *value = halo_translate_fill(t, halo_translate_constant(t, mask), shape);
  halo_literal_release(mask);
  halo_instr *zero = form_number(t, from, 0), *one = form_number(t, from, 1);
  halo_instr *sign = halo_translate_unary(t, HALO_OP_NOT, value);
  halo_instr *from_size = halo_translate_binary(t, HALO_OP_AND, from, value);
  halo_instr *to_size = halo_translate_binary(t, HALO_OP_AND, to, value);
  halo_instr *to_sign = halo_translate_binary(t, HALO_OP_AND, to, sign);
  halo_instr *differ = halo_translate_compare(
      t, HALO_NE, halo_translate_binary(t, HALO_OP_AND, from, sign), to_sign);
  halo_instr *inward = halo_translate_binary(
      t, HALO_OP_OR, halo_translate_compare(t, HALO_GT, from_size, to_size), differ);
  halo_instr *step =
      halo_translate_select(t, inward, form_sub(t, from, one), form_add(t, from, one));
  halo_instr *least = halo_translate_binary(t, HALO_OP_OR, to_sign, one);
  halo_instr *off =
      halo_translate_select(t, halo_translate_compare(t, HALO_EQ, to_size, zero), to, least);
  halo_instr *next =
      halo_translate_select(t, halo_translate_compare(t, HALO_EQ, from_size, zero), off, step);
  next = halo_translate_select(t, halo_translate_compare(t, HALO_EQ, x, y), to, next);
  next = halo_translate_emit(t, HALO_OP_BITCAST_CONVERT, x->shape, &next, 1, NULL, 0);
  halo_instr *is_nan =
      halo_translate_binary(t, HALO_OP_OR, halo_translate_compare(t, HALO_NE, x, x),
                            halo_translate_compare(t, HALO_NE, y, y));
  return halo_translate_select(t, is_nan, form_number(t, x, NAN), next);
}

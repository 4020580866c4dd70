/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_bessel.c: the modified Bessel function of order 1 without its growth, exp(-|x|) I1(x), which MLIR
 * text has by name: as JAX's artifacts have it written out, so that the same bits come out. */
#include "shape/types.h"
#include "stablehlo/translate.h"

/* Chebyshev series (Cephes): of x / 2 - 2 up to 8, of 32 / x - 2 from there on; the highest term first. */
static const double i1e_near_f32[] = {
    9.38153732e-09,  -4.44505908e-08, 2.00329481e-07,  -8.56872e-07,  3.47025139e-06,
    -1.32731639e-05, 4.78156508e-05,  -0.000161760821, 0.000512286,   -0.00151357241,
    0.0041564228,    -0.0105640851,   0.0247264486,    -0.0529459827, 0.102643661,
    -0.176416516,    0.252587199};
static const double i1e_far_f32[] = {-3.83538046e-09, -2.63146891e-08, -2.51223611e-07,
                                     -3.88256467e-06, -0.000110588939, -0.00976109784,
                                     0.778576255};
static const double i1e_near_f64[] = {
    2.7779141127610464e-18,  -2.111421214358166e-17,  1.5536319577362005e-16,
    -1.1055969477353862e-15, 7.6006842947354077e-15,  -5.0421855047279118e-14,
    3.2237933659455748e-13,  -1.9839743977649436e-12, 1.1736186298890901e-11,
    -6.6634897235020271e-11, 3.6255902815521172e-10,  -1.8872497517228294e-09,
    9.3815373864957726e-09,  -4.4450591287963281e-08, 2.0032947535521353e-07,
    -8.5687202646954547e-07, 3.4702513081376785e-06,  -1.3273163656039436e-05,
    4.7815651075500542e-05,  -0.00016176081582589674, 0.00051228595616857576,
    -0.0015135724506312532,  0.0041564229443128882,   -0.010564084894626197,
    0.024726449030626516,    -0.052945981208094989,   0.10264365868984709,
    -0.17641651835783406,    0.25258718644363365};
static const double i1e_far_f64[] = {
    7.5172963108421052e-18,  4.4143483230717077e-18,  -4.6503053684893586e-17,
    -3.2095259219934238e-17, 2.96262899764595e-16,    3.3082023109209285e-16,
    -1.8803547755107825e-15, -3.8144030724370075e-15, 1.0420276984128802e-14,
    4.272440016711951e-14,   -2.1015418427726643e-14, -4.0835511110921974e-13,
    -7.1985517762459084e-13, 2.0356285441470896e-12,  1.4125807436613782e-11,
    3.2526035830154884e-11,  -1.8974958123505413e-11, -5.5897434621965838e-10,
    -3.835380385964237e-09,  -2.6314688468895196e-08, -2.5122362378702088e-07,
    -3.8825648088776906e-06, -0.00011058893876262371, -0.0097610974913614687,
    0.77857623501828011};

typedef struct i1e_series {
  const double *data;
  int count;
} i1e_series;

#define SERIES(list)                                                                               \
  (i1e_series) { list, (int)(sizeof list / sizeof list[0]) }

static halo_instr *i1e_number(halo_translator *t, const halo_instr *like, double value) {
  return like ? halo_translate_number(t, like->shape, value) : NULL;
}

static halo_instr *i1e_binary(halo_translator *t, halo_opcode opcode, halo_instr *a,
                              halo_instr *b) {
  return halo_translate_binary(t, opcode, a, b);
}

/* Clenshaw's recurrence; what is zero at first is not subtracted. */
static halo_instr *i1e_sum(halo_translator *t, halo_instr *at, i1e_series series) {
  halo_instr *sums[3] = {i1e_number(t, at, 0)}; /* this one, that before, that before it */
  for (int i = 0; i < series.count; i++) {
    halo_instr *next = i1e_binary(t, HALO_OP_MULTIPLY, at, sums[0]);
    if (i > 1) next = i1e_binary(t, HALO_OP_SUBTRACT, next, sums[1]);
    sums[2] = sums[1];
    sums[1] = sums[0];
    sums[0] = i1e_binary(t, HALO_OP_ADD, next, i1e_number(t, at, series.data[i]));
  }
  return i1e_binary(t, HALO_OP_MULTIPLY, i1e_binary(t, HALO_OP_SUBTRACT, sums[0], sums[2]),
                    i1e_number(t, at, 0.5));
}

halo_instr *halo_translate_bessel_i1e(halo_translator *t, halo_instr *x) {
  if (!halo_translate_ok(t)) return NULL;
  bool wide = x->shape->type == HALO_F64;
  halo_instr *size = halo_translate_unary(t, HALO_OP_ABS, x), *two = i1e_number(t, x, 2);
  halo_instr *half = i1e_binary(t, HALO_OP_MULTIPLY, size, i1e_number(t, x, 0.5));
  halo_instr *near = i1e_sum(t, i1e_binary(t, HALO_OP_SUBTRACT, half, two),
                             wide ? SERIES(i1e_near_f64) : SERIES(i1e_near_f32));
  near = i1e_binary(t, HALO_OP_MULTIPLY, size, near);
  halo_instr *inverse = i1e_binary(t, HALO_OP_DIVIDE, i1e_number(t, x, 32), size);
  halo_instr *far = i1e_sum(t, i1e_binary(t, HALO_OP_SUBTRACT, inverse, two),
                            wide ? SERIES(i1e_far_f64) : SERIES(i1e_far_f32));
  far = i1e_binary(t, HALO_OP_DIVIDE, far, halo_translate_unary(t, HALO_OP_SQRT, size));
  halo_instr *is_near = halo_translate_compare(t, HALO_LE, size, i1e_number(t, x, 8));
  return i1e_binary(t, HALO_OP_MULTIPLY, halo_translate_unary(t, HALO_OP_SIGN, x),
                    halo_translate_select(t, is_near, near, far));
}

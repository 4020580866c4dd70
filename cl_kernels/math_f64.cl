/* SPDX-License-Identifier: Apache-2.0 */
/* cl_kernels/math_f64.cl: the elementary functions of f64, like those of f32 in math_f32.cl, but for the words of 2/pi,
 * which are too many to choose between and come from a table. */

//! f64 : fp64 f64_end
#ifndef H_INLINE
#define H_INLINE inline __attribute__((always_inline)) /* as there */
#endif
#pragma OPENCL FP_CONTRACT OFF
#if defined(FP_FAST_FMA) || defined(__FMA__)
#define hd_fma(a, b, c) fma(a, b, c)
#else
#define hd_fma(a, b, c) ((a) * (b) + (c))
#endif
static H_INLINE double hd_magnitude(double x) { return as_double(as_ulong(x) & 0x7fffffffffffffffUL); }
/* Not negative x with the sign of y. */
static H_INLINE double hd_signed(double x, double y) {
  return as_double(as_ulong(x) | (as_ulong(y) & 0x8000000000000000UL));
}
/* The first 26 of its 53 bits; products of two such are exact. */
static H_INLINE double hd_upper(double x) { return as_double(as_ulong(x) & 0xfffffffff8000000UL); }

//! f64_exp_parts : f64
/* x = n ln 2 + r, with r + rest more exact than r; n is *t - 1.5 * 2^52, from its bits. */
static H_INLINE double hd_exp_reduce(double x, double *t, double *rest) {
  *t = hd_fma(x, 1.4426950408889634, 0x1.8p52);
  double n = *t - 0x1.8p52;
  double a = x - n * 0x1.62e42feep-1; /* exact: the factor has 32 bits */
  double r = a - n * 0x1.a39ef35793c76p-33;
  *rest = (a - r) - n * 0x1.a39ef35793c76p-33;
  return r;
}
static H_INLINE long hd_exp_power(double t) { return as_long(t) - 0x4338000000000000L; }
/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2 */
static H_INLINE double hd_exp_poly(double r) {
  double q = hd_fma(2.0924474188545412e-9, r, 2.5109147269513612e-8);
  q = hd_fma(q, r, 2.7557242685645496e-7);
  q = hd_fma(q, r, 2.7557243911961802e-6);
  q = hd_fma(q, r, 2.4801587360605535e-5);
  q = hd_fma(q, r, 0.00019841269886400787);
  q = hd_fma(q, r, 0.0013888888888866837);
  q = hd_fma(q, r, 0.0083333333333215319);
  q = hd_fma(q, r, 0.041666666666666699);
  q = hd_fma(q, r, 0.16666666666666677);
  q = hd_fma(q, r, 0.5);
  return q;
}
/* p 2^(n + k) for |n + k| <= 2044, rounded once: by its two halves, of which the lowest bits are those wanted. */
static H_INLINE double hd_scale(double p, double t, int k) {
  ulong all = as_ulong(t) + (ulong)(2046 + k), low = all >> 1;
  return p * as_double(low << 52) * as_double((all - low) << 52);
}

//! f64_exp : f64_exp_parts
/* 2^k e^x */
static H_INLINE double hd_exp_by(double x, int k) {
  double t, rest, c = x > 711.0 ? 711.0 : x;
  c = c < -747.0 ? -747.0 : c;
  double r = hd_exp_reduce(c, &t, &rest);
  return hd_scale(hd_fma(r * r, hd_exp_poly(r), r) + 1.0, t, k);
}
static H_INLINE double h_exp_f64(double x) { return hd_exp_by(x, 0); }

//! f64_expm1 : f64_exp_parts
static H_INLINE double h_expm1_f64(double x) {
  double t, rest, c = x > 710.0 ? 710.0 : x;
  c = c < -40.0 ? -40.0 : c;
  double r = hd_exp_reduce(c, &t, &rest);
  double q = hd_fma(r * r, hd_exp_poly(r), rest);
  /* Half of it, since 2^n may be too large: (s - 1/2) + s (r + q). */
  double s = as_double((hd_exp_power(t) + 1022) << 52), u = s - 0.5;
  double v = s * r, h = u + v, low = (u - h) + v;
  double y = 2.0 * (h + hd_fma(s, q, low));
  return hd_magnitude(x) < 0x1p-54 ? x : y;
}

//! f64_log_parts : f64
/* x = m 2^e with m from sqrt(1/2) to sqrt 2, for positive x; gives m. */
static H_INLINE double hd_log_reduce(double x, double *e) {
  bool tiny = x < 0x1p-1022;
  long i = as_long(tiny ? x * 0x1p54 : x) - 0x3fe6a09e667f3bcdL;
  *e = (double)(int)(i >> 52) - (tiny ? 54.0 : 0.0);
  return as_double((i & 0xfffffffffffffL) + 0x3fe6a09e667f3bcdL);
}
/* e ln 2 + log(1 + f) + low, low being small beside f: log(1 + f) = 2 atanh s, s = f / (2 + f), of which
 * f - f^2 / 2 is the larger part. */
static H_INLINE double hd_log_sum(double e, double f, double low) {
  double s = f / (2.0 + f), z = s * s, half_ = 0.5 * f * f;
  double q = hd_fma(0.073979717677058299, z, 0.076570255963132092);
  q = hd_fma(q, z, 0.090917821496798057);
  q = hd_fma(q, z, 0.11111099286876834);
  q = hd_fma(q, z, 0.14285714371190628);
  q = hd_fma(q, z, 0.19999999999707357);
  q = hd_fma(q, z, 0.3333333333333367);
  q = hd_fma(s, hd_fma(2.0 * z, q, half_), hd_fma(e, 0x1.a39ef35793c76p-33, low));
  double h = e * 0x1.62e42feep-1, sum = h + f;
  return sum + (((h - sum) + f) + (q - half_));
}
/* What the logarithm of x is where it is no number or infinite, else y. */
static H_INLINE double hd_log_ends(double x, double y) {
  y = x == INFINITY ? INFINITY : y;
  return x > 0.0 ? y : x == 0.0 ? -INFINITY : NAN;
}

//! f64_log : f64_log_parts
static H_INLINE double h_log_f64(double x) {
  double e, m = hd_log_reduce(x, &e);
  return hd_log_ends(x, hd_log_sum(e, m - 1.0, 0.0));
}

//! f64_log_two : f64_log_parts
/* log(u + d), d being at most a rounding error of u >= 1/2 */
static H_INLINE double hd_log_two(double u, double d) {
  double e, m = hd_log_reduce(u, &e), f = m - 1.0;
  /* d / u, nearly: (1 - f + f^2) is about 1 / m */
  double low = d * 0.5 * as_double((long)(1024 - (int)e) << 52);
  return hd_log_sum(e, f, low * hd_fma(f, f - 1.0, 1.0));
}

//! f64_log1p : f64_log_parts
static H_INLINE double h_log1p_f64(double x) {
  double u = 1.0 + x, e, m = hd_log_reduce(u, &e);
  double big = x > 1.0 ? x : 1.0, small = x > 1.0 ? 1.0 : x;
  double d = small - (u - big), f = m - 1.0;
  double low = d * 0.5 * as_double((long)(1024 - (int)e) << 52) * hd_fma(f, f - 1.0, 1.0);
  bool near = e == 0.0; /* x itself is what u is about 1 */
  double y = hd_log_ends(u, hd_log_sum(e, near ? x : f, near ? 0.0 : low));
  return hd_magnitude(x) < 0x1p-54 ? x : y;
}

//! f64_tanh : f64_exp_parts
/* e / (e + 2), e = e^(2|x|) - 1 */
static H_INLINE double h_tanh_f64(double x) {
  double t, rest, a = hd_magnitude(x);
  double r = hd_exp_reduce(a > 20.0 ? 40.0 : 2.0 * a, &t, &rest);
  double q = hd_fma(r * r, hd_exp_poly(r), rest);
  double s = as_double((hd_exp_power(t) + 1023) << 52), u = s - 1.0;
  double v = s * r, h = u + v, low = (u - h) + v;
  double e = h + hd_fma(s, q, low);
  return hd_signed(e / (e + 2.0), x);
}

//! f64_logistic : f64_exp
static H_INLINE double h_logistic_f64(double x) {
  double e = h_exp_f64(-hd_magnitude(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

//! f64_sinhcosh : f64_exp
/* sinh x and cosh x */
static H_INLINE double h_sinhcosh_f64(double x, double *cosine) {
  double a = hd_magnitude(x), z = x * x, e = hd_exp_by(a, -1), f = 0.25 / e;
  double q = hd_fma(2.8483981202062022e-15, z, 7.6464763679907048e-13);
  q = hd_fma(q, z, 1.6059050705756859e-10);
  q = hd_fma(q, z, 2.5052108345642428e-8);
  q = hd_fma(q, z, 2.7557319224120236e-6);
  q = hd_fma(q, z, 0.00019841269841269589);
  q = hd_fma(q, z, 0.0083333333333333332);
  q = hd_fma(q, z, 0.16666666666666666);
  *cosine = e + f;
  return a < 1.0 ? hd_fma(x * z, q, x) : hd_signed(e - f, x);
}

//! f64_cosh : f64_sinhcosh
static H_INLINE double h_cosh_f64(double x) {
  double y;
  h_sinhcosh_f64(x, &y);
  return y;
}

//! f64_sinh : f64_sinhcosh
static H_INLINE double h_sinh_f64(double x) {
  double y;
  return h_sinhcosh_f64(x, &y);
}

//! f64_pow : f64_log_parts f64_exp_parts
/* As of f32, with parts of 26 bits. */
static H_INLINE double h_pow_f64(double x, double y) {
  double a = hd_magnitude(x), ya = hd_magnitude(y), e, m = hd_log_reduce(a, &e);
  double f = m - 1.0, g = m + 1.0, gl = f - (g - 2.0), r = 1.0 / g;
  double upper = hd_upper(f * r), gu = hd_upper(g);
  double low = ((f - upper * gu) - upper * ((g - gu) + gl)) * r;
  double s = upper + low, z = s * s;
  double q = hd_fma(0.19038120413804213, z, 0.19125561144455927);
  q = hd_fma(q, z, 0.22198397863543901);
  q = hd_fma(q, z, 0.26230770153493571);
  q = hd_fma(q, z, 0.32059890226896354);
  q = hd_fma(q, z, 0.41219858309196516);
  q = hd_fma(q, z, 0.57707801635561795);
  double first = upper * 0x1.715476p+1, z1 = upper * upper, zu = hd_upper(z1);
  double third = zu * 0x1.ec709d8p-1, tu = hd_upper(third), cube = tu * upper;
  double tl = hd_fma((z1 - zu) + (s + upper) * low, 0.9617966939259756, zu * 7.872699542894897e-09);
  tl = hd_fma(z * z, q, tl) + (third - tu);
  double last = hd_fma(low, 2.8853900817779268, upper * 3.851925982253235e-08);
  last = hd_fma(tl, s, hd_fma(tu, low, last));
  double sum = e + first, sum2 = sum + cube;
  last += ((e - sum) + first) + ((sum - sum2) + cube);
  double lu = hd_upper(sum2 + last), ll = (sum2 - lu) + last;
  /* Of larger exponents 0, 1 or infinity comes as well. */
  double yc = ya > 0x1p70 ? hd_signed(0x1p70, y) : y, yu = hd_upper(yc);
  double p = yu * lu, pl = hd_fma(yc, ll, (yc - yu) * lu), w = p + pl;
  bool out = hd_magnitude(w) > 1500.0;
  p = out ? hd_signed(1500.0, w) : p;
  pl = out ? 0.0 : pl;
  double t = (p + pl) + 0x1.8p52;
  f = (p - (t - 0x1.8p52)) + pl;
  q = hd_fma(2.5742032251915829e-11, f, 4.4567149962956157e-10);
  q = hd_fma(q, f, 7.0548880919060568e-9);
  q = hd_fma(q, f, 1.0178050950578652e-7);
  q = hd_fma(q, f, 1.3215486833474672e-6);
  q = hd_fma(q, f, 1.5252733856820134e-5);
  q = hd_fma(q, f, 0.00015403530393340604);
  q = hd_fma(q, f, 0.0013333558146389872);
  q = hd_fma(q, f, 0.009618129107628496);
  q = hd_fma(q, f, 0.055504108664821701);
  q = hd_fma(q, f, 0.24022650695910072);
  q = hd_fma(q, f, 0.69314718055994529);
  double v = hd_scale(hd_fma(q, f, 1.0), t, 0);
  v = a == 0.0 || a == INFINITY ? ((a == 0.0) == (y < 0.0) ? INFINITY : 0.0) : v;
  bool whole = floor(y) == y, odd = floor(0.5 * y) * 2.0 != y && whole;
  v = odd ? hd_signed(v, x) : v;
  v = x < 0.0 && a != INFINITY && !whole ? NAN : v;
  v = x != x || y != y ? NAN : v;
  return x == 1.0 || y == 0.0 ? 1.0 : v;
}

//! f64_erf : f64_exp
/* Up to 0.92 a polynomial; then 1 - erfc, whose logarithm is one. */
static H_INLINE double h_erf_f64(double x) {
  double a = hd_magnitude(x), z = x * x, t = a > 6.0 ? 6.0 : a;
  double q = hd_fma(6.3641587055647081e-11, z, -1.1589868930716146e-9);
  q = hd_fma(q, z, 1.4710414680346011e-8);
  q = hd_fma(q, z, -1.6357100689747503e-7);
  q = hd_fma(q, z, 1.6461577387586544e-6);
  q = hd_fma(q, z, -1.492562763656658e-5);
  q = hd_fma(q, z, 0.00012055332322331588);
  q = hd_fma(q, z, -0.00085483270106094978);
  q = hd_fma(q, z, 0.005223977625281556);
  q = hd_fma(q, z, -0.02686617064511929);
  q = hd_fma(q, z, 0.11283791670955079);
  q = hd_fma(q, z, -0.37612638903183754);
  q = hd_fma(q, z, 0.12837916709551259);
  double p = hd_fma(-2.0354194450119801e-13, t, 1.0057429802347933e-11);
  p = hd_fma(p, t, -2.3417934440593924e-10);
  p = hd_fma(p, t, 3.4159289946134651e-9);
  p = hd_fma(p, t, -3.498140758368707e-8);
  p = hd_fma(p, t, 2.667971223721268e-7);
  p = hd_fma(p, t, -1.5654921403459481e-6);
  p = hd_fma(p, t, 7.1699850617886307e-6);
  p = hd_fma(p, t, -2.5517734904064317e-5);
  p = hd_fma(p, t, 6.7949142535598717e-5);
  p = hd_fma(p, t, -0.00011740828342455943);
  p = hd_fma(p, t, 3.311213125431783e-5);
  p = hd_fma(p, t, 0.00053740740404354629);
  p = hd_fma(p, t, -0.0016589266650754921);
  p = hd_fma(p, t, 0.00018880151629835251);
  p = hd_fma(p, t, 0.019136766143130788);
  p = hd_fma(p, t, -0.10277498327121652);
  p = hd_fma(p, t, -0.636619347226142);
  p = hd_fma(p, t, -1.128379202513847);
  p = hd_fma(p, t, -7.6140876846890721e-11);
  return a < 0.921875 ? hd_fma(x, q, x) : hd_signed(1.0 - h_exp_f64(p), x);
}

//! f64_cbrt : f64
/* A third of the exponent by integer arithmetic, twice Halley's step and one of Newton's whose residue is exact. */
static H_INLINE double h_cbrt_f64(double x) {
  double a = hd_magnitude(x);
  bool tiny = a < 0x1p-900, huge_ = a > 0x1p900;
  double b = a * (tiny ? 0x1p300 : huge_ ? 0x1p-300 : 1.0);
  double y = as_double((ulong)((uint)(as_ulong(b) >> 32) / 3u + 0x2a9f7893u) << 32);
  double c = y * y * y;
  y = y * ((c + 2.0 * b) / (2.0 * c + b));
  c = y * y * y;
  y = y * ((c + 2.0 * b) / (2.0 * c + b));
  double u = hd_upper(y), v = hd_upper(u * u), w = u * u - v; /* u^3 = u v + u w, both exact */
  y = u + ((b - u * v) - u * w) / (3.0 * u * y);
  y *= tiny ? 0x1p-100 : huge_ ? 0x1p100 : 1.0;
  return a == 0.0 || !(a < INFINITY) ? x : hd_signed(y, x);
}

//! f64_turn : f64
/* The bits of 2/pi, behind 64 zeros. */
static __constant uint hd_two_over_pi[39] = {
    0x00000000u, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
    0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
    0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu,
    0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du,
    0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u};
/* 32 bits from bit `by` < 32 of the words at `word` on. */
static H_INLINE ulong hd_turn_word(uint word, uint by) {
  return hd_two_over_pi[word] << by | hd_two_over_pi[word + 1u] >> 1 >> (31u - by);
}
/* x = q pi/2 + r + *rest, |r| <= pi/4, by Payne and Hanek: of the product of x and 2/pi only what matters to q mod 4
 * and r, in whole numbers of 192 bits, of which the lower ones only give carries. */
static H_INLINE double hd_turn(double x, ulong *quarter, double *rest) {
  ulong i = as_ulong(x) & 0x7fffffffffffffffUL;
  uint top = (uint)(i >> 32), at = (top >> 20) - 1013u; /* from 2^-1 on: 9 to 1033 */
  at = top < 0x3fe00000u ? 9u : top >= 0x7ff00000u ? 1033u : at;
  uint word = at >> 5, by = at & 31u;
  ulong a = hd_turn_word(word, by), b = hd_turn_word(word + 1u, by), c = hd_turn_word(word + 2u, by);
  ulong d = hd_turn_word(word + 3u, by), e = hd_turn_word(word + 4u, by), f = hd_turn_word(word + 5u, by);
  ulong high = (top & 0xfffffu) | 0x100000u, low = i & 0xffffffffUL, mask = 0xffffffffUL;
  ulong p = low * d + (low * e >> 32) + (high * f >> 32), q = (p & mask) + high * e;
  ulong last = q & mask;
  p = low * c + (p >> 32) + (q >> 32);
  q = (p & mask) + high * d;
  ulong third = q & mask;
  p = low * b + (p >> 32) + (q >> 32);
  q = (p & mask) + high * c;
  ulong first = (q & mask) | (low * a + high * b + (p >> 32) + (q >> 32)) << 32;
  *quarter = (first + (1UL << 61)) >> 62;
  ulong lower = third << 32 | last, upper = first << 2 | lower >> 62;
  /* Words of the fraction as numbers, of which the first has a sign, then times pi/2. */
  double g = (double)(int)(upper >> 32) * 0x1p-32, h = (double)(uint)upper * 0x1p-64;
  lower <<= 2;
  double k = (double)(uint)(lower >> 32) * 0x1p-96 + (double)(uint)lower * 0x1p-128;
  double rh = g + h, rl = ((g - rh) + h) + k;
  double u = hd_upper(rh), hi = u * 0x1.921fb5p0; /* pi/2 = 0x1.921fb5p0 + 0x1.110b4611a6263p-26 */
  double lo = hd_fma(rh - u, 1.5707963267948966, hd_fma(u, 0x1.110b4611a6263p-26, rl * 1.5707963267948966));
  double r = hi + lo;
  bool near = i < 0x3fe921fb54442d19UL; /* pi/4 */
  ulong sign = as_ulong(x) & 0x8000000000000000UL;
  *quarter = near ? 0UL : sign ? 0UL - *quarter : *quarter;
  *rest = near ? 0.0 : as_double(as_ulong((hi - r) + lo) ^ sign);
  r = near ? x : as_double(as_ulong(r) ^ sign);
  return i >= 0x7ff0000000000000UL ? NAN : r;
}

//! f64_sine_parts : f64_turn
/* The sine and cosine of r + rest, |r| <= pi/4 */
static H_INLINE double hd_sine_poly(double r, double rest) {
  double z = r * r, s = hd_fma(1.5896505615758381e-10, z, -2.5050753276677738e-8);
  s = hd_fma(s, z, 2.7557313662140065e-6);
  s = hd_fma(s, z, -0.00019841269829725465);
  s = hd_fma(s, z, 0.008333333333322316);
  s = hd_fma(s, z, -0.16666666666666632);
  return r == 0.0 ? r : r + hd_fma(r * z, s, rest); /* -0 */
}
static H_INLINE double hd_cosine_poly(double r, double rest) {
  double z = r * r, c = hd_fma(-1.1359449237873282e-11, z, 2.0875719569735981e-9);
  c = hd_fma(c, z, -2.7557314326113241e-7);
  c = hd_fma(c, z, 2.4801587289395214e-5);
  c = hd_fma(c, z, -0.001388888888887399);
  c = hd_fma(c, z, 0.041666666666666602);
  double half_ = 0.5 * z, w = 1.0 - half_;
  return w + (((1.0 - w) - half_) + (z * z * c - r * rest));
}
/* y, or -y in the third and fourth quarter */
static H_INLINE double hd_by_quarter(double y, ulong quarter) {
  return as_double(as_ulong(y) ^ (quarter & 2UL) << 62);
}
/* The sine of x + q pi/2. */
static H_INLINE double hd_sine_from(double x, ulong q) {
  ulong quarter;
  double rest, r = hd_turn(x, &quarter, &rest);
  quarter += q;
  return hd_by_quarter(quarter & 1UL ? hd_cosine_poly(r, rest) : hd_sine_poly(r, rest), quarter);
}

//! f64_sin : f64_sine_parts
static H_INLINE double h_sin_f64(double x) { return hd_sine_from(x, 0UL); }

//! f64_cos : f64_sine_parts
static H_INLINE double h_cos_f64(double x) { return hd_sine_from(x, 1UL); }

//! f64_sincos : f64_sine_parts
static H_INLINE double h_sincos_f64(double x, double *cosine) {
  ulong quarter;
  double rest, r = hd_turn(x, &quarter, &rest);
  double s = hd_sine_poly(r, rest), c = hd_cosine_poly(r, rest);
  *cosine = hd_by_quarter(quarter & 1UL ? s : c, quarter + 1UL);
  return hd_by_quarter(quarter & 1UL ? c : s, quarter);
}

//! f64_tan : f64_turn
static H_INLINE double h_tan_f64(double x) {
  ulong quarter;
  double rest, r = hd_turn(x, &quarter, &rest), z = r * r;
  double q = hd_fma(9.8442636025472805e-6, z, -2.4487405742572035e-5);
  q = hd_fma(q, z, 4.908922337768079e-5);
  q = hd_fma(q, z, -2.620558219490986e-5);
  q = hd_fma(q, z, 6.7698645689629396e-5);
  q = hd_fma(q, z, 8.328234698758994e-5);
  q = hd_fma(q, z, 0.00024386554592451605);
  q = hd_fma(q, z, 0.00058883047309806283);
  q = hd_fma(q, z, 0.0014560528388025749);
  q = hd_fma(q, z, 0.0035920997826512338);
  q = hd_fma(q, z, 0.008863238035220506);
  q = hd_fma(q, z, 0.021869488391823098);
  q = hd_fma(q, z, 0.053968253973197856);
  q = hd_fma(q, z, 0.13333333333324757);
  q = hd_fma(q, z, 0.33333333333333387);
  q = hd_fma(q * z, r, hd_fma(z, rest, rest)); /* the slope is 1 + z or so */
  double t = r + q, low = (r - t) + q, y = -1.0 / t;
  t = r == 0.0 ? r : t;
  return quarter & 1UL ? hd_fma(y * y, low, y) : t;
}

//! f64_atan_poly : f64
/* atan q for q from -1 to 1 */
static H_INLINE double hd_atan_poly(double q) {
  double z = q * q;
  double p = hd_fma(-8.8273127689653989e-6, z, 0.00010568562353796229);
  p = hd_fma(p, z, -0.00060171459991619793);
  p = hd_fma(p, z, 0.0021780225166369168);
  p = hd_fma(p, z, -0.0056670169716167311);
  p = hd_fma(p, z, 0.01140022732720691);
  p = hd_fma(p, z, -0.018708688517245772);
  p = hd_fma(p, z, 0.026235234856380581);
  p = hd_fma(p, z, -0.032843251814317839);
  p = hd_fma(p, z, 0.038241550482038381);
  p = hd_fma(p, z, -0.042877413656825965);
  p = hd_fma(p, z, 0.047453806288411955);
  p = hd_fma(p, z, -0.05259552833880287);
  p = hd_fma(p, z, 0.058817400937358044);
  p = hd_fma(p, z, -0.066665873465556455);
  p = hd_fma(p, z, 0.076923001131640981);
  p = hd_fma(p, z, -0.090909085785002036);
  p = hd_fma(p, z, 0.11111111088057656);
  p = hd_fma(p, z, -0.14285714285086668);
  p = hd_fma(p, z, 0.19999999999991241);
  p = hd_fma(p, z, -0.33333333333333293);
  return hd_fma(q * z, p, q);
}

//! f64_atan : f64_atan_poly
static H_INLINE double h_atan_f64(double x) {
  double a = hd_magnitude(x);
  bool large = a > 1.0;
  double t = hd_atan_poly(large ? -1.0 / a : a);
  return hd_signed(large ? 1.5707963267948966 + (t + 6.123233995736766e-17) : t, x);
}

//! f64_atan2 : f64_atan_poly
static H_INLINE double h_atan2_f64(double y, double x) {
  double a = hd_magnitude(x), b = hd_magnitude(y);
  bool steep = b > a, back = as_long(x) < 0;
  double big = steep ? b : a, small = steep ? a : b;
  double q = big == 0.0 ? 0.0 : small == big ? 1.0 : small / big; /* also of two infinities */
  double t = hd_atan_poly(steep != back ? -q : q);
  double base = steep ? 1.5707963267948966 : back ? 3.141592653589793 : 0.0;
  t = base + (t + (steep ? 6.123233995736766e-17 : back ? 1.2246467991473532e-16 : 0.0));
  return x != x || y != y ? NAN : hd_signed(t, y);
}

//! f64_asin_parts : f64
/* asin x = x + x z q(z), z = x^2 <= 1/4; gives z q(z) */
static H_INLINE double hd_asin_poly(double z) {
  double q = hd_fma(0.031958918713277246, z, -0.016294023566964279);
  q = hd_fma(q, z, 0.019573888927726567);
  q = hd_fma(q, z, 0.0065108528477521976);
  q = hd_fma(q, z, 0.012173281451012628);
  q = hd_fma(q, z, 0.013884597738357292);
  q = hd_fma(q, z, 0.017359771235108554);
  q = hd_fma(q, z, 0.022371753510282012);
  q = hd_fma(q, z, 0.030381959332019114);
  q = hd_fma(q, z, 0.044642856823457956);
  q = hd_fma(q, z, 0.075000000003430822);
  q = hd_fma(q, z, 0.16666666666665383);
  return q * z;
}

//! f64_asin : f64_asin_parts
static H_INLINE double h_asin_f64(double x) {
  double a = hd_magnitude(x);
  bool large = a > 0.5;
  double z = large ? hd_fma(-0.5, a, 0.5) : a * a, s = large ? sqrt(z) : a;
  double t = s * hd_asin_poly(z);
  double far = (1.5707963267948966 - 2.0 * s) - hd_fma(2.0, t, -6.123233995736766e-17);
  return hd_signed(large ? far : s + t, x);
}

//! f64_acos : f64_asin_parts
static H_INLINE double h_acos_f64(double x) {
  double a = hd_magnitude(x);
  bool large = a > 0.5;
  double z = large ? hd_fma(-0.5, a, 0.5) : a * a, s = large ? sqrt(z) : x;
  double t = hd_fma(s, hd_asin_poly(z), s);
  double far = x < 0.0 ? 3.141592653589793 - hd_fma(2.0, t, -1.2246467991473532e-16) : 2.0 * t;
  return large ? far : 1.5707963267948966 - (t - 6.123233995736766e-17);
}

//! f64_asinh : f64_log_two
static H_INLINE double h_asinh_f64(double x) {
  double a = hd_magnitude(x), z = x * x;
  double q = hd_fma(-0.00011540241380788633, z, 0.00064405968967451432);
  q = hd_fma(q, z, -0.0017732504782890556);
  q = hd_fma(q, z, 0.0032921542006666277);
  q = hd_fma(q, z, -0.004795341569262381);
  q = hd_fma(q, z, 0.0060725913280031511);
  q = hd_fma(q, z, -0.0071969377219857416);
  q = hd_fma(q, z, 0.0083627168912791244);
  q = hd_fma(q, z, -0.0097565381142692732);
  q = hd_fma(q, z, 0.011551093958467993);
  q = hd_fma(q, z, -0.013964770298010522);
  q = hd_fma(q, z, 0.017352758884712233);
  q = hd_fma(q, z, -0.02237215879944536);
  q = hd_fma(q, z, 0.030381944434344998);
  q = hd_fma(q, z, -0.044642857142647048);
  q = hd_fma(q, z, 0.074999999999997777);
  q = hd_fma(q, z, -0.16666666666666666);
  /* log(a + sqrt(a^2 + 1)), and log(2 a) of what is large */
  bool large = a > 0x1p500;
  double s = large ? 0.0 : sqrt(hd_fma(a, a, 1.0)), u = a + s;
  double y = hd_log_two(u, (s - u) + a);
  y = large ? y + 0.6931471805599453 : y;
  y = a < INFINITY ? y : a;
  return hd_signed(a < 0.6875 ? hd_fma(a * z, q, a) : y, x);
}

//! f64_acosh : f64_log1p
/* log(1 + (d + sqrt(2 d + d^2))), d = x - 1 */
static H_INLINE double h_acosh_f64(double x) {
  bool large = x > 0x1p500;
  double d = x - 1.0, c = large ? x : d + sqrt(hd_fma(d, d, 2.0 * d));
  double y = h_log1p_f64(c);
  y = large ? y + 0.6931471805599453 : y;
  return x < 1.0 ? NAN : y;
}

//! f64_atanh : f64_log1p
static H_INLINE double h_atanh_f64(double x) {
  double a = hd_magnitude(x), z = x * x;
  double q = hd_fma(0.25920141911696004, z, -0.24457516350663089);
  q = hd_fma(q, z, 0.21328629285497941);
  q = hd_fma(q, z, -0.030093264346152646);
  q = hd_fma(q, z, 0.062540216920505723);
  q = hd_fma(q, z, 0.043930316377228204);
  q = hd_fma(q, z, 0.053148837423995607);
  q = hd_fma(q, z, 0.058770749943525519);
  q = hd_fma(q, z, 0.06667055688349019);
  q = hd_fma(q, z, 0.076922873681639678);
  q = hd_fma(q, z, 0.090909098189736207);
  q = hd_fma(q, z, 0.11111111094164391);
  q = hd_fma(q, z, 0.14285714285948836);
  q = hd_fma(q, z, 0.19999999999998355);
  q = hd_fma(q, z, 0.33333333333333337);
  double y = 0.5 * h_log1p_f64(2.0 * a / (1.0 - a));
  return a < 0.5 ? hd_fma(x * z, q, x) : hd_signed(y, x);
}

//! f64_end
#pragma OPENCL FP_CONTRACT ON

/* SPDX-License-Identifier: Apache-2.0 */
/* cl_kernels/math_f32.cl: the elementary functions of f32, in sections like those of scalar.cl.
 *
 * Plain arithmetic, bits and choices between values: no branches, tables or calls of the runtime's functions, so that
 * compilers make vectors of neighbours, and results are the same on all devices that keep subnormal numbers and
 * have fast fused multiply-adds. Polynomials are those of minimax.py. Errors in ULP are the largest over all
 * arguments (tests/math), with fused multiply-adds and without. */

//! f32 : f32_end
/* Put in place wherever it is called: compilers do that with no long function that is called from several places, and
 * make no vectors of a loop that calls one. */
#ifndef H_INLINE
#define H_INLINE inline __attribute__((always_inline))
#endif
/* Only what is written as h_fma may be fused: elsewhere it would change what rounding errors are computed from. */
#pragma OPENCL FP_CONTRACT OFF
/* Drivers of GPUs say whether fma is fast by a query (H_HAS_FMA), and not all by the macro. */
#ifndef H_HAS_FMA
#if defined(FP_FAST_FMAF) || defined(__FMA__)
#define H_HAS_FMA 1
#else
#define H_HAS_FMA 0
#endif
#endif
#if H_HAS_FMA
#define h_fma(a, b, c) fma(a, b, c)
#else
#define h_fma(a, b, c) ((a) * (b) + (c))
#endif
static H_INLINE float h_magnitude(float x) { return as_float(as_uint(x) & 0x7fffffffu); }
/* Not negative x with the sign of y. */
static H_INLINE float h_signed(float x, float y) {
  return as_float(as_uint(x) | (as_uint(y) & 0x80000000u));
}
/* The first 12 of its 24 bits; products of two such are exact. */
static H_INLINE float h_upper(float x) { return as_float(as_uint(x) & 0xfffff000u); }

//! f32_exp_parts : f32
/* x = n ln 2 + r, with r + rest more exact than r; n is *t - 1.5 * 2^23, from its bits. */
static H_INLINE float h_exp_reduce(float x, float *t, float *rest) {
  *t = h_fma(x, 1.44269502f, 0x1.8p23f);
  float n = *t - 0x1.8p23f;
  float a = x - n * 0x1.62e4p-1f; /* exact: the factor has 15 bits */
  float r = a - n * 0x1.7f7d1cp-20f;
  *rest = (a - r) - n * 0x1.7f7d1cp-20f;
  return r;
}
static H_INLINE int h_exp_power(float t) { return as_int(t) - 0x4b400000; }
/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2 */
static H_INLINE float h_exp_poly(float r) {
  float q = h_fma(0.000199587739f, r, 0.00139337103f);
  q = h_fma(q, r, 0.00833319221f);
  q = h_fma(q, r, 0.0416664779f);
  q = h_fma(q, r, 0.166666672f);
  return h_fma(q, r, 0.5f);
}
/* p 2^(n + k) for |n + k| <= 252, rounded once: by its two halves, of which the lowest bits are those wanted. */
static H_INLINE float h_scale(float p, float t, int k) {
  uint all = as_uint(t) + (uint)(254 + k), low = all >> 1;
  return p * as_float(low << 23) * as_float((all - low) << 23);
}

//! f32_exp : f32_exp_parts
/* 2^k e^x */
static H_INLINE float h_exp_by(float x, int k) {
  float t, rest, c = x > 90.0f ? 90.0f : x;
  c = c < -105.0f ? -105.0f : c;
  float r = h_exp_reduce(c, &t, &rest);
  return h_scale(h_fma(r * r, h_exp_poly(r), r) + 1.0f, t, k);
}
static H_INLINE float h_exp_f32(float x) { return h_exp_by(x, 0); }

//! f32_expm1 : f32_exp_parts
static H_INLINE float h_expm1_f32(float x) {
  float t, rest, c = x > 89.0f ? 89.0f : x;
  c = c < -18.0f ? -18.0f : c;
  float r = h_exp_reduce(c, &t, &rest);
  float q = h_fma(r * r, h_exp_poly(r), rest);
  /* Half of it, since 2^n may be too large: (s - 1/2) + s (r + q). */
  float s = as_float((h_exp_power(t) + 126) << 23), u = s - 0.5f;
  float v = s * r, h = u + v, low = (u - h) + v;
  float y = 2.0f * (h + h_fma(s, q, low));
  return h_magnitude(x) < 0x1p-25f ? x : y;
}

//! f32_log_parts : f32
/* x = m 2^e with m from sqrt(1/2) to sqrt 2, for positive x; gives m. */
static H_INLINE float h_log_reduce(float x, float *e) {
  bool tiny = x < 0x1p-126f;
  int i = as_int(tiny ? x * 0x1p24f : x) - 0x3f3504f3;
  *e = (float)(i >> 23) - (tiny ? 24.0f : 0.0f);
  return as_float((i & 0x7fffff) + 0x3f3504f3);
}
/* e ln 2 + log(1 + f) + low, low being small beside f */
static H_INLINE float h_log_sum(float e, float f, float low) {
  float q = h_fma(0.0680478513f, f, -0.11725761f), z = f * f;
  q = h_fma(q, f, 0.118886106f);
  q = h_fma(q, f, -0.123964317f);
  q = h_fma(q, f, 0.142181218f);
  q = h_fma(q, f, -0.166685268f);
  q = h_fma(q, f, 0.200022265f);
  q = h_fma(q, f, -0.25f);
  q = h_fma(q, f, 0.333333105f);
  q = h_fma(z * f, q, h_fma(e, 0x1.7f7d1cp-20f, low));
  q = h_fma(-0.5f, z, q);
  return h_fma(e, 0x1.62e4p-1f, f + q); /* the product is exact */
}
/* What the logarithm of x is where it is no number or infinite, else y. */
static H_INLINE float h_log_ends(float x, float y) {
  y = x == INFINITY ? INFINITY : y;
  return x > 0.0f ? y : x == 0.0f ? -INFINITY : NAN;
}

//! f32_log : f32_log_parts
static H_INLINE float h_log_f32(float x) {
  float e, m = h_log_reduce(x, &e);
  return h_log_ends(x, h_log_sum(e, m - 1.0f, 0.0f));
}

//! f32_log_two : f32_log_parts
/* log(u + d), d being at most a rounding error of u */
static H_INLINE float h_log_two(float u, float d) {
  float e, m = h_log_reduce(u, &e), f = m - 1.0f;
  /* d / u, nearly: (1 - f + f^2) is about 1 / m */
  float low = d * 0.5f * as_float((128 - (int)e) << 23);
  return h_log_sum(e, f, low * h_fma(f, f - 1.0f, 1.0f));
}

//! f32_log1p : f32_log_parts
static H_INLINE float h_log1p_f32(float x) {
  float u = 1.0f + x, e, m = h_log_reduce(u, &e);
  float big = x > 1.0f ? x : 1.0f, small = x > 1.0f ? 1.0f : x;
  float d = small - (u - big), f = m - 1.0f;
  float low = d * 0.5f * as_float((128 - (int)e) << 23) * h_fma(f, f - 1.0f, 1.0f);
  bool near = e == 0.0f; /* x itself is what u is about 1 */
  float y = h_log_ends(u, h_log_sum(e, near ? x : f, near ? 0.0f : low));
  return h_magnitude(x) < 0x1p-25f ? x : y;
}

//! f32_tanh : f32_exp_parts
/* e / (e + 2), e = e^(2|x|) - 1 */
static H_INLINE float h_tanh_f32(float x) {
  float t, rest, a = h_magnitude(x);
  float r = h_exp_reduce(a > 9.5f ? 19.0f : 2.0f * a, &t, &rest);
  float q = h_fma(r * r, h_exp_poly(r), rest);
  float s = as_float((h_exp_power(t) + 127) << 23), u = s - 1.0f;
  float v = s * r, h = u + v, low = (u - h) + v;
  float e = h + h_fma(s, q, low);
  return h_signed(e / (e + 2.0f), x);
}

//! f32_logistic : f32_exp
static H_INLINE float h_logistic_f32(float x) {
  float e = h_exp_f32(-h_magnitude(x)); /* of which nothing overflows */
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

//! f16_tanh : f32
/* For results of 16 bits: x p(x^2) / q(x^2) up to 4.6, from where on it rounds to 1; within 2^-19 of it. */
static H_INLINE float h_tanh_f16(float x) {
  float a = h_magnitude(x), t = a > 4.6f ? 4.6f : a, z = t * t;
  float p = h_fma(0.00168525f, z, 0.11727151f);
  p = h_fma(p, z, 0.99999891f);
  float q = h_fma(6.78899931e-5f, z, 0.0185638345f);
  q = h_fma(q, z, 0.450595515f);
  q = h_fma(q, z, 1.0f);
  return h_signed(t * p / q, x);
}

//! f16_logistic : f32
/* For results of f16: 2^(n + f) with a polynomial within 2^-18 of it, down to e^-30, which rounds to 0. */
static H_INLINE float h_logistic_f16(float x) {
  float a = h_magnitude(x), c = a > 30.0f ? 30.0f : a;
  float t = h_fma(c, -1.44269502f, 0x1.8p23f), f = h_fma(c, -1.44269502f, 0x1.8p23f - t);
  float q = h_fma(0.00958321655f, f, 0.0559069877f);
  q = h_fma(q, f, 0.240240912f);
  q = h_fma(q, f, 0.693124077f);
  float e = as_float(as_uint(h_fma(q, f, 1.0f)) + (as_uint(t) << 23));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

//! f32_sinhcosh : f32_exp
/* sinh x and cosh x */
static H_INLINE float h_sinhcosh_f32(float x, float *cosine) {
  float a = h_magnitude(x), z = x * x, e = h_exp_by(a, -1), f = 0.25f / e;
  float q = h_fma(2.78392577e-6f, z, 0.000198426351f);
  q = h_fma(q, z, 0.00833331142f);
  q = h_fma(q, z, 0.166666672f);
  *cosine = e + f;
  return a < 1.0f ? h_fma(x * z, q, x) : h_signed(e - f, x);
}

//! f32_cosh : f32_sinhcosh
static H_INLINE float h_cosh_f32(float x) {
  float y;
  h_sinhcosh_f32(x, &y);
  return y;
}

//! f32_sinh : f32_sinhcosh
static H_INLINE float h_sinh_f32(float x) {
  float y;
  return h_sinhcosh_f32(x, &y);
}

//! f32_pow : f32_log_parts f32_exp_parts
/* 2^(y log2 x), the logarithm and its product with y as sums of two numbers, the upper of 12 bits so that products
 * are exact without fused multiply-adds. */
static H_INLINE float h_pow_f32(float x, float y) {
  float a = h_magnitude(x), ya = h_magnitude(y), e, m = h_log_reduce(a, &e);
  /* log2 m = 2 / ln 2 atanh s, s = f / (2 + f) = upper + low, and atanh s = s + s^3 / 3 + s^5 q(s^2) */
  float f = m - 1.0f, g = m + 1.0f, gl = f - (g - 2.0f), r = 1.0f / g;
  float upper = h_upper(f * r), gu = h_upper(g);
  float low = ((f - upper * gu) - upper * ((g - gu) + gl)) * r;
  float s = upper + low, z = s * s;
  float q = h_fma(0.337820798f, z, 0.411849916f);
  q = h_fma(q, z, 0.57708019f);
  /* The factors are 0x1.714p1 + 6.24456778e-4 and 0x1.ec6p-1 + 1.26772051e-4. */
  float first = upper * 0x1.714p1f, z1 = upper * upper, zu = h_upper(z1);
  float third = zu * 0x1.ec6p-1f, tu = h_upper(third), cube = tu * upper;
  float tl = h_fma((z1 - zu) + (s + upper) * low, 0.961796694f, zu * 1.26772051e-4f);
  tl = h_fma(z * z, q, tl) + (third - tu);
  float last = h_fma(low, 2.88539004f, upper * 6.24456778e-4f);
  last = h_fma(tl, s, h_fma(tu, low, last));
  float sum = e + first, sum2 = sum + cube;
  last += ((e - sum) + first) + ((sum - sum2) + cube);
  float lu = h_upper(sum2 + last), ll = (sum2 - lu) + last;
  /* Of larger exponents 0, 1 or infinity comes as well. */
  float yc = ya > 0x1p40f ? h_signed(0x1p40f, y) : y, yu = h_upper(yc);
  float p = yu * lu, pl = h_fma(yc, ll, (yc - yu) * lu), w = p + pl;
  bool out = h_magnitude(w) > 200.0f;
  p = out ? h_signed(200.0f, w) : p;
  pl = out ? 0.0f : pl;
  float t = (p + pl) + 0x1.8p23f;
  f = (p - (t - 0x1.8p23f)) + pl;
  q = h_fma(0.000154564303f, f, 0.00133918587f);
  q = h_fma(q, f, 0.00961807743f);
  q = h_fma(q, f, 0.055503577f);
  q = h_fma(q, f, 0.240226507f);
  q = h_fma(q, f, 0.693147182f);
  float v = h_scale(h_fma(q, f, 1.0f), t, 0);
  v = a == 0.0f || a == INFINITY ? ((a == 0.0f) == (y < 0.0f) ? INFINITY : 0.0f) : v;
  /* Exponents of 2^24 and more are even. */
  int yi = (int)(ya < 0x1p24f ? y : 0.0f);
  bool whole = !(ya < 0x1p24f) || (float)yi == y;
  v = as_float(as_uint(v) | (as_uint(x) & ((uint)yi & (whole ? 1u : 0u)) << 31));
  v = x < 0.0f && a != INFINITY && !whole ? NAN : v;
  v = x != x || y != y ? NAN : v;
  return x == 1.0f || y == 0.0f ? 1.0f : v;
}

//! f32_erf : f32
/* x p(x^2) / q(x^2) up to 3.93, from where on it is 1. Of coefficients within a few units in their last places these
 * have the least error with all that is rounded. */
static H_INLINE float h_erf_f32(float x) {
  float a = h_magnitude(x), t = a > 3.93f ? 3.93f : a, z = t * t;
  float p = h_fma(2.0419284e-6f, z, 0.00028479533f);
  p = h_fma(p, z, 0.0037793175f);
  p = h_fma(p, z, 0.052789375f);
  p = h_fma(p, z, 0.19077791f);
  p = h_fma(p, z, 1.1283791f);
  float q = h_fma(3.800296e-5f, z, 0.001165129f);
  q = h_fma(q, z, 0.014996862f);
  q = h_fma(q, z, 0.114254974f);
  q = h_fma(q, z, 0.5024052f);
  q = h_fma(q, z, 1.0f);
  float y = t * p / q;
  return h_signed(y > 1.0f ? 1.0f : y, x);
}

//! f32_cbrt : f32
/* A third of the exponent by integer arithmetic, then Halley's step and one of Newton's whose residue is exact. */
static H_INLINE float h_cbrt_f32(float x) {
  float a = h_magnitude(x);
  bool tiny = a < 0x1p-64f;
  float b = tiny ? a * 0x1p96f : a;
  float y = as_float(as_uint(b) / 3u + 0x2a5119f2u);
  float c = 0.25f * y * y * y; /* a quarter, lest it overflows */
  y = y * ((c + 0.5f * b) / (2.0f * c + 0.25f * b));
  float u = h_upper(y), v = h_upper(u * u), w = u * u - v; /* u^3 = u v + u w, both exact */
  y = u + ((b - u * v) - u * w) / (3.0f * u * y);
  y = tiny ? y * 0x1p-32f : y;
  return a == 0.0f || !(a < INFINITY) ? x : h_signed(y, x);
}

//! f32_turn : f32
/* x = q pi/2 + r, |r| <= pi/4, by Payne and Hanek: of the product of x and 2/pi only what matters to q mod 4 and r, in
 * whole numbers of 96 bits, from the words of 2/pi that the exponent of x chooses. */
static H_INLINE float h_turn(float x, uint *quarter) {
  uint i = as_uint(x) & 0x7fffffffu, m = (i & 0x7fffffu) | 0x800000u;
  uint at = (i >> 23) - 120u, word = at >> 5, by = at & 31u; /* from 2^-1 on: 6 to 134 */
  bool w1 = word >= 1u, w2 = word >= 2u, w3 = word >= 3u, w4 = word >= 4u;
  uint a = w4 ? 0xf534ddc0u : w3 ? 0xfc2757d1u : w2 ? 0x4e441529u : w1 ? 0xa2f9836eu : 0u;
  uint b = w4 ? 0xdb629599u : w3 ? 0xf534ddc0u : w2 ? 0xfc2757d1u : w1 ? 0x4e441529u : 0xa2f9836eu;
  uint c = w4 ? 0x3c439041u : w3 ? 0xdb629599u : w2 ? 0xf534ddc0u : w1 ? 0xfc2757d1u : 0x4e441529u;
  uint d = w4 ? 0xfe5163abu : w3 ? 0x3c439041u : w2 ? 0xdb629599u : w1 ? 0xf534ddc0u : 0xfc2757d1u;
  uint back = 31u - by;
  uint h = a << by | b >> 1 >> back, k = b << by | c >> 1 >> back, l = c << by | d >> 1 >> back;
  ulong p = (ulong)k * m + ((ulong)l * m >> 32) + ((ulong)(h * m) << 32);
  *quarter = (uint)((p + (1UL << 61)) >> 62);
  long fraction = (long)(p << 2);
  /* Its upper 24 bits, to the nearest, so that they are none where it is small, and the rest; then times pi/2. */
  int high = (int)(fraction >> 32), top = ((high >> 1) + 0x40) & ~0x7f;
  float rh = (float)top * 0x1p-31f;
  float rl = (float)(int)(((uint)high - 2u * (uint)top) << 22 | (uint)fraction >> 10) * 0x1p-54f;
  float u = h_upper(rh), hi = u * 0x1.92p0f; /* pi/2 = 0x1.92p0 + 0x1.fb5444p-12 */
  float lo = h_fma(rh - u, 1.57079637f, h_fma(u, 0x1.fb5444p-12f, rl * 1.57079637f));
  float r = hi + lo;
  bool near = i < 0x3f490fdbu; /* pi/4 */
  *quarter = near ? 0u : as_uint(x) >> 31 ? 0u - *quarter : *quarter;
  r = near ? x : as_float(as_uint(r) ^ (as_uint(x) & 0x80000000u));
  return i >= 0x7f800000u ? NAN : r;
}

//! f32_sine_parts : f32_turn
/* The sine and cosine of r, |r| <= pi/4 */
static H_INLINE float h_sine_poly(float r) {
  float z = r * r, s = h_fma(-0.000195184053f, z, 0.0083321901f);
  s = h_fma(s, z, -0.166666552f);
  return r == 0.0f ? r : h_fma(r * z, s, r); /* -0 */
}
static H_INLINE float h_cosine_poly(float r) {
  float z = r * r, c = h_fma(2.44306702e-5f, z, -0.00138873013f);
  c = h_fma(c, z, 0.0416666456f);
  c = h_fma(c, z, -0.5f);
  return h_fma(c, z, 1.0f);
}
/* y, or -y in the third and fourth quarter */
static H_INLINE float h_by_quarter(float y, uint quarter) {
  return as_float(as_uint(y) ^ (quarter & 2u) << 30);
}
/* The sine of x + q pi/2. */
static H_INLINE float h_sine_from(float x, uint q) {
  uint quarter;
  float r = h_turn(x, &quarter);
  quarter += q;
  return h_by_quarter(quarter & 1u ? h_cosine_poly(r) : h_sine_poly(r), quarter);
}

//! f32_sin : f32_sine_parts
static H_INLINE float h_sin_f32(float x) { return h_sine_from(x, 0u); }

//! f32_cos : f32_sine_parts
static H_INLINE float h_cos_f32(float x) { return h_sine_from(x, 1u); }

//! f32_sincos : f32_sine_parts
static H_INLINE float h_sincos_f32(float x, float *cosine) {
  uint quarter;
  float r = h_turn(x, &quarter), s = h_sine_poly(r), c = h_cosine_poly(r);
  *cosine = h_by_quarter(quarter & 1u ? s : c, quarter + 1u);
  return h_by_quarter(quarter & 1u ? c : s, quarter);
}

//! f16_turn : f32_sine_parts
/* For arguments of f16, which are below 2^16: x = q pi/2 + r by pi/2 in two parts, where the first product is not
 * rounded before it is subtracted. */
#if defined(FP_FAST_FMAF) || defined(__FMA__)
static H_INLINE float h_turn_f16(float x, uint *quarter) {
  float t = fma(x, 0.636619747f, 0x1.8p23f), n = t - 0x1.8p23f;
  *quarter = as_uint(t);
  float r = fma(n, 4.37113883e-8f, fma(n, -1.57079637f, x));
  return n == 0.0f ? x : r; /* -0 */
}
#else
#define h_turn_f16 h_turn
#endif
static H_INLINE float h_sine_from_f16(float x, uint q) {
  uint quarter;
  float r = h_turn_f16(x, &quarter);
  quarter += q;
  return h_by_quarter(quarter & 1u ? h_cosine_poly(r) : h_sine_poly(r), quarter);
}

/* h_turn for arguments of bf16, whose 8 bits m make all products ones of 32 bits: of the words of 2/pi from where bits
 * matter to q mod 4 on, 56 bits count. */
static H_INLINE float h_turn_bf16(float x, uint *quarter) {
  uint i = as_uint(x) & 0x7fffffffu, m = (i >> 16 & 0x7fu) | 0x80u;
  uint at = (i >> 23) - 104u, word = at >> 5, by = at & 31u, back = 31u - by; /* from 2^-1 on: 22 to 150 */
  bool w1 = word >= 1u, w2 = word >= 2u, w3 = word >= 3u, w4 = word >= 4u;
  uint a = w4 ? 0xf534ddc0u : w3 ? 0xfc2757d1u : w2 ? 0x4e441529u : w1 ? 0xa2f9836eu : 0u;
  uint b = w4 ? 0xdb629599u : w3 ? 0xf534ddc0u : w2 ? 0xfc2757d1u : w1 ? 0x4e441529u : 0xa2f9836eu;
  uint c = w4 ? 0x3c439041u : w3 ? 0xdb629599u : w2 ? 0xf534ddc0u : w1 ? 0xfc2757d1u : 0x4e441529u;
  uint h = a << by | b >> 1 >> back, k = b << by | c >> 1 >> back;
  uint rest = (k >> 8) * m, high = h * m + (rest >> 24);
  *quarter = (high + (1u << 29)) >> 30;
  float fraction = (float)(int)(high << 2 | rest >> 22 & 3u);
  float r = h_fma((float)(rest << 10), 0x1p-32f, fraction) * 3.6572953e-10f; /* pi/2 2^-32 */
  bool near = i < 0x3f490fdbu; /* pi/4 */
  *quarter = near ? 0u : as_uint(x) >> 31 ? 0u - *quarter : *quarter;
  r = near ? x : as_float(as_uint(r) ^ (as_uint(x) & 0x80000000u));
  return i >= 0x7f800000u ? NAN : r;
}
static H_INLINE float h_sine_from_bf16(float x, uint q) {
  uint quarter;
  float r = h_turn_bf16(x, &quarter);
  quarter += q;
  return h_by_quarter(quarter & 1u ? h_cosine_poly(r) : h_sine_poly(r), quarter);
}

//! f16_sin : f16_turn
static H_INLINE float h_sin_f16(float x) { return h_sine_from_f16(x, 0u); }
static H_INLINE float h_sin_bf16(float x) { return h_sine_from_bf16(x, 0u); }

//! f16_cos : f16_turn
static H_INLINE float h_cos_f16(float x) { return h_sine_from_f16(x, 1u); }
static H_INLINE float h_cos_bf16(float x) { return h_sine_from_bf16(x, 1u); }

//! f32_tan : f32_turn
static H_INLINE float h_tan_f32(float x) {
  uint quarter;
  float r = h_turn(x, &quarter), z = r * r;
  float q = h_fma(0.0044418266f, z, -4.61829841e-5f);
  q = h_fma(q, z, 0.0109455418f);
  q = h_fma(q, z, 0.0212386101f);
  q = h_fma(q, z, 0.0540686511f);
  q = h_fma(q, z, 0.13332583f);
  q = h_fma(q, z, 0.333333522f);
  q *= r * z;
  float t = r + q, low = (r - t) + q, y = -1.0f / t;
  return quarter & 1u ? h_fma(y * y, low, y) : t;
}

//! f32_atan_poly : f32
/* atan q for q from -1 to 1 */
static H_INLINE float h_atan_poly(float q) {
  float z = q * q, p = h_fma(-0.00182156288f, z, 0.0110390903f);
  p = h_fma(p, z, -0.0314085372f);
  p = h_fma(p, z, 0.0581876114f);
  p = h_fma(p, z, -0.0841677487f);
  p = h_fma(p, z, 0.109566979f);
  p = h_fma(p, z, -0.142650917f);
  p = h_fma(p, z, 0.199986264f);
  p = h_fma(p, z, -0.333333015f);
  return h_fma(q * z, p, q);
}

//! f32_atan : f32_atan_poly
static H_INLINE float h_atan_f32(float x) {
  float a = h_magnitude(x);
  bool large = a > 1.0f;
  float t = h_atan_poly(large ? -1.0f / a : a);
  return h_signed(large ? 1.57079637f + (t - 4.37113883e-8f) : t, x);
}

//! f32_atan2 : f32_atan_poly
static H_INLINE float h_atan2_f32(float y, float x) {
  float a = h_magnitude(x), b = h_magnitude(y);
  bool steep = b > a, back = as_int(x) < 0;
  float big = steep ? b : a, small = steep ? a : b;
  float q = big == 0.0f ? 0.0f : small == big ? 1.0f : small / big; /* also of two infinities */
  float t = h_atan_poly(steep != back ? -q : q);
  float base = steep ? 1.57079637f : back ? 3.14159274f : 0.0f;
  t = base + (t - (steep ? 4.37113883e-8f : back ? 8.74227766e-8f : 0.0f));
  return x != x || y != y ? NAN : h_signed(t, y);
}

//! f32_asin_parts : f32
/* asin x = x + x z q(z), z = x^2 <= 1/4; gives z q(z) */
static H_INLINE float h_asin_poly(float z) {
  float q = h_fma(0.0422118083f, z, 0.0241520908f);
  q = h_fma(q, z, 0.0454760417f);
  q = h_fma(q, z, 0.0749525204f);
  return h_fma(q, z, 0.166667536f) * z;
}

//! f32_asin : f32_asin_parts
static H_INLINE float h_asin_f32(float x) {
  float a = h_magnitude(x);
  bool large = a > 0.5f;
  float z = large ? h_fma(-0.5f, a, 0.5f) : a * a, s = large ? sqrt(z) : a;
  float t = s * h_asin_poly(z);
  float far = (1.57079637f - 2.0f * s) - h_fma(2.0f, t, 4.37113883e-8f);
  return h_signed(large ? far : s + t, x);
}

//! f32_acos : f32_asin_parts
static H_INLINE float h_acos_f32(float x) {
  float a = h_magnitude(x);
  bool large = a > 0.5f;
  float z = large ? h_fma(-0.5f, a, 0.5f) : a * a, s = large ? sqrt(z) : x;
  float t = h_fma(s, h_asin_poly(z), s);
  float far = x < 0.0f ? 3.14159274f - h_fma(2.0f, t, 8.74227766e-8f) : 2.0f * t;
  return large ? far : 1.57079637f - (t + 4.37113883e-8f);
}

//! f32_asinh : f32_log_two
static H_INLINE float h_asinh_f32(float x) {
  float a = h_magnitude(x), z = x * x;
  float q = h_fma(0.0020192978f, z, -0.00745861139f);
  q = h_fma(q, z, 0.0144673474f);
  q = h_fma(q, z, -0.0215659421f);
  q = h_fma(q, z, 0.030245211f);
  q = h_fma(q, z, -0.0446297452f);
  q = h_fma(q, z, 0.0749993846f);
  q = h_fma(q, z, -0.166666657f);
  /* log(a + sqrt(a^2 + 1)), and log(2 a) of what is large */
  bool large = a > 0x1p60f;
  float s = large ? 0.0f : sqrt(h_fma(a, a, 1.0f)), u = a + s;
  float y = h_log_two(u, (s - u) + a);
  y = large ? y + 0.693147182f : y;
  y = a < INFINITY ? y : a;
  return h_signed(a < 0.6875f ? h_fma(a * z, q, a) : y, x);
}

//! f32_acosh : f32_log1p
/* log(1 + (d + sqrt(2 d + d^2))), d = x - 1 */
static H_INLINE float h_acosh_f32(float x) {
  bool large = x > 0x1p60f;
  float d = x - 1.0f, c = large ? x : d + sqrt(h_fma(d, d, 2.0f * d));
  float y = h_log1p_f32(c);
  y = large ? y + 0.693147182f : y;
  return x < 1.0f ? NAN : y;
}

//! f32_atanh : f32_log1p
static H_INLINE float h_atanh_f32(float x) {
  float a = h_magnitude(x), z = x * x;
  float q = h_fma(0.184647605f, z, 0.0173222423f);
  q = h_fma(q, z, 0.105144233f);
  q = h_fma(q, z, 0.109306894f);
  q = h_fma(q, z, 0.142977402f);
  q = h_fma(q, z, 0.199996233f);
  q = h_fma(q, z, 0.333333373f);
  float y = 0.5f * h_log1p_f32(2.0f * a / (1.0f - a));
  return a < 0.5f ? h_fma(x * z, q, x) : h_signed(y, x);
}

//! f32_end
/* As it was. */
#pragma OPENCL FP_CONTRACT ON

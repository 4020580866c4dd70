/* SPDX-License-Identifier: Apache-2.0 */
/* cl_kernels/complex.cl: complex arithmetic and functions, in sections like those of scalar.cl. They are built on our own
 * functions of real numbers, and choose between values where those have branches: part by part, since compilers
 * make no vectors of choices between pairs. */

//! complex
#define H_COMPLEX(N, C, R)                                                                         \
  static inline C h_mul_##N(C a, C b) {                                                            \
    return (C)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                                      \
  }                                                                                                \
  /* Smith's division; where both parts are NaN, what infinite and zero operands mean. Compilers do\
   * not put in place what is long and called twice, and make no vectors of a loop that calls it. */\
  static inline __attribute__((always_inline)) C h_div_##N(C a, C b) {                             \
    bool steep = fabs(b.x) < fabs(b.y);                                                            \
    R large = steep ? b.y : b.x, small = steep ? b.x : b.y;                                        \
    R first = steep ? a.y : a.x, second = steep ? a.x : a.y;                                       \
    R r = small / large, d = large + small * r;                                                    \
    R re = (first + second * r) / d;                                                               \
    R im = (steep ? first * r - second : second - first * r) / d;                                  \
    bool bad = re != re && im != im, finite_a = fabs(a.x) < (R)INFINITY && fabs(a.y) < (R)INFINITY; \
    bool finite_b = fabs(b.x) < (R)INFINITY && fabs(b.y) < (R)INFINITY;                            \
    bool inf_a = fabs(a.x) == (R)INFINITY || fabs(a.y) == (R)INFINITY;                             \
    bool inf_b = fabs(b.x) == (R)INFINITY || fabs(b.y) == (R)INFINITY;                             \
    bool zero_b = b.x == 0 && b.y == 0 && (a.x == a.x || a.y == a.y);                              \
    R inf = copysign((R)INFINITY, b.x);                                                            \
    R u = copysign(fabs(a.x) == (R)INFINITY ? (R)1 : (R)0, a.x);                                   \
    R v = copysign(fabs(a.y) == (R)INFINITY ? (R)1 : (R)0, a.y);                                   \
    R s = copysign(fabs(b.x) == (R)INFINITY ? (R)1 : (R)0, b.x);                                   \
    R t = copysign(fabs(b.y) == (R)INFINITY ? (R)1 : (R)0, b.y);                                   \
    bool large_a = bad && !zero_b && inf_a && finite_b, large_b = bad && !zero_b && inf_b && finite_a; \
    re = bad && zero_b ? inf * a.x : large_a ? (R)INFINITY * (u * b.x + v * b.y) : re;             \
    im = bad && zero_b ? inf * a.y : large_a ? (R)INFINITY * (v * b.x - u * b.y) : im;             \
    re = large_b ? (R)0 * (a.x * s + a.y * t) : re;                                                \
    im = large_b ? (R)0 * (a.y * s - a.x * t) : im;                                                \
    return (C)(re, im);                                                                            \
  }                                                                                                \
  static inline R h_abs_##N(C a) {                                                                 \
    R x = fabs(a.x), y = fabs(a.y);                                                                \
    R hi = x > y ? x : y, lo = x > y ? y : x, q = lo / hi, r = hi * sqrt((R)1 + q * q);            \
    r = hi == 0 ? (R)0 : r;                                                                        \
    r = hi == (R)INFINITY ? (R)INFINITY : r;                                                       \
    return x != x || y != y ? (R)NAN : r;                                                          \
  }                                                                                                \
  static inline C h_sign_##N(C a) {                                                                \
    R m = h_abs_##N(a);                                                                            \
    return (C)(m == 0 ? (R)0 : a.x / m, m == 0 ? (R)0 : a.y / m);                                  \
  }
#define H_COMPLEX_EXP(N, C, R, F)                                                                  \
  static inline C h_exp_##N(C a) {                                                                 \
    R e = h_exp_##F(a.x), c, s = h_sincos_##F(a.y, &c);                                            \
    return (C)(a.y == 0 ? e : e * c, a.y == 0 ? a.y : e * s);                                      \
  }
#define H_COMPLEX_LOGISTIC(N, C, R)                                                                \
  static inline C h_logistic_##N(C a) {                                                            \
    C e = h_exp_##N((C)(-a.x, -a.y));                                                              \
    return h_div_##N((C)(1, 0), (C)((R)1 + e.x, e.y));                                             \
  }
#define H_COMPLEX_EXPM1(N, C, R, F)                                                                \
  static inline C h_expm1_##N(C a) {                                                               \
    R c, s = h_sincos_##F(a.y * (R)0.5, &c), cosm1 = (R)0 - (R)2 * s * s; /* never -0 */           \
    R cosine = (R)1 + cosm1, sine = (R)2 * s * c;                                                  \
    return (C)(h_expm1_##F(a.x) * cosine + cosm1, a.y == 0 ? (R)0 : h_exp_##F(a.x) * sine);        \
  }
#define H_COMPLEX_LOG(N, C, R, F)                                                                  \
  /* log|z| = log(hi) + log1p((lo/hi)^2) / 2, and near |z| = 1 from |z|^2 - 1 */                   \
  static inline R h_log_size_##N(R hi, R lo, bool near, R beyond) {                                \
    R q = hi == 0 ? (R)0 : lo / hi, l = (R)0.5 * h_log1p_##F(near ? beyond : q * q);               \
    return near ? l : h_log_##F(hi) + l;                                                           \
  }                                                                                                \
  static inline C h_log_##N(C a) {                                                                 \
    R x = fabs(a.x), y = fabs(a.y);                                                                \
    R hi = x > y ? x : y, lo = x > y ? y : x;                                                      \
    R l = h_log_size_##N(hi, lo, hi > (R)0.5 && hi < (R)2, (hi - 1) * (hi + 1) + lo * lo);         \
    l = x != x || y != y ? (R)NAN : l;                                                             \
    l = x == (R)INFINITY || y == (R)INFINITY ? (R)INFINITY : l;                                    \
    return (C)(l, h_atan2_##F(a.y, a.x));                                                          \
  }                                                                                                \
  static inline C h_log1p_##N(C a) {                                                               \
    R t = (R)1 + a.x, x = fabs(t), y = fabs(a.y);                                                  \
    R hi = x > y ? x : y, lo = x > y ? y : x;                                                      \
    bool near = x > (R)0.5 && x < (R)2 && y < (R)1;                                                \
    R l = h_log_size_##N(hi, lo, near, a.x * ((R)2 + a.x) + a.y * a.y);                            \
    return (C)(l, h_atan2_##F(a.y, t));                                                            \
  }
#define H_COMPLEX_SIN(N, C, R, F)                                                                  \
  static inline C h_cos_##N(C a) {                                                                 \
    R c, s = h_sincos_##F(a.x, &c), ch, sh = h_sinhcosh_##F(a.y, &ch);                             \
    return (C)(c * ch, -s * sh);                                                                   \
  }                                                                                                \
  static inline C h_sin_##N(C a) {                                                                 \
    R c, s = h_sincos_##F(a.x, &c), ch, sh = h_sinhcosh_##F(a.y, &ch);                             \
    return (C)(s * ch, c * sh);                                                                    \
  }                                                                                                \
  /* No part is -0: they are sums. */                                                              \
  static inline C h_cosh_##N(C a) {                                                                \
    R c, s = h_sincos_##F(a.y, &c), ch, sh = h_sinhcosh_##F(a.x, &ch);                             \
    return (C)(ch * c + (R)0, a.y == 0 ? (R)0 : sh * s + (R)0);                                    \
  }                                                                                                \
  static inline C h_sinh_##N(C a) {                                                                \
    R c, s = h_sincos_##F(a.y, &c), ch, sh = h_sinhcosh_##F(a.x, &ch);                             \
    return (C)(sh * c + (R)0, a.y == 0 ? (R)0 : ch * s + (R)0);                                    \
  }
#define H_COMPLEX_TANH(N, C, R, F)                                                                 \
  /* (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y), all times 4 u, u = e^(-2|x|); v = 1 - u. A zero \
   * for y gives +0. */                                                                            \
  static inline C h_tanh_##N(C a) {                                                                \
    R twice = (R)-2 * fabs(a.x), u = h_exp_##F(twice), v = -h_expm1_##F(twice);                    \
    R c, s = h_sincos_##F(a.y, &c), d = v * v + (R)4 * u * c * c;                                  \
    R re = copysign(v * ((R)2 - v) / d, a.x), im = a.y == 0 ? (R)0 : (R)4 * u * s * c / d;         \
    bool infinite = fabs(a.x) == (R)INFINITY;                                                      \
    re = a.x != a.x ? (R)NAN : re;                                                                 \
    return (C)(infinite ? copysign((R)1, a.x) : re, infinite ? (R)0 : im);                         \
  }                                                                                                \
  static inline C h_tan_##N(C a) {                                                                 \
    C t = h_tanh_##N((C)(-a.y, a.x));                                                              \
    return (C)(t.y, -t.x);                                                                         \
  }
#define H_COMPLEX_SQRT(N, C, R)                                                                    \
  /* The square root of k a, and |k a|, where k is a power of two that keeps them of ordinary size; gives k. */ \
  static inline R h_root_##N(C a, R *p, R *q, R *size) {                                           \
    R hi = fabs(a.x) > fabs(a.y) ? fabs(a.x) : fabs(a.y);                                          \
    R k = hi > (R)1e18 ? (R)0x1p-64 : hi < (R)1e-18 ? (R)0x1p64 : (R)1;                            \
    R m = h_abs_##N((C)(a.x * k, a.y * k)), s = sqrt((R)0.5 * m + (R)0.5 * fabs(a.x * k));         \
    R o = a.y * k / s * (R)0.5;                                                                    \
    *p = a.x >= 0 ? s : fabs(o);                                                                   \
    *q = a.x >= 0 ? o : copysign(s, a.y);                                                          \
    *size = m;                                                                                     \
    return k;                                                                                      \
  }                                                                                                \
  static inline C h_sqrt_##N(C a) {                                                                \
    R re, im, m, k = h_root_##N(a, &re, &im, &m);                                                  \
    R back = k > (R)1 ? (R)0x1p-32 : k < (R)1 ? (R)0x1p32 : (R)1;                                  \
    bool zero = a.x == 0 && a.y == 0, up = fabs(a.y) == (R)INFINITY;                               \
    bool along = !up && fabs(a.x) == (R)INFINITY && a.y == a.y;                                    \
    re = zero ? (R)0 : up ? (R)INFINITY : along ? (a.x > 0 ? a.x : (R)0) : re * back;              \
    im = zero || up ? a.y : along ? copysign(a.x > 0 ? (R)0 : (R)INFINITY, a.y) : im * back;       \
    return (C)(re, im);                                                                            \
  }                                                                                                \
  static inline C h_rsqrt_##N(C a) {                                                               \
    R p, q, m, k = h_root_##N(a, &p, &q, &m);                                                      \
    R back = k > (R)1 ? (R)0x1p32 : k < (R)1 ? (R)0x1p-32 : (R)1;                                  \
    R re = p / m * back, im = -(q / m) * back;                                                     \
    bool zero = a.x == 0 && a.y == 0, along = fabs(a.x) == (R)INFINITY;                            \
    bool up = !along && fabs(a.y) == (R)INFINITY;                                                  \
    re = zero ? (R)INFINITY : along ? copysign((R)0, a.x) : up ? (a.x != a.x ? (R)NAN : (R)0) : re; \
    im = zero || (up && a.x != a.x) ? (R)NAN : along || up ? -copysign((R)0, a.y) : im;            \
    return (C)(re, im);                                                                            \
  }
#define H_COMPLEX_POW(N, C, R, F)                                                                  \
  static inline C h_pow_##N(C a, C b) {                                                            \
    R size = h_abs_##N(a), angle = h_atan2_##F(a.y, a.x), m = h_pow_##F(size, b.x);                \
    R q = b.x * angle + (b.y == 0 ? (R)0 : b.y * h_log_##F(size));                                 \
    m *= b.y == 0 ? (R)1 : h_exp_##F(-b.y * angle);                                                \
    R c, s = h_sincos_##F(q, &c), re = m * c, im = m * s;                                          \
    bool real = a.y == 0, zero = real && a.x == 0 && b.x > 0 && b.y == 0;                          \
    bool one = (b.x == 0 && b.y == 0) || (real && a.x == 1);                                       \
    bool infinite = real && a.x == (R)INFINITY && b.x != 0 && b.x == b.x;                          \
    re = infinite ? (b.x > 0 ? (R)INFINITY : (R)0) : re;                                           \
    re = one ? (R)1 : zero ? (R)0 : re;                                                            \
    return (C)(re, one || zero || infinite ? (R)0 : im);                                           \
  }
#define H_COMPLEX_ATAN2(N, C, R)                                                                   \
  static inline C h_atan2_##N(C y, C x) {                                                          \
    C n = (C)(x.x - y.y, x.y + y.x), x2 = h_mul_##N(x, x), y2 = h_mul_##N(y, y);                   \
    C s = h_sqrt_##N((C)(x2.x + y2.x, x2.y + y2.y));                                               \
    C l = h_log_##N(h_div_##N(n, s));                                                              \
    return (C)(l.y, -l.x);                                                                         \
  }
#define H_COMPLEX_INVERSE(N, C, R)                                                                 \
  /* Inverse functions after Hull, Fairgrieve and Tang (1997), in their simple regions; enough for \
   * ordinary values. asin z = -i asinh(i z), acos z = pi/2 - asin z. */                           \
  static inline C h_asinh_##N(C a) {                                                               \
    C s = h_sqrt_##N((C)((R)1 + (a.x - a.y) * (a.x + a.y), (R)2 * a.x * a.y));                     \
    C p = a.x >= 0 ? a : -a;                                                                       \
    C t = h_div_##N(h_mul_##N(p, p), (C)((R)1 + s.x, s.y));                                        \
    C l = h_log1p_##N(p + t);                                                                      \
    return a.x >= 0 ? l : -l;                                                                      \
  }                                                                                                \
  static inline C h_asin_##N(C a) {                                                                \
    C t = h_asinh_##N((C)(-a.y, a.x));                                                             \
    return (C)(t.y, -t.x);                                                                         \
  }                                                                                                \
  static inline C h_acos_##N(C a) {                                                                \
    C t = h_asin_##N(a);                                                                           \
    return (C)((R)1.57079632679489661923 - t.x, -t.y);                                             \
  }                                                                                                \
  static inline C h_acosh_##N(C a) {                                                               \
    C p = h_sqrt_##N((C)(a.x + (R)1, a.y)), m = h_sqrt_##N((C)(a.x - (R)1, a.y));                  \
    return h_log_##N(a + h_mul_##N(p, m));                                                         \
  }                                                                                                \
  static inline C h_atanh_##N(C a) {                                                               \
    C p = h_log1p_##N(a), m = h_log1p_##N(-a);                                                     \
    return (C)((R)0.5 * (p.x - m.x), (R)0.5 * (p.y - m.y));                                        \
  }                                                                                                \
  static inline C h_atan_##N(C a) {                                                                \
    C t = h_atanh_##N((C)(-a.y, a.x));                                                             \
    return (C)(t.y, -t.x);                                                                         \
  }

//! c64 : complex
H_COMPLEX(c64, float2, float)

//! c64_exp : c64 f32_exp f32_sincos
H_COMPLEX_EXP(c64, float2, float, f32)

//! c64_expm1 : c64 f32_exp f32_expm1 f32_sincos
H_COMPLEX_EXPM1(c64, float2, float, f32)

//! c64_log : c64 f32_log f32_log1p f32_atan2
H_COMPLEX_LOG(c64, float2, float, f32)

//! c64_sin : c64 f32_sincos f32_sinhcosh
H_COMPLEX_SIN(c64, float2, float, f32)

//! c64_tanh : c64 f32_exp f32_expm1 f32_sincos
H_COMPLEX_TANH(c64, float2, float, f32)

//! c64_sqrt : c64
H_COMPLEX_SQRT(c64, float2, float)

//! c64_pow : c64 f32_pow f32_log f32_exp f32_atan2 f32_sincos
H_COMPLEX_POW(c64, float2, float, f32)

//! c64_logistic : c64_exp
H_COMPLEX_LOGISTIC(c64, float2, float)

//! c64_atan2 : c64_sqrt c64_log
H_COMPLEX_ATAN2(c64, float2, float)

//! c64_inverse : c64_sqrt c64_log
H_COMPLEX_INVERSE(c64, float2, float)

//! c128 : fp64 complex
H_COMPLEX(c128, double2, double)

//! c128_exp : c128 f64_exp f64_sincos
H_COMPLEX_EXP(c128, double2, double, f64)

//! c128_expm1 : c128 f64_exp f64_expm1 f64_sincos
H_COMPLEX_EXPM1(c128, double2, double, f64)

//! c128_log : c128 f64_log f64_log1p f64_atan2
H_COMPLEX_LOG(c128, double2, double, f64)

//! c128_sin : c128 f64_sincos f64_sinhcosh
H_COMPLEX_SIN(c128, double2, double, f64)

//! c128_tanh : c128 f64_exp f64_expm1 f64_sincos
H_COMPLEX_TANH(c128, double2, double, f64)

//! c128_sqrt : c128
H_COMPLEX_SQRT(c128, double2, double)

//! c128_pow : c128 f64_pow f64_log f64_exp f64_atan2 f64_sincos
H_COMPLEX_POW(c128, double2, double, f64)

//! c128_logistic : c128_exp
H_COMPLEX_LOGISTIC(c128, double2, double)

//! c128_atan2 : c128_sqrt c128_log
H_COMPLEX_ATAN2(c128, double2, double)

//! c128_inverse : c128_sqrt c128_log
H_COMPLEX_INVERSE(c128, double2, double)

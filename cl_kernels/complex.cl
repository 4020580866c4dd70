/* cl_kernels/complex.cl: complex arithmetic and functions, in sections like those of scalar.cl. Those
 * of functions call builtins of real numbers, which take long to be looked for: arithmetic does without. */

//! c64
#define H_COMPLEX(N, C, R)                                                                         \
  static inline C h_mul_##N(C a, C b) {                                                            \
    return (C)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                                      \
  }                                                                                                \
  static inline C h_div_##N(C a, C b) {                                                            \
    C q;                                                                                           \
    if (fabs(b.x) < fabs(b.y)) {                                                                   \
      R r = b.x / b.y, d = b.x * r + b.y;                                                          \
      q = (C)((a.x * r + a.y) / d, (a.y * r - a.x) / d);                                           \
    } else {                                                                                       \
      R r = b.y / b.x, d = b.x + b.y * r;                                                          \
      q = (C)((a.x + a.y * r) / d, (a.y - a.x * r) / d);                                           \
    }                                                                                              \
    if (q.x != q.x && q.y != q.y) {                                                                \
      if (b.x == 0 && b.y == 0 && (a.x == a.x || a.y == a.y)) {                                    \
        R inf = copysign((R)INFINITY, b.x);                                                        \
        q = (C)(inf * a.x, inf * a.y);                                                             \
      } else if ((isinf(a.x) || isinf(a.y)) && isfinite(b.x) && isfinite(b.y)) {                   \
        R x = copysign(isinf(a.x) ? (R)1 : (R)0, a.x), y = copysign(isinf(a.y) ? (R)1 : (R)0, a.y);\
        q = (C)((R)INFINITY * (x * b.x + y * b.y), (R)INFINITY * (y * b.x - x * b.y));             \
      } else if ((isinf(b.x) || isinf(b.y)) && isfinite(a.x) && isfinite(a.y)) {                   \
        R x = copysign(isinf(b.x) ? (R)1 : (R)0, b.x), y = copysign(isinf(b.y) ? (R)1 : (R)0, b.y);\
        q = (C)((R)0 * (a.x * x + a.y * y), (R)0 * (a.y * x - a.x * y));                           \
      }                                                                                            \
    }                                                                                              \
    return q;                                                                                      \
  }                                                                                                \
  static inline R h_abs_##N(C a) {                                                                 \
    R x = fabs(a.x), y = fabs(a.y);                                                                \
    R hi = x > y ? x : y, lo = x > y ? y : x;                                                      \
    if (isinf(x) || isinf(y)) return x != x || y != y ? (R)NAN : (R)INFINITY;                      \
    R q = lo / hi;                                                                                 \
    R r = hi * sqrt((R)1 + q * q);                                                                 \
    return x != x || y != y ? (R)NAN : hi == 0 ? (R)0 : r;                                         \
  }                                                                                                \
  static inline C h_sign_##N(C a) {                                                                \
    R m = h_abs_##N(a);                                                                            \
    if (m == 0) return (C)(0, 0);                                                                  \
    return (C)(a.x / m, a.y / m);                                                                  \
  }                                                                                                \
  static inline C h_sqrt_##N(C a) {                                                                \
    if (a.x == 0 && a.y == 0) return (C)(0, a.y);                                                  \
    if (isinf(a.y)) return (C)((R)INFINITY, a.y);                                                  \
    if (isinf(a.x) && a.y == a.y) {                                                                \
      return a.x > 0 ? (C)(a.x, copysign((R)0, a.y)) : (C)(0, copysign((R)INFINITY, a.y));         \
    }                                                                                              \
    R m = h_abs_##N(a), s = sqrt((R)0.5 * m + (R)0.5 * fabs(a.x));                                 \
    if (isinf(m)) {                                                                                \
      m = h_abs_##N((C)(a.x * (R)0.25, a.y * (R)0.25));                                            \
      s = (R)2 * sqrt((R)0.5 * (m + fabs(a.x) * (R)0.25));                                         \
    } else if (s < (R)1e-18) {                                                                     \
      R k = (R)18446744073709551616.0;                                                             \
      m = h_abs_##N((C)(a.x * k, a.y * k));                                                        \
      s = sqrt((R)0.5 * (m + fabs(a.x) * k)) / (R)4294967296.0;                                    \
    }                                                                                              \
    R o = a.y / s * (R)0.5;                                                                        \
    return a.x >= 0 ? (C)(s, o) : (C)(fabs(o), copysign(s, a.y));                                  \
  }                                                                                                \
  static inline C h_rsqrt_##N(C a) {                                                               \
    if (a.x == 0 && a.y == 0) return (C)((R)INFINITY, (R)NAN);                                     \
    if (isinf(a.x)) return (C)(copysign((R)0, a.x), -copysign((R)0, a.y));                         \
    if (isinf(a.y)) return a.x != a.x ? (C)((R)NAN, (R)NAN) : (C)(0, -copysign((R)0, a.y));        \
    C s = h_sqrt_##N(a);                                                                           \
    return h_div_##N((C)(1, 0), s);                                                                \
  }
H_COMPLEX(c64, float2, float)

//! c128 : fp64 c64
H_COMPLEX(c128, double2, double)

//! c64_functions : c64
#define H_COMPLEX_FUNCTIONS(N, C, R)                                                               \
  static inline C h_exp_##N(C a) {                                                                 \
    R e = exp(a.x);                                                                                \
    if (a.y == 0) return (C)(e, a.y);                                                              \
    return (C)(e * cos(a.y), e * sin(a.y));                                                        \
  }                                                                                                \
  static inline C h_log_##N(C a) {                                                                 \
    /* log|z| = log(hi) + log1p((lo/hi)^2) / 2, and near |z| = 1 from (x-1)(x+1) + y^2 */          \
    R x = fabs(a.x), y = fabs(a.y);                                                                \
    R hi = x > y ? x : y, lo = x > y ? y : x, q = lo / hi;                                         \
    R l = hi > (R)0.5 && hi < (R)2 ? (R)0.5 * log1p((hi - 1) * (hi + 1) + lo * lo)                 \
                                   : log(hi) + (R)0.5 * log1p(hi == 0 ? (R)0 : q * q);             \
    if (isinf(hi)) l = (R)INFINITY;                                                                \
    if (x != x || y != y) l = isinf(x) || isinf(y) ? (R)INFINITY : (R)NAN;                         \
    return (C)(l, atan2(a.y, a.x));                                                                \
  }                                                                                                \
  static inline C h_expm1_##N(C a) {                                                               \
    R h = sin(a.y * (R)0.5), cosm1 = (R)0 - (R)2 * h * h; /* never -0 */                           \
    R em1 = expm1(a.x);                                                                            \
    return (C)(em1 * cos(a.y) + cosm1, a.y == 0 ? (R)0 : exp(a.x) * sin(a.y));                     \
  }                                                                                                \
  static inline C h_log1p_##N(C a) {                                                               \
    R t = (R)1 + a.x;                                                                              \
    R x = fabs(t), y = fabs(a.y);                                                                  \
    R hi = x > y ? x : y, lo = x > y ? y : x, q = hi == 0 ? (R)0 : lo / hi;                        \
    R l = x > (R)0.5 && x < (R)2 && y < (R)1                                                       \
              ? (R)0.5 * log1p(a.x * ((R)2 + a.x) + a.y * a.y)                                     \
              : log(hi) + (R)0.5 * log1p(q * q);                                                   \
    return (C)(l, atan2(a.y, t));                                                                  \
  }                                                                                                \
  static inline C h_cos_##N(C a) { return (C)(cos(a.x) * cosh(a.y), -sin(a.x) * sinh(a.y)); }      \
  static inline C h_sin_##N(C a) { return (C)(sin(a.x) * cosh(a.y), cos(a.x) * sinh(a.y)); }       \
  /* No part is -0: they are sums. */                                                              \
  static inline C h_cosh_##N(C a) {                                                                \
    R im = a.y == 0 ? (R)0 : sinh(a.x) * sin(a.y) + (R)0;                                          \
    return (C)(cosh(a.x) * cos(a.y) + (R)0, im);                                                   \
  }                                                                                                \
  static inline C h_sinh_##N(C a) {                                                                \
    R im = a.y == 0 ? (R)0 : cosh(a.x) * sin(a.y) + (R)0;                                          \
    return (C)(sinh(a.x) * cos(a.y) + (R)0, im);                                                   \
  }                                                                                                \
  static inline C h_tanh_##N(C a) {                                                                \
    /* Kahan's form: t = tan y, s = sinh x. A zero for y gives +0. */                              \
    if (a.x != a.x) return (C)(a.x, a.y == 0 ? (R)0 : a.x);                                        \
    if (isinf(a.x)) return (C)(copysign((R)1, a.x), 0);                                            \
    if (!isfinite(a.y)) return (C)((R)NAN, (R)NAN);                                                \
    if (fabs(a.x) > (R)20) {                                                                       \
      R im = (R)4 * sin(a.y) * cos(a.y) * exp((R)-2 * fabs(a.x));                                  \
      return (C)(copysign((R)1, a.x), a.y == 0 ? (R)0 : im);                                       \
    }                                                                                              \
    R t = tan(a.y), b = (R)1 + t * t, s = sinh(a.x), r = sqrt((R)1 + s * s);                       \
    if (isinf(t)) return (C)(r / s, (R)1 / t);                                                     \
    R d = (R)1 + b * s * s;                                                                        \
    return (C)(b * r * s / d, a.y == 0 ? (R)0 : t / d);                                            \
  }                                                                                                \
  static inline C h_tan_##N(C a) {                                                                 \
    C t = h_tanh_##N((C)(-a.y, a.x));                                                              \
    return (C)(t.y, -t.x);                                                                         \
  }                                                                                                \
  static inline C h_pow_##N(C a, C b) {                                                            \
    if (b.x == 0 && b.y == 0) return (C)(1, 0);                                                    \
    if (a.x == 1 && a.y == 0) return (C)(1, 0);                                                    \
    if (a.x == 0 && a.y == 0 && b.x > 0 && b.y == 0) return (C)(0, 0);                             \
    if (a.x == (R)INFINITY && a.y == 0) {                                                          \
      if (b.x > 0) return (C)((R)INFINITY, 0);                                                     \
      if (b.x < 0) return (C)(0, 0);                                                               \
    }                                                                                              \
    R size = h_abs_##N(a), angle = atan2(a.y, a.x), m = pow(size, b.x), q = b.x * angle;           \
    if (b.y != 0) {                                                                                \
      m *= exp(-b.y * angle);                                                                      \
      q += b.y * log(size);                                                                        \
    }                                                                                              \
    return (C)(m * cos(q), m * sin(q));                                                            \
  }                                                                                                \
  static inline C h_logistic_##N(C a) {                                                            \
    C e = h_exp_##N(-a);                                                                           \
    return h_div_##N((C)(1, 0), (C)((R)1 + e.x, e.y));                                             \
  }                                                                                                \
  static inline C h_atan2_##N(C y, C x) {                                                          \
    C n = (C)(x.x - y.y, x.y + y.x);                                                               \
    C s = h_sqrt_##N(h_mul_##N(x, x) + h_mul_##N(y, y));                                           \
    C l = h_log_##N(h_div_##N(n, s));                                                              \
    return (C)(l.y, -l.x);                                                                         \
  }                                                                                                \
  /* Inverse functions after Hull, Fairgrieve and Tang (1997), in their simple regions; enough for \
   * ordinary values. asin z = -i asinh(i z), acos z = pi/2 - asin z. */                           \
  static inline C h_asinh_##N(C a) {                                                               \
    C s = h_sqrt_##N((C)((R)1 + (a.x - a.y) * (a.x + a.y), (R)2 * a.x * a.y));                     \
    C p = a.x >= 0 ? a : -a;                                                                       \
    C q = a.x >= 0 ? s : s;                                                                        \
    C t = h_div_##N(h_mul_##N(p, p), (C)((R)1 + q.x, q.y));                                        \
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
H_COMPLEX_FUNCTIONS(c64, float2, float)

//! c128_functions : c128 c64_functions
H_COMPLEX_FUNCTIONS(c128, double2, double)

/* cl_kernels/scalar.cl: the meaning of scalar operations that OpenCL C has no operator or builtin for.
 *
 * The file is cut at lines that begin with "//!" into sections; a generated program gets only the
 * sections it uses: "//! name" or "//! name : needed sections". It also compiles as it stands. Names:
 * h_<op>_<type> where <type> is XLA's name. Narrow floats are float values that their type can hold. */

//! stream
/* Stores a vector past the caches where the compiler knows how; `p` is aligned to the vector. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
#define h_stream(v, p) __builtin_nontemporal_store(v, p)
#endif
#endif
#ifndef h_stream
#define h_stream(v, p) (*(p) = (v))
#endif

//! fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

//! wrap
/* Integers narrower than a byte live in (u)char, sign- or zero-extended. */
static inline char h_wrap_s1(char x) { return (char)((char)(x << 7) >> 7); }
static inline char h_wrap_s2(char x) { return (char)((char)(x << 6) >> 6); }
static inline char h_wrap_s4(char x) { return (char)((char)(x << 4) >> 4); }
static inline uchar h_wrap_u1(uchar x) { return (uchar)(x & 1); }
static inline uchar h_wrap_u2(uchar x) { return (uchar)(x & 3); }
static inline uchar h_wrap_u4(uchar x) { return (uchar)(x & 15); }

//! idiv
/* Truncating division that never traps: x / 0 = all ones, MIN / -1 = MIN; x % 0 = x, MIN % -1 = 0. Divisors that
 * would trap become 1 by addition: LLVM 15 crashes over a choice there, as vectors of bytes. */
#define H_SDIV(N, T, U)                                                                            \
  static inline T h_div_##N(T a, T b) {                                                            \
    T d = (T)(b + (b == 0) + 2 * (b == (T)-1));                                                    \
    T q = a / d;                                                                                   \
    return b == 0 ? (T)-1 : b == (T)-1 ? (T)((U)0 - (U)a) : q;                                     \
  }                                                                                                \
  static inline T h_rem_##N(T a, T b) {                                                            \
    T d = (T)(b + (b == 0) + 2 * (b == (T)-1));                                                    \
    T r = a % d;                                                                                   \
    return b == 0 ? a : b == (T)-1 ? (T)0 : r;                                                     \
  }
#define H_UDIV(N, T)                                                                               \
  static inline T h_div_##N(T a, T b) {                                                            \
    T q = a / (T)(b + (b == 0));                                                                   \
    return b == 0 ? (T)~(T)0 : q;                                                                  \
  }                                                                                                \
  static inline T h_rem_##N(T a, T b) {                                                            \
    T r = a % (T)(b + (b == 0));                                                                   \
    return b == 0 ? a : r;                                                                         \
  }
H_SDIV(s8, char, uchar)
H_SDIV(s16, short, ushort)
H_SDIV(s32, int, uint)
H_SDIV(s64, long, ulong)
H_UDIV(u8, uchar)
H_UDIV(u16, ushort)
H_UDIV(u32, uint)
H_UDIV(u64, ulong)

//! ipow
/* Square-and-multiply, modulo 2^32 or 2^64; a negative exponent gives 1 for base 1, +-1 for base -1, else 0.
 * Whether it is negative is asked in its own width, since Mesa takes a widened int for positive, and last, since
 * LLVM 15 crashes over a choice of exponents. */
#define H_POW(N, T, U)                                                                             \
  static inline T h_pow_##N(T a, T b) {                                                            \
    U square = (U)a, left = (U)b, power = 1;                                                       \
    while (left != 0) {                                                                            \
      power *= left & 1 ? square : (U)1;                                                           \
      square *= square;                                                                            \
      left >>= 1;                                                                                  \
    }                                                                                              \
    T inverse = a == 1 ? (T)1 : a != (T)-1 ? (T)0 : b & 1 ? (T)-1 : (T)1;                          \
    return b < 0 ? inverse : (T)power;                                                             \
  }
H_POW(s32, int, uint)
H_POW(s64, long, ulong)
H_POW(u32, uint, uint)
H_POW(u64, ulong, ulong)

//! shift
/* The amount is unsigned; an amount of at least the width W saturates. Bits move in a word R of 32 or 64: LLVM 15
 * crashes over vectors of bytes that are 64 bits wide on the way. */
#define H_SHIFT(N, T, U, R)                                                                        \
  static inline T h_shl_##N(T a, T b, uint w) { return (U)b >= w ? (T)0 : (T)((U)a << (U)b); }     \
  static inline T h_shr_##N(T a, T b, uint w) {                                                    \
    R bits = (R)(U)a & (~(R)0 >> (8 * sizeof(R) - w));                                             \
    return (U)b >= w ? (T)0 : (T)(bits >> (U)b);                                                   \
  }
#define H_SAR(N, T, U, S)                                                                          \
  static inline T h_sar_##N(T a, T b, uint w) {                                                           \
    long value = (long)((ulong)(U)a << (64 - w)) >> (64 - w);                                      \
    return (T)(value >> ((U)b >= w ? (U)(w - 1) : (U)b));                                          \
  }
H_SHIFT(s8, char, uchar, uint)
H_SHIFT(s16, short, ushort, uint)
H_SHIFT(s32, int, uint, uint)
H_SHIFT(s64, long, ulong, ulong)
H_SHIFT(u8, uchar, uchar, uint)
H_SHIFT(u16, ushort, ushort, uint)
H_SHIFT(u32, uint, uint, uint)
H_SHIFT(u64, ulong, ulong, ulong)
H_SAR(s8, char, uchar, char)
H_SAR(s16, short, ushort, short)
H_SAR(s32, int, uint, int)
H_SAR(s64, long, ulong, long)
H_SAR(u8, uchar, uchar, char)
H_SAR(u16, ushort, ushort, short)
H_SAR(u32, uint, uint, int)
H_SAR(u64, ulong, ulong, long)

//! fminmax
/* IEEE maximum and minimum: NaN if either is NaN, +0 above -0. */
static inline float h_max_f32(float a, float b) {
  float r = a > b ? a : b;
  r = a == b ? as_float(as_int(a) & as_int(b)) : r;
  r = a != a ? a : r;
  return b != b ? b : r;
}
static inline float h_min_f32(float a, float b) {
  float r = a < b ? a : b;
  r = a == b ? as_float(as_int(a) | as_int(b)) : r;
  r = a != a ? a : r;
  return b != b ? b : r;
}

//! dminmax : fp64
static inline double h_max_f64(double a, double b) {
  double r = a > b ? a : b;
  r = a == b ? as_double(as_long(a) & as_long(b)) : r;
  r = a != a ? a : r;
  return b != b ? b : r;
}
static inline double h_min_f64(double a, double b) {
  double r = a < b ? a : b;
  r = a == b ? as_double(as_long(a) | as_long(b)) : r;
  r = a != a ? a : r;
  return b != b ? b : r;
}

//! f2i
/* Float to integer: truncate, saturate at the ends (MIN, MAX), NaN to 0. */
#define H_F2I(N, F, T, LO, HI)                                                                     \
  static inline T h_##F##_to_##N(F x) {                                                                   \
    F c = x > (F)(LO) ? x : (F)(LO);                                                               \
    T r = c >= (F)(HI) ? (T)(HI) : (T)(c < (F)(HI) ? c : (F)0);                                    \
    return x != x ? (T)0 : r;                                                                      \
  }
H_F2I(s8, float, char, CHAR_MIN, CHAR_MAX)
H_F2I(s16, float, short, SHRT_MIN, SHRT_MAX)
H_F2I(s32, float, int, INT_MIN, INT_MAX)
H_F2I(s64, float, long, LONG_MIN, LONG_MAX)
H_F2I(u8, float, uchar, 0, UCHAR_MAX)
H_F2I(u16, float, ushort, 0, USHRT_MAX)
H_F2I(u32, float, uint, 0, UINT_MAX)
H_F2I(u64, float, ulong, 0, ULONG_MAX)

//! d2i : fp64 f2i
H_F2I(s8, double, char, CHAR_MIN, CHAR_MAX)
H_F2I(s16, double, short, SHRT_MIN, SHRT_MAX)
H_F2I(s32, double, int, INT_MIN, INT_MAX)
H_F2I(s64, double, long, LONG_MIN, LONG_MAX)
H_F2I(u8, double, uchar, 0, UCHAR_MAX)
H_F2I(u16, double, ushort, 0, USHRT_MAX)
H_F2I(u32, double, uint, 0, UINT_MAX)
H_F2I(u64, double, ulong, 0, ULONG_MAX)

//! odd : fp64
/* To f32 with round-to-odd: a second rounding to a type of at most 22 mantissa bits is then exact. */
static inline float h_f64_to_f32_odd(double x) {
  float f = (float)x;
  if (x != x || isinf(f) == (isinf(x) != 0) && (double)f == x) return f;
  if (isinf(f)) f = as_float((as_uint(f) & 0x80000000u) | 0x7f7fffffu);
  /* Step back toward zero when rounding went away from it, then make the last bit odd. */
  uint u = as_uint(f);
  if (fabs((double)f) > fabs(x)) u -= 1;
  return as_float(u | 1u);
}

//! rint
/* Conversions to narrow floats choose between values and have no branches and no calls, so that
 * compilers make vectors of them. A value in [0, 2^22] to the nearest whole number, ties to even: */
static inline uint h_rint_small(float x) { return as_uint(x + 0x1p23f) - 0x4b000000u; }

//! f16 : rint
#if defined(H_HALF_FUNCTIONS)
/* A GPU: its own conversions are one instruction each. */
#define H_LOAD_HALF(h) vload_half(0, (const __private half *)&h)
#define H_STORE_HALF(x, r) vstore_half_rte(x, 0, (__private half *)&r)
#elif defined(__F16C__) && defined(__has_builtin)
#if __has_builtin(__builtin_load_halff) && __has_builtin(__builtin_store_halff)
/* x86's own conversions, as vectors where the compiler makes vectors. */
#define H_LOAD_HALF(h) __builtin_load_halff((const __private half *)&h)
#define H_STORE_HALF(x, r) __builtin_store_halff(x, (__private half *)&r)
#endif
#endif
#ifdef H_LOAD_HALF
/* A processor's conversions make NaNs quiet, which values that are only moved about must not become: those
 * go the way of the bits, as below. */
static inline float h_dec_f16(ushort h) {
  uint m = h & 0x7fffu;
  float x = H_LOAD_HALF(h);
  return m > 0x7c00u ? as_float((uint)(h & 0x8000) << 16 | m << 13 | 0x7f800000u) : x;
}
static inline ushort h_enc_f16(float x) {
  uint u = as_uint(x), payload = (u >> 13) & 0x3ffu;
  ushort r;
  H_STORE_HALF(x, r);
  uint nan_ = (u >> 16 & 0x8000u) | 0x7c00u | (payload != 0 ? payload : 0x200u);
  return (u & 0x7fffffffu) > 0x7f800000u ? (ushort)nan_ : r;
}
#else
static inline float h_dec_f16(ushort h) {
  uint e = (h >> 10) & 31u, m = h & 0x3ffu;
  float normal = as_float(((uint)(h & 0x7fff) << 13) + 0x38000000u);
  float special = as_float(0x7f800000u | m << 13);
  float tiny = (float)m * 0x1p-24f;
  float r = e == 0 ? tiny : e == 31u ? special : normal;
  return as_float(as_uint(r) | (uint)(h & 0x8000) << 16);
}
static inline ushort h_enc_f16(float x) {
  uint u = as_uint(x), a = u & 0x7fffffffu;
  uint normal = ((a + 0xfffu + ((a >> 13) & 1u)) - 0x38000000u) >> 13;
  uint tiny = h_rint_small(as_float(a) * 0x1p24f);
  uint r = a < 0x38800000u ? tiny : normal;
  /* A NaN keeps what fits of its payload, so that values only moved about keep their bits. */
  uint payload = (a >> 13) & 0x3ffu;
  uint nan_ = 0x7c00u | (payload != 0 ? payload : 0x200u);
  uint over = a > 0x7f800000u ? nan_ : 0x7c00u;
  return (ushort)((a >= 0x47800000u ? over : r) | (u >> 16 & 0x8000u));
}
#endif
static inline float h_round_f16(float x) { return h_dec_f16(h_enc_f16(x)); }

//! bf16
static inline float h_dec_bf16(ushort h) { return as_float((uint)h << 16); }
static inline ushort h_enc_bf16(float x) {
  uint u = as_uint(x);
  uint r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  uint nan_ = u >> 16 | ((u & 0x7f0000u) != 0 ? 0u : 0x40u);
  return (ushort)(x != x ? nan_ : r);
}
static inline float h_round_bf16(float x) { return h_dec_bf16(h_enc_bf16(x)); }

//! f8 : rint
/* Formats of at most 8 bits by exponent bits E, mantissa bits M, bias B and kind K of specials:
 * 0 IEEE (Inf and NaN), 1 FN (no Inf, all ones is NaN), 2 FNUZ (no Inf, no -0, sign bit is NaN),
 * 3 finite (saturates; NaN becomes -0). */
static inline float h_dec_f8(uchar h, int E, int M, int B, int K) {
  uint m = h & ((1u << M) - 1u), e = (h >> M) & ((1u << E) - 1u), s = (h >> (E + M)) & 1u;
  float small = (float)(int)m * as_float((uint)(127 + 1 - B - M) << 23);
  float r = e == 0 ? small : as_float(((e + 127u - (uint)B) << 23) | m << (23 - M));
  if (K == 0) r = e == (1u << E) - 1u ? as_float(0x7f800000u | m << (23 - M)) : r;
  if (K == 1) r = e == (1u << E) - 1u && m == (1u << M) - 1u ? as_float(0x7fc00000u) : r;
  uint bits = as_uint(r) | s << 31;
  if (K == 2) bits = s && e == 0 && m == 0 ? 0xffc00000u : bits;
  return as_float(bits);
}
static inline uchar h_enc_f8(float x, int E, int M, int B, int K) {
  uint u = as_uint(x), a = u & 0x7fffffffu, s = (u >> 31) << (E + M);
  uint top = ((1u << E) - 1u) << M;
  uint largest = K == 0 ? top - 1u : K == 1 ? top + (1u << M) - 2u : top + (1u << M) - 1u;
  uint low = (uint)(128 - B) << 23; /* the smallest normal, 2^(1-B) */
  uint half_ = (1u << (22 - M)) - 1u + ((a >> (23 - M)) & 1u);
  uint normal = (a + half_ - ((uint)(127 - B) << 23)) >> (23 - M);
  uint tiny = h_rint_small(as_float(a) * as_float((uint)(127 + B - 1 + M) << 23));
  uint r = a < low ? tiny : normal;
  bool nan_ = a > 0x7f800000u, over = a >= 0x7f800000u || r > largest;
  if (K == 0) {
    uint payload = (a >> (23 - M)) & ((1u << M) - 1u);
    uint quiet = top | (payload != 0 ? payload : 1u << (M - 1));
    r = (nan_ ? quiet : over ? top : r) | s;
  } else if (K == 1) {
    r = (over ? top + (1u << M) - 1u : r) | s;
  } else if (K == 2) {
    r = over ? 1u << (E + M) : r == 0 ? 0 : r | s;
  } else {
    r = nan_ ? 1u << (E + M) : (over ? largest : r) | s;
  }
  return (uchar)r;
}
#define H_F8(N, E, M, B, K)                                                                        \
  static inline float h_dec_##N(uchar h) { return h_dec_f8(h, E, M, B, K); }                              \
  static inline uchar h_enc_##N(float x) { return h_enc_f8(x, E, M, B, K); }                              \
  static inline float h_round_##N(float x) { return h_dec_##N(h_enc_##N(x)); }
H_F8(f8e5m2, 5, 2, 15, 0)
H_F8(f8e4m3, 4, 3, 7, 0)
H_F8(f8e3m4, 3, 4, 3, 0)
H_F8(f8e4m3fn, 4, 3, 7, 1)
H_F8(f8e4m3b11fnuz, 4, 3, 11, 2)
H_F8(f8e4m3fnuz, 4, 3, 8, 2)
H_F8(f8e5m2fnuz, 5, 2, 16, 2)
H_F8(f4e2m1fn, 2, 1, 1, 3)

//! e8m0
/* Exponent only: 2^(h - 127), no zero, no sign; 0xff is NaN. */
static inline float h_dec_f8e8m0fnu(uchar h) {
  uint bits = h == 0 ? 0x00400000u : (uint)h << 23;
  return as_float(h == 0xff ? 0x7fc00000u : bits);
}
static inline uchar h_enc_f8e8m0fnu(float x) {
  uint u = as_uint(x), tiny = u >= 0x00600000u ? 1 : 0;
  uint normal = (u >> 23) + (u >> 22 & 1u); /* ties go up, as XLA rounds them */
  uint r = u < 0x00800000u ? tiny : normal;
  return (uchar)(u - 1u < 0x7f7fffffu ? r : 0xffu); /* 0, infinite, negative, NaN */
}
static inline float h_round_f8e8m0fnu(float x) { return h_dec_f8e8m0fnu(h_enc_f8e8m0fnu(x)); }

//! fsign
static inline float h_sign_f32(float x) { return x != x || x == 0.0f ? x : copysign(1.0f, x); }

//! dsign : fp64
static inline double h_sign_f64(double x) { return x != x || x == 0.0 ? x : copysign(1.0, x); }

//! flogistic
static inline float h_logistic_f32(float x) { return 1.0f / (1.0f + exp(-x)); }

//! dlogistic : fp64
static inline double h_logistic_f64(double x) { return 1.0 / (1.0 + exp(-x)); }

//! ftotal
/* Keys whose signed order is IEEE's total order. */
static inline int h_total_f32(float x) {
  int i = as_int(x);
  return i >= 0 ? i : (int)(0x7fffffffu - (uint)i);
}

//! dtotal : fp64
static inline long h_total_f64(double x) {
  long i = as_long(x);
  return i >= 0 ? i : (long)(0x7fffffffffffffffUL - (ulong)i);
}

//! nantotal
/* Total order of a narrow float by its bits, widened: w = width in bits. */
static inline int h_total_bits(uint bits, int w) {
  int i = (int)(bits << (32 - w)) >> (32 - w);
  return i >= 0 ? i : (int)((uint)((1 << (w - 1)) - 1) - (uint)i);
}

//! freduce_precision
/* XLA's reduce-precision on a type with se exponent and sm mantissa bits, to e and m bits. */
static inline uint h_rp_32(uint x, uint se, uint sm, uint e, uint m) {
  uint sign = x >> (se + sm), mask = (1u << sm) - 1u, top = ((1u << se) - 1u) << sm;
  uint a = x & (top | mask);
  int nan = a > top;
  uint r = a;
  if (m < sm) {
    uint drop = sm - m;
    r = r + ((1u << (drop - 1)) - 1u) + ((r >> drop) & 1u);
    r &= ~((1u << drop) - 1u);
  }
  if (e < se) {
    uint bias = (1u << (se - 1)) - 1u, small = (1u << (e - 1)) - 1u;
    uint field = r >> sm;
    if (field > bias + small) r = top;
    if (field <= bias - small) r = 0;
  }
  if (nan) return x;
  return r | sign << (se + sm);
}

//! dreduce_precision : fp64
static inline ulong h_rp_64(ulong x, uint se, uint sm, uint e, uint m) {
  ulong sign = x >> (se + sm), mask = (1UL << sm) - 1UL, top = ((1UL << se) - 1UL) << sm;
  ulong a = x & (top | mask);
  int nan = a > top;
  ulong r = a;
  if (m < sm) {
    uint drop = sm - m;
    r = r + ((1UL << (drop - 1)) - 1UL) + ((r >> drop) & 1UL);
    r &= ~((1UL << drop) - 1UL);
  }
  if (e < se) {
    ulong bias = (1UL << (se - 1)) - 1UL, small = (1UL << (e - 1)) - 1UL;
    ulong field = r >> sm;
    if (field > bias + small) r = top;
    if (field <= bias - small) r = 0;
  }
  if (nan) return x;
  return r | sign << (se + sm);
}

//! c64
#define H_COMPLEX(N, C, R)                                                                         \
  static inline C h_mul_##N(C a, C b) {                                                                   \
    return (C)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                                      \
  }                                                                                                \
  static inline C h_div_##N(C a, C b) {                                                                   \
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
        R x = copysign(isinf(a.x) ? (R)1 : (R)0, a.x), y = copysign(isinf(a.y) ? (R)1 : (R)0, a.y); \
        q = (C)((R)INFINITY * (x * b.x + y * b.y), (R)INFINITY * (y * b.x - x * b.y));             \
      } else if ((isinf(b.x) || isinf(b.y)) && isfinite(a.x) && isfinite(a.y)) {                   \
        R x = copysign(isinf(b.x) ? (R)1 : (R)0, b.x), y = copysign(isinf(b.y) ? (R)1 : (R)0, b.y); \
        q = (C)((R)0 * (a.x * x + a.y * y), (R)0 * (a.y * x - a.x * y));                           \
      }                                                                                            \
    }                                                                                              \
    return q;                                                                                      \
  }                                                                                                \
  static inline R h_abs_##N(C a) {                                                                        \
    R x = fabs(a.x), y = fabs(a.y);                                                                \
    R hi = x > y ? x : y, lo = x > y ? y : x;                                                      \
    if (isinf(x) || isinf(y)) return x != x || y != y ? (R)NAN : (R)INFINITY;                      \
    R q = lo / hi;                                                                                 \
    R r = hi * sqrt((R)1 + q * q);                                                                 \
    return x != x || y != y ? (R)NAN : hi == 0 ? (R)0 : r;                                         \
  }                                                                                                \
  static inline C h_exp_##N(C a) {                                                                        \
    R e = exp(a.x);                                                                                \
    if (a.y == 0) return (C)(e, a.y);                                                              \
    return (C)(e * cos(a.y), e * sin(a.y));                                                        \
  }                                                                                                \
  static inline C h_log_##N(C a) {                                                                        \
    /* log|z| = log(hi) + log1p((lo/hi)^2) / 2, and near |z| = 1 from (x-1)(x+1) + y^2 */          \
    R x = fabs(a.x), y = fabs(a.y);                                                                \
    R hi = x > y ? x : y, lo = x > y ? y : x, q = lo / hi;                                         \
    R l = hi > (R)0.5 && hi < (R)2 ? (R)0.5 * log1p((hi - 1) * (hi + 1) + lo * lo)                 \
                                   : log(hi) + (R)0.5 * log1p(hi == 0 ? (R)0 : q * q);             \
    if (isinf(hi)) l = (R)INFINITY;                                                                \
    if (x != x || y != y) l = isinf(x) || isinf(y) ? (R)INFINITY : (R)NAN;                         \
    return (C)(l, atan2(a.y, a.x));                                                                \
  }                                                                                                \
  static inline C h_sign_##N(C a) {                                                                       \
    R m = h_abs_##N(a);                                                                            \
    if (m == 0) return (C)(0, 0);                                                                  \
    return (C)(a.x / m, a.y / m);                                                                  \
  }                                                                                                \
  static inline C h_sqrt_##N(C a) {                                                                       \
    if (a.x == 0 && a.y == 0) return (C)(0, a.y);                                                  \
    if (isinf(a.y)) return (C)((R)INFINITY, a.y);                                                  \
    if (isinf(a.x) && a.y == a.y) {                                                                \
      return a.x > 0 ? (C)(a.x, copysign((R)0, a.y)) : (C)(0, copysign((R)INFINITY, a.y));         \
    }                                                                                              \
    R m = h_abs_##N(a), s = sqrt((R)0.5 * m + (R)0.5 * fabs(a.x));                                  \
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
  static inline C h_rsqrt_##N(C a) {                                                                      \
    if (a.x == 0 && a.y == 0) return (C)((R)INFINITY, (R)NAN);                                     \
    if (isinf(a.x)) return (C)(copysign((R)0, a.x), -copysign((R)0, a.y));                         \
    if (isinf(a.y)) return a.x != a.x ? (C)((R)NAN, (R)NAN) : (C)(0, -copysign((R)0, a.y));        \
    C s = h_sqrt_##N(a);                                                                           \
    return h_div_##N((C)(1, 0), s);                                                                \
  }                                                                                                \
  static inline C h_expm1_##N(C a) {                                                                      \
    R h = sin(a.y * (R)0.5), cosm1 = (R)0 - (R)2 * h * h; /* never -0 */                           \
    R em1 = expm1(a.x);                                                                            \
    return (C)(em1 * cos(a.y) + cosm1, a.y == 0 ? (R)0 : exp(a.x) * sin(a.y));                     \
  }                                                                                                \
  static inline C h_log1p_##N(C a) {                                                                      \
    R t = (R)1 + a.x;                                                                              \
    R x = fabs(t), y = fabs(a.y);                                                                  \
    R hi = x > y ? x : y, lo = x > y ? y : x, q = hi == 0 ? (R)0 : lo / hi;                        \
    R l = x > (R)0.5 && x < (R)2 && y < (R)1                                                       \
              ? (R)0.5 * log1p(a.x * ((R)2 + a.x) + a.y * a.y)                                     \
              : log(hi) + (R)0.5 * log1p(q * q);                                                   \
    return (C)(l, atan2(a.y, t));                                                                  \
  }                                                                                                \
  static inline C h_cos_##N(C a) { return (C)(cos(a.x) * cosh(a.y), -sin(a.x) * sinh(a.y)); }             \
  static inline C h_sin_##N(C a) { return (C)(sin(a.x) * cosh(a.y), cos(a.x) * sinh(a.y)); }              \
  /* No part is -0: they are sums. */                                                            \
  static inline C h_cosh_##N(C a) {                                                                       \
    R im = a.y == 0 ? (R)0 : sinh(a.x) * sin(a.y) + (R)0;                                          \
    return (C)(cosh(a.x) * cos(a.y) + (R)0, im);                                                   \
  }                                                                                                \
  static inline C h_sinh_##N(C a) {                                                                       \
    R im = a.y == 0 ? (R)0 : cosh(a.x) * sin(a.y) + (R)0;                                          \
    return (C)(sinh(a.x) * cos(a.y) + (R)0, im);                                                   \
  }                                                                                                \
  static inline C h_tanh_##N(C a) {                                                                       \
    /* Kahan's form: t = tan y, s = sinh x */                                                      \
    if (a.x != a.x) return (C)(a.x, a.y == 0 ? a.y : a.x);                                         \
    if (fabs(a.x) > (R)20) {                                                                       \
      R im = isfinite(a.y) ? (R)4 * sin(a.y) * cos(a.y) * exp((R)-2 * fabs(a.x)) : (R)0;           \
      return (C)(copysign((R)1, a.x), isinf(a.x) ? copysign((R)0, im) : im);                       \
    }                                                                                              \
    if (!isfinite(a.y)) return (C)(a.x == 0 ? a.x : (R)NAN, (R)NAN);                               \
    R t = tan(a.y), b = (R)1 + t * t, s = sinh(a.x), r = sqrt((R)1 + s * s);                       \
    if (isinf(t)) return (C)(r / s, (R)1 / t);                                                     \
    R d = (R)1 + b * s * s;                                                                        \
    return (C)(b * r * s / d, t / d);                                                              \
  }                                                                                                \
  static inline C h_tan_##N(C a) {                                                                        \
    C t = h_tanh_##N((C)(-a.y, a.x));                                                              \
    return (C)(t.y, -t.x);                                                                         \
  }                                                                                                \
  static inline C h_pow_##N(C a, C b) {                                                                   \
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
  static inline C h_logistic_##N(C a) {                                                                   \
    C e = h_exp_##N(-a);                                                                           \
    return h_div_##N((C)(1, 0), (C)((R)1 + e.x, e.y));                                             \
  }                                                                                                \
  static inline C h_atan2_##N(C y, C x) {                                                                 \
    C n = (C)(x.x - y.y, x.y + y.x);                                                               \
    C s = h_sqrt_##N(h_mul_##N(x, x) + h_mul_##N(y, y));                                           \
    C l = h_log_##N(h_div_##N(n, s));                                                              \
    return (C)(l.y, -l.x);                                                                         \
  }                                                                                                \
  /* Inverse functions after Hull, Fairgrieve and Tang (1997), in their simple regions; enough for  \
   * ordinary values. asin z = -i asinh(i z), acos z = pi/2 - asin z. */                           \
  static inline C h_asinh_##N(C a) {                                                                      \
    C s = h_sqrt_##N((C)((R)1 + (a.x - a.y) * (a.x + a.y), (R)2 * a.x * a.y));                     \
    C p = a.x >= 0 ? a : -a;                                                                       \
    C q = a.x >= 0 ? s : s;                                                                        \
    C t = h_div_##N(h_mul_##N(p, p), (C)((R)1 + q.x, q.y));                                        \
    C l = h_log1p_##N(p + t);                                                                      \
    return a.x >= 0 ? l : -l;                                                                      \
  }                                                                                                \
  static inline C h_asin_##N(C a) {                                                                       \
    C t = h_asinh_##N((C)(-a.y, a.x));                                                             \
    return (C)(t.y, -t.x);                                                                         \
  }                                                                                                \
  static inline C h_acos_##N(C a) {                                                                       \
    C t = h_asin_##N(a);                                                                           \
    return (C)((R)1.57079632679489661923 - t.x, -t.y);                                             \
  }                                                                                                \
  static inline C h_acosh_##N(C a) {                                                                      \
    C p = h_sqrt_##N((C)(a.x + (R)1, a.y)), m = h_sqrt_##N((C)(a.x - (R)1, a.y));                  \
    return h_log_##N(a + h_mul_##N(p, m));                                                         \
  }                                                                                                \
  static inline C h_atanh_##N(C a) {                                                                      \
    C p = h_log1p_##N(a), m = h_log1p_##N(-a);                                                     \
    return (C)((R)0.5 * (p.x - m.x), (R)0.5 * (p.y - m.y));                                        \
  }                                                                                                \
  static inline C h_atan_##N(C a) {                                                                       \
    C t = h_atanh_##N((C)(-a.y, a.x));                                                             \
    return (C)(t.y, -t.x);                                                                         \
  }
H_COMPLEX(c64, float2, float)

//! c128 : fp64 c64
H_COMPLEX(c128, double2, double)

//! threefry
/* Threefry2x32 of 20 rounds: the block of a counter, its first word lowest. */
#define H_THREEFRY(a, b, c, d)                                                                     \
  x += y, y = rotate(y, (uint)a) ^ x, x += y, y = rotate(y, (uint)b) ^ x;                          \
  x += y, y = rotate(y, (uint)c) ^ x, x += y, y = rotate(y, (uint)d) ^ x
static inline ulong h_threefry_u64(ulong key, ulong counter, int part) {
  uint k0 = (uint)key, k1 = (uint)(key >> 32), k2 = 0x1BD11BDAu ^ k0 ^ k1;
  uint x = (uint)counter + k0, y = (uint)(counter >> 32) + k1;
  H_THREEFRY(13, 15, 26, 6);
  x += k1, y += k2 + 1u;
  H_THREEFRY(17, 29, 16, 24);
  x += k2, y += k0 + 2u;
  H_THREEFRY(13, 15, 26, 6);
  x += k0, y += k1 + 3u;
  H_THREEFRY(17, 29, 16, 24);
  x += k1, y += k2 + 4u;
  H_THREEFRY(13, 15, 26, 6);
  x += k2, y += k0 + 5u;
  return (ulong)y << 32 | x;
}
static inline uint h_threefry_u32(ulong key, ulong counter, int part) {
  ulong block = h_threefry_u64(key, counter, 0);
  return (uint)(part ? block >> 32 : block);
}

//! philox
/* Philox4x32 of 10 rounds: words a b c d of the block of the counter high:low + number. Plain variables and
 * no loop, so that compilers compute neighbours side by side. */
#define H_PHILOX                                                                                   \
  p = (ulong)a * 0xD2511F53u, q = (ulong)c * 0xCD9E8D57u;                                          \
  a = (uint)(q >> 32) ^ b ^ k, b = (uint)q, c = (uint)(p >> 32) ^ d ^ l, d = (uint)p;              \
  k += 0x9E3779B9u, l += 0xBB67AE85u
#define H_PHILOX_BLOCK                                                                             \
  uint k = (uint)key, l = (uint)(key >> 32);                                                       \
  low += number;                                                                                   \
  high += low < number;                                                                            \
  uint a = (uint)low, b = (uint)(low >> 32), c = (uint)high, d = (uint)(high >> 32);               \
  ulong p, q;                                                                                      \
  H_PHILOX; H_PHILOX; H_PHILOX; H_PHILOX; H_PHILOX;                                                \
  H_PHILOX; H_PHILOX; H_PHILOX; H_PHILOX; H_PHILOX
static inline uint h_philox_u32(ulong key, ulong low, ulong high, ulong number, int part) {
  H_PHILOX_BLOCK;
  uint first = part & 1 ? b : a, second = part & 1 ? d : c;
  return part & 2 ? second : first;
}
static inline ulong h_philox_u64(ulong key, ulong low, ulong high, ulong number, int part) {
  H_PHILOX_BLOCK;
  return part ? (ulong)d << 32 | c : (ulong)b << 32 | a;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cl_kernels/scalar.cl: the meaning of scalar operations that OpenCL C has no operator or builtin for, but for
 * elementary functions (math_*.cl) and complex numbers (complex.cl).
 *
 * Each of these files is cut at lines that begin with "//!" into sections; a generated program gets only the
 * sections it uses: "//! name" or "//! name : needed sections". Where a section has lines for several types,
 * "H_SDIV(s32, int, uint)", each is a section of its own: "idiv.s32". A file also compiles as it stands, if it needs no other file. Names:
 * h_<op>_<type> where <type> is XLA's name. Narrow floats are float values that their type can hold. */

//! all
/* What numbers of 64 bits are held against each other by, in place of themselves: where the program's options say so,
 * without signs (opencl/program.c). */
#ifdef H_ORDER_UNSIGNED
#define h_order_s64(x) ((ulong)(x) ^ 0x8000000000000000UL)
#else
#define h_order_s64(x) (x)
#endif
/* Whether a place lies before `n`, or in 0..n-1 (U: its type without a sign), where that decides what is read. LLVM 18 learns from an ordinary
 * comparison which bits of the place are 0, writes a sum with it as an or, and takes the address of a vector's loads from
 * a neighbour for which the comparison fails: there the or is no sum, and all neighbours read elsewhere. From a sign of
 * such an expression it learns nothing. */
#if defined(__clang__) && __clang_major__ == 18
#define h_below(x, n) ((((x) - (n)) & ((x) - (n) - 1)) < 0)
#define h_inside(U, x, n) ((~(x) & ((x) - (n)) & ((x) - (n) - 1)) < 0)
#else
#define h_below(x, n) ((x) < (n))
#define h_inside(U, x, n) ((U)(x) < (n))
#endif

/* 0, which loops of generated programs add to their counters. LLVM 15 continues a loop of long vectors with one of shorter
 * vectors, and where a place is computed from the truncated counter, it starts that at 0 again in the second loop: for bytes
 * and 16-bit elements on processors without fast gathers (before AVX-512). It does not know that an address's highest bit
 * is 0, and makes no counter of a truncated sum with it. */
#if defined(__clang__) && __clang_major__ < 16 && defined(__x86_64__) && !defined(__AVX512F__)
#define h_zero(p) ((size_t)(p) >> 63)
#else
#define h_zero(p) 0
#endif

//! called
/* Elementary functions of so few elements that no vectors are made are called: put in place, they would take compilers
 * longer for nothing. */
#define H_INLINE inline

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

//! neighbours
/* Before a loop over neighbours: makes vectors of 16 of them, N side by side, which compilers for processors that have
 * registers as wide do not by themselves (LLVM takes half of that), since on early ones the clock became slower by it.
 * H_LINE_LOOP(W) stands before a loop over W elements that are one such register; without `predicate` LLVM leaves the
 * last round to a loop without vectors where reads leave gaps, which for these is all of them. H_INDEPENDENT(W) stands before one over
 * neighbours that do not depend on one another, W of which are one such register and whose number need not be a multiple
 * of that: the last of them are done in a vector too, of which the rest is left out. H_SIDE_BY_SIDE(W) is the same for
 * several stores a neighbour, which lie side by side: written whole, they make no stores with holes. */
#if defined(__clang__) && defined(__AVX512F__)
#define H_PRAGMA(text) _Pragma(#text)
#define H_NEIGHBOURS(N) H_PRAGMA(clang loop vectorize_width(16) interleave_count(N))
#define H_LINE_LOOP(W)                                                                             \
  H_PRAGMA(clang loop vectorize_width(W) interleave_count(1) vectorize_predicate(enable))
#define H_INDEPENDENT(W)                                                                           \
  H_PRAGMA(clang loop vectorize(assume_safety) vectorize_width(W) interleave_count(1)              \
               vectorize_predicate(enable))
#define H_SIDE_BY_SIDE(W)                                                                          \
  H_PRAGMA(clang loop vectorize(assume_safety) vectorize_width(W) interleave_count(1))
#else
#define H_NEIGHBOURS(N)
#define H_LINE_LOOP(W)
#define H_INDEPENDENT(W)
#define H_SIDE_BY_SIDE(W)
#endif

//! rolled
/* Before a loop: its body is there once (H_ROLLED), or once as vectors, of which none are side by side (H_SINGLE). Where
 * copies gain little, they still are what compilers spend their time on. */
#if defined(__clang__)
#define H_ROLLED _Pragma("clang loop vectorize(disable) unroll(disable)")
#define H_SINGLE _Pragma("clang loop interleave_count(1) unroll(disable)")
#else
#define H_ROLLED
#define H_SINGLE
#endif

//! turned
/* Turns 16 rows of 16 words over: of two rows words change places, then twos, fours and eights. Ones and twos stay within
 * their four words, fours within eight, so that a shuffle of two rows is an instruction for each register, however long
 * those are; compilers take long to find that for shuffles that reach further. */
#define H_LOW_ONES(a, b)                                                                           \
  (uint16)((a).s0, (b).s0, (a).s1, (b).s1, (a).s4, (b).s4, (a).s5, (b).s5, (a).s8, (b).s8, (a).s9, \
           (b).s9, (a).sc, (b).sc, (a).sd, (b).sd)
#define H_HIGH_ONES(a, b)                                                                          \
  (uint16)((a).s2, (b).s2, (a).s3, (b).s3, (a).s6, (b).s6, (a).s7, (b).s7, (a).sa, (b).sa, (a).sb, \
           (b).sb, (a).se, (b).se, (a).sf, (b).sf)
#define H_LOW_TWOS(a, b)                                                                           \
  (uint16)((a).s0, (a).s1, (b).s0, (b).s1, (a).s4, (a).s5, (b).s4, (b).s5, (a).s8, (a).s9, (b).s8, \
           (b).s9, (a).sc, (a).sd, (b).sc, (b).sd)
#define H_HIGH_TWOS(a, b)                                                                          \
  (uint16)((a).s2, (a).s3, (b).s2, (b).s3, (a).s6, (a).s7, (b).s6, (b).s7, (a).sa, (a).sb, (b).sa, \
           (b).sb, (a).se, (a).sf, (b).se, (b).sf)
#define H_EVEN_FOURS(a, b)                                                                         \
  (uint16)((a).s0, (a).s1, (a).s2, (a).s3, (b).s0, (b).s1, (b).s2, (b).s3, (a).s8, (a).s9, (a).sa, \
           (a).sb, (b).s8, (b).s9, (b).sa, (b).sb)
#define H_ODD_FOURS(a, b)                                                                          \
  (uint16)((a).s4, (a).s5, (a).s6, (a).s7, (b).s4, (b).s5, (b).s6, (b).s7, (a).sc, (a).sd, (a).se, \
           (a).sf, (b).sc, (b).sd, (b).se, (b).sf)
#define H_LOW_EIGHTS(a, b)                                                                         \
  (uint16)((a).s0, (a).s1, (a).s2, (a).s3, (a).s4, (a).s5, (a).s6, (a).s7, (b).s0, (b).s1, (b).s2, \
           (b).s3, (b).s4, (b).s5, (b).s6, (b).s7)
#define H_HIGH_EIGHTS(a, b)                                                                        \
  (uint16)((a).s8, (a).s9, (a).sa, (a).sb, (a).sc, (a).sd, (a).se, (a).sf, (b).s8, (b).s9, (b).sa, \
           (b).sb, (b).sc, (b).sd, (b).se, (b).sf)
static inline void h_turn_rows(uint16 *x) {
  uint16 y[16];
#pragma unroll
  for (int i = 0; i < 16; i += 2) {
    y[i] = H_LOW_ONES(x[i], x[i + 1]);
    y[i + 1] = H_HIGH_ONES(x[i], x[i + 1]);
  }
  /* Then row i + k has column k of rows i to i + 3 in its first four words, column 4 + k in the next. */
#pragma unroll
  for (int i = 0; i < 16; i += 4) {
    x[i] = H_LOW_TWOS(y[i], y[i + 2]);
    x[i + 1] = H_HIGH_TWOS(y[i], y[i + 2]);
    x[i + 2] = H_LOW_TWOS(y[i + 1], y[i + 3]);
    x[i + 3] = H_HIGH_TWOS(y[i + 1], y[i + 3]);
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int i = k + (k & 4);
    y[i] = H_EVEN_FOURS(x[i], x[i + 4]);
    y[i + 4] = H_ODD_FOURS(x[i], x[i + 4]);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    x[i] = H_LOW_EIGHTS(y[i], y[i + 8]);
    x[i + 8] = H_HIGH_EIGHTS(y[i], y[i + 8]);
  }
}

//! fetch
/* Asks for what lies at p, which need not exist, where the compiler makes a processor's instructions. What makes SPIR or
 * SPIR-V has nothing for it: Oclgrind cannot run it, and Mesa's translator ends the process. */
#if defined(__has_builtin) && (defined(__x86_64__) || defined(__aarch64__))
#if __has_builtin(__builtin_prefetch)
#define h_fetch(p) __builtin_prefetch(p)
#endif
#endif
#ifndef h_fetch
#define h_fetch(p) ((void)0)
#endif

//! pairs
/* The lanes of x and y are pairs of s16, the first in the lower half: c plus the products of both, which wrap. x86 has
 * an instruction for it that compilers do not find when x is one pair in all lanes. */
static inline int h_pair(int first, int second) {
  return (int)(((uint)second << 16) | ((uint)first & 0xffff));
}
#define H_PAIRS(N)                                                                                 \
  static inline int##N h_pairs_##N(int##N x, int##N y, int##N c) {                                  \
    int##N first = ((x << 16) >> 16) * ((y << 16) >> 16), second = (x >> 16) * (y >> 16);          \
    return as_int##N(as_uint##N(first) + as_uint##N(second) + as_uint##N(c));                      \
  }
#define H_PAIRS_X86(N, M, BITS)                                                                    \
  typedef short h_halves_##N __attribute__((ext_vector_type(M)));                                  \
  static inline int##N h_pairs_##N(int##N x, int##N y, int##N c) {                                 \
    h_halves_##N a = __builtin_astype(x, h_halves_##N), b = __builtin_astype(y, h_halves_##N);     \
    return as_int##N(__builtin_astype(__builtin_ia32_pmaddwd##BITS(a, b), uint##N) + as_uint##N(c)); \
  }
#if __SSE2__
H_PAIRS_X86(4, 8, 128)
#else
H_PAIRS(4)
#endif
#if __AVX2__
H_PAIRS_X86(8, 16, 256)
#else
H_PAIRS(8)
#endif
#if __AVX512BW__
H_PAIRS_X86(16, 32, 512)
#else
H_PAIRS(16)
#endif

//! fours
/* The lanes of x are four bytes without signs, those of y four with signs, the first the lowest: c plus the sum of the four
 * products, which wraps. AVX512-VNNI; the compiler knows a processor by a name that leaves it out. */
static inline int h_four(int a, int b, int c, int d) {
  return (int)(((uint)a & 0xff) | ((uint)b & 0xff) << 8 | ((uint)c & 0xff) << 16 | (uint)d << 24);
}
#define H_FOURS_TARGET __attribute__((target("avx512f,avx512vnni")))
#if __clang_major__ >= 22
typedef uchar h_fours_x __attribute__((vector_size(64)));
typedef char h_fours_y __attribute__((vector_size(64)));
#define H_FOURS(x, type) __builtin_astype(x, type)
#else
#define H_FOURS(x, type) (x)
#endif
#define H_FOURS_16(x, y, c) \
  as_int16(__builtin_ia32_vpdpbusd512(c, H_FOURS(x, h_fours_x), H_FOURS(y, h_fours_y)))

//! pairs_bf16
/* The lanes of x and y are pairs of bf16, the first in the lower half: c plus the products of both, rounded twice; subnormals
 * are zero. AVX512-BF16; the compiler knows a processor by a name that leaves it out. */
static inline float h_pair_bf16(float first, float second) {
  return as_float((as_uint(second) & 0xffff0000u) | as_uint(first) >> 16);
}
#define H_PAIRS_BF16_TARGET __attribute__((target("avx512f,avx512bf16")))
#if __clang_major__ >= 16
typedef __bf16 h_bf16s __attribute__((vector_size(64)));
#define H_BF16S(x) __builtin_astype(x, h_bf16s)
#else
#define H_BF16S(x) as_int16(x)
#endif
#define H_PAIRS_BF16_16(x, y, c) __builtin_ia32_dpbf16ps_512(c, H_BF16S(x), H_BF16S(y))

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
/* Truncating division that never traps: x / 0 = all ones, MIN / -1 = MIN; x % 0 = x, MIN % -1 = 0. Signed numbers go
 * by way of their magnitudes: LLVM 15 takes ten times as long over signed ones, element by element. A divisor
 * of 0 becomes 1 by addition: LLVM 15 crashes over a choice there, as vectors of bytes. Processors that divide
 * vectors of floats only do so (H_QUOTIENT): of numbers that a float has exactly, a quotient is less than a whole number
 * by more than rounding could hide. */
#if defined(__AVX512F__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define H_QUOTIENT(x, y) (sizeof(x) < 4 ? (uint)((float)(x) / (float)(y)) : sizeof(x) == 4 ? (uint)((double)(x) / (double)(y)) : (x) / (y))
#else
#define H_QUOTIENT(x, y) ((x) / (y))
#endif
#define H_SDIV(N, T, U)                                                                            \
  static inline T h_div_##N(T a, T b) {                                                            \
    U x = (U)(a < 0 ? (U)0 - (U)a : (U)a), y = (U)(b < 0 ? (U)0 - (U)b : (U)b);                    \
    U one = (U)(y + (y == 0)), q = (U)H_QUOTIENT(x, one);                                          \
    q = (U)((a < 0) != (b < 0) ? (U)0 - q : q);                                                    \
    return b == 0 ? (T)-1 : (T)q;                                                                  \
  }                                                                                                \
  static inline T h_rem_##N(T a, T b) {                                                            \
    U x = (U)(a < 0 ? (U)0 - (U)a : (U)a), y = (U)(b < 0 ? (U)0 - (U)b : (U)b);                    \
    U one = (U)(y + (y == 0)), r = (U)(x - (U)((U)H_QUOTIENT(x, one) * one));                      \
    r = (U)(a < 0 ? (U)0 - r : r);                                                                 \
    return b == 0 ? a : (T)r;                                                                      \
  }
#define H_UDIV(N, T)                                                                               \
  static inline T h_div_##N(T a, T b) {                                                            \
    T one = (T)(b + (b == 0)), q = (T)H_QUOTIENT(a, one);                                          \
    return b == 0 ? (T)~(T)0 : q;                                                                  \
  }                                                                                                \
  static inline T h_rem_##N(T a, T b) {                                                            \
    T one = (T)(b + (b == 0)), q = (T)H_QUOTIENT(a, one);                                          \
    return b == 0 ? a : (T)(a - (T)(q * one));                                                     \
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
/* Powers modulo 2^16, 2^32 or 2^64; a negative exponent gives 1 for base 1, +-1 for base -1, else 0.
 * The exponent's lowest bits by squaring, some and no others, so that compilers make vectors of neighbours. With the rest, n,
 * powers of even bases are 0; odd ones are 1 + x by then, x a multiple of 2^(bits + 2), and of the binomial series
 * of (1 + x)^n three terms are left: 1 + x (n + x n (n - 1) / 2 (1 + x (n - 2) / 3)), and 1/3 is a whole number here.
 * Whether it is negative is asked in its own width, since Mesa takes a widened int for positive, and last, since
 * LLVM 15 crashes over a choice of exponents. A chain of comparisons of the base would become a switch. */
#define H_POW_BIT(U, I)                                                                            \
  power = n & (U)1 << (I) ? (U)(power * square) : power, square = (U)(square * square)
#define H_POW_BITS_6(U)                                                                            \
  H_POW_BIT(U, 0), H_POW_BIT(U, 1), H_POW_BIT(U, 2), H_POW_BIT(U, 3), H_POW_BIT(U, 4),             \
      H_POW_BIT(U, 5), n = (U)(n >> 6)
#define H_POW_BITS_14(U)                                                                           \
  H_POW_BITS_6(U), H_POW_BIT(U, 0), H_POW_BIT(U, 1), H_POW_BIT(U, 2), H_POW_BIT(U, 3),             \
      H_POW_BIT(U, 4), H_POW_BIT(U, 5), H_POW_BIT(U, 6), H_POW_BIT(U, 7), n = (U)(n >> 8)
#define H_POW(N, T, U, BITS, THIRD)                                                                \
  static inline T h_pow_##N(T a, T b) {                                                            \
    U square = (U)a, n = (U)b, power = 1;                                                          \
    H_POW_BITS_##BITS(U);                                                                          \
    U x = (U)(square - 1), pairs = (U)((n >> 1) * (U)(n - 1 + (n & 1)));                           \
    U rest = (U)(1 + x * (U)(n + x * pairs * (U)(1 + x * (U)((U)(n - 2) * THIRD))));               \
    power = (U)(power * (a & 1 ? rest : n == 0 ? (U)1 : (U)0));                                    \
    bool unit = (((U)a + 1) & ~(U)2) == 0;                                                         \
    T inverse = unit ? (b & 1 ? a : (T)1) : (T)0;                                                  \
    return b < 0 ? inverse : (T)power;                                                             \
  }
H_POW(s32, int, uint, 6, 0xaaaaaaabu)
H_POW(u32, uint, uint, 6, 0xaaaaaaabu)
H_POW(s64, long, ulong, 14, 0xaaaaaaaaaaaaaaabUL)
H_POW(u64, ulong, ulong, 14, 0xaaaaaaaaaaaaaaabUL)

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
/* IEEE maximum and minimum: NaN if either is NaN, +0 above -0. Where b is NaN, comparing gives b. The value for equal
 * operands is computed before the choice: LLVM 21 keeps a branch around it otherwise, and does not vectorise the loop. */
static inline float h_max_f32(float a, float b) {
  const float same = as_float(as_int(a) & as_int(b));
  float r = a > b ? a : b;
  r = a == b ? same : r;
  return a != a ? a : r;
}
static inline float h_min_f32(float a, float b) {
  const float same = as_float(as_int(a) | as_int(b));
  float r = a < b ? a : b;
  r = a == b ? same : r;
  return a != a ? a : r;
}

//! dminmax : fp64
static inline double h_max_f64(double a, double b) {
  const double same = as_double(as_long(a) & as_long(b));
  double r = a > b ? a : b;
  r = a == b ? same : r;
  return a != a ? a : r;
}
static inline double h_min_f64(double a, double b) {
  const double same = as_double(as_long(a) | as_long(b));
  double r = a < b ? a : b;
  r = a == b ? same : r;
  return a != a ? a : r;
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
/* To f32 so that a second rounding, to a type of at most 22 mantissa bits, is that of the value itself: what f32 has no bits for
 * makes its last one odd. Finite values beyond f32 become infinite, and those below its normal numbers are rounded once more. */
static inline float h_f64_to_f32_odd(double x) {
  ulong u = as_ulong(x), rest = u & 0x1fffffffUL;
  return (float)as_double((u | (rest + 0x1fffffffUL)) & ~0x1fffffffUL);
}

//! rint
/* Conversions to narrow floats choose between values and have no branches and no calls, so that
 * compilers make vectors of them. A value in [0, 2^22] to the nearest whole number, ties to even: */
static inline uint h_rint_small(float x) { return as_uint(x + 0x1p23f) - 0x4b000000u; }

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

//! e8m0d : e8m0 fp64
/* Of its exponent at once: f32 may count 2^-127 as zero. */
static inline float h_f64_to_f8e8m0fnu(double x) {
  ulong u = as_ulong(x);
  uint r = (uint)(u >> 52) + (uint)(u >> 51 & 1u) - (1023u - 127u);
  return h_dec_f8e8m0fnu((uchar)(r < 0xffu ? r : 0xffu)); /* 0, infinite, negative, NaN */
}

//! fsign
static inline float h_sign_f32(float x) { return x != x || x == 0.0f ? x : copysign(1.0f, x); }

//! dsign : fp64
static inline double h_sign_f64(double x) { return x != x || x == 0.0 ? x : copysign(1.0, x); }

//! frem
/* The remainder of truncating division. Where doubles can be multiplied and added in one, it is exact: the magnitudes'
 * quotient q, rounded to a whole number, is too large or too small by at most 2^-52 of it, and the rest of that, a
 * multiple of the divisor's last bit, fits a double. So it is less by 2^50 after each step; floats have quotients up to
 * 2^277, those of f16 up to 2^40. */
#if defined(__FMA__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define H_REM_STEP r = fma(-rint(r * inverse), d, r)
#define H_REM(N, STEPS)                                                                            \
  static inline float h_rem_##N(float x, float y) {                                                \
    double r = (double)fabs(x), a = (double)fabs(y), d = a > 0x1p200 ? 0x1p200 : a;                \
    double inverse = 1.0 / d;                                                                      \
    STEPS;                                                                                         \
    r = r < 0.0 ? r + d : r;                                                                       \
    return as_float(as_uint((float)r) | (as_uint(x) & 0x80000000u));                               \
  }
H_REM(f16, H_REM_STEP)
H_REM(f32, H_REM_STEP; H_REM_STEP; H_REM_STEP; H_REM_STEP; H_REM_STEP; H_REM_STEP)
#else
#define h_rem_f16 fmod
#define h_rem_f32 fmod
#endif

//! fround_afz
/* To the nearest whole number, ties away from zero. */
static inline float h_round_afz_f32(float x) {
  float t = trunc(x);
  return fabs(x - t) >= 0.5f ? t + copysign(1.0f, x) : t;
}

//! dround_afz : fp64
static inline double h_round_afz_f64(double x) {
  double t = trunc(x);
  return fabs(x - t) >= 0.5 ? t + copysign(1.0, x) : t;
}

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

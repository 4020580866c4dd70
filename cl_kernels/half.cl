/* SPDX-License-Identifier: Apache-2.0 */
/* cl_kernels/half.cl: f16 as it lies in memory, in sections like those of scalar.cl, which comes before it. */

//! f16 : rint
#if defined(H_HALF_FUNCTIONS)
/* A GPU: its own conversions are one instruction each. Without a rounding mode they round to nearest, as a probe has checked
 * (lib/opencl/probe.c); libclc, which several drivers use, does other modes in many steps. */
#define H_LOAD_HALF(h) vload_half(0, (const __private half *)&h)
#define H_STORE_HALF(x, r) vstore_half(x, 0, (__private half *)&r)
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
/* An operand of sums and products, which make NaNs quiet in any case. LLVM computes these in f16 then, as vectors from
 * version 15 on on x86, rounding each; what else it finds to do in f16 it does one by one. Compilers for GPUs do likewise. */
#if defined(H_HALF_FUNCTIONS) || \
    (defined(__F16C__) && defined(__clang_major__) && __clang_major__ >= 15)
static inline float h_dec_quiet_f16(ushort h) { return H_LOAD_HALF(h); }
#else
#define h_dec_quiet_f16 h_dec_f16
#endif
static inline ushort h_enc_f16(float x) {
  uint u = as_uint(x), payload = (u >> 13) & 0x3ffu;
  ushort r;
  H_STORE_HALF(x, r);
  uint nan_ = (u >> 16 & 0x8000u) | 0x7c00u | (payload != 0 ? payload : 0x200u);
  return (u & 0x7fffffffu) > 0x7f800000u ? (ushort)nan_ : r;
}
/* What arithmetic gave, or a whole number, has no NaN but quiet ones, which stay what they are. */
static inline ushort h_enc_quiet_f16(float x) {
  ushort r;
  H_STORE_HALF(x, r);
  return r;
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
#define h_dec_quiet_f16 h_dec_f16
#define h_enc_quiet_f16 h_enc_f16
#endif
static inline float h_round_f16(float x) { return h_dec_f16(h_enc_f16(x)); }
static inline float h_round_quiet_f16(float x) { return h_dec_quiet_f16(h_enc_quiet_f16(x)); }
/* Signs, comparisons (of places, where both are ordered), and minima and maxima as fminmax has them: whole numbers that
 * are ordered alike decide. */
static inline ushort h_sign_f16(ushort h) {
  ushort m = h & 0x7fff;
  return m == 0 || m > 0x7c00 ? h : (ushort)((h & 0x8000) | 0x3c00);
}
static inline short h_place_f16(ushort h) {
  short s = (short)h >> 15;
  return (short)(((h & 0x7fff) ^ s) - s);
}
static inline bool h_ordered_f16(ushort a, ushort b) {
  return ((a & 0x7fff) <= 0x7c00) & ((b & 0x7fff) <= 0x7c00);
}
static inline short h_order_f16(ushort h) { return (short)(h ^ ((short)h >> 15 & 0x7fff)); }
static inline ushort h_nan_or_f16(ushort a, ushort b, ushort r) {
  r = (b & 0x7fff) > 0x7c00 ? b : r;
  return (a & 0x7fff) > 0x7c00 ? a : r;
}
static inline ushort h_max_f16(ushort a, ushort b) {
  return h_nan_or_f16(a, b, h_order_f16(a) < h_order_f16(b) ? b : a);
}
static inline ushort h_min_f16(ushort a, ushort b) {
  return h_nan_or_f16(a, b, h_order_f16(b) < h_order_f16(a) ? b : a);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/half.c: conversions between half and float that compiled code calls where the processor has no instructions for them. They
 * have the names that compilers give them, and pass a half in the low bits of the register of a float. */
#include "cpu/compile.h"

#include <string.h>

static uint32_t half_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float half_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

float cpu_half_extend(float half) {
  uint32_t bits = half_bits(half) & 0xffff, sign = (bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31) { /* infinity; NaN becomes quiet */
    return half_float(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000u : 0));
  }
  if (exponent) return half_float(sign | (exponent + 112) << 23 | fraction << 13);
  if (!fraction) return half_float(sign);
  int shift = __builtin_clz(fraction) - 21; /* subnormal: the first bit becomes the hidden one */
  return half_float(sign | (uint32_t)(113 - shift) << 23 | (fraction << shift & 0x3ff) << 13);
}

float cpu_half_truncate(float x) {
  uint32_t bits = half_bits(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return half_float(sign | 0x7e00 | (size >> 13 & 0x3ff));
  if (size >= 0x477ff000) return half_float(sign | 0x7c00); /* rounds to infinity */
  if (size >= 0x38800000) { /* ties to even: a half less the bit that decides, and that bit */
    return half_float(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
  }
  if (size < 0x33000000) return half_float(sign); /* half of the least one and less: zero */
  uint32_t fraction = (size & 0x7fffff) | 0x800000, drop = 126 - (size >> 23);
  uint32_t kept = fraction >> drop, rest = fraction & ((1u << drop) - 1), tie = 1u << (drop - 1);
  kept += rest > tie || (rest == tie && (kept & 1));
  return half_float(sign | kept);
}

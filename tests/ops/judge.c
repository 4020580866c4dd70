/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c: how far a result is from what is expected. */
#include "harness.h"

#include "shape/floats.h"
#include "shape/types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Element `i` of an array of `size`-byte elements as bits. */
static uint64_t judge_bits(const void *data, int64_t i, size_t size) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + (size_t)i * size, size);
  return bits;
}

/* Where a float lies among those of its type, as a number that grows by one from each to the next;
 * both zeros are in the middle. */
static uint64_t judge_rank(halo_type type, uint64_t bits) {
  const uint64_t middle = UINT64_C(1) << 63;
  if (type == HALO_F8E8M0FNU) {
    return middle + bits; /* has no sign */
  }
  int sign_at = halo_type_bits(type) - 1;
  uint64_t magnitude = bits & ((UINT64_C(1) << sign_at) - 1);
  return bits >> sign_at & 1 ? middle - magnitude : middle + magnitude;
}

static bool judge_is_denormal(halo_type type, double value) {
  double least = type == HALO_F64 ? 0x1p-1022 : 0x1p-126;
  return (type == HALO_F32 || type == HALO_F64 || type == HALO_BF16) && fabs(value) < least;
}

/* ULP between two real floats; UINT64_MAX when they do not compare at all. */
static uint64_t judge_float(halo_type type, uint64_t got, uint64_t expected, uint64_t ulp) {
  double a = halo_float_decode(type, got), b = halo_float_decode(type, expected);
  if (isnan(a) || isnan(b)) {
    return isnan(a) && isnan(b) ? 0 : UINT64_MAX;
  }
  if (a == 0 && b == 0) {
    return ulp == 0 && got != expected ? 1 : 0;
  }
  if (ulp > 0 && b == 0 && judge_is_denormal(type, a)) {
    return 0;
  }
  uint64_t x = judge_rank(type, got), y = judge_rank(type, expected);
  return x > y ? x - y : y - x;
}

/* ULP of the larger expected part between two complex numbers with finite parts. */
static uint64_t judge_complex(halo_type part, const uint64_t got[2], const uint64_t expected[2]) {
  double a = halo_float_decode(part, got[0]) - halo_float_decode(part, expected[0]);
  double b = halo_float_decode(part, got[1]) - halo_float_decode(part, expected[1]);
  double larger =
      fmax(fabs(halo_float_decode(part, expected[0])), fabs(halo_float_decode(part, expected[1])));
  int mantissa = part == HALO_F64 ? 52 : 23, least = part == HALO_F64 ? -1022 : -126;
  int exponent = larger == 0 ? least : ilogb(larger);
  double spacing = ldexp(1, (exponent < least ? least : exponent) - mantissa);
  double distance = hypot(a, b) / spacing;
  return distance < 1e18 ? (uint64_t)llrint(distance) : UINT64_MAX;
}

static bool judge_is_finite(halo_type type, const uint64_t bits[2]) {
  return isfinite(halo_float_decode(type, bits[0])) && isfinite(halo_float_decode(type, bits[1]));
}

static uint64_t judge_element(halo_type type, const void *got, const void *expected, int64_t i,
                              uint64_t ulp) {
  halo_type part = halo_type_real_part(type);
  size_t size = halo_type_size(part);
  if (part != type) {
    uint64_t a[2], b[2];
    for (int k = 0; k < 2; k++) {
      a[k] = judge_bits(got, 2 * i + k, size);
      b[k] = judge_bits(expected, 2 * i + k, size);
    }
    if (ulp > 0 && judge_is_finite(part, a) && judge_is_finite(part, b)) {
      return judge_complex(part, a, b);
    }
    uint64_t re = judge_float(part, a[0], b[0], ulp), im = judge_float(part, a[1], b[1], ulp);
    return re > im ? re : im;
  }
  uint64_t a = judge_bits(got, i, size), b = judge_bits(expected, i, size);
  if (halo_type_is_float(type)) {
    return judge_float(type, a, b, ulp);
  }
  return a == b ? 0 : a > b ? a - b : b - a;
}

ops_verdict ops_judge(const halo_literal *got, const halo_literal *expected, uint64_t ulp) {
  const halo_shape *shape = halo_literal_shape(expected);
  const void *a = halo_literal_data((halo_literal *)got);
  const void *b = halo_literal_data((halo_literal *)expected);
  ops_verdict verdict = {0};
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    uint64_t distance = judge_element(halo_shape_type(shape), a, b, i, ulp);
    if (distance > ulp && verdict.wrong++ == 0) {
      verdict.first = i;
    }
    if (distance > verdict.worst) {
      verdict.worst = distance;
    }
  }
  return verdict;
}

void ops_element_text(const halo_literal *literal, int64_t i, char *text, size_t size) {
  halo_type type = halo_shape_type(halo_literal_shape(literal)), part = halo_type_real_part(type);
  const void *data = halo_literal_data((halo_literal *)literal);
  size_t bytes = halo_type_size(part);
  if (part != type) {
    snprintf(text, size, "(%.17g, %.17g)", halo_float_decode(part, judge_bits(data, 2 * i, bytes)),
             halo_float_decode(part, judge_bits(data, 2 * i + 1, bytes)));
  } else if (halo_type_is_float(type)) {
    uint64_t bits = judge_bits(data, i, bytes);
    snprintf(text, size, "%.17g [0x%0*llx]", halo_float_decode(type, bits), (int)(2 * bytes),
             (unsigned long long)bits);
  } else if (type == HALO_U64) {
    snprintf(text, size, "%llu", (unsigned long long)judge_bits(data, i, bytes));
  } else {
    snprintf(text, size, "%lld", (long long)halo_literal_get_i64(literal, i));
  }
}

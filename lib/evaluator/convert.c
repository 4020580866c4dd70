/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/convert.c: element type conversion, reduce-precision and the total order of floats. */
#include "evaluator/scalar.h"

#include <math.h>

static uint64_t convert_float_to_integer(halo_type to, double value) {
  int bits = halo_type_bits(to);
  if (isnan(value)) return 0;
  value = trunc(value);
  if (halo_type_is_uint(to)) {
    uint64_t most = UINT64_MAX >> (64 - bits);
    if (value <= 0) return 0;
    return value >= (double)most ? most : (uint64_t)value;
  }
  int64_t most = INT64_MAX >> (64 - bits);
  if (value >= (double)most) return (uint64_t)most;
  if (value <= -(double)most - 1) return (uint64_t)(-most - 1);
  return (uint64_t)(int64_t)value;
}

/* One rounding from the exact integer for f16, f32 and f64; bf16 goes through f32 as in XLA. All
 * integers that f16 and narrower types can hold are exact in double. */
static uint64_t convert_integer_to_float(halo_type from, halo_type to, uint64_t value) {
  bool is_signed = halo_type_is_sint(from);
  if (to == HALO_F32 || to == HALO_BF16) {
    return eval_encode(to, (double)(is_signed ? (float)(int64_t)value : (float)value));
  }
  return eval_encode(to, is_signed ? (double)(int64_t)value : (double)value);
}

static uint64_t convert_float_to_float(halo_type from, halo_type to, uint64_t bits) {
  if (from == to) return bits;
  double value = eval_decode(from, bits);
  if (to == HALO_BF16) value = (double)(float)value; /* f64 goes through f32, as in XLA */
  return eval_encode(to, value);
}

eval_scalar eval_convert(halo_type from, halo_type to, eval_scalar value) {
  if (from == to) return value;
  bool is_float = halo_type_is_float(from) || halo_type_is_complex(from);
  halo_type part = halo_type_real_part(from), to_part = halo_type_real_part(to);
  switch (halo_type_class_of(to)) {
    case HALO_CLASS_PRED:
      return (eval_scalar){is_float ? eval_decode(part, value.re) != 0 : value.re != 0, 0};
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT:
      return (eval_scalar){is_float ? convert_float_to_integer(to, eval_decode(part, value.re))
                                    : eval_wrap(to, value.re),
                           0};
    case HALO_CLASS_FLOAT:
    case HALO_CLASS_COMPLEX: {
      eval_scalar result = {0, 0};
      result.re = is_float ? convert_float_to_float(part, to_part, value.re)
                           : convert_integer_to_float(from, to_part, value.re);
      if (halo_type_is_complex(to) && halo_type_is_complex(from)) {
        result.im = convert_float_to_float(part, to_part, value.im);
      }
      return result;
    }
    case HALO_CLASS_OTHER: break;
  }
  return value;
}

/* The type in whose bits the rounding is done: the small floats that are not plain IEEE formats
 * widen first. */
static const halo_type reduce_precision_types[HALO_TYPE_COUNT] = {
    [HALO_F8E4M3FN] = HALO_F16,   [HALO_F8E4M3B11FNUZ] = HALO_F16, [HALO_F8E4M3FNUZ] = HALO_F16,
    [HALO_F8E5M2FNUZ] = HALO_F16, [HALO_F4E2M1FN] = HALO_F16,      [HALO_F8E8M0FNU] = HALO_F32,
};

eval_scalar eval_reduce_precision(halo_type type, int exponent_bits, int mantissa_bits,
                                  eval_scalar value) {
  halo_type wide = reduce_precision_types[type];
  if (wide == HALO_TYPE_INVALID) wide = type;
  uint64_t bits = convert_float_to_float(type, wide, value.re);
  int se = halo_type_exponent_bits(wide), sm = halo_type_mantissa_bits(wide);
  uint64_t sign = bits >> (se + sm) << (se + sm), body = bits ^ sign;
  uint64_t infinity = ((1ull << se) - 1) << sm;
  if (body > infinity) return value; /* NaN, even where no mantissa is left to say so */
  if (mantissa_bits < sm) {
    int drop = sm - mantissa_bits;
    uint64_t half = (1ull << (drop - 1)) - 1 + (body >> drop & 1);
    body = (body + half) >> drop << drop;
  }
  if (exponent_bits < se) {
    uint64_t bias = (1ull << (se - 1)) - 1, small = (1ull << (exponent_bits - 1)) - 1;
    uint64_t exponent = body >> sm;
    if (exponent > bias + small) body = infinity;
    if (exponent <= bias - small) body = 0;
  }
  return (eval_scalar){convert_float_to_float(wide, type, sign | body), 0};
}

int64_t eval_total_order_key(halo_type type, eval_scalar value) {
  if (!halo_type_is_float(type)) return (int64_t)value.re;
  /* Types of a byte or less are compared after widening, which keeps their order. */
  uint64_t bits = value.re;
  if (halo_type_bits(type) <= 8) {
    bits = eval_encode(HALO_F64, eval_decode(type, bits));
    type = HALO_F64;
  }
  int width = halo_type_bits(type);
  uint64_t top = 1ull << (width - 1);
  if (!(bits & top)) return (int64_t)bits;
  return -1 - (int64_t)(bits & (top - 1));
}

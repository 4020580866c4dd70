/* SPDX-License-Identifier: Apache-2.0 */
/* shape/floats.c: small floats by their (exponent bits, mantissa bits, bias, special values). */
#include "shape/floats.h"

#include "shape/types.h"

#include <math.h>
#include <string.h>

/* How a format spells what is not a finite number. */
typedef enum float_specials {
  FLOAT_IEEE,  /* top exponent: Inf and NaN */
  FLOAT_FN,    /* no Inf; all ones is NaN, with either sign */
  FLOAT_FNUZ,  /* no Inf, no minus zero; the sign bit alone is NaN */
  FLOAT_FINITE /* neither Inf nor NaN */
} float_specials;

typedef struct float_format {
  int exponent, mantissa, bias;
  float_specials specials;
} float_format;

static float_format float_format_of(halo_type type) {
  int e = halo_type_exponent_bits(type), m = halo_type_mantissa_bits(type);
  float_format f = {e, m, (1 << (e - 1)) - 1, FLOAT_IEEE};
  if (type == HALO_F8E4M3FN) f.specials = FLOAT_FN;
  if (type == HALO_F4E2M1FN) f.specials = FLOAT_FINITE;
  if (type == HALO_F8E4M3FNUZ || type == HALO_F8E5M2FNUZ || type == HALO_F8E4M3B11FNUZ) {
    f.specials = FLOAT_FNUZ;
    f.bias = type == HALO_F8E4M3B11FNUZ ? 11 : f.bias + 1;
  }
  return f;
}

uint64_t halo_bits_of_f64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

double halo_f64_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double float_nan(bool negative, uint64_t payload, int payload_bits) {
  uint64_t bits = 0x7ff0000000000000u | payload << (52 - payload_bits);
  if (!payload) bits |= 1ull << 51;
  return halo_f64_of_bits(bits | (uint64_t)negative << 63);
}

double halo_float_decode(halo_type type, uint64_t bits) {
  if (type == HALO_F64) return halo_f64_of_bits(bits);
  if (type == HALO_F8E8M0FNU) {
    return bits == 0xff ? float_nan(false, 0, 1) : ldexp(1.0, (int)bits - 127);
  }
  float_format f = float_format_of(type);
  uint64_t m = bits & ((1ull << f.mantissa) - 1);
  int e = (int)(bits >> f.mantissa) & ((1 << f.exponent) - 1);
  bool negative = bits >> (f.mantissa + f.exponent) & 1;
  bool top = e == (1 << f.exponent) - 1;
  if (f.specials == FLOAT_IEEE && top) {
    if (m) return float_nan(negative, m, f.mantissa);
    return negative ? -INFINITY : INFINITY;
  }
  if (f.specials == FLOAT_FN && top && m == (1ull << f.mantissa) - 1) {
    return float_nan(negative, 0, 1);
  }
  if (f.specials == FLOAT_FNUZ && negative && e == 0 && m == 0) return float_nan(true, 0, 1);
  double magnitude = e ? ldexp((double)(m | 1ull << f.mantissa), e - f.bias - f.mantissa)
                       : ldexp((double)m, 1 - f.bias - f.mantissa);
  return negative ? -magnitude : magnitude;
}

/* Encodes a NaN; only formats that have one come here. */
static uint64_t float_encode_nan(const float_format *f, double value) {
  uint64_t sign = (uint64_t)signbit(value) << (f->exponent + f->mantissa);
  if (f->specials == FLOAT_FNUZ) return 1ull << (f->exponent + f->mantissa);
  if (f->specials == FLOAT_FN) return sign | ((1ull << (f->exponent + f->mantissa)) - 1);
  uint64_t payload = (halo_bits_of_f64(value) & ((1ull << 52) - 1)) >> (52 - f->mantissa);
  uint64_t quiet = 1ull << (f->mantissa - 1);
  return sign | (((1ull << f->exponent) - 1) << f->mantissa) | payload | quiet;
}

static uint64_t float_encode_e8m0(double value) {
  if (isnan(value) || value <= 0 || isinf(value)) return 0xff;
  int e;
  double fraction = frexp(value, &e); /* value = fraction * 2^e, fraction in [0.5, 1) */
  int power = e - 1;
  double ratio = fraction * 2; /* [1, 2) */
  if (power < -127) return 0;
  if (ratio >= 1.5) power++; /* ties go up here, as XLA rounds them */
  return power > 127 ? 0xff : (uint64_t)(power + 127);
}

uint64_t halo_float_encode(halo_type type, double value) {
  if (type == HALO_F64) return halo_bits_of_f64(value);
  if (type == HALO_F8E8M0FNU) return float_encode_e8m0(value);
  float_format f = float_format_of(type);
  uint64_t sign = (uint64_t)signbit(value) << (f.exponent + f.mantissa);
  if (isnan(value)) {
    return f.specials == FLOAT_FINITE ? 1ull << (f.exponent + f.mantissa)
                                      : float_encode_nan(&f, value);
  }
  uint64_t magnitude; /* exponent and mantissa fields as one number, which rounding may carry in */
  uint64_t largest = 0; /* the largest finite one */
  uint64_t top = ((1ull << f.exponent) - 1) << f.mantissa;
  switch (f.specials) {
    case FLOAT_IEEE: largest = top - 1; break;
    case FLOAT_FN: largest = top + (1ull << f.mantissa) - 2; break;
    case FLOAT_FNUZ:
    case FLOAT_FINITE: largest = top + (1ull << f.mantissa) - 1; break;
  }
  double size = fabs(value);
  if (isinf(size)) {
    magnitude = largest + 1;
  } else if (size == 0) {
    magnitude = 0;
  } else {
    int e;
    frexp(size, &e);
    int exponent = e - 1 < 1 - f.bias ? 1 - f.bias : e - 1;
    /* size = scaled * 2^(exponent - mantissa); nearbyint rounds to even in the default mode. */
    double scaled = nearbyint(ldexp(size, f.mantissa - exponent));
    if (exponent + f.bias >= (1 << f.exponent) + 1) {
      magnitude = largest + 1;
    } else {
      magnitude = (uint64_t)scaled + ((uint64_t)(exponent + f.bias - 1) << f.mantissa);
    }
  }
  if (magnitude > largest) {
    switch (f.specials) {
      case FLOAT_IEEE: return sign | top;
      case FLOAT_FN: return sign | (top + (1ull << f.mantissa) - 1);
      case FLOAT_FNUZ: return 1ull << (f.exponent + f.mantissa);
      case FLOAT_FINITE: return sign | largest;
    }
  }
  if (f.specials == FLOAT_FNUZ && magnitude == 0) return 0;
  return sign | magnitude;
}

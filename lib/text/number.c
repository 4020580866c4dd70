/* SPDX-License-Identifier: Apache-2.0 */
/* text/number.c: numbers between text and bits. */
#include "shape/floats.h"
#include "text/parser.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Scanning ---- */

/* Powers of ten that a double holds exactly. */
static const double number_tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static int number_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *number_scan_nan(const char **at, halo_text_number *out) {
  const char *p = *at + 3;
  out->kind = HALO_NUMBER_NAN;
  if (strncmp(p, "(0x", 3) == 0) {
    int digits = 0;
    for (p += 3;; p++, digits++) {
      int d = number_hex_digit(*p);
      if (d < 0) break;
      if (out->payload >> 48) return "a NaN's payload must fit 52 bits";
      out->payload = out->payload << 4 | (uint64_t)d;
    }
    if (!digits || *p != ')') return "expected nan(0x...) with hexadecimal digits";
    if (!out->payload) return "a NaN's payload must not be zero";
    out->has_payload = true;
    p++;
  }
  *at = p;
  return NULL;
}

/* Digits, point and exponent. Up to 19 digits and a small exponent are exact in two operations;
 * strtod has the rest. */
static const char *number_scan_finite(const char **at, halo_text_number *out) {
  const char *start = *at, *p = start;
  uint64_t mantissa = 0;
  int digits = 0, exponent = 0;
  bool decimal = false, dropped = false;
  for (; halo_text_is_digit(*p); p++, digits++) {
    if (__builtin_mul_overflow(mantissa, (uint64_t)10, &mantissa) ||
        __builtin_add_overflow(mantissa, (uint64_t)(*p - '0'), &mantissa)) {
      dropped = true;
      mantissa = 0;
    }
  }
  out->too_big = dropped;
  out->magnitude = mantissa;
  if (*p == '.') {
    decimal = true;
    for (p++; halo_text_is_digit(*p); p++, digits++, exponent--) {
      if (mantissa > (UINT64_MAX - 9) / 10) dropped = true;
      if (!dropped) mantissa = mantissa * 10 + (uint64_t)(*p - '0');
    }
  }
  if (!digits) return "expected digits";
  if ((*p == 'e' || *p == 'E') &&
      (halo_text_is_digit(p[1]) || ((p[1] == '-' || p[1] == '+') && halo_text_is_digit(p[2])))) {
    decimal = true;
    bool minus = p[1] == '-';
    int e = 0;
    for (p += halo_text_is_digit(p[1]) ? 1 : 2; halo_text_is_digit(*p); p++) {
      if (e < 100000) e = e * 10 + (*p - '0');
    }
    exponent += minus ? -e : e;
  }
  out->kind = decimal ? HALO_NUMBER_DECIMAL : HALO_NUMBER_INT;
  if (!dropped && mantissa < 1ull << 53 && exponent >= -22 && exponent <= 22) {
    out->value = exponent < 0 ? (double)mantissa / number_tens[-exponent]
                              : (double)mantissa * number_tens[exponent];
  } else {
    out->value = strtod(start, NULL);
  }
  if (decimal) out->too_big = isinf(out->value);
  if (out->negative) out->value = -out->value;
  *at = p;
  return NULL;
}

const char *halo_text_scan_number(const char **at, halo_text_number *out) {
  const char *p = *at;
  *out = (halo_text_number){.negative = *p == '-'};
  p += out->negative;
  const char *fault = NULL;
  if (strncmp(p, "inf", 3) == 0 && !halo_text_is_name_char(p[3])) {
    out->kind = HALO_NUMBER_INF;
    out->value = out->negative ? -INFINITY : INFINITY;
    p += 3;
  } else if (strncmp(p, "nan", 3) == 0 && !halo_text_is_name_char(p[3])) {
    fault = number_scan_nan(&p, out);
  } else if (halo_text_is_digit(*p) || (out->negative && p[0] == '.' && halo_text_is_digit(p[1]))) {
    fault = number_scan_finite(&p, out);
  } else {
    fault = "expected a number";
  }
  *at = p;
  return fault;
}

/* ---- Encoding ---- */

/* Types with a single NaN, or none, have no payload. */
static bool number_has_payload(halo_type type) {
  return type != HALO_F4E2M1FN && type != HALO_F8E4M3FN && type != HALO_F8E4M3B11FNUZ &&
         type != HALO_F8E4M3FNUZ && type != HALO_F8E5M2FNUZ && type != HALO_F8E8M0FNU;
}

static const char *number_encode_nan(const halo_text_number *number, halo_type type,
                                     uint64_t *bits) {
  if (type == HALO_F4E2M1FN) return "this type has no NaN";
  if (!number_has_payload(type)) {
    if (number->has_payload) return "this type's NaN has no payload";
    *bits = halo_float_encode(type, number->negative ? -(double)NAN : (double)NAN);
    return NULL;
  }
  int mantissa = halo_type_mantissa_bits(type), exponent = halo_type_exponent_bits(type);
  uint64_t payload = number->has_payload ? number->payload : 1ull << (mantissa - 1);
  if (payload >> mantissa) return "the NaN's payload does not fit this type";
  *bits = (uint64_t)number->negative << (mantissa + exponent) |
          ((1ull << exponent) - 1) << mantissa | payload;
  return NULL;
}

const char *halo_text_encode_float(const halo_text_number *number, halo_type type, uint64_t *bits) {
  if (number->kind == HALO_NUMBER_NAN) return number_encode_nan(number, type, bits);
  if (number->kind == HALO_NUMBER_DECIMAL && number->too_big) {
    return "this number is too large for a double";
  }
  double value = number->value;
  if (type == HALO_F64) {
    *bits = halo_bits_of_f64(value);
    return isinf(value) && number->kind != HALO_NUMBER_INF ? "this number is too large" : NULL;
  }
  if (type == HALO_F32) {
    float narrow = (float)value;
    uint32_t low;
    memcpy(&low, &narrow, sizeof low);
    *bits = low;
    if (isinf(narrow) && number->kind != HALO_NUMBER_INF) {
      return "this number is too large for the element type";
    }
    return NULL;
  }
  *bits = halo_float_encode(type, value);
  double back = halo_float_decode(type, *bits);
  if (number->kind == HALO_NUMBER_INF) {
    return back == value ? NULL : "this type has no infinity";
  }
  if (isinf(back) || (type == HALO_F4E2M1FN && fabs(value) >= 7)) {
    return "this number is too large for the element type";
  }
  return isnan(back) ? "the element type cannot hold this number" : NULL;
}

/* ---- Printing ---- */

void halo_text_print_double(halo_strbuf *out, double value) {
  halo_text_print_float(out, HALO_F64, halo_bits_of_f64(value));
}

/* Digits to try: XLA's usual number of digits, and as many as make every value unique. */
static void number_digits(halo_type type, int *few, int *many) {
  int mantissa = halo_type_mantissa_bits(type);
  *many = 2 + (int)((mantissa + 1) * 0.30103);
  *few = type == HALO_F32 ? 6 : type == HALO_F64 ? 15 : *many;
}

void halo_text_print_float(halo_strbuf *out, halo_type type, uint64_t bits) {
  double value = halo_float_decode(type, bits);
  int mantissa = halo_type_mantissa_bits(type);
  if (isnan(value)) {
    bool negative = (number_has_payload(type) || type == HALO_F8E4M3FN) && signbit(value);
    halo_strbuf_append(out, negative ? "-nan" : "nan");
    uint64_t payload = bits & ((1ull << mantissa) - 1);
    if (number_has_payload(type) && payload != 1ull << (mantissa - 1)) {
      halo_strbuf_printf(out, "(0x%llx)", (unsigned long long)payload);
    }
    return;
  }
  if (isinf(value)) {
    halo_strbuf_append(out, value < 0 ? "-inf" : "inf");
    return;
  }
  if (fabs(value) < 100000 && value == (double)(int32_t)value) {
    halo_strbuf_printf(out, "%s%d", signbit(value) ? "-" : "", abs((int)value));
    return;
  }
  char text[320]; /* gcc 16 does not see that there are 17 digits at most */
  int few, many;
  number_digits(type, &few, &many);
  for (int digits = few;; digits = digits < many ? many : digits + 1) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (digits >= 17 || halo_float_encode(type, strtod(text, NULL)) == bits) break;
  }
  halo_strbuf_append(out, text);
}

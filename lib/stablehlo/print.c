/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/print.c: elements of constants as MLIR text. */
#include "stablehlo/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Enough digits to tell any two numbers apart, and a point, without which MLIR reads an integer. */
static void print_finite(halo_strbuf *out, double value) {
  char digits[64];
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "%.17g", value);
  snprintf(digits, sizeof digits, "%s", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  size_t mantissa = strcspn(digits, "e");
  halo_strbuf_append_n(out, digits, mantissa);
  if (!memchr(digits, '.', mantissa)) halo_strbuf_append(out, ".0");
  halo_strbuf_append(out, digits + mantissa);
}

void halo_mlir_print_float(halo_strbuf *out, double value, halo_type type, const uint8_t *bits) {
  if (isfinite(value)) {
    print_finite(out, value);
    return;
  }
  size_t size = halo_type_size(type);
  halo_strbuf_append(out, "0x");
  for (size_t i = size; i-- > 0;) halo_strbuf_printf(out, "%02X", bits[i]);
}

void halo_mlir_print_element(halo_strbuf *out, halo_literal *literal, int64_t i) {
  halo_type type = literal->shape->type;
  size_t size = halo_type_size(type);
  const uint8_t *bits = (const uint8_t *)halo_literal_data(literal) + (size_t)i * size;
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED: halo_strbuf_append(out, *bits ? "true" : "false"); break;
    case HALO_CLASS_SINT:
      halo_strbuf_printf(out, "%" PRId64, halo_literal_get_i64(literal, i));
      break;
    case HALO_CLASS_UINT:
      halo_strbuf_printf(out, "%" PRIu64, (uint64_t)halo_literal_get_i64(literal, i));
      break;
    case HALO_CLASS_FLOAT:
      halo_mlir_print_float(out, halo_literal_get_f64(literal, i), type, bits);
      break;
    case HALO_CLASS_COMPLEX: {
      double re, im;
      halo_literal_get_c128(literal, i, &re, &im);
      halo_strbuf_append(out, "(");
      halo_mlir_print_float(out, re, halo_type_real_part(type), bits);
      halo_strbuf_append(out, ", ");
      halo_mlir_print_float(out, im, halo_type_real_part(type), bits + size / 2);
      halo_strbuf_append(out, ")");
      break;
    }
    case HALO_CLASS_OTHER: break;
  }
}

static void print_elements(halo_strbuf *out, halo_literal *literal, int32_t d, int64_t *next) {
  const halo_shape *shape = literal->shape;
  if (d == shape->rank) {
    halo_mlir_print_element(out, literal, (*next)++);
    return;
  }
  halo_strbuf_append(out, "[");
  for (int64_t i = 0; i < shape->dims[d]; i++) {
    if (i) halo_strbuf_append(out, ", ");
    print_elements(out, literal, d + 1, next);
  }
  halo_strbuf_append(out, "]");
}

bool halo_mlir_is_splat(halo_literal *literal) {
  int64_t count = halo_shape_element_count(literal->shape);
  size_t size = halo_type_size(literal->shape->type);
  const uint8_t *data = halo_literal_data(literal);
  return count > 0 && memcmp(data, data + size, ((size_t)count - 1) * size) == 0;
}

void halo_mlir_print_elements(halo_strbuf *out, halo_literal *literal) {
  int64_t next = 0;
  if (halo_mlir_is_splat(literal))
    halo_mlir_print_element(out, literal, 0);
  else if (halo_shape_element_count(literal->shape))
    print_elements(out, literal, 0, &next);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* text/print_literal.c: values as text. */
#include "base/map.h"
#include "shape/floats.h"
#include "text/parser.h"
#include "text/print.h"

#include <inttypes.h>
#include <string.h>

static void literal_print_element(halo_strbuf *out, const halo_literal *literal, int64_t i) {
  halo_type type = literal->shape->type;
  size_t size = halo_type_size(type);
  const char *data = (const char *)literal->data + (size_t)i * size;
  uint64_t bits = 0;
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED:
      halo_strbuf_append(out,
                         literal->shape->rank ? (*data ? "1" : "0") : (*data ? "true" : "false"));
      return;
    case HALO_CLASS_SINT:
      halo_strbuf_printf(out, "%lld", (long long)halo_literal_get_i64(literal, i));
      return;
    case HALO_CLASS_UINT:
      halo_strbuf_printf(out, "%llu", (unsigned long long)halo_literal_get_i64(literal, i));
      return;
    case HALO_CLASS_FLOAT:
      memcpy(&bits, data, size);
      halo_text_print_float(out, type, bits);
      return;
    case HALO_CLASS_COMPLEX: {
      halo_type part = halo_type_real_part(type);
      memcpy(&bits, data, size / 2);
      halo_strbuf_char(out, '(');
      halo_text_print_float(out, part, bits);
      halo_strbuf_append(out, ", ");
      memcpy(&bits, data + size / 2, size / 2);
      halo_text_print_float(out, part, bits);
      halo_strbuf_char(out, ')');
      return;
    }
    case HALO_CLASS_OTHER: return;
  }
}

/* Prints dimension `d` from element *next on. */
static void literal_print_nested(halo_strbuf *out, const halo_literal *literal, int d,
                                 int64_t position, int64_t *next) {
  const halo_shape *shape = literal->shape;
  int rank = shape->rank;
  if (d == rank) {
    literal_print_element(out, literal, (*next)++);
    return;
  }
  int64_t count = shape->dims[d];
  bool inner = d == rank - 1;
  bool padded = rank > 1 && (!inner || count > 1);
  halo_strbuf_char(out, '{');
  if (rank > 3 && d > 0 && !inner) {
    halo_strbuf_printf(out, " /*i%d=%lld*/", d - 1, (long long)position);
  }
  if (padded) halo_strbuf_char(out, ' ');
  for (int64_t i = 0; i < count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    literal_print_nested(out, literal, d + 1, i, next);
  }
  if (padded && count) halo_strbuf_char(out, ' ');
  halo_strbuf_char(out, '}');
}

enum {
  LITERAL_SMALL = 10,       /* elements that are never elided */
  LITERAL_MOST_EMPTY = 1000 /* braces written out for an array without elements */
};

/* An array such as f32[1000000,0] would be all braces; "{...}" loses nothing there. */
static bool literal_is_all_braces(const halo_shape *shape) {
  int64_t braces = 1;
  for (int i = 0; i < shape->rank && shape->dims[i] > 0; i++) {
    if (!halo_mul_i64(braces, shape->dims[i], &braces)) return true;
  }
  return braces > LITERAL_MOST_EMPTY;
}

/* Reading the bytes takes a thousandth of the time that printing the numbers takes. */
static void literal_print_hash(halo_strbuf *out, const halo_literal *literal, int64_t count) {
  uint64_t key[2] = {0};
  halo_hash_wide(key, literal->data, (size_t)count * halo_type_size(literal->shape->type));
  halo_strbuf_printf(out, "{hash %016" PRIx64 "%016" PRIx64 "}", key[0], key[1]);
}

void halo_text_print_literal(halo_strbuf *out, const halo_literal *literal, unsigned flags) {
  const halo_shape *shape = literal->shape;
  if (shape->type == HALO_TUPLE) {
    if (literal->elided) {
      halo_strbuf_append(out, "{...}");
      return;
    }
    halo_strbuf_append(out, shape->count ? "( " : "(");
    for (int i = 0; i < shape->count; i++) {
      if (i) halo_strbuf_append(out, ", ");
      halo_text_print_literal(out, literal->elements[i], flags);
    }
    halo_strbuf_append(out, shape->count ? " )" : ")");
    return;
  }
  if (!halo_shape_is_array(shape)) {
    halo_strbuf_append(out, halo_type_name(shape->type));
    return;
  }
  int64_t count = halo_shape_element_count(shape);
  bool large = count > LITERAL_SMALL;
  if (large && !literal->elided && (flags & HALO_TEXT_PRINT_HASH_LARGE)) {
    literal_print_hash(out, literal, count);
    return;
  }
  if (shape->rank && (literal->elided || (large && (flags & HALO_PRINT_ELIDE_LARGE)) ||
                      (count == 0 && literal_is_all_braces(shape)))) {
    halo_strbuf_append(out, "{...}");
    return;
  }
  int64_t next = 0;
  literal_print_nested(out, literal, 0, 0, &next);
}

void halo_literal_print(halo_strbuf *out, const halo_literal *literal) {
  halo_c_locale locale = halo_c_locale_enter();
  halo_text_print_literal(out, literal, 0);
  halo_c_locale_leave(locale);
}

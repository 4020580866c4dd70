/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_dense.c: dense<...>, dense_resource<...> and array<...>: literals in MLIR text. */
#include "stablehlo/text_dense.h"
#include "shape/floats.h"
#include "shape/literal.h"
#include "text/number.h"

#include <string.h>

/* Splats of more elements keep one. */
enum { DENSE_EXPAND = 64 };

/* ---- Literals ---- */

/* Checks the type, a tensor. */
static halo_status dense_begin(halo_mlir_reader *r, const char *at, const halo_mlir_type *type,
                               halo_mlir_dense *out) {
  *out = (halo_mlir_dense){.at = at, .type = type, .count = 1};
  for (int32_t d = 0; d < type->rank; d++) {
    if (type->dims[d] == HALO_MLIR_DYNAMIC)
      return halo_mlir_text_error(r, at,
                                  "a constant's dimensions must be known, those of %s are not",
                                  halo_mlir_text_type_name(r, type));
    if (__builtin_mul_overflow(out->count, type->dims[d], &out->count))
      return halo_mlir_text_error(r, at, "a constant of this type has too many elements");
  }
  return HALO_OK;
}

halo_status halo_mlir_text_dense_alloc(halo_mlir_reader *r, halo_mlir_dense *dense, bool splat) {
  bool one = splat && dense->count > DENSE_EXPAND;
  halo_shape *shape;
  halo_status status = halo_shape_create_array(dense->type->element, one ? 0 : dense->type->rank,
                                               dense->type->dims, &shape);
  if (status != HALO_OK) return halo_mlir_text_error_here(r, status, dense->at);
  status = halo_literal_create(shape, &dense->literal);
  halo_shape_release(shape);
  if (status != HALO_OK) return halo_mlir_text_error_here(r, status, dense->at);
  halo_mlir_keep_literal(r->program, dense->literal);
  dense->kept = one ? 1 : dense->count;
  return HALO_OK;
}

void halo_mlir_text_dense_spread(halo_mlir_dense *dense) {
  size_t size = halo_type_size(dense->type->element);
  char *data = dense->literal->data;
  for (int64_t i = 1; i < dense->kept; i++) memcpy(data + (size_t)i * size, data, size);
}

static const halo_mlir_attr *dense_attr(halo_mlir_reader *r, const halo_mlir_dense *dense) {
  halo_mlir_attr *attr = halo_mlir_text_new_attr(r, HALO_MLIR_DENSE);
  attr->type = dense->type;
  attr->literal = dense->literal;
  return attr;
}

/* ---- Elements ---- */

static halo_status dense_int(halo_mlir_reader *r, const char **at, halo_type type, void *to) {
  const char *start = *at, *c = start;
  bool minus = *c == '-', fits = true;
  uint64_t value = 0;
  if (minus) c = halo_mlir_text_skip_blank(c + 1);
  if (!halo_mlir_is_digit(*c)) {
    bool yes = strncmp(start, "true", 4) == 0;
    if (type == HALO_PRED && (yes || strncmp(start, "false", 5) == 0)) {
      *(uint8_t *)to = yes;
      *at = start + (yes ? 4 : 5);
      return HALO_OK;
    }
    return halo_mlir_text_error(r, start, "expected an integer%s",
                                type == HALO_PRED ? ", true or false" : "");
  }
  if (c[0] == '0' && c[1] == 'x' && halo_mlir_hex_digit(c[2]) >= 0) {
    for (c += 2; halo_mlir_hex_digit(*c) >= 0; c++) {
      fits = fits && value >> 60 == 0;
      value = value << 4 | (uint64_t)halo_mlir_hex_digit(*c);
    }
  } else {
    for (; halo_mlir_is_digit(*c); c++)
      fits = fits && !__builtin_mul_overflow(value, 10u, &value) &&
             !__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value);
  }
  if (*c == '.') return halo_mlir_text_error(r, start, "expected an integer");
  int bits = halo_type_bits(type);
  uint64_t most = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
  if (minus) most = halo_type_is_uint(type) ? 0 : 1ull << (bits - 1);
  if (!fits || value > most)
    return halo_mlir_text_error(r, start, "this number does not fit %s", halo_type_name(type));
  if (minus) value = 0 - value;
  if (type == HALO_PRED) value = value != 0;
  if (bits < 8 && type != HALO_PRED) {
    int shift = 64 - bits;
    value = halo_type_is_sint(type) ? (uint64_t)((int64_t)(value << shift) >> shift)
                                    : value << shift >> shift;
  }
  memcpy(to, &value, halo_type_size(type));
  *at = c;
  return HALO_OK;
}

static halo_status dense_float(halo_mlir_reader *r, const char **at, halo_type type, void *to) {
  const char *start = *at, *c = start;
  bool minus = *c == '-';
  if (minus) c = halo_mlir_text_skip_blank(c + 1);
  uint64_t bits = 0;
  if (!minus && c[0] == '0' && c[1] == 'x' && halo_mlir_hex_digit(c[2]) >= 0) {
    int digits = 0;
    for (c += 2; halo_mlir_hex_digit(*c) >= 0; c++) {
      bits = bits << 4 | (uint64_t)halo_mlir_hex_digit(*c);
      if (bits) digits++;
    }
    int width = halo_type_bits(type);
    if (digits > 16 || (width < 64 && bits >> width))
      return halo_mlir_text_error(r, start, "these bits do not fit %s", halo_type_name(type));
  } else {
    const char *point = c;
    while (halo_mlir_is_digit(*point)) point++;
    if (point == c || *point != '.')
      return halo_mlir_text_error(r, start, "expected a number with a point, or bits as 0x...");
    halo_text_number number;
    halo_text_scan_number(&c, &number);
    number.negative = minus;
    if (minus) number.value = -number.value;
    const char *fault = halo_text_encode_float(&number, type, &bits);
    if (fault) return halo_mlir_text_error(r, start, "%s", fault);
  }
  memcpy(to, &bits, halo_type_size(type));
  *at = c;
  return HALO_OK;
}

static halo_status dense_punct(halo_mlir_reader *r, const char **at, char c) {
  *at = halo_mlir_text_skip_blank(*at);
  if (**at != c) return halo_mlir_text_error(r, *at, "expected '%c'", c);
  *at = halo_mlir_text_skip_blank(*at + 1);
  return HALO_OK;
}

static halo_status dense_element(halo_mlir_reader *r, const char **at, halo_type type, char *to) {
  if (!halo_type_is_complex(type))
    return halo_type_is_float(type) ? dense_float(r, at, type, to) : dense_int(r, at, type, to);
  halo_type part = halo_type_real_part(type);
  HALO_TRY(dense_punct(r, at, '('));
  HALO_TRY(dense_float(r, at, part, to));
  HALO_TRY(dense_punct(r, at, ','));
  HALO_TRY(dense_float(r, at, part, to + halo_type_size(part)));
  *at = halo_mlir_text_skip_blank(*at);
  if (**at != ')') return halo_mlir_text_error(r, *at, "expected ')'");
  ++*at;
  return HALO_OK;
}

/* ---- Nested lists ---- */

/* The list of dimension d; the text of `rank` lists cannot nest deeper than a shape may. */
static halo_status dense_list(halo_mlir_reader *r, halo_mlir_dense *dense, const char **at,
                              int32_t d, char **to) {
  const halo_mlir_type *type = dense->type;
  int64_t count = 0;
  const char *start = *at;
  if (*start != '[')
    return halo_mlir_text_error(r, start, "expected '[': this constant has %d dimension%s",
                                type->rank, halo_plural(type->rank));
  *at = halo_mlir_text_skip_blank(start + 1);
  for (; **at != ']'; count++) {
    if (count) HALO_TRY(dense_punct(r, at, ','));
    if (count == type->dims[d])
      return halo_mlir_text_error(r, *at, "expected ']': dimension %d has %lld element%s", d,
                                  (long long)count, halo_plural(count));
    if (d + 1 < type->rank) {
      HALO_TRY(dense_list(r, dense, at, d + 1, to));
    } else {
      HALO_TRY(dense_element(r, at, type->element, *to));
      *to += halo_type_size(type->element);
    }
    *at = halo_mlir_text_skip_blank(*at);
  }
  if (count != type->dims[d])
    return halo_mlir_text_error(r, *at, "expected %lld element%s in this list, found %lld",
                                (long long)type->dims[d], halo_plural(type->dims[d]),
                                (long long)count);
  ++*at;
  return HALO_OK;
}

/* The body between '<' and '>' whose type is known now. */
static halo_status dense_body(halo_mlir_reader *r, halo_mlir_dense *dense, const char *at,
                              const char *end) {
  at = halo_mlir_text_skip_blank(at);
  if (*at == '"') return halo_mlir_text_dense_hex(r, dense, at + 1, end, true);
  if (at == end) { /* dense<> */
    if (dense->count)
      return halo_mlir_text_error(r, at, "expected %lld elements", (long long)dense->count);
    return halo_mlir_text_dense_alloc(r, dense, false);
  }
  bool splat = *at != '[';
  if (!splat && dense->type->rank == 0)
    return halo_mlir_text_error(r, at, "expected an element: this constant has no dimensions");
  /* Each element takes a byte at least, so that a short text asks for little memory. */
  if (!splat && dense->count > end - at)
    return halo_mlir_text_error(r, at, "expected %lld elements", (long long)dense->count);
  HALO_TRY(halo_mlir_text_dense_alloc(r, dense, splat));
  char element[16], *to = splat ? element : dense->literal->data;
  if (splat) {
    HALO_TRY(dense_element(r, &at, dense->type->element, element));
    if (dense->kept) {
      memcpy(dense->literal->data, element, halo_type_size(dense->type->element));
      halo_mlir_text_dense_spread(dense);
    }
  } else {
    HALO_TRY(dense_list(r, dense, &at, 0, &to));
  }
  at = halo_mlir_text_skip_blank(at);
  if (at != end) return halo_mlir_text_error(r, at, "expected '>'");
  return HALO_OK;
}

/* ": type" behind dense<...>. Of types that HLO has not, *opaque is the attribute. */
static halo_status dense_type(halo_mlir_reader *r, const char *start, const halo_mlir_type **out,
                              const halo_mlir_attr **opaque) {
  HALO_TRY(halo_mlir_text_expect(r, ':', "':' and the type of the elements"));
  HALO_TRY(halo_mlir_text_type(r, out));
  *opaque = NULL;
  if ((*out)->kind != HALO_MLIR_TENSOR)
    *opaque = halo_mlir_text_opaque(r, start, halo_mlir_text_here(r));
  return HALO_OK;
}

halo_status halo_mlir_text_dense(halo_mlir_reader *r, const halo_mlir_attr **out) {
  const char *start = r->tok.start;
  halo_mlir_text_advance(r);
  if (r->tok.kind != '<') return halo_mlir_text_expected(r, "'<' after dense");
  const char *first = r->tok.end, *end = halo_mlir_text_skip_blank(first);
  if (*end == '"') {
    end = halo_mlir_text_string_end(end);
    if (!end) return halo_mlir_text_error(r, first, "this string does not end");
    end = halo_mlir_text_skip_blank(end);
  } else {
    end += strcspn(end, ">\"");
  }
  if (*end != '>') return halo_mlir_text_error(r, end, "expected '>' after the elements");
  halo_mlir_text_resume(r, end + 1);
  const halo_mlir_type *type;
  HALO_TRY(dense_type(r, start, &type, out));
  if (*out) return HALO_OK;
  halo_mlir_dense dense;
  HALO_TRY(dense_begin(r, start, type, &dense));
  HALO_TRY(dense_body(r, &dense, first, end));
  *out = dense_attr(r, &dense);
  return HALO_OK;
}

/* ---- Resources ---- */

halo_status halo_mlir_text_dense_resource(halo_mlir_reader *r, const halo_mlir_attr **out) {
  const char *start = r->tok.start, *key;
  size_t length;
  halo_mlir_text_advance(r);
  HALO_TRY(halo_mlir_text_expect(r, '<', "'<' after dense_resource"));
  const char *key_at = r->tok.start;
  HALO_TRY(halo_mlir_text_resource_key(r, &key, &length));
  HALO_TRY(halo_mlir_text_expect(r, '>', "'>' after the name of a resource"));
  const halo_mlir_type *type;
  HALO_TRY(dense_type(r, start, &type, out));
  if (*out) return HALO_OK;
  halo_mlir_dense dense;
  HALO_TRY(dense_begin(r, start, type, &dense));
  HALO_TRY(halo_mlir_text_dense_blob(r, &dense, key_at, key, length));
  *out = dense_attr(r, &dense);
  return HALO_OK;
}

/* ---- Arrays ---- */

/* A constant of these elements as they lie in literals. */
static halo_status dense_made(halo_mlir_reader *r, const char *at, halo_type element, int32_t rank,
                              const int64_t *dims, const void *data, const halo_mlir_attr **out) {
  halo_mlir_dense dense;
  const halo_mlir_type *type = halo_mlir_text_tensor_type(r, element, rank, dims);
  HALO_TRY(dense_begin(r, at, type, &dense));
  HALO_TRY(halo_mlir_text_dense_alloc(r, &dense, false));
  size_t size = halo_type_size(element) * (size_t)dense.count;
  if (size) memcpy(dense.literal->data, data, size);
  *out = dense_attr(r, &dense);
  return HALO_OK;
}

halo_status halo_mlir_text_new_list(halo_mlir_reader *r, const char *at, const int64_t *data,
                                    int64_t count, const halo_mlir_attr **out) {
  return dense_made(r, at, HALO_S64, 1, &count, data, out);
}

halo_status halo_mlir_text_new_pairs(halo_mlir_reader *r, const char *at, const int64_t *data,
                                     int64_t rows, const halo_mlir_attr **out) {
  return dense_made(r, at, HALO_S64, 2, (int64_t[]){rows, 2}, data, out);
}

halo_status halo_mlir_text_new_flags(halo_mlir_reader *r, const char *at, const uint8_t *data,
                                     int64_t count, const halo_mlir_attr **out) {
  return dense_made(r, at, HALO_PRED, 1, &count, data, out);
}

halo_status halo_mlir_text_dense_array(halo_mlir_reader *r, const halo_mlir_attr **out) {
  const char *start = r->tok.start;
  halo_mlir_text_advance(r);
  HALO_TRY(halo_mlir_text_expect(r, '<', "'<' after array"));
  const halo_mlir_type *element;
  const char *type_at = r->tok.start;
  HALO_TRY(halo_mlir_text_type(r, &element));
  if (element->kind != HALO_MLIR_SCALAR)
    return halo_mlir_text_error(r, type_at, "expected the type of a number");
  if (r->tok.kind != ':' && r->tok.kind != '>')
    return halo_mlir_text_expected(r, "':' and elements, or '>'");
  const char *at = r->tok.kind == ':' ? r->tok.end : r->tok.start;
  const char *end = at + strcspn(at, ">");
  if (!*end) return halo_mlir_text_error(r, start, "expected '>' after the elements");
  at = halo_mlir_text_skip_blank(at);
  int64_t count = at < end;
  for (const char *c = at; c < end; c++) count += *c == ',';
  const halo_mlir_type *type = halo_mlir_text_tensor_type(r, element->element, 1, &count);
  halo_mlir_dense dense;
  HALO_TRY(dense_begin(r, start, type, &dense));
  HALO_TRY(halo_mlir_text_dense_alloc(r, &dense, false));
  char *to = dense.literal->data;
  for (int64_t i = 0; i < count; i++, to += halo_type_size(type->element)) {
    if (i) HALO_TRY(dense_punct(r, &at, ','));
    HALO_TRY(dense_element(r, &at, type->element, to));
    at = halo_mlir_text_skip_blank(at);
  }
  if (at != end) return halo_mlir_text_error(r, at, "expected ',' or '>'");
  halo_mlir_text_resume(r, end + 1);
  *out = dense_attr(r, &dense);
  return HALO_OK;
}

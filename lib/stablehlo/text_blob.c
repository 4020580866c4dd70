/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_blob.c: elements as bytes in hexadecimal digits, in place or in the section of resources. */
#include "shape/literal.h"
#include "stablehlo/text_dense.h"

#include <string.h>

/* ---- Bytes ---- */

/* 0 to 15, or -1: constants of tens of megabytes consist of these. */
static inline int blob_digit(char c) {
  static const int8_t values[256] = {
      ['0'] = 1, 2,  3,  4,  5,  6,          7,  8,  9,  10, ['A'] = 11,
      12,        13, 14, 15, 16, ['a'] = 11, 12, 13, 14, 15, 16};
  return values[(unsigned char)c] - 1;
}

/* Checks "0x" and hexadecimal digits until a quote; *size counts the bytes. */
static halo_status blob_measure(halo_mlir_reader *r, const char **at, const char *limit,
                                int64_t *size) {
  const char *start = *at, *c = start + 2;
  if (start[0] != '0' || start[1] != 'x')
    return halo_mlir_text_error(r, start, "expected bytes as \"0x...\"");
  while (c < limit && blob_digit(*c) >= 0) c++;
  if (*c != '"') return halo_mlir_text_error(r, c, "expected a hexadecimal digit");
  if ((c - start) % 2)
    return halo_mlir_text_error(r, start, "expected two hexadecimal digits for each byte");
  *size = (c - start) / 2 - 1;
  *at = start + 2;
  return HALO_OK;
}

static uint8_t blob_byte(const char *at) {
  return (uint8_t)(blob_digit(at[0]) << 4 | blob_digit(at[1]));
}

/* Brings bytes of types that do not use all their bits into the form of literals. */
static void blob_tidy(halo_type type, uint8_t *data, int64_t count) {
  int bits = halo_type_bits(type);
  if (bits >= 8) return;
  int shift = 8 - bits;
  for (int64_t i = 0; i < count; i++) {
    uint8_t high = (uint8_t)(data[i] << shift);
    if (type == HALO_PRED) {
      data[i] = data[i] != 0;
    } else if (halo_type_is_sint(type)) {
      data[i] = (uint8_t)((int8_t)high >> shift);
    } else {
      data[i] = high >> shift;
    }
  }
}

/* Truth values in bits, the least significant first. */
static halo_status blob_bits(halo_mlir_reader *r, halo_mlir_dense *dense, const char *at) {
  HALO_TRY(halo_mlir_text_dense_alloc(r, dense, false));
  uint8_t *data = dense->literal->data;
  for (int64_t i = 0; i < dense->count; i++) data[i] = blob_byte(at + i / 8 * 2) >> i % 8 & 1;
  return HALO_OK;
}

static halo_status blob_decode(halo_mlir_reader *r, halo_mlir_dense *dense, const char *at,
                               int64_t size, bool may_splat) {
  halo_type type = dense->type->element;
  int64_t element = (int64_t)halo_type_size(type), all;
  const char *start = at;
  bool is_pred = type == HALO_PRED;
  bool splat = may_splat && size == element && dense->count != 1;
  bool packed = is_pred && size != dense->count && size == (dense->count + 7) / 8;
  if (packed && size == 1 &&
      may_splat) { /* older texts have bits, newer ones a splat: all or none agree */
    uint8_t byte = blob_byte(at);
    packed = byte != 0 && byte != 1 && byte != 0xff;
  }
  if (packed) return blob_bits(r, dense, at);
  if (__builtin_mul_overflow(dense->count, element, &all) || (!splat && size != all)) {
    return halo_mlir_text_error(r, start, "expected %lld bytes of %s, found %lld", (long long)all,
                                halo_mlir_text_type_name(r, dense->type), (long long)size);
  }
  HALO_TRY(halo_mlir_text_dense_alloc(r, dense, splat));
  uint8_t *data = dense->literal->data;
  if (splat && !dense->kept) return HALO_OK;
  for (int64_t i = 0; i < size; i++) data[i] = blob_byte(at + 2 * i);
  blob_tidy(type, data, size / element);
  if (splat) halo_mlir_text_dense_spread(dense);
  return HALO_OK;
}

halo_status halo_mlir_text_dense_hex(halo_mlir_reader *r, halo_mlir_dense *dense, const char *at,
                                     const char *limit, bool may_splat) {
  int64_t size;
  HALO_TRY(blob_measure(r, &at, limit, &size));
  return blob_decode(r, dense, at, size, may_splat);
}

/* ---- The section of resources ---- */

halo_status halo_mlir_text_resource_key(halo_mlir_reader *r, const char **out, size_t *length) {
  if (r->tok.kind == TOK_STRING)
    return halo_mlir_text_string(r, "the name of a resource", out, length);
  if (r->tok.kind != TOK_WORD) return halo_mlir_text_expected(r, "the name of a resource");
  *length = (size_t)(r->tok.end - r->tok.start);
  *out = halo_mlir_text_intern(r, r->tok.start, *length);
  halo_mlir_text_advance(r);
  return HALO_OK;
}

/* "key: value, ...}" of one dialect; notes where the strings are. */
static halo_status blob_entries(halo_mlir_reader *r) {
  HALO_TRY(halo_mlir_text_expect(r, '{', "'{' and resources"));
  while (r->tok.kind != '}') {
    const char *key;
    size_t length;
    HALO_TRY(halo_mlir_text_resource_key(r, &key, &length));
    HALO_TRY(halo_mlir_text_expect(r, ':', "':' after the name of a resource"));
    if (r->tok.kind == TOK_STRING) {
      halo_map_set(&r->blobs, key, length, (void *)(r->tok.start + 1));
    } else if (r->tok.kind != TOK_WORD) {
      return halo_mlir_text_expected(r, "the bytes of a resource");
    }
    halo_mlir_text_advance(r);
    HALO_TRY(halo_mlir_text_separator(r, '}', "',' or '}' after a resource"));
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

/* "dialect_resources: { builtin: { ... } }, external_resources: { ... } #-}" */
static halo_status blob_section(halo_mlir_reader *r) {
  while (r->tok.kind != '#') {
    bool dialects = halo_mlir_text_is(r, "dialect_resources");
    HALO_TRY(halo_mlir_text_expect(r, TOK_WORD, "dialect_resources or '#-}'"));
    HALO_TRY(halo_mlir_text_expect(r, ':', "':' after a kind of resources"));
    if (!dialects) {
      if (r->tok.kind != '{') return halo_mlir_text_expected(r, "'{' and resources");
      HALO_TRY(halo_mlir_text_skip_brackets(r));
    } else {
      HALO_TRY(halo_mlir_text_expect(r, '{', "'{' and dialects"));
      while (r->tok.kind != '}') {
        HALO_TRY(halo_mlir_text_expect(r, TOK_WORD, "the name of a dialect"));
        HALO_TRY(halo_mlir_text_expect(r, ':', "':' after the name of a dialect"));
        HALO_TRY(blob_entries(r));
        HALO_TRY(halo_mlir_text_separator(r, '}', "',' or '}' after a dialect"));
      }
      halo_mlir_text_advance(r);
    }
    HALO_TRY(halo_mlir_text_separator(r, '#', "',' or '#-}'"));
  }
  return HALO_OK;
}

halo_status halo_mlir_text_dense_blob(halo_mlir_reader *r, halo_mlir_dense *dense, const char *at,
                                      const char *key, size_t length) {
  if (!r->blobs_known && r->resources) {
    const char *back = halo_mlir_text_here(r);
    halo_mlir_text_resume(r, r->resources);
    HALO_TRY(blob_section(r));
    halo_mlir_text_resume(r, back);
  }
  r->blobs_known = true;
  const char *bytes = halo_map_get(&r->blobs, key, length);
  if (!bytes && strcmp(key, "__elided__") == 0) {
    return halo_mlir_text_error(
        r, at,
        "this constant was left out when the text was printed: expected a text "
        "with all its constants");
  }
  if (!bytes)
    return halo_mlir_text_error(
        r, at, "there is no resource '%.200s': expected it in a section {-# ... #-}", key);
  int64_t size;
  HALO_TRY(blob_measure(r, &bytes, r->end, &size));
  if (size < 4)
    return halo_mlir_text_error(r, bytes, "expected four bytes of alignment before the elements");
  return blob_decode(r, dense, bytes + 8, size - 4, false);
}

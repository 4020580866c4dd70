/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_attr.c: builtin attributes in MLIR text. */
#include "shape/floats.h"
#include "stablehlo/text_reader.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* ---- Making ---- */

halo_mlir_attr *halo_mlir_text_new_attr(halo_mlir_reader *r, halo_mlir_attr_kind kind) {
  halo_mlir_attr *attr = halo_arena_new(r->arena, halo_mlir_attr);
  attr->kind = kind;
  return attr;
}

halo_mlir_attr *halo_mlir_text_new_int(halo_mlir_reader *r, int64_t value, halo_type type) {
  halo_mlir_attr *attr =
      halo_mlir_text_new_attr(r, type == HALO_PRED ? HALO_MLIR_BOOL : HALO_MLIR_INT);
  attr->type = halo_mlir_text_scalar_type(r, type);
  attr->i = value;
  return attr;
}

halo_mlir_attr *halo_mlir_text_new_string(halo_mlir_reader *r, halo_mlir_attr_kind kind,
                                          const char *text, size_t length) {
  halo_mlir_attr *attr = halo_mlir_text_new_attr(r, kind);
  attr->string.text = text;
  attr->string.length = length;
  return attr;
}

halo_mlir_attr *halo_mlir_text_new_array(halo_mlir_reader *r, const halo_mlir_attr *const *data,
                                         int32_t count) {
  halo_mlir_attr *attr = halo_mlir_text_new_attr(r, HALO_MLIR_ARRAY);
  attr->array.data = halo_arena_copy(r->arena, data, sizeof *data * (size_t)count);
  attr->array.count = count;
  return attr;
}

halo_mlir_attr *halo_mlir_text_new_fields(halo_mlir_reader *r, halo_mlir_attr_kind kind,
                                          const char *name, const halo_mlir_named *data,
                                          int32_t count) {
  halo_mlir_attr *attr = halo_mlir_text_new_attr(r, kind);
  attr->dict.text = name;
  attr->dict.data = halo_arena_copy(r->arena, data, sizeof *data * (size_t)count);
  attr->dict.count = count;
  return attr;
}

halo_mlir_attr *halo_mlir_text_opaque(halo_mlir_reader *r, const char *start, const char *end) {
  while (end > start && (end[-1] == ' ' || end[-1] == '\n')) end--;
  size_t length = (size_t)(end - start);
  return halo_mlir_text_new_string(r, HALO_MLIR_OPAQUE, halo_arena_strndup(r->arena, start, length),
                                   length);
}

/* ---- Numbers ---- */

/* The type behind a number, or the default; HALO_TYPE_INVALID: one that HLO has not. */
static halo_status attr_number_type(halo_mlir_reader *r, halo_type default_, halo_type *out) {
  *out = default_;
  if (!halo_mlir_text_accept(r, ':')) return HALO_OK;
  const char *at = r->tok.start;
  const halo_mlir_type *type;
  HALO_TRY(halo_mlir_text_type(r, &type));
  if (type->kind != HALO_MLIR_SCALAR && type->kind != HALO_MLIR_OTHER)
    return halo_mlir_text_error(r, at, "expected the type of a number");
  *out = type->kind == HALO_MLIR_SCALAR ? type->element : HALO_TYPE_INVALID;
  return HALO_OK;
}

/* The value of an integer token whose magnitude may need all 64 bits. */
static bool attr_magnitude(const halo_mlir_token *tok, uint64_t *out) {
  const char *c = tok->start;
  bool hex = tok->end - c > 2 && c[1] == 'x';
  *out = 0;
  for (c += hex ? 2 : 0; c < tok->end; c++) {
    if (__builtin_mul_overflow(*out, hex ? 16u : 10u, out) ||
        __builtin_add_overflow(*out, (uint64_t)halo_mlir_hex_digit(*c), out))
      return false;
  }
  return true;
}

/* From -2^(n-1) to 2^n - 1 for signless types; sign-extended. */
static halo_status attr_fit_int(halo_mlir_reader *r, const char *at, bool minus, uint64_t magnitude,
                                halo_type type, int64_t *out) {
  int bits = halo_type_bits(type);
  bool is_unsigned = halo_type_is_uint(type);
  uint64_t most = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
  if (minus) most = is_unsigned ? 0 : 1ull << (bits - 1);
  if (magnitude > most)
    return halo_mlir_text_error(r, at, "this number does not fit its type, %s",
                                halo_type_name(type));
  uint64_t value = minus ? 0 - magnitude : magnitude;
  int shift = 64 - bits;
  *out = is_unsigned ? (int64_t)value : (int64_t)(value << shift) >> shift;
  return HALO_OK;
}

static halo_status attr_int(halo_mlir_reader *r, const char *at, bool minus,
                            const halo_mlir_attr **out) {
  halo_mlir_token tok = r->tok;
  uint64_t magnitude;
  halo_type type;
  bool fits = attr_magnitude(&tok, &magnitude),
       hex = tok.end - tok.start > 2 && tok.start[1] == 'x';
  halo_mlir_text_advance(r);
  HALO_TRY(attr_number_type(r, HALO_S64, &type));
  if (type == HALO_TYPE_INVALID) {
    *out = halo_mlir_text_opaque(r, at, halo_mlir_text_here(r));
    return HALO_OK;
  }
  if (!fits) return halo_mlir_text_error(r, at, "this number does not fit 64 bits");
  if (halo_type_is_float(type)) { /* its bits */
    if (!hex || minus)
      return halo_mlir_text_error(r, at, "expected a number with a point, as its type is %s",
                                  halo_type_name(type));
    if (halo_type_bits(type) < 64 && magnitude >> halo_type_bits(type))
      return halo_mlir_text_error(r, at, "these bits do not fit %s", halo_type_name(type));
    halo_mlir_attr *attr = halo_mlir_text_new_attr(r, HALO_MLIR_FLOAT);
    attr->type = halo_mlir_text_scalar_type(r, type);
    attr->f = halo_float_decode(type, magnitude);
    *out = attr;
    return HALO_OK;
  }
  if (!halo_type_is_integral(type) && type != HALO_PRED)
    return halo_mlir_text_error(r, at, "a number cannot be of this type");
  int64_t value = 0;
  HALO_TRY(attr_fit_int(r, at, minus, magnitude, type, &value));
  *out = halo_mlir_text_new_int(r, type == HALO_PRED ? value != 0 : value, type);
  return HALO_OK;
}

static halo_status attr_float(halo_mlir_reader *r, const char *at, bool minus,
                              const halo_mlir_attr **out) {
  halo_text_number number;
  const char *scan = r->tok.start;
  halo_text_scan_number(&scan, &number);
  halo_mlir_text_advance(r);
  halo_type type;
  HALO_TRY(attr_number_type(r, HALO_F64, &type));
  if (type == HALO_TYPE_INVALID) {
    *out = halo_mlir_text_opaque(r, at, halo_mlir_text_here(r));
    return HALO_OK;
  }
  if (!halo_type_is_float(type))
    return halo_mlir_text_error(r, at, "a number with a point cannot be of this type");
  uint64_t bits;
  number.negative = minus;
  if (minus) number.value = -number.value;
  const char *fault = halo_text_encode_float(&number, type, &bits);
  if (fault) return halo_mlir_text_error(r, at, "%s", fault);
  halo_mlir_attr *attr = halo_mlir_text_new_attr(r, HALO_MLIR_FLOAT);
  attr->type = halo_mlir_text_scalar_type(r, type);
  attr->f = halo_float_decode(type, bits);
  *out = attr;
  return HALO_OK;
}

static halo_status attr_number(halo_mlir_reader *r, const halo_mlir_attr **out) {
  const char *at = r->tok.start;
  bool minus = halo_mlir_text_accept(r, '-');
  if (r->tok.kind == TOK_INT) return attr_int(r, at, minus, out);
  if (r->tok.kind == TOK_FLOAT) return attr_float(r, at, minus, out);
  return halo_mlir_text_expected(r, "a number");
}

/* ---- Lists ---- */

static halo_status attr_array(halo_mlir_reader *r, const halo_mlir_attr **out) {
  HALO_VEC(const halo_mlir_attr *) list = {0};
  halo_status status = HALO_OK;
  halo_mlir_text_advance(r);
  while (status == HALO_OK && r->tok.kind != ']') {
    const halo_mlir_attr *element = NULL;
    status = halo_mlir_text_attr(r, &element);
    halo_vec_push(&list, element);
    if (status == HALO_OK) status = halo_mlir_text_separator(r, ']', "',' or ']' after an element");
  }
  if (status == HALO_OK) {
    *out = halo_mlir_text_new_array(r, list.data, list.count);
    halo_mlir_text_advance(r);
  }
  halo_vec_deinit(&list);
  return status;
}

halo_status halo_mlir_text_ints(halo_mlir_reader *r, const halo_mlir_attr **out) {
  HALO_VEC(int64_t) list = {0};
  const char *at = r->tok.start;
  halo_status status = halo_mlir_text_expect(r, '[', "'[' and integers");
  while (status == HALO_OK && r->tok.kind != ']') {
    int64_t value = 0;
    status = halo_mlir_text_int(r, "an integer", &value);
    halo_vec_push(&list, value);
    if (status == HALO_OK) status = halo_mlir_text_separator(r, ']', "',' or ']' after an integer");
  }
  if (status == HALO_OK) {
    status = halo_mlir_text_new_list(r, at, list.data, list.count, out);
    halo_mlir_text_advance(r);
  }
  halo_vec_deinit(&list);
  return status;
}

static halo_status attr_key(halo_mlir_reader *r, const char **out) {
  size_t length;
  if (r->tok.kind == TOK_STRING)
    return halo_mlir_text_string(r, "the name of an attribute", out, &length);
  if (r->tok.kind != TOK_WORD) return halo_mlir_text_expected(r, "the name of an attribute or '}'");
  *out = halo_mlir_text_intern(r, r->tok.start, (size_t)(r->tok.end - r->tok.start));
  halo_mlir_text_advance(r);
  return HALO_OK;
}

halo_status halo_mlir_text_dict(halo_mlir_reader *r, halo_mlir_named_list *out) {
  HALO_TRY(halo_mlir_text_expect(r, '{', "'{' and attributes"));
  while (r->tok.kind != '}') {
    halo_mlir_named row;
    HALO_TRY(attr_key(r, &row.name));
    if (halo_mlir_text_accept(r, '=')) {
      HALO_TRY(halo_mlir_text_attr(r, &row.value));
    } else {
      row.value = halo_mlir_text_new_attr(r, HALO_MLIR_UNIT);
    }
    halo_vec_push(out, row);
    HALO_TRY(halo_mlir_text_separator(r, '}', "',' or '}' after an attribute"));
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

static int attr_by_name(const void *a, const void *b) {
  return strcmp(((const halo_mlir_named *)a)->name, ((const halo_mlir_named *)b)->name);
}

static halo_status attr_dict(halo_mlir_reader *r, const halo_mlir_attr **out) {
  halo_mlir_named_list rows = {0};
  halo_status status = halo_mlir_text_dict(r, &rows);
  if (status == HALO_OK) {
    if (rows.count > 1) qsort(rows.data, (size_t)rows.count, sizeof *rows.data, attr_by_name);
    *out = halo_mlir_text_new_fields(r, HALO_MLIR_DICT, NULL, rows.data, rows.count);
  }
  halo_vec_deinit(&rows);
  return status;
}

/* ---- Words ---- */

/* "@f", "@a::@b". */
static halo_status attr_symbol(halo_mlir_reader *r, const halo_mlir_attr **out) {
  const char *text;
  size_t length;
  HALO_TRY(halo_mlir_text_symbol(r, "a symbol", &text, &length));
  while (r->tok.kind == ':' && *r->at == ':') {
    const char *inner;
    size_t inner_length;
    halo_mlir_text_advance(r);
    halo_mlir_text_advance(r);
    HALO_TRY(halo_mlir_text_symbol(r, "a symbol after '::'", &inner, &inner_length));
    text = halo_arena_printf(r->arena, "%s::%s", text, inner);
    length = strlen(text);
  }
  *out = halo_mlir_text_new_string(r, HALO_MLIR_SYMBOL, text, length);
  return HALO_OK;
}

static halo_status attr_string(halo_mlir_reader *r, const halo_mlir_attr **out) {
  const char *text;
  size_t length;
  HALO_TRY(halo_mlir_text_string(r, "a string", &text, &length));
  *out = halo_mlir_text_new_string(r, HALO_MLIR_STRING, text, length);
  if (!halo_mlir_text_accept(r, ':')) return HALO_OK;
  const halo_mlir_type *ignored;
  return halo_mlir_text_type(r, &ignored);
}

/* An attribute that begins with this word and has its contents in brackets, which nobody asks for. */
static halo_status attr_bracketed(halo_mlir_reader *r, const halo_mlir_attr **out) {
  const char *start = r->tok.start;
  halo_mlir_text_advance(r);
  if (r->tok.kind != '<' && r->tok.kind != '(' && r->tok.kind != '[')
    return halo_mlir_text_expected(r, "'<' or '('");
  while (r->tok.kind == '<' || r->tok.kind == '(' || r->tok.kind == '[')
    HALO_TRY(halo_mlir_text_skip_brackets(r));
  *out = halo_mlir_text_opaque(r, start, halo_mlir_text_here(r));
  return HALO_OK;
}

static halo_status attr_word(halo_mlir_reader *r, const halo_mlir_attr **out) {
  bool yes = halo_mlir_text_is(r, "true");
  if (yes || halo_mlir_text_is(r, "false")) {
    *out = halo_mlir_text_new_int(r, yes, HALO_PRED);
    halo_mlir_text_advance(r);
    return HALO_OK;
  }
  if (halo_mlir_text_accept_word(r, "unit")) {
    *out = halo_mlir_text_new_attr(r, HALO_MLIR_UNIT);
    return HALO_OK;
  }
  if (halo_mlir_text_is(r, "dense")) return halo_mlir_text_dense(r, out);
  if (halo_mlir_text_is(r, "dense_resource")) return halo_mlir_text_dense_resource(r, out);
  if (halo_mlir_text_is(r, "array")) return halo_mlir_text_dense_array(r, out);
  if (halo_mlir_text_is(r, "sparse"))
    return halo_mlir_text_error_as(r, HALO_UNIMPLEMENTED, r->tok.start,
                                   "sparse constants are not supported");
  static const char *const bracketed[] = {"affine_map", "affine_set", "loc", "strided", "distinct"};
  for (size_t i = 0; i < sizeof bracketed / sizeof *bracketed; i++)
    if (halo_mlir_text_is(r, bracketed[i])) return attr_bracketed(r, out);
  return halo_mlir_text_expected(r, "an attribute");
}

static halo_status attr_read(halo_mlir_reader *r, const halo_mlir_attr **out) {
  if (halo_mlir_text_at_type(r)) {
    const halo_mlir_type *type;
    HALO_TRY(halo_mlir_text_type(r, &type));
    halo_mlir_attr *attr = halo_mlir_text_new_attr(r, HALO_MLIR_TYPE_ATTR);
    attr->type = type;
    *out = attr;
    return HALO_OK;
  }
  switch (r->tok.kind) {
    case '{': return attr_dict(r, out);
    case '[': return attr_array(r, out);
    case '<': return halo_mlir_text_fields(r, "", out);
    case '-':
    case TOK_INT:
    case TOK_FLOAT: return attr_number(r, out);
    case TOK_STRING: return attr_string(r, out);
    case TOK_SYMBOL: return attr_symbol(r, out);
    case TOK_HASH: return halo_mlir_text_dialect_attr(r, out);
    case TOK_WORD: return attr_word(r, out);
    default: return halo_mlir_text_expected(r, "an attribute");
  }
}

halo_status halo_mlir_text_attr(halo_mlir_reader *r, const halo_mlir_attr **out) {
  HALO_TRY(halo_mlir_text_enter(r));
  HALO_TRY(attr_read(r, out));
  halo_mlir_text_leave(r);
  return HALO_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_type.c: types in MLIR text. */
#include "base/strbuf.h"
#include "stablehlo/text_reader.h"

#include <string.h>

/* ---- Making ---- */

const halo_mlir_type *halo_mlir_text_scalar_type(halo_mlir_reader *r, halo_type element) {
  if (!r->scalars[element]) {
    halo_mlir_type *type = halo_arena_new(r->arena, halo_mlir_type);
    type->kind = HALO_MLIR_SCALAR;
    type->element = element;
    r->scalars[element] = type;
  }
  return r->scalars[element];
}

const halo_mlir_type *halo_mlir_text_tensor_type(halo_mlir_reader *r, halo_type element,
                                                 int32_t rank, const int64_t *dims) {
  halo_mlir_type *type = halo_arena_new(r->arena, halo_mlir_type);
  type->kind = HALO_MLIR_TENSOR;
  type->element = element;
  type->rank = rank;
  type->dims = halo_arena_copy(r->arena, dims, sizeof *dims * (size_t)rank);
  return type;
}

const halo_mlir_type *halo_mlir_text_function_type(halo_mlir_reader *r,
                                                   const halo_mlir_type_list *inputs,
                                                   const halo_mlir_type_list *results) {
  halo_mlir_type *type = halo_arena_new(r->arena, halo_mlir_type);
  type->kind = HALO_MLIR_FUNCTION;
  type->input_count = inputs->count;
  type->inputs =
      halo_arena_copy(r->arena, inputs->data, sizeof *inputs->data * (size_t)inputs->count);
  type->result_count = results->count;
  type->results =
      halo_arena_copy(r->arena, results->data, sizeof *results->data * (size_t)results->count);
  return type;
}

const char *halo_mlir_text_type_name(halo_mlir_reader *r, const halo_mlir_type *type) {
  halo_strbuf text = {0};
  halo_mlir_type_print(&text, type);
  const char *name = halo_arena_strdup(r->arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return name;
}

/* What HLO has no type for, as it is written. */
static const halo_mlir_type *type_other(halo_mlir_reader *r, const char *start, const char *end) {
  while (end > start && (end[-1] == ' ' || end[-1] == '\n')) end--;
  halo_mlir_type *type = halo_arena_new(r->arena, halo_mlir_type);
  type->kind = HALO_MLIR_OTHER;
  type->text = halo_arena_strndup(r->arena, start, (size_t)(end - start));
  return type;
}

/* ---- Words ---- */

static halo_type type_scalar(const halo_mlir_token *tok) {
  static const struct {
    const char *word;
    halo_type type;
  } words[] = {
      {"f32", HALO_F32},
      {"i32", HALO_S32},
      {"i1", HALO_PRED},
      {"i64", HALO_S64},
      {"ui32", HALO_U32},
      {"f64", HALO_F64},
      {"bf16", HALO_BF16},
      {"f16", HALO_F16},
      {"i8", HALO_S8},
      {"ui8", HALO_U8},
      {"i16", HALO_S16},
      {"ui16", HALO_U16},
      {"ui64", HALO_U64},
      {"index", HALO_S64},
      {"i2", HALO_S2},
      {"i4", HALO_S4},
      {"ui2", HALO_U2},
      {"ui4", HALO_U4},
      {"si2", HALO_S2},
      {"si4", HALO_S4},
      {"si8", HALO_S8},
      {"si16", HALO_S16},
      {"si32", HALO_S32},
      {"si64", HALO_S64},
      {"f4E2M1FN", HALO_F4E2M1FN},
      {"f8E3M4", HALO_F8E3M4},
      {"f8E4M3", HALO_F8E4M3},
      {"f8E4M3FN", HALO_F8E4M3FN},
      {"f8E4M3B11FNUZ", HALO_F8E4M3B11FNUZ},
      {"f8E4M3FNUZ", HALO_F8E4M3FNUZ},
      {"f8E5M2", HALO_F8E5M2},
      {"f8E5M2FNUZ", HALO_F8E5M2FNUZ},
      {"f8E8M0FNU", HALO_F8E8M0FNU},
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (halo_mlir_token_is(tok, words[i].word)) return words[i].type;
  return HALO_TYPE_INVALID;
}

/* A builtin type that HLO has not: a number's with another width, or one of these words. */
static bool type_is_other(const halo_mlir_token *tok) {
  static const char *const words[] = {"none",     "tf32",     "f80",    "f128",
                                      "f6E2M3FN", "f6E3M2FN", "memref", "vector"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (halo_mlir_token_is(tok, words[i])) return true;
  const char *at = tok->start;
  at += *at == 's' || *at == 'u';
  if (tok->kind != TOK_WORD || *at++ != 'i' || at == tok->end) return false;
  while (at < tok->end && halo_mlir_is_digit(*at)) at++;
  return at == tok->end;
}

bool halo_mlir_text_at_type(const halo_mlir_reader *r) {
  const halo_mlir_token *tok = &r->tok;
  if (tok->kind == TOK_BANG || tok->kind == '(') return true;
  return tok->kind == TOK_WORD &&
         (type_scalar(tok) != HALO_TYPE_INVALID || halo_mlir_token_is(tok, "tensor") ||
          halo_mlir_token_is(tok, "complex") || halo_mlir_token_is(tok, "tuple") ||
          type_is_other(tok));
}

/* ---- Tensors ---- */

typedef struct type_extents {
  int64_t dims[HALO_MAX_RANK];
  int64_t bounds[HALO_MAX_RANK];
  int32_t rank;
  bool bounded;
  bool other; /* `*`, or an encoding that is not known */
} type_extents;

/* "4x?x" from tok.start on, byte by byte: tokens would take `0x4` for a hexadecimal number. */
static halo_status type_dimensions(halo_mlir_reader *r, type_extents *extents) {
  const char *at = r->tok.start;
  if (r->tok.kind == TOK_ERROR) return halo_mlir_text_expected(r, "a dimension or an element type");
  for (;;) {
    at = halo_mlir_text_skip_blank(at);
    const char *start = at;
    int64_t extent = 0;
    if (*at == '?' || *at == '*') {
      extents->other = extents->other || *at == '*';
      extent = HALO_MLIR_DYNAMIC;
      at++;
    } else if (halo_mlir_is_digit(*at)) {
      for (; halo_mlir_is_digit(*at); at++) {
        if (__builtin_mul_overflow(extent, 10, &extent) ||
            __builtin_add_overflow(extent, *at - '0', &extent))
          return halo_mlir_text_error(r, start, "this dimension does not fit 64 bits");
      }
    } else {
      halo_mlir_text_resume(r, at);
      return HALO_OK;
    }
    at = halo_mlir_text_skip_blank(at);
    if (*at != 'x') return halo_mlir_text_error(r, at, "expected 'x' after a dimension");
    at++;
    if (extents->rank == HALO_MAX_RANK)
      return halo_mlir_text_error(r, start, "expected at most %d dimensions", HALO_MAX_RANK);
    extents->dims[extents->rank++] = extent;
  }
}

static halo_status type_check_size(halo_mlir_reader *r, const char *at, const type_extents *extents,
                                   halo_type element) {
  int64_t size = (int64_t)halo_type_size(element);
  for (int32_t d = 0; d < extents->rank; d++) {
    int64_t extent = extents->dims[d];
    if (extent == 0 || extent == HALO_MLIR_DYNAMIC) continue;
    if (__builtin_mul_overflow(size, extent, &size))
      return halo_mlir_text_error(r, at, "a tensor of this type has too many elements");
  }
  return HALO_OK;
}

/* "[8, ?]" or "8, ?" of the encoding of bounds. */
static halo_status type_bounds(halo_mlir_reader *r, int closer, type_extents *extents) {
  const char *at = r->tok.start;
  int32_t count = 0;
  while (r->tok.kind != closer) {
    int64_t bound = HALO_MLIR_DYNAMIC;
    if (!halo_mlir_text_accept(r, '?')) HALO_TRY(halo_mlir_text_int(r, "a bound or '?'", &bound));
    if (bound < 0 && bound != HALO_MLIR_DYNAMIC)
      return halo_mlir_text_error(r, at, "a bound cannot be negative");
    if (count < extents->rank) extents->bounds[count] = bound;
    count++;
    HALO_TRY(halo_mlir_text_separator(r, closer, "',' or the end of the bounds"));
  }
  if (count != extents->rank)
    return halo_mlir_text_error(r, at, "expected %d bounds, one a dimension", extents->rank);
  extents->bounded = true;
  halo_mlir_text_advance(r);
  return HALO_OK;
}

/* What stands behind the element type. */
static halo_status type_encoding(halo_mlir_reader *r, type_extents *extents) {
  static const char bounds[] = "stablehlo.bounds", extensions[] = "stablehlo.type_extensions";
  size_t length = (size_t)(r->tok.end - r->tok.start);
  bool is_hash = r->tok.kind == TOK_HASH;
  bool is_bounds =
      is_hash && length == sizeof bounds - 1 && memcmp(r->tok.start, bounds, length) == 0;
  bool is_extensions =
      is_hash && length == sizeof extensions - 1 && memcmp(r->tok.start, extensions, length) == 0;
  if (is_bounds || is_extensions) {
    halo_mlir_text_advance(r);
    HALO_TRY(halo_mlir_text_expect(r, '<', "'<' and bounds"));
    if (is_bounds) return type_bounds(r, '>', extents);
    HALO_TRY(halo_mlir_text_expect_word(r, "bounds"));
    HALO_TRY(halo_mlir_text_expect(r, '=', "'=' after bounds"));
    HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and bounds"));
    HALO_TRY(type_bounds(r, ']', extents));
    return halo_mlir_text_expect(r, '>', "'>' after the bounds");
  }
  const halo_mlir_attr *ignored;
  extents->other = true;
  return halo_mlir_text_attr(r, &ignored);
}

static halo_status type_tensor(halo_mlir_reader *r, const char *start, const halo_mlir_type **out) {
  type_extents extents = {.rank = 0};
  HALO_TRY(type_dimensions(r, &extents));
  const halo_mlir_type *element;
  const char *element_at = r->tok.start;
  HALO_TRY(halo_mlir_text_type(r, &element));
  if (halo_mlir_text_accept(r, ',')) HALO_TRY(type_encoding(r, &extents));
  if (r->tok.kind != '>') return halo_mlir_text_expected(r, "'>' after the element type");
  if (extents.other || element->kind != HALO_MLIR_SCALAR) {
    *out = type_other(r, start, r->tok.end);
  } else {
    HALO_TRY(type_check_size(r, element_at, &extents, element->element));
    halo_mlir_type *type = (halo_mlir_type *)halo_mlir_text_tensor_type(r, element->element,
                                                                        extents.rank, extents.dims);
    if (extents.bounded)
      type->bounds =
          halo_arena_copy(r->arena, extents.bounds, sizeof *extents.bounds * (size_t)extents.rank);
    *out = type;
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

/* Programs repeat their types, most of which are plain: these are read once. */
static halo_status type_known_tensor(halo_mlir_reader *r, const halo_mlir_type **out) {
  const char *start = r->tok.start;
  halo_mlir_text_advance(r);
  if (r->tok.kind != '<') return halo_mlir_text_expected(r, "'<' after tensor");
  const char *first = r->tok.end, *last = first;
  while (halo_mlir_is_digit(*last) || (*last >= 'a' && *last <= 'z') ||
         (*last >= 'A' && *last <= 'Z') || *last == '?')
    last++;
  bool plain = *last == '>';
  size_t length = (size_t)(last - first);
  const halo_mlir_type *known = plain ? halo_map_get(&r->types, first, length) : NULL;
  if (known) {
    halo_mlir_text_resume(r, last + 1);
    *out = known;
    return HALO_OK;
  }
  halo_mlir_text_advance(r);
  HALO_TRY(type_tensor(r, start, out));
  if (plain) halo_map_set(&r->types, first, length, (void *)*out);
  return HALO_OK;
}

/* ---- Everything else ---- */

static halo_status type_complex(halo_mlir_reader *r, const halo_mlir_type **out) {
  const char *start = r->tok.start;
  const halo_mlir_type *part;
  halo_mlir_text_advance(r);
  HALO_TRY(halo_mlir_text_expect(r, '<', "'<' after complex"));
  HALO_TRY(halo_mlir_text_type(r, &part));
  if (r->tok.kind != '>') return halo_mlir_text_expected(r, "'>' after the type of the parts");
  bool scalar = part->kind == HALO_MLIR_SCALAR;
  if (scalar && part->element == HALO_F32) {
    *out = halo_mlir_text_scalar_type(r, HALO_C64);
  } else if (scalar && part->element == HALO_F64) {
    *out = halo_mlir_text_scalar_type(r, HALO_C128);
  } else {
    *out = type_other(r, start, r->tok.end);
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

/* "<A, B>" */
static halo_status type_elements(halo_mlir_reader *r, halo_mlir_type_kind kind,
                                 const halo_mlir_type **out) {
  halo_mlir_type_list list = {0};
  halo_status status = halo_mlir_text_expect(r, '<', "'<' and types");
  while (status == HALO_OK && r->tok.kind != '>') {
    const halo_mlir_type *type = NULL;
    status = halo_mlir_text_type(r, &type);
    halo_vec_push(&list, type);
    if (status == HALO_OK) status = halo_mlir_text_separator(r, '>', "',' or '>' after a type");
  }
  if (status == HALO_OK) {
    halo_mlir_type *type = halo_arena_new(r->arena, halo_mlir_type);
    type->kind = kind;
    type->input_count = list.count;
    type->inputs = halo_arena_copy(r->arena, list.data, sizeof *list.data * (size_t)list.count);
    *out = type;
    halo_mlir_text_advance(r);
  }
  halo_vec_deinit(&list);
  return status;
}

static bool type_name_is(const halo_mlir_token *tok, const char *name) {
  size_t length = strlen(name);
  return (size_t)(tok->end - tok->start) == length && memcmp(tok->start, name, length) == 0;
}

static halo_status type_dialect(halo_mlir_reader *r, const halo_mlir_type **out) {
  halo_mlir_token name = r->tok;
  if (!memchr(name.start, '.', (size_t)(name.end - name.start)) && *name.end != '<')
    return halo_mlir_text_type_alias(r, out);
  halo_mlir_text_advance(r);
  if (type_name_is(&name, "stablehlo.token")) {
    halo_mlir_type *type = halo_arena_new(r->arena, halo_mlir_type);
    type->kind = HALO_MLIR_TOKEN;
    *out = type;
    return HALO_OK;
  }
  if (type_name_is(&name, "stablehlo.future")) return type_elements(r, HALO_MLIR_FUTURE, out);
  const char *end = name.end;
  if (r->tok.kind == '<') {
    HALO_TRY(halo_mlir_text_skip_brackets(r));
    end = halo_mlir_text_here(r);
  }
  *out = type_other(r, name.start - 1, end);
  return HALO_OK;
}

static halo_status type_function(halo_mlir_reader *r, const halo_mlir_type **out) {
  halo_mlir_type_list inputs = {0}, results = {0};
  halo_status status = halo_mlir_text_type_list(r, &inputs);
  if (status == HALO_OK)
    status = halo_mlir_text_expect(r, TOK_ARROW, "'->' and the types of results");
  if (status == HALO_OK) status = halo_mlir_text_type_list(r, &results);
  if (status == HALO_OK) *out = halo_mlir_text_function_type(r, &inputs, &results);
  halo_vec_deinit(&inputs);
  halo_vec_deinit(&results);
  return status;
}

static halo_status type_read(halo_mlir_reader *r, const halo_mlir_type **out) {
  halo_mlir_token tok = r->tok;
  if (tok.kind == '(') return type_function(r, out);
  if (tok.kind == TOK_BANG) return type_dialect(r, out);
  if (halo_mlir_text_is(r, "tensor")) return type_known_tensor(r, out);
  if (halo_mlir_text_is(r, "complex")) return type_complex(r, out);
  if (halo_mlir_text_is(r, "tuple")) {
    halo_mlir_text_advance(r);
    return type_elements(r, HALO_MLIR_TUPLE, out);
  }
  halo_type scalar = type_scalar(&tok);
  if (scalar != HALO_TYPE_INVALID) {
    halo_mlir_text_advance(r);
    *out = halo_mlir_text_scalar_type(r, scalar);
    return HALO_OK;
  }
  if (!type_is_other(&tok)) return halo_mlir_text_expected(r, "a type");
  halo_mlir_text_advance(r);
  const char *end = tok.end;
  if (r->tok.kind == '<') {
    HALO_TRY(halo_mlir_text_skip_brackets(r));
    end = halo_mlir_text_here(r);
  }
  *out = type_other(r, tok.start, end);
  return HALO_OK;
}

halo_status halo_mlir_text_type(halo_mlir_reader *r, const halo_mlir_type **out) {
  HALO_TRY(halo_mlir_text_enter(r));
  HALO_TRY(type_read(r, out));
  halo_mlir_text_leave(r);
  return HALO_OK;
}

halo_status halo_mlir_text_type_list(halo_mlir_reader *r, halo_mlir_type_list *out) {
  const halo_mlir_type *type;
  if (!halo_mlir_text_accept(r, '(')) {
    HALO_TRY(halo_mlir_text_type(r, &type));
    halo_vec_push(out, type);
    return HALO_OK;
  }
  while (r->tok.kind != ')') {
    HALO_TRY(halo_mlir_text_type(r, &type));
    halo_vec_push(out, type);
    HALO_TRY(halo_mlir_text_separator(r, ')', "',' or ')' after a type"));
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

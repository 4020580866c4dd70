/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_type.c: types, of the dialects builtin and vhlo. */
#include "stablehlo/bytecode.h"

#include <inttypes.h>
#include <string.h>

/* Types that stand in the text of another are shortened to so many bytes: one in another in another, each with all
 * of the text, would take memory without end. */
enum { LONGEST_TEXT = 400 };

#define TENSOR "tensor<"

/* ---- Scalars ---- */

/* Types without parts: those that HLO has, and names of the others. */
typedef struct plain_type {
  halo_type element;
  const char *text;
} plain_type;

static const plain_type vhlo_plain[] = {
    [0] = {HALO_PRED},
    [2] = {HALO_BF16},
    [3] = {HALO_F16},
    [4] = {HALO_F32},
    [5] = {HALO_F64},
    [6] = {HALO_F8E4M3FN},
    [7] = {HALO_F8E5M2},
    [9] = {HALO_S64},
    [10] = {HALO_S4},
    [11] = {HALO_S8},
    [12] = {HALO_S16},
    [13] = {HALO_S32},
    [14] = {HALO_S64},
    [15] = {HALO_U4},
    [16] = {HALO_U8},
    [17] = {HALO_U16},
    [18] = {HALO_U32},
    [19] = {HALO_U64},
    [26] = {0, "!shape.witness"},
    [27] = {HALO_F8E4M3FNUZ},
    [28] = {HALO_F8E5M2FNUZ},
    [29] = {HALO_F8E4M3B11FNUZ},
    [31] = {HALO_S2},
    [32] = {HALO_U2},
    [33] = {0, "none"},
    [34] = {0, "tf32"},
    [35] = {HALO_F8E4M3},
    [36] = {HALO_F8E3M4},
    [37] = {HALO_F4E2M1FN},
    [38] = {0, "f6E2M3FN"},
    [39] = {0, "f6E3M2FN"},
    [40] = {HALO_F8E8M0FNU},
};
static const plain_type builtin_plain[] = {
    [1] = {HALO_S64},         [3] = {HALO_BF16},        [4] = {HALO_F16},
    [5] = {HALO_F32},         [6] = {HALO_F64},         [7] = {0, "f80"},
    [8] = {0, "f128"},        [12] = {0, "none"},       [21] = {0, "tf32"},
    [22] = {HALO_F8E5M2},     [23] = {HALO_F8E4M3},     [24] = {HALO_F8E4M3FN},
    [25] = {HALO_F8E5M2FNUZ}, [26] = {HALO_F8E4M3FNUZ}, [27] = {HALO_F8E4M3B11FNUZ},
    [28] = {HALO_F8E3M4},     [29] = {HALO_F4E2M1FN},   [30] = {0, "f6E2M3FN"},
    [31] = {0, "f6E3M2FN"},   [32] = {HALO_F8E8M0FNU},
};

static void type_scalar(halo_mlir_type *out, halo_type element) {
  out->kind = HALO_MLIR_SCALAR;
  out->element = element;
}

static void type_other(halo_mlir_type *out, const char *text) {
  out->kind = HALO_MLIR_OTHER;
  out->text = text;
}

static bool type_plain(const plain_type *row, halo_mlir_type *out) {
  if (row->element) type_scalar(out, row->element);
  if (row->text) type_other(out, row->text);
  return row->element || row->text;
}

static halo_type integer_type(uint64_t width, bool is_unsigned) {
  switch (width) {
    case 1: return is_unsigned ? HALO_TYPE_INVALID : HALO_PRED;
    case 2: return is_unsigned ? HALO_U2 : HALO_S2;
    case 4: return is_unsigned ? HALO_U4 : HALO_S4;
    case 8: return is_unsigned ? HALO_U8 : HALO_S8;
    case 16: return is_unsigned ? HALO_U16 : HALO_S16;
    case 32: return is_unsigned ? HALO_U32 : HALO_S32;
    case 64: return is_unsigned ? HALO_U64 : HALO_S64;
    default: return HALO_TYPE_INVALID;
  }
}

static halo_status decode_integer(halo_bytecode_cursor *body, halo_mlir_type *out) {
  uint64_t value;
  HALO_TRY(halo_bytecode_vi(body, &value));
  bool is_unsigned = (value & 3) == 2;
  halo_type element = integer_type(value >> 2, is_unsigned);
  if (element)
    type_scalar(out, element);
  else
    type_other(out, halo_arena_printf(&body->reader->program->arena, "%s%" PRIu64,
                                      is_unsigned ? "ui" : "i", value >> 2));
  return HALO_OK;
}

static halo_status decode_complex(halo_bytecode_cursor *body, halo_mlir_type *out) {
  const halo_mlir_type *part;
  HALO_TRY(halo_bytecode_type(body, &part));
  if (part->kind == HALO_MLIR_SCALAR && part->element == HALO_F32)
    type_scalar(out, HALO_C64);
  else if (part->kind == HALO_MLIR_SCALAR && part->element == HALO_F64)
    type_scalar(out, HALO_C128);
  else
    type_other(out, "complex of something else than f32 and f64");
  return HALO_OK;
}

/* ---- Types of other types ---- */

static halo_status decode_list(halo_bytecode_cursor *body, const halo_mlir_type *const **out,
                               int32_t *count) {
  HALO_TRY(halo_bytecode_count(body, count));
  const halo_mlir_type **list =
      halo_arena_array(&body->reader->program->arena, const halo_mlir_type *, *count);
  for (int32_t i = 0; i < *count; i++) HALO_TRY(halo_bytecode_type(body, &list[i]));
  *out = list;
  return HALO_OK;
}

static halo_status decode_group(halo_bytecode_cursor *body, halo_mlir_type_kind kind,
                                halo_mlir_type *out) {
  out->kind = kind;
  HALO_TRY(decode_list(body, &out->inputs, &out->input_count));
  if (kind != HALO_MLIR_FUNCTION) return HALO_OK;
  return decode_list(body, &out->results, &out->result_count);
}

/* The dimensions and the element behind `opening` ("tensor<"). */
static void type_other_of(halo_arena *arena, halo_mlir_type *out, const char *opening,
                          const halo_mlir_type *element) {
  bool brief = element->kind == HALO_MLIR_SCALAR ||
               (element->kind == HALO_MLIR_OTHER &&
                strnlen(element->text, LONGEST_TEXT + 1) <= LONGEST_TEXT);
  halo_strbuf text = {0};
  halo_strbuf_append(&text, opening);
  for (int32_t d = 0; d < out->rank; d++) {
    if (out->dims[d] == HALO_MLIR_DYNAMIC)
      halo_strbuf_append(&text, "?x");
    else
      halo_strbuf_printf(&text, "%" PRId64 "x", out->dims[d]);
  }
  if (brief)
    halo_mlir_type_print(&text, element);
  else
    halo_strbuf_append(&text, "...");
  halo_strbuf_char(&text, '>');
  type_other(out, halo_arena_strdup(arena, halo_strbuf_text(&text)));
  out->rank = 0;
  out->dims = NULL;
  halo_strbuf_deinit(&text);
}

static halo_status decode_dims(halo_bytecode_cursor *body, halo_mlir_type *out) {
  halo_bytecode_cursor start = *body;
  HALO_TRY(halo_bytecode_count(body, &out->rank));
  if (out->rank > HALO_MAX_RANK)
    return halo_bytecode_refuse(&start, "a tensor of rank %d; ranks above %d are not supported",
                                out->rank, HALO_MAX_RANK);
  int64_t *dims = halo_arena_array(&body->reader->program->arena, int64_t, out->rank);
  for (int32_t d = 0; d < out->rank; d++) {
    HALO_TRY(halo_bytecode_si(body, &dims[d]));
    if (dims[d] < 0 && dims[d] != HALO_MLIR_DYNAMIC)
      return halo_bytecode_fail(&start, "dimension %d of a tensor is %" PRId64, d, dims[d]);
  }
  out->dims = dims;
  return HALO_OK;
}

static halo_status decode_bounds(const halo_bytecode_cursor *start, const halo_mlir_attr *encoding,
                                 halo_mlir_type *out) {
  int32_t count = encoding->kind == HALO_MLIR_STRUCT && strcmp(encoding->dict.text, "bounds") == 0
                      ? encoding->dict.data[0].value->array.count
                      : -1;
  if (count < 0) return HALO_OK; /* another dialect's, which says nothing about the values */
  const halo_mlir_attr *const *list = encoding->dict.data[0].value->array.data;
  if (count != out->rank)
    return halo_bytecode_fail(start, "%d bounds for a tensor of rank %d", count, out->rank);
  int64_t *bounds = halo_arena_array(&start->reader->program->arena, int64_t, count);
  for (int32_t d = 0; d < count; d++) {
    bounds[d] = list[d]->i;
    if (bounds[d] < 0 && bounds[d] != HALO_MLIR_DYNAMIC)
      return halo_bytecode_fail(start, "the bound of dimension %d is %" PRId64, d, bounds[d]);
  }
  out->bounds = bounds;
  return HALO_OK;
}

static halo_status decode_tensor(halo_bytecode_cursor *body, bool encoded, const char *opening,
                                 halo_mlir_type *out) {
  halo_bytecode_cursor start = *body;
  const halo_mlir_attr *encoding = NULL;
  const halo_mlir_type *element;
  if (encoded) HALO_TRY(halo_bytecode_attr(body, &encoding));
  HALO_TRY(decode_dims(body, out));
  HALO_TRY(halo_bytecode_type(body, &element));
  if (element->kind != HALO_MLIR_SCALAR || strcmp(opening, TENSOR) != 0) {
    type_other_of(&body->reader->program->arena, out, opening, element);
    return HALO_OK;
  }
  out->kind = HALO_MLIR_TENSOR;
  out->element = element->element;
  return encoding ? decode_bounds(&start, encoding, out) : HALO_OK;
}

static halo_status decode_unranked(halo_bytecode_cursor *body, const char *opening,
                                   halo_mlir_type *out) {
  const halo_mlir_type *element;
  HALO_TRY(halo_bytecode_type(body, &element));
  type_other_of(&body->reader->program->arena, out, opening, element);
  return HALO_OK;
}

/* ---- Quantised types ---- */

static halo_status quant_scale(halo_bytecode_cursor *body, double *out) {
  uint64_t bits;
  HALO_TRY(halo_bytecode_bits(body, 64, &bits));
  memcpy(out, &bits, sizeof *out);
  return HALO_OK;
}

static halo_status quant_channels(halo_bytecode_cursor *body, halo_strbuf *text) {
  int32_t count, points;
  HALO_TRY(halo_bytecode_count(body, &count));
  halo_bytecode_cursor scales = *body;
  for (int32_t i = 0; i < count; i++) {
    double ignored;
    HALO_TRY(quant_scale(body, &ignored));
  }
  halo_bytecode_cursor start = *body;
  HALO_TRY(halo_bytecode_count(body, &points));
  if (points != count)
    return halo_bytecode_fail(&start, "%d scales and %d zero points", count, points);
  halo_strbuf_append(text, "{");
  for (int32_t i = 0; i < count; i++) {
    double scale;
    int64_t point;
    HALO_TRY(quant_scale(&scales, &scale));
    HALO_TRY(halo_bytecode_si(body, &point));
    halo_strbuf_printf(text, "%s%.17g:%" PRId64, i ? "," : "", scale, point);
  }
  halo_strbuf_append(text, "}");
  return HALO_OK;
}

static halo_status quant_text(halo_bytecode_cursor *body, bool per_axis, halo_strbuf *text) {
  uint64_t flags, axis = 0;
  const halo_mlir_type *storage, *expressed;
  double scale = 0;
  int64_t point = 0, low, high;
  HALO_TRY(halo_bytecode_vi(body, &flags));
  HALO_TRY(halo_bytecode_type(body, &storage));
  HALO_TRY(halo_bytecode_type(body, &expressed));
  if (storage->kind != HALO_MLIR_SCALAR || expressed->kind != HALO_MLIR_SCALAR)
    return halo_bytecode_fail(body, "a quantised type of something else than numbers");
  if (per_axis) {
    HALO_TRY(halo_bytecode_vi(body, &axis));
  } else {
    HALO_TRY(quant_scale(body, &scale));
    HALO_TRY(halo_bytecode_si(body, &point));
  }
  HALO_TRY(halo_bytecode_si(body, &low));
  HALO_TRY(halo_bytecode_si(body, &high));
  halo_strbuf_append(text, "!quant.uniform<");
  halo_mlir_type_print(text, storage);
  halo_strbuf_printf(text, "<%" PRId64 ":%" PRId64 ">:", low, high);
  halo_mlir_type_print(text, expressed);
  if (per_axis) {
    halo_strbuf_printf(text, ":%" PRIu64 ", ", axis);
    HALO_TRY(quant_channels(body, text));
  } else {
    halo_strbuf_printf(text, ", %.17g:%" PRId64, scale, point);
  }
  halo_strbuf_append(text, ">");
  return HALO_OK;
}

static halo_status decode_quant(halo_bytecode_cursor *body, bool per_axis, halo_mlir_type *out) {
  halo_strbuf text = {0};
  halo_status status = quant_text(body, per_axis, &text);
  if (status == HALO_OK)
    type_other(out, halo_arena_strdup(&body->reader->program->arena, halo_strbuf_text(&text)));
  halo_strbuf_deinit(&text);
  return status;
}

/* ---- Dialects ---- */

enum { VHLO_PLAIN = sizeof vhlo_plain / sizeof *vhlo_plain };
enum { BUILTIN_PLAIN = sizeof builtin_plain / sizeof *builtin_plain };

static halo_status decode_vhlo(halo_bytecode_cursor *body, uint64_t code, halo_mlir_type *out) {
  if (code < VHLO_PLAIN && type_plain(&vhlo_plain[code], out)) return HALO_OK;
  switch (code) {
    case 1: return decode_complex(body, out);
    case 8: return decode_group(body, HALO_MLIR_FUNCTION, out);
    case 20: return decode_tensor(body, false, TENSOR, out);
    case 21: return decode_tensor(body, true, TENSOR, out);
    case 22: out->kind = HALO_MLIR_TOKEN; return HALO_OK;
    case 23: return decode_group(body, HALO_MLIR_TUPLE, out);
    case 24: return decode_quant(body, false, out);
    case 25: return decode_unranked(body, "tensor<*x", out);
    case 30: return decode_quant(body, true, out);
    case 41: return decode_tensor(body, false, "memref<", out);
    case 42: return decode_group(body, HALO_MLIR_FUTURE, out);
    default:
      return halo_bytecode_refuse(body, "VHLO's type of code %" PRIu64 " is not known", code);
  }
}

static halo_status decode_builtin(halo_bytecode_cursor *body, uint64_t code, halo_mlir_type *out) {
  if (code < BUILTIN_PLAIN && type_plain(&builtin_plain[code], out)) return HALO_OK;
  switch (code) {
    case 0: return decode_integer(body, out);
    case 2: return decode_group(body, HALO_MLIR_FUNCTION, out);
    case 9: return decode_complex(body, out);
    case 13: return decode_tensor(body, false, TENSOR, out);
    case 14: return decode_tensor(body, true, TENSOR, out);
    case 15: return decode_group(body, HALO_MLIR_TUPLE, out);
    case 18: return decode_unranked(body, "tensor<*x", out);
    default: /* buffers and vectors, which no operation of a program has */
      type_other(out, "a type of MLIR that StableHLO has not");
      body->at = body->end;
      return HALO_OK;
  }
}

/* Types that have no code are written as text; of those in use these are numbers. */
static halo_status decode_text(halo_bytecode_cursor *body, halo_mlir_type *out) {
  static const halo_type named[] = {HALO_F8E4M3FN,      HALO_F8E5M2,   HALO_F8E4M3FNUZ,
                                    HALO_F8E5M2FNUZ,    HALO_F8E4M3,   HALO_F8E3M4,
                                    HALO_F8E4M3B11FNUZ, HALO_F4E2M1FN, HALO_F8E8M0FNU};
  const char *text = (const char *)body->at;
  size_t size = halo_bytecode_left(body);
  if (!size || text[size - 1]) return halo_bytecode_fail(body, "the text of a type does not end");
  body->at = body->end;
  halo_strbuf name = {0};
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    halo_mlir_type scalar = {.kind = HALO_MLIR_SCALAR, .element = named[i]};
    name.length = 0;
    halo_mlir_type_print(&name, &scalar);
    if (strcmp(halo_strbuf_text(&name), text) == 0) type_scalar(out, named[i]);
  }
  halo_strbuf_deinit(&name);
  if (!out->element) type_other(out, halo_arena_strdup(&body->reader->program->arena, text));
  return HALO_OK;
}

halo_status halo_bytecode_decode_type(halo_bytecode_cursor body, const halo_bytecode_entry *entry,
                                      halo_mlir_type *out) {
  uint64_t code;
  if (!entry->custom) return decode_text(&body, out);
  if (entry->dialect == HALO_BYTECODE_STABLEHLO) {
    /* Regions of Shardy's take tokens. */
    HALO_TRY(halo_bytecode_vi(&body, &code));
    if (code != 0) return halo_bytecode_refuse(&body, "StableHLO's type of code %" PRIu64, code);
    out->kind = HALO_MLIR_TOKEN;
    return halo_bytecode_finish(&body, "a type");
  }
  if (entry->dialect != HALO_BYTECODE_VHLO && entry->dialect != HALO_BYTECODE_BUILTIN) {
    type_other(out, "a type of another dialect");
    return HALO_OK;
  }
  HALO_TRY(halo_bytecode_vi(&body, &code));
  if (entry->dialect == HALO_BYTECODE_VHLO)
    HALO_TRY(decode_vhlo(&body, code, out));
  else
    HALO_TRY(decode_builtin(&body, code, out));
  return halo_bytecode_finish(&body, "a type");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_attr.c: attributes, of the dialects builtin and vhlo. */
#include "stablehlo/bytecode.h"

#include <inttypes.h>
#include <string.h>

/* ---- Texts and numbers ---- */

static void attr_text(halo_mlir_attr *out, halo_mlir_attr_kind kind, const char *text,
                      size_t length) {
  out->kind = kind;
  out->string.text = text;
  out->string.length = length;
}

/* What is stepped over: nothing of a program that can be run needs it. */
static halo_status attr_opaque(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  attr_text(out, HALO_MLIR_OPAQUE, NULL, 0);
  body->at = body->end;
  return HALO_OK;
}

static halo_status decode_string(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  halo_bytecode_string string;
  HALO_TRY(halo_bytecode_string_of(body, &string));
  attr_text(out, HALO_MLIR_STRING, string.text, string.length);
  return HALO_OK;
}

static halo_status decode_symbol(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  const halo_mlir_attr *string;
  halo_bytecode_cursor start = *body;
  HALO_TRY(halo_bytecode_attr(body, &string));
  if (string->kind != HALO_MLIR_STRING)
    return halo_bytecode_fail(&start, "the name of a symbol is no string");
  attr_text(out, HALO_MLIR_SYMBOL, string->string.text, string->string.length);
  return HALO_OK;
}

/* `@a::@b` is a symbol of the name `a::b`. */
static halo_status decode_nested_symbol(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  enum { LONGEST = 1000 }; /* a few bytes may say a long name over and over */
  halo_mlir_attr parts = {0};
  HALO_TRY(decode_symbol(body, out));
  HALO_TRY(halo_bytecode_attr_list(body, &parts));
  halo_strbuf name = {0};
  halo_strbuf_append_n(&name, out->string.text, out->string.length);
  bool good = true;
  for (int32_t i = 0; i < parts.array.count && name.length < LONGEST; i++) {
    const halo_mlir_attr *part = parts.array.data[i];
    good &= part->kind == HALO_MLIR_SYMBOL;
    if (!good) break;
    halo_strbuf_append(&name, "::");
    halo_strbuf_append_n(&name, part->string.text, part->string.length);
  }
  halo_arena *arena = &body->reader->program->arena;
  attr_text(out, good && name.length < LONGEST ? HALO_MLIR_SYMBOL : HALO_MLIR_OPAQUE,
            halo_arena_strndup(arena, halo_strbuf_text(&name), name.length), name.length);
  halo_strbuf_deinit(&name);
  return HALO_OK;
}

static halo_status decode_type_attr(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  out->kind = HALO_MLIR_TYPE_ATTR;
  return halo_bytecode_type(body, &out->type);
}

static halo_status decode_integer(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  uint64_t bits;
  HALO_TRY(halo_bytecode_type(body, &out->type));
  halo_type type = out->type->kind == HALO_MLIR_SCALAR ? out->type->element : HALO_TYPE_INVALID;
  if (type != HALO_PRED && !halo_type_is_integral(type)) { /* i3, i128 */
    out->type = NULL;
    return attr_opaque(body, out);
  }
  int width = halo_type_bits(type);
  HALO_TRY(halo_bytecode_bits(body, width, &bits));
  out->kind = type == HALO_PRED ? HALO_MLIR_BOOL : HALO_MLIR_INT;
  out->i = (int64_t)bits;
  if (halo_type_is_sint(type)) out->i = (int64_t)(bits << (64 - width)) >> (64 - width);
  return HALO_OK;
}

static halo_status decode_float(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  uint64_t bits;
  HALO_TRY(halo_bytecode_type(body, &out->type));
  halo_type type = out->type->kind == HALO_MLIR_SCALAR ? out->type->element : HALO_TYPE_INVALID;
  if (!halo_type_is_float(type)) {
    out->type = NULL;
    return attr_opaque(body, out);
  }
  HALO_TRY(halo_bytecode_bits(body, halo_type_bits(type), &bits));
  halo_literal *scalar = halo_literal_new_scalar(type);
  memcpy(halo_literal_data(scalar), &bits, halo_type_size(type));
  out->kind = HALO_MLIR_FLOAT;
  out->f = halo_literal_get_f64(scalar, 0);
  halo_literal_release(scalar);
  return HALO_OK;
}

static halo_status decode_bool(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  uint64_t value;
  HALO_TRY(halo_bytecode_vi(body, &value));
  if (value > 1) return halo_bytecode_fail(body, "a truth value of %" PRIu64, value);
  out->kind = HALO_MLIR_BOOL;
  out->i = (int64_t)value;
  return HALO_OK;
}

/* ---- Dictionaries ---- */

static halo_status decode_dict(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  int32_t count;
  HALO_TRY(halo_bytecode_count(body, &count));
  halo_mlir_named *data = halo_arena_array(&body->reader->program->arena, halo_mlir_named, count);
  for (int32_t i = 0; i < count; i++) {
    const halo_mlir_attr *name;
    halo_bytecode_cursor start = *body;
    HALO_TRY(halo_bytecode_attr(body, &name));
    if (name->kind != HALO_MLIR_STRING)
      return halo_bytecode_fail(&start, "the name of an attribute is no string");
    data[i].name = name->string.text;
    HALO_TRY(halo_bytecode_attr(body, &data[i].value));
  }
  out->kind = HALO_MLIR_DICT;
  out->dict.data = data;
  out->dict.count = count;
  return HALO_OK;
}

/* ---- Tensors ---- */

static halo_status decode_tensor(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  const halo_mlir_type *type;
  halo_bytecode_cursor blob;
  HALO_TRY(halo_bytecode_type(body, &type));
  HALO_TRY(halo_bytecode_blob_of(body, &blob));
  return halo_bytecode_dense(blob, type, true, out);
}

/* `array<i64: ...>`: a tensor of one dimension. */
static halo_status decode_array_data(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  halo_arena *arena = &body->reader->program->arena;
  const halo_mlir_type *element;
  halo_bytecode_cursor blob;
  int32_t count;
  HALO_TRY(halo_bytecode_type(body, &element));
  HALO_TRY(halo_bytecode_count(body, &count));
  HALO_TRY(halo_bytecode_blob_of(body, &blob));
  if (element->kind != HALO_MLIR_SCALAR) return attr_opaque(body, out);
  int64_t *dims = halo_arena_array(arena, int64_t, 1);
  halo_mlir_type *type = halo_arena_new(arena, halo_mlir_type);
  dims[0] = count;
  *type = (halo_mlir_type){
      .kind = HALO_MLIR_TENSOR, .element = element->element, .rank = 1, .dims = dims};
  return halo_bytecode_dense(blob, type, false, out);
}

static halo_status decode_resource(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  halo_bytecode *reader = body->reader;
  const halo_mlir_type *type;
  int32_t index;
  HALO_TRY(halo_bytecode_type(body, &type));
  HALO_TRY(halo_bytecode_index(body, reader->resources.count, "resource", &index));
  halo_bytecode_blob blob = reader->resources.data[index];
  if (!blob.at) return attr_opaque(body, out);
  halo_bytecode_cursor data = {reader, blob.at, blob.at + blob.size};
  return halo_bytecode_dense(data, type, false, out);
}

/* ---- Enumerations of VHLO ---- */

enum { ENUM_LONGEST = 6 };

static const struct {
  const char *name, *words[ENUM_LONGEST];
} enum_rows[] = {
    [3] = {"comparison_direction", {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    [4] = {"comparison_type", {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    [7] = {"fft_type", {"FFT", "IFFT", "RFFT", "IRFFT"}},
    [11] = {"precision", {"DEFAULT", "HIGH", "HIGHEST"}},
    [12] = {"rng_algorithm", {"DEFAULT", "THREE_FRY", "PHILOX"}},
    [13] = {"rng_distribution", {NULL, "UNIFORM", "NORMAL"}},
    [16] = {"transpose", {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    [19] = {"result_accuracy_mode", {"DEFAULT", "HIGHEST", "TOLERANCE"}},
};
enum { ENUM_ROWS = sizeof enum_rows / sizeof *enum_rows };

static halo_status decode_enum(halo_bytecode_cursor *body, uint64_t code, halo_mlir_attr *out) {
  uint64_t value;
  HALO_TRY(halo_bytecode_vi(body, &value));
  const char *word = value < ENUM_LONGEST ? enum_rows[code].words[value] : NULL;
  if (!word) return halo_bytecode_fail(body, "%s %" PRIu64, enum_rows[code].name, value);
  attr_text(out, HALO_MLIR_ENUM, word, strlen(word));
  return HALO_OK;
}

/* In text it is an integer of 32 bits, and so it is here. */
static halo_status decode_api_version(halo_bytecode_cursor *body, halo_mlir_attr *out) {
  static const halo_mlir_type i32 = {.kind = HALO_MLIR_SCALAR, .element = HALO_S32};
  uint64_t value;
  HALO_TRY(halo_bytecode_vi(body, &value));
  if (value > INT32_MAX) return halo_bytecode_fail(body, "api_version %" PRIu64, value);
  out->kind = HALO_MLIR_INT;
  out->type = &i32;
  out->i = (int64_t)value;
  return HALO_OK;
}

/* ---- Dialects ---- */

static halo_status decode_vhlo(halo_bytecode_cursor *body, uint64_t code, halo_mlir_attr *out) {
  bool found;
  HALO_TRY(halo_bytecode_decode_struct(body, HALO_BYTECODE_VHLO, code, out, &found));
  if (found) return HALO_OK;
  if (code < ENUM_ROWS && enum_rows[code].name) return decode_enum(body, code, out);
  switch (code) {
    case 1: return halo_bytecode_attr_list(body, out);
    case 2: return decode_bool(body, out);
    case 5: return decode_api_version(body, out);
    case 6: return decode_dict(body, out);
    case 8: return decode_float(body, out);
    case 9: return decode_integer(body, out);
    case 14: return decode_string(body, out);
    case 15: return decode_tensor(body, out);
    case 17: return decode_type_attr(body, out);
    default:
      return halo_bytecode_refuse(body, "VHLO's attribute of code %" PRIu64 " is not known", code);
  }
}

static halo_status decode_builtin(halo_bytecode_cursor *body, uint64_t code, halo_mlir_attr *out) {
  switch (code) {
    case 0: return halo_bytecode_attr_list(body, out);
    case 1: return decode_dict(body, out);
    case 2: return decode_string(body, out);
    case 3: {
      const halo_mlir_type *ignored;
      HALO_TRY(decode_string(body, out));
      return halo_bytecode_type(body, &ignored);
    }
    case 4: return decode_symbol(body, out);
    case 5: return decode_nested_symbol(body, out);
    case 6: return decode_type_attr(body, out);
    case 7: out->kind = HALO_MLIR_UNIT; return HALO_OK;
    case 8: return decode_integer(body, out);
    case 9: return decode_float(body, out);
    case 16: return decode_resource(body, out);
    case 17: return decode_array_data(body, out);
    case 18: return decode_tensor(body, out);
    default: return attr_opaque(body, out); /* locations, sparse elements */
  }
}

/* Of Shardy, what is no structure is a list. */
static halo_status decode_sdy(halo_bytecode_cursor *body, uint64_t code, halo_mlir_attr *out) {
  bool found;
  HALO_TRY(halo_bytecode_decode_struct(body, HALO_BYTECODE_SDY, code, out, &found));
  if (found && code == 10) halo_bytecode_rule_text(&body->reader->program->arena, out);
  if (found) return HALO_OK;
  switch (code) {
    case 0:  /* manual axes */
    case 7:  /* shardings of values */
    case 11: /* axes */
    case 12: /* lists of axes */
    case 16: /* shardings of values, second version */ return halo_bytecode_attr_list(body, out);
    default: return attr_opaque(body, out); /* parameters of collectives */
  }
}

halo_status halo_bytecode_decode_attr(halo_bytecode_cursor body, const halo_bytecode_entry *entry,
                                      halo_mlir_attr *out) {
  halo_arena *arena = &body.reader->program->arena;
  uint64_t code;
  if (!entry->custom) { /* MLIR text with its NUL */
    if (!entry->size || entry->at[entry->size - 1])
      return halo_bytecode_fail(&body, "the text of an attribute does not end");
    attr_text(out, HALO_MLIR_OPAQUE,
              halo_arena_strndup(arena, (const char *)entry->at, entry->size - 1), entry->size - 1);
    return HALO_OK;
  }
  if (entry->dialect == HALO_BYTECODE_OTHER || entry->dialect == HALO_BYTECODE_STABLEHLO)
    return attr_opaque(&body, out);
  HALO_TRY(halo_bytecode_vi(&body, &code));
  if (entry->dialect == HALO_BYTECODE_VHLO)
    HALO_TRY(decode_vhlo(&body, code, out));
  else if (entry->dialect == HALO_BYTECODE_BUILTIN)
    HALO_TRY(decode_builtin(&body, code, out));
  else
    HALO_TRY(decode_sdy(&body, code, out));
  return halo_bytecode_finish(&body, "an attribute");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_read.c: what the attributes of operations say, as HLO has it. */
#include "shape/types.h"
#include "stablehlo/translate.h"
#include "text/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Numbers ---- */

const int64_t *halo_translate_list(halo_translator *t, const halo_mlir_op *op, const char *name,
                                   int32_t expected, int32_t *count) {
  int32_t found;
  if (!count) count = &found;
  *count = 0;
  if (!halo_translate_ok(t)) return NULL;
  const int64_t *list = halo_mlir_ints(t->program, halo_mlir_attr_of(op, name), count);
  if (*count < 0) {
    halo_translate_wrong(t, "the attribute %s, a list of whole numbers, is missing", name);
  } else if (expected >= 0 && *count != expected) {
    halo_translate_wrong(t, "the attribute %s has %d number%s: expected %d", name, *count,
                         halo_plural(*count), expected);
  }
  if (!halo_translate_ok(t)) *count = 0;
  return halo_translate_ok(t) ? list : NULL;
}

const int64_t *halo_translate_list_or(halo_translator *t, const halo_mlir_op *op, const char *name,
                                      int32_t expected, int64_t default_) {
  if (!halo_translate_ok(t)) return NULL;
  if (halo_mlir_attr_of(op, name)) return halo_translate_list(t, op, name, expected, NULL);
  int64_t *list = halo_arena_array(t->arena, int64_t, expected + 1);
  for (int32_t i = 0; i < expected; i++) list[i] = default_;
  return list;
}

const int64_t *halo_translate_pairs(halo_translator *t, const halo_mlir_op *op, const char *name,
                                    int32_t rows, int32_t *count) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, name);
  int32_t expected = rows < 0 ? -1 : 2 * rows;
  if (count) *count = 0;
  if (!attr && rows >= 0) return halo_translate_list_or(t, op, name, expected, 0);
  const int64_t *list = halo_translate_list(t, op, name, expected, count);
  if (!list) return NULL;
  bool odd = count && *count % 2;
  if (attr->kind == HALO_MLIR_DENSE && halo_shape_element_count(attr->literal->shape) > 0)
    odd = attr->type->rank != 2 || attr->type->dims[1] != 2;
  if (odd) halo_translate_wrong(t, "the attribute %s must have rows of two numbers", name);
  return halo_translate_ok(t) ? list : NULL;
}

int64_t halo_translate_integer(halo_translator *t, const halo_mlir_op *op, const char *name) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, name);
  if (attr && (attr->kind == HALO_MLIR_INT || attr->kind == HALO_MLIR_BOOL)) return attr->i;
  halo_translate_wrong(t, "the attribute %s, a whole number, is missing", name);
  return 0;
}

const int64_t *halo_translate_known(halo_translator *t, const halo_instr *instr, int32_t *count) {
  *count = 0;
  if (!halo_translate_ok(t)) return NULL;
  const halo_instr *value = instr->opcode == HALO_OP_BROADCAST ? instr->operands[0] : instr;
  halo_type type = instr->shape->type;
  if (value->opcode != HALO_OP_CONSTANT || (value != instr && value->shape->rank)) return NULL;
  if (!halo_type_is_integral(type) && type != HALO_PRED) return NULL;
  int64_t all = halo_shape_element_count(instr->shape);
  if (all > INT32_MAX / (int64_t)sizeof(int64_t)) return NULL;
  int64_t *list = halo_arena_array(t->arena, int64_t, all + 1);
  for (int64_t i = 0; i < all; i++) {
    list[i] = halo_literal_get_i64(value->literal, value == instr ? i : 0);
  }
  *count = (int32_t)all;
  return list;
}

/* ---- Precision ---- */

bool halo_translate_precision(halo_translator *t, const halo_mlir_op *op, halo_attr *out) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, "precision_config");
  if (!attr || attr->kind != HALO_MLIR_ARRAY || attr->array.count == 0) return false;
  int64_t *values = halo_arena_array(t->arena, int64_t, attr->array.count);
  bool said = false;
  for (int32_t i = 0; i < attr->array.count; i++) {
    const halo_mlir_attr *one = attr->array.data[i];
    const char *word =
        one->kind == HALO_MLIR_ENUM || one->kind == HALO_MLIR_STRING ? one->string.text : "";
    values[i] = strcmp(word, "HIGHEST") == 0 ? 2 : strcmp(word, "HIGH") == 0;
    if (values[i] == 0 && strcmp(word, "DEFAULT") != 0) {
      halo_translate_wrong(t, "'%s' is no precision: expected DEFAULT, HIGH or HIGHEST", word);
    }
    said |= values[i] != 0;
  }
  *out = (halo_attr){.id = HALO_ATTR_OPERAND_PRECISION};
  out->ints.data = values;
  out->ints.count = attr->array.count;
  return said && halo_translate_ok(t);
}

/* "bf16", "tf32" or "" of an attribute that is a type. */
static const char *read_type_word(const halo_mlir_op *op, const char *name, halo_type *type) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, name);
  *type = HALO_TYPE_INVALID;
  if (!attr || attr->kind != HALO_MLIR_TYPE_ATTR) return "";
  if (attr->type->kind == HALO_MLIR_OTHER) return attr->type->text ? attr->type->text : "";
  *type = attr->type->element;
  return halo_type_name(*type);
}

static bool read_is_f8(halo_type type) {
  return halo_type_is_float(type) && halo_type_bits(type) == 8;
}

bool halo_translate_algorithm(halo_translator *t, const halo_mlir_op *op, halo_attr *out) {
  halo_type lhs, rhs, sum;
  const char *a = read_type_word(op, "lhs_precision_type", &lhs);
  const char *b = read_type_word(op, "rhs_precision_type", &rhs);
  const char *c = read_type_word(op, "accumulation_type", &sum);
  if (!*a || strcmp(a, "none") == 0) return false;
  int64_t times = halo_mlir_int(op, "num_primitive_operations", 1);
  bool fast = halo_mlir_int(op, "allow_imprecise_accumulation", 0) != 0;
  bool plain = halo_mlir_int(op, "lhs_component_count", 1) == 1 &&
               halo_mlir_int(op, "rhs_component_count", 1) == 1;
  halo_arena scratch = {0};
  const char *name;
  if (read_is_f8(lhs) && read_is_f8(rhs)) {
    name = halo_arena_printf(&scratch, "dot_any_f8_any_f8_%s%s", c, fast ? "_fast_accum" : "");
  } else {
    const char *rounds = times == 1 ? "" : halo_arena_printf(&scratch, "_x%" PRId64, times);
    name = halo_arena_printf(&scratch, "dot_%s_%s_%s%s", a, b, c, rounds);
  }
  const char *const *names = halo_attr_enum_names(HALO_ATTR_ALGORITHM);
  int64_t found = 0;
  while (names[found] && strcmp(names[found], name) != 0) found++;
  if (!names[found] || !plain) {
    halo_translate_refuse(t, "HLO has no algorithm %s%s for products", name,
                          plain ? "" : " of several components");
  }
  halo_arena_deinit(&scratch);
  *out = halo_translate_int(HALO_ATTR_ALGORITHM, found);
  return halo_translate_ok(t);
}

static double read_float(const halo_mlir_attr *attr) {
  return attr && attr->kind == HALO_MLIR_FLOAT ? attr->f : 0;
}

bool halo_translate_accuracy(halo_translator *t, const halo_mlir_op *op, halo_attr *out) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, "result_accuracy");
  if (!attr || attr->kind != HALO_MLIR_STRUCT) return false;
  const halo_mlir_attr *mode = halo_mlir_dict_get(attr, "mode");
  const halo_mlir_attr *ulps = halo_mlir_dict_get(attr, "ulps");
  const char *word = mode && mode->kind == HALO_MLIR_ENUM ? mode->string.text : "DEFAULT";
  halo_accuracy accuracy = {.atol = read_float(halo_mlir_dict_get(attr, "atol")),
                            .rtol = read_float(halo_mlir_dict_get(attr, "rtol")),
                            .ulps = ulps && ulps->kind == HALO_MLIR_INT ? ulps->i : 0};
  if (strcmp(word, "DEFAULT") == 0) return false;
  if (strcmp(word, "HIGHEST") == 0) {
    accuracy.mode = HALO_ACCURACY_HIGHEST;
  } else if (strcmp(word, "TOLERANCE") == 0) {
    accuracy.mode = HALO_ACCURACY_TOLERANCE;
  } else {
    halo_translate_wrong(t, "'%s' is no mode of result_accuracy", word);
  }
  *out = (halo_attr){.id = HALO_ATTR_RESULT_ACCURACY,
                     .accuracy = halo_arena_copy(t->arena, &accuracy, sizeof accuracy)};
  return halo_translate_ok(t);
}

/* ---- Annotations ---- */

bool halo_translate_metadata(halo_translator *t, const halo_mlir_loc *loc, halo_attr *out) {
  if (!loc || (!loc->name && !loc->file)) return false;
  halo_metadata *metadata = halo_pointer_map_get(&t->metadata, loc);
  if (!metadata) {
    metadata = halo_arena_new(t->arena, halo_metadata);
    if (loc->name) metadata->op_name = halo_arena_strdup(t->arena, loc->name);
    if (loc->file) {
      metadata->source_file = halo_arena_strdup(t->arena, loc->file);
      metadata->source_line = loc->line;
    }
    halo_pointer_map_set(&t->metadata, loc, metadata);
  }
  *out = (halo_attr){.id = HALO_ATTR_METADATA, .metadata = metadata};
  return true;
}

/* mhlo.frontend_attributes: a dictionary of strings. Shardy's rule of a custom call becomes one of them. */
static bool read_frontend(halo_translator *t, const halo_mlir_op *op, halo_attr *out) {
  const halo_mlir_attr *dict = halo_mlir_attr_of(op, "mhlo.frontend_attributes");
  const halo_mlir_attr *rule = halo_mlir_attr_of(op, "sdy.sharding_rule");
  int32_t rows = dict && dict->kind == HALO_MLIR_DICT ? dict->dict.count : 0, count = 0;
  const char **strings = halo_arena_array(t->arena, const char *, 2 * rows + 2);
  if (rule && rule->kind == HALO_MLIR_OPAQUE && rule->string.text) {
    strings[count++] = "xla.sdy.sharding_rule";
    strings[count++] = halo_arena_strdup(t->arena, rule->string.text);
  }
  for (int32_t i = 0; i < rows; i++) {
    const halo_mlir_attr *value = dict->dict.data[i].value;
    if (value->kind != HALO_MLIR_STRING) continue;
    strings[count++] = halo_arena_strdup(t->arena, dict->dict.data[i].name);
    strings[count++] = halo_arena_strdup(t->arena, value->string.text);
  }
  *out = (halo_attr){.id = HALO_ATTR_FRONTEND_ATTRIBUTES};
  out->strings.data = strings;
  out->strings.count = count;
  return count > 0;
}

void halo_translate_annotate(halo_translator *t, const halo_mlir_op *op) {
  t->note_count = 0;
  if (halo_translate_metadata(t, op->loc, &t->notes[t->note_count])) t->note_count++;
  if (read_frontend(t, op, &t->notes[t->note_count])) t->note_count++;
}

static const halo_mlir_attr *read_named(const halo_mlir_named *attrs, int32_t count,
                                        const char *name) {
  for (int32_t i = 0; i < count; i++) {
    if (strcmp(attrs[i].name, name) == 0) return attrs[i].value;
  }
  return NULL;
}

/* Shardy's, of a value or of several: a tuple's. */
static bool read_shardy(halo_translator *t, const halo_mlir_attr *attr, const halo_shape *shape,
                        halo_sharding *out) {
  if (attr->kind != HALO_MLIR_ARRAY)
    return halo_translate_shardy(t, attr, shape->rank, t->manual, out);
  if (!halo_shape_is_tuple(shape)) {
    return attr->array.count == 1 &&
           halo_translate_shardy(t, attr->array.data[0], shape->rank, t->manual, out);
  }
  if (attr->array.count != shape->count || shape->count == 0) return false;
  halo_sharding *elements = halo_arena_array(t->arena, halo_sharding, shape->count);
  for (int32_t i = 0; i < shape->count; i++) {
    if (!halo_translate_shardy(t, attr->array.data[i], shape->elements[i]->rank, t->manual,
                               &elements[i])) {
      return false;
    }
  }
  *out = (halo_sharding){
      .kind = HALO_SHARDING_TUPLE, .elements = elements, .element_count = shape->count};
  return true;
}

bool halo_translate_sharding(halo_translator *t, const halo_mlir_named *attrs, int32_t count,
                             const halo_shape *shape, halo_attr *out) {
  if (!halo_translate_ok(t)) return false;
  *out = (halo_attr){.id = HALO_ATTR_SHARDING};
  const halo_mlir_attr *frontend = read_named(attrs, count, "mhlo.frontend_attributes");
  const halo_mlir_attr *shardy = read_named(attrs, count, "sdy.sharding");
  if (!shardy) shardy = halo_translate_shardy_text(t, frontend, "xla.sdy.sharding");
  if (shardy) {
    halo_sharding *sharding = halo_arena_new(t->arena, halo_sharding);
    out->sharding = sharding;
    return read_shardy(t, shardy, shape, sharding) && halo_translate_ok(t);
  }
  const halo_mlir_attr *attr = read_named(attrs, count, "mhlo.sharding");
  if (!attr || attr->kind != HALO_MLIR_STRING) return false;
  halo_status status = halo_text_parse_sharding(attr->string.text, t->arena, &out->sharding);
  if (status != HALO_OK) halo_translate_failed(t, halo_fail_in(status, "mhlo.sharding"));
  return status == HALO_OK;
}

/* ---- Attributes as text ---- */

static void print_string(halo_strbuf *out, const char *text, size_t length) {
  halo_strbuf_char(out, '"');
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\' || c < 0x20 || c > 0x7e) {
      halo_strbuf_printf(out, "\\%02X", c);
    } else {
      halo_strbuf_char(out, (char)c);
    }
  }
  halo_strbuf_char(out, '"');
}

static void print_type(halo_strbuf *out, const halo_mlir_type *type) {
  if (!type) return;
  halo_strbuf_append(out, " : ");
  halo_mlir_type_print(out, type);
}

/* What is no number is written as its bits. */
static void print_float(halo_strbuf *out, const halo_mlir_attr *attr) {
  uint64_t wide;
  uint32_t narrow;
  float single = (float)attr->f;
  memcpy(&wide, &attr->f, sizeof wide);
  memcpy(&narrow, &single, sizeof narrow);
  if (isfinite(attr->f)) {
    halo_strbuf_printf(out, "%.17e", attr->f);
  } else if (attr->type && attr->type->element == HALO_F32) {
    halo_strbuf_printf(out, "0x%08" PRIX32, narrow);
  } else {
    halo_strbuf_printf(out, "0x%016" PRIX64, wide);
  }
}

/* array<i64: 1, 2>, which is how lists travel. */
static void print_dense(halo_strbuf *out, const halo_mlir_attr *attr) {
  const halo_literal *literal = attr->literal;
  halo_mlir_type element = {.kind = HALO_MLIR_SCALAR, .element = literal->shape->type};
  int64_t kept = halo_shape_element_count(literal->shape), all = 1;
  for (int32_t d = 0; d < attr->type->rank; d++) all *= attr->type->dims[d];
  halo_strbuf_append(out, "array<");
  halo_mlir_type_print(out, &element);
  for (int64_t i = 0; i < all; i++) {
    halo_strbuf_append(out, i ? ", " : ": ");
    int64_t at = i < kept ? i : 0;
    if (halo_type_is_float(element.element)) {
      halo_strbuf_printf(out, "%.17e", halo_literal_get_f64(literal, at));
    } else if (element.element == HALO_PRED) {
      halo_strbuf_append(out, halo_literal_get_i64(literal, at) ? "true" : "false");
    } else {
      halo_strbuf_printf(out, "%" PRId64, halo_literal_get_i64(literal, at));
    }
  }
  halo_strbuf_append(out, ">");
}

static void print_rows(halo_strbuf *out, const halo_mlir_named *rows, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    if (strspn(rows[i].name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.$") ==
        strlen(rows[i].name)) {
      halo_strbuf_append(out, rows[i].name);
    } else {
      print_string(out, rows[i].name, strlen(rows[i].name));
    }
    if (rows[i].value->kind == HALO_MLIR_UNIT) continue;
    halo_strbuf_append(out, " = ");
    halo_translate_print_attr(out, rows[i].value);
  }
}

void halo_translate_print_attr(halo_strbuf *out, const halo_mlir_attr *attr) {
  switch (attr->kind) {
    case HALO_MLIR_UNIT: halo_strbuf_append(out, "unit"); break;
    case HALO_MLIR_BOOL: halo_strbuf_append(out, attr->i ? "true" : "false"); break;
    case HALO_MLIR_INT:
      halo_strbuf_printf(out, "%" PRId64, attr->i);
      print_type(out, attr->type);
      break;
    case HALO_MLIR_FLOAT:
      print_float(out, attr);
      print_type(out, attr->type);
      break;
    case HALO_MLIR_STRING: print_string(out, attr->string.text, attr->string.length); break;
    case HALO_MLIR_SYMBOL: halo_strbuf_printf(out, "@%s", attr->string.text); break;
    case HALO_MLIR_ENUM: halo_strbuf_append(out, attr->string.text); break;
    case HALO_MLIR_TYPE_ATTR: halo_mlir_type_print(out, attr->type); break;
    case HALO_MLIR_ARRAY:
      halo_strbuf_char(out, '[');
      for (int32_t i = 0; i < attr->array.count; i++) {
        if (i) halo_strbuf_append(out, ", ");
        halo_translate_print_attr(out, attr->array.data[i]);
      }
      halo_strbuf_char(out, ']');
      break;
    case HALO_MLIR_DICT:
      halo_strbuf_char(out, '{');
      print_rows(out, attr->dict.data, attr->dict.count);
      halo_strbuf_char(out, '}');
      break;
    case HALO_MLIR_DENSE: print_dense(out, attr); break;
    case HALO_MLIR_STRUCT:
      halo_strbuf_printf(out, "#%s<", attr->dict.text);
      print_rows(out, attr->dict.data, attr->dict.count);
      halo_strbuf_char(out, '>');
      break;
    case HALO_MLIR_OPAQUE:
      halo_strbuf_append(out, attr->string.text ? attr->string.text : "opaque");
      break;
  }
}

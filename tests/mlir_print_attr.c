/* SPDX-License-Identifier: Apache-2.0 */
/* tests/mlir_print_attr.c: attributes as MLIR text. */
#include "mlir_print.h"
#include "stablehlo/print.h"

#include "base/map.h"
#include "shape/types.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constants above this are named by a hash. */
enum { LONGEST_CONSTANT = 4096 };

/* ---- Numbers and strings ---- */

static void print_scalar_float(halo_strbuf *out, const halo_mlir_attr *attr) {
  halo_type type =
      attr->type && attr->type->kind == HALO_MLIR_SCALAR ? attr->type->element : HALO_F64;
  halo_literal *scalar = halo_literal_new_scalar(type);
  halo_literal_set_f64(scalar, 0, attr->f);
  halo_mlir_print_float(out, attr->f, type, halo_literal_data(scalar));
  halo_literal_release(scalar);
}

static void print_string(halo_strbuf *out, const char *text, size_t length) {
  halo_strbuf_char(out, '"');
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\')
      halo_strbuf_printf(out, "\\%c", c);
    else if (c < ' ' || c >= 127)
      halo_strbuf_printf(out, "\\%02X", c);
    else
      halo_strbuf_char(out, (char)c);
  }
  halo_strbuf_char(out, '"');
}

/* ---- Tensors ---- */

static void print_dense(halo_strbuf *out, const halo_mlir_attr *attr) {
  halo_literal *literal = attr->literal;
  size_t size = (size_t)halo_shape_byte_size(literal->shape);
  halo_strbuf_append(out, "dense<");
  if (size > LONGEST_CONSTANT && !halo_mlir_is_splat(literal))
    halo_strbuf_printf(out, "%zu bytes of hash %016" PRIx64, size,
                       halo_hash(halo_literal_data(literal), size, 0));
  else
    halo_mlir_print_elements(out, literal);
  halo_strbuf_append(out, "> : ");
  halo_mlir_type_print(out, attr->type);
}

/* `array<i64: 1, 2>`: lists of integers of one dimension, and padding, which is a list of pairs in some texts. */
static bool print_array_of_integers(halo_strbuf *out, const char *name,
                                    const halo_mlir_attr *attr) {
  const halo_mlir_type *type = attr->type;
  int rank = strcmp(name, "padding") == 0 ? 2 : 1;
  if (type->rank != rank || attr->literal->shape->rank != rank ||
      (type->element != HALO_S64 && type->element != HALO_PRED))
    return false;
  halo_strbuf_append(out, type->element == HALO_S64 ? "array<i64" : "array<i1");
  for (int64_t i = 0; i < halo_shape_element_count(attr->literal->shape); i++) {
    halo_strbuf_append(out, i ? ", " : ": ");
    halo_mlir_print_element(out, attr->literal, i);
  }
  halo_strbuf_append(out, ">");
  return true;
}

/* ---- Attributes ---- */

/* What the keywords of an attribute belong to, where its name does not say it. */
static const char *enum_name(const char *attr) {
  static const char *const other[][2] = {{"compare_type", "comparison_type"},
                                         {"precision_config", "precision"},
                                         {"transpose_a", "transpose"},
                                         {"mode", "result_accuracy_mode"}};
  for (size_t i = 0; i < sizeof other / sizeof *other; i++)
    if (strcmp(attr, other[i][0]) == 0) return other[i][1];
  return attr;
}

static void print_typed(halo_strbuf *out, const halo_mlir_attr *attr) {
  if (!attr->type) return;
  halo_strbuf_append(out, " : ");
  halo_mlir_type_print(out, attr->type);
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(const halo_mlir_named *const *)a)->name,
                (*(const halo_mlir_named *const *)b)->name);
}

static void print_dict(halo_strbuf *out, const halo_mlir_attr *attr) {
  int32_t count = attr->dict.count;
  const halo_mlir_named **sorted = halo_alloc(sizeof *sorted * (size_t)(count ? count : 1));
  for (int32_t i = 0; i < count; i++) sorted[i] = &attr->dict.data[i];
  qsort(sorted, (size_t)count, sizeof *sorted, by_name);
  halo_strbuf_append(out, "{");
  for (int32_t i = 0; i < count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    mlir_print_name(out, sorted[i]->name);
    if (sorted[i]->value->kind == HALO_MLIR_UNIT) continue;
    halo_strbuf_append(out, " = ");
    mlir_print_attr(out, sorted[i]->name, sorted[i]->value);
  }
  halo_strbuf_append(out, "}");
  halo_free(sorted);
}

static bool all_integers(const halo_mlir_attr *attr, bool typed) {
  for (int32_t i = 0; i < attr->array.count; i++) {
    const halo_mlir_attr *element = attr->array.data[i];
    if (element->kind != HALO_MLIR_INT) return false;
    if (typed && !(element->type && element->type->element == HALO_S64)) return false;
  }
  return attr->array.count > 0;
}

static void print_integers(halo_strbuf *out, const halo_mlir_attr *attr) {
  for (int32_t i = 0; i < attr->array.count; i++)
    halo_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", attr->array.data[i]->i);
}

/* Fields that say nothing: lists with nothing in them, and tolerances of 0. */
static bool is_left_out(const halo_mlir_attr *attr, const halo_mlir_attr *value) {
  if (value->kind == HALO_MLIR_ARRAY) return value->array.count == 0;
  if (strcmp(attr->dict.text, "result_accuracy") != 0) return false;
  return (value->kind == HALO_MLIR_FLOAT && value->f == 0) ||
         (value->kind == HALO_MLIR_INT && value->i == 0);
}

/* Of structures; their integers have no types. */
static void print_fields(halo_strbuf *out, const halo_mlir_attr *attr) {
  bool any = false;
  for (int32_t i = 0; i < attr->dict.count; i++) {
    const halo_mlir_named *field = &attr->dict.data[i];
    if (is_left_out(attr, field->value)) continue;
    halo_strbuf_append(out, any ? ", " : "");
    any = true;
    mlir_print_name(out, field->name);
    halo_strbuf_append(out, " = ");
    if (field->value->kind == HALO_MLIR_INT) {
      halo_strbuf_printf(out, "%" PRId64, field->value->i);
    } else if (field->value->kind == HALO_MLIR_ARRAY && all_integers(field->value, false)) {
      halo_strbuf_append(out, "[");
      print_integers(out, field->value);
      halo_strbuf_append(out, "]");
    } else {
      mlir_print_attr(out, field->name, field->value);
    }
  }
}

static void print_struct(halo_strbuf *out, const halo_mlir_attr *attr) {
  bool dialect = strchr(attr->dict.text, '.') != NULL;
  halo_strbuf_printf(out, "#%s%s<", dialect ? "" : "stablehlo.", attr->dict.text);
  print_fields(out, attr);
  halo_strbuf_append(out, ">");
}

static bool all_flags(const halo_mlir_attr *attr) {
  for (int32_t i = 0; i < attr->array.count; i++)
    if (attr->array.data[i]->kind != HALO_MLIR_BOOL) return false;
  return attr->array.count > 0;
}

static void print_list(halo_strbuf *out, const char *name, const halo_mlir_attr *attr) {
  if (all_integers(attr, true)) {
    halo_strbuf_append(out, "array<i64: ");
    print_integers(out, attr);
    halo_strbuf_append(out, ">");
    return;
  }
  if (all_flags(attr)) {
    halo_strbuf_append(out, "array<i1");
    for (int32_t i = 0; i < attr->array.count; i++)
      halo_strbuf_printf(out, "%s%s", i ? ", " : ": ", attr->array.data[i]->i ? "true" : "false");
    halo_strbuf_append(out, ">");
    return;
  }
  halo_strbuf_append(out, "[");
  for (int32_t i = 0; i < attr->array.count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    mlir_print_attr(out, name, attr->array.data[i]);
  }
  halo_strbuf_append(out, "]");
}

void mlir_print_name(halo_strbuf *out, const char *name) {
  bool plain = *name && (*name < '0' || *name > '9');
  for (const char *at = name; *at; at++)
    plain &= (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
             (*at >= '0' && *at <= '9') || *at == '_' || *at == '.' || *at == '$';
  if (plain)
    halo_strbuf_append(out, name);
  else
    print_string(out, name, strlen(name));
}

void mlir_print_attr(halo_strbuf *out, const char *name, const halo_mlir_attr *attr) {
  switch (attr->kind) {
    case HALO_MLIR_UNIT: halo_strbuf_append(out, "unit"); break;
    case HALO_MLIR_BOOL: halo_strbuf_append(out, attr->i ? "true" : "false"); break;
    case HALO_MLIR_INT:
      halo_strbuf_printf(out, "%" PRId64, attr->i);
      print_typed(out, attr);
      break;
    case HALO_MLIR_FLOAT:
      print_scalar_float(out, attr);
      print_typed(out, attr);
      break;
    case HALO_MLIR_STRING: print_string(out, attr->string.text, attr->string.length); break;
    case HALO_MLIR_SYMBOL:
      halo_strbuf_append(out, "@");
      mlir_print_name(out, attr->string.text);
      break;
    case HALO_MLIR_ENUM:
      halo_strbuf_printf(out, "#stablehlo<%s %s>", enum_name(name), attr->string.text);
      break;
    case HALO_MLIR_TYPE_ATTR: halo_mlir_type_print(out, attr->type); break;
    case HALO_MLIR_ARRAY: print_list(out, name, attr); break;
    case HALO_MLIR_DICT: print_dict(out, attr); break;
    case HALO_MLIR_DENSE:
      if (strcmp(name, "value") == 0 || !print_array_of_integers(out, name, attr))
        print_dense(out, attr);
      break;
    case HALO_MLIR_STRUCT: print_struct(out, attr); break;
    case HALO_MLIR_OPAQUE:
      halo_strbuf_append(out, attr->string.text ? attr->string.text : "#unknown");
      break;
  }
}

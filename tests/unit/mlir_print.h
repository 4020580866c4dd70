/* tests/unit/mlir_print.h: an MLIR program as text, for tests: one operation a line, attributes by name. */
#ifndef HALO_TESTS_MLIR_PRINT_H
#define HALO_TESTS_MLIR_PRINT_H

#include "halo/module.h"
#include "stablehlo/mlir.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static inline void mlir_print_attr(halo_strbuf *out, const halo_mlir_attr *attr);

static inline void mlir_print_rows(halo_strbuf *out, const halo_mlir_named *rows, int32_t count) {
  /* By name, whatever the order was. */
  for (int32_t done = 0, best; done < count; done++) {
    best = -1;
    for (int32_t i = 0; i < count; i++) {
      int32_t rank = 0;
      for (int32_t k = 0; k < count; k++) {
        int order = strcmp(rows[k].name, rows[i].name);
        rank += order < 0 || (order == 0 && k < i);
      }
      if (rank == done) best = i;
    }
    halo_strbuf_printf(out, "%s%s = ", done ? ", " : "", rows[best].name);
    mlir_print_attr(out, rows[best].value);
  }
}

static inline void mlir_print_bytes(halo_strbuf *out, const char *text, size_t length) {
  halo_strbuf_char(out, '"');
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == '\\')
      halo_strbuf_printf(out, "\\%02X", (unsigned char)text[i]);
    else
      halo_strbuf_char(out, text[i]);
  }
  halo_strbuf_char(out, '"');
}

/* Lists of integers, which come in several forms, in one. */
static inline void mlir_print_dense(halo_strbuf *out, const halo_mlir_attr *attr) {
  const halo_literal *literal = attr->literal;
  halo_type type = literal->shape->type;
  int64_t count = halo_shape_element_count(literal->shape);
  if ((halo_type_is_integral(type) || type == HALO_PRED) && count <= 64 &&
      literal->shape->rank == attr->type->rank) {
    halo_strbuf_char(out, '[');
    for (int64_t i = 0; i < count; i++) {
      int64_t value = halo_literal_get_i64(literal, i);
      if (i) halo_strbuf_append(out, ", ");
      if (type == HALO_PRED)
        halo_strbuf_append(out, value ? "true" : "false");
      else
        halo_strbuf_printf(out, "%" PRId64, value);
    }
    halo_strbuf_char(out, ']');
    return;
  }
  char *value;
  if (halo_literal_to_text(literal, &value) != HALO_OK) abort();
  halo_strbuf_printf(out, "dense<%s> : ", value);
  halo_mlir_type_print(out, attr->type);
  halo_text_release(value);
}

static inline void mlir_print_attr(halo_strbuf *out, const halo_mlir_attr *attr) {
  switch (attr->kind) {
    case HALO_MLIR_UNIT: halo_strbuf_append(out, "unit"); break;
    case HALO_MLIR_BOOL: halo_strbuf_append(out, attr->i ? "true" : "false"); break;
    case HALO_MLIR_INT:
      halo_strbuf_printf(out, "%" PRId64, attr->i);
      if (attr->type && attr->type->element != HALO_S64) {
        halo_strbuf_append(out, " : ");
        halo_mlir_type_print(out, attr->type);
      }
      break;
    case HALO_MLIR_FLOAT: halo_strbuf_printf(out, "%.9g", attr->f); break;
    case HALO_MLIR_STRING: mlir_print_bytes(out, attr->string.text, attr->string.length); break;
    case HALO_MLIR_SYMBOL:
      halo_strbuf_char(out, '@');
      mlir_print_bytes(out, attr->string.text, attr->string.length);
      break;
    case HALO_MLIR_ENUM: halo_strbuf_append(out, attr->string.text); break;
    case HALO_MLIR_TYPE_ATTR: halo_mlir_type_print(out, attr->type); break;
    case HALO_MLIR_ARRAY:
      halo_strbuf_char(out, '[');
      for (int32_t i = 0; i < attr->array.count; i++) {
        if (i) halo_strbuf_append(out, ", ");
        mlir_print_attr(out, attr->array.data[i]);
      }
      halo_strbuf_char(out, ']');
      break;
    case HALO_MLIR_DICT:
    case HALO_MLIR_STRUCT:
      if (attr->kind == HALO_MLIR_STRUCT) halo_strbuf_append(out, attr->dict.text);
      halo_strbuf_char(out, '{');
      mlir_print_rows(out, attr->dict.data, attr->dict.count);
      halo_strbuf_char(out, '}');
      break;
    case HALO_MLIR_DENSE: mlir_print_dense(out, attr); break;
    case HALO_MLIR_OPAQUE:
      halo_strbuf_printf(out, "opaque %s", attr->string.text ? attr->string.text : "");
      break;
  }
}

/* Values have numbers in the order in which they are printed. */
static inline void mlir_print_value(halo_strbuf *out, halo_mlir_value *value, int64_t *next) {
  if (!value->data) value->data = (void *)(intptr_t)++ * next;
  halo_strbuf_printf(out, "%%%" PRId64, (int64_t)(intptr_t)value->data - 1);
}

static inline void mlir_print_op(halo_strbuf *out, halo_mlir_op *op, int indent, bool locs,
                                 int64_t *next) {
  halo_strbuf_printf(out, "%*s", indent, "");
  for (int32_t i = 0; i < op->result_count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    mlir_print_value(out, &op->results[i], next);
  }
  halo_strbuf_printf(out, "%s%s(", op->result_count ? " = " : "", op->name);
  for (int32_t i = 0; i < op->operand_count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    mlir_print_value(out, op->operands[i], next);
  }
  halo_strbuf_append(out, ")");
  if (op->attr_count) {
    halo_strbuf_append(out, " {");
    mlir_print_rows(out, op->attrs, op->attr_count);
    halo_strbuf_append(out, "}");
  }
  for (int32_t i = 0; i < op->result_count; i++) {
    halo_strbuf_append(out, i ? ", " : " : ");
    halo_mlir_type_print(out, op->results[i].type);
  }
  if (locs && op->loc)
    halo_strbuf_printf(out, " loc(%s, %s:%d:%d)", op->loc->name ? op->loc->name : "-",
                       op->loc->file ? op->loc->file : "-", op->loc->line, op->loc->column);
  halo_strbuf_char(out, '\n');
  for (int32_t i = 0; i < op->region_count; i++) {
    halo_mlir_block *block = op->regions[i].block;
    halo_strbuf_printf(out, "%*s{", indent, "");
    for (int32_t k = 0; block && k < block->arg_count; k++) {
      halo_strbuf_append(out, k ? ", " : " ");
      mlir_print_value(out, &block->args[k], next);
      halo_strbuf_append(out, ": ");
      halo_mlir_type_print(out, block->args[k].type);
      if (locs && block->args[k].loc && block->args[k].loc->name)
        halo_strbuf_printf(out, " loc(%s)", block->args[k].loc->name);
    }
    halo_strbuf_char(out, '\n');
    for (int32_t k = 0; block && k < block->ops.count; k++)
      mlir_print_op(out, block->ops.data[k], indent + 2, locs, next);
    halo_strbuf_printf(out, "%*s}\n", indent, "");
  }
}

/* The whole program; heap, to be freed with halo_free. Uses the scratch members of values. */
static inline char *mlir_print(halo_mlir_program *program, bool locs) {
  halo_strbuf out = {0};
  int64_t next = 0;
  mlir_print_op(&out, program->module, 0, locs, &next);
  return halo_strbuf_take(&out);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/mlir_print.c: programs as MLIR text in generic form. */
#include "mlir_print.h"

#include "base/pointer_map.h"

#include <stdlib.h>
#include <string.h>

typedef struct printer {
  halo_strbuf *out;
  halo_pointer_map numbers; /* of values */
  uintptr_t next;
  unsigned flags;
} printer;

static void print_op(printer *p, const halo_mlir_op *op, int depth);

/* ---- Values ---- */

static void print_indent(printer *p, int depth) {
  for (int i = 0; i < depth; i++) halo_strbuf_append(p->out, "  ");
}

static void print_definition(printer *p, const halo_mlir_value *value) {
  uintptr_t number = ++p->next;
  halo_pointer_map_set(&p->numbers, value, (void *)number);
  halo_strbuf_printf(p->out, "%%%llu", (unsigned long long)number - 1);
}

static void print_use(printer *p, const halo_mlir_value *value) {
  uintptr_t number = (uintptr_t)halo_pointer_map_get(&p->numbers, value);
  halo_strbuf_printf(p->out, "%%%llu", (unsigned long long)number - 1);
}

/* ---- Defaults ---- */

typedef enum default_form {
  DEFAULT_EMPTY, /* a list, text or dictionary with nothing in it */
  DEFAULT_ZERO,  /* 0, false, or all elements 0 or false */
  DEFAULT_ONE,   /* 1, or all elements 1 */
  DEFAULT_WORD,  /* the keyword NOTYPE, or all DEFAULT */
  DEFAULT_ACCURACY
} default_form;

static const struct {
  const char *name;
  default_form form;
} default_rows[] = {
    {"api_version", DEFAULT_ONE},
    {"arg_attrs", DEFAULT_EMPTY},
    {"backend_config", DEFAULT_EMPTY},
    {"base_dilations", DEFAULT_ONE},
    {"called_computations", DEFAULT_EMPTY},
    {"channel_id", DEFAULT_ZERO},
    {"collapsed_slice_dims", DEFAULT_EMPTY},
    {"compare_type", DEFAULT_WORD},
    {"composite_attributes", DEFAULT_EMPTY},
    {"has_dynamic_root", DEFAULT_ZERO},
    {"has_side_effect", DEFAULT_ZERO},
    {"index_vector_dim", DEFAULT_ZERO},
    {"indices_are_sorted", DEFAULT_ZERO},
    {"infeed_config", DEFAULT_EMPTY},
    {"input_batching_dims", DEFAULT_EMPTY},
    {"inserted_window_dims", DEFAULT_EMPTY},
    {"is_host_transfer", DEFAULT_ZERO},
    {"is_stable", DEFAULT_ZERO},
    {"known_expanding_dimensions", DEFAULT_EMPTY},
    {"known_nonexpanding_dimensions", DEFAULT_EMPTY},
    {"layout", DEFAULT_EMPTY},
    {"lhs_batching_dimensions", DEFAULT_EMPTY},
    {"lhs_contracting_dimensions", DEFAULT_EMPTY},
    {"lhs_dilation", DEFAULT_ONE},
    {"lower", DEFAULT_ZERO},
    {"offset_dims", DEFAULT_EMPTY},
    {"operand_batching_dims", DEFAULT_EMPTY},
    {"operand_layouts", DEFAULT_EMPTY},
    {"outfeed_config", DEFAULT_EMPTY},
    {"output_operand_aliases", DEFAULT_EMPTY},
    {"padding", DEFAULT_ZERO},
    {"precision_config", DEFAULT_WORD},
    {"res_attrs", DEFAULT_EMPTY},
    {"result_accuracy", DEFAULT_ACCURACY},
    {"result_layouts", DEFAULT_EMPTY},
    {"result_tilings", DEFAULT_EMPTY},
    {"rhs_batching_dimensions", DEFAULT_EMPTY},
    {"rhs_contracting_dimensions", DEFAULT_EMPTY},
    {"rhs_dilation", DEFAULT_ONE},
    {"scatter_dims_to_operand_dims", DEFAULT_EMPTY},
    {"scatter_indices_batching_dims", DEFAULT_EMPTY},
    {"source_target_pairs", DEFAULT_EMPTY},
    {"start_index_map", DEFAULT_EMPTY},
    {"start_indices_batching_dims", DEFAULT_EMPTY},
    {"sym_visibility", DEFAULT_EMPTY},
    {"unique_indices", DEFAULT_ZERO},
    {"update_window_dims", DEFAULT_EMPTY},
    {"use_global_device_ids", DEFAULT_ZERO},
    {"version", DEFAULT_ZERO},
    {"window_dilations", DEFAULT_ONE},
    {"window_reversal", DEFAULT_ZERO},
    {"window_strides", DEFAULT_ONE},
};

/* Nothing, or a list of dictionaries with nothing in them. */
static bool is_empty(const halo_mlir_attr *attr) {
  if (attr->kind == HALO_MLIR_STRING) return attr->string.length == 0;
  if (attr->kind == HALO_MLIR_DICT) return attr->dict.count == 0;
  if (attr->kind == HALO_MLIR_DENSE) return halo_shape_element_count(attr->literal->shape) == 0;
  if (attr->kind != HALO_MLIR_ARRAY) return false;
  for (int32_t i = 0; i < attr->array.count; i++) {
    const halo_mlir_attr *element = attr->array.data[i];
    if (element->kind != HALO_MLIR_DICT || element->dict.count) return false;
  }
  return true;
}

/* A number, or a list of integers that are all this one. */
static bool is_all(const halo_mlir_attr *attr, int64_t value) {
  if (attr->kind == HALO_MLIR_INT || attr->kind == HALO_MLIR_BOOL) return attr->i == value;
  if (attr->kind != HALO_MLIR_DENSE || halo_type_is_float(attr->type->element) ||
      halo_type_is_complex(attr->type->element))
    return false;
  for (int64_t i = 0; i < halo_shape_element_count(attr->literal->shape); i++)
    if (halo_literal_get_i64(attr->literal, i) != value) return false;
  return true;
}

static bool is_default_word(const halo_mlir_attr *attr) {
  if (attr->kind == HALO_MLIR_ARRAY) {
    for (int32_t i = 0; i < attr->array.count; i++)
      if (!is_default_word(attr->array.data[i])) return false;
    return true;
  }
  return attr->kind == HALO_MLIR_ENUM &&
         (strcmp(attr->string.text, "DEFAULT") == 0 || strcmp(attr->string.text, "NOTYPE") == 0);
}

static bool is_default_accuracy(const halo_mlir_attr *attr) {
  const halo_mlir_attr *mode = halo_mlir_dict_get(attr, "mode");
  return mode && is_default_word(mode);
}

static bool is_default(const halo_mlir_op *op, const halo_mlir_named *attr) {
  /* A sort along the last dimension says -1. */
  if (op->opcode == HALO_MLIR_OP_SORT && strcmp(attr->name, "dimension") == 0)
    return is_all(attr->value, -1);
  for (size_t i = 0; i < sizeof default_rows / sizeof *default_rows; i++) {
    if (strcmp(attr->name, default_rows[i].name) != 0) continue;
    switch (default_rows[i].form) {
      case DEFAULT_EMPTY: return is_empty(attr->value);
      case DEFAULT_ZERO: return is_all(attr->value, 0);
      case DEFAULT_ONE: return is_all(attr->value, 1);
      case DEFAULT_WORD: return is_default_word(attr->value);
      case DEFAULT_ACCURACY: return is_default_accuracy(attr->value);
    }
  }
  return false;
}

/* ---- Operations ---- */

static int by_name(const void *a, const void *b) {
  return strcmp((*(const halo_mlir_named *const *)a)->name,
                (*(const halo_mlir_named *const *)b)->name);
}

/* A flag that is there is true, and so it is printed where an artifact has a truth value. */
static void print_value(printer *p, const halo_mlir_op *op, const halo_mlir_named *attr) {
  static const halo_mlir_attr yes = {.kind = HALO_MLIR_BOOL, .i = 1};
  bool unit = attr->value->kind == HALO_MLIR_UNIT;
  bool own = strcmp(attr->name, "use_global_device_ids") == 0 ||
             strcmp(attr->name, "has_dynamic_root") == 0;
  if (unit && !(own && op->opcode != HALO_MLIR_OP_UNKNOWN)) return;
  halo_strbuf_append(p->out, " = ");
  mlir_print_attr(p->out, attr->name, unit ? &yes : attr->value);
}

static void print_attrs(printer *p, const halo_mlir_op *op) {
  int32_t count = 0;
  const halo_mlir_named **sorted =
      halo_alloc(sizeof *sorted * (size_t)(op->attr_count ? op->attr_count : 1));
  for (int32_t i = 0; i < op->attr_count; i++)
    if (!is_default(op, &op->attrs[i])) sorted[count++] = &op->attrs[i];
  qsort(sorted, (size_t)count, sizeof *sorted, by_name);
  for (int32_t i = 0; i < count; i++) {
    halo_strbuf_append(p->out, i ? ", " : " {");
    mlir_print_name(p->out, sorted[i]->name);
    print_value(p, op, sorted[i]);
  }
  if (count) halo_strbuf_append(p->out, "}");
  halo_free(sorted);
}

static void print_loc(printer *p, const halo_mlir_loc *loc) {
  if (!(p->flags & MLIR_PRINT_LOCATIONS) || !loc) return;
  halo_strbuf_append(p->out, " loc(");
  if (loc->name) halo_strbuf_printf(p->out, "\"%s\"%s", loc->name, loc->file ? "(" : "");
  if (loc->file) halo_strbuf_printf(p->out, "\"%s\":%d:%d", loc->file, loc->line, loc->column);
  halo_strbuf_append(p->out, loc->name && loc->file ? "))" : ")");
}

static void print_region(printer *p, const halo_mlir_region *region, int depth) {
  const halo_mlir_block *block = region->block;
  halo_strbuf_append(p->out, "{\n");
  if (block && block->arg_count) {
    print_indent(p, depth);
    halo_strbuf_append(p->out, "^bb0(");
    for (int32_t i = 0; i < block->arg_count; i++) {
      if (i) halo_strbuf_append(p->out, ", ");
      print_definition(p, &block->args[i]);
      halo_strbuf_append(p->out, ": ");
      halo_mlir_type_print(p->out, block->args[i].type);
      print_loc(p, block->args[i].loc);
    }
    halo_strbuf_append(p->out, "):\n");
  }
  for (int32_t i = 0; block && i < block->ops.count; i++)
    print_op(p, block->ops.data[i], depth + 1);
  print_indent(p, depth);
  halo_strbuf_append(p->out, "}");
}

static void print_types(printer *p, const halo_mlir_op *op) {
  halo_strbuf_append(p->out, " : (");
  for (int32_t i = 0; i < op->operand_count; i++) {
    if (i) halo_strbuf_append(p->out, ", ");
    halo_mlir_type_print(p->out, op->operands[i]->type);
  }
  halo_strbuf_append(p->out, op->result_count == 1 ? ") -> " : ") -> (");
  for (int32_t i = 0; i < op->result_count; i++) {
    if (i) halo_strbuf_append(p->out, ", ");
    halo_mlir_type_print(p->out, op->results[i].type);
  }
  if (op->result_count != 1) halo_strbuf_append(p->out, ")");
}

static void print_op(printer *p, const halo_mlir_op *op, int depth) {
  print_indent(p, depth);
  for (int32_t i = 0; i < op->result_count; i++) {
    if (i) halo_strbuf_append(p->out, ", ");
    print_definition(p, &op->results[i]);
  }
  halo_strbuf_printf(p->out, "%s\"%s\"(", op->result_count ? " = " : "", op->name);
  for (int32_t i = 0; i < op->operand_count; i++) {
    if (i) halo_strbuf_append(p->out, ", ");
    print_use(p, op->operands[i]);
  }
  halo_strbuf_append(p->out, ")");
  for (int32_t i = 0; i < op->region_count; i++) {
    halo_strbuf_append(p->out, i ? ", " : " (");
    print_region(p, &op->regions[i], depth);
  }
  if (op->region_count) halo_strbuf_append(p->out, ")");
  print_attrs(p, op);
  print_types(p, op);
  print_loc(p, op->loc);
  halo_strbuf_append(p->out, "\n");
}

void mlir_print(halo_strbuf *out, const halo_mlir_program *program, unsigned flags) {
  printer p = {.out = out, .flags = flags};
  print_op(&p, program->module, 0);
  halo_pointer_map_deinit(&p.numbers);
}

halo_mlir_op *mlir_function(const halo_mlir_program *program, const char *name) {
  const halo_mlir_block *block = program->module->regions[0].block;
  for (int32_t i = 0; block && i < block->ops.count; i++) {
    halo_mlir_op *op = block->ops.data[i];
    if (op->opcode == HALO_MLIR_OP_FUNC && strcmp(halo_mlir_string(op, "sym_name", ""), name) == 0)
      return op;
  }
  return NULL;
}

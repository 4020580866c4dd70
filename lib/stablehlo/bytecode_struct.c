/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_struct.c: structures of VHLO and Shardy, by one table of their fields. */
#include "stablehlo/bytecode.h"

#include <string.h>

/* How a field is written. */
typedef enum field_form {
  FIELD_END = 0,
  FIELD_ATTR,          /* an attribute */
  FIELD_SYMBOL,        /* an attribute; a string is a symbol's name */
  FIELD_ATTR_OR_NONE,  /* its index with a flag whether it is there */
  FIELD_FLAG_AND_ATTR, /* a varint whether it is there, then the attribute */
  FIELD_ATTRS,         /* a list */
  FIELD_STRING,
  FIELD_INT,
  FIELD_INTS,
  FIELD_INT_OR_NONE, /* with a flag whether it is there */
  FIELD_F64,
  FIELD_BOOL /* a byte */
} field_form;

enum { MOST_FIELDS = 8 };

typedef struct struct_row {
  halo_bytecode_dialect dialect;
  uint64_t code;
  const char *name;
  struct {
    const char *name;
    field_form form;
  } fields[MOST_FIELDS];
} struct_row;

/* Names are those of mlir.h. */
static const struct_row rows[] = {
    {HALO_BYTECODE_VHLO,
     10,
     "output_operand_alias",
     {{"output_tuple_indices", FIELD_INTS},
      {"operand_index", FIELD_INT},
      {"operand_tuple_indices", FIELD_INTS}}},
    {HALO_BYTECODE_VHLO, 18, "bounds", {{"bounds", FIELD_INTS}}},
    {HALO_BYTECODE_VHLO,
     20,
     "result_accuracy",
     {{"atol", FIELD_F64}, {"rtol", FIELD_F64}, {"ulps", FIELD_INT}, {"mode", FIELD_ATTR}}},
    {HALO_BYTECODE_VHLO, 21, "sub_axis_info", {{"pre_size", FIELD_INT}, {"size", FIELD_INT}}},
    {HALO_BYTECODE_VHLO,
     22,
     "axis_ref",
     {{"name", FIELD_ATTR}, {"sub_axis_info", FIELD_FLAG_AND_ATTR}}},
    {HALO_BYTECODE_VHLO,
     23,
     "replica_group_mesh_axes",
     {{"mesh", FIELD_SYMBOL}, {"axes", FIELD_ATTR}}},
    {HALO_BYTECODE_VHLO, 24, "mesh_axis", {{"name", FIELD_ATTR}, {"size", FIELD_INT}}},
    {HALO_BYTECODE_VHLO, 25, "mesh", {{"axes", FIELD_ATTR}, {"device_ids", FIELD_ATTR_OR_NONE}}},
    {HALO_BYTECODE_SDY, 1, "sdy.mesh_axis", {{"name", FIELD_STRING}, {"size", FIELD_INT}}},
    {HALO_BYTECODE_SDY, 2, "sdy.mesh", {{"axes", FIELD_ATTRS}, {"device_ids", FIELD_INTS}}},
    {HALO_BYTECODE_SDY, 3, "sdy.sub_axis_info", {{"pre_size", FIELD_INT}, {"size", FIELD_INT}}},
    {HALO_BYTECODE_SDY,
     4,
     "sdy.axis_ref",
     {{"name", FIELD_STRING}, {"sub_axis_info", FIELD_ATTR_OR_NONE}}},
    {HALO_BYTECODE_SDY,
     5,
     "sdy.dimension_sharding",
     {{"axes", FIELD_ATTRS}, {"is_closed", FIELD_BOOL}, {"priority", FIELD_INT_OR_NONE}}},
    {HALO_BYTECODE_SDY,
     6,
     "sdy.sharding",
     {{"mesh_or_ref", FIELD_ATTR},
      {"dim_shardings", FIELD_ATTRS},
      {"replicated_axes", FIELD_ATTRS}}},
    {HALO_BYTECODE_SDY, 8, "sdy.dim_mapping", {{"factor_indices", FIELD_INTS}}},
    {HALO_BYTECODE_SDY, 9, "sdy.tensor_mapping", {{"dim_mappings", FIELD_ATTRS}}},
    {HALO_BYTECODE_SDY,
     10,
     "sdy.op_sharding_rule",
     {{"factor_sizes", FIELD_INTS},
      {"operand_mappings", FIELD_ATTRS},
      {"result_mappings", FIELD_ATTRS},
      {"reduction_factors", FIELD_INTS},
      {"need_replication_factors", FIELD_INTS},
      {"permutation_factors", FIELD_INTS},
      {"blocked_propagation_factors", FIELD_INTS},
      {"is_custom_rule", FIELD_BOOL}}},
    {HALO_BYTECODE_SDY,
     15,
     "sdy.sharding",
     {{"mesh_or_ref", FIELD_ATTR},
      {"dim_shardings", FIELD_ATTRS},
      {"replicated_axes", FIELD_ATTRS},
      {"unreduced_axes", FIELD_ATTRS}}},
    {HALO_BYTECODE_SDY,
     17,
     "sdy.sharding",
     {{"mesh_or_ref", FIELD_ATTR},
      {"dim_shardings", FIELD_ATTRS},
      {"replicated_axes", FIELD_ATTRS},
      {"unreduced_axes", FIELD_ATTRS},
      {"unreduced_reduction", FIELD_INT}}},
};

/* ---- Fields ---- */

static void field_int(halo_mlir_attr *out, int64_t value) {
  out->kind = HALO_MLIR_INT;
  out->i = value;
}

static halo_status field_ints(halo_bytecode_cursor *cursor, halo_mlir_attr *out) {
  halo_arena *arena = &cursor->reader->program->arena;
  int32_t count;
  HALO_TRY(halo_bytecode_count(cursor, &count));
  const halo_mlir_attr **list = halo_arena_array(arena, const halo_mlir_attr *, count);
  halo_mlir_attr *values = halo_arena_array(arena, halo_mlir_attr, count);
  for (int32_t i = 0; i < count; i++) {
    int64_t value;
    HALO_TRY(halo_bytecode_si(cursor, &value));
    field_int(&values[i], value);
    list[i] = &values[i];
  }
  out->kind = HALO_MLIR_ARRAY;
  out->array.data = list;
  out->array.count = count;
  return HALO_OK;
}

static halo_status field_f64(halo_bytecode_cursor *cursor, halo_mlir_attr *out) {
  static const halo_mlir_type f64 = {.kind = HALO_MLIR_SCALAR, .element = HALO_F64};
  uint64_t bits;
  HALO_TRY(halo_bytecode_bits(cursor, 64, &bits));
  out->kind = HALO_MLIR_FLOAT;
  out->type = &f64;
  memcpy(&out->f, &bits, sizeof out->f);
  return HALO_OK;
}

static halo_status field_bool(halo_bytecode_cursor *cursor, halo_mlir_attr *out) {
  uint8_t byte;
  HALO_TRY(halo_bytecode_byte(cursor, &byte));
  out->kind = HALO_MLIR_BOOL;
  out->i = byte != 0;
  return HALO_OK;
}

static halo_status field_string(halo_bytecode_cursor *cursor, halo_mlir_attr *out) {
  halo_bytecode_string string;
  HALO_TRY(halo_bytecode_string_of(cursor, &string));
  out->kind = HALO_MLIR_STRING;
  out->string.text = string.text;
  out->string.length = string.length;
  return HALO_OK;
}

static halo_status field_symbol(halo_bytecode_cursor *cursor, const halo_mlir_attr **out) {
  HALO_TRY(halo_bytecode_attr(cursor, out));
  if ((*out)->kind != HALO_MLIR_STRING) return HALO_OK;
  halo_mlir_attr *symbol = halo_arena_copy(&cursor->reader->program->arena, *out, sizeof *symbol);
  symbol->kind = HALO_MLIR_SYMBOL;
  *out = symbol;
  return HALO_OK;
}

/* Fields that may be missing: *out is NULL. */
static halo_status field_optional(halo_bytecode_cursor *cursor, field_form form,
                                  const halo_mlir_attr **out) {
  halo_bytecode *reader = cursor->reader;
  halo_bytecode_cursor start = *cursor;
  uint64_t value;
  HALO_TRY(halo_bytecode_vi(cursor, &value));
  *out = NULL;
  if (!(value & 1)) return HALO_OK;
  if (form == FIELD_FLAG_AND_ATTR) return halo_bytecode_attr(cursor, out);
  if (form == FIELD_INT_OR_NONE) {
    halo_mlir_attr *attr = halo_arena_new(&reader->program->arena, halo_mlir_attr);
    field_int(attr, (int64_t)(value >> 1));
    *out = attr;
    return HALO_OK;
  }
  if (value >> 1 >= (uint64_t)reader->attr_count)
    return halo_bytecode_fail(&start, "attribute %llu of %d", (unsigned long long)(value >> 1),
                              reader->attr_count);
  return halo_bytecode_attr_at(&start, (int32_t)(value >> 1), out);
}

static halo_status field_read(halo_bytecode_cursor *cursor, field_form form,
                              const halo_mlir_attr **out) {
  if (form == FIELD_ATTR) return halo_bytecode_attr(cursor, out);
  if (form == FIELD_SYMBOL) return field_symbol(cursor, out);
  if (form == FIELD_ATTR_OR_NONE || form == FIELD_FLAG_AND_ATTR || form == FIELD_INT_OR_NONE)
    return field_optional(cursor, form, out);
  halo_mlir_attr *attr = halo_arena_new(&cursor->reader->program->arena, halo_mlir_attr);
  *out = attr;
  if (form == FIELD_ATTRS) return halo_bytecode_attr_list(cursor, attr);
  if (form == FIELD_STRING) return field_string(cursor, attr);
  if (form == FIELD_INTS) return field_ints(cursor, attr);
  if (form == FIELD_F64) return field_f64(cursor, attr);
  if (form == FIELD_BOOL) return field_bool(cursor, attr);
  int64_t value;
  HALO_TRY(halo_bytecode_si(cursor, &value));
  field_int(attr, value);
  return HALO_OK;
}

halo_status halo_bytecode_decode_struct(halo_bytecode_cursor *cursor, halo_bytecode_dialect dialect,
                                        uint64_t code, halo_mlir_attr *out, bool *found) {
  const struct_row *row = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].dialect == dialect && rows[i].code == code) row = &rows[i];
  *found = row != NULL;
  if (!row) return HALO_OK;
  halo_mlir_named *data =
      halo_arena_array(&cursor->reader->program->arena, halo_mlir_named, MOST_FIELDS);
  int32_t count = 0;
  for (int f = 0; f < MOST_FIELDS && row->fields[f].name; f++) {
    const halo_mlir_attr *value;
    HALO_TRY(field_read(cursor, row->fields[f].form, &value));
    if (value) data[count++] = (halo_mlir_named){row->fields[f].name, value};
  }
  out->kind = HALO_MLIR_STRUCT;
  out->dict.text = row->name;
  out->dict.data = data;
  out->dict.count = count;
  return HALO_OK;
}

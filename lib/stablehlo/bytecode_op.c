/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_op.c: the attributes of operations: properties and dictionary in one list, as StableHLO has them now. */
#include "stablehlo/bytecode.h"

#include <string.h>

/* ---- Bringing up to date ---- */

static const halo_mlir_attr *as_symbol(halo_bytecode *reader, const halo_mlir_attr *attr) {
  if (attr->kind != HALO_MLIR_STRING) return attr;
  halo_mlir_attr *symbol = halo_arena_copy(&reader->program->arena, attr, sizeof *attr);
  symbol->kind = HALO_MLIR_SYMBOL;
  return symbol;
}

/* VHLO writes `@f` as a string. */
static const halo_mlir_attr *as_symbols(halo_bytecode *reader, const halo_mlir_attr *attr) {
  if (attr->kind != HALO_MLIR_ARRAY || (size_t)attr->array.count > reader->attr_room) return attr;
  halo_arena *arena = &reader->program->arena;
  int32_t count = attr->array.count;
  reader->attr_room -= (size_t)count;
  const halo_mlir_attr **list = halo_arena_array(arena, const halo_mlir_attr *, count);
  for (int32_t i = 0; i < count; i++) list[i] = as_symbol(reader, attr->array.data[i]);
  halo_mlir_attr *symbols = halo_arena_copy(arena, attr, sizeof *attr);
  symbols->array.data = list;
  return symbols;
}

/* Changes an attribute to what the newest version has; false: it has none such. */
static bool attr_update(halo_bytecode *reader, const halo_bytecode_op *op, halo_mlir_named *attr) {
  const char *name = attr->name;
  if (op->opcode == HALO_MLIR_OP_CALL && strcmp(name, "callee") == 0)
    attr->value = as_symbol(reader, attr->value);
  else if (op->opcode == HALO_MLIR_OP_COMPOSITE && strcmp(name, "decomposition") == 0)
    attr->value = as_symbol(reader, attr->value);
  else if (op->opcode == HALO_MLIR_OP_CUSTOM_CALL && strcmp(name, "called_computations") == 0)
    attr->value = as_symbols(reader, attr->value);
  else if (op->opcode == HALO_MLIR_OP_DYNAMIC_CONV)
    return op->version > 1 || strcmp(name, "padding") != 0; /* the operand says it */
  else if (op->opcode == HALO_MLIR_OP_DOT_GENERAL) /* no algorithm: `none` in each of its parts */
    return attr->value->kind != HALO_MLIR_TYPE_ATTR || attr->value->type->kind != HALO_MLIR_OTHER ||
           strcmp(attr->value->type->text, "none") != 0;
  else if (op->opcode == HALO_MLIR_OP_FUNC && strcmp(name, "sym_visibility") == 0)
    return attr->value->kind != HALO_MLIR_STRING || attr->value->string.length != 0;
  return true;
}

/* ---- Lists ---- */

/* An attribute's index, which has a flag in its lowest bit where the attribute may be missing: *out is NULL. */
static halo_status property_read(halo_bytecode_cursor *cursor, bool optional,
                                 const halo_mlir_attr **out) {
  if (!optional) return halo_bytecode_attr(cursor, out);
  halo_bytecode_cursor start = *cursor;
  uint64_t value;
  *out = NULL;
  HALO_TRY(halo_bytecode_vi(cursor, &value));
  if (!(value & 1)) return HALO_OK;
  if (value >> 1 >= (uint64_t)cursor->reader->attr_count)
    return halo_bytecode_fail(&start, "attribute %llu of %d", (unsigned long long)(value >> 1),
                              cursor->reader->attr_count);
  return halo_bytecode_attr_at(&start, (int32_t)(value >> 1), out);
}

static halo_status properties_read(halo_bytecode *reader, const halo_bytecode_op *op,
                                   halo_bytecode_blob blob, halo_mlir_named *list, int32_t *count) {
  halo_bytecode_cursor cursor = {reader, blob.at, blob.at + blob.size};
  for (int32_t i = 0; i < op->property_count; i++) {
    halo_mlir_named attr = {.name = op->properties[i].name};
    /* Shardy's operations have got more in the course of time. */
    if (!op->version && cursor.at == cursor.end) return HALO_OK;
    HALO_TRY(property_read(&cursor, op->properties[i].optional, &attr.value));
    if (attr.value && attr_update(reader, op, &attr)) list[(*count)++] = attr;
  }
  return op->version ? halo_bytecode_finish(&cursor, "the properties of an operation") : HALO_OK;
}

static halo_status attrs_make(const halo_bytecode_cursor *cursor, int32_t op_index,
                              int32_t properties, int32_t dictionary, halo_bytecode_attrs *out) {
  halo_bytecode *reader = cursor->reader;
  const halo_bytecode_op *op = &reader->ops.data[op_index];
  const halo_mlir_attr *dict = NULL;
  if (dictionary >= 0) {
    HALO_TRY(halo_bytecode_attr_at(cursor, dictionary, &dict));
    if (dict->kind != HALO_MLIR_DICT)
      return halo_bytecode_fail(cursor, "the attributes of an operation are no dictionary");
  }
  bool known = properties >= 0 && op->property_count > 0;
  int32_t most = (known ? op->property_count : 0) + (dict ? dict->dict.count : 0);
  if ((size_t)most > reader->attr_room)
    return halo_bytecode_fail(cursor, "the operations have too many attributes");
  reader->attr_room -= (size_t)most;
  halo_mlir_named *list = halo_arena_array(&reader->program->arena, halo_mlir_named, most);
  int32_t count = 0;
  if (known) HALO_TRY(properties_read(reader, op, reader->properties[properties], list, &count));
  for (int32_t i = 0; dict && i < dict->dict.count; i++) {
    halo_mlir_named attr = dict->dict.data[i];
    if (attr_update(reader, op, &attr)) list[count++] = attr;
  }
  *out = (halo_bytecode_attrs){list, count};
  return HALO_OK;
}

/* Many operations share their properties, and all that have the same name share the list. */
halo_status halo_bytecode_attrs_of(const halo_bytecode_cursor *cursor, int32_t op,
                                   int32_t properties, int32_t dictionary,
                                   halo_bytecode_attrs *out) {
  halo_bytecode *reader = cursor->reader;
  int32_t key[3] = {op, properties, dictionary};
  *out = (halo_bytecode_attrs){NULL, 0};
  if (properties < 0 && dictionary < 0) return HALO_OK;
  halo_bytecode_attrs *known = halo_map_get(&reader->attr_lists, key, sizeof key);
  if (!known) {
    HALO_TRY(attrs_make(cursor, op, properties, dictionary, out));
    known = halo_arena_copy(&reader->program->arena, out, sizeof *out);
    halo_map_set(&reader->attr_lists, key, sizeof key, known);
  }
  *out = *known;
  return HALO_OK;
}

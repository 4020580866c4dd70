/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_shardy.c: Shardy's operations, and the custom calls that stand for them in programs without it:
 * what is partitioned by hand, and what says how a value lies on the devices. In HLO these are calls, too, with shardings. */
#include "stablehlo/translate.h"

#include <string.h>

/* ---- Marks ---- */

/* A call that says how its operand lies on the devices, or that a partition's array begins or ends. */
static halo_instr *shardy_mark(halo_translator *t, const char *target, halo_instr *operand,
                               const halo_shape *shape, const halo_mlir_attr *attr,
                               const halo_mlir_attr *manual, const char *config) {
  halo_sharding *sharding = halo_arena_new(t->arena, halo_sharding);
  if (!halo_translate_ok(t) || !shape) return NULL;
  if (!halo_translate_shardy(t, attr, shape->rank, manual, sharding)) {
    halo_translate_wrong(t, "a sharding is missing");
    return NULL;
  }
  halo_attr attrs[] = {halo_translate_text(t, HALO_ATTR_CUSTOM_CALL_TARGET, target),
                       {.id = HALO_ATTR_SHARDING, .sharding = sharding},
                       halo_translate_text(t, HALO_ATTR_BACKEND_CONFIG, config ? config : "")};
  return halo_translate_emit(t, HALO_OP_CUSTOM_CALL, shape, &operand, 1, attrs, config ? 3 : 2);
}

/* Which dimensions may be cut further, as XLA's marks have it; NULL: none. */
static const char *shardy_open(halo_translator *t, const halo_mlir_attr *attr, int rank) {
  const halo_mlir_attr *dims = halo_mlir_dict_get(attr, "dim_shardings");
  if (dims && dims->kind != HALO_MLIR_ARRAY) dims = NULL;
  halo_strbuf text = {0};
  for (int d = 0; dims && d < rank && d < dims->array.count; d++) {
    const halo_mlir_attr *closed = halo_mlir_dict_get(dims->array.data[d], "is_closed");
    if (!closed || closed->i) continue;
    halo_strbuf_printf(&text, "%s%d", text.length ? "," : "\"unspecified_dims=[", d);
  }
  if (text.length) halo_strbuf_append(&text, "]\"");
  const char *copy = text.length ? halo_arena_strdup(t->arena, halo_strbuf_text(&text)) : NULL;
  halo_strbuf_deinit(&text);
  return copy;
}

/* The value, marked with how it lies on the devices where there are several. */
static halo_instr *shardy_constrain(halo_translator *t, halo_instr *value,
                                    const halo_mlir_attr *attr) {
  bool array = value && halo_shape_is_array(value->shape);
  if (!array || !attr || t->module->num_partitions <= 1 || t->reducing) return value;
  return shardy_mark(t, "Sharding", value, value->shape, attr, t->manual,
                     shardy_open(t, attr, value->shape->rank));
}

/* From an array to the part of it that each partition has, of this shape, where it is cut along the axes in `manual`
 * (which t->manual is to be from then on), and back. */
static halo_instr *shardy_to_part(halo_translator *t, halo_instr *value, const halo_shape *part,
                                  const halo_mlir_attr *attr, const halo_mlir_attr *manual) {
  if (!halo_translate_ok(t) || !halo_shape_is_array(value->shape)) return value;
  if (t->module->num_partitions > 1) {
    const char *open = shardy_open(t, attr, value->shape->rank);
    value = shardy_mark(t, "Sharding", value, value->shape, attr, t->manual, open);
    return shardy_mark(t, "SPMDFullToShardShape", value, part, attr, manual, open);
  }
  if (halo_shape_compatible(part, value->shape)) return value;
  halo_translate_refuse(t,
                        "the program is for several partitions, but says that it has one: a part "
                        "of an array is another shape than the array");
  return NULL;
}

static halo_instr *shardy_to_whole(halo_translator *t, halo_instr *value, const halo_shape *whole,
                                   const halo_mlir_attr *attr, const halo_mlir_attr *manual) {
  if (!halo_translate_ok(t) || !halo_shape_is_array(value->shape)) return value;
  if (t->module->num_partitions <= 1) return value;
  const char *open = shardy_open(t, attr, value->shape->rank);
  value = shardy_mark(t, "Sharding", value, value->shape, attr, manual, open);
  return shardy_mark(t, "SPMDShardToFullShape", value, whole, attr, t->manual, open);
}

/* ---- Operations ---- */

void halo_translate_op_sharding_constraint(halo_translator *t, halo_mlir_op *op) {
  halo_translate_result(
      t, op, 0,
      shardy_constrain(t, halo_translate_operand(t, op, 0), halo_mlir_attr_of(op, "sharding")));
}

/* What uses the value from here on uses it by a mark, of which the group's members are to lie alike. */
void halo_translate_op_sharding_group(halo_translator *t, halo_mlir_op *op) {
  halo_instr *value = halo_translate_operand(t, op, 0);
  if (!halo_translate_ok(t) || t->module->num_partitions <= 1 || t->reducing) return;
  if (!halo_shape_is_array(value->shape)) return;
  halo_sharding *sharding = halo_arena_new(t->arena, halo_sharding);
  *sharding = (halo_sharding){.kind = HALO_SHARDING_UNKNOWN,
                              .group = HALO_SHARD_AS,
                              .group_id = halo_mlir_int(op, "group_id", 0)};
  halo_attr attrs[] = {halo_translate_text(t, HALO_ATTR_CUSTOM_CALL_TARGET, "Sharding"),
                       {.id = HALO_ATTR_SHARDING, .sharding = sharding},
                       /* It speaks to other members also where nobody uses it. */
                       halo_translate_int(HALO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, 1)};
  halo_instr *mark = halo_translate_emit(t, HALO_OP_CUSTOM_CALL, value->shape, &value, 1, attrs, 3);
  if (mark && mark->parent == value->parent && op->operands[0]->data == value) {
    op->operands[0]->data = mark;
  }
}

/* The region's operations here, `inside` being its arguments. */
static void shardy_inline(halo_translator *t, halo_mlir_op *op, halo_instr *const *inside,
                          halo_instr **results) {
  halo_mlir_block *block = op->regions[0].block;
  if (halo_translate_ok(t) && (!block || block->arg_count != op->operand_count)) {
    halo_translate_wrong(t, "the region does not take the operands");
  }
  if (!halo_translate_ok(t)) return;
  for (int32_t i = 0; i < block->arg_count; i++) block->args[i].data = inside[i];
  halo_translate_block(t, block, results, op->result_count);
}

void halo_translate_op_named_computation(halo_translator *t, halo_mlir_op *op) {
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, op->result_count + 1);
  shardy_inline(t, op, halo_translate_operands(t, op), results);
  for (int32_t i = 0; i < op->result_count; i++) halo_translate_result(t, op, i, results[i]);
}

/* Entry `i` of a list of shardings; on one device it may be missing. */
static const halo_mlir_attr *shardy_entry(halo_translator *t, const halo_mlir_attr *list,
                                          int32_t i) {
  if (list && list->kind == HALO_MLIR_ARRAY && i < list->array.count) return list->array.data[i];
  if (t->module->num_partitions > 1)
    halo_translate_wrong(t, "a list of shardings has no entry %d", i);
  return NULL;
}

/* Axes that are partitioned by hand already, and more. */
static const halo_mlir_attr *shardy_join(halo_translator *t, const halo_mlir_attr *more) {
  if (!more || more->kind != HALO_MLIR_ARRAY) return t->manual;
  if (!t->manual) return more;
  halo_mlir_attr *joined = halo_arena_copy(t->arena, more, sizeof *more);
  int32_t count = more->array.count + t->manual->array.count;
  const halo_mlir_attr **axes = halo_arena_array(t->arena, const halo_mlir_attr *, count + 1);
  memcpy(axes, more->array.data, sizeof *axes * (size_t)more->array.count);
  memcpy(axes + more->array.count, t->manual->array.data,
         sizeof *axes * (size_t)t->manual->array.count);
  joined->array.data = axes;
  joined->array.count = count;
  return joined;
}

/* The mesh that the first of an operation's shardings names; NULL: it has none. */
static const halo_mlir_attr *shardy_mesh(const halo_mlir_op *op) {
  static const char *const lists[] = {"in_shardings", "out_shardings"};
  for (int i = 0; i < 2; i++) {
    const halo_mlir_attr *list = halo_mlir_attr_of(op, lists[i]);
    if (!list || list->kind != HALO_MLIR_ARRAY || list->array.count == 0) continue;
    const halo_mlir_attr *mesh = halo_mlir_dict_get(list->array.data[0], "mesh_or_ref");
    if (mesh) return mesh;
  }
  return NULL;
}

/* Each partition's own program. On one device, where the mesh has no other, its arrays are the whole ones; else
 * marks, as XLA has them, say where the parts begin and how they lie in the whole. */
void halo_translate_op_manual(halo_translator *t, halo_mlir_op *op) {
  const halo_mlir_block *block = op->regions[0].block;
  const halo_mlir_attr *outer = t->manual, *outer_mesh = t->manual_mesh;
  const halo_mlir_attr *manual = shardy_join(t, halo_mlir_attr_of(op, "manual_axes"));
  halo_instr **inside = halo_translate_operands(t, op);
  for (int32_t i = 0; block && i < op->operand_count && i < block->arg_count; i++) {
    const halo_mlir_attr *attr = shardy_entry(t, halo_mlir_attr_of(op, "in_shardings"), i);
    const halo_shape *part = halo_translate_type(t, block->args[i].type);
    inside[i] = shardy_to_part(t, inside[i], part, attr, manual);
  }
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, op->result_count + 1);
  t->manual = manual;
  t->manual_mesh = shardy_mesh(op);
  shardy_inline(t, op, inside, results);
  t->manual = outer;
  t->manual_mesh = outer_mesh;
  for (int32_t i = 0; i < op->result_count && halo_translate_ok(t); i++) {
    const halo_mlir_attr *attr = shardy_entry(t, halo_mlir_attr_of(op, "out_shardings"), i);
    const halo_shape *whole = halo_translate_type(t, op->results[i].type);
    halo_translate_result(t, op, i, shardy_to_whole(t, results[i], whole, attr, manual));
  }
}

/* ---- As custom calls ---- */

static void shardy_parts(halo_translator *t, halo_mlir_op *op, const halo_mlir_attr *frontend,
                         bool begin) {
  const halo_mlir_attr *manual =
      shardy_join(t, halo_translate_shardy_text(t, frontend, "xla.sdy.manual_axes"));
  const halo_mlir_attr *list = halo_translate_shardy_text(
      t, frontend, begin ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings");
  if (op->operand_count != op->result_count) {
    halo_translate_wrong(t, "it has %d result%s and %d operand%s", op->result_count,
                         halo_plural(op->result_count), op->operand_count,
                         halo_plural(op->operand_count));
  }
  for (int32_t i = 0; i < op->result_count && halo_translate_ok(t); i++) {
    halo_instr *value = halo_translate_operand(t, op, i);
    const halo_mlir_attr *attr = shardy_entry(t, list, i);
    const halo_shape *shape = halo_translate_type(t, op->results[i].type);
    value = begin ? shardy_to_part(t, value, shape, attr, manual)
                  : shardy_to_whole(t, value, shape, attr, manual);
    halo_translate_result(t, op, i, value);
  }
}

void halo_translate_shardy_call(halo_translator *t, halo_mlir_op *op, const char *name) {
  const halo_mlir_attr *frontend = halo_mlir_attr_of(op, "mhlo.frontend_attributes");
  t->note_count = 0; /* they are read here */
  if (strcmp(name, "GlobalToLocalShape") == 0) {
    shardy_parts(t, op, frontend, true);
  } else if (strcmp(name, "LocalToGlobalShape") == 0) {
    shardy_parts(t, op, frontend, false);
  } else {
    const halo_mlir_attr *attr = halo_translate_shardy_text(t, frontend, "xla.sdy.sharding");
    if (attr && attr->kind == HALO_MLIR_ARRAY) attr = shardy_entry(t, attr, 0);
    halo_instr *value = halo_translate_operand(t, op, 0);
    halo_translate_result(t, op, 0, shardy_constrain(t, value, attr));
  }
}

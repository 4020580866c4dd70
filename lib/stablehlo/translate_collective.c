/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_collective.c: what goes on between replicas and partitions. */
#include "stablehlo/translate.h"
#include "text/text.h"

#include <inttypes.h>
#include <string.h>

enum { COLLECTIVE_ATTRS = 6 };

typedef struct collective_attrs {
  halo_attr data[COLLECTIVE_ATTRS];
  int32_t count;
} collective_attrs;

/* ---- Groups ---- */

/* Rows of a matrix, in which -1 fills short ones. */
static const halo_groups *collective_rows(halo_translator *t, const halo_mlir_attr *attr) {
  int32_t numbers;
  const int64_t *ids = halo_mlir_ints(t->program, attr, &numbers);
  bool matrix = attr->kind == HALO_MLIR_DENSE && attr->type->rank == 2;
  if (numbers < 0 || (numbers > 0 && !matrix)) {
    halo_translate_wrong(t, "replica_groups: expected a matrix of whole numbers");
    return NULL;
  }
  halo_groups *groups = halo_arena_new(t->arena, halo_groups);
  int32_t rows = numbers ? (int32_t)attr->type->dims[0] : 0;
  int32_t *starts = halo_arena_array(t->arena, int32_t, rows + 1), kept = 0;
  int64_t *list = halo_arena_array(t->arena, int64_t, numbers + 1);
  for (int32_t r = 0; r < rows; r++) {
    for (int64_t i = 0; i < attr->type->dims[1]; i++) {
      int64_t id = ids[r * attr->type->dims[1] + i];
      if (id != -1) list[kept++] = id;
    }
    starts[r + 1] = kept;
  }
  groups->count = rows;
  groups->starts = starts;
  groups->ids = list;
  return groups;
}

static const halo_mlir_attr *collective_array(const halo_mlir_attr *of, const char *name) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(of, name);
  return attr && attr->kind == HALO_MLIR_ARRAY ? attr : NULL;
}

static int64_t collective_number(const halo_mlir_attr *of, const char *name) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(of, name);
  return attr && attr->kind == HALO_MLIR_INT ? attr->i : 0;
}

static const char *collective_name(const halo_mlir_attr *of) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(of, "name");
  return attr && attr->kind == HALO_MLIR_STRING ? attr->string.text : "";
}

/* By axes of a mesh: HLO's text has the same form, whose reader counts the groups. Axes are called by number. */
static void collective_mesh_text(halo_translator *t, const halo_mlir_attr *mesh,
                                 const halo_mlir_attr *used, halo_strbuf *out) {
  const halo_mlir_attr *axes = collective_array(mesh, "axes");
  int32_t count = axes ? axes->array.count : 0, ids;
  halo_strbuf_append(out, "mesh[");
  for (int32_t i = 0; i < count; i++) {
    halo_strbuf_printf(out, "%sa%d=%" PRId64, i ? "," : "", i,
                       collective_number(axes->array.data[i], "size"));
  }
  halo_strbuf_append(out, "]");
  const int64_t *devices = halo_mlir_ints(t->program, halo_mlir_dict_get(mesh, "device_ids"), &ids);
  for (int32_t i = 0; i < ids; i++) {
    halo_strbuf_printf(out, "%s%" PRId64, i ? "," : ", device_ids=(", devices[i]);
  }
  if (ids > 0) halo_strbuf_append(out, ")");
  halo_strbuf_append(out, " {");
  for (int32_t i = 0; i < used->array.count; i++) {
    const char *name = collective_name(used->array.data[i]);
    int32_t axis = 0;
    while (axis < count && strcmp(collective_name(axes->array.data[axis]), name) != 0) axis++;
    if (axis == count) halo_translate_wrong(t, "replica_groups: the mesh has no axis %s", name);
    halo_strbuf_printf(out, "%sa%d", i ? "," : "", axis);
    const halo_mlir_attr *part = halo_mlir_dict_get(used->array.data[i], "sub_axis_info");
    if (!part) continue;
    halo_strbuf_printf(out, ":(%" PRId64 ")%" PRId64, collective_number(part, "pre_size"),
                       collective_number(part, "size"));
  }
  halo_strbuf_append(out, "}");
}

static const halo_groups *collective_mesh(halo_translator *t, const halo_mlir_attr *attr) {
  const halo_mlir_attr *mesh = halo_translate_mesh(t, halo_mlir_dict_get(attr, "mesh"));
  const halo_mlir_attr *used = collective_array(attr, "axes");
  const halo_groups *groups = NULL;
  if (!used) halo_translate_wrong(t, "replica_groups: expected axes of a mesh");
  if (!halo_translate_ok(t)) return NULL;
  halo_strbuf text = {0};
  collective_mesh_text(t, mesh, used, &text);
  if (halo_translate_ok(t)) {
    halo_translate_failed(t, halo_text_parse_groups(halo_strbuf_text(&text), t->arena, &groups));
  }
  halo_strbuf_deinit(&text);
  return groups;
}

static const halo_groups *collective_groups(halo_translator *t, const halo_mlir_attr *attr) {
  if (!halo_translate_ok(t)) return NULL;
  if (!attr) {
    halo_groups *everybody = halo_arena_new(t->arena, halo_groups);
    everybody->starts = halo_arena_array(t->arena, int32_t, 1);
    return everybody;
  }
  return attr->kind == HALO_MLIR_STRUCT ? collective_mesh(t, attr) : collective_rows(t, attr);
}

static collective_attrs collective_who(halo_translator *t, const halo_mlir_op *op) {
  collective_attrs attrs = {.count = 0};
  int64_t channel = halo_mlir_int(op, "channel_id", 0);
  if (channel > 0) attrs.data[attrs.count++] = halo_translate_int(HALO_ATTR_CHANNEL_ID, channel);
  const halo_groups *groups = collective_groups(t, halo_mlir_attr_of(op, "replica_groups"));
  attrs.data[attrs.count++] = (halo_attr){.id = HALO_ATTR_REPLICA_GROUPS, .groups = groups};
  if (halo_mlir_int(op, "use_global_device_ids", 0)) {
    attrs.data[attrs.count++] = halo_translate_int(HALO_ATTR_USE_GLOBAL_DEVICE_IDS, 1);
  }
  return attrs;
}

/* ---- Collectives ---- */

static const struct {
  halo_opcode opcode;
  const char *along; /* the attribute that says a dimension; NULL: none */
  bool grows;        /* that dimension is as many times as long as a group has members */
} collective_rows_by_op[HALO_MLIR_OP_COUNT] = {
    [HALO_MLIR_OP_ALL_REDUCE] = {HALO_OP_ALL_REDUCE},
    [HALO_MLIR_OP_CROSS_REPLICA_SUM] = {HALO_OP_ALL_REDUCE},
    [HALO_MLIR_OP_ALL_GATHER] = {HALO_OP_ALL_GATHER, "all_gather_dim", true},
    [HALO_MLIR_OP_REDUCE_SCATTER] = {HALO_OP_REDUCE_SCATTER, "scatter_dimension"},
    [HALO_MLIR_OP_COLLECTIVE_BROADCAST] = {HALO_OP_COLLECTIVE_BROADCAST},
    [HALO_MLIR_OP_COLLECTIVE_REDUCE] = {HALO_OP_COLLECTIVE_REDUCE},
};

/* The results' shape: as declared, or, where the extents were open, as the operands and the groups make it. */
static const halo_shape *collective_shape(halo_translator *t, const halo_mlir_op *op,
                                          halo_instr *const *operands, const halo_groups *groups,
                                          int64_t along) {
  const halo_shape *declared = halo_translate_declared_all(t, op);
  if (declared || !halo_translate_ok(t)) return declared;
  int64_t members = groups->count ? groups->starts[1] : 0;
  bool resized = collective_rows_by_op[op->opcode].along != NULL;
  const halo_shape **parts = halo_arena_array(t->arena, const halo_shape *, op->operand_count + 1);
  for (int32_t i = 0; i < op->operand_count; i++) {
    const halo_shape *from = operands[i]->shape;
    int64_t dims[HALO_MAX_RANK];
    memcpy(dims, from->dims, sizeof *dims * (size_t)from->rank);
    if (resized && (members < 1 || along < 0 || along >= from->rank)) {
      halo_translate_refuse(t, "the extents of the result are not known");
      return NULL;
    }
    if (resized && collective_rows_by_op[op->opcode].grows) dims[along] *= members;
    if (resized && !collective_rows_by_op[op->opcode].grows) dims[along] /= members;
    parts[i] = halo_translate_array(t, from->type, from->rank, dims);
  }
  return op->operand_count == 1 ? parts[0]
                                : halo_shape_new_tuple(t->arena, op->operand_count, parts);
}

void halo_translate_op_collective(halo_translator *t, halo_mlir_op *op) {
  halo_opcode opcode = collective_rows_by_op[op->opcode].opcode;
  const char *name = collective_rows_by_op[op->opcode].along;
  collective_attrs attrs = collective_who(t, op);
  const halo_groups *groups = collective_groups(t, halo_mlir_attr_of(op, "replica_groups"));
  halo_instr **operands = halo_translate_operands(t, op);
  int64_t along = name ? halo_translate_integer(t, op, name) : 0;
  if (op->operand_count == 0) halo_translate_wrong(t, "expected an operand");
  if (!halo_translate_ok(t)) return;
  if (name) {
    attrs.data[attrs.count++] = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &along, 1);
  }
  bool called = halo_mlir_attr_of(op, "called_computations") != NULL;
  if (op->region_count || called || op->opcode == HALO_MLIR_OP_CROSS_REPLICA_SUM) {
    halo_computation *body =
        called             ? halo_translate_called(t, op)
        : op->region_count ? halo_translate_body(t, &op->regions[0], 2)
                           : halo_translate_scalar_body(t, HALO_OP_ADD, operands[0]->shape->type);
    if (!body) return;
    attrs.data[attrs.count++] = halo_translate_comp(t, HALO_ATTR_TO_APPLY, body);
  }
  if (halo_mlir_int(op, "has_dynamic_root", 0)) {
    attrs.data[attrs.count++] = halo_translate_int(HALO_ATTR_HAS_DYNAMIC_ROOT, 1);
  }
  const halo_shape *shape = collective_shape(t, op, operands, groups, along);
  halo_translate_results(
      t, op,
      halo_translate_emit(t, opcode, shape, operands, op->operand_count, attrs.data, attrs.count));
}

/* What came along the dimension that was split, put together along another. */
static halo_instr *collective_join(halo_translator *t, halo_instr *whole, int64_t split,
                                   int64_t concat, int64_t parts) {
  const halo_shape *from = whole->shape;
  int64_t dims[HALO_MAX_RANK + 1], order[HALO_MAX_RANK + 1], last[HALO_MAX_RANK];
  int rank = from->rank + 1, at = 0;
  if (rank > HALO_MAX_RANK) {
    halo_translate_refuse(t, "the operand has too many dimensions");
    return NULL;
  }
  for (int d = 0; d < from->rank; d++) {
    last[d] = from->dims[d];
    if (d == split) dims[at++] = parts;
    dims[at++] = d == split ? from->dims[d] / parts : from->dims[d];
  }
  last[split] /= parts;
  last[concat] *= parts;
  at = 0;
  for (int d = 0; d < from->rank; d++) {
    if (d == concat) order[at++] = split;
    order[at++] = d < split ? d : d + 1;
  }
  const halo_shape *cut = halo_translate_array(t, from->type, rank, dims);
  halo_instr *value = halo_translate_emit(t, HALO_OP_RESHAPE, cut, &whole, 1, NULL, 0);
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, order, rank);
  value = halo_translate_emit(t, HALO_OP_TRANSPOSE, NULL, &value, 1, &attr, 1);
  const halo_shape *joined = halo_translate_array(t, from->type, from->rank, last);
  return halo_translate_emit(t, HALO_OP_RESHAPE, joined, &value, 1, NULL, 0);
}

void halo_translate_op_all_to_all(halo_translator *t, halo_mlir_op *op) {
  collective_attrs attrs = collective_who(t, op);
  halo_instr **operands = halo_translate_operands(t, op);
  if (op->operand_count == 0) halo_translate_wrong(t, "expected an operand");
  if (op->operand_count != 1) {
    /* An operand for each member of the group. */
    const halo_shape *shape = halo_translate_declared_all(t, op);
    halo_translate_results(t, op,
                           halo_translate_emit(t, HALO_OP_ALL_TO_ALL, shape, operands,
                                               op->operand_count, attrs.data, attrs.count));
    return;
  }
  int64_t split = halo_translate_integer(t, op, "split_dimension");
  int64_t concat = halo_translate_integer(t, op, "concat_dimension");
  int64_t parts = halo_translate_integer(t, op, "split_count");
  if (!halo_translate_ok(t)) return;
  const halo_shape *shape = operands[0]->shape;
  if (split < 0 || split >= shape->rank || concat < 0 || concat >= shape->rank || parts < 1 ||
      shape->dims[split] % parts) {
    halo_translate_wrong(t,
                         "split_dimension %" PRId64 ", concat_dimension %" PRId64
                         " and split_count %" PRId64 " do not go with the operand",
                         split, concat, parts);
    return;
  }
  attrs.data[attrs.count++] = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &split, 1);
  halo_instr *whole =
      halo_translate_emit(t, HALO_OP_ALL_TO_ALL, shape, operands, 1, attrs.data, attrs.count);
  if (whole && split != concat) whole = collective_join(t, whole, split, concat, parts);
  halo_translate_results(t, op, whole);
}

void halo_translate_op_permute(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0);
  int32_t numbers;
  const int64_t *pairs = halo_translate_pairs(t, op, "source_target_pairs", -1, &numbers);
  if (!halo_translate_ok(t)) return;
  halo_attr attrs[2] = {halo_translate_ints(t, HALO_ATTR_SOURCE_TARGET_PAIRS, pairs, numbers)};
  int32_t count = 1;
  int64_t channel = halo_mlir_int(op, "channel_id", 0);
  if (channel > 0) attrs[count++] = halo_translate_int(HALO_ATTR_CHANNEL_ID, channel);
  halo_translate_results(t, op,
                         halo_translate_emit(t, HALO_OP_COLLECTIVE_PERMUTE, operand->shape,
                                             &operand, 1, attrs, count));
}

void halo_translate_ragged_all_to_all(halo_translator *t, halo_mlir_op *op,
                                      const halo_mlir_attr *config) {
  const halo_mlir_attr *groups = halo_mlir_dict_get(config, "replica_groups");
  halo_attr attrs[2] = {{.id = HALO_ATTR_REPLICA_GROUPS, .groups = collective_groups(t, groups)}};
  int32_t count = 1;
  int64_t channel = collective_number(config, "channel_id");
  if (channel > 0) attrs[count++] = halo_translate_int(HALO_ATTR_CHANNEL_ID, channel);
  halo_instr **operands = halo_translate_operands(t, op);
  const halo_shape *shape = halo_translate_declared(t, op, 0);
  halo_translate_results(t, op,
                         halo_translate_emit(t, HALO_OP_RAGGED_ALL_TO_ALL, shape, operands,
                                             op->operand_count, attrs, count));
}

/* ---- Asynchronous ones ---- */

/* What is in the region runs here: a future is what it will hold, and when devices do what is the plan's business. */
void halo_translate_op_async_start(halo_translator *t, halo_mlir_op *op) {
  halo_mlir_block *block = op->regions[0].block;
  if (!block || block->arg_count != op->operand_count) {
    halo_translate_wrong(t, "the region does not take the operands");
    return;
  }
  for (int32_t i = 0; i < block->arg_count; i++) {
    block->args[i].data = halo_translate_operand(t, op, i);
  }
  int32_t returned = block->ops.count ? block->ops.data[block->ops.count - 1]->operand_count : 0;
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, returned + 1);
  halo_translate_block(t, block, results, returned);
  halo_translate_result(t, op, 0, halo_translate_pack(t, results, returned));
}

void halo_translate_op_async_done(halo_translator *t, halo_mlir_op *op) {
  if (op->operand_count != 1 || op->operands[0]->type->kind != HALO_MLIR_FUTURE) {
    halo_translate_wrong(t, "expected one operand, the future of an async_start");
    return;
  }
  halo_translate_results(t, op, halo_translate_operand(t, op, 0));
}

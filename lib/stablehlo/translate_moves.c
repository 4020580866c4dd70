/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_moves.c: operations that make or move elements. */
#include "shape/types.h"
#include "stablehlo/translate.h"

#include <string.h>

/* ---- Values ---- */

/* A shape is a list of its extents. */
void halo_translate_op_constant(halo_translator *t, halo_mlir_op *op) {
  const halo_mlir_attr *value =
      halo_mlir_attr_of(op, op->opcode == HALO_MLIR_OP_CONST_SHAPE ? "shape" : "value");
  if (!value || value->kind != HALO_MLIR_DENSE) {
    halo_translate_refuse(t, "the value is no array of numbers");
    return;
  }
  const halo_shape *shape = halo_translate_type(t, value->type);
  if (!shape) return;
  /* One value stands for all elements of a large array. */
  halo_instr *constant = halo_translate_constant(t, value->literal);
  if (shape->rank && value->literal->shape->rank == 0) {
    constant = halo_translate_fill(t, constant, shape);
  }
  halo_translate_results(t, op, constant);
}

/* One number everywhere; of an operand whose sizes are known at run time only, with its sizes. */
void halo_translate_op_constant_like(halo_translator *t, halo_mlir_op *op) {
  halo_instr *like = halo_translate_operand(t, op, 0);
  const halo_mlir_attr *value = halo_mlir_attr_of(op, "value");
  bool whole = value && (value->kind == HALO_MLIR_INT || value->kind == HALO_MLIR_BOOL);
  if (!value || (!whole && value->kind != HALO_MLIR_FLOAT)) {
    halo_translate_wrong(t, "the attribute value, a number, is missing");
  }
  if (!halo_translate_ok(t)) return;
  halo_type type = value->type                     ? value->type->element
                   : value->kind == HALO_MLIR_BOOL ? HALO_PRED
                   : whole                         ? HALO_S64
                                                   : HALO_F64;
  halo_literal *scalar = halo_literal_new_scalar(type);
  if (whole) halo_literal_set_i64(scalar, 0, value->i);
  if (!whole) halo_literal_set_f64(scalar, 0, value->f);
  halo_instr *made = halo_translate_fill(t, halo_translate_constant(t, scalar), like->shape);
  halo_literal_release(scalar);
  for (int d = 0; d < like->shape->rank; d++) {
    if (!halo_shape_dim_is_dynamic(like->shape, d)) continue;
    int64_t dimension = d;
    halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &dimension, 1);
    halo_instr *size = halo_translate_emit(t, HALO_OP_GET_DIMENSION_SIZE, NULL, &like, 1, &attr, 1);
    made = halo_translate_emit(t, HALO_OP_SET_DIMENSION_SIZE, NULL, (halo_instr *[]){made, size}, 2,
                               &attr, 1);
  }
  halo_translate_results(t, op, made);
}

/* The values of operand `i`, as far as they are known, must be the extents that are declared. */
static void moves_check_extents(halo_translator *t, const halo_mlir_op *op,
                                const halo_shape *declared, int32_t i) {
  const halo_instr *extents = halo_translate_operand(t, op, i);
  int32_t count;
  const int64_t *known = extents ? halo_translate_known(t, extents, &count) : NULL;
  if (!known || halo_shape_is_dynamic(declared)) return;
  bool same = count == declared->rank;
  for (int32_t d = 0; d < count && same; d++) same = known[d] == declared->dims[d];
  if (same) return;
  halo_arena scratch = {0};
  halo_translate_wrong(t, "the result is declared as %s, but operand %d says other extents",
                       halo_shape_text(&scratch, declared, false), i);
  halo_arena_deinit(&scratch);
}

/* The extents of a result: as declared, or as operand `i` says. NULL after a failure. */
static const halo_shape *moves_shape(halo_translator *t, const halo_mlir_op *op, halo_type type,
                                     int32_t i) {
  const halo_shape *declared = halo_translate_declared(t, op, 0);
  if (declared && i >= 0 && i < op->operand_count) moves_check_extents(t, op, declared, i);
  if (declared || !halo_translate_ok(t)) return declared;
  if (i < 0 || i >= op->operand_count) {
    halo_translate_refuse(t, "the extents of the result are not known");
    return NULL;
  }
  int32_t rank;
  const int64_t *dims = halo_translate_known_operand(t, op, i, -1, &rank);
  return dims ? halo_translate_array(t, type, rank, dims) : NULL;
}

void halo_translate_op_iota(halo_translator *t, halo_mlir_op *op) {
  const halo_shape *shape = moves_shape(t, op, op->results[0].type->element, 0);
  halo_attr attr =
      halo_translate_int(HALO_ATTR_IOTA_DIMENSION, halo_translate_integer(t, op, "iota_dimension"));
  halo_translate_results(t, op, halo_translate_emit(t, HALO_OP_IOTA, shape, NULL, 0, &attr, 1));
}

void halo_translate_op_identity(halo_translator *t, halo_mlir_op *op) {
  if (op->operand_count < op->result_count) {
    halo_translate_wrong(t, "it has %d result%s and %d operand%s", op->result_count,
                         halo_plural(op->result_count), op->operand_count,
                         halo_plural(op->operand_count));
  }
  for (int32_t i = 0; i < op->result_count; i++) {
    halo_translate_result(t, op, i, halo_translate_operand(t, op, i));
  }
}

void halo_translate_op_barrier(halo_translator *t, halo_mlir_op *op) {
  if (op->operand_count == 0) return;
  halo_instr *all = halo_translate_pack(t, halo_translate_operands(t, op), op->operand_count);
  halo_translate_results(t, op, halo_translate_unary(t, HALO_OP_OPT_BARRIER, all));
}

/* ---- Broadcasts ---- */

void halo_translate_op_broadcast(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0);
  int32_t added;
  const int64_t *sizes = halo_translate_list(t, op, "broadcast_sizes", -1, &added);
  if (!operand || !sizes) return;
  int rank = operand->shape->rank;
  int64_t dims[2 * HALO_MAX_RANK], where[HALO_MAX_RANK];
  if (added > HALO_MAX_RANK) halo_translate_refuse(t, "the result has too many dimensions");
  if (!halo_translate_ok(t)) return;
  memcpy(dims, sizes, sizeof *dims * (size_t)added);
  for (int d = 0; d < rank; d++) {
    dims[added + d] = operand->shape->dims[d];
    where[d] = added + d;
  }
  const halo_shape *shape = halo_translate_array(t, operand->shape->type, added + rank, dims);
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, where, rank);
  halo_translate_results(t, op,
                         halo_translate_emit(t, HALO_OP_BROADCAST, shape, &operand, 1, &attr, 1));
}

/* Dimensions of extent 1 that become longer are dropped first, for HLO does not stretch. Where the rest goes in
 * `map`, whose length comes back. */
static int moves_drop_ones(halo_translator *t, halo_instr **operand, const halo_shape *to,
                           int64_t *map) {
  const halo_shape *from = (*operand)->shape;
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  int kept = 0;
  for (int d = 0; d < from->rank; d++) {
    if (from->dims[d] == 1 && to->dims[map[d]] != 1) continue;
    dims[kept] = from->dims[d];
    dynamic[kept] = halo_shape_dim_is_dynamic(from, d);
    map[kept++] = map[d];
  }
  if (kept < from->rank) {
    const halo_shape *shape = halo_shape_new_full(t->arena, from->type, kept, dims, dynamic, NULL);
    *operand = halo_translate_emit(t, HALO_OP_RESHAPE, shape, operand, 1, NULL, 0);
  }
  return kept;
}

/* HLO's broadcast keeps the order of dimensions: what is not sorted is transposed first. */
static void moves_sort(halo_translator *t, halo_instr **operand, int64_t *map, int rank) {
  int64_t order[HALO_MAX_RANK];
  bool sorted = true;
  for (int d = 0; d < rank; d++) order[d] = d;
  for (int i = 1; i < rank; i++) {
    for (int j = i; j > 0 && map[j - 1] > map[j]; j--) {
      int64_t place = map[j], from = order[j];
      map[j] = map[j - 1];
      map[j - 1] = place;
      order[j] = order[j - 1];
      order[j - 1] = from;
      sorted = false;
    }
  }
  if (sorted) return;
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, order, rank);
  *operand = halo_translate_emit(t, HALO_OP_TRANSPOSE, NULL, operand, 1, &attr, 1);
}

halo_instr *halo_translate_stretch(halo_translator *t, halo_instr *operand, const halo_shape *shape,
                                   const int64_t *listed) {
  if (!halo_translate_ok(t)) return NULL;
  int rank = operand->shape->rank;
  int64_t map[HALO_MAX_RANK];
  bool seen[HALO_MAX_RANK] = {false};
  for (int d = 0; d < rank; d++) {
    map[d] = listed[d];
    if (map[d] < 0 || map[d] >= shape->rank || seen[map[d]]) {
      halo_translate_wrong(t,
                           "broadcast_dimensions: %lld is twice there or no dimension of the "
                           "result",
                           (long long)map[d]);
      return NULL;
    }
    seen[map[d]] = true;
  }
  rank = moves_drop_ones(t, &operand, shape, map);
  if (halo_translate_ok(t)) moves_sort(t, &operand, map, rank);
  if (!halo_translate_ok(t)) return NULL;
  if (rank == shape->rank && halo_shape_same_dims(operand->shape, shape)) return operand;
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, map, rank);
  return halo_translate_emit(t, HALO_OP_BROADCAST, shape, &operand, 1, &attr, 1);
}

/* Of both forms: the dynamic one has the result's extents as its second operand. */
void halo_translate_op_broadcast_in_dim(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0);
  if (!operand) return;
  const int64_t *listed =
      halo_translate_list(t, op, "broadcast_dimensions", operand->shape->rank, NULL);
  const halo_shape *shape = moves_shape(t, op, operand->shape->type, 1);
  if (listed && shape)
    halo_translate_results(t, op, halo_translate_stretch(t, operand, shape, listed));
}

/* ---- Parts ---- */

/* One number of a list that is a value. */
static halo_instr *moves_entry(halo_translator *t, halo_instr *list, int64_t i) {
  const int64_t range[3] = {i, i + 1, 1};
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_SLICE, range, 3);
  halo_instr *one = halo_translate_emit(t, HALO_OP_SLICE, NULL, &list, 1, &attr, 1);
  if (!one) return NULL;
  const halo_shape *scalar = halo_shape_new(t->arena, one->shape->type, 0, NULL);
  return halo_translate_emit(t, HALO_OP_RESHAPE, scalar, &one, 1, NULL, 0);
}

/* Of both forms: the dynamic one has the result's extents as its second operand, which with a bounded result are
 * sizes for the time when the program runs. */
void halo_translate_op_reshape(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0);
  if (!operand) return;
  const halo_shape *shape = moves_shape(t, op, operand->shape->type, 1);
  if (!shape) return;
  if (op->operand_count < 2 || !halo_shape_is_dynamic(shape)) {
    halo_translate_results(t, op,
                           halo_translate_emit(t, HALO_OP_RESHAPE, shape, &operand, 1, NULL, 0));
    return;
  }
  halo_instr **operands = halo_arena_array(t->arena, halo_instr *, shape->rank + 1);
  operands[0] = operand;
  for (int d = 0; d < shape->rank; d++) {
    halo_instr *size = moves_entry(t, halo_translate_operand(t, op, 1), d);
    operands[1 + d] = halo_translate_convert(t, size, HALO_S32);
  }
  halo_translate_results(
      t, op,
      halo_translate_emit(t, HALO_OP_DYNAMIC_RESHAPE, shape, operands, shape->rank + 1, NULL, 0));
}

void halo_translate_op_concatenate(halo_translator *t, halo_mlir_op *op) {
  int64_t dimension = halo_translate_integer(t, op, "dimension");
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &dimension, 1);
  halo_translate_results(
      t, op,
      halo_translate_emit(t, HALO_OP_CONCATENATE, NULL, halo_translate_operands(t, op),
                          op->operand_count, &attr, 1));
}

/* (low, high, interior) or (start, limit, stride) of each dimension, as HLO has them. */
static halo_attr moves_triples(halo_translator *t, halo_attr_id id, const int64_t *const lists[3],
                               int rank) {
  int64_t *triples = halo_arena_array(t->arena, int64_t, 3 * rank + 1);
  for (int d = 0; d < rank && halo_translate_ok(t); d++) {
    for (int i = 0; i < 3; i++) triples[3 * d + i] = lists[i][d];
  }
  return halo_translate_ints(t, id, triples, 3 * rank);
}

static void moves_cut(halo_translator *t, halo_mlir_op *op, halo_instr *operand,
                      const int64_t *const lists[3]) {
  if (!halo_translate_ok(t)) return;
  halo_attr attr = moves_triples(t, HALO_ATTR_SLICE, lists, operand->shape->rank);
  halo_translate_results(t, op, halo_translate_emit(t, HALO_OP_SLICE, NULL, &operand, 1, &attr, 1));
}

void halo_translate_op_slice(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0);
  if (!operand) return;
  int rank = operand->shape->rank;
  const int64_t *lists[3] = {halo_translate_list(t, op, "start_indices", rank, NULL),
                             halo_translate_list(t, op, "limit_indices", rank, NULL),
                             halo_translate_list_or(t, op, "strides", rank, 1)};
  moves_cut(t, op, operand, lists);
}

/* Of both forms: the dynamic one has the three lists as operands. */
void halo_translate_op_pad(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operands[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  if (!halo_translate_ok(t)) return;
  int rank = operands[0]->shape->rank;
  const int64_t *lists[3];
  if (op->opcode == HALO_MLIR_OP_DYNAMIC_PAD) {
    for (int i = 0; i < 3; i++) {
      lists[i] = halo_translate_known_operand(t, op, 2 + i, rank, NULL);
    }
  } else {
    lists[0] = halo_translate_list(t, op, "edge_padding_low", rank, NULL);
    lists[1] = halo_translate_list(t, op, "edge_padding_high", rank, NULL);
    lists[2] = halo_translate_list(t, op, "interior_padding", rank, NULL);
  }
  halo_attr attr = moves_triples(t, HALO_ATTR_PADDING, lists, rank);
  halo_translate_results(t, op, halo_translate_emit(t, HALO_OP_PAD, NULL, operands, 2, &attr, 1));
}

/* How much a slice takes whose start is not known: as declared, or where its limit is the start and a sum that is
 * known. NULL, without a failure, when it is not known either. */
static const int64_t *moves_taken(halo_translator *t, const halo_mlir_op *op, halo_instr *start) {
  const halo_shape *declared = halo_translate_declared(t, op, 0);
  const halo_instr *limit = halo_translate_operand(t, op, 2);
  int32_t count;
  if (declared) return declared->dims;
  if (!limit || limit->opcode != HALO_OP_ADD) return NULL;
  if (limit->operands[0] != start && limit->operands[1] != start) return NULL;
  const int64_t *sizes =
      halo_translate_known(t, limit->operands[limit->operands[0] == start], &count);
  return count == start->shape->dims[0] ? sizes : NULL;
}

/* A slice whose three lists are operands. Where it starts may be known only when the program runs, if how much it
 * takes is known and nothing is skipped. */
void halo_translate_op_dynamic_slice_real(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0), *start = halo_translate_operand(t, op, 1);
  int32_t count;
  if (!operand || !start) return;
  int rank = operand->shape->rank;
  if (halo_translate_known(t, start, &count)) {
    const int64_t *lists[3];
    for (int i = 0; i < 3; i++) {
      lists[i] = halo_translate_known_operand(t, op, 1 + i, rank, NULL);
    }
    moves_cut(t, op, operand, lists);
    return;
  }
  const int64_t *strides = halo_translate_known_operand(t, op, 3, rank, NULL);
  if (!halo_translate_ok(t)) return;
  bool listed = start->shape->rank == 1 && start->shape->dims[0] == rank;
  const int64_t *sizes = listed ? moves_taken(t, op, start) : NULL;
  for (int d = 0; d < rank && sizes; d++) sizes = strides[d] == 1 ? sizes : NULL;
  if (!sizes) {
    halo_translate_refuse(t,
                          "how much of the operand is taken is known only when the program runs");
    return;
  }
  halo_instr **operands = halo_arena_array(t->arena, halo_instr *, rank + 1);
  operands[0] = operand;
  for (int d = 0; d < rank; d++) operands[1 + d] = moves_entry(t, start, d);
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DYNAMIC_SLICE_SIZES, sizes, rank);
  halo_translate_results(
      t, op, halo_translate_emit(t, HALO_OP_DYNAMIC_SLICE, NULL, operands, rank + 1, &attr, 1));
}

/* ---- Sizes ---- */

void halo_translate_op_dimension_size(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0);
  int64_t dimension = halo_translate_integer(t, op, "dimension");
  if (!halo_translate_ok(t)) return;
  const halo_shape *shape = operand->shape;
  if (t->fold && dimension >= 0 && dimension < shape->rank &&
      !halo_shape_dim_is_dynamic(shape, (int)dimension)) {
    halo_literal *size = halo_literal_new_scalar(HALO_S32);
    halo_literal_set_i64(size, 0, shape->dims[dimension]);
    halo_translate_result(t, op, 0, halo_translate_constant(t, size));
    halo_literal_release(size);
    return;
  }
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &dimension, 1);
  halo_translate_results(
      t, op, halo_translate_emit(t, HALO_OP_GET_DIMENSION_SIZE, NULL, &operand, 1, &attr, 1));
}

void halo_translate_op_set_dimension_size(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operands[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  int64_t dimension = halo_translate_integer(t, op, "dimension");
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &dimension, 1);
  halo_translate_results(
      t, op, halo_translate_emit(t, HALO_OP_SET_DIMENSION_SIZE, NULL, operands, 2, &attr, 1));
}

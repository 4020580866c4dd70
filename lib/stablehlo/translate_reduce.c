/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_reduce.c: operations in which elements meet: reductions, windows, sorts, maps. */
#include "stablehlo/translate.h"

/* The body in whatever types it works: of n accumulators, then n values. */
static halo_computation *reduce_body(halo_translator *t, halo_mlir_op *op, int32_t n) {
  return halo_translate_body(t, &op->regions[0], 2 * n);
}

static void reduce_emit(halo_translator *t, halo_mlir_op *op, halo_opcode opcode, int32_t operands,
                        const halo_attr *attrs, int32_t count) {
  halo_translate_results(
      t, op,
      halo_translate_emit(t, opcode, NULL, halo_translate_operands(t, op), operands, attrs, count));
}

/* Whether the region does nothing but return values of outside. */
static bool reduce_is_given(const halo_mlir_op *op) {
  const halo_mlir_region *region = &op->regions[0];
  const halo_mlir_block *block = region->block;
  if (!block || block->ops.count == 0) return false;
  const halo_mlir_op *end = block->ops.data[block->ops.count - 1];
  for (int32_t i = 0; i < end->operand_count; i++) {
    if (halo_translate_is_inside(end->operands[i], region)) return false;
  }
  return end->operand_count == op->result_count && op->operand_count == 2 * op->result_count;
}

/* The elements of such a reduction are these values; the initial ones where nothing is reduced. */
static void reduce_given(halo_translator *t, halo_mlir_op *op, const int64_t *dimensions,
                         int32_t count) {
  const halo_mlir_block *block = op->regions[0].block;
  const halo_mlir_op *end = block->ops.data[block->ops.count - 1];
  for (int32_t i = 0; i < op->result_count && halo_translate_ok(t); i++) {
    const halo_instr *input = halo_translate_operand(t, op, i);
    halo_instr *value = halo_translate_value(t, end->operands[i]);
    if (!input || !value) return;
    int64_t dims[HALO_MAX_RANK];
    bool dynamic[HALO_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < input->shape->rank; d++) {
      bool reduced = false;
      for (int32_t r = 0; r < count; r++) reduced = reduced || dimensions[r] == d;
      if (reduced && input->shape->dims[d] == 0)
        value = halo_translate_operand(t, op, op->result_count + i);
      if (reduced) continue;
      dims[rank] = input->shape->dims[d];
      dynamic[rank++] = halo_shape_dim_is_dynamic(input->shape, d);
    }
    if (!value || value->shape->rank != 0) {
      halo_translate_wrong(t, "the computation that it applies must return scalars");
      return;
    }
    const halo_shape *shape =
        halo_shape_new_full(t->arena, value->shape->type, rank, dims, dynamic, NULL);
    halo_translate_result(t, op, i, halo_translate_stretch(t, value, shape, NULL));
  }
}

void halo_translate_op_reduce(halo_translator *t, halo_mlir_op *op) {
  int32_t count;
  const int64_t *dimensions = halo_translate_list(t, op, "dimensions", -1, &count);
  if (reduce_is_given(op)) {
    reduce_given(t, op, dimensions, count);
    return;
  }
  halo_computation *body = reduce_body(t, op, op->operand_count / 2);
  if (!body) return;
  halo_attr attrs[] = {halo_translate_ints(t, HALO_ATTR_DIMENSIONS, dimensions, count),
                       halo_translate_comp(t, HALO_ATTR_TO_APPLY, body)};
  reduce_emit(t, op, HALO_OP_REDUCE, op->operand_count, attrs, 2);
}

/* ---- Windows ---- */

/* One list a property; padding has two numbers a dimension. */
typedef struct reduce_window {
  const int64_t *sizes, *strides, *base, *window, *padding;
} reduce_window;

static halo_attr reduce_window_attr(halo_translator *t, const reduce_window *from, int rank) {
  halo_attr attr = {.id = HALO_ATTR_WINDOW};
  if (!halo_translate_ok(t)) return attr;
  halo_window_dim *dims = halo_arena_array(t->arena, halo_window_dim, rank + 1);
  for (int d = 0; d < rank; d++) {
    dims[d] = (halo_window_dim){.size = from->sizes[d],
                                .stride = from->strides[d],
                                .pad_low = from->padding[2 * d],
                                .pad_high = from->padding[2 * d + 1],
                                .base_dilation = from->base[d],
                                .window_dilation = from->window[d]};
  }
  attr.window.data = dims;
  attr.window.count = rank;
  return attr;
}

static halo_attr reduce_read_window(halo_translator *t, const halo_mlir_op *op, int rank) {
  const reduce_window window = {
      .sizes = halo_translate_list(t, op, "window_dimensions", rank, NULL),
      .strides = halo_translate_list_or(t, op, "window_strides", rank, 1),
      .base = halo_translate_list_or(t, op, "base_dilations", rank, 1),
      .window = halo_translate_list_or(t, op, "window_dilations", rank, 1),
      .padding = halo_translate_pairs(t, op, "padding", rank, NULL)};
  return reduce_window_attr(t, &window, rank);
}

void halo_translate_op_reduce_window(halo_translator *t, halo_mlir_op *op) {
  const halo_instr *first = halo_translate_operand(t, op, 0);
  halo_computation *body = reduce_body(t, op, op->operand_count / 2);
  if (!body) return;
  halo_attr attrs[] = {halo_translate_comp(t, HALO_ATTR_TO_APPLY, body),
                       reduce_read_window(t, op, first->shape->rank)};
  reduce_emit(t, op, HALO_OP_REDUCE_WINDOW, op->operand_count, attrs, first->shape->rank ? 2 : 1);
}

void halo_translate_reduce_window_by_operands(halo_translator *t, halo_mlir_op *op,
                                              halo_computation *body) {
  const halo_instr *first = halo_translate_operand(t, op, 0);
  int32_t lists = op->operand_count - 5;
  if (!first || !body) return;
  if (lists < 2 || lists % 2) {
    halo_translate_wrong(t, "expected inputs, as many initial values, and five lists");
    return;
  }
  int rank = first->shape->rank;
  const reduce_window window = {
      .sizes = halo_translate_known_operand(t, op, lists, rank, NULL),
      .strides = halo_translate_known_operand(t, op, lists + 1, rank, NULL),
      .base = halo_translate_known_operand(t, op, lists + 2, rank, NULL),
      .window = halo_translate_known_operand(t, op, lists + 3, rank, NULL),
      .padding = halo_translate_known_operand(t, op, lists + 4, 2 * rank, NULL)};
  halo_attr attrs[] = {halo_translate_comp(t, HALO_ATTR_TO_APPLY, body),
                       reduce_window_attr(t, &window, rank)};
  reduce_emit(t, op, HALO_OP_REDUCE_WINDOW, lists, attrs, rank ? 2 : 1);
}

/* A choice between numbers of one type, of the same numbers in a wider one. */
static halo_computation *reduce_widen_select(halo_translator *t, halo_computation *select,
                                             halo_type wide) {
  if (!halo_translate_ok(t)) return NULL;
  halo_computation *outer, *wrapper = halo_translate_begin(t, "select", &outer);
  const halo_shape *scalar = halo_shape_new(t->arena, wide, 0, NULL);
  halo_instr *args[2];
  for (int i = 0; i < 2; i++) {
    halo_instr *arg = halo_translate_parameter(t, i, scalar, NULL);
    args[i] = halo_translate_convert(t, arg, select->params.data[i]->shape->type);
  }
  halo_attr attr = halo_translate_comp(t, HALO_ATTR_TO_APPLY, select);
  halo_translate_end(t, halo_translate_emit(t, HALO_OP_CALL, NULL, args, 2, &attr, 1), outer);
  return halo_translate_ok(t) ? wrapper : NULL;
}

/* The scatter may work in a wider type than the operands have, which HLO does for all of it. */
void halo_translate_op_select_and_scatter(halo_translator *t, halo_mlir_op *op) {
  halo_instr *first = halo_translate_operand(t, op, 0);
  halo_computation *select = halo_translate_body(t, &op->regions[0], 2);
  halo_computation *scatter = halo_translate_body(t, &op->regions[1], 2);
  if (!scatter) return;
  const halo_mlir_type *result = op->results[0].type;
  halo_type type = result->kind == HALO_MLIR_TENSOR ? result->element : first->shape->type;
  halo_instr *operands[3];
  for (int i = 0; i < 3; i++) {
    operands[i] = halo_translate_convert(t, halo_translate_operand(t, op, i), type);
  }
  if (first->shape->type != type) select = reduce_widen_select(t, select, type);
  if (!halo_translate_ok(t)) return;
  halo_attr attrs[] = {halo_translate_comp(t, HALO_ATTR_SELECT, select),
                       halo_translate_comp(t, HALO_ATTR_SCATTER, scatter),
                       reduce_read_window(t, op, first->shape->rank)};
  halo_translate_results(t, op,
                         halo_translate_emit(t, HALO_OP_SELECT_AND_SCATTER, NULL, operands, 3,
                                             attrs, first->shape->rank ? 3 : 2));
}

/* ---- Sorts and maps ---- */

void halo_translate_op_sort(halo_translator *t, halo_mlir_op *op) {
  const halo_instr *first = halo_translate_operand(t, op, 0);
  halo_computation *comparator = halo_translate_body(t, &op->regions[0], 2 * op->operand_count);
  if (!comparator) return;
  int64_t dimension = halo_mlir_int(op, "dimension", -1);
  if (dimension < 0) dimension += first->shape->rank;
  halo_attr attrs[3] = {halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &dimension, 1),
                        halo_translate_comp(t, HALO_ATTR_TO_APPLY, comparator)};
  int32_t count = 2;
  if (halo_mlir_int(op, "is_stable", 0)) {
    attrs[count++] = halo_translate_int(HALO_ATTR_IS_STABLE, 1);
  }
  reduce_emit(t, op, HALO_OP_SORT, op->operand_count, attrs, count);
}

void halo_translate_op_map(halo_translator *t, halo_mlir_op *op) {
  int32_t count;
  const int64_t *dimensions = halo_translate_list(t, op, "dimensions", -1, &count);
  halo_computation *body = halo_translate_body(t, &op->regions[0], op->operand_count);
  if (!body) return;
  halo_attr attrs[] = {halo_translate_ints(t, HALO_ATTR_DIMENSIONS, dimensions, count),
                       halo_translate_comp(t, HALO_ATTR_TO_APPLY, body)};
  reduce_emit(t, op, HALO_OP_MAP, op->operand_count, attrs, 2);
}

/* ---- Scans ---- */

/* One value that the computation returns is a tuple of one. */
static halo_computation *scan_body(halo_translator *t, halo_mlir_op *op) {
  halo_computation *body = halo_translate_body(t, &op->regions[0], op->operand_count);
  if (!body || halo_shape_is_tuple(body->root->shape)) return body;
  halo_computation *outer = t->computation;
  t->computation = body;
  halo_instr *tuple = halo_translate_emit(t, HALO_OP_TUPLE, NULL, &body->root, 1, NULL, 0);
  halo_translate_end(t, tuple, outer);
  return halo_translate_ok(t) ? body : NULL;
}

/* HLO's scan has an input. One that has none gets zeros, of which its computation ignores each. */
static halo_computation *scan_add_input(halo_translator *t, halo_mlir_op *op,
                                        halo_computation *body, halo_instr **input) {
  int64_t dims[HALO_MAX_RANK], last = halo_translate_integer(t, op, "dimension");
  if (last < 0 || last >= HALO_MAX_RANK) halo_translate_wrong(t, "dimension is no dimension");
  if (!halo_translate_ok(t)) return NULL;
  for (int64_t d = 0; d < last; d++) dims[d] = 1;
  dims[last] = halo_translate_integer(t, op, "scan_dim_size");
  const halo_shape *shape = halo_translate_array(t, HALO_S32, (int)last + 1, dims);
  const halo_shape *step = halo_translate_array(t, HALO_S32, (int)last, dims);
  if (!shape || !step) return NULL;
  *input = halo_translate_number(t, shape, 0);
  halo_computation *outer, *wrapper = halo_translate_begin(t, "scan", &outer);
  int32_t count = body->params.count;
  halo_instr **carries = halo_arena_array(t->arena, halo_instr *, count + 1);
  halo_translate_parameter(t, 0, step, NULL);
  for (int32_t i = 0; i < count; i++) {
    carries[i] = halo_translate_parameter(t, i + 1, body->params.data[i]->shape, NULL);
  }
  halo_attr attr = halo_translate_comp(t, HALO_ATTR_TO_APPLY, body);
  halo_translate_end(t, halo_translate_emit(t, HALO_OP_CALL, NULL, carries, count, &attr, 1),
                     outer);
  return halo_translate_ok(t) ? wrapper : NULL;
}

static void scan_emit(halo_translator *t, halo_mlir_op *op, halo_computation *body,
                      halo_instr *const *operands, int32_t count, int64_t carries) {
  int64_t dimension = halo_translate_integer(t, op, "dimension");
  bool reverse = halo_mlir_int(op, "is_reverse", 0) != 0;
  halo_attr attrs[] = {halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &dimension, 1),
                       halo_translate_int(HALO_ATTR_NUM_CARRIES, carries),
                       halo_translate_comp(t, HALO_ATTR_TO_APPLY, body),
                       halo_translate_int(HALO_ATTR_IS_REVERSE, 1)};
  halo_instr *scan =
      halo_translate_emit(t, HALO_OP_SCAN, NULL, operands, count, attrs, 3 + reverse);
  for (int32_t i = 0; i < op->result_count; i++) {
    halo_translate_result(t, op, i, halo_translate_element(t, scan, i));
  }
}

void halo_translate_op_scan(halo_translator *t, halo_mlir_op *op) {
  const int64_t *segments = halo_translate_list(t, op, "operandSegmentSizes", 2, NULL);
  halo_computation *body = segments ? scan_body(t, op) : NULL;
  if (!body) return;
  int32_t count = op->operand_count, returned = body->root->shape->count;
  if (segments[0] < 0 || segments[1] < 0 || segments[0] + segments[1] != count) {
    halo_translate_wrong(t, "operandSegmentSizes must be the numbers of inputs and of inits");
  } else if (returned != op->result_count) {
    halo_translate_wrong(t, "the region returns %d value%s: expected %d", returned,
                         halo_plural(returned), op->result_count);
  }
  halo_instr **operands = halo_arena_array(t->arena, halo_instr *, count + 2);
  for (int32_t i = 0; i < count; i++) operands[i + 1] = halo_translate_operand(t, op, i);
  if (segments[0]) {
    scan_emit(t, op, body, operands + 1, count, segments[1]);
  } else {
    halo_computation *wrapper = scan_add_input(t, op, body, operands);
    if (wrapper) scan_emit(t, op, wrapper, operands, count + 1, segments[1]);
  }
}

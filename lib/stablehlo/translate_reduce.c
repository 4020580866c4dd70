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

void halo_translate_op_reduce(halo_translator *t, halo_mlir_op *op) {
  int32_t count;
  const int64_t *dimensions = halo_translate_list(t, op, "dimensions", -1, &count);
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
      .padding = halo_translate_list_or(t, op, "padding", 2 * rank, 0)};
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

void halo_translate_op_select_and_scatter(halo_translator *t, halo_mlir_op *op) {
  const halo_instr *first = halo_translate_operand(t, op, 0);
  halo_computation *select = halo_translate_body(t, &op->regions[0], 2);
  halo_computation *scatter = halo_translate_body(t, &op->regions[1], 2);
  if (!scatter) return;
  halo_attr attrs[] = {halo_translate_comp(t, HALO_ATTR_SELECT, select),
                       halo_translate_comp(t, HALO_ATTR_SCATTER, scatter),
                       reduce_read_window(t, op, first->shape->rank)};
  reduce_emit(t, op, HALO_OP_SELECT_AND_SCATTER, op->operand_count, attrs,
              first->shape->rank ? 3 : 2);
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

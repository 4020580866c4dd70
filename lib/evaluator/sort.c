/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/sort.c: sort with any comparator (always stable), and top-k. */
#include "base/memory.h"
#include "evaluator/eval.h"

#include <string.h>

/* Sorts positions 0 .. n - 1 of one line by a question that may fail. A merge sort: a comparator
 * that is no order at all gives some permutation. */
typedef struct sort_line {
  halo_status (*before)(struct sort_line *line, int64_t a, int64_t b, bool *result);
  int64_t n, *order, *spare;
  /* What the questions need. */
  const eval_call *call;
  eval_function *comparator;
  eval_scalar *args;
  int64_t base, stride; /* of the line's elements in its operands */
  bool largest;
} sort_line;

static halo_status sort_merge(sort_line *line, int64_t low, int64_t middle, int64_t high) {
  int64_t a = low, b = middle, at = low;
  while (a < middle || b < high) {
    bool take_b = a == middle;
    if (a < middle && b < high) {
      HALO_TRY(line->before(line, line->order[b], line->order[a], &take_b));
    }
    line->spare[at++] = take_b ? line->order[b++] : line->order[a++];
  }
  return HALO_OK;
}

static halo_status sort_run(sort_line *line) {
  for (int64_t i = 0; i < line->n; i++) line->order[i] = i;
  for (int64_t width = 1; width < line->n; width *= 2) {
    for (int64_t low = 0; low < line->n; low += 2 * width) {
      int64_t middle = low + width < line->n ? low + width : line->n;
      int64_t high = low + 2 * width < line->n ? low + 2 * width : line->n;
      HALO_TRY(sort_merge(line, low, middle, high));
    }
    int64_t *swap = line->order;
    line->order = line->spare;
    line->spare = swap;
  }
  return HALO_OK;
}

static halo_status sort_ask_comparator(sort_line *line, int64_t a, int64_t b, bool *result) {
  eval_scalar answer;
  for (int32_t k = 0; k < line->call->instr->operand_count; k++) {
    const halo_literal *operand = line->call->operands[k];
    line->args[2 * k] = eval_get(operand, line->base + a * line->stride);
    line->args[2 * k + 1] = eval_get(operand, line->base + b * line->stride);
  }
  HALO_TRY(eval_function_call(line->comparator, line->args, &answer));
  *result = answer.re != 0;
  return HALO_OK;
}

static halo_status sort_ask_total_order(sort_line *line, int64_t a, int64_t b, bool *result) {
  const halo_literal *operand = line->call->operands[0];
  halo_type type = operand->shape->type;
  eval_scalar x = eval_get(operand, line->base + a * line->stride);
  eval_scalar y = eval_get(operand, line->base + b * line->stride);
  if (halo_type_is_uint(type) || type == HALO_PRED) {
    *result = line->largest ? x.re > y.re : x.re < y.re;
  } else {
    int64_t p = eval_total_order_key(type, x), q = eval_total_order_key(type, y);
    *result = line->largest ? p > q : p < q;
  }
  return HALO_OK;
}

static halo_status sort_lines(sort_line *line, halo_literal *out, int64_t dimension) {
  const halo_shape *shape = line->call->operands[0]->shape;
  int64_t strides[HALO_MAX_RANK], index[HALO_MAX_RANK] = {0}, others[HALO_MAX_RANK];
  int32_t operands = line->call->instr->operand_count;
  eval_strides(shape->rank, shape->dims, strides);
  line->n = shape->dims[dimension];
  line->stride = strides[dimension];
  memcpy(others, shape->dims, sizeof *others * (size_t)shape->rank);
  others[dimension] = 1;
  if (halo_shape_element_count(shape) == 0) return HALO_OK;
  do {
    line->base = eval_offset(shape->rank, index, strides);
    HALO_TRY(sort_run(line));
    for (int32_t k = 0; k < operands; k++) {
      halo_literal *to = halo_shape_is_tuple(out->shape) ? out->elements[k] : out;
      for (int64_t i = 0; i < line->n; i++) {
        eval_set(to, line->base + i * line->stride,
                 eval_get(line->call->operands[k], line->base + line->order[i] * line->stride));
      }
    }
  } while (eval_next(shape->rank, others, index));
  return HALO_OK;
}

static halo_status sort_buffer(int64_t n, int64_t **out) {
  void *memory;
  HALO_TRY(halo_try_alloc(2 * sizeof **out * (size_t)n, "a sort's order", &memory));
  *out = memory;
  return HALO_OK;
}

halo_status eval_sort(const eval_call *call, halo_literal **out) {
  int32_t n = call->instr->operand_count, count;
  int64_t dimension = halo_instr_ints(call->instr, HALO_ATTR_DIMENSIONS, &count)[0];
  int64_t extent = call->operands[0]->shape->dims[dimension], *order;
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  HALO_TRY(sort_buffer(extent, &order));
  halo_arena arena = {0};
  halo_type *types = halo_arena_array(&arena, halo_type, 2 * n);
  for (int32_t k = 0; k < n; k++) {
    types[2 * k] = types[2 * k + 1] = call->operands[k]->shape->type;
  }
  eval_function comparator;
  sort_line line = {.before = sort_ask_comparator,
                    .order = order,
                    .spare = order + extent,
                    .call = call,
                    .comparator = &comparator,
                    .args = halo_arena_array(&arena, eval_scalar, 2 * n)};
  halo_status status = eval_function_init(
      &comparator, halo_instr_comp(call->instr, HALO_ATTR_TO_APPLY), types, 2 * n, call->depth);
  if (status == HALO_OK) status = sort_lines(&line, *out, dimension);
  eval_function_deinit(&comparator);
  halo_arena_deinit(&arena);
  halo_free(order);
  return status;
}

halo_status eval_topk(const eval_call *call, halo_literal **out) {
  const halo_shape *shape = call->operands[0]->shape;
  int64_t n = shape->dims[shape->rank - 1], k = halo_instr_int(call->instr, HALO_ATTR_K, 0);
  int64_t rows = eval_count(shape->rank - 1, shape->dims), *order;
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  HALO_TRY(sort_buffer(n, &order));
  sort_line line = {.before = sort_ask_total_order,
                    .n = n,
                    .order = order,
                    .spare = order + n,
                    .call = call,
                    .stride = 1,
                    .largest = halo_instr_bool(call->instr, HALO_ATTR_LARGEST, true)};
  halo_status status = HALO_OK;
  for (int64_t row = 0; row < rows && status == HALO_OK; row++) {
    line.base = row * n;
    status = sort_run(&line);
    for (int64_t i = 0; i < k && status == HALO_OK; i++) {
      eval_set((*out)->elements[0], row * k + i,
               eval_get(call->operands[0], line.base + line.order[i]));
      halo_literal_set_i64((*out)->elements[1], row * k + i, line.order[i]);
    }
  }
  halo_free(order);
  return status;
}

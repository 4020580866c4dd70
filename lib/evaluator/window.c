/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/window.c: reduce-window and select-and-scatter. */
#include "base/memory.h"
#include "evaluator/eval.h"

/* The window of an instruction; dimensions it does not list have size 1. */
static void window_of(const halo_instr *instr, int rank, halo_window_dim *window) {
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  for (int d = 0; d < rank; d++) {
    window[d] = (halo_window_dim){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
    if (attr && d < attr->window.count) window[d] = attr->window.data[d];
  }
}

/* The array position under window offset `offset` of window `at`, or -1 for padding and holes. */
static int64_t window_position(const halo_window_dim *w, int64_t at, int64_t offset,
                               int64_t extent) {
  int64_t t = at * w->stride + offset * w->window_dilation - w->pad_low;
  if (t < 0 || t % w->base_dilation != 0 || t / w->base_dilation >= extent) return -1;
  return t / w->base_dilation;
}

/* The offset in elements of a window's element in an array, or -1 when it is not in it. */
static int64_t window_offset(const halo_window_dim *window, const halo_shape *shape,
                             const int64_t *strides, const int64_t *at, const int64_t *offset) {
  int64_t sum = 0;
  for (int d = 0; d < shape->rank; d++) {
    int64_t position = window_position(&window[d], at[d], offset[d], shape->dims[d]);
    if (position < 0) return -1;
    sum += position * strides[d];
  }
  return sum;
}

static halo_status window_reduce_one(eval_reducer *reducer, const eval_call *call,
                                     const halo_window_dim *window, const int64_t *at) {
  const halo_shape *shape = call->operands[0]->shape;
  int64_t strides[HALO_MAX_RANK], sizes[HALO_MAX_RANK], offset[HALO_MAX_RANK] = {0};
  eval_strides(shape->rank, shape->dims, strides);
  for (int d = 0; d < shape->rank; d++) sizes[d] = window[d].size;
  do {
    int64_t from = window_offset(window, shape, strides, at, offset);
    if (from >= 0) HALO_TRY(eval_reducer_add(reducer, call->operands, from));
  } while (eval_next(shape->rank, sizes, offset));
  return HALO_OK;
}

halo_status eval_reduce_window(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  halo_window_dim window[HALO_MAX_RANK];
  int64_t at[HALO_MAX_RANK] = {0};
  window_of(call->instr, call->operands[0]->shape->rank, window);
  eval_reducer reducer;
  halo_status status =
      eval_reducer_init(&reducer, call, HALO_ATTR_TO_APPLY, call->instr->operand_count / 2, *out);
  const halo_shape *shape = call->instr->shape;
  if (halo_shape_is_tuple(shape)) shape = shape->elements[0];
  int64_t total = halo_shape_element_count(shape);
  for (int64_t i = 0; i < total && status == HALO_OK; i++) {
    eval_reducer_start(&reducer);
    status = window_reduce_one(&reducer, call, window, at);
    eval_reducer_finish(&reducer, i);
    eval_next(shape->rank, shape->dims, at);
  }
  eval_reducer_deinit(&reducer);
  return status;
}

/* ---- Select and scatter ---- */

/* The element of the window that `select` settles on, or -1 when the window holds none. */
static halo_status window_select(eval_function *select, const halo_literal *operand,
                                 const halo_window_dim *window, const int64_t *at, int64_t *best) {
  const halo_shape *shape = operand->shape;
  int64_t strides[HALO_MAX_RANK], sizes[HALO_MAX_RANK], offset[HALO_MAX_RANK] = {0};
  eval_strides(shape->rank, shape->dims, strides);
  for (int d = 0; d < shape->rank; d++) sizes[d] = window[d].size;
  *best = -1;
  do {
    int64_t from = window_offset(window, shape, strides, at, offset);
    if (from < 0) continue;
    if (*best >= 0) {
      eval_scalar args[2] = {eval_get(operand, *best), eval_get(operand, from)}, keep;
      HALO_TRY(eval_function_call(select, args, &keep));
      if (keep.re) continue;
    }
    *best = from;
  } while (eval_next(shape->rank, sizes, offset));
  return HALO_OK;
}

static halo_status window_scatter_all(const eval_call *call, eval_function *select,
                                      eval_function *scatter, halo_literal *out) {
  halo_literal *operand = call->operands[0], *source = call->operands[1];
  halo_window_dim window[HALO_MAX_RANK];
  int64_t at[HALO_MAX_RANK] = {0}, total = halo_shape_element_count(source->shape);
  window_of(call->instr, operand->shape->rank, window);
  for (int64_t i = 0; i < total; i++) {
    int64_t best;
    HALO_TRY(window_select(select, operand, window, at, &best));
    if (best >= 0) {
      eval_scalar args[2] = {eval_get(out, best), eval_get(source, i)}, result;
      HALO_TRY(eval_function_call(scatter, args, &result));
      eval_set(out, best, eval_convert(scatter->result_types[0], out->shape->type, result));
    }
    eval_next(source->shape->rank, source->shape->dims, at);
  }
  return HALO_OK;
}

halo_status eval_select_and_scatter(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  int64_t total = halo_shape_element_count(call->instr->shape);
  halo_type type = call->operands[0]->shape->type;
  halo_type select_types[2] = {type, type};
  halo_type scatter_types[2] = {call->instr->shape->type, call->operands[1]->shape->type};
  for (int64_t i = 0; i < total; i++) eval_set(*out, i, eval_get(call->operands[2], 0));
  eval_function select, scatter;
  halo_status status = eval_function_init(&select, halo_instr_comp(call->instr, HALO_ATTR_SELECT),
                                          select_types, 2, call->depth);
  if (status == HALO_OK) {
    status = eval_function_init(&scatter, halo_instr_comp(call->instr, HALO_ATTR_SCATTER),
                                scatter_types, 2, call->depth);
    if (status == HALO_OK && total) status = window_scatter_all(call, &select, &scatter, *out);
    eval_function_deinit(&scatter);
  }
  eval_function_deinit(&select);
  return status;
}

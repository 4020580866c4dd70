/* SPDX-License-Identifier: Apache-2.0 */
/* builder/window.c: reductions of windows, and select-and-scatter. */
#include "builder/build.h"

#include <string.h>

/* The padding for a result of ceil(size / stride); without a stride, which inference refuses, none. */
static halo_padding window_same(int64_t extent, int64_t size, int64_t stride) {
  if (stride < 1) return (halo_padding){0};
  int64_t results = extent / stride + (extent % stride != 0);
  int64_t total = results > 0 ? (results - 1) * stride + size - extent : 0;
  if (total < 0) total = 0;
  return (halo_padding){.low = total / 2, .high = total - total / 2};
}

/* The attribute; NULL sizes and a count other than the operand's rank are errors. */
static bool window_attr(build_call *call, const halo_shape *shape, const halo_window *from,
                        halo_attr *out) {
  if (call->ok && !from) halo_build_fail(call, "the window is NULL");
  if (!call->ok) return false;
  if (from->count != shape->rank || (from->count > 0 && !from->sizes)) {
    halo_build_fail(call, "the window must have a size for each of the %d dimensions", shape->rank);
    return false;
  }
  if (from->same && from->padding) {
    halo_build_fail(call, "the window has padding of its own and SAME padding");
    return false;
  }
  halo_window_dim *dims =
      halo_arena_array(halo_build_arena(call), halo_window_dim, (size_t)from->count + 1);
  for (int i = 0; i < from->count; i++) {
    int64_t stride = from->strides ? from->strides[i] : 1;
    halo_padding padding = {0};
    if (from->padding) padding = from->padding[i];
    if (from->same) padding = window_same(shape->dims[i], from->sizes[i], stride);
    if (padding.interior != 0) halo_build_fail(call, "padding %d has an interior", i);
    dims[i] = (halo_window_dim){
        .size = from->sizes[i],
        .stride = stride,
        .pad_low = padding.low,
        .pad_high = padding.high,
        .base_dilation = from->base_dilations ? from->base_dilations[i] : 1,
        .window_dilation = from->window_dilations ? from->window_dilations[i] : 1};
  }
  *out = (halo_attr){.id = HALO_ATTR_WINDOW};
  out->window.data = dims;
  out->window.count = from->count;
  return call->ok;
}

static halo_op window_reduce(build_call *call, int n, const halo_op *operands, const halo_op *inits,
                             halo_comp computation, const halo_window *window) {
  if (call->ok && (n < 1 || !operands || !inits)) {
    halo_build_fail(call, "at least one operand and its init value are needed");
  }
  halo_computation *body = halo_build_comp(call, computation);
  halo_instr *first = call->ok ? halo_build_array(call, operands[0]) : NULL;
  halo_attr attrs[2];
  if (!first || !window_attr(call, first->shape, window, &attrs[0])) {
    return halo_build_result(call, NULL);
  }
  attrs[1] = halo_build_comps(call, HALO_ATTR_TO_APPLY, 1, &body);
  halo_op *ops = halo_arena_array(halo_build_arena(call), halo_op, 2 * (size_t)n);
  memcpy(ops, operands, sizeof *ops * (size_t)n);
  memcpy(ops + n, inits, sizeof *ops * (size_t)n);
  return halo_build_nary(call, HALO_OP_REDUCE_WINDOW, 2 * n, ops, 2, attrs);
}

halo_op halo_reduce_window(halo_op operand, halo_op init, halo_comp computation,
                           const halo_window *window) {
  build_call call = halo_build_begin_with("halo_reduce_window", 2, (halo_op[]){operand, init});
  return window_reduce(&call, 1, &operand, &init, computation, window);
}

halo_op halo_reduce_window_many(halo_builder *builder, int n, const halo_op *operands,
                                const halo_op *inits, halo_comp computation,
                                const halo_window *window) {
  build_call call = halo_build_begin(builder, "halo_reduce_window_many");
  return window_reduce(&call, n, operands, inits, computation, window);
}

halo_op halo_select_and_scatter(halo_op operand, halo_comp select, const halo_window *window,
                                halo_op source, halo_op init, halo_comp scatter) {
  halo_op ops[] = {operand, source, init};
  build_call call = halo_build_begin_with("halo_select_and_scatter", 3, ops);
  halo_computation *chooses = halo_build_comp(&call, select);
  halo_computation *combines = halo_build_comp(&call, scatter);
  halo_instr *array = call.ok ? halo_build_array(&call, operand) : NULL;
  halo_attr attrs[3];
  if (array && window && (window->base_dilations || window->window_dilations)) {
    halo_build_fail(&call, "the window must not be dilated");
  }
  if (!array || !window_attr(&call, array->shape, window, &attrs[0])) {
    return halo_build_result(&call, NULL);
  }
  attrs[1] = halo_build_comps(&call, HALO_ATTR_SELECT, 1, &chooses);
  attrs[2] = halo_build_comps(&call, HALO_ATTR_SCATTER, 1, &combines);
  return halo_build_nary(&call, HALO_OP_SELECT_AND_SCATTER, 3, ops, 3, attrs);
}

halo_op halo_scan(halo_builder *builder, int inputs, const halo_op *arrays, int carries,
                  const halo_op *inits, halo_comp computation, int64_t dimension, bool reverse,
                  halo_associativity associative) {
  build_call call = halo_build_begin(builder, "halo_scan");
  if (call.ok && (associative < HALO_ASSOCIATIVITY_UNKNOWN || associative > HALO_NOT_ASSOCIATIVE)) {
    halo_build_fail(&call, "associative is no halo_associativity");
  }
  if (call.ok && (inputs < 1 || !arrays)) halo_build_fail(&call, "at least one input is needed");
  if (call.ok && (carries < 0 || (carries > 0 && !inits))) {
    halo_build_fail(&call, "the list of initial carries is NULL");
  }
  halo_computation *body = halo_build_comp(&call, computation);
  if (!call.ok) return halo_build_result(&call, NULL);
  size_t count = (size_t)inputs + (size_t)carries;
  halo_op *ops = halo_arena_array(halo_build_arena(&call), halo_op, count);
  memcpy(ops, arrays, sizeof *ops * (size_t)inputs);
  if (carries) memcpy(ops + inputs, inits, sizeof *ops * (size_t)carries);
  halo_attr attrs[5] = {halo_build_ints(&call, HALO_ATTR_DIMENSIONS, 1, &dimension),
                        halo_build_int(HALO_ATTR_NUM_CARRIES, carries),
                        halo_build_comps(&call, HALO_ATTR_TO_APPLY, 1, &body)};
  int attr_count = 3;
  if (reverse) attrs[attr_count++] = halo_build_int(HALO_ATTR_IS_REVERSE, 1);
  if (associative != HALO_ASSOCIATIVITY_UNKNOWN) {
    attrs[attr_count++] = halo_build_int(HALO_ATTR_IS_ASSOCIATIVE, associative == HALO_ASSOCIATIVE);
  }
  return halo_build_nary(&call, HALO_OP_SCAN, (int)count, ops, attr_count, attrs);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_reduce.c: inference of ops in which elements meet through a computation. */
#include "hlo/infer_util.h"

#include <string.h>

/* N inputs of equal dimensions, then N inits. */
typedef struct reduce_parts {
  int32_t n;
  const halo_shape **inits;
  halo_type *inputs, *types;
  bool tuple;
} reduce_parts;

static halo_status reduce_check(const halo_instr *instr, halo_arena *arena, reduce_parts *parts) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  if (instr->operand_count % 2 != 0) {
    return halo_infer_fail(instr, "expects as many init values as inputs");
  }
  int32_t n = parts->n = instr->operand_count / 2;
  parts->inits = halo_arena_array(arena, const halo_shape *, n);
  parts->inputs = halo_arena_array(arena, halo_type, n);
  parts->types = halo_arena_array(arena, halo_type, n);
  for (int32_t i = 0; i < n; i++) {
    parts->inits[i] = halo_infer_operand(instr, n + i);
    parts->inputs[i] = halo_infer_operand(instr, i)->type;
    if (!halo_shape_same_dims(halo_infer_operand(instr, 0), halo_infer_operand(instr, i))) {
      return halo_infer_fail(instr, "inputs 0 and %d must have the same dimensions", i);
    }
  }
  const halo_computation *computation;
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_TO_APPLY, &computation));
  return halo_infer_reducer(instr, computation, n, parts->inits, parts->inputs, parts->types,
                            &parts->tuple);
}

static const halo_shape *reduce_result(halo_arena *arena, const reduce_parts *parts, int rank,
                                       const int64_t *dims, const bool *dynamic) {
  const halo_shape **results = halo_arena_array(arena, const halo_shape *, parts->n);
  for (int32_t i = 0; i < parts->n; i++) {
    results[i] = halo_shape_new_full(arena, parts->types[i], rank, dims, dynamic, NULL);
  }
  return parts->tuple ? halo_shape_new_tuple(arena, parts->n, results) : results[0];
}

halo_status halo_infer_reduce(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  reduce_parts parts;
  HALO_TRY(reduce_check(instr, arena, &parts));
  const halo_shape *from = halo_infer_operand(instr, 0);
  bool reduced[HALO_MAX_RANK] = {false}, dynamic[HALO_MAX_RANK];
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_DIMENSIONS, from->rank, false, reduced));
  int64_t dims[HALO_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < from->rank; i++) {
    if (reduced[i]) continue;
    dims[rank] = from->dims[i];
    dynamic[rank++] = halo_shape_dim_is_dynamic(from, i);
  }
  *out = reduce_result(arena, &parts, rank, dims, dynamic);
  return HALO_OK;
}

/* The result dimensions of a window over `from`; no window attribute means rank 0. */
static halo_status reduce_window_dims(const halo_instr *instr, const halo_shape *from,
                                      bool dilations, int64_t *dims, bool *dynamic) {
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  int32_t count = window ? window->window.count : 0;
  if (count != from->rank) {
    return halo_infer_fail(instr, "the window has %d dimension%s, but the operand has rank %d",
                           count, halo_plural(count), from->rank);
  }
  for (int i = 0; i < from->rank; i++) {
    const halo_window_dim *w = &window->window.data[i];
    if (!dilations && (w->base_dilation != 1 || w->window_dilation != 1)) {
      return halo_infer_fail(instr, "the window must not be dilated");
    }
    HALO_TRY(halo_infer_window_extent(instr, from->dims[i], w, &dims[i]));
    dynamic[i] = halo_shape_dim_is_dynamic(from, i);
  }
  return HALO_OK;
}

halo_status halo_infer_reduce_window(const halo_instr *instr, halo_arena *arena,
                                     const halo_shape **out) {
  reduce_parts parts;
  HALO_TRY(reduce_check(instr, arena, &parts));
  const halo_shape *from = halo_infer_operand(instr, 0);
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  HALO_TRY(reduce_window_dims(instr, from, true, dims, dynamic));
  for (int32_t i = 0; i < parts.n; i++) parts.types[i] = parts.inits[i]->type;
  *out = reduce_result(arena, &parts, from->rank, dims, dynamic);
  return HALO_OK;
}

halo_status halo_infer_select_and_scatter(const halo_instr *instr, halo_arena *arena,
                                          const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *operand = halo_infer_operand(instr, 0), *source = halo_infer_operand(instr, 1);
  const halo_shape *init = halo_infer_operand(instr, 2);
  const halo_computation *select, *scatter;
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_SELECT, &select));
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_SCATTER, &scatter));
  HALO_TRY(halo_infer_scalar_params(instr, select, 2));
  if (!halo_shape_is_scalar_of(select->root->shape, HALO_PRED)) {
    return halo_infer_fail(instr, "the computation %s must return a pred scalar", select->name);
  }
  for (int32_t i = 0; i < 2; i++) {
    if (!halo_infer_types_agree(halo_infer_param(select, i)->type, operand->type)) {
      return halo_infer_fail(instr, "the computation %s must take the operand's element type",
                             select->name);
    }
  }
  halo_type type;
  bool tuple;
  HALO_TRY(halo_infer_reducer(instr, scatter, 1, &init, &source->type, &type, &tuple));
  if (tuple || !halo_infer_types_agree(type, operand->type)) {
    return halo_infer_fail(instr, "the computation %s must return the operand's element type",
                           scatter->name);
  }
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  HALO_TRY(reduce_window_dims(instr, operand, false, dims, dynamic));
  bool same = source->rank == operand->rank;
  for (int i = 0; same && i < operand->rank; i++) same = source->dims[i] == dims[i];
  if (!same) {
    return halo_infer_fail(instr, "the source must have one element for each window position");
  }
  *out = halo_shape_with_default_layout(arena, operand);
  return HALO_OK;
}

halo_status halo_infer_map(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *first = halo_infer_operand(instr, 0);
  const halo_computation *computation;
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_TO_APPLY, &computation));
  HALO_TRY(halo_infer_scalar_params(instr, computation, instr->operand_count));
  bool dynamic[HALO_MAX_RANK] = {false};
  for (int32_t o = 0; o < instr->operand_count; o++) {
    const halo_shape *shape = halo_infer_operand(instr, o);
    if (!halo_shape_same_dims(first, shape)) {
      return halo_infer_fail(instr, "operands 0 and %d must have the same dimensions", o);
    }
    if (!halo_infer_types_agree(shape->type, halo_infer_param(computation, o)->type)) {
      return halo_infer_fail(instr, "operand %d does not have the element type that %s takes", o,
                             computation->name);
    }
    for (int i = 0; i < shape->rank; i++) dynamic[i] |= halo_shape_dim_is_dynamic(shape, i);
  }
  if (!halo_shape_is_scalar(computation->root->shape)) {
    return halo_infer_fail(instr, "the computation %s must return a scalar", computation->name);
  }
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  bool all = count == 0 || count == first->rank;
  for (int32_t i = 0; all && i < count; i++) all = dims[i] == i;
  if (!all) return halo_infer_fail(instr, "dimensions must be all the operands' dimensions");
  *out = halo_shape_new_full(arena, computation->root->shape->type, first->rank, first->dims,
                             dynamic, first->minor_to_major);
  return HALO_OK;
}

halo_status halo_infer_sort(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  int32_t n = instr->operand_count;
  const halo_shape *first = halo_infer_operand(instr, 0);
  int dim;
  HALO_TRY(halo_infer_one_dim(instr, first->rank, &dim));
  const halo_computation *comparator;
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_TO_APPLY, &comparator));
  HALO_TRY(halo_infer_scalar_params(instr, comparator, 2 * n));
  if (!halo_shape_is_scalar_of(comparator->root->shape, HALO_PRED)) {
    return halo_infer_fail(instr, "the comparator %s must return a pred scalar", comparator->name);
  }
  const halo_shape **results = halo_arena_array(arena, const halo_shape *, n);
  for (int32_t i = 0; i < n; i++) {
    const halo_shape *shape = halo_infer_operand(instr, i);
    if (!halo_shape_same_dims(first, shape)) {
      return halo_infer_fail(instr, "operands 0 and %d must have the same dimensions", i);
    }
    for (int32_t p = 2 * i; p < 2 * i + 2; p++) {
      if (!halo_infer_types_agree(halo_infer_param(comparator, p)->type, shape->type)) {
        return halo_infer_fail(instr, "parameter %d of the comparator %s must be %s", p,
                               comparator->name, halo_type_name(shape->type));
      }
    }
    results[i] = halo_shape_with_default_layout(arena, shape);
  }
  *out = n == 1 ? results[0] : halo_shape_new_tuple(arena, n, results);
  return HALO_OK;
}

halo_status halo_infer_topk(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *from = halo_infer_operand(instr, 0);
  int64_t k = halo_instr_int(instr, HALO_ATTR_K, 0), dims[HALO_MAX_RANK];
  if (from->rank == 0) return halo_infer_fail(instr, "the operand must have a dimension");
  if (k < 0 || k > from->dims[from->rank - 1]) {
    return halo_infer_fail(instr, "k is %lld, but must be within 0 and the last dimension's size",
                           (long long)k);
  }
  memcpy(dims, from->dims, sizeof *dims * (size_t)from->rank);
  dims[from->rank - 1] = k;
  const halo_shape *results[] = {halo_shape_new(arena, from->type, from->rank, dims),
                                 halo_shape_new(arena, HALO_S32, from->rank, dims)};
  *out = halo_shape_new_tuple(arena, 2, results);
  return HALO_OK;
}

/* ---- Scan ---- */

/* `shape` without dimension `at`, or with one of `extent` put in there. */
static const halo_shape *reduce_drop_dim(halo_arena *arena, const halo_shape *shape, int at) {
  int64_t dims[HALO_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < shape->rank; i++) {
    if (i != at) dims[rank++] = shape->dims[i];
  }
  return halo_shape_new(arena, shape->type, rank, dims);
}

static halo_status reduce_insert_dim(const halo_instr *instr, halo_arena *arena,
                                     const halo_shape *shape, int at, int64_t extent,
                                     const halo_shape **out) {
  if (!halo_shape_is_array(shape) || at > shape->rank || shape->rank >= HALO_MAX_RANK) {
    return halo_infer_fail(instr,
                           "the computation's outputs must be arrays that dimension %d can "
                           "be put into",
                           at);
  }
  int64_t dims[HALO_MAX_RANK];
  for (int i = 0; i < shape->rank + 1; i++) {
    dims[i] = i == at ? extent : shape->dims[i < at ? i : i - 1];
  }
  *out = halo_shape_new(arena, shape->type, shape->rank + 1, dims);
  return HALO_OK;
}

static halo_status reduce_scan_args(const halo_instr *instr, halo_arena *arena,
                                    const halo_computation *body, int32_t inputs, int dim) {
  if (body->params.count != instr->operand_count) {
    return halo_infer_fail(instr, "the computation %s must take %d parameter%s, but takes %d",
                           body->name, instr->operand_count, halo_plural(instr->operand_count),
                           body->params.count);
  }
  int64_t extent = halo_infer_operand(instr, 0)->dims[dim];
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_shape *shape = halo_infer_operand(instr, i);
    if (i < inputs) {
      if (dim >= shape->rank || shape->dims[dim] != extent) {
        return halo_infer_fail(instr, "inputs 0 and %d must have the same size of dimension %d", i,
                               dim);
      }
      shape = reduce_drop_dim(arena, shape, dim);
    }
    if (!halo_shape_compatible(shape, halo_infer_param(body, i))) {
      return halo_infer_fail(instr, "parameter %d of the computation %s must be %s", i, body->name,
                             halo_shape_text(arena, shape, false));
    }
  }
  return HALO_OK;
}

halo_status halo_infer_scan(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  int64_t carries = halo_instr_int(instr, HALO_ATTR_NUM_CARRIES, 0);
  if (carries < 0 || carries >= instr->operand_count) {
    return halo_infer_fail(instr, "num_carries is %lld, but must leave at least one input",
                           (long long)carries);
  }
  int32_t inputs = instr->operand_count - (int32_t)carries;
  const halo_computation *body;
  int dim;
  HALO_TRY(halo_infer_one_dim(instr, halo_infer_operand(instr, 0)->rank, &dim));
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_TO_APPLY, &body));
  HALO_TRY(reduce_scan_args(instr, arena, body, inputs, dim));
  const halo_shape *result = body->root->shape;
  if (!halo_shape_is_tuple(result)) result = halo_shape_new_tuple(arena, 1, &result);
  if (result->count < carries) {
    return halo_infer_fail(instr, "the computation %s must return a tuple of outputs and carries",
                           body->name);
  }
  int32_t outputs = result->count - (int32_t)carries;
  int64_t extent = halo_infer_operand(instr, 0)->dims[dim];
  const halo_shape **results = halo_arena_array(arena, const halo_shape *, result->count);
  for (int32_t i = 0; i < outputs; i++) {
    HALO_TRY(reduce_insert_dim(instr, arena, result->elements[i], dim, extent, &results[i]));
  }
  for (int32_t i = 0; i < carries; i++) {
    const halo_shape *init = halo_infer_operand(instr, inputs + i);
    if (!halo_shape_compatible(result->elements[outputs + i], init)) {
      return halo_infer_fail(instr, "carry %d of the computation %s must have its init's shape", i,
                             body->name);
    }
    results[outputs + i] = halo_shape_with_default_layout(arena, init);
  }
  bool single = result->count == 1 && instr->shape && !halo_shape_is_tuple(instr->shape);
  *out = single ? results[0] : halo_shape_new_tuple(arena, result->count, results);
  return HALO_OK;
}

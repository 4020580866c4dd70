/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/indexed.c: operations whose indices are values: dynamic slices, gather, scatter. */
#include "base/memory.h"
#include "evaluator/eval.h"

#include <string.h>

/* Start of a dynamic slice along one dimension, from scalar operands or one rank-1 operand, clamped
 * so that the window fits. */
static int64_t indexed_start(const eval_call *call, int32_t first, int d, int64_t most) {
  const halo_literal *index = call->operands[first];
  if (index->shape->rank == 1) return eval_clamped_index(index, d, most);
  return eval_clamped_index(call->operands[first + d], 0, most);
}

halo_status eval_dynamic_slice(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_shape *from = call->operands[0]->shape, *to = call->instr->shape;
  int64_t from_strides[HALO_MAX_RANK], to_strides[HALO_MAX_RANK], base = 0;
  eval_strides(from->rank, from->dims, from_strides);
  eval_strides(to->rank, to->dims, to_strides);
  for (int d = 0; d < from->rank; d++) {
    base += indexed_start(call, 1, d, from->dims[d] - to->dims[d]) * from_strides[d];
  }
  size_t size = halo_type_size(to->type);
  eval_move(size, to->rank, to->dims, (*out)->data, to_strides,
            (const char *)call->operands[0]->data + base * (int64_t)size, from_strides);
  return HALO_OK;
}

halo_status eval_dynamic_update_slice(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_shape *update = call->operands[1]->shape, *to = call->instr->shape;
  int64_t update_strides[HALO_MAX_RANK], to_strides[HALO_MAX_RANK], base = 0;
  size_t size = halo_type_size(to->type), bytes = (size_t)halo_shape_byte_size(to);
  if (bytes) memcpy((*out)->data, call->operands[0]->data, bytes);
  eval_strides(update->rank, update->dims, update_strides);
  eval_strides(to->rank, to->dims, to_strides);
  for (int d = 0; d < to->rank; d++) {
    base += indexed_start(call, 2, d, to->dims[d] - update->dims[d]) * to_strides[d];
  }
  eval_move(size, to->rank, update->dims, (char *)(*out)->data + base * (int64_t)size, to_strides,
            call->operands[1]->data, update_strides);
  return HALO_OK;
}

/* ---- Gather and scatter ---- */

/* How gather and scatter number dimensions, in one wording. `array` is what is indexed (operand of
 * gather, input of scatter), `windows` the other side (result of gather, updates of scatter). */
typedef struct indexed_numbers {
  const halo_shape *array, *windows;
  const halo_literal *indices;
  const int64_t *window_dims, *removed, *index_map, *array_batching, *indices_batching;
  int32_t window_count, removed_count, index_count, batching_count;
  int64_t vector_dim;
  int64_t array_strides[HALO_MAX_RANK], window_strides[HALO_MAX_RANK];
  int64_t index_strides[HALO_MAX_RANK + 1];
  /* Batch dimensions: those of the indices but vector_dim, those of the windows but window_dims. */
  int batch_rank;
  int64_t batch_dims[HALO_MAX_RANK], batch_index_strides[HALO_MAX_RANK];
  int64_t batch_window_strides[HALO_MAX_RANK];
  int batch_of_indices_dim[HALO_MAX_RANK];
  /* The window: its extents, and strides on both sides. */
  int64_t box[HALO_MAX_RANK], box_array_strides[HALO_MAX_RANK], box_window_strides[HALO_MAX_RANK];
  int64_t extent[HALO_MAX_RANK]; /* of the window along each array dimension; 1 where removed */
} indexed_numbers;

static bool indexed_has(const int64_t *list, int32_t count, int64_t d) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == d) return true;
  }
  return false;
}

static void indexed_attributes(const halo_instr *instr, bool is_gather, indexed_numbers *n) {
  n->window_dims = halo_instr_ints(
      instr, is_gather ? HALO_ATTR_OFFSET_DIMS : HALO_ATTR_UPDATE_WINDOW_DIMS, &n->window_count);
  n->removed = halo_instr_ints(
      instr, is_gather ? HALO_ATTR_COLLAPSED_SLICE_DIMS : HALO_ATTR_INSERTED_WINDOW_DIMS,
      &n->removed_count);
  n->index_map = halo_instr_ints(
      instr, is_gather ? HALO_ATTR_START_INDEX_MAP : HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS,
      &n->index_count);
  n->array_batching = halo_instr_ints(
      instr, is_gather ? HALO_ATTR_OPERAND_BATCHING_DIMS : HALO_ATTR_INPUT_BATCHING_DIMS,
      &n->batching_count);
  n->indices_batching = halo_instr_ints(
      instr,
      is_gather ? HALO_ATTR_START_INDICES_BATCHING_DIMS : HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS,
      &n->batching_count);
  n->vector_dim = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, n->indices->shape->rank);
}

static void indexed_prepare(const eval_call *call, bool is_gather, const halo_shape *windows,
                            const halo_literal *indices, indexed_numbers *n) {
  *n = (indexed_numbers){.array = call->operands[0]->shape, .windows = windows, .indices = indices};
  indexed_attributes(call->instr, is_gather, n);
  const halo_shape *index_shape = indices->shape;
  eval_strides(n->array->rank, n->array->dims, n->array_strides);
  eval_strides(windows->rank, windows->dims, n->window_strides);
  eval_strides(index_shape->rank, index_shape->dims, n->index_strides);
  int batch = 0, window = 0, at = 0;
  for (int d = 0; d < index_shape->rank; d++) {
    if (d == n->vector_dim) continue;
    n->batch_of_indices_dim[d] = at;
    n->batch_dims[at] = index_shape->dims[d];
    n->batch_index_strides[at++] = n->index_strides[d];
  }
  n->batch_rank = at;
  for (int d = 0; d < windows->rank; d++) {
    if (indexed_has(n->window_dims, n->window_count, d)) {
      n->box[window] = windows->dims[d];
      n->box_window_strides[window++] = n->window_strides[d];
    } else {
      n->batch_window_strides[batch++] = n->window_strides[d];
    }
  }
  window = 0;
  for (int d = 0; d < n->array->rank; d++) {
    bool removed = indexed_has(n->removed, n->removed_count, d) ||
                   indexed_has(n->array_batching, n->batching_count, d);
    n->extent[d] = removed ? 1 : n->box[window];
    if (!removed) n->box_array_strides[window++] = n->array_strides[d];
  }
}

/* The k-th component of the index vector at a batch position: its place in the indices. */
static int64_t indexed_component(const indexed_numbers *n, const int64_t *batch, int32_t k) {
  int64_t at = eval_offset(n->batch_rank, batch, n->batch_index_strides);
  if (n->vector_dim < n->indices->shape->rank) at += k * n->index_strides[n->vector_dim];
  return at;
}

/* The start along batching dimensions, which is never out of range. */
static int64_t indexed_batching_offset(const indexed_numbers *n, const int64_t *batch) {
  int64_t offset = 0;
  for (int32_t k = 0; k < n->batching_count; k++) {
    int64_t at = batch[n->batch_of_indices_dim[n->indices_batching[k]]];
    offset += at * n->array_strides[n->array_batching[k]];
  }
  return offset;
}

halo_status eval_gather(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  indexed_numbers n;
  indexed_prepare(call, true, call->instr->shape, call->operands[1], &n);
  size_t size = halo_type_size(n.array->type);
  int64_t batch[HALO_MAX_RANK] = {0};
  /* A slice of nothing out of nothing may still claim elements; they are zero. */
  if (halo_shape_element_count(n.windows) == 0 || halo_shape_element_count(n.array) == 0) {
    return HALO_OK;
  }
  do {
    int64_t from = indexed_batching_offset(&n, batch);
    for (int32_t k = 0; k < n.index_count; k++) {
      int64_t d = n.index_map[k], most = n.array->dims[d] - n.extent[d];
      from +=
          n.array_strides[d] * eval_clamped_index(n.indices, indexed_component(&n, batch, k), most);
    }
    int64_t to = eval_offset(n.batch_rank, batch, n.batch_window_strides);
    eval_move(size, n.window_count, n.box, (char *)(*out)->data + to * (int64_t)size,
              n.box_window_strides, (const char *)call->operands[0]->data + from * (int64_t)size,
              n.box_array_strides);
  } while (eval_next(n.batch_rank, n.batch_dims, batch));
  return HALO_OK;
}

/* Where a scatter's window starts, or -1 when any of it would lie outside: then all of it goes. */
static int64_t scatter_start(const indexed_numbers *n, const int64_t *batch) {
  int64_t start = indexed_batching_offset(n, batch);
  bool is_signed = halo_type_is_sint(n->indices->shape->type);
  for (int d = 0; d < n->array->rank; d++) {
    if (n->extent[d] > n->array->dims[d]) return -1;
  }
  for (int32_t k = 0; k < n->index_count; k++) {
    int64_t d = n->index_map[k], most = n->array->dims[d] - n->extent[d];
    uint64_t index = eval_get(n->indices, indexed_component(n, batch, k)).re;
    if ((is_signed && (int64_t)index < 0) || index > (uint64_t)most) return -1;
    start += (int64_t)index * n->array_strides[d];
  }
  return start;
}

/* One element: current values first, then updates. */
static halo_status scatter_combine(const eval_call *call, eval_function *function,
                                   halo_literal **results, eval_scalar *values, int64_t to,
                                   int64_t from) {
  int32_t count = call->instr->operand_count / 2;
  for (int32_t k = 0; k < count; k++) {
    values[k] = eval_get(results[k], to);
    values[count + k] = eval_get(call->operands[count + 1 + k], from);
  }
  HALO_TRY(eval_function_call(function, values, values + 2 * count));
  for (int32_t k = 0; k < count; k++) {
    eval_set(
        results[k], to,
        eval_convert(function->result_types[k], results[k]->shape->type, values[2 * count + k]));
  }
  return HALO_OK;
}

static halo_status scatter_all(const eval_call *call, const indexed_numbers *n,
                               eval_function *function, halo_literal **results,
                               eval_scalar *values) {
  int64_t batch[HALO_MAX_RANK] = {0};
  if (halo_shape_element_count(n->windows) == 0) return HALO_OK;
  do {
    int64_t start = scatter_start(n, batch), index[HALO_MAX_RANK] = {0};
    int64_t updates = eval_offset(n->batch_rank, batch, n->batch_window_strides);
    if (start < 0) continue;
    do {
      int64_t to = start + eval_offset(n->window_count, index, n->box_array_strides);
      int64_t from = updates + eval_offset(n->window_count, index, n->box_window_strides);
      HALO_TRY(scatter_combine(call, function, results, values, to, from));
    } while (eval_next(n->window_count, n->box, index));
  } while (eval_next(n->batch_rank, n->batch_dims, batch));
  return HALO_OK;
}

halo_status eval_scatter(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  int32_t count = call->instr->operand_count / 2;
  halo_arena arena = {0};
  halo_literal **results = halo_arena_array(&arena, halo_literal *, count);
  halo_type *types = halo_arena_array(&arena, halo_type, 2 * count);
  eval_scalar *values = halo_arena_array(&arena, eval_scalar, 3 * count);
  for (int32_t k = 0; k < count; k++) {
    results[k] = halo_shape_is_tuple((*out)->shape) ? (*out)->elements[k] : *out;
    types[k] = results[k]->shape->type;
    types[count + k] = call->operands[count + 1 + k]->shape->type;
    int64_t total = halo_shape_element_count(results[k]->shape);
    for (int64_t i = 0; i < total; i++) {
      eval_set(
          results[k], i,
          eval_convert(call->operands[k]->shape->type, types[k], eval_get(call->operands[k], i)));
    }
  }
  indexed_numbers n;
  indexed_prepare(call, false, call->operands[count + 1]->shape, call->operands[count], &n);
  eval_function function;
  halo_status status = eval_function_init(
      &function, halo_instr_comp(call->instr, HALO_ATTR_TO_APPLY), types, 2 * count, call->depth);
  if (status == HALO_OK) status = scatter_all(call, &n, &function, results, values);
  eval_function_deinit(&function);
  halo_arena_deinit(&arena);
  return status;
}

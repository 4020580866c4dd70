/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_indexed.c: inference of dynamic-slice, dynamic-update-slice, gather and scatter. */
#include "hlo/infer_util.h"

#include <string.h>

/* The start indices from operand `from` on: one scalar a dimension, or one vector as of old. */
static halo_status indexed_check_starts(const halo_instr *instr, int32_t from, int rank) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  int32_t count = instr->operand_count - from;
  if (count == 1 && halo_infer_operand(instr, from)->rank == 1) {
    const halo_shape *starts = halo_infer_operand(instr, from);
    if (starts->dims[0] != rank) {
      return halo_infer_fail(instr, "expects %d start ind%s, but has %lld", rank,
                             rank == 1 ? "ex" : "ices", (long long)starts->dims[0]);
    }
    if (!halo_type_is_integral(starts->type)) {
      return halo_infer_fail(instr, "start indices must be integers");
    }
    return HALO_OK;
  }
  if (count != rank) {
    return halo_infer_fail(instr, "expects %d start ind%s, but has %d", rank,
                           rank == 1 ? "ex" : "ices", count);
  }
  for (int32_t i = from; i < instr->operand_count; i++) {
    const halo_shape *start = halo_infer_operand(instr, i);
    if (start->rank != 0) return halo_infer_fail(instr, "start indices must be scalars");
    if (!halo_type_is_integral(start->type)) {
      return halo_infer_fail(instr, "start indices must be integers");
    }
    if (start->type != halo_infer_operand(instr, from)->type) {
      return halo_infer_fail(instr, "start indices must all have the same type");
    }
  }
  return HALO_OK;
}

halo_status halo_infer_dynamic_slice(const halo_instr *instr, halo_arena *arena,
                                     const halo_shape **out) {
  const halo_shape *from = halo_infer_operand(instr, 0);
  HALO_TRY(indexed_check_starts(instr, 1, from->rank));
  int32_t count;
  const int64_t *sizes = halo_instr_ints(instr, HALO_ATTR_DYNAMIC_SLICE_SIZES, &count);
  if (count != from->rank) {
    return halo_infer_fail(instr, "dynamic_slice_sizes has %d entr%s, but the operand has rank %d",
                           count, count == 1 ? "y" : "ies", from->rank);
  }
  bool dynamic[HALO_MAX_RANK];
  for (int i = 0; i < count; i++) {
    if (sizes[i] < 0 || sizes[i] > from->dims[i]) {
      return halo_infer_fail(instr, "slice size %lld does not fit dimension %d of size %lld",
                             (long long)sizes[i], i, (long long)from->dims[i]);
    }
    dynamic[i] = halo_shape_dim_is_dynamic(from, i) && sizes[i] == from->dims[i];
  }
  *out = halo_shape_new_full(arena, from->type, count, sizes, dynamic, NULL);
  return HALO_OK;
}

halo_status halo_infer_dynamic_update_slice(const halo_instr *instr, halo_arena *arena,
                                            const halo_shape **out) {
  const halo_shape *from = halo_infer_operand(instr, 0), *update = halo_infer_operand(instr, 1);
  HALO_TRY(indexed_check_starts(instr, 2, from->rank));
  if (update->rank != from->rank) {
    return halo_infer_fail(instr, "the update must have the operand's rank");
  }
  if (!halo_infer_types_agree(from->type, update->type)) {
    return halo_infer_fail(instr, "the update must have the operand's element type");
  }
  for (int i = 0; i < from->rank; i++) {
    if (update->dims[i] > from->dims[i]) {
      return halo_infer_fail(instr, "the update is larger than the operand in dimension %d", i);
    }
  }
  *out = halo_shape_new_full(arena, halo_infer_result_type(instr, from->type, update->type),
                             from->rank, from->dims, from->dynamic, NULL);
  return HALO_OK;
}

static int32_t indexed_count(const halo_instr *instr, halo_attr_id id) {
  int32_t count;
  halo_instr_ints(instr, id, &count);
  return count;
}

/* Names of the attributes that gather and scatter have alike. */
typedef struct indexed_names {
  halo_attr_id window, collapsed, map, batching, index_batching;
} indexed_names;

static const indexed_names indexed_gather = {
    HALO_ATTR_OFFSET_DIMS, HALO_ATTR_COLLAPSED_SLICE_DIMS, HALO_ATTR_START_INDEX_MAP,
    HALO_ATTR_OPERAND_BATCHING_DIMS, HALO_ATTR_START_INDICES_BATCHING_DIMS};
static const indexed_names indexed_scatter = {
    HALO_ATTR_UPDATE_WINDOW_DIMS, HALO_ATTR_INSERTED_WINDOW_DIMS,
    HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, HALO_ATTR_INPUT_BATCHING_DIMS,
    HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS};

/* The rules that tie operand, indices and dimension numbers; `dropped` gets the operand dimensions
 * that are collapsed or batching, batch_dims the indices' dimensions but for the index vector's. */
static halo_status indexed_check_numbers(const halo_instr *instr, const indexed_names *names,
                                         const halo_shape *operand, const halo_shape *indices,
                                         bool *dropped, int64_t *batch_dims, int *batch_rank) {
  if (!halo_type_is_integral(indices->type)) {
    return halo_infer_fail(instr, "indices must be integers");
  }
  int64_t vector_dim = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  if (vector_dim < 0 || vector_dim > indices->rank) {
    return halo_infer_fail(instr, "index_vector_dim %lld is outside 0 to %d", (long long)vector_dim,
                           indices->rank);
  }
  int64_t vector = vector_dim == indices->rank ? 1 : indices->dims[vector_dim];
  if (indexed_count(instr, names->map) != vector) {
    return halo_infer_fail(instr, "%s has %d entr%s, but an index has %lld component%s",
                           halo_attr_name(names->map), indexed_count(instr, names->map),
                           indexed_count(instr, names->map) == 1 ? "y" : "ies", (long long)vector,
                           halo_plural(vector));
  }
  bool mapped[HALO_MAX_RANK] = {false}, batching[HALO_MAX_RANK] = {false};
  HALO_TRY(halo_infer_check_dims(instr, names->collapsed, operand->rank, true, dropped));
  HALO_TRY(halo_infer_check_dims(instr, names->batching, operand->rank, true, dropped));
  HALO_TRY(halo_infer_check_dims(instr, names->map, operand->rank, false, mapped));
  HALO_TRY(halo_infer_check_dims(instr, names->index_batching, indices->rank, false, batching));
  int32_t count, index_count;
  const int64_t *batch = halo_instr_ints(instr, names->batching, &count);
  const int64_t *index_batch = halo_instr_ints(instr, names->index_batching, &index_count);
  if (count != index_count) {
    return halo_infer_fail(instr, "%s and %s must have the same length",
                           halo_attr_name(names->batching), halo_attr_name(names->index_batching));
  }
  for (int32_t i = 0; i < count; i++) {
    if (mapped[batch[i]]) {
      return halo_infer_fail(instr, "%s and %s share dimension %lld", halo_attr_name(names->map),
                             halo_attr_name(names->batching), (long long)batch[i]);
    }
    if (index_batch[i] == vector_dim) {
      return halo_infer_fail(instr, "%s contains index_vector_dim",
                             halo_attr_name(names->index_batching));
    }
    if (operand->dims[batch[i]] != indices->dims[index_batch[i]]) {
      return halo_infer_fail(instr, "batching dimensions %lld and %lld differ in size",
                             (long long)batch[i], (long long)index_batch[i]);
    }
  }
  *batch_rank = 0;
  for (int i = 0; i < indices->rank; i++) {
    if (i != vector_dim) batch_dims[(*batch_rank)++] = indices->dims[i];
  }
  return HALO_OK;
}

halo_status halo_infer_gather(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *operand = halo_infer_operand(instr, 0);
  bool dropped[HALO_MAX_RANK] = {false}, is_offset[HALO_MAX_RANK] = {false};
  int64_t batch_dims[HALO_MAX_RANK], dims[HALO_MAX_RANK];
  int batch_rank;
  HALO_TRY(indexed_check_numbers(instr, &indexed_gather, operand, halo_infer_operand(instr, 1),
                                 dropped, batch_dims, &batch_rank));
  int32_t offset_count = indexed_count(instr, HALO_ATTR_OFFSET_DIMS), size_count;
  const int64_t *sizes = halo_instr_ints(instr, HALO_ATTR_SLICE_SIZES, &size_count);
  if (size_count != operand->rank) {
    return halo_infer_fail(instr, "slice_sizes has %d entr%s, but the operand has rank %d",
                           size_count, size_count == 1 ? "y" : "ies", operand->rank);
  }
  int64_t kept[HALO_MAX_RANK];
  int kept_count = 0;
  for (int i = 0; i < operand->rank; i++) {
    if (sizes[i] < 0 || sizes[i] > operand->dims[i]) {
      return halo_infer_fail(instr, "slice size %lld does not fit dimension %d of size %lld",
                             (long long)sizes[i], i, (long long)operand->dims[i]);
    }
    if (dropped[i] && sizes[i] > 1) {
      return halo_infer_fail(instr,
                             "dimension %d is collapsed or batching, so its slice size must "
                             "be 0 or 1, not %lld",
                             i, (long long)sizes[i]);
    }
    if (!dropped[i]) kept[kept_count++] = sizes[i];
  }
  if (kept_count != offset_count) {
    return halo_infer_fail(instr, "offset_dims has %d entr%s, but slices keep %d dimension%s",
                           offset_count, offset_count == 1 ? "y" : "ies", kept_count,
                           halo_plural(kept_count));
  }
  int rank = batch_rank + offset_count;
  if (rank > HALO_MAX_RANK) return halo_infer_fail(instr, "the result's rank is too large");
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_OFFSET_DIMS, rank, true, is_offset));
  for (int i = 0, k = 0, b = 0; i < rank; i++) dims[i] = is_offset[i] ? kept[k++] : batch_dims[b++];
  *out = halo_shape_new(arena, operand->type, rank, dims);
  return HALO_OK;
}

static halo_status indexed_check_updates(const halo_instr *instr, const halo_shape *operand,
                                         const halo_shape *updates, const bool *dropped,
                                         const int64_t *batch_dims, int batch_rank) {
  int32_t window_count = indexed_count(instr, HALO_ATTR_UPDATE_WINDOW_DIMS);
  bool is_window[HALO_MAX_RANK] = {false};
  if (updates->rank != batch_rank + window_count) {
    return halo_infer_fail(instr, "updates must have rank %d (%d of indices, %d of windows)",
                           batch_rank + window_count, batch_rank, window_count);
  }
  HALO_TRY(
      halo_infer_check_dims(instr, HALO_ATTR_UPDATE_WINDOW_DIMS, updates->rank, true, is_window));
  int kept[HALO_MAX_RANK], kept_count = 0;
  for (int i = 0; i < operand->rank; i++) {
    if (!dropped[i]) kept[kept_count++] = i;
  }
  if (kept_count != window_count) {
    return halo_infer_fail(
        instr, "update_window_dims has %d entr%s, but windows keep %d dimension%s", window_count,
        window_count == 1 ? "y" : "ies", kept_count, halo_plural(kept_count));
  }
  for (int i = 0, k = 0, b = 0; i < updates->rank; i++) {
    if (is_window[i]) {
      int64_t limit = operand->dims[kept[k++]];
      if (updates->dims[i] > limit) {
        return halo_infer_fail(instr,
                               "window dimension %d of updates is larger than the operand's "
                               "%lld",
                               i, (long long)limit);
      }
    } else if (updates->dims[i] != batch_dims[b++]) {
      return halo_infer_fail(instr, "dimension %d of updates differs from that of indices", i);
    }
  }
  return HALO_OK;
}

halo_status halo_infer_scatter(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  int32_t n = instr->operand_count / 2;
  if (instr->operand_count % 2 == 0) {
    return halo_infer_fail(instr, "expects N operands, indices and N updates");
  }
  const halo_shape *operand = halo_infer_operand(instr, 0);
  const halo_shape *updates = halo_infer_operand(instr, n + 1);
  const halo_computation *computation;
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_TO_APPLY, &computation));
  bool dropped[HALO_MAX_RANK] = {false};
  int64_t batch_dims[HALO_MAX_RANK];
  int batch_rank;
  HALO_TRY(indexed_check_numbers(instr, &indexed_scatter, operand, halo_infer_operand(instr, n),
                                 dropped, batch_dims, &batch_rank));
  HALO_TRY(indexed_check_updates(instr, operand, updates, dropped, batch_dims, batch_rank));
  const halo_shape **inits = halo_arena_array(arena, const halo_shape *, n);
  halo_type *inputs = halo_arena_array(arena, halo_type, n);
  halo_type *types = halo_arena_array(arena, halo_type, n);
  for (int32_t i = 0; i < n; i++) {
    const halo_shape *o = halo_infer_operand(instr, i), *u = halo_infer_operand(instr, n + 1 + i);
    if (!halo_shape_same_dims(o, operand) || !halo_shape_same_dims(u, updates)) {
      return halo_infer_fail(instr, "all operands and all updates must have the same dimensions");
    }
    inits[i] = halo_shape_new(arena, o->type, 0, NULL);
    inputs[i] = u->type;
  }
  bool tuple;
  HALO_TRY(halo_infer_reducer(instr, computation, n, inits, inputs, types, &tuple));
  const halo_shape **results = halo_arena_array(arena, const halo_shape *, n);
  for (int32_t i = 0; i < n; i++) {
    const halo_shape *o = halo_infer_operand(instr, i);
    results[i] = halo_shape_new_full(arena, types[i], o->rank, o->dims, o->dynamic, NULL);
  }
  *out = tuple ? halo_shape_new_tuple(arena, n, results) : results[0];
  return HALO_OK;
}

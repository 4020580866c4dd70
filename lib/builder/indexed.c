/* SPDX-License-Identifier: Apache-2.0 */
/* builder/indexed.c: gather and scatter. */
#include "builder/build.h"

#include <string.h>

/* A list of dimensions; optional ones are left out where empty. */
typedef struct indexed_list {
  halo_attr_id id;
  int count;
  const int64_t *list;
  bool optional;
} indexed_list;

/* Appends the lists as attributes. False, and an error, when one is none. */
static bool indexed_attrs(build_call *call, const indexed_list *lists, int count, halo_attr *attrs,
                          int *attr_count) {
  for (int i = 0; i < count; i++) {
    const indexed_list *l = &lists[i];
    if (!halo_build_check_list(call, l->count, l->list, halo_attr_name(l->id))) return false;
    if (l->optional && l->count == 0) continue;
    attrs[(*attr_count)++] = halo_build_ints(call, l->id, l->count, l->list);
  }
  return true;
}

halo_op halo_gather(halo_op operand, halo_op indices, const halo_gather_dims *dims, int count,
                    const int64_t *slice_sizes, bool sorted) {
  build_call call = halo_build_begin_with("halo_gather", 2, (halo_op[]){operand, indices});
  if (call.ok && !dims) halo_build_fail(&call, "dims is NULL");
  if (!call.ok) return halo_build_result(&call, NULL);
  const indexed_list lists[] = {
      {HALO_ATTR_OFFSET_DIMS, dims->offset_count, dims->offset_dims, false},
      {HALO_ATTR_COLLAPSED_SLICE_DIMS, dims->collapsed_count, dims->collapsed_slice_dims, false},
      {HALO_ATTR_START_INDEX_MAP, dims->start_map_count, dims->start_index_map, false},
      {HALO_ATTR_OPERAND_BATCHING_DIMS, dims->batching_count, dims->operand_batching_dims, true},
      {HALO_ATTR_START_INDICES_BATCHING_DIMS, dims->batching_count,
       dims->start_indices_batching_dims, true},
      {HALO_ATTR_SLICE_SIZES, count, slice_sizes, false}};
  halo_attr attrs[8];
  int attr_count = 0;
  if (!indexed_attrs(&call, lists, 6, attrs, &attr_count)) return halo_build_result(&call, NULL);
  attrs[attr_count++] = halo_build_int(HALO_ATTR_INDEX_VECTOR_DIM, dims->index_vector_dim);
  if (sorted) attrs[attr_count++] = halo_build_int(HALO_ATTR_INDICES_ARE_SORTED, 1);
  return halo_build_nary(&call, HALO_OP_GATHER, 2, (halo_op[]){operand, indices}, attr_count,
                         attrs);
}

static halo_op indexed_scatter(build_call *call, int n, const halo_op *operands, halo_op indices,
                               const halo_op *updates, halo_comp computation,
                               const halo_scatter_dims *dims, bool sorted, bool unique) {
  if (call->ok && !dims) halo_build_fail(call, "dims is NULL");
  if (call->ok && (n < 1 || !operands || !updates)) {
    halo_build_fail(call, "at least one operand and its updates are needed");
  }
  halo_computation *body = halo_build_comp(call, computation);
  if (!call->ok) return halo_build_result(call, NULL);
  const indexed_list lists[] = {
      {HALO_ATTR_UPDATE_WINDOW_DIMS, dims->window_count, dims->update_window_dims, false},
      {HALO_ATTR_INSERTED_WINDOW_DIMS, dims->inserted_count, dims->inserted_window_dims, false},
      {HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, dims->operand_count,
       dims->scatter_dims_to_operand_dims, false},
      {HALO_ATTR_INPUT_BATCHING_DIMS, dims->batching_count, dims->input_batching_dims, true},
      {HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS, dims->batching_count,
       dims->scatter_indices_batching_dims, true}};
  halo_attr attrs[9];
  int attr_count = 0;
  if (!indexed_attrs(call, lists, 5, attrs, &attr_count)) return halo_build_result(call, NULL);
  attrs[attr_count++] = halo_build_int(HALO_ATTR_INDEX_VECTOR_DIM, dims->index_vector_dim);
  if (sorted) attrs[attr_count++] = halo_build_int(HALO_ATTR_INDICES_ARE_SORTED, 1);
  if (unique) attrs[attr_count++] = halo_build_int(HALO_ATTR_UNIQUE_INDICES, 1);
  attrs[attr_count++] = halo_build_comps(call, HALO_ATTR_TO_APPLY, 1, &body);
  halo_op *ops = halo_arena_array(halo_build_arena(call), halo_op, 2 * (size_t)n + 1);
  memcpy(ops, operands, sizeof *ops * (size_t)n);
  ops[n] = indices;
  memcpy(ops + n + 1, updates, sizeof *ops * (size_t)n);
  return halo_build_nary(call, HALO_OP_SCATTER, 2 * n + 1, ops, attr_count, attrs);
}

halo_op halo_scatter(halo_op operand, halo_op indices, halo_op updates, halo_comp computation,
                     const halo_scatter_dims *dims, bool sorted, bool unique) {
  halo_op ops[] = {operand, indices, updates};
  build_call call = halo_build_begin_with("halo_scatter", 3, ops);
  return indexed_scatter(&call, 1, &operand, indices, &updates, computation, dims, sorted, unique);
}

halo_op halo_scatter_many(halo_builder *builder, int n, const halo_op *operands, halo_op indices,
                          const halo_op *updates, halo_comp computation,
                          const halo_scatter_dims *dims, bool sorted, bool unique) {
  build_call call = halo_build_begin(builder, "halo_scatter_many");
  return indexed_scatter(&call, n, operands, indices, updates, computation, dims, sorted, unique);
}

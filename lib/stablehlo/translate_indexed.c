/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_indexed.c: gather, scatter, and their kin. */
#include "stablehlo/translate.h"

#include <string.h>

enum { INDEXED_ATTRS = 10 };

typedef struct indexed_attrs {
  halo_attr data[INDEXED_ATTRS];
  int32_t count;
} indexed_attrs;

/* A list of dimensions, which is called in HLO what it is called in StableHLO; where it may be missing in HLO, only
 * if there is something in it. */
static void indexed_list(halo_translator *t, const halo_mlir_op *op, halo_attr_id id, bool required,
                         indexed_attrs *out) {
  int32_t count = 0;
  const char *name = halo_attr_name(id);
  const int64_t *list =
      halo_mlir_attr_of(op, name) ? halo_translate_list(t, op, name, -1, &count) : NULL;
  if (count || required) out->data[out->count++] = halo_translate_ints(t, id, list, count);
}

static void indexed_flag(const halo_mlir_op *op, halo_attr_id id, indexed_attrs *out) {
  if (halo_mlir_int(op, halo_attr_name(id), 0)) {
    out->data[out->count++] = halo_translate_int(id, 1);
  }
}

/* Of both forms: the dynamic one has the sizes of slices as its third operand. */
void halo_translate_op_gather(halo_translator *t, halo_mlir_op *op) {
  indexed_attrs attrs = {.count = 0};
  indexed_list(t, op, HALO_ATTR_OFFSET_DIMS, true, &attrs);
  indexed_list(t, op, HALO_ATTR_COLLAPSED_SLICE_DIMS, true, &attrs);
  indexed_list(t, op, HALO_ATTR_START_INDEX_MAP, true, &attrs);
  indexed_list(t, op, HALO_ATTR_OPERAND_BATCHING_DIMS, false, &attrs);
  indexed_list(t, op, HALO_ATTR_START_INDICES_BATCHING_DIMS, false, &attrs);
  attrs.data[attrs.count++] =
      halo_translate_int(HALO_ATTR_INDEX_VECTOR_DIM, halo_mlir_int(op, "index_vector_dim", 0));
  if (op->opcode == HALO_MLIR_OP_DYNAMIC_GATHER) {
    int32_t count;
    const int64_t *sizes = halo_translate_known_operand(t, op, 2, -1, &count);
    attrs.data[attrs.count++] = halo_translate_ints(t, HALO_ATTR_SLICE_SIZES, sizes, count);
  } else {
    indexed_list(t, op, HALO_ATTR_SLICE_SIZES, true, &attrs);
  }
  indexed_flag(op, HALO_ATTR_INDICES_ARE_SORTED, &attrs);
  halo_instr *operands[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  halo_translate_results(
      t, op, halo_translate_emit(t, HALO_OP_GATHER, NULL, operands, 2, attrs.data, attrs.count));
}

void halo_translate_op_scatter(halo_translator *t, halo_mlir_op *op) {
  indexed_attrs attrs = {.count = 0};
  int32_t n = (op->operand_count - 1) / 2;
  indexed_list(t, op, HALO_ATTR_UPDATE_WINDOW_DIMS, true, &attrs);
  indexed_list(t, op, HALO_ATTR_INSERTED_WINDOW_DIMS, true, &attrs);
  indexed_list(t, op, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, true, &attrs);
  indexed_list(t, op, HALO_ATTR_INPUT_BATCHING_DIMS, false, &attrs);
  indexed_list(t, op, HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS, false, &attrs);
  attrs.data[attrs.count++] =
      halo_translate_int(HALO_ATTR_INDEX_VECTOR_DIM, halo_mlir_int(op, "index_vector_dim", 0));
  indexed_flag(op, HALO_ATTR_INDICES_ARE_SORTED, &attrs);
  indexed_flag(op, HALO_ATTR_UNIQUE_INDICES, &attrs);
  halo_computation *body = halo_translate_body(t, &op->regions[0], 2 * n);
  if (!body) return;
  attrs.data[attrs.count++] = halo_translate_comp(t, HALO_ATTR_TO_APPLY, body);
  halo_translate_results(
      t, op,
      halo_translate_emit(t, HALO_OP_SCATTER, NULL, halo_translate_operands(t, op),
                          op->operand_count, attrs.data, attrs.count));
}

/* Entries of one dimension of the operand by an array of indices; the first batch_dims dimensions of both run
 * together. */
void halo_translate_op_index_select(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0), *index = halo_translate_operand(t, op, 1);
  int64_t dim = halo_translate_integer(t, op, "dim"), batch = halo_mlir_int(op, "batch_dims", 0);
  if (!halo_translate_ok(t)) return;
  int rank = operand->shape->rank, index_rank = index->shape->rank;
  if (batch < 0 || batch > dim || dim >= rank || batch > index_rank) {
    halo_translate_wrong(t, "dim = %lld and batch_dims = %lld do not go with the operands",
                         (long long)dim, (long long)batch);
    return;
  }
  int64_t offset[HALO_MAX_RANK], sizes[HALO_MAX_RANK], batches[HALO_MAX_RANK];
  int32_t offsets = 0;
  for (int d = 0; d < rank; d++) {
    bool taken = d == dim || d < batch;
    sizes[d] = taken ? 1 : operand->shape->dims[d];
    if (d < batch) batches[d] = d;
    /* The indices' other dimensions stand where `dim` was. */
    if (!taken) offset[offsets++] = d < dim ? d : d - 1 + index_rank - batch;
  }
  indexed_attrs attrs = {.count = 0};
  attrs.data[attrs.count++] = halo_translate_ints(t, HALO_ATTR_OFFSET_DIMS, offset, offsets);
  attrs.data[attrs.count++] = halo_translate_ints(t, HALO_ATTR_COLLAPSED_SLICE_DIMS, &dim, 1);
  attrs.data[attrs.count++] = halo_translate_ints(t, HALO_ATTR_START_INDEX_MAP, &dim, 1);
  attrs.data[attrs.count++] = halo_translate_int(HALO_ATTR_INDEX_VECTOR_DIM, index_rank);
  attrs.data[attrs.count++] = halo_translate_ints(t, HALO_ATTR_SLICE_SIZES, sizes, rank);
  if (batch) {
    attrs.data[attrs.count++] =
        halo_translate_ints(t, HALO_ATTR_OPERAND_BATCHING_DIMS, batches, (int32_t)batch);
    attrs.data[attrs.count++] =
        halo_translate_ints(t, HALO_ATTR_START_INDICES_BATCHING_DIMS, batches, (int32_t)batch);
  }
  halo_instr *operands[2] = {operand, index};
  halo_translate_results(
      t, op, halo_translate_emit(t, HALO_OP_GATHER, NULL, operands, 2, attrs.data, attrs.count));
}

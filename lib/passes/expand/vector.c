/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/vector.c: products of a matrix and a vector, or a few, as multiplications and sums: each
 * element of the matrix is used once or a few times, so that little is won by packing it or by tiles, and
 * the kernels of reductions read it where it lies, with what is fused before and behind. Sums of several
 * vectors become one kernel that reads the matrix once (multi_output.c). */
#include "hlo/dot.h"
#include "passes/expand/expand.h"

#include <string.h>

/* Vectors that are multiplied by one matrix at most, and how large it then has to be. What is added up lies
 * side by side in rows, so that panels would have to be packed; in columns panels are read in place, and are
 * as fast where caches hold the matrix. Complex ones are packed in columns, and in rows of a first operand not. The matrices
 * of a batch that are smaller than the least are in registers as well as their vectors. */
enum {
  VECTOR_MOST = 8,
  VECTOR_ROWS_MOST = 4, /* of more sums along rows compilers make no vectors */
  VECTOR_ROWS_ELEMENTS = 1 << 15,
  VECTOR_COLUMNS_ELEMENTS = 1 << 22,
  VECTOR_LEAST = 256
};

/* One side of a dot. */
typedef struct vector_side {
  halo_instr *operand;
  const int64_t *batch, *contract;
  int32_t batch_count, contract_count;
  int64_t free_size; /* vectors, on the side that has fewer */
} vector_side;

static vector_side vector_side_of(const halo_instr *dot, int side) {
  vector_side s = {.operand = dot->operands[side], .free_size = 1};
  s.batch = halo_instr_ints(dot, side ? HALO_ATTR_RHS_BATCH_DIMS : HALO_ATTR_LHS_BATCH_DIMS,
                            &s.batch_count);
  s.contract =
      halo_instr_ints(dot, side ? HALO_ATTR_RHS_CONTRACTING_DIMS : HALO_ATTR_LHS_CONTRACTING_DIMS,
                      &s.contract_count);
  bool used[HALO_MAX_RANK] = {false};
  for (int32_t i = 0; i < s.batch_count; i++) used[s.batch[i]] = true;
  for (int32_t i = 0; i < s.contract_count; i++) used[s.contract[i]] = true;
  for (int d = 0; d < s.operand->shape->rank; d++) {
    if (!used[d]) s.free_size *= s.operand->shape->dims[d];
  }
  return s;
}

/* The matrix's dimensions without the contracted ones are the result's: batches, in order, then free
 * ones. */
static bool vector_order_fits(const vector_side *matrix) {
  for (int32_t i = 0; i < matrix->batch_count; i++) {
    int64_t before = 0;
    for (int32_t k = 0; k < matrix->contract_count; k++) {
      before += matrix->contract[k] < matrix->batch[i];
    }
    if (matrix->batch[i] - before != i) return false;
  }
  return true;
}

/* The dimensions of the vectors' operand that the matrix has too, in the order of the matrix, behind those
 * that it has not; dims [the number of the former] are those of the matrix. */
static int vector_order(const vector_side *vector, const vector_side *matrix, int64_t *order,
                        int64_t *dims) {
  int total = vector->operand->shape->rank, shared = 0;
  bool used[HALO_MAX_RANK] = {false};
  int64_t from[HALO_MAX_RANK];
  for (int d = 0; d < matrix->operand->shape->rank; d++) {
    int64_t source = -1;
    for (int32_t i = 0; i < matrix->batch_count; i++) {
      if (matrix->batch[i] == d) source = vector->batch[i];
    }
    for (int32_t i = 0; i < matrix->contract_count; i++) {
      if (matrix->contract[i] == d) source = vector->contract[i];
    }
    if (source < 0) continue;
    dims[shared] = d;
    used[source] = true;
    from[shared++] = source;
  }
  int next = 0;
  for (int d = 0; d < total; d++) {
    if (!used[d]) order[next++] = d;
  }
  memcpy(order + next, from, sizeof *from * (size_t)shared);
  return shared;
}

/* The vectors' operand as [vectors, the dimensions `dims` of the matrix...]; `rank` receives the number of
 * the latter. */
static halo_instr *vector_aligned(halo_expander *x, const vector_side *vector,
                                  const vector_side *matrix, int64_t *dims, int *rank) {
  halo_arena *arena = &x->r->computation->module->arena;
  const halo_shape *shape = vector->operand->shape;
  int64_t order[HALO_MAX_RANK], moved[HALO_MAX_RANK], sizes[HALO_MAX_RANK + 1];
  *rank = vector_order(vector, matrix, order, dims);
  /* A transpose is there only for dimensions that have extents. */
  int64_t last = -1;
  bool ordered = true;
  for (int i = 0; i < shape->rank; i++) {
    moved[i] = shape->dims[order[i]];
    if (moved[i] == 1) continue;
    ordered &= order[i] > last;
    last = order[i];
  }
  halo_instr *value = vector->operand;
  if (!ordered) {
    value = halo_rewrite_make_listed(x->r, x->like, HALO_OP_TRANSPOSE,
                                     halo_shape_new(arena, shape->type, shape->rank, moved), value,
                                     HALO_ATTR_DIMENSIONS, order, shape->rank);
  }
  sizes[0] = vector->free_size;
  for (int i = 0; i < *rank; i++) sizes[i + 1] = matrix->operand->shape->dims[dims[i]];
  return halo_expand_reshape(x, value, *rank + 1, sizes);
}

/* Vector `i` of what is aligned. */
static halo_instr *vector_pick(halo_expander *x, halo_instr *aligned, int64_t i) {
  if (!aligned) return NULL;
  const halo_shape *shape = aligned->shape;
  if (shape->dims[0] == 1) return halo_expand_reshape(x, aligned, shape->rank - 1, shape->dims + 1);
  halo_instr *one = halo_expand_range(x, aligned, 0, i, i + 1);
  return halo_expand_reshape(x, one, shape->rank - 1, shape->dims + 1);
}

/* One vector's results, with a dimension of extent 1 for the number of the vector: at `place`, or last. */
static halo_instr *vector_row(halo_expander *x, halo_instr *sum, int64_t *place) {
  if (!sum) return NULL;
  int64_t dims[HALO_MAX_RANK + 1];
  int rank = sum->shape->rank;
  if (*place > rank) *place = rank;
  for (int d = 0; d < *place; d++) dims[d] = sum->shape->dims[d];
  dims[*place] = 1;
  for (int d = (int)*place; d < rank; d++) dims[d + 1] = sum->shape->dims[d];
  return halo_expand_reshape(x, sum, rank + 1, dims);
}

/* Whether panels of this matrix have to be packed, but not those of the vectors alone. */
static bool vector_is_packed(const halo_instr *dot, const vector_side *matrix, bool rows) {
  bool panels = halo_target_has_few_items(&dot->parent->module->target);
  if (!panels || !halo_type_is_complex(dot->shape->type)) return rows;
  return !rows || matrix->operand != dot->operands[0];
}

/* Whether dimensions that are kept lie between those that are added up: reductions have no kernel for that which is
 * faster than products, which read the matrix once. */
static bool vector_alternates(const vector_side *matrix) {
  const halo_shape *shape = matrix->operand->shape;
  int stretches = 0;
  bool before = false;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] == 1) continue;
    bool added = false;
    for (int32_t i = 0; i < matrix->contract_count; i++) added |= matrix->contract[i] == d;
    stretches += added && !before;
    before = added;
  }
  return stretches > 1;
}

/* Whether the sums are worth it: of several vectors only with a matrix that is read from memory. */
static bool vector_pays(const halo_instr *dot, const vector_side *vector,
                        const vector_side *matrix) {
  if (halo_dot_accumulator(dot->shape->type) == HALO_PRED || matrix->contract_count == 0 ||
      !vector_order_fits(matrix)) {
    return false;
  }
  const halo_shape *shape = matrix->operand->shape;
  /* The number of the vector is a dimension more. */
  if (shape->rank == HALO_MAX_RANK || dot->shape->rank == HALO_MAX_RANK) return false;
  int64_t elements = halo_shape_element_count(shape);
  if (vector->free_size == 1) return elements > 0;
  int64_t batches = 1;
  for (int32_t i = 0; i < matrix->batch_count; i++) batches *= shape->dims[matrix->batch[i]];
  if (elements < batches * VECTOR_LEAST) return false;
  int last = shape->rank - 1;
  while (last > 0 && shape->dims[last] == 1) last--;
  bool rows = false;
  for (int32_t i = 0; i < matrix->contract_count; i++) rows |= matrix->contract[i] == last;
  bool packed = vector_is_packed(dot, matrix, rows);
  if (rows && !packed) return false;
  return vector->free_size <= (rows ? VECTOR_ROWS_MOST : VECTOR_MOST) &&
         !vector_alternates(matrix) &&
         elements >= (packed ? VECTOR_ROWS_ELEMENTS : VECTOR_COLUMNS_ELEMENTS);
}

halo_instr *halo_expand_vector_product(halo_expander *x, halo_instr *dot) {
  if (dot->operand_count != 2 || halo_instr_attr(dot, HALO_ATTR_ALGORITHM)) return NULL;
  vector_side sides[2] = {vector_side_of(dot, 0), vector_side_of(dot, 1)};
  int v = sides[1].free_size <= sides[0].free_size;
  const vector_side *vector = &sides[v], *matrix = &sides[1 - v];
  if (!vector_pays(dot, vector, matrix)) return NULL;
  halo_type type = halo_dot_accumulator(dot->shape->type);
  int64_t dims[HALO_MAX_RANK], sums[HALO_MAX_RANK];
  int rank, sum_count = 0;
  for (int d = 0; d < matrix->operand->shape->rank; d++) {
    for (int32_t i = 0; i < matrix->contract_count; i++) {
      if (matrix->contract[i] == d) sums[sum_count++] = d;
    }
  }
  halo_instr *aligned =
      halo_expand_convert(x, vector_aligned(x, vector, matrix, dims, &rank), type);
  halo_instr *array = halo_expand_convert(x, matrix->operand, type), *results[VECTOR_MOST];
  int64_t place = v ? dot->shape->rank : vector->batch_count;
  for (int64_t i = 0; i < vector->free_size; i++) {
    halo_instr *spread =
        halo_expand_broadcast(x, vector_pick(x, aligned, i), dims, matrix->operand->shape);
    halo_instr *products = halo_expand_binary(x, HALO_OP_MULTIPLY, array, spread);
    halo_instr *sum = halo_expand_sum(x, products, sums, sum_count);
    results[i] = vector_row(x, halo_expand_convert(x, sum, dot->shape->type), &place);
  }
  halo_instr *all = halo_expand_join(x, results, (int32_t)vector->free_size, place);
  return halo_expand_reshape(x, all, dot->shape->rank, dot->shape->dims);
}

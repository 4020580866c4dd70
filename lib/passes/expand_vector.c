/* passes/expand_vector.c: products of a matrix and a vector as a multiplication and a sum: each element of
 * the matrix is used once, so that nothing is won by packing it or by tiles, and the kernels of
 * reductions read it where it lies, with what is fused before and behind. */
#include "hlo/dot.h"
#include "passes/expander.h"

#include <string.h>

/* One side of a dot. */
typedef struct vector_side {
  halo_instr *operand;
  const int64_t *batch, *contract;
  int32_t batch_count, contract_count;
  int64_t free_size;
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

static halo_instr *vector_convert(halo_expander *x, halo_instr *a, halo_type type) {
  if (!a || a->shape->type == type) return a;
  const halo_shape *shape =
      halo_shape_new(&x->r->computation->module->arena, type, a->shape->rank, a->shape->dims);
  return halo_rewrite_make_unary(x->r, x->like, HALO_OP_CONVERT, shape, a);
}

static halo_instr *vector_reshape(halo_expander *x, halo_instr *a, int rank, const int64_t *dims) {
  if (!a) return NULL;
  const halo_shape *shape =
      halo_shape_new(&x->r->computation->module->arena, a->shape->type, rank, dims);
  if (halo_shape_same_dims(a->shape, shape)) return a;
  return halo_rewrite_make_unary(x->r, x->like, HALO_OP_RESHAPE, shape, a);
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

/* The vector with its dimensions in the order in which the matrix has them; dims [its rank] are those of
 * the matrix. */
static halo_instr *vector_aligned(halo_expander *x, const vector_side *vector,
                                  const vector_side *matrix, int64_t *dims, int *rank) {
  halo_arena *arena = &x->r->computation->module->arena;
  int64_t from[HALO_MAX_RANK], permutation[HALO_MAX_RANK], sizes[HALO_MAX_RANK],
      moved[HALO_MAX_RANK];
  bool used[HALO_MAX_RANK] = {false};
  int count = 0;
  for (int d = 0; d < matrix->operand->shape->rank; d++) {
    int64_t source = -1;
    for (int32_t i = 0; i < matrix->batch_count; i++) {
      if (matrix->batch[i] == d) source = vector->batch[i];
    }
    for (int32_t i = 0; i < matrix->contract_count; i++) {
      if (matrix->contract[i] == d) source = vector->contract[i];
    }
    if (source < 0) continue;
    dims[count] = d;
    used[source] = true;
    sizes[count] = vector->operand->shape->dims[source];
    from[count++] = source;
  }
  *rank = count;
  /* A transpose is there only for dimensions that have extents. */
  int64_t last = -1;
  bool ordered = true;
  for (int i = 0; i < count; i++) {
    if (sizes[i] == 1) continue;
    ordered &= from[i] > last;
    last = from[i];
  }
  halo_instr *value = vector->operand;
  if (!ordered) {
    int total = value->shape->rank, next = count;
    memcpy(permutation, from, sizeof *from * (size_t)count);
    for (int d = 0; d < total; d++) {
      if (!used[d]) permutation[next++] = d;
    }
    for (int i = 0; i < total; i++) moved[i] = value->shape->dims[permutation[i]];
    value = halo_rewrite_make_listed(x->r, x->like, HALO_OP_TRANSPOSE,
                                     halo_shape_new(arena, value->shape->type, total, moved), value,
                                     HALO_ATTR_DIMENSIONS, permutation, total);
  }
  return vector_reshape(x, value, count, sizes);
}

halo_instr *halo_expand_vector_product(halo_expander *x, halo_instr *dot) {
  if (dot->operand_count != 2 || halo_instr_attr(dot, HALO_ATTR_ALGORITHM)) return NULL;
  vector_side sides[2] = {vector_side_of(dot, 0), vector_side_of(dot, 1)};
  int v = sides[1].free_size == 1;
  if (sides[v].free_size != 1) return NULL;
  const vector_side *vector = &sides[v], *matrix = &sides[1 - v];
  halo_type type = halo_dot_accumulator(dot->shape->type);
  if (type == HALO_PRED || halo_shape_element_count(matrix->operand->shape) == 0) return NULL;
  if (matrix->contract_count == 0 || !vector_order_fits(matrix)) return NULL;
  int64_t dims[HALO_MAX_RANK], sums[HALO_MAX_RANK];
  int rank, sum_count = 0;
  halo_instr *aligned = vector_aligned(x, vector, matrix, dims, &rank);
  aligned = vector_convert(x, aligned, type);
  halo_instr *array = vector_convert(x, matrix->operand, type);
  halo_instr *spread = halo_expand_broadcast(x, aligned, dims, array->shape);
  halo_instr *products = halo_expand_binary(x, HALO_OP_MULTIPLY, array, spread);
  for (int d = 0; d < matrix->operand->shape->rank; d++) {
    for (int32_t i = 0; i < matrix->contract_count; i++) {
      if (matrix->contract[i] == d) sums[sum_count++] = d;
    }
  }
  halo_instr *sum = halo_expand_sum(x, products, sums, sum_count);
  sum = vector_convert(x, sum, dot->shape->type);
  return vector_reshape(x, sum, dot->shape->rank, dot->shape->dims);
}

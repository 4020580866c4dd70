/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/index.c: walking dense row-major arrays. */
#include "evaluator/eval.h"

#include <string.h>

void eval_strides(int rank, const int64_t *dims, int64_t *strides) {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = stride;
    stride *= dims[d];
  }
}

int64_t eval_count(int rank, const int64_t *dims) {
  int64_t count = 1;
  for (int d = 0; d < rank; d++) count *= dims[d];
  return count;
}

bool eval_next(int rank, const int64_t *dims, int64_t *index) {
  for (int d = rank - 1; d >= 0; d--) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

void eval_move(size_t size, int rank, const int64_t *dims, char *to, const int64_t *to_strides,
               const char *from, const int64_t *from_strides) {
  if (eval_count(rank, dims) == 0) return;
  if (rank == 0) {
    memcpy(to, from, size);
    return;
  }
  int outer = rank - 1;
  int64_t inner = dims[outer], index[HALO_MAX_RANK] = {0};
  int64_t to_step = to_strides[outer] * (int64_t)size;
  int64_t from_step = from_strides[outer] * (int64_t)size;
  do {
    char *t = to + eval_offset(outer, index, to_strides) * (int64_t)size;
    const char *f = from + eval_offset(outer, index, from_strides) * (int64_t)size;
    for (int64_t i = 0; i < inner; i++) memcpy(t + i * to_step, f + i * from_step, size);
  } while (eval_next(outer, dims, index));
}

int64_t eval_clamped_index(const halo_literal *literal, int64_t i, int64_t most) {
  if (most <= 0) return 0;
  uint64_t bits = eval_get(literal, i).re;
  if (halo_type_is_sint(literal->shape->type) && (int64_t)bits < 0) return 0;
  return bits > (uint64_t)most ? most : (int64_t)bits;
}

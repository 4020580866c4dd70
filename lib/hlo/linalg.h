/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/linalg.h: what the attributes of triangular-solve say, and how large matrices are cut into blocks. */
#ifndef HALO_HLO_LINALG_H
#define HALO_HLO_LINALG_H

#include "halo/builder.h"
#include "hlo/hlo.h"

/* op(a) x = b, or x op(a) = b. */
typedef struct halo_solve_desc {
  const halo_shape *a, *b;
  bool left, lower, unit; /* as written: `lower` says which triangle of `a` itself is read */
  halo_matrix_op op;
  int64_t n,
      lines; /* a is n by n; b has so many columns, or rows where x stands on the left of a */
  /* Whether the unknowns of a line follow from each other in ascending order: op(a) is lower and stands on
   * the left, or upper and on the right. */
  bool ascending;
} halo_solve_desc;

static inline halo_solve_desc halo_solve_describe(const halo_instr *solve) {
  halo_solve_desc v = {.a = solve->operands[0]->shape, .b = solve->operands[1]->shape};
  v.left = halo_instr_bool(solve, HALO_ATTR_LEFT_SIDE, false);
  v.lower = halo_instr_bool(solve, HALO_ATTR_LOWER, false);
  v.unit = halo_instr_bool(solve, HALO_ATTR_UNIT_DIAGONAL, false);
  v.op = (halo_matrix_op)halo_instr_int(solve, HALO_ATTR_TRANSPOSE_A, HALO_NO_TRANSPOSE);
  v.n = v.a->dims[v.a->rank - 1];
  v.lines = v.b->dims[v.b->rank - (v.left ? 1 : 2)];
  v.ascending = v.lower == ((v.op == HALO_NO_TRANSPOSE) == v.left);
  return v;
}

/* The largest matrix of an element type that is factored, or solved with, in one piece on devices of many work
 * items: it lies in the local memory of a work group (16 KiB at most). Larger ones are written as several
 * operations (passes/expand/linalg.c). */
static inline int64_t halo_linalg_block(halo_type type) {
  return halo_type_size(type) <= 4 ? 64 : 32;
}

#endif

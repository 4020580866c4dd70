/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/linalg.c: factorisations and solutions with matrices that are larger than a block, as such of
 * halves and matrix products between them. */
#include "hlo/linalg.h"
#include "passes/expand/expand.h"

#include <math.h>

/* A part of a matrix: rows and columns `from` to `to` - 1 of the last two dimensions. */
typedef struct linalg_range {
  int64_t from, to;
} linalg_range;

static halo_instr *linalg_slice(halo_expander *x, halo_instr *a, linalg_range rows,
                                linalg_range columns) {
  if (!a) return NULL;
  int rank = a->shape->rank;
  int64_t list[3 * HALO_MAX_RANK];
  for (int d = 0; d < rank; d++) {
    bool row = d == rank - 2, column = d == rank - 1;
    list[3 * d] = row ? rows.from : column ? columns.from : 0;
    list[3 * d + 1] = row ? rows.to : column ? columns.to : a->shape->dims[d];
    list[3 * d + 2] = 1;
  }
  return halo_expand_slice(x, a, list);
}

/* Two parts next to each other along a dimension counted from the last. */
static halo_instr *linalg_join(halo_expander *x, halo_instr *a, halo_instr *b, int from_last) {
  if (!a || !b) return NULL;
  return halo_expand_join(x, (halo_instr *[]){a, b}, 2, a->shape->rank - 1 - from_last);
}

static halo_instr *linalg_conjugate(halo_expander *x, halo_instr *a) {
  if (!a || !halo_type_is_complex(a->shape->type)) return a;
  halo_instr *re = halo_expand_unary(x, HALO_OP_REAL, a),
             *im = halo_expand_unary(x, HALO_OP_IMAG, a);
  return halo_expand_binary(x, HALO_OP_COMPLEX, re, halo_expand_unary(x, HALO_OP_NEGATE, im));
}

/* c - op(a) op(b), matrix by matrix. */
static halo_instr *linalg_less(halo_expander *x, halo_instr *c, halo_instr *a, halo_matrix_op a_op,
                               halo_instr *b, halo_matrix_op b_op) {
  if (!a || !b) return NULL;
  if (a_op == HALO_ADJOINT) a = linalg_conjugate(x, a);
  if (b_op == HALO_ADJOINT) b = linalg_conjugate(x, b);
  if (!a || !b) return NULL;
  halo_module *module = x->r->computation->module;
  int rank = a->shape->rank;
  int64_t batch[HALO_MAX_RANK], lhs = a_op == HALO_NO_TRANSPOSE ? rank - 1 : rank - 2;
  int64_t rhs = b_op == HALO_NO_TRANSPOSE ? rank - 2 : rank - 1;
  for (int d = 0; d < rank - 2; d++) batch[d] = d;
  halo_attr attrs[4] = {
      halo_rewrite_list_attr(module, HALO_ATTR_LHS_CONTRACTING_DIMS, &lhs, 1),
      halo_rewrite_list_attr(module, HALO_ATTR_RHS_CONTRACTING_DIMS, &rhs, 1),
      halo_rewrite_list_attr(module, HALO_ATTR_LHS_BATCH_DIMS, batch, rank - 2),
      halo_rewrite_list_attr(module, HALO_ATTR_RHS_BATCH_DIMS, batch, rank - 2),
  };
  halo_instr *product =
      halo_expand_op(x, HALO_OP_DOT, (halo_instr *[]){a, b}, 2, attrs, rank > 2 ? 4 : 2);
  return halo_expand_binary(x, HALO_OP_SUBTRACT, c, product);
}

/* Whether one work item is a small part of the device. */
static bool linalg_has_many_items(const halo_expander *x) {
  return !halo_target_has_few_items(&x->r->computation->module->target);
}

/* Where a matrix is cut: half of as many equal blocks as it takes. */
static int64_t linalg_cut(int64_t n, int64_t block) {
  int64_t blocks = (n + block - 1) / block, each = (n + blocks - 1) / blocks;
  return blocks / 2 * each;
}

/* ---- Triangular solve ---- */

/* One work item solves a line from its first unknown to its last: that is for devices of which one work item
 * is a good part, where it is as fast as blocks with products between them, and compiled in a tenth of the time. Of complex
 * lines there is one a strip, so that products are twice to four times as fast (CPU_SHARED). */
static bool linalg_is_split(const halo_expander *x, const halo_shape *a, int64_t lines) {
  enum { CPU_BLOCKS = 64, CPU_SHARED_BLOCKS = 4, CPU_SHARED = 4 };
  int64_t n = a->dims[a->rank - 1], blocks = CPU_BLOCKS;
  if (halo_type_is_complex(a->type) && lines > CPU_SHARED) blocks = CPU_SHARED_BLOCKS;
  if (linalg_has_many_items(x)) blocks = 1;
  /* Each unknown takes a round for each one before it, some unknowns at a time. */
  uint64_t rounds = x->r->computation->module->target.max_rounds;
  if (rounds && (uint64_t)n * (uint64_t)n / 4 > rounds) blocks = 1;
  return n > blocks * halo_linalg_block(a->type);
}

static halo_instr *linalg_solve(halo_expander *x, halo_instr *a, halo_instr *b,
                                const halo_solve_desc *v) {
  if (!a || !b) return NULL;
  if (!linalg_is_split(x, a->shape, v->lines)) {
    halo_attr attrs[4] = {
        {.id = HALO_ATTR_LEFT_SIDE, .i = v->left},
        {.id = HALO_ATTR_LOWER, .i = v->lower},
        {.id = HALO_ATTR_UNIT_DIAGONAL, .i = v->unit},
        {.id = HALO_ATTR_TRANSPOSE_A, .i = v->op},
    };
    return halo_expand_op(x, HALO_OP_TRIANGULAR_SOLVE, (halo_instr *[]){a, b}, 2, attrs, 4);
  }
  int64_t n = a->shape->dims[a->shape->rank - 1];
  int64_t cut = linalg_cut(n, halo_linalg_block(a->shape->type));
  linalg_range half[2] = {{0, cut}, {cut, n}}, all = {0, v->lines};
  int first = v->ascending ? 0 : 1, last = 1 - first;
  halo_instr *part[2], *solved[2];
  for (int h = 0; h < 2; h++) {
    part[h] = v->left ? linalg_slice(x, b, half[h], all) : linalg_slice(x, b, all, half[h]);
  }
  solved[first] = linalg_solve(x, linalg_slice(x, a, half[first], half[first]), part[first], v);
  halo_instr *side = linalg_slice(x, a, half[v->lower ? 1 : 0], half[v->lower ? 0 : 1]);
  part[last] = v->left ? linalg_less(x, part[last], side, v->op, solved[first], HALO_NO_TRANSPOSE)
                       : linalg_less(x, part[last], solved[first], HALO_NO_TRANSPOSE, side, v->op);
  solved[last] = linalg_solve(x, linalg_slice(x, a, half[last], half[last]), part[last], v);
  return linalg_join(x, solved[0], solved[1], v->left ? 1 : 0);
}

halo_instr *halo_expand_triangular_solve(halo_expander *x, halo_instr *instr) {
  halo_solve_desc v = halo_solve_describe(instr);
  if (!linalg_is_split(x, instr->operands[0]->shape, v.lines)) return NULL;
  return linalg_solve(x, instr->operands[0], instr->operands[1], &v);
}

/* ---- Cholesky ---- */

/* The factor of `a`, and the corner of its other triangle: 0, or NaN where a matrix has none. */
static halo_instr *linalg_factor(halo_expander *x, halo_instr *a, bool lower, halo_instr **corner) {
  if (!a) return NULL;
  int64_t n = a->shape->dims[a->shape->rank - 1], block = halo_linalg_block(a->shape->type);
  if (n <= block) {
    halo_attr attr = {.id = HALO_ATTR_LOWER, .i = lower};
    halo_instr *factor = halo_expand_op(x, HALO_OP_CHOLESKY, &a, 1, &attr, 1);
    linalg_range first = {0, 1}, last = {n - 1, n};
    *corner = linalg_slice(x, factor, lower ? first : last, lower ? last : first);
    return factor;
  }
  int64_t cut = linalg_cut(n, block);
  linalg_range one = {0, cut}, two = {cut, n};
  halo_instr *l11 = linalg_factor(x, linalg_slice(x, a, one, one), lower, corner);
  halo_instr *side = lower ? linalg_slice(x, a, two, one) : linalg_slice(x, a, one, two);
  /* l21 l11^H = a21, or u11^H u12 = a12 */
  halo_solve_desc v = {.left = !lower, .lower = lower, .op = HALO_ADJOINT, .lines = n - cut};
  v.ascending = true;
  side = linalg_solve(x, l11, side, &v);
  halo_instr *rest = linalg_slice(x, a, two, two);
  rest = lower ? linalg_less(x, rest, side, HALO_NO_TRANSPOSE, side, HALO_ADJOINT)
               : linalg_less(x, rest, side, HALO_ADJOINT, side, HALO_NO_TRANSPOSE);
  halo_instr *l22 = linalg_factor(x, rest, lower, corner);
  if (!side || !l22) return NULL;
  halo_instr *zero = halo_expand_scalar(x, a->shape->type, 0);
  halo_instr *other = linalg_slice(x, a, lower ? one : two, lower ? two : one);
  if (!other) return NULL;
  zero = halo_expand_splat(x, zero, other->shape);
  halo_instr *top = linalg_join(x, l11, lower ? zero : side, 0);
  return linalg_join(x, top, linalg_join(x, lower ? side : zero, l22, 0), 1);
}

/* A matrix of one element has the root of its real part. */
static halo_instr *linalg_root(halo_expander *x, halo_instr *a) {
  if (!halo_type_is_complex(a->shape->type)) return halo_expand_unary(x, HALO_OP_SQRT, a);
  halo_instr *root = halo_expand_unary(x, HALO_OP_SQRT, halo_expand_unary(x, HALO_OP_REAL, a));
  if (!root) return NULL;
  halo_instr *zero = halo_expand_scalar(x, root->shape->type, 0);
  return halo_expand_binary(x, HALO_OP_COMPLEX, root, halo_expand_splat(x, zero, root->shape));
}

/* A matrix without a factor becomes NaN altogether. NaN in a block reaches the last one by the solutions and
 * products between, and that one the corner. */
halo_instr *halo_expand_cholesky(halo_expander *x, halo_instr *instr) {
  halo_instr *a = instr->operands[0], *corner = NULL;
  int rank = a->shape->rank;
  int64_t n = a->shape->dims[rank - 1], dims[HALO_MAX_RANK];
  if (n == 1) return linalg_root(x, a);
  if (!linalg_has_many_items(x) || n <= halo_linalg_block(a->shape->type)) return NULL;
  bool lower = halo_instr_bool(instr, HALO_ATTR_LOWER, false);
  halo_instr *factor = linalg_factor(x, a, lower, &corner);
  halo_module *module = x->r->computation->module;
  const halo_shape *batch =
      halo_shape_new(&module->arena, a->shape->type, rank - 2, a->shape->dims);
  if (!factor || !corner) return NULL;
  corner = halo_rewrite_make_unary(x->r, instr, HALO_OP_RESHAPE, batch, corner);
  halo_instr *fails = halo_expand_compare(x, corner, HALO_NE, corner);
  for (int d = 0; d < rank - 2; d++) dims[d] = d;
  fails = halo_expand_broadcast(x, fails, dims, a->shape);
  halo_instr *nan = halo_expand_scalar(x, a->shape->type, NAN);
  nan = halo_expand_splat(x, nan, a->shape);
  return halo_expand_select(x, fails, nan, factor);
}

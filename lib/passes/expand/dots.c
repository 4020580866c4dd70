/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/dots.c: ragged-dot and scaled-dot as dot. */
#include "passes/expand/expand.h"

#include <string.h>

/* ---- What both need ---- */

static halo_attr dots_list(halo_expander *x, halo_attr_id id, const int64_t *list, int32_t count) {
  return halo_rewrite_list_attr(x->r->computation->module, id, list, count);
}

static const halo_shape *dots_shape(halo_expander *x, halo_type type, int rank,
                                    const int64_t *dims) {
  return halo_shape_new(&x->r->computation->module->arena, type, rank, dims);
}

/* A dot of this shape, by the lists of the instruction that is expanded, with `add` added to the numbers of
 * lhs dimensions, and one more pair of contracting dimensions where `rhs_extra` is one: 0 of lhs and that. */
static halo_instr *dots_dot(halo_expander *x, halo_instr *lhs, halo_instr *rhs,
                            const halo_shape *shape, int64_t add, int64_t rhs_extra) {
  static const halo_attr_id lists[] = {HALO_ATTR_LHS_BATCH_DIMS, HALO_ATTR_LHS_CONTRACTING_DIMS,
                                       HALO_ATTR_RHS_BATCH_DIMS, HALO_ATTR_RHS_CONTRACTING_DIMS};
  static const halo_attr_id kept[] = {HALO_ATTR_OPERAND_PRECISION, HALO_ATTR_ALGORITHM};
  halo_attr attrs[6];
  int32_t attr_count = 0;
  if (!lhs || !rhs) return NULL;
  for (int i = 0; i < 4; i++) {
    int64_t dims[HALO_MAX_RANK + 1];
    int32_t count;
    const int64_t *given = halo_instr_ints(x->like, lists[i], &count);
    for (int32_t k = 0; k < count; k++) dims[k] = given[k] + (i < 2 ? add : 0);
    bool contracting = i % 2 == 1;
    if (contracting && rhs_extra >= 0) dims[count++] = i == 1 ? 0 : rhs_extra;
    if (count || contracting) attrs[attr_count++] = dots_list(x, lists[i], dims, count);
  }
  for (int i = 0; i < 2; i++) {
    const halo_attr *attr = halo_instr_attr(x->like, kept[i]);
    if (attr) attrs[attr_count++] = *attr;
  }
  halo_instr *operands[] = {lhs, rhs};
  return halo_rewrite_make(x->r, x->like, HALO_OP_DOT, shape, operands, 2, attrs, attr_count);
}

/* ---- Ragged ---- */

typedef struct ragged_parts {
  halo_expander *x;
  halo_instr *lhs, *sizes;
  int64_t ragged, groups;
  bool contracting, batch;
  const halo_shape *spread; /* [groups, lhs...], of the group sizes' type */
} ragged_parts;

static bool ragged_lists(const halo_instr *instr, halo_attr_id id, int64_t dim) {
  int32_t count;
  const int64_t *list = halo_instr_ints(instr, id, &count);
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == dim) return true;
  }
  return false;
}

/* Where groups end: [.., g] sums of the sizes so far. */
static halo_instr *ragged_ends(const ragged_parts *p) {
  halo_expander *x = p->x;
  const halo_shape *sizes = p->sizes->shape;
  int64_t dims[HALO_MAX_RANK + 1], map[HALO_MAX_RANK];
  int rank = sizes->rank;
  if (rank + 1 > HALO_MAX_RANK) return NULL;
  memcpy(dims, sizes->dims, sizeof *dims * (size_t)rank);
  dims[rank] = p->groups; /* of which are added up */
  for (int d = 0; d < rank; d++) map[d] = d == rank - 1 ? rank : d;
  const halo_shape *square = dots_shape(x, sizes->type, rank + 1, dims);
  halo_instr *all = halo_expand_broadcast(x, p->sizes, map, square);
  halo_instr *so_far = halo_expand_compare(x, halo_expand_iota(x, square, rank), HALO_LE,
                                           halo_expand_iota(x, square, rank - 1));
  halo_instr *none =
      halo_expand_splat(x, halo_rewrite_make_scalar(x->r, x->like, sizes->type, 0), square);
  halo_instr *counted = halo_expand_select(x, so_far, all, none);
  const int64_t last = rank;
  return halo_expand_sum(x, counted, &last, 1);
}

/* An array by [.., g] as one by [g, lhs...]: leading dimensions are the lhs dimensions that go with the ragged
 * one, batch ones first. */
static halo_instr *ragged_spread(const ragged_parts *p, halo_instr *by_group) {
  int64_t map[HALO_MAX_RANK];
  int32_t count = 0, batch_count;
  if (!by_group) return NULL;
  if (by_group->shape->rank > 1) {
    const int64_t *batch = halo_instr_ints(p->x->like, HALO_ATTR_LHS_BATCH_DIMS, &batch_count);
    for (int32_t i = 0; i < batch_count; i++) map[count++] = batch[i] + 1;
    for (int64_t d = 0; d < p->ragged; d++) {
      bool is_batch = ragged_lists(p->x->like, HALO_ATTR_LHS_BATCH_DIMS, d);
      bool contracted = ragged_lists(p->x->like, HALO_ATTR_LHS_CONTRACTING_DIMS, d);
      if (!is_batch && contracted == p->contracting) map[count++] = d + 1;
    }
  }
  map[count] = 0;
  return halo_expand_broadcast(p->x, by_group, map, p->spread);
}

/* lhs once for each group, 0 outside of the group. */
static halo_instr *ragged_masked(const ragged_parts *p) {
  halo_expander *x = p->x;
  const halo_shape *lhs = p->lhs->shape;
  halo_instr *ends = ragged_ends(p);
  if (!ends) return NULL;
  halo_instr *starts = halo_expand_binary(x, HALO_OP_SUBTRACT, ends, p->sizes);
  halo_instr *at = halo_expand_iota(x, p->spread, p->ragged + 1);
  halo_instr *behind = halo_expand_compare(x, at, HALO_GE, ragged_spread(p, starts));
  halo_instr *before = halo_expand_compare(x, at, HALO_LT, ragged_spread(p, ends));
  halo_instr *inside = halo_expand_binary(x, HALO_OP_AND, behind, before);
  int64_t map[HALO_MAX_RANK];
  for (int d = 0; d < lhs->rank; d++) map[d] = d + 1;
  halo_instr *copies = halo_expand_broadcast(x, p->lhs, map, p->spread);
  halo_instr *zero =
      halo_expand_splat(x, halo_rewrite_make_scalar(x->r, x->like, lhs->type, 0), p->spread);
  return halo_expand_select(x, inside, copies, zero);
}

/* The groups of a contracted dimension number results, which come before the batch. */
static halo_instr *ragged_by_group(halo_expander *x, halo_instr *masked, halo_instr *rhs,
                                   const halo_shape *shape) {
  int32_t batch;
  (void)halo_instr_ints(x->like, HALO_ATTR_LHS_BATCH_DIMS, &batch);
  int64_t dims[HALO_MAX_RANK], order[HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    dims[d] = d < batch ? shape->dims[d + 1] : d == batch ? shape->dims[0] : shape->dims[d];
    order[d] = d == 0 ? batch : d <= batch ? d - 1 : d;
  }
  halo_instr *dot = dots_dot(x, masked, rhs, dots_shape(x, shape->type, shape->rank, dims), 1, -1);
  halo_attr attr = dots_list(x, HALO_ATTR_DIMENSIONS, order, shape->rank);
  return dot ? halo_expand_op(x, HALO_OP_TRANSPOSE, &dot, 1, &attr, 1) : NULL;
}

halo_instr *halo_expand_ragged_dot(halo_expander *x, halo_instr *instr) {
  int32_t count;
  ragged_parts p = {.x = x, .lhs = instr->operands[0], .sizes = instr->operands[2]};
  halo_instr *rhs = instr->operands[1];
  const halo_shape *lhs = p.lhs->shape;
  const halo_shape *shape =
      halo_shape_with_default_layout(&x->r->computation->module->arena, instr->shape);
  p.ragged = halo_instr_ints(instr, HALO_ATTR_LHS_RAGGED_DIMS, &count)[0];
  p.groups = p.sizes->shape->dims[p.sizes->shape->rank - 1];
  p.contracting = ragged_lists(instr, HALO_ATTR_LHS_CONTRACTING_DIMS, p.ragged);
  p.batch = ragged_lists(instr, HALO_ATTR_LHS_BATCH_DIMS, p.ragged);
  if (p.batch) return dots_dot(x, p.lhs, rhs, shape, 0, -1);
  if (lhs->rank + 1 > HALO_MAX_RANK) return NULL;
  int64_t dims[HALO_MAX_RANK + 1] = {p.groups};
  for (int d = 0; d < lhs->rank; d++) dims[d + 1] = lhs->dims[d];
  p.spread = dots_shape(x, p.sizes->shape->type, lhs->rank + 1, dims);
  halo_instr *masked = ragged_masked(&p);
  if (p.contracting) return ragged_by_group(x, masked, rhs, shape);
  int64_t group = halo_instr_ints(instr, HALO_ATTR_RHS_GROUP_DIMS, &count)[0];
  return dots_dot(x, masked, rhs, shape, 1, group);
}

/* ---- Scaled ---- */

/* What a side is multiplied in: narrow ones in bf16, which holds their products with powers of two. */
static halo_type scaled_type(halo_type value, halo_type scale) {
  int a = halo_type_bits(value), b = halo_type_bits(scale);
  if (a < 16 && b < 16) return HALO_BF16;
  if (value == scale) return value;
  return a == b ? HALO_F32 : a > b ? value : scale;
}

/* A scale of a block for each of its elements. */
static halo_instr *scaled_spread(halo_expander *x, halo_instr *scale, const halo_shape *like) {
  int64_t dims[HALO_MAX_RANK], map[HALO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < like->rank; d++) {
    int64_t blocks = scale->shape->dims[d];
    bool whole = blocks == like->dims[d];
    if (rank + 2 > HALO_MAX_RANK) return NULL;
    map[d] = rank;
    dims[rank++] = blocks;
    if (!whole) dims[rank++] = like->dims[d] / blocks;
  }
  const halo_shape *split = dots_shape(x, scale->shape->type, rank, dims);
  halo_instr *blocks = halo_expand_broadcast(x, scale, map, split);
  return halo_rewrite_make_unary(x->r, x->like, HALO_OP_RESHAPE,
                                 dots_shape(x, scale->shape->type, like->rank, like->dims), blocks);
}

static halo_instr *scaled_side(halo_expander *x, halo_instr *value, halo_instr *scale) {
  if (scale->shape->rank == 0) return value; /* stands for no scale, whatever it holds */
  halo_type type = scaled_type(value->shape->type, scale->shape->type);
  halo_instr *spread = scaled_spread(x, halo_expand_convert(x, scale, type), value->shape);
  if (!spread) return NULL;
  return halo_expand_binary(x, HALO_OP_MULTIPLY, halo_expand_convert(x, value, type), spread);
}

halo_instr *halo_expand_scaled_dot(halo_expander *x, halo_instr *instr) {
  const halo_shape *shape =
      halo_shape_with_default_layout(&x->r->computation->module->arena, instr->shape);
  halo_instr *lhs = scaled_side(x, instr->operands[0], instr->operands[2]);
  halo_instr *rhs = scaled_side(x, instr->operands[1], instr->operands[3]);
  return dots_dot(x, lhs, rhs, shape, 0, -1);
}

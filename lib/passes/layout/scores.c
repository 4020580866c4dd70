/* SPDX-License-Identifier: Apache-2.0 */
/* passes/layout/scores.c: scores that are transposed between two products, as those of attention with shared heads are: rows
 * change places, and what is done to them is elementwise or along rows. It is done to the rows where they are, and
 * the second product, which reads its operands in any order, gives its result another order instead. */
#include "base/memory.h"
#include "base/pointer_map.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

#include <string.h>

/* An instruction as the transpose of another: its dimension d is dimension order[d] of that. */
typedef struct scores_view {
  int64_t order[HALO_MAX_RANK];
  bool of_rows; /* a number a row, what a reduction gives */
  bool kept;    /* of the one that stands for all that are connected: something else wants them */
  struct scores_view *one; /* itself, or another that is connected with it */
} scores_view;

typedef struct scores_state {
  halo_rewriter r;
  halo_pointer_map views;    /* instruction -> its view */
  halo_pointer_map products; /* products, and what is made of them elementwise */
  const halo_instr *first;   /* that was found to be a transpose */
  halo_arena *arena;
} scores_state;

static scores_view *scores_one(scores_view *view) {
  while (view->one != view) view = view->one = view->one->one;
  return view;
}

static void scores_connect(scores_view *a, scores_view *b) {
  a = scores_one(a);
  b = scores_one(b);
  a->kept |= b->kept;
  b->one = a;
}

static scores_view *scores_of(const scores_state *s, const halo_instr *instr) {
  return halo_pointer_map_get(&s->views, instr);
}

static scores_view *scores_note(scores_state *s, const halo_instr *instr, const int64_t *order,
                                bool of_rows) {
  scores_view *view = halo_arena_new(s->arena, scores_view);
  memcpy(view->order, order, sizeof *order * (size_t)instr->shape->rank);
  view->of_rows = of_rows;
  view->one = view;
  halo_pointer_map_set(&s->views, instr, view);
  return view;
}

static bool scores_is_product(const halo_instr *instr) {
  return instr->opcode == HALO_OP_DOT && instr->operand_count == 2;
}

/* ---- Which ---- */

static const halo_attr_id scores_attrs[2][2] = {
    {HALO_ATTR_LHS_BATCH_DIMS, HALO_ATTR_LHS_CONTRACTING_DIMS},
    {HALO_ATTR_RHS_BATCH_DIMS, HALO_ATTR_RHS_CONTRACTING_DIMS}};

/* The dimensions of a product's operand that are neither of batches nor summed over, ascending; *first is where
 * they lie in the result. */
static int32_t scores_free(const halo_instr *dot, int side, int64_t *free, int32_t *first) {
  bool used[HALO_MAX_RANK] = {false};
  int32_t count, batches, rank = dot->operands[side]->shape->rank, next = 0;
  for (int k = 0; k < 2; k++) {
    const int64_t *dims = halo_instr_ints(dot, scores_attrs[side][k], &count);
    for (int32_t i = 0; i < count; i++) used[dims[i]] = true;
  }
  for (int32_t d = 0; d < rank; d++) {
    if (!used[d]) free[next++] = d;
  }
  halo_instr_ints(dot, HALO_ATTR_LHS_BATCH_DIMS, &batches);
  *first = side == 0 ? batches : dot->shape->rank - next;
  return next;
}

/* The side of a product whose transpose transposes the result by `order`; -1: there is none. */
static int scores_side(const halo_instr *dot, const int64_t *order) {
  for (int side = 0; side < 2; side++) {
    int64_t free[HALO_MAX_RANK];
    int32_t first, count = scores_free(dot, side, free, &first);
    bool fits = true;
    for (int32_t d = 0; d < dot->shape->rank; d++) {
      bool within = d >= first && d < first + count;
      fits &= within ? order[d] >= first && order[d] < first + count : order[d] == d;
    }
    if (fits) return side;
  }
  return -1;
}

static void scores_invert(const int64_t *order, int rank, int64_t *out) {
  for (int d = 0; d < rank; d++) out[order[d]] = d;
}

/* The order of dimensions that is left of `order` when what was done before `last` is to be the same. */
static void scores_rest(const int64_t *order, const int64_t *last, int rank, int64_t *out) {
  int64_t inverse[HALO_MAX_RANK];
  scores_invert(last, rank, inverse);
  for (int d = 0; d < rank; d++) out[d] = order[inverse[d]];
}

/* A transpose of a product, or of what is made of one, after which rows are still rows. */
static void scores_find_transpose(scores_state *s, const halo_instr *instr) {
  int32_t rank;
  const int64_t *order = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &rank);
  const scores_view *before = scores_of(s, instr->operands[0]);
  int64_t all[HALO_MAX_RANK];
  if (rank < 3 || order[rank - 1] != rank - 1 || (before && before->of_rows)) return;
  if (!before && !halo_pointer_map_get(&s->products, instr->operands[0])) return;
  for (int32_t d = 0; d < rank; d++) all[d] = before ? before->order[order[d]] : order[d];
  /* What meets others in the same place has to be transposed as they are: the product gives the rest. */
  if (s->first && scores_is_product(instr->operands[0]) &&
      halo_shape_same_dims(instr->shape, s->first->shape)) {
    int64_t rest[HALO_MAX_RANK];
    const int64_t *last = scores_of(s, s->first)->order;
    scores_rest(order, last, rank, rest);
    if (scores_side(instr->operands[0], rest) >= 0) memcpy(all, last, sizeof all);
  }
  scores_view *view = scores_note(s, instr, all, false);
  if (before) scores_connect(view, scores_of(s, instr->operands[0]));
  if (!s->first) s->first = instr;
}

static void scores_find_elementwise(scores_state *s, const halo_instr *instr) {
  scores_view *first = NULL;
  bool all = true, product = false;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    const halo_instr *operand = instr->operands[o];
    scores_view *view = scores_of(s, operand);
    product |= halo_pointer_map_get(&s->products, operand) != NULL;
    if (view && !first) first = view;
    bool same = view && memcmp(view->order, first->order,
                               sizeof *view->order * (size_t)instr->shape->rank) == 0;
    all &= same || (!view && operand->opcode == HALO_OP_BROADCAST);
    all &= halo_shape_same_dims(operand->shape, instr->shape);
  }
  if (!first && product) halo_pointer_map_set(&s->products, instr, (void *)instr);
  if (!first || !all) return;
  scores_view *view = scores_note(s, instr, first->order, first->of_rows);
  for (int32_t o = 0; o < instr->operand_count; o++) {
    scores_view *operand = scores_of(s, instr->operands[o]);
    if (operand) scores_connect(view, operand);
  }
}

/* A number a row, and that with a dimension of 1 behind it or without. */
static void scores_find_rows(scores_state *s, const halo_instr *instr) {
  scores_view *from = scores_of(s, instr->operands[0]);
  if (!from) return;
  const halo_shape *shape = instr->operands[0]->shape;
  if (instr->opcode == HALO_OP_REDUCE) {
    int32_t count;
    const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
    if (instr->operand_count != 2 || from->of_rows || count != 1 || dims[0] != shape->rank - 1) {
      return;
    }
  } else {
    int32_t more = instr->shape->rank - shape->rank;
    int32_t least = more > 0 ? shape->rank : instr->shape->rank;
    if (!from->of_rows || (more != 1 && more != -1)) return;
    for (int32_t d = 0; d < least; d++) {
      if (shape->dims[d] != instr->shape->dims[d]) return;
    }
    if (more < 0 && from->order[shape->rank - 1] != shape->rank - 1) return;
  }
  int64_t order[HALO_MAX_RANK];
  memcpy(order, from->order, sizeof order);
  if (instr->shape->rank > shape->rank) order[shape->rank] = shape->rank;
  scores_connect(scores_note(s, instr, order, true), from);
}

static void scores_find(scores_state *s, const halo_instr *instr) {
  if (!halo_shape_is_array(instr->shape) || halo_rewrite_pinned(instr)) return;
  if (scores_is_product(instr)) {
    halo_pointer_map_set(&s->products, instr, (void *)instr);
  } else if (instr->opcode == HALO_OP_TRANSPOSE) {
    scores_find_transpose(s, instr);
  } else if (instr->opcode == HALO_OP_REDUCE || instr->opcode == HALO_OP_RESHAPE) {
    scores_find_rows(s, instr);
  } else if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW)) {
    scores_find_elementwise(s, instr);
  }
}

/* Whoever is neither a product nor in the same place wants them as they are. */
static void scores_find_others(const scores_state *s, const halo_computation *c) {
  for (int32_t i = 0; i < c->instrs.count; i++) {
    const halo_instr *instr = c->instrs.data[i];
    for (int32_t o = 0; o < instr->operand_count; o++) {
      scores_view *view = scores_of(s, instr->operands[o]);
      if (!view || view->of_rows || scores_is_product(instr) || scores_of(s, instr)) continue;
      scores_one(view)->kept = true;
    }
  }
  scores_view *root = scores_of(s, c->root);
  if (root) scores_one(root)->kept = true;
}

/* ---- Instead ---- */

static const halo_shape *scores_shape(const scores_state *s, const halo_instr *instr,
                                      halo_type type, const int64_t *order) {
  int64_t dims[HALO_MAX_RANK];
  for (int d = 0; d < instr->shape->rank; d++) dims[d] = instr->shape->dims[order[d]];
  return halo_shape_new(s->arena, type, instr->shape->rank, dims);
}

/* Dimension d of the result is dimension order[d] of `instr`; of transposes one is left, or none. */
static halo_instr *scores_transpose(scores_state *s, halo_instr *instr, const int64_t *order) {
  const halo_shape *shape = scores_shape(s, instr, instr->shape->type, order);
  int64_t all[HALO_MAX_RANK];
  bool same = true;
  int32_t rank = instr->shape->rank;
  const int64_t *before = NULL;
  if (instr->opcode == HALO_OP_TRANSPOSE) {
    before = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &rank);
  }
  for (int32_t d = 0; d < rank; d++) {
    all[d] = before ? before[order[d]] : order[d];
    same &= all[d] == d;
  }
  halo_instr *from = before ? halo_rewrite_resolve(instr->operands[0]) : instr;
  if (same) return from;
  return halo_rewrite_make_listed(&s->r, instr, HALO_OP_TRANSPOSE, shape, from,
                                  HALO_ATTR_DIMENSIONS, all, rank);
}

/* A broadcast's result in the order of dimensions that is transposed by `order`: that of its operand, if
 * need be transposed, so that its dimensions are ascending. */
static halo_instr *scores_broadcast(scores_state *s, const halo_instr *broadcast,
                                    const int64_t *order) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(broadcast, HALO_ATTR_DIMENSIONS, &count);
  int64_t inverse[HALO_MAX_RANK], at[HALO_MAX_RANK], from[HALO_MAX_RANK];
  for (int32_t j = 0; j < count; j++) {
    int32_t i = j;
    for (; i > 0 && at[i - 1] > order[dims[j]]; i--) {
      at[i] = at[i - 1];
      from[i] = from[i - 1];
    }
    at[i] = order[dims[j]];
    from[i] = j;
  }
  scores_invert(order, broadcast->shape->rank, inverse);
  halo_instr *operand = halo_rewrite_resolve(broadcast->operands[0]);
  if (count > 0) operand = scores_transpose(s, operand, from);
  return halo_rewrite_make_listed(&s->r, broadcast, HALO_OP_BROADCAST,
                                  scores_shape(s, broadcast, broadcast->shape->type, inverse),
                                  operand, HALO_ATTR_DIMENSIONS, at, count);
}

/* What is computed where rows were, and the transpose of it in this one's place. */
static void scores_move(scores_state *s, halo_instr *instr, const scores_view *view) {
  int64_t inverse[HALO_MAX_RANK], operand_inverse[HALO_MAX_RANK];
  int rank = instr->shape->rank;
  scores_invert(view->order, rank, inverse);
  const halo_shape *shape = scores_shape(s, instr, instr->shape->type, inverse);
  halo_instr **operands = halo_arena_array(s->arena, halo_instr *, instr->operand_count);
  bool along = instr->opcode == HALO_OP_REDUCE || instr->opcode == HALO_OP_RESHAPE;
  int64_t order[HALO_MAX_RANK];
  memcpy(order, view->order, sizeof order);
  int before = instr->operands[0]->shape->rank;
  if (along && before > rank) order[rank] = rank;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    halo_instr *operand = instr->operands[o];
    bool scalar = along && o > 0;
    bool spread = operand->opcode == HALO_OP_BROADCAST && !along;
    scores_invert(order, scalar ? 0 : operand->shape->rank, operand_inverse);
    operands[o] = scalar   ? operand
                  : spread ? scores_broadcast(s, operand, view->order)
                           : scores_transpose(s, operand, operand_inverse);
  }
  halo_instr *made = halo_rewrite_make(&s->r, instr, instr->opcode, shape, operands,
                                       instr->operand_count, instr->attrs, instr->attr_count);
  halo_rewrite_replace(&s->r, instr, scores_transpose(s, made, view->order));
}

/* A product with operand `side` as it is before its transpose; its result is transposed instead, where that makes
 * another order of what is left of the operand. */
static halo_instr *scores_fold(scores_state *s, halo_instr *dot, int side) {
  const halo_instr *transpose = dot->operands[side];
  int32_t rank;
  const int64_t *order = halo_instr_ints(transpose, HALO_ATTR_DIMENSIONS, &rank);
  halo_instr *operands[2] = {dot->operands[0], dot->operands[1]};
  operands[side] = halo_rewrite_resolve(transpose->operands[0]);
  halo_instr *made = halo_rewrite_make(&s->r, dot, HALO_OP_DOT, dot->shape, operands, 2, dot->attrs,
                                       dot->attr_count);
  for (int k = 0; k < 2; k++) {
    int32_t count;
    const int64_t *dims = halo_instr_ints(dot, scores_attrs[side][k], &count);
    int64_t mapped[HALO_MAX_RANK];
    for (int32_t i = 0; i < count; i++) mapped[i] = order[dims[i]];
    halo_attr attr =
        halo_rewrite_list_attr(s->r.computation->module, scores_attrs[side][k], mapped, count);
    if (count > 0) halo_instr_set_attr(made, &attr);
  }
  /* The free dimensions of this side, which lie behind one another in the result, by where they are now. */
  int64_t free[HALO_MAX_RANK], result[HALO_MAX_RANK], inverse[HALO_MAX_RANK];
  int32_t first, all = dot->shape->rank, count = scores_free(dot, side, free, &first);
  for (int32_t i = 0; i < count; i++) free[i] = order[free[i]];
  for (int32_t d = 0; d < all; d++) result[d] = d;
  for (int32_t i = 0; i < count; i++) {
    int32_t place = 0;
    for (int32_t j = 0; j < count; j++) place += free[j] < free[i];
    result[first + i] = first + place;
  }
  scores_invert(result, all, inverse);
  made->shape = scores_shape(s, dot, dot->shape->type, inverse);
  return scores_transpose(s, made, result);
}

/* A transpose whose operand was one before, or which is to be another. */
static void scores_again(scores_state *s, halo_instr *instr, const scores_view *view) {
  const int64_t *order = halo_instr_attr(instr, HALO_ATTR_DIMENSIONS)->ints.data;
  halo_instr *from = instr->operands[0];
  if (from->opcode == HALO_OP_TRANSPOSE) {
    halo_rewrite_replace(&s->r, instr, scores_transpose(s, from, order));
    return;
  }
  int64_t rest[HALO_MAX_RANK], free[HALO_MAX_RANK], moved[HALO_MAX_RANK];
  int rank = instr->shape->rank;
  if (!scores_is_product(from) || memcmp(order, view->order, sizeof *order * (size_t)rank) == 0) {
    return;
  }
  scores_rest(order, view->order, rank, rest);
  int side = scores_side(from, rest);
  int32_t first, count = scores_free(from, side, free, &first);
  for (int d = 0; d < from->operands[side]->shape->rank; d++) moved[d] = d;
  for (int32_t i = 0; i < count; i++) moved[free[i]] = free[rest[first + i] - first];
  halo_instr *operands[2] = {from->operands[0], from->operands[1]};
  operands[side] = scores_transpose(s, operands[side], moved);
  halo_instr *dot =
      halo_rewrite_make(&s->r, from, HALO_OP_DOT, scores_shape(s, from, from->shape->type, rest),
                        operands, 2, from->attrs, from->attr_count);
  halo_rewrite_replace(&s->r, instr, scores_transpose(s, dot, view->order));
}

static void scores_rewrite(scores_state *s) {
  halo_computation *c = s->r.computation;
  int32_t count = c->instrs.count;
  for (int32_t i = 0; i < count; i++) {
    halo_instr *instr = c->instrs.data[i];
    scores_view *view = scores_of(s, instr);
    bool folds[2] = {false, false};
    for (int o = 0; o < 2 && scores_is_product(instr); o++) {
      scores_view *of = scores_of(s, instr->operands[o]);
      folds[o] = of && !of->of_rows && !scores_one(of)->kept;
    }
    instr = halo_rewrite_next(&s->r, i);
    if (!instr) continue;
    if (view && !scores_one(view)->kept && instr->opcode != HALO_OP_TRANSPOSE) {
      scores_move(s, instr, view);
      continue;
    }
    if (view && !scores_one(view)->kept) {
      scores_again(s, instr, view);
      continue;
    }
    halo_instr *dot = instr;
    for (int o = 0; o < 2; o++) {
      bool only = folds[0] != folds[1]; /* of two, the other pass takes what keeps its order */
      if (!folds[o] || !only || dot->operands[o]->opcode != HALO_OP_TRANSPOSE) continue;
      halo_rewrite_replace(&s->r, dot, scores_fold(s, dot, o));
    }
  }
}

/* Who uses products, and what is done to their transposes. */
typedef struct scores_uses {
  halo_pointer_map used, shared; /* by anybody; more than once */
  halo_pointer_map worked;       /* in something elementwise, or along rows */
} scores_uses;

/* A product whose left operand's dimensions come last in a transpose that alone uses it, with its operands
 * exchanged: then rows of the one are rows of the other. */
static void scores_exchange(scores_state *s, halo_instr *instr, const scores_uses *uses) {
  halo_instr *dot = instr->operands[0];
  if (!scores_is_product(dot) || halo_pointer_map_get(&uses->shared, dot) ||
      !halo_pointer_map_get(&uses->worked, instr) || halo_rewrite_pinned(dot) ||
      halo_rewrite_pinned(instr)) {
    return;
  }
  int64_t free[HALO_MAX_RANK], order[HALO_MAX_RANK], inverse[HALO_MAX_RANK], now[HALO_MAX_RANK];
  int32_t rank, first, behind;
  int32_t left = scores_free(dot, 0, free, &first), right = scores_free(dot, 1, free, &behind);
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &rank);
  /* Matrices have no other dimensions that an exchange would bring behind one another. */
  if (first == 0 || left == 0 || right < 2 || dims[rank - 1] != first + left - 1) return;
  /* Dimension d of the product is dimension now[d] of the new one. */
  for (int32_t d = 0; d < rank; d++) {
    now[d] = d < first ? d : d < behind ? d + right : d - left;
  }
  scores_invert(now, rank, inverse);
  for (int32_t d = 0; d < rank; d++) order[d] = now[dims[d]];
  halo_instr *operands[2] = {dot->operands[1], dot->operands[0]};
  halo_instr *made =
      halo_rewrite_make(&s->r, dot, HALO_OP_DOT, scores_shape(s, dot, dot->shape->type, inverse),
                        operands, 2, dot->attrs, dot->attr_count);
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < 2; k++) {
      int32_t count;
      const int64_t *list = halo_instr_ints(dot, scores_attrs[side][k], &count);
      halo_attr attr =
          halo_rewrite_list_attr(s->r.computation->module, scores_attrs[1 - side][k], list, count);
      if (count > 0) halo_instr_set_attr(made, &attr);
    }
  }
  halo_rewrite_replace(&s->r, instr, scores_transpose(s, made, order));
}

/* Operands that are told apart otherwise than by their numbers stay in their places. */
static bool scores_is_even(const halo_instr *dot) {
  return !halo_instr_attr(dot, HALO_ATTR_OPERAND_PRECISION) && scores_is_product(dot);
}

static halo_status scores_exchange_all(halo_computation *computation, bool *changed) {
  scores_state s = {.arena = &computation->module->arena};
  scores_uses uses = {0};
  halo_pointer_map_set(&uses.shared, computation->root, computation->root);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    if (instr->opcode == HALO_OP_DOT && !scores_is_even(instr)) {
      halo_pointer_map_set(&uses.shared, instr, instr);
    }
    bool works =
        instr->opcode == HALO_OP_REDUCE || halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW);
    for (int32_t o = 0; o < instr->operand_count; o++) {
      bool again = halo_pointer_map_get(&uses.used, instr->operands[o]) != NULL;
      halo_pointer_map_set(again ? &uses.shared : &uses.used, instr->operands[o], instr);
      if (works) halo_pointer_map_set(&uses.worked, instr->operands[o], instr);
    }
  }
  halo_rewrite_begin(&s.r, computation);
  int32_t count = computation->instrs.count;
  for (int32_t i = 0; i < count; i++) {
    halo_instr *instr = halo_rewrite_next(&s.r, i);
    if (instr && instr->opcode == HALO_OP_TRANSPOSE) scores_exchange(&s, instr, &uses);
  }
  halo_pointer_map_deinit(&uses.used);
  halo_pointer_map_deinit(&uses.shared);
  halo_pointer_map_deinit(&uses.worked);
  return halo_rewrite_end(&s.r, changed);
}

static halo_status scores_run(halo_computation *computation, bool *changed) {
  bool any = false;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    any |= computation->instrs.data[i]->opcode == HALO_OP_DOT;
  }
  if (!any) return HALO_OK;
  HALO_TRY(scores_exchange_all(computation, changed));
  scores_state s = {.arena = &computation->module->arena};
  halo_rewrite_begin(&s.r, computation);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    scores_find(&s, computation->instrs.data[i]);
  }
  scores_find_others(&s, computation);
  scores_rewrite(&s);
  halo_pointer_map_deinit(&s.views);
  halo_pointer_map_deinit(&s.products);
  return halo_rewrite_end(&s.r, changed);
}

halo_status halo_pass_scores(halo_module *module, bool *changed) {
  return halo_rewrite_computations(module, scores_run, changed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/attention.c: finding softmax(f(Q K)) V. */
#include "hlo/attention.h"

#include "hlo/dot.h"

#include <math.h>

typedef struct attention_search {
  halo_attention_desc *v;
  halo_pointer_map *inner;
} attention_search;

static void attention_note(const attention_search *s, halo_instr *instr) {
  halo_pointer_map_set(s->inner, instr, instr);
}

/* Whether f32 holds all of its elements: kernels compute in f32. */
static bool attention_is_float(const halo_instr *instr) {
  if (!halo_shape_is_array(instr->shape)) return false;
  halo_type type = instr->shape->type;
  return type == HALO_F32 || type == HALO_BF16 || type == HALO_F16;
}

/* The array behind reshapes, copies and conversions: reshapes keep each element's place. Conversions among f32 and narrower
 * types are left out, as XLA may do too (xla_allow_excess_precision): weights are not rounded in between. */
static halo_instr *attention_strip(const attention_search *s, halo_instr *instr) {
  while (instr->opcode == HALO_OP_RESHAPE || instr->opcode == HALO_OP_COPY ||
         (instr->opcode == HALO_OP_CONVERT && attention_is_float(instr) &&
          attention_is_float(instr->operands[0]))) {
    attention_note(s, instr);
    instr = instr->operands[0];
  }
  return instr;
}

/* The value of each row that a reduction of `elements` gives all of the row; NULL when it is something else. */
static const halo_instr *attention_spread(const attention_search *s, halo_instr *broadcast,
                                          halo_opcode body, double start,
                                          const halo_instr *elements, halo_rows *rows) {
  halo_reduce_value value;
  broadcast = attention_strip(s, broadcast);
  if (broadcast->opcode != HALO_OP_BROADCAST) return NULL;
  attention_note(s, broadcast);
  halo_instr *reduce = attention_strip(s, broadcast->operands[0]);
  if (!halo_rows_of(reduce, rows, &value) || !halo_rows_spreads(broadcast, *rows)) return NULL;
  attention_note(s, reduce);
  const halo_computation *apply = halo_instr_comp(reduce, HALO_ATTR_TO_APPLY);
  const halo_instr *initial = reduce->operands[1];
  if (apply->root->opcode != body || apply->instrs.count != 3 ||
      apply->root->operands[0] == apply->root->operands[1] || initial->opcode != HALO_OP_CONSTANT ||
      halo_literal_get_f64(initial->literal, 0) != start) {
    return NULL;
  }
  return attention_strip(s, reduce->operands[0]) == elements ? reduce : NULL;
}

/* The weights: exponentials of logits less their row's maximum, over the row's sum. */
static bool attention_match_softmax(const attention_search *s, halo_instr *weights) {
  halo_attention_desc *v = s->v;
  halo_rows of_sum, of_maximum;
  halo_instr *quotient = attention_strip(s, weights);
  if (quotient->opcode != HALO_OP_DIVIDE || !attention_is_float(quotient)) return false;
  attention_note(s, quotient);
  halo_instr *exponential = attention_strip(s, quotient->operands[0]);
  if (exponential->opcode != HALO_OP_EXP ||
      halo_instr_attr(exponential, HALO_ATTR_RESULT_ACCURACY)) {
    return false;
  }
  attention_note(s, exponential);
  halo_instr *difference = attention_strip(s, exponential->operands[0]);
  if (difference->opcode != HALO_OP_SUBTRACT) return false;
  attention_note(s, difference);
  halo_instr *logits = attention_strip(s, difference->operands[0]);
  v->exponential = exponential;
  v->logits = logits;
  if (!attention_spread(s, quotient->operands[1], HALO_OP_ADD, 0, exponential, &of_sum) ||
      !attention_spread(s, difference->operands[1], HALO_OP_MAXIMUM, -HUGE_VAL, logits,
                        &of_maximum)) {
    return false;
  }
  v->rows = of_sum;
  return of_sum.outer == of_maximum.outer && of_sum.n == of_maximum.n && of_sum.n > 0 &&
         halo_shape_element_count(logits->shape) == of_sum.outer * of_sum.n;
}

/* Finds the one product that logits are made of, at each element's own place. False when there are two. */
static bool attention_find_scores(const attention_search *s, halo_instr *instr, int depth) {
  enum { DEEPEST = 12 };
  halo_rows rows = s->v->rows;
  if (!halo_shape_is_array(instr->shape) || depth > DEEPEST ||
      halo_shape_element_count(instr->shape) != rows.outer * rows.n) {
    return depth <= DEEPEST;
  }
  if (instr->opcode == HALO_OP_DOT) {
    bool other = s->v->scores && s->v->scores != instr;
    s->v->scores = instr;
    attention_note(s, instr);
    return !other;
  }
  bool still = halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW) ||
               instr->opcode == HALO_OP_RESHAPE || instr->opcode == HALO_OP_COPY;
  for (int32_t o = 0; still && o < instr->operand_count; o++) {
    const halo_instr *before = s->v->scores;
    s->v->scores = NULL;
    if (!attention_find_scores(s, instr->operands[o], depth + 1)) return false;
    if (s->v->scores) attention_note(s, instr);
    if (s->v->scores && before && s->v->scores != before) return false;
    if (!s->v->scores) s->v->scores = before;
  }
  return true;
}

static int64_t attention_free(const halo_instr *dot, int side, int64_t *contracted) {
  int32_t batches, contracts;
  const halo_shape *shape = dot->operands[side]->shape;
  const int64_t *batch =
      halo_instr_ints(dot, side ? HALO_ATTR_RHS_BATCH_DIMS : HALO_ATTR_LHS_BATCH_DIMS, &batches);
  const int64_t *contract = halo_instr_ints(
      dot, side ? HALO_ATTR_RHS_CONTRACTING_DIMS : HALO_ATTR_LHS_CONTRACTING_DIMS, &contracts);
  int64_t size = halo_shape_element_count(shape);
  *contracted = 1;
  for (int32_t i = 0; i < batches; i++) size /= shape->dims[batch[i]];
  for (int32_t i = 0; i < contracts; i++) *contracted *= shape->dims[contract[i]];
  return size / *contracted;
}

/* Whether a product's numbers are such that sums in f32 are at least as exact as what is asked for. */
static bool attention_is_product(const halo_instr *dot) {
  if (dot->operand_count != 2 || halo_shape_element_count(dot->shape) == 0) return false;
  for (int o = 0; o < 2; o++) {
    halo_type type = dot->operands[o]->shape->type;
    if (halo_shape_element_count(dot->operands[o]->shape) == 0) return false;
    if (type == HALO_BF16 || type == HALO_F16) continue;
    if (type != HALO_F32 || halo_instr_attr(dot, HALO_ATTR_ALGORITHM)) return false;
  }
  return halo_dot_accumulator(dot->shape->type) == HALO_F32;
}

/* Whether the weights' rows are added up, and all rows of a group are of one batch of values. */
static bool attention_fits(const halo_attention_desc *v) {
  const halo_shape *shape = v->product->operands[v->weights]->shape;
  int32_t batches, contracts;
  const int64_t *batch = halo_instr_ints(
      v->product, v->weights ? HALO_ATTR_RHS_BATCH_DIMS : HALO_ATTR_LHS_BATCH_DIMS, &batches);
  const int64_t *contract = halo_instr_ints(
      v->product, v->weights ? HALO_ATTR_RHS_CONTRACTING_DIMS : HALO_ATTR_LHS_CONTRACTING_DIMS,
      &contracts);
  int last = shape->rank - 1;
  while (last > 0 && shape->dims[last] == 1) last--;
  bool whole = false;
  for (int32_t i = 0; i < contracts; i++) {
    if (contract[i] == last) whole = shape->dims[last] == v->rows.n;
    if (contract[i] != last && shape->dims[contract[i]] != 1) return false;
  }
  for (int32_t i = 0; i < batches; i++) {
    int64_t stride = 1; /* in rows */
    for (int d = (int)batch[i] + 1; d < last; d++) stride *= shape->dims[d];
    if (shape->dims[batch[i]] != 1 && stride % v->group != 0) return false;
  }
  return whole;
}

/* ---- Masks ---- */

/* Whether an array's elements are their coordinates along a dimension. */
static bool attention_counts(const halo_instr *instr, int dim) {
  if (instr->opcode == HALO_OP_BROADCAST) {
    int32_t count;
    const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
    return count == 1 && dims[0] == dim && instr->operands[0]->opcode == HALO_OP_IOTA;
  }
  return instr->opcode == HALO_OP_IOTA &&
         halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, -1) == dim;
}

/* Whether a predicate of all scores is true where a query's number is not less than the key's, and nowhere else. */
static bool attention_is_past(const halo_attention_desc *v, const halo_instr *instr) {
  /* Down to where it is made, as long as the last two dimensions are queries and keys. */
  int rank = instr->shape->rank;
  while (rank >= 2 && instr->shape->dims[rank - 1] == v->rows.n &&
         instr->shape->dims[rank - 2] == v->group && instr->opcode != HALO_OP_COMPARE) {
    int32_t count = 0;
    const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
    bool kept = instr->opcode == HALO_OP_BROADCAST && count >= 2 && dims[count - 2] == rank - 2 &&
                dims[count - 1] == rank - 1;
    if (instr->opcode != HALO_OP_RESHAPE && !kept) return false;
    instr = instr->operands[0];
    rank = instr->shape->rank;
  }
  if (rank < 2 || instr->shape->dims[rank - 1] != v->rows.n ||
      instr->shape->dims[rank - 2] != v->group || instr->opcode != HALO_OP_COMPARE ||
      !halo_type_is_integral(instr->operands[0]->shape->type)) {
    return false;
  }
  halo_direction direction = (halo_direction)halo_instr_int(instr, HALO_ATTR_DIRECTION, HALO_EQ);
  int query = direction == HALO_GE ? 0 : 1;
  return (direction == HALO_GE || direction == HALO_LE) &&
         attention_counts(instr->operands[query], rank - 2) &&
         attention_counts(instr->operands[1 - query], rank - 1);
}

static const halo_instr *attention_behind(const halo_attention_desc *v) {
  const halo_instr *logits = v->logits, *fill;
  if (logits->opcode != HALO_OP_SELECT || !attention_is_past(v, logits->operands[0])) return NULL;
  fill = logits->operands[2];
  while (fill->opcode == HALO_OP_BROADCAST || fill->opcode == HALO_OP_RESHAPE) {
    fill = fill->operands[0];
  }
  bool plain = fill->opcode == HALO_OP_CONSTANT && halo_shape_element_count(fill->shape) == 1;
  return plain && halo_literal_get_f64(fill->literal, 0) < 0 ? fill : NULL;
}

bool halo_attention_match(const halo_instr *product, halo_attention_desc *v,
                          halo_pointer_map *inner, const char **why) {
  *why = "it is no product of floats";
  if (product->opcode != HALO_OP_DOT || !attention_is_product(product)) return false;
  attention_search s = {v, inner};
  bool found = false;
  for (int side = 0; side < 2 && !found; side++) {
    *v = (halo_attention_desc){.product = product, .weights = side};
    found = attention_match_softmax(&s, product->operands[side]);
  }
  *why = "neither operand is a softmax";
  if (!found) return false;
  *why = "the softmax is not of one product";
  if (!attention_find_scores(&s, (halo_instr *)v->logits, 0) || !v->scores ||
      !attention_is_product(v->scores) || !attention_is_float(v->logits)) {
    return false;
  }
  int64_t contracted;
  *why = "rows of scores are not those of the softmax";
  if (attention_free(v->scores, 1, &v->depth) != v->rows.n) return false;
  v->group = attention_free(v->scores, 0, &v->depth);
  v->width = attention_free(product, !v->weights, &contracted);
  v->behind = attention_behind(v);
  *why = "the weights are not added up row by row";
  return contracted == v->rows.n && attention_fits(v);
}

bool halo_attention_moves(const halo_instr *instr) {
  return instr->opcode == HALO_OP_RESHAPE || instr->opcode == HALO_OP_TRANSPOSE;
}

bool halo_attention_describe(const halo_computation *body, halo_attention_desc *v,
                             const char **why) {
  const halo_instr *product = body->root;
  while (halo_attention_moves(product)) product = product->operands[0];
  /* What is made of scores otherwise would need them to be there. */
  halo_pointer_map inner = {0}, made = {0}, moved = {0};
  bool fits = halo_attention_match(product, v, &inner, why);
  for (int32_t i = 0; fits && i < body->instrs.count; i++) {
    halo_instr *instr = body->instrs.data[i];
    bool of_scores = instr == v->scores, of_product = false;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      bool weights = instr == product && o == v->weights;
      of_scores |= !weights && halo_pointer_map_get(&made, instr->operands[o]);
      of_product |= halo_pointer_map_get(&moved, instr->operands[o]) != NULL;
    }
    *why = "scores are used otherwise";
    if (instr == product || of_product) {
      fits = !of_scores && (instr == product || halo_attention_moves(instr));
      halo_pointer_map_set(&moved, instr, instr);
    } else if (of_scores) {
      fits = halo_pointer_map_get(&inner, instr) != NULL;
      halo_pointer_map_set(&made, instr, instr);
    }
  }
  halo_pointer_map_deinit(&moved);
  halo_pointer_map_deinit(&made);
  halo_pointer_map_deinit(&inner);
  return fits;
}

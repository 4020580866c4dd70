/* SPDX-License-Identifier: Apache-2.0 */
/* partition/rules.c: which dimensions of an operation's operands and results go together. */
#include "partition/spmd.h"

#include <string.h>

/* ---- Making a rule ---- */

static halo_spmd_rule *rule_new(halo_spmd *p, const halo_instr *instr) {
  halo_spmd_rule *rule = halo_arena_new(&p->arena, halo_spmd_rule);
  const halo_spmd_node *node = halo_spmd_node_of(instr);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    rule->operands += halo_spmd_node_of(instr->operands[i])->count;
  }
  rule->tensors = rule->operands + node->count;
  rule->leaf = halo_arena_array(&p->arena, const halo_spmd_leaf *, rule->tensors + 1);
  rule->dims = halo_arena_array(&p->arena, halo_spmd_factors *, rule->tensors + 1);
  int32_t next = 0;
  for (int32_t i = 0; i <= instr->operand_count; i++) {
    const halo_spmd_node *from =
        i < instr->operand_count ? halo_spmd_node_of(instr->operands[i]) : node;
    for (int32_t k = 0; k < from->count; k++) rule->leaf[next++] = from->leaves[k];
  }
  for (int32_t t = 0; t < rule->tensors; t++) {
    rule->dims[t] = halo_arena_array(&p->arena, halo_spmd_factors, rule->leaf[t]->shape->rank + 1);
  }
  return rule;
}

static const halo_shape *rule_shape(const halo_spmd_rule *rule, int32_t tensor) {
  return rule->leaf[tensor]->shape;
}

static int64_t rule_gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Dimension `dim` of all tensors of one rank goes together; those of other ranks (scalars) have no part in it. */
static void rule_put_all(halo_spmd *p, halo_spmd_rule *rule, int rank, int dim, int64_t size) {
  int32_t factor = halo_spmd_rule_factor(p, rule, size, HALO_SPMD_PARALLEL);
  for (int32_t t = 0; t < rule->tensors; t++) {
    const halo_shape *shape = rule_shape(rule, t);
    if (halo_shape_is_array(shape) && shape->rank == rank)
      halo_spmd_rule_put(p, rule, t, dim, factor);
  }
}

/* Dimension `dim` of all tensors of one rank, of which everybody needs all, lies as it does in one of them. */
static void rule_carry(halo_spmd *p, halo_spmd_rule *rule, int rank, int dim) {
  int64_t size = 0;
  for (int32_t t = 0; t < rule->tensors; t++) {
    const halo_shape *shape = rule_shape(rule, t);
    if (!halo_shape_is_array(shape) || shape->rank != rank) continue;
    size = rule_gcd(shape->dims[dim], size);
  }
  if (size <= 1) return;
  int32_t factor = halo_spmd_rule_factor(p, rule, size, HALO_SPMD_CARRIED);
  for (int32_t t = 0; t < rule->tensors; t++) {
    const halo_shape *shape = rule_shape(rule, t);
    if (halo_shape_is_array(shape) && shape->rank == rank)
      halo_spmd_rule_put(p, rule, t, dim, factor);
  }
}

/* A dimension of the first operand, and that of another tensor whose parts need `low` elements before theirs and `high`
 * behind. Of `size` parts at most. */
static int32_t rule_border(halo_spmd *p, halo_spmd_rule *rule, int64_t dim, int32_t tensor,
                           int64_t tensor_dim, int64_t low, int64_t high) {
  int64_t a = rule_shape(rule, 0)->dims[dim], b = rule_shape(rule, tensor)->dims[tensor_dim];
  int32_t factor = halo_spmd_rule_factor(p, rule, a < b ? a : b, HALO_SPMD_PARALLEL);
  rule->border[factor] = (low > 0 ? low : 0) + (high > 0 ? high : 0);
  halo_spmd_rule_put(p, rule, 0, dim, factor);
  halo_spmd_rule_put(p, rule, tensor, tensor_dim, factor);
  return factor;
}

static bool rule_has(const int64_t *list, int32_t count, int64_t value) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == value) return true;
  }
  return false;
}

/* ---- Movement ---- */

static void rule_elementwise(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  (void)instr;
  const halo_shape *shape = rule_shape(rule, rule->operands);
  for (int d = 0; d < shape->rank; d++) rule_put_all(p, rule, shape->rank, d, shape->dims[d]);
}

/* Each leaf of the result is that leaf of the first operand. */
static void rule_leafwise(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  (void)instr;
  for (int32_t k = rule->operands; k < rule->tensors; k++) {
    const halo_shape *shape = rule_shape(rule, k);
    for (int d = 0; d < shape->rank; d++) halo_spmd_rule_pair(p, rule, k, d, k - rule->operands, d);
  }
}

static void rule_broadcast(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const halo_shape *from = rule_shape(rule, 0), *shape = rule_shape(rule, 1);
  for (int d = 0; d < shape->rank; d++) {
    int32_t at = -1;
    for (int32_t i = 0; i < count; i++) {
      if (dims[i] == d && from->dims[i] == shape->dims[d]) at = i;
    }
    halo_spmd_rule_pair(p, rule, 1, d, at >= 0 ? 0 : -1, at);
  }
}

static void rule_transpose(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  for (int32_t i = 0; i < count; i++) halo_spmd_rule_pair(p, rule, 1, i, 0, dims[i]);
}

/* The factors that both sides' dimensions consist of, from the major ones on, as far as there are some. */
static void rule_reshape(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  (void)instr;
  const halo_shape *from = rule_shape(rule, 0), *to = rule_shape(rule, 1);
  if (halo_shape_element_count(from) == 0) return;
  int a = 0, b = 0;
  int64_t left_a = from->rank ? from->dims[0] : 1, left_b = to->rank ? to->dims[0] : 1;
  while (a < from->rank && b < to->rank) {
    if (left_a == 1 && left_b != 1) {
      if (++a < from->rank) left_a = from->dims[a];
      continue;
    }
    if (left_b == 1 && left_a != 1) {
      if (++b < to->rank) left_b = to->dims[b];
      continue;
    }
    int64_t common = rule_gcd(left_a, left_b);
    if (common == 1 && left_a != left_b)
      return; /* what is behind could only be found by products */
    int32_t factor = halo_spmd_rule_factor(p, rule, common, HALO_SPMD_PARALLEL);
    halo_spmd_rule_put(p, rule, 0, a, factor);
    halo_spmd_rule_put(p, rule, 1, b, factor);
    left_a /= common;
    left_b /= common;
    if (left_a == 1 && left_b == 1) {
      if (++a < from->rank) left_a = from->dims[a];
      if (++b < to->rank) left_b = to->dims[b];
    }
  }
}

static void rule_iota(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int64_t along = halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, 0);
  const halo_shape *shape = rule_shape(rule, 0);
  bool whole = halo_type_is_complex(shape->type);
  for (int d = 0; d < shape->rank; d++) {
    if (d != along || !whole) halo_spmd_rule_pair(p, rule, 0, d, -1, 0);
  }
}

/* All dimensions; those of the attribute are needed whole. */
static void rule_except_dims(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const halo_shape *shape = rule_shape(rule, rule->operands);
  for (int d = 0; d < shape->rank; d++) {
    if (rule_has(dims, count, d)) {
      rule_carry(p, rule, shape->rank, d);
    } else {
      rule_put_all(p, rule, shape->rank, d, shape->dims[d]);
    }
  }
}

static void rule_slice(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int32_t count;
  const int64_t *bounds = halo_instr_ints(instr, HALO_ATTR_SLICE, &count);
  const halo_shape *from = rule_shape(rule, 0);
  for (int d = 0; d < from->rank; d++) {
    bool all = bounds[3 * d] == 0 && bounds[3 * d + 1] == from->dims[d] && bounds[3 * d + 2] == 1;
    if (all) {
      halo_spmd_rule_pair(p, rule, 1, d, 0, d);
    } else {
      rule_carry(p, rule, from->rank, d);
    }
  }
}

static void rule_pad(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int32_t count;
  const int64_t *padding = halo_instr_ints(instr, HALO_ATTR_PADDING, &count);
  int rank = rule_shape(rule, 0)->rank;
  for (int d = 0; d < rank; d++) {
    int64_t low = padding[3 * d], size = rule_shape(rule, 0)->dims[d];
    if (low && low + padding[3 * d + 1] == 0 && !padding[3 * d + 2] && 2 * low <= size &&
        -2 * low <= size) {
      rule_border(p, rule, d, 2, d, low, -low);
    } else if (padding[3 * d] || padding[3 * d + 1] || padding[3 * d + 2]) {
      rule_carry(p, rule, rank, d);
    } else {
      halo_spmd_rule_pair(p, rule, 2, d, 0, d);
    }
  }
}

static void rule_dynamic_slice(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  (void)instr;
  const halo_shape *from = rule_shape(rule, 0), *to = rule_shape(rule, rule->operands);
  for (int d = 0; d < from->rank; d++) {
    if (from->dims[d] == to->dims[d]) {
      halo_spmd_rule_pair(p, rule, rule->operands, d, 0, d);
    } else {
      rule_carry(p, rule, from->rank, d);
    }
  }
}

static void rule_dynamic_update_slice(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  (void)instr;
  const halo_shape *from = rule_shape(rule, 0), *update = rule_shape(rule, 1);
  for (int d = 0; d < from->rank; d++) {
    if (from->dims[d] == update->dims[d]) {
      halo_spmd_rule_put(p, rule, 1, d, halo_spmd_rule_pair(p, rule, rule->operands, d, 0, d));
    } else {
      /* Each part takes what of the update lies in it, and needs all of that. */
      int32_t factor = halo_spmd_rule_pair(p, rule, rule->operands, d, 0, d);
      if (update->dims[d] == 0) rule->kind[factor] = HALO_SPMD_CARRIED;
    }
  }
}

static void rule_bitcast_convert(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  (void)instr;
  const halo_shape *from = rule_shape(rule, 0), *to = rule_shape(rule, 1);
  int rank = from->rank < to->rank ? from->rank : to->rank;
  for (int d = 0; d < rank; d++) halo_spmd_rule_pair(p, rule, 1, d, 0, d);
}

/* ---- Reductions and windows ---- */

static void rule_reduce(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int32_t count, arrays = rule->operands / 2;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  halo_computation *reducer = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  const halo_shape *from = rule_shape(rule, 0);
  bool sums = arrays == 1 && halo_spmd_rule_can_combine(reducer, from->type);
  if (sums) rule->combiner = reducer;
  for (int d = 0, kept = 0; d < from->rank; d++) {
    bool reduced = rule_has(dims, count, d);
    if (reduced && !sums) continue;
    int32_t factor = halo_spmd_rule_factor(p, rule, from->dims[d],
                                           reduced ? HALO_SPMD_SUMMED : HALO_SPMD_PARALLEL);
    for (int32_t t = 0; t < arrays; t++) {
      halo_spmd_rule_put(p, rule, t, d, factor);
      if (!reduced) halo_spmd_rule_put(p, rule, rule->operands + t, kept, factor);
    }
    kept += !reduced;
  }
}

static bool rule_window_is_trivial(const halo_window_dim *w) {
  return w->size == 1 && w->stride == 1 && w->pad_low == 0 && w->pad_high == 0 &&
         w->base_dilation == 1;
}

/* Dimensions over which the window does not move; those over which it does where parts need no more than borders. */
static void rule_window(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  const halo_shape *shape = rule_shape(rule, rule->operands), *from = rule_shape(rule, 0);
  bool scatters = instr->opcode == HALO_OP_SELECT_AND_SCATTER;
  for (int d = 0; d < shape->rank && window && d < window->window.count; d++) {
    const halo_window_dim *w = &window->window.data[d];
    int64_t out = scatters ? rule_shape(rule, 1)->dims[d] : shape->dims[d];
    halo_spmd_reach reach;
    if (rule_window_is_trivial(w)) {
      rule_put_all(p, rule, shape->rank, d, shape->dims[d]);
    } else if (halo_spmd_window_reach(w, from->dims[d], out, &reach) &&
               !(scatters && (reach.low > 0 || reach.high > 0))) {
      int32_t factor = rule_border(p, rule, d, rule->operands, d, reach.low, reach.high);
      if (scatters) {
        rule->size[factor] = out;
        halo_spmd_rule_put(p, rule, 1, d, factor);
      }
      for (int32_t t = 1; t < rule->tensors && !scatters; t++) {
        bool own = t == rule->operands || rule_shape(rule, t)->rank != shape->rank;
        if (!own) halo_spmd_rule_put(p, rule, t, d, factor);
      }
    } else {
      rule_carry(p, rule, shape->rank, d);
    }
  }
}

/* ---- Products ---- */

static void rule_dot(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  if (rule->operands != 2 || halo_instr_attr(instr, HALO_ATTR_SPARSITY)) return;
  int32_t batch, contracted;
  const int64_t *lb = halo_instr_ints(instr, HALO_ATTR_LHS_BATCH_DIMS, &batch);
  const int64_t *rb = halo_instr_ints(instr, HALO_ATTR_RHS_BATCH_DIMS, &batch);
  const int64_t *lc = halo_instr_ints(instr, HALO_ATTR_LHS_CONTRACTING_DIMS, &contracted);
  const int64_t *rc = halo_instr_ints(instr, HALO_ATTR_RHS_CONTRACTING_DIMS, &contracted);
  const halo_shape *sides[2] = {rule_shape(rule, 0), rule_shape(rule, 1)};
  int64_t out = 0;
  bool sums = halo_spmd_rule_can_sum(rule_shape(rule, 2)->type);
  rule->work = 2;
  for (int32_t i = 0; i < batch; i++) {
    halo_spmd_rule_put(p, rule, 2, out++, halo_spmd_rule_pair(p, rule, 0, lb[i], 1, rb[i]));
  }
  for (int32_t side = 0; side < 2; side++) {
    for (int d = 0; d < sides[side]->rank; d++) {
      if (rule_has(side ? rb : lb, batch, d) || rule_has(side ? rc : lc, contracted, d)) continue;
      halo_spmd_rule_pair(p, rule, side, d, 2, out++);
    }
  }
  for (int32_t i = 0; i < contracted; i++) {
    int32_t factor = halo_spmd_rule_pair(p, rule, 0, lc[i], 1, rc[i]);
    rule->kind[factor] = sums ? HALO_SPMD_SUMMED : HALO_SPMD_WHOLE;
  }
  for (int32_t f = 0; f < rule->factors; f++) rule->work *= (double)rule->size[f];
}

static void rule_convolution(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  const halo_attr *labels = halo_instr_attr(instr, HALO_ATTR_DIM_LABELS);
  if (rule->operands != 2 || !labels) return;
  const halo_conv_dims *dims = labels->conv;
  bool plain = halo_instr_int(instr, HALO_ATTR_FEATURE_GROUP_COUNT, 1) <= 1;
  bool sums = halo_spmd_rule_can_sum(rule_shape(rule, 2)->type);
  if (halo_instr_int(instr, HALO_ATTR_BATCH_GROUP_COUNT, 1) > 1) return;
  halo_spmd_rule_pair(p, rule, 0, dims->lhs_batch, 2, dims->out_batch);
  rule->work = 2 * (double)halo_shape_element_count(rule_shape(rule, 2)) *
               (double)halo_shape_element_count(rule_shape(rule, 1)) /
               (double)rule_shape(rule, 2)->dims[dims->out_feature];
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  for (int k = 0; k < dims->spatial; k++) {
    int in = dims->lhs_spatial[k], out = dims->out_spatial[k], kernel = dims->rhs_spatial[k];
    int64_t from = rule_shape(rule, 0)->dims[in], to = rule_shape(rule, 2)->dims[out];
    int64_t size = rule_gcd(from, to);
    const halo_window_dim *w = window ? &window->window.data[k] : NULL;
    halo_spmd_reach reach;
    if (w && w->size > to && sums && halo_spmd_kernel_reach(w, from, to, &reach)) {
      int32_t factor = rule_border(p, rule, in, 1, kernel, reach.low, reach.high);
      rule->kind[factor] = HALO_SPMD_SUMMED;
      continue;
    }
    if (w && halo_spmd_window_reach(w, from, to, &reach)) {
      rule_border(p, rule, in, 2, out, reach.low, reach.high);
      continue;
    }
    if (size <= 1) continue;
    int32_t factor = halo_spmd_rule_factor(p, rule, size, HALO_SPMD_CARRIED);
    halo_spmd_rule_put(p, rule, 0, in, factor);
    halo_spmd_rule_put(p, rule, 2, out, factor);
  }
  if (!plain) return;
  halo_spmd_rule_pair(p, rule, 1, dims->rhs_output, 2, dims->out_feature);
  int32_t factor = halo_spmd_rule_pair(p, rule, 0, dims->lhs_feature, 1, dims->rhs_input);
  rule->kind[factor] = sums ? HALO_SPMD_SUMMED : HALO_SPMD_WHOLE;
}

/* ---- Matrices and rows: their batches ---- */

static void rule_leading(halo_spmd *p, halo_spmd_rule *rule, int last) {
  const halo_shape *shape = rule_shape(rule, rule->operands);
  for (int d = 0; d + last < shape->rank; d++) {
    rule_put_all(p, rule, shape->rank, d, rule_shape(rule, 0)->dims[d]);
  }
}

static void rule_fft(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int32_t count;
  halo_instr_ints(instr, HALO_ATTR_FFT_LENGTH, &count);
  rule_leading(p, rule, count);
  int rank = rule_shape(rule, 0)->rank;
  for (int d = rank - count; d < rank; d++) rule_carry(p, rule, rank, d);
}

static void rule_matrices(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  rule_leading(p, rule, 2);
  if (instr->opcode != HALO_OP_TRIANGULAR_SOLVE) return;
  int rank = rule_shape(rule, 1)->rank;
  int64_t free = rank - (halo_instr_int(instr, HALO_ATTR_LEFT_SIDE, 0) ? 1 : 2);
  halo_spmd_rule_pair(p, rule, 2, free, 1, free);
}

static void rule_last(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  (void)instr;
  int rank = rule_shape(rule, 0)->rank;
  rule_leading(p, rule, 1);
  if (rank > 0) rule_carry(p, rule, rank, rank - 1);
}

/* ---- Collectives in regions that are manual along some axes ---- */

/* Along the other axes each element goes its own way. */
static void rule_exchange(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  if (rule->operands == rule->tensors - rule->operands) rule_leafwise(p, rule, instr);
}

/* The dimension along which pieces are put together, or cut, is needed whole. */
static void rule_exchange_along(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  if (rule->operands != 1 || rule->tensors != 2 || count != 1) return;
  for (int d = 0; d < rule_shape(rule, 0)->rank; d++) {
    if (d != dims[0]) halo_spmd_rule_pair(p, rule, 1, d, 0, d);
  }
}

static void rule_rotation(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int along;
  int64_t by;
  const halo_shape *shape = rule_shape(rule, 0);
  if (!halo_spmd_is_rotation(instr, &along, &by)) return;
  for (int d = 0; d < shape->rank; d++) {
    if (d == along) {
      rule_border(p, rule, d, 1, d, by < shape->dims[d] - by ? by : shape->dims[d] - by, 0);
    } else {
      halo_spmd_rule_pair(p, rule, 1, d, 0, d);
    }
  }
}

/* ---- The table ---- */

typedef struct rule_row {
  halo_spmd_rule_fn *make;
  bool passes;
} rule_row;

/* Elementwise operations have the trait. */
static const rule_row rule_table[HALO_OPCODE_COUNT] = {
    [HALO_OP_COPY] = {rule_leafwise, true},
    [HALO_OP_OPT_BARRIER] = {rule_leafwise, true},
    [HALO_OP_DOMAIN] = {rule_leafwise, true},
    [HALO_OP_ADD_DEPENDENCY] = {rule_leafwise, true},
    [HALO_OP_MAP] = {rule_elementwise, true},
    [HALO_OP_BITCAST_CONVERT] = {rule_bitcast_convert, true},
    [HALO_OP_BROADCAST] = {rule_broadcast, false},
    [HALO_OP_TRANSPOSE] = {rule_transpose, true},
    [HALO_OP_RESHAPE] = {rule_reshape, true},
    [HALO_OP_IOTA] = {rule_iota, false},
    [HALO_OP_REVERSE] = {rule_except_dims, true},
    [HALO_OP_CONCATENATE] = {rule_except_dims, true},
    [HALO_OP_SLICE] = {rule_slice, true},
    [HALO_OP_PAD] = {rule_pad, true},
    [HALO_OP_DYNAMIC_SLICE] = {rule_dynamic_slice, true},
    [HALO_OP_DYNAMIC_UPDATE_SLICE] = {rule_dynamic_update_slice, true},
    [HALO_OP_SORT] = {rule_except_dims, true},
    [HALO_OP_TOPK] = {rule_last, true},
    [HALO_OP_REDUCE] = {rule_reduce, false},
    [HALO_OP_REDUCE_WINDOW] = {rule_window, true},
    [HALO_OP_SELECT_AND_SCATTER] = {rule_window, true},
    [HALO_OP_DOT] = {rule_dot, false},
    [HALO_OP_CONVOLUTION] = {rule_convolution, false},
    [HALO_OP_GATHER] = {halo_spmd_rule_gather, false},
    [HALO_OP_SCATTER] = {halo_spmd_rule_scatter, false},
    [HALO_OP_FFT] = {rule_fft, true},
    [HALO_OP_CHOLESKY] = {rule_matrices, true},
    [HALO_OP_TRIANGULAR_SOLVE] = {rule_matrices, true},
    [HALO_OP_ALL_REDUCE] = {rule_exchange, true},
    [HALO_OP_COLLECTIVE_PERMUTE] = {rule_exchange, true},
    [HALO_OP_COLLECTIVE_BROADCAST] = {rule_exchange, true},
    [HALO_OP_ALL_GATHER] = {rule_exchange_along, true},
    [HALO_OP_REDUCE_SCATTER] = {rule_exchange_along, true},
    [HALO_OP_ALL_TO_ALL] = {rule_exchange_along, true},
};

static rule_row rule_find(const halo_instr *instr) {
  if (rule_table[instr->opcode].make) return rule_table[instr->opcode];
  if (instr->opcode == HALO_OP_STOCHASTIC_CONVERT) return (rule_row){0};
  if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW)) {
    return (rule_row){rule_elementwise, true};
  }
  if (instr->opcode != HALO_OP_CUSTOM_CALL) return (rule_row){0};
  if (halo_spmd_marker_of(instr) == HALO_SPMD_SAME) return (rule_row){rule_leafwise, true};
  if (halo_spmd_is_custom(instr)) return (rule_row){halo_spmd_custom_rule, true};
  int dim;
  int64_t by;
  if (halo_spmd_is_rotation(instr, &dim, &by)) return (rule_row){rule_rotation, true};
  if (halo_spmd_batch_dims(instr) > 0) return (rule_row){halo_spmd_rule_batched, true};
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  if (target && strcmp(target->text, "TopK") == 0) return (rule_row){rule_last, true};
  return (rule_row){0};
}

halo_spmd_rule *halo_spmd_rule_of(halo_spmd *p, const halo_instr *instr) {
  rule_row row = rule_find(instr);
  if (!row.make) return NULL;
  halo_spmd_rule *rule = rule_new(p, instr);
  rule->passes = row.passes;
  row.make(p, rule, instr);
  /* Exchanges do not carry sizes that are known at run time only. */
  bool whole = false;
  for (int32_t t = 0; t < rule->tensors; t++) whole |= halo_shape_is_dynamic(rule_shape(rule, t));
  for (int32_t f = 0; f < rule->factors && whole; f++) rule->kind[f] = HALO_SPMD_WHOLE;
  return rule;
}

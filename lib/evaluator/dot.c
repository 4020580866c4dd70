/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/dot.c: dot and convolution. */
#include "base/memory.h"
#include "evaluator/eval.h"

/* An array's elements as numbers, decoded once: 64-bit integers, doubles, or pairs of doubles. */
typedef struct dot_numbers {
  int64_t *i;
  double *f; /* one an element, or two when the products are complex */
} dot_numbers;

/* The type of the products: one that holds the operands and the result. */
typedef enum dot_mode { DOT_PRED, DOT_INTEGER, DOT_REAL, DOT_COMPLEX } dot_mode;

typedef struct dot_sum {
  bool any;
  uint64_t i;
  long double re, im;
} dot_sum;

static dot_mode dot_mode_of(const halo_instr *instr) {
  halo_type types[] = {instr->shape->type, instr->operands[0]->shape->type,
                       instr->operands[1]->shape->type};
  dot_mode mode = types[0] == HALO_PRED ? DOT_PRED : DOT_INTEGER;
  for (int i = 0; i < 3; i++) {
    if (halo_type_is_float(types[i]) && mode != DOT_COMPLEX) mode = DOT_REAL;
    if (halo_type_is_complex(types[i])) mode = DOT_COMPLEX;
  }
  return mode;
}

static halo_status dot_decode(const halo_literal *literal, dot_mode mode, dot_numbers *out) {
  int64_t total = halo_shape_element_count(literal->shape);
  void *memory;
  HALO_TRY(halo_try_alloc((size_t)total * sizeof(double) * 2, "a decoded operand", &memory));
  *out = (dot_numbers){.i = memory, .f = memory};
  for (int64_t k = 0; k < total; k++) {
    if (mode == DOT_PRED || mode == DOT_INTEGER) {
      out->i[k] = halo_literal_get_i64(literal, k);
    } else if (mode == DOT_REAL) {
      out->f[k] = halo_literal_get_f64(literal, k);
    } else {
      halo_literal_get_c128(literal, k, &out->f[2 * k], &out->f[2 * k + 1]);
    }
  }
  return HALO_OK;
}

static inline void dot_add_product(dot_sum *sum, dot_mode mode, const dot_numbers *a, int64_t i,
                                   const dot_numbers *b, int64_t j) {
  switch (mode) {
    case DOT_PRED: sum->any |= a->i[i] && b->i[j]; break;
    case DOT_INTEGER: sum->i += (uint64_t)a->i[i] * (uint64_t)b->i[j]; break;
    case DOT_REAL: sum->re += (long double)a->f[i] * b->f[j]; break;
    case DOT_COMPLEX: {
      long double are = a->f[2 * i], aim = a->f[2 * i + 1];
      long double bre = b->f[2 * j], bim = b->f[2 * j + 1];
      sum->re += are * bre - aim * bim;
      sum->im += are * bim + aim * bre;
      break;
    }
  }
}

static eval_scalar dot_result(const dot_sum *sum, dot_mode mode, halo_type type) {
  halo_type part = halo_type_real_part(type);
  bool fits = mode == DOT_PRED || mode == DOT_INTEGER || halo_type_is_float(part);
  if (!fits)
    return eval_convert(HALO_F64, type, (eval_scalar){eval_encode_long(HALO_F64, sum->re), 0});
  if (!halo_type_is_complex(type) && mode == DOT_COMPLEX) mode = DOT_REAL;
  switch (mode) {
    case DOT_PRED: return (eval_scalar){sum->any, 0};
    case DOT_INTEGER: return (eval_scalar){eval_wrap(type, sum->i), 0};
    case DOT_REAL: return (eval_scalar){eval_encode_long(part, sum->re), 0};
    case DOT_COMPLEX:
      return (eval_scalar){eval_encode_long(part, sum->re), eval_encode_long(part, sum->im)};
  }
  return (eval_scalar){0, 0};
}

/* ---- Dot ---- */

/* One side's dimensions of one kind: extents and strides, in the order that matters. */
typedef struct dot_group {
  int rank;
  int64_t dims[HALO_MAX_RANK], strides[HALO_MAX_RANK];
} dot_group;

typedef struct dot_side {
  dot_group batch, contracting, kept;
} dot_side;

static void dot_group_add(dot_group *group, const halo_shape *shape, const int64_t *strides,
                          int64_t d) {
  group->dims[group->rank] = shape->dims[d];
  group->strides[group->rank++] = strides[d];
}

static void dot_split(const halo_instr *instr, const halo_shape *shape, halo_attr_id batch_id,
                      halo_attr_id contracting_id, dot_side *side) {
  int32_t batch_count, contracting_count;
  const int64_t *batch = halo_instr_ints(instr, batch_id, &batch_count);
  const int64_t *contracting = halo_instr_ints(instr, contracting_id, &contracting_count);
  int64_t strides[HALO_MAX_RANK];
  bool used[HALO_MAX_RANK] = {false};
  eval_strides(shape->rank, shape->dims, strides);
  *side = (dot_side){.batch.rank = 0};
  for (int32_t i = 0; i < batch_count; i++) {
    dot_group_add(&side->batch, shape, strides, batch[i]);
    used[batch[i]] = true;
  }
  for (int32_t i = 0; i < contracting_count; i++) {
    dot_group_add(&side->contracting, shape, strides, contracting[i]);
    used[contracting[i]] = true;
  }
  for (int d = 0; d < shape->rank; d++) {
    if (!used[d]) dot_group_add(&side->kept, shape, strides, d);
  }
}

static void dot_one(dot_sum *sum, dot_mode mode, const dot_numbers *a, const dot_side *lhs,
                    int64_t i, const dot_numbers *b, const dot_side *rhs, int64_t j) {
  int rank = lhs->contracting.rank;
  int64_t index[HALO_MAX_RANK] = {0};
  if (eval_count(rank, lhs->contracting.dims) == 0) return;
  do {
    dot_add_product(sum, mode, a, i + eval_offset(rank, index, lhs->contracting.strides), b,
                    j + eval_offset(rank, index, rhs->contracting.strides));
  } while (eval_next(rank, lhs->contracting.dims, index));
}

static void dot_all(const dot_numbers *a, const dot_side *lhs, const dot_numbers *b,
                    const dot_side *rhs, dot_mode mode, halo_literal *out) {
  int64_t batch[HALO_MAX_RANK] = {0}, m[HALO_MAX_RANK] = {0}, n[HALO_MAX_RANK] = {0}, at = 0;
  if (halo_shape_element_count(out->shape) == 0) return;
  do {
    int64_t lhs_base = eval_offset(lhs->batch.rank, batch, lhs->batch.strides);
    int64_t rhs_base = eval_offset(rhs->batch.rank, batch, rhs->batch.strides);
    do {
      int64_t i = lhs_base + eval_offset(lhs->kept.rank, m, lhs->kept.strides);
      do {
        int64_t j = rhs_base + eval_offset(rhs->kept.rank, n, rhs->kept.strides);
        dot_sum sum = {0};
        dot_one(&sum, mode, a, lhs, i, b, rhs, j);
        eval_set(out, at++, dot_result(&sum, mode, out->shape->type));
      } while (eval_next(rhs->kept.rank, rhs->kept.dims, n));
    } while (eval_next(lhs->kept.rank, lhs->kept.dims, m));
  } while (eval_next(lhs->batch.rank, lhs->batch.dims, batch));
}

halo_status eval_dot(const eval_call *call, halo_literal **out) {
  if (call->instr->operand_count != 2) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s: sparse dot on the host", call->instr->name);
  }
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  dot_mode mode = dot_mode_of(call->instr);
  dot_side lhs, rhs;
  dot_split(call->instr, call->operands[0]->shape, HALO_ATTR_LHS_BATCH_DIMS,
            HALO_ATTR_LHS_CONTRACTING_DIMS, &lhs);
  dot_split(call->instr, call->operands[1]->shape, HALO_ATTR_RHS_BATCH_DIMS,
            HALO_ATTR_RHS_CONTRACTING_DIMS, &rhs);
  dot_numbers a = {0}, b = {0};
  halo_status status = dot_decode(call->operands[0], mode, &a);
  if (status == HALO_OK) status = dot_decode(call->operands[1], mode, &b);
  if (status == HALO_OK) dot_all(&a, &lhs, &b, &rhs, mode, *out);
  halo_free(a.i);
  halo_free(b.i);
  return status;
}

/* ---- Convolution ---- */

typedef struct conv_plan {
  const halo_conv_dims *dims;
  halo_window_dim window[HALO_MAX_RANK];
  const halo_shape *lhs, *rhs, *out;
  int64_t lhs_strides[HALO_MAX_RANK], rhs_strides[HALO_MAX_RANK];
  int64_t feature_groups, batch_groups;
} conv_plan;

/* The sum for one output element. */
static void conv_one(const conv_plan *p, const int64_t *at, dot_mode mode, const dot_numbers *a,
                     const dot_numbers *b, dot_sum *sum) {
  const halo_conv_dims *dims = p->dims;
  int spatial = dims->spatial;
  int64_t o = at[dims->out_feature], n = at[dims->out_batch];
  int64_t outputs = p->rhs->dims[dims->rhs_output], inputs = p->rhs->dims[dims->rhs_input];
  int64_t group = o / (outputs / p->feature_groups);
  int64_t batch = p->lhs->dims[dims->lhs_batch];
  int64_t row = o / (outputs / p->batch_groups) * (batch / p->batch_groups) + n;
  int64_t sizes[HALO_MAX_RANK], k[HALO_MAX_RANK] = {0};
  for (int s = 0; s < spatial; s++) sizes[s] = p->rhs->dims[dims->rhs_spatial[s]];
  do {
    int64_t i =
        row * p->lhs_strides[dims->lhs_batch] + group * inputs * p->lhs_strides[dims->lhs_feature];
    int64_t j = o * p->rhs_strides[dims->rhs_output];
    bool inside = true;
    for (int s = 0; s < spatial && inside; s++) {
      const halo_window_dim *w = &p->window[s];
      int64_t t = at[dims->out_spatial[s]] * w->stride - w->pad_low + k[s] * w->window_dilation;
      int64_t extent = p->lhs->dims[dims->lhs_spatial[s]];
      inside = t >= 0 && t % w->base_dilation == 0 && t / w->base_dilation < extent;
      i += t / w->base_dilation * p->lhs_strides[dims->lhs_spatial[s]];
      j += (w->reversal ? sizes[s] - 1 - k[s] : k[s]) * p->rhs_strides[dims->rhs_spatial[s]];
    }
    for (int64_t c = 0; c < inputs && inside; c++) {
      dot_add_product(sum, mode, a, i + c * p->lhs_strides[dims->lhs_feature], b,
                      j + c * p->rhs_strides[dims->rhs_input]);
    }
  } while (eval_next(spatial, sizes, k));
}

halo_status eval_convolution(const eval_call *call, halo_literal **out) {
  const halo_attr *labels = halo_instr_attr(call->instr, HALO_ATTR_DIM_LABELS);
  const halo_attr *window = halo_instr_attr(call->instr, HALO_ATTR_WINDOW);
  if (!labels || call->instr->operand_count != 2) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s: this convolution on the host", call->instr->name);
  }
  conv_plan plan = {.dims = labels->conv,
                    .lhs = call->operands[0]->shape,
                    .rhs = call->operands[1]->shape,
                    .out = call->instr->shape,
                    .feature_groups = halo_instr_int(call->instr, HALO_ATTR_FEATURE_GROUP_COUNT, 1),
                    .batch_groups = halo_instr_int(call->instr, HALO_ATTR_BATCH_GROUP_COUNT, 1)};
  for (int s = 0; s < plan.dims->spatial; s++) {
    if (window && s < window->window.count) {
      plan.window[s] = window->window.data[s];
    } else {
      plan.window[s] = (halo_window_dim){.size = plan.rhs->dims[plan.dims->rhs_spatial[s]],
                                         .stride = 1,
                                         .base_dilation = 1,
                                         .window_dilation = 1};
    }
  }
  eval_strides(plan.lhs->rank, plan.lhs->dims, plan.lhs_strides);
  eval_strides(plan.rhs->rank, plan.rhs->dims, plan.rhs_strides);
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  dot_mode mode = dot_mode_of(call->instr);
  dot_numbers a = {0}, b = {0};
  halo_status status = dot_decode(call->operands[0], mode, &a);
  if (status == HALO_OK) status = dot_decode(call->operands[1], mode, &b);
  int64_t at[HALO_MAX_RANK] = {0}, total = halo_shape_element_count(plan.out);
  bool empty = halo_shape_element_count(plan.rhs) == 0;
  for (int64_t i = 0; i < total && status == HALO_OK; i++) {
    dot_sum sum = {0};
    if (!empty) conv_one(&plan, at, mode, &a, &b, &sum);
    eval_set(*out, i, dot_result(&sum, mode, plan.out->type));
    eval_next(plan.out->rank, plan.out->dims, at);
  }
  halo_free(a.i);
  halo_free(b.i);
  return status;
}

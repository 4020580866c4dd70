/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/norm.c: batch normalisation, by the sums XLA expands it to, rounded at the end. */
#include "base/memory.h"
#include "evaluator/eval.h"

#include <math.h>

/* An array by feature: feature f holds `outer` runs of `inner` neighbours each. */
typedef struct norm_plan {
  int64_t features, outer, inner;
  long double count, epsilon;
} norm_plan;

static norm_plan norm_of(const eval_call *call) {
  const halo_shape *shape = call->operands[0]->shape;
  int feature = (int)halo_instr_int(call->instr, HALO_ATTR_FEATURE_INDEX, 0);
  const halo_attr *epsilon = halo_instr_attr(call->instr, HALO_ATTR_EPSILON);
  norm_plan p = {.features = shape->dims[feature],
                 .outer = eval_count(feature, shape->dims),
                 .inner = eval_count(shape->rank - feature - 1, shape->dims + feature + 1)};
  p.count = (long double)p.outer * p.inner;
  /* The attribute is a number of the operand's type. */
  uint64_t bits = eval_encode(shape->type, epsilon ? epsilon->f : 0);
  p.epsilon = eval_decode(shape->type, bits);
  return p;
}

/* The position of the i-th element of feature f, i below outer * inner. */
static int64_t norm_at(const norm_plan *p, int64_t f, int64_t i) {
  return (i / p->inner * p->features + f) * p->inner + i % p->inner;
}

static void norm_set(halo_literal *literal, int64_t i, long double value) {
  eval_set(literal, i, (eval_scalar){eval_encode_long(literal->shape->type, value), 0});
}

halo_status eval_batch_norm_training(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  norm_plan p = norm_of(call);
  halo_literal *x = call->operands[0];
  for (int64_t f = 0; f < p.features; f++) {
    long double sum = 0, squares = 0;
    for (int64_t i = 0; i < p.outer * p.inner; i++) {
      long double value = halo_literal_get_f64(x, norm_at(&p, f, i));
      sum += value;
      squares += value * value;
    }
    long double mean = sum / p.count, variance = squares / p.count - mean * mean;
    long double scale = halo_literal_get_f64(call->operands[1], f) / sqrtl(variance + p.epsilon);
    long double offset = halo_literal_get_f64(call->operands[2], f);
    for (int64_t i = 0; i < p.outer * p.inner; i++) {
      int64_t at = norm_at(&p, f, i);
      norm_set((*out)->elements[0], at, (halo_literal_get_f64(x, at) - mean) * scale + offset);
    }
    norm_set((*out)->elements[1], f, mean);
    norm_set((*out)->elements[2], f, variance);
  }
  return HALO_OK;
}

halo_status eval_batch_norm_inference(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  norm_plan p = norm_of(call);
  for (int64_t f = 0; f < p.features; f++) {
    long double mean = halo_literal_get_f64(call->operands[3], f);
    long double variance = halo_literal_get_f64(call->operands[4], f);
    long double scale = halo_literal_get_f64(call->operands[1], f) / sqrtl(variance + p.epsilon);
    long double offset = halo_literal_get_f64(call->operands[2], f) - mean * scale;
    for (int64_t i = 0; i < p.outer * p.inner; i++) {
      int64_t at = norm_at(&p, f, i);
      norm_set(*out, at, halo_literal_get_f64(call->operands[0], at) * scale + offset);
    }
  }
  return HALO_OK;
}

halo_status eval_batch_norm_grad(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  norm_plan p = norm_of(call);
  halo_literal *x = call->operands[0], *dy = call->operands[4];
  for (int64_t f = 0; f < p.features; f++) {
    long double mean = halo_literal_get_f64(call->operands[2], f), sum = 0, product = 0;
    long double variance = halo_literal_get_f64(call->operands[3], f) + p.epsilon;
    long double scale = halo_literal_get_f64(call->operands[1], f);
    for (int64_t i = 0; i < p.outer * p.inner; i++) {
      int64_t at = norm_at(&p, f, i);
      long double g = halo_literal_get_f64(dy, at);
      sum += g;
      product += g * (halo_literal_get_f64(x, at) - mean);
    }
    long double factor = scale / sqrtl(variance) / p.count;
    for (int64_t i = 0; i < p.outer * p.inner; i++) {
      int64_t at = norm_at(&p, f, i);
      long double centred = halo_literal_get_f64(x, at) - mean;
      norm_set(
          (*out)->elements[0], at,
          factor * (p.count * halo_literal_get_f64(dy, at) - sum - centred * product / variance));
    }
    norm_set((*out)->elements[1], f, product / sqrtl(variance));
    norm_set((*out)->elements[2], f, sum);
  }
  return HALO_OK;
}

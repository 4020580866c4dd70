/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/norm.c: batch normalisation as sums and elementwise operations, by the formulas that XLA
 * uses: the variance is the mean of squares less the square of the mean. */
#include "passes/expand/expand.h"

/* One batch normalisation in the making: [x] is the array, [f] its feature dimension. */
typedef struct norm_parts {
  halo_expander *x;
  halo_instr *array;
  int64_t feature, others[HALO_MAX_RANK];
  int32_t other_count;
  halo_instr *count, *epsilon; /* elements a feature, as an array by feature; likewise epsilon */
} norm_parts;

/* How many elements a feature has: a number, times what is known at run time only (which is asked for). */
static halo_instr *norm_count(halo_expander *x, halo_instr *array, int64_t feature) {
  const halo_shape *shape = array->shape;
  double number = 1;
  halo_instr *count = NULL;
  for (int64_t d = 0; d < shape->rank; d++) {
    if (d == feature) continue;
    if (!halo_shape_dim_is_dynamic(shape, (int)d)) {
      number *= (double)shape->dims[d];
      continue;
    }
    halo_attr attr = halo_rewrite_list_attr(x->r->computation->module, HALO_ATTR_DIMENSIONS, &d, 1);
    halo_instr *size = halo_expand_op(x, HALO_OP_GET_DIMENSION_SIZE, &array, 1, &attr, 1);
    size = halo_expand_convert(x, size, shape->type);
    count = count ? halo_expand_binary(x, HALO_OP_MULTIPLY, count, size) : size;
  }
  halo_instr *fixed = halo_expand_scalar(x, shape->type, number);
  return count ? halo_expand_binary(x, HALO_OP_MULTIPLY, count, fixed) : fixed;
}

static norm_parts norm_begin(halo_expander *x, halo_instr *instr, halo_instr *by_feature) {
  norm_parts n = {.x = x, .array = instr->operands[0]};
  const halo_shape *shape = n.array->shape;
  const halo_attr *epsilon = halo_instr_attr(instr, HALO_ATTR_EPSILON);
  n.feature = halo_instr_int(instr, HALO_ATTR_FEATURE_INDEX, 0);
  for (int d = 0; d < shape->rank; d++) {
    if (d == n.feature) continue;
    n.others[n.other_count++] = d;
  }
  n.count = halo_expand_splat(x, norm_count(x, n.array, n.feature), by_feature->shape);
  n.epsilon = halo_expand_splat(x, halo_expand_scalar(x, shape->type, epsilon ? epsilon->f : 0),
                                by_feature->shape);
  return n;
}

/* A value by feature as an array. */
static halo_instr *norm_spread(const norm_parts *n, halo_instr *value) {
  return halo_expand_broadcast(n->x, value, &n->feature, n->array->shape);
}

static halo_instr *norm_sum(const norm_parts *n, halo_instr *array) {
  return halo_expand_sum(n->x, array, n->others, n->other_count);
}

static halo_instr *norm_rsqrt(const norm_parts *n, halo_instr *variance) {
  return halo_expand_unary(n->x, HALO_OP_RSQRT,
                           halo_expand_binary(n->x, HALO_OP_ADD, variance, n->epsilon));
}

#define MUL(a, b) halo_expand_binary(x, HALO_OP_MULTIPLY, a, b)
#define SUB(a, b) halo_expand_binary(x, HALO_OP_SUBTRACT, a, b)
#define ADD(a, b) halo_expand_binary(x, HALO_OP_ADD, a, b)
#define DIV(a, b) halo_expand_binary(x, HALO_OP_DIVIDE, a, b)

halo_instr *halo_expand_batch_norm_training(halo_expander *x, halo_instr *instr) {
  halo_instr *scale = instr->operands[1], *offset = instr->operands[2];
  norm_parts n = norm_begin(x, instr, scale);
  halo_instr *mean = DIV(norm_sum(&n, n.array), n.count);
  halo_instr *squares = DIV(norm_sum(&n, MUL(n.array, n.array)), n.count);
  halo_instr *variance = SUB(squares, MUL(mean, mean));
  halo_instr *centered = SUB(n.array, norm_spread(&n, mean));
  halo_instr *normal = MUL(centered, norm_spread(&n, norm_rsqrt(&n, variance)));
  halo_instr *out = ADD(MUL(normal, norm_spread(&n, scale)), norm_spread(&n, offset));
  return halo_expand_tuple(x, (halo_instr *[]){out, mean, variance}, 3);
}

halo_instr *halo_expand_batch_norm_inference(halo_expander *x, halo_instr *instr) {
  halo_instr *offset = instr->operands[2], *mean = instr->operands[3];
  norm_parts n = norm_begin(x, instr, mean);
  halo_instr *scale = MUL(instr->operands[1], norm_rsqrt(&n, instr->operands[4]));
  halo_instr *shift = SUB(offset, MUL(mean, scale));
  return ADD(MUL(n.array, norm_spread(&n, scale)), norm_spread(&n, shift));
}

halo_instr *halo_expand_batch_norm_grad(halo_expander *x, halo_instr *instr) {
  halo_instr *scale = instr->operands[1], *mean = instr->operands[2];
  halo_instr *variance = instr->operands[3], *dy = instr->operands[4];
  norm_parts n = norm_begin(x, instr, scale);
  halo_instr *centered = SUB(n.array, norm_spread(&n, mean));
  halo_instr *sum = norm_sum(&n, MUL(dy, centered));
  halo_instr *rsqrt = norm_rsqrt(&n, variance);
  halo_instr *d_offset = norm_sum(&n, dy), *d_scale = MUL(sum, rsqrt);
  /* dx = scale rsqrt / N (N dy - d_offset - centered sum / (variance + epsilon)) */
  halo_instr *factor = DIV(MUL(scale, rsqrt), n.count);
  halo_instr *slope = DIV(sum, ADD(variance, n.epsilon));
  halo_instr *inner = SUB(MUL(norm_spread(&n, n.count), dy), norm_spread(&n, d_offset));
  inner = SUB(inner, MUL(centered, norm_spread(&n, slope)));
  halo_instr *dx = MUL(norm_spread(&n, factor), inner);
  return halo_expand_tuple(x, (halo_instr *[]){dx, d_scale, d_offset}, 3);
}

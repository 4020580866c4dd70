/* SPDX-License-Identifier: Apache-2.0 */
/* generate_products.c: random dots and convolutions. */
#include "generator.h"

#include <math.h>

/* What is known of sums of `n` products of elements of a and b; false: they may be too large. */
static bool gen_sum_of_products(halo_type type, int64_t n, gen_value a, gen_value b,
                                gen_value *out) {
  double parts = halo_type_is_complex(type) ? 2 : 1;
  double size = parts * (double)n * a.size * b.size;
  bool floating = halo_type_is_float(type) || halo_type_is_complex(type);
  if (floating && size > 16384) return false;
  bool exact = a.whole && b.whole && a.error == 0 && b.error == 0 && size <= gen_whole_limit(type);
  *out = (gen_value){.size = fmax(size, 1), .whole = exact};
  if (floating && !exact) {
    out->error = parts * (double)n * (a.size * b.error + b.size * a.error + a.error * b.error) +
                 (double)(n + 2) * size * gen_epsilon(type);
  }
  return true;
}

/* a against another array with one dimension of the same extent; or, of two partners, all of it. */
bool gen_dot(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  halo_type type = shape->type;
  int rank = shape->rank;
  if (rank == 0 || rank > 4) return false;
  int64_t contracting = gen_below(g, (uint32_t)rank), batch[HALO_MAX_RANK], rhs_dims[4];
  int64_t rhs_batch[HALO_MAX_RANK], rhs_contracting, n = shape->dims[contracting], total = 1;
  int batches = 0, at = 0;
  for (int d = 0; d < rank; d++) {
    if (d == contracting || !gen_chance(g, 30)) continue;
    batch[batches] = d;
    rhs_batch[batches++] = at;
    rhs_dims[at++] = shape->dims[d];
  }
  rhs_contracting = at;
  rhs_dims[at++] = n;
  if (at < 4 && gen_chance(g, 70)) rhs_dims[at++] = 1 + gen_below(g, 9);
  for (int d = 0; d < at; d++) total *= rhs_dims[d];
  if (n > 128 || total * halo_shape_element_count(shape) > 200000) return false;
  gen_value like = {.instr = gen_random_constant(g, type, at, rhs_dims).instr};
  if (!like.instr) return false;
  gen_value b = gen_partner(g, like);
  gen_value result;
  if (!gen_sum_of_products(type, n, a, b, &result)) return false;
  halo_instr *operands[2] = {a.instr, b.instr};
  halo_attr attrs[4] = {gen_ints(g, HALO_ATTR_LHS_CONTRACTING_DIMS, 1, &contracting),
                        gen_ints(g, HALO_ATTR_RHS_CONTRACTING_DIMS, 1, &rhs_contracting),
                        gen_ints(g, HALO_ATTR_LHS_BATCH_DIMS, batches, batch),
                        gen_ints(g, HALO_ATTR_RHS_BATCH_DIMS, batches, rhs_batch)};
  result.instr = gen_emit(g, HALO_OP_DOT, NULL, 2, operands, batches ? 4 : 2, attrs);
  if (result.instr && halo_shape_element_count(result.instr->shape) > 4 * GEN_MAX_ELEMENTS) {
    return false;
  }
  gen_push(g, result);
  return result.instr != NULL;
}

/* Parts of the dimensions in any order: two that are not spatial, and the spatial ones. */
static void gen_labels(generator *g, int spatial, int *first, int *second, int *rest) {
  int order[HALO_MAX_RANK] = {0};
  for (int i = 1; i < spatial + 2; i++) {
    int other = (int)gen_below(g, (uint32_t)i + 1);
    order[i] = order[other];
    order[other] = i;
  }
  *first = order[0];
  *second = order[1];
  for (int i = 0; i < spatial; i++) rest[i] = order[2 + i];
}

static halo_window_dim gen_window_dim(generator *g) {
  halo_window_dim w = {.size = 1 + gen_below(g, 3),
                       .stride = gen_chance(g, 30) ? 1 + gen_below(g, 3) : 1,
                       .pad_low = gen_chance(g, 50) ? (int64_t)gen_below(g, 5) - 2 : 0,
                       .pad_high = gen_chance(g, 50) ? (int64_t)gen_below(g, 5) - 2 : 0,
                       .base_dilation = gen_chance(g, 30) ? 1 + gen_below(g, 3) : 1,
                       .window_dilation = gen_chance(g, 30) ? 1 + gen_below(g, 3) : 1,
                       .reversal = gen_chance(g, 30)};
  return w;
}

/* A group count that divides `count`. */
static int64_t gen_groups(generator *g, int64_t count) {
  int64_t groups = 1 + gen_below(g, 4);
  return count > 0 && count % groups == 0 ? groups : 1;
}

/* a, with any dimension numbers, under a small kernel. */
bool gen_convolution(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  halo_type type = shape->type;
  int spatial = shape->rank - 2;
  if (spatial < 0 || spatial > 3) return false;
  halo_conv_dims *dims = halo_arena_new(&g->module->arena, halo_conv_dims);
  *dims = (halo_conv_dims){.spatial = spatial};
  gen_labels(g, spatial, &dims->lhs_batch, &dims->lhs_feature, dims->lhs_spatial);
  gen_labels(g, spatial, &dims->rhs_input, &dims->rhs_output, dims->rhs_spatial);
  gen_labels(g, spatial, &dims->out_batch, &dims->out_feature, dims->out_spatial);
  int64_t batch = shape->dims[dims->lhs_batch], features = shape->dims[dims->lhs_feature];
  int64_t feature_groups = gen_groups(g, features), batch_groups = 1;
  if (feature_groups == 1) batch_groups = gen_groups(g, batch);
  int64_t outputs = feature_groups * batch_groups * (1 + gen_below(g, 4));
  int64_t rhs_dims[HALO_MAX_RANK], n = features / feature_groups, total = 1;
  rhs_dims[dims->rhs_input] = n;
  rhs_dims[dims->rhs_output] = outputs;
  halo_window_dim window[3];
  for (int d = 0; d < spatial; d++) {
    window[d] = gen_window_dim(g);
    n *= rhs_dims[dims->rhs_spatial[d]] = window[d].size;
  }
  for (int d = 0; d < spatial + 2; d++) total *= rhs_dims[d];
  if (n > 128 || total > GEN_MAX_ELEMENTS ||
      halo_shape_element_count(shape) * n * outputs > 400000) {
    return false;
  }
  gen_value like = {.instr = gen_random_constant(g, type, spatial + 2, rhs_dims).instr};
  if (!like.instr) return false;
  gen_value b = gen_partner(g, like), result;
  if (!b.instr || !gen_sum_of_products(type, n, a, b, &result)) return false;
  halo_instr *operands[2] = {a.instr, b.instr};
  halo_attr attrs[4] = {{.id = HALO_ATTR_DIM_LABELS, .conv = dims},
                        gen_int(HALO_ATTR_FEATURE_GROUP_COUNT, feature_groups),
                        gen_int(HALO_ATTR_BATCH_GROUP_COUNT, batch_groups),
                        {.id = HALO_ATTR_WINDOW}};
  attrs[3].window.data =
      halo_arena_copy(&g->module->arena, window, sizeof *window * (size_t)spatial);
  attrs[3].window.count = spatial;
  result.instr = gen_emit(g, HALO_OP_CONVOLUTION, NULL, 2, operands, spatial > 0 ? 4 : 3, attrs);
  if (result.instr && halo_shape_element_count(result.instr->shape) > 4 * GEN_MAX_ELEMENTS) {
    return false;
  }
  gen_push(g, result);
  return result.instr != NULL;
}

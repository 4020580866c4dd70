/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_dot.c: inference of the dots and of convolution. */
#include "hlo/infer_util.h"

/* A dimension list that names one side's batch or contracting dimensions. */
typedef struct dot_list {
  const int64_t *dims;
  int32_t count;
} dot_list;

typedef struct dot_sides {
  const halo_shape *lhs, *rhs;
  dot_list lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  bool lhs_used[HALO_MAX_RANK], rhs_used[HALO_MAX_RANK];
} dot_sides;

static dot_list dot_list_of(const halo_instr *instr, halo_attr_id id) {
  dot_list list;
  list.dims = halo_instr_ints(instr, id, &list.count);
  return list;
}

static halo_status dot_check_pairs(const halo_instr *instr, const dot_sides *sides,
                                   const dot_list *lhs, const dot_list *rhs, const char *what) {
  if (lhs->count != rhs->count) {
    return halo_infer_fail(instr, "the sides have different numbers of %s dimensions", what);
  }
  for (int32_t i = 0; i < lhs->count; i++) {
    if (sides->lhs->dims[lhs->dims[i]] != sides->rhs->dims[rhs->dims[i]]) {
      return halo_infer_fail(instr,
                             "%s dimension sizes differ: lhs dimension %lld is %lld, rhs "
                             "dimension %lld is %lld",
                             what, (long long)lhs->dims[i],
                             (long long)sides->lhs->dims[lhs->dims[i]], (long long)rhs->dims[i],
                             (long long)sides->rhs->dims[rhs->dims[i]]);
    }
  }
  return HALO_OK;
}

static halo_status dot_check(const halo_instr *instr, const halo_shape *lhs, const halo_shape *rhs,
                             dot_sides *sides) {
  *sides = (dot_sides){.lhs = lhs, .rhs = rhs};
  sides->lhs_batch = dot_list_of(instr, HALO_ATTR_LHS_BATCH_DIMS);
  sides->rhs_batch = dot_list_of(instr, HALO_ATTR_RHS_BATCH_DIMS);
  sides->lhs_contract = dot_list_of(instr, HALO_ATTR_LHS_CONTRACTING_DIMS);
  sides->rhs_contract = dot_list_of(instr, HALO_ATTR_RHS_CONTRACTING_DIMS);
  HALO_TRY(
      halo_infer_check_dims(instr, HALO_ATTR_LHS_BATCH_DIMS, lhs->rank, false, sides->lhs_used));
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_LHS_CONTRACTING_DIMS, lhs->rank, false,
                                 sides->lhs_used));
  HALO_TRY(
      halo_infer_check_dims(instr, HALO_ATTR_RHS_BATCH_DIMS, rhs->rank, false, sides->rhs_used));
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_RHS_CONTRACTING_DIMS, rhs->rank, false,
                                 sides->rhs_used));
  HALO_TRY(dot_check_pairs(instr, sides, &sides->lhs_batch, &sides->rhs_batch, "batch"));
  return dot_check_pairs(instr, sides, &sides->lhs_contract, &sides->rhs_contract, "contracting");
}

/* The preferred element type of a dot or convolution is its written result type. */
static halo_type dot_type(const halo_instr *instr, halo_type lhs, halo_type rhs) {
  if (instr->shape && halo_shape_is_array(instr->shape)) return instr->shape->type;
  return halo_infer_higher_type(lhs, rhs);
}

/* Batch dimensions, then those of each side that are neither batch nor contracting. */
static halo_status dot_result(const halo_instr *instr, halo_arena *arena, const dot_sides *sides,
                              const halo_shape **out) {
  int64_t dims[3 * HALO_MAX_RANK];
  bool dynamic[3 * HALO_MAX_RANK];
  int rank = 0;
  for (int32_t i = 0; i < sides->lhs_batch.count; i++) {
    int l = (int)sides->lhs_batch.dims[i], r = (int)sides->rhs_batch.dims[i];
    dims[rank] = sides->lhs->dims[l];
    dynamic[rank++] =
        halo_shape_dim_is_dynamic(sides->lhs, l) || halo_shape_dim_is_dynamic(sides->rhs, r);
  }
  for (int side = 0; side < 2; side++) {
    const halo_shape *shape = side ? sides->rhs : sides->lhs;
    const bool *used = side ? sides->rhs_used : sides->lhs_used;
    for (int i = 0; i < shape->rank; i++) {
      if (used[i]) continue;
      dims[rank] = shape->dims[i];
      dynamic[rank++] = halo_shape_dim_is_dynamic(shape, i);
    }
  }
  if (rank > HALO_MAX_RANK) return halo_infer_fail(instr, "the result's rank is too large");
  *out = halo_shape_new_full(arena, dot_type(instr, sides->lhs->type, sides->rhs->type), rank, dims,
                             dynamic, NULL);
  return HALO_OK;
}

halo_status halo_infer_dot(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  if (instr->operand_count > 2) {
    /* The sparse dots of 2024: metadata operands change what the sides' dimensions mean. */
    if (!halo_instr_attr(instr, HALO_ATTR_SPARSITY)) {
      return halo_infer_fail(instr, "expects 2 operands, but has %d", instr->operand_count);
    }
    return halo_infer_declared(instr, arena, out);
  }
  dot_sides sides;
  HALO_TRY(dot_check(instr, halo_infer_operand(instr, 0), halo_infer_operand(instr, 1), &sides));
  return dot_result(instr, arena, &sides, out);
}

halo_status halo_infer_scaled_dot(const halo_instr *instr, halo_arena *arena,
                                  const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  dot_sides sides;
  HALO_TRY(dot_check(instr, halo_infer_operand(instr, 0), halo_infer_operand(instr, 1), &sides));
  for (int side = 0; side < 2; side++) {
    const halo_shape *value = side ? sides.rhs : sides.lhs;
    const halo_shape *scale = halo_infer_operand(instr, 2 + side);
    bool fits = scale->rank == value->rank;
    for (int i = 0; fits && i < scale->rank; i++) {
      int64_t size = scale->dims[i];
      fits = size == value->dims[i] || (size > 0 && value->dims[i] % size == 0);
    }
    if (scale->rank != 0 && !fits) {
      return halo_infer_fail(instr, "each dimension of the %s scale must divide the operand's",
                             side ? "rhs" : "lhs");
    }
  }
  return dot_result(instr, arena, &sides, out);
}

/* ---- Ragged dot ---- */

static bool dot_list_has(const dot_list *list, int64_t dim) {
  for (int32_t i = 0; i < list->count; i++) {
    if (list->dims[i] == dim) return true;
  }
  return false;
}

/* group_sizes is [g], or [b.., x.., g] after the lhs dimensions before the ragged one. */
static halo_status dot_check_groups(const halo_instr *instr, const dot_sides *sides, int ragged) {
  const halo_shape *sizes = halo_infer_operand(instr, 2), *lhs = sides->lhs;
  if (!halo_type_is_integral(sizes->type)) {
    return halo_infer_fail(instr, "group_sizes must be integers");
  }
  if (sizes->rank == 1) return HALO_OK;
  int64_t prefix[HALO_MAX_RANK];
  int count = 0;
  bool contracting = dot_list_has(&sides->lhs_contract, ragged);
  for (int32_t i = 0; i < sides->lhs_batch.count; i++) {
    if (sides->lhs_batch.dims[i] == ragged) break;
    prefix[count++] = lhs->dims[sides->lhs_batch.dims[i]];
  }
  if (!dot_list_has(&sides->lhs_batch, ragged)) {
    for (int i = 0; i < ragged; i++) {
      bool same_kind = contracting ? dot_list_has(&sides->lhs_contract, i) : !sides->lhs_used[i];
      if (same_kind) prefix[count++] = lhs->dims[i];
    }
  }
  bool fits = sizes->rank == count + 1;
  for (int i = 0; fits && i < count; i++) fits = sizes->dims[i] == prefix[i];
  if (fits) return HALO_OK;
  return halo_infer_fail(instr,
                         "group_sizes must be [g], or [b.., x.., g] with the lhs dimensions "
                         "before the ragged one");
}

halo_status halo_infer_ragged_dot(const halo_instr *instr, halo_arena *arena,
                                  const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *lhs = halo_infer_operand(instr, 0), *rhs = halo_infer_operand(instr, 1);
  const halo_shape *sizes = halo_infer_operand(instr, 2);
  dot_sides sides;
  HALO_TRY(dot_check(instr, lhs, rhs, &sides));
  dot_list ragged = dot_list_of(instr, HALO_ATTR_LHS_RAGGED_DIMS);
  dot_list group = dot_list_of(instr, HALO_ATTR_RHS_GROUP_DIMS);
  if (ragged.count != 1) return halo_infer_fail(instr, "expects exactly one lhs ragged dimension");
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_LHS_RAGGED_DIMS, lhs->rank, false, NULL));
  /* Group dimensions may be neither batch nor contracting; afterwards they are no free ones. */
  HALO_TRY(
      halo_infer_check_dims(instr, HALO_ATTR_RHS_GROUP_DIMS, rhs->rank, false, sides.rhs_used));
  if (sizes->rank == 0) return halo_infer_fail(instr, "group_sizes must have a dimension");
  HALO_TRY(dot_check_groups(instr, &sides, (int)ragged.dims[0]));
  bool contracting = dot_list_has(&sides.lhs_contract, ragged.dims[0]);
  bool batch = dot_list_has(&sides.lhs_batch, ragged.dims[0]);
  int64_t groups = sizes->dims[sizes->rank - 1];
  if (group.count != (contracting || batch ? 0 : 1)) {
    return halo_infer_fail(instr, "this kind of ragged dimension takes %s rhs group dimension",
                           contracting || batch ? "no" : "one");
  }
  if (group.count == 1 && rhs->dims[group.dims[0]] != groups) {
    return halo_infer_fail(instr,
                           "the rhs group dimension must have one entry for each of the %lld "
                           "groups",
                           (long long)groups);
  }
  HALO_TRY(dot_result(instr, arena, &sides, out));
  if (!contracting) return HALO_OK;
  const halo_shape *plain = *out;
  if (plain->rank == HALO_MAX_RANK) return halo_infer_fail(instr, "the result's rank is too large");
  int64_t dims[HALO_MAX_RANK];
  dims[0] = groups;
  for (int i = 0; i < plain->rank; i++) dims[i + 1] = plain->dims[i];
  *out = halo_shape_new(arena, plain->type, plain->rank + 1, dims);
  return HALO_OK;
}

/* ---- Convolution ---- */

/* Batch-like, feature-like and spatial dimensions are together a permutation of 0..spatial+1. */
static halo_status dot_check_labels(const halo_instr *instr, const char *side, int spatial, int a,
                                    int b, const int *rest) {
  bool seen[HALO_MAX_RANK] = {false};
  for (int i = 0; i < spatial + 2; i++) {
    int dim = i == 0 ? a : i == 1 ? b : rest[i - 2];
    if (dim < 0 || dim >= spatial + 2 || seen[dim]) {
      return halo_infer_fail(instr, "dim_labels of the %s are not a permutation of its dimensions",
                             side);
    }
    seen[dim] = true;
  }
  return HALO_OK;
}

static halo_status dot_check_conv(const halo_instr *instr, const halo_conv_dims *conv,
                                  const halo_window_dim **window) {
  const halo_shape *lhs = halo_infer_operand(instr, 0), *rhs = halo_infer_operand(instr, 1);
  if (conv->spatial < 0 || conv->spatial + 2 > HALO_MAX_RANK) {
    return halo_infer_fail(instr, "dim_labels have too many dimensions");
  }
  if (lhs->rank != conv->spatial + 2 || rhs->rank != conv->spatial + 2) {
    return halo_infer_fail(instr, "both operands must have rank %d to fit dim_labels",
                           conv->spatial + 2);
  }
  HALO_TRY(dot_check_labels(instr, "lhs", conv->spatial, conv->lhs_batch, conv->lhs_feature,
                            conv->lhs_spatial));
  HALO_TRY(dot_check_labels(instr, "rhs", conv->spatial, conv->rhs_input, conv->rhs_output,
                            conv->rhs_spatial));
  HALO_TRY(dot_check_labels(instr, "result", conv->spatial, conv->out_batch, conv->out_feature,
                            conv->out_spatial));
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  int32_t count = attr ? attr->window.count : 0;
  if (count != conv->spatial) {
    return halo_infer_fail(instr, "the window has %d dimension%s, but there are %d spatial ones",
                           count, halo_plural(count), conv->spatial);
  }
  *window = attr ? attr->window.data : NULL;
  for (int i = 0; i < count; i++) {
    if ((*window)[i].size != rhs->dims[conv->rhs_spatial[i]]) {
      return halo_infer_fail(instr, "window size %d is %lld, but the kernel's is %lld", i,
                             (long long)(*window)[i].size,
                             (long long)rhs->dims[conv->rhs_spatial[i]]);
    }
  }
  return HALO_OK;
}

static halo_status dot_check_conv_groups(const halo_instr *instr, int64_t batch, int64_t features,
                                         int64_t kernel_in, int64_t kernel_out, int64_t fgc,
                                         int64_t bgc) {
  if (fgc <= 0 || bgc <= 0) return halo_infer_fail(instr, "group counts must be positive");
  if (fgc > 1 && bgc > 1) {
    return halo_infer_fail(instr, "only one of the two group counts may be above 1");
  }
  if (features % fgc != 0 || features / fgc != kernel_in) {
    return halo_infer_fail(instr, "%lld input features in %lld groups do not fit the kernel's %lld",
                           (long long)features, (long long)fgc, (long long)kernel_in);
  }
  if (kernel_out % fgc != 0 || kernel_out % bgc != 0) {
    return halo_infer_fail(instr, "the group counts must divide the kernel's %lld output features",
                           (long long)kernel_out);
  }
  if (batch % bgc != 0) {
    return halo_infer_fail(instr, "batch_group_count must divide the batch of %lld",
                           (long long)batch);
  }
  return HALO_OK;
}

halo_status halo_infer_convolution(const halo_instr *instr, halo_arena *arena,
                                   const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  if (instr->operand_count > 2) {
    /* Sparse and block-scaled convolutions carry further operands; their rules are the configs'. */
    if (!halo_instr_attr(instr, HALO_ATTR_SPARSITY_CONFIG) &&
        !halo_instr_attr(instr, HALO_ATTR_BLOCK_SCALING_CONFIG)) {
      return halo_infer_fail(instr, "expects 2 operands, but has %d", instr->operand_count);
    }
    return halo_infer_declared(instr, arena, out);
  }
  const halo_shape *lhs = halo_infer_operand(instr, 0), *rhs = halo_infer_operand(instr, 1);
  const halo_conv_dims *conv = halo_instr_attr(instr, HALO_ATTR_DIM_LABELS)->conv;
  const halo_window_dim *window = NULL;
  HALO_TRY(dot_check_conv(instr, conv, &window));
  int64_t fgc = halo_instr_int(instr, HALO_ATTR_FEATURE_GROUP_COUNT, 1);
  int64_t bgc = halo_instr_int(instr, HALO_ATTR_BATCH_GROUP_COUNT, 1);
  HALO_TRY(dot_check_conv_groups(instr, lhs->dims[conv->lhs_batch], lhs->dims[conv->lhs_feature],
                                 rhs->dims[conv->rhs_input], rhs->dims[conv->rhs_output], fgc,
                                 bgc));
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  dims[conv->out_batch] = lhs->dims[conv->lhs_batch] / bgc;
  dynamic[conv->out_batch] = halo_shape_dim_is_dynamic(lhs, conv->lhs_batch);
  dims[conv->out_feature] = rhs->dims[conv->rhs_output];
  dynamic[conv->out_feature] = halo_shape_dim_is_dynamic(rhs, conv->rhs_output);
  for (int i = 0; i < conv->spatial; i++) {
    int o = conv->out_spatial[i], l = conv->lhs_spatial[i];
    HALO_TRY(halo_infer_window_extent(instr, lhs->dims[l], &window[i], &dims[o]));
    dynamic[o] = halo_shape_dim_is_dynamic(lhs, l);
  }
  *out = halo_shape_new_full(arena, dot_type(instr, lhs->type, rhs->type), conv->spatial + 2, dims,
                             dynamic, NULL);
  return HALO_OK;
}

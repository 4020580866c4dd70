/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/combine.c: run-time sizes through operations that combine elements. What lies behind a size,
 * where they would see it, becomes what changes nothing. */
#include "passes/dynamic/dynamic.h"

#include <math.h>

/* The first size that any of the first `count` operands has for a dimension. */
static halo_instr *combine_size(const halo_dynamic *d, const halo_instr *instr, int32_t count,
                                int dim) {
  halo_instr *size = NULL;
  for (int32_t o = 0; o < count && !size; o++) {
    size = halo_dynamic_size(d, instr->operands[o], dim);
  }
  return size;
}

static void combine_set_all(halo_dynamic *d, halo_instr *instr, int dim, halo_instr *size) {
  for (int32_t leaf = 0; leaf < halo_shape_leaf_count(instr->shape); leaf++) {
    halo_dynamic_set_leaf(d, instr, leaf, dim, size);
  }
}

/* Inputs, then as many initial values, which padding becomes: XLA, too, takes them to change nothing. */
static void combine_mask(halo_dynamic *d, halo_instr *instr, int32_t inputs,
                         halo_instr *const *seen) {
  for (int32_t o = 0; o < inputs; o++) {
    halo_dynamic_mask_operand(d, instr, o, seen, instr->operands[inputs + o]);
  }
}

halo_instr *halo_sized_reduce(halo_dynamic *d, halo_instr *instr) {
  int32_t count, inputs = instr->operand_count / 2;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  halo_instr *seen[HALO_MAX_RANK] = {NULL};
  bool reduced[HALO_MAX_RANK] = {false};
  for (int32_t i = 0; i < count; i++) reduced[dims[i]] = true;
  for (int i = 0, to = 0; i < instr->operands[0]->shape->rank; i++) {
    halo_instr *size = combine_size(d, instr, inputs, i);
    if (reduced[i]) {
      seen[i] = size;
    } else {
      combine_set_all(d, instr, to++, size);
    }
  }
  combine_mask(d, instr, inputs, seen);
  return instr;
}

/* ---- Windows ---- */

/* Windows end within the valid elements unless there is padding behind these. */
static bool combine_sees_end(const halo_window_dim *window) { return window->pad_high > 0; }

halo_instr *halo_sized_reduce_window(halo_dynamic *d, halo_instr *instr) {
  int32_t inputs = instr->operand_count / 2;
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  halo_instr *seen[HALO_MAX_RANK] = {NULL};
  for (int i = 0; i < instr->operands[0]->shape->rank; i++) {
    halo_instr *size = combine_size(d, instr, inputs, i);
    if (!size) continue;
    if (combine_sees_end(&window->window.data[i])) seen[i] = size;
    combine_set_all(d, instr, i, halo_dynamic_window(d, size, &window->window.data[i]));
  }
  combine_mask(d, instr, inputs, seen);
  return instr;
}

/* What is never selected: the lowest number where the larger is, the highest where the smaller is; NULL when
 * the selection is something else. */
static halo_instr *combine_worst(halo_dynamic *d, const halo_instr *instr, halo_type type) {
  const halo_instr *root = halo_instr_comp(instr, HALO_ATTR_SELECT)->root;
  if (root->opcode != HALO_OP_COMPARE) return NULL;
  const halo_instr *a = root->operands[0], *b = root->operands[1];
  if (a->opcode != HALO_OP_PARAMETER || b->opcode != HALO_OP_PARAMETER) return NULL;
  int64_t direction = halo_instr_int(root, HALO_ATTR_DIRECTION, HALO_EQ);
  if (direction == HALO_EQ || direction == HALO_NE) return NULL;
  bool larger = direction == HALO_GE || direction == HALO_GT;
  if (a->parameter_number == 1) larger = !larger;
  halo_literal *literal = halo_literal_new_scalar(type);
  halo_literal_set_f64(literal, 0, larger ? -INFINITY : INFINITY);
  if (!isnan(halo_literal_get_f64(literal, 0))) {
    return halo_rewrite_make_constant(&d->r, d->x.like, literal);
  }
  halo_literal_release(literal); /* the type has no infinity */
  return NULL;
}

halo_instr *halo_sized_select_and_scatter(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *array = instr->operands[0], *source = instr->operands[1];
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  halo_instr *seen[HALO_MAX_RANK] = {NULL}, *windows[HALO_MAX_RANK] = {NULL};
  bool end = false;
  for (int i = 0; i < array->shape->rank; i++) {
    halo_instr *size = halo_dynamic_size(d, array, i);
    windows[i] = halo_dynamic_size(d, source, i);
    if (!size) continue;
    if (!windows[i]) windows[i] = halo_dynamic_window(d, size, &window->window.data[i]);
    if (combine_sees_end(&window->window.data[i])) seen[i] = size;
    end |= seen[i] != NULL;
    halo_dynamic_set(d, instr, i, size);
  }
  if (end) {
    halo_instr *worst = combine_worst(d, instr, array->shape->type);
    if (!worst) {
      return halo_dynamic_fail(d, instr,
                               "with padding behind a dimension that is known at run time only "
                               "must select by comparing");
    }
    halo_dynamic_mask_operand(d, instr, 0, seen, worst);
  }
  halo_dynamic_mask_operand(d, instr, 1, windows, instr->operands[2]);
  return instr;
}

/* ---- Products ---- */

static halo_instr *combine_zero(halo_dynamic *d, const halo_instr *array) {
  return halo_rewrite_make_scalar(&d->r, d->x.like, array->shape->type, 0);
}

/* Both sides, as infinity times zero is not zero. */
static void combine_mask_product(halo_dynamic *d, halo_instr *instr, halo_instr *const *lhs,
                                 halo_instr *const *rhs) {
  halo_dynamic_mask_operand(d, instr, 0, lhs, combine_zero(d, instr->operands[0]));
  halo_dynamic_mask_operand(d, instr, 1, rhs, combine_zero(d, instr->operands[1]));
}

static halo_instr *combine_pair(const halo_dynamic *d, const halo_instr *instr, int64_t lhs,
                                int64_t rhs) {
  halo_instr *size = halo_dynamic_size(d, instr->operands[0], (int)lhs);
  return size ? size : halo_dynamic_size(d, instr->operands[1], (int)rhs);
}

halo_instr *halo_sized_dot(halo_dynamic *d, halo_instr *instr) {
  int32_t batch, contracted, n;
  const int64_t *lb = halo_instr_ints(instr, HALO_ATTR_LHS_BATCH_DIMS, &batch);
  const int64_t *rb = halo_instr_ints(instr, HALO_ATTR_RHS_BATCH_DIMS, &n);
  const int64_t *lc = halo_instr_ints(instr, HALO_ATTR_LHS_CONTRACTING_DIMS, &contracted);
  const int64_t *rc = halo_instr_ints(instr, HALO_ATTR_RHS_CONTRACTING_DIMS, &n);
  halo_instr *lhs[HALO_MAX_RANK] = {NULL}, *rhs[HALO_MAX_RANK] = {NULL};
  bool used[2][HALO_MAX_RANK] = {{false}};
  int to = 0;
  if (instr->operand_count > 2) {
    return halo_dynamic_fail(d, instr,
                             "of sparse operands cannot run on dimensions that are known "
                             "at run time only");
  }
  for (int32_t i = 0; i < batch; i++) {
    used[0][lb[i]] = used[1][rb[i]] = true;
    halo_dynamic_set(d, instr, to++, combine_pair(d, instr, lb[i], rb[i]));
  }
  for (int32_t i = 0; i < contracted; i++) {
    used[0][lc[i]] = used[1][rc[i]] = true;
    lhs[lc[i]] = rhs[rc[i]] = combine_pair(d, instr, lc[i], rc[i]);
  }
  for (int side = 0; side < 2; side++) {
    const halo_instr *array = instr->operands[side];
    for (int i = 0; i < array->shape->rank; i++) {
      if (!used[side][i]) halo_dynamic_set(d, instr, to++, halo_dynamic_size(d, array, i));
    }
  }
  combine_mask_product(d, instr, lhs, rhs);
  return instr;
}

/* Groups and the kernel's own extent are static. */
static bool combine_conv_follows(const halo_dynamic *d, const halo_instr *instr,
                                 const halo_conv_dims *conv) {
  const halo_instr *image = instr->operands[0], *kernel = instr->operands[1];
  bool features = combine_pair(d, instr, conv->lhs_feature, conv->rhs_input) ||
                  halo_dynamic_size(d, kernel, conv->rhs_output);
  bool batch = halo_dynamic_size(d, image, conv->lhs_batch) != NULL;
  if (halo_instr_int(instr, HALO_ATTR_FEATURE_GROUP_COUNT, 1) > 1 && features) return false;
  if (halo_instr_int(instr, HALO_ATTR_BATCH_GROUP_COUNT, 1) > 1 && (features || batch))
    return false;
  for (int i = 0; i < conv->spatial; i++) {
    if (halo_dynamic_size(d, kernel, conv->rhs_spatial[i])) return false;
  }
  return instr->operand_count == 2;
}

halo_instr *halo_sized_convolution(halo_dynamic *d, halo_instr *instr) {
  const halo_conv_dims *conv = halo_instr_attr(instr, HALO_ATTR_DIM_LABELS)->conv;
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  const halo_instr *image = instr->operands[0], *kernel = instr->operands[1];
  halo_instr *lhs[HALO_MAX_RANK] = {NULL}, *rhs[HALO_MAX_RANK] = {NULL};
  if (!combine_conv_follows(d, instr, conv)) {
    return halo_dynamic_fail(d, instr,
                             "cannot run on groups, or a kernel, whose extent is known at run time "
                             "only");
  }
  lhs[conv->lhs_feature] = rhs[conv->rhs_input] =
      combine_pair(d, instr, conv->lhs_feature, conv->rhs_input);
  halo_dynamic_set(d, instr, conv->out_batch, halo_dynamic_size(d, image, conv->lhs_batch));
  halo_dynamic_set(d, instr, conv->out_feature, halo_dynamic_size(d, kernel, conv->rhs_output));
  for (int i = 0; i < conv->spatial; i++) {
    halo_instr *size = halo_dynamic_size(d, image, conv->lhs_spatial[i]);
    if (!size) continue;
    if (combine_sees_end(&window->window.data[i])) lhs[conv->lhs_spatial[i]] = size;
    halo_dynamic_set(d, instr, conv->out_spatial[i],
                     halo_dynamic_window(d, size, &window->window.data[i]));
  }
  combine_mask_product(d, instr, lhs, rhs);
  return instr;
}

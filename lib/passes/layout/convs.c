/* SPDX-License-Identifier: Apache-2.0 */
/* passes/layout/convs.c: what stands around convolutions and can be said in their attributes moves there: transposes
 * into dimension labels, a reversed kernel and a padded image into the window. Convolutions under windows
 * of one element become dots. */
#include "base/memory.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

#include <string.h>

static const halo_conv_dims *convs_dims(const halo_instr *conv) {
  return halo_instr_attr(conv, HALO_ATTR_DIM_LABELS)->conv;
}

static halo_conv_dims *convs_copy_dims(halo_rewriter *r, const halo_instr *conv) {
  const halo_conv_dims *from = convs_dims(conv);
  halo_conv_dims *dims = halo_arena_copy(&r->computation->module->arena, from, sizeof *dims);
  dims->text = NULL; /* it no longer says what they are */
  return dims;
}

/* A copy of the window to be changed; NULL without spatial dimensions. */
static halo_window_dim *convs_copy_window(halo_rewriter *r, const halo_instr *conv) {
  const halo_attr *window = halo_instr_attr(conv, HALO_ATTR_WINDOW);
  if (!window || window->window.count == 0) return NULL;
  return halo_arena_copy(&r->computation->module->arena, window->window.data,
                         sizeof(halo_window_dim) * (size_t)window->window.count);
}

static void convs_set_window(halo_instr *conv, const halo_window_dim *window) {
  halo_attr attr = *halo_instr_attr(conv, HALO_ATTR_WINDOW);
  attr.window.data = window;
  halo_instr_set_attr(conv, &attr);
}

static void convs_set_dims(halo_instr *conv, const halo_conv_dims *dims) {
  halo_instr_set_attr(conv, &(halo_attr){.id = HALO_ATTR_DIM_LABELS, .conv = dims});
}

static void convs_set_operand(halo_rewriter *r, halo_instr *conv, int side, halo_instr *operand) {
  conv->operands[side] = halo_rewrite_resolve(operand);
  r->changed = true;
}

/* ---- Operands ---- */

static void convs_fold_transpose(halo_rewriter *r, halo_instr *conv, int side) {
  halo_instr *transpose = conv->operands[side];
  int32_t rank;
  const int64_t *map = halo_instr_ints(transpose, HALO_ATTR_DIMENSIONS, &rank);
  halo_conv_dims *dims = convs_copy_dims(r, conv);
  int *first = side ? &dims->rhs_input : &dims->lhs_batch;
  int *second = side ? &dims->rhs_output : &dims->lhs_feature;
  int *spatial = side ? dims->rhs_spatial : dims->lhs_spatial;
  *first = (int)map[*first];
  *second = (int)map[*second];
  for (int s = 0; s < dims->spatial; s++) spatial[s] = (int)map[spatial[s]];
  convs_set_dims(conv, dims);
  convs_set_operand(r, conv, side, transpose->operands[0]);
}

/* The spatial dimension that an array's dimension is; -1. */
static int convs_spatial(const halo_conv_dims *dims, const int *spatial, int64_t dim) {
  for (int s = 0; s < dims->spatial; s++) {
    if (spatial[s] == dim) return s;
  }
  return -1;
}

/* A kernel that is reversed along spatial dimensions. */
static bool convs_fold_reverse(halo_rewriter *r, halo_instr *conv) {
  halo_instr *reverse = conv->operands[1];
  const halo_conv_dims *dims = convs_dims(conv);
  int32_t count;
  const int64_t *list = halo_instr_ints(reverse, HALO_ATTR_DIMENSIONS, &count);
  halo_window_dim *window = convs_copy_window(r, conv);
  for (int32_t i = 0; i < count; i++) {
    int s = convs_spatial(dims, dims->rhs_spatial, list[i]);
    if (s < 0) return false;
    window[s].reversal = !window[s].reversal;
  }
  if (window) convs_set_window(conv, window);
  convs_set_operand(r, conv, 1, reverse->operands[0]);
  return true;
}

static bool convs_is_zero(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_CONSTANT || !instr->literal || instr->literal->elided) return false;
  double re, im;
  halo_literal_get_c128(instr->literal, 0, &re, &im);
  return re == 0 && im == 0;
}

/* An image that is padded with zeros along spatial dimensions, around or between its elements. */
static bool convs_fold_pad(halo_rewriter *r, halo_instr *conv) {
  halo_instr *pad = conv->operands[0];
  const halo_conv_dims *dims = convs_dims(conv);
  const halo_shape *shape = pad->operands[0]->shape;
  int32_t count;
  const int64_t *padding = halo_instr_ints(pad, HALO_ATTR_PADDING, &count);
  halo_window_dim *window = convs_copy_window(r, conv);
  if (!window || !convs_is_zero(pad->operands[1])) return false;
  for (int d = 0; d < shape->rank; d++) {
    const int64_t *p = &padding[3 * d];
    if (p[0] == 0 && p[1] == 0 && p[2] == 0) continue;
    int s = convs_spatial(dims, dims->lhs_spatial, d);
    /* What an array without elements is between them is another question. */
    if (s < 0 || shape->dims[d] == 0 || pad->shape->dims[d] == 0) return false;
    halo_window_dim *w = &window[s];
    int64_t low, high;
    if (__builtin_mul_overflow(p[0], w->base_dilation, &low) ||
        __builtin_mul_overflow(p[1], w->base_dilation, &high) ||
        __builtin_add_overflow(low, w->pad_low, &w->pad_low) ||
        __builtin_add_overflow(high, w->pad_high, &w->pad_high) ||
        __builtin_mul_overflow(w->base_dilation, p[2] + 1, &w->base_dilation)) {
      return false;
    }
  }
  convs_set_window(conv, window);
  convs_set_operand(r, conv, 0, pad->operands[0]);
  return true;
}

static bool convs_fold_operand(halo_rewriter *r, halo_instr *conv, int side) {
  const halo_instr *operand = conv->operands[side];
  if (operand->control_pred_count) return false;
  if (operand->opcode == HALO_OP_TRANSPOSE) {
    convs_fold_transpose(r, conv, side);
    return true;
  }
  if (side == 1 && operand->opcode == HALO_OP_REVERSE) return convs_fold_reverse(r, conv);
  if (side == 0 && operand->opcode == HALO_OP_PAD) return convs_fold_pad(r, conv);
  return false;
}

/* ---- The result ---- */

/* transpose(conv(x, y)) is another conv. */
static void convs_fold_result(halo_rewriter *r, halo_instr *transpose, const int32_t *uses,
                              int32_t use_count) {
  halo_instr *conv = transpose->operands[0];
  if (conv->opcode != HALO_OP_CONVOLUTION || conv->operand_count != 2) return;
  if (conv->id >= use_count || uses[conv->id] != 1 || conv == r->computation->root) return;
  int32_t rank;
  const int64_t *map = halo_instr_ints(transpose, HALO_ATTR_DIMENSIONS, &rank);
  int place[HALO_MAX_RANK];
  for (int32_t d = 0; d < rank; d++) place[map[d]] = d;
  halo_conv_dims *dims = convs_copy_dims(r, conv);
  dims->out_batch = place[dims->out_batch];
  dims->out_feature = place[dims->out_feature];
  for (int s = 0; s < dims->spatial; s++) dims->out_spatial[s] = place[dims->out_spatial[s]];
  halo_instr *transposed = halo_rewrite_make(r, conv, HALO_OP_CONVOLUTION, transpose->shape,
                                             conv->operands, 2, conv->attrs, conv->attr_count);
  convs_set_dims(transposed, dims);
  halo_rewrite_replace(r, transpose, transposed);
}

/* ---- Windows of one element ---- */

static bool convs_is_point(const halo_instr *conv) {
  const halo_conv_dims *dims = convs_dims(conv);
  const halo_attr *window = halo_instr_attr(conv, HALO_ATTR_WINDOW);
  for (int s = 0; s < dims->spatial; s++) {
    const halo_window_dim *w = &window->window.data[s];
    if (w->size != 1 || w->stride != 1 || w->pad_low != 0 || w->pad_high != 0 ||
        w->base_dilation != 1) {
      return false;
    }
  }
  return halo_instr_int(conv, HALO_ATTR_FEATURE_GROUP_COUNT, 1) == 1 &&
         halo_instr_int(conv, HALO_ATTR_BATCH_GROUP_COUNT, 1) == 1;
}

/* Whether the result's dimensions are those of the image in order, output features in the place of
 * `first`: before or behind all others. */
static bool convs_keeps_order(const halo_instr *conv, bool first) {
  const halo_conv_dims *dims = convs_dims(conv);
  int rank = conv->shape->rank, from[HALO_MAX_RANK], last = -1;
  from[dims->out_batch] = dims->lhs_batch;
  from[dims->out_feature] = -1;
  for (int s = 0; s < dims->spatial; s++) from[dims->out_spatial[s]] = dims->lhs_spatial[s];
  if (dims->out_feature != (first ? 0 : rank - 1)) return false;
  for (int d = 0; d < rank; d++) {
    if (from[d] < 0) continue;
    if (from[d] < last) return false;
    last = from[d];
  }
  return true;
}

static void convs_make_dot(halo_rewriter *r, halo_instr *conv) {
  bool first = !convs_keeps_order(conv, false);
  if (!convs_is_point(conv) || (first && !convs_keeps_order(conv, true))) return;
  const halo_conv_dims *dims = convs_dims(conv);
  halo_arena *arena = &r->computation->module->arena;
  const halo_shape *kernel = conv->operands[1]->shape;
  /* The kernel as a matrix. */
  bool input_first = dims->rhs_input < dims->rhs_output;
  int64_t inputs = kernel->dims[dims->rhs_input], outputs = kernel->dims[dims->rhs_output];
  int64_t extents[2] = {input_first ? inputs : outputs, input_first ? outputs : inputs};
  halo_instr *matrix = conv->operands[1];
  if (kernel->rank != 2) {
    matrix = halo_rewrite_make_unary(r, conv, HALO_OP_RESHAPE,
                                     halo_shape_new(arena, kernel->type, 2, extents), matrix);
  }
  int64_t contract[2] = {dims->lhs_feature, input_first ? 0 : 1};
  halo_attr attrs[4] = {
      halo_rewrite_list_attr(r->computation->module, HALO_ATTR_LHS_CONTRACTING_DIMS,
                             &contract[first], 1),
      halo_rewrite_list_attr(r->computation->module, HALO_ATTR_RHS_CONTRACTING_DIMS,
                             &contract[!first], 1)};
  int count = 2;
  const halo_attr *precision = halo_instr_attr(conv, HALO_ATTR_OPERAND_PRECISION);
  if (precision && !first) attrs[count++] = *precision;
  halo_instr *operands[2] = {first ? matrix : conv->operands[0],
                             first ? conv->operands[0] : matrix};
  halo_rewrite_replace(
      r, conv, halo_rewrite_make(r, conv, HALO_OP_DOT, conv->shape, operands, 2, attrs, count));
}

static void convs_visit(halo_rewriter *r, halo_instr *instr, const int32_t *uses,
                        int32_t use_count) {
  if (instr->opcode == HALO_OP_TRANSPOSE) convs_fold_result(r, instr, uses, use_count);
  if (instr->opcode != HALO_OP_CONVOLUTION || instr->operand_count != 2) return;
  for (int side = 0; side < 2; side++) {
    while (convs_fold_operand(r, instr, side)) continue;
  }
}

/* How often each instruction is an operand. */
static int32_t *convs_count_uses(const halo_computation *computation, int32_t count) {
  int32_t *uses = halo_alloc(sizeof *uses * (size_t)count);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    for (int32_t o = 0; o < instr->operand_count; o++) uses[instr->operands[o]->id]++;
  }
  return uses;
}

static halo_status convs_run(halo_computation *computation, bool *changed) {
  int32_t use_count = computation->module->next_id;
  int32_t *uses = convs_count_uses(computation, use_count);
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i);
    if (instr && !halo_rewrite_pinned(instr)) convs_visit(&r, instr, uses, use_count);
  }
  halo_status status = halo_rewrite_end(&r, changed);
  halo_free(uses);
  if (status != HALO_OK) return status;
  /* When all else is said: what becomes a dot may have become so by the above. */
  halo_rewrite_begin(&r, computation);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i);
    if (!instr || halo_rewrite_pinned(instr)) continue;
    if (instr->opcode == HALO_OP_CONVOLUTION && instr->operand_count == 2) {
      convs_make_dot(&r, instr);
    }
  }
  return halo_rewrite_end(&r, changed);
}

halo_status halo_pass_convs(halo_module *module, bool *changed) {
  return halo_rewrite_computations(module, convs_run, changed);
}

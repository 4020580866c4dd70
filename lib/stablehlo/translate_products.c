/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_products.c: products of matrices, convolutions. */
#include "stablehlo/translate.h"

enum { PRODUCTS_ATTRS = 8 };

/* The instruction with the element type that is declared, which may be wider than inference's. */
static halo_instr *products_emit(halo_translator *t, const halo_mlir_op *op, halo_opcode opcode,
                                 halo_instr *const *operands, const halo_attr *attrs,
                                 int32_t count) {
  const halo_shape *declared = halo_translate_declared(t, op, 0);
  halo_instr *instr = halo_translate_emit(t, opcode, declared, operands, 2, attrs, count);
  const halo_mlir_type *type = op->results[0].type;
  if (instr && type->kind == HALO_MLIR_TENSOR) {
    instr->shape = halo_shape_with_type(t->arena, instr->shape, type->element);
  }
  return instr;
}

void halo_translate_op_dot_general(halo_translator *t, halo_mlir_op *op) {
  static const struct {
    halo_attr_id id;
    const char *name;
  } lists[] = {{HALO_ATTR_LHS_BATCH_DIMS, "lhs_batching_dimensions"},
               {HALO_ATTR_LHS_CONTRACTING_DIMS, "lhs_contracting_dimensions"},
               {HALO_ATTR_RHS_BATCH_DIMS, "rhs_batching_dimensions"},
               {HALO_ATTR_RHS_CONTRACTING_DIMS, "rhs_contracting_dimensions"}};
  halo_attr attrs[PRODUCTS_ATTRS];
  int32_t count = 0;
  for (int i = 0; i < 4; i++) {
    int32_t length = 0;
    const int64_t *list = halo_mlir_attr_of(op, lists[i].name)
                              ? halo_translate_list(t, op, lists[i].name, -1, &length)
                              : NULL;
    bool batch = i == 0 || i == 2;
    if (length || !batch) attrs[count++] = halo_translate_ints(t, lists[i].id, list, length);
  }
  if (halo_translate_precision(t, op, &attrs[count])) count++;
  if (halo_translate_algorithm(t, op, &attrs[count])) count++;
  halo_instr *operands[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  halo_translate_results(t, op, products_emit(t, op, HALO_OP_DOT, operands, attrs, count));
}

/* The last dimension of a with the first of b. */
void halo_translate_op_dot(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operands[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  if (!halo_translate_ok(t)) return;
  int64_t last = operands[0]->shape->rank - 1, first = 0;
  halo_attr attrs[PRODUCTS_ATTRS] = {
      halo_translate_ints(t, HALO_ATTR_LHS_CONTRACTING_DIMS, &last, 1),
      halo_translate_ints(t, HALO_ATTR_RHS_CONTRACTING_DIMS, &first, 1)};
  int32_t count = 2;
  if (halo_translate_precision(t, op, &attrs[count])) count++;
  halo_translate_results(t, op, products_emit(t, op, HALO_OP_DOT, operands, attrs, count));
}

/* ---- Convolutions ---- */

static int conv_number(halo_translator *t, const halo_mlir_op *op, const char *name) {
  int64_t number = halo_translate_integer(t, op, name);
  if (number >= 0 && number < HALO_MAX_RANK) return (int)number;
  halo_translate_wrong(t, "%s is %lld, which is no dimension", name, (long long)number);
  return 0;
}

static void conv_spatial(halo_translator *t, const halo_mlir_op *op, const char *name, int count,
                         int *out) {
  const int64_t *list = halo_translate_list(t, op, name, count, NULL);
  for (int i = 0; list && i < count; i++) {
    if (list[i] < 0 || list[i] >= HALO_MAX_RANK) {
      halo_translate_wrong(t, "%s has %lld, which is no dimension", name, (long long)list[i]);
      return;
    }
    out[i] = (int)list[i];
  }
}

static const halo_conv_dims *conv_dims(halo_translator *t, const halo_mlir_op *op) {
  halo_conv_dims *dims = halo_arena_new(t->arena, halo_conv_dims);
  int32_t count = 0;
  halo_translate_list(t, op, "input_spatial_dimensions", -1, &count);
  if (count > HALO_MAX_RANK - 2) halo_translate_wrong(t, "there are too many spatial dimensions");
  if (!halo_translate_ok(t)) return NULL;
  dims->spatial = count;
  dims->lhs_batch = conv_number(t, op, "input_batch_dimension");
  dims->lhs_feature = conv_number(t, op, "input_feature_dimension");
  dims->rhs_input = conv_number(t, op, "kernel_input_feature_dimension");
  dims->rhs_output = conv_number(t, op, "kernel_output_feature_dimension");
  dims->out_batch = conv_number(t, op, "output_batch_dimension");
  dims->out_feature = conv_number(t, op, "output_feature_dimension");
  conv_spatial(t, op, "input_spatial_dimensions", count, dims->lhs_spatial);
  conv_spatial(t, op, "kernel_spatial_dimensions", count, dims->rhs_spatial);
  conv_spatial(t, op, "output_spatial_dimensions", count, dims->out_spatial);
  return halo_translate_ok(t) ? dims : NULL;
}

/* Padding is an attribute, or the third operand. */
static halo_attr conv_window(halo_translator *t, const halo_mlir_op *op, const halo_conv_dims *dims,
                             const halo_shape *kernel) {
  halo_attr attr = {.id = HALO_ATTR_WINDOW};
  int n = dims->spatial;
  const int64_t *strides = halo_translate_list_or(t, op, "window_strides", n, 1);
  const int64_t *base = halo_translate_list_or(t, op, "lhs_dilation", n, 1);
  const int64_t *window = halo_translate_list_or(t, op, "rhs_dilation", n, 1);
  const int64_t *reversal = halo_translate_list_or(t, op, "window_reversal", n, 0);
  const int64_t *padding = op->opcode == HALO_MLIR_OP_DYNAMIC_CONV
                               ? halo_translate_known_operand(t, op, 2, 2 * n, NULL)
                               : halo_translate_pairs(t, op, "padding", n, NULL);
  if (!halo_translate_ok(t)) return attr;
  halo_window_dim *w = halo_arena_array(t->arena, halo_window_dim, n + 1);
  for (int i = 0; i < n; i++) {
    int at = dims->rhs_spatial[i];
    w[i] = (halo_window_dim){.size = at < kernel->rank ? kernel->dims[at] : 1,
                             .stride = strides[i],
                             .pad_low = padding[2 * i],
                             .pad_high = padding[2 * i + 1],
                             .base_dilation = base[i],
                             .window_dilation = window[i],
                             .reversal = reversal[i] != 0};
  }
  attr.window.data = w;
  attr.window.count = n;
  return attr;
}

void halo_translate_op_convolution(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operands[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  const halo_conv_dims *dims = conv_dims(t, op);
  if (!dims || !halo_translate_ok(t)) return;
  halo_attr attrs[PRODUCTS_ATTRS] = {{.id = HALO_ATTR_DIM_LABELS, .conv = dims}};
  int32_t count = 1;
  if (dims->spatial) attrs[count++] = conv_window(t, op, dims, operands[1]->shape);
  int64_t features = halo_mlir_int(op, "feature_group_count", 1);
  int64_t batches = halo_mlir_int(op, "batch_group_count", 1);
  if (features != 1) attrs[count++] = halo_translate_int(HALO_ATTR_FEATURE_GROUP_COUNT, features);
  if (batches != 1) attrs[count++] = halo_translate_int(HALO_ATTR_BATCH_GROUP_COUNT, batches);
  if (halo_translate_precision(t, op, &attrs[count])) count++;
  halo_translate_results(t, op, products_emit(t, op, HALO_OP_CONVOLUTION, operands, attrs, count));
}

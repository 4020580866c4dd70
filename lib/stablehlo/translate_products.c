/* stablehlo/translate_products.c: products of matrices, convolutions, einsum. */
#include "stablehlo/translate.h"

#include <string.h>

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
                               : halo_translate_list_or(t, op, "padding", 2 * n, 0);
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

/* ---- Einsum ---- */

typedef struct einsum_lists {
  int64_t lhs_batch[HALO_MAX_RANK], rhs_batch[HALO_MAX_RANK];
  int64_t lhs_contracting[HALO_MAX_RANK], rhs_contracting[HALO_MAX_RANK];
  int batch, contracting;
  char made[2 * HALO_MAX_RANK + 1]; /* the letters of the product's dimensions */
} einsum_lists;

/* Letters of both that the result has are batch dimensions, those it has not are summed over. False when the
 * product of the two is not all that there is to do. */
static bool einsum_read(const char *lhs, const char *rhs, const char *out, einsum_lists *lists) {
  char free_lhs[HALO_MAX_RANK + 1] = "", free_rhs[HALO_MAX_RANK + 1] = "";
  size_t left = 0, right = 0;
  for (const char *c = lhs; *c; c++) {
    const char *other = strchr(rhs, *c);
    bool kept = strchr(out, *c) != NULL;
    if (strchr(c + 1, *c) || (!other && !kept)) return false;
    if (!other) {
      free_lhs[left++] = *c;
    } else if (kept) {
      lists->made[lists->batch] = *c;
      lists->lhs_batch[lists->batch] = c - lhs;
      lists->rhs_batch[lists->batch++] = other - rhs;
    } else {
      lists->lhs_contracting[lists->contracting] = c - lhs;
      lists->rhs_contracting[lists->contracting++] = other - rhs;
    }
  }
  for (const char *c = rhs; *c; c++) {
    if (strchr(c + 1, *c) || (!strchr(lhs, *c) && !strchr(out, *c))) return false;
    if (!strchr(lhs, *c)) free_rhs[right++] = *c;
  }
  memcpy(lists->made + lists->batch, free_lhs, left);
  memcpy(lists->made + (size_t)lists->batch + left, free_rhs, right);
  return strlen(out) == (size_t)lists->batch + left + right;
}

/* Splits "ij,jk->ik" at its signs. */
static bool einsum_split(char *config, const char **lhs, const char **rhs, const char **out) {
  char *comma = strchr(config, ','), *arrow = strstr(config, "->");
  if (!comma || !arrow || comma > arrow) return false;
  *comma = *arrow = 0;
  *lhs = config;
  *rhs = comma + 1;
  *out = arrow + 2;
  if (strlen(*lhs) > HALO_MAX_RANK || strlen(*rhs) > HALO_MAX_RANK) return false;
  return !strpbrk(*lhs, " .,") && !strpbrk(*rhs, " .,") && !strpbrk(*out, " .,-");
}

void halo_translate_op_einsum(halo_translator *t, halo_mlir_op *op) {
  const char *config = halo_mlir_string(op, "einsum_config", ""), *lhs, *rhs, *out;
  char *copy = halo_arena_strdup(t->arena, config);
  einsum_lists lists = {.batch = 0};
  halo_instr *operands[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  if (!halo_translate_ok(t)) return;
  if (!einsum_split(copy, &lhs, &rhs, &out) || !einsum_read(lhs, rhs, out, &lists)) {
    halo_translate_refuse(t, "einsum_config \"%s\" is more than a product of two arrays", config);
    return;
  }
  halo_attr attrs[] = {
      halo_translate_ints(t, HALO_ATTR_LHS_BATCH_DIMS, lists.lhs_batch, lists.batch),
      halo_translate_ints(t, HALO_ATTR_RHS_BATCH_DIMS, lists.rhs_batch, lists.batch),
      halo_translate_ints(t, HALO_ATTR_LHS_CONTRACTING_DIMS, lists.lhs_contracting,
                          lists.contracting),
      halo_translate_ints(t, HALO_ATTR_RHS_CONTRACTING_DIMS, lists.rhs_contracting,
                          lists.contracting)};
  halo_instr *product = halo_translate_emit(t, HALO_OP_DOT, NULL, operands, 2, attrs, 4);
  int64_t order[2 * HALO_MAX_RANK];
  bool same = true;
  for (int d = 0; out[d]; d++) {
    order[d] = strchr(lists.made, out[d]) - lists.made;
    same &= order[d] == d;
  }
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, order, (int32_t)strlen(out));
  if (!same) product = halo_translate_emit(t, HALO_OP_TRANSPOSE, NULL, &product, 1, &attr, 1);
  halo_translate_results(t, op, product);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/write_op.c: HLO instructions as StableHLO operations: a row each, and a function where attributes or
 * operands are others. */
#include "stablehlo/write.h"

#include <stdio.h>
#include <string.h>

typedef halo_status (*op_write)(halo_writer *w, const halo_instr *instr, const char *name);

/* ---- One operation, same operands ---- */

static halo_status op_plain(halo_writer *w, const halo_instr *instr, const char *name) {
  if (halo_instr_attr(instr, HALO_ATTR_RESULT_ACCURACY))
    return halo_write_refuse(instr, "its accuracy would be lost");
  halo_write_begin(w, instr, name);
  halo_write_end(w, instr, "");
  return HALO_OK;
}

static halo_status op_finish(halo_writer *w, const halo_instr *instr, const char *name,
                             halo_strbuf *attrs) {
  halo_write_begin(w, instr, name);
  halo_write_end(w, instr, halo_strbuf_text(attrs));
  halo_strbuf_deinit(attrs);
  return HALO_OK;
}

static const char *op_enum(const halo_instr *instr, halo_attr_id id) {
  return halo_attr_enum_names(id)[halo_instr_int(instr, id, 0)];
}

static halo_status op_compare(halo_writer *w, const halo_instr *instr, const char *name) {
  static const char *const types[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
  halo_strbuf attrs = {0};
  halo_write_enum(&attrs, "compare_type", "comparison_type", types[halo_compare_type_of(instr)]);
  halo_write_enum(&attrs, "comparison_direction", "comparison_direction",
                  op_enum(instr, HALO_ATTR_DIRECTION));
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_constant(halo_writer *w, const halo_instr *instr, const char *name) {
  if (!halo_shape_is_array(instr->shape))
    return halo_write_refuse(instr, "the constant is a tuple");
  if (instr->literal->elided) return halo_write_refuse(instr, "the constant was left out");
  halo_strbuf attrs = {0};
  halo_strbuf_append(&attrs, "value = ");
  halo_write_literal(&attrs, instr->literal);
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_iota(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  halo_write_int(&attrs, "iota_dimension", halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, 0));
  return op_finish(w, instr, name, &attrs);
}

/* The dimensions as a list under the name that the operation has for it. */
static halo_status op_dimensions(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  const char *list = instr->opcode == HALO_OP_BROADCAST   ? "broadcast_dimensions"
                     : instr->opcode == HALO_OP_TRANSPOSE ? "permutation"
                                                          : "dimensions";
  halo_write_list(&attrs, list, instr, HALO_ATTR_DIMENSIONS, 0, 1);
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_broadcast(halo_writer *w, const halo_instr *instr, const char *name) {
  (void)name;
  return op_dimensions(w, instr, "stablehlo.broadcast_in_dim");
}

/* Of two shapes that lie in memory as they are written, a change of shape. */
static halo_status op_bitcast(halo_writer *w, const halo_instr *instr, const char *name) {
  (void)name;
  const halo_shape *from = instr->operands[0]->shape, *to = instr->shape;
  if (from->type != to->type || !halo_shape_has_default_layout(from) ||
      !halo_shape_has_default_layout(to))
    return halo_write_refuse(instr, "it depends on layouts or on how numbers lie in memory");
  return op_plain(w, instr, "stablehlo.reshape");
}

/* The only dimension as a number. */
static halo_status op_dimension(halo_writer *w, const halo_instr *instr, const char *name) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  halo_strbuf attrs = {0};
  halo_write_int(&attrs, "dimension", count ? dims[0] : 0);
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_slice(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  halo_write_list(&attrs, "start_indices", instr, HALO_ATTR_SLICE, 0, 3);
  halo_write_list(&attrs, "limit_indices", instr, HALO_ATTR_SLICE, 1, 3);
  halo_write_list(&attrs, "strides", instr, HALO_ATTR_SLICE, 2, 3);
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_pad(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  halo_write_list(&attrs, "edge_padding_low", instr, HALO_ATTR_PADDING, 0, 3);
  halo_write_list(&attrs, "edge_padding_high", instr, HALO_ATTR_PADDING, 1, 3);
  halo_write_list(&attrs, "interior_padding", instr, HALO_ATTR_PADDING, 2, 3);
  return op_finish(w, instr, name, &attrs);
}

/* Indices as a vector are a form of long ago. */
static bool op_has_scalar_indices(const halo_instr *instr, int32_t first) {
  return instr->operand_count == first + instr->shape->rank &&
         (instr->operand_count == first || instr->operands[first]->shape->rank == 0);
}

static halo_status op_dynamic_slice(halo_writer *w, const halo_instr *instr, const char *name) {
  bool update = instr->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE;
  if (!op_has_scalar_indices(instr, update ? 2 : 1))
    return halo_write_refuse(instr, "its indices are a vector");
  halo_strbuf attrs = {0};
  if (!update) halo_write_list(&attrs, "slice_sizes", instr, HALO_ATTR_DYNAMIC_SLICE_SIZES, 0, 1);
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_reduce_precision(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  halo_strbuf_printf(&attrs, "exponent_bits = %d : i32, mantissa_bits = %d : i32",
                     (int)halo_instr_int(instr, HALO_ATTR_EXPONENT_BITS, 0),
                     (int)halo_instr_int(instr, HALO_ATTR_MANTISSA_BITS, 0));
  return op_finish(w, instr, name, &attrs);
}

/* ---- Products, transforms, linear algebra ---- */

static void op_struct_list(halo_strbuf *out, const char *name, const halo_instr *instr,
                           halo_attr_id id, bool *any) {
  int32_t count;
  const int64_t *data = halo_instr_ints(instr, id, &count);
  if (!count) return;
  halo_strbuf_printf(out, "%s%s = [", *any ? ", " : "", name);
  for (int32_t i = 0; i < count; i++)
    halo_strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)data[i]);
  halo_strbuf_append(out, "]");
  *any = true;
}

static halo_status op_dot(halo_writer *w, const halo_instr *instr, const char *name) {
  (void)name;
  if (instr->operand_count != 2 || halo_instr_attr(instr, HALO_ATTR_ALGORITHM) ||
      halo_instr_attr(instr, HALO_ATTR_SPARSITY))
    return halo_write_refuse(instr, "it has an algorithm, or is sparse");
  halo_strbuf attrs = {0};
  bool any = false;
  halo_strbuf_append(&attrs, "dot_dimension_numbers = #stablehlo.dot<");
  op_struct_list(&attrs, "lhs_batching_dimensions", instr, HALO_ATTR_LHS_BATCH_DIMS, &any);
  op_struct_list(&attrs, "rhs_batching_dimensions", instr, HALO_ATTR_RHS_BATCH_DIMS, &any);
  op_struct_list(&attrs, "lhs_contracting_dimensions", instr, HALO_ATTR_LHS_CONTRACTING_DIMS, &any);
  op_struct_list(&attrs, "rhs_contracting_dimensions", instr, HALO_ATTR_RHS_CONTRACTING_DIMS, &any);
  halo_strbuf_append(&attrs, ">");
  halo_write_precision(&attrs, instr);
  return op_finish(w, instr, "stablehlo.dot_general", &attrs);
}

static void op_conv_list(halo_strbuf *out, const int *spatial, int count, int first, char a,
                         int second, char b) {
  for (int d = 0; d < count + 2; d++) {
    halo_strbuf_append(out, d ? ", " : "[");
    if (d == first) halo_strbuf_char(out, a);
    if (d == second) halo_strbuf_char(out, b);
    for (int i = 0; i < count; i++)
      if (spatial[i] == d) halo_strbuf_printf(out, "%d", i);
  }
  halo_strbuf_append(out, "]");
}

static halo_status op_conv(halo_writer *w, const halo_instr *instr, const char *name) {
  static const halo_attr_id refused[] = {HALO_ATTR_ALGORITHM, HALO_ATTR_SPARSITY_CONFIG,
                                         HALO_ATTR_BLOCK_SCALING_CONFIG, HALO_ATTR_CONVOLUTION_KIND,
                                         HALO_ATTR_CONV_KIND};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (halo_instr_attr(instr, refused[i]))
      return halo_write_refuse(instr, "it has an algorithm, a kind or operands of another form");
  if (instr->operand_count != 2) return halo_write_refuse(instr, "it has more than two operands");
  if (instr->operands[0]->shape->type != instr->operands[1]->shape->type)
    return halo_write_refuse(instr, "its operands are of two types");
  const halo_conv_dims *dims = halo_instr_attr(instr, HALO_ATTR_DIM_LABELS)->conv;
  halo_strbuf attrs = {0};
  halo_write_int(&attrs, "batch_group_count",
                 halo_instr_int(instr, HALO_ATTR_BATCH_GROUP_COUNT, 1));
  halo_write_int(&attrs, "feature_group_count",
                 halo_instr_int(instr, HALO_ATTR_FEATURE_GROUP_COUNT, 1));
  halo_strbuf_append(&attrs, ", dimension_numbers = #stablehlo.conv<");
  op_conv_list(&attrs, dims->lhs_spatial, dims->spatial, dims->lhs_batch, 'b', dims->lhs_feature,
               'f');
  halo_strbuf_append(&attrs, "x");
  op_conv_list(&attrs, dims->rhs_spatial, dims->spatial, dims->rhs_input, 'i', dims->rhs_output,
               'o');
  halo_strbuf_append(&attrs, "->");
  op_conv_list(&attrs, dims->out_spatial, dims->spatial, dims->out_batch, 'b', dims->out_feature,
               'f');
  halo_strbuf_append(&attrs, ">");
  halo_write_window(&attrs, instr, true);
  halo_write_precision(&attrs, instr);
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_fft(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  halo_write_enum(&attrs, "fft_type", "fft_type", op_enum(instr, HALO_ATTR_FFT_TYPE));
  halo_write_list(&attrs, "fft_length", instr, HALO_ATTR_FFT_LENGTH, 0, 1);
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_cholesky(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  halo_write_flag(&attrs, "lower", halo_instr_bool(instr, HALO_ATTR_LOWER, false));
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_triangular_solve(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  halo_write_flag(&attrs, "left_side", halo_instr_bool(instr, HALO_ATTR_LEFT_SIDE, false));
  halo_write_flag(&attrs, "lower", halo_instr_bool(instr, HALO_ATTR_LOWER, false));
  halo_write_flag(&attrs, "unit_diagonal", halo_instr_bool(instr, HALO_ATTR_UNIT_DIAGONAL, false));
  halo_write_enum(&attrs, "transpose_a", "transpose", op_enum(instr, HALO_ATTR_TRANSPOSE_A));
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_batch_norm(halo_writer *w, const halo_instr *instr, const char *name) {
  const halo_attr *epsilon = halo_instr_attr(instr, HALO_ATTR_EPSILON);
  halo_strbuf attrs = {0};
  char number[64];
  snprintf(number, sizeof number, "%.9e : f32", epsilon->f);
  halo_write_text(&attrs, "epsilon", number);
  halo_write_int(&attrs, "feature_index", halo_instr_int(instr, HALO_ATTR_FEATURE_INDEX, 0));
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_gather(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  bool any = false;
  halo_strbuf_append(&attrs, "dimension_numbers = #stablehlo.gather<");
  op_struct_list(&attrs, "offset_dims", instr, HALO_ATTR_OFFSET_DIMS, &any);
  op_struct_list(&attrs, "collapsed_slice_dims", instr, HALO_ATTR_COLLAPSED_SLICE_DIMS, &any);
  op_struct_list(&attrs, "operand_batching_dims", instr, HALO_ATTR_OPERAND_BATCHING_DIMS, &any);
  op_struct_list(&attrs, "start_indices_batching_dims", instr,
                 HALO_ATTR_START_INDICES_BATCHING_DIMS, &any);
  op_struct_list(&attrs, "start_index_map", instr, HALO_ATTR_START_INDEX_MAP, &any);
  halo_strbuf_printf(&attrs, "%sindex_vector_dim = %lld>", any ? ", " : "",
                     (long long)halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0));
  halo_write_list(&attrs, "slice_sizes", instr, HALO_ATTR_SLICE_SIZES, 0, 1);
  halo_write_flag(&attrs, "indices_are_sorted",
                  halo_instr_bool(instr, HALO_ATTR_INDICES_ARE_SORTED, false));
  return op_finish(w, instr, name, &attrs);
}

/* ---- Operations with computations ---- */

/* With one region, arguments of its own, for the computation. */
static halo_status op_applied(halo_writer *w, const halo_instr *instr, const char *name,
                              halo_attr_id id, halo_strbuf *attrs) {
  halo_write_begin(w, instr, name);
  halo_strbuf_append(w->out, " (");
  halo_status status = halo_write_region(w, halo_instr_comp(instr, id), true, NULL, 0);
  halo_strbuf_append(w->out, ")");
  if (status == HALO_OK) halo_write_end(w, instr, halo_strbuf_text(attrs));
  halo_strbuf_deinit(attrs);
  return status;
}

static halo_status op_scatter(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  bool any = false;
  halo_strbuf_append(&attrs, "scatter_dimension_numbers = #stablehlo.scatter<");
  op_struct_list(&attrs, "update_window_dims", instr, HALO_ATTR_UPDATE_WINDOW_DIMS, &any);
  op_struct_list(&attrs, "inserted_window_dims", instr, HALO_ATTR_INSERTED_WINDOW_DIMS, &any);
  op_struct_list(&attrs, "input_batching_dims", instr, HALO_ATTR_INPUT_BATCHING_DIMS, &any);
  op_struct_list(&attrs, "scatter_indices_batching_dims", instr,
                 HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS, &any);
  op_struct_list(&attrs, "scatter_dims_to_operand_dims", instr,
                 HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, &any);
  halo_strbuf_printf(&attrs, "%sindex_vector_dim = %lld>", any ? ", " : "",
                     (long long)halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0));
  halo_write_flag(&attrs, "indices_are_sorted",
                  halo_instr_bool(instr, HALO_ATTR_INDICES_ARE_SORTED, false));
  halo_write_flag(&attrs, "unique_indices",
                  halo_instr_bool(instr, HALO_ATTR_UNIQUE_INDICES, false));
  return op_applied(w, instr, name, HALO_ATTR_TO_APPLY, &attrs);
}

static halo_status op_reduce(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_strbuf attrs = {0};
  if (instr->opcode == HALO_OP_REDUCE_WINDOW) {
    halo_write_window(&attrs, instr, false);
  } else if (instr->opcode == HALO_OP_MAP && !halo_instr_attr(instr, HALO_ATTR_DIMENSIONS)) {
    int64_t dims[HALO_MAX_RANK];
    for (int32_t d = 0; d < instr->shape->rank; d++) dims[d] = d;
    halo_write_ints(&attrs, "dimensions", dims, instr->shape->rank);
  } else {
    halo_write_list(&attrs, "dimensions", instr, HALO_ATTR_DIMENSIONS, 0, 1);
  }
  return op_applied(w, instr, name, HALO_ATTR_TO_APPLY, &attrs);
}

static halo_status op_sort(halo_writer *w, const halo_instr *instr, const char *name) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  halo_strbuf attrs = {0};
  halo_write_int(&attrs, "dimension", count ? dims[0] : 0);
  halo_write_flag(&attrs, "is_stable", halo_instr_bool(instr, HALO_ATTR_IS_STABLE, false));
  return op_applied(w, instr, name, HALO_ATTR_TO_APPLY, &attrs);
}

static halo_status op_select_and_scatter(halo_writer *w, const halo_instr *instr,
                                         const char *name) {
  halo_write_begin(w, instr, name);
  halo_strbuf_append(w->out, " (");
  HALO_TRY(halo_write_region(w, halo_instr_comp(instr, HALO_ATTR_SELECT), true, NULL, 0));
  halo_strbuf_append(w->out, ", ");
  HALO_TRY(halo_write_region(w, halo_instr_comp(instr, HALO_ATTR_SCATTER), true, NULL, 0));
  halo_strbuf_append(w->out, ")");
  halo_strbuf attrs = {0};
  halo_write_window(&attrs, instr, false);
  halo_write_end(w, instr, halo_strbuf_text(&attrs));
  halo_strbuf_deinit(&attrs);
  return HALO_OK;
}

static halo_status op_while(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_write_begin(w, instr, name);
  halo_strbuf_append(w->out, " (");
  HALO_TRY(halo_write_region(w, halo_instr_comp(instr, HALO_ATTR_CONDITION), true, NULL, 0));
  halo_strbuf_append(w->out, ", ");
  HALO_TRY(halo_write_region(w, halo_instr_comp(instr, HALO_ATTR_BODY), true, NULL, 0));
  halo_strbuf_append(w->out, ")");
  halo_write_end(w, instr, "");
  return HALO_OK;
}

/* Branches use values of outside where HLO hands them in. */
static halo_status op_conditional(halo_writer *w, const halo_instr *instr, const char *name) {
  bool by_truth = instr->operands[0]->shape->type == HALO_PRED;
  (void)name;
  halo_instr choice = *instr;
  choice.operand_count = 1;
  halo_write_begin(w, &choice, by_truth ? "stablehlo.if" : "stablehlo.case");
  halo_write_set_values(w, instr, halo_write_values_of(w, &choice));
  halo_strbuf_append(w->out, " (");
  int32_t branches = halo_conditional_branch_count(instr);
  for (int32_t b = 0; b < branches; b++) {
    halo_write_values given = halo_write_values_of(w, instr->operands[b + 1]);
    if (b) halo_strbuf_append(w->out, ", ");
    HALO_TRY(halo_write_region(w, halo_conditional_branch(instr, b), false, &given, 1));
  }
  halo_strbuf_append(w->out, ")");
  halo_write_end(w, &choice, "");
  return HALO_OK;
}

static halo_status op_call(halo_writer *w, const halo_instr *instr, const char *name) {
  (void)name;
  halo_computation *callee = halo_instr_called(instr, 0);
  int32_t *number = halo_pointer_map_get(&w->called, callee);
  if (!number) {
    number = halo_arena_new(&w->arena, int32_t);
    *number = w->functions.count;
    halo_pointer_map_set(&w->called, callee, number);
    halo_vec_push(&w->functions, callee);
  }
  halo_strbuf attrs = {0};
  halo_strbuf_printf(&attrs, "callee = @f%d", *number);
  return op_finish(w, instr, "func.call", &attrs);
}

/* ---- Random numbers, top k ---- */

static halo_status op_rng_bits(halo_writer *w, const halo_instr *instr, const char *name) {
  const char *algorithm = op_enum(instr, HALO_ATTR_RNG_ALGORITHM) + strlen("rng_");
  halo_strbuf attrs = {0};
  halo_write_enum(&attrs, "rng_algorithm", "rng_algorithm", algorithm);
  return op_finish(w, instr, name, &attrs);
}

static halo_status op_top_k(halo_writer *w, const halo_instr *instr, const char *name) {
  (void)name;
  if (!halo_instr_bool(instr, HALO_ATTR_LARGEST, true))
    return halo_write_refuse(instr, "it takes the smallest");
  halo_strbuf attrs = {0};
  halo_write_int(&attrs, "k", halo_instr_int(instr, HALO_ATTR_K, 0));
  return op_finish(w, instr, "chlo.top_k", &attrs);
}

/* ---- Collectives ---- */

static halo_status op_collective(halo_writer *w, const halo_instr *instr, const char *name) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  halo_strbuf attrs = {0};
  if (instr->opcode == HALO_OP_ALL_GATHER) halo_write_int(&attrs, "all_gather_dim", dims[0]);
  if (instr->opcode == HALO_OP_REDUCE_SCATTER) halo_write_int(&attrs, "scatter_dimension", dims[0]);
  halo_write_collective(&attrs, instr);
  if (instr->opcode == HALO_OP_ALL_GATHER) return op_finish(w, instr, name, &attrs);
  return op_applied(w, instr, name, HALO_ATTR_TO_APPLY, &attrs);
}

/* ---- What is no operation ---- */

static halo_status op_identity(halo_writer *w, const halo_instr *instr, const char *name) {
  (void)name;
  halo_write_set_values(w, instr, halo_write_values_of(w, instr->operands[0]));
  return HALO_OK;
}

static halo_status op_barrier(halo_writer *w, const halo_instr *instr, const char *name) {
  (void)name;
  return op_plain(w, instr, "stablehlo.optimization_barrier");
}

static halo_status op_tuple(halo_writer *w, const halo_instr *instr, const char *name) {
  (void)name;
  int32_t count = halo_shape_leaf_count(instr->shape), at = 0;
  int64_t *ids = halo_arena_array(&w->arena, int64_t, count ? count : 1);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_write_values part = halo_write_values_of(w, instr->operands[i]);
    for (int32_t k = 0; k < part.count; k++) ids[at++] = part.ids[k];
  }
  halo_write_set_values(w, instr, (halo_write_values){ids, count});
  return HALO_OK;
}

static halo_status op_get_tuple_element(halo_writer *w, const halo_instr *instr, const char *name) {
  (void)name;
  halo_write_values whole = halo_write_values_of(w, instr->operands[0]);
  int32_t first =
      halo_leaf_start(instr->operands[0]->shape, halo_instr_int(instr, HALO_ATTR_INDEX, 0));
  halo_write_set_values(
      w, instr, (halo_write_values){whole.ids + first, halo_shape_leaf_count(instr->shape)});
  return HALO_OK;
}

/* ---- The table ---- */

static op_write op_writer(halo_opcode opcode) {
  static const op_write rows[HALO_OPCODE_COUNT] = {
      [HALO_OP_COMPARE] = op_compare,
      [HALO_OP_CONSTANT] = op_constant,
      [HALO_OP_IOTA] = op_iota,
      [HALO_OP_BROADCAST] = op_broadcast,
      [HALO_OP_BITCAST] = op_bitcast,
      [HALO_OP_TRANSPOSE] = op_dimensions,
      [HALO_OP_REVERSE] = op_dimensions,
      [HALO_OP_CONCATENATE] = op_dimension,
      [HALO_OP_GET_DIMENSION_SIZE] = op_dimension,
      [HALO_OP_RESHAPE] = op_plain,
      [HALO_OP_BITCAST_CONVERT] = op_plain,
      [HALO_OP_SLICE] = op_slice,
      [HALO_OP_PAD] = op_pad,
      [HALO_OP_DYNAMIC_SLICE] = op_dynamic_slice,
      [HALO_OP_DYNAMIC_UPDATE_SLICE] = op_dynamic_slice,
      [HALO_OP_REDUCE_PRECISION] = op_reduce_precision,
      [HALO_OP_DOT] = op_dot,
      [HALO_OP_CONVOLUTION] = op_conv,
      [HALO_OP_FFT] = op_fft,
      [HALO_OP_CHOLESKY] = op_cholesky,
      [HALO_OP_TRIANGULAR_SOLVE] = op_triangular_solve,
      [HALO_OP_BATCH_NORM_TRAINING] = op_batch_norm,
      [HALO_OP_BATCH_NORM_INFERENCE] = op_batch_norm,
      [HALO_OP_BATCH_NORM_GRAD] = op_batch_norm,
      [HALO_OP_GATHER] = op_gather,
      [HALO_OP_SCATTER] = op_scatter,
      [HALO_OP_REDUCE] = op_reduce,
      [HALO_OP_REDUCE_WINDOW] = op_reduce,
      [HALO_OP_MAP] = op_reduce,
      [HALO_OP_SORT] = op_sort,
      [HALO_OP_SELECT_AND_SCATTER] = op_select_and_scatter,
      [HALO_OP_WHILE] = op_while,
      [HALO_OP_CONDITIONAL] = op_conditional,
      [HALO_OP_CALL] = op_call,
      [HALO_OP_FUSION] = op_call,
      [HALO_OP_RNG_BIT_GENERATOR] = op_rng_bits,
      [HALO_OP_TOPK] = op_top_k,
      [HALO_OP_REPLICA_ID] = op_plain,
      [HALO_OP_PARTITION_ID] = op_plain,
      [HALO_OP_AFTER_ALL] = op_plain,
      [HALO_OP_ALL_GATHER] = op_collective,
      [HALO_OP_ALL_REDUCE] = op_collective,
      [HALO_OP_REDUCE_SCATTER] = op_collective,
      [HALO_OP_OPT_BARRIER] = op_barrier,
      [HALO_OP_COPY] = op_identity,
      [HALO_OP_TUPLE] = op_tuple,
      [HALO_OP_GET_TUPLE_ELEMENT] = op_get_tuple_element,
  };
  if (rows[opcode]) return rows[opcode];
  return halo_opcode_has_trait(opcode, HALO_TRAIT_EW) && opcode != HALO_OP_STOCHASTIC_CONVERT
             ? op_plain
             : NULL;
}

halo_status halo_write_op(halo_writer *w, const halo_instr *instr) {
  if (halo_shape_is_dynamic(instr->shape))
    return halo_write_refuse(instr, "a size that is known at run time only");
  op_write write = op_writer(instr->opcode);
  if (!write) return halo_write_refuse(instr, "there is no writer for it");
  bool chlo = halo_op_info_of(instr->opcode)->dialect == HALO_DIALECT_CHLO;
  char name[64];
  snprintf(name, sizeof name, "%s.%s", chlo ? "chlo" : "stablehlo",
           halo_opcode_name(instr->opcode));
  for (char *c = name; *c; c++)
    if (*c == '-') *c = '_';
  return write(w, instr, name);
}

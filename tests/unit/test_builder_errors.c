/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_builder_errors.c: what the builder refuses, and the first error kept. */
#include "builder_test.h"
#include "halo/collectives.h"
#include "suite.h"

START_TEST(build_keeps_the_first_error) {
  halo_builder *b = halo_builder_create("model");
  halo_op x = param(b, 0, HALO_F32, LIST(2)), y = param(b, 1, HALO_F32, LIST(3));
  halo_op bad = halo_add(x, y); /* call 3 */
  ck_assert_int_lt(bad.id, 0);
  ck_assert_ptr_null(halo_op_shape(bad));
  ck_assert_int_eq(halo_builder_status(b), HALO_INVALID_ARGUMENT);
  halo_op worse = halo_exp(halo_constant_s32(b, 1));
  ck_assert_int_lt(worse.id, 0);
  ck_assert_int_lt(halo_tanh(bad).id, 0);
  ck_assert_ptr_nonnull(strstr(halo_builder_message(b), "model: call 3 (halo_add)"));
  fails(b, bad, "model: call 3 (halo_add): operands f32[2] and f32[3]");
}
END_TEST

START_TEST(build_keeps_errors_of_subs) {
  halo_builder *b = halo_builder_create("model");
  halo_builder *sub = halo_builder_create_sub(b, "sub");
  halo_op p = param(sub, 0, HALO_PRED, 0, NULL);
  halo_comp comp = halo_builder_finish_sub(sub, halo_sub(p, p));
  ck_assert_int_lt(comp.id, 0);
  halo_op x = param(b, 0, HALO_F32, 0, NULL);
  ck_assert_int_lt(x.id, 0);
  fails(b, x, "(halo_sub): subtract(pred[], pred[])");
}
END_TEST

START_TEST(build_refuses_foreign_values) {
  halo_builder *b = halo_builder_create("a"), *other = halo_builder_create("b");
  halo_op x = param(b, 0, HALO_F32, 0, NULL), y = param(other, 0, HALO_F32, 0, NULL);
  fails(b, halo_add(x, y), "belongs to another computation");
  b = halo_builder_create("a");
  x = param(b, 0, HALO_F32, 0, NULL);
  halo_comp foreign = halo_scalar_add(other, HALO_F32);
  fails(b, halo_reduce_all(x, x, foreign), "belongs to another builder");
  b = halo_builder_create("a");
  halo_builder *sub = halo_builder_create_sub(b, "sub");
  x = param(b, 0, HALO_F32, 0, NULL);
  halo_builder_finish_sub(sub, x);
  fails(b, x, "belongs to another computation");
  b = halo_builder_create("a");
  x = param(b, 0, HALO_F32, 0, NULL);
  fails(b, halo_neg((halo_op){.builder = b, .id = 77}), "is not a value of this builder");
  finish(other, y);
}
END_TEST

START_TEST(build_refuses_a_finished_builder) {
  halo_builder *b = halo_builder_create("a");
  halo_builder *sub = halo_builder_create_sub(b, "sub");
  halo_op s = param(sub, 0, HALO_F32, 0, NULL);
  halo_builder_finish_sub(sub, s);
  ck_assert_int_lt(halo_neg(s).id, 0);
  fails(b, s, "takes no more ops");
  b = halo_builder_create("a");
  halo_module *module, *second;
  ck_assert_int_eq(halo_builder_build(b, halo_constant_f32(b, 1), &module), HALO_OK);
  ck_assert_int_lt(halo_constant_f32(b, 1).id, 0);
  ck_assert_int_eq(halo_builder_build(b, (halo_op){b, 0}, &second), HALO_FAILED_PRECONDITION);
  sub = halo_builder_create_sub(b, "late");
  ck_assert_int_lt(halo_constant_f32(sub, 1).id, 0);
  halo_builder_release(b);
  halo_module_release(module);
}
END_TEST

START_TEST(build_refuses_gaps_and_repeats_in_parameters) {
  halo_builder *b = halo_builder_create("a");
  fails(b, param(b, 1, HALO_F32, 0, NULL), "parameter 0 of main is missing");
  b = halo_builder_create("a");
  param(b, 0, HALO_F32, 0, NULL);
  fails(b, param(b, 0, HALO_F32, 0, NULL), "is used twice");
  b = halo_builder_create("a");
  fails(b, param(b, -1, HALO_F32, 0, NULL), "out of range");
  b = halo_builder_create("a");
  halo_builder *sub = halo_builder_create_sub(b, "sub");
  halo_builder_finish_sub(sub, param(sub, 2, HALO_F32, 0, NULL));
  fails(b, halo_constant_f32(b, 1), "parameter 0 of sub is missing");
}
END_TEST

typedef halo_op bad_call(halo_builder *b, halo_op x); /* x: f32[2,3] */

static halo_op bad_parameter(halo_builder *b, halo_op x) {
  (void)x;
  return halo_parameter(b, 1, NULL, "p");
}
static halo_op bad_literal(halo_builder *b, halo_op x) {
  (void)x;
  return halo_constant_literal(b, NULL);
}
static halo_op bad_type(halo_builder *b, halo_op x) {
  (void)x;
  return halo_constant_scalar(b, HALO_TUPLE, 1);
}
static halo_op bad_extreme(halo_builder *b, halo_op x) {
  (void)x;
  return halo_max_value(b, HALO_C64);
}
static halo_op bad_tuple(halo_builder *b, halo_op x) {
  (void)x;
  return halo_tuple(b, 2, NULL);
}
static halo_op bad_tuple_count(halo_builder *b, halo_op x) { return halo_tuple(b, -1, &x); }
static halo_op bad_list(halo_builder *b, halo_op x) {
  (void)b;
  return halo_transpose(x, 2, NULL);
}
static halo_op bad_list_length(halo_builder *b, halo_op x) {
  (void)b;
  return halo_transpose(x, 1000, DIMS(1));
}
static halo_op bad_negative(halo_builder *b, halo_op x) {
  (void)b;
  return halo_reshape(x, LIST(-2, -3));
}
static halo_op bad_reshape(halo_builder *b, halo_op x) {
  (void)b;
  return halo_reshape(x, LIST(5));
}
static halo_op bad_reshape_to(halo_builder *b, halo_op x) {
  (void)b;
  return halo_reshape_to(x, NULL);
}
static halo_op bad_collapse(halo_builder *b, halo_op x) {
  (void)b;
  return halo_collapse(x, LIST(1, 0));
}
static halo_op bad_collapse_range(halo_builder *b, halo_op x) {
  (void)b;
  return halo_collapse(x, LIST(1, 2));
}
static halo_op bad_in_dim(halo_builder *b, halo_op x) {
  (void)b;
  return halo_broadcast_in_dim(x, LIST(3, 2), LIST(1, 0));
}
static halo_op bad_in_dim_size(halo_builder *b, halo_op x) {
  (void)b;
  return halo_broadcast_in_dim(x, LIST(2, 4), LIST(0, 1));
}
static halo_op bad_slice_dim(halo_builder *b, halo_op x) {
  (void)b;
  return halo_slice_in_dim(x, 0, 1, 1, 2);
}
static halo_op bad_pad_dim(halo_builder *b, halo_op x) {
  return halo_pad_in_dim(x, halo_zero(b, HALO_F32), -1, 0, 0);
}
static halo_op bad_concat(halo_builder *b, halo_op x) {
  (void)x;
  return halo_concat_in_dim(b, 0, NULL, 0);
}
static halo_op bad_gather(halo_builder *b, halo_op x) {
  (void)b;
  return halo_gather(x, x, NULL, LIST(1, 1), false);
}
static halo_op bad_scatter(halo_builder *b, halo_op x) {
  return halo_scatter(x, x, x, halo_scalar_add(b, HALO_F32), NULL, false, false);
}
static halo_op bad_scatter_count(halo_builder *b, halo_op x) {
  halo_scatter_dims dims = {0};
  return halo_scatter_many(b, 0, NULL, x, NULL, halo_scalar_add(b, HALO_F32), &dims, false, false);
}
static halo_op bad_scatter_list(halo_builder *b, halo_op x) {
  halo_scatter_dims dims = {.window_count = 2};
  return halo_scatter(x, x, x, halo_scalar_add(b, HALO_F32), &dims, false, false);
}
static halo_op bad_cholesky(halo_builder *b, halo_op x) {
  (void)b;
  return halo_cholesky(x, true);
}
static halo_op bad_matrix_op(halo_builder *b, halo_op x) {
  (void)b;
  return halo_triangular_solve(x, x, true, true, false, (halo_matrix_op)3);
}
static halo_op bad_sort_count(halo_builder *b, halo_op x) {
  (void)x;
  return halo_sort_ascending(b, 0, NULL, 0);
}
static halo_op bad_sort_types(halo_builder *b, halo_op x) {
  return halo_sort(b, 1, &x, halo_comparator_lt(b, 0, NULL), 0, false);
}
static halo_op bad_sort_dimension(halo_builder *b, halo_op x) {
  return halo_sort_ascending(b, 1, &x, 5);
}
static halo_op bad_top_k(halo_builder *b, halo_op x) {
  (void)b;
  return halo_top_k(x, 1000, true);
}
static halo_op bad_top_k_by(halo_builder *b, halo_op x) {
  return halo_top_k_by(x, 1, halo_scalar_add(b, HALO_F32));
}
static halo_op bad_window(halo_builder *b, halo_op x) {
  return halo_reduce_window(x, halo_zero(b, HALO_F32), halo_scalar_add(b, HALO_F32), NULL);
}
static halo_op bad_window_count(halo_builder *b, halo_op x) {
  halo_window window = {.count = 5, .sizes = DIMS(1, 1, 1, 1, 1)};
  return halo_reduce_window(x, halo_zero(b, HALO_F32), halo_scalar_add(b, HALO_F32), &window);
}
static halo_op bad_window_padding(halo_builder *b, halo_op x) {
  halo_window window = {
      .count = 2, .sizes = DIMS(1, 1), .padding = (halo_padding[]){{0}, {0}}, .same = true};
  return halo_reduce_window(x, halo_zero(b, HALO_F32), halo_scalar_add(b, HALO_F32), &window);
}
static halo_op bad_window_many(halo_builder *b, halo_op x) {
  halo_window window = {.count = 2, .sizes = DIMS(1, 1)};
  (void)x;
  return halo_reduce_window_many(b, 0, NULL, NULL, halo_scalar_add(b, HALO_F32), &window);
}
static halo_op bad_select_scatter(halo_builder *b, halo_op x) {
  halo_window window = {.count = 2, .sizes = DIMS(1, 1), .window_dilations = DIMS(2, 2)};
  halo_comp add = halo_scalar_add(b, HALO_F32);
  return halo_select_and_scatter(x, add, &window, x, halo_zero(b, HALO_F32), add);
}
static halo_op bad_scan(halo_builder *b, halo_op x) {
  (void)x;
  return halo_scan(b, 0, NULL, 0, NULL, halo_scalar_add(b, HALO_F32), 0, false,
                   HALO_ASSOCIATIVITY_UNKNOWN);
}
static halo_op bad_scan_carries(halo_builder *b, halo_op x) {
  return halo_scan(b, 1, &x, 2, NULL, halo_scalar_add(b, HALO_F32), 0, false,
                   HALO_ASSOCIATIVITY_UNKNOWN);
}
static halo_op bad_map_static(halo_builder *b, halo_op x) {
  return halo_map_dims(b, 1, &x, halo_scalar_add(b, HALO_F32), 0, NULL, 1, &x);
}
static halo_op bad_composite(halo_builder *b, halo_op x) {
  return halo_composite_call(b, halo_scalar_add(b, HALO_F32), 1, &x, NULL, NULL, 0);
}
static halo_op bad_reduce_tuple(halo_builder *b, halo_op x) {
  (void)x;
  return halo_all_reduce(halo_tuple(b, 0, NULL), halo_scalar_add(b, HALO_F32), NULL);
}
static halo_op bad_broadcast_layout(halo_builder *b, halo_op x) {
  (void)b;
  return halo_collective_broadcast(x, &(halo_replica_groups){.layout = halo_op_shape(x)});
}
static halo_op bad_gather_layout(halo_builder *b, halo_op x) {
  (void)b;
  return halo_all_gather(x, 0, 2, &(halo_replica_groups){.layout = halo_op_shape(x)});
}
static halo_op bad_dot_rank(halo_builder *b, halo_op x) {
  return halo_dot(x, halo_zero(b, HALO_F32), NULL);
}
static halo_op bad_dot_types(halo_builder *b, halo_op x) {
  (void)b;
  return halo_dot(x, halo_convert(x, HALO_S32), NULL);
}
static halo_op bad_dot_dims(halo_builder *b, halo_op x) {
  (void)b;
  return halo_dot_general(x, x, NULL, NULL);
}
static halo_op bad_precision(halo_builder *b, halo_op x) {
  halo_dot_options options = {.lhs_precision = (halo_precision)9};
  (void)b;
  return halo_dot(x, x, &options);
}
static halo_op bad_preferred(halo_builder *b, halo_op x) {
  halo_dot_options options = {.preferred_type = HALO_TOKEN};
  return halo_dot(x, halo_constant_array(b, HALO_F32, 1, DIMS(3), (float[]){1, 2, 3}), &options);
}
static halo_op bad_comp(halo_builder *b, halo_op x) { return halo_call(b, (halo_comp){0}, 1, &x); }
static halo_op bad_branches(halo_builder *b, halo_op x) {
  (void)x;
  return halo_conditional_indexed(halo_constant_s32(b, 0), 0, NULL, NULL);
}
static halo_op bad_map(halo_builder *b, halo_op x) {
  (void)x;
  return halo_map_elements(b, 0, NULL, (halo_comp){0});
}
static halo_op bad_convert(halo_builder *b, halo_op x) {
  (void)b;
  return halo_convert(x, HALO_TYPE_INVALID);
}
static halo_op bad_bitcast(halo_builder *b, halo_op x) {
  (void)b;
  return halo_bitcast_convert(x, HALO_F64);
}
static halo_op bad_tuple_operand(halo_builder *b, halo_op x) {
  return halo_add(halo_tuple(b, 1, &x), x);
}
static halo_op bad_select(halo_builder *b, halo_op x) {
  return halo_select(halo_constant_pred(b, true), halo_tuple(b, 1, &x), halo_tuple(b, 0, NULL));
}
static halo_op bad_invalid(halo_builder *b, halo_op x) {
  (void)b;
  return halo_add(x, (halo_op){0});
}
static halo_op bad_iota(halo_builder *b, halo_op x) {
  (void)x;
  return halo_iota_array(b, HALO_S32, 1, DIMS(-4), 0);
}
static halo_op bad_groups(halo_builder *b, halo_op x) {
  (void)b;
  return halo_cross_replica_sum(x, 2, 0, DIMS(0));
}
static halo_op bad_replica(halo_builder *b, halo_op x) {
  (void)b;
  return halo_cross_replica_sum(x, 1, 2, DIMS(1, 1));
}
static halo_op bad_accuracy(halo_builder *b, halo_op x) {
  (void)b;
  halo_op y = halo_neg(x);
  halo_op_set_accuracy(y, &(halo_accuracy){.mode = HALO_ACCURACY_HIGHEST});
  return halo_neg(y);
}
static halo_op bad_scalar_comp(halo_builder *b, halo_op x) {
  return halo_reduce_all(x, x, halo_scalar_add(b, HALO_TUPLE));
}

static const struct {
  bad_call *call;
  const char *expect;
} bad_calls[] = {{bad_parameter, "the shape is NULL"},
                 {bad_literal, "the literal is NULL"},
                 {bad_type, "halo_constant_scalar"},
                 {bad_extreme, "c64 has no order"},
                 {bad_tuple, "the list is NULL"},
                 {bad_tuple_count, "the count is negative"},
                 {bad_list, "permutation: the list is NULL"},
                 {bad_list_length, "permutation has 1000 entries"},
                 {bad_negative, "dims entry 0 is negative"},
                 {bad_reshape, "has 6 elements, but the result 5"},
                 {bad_reshape_to, "the shape is NULL"},
                 {bad_collapse, "must be consecutive"},
                 {bad_collapse_range, "must be consecutive"},
                 {bad_in_dim, "strictly increasing"},
                 {bad_in_dim_size, "must be 1 or 4"},
                 {bad_slice_dim, "dimension 2 is outside"},
                 {bad_pad_dim, "dimension -1 is outside"},
                 {bad_concat, "expects at least 1"},
                 {bad_gather, "dims is NULL"},
                 {bad_scatter, "dims is NULL"},
                 {bad_scatter_count, "at least one operand"},
                 {bad_scatter_list, "update_window_dims"},
                 {bad_cholesky, "must be equal"},
                 {bad_matrix_op, "transpose_a"},
                 {bad_sort_count, "at least one operand"},
                 {bad_sort_types, "at least one type"},
                 {bad_sort_dimension, "dimension"},
                 {bad_top_k, "k is 1000"},
                 {bad_top_k_by, "must compare its two parameters"},
                 {bad_window, "the window is NULL"},
                 {bad_window_count, "a size for each of the 2 dimensions"},
                 {bad_window_padding, "SAME padding"},
                 {bad_window_many, "at least one operand"},
                 {bad_select_scatter, "must not be dilated"},
                 {bad_scan, "at least one input"},
                 {bad_scan_carries, "carries is NULL"},
                 {bad_map_static, "static operands"},
                 {bad_composite, "the name is missing"},
                 {bad_reduce_tuple, "no elements"},
                 {bad_broadcast_layout, "takes no layout"},
                 {bad_gather_layout, "another shape than the result"},
                 {bad_dot_rank, "vectors or matrices"},
                 {bad_dot_types, "element types must match"},
                 {bad_dot_dims, "dims is NULL"},
                 {bad_precision, "a precision is not"},
                 {bad_preferred, "preferred_type"},
                 {bad_comp, "a computation is invalid"},
                 {bad_branches, "at least one branch"},
                 {bad_map, "at least one operand"},
                 {bad_convert, "no element type"},
                 {bad_bitcast, "must be the ratio"},
                 {bad_tuple_operand, "must be an array, not (f32[2,3])"},
                 {bad_select, "must return the shape"},
                 {bad_invalid, "an operand is invalid"},
                 {bad_iota, "negative extent"},
                 {bad_scalar_comp, "must be an array"},
                 {bad_groups, "2 groups of 0 replicas are no list"},
                 {bad_replica, "replica_groups"},
                 {bad_accuracy, "negate has no result_accuracy"}};

START_TEST(build_refuses_bad_calls) {
  halo_builder *b = halo_builder_create("bad");
  halo_op x = param(b, 0, HALO_F32, LIST(2, 3));
  refused(b, x, bad_calls[_i].call(b, x), bad_calls[_i].expect);
}
END_TEST

START_TEST(build_survives_null) {
  halo_module *module;
  halo_op none = {0};
  ck_assert_int_eq(halo_builder_build(NULL, none, &module), HALO_INVALID_ARGUMENT);
  halo_builder *b = halo_builder_create("");
  ck_assert_int_eq(halo_builder_build(b, none, NULL), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_builder_status(b), HALO_OK);
  ck_assert_int_lt(halo_add(none, none).id, 0);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "halo_add: no builder"));
  ck_assert_int_lt(halo_constant_f32(NULL, 1).id, 0);
  ck_assert_ptr_null(halo_builder_create_sub(NULL, "x"));
  ck_assert_int_lt(halo_builder_finish_sub(NULL, none).id, 0);
  ck_assert_int_lt(halo_scalar_add(NULL, HALO_F32).id, 0);
  ck_assert_int_lt(halo_select(none, none, none).id, 0);
  ck_assert_ptr_null(halo_op_shape(none));
  ck_assert_str_eq(halo_builder_message(NULL), "");
  halo_builder_release(NULL);
  fails(b, none, "an operand is invalid");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("builder_errors");
  TCase *tc = tcase_create("builder_errors");
  tcase_add_test(tc, build_keeps_the_first_error);
  tcase_add_test(tc, build_keeps_errors_of_subs);
  tcase_add_test(tc, build_refuses_foreign_values);
  tcase_add_test(tc, build_refuses_a_finished_builder);
  tcase_add_test(tc, build_refuses_gaps_and_repeats_in_parameters);
  tcase_add_loop_test(tc, build_refuses_bad_calls, 0, sizeof bad_calls / sizeof bad_calls[0]);
  tcase_add_test(tc, build_survives_null);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_builder_conv.c: convolutions made by the builder. */
#include "builder_test.h"
#include "suite.h"

static const halo_conv_numbers last = {.lhs_batch = 0,
                                       .lhs_feature = 3,
                                       .rhs_input_feature = 2,
                                       .rhs_output_feature = 3,
                                       .out_batch = 0,
                                       .out_feature = 3,
                                       .lhs_spatial = (int64_t[]){1, 2},
                                       .rhs_spatial = (int64_t[]){0, 1},
                                       .out_spatial = (int64_t[]){1, 2}};
static const halo_padding ones[] = {{1, 1, 0}, {1, 1, 0}};

static const halo_window_dim *window_of(halo_builder *b, halo_op op) {
  return halo_instr_attr(b->ops.data[op.id], HALO_ATTR_WINDOW)->window.data;
}

START_TEST(conv_default_numbers) {
  halo_builder *b = halo_builder_create("conv");
  halo_op x = param(b, 0, HALO_F32, LIST(2, 3, 7, 8)), k = param(b, 1, HALO_F32, LIST(5, 3, 3, 4));
  check_shape(halo_conv(x, k, 2, NULL, HALO_CONV_VALID, NULL), "f32[2,5,5,5]");
  check_shape(halo_conv(x, k, 2, DIMS(2, 3), HALO_CONV_VALID, NULL), "f32[2,5,3,2]");
  halo_op same = halo_conv(x, k, 2, DIMS(2, 3), HALO_CONV_SAME, NULL);
  check_shape(same, "f32[2,5,4,3]");
  const halo_window_dim *w = window_of(b, same);
  ck_assert_int_eq(w[0].pad_low, 1);
  ck_assert_int_eq(w[0].pad_high, 1);
  ck_assert_int_eq(w[1].pad_low, 1);
  ck_assert_int_eq(w[1].pad_high, 1);
  same = halo_conv(x, k, 2, NULL, HALO_CONV_SAME, NULL);
  check_shape(same, "f32[2,5,7,8]");
  ck_assert_int_eq(window_of(b, same)[1].pad_low, 1);
  ck_assert_int_eq(window_of(b, same)[1].pad_high, 2);
  check_shape(halo_conv_with_general_padding(x, k, 2, NULL, ones, NULL), "f32[2,5,7,7]");
  check_shape(halo_conv_with_general_padding(x, k, 2, NULL, NULL, NULL), "f32[2,5,5,5]");
  finish(b, same);
}
END_TEST

START_TEST(conv_numbers) {
  halo_builder *b = halo_builder_create("conv");
  halo_op x = param(b, 0, HALO_S8, LIST(4, 7, 8, 6)), k = param(b, 1, HALO_S8, LIST(3, 2, 3, 8));
  halo_op whole = param(b, 2, HALO_S8, LIST(3, 2, 6, 8));
  halo_conv_options groups = {
      .feature_group_count = 2, .preferred_type = HALO_S32, .lhs_precision = HALO_PRECISION_HIGH};
  check_shape(
      halo_conv_with_general_dimensions(x, k, 2, DIMS(1, 2), HALO_CONV_SAME, &last, &groups),
      "s32[4,7,4,8]");
  halo_conv_options batches = {.batch_group_count = 2};
  check_shape(halo_conv_general(x, whole, 2, NULL, ones, &last, &batches), "s8[2,7,9,8]");
  check_shape(halo_conv_general(x, whole, 2, NULL, NULL, &last, NULL), "s8[4,5,7,8]");
  halo_op all = halo_conv_general_dilated(x, whole, 2, DIMS(2, 1), ones, DIMS(2, 1), DIMS(1, 3),
                                          (bool[]){true, false}, &last, NULL);
  check_shape(all, "s8[4,7,7,8]");
  const halo_window_dim *w = window_of(b, all);
  ck_assert(w[0].reversal && !w[1].reversal);
  ck_assert_int_eq(w[0].base_dilation, 2);
  ck_assert_int_eq(w[1].window_dilation, 3);
  check_shape(halo_conv_general_dilated(x, whole, 2, NULL, NULL, NULL, NULL, NULL, &last, NULL),
              "s8[4,5,7,8]");
  halo_op m = param(b, 3, HALO_F32, LIST(4, 3)), n = param(b, 4, HALO_F32, LIST(5, 3));
  check_shape(halo_conv(m, n, 0, NULL, HALO_CONV_VALID, NULL), "f32[4,5]");
  finish(b, all);
}
END_TEST

/* ---- What is refused ---- */

static halo_op bad_numbers(halo_op x) { return halo_conv_general(x, x, 2, NULL, NULL, NULL, NULL); }
static halo_op bad_spatial(halo_op x) {
  halo_conv_numbers numbers = last;
  numbers.rhs_spatial = NULL;
  return halo_conv_general(x, x, 2, NULL, NULL, &numbers, NULL);
}
static halo_op bad_dimension(halo_op x) {
  halo_conv_numbers numbers = last;
  numbers.lhs_batch = 1000;
  return halo_conv_with_general_dimensions(x, x, 2, NULL, HALO_CONV_SAME, &numbers, NULL);
}
static halo_op bad_count(halo_op x) { return halo_conv(x, x, -1, NULL, HALO_CONV_SAME, NULL); }
static halo_op bad_many(halo_op x) {
  return halo_conv(x, x, HALO_MAX_RANK, NULL, HALO_CONV_SAME, NULL);
}
static halo_op bad_rank(halo_op x) { return halo_conv(x, x, 1, NULL, HALO_CONV_SAME, NULL); }
static halo_op bad_kind(halo_op x) { return halo_conv(x, x, 2, NULL, (halo_conv_padding)7, NULL); }
static halo_op bad_stride(halo_op x) {
  return halo_conv(x, x, 2, DIMS(0, 1), HALO_CONV_SAME, NULL);
}
static halo_op bad_interior(halo_op x) {
  const halo_padding padding[] = {{1, 1, 0}, {1, 1, 1}};
  return halo_conv_with_general_padding(x, x, 2, NULL, padding, NULL);
}
static halo_op bad_groups(halo_op x) {
  halo_conv_options options = {.feature_group_count = 2, .batch_group_count = 2};
  return halo_conv(x, x, 2, NULL, HALO_CONV_SAME, &options);
}
static halo_op bad_group_count(halo_op x) {
  halo_conv_options options = {.feature_group_count = -1};
  return halo_conv(x, x, 2, NULL, HALO_CONV_SAME, &options);
}
static halo_op bad_precision(halo_op x) {
  halo_conv_options options = {.rhs_precision = (halo_precision)9};
  return halo_conv(x, x, 2, NULL, HALO_CONV_SAME, &options);
}
static halo_op bad_preferred(halo_op x) {
  halo_conv_options options = {.preferred_type = HALO_TOKEN};
  return halo_conv(x, x, 2, NULL, HALO_CONV_SAME, &options);
}

static const struct {
  halo_op (*call)(halo_op);
  const char *expect;
} bad_calls[] = {{bad_numbers, "halo_conv_general): numbers is NULL"},
                 {bad_spatial, "a list of spatial dimensions is NULL"},
                 {bad_dimension, "dim_labels of the lhs are not a permutation"},
                 {bad_count, "count must be 0 to"},
                 {bad_many, "count must be 0 to"},
                 {bad_rank, "both operands must have rank 3"},
                 {bad_kind, "neither HALO_CONV_VALID nor HALO_CONV_SAME"},
                 {bad_stride, "must be positive"},
                 {bad_interior, "padding 1 has an interior"},
                 {bad_groups, "only one of the two group counts"},
                 {bad_group_count, "group counts must be positive"},
                 {bad_precision, "a precision is not"},
                 {bad_preferred, "preferred_type"}};

START_TEST(conv_refuses) {
  halo_builder *b = halo_builder_create("bad");
  halo_op x = param(b, 0, HALO_F32, LIST(2, 2, 2, 2));
  refused(b, x, bad_calls[_i].call(x), bad_calls[_i].expect);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("builder_conv");
  TCase *tc = tcase_create("builder_conv");
  tcase_add_test(tc, conv_default_numbers);
  tcase_add_test(tc, conv_numbers);
  tcase_add_loop_test(tc, conv_refuses, 0, sizeof bad_calls / sizeof bad_calls[0]);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}

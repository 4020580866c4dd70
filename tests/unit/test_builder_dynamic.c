/* SPDX-License-Identifier: Apache-2.0 */
/* test_builder_dynamic.c: building programs with dimensions that are known at run time only, and shuffles. */
#include "builder_test.h"
#include "suite.h"

#define MARKS(...) ((bool[]){__VA_ARGS__})

START_TEST(dynamic_sizes) {
  halo_builder *b = halo_builder_create("sizes");
  halo_op x = param(b, 0, HALO_F32, LIST(8, 3)), n = param(b, 1, HALO_S32, 0, NULL);
  check_shape(halo_get_dimension_size(x, 1), "s32[]");
  halo_op d = halo_set_dimension_size(x, n, 0);
  check_shape(d, "f32[<=8,3]");
  check_shape(halo_mul(d, x), "f32[<=8,3]");
  check_shape(halo_set_dimension_size(d, n, 1), "f32[<=8,<=3]");
  check_shape(halo_set_dimension_size(d, halo_constant_s32(b, 7), 0), "f32[<=8,3]");
  check_shape(halo_set_dimension_size(d, halo_constant_s32(b, 8), 0), "f32[8,3]");
  check_shape(halo_remove_dynamic_dimension(d, 0), "f32[8,3]");
  halo_op sizes[] = {n, halo_constant_s32(b, 2)};
  check_shape(halo_dynamic_reshape(d, 2, sizes, DIMS(12, 2), MARKS(true, false)), "f32[<=12,2]");
  finish(b, halo_get_dimension_size(d, 0));
}
END_TEST

START_TEST(dynamic_parameter) {
  halo_builder *b = halo_builder_create("parameter");
  halo_shape *shape;
  ck_assert_int_eq(halo_shape_create_dynamic(HALO_F32, 2, DIMS(8, 3), MARKS(true, false), &shape),
                   HALO_OK);
  halo_op x = halo_parameter(b, 0, shape, "x");
  halo_shape_release(shape);
  check_shape(x, "f32[<=8,3]");
  finish(b, halo_neg(x));
  ck_assert_int_eq(halo_shape_create_dynamic(HALO_F32, 1, DIMS(8), NULL, &shape),
                   HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(shape);
}
END_TEST

START_TEST(shuffles) {
  halo_builder *b = halo_builder_create("shuffles");
  halo_op x = param(b, 0, HALO_F32, LIST(4, 3));
  check_shape(halo_shuffle_rotate(x, 2, DIMS(1, 0), DIMS(-1, 7)), "f32[4,3]");
  halo_literal *indices;
  const int32_t rows[] = {3, 2, 1, 0};
  ck_assert_int_eq(halo_literal_create_array(HALO_S32, 2, DIMS(4, 1), rows, &indices), HALO_OK);
  halo_op y = halo_shuffle_permute(x, 1, DIMS(0), indices);
  halo_literal_release(indices);
  check_shape(y, "f32[4,3]");
  finish(b, y);
}
END_TEST

static halo_op bad_shifts(halo_builder *b, halo_op x) {
  (void)b;
  return halo_shuffle_rotate(x, 1, DIMS(0), NULL);
}
static halo_op bad_indices(halo_builder *b, halo_op x) {
  (void)b;
  return halo_shuffle_permute(x, 1, DIMS(0), NULL);
}
/* Dimension 0 by a table of these extents. */
static halo_op bad_table(halo_op x, halo_type type, int rank, const int64_t *dims) {
  halo_shape *shape;
  halo_literal *table;
  ck_assert_int_eq(halo_shape_create_array(type, rank, dims, &shape), HALO_OK);
  ck_assert_int_eq(halo_literal_create(shape, &table), HALO_OK);
  halo_op result = halo_shuffle_permute(x, 1, DIMS(0), table);
  halo_literal_release(table);
  halo_shape_release(shape);
  return result;
}
static halo_op bad_table_rank(halo_builder *b, halo_op x) {
  (void)b;
  return bad_table(x, HALO_S32, 1, DIMS(2));
}
static halo_op bad_table_type(halo_builder *b, halo_op x) {
  (void)b;
  return bad_table(x, HALO_F32, 2, DIMS(2, 1));
}
static halo_op bad_table_extent(halo_builder *b, halo_op x) {
  (void)b;
  return bad_table(x, HALO_S32, 2, DIMS(3, 1));
}
static halo_op bad_table_vector(halo_builder *b, halo_op x) {
  (void)b;
  return bad_table(x, HALO_S32, 3, DIMS(2, 2, 2));
}
static halo_op bad_dimension(halo_builder *b, halo_op x) {
  return halo_set_dimension_size(x, halo_constant_s32(b, 2), 2);
}
static halo_op bad_asked(halo_builder *b, halo_op x) {
  (void)b;
  return halo_get_dimension_size(x, 2);
}
static halo_op bad_size(halo_builder *b, halo_op x) {
  return halo_set_dimension_size(x, halo_constant_f32(b, 2), 0);
}
static halo_op bad_removed(halo_builder *b, halo_op x) {
  (void)b;
  return halo_remove_dynamic_dimension(x, -1);
}
static halo_op bad_count(halo_builder *b, halo_op x) {
  halo_op size = halo_constant_s32(b, 2);
  return halo_dynamic_reshape(x, 1, &size, DIMS(5), MARKS(true));
}
static halo_op bad_list(halo_builder *b, halo_op x) {
  halo_op size = halo_constant_s32(b, 2);
  return halo_dynamic_reshape(x, 1, &size, NULL, MARKS(true));
}
static halo_op bad_bound(halo_builder *b, halo_op x) {
  halo_op size = halo_constant_s32(b, 2);
  return halo_dynamic_reshape(x, 1, &size, DIMS(-4), MARKS(true));
}

static const struct {
  halo_op (*call)(halo_builder *, halo_op);
  const char *expect;
} bad_calls[] = {{bad_dimension, "outside 0 to 1"},
                 {bad_asked, "outside 0 to 1"},
                 {bad_size, "must be an s32 scalar"},
                 {bad_removed, "no dimension -1"},
                 {bad_count, "the operand has 4 elements, but the result 5"},
                 {bad_list, "bounds: the list is NULL"},
                 {bad_bound, "negative extent"},
                 {bad_shifts, "shifts: the list is NULL"},
                 {bad_indices, "the indices are no array"},
                 {bad_table_rank, "the indices have rank 1"},
                 {bad_table_type, "must be integers"},
                 {bad_table_extent, "is 3, neither 1 nor 2"},
                 {bad_table_vector, "has 2 components, but dimensions has 1"}};

START_TEST(dynamic_refuses) {
  halo_builder *b = halo_builder_create("bad");
  halo_op x = param(b, 0, HALO_F32, LIST(2, 2));
  refused(b, x, bad_calls[_i].call(b, x), bad_calls[_i].expect);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("builder_dynamic");
  TCase *tc = tcase_create("builder_dynamic");
  tcase_add_test(tc, dynamic_sizes);
  tcase_add_test(tc, dynamic_parameter);
  tcase_add_test(tc, shuffles);
  tcase_add_loop_test(tc, dynamic_refuses, 0, sizeof bad_calls / sizeof bad_calls[0]);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}

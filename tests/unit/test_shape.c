/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_shape.c: element types, shapes, small floats and literals. */
#include "shape/floats.h"
#include "shape/literal.h"
#include "shape/shape.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>

/* Every encoding of every float type of at most 16 bits survives decode and encode. */
START_TEST(floats_round_trip) {
  for (int t = 1; t < HALO_TYPE_COUNT; t++) {
    halo_type type = (halo_type)t;
    if (!halo_type_is_float(type) || halo_type_bits(type) > 16) continue;
    for (uint64_t bits = 0; bits < 1ull << halo_type_bits(type); bits++) {
      double value = halo_float_decode(type, bits);
      if (isnan(value)) {
        ck_assert_msg(isnan(halo_float_decode(type, halo_float_encode(type, value))), "%s %llx",
                      halo_type_name(type), (unsigned long long)bits);
      } else {
        ck_assert_msg(halo_float_encode(type, value) == bits, "%s %llx -> %g -> %llx",
                      halo_type_name(type), (unsigned long long)bits, value,
                      (unsigned long long)halo_float_encode(type, value));
      }
    }
  }
}
END_TEST

typedef struct encode_case {
  halo_type type;
  double value;
  uint64_t bits;
} encode_case;

static const encode_case encode_cases[] = {
    {HALO_F16, 65504, 0x7bff},       {HALO_F16, 65519.99, 0x7bff},    {HALO_F16, 65520, 0x7c00},
    {HALO_F16, 0x1p-24, 0x0001},     {HALO_F16, 0x1p-25, 0x0000},     {HALO_F16, -0.0, 0x8000},
    {HALO_BF16, 1.00390625, 0x3f80}, {HALO_BF16, 1.01171875, 0x3f82}, {HALO_F8E4M3FN, 464, 0x7e},
    {HALO_F8E4M3FN, 465, 0x7f},      {HALO_F8E4M3FN, INFINITY, 0x7f}, {HALO_F8E5M2, 57344, 0x7b},
    {HALO_F8E5M2, 61440, 0x7c},      {HALO_F8E4M3FNUZ, -0.0, 0x00},   {HALO_F8E4M3FNUZ, 1000, 0x80},
    {HALO_F8E4M3B11FNUZ, 30, 0x7f},  {HALO_F8E8M0FNU, 0, 0xff},       {HALO_F8E8M0FNU, 1.5, 0x80},
    {HALO_F8E8M0FNU, 1e-45, 0x00},   {HALO_F4E2M1FN, 7, 0x7},         {HALO_F4E2M1FN, 0.25, 0x0},
    {HALO_F4E2M1FN, 0.75, 0x2},      {HALO_F4E2M1FN, -INFINITY, 0xf}, {HALO_F32, 1.0, 0x3f800000},
    {HALO_F32, 1e-45, 0x00000001},   {HALO_F32, 3.5e38, 0x7f800000},
};

START_TEST(floats_encode_known) {
  const encode_case *c = &encode_cases[_i];
  ck_assert_msg(halo_float_encode(c->type, c->value) == c->bits, "%s of %g gives %llx, not %llx",
                halo_type_name(c->type), c->value,
                (unsigned long long)halo_float_encode(c->type, c->value),
                (unsigned long long)c->bits);
}
END_TEST

START_TEST(shape_text_and_strides) {
  halo_shape *shape;
  int32_t m2m[] = {0, 2, 1};
  int64_t dims[] = {2, 3, 5}, strides[3];
  ck_assert_int_eq(halo_shape_create_array_with_layout(HALO_F32, 3, dims, m2m, &shape), HALO_OK);
  char text[64];
  halo_shape_to_text(shape, true, text, sizeof text);
  ck_assert_str_eq(text, "f32[2,3,5]{0,2,1}");
  halo_shape_strides(shape, strides);
  ck_assert_int_eq(strides[0], 1);
  ck_assert_int_eq(strides[1], 10);
  ck_assert_int_eq(strides[2], 2);
  ck_assert_int_eq(halo_shape_byte_size(shape), 120);
  halo_shape_release(shape);
}
END_TEST

START_TEST(shape_refuses_nonsense) {
  halo_shape *shape;
  int64_t huge[] = {1ll << 40, 1ll << 40}, negative[] = {-3};
  int32_t twice[] = {0, 0};
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 2, huge, &shape), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(shape);
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 1, negative, &shape), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_shape_create_array(HALO_TUPLE, 0, NULL, &shape), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(
      halo_shape_create_array_with_layout(HALO_F32, 2, (int64_t[]){2, 2}, twice, &shape),
      HALO_INVALID_ARGUMENT);
}
END_TEST

START_TEST(literal_access) {
  halo_literal *literal;
  int64_t dims[] = {4};
  ck_assert_int_eq(halo_literal_create_array(HALO_S4, 1, dims, "\x07\xff\xf8\x00", &literal),
                   HALO_OK);
  ck_assert_int_eq(halo_literal_get_i64(literal, 0), 7);
  ck_assert_int_eq(halo_literal_get_i64(literal, 1), -1);
  ck_assert_int_eq(halo_literal_get_i64(literal, 2), -8);
  halo_literal_set_i64(literal, 3, 9); /* wraps to -7 */
  ck_assert_int_eq(halo_literal_get_i64(literal, 3), -7);
  halo_literal_set_f64(literal, 3, 99.5); /* saturates */
  ck_assert_int_eq(halo_literal_get_i64(literal, 3), 7);
  halo_literal_release(literal);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("shape");
  TCase *tc = tcase_create("shape");
  tcase_add_test(tc, floats_round_trip);
  tcase_add_loop_test(tc, floats_encode_known, 0, sizeof encode_cases / sizeof encode_cases[0]);
  tcase_add_test(tc, shape_text_and_strides);
  tcase_add_test(tc, shape_refuses_nonsense);
  tcase_add_test(tc, literal_access);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}

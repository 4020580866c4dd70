/* SPDX-License-Identifier: Apache-2.0 */
/* test_judge: the judge of the operation tests lets through what it should and nothing else. */
#include "../unit/suite.h"
#include "harness.h"

#include <math.h>

/* Judges one element against another, both given by their bits. */
static ops_verdict verdict_of(halo_type type, const void *got, const void *expected, uint64_t ulp) {
  halo_literal *a, *b;
  ck_assert_int_eq(halo_literal_create_array(type, 0, NULL, got, &a), HALO_OK);
  ck_assert_int_eq(halo_literal_create_array(type, 0, NULL, expected, &b), HALO_OK);
  ops_verdict verdict = ops_judge(a, b, ulp);
  halo_literal_release(a);
  halo_literal_release(b);
  return verdict;
}

static bool passes_f32(float got, float expected, uint64_t ulp) {
  return verdict_of(HALO_F32, &got, &expected, ulp).wrong == 0;
}

START_TEST(floats_are_judged_by_ulp) {
  ck_assert(passes_f32(1, 1, 0));
  ck_assert(!passes_f32(nextafterf(1, 2), 1, 0));
  ck_assert(passes_f32(nextafterf(1, 2), 1, 1));
  ck_assert(!passes_f32(nextafterf(nextafterf(1, 2), 2), 1, 1));
  ck_assert(!passes_f32(1, -1, 1000));
  double x = 1, y = nextafter(1, 2);
  ck_assert_int_eq((int)verdict_of(HALO_F64, &y, &x, 0).worst, 1);
  uint16_t one = 0x3c00, next = 0x3c02;
  ck_assert_int_eq((int)verdict_of(HALO_F16, &next, &one, 0).worst, 2);
  uint8_t e4m3 = 0x38, up = 0x39;
  ck_assert_int_eq((int)verdict_of(HALO_F8E4M3FN, &up, &e4m3, 0).worst, 1);
}
END_TEST

START_TEST(special_values_are_not_let_through) {
  ck_assert(passes_f32(NAN, -NAN, 0));
  ck_assert(!passes_f32(NAN, 1, 1000000));
  ck_assert(!passes_f32(1, NAN, 1000000));
  ck_assert(passes_f32(INFINITY, INFINITY, 0));
  ck_assert(!passes_f32(INFINITY, -INFINITY, 1000000));
  ck_assert(!passes_f32(-0.0f, 0.0f, 0));
  ck_assert(passes_f32(-0.0f, 0.0f, 1));
  ck_assert(!passes_f32(1e-40f, 0, 0));
  ck_assert(passes_f32(1e-40f, 0, 1)); /* XLA flushed it */
  ck_assert(!passes_f32(1e-40f, 1, 1));
  ck_assert(!passes_f32(1e-37f, 0, 100));
}
END_TEST

START_TEST(integers_and_complex) {
  int32_t a = 5, b = 6;
  ck_assert(verdict_of(HALO_S32, &a, &a, 0).wrong == 0);
  ck_assert(verdict_of(HALO_S32, &a, &b, 0).wrong == 1);
  uint64_t large = UINT64_MAX, less = UINT64_MAX - 1;
  ck_assert(verdict_of(HALO_U64, &large, &less, 0).wrong == 1);
  float z[2] = {1000, 1e-6f}, near[2] = {1000, 2e-6f}, far[2] = {1000, 0.1f};
  ck_assert(verdict_of(HALO_C64, near, z, 1).wrong == 0); /* small beside the real part */
  ck_assert(verdict_of(HALO_C64, near, z, 0).wrong == 1);
  ck_assert(verdict_of(HALO_C64, far, z, 4).wrong == 1);
  float infinite[2] = {INFINITY, 0}, nan[2] = {1000, NAN};
  ck_assert(verdict_of(HALO_C64, infinite, z, 4).wrong == 1);
  ck_assert(verdict_of(HALO_C64, nan, z, 4).wrong == 1);
}
END_TEST

START_TEST(wrong_elements_are_counted_and_found) {
  int64_t dims[1] = {4};
  float expected[4] = {1, 2, 3, 4}, got[4] = {1, 5, 3, 7};
  halo_literal *a, *b;
  ck_assert_int_eq(halo_literal_create_array(HALO_F32, 1, dims, got, &a), HALO_OK);
  ck_assert_int_eq(halo_literal_create_array(HALO_F32, 1, dims, expected, &b), HALO_OK);
  ops_verdict verdict = ops_judge(a, b, 3);
  ck_assert_int_eq((int)verdict.wrong, 2);
  ck_assert_int_eq((int)verdict.first, 1);
  char text[64];
  ops_element_text(b, 2, text, sizeof text);
  ck_assert_str_eq(text, "3 [0x40400000]");
  halo_literal_release(a);
  halo_literal_release(b);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("judge");
  TCase *all = tcase_create("judge");
  tcase_add_test(all, floats_are_judged_by_ulp);
  tcase_add_test(all, special_values_are_not_let_through);
  tcase_add_test(all, integers_and_complex);
  tcase_add_test(all, wrong_elements_are_counted_and_found);
  suite_add_tcase(suite, all);
  return suite_run(suite);
}

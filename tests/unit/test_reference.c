/* SPDX-License-Identifier: Apache-2.0 */
/* test_reference.c: the public interpreter, and the bounds of functions. */
#include "halo/reference.h"

#include <check.h>
#include <string.h>

static halo_module *reference_parse(const char *text) {
  halo_module *module;
  ck_assert_int_eq(halo_module_parse(text, strlen(text), "reference", &module), HALO_OK);
  return module;
}

static const char reference_sum[] =
    "HloModule sum\n"
    "ENTRY main { x = f32[3] parameter(0)\n y = f32[3] parameter(1)\n s = f32[3] add(x, y)\n"
    "ROOT r = (f32[3], f32[3]) tuple(s, x) }\n";

START_TEST(test_evaluate) {
  halo_module *module = reference_parse(reference_sum);
  halo_literal *arguments[2], *value;
  for (int i = 0; i < 2; i++) {
    const halo_shape *shape = halo_module_parameter_shape(module, i);
    ck_assert_int_eq(halo_literal_create(shape, &arguments[i]), HALO_OK);
    for (int k = 0; k < 3; k++) halo_literal_set_f64(arguments[i], k, 10 * i + k);
  }
  ck_assert_int_eq(halo_module_evaluate(module, arguments, 2, &value), HALO_OK);
  ck_assert(halo_literal_get_f64(halo_literal_element(value, 0), 2) == 14);
  ck_assert(halo_literal_get_f64(halo_literal_element(value, 1), 1) == 1);
  halo_literal_release(value);
  ck_assert_int_eq(halo_module_evaluate(module, arguments, 1, &value), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(value);
  for (int i = 0; i < 2; i++) halo_literal_release(arguments[i]);
  halo_module_release(module);
}
END_TEST

START_TEST(test_what_cannot_be_evaluated) {
  halo_module *module = reference_parse(
      "HloModule feed\nENTRY main { t = token[] after-all()\n f = (f32[2], token[]) infeed(t)\n"
      "ROOT r = f32[2] get-tuple-element(f), index=0 }\n");
  halo_literal *value;
  ck_assert_int_eq(halo_module_evaluate(module, NULL, 0, &value), HALO_UNIMPLEMENTED);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "infeed"));
  halo_module_release(module);
}
END_TEST

START_TEST(test_accuracy) {
  halo_client *client;
  ck_assert_int_eq(halo_client_create(NULL, &client), HALO_OK);
  const halo_device *device = halo_client_device(client, 0);
  int tanh = halo_device_accuracy(device, "tanh", HALO_F32);
  ck_assert(tanh == 3 || tanh == 5); /* docs/accuracy.md; it depends on how the device divides */
  ck_assert_int_eq(halo_device_accuracy(device, "tanh", HALO_F64), 2);
  ck_assert_int_eq(halo_device_accuracy(device, "tanh", HALO_F16), 1);
  ck_assert_int_eq(halo_device_accuracy(device, "tanh", HALO_C64), 0);
  ck_assert_int_eq(halo_device_accuracy(device, "add", HALO_F32), 0);
  ck_assert_int_eq(halo_device_accuracy(device, "tahn", HALO_F32), 0);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("reference");
  TCase *tests = tcase_create("reference");
  tcase_add_test(tests, test_evaluate);
  tcase_add_test(tests, test_what_cannot_be_evaluated);
  tcase_add_test(tests, test_accuracy);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

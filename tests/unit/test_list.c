/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_list.c: listing devices, the default cache folder, and literals as text. */
#include "base/memory.h"
#include "halo/client.h"
#include "shape/literal.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char null_file[] =
    "name = Far away\n"
    "has_f64 = true\n"
    "compute_units = 7\n";

START_TEST(list_null_device) {
  char path[] = "/tmp/halo-test-list-XXXXXX", selector[64];
  int fd = mkstemp(path), count;
  ck_assert_int_eq(write(fd, null_file, sizeof null_file - 1), sizeof null_file - 1);
  close(fd);
  snprintf(selector, sizeof selector, "null:%s", path);
  halo_device_entry *list;
  /* By argument, and by the environment when there is no argument. */
  for (int by_environment = 0; by_environment < 2; by_environment++) {
    setenv("HALO_DEVICE", by_environment ? selector : "nonsense", 1);
    halo_status status = halo_device_list(by_environment ? NULL : selector, &list, &count);
    ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
    ck_assert_int_eq(count, 1);
    ck_assert(list[0].usable && list[0].chosen && list[0].info.has_f64);
    ck_assert_str_eq(list[0].info.name, "Far away");
    ck_assert_str_eq(list[0].info.kind, "null");
    ck_assert_uint_eq(list[0].info.compute_units, 7);
    ck_assert_ptr_nonnull(strstr(list[0].capabilities, "compute_units = 7\n"));
    halo_device_list_release(list);
  }
  unlink(path);
  ck_assert_int_eq(halo_device_list(selector, &list, &count), HALO_NOT_FOUND);
  ck_assert_ptr_null(list);
  ck_assert_int_eq(count, 0);
  ck_assert_int_eq(halo_device_list(NULL, NULL, &count), HALO_INVALID_ARGUMENT);
  halo_device_list_release(NULL);
}
END_TEST

/* Lists of devices mean in `halo info` what they mean to a client. */
START_TEST(list_of_several) {
  static const struct {
    const char *selector;
    int uses; /* of the first device of the machine */
  } cases[] = {{"0:0", 1}, {"0:0*3", 3}, {"0:0/2", 2}, {"0:0,0:0*2", 3}, {"0:0,no such", 1}};
  halo_device_entry *list;
  int count;
  if (halo_device_list(NULL, &list, &count) == HALO_NO_DEVICE) return;
  halo_device_list_release(list);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ck_assert_int_eq(halo_device_list(cases[i].selector, &list, &count), HALO_OK);
    ck_assert_int_ge(count, 1);
    ck_assert_msg(list[0].chosen && list[0].uses == cases[i].uses, "%s: %d", cases[i].selector,
                  list[0].uses);
    halo_device_list_release(list);
  }
  ck_assert_int_eq(halo_device_list("0:0*1000", &list, &count), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(list);
  static const char two[] = "null:" HALO_TEST_DATA "/devices/amd-wave64.caps,null:" HALO_TEST_DATA
                            "/devices/amd-wave64.caps";
  ck_assert_int_eq(halo_device_list(two, &list, &count), HALO_OK);
  ck_assert_int_eq(count, 2);
  ck_assert(list[0].chosen && list[1].chosen);
  halo_device_list_release(list);
}
END_TEST

/* What the list marks is what a client opens. */
START_TEST(list_agrees_with_client) {
  unsetenv("HALO_DEVICE");
  halo_device_entry *list;
  halo_client *client;
  int count, chosen = -1;
  if (halo_device_list(NULL, &list, &count) == HALO_NO_DEVICE) return;
  ck_assert_int_ge(count, 1);
  for (int i = 0; i < count; i++) {
    if (list[i].chosen) chosen = i;
  }
  ck_assert_int_ge(chosen, 0);
  ck_assert_int_eq(halo_client_create(NULL, &client), HALO_OK);
  halo_device_info info;
  halo_device_get_info(halo_client_device(client, 0), &info);
  ck_assert_str_eq(info.name, list[chosen].info.name);
  ck_assert_str_eq(info.driver, list[chosen].info.driver);
  halo_client_release(client);

  halo_device_list_release(list);
  ck_assert_int_eq(halo_device_list("no such device", &list, &count), HALO_OK);
  for (int i = 0; i < count; i++) ck_assert(!list[i].chosen);
  halo_device_list_release(list);
}
END_TEST

START_TEST(list_cache_directory) {
  char *path;
  setenv("HALO_CACHE_DIR", "/some/where", 1);
  ck_assert_int_eq(halo_cache_directory(&path), HALO_OK);
  ck_assert_str_eq(path, "/some/where");
  halo_text_release(path);
  setenv("HALO_CACHE_DIR", "", 1);
  ck_assert_int_eq(halo_cache_directory(&path), HALO_OK);
  ck_assert_ptr_null(path);
  ck_assert_int_eq(halo_cache_directory(NULL), HALO_INVALID_ARGUMENT);
}
END_TEST

START_TEST(list_literal_text) {
  halo_shape *shape;
  halo_literal *literal, *again;
  char *text;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 2, (int64_t[]){2, 2}, &shape), HALO_OK);
  ck_assert_int_eq(halo_literal_from_text("{{0.1,-0},{inf,nan}}", shape, &literal), HALO_OK);
  ck_assert_double_eq(halo_literal_get_f64(literal, 0), (double)0.1f);
  ck_assert_int_eq(halo_literal_to_text(literal, &text), HALO_OK);
  ck_assert_int_eq(halo_literal_from_text(text, shape, &again), HALO_OK);
  ck_assert_msg(halo_literal_same_bits(literal, again), "%s", text);
  halo_text_release(text);
  halo_literal_release(again);
  halo_literal_release(literal);

  static const char *const wrong[] = {
      "", "1", "{{1,2},{3}}", "{{1,2},{3,4}} 5", "{{1,2},", "{{a,2},{3,4}}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    literal = (halo_literal *)1;
    ck_assert_msg(halo_literal_from_text(wrong[i], shape, &literal) == HALO_INVALID_ARGUMENT, "%s",
                  wrong[i]);
    ck_assert_ptr_null(literal);
  }
  ck_assert_int_eq(halo_literal_from_text(NULL, shape, &literal), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_literal_to_text(NULL, &text), HALO_INVALID_ARGUMENT);
  halo_shape_release(shape);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("list");
  TCase *tests = tcase_create("list");
  tcase_add_test(tests, list_null_device);
  tcase_add_test(tests, list_of_several);
  tcase_add_test(tests, list_agrees_with_client);
  tcase_add_test(tests, list_cache_directory);
  tcase_add_test(tests, list_literal_text);
  tcase_set_timeout(tests, 120);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

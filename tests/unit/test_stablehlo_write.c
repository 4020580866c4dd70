/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo_write.c: HLO modules as StableHLO text, and back. */
#include "halo/module.h"
#include "suite.h"
#include "text_test.h"

#include <dirent.h>

static char *write_good(const halo_module *module) {
  char *text = NULL;
  halo_status status = halo_module_to_stablehlo(module, &text);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  return text;
}

static halo_module *read_back(const char *text) {
  halo_module *module;
  halo_status status = halo_module_read(text, strlen(text), "written", NULL, &module);
  ck_assert_msg(status == HALO_OK, "%s\n%s", halo_error_message(), text);
  return module;
}

START_TEST(a_module_is_written) {
  halo_module *module = text_read(
      "HloModule m\n"
      "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  r = f32[] add(a, b) }\n"
      "twice { t = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(t), index=0\n"
      "  v = f32[3] get-tuple-element(t), index=1 w = f32[3] multiply(v, v)\n"
      "  one = s32[] constant(1) j = s32[] add(i, one) ROOT r = (s32[], f32[3]) tuple(j, w) }\n"
      "less { t = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(t), index=0\n"
      "  n = s32[] constant(4) ROOT r = pred[] compare(i, n), direction=LT }\n"
      "ENTRY main { x = f32[2,3] parameter(0)  zero = f32[] constant(0)\n"
      "  s = f32[3] reduce(x, zero), dimensions={0}, to_apply=sum  k = s32[] constant(0)\n"
      "  t = (s32[], f32[3]) tuple(k, s)\n"
      "  l = (s32[], f32[3]) while(t), condition=less, body=twice\n"
      "  ROOT g = f32[3] get-tuple-element(l), index=1 }\n");
  char *text = write_good(module);
  ck_assert_str_eq(
      text,
      "module @\"m\" attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  func.func public @main(%0: tensor<2x3xf32>) -> (tensor<3xf32>) {\n"
      "    %1 = \"stablehlo.constant\"() {value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)\n"
      "    %2 = \"stablehlo.reduce\"(%0, %1) ({\n"
      "    ^bb0(%3: tensor<f32>, %4: tensor<f32>):\n"
      "      %5 = \"stablehlo.add\"(%3, %4) : (tensor<f32>, tensor<f32>) -> (tensor<f32>)\n"
      "      \"stablehlo.return\"(%5) : (tensor<f32>) -> ()\n"
      "    }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> (tensor<3xf32>)\n"
      "    %6 = \"stablehlo.constant\"() {value = dense<0> : tensor<i32>} : () -> (tensor<i32>)\n"
      "    %7, %8 = \"stablehlo.while\"(%6, %2) ({\n"
      "    ^bb0(%9: tensor<i32>, %10: tensor<3xf32>):\n"
      "      %11 = \"stablehlo.constant\"() {value = dense<4> : tensor<i32>} : () -> "
      "(tensor<i32>)\n"
      "      %12 = \"stablehlo.compare\"(%9, %11) {compare_type = #stablehlo<comparison_type "
      "SIGNED>, "
      "comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> "
      "(tensor<i1>)\n"
      "      \"stablehlo.return\"(%12) : (tensor<i1>) -> ()\n"
      "    }, {\n"
      "    ^bb0(%13: tensor<i32>, %14: tensor<3xf32>):\n"
      "      %15 = \"stablehlo.multiply\"(%14, %14) : (tensor<3xf32>, tensor<3xf32>) -> "
      "(tensor<3xf32>)\n"
      "      %16 = \"stablehlo.constant\"() {value = dense<1> : tensor<i32>} : () -> "
      "(tensor<i32>)\n"
      "      %17 = \"stablehlo.add\"(%13, %16) : (tensor<i32>, tensor<i32>) -> (tensor<i32>)\n"
      "      \"stablehlo.return\"(%17, %15) : (tensor<i32>, tensor<3xf32>) -> ()\n"
      "    }) : (tensor<i32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>)\n"
      "    \"func.return\"(%8) : (tensor<3xf32>) -> ()\n"
      "  }\n"
      "}\n");
  halo_module_release(read_back(text));
  halo_text_release(text);
  halo_module_release(module);
}
END_TEST

/* Reading what was written, and writing that, settles: the reader simplifies a little, once. */
START_TEST(what_is_written_is_read) {
  DIR *dir = opendir(HALO_TEST_DATA "/hlo");
  ck_assert_ptr_nonnull(dir);
  int written = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    char path[1024], *first, *second, *third;
    if (!strstr(entry->d_name, ".hlo")) continue;
    snprintf(path, sizeof path, "%s/hlo/%s", HALO_TEST_DATA, entry->d_name);
    halo_module *module;
    if (halo_module_parse_file(path, &module) != HALO_OK) continue;
    halo_status status = halo_module_to_stablehlo(module, &first);
    halo_module_release(module);
    if (status != HALO_OK) {
      ck_assert_int_eq(status, HALO_UNIMPLEMENTED);
      ck_assert_ptr_nonnull(strstr(halo_error_message(), " is not written as StableHLO: "));
      continue;
    }
    module = read_back(first);
    second = write_good(module);
    halo_module_release(module);
    module = read_back(second);
    third = write_good(module);
    halo_module_release(module);
    ck_assert_msg(strcmp(second, third) == 0, "%s:\n%s\nthen\n%s", path, second, third);
    halo_text_release(first);
    halo_text_release(second);
    halo_text_release(third);
    written++;
  }
  closedir(dir);
  ck_assert_int_ge(written, 40);
}
END_TEST

START_TEST(what_is_not_written_is_named) {
  static const char *const rows[][2] = {
      {"HloModule m\nENTRY e { p = (f32[2]) parameter(0) ROOT x = f32[2] get-tuple-element(p), "
       "index=0 }",
       "module m is not written as StableHLO: a parameter that is a tuple"},
      {"HloModule m\nENTRY e { x = f32[2] parameter(0) ROOT c = f32[2] custom-call(x), "
       "custom_call_target=\"t\" }",
       "c in e: custom-call is not written as StableHLO: there is no writer for it"},
      {"HloModule m\nENTRY e { x = f32[<=2] parameter(0) ROOT c = f32[<=2] negate(x) }",
       "a parameter whose size is known at run time only"},
      {"HloModule m\nENTRY e { x = f32[2,2]{0,1} parameter(0) ROOT c = f32[4] bitcast(x) }",
       "bitcast is not written as StableHLO: it depends on layouts"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    halo_module *module = text_read(rows[i][0]);
    char *text;
    ck_assert_int_eq(halo_module_to_stablehlo(module, &text), HALO_UNIMPLEMENTED);
    ck_assert_ptr_null(text);
    ck_assert_msg(strstr(halo_error_message(), rows[i][1]), "%s", halo_error_message());
    halo_module_release(module);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_write");
  TCase *tests = tcase_create("write");
  tcase_add_test(tests, a_module_is_written);
  tcase_add_test(tests, what_is_written_is_read);
  tcase_add_test(tests, what_is_not_written_is_named);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

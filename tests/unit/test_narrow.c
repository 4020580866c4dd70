/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_narrow.c: floats narrower than f32 on the device, bit for bit as the evaluator has
 * them: all of their values read, and written from f32 values around every place where rounding turns. */
#include "evaluator/evaluator.h"
#include "run_test.h"
#include "shape/literal.h"
#include "suite.h"

static const struct {
  const char *type, *bits; /* and the unsigned integer of its size */
} narrow[] = {{"f16", "u16"},          {"bf16", "u16"},      {"f8e5m2", "u8"},
              {"f8e4m3", "u8"},        {"f8e3m4", "u8"},     {"f8e4m3fn", "u8"},
              {"f8e4m3b11fnuz", "u8"}, {"f8e4m3fnuz", "u8"}, {"f8e5m2fnuz", "u8"},
              {"f8e8m0fnu", "u8"},     {"f4e2m1fn", "u4"}};
enum { NARROW_COUNT = sizeof narrow / sizeof narrow[0] };

/* A module of one u32 parameter gives the same on the device and by the evaluator. */
static void check(const char *text, uint32_t argument) {
  halo_client *client = run_client(NULL);
  halo_module *module = run_parse(text);
  halo_executable *e;
  ck_ok(halo_client_compile(client, module, NULL, &e));
  halo_literal *arg, *expected, *got;
  ck_ok(halo_literal_create(halo_module_parameter_shape(module, 0), &arg));
  halo_literal_set_i64(arg, 0, argument);
  ck_ok(halo_evaluate(module->entry, &arg, 1, &expected));
  ck_ok(halo_executable_run(e, &arg, 1, &got));
  int64_t count = halo_shape_element_count(halo_literal_shape(expected));
  for (int64_t i = 0; i < count; i++) {
    int64_t a = halo_literal_get_i64(expected, i), b = halo_literal_get_i64(got, i);
    ck_assert_msg(a == b, "element %lld is 0x%llx, not 0x%llx, in\n%s", (long long)i, (long long)b,
                  (long long)a, text);
  }
  halo_literal_release(arg);
  halo_literal_release(expected);
  halo_literal_release(got);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);
}

/* The bits of `n`, or 0 where it is a NaN, whose payload conversions may change. */
#define UNLESS_NAN                                                                                 \
  "  back = f32[%1$d] convert(n)\n  nan = pred[%1$d] compare(back, back), direction=NE\n"

/* Values whose last bits are those of a tie, and the next on both sides; of f16, whose ties lie closer,
 * only what is neither 0 nor infinite. */
START_TEST(written) {
  static const uint32_t beside[] = {0, 1, 0xffffffffu};
  bool is_f16 = strcmp(narrow[_i].type, "f16") == 0;
  int shift = is_f16 ? 12 : 15, count = is_f16 ? 0x16000 : 1 << 17;
  uint32_t first = is_f16 ? 0x32000000u : 0;
  char text[1000];
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  p = u32[] parameter(0)\n  k = u32[] constant(%4$d)\n"
           "  i = u32[%1$d] iota(), iota_dimension=0\n"
           "  kb = u32[%1$d] broadcast(k), dimensions={}\n  s = u32[%1$d] shift-left(i, kb)\n"
           "  pb = u32[%1$d] broadcast(p), dimensions={}\n  a = u32[%1$d] add(s, pb)\n"
           "  f = f32[%1$d] bitcast-convert(a)\n  n = %2$s[%1$d] convert(f)\n" UNLESS_NAN
           "  z = %3$s[] constant(0)\n  zb = %3$s[%1$d] broadcast(z), dimensions={}\n"
           "  b = %3$s[%1$d] bitcast-convert(n)\n  ROOT r = %3$s[%1$d] select(nan, zb, b)\n}\n",
           count, narrow[_i].type, narrow[_i].bits, shift);
  for (int i = 0; i < 3; i++) check(text, first + beside[i]);
}
END_TEST

START_TEST(read_back) {
  char text[1000];
  int count = 1 << atoi(narrow[_i].bits + 1);
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  p = u32[] parameter(0)\n  q = %3$s[] convert(p)\n"
           "  i = %3$s[%1$d] iota(), iota_dimension=0\n"
           "  pb = %3$s[%1$d] broadcast(q), dimensions={}\n  a = %3$s[%1$d] add(i, pb)\n"
           "  n = %2$s[%1$d] bitcast-convert(a)\n" UNLESS_NAN
           "  z = u32[] constant(0)\n  zb = u32[%1$d] broadcast(z), dimensions={}\n"
           "  b = u32[%1$d] bitcast-convert(back)\n  ROOT r = u32[%1$d] select(nan, zb, b)\n}\n",
           count, narrow[_i].type, narrow[_i].bits);
  check(text, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("narrow");
  TCase *cases = tcase_create("conversions");
  tcase_set_timeout(cases, 120);
  tcase_add_loop_test(cases, written, 0, NARROW_COUNT);
  tcase_add_loop_test(cases, read_back, 0, NARROW_COUNT);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}

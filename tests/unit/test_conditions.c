/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_conditions.c: which branches of a kernel's text its own definitions rule out. */
#include "suite.h"

#include "opencl/conditions.h"

static const struct {
  const char *source, *resolved;
} condition_cases[] = {
    {"a\nb", "a\nb"},
    {"#define H_N 3\n#if H_N > 2\na\n#else\nb\n#endif\nc\n", "#define H_N 3\na\nc\n"},
    {"#define H_N 3\n#if H_N % 3 != 0 || H_M\na\n#elif H_N * 2 - 1 == 5 && !(H_N <= 2)\nb\n"
     "#elif X\nc\n#else\nd\n#endif\n",
     "#define H_N 3\nb\n"},
    {"#if 1 + 2 * 3 == 7\na\n#endif\n#if 8 / 2 / 2 != 2\nb\n#endif\n#if 1 - 1 - 1 == "
     "-1\nc\n#endif\n",
     "a\nc\n"},
    {"#define H_A H_B\n#define H_B (2 + 1)\n#if H_A * 2 == 6\na\n#endif\n",
     "#define H_A H_B\n#define H_B (2 + 1)\na\n"},
    {"#define H_A H_A\n#if H_A\na\n#endif\n", "#define H_A H_A\n#if H_A\na\n#endif\n"},
    {"#ifndef H_A\n#define H_A 1\n#endif\n#if H_A\na\n#endif\n#undef H_A\n#ifdef H_A\nb\n#endif\n",
     "#define H_A 1\na\n#undef H_A\n"},
    {"#define H_F(x) x\n#if defined(H_F) && !defined H_G\na\n#endif\n#if H_F\nb\n#endif\n",
     "#define H_F(x) x\na\n#if H_F\nb\n#endif\n"},
    {"#if 0\n#if 1\na\n#else\nb\n#endif\n#define H_A 1\n#else\nc\n#endif\n#if H_A\nd\n#endif\n",
     "c\n"},
    {"#if __FMA__\na\n#if 0\nb\n#endif\n#else\nc\n#endif\n", "#if __FMA__\na\n#else\nc\n#endif\n"},
    {"#if 0\na\n#elif defined(__FMA__)\nb\n#else\nc\n#endif\n", "b\nc\n"},
    {"#if 0\n#elif __FMA__\na\n#elif 1\n#define H_A 1\n#else\n#define H_A 0\n#endif\n#if "
     "H_A\nb\n#else\nc\n#endif\n",
     "a\n#define H_A 1\n#define H_A 0\n#if H_A\nb\n#else\nc\n#endif\n"},
    {"#if __FMA__\n#define H_A 1\n#endif\n#if H_A\na\n#else\nb\n#endif\n",
     "#if __FMA__\n#define H_A 1\n#endif\n#if H_A\na\n#else\nb\n#endif\n"},
    {"#define H_A 1 \\\n + 1\n#if H_A == 2\na\n#endif\n", "#define H_A 1 \\\n + 1\na\n"},
    {"#if 1 / H_NONE\na\n#endif\n", "#if 1 / H_NONE\na\n#endif\n"},
};
enum { CONDITION_CASES = sizeof condition_cases / sizeof condition_cases[0] };

START_TEST(resolved) {
  halo_strbuf text = {0};
  halo_conditions_resolve(&text, condition_cases[_i].source);
  ck_assert_str_eq(halo_strbuf_text(&text), condition_cases[_i].resolved);
  halo_strbuf_deinit(&text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("conditions");
  TCase *cases = tcase_create("resolve");
  tcase_add_loop_test(cases, resolved, 0, CONDITION_CASES);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_kernel.c: kernels as objects: their text in each form, and groups of work items as loops. */
#include "kernel/kernel.h"

#include "suite.h"

#include <string.h>

#define KERNEL_TEXT                                                                                \
  "static float k" HALO_UNIT "_f(float x) { return x; }\n" HALO_HEAD "k" HALO_UNIT "(" HALO_PLACES \
  "__global float *a_, ulong ao) {"
#define KERNEL_BODY "\n  const int i = (int)" HALO_GLOBAL_ID_0 ";\n  a_[i] = 1;\n}"

static halo_arena arena;

static void set_up(void) { arena = (halo_arena){0}; }
static void tear_down(void) { halo_arena_deinit(&arena); }

static void check_form(const char *text, halo_kernel_form form, const char *unit,
                       const char *expected) {
  halo_strbuf out = {0};
  halo_text_render(&out, text, strlen(text), form, unit);
  ck_assert_str_eq(halo_strbuf_text(&out), expected);
  halo_strbuf_deinit(&out);
}

/* A kernel whose work items do one thing each. `body` begins behind the brace, and ends with one. */
static const halo_kernel *kernel_of(const char *body, uint32_t facts) {
  halo_kernel kernel = {.name = "k" HALO_UNIT,
                        .signature = "__global float *a_, ulong ao",
                        .passed = "a_, ao",
                        .text = halo_arena_printf(&arena, "%s%s\n", KERNEL_TEXT, body),
                        .facts = facts};
  kernel.head = (size_t)(strchr(kernel.text, HALO_HEAD[0]) - kernel.text);
  kernel.body = strlen(KERNEL_TEXT);
  kernel.end = kernel.body + strlen(body);
  return halo_kernel_make(&arena, &kernel);
}

/* ---- Text ---- */

START_TEST(forms) {
  static const char text[] = HALO_HEAD "f(" HALO_PLACES "int x) {\n  " HALO_TOUCH "\n  " HALO_LOCAL
                                       "int a[2];\n  " HALO_BARRIER "0);\n  a[" HALO_LOCAL_ID_0
                                       "] = " HALO_GROUP_ID_0 " + " HALO_GLOBAL_ID_1 ";\n}\n";
  check_form(text, HALO_FORM_KERNEL, NULL,
             "__kernel void f(int x) {\n  h_touch();\n  __local int a[2];\n  barrier(0);\n"
             "  a[get_local_id(0)] = get_group_id(0) + get_global_id(1);\n}\n");
  check_form(text, HALO_FORM_FUNCTION, NULL,
             "static void f(const size_t h_x, const size_t h_y, int x) {\n  \n  __local int a[2];\n"
             "  barrier(0);\n  a[get_local_id(0)] = get_group_id(0) + h_y;\n}\n");
  check_form(text, HALO_FORM_ALONE, NULL,
             "static void f(const size_t h_x, const size_t h_y, int x) {\n  \n  int a[2];\n"
             "  (void)(0);\n  a[0] = h_x + h_y;\n}\n");
}
END_TEST

/* Sizes of groups are no business of functions. */
START_TEST(sizes) {
  static const char text[] = "\0051, H_N, 1\006 " HALO_HEAD "f(" HALO_PLACES "int x)";
  check_form(text, HALO_FORM_KERNEL, NULL,
             "__attribute__((reqd_work_group_size(1, H_N, 1))) __kernel void f(int x)");
  check_form(text, HALO_FORM_ALONE, NULL,
             " static void f(const size_t h_x, const size_t h_y, int x)");
}
END_TEST

START_TEST(units) {
  check_form("u" HALO_UNIT "_k0", HALO_FORM_KERNEL, "12", "u12_k0");
  check_form("u" HALO_UNIT "_k0", HALO_FORM_KERNEL, NULL, "u" HALO_UNIT "_k0");
  check_form("u" HALO_UNIT "_k0", HALO_FORM_ALONE, HALO_UNIT "n3", "u" HALO_UNIT "n3_k0");
}
END_TEST

/* The bytes in formats are those of the table. */
START_TEST(bytes) {
  static const struct {
    const char *text;
    halo_hole hole;
  } rows[] = {{HALO_HEAD, HALO_HOLE_HEAD},
              {HALO_PLACES, HALO_HOLE_PLACES},
              {HALO_NOT_INLINED, HALO_HOLE_NOT_INLINED},
              {HALO_TOUCH, HALO_HOLE_TOUCH},
              {HALO_GLOBAL_ID_0, HALO_HOLE_GLOBAL_ID_0},
              {HALO_GLOBAL_ID_1, HALO_HOLE_GLOBAL_ID_1},
              {HALO_GROUP_ID_0, HALO_HOLE_GROUP_ID_0},
              {HALO_LOCAL_ID_0, HALO_HOLE_LOCAL_ID_0},
              {HALO_LOCAL, HALO_HOLE_LOCAL},
              {HALO_BARRIER, HALO_HOLE_BARRIER}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert_uint_eq(halo_text_holes(rows[i].text), 1u << rows[i].hole);
    ck_assert_uint_eq(strlen(rows[i].text), 1);
  }
}
END_TEST

/* ---- Kernels ---- */

START_TEST(made) {
  const halo_kernel *kernel = kernel_of(KERNEL_BODY, 0);
  ck_assert(halo_kernel_asks(kernel, HALO_HOLE_GLOBAL_ID_0));
  ck_assert(!halo_kernel_asks(kernel, HALO_HOLE_BARRIER));
  halo_strbuf text = {0};
  halo_text_render(&text, kernel->text, strlen(kernel->text), HALO_FORM_KERNEL, NULL);
  ck_assert_uint_eq(kernel->bytes, text.length);
  halo_strbuf_deinit(&text);
}
END_TEST

START_TEST(can_loop) {
  static const struct {
    const char *body;
    uint32_t facts;
    bool can;
  } kernels[] = {
      {KERNEL_BODY, 0, true},
      {KERNEL_BODY, HALO_FACT_LOOPS | HALO_FACT_TESTS | HALO_FACT_ARRAYS, true},
      {KERNEL_BODY, HALO_FACT_RETURNS, false},
      {"\n  a_[0] = 1;\n}", 0, false}, /* nobody's place */
      {"\n  a_[" HALO_GLOBAL_ID_0 "] = " HALO_LOCAL_ID_0 ";\n}", 0, false},
      {"\n  a_[" HALO_GLOBAL_ID_0 "] = " HALO_GROUP_ID_0 ";\n}", 0, false},
      {"\n  " HALO_BARRIER "0);\n  a_[" HALO_GLOBAL_ID_0 "] = 1;\n}", 0, false},
      {"\n  " HALO_LOCAL "int b[1];\n  a_[" HALO_GLOBAL_ID_0 "] = 1;\n}", 0, false},
      {"\n  a_[" HALO_GLOBAL_ID_0 " + " HALO_GLOBAL_ID_1 "] = 1;\n}", HALO_FACT_LOOPS, true},
      {"\n  a_[" HALO_GLOBAL_ID_0 " + " HALO_GLOBAL_ID_1 "] = 1;\n}", HALO_FACT_TESTS, false}};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const halo_kernel *kernel = kernel_of(kernels[i].body, kernels[i].facts);
    ck_assert_msg(halo_kernel_can_loop(kernel) == kernels[i].can, "kernel %zu", i);
  }
  halo_kernel of_template = *kernel_of(KERNEL_BODY, 0);
  of_template.head = of_template.body = of_template.end = 0;
  ck_assert(!halo_kernel_can_loop(&of_template));
}
END_TEST

START_TEST(loops) {
  static const struct {
    bool parallel;
    uint32_t facts;
    const char *said;
  } cases[] = {{false, 0, ""},
               {true, 0, "#pragma clang loop vectorize(assume_safety)\n"},
               {true, HALO_FACT_ARRAYS, ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const halo_kernel *kernel = kernel_of(KERNEL_BODY, cases[i].facts);
    const halo_kernel *loop =
        halo_kernel_loop(&arena, kernel, (size_t[]){64, 2}, cases[i].parallel);
    const char *expected = halo_arena_printf(
        &arena,
        "static float k7_f(float x) { return x; }\n"
        "static __attribute__((noinline, min_vector_width(512))) void k7_group(const int h_i, "
        "const int h_j, __global float *a_, ulong ao) {\n"
        "for (int h_b = 0; h_b < 2; ++h_b) {\n%sfor (int h_a = 0; h_a < 64; ++h_a) {\n"
        "  const size_t h_x = h_i + h_a, h_y = h_j + h_b;\n"
        "  const int i = (int)h_x;\n  a_[i] = 1;\n}\n}\n}\n"
        "__kernel void k7(__global float *a_, ulong ao) { k7_group((int)get_global_id(0) * 64, "
        "(int)get_global_id(1) * 2, a_, ao); }\n",
        cases[i].said);
    check_form(loop->text, HALO_FORM_KERNEL, "7", expected);
    ck_assert(loop->facts & HALO_FACT_LOOPS);
    ck_assert(!halo_kernel_can_loop(loop));
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("kernel");
  TCase *tests = tcase_create("kernel");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, forms);
  tcase_add_test(tests, sizes);
  tcase_add_test(tests, units);
  tcase_add_test(tests, bytes);
  tcase_add_test(tests, made);
  tcase_add_test(tests, can_loop);
  tcase_add_test(tests, loops);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

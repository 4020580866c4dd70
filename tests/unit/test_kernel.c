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
  return halo_kernel_make(&arena, &kernel);
}

/* ---- Text ---- */

START_TEST(forms) {
  static const char text[] =
      HALO_HEAD "f(" HALO_PLACES "int x) {\n  " HALO_LOCAL "int a[2];\n  " HALO_BARRIER
                "0);\n  a[" HALO_LOCAL_ID_0 "] = " HALO_GROUP_ID_0 " + " HALO_GLOBAL_ID_1 ";\n}\n";
  check_form(text, HALO_FORM_KERNEL, NULL,
             "__kernel void f(int x) {\n  __local int a[2];\n  barrier(0);\n"
             "  a[get_local_id(0)] = get_group_id(0) + get_global_id(1);\n}\n");
  check_form(text, HALO_FORM_FUNCTION, NULL,
             "static void f(const size_t h_x, const size_t h_y, int x) {\n  __local int a[2];\n"
             "  barrier(0);\n  a[get_local_id(0)] = get_group_id(0) + h_y;\n}\n");
  check_form(text, HALO_FORM_ALONE, NULL,
             "static void f(const size_t h_x, const size_t h_y, int x) {\n  int a[2];\n"
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

int main(void) {
  Suite *suite = suite_create("kernel");
  TCase *tests = tcase_create("kernel");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, forms);
  tcase_add_test(tests, sizes);
  tcase_add_test(tests, units);
  tcase_add_test(tests, bytes);
  tcase_add_test(tests, made);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_kernel.c: kernels as objects: their parameters, and their text in each form. */
#include "kernel/kernel.h"

#include "suite.h"

#include <string.h>

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
  check_form(text, HALO_FORM_SINGLE_ITEM, NULL,
             "static void f(const size_t h_x, const size_t h_y, int x) {\n  int a[2];\n"
             "  (void)(0);\n  a[0] = h_x + h_y;\n}\n");
}
END_TEST

static void check_kernel(const halo_kernel *kernel, halo_kernel_form form, const char *expected) {
  halo_strbuf out = {0};
  halo_kernel_render(&out, kernel, form, "7");
  ck_assert_str_eq(halo_strbuf_text(&out), expected);
  halo_strbuf_deinit(&out);
}

/* A kernel that is written for groups of one size says so in front of itself, behind the functions that it calls. The size is
 * no business of functions. */
START_TEST(sizes) {
  halo_kernel kernel = {.text = "int g(int x);\n" HALO_HEAD "u" HALO_UNIT "(" HALO_PLACES "int x)"};
  ck_assert(halo_kernel_takes_any_group(&kernel));
  check_kernel(&kernel, HALO_FORM_KERNEL, "int g(int x);\n__kernel void u7(int x)");
  kernel.facts = (halo_kernel_facts){.group = {16, 8, 1}};
  ck_assert(!halo_kernel_takes_any_group(&kernel));
  check_kernel(&kernel, HALO_FORM_KERNEL,
               "int g(int x);\n"
               "__attribute__((reqd_work_group_size(16, 8, 1))) __kernel void u7(int x)");
  /* Where a launch begins counts for the number of a group. */
  halo_kernel asks = {.text = HALO_HEAD "u(int x) { x = " HALO_GROUP_ID_0 "; }",
                      .facts = {.group = {16, 8, 1}}};
  check_kernel(&asks, HALO_FORM_KERNEL,
               "__attribute__((reqd_work_group_size(16, 8, 1))) __kernel void u(int x) "
               "{ x = (get_group_id(0) + get_global_offset(0) / 16); }");
  ck_assert(!halo_kernel_make(&arena, &asks)->facts.asks_x);
  asks.facts.group[0] = 1;
  check_kernel(&asks, HALO_FORM_KERNEL,
               "__attribute__((reqd_work_group_size(1, 8, 1))) __kernel void u(int x) "
               "{ x = get_global_id(0); }");
  asks.text = HALO_HEAD "u(int x) { x = \016; }";
  ck_assert(halo_kernel_make(&arena, &asks)->facts.asks_x);
  check_kernel(&kernel, HALO_FORM_SINGLE_ITEM,
               "int g(int x);\nstatic void u7(const size_t h_x, const size_t h_y, int x)");
}
END_TEST

START_TEST(units) {
  check_form("u" HALO_UNIT "_k0", HALO_FORM_KERNEL, "12", "u12_k0");
  check_form("u" HALO_UNIT "_k0", HALO_FORM_KERNEL, NULL, "u" HALO_UNIT "_k0");
  check_form("u" HALO_UNIT "_k0", HALO_FORM_SINGLE_ITEM, HALO_UNIT "n3", "u" HALO_UNIT "n3_k0");
}
END_TEST

/* The bytes in formats are those of the table. */
START_TEST(bytes) {
  check_form(HALO_HEAD, HALO_FORM_KERNEL, NULL, "__kernel void ");
  check_form(HALO_PLACES, HALO_FORM_FUNCTION, NULL, "const size_t h_x, const size_t h_y, ");
  check_form(HALO_GLOBAL_ID_0, HALO_FORM_KERNEL, NULL, "get_global_id(0)");
  check_form(HALO_GLOBAL_ID_1, HALO_FORM_KERNEL, NULL, "get_global_id(1)");
  check_form(HALO_GROUP_ID_0, HALO_FORM_KERNEL, NULL, "get_group_id(0)");
  check_form(HALO_LOCAL_ID_0, HALO_FORM_KERNEL, NULL, "get_local_id(0)");
  check_form(HALO_LOCAL, HALO_FORM_KERNEL, NULL, "__local ");
  check_form(HALO_BARRIER, HALO_FORM_KERNEL, NULL, "barrier(");
}
END_TEST

/* ---- Launches ---- */

START_TEST(grids) {
  halo_grid line = halo_grid_line(100, 32);
  ck_assert_uint_eq(line.global[0], 128);
  ck_assert_uint_eq(halo_grid_width(&line), 100);
  ck_assert_uint_eq(halo_grid_height(&line), 1);
  ck_assert_double_eq(halo_grid_count(&line), 128);
  ck_assert_double_eq(halo_grid_groups(&line), 4);
  ck_assert(!line.any_local && !halo_grid_has_single_items(&line));
  halo_grid plane = {.dims = 2, .global = {6, 5}, .local = {1, 1}};
  ck_assert_uint_eq(halo_grid_width(&plane), 6);
  ck_assert_uint_eq(halo_grid_height(&plane), 5);
  ck_assert_double_eq(halo_grid_count(&plane), 30);
  ck_assert_double_eq(halo_grid_groups(&plane), 30);
  ck_assert(halo_grid_has_single_items(&plane));
  plane.local[1] = 5;
  ck_assert_double_eq(halo_grid_groups(&plane), 6);
  ck_assert(!halo_grid_has_single_items(&plane));
}
END_TEST

/* Every work item is in one part, and no part has more groups than allowed. */
static void check_parts(const halo_grid *grid, const uint64_t most[3], int expected) {
  halo_grid_part part = {0};
  int count = 0;
  size_t covered = 0, all = 1, after[3] = {0};
  for (uint32_t d = 0; d < grid->dims; d++) all *= grid->global[d];
  while (halo_grid_next(grid, grid->local, most, &part)) {
    size_t items = 1;
    for (uint32_t d = 0; d < grid->dims; d++) {
      items *= part.global[d];
      ck_assert_uint_eq(part.offset[d] % grid->local[d], 0);
      ck_assert_uint_eq(part.global[d] % grid->local[d], 0);
      ck_assert(!most[d] || (d == 0 && !grid->any_x) || part.global[d] / grid->local[d] <= most[d]);
      ck_assert_uint_le(part.offset[d] + part.global[d], grid->global[d]);
    }
    /* They come in the order of places, so that none is there twice. */
    size_t place = (part.offset[2] * 100 + part.offset[1]) * 100 + part.offset[0] + 1;
    ck_assert_uint_gt(place, after[0]);
    after[0] = place;
    covered += items;
    count++;
  }
  ck_assert_uint_eq(covered, all);
  ck_assert_int_eq(count, expected);
}

START_TEST(parts) {
  static const uint64_t any[3] = {0}, few[3] = {2, 3, 4};
  halo_grid line = {.dims = 1, .global = {64}, .local = {8}};
  check_parts(&line, any, 1);
  check_parts(&line, few, 1);
  line.any_x = true;
  check_parts(&line, few, 4);
  halo_grid space = {.dims = 3, .global = {12, 14, 9}, .local = {4, 2, 1}};
  check_parts(&space, any, 1);
  check_parts(&space, few, 3 * 3);
  space.any_x = true;
  check_parts(&space, few, 2 * 3 * 3);
}
END_TEST

/* Each group is in one part, however many groups parts may have in all, and whatever that is for each of them. */
START_TEST(changing_parts) {
  const halo_grid shapes[] = {{.dims = 3, .global = {20, 14, 9}, .local = {4, 2, 1}, .any_x = true},
                              {.dims = 3, .global = {20, 14, 9}, .local = {4, 2, 1}},
                              {.dims = 1, .global = {640}, .local = {8}, .any_x = true}};
  for (int seed = 0; seed < 60; seed++) {
    const halo_grid *grid = &shapes[seed % 3];
    static int seen[20 * 14 * 9];
    memset(seen, 0, sizeof seen);
    halo_grid_part part = {0};
    for (unsigned random = (unsigned)seed * 7919 + 1;;) {
      random = random * 1103515245 + 12345;
      double groups = 0.5 + (random >> 16) % 97;
      uint64_t most[3] = {0};
      halo_grid_most(grid, grid->local, groups, most);
      if (!halo_grid_next(grid, grid->local, most, &part)) break;
      for (size_t z = 0; z < part.global[2]; z++) {
        for (size_t y = 0; y < part.global[1]; y++) {
          for (size_t x = 0; x < part.global[0]; x++) {
            size_t row = part.offset[1] + y;
            if (grid->dims > 1) row += (part.offset[2] + z) * 14;
            seen[row * (grid->dims > 1 ? 20 : 1) + part.offset[0] + x]++;
          }
        }
      }
    }
    size_t all = grid->global[0];
    for (uint32_t d = 1; d < grid->dims; d++) all *= grid->global[d];
    for (size_t i = 0; i < all; i++) {
      if (seen[i] != 1) ck_abort_msg("seed %d: item %zu is in %d parts", seed, i, seen[i]);
    }
  }
  /* So many groups in all, from the first axis on. */
  uint64_t most[3] = {0, 0, 2};
  halo_grid_most(&shapes[0], shapes[0].local, 17, most);
  ck_assert_uint_eq(most[0], 5);
  ck_assert_uint_eq(most[1], 3);
  ck_assert_uint_eq(most[2], 1);
}
END_TEST

/* ---- Kernels ---- */

static const halo_kernel_param params[] = {
    {.name = "a", .type = "float", .is_const = true, .is_restrict = true},
    {.name = "b", .type = "uchar"},
    {.name = "c", .type = "uchar", .is_whole = true},
    {.name = "n", .type = "int", .is_value = true}};
enum { PARAMS = sizeof params / sizeof *params };

START_TEST(parameters) {
  halo_strbuf text = {0};
  halo_kernel_declare(&text, params, PARAMS);
  ck_assert_str_eq(halo_strbuf_text(&text),
                   "__global const float *restrict a_, ulong ao, __global uchar *b_, ulong bo, "
                   "__global uchar *c_, const int n");
  halo_strbuf_deinit(&text);
  halo_kernel_pass(&text, params, PARAMS);
  ck_assert_str_eq(halo_strbuf_text(&text), "a_, ao, b_, bo, c_, n");
  halo_strbuf_deinit(&text);
}
END_TEST

START_TEST(made) {
  halo_kernel given = {.name = "k" HALO_UNIT,
                       .params = params,
                       .param_count = PARAMS,
                       .text = HALO_HEAD "k" HALO_UNIT "(" HALO_PLACES ") {}\n"};
  const halo_kernel *kernel = halo_kernel_make(&arena, &given);
  ck_assert_uint_eq(kernel->bytes, strlen("__kernel void k@() {}\n"));
  ck_assert_int_eq(halo_kernel_argument_bytes(kernel, 64), 16 + 16 + 8 + 8);
  ck_assert_int_eq(halo_kernel_argument_bytes(kernel, 32), 12 + 12 + 4 + 8);
  halo_arena other = {0};
  const halo_kernel *copy = halo_kernel_copy(&other, kernel);
  ck_assert_str_eq(copy->text, kernel->text);
  ck_assert_ptr_ne(copy->params[0].type, kernel->params[0].type);
  ck_assert_str_eq(copy->params[0].type, "float");
  halo_arena_deinit(&other);
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
  tcase_add_test(tests, grids);
  tcase_add_test(tests, parts);
  tcase_add_test(tests, changing_parts);
  tcase_add_test(tests, parameters);
  tcase_add_test(tests, made);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

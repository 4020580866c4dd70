/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_scatter.c: scatter:sorted and scatter:private: each kind of scatter that they can do against the evaluator,
 * their form on devices of any size, and where they are chosen. */
#include "evaluator/evaluator.h"
#include "run_test.h"
#include "shape/literal.h"

#include <unistd.h>

#define REDUCER(type, line)                                                                        \
  "f { a = " type "[] parameter(0) b = " type "[] parameter(1) " line " }\n"
#define ADD REDUCER("f32", "ROOT c = f32[] add(a, b)")
#define POINTS(type, places, updates, flags)                                                       \
  "ENTRY e { x = " type "[" places "] parameter(0) i = s32[" updates ",1] parameter(1) u = " type  \
  "[" updates "] parameter(2) ROOT s = " type "[" places                                           \
  "] scatter(x, i, u), "                                                                           \
  "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "            \
  "index_vector_dim=1" flags ", to_apply=f }"

static const char *const programs[] = {
    /* Runs that are short, that reach over some chunks, and one that is all there is. */
    ADD POINTS("f32", "50", "200", ""), ADD POINTS("f32", "7", "3000", ""),
    ADD POINTS("f32", "1", "2500", ""), ADD POINTS("f32", "5000", "300", ""),
    /* Other computations: the last update wins, and some that must be done in order. */
    REDUCER("s32", "z = s32[] constant(0) ROOT c = s32[] add(b, z)") POINTS("s32", "9", "900", ""),
    REDUCER("s32", "ROOT c = s32[] maximum(a, b)") POINTS("s32", "9", "900", ""),
    REDUCER("s32", "ROOT c = s32[] subtract(a, b)") POINTS("s32", "9", "900", ""),
    REDUCER("s32", "ROOT c = s32[] subtract(b, a)") POINTS("s32", "9", "90", ""),
    REDUCER("c64", "ROOT c = c64[] add(a, b)") POINTS("c64", "9", "300", ""),
    REDUCER("pred", "ROOT c = pred[] xor(a, b)") POINTS("pred", "9", "300", ""),
    REDUCER("s8", "ROOT c = s8[] add(a, b)") POINTS("s8", "9", "300", ""),
    /* Rows, of a transposed array. */
    ADD
    "ENTRY e { x = f32[40,5]{0,1} parameter(0) i = s32[400,1] parameter(1) "
    "u = f32[400,5] parameter(2) ROOT s = f32[40,5]{0,1} scatter(x, i, u), "
    "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=1, to_apply=f }",
    /* Windows that overlap, and places in two dimensions. */
    ADD
    "ENTRY e { x = f32[30,4] parameter(0) i = s32[100,2] parameter(1) "
    "u = f32[100,3] parameter(2) ROOT s = f32[30,4] scatter(x, i, u), update_window_dims={1}, "
    "inserted_window_dims={1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, "
    "to_apply=f }",
    /* Batches. */
    ADD
    "ENTRY e { x = f32[3,20] parameter(0) i = s32[3,100,1] parameter(1) "
    "u = f32[3,100] parameter(2) ROOT s = f32[3,20] scatter(x, i, u), update_window_dims={}, "
    "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
    "scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=f }",
    /* Several arrays, with what is computed in front. */
    "f { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] "
    "parameter(3) p = f32[] add(c, a) q = s32[] maximum(b, d) ROOT t = (f32[], s32[]) "
    "tuple(p, q) }\n"
    "ENTRY e { x = f32[11] parameter(0) i = s32[700,1] parameter(1) u = f32[700] parameter(2) "
    "v = s32[700] convert(u) n = f32[700] negate(u) y = s32[11] convert(x) "
    "s = (f32[11], s32[11]) scatter(x, y, i, n, v), update_window_dims={}, "
    "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f "
    "p = f32[11] get-tuple-element(s), index=0 q = s32[11] get-tuple-element(s), index=1 "
    "w = f32[11] convert(q) ROOT r = f32[22] concatenate(p, w), dimensions={0} }"};
enum { PROGRAM_COUNT = sizeof programs / sizeof programs[0] };

/* Indices, some of which are outside of any array; and small whole numbers, whose sums are exact in any order. */
static halo_literal *made_up(const halo_shape *shape, int number, int64_t places, bool sorted) {
  halo_literal *literal;
  ck_ok(halo_literal_create(shape, &literal));
  int64_t count = halo_shape_element_count(shape);
  for (int64_t i = 0; i < count; i++) {
    int64_t value = number == 1 && sorted ? i * (places + 2) / count - 1
                    : number == 1         ? (i * 7919 + i / 3) % (places + 2) - 1
                                          : (i * 7 + number) % 11 - 5;
    halo_literal_set_f64(literal, i,
                         shape->type == HALO_PRED ? (double)(value & 1) : (double)value);
  }
  return literal;
}

static void check_program(const char *text, bool sorted, const char *kernels) {
  char *module_text = malloc(strlen(text) + 32);
  sprintf(module_text, "HloModule m\n%s\n", text);
  halo_client *client = run_client(NULL);
  halo_module *module = run_parse(module_text);
  halo_executable *e;
  halo_literal *arguments[3], *expected, *got;
  int64_t places = halo_module_parameter_shape(module, 0)->dims[0];
  for (int i = 0; i < 3; i++) {
    arguments[i] = made_up(halo_module_parameter_shape(module, i), i, places, sorted);
  }
  const halo_compile_options options = {.kernels = kernels};
  ck_ok(halo_client_compile(client, module, &options, &e));
  const char *explain = halo_executable_report(e, HALO_REPORT_EXPLAIN),
             *chosen = strstr(explain, "-> scatter:");
  ck_assert_msg(chosen && strncmp(chosen + 3, kernels, strlen(kernels)) == 0, "%s", explain);
  ck_ok(halo_evaluate(module->entry, arguments, 3, &expected));
  ck_ok(halo_executable_run(e, arguments, 3, &got));
  for (int64_t i = 0; i < halo_shape_element_count(halo_literal_shape(got)); i++) {
    double is[2], should[2];
    halo_literal_get_c128(got, i, &is[0], &is[1]);
    halo_literal_get_c128(expected, i, &should[0], &should[1]);
    ck_assert_msg(is[0] == should[0] && is[1] == should[1], "element %lld is %g, not %g\n%s",
                  (long long)i, is[0], should[0], text);
  }
  for (int i = 0; i < 3; i++) halo_literal_release(arguments[i]);
  halo_literal_release(expected);
  halo_literal_release(got);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);
  free(module_text);
}

START_TEST(computes) {
  if (_i >= PROGRAM_COUNT) setenv("HALO_TREAT_AS", "gpu", 1);
  check_program(programs[_i % PROGRAM_COUNT], false, "scatter:sorted");
}
END_TEST

/* Several groups, one that has few updates, all types, strips, windows that overlap, batches, other layouts. */
static const char *const few_places[] = {
    ADD POINTS("f32", "50", "200", ""),
    ADD POINTS("f32", "7", "3000", ""),
    ADD POINTS("f32", "1", "2500", ""),
    ADD POINTS("f32", "4096", "5000", ""),
    REDUCER("s32", "ROOT c = s32[] maximum(a, b)") POINTS("s32", "9", "900", ""),
    REDUCER("f32", "ROOT c = f32[] minimum(b, a)") POINTS("f32", "300", "4900", ""),
    REDUCER("u64", "ROOT c = u64[] add(b, a)") POINTS("u64", "33", "2100", ""),
    ADD
    "ENTRY e { x = f32[40,5]{0,1} parameter(0) i = s32[400,1] parameter(1) "
    "u = f32[400,5] parameter(2) ROOT s = f32[40,5]{0,1} scatter(x, i, u), "
    "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=1, to_apply=f }",
    ADD
    "ENTRY e { x = f32[30,4] parameter(0) i = s32[100,2] parameter(1) "
    "u = f32[100,3] parameter(2) ROOT s = f32[30,4] scatter(x, i, u), update_window_dims={1}, "
    "inserted_window_dims={1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, "
    "to_apply=f }",
    ADD
    "ENTRY e { x = f32[3,20] parameter(0) i = s32[3,100,1] parameter(1) "
    "u = f32[3,100] parameter(2) ROOT s = f32[3,20] scatter(x, i, u), update_window_dims={}, "
    "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
    "scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=f }"};
enum { FEW_COUNT = sizeof few_places / sizeof few_places[0] };

START_TEST(computes_few) {
  setenv("HALO_TREAT_AS", "gpu", 1);
  check_program(few_places[_i], false, "scatter:private");
}
END_TEST

/* Nothing is sorted that is said to be. */
START_TEST(comes_sorted) {
  static const char text[] = ADD POINTS("f32", "9", "700", ", indices_are_sorted=true");
  if (_i) setenv("HALO_TREAT_AS", "gpu", 1);
  check_program(text, true, "scatter:sorted");
  halo_client *client = run_client(NULL);
  halo_executable *e;
  const halo_compile_options options = {.kernels = "scatter:sorted"};
  ck_ok(run_try_compile(client,
                        "HloModule m\n" ADD POINTS("f32", "9", "700", ", indices_are_sorted=true"),
                        &options, &e));
  ck_assert_ptr_null(strstr(halo_executable_report(e, HALO_REPORT_PLAN), "radix"));
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Plan and text on a device that is not there. */
static halo_executable *compile_for(const char *kind, int units, const char *text) {
  char facts[300];
  snprintf(facts, sizeof facts,
           "name = made up\nkind = %s\ncompute_units = %d\nsimd_width = 32\nlocal_is_real = true\n"
           "max_work_group = 1024\nmax_items = 1024 1024 64\nlocal_memory = 48K\nhas_f64 = true\n",
           kind, units);
  return run_compile_for(facts, text);
}

/* A GPU takes it where there is much to do, in one form whatever its size; a small CPU never does. */
START_TEST(is_chosen) {
  static const char many[] = "HloModule m\n" ADD POINTS("f32", "1048576", "1048576", "");
  static const char few[] = "HloModule m\n" ADD POINTS("f32", "100", "20", "");
  halo_executable *one = compile_for("gpu", 4, many), *other = compile_for("gpu", 132, many);
  ck_assert_ptr_nonnull(
      strstr(halo_executable_report(one, HALO_REPORT_EXPLAIN), "-> scatter:sorted"));
  ck_assert_str_eq(halo_executable_report(one, HALO_REPORT_PLAN),
                   halo_executable_report(other, HALO_REPORT_PLAN));
  ck_assert_str_eq(halo_executable_report(one, HALO_REPORT_SOURCE),
                   halo_executable_report(other, HALO_REPORT_SOURCE));
  halo_executable_release(one);
  halo_executable_release(other);
  halo_executable *small = compile_for("gpu", 132, few), *cpu = compile_for("cpu", 4, many);
  ck_assert_ptr_null(
      strstr(halo_executable_report(small, HALO_REPORT_EXPLAIN), "-> scatter:sorted"));
  ck_assert_ptr_null(strstr(halo_executable_report(cpu, HALO_REPORT_EXPLAIN), "-> scatter:sorted"));
  halo_executable_release(small);
  halo_executable_release(cpu);
}
END_TEST

START_TEST(few_is_chosen) {
  static const char many[] = "HloModule m\n" ADD POINTS("f32", "1000", "131072", "");
  halo_executable *large = compile_for("gpu", 132, many);
  ck_assert_ptr_nonnull(
      strstr(halo_executable_report(large, HALO_REPORT_EXPLAIN), "-> scatter:private"));
  /* Where a small GPU takes it, the order is the same. */
  setenv("HALO_KERNELS", "scatter:private", 1);
  halo_executable *small = compile_for("gpu", 4, many);
  const char *one = halo_executable_report(small, HALO_REPORT_SOURCE);
  ck_assert(strcmp(one, halo_executable_report(large, HALO_REPORT_SOURCE)) == 0);
  halo_executable_release(small);
  halo_executable_release(large);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("scatter");
  TCase *sorted = tcase_create("sorted");
  tcase_add_loop_test(sorted, computes, 0, 2 * PROGRAM_COUNT);
  tcase_add_loop_test(sorted, comes_sorted, 0, 2);
  tcase_add_test(sorted, is_chosen);
  tcase_add_loop_test(sorted, computes_few, 0, FEW_COUNT);
  tcase_add_test(sorted, few_is_chosen);
  tcase_set_timeout(sorted, 240);
  suite_add_tcase(suite, sorted);
  return suite_run(suite);
}

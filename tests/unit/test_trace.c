/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace.c: the recording of when steps ran (halo/trace.h). */
#include "halo/client.h"
#include "halo/trace.h"

#include <check.h>
#include <string.h>
#include <time.h>

static const char trace_text[] =
    "HloModule steps\n"
    "ENTRY main {\n"
    "  a = f32[96,96] parameter(0)\n"
    "  b = f32[96,96] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  s = f32[96,96] sine(b)\n"
    "  ROOT c = f32[96,96] dot(s, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "}\n";

static uint64_t trace_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The tests run a program of two kernels, on a device of which the times are known. */
static halo_client *trace_client;
static halo_executable *trace_executable;
static halo_literal *trace_argument;

static void trace_setup(void) {
  halo_module *module;
  const halo_client_options options = {.profile = true};
  ck_assert_int_eq(halo_client_create(&options, &trace_client), HALO_OK);
  ck_assert_int_eq(halo_module_parse(trace_text, strlen(trace_text), "steps", &module), HALO_OK);
  const halo_compile_options apart = {.kernels = "region:steps"};
  ck_assert_int_eq(halo_client_compile(trace_client, module, &apart, &trace_executable), HALO_OK);
  ck_assert_int_eq(halo_literal_create(halo_module_parameter_shape(module, 0), &trace_argument),
                   HALO_OK);
  halo_module_release(module);
}

static void trace_teardown(void) {
  halo_literal_release(trace_argument);
  halo_executable_release(trace_executable);
  halo_client_release(trace_client);
}

static void trace_run(void) {
  halo_literal *value;
  ck_assert_int_eq(halo_executable_run(trace_executable, &trace_argument, 1, &value), HALO_OK);
  halo_literal_release(value);
}

START_TEST(test_runs_and_steps) {
  const halo_trace_span *spans;
  int count, runs = 0, steps = 0, products = 0;
  trace_run();
  uint64_t before = trace_now();
  ck_assert_int_eq(halo_trace_start(), HALO_OK);
  for (int i = 0; i < 3; i++) trace_run();
  halo_trace_stop();
  uint64_t after = trace_now();
  trace_run(); /* not recorded */
  ck_assert_int_eq(halo_trace_collect(&spans, &count), HALO_OK);
  const halo_trace_span *run = NULL;
  for (int i = 0; i < count; i++) {
    const halo_trace_span *span = &spans[i];
    ck_assert_str_eq(span->program, "steps");
    ck_assert_int_eq(span->device, 0);
    ck_assert_uint_le(span->begin, span->end);
    ck_assert_uint_ge(span->begin, before - 1000000); /* clocks are compared */
    ck_assert_uint_le(span->end, after + 1000000);
    if (i > 0) ck_assert_uint_ge(span->begin, spans[i - 1].begin);
    if (!span->step) {
      ck_assert_str_eq(span->kind, "run");
      run = span;
      runs++;
      continue;
    }
    ck_assert_ptr_nonnull(run);
    ck_assert_uint_le(span->end, run->end);
    bool is_product = strcmp(span->step, "s") == 0 || strcmp(span->step, "c") == 0;
    if (is_product) ck_assert_int_eq(strncmp(span->kind, "dot:", 4), 0);
    products += is_product;
    steps++;
  }
  ck_assert_int_eq(runs, 3);
  ck_assert_int_eq(products, 6);
  ck_assert_int_eq(steps % 3, 0); /* some devices pack operands first */
}
END_TEST

START_TEST(test_many_steps_are_read_on_the_way) {
  const halo_trace_span *spans;
  int count;
  ck_assert_int_eq(halo_trace_start(), HALO_OK);
  for (int i = 0; i < 2100; i++) trace_run();
  halo_trace_stop();
  ck_assert_int_eq(halo_trace_collect(&spans, &count), HALO_OK);
  ck_assert_int_ge(count, 3 * 2100);
  ck_assert_int_eq(count % 2100, 0);
}
END_TEST

START_TEST(test_one_at_a_time) {
  const halo_trace_span *spans;
  int count;
  ck_assert_int_eq(halo_trace_start(), HALO_OK);
  trace_run();
  ck_assert_int_eq(halo_trace_start(), HALO_FAILED_PRECONDITION);
  halo_trace_stop();
  ck_assert_int_eq(halo_trace_start(), HALO_OK); /* anew */
  halo_trace_stop();
  ck_assert_int_eq(halo_trace_collect(&spans, &count), HALO_OK);
  ck_assert_int_eq(count, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("trace");
  TCase *tests = tcase_create("trace");
  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, trace_setup, trace_teardown);
  tcase_add_test(tests, test_runs_and_steps);
  tcase_add_test(tests, test_many_steps_are_read_on_the_way);
  tcase_add_test(tests, test_one_at_a_time);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

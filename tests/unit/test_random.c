/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_random.c: numbers of a program's own random state: what a seed determines, how the state
 * goes on, and how the numbers are distributed. */
#include "run_test.h"
#include "suite.h"

#include <math.h>

#define COUNT 20000

/* One run of a program without arguments: its first result. */
static halo_literal *run_once(halo_executable *executable) {
  halo_buffer *results[8];
  halo_literal *literal;
  ck_ok(halo_executable_execute(executable, NULL, 0, NULL, results));
  ck_ok(halo_buffer_to_literal(results[0], &literal));
  for (int i = 0; i < halo_executable_result_count(executable); i++) {
    halo_buffer_release(results[i]);
  }
  return literal;
}

/* The result of one run as f64. */
static double *run_values(halo_executable *executable, int64_t *count) {
  halo_literal *literal = run_once(executable);
  const halo_shape *shape = halo_literal_shape(literal);
  *count = halo_shape_element_count(shape);
  double *values = calloc((size_t)*count + 1, sizeof *values);
  for (int64_t i = 0; i < *count; i++) values[i] = halo_literal_get_f64(literal, i);
  halo_literal_release(literal);
  return values;
}

static void check_text(halo_executable *executable, const char *expected) {
  halo_literal *literal = run_once(executable);
  char *text;
  ck_ok(halo_literal_to_text(literal, &text));
  ck_assert_str_eq(text, expected);
  halo_text_release(text);
  halo_literal_release(literal);
}

static void rng_text(char *text, size_t size, const char *type, const char *dims, const char *a,
                     const char *b, const char *distribution) {
  snprintf(text, size,
           "HloModule m\nENTRY e {\n  a = %s[] constant(%s)\n  b = %s[] constant(%s)\n"
           "  ROOT r = %s[%s] rng(a, b), distribution=rng_%s\n}\n",
           type, a, type, b, type, dims, distribution);
}

/* ---- The state ---- */

START_TEST(state_goes_on) {
  halo_client *client = run_client(NULL);
  halo_executable *executable = run_compile(
      client, "HloModule m\nENTRY e { ROOT s = u64[2] rng-get-and-update-state(), delta=5 }");
  check_text(executable, "{117515157, 0}");
  check_text(executable, "{117515162, 0}");
  halo_executable_set_seed(executable, 7);
  check_text(executable, "{117515157, 7}");
  check_text(executable, "{117515162, 7}");
  halo_executable_set_seed(executable, 0);
  check_text(executable, "{117515157, 0}");
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* A state is the instruction's own; the low word carries. */
START_TEST(state_carries) {
  halo_client *client = run_client(NULL);
  halo_executable *executable = run_compile(
      client,
      "HloModule m\nENTRY e { s = u64[2] rng-get-and-update-state(), delta=-1 "
      "t = u64[2] rng-get-and-update-state(), delta=0 ROOT j = u64[4] concatenate(s, t), "
      "dimensions={0} }");
  check_text(executable, "{117515157, 0, 117515157, 0}");
  check_text(executable, "{117515156, 1, 117515157, 0}");
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* In a loop each turn gets the next state. */
START_TEST(state_in_loop) {
  halo_client *client = run_client(NULL);
  halo_executable *executable =
      run_compile(client,
                  "HloModule m\n"
                  "cond { t = (s32[], u64[2]) parameter(0) i = s32[] get-tuple-element(t), index=0 "
                  "n = s32[] constant(4) ROOT l = pred[] compare(i, n), direction=LT }\n"
                  "body { t = (s32[], u64[2]) parameter(0) i = s32[] get-tuple-element(t), index=0 "
                  "s = u64[2] get-tuple-element(t), index=1 one = s32[] constant(1) "
                  "j = s32[] add(i, one) r = u64[2] rng-get-and-update-state(), delta=1 "
                  "q = u64[2] add(s, r) ROOT o = (s32[], u64[2]) tuple(j, q) }\n"
                  "ENTRY e { z = s32[] constant(0) s = u64[2] constant({0, 0}) "
                  "t = (s32[], u64[2]) tuple(z, s) w = (s32[], u64[2]) while(t), condition=cond, "
                  "body=body ROOT r = u64[2] get-tuple-element(w), index=1 }");
  check_text(executable, "{470060634, 0}"); /* four times the start, and 0 + 1 + 2 + 3 */
  check_text(executable, "{470060650, 0}"); /* each four further */
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* ---- Seeds ---- */

START_TEST(seed_repeats) {
  char text[512];
  int64_t count;
  halo_client *client = run_client(NULL);
  rng_text(text, sizeof text, "f32", "500", "0", "1", "uniform");
  halo_executable *executable = run_compile(client, text), *again = run_compile(client, text);
  double *first = run_values(executable, &count), *second = run_values(executable, &count);
  double *same = run_values(again, &count);
  halo_executable_set_seed(executable, 1);
  double *other = run_values(executable, &count);
  halo_executable_set_seed(executable, 0);
  double *back = run_values(executable, &count);
  size_t size = sizeof *first * (size_t)count;
  ck_assert_mem_eq(first, same, size);
  ck_assert_mem_eq(first, back, size);
  int equal = 0;
  for (int64_t i = 0; i < count; i++) equal += (first[i] == second[i]) + (first[i] == other[i]);
  ck_assert_int_lt(equal, 3);
  double *const all[] = {first, second, same, other, back};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
  halo_executable_release(again);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* Two instructions of a program do not give the same numbers. */
START_TEST(instructions_differ) {
  int64_t count;
  halo_client *client = run_client(NULL);
  halo_executable *executable =
      run_compile(client,
                  "HloModule m\nENTRY e { a = f32[] constant(0) b = f32[] constant(1) "
                  "x = f32[500] rng(a, b), distribution=rng_uniform "
                  "y = f32[500] rng(a, b), distribution=rng_uniform "
                  "ROOT d = f32[500] subtract(x, y) }");
  double *values = run_values(executable, &count);
  int equal = 0;
  for (int64_t i = 0; i < count; i++) equal += values[i] == 0;
  ck_assert_int_lt(equal, 3);
  free(values);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* ---- Distributions ---- */

typedef struct rng_case {
  const char *type, *a, *b, *distribution;
  double mean, deviation, low, high; /* high: not reached, or reached by rounding */
} rng_case;

static const rng_case rng_cases[] = {
    {"f32", "-2", "6", "uniform", 2, 2.3094, -2, 6},
    {"f16", "0", "1", "uniform", 0.5, 0.288675, 0, 1},
    {"bf16", "0", "4", "uniform", 2, 1.1547, 0, 4},
    {"f32", "5", "2", "normal", 5, 2, -INFINITY, INFINITY},
    {"bf16", "0", "1", "normal", 0, 1, -INFINITY, INFINITY},
    {"s32", "-5", "6", "uniform", 0, 3.16228, -5, 5},
    {"s64", "0", "2", "uniform", 0.5, 0.5, 0, 1},
    {"u64", "10", "20", "uniform", 14.5, 2.87228, 10, 19},
    {"u32", "0", "4294967295", "uniform", 2147483647, 1239850262, 0, 4294967294},
    {"s8", "-100", "101", "uniform", 0, 58.0230, -100, 100},
    {"u8", "0", "255", "uniform", 127, 73.3212, 0, 254},
};

/* Mean and deviation within five standard errors of what they should be. */
START_TEST(distribution) {
  const rng_case *c = &rng_cases[_i];
  char text[512];
  int64_t count;
  halo_client *client = run_client(NULL);
  rng_text(text, sizeof text, c->type, "200,100", c->a, c->b, c->distribution);
  halo_executable *executable = run_compile(client, text);
  double *values = run_values(executable, &count), sum = 0, squares = 0;
  ck_assert_int_eq(count, COUNT);
  for (int64_t i = 0; i < count; i++) {
    ck_assert_msg(values[i] >= c->low && values[i] <= c->high, "%s: %g", c->type, values[i]);
    sum += values[i];
    squares += (values[i] - c->mean) * (values[i] - c->mean);
  }
  double error = 5 * c->deviation / sqrt(COUNT);
  ck_assert_double_eq_tol(sum / COUNT, c->mean, error);
  ck_assert_double_eq_tol(sqrt(squares / COUNT), c->deviation, error);
  free(values);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* A normal distribution's shares: within one deviation, and two. Neighbours do not depend on each other. */
START_TEST(normal_shape) {
  char text[512];
  int64_t count, one = 0, two = 0;
  halo_client *client = run_client(NULL);
  rng_text(text, sizeof text, "f32", "20000", "0", "1", "normal");
  halo_executable *executable = run_compile(client, text);
  double *values = run_values(executable, &count), products = 0;
  for (int64_t i = 0; i < count; i++) {
    one += fabs(values[i]) < 1;
    two += fabs(values[i]) < 2;
    if (i > 0) products += values[i] * values[i - 1];
  }
  ck_assert_double_eq_tol((double)one / COUNT, 0.6827, 0.017);
  ck_assert_double_eq_tol((double)two / COUNT, 0.9545, 0.008);
  ck_assert_double_eq_tol(products / COUNT, 0, 0.036);
  free(values);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* An empty array, a scalar, and bounds that are known at run time only. */
START_TEST(small_shapes) {
  char text[512];
  int64_t count;
  halo_client *client = run_client(NULL);
  const char *const dims[] = {"0", "", "3,0,2", "1"};
  const int64_t counts[] = {0, 1, 0, 1};
  for (int i = 0; i < 4; i++) {
    rng_text(text, sizeof text, "f32", dims[i], "2", "3", i % 2 ? "uniform" : "normal");
    halo_executable *executable = run_compile(client, text);
    double *values = run_values(executable, &count);
    ck_assert_int_eq(count, counts[i]);
    if (count) ck_assert(values[0] >= 2 && values[0] < 3);
    free(values);
    halo_executable_release(executable);
  }
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("random");
  TCase *states = tcase_create("random");
  tcase_set_timeout(states, 120);
  tcase_add_test(states, state_goes_on);
  tcase_add_test(states, state_carries);
  tcase_add_test(states, state_in_loop);
  tcase_add_test(states, seed_repeats);
  tcase_add_test(states, instructions_differ);
  tcase_add_loop_test(states, distribution, 0, sizeof rng_cases / sizeof rng_cases[0]);
  tcase_add_test(states, normal_shape);
  tcase_add_test(states, small_shapes);
  suite_add_tcase(suite, states);
  return suite_run(suite);
}

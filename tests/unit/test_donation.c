/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_donation.c: arguments that are given away: their memory becomes a result's. */
#include "run_test.h"
#include "suite.h"

static const float four[4] = {1, 2, 3, 4};

/* The result takes the memory, the argument is dead. */
START_TEST(donated) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, RUN_TWICE);
  halo_buffer *x = run_filled(client, 1024, 3), *y;
  uint64_t live = run_stats(client).live;
  const int zero = 0;
  const halo_execute_options options = {.donated = &zero, .donated_count = 1};
  ck_ok(halo_executable_execute(e, &x, 1, &options, &y));
  ck_assert_uint_eq(run_stats(client).live, live);
  float values[1024];
  ck_fails(halo_buffer_to_host(x, values, sizeof values), HALO_FAILED_PRECONDITION, "donated");
  halo_literal *literal;
  ck_fails(halo_buffer_to_literal(x, &literal), HALO_FAILED_PRECONDITION, "f32[1024]");
  halo_buffer *z = (void *)&live;
  ck_fails(halo_executable_execute(e, &x, 1, NULL, &z), HALO_FAILED_PRECONDITION, "argument 0");
  ck_assert_ptr_null(z);
  ck_fails(halo_executable_execute(e, &x, 1, &options, &z), HALO_FAILED_PRECONDITION, "donated");
  ck_assert_float_eq(run_first(y, 1024), 6);
  /* Again and again, in the same memory. */
  for (int i = 0; i < 3; i++) {
    ck_ok(halo_executable_execute(e, &y, 1, &options, &z));
    halo_buffer_release(y);
    y = z;
  }
  ck_assert_float_eq(run_first(y, 1024), 48);
  ck_assert_uint_eq(run_stats(client).live, live);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

START_TEST(donated_wrongly) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, RUN_ADD);
  halo_buffer *x = run_buffer(client, 4, four), *both[2] = {x, x}, *result;
  const int beyond = 2, negative = -1, twice[] = {0, 1}, first = 0;
  ck_fails(halo_executable_execute(e, both, 2, &(halo_execute_options){&beyond, 1}, &result),
           HALO_INVALID_ARGUMENT, "donated argument 2: there are 2 arguments");
  ck_fails(halo_executable_execute(e, both, 2, &(halo_execute_options){&negative, 1}, &result),
           HALO_INVALID_ARGUMENT, "donated argument -1");
  ck_fails(halo_executable_execute(e, both, 2, &(halo_execute_options){NULL, 1}, &result),
           HALO_INVALID_ARGUMENT, "donated");
  /* One buffer cannot be given away and used in one call; it stays whole. */
  ck_fails(halo_executable_execute(e, both, 2, &(halo_execute_options){twice, 2}, &result),
           HALO_FAILED_PRECONDITION, "argument 1");
  ck_fails(halo_executable_execute(e, both, 2, &(halo_execute_options){&first, 1}, &result),
           HALO_FAILED_PRECONDITION, "argument 1");
  ck_fails(halo_executable_execute(e, both, 2, &(halo_execute_options){&twice[1], 1}, &result),
           HALO_FAILED_PRECONDITION, "argument");
  run_check(x, "{1, 2, 3, 4}");
  ck_ok(halo_executable_execute(e, both, 2, NULL, &result));
  run_check(result, "{2, 4, 6, 8}");
  halo_buffer_release(result);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Memory that another buffer shares is not taken over, whoever gives it away. */
START_TEST(donated_shared) {
  halo_client *client = run_client(NULL);
  halo_executable *twice = run_compile(client, RUN_TWICE);
  halo_executable *same =
      run_compile(client, "HloModule same\nENTRY e {\n  ROOT x = f32[1024] parameter(0)\n}\n");
  halo_buffer *x = run_filled(client, 1024, 5), *view, *y, *z;
  const int zero = 0;
  const halo_execute_options options = {.donated = &zero, .donated_count = 1};
  ck_ok(halo_executable_execute(same, &x, 1, NULL, &view));
  ck_ok(halo_executable_execute(twice, &x, 1, &options, &y));
  ck_assert_float_eq(run_first(view, 1024), 5);
  ck_assert_float_eq(run_first(y, 1024), 10);
  /* A parameter that is the result, donated: the value lives on in the result. */
  ck_ok(halo_executable_execute(same, &view, 1, &options, &z));
  ck_fails(halo_buffer_to_literal(view, &(halo_literal *){NULL}), HALO_FAILED_PRECONDITION, "");
  ck_assert_float_eq(run_first(z, 1024), 5);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_buffer_release(z);
  halo_buffer_release(view);
  halo_executable_release(twice);
  halo_executable_release(same);
  halo_client_release(client);
}
END_TEST

/* Results that cross: each argument is still needed when the first result is written. */
START_TEST(donated_crossing) {
  halo_client *client = run_client(NULL);
  halo_executable *e =
      run_compile(client,
                  "HloModule cross, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, "
                  "must-alias) }\nENTRY e {\n"
                  "  x = f32[2,2] parameter(0)\n  y = f32[2,2] parameter(1)\n"
                  "  yt = f32[2,2] transpose(y), dimensions={1,0}\n"
                  "  d = f32[2,2] dot(x, yt), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                  "  r = f32[2,2] reverse(x), dimensions={0,1}\n"
                  "  s = f32[2,2] subtract(r, y)\n"
                  "  ROOT t = (f32[2,2], f32[2,2]) tuple(s, d)\n}\n");
  const int all[] = {0, 1};
  const halo_execute_options some[] = {{0}, {all, 1}, {all + 1, 1}, {all, 2}};
  for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
    halo_buffer *arguments[2], *results[2];
    for (int a = 0; a < 2; a++) {
      halo_literal *literal = run_literal(halo_executable_argument_shape(e, a),
                                          a ? "{{5, 6}, {7, 8}}" : "{{1, 2}, {3, 4}}");
      ck_ok(halo_buffer_from_literal(client, literal, &arguments[a]));
      halo_literal_release(literal);
    }
    ck_ok(halo_executable_execute(e, arguments, 2, &some[i], results));
    run_check(results[0], "{ { -1, -3 }, { -5, -7 } }");
    run_check(results[1], "{ { 17, 23 }, { 39, 53 } }");
    for (int a = 0; a < 2; a++) {
      halo_buffer_release(arguments[a]);
      halo_buffer_release(results[a]);
    }
  }
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* A product's kernel writes what finishes it over an operand of that, blocks at the rim among them. */
START_TEST(donated_to_a_product) {
  halo_client *client = run_client(NULL);
  halo_executable *make = run_compile(
      client,
      "HloModule make\nENTRY e {\n  w = f32[13,70] iota(), iota_dimension=1\n"
      "  x = f32[13,5] iota(), iota_dimension=0\n  y = f32[5,70] iota(), iota_dimension=0\n"
      "  ROOT t = (f32[13,70], f32[13,5], f32[5,70]) tuple(w, x, y)\n}\n");
  halo_executable *step = run_compile(
      client,
      "HloModule step\nENTRY e {\n  w = f32[13,70] parameter(0)\n  x = f32[13,5] parameter(1)\n"
      "  y = f32[5,70] parameter(2)\n"
      "  d = f32[13,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT s = f32[13,70] subtract(w, d)\n}\n");
  halo_buffer *arguments[3], *result;
  ck_ok(halo_executable_execute(make, NULL, 0, NULL, arguments));
  uint64_t live = run_stats(client).live;
  const int zero = 0;
  const halo_execute_options options = {.donated = &zero, .donated_count = 1};
  ck_ok(halo_executable_execute(step, arguments, 3, &options, &result));
  ck_assert_uint_eq(run_stats(client).live, live);
  float values[13 * 70];
  ck_ok(halo_buffer_to_host(result, values, sizeof values));
  for (int i = 0; i < 13 * 70; i++) ck_assert_float_eq(values[i], (float)(i % 70 - i / 70 * 10));
  for (int a = 0; a < 3; a++) halo_buffer_release(arguments[a]);
  halo_buffer_release(result);
  halo_executable_release(make);
  halo_executable_release(step);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("donation");
  TCase *tcase = tcase_create("donation");
  tcase_add_test(tcase, donated);
  tcase_add_test(tcase, donated_wrongly);
  tcase_add_test(tcase, donated_shared);
  tcase_add_test(tcase, donated_crossing);
  tcase_add_test(tcase, donated_to_a_product);
  tcase_set_timeout(tcase, 120);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}

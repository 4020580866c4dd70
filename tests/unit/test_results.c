/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_results.c: kernels with several results of different shapes: each result has an index of its own at the
 * position that a work item computes. The fusions are written out, so that no pass need make them. */
#include "evaluator/evaluator.h"
#include "run_test.h"
#include "suite.h"

#define ENTRY(shape, results)                                                                      \
  "ENTRY e {\n  x = f32[" shape "] parameter(0)\n  y = f32[" shape                                 \
  "] parameter(1)\n"                                                                               \
  "  ROOT t = " results " fusion(x, y), kind=kCustom, calls=body\n}\n"

/* A sum of rows, that multiplied with an element of each row in a shape of its own, and a flat view of it. */
#define SUMS(dims, in, one, first, flat)                                                           \
  "HloModule sums\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"                    \
  "  ROOT c = f32[] add(a, b)\n}\nbody {\n  x = f32[" in "] parameter(0)\n  y = f32[" in           \
  "] parameter(1)\n  zero = f32[] constant(0)\n  m = f32[" in                                      \
  "] multiply(x, y)\n"                                                                             \
  "  r = f32[" dims "] reduce(m, zero), dimensions={3}, to_apply=add\n  l = f32[" one              \
  "] slice(y), slice={" first "}\n  q = f32[" dims "] reshape(l)\n  p = f32[" dims                 \
  "] multiply(q, r)\n  rp = f32[" one "] reshape(p)\n  f = f32[" flat                              \
  "] reshape(r)\n"                                                                                 \
  "  ROOT t = (f32[" dims "], f32[" one "], f32[" flat                                             \
  "]) tuple(r, rp, f)\n}\n" ENTRY(in, "(f32[" dims "], f32[" one "], f32[" flat "])")
static const char sums_text[] =
    SUMS("4,9,3", "4,9,3,3", "4,9,3,1", "[0:4], [0:9], [0:3], [0:1]", "108");
static const char many_sums_text[] =
    SUMS("32,60,16", "32,60,16,2", "32,60,16,1", "[0:32], [0:60], [0:16], [1:2]", "960,32");

/* An array, what is a function of it or none, and its elements in another order, flat and not. */
#define TURNED(a, b, all, function)                                                                \
  "HloModule turned\nbody {\n  x = f32[" a "," b "] parameter(0)\n  y = f32[" a "," b              \
  "] parameter(1)\n  s = f32[" a "," b "] add(x, y)\n  e = f32[" a "," b "] " function             \
  "(s)\n  u = f32[" b "," a "] transpose(e), dimensions={1,0}\n  f = f32[" all                     \
  "] reshape(u)\n"                                                                                 \
  "  ROOT t = (f32[" a "," b "], f32[" all "], f32[" b "," a                                       \
  "]) tuple(e, f, u)\n}\n" ENTRY(a "," b, "(f32[" a "," b "], f32[" all "], f32[" b "," a "])")
static const char turned_text[] = TURNED("37", "24", "888", "negate");
static const char turned_lines_text[] = TURNED("48", "64", "3072", "sine");
static const char turned_rows_text[] = TURNED("256", "320", "81920", "negate");

/* Rows of three elements that are put together, and the same turned round in rows of six. */
static const char joined_text[] =
    "HloModule joined\nbody {\n  x = f32[334,3] parameter(0)\n  y = f32[334,3] parameter(1)\n"
    "  a = f32[334,1] slice(x), slice={[0:334], [1:2]}\n"
    "  b = f32[334,2] slice(y), slice={[0:334], [0:2]}\n"
    "  c = f32[334,3] concatenate(a, b), dimensions={1}\n  d = f32[334,3] multiply(c, x)\n"
    "  w = f32[167,6] reshape(d)\n  v = f32[167,6] reverse(w), dimensions={1}\n"
    "  ROOT t = (f32[334,3], f32[167,6], f32[167,6]) tuple(c, w, v)\n}\n" ENTRY(
        "334,3", "(f32[334,3], f32[167,6], f32[167,6])");

/* Words of rows that are cut out and put into two shapes, which lines turn over. */
static const char words_text[] =
    "HloModule words\nbody {\n  x = f32[512,16] parameter(0)\n  y = f32[512,16] parameter(1)\n"
    "  a0 = f32[512,1] slice(x), slice={[0:512], [0:1]}\n  a1 = f32[512,1] slice(x), "
    "slice={[0:512], [3:4]}\n"
    "  a2 = f32[512,1] slice(x), slice={[0:512], [5:6]}\n  a3 = f32[512,1] slice(x), "
    "slice={[0:512], [7:8]}\n"
    "  a4 = f32[512,1] slice(x), slice={[0:512], [9:10]}\n  a5 = f32[512,1] slice(x), "
    "slice={[0:512], [15:16]}\n"
    "  s0 = f32[512,1] add(a0, a1)\n  s1 = f32[512,1] multiply(s0, a2)\n  s2 = f32[512,1] "
    "subtract(s1, a3)\n"
    "  s3 = f32[512,1] add(s2, a4)\n  s4 = f32[512,1] multiply(s3, a5)\n  r = f32[32,16] "
    "reshape(s4)\n"
    "  u = f32[16,32] transpose(r), dimensions={1,0}\n"
    "  ROOT t = (f32[512,1], f32[32,16], f32[16,32]) tuple(s4, r, u)\n}\n" ENTRY(
        "512,16", "(f32[512,1], f32[32,16], f32[16,32])");

static const struct {
  const char *text, *kernels;
} cases[] = {
    {sums_text, "reduce:loop"},     {sums_text, "reduce:row"}, {many_sums_text, "reduce:loop"},
    {many_sums_text, "reduce:row"}, {turned_text, NULL},       {turned_lines_text, NULL},
    {turned_rows_text, NULL},       {joined_text, NULL},       {words_text, NULL},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Small whole numbers, so that sums are exact in any order. */
static halo_literal *numbers(const halo_shape *shape, int seed) {
  halo_literal *literal;
  ck_ok(halo_literal_create(shape, &literal));
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    halo_literal_set_f64(literal, i, (double)((i * 7 + seed) % 23 - 11));
  }
  return literal;
}

static void check_leaf(const char *text, int leaf, const halo_literal *got,
                       const halo_literal *expected) {
  for (int64_t i = 0; i < halo_shape_element_count(halo_literal_shape(expected)); i++) {
    double is = halo_literal_get_f64(got, i), should = halo_literal_get_f64(expected, i);
    double error = is > should ? is - should : should - is;
    ck_assert_msg(error < 1e-5, "result %d: element %lld is %g, not %g\n%s", leaf, (long long)i, is,
                  should, text);
  }
}

/* All results of a case as the evaluator has them, on the device as it is and as a GPU. */
START_TEST(shapes) {
  const char *text = cases[_i % CASES].text;
  if (_i >= CASES) setenv("HALO_TREAT_AS", "gpu", 1);
  setenv("HALO_DISABLE_PASSES", "inline-calls,fusion", 1);
  halo_client *client = run_client(NULL);
  halo_module *module = run_parse(text);
  halo_executable *e;
  const halo_compile_options options = {.kernels = cases[_i % CASES].kernels};
  ck_ok(halo_client_compile(client, module, &options, &e));
  ck_assert_int_eq(run_count(halo_executable_report(e, HALO_REPORT_PLAN), ": kernel "), 1);
  halo_literal *arguments[2], *expected, *got;
  for (int i = 0; i < 2; i++) arguments[i] = numbers(halo_module_parameter_shape(module, i), i);
  ck_ok(halo_evaluate(module->entry, arguments, 2, &expected));
  ck_ok(halo_executable_run(e, arguments, 2, &got));
  for (int k = 0; k < 3; k++) {
    check_leaf(text, k, halo_literal_element(got, k), halo_literal_element(expected, k));
  }
  for (int i = 0; i < 2; i++) halo_literal_release(arguments[i]);
  halo_literal_release(expected);
  halo_literal_release(got);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);
}
END_TEST

/* One position stands for an element of each result, or the module is refused. */
START_TEST(counts) {
  setenv("HALO_DISABLE_PASSES", "inline-calls,fusion", 1);
  halo_client *client = run_client(NULL);
  halo_executable *e;
  ck_fails(
      run_try_compile(client,
                      "HloModule counts\nbody {\n  x = f32[8] parameter(0)\n"
                      "  y = f32[8] parameter(1)\n  a = f32[8] add(x, y)\n"
                      "  b = f32[4] slice(a), slice={[0:4]}\n"
                      "  ROOT t = (f32[8], f32[4]) tuple(a, b)\n}\n" ENTRY("8", "(f32[8], f32[4])"),
                      NULL, &e),
      HALO_INTERNAL, "result 1 of a loop has 4 elements, result 0 has 8");
  halo_client_release(client);
}
END_TEST

/* Branches and loops that give nothing, in the entry and within a loop, on the device as it is and as a GPU. */
START_TEST(nothing) {
  static const char text[] =
      "HloModule nothing\nnone {\n  p = () parameter(0)\n  ROOT t = () tuple()\n}\n"
      "never {\n  p = () parameter(0)\n  ROOT c = pred[] constant(false)\n}\n"
      "body {\n  p = (s32[], ()) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  e = () get-tuple-element(p), index=1\n  one = s32[] constant(1)\n"
      "  n = s32[] add(i, one)\n  q = pred[] compare(n, one), direction=GT\n"
      "  c = () conditional(q, e, e), true_computation=none, false_computation=none\n"
      "  ROOT t = (s32[], ()) tuple(n, c)\n}\n"
      "cond {\n  p = (s32[], ()) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  five = s32[] constant(5)\n  ROOT l = pred[] compare(i, five), direction=LT\n}\n"
      "ENTRY main {\n  x = s32[] parameter(0)\n  t = () tuple()\n"
      "  s = (s32[], ()) tuple(x, t)\n  w = (s32[], ()) while(s), condition=cond, body=body\n"
      "  n = s32[] get-tuple-element(w), index=0\n  less = pred[] compare(x, n), direction=LT\n"
      "  c = () conditional(less, t, t), true_computation=none, false_computation=none\n"
      "  d = () while(t), condition=never, body=none\n"
      "  ROOT results = (s32[], (), ()) tuple(n, c, d)\n}\n";
  if (_i / 3) setenv("HALO_TREAT_AS", "gpu", 1);
  halo_client *client = run_client(NULL);
  const halo_compile_options options = {.no_fusion = _i % 3 == 1, .no_optimization = _i % 3 == 2};
  halo_executable *e;
  ck_ok(run_try_compile(client, text, &options, &e));
  halo_shape *scalar;
  ck_ok(halo_shape_create_array(HALO_S32, 0, NULL, &scalar));
  halo_literal *x = run_literal(scalar, "2"), *out;
  ck_ok(halo_executable_run(e, &x, 1, &out));
  ck_assert_int_eq(halo_literal_get_i64(halo_literal_element(out, 0), 0), 5);
  ck_assert_int_eq(halo_shape_leaf_count(halo_literal_shape(out)), 1);
  halo_literal_release(x);
  halo_literal_release(out);
  halo_shape_release(scalar);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("results");
  TCase *test = tcase_create("results");
  tcase_add_loop_test(test, shapes, 0, 2 * CASES);
  tcase_add_test(test, counts);
  tcase_add_loop_test(test, nothing, 0, 6);
  tcase_set_timeout(test, 240);
  suite_add_tcase(suite, test);
  return suite_run(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_memory.c: running out of host memory at each single allocation on the way from text to
 * plan is a status. `tools/dev sanitize` says whether anything is lost or used after it is gone. */
#include "base/memory.h"

#include "base/strbuf.h"
#include "halo/npy.h"
#include "halo/passes.h"
#include "opencl/caps.h"
#include "passes/passes.h"
#include "plan/lower.h"
#include "run_test.h"
#include "suite.h"

#define NULL_DEVICE "null:" HALO_TEST_DATA "/devices/amd-wave64.caps"

static const char everything[] =
    "HloModule everything, input_output_alias={ {0}: (0, {}, may-alias) }, "
    "frontend_attributes={a=\"b\"}\n"
    "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
    "square { a = f32[] parameter(0)\n two = f32[] constant(2)\n ROOT s = f32[] power(a, two) }\n"
    "callee { a = f32[8,8] parameter(0)\n t = f32[8,8] tanh(a)\n ROOT n = f32[8,8] negate(t) }\n"
    "body { p = (s32[], f32[8,8], f32[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
    "  x = f32[8,8] get-tuple-element(p), index=1\n  k = f32[4] get-tuple-element(p), index=2\n"
    "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n"
    "  d = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  y = f32[8,8] tanh(d)\n ROOT r = (s32[], f32[8,8], f32[4]) tuple(next, y, k) }\n"
    "condition { p = (s32[], f32[8,8], f32[4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n"
    "  n = s32[] constant(3)\n ROOT c = pred[] compare(i, n), direction=LT }\n"
    "ENTRY e {\n  x = f32[8,8] parameter(0)\n  zero = f32[] constant(0)\n  n = s32[] constant(0)\n"
    "  c = f32[8,8] call(x), to_apply=callee\n  m = f32[8,8] map(c), dimensions={0,1}, "
    "to_apply=square\n  k = f32[4] constant({1, 2, 3, 4})\n"
    "  pair = (f32[4], s32[]) constant(({5, 6, 7, 8}, 9))\n"
    "  k2 = f32[4] get-tuple-element(pair), index=0\n  k3 = f32[4] add(k, k2)\n"
    "  init = (s32[], f32[8,8], f32[4]) tuple(n, m, k3)\n"
    "  w = (s32[], f32[8,8], f32[4]) while(init), condition=condition, body=body\n"
    "  y = f32[8,8] get-tuple-element(w), index=1\n  z = f32[4] get-tuple-element(w), index=2\n"
    "  s = f32[4] sort(z), dimensions={0}, to_apply={ a = f32[] parameter(0)\n"
    "  b = f32[] parameter(1)\n ROOT l = pred[] compare(a, b), direction=LT }\n"
    "  r = f32[8] reduce(y, zero), dimensions={1}, to_apply=sum\n"
    "  ROOT out = (f32[8,8], f32[8], f32[4]) tuple(y, r, z)\n}\n";

enum { ALL = 1 << 30 };

typedef struct work {
  const halo_module *module;
  halo_client *client;
  const halo_shape *shape;
} work;

/* Lets the first, the second, ... allocation of `run` fail, at most `most` of them, and expects a status
 * each time, or success where it can do without. Returns how many there were. */
static int64_t walk(halo_status (*run)(const work *w), const work *w, int64_t most) {
  int64_t failed = 0;
  for (int64_t n = 1; n <= most; n++) {
    halo_memory_fail(n);
    halo_status status = run(w);
    if (halo_memory_fail(0) > 0) {
      ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
      ck_assert_int_gt(failed, 0);
      return n - 1;
    }
    ck_assert_msg(status == HALO_OK || status == HALO_OUT_OF_MEMORY, "allocation %lld: %s: %s",
                  (long long)n, halo_status_name(status), halo_error_message());
    if (status == HALO_OK) continue;
    ck_message_has("memory");
    failed++;
  }
  return most;
}

static halo_status run_parse_text(const work *w) {
  (void)w;
  halo_module *module;
  halo_status status = halo_module_parse(everything, strlen(everything), "t", &module);
  if (status == HALO_OK) {
    halo_module_release(module);
  } else {
    ck_assert_ptr_null(module);
  }
  return status;
}

static halo_status run_parse_file(const work *w) {
  (void)w;
  halo_module *module;
  halo_status status = halo_module_parse_file(HALO_TEST_DATA "/hlo/while_compiled.hlo", &module);
  if (status == HALO_OK) halo_module_release(module);
  return status;
}

START_TEST(parsing_files) { ck_assert_int_gt(walk(run_parse_file, NULL, ALL), 50); }
END_TEST

START_TEST(parsing) { ck_assert_int_gt(walk(run_parse_text, NULL, ALL), 100); }
END_TEST

static halo_status run_verify(const work *w) { return halo_module_verify(w->module); }

static halo_status run_print(const work *w) {
  char *text;
  halo_status status = halo_module_to_text(w->module, 0, &text);
  halo_text_release(text);
  return status;
}

static halo_status run_optimize(const work *w) {
  halo_module *optimized;
  halo_status status = halo_module_optimize(w->module, NULL, &optimized);
  if (status == HALO_OK) halo_module_release(optimized);
  return status;
}

START_TEST(modules) {
  work w = {.module = run_parse(everything)};
  walk(run_verify, &w, ALL);
  walk(run_print, &w, ALL);
  ck_assert_int_gt(walk(run_optimize, &w, ALL), 200);
  /* The module is as it was. */
  ck_ok(halo_module_verify(w.module));
  halo_module_release((halo_module *)w.module);
}
END_TEST

/* From the module to the plan, which is most of compiling. */
static halo_status plan_run(void *user) {
  const work *w = user;
  halo_caps caps;
  halo_plan *plan = NULL;
  ck_ok(halo_caps_read(HALO_TEST_DATA "/devices/amd-wave64.caps", &caps));
  halo_module *copy = halo_module_clone(w->module);
  copy->target = halo_target_gpu();
  halo_status status = halo_passes_run(copy, NULL);
  if (status == HALO_OK) status = halo_plan_lower(copy, &caps, NULL, NULL, &plan);
  halo_plan_release(plan);
  halo_module_release(copy);
  return status;
}

static halo_status run_plan(const work *w) { return halo_memory_guard(plan_run, (void *)w); }

/* Where passes make constants: wide operations are split, others written as simpler ones. */
START_TEST(rewriting) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text,
                     "HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n"
                     "  k = f32[] constant(3)\n  b = f32[3] broadcast(k), dimensions={}\n"
                     "  q = f32[3] divide(x, b)\n  m = f32[3] multiply(q, b)\n"
                     "  c = f32[3000] concatenate(x");
  for (int i = 1; i < 1000; i++) halo_strbuf_append(&text, i % 2 ? ", q" : ", x");
  halo_strbuf_append(&text,
                     "), dimensions={0}\n"
                     "  bn = f32[1,3,1] reshape(m)\n"
                     "  t = (f32[1,3,1], f32[3], f32[3]) batch-norm-training(bn, x, q), "
                     "epsilon=0.01, feature_index=1\n"
                     "  ROOT r = (f32[3000], (f32[1,3,1], f32[3], f32[3])) tuple(c, t)\n}\n");
  work w = {.module = run_parse(halo_strbuf_text(&text))};
  ck_assert_int_gt(walk(run_optimize, &w, ALL), 200);
  halo_module_release((halo_module *)w.module);
  halo_strbuf_deinit(&text);
}
END_TEST

static halo_status run_compiling(const work *w) {
  halo_executable *e;
  halo_status status = halo_client_compile(w->client, w->module, NULL, &e);
  if (status == HALO_OK) {
    halo_executable_release(e);
  } else {
    ck_assert_ptr_null(e);
  }
  return status;
}

START_TEST(compiling) {
  static const char program[] =
      "HloModule m\nENTRY e {\n  x = f32[8,8] parameter(0)\n  zero = f32[] constant(0)\n"
      "  k = f32[8] constant({1, 2, 3, 4, 5, 6, 7, 8})\n"
      "  d = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  b = f32[8,8] broadcast(k), dimensions={0}\n  s = f32[8,8] add(d, b)\n"
      "  r = f32[8] reduce(s, zero), dimensions={1}, to_apply={ a = f32[] parameter(0)\n"
      "  c = f32[] parameter(1)\n ROOT l = f32[] add(a, c) }\n"
      "  ROOT out = (f32[8], f32[8,8]) tuple(r, s)\n}\n";
  work w = {.module = run_parse(program), .client = run_client(NULL_DEVICE)};
  int64_t allocations = walk(run_plan, &w, ALL);
  ck_assert_int_gt(allocations, 100);
  /* What comes after the plan is small, and the device's. */
  ck_assert_int_eq(walk(run_compiling, &w, allocations), allocations);
  ck_ok(run_compiling(&w));
  halo_client_release(w.client);
  halo_module_release((halo_module *)w.module);
}
END_TEST

/* ---- Literals ---- */

static halo_status run_literals(const work *w) {
  halo_literal *literal = NULL, *pair = NULL;
  char *text = NULL;
  halo_status status = halo_literal_from_text("({1, 2, 3}, 4)", w->shape, &literal);
  if (status == HALO_OK) {
    halo_literal *both[2] = {literal, halo_literal_element(literal, 0)};
    status = halo_literal_create_tuple(2, both, &pair);
  }
  if (status == HALO_OK) status = halo_literal_to_text(pair, &text);
  if (status == HALO_OK) ck_assert_str_eq(text, "( ( {1, 2, 3}, 4 ), {1, 2, 3} )");
  halo_text_release(text);
  halo_literal_release(literal);
  halo_literal_release(pair);
  return status;
}

START_TEST(literals) {
  halo_shape *elements[2], *shape;
  const int64_t three = 3;
  ck_ok(halo_shape_create_array(HALO_F32, 1, &three, &elements[0]));
  ck_ok(halo_shape_create_array(HALO_S32, 0, NULL, &elements[1]));
  ck_ok(halo_shape_create_tuple(2, (const halo_shape *const *)elements, &shape));
  const work w = {.shape = shape};
  ck_assert_int_gt(walk(run_literals, &w, ALL), 10);
  halo_shape_release(shape);
  halo_shape_release(elements[0]);
  halo_shape_release(elements[1]);
}
END_TEST

/* ---- Files ---- */

static char folder[] = "/tmp/halo-test-memory.XXXXXX";

static halo_status run_npz(const work *w) {
  (void)w;
  const float data[] = {1, 2, 3};
  const int64_t three = 3;
  halo_literal *literal;
  int64_t left = halo_memory_fail(0);
  ck_ok(halo_literal_create_array(HALO_F32, 1, &three, data, &literal));
  halo_memory_fail(left);
  char path[100];
  snprintf(path, sizeof path, "%s/arrays.npz", folder);
  const char *const names[] = {"a", "b"};
  const halo_literal *const both[] = {literal, literal};
  halo_status status = halo_npz_write(path, 2, names, both);
  halo_literal_release(literal);
  return status;
}

/* A failure leaves nothing behind: neither half a file nor a temporary one. */
START_TEST(files) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_gt(walk(run_npz, NULL, ALL), 5);
  char command[100];
  snprintf(command, sizeof command, "test \"$(ls %s)\" = arrays.npz && rm -r %s", folder, folder);
  ck_assert_int_eq(system(command), 0);
}
END_TEST

/* ---- Running ---- */

/* What grows with a program's arguments and results, and with its steps. */
START_TEST(running) {
  enum { COUNT = 1000 };
  halo_strbuf text = {0};
  halo_strbuf_append(&text, "HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n  ROOT r = (f32[]");
  for (int i = 1; i < COUNT; i++) halo_strbuf_append(&text, ", f32[]");
  halo_strbuf_append(&text, ") tuple(x");
  for (int i = 1; i < COUNT; i++) halo_strbuf_append(&text, ", x");
  halo_strbuf_append(&text, ")\n}\n");
  halo_client *client = run_client(NULL);
  halo_executable *executable = run_compile(client, text.data);
  halo_strbuf_deinit(&text);
  halo_literal *one = NULL, *result = NULL;
  ck_ok(halo_literal_create_array(HALO_F32, 0, NULL, (const float[]){1}, &one));
  halo_memory_fail(1); /* the buffers of the run */
  ck_fails(halo_executable_run(executable, &one, 1, &result), HALO_OUT_OF_MEMORY, "of a run");
  halo_shape *shape;
  halo_buffer *x, *results[COUNT];
  ck_ok(halo_shape_create_array(HALO_F32, 0, NULL, &shape));
  ck_ok(halo_buffer_from_host(client, (const float[]){1}, shape, &x));
  halo_memory_fail(1);
  ck_fails(halo_executable_execute(executable, &x, 1, NULL, results), HALO_OUT_OF_MEMORY,
           "arguments and results of a run");
  halo_memory_fail(0);
  for (int i = 0; i < COUNT; i++) ck_assert_ptr_null(results[i]);
  ck_ok(halo_executable_run(executable, &one, 1, &result)); /* nothing is lost */
  halo_literal_release(result);
  halo_literal_release(one);
  halo_buffer_release(x);
  halo_shape_release(shape);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* ---- Guards ---- */

typedef struct guarded {
  void *before, *kept;
  int undone;
} guarded;

static int undone;
static void count_undone(void *object) { undone += *(int *)object; }

static halo_status inner_run(void *user) {
  guarded *g = user;
  g->kept = halo_alloc(100);
  int *object = halo_alloc_object(sizeof *object, count_undone);
  *object = 10;
  g->before = halo_realloc(g->before, 5000);
  halo_free(halo_alloc(3));
  halo_memory_fail(1);
  halo_alloc(1 << 20);
  ck_abort_msg("the allocation did not fail");
  return HALO_OK;
}

static halo_status outer_run(void *user) {
  int *object = halo_alloc_object(sizeof *object, count_undone);
  *object = 100;
  halo_status status = halo_memory_guard(inner_run, user);
  ck_assert_int_eq(status, HALO_OUT_OF_MEMORY);
  ck_message_has("1048576 bytes");
  ck_assert_int_eq(undone, 10);
  halo_free(object);
  return HALO_INVALID_ARGUMENT;
}

/* An inner guard gives up what it saw; what is older stays, even when it was moved. */
START_TEST(guards) {
  guarded g = {.before = halo_alloc(50)};
  memset(g.before, 7, 50);
  ck_assert_int_eq(halo_memory_guard(outer_run, &g), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(undone, 10);
  for (int i = 0; i < 50; i++) ck_assert_int_eq(((char *)g.before)[i], 7);
  halo_free(g.before);
}
END_TEST

static halo_status keep_run(void *user) {
  *(char **)user = halo_strdup("kept");
  return HALO_OK;
}

static halo_status keep_and_fail_run(void *user) {
  ck_ok(halo_memory_guard(keep_run, user));
  ck_assert_str_eq(*(char **)user, "kept");
  halo_memory_fail(1);
  halo_alloc(1);
  return HALO_OK;
}

/* What outlives a guard is its caller's, and so goes with a guard around that. */
START_TEST(guards_in_guards) {
  char *text;
  ck_ok(halo_memory_guard(keep_run, &text));
  ck_assert_str_eq(text, "kept");
  halo_free(text);
  ck_assert_int_eq(halo_memory_guard(keep_and_fail_run, &text), HALO_OUT_OF_MEMORY);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("memory");
  TCase *tests = tcase_create("memory");
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, parsing);
  tcase_add_test(tests, parsing_files);
  tcase_add_test(tests, modules);
  tcase_add_test(tests, rewriting);
  tcase_add_test(tests, compiling);
  tcase_add_test(tests, literals);
  tcase_add_test(tests, files);
  tcase_add_test(tests, running);
  tcase_add_test(tests, guards);
  tcase_add_test(tests, guards_in_guards);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

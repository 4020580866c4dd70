/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_threads.c: several threads share modules, a client, executables and buffers. Run it
 * by `tools/dev tsan`, too: what goes wrong between threads seldom shows in the results. */
#include "halo/passes.h"
#include "run_test.h"
#include "suite.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 12 };

#define NULL_DEVICE "null:" HALO_TEST_DATA "/devices/amd-wave64.caps"

/* A bit of everything that walks computations: a call, a loop, a branch, a map, a reduction, a product
 * with what finishes it. */
static const char shared_text[] =
    "HloModule shared\n"
    "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
    "square { a = f32[] parameter(0)\n ROOT s = f32[] multiply(a, a) }\n"
    "callee { a = f32[8,8] parameter(0)\n t = f32[8,8] tanh(a)\n ROOT n = f32[8,8] negate(t) }\n"
    "body { p = (s32[], f32[8,8]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
    "  x = f32[8,8] get-tuple-element(p), index=1\n one = s32[] constant(1)\n"
    "  next = s32[] add(i, one)\n d = f32[8,8] dot(x, x), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n y = f32[8,8] tanh(d)\n"
    "  ROOT r = (s32[], f32[8,8]) tuple(next, y) }\n"
    "condition { p = (s32[], f32[8,8]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
    "  n = s32[] constant(3)\n ROOT c = pred[] compare(i, n), direction=LT }\n"
    "ENTRY e {\n  x = f32[8,8] parameter(0)\n  zero = f32[] constant(0)\n  n = s32[] constant(0)\n"
    "  c = f32[8,8] call(x), to_apply=callee\n  m = f32[8,8] map(c), dimensions={0,1}, "
    "to_apply=square\n  init = (s32[], f32[8,8]) tuple(n, m)\n"
    "  w = (s32[], f32[8,8]) while(init), condition=condition, body=body\n"
    "  y = f32[8,8] get-tuple-element(w), index=1\n"
    "  r = f32[8] reduce(y, zero), dimensions={1}, to_apply=sum\n"
    "  ROOT out = (f32[8,8], f32[8]) tuple(y, r)\n}\n";

/* Check's assertions are for the main thread alone; threads count what goes wrong and say it. */
static void complain(int *failures, const char *what) {
  fprintf(stderr, "%s: %s\n", what, halo_error_message());
  ++*failures;
}

typedef struct job {
  pthread_t thread;
  halo_module *module;
  halo_client *client;
  halo_executable *executable;
  halo_buffer *argument;
  const char *expected; /* what the module's text, or the results', must be */
  int failures;
} job;

static void run_jobs(const job *like, void *(*work)(void *)) {
  job jobs[THREADS];
  for (int t = 0; t < THREADS; t++) {
    jobs[t] = *like;
    ck_assert_int_eq(pthread_create(&jobs[t].thread, NULL, work, &jobs[t]), 0);
  }
  for (int t = 0; t < THREADS; t++) pthread_join(jobs[t].thread, NULL);
  for (int t = 0; t < THREADS; t++) ck_assert_int_eq(jobs[t].failures, 0);
}

/* ---- One module ---- */

static void *module_work(void *user) {
  job *j = user;
  for (int i = 0; i < ROUNDS * 8; i++) {
    char *text;
    halo_module *optimized;
    if (halo_module_verify(j->module) != HALO_OK) complain(&j->failures, "verify");
    if (halo_module_to_text(j->module, 0, &text) != HALO_OK) {
      complain(&j->failures, "print");
      continue;
    }
    if (strcmp(text, j->expected) != 0) complain(&j->failures, "the text differs");
    halo_text_release(text);
    if (halo_module_optimize(j->module, NULL, &optimized) != HALO_OK) {
      complain(&j->failures, "optimize");
      continue;
    }
    halo_module_release(optimized);
  }
  return NULL;
}

START_TEST(one_module) {
  char *text;
  job like = {.module = run_parse(shared_text)};
  ck_ok(halo_module_to_text(like.module, 0, &text));
  like.expected = text;
  run_jobs(&like, module_work);
  halo_text_release(text);
  halo_module_release(like.module);
}
END_TEST

static void *compile_work(void *user) {
  job *j = user;
  for (int i = 0; i < ROUNDS; i++) {
    const halo_compile_options options = {.no_fusion = i % 3 == 1, .no_optimization = i % 3 == 2};
    halo_executable *e;
    if (halo_client_compile(j->client, j->module, &options, &e) != HALO_OK) {
      complain(&j->failures, "compile");
      continue;
    }
    if (!strstr(halo_executable_report(e, HALO_REPORT_PLAN), "plan shared")) {
      complain(&j->failures, "report");
    }
    halo_executable_release(e);
  }
  return NULL;
}

START_TEST(one_module_compiled) {
  job like = {.module = run_parse(shared_text), .client = run_client(NULL_DEVICE)};
  run_jobs(&like, compile_work);
  halo_client_release(like.client);
  halo_module_release(like.module);
}
END_TEST

/* ---- One executable ---- */

static void *report_work(void *user) {
  job *j = user;
  for (int r = HALO_REPORT_EXPLAIN; r <= HALO_REPORT_MODULE; r++) {
    if (!*halo_executable_report(j->executable, (halo_report)r)) complain(&j->failures, "report");
  }
  return NULL;
}

START_TEST(one_executable_reported) {
  job like = {.client = run_client(NULL_DEVICE)};
  like.executable = run_compile(like.client, shared_text);
  run_jobs(&like, report_work);
  halo_executable_release(like.executable);
  halo_client_release(like.client);
}
END_TEST

static bool results_are(halo_buffer *const *results, const char *expected, int *failures) {
  halo_literal *literal;
  char *text;
  if (halo_buffer_to_literal(results[1], &literal) != HALO_OK) {
    complain(failures, "reading a result");
    return false;
  }
  if (halo_literal_to_text(literal, &text) != HALO_OK) abort();
  bool same = strcmp(text, expected) == 0;
  halo_text_release(text);
  halo_literal_release(literal);
  return same;
}

/* Each thread runs the one executable on the one buffer, copies the buffer back and forth, and makes
 * events and memory come and go. */
static void *execute_work(void *user) {
  job *j = user;
  float values[64];
  for (int i = 0; i < ROUNDS; i++) {
    halo_buffer *results[2] = {NULL, NULL}, *copy = NULL;
    if (halo_executable_execute(j->executable, &j->argument, 1, NULL, results) != HALO_OK) {
      complain(&j->failures, "execute");
      continue;
    }
    if (!results_are(results, j->expected, &j->failures)) complain(&j->failures, "another result");
    if (halo_buffer_to_host(j->argument, values, sizeof values) != HALO_OK ||
        halo_buffer_from_host(j->client, values, halo_buffer_shape(j->argument), &copy) !=
            HALO_OK) {
      complain(&j->failures, "copying");
    }
    halo_buffer_release(copy);
    halo_event *ready;
    if (halo_buffer_ready_event(results[0], &ready) != HALO_OK ||
        halo_event_wait(ready) != HALO_OK) {
      complain(&j->failures, "waiting");
    }
    halo_event_release(ready);
    if (i % 4 == 3) halo_device_trim_memory(halo_client_device(j->client, 0));
    halo_buffer_release(results[0]);
    halo_buffer_release(results[1]);
  }
  return NULL;
}

START_TEST(one_executable_executed) {
  float values[64];
  for (int i = 0; i < 64; i++) values[i] = (float)(i % 7) / 8;
  job like = {.client = run_client(NULL)};
  like.executable = run_compile(like.client, shared_text);
  ck_ok(halo_buffer_from_host(like.client, values,
                              halo_executable_argument_shape(like.executable, 0), &like.argument));
  halo_buffer *results[2];
  halo_literal *literal;
  char *text;
  ck_ok(halo_executable_execute(like.executable, &like.argument, 1, NULL, results));
  ck_ok(halo_buffer_to_literal(results[1], &literal));
  ck_ok(halo_literal_to_text(literal, &text));
  like.expected = text;
  run_jobs(&like, execute_work);
  halo_text_release(text);
  halo_literal_release(literal);
  halo_buffer_release(results[0]);
  halo_buffer_release(results[1]);
  halo_buffer_release(like.argument);
  halo_executable_release(like.executable);
  halo_client_release(like.client);
}
END_TEST

/* ---- Clients and literals ---- */

static void *client_work(void *user) {
  job *j = user;
  static const float four[4] = {1, 2, 3, 4};
  const int64_t count = 4;
  halo_client *client;
  halo_shape *shape;
  halo_literal *in, *out;
  halo_client_options options = {.cache_dir = ""};
  halo_executable *e;
  if (halo_client_create(&options, &client) != HALO_OK)
    return complain(&j->failures, "client"), user;
  if (halo_client_compile(client, j->module, NULL, &e) != HALO_OK) {
    complain(&j->failures, "compile");
  } else {
    if (halo_shape_create_array(HALO_F32, 1, &count, &shape) != HALO_OK ||
        halo_literal_create_array(HALO_F32, 1, &count, four, &in) != HALO_OK) {
      abort();
    }
    if (halo_executable_run(e, &in, 1, &out) != HALO_OK) {
      complain(&j->failures, "run");
    } else {
      halo_literal_release(out);
    }
    halo_literal_release(in);
    halo_shape_release(shape);
    halo_executable_release(e);
  }
  halo_client_release(client);
  return NULL;
}

START_TEST(a_client_each) {
  job like = {.module = run_parse("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
                                  "  c = f32[4] constant({1, 2, 3, 4})\n"
                                  "  ROOT s = f32[4] add(x, c)\n}\n")};
  run_jobs(&like, client_work);
  halo_module_release(like.module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("threads");
  TCase *tests = tcase_create("threads");
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, one_module);
  tcase_add_test(tests, one_module_compiled);
  tcase_add_test(tests, one_executable_reported);
  tcase_add_test(tests, one_executable_executed);
  tcase_add_test(tests, a_client_each);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

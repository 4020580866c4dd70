/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_client.c: compiling and running from outside: arguments, threads, results of
 * every kind, refusals, limits. */
#include "run_test.h"
#include "suite.h"

#include <pthread.h>
#include <unistd.h>

static const float four[4] = {1, 2, 3, 4};

/* ---- Arguments ---- */

START_TEST(null_arguments) {
  halo_client *client = run_client(NULL);
  halo_module *module = run_parse(RUN_ADD);
  halo_executable *e = (void *)&client;
  ck_fails(halo_client_compile(NULL, module, NULL, &e), HALO_INVALID_ARGUMENT, "NULL");
  ck_fails(halo_client_compile(client, NULL, NULL, &e), HALO_INVALID_ARGUMENT, "NULL");
  ck_fails(halo_client_compile(client, module, NULL, NULL), HALO_INVALID_ARGUMENT, "NULL");
  ck_ok(halo_client_compile(client, module, NULL, &e));
  halo_module_release(module);

  halo_buffer *x = run_buffer(client, 4, four), *result = (void *)&client;
  halo_buffer *with_null[2] = {x, NULL}, *both[2] = {x, x};
  ck_fails(halo_executable_execute(NULL, both, 2, NULL, &result), HALO_INVALID_ARGUMENT, "NULL");
  ck_fails(halo_executable_execute(e, both, 2, NULL, NULL), HALO_INVALID_ARGUMENT, "NULL");
  ck_fails(halo_executable_execute(e, NULL, 2, NULL, &result), HALO_INVALID_ARGUMENT, "argument 0");
  ck_assert_ptr_null(result);
  ck_fails(halo_executable_execute(e, with_null, 2, NULL, &result), HALO_INVALID_ARGUMENT,
           "argument 1 of add is NULL");
  halo_literal *out = (void *)&client;
  ck_fails(halo_executable_run(NULL, NULL, 0, &out), HALO_INVALID_ARGUMENT, "NULL");
  ck_fails(halo_executable_run(e, NULL, 2, NULL), HALO_INVALID_ARGUMENT, "NULL");
  ck_fails(halo_executable_run(e, NULL, 2, &out), HALO_INVALID_ARGUMENT, "parameter 0");
  ck_assert_ptr_null(out);
  ck_fails(halo_executable_profile(NULL, NULL, NULL), HALO_INVALID_ARGUMENT, "NULL");
  ck_fails(halo_executable_profile_host(NULL, NULL), HALO_INVALID_ARGUMENT, "NULL");

  halo_executable_retain(NULL);
  halo_executable_release(NULL);
  halo_buffer_retain(NULL);
  halo_buffer_release(NULL);
  halo_event_release(NULL);
  halo_client_release(NULL);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

START_TEST(wrong_count) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, RUN_ADD);
  halo_buffer *x = run_buffer(client, 4, four), *three[3] = {x, x, x}, *result;
  halo_literal *out;
  ck_fails(halo_executable_execute(e, three, 1, NULL, &result), HALO_INVALID_ARGUMENT,
           "add takes 2 arguments, 1 was given");
  ck_fails(halo_executable_execute(e, three, 3, NULL, &result), HALO_INVALID_ARGUMENT, "3 were");
  ck_fails(halo_executable_execute(e, three, -1, NULL, &result), HALO_INVALID_ARGUMENT, "-1 were");
  ck_fails(halo_executable_run(e, NULL, 0, &out), HALO_INVALID_ARGUMENT,
           "add takes 2 parameters, 0 were given");
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

static halo_buffer *shaped(halo_client *client, halo_type type, int rank, const int64_t *dims,
                           const int32_t *minor_to_major) {
  static const char zeros[4096];
  halo_shape *shape;
  halo_buffer *buffer;
  if (minor_to_major) {
    ck_ok(halo_shape_create_array_with_layout(type, rank, dims, minor_to_major, &shape));
  } else {
    ck_ok(halo_shape_create_array(type, rank, dims, &shape));
  }
  ck_ok(halo_buffer_from_host(client, zeros, shape, &buffer));
  halo_shape_release(shape);
  return buffer;
}

START_TEST(wrong_shapes) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client,
                                   "HloModule neg\nENTRY e {\n  x = f32[2,3]{1,0} parameter(0)\n"
                                   "  ROOT n = f32[2,3]{1,0} negate(x)\n}\n");
  const int64_t dims[] = {2, 3}, turned[] = {3, 2};
  const int32_t columns[] = {0, 1};
  const struct {
    halo_buffer *buffer;
    const char *shape;
  } wrong[] = {
      {shaped(client, HALO_S32, 2, dims, NULL), "f32[2,3], s32[2,3] was given"},
      {shaped(client, HALO_F32, 2, turned, NULL), "f32[2,3], f32[3,2] was given"},
      {shaped(client, HALO_F32, 1, dims, NULL),
       "f32[2,3]: got buffer with incompatible size, f32[2]"},
      {shaped(client, HALO_F32, 2, dims, columns), "f32[2,3]{1,0}, f32[2,3]{0,1} was given"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    halo_buffer *result, *argument = wrong[i].buffer;
    ck_fails(halo_executable_execute(e, &argument, 1, NULL, &result), HALO_INVALID_ARGUMENT,
             "argument 0 of neg must be f32[2,3]");
    ck_message_has(wrong[i].shape);
    ck_assert_ptr_null(result);
    /* A literal has no layout of its own: only the last is right. */
    halo_literal *literal, *out;
    ck_ok(halo_buffer_to_literal(argument, &literal));
    if (i == 3) {
      ck_ok(halo_executable_run(e, &literal, 1, &out));
      halo_literal_release(out);
    } else {
      ck_fails(halo_executable_run(e, &literal, 1, &out), HALO_INVALID_ARGUMENT,
               "parameter 0 of neg must be f32[2,3]");
    }
    halo_literal_release(literal);
    halo_buffer_release(argument);
  }
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

START_TEST(other_client) {
  halo_client *client = run_client(NULL), *other = run_client(NULL);
  halo_executable *e = run_compile(client, RUN_ADD);
  halo_buffer *arguments[2] = {run_buffer(client, 4, four), run_buffer(other, 4, four)}, *result;
  ck_fails(halo_executable_execute(e, arguments, 2, NULL, &result), HALO_INVALID_ARGUMENT,
           "argument 1 of add belongs to another client");
  for (int i = 0; i < 2; i++) halo_buffer_release(arguments[i]);
  halo_executable_release(e);
  halo_client_release(client);
  halo_client_release(other);
}
END_TEST

START_TEST(shapes_of_executable) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, RUN_ADD);
  char text[64];
  ck_assert_int_eq(halo_executable_argument_count(e), 2);
  ck_assert_int_eq(halo_executable_result_count(e), 1);
  static const int outside[] = {-1, 2, 1 << 30, -(1 << 30)};
  for (int i = 0; i < 4; i++) {
    ck_assert_ptr_null(halo_executable_argument_shape(e, outside[i]));
    ck_assert_ptr_null(halo_executable_result_shape(e, outside[i]));
  }
  ck_assert_ptr_null(halo_executable_result_shape(e, 1));
  halo_shape_to_text(halo_executable_argument_shape(e, 1), true, text, sizeof text);
  ck_assert_str_eq(text, "f32[4]{0}");
  halo_shape_to_text(halo_executable_result_shape(e, 0), true, text, sizeof text);
  ck_assert_str_eq(text, "f32[4]{0}");
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- Threads ---- */

enum { THREADS = 4, RUNS = 30 };

typedef struct runner {
  halo_client *client;
  halo_executable *shared;
  int number;
  const char *failure;
} runner;

/* One executable that all use, and one of its own; a chain of runs without waiting in between. */
static void *run_many(void *data) {
  runner *r = data;
  halo_executable *own = NULL;
  halo_buffer *x = run_filled(r->client, 1024, (float)(r->number + 1));
  float expected = (float)(r->number + 1), got[1024];
  halo_module *module = NULL;
  if (halo_module_parse(RUN_TWICE, strlen(RUN_TWICE), NULL, &module) != HALO_OK ||
      halo_client_compile(r->client, module, NULL, &own) != HALO_OK) {
    r->failure = "compiling";
  }
  for (int i = 0; i < RUNS && !r->failure; i++) {
    halo_buffer *y = NULL;
    if (halo_executable_execute(i % 3 ? r->shared : own, &x, 1, NULL, &y) != HALO_OK) {
      r->failure = "executing";
      break;
    }
    halo_buffer_release(x);
    x = y;
    expected *= 2;
    if (i % 7 != 6) continue;
    if (halo_buffer_to_host(x, got, sizeof got) != HALO_OK) r->failure = "reading";
    for (int k = 0; k < 1024; k++) {
      if (got[k] != expected) r->failure = "a wrong value";
    }
  }
  halo_buffer_release(x);
  halo_executable_release(own);
  halo_module_release(module);
  return NULL;
}

START_TEST(threads) {
  halo_client *client = run_client(NULL);
  halo_executable *shared = run_compile(client, RUN_TWICE);
  pthread_t handles[THREADS];
  runner runners[THREADS];
  for (int i = 0; i < THREADS; i++) {
    runners[i] = (runner){client, shared, i, NULL};
    ck_assert_int_eq(pthread_create(&handles[i], NULL, run_many, &runners[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(handles[i], NULL);
    ck_assert_msg(!runners[i].failure, "thread %d: %s", i, runners[i].failure);
  }
  halo_executable_release(shared);
  ck_assert_uint_eq(run_stats(client).live, 0);
  halo_client_release(client);
}
END_TEST

/* ---- Lives ---- */

/* Client, executable, result and event go in every order. */
START_TEST(release_order) {
  static const int orders[24][4] = {
      {0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1},
      {1, 0, 2, 3}, {1, 0, 3, 2}, {1, 2, 0, 3}, {1, 2, 3, 0}, {1, 3, 0, 2}, {1, 3, 2, 0},
      {2, 0, 1, 3}, {2, 0, 3, 1}, {2, 1, 0, 3}, {2, 1, 3, 0}, {2, 3, 0, 1}, {2, 3, 1, 0},
      {3, 0, 1, 2}, {3, 0, 2, 1}, {3, 1, 0, 2}, {3, 1, 2, 0}, {3, 2, 0, 1}, {3, 2, 1, 0}};
  for (int i = 0; i < 24; i++) {
    halo_client *client = run_client(NULL);
    halo_executable *e = run_compile(client, RUN_TWICE);
    halo_buffer *x = run_filled(client, 1024, 1), *y;
    halo_event *event;
    ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
    ck_ok(halo_buffer_ready_event(y, &event));
    halo_buffer_release(x);
    for (int k = 0; k < 4; k++) {
      switch (orders[i][k]) {
        case 0: halo_client_release(client); break;
        case 1: halo_executable_release(e); break;
        case 2:
          ck_assert_float_eq(run_first(y, 1024), 2);
          halo_buffer_release(y);
          break;
        case 3:
          ck_ok(halo_event_wait(event));
          ck_assert(halo_event_is_ready(event));
          halo_event_release(event);
          break;
      }
    }
  }
}
END_TEST

/* ---- Results of every kind ---- */

/* Runs `text` on literals in HLO text and compares the result's text. */
static void check_run(halo_client *client, const char *text, const char *const *arguments,
                      int count, const char *expected) {
  halo_module *module = run_parse(text);
  for (int way = 0; way < 3; way++) {
    const halo_compile_options options = {.no_fusion = way == 1, .no_optimization = way == 2};
    halo_executable *e;
    ck_assert_msg(halo_client_compile(client, module, &options, &e) == HALO_OK, "%s",
                  halo_error_message());
    halo_literal *literals[4], *result;
    for (int i = 0; i < count; i++) {
      literals[i] = run_literal(halo_module_parameter_shape(module, i), arguments[i]);
    }
    ck_assert_msg(halo_executable_run(e, literals, count, &result) == HALO_OK, "%s",
                  halo_error_message());
    char *got;
    ck_ok(halo_literal_to_text(result, &got));
    ck_assert_str_eq(got, expected);
    halo_text_release(got);
    halo_literal_release(result);
    for (int i = 0; i < count; i++) halo_literal_release(literals[i]);
    halo_executable_release(e);
  }
  halo_module_release(module);
}

START_TEST(results) {
  halo_client *client = run_client(NULL);
  /* Parameters, constants, the same value twice. */
  check_run(client,
            "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] parameter(1)\n"
            "  c = f32[2] constant({7, 8})\n  s = f32[2] add(x, c)\n"
            "  ROOT t = (f32[2], f32[2], f32[2], f32[2], f32[2], f32[2]) "
            "tuple(x, c, s, x, s, c)\n}\n",
            (const char *const[]){"{1, 2}", "{3, 4}"}, 2,
            "( {1, 2}, {7, 8}, {8, 10}, {1, 2}, {8, 10}, {7, 8} )");
  /* No parameters at all. */
  check_run(client, "HloModule m\nENTRY e {\n  ROOT i = s32[3] iota(), iota_dimension=0\n}\n", NULL,
            0, "{0, 1, 2}");
  check_run(client, "HloModule m\nENTRY e {\n  ROOT c = s32[] constant(5)\n}\n", NULL, 0, "5");
  /* Nothing at all. */
  check_run(client, "HloModule m\nENTRY e {\n  ROOT t = () tuple()\n}\n", NULL, 0, "()");
  /* Empty arrays, in and out and on the way. */
  check_run(client,
            "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
            "  ROOT s = f32[] add(a, b)\n}\n"
            "ENTRY e {\n  x = f32[0,3] parameter(0)\n  z = f32[] constant(4)\n"
            "  n = f32[0,3] negate(x)\n"
            "  r = f32[3] reduce(n, z), dimensions={0}, to_apply=add\n"
            "  ROOT t = (f32[0,3], f32[3], f32[0,3]) tuple(n, r, x)\n}\n",
            (const char *const[]){"{ }"}, 1, "( { }, {4, 4, 4}, { } )");
  /* Tuples as parameters, tuples in tuples as results. */
  check_run(client,
            "HloModule m\nENTRY e {\n  p = (f32[], (f32[2], ()), f32[]) parameter(0)\n"
            "  q = f32[2] parameter(1)\n"
            "  a = f32[] get-tuple-element(p), index=0\n"
            "  i = (f32[2], ()) get-tuple-element(p), index=1\n"
            "  b = f32[2] get-tuple-element(i), index=0\n"
            "  d = f32[] get-tuple-element(p), index=2\n"
            "  s = f32[2] subtract(b, q)\n  m = f32[] multiply(a, d)\n"
            "  u = (f32[2], f32[]) tuple(s, m)\n"
            "  ROOT t = ((f32[2], f32[]), (f32[2], ()), f32[]) tuple(u, i, a)\n}\n",
            (const char *const[]){"( 2, ( {10, 20}, () ), 3 )", "{1, 2}"}, 2,
            "( ( {9, 18}, 6 ), ( {10, 20}, () ), 2 )");
  ck_assert_uint_eq(run_stats(client).live, 0);
  halo_client_release(client);
}
END_TEST

/* ---- Refusals ---- */

START_TEST(unimplemented) {
  halo_client *client = run_client(NULL);
  halo_executable *e = (void *)&client;
  ck_fails(run_try_compile(
               client,
               "HloModule late\nENTRY e {\n  x = f32[8] parameter(0)\n\n"
               "  ROOT what = f32[8] collective-permute(x), source_target_pairs={{0,1}}\n}\n",
               NULL, &e),
           HALO_UNIMPLEMENTED, "compiling late");
  ck_message_has("what");
  ck_message_has("collective-permute");
  ck_message_has("line 5");
  ck_assert_ptr_null(e);
  ck_assert_uint_eq(run_stats(client).live, 0);
  halo_client_release(client);
}
END_TEST

/* What would run as something else is refused, with what it is called. */
START_TEST(refused) {
  static const struct {
    const char *text, *parts[3];
    halo_status status; /* HALO_OK: HALO_UNIMPLEMENTED */
  } cases[] = {
      {"HloModule m\nENTRY e {\n  x = s64[2] parameter(0)\n  ROOT c = (s64[2], u32[4]) "
       "rng-bit-generator(x), algorithm=rng_philox\n}\n",
       {"c: rng-bit-generator", "runs with", "a state of u64 only"}},
      {"HloModule m\nENTRY e {\n  x = s32[2,2] parameter(0)\n  ROOT c = (s32[2,2], s32[2]) "
       "custom-call(x), custom_call_target=\"Qr\"\n}\n",
       {"line 4: c", "the custom call Qr", "matrices of f16"},
       HALO_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n  x = f32[2,2] parameter(0)\n  ROOT c = (f32[2,2], f32[3]) "
       "custom-call(x), custom_call_target=\"Eigh\"\n}\n",
       {"line 4: c", "the custom call Eigh", "do not go together"},
       HALO_INVALID_ARGUMENT},
      {"HloModule m\nENTRY e {\n  ROOT x = f32[?] parameter(0)\n}\n",
       {"line 3", "x: f32[?]", "without a bound"}},
      {"HloModule m\nf {\n  ROOT y = f32[<=8,3] parameter(0)\n}\nENTRY e {\n"
       "  x = f32[8,3] parameter(0)\n  n = s32[] parameter(1)\n"
       "  t = (f32[8,3], f32[<=8,3]) custom-call(x, n), custom_call_target=\"a\"\n"
       "  g = f32[<=8,3] get-tuple-element(t), index=1\n"
       "  ROOT c = f32[<=8,3] call(g), to_apply=f\n}\n",
       {"line 8", "t: custom-call", "run time"}},
      /* What computations that are applied cannot hold, also where the family is all there is. */
      {"HloModule m\nc {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
       "  ROOT r = pred[] compare(x, y), direction=LT\n}\nf {\n  x = f32[] parameter(0)\n"
       "  b = f32[1025] broadcast(x), dimensions={}\n"
       "  s = f32[1025] sort(b), dimensions={0}, to_apply=c\n"
       "  d = f32[1] slice(s), slice={[7:8]}\n  ROOT r = f32[] reshape(d)\n}\nENTRY e {\n"
       "  p = f32[9] parameter(0)\n  ROOT m = f32[9] map(p), dimensions={0}, to_apply=f\n}\n",
       {"line 10", "%s = f32[1025] sort", "no more than 1024 elements"}},
      {"HloModule m\nc {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
       "  b = f32[4] broadcast(x), dimensions={}\n"
       "  k = c64[3] fft(b), fft_type=RFFT, fft_length={4}\n  a = f32[3] real(k)\n"
       "  d = f32[1] slice(a), slice={[0:1]}\n  g = f32[] reshape(d)\n"
       "  ROOT r = pred[] compare(g, y), direction=LT\n}\nENTRY e {\n"
       "  p = f32[9] parameter(0)\n  ROOT m = f32[9] sort(p), dimensions={0}, to_apply=c\n}\n",
       {"line 6", "%k = c64[3] fft", "applied element by element cannot hold it"}},
  };
  halo_client *client = run_client(NULL);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    halo_executable *e = (void *)&client;
    ck_fails(run_try_compile(client, cases[i].text, NULL, &e),
             cases[i].status == HALO_OK ? HALO_UNIMPLEMENTED : cases[i].status, cases[i].parts[0]);
    ck_message_has(cases[i].parts[1]);
    ck_message_has(cases[i].parts[2]);
    ck_assert_ptr_null(e);
  }
  /* What the entry does not reach, and counts of one, are nobody's concern. */
  halo_executable_release(run_compile(
      client,
      "HloModule m, replica_count=1, num_partitions=1\nf {\n  ROOT y = f32[?] parameter(0)"
      "\n}\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n"));
  halo_client_release(client);
}
END_TEST

START_TEST(elided) {
  halo_client *client = run_client(NULL);
  static const char *const roots[] = {"c", "n"};
  for (size_t i = 0; i < 2; i++) {
    char text[300];
    snprintf(text, sizeof text,
             "HloModule lost\nENTRY e {\n  %sc = f32[100] constant({...})\n"
             "  %sn = f32[100] negate(c)\n}\n",
             i == 0 ? "ROOT " : "", i == 1 ? "ROOT " : "");
    for (int way = 0; way < 3; way++) {
      const halo_compile_options options = {.no_fusion = way == 1, .no_optimization = way == 2};
      halo_executable *e = NULL;
      halo_status status = run_try_compile(client, text, &options, &e);
      ck_assert_msg(status != HALO_OK, "accepted with root %s", roots[i]);
      ck_message_has("{...}");
      ck_message_has("line 3");
      ck_assert_ptr_null(e);
    }
  }
  halo_client_release(client);
}
END_TEST

/* ---- Limits ---- */

START_TEST(memory_limit) {
  halo_client *client;
  halo_client_options options = {.memory_limit = 3 << 20, .cache_dir = ""};
  ck_ok(halo_client_create(&options, &client));
  /* On the way there is a matrix: of 1 MiB in the first and last round, of 8 MiB in the second. */
  static const char text[] =
      "HloModule big\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT s = f32[] add(a, b)\n}\n"
      "ENTRY e {\n  x = f32[%d] parameter(0)\n  z = f32[] constant(0)\n"
      "  b = f32[%d,%d] broadcast(x), dimensions={1}\n  s = f32[%d,%d] sine(b)\n"
      "  ROOT r = f32[%d] reduce(s, z), dimensions={0}, to_apply=add\n}\n";
  const int n = 1 << 10;
  for (int round = 0; round < 3; round++) {
    int rows = round == 1 ? 2048 : 256;
    char whole[1000];
    snprintf(whole, sizeof whole, text, n, rows, n, rows, n, n);
    halo_executable *e;
    const halo_compile_options apart = {.no_fusion = true};
    ck_ok(run_try_compile(client, whole, &apart, &e));
    halo_buffer *x = run_filled(client, n, 0), *y = (void *)&e;
    const int zero = 0;
    const halo_execute_options donate = {&zero, 1};
    halo_status status = halo_executable_execute(e, &x, 1, &donate, &y);
    if (round == 1) {
      ck_assert_int_eq(status, HALO_OUT_OF_MEMORY);
      ck_message_has("out of device memory");
      ck_assert_ptr_null(y);
      ck_assert_float_eq(run_first(x, n), 0); /* not donated after all */
    } else {
      ck_ok(status);
      ck_assert_float_eq(run_first(y, n), 0);
    }
    halo_buffer_release(y);
    halo_buffer_release(x);
    halo_executable_release(e);
    ck_assert_uint_eq(run_stats(client).live, 0);
  }
  halo_buffer *buffer;
  const int64_t large = 1 << 20;
  halo_shape *shape;
  ck_ok(halo_shape_create_array(HALO_F32, 1, &large, &shape));
  float *data = calloc((size_t)large, sizeof *data);
  ck_fails(halo_buffer_from_host(client, data, shape, &buffer), HALO_OUT_OF_MEMORY, "f32[1048576]");
  free(data);
  halo_shape_release(shape);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("client");
  TCase *arguments = tcase_create("arguments"), *running = tcase_create("running");
  tcase_add_test(arguments, null_arguments);
  tcase_add_test(arguments, wrong_count);
  tcase_add_test(arguments, wrong_shapes);
  tcase_add_test(arguments, other_client);
  tcase_add_test(arguments, shapes_of_executable);
  tcase_add_test(running, threads);
  tcase_add_test(running, release_order);
  tcase_add_test(running, results);
  tcase_add_test(running, unimplemented);
  tcase_add_test(running, refused);
  tcase_add_test(running, elided);
  tcase_add_test(running, memory_limit);
  TCase *cases[] = {arguments, running};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tcase_set_timeout(cases[i], 120);
    suite_add_tcase(suite, cases[i]);
  }
  return suite_run(suite);
}

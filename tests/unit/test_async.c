/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_async.c: runs that go on while nobody waits: promises, callbacks, failures that travel,
 * loops that need the host, several runs of one executable in progress. */
#include "cl_faults.h"
#include "run_test.h"
#include "suite.h"

#include <pthread.h>
#include <unistd.h>

static const char twice_text[] =
    "HloModule twice\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT s = f32[4] add(x, x)\n}\n";
/* Doubles x until it reaches the limit; beside it goes an array, so that the loop is not one kernel: the
 * host has to look. */
static const char until_text[] =
    "HloModule until\n"
    "c { p = (f32[], f32[], s32[], f32[300]) parameter(0)\n"
    "  x = f32[] get-tuple-element(p), index=0\n  l = f32[] get-tuple-element(p), index=1\n"
    "  ROOT c = pred[] compare(x, l), direction=LT }\n"
    "b { p = (f32[], f32[], s32[], f32[300]) parameter(0)\n"
    "  x = f32[] get-tuple-element(p), index=0\n  l = f32[] get-tuple-element(p), index=1\n"
    "  n = s32[] get-tuple-element(p), index=2\n  v = f32[300] get-tuple-element(p), index=3\n"
    "  one = s32[] constant(1)\n  m = s32[] add(n, one)\n  y = f32[] add(x, x)\n"
    "  w = f32[300] negate(v)\n  ROOT t = (f32[], f32[], s32[], f32[300]) tuple(y, l, m, w) }\n"
    "ENTRY e {\n  x = f32[] parameter(0)\n  l = f32[] parameter(1)\n  z = s32[] constant(0)\n"
    "  v = f32[300] broadcast(x), dimensions={}\n"
    "  i = (f32[], f32[], s32[], f32[300]) tuple(x, l, z, v)\n"
    "  w = (f32[], f32[], s32[], f32[300]) while(i), condition=c, body=b\n"
    "  y = f32[] get-tuple-element(w), index=0\n  n = s32[] get-tuple-element(w), index=2\n"
    "  u = f32[300] get-tuple-element(w), index=3\n"
    "  ROOT t = (f32[], s32[], f32[300]) tuple(y, n, u)\n}\n";

static const float four[4] = {1, 2, 3, 4};

static halo_shape *vector_shape(void) {
  halo_shape *shape;
  ck_ok(halo_shape_create_array(HALO_F32, 1, (const int64_t[]){4}, &shape));
  return shape;
}

static halo_buffer *promised(halo_client *client) {
  halo_shape *shape = vector_shape();
  halo_buffer *buffer;
  ck_ok(halo_buffer_promise(halo_client_device(client, 0), shape, &buffer));
  halo_shape_release(shape);
  return buffer;
}

static halo_event *ready_of(halo_buffer *buffer) {
  halo_event *event;
  ck_ok(halo_buffer_ready_event(buffer, &event));
  return event;
}

static bool is_ready(halo_buffer *buffer) {
  halo_event *event = ready_of(buffer);
  bool ready = halo_event_is_ready(event);
  halo_event_release(event);
  return ready;
}

static halo_buffer *scalar(halo_client *client, float value) {
  halo_shape *shape;
  halo_buffer *buffer;
  ck_ok(halo_shape_create_array(HALO_F32, 0, NULL, &shape));
  ck_ok(halo_buffer_from_host(client, &value, shape, &buffer));
  halo_shape_release(shape);
  return buffer;
}

static halo_buffer *promised_scalar(halo_client *client) {
  halo_shape *shape;
  halo_buffer *buffer;
  ck_ok(halo_shape_create_array(HALO_F32, 0, NULL, &shape));
  ck_ok(halo_buffer_promise(halo_client_device(client, 0), shape, &buffer));
  halo_shape_release(shape);
  return buffer;
}

static halo_buffer *execute1(halo_executable *e, halo_buffer *x) {
  halo_buffer *result;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &result));
  return result;
}

static uint64_t live_of(halo_client *client) {
  halo_memory_stats stats;
  halo_device_memory_stats(halo_client_device(client, 0), &stats);
  return stats.live;
}

/* ---- Promises ---- */

/* A run that waits for a value of the host keeps nobody waiting: not its caller, and not another run of
 * the same executable. */
START_TEST(promised_argument) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, twice_text);
  halo_buffer *x = promised(client), *ready = run_buffer(client, 4, four);
  halo_buffer *first = execute1(e, x), *chained = execute1(e, first), *second = execute1(e, ready);
  run_check(second, "{2, 4, 6, 8}");
  ck_assert(!is_ready(x) && !is_ready(first) && !is_ready(chained));
  float back[4];
  halo_event *copied;
  ck_ok(halo_buffer_to_host_async(chained, back, sizeof back, &copied));
  ck_assert(!halo_event_is_ready(copied));
  ck_ok(halo_buffer_fulfil(x, four, NULL));
  ck_fails(halo_buffer_fulfil(x, four, NULL), HALO_FAILED_PRECONDITION, "given");
  ck_fails(halo_buffer_fail(x, HALO_INTERNAL, "late"), HALO_FAILED_PRECONDITION, "given");
  run_check(first, "{2, 4, 6, 8}");
  run_check(chained, "{4, 8, 12, 16}");
  ck_ok(halo_event_wait(copied));
  ck_assert_float_eq(back[3], 16);
  halo_event_release(copied);
  ck_fails(halo_buffer_fulfil(ready, four, NULL), HALO_FAILED_PRECONDITION, "promised");
  halo_buffer *all[] = {x, ready, first, chained, second};
  for (int i = 0; i < 5; i++) halo_buffer_release(all[i]);
  halo_executable_release(e);
  ck_assert_uint_eq(live_of(client), 0);
  halo_client_release(client);
}
END_TEST

static void *fulfil_work(void *buffer) {
  ck_ok(halo_buffer_fulfil(buffer, four, NULL));
  return NULL;
}

/* A result is used by the next run while another thread starts the run that makes it, and gives it memory. */
START_TEST(pending_results_are_used) {
  enum { ROUNDS = 100 };
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, twice_text);
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t thread;
    halo_buffer *x = promised(client), *y = execute1(e, x), *results[4];
    ck_assert_int_eq(pthread_create(&thread, NULL, fulfil_work, x), 0);
    for (int i = 0; i < 4; i++) results[i] = execute1(e, y);
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++) {
      float out[4];
      ck_ok(halo_buffer_to_host(results[i], out, sizeof out));
      ck_assert_float_eq(out[3], 16);
      halo_buffer_release(results[i]);
    }
    halo_buffer_release(x);
    halo_buffer_release(y);
  }
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* A donated promise: its memory becomes the result's when it is there. */
START_TEST(promised_and_donated) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, twice_text);
  halo_buffer *x = promised(client), *y;
  uint64_t live = live_of(client);
  const int zero = 0;
  const halo_execute_options donate = {.donated = &zero, .donated_count = 1};
  ck_ok(halo_executable_execute(e, &x, 1, &donate, &y));
  ck_assert(halo_buffer_is_donated(x));
  ck_ok(halo_buffer_fulfil(x, four, NULL));
  run_check(y, "{2, 4, 6, 8}");
  ck_assert_uint_eq(live_of(client), live);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

START_TEST(promised_events) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, twice_text);
  halo_buffer *x = run_buffer(client, 4, four), *y, *z;
  halo_event *promises[2], *done = ready_of(x);
  for (int i = 0; i < 2; i++) ck_ok(halo_promise_create(client, &promises[i]));
  halo_event *after[] = {promises[0], done, NULL, promises[1]};
  const halo_execute_options wait = {.after = after, .after_count = 4};
  ck_ok(halo_executable_execute(e, &x, 1, &wait, &y));
  ck_ok(halo_promise_set(promises[0]));
  ck_ok(halo_promise_set(promises[0]));
  ck_assert(halo_event_is_ready(promises[0]));
  ck_assert(!is_ready(y));
  ck_ok(halo_promise_set(promises[1]));
  run_check(y, "{2, 4, 6, 8}");
  ck_ok(halo_executable_execute(e, &x, 1, &wait, &z));
  run_check(z, "{2, 4, 6, 8}");
  halo_buffer_release(z);
  ck_fails(halo_promise_set(done), HALO_INVALID_ARGUMENT, "not a promise");
  ck_fails(halo_promise_fail(promises[1], HALO_OK, ""), HALO_INVALID_ARGUMENT, "HALO_OK");
  ck_fails(halo_executable_execute(e, &x, 1, &(halo_execute_options){.after_count = 1}, &z),
           HALO_INVALID_ARGUMENT, "list of 1 events");
  halo_event_release(promises[0]);
  halo_event_release(promises[1]);
  halo_event_release(done);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Everything that holds on to a waiting run may go before it runs. */
START_TEST(released_before_it_runs) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, twice_text);
  halo_buffer *x = promised(client), *y = execute1(e, x);
  halo_executable_release(e);
  halo_event *ready = ready_of(y);
  halo_buffer_release(y);
  ck_ok(halo_buffer_fulfil(x, four, NULL));
  halo_buffer_release(x);
  halo_client_release(client);
  ck_ok(halo_event_wait(ready));
  halo_event_release(ready);
}
END_TEST

/* ---- Failures ---- */

static void expect_failure(halo_buffer *buffer, halo_status status, const char *part) {
  float back[4];
  halo_event *event = ready_of(buffer);
  for (int i = 0; i < 2; i++) ck_fails(halo_event_wait(event), status, part);
  ck_assert(halo_event_is_ready(event));
  halo_event_release(event);
  ck_fails(halo_buffer_to_host(buffer, back, sizeof back), status, part);
  ck_ok(halo_buffer_to_host_async(buffer, back, sizeof back, &event));
  ck_fails(halo_event_wait(event), status, part);
  halo_event_release(event);
}

/* What depends on a failure fails with it, before and after it is known; nothing else does. */
START_TEST(failure_travels) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, RUN_ADD);
  halo_buffer *bad = promised(client), *good = run_buffer(client, 4, four);
  halo_buffer *mixed[] = {good, bad}, *fine[] = {good, good}, *a, *b, *c, *d, *copy;
  ck_ok(halo_executable_execute(e, mixed, 2, NULL, &a));
  halo_buffer *further[] = {a, good};
  ck_ok(halo_executable_execute(e, further, 2, NULL, &b));
  ck_ok(halo_executable_execute(e, fine, 2, NULL, &c));
  ck_ok(halo_buffer_copy_to_device(b, halo_client_device(client, 0), &copy));
  ck_ok(halo_buffer_fail(bad, HALO_DEADLINE_EXCEEDED, "the peer is gone"));
  expect_failure(bad, HALO_DEADLINE_EXCEEDED, "the peer is gone");
  expect_failure(a, HALO_DEADLINE_EXCEEDED, "the peer is gone");
  expect_failure(b, HALO_DEADLINE_EXCEEDED, "the peer is gone");
  expect_failure(copy, HALO_DEADLINE_EXCEEDED, "the peer is gone");
  run_check(c, "{2, 4, 6, 8}");
  ck_ok(halo_executable_execute(e, further, 2, NULL, &d));
  expect_failure(d, HALO_DEADLINE_EXCEEDED, "the peer is gone");
  halo_buffer_release(d);
  ck_ok(halo_executable_execute(e, fine, 2, NULL, &d));
  run_check(d, "{2, 4, 6, 8}");
  halo_buffer *all[] = {bad, good, a, b, c, d, copy};
  for (int i = 0; i < 7; i++) halo_buffer_release(all[i]);
  halo_executable_release(e);
  ck_assert_uint_eq(live_of(client), 0);
  halo_client_release(client);
}
END_TEST

START_TEST(promise_let_go) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, twice_text);
  halo_buffer *x = promised(client), *y = execute1(e, x), *z;
  halo_buffer_release(x);
  expect_failure(y, HALO_FAILED_PRECONDITION, "without a value");
  halo_event *promise;
  ck_ok(halo_promise_create(client, &promise));
  x = run_buffer(client, 4, four);
  ck_ok(halo_executable_execute(e, &x, 1,
                                &(halo_execute_options){.after = &promise, .after_count = 1}, &z));
  halo_event_release(promise);
  expect_failure(z, HALO_FAILED_PRECONDITION, "without being kept");
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_buffer_release(z);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* A chain as long as nobody waits: no recursion in its end or in its release. */
START_TEST(long_chain) {
  enum { LENGTH = 20000 };
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, twice_text);
  for (int way = 0; way < 3; way++) {
    halo_buffer *x = way == 1 ? run_buffer(client, 4, four) : promised(client), *first = x;
    halo_buffer_retain(first);
    for (int i = 0; i < (way == 1 ? LENGTH : LENGTH / 10); i++) {
      halo_buffer *y = execute1(e, x);
      halo_buffer_release(x);
      x = y;
    }
    if (way == 0) ck_ok(halo_buffer_fulfil(first, four, NULL));
    if (way == 2) ck_ok(halo_buffer_fail(first, HALO_INTERNAL, "first"));
    if (way == 2) expect_failure(x, HALO_INTERNAL, "first");
    if (way == 0) run_check(x, "{inf, inf, inf, inf}");
    halo_buffer_release(first);
    halo_buffer_release(x);
  }
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- Loops that need the host ---- */

static void expect_until(halo_buffer **results, float value, int32_t rounds) {
  float y;
  int32_t n;
  ck_ok(halo_buffer_to_host(results[0], &y, sizeof y));
  ck_ok(halo_buffer_to_host(results[1], &n, sizeof n));
  ck_assert_float_eq(y, value);
  ck_assert_int_eq(n, rounds);
}

START_TEST(host_loop) {
  enum { RUNS = 12 };
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, until_text);
  halo_buffer *limit = scalar(client, 1000), *x[RUNS], *results[RUNS][3];
  /* All are in progress at once, of one executable. */
  for (int i = 0; i < RUNS; i++) {
    x[i] = scalar(client, (float)(i + 1));
    halo_buffer *arguments[] = {x[i], limit};
    ck_ok(halo_executable_execute(e, arguments, 2, NULL, results[i]));
  }
  for (int i = 0; i < RUNS; i++) {
    float y = (float)(i + 1);
    int32_t n = 0;
    for (; y < 1000; n++) y *= 2;
    expect_until(results[i], y, n);
    halo_buffer_release(x[i]);
    for (int r = 0; r < 3; r++) halo_buffer_release(results[i][r]);
  }
  halo_buffer_release(limit);
  halo_executable_release(e);
  ck_assert_uint_eq(live_of(client), 0);
  halo_client_release(client);
}
END_TEST

/* The caller has its results before the loop has ended: it counts the reads that the loop makes. */
START_TEST(host_loop_returns_at_once) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, until_text);
  halo_buffer *arguments[] = {promised_scalar(client), scalar(client, 1e30f)}, *results[3];
  const float one = 1;
  ck_ok(halo_executable_execute(e, arguments, 2, NULL, results));
  ck_assert_int_eq(atomic_load(&fault_calls[FAULT_READ]), 0);
  ck_ok(halo_buffer_fulfil(arguments[0], &one, NULL));
  expect_until(results, 1.2676506e30f, 100);
  ck_assert_int_ge(atomic_load(&fault_calls[FAULT_READ]), 101);
  for (int i = 0; i < 2; i++) halo_buffer_release(arguments[i]);
  for (int i = 0; i < 3; i++) halo_buffer_release(results[i]);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* A failure in the middle of the loop is the results', and goes on from there; the client is fine. */
START_TEST(host_loop_fails) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, until_text);
  halo_buffer *arguments[] = {scalar(client, 1), scalar(client, 1000)}, *results[3], *again[3];
  fault_after(FAULT_READ, 4);
  ck_ok(halo_executable_execute(e, arguments, 2, NULL, results));
  halo_buffer *next[] = {results[0], arguments[1]};
  ck_ok(halo_executable_execute(e, next, 2, NULL, again));
  halo_event *ready = ready_of(results[0]);
  ck_fails(halo_event_wait(ready), HALO_DEVICE_ERROR, "reading a loop's condition");
  halo_event_release(ready);
  float back;
  ck_fails(halo_buffer_to_host(again[1], &back, sizeof back), HALO_DEVICE_ERROR, "condition");
  for (int i = 0; i < 3; i++) {
    halo_buffer_release(results[i]);
    halo_buffer_release(again[i]);
  }
  ck_ok(halo_executable_execute(e, arguments, 2, NULL, results));
  expect_until(results, 1024, 10);
  for (int i = 0; i < 3; i++) halo_buffer_release(results[i]);
  for (int i = 0; i < 2; i++) halo_buffer_release(arguments[i]);
  halo_executable_release(e);
  ck_assert_uint_eq(live_of(client), 0);
  halo_client_release(client);
}
END_TEST

/* ---- Callbacks ---- */

typedef struct note {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int calls;
  halo_status status;
  char message[100];
  halo_executable *executable; /* what the callback runs, with these */
  halo_buffer *argument, *result;
} note;

static void take_note(halo_status status, const char *message, void *data) {
  note *n = data;
  halo_buffer *result = NULL;
  if (n->executable) {
    (void)!halo_executable_execute(n->executable, &n->argument, 1, NULL, &result);
  }
  pthread_mutex_lock(&n->lock);
  n->calls++;
  n->status = status;
  n->result = result;
  snprintf(n->message, sizeof n->message, "%s", message);
  pthread_cond_broadcast(&n->changed);
  pthread_mutex_unlock(&n->lock);
}

static void wait_for_calls(note *n, int calls) {
  pthread_mutex_lock(&n->lock);
  while (n->calls < calls) pthread_cond_wait(&n->changed, &n->lock);
  pthread_mutex_unlock(&n->lock);
}

START_TEST(callbacks) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, twice_text);
  note n = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
  halo_buffer *x = promised(client), *y = execute1(e, x);
  halo_event *ready = ready_of(y);
  ck_ok(halo_event_on_ready(ready, take_note, &n));
  ck_ok(halo_event_on_ready(ready, take_note, &n));
  halo_event_release(ready);
  ck_assert_int_eq(n.calls, 0);
  ck_ok(halo_buffer_fulfil(x, four, NULL));
  wait_for_calls(&n, 2);
  ck_assert_int_eq(n.status, HALO_OK);
  ck_assert_str_eq(n.message, "");
  /* At once when it has happened; it may use the library. */
  n.executable = e;
  n.argument = y;
  ready = ready_of(y);
  ck_ok(halo_event_on_ready(ready, take_note, &n));
  ck_assert_int_eq(n.calls, 3);
  run_check(n.result, "{4, 8, 12, 16}");
  halo_buffer_release(n.result);
  halo_event_release(ready);
  ck_fails(halo_event_on_ready(NULL, take_note, &n), HALO_INVALID_ARGUMENT, "NULL");
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* A run that is queued on the device calls back though nobody waits or asks. */
START_TEST(callback_of_device) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, until_text);
  note n = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
  for (int i = 0; i < 20; i++) {
    halo_buffer *arguments[] = {scalar(client, 1), scalar(client, 1000)}, *results[3];
    if (i == 19) fault_after(FAULT_READ, 2);
    ck_ok(halo_executable_execute(e, arguments, 2, NULL, results));
    halo_event *ready = ready_of(results[1]);
    ck_ok(halo_event_on_ready(ready, take_note, &n));
    halo_event_release(ready);
    for (int k = 0; k < 2; k++) halo_buffer_release(arguments[k]);
    for (int k = 0; k < 3; k++) halo_buffer_release(results[k]);
    wait_for_calls(&n, i + 1);
    ck_assert_int_eq(n.status, i == 19 ? HALO_DEVICE_ERROR : HALO_OK);
  }
  ck_assert_ptr_nonnull(strstr(n.message, "condition"));
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* The callback has the last reference to everything, and gives it back. */
typedef struct last_reference {
  atomic_bool others_gone, done;
  halo_event *event;
} last_reference;

static void release_last(halo_status status, const char *message, void *data) {
  last_reference *last = data;
  (void)status;
  (void)message;
  while (!atomic_load(&last->others_gone)) usleep(100);
  halo_event_release(last->event);
  atomic_store(&last->done, true);
}

START_TEST(callback_releases_all) {
  for (int fails = 0; fails < 2; fails++) {
    halo_client *client = run_client(NULL);
    halo_executable *e = run_compile(client, twice_text);
    halo_buffer *x = promised(client), *y = execute1(e, x);
    last_reference last = {.event = ready_of(y)};
    ck_ok(halo_event_on_ready(last.event, release_last, &last));
    halo_buffer_release(y);
    halo_executable_release(e);
    halo_client_release(client);
    if (fails) {
      ck_ok(halo_buffer_fail(x, HALO_INTERNAL, "wanted"));
    } else {
      ck_ok(halo_buffer_fulfil(x, four, NULL));
    }
    halo_buffer_release(x);
    atomic_store(&last.others_gone, true);
    while (!atomic_load(&last.done)) usleep(100);
  }
}
END_TEST

/* ---- Two that meet ---- */

/* Two runs of one executable, each of which can only begin when the other's results are there or its
 * promise is kept, from two threads: nobody holds what the other needs. */
static void *meet(void *data) {
  note *n = data;
  float back[4];
  halo_buffer *mine = n->argument;
  ck_ok(halo_executable_execute(n->executable, &mine, 1, NULL, &n->result));
  if (halo_buffer_to_host(n->result, back, sizeof back) == HALO_OK && back[3] == 8) n->calls = 1;
  return NULL;
}

START_TEST(meeting) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, twice_text);
  note notes[2] = {{.executable = e, .argument = promised(client)},
                   {.executable = e, .argument = promised(client)}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, meet, &notes[i]);
  usleep(20000);
  for (int i = 1; i >= 0; i--) ck_ok(halo_buffer_fulfil(notes[i].argument, four, NULL));
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_int_eq(notes[i].calls, 1);
    halo_buffer_release(notes[i].argument);
    halo_buffer_release(notes[i].result);
  }
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

int main(void) {
  /* Loops ask the host in each round here, as those of much work do. */
  setenv("HALO_KERNELS", "region:steps,bundle:steps", 1);
  Suite *suite = suite_create("async");
  TCase *promises = tcase_create("promises"), *failures = tcase_create("failures");
  TCase *loops = tcase_create("loops"), *calls = tcase_create("callbacks");
  tcase_add_test(promises, promised_argument);
  tcase_add_test(promises, promised_and_donated);
  tcase_add_test(promises, pending_results_are_used);
  tcase_add_test(promises, promised_events);
  tcase_add_test(promises, released_before_it_runs);
  tcase_add_test(promises, meeting);
  tcase_add_test(failures, failure_travels);
  tcase_add_test(failures, promise_let_go);
  tcase_add_test(failures, long_chain);
  tcase_add_test(loops, host_loop);
  tcase_add_test(loops, host_loop_returns_at_once);
  tcase_add_test(loops, host_loop_fails);
  tcase_add_test(calls, callbacks);
  tcase_add_test(calls, callback_of_device);
  tcase_add_test(calls, callback_releases_all);
  TCase *cases[] = {promises, failures, loops, calls};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tcase_set_timeout(cases[i], 120);
    suite_add_tcase(suite, cases[i]);
  }
  return suite_run(suite);
}

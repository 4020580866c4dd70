/* tests/unit/test_here.c: small programs that are done in the caller's thread, between and beside others: where PoCL
 * offers its driver "basic" beside that with threads. Elsewhere they are run as all others, and have the same results. */
#include "run_test.h"
#include "suite.h"

#include <pthread.h>

enum { COUNT = 1 << 18, ROUNDS = 16, THREADS = 3 };

/* Much work on an array of which element 0 stays what it is, plus the scalar. */
static const char large_text[] =
    "HloModule large\nENTRY e {\n  x = f32[262144] parameter(0)\n  k = f32[] parameter(1)\n"
    "  s = f32[262144] sine(x)\n  t = f32[262144] cosine(s)\n  u = f32[262144] exponential(t)\n"
    "  v = f32[262144] multiply(u, u)\n  z = f32[262144] subtract(v, v)\n"
    "  b = f32[262144] broadcast(k), dimensions={}\n  w = f32[262144] add(x, b)\n"
    "  ROOT r = f32[262144] add(w, z)\n}\n";
/* Its first element. */
static const char small_text[] =
    "HloModule small\nENTRY e {\n  x = f32[262144] parameter(0)\n"
    "  s = f32[1] slice(x), slice={[0:1]}\n  t = f32[] reshape(s)\n  one = f32[] constant(1)\n"
    "  ROOT r = f32[] multiply(t, one)\n}\n";

/* Whether the device of the client has a driver of that kind beside it. */
static bool is_pocl(halo_client *client) {
  halo_device_info info;
  halo_device_get_info(halo_client_device(client, 0), &info);
  return strncmp(info.name, "pthread-", 8) == 0;
}

static bool is_ready(halo_buffer *buffer) {
  halo_event *event;
  ck_ok(halo_buffer_ready_event(buffer, &event));
  bool ready = halo_event_is_ready(event);
  halo_event_release(event);
  return ready;
}

static halo_buffer *ones(halo_client *client) {
  float *values = malloc(sizeof *values * COUNT);
  for (int i = 0; i < COUNT; i++) values[i] = 1;
  halo_buffer *buffer = run_buffer(client, COUNT, values);
  free(values);
  return buffer;
}

static halo_buffer *execute(halo_executable *e, halo_buffer **arguments, int count) {
  halo_buffer *result;
  ck_ok(halo_executable_execute(e, arguments, count, NULL, &result));
  return result;
}

START_TEST(at_once) {
  halo_client *client = run_client(NULL);
  halo_executable *small = run_compile(client, small_text);
  halo_buffer *x = ones(client);
  for (int i = 0; i < ROUNDS; i++) {
    halo_buffer *y = execute(small, &x, 1);
    if (is_pocl(client)) ck_assert(is_ready(y));
    run_check(y, "1");
    halo_buffer_release(y);
  }
  halo_buffer_release(x);
  halo_executable_release(small);
  halo_client_release(client);
}
END_TEST

/* Large and small ones need each other's results, and nobody waits before the end; each large one takes memory
 * that others gave back. */
static float take_turns(halo_client *client, halo_executable *large, halo_executable *small) {
  halo_buffer *x = ones(client);
  for (int i = 0; i < ROUNDS; i++) {
    halo_buffer *k = execute(small, &x, 1);
    halo_buffer *y = execute(large, (halo_buffer *[]){x, k}, 2);
    halo_buffer_release(x);
    halo_buffer *l = execute(small, &y, 1);
    x = execute(large, (halo_buffer *[]){y, l}, 2);
    halo_buffer_release(y);
    halo_buffer_release(k);
    halo_buffer_release(l);
    if (i % 4 < 3) continue;
    /* 2 ** 8 times as much by now: once more from the start. */
    float back;
    halo_buffer *last = execute(small, &x, 1);
    ck_ok(halo_buffer_to_host(last, &back, sizeof back));
    halo_buffer_release(last);
    halo_buffer_release(x);
    if (back != 256) return back;
    x = ones(client);
  }
  halo_buffer_release(x);
  return 256;
}

START_TEST(in_turns) {
  halo_client *client = run_client(NULL);
  halo_executable *large = run_compile(client, large_text);
  halo_executable *small = run_compile(client, small_text);
  ck_assert_float_eq(take_turns(client, large, small), 256);
  halo_executable_release(small);
  halo_executable_release(large);
  halo_client_release(client);
}
END_TEST

typedef struct turns {
  halo_client *client;
  halo_executable *large, *small;
  float result;
} turns;

static void *turns_run(void *data) {
  turns *t = data;
  t->result = take_turns(t->client, t->large, t->small);
  return NULL;
}

START_TEST(in_threads) {
  turns one = {.client = run_client(NULL)}, all[THREADS];
  one.large = run_compile(one.client, large_text);
  one.small = run_compile(one.client, small_text);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    all[i] = one;
    ck_assert_int_eq(pthread_create(&threads[i], NULL, turns_run, &all[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_float_eq(all[i].result, 256);
  }
  halo_executable_release(one.small);
  halo_executable_release(one.large);
  halo_client_release(one.client);
}
END_TEST

int main(void) {
  setenv("POCL_DEVICES", "pthread basic", 1);
  Suite *suite = suite_create("here");
  TCase *cases = tcase_create("here");
  tcase_add_test(cases, at_once);
  tcase_add_test(cases, in_turns);
  tcase_add_test(cases, in_threads);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}

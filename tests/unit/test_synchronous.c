/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_synchronous.c: small programs that are done in the caller's thread, between and beside others: where PoCL
 * offers its driver for that beside the one with threads. Elsewhere they are run as all others, and have the same results;
 * so they have where that driver is the only one (POCL_DEVICES=basic, which all versions take). */
#include "client/client.h"
#include "halo/custom_call.h"
#include "run_test.h"
#include "suite.h"

#include "base/memory.h"
#include "opencl/pocl.h"
#include "opencl/private.h"

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

/* Whether the device of the client has such a driver beside it. */
static bool has_here(halo_client *client) {
  const halo_cl_device *device = halo_client_device(client, 0)->cl;
  if (!device->sync_queue)
    printf("%s: no driver for the caller's thread beside it\n", device->caps.name);
  return device->sync_queue;
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
  bool here = has_here(client);
  for (int i = 0; i < ROUNDS; i++) {
    halo_buffer *y = execute(small, &x, 1);
    if (here) ck_assert(is_ready(y));
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

static turns turns_open(void) {
  turns t = {.client = run_client(NULL)};
  t.large = run_compile(t.client, large_text);
  t.small = run_compile(t.client, small_text);
  return t;
}

static void turns_close(turns *t) {
  halo_executable_release(t->small);
  halo_executable_release(t->large);
  halo_client_release(t->client);
}

static void turns_in_threads(turns *all, int count) {
  pthread_t threads[THREADS];
  for (int i = 0; i < count; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, turns_run, &all[i]), 0);
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < count; i++) ck_assert_float_eq(all[i].result, 256);
}

START_TEST(in_threads) {
  turns one = turns_open(), all[THREADS];
  for (int i = 0; i < THREADS; i++) all[i] = one;
  turns_in_threads(all, THREADS);
  turns_close(&one);
}
END_TEST

/* What clients do not share, the driver does. */
START_TEST(in_threads_of_clients) {
  turns all[THREADS];
  for (int i = 0; i < THREADS; i++) all[i] = turns_open();
  turns_in_threads(all, THREADS);
  for (int i = 0; i < THREADS; i++) turns_close(&all[i]);
}
END_TEST

/* Roots of the diagonal, from 256 on until they are less than 2.5: 16, 4, 2. */
static const char roots_text[] =
    "HloModule roots\n"
    "above { x = f32[2,2] parameter(0)  s = f32[1,1] slice(x), slice={[0:1], [0:1]}\n"
    "  t = f32[] reshape(s)  c = f32[] constant(2.5)\n"
    "  ROOT r = pred[] compare(t, c), direction=GT }\n"
    "round { x = f32[2,2] parameter(0)\n"
    "  c = (f32[2,2], s32[]) custom-call(x), custom_call_target=\"lapack_spotrf_ffi\",\n"
    "    api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}\n"
    "  ROOT r = f32[2,2] get-tuple-element(c), index=0 }\n"
    "ENTRY e {\n"
    "  x = f32[4] parameter(0)\n"
    "  y = f32[2,2] reshape(x)\n"
    "  w = f32[2,2] while(y), condition=above, body=round\n"
    "  ROOT r = f32[4] reshape(w)\n"
    "}\n";

/* What LAPACK computes of a few numbers takes less than waking another thread for it, loops included. */
START_TEST(with_lapack) {
  if (!halo_custom_call_find("lapack_spotrf_ffi")) return;
  halo_client *client = run_client(NULL);
  halo_executable *roots = run_compile(client, roots_text);
  halo_buffer *x = run_buffer(client, 4, (float[]){256, 0, 0, 256});
  bool here = has_here(client);
  for (int i = 0; i < ROUNDS; i++) {
    halo_buffer *y = execute(roots, &x, 1);
    if (here) ck_assert(is_ready(y));
    run_check(y, "{2, 0, 0, 2}");
    halo_buffer_release(y);
  }
  halo_buffer_release(x);
  halo_executable_release(roots);
  halo_client_release(client);
}
END_TEST

static halo_status note_thread(const halo_custom_frame *call, void *user) {
  *(pthread_t *)user = pthread_self();
  memcpy(call->results[0].data, call->operands[0].data, call->results[0].bytes);
  return HALO_OK;
}

/* Nobody knows for what functions of others wait: never in the caller's thread. */
START_TEST(not_with_others) {
  pthread_t thread = pthread_self();
  ck_ok(halo_custom_call_register_host("here.note", note_thread, &thread));
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client,
                                   "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
                                   "  ROOT r = f32[4] custom-call(x), "
                                   "custom_call_target=\"here.note\"\n}\n");
  halo_buffer *x = run_buffer(client, 4, (float[]){1, 2, 3, 4});
  halo_buffer *y = execute(e, &x, 1);
  run_check(y, "{1, 2, 3, 4}");
  ck_assert(!pthread_equal(thread, pthread_self()));
  halo_buffer_release(y);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Names that PoCL gives: with and without the processor's. */
START_TEST(names) {
  static const struct {
    const char *here, *threads;
    bool fits;
  } cases[] = {
      {"basic-haswell-Intel(R) Core(TM)", "pthread-haswell-Intel(R) Core(TM)", true},
      {"basic-haswell-one", "pthread-haswell-other", false},
      {"basic", "pthread", true},
      {"basic-x", "pthread", false},
      {"pthread-x", "basic-x", false},
      {"cpu-minimal-znver4-AMD EPYC", "cpu-znver4-AMD EPYC", true},
      {"cpu-minimal-znver4-AMD EPYC", "cpu-minimal-znver4-AMD EPYC", false},
      {"cpu-znver4-AMD EPYC", "cpu-znver4-AMD EPYC", false},
      {"cpu-minimal", "cpu", true},
      {"cpu", "cpu-minimal", false},
      {"basic-x", "cpu-x", false},
      {"basically-x", "pthread-x", false},
      {"cpu-minimal-x", "cpus-x", false},
      {"", "", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool fits = halo_cl_is_synchronous_of(cases[i].here, cases[i].threads);
    ck_assert_msg(fits == cases[i].fits, "%s, %s", cases[i].here, cases[i].threads);
  }
  halo_caps caps = {.name = "cpu-minimal", .platform = "Portable Computing Language"};
  ck_assert(halo_cl_is_synchronous(&caps));
  strcpy(caps.platform, "Intel(R) OpenCL");
  ck_assert(!halo_cl_is_synchronous(&caps));
  caps = (halo_caps){.name = "cpu-haswell", .platform = "Portable Computing Language"};
  ck_assert(!halo_cl_is_synchronous(&caps));
}
END_TEST

/* One that has a device with threads beside it is none of its own, and so not the default. */
START_TEST(not_listed) {
  halo_cl_listing *list;
  int count, alone = 0, threads = 0;
  ck_assert_int_eq(halo_cl_enumerate(NULL, &list, &count), HALO_OK);
  for (int i = 0; i < count; i++) {
    bool here = halo_cl_is_synchronous(&list[i].caps);
    alone += here;
    threads += !here && list[i].caps.is_cpu && halo_pocl_is(&list[i].caps);
  }
  halo_free(list);
  ck_assert(!alone || !threads);
}
END_TEST

int main(void) {
  setenv("POCL_DEVICES", "pthread basic", 0);
  Suite *suite = suite_create("here");
  TCase *cases = tcase_create("here");
  tcase_add_test(cases, names);
  tcase_add_test(cases, not_listed);
  tcase_add_test(cases, at_once);
  tcase_add_test(cases, in_turns);
  tcase_add_test(cases, in_threads);
  tcase_add_test(cases, in_threads_of_clients);
  tcase_add_test(cases, with_lapack);
  tcase_add_test(cases, not_with_others);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}

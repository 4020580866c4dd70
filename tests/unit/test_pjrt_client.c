/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_client.c: a client that plays what jaxlib calls, in its order, from several threads that share
 * everything; and that nothing is left of what is over, however often it is done.
 *
 *   test_pjrt_client [RUNS [COMPILATIONS]]
 *
 * The long form is 10000 500. `tools/dev tsan pjrt_client` runs it under ThreadSanitizer. */
#include "pjrt_test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4 };
static int run_count = 400, compile_count = 12;

/* ---- What happened ---- */

/* Counts callbacks, which come from any thread. */
typedef struct tally {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int pending, failed;
} tally;

#define TALLY                                                                                      \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 }

typedef struct listener {
  tally *to;
  PJRT_Event *event;
} listener;

static void tally_ready(PJRT_Error *error, void *user) {
  listener *l = user;
  bool failed = error != NULL;
  if (error) pjrt_destroy_error(error);
  ck_call(api->Event_Destroy(ARGS(Event_Destroy, .event = l->event)));
  pthread_mutex_lock(&l->to->lock);
  l->to->pending--;
  l->to->failed += failed;
  pthread_cond_broadcast(&l->to->changed);
  pthread_mutex_unlock(&l->to->lock);
  free(l);
}

/* The event is destroyed from inside its callback, as jaxlib does it. */
static void tally_add(tally *to, PJRT_Event *event) {
  listener *l = malloc(sizeof *l);
  *l = (listener){to, event};
  pthread_mutex_lock(&to->lock);
  to->pending++;
  pthread_mutex_unlock(&to->lock);
  ck_call(api->Event_OnReady(
      ARGS(Event_OnReady, .event = event, .callback = tally_ready, .user_arg = l)));
}

static int tally_wait(tally *to) {
  pthread_mutex_lock(&to->lock);
  while (to->pending) pthread_cond_wait(&to->changed, &to->lock);
  int failed = to->failed;
  pthread_mutex_unlock(&to->lock);
  return failed;
}

/* ---- The sequences of jaxlib ---- */

static PJRT_Buffer *play_put(PJRT_Memory *memory, const float *data, int64_t count, tally *done) {
  const int64_t strides[] = {sizeof *data};
  PJRT_Client_BufferFromHostBuffer_Args *args =
      ARGS(Client_BufferFromHostBuffer, .data = data, .type = PJRT_Buffer_Type_F32, .dims = &count,
           .num_dims = 1, .byte_strides = strides, .num_byte_strides = 1, .memory = memory,
           .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy);
  ck_call(api->Client_BufferFromHostBuffer(args));
  tally_add(done, args->done_with_host_buffer);
  return args->buffer;
}

static void play_questions(PJRT_Buffer *buffer) {
  PJRT_Buffer_Device_Args *device = ARGS(Buffer_Device, .buffer = buffer);
  PJRT_Buffer_Memory_Args *memory = ARGS(Buffer_Memory, .buffer = buffer);
  ck_call(api->Buffer_Device(device));
  ck_call(api->Buffer_Memory(memory));
  ck_call(api->Memory_Kind(ARGS(Memory_Kind, .memory = memory->memory)));
  ck_assert(!pjrt_is_deleted(buffer));
}

static PJRT_Buffer *play_run(PJRT_LoadedExecutable *loaded, PJRT_Buffer **arguments, tally *done) {
  PJRT_Buffer *result;
  PJRT_Event *complete;
  ck_call(pjrt_try_run(loaded, arguments, 2, &result, &complete, NULL));
  tally_add(done, complete);
  play_questions(result);
  return result;
}

/* np.asarray: where the host sees it, or a copy. */
static float play_last(PJRT_Buffer *buffer, int64_t count) {
  PJRT_Buffer_IsOnCpu_Args *seen = ARGS(Buffer_IsOnCpu, .buffer = buffer);
  PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent, .buffer = buffer);
  ck_call(api->Buffer_ReadyEvent(ready));
  ck_call(pjrt_await(ready->event));
  ck_call(api->Buffer_IsOnCpu(seen));
  if (seen->is_on_cpu) {
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *where =
        ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer);
    ck_call(api->Buffer_IncreaseExternalReferenceCount(
        ARGS(Buffer_IncreaseExternalReferenceCount, .buffer = buffer)));
    ck_call(api->Buffer_OpaqueDeviceMemoryDataPointer(where));
    float last = ((const float *)where->device_memory_ptr)[count - 1];
    ck_call(api->Buffer_DecreaseExternalReferenceCount(
        ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = buffer)));
    return last;
  }
  float *copy = malloc(sizeof *copy * (size_t)count);
  pjrt_get(buffer, copy, sizeof *copy * (size_t)count);
  float last = copy[count - 1];
  free(copy);
  return last;
}

/* All that is asked of a new executable. */
static void play_describe(PJRT_LoadedExecutable *loaded) {
  PJRT_Executable *e = pjrt_executable(loaded);
  ck_call(api->LoadedExecutable_AddressableDevices(
      ARGS(LoadedExecutable_AddressableDevices, .executable = loaded)));
  PJRT_LoadedExecutable_GetDeviceAssignment_Args *assignment =
      ARGS(LoadedExecutable_GetDeviceAssignment, .executable = loaded);
  ck_call(api->LoadedExecutable_GetDeviceAssignment(assignment));
  assignment->serialized_device_assignment_deleter(assignment->serialized_device_assignment);
  ck_call(api->Executable_OutputMemoryKinds(ARGS(Executable_OutputMemoryKinds, .executable = e)));
  ck_call(api->Executable_Fingerprint(ARGS(Executable_Fingerprint, .executable = e)));
  ck_call(api->Executable_GetCostAnalysis(ARGS(Executable_GetCostAnalysis, .executable = e)));
  pjrt_drop_executable(e);
}

/* x + y and, with the number, a program that nobody compiled before. */
static PJRT_LoadedExecutable *play_compile(PJRT_Client *client, int64_t count, int number,
                                           bool donate) {
  char text[512];
  snprintf(text, sizeof text,
           "HloModule add%s\nENTRY e {\n  x = f32[%lld] parameter(0)\n"
           "  y = f32[%lld] parameter(1)\n  s = f32[%lld] add(x, y)\n  c = f32[] constant(%d)\n"
           "  b = f32[%lld] broadcast(c), dimensions={}\n  ROOT r = f32[%lld] add(s, b)\n}\n",
           donate ? ", input_output_alias={ {}: (0, {}, may-alias) }" : "", (long long)count,
           (long long)count, (long long)count, number, (long long)count, (long long)count);
  PJRT_LoadedExecutable *loaded = pjrt_compile(client, text);
  play_describe(loaded);
  return loaded;
}

/* ---- What threads share ---- */

enum { SMALL = 256, LARGE = 1 << 15 };

typedef struct shared {
  PJRT_Client *client;
  PJRT_LoadedExecutable *small, *large, *donating;
  PJRT_Buffer *x_small, *x_large;
  _Alignas(64) float data[LARGE]; /* lent, where it is large */
  atomic_int next;                /* rounds that were taken */
  atomic_int program;             /* numbers of programs */
  int compilations;               /* of all rounds */
} shared;

static void shared_open(shared *s) {
  s->client = pjrt_client("cpu");
  s->small = play_compile(s->client, SMALL, 0, false);
  s->large = play_compile(s->client, LARGE, 0, false);
  s->donating = play_compile(s->client, SMALL, 0, true);
  for (int i = 0; i < LARGE; i++) s->data[i] = (float)i;
  s->x_small = pjrt_put_floats(pjrt_memory(s->client, 0), s->data, SMALL);
  s->x_large = pjrt_put_floats(pjrt_memory(s->client, 0), s->data, LARGE);
}

static void shared_close(shared *s) {
  pjrt_drop(s->x_small);
  pjrt_drop(s->x_large);
  pjrt_drop_loaded(s->small);
  pjrt_drop_loaded(s->large);
  pjrt_drop_loaded(s->donating);
  pjrt_close(s->client);
}

/* Put, run twice one behind the other, read, drop; large arrays now and then. */
static void round_of_runs(shared *s, int round) {
  tally done = TALLY;
  bool large = round % 8 == 0;
  int64_t count = large ? LARGE : SMALL;
  PJRT_LoadedExecutable *program = large ? s->large : s->small;
  PJRT_Buffer *x = large ? s->x_large : s->x_small;
  PJRT_Buffer *y = play_put(pjrt_memory(s->client, 0), s->data, count, &done);
  PJRT_Buffer *first[] = {x, y}, *sum = play_run(program, first, &done);
  PJRT_Buffer *second[] = {sum, x}, *more = play_run(program, second, &done);
  ck_assert_float_eq(play_last(more, count), 3 * (float)(count - 1));
  PJRT_Buffer *all[] = {y, sum, more};
  for (int i = 0; i < 3; i++) {
    ck_call(api->Buffer_Delete(ARGS(Buffer_Delete, .buffer = all[i])));
    pjrt_drop(all[i]);
  }
  ck_assert_int_eq(tally_wait(&done), 0);
}

/* A chain of donations, as of a training loop. */
static void round_of_donations(shared *s) {
  tally done = TALLY;
  PJRT_Buffer *state = play_put(pjrt_memory(s->client, 0), s->data, SMALL, &done);
  for (int i = 0; i < 4; i++) {
    PJRT_Buffer *arguments[] = {state, s->x_small};
    PJRT_Buffer *next = play_run(s->donating, arguments, &done);
    ck_assert(pjrt_is_deleted(state));
    pjrt_drop(state);
    state = next;
  }
  ck_assert_float_eq(play_last(state, SMALL), 5 * (SMALL - 1));
  pjrt_drop(state);
  ck_assert_int_eq(tally_wait(&done), 0);
}

/* A program of its own, from text or from the bytes of one. */
static void round_of_compiling(shared *s) {
  tally done = TALLY;
  int number = 1 + atomic_fetch_add(&s->program, 1);
  PJRT_LoadedExecutable *loaded = play_compile(s->client, SMALL, number, false);
  if (number % 4 == 0) {
    PJRT_Executable *e = pjrt_executable(loaded);
    PJRT_Executable_Serialize_Args *out = ARGS(Executable_Serialize, .executable = e);
    ck_call(api->Executable_Serialize(out));
    PJRT_Executable_DeserializeAndLoad_Args *in =
        ARGS(Executable_DeserializeAndLoad, .client = s->client,
             .serialized_executable = out->serialized_bytes,
             .serialized_executable_size = out->serialized_bytes_size);
    ck_call(api->Executable_DeserializeAndLoad(in));
    out->serialized_executable_deleter(out->serialized_executable);
    pjrt_drop_loaded(loaded);
    pjrt_drop_executable(e);
    loaded = in->loaded_executable;
  }
  PJRT_Buffer *both[] = {s->x_small, s->x_small}, *sum = play_run(loaded, both, &done);
  pjrt_drop_loaded(loaded);
  ck_assert_float_eq(play_last(sum, SMALL), 2 * (SMALL - 1) + (float)number);
  pjrt_drop(sum);
  ck_assert_int_eq(tally_wait(&done), 0);
}

/* Failures leave as little behind as what goes well. */
static void round_of_failures(shared *s) {
  const int64_t dims[] = {SMALL};
  PJRT_Client_CreateErrorBuffer_Args *make = ARGS(
      Client_CreateErrorBuffer, .client = s->client, .error_code = PJRT_Error_Code_INTERNAL,
      .error_message = "lost", .error_message_size = 4, .shape_dims = dims, .shape_num_dims = 1,
      .shape_element_type = PJRT_Buffer_Type_F32, .memory = pjrt_memory(s->client, 0));
  tally done = TALLY;
  ck_call(api->Client_CreateErrorBuffer(make));
  PJRT_Buffer *bad[] = {s->x_small, make->buffer}, *result = play_run(s->small, bad, &done);
  float out[SMALL];
  ck_refused(pjrt_try_get(result, out, sizeof out), INTERNAL, "lost");
  ck_assert_int_eq(tally_wait(&done), 1);
  pjrt_drop(result);
  pjrt_drop(make->buffer);
  PJRT_LoadedExecutable *none;
  ck_refused(pjrt_try_compile(s->client, "HloModule m\nENTRY e {\n  ROOT x = f32[2] frob()\n}\n",
                              NULL, 0, &none),
             INVALID_ARGUMENT, "frob");
}

static void *play(void *user) {
  shared *s = user;
  for (int round; (round = atomic_fetch_add(&s->next, 1)) < run_count;) {
    round_of_runs(s, round);
    if (round % 16 == 3) round_of_donations(s);
    if (round % 16 == 7) round_of_failures(s);
    /* Spread over the rounds. */
    int64_t before = (int64_t)round * s->compilations / run_count;
    int64_t after = (int64_t)(round + 1) * s->compilations / run_count;
    for (int64_t i = before; i < after; i++) round_of_compiling(s);
  }
  return NULL;
}

static void play_in_threads(shared *s, int compilations) {
  pthread_t threads[THREADS];
  atomic_store(&s->next, 0);
  s->compilations = compilations;
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, play, s);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static int64_t bytes_in_use(const shared *s) {
  PJRT_Device_MemoryStats_Args *stats =
      ARGS(Device_MemoryStats, .device = pjrt_device(s->client, 0));
  ck_call(api->Device_MemoryStats(stats));
  return stats->bytes_in_use;
}

START_TEST(threads_share) {
  static shared s;
  shared_open(&s);
  int64_t before = bytes_in_use(&s);
  play_in_threads(&s, compile_count);
  ck_assert_int_eq(bytes_in_use(&s), before);
  shared_close(&s);
}
END_TEST

/* ---- One array given to two runs ---- */

typedef struct giver {
  shared *s;
  PJRT_Buffer *state;
  pthread_barrier_t *start;
  bool got;
} giver;

static void *give(void *user) {
  giver *g = user;
  PJRT_Buffer *arguments[] = {g->state, g->s->x_small}, *result;
  pthread_barrier_wait(g->start);
  PJRT_Error *error = pjrt_try_run(g->s->donating, arguments, 2, &result, NULL, NULL);
  g->got = !error;
  if (error) {
    ck_assert_int_eq(pjrt_code(error), PJRT_Error_Code_INVALID_ARGUMENT);
    pjrt_destroy_error(error);
  } else {
    ck_assert_float_eq(play_last(result, SMALL), 2 * (SMALL - 1));
    pjrt_drop(result);
  }
  return NULL;
}

START_TEST(donated_twice) {
  static shared s;
  shared_open(&s);
  for (int round = 0; round < 50; round++) {
    pthread_barrier_t start;
    pthread_t threads[2];
    giver givers[2];
    PJRT_Buffer *state = pjrt_put_floats(pjrt_memory(s.client, 0), s.data, SMALL);
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) {
      givers[i] = (giver){.s = &s, .state = state, .start = &start};
      pthread_create(&threads[i], NULL, give, &givers[i]);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    ck_assert(givers[0].got != givers[1].got);
    ck_assert(pjrt_is_deleted(state));
    pthread_barrier_destroy(&start);
    pjrt_drop(state);
  }
  shared_close(&s);
}
END_TEST

/* ---- Memory ---- */

/* What is allocated, in KiB: what the C library keeps for later does not count. */
static long allocated(void) {
  struct mallinfo2 info = mallinfo2();
  return (long)((info.uordblks + info.hblkhd) / 1024);
}

/* What may be kept in any case, and of a program that nobody holds, in KiB. While a client lives it remembers programs,
 * of which PoCL keeps 50 bytes for each byte of source, more where it had to compile them: so what is left is counted
 * when the client is gone. */
enum { KEPT_AT_ALL = 6 << 10, KEPT_OF_PROGRAM = 64 };

START_TEST(nothing_is_left) {
  static shared s;
  shared_open(&s);
  play_in_threads(&s, 2);
  shared_close(&s);
  long start = allocated();
  shared_open(&s);
  play_in_threads(&s, 0);
  long first = allocated();
  play_in_threads(&s, 0);
  long runs = allocated() - first;
  play_in_threads(&s, compile_count);
  shared_close(&s);
  long left = allocated() - start;
  printf("%d rounds in %d threads: %+ld KiB; with %d compilations, when all is closed: %+ld KiB\n",
         run_count, THREADS, runs, compile_count, left);
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
  ck_assert_int_lt(runs, KEPT_AT_ALL);
  ck_assert_int_lt(left, KEPT_AT_ALL + KEPT_OF_PROGRAM * compile_count);
#endif
}
END_TEST

/* Clients come and go. */
START_TEST(clients) {
  for (int i = 0; i < 6; i++) {
    PJRT_Client *client = pjrt_client("cpu*2");
    PJRT_LoadedExecutable *add = play_compile(client, SMALL, 0, false);
    pjrt_drop_loaded(add);
    pjrt_close(client);
  }
}
END_TEST

int main(int argc, char **argv) {
  if (argc > 1) run_count = atoi(argv[1]);
  if (argc > 2) compile_count = atoi(argv[2]);
  Suite *suite = suite_create("pjrt_client");
  TCase *shared_ = tcase_create("shared");
  tcase_set_timeout(shared_, 7200);
  tcase_add_test(shared_, threads_share);
  tcase_add_test(shared_, donated_twice);
  tcase_add_test(shared_, nothing_is_left);
  tcase_add_test(shared_, clients);
  suite_add_tcase(suite, shared_);
  return suite_run(suite);
}

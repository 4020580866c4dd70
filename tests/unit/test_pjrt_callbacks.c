/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_callbacks.c: programs that call the host while they run: what they send and receive, and when
 * such runs are complete. */
#include "pjrt_test.h"

#include <pthread.h>

static const char ask_text[] =
    "HloModule ask\nENTRY e {\n  x = f32[4] parameter(0)\n  t = token[] after-all()\n"
    "  s = (f32[4], u32[], token[]) send(x, t), channel_id=5, is_host_transfer=true\n"
    "  sd = token[] send-done(s), channel_id=5, is_host_transfer=true\n"
    "  r = (f32[4], u32[], token[]) recv(sd), channel_id=6, is_host_transfer=true\n"
    "  rd = (f32[4], token[]) recv-done(r), channel_id=6, is_host_transfer=true\n"
    "  y = f32[4] get-tuple-element(rd), index=0\n  ROOT z = f32[4] add(x, y)\n}\n";

/* Waits in its turn for `gate`, if there is one. */
typedef struct host {
  float received[4];
  bool refuse;
  pthread_mutex_t *gate;
} host;

static PJRT_Error *host_send(PJRT_Chunk *chunk, PJRT_CallbackError *callback_error, size_t total,
                             bool done, void *user) {
  host *h = user;
  ck_assert_uint_eq(chunk->size, total);
  ck_assert(done);
  if (h->gate) {
    pthread_mutex_lock(h->gate);
    pthread_mutex_unlock(h->gate);
  }
  memcpy(h->received, chunk->data, sizeof h->received);
  chunk->deleter(chunk->data, chunk->deleter_arg);
  return h->refuse ? (*callback_error)(PJRT_Error_Code_INTERNAL, "no thanks", 9) : NULL;
}

static void host_keep(void *data, void *argument) {
  (void)data;
  (void)argument;
}

/* Gives twice what was received, in two pieces. */
static void host_receive(PJRT_CopyToDeviceStream *stream, void *user) {
  host *h = user;
  float twice[4];
  for (int i = 0; i < 4; i++) twice[i] = 2 * h->received[i];
  for (int piece = 0; piece < 2; piece++) {
    PJRT_Chunk chunk = {.data = twice + 2 * piece, .size = 8, .deleter = host_keep};
    PJRT_CopyToDeviceStream_AddChunk_Args *add =
        ARGS(CopyToDeviceStream_AddChunk, .stream = stream, .chunk = &chunk);
    ck_call(api->CopyToDeviceStream_AddChunk(add));
    ck_call(pjrt_await(add->transfer_complete));
  }
  ck_call(api->CopyToDeviceStream_Destroy(ARGS(CopyToDeviceStream_Destroy, .stream = stream)));
}

/* Starts a run whose callbacks get `h`. */
static PJRT_Error *ask(PJRT_LoadedExecutable *loaded, PJRT_Buffer *x, host *h, PJRT_Buffer **result,
                       PJRT_Event **complete) {
  PJRT_SendCallbackInfo send = {.channel_id = 5, .user_arg = h, .send_callback = host_send};
  PJRT_RecvCallbackInfo receive = {.channel_id = 6, .user_arg = h, .recv_callback = host_receive};
  PJRT_SendCallbackInfo *sends[] = {&send};
  PJRT_RecvCallbackInfo *receives[] = {&receive};
  PJRT_ExecuteOptions options = {.struct_size = sizeof options,
                                 .send_callbacks = sends,
                                 .recv_callbacks = receives,
                                 .num_send_ops = 1,
                                 .num_recv_ops = 1};
  return pjrt_try_run(loaded, &x, 1, result, complete, &options);
}

START_TEST(callbacks) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded = pjrt_compile(client, ask_text);
  host h = {0};
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *result;
  PJRT_Event *complete;
  ck_call(ask(loaded, x, &h, &result, &complete));
  ck_call(pjrt_await(complete));
  float out[4];
  pjrt_get(result, out, sizeof out);
  ck_assert_float_eq(out[3], 12);
  pjrt_drop(result);
  h.refuse = true;
  ck_call(ask(loaded, x, &h, &result, &complete));
  ck_refused(pjrt_await(complete), INTERNAL, "no thanks");
  pjrt_drop(result);
  pjrt_drop(x);
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

static PJRT_Error *wait_for(PJRT_Buffer *buffer) {
  PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent, .buffer = buffer);
  ck_call(api->Buffer_ReadyEvent(ready));
  return pjrt_await(ready->event);
}

static bool has_happened(PJRT_Event *event) {
  PJRT_Event_IsReady_Args *args = ARGS(Event_IsReady, .event = event);
  ck_call(api->Event_IsReady(args));
  return args->is_ready;
}

/* Frameworks wait for the newest run that calls the host, and mean all of them. */
START_TEST(completed_in_order) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded = pjrt_compile(client, ask_text);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, x};
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  host slow = {.gate = &gate}, quick = {0}, refused = {.refuse = true};
  host *hosts[] = {&slow, &quick, &refused};
  PJRT_Buffer *results[3];
  PJRT_Event *complete[3];
  pthread_mutex_lock(&gate);
  for (int i = 0; i < 3; i++) ck_call(ask(loaded, x, hosts[i], &results[i], &complete[i]));
  /* Values are there as soon as they are made, and runs without callbacks wait for nobody. */
  ck_call(wait_for(results[1]));
  ck_refused(wait_for(results[2]), INTERNAL, "no thanks");
  pjrt_drop(pjrt_run(add, both, 2));
  for (int i = 0; i < 3; i++) ck_assert(!has_happened(complete[i]));
  pthread_mutex_unlock(&gate);
  ck_refused(pjrt_await(complete[2]), INTERNAL, "no thanks");
  ck_assert_float_eq(slow.received[3], 4);
  ck_assert(has_happened(complete[0]) && has_happened(complete[1]));
  ck_call(pjrt_await(complete[0]));
  ck_call(pjrt_await(complete[1]));
  for (int i = 0; i < 3; i++) pjrt_drop(results[i]);
  pjrt_drop(x);
  pjrt_drop_loaded(add);
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_callbacks");
  TCase *tests = tcase_create("callbacks");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, callbacks);
  tcase_add_test(tests, completed_in_order);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

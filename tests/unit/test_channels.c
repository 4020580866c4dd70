/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_channels.c: infeed and outfeed queues, and channels to and from the host. */
#include "halo/builder.h"
#include "halo/channels.h"
#include "run_test.h"
#include "suite.h"

#include <pthread.h>
#include <unistd.h>

/* Takes three pairs in a loop, and hands the running sum out after each. */
static const char loop_text[] =
    "HloModule loop\n"
    "body {\n  t = (s32[], f32[3], token[]) parameter(0)\n  i = s32[] get-tuple-element(t), "
    "index=0\n"
    "  sum = f32[3] get-tuple-element(t), index=1\n  k = token[] get-tuple-element(t), index=2\n"
    "  in = ((f32[3], s32[]), token[]) infeed(k), infeed_config=\"x\"\n"
    "  pair = (f32[3], s32[]) get-tuple-element(in), index=0\n"
    "  l = token[] get-tuple-element(in), index=1\n"
    "  x = f32[3] get-tuple-element(pair), index=0\n  n = s32[] get-tuple-element(pair), index=1\n"
    "  more = f32[3] add(sum, x)\n  j = s32[] add(i, n)\n"
    "  m = token[] outfeed(more, l), outfeed_shape=f32[3]{0}\n"
    "  ROOT r = (s32[], f32[3], token[]) tuple(j, more, m)\n}\n"
    "cond {\n  t = (s32[], f32[3], token[]) parameter(0)\n"
    "  i = s32[] get-tuple-element(t), index=0\n  n = s32[] constant(3)\n"
    "  ROOT c = pred[] compare(i, n), direction=LT\n}\n"
    "ENTRY e {\n  i = s32[] constant(0)\n  x = f32[3] parameter(0)\n  k = token[] after-all()\n"
    "  t = (s32[], f32[3], token[]) tuple(i, x, k)\n"
    "  w = (s32[], f32[3], token[]) while(t), condition=cond, body=body\n"
    "  ROOT r = f32[3] get-tuple-element(w), index=1\n}\n";

static const char channel_text[] =
    "HloModule channel\n"
    "ENTRY e {\n  x = f32[2] parameter(0)\n  k = token[] after-all()\n"
    "  y = f32[2] negate(x)\n"
    "  s = (f32[2], u32[], token[]) send(y, k), channel_id=7, is_host_transfer=true\n"
    "  l = token[] send-done(s), channel_id=7, is_host_transfer=true\n"
    "  v = ((f32[2], pred[]), u32[], token[]) recv(l), channel_id=8, is_host_transfer=true\n"
    "  d = ((f32[2], pred[]), token[]) recv-done(v), channel_id=8, is_host_transfer=true\n"
    "  p = (f32[2], pred[]) get-tuple-element(d), index=0\n"
    "  z = f32[2] get-tuple-element(p), index=0\n  w = f32[2] add(z, x)\n"
    "  q = pred[] get-tuple-element(p), index=1\n"
    "  ROOT r = (f32[2], pred[]) tuple(w, q)\n}\n";

static halo_shape *array_shape(halo_type type, int rank, int64_t extent) {
  halo_shape *shape;
  ck_ok(halo_shape_create_array(type, rank, &extent, &shape));
  return shape;
}

/* f32[extent], or, for 0, (f32[3], s32[]). */
static halo_literal *literal_of(int64_t extent, const char *text) {
  halo_shape *shape = array_shape(HALO_F32, 1, extent ? extent : 3);
  if (extent == 0) {
    halo_shape *parts[] = {shape, array_shape(HALO_S32, 0, 0)};
    ck_ok(halo_shape_create_tuple(2, (const halo_shape *const *)parts, &shape));
    halo_shape_release(parts[0]);
    halo_shape_release(parts[1]);
  }
  halo_literal *literal = run_literal(shape, text);
  halo_shape_release(shape);
  return literal;
}

static void feed(halo_client *client, int64_t extent, const char *text) {
  halo_literal *item = literal_of(extent, text);
  ck_ok(halo_device_infeed(halo_client_device(client, 0), item));
  halo_literal_release(item);
}

static void check_literal(halo_literal *literal, const char *expected) {
  char *text;
  ck_ok(halo_literal_to_text(literal, &text));
  ck_assert_str_eq(text, expected);
  halo_text_release(text);
}

static halo_buffer *run_on(halo_client *client, const char *text, int count, const float *values) {
  halo_executable *e = run_compile(client, text);
  halo_buffer *x = run_buffer(client, count, values), *results[2] = {NULL, NULL};
  ck_ok(halo_executable_execute(e, &x, 1, NULL, results));
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_buffer_release(results[1]);
  return results[0];
}

static void *feed_late(void *data) {
  usleep(30000);
  feed(data, 0, "({1, 2, 3}, 1)");
  usleep(30000);
  feed(data, 0, "({10, 20, 30}, 2)");
  return NULL;
}

/* The run waits for what comes late, while the call has returned; items come out as they are made. */
START_TEST(queues) {
  halo_client *client = run_client(NULL);
  halo_device *device = halo_client_device(client, 0);
  halo_literal *item;
  ck_fails(halo_device_outfeed(device, false, &item), HALO_NOT_FOUND, "outfeed queue is empty");
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, feed_late, client), 0);
  halo_buffer *result = run_on(client, loop_text, 3, (float[]){100, 100, 100});
  ck_ok(halo_device_outfeed(device, true, &item));
  check_literal(item, "{101, 102, 103}");
  halo_literal_release(item);
  ck_ok(halo_device_outfeed(device, true, &item));
  check_literal(item, "{111, 122, 133}");
  halo_literal_release(item);
  run_check(result, "{111, 122, 133}");
  ck_fails(halo_device_outfeed(device, false, &item), HALO_NOT_FOUND, "empty");
  halo_buffer_release(result);
  pthread_join(thread, NULL);
  halo_client_release(client);
}
END_TEST

/* What waits for an item of another shape, or for none, fails: its results say so. */
START_TEST(queues_fail) {
  halo_client *client = run_client(NULL);
  halo_device *device = halo_client_device(client, 0);
  feed(client, 4, "{1, 2, 3, 4}");
  halo_buffer *result = run_on(client, loop_text, 3, (float[]){0, 0, 0});
  float out[3];
  ck_fails(halo_buffer_to_host(result, out, sizeof out), HALO_INVALID_ARGUMENT,
           "in: (f32[3], s32[]) is wanted from the host, and f32[4] was given");
  halo_buffer_release(result);

  result = run_on(client, loop_text, 3, (float[]){0, 0, 0});
  usleep(20000);
  halo_device_close_feeds(device);
  ck_fails(halo_buffer_to_host(result, out, sizeof out), HALO_FAILED_PRECONDITION,
           "the infeed queue was closed");
  halo_buffer_release(result);
  halo_literal *item;
  ck_fails(halo_device_outfeed(device, true, &item), HALO_FAILED_PRECONDITION, "was closed");

  /* After that it goes on as before, and the client can go while a run waits. */
  feed(client, 0, "({1, 2, 3}, 3)");
  result = run_on(client, loop_text, 3, (float[]){0, 0, 0});
  run_check(result, "{1, 2, 3}");
  halo_buffer_release(result);
  result = run_on(client, loop_text, 3, (float[]){0, 0, 0});
  halo_buffer_release(result);
  halo_client_release(client);
}
END_TEST

/* An empty tuple is no item: a run neither waits for one nor leaves one. */
START_TEST(nothing) {
  halo_client *client = run_client(NULL);
  halo_buffer *result = run_on(client,
                               "HloModule nothing\nENTRY e {\n  x = f32[2] parameter(0)\n"
                               "  k = token[] after-all()\n  i = ((), token[]) infeed(k)\n"
                               "  l = token[] get-tuple-element(i), index=1\n"
                               "  n = () get-tuple-element(i), index=0\n"
                               "  o = token[] outfeed(n, l), outfeed_shape=()\n"
                               "  ROOT y = f32[2] negate(x)\n}\n",
                               2, (float[]){1, 2});
  run_check(result, "{-1, -2}");
  halo_literal *item;
  ck_fails(halo_device_outfeed(halo_client_device(client, 0), false, &item), HALO_NOT_FOUND,
           "the outfeed queue is empty");
  halo_buffer_release(result);
  halo_client_release(client);
}
END_TEST

typedef struct heard {
  int sent, wanted;
  bool refuse;
} heard;

static halo_status on_send(void *user, int64_t id, halo_literal *data) {
  heard *h = user;
  ck_assert_int_eq(id, 7);
  check_literal(data, "{-1, -2}");
  h->sent++;
  return HALO_OK;
}

static halo_status on_recv(void *user, int64_t id, const halo_shape *shape, halo_literal **out) {
  heard *h = user;
  ck_assert_int_eq(id, 8);
  ck_assert_int_eq(h->sent, h->wanted + 1); /* the token says which comes first */
  h->wanted++;
  *out = run_literal(shape, "({10, 20}, true)");
  if (h->refuse) {
    halo_literal_release(*out);
    *out = literal_of(1, "{1}");
  }
  return HALO_OK;
}

static halo_status give_ones(void *user, int64_t id, const halo_shape *shape, halo_literal **out) {
  (void)user;
  ck_assert_int_eq(id, 9);
  *out = run_literal(shape, "{1, 1}");
  return HALO_OK;
}

START_TEST(channels) {
  halo_client *client = run_client(NULL);
  halo_device *device = halo_client_device(client, 0);
  heard h = {0};
  float out[2];
  halo_buffer *result = run_on(client, channel_text, 2, (float[]){1, 2});
  ck_fails(halo_buffer_to_host(result, out, sizeof out), HALO_FAILED_PRECONDITION,
           "no functions were set for channel 7");
  halo_buffer_release(result);
  ck_fails(halo_device_set_channel(device, NULL), HALO_INVALID_ARGUMENT, "a device and a channel");
  ck_ok(halo_device_set_channel(device, &(halo_channel){.id = 7, .on_send = on_send, .user = &h}));
  ck_ok(halo_device_set_channel(device, &(halo_channel){.id = 8, .user = &h}));
  result = run_on(client, channel_text, 2, (float[]){1, 2});
  ck_fails(halo_buffer_to_host(result, out, sizeof out), HALO_FAILED_PRECONDITION,
           "nothing can be received on channel 8");
  halo_buffer_release(result);
  h = (heard){0};
  ck_ok(halo_device_set_channel(device, &(halo_channel){.id = 8, .on_recv = on_recv, .user = &h}));
  for (int i = 0; i < 3; i++) {
    result = run_on(client, channel_text, 2, (float[]){1, 2});
    run_check(result, "{11, 22}");
    halo_buffer_release(result);
  }
  ck_assert_int_eq(h.sent, 3);
  h.refuse = true;
  result = run_on(client, channel_text, 2, (float[]){1, 2});
  ck_fails(halo_buffer_to_host(result, out, sizeof out), HALO_INVALID_ARGUMENT,
           "(f32[2], pred[]) is wanted from the host, and f32[1] was given");
  halo_buffer_release(result);
  halo_client_release(client);
}
END_TEST

/* All builder calls, in one program: twice what comes in goes out, and over channel 7 and 8. */
START_TEST(built) {
  halo_builder *b;
  b = halo_builder_create("built");
  halo_shape *shape = array_shape(HALO_F32, 1, 2);
  halo_op first = halo_infeed(b, shape, "one");
  halo_op pair = halo_infeed_with_token(halo_create_token(b), shape, NULL);
  halo_op second = halo_get_tuple_element(pair, 0);
  halo_op sum = halo_add(first, second);
  halo_op t = halo_outfeed(sum, NULL, NULL);
  t = halo_outfeed_with_token(second, halo_after_all(b, 1, &t), shape, "two");
  halo_op sent = halo_send_to_host(halo_neg(first), t, 7);
  halo_op got = halo_recv_from_host(sent, shape, 9);
  halo_module *module;
  ck_ok(halo_builder_build(b, halo_add(halo_get_tuple_element(got, 0), sum), &module));
  halo_builder_release(b);

  halo_client *client = run_client(NULL);
  halo_device *device = halo_client_device(client, 0);
  heard h = {0};
  ck_ok(halo_device_set_channel(device, &(halo_channel){.id = 7, .on_send = on_send, .user = &h}));
  ck_ok(halo_device_set_channel(device, &(halo_channel){.id = 9, .on_recv = give_ones}));
  feed(client, 2, "{1, 2}");
  feed(client, 2, "{10, 20}");
  halo_executable *e;
  ck_ok(halo_client_compile(client, module, NULL, &e));
  halo_buffer *result;
  ck_ok(halo_executable_execute(e, NULL, 0, NULL, &result));
  run_check(result, "{12, 23}");
  ck_assert_int_eq(h.sent, 1);
  const char *expected[] = {"{11, 22}", "{10, 20}"};
  for (int i = 0; i < 2; i++) {
    halo_literal *item;
    ck_ok(halo_device_outfeed(device, true, &item));
    check_literal(item, expected[i]);
    halo_literal_release(item);
  }
  halo_buffer_release(result);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);

  b = halo_builder_create("wrong");
  halo_outfeed(halo_constant_f32(b, 1), shape, NULL);
  ck_fails(halo_builder_build(b, halo_create_token(b), &module), HALO_INVALID_ARGUMENT,
           "the shape is not that of the operand");
  halo_builder_release(b);
  halo_shape_release(shape);
}
END_TEST

/* Between devices it is another matter. */
START_TEST(refused) {
  static const char text[] =
      "HloModule t\nENTRY e {\n  x = f32[2] parameter(0)\n  k = token[] after-all()\n"
      "  s = (f32[2], u32[], token[]) send(x, k), channel_id=7\n"
      "  ROOT l = token[] send-done(s), channel_id=7\n}\n";
  halo_client *client = run_client(NULL);
  halo_executable *e;
  ck_fails(run_try_compile(client, text, NULL, &e), HALO_UNIMPLEMENTED,
           "sending from one device to another cannot run yet");
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("channels");
  TCase *tests = tcase_create("channels");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, queues);
  tcase_add_test(tests, queues_fail);
  tcase_add_test(tests, nothing);
  tcase_add_test(tests, channels);
  tcase_add_test(tests, built);
  tcase_add_test(tests, refused);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

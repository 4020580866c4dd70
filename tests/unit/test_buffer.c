/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_buffer.c: clients, buffers, layouts and events. */
#include "client/client.h"
#include "shape/literal.h"
#include "suite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ck_ok(call) ck_assert_msg((call) == HALO_OK, "%s", halo_error_message())

static halo_client *make_client(void) {
  halo_client *client;
  halo_client_options options = {.cache_dir = ""};
  ck_ok(halo_client_create(&options, &client));
  return client;
}

static halo_memory_stats stats_of(halo_client *client) {
  halo_memory_stats stats;
  halo_device_memory_stats(halo_client_device(client, 0), &stats);
  return stats;
}

/* Bytes that tell their own place. */
static unsigned char *make_data(size_t size, unsigned seed) {
  unsigned char *data = malloc(size ? size : 1);
  for (size_t i = 0; i < size; i++) data[i] = (unsigned char)((i * 2654435761u + seed) >> 7);
  return data;
}

static halo_shape *make_shape(halo_type type, int rank, const int64_t *dims,
                              const int32_t *minor_to_major) {
  halo_shape *shape;
  if (minor_to_major) {
    ck_ok(halo_shape_create_array_with_layout(type, rank, dims, minor_to_major, &shape));
  } else {
    ck_ok(halo_shape_create_array(type, rank, dims, &shape));
  }
  return shape;
}

/* What lies in device memory, byte for byte. */
static unsigned char *raw_bytes(halo_client *client, halo_buffer *buffer, size_t size) {
  halo_device_value *value;
  unsigned char *bytes = malloc(size ? size : 1);
  ck_ok(halo_buffer_borrow(buffer, &value));
  if (size) {
    ck_ok(halo_cl_event_wait(value->ready));
    ck_assert_int_eq(clEnqueueReadBuffer(client->devices[0].cl->queue, value->block->mem, CL_TRUE,
                                         0, size, bytes, 0, NULL, NULL),
                     CL_SUCCESS);
  }
  halo_device_value_release(value);
  return bytes;
}

/* Element by element, by the definition of a layout, sharing nothing with layout.c. */
static void expect_layout(const halo_shape *shape, const unsigned char *host,
                          const unsigned char *device) {
  size_t size = halo_type_size(halo_shape_type(shape));
  int rank = halo_shape_rank(shape);
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    int64_t index[8], rest = i, place = 0, step = 1;
    for (int d = rank - 1; d >= 0; d--) {
      index[d] = rest % halo_shape_dim(shape, d);
      rest /= halo_shape_dim(shape, d);
    }
    for (int k = 0; k < rank; k++) {
      int d = halo_shape_minor_to_major(shape, k);
      place += index[d] * step;
      step *= halo_shape_dim(shape, d);
    }
    ck_assert_msg(memcmp(host + (size_t)i * size, device + (size_t)place * size, size) == 0,
                  "element %lld", (long long)i);
  }
}

static void round_trip(halo_client *client, const halo_shape *shape, bool async) {
  size_t size = (size_t)halo_shape_byte_size(shape);
  unsigned char *data = make_data(size, 1), *back = make_data(size, 99);
  halo_buffer *buffer;
  halo_event *event;
  if (async) {
    ck_ok(halo_buffer_from_host_async(client, data, shape, &buffer, &event));
    ck_ok(halo_event_wait(event));
    ck_assert(halo_event_is_ready(event));
    halo_event_release(event);
  } else {
    ck_ok(halo_buffer_from_host(client, data, shape, &buffer));
  }
  ck_assert(halo_shape_equal(halo_buffer_shape(buffer), shape));
  unsigned char *raw = raw_bytes(client, buffer, size);
  expect_layout(shape, data, raw);
  free(raw);
  if (async) {
    ck_ok(halo_buffer_to_host_async(buffer, back, size, &event));
    ck_ok(halo_event_wait(event));
    halo_event_release(event);
  } else {
    ck_ok(halo_buffer_to_host(buffer, back, size));
  }
  ck_assert_int_eq(memcmp(data, back, size), 0);
  halo_buffer_release(buffer);
  free(data);
  free(back);
}

START_TEST(types) {
  halo_client *client = make_client();
  static const int64_t dims[] = {7, 5};
  static const int32_t column_major[] = {0, 1};
  for (int t = 1; t < HALO_TYPE_COUNT; t++) {
    halo_type type = (halo_type)t;
    if (!halo_type_is_array(type)) continue;
    for (int i = 0; i < 4; i++) {
      halo_shape *shape = make_shape(type, 2, dims, i & 1 ? column_major : NULL);
      round_trip(client, shape, i & 2);
      halo_shape_release(shape);
    }
  }
  halo_client_release(client);
}
END_TEST

static const struct {
  int rank;
  int64_t dims[5];
  int32_t layout[5];
} layouts[] = {
    {0, {0}, {0}},
    {1, {1000}, {0}},
    {2, {1, 40}, {0, 1}},
    {2, {33, 70}, {0, 1}},
    {3, {3, 20, 19}, {0, 2, 1}},
    {3, {17, 4, 18}, {0, 1, 2}},
    {3, {17, 4, 18}, {1, 2, 0}},
    {4, {2, 3, 4, 5}, {3, 1, 2, 0}},
    {4, {2, 1, 18, 1}, {1, 2, 3, 0}},
    {5, {2, 3, 2, 3, 2}, {4, 0, 3, 1, 2}},
    {3, {3, 0, 2}, {0, 1, 2}},
    {1, {0}, {0}},
};

START_TEST(layout) {
  halo_client *client = make_client();
  static const halo_type of_each_size[] = {HALO_PRED, HALO_F16, HALO_F32, HALO_C64, HALO_C128};
  for (int i = 0; i < 10; i++) {
    halo_shape *shape =
        make_shape(of_each_size[i / 2], layouts[_i].rank, layouts[_i].dims, layouts[_i].layout);
    round_trip(client, shape, i & 1);
    halo_shape_release(shape);
  }
  /* As on a device that does not share the host's memory. */
  client->devices[0].cl->caps.shares_host_memory = false;
  halo_shape *shape = make_shape(HALO_F32, layouts[_i].rank, layouts[_i].dims, layouts[_i].layout);
  round_trip(client, shape, false);
  halo_shape_release(shape);
  halo_client_release(client);
}
END_TEST

START_TEST(literals) {
  halo_client *client = make_client();
  static const int64_t dims[] = {4, 6};
  static const int32_t column_major[] = {0, 1};
  halo_shape *shape = make_shape(HALO_S32, 2, dims, column_major);
  halo_literal *in, *out;
  halo_buffer *buffer;
  ck_ok(halo_literal_create(shape, &in));
  for (int i = 0; i < 24; i++) ((int32_t *)halo_literal_data(in))[i] = i * i;
  ck_ok(halo_buffer_from_literal(client, in, &buffer));
  ck_ok(halo_buffer_to_literal(buffer, &out));
  ck_assert(halo_literal_same_bits(in, out));
  halo_literal_release(in);
  halo_literal_release(out);
  halo_buffer_release(buffer);
  halo_shape_release(shape);
  halo_client_release(client);
}
END_TEST

START_TEST(refusals) {
  halo_client *client = make_client();
  halo_buffer *buffer;
  halo_shape *tuple, *token, *vector;
  halo_event *event;
  halo_literal *literal;
  float data[4] = {0};
  ck_ok(halo_shape_create_tuple(0, NULL, &tuple));
  ck_ok(halo_shape_create_token(&token));
  vector = make_shape(HALO_F32, 1, (const int64_t[]){4}, NULL);
  ck_assert_int_eq(halo_buffer_from_host(client, data, tuple, &buffer), HALO_INVALID_ARGUMENT);
  ck_message_has("()");
  ck_assert_ptr_null(buffer);
  ck_assert_int_eq(halo_buffer_from_host(client, data, token, &buffer), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_buffer_from_host(client, NULL, vector, &buffer), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_buffer_from_host(NULL, data, vector, &buffer), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_buffer_from_host(client, data, NULL, &buffer), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_buffer_from_host(client, data, vector, NULL), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_buffer_from_literal(client, NULL, &buffer), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_buffer_to_host(NULL, data, 16), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_buffer_to_literal(NULL, &literal), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_event_wait(NULL), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_client_create(NULL, NULL), HALO_INVALID_ARGUMENT);
  ck_ok(halo_buffer_from_host(client, data, vector, &buffer));
  ck_assert_int_eq(halo_buffer_to_host(buffer, data, 15), HALO_INVALID_ARGUMENT);
  ck_message_has("takes 16 bytes, not the 15 given");
  ck_assert_int_eq(halo_buffer_to_host(buffer, NULL, 16), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_buffer_to_host_async(buffer, data, 16, NULL), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_buffer_to_host_async(buffer, data, 17, &event), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(event);
  ck_assert_int_eq(halo_client_device_count(client), 1);
  ck_assert_ptr_null(halo_client_device(client, 1));
  halo_client_release(NULL);
  halo_buffer_retain(NULL);
  halo_buffer_release(NULL);
  halo_event_release(NULL);
  halo_buffer_release(buffer);
  halo_shape_release(vector);
  halo_shape_release(token);
  halo_shape_release(tuple);
  halo_client_release(client);
}
END_TEST

START_TEST(null_device) {
  halo_client *client;
  halo_client_options options = {.device = "null:" HALO_TEST_DATA "/devices/mobile-no-f64.caps"};
  ck_ok(halo_client_create(&options, &client));
  halo_device_info info;
  halo_device_get_info(halo_client_device(client, 0), &info);
  ck_assert_str_eq(info.kind, "null");
  ck_assert_str_eq(info.name, "mobile-no-f64");
  ck_assert(!info.has_f64 && info.shares_host_memory);
  halo_shape *shape = make_shape(HALO_F32, 0, NULL, NULL);
  halo_buffer *buffer;
  float one = 1;
  ck_assert_int_eq(halo_buffer_from_host(client, &one, shape, &buffer), HALO_UNIMPLEMENTED);
  ck_message_has("mobile-no-f64");
  halo_shape_release(shape);
  halo_client_release(client);
}
END_TEST

START_TEST(donation) {
  halo_client *client = make_client();
  halo_shape *shape = make_shape(HALO_F32, 1, (const int64_t[]){3}, NULL);
  float data[3] = {1, 2, 3}, back[3];
  halo_buffer *buffer, *other;
  halo_device_value *value, *again;
  halo_event *event;
  halo_literal *literal;
  ck_ok(halo_buffer_from_host(client, data, shape, &buffer));
  ck_assert(!halo_buffer_is_donated(buffer));
  ck_ok(halo_buffer_donate(buffer, &value));
  ck_assert(halo_buffer_is_donated(buffer));
  ck_assert_int_eq(halo_buffer_donate(buffer, &again), HALO_FAILED_PRECONDITION);
  ck_message_has("f32[3]");
  ck_assert_int_eq(halo_buffer_borrow(buffer, &again), HALO_FAILED_PRECONDITION);
  ck_assert_int_eq(halo_buffer_to_host(buffer, back, sizeof back), HALO_FAILED_PRECONDITION);
  ck_assert_int_eq(halo_buffer_to_host_async(buffer, back, sizeof back, &event),
                   HALO_FAILED_PRECONDITION);
  ck_assert_int_eq(halo_buffer_to_literal(buffer, &literal), HALO_FAILED_PRECONDITION);
  ck_assert_ptr_null(literal);
  halo_buffer_undonate(buffer, value);
  ck_ok(halo_buffer_to_host(buffer, back, sizeof back));
  ck_assert_float_eq(back[2], 3);
  /* The memory lives on in the result of the program that took it. */
  ck_ok(halo_buffer_donate(buffer, &value));
  other = halo_buffer_wrap(client->devices, shape, value, NULL, NULL);
  halo_buffer_release(buffer);
  ck_ok(halo_buffer_to_host(other, back, sizeof back));
  ck_assert_float_eq(back[1], 2);
  halo_buffer_release(other);
  ck_assert_uint_eq(stats_of(client).live, 0);
  halo_shape_release(shape);
  halo_client_release(client);
}
END_TEST

START_TEST(memory_counts) {
  halo_client *client;
  halo_client_options options = {.cache_dir = "", .memory_limit = 1 << 20};
  ck_ok(halo_client_create(&options, &client));
  halo_shape *half = make_shape(HALO_F32, 1, (const int64_t[]){150000}, NULL);
  float *data = calloc(150000, sizeof *data);
  halo_buffer *a, *b;
  ck_ok(halo_buffer_from_host(client, data, half, &a));
  ck_assert_uint_ge(stats_of(client).live, 600000);
  ck_assert_int_eq(halo_buffer_from_host(client, data, half, &b), HALO_OUT_OF_MEMORY);
  ck_message_has("buffer f32[150000] asks for");
  ck_message_has("held by buffer f32[150000]");
  halo_buffer_release(a);
  ck_ok(halo_buffer_from_host(client, data, half, &b));
  ck_assert_uint_eq(stats_of(client).reused, 1);
  halo_buffer_release(b);
  halo_device_trim_memory(halo_client_device(client, 0));
  ck_assert_uint_eq(stats_of(client).cached, 0);
  free(data);
  halo_shape_release(half);
  halo_client_release(client);
}
END_TEST

/* Everything may go in any order; what is pending survives the handles. */
START_TEST(release_order) {
  static const int64_t dims[] = {300, 200};
  static const int32_t column_major[] = {0, 1};
  for (int i = 0; i < 12; i++) {
    halo_client *client = make_client();
    halo_shape *shape = make_shape(HALO_F64, 2, dims, i & 1 ? column_major : NULL);
    size_t size = (size_t)halo_shape_byte_size(shape);
    unsigned char *data = make_data(size, (unsigned)i), *back = make_data(size, 99);
    halo_buffer *buffer;
    halo_event *done, *read;
    ck_ok(halo_buffer_from_host_async(client, data, shape, &buffer, i & 2 ? NULL : &done));
    ck_ok(halo_buffer_to_host_async(buffer, back, size, &read));
    halo_shape_release(shape);
    halo_client_release(client);
    if (i % 3 != 0) halo_buffer_release(buffer);
    if (!(i & 2)) halo_event_release(done);
    if (i % 3 != 2) ck_ok(halo_event_wait(read));
    if (i % 3 == 2) {
      while (!halo_event_is_ready(read)) {}
    }
    ck_assert_int_eq(memcmp(data, back, size), 0);
    halo_event_release(read);
    if (i % 3 == 0) halo_buffer_release(buffer);
    free(data);
    free(back);
  }
}
END_TEST

/* A read that nobody waits for is still safe to release at once. */
START_TEST(release_unwaited) {
  static const int64_t dims[] = {500, 400};
  static const int32_t column_major[] = {0, 1};
  halo_client *client = make_client();
  halo_shape *shape = make_shape(HALO_F32, 2, dims, column_major);
  size_t size = (size_t)halo_shape_byte_size(shape);
  unsigned char *data = make_data(size, 5), *back = make_data(size, 6);
  halo_buffer *buffer;
  halo_event *read;
  ck_ok(halo_buffer_from_host(client, data, shape, &buffer));
  ck_ok(halo_buffer_to_host_async(buffer, back, size, &read));
  halo_buffer_release(buffer);
  halo_event_release(read);
  halo_shape_release(shape);
  halo_client_release(client); /* waits for what is under way */
  ck_assert_int_eq(memcmp(data, back, size), 0);
  free(data);
  free(back);
}
END_TEST

/* A failed computation shows at its buffer's event and at copies out of it. */
START_TEST(failed_computation) {
  halo_client *client = make_client();
  halo_shape *shape = make_shape(HALO_F32, 1, (const int64_t[]){4}, NULL);
  halo_cl_block *block;
  halo_event *event;
  float back[4];
  cl_int code;
  ck_ok(halo_cl_alloc(client->devices[0].cl, 16, "a result", &block));
  cl_event failed = clCreateUserEvent(client->devices[0].cl->context, &code);
  ck_assert_int_eq(code, CL_SUCCESS);
  halo_cl_event *ready = halo_cl_event_create();
  halo_cl_event_set_queued(ready, failed);
  halo_buffer *buffer =
      halo_buffer_wrap(client->devices, shape,
                       halo_device_value_create(client->devices[0].cl, block, ready), NULL, NULL);
  ck_ok(halo_buffer_ready_event(buffer, &event));
  ck_assert(!halo_event_is_ready(event));
  ck_assert_int_eq(clSetUserEventStatus(failed, CL_OUT_OF_RESOURCES), CL_SUCCESS);
  ck_assert_int_eq(halo_event_wait(event), HALO_OUT_OF_MEMORY);
  ck_message_has("CL_OUT_OF_RESOURCES");
  ck_assert(halo_event_is_ready(event));
  ck_assert_int_eq(halo_buffer_to_host(buffer, back, sizeof back), HALO_OUT_OF_MEMORY);
  halo_event_release(event);
  halo_buffer_release(buffer);
  halo_shape_release(shape);
  halo_client_release(client);
}
END_TEST

static void *thread_worker(void *data) {
  halo_client *client = data;
  for (int i = 0; i < 60; i++) {
    int64_t dims[] = {i % 7 + 1, i % 5 + 1, 9};
    static const int32_t layout_102[] = {1, 0, 2};
    halo_shape *shape = make_shape(HALO_S16, 3, dims, i & 1 ? layout_102 : NULL);
    round_trip(client, shape, i & 2);
    halo_shape_release(shape);
  }
  halo_client_release(client);
  return NULL;
}

START_TEST(threads) {
  halo_client *client = make_client();
  pthread_t workers[4];
  for (int i = 0; i < 4; i++) {
    halo_client_retain(client);
    pthread_create(&workers[i], NULL, thread_worker, client);
  }
  for (int i = 0; i < 4; i++) pthread_join(workers[i], NULL);
  ck_assert_uint_eq(stats_of(client).live, 0);
  halo_client_release(client);
}
END_TEST

static void *wait_worker(void *data) {
  ck_ok(halo_event_wait(data));
  return NULL;
}

/* Several threads wait for one copy whose elements change places at the end. */
START_TEST(shared_wait) {
  static const int64_t dims[] = {700, 300};
  static const int32_t column_major[] = {0, 1};
  halo_client *client = make_client();
  halo_shape *shape = make_shape(HALO_F32, 2, dims, column_major);
  size_t size = (size_t)halo_shape_byte_size(shape);
  unsigned char *data = make_data(size, 5), *back = make_data(size, 6);
  halo_buffer *buffer;
  halo_event *read;
  pthread_t workers[3];
  ck_ok(halo_buffer_from_host(client, data, shape, &buffer));
  ck_ok(halo_buffer_to_host_async(buffer, back, size, &read));
  for (int i = 0; i < 3; i++) pthread_create(&workers[i], NULL, wait_worker, read);
  for (int i = 0; i < 3; i++) pthread_join(workers[i], NULL);
  ck_assert_int_eq(memcmp(data, back, size), 0);
  halo_event_release(read);
  halo_buffer_release(buffer);
  halo_shape_release(shape);
  halo_client_release(client);
  free(data);
  free(back);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("buffer");
  TCase *all = tcase_create("buffer");
  tcase_set_timeout(all, 120);
  tcase_add_test(all, types);
  tcase_add_loop_test(all, layout, 0, sizeof layouts / sizeof layouts[0]);
  tcase_add_test(all, literals);
  tcase_add_test(all, refusals);
  tcase_add_test(all, null_device);
  tcase_add_test(all, donation);
  tcase_add_test(all, memory_counts);
  tcase_add_test(all, release_order);
  tcase_add_test(all, release_unwaited);
  tcase_add_test(all, failed_computation);
  tcase_add_test(all, threads);
  tcase_add_test(all, shared_wait);
  suite_add_tcase(suite, all);
  return suite_run(suite);
}

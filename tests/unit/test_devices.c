/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_devices.c: clients of several devices, and arrays on their way between the host and
 * them: strides, pinned memory, two queues. */
#include "cl_faults.h"
#include "client/client.h"
#include "run_test.h"
#include "suite.h"

static const char twice_text[] =
    "HloModule twice\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT s = f32[4] add(x, x)\n}\n";

static const float four[4] = {1, 2, 3, 4}, ten[4] = {10, 20, 30, 40};

static halo_shape *shape_of(halo_type type, int rank, const int64_t *dims) {
  halo_shape *shape;
  ck_ok(halo_shape_create_array(type, rank, dims, &shape));
  return shape;
}

static halo_buffer *put(halo_device *device, const float *values) {
  halo_shape *shape = shape_of(HALO_F32, 1, (const int64_t[]){4});
  halo_buffer *buffer;
  ck_ok(halo_buffer_put(device, values, NULL, shape, &buffer, NULL));
  halo_shape_release(shape);
  return buffer;
}

static uint64_t live_on(halo_client *client, int device) {
  halo_memory_stats stats;
  halo_device_memory_stats(halo_client_device(client, device), &stats);
  return stats.live;
}

/* ---- Lists of devices ---- */

START_TEST(device_lists) {
  halo_client *client = run_client("0:0,0:0");
  ck_assert_int_eq(halo_client_device_count(client), 2);
  ck_assert_ptr_ne(halo_client_device(client, 0), halo_client_device(client, 1));
  ck_assert_ptr_null(halo_client_device(client, 2));
  ck_assert_ptr_null(halo_client_device(client, -1));
  halo_client_release(client);
  client = run_client("cpu*3");
  ck_assert_int_eq(halo_client_device_count(client), 3);
  halo_client_release(client);
  static const char *const wrong[] = {"cpu*0", "cpu/0", "cpu*65", "cpu/2000000000"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    halo_client_options options = {.device = wrong[i], .cache_dir = ""};
    ck_fails(halo_client_create(&options, &client), HALO_INVALID_ARGUMENT, "from 1 to 64");
    ck_assert_ptr_null(client);
  }
  /* What no number follows is a part of a name. */
  halo_client_options options = {.device = "cpu/x*", .cache_dir = ""};
  ck_fails(halo_client_create(&options, &client), HALO_NOT_FOUND, "cpu/x*");
  options.device = "0:0,99:0";
  ck_fails(halo_client_create(&options, &client), HALO_NOT_FOUND, "99:0");
  options.device = "0:0,";
  ck_ok(halo_client_create(&options, &client)); /* the empty one is the default */
  ck_assert_int_eq(halo_client_device_count(client), 2);
  halo_client_release(client);
}
END_TEST

/* Whether the driver can divide the first device; prints that it cannot. */
static bool has_parts(void) {
  halo_client *client = run_client("0:0");
  cl_uint most = 0;
  ck_assert_int_eq(clGetDeviceInfo(client->devices[0].cl->id, CL_DEVICE_PARTITION_MAX_SUB_DEVICES,
                                   sizeof most, &most, NULL),
                   CL_SUCCESS);
  halo_client_release(client);
  if (most >= 2) return true;
  printf("skipped: the driver has no sub-devices\n");
  halo_client_options options = {.device = "0:0/2", .cache_dir = ""};
  halo_status status = halo_client_create(&options, &client);
  ck_assert(status == HALO_UNIMPLEMENTED || status == HALO_INVALID_ARGUMENT);
  ck_message_has("parts");
  return false;
}

START_TEST(halves) {
  if (!has_parts()) return;
  halo_client *whole = run_client("0:0"), *client;
  halo_device_info info;
  halo_device_get_info(halo_client_device(whole, 0), &info);
  uint32_t units = info.compute_units;
  halo_client_release(whole);
  halo_client_options options = {.device = "0:0/2", .cache_dir = ""};
  if (units < 2) {
    ck_fails(halo_client_create(&options, &client), HALO_INVALID_ARGUMENT, "parts");
    return;
  }
  ck_ok(halo_client_create(&options, &client));
  ck_assert_int_eq(halo_client_device_count(client), 2);
  const int second = 1;
  for (int d = 0; d < 2; d++) {
    halo_device_get_info(halo_client_device(client, d), &info);
    ck_assert_uint_eq(info.compute_units, units / 2);
    halo_executable *e;
    ck_ok(run_try_compile(client, twice_text,
                          &(halo_compile_options){.devices = d ? &second : NULL}, &e));
    halo_buffer *x = put(halo_client_device(client, d), four), *y;
    ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
    run_check(y, "{2, 4, 6, 8}");
    halo_buffer_release(x);
    halo_buffer_release(y);
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* A driver's threads may still look at a part when its client is gone: it stays, and is taken again. */
START_TEST(parts_stay) {
  if (!has_parts()) return;
  cl_device_id parts[2][2];
  for (int round = 0; round < 2; round++) {
    halo_client *client;
    halo_client_options options = {.device = "0:0/2", .cache_dir = ""};
    if (halo_client_create(&options, &client) != HALO_OK) {
      ck_message_has("parts"); /* of one compute unit */
      return;
    }
    for (int d = 0; d < 2; d++) parts[round][d] = client->devices[d].cl->id;
    halo_client_release(client);
  }
  ck_assert_ptr_ne(parts[0][0], parts[0][1]);
  for (int d = 0; d < 2; d++) ck_assert_ptr_eq(parts[0][d], parts[1][d]);
}
END_TEST

/* ---- Buffers and programs on devices ---- */

START_TEST(memory_by_device) {
  halo_client *client = run_client("0:0*2");
  halo_buffer *x = put(halo_client_device(client, 1), four), *y;
  ck_assert_ptr_eq(halo_buffer_device(x), halo_client_device(client, 1));
  ck_assert_uint_eq(live_on(client, 0), 0);
  ck_assert_uint_gt(live_on(client, 1), 0);
  ck_ok(halo_buffer_copy_to_device(x, halo_client_device(client, 0), &y));
  halo_buffer_release(x);
  ck_assert_ptr_eq(halo_buffer_device(y), halo_client_device(client, 0));
  run_check(y, "{1, 2, 3, 4}");
  ck_assert_uint_eq(live_on(client, 1), 0);
  halo_client *other = run_client(NULL);
  ck_fails(halo_buffer_copy_to_device(y, halo_client_device(other, 0), &x), HALO_INVALID_ARGUMENT,
           "another client");
  halo_client_release(other);
  halo_buffer_release(y);
  ck_assert_uint_eq(live_on(client, 0), 0);
  halo_client_release(client);
}
END_TEST

/* Copies of all sizes, in all layouts, in every direction, of values that are not there yet. */
START_TEST(across) {
  static const int64_t dims[][2] = {{0, 3}, {1, 1}, {300, 7}, {1500, 1000}};
  for (int way = 0; way < 4; way++) {
    halo_client *client = run_client("0:0*2");
    client->devices[0].cl->caps.shares_host_memory = way & 1;
    client->devices[1].cl->caps.shares_host_memory = (way & 2) != 0;
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
      halo_shape *shape;
      const int32_t turned[] = {0, 1};
      ck_ok(halo_shape_create_array_with_layout(HALO_S32, 2, dims[i], turned, &shape));
      int64_t count = dims[i][0] * dims[i][1];
      int32_t *data = malloc(sizeof *data * (size_t)(count + 1)),
              *back = calloc((size_t)count + 1, 4);
      for (int64_t k = 0; k < count; k++) data[k] = (int32_t)(k * 2654435761u);
      halo_buffer *a, *b, *c;
      halo_event *event;
      ck_ok(halo_buffer_put(halo_client_device(client, 0), data, NULL, shape, &a, &event));
      ck_ok(halo_buffer_copy_to_device(a, halo_client_device(client, 1), &b));
      ck_ok(halo_buffer_copy_to_device(b, halo_client_device(client, 0), &c));
      halo_buffer_release(a);
      halo_buffer_release(b);
      ck_ok(halo_buffer_to_host(c, back, sizeof *back * (size_t)count));
      ck_assert_int_eq(memcmp(data, back, sizeof *back * (size_t)count), 0);
      ck_ok(halo_event_wait(event));
      halo_event_release(event);
      halo_buffer_release(c);
      halo_shape_release(shape);
      free(data);
      free(back);
    }
    halo_client_release(client);
  }
}
END_TEST

START_TEST(replicas) {
  halo_client *client = run_client("0:0*3");
  const int devices[] = {2, 0};
  halo_executable *e;
  const halo_compile_options options = {.devices = devices, .replica_count = 2};
  ck_ok(run_try_compile(client, RUN_ADD, &options, &e));
  ck_assert_int_eq(halo_executable_device_count(e), 2);
  ck_assert_ptr_eq(halo_executable_device(e, 0), halo_client_device(client, 2));
  ck_assert_ptr_eq(halo_executable_device(e, 1), halo_client_device(client, 0));
  ck_assert_ptr_null(halo_executable_device(e, 2));
  halo_buffer *arguments[2][2], *results[2][1];
  for (int d = 0; d < 2; d++) {
    halo_device *device = halo_executable_device(e, d);
    arguments[d][0] = put(device, d ? four : ten);
    arguments[d][1] = put(device, four);
  }
  halo_buffer *const *lists[] = {arguments[0], arguments[1]};
  halo_buffer **const outputs[] = {results[0], results[1]};
  ck_fails(halo_executable_execute(e, arguments[0], 2, NULL, results[0]), HALO_INVALID_ARGUMENT,
           "compiled for 2 devices");
  const int both[] = {0, 1};
  const halo_execute_options donate = {.donated = both, .donated_count = 2};
  ck_ok(halo_executable_execute_all(e, lists, 2, NULL, outputs));
  for (int d = 0; d < 2; d++) {
    ck_assert_ptr_eq(halo_buffer_device(results[d][0]), halo_executable_device(e, d));
    run_check(results[d][0], d ? "{2, 4, 6, 8}" : "{11, 22, 33, 44}");
    halo_buffer_release(results[d][0]);
  }
  ck_ok(halo_executable_execute_all(e, lists, 2, &donate, outputs));
  run_check(results[0][0], "{11, 22, 33, 44}");
  ck_assert(halo_buffer_is_donated(arguments[1][1]));
  for (int d = 0; d < 2; d++) {
    halo_buffer_release(results[d][0]);
    for (int i = 0; i < 2; i++) halo_buffer_release(arguments[d][i]);
  }
  halo_executable_release(e);
  for (int d = 0; d < 3; d++) ck_assert_uint_eq(live_on(client, d), 0);
  halo_client_release(client);
}
END_TEST

/* Each part knows which it is. */
START_TEST(ids) {
  halo_client *client = run_client("0:0*4");
  halo_executable *e;
  const halo_compile_options options = {.replica_count = 2, .partition_count = 2};
  ck_ok(run_try_compile(client,
                        "HloModule m\nENTRY e {\n  r = u32[] replica-id()\n"
                        "  p = u32[] partition-id()\n  t = u32[] constant(10)\n"
                        "  m = u32[] multiply(r, t)\n  ROOT s = u32[] add(m, p)\n}\n",
                        &options, &e));
  halo_buffer *results[4];
  halo_buffer **const lists[] = {&results[0], &results[1], &results[2], &results[3]};
  static const char *const expected[] = {"0", "1", "10", "11"};
  for (int round = 0; round < 2; round++) {
    ck_ok(halo_executable_execute_all(e, NULL, 0, NULL, lists));
    for (int i = 0; i < 4; i++) {
      run_check(results[i], expected[i]);
      halo_buffer_release(results[i]);
    }
  }
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

START_TEST(wrong_devices) {
  halo_client *client = run_client("0:0*2");
  halo_executable *e;
  const int twice[] = {0, 0}, beyond[] = {2};
  const struct {
    halo_compile_options options;
    const char *message;
  } cases[] = {
      {{.replica_count = 3}, "3 replicas of 1 partition do not fit the 2 devices"},
      {{.replica_count = 2, .partition_count = 2}, "2 replicas of 2 partitions"},
      {{.replica_count = -1}, "-1 replicas"},
      {{.devices = twice, .partition_count = 2}, "device 0 is given two parts"},
      {{.devices = beyond}, "no device 2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ck_fails(run_try_compile(client, RUN_ADD, &cases[i].options, &e), HALO_INVALID_ARGUMENT,
             cases[i].message);
    ck_assert_ptr_null(e);
  }
  ck_ok(run_try_compile(client, twice_text, NULL, &e));
  halo_buffer *x = put(halo_client_device(client, 1), four), *y;
  ck_fails(halo_executable_execute(e, &x, 1, NULL, &y), HALO_INVALID_ARGUMENT,
           "argument 0 of twice lies on device 1, not on device 0");
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* One device's failure is returned, and leaves nothing behind on the others. */
START_TEST(one_replica_fails) {
  halo_client *client = run_client("0:0*2");
  halo_executable *e;
  ck_ok(run_try_compile(client, twice_text, &(halo_compile_options){.replica_count = 2}, &e));
  halo_buffer *arguments[2], *results[2] = {NULL, NULL};
  for (int d = 0; d < 2; d++) arguments[d] = put(halo_client_device(client, d), four);
  halo_buffer *const *lists[] = {&arguments[0], &arguments[1]};
  halo_buffer **const outputs[] = {&results[0], &results[1]};
  fault_after(FAULT_KERNEL, 1);
  ck_fails(halo_executable_execute_all(e, lists, 1, NULL, outputs), HALO_DEVICE_ERROR, "");
  ck_assert_ptr_null(results[0]);
  ck_assert_ptr_null(results[1]);
  ck_ok(halo_executable_execute_all(e, lists, 1, NULL, outputs));
  for (int d = 0; d < 2; d++) {
    run_check(results[d], "{2, 4, 6, 8}");
    halo_buffer_release(results[d]);
    halo_buffer_release(arguments[d]);
  }
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- Strides ---- */

/* A host array of doubles' size in every second place, its rows backwards, in all ways of copying. */
START_TEST(strides) {
  enum { ROWS = 37, COLUMNS = 21 };
  static const int32_t turned[] = {0, 1};
  const int64_t dims[] = {ROWS, COLUMNS};
  for (int way = 0; way < 8; way++) {
    halo_client *client = run_client(NULL);
    client->devices[0].cl->caps.shares_host_memory = way & 4;
    halo_shape *shape;
    if (way & 1) {
      ck_ok(halo_shape_create_array_with_layout(HALO_S32, 2, dims, turned, &shape));
    } else {
      shape = shape_of(HALO_S32, 2, dims);
    }
    char *host = calloc(ROWS * COLUMNS, 10), *back = calloc(ROWS * COLUMNS, 10);
    const int64_t apart[] = {-10 * COLUMNS, 10}; /* 4 bytes in 10, so that most lie askew */
    char *last_row = host + 10 * COLUMNS * (ROWS - 1);
    for (int r = 0; r < ROWS; r++) {
      for (int c = 0; c < COLUMNS; c++) {
        int32_t value = r * 100 + c;
        memcpy(last_row + r * apart[0] + c * apart[1], &value, sizeof value);
      }
    }
    halo_buffer *buffer;
    halo_event *done = NULL;
    int32_t dense[ROWS][COLUMNS];
    ck_ok(halo_buffer_put(halo_client_device(client, 0), last_row, apart, shape, &buffer,
                          way & 2 ? &done : NULL));
    if (done) ck_ok(halo_event_wait(done));
    halo_event_release(done);
    ck_ok(halo_buffer_to_host(buffer, dense, sizeof dense));
    for (int r = 0; r < ROWS; r++) {
      for (int c = 0; c < COLUMNS; c++) ck_assert_int_eq(dense[r][c], r * 100 + c);
    }
    done = NULL;
    ck_ok(halo_buffer_get(buffer, back + 10 * COLUMNS * (ROWS - 1), apart, way & 2 ? &done : NULL));
    if (done) ck_ok(halo_event_wait(done));
    halo_event_release(done);
    ck_assert_int_eq(memcmp(host, back, ROWS * COLUMNS * 10), 0);
    halo_buffer_release(buffer);
    halo_shape_release(shape);
    halo_client_release(client);
    free(host);
    free(back);
  }
}
END_TEST

/* One row, used again and again; strides of dimensions with one element do not count. */
START_TEST(strides_of_zero) {
  halo_client *client = run_client(NULL);
  halo_shape *shape = shape_of(HALO_F32, 3, (const int64_t[]){3, 1, 4});
  const int64_t apart[] = {0, 12345, 4};
  halo_buffer *buffer;
  ck_ok(halo_buffer_put(halo_client_device(client, 0), four, apart, shape, &buffer, NULL));
  run_check(buffer, "{ { { 1, 2, 3, 4 } }, { { 1, 2, 3, 4 } }, { { 1, 2, 3, 4 } } }");
  halo_buffer_release(buffer);
  halo_shape_release(shape);
  halo_client_release(client);
}
END_TEST

/* ---- Pinned memory, and the two queues ---- */

/* Sizes around those of the pieces, on a device that does not share the host's memory. */
START_TEST(pinned) {
  static const int64_t sizes[] = {1, 65536, 65537, 4 << 20, (4 << 20) + 1, 8 << 20, (9 << 20) + 77};
  halo_client *client = run_client(NULL);
  client->devices[0].cl->caps.shares_host_memory = false;
  int64_t most = sizes[6];
  unsigned char *data = malloc((size_t)most), *back = malloc((size_t)most);
  for (int64_t i = 0; i < most; i++) data[i] = (unsigned char)((uint64_t)i * 2654435761u >> 11);
  for (int i = 0; i < 14; i++) {
    halo_shape *shape = shape_of(HALO_U8, 1, &sizes[i / 2]);
    size_t size = (size_t)sizes[i / 2];
    halo_buffer *buffer;
    halo_event *done = NULL;
    memset(back, 0, size);
    ck_ok(halo_buffer_put(halo_client_device(client, 0), data, NULL, shape, &buffer,
                          i & 1 ? &done : NULL));
    halo_event_release(done);
    done = NULL;
    ck_ok(halo_buffer_get(buffer, back, NULL, i & 1 ? &done : NULL));
    if (done) ck_ok(halo_event_wait(done));
    halo_event_release(done);
    ck_assert_int_eq(memcmp(data, back, size), 0);
    halo_buffer_release(buffer);
    halo_shape_release(shape);
  }
  fault_after(FAULT_WRITE, 1);
  halo_shape *shape = shape_of(HALO_U8, 1, &sizes[6]);
  halo_buffer *buffer;
  ck_fails(halo_buffer_put(halo_client_device(client, 0), data, NULL, shape, &buffer, NULL),
           HALO_DEVICE_ERROR, "clEnqueueWriteBuffer");
  ck_assert_uint_eq(live_on(client, 0), 0);
  halo_shape_release(shape);
  halo_client_release(client);
  free(data);
  free(back);
}
END_TEST

/* Copies and programs over the same memory, none of which waits for another but through events: uploads
 * into memory that programs used, runs over memory that is being read. */
START_TEST(two_queues) {
  enum { COUNT = 1 << 18, ROUNDS = 40 };
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(
      client,
      "HloModule m\nENTRY e {\n  x = f32[262144] parameter(0)\n  o = f32[] constant(1)\n"
      "  b = f32[262144] broadcast(o), dimensions={}\n"
      "  ROOT s = f32[262144] add(x, b)\n}\n");
  halo_shape *shape = shape_of(HALO_F32, 1, (const int64_t[]){COUNT});
  const int zero = 0;
  const halo_execute_options donate = {.donated = &zero, .donated_count = 1};
  float *data[ROUNDS], *back[ROUNDS];
  halo_event *up[ROUNDS], *down[ROUNDS], *between[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    data[i] = malloc(sizeof(float) * COUNT);
    back[i] = malloc(sizeof(float) * COUNT * 2);
    for (int k = 0; k < COUNT; k++) data[i][k] = (float)(i * 1000 + k % 100);
    halo_buffer *x, *y, *z;
    ck_ok(halo_buffer_put(halo_client_device(client, 0), data[i], NULL, shape, &x, &up[i]));
    ck_ok(halo_executable_execute(e, &x, 1, &donate, &y));
    ck_ok(halo_buffer_get(y, back[i], NULL, &between[i]));
    ck_ok(halo_executable_execute(e, &y, 1, &donate, &z)); /* writes over what is being read */
    ck_ok(halo_buffer_get(z, back[i] + COUNT, NULL, &down[i]));
    halo_buffer_release(x);
    halo_buffer_release(y);
    halo_buffer_release(z);
  }
  for (int i = 0; i < ROUNDS; i++) {
    halo_event *events[] = {up[i], between[i], down[i]};
    for (int k = 0; k < 3; k++) {
      ck_ok(halo_event_wait(events[k]));
      halo_event_release(events[k]);
    }
    for (int k = 0; k < COUNT; k++) {
      float expected = (float)(i * 1000 + k % 100 + 1);
      ck_assert_msg(back[i][k] == expected && back[i][COUNT + k] == expected + 1,
                    "round %d element %d: %g and %g", i, k, (double)back[i][k],
                    (double)back[i][COUNT + k]);
    }
    free(data[i]);
    free(back[i]);
  }
  halo_shape_release(shape);
  halo_executable_release(e);
  ck_assert_uint_eq(live_on(client, 0), 0);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("devices");
  TCase *clients = tcase_create("clients"), *placed = tcase_create("placed");
  TCase *transfers = tcase_create("transfers");
  tcase_add_test(clients, device_lists);
  tcase_add_test(clients, halves);
  tcase_add_test(clients, parts_stay);
  tcase_add_test(placed, memory_by_device);
  tcase_add_test(placed, across);
  tcase_add_test(placed, replicas);
  tcase_add_test(placed, ids);
  tcase_add_test(placed, wrong_devices);
  tcase_add_test(placed, one_replica_fails);
  tcase_add_test(transfers, strides);
  tcase_add_test(transfers, strides_of_zero);
  tcase_add_test(transfers, pinned);
  tcase_add_test(transfers, two_queues);
  TCase *cases[] = {clients, placed, transfers};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tcase_set_timeout(cases[i], 120);
    suite_add_tcase(suite, cases[i]);
  }
  return suite_run(suite);
}

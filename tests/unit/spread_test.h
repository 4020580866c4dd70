/* SPDX-License-Identifier: Apache-2.0 */
/* unit/spread_test.h: what the tests of programs on several devices share. */
#ifndef HALO_TESTS_SPREAD_TEST_H
#define HALO_TESTS_SPREAD_TEST_H

#include "client/client.h"
#include "fake_communicator.h"
#include "run_test.h"

__attribute__((unused)) static const float four[4] = {1, 2, 3, 4};
__attribute__((unused)) static const float ten[4] = {10, 20, 30, 40};

enum { SPREAD_TEXT = 2048 };

/* A module's text with the number of replicas for its "$n". */
static inline void with_replicas(char out[SPREAD_TEXT], const char *text, int replicas) {
  const char *mark = strstr(text, "$n");
  snprintf(out, SPREAD_TEXT, "%.*s%d%s", (int)(mark - text), text, replicas, mark + 2);
}

static inline halo_executable *compile(halo_client *client, const char *text, int replicas) {
  char module[SPREAD_TEXT];
  with_replicas(module, text, replicas);
  return run_compile(client, module);
}

static inline halo_client *several(int devices, double timeout) {
  char name[32];
  halo_client *client;
  snprintf(name, sizeof name, "0:0*%d", devices);
  halo_client_options options = {.device = name, .cache_dir = "", .collective_timeout = timeout};
  ck_ok(halo_client_create(&options, &client));
  return client;
}

static inline halo_buffer *put(halo_device *device, const float *values) {
  halo_shape *shape;
  halo_buffer *buffer;
  ck_ok(halo_shape_create_array(HALO_F32, 1, (const int64_t[]){4}, &shape));
  ck_ok(halo_buffer_put(device, values, NULL, shape, &buffer, NULL));
  halo_shape_release(shape);
  return buffer;
}

static inline halo_buffer *promise(halo_device *device) {
  halo_shape *shape;
  halo_buffer *buffer;
  ck_ok(halo_shape_create_array(HALO_F32, 1, (const int64_t[]){4}, &shape));
  ck_ok(halo_buffer_promise(device, shape, &buffer));
  halo_shape_release(shape);
  return buffer;
}

/* A run on two devices, one argument each; the results. */
static inline void start_two(halo_executable *e, halo_buffer *x, halo_buffer *y,
                             halo_buffer *out[2]) {
  halo_buffer *const *arguments[2] = {&x, &y};
  halo_buffer **results[2] = {&out[0], &out[1]};
  ck_ok(halo_executable_execute_all(e, arguments, 1, NULL, results));
}

static inline halo_status await(halo_buffer *buffer) {
  halo_event *event;
  ck_ok(halo_buffer_ready_event(buffer, &event));
  halo_status status = halo_event_wait(event);
  halo_event_release(event);
  return status;
}

static inline void run_two(halo_client *client, halo_executable *e, const char *first,
                           const char *second) {
  halo_buffer *x = put(halo_client_device(client, 0), four);
  halo_buffer *y = put(halo_client_device(client, 1), ten), *out[2];
  start_two(e, x, y, out);
  run_check(out[0], first);
  run_check(out[1], second);
  for (int i = 0; i < 2; i++) halo_buffer_release(out[i]);
  halo_buffer_release(x);
  halo_buffer_release(y);
}

/* ---- Several processes, which are threads here ---- */

typedef struct spread_process {
  halo_communicator *communicator;
  void (*work)(struct spread_process *process, halo_client *client);
  const char *text;
  int devices;
  double timeout;
} spread_process;

static inline void *spread_run(void *data) {
  spread_process *process = data;
  char name[32];
  halo_client *client;
  snprintf(name, sizeof name, "0:0*%d", process->devices);
  halo_client_options options = {.device = name,
                                 .cache_dir = "",
                                 .collective_timeout = process->timeout,
                                 .communicator = process->communicator};
  /* One client after the other, of which each process has its own idea when. */
  for (int n = 0; n < 2; n++) {
    ck_ok(halo_client_create(&options, &client));
    process->work(process, client);
    halo_client_release(client);
  }
  return NULL;
}

/* `count` processes, process p with 1 + p % devices devices. */
static inline void spread(int count, int devices, double timeout, const char *text,
                          void (*work)(spread_process *, halo_client *)) {
  fake_network *network = fake_create(count);
  spread_process processes[FAKE_PROCESSES];
  pthread_t threads[FAKE_PROCESSES];
  for (int p = 0; p < count; p++) {
    processes[p] =
        (spread_process){&network->nodes[p].communicator, work, text, 1 + p % devices, timeout};
    ck_assert_int_eq(pthread_create(&threads[p], NULL, spread_run, &processes[p]), 0);
  }
  for (int p = 0; p < count; p++) pthread_join(threads[p], NULL);
  for (int p = 0; p < count; p++) {
    halo_communicator_close(&network->nodes[p].communicator);
    ck_assert_int_eq(network->nodes[p].closed, 1);
  }
  fake_release(network);
}

#endif

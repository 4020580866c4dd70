/* SPDX-License-Identifier: Apache-2.0 */
/* unit/tcp_test.h: processes that are joined over TCP, as threads of one or for true, and calls of their communicators. */
#ifndef HALO_TESTS_TCP_TEST_H
#define HALO_TESTS_TCP_TEST_H

#include "halo/halo.h"
#include "tcp/tcp.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 5, CARD_ROOM = 1024 };

/* What stands for a framework's key-value store; shared between processes. */
typedef struct store {
  atomic_int here;
  char cards[MOST][CARD_ROOM];
} store;

typedef struct node {
  store *store;
  int process, count;
  bool unix_sockets;
  double timeout;
  halo_communicator *communicator;
  void (*run)(struct node *node);
  char trouble[1024]; /* of connecting */
} node;

static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline void rest(void) { nanosleep(&(struct timespec){0, 50000}, NULL); }

static inline const char *store_exchange(void *user, const void *mine, size_t bytes, void *all) {
  node *n = user;
  ck_assert_uint_le(bytes, CARD_ROOM);
  memcpy(n->store->cards[n->process], mine, bytes);
  atomic_fetch_add(&n->store->here, 1);
  while (atomic_load(&n->store->here) < n->count) rest();
  for (int p = 0; p < n->count; p++) {
    memcpy((char *)all + bytes * (size_t)p, n->store->cards[p], bytes);
  }
  return NULL;
}

static inline const char *node_connect(node *n) {
  halo_tcp_options options = {.process = n->process,
                              .process_count = n->count,
                              .exchange = store_exchange,
                              .user = n,
                              .timeout = n->timeout};
  return tcp_connect(&options, n->unix_sockets, &n->communicator);
}

static inline void *node_main(void *data) {
  node *n = data;
  const char *trouble = node_connect(n);
  ck_assert_msg(!trouble, "process %d: %s", n->process, trouble);
  ck_assert_int_eq(n->communicator->process, n->process);
  ck_assert_int_eq(n->communicator->process_count, n->count);
  ck_assert_int_eq(n->communicator->local, n->process);
  n->run(n);
  halo_communicator_close(n->communicator);
  return NULL;
}

/* As many "processes" of this one. */
static inline void in_threads(int count, bool unix_sockets, void (*run)(node *)) {
  store *s = calloc(1, sizeof *s);
  node nodes[MOST];
  pthread_t threads[MOST];
  for (int p = 0; p < count; p++) {
    nodes[p] =
        (node){.store = s, .process = p, .count = count, .unix_sockets = unix_sockets, .run = run};
    ck_assert_int_eq(pthread_create(&threads[p], NULL, node_main, &nodes[p]), 0);
  }
  for (int p = 0; p < count; p++) pthread_join(threads[p], NULL);
  free(s);
}

/* As many true ones; their exit statuses. */
static inline void in_processes(int count, bool unix_sockets, void (*run)(node *),
                                int statuses[MOST]) {
  store *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t pids[MOST];
  for (int p = 0; p < count; p++) {
    pids[p] = fork();
    if (pids[p] == 0) {
      node n = {.store = s, .process = p, .count = count, .unix_sockets = unix_sockets, .run = run};
      node_main(&n);
      exit(0);
    }
  }
  for (int p = 0; p < count; p++) waitpid(pids[p], &statuses[p], 0);
  munmap(s, sizeof *s);
}

static inline void expect_all_well(int count, bool unix_sockets, void (*run)(node *)) {
  int statuses[MOST];
  in_processes(count, unix_sockets, run, statuses);
  for (int p = 0; p < count; p++) {
    ck_assert_msg(WIFEXITED(statuses[p]) && WEXITSTATUS(statuses[p]) == 0, "process %d: %x", p,
                  (unsigned)statuses[p]);
  }
}

/* ---- Calls ---- */

static inline void *begin_send(node *n, int to, int tag, const void *data, size_t bytes) {
  halo_communicator *c = n->communicator;
  void *request = NULL;
  const char *trouble = c->send(c->user, to, tag, data, bytes, &request);
  ck_assert_msg(!trouble, "%d to %d: %s", n->process, to, trouble);
  return request;
}

static inline void *begin_receive(node *n, int from, int tag, void *data, size_t bytes) {
  halo_communicator *c = n->communicator;
  void *request = NULL;
  const char *trouble = c->receive(c->user, from, tag, data, bytes, &request);
  ck_assert_msg(!trouble, "%d from %d: %s", n->process, from, trouble);
  return request;
}

static inline bool is_done(node *n, void *request) {
  halo_communicator *c = n->communicator;
  bool done = false;
  const char *trouble = c->test(c->user, request, &done);
  ck_assert_msg(!trouble, "process %d: %s", n->process, trouble);
  return done;
}

static inline void await(node *n, void *request) {
  while (!is_done(n, request)) sched_yield();
}

static inline void poll_one(node *n, void *data, size_t room, int *from, size_t *bytes) {
  halo_communicator *c = n->communicator;
  do {
    const char *trouble = c->poll(c->user, data, room, from, bytes);
    ck_assert_msg(!trouble, "process %d: %s", n->process, trouble);
    if (*from < 0) sched_yield();
  } while (*from < 0);
}

/* All processes come here before any goes on. */
static inline void barrier(node *n) {
  enum { BARRIER_TAG = 7777 };
  char mine = 1, others[MOST];
  void *requests[2 * MOST];
  int count = 0;
  for (int p = 0; p < n->count; p++) {
    if (p == n->process) continue;
    requests[count++] = begin_receive(n, p, BARRIER_TAG, &others[p], 1);
    requests[count++] = begin_send(n, p, BARRIER_TAG, &mine, 1);
  }
  for (int i = 0; i < count; i++) await(n, requests[i]);
}

static inline TCase *add_case(Suite *suite, const char *name) {
  TCase *tests = tcase_create(name);
  tcase_set_timeout(tests, 300);
  suite_add_tcase(suite, tests);
  return tests;
}

static inline int suite_result(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

#endif

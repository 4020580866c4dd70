/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agreements.c: processes that compile programs together, from several threads, in other orders, or others
 * than their partners. */
#include "spread_test.h"
#include "suite.h"

enum { PROGRAMS = 4, TURN = 30000000 /* nanoseconds */ };

/* The sum over all replicas, and a number that tells programs apart. */
static halo_status compile_numbered(halo_client *client, int replicas, int number,
                                    const int *devices, halo_executable **out) {
  char text[SPREAD_TEXT];
  snprintf(text, sizeof text,
           "HloModule reduce, replica_count=%d\n"
           "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
           "ENTRY e {\n  x = f32[4] parameter(0)\n"
           "  s = f32[4] all-reduce(x), replica_groups={}, to_apply=add\n"
           "  n = f32[] constant(%d)\n  m = f32[4] broadcast(n), dimensions={}\n"
           "  ROOT r = f32[4] add(s, m)\n}\n",
           replicas, number);
  halo_module *module;
  ck_ok(halo_module_parse(text, strlen(text), "m", &module));
  halo_compile_options options = {.devices = devices};
  halo_status status = halo_client_compile(client, module, &options, out);
  halo_module_release(module);
  return status;
}

static void run_numbered(halo_client *client, halo_executable *e, int replicas, int number) {
  char want[64];
  halo_buffer *x = put(halo_client_device(client, 0), four), *out;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &out));
  snprintf(want, sizeof want, "{%d, %d, %d, %d}", replicas + number, 2 * replicas + number,
           3 * replicas + number, 4 * replicas + number);
  run_check(out, want);
  halo_buffer_release(out);
  halo_buffer_release(x);
}

/* ---- Threads ---- */

typedef struct compile_thread {
  halo_client *client;
  int replicas, number, turn;
  halo_executable *executable;
  pthread_t thread;
} compile_thread;

static void *compile_main(void *data) {
  compile_thread *t = data;
  nanosleep(&(struct timespec){0, t->turn * TURN}, NULL);
  ck_ok(compile_numbered(t->client, t->replicas, t->number, NULL, &t->executable));
  return NULL;
}

/* Each process's threads have their turns in another order. */
static void spread_orders(spread_process *process, halo_client *client) {
  compile_thread threads[PROGRAMS];
  int me = process->communicator->process, replicas = process->communicator->process_count;
  for (int i = 0; i < PROGRAMS; i++) {
    threads[i] = (compile_thread){client, replicas, i, (i + me) % PROGRAMS, NULL, 0};
    ck_assert_int_eq(pthread_create(&threads[i].thread, NULL, compile_main, &threads[i]), 0);
  }
  for (int i = 0; i < PROGRAMS; i++) pthread_join(threads[i].thread, NULL);
  for (int n = 0; n < 2; n++) {
    for (int i = 0; i < PROGRAMS; i++) run_numbered(client, threads[i].executable, replicas, i);
  }
  for (int i = 0; i < PROGRAMS; i++) halo_executable_release(threads[i].executable);
}

START_TEST(orders) { spread(3, 1, 5, NULL, spread_orders); }
END_TEST

/* Executables of one program, which each process runs in another order: it is the same for the others. */
static void spread_equal(spread_process *process, halo_client *client) {
  halo_executable *executables[PROGRAMS];
  int me = process->communicator->process, replicas = process->communicator->process_count;
  for (int i = 0; i < PROGRAMS; i++) {
    ck_ok(compile_numbered(client, replicas, 0, NULL, &executables[i]));
  }
  for (int i = 0; i < PROGRAMS; i++) {
    run_numbered(client, executables[(i + me) % PROGRAMS], replicas, 0);
  }
  for (int i = 0; i < PROGRAMS; i++) halo_executable_release(executables[i]);
}

START_TEST(equal) { spread(3, 1, 1, NULL, spread_equal); }
END_TEST

/* ---- Programs that differ ---- */

/* The process that notices it tells the other. */
static void expect_different(halo_status status, const char *text) {
  ck_assert(status == HALO_FAILED_PRECONDITION || status == HALO_ABORTED);
  ck_message_has(text);
}

static void spread_different(spread_process *process, halo_client *client) {
  int me = process->communicator->process, replicas = process->communicator->process_count;
  halo_executable *e = NULL;
  expect_different(compile_numbered(client, replicas, me == 1, NULL, &e),
                   "compile different programs");
  ck_assert_ptr_null(e);
  /* The next ones are found all the same. */
  ck_ok(compile_numbered(client, replicas, 2, NULL, &e));
  run_numbered(client, e, replicas, 2);
  halo_executable_release(e);
}

START_TEST(different) {
  spread(2, 1, 0.4, NULL, spread_different);
  spread(3, 1, 0.4, NULL, spread_different);
}
END_TEST

static void spread_places(spread_process *process, halo_client *client) {
  static const int devices[2][2] = {{0, 1}, {1, 0}};
  int me = process->communicator->process;
  halo_executable *e = NULL;
  expect_different(compile_numbered(client, 2, 0, devices[me], &e),
                   "give the program other devices");
}

START_TEST(places) { spread(2, 1, 0.4, NULL, spread_places); }
END_TEST

int main(void) {
  Suite *suite = suite_create("agreements");
  TCase *agreements = tcase_create("agreements");
  tcase_set_timeout(agreements, 300);
  tcase_add_test(agreements, orders);
  tcase_add_test(agreements, equal);
  tcase_add_test(agreements, different);
  tcase_add_test(agreements, places);
  suite_add_tcase(suite, agreements);
  return suite_run(suite);
}

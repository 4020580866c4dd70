/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_limits.c: a process of three, joined over TCP, that hangs or dies: the others are told within the limit, and
 * all of them who it was. */
#include "tcp_test.h"

#include "../mpi/process.h"

enum { FLOATS = 1 << 20 };
static const double limit = 2;

/* The second replica sends to the third, which sends what comes to the first. */
static const char chain[] =
    "HloModule chain, replica_count=3\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n"
    "  p = f32[4] collective-permute(x), source_target_pairs={{1,2}}\n"
    "  ROOT q = f32[4] collective-permute(p), source_target_pairs={{2,0}}\n}\n";

static halo_client *limited_client(node *n) {
  halo_client *client;
  halo_client_options options = {.device = "0:0",
                                 .cache_dir = "",
                                 .communicator = n->communicator,
                                 .collective_timeout = limit};
  if (halo_client_create(&options, &client) != HALO_OK) process_die("a client");
  return client;
}

/* One run, which fails: the message has the text, and it took not much longer than the limit. */
static void limited_run(node *n, halo_client *client, halo_executable *e, double least,
                        const char *text) {
  const halo_shape *shape = halo_executable_argument_shape(e, 0);
  float *zeros = calloc(FLOATS, sizeof *zeros);
  halo_buffer *in, *out = NULL;
  if (halo_buffer_put(halo_client_device(client, 0), zeros, NULL, shape, &in, NULL) != HALO_OK) {
    process_die("an argument");
  }
  double begin = now();
  halo_status status = halo_executable_execute(e, &in, 1, NULL, &out);
  if (status == HALO_OK)
    status = halo_buffer_to_host(out, zeros, (size_t)halo_shape_byte_size(shape));
  double took = now() - begin;
  if (status == HALO_OK) process_die("process %d: it did not fail", n->process);
  if (!strstr(halo_error_message(), text)) process_die("process %d: no \"%s\"", n->process, text);
  if (took < least || took > 1.8 * limit) process_die("process %d: %g s", n->process, took);
  halo_buffer_release(in);
  halo_buffer_release(out);
  free(zeros);
}

static void limited_end(node *n, halo_client *client, halo_executable *e) {
  atomic_fetch_add(&n->store->here, 1);
  halo_executable_release(e);
  halo_client_release(client);
}

static void pause_for(double seconds) {
  double whole = (double)(time_t)seconds;
  nanosleep(&(struct timespec){(time_t)whole, (long)((seconds - whole) * 1e9)}, NULL);
}

/* Until the others have come to their ends. */
static void hang(node *n) {
  double until = now() + 20; /* if they fail otherwise */
  while (atomic_load(&n->store->here) < 2 * n->count - 1 && now() < until) rest();
  _exit(0);
}

/* Large pieces are on their way to a process that does not take them. */
static void run_hanging(node *n) {
  halo_client *client = limited_client(n);
  halo_executable *e;
  if (process_compile(client, "add", FLOATS, 3, &e) != HALO_OK) process_die("a program");
  if (n->process == 1) hang(n);
  limited_run(n, client, e, 0.9 * limit, "device 1 (process 1)");
  limited_end(n, client, e);
}

START_TEST(hanging) {
  expect_all_well(3, true, run_hanging);
  expect_all_well(3, false, run_hanging);
}
END_TEST

static halo_executable *compile_chain(halo_client *client) {
  halo_module *module;
  halo_executable *e;
  if (halo_module_parse(chain, strlen(chain), "chain", &module) != HALO_OK) process_die("a module");
  if (halo_client_compile(client, module, NULL, &e) != HALO_OK) process_die("a program");
  halo_module_release(module);
  return e;
}

/* The first one waits for the third, which comes later and waits for the second. */
static void run_chain(node *n) {
  halo_client *client = limited_client(n);
  halo_executable *e = compile_chain(client);
  if (n->process == 1) hang(n);
  if (n->process == 2) pause_for(0.4 * limit);
  limited_run(n, client, e, 0, "device 1 (process 1)");
  limited_end(n, client, e);
}

START_TEST(chains) { expect_all_well(3, true, run_chain); }
END_TEST

/* The second one dies, and the third ends when it notices. */
static void run_dying(node *n) {
  halo_client *client = limited_client(n);
  halo_executable *e = compile_chain(client);
  if (n->process == 1) _exit(0);
  limited_run(n, client, e, 0, "process 1 is gone");
  if (n->process == 2) _exit(0);
  /* So does what follows. */
  limited_run(n, client, e, 0, "process 1 is gone");
  limited_end(n, client, e);
}

START_TEST(dying) {
  for (int i = 0; i < 5; i++) expect_all_well(3, i % 2, run_dying);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("limits");
  TCase *limits = add_case(suite, "limits");
  tcase_add_test(limits, hanging);
  tcase_add_test(limits, chains);
  tcase_add_test(limits, dying);
  return suite_result(suite);
}

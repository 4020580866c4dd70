/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_faults.c: runs in which an OpenCL call fails half-way, and processes that fork. */
#include "cl_faults.h"
#include "run_test.h"
#include "suite.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two kernels, of which the first writes over the donated state. */
static const char steps_text[] =
    "HloModule steps, input_output_alias={ {0}: (0, {}, may-alias) }\n"
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    "ENTRY e {\n  x = f32[1024] parameter(0)\n  z = f32[] constant(0)\n"
    "  t = f32[1024] add(x, x)\n  r = f32[] reduce(t, z), dimensions={0}, to_apply=add\n"
    "  ROOT o = (f32[1024], f32[]) tuple(t, r)\n}\n";

typedef struct fixture {
  halo_client *client;
  halo_executable *executable;
  halo_buffer *x;
} fixture;

static const int zero = 0;
static const halo_execute_options donate = {.donated = &zero, .donated_count = 1};

static fixture set_up(void) {
  fixture f = {.client = run_client(NULL)};
  const halo_compile_options apart = {.no_fusion = true};
  ck_ok(run_try_compile(f.client, steps_text, &apart, &f.executable));
  float ones[1024];
  for (int i = 0; i < 1024; i++) ones[i] = 1;
  f.x = run_buffer(f.client, 1024, ones);
  return f;
}

/* Everything still works, and nothing is held. */
static void tear_down(fixture *f) {
  halo_buffer *results[2];
  halo_memory_stats stats;
  float sum, ones[1024];
  for (int i = 0; i < 1024; i++) ones[i] = 1;
  halo_buffer_release(f->x);
  f->x = run_buffer(f->client, 1024, ones);
  ck_ok(halo_executable_execute(f->executable, &f->x, 1, NULL, results));
  ck_ok(halo_buffer_to_host(results[1], &sum, sizeof sum));
  ck_assert_float_eq(sum, 2048);
  halo_buffer_release(results[0]);
  halo_buffer_release(results[1]);
  halo_buffer_release(f->x);
  halo_executable_release(f->executable);
  halo_device_memory_stats(halo_client_device(f->client, 0), &stats);
  ck_assert_uint_eq(stats.live, 0);
  halo_client_release(f->client);
}

static void expect_ones(halo_buffer *buffer) {
  float values[1024];
  ck_ok(halo_buffer_to_host(buffer, values, sizeof values));
  for (int i = 0; i < 1024; i++) ck_assert_float_eq(values[i], 1);
}

/* Nothing was queued: the caller's arguments are as they were. */
START_TEST(first_step_fails) {
  fixture f = set_up();
  halo_buffer *results[2];
  fault_after(FAULT_KERNEL, 0);
  ck_fails(halo_executable_execute(f.executable, &f.x, 1, &donate, results), HALO_DEVICE_ERROR,
           "CL_INVALID_KERNEL_ARGS");
  ck_assert_ptr_null(results[0]);
  expect_ones(f.x);
  tear_down(&f);
}
END_TEST

/* The first kernel wrote over what was given away: nobody may take it for the old value. */
static void expect_consumed(fixture *f) {
  float values[1024];
  halo_buffer *results[2];
  ck_fails(halo_buffer_to_host(f->x, values, sizeof values), HALO_FAILED_PRECONDITION, "donated");
  ck_fails(halo_executable_execute(f->executable, &f->x, 1, NULL, results),
           HALO_FAILED_PRECONDITION, "argument 0");
}

START_TEST(second_step_fails) {
  fixture f = set_up();
  halo_buffer *results[2];
  fault_after(FAULT_KERNEL, 1);
  ck_fails(halo_executable_execute(f.executable, &f.x, 1, &donate, results), HALO_DEVICE_ERROR,
           "CL_INVALID_KERNEL_ARGS");
  ck_assert_ptr_null(results[0]);
  ck_assert_ptr_null(results[1]);
  expect_consumed(&f);
  tear_down(&f);
}
END_TEST

START_TEST(last_flush_fails) {
  fixture f = set_up();
  halo_buffer *results[2];
  fault_after(FAULT_FLUSH, 0);
  ck_fails(halo_executable_execute(f.executable, &f.x, 1, &donate, results), HALO_DEVICE_ERROR,
           "clFlush failed");
  expect_consumed(&f);
  tear_down(&f);
}
END_TEST

/* Not donated: the same failure leaves the argument whole. */
START_TEST(failure_without_donation) {
  fixture f = set_up();
  halo_buffer *results[2];
  fault_after(FAULT_KERNEL, 1);
  ck_fails(halo_executable_execute(f.executable, &f.x, 1, NULL, results), HALO_DEVICE_ERROR, "");
  expect_ones(f.x);
  tear_down(&f);
}
END_TEST

/* Who did not ask for a certain device is told what a device must have. */
START_TEST(no_device_is_available) {
  halo_client *client = NULL;
  atomic_store(&fault_no_device, true);
  unsetenv("HALO_DEVICE");
  ck_fails(halo_client_create(NULL, &client), HALO_NOT_FOUND, "no OpenCL device can be used");
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "usable is what has OpenCL 1.2"));
  ck_fails(halo_client_create(&(halo_client_options){.device = "0:0"}, &client), HALO_UNIMPLEMENTED,
           "takes OpenCL 1.2");
  atomic_store(&fault_no_device, false);
}
END_TEST

/* ---- Processes ---- */

/* What a forked child may do: everything gives a clear failure, and nothing hangs. */
static int child_of(const fixture *f, const halo_module *module, halo_event *event) {
  halo_client *client = NULL;
  halo_executable *executable = NULL;
  halo_device_entry *list = NULL;
  halo_buffer *results[2];
  float values[1024];
  int count, wrong = 0;
  alarm(30);
  const halo_status got[] = {
      halo_client_create(NULL, &client),
      halo_device_list(NULL, &list, &count),
      halo_client_compile(f->client, module, NULL, &executable),
      halo_buffer_from_host(f->client, values, halo_buffer_shape(f->x), &results[0]),
      halo_buffer_to_host(f->x, values, sizeof values),
      halo_executable_execute(f->executable, &f->x, 1, NULL, results),
      halo_event_wait(event),
  };
  for (size_t i = 0; i < sizeof got / sizeof got[0]; i++) {
    if (got[i] == HALO_FAILED_PRECONDITION) continue;
    fprintf(stderr, "call %zu in the child: %s\n", i, halo_status_name(got[i]));
    wrong = 1;
  }
  if (!strstr(halo_error_message(), "forked")) wrong = 1;
  halo_event_release(event);
  halo_buffer_release(f->x);
  halo_executable_release(f->executable);
  halo_client_release(f->client);
  return wrong;
}

START_TEST(forked_child) {
  fixture f = set_up();
  halo_module *module = run_parse(steps_text);
  halo_buffer *results[2];
  halo_event *event;
  ck_ok(halo_executable_execute(f.executable, &f.x, 1, NULL, results));
  ck_ok(halo_buffer_ready_event(results[0], &event));
  pid_t child = fork();
  if (child == 0) _exit(child_of(&f, module, event));
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status), "the child ended by signal %d", WTERMSIG(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  ck_ok(halo_event_wait(event));
  halo_event_release(event);
  halo_buffer_release(results[0]);
  halo_buffer_release(results[1]);
  halo_module_release(module);
  tear_down(&f);
}
END_TEST

/* A fork before the first use is no harm. */
START_TEST(forked_before) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    halo_client *client = run_client(NULL);
    halo_client_release(client);
    _exit(0);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

int main(void) {
  /* What is looked at here are the kernels by themselves. */
  setenv("HALO_KERNELS", "region:steps,bundle:steps", 1);
  Suite *suite = suite_create("faults");
  TCase *runs = tcase_create("runs");
  tcase_set_timeout(runs, 120);
  tcase_add_test(runs, first_step_fails);
  tcase_add_test(runs, second_step_fails);
  tcase_add_test(runs, last_flush_fails);
  tcase_add_test(runs, failure_without_donation);
  tcase_add_test(runs, no_device_is_available);
  suite_add_tcase(suite, runs);
  TCase *processes = tcase_create("processes");
  tcase_set_timeout(processes, 120);
  tcase_add_test(processes, forked_before);
  tcase_add_test(processes, forked_child);
  suite_add_tcase(suite, processes);
  return suite_run(suite);
}

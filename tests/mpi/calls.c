/* SPDX-License-Identifier: Apache-2.0 */
/* tests/mpi/calls.c: OpenCL calls that fail in one of several processes, one after the other, within all-reduces whose
 * messages go by themselves: mpiexec -n 3 calls. All processes come to the end of the run, those that fail name the
 * operation and the device that is to blame, and the next run is right. */
#include "../unit/cl_faults.h"
#include "process.h"

#include <string.h>

enum { CALLS_COUNT = 100000, CALLS_MOST = 12 };
static const double calls_limit = 20; /* seconds that the others may wait */

typedef struct calls {
  halo_communicator *communicator;
  halo_client *client;
  halo_executable *executable;
  int me, count;
  float *values;
} calls;

/* One run of arrays that are full of `value`, in which a call fails (none: FAULT_CALLS); *sum: what came. */
static halo_status calls_run(calls *c, fault_call call, int after, float value, float *sum) {
  halo_buffer *in, *out = NULL;
  halo_event *ready;
  for (int i = 0; i < CALLS_COUNT; i++) c->values[i] = value;
  if (halo_buffer_put(halo_client_device(c->client, 0), c->values, NULL,
                      halo_executable_argument_shape(c->executable, 0), &in, NULL) != HALO_OK) {
    process_die("an argument");
  }
  halo_device_trim_memory(halo_client_device(c->client, 0));
  if (call < FAULT_CALLS) fault_after(call, after);
  halo_status status = halo_executable_execute(c->executable, &in, 1, NULL, &out);
  if (status == HALO_OK) status = halo_buffer_ready_event(out, &ready);
  if (status == HALO_OK) {
    status = halo_event_wait(ready);
    halo_event_release(ready);
  }
  bool came = call < FAULT_CALLS && fault_has_come(call);
  if (call < FAULT_CALLS) fault_after(call, -1);
  if (call < FAULT_CALLS && !came) *sum = -1; /* there was no such call left */
  if (status == HALO_OK) {
    if (halo_buffer_to_host(out, c->values, sizeof *c->values * CALLS_COUNT) != HALO_OK) {
      process_die("a result");
    }
    for (int i = 1; i < CALLS_COUNT; i++) {
      if (c->values[i] != c->values[0]) process_die("parts of a result");
    }
    if (call == FAULT_CALLS) *sum = c->values[0];
  }
  halo_buffer_release(out);
  halo_buffer_release(in);
  return status;
}

/* What everybody is told: process 1 has `mine`, the others nothing. */
static float calls_tell(calls *c, float mine) {
  float sum = 0;
  if (calls_run(c, FAULT_CALLS, 0, c->me == 1 ? mine : 0, &sum) != HALO_OK) {
    process_die("process %d: the run behind a fault", c->me);
  }
  return sum;
}

static void calls_check(const calls *c, halo_status status, double took, int call, int after) {
  const char *message = halo_error_message();
  bool op = strstr(message, "all-reduce r"), device = strstr(message, "device 1");
  bool late = took > calls_limit || status == HALO_DEADLINE_EXCEEDED;
  if (status == HALO_OK && !late) return;
  /* Its own failures may come before or behind the operation. */
  if (!late && device && (op || c->me == 1)) return;
  if (!late && c->me == 1 && strncmp(message, "a command on the device", 23) == 0) return;
  process_die("process %d, call %d, number %d, after %.1f s", c->me, call, after, took);
}

int main(void) {
  calls c = {0};
  if (halo_communicator_open(halo_communicator_default(), &c.communicator) != HALO_OK) {
    process_die("a communicator");
  }
  c.me = c.communicator->process;
  c.count = c.communicator->process_count;
  halo_client_options options = {.communicator = c.communicator, .collective_timeout = 60};
  if (halo_client_create(&options, &c.client) != HALO_OK) process_die("a client");
  c.values = calloc(CALLS_COUNT, sizeof *c.values);
  if (process_compile(c.client, "add", CALLS_COUNT, c.count, &c.executable) != HALO_OK) {
    process_die("a program");
  }
  int failed = 0;
  (void)calls_tell(&c, 1);
  for (int call = 0; call < FAULT_HOST; call++) {
    for (int i = 0; i < CALLS_MOST; i++) {
      float came = 1;
      double since = process_now();
      fault_call own = c.me == 1 ? (fault_call)call : FAULT_CALLS;
      halo_status status = calls_run(&c, own, i, 1, &came);
      calls_check(&c, status, process_now() - since, call, i);
      failed += status != HALO_OK;
      /* One that has failed may have other things to do than to take what is sent to it. */
      if (c.me == 1 && i == 0) nanosleep(&(struct timespec){0, 300000000}, NULL);
      if (calls_tell(&c, c.me == 1 && came < 0 ? 2 : 1) > 1) break;
    }
  }
  printf("process %d: %d runs failed as they should\n", c.me, failed);
  bool enough = failed >= 6;
  free(c.values);
  halo_executable_release(c.executable);
  halo_client_release(c.client);
  halo_communicator_close(c.communicator);
  return enough ? 0 : 1;
}

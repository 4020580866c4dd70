/* SPDX-License-Identifier: Apache-2.0 */
/* tests/mpi/faults.c: a fault of one process of several, and what the others are told. `faults MODE TIMES` under
 * mpiexec; process 1 is the one that fails. Each of the others prints "as expected" where the error names what
 * happened within its limit, once for each time. faults.sh says how often. */
#include "process.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_COUNT = 1 << 20, FAULTS_ROUNDS = 400 };
static const double faults_timeout = 0.5, faults_limit = 20;

typedef struct faults {
  halo_communicator *communicator;
  halo_client *client;
  halo_executable *executable;
  int me, count;
} faults;

static halo_buffer *faults_put(faults *f) {
  halo_buffer *buffer;
  const halo_shape *shape = halo_executable_argument_shape(f->executable, 0);
  float *ones = malloc(sizeof *ones * FAULTS_COUNT);
  for (int i = 0; i < FAULTS_COUNT; i++) ones[i] = 1;
  if (halo_buffer_put(halo_client_device(f->client, 0), ones, NULL, shape, &buffer, NULL) !=
      HALO_OK) {
    process_die("an argument");
  }
  free(ones);
  return buffer;
}

/* One run; its outcome. */
static halo_status faults_run(faults *f, halo_buffer *in) {
  halo_buffer *out = NULL;
  halo_status status = halo_executable_execute(f->executable, &in, 1, NULL, &out);
  float first = 0;
  if (status == HALO_OK) {
    float *all = malloc(sizeof *all * FAULTS_COUNT);
    status = halo_buffer_to_host(out, all, sizeof *all * FAULTS_COUNT);
    first = all[FAULTS_COUNT - 1];
    free(all);
  }
  halo_buffer_release(out);
  if (status == HALO_OK && first != (float)f->count) process_die("a wrong result");
  return status;
}

/* Whether a failure is what it should be, and came in time. */
static void faults_expect(faults *f, halo_status status, double since, const char *const *texts) {
  double took = process_now() - since;
  const char *message = halo_error_message();
  bool named = texts[0] == NULL;
  for (int i = 0; texts[i]; i++) named |= strstr(message, texts[i]) != NULL;
  if (status == HALO_OK || !named || took > faults_limit) {
    printf("process %d: %s after %.2f s: %s\n", f->me, halo_status_name(status), took,
           status == HALO_OK ? "no error" : message);
  } else {
    printf("as expected\n");
  }
  fflush(stdout);
}

/* ---- A process that is killed ---- */

static void *faults_kill_soon(void *data) {
  (void)data;
  srand((unsigned)getpid());
  nanosleep(&(struct timespec){0, rand() % 30 * 1000000}, NULL);
  raise(SIGKILL);
  return NULL;
}

static void faults_killed(faults *f, const char *mode) {
  static const char *const named[] = {"device 1 (process 1)", "mpi: ", "tcp: process 1 is gone",
                                      "connection", NULL};
  halo_buffer *in = faults_put(f);
  bool within = strcmp(mode, "killed-within") == 0, after = strcmp(mode, "killed-after") == 0;
  if (after && faults_run(f, in) != HALO_OK) process_die("the run before");
  if (f->me == 1 && !within) raise(SIGKILL);
  if (f->me == 1) pthread_create(&(pthread_t){0}, NULL, faults_kill_soon, NULL);
  double since = process_now();
  halo_status status = HALO_OK;
  for (int i = 0; i < FAULTS_ROUNDS && status == HALO_OK; i++) {
    since = process_now();
    status = faults_run(f, in);
  }
  faults_expect(f, status, since, named);
  /* The others would be waited for. */
  _exit(0);
}

/* ---- Faults after which all go on ---- */

static void faults_meet(faults *f, halo_buffer *in) {
  if (faults_run(f, in) != HALO_OK) process_die("process %d: the run behind a fault", f->me);
}

static void faults_skip(faults *f, int times) {
  static const char *const named[] = {"nothing came from device 1 (process 1)",
                                      "failed: all-reduce r", NULL};
  halo_buffer *in = faults_put(f);
  for (int i = 0; i < times; i++) {
    double since = process_now();
    if (f->me == 1) {
      /* It is told that its turn is over, when it takes it. */
      nanosleep(&(struct timespec){0, 800000000}, NULL);
      halo_status status = faults_run(f, in);
      if (status == HALO_OK) process_die("the turn that was missed");
    } else {
      faults_expect(f, faults_run(f, in), since, named);
    }
    faults_meet(f, in);
  }
  halo_buffer_release(in);
}

static void faults_different(faults *f, int times) {
  static const char *const named[] = {"compile different programs", NULL};
  halo_buffer *in = faults_put(f);
  for (int i = 0; i < times; i++) {
    halo_executable *other = NULL;
    double since = process_now();
    halo_status status =
        process_compile(f->client, f->me == 1 ? "maximum" : "add", FAULTS_COUNT, f->count, &other);
    if (f->me != 1) faults_expect(f, status, since, named);
    halo_executable_release(other);
    faults_meet(f, in);
  }
  halo_buffer_release(in);
}

/* Process 1 has no room for what a run needs: a buffer holds it. */
static void faults_memory(faults *f, int times) {
  static const char *const named[] = {"device 1 (process 1) failed: out of device memory", NULL};
  halo_buffer *in = faults_put(f);
  for (int i = 0; i < times; i++) {
    halo_buffer *hog[4] = {0};
    for (int k = 0; k < 4 && f->me == 1; k++) hog[k] = faults_put(f);
    double since = process_now();
    halo_status status = faults_run(f, in);
    if (f->me != 1) faults_expect(f, status, since, named);
    if (f->me == 1 && status != HALO_OUT_OF_MEMORY) process_die("memory was enough");
    for (int k = 0; k < 4; k++) halo_buffer_release(hog[k]);
    faults_meet(f, in);
  }
  halo_buffer_release(in);
}

/* Until the network is gone: that a message did not come is all that anybody knows. */
static void faults_network(faults *f) {
  static const char *const named[] = {
      "nothing came from", "was not taken", "failed: ", "mpi: ", "tcp: ", NULL};
  halo_buffer *in = faults_put(f);
  halo_status status = HALO_OK;
  double since = process_now(), until = since + 60;
  printf("running\n");
  fflush(stdout);
  while (status == HALO_OK && process_now() < until) {
    since = process_now();
    status = faults_run(f, in);
  }
  faults_expect(f, status, since, named);
  _exit(0);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  int times = argc > 2 ? atoi(argv[2]) : 1;
  faults f = {0};
  if (halo_communicator_open(halo_communicator_default(), &f.communicator) != HALO_OK) {
    process_die("a communicator");
  }
  f.me = f.communicator->process;
  f.count = f.communicator->process_count;
  halo_client_options options = {.communicator = f.communicator,
                                 .collective_timeout = faults_timeout};
  /* Of arrays of 4 MiB: the argument, the result and temporaries of a run, and little more. */
  if (strcmp(mode, "memory") == 0) options.memory_limit = 24 << 20;
  if (halo_client_create(&options, &f.client) != HALO_OK) process_die("a client");
  if (process_compile(f.client, "add", FAULTS_COUNT, f.count, &f.executable) != HALO_OK) {
    process_die("a program");
  }
  if (strncmp(mode, "killed-", 7) == 0) {
    faults_killed(&f, mode);
  } else if (strcmp(mode, "skip") == 0) {
    faults_skip(&f, times);
  } else if (strcmp(mode, "different") == 0) {
    faults_different(&f, times);
  } else if (strcmp(mode, "memory") == 0) {
    faults_memory(&f, times);
  } else if (strcmp(mode, "network") == 0) {
    faults_network(&f);
  } else {
    fprintf(stderr, "usage: faults MODE [TIMES]\n");
    return 2;
  }
  halo_executable_release(f.executable);
  halo_client_release(f.client);
  halo_communicator_close(f.communicator);
  return 0;
}

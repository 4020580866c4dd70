/* SPDX-License-Identifier: Apache-2.0 */
/* base/worker.c: a pool of threads that grows with the work in progress. */
#include "base/worker.h"

#include "base/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { WORKER_IDLE_SECONDS = 2 };

typedef struct worker_job {
  void (*work)(void *data);
  void *data;
  struct worker_job *next;
} worker_job;

static pthread_mutex_t worker_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t worker_wake = PTHREAD_COND_INITIALIZER;
static worker_job *worker_first, **worker_end = &worker_first;
static int worker_waiting; /* jobs in the list */
static int worker_idle;    /* threads that wait for one */

/* The next job, or NULL after a while without any; the lock is held. */
static worker_job *worker_take(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += WORKER_IDLE_SECONDS;
  worker_idle++;
  int code = 0;
  while (!worker_first && code != ETIMEDOUT) {
    code = pthread_cond_timedwait(&worker_wake, &worker_lock, &until);
  }
  worker_idle--;
  worker_job *job = worker_first;
  if (!job) return NULL;
  worker_first = job->next;
  if (!worker_first) worker_end = &worker_first;
  worker_waiting--;
  return job;
}

bool halo_thread_start(void *(*main)(void *data), void *data) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  bool started = pthread_create(&thread, &attributes, main, data) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

static void *worker_main(void *first) {
  for (worker_job *job = first; job;) {
    job->work(job->data);
    halo_free(job);
    pthread_mutex_lock(&worker_lock);
    job = worker_take();
    pthread_mutex_unlock(&worker_lock);
  }
  return NULL;
}

void halo_worker_run(void (*work)(void *data), void *data) {
  worker_job *job = halo_alloc(sizeof *job);
  *job = (worker_job){.work = work, .data = data};
  pthread_mutex_lock(&worker_lock);
  bool take_idle = worker_idle > worker_waiting;
  if (take_idle) {
    *worker_end = job;
    worker_end = &job->next;
    worker_waiting++;
    pthread_cond_signal(&worker_wake);
  }
  pthread_mutex_unlock(&worker_lock);
  if (take_idle || halo_thread_start(worker_main, job)) return;
  halo_free(job);
  work(data);
}

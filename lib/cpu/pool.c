/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/pool.c: threads among which a launch's work items are shared out. */
#include "base/worker.h"
#include "cpu/objects.h"

#include <sched.h>

/* A launch whose items are being given out. It lies on the stack of the thread that began it. */
typedef struct pool_job {
  cpu_work *work;
  void *data;
  size_t count, piece;
  atomic_size_t next;
  int helpers, most; /* other threads that work on it, and how many may; under the lock */
  size_t own;        /* items that the thread that began it has done */
  cl_ulong waited;   /* nanoseconds that it has waited for the others */
  struct pool_job *following;
} pool_job;

enum {
  POOL_THREADS = 255,
  POOL_SPINS = 400, /* looks for work before a thread sleeps: some microseconds */
  POOL_PIECES = 8   /* of a launch, for each thread */
};
/* Nanoseconds that the others are not woken for, and that a piece of a launch takes at least. */
static const double POOL_WORTH = 6000, POOL_PIECE = 3000;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_wake = PTHREAD_COND_INITIALIZER; /* there is a job */
static pthread_cond_t pool_left = PTHREAD_COND_INITIALIZER; /* a helper has left a job */
static pool_job *pool_jobs;
static int pool_threads, pool_sleeping;
static atomic_uint pool_posted; /* jobs so far */

cl_uint cpu_pool_cores(void) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
  return cores < 1 ? 1 : cores > POOL_THREADS ? POOL_THREADS : (cl_uint)cores;
}

/* Gives how many items it has done. */
static size_t pool_work(pool_job *job) {
  size_t done = 0;
  for (size_t at; (at = atomic_fetch_add(&job->next, job->piece)) < job->count;) {
    size_t end = job->count - at < job->piece ? job->count : at + job->piece;
    job->work(job->data, at, end);
    done += end - at;
  }
  return done;
}

/* A job with work left that takes another thread; the lock is held. */
static pool_job *pool_find(void) {
  for (pool_job *job = pool_jobs; job; job = job->following) {
    if (job->helpers < job->most && atomic_load(&job->next) < job->count) return job;
  }
  return NULL;
}

static void pool_look(unsigned seen) {
  for (int i = 0; i < POOL_SPINS && atomic_load(&pool_posted) == seen; i++) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

static void *pool_serve(void *unused) {
  (void)unused;
  pthread_mutex_lock(&pool_lock);
  for (;;) {
    pool_job *job = pool_find();
    if (job) {
      job->helpers++;
      pthread_mutex_unlock(&pool_lock);
      pool_work(job);
      pthread_mutex_lock(&pool_lock);
      if (--job->helpers == 0) pthread_cond_broadcast(&pool_left);
      continue;
    }
    unsigned seen = atomic_load(&pool_posted);
    pthread_mutex_unlock(&pool_lock);
    pool_look(seen);
    pthread_mutex_lock(&pool_lock);
    if (atomic_load(&pool_posted) != seen) continue;
    pool_sleeping++;
    pthread_cond_wait(&pool_wake, &pool_lock);
    pool_sleeping--;
  }
  return NULL;
}

/* The lock is held. */
static void pool_start_threads(int wanted) {
  while (pool_threads < wanted && halo_thread_start(pool_serve, NULL)) pool_threads++;
}

static void pool_run_job(cl_uint units, pool_job *job) {
  pthread_mutex_lock(&pool_lock);
  pool_start_threads((int)units - 1);
  job->following = pool_jobs;
  pool_jobs = job;
  atomic_fetch_add(&pool_posted, 1);
  int wake = pool_sleeping < job->most ? pool_sleeping : job->most;
  for (int i = 0; i < wake; i++) pthread_cond_signal(&pool_wake);
  pthread_mutex_unlock(&pool_lock);
  job->own = pool_work(job);
  cl_ulong before = cpu_now();
  pthread_mutex_lock(&pool_lock);
  pool_job **at = &pool_jobs;
  while (*at != job) at = &(*at)->following;
  *at = job->following;
  while (job->helpers > 0) pthread_cond_wait(&pool_left, &pool_lock);
  pthread_mutex_unlock(&pool_lock);
  job->waited = cpu_now() - before;
}

void cpu_pool_run(cl_uint units, size_t count, _Atomic(float) *each, cpu_work *work, void *data) {
  if (count == 0) return;
  double known = atomic_load_explicit(each, memory_order_relaxed);
  bool alone = units < 2 || count < 2 || (known > 0 && known * (double)count < POOL_WORTH);
  cl_ulong start = cpu_now();
  if (alone) {
    work(data, 0, count);
  } else {
    size_t piece = count / ((size_t)units * POOL_PIECES), most = (count + units - 1) / units;
    double least = known > 0 ? POOL_PIECE / known : 1;
    if ((double)piece < least) piece = least < (double)most ? (size_t)least : most;
    pool_job job = {.work = work, .data = data, .count = count, .most = (int)units - 1};
    job.piece = piece ? piece : 1;
    atomic_init(&job.next, 0);
    pool_run_job(units, &job);
    count = job.own ? job.own : 1;
    start += job.waited;
  }
  double taken = (double)(cpu_now() - start) / (double)count;
  atomic_store_explicit(each, (float)(taken > 0.5 ? taken : 0.5), memory_order_relaxed);
}

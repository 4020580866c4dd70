/* SPDX-License-Identifier: Apache-2.0 */
/* tools/progress.c: a thread that shows how far compiling has come. */
#include "progress.h"

#include "tool.h"

#include "halo/client.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const double PROGRESS_PATIENCE = 3; /* seconds */
enum { PROGRESS_PAUSE = 250000000 };       /* nanoseconds */

static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress_wake = PTHREAD_COND_INITIALIZER;
static pthread_t progress_thread;
static bool progress_runs, progress_ends;

/* Whether there is a line now. */
static bool progress_show(bool shown) {
  halo_compile_progress now;
  halo_get_compile_progress(&now);
  if (!now.active || now.seconds < PROGRESS_PATIENCE) {
    if (shown) fputs("\r\033[K", stderr);
    return false;
  }
  fputs("\rcompiling: ", stderr);
  if (now.kernels > 0) fprintf(stderr, "%d of %d kernels, ", now.compiled_kernels, now.kernels);
  fprintf(stderr, "%.0f s%s\033[K", now.seconds, now.kept ? "; kept for next time" : "");
  fflush(stderr);
  return true;
}

static void *progress_run(void *unused) {
  bool shown = false;
  (void)unused;
  pthread_mutex_lock(&progress_lock);
  while (!progress_ends) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PROGRESS_PAUSE;
    if (until.tv_nsec >= 1000000000) {
      until.tv_nsec -= 1000000000;
      until.tv_sec++;
    }
    pthread_cond_timedwait(&progress_wake, &progress_lock, &until);
    if (!progress_ends) shown = progress_show(shown);
  }
  pthread_mutex_unlock(&progress_lock);
  if (shown) fputs("\r\033[K", stderr);
  return NULL;
}

void progress_start(void) {
  if (progress_runs || !tool_is_first() || !isatty(STDERR_FILENO)) return;
  progress_ends = false;
  progress_runs = pthread_create(&progress_thread, NULL, progress_run, NULL) == 0;
}

void progress_stop(void) {
  if (!progress_runs) return;
  pthread_mutex_lock(&progress_lock);
  progress_ends = true;
  pthread_cond_signal(&progress_wake);
  pthread_mutex_unlock(&progress_lock);
  pthread_join(progress_thread, NULL);
  progress_runs = false;
}

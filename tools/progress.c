/* SPDX-License-Identifier: Apache-2.0 */
/* tools/progress.c: a thread that shows what takes long. */
#include "progress.h"

#include "tool.h"

#include "halo/client.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const double PROGRESS_PATIENCE = 3; /* seconds */
enum { PROGRESS_PAUSE = 250000000 };       /* nanoseconds */

static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress_wake = PTHREAD_COND_INITIALIZER;
static pthread_t progress_thread;
static bool progress_runs, progress_ends;
static char progress_measured[80]; /* empty: nothing is being measured */
static double progress_since;      /* when that began */

/* Whether there is a line now. */
static bool progress_show(bool shown) {
  halo_compile_progress now;
  halo_get_compile_progress(&now);
  double measuring = progress_measured[0] ? tool_now() - progress_since : 0;
  if (now.active && now.seconds >= PROGRESS_PATIENCE) {
    fputs("\rcompiling: ", stderr);
    if (now.kernels > 0) fprintf(stderr, "%d of %d kernels, ", now.compiled_kernels, now.kernels);
    fprintf(stderr, "%.0f s%s\033[K", now.seconds, now.kept ? "; kept for next time" : "");
  } else if (measuring >= PROGRESS_PATIENCE) {
    fprintf(stderr, "\rmeasuring %s, %.0f s\033[K", progress_measured, measuring);
  } else {
    if (shown) fputs("\r\033[K", stderr);
    return false;
  }
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

void progress_measure(const char *format, ...) {
  progress_stop();
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(progress_measured, sizeof progress_measured, format, arguments);
  va_end(arguments);
  progress_since = tool_now();
  progress_start();
}

void progress_stop(void) {
  if (progress_runs) {
    pthread_mutex_lock(&progress_lock);
    progress_ends = true;
    pthread_cond_signal(&progress_wake);
    pthread_mutex_unlock(&progress_lock);
    pthread_join(progress_thread, NULL);
    progress_runs = false;
  }
  progress_measured[0] = '\0';
}

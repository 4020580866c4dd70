/* SPDX-License-Identifier: Apache-2.0 */
/* base/progress.c: counts of the compilations that go on. */
#include "base/progress.h"

#include "base/clock.h"

#include <pthread.h>

static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;
static halo_progress progress_now;
static int progress_depth;
static double progress_start;

void halo_progress_begin(void) {
  pthread_mutex_lock(&progress_lock);
  if (progress_depth++ == 0) {
    progress_now = (halo_progress){.active = true, .kept = true};
    progress_start = halo_clock();
  }
  pthread_mutex_unlock(&progress_lock);
}

void halo_progress_end(void) {
  pthread_mutex_lock(&progress_lock);
  progress_now.active = --progress_depth > 0;
  pthread_mutex_unlock(&progress_lock);
}

void halo_progress_expect(int kernels, bool kept) {
  pthread_mutex_lock(&progress_lock);
  progress_now.kernels += kernels;
  progress_now.kept = progress_now.kept && kept;
  pthread_mutex_unlock(&progress_lock);
}

void halo_progress_done(int kernels) {
  pthread_mutex_lock(&progress_lock);
  progress_now.done += kernels;
  /* The same kernel may be compiled for several queues, of which one was counted. */
  if (progress_now.done > progress_now.kernels) progress_now.done = progress_now.kernels;
  pthread_mutex_unlock(&progress_lock);
}

halo_progress halo_progress_get(void) {
  pthread_mutex_lock(&progress_lock);
  halo_progress now = progress_now;
  if (now.active) now.seconds = halo_clock() - progress_start;
  pthread_mutex_unlock(&progress_lock);
  return now;
}

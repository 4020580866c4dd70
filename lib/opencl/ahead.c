/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/ahead.c: how long the device will take for what is queued. Drivers end what waits for too long (i915 after some 15
 * seconds), and a display waits behind it.
 *
 * Estimates are far off for some kernels, so each is multiplied by what the last ones turned out to take. The work that is queued is
 * cut into pieces by markers. Whoever finds all markers outstanding waits for the oldest; between two such waits the device was
 * busy, so that the time between them is what the piece took. */
#include "base/clock.h"
#include "base/memory.h"
#include "opencl/event.h"
#include "opencl/private.h"

#include <pthread.h>
#include <string.h>

enum { AHEAD_PIECES = 4 };
/* Seconds that all pieces together should take, and how many times longer than expected work may take until that was measured. */
static const double AHEAD_MOST = 1, AHEAD_DOUBT = 50;
/* Within which limits that is believed, and how much less at most than the piece before. */
static const double AHEAD_SLOWEST = 1000, AHEAD_FASTEST = 0.1, AHEAD_EASE = 0.25;

typedef struct ahead_piece {
  cl_event end;
  double expected; /* seconds */
} ahead_piece;

struct halo_cl_ahead {
  pthread_mutex_t lock;
  ahead_piece pieces[AHEAD_PIECES]; /* not seen to have happened; oldest first */
  int count;
  double expected; /* of what was queued since the last piece ended */
  double factor;   /* by which work takes longer than expected */
  double
      waited; /* when the wait for the piece before the oldest one ended; 0: nobody waited for it */
};

halo_cl_ahead *halo_cl_ahead_create(void) {
  halo_cl_ahead *ahead = halo_alloc(sizeof *ahead);
  pthread_mutex_init(&ahead->lock, NULL);
  ahead->factor = AHEAD_DOUBT;
  return ahead;
}

/* Forgets the oldest piece; the lock is held. */
static void ahead_drop(halo_cl_ahead *ahead, double waited) {
  halo_cl.clReleaseEvent(ahead->pieces[0].end);
  ahead->count--;
  memmove(ahead->pieces, ahead->pieces + 1, sizeof *ahead->pieces * (size_t)ahead->count);
  ahead->waited = waited;
}

void halo_cl_ahead_release(halo_cl_ahead *ahead) {
  if (!ahead) return;
  while (ahead->count) ahead_drop(ahead, 0);
  pthread_mutex_destroy(&ahead->lock);
  halo_free(ahead);
}

void halo_cl_ahead_add(halo_cl_device *device, cl_command_queue queue, double seconds) {
  halo_cl_ahead *ahead = device->ahead;
  if (!ahead || !(seconds > 0)) return;
  pthread_mutex_lock(&ahead->lock);
  ahead->expected += seconds;
  cl_event end;
  bool ends = ahead->expected * ahead->factor * AHEAD_PIECES >= AHEAD_MOST;
  if (ends && ahead->count < AHEAD_PIECES &&
      halo_cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, &end) == CL_SUCCESS) {
    ahead->pieces[ahead->count++] = (ahead_piece){end, ahead->expected};
    ahead->expected = 0;
  }
  pthread_mutex_unlock(&ahead->lock);
}

/* The lock is held. */
static bool ahead_is_full(halo_cl_ahead *ahead) {
  while (ahead->count && halo_cl_has_happened(ahead->pieces[0].end)) ahead_drop(ahead, 0);
  return ahead->count == AHEAD_PIECES;
}

bool halo_cl_ahead_is_full(halo_cl_device *device) {
  halo_cl_ahead *ahead = device->ahead;
  if (!ahead) return false;
  pthread_mutex_lock(&ahead->lock);
  bool full = ahead_is_full(ahead);
  pthread_mutex_unlock(&ahead->lock);
  return full;
}

/* The time of the oldest piece is known; the lock is held. */
static void ahead_measure(halo_cl_ahead *ahead, double now) {
  if (ahead->waited > 0) {
    double factor = (now - ahead->waited) / ahead->pieces[0].expected;
    double least = ahead->factor * AHEAD_EASE;
    if (least < AHEAD_FASTEST) least = AHEAD_FASTEST;
    ahead->factor = factor < least ? least : factor > AHEAD_SLOWEST ? AHEAD_SLOWEST : factor;
  }
  ahead_drop(ahead, now);
}

void halo_cl_ahead_limit(halo_cl_device *device) {
  halo_cl_ahead *ahead = device->ahead;
  if (!ahead) return;
  pthread_mutex_lock(&ahead->lock);
  while (ahead_is_full(ahead)) {
    cl_event oldest = ahead->pieces[0].end;
    halo_cl.clRetainEvent(oldest);
    pthread_mutex_unlock(&ahead->lock);
    (void)halo_cl_await(oldest); /* a failure is told by the events of whose it is */
    double now = halo_clock();
    pthread_mutex_lock(&ahead->lock);
    /* Another thread may have waited for it, too. */
    if (ahead->count && ahead->pieces[0].end == oldest) ahead_measure(ahead, now);
    halo_cl.clReleaseEvent(oldest);
  }
  pthread_mutex_unlock(&ahead->lock);
}

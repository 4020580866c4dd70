/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/timeline.c: which commands of the programs' queue have happened, and what goes on beside it. */
#include "base/memory.h"
#include "base/vec.h"
#include "opencl/event.h"
#include "opencl/private.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

typedef struct timeline_entry {
  uint64_t ticket;
  cl_event event;
} timeline_entry;

struct halo_cl_timeline {
  pthread_mutex_t lock;
  pthread_cond_t idle;
  HALO_VEC(timeline_entry) open; /* from `first` on: not seen to have happened; oldest first */
  int32_t first;
  atomic_uint_fast64_t last; /* written under the lock */
  int working;               /* pieces of work on host threads */
};

/* Events looked at when one is added: more than one, so that the list stays as short as the queue. */
enum { TIMELINE_LOOK = 3 };

halo_cl_timeline *halo_cl_timeline_create(void) {
  halo_cl_timeline *timeline = halo_alloc(sizeof *timeline);
  pthread_mutex_init(&timeline->lock, NULL);
  pthread_cond_init(&timeline->idle, NULL);
  return timeline;
}

void halo_cl_timeline_release(halo_cl_timeline *timeline) {
  if (!timeline) return;
  for (int32_t i = timeline->first; i < timeline->open.count; i++) {
    halo_cl.clReleaseEvent(timeline->open.data[i].event);
  }
  halo_vec_deinit(&timeline->open);
  pthread_cond_destroy(&timeline->idle);
  pthread_mutex_destroy(&timeline->lock);
  halo_free(timeline);
}

/* Forgets up to `most` of the oldest that have happened; the lock is held. */
static void timeline_advance(halo_cl_timeline *timeline, int32_t most) {
  for (; most > 0 && timeline->first < timeline->open.count; most--) {
    cl_event oldest = timeline->open.data[timeline->first].event;
    if (!halo_cl_has_happened(oldest)) return;
    halo_cl.clReleaseEvent(oldest);
    timeline->first++;
  }
  if (timeline->first == timeline->open.count) timeline->first = timeline->open.count = 0;
}

/* An event that happens no sooner than `last` and than all that is on the queue; the lock is held. */
static cl_event timeline_behind_all(halo_cl_device *device, cl_event last) {
  cl_event behind;
  if (halo_cl.clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &behind) == CL_SUCCESS)
    return behind;
  halo_cl.clFinish(device->queue);
  halo_cl.clRetainEvent(last);
  return last;
}

uint64_t halo_cl_timeline_note(halo_cl_device *device, cl_event last, uint64_t since) {
  halo_cl_timeline *timeline = device->timeline;
  pthread_mutex_lock(&timeline->lock);
  if (atomic_load(&timeline->last) == since) {
    halo_cl.clRetainEvent(last);
  } else {
    last = timeline_behind_all(device, last);
  }
  timeline_advance(timeline, TIMELINE_LOOK);
  int32_t count = timeline->open.count - timeline->first;
  if (timeline->first > count && timeline->open.count == timeline->open.capacity) {
    memmove(timeline->open.data, timeline->open.data + timeline->first,
            sizeof *timeline->open.data * (size_t)count);
    timeline->first = 0;
    timeline->open.count = count;
  }
  uint64_t ticket = atomic_fetch_add(&timeline->last, 1) + 1;
  halo_vec_push(&timeline->open, ((timeline_entry){ticket, last}));
  pthread_mutex_unlock(&timeline->lock);
  return ticket;
}

uint64_t halo_cl_timeline_last(halo_cl_device *device) {
  return atomic_load(&device->timeline->last);
}

cl_event halo_cl_timeline_event(halo_cl_device *device, uint64_t ticket) {
  halo_cl_timeline *timeline = device->timeline;
  cl_event event = NULL;
  pthread_mutex_lock(&timeline->lock);
  timeline_advance(timeline, INT32_MAX);
  if (timeline->first < timeline->open.count) {
    const timeline_entry *oldest = &timeline->open.data[timeline->first];
    if (ticket >= oldest->ticket) event = oldest[ticket - oldest->ticket].event;
  }
  if (event) halo_cl.clRetainEvent(event);
  pthread_mutex_unlock(&timeline->lock);
  return event;
}

void halo_cl_work_begin(halo_cl_device *device) {
  halo_cl_device_retain(device);
  pthread_mutex_lock(&device->timeline->lock);
  device->timeline->working++;
  pthread_mutex_unlock(&device->timeline->lock);
}

void halo_cl_work_end(halo_cl_device *device) {
  halo_cl_timeline *timeline = device->timeline;
  pthread_mutex_lock(&timeline->lock);
  /* Whoever waits for this, and may end the process then, finds the reference gone. */
  bool last = atomic_fetch_sub(&device->references, 1) == 1;
  if (--timeline->working == 0) pthread_cond_broadcast(&timeline->idle);
  pthread_mutex_unlock(&timeline->lock);
  if (last) device->destroy(device);
}

void halo_cl_timeline_drain(halo_cl_timeline *timeline, const struct timespec *until) {
  pthread_mutex_lock(&timeline->lock);
  int code = 0;
  while (timeline->working > 0 && code != ETIMEDOUT) {
    code = until ? pthread_cond_timedwait(&timeline->idle, &timeline->lock, until)
                 : pthread_cond_wait(&timeline->idle, &timeline->lock);
  }
  pthread_mutex_unlock(&timeline->lock);
}

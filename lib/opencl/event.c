/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/event.c: events: their three states, failures that travel, and callbacks. */
#include "opencl/event.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/vec.h"
#include "base/worker.h"
#include "opencl/opencl.h"
#include "opencl/private.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef enum event_state { EVENT_PENDING, EVENT_QUEUED, EVENT_OVER } event_state;

typedef struct event_call {
  halo_cl_event_callback call;
  void *data;
} event_call;

typedef HALO_VEC(event_call) event_calls;
typedef HALO_VEC(halo_cl_event *) event_list;

struct halo_cl_event {
  atomic_int references;
  atomic_int state; /* an event_state; written under the lock */
  pthread_mutex_t lock;
  pthread_cond_t changed; /* from pending */
  cl_event handle;        /* while queued */
  event_list causes;      /* while pending or queued; each with a reference */
  halo_status status;     /* once over */
  char *message;          /* of a failure */
  event_calls when_queued, when_over;
  bool watched;  /* the driver was asked to call back */
  char work[40]; /* what it ends, for messages */
};

/* ---- Life ---- */

halo_cl_event *halo_cl_event_create(void) {
  halo_cl_event *event = halo_alloc(sizeof *event);
  atomic_init(&event->references, 1);
  atomic_init(&event->state, EVENT_PENDING);
  pthread_mutex_init(&event->lock, NULL);
  pthread_cond_init(&event->changed, NULL);
  return event;
}

void halo_cl_event_set_work(halo_cl_event *event, const char *work) {
  size_t length = strnlen(work, sizeof event->work - 1);
  memcpy(event->work, work, length);
  event->work[length] = '\0';
}

void halo_cl_event_retain(halo_cl_event *event) {
  if (event) atomic_fetch_add(&event->references, 1);
}

static void event_free(halo_cl_event *event) {
  if (event->handle && !halo_cl_is_forked()) halo_cl.clReleaseEvent(event->handle);
  halo_vec_deinit(&event->causes);
  halo_vec_deinit(&event->when_queued);
  halo_vec_deinit(&event->when_over);
  halo_free(event->message);
  pthread_cond_destroy(&event->changed);
  pthread_mutex_destroy(&event->lock);
  halo_free(event);
}

/* Chains of causes may be as long as a program runs without being waited for: no recursion. */
void halo_cl_event_release(halo_cl_event *event) {
  if (!event || atomic_fetch_sub(&event->references, 1) != 1) return;
  event_list dead = {0};
  halo_vec_push(&dead, event);
  while (dead.count) {
    halo_cl_event *last = dead.data[--dead.count];
    for (int32_t i = 0; i < last->causes.count; i++) {
      halo_cl_event *cause = last->causes.data[i];
      if (atomic_fetch_sub(&cause->references, 1) == 1) halo_vec_push(&dead, cause);
    }
    event_free(last);
  }
  halo_vec_deinit(&dead);
}

static const double EVENT_LOOK = 2e-5; /* seconds */

static event_state event_get_state(halo_cl_event *event) {
  return (event_state)atomic_load_explicit(&event->state, memory_order_acquire);
}

void halo_cl_event_add_cause(halo_cl_event *event, halo_cl_event *cause) {
  if (!cause) return;
  pthread_mutex_lock(&cause->lock);
  bool harmless = event_get_state(cause) == EVENT_OVER && cause->status == HALO_OK;
  pthread_mutex_unlock(&cause->lock);
  if (harmless) return;
  halo_cl_event_retain(cause);
  pthread_mutex_lock(&event->lock);
  halo_vec_push(&event->causes, cause);
  pthread_mutex_unlock(&event->lock);
}

/* ---- OpenCL's events ---- */

bool halo_cl_has_happened(cl_event handle) {
  cl_int state = CL_QUEUED;
  if (!handle || halo_cl_is_forked()) return true; /* waiting says what is wrong */
  cl_int code =
      halo_cl.clGetEventInfo(handle, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  return code != CL_SUCCESS || state <= CL_COMPLETE;
}

/* How a command ended, of work that is called `work` ("": something). */
static halo_status event_check(cl_event handle, const char *work) {
  cl_int state = CL_COMPLETE;
  if (!handle) return HALO_OK;
  HALO_TRY(halo_cl_check(
      halo_cl.clGetEventInfo(handle, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
      "clGetEventInfo"));
  if (state >= CL_COMPLETE) return HALO_OK;
  char what[sizeof((halo_cl_event *)0)->work + 64];
  snprintf(what, sizeof what, "a command on the device%s%s", *work ? ", of " : "", work);
  halo_status status = halo_cl_check(state, what);
  if (halo_cl_is_memory_error(state)) {
    return halo_fail(status,
                     "%s failed: %s (%d): memory was short, or a kernel used memory that is not "
                     "its own" HALO_CL_LOST,
                     what, halo_cl_code_name(state), (int)state);
  }
  /* No other driver says so of a command. */
  if (state != CL_DEVICE_NOT_FOUND) return status;
  return halo_fail(status,
                   "a command on the device failed: CL_DEVICE_NOT_FOUND (-1): PoCL links kernels "
                   "by the program ld, and could not: a folder of PATH must have it, and the "
                   "process must not ignore SIGCHLD");
}

/* Looks for a while whether the command is over: being woken takes longer than most small programs. Whoever
 * else has something to do, such as the device's own threads, goes first. */
bool halo_cl_look(cl_event handle) {
  double end = halo_clock() + EVENT_LOOK;
  bool happened;
  while (!(happened = halo_cl_has_happened(handle)) && halo_clock() < end) sched_yield();
  return happened;
}

halo_status halo_cl_await(cl_event handle) {
  if (!handle) return HALO_OK;
  HALO_TRY(halo_cl_process_check());
  (void)halo_cl_look(handle);
  cl_int code = halo_cl.clWaitForEvents(1, &handle);
  /* That code only says that the event failed; the event itself says why. */
  if (code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
    HALO_TRY(halo_cl_check(code, "clWaitForEvents"));
  }
  return event_check(handle, "");
}

/* ---- The end ---- */

static void event_run_calls(halo_cl_event *event, event_calls *calls) {
  for (int32_t i = 0; i < calls->count; i++) calls->data[i].call(event, calls->data[i].data);
  halo_vec_deinit(calls);
}

/* Ends an event with this outcome, unless that was done before. */
static void event_end(halo_cl_event *event, halo_status status, const char *message) {
  event_calls queued = {0}, over = {0};
  event_list causes = {0};
  cl_event handle = NULL;
  pthread_mutex_lock(&event->lock);
  if (event_get_state(event) != EVENT_OVER) {
    event->status = status;
    if (status != HALO_OK) event->message = halo_strdup(message);
    queued = event->when_queued;
    over = event->when_over;
    causes = event->causes;
    handle = event->handle;
    event->handle = NULL;
    event->when_queued = event->when_over = (event_calls){0};
    event->causes = (event_list){0};
    atomic_store_explicit(&event->state, EVENT_OVER, memory_order_release);
    pthread_cond_broadcast(&event->changed);
  }
  pthread_mutex_unlock(&event->lock);
  for (int32_t i = 0; i < causes.count; i++) halo_cl_event_release(causes.data[i]);
  halo_vec_deinit(&causes);
  if (handle && !halo_cl_is_forked()) halo_cl.clReleaseEvent(handle);
  event_run_calls(event, &queued);
  event_run_calls(event, &over);
}

/* The failure of an event that is over, as this thread's message. */
static halo_status event_outcome(const halo_cl_event *event) {
  if (event->status == HALO_OK) return HALO_OK;
  return halo_fail(event->status, "%s", event->message);
}

/* A cause that is not over, with a new reference; else NULL and the outcome: a cause's, or the work's. */
static halo_cl_event *event_next_cause(halo_cl_event *event, halo_status *status) {
  halo_cl_event *open = NULL;
  *status = HALO_OK;
  pthread_mutex_lock(&event->lock);
  for (int32_t i = 0; i < event->causes.count && !open && *status == HALO_OK; i++) {
    halo_cl_event *cause = event->causes.data[i];
    if (event_get_state(cause) != EVENT_OVER) {
      open = cause;
      halo_cl_event_retain(cause);
    } else {
      *status = event_outcome(cause);
    }
  }
  if (!open && *status == HALO_OK) *status = event_check(event->handle, event->work);
  pthread_mutex_unlock(&event->lock);
  return open;
}

/* Ends a queued event whose command has happened, after the causes that it waited for: those first. */
static void event_settle(halo_cl_event *event) {
  event_list stack = {0};
  halo_status status;
  halo_cl_event_retain(event);
  halo_vec_push(&stack, event);
  while (stack.count) {
    halo_cl_event *top = stack.data[stack.count - 1];
    halo_cl_event *cause =
        event_get_state(top) == EVENT_OVER ? NULL : event_next_cause(top, &status);
    if (cause && event_get_state(cause) == EVENT_QUEUED) {
      halo_vec_push(&stack, cause);
      continue;
    }
    if (cause) {
      /* Over meanwhile, or a promise that somebody waited for: ends in a moment. */
      (void)halo_cl_event_wait(cause);
      halo_cl_event_release(cause);
      continue;
    }
    if (event_get_state(top) != EVENT_OVER) event_end(top, status, halo_error_message());
    halo_cl_event_release(top);
    stack.count--;
  }
  halo_vec_deinit(&stack);
}

void halo_cl_event_set_done(halo_cl_event *event) {
  halo_status status;
  halo_cl_event *cause;
  while ((cause = event_next_cause(event, &status)) != NULL) {
    (void)halo_cl_event_wait(cause);
    halo_cl_event_release(cause);
  }
  event_end(event, status, halo_error_message());
}

void halo_cl_event_set_failed(halo_cl_event *event, halo_status status, const char *message) {
  event_end(event, status, message);
}

static void event_watch(halo_cl_event *event);

void halo_cl_event_set_queued(halo_cl_event *event, cl_event handle) {
  event_calls queued = {0};
  bool watch = false;
  pthread_mutex_lock(&event->lock);
  if (event_get_state(event) == EVENT_PENDING) {
    event->handle = handle;
    handle = NULL;
    queued = event->when_queued;
    event->when_queued = (event_calls){0};
    watch = event->when_over.count > 0;
    atomic_store_explicit(&event->state, EVENT_QUEUED, memory_order_release);
    pthread_cond_broadcast(&event->changed);
  }
  pthread_mutex_unlock(&event->lock);
  if (handle) halo_cl.clReleaseEvent(handle);
  event_run_calls(event, &queued);
  if (watch) event_watch(event);
}

/* ---- Questions ---- */

bool halo_cl_event_is_queued(halo_cl_event *event) {
  return !event || event_get_state(event) != EVENT_PENDING;
}

cl_event halo_cl_event_handle(halo_cl_event *event) {
  cl_event handle = NULL;
  if (!event || event_get_state(event) != EVENT_QUEUED) return NULL;
  pthread_mutex_lock(&event->lock);
  handle = event->handle;
  if (handle) halo_cl.clRetainEvent(handle);
  pthread_mutex_unlock(&event->lock);
  return handle;
}

bool halo_cl_event_is_over(halo_cl_event *event) {
  if (!event || event_get_state(event) == EVENT_OVER) return true;
  cl_event handle = halo_cl_event_handle(event);
  if (!handle) return event_get_state(event) == EVENT_OVER;
  bool happened = halo_cl_has_happened(handle);
  if (!halo_cl_is_forked()) halo_cl.clReleaseEvent(handle);
  if (happened) event_settle(event);
  return happened;
}

halo_status halo_cl_event_failure(halo_cl_event *event) {
  return event && event_get_state(event) == EVENT_OVER ? event_outcome(event) : HALO_OK;
}

halo_status halo_cl_event_wait_queued(halo_cl_event *event) {
  if (halo_cl_event_is_queued(event)) return HALO_OK;
  HALO_TRY(halo_cl_process_check());
  pthread_mutex_lock(&event->lock);
  while (event_get_state(event) == EVENT_PENDING) {
    pthread_cond_wait(&event->changed, &event->lock);
  }
  pthread_mutex_unlock(&event->lock);
  return HALO_OK;
}

halo_status halo_cl_event_wait(halo_cl_event *event) {
  if (!event) return HALO_OK;
  if (event_get_state(event) != EVENT_OVER) HALO_TRY(halo_cl_process_check());
  HALO_TRY(halo_cl_event_wait_queued(event));
  cl_event handle = halo_cl_event_handle(event);
  if (handle) {
    (void)halo_cl_await(handle); /* settling says how it ended */
    halo_cl.clReleaseEvent(handle);
  }
  if (event_get_state(event) != EVENT_OVER) event_settle(event);
  return event_outcome(event);
}

/* ---- Callbacks ---- */

static void event_settle_job(void *data) {
  halo_cl_event *event = data;
  (void)halo_cl_event_wait(event);
  halo_cl_event_release(event);
}

/* From a thread of the driver, which must neither wait nor run for long. */
static void CL_CALLBACK event_happened(cl_event handle, cl_int state, void *data) {
  (void)handle;
  (void)state;
  halo_worker_run(event_settle_job, data);
}

/* Sees to it that a queued event ends without anybody waiting for it. */
static void event_watch(halo_cl_event *event) {
  pthread_mutex_lock(&event->lock);
  bool first = !event->watched && event_get_state(event) == EVENT_QUEUED;
  event->watched |= first;
  pthread_mutex_unlock(&event->lock);
  cl_event handle = first ? halo_cl_event_handle(event) : NULL;
  if (!handle) return;
  halo_cl_event_retain(event);
  if (halo_cl.clSetEventCallback(handle, CL_COMPLETE, event_happened, event) != CL_SUCCESS) {
    halo_worker_run(event_settle_job, event);
  }
  halo_cl.clReleaseEvent(handle);
}

static void event_when(halo_cl_event *event, event_state state, halo_cl_event_callback call,
                       void *data) {
  bool now = true, watch = false;
  if (event) {
    pthread_mutex_lock(&event->lock);
    event_state at = event_get_state(event);
    now = at >= state;
    watch = at == EVENT_QUEUED;
    event_calls *calls = state == EVENT_QUEUED ? &event->when_queued : &event->when_over;
    if (!now) halo_vec_push(calls, ((event_call){call, data}));
    pthread_mutex_unlock(&event->lock);
  }
  if (now) {
    call(event, data);
  } else if (watch) {
    event_watch(event);
  }
}

void halo_cl_event_when_queued(halo_cl_event *event, halo_cl_event_callback call, void *data) {
  event_when(event, EVENT_QUEUED, call, data);
}

void halo_cl_event_when_over(halo_cl_event *event, halo_cl_event_callback call, void *data) {
  if (event) (void)halo_cl_event_is_over(event);
  event_when(event, EVENT_OVER, call, data);
}

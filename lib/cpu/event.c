/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/event.c: events of commands. */
#include "base/memory.h"
#include "cpu/objects.h"

cl_event cpu_event_create(cl_command_queue queue, cl_command_type type) {
  struct _cl_event *event = halo_alloc(sizeof *event);
  event->tag = &halo_cpu_dispatch;
  event->queue = queue;
  event->type = type;
  atomic_init(&event->references, 1);
  atomic_init(&event->status, CL_QUEUED);
  cpu_queue_retain(queue);
  if (queue->timed) event->queued = event->submitted = cpu_now();
  return event;
}

bool cpu_waits_are_valid(cl_uint count, const cl_event *waits) {
  bool good = (count > 0) == (waits != NULL);
  for (cl_uint i = 0; good && i < count; i++) good = waits[i] != NULL;
  return good;
}

bool cpu_event_is_over(cl_event event) {
  return atomic_load_explicit(&event->status, memory_order_acquire) <= CL_COMPLETE;
}

void cpu_event_end(cl_event event, cl_int status) {
  cl_command_queue queue = event->queue;
  pthread_mutex_lock(&queue->lock);
  cpu_call *calls = event->calls;
  event->calls = NULL;
  atomic_store_explicit(&event->status, status, memory_order_release);
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
  for (cpu_call *next; calls; calls = next) {
    next = calls->next;
    calls->call(event, status, calls->data);
    halo_free(calls);
  }
}

cl_int CL_API_CALL cpu_clRetainEvent(cl_event event) {
  atomic_fetch_add(&event->references, 1);
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clReleaseEvent(cl_event event) {
  if (!event) return CL_INVALID_EVENT;
  if (atomic_fetch_sub(&event->references, 1) != 1) return CL_SUCCESS;
  cl_command_queue queue = event->queue;
  halo_free(event);
  cpu_queue_release(queue);
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clGetEventInfo(cl_event event, cl_event_info what, size_t room, void *out,
                                      size_t *size) {
  cl_int status = atomic_load_explicit(&event->status, memory_order_acquire);
  switch (what) {
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      return cpu_answer(&status, sizeof status, room, out, size);
    case CL_EVENT_COMMAND_QUEUE: { /* a user's event has none for OpenCL */
      cl_command_queue queue = event->type == CL_COMMAND_USER ? NULL : event->queue;
      return cpu_answer(&queue, sizeof queue, room, out, size);
    }
    case CL_EVENT_COMMAND_TYPE:
      return cpu_answer(&event->type, sizeof event->type, room, out, size);
    case CL_EVENT_CONTEXT:
      return cpu_answer(&event->queue->context, sizeof event->queue->context, room, out, size);
    case CL_EVENT_REFERENCE_COUNT:
      return cpu_answer_references(&event->references, room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL cpu_clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t room,
                                               void *out, size_t *size) {
  if (!event->queue->timed || !cpu_event_is_over(event)) return CL_PROFILING_INFO_NOT_AVAILABLE;
  const cl_ulong *time = what == CL_PROFILING_COMMAND_QUEUED   ? &event->queued
                         : what == CL_PROFILING_COMMAND_SUBMIT ? &event->submitted
                         : what == CL_PROFILING_COMMAND_START  ? &event->started
                         : what == CL_PROFILING_COMMAND_END    ? &event->ended
                                                               : NULL;
  return time ? cpu_answer(time, sizeof *time, room, out, size) : CL_INVALID_VALUE;
}

/* Calls for a state before the end are made at the end, too: nobody here waits for less. */
cl_int CL_API_CALL cpu_clSetEventCallback(cl_event event, cl_int state,
                                          void(CL_CALLBACK *call)(cl_event, cl_int, void *),
                                          void *data) {
  bool known = state == CL_COMPLETE || state == CL_RUNNING || state == CL_SUBMITTED;
  if (!call || !known) return CL_INVALID_VALUE;
  cl_command_queue queue = event->queue;
  pthread_mutex_lock(&queue->lock);
  bool over = cpu_event_is_over(event);
  if (!over) {
    cpu_call *c = halo_alloc(sizeof *c);
    *c = (cpu_call){call, data, event->calls};
    event->calls = c;
  }
  pthread_mutex_unlock(&queue->lock);
  if (over) {
    call(event, atomic_load(&event->status), data);
  } else {
    cpu_queue_start(queue);
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clWaitForEvents(cl_uint count, const cl_event *events) {
  cl_int code = CL_SUCCESS;
  if (!count || !events) return CL_INVALID_VALUE;
  if (!cpu_waits_are_valid(count, events)) return CL_INVALID_EVENT;
  for (cl_uint i = 0; i < count; i++) {
    if (!cpu_event_is_over(events[i])) cpu_queue_finish(events[i]->queue, events[i]);
    if (atomic_load(&events[i]->status) < 0) code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* exec/trace.c: a recording of when steps ran, by the clocks of devices. */
#include "exec/trace.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/vec.h"
#include "halo/trace.h"
#include "opencl/event.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  TRACE_MAX_SPANS = 1 << 20,  /* some 100 MB; a recording that is forgotten takes no more */
  TRACE_MAX_PENDING = 1 << 12 /* events; then those that have happened are read out */
};

/* A span with what tells its run from others; `event` is NULL when its times are known. */
typedef struct trace_step {
  halo_trace_span span;
  const void *program;
  uint64_t run, queued; /* queued: CLOCK_REALTIME just after */
  cl_event event;
} trace_step;

static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static HALO_VEC(trace_step) trace_steps;
static int32_t trace_read; /* the first so many have been looked at */
static HALO_VEC(halo_trace_span) trace_spans;
static halo_map trace_names; /* texts outlive the programs that they came from */
atomic_bool halo_trace_is_on;

static uint64_t trace_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const char *trace_name(const char *text) {
  const char *known = halo_map_get_text(&trace_names, text);
  if (known) return known;
  char *copy = halo_strdup(text);
  halo_map_set_text(&trace_names, text, copy);
  return copy;
}

/* A kernel's label is "dot.4 dot:panels": its instruction, and what it is done by. */
static void trace_label(halo_trace_span *span) {
  const char *label = span->step, *space = strrchr(label, ' ');
  if (!space || !strchr(space, ':')) {
    span->step = trace_name(label);
    return;
  }
  char *instruction = halo_strdup(label);
  instruction[space - label] = '\0';
  span->step = trace_name(instruction);
  span->kind = trace_name(space + 1);
  halo_free(instruction);
}

/* ---- The clocks of devices ---- */

/* The difference from a device's clock to CLOCK_REALTIME. A command is queued before the host's clock is read, and a busy
 * machine may come between, so that the smallest difference is nearest to the truth. */
typedef struct trace_clock {
  int device;
  int64_t ahead;
} trace_clock;
static HALO_VEC(trace_clock) trace_clocks;

static trace_clock *trace_clock_of(int device) {
  for (int32_t i = 0; i < trace_clocks.count; i++) {
    if (trace_clocks.data[i].device == device) return &trace_clocks.data[i];
  }
  halo_vec_push(&trace_clocks, (trace_clock){device, INT64_MAX});
  return &trace_clocks.data[trace_clocks.count - 1];
}

/* Reads a step's times, by the device's clock; false: there are none. */
static bool trace_read_event(trace_step *one) {
  const cl_profiling_info whats[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_START,
                                     CL_PROFILING_COMMAND_END};
  cl_ulong times[3] = {0};
  cl_int code = CL_SUCCESS;
  for (int i = 0; i < 3 && code == CL_SUCCESS; i++) {
    code = halo_cl.clGetEventProfilingInfo(one->event, whats[i], sizeof times[i], &times[i], NULL);
  }
  halo_cl.clReleaseEvent(one->event);
  one->event = NULL;
  if (code != CL_SUCCESS) return false;
  trace_clock *clock = trace_clock_of(one->span.device);
  int64_t ahead = (int64_t)(one->queued - times[0]);
  if (ahead < clock->ahead) clock->ahead = ahead;
  one->span.begin = times[1];
  one->span.end = times[2] < times[1] ? times[1] : times[2];
  return true;
}

/* Reads what has happened, so that a long recording holds few events. */
static void trace_sweep(void) {
  int32_t kept = trace_read;
  for (int32_t i = trace_read; i < trace_steps.count; i++) {
    trace_step one = trace_steps.data[i];
    if (one.event && halo_cl_has_happened(one.event) && !trace_read_event(&one)) continue;
    trace_steps.data[kept++] = one;
  }
  trace_steps.count = kept;
  while (trace_read < kept && !trace_steps.data[trace_read].event) trace_read++;
}

/* ---- Recording ---- */

static void trace_push(const halo_run *run, trace_step one) {
  pthread_mutex_lock(&trace_lock);
  if (halo_trace_is_on && trace_steps.count < TRACE_MAX_SPANS) {
    if (trace_steps.count - trace_read >= TRACE_MAX_PENDING) trace_sweep();
    one.program = run->program;
    one.run = run->number;
    one.span.program = trace_name(run->program->plan->name);
    if (one.span.step) trace_label(&one.span);
    one.span.device = run->device;
    halo_vec_push(&trace_steps, one);
    one.event = NULL; /* the recording's now */
  }
  pthread_mutex_unlock(&trace_lock);
  if (one.event) halo_cl.clReleaseEvent(one.event);
}

void halo_trace_add(const halo_run *run, const halo_step *step, cl_event event) {
  trace_step one = {.span = {.step = step->label, .kind = halo_step_kind_name(step->kind)},
                    .queued = trace_now(),
                    .event = event};
  halo_cl.clRetainEvent(event);
  trace_push(run, one);
}

void halo_trace_add_host(const halo_run *run) {
  uint64_t end = trace_now(), took = (uint64_t)(1e9 * (halo_clock() - run->created));
  if (run->created > 0) {
    trace_push(run, (trace_step){.span = {.kind = "run", .begin = end - took, .end = end}});
  }
}

static void trace_clear(void) {
  for (int32_t i = 0; i < trace_steps.count; i++) {
    if (trace_steps.data[i].event) halo_cl.clReleaseEvent(trace_steps.data[i].event);
  }
  trace_steps.count = trace_read = 0;
  trace_clocks.count = 0;
  trace_spans.count = 0;
}

halo_status halo_trace_start(void) {
  pthread_mutex_lock(&trace_lock);
  bool was_on = halo_trace_is_on;
  if (!was_on) trace_clear();
  halo_trace_is_on = true;
  pthread_mutex_unlock(&trace_lock);
  if (!was_on) return HALO_OK;
  return halo_fail(HALO_FAILED_PRECONDITION, "a trace is being recorded already");
}

void halo_trace_stop(void) {
  pthread_mutex_lock(&trace_lock);
  halo_trace_is_on = false;
  pthread_mutex_unlock(&trace_lock);
}

/* ---- Collecting ---- */

static int trace_by_run(const void *a, const void *b) {
  const trace_step *x = a, *y = b;
  if (x->program != y->program) return (uintptr_t)x->program < (uintptr_t)y->program ? -1 : 1;
  if (x->span.device != y->span.device) return x->span.device < y->span.device ? -1 : 1;
  return x->run < y->run ? -1 : x->run > y->run;
}

/* A run comes before its steps. */
static int trace_by_begin(const void *a, const void *b) {
  const halo_trace_span *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->step != NULL) - (y->step != NULL);
}

/* The spans of the steps, by CLOCK_REALTIME, and a span for each run around them. */
static void trace_make_spans(trace_step *steps, int32_t count) {
  int32_t run = -1;
  trace_spans.count = 0;
  qsort(steps, (size_t)count, sizeof *steps, trace_by_run);
  for (int32_t i = 0; i < count; i++) {
    halo_trace_span span = steps[i].span;
    if (span.step) {
      int64_t ahead = trace_clock_of(span.device)->ahead;
      span.begin += (uint64_t)ahead;
      span.end += (uint64_t)ahead;
    }
    if (i == 0 || trace_by_run(&steps[i - 1], &steps[i]) != 0) {
      halo_trace_span whole = span;
      whole.step = NULL;
      whole.kind = "run";
      run = trace_spans.count;
      halo_vec_push(&trace_spans, whole);
    }
    halo_trace_span *whole = &trace_spans.data[run];
    if (span.begin < whole->begin) whole->begin = span.begin;
    if (span.end > whole->end) whole->end = span.end;
    if (span.step) halo_vec_push(&trace_spans, span);
  }
  if (trace_spans.count == 0) return; /* there is no array then */
  qsort(trace_spans.data, (size_t)trace_spans.count, sizeof *trace_spans.data, trace_by_begin);
}

/* Waits without the lock, for which a thread may wait that an event waits for. */
static void trace_await(void) {
  HALO_VEC(cl_event) events = {0};
  pthread_mutex_lock(&trace_lock);
  for (int32_t i = trace_read; i < trace_steps.count; i++) {
    cl_event event = trace_steps.data[i].event;
    if (!event) continue;
    halo_cl.clRetainEvent(event);
    halo_vec_push(&events, event);
  }
  pthread_mutex_unlock(&trace_lock);
  for (int32_t i = 0; i < events.count; i++) {
    /* A step that failed has no times, and is left out. */
    halo_cl.clWaitForEvents(1, &events.data[i]);
    halo_cl.clReleaseEvent(events.data[i]);
  }
  halo_vec_deinit(&events);
}

halo_status halo_trace_collect(const halo_trace_span **spans, int *count) {
  trace_await();
  pthread_mutex_lock(&trace_lock);
  trace_sweep();
  int32_t steps = trace_read;
  trace_step *copy = halo_alloc(sizeof *copy * ((size_t)steps + 1));
  if (steps) memcpy(copy, trace_steps.data, sizeof *copy * (size_t)steps);
  trace_make_spans(copy, steps);
  halo_free(copy);
  *spans = trace_spans.data;
  *count = trace_spans.count;
  pthread_mutex_unlock(&trace_lock);
  return HALO_OK;
}

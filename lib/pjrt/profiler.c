/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/profiler.c: the extension by which a framework's profiler is told when programs and their kernels ran on which
 * device. Times are those of the device's events (halo/trace.h). Devices whose queues do not record them have a row of
 * programs only, with times at which callbacks came. */
#include "halo/trace.h"
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Fields of the messages XSpace, XPlane, XLine, XEvent and XEventMetadata, and of an entry of a map. */
enum { SPACE_PLANES = 1 };
enum { PLANE_ID = 1, PLANE_NAME = 2, PLANE_LINES = 3, PLANE_METADATA = 4 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIMESTAMP_NS = 3, LINE_EVENTS = 4 };
enum { EVENT_METADATA = 1, EVENT_OFFSET_PS = 2, EVENT_DURATION_PS = 3 };
enum { METADATA_ID = 1, METADATA_NAME = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

/* More runs than these are not recorded, so that a profiler that is forgotten takes no more than some 64 MB. */
enum { PROFILER_MAX_RUNS = 1 << 20 };

/* The profiler and the run's end hold a reference each. */
typedef struct profiler_run {
  atomic_int references;
  struct profiler_run *next;
  size_t name;                 /* its place among the row's */
  uint64_t began;              /* ns of the real-time clock */
  atomic_uint_least64_t ended; /* 0: not yet */
} profiler_run;

/* What ran on a device. */
typedef struct profiler_row {
  struct profiler_row *next;
  int device; /* among the client's own */
  char *title;
  char **names; /* of programs, once each */
  size_t name_count;
  profiler_run *first, *last; /* in the order in which they were started */
} profiler_row;

struct PLUGIN_Profiler {
  profiler_row *rows;
  size_t run_count;
  bool traces;      /* the library's trace is this profiler's */
  pjrt_writer data; /* what is collected */
};

static pthread_mutex_t profiler_lock = PTHREAD_MUTEX_INITIALIZER; /* of all of this */
static PLUGIN_Profiler *profiler_started;
static atomic_bool profiler_is_on; /* whether there is one, for those who have no time */

static uint64_t profiler_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Recording ---- */

static void profiler_run_release(profiler_run *run) {
  if (atomic_fetch_sub(&run->references, 1) == 1) free(run);
}

static void profiler_run_ended(halo_status status, const char *message, void *data) {
  profiler_run *run = data;
  (void)status;
  (void)message;
  atomic_store(&run->ended, profiler_now());
  profiler_run_release(run);
}

static profiler_row *profiler_row_of(PLUGIN_Profiler *profiler, const PJRT_Device *device) {
  const PJRT_DeviceDescription *described = &device->description;
  char *title = pjrt_format("/device:CUSTOM:HALO:%d %s", described->id, described->kind);
  profiler_row **at = &profiler->rows;
  while (*at && strcmp((*at)->title, title) != 0) at = &(*at)->next;
  if (*at) {
    free(title);
  } else {
    *at = pjrt_alloc(sizeof **at);
    (*at)->title = title;
    (*at)->device = device->local;
  }
  return *at;
}

static size_t profiler_name_of(profiler_row *row, const char *name) {
  for (size_t i = 0; i < row->name_count; i++) {
    if (strcmp(row->names[i], name) == 0) return i;
  }
  char **grown = pjrt_alloc(sizeof *grown * (row->name_count + 1));
  if (row->name_count) memcpy(grown, row->names, sizeof *grown * row->name_count);
  free(row->names);
  row->names = grown;
  row->names[row->name_count] = pjrt_copy(name, strlen(name));
  return row->name_count++;
}

static profiler_run *profiler_run_create(const char *name, const PJRT_Device *device,
                                         uint64_t began) {
  if (!profiler_started || profiler_started->run_count == PROFILER_MAX_RUNS) return NULL;
  profiler_row *row = profiler_row_of(profiler_started, device);
  profiler_run *run = pjrt_alloc(sizeof *run);
  atomic_init(&run->references, 2);
  run->name = profiler_name_of(row, name);
  run->began = began;
  if (row->last) row->last->next = run;
  if (!row->last) row->first = run;
  row->last = run;
  profiler_started->run_count++;
  return run;
}

uint64_t pjrt_profiler_begin(void) {
  return atomic_load_explicit(&profiler_is_on, memory_order_relaxed) ? profiler_now() : 0;
}

void pjrt_profiler_add(const char *name, const PJRT_Device *device, uint64_t began,
                       halo_event *done) {
  if (!began) return;
  pthread_mutex_lock(&profiler_lock);
  profiler_run *run = profiler_run_create(name, device, began);
  pthread_mutex_unlock(&profiler_lock);
  if (run && halo_event_on_ready(done, profiler_run_ended, run) != HALO_OK) {
    profiler_run_release(run);
  }
}

/* ---- Writing ---- */

static void profiler_write_inner(pjrt_writer *writer, uint32_t field, pjrt_writer *inner) {
  pjrt_write_bytes(writer, field, inner->data, inner->size);
  pjrt_writer_deinit(inner);
}

static void profiler_write_name(pjrt_writer *plane, size_t id, const char *name) {
  pjrt_writer entry = {0}, metadata = {0};
  pjrt_write_number(&metadata, METADATA_ID, id);
  pjrt_write_bytes(&metadata, METADATA_NAME, name, strlen(name));
  pjrt_write_number(&entry, ENTRY_KEY, id);
  profiler_write_inner(&entry, ENTRY_VALUE, &metadata);
  profiler_write_inner(plane, PLANE_METADATA, &entry);
}

static void profiler_write_event(pjrt_writer *line, size_t name, uint64_t offset, uint64_t took) {
  pjrt_writer event = {0};
  pjrt_write_number(&event, EVENT_METADATA, name + 1);
  pjrt_write_number(&event, EVENT_OFFSET_PS, offset * 1000);
  pjrt_write_number(&event, EVENT_DURATION_PS, took * 1000);
  profiler_write_inner(line, LINE_EVENTS, &event);
}

/* `name` as viewers know it. */
static void profiler_begin_line(pjrt_writer *line, uint64_t id, const char *name, uint64_t origin) {
  pjrt_write_number(line, LINE_ID, id);
  pjrt_write_bytes(line, LINE_NAME, name, strlen(name));
  pjrt_write_number(line, LINE_TIMESTAMP_NS, origin);
}

static const char profiler_modules[] = "XLA Modules", profiler_ops[] = "XLA Ops";

/* By the callbacks' clock. A device does one thing after another, while the host starts ahead of it: a run begins when
 * the one before it has ended, if it was started before. Its span contains all that the device did meanwhile. Runs that have not
 * ended are left out. */
static void profiler_write_callbacks(pjrt_writer *plane, const profiler_row *row) {
  pjrt_writer line = {0};
  uint64_t origin = row->first->began, free_at = 0;
  for (const profiler_run *run = row->first; run; run = run->next) {
    if (run->began < origin) origin = run->began;
  }
  profiler_begin_line(&line, 1, profiler_modules, origin);
  for (profiler_run *run = row->first; run; run = run->next) {
    uint64_t ended = atomic_load(&run->ended);
    uint64_t began = run->began < free_at && free_at < ended ? free_at : run->began;
    if (ended < began) continue;
    profiler_write_event(&line, run->name, began - origin, ended - began);
    if (free_at < ended) free_at = ended;
  }
  profiler_write_inner(plane, PLANE_LINES, &line);
}

/* Runs, or steps, of a device; false: there are none. */
static bool profiler_write_spans(pjrt_writer *plane, profiler_row *row,
                                 const halo_trace_span *spans, int count, bool of_steps) {
  pjrt_writer line = {0};
  uint64_t origin = 0;
  for (int i = 0; i < count; i++) {
    const halo_trace_span *span = &spans[i];
    if (span->device != row->device || (span->step != NULL) != of_steps) continue;
    if (!origin) {
      origin = span->begin;
      profiler_begin_line(&line, of_steps ? 2 : 1, of_steps ? profiler_ops : profiler_modules,
                          origin);
    }
    size_t name = profiler_name_of(row, of_steps ? span->step : span->program);
    profiler_write_event(&line, name, span->begin - origin, span->end - span->begin);
  }
  if (origin) profiler_write_inner(plane, PLANE_LINES, &line);
  return origin != 0;
}

static void profiler_write(PLUGIN_Profiler *profiler) {
  uint64_t id = 1;
  const halo_trace_span *spans = NULL;
  int count = 0;
  if (profiler->traces && halo_trace_collect(&spans, &count) != HALO_OK) count = 0;
  for (profiler_row *row = profiler->rows; row; row = row->next) {
    pjrt_writer plane = {0};
    pjrt_write_number(&plane, PLANE_ID, id++);
    pjrt_write_bytes(&plane, PLANE_NAME, row->title, strlen(row->title));
    if (profiler_write_spans(&plane, row, spans, count, false)) {
      profiler_write_spans(&plane, row, spans, count, true);
    } else {
      profiler_write_callbacks(&plane, row);
    }
    for (size_t i = 0; i < row->name_count; i++) profiler_write_name(&plane, i + 1, row->names[i]);
    profiler_write_inner(&profiler->data, SPACE_PLANES, &plane);
  }
}

/* ---- The interface ---- */

static void profiler_error_destroy(PLUGIN_Profiler_Error_Args *args) {
  PJRT_Error_Destroy_Args inner = {.struct_size = sizeof inner, .error = (PJRT_Error *)args->error};
  pjrt_Error_Destroy(&inner);
}

static void profiler_error_message(PLUGIN_Profiler_Error_Message_Args *args) {
  PJRT_Error_Message_Args inner = {.struct_size = sizeof inner, .error = (PJRT_Error *)args->error};
  pjrt_Error_Message(&inner);
  args->message = inner.message;
  args->message_size = inner.message_size;
}

static PLUGIN_Profiler_Error *profiler_error_code(PLUGIN_Profiler_Error_GetCode_Args *args) {
  PJRT_Error_GetCode_Args inner = {.struct_size = sizeof inner, .error = (PJRT_Error *)args->error};
  pjrt_Error_GetCode(&inner);
  args->code = (int)inner.code;
  return NULL;
}

static PLUGIN_Profiler_Error *profiler_create(PLUGIN_Profiler_Create_Args *args) {
  args->profiler = pjrt_alloc(sizeof *args->profiler);
  return NULL;
}

static PLUGIN_Profiler_Error *profiler_start(PLUGIN_Profiler_Args *args) {
  pthread_mutex_lock(&profiler_lock);
  bool first = !profiler_started;
  if (first) {
    profiler_started = args->profiler;
    /* Where the program itself records a trace, that is not disturbed. */
    profiler_started->traces = halo_trace_start() == HALO_OK;
  }
  atomic_store(&profiler_is_on, true);
  pthread_mutex_unlock(&profiler_lock);
  if (first) return NULL;
  return (PLUGIN_Profiler_Error *)pjrt_error(
      PJRT_Error_Code_FAILED_PRECONDITION, "one profiler records already what this platform does");
}

static PLUGIN_Profiler_Error *profiler_stop(PLUGIN_Profiler_Args *args) {
  pthread_mutex_lock(&profiler_lock);
  if (profiler_started == args->profiler) {
    profiler_started = NULL;
    atomic_store(&profiler_is_on, false);
    if (args->profiler->traces) halo_trace_stop();
  }
  pthread_mutex_unlock(&profiler_lock);
  return NULL;
}

static void profiler_row_release(profiler_row *row) {
  while (row->first) {
    profiler_run *run = row->first;
    row->first = run->next;
    profiler_run_release(run);
  }
  for (size_t i = 0; i < row->name_count; i++) free(row->names[i]);
  free(row->names);
  free(row->title);
  free(row);
}

static PLUGIN_Profiler_Error *profiler_destroy(PLUGIN_Profiler_Args *args) {
  PLUGIN_Profiler *profiler = args->profiler;
  if (!profiler) return NULL;
  profiler_stop(args);
  while (profiler->rows) {
    profiler_row *row = profiler->rows;
    profiler->rows = row->next;
    profiler_row_release(row);
  }
  pjrt_writer_deinit(&profiler->data);
  free(profiler);
  return NULL;
}

static PLUGIN_Profiler_Error *profiler_collect(PLUGIN_Profiler_CollectData_Args *args) {
  PLUGIN_Profiler *profiler = args->profiler;
  pthread_mutex_lock(&profiler_lock);
  if (!args->buffer) {
    pjrt_writer_deinit(&profiler->data);
    profiler_write(profiler);
    args->buffer = profiler->data.data;
    args->buffer_size_in_bytes = profiler->data.size;
  } else if (profiler->data.size && args->buffer != profiler->data.data) {
    memcpy(args->buffer, profiler->data.data, profiler->data.size);
  }
  pthread_mutex_unlock(&profiler_lock);
  return NULL;
}

static PLUGIN_Profiler_Api profiler_api = {.struct_size = sizeof profiler_api,
                                           .error_destroy = profiler_error_destroy,
                                           .error_message = profiler_error_message,
                                           .error_get_code = profiler_error_code,
                                           .create = profiler_create,
                                           .destroy = profiler_destroy,
                                           .start = profiler_start,
                                           .stop = profiler_stop,
                                           .collect_data = profiler_collect};

PJRT_Profiler_Extension pjrt_profiler_extension = {
    .base = {.struct_size = sizeof(PJRT_Profiler_Extension),
             .type = PJRT_Extension_Type_Profiler,
             .next = &pjrt_descriptions_extension.base},
    .profiler_api = &profiler_api};

/* SPDX-License-Identifier: Apache-2.0 */
/* tools/trace.c: a recorded trace as a file for viewers such as Perfetto. */
#include "trace.h"

#include "base/json.h"
#include "tool.h"

#include <errno.h>
#include <string.h>

static void trace_name(halo_json_writer *json, const char *what, int device, int row,
                       const char *name) {
  halo_json_object(json, NULL);
  halo_json_text(json, "ph", "M");
  halo_json_text(json, "name", what);
  halo_json_integer(json, "pid", device);
  if (row > 0) halo_json_integer(json, "tid", row);
  halo_json_object(json, "args");
  halo_json_text(json, "name", name);
  halo_json_close(json);
  halo_json_close(json);
}

/* The rows of a device: runs above their steps. */
static void trace_rows(halo_json_writer *json, int device) {
  char name[32];
  snprintf(name, sizeof name, "device %d", device);
  trace_name(json, "process_name", device, 0, name);
  trace_name(json, "thread_name", device, 1, "XLA Modules");
  trace_name(json, "thread_name", device, 2, "XLA Ops");
}

/* Microseconds since the trace's begin. */
static void trace_span(halo_json_writer *json, const halo_trace_span *span, uint64_t origin) {
  halo_json_object(json, NULL);
  halo_json_text(json, "ph", "X");
  halo_json_integer(json, "pid", span->device);
  halo_json_integer(json, "tid", span->step ? 2 : 1);
  halo_json_number(json, "ts", (double)(span->begin - origin) * 1e-3);
  halo_json_number(json, "dur", (double)(span->end - span->begin) * 1e-3);
  halo_json_text(json, "name", span->step ? span->step : span->program);
  halo_json_text(json, "cat", span->kind);
  halo_json_close(json);
}

bool trace_write(const char *path, const halo_trace_span *spans, int count) {
  int most = -1;
  FILE *file = fopen(path, "w");
  if (!file) {
    tool_error("%s: %s", path, strerror(errno));
    return false;
  }
  halo_json_writer json = {.file = file};
  halo_json_object(&json, NULL);
  halo_json_text(&json, "displayTimeUnit", "ms");
  halo_json_array(&json, "traceEvents");
  for (int i = 0; i < count; i++) {
    if (spans[i].device > most) trace_rows(&json, most = spans[i].device);
  }
  for (int i = 0; i < count; i++) trace_span(&json, &spans[i], spans[0].begin);
  halo_json_close(&json);
  halo_json_close(&json);
  bool written = !ferror(file);
  if (fclose(file) == 0 && written) return true;
  tool_error("cannot write %s: %s", path, strerror(errno));
  return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tools/trace.c: a recorded trace as a file for viewers such as Perfetto. */
#include "trace.h"

#include "json.h"
#include "tool.h"

#include "halo/trace.h"

#include <errno.h>
#include <string.h>

static void trace_name(json_writer *json, const char *what, int device, int row, const char *name) {
  json_object(json, NULL);
  json_text(json, "ph", "M");
  json_text(json, "name", what);
  json_integer(json, "pid", device);
  if (row > 0) json_integer(json, "tid", row);
  json_object(json, "args");
  json_text(json, "name", name);
  json_close(json);
  json_close(json);
}

/* The rows of a device: runs above their steps. */
static void trace_rows(json_writer *json, int device) {
  char name[32];
  snprintf(name, sizeof name, "device %d", device);
  trace_name(json, "process_name", device, 0, name);
  trace_name(json, "thread_name", device, 1, "XLA Modules");
  trace_name(json, "thread_name", device, 2, "XLA Ops");
}

/* Microseconds since the trace's begin. */
static void trace_span(json_writer *json, const halo_trace_span *span, uint64_t origin) {
  json_object(json, NULL);
  json_text(json, "ph", "X");
  json_integer(json, "pid", span->device);
  json_integer(json, "tid", span->step ? 2 : 1);
  json_number(json, "ts", (double)(span->begin - origin) * 1e-3);
  json_number(json, "dur", (double)(span->end - span->begin) * 1e-3);
  json_text(json, "name", span->step ? span->step : span->program);
  json_text(json, "cat", span->kind);
  json_close(json);
}

bool trace_write(const char *path) {
  const halo_trace_span *spans;
  int count, most = -1;
  if (!tool_check(halo_trace_collect(&spans, &count))) return false;
  FILE *file = fopen(path, "w");
  if (!file) {
    tool_error("%s: %s", path, strerror(errno));
    return false;
  }
  json_writer json = {.file = file};
  json_object(&json, NULL);
  json_text(&json, "displayTimeUnit", "ms");
  json_array(&json, "traceEvents");
  for (int i = 0; i < count; i++) {
    if (spans[i].device > most) trace_rows(&json, most = spans[i].device);
  }
  for (int i = 0; i < count; i++) trace_span(&json, &spans[i], spans[0].begin);
  json_close(&json);
  json_close(&json);
  bool written = !ferror(file);
  if (fclose(file) == 0 && written) return true;
  tool_error("cannot write %s: %s", path, strerror(errno));
  return false;
}

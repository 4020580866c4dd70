/* tools/trace.c: a recorded trace as a file for viewers such as Perfetto. */
#include "trace.h"

#include "tool.h"

#include "halo/trace.h"

#include <errno.h>
#include <string.h>

static void trace_text(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    if ((unsigned char)*text < ' ') {
      fprintf(file, "\\u%04x", *text);
    } else {
      fputc(*text, file);
    }
  }
  fputc('"', file);
}

/* The rows of a device: runs above their steps. */
static void trace_rows(FILE *file, int device) {
  static const char *const rows[] = {"XLA Modules", "XLA Ops"};
  fprintf(file,
          "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\": {\"name\": \"device "
          "%d\"}},\n",
          device, device);
  for (int i = 0; i < 2; i++) {
    fprintf(
        file,
        "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %d, \"args\": {\"name\": "
        "\"%s\"}},\n",
        device, i + 1, rows[i]);
  }
}

/* Microseconds since the trace's begin. */
static void trace_span(FILE *file, const halo_trace_span *span, uint64_t origin) {
  fprintf(file, "{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"name\": ",
          span->device, span->step ? 2 : 1, (double)(span->begin - origin) * 1e-3,
          (double)(span->end - span->begin) * 1e-3);
  trace_text(file, span->step ? span->step : span->program);
  fputs(", \"cat\": ", file);
  trace_text(file, span->kind);
  fputc('}', file);
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
  fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n", file);
  for (int i = 0; i < count; i++) {
    if (spans[i].device > most) trace_rows(file, most = spans[i].device);
  }
  for (int i = 0; i < count; i++) {
    trace_span(file, &spans[i], spans[0].begin);
    fputs(i + 1 < count ? ",\n" : "\n", file);
  }
  fputs("]}\n", file);
  bool written = !ferror(file);
  if (fclose(file) == 0 && written) return true;
  tool_error("cannot write %s: %s", path, strerror(errno));
  return false;
}

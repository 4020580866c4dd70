/* SPDX-License-Identifier: Apache-2.0 */
/* tools/graph.c: a module as a picture: a page to look at and search, or text for Graphviz. */
#include "graph.h"

#include "base/json.h"
#include "tool.h"

#include "halo/passes.h"
#include "os/file.h"
#include "os/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool graph_knows(const char *path) {
  return tool_ends_with(path, ".html") || tool_ends_with(path, ".dot") ||
         tool_ends_with(path, ".svg");
}

/* JSON within a page: nothing in it may end the script that it stands in. */
static void graph_put_json(FILE *file, const char *json) {
  for (; *json; json++) {
    if (json[0] == '<' && json[1] == '/') {
      fputs("<\\", file);
    } else {
      fputc(*json, file);
    }
  }
}

/* A process `dot` that writes the file of what it reads. */
static bool graph_by_dot(const char *text, const char *path) {
  const char *const command[] = {"dot", "-Tsvg", "-o", path, NULL};
  int code = halo_os_run(command, text);
  if (code == 127) {
    tool_error(
        "%s is written by 'dot' of Graphviz, which is not installed; .html and .dot need nothing",
        path);
  } else if (code != 0) {
    tool_error("'dot' could not write %s", path);
  }
  return code == 0;
}

static int graph_compare_spans(const void *a, const void *b) {
  return strcmp(((const halo_trace_span *)a)->step, ((const halo_trace_span *)b)->step);
}

/* How long each step took in a run, by its name, as JSON to be freed; NULL: nothing was recorded. */
static char *graph_measured(const halo_trace_span *spans, int count) {
  halo_trace_span *steps = tool_alloc(sizeof *steps * ((size_t)count + 1));
  int runs = 0, step_count = 0;
  for (int i = 0; i < count; i++) {
    if (spans[i].device != spans[0].device) continue;
    runs += !spans[i].step;
    if (spans[i].step) steps[step_count++] = spans[i];
  }
  qsort(steps, (size_t)step_count, sizeof *steps, graph_compare_spans);
  halo_os_text text;
  FILE *file = runs && halo_os_text_begin(&text) ? text.file : NULL;
  halo_json_writer json = {.file = file};
  if (file) halo_json_array(&json, NULL);
  for (int i = 0; file && i < step_count;) {
    double seconds = 0;
    int first = i;
    for (; i < step_count && strcmp(steps[i].step, steps[first].step) == 0; i++) {
      seconds += (double)(steps[i].end - steps[i].begin) * 1e-9;
    }
    halo_json_object(&json, NULL);
    halo_json_text(&json, "name", steps[first].step);
    halo_json_number(&json, "seconds", seconds / runs);
    halo_json_close(&json);
  }
  if (file) halo_json_close(&json);
  free(steps);
  return file ? halo_os_text_end(&text) : NULL;
}

static void graph_write_page(FILE *file, const char *graph, const char *measured) {
  fputs(graph_before, file);
  graph_put_json(file, graph);
  fputs(graph_between, file);
  graph_put_json(file, measured ? measured : "null");
  fputs(graph_behind, file);
}

bool graph_write(const halo_module *module, const char *path, const halo_trace_span *spans,
                 int count) {
  bool is_page = tool_ends_with(path, ".html");
  char *text, *measured = is_page ? graph_measured(spans, count) : NULL;
  halo_graph_format format = is_page ? HALO_GRAPH_JSON : HALO_GRAPH_DOT;
  bool ok = tool_check(halo_module_to_graph(module, format, &text));
  if (ok && tool_ends_with(path, ".svg")) {
    ok = graph_by_dot(text, path);
    halo_text_release(text);
  } else if (ok) {
    FILE *file = fopen(path, "w");
    if (file && is_page) graph_write_page(file, text, measured);
    if (file && !is_page) fputs(text, file);
    ok = file && !ferror(file);
    if (file && fclose(file) != 0) ok = false;
    if (!ok) tool_error("cannot write %s: %s", path, strerror(errno));
    halo_text_release(text);
  }
  free(measured);
  return ok;
}

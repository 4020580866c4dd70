/* SPDX-License-Identifier: Apache-2.0 */
/* tools/graph.c: a module as a picture: a page to look at and search, or text for Graphviz. */
#include "graph.h"

#include "tool.h"

#include "halo/passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
  int ends[2], status = -1;
  if (pipe(ends) != 0) return tool_error("no pipe: %s", strerror(errno)) == TOOL_OK;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    execlp("dot", "dot", "-Tsvg", "-o", path, (char *)NULL);
    _exit(127);
  }
  close(ends[0]);
  FILE *file = fdopen(ends[1], "w");
  fputs(text, file);
  fclose(file);
  if (child > 0) waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    tool_error(
        "%s is written by 'dot' of Graphviz, which is not installed; .html and .dot need nothing",
        path);
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    tool_error("'dot' could not write %s", path);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool graph_write(const halo_module *module, const char *path) {
  bool is_page = tool_ends_with(path, ".html");
  char *text;
  halo_graph_format format = is_page ? HALO_GRAPH_JSON : HALO_GRAPH_DOT;
  if (!tool_check(halo_module_to_graph(module, format, &text))) return false;
  bool ok;
  if (tool_ends_with(path, ".svg")) {
    ok = graph_by_dot(text, path);
  } else {
    FILE *file = fopen(path, "w");
    if (file && is_page) fputs(graph_before, file);
    if (file && is_page) graph_put_json(file, text);
    if (file) fputs(is_page ? graph_behind : text, file);
    ok = file && !ferror(file);
    if (file && fclose(file) != 0) ok = false;
    if (!ok) tool_error("cannot write %s: %s", path, strerror(errno));
  }
  halo_text_release(text);
  return ok;
}

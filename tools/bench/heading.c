/* SPDX-License-Identifier: Apache-2.0 */
/* heading.c: what a program's file says of itself. */
#include "bench/bench.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void heading_take(bench_heading *heading, char *line) {
  static const char input[] = "//! input ";
  line[strcspn(line, "\n")] = '\0';
  if (strncmp(line, "//! ", 4) != 0) {
    heading->has_loop |= strstr(line, " while(") != NULL || strstr(line, " conditional(") != NULL;
  } else if (strncmp(line, input, sizeof input - 1) == 0) {
    size_t size = sizeof *heading->recipes * (size_t)(heading->recipe_count + 1);
    heading->recipes = tool_realloc(heading->recipes, size);
    heading->recipes[heading->recipe_count++] = tool_strdup(line + sizeof input - 1);
  } else {
    sscanf(line, "//! program %23s %11s", heading->field, heading->size);
  }
}

void bench_heading_read(const char *path, bench_heading *out) {
  *out = (bench_heading){0};
  char *line = NULL;
  size_t size = 0;
  FILE *file = fopen(path, "r");
  if (file == NULL) return; /* parsing says what is wrong with it */
  while (getline(&line, &size, file) > 0) heading_take(out, line);
  free(line);
  fclose(file);
}

void bench_heading_release(bench_heading *heading) {
  for (int i = 0; i < heading->recipe_count; i++) free(heading->recipes[i]);
  free(heading->recipes);
  *heading = (bench_heading){0};
}

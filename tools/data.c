/* SPDX-License-Identifier: Apache-2.0 */
/* tools/data.c: where the files lie that `halo bench` reads. */
#include "tool.h"

#include "os/process.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The paths live as long as the program. */
static char *data_paths[8];
static size_t data_path_count;

/* The path, if it can be read; else NULL. It is taken over. */
static const char *data_check(char *path) {
  if (access(path, R_OK) == 0 && data_path_count < sizeof data_paths / sizeof *data_paths) {
    return data_paths[data_path_count++] = path;
  }
  free(path);
  return NULL;
}

const char *tool_data(const char *in_tree, const char *installed) {
  /* From the program's folder: beside an installed program, then the build folder, then the source tree around that. The
   * folder that was named at configuration comes last, so that a moved installation reads its own files. */
  const char *const places[][2] = {
      {"/../share/halo/", installed}, {"/../", in_tree}, {"/../../", in_tree}};
  char own[PATH_MAX];
  char *slash = halo_os_program_path(own, sizeof own) ? strrchr(own, '/') : NULL;
  if (slash) *slash = 0;
  for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
    const char *path = data_check(tool_printf("%s%s%s", own, places[i][0], places[i][1]));
    if (path) return path;
  }
  const char *path = data_check(tool_printf("%s/%s", HALO_DATA_FOLDER, installed));
  return path ? path : in_tree;
}

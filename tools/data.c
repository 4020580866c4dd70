/* SPDX-License-Identifier: Apache-2.0 */
/* tools/data.c: where the files lie that `halo bench` reads. */
#include "tool.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *tool_data(const char *in_source, const char *installed) {
  /* From the program's folder: beside an installed program, then the source tree around a build folder. The folder
   * that was named at configuration comes last, so that a moved installation reads its own files. */
  const char *const places[][2] = {{"/../share/halo/", installed}, {"/../../", in_source}};
  char own[PATH_MAX];
  char *slash = realpath("/proc/self/exe", own) ? strrchr(own, '/') : NULL;
  if (slash) *slash = 0;
  for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
    char *path = tool_printf("%s%s%s", own, places[i][0], places[i][1]);
    if (access(path, R_OK) == 0) return path;
    free(path);
  }
  char *path = tool_printf("%s/%s", HALO_DATA_FOLDER, installed);
  if (access(path, R_OK) == 0) return path;
  free(path);
  return in_source;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tools/linker.c: which linker the program asks for. */
#include "tool.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the project's linker lies from this program on: as installed, and in a build folder. */
static const char *const linker_places[] = {"../libexec/halo/linker", "../lib/linker"};

void tool_ask_for_linker(void) {
  char own[PATH_MAX], path[PATH_MAX + 64];
  char *slash = realpath("/proc/self/exe", own) ? strrchr(own, '/') : NULL;
  if (!slash) return;
  *slash = 0;
  for (size_t i = 0; i < sizeof linker_places / sizeof *linker_places; i++) {
    int size = snprintf(path, sizeof path, "%s/%s/ld", own, linker_places[i]);
    if (size < 0 || (size_t)size >= sizeof path || access(path, X_OK) != 0) continue;
    *strrchr(path, '/') = 0;
    setenv("COMPILER_PATH", path, 0);
    return;
  }
}

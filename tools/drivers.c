/* tools/drivers.c: which drivers of PoCL, and which linker, the program asks for. */
#include "tool.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where packages and PoCL's own installation put its drivers. */
static const char *const drivers_folders[] = {"/usr/lib/*/pocl", "/usr/lib*/pocl",
                                              "/usr/local/lib*/pocl"};

/* Whether `path` is the driver `name`. */
static bool drivers_is(const char *path, const char *name) {
  static const char file[] = "/libpocl-devices-";
  const char *at = strstr(path, file);
  if (!at) return false;
  at += strlen(file);
  size_t length = strlen(name);
  return strncmp(at, name, length) == 0 && strcmp(at + length, ".so") == 0;
}

void tool_ask_for_drivers(void) {
  bool with_threads = false, without = false, others = false;
  for (size_t i = 0; i < sizeof drivers_folders / sizeof *drivers_folders; i++) {
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/libpocl-devices-*.so", drivers_folders[i]);
    if (glob(pattern, 0, NULL, &found) != 0) continue;
    for (size_t k = 0; k < found.gl_pathc; k++) {
      bool one = drivers_is(found.gl_pathv[k], "pthread");
      bool other = drivers_is(found.gl_pathv[k], "basic");
      with_threads |= one;
      without |= other;
      others |= !one && !other;
    }
    globfree(&found);
  }
  if (with_threads && without && !others) setenv("POCL_DEVICES", "pthread basic", 0);
}

/* Where the project's linker lies from this program on: as installed, and in a build folder. */
static const char *const drivers_linkers[] = {"../libexec/halo/linker", "../lib/linker"};

void tool_ask_for_linker(void) {
  char own[PATH_MAX], path[PATH_MAX + 64];
  char *slash = realpath("/proc/self/exe", own) ? strrchr(own, '/') : NULL;
  if (!slash) return;
  *slash = 0;
  for (size_t i = 0; i < sizeof drivers_linkers / sizeof *drivers_linkers; i++) {
    int size = snprintf(path, sizeof path, "%s/%s/ld", own, drivers_linkers[i]);
    if (size < 0 || (size_t)size >= sizeof path || access(path, X_OK) != 0) continue;
    *strrchr(path, '/') = 0;
    setenv("COMPILER_PATH", path, 0);
    return;
  }
}

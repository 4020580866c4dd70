/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/pocl.c: which devices are PoCL's, and what PoCL needs when it compiles, as it ends the process where it does not find it: the
 * program "ld", which it looks for in $PATH, and room for its cache. */
#include "opencl/pocl.h"

#include "base/config.h"
#include "base/folder.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "os/library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool halo_pocl_is(const halo_caps *caps) {
  return strstr(caps->platform, "Portable Computing Language") != NULL;
}

int halo_pocl_version(const char *platform_version) {
  int major, minor;
  const char *at = strstr(platform_version, "PoCL ");
  return at && sscanf(at, "PoCL %d.%d", &major, &minor) == 2 ? 100 * major + minor : 0;
}

/* From this version on PoCL reports a failure (event.c explains it), and does not end the process. */
enum { LINKER_FAILS_WELL = 700 };

/* A hash of the variables by which the linker was found; 0: none yet. */
static struct {
  pthread_mutex_t lock;
  uint64_t variables;
} linker_known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* `path` may be NULL. */
static bool linker_is_in(const char *path) {
  bool found = false;
  for (const char *at = path; at && !found;) {
    size_t length = strcspn(at, ":");
    halo_strbuf name = {0};
    halo_strbuf_printf(&name, "%.*s/ld", (int)length, at);
    found = length > 0 && access(name.data, X_OK) == 0;
    halo_strbuf_deinit(&name);
    at = at[length] ? at + length + 1 : NULL;
  }
  return found;
}

static bool linker_is_systems(const char *path) {
  return strstr(path, "/libpocl.so") &&
         (strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/lib", 4) == 0);
}

/* For what PoCL writes while it builds one program. */
static const uint64_t LINKER_ROOM = 8 << 20; /* bytes */

halo_status halo_pocl_check_cache(const halo_caps *caps) {
  char *folder = halo_pocl_is(caps) ? halo_config_pocl_cache_dir() : NULL;
  halo_status status = folder ? halo_folder_check_room(folder, LINKER_ROOM) : HALO_OK;
  if (status != HALO_OK) {
    status = halo_fail_in(status, "PoCL, which ends the process where it cannot write its cache");
  }
  halo_free(folder);
  return status;
}

halo_status halo_pocl_check_linker(const halo_caps *caps) {
  if (!halo_pocl_is(caps) || !caps->is_cpu) return HALO_OK;
  int version = halo_pocl_version(caps->platform_version);
  if (!version || version >= LINKER_FAILS_WELL) return HALO_OK;
  const char *path = getenv("PATH"), *before = getenv("COMPILER_PATH");
  uint64_t variables = halo_hash(path ? path : "", path ? strlen(path) : 0, 1);
  variables = halo_hash(before ? before : "", before ? strlen(before) : 0, variables);
  pthread_mutex_lock(&linker_known.lock);
  bool found = variables == linker_known.variables || linker_is_in(before) || linker_is_in(path);
  if (found) linker_known.variables = variables;
  pthread_mutex_unlock(&linker_known.lock);
  /* PoCLs that come otherwise than as a system's package may bring a linker of their own. */
  if (found || !halo_os_library_any(linker_is_systems)) return HALO_OK;
  return halo_fail(
      HALO_FAILED_PRECONDITION,
      "PoCL %d.%d links kernels by the program ld, and ends the process where it finds "
      "none: no folder of PATH (%s) has it",
      version / 100, version % 100, path ? path : "which is not set");
}

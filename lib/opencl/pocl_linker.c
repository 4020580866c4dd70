/* opencl/pocl_linker.c: what PoCL compiles is linked by the program "ld", which it looks for in $PATH. */
#include "opencl/pocl.h"

#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A hash of the $PATH in which the linker was found, or which was made for it; 0: none yet. */
static struct {
  pthread_mutex_t lock;
  uint64_t path;
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

/* The system's own folders behind those that the caller wants. */
static void linker_add_system(const char *path) {
  char system[256];
  size_t size = confstr(_CS_PATH, system, sizeof system);
  if (size == 0 || size > sizeof system) return;
  halo_strbuf all = {0};
  if (path && *path) halo_strbuf_printf(&all, "%s:", path);
  halo_strbuf_printf(&all, "%s", system);
  setenv("PATH", all.data, 1);
  halo_strbuf_deinit(&all);
}

void halo_pocl_find_linker(const halo_caps *caps) {
  if (!halo_pocl_is(caps)) return;
  pthread_mutex_lock(&linker_known.lock);
  const char *path = getenv("PATH");
  if (!path || halo_hash(path, strlen(path), 0) != linker_known.path) {
    if (!linker_is_in(path)) linker_add_system(path);
    path = getenv("PATH");
    linker_known.path = path ? halo_hash(path, strlen(path), 0) : 0;
  }
  pthread_mutex_unlock(&linker_known.lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/clang.c: finding the program `clang`. */
#include "cpu/clang.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLANG_OLDEST = 15, CLANG_NEWEST = 40 };

static pthread_mutex_t clang_lock = PTHREAD_MUTEX_INITIALIZER;
static int clang_version; /* 0: not looked for yet, or not found */
static char clang_program[PATH_MAX], clang_label[32];
static char clang_folder[PATH_MAX]; /* where the program's own installation has libraries */

/* Where PATH has a program; false: nowhere. */
static bool clang_search(const char *name, char *out, size_t size) {
  const char *path = getenv("PATH");
  if (!path) path = "/usr/local/bin:/usr/bin:/bin";
  while (*path) {
    size_t length = strcspn(path, ":");
    snprintf(out, size, "%.*s/%s", (int)length, path, name);
    if (length && access(out, X_OK) == 0) return true;
    path += length + (path[length] == ':');
  }
  return false;
}

/* The version in the name of a file, as "clang-19", or of a folder above it, as "llvm-19"; 0: neither says it. */
static int clang_version_of(const char *path) {
  int version = 0, number;
  for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
    bool says = sscanf(at, "/llvm-%d", &number) == 1 || sscanf(at, "/clang-%d", &number) == 1;
    if (says && number >= CLANG_OLDEST && number <= CLANG_NEWEST) version = number;
  }
  return version;
}

/* Looks for the program under a name. `version`: what the name says; 0: the file that it really is says it. */
static void clang_try(const char *name, int version) {
  if (!clang_search(name, clang_program, sizeof clang_program)) return;
  char *real = realpath(clang_program, NULL);
  if (real && !version) version = clang_version_of(real);
  if (real && version) {
    snprintf(clang_label, sizeof clang_label, "clang-%d", version);
    *strrchr(real, '/') = '\0';
    snprintf(clang_folder, sizeof clang_folder, "%s/../lib", real);
    clang_version = version;
  }
  free(real);
}

const char *cpu_clang_find(void) {
  pthread_mutex_lock(&clang_lock);
  for (int v = CLANG_OLDEST; v <= CLANG_NEWEST && !clang_version; v++) {
    char name[16];
    snprintf(name, sizeof name, "clang-%d", v);
    clang_try(name, v);
  }
  if (!clang_version) clang_try("clang", 0);
  bool found = clang_version > 0;
  pthread_mutex_unlock(&clang_lock);
  return found ? NULL : "no clang (the program clang-15 or newer) to compile kernels";
}

const char *cpu_clang_program(void) { return clang_program; }
const char *cpu_clang_name(void) { return clang_label; }
int cpu_clang_version(void) { return clang_version; }
const char *cpu_clang_folder(void) { return clang_folder; }

/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/llvm.c: finding the LLVM that PoCL was linked with. */
#include "opencl/llvm.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pthread_once_t llvm_once = PTHREAD_ONCE_INIT;
static halo_llvm llvm_table;
static bool llvm_found;

static int llvm_is_pocl(struct dl_phdr_info *info, size_t size, void *data) {
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *name = slash ? slash + 1 : info->dlpi_name;
  (void)size;
  if (strncmp(name, "libpocl.so", strlen("libpocl.so")) != 0) return 0;
  snprintf(data, PATH_MAX, "%s", info->dlpi_name);
  return 1;
}

/* Others in the process may have LLVMs of their own; what a library was linked with is asked of that library. */
static void llvm_look(void) {
  char path[PATH_MAX];
  if (dl_iterate_phdr(llvm_is_pocl, path) == 0) return;
  void *pocl = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (!pocl) return;
  llvm_found = halo_llvm_fill(pocl, &llvm_table);
}

const halo_llvm *halo_llvm_find(void) {
  pthread_once(&llvm_once, llvm_look);
  return llvm_found ? &llvm_table : NULL;
}

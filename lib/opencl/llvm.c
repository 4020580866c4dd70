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
static bool llvm_found, llvm_mended;

static int llvm_is_pocl(struct dl_phdr_info *info, size_t size, void *data) {
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *name = slash ? slash + 1 : info->dlpi_name;
  (void)size;
  if (strncmp(name, "libpocl.so", strlen("libpocl.so")) != 0) return 0;
  snprintf(data, PATH_MAX, "%s", info->dlpi_name);
  return 1;
}

/* Of two copies of this library in a process only one may tell LLVM, which takes an option once and ends the process at the
 * second time. Names of metadata are numbered one after another: a name had its number before where the next new
 * name's is not the one that follows. */
static bool llvm_was_told(unsigned (*number)(const char *, unsigned)) {
  char other[64];
  int length = snprintf(other, sizeof other, "halo.%p", (void *)&llvm_once);
  unsigned told = number("halo.told", (unsigned)strlen("halo.told"));
  return number(other, (unsigned)length) != told + 1;
}

static void llvm_mend(void *pocl) {
  static const char *const options[] = {"halo", "-enable-epilogue-vectorization=false"};
  void (*version)(unsigned *, unsigned *, unsigned *);
  unsigned (*number)(const char *, unsigned);
  void (*parse)(int, const char *const *, const char *);
  unsigned major = 0, minor, patch;
  *(void **)&version = dlsym(pocl, "LLVMGetVersion"); /* since 16 */
  *(void **)&number = dlsym(pocl, "LLVMGetMDKindID");
  *(void **)&parse = dlsym(pocl, "LLVMParseCommandLineOptions");
  if (version) version(&major, &minor, &patch);
  llvm_mended = number && parse && major < 19;
  if (llvm_mended && !llvm_was_told(number)) parse(2, options, NULL);
}

/* Others in the process may have LLVMs of their own; what a library was linked with is asked of that library. */
static void llvm_look(void) {
  char path[PATH_MAX];
  if (dl_iterate_phdr(llvm_is_pocl, path) == 0) return;
  void *pocl = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (!pocl) return;
  llvm_mend(pocl);
  llvm_found = true;
#define LLVM_LOAD(NAME, SYMBOL, RESULT, PARAMETERS)                                                \
  *(void **)&llvm_table.NAME = dlsym(pocl, "LLVM" #SYMBOL);                                        \
  llvm_found &= llvm_table.NAME != NULL;
  HALO_LLVM_FUNCTIONS(LLVM_LOAD)
#undef LLVM_LOAD
}

const halo_llvm *halo_llvm_find(void) {
  pthread_once(&llvm_once, llvm_look);
  return llvm_found ? &llvm_table : NULL;
}

bool halo_llvm_mend(void) {
  pthread_once(&llvm_once, llvm_look);
  return llvm_mended;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/llvm.c: opening LLVM. */
#include "cpu/llvm.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { LLVM_OLDEST = 15, LLVM_NEWEST = 40 };

static pthread_mutex_t llvm_lock = PTHREAD_MUTEX_INITIALIZER;
static halo_llvm llvm_table;
static atomic_bool llvm_is_open;

bool halo_llvm_fill(void *library, halo_llvm *out) {
  bool good = true;
#define LLVM_LOAD(NAME, SYMBOL, RESULT, PARAMETERS)                                                \
  *(void **)&out->NAME = dlsym(library, "LLVM" #SYMBOL);                                           \
  good &= out->NAME != NULL;
  HALO_LLVM_FUNCTIONS(LLVM_LOAD)
#undef LLVM_LOAD
  return good;
}

/* Has the processor's part of LLVM know itself; it may have been done before. */
static bool llvm_start_target(void *library) {
#if defined(__x86_64__)
  static const char *const parts[] = {"LLVMInitializeX86TargetInfo", "LLVMInitializeX86Target",
                                      "LLVMInitializeX86TargetMC", "LLVMInitializeX86AsmPrinter"};
#elif defined(__aarch64__)
  static const char *const parts[] = {
      "LLVMInitializeAArch64TargetInfo", "LLVMInitializeAArch64Target",
      "LLVMInitializeAArch64TargetMC", "LLVMInitializeAArch64AsmPrinter"};
#else
  static const char *const parts[] = {"LLVMInitializeNoTarget"};
#endif
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    void (*start)(void);
    *(void **)&start = dlsym(library, parts[i]);
    if (!start) return false;
    start();
  }
  return true;
}

static bool llvm_try_version(int version, const char *folder) {
  static const char *const names[] = {"libLLVM.so.%d.1", "libLLVM-%d.so.1", "libLLVM-%d.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[32], path[PATH_MAX + sizeof name];
    snprintf(name, sizeof name, names[i], version);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library && folder[0]) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    llvm_table.version = version;
    if (halo_llvm_fill(library, &llvm_table) && llvm_start_target(library)) return true;
    dlclose(library);
  }
  return false;
}

const halo_llvm *halo_llvm_opened(void) { return atomic_load(&llvm_is_open) ? &llvm_table : NULL; }

const halo_llvm *halo_llvm_open(int least, const char *folder) {
  pthread_mutex_lock(&llvm_lock);
  bool good = atomic_load(&llvm_is_open);
  if (least < LLVM_OLDEST) least = LLVM_OLDEST;
  for (int v = least; !good && v <= LLVM_NEWEST; v++) good = llvm_try_version(v, folder);
  atomic_store(&llvm_is_open, good);
  pthread_mutex_unlock(&llvm_lock);
  return good ? &llvm_table : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/other_compiler.c: functions by names of LLVM's, as a library has them that brings an LLVM of another version
 * and shows it to the whole process. Whoever is bound to them does not come back. */
#include <stdlib.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN void *LLVMContextCreate(void);
void *LLVMContextCreate(void) { abort(); }

/* llvm::LLVMContext::LLVMContext() */
SHOWN void _ZN4llvm11LLVMContextC1Ev(void *context);
void _ZN4llvm11LLVMContextC1Ev(void *context) {
  (void)context;
  abort();
}

/* llvm::Module::Module(llvm::StringRef, llvm::LLVMContext&), with which clang begins a program */
SHOWN void _ZN4llvm6ModuleC1ENS_9StringRefERNS_11LLVMContextE(void *module);
void _ZN4llvm6ModuleC1ENS_9StringRefERNS_11LLVMContextE(void *module) {
  (void)module;
  abort();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/module.h: a module of LLVM on its way from bitcode to an object. One thread at a time works on one. */
#ifndef HALO_CPU_MODULE_H
#define HALO_CPU_MODULE_H

#include "cpu/llvm.h"

typedef struct cpu_module {
  const halo_llvm *llvm;
  llvm_context *context;
  llvm_module *module;
  llvm_machine *machine; /* NULL until cpu_module_open_machine */
  llvm_value *entry;     /* the function that stays when others are put in place in it */
} cpu_module;

/* Makes a context and a module in it, without the bodies of functions, which are read when they are asked for. False: LLVM does
 * not understand the bitcode; `m` is to be closed in either case. `llvm` is set before. */
bool cpu_module_parse(cpu_module *m, const void *bitcode, size_t size);
void cpu_module_close(cpu_module *m);

/* Reads the bodies of `wanted` and of the functions that it calls, and drops the rest of the program. */
void cpu_module_read(const cpu_module *m, llvm_value *wanted);
/* False: there is no such target. */
bool cpu_module_open_machine(cpu_module *m, const char *cpu, const char *features);
/* Runs passes; false: LLVM does not know one of them. */
bool cpu_module_run(const cpu_module *m, const char *passes);
/* An object file, to be disposed of with bytes_dispose; NULL: it cannot be made. */
llvm_bytes *cpu_module_emit(const cpu_module *m);

/* Sets or takes a flag of a function, as "noinline". */
void cpu_module_set_flag(const cpu_module *m, llvm_value *function, const char *name, bool on);
bool cpu_module_has_flag(const cpu_module *m, llvm_value *function, const char *name);
/* Has calls of the function put in place whenever that is possible. */
void cpu_module_inline(const cpu_module *m, llvm_value *function);
/* Puts functions in place until the entry alone asks for one of these global variables. False: something other than a function
 * asks, or calls are nested too deeply. */
bool cpu_module_gather(const cpu_module *m, const char *const *variables, int count);
/* Whether a function keeps more than single values in memory of its own. */
bool cpu_module_has_array(const cpu_module *m, llvm_value *function);

#endif

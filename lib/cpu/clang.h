/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/clang.h: the program `clang`, which makes bitcode of kernels' text. */
#ifndef HALO_CPU_CLANG_H
#define HALO_CPU_CLANG_H

/* Finds it in PATH, once: clang-15 or a newer one by its name, else `clang`, if the file that it is tells its version. NULL, or what
 * is missing (static). Any thread. */
const char *cpu_clang_find(void);

/* The rest holds once it has been found. Its path. */
const char *cpu_clang_program(void);
/* Which it is, for people: "clang-15". */
const char *cpu_clang_name(void);
/* The version of LLVM (major) whose bitcode it makes. */
int cpu_clang_version(void);
/* The folder of the libraries that were installed with it, which may be there or not (static). */
const char *cpu_clang_folder(void);

#endif

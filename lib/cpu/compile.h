/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/compile.h: a program's text made bitcode by a front end, and that made machine code by LLVM. */
#ifndef HALO_CPU_COMPILE_H
#define HALO_CPU_COMPILE_H

#include "base/strbuf.h"
#include "cpu/objects.h"

/* ---- front.c ---- */

/* Finds the program `clang` in PATH, once: clang-15 or a newer one by its name, else `clang`, if the file that it is tells its version.
 * NULL, or what is missing (static). */
const char *cpu_front_find(void);
/* Which it is, for people: "clang-15". */
const char *cpu_front_name(void);
/* The version of LLVM (major) whose bitcode it makes. */
int cpu_front_version(void);
/* The folder of the libraries that were installed with it, which may be there or not (static). */
const char *cpu_front_folder(void);
/* Bitcode of a program that is not optimised; false: it does not build, and *log (may be empty) says why. Free with halo_free. */
bool cpu_front_compile(const char *source, const char *options, unsigned char **bitcode,
                       size_t *size, halo_strbuf *log);
/* Seconds for which the program may neither use the processor nor say anything before it is ended, as it is when it has used ten
 * times that of processor time. */
extern double cpu_front_patience;

/* ---- compile.c ---- */

/* The kernels of a program; free each name and its parameters, and the list, with halo_free. False: there is no LLVM for it, as
 * *log says. */
bool cpu_compile_list(const unsigned char *bitcode, size_t size, cpu_kernel_code **out,
                      uint32_t *count, halo_strbuf *log);
/* Makes a kernel's object, and finds whether it waits. Any thread. False: *why (static) says what failed. */
bool cpu_compile_kernel(const unsigned char *bitcode, size_t size, cpu_kernel_code *kernel,
                        const char **why);
/* The function that is a kernel's code in its object. */
#define CPU_COMPILE_ENTRY "h_entry"

/* ---- load.c ---- */

/* Machine code in memory. */
typedef struct cpu_image cpu_image;
/* Places the objects of all kernels and sets their code. NULL: *why (to be freed) says what is not understood. */
cpu_image *cpu_image_load(cpu_kernel_code *kernels, uint32_t count, char **why);
void cpu_image_drop(cpu_image *image);

/* half.c: a float of a half and back, rounded to the nearest, as compiled code passes them: a half is in the low 16 bits. */
float cpu_half_extend(float half);
float cpu_half_truncate(float x);

#endif

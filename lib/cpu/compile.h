/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/compile.h: a program's text made bitcode by a front end, and that made machine code by LLVM. */
#ifndef HALO_CPU_COMPILE_H
#define HALO_CPU_COMPILE_H

#include "base/strbuf.h"
#include "cpu/clang.h"
#include "cpu/front.h"
#include "cpu/objects.h"

/* ---- front.c ---- */

/* Bitcode of a program, or LLVM's text of it, that is not optimised; false: it does not build, and *log (may be empty) says why. Free
 * with halo_free. */
bool cpu_front_compile(const char *source, const char *options, bool as_text, unsigned char **code,
                       size_t *size, halo_strbuf *log);
/* An object of LLVM's text (halo_alloc); false: *log says why there is none. */
bool cpu_front_object(const halo_strbuf *text, void **object, size_t *size, halo_strbuf *log);
/* Seconds for which the program may neither use the processor nor say anything before it is ended, as it is when it has used ten
 * times that of processor time. */
extern double cpu_front_patience;

/* ---- compile.c ---- */

/* Whether objects are made by a libLLVM; else `clang` makes them: where there is none, or where $HALO_CPU is "clang". */
bool cpu_compile_by_library(void);
#define CPU_COMPILE_BY_CLANG "clang"

/* The kernels of a program; free each name and its parameters, and the list, with halo_free. False: LLVM does not understand it, as
 * *log says. */
bool cpu_compile_list(const unsigned char *bitcode, size_t size, cpu_kernel_code **out,
                      uint32_t *count, halo_strbuf *log);
/* Makes a kernel's object, and finds whether it waits. Any thread. False: *why (static) says what failed. */
bool cpu_compile_kernel(const unsigned char *bitcode, size_t size, cpu_kernel_code *kernel,
                        const char **why);
/* The function that is a kernel's code in its object. */
#define CPU_COMPILE_ENTRY "h_entry"
/* Functions that others may call are kernels, but for those with names that begin so, which several kernels share. */
#define CPU_COMPILE_SHARED "h_shared_"
/* How many items a call of a kernel does that has barriers or not, and asks for these places (bits by their numbers). */
cpu_run cpu_compile_run(bool waits, unsigned places);

/* ---- text.c ---- */

/* The same of LLVM's text, by the program `clang`. */
void cpu_text_list(const char *text, size_t size, cpu_kernel_code **out, uint32_t *count);
bool cpu_text_kernel(const char *text, size_t size, cpu_kernel_code *kernel, halo_strbuf *log);

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

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/source.h: what stands before a program's text. */
#ifndef HALO_CPU_SOURCE_H
#define HALO_CPU_SOURCE_H

#include "base/strbuf.h"

/* Appends definitions of OpenCL C's builtins that `source` names, over the compiler's own builtins, so that a program needs no library of
 * OpenCL's; kernels become plain functions, whose groups have as many items as a launch says. */
void cpu_source_begin(halo_strbuf *out, const char *source);

/* Variables that say where a work item is, in the order of cpu_place; a kernel's code reads them, and cpu/compile.c puts
 * the item's own values in their place. */
enum { CPU_SOURCE_PLACES = 15 };
extern const char *const cpu_source_places[CPU_SOURCE_PLACES];
/* The function that a barrier calls. */
#define CPU_SOURCE_BARRIER "h_barrier"

#endif

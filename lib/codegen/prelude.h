/* codegen/prelude.h: the sections of scalar.cl, math_*.cl and complex.cl in cl_kernels/ that a program needs. */
#ifndef HALO_CODEGEN_PRELUDE_H
#define HALO_CODEGEN_PRELUDE_H

#include "base/strbuf.h"

/* A set of sections; zero is empty. */
typedef unsigned __int128 halo_sections;

/* Adds a section by name, with what it needs. The name must exist. NULL adds nothing. */
void halo_sections_add(halo_sections *set, const char *name);
/* Appends the text of the sections, in file order, for a program of this code. Of lines that make one
 * type's helpers from a macro, "H_SDIV(s32, int, uint)", only those whose type the code names. */
void halo_sections_print(halo_strbuf *out, halo_sections set, const char *code);

#endif

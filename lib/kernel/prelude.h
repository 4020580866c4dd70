/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/prelude.h: the sections of scalar.cl, math_*.cl and complex.cl in cl_kernels/ that a program needs. */
#ifndef HALO_KERNEL_PRELUDE_H
#define HALO_KERNEL_PRELUDE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* A set of sections; all zeros is empty. A test says when the room for more becomes small. */
enum { HALO_SECTIONS_MOST = 512 };
typedef struct halo_sections {
  uint64_t words[HALO_SECTIONS_MOST / 64];
} halo_sections;

/* How many sections there are. */
int halo_sections_count(void);
/* Adds a section by name, with what it needs. The name must exist. NULL adds nothing. */
void halo_sections_add(halo_sections *set, const char *name);
/* Whether a set has a section. The name must exist. */
bool halo_sections_has(const halo_sections *set, const char *name);
/* Adds the sections of another set. */
void halo_sections_join(halo_sections *set, const halo_sections *other);
/* Appends the text of the sections, in file order, for a program of this code. Of lines that make one
 * type's helpers from a macro, "H_SDIV(s32, int, uint)", only those whose type the code names. */
void halo_sections_print(halo_strbuf *out, const halo_sections *set, const char *code);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/prelude.h: the sections of scalar.cl, half.cl, math_*.cl and complex.cl in cl_kernels/ that a program needs. */
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

/* Adds a section by name, with what it needs. The name must exist. NULL adds nothing. */
void halo_sections_add(halo_sections *set, const char *name);
/* Adds what a section has for one type: "idiv" for "s32", which is the section "idiv.s32". */
void halo_sections_add_for(halo_sections *set, const char *name, const char *type);
/* Whether a set has a section. The name must exist. */
bool halo_sections_has(const halo_sections *set, const char *name);
/* Adds the sections of another set. */
void halo_sections_join(halo_sections *set, const halo_sections *other);
/* Appends the text of the sections, in the order of the files. */
void halo_sections_print(halo_strbuf *out, const halo_sections *set);

/* ---- Tables that embed.py makes of the files ---- */

typedef struct halo_cl_section {
  const char *name;   /* NULL ends the list */
  halo_sections with; /* itself and all that it needs */
} halo_cl_section;
typedef struct halo_cl_piece {
  int section; /* by its number in the list */
  const char *text;
  size_t length; /* 0 ends the list */
} halo_cl_piece;
extern const halo_cl_section halo_cl_sections[];
extern const halo_cl_piece halo_cl_pieces[];

#endif

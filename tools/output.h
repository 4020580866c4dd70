/* SPDX-License-Identifier: Apache-2.0 */
/* tools/output.h: values for people to read. */
#ifndef HALO_TOOLS_OUTPUT_H
#define HALO_TOOLS_OUTPUT_H

#include "halo/literal.h"

typedef enum output_mode {
  OUTPUT_AUTO, /* in full up to OUTPUT_FULL_LIMIT elements, else a summary */
  OUTPUT_FULL,
  OUTPUT_SUMMARY,
  OUTPUT_NONE
} output_mode;
enum { OUTPUT_FULL_LIMIT = 100 };

/* Prints an array on stdout, each line indented by two columns. */
void output_value(const halo_literal *literal, output_mode mode);

/* One element: the shortest text that gives the same value again in its type. */
enum { OUTPUT_ELEMENT_SIZE = 64 };
void output_element(const halo_literal *literal, int64_t i, char *text);

#endif

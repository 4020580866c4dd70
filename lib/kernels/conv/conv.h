/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/conv.h: what the files of the family of convolutions share. */
#ifndef HALO_KERNELS_CONV_CONV_H
#define HALO_KERNELS_CONV_CONV_H

#include "kernels/conv/describe.h"

/* Lines of features side by side, each a group of its own (depthwise.c). */
typedef struct halo_conv_lines halo_conv_lines;

/* The description of a convolution. */
typedef struct halo_conv_descs {
  halo_conv_desc whole;
  halo_conv_desc phases;        /* with its holes filled */
  const halo_conv_lines *lines; /* NULL: it has no such lines, */
  const char *why_no_lines;     /* and why not */
} halo_conv_descs;

/* What every fast kernel needs: real numbers, and some. */
bool halo_conv_is_plain(const halo_conv_desc *v, const char **why);
/* Begins a kernel of the convolution. */
void halo_conv_begin(halo_helpers *p, halo_lowering *l, const halo_conv_desc *v, const char *name);
/* "inline void name_out(..., b, x, y, v)": finishes and stores a result from accumulator v, of group b, row
 * x and column y; whatever is fused behind the convolution sees it as its value. */
void halo_conv_store(halo_helpers *p, const halo_conv_desc *v);
/* The same in two, "_value" and "_put", where halo_helpers_can_split. */
void halo_conv_store_split(halo_helpers *p, const halo_conv_desc *v);

/* "inline int name_at(..., b, x, y)": where an element of the result lies in its memory. */
void halo_conv_emit_at(halo_helpers *p, const halo_conv_desc *v);
/* The argument for an operand that is read in place, or (scratch not below 0) for what is made of it. */
const char *halo_conv_operand(halo_helpers *p, const halo_conv_desc *v, const halo_instr *operand,
                              int32_t scratch);

/* depthwise.c */
const halo_conv_lines *halo_conv_lines_describe(const halo_lowering *l, const halo_conv_desc *v,
                                                const char **why);
bool halo_conv_depthwise_supports(const halo_lowering *l, const char **why);
double halo_conv_depthwise_cost(const halo_lowering *l);
halo_status halo_conv_depthwise_lower(halo_lowering *l);
/* panels.c */
bool halo_conv_panels_supports(const halo_lowering *l, const char **why);
double halo_conv_panels_cost(const halo_lowering *l);
halo_status halo_conv_panels_lower(halo_lowering *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_text.h: what kernels of LAPACK's routines share. Private to lapack*.c. */
#ifndef HALO_KERNELS_LINALG_LAPACK_TEXT_H
#define HALO_KERNELS_LINALG_LAPACK_TEXT_H

#include "hlo/lapack.h"
#include "kernels/linalg/linalg.h"

/* The family's desc: a halo_lapack_desc. */
const void *lapack_describe(const halo_lowering *l);
/* Writes the helpers that read and store elements. */
void lapack_emit_helpers(halo_helpers *p, const halo_lapack_desc *v);
/* The holes for arithmetic, H_IM(v), H_MAKE(re, im), H_REAL(r), H_MUL(a, b), H_SIZE(v), H_IS_ZERO(v) and H_LEAST beside that
 * of kernels/linalg/linalg.h, which are put in too. */
void lapack_arithmetic(halo_helpers *p, halo_template *k, halo_type type);
/* The holes for the helpers and for arithmetic, and for extents, H_M, H_N, H_K and H_BATCH. */
void lapack_holes(halo_helpers *p, halo_template *k, const halo_lapack_desc *v);
/* A work item a matrix. Those of CPUs are long: a few a group, but enough groups to share out, and groups of one where
 * they are so few that a region may take them. */
void lapack_launch_items(const halo_caps *caps, halo_launch *launch, int64_t batch);
/* Seconds of these, by the operations of each. */
double lapack_items_cost(const halo_lowering *l, double each, int64_t batch);

/* ---- lapack_lines.c: reflectors on CPUs ---- */

bool lapack_lines_supports(const halo_lowering *l, const char **why);
double lapack_lines_cost(const halo_lowering *l);
halo_status lapack_lines_lower(halo_lowering *l);

#endif

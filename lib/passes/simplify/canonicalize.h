/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/canonicalize.h: rules of the pass canonicalize that stand in a file of their own. */
#ifndef HALO_PASSES_SIMPLIFY_CANONICALIZE_H
#define HALO_PASSES_SIMPLIFY_CANONICALIZE_H

#include "rewrite/rewrite.h"

/* Changes the instruction, or puts others in its place, if it has the old form. */
typedef void halo_canonical_rule(halo_rewriter *r, halo_instr *instr);

/* canonical_types.c */
halo_canonical_rule halo_canonical_compare, halo_canonical_bitcast_convert, halo_canonical_fft,
    halo_canonical_complex_clamp, halo_canonical_collective;

/* mixed.c, of any opcode: operands that HLO lets differ in their type get one, and products of floats with a whole result
 * are made in floats. */
halo_canonical_rule halo_mixed_convert;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/elementwise.h: scalar computations applied to whole arrays. */
#ifndef HALO_PASSES_EXPAND_ELEMENTWISE_H
#define HALO_PASSES_EXPAND_ELEMENTWISE_H

#include "rewrite/rewrite.h"

/* Whether a computation of scalars consists of elementwise ops, scalar constants, parameters and at
 * most a tuple of them at the root, so that halo_elementwise_inline can take it. */
bool halo_elementwise_computation(const halo_computation *computation);
/* The computation done on arrays: parameter i is args[i], each of `shape`'s dimensions. Returns what
 * stands for its root, a new tuple where that is a tuple. `shape` gives dimensions and layout of all
 * intermediate results, `like` line and metadata. */
halo_instr *halo_elementwise_inline(halo_rewriter *r, const halo_instr *like,
                                    const halo_computation *computation, halo_instr *const *args,
                                    const halo_shape *shape);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/expand.h: operations written as others.
 *
 * In: operations that have no kernels of their own, or not for what they are asked to do here. Out: operations that
 * have. The table of expand.c has a row an opcode, and says which rows run late, after everything else is simplified
 * (what is too wide for one kernel). A rewrite makes instructions by rewrite/expander.h, which infers their shapes.
 *
 *   norm.c random.c stochastic.c dots.c shuffle.c scan.c topk.c   operations that are always others
 *   linalg.c factors.c custom_call.c custom_layout.c              decompositions and custom calls
 *   collective.c exchange*.c collectives.c                        collectives: pairs of start and done, then exchanges
 *                                                                 between devices with what reduces them
 *   reduce.c window.c scatter*.c vector.c wide.c                  forms that run faster, or fit into a kernel
 *   elementwise.c                                                 scalar computations on whole arrays; the pass inline-map
 *   accuracy.c                                                    the pass accuracy: wider types where that is asked for
 *
 * To add one: a function here and a row in expand.c. */
#ifndef HALO_PASSES_EXPAND_EXPAND_H
#define HALO_PASSES_EXPAND_EXPAND_H

#include "rewrite/expander.h"

/* Gives what stands for `instr` from now on; NULL to leave it as it is, or after a failure. */
typedef halo_instr *halo_expand_fn(halo_expander *x, halo_instr *instr);

/* ---- The rewrites, by file ---- */

halo_expand_fn halo_expand_batch_norm_training, halo_expand_batch_norm_inference,
    halo_expand_batch_norm_grad;                                   /* norm.c */
halo_expand_fn halo_expand_ragged_dot, halo_expand_scaled_dot;     /* dots.c */
halo_expand_fn halo_expand_rng, halo_expand_rng_bit_generator;     /* random.c */
halo_expand_fn halo_expand_stochastic_convert;                     /* stochastic.c */
halo_expand_fn halo_expand_cholesky, halo_expand_triangular_solve; /* linalg.c */
halo_expand_fn halo_expand_custom_call;                            /* custom_call.c */
halo_expand_fn halo_expand_factors;                                /* factors.c: of a custom call */
halo_expand_fn halo_expand_custom_layout;    /* custom_layout.c: of a custom call */
halo_expand_fn halo_expand_vector_product;   /* vector.c */
halo_expand_fn halo_expand_wide_concatenate; /* wide.c */
halo_expand_fn halo_expand_topk_call;        /* topk.c */
halo_expand_fn halo_expand_scan;             /* scan.c */
halo_expand_fn halo_expand_reduce;           /* reduce.c */
halo_expand_fn halo_expand_window;           /* window.c */
halo_expand_fn halo_expand_scatter;          /* scatter.c */
halo_expand_fn halo_expand_scatter_rows;     /* scatter_rows.c */
halo_expand_fn halo_expand_shuffle;          /* shuffle.c */
halo_expand_fn halo_expand_collective, halo_expand_all_reduce_start, halo_expand_collective_root,
    halo_expand_collective_permute, halo_expand_all_gather_start,
    halo_expand_collective_permute_start, halo_expand_collective_done,
    halo_expand_ragged_all_to_all; /* collective.c */
halo_expand_fn halo_expand_exchange, halo_expand_exchange_root, halo_expand_exchange_permute,
    halo_expand_exchange_ragged; /* exchange.c: of several participants */

#endif

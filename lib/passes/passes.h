/* SPDX-License-Identifier: Apache-2.0 */
/* passes/passes.h: the passes and the table that orders them.
 *
 * Each pass changes a verified module in place and leaves a verified one; each can run alone and any
 * number of times. *changed is exact: false means that nothing was touched, and a second run of a
 * pass straight after the first reports false. A pass allocates in the module's arena; it is for one
 * thread at a time. Failures are rare (HALO_OUT_OF_MEMORY, HALO_UNIMPLEMENTED, HALO_INTERNAL) and leave
 * a module that may only be released.
 *
 * Control edges keep order between instructions; instructions that have one, or are the source of
 * one, are left as they are by the simplifying passes. */
#ifndef HALO_PASSES_PASSES_H
#define HALO_PASSES_PASSES_H

#include "halo/passes.h"
#include "hlo/hlo.h"

/* The whole table, in order. `options` may be NULL. Errors as halo_module_optimize. */
halo_status halo_passes_run(halo_module *module, const halo_pass_options *options);

typedef halo_status halo_pass_fn(halo_module *module, bool *changed);

/* A program of several partitions with shardings, which speaks of whole arrays, becomes that of each partition
 * (partition/partition.h). HALO_INVALID_ARGUMENT for shardings that do not fit. */
halo_pass_fn halo_pass_partition;
/* call, fusion, async-start/update/done and copy-start/done become what they wrap, in place. */
halo_pass_fn halo_pass_inline_calls;
/* Sizes of dimensions that are known at run time only become values, and all shapes static (dynamic.h). The
 * sizes of the entry's dynamic parameters and results become parameters and results behind the others:
 * halo_module_sizes_are_values. HALO_UNIMPLEMENTED for what cannot be followed. */
halo_pass_fn halo_pass_dynamic_sizes;
/* Identity ops (copy to the same layout, domain, add-dependency), tuple-select, index vectors, scalar
 * operands of select and clamp, bitcasts and operands of mixed types become plain forms. */
halo_pass_fn halo_pass_canonicalize;
halo_pass_fn halo_pass_collectives;
/* What has no kernels of its own is written as other operations (expand.c). */
halo_pass_fn halo_pass_expand;
/* What asks by result_accuracy for more than the default is computed in wider numbers (accuracy.h).
 * HALO_UNIMPLEMENTED where that does not do. */
halo_pass_fn halo_pass_accuracy;
/* What has more operands than a kernel of the target may have buffers becomes several (expand.c). */
halo_pass_fn halo_pass_split;
/* map of a scalar program becomes that program on arrays. */
halo_pass_fn halo_pass_inline_map;
/* opt-barrier has done its work: it goes. */
halo_pass_fn halo_pass_drop_barriers;
/* Packing and unpacking of tuples that cancel. */
halo_pass_fn halo_pass_tuples;
/* Elements of a loop's state that never change bypass the loop; unused ones go. */
halo_pass_fn halo_pass_while_state;
/* What loops scatter into zeros and add to a sum is scattered into the sum. */
halo_pass_fn halo_pass_loop_sums;
halo_pass_fn halo_pass_unroll;
halo_pass_fn halo_pass_hoist;
/* Exact algebraic rules (simplify.h). */
halo_pass_fn halo_pass_simplify;
/* What constants alone determine, when it is small. */
halo_pass_fn halo_pass_constant_folding;
/* Equal instructions, and equal reducers, become one. */
halo_pass_fn halo_pass_cse;
/* Instructions that nothing needs, and computations that nothing calls, go. */
halo_pass_fn halo_pass_dce;
/* Row-major inside, callers' layouts at the edges; bitcasts become what they stand for. */
halo_pass_fn halo_pass_layouts;
/* transpose, reverse and pad beside convolutions move into their attributes; some become dots. */
halo_pass_fn halo_pass_convs;
/* transpose and dot become dot with other dimension numbers. */
halo_pass_fn halo_pass_dots;
/* Notes known trip counts on while loops, before fusion hides the counters (trip_count.h). */
halo_pass_fn halo_pass_trip_counts;
/* A product, the softmax of what it gives and a product with that become one fusion (attention.c). */
halo_pass_fn halo_pass_attention;
/* Small calls of LAPACK become kernels (lapack.c). */
halo_pass_fn halo_pass_lapack;
/* Groups instructions into kernels (fusion.c). */
halo_pass_fn halo_pass_fusion;
/* Fusions over the same rows, with reductions of these rows between them, become one (passes/fuse/rows.c). */
halo_pass_fn halo_pass_rows;
/* Loop fusions over the same arrays become one with several results. */
halo_pass_fn halo_pass_multi_output;
/* What is done to transposed rows of scores between two products is done before the transpose. */
halo_pass_fn halo_pass_scores;
/* Comparisons of what else only a maximum with the same bound reads become comparisons of that maximum. */
halo_pass_fn halo_pass_rectify;
/* Updates of one place along some dimensions, of a value that is made and read elementwise, become choices by place. */
halo_pass_fn halo_pass_placed_updates;
/* Puts instructions in an order in which less memory is alive at once, where that is worth it. */
halo_pass_fn halo_pass_order;

#endif

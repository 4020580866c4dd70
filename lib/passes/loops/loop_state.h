/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/loop_state.h: which elements of a loop's state are read, and where.
 *
 * The folder passes/loops: In: while loops as programs have them. Out: loops that carry, and compute in each iteration, less.
 *
 *   while_state.c  elements of the state that never change are taken from before the loop; unused ones go
 *   unroll.c       short loops over elements become their iterations, one after the other
 *   hoist.c        what does not change from iteration to iteration is computed once, before the loop
 *   loop_sums.c    gradients that add zeros with a part put in to a sum in each iteration add the part in place
 *   branch_updates.c  conditionals that update parts of arrays give the parts, and the arrays stay in place
 *   trip_count.c   how often a counted loop runs; trip_counts.c notes it as an attribute for the plan */
#ifndef HALO_PASSES_LOOPS_LOOP_STATE_H
#define HALO_PASSES_LOOPS_LOOP_STATE_H

#include "hlo/hlo.h"

/* Notes how often each computation is called, in its `mark`. */
void halo_loop_count_callers(halo_module *module);

/* Whether the condition or body of a loop reads its state, a tuple, through get-tuple-element only. */
bool halo_loop_unpacked(const halo_computation *computation);

/* How often an instruction of the computation is read, or is something ordered after it. */
int32_t halo_loop_count_uses(const halo_computation *computation, const halo_instr *instr);

/* Marks (`mark` is 1, else 0) everything in a body that ends in a tuple which the elements in `live` or a side
 * effect need. Elements of the state that are read by that become live in turn. */
void halo_loop_close(halo_computation *body, bool *live);

#endif

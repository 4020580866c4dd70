/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/loop_state.h: what of a loop's state is read where. */
#ifndef HALO_PASSES_LOOPS_LOOP_STATE_H
#define HALO_PASSES_LOOPS_LOOP_STATE_H

#include "hlo/hlo.h"

/* Notes how often each computation is called, in its `mark`. */
void halo_loop_count_callers(halo_module *module);

/* Whether the condition or body of a loop reads its state, a tuple, through get-tuple-element only. */
bool halo_loop_unpacked(const halo_computation *computation);

/* Marks (`mark` is 1, else 0) everything in a body that ends in a tuple which the elements in `live` or a side
 * effect need. Elements of the state that are read by that become live in turn. */
void halo_loop_close(halo_computation *body, bool *live);

#endif

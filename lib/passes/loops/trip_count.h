/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/trip_count.h: how often a counted loop runs. */
#ifndef HALO_PASSES_LOOPS_TRIP_COUNT_H
#define HALO_PASSES_LOOPS_TRIP_COUNT_H

#include "hlo/hlo.h"

/* Whether `while_` counts an integer state element from a constant by a constant step until a
 * comparison with a constant fails, and so runs its body exactly *trips times. The constants are found
 * in the initial state's tuple and in the body and condition, or handed through the state unchanged.
 * Exact: loops that would wrap around, or never end, are refused. Needs no scratch fields. */
bool halo_while_trip_count(const halo_instr *while_, int64_t *trips);

/* What the trip-counts pass noted on a loop; -1: nothing. */
int64_t halo_noted_trip_count(const halo_instr *while_);

#endif

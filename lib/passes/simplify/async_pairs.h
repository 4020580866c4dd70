/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/async_pairs.h: which asynchronous starts stay what they are, so that what they wrap runs beside
 * the rest of the program. */
#ifndef HALO_PASSES_SIMPLIFY_ASYNC_PAIRS_H
#define HALO_PASSES_SIMPLIFY_ASYNC_PAIRS_H

#include "base/pointer_map.h"
#include "hlo/hlo.h"

/* Sets, for each async-start of the computation that is to stay, itself in `kept`. It stays when
 * - its chain is one done, and updates that hand on nothing new;
 * - its shape is ((operands), result, ...) as what it calls has it; and
 * - what it wraps takes longer on the module's target than two queues take to wait for each other.
 * All others are as good as calls. */
void halo_async_pairs_keep(const halo_computation *computation, halo_pointer_map *kept);

#endif

/* plan/enclose.h: loops of little work become kernels. */
#ifndef HALO_PLAN_ENCLOSE_H
#define HALO_PLAN_ENCLOSE_H

#include "hlo/target.h"
#include "plan/lowering.h"

/* Where the rounds of a loop take longer to launch than to compute, one kernel of one work group runs them:
 * all of a loop of known length, or so many that the host is rarely asked. To be called when the steps
 * and their buffers are settled. */
void lower_enclose_loops(lower_state *s, const halo_target *target);

#endif

/* plan/check.h: what no plan can say yet. */
#ifndef HALO_PLAN_CHECK_H
#define HALO_PLAN_CHECK_H

#include "hlo/hlo.h"

/* Before the passes, on the module as it was given: HALO_UNIMPLEMENTED for shapes with unbounded
 * dimensions (naming instruction and line), which would otherwise run as something else. */
halo_status halo_plan_check(const halo_module *module);

#endif

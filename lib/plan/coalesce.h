/* plan/coalesce.h: taking copies out of a plan and letting results reuse memory. */
#ifndef HALO_PLAN_COALESCE_H
#define HALO_PLAN_COALESCE_H

#include "hlo/hlo.h"
#include "plan/plan.h"

/* Merges the source and target of copies where neither is needed beside the other, lets elementwise
 * kernels write over an operand that dies, and finds which argument's memory each result could take
 * over when that argument is donated. `module` gives input_output_alias. */
void halo_plan_coalesce(halo_plan *plan, const halo_module *module);

#endif

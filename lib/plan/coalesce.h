/* SPDX-License-Identifier: Apache-2.0 */
/* plan/coalesce.h: taking copies out of a plan and letting results reuse memory. */
#ifndef HALO_PLAN_COALESCE_H
#define HALO_PLAN_COALESCE_H

#include "hlo/hlo.h"
#include "plan/plan.h"

/* Merges the source and target of copies where neither is needed beside the other, lets elementwise
 * kernels write over an operand that dies, and finds which argument's memory each result could take
 * over when that argument is donated. `module` gives input_output_alias and buffer_donor. */
void halo_plan_coalesce(halo_plan *plan, const halo_module *module);

/* The last of these alone (donate.c): sets plan->result_alias, all of which is -1 before. Wanted pairs
 * (input_output_alias) come first. Then each result takes an argument of its size that it can have:
 * arguments that the module itself offers (buffer_donor) before others, one that the result's own
 * kernel may overwrite as it reads it before others, lower numbers before higher ones. */
void halo_plan_donate(halo_plan *plan, const halo_module *module);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower.h: from a module (after the passes) to a plan. */
#ifndef HALO_PLAN_LOWER_H
#define HALO_PLAN_LOWER_H

#include "hlo/hlo.h"
#include "opencl/caps.h"
#include "plan/plan.h"

/* Lowers the entry computation. The module may gain wrapper computations but keeps its meaning.
 * `kernels` as halo_lowering.kernels; `limits`: what earlier plans of this module met on the device, or NULL; kernels that they name
 * are lowered for groups that are no larger. HALO_UNIMPLEMENTED naming the instruction (and line) that
 * cannot run. The caller releases the plan. */
halo_status halo_plan_lower(halo_module *module, const halo_caps *caps, const char *kernels,
                            const halo_plan_limits *limits, halo_plan **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/regions.h: runs of small steps become kernels. */
#ifndef HALO_PLAN_REGIONS_H
#define HALO_PLAN_REGIONS_H

#include "hlo/target.h"
#include "plan/lowering.h"

/* The names and costs of its implementations: `kernel`, one for all steps, and `steps`, each launched. The plan makes the
 * steps; `lower` is NULL. */
extern const halo_family lower_family_region;

/* Before steps are lowered: what one work group of the device takes. On CPUs, whose groups are cores, kernels that share
 * nothing among work items are the rule, and nothing has to be said. */
void lower_begin_regions(lower_state *s, const halo_target *target);

/* Where neighbouring steps, loops and branches among them, take longer to launch than to compute, one kernel
 * of one work group does them all: a region. One that may take long, or whose loops nobody knows the length
 * of, leaves off after a while, and the host has it go on. To be called when the steps and what they share
 * are settled, and before buffers get their places: a region may add a buffer. */
halo_status lower_regions(lower_state *s, const halo_target *target);

#endif

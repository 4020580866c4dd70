/* SPDX-License-Identifier: Apache-2.0 */
/* plan/bundles.h: independent steps become one launch. */
#ifndef HALO_PLAN_BUNDLES_H
#define HALO_PLAN_BUNDLES_H

#include "hlo/target.h"
#include "plan/lowering.h"

/* The names and costs of its implementations: `kernel`, one for all steps, and `steps`, each launched. The plan makes the
 * steps; `lower` is NULL. */
extern const halo_family lower_family_bundle;

/* Small kernels that do not depend on one another become one kernel, whose work items are shared out among
 * them: a bundle. Those of one unit have one text between them; a table says which work items are whose. To be
 * called when the steps and what they share are settled, and before buffers get their places. Only kernels of
 * the first `units` units: not regions. */
halo_status lower_bundles(lower_state *s, const halo_target *target, int32_t units);
/* How many steps each step, by number, would be launched together with, itself counted: what a launch of it
 * costs is to be divided by that. NULL where there are no bundles. To be freed. */
int32_t *lower_bundle_sizes(lower_state *s, const halo_target *target);

#endif

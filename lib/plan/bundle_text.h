/* SPDX-License-Identifier: Apache-2.0 */
/* plan/bundle_text.h: the kernel of a bundle. Private to this room. */
#ifndef HALO_PLAN_BUNDLE_TEXT_H
#define HALO_PLAN_BUNDLE_TEXT_H

#include "plan/lowering.h"

enum { BUNDLE_MEMBERS = 64, BUNDLE_BODIES = 8 };

/* Steps of one kernel, none of which depends on another. */
typedef struct bundle_body {
  const halo_step *members[BUNDLE_MEMBERS];
  int32_t count;
  int32_t room;    /* members that its text has room for, at least so many as there are */
  uint64_t shared; /* bit i: argument i is the same for all members, and one parameter */
} bundle_body;

typedef struct bundle {
  const bundle_body *bodies[BUNDLE_BODIES];
  int32_t count;
} bundle;

/* The arguments that may be shared. */
uint64_t bundle_shared(const bundle_body *body);
/* Bytes that the arguments of a body's members take in a kernel. */
int64_t bundle_body_bytes(const halo_plan *plan, const halo_caps *caps, const bundle_body *body);
/* And those of the table that says which work items are whose. */
int64_t bundle_table_bytes(const halo_caps *caps);

/* Makes the launch: kernel, unit, arguments, sizes. */
halo_status bundle_make(lower_state *s, const halo_target *target, const bundle *b,
                        halo_step *launch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tools/profile.h: where the time went. */
#ifndef HALO_TOOLS_PROFILE_H
#define HALO_TOOLS_PROFILE_H

#include "halo/client.h"

#include <stdbool.h>

/* What was done up to a moment. */
typedef struct profile_mark {
  double device; /* seconds of all steps */
  halo_profile_host host[HALO_PROFILE_HOST_ROWS];
} profile_mark;

/* Waits for the device. False after a message, as of those below; the executable's client profiles. */
bool profile_take_mark(halo_executable *executable, profile_mark *out);
/* A table of the steps, the slowest first. */
bool profile_print_steps(halo_executable *executable);
/* Where the `wall` seconds of `runs` runs since a mark went. */
bool profile_print_wall(halo_executable *executable, const profile_mark *since, double wall,
                        int64_t runs);

#endif

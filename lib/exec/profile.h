/* SPDX-License-Identifier: Apache-2.0 */
/* exec/profile.h: time per step from device events, and what the host does meanwhile. */
#ifndef HALO_EXEC_PROFILE_H
#define HALO_EXEC_PROFILE_H

#include "opencl/opencl.h"
#include "plan/plan.h"

typedef struct halo_profile_event {
  int32_t step;
  cl_event event;
} halo_profile_event;

/* What a step's runs took. */
typedef struct halo_step_time {
  const halo_step *step;
  uint64_t runs;
  double seconds; /* device time over all runs */
} halo_step_time;

/* What keeps the host busy in a run, or waiting. */
typedef enum halo_host_work {
  HALO_HOST_LAUNCH, /* putting commands on a queue */
  HALO_HOST_WAIT, /* for values that say how to go on, of loops, branches and custom calls; for room */
  HALO_HOST_MEMORY,   /* taking memory for results and temporaries, and giving it back */
  HALO_HOST_CALL,     /* custom calls on the host, and what comes from the host or goes to it */
  HALO_HOST_EXCHANGE, /* exchanges with other devices, from the first message to the last */
  HALO_HOST_WORKS
} halo_host_work;

typedef struct halo_host_time {
  uint64_t count;
  double seconds;
} halo_host_time;

typedef struct halo_profile {
  halo_host_time host[HALO_HOST_WORKS];
  HALO_VEC(halo_step_time) rows; /* of the steps that are commands, in order */
  int32_t *row_of_step;          /* by step number; -1: none */
  HALO_VEC(halo_profile_event) pending;
} halo_profile;

void halo_profile_init(halo_profile *profile, const halo_plan *plan);
void halo_profile_deinit(halo_profile *profile);
/* Notes a step's event, whose reference is taken over. */
void halo_profile_add(halo_profile *profile, int32_t step, cl_event event);
/* Adds the times of one run, by halo_host_work. */
void halo_profile_add_host(halo_profile *profile, const halo_host_time *times);
/* Adds up; all events must have happened. */
halo_status halo_profile_rows(halo_profile *profile, const halo_step_time **rows, int *count);

#endif

/* exec/profile.h: time per step from device events. */
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

typedef struct halo_profile {
  HALO_VEC(halo_step_time) rows; /* of the steps that are commands, in order */
  int32_t *row_of_step;          /* by step number; -1: none */
  HALO_VEC(halo_profile_event) pending;
} halo_profile;

void halo_profile_init(halo_profile *profile, const halo_plan *plan);
void halo_profile_deinit(halo_profile *profile);
/* Notes a step's event, whose reference is taken over. */
void halo_profile_add(halo_profile *profile, int32_t step, cl_event event);
/* Adds up; all events must have happened. */
halo_status halo_profile_rows(halo_profile *profile, const halo_step_time **rows, int *count);

#endif

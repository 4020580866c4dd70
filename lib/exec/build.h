/* SPDX-License-Identifier: Apache-2.0 */
/* exec/build.h: from a plan's units to built programs. */
#ifndef HALO_EXEC_BUILD_H
#define HALO_EXEC_BUILD_H

#include "opencl/opencl.h"
#include "plan/plan.h"

/* Where a unit ended up: a program (one reference a unit) and the unit's number in it. */
typedef struct halo_built_unit {
  halo_cl_program *program;
  int32_t number;
} halo_built_unit;

/* Finds each unit in a program that is in memory already, or builds it, several units a program and
 * several programs at once where the runtime gains by that. `units` [plan->units.count] is zeroed
 * memory; what it holds is released with halo_built_units_release also after a failure. HALO_DEVICE_ERROR
 * with the build log, HALO_OUT_OF_MEMORY. */
halo_status halo_units_build(halo_cl_device *device, const halo_plan *plan, halo_built_unit *units);
void halo_built_units_release(halo_built_unit *units, int32_t count);
/* Which replica and partition of a program a run is. */
typedef struct halo_run_ids {
  uint32_t replica, partition;
} halo_run_ids;

/* A step's kernel from the unit it is in, with its values set, those of a run for `ids`; its buffers are
 * for the caller to set. To be released with clReleaseKernel. */
halo_status halo_unit_kernel(const halo_built_unit *unit, const halo_step *step, halo_run_ids ids,
                             cl_kernel *out);
/* The work-group size to launch a step's kernel with: the plan's, or what is left of it where this kernel
 * takes so much of the device that it gets smaller groups. HALO_UNIMPLEMENTED, saying what to do, where
 * the kernel cannot do with less; *out_most is what it gets then, else 0. */
halo_status halo_unit_fit(const halo_built_unit *unit, const halo_step *step, cl_kernel kernel,
                          size_t local[3], size_t *out_most);

#endif

/* exec/executor.h: runs a plan on a device queue. It knows plans and OpenCL, and no HLO. */
#ifndef HALO_EXEC_EXECUTOR_H
#define HALO_EXEC_EXECUTOR_H

#include "exec/profile.h"
#include "opencl/opencl.h"
#include "plan/plan.h"

/* A plan made ready: program built, kernels created, constants on the device. Runs from several
 * threads are queued one after the other. */
typedef struct halo_program halo_program;

/* Takes over the plan (also when it fails). HALO_DEVICE_ERROR with the build log, HALO_OUT_OF_MEMORY.
 * On a null device nothing is built and the program cannot run. */
halo_status halo_program_create(halo_cl_device *device, halo_plan *plan, halo_program **out);
void halo_program_release(halo_program *program);
const halo_plan *halo_program_plan(const halo_program *program);

/* Queues one run. `arguments`: a block for each flat argument, borrowed. `donated[i]`: argument i's
 * memory may become a result's (NULL: none may be). `results` receives a new reference to a block for
 * each flat result; *ready (a reference, never NULL on success) happens when all are there. Returns
 * without waiting unless a loop's condition or a branch's selector has to be read. *began: steps were
 * queued, also when it fails then: donated memory may have been written over. */
halo_status halo_program_run(halo_program *program, halo_cl_block *const *arguments,
                             const bool *donated, halo_cl_block **results, cl_event *ready,
                             bool *began);

/* Waits, then gives one row a step that can be timed; NULL and 0 without profiling. Owned by the
 * program until the next call. */
halo_status halo_program_profile(halo_program *program, const halo_step_time **rows, int *count);

#endif

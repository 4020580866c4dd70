/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_copy.c: copies from one place to another. */
#include "exec/run.h"

static halo_status copy_start(halo_run *run, const halo_step *step, void *state) {
  (void)state;
  halo_place_at from = halo_run_resolve(run, step->args[0].buffer);
  halo_place_at to = halo_run_resolve(run, step->args[1].buffer);
  /* A donated argument whose memory became the result's. */
  if (from.mem == to.mem && from.offset == to.offset) return HALO_OK;
  cl_event storage, *event = halo_run_event(run, &storage);
  HALO_TRY(halo_cl_check(
      halo_cl.clEnqueueCopyBuffer(run->queue, from.mem, to.mem, (size_t)from.offset,
                                  (size_t)to.offset, (size_t)step->bytes, 0, NULL, event),
      step->label));
  halo_run_queued(run, step, &storage);
  return HALO_OK;
}

const halo_step_runner halo_runner_copy = {.start = copy_start};

/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_library.c: matrix products by a library. */
#include "exec/run.h"
#include "kernels/dot/gemm.h"

static halo_status library_start(halo_run *run, const halo_step *step, void *state) {
  (void)state;
  cl_mem mems[3];
  size_t offsets[3];
  for (int i = 0; i < 3; i++) {
    halo_place_at at = halo_run_resolve(run, step->args[i].buffer);
    mems[i] = at.mem;
    offsets[i] = (size_t)at.offset / (size_t)step->args[i].element_size;
  }
  cl_event storage, *event = halo_run_event(run, &storage);
  HALO_TRY(halo_gemm_enqueue(run->queue, step->gemm, mems, offsets, event));
  halo_run_queued(run, step, &storage);
  return HALO_OK;
}

/* A plan without CLBlast is made where it computes wrong results. */
static halo_status library_prepare(halo_program *p, const halo_step *step, void **state) {
  (void)step, (void)state;
  halo_status status = halo_gemm_check(p->device);
  if (status != HALO_OK && p->limits && halo_caps_clblast_is_wrong(&p->device->caps))
    p->limits->grew = true;
  return status;
}

const halo_step_runner halo_runner_library = {.prepare = library_prepare, .start = library_start};

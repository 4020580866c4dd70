/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_random.c: the state of a program's random numbers. Each step has one of its own, a counter of
 * 128 bits, which the host keeps: runs get theirs in the order in which they are started. */
#include "exec/run.h"

static halo_status random_start(halo_run *run, const halo_step *step, void *data) {
  (void)data;
  halo_program *p = run->program;
  pthread_mutex_lock(&p->lock);
  uint64_t *state = p->random[step->number], now[2] = {state[0], state[1]};
  state[0] += (uint64_t)step->delta;
  state[1] += state[0] < now[0];
  pthread_mutex_unlock(&p->lock);
  halo_place_at to = halo_run_resolve(run, step->args[0].buffer);
  cl_event storage, *event = halo_run_event(run, &storage);
  HALO_TRY(halo_cl_check(halo_cl.clEnqueueFillBuffer(run->queue, to.mem, now, sizeof now,
                                                     (size_t)to.offset, sizeof now, 0, NULL, event),
                         step->label));
  halo_run_queued(run, step, &storage);
  return HALO_OK;
}

const halo_step_runner halo_runner_random = {.start = random_start};

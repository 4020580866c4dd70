/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_random.c: the state of a program's random numbers. Each step has one of its own, a counter of
 * 128 bits, which the host keeps. Runs get theirs in the order in which they are started: they take them from the program then. Only
 * in branches and in loops of unknown length, where it is not known how many states a run needs, a step takes each when it runs. */
#include "exec/run.h"

static halo_status random_start(halo_run *run, const halo_step *step, void *data) {
  (void)data;
  halo_program *p = run->program;
  const uint64_t delta[2] = {(uint64_t)step->delta, 0};
  pthread_mutex_lock(&p->lock);
  halo_random *random = &p->random[step->number];
  if (random->advance[0] || random->advance[1]) random = &run->random[step->number];
  uint64_t now[2] = {random->state[0], random->state[1]};
  halo_random_add(random->state, delta);
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

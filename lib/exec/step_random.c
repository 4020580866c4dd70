/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_random.c: the state of a program's random numbers. Each step has one of its own, a counter of
 * 128 bits, which the host keeps. Runs get theirs in the order in which they are started: they take them from the program then. Only
 * in branches and in loops of unknown length, where it is not known how many states a run needs, a step takes each when it runs. */
#include "exec/run.h"

#include "base/memory.h"

#include <string.h>

static void random_add(uint64_t state[2], const uint64_t by[2]) {
  uint64_t low = state[0];
  state[0] += by[0];
  state[1] += by[1] + (state[0] < low);
}

/* Steps of a list that runs `times` times. */
static void random_survey(halo_program *p, const halo_steps *steps, int64_t times) {
  for (int32_t i = 0; i < steps->count && times; i++) {
    const halo_step *step = &steps->data[i];
    if (step->kind == HALO_STEP_RANDOM) {
      unsigned __int128 advance = (unsigned __int128)(uint64_t)step->delta * (uint64_t)times;
      uint64_t *to = p->random[step->number].advance;
      to[0] = (uint64_t)advance;
      to[1] = (uint64_t)(advance >> 64);
      p->has_random = true;
    }
    int64_t each = step->kind == HALO_STEP_START ? 1 : step->trips > 0 ? step->trips : 0, product;
    if (!halo_mul_i64(times, each, &product)) continue;
    for (int32_t l = 0; l < step->list_count; l++) random_survey(p, &step->lists[l], product);
  }
}

void halo_random_survey(halo_program *p) { random_survey(p, &p->plan->steps, 1); }

void halo_run_take_random(halo_run *run) {
  halo_program *p = run->program;
  if (!p->has_random) return;
  size_t count = (size_t)p->plan->step_count;
  run->random = halo_alloc(sizeof *run->random * count);
  pthread_mutex_lock(&p->lock);
  memcpy(run->random, p->random, sizeof *run->random * count);
  for (size_t i = 0; i < count; i++) random_add(p->random[i].state, p->random[i].advance);
  pthread_mutex_unlock(&p->lock);
}

static halo_status random_start(halo_run *run, const halo_step *step, void *data) {
  (void)data;
  halo_program *p = run->program;
  const uint64_t delta[2] = {(uint64_t)step->delta, 0};
  pthread_mutex_lock(&p->lock);
  halo_random *random = &p->random[step->number];
  if (random->advance[0] || random->advance[1]) random = &run->random[step->number];
  uint64_t now[2] = {random->state[0], random->state[1]};
  random_add(random->state, delta);
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

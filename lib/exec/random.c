/* SPDX-License-Identifier: Apache-2.0 */
/* exec/random.c: which states of random numbers a run takes when it is started. */
#include "exec/run.h"

#include "base/memory.h"

#include <string.h>

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
  for (size_t i = 0; i < count; i++) halo_random_add(p->random[i].state, p->random[i].advance);
  pthread_mutex_unlock(&p->lock);
}

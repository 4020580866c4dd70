/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/blame.c: who keeps whom waiting. A device that has waited for another one almost as long as it may asks that
 * one's process whom it waits for itself, and so on, so that errors name who keeps all of them waiting. */
#include "base/clock.h"
#include "collectives/post.h"

#include <math.h>

/* The device that `device` waits for in the run, as far as this process knows; false: it does not wait. With the lock. */
static bool blame_find(const post_office *office, const post_wait *of, int device, int *awaits) {
  for (int32_t i = 0; i < office->waiting.count; i++) {
    const post_wait *wait = office->waiting.data[i];
    if (wait->program != of->program || wait->run != of->run || wait->device != device) continue;
    *awaits = wait->awaits;
    return true;
  }
  uint64_t count = office->told_count, oldest = count > POST_FAILURES ? count - POST_FAILURES : 0;
  for (uint64_t i = count; i > oldest; i--) {
    const post_wait *wait = &office->told[(i - 1) % POST_FAILURES];
    if (wait->when < of->when) return false;
    if (wait->program != of->program || wait->run != of->run || wait->device != device) continue;
    *awaits = wait->awaits;
    return true;
  }
  return false;
}

int post_follow(const halo_world *world, const post_wait *wait, int device) {
  int at = device, next;
  for (uint64_t steps = 0; steps < POST_FAILURES; steps++) {
    if (!blame_find(world->office, wait, at, &next)) return at;
    if (next == device || next == wait->device || next == at) break;
    at = next;
  }
  return device; /* all wait for each other */
}

void post_note_wait(halo_world *world, const post_wait *wait) {
  pthread_mutex_lock(&world->office->lock);
  post_wait *told = &world->office->told[world->office->told_count++ % POST_FAILURES];
  *told = *wait;
  told->when = halo_clock();
  pthread_mutex_unlock(&world->office->lock);
}

bool post_find_wait(halo_world *world, uint64_t program, uint64_t run, int device, post_wait *out) {
  *out = (post_wait){program, run, device, 0, INFINITY}; /* not what others were told */
  pthread_mutex_lock(&world->office->lock);
  bool found = blame_find(world->office, out, device, &out->awaits);
  pthread_mutex_unlock(&world->office->lock);
  return found;
}

void post_register(halo_world *world, post_wait *wait) {
  pthread_mutex_lock(&world->office->lock);
  halo_vec_push(&world->office->waiting, wait);
  pthread_mutex_unlock(&world->office->lock);
}

void post_unregister(halo_world *world, const post_wait *wait) {
  post_office *office = world->office;
  pthread_mutex_lock(&office->lock);
  int32_t at = 0;
  while (office->waiting.data[at] != wait) at++;
  office->waiting.data[at] = office->waiting.data[--office->waiting.count];
  pthread_mutex_unlock(&office->lock);
}

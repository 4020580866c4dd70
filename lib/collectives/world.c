/* collectives/world.c: a client's world, and libraries that connect it. */
#include "collectives/world.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/memory.h"
#include "collectives/post.h"

#include <string.h>
#include <time.h>

halo_status halo_world_create(halo_communicator *communicator, int devices, double timeout,
                              halo_world **out) {
  bool alone = !communicator || communicator->process_count <= 1;
  halo_world *world = halo_alloc(sizeof *world);
  world->comm = alone ? NULL : communicator;
  world->process = alone ? 0 : communicator->process;
  world->process_count = alone ? 1 : communicator->process_count;
  world->timeout = timeout;
  world->next_tag = 1;
  pthread_mutex_init(&world->comm_lock, NULL);
  pthread_mutex_init(&world->poll_lock, NULL);
  pthread_mutex_init(&world->lock, NULL);
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&world->changed, &clock);
  pthread_condattr_destroy(&clock);
  int32_t mine = devices, *all = halo_alloc(sizeof *all * (size_t)world->process_count);
  halo_status status =
      halo_world_agree(world, "opening devices together", &mine, sizeof mine, all, NULL);
  world->first = halo_alloc(sizeof *world->first * (size_t)(world->process_count + 1));
  for (int p = 0; p < world->process_count; p++) world->first[p + 1] = world->first[p] + all[p];
  halo_free(all);
  if (status != HALO_OK) {
    char *message = halo_error_save();
    halo_world_release(world);
    halo_error_restore(message);
    world = NULL;
  }
  *out = world;
  return status;
}

/* What was sent without waiting should arrive. */
static void world_settle(halo_world *world) {
  enum { SETTLE_PAUSE = 200000 }; /* nanoseconds */
  double until = halo_clock() + (world->broken ? 0 : 1);
  for (;;) {
    bool any;
    if (post_poll(world, &any) != HALO_OK) break;
    if (world->orphans.count == 0 || halo_clock() > until) break;
    struct timespec pause = {0, SETTLE_PAUSE};
    nanosleep(&pause, NULL);
  }
}

void halo_world_release(halo_world *world) {
  if (!world) return;
  if (world->comm) world_settle(world);
  if (world->comm && world->broken) world->comm->broken = true;
  for (int b = 0; b < POST_BUCKETS; b++) {
    while (world->buckets[b]) {
      post_entry *entry = world->buckets[b];
      world->buckets[b] = entry->next;
      post_entry_release(entry);
    }
  }
  for (int i = 0; i < POST_FAILURES; i++) halo_free(world->failures[i].message);
  /* Memory of requests that never end stays: the communicator may write to it. */
  halo_vec_deinit(&world->orphans);
  pthread_cond_destroy(&world->changed);
  pthread_mutex_destroy(&world->lock);
  pthread_mutex_destroy(&world->poll_lock);
  pthread_mutex_destroy(&world->comm_lock);
  halo_free(world->first);
  halo_free(world);
}

uint64_t halo_world_local_program(halo_world *world) {
  pthread_mutex_lock(&world->lock);
  uint64_t number = ++world->local_programs;
  pthread_mutex_unlock(&world->lock);
  return number | (uint64_t)1 << 63;
}

int halo_world_process(const halo_world *world) { return world->process; }
int halo_world_process_count(const halo_world *world) { return world->process_count; }
int halo_world_device_count(const halo_world *world) { return world->first[world->process_count]; }
int halo_world_first_device(const halo_world *world, int process) { return world->first[process]; }
int halo_world_process_of(const halo_world *world, int device) {
  return post_process_of(world, device);
}

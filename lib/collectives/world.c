/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/world.c: a client's world, and libraries that connect it. */
#include "collectives/world.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/memory.h"
#include "collectives/post.h"

#include <string.h>
#include <time.h>

/* ---- Offices ---- */

static pthread_mutex_t world_lock = PTHREAD_MUTEX_INITIALIZER;

/* That of the communicator, or one of its own. *number: of the world that is made. */
static post_office *world_take_office(halo_communicator *communicator, uint64_t *number) {
  pthread_mutex_lock(&world_lock);
  post_office *office = communicator ? communicator->library : NULL;
  if (!office) {
    office = halo_alloc(sizeof *office);
    office->next_tag = 1;
    pthread_mutex_init(&office->comm_lock, NULL);
    pthread_mutex_init(&office->poll_lock, NULL);
    pthread_mutex_init(&office->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&office->changed, &clock);
    pthread_condattr_destroy(&clock);
  }
  if (communicator) communicator->library = office;
  office->worlds++;
  *number = ++office->worlds_so_far;
  pthread_mutex_unlock(&world_lock);
  return office;
}

static void world_free_office(post_office *office) {
  for (int b = 0; b < POST_BUCKETS; b++) {
    while (office->buckets[b]) {
      post_entry *entry = office->buckets[b];
      office->buckets[b] = entry->next;
      post_entry_release(entry);
    }
  }
  for (int i = 0; i < POST_FAILURES; i++) halo_free(office->failures[i].message);
  halo_free(office->broken_by);
  /* Memory of requests that never end stays: the communicator may write to it. */
  halo_vec_deinit(&office->orphans);
  halo_vec_deinit(&office->waiting);
  pthread_cond_destroy(&office->changed);
  pthread_mutex_destroy(&office->lock);
  pthread_mutex_destroy(&office->poll_lock);
  pthread_mutex_destroy(&office->comm_lock);
  halo_free(office);
}

/* A communicator keeps its office between worlds: what comes for the next one comes there. */
static void world_give_office(halo_world *world) {
  pthread_mutex_lock(&world_lock);
  post_office *office = world->office;
  bool last = --office->worlds == 0 && !world->comm;
  if (world->comm && office->broken) world->comm->broken = true;
  pthread_mutex_unlock(&world_lock);
  if (last) world_free_office(office);
}

void halo_communicator_close(halo_communicator *communicator) {
  if (!communicator) return;
  post_office *office = communicator->library;
  communicator->library = NULL;
  communicator->close(communicator);
  if (office) world_free_office(office);
}

/* ---- Worlds ---- */

halo_world *halo_world_make(halo_communicator *communicator, double timeout) {
  bool alone = !communicator || communicator->process_count <= 1;
  halo_world *world = halo_alloc(sizeof *world);
  world->comm = alone ? NULL : communicator;
  world->process = alone ? 0 : communicator->process;
  world->process_count = alone ? 1 : communicator->process_count;
  world->timeout = timeout;
  world->office = world_take_office(world->comm, &world->number);
  world->first = halo_alloc(sizeof *world->first * (size_t)(world->process_count + 1));
  return world;
}

void halo_world_place(halo_world *world, const int32_t *devices) {
  for (int p = 0; p < world->process_count; p++) world->first[p + 1] = world->first[p] + devices[p];
}

halo_status halo_world_create(halo_communicator *communicator, int devices, double timeout,
                              halo_world **out) {
  halo_world *world = halo_world_make(communicator, timeout);
  int32_t mine = devices, *all = halo_alloc(sizeof *all * (size_t)world->process_count);
  halo_status status = halo_world_agree(
      world, &(halo_agreement){.what = "opening devices together"}, &mine, sizeof mine, all);
  halo_world_place(world, all);
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

/* What was sent without waiting should arrive, and others should come to their ends of a run that has just failed. */
static void world_settle(halo_world *world) {
  enum { SETTLE_PAUSE = 200000 }; /* nanoseconds */
  static const double settle = 1; /* seconds */
  double until = halo_clock() + (world->office->broken ? 0 : settle);
  double failed = post_unwatch(world) - world->timeout + settle;
  for (;;) {
    bool any;
    if (post_poll(world, &any) != HALO_OK) break;
    double now = halo_clock();
    if ((world->office->orphans.count == 0 && now > failed) || now > until) break;
    struct timespec pause = {0, SETTLE_PAUSE};
    nanosleep(&pause, NULL);
  }
}

void halo_world_release(halo_world *world) {
  if (!world) return;
  if (world->comm) world_settle(world);
  world_give_office(world);
  for (post_counter *c = world->all_counters, *next; c; c = next) {
    next = c->next;
    halo_free(c);
  }
  halo_map_deinit(&world->counters);
  halo_free(world->first);
  halo_free(world);
}

uint64_t halo_world_program(halo_world *world) {
  pthread_mutex_lock(&world->office->lock);
  uint64_t number = ++world->programs;
  pthread_mutex_unlock(&world->office->lock);
  return post_program(world, world->process, number);
}

uint64_t halo_world_common_program(const halo_world *world, const uint64_t key[2]) {
  const uint64_t parts[] = {world->number, key[0], key[1]};
  return post_common(halo_hash(parts, sizeof parts, 0));
}

int halo_world_process(const halo_world *world) { return world->process; }
int halo_world_process_count(const halo_world *world) { return world->process_count; }
int halo_world_device_count(const halo_world *world) { return world->first[world->process_count]; }
int halo_world_first_device(const halo_world *world, int process) { return world->first[process]; }
int halo_world_process_of(const halo_world *world, int device) {
  return post_process_of(world, device);
}

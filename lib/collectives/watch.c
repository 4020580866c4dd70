/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/watch.c: what comes for runs that have failed. Its senders wait until it is taken, while this process may
 * have nothing more to exchange for long: so a thread takes it, for as long as others may not know. */
#include "base/clock.h"
#include "collectives/post.h"

#include <time.h>

enum { WATCH_PAUSE = 1000000 }; /* nanoseconds */

static void watch_pause(post_office *office) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_nsec += WATCH_PAUSE;
  at.tv_sec += at.tv_nsec / 1000000000;
  at.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&office->changed, &office->lock, &at);
}

static void *watch_main(void *data) {
  halo_world *world = data;
  post_office *office = world->office;
  pthread_mutex_lock(&office->lock);
  while (!office->broken && halo_clock() < world->watch_until) {
    pthread_mutex_unlock(&office->lock);
    bool any;
    (void)post_poll(world, &any); /* a failure of it breaks the office */
    pthread_mutex_lock(&office->lock);
    if (!any) watch_pause(office);
  }
  world->watched = false;
  pthread_cond_broadcast(&office->changed);
  pthread_mutex_unlock(&office->lock);
  return NULL;
}

void post_watch(halo_world *world) {
  if (!world->comm) return;
  pthread_mutex_lock(&world->office->lock);
  bool start = !world->watched && !world->unwatched;
  if (!world->unwatched) world->watch_until = halo_clock() + world->timeout;
  world->watched |= start;
  pthread_mutex_unlock(&world->office->lock);
  if (!start) return;
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  bool started = pthread_create(&thread, &attributes, watch_main, world) == 0;
  pthread_attr_destroy(&attributes);
  if (started) return;
  /* Whoever looks for messages of his own takes these as well. */
  pthread_mutex_lock(&world->office->lock);
  world->watched = false;
  pthread_mutex_unlock(&world->office->lock);
}

double post_unwatch(halo_world *world) {
  pthread_mutex_lock(&world->office->lock);
  double until = world->watch_until;
  world->watch_until = 0;
  world->unwatched = true;
  while (world->watched) pthread_cond_wait(&world->office->changed, &world->office->lock);
  pthread_mutex_unlock(&world->office->lock);
  return until;
}

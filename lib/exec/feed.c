/* SPDX-License-Identifier: Apache-2.0 */
/* exec/feed.c: queues between programs and the host. */
#include "exec/feed.h"

#include "base/memory.h"
#include "base/vec.h"

#include <pthread.h>

typedef struct feed_queue {
  HALO_VEC(halo_literal *) items; /* from `first` on */
  int32_t first;
  bool closed; /* nothing is coming: not to be waited for */
} feed_queue;

struct halo_feeds {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  feed_queue queues[HALO_FEED_SIDES];
  HALO_VEC(halo_channel) channels;
};

halo_feeds *halo_feeds_create(void) {
  halo_feeds *feeds = halo_alloc(sizeof *feeds);
  pthread_mutex_init(&feeds->lock, NULL);
  pthread_cond_init(&feeds->changed, NULL);
  return feeds;
}

void halo_feeds_release(halo_feeds *feeds) {
  if (!feeds) return;
  for (int side = 0; side < HALO_FEED_SIDES; side++) {
    feed_queue *queue = &feeds->queues[side];
    for (int32_t i = queue->first; i < queue->items.count; i++) {
      halo_literal_release(queue->items.data[i]);
    }
    halo_vec_deinit(&queue->items);
  }
  halo_vec_deinit(&feeds->channels);
  pthread_cond_destroy(&feeds->changed);
  pthread_mutex_destroy(&feeds->lock);
  halo_free(feeds);
}

void halo_feed_put(halo_feeds *feeds, halo_feed_side side, halo_literal *item) {
  feed_queue *queue = &feeds->queues[side];
  pthread_mutex_lock(&feeds->lock);
  queue->closed = false;
  halo_vec_push(&queue->items, item);
  pthread_cond_broadcast(&feeds->changed);
  pthread_mutex_unlock(&feeds->lock);
}

halo_status halo_feed_take(halo_feeds *feeds, halo_feed_side side, bool wait, halo_literal **out) {
  feed_queue *queue = &feeds->queues[side];
  const char *name = side == HALO_FEED_IN ? "infeed" : "outfeed";
  halo_status status = HALO_OK;
  *out = NULL;
  pthread_mutex_lock(&feeds->lock);
  while (queue->first == queue->items.count && wait && !queue->closed) {
    pthread_cond_wait(&feeds->changed, &feeds->lock);
  }
  if (queue->first < queue->items.count) {
    *out = queue->items.data[queue->first++];
    if (queue->first == queue->items.count) queue->first = queue->items.count = 0;
  } else if (wait) {
    status = halo_fail(HALO_FAILED_PRECONDITION, "the %s queue was closed, and is empty", name);
  } else {
    status = halo_fail(HALO_NOT_FOUND, "the %s queue is empty", name);
  }
  pthread_mutex_unlock(&feeds->lock);
  return status;
}

void halo_feeds_close(halo_feeds *feeds) {
  pthread_mutex_lock(&feeds->lock);
  for (int side = 0; side < HALO_FEED_SIDES; side++) feeds->queues[side].closed = true;
  pthread_cond_broadcast(&feeds->changed);
  pthread_mutex_unlock(&feeds->lock);
}

void halo_feeds_set_channel(halo_feeds *feeds, const halo_channel *channel) {
  pthread_mutex_lock(&feeds->lock);
  int32_t i = 0;
  while (i < feeds->channels.count && feeds->channels.data[i].id != channel->id) i++;
  if (i == feeds->channels.count) halo_vec_push(&feeds->channels, *channel);
  feeds->channels.data[i] = *channel;
  pthread_mutex_unlock(&feeds->lock);
}

halo_status halo_feeds_channel(halo_feeds *feeds, int64_t id, halo_channel *out) {
  halo_status status = HALO_FAILED_PRECONDITION;
  pthread_mutex_lock(&feeds->lock);
  for (int32_t i = 0; i < feeds->channels.count && status != HALO_OK; i++) {
    if (feeds->channels.data[i].id != id) continue;
    *out = feeds->channels.data[i];
    status = HALO_OK;
  }
  pthread_mutex_unlock(&feeds->lock);
  if (status == HALO_OK) return HALO_OK;
  return halo_fail(status, "no functions were set for channel %lld (halo_device_set_channel)",
                   (long long)id);
}

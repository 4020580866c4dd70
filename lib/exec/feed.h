/* SPDX-License-Identifier: Apache-2.0 */
/* exec/feed.h: what a device's programs exchange with the host: two queues of literals, and channels. */
#ifndef HALO_EXEC_FEED_H
#define HALO_EXEC_FEED_H

#include "halo/channels.h"
#include "shape/literal.h"

typedef struct halo_feeds halo_feeds;
typedef enum halo_feed_side { HALO_FEED_IN, HALO_FEED_OUT, HALO_FEED_SIDES } halo_feed_side;

/* All but create and release may be called from any thread. */
halo_feeds *halo_feeds_create(void);
void halo_feeds_release(halo_feeds *feeds);

/* Takes over one reference. */
void halo_feed_put(halo_feeds *feeds, halo_feed_side side, halo_literal *item);
/* As halo_device_outfeed. */
halo_status halo_feed_take(halo_feeds *feeds, halo_feed_side side, bool wait, halo_literal **out);
void halo_feeds_close(halo_feeds *feeds);

void halo_feeds_set_channel(halo_feeds *feeds, const halo_channel *channel);
/* The functions of a channel; HALO_FAILED_PRECONDITION when none were set. */
halo_status halo_feeds_channel(halo_feeds *feeds, int64_t id, halo_channel *out);

#endif

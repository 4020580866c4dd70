/* SPDX-License-Identifier: Apache-2.0 */
/* tools/feeds.h: --infeed and --outfeed of `halo run`. */
#ifndef HALO_TOOLS_FEEDS_H
#define HALO_TOOLS_FEEDS_H

#include "halo/channels.h"
#include "output.h"

/* Items of a queue, in order. */
typedef struct feed_list {
  halo_literal **data;
  int count;
} feed_list;

/* Reads a .npy file, one item, or a .npz archive. There an array is an item; arrays whose names are the same
 * up to a dot, one after the other, are the parts of one ("0.0", "0.1"). False after a message. */
bool feeds_read(const char *path, feed_list *out);
/* Puts the items into the device's infeed queue, and says that there are no more. */
bool feeds_give(halo_device *device, const feed_list *items);
/* Takes all that lies in the device's outfeed queue. */
void feeds_take(halo_device *device, feed_list *out);
void feeds_print(const feed_list *items, output_mode mode);
/* Writes items as feeds_read has them, to a .npz archive. */
bool feeds_write(const char *path, const feed_list *items);
void feeds_release(feed_list *items);

#endif

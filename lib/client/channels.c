/* SPDX-License-Identifier: Apache-2.0 */
/* client/channels.c: infeed, outfeed and channels of a device, from outside. */
#include "halo/channels.h"

#include "client/client.h"
#include "exec/feed.h"

halo_status halo_device_infeed(halo_device *device, halo_literal *item) {
  if (!device || !item)
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_device_infeed: NULL argument");
  halo_literal_retain(item);
  halo_feed_put(device->feeds, HALO_FEED_IN, item);
  return HALO_OK;
}

halo_status halo_device_outfeed(halo_device *device, bool wait, halo_literal **out) {
  if (!device || !out)
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_device_outfeed: NULL argument");
  return halo_feed_take(device->feeds, HALO_FEED_OUT, wait, out);
}

void halo_device_close_feeds(halo_device *device) {
  if (device) halo_feeds_close(device->feeds);
}

halo_status halo_device_set_channel(halo_device *device, const halo_channel *channel) {
  if (!device || !channel || channel->id < 0) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_device_set_channel: a device and a channel with an id are needed");
  }
  halo_feeds_set_channel(device->feeds, channel);
  return HALO_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* halo/channels.h: exchange between running programs and the host: infeed and outfeed queues, and
 * channels to and from the host.
 *
 * A device has one infeed queue and one outfeed queue, both unbounded. An `infeed` instruction takes
 * the first item of the infeed queue and waits while there is none; an `outfeed` appends an item to
 * the outfeed queue. `send` and `recv` with is_host_transfer=true call the functions that were set
 * for their channel_id. These transfers happen in the order of the program's tokens, in a thread of
 * the library, after halo_executable_execute has returned.
 *
 * All functions may be called from any thread at any time. Items are literals, row-major whatever
 * the layouts of their shapes: an array, or a tuple for several values. */
#ifndef HALO_CHANNELS_H
#define HALO_CHANNELS_H

#include "halo/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends an item to the device's infeed queue. The queue keeps a reference, and the item must not
 * be changed. The `infeed` that takes it fails, together with its run, if the item does not have
 * the declared shape. Returns at once; HALO_INVALID_ARGUMENT for NULL. */
HALO_API HALO_MUST_USE halo_status halo_device_infeed(halo_device *device, halo_literal *item);

/* Takes the first item of the device's outfeed queue; the caller releases *out. With `wait` the
 * call waits until there is an item or the queues are closed (HALO_FAILED_PRECONDITION); without
 * it, HALO_NOT_FOUND says that there is none. */
HALO_API HALO_MUST_USE halo_status halo_device_outfeed(halo_device *device, bool wait,
                                                       halo_literal **out);

/* Ends all waiting for the infeed and outfeed queues: waiting calls and programs fail, and so do
 * later ones that find a queue empty, until another item is appended. Releasing the client closes
 * its devices' queues. */
HALO_API void halo_device_close_feeds(halo_device *device);

/* The functions that `send` and `recv` call. They may block, and must not release the client's last
 * reference. If one fails, so does the run. */
typedef struct halo_channel {
  int64_t id; /* the channel_id of the instructions */
  /* A program sends `data`, which is borrowed for the call. NULL: sending fails. */
  halo_status (*on_send)(void *user, int64_t id, halo_literal *data);
  /* A program requests a value of `shape`; the library takes over the reference *out. NULL: receiving
   * fails. */
  halo_status (*on_recv)(void *user, int64_t id, const halo_shape *shape, halo_literal **out);
  void *user; /* passed to both */
} halo_channel;

/* Sets the functions of a channel, replacing earlier ones. The structure is copied. */
HALO_API HALO_MUST_USE halo_status halo_device_set_channel(halo_device *device,
                                                           const halo_channel *channel);

#ifdef __cplusplus
}
#endif

#endif

/* halo/channels.h: what running programs and the host hand each other: infeed and outfeed queues, and
 * channels to and from the host.
 *
 * A device has one infeed queue and one outfeed queue, without bounds. An `infeed` takes the first item of
 * the one, and waits while there is none; an `outfeed` puts an item at the end of the other. `send` and
 * `recv` with is_host_transfer=true call the functions that were set for their channel_id. What a program
 * does so happens in the order of its tokens, in a thread of the library, while halo_executable_execute
 * has long returned.
 *
 * All functions may be called from any thread at any time. Items are literals, row-major whatever the
 * layouts of their shapes; an array or, for several values, a tuple. */
#ifndef HALO_CHANNELS_H
#define HALO_CHANNELS_H

#include "halo/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Puts an item at the end of the device's infeed queue; it keeps a reference and must not be changed. The
 * `infeed` that takes it fails, and its run with it, unless the item has the shape that it declares.
 * Returns at once. HALO_INVALID_ARGUMENT for NULL. */
HALO_API HALO_MUST_USE halo_status halo_device_infeed(halo_device *device, halo_literal *item);

/* Takes the first item of the device's outfeed queue: *out is a reference of the caller's. With `wait` it
 * waits until there is one or the queues are closed (HALO_FAILED_PRECONDITION); without,
 * HALO_NOT_FOUND says that there is none. */
HALO_API HALO_MUST_USE halo_status halo_device_outfeed(halo_device *device, bool wait,
                                                       halo_literal **out);

/* Ends all waiting: what waits for the infeed or outfeed queue fails, and so does whoever comes when it is
 * empty, until another item is put there. Releasing the client closes its devices' queues. */
HALO_API void halo_device_close_feeds(halo_device *device);

/* What `send` and `recv` call. The functions may block; they must not release the client's last
 * reference. A failure is that of the run. */
typedef struct halo_channel {
  int64_t id; /* the channel_id of the instructions */
  /* A program sends `data`, which is borrowed for the call. NULL: sending fails. */
  halo_status (*on_send)(void *user, int64_t id, halo_literal *data);
  /* A program wants a value of `shape`: *out becomes a reference of the library's. NULL: receiving
   * fails. */
  halo_status (*on_recv)(void *user, int64_t id, const halo_shape *shape, halo_literal **out);
  void *user; /* handed to both */
} halo_channel;

/* Sets the functions of a channel, instead of those that it had. The structure is copied. */
HALO_API HALO_MUST_USE halo_status halo_device_set_channel(halo_device *device,
                                                           const halo_channel *channel);

#ifdef __cplusplus
}
#endif

#endif

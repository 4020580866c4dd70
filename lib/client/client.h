/* SPDX-License-Identifier: Apache-2.0 */
/* client/client.h: clients, devices, buffers and events from inside: for the files of this room. */
#ifndef HALO_CLIENT_CLIENT_H
#define HALO_CLIENT_CLIENT_H

#include "collectives/world.h"
#include "exec/feed.h"
#include "exec/value.h"
#include "halo/client.h"
#include "opencl/opencl.h"
#include "plan/plan.h"
#include "prices/tuning.h"
#include "shape/shape.h"

#include <pthread.h>
#include <stdatomic.h>

/* A device's prices and parameters (tuning.c): written when the client is created, and by the functions of halo/client.h that
 * change them. */
typedef struct halo_device_tuned {
  halo_tuning tuning;
  char hash[17];     /* of it */
  char refused[160]; /* why the file is not used, or "" */
} halo_device_tuned;
/* Fills it in from the defaults, the stored file and HALO_TUNING. HALO_INVALID_ARGUMENT for a variable that has another form. */
halo_status halo_device_begin_tuning(halo_device *device);

struct halo_device {
  halo_client *client; /* not a reference: the device is a part of it */
  halo_cl_device *cl;
  halo_device_tuned *tuned;
  int index; /* in the client */
  halo_feeds *feeds;
};

/* Reference-counted: buffers, events and executables hold references. */
struct halo_client {
  atomic_int references;
  int device_count;
  halo_device *devices;
  halo_world *world; /* all devices that programs may run on */
};

void halo_client_retain(halo_client *client);
/* The public description of a device; its texts are those of `caps`. */
void halo_client_describe(const halo_caps *caps, halo_device_info *out);

/* ---- Buffers (buffer.c) ---- */

struct halo_buffer {
  atomic_int references;
  halo_device *device; /* with a reference to its client */
  const halo_shape *shape;
  halo_plan *plan; /* whose shape it is, with a reference; NULL: the buffer's own */
  halo_device_value *
      *sizes; /* of the dynamic dimensions, in order (sizes.c); NULL when there are none */
  pthread_mutex_t lock;     /* of what follows */
  halo_device_value *value; /* NULL once donated */
  halo_device_value
      *promise; /* a reference to a value that the host is to give; NULL: it was, or is not */
};

/* A buffer over a value, of which one reference is taken over, as of the list of sizes. The shape is copied,
 * unless it belongs to `plan`, which the buffer then keeps. Cannot fail. */
halo_buffer *halo_buffer_wrap(halo_device *device, const halo_shape *shape,
                              halo_device_value *value, halo_device_value **sizes,
                              const halo_plan *plan);
/* The buffer's value with a new reference. HALO_FAILED_PRECONDITION for a donated buffer. */
halo_status halo_buffer_borrow(halo_buffer *buffer, halo_device_value **out);
/* Takes the value out: the buffer is donated from now on, and the caller has its reference. Others may
 * hold references for what was queued before. HALO_FAILED_PRECONDITION for a buffer donated before. */
halo_status halo_buffer_donate(halo_buffer *buffer, halo_device_value **out);
/* Undoes halo_buffer_donate, with its value, when the run could not be queued after all. */
void halo_buffer_undonate(halo_buffer *buffer, halo_device_value *value);

/* Takes out the value that was promised, which a program may have taken as donated. `call` names the caller in
 * messages. HALO_FAILED_PRECONDITION for a buffer whose value was not promised, or was given. */
halo_status halo_buffer_keep_promise(halo_buffer *buffer, const char *call,
                                     halo_device_value **out);

/* ---- Sizes (sizes.c, transfer.c): lists with an s32 scalar for each dynamic dimension of an array ---- */

/* A list of the given extents [rank], or of the bounds; NULL when no dimension is dynamic. */
halo_status halo_sizes_put(halo_device *device, const halo_shape *shape, const int64_t *extents,
                           halo_device_value ***out);
void halo_sizes_release(const halo_shape *shape, halo_device_value **sizes);
/* Waits for them and gives all extents, [rank]. */
halo_status halo_sizes_get(const halo_shape *shape, halo_device_value *const *sizes,
                           int64_t *extents);
/* A list of copies on another device, or the same. */
halo_status halo_sizes_across(const halo_shape *shape, halo_device_value *const *sizes,
                              halo_cl_device *device, halo_device_value ***out);

/* ---- Events (event.c) ---- */

/* Takes over one reference to `inner` (NULL: it has happened). Cannot fail. */
halo_event *halo_event_wrap(halo_client *client, halo_cl_event *inner);
halo_cl_event *halo_event_inner(const halo_event *event);

/* ---- Transfers (transfer.c) ---- */

/* An array of the host: row-major elements of a shape's type `strides` bytes apart (NULL: dense). */
typedef struct halo_host_array {
  void *data;
  const int64_t *strides;
} halo_host_array;

/* Copies a host array to a block that was just allocated, in the shape's layout. With `done` NULL it
 * waits; else `done`, which is pending, becomes queued or over on the way, and the array must stay as it
 * is until it is over. A failure that is returned has not touched `done`. */
halo_status halo_transfer_in(halo_cl_block *block, const halo_shape *shape, halo_host_array from,
                             halo_cl_event *done);
/* Copies a value out; waits for it if `done` is NULL, else as above. The failure of a value that is not
 * there is that of the copy. With `sizes` (NULL: static) as many elements as there are, dense in the array
 * where it has no strides. */
halo_status halo_transfer_out(halo_device_value *value, const halo_shape *shape,
                              halo_device_value *const *sizes, halo_host_array to,
                              halo_cl_event *done);
/* Copies a value of `size` bytes to a new one on another device, or the same. */
halo_status halo_transfer_across(halo_device_value *from, size_t size, halo_cl_device *device,
                                 const char *what, halo_device_value **out);

/* ---- Layouts (layout.c) ---- */

/* Copies an array's elements between host order with these strides in bytes (NULL: dense and row-major)
 * and the shape's layout (`device`, in host memory). The two do not overlap. */
void halo_layout_to_device(const halo_shape *shape, const void *host, const int64_t *strides,
                           void *device);
void halo_layout_to_host(const halo_shape *shape, const void *device, void *host,
                         const int64_t *strides);
/* Copies the first `extents` elements along each dimension between the host's order, as above, and a dense
 * row-major array of the shape's dimensions. */
void halo_layout_part_in(const halo_shape *shape, const int64_t *extents, const void *host,
                         const int64_t *strides, void *dense);
void halo_layout_part_out(const halo_shape *shape, const int64_t *extents, const void *dense,
                          void *host, const int64_t *strides);
/* Whether such an array's bytes are those on the device. */
bool halo_layout_is_same(const halo_shape *shape, const int64_t *strides);

#endif

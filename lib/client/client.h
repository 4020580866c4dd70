/* client/client.h: clients, buffers and events from inside: for the files of this room. */
#ifndef HALO_CLIENT_CLIENT_H
#define HALO_CLIENT_CLIENT_H

#include "halo/client.h"
#include "opencl/opencl.h"
#include "shape/shape.h"

#include <pthread.h>
#include <stdatomic.h>

struct halo_device {
  halo_client *client; /* not a reference: the device is a part of it */
  halo_cl_device *cl;
};

/* Host memory that a queued write still reads. */
typedef struct halo_pending {
  cl_event event;
  void *memory;
  struct halo_pending *next;
} halo_pending;

/* Reference-counted: buffers, events and executables hold references. */
struct halo_client {
  atomic_int references;
  halo_device device;
  pthread_mutex_t lock; /* of `pending` */
  halo_pending *pending;
};

void halo_client_retain(halo_client *client);
/* Frees host memory whose writes are done; cheap when there is none. */
void halo_client_sweep(halo_client *client);
/* Hands host memory (halo_free) over until `event` (whose reference is taken) has happened. */
void halo_client_keep(halo_client *client, cl_event event, void *memory);
/* The public description of a device; its texts are those of `caps`. */
void halo_client_describe(const halo_caps *caps, halo_device_info *out);

/* ---- Buffers ---- */

struct halo_buffer {
  atomic_int references;
  halo_client *client;
  halo_shape *shape;
  pthread_mutex_t lock; /* of what follows */
  halo_cl_block *block; /* NULL once donated */
  cl_event ready;       /* NULL: nothing to wait for */
};

/* A buffer over a block that a run fills. Takes over one reference each to `block` and `ready`
 * (NULL when the value is there already); the shape is copied. Cannot fail. */
halo_buffer *halo_buffer_wrap(halo_client *client, const halo_shape *shape, halo_cl_block *block,
                              cl_event ready);
/* The buffer's block with a new reference, for commands on the client's queue, which runs in order:
 * no need to wait for `ready`. HALO_FAILED_PRECONDITION for a donated buffer. */
halo_status halo_buffer_borrow(halo_buffer *buffer, halo_cl_block **out);
/* Takes the block out: the buffer is donated from now on, and the caller has its reference. Others
 * may hold references to the block for commands queued before. HALO_FAILED_PRECONDITION for a
 * buffer donated before. */
halo_status halo_buffer_donate(halo_buffer *buffer, halo_cl_block **out);
/* Undoes halo_buffer_donate, with its block, when the run could not be queued after all. */
void halo_buffer_undonate(halo_buffer *buffer, halo_cl_block *block);

/* ---- Events ---- */

/* Work on the host that belongs to an event's happening; it runs once, in whichever thread waits,
 * polls or releases first after the device is done. `failed`: only clean up. */
typedef void (*halo_event_finish)(void *data, bool failed);

struct halo_event {
  atomic_int references;
  halo_client *client;
  cl_event handle;          /* NULL: happened before it was made */
  pthread_mutex_t lock;     /* of `finish` */
  halo_event_finish finish; /* NULL: none, or done */
  void *data;
};

/* Takes over one reference to `handle` (NULL allowed). Cannot fail. */
halo_event *halo_event_wrap(halo_client *client, cl_event handle, halo_event_finish finish,
                            void *data);
void halo_event_retain(halo_event *event);
/* Waits for an OpenCL event (NULL: happened); its failure as a status. */
halo_status halo_event_await(cl_event handle);

/* ---- Layouts (layout.c) ---- */

/* Copies an array's elements between row-major order (`host`) and the shape's layout (`device`, in
 * host memory). The two do not overlap. */
void halo_layout_to_device(const halo_shape *shape, const void *host, void *device);
void halo_layout_to_host(const halo_shape *shape, const void *device, void *host);

#endif

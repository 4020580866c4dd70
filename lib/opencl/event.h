/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/event.h: things that will have happened: work on a device, and promises of the host. */
#ifndef HALO_OPENCL_EVENT_H
#define HALO_OPENCL_EVENT_H

#include "base/status.h"
#include "opencl/queue_lock.h"

#include <CL/cl.h>
#include <stdbool.h>

/* An event is pending, until the commands that it stands for are queued on a device; then queued; and in
 * the end over, well or with a failure. A promise of the host goes from pending to over. Reference-counted;
 * a NULL event is over, well, since ever. */
typedef struct halo_cl_event halo_cl_event;

/* A pending event. Whoever made it must see to its end. */
halo_cl_event *halo_cl_event_create(void);
/* The name of the command that the event ends, for messages of failures; copied and cut. Before others have the event. */
void halo_cl_event_set_work(halo_cl_event *event, const char *work);
void halo_cl_event_retain(halo_cl_event *event);
void halo_cl_event_release(halo_cl_event *event);

/* A pending event's failures include those of `cause` from now on, which must be over when the event's
 * own work is (it came before on the same queue, or was waited for). */
void halo_cl_event_add_cause(halo_cl_event *event, halo_cl_event *cause);

/* The end of being pending, once: the work is queued and its last command is `handle` (one reference is
 * taken over); the promise is kept; there was a failure. */
void halo_cl_event_set_queued(halo_cl_event *event, cl_event handle);
void halo_cl_event_set_done(halo_cl_event *event);
void halo_cl_event_set_failed(halo_cl_event *event, halo_status status, const char *message);

/* Not pending any more. */
bool halo_cl_event_is_queued(halo_cl_event *event);
/* The command that commands of other queues of the device must wait for, with a new reference; NULL when
 * there is none, as the event is pending or over. */
cl_event halo_cl_event_handle(halo_cl_event *event);
/* Whether it is over; does not wait. */
bool halo_cl_event_is_over(halo_cl_event *event);
/* The failure of an event that is known to be over; HALO_OK for all others. */
halo_status halo_cl_event_failure(halo_cl_event *event);
/* Waits until it is over, and gives its failure, with the message for this thread. */
halo_status halo_cl_event_wait(halo_cl_event *event);
/* Waits until it is not pending any more; HALO_OK also when the work will fail. */
halo_status halo_cl_event_wait_queued(halo_cl_event *event);

/* Calls back once, when the event is not pending any more, or when it is over. Comes from inside this
 * call when that is so already, else from any thread, with no lock of the library held. Those of
 * when_over may wait and call OpenCL; those of when_queued may not. */
typedef void (*halo_cl_event_callback)(halo_cl_event *event, void *data);
void halo_cl_event_when_queued(halo_cl_event *event, halo_cl_event_callback call, void *data);
void halo_cl_event_when_over(halo_cl_event *event, halo_cl_event_callback call, void *data);

/* Waits for an OpenCL event (NULL: happened); its failure as a status. */
halo_status halo_cl_await(cl_event handle);
/* Looks whether the command has happened, for some microseconds at most. */
bool halo_cl_look(cl_event handle);
/* Whether it has happened or failed. */
bool halo_cl_has_happened(cl_event handle);

#endif

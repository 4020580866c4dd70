/* SPDX-License-Identifier: Apache-2.0 */
/* client/event.c: the public face of events. */
#include "base/memory.h"
#include "base/worker.h"
#include "client/client.h"

/* A halo_event is a halo_cl_event with its client, which it keeps alive. */
struct halo_event {
  atomic_int references;
  halo_client *client;
  halo_cl_event *event; /* NULL: happened before it was made */
  bool is_promise;
};

halo_event *halo_event_wrap(halo_client *client, halo_cl_event *inner) {
  halo_event *event = halo_alloc(sizeof *event);
  atomic_init(&event->references, 1);
  event->client = client;
  halo_client_retain(client);
  event->event = inner;
  return event;
}

halo_cl_event *halo_event_inner(const halo_event *event) { return event->event; }

void halo_event_retain(halo_event *event) {
  if (event) atomic_fetch_add(&event->references, 1);
}

void halo_event_release(halo_event *event) {
  if (!event || atomic_fetch_sub(&event->references, 1) != 1) return;
  /* A promise that nobody can keep any more would keep others waiting for ever. */
  if (event->is_promise) {
    halo_cl_event_set_failed(event->event, HALO_FAILED_PRECONDITION,
                             "a promise was released without being kept");
  }
  halo_cl_event_release(event->event);
  halo_client_release(event->client);
  halo_free(event);
}

halo_status halo_event_wait(halo_event *event) {
  if (!event) return halo_fail(HALO_INVALID_ARGUMENT, "halo_event_wait: event is NULL");
  return halo_cl_event_wait(event->event);
}

bool halo_event_is_ready(halo_event *event) { return event && halo_cl_event_is_over(event->event); }

/* ---- Callbacks ---- */

typedef struct event_listener {
  halo_event_callback call;
  void *data;
  halo_cl_event *event; /* a reference */
} event_listener;

static void event_tell(void *data) {
  event_listener listener = *(event_listener *)data;
  halo_free(data);
  halo_status status = halo_cl_event_wait(listener.event);
  halo_cl_event_release(listener.event);
  listener.call(status, status == HALO_OK ? "" : halo_error_message(), listener.data);
}

/* Not from here: what ends an event is counted as work of the device, and the callback may release the
 * client, which waits for that. */
static void event_tell_later(halo_cl_event *event, void *data) {
  (void)event;
  halo_worker_run(event_tell, data);
}

halo_status halo_event_on_ready(halo_event *event, halo_event_callback call, void *data) {
  if (!event || !call) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_event_on_ready: NULL argument");
  }
  HALO_TRY(halo_cl_process_check());
  event_listener *listener = halo_alloc(sizeof *listener);
  *listener = (event_listener){call, data, event->event};
  halo_cl_event_retain(event->event);
  if (halo_cl_event_is_over(event->event)) {
    event_tell(listener);
  } else {
    halo_cl_event_when_over(event->event, event_tell_later, listener);
  }
  return HALO_OK;
}

/* ---- Promises ---- */

halo_status halo_promise_create(halo_client *client, halo_event **out) {
  if (!client || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_promise_create: NULL argument");
  }
  *out = halo_event_wrap(client, halo_cl_event_create());
  (*out)->is_promise = true;
  return HALO_OK;
}

static halo_status event_check_promise(const halo_event *event, const char *call) {
  if (event && event->is_promise) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT, "%s: not a promise", call);
}

halo_status halo_promise_set(halo_event *promise) {
  HALO_TRY(event_check_promise(promise, "halo_promise_set"));
  halo_cl_event_set_done(promise->event);
  return HALO_OK;
}

halo_status halo_promise_fail(halo_event *promise, halo_status status, const char *message) {
  HALO_TRY(event_check_promise(promise, "halo_promise_fail"));
  if (status == HALO_OK) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_promise_fail: HALO_OK is no failure");
  }
  halo_cl_event_set_failed(promise->event, status, message ? message : "");
  return HALO_OK;
}

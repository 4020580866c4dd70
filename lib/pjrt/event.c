/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/event.c: events of the interface: of the library's work, and of what the plugin does itself. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

typedef struct promise_call {
  PJRT_Event_OnReadyCallback call;
  void *user_arg;
  struct promise_call *next;
} promise_call;

struct pjrt_promise {
  atomic_int references;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t changed;
  bool over;
  PJRT_Error_Code code; /* once over */
  char *message;
  promise_call *calls;
};

/* Of one kind or the other; of neither: it happened before it was made. */
struct PJRT_Event {
  halo_event *event;
  pjrt_promise *promise;
};

/* ---- Promises ---- */

pjrt_promise *pjrt_promise_create(void) {
  pjrt_promise *promise = pjrt_alloc(sizeof *promise);
  atomic_init(&promise->references, 1);
  pthread_mutex_init(&promise->lock, NULL);
  pthread_cond_init(&promise->changed, NULL);
  return promise;
}

void pjrt_promise_retain(pjrt_promise *promise) { atomic_fetch_add(&promise->references, 1); }

static PJRT_Error *promise_error(const pjrt_promise *promise) {
  if (promise->code == PJRT_Error_Code_OK) return NULL;
  return pjrt_error(promise->code, "%s", promise->message);
}

void pjrt_promise_release(pjrt_promise *promise) {
  if (!promise || atomic_fetch_sub(&promise->references, 1) != 1) return;
  pjrt_promise_set(promise, PJRT_Error_Code_ABORTED, "an event was given up before it happened");
  free(promise->message);
  pthread_cond_destroy(&promise->changed);
  pthread_mutex_destroy(&promise->lock);
  free(promise);
}

void pjrt_promise_set(pjrt_promise *promise, PJRT_Error_Code code, const char *message) {
  promise_call *calls = NULL;
  pthread_mutex_lock(&promise->lock);
  if (!promise->over) {
    promise->over = true;
    promise->code = code;
    promise->message = pjrt_copy(message, strlen(message));
    calls = promise->calls;
    promise->calls = NULL;
    pthread_cond_broadcast(&promise->changed);
  }
  pthread_mutex_unlock(&promise->lock);
  while (calls) {
    promise_call *next = calls->next;
    calls->call(promise_error(promise), calls->user_arg);
    free(calls);
    calls = next;
  }
}

void pjrt_promise_end(pjrt_promise *promise, halo_status status, const char *message) {
  PJRT_Error *error = pjrt_error_with(status, message);
  PJRT_Error_GetCode_Args code = {.code = PJRT_Error_Code_OK, .error = error};
  if (error) (void)pjrt_Error_GetCode(&code);
  pjrt_promise_set(promise, code.code, message);
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = error});
}

static bool promise_is_over(pjrt_promise *promise, bool wait) {
  pthread_mutex_lock(&promise->lock);
  while (wait && !promise->over) pthread_cond_wait(&promise->changed, &promise->lock);
  bool over = promise->over;
  pthread_mutex_unlock(&promise->lock);
  return over;
}

static void promise_on_ready(pjrt_promise *promise, PJRT_Event_OnReadyCallback call,
                             void *user_arg) {
  pthread_mutex_lock(&promise->lock);
  bool over = promise->over;
  if (!over) {
    promise_call *later = pjrt_alloc(sizeof *later), **end = &promise->calls;
    *later = (promise_call){.call = call, .user_arg = user_arg};
    while (*end) end = &(*end)->next;
    *end = later;
  }
  pthread_mutex_unlock(&promise->lock);
  if (over) call(promise_error(promise), user_arg);
}

/* ---- Making ---- */

static PJRT_Event *event_create(halo_event *event, pjrt_promise *promise) {
  PJRT_Event *handle = pjrt_alloc(sizeof *handle);
  *handle = (PJRT_Event){event, promise};
  return handle;
}

PJRT_Event *pjrt_event_of(halo_event *event) { return event_create(event, NULL); }
PJRT_Event *pjrt_event_promised(pjrt_promise *promise) { return event_create(NULL, promise); }
PJRT_Event *pjrt_event_past(void) { return event_create(NULL, NULL); }

PJRT_Event *pjrt_event_failed(PJRT_Error *error) {
  PJRT_Error_Message_Args message = {.error = error};
  PJRT_Error_GetCode_Args code = {.error = error};
  PJRT_Error_Destroy_Args destroy = {.error = error};
  pjrt_promise *promise = pjrt_promise_create();
  pjrt_Error_Message(&message);
  (void)pjrt_Error_GetCode(&code);
  pjrt_promise_set(promise, code.code, message.message);
  pjrt_Error_Destroy(&destroy);
  return event_create(NULL, promise);
}

/* ---- The interface ---- */

/* Also from inside a callback of the event, and while it is pending. */
PJRT_Error *pjrt_Event_Destroy(PJRT_Event_Destroy_Args *args) {
  PJRT_Event *event = args->event;
  if (!event) return NULL;
  halo_event_release(event->event);
  pjrt_promise_release(event->promise);
  free(event);
  return NULL;
}

PJRT_Error *pjrt_Event_IsReady(PJRT_Event_IsReady_Args *args) {
  const PJRT_Event *event = args->event;
  args->is_ready = event->promise ? promise_is_over(event->promise, false)
                                  : !event->event || halo_event_is_ready(event->event);
  return NULL;
}

static PJRT_Error *event_wait(const PJRT_Event *event) {
  if (event->event) return pjrt_error_of(halo_event_wait(event->event));
  if (!event->promise) return NULL;
  (void)promise_is_over(event->promise, true);
  return promise_error(event->promise);
}

PJRT_Error *pjrt_Event_Error(PJRT_Event_Error_Args *args) { return event_wait(args->event); }
PJRT_Error *pjrt_Event_Await(PJRT_Event_Await_Args *args) { return event_wait(args->event); }

typedef struct event_listener {
  PJRT_Event_OnReadyCallback call;
  void *user_arg;
} event_listener;

static void event_tell(halo_status status, const char *message, void *data) {
  event_listener listener = *(event_listener *)data;
  free(data);
  listener.call(pjrt_error_with(status, message), listener.user_arg);
}

PJRT_Error *pjrt_Event_OnReady(PJRT_Event_OnReady_Args *args) {
  const PJRT_Event *event = args->event;
  if (!args->callback) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "PJRT_Event_OnReady: there is no callback");
  }
  if (event->promise) {
    promise_on_ready(event->promise, args->callback, args->user_arg);
    return NULL;
  }
  if (!event->event) {
    args->callback(NULL, args->user_arg);
    return NULL;
  }
  event_listener *listener = pjrt_alloc(sizeof *listener);
  *listener = (event_listener){args->callback, args->user_arg};
  halo_status status = halo_event_on_ready(event->event, event_tell, listener);
  if (status != HALO_OK) free(listener);
  return pjrt_error_of(status);
}

PJRT_Error *pjrt_Event_Create(PJRT_Event_Create_Args *args) {
  args->event = pjrt_event_promised(pjrt_promise_create());
  return NULL;
}

PJRT_Error *pjrt_Event_Set(PJRT_Event_Set_Args *args) {
  if (!args->event->promise) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "only events made by PJRT_Event_Create can be set");
  }
  char *message = pjrt_copy(args->error_message, args->error_message_size);
  pjrt_promise_set(args->event->promise, args->error_code, message);
  free(message);
  return NULL;
}

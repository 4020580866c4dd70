/* client/event.c: waiting for what the device does. */
#include "base/memory.h"
#include "client/client.h"

halo_event *halo_event_wrap(halo_client *client, cl_event handle, halo_event_finish finish,
                            void *data) {
  halo_event *event = halo_alloc(sizeof *event);
  atomic_init(&event->references, 1);
  pthread_mutex_init(&event->lock, NULL);
  event->handle = handle;
  event->finish = finish;
  event->data = data;
  event->client = client;
  halo_client_retain(client);
  return event;
}

void halo_event_retain(halo_event *event) { atomic_fetch_add(&event->references, 1); }

static halo_status event_check(cl_event handle) {
  cl_int state = CL_COMPLETE;
  HALO_TRY(halo_cl_check(
      clGetEventInfo(handle, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
      "clGetEventInfo"));
  return halo_cl_check(state, "a command on the device");
}

halo_status halo_event_await(cl_event handle) {
  if (!handle) return HALO_OK;
  HALO_TRY(halo_cl_process_check());
  cl_int code = clWaitForEvents(1, &handle);
  /* That code only says that the event failed; the event itself says why. */
  if (code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
    HALO_TRY(halo_cl_check(code, "clWaitForEvents"));
  }
  return event_check(handle);
}

static void event_run_finish(halo_event *event, bool failed) {
  pthread_mutex_lock(&event->lock);
  halo_event_finish finish = event->finish;
  event->finish = NULL;
  if (finish) finish(event->data, failed);
  pthread_mutex_unlock(&event->lock);
}

halo_status halo_event_wait(halo_event *event) {
  if (!event) return halo_fail(HALO_INVALID_ARGUMENT, "halo_event_wait: event is NULL");
  halo_status status = halo_event_await(event->handle);
  event_run_finish(event, status != HALO_OK);
  halo_client_sweep(event->client);
  return status;
}

bool halo_event_is_ready(halo_event *event) {
  if (!event) return false;
  if (event->handle) {
    if (halo_cl_is_forked()) return true; /* waiting says what is wrong */
    cl_int state = CL_QUEUED;
    cl_int code = clGetEventInfo(event->handle, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                 &state, NULL);
    if (code != CL_SUCCESS || state > CL_COMPLETE) return false;
    event_run_finish(event, state < 0);
  }
  return true;
}

void halo_event_release(halo_event *event) {
  if (!event || atomic_fetch_sub(&event->references, 1) != 1) return;
  /* The finishing work has the device's target in its hands: it cannot go before the device. */
  if (event->finish) {
    char *message = halo_error_save();
    halo_status status = halo_event_await(event->handle);
    event_run_finish(event, status != HALO_OK);
    halo_error_restore(message);
  }
  if (event->handle && !halo_cl_is_forked()) clReleaseEvent(event->handle);
  pthread_mutex_destroy(&event->lock);
  halo_client_release(event->client);
  halo_free(event);
}

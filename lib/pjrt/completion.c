/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/completion.c: runs that may call the host, completed in the order in which they were started on a device.
 *
 * Frameworks keep the completion event of the newest such run only, and take it for all runs before. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* A run that is not over, or is over while an earlier one is not. */
typedef struct completion_run {
  pjrt_completions *list; /* a reference */
  pjrt_promise *promise;  /* a reference */
  bool over;              /* guarded by the list, as the rest */
  halo_status status;
  char *message;
  struct completion_run *next;
} completion_run;

struct pjrt_completions {
  atomic_int references;
  pthread_mutex_t lock; /* of what follows */
  completion_run *first, **end;
};

pjrt_completions *pjrt_completions_create(void) {
  pjrt_completions *list = pjrt_alloc(sizeof *list);
  atomic_init(&list->references, 1);
  pthread_mutex_init(&list->lock, NULL);
  list->end = &list->first;
  return list;
}

void pjrt_completions_release(pjrt_completions *list) {
  if (!list || atomic_fetch_sub(&list->references, 1) != 1) return;
  pthread_mutex_destroy(&list->lock);
  free(list);
}

/* Takes out the runs at the beginning of the list that are over. */
static completion_run *completion_take(pjrt_completions *list) {
  completion_run *taken = list->first, **end = &taken;
  while (*end && (*end)->over) end = &(*end)->next;
  list->first = *end;
  *end = NULL;
  if (!list->first) list->end = &list->first;
  return taken;
}

static void completion_over(halo_status status, const char *message, void *data) {
  completion_run *run = data;
  pjrt_completions *list = run->list;
  pthread_mutex_lock(&list->lock);
  run->over = true;
  run->status = status;
  run->message = pjrt_copy(message, strlen(message));
  completion_run *taken = completion_take(list), *next;
  pthread_mutex_unlock(&list->lock);
  for (; taken; taken = next) {
    next = taken->next;
    pjrt_promise_end(taken->promise, taken->status, taken->message);
    pjrt_promise_release(taken->promise);
    pjrt_completions_release(taken->list);
    free(taken->message);
    free(taken);
  }
}

PJRT_Event *pjrt_completions_add(pjrt_completions *list, halo_event *done) {
  completion_run *run = pjrt_alloc(sizeof *run);
  PJRT_Event *event = pjrt_event_promised(run->promise = pjrt_promise_create());
  pjrt_promise_retain(run->promise);
  run->list = list;
  atomic_fetch_add(&list->references, 1);
  pthread_mutex_lock(&list->lock);
  *list->end = run;
  list->end = &run->next;
  pthread_mutex_unlock(&list->lock);
  halo_status status = halo_event_on_ready(done, completion_over, run);
  if (status != HALO_OK) completion_over(status, halo_error_message(), run);
  halo_event_release(done);
  return event;
}

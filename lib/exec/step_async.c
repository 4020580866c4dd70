/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_async.c: steps beside others, on the device's second queue for programs. */
#include "exec/run.h"

#include "base/memory.h"
#include "base/worker.h"

typedef struct start_state {
  cl_event end;      /* of the steps aside, until their done has taken it */
  halo_aside *aside; /* those that ask the host, likewise */
} start_state;

/* Steps that ask the host go on in a thread of their own, with a run of their own: the same memory and
 * states, another queue. */
struct halo_aside {
  halo_run run;
  const halo_steps *steps;
  halo_aside *next;     /* of the run it belongs to */
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t changed;
  bool open; /* an exchange has begun, or nothing will be waited for any more */
  bool over;
  halo_status status;
  char *message;
  cl_event end;
};

static halo_status start_prepare(halo_program *p, const halo_step *step, void **out) {
  (void)p;
  (void)step;
  *out = halo_alloc(sizeof(start_state));
  return HALO_OK;
}

static void start_drop(start_state *state) {
  if (state->end && !halo_cl_is_forked()) halo_cl.clReleaseEvent(state->end);
  state->end = NULL;
  state->aside = NULL; /* its run has waited for it */
}

static void start_release(void *data) {
  start_drop(data);
  halo_free(data);
}

/* All that is queued from now on on one queue comes behind what the other one holds. */
static halo_status start_order(cl_command_queue before, cl_command_queue after) {
  cl_event event;
  HALO_TRY(halo_cl_check(halo_cl.clEnqueueMarkerWithWaitList(before, 0, NULL, &event),
                         "clEnqueueMarkerWithWaitList at an asynchronous start"));
  cl_int code = halo_cl.clFlush(before);
  if (code == CL_SUCCESS) code = halo_cl.clEnqueueBarrierWithWaitList(after, 1, &event, NULL);
  halo_cl.clReleaseEvent(event);
  return halo_cl_check(code, "clEnqueueBarrierWithWaitList at an asynchronous start");
}

static halo_status start_aside(halo_run *run, const halo_step *step, start_state *state) {
  cl_command_queue queue = run->queue, aside = run->program->device->aside;
  start_drop(state); /* of a run that failed in between */
  run->wanted = NULL;
  run->strayed = true;
  HALO_TRY(start_order(queue, aside));
  run->queue = aside;
  halo_status status = halo_run_steps(run, &step->lists[0]);
  run->queue = queue;
  HALO_TRY(status);
  HALO_TRY(halo_cl_check(halo_cl.clEnqueueMarkerWithWaitList(aside, 0, NULL, &state->end),
                         "clEnqueueMarkerWithWaitList at an asynchronous start"));
  return halo_cl_check(halo_cl.clFlush(aside), "clFlush");
}

/* ---- With the host ---- */

static void aside_job(void *data) {
  halo_aside *aside = data;
  halo_cl_device *device = aside->run.program->device;
  cl_event end = NULL;
  halo_status status = halo_run_steps(&aside->run, aside->steps);
  if (status == HALO_OK) {
    status = halo_cl_check(halo_cl.clEnqueueMarkerWithWaitList(aside->run.queue, 0, NULL, &end),
                           "clEnqueueMarkerWithWaitList at an asynchronous start");
  }
  if (status == HALO_OK) status = halo_cl_check(halo_cl.clFlush(aside->run.queue), "clFlush");
  pthread_mutex_lock(&aside->lock);
  aside->end = end;
  aside->status = status;
  aside->open = true;
  if (status != HALO_OK) aside->message = halo_error_save();
  aside->over = true;
  pthread_cond_broadcast(&aside->changed);
  pthread_mutex_unlock(&aside->lock);
  halo_cl_work_end(device);
}

/* Waits for its end, gives what it came to, and frees it. */
static halo_status aside_join(halo_run *run, halo_aside *aside, cl_event *end) {
  pthread_mutex_lock(&aside->lock);
  while (!aside->over) pthread_cond_wait(&aside->changed, &aside->lock);
  pthread_mutex_unlock(&aside->lock);
  for (halo_aside **at = &run->asides; *at; at = &(*at)->next) {
    if (*at != aside) continue;
    *at = aside->next;
    break;
  }
  for (int w = 0; w < HALO_HOST_WORKS; w++) {
    run->host[w].count += aside->run.host[w].count;
    run->host[w].seconds += aside->run.host[w].seconds;
  }
  halo_status status = aside->status;
  if (aside->message) halo_error_restore(aside->message);
  *end = aside->end;
  pthread_cond_destroy(&aside->changed);
  pthread_mutex_destroy(&aside->lock);
  halo_free(aside->run.moved);
  halo_free(aside);
  return status;
}

void halo_run_note_open(halo_run *run) {
  halo_aside *aside = run->aside;
  if (!aside) return;
  pthread_mutex_lock(&aside->lock);
  aside->open = true;
  pthread_cond_broadcast(&aside->changed);
  pthread_mutex_unlock(&aside->lock);
}

/* Whether the first thing that it asks the host for is an exchange. */
static bool aside_exchanges(const halo_program *program, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    if (program->asks_host[step->number]) return step->kind == HALO_STEP_COLLECTIVE;
  }
  return false;
}

/* On CPUs memory is mapped by the threads that kernels run on: an exchange that comes behind a long kernel would
 * begin when that is over. */
static void aside_await_open(halo_aside *aside) {
  pthread_mutex_lock(&aside->lock);
  while (!aside->open) pthread_cond_wait(&aside->changed, &aside->lock);
  pthread_mutex_unlock(&aside->lock);
}

static halo_status aside_begin(halo_run *run, const halo_step *step, start_state *state) {
  start_drop(state);
  run->wanted = NULL;
  run->strayed = true;
  run->began = true;
  halo_cl_device *device = run->program->device;
  HALO_TRY(start_order(run->queue, device->aside));
  halo_aside *aside = halo_alloc(sizeof *aside);
  aside->run = *run;
  aside->run.queue = device->aside;
  aside->run.asides = NULL;
  aside->run.moved = NULL; /* no loop around a start exchanges places */
  aside->run.ahead = 0;
  for (int w = 0; w < HALO_HOST_WORKS; w++) aside->run.host[w] = (halo_host_time){0};
  aside->steps = &step->lists[0];
  pthread_mutex_init(&aside->lock, NULL);
  pthread_cond_init(&aside->changed, NULL);
  aside->next = run->asides;
  run->asides = aside;
  state->aside = aside;
  aside->run.aside = aside;
  halo_cl_work_begin(device);
  halo_worker_run(aside_job, aside);
  bool soon = device->caps.is_cpu && device->caps.shares_host_memory;
  if (soon && aside_exchanges(run->program, aside->steps)) aside_await_open(aside);
  return HALO_OK;
}

void halo_run_settle(halo_run *run) {
  while (run->asides) {
    char *message = halo_error_save();
    cl_event end = NULL;
    (void)aside_join(run, run->asides, &end);
    if (end) halo_cl.clReleaseEvent(end);
    halo_error_restore(message);
  }
}

/* ---- The steps ---- */

static halo_status start_start(halo_run *run, const halo_step *step, void *data) {
  return run->program->asks_host[step->number] ? HALO_OK : start_aside(run, step, data);
}

static halo_status start_finish(halo_run *run, const halo_step *step, void *data) {
  return run->program->asks_host[step->number] ? aside_begin(run, step, data) : HALO_OK;
}

const halo_step_runner halo_runner_start = {.prepare = start_prepare,
                                            .release = start_release,
                                            .start = start_start,
                                            .finish = start_finish};

/* As its start, which comes before it. */
static bool done_asks_host(const halo_program *p, const halo_step *step) {
  return p->asks_host[step->ends];
}

static halo_status done_start(halo_run *run, const halo_step *step, void *data) {
  (void)data;
  if (run->program->asks_host[step->ends]) return HALO_OK;
  start_state *state = run->set->states[step->ends];
  halo_status status =
      halo_cl_check(halo_cl.clEnqueueBarrierWithWaitList(run->queue, 1, &state->end, NULL),
                    "clEnqueueBarrierWithWaitList at an asynchronous done");
  start_drop(state);
  return status;
}

static halo_status done_finish(halo_run *run, const halo_step *step, void *data) {
  (void)data;
  start_state *state = run->set->states[step->ends];
  if (!run->program->asks_host[step->ends]) return HALO_OK;
  halo_aside *aside = state->aside;
  state->aside = NULL;
  double since = halo_run_clock(run);
  halo_status status = aside_join(run, aside, &state->end);
  halo_run_spent(run, HALO_HOST_WAIT, since);
  if (status == HALO_OK) {
    status = halo_cl_check(halo_cl.clEnqueueBarrierWithWaitList(run->queue, 1, &state->end, NULL),
                           "clEnqueueBarrierWithWaitList at an asynchronous done");
  }
  start_drop(state);
  return status;
}

const halo_step_runner halo_runner_done = {
    .asks_host = done_asks_host, .start = done_start, .finish = done_finish};

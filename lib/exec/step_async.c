/* exec/step_async.c: steps beside others, on the device's second queue for programs. */
#include "exec/run.h"

#include "base/memory.h"

typedef struct start_state {
  cl_event end; /* of the steps aside, until their done has taken it */
} start_state;

static halo_status start_prepare(halo_program *p, const halo_step *step, void **out) {
  (void)p;
  (void)step;
  *out = halo_alloc(sizeof(start_state));
  return HALO_OK;
}

static void start_drop(start_state *state) {
  if (state->end && !halo_cl_is_forked()) clReleaseEvent(state->end);
  state->end = NULL;
}

static void start_release(void *data) {
  start_drop(data);
  halo_free(data);
}

/* All that is queued from now on on one queue comes behind what the other one holds. */
static halo_status start_order(cl_command_queue before, cl_command_queue after) {
  cl_event event;
  HALO_TRY(halo_cl_check(clEnqueueMarkerWithWaitList(before, 0, NULL, &event),
                         "clEnqueueMarkerWithWaitList at an asynchronous start"));
  cl_int code = clFlush(before);
  if (code == CL_SUCCESS) code = clEnqueueBarrierWithWaitList(after, 1, &event, NULL);
  clReleaseEvent(event);
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
  HALO_TRY(halo_cl_check(clEnqueueMarkerWithWaitList(aside, 0, NULL, &state->end),
                         "clEnqueueMarkerWithWaitList at an asynchronous start"));
  return halo_cl_check(clFlush(aside), "clFlush");
}

/* Steps that ask the host are run to their end before those that follow are queued. */
static halo_status start_start(halo_run *run, const halo_step *step, void *data) {
  return run->program->asks_host[step->number] ? HALO_OK : start_aside(run, step, data);
}

static halo_status start_finish(halo_run *run, const halo_step *step, void *data) {
  return run->program->asks_host[step->number] ? start_aside(run, step, data) : HALO_OK;
}

const halo_step_runner halo_runner_start = {.prepare = start_prepare,
                                            .release = start_release,
                                            .start = start_start,
                                            .finish = start_finish};

static halo_status done_start(halo_run *run, const halo_step *step, void *data) {
  (void)data;
  start_state *state = run->set->states[step->ends];
  halo_status status = halo_cl_check(clEnqueueBarrierWithWaitList(run->queue, 1, &state->end, NULL),
                                     "clEnqueueBarrierWithWaitList at an asynchronous done");
  start_drop(state);
  return status;
}

const halo_step_runner halo_runner_done = {.start = done_start};

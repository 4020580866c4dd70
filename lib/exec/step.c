/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step.c: what the runners of all kinds of steps use: where buffers lie, events and times of commands, lists of
 * steps. */
#include "exec/run.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "exec/trace.h"

/* Commands that a run may have queued before the host waits: a loop of a billion turns must not pile up
 * a billion commands. */
enum { STEP_MAX_AHEAD = 4096 };

halo_place_at halo_run_resolve(const halo_run *run, int32_t buffer) {
  if (run->moved) buffer = run->moved[buffer];
  const halo_plan_buffer *b = &run->program->plan->buffers.data[buffer];
  const halo_cl_block *block = NULL;
  bool at_offset = false;
  switch (b->place) {
    case HALO_PLACE_ARGUMENT: block = run->arguments[b->index]->block; break;
    case HALO_PLACE_RESULT: block = run->results[b->index]->block; break;
    case HALO_PLACE_TEMP:
      block = run->arenas[b->index];
      at_offset = true;
      break;
    case HALO_PLACE_CONSTANT:
      block = run->program->constants;
      at_offset = true;
      break;
    case HALO_PLACE_NONE: break;
  }
  if (!block) return (halo_place_at){0};
  cl_ulong offset = at_offset ? (cl_ulong)b->offset : 0;
  return (halo_place_at){block->mem, block->serial, offset,
                         block->host ? block->host + offset : NULL};
}

void halo_run_exchange(halo_run *run, int32_t a, int32_t b) {
  int32_t count = run->program->plan->buffers.count;
  if (!run->moved) {
    run->moved = halo_alloc(sizeof *run->moved * (size_t)count);
    for (int32_t i = 0; i < count; i++) run->moved[i] = i;
  }
  int32_t place = run->moved[a];
  run->moved[a] = run->moved[b];
  run->moved[b] = place;
}

double halo_run_clock(const halo_run *run) {
  bool wanted = run->program->device->profile || halo_trace_wants(run);
  return wanted || HALO_LOGS(HALO_LOG_DEBUG) ? halo_clock() : 0;
}

void halo_run_spent(halo_run *run, halo_host_work work, double since) {
  if (!run->program->device->profile) return;
  run->host[work].count++;
  run->host[work].seconds += halo_clock() - since;
}

cl_event *halo_run_event(halo_run *run, cl_event *storage) {
  *storage = NULL;
  run->since = halo_run_clock(run);
  return run->program->device->profile || halo_trace_wants(run) || run->wanted ? storage : NULL;
}

void halo_run_queued(halo_run *run, const halo_step *step, cl_event *storage) {
  run->began = true;
  run->ahead++;
  halo_run_spent(run, HALO_HOST_LAUNCH, run->since);
  /* Launches that are expected to take longer leave before, or are cut. */
  double longest = run->program->device->longest;
  halo_cl_ahead_add(run->program->device, run->queue,
                    step->seconds < longest ? step->seconds : longest);
  if (!*storage) return;
  if (run->wanted) {
    halo_cl.clRetainEvent(*storage);
    *run->wanted = *storage;
  }
  if (halo_trace_wants(run)) halo_trace_add(run, step, *storage);
  halo_program *p = run->program;
  if (p->device->profile) {
    pthread_mutex_lock(&p->lock);
    halo_profile_add(&p->profile, step->number, *storage);
    pthread_mutex_unlock(&p->lock);
  } else {
    halo_cl.clReleaseEvent(*storage);
  }
}

halo_status halo_run_steps(halo_run *run, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    const halo_step_runner *runner = halo_step_runners[step->kind];
    void *state = run->set->states[step->number];
    HALO_TRY(runner->start(run, step, state));
    if (runner->finish) HALO_TRY(runner->finish(run, step, state));
  }
  return HALO_OK;
}

halo_status halo_run_await_queue(halo_run *run, const char *what) {
  cl_event marker;
  HALO_TRY(halo_cl_check(halo_cl.clEnqueueMarkerWithWaitList(run->queue, 0, NULL, &marker), what));
  double since = halo_run_clock(run);
  halo_status status = halo_cl_await(marker);
  halo_run_spent(run, HALO_HOST_WAIT, since);
  halo_cl.clReleaseEvent(marker);
  if (status == HALO_OK) run->ahead = 0;
  return status;
}

halo_status halo_run_limit_ahead(halo_run *run) {
  halo_cl_ahead_limit(run->program->device);
  if (run->ahead < STEP_MAX_AHEAD) return HALO_OK;
  return halo_run_await_queue(run, "clEnqueueMarkerWithWaitList in a loop");
}

/* At least so many commands a step queues. */
static int64_t step_command_count(const halo_step *step) {
  int64_t count = halo_step_is_command(step), trips = step->trips > 0 ? step->trips : 1, product;
  for (int32_t l = 0; l < step->list_count; l++) {
    for (int32_t i = 0; i < step->lists[l].count && count < INT32_MAX; i++) {
      count += step_command_count(&step->lists[l].data[i]);
    }
  }
  return halo_mul_i64(count, trips, &product) && product < INT32_MAX ? product : INT32_MAX;
}

bool halo_run_is_long(const halo_step *step) { return step_command_count(step) > STEP_MAX_AHEAD; }

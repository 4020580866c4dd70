/* SPDX-License-Identifier: Apache-2.0 */
/* exec/run.c: one run of a program: its memory, its steps one after the other, and the thread they are
 * started from. */
#include "exec/run.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/worker.h"
#include "exec/trace.h"

#include <string.h>

/* ---- Memory, and sets of states ---- */

/* A free set, or one more. */
static halo_status run_take_set(halo_run *run) {
  halo_program *p = run->program;
  pthread_mutex_lock(&p->lock);
  run->set = p->free_sets;
  if (run->set) p->free_sets = run->set->next;
  pthread_mutex_unlock(&p->lock);
  return run->set ? HALO_OK : halo_run_set_create(p, &run->set);
}

static void run_put_set(halo_run *run) {
  if (!run->set) return;
  pthread_mutex_lock(&run->program->lock);
  run->set->next = run->program->free_sets;
  run->program->free_sets = run->set;
  pthread_mutex_unlock(&run->program->lock);
  run->set = NULL;
}

/* Blocks for results: shared with an argument, taken over from a donated one that nobody else holds, or
 * new. */
static halo_status run_take_results(halo_run *run) {
  const halo_plan *plan = run->program->plan;
  for (int32_t r = 0; r < plan->result_count; r++) {
    const halo_plan_buffer *b = &plan->buffers.data[plan->result_buffers[r]];
    int32_t alias = b->place == HALO_PLACE_ARGUMENT ? b->index : plan->result_alias[r];
    halo_device_value *from = alias >= 0 ? run->arguments[alias] : NULL;
    bool share = b->place == HALO_PLACE_ARGUMENT ||
                 (from && run->donated[alias] && atomic_load(&from->references) == 1 &&
                  !from->block->lent && atomic_load(&from->block->references) == 1);
    if (share) {
      halo_cl_block_retain(from->block);
      run->results[r]->block = from->block;
      continue;
    }
    HALO_TRY(halo_cl_alloc(run->program->device, (size_t)halo_shape_byte_size(plan->results[r]),
                           "a result", &run->results[r]->block));
  }
  return HALO_OK;
}

static halo_status run_take_arenas(halo_run *run) {
  const halo_plan *plan = run->program->plan;
  for (int32_t i = 0; i < plan->arenas.count; i++) {
    const halo_plan_arena *arena = &plan->arenas.data[i];
    halo_cl_block *result = arena->result >= 0 ? run->results[arena->result]->block : NULL;
    /* One that was taken over from an argument has that in it. */
    if (result && atomic_load(&result->references) == 1) {
      halo_cl_block_retain(result);
      run->arenas[i] = result;
      continue;
    }
    HALO_TRY(halo_cl_alloc(run->program->device, (size_t)arena->size, "temporaries of a program",
                           &run->arenas[i]));
  }
  return HALO_OK;
}

static void run_free_arenas(halo_run *run) {
  for (int32_t i = 0; i < run->program->plan->arenas.count; i++) {
    halo_cl_free(run->arenas[i]);
    run->arenas[i] = NULL;
  }
}

typedef HALO_VEC(cl_event) run_events;

/* What the run must wait for beside programs: copies on the other queue, and events. */
static void run_find_waits(const halo_run *run, run_events *list) {
  const halo_program *p = run->program;
  for (int32_t i = 0; i < p->plan->argument_count; i++) {
    for (int kind = HALO_CL_TRANSFER_IN; kind <= HALO_CL_TRANSFER_OUT; kind++) {
      /* Reading beside a copy out is no harm; only a donated block is written to. */
      if (kind == HALO_CL_TRANSFER_OUT && !run->donated[i]) continue;
      cl_event event = halo_cl_block_transfer(run->arguments[i]->block, (halo_cl_transfer)kind);
      if (event) halo_vec_push(list, event);
    }
  }
}

static halo_status run_wait_on_device(const halo_run *run, const run_events *list) {
  if (!list->count || run->on_sync_queue) return HALO_OK;
  return halo_cl_check(
      halo_cl.clEnqueueBarrierWithWaitList(run->queue, (cl_uint)list->count, list->data, NULL),
      "clEnqueueBarrierWithWaitList");
}

/* Whether the run goes to the queue of this thread: when all that it depends on has happened, and programs whose
 * memory it got, too. */
static void run_choose_queue(halo_run *run, const run_events *waits) {
  const halo_program *p = run->program;
  if (!p->may_use_sync_queue && !p->plan->is_shared) return;
  bool over = true;
  for (int32_t i = 0; i < waits->count && over; i++) over = halo_cl_look(waits->data[i]);
  cl_event busy = halo_cl_timeline_event(p->device, halo_cl_timeline_last(p->device));
  run->idle = over && (!busy || halo_cl_look(busy));
  run->on_sync_queue = run->idle && p->may_use_sync_queue && halo_cl_take_sync_queue(p->device);
  if (busy) halo_cl.clReleaseEvent(busy);
  if (run->on_sync_queue) run->queue = p->device->sync_queue;
}

/* ---- The end ---- */

static void run_give_up(halo_run *run) {
  const halo_plan *plan = run->program->plan;
  for (int32_t i = 0; i < plan->argument_count; i++) halo_device_value_release(run->arguments[i]);
  for (int32_t r = 0; r < plan->result_count; r++) halo_device_value_release(run->results[r]);
  for (int32_t i = 0; i < run->after.count; i++) halo_cl_event_release(run->after.data[i]);
  halo_vec_deinit(&run->after);
  halo_vec_deinit(&run->channels);
  halo_program_release(run->program);
}

/* Whether the host did all of it itself, and nothing was on the queue before: its results are there. */
static bool run_is_over(const halo_run *run) {
  return run->idle && run->ahead == 0 && !run->strayed;
}

/* The last event of all that was queued, so that its memory is known to be in use until then. */
static halo_status run_note_end(halo_run *run) {
  halo_cl_device *device = run->program->device;
  if (!run->last) {
    HALO_TRY(halo_cl_check(halo_cl.clEnqueueMarkerWithWaitList(run->queue, 0, NULL, &run->last),
                           "clEnqueueMarkerWithWaitList"));
  }
  if (run->on_sync_queue) {
    /* It is over: nobody has to wait for it. */
    HALO_TRY(halo_cl_check(halo_cl.clFlush(run->queue), "clFlush"));
    return halo_cl_await(run->last);
  }
  halo_cl_timeline_note(device, run->last, run->noted);
  return halo_cl_check(halo_cl.clFlush(device->queue), "clFlush");
}

static void run_note_host(halo_run *run) {
  halo_program *p = run->program;
  if (!p->device->profile) return;
  pthread_mutex_lock(&p->lock);
  halo_profile_add_host(&p->profile, run->host);
  pthread_mutex_unlock(&p->lock);
}

/* Other devices' parts of the run need not wait for this one, whose own failure says which device it is of. */
static halo_status run_tell_team(halo_run *run, halo_status status) {
  const halo_program_site *site = &run->program->site;
  const halo_team *team = site->team;
  if (!team || !run->program->plan->is_shared) return status;
  int device = team->devices[(int)site->ids.replica * team->partitions + (int)site->ids.partition];
  char *message = halo_error_save();
  halo_world_fail(team->world, team->program, run->number, device, message ? message : "");
  halo_error_restore(message);
  return halo_fail_in(status, "device %d", device);
}

static void run_log_end(const halo_run *run, halo_status status) {
  const char *name = run->program->plan->name;
  unsigned long long number = (unsigned long long)run->number;
  double seconds = run->created > 0 ? halo_clock() - run->created : 0;
  if (status == HALO_OK) {
    halo_log_write("run %llu of %s on device %d: queued after %.6f s", number, name, run->device,
                   seconds);
  } else {
    halo_log_write("run %llu of %s on device %d: failed after %.6f s: %s", number, name,
                   run->device, seconds, halo_error_message());
  }
}

/* Lets go of everything; the very last is to say that the results are queued, or why there are none:
 * whoever waits for that may end the process then. A failure is kept as this thread's message. */
static halo_status run_end(halo_run *run, halo_status status) {
  halo_cl_device *device = run->program->device;
  if (status == HALO_DEVICE_ERROR) halo_fail_in(status, "program %s", run->program->plan->name);
  if (status != HALO_OK) status = run_tell_team(run, status);
  halo_run_settle(run);
  halo_cl_event *done = run->done;
  cl_event last = NULL;
  bool over = status == HALO_OK && run_is_over(run);
  if (status == HALO_OK && !over) {
    status = run_note_end(run);
    if (status != HALO_OK) status = run_tell_team(run, status);
  }
  if (HALO_LOGS(HALO_LOG_DEBUG)) run_log_end(run, status);
  if (over && halo_trace_wants(run)) halo_trace_add_host(run);
  char *message = status == HALO_OK ? NULL : halo_error_save();
  if (status == HALO_OK) {
    run->program->ran = true;
    last = run->last;
  } else {
    /* Steps that were queued still write to the blocks; a later failure adds nothing. */
    if (run->last) halo_cl.clReleaseEvent(run->last);
    run->last = NULL;
    if (run->strayed) halo_cl.clFinish(device->aside);
    if (run->began && run_note_end(run) != HALO_OK) halo_cl.clFinish(run->queue);
    if (run->last) halo_cl.clReleaseEvent(run->last);
    for (int32_t r = 0; r < run->program->plan->result_count; r++) {
      halo_cl_free(run->results[r]->block);
      run->results[r]->block = NULL;
    }
  }
  if (run->on_sync_queue) halo_cl_give_sync_queue(device);
  double since = halo_run_clock(run);
  run_free_arenas(run);
  halo_run_spent(run, HALO_HOST_MEMORY, since);
  run_note_host(run);
  run_put_set(run);
  run_give_up(run);
  halo_free(run->moved);
  halo_free(run->random);
  halo_free(run);
  if (status == HALO_OK && over) {
    halo_cl_event_set_done(done);
  } else if (status == HALO_OK) {
    halo_cl_event_set_queued(done, last);
  } else {
    halo_cl_event_set_failed(done, status, message);
  }
  halo_cl_event_release(done);
  halo_error_restore(message);
  return status;
}

/* ---- The way ---- */

/* Starts the plan's steps from `next` on. True when the rest is for a worker, since the host has to wait:
 * then `next` is a step that was started and not finished. */
static bool run_advance(halo_run *run, bool may_wait, halo_status *status) {
  const halo_steps *steps = &run->program->plan->steps;
  for (*status = HALO_OK; *status == HALO_OK && run->next < steps->count; run->next++) {
    const halo_step *step = &steps->data[run->next];
    const halo_step_runner *runner = halo_step_runners[step->kind];
    void *state = run->set->states[step->number];
    bool is_last = run->next + 1 == steps->count && halo_step_is_command(step);
    run->wanted = is_last ? &run->last : NULL;
    *status = runner->start(run, step, state);
    if (*status != HALO_OK || !runner->finish) continue;
    bool asks = run->program->asks_host[step->number], moved;
    /* Nobody else works on the queue of this thread, so that there is nothing to wait for but what is long. */
    bool waits = step->kind == HALO_STEP_COLLECTIVE || step->goes_on;
    bool stays = may_wait || (run->on_sync_queue && !waits);
    if (asks && !stays && !(runner->is_over && runner->is_over(state, &moved))) return true;
    *status = runner->finish(run, step, state);
  }
  return false;
}

/* The failure of what the run depends on, which is its own; nothing of that is pending. */
static halo_status run_check_causes(halo_run *run) {
  for (int32_t i = 0; i < run->program->plan->argument_count; i++) {
    HALO_TRY(halo_cl_event_failure(run->arguments[i]->ready));
  }
  for (int32_t i = 0; i < run->after.count; i++) HALO_TRY(halo_cl_event_wait(run->after.data[i]));
  return HALO_OK;
}

/* What a run needs before its first step. */
static halo_status run_begin(halo_run *run) {
  if (!run->program->plan->is_shared) halo_cl_ahead_limit(run->program->device);
  double since = halo_run_clock(run);
  HALO_TRY(run_take_results(run));
  HALO_TRY(run_take_arenas(run));
  halo_run_spent(run, HALO_HOST_MEMORY, since);
  run_events waits = {0};
  run->noted = halo_cl_timeline_last(run->program->device);
  run_find_waits(run, &waits);
  run_choose_queue(run, &waits);
  run->behind = waits.count > 0;
  halo_status status = run_take_set(run);
  if (status == HALO_OK) status = run_wait_on_device(run, &waits);
  for (int32_t i = 0; i < waits.count; i++) halo_cl.clReleaseEvent(waits.data[i]);
  halo_vec_deinit(&waits);
  return status;
}

static void run_begin_job(void *data) {
  halo_run *run = data;
  halo_cl_device *device = run->program->device;
  halo_status status = run_check_causes(run);
  if (status == HALO_OK) status = run_begin(run);
  if (status == HALO_OK) (void)run_advance(run, true, &status);
  (void)run_end(run, status);
  halo_cl_work_end(device);
}

/* From the step that asks the host. */
static void run_continue_job(void *data) {
  halo_run *run = data;
  halo_cl_device *device = run->program->device;
  const halo_step *step = &run->program->plan->steps.data[run->next];
  halo_status status =
      halo_step_runners[step->kind]->finish(run, step, run->set->states[step->number]);
  run->next++;
  if (status == HALO_OK) (void)run_advance(run, true, &status);
  (void)run_end(run, status);
  halo_cl_work_end(device);
}

/* One of the things that a run waits for is not pending any more. */
static void run_is_met(halo_cl_event *event, void *data) {
  halo_run *run = data;
  (void)event;
  if (atomic_fetch_sub(&run->waits_for, 1) != 1) return;
  halo_cl_work_begin(run->program->device);
  halo_worker_run(run_begin_job, run);
}

/* ---- From the caller's thread ---- */

static halo_run *run_create(halo_program *p, halo_device_value *const *arguments,
                            const bool *donated, const halo_run_options *options) {
  const halo_plan *plan = p->plan;
  size_t arguments_size = (size_t)plan->argument_count, results_size = (size_t)plan->result_count;
  /* Its lists lie behind it: runs are started often. */
  size_t pointers = arguments_size + results_size + (size_t)plan->arenas.count;
  halo_run *run = halo_alloc(sizeof *run + sizeof(void *) * pointers + arguments_size);
  run->program = p;
  run->queue = p->device->queue;
  atomic_fetch_add(&p->references, 1);
  run->done = halo_cl_event_create();
  halo_cl_event_set_work(run->done, plan->name);
  run->created = halo_run_clock(run);
  run->arguments = (halo_device_value **)(run + 1);
  run->results = run->arguments + arguments_size;
  run->arenas = (halo_cl_block **)(run->results + results_size);
  run->donated = (bool *)(run->arenas + plan->arenas.count);
  for (int32_t i = 0; i < plan->argument_count; i++) {
    run->arguments[i] = arguments[i];
    run->donated[i] = donated && donated[i];
    if (!run->donated[i]) halo_device_value_retain(arguments[i]);
    halo_cl_event_add_cause(run->done, arguments[i]->ready);
  }
  for (int32_t r = 0; r < plan->result_count; r++) {
    halo_cl_event_retain(run->done);
    run->results[r] = halo_device_value_create(p->device, NULL, run->done);
  }
  for (int i = 0; i < options->after_count; i++) {
    if (!options->after[i]) continue;
    halo_cl_event_retain(options->after[i]);
    halo_vec_push(&run->after, options->after[i]);
  }
  for (int i = 0; i < options->channel_count; i++) {
    halo_vec_push(&run->channels, options->channels[i]);
  }
  halo_run_take_random(run);
  run->number = options->number;
  run->device = options->device;
  run->context = options->context;
  return run;
}

/* Asks to be called by what is pending; false when nothing is. */
static bool run_defer(halo_run *run) {
  const halo_plan *plan = run->program->plan;
  bool ready = true;
  for (int32_t i = 0; i < plan->argument_count && ready; i++) {
    ready = halo_cl_event_is_queued(run->arguments[i]->ready);
  }
  for (int32_t i = 0; i < run->after.count && ready; i++) {
    ready = halo_cl_event_is_over(run->after.data[i]);
  }
  if (ready) return false;
  /* The run may be over before this is: the last one called takes it away. */
  int32_t after_count = run->after.count;
  atomic_store(&run->waits_for, plan->argument_count + after_count + 1);
  for (int32_t i = 0; i < plan->argument_count; i++) {
    halo_cl_event_when_queued(run->arguments[i]->ready, run_is_met, run);
  }
  for (int32_t i = 0; i < after_count; i++) {
    halo_cl_event_when_over(run->after.data[i], run_is_met, run);
  }
  run_is_met(NULL, run);
  return true;
}

void halo_run_let_go(halo_run *run) {
  halo_cl_work_begin(run->program->device);
  halo_worker_run(run_continue_job, run);
}

bool halo_run_go_on(halo_run *run, bool *moved) {
  const halo_step *step = &run->program->plan->steps.data[run->next];
  const halo_step_runner *runner = halo_step_runners[step->kind];
  void *state = run->set->states[step->number];
  *moved = false;
  if (!runner->is_over || !runner->is_over(state, moved)) return false;
  halo_status status = runner->finish(run, step, state);
  run->next++;
  if (status == HALO_OK && run_advance(run, false, &status)) return false;
  (void)run_end(run, status);
  return true;
}

halo_status halo_program_run(halo_program *p, halo_device_value *const *arguments,
                             const bool *donated, const halo_run_options *options,
                             halo_device_value **results, bool *began) {
  const halo_plan *plan = p->plan;
  *began = false;
  if (options->held) *options->held = NULL;
  for (int32_t r = 0; r < plan->result_count; r++) results[r] = NULL;
  HALO_TRY(halo_cl_device_check_runs(p->device, "running a program"));
  halo_run *run = run_create(p, arguments, donated, options);
  if (options->done) {
    halo_cl_event_retain(run->done);
    *options->done = run->done;
  }
  for (int32_t r = 0; r < plan->result_count; r++) {
    results[r] = run->results[r];
    halo_device_value_retain(results[r]);
  }
  if (run_defer(run)) return HALO_OK;
  halo_status status = run_check_causes(run);
  if (status != HALO_OK) {
    (void)run_end(run, status); /* what failed before is told by the results */
    return HALO_OK;
  }
  status = run_begin(run);
  if (status == HALO_OK && run_advance(run, p->synchronous, &status)) {
    if (options->held) {
      *options->held = run;
    } else {
      halo_run_let_go(run);
    }
    return HALO_OK;
  }
  /* If nothing was queued, what was given away is the caller's again after a failure. */
  *began = run->began;
  for (int32_t i = 0; i < plan->argument_count && !*began; i++) {
    if (donated && donated[i]) halo_device_value_retain(arguments[i]);
  }
  halo_status outcome = run_end(run, status);
  for (int32_t i = 0; i < plan->argument_count && !*began && outcome == HALO_OK; i++) {
    if (donated && donated[i]) halo_device_value_release(arguments[i]);
  }
  for (int32_t r = 0; r < plan->result_count && outcome != HALO_OK; r++) {
    halo_device_value_release(results[r]);
    results[r] = NULL;
  }
  if (options->done && outcome != HALO_OK) {
    halo_cl_event_release(*options->done);
    *options->done = NULL;
  }
  return outcome;
}

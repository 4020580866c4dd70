/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_while.c: loops, of known length or until their condition says no. */
#include "exec/watch.h"

#include "base/clock.h"
#include "base/memory.h"

enum { WHILE_CONDITION, WHILE_BODY };

/* What the condition said, on its way from the device. */
typedef struct while_state {
  halo_cl_word more; /* one byte of it */
  cl_event read;
  double launched; /* of a region that goes on: halo_run.launched */
} while_state;

static halo_status while_prepare(halo_program *p, const halo_step *step, void **out) {
  while_state *state = halo_alloc(sizeof *state);
  *out = state;
  return step->trips < 0 ? halo_cl_word_create(p->device, &state->more) : HALO_OK;
}

static void while_release(void *data) {
  while_state *state = data;
  halo_cl_word_release(&state->more);
  halo_free(state);
}

static bool while_asks_host(const halo_program *p, const halo_step *step) {
  return step->trips < 0 || halo_run_is_long(step) || halo_watch_is_long(p, step);
}

/* Asks the device, without waiting. */
static halo_status while_ask(halo_run *run, const halo_step *step, while_state *state) {
  halo_place_at at = halo_run_resolve(run, step->args[0].buffer);
  run->ahead = 0;
  *state->more.data = 1;
  HALO_TRY(
      halo_cl_check(halo_cl.clEnqueueReadBuffer(run->queue, at.mem, CL_FALSE, (size_t)at.offset, 1,
                                                state->more.data, 0, NULL, &state->read),
                    "reading a loop's condition"));
  return halo_cl_check(halo_cl.clFlush(run->queue), "clFlush");
}

static halo_status while_hear(halo_run *run, while_state *state) {
  cl_event read = state->read;
  state->read = NULL;
  double since = halo_run_clock(run);
  halo_status status = halo_cl_await(read);
  halo_run_spent(run, HALO_HOST_WAIT, since);
  halo_cl.clReleaseEvent(read);
  return status;
}

static void while_exchange(halo_run *run, const halo_step *step) {
  for (int32_t i = 0; i < step->exchange_count; i++) {
    halo_run_exchange(run, step->exchanges[i].state, step->exchanges[i].next);
  }
}

static halo_status while_round(halo_run *run, const halo_step *step) {
  HALO_TRY(halo_run_steps(run, &step->lists[WHILE_BODY]));
  while_exchange(run, step);
  return HALO_OK;
}

/* Behind the last round: with an odd number of rounds the state is in the other places. */
static halo_status while_settle(halo_run *run, const halo_step *step, bool odd) {
  if (!odd) return HALO_OK;
  while_exchange(run, step);
  for (int32_t i = 0; i < step->exchange_count; i++) {
    const halo_plan_exchange *pair = &step->exchanges[i];
    halo_place_at from = halo_run_resolve(run, pair->next);
    halo_place_at to = halo_run_resolve(run, pair->state);
    HALO_TRY(halo_cl_check(
        halo_cl.clEnqueueCopyBuffer(run->queue, from.mem, to.mem, (size_t)from.offset,
                                    (size_t)to.offset, (size_t)pair->bytes, 0, NULL, NULL),
        step->label));
    run->ahead++;
  }
  return HALO_OK;
}

static halo_status while_rounds(halo_run *run, const halo_step *step) {
  bool may_wait = run->program->asks_host[step->number];
  for (int64_t i = 0; i < step->trips; i++) {
    HALO_TRY(while_round(run, step));
    if (may_wait) HALO_TRY(halo_run_limit_ahead(run));
  }
  return while_settle(run, step, step->trips % 2 > 0);
}

static halo_status while_start(halo_run *run, const halo_step *step, void *data) {
  while_state *state = data;
  const halo_steps *condition = &step->lists[WHILE_CONDITION];
  run->wanted = NULL;
  state->read = NULL;
  state->launched = run->launched;
  if (step->trips >= 0) {
    return run->program->asks_host[step->number] ? HALO_OK : while_rounds(run, step);
  }
  if (halo_steps_ask_host(run->program, condition)) return HALO_OK;
  HALO_TRY(halo_run_steps(run, condition));
  return while_ask(run, step, state);
}

/* Regions that may take long ask whether they have to go on; mostly they do not. */
static bool while_is_over(void *data, bool *moved) {
  while_state *state = data;
  *moved = state->read && halo_cl_look(state->read) && !*state->more.data;
  return *moved;
}

/* Launches a region again until it has ended. The time of each launch decides when the next one leaves. */
static halo_status while_go_on(halo_run *run, const halo_step *step, while_state *state) {
  halo_program *p = run->program;
  const halo_steps *body = &step->lists[WHILE_BODY];
  halo_step *launch = &body->data[body->count - 1];
  const halo_steps asked = {.data = body->data, .count = body->count - 1};
  const halo_steps again = {.data = launch, .count = 1};
  bool is_known = state->launched > 0, is_exact = !halo_cl_has_happened(state->read);
  double since = state->launched;
  HALO_TRY(while_hear(run, state));
  double seconds = halo_clock() - since;
  while (*state->more.data) {
    /* The region's requests to the host. */
    HALO_TRY(halo_run_steps(run, &asked));
    bool is_spent = !asked.count || run->branch == 0;
    if (is_known) halo_watch_note_region(p, launch, seconds, is_spent, is_exact);
    if (run->ahead && p->device->longest > 0) HALO_TRY(halo_run_await_queue(run, step->label));
    since = halo_clock();
    HALO_TRY(halo_run_steps(run, &again));
    HALO_TRY(while_ask(run, step, state));
    HALO_TRY(while_hear(run, state));
    seconds = halo_clock() - since;
    is_known = is_exact = true;
  }
  if (is_known) halo_watch_note_region(p, launch, seconds, false, is_exact);
  return HALO_OK;
}

static halo_status while_finish(halo_run *run, const halo_step *step, void *data) {
  while_state *state = data;
  if (step->trips >= 0) {
    return run->program->asks_host[step->number] ? while_rounds(run, step) : HALO_OK;
  }
  if (!state->read) {
    HALO_TRY(halo_run_steps(run, &step->lists[WHILE_CONDITION]));
    HALO_TRY(while_ask(run, step, state));
  }
  if (step->goes_on) return while_go_on(run, step, state);
  HALO_TRY(while_hear(run, state));
  bool odd = false;
  while (*state->more.data) {
    HALO_TRY(while_round(run, step));
    odd = !odd;
    HALO_TRY(halo_run_steps(run, &step->lists[WHILE_CONDITION]));
    HALO_TRY(while_ask(run, step, state));
    HALO_TRY(while_hear(run, state));
  }
  return while_settle(run, step, odd);
}

const halo_step_runner halo_runner_while = {.prepare = while_prepare,
                                            .release = while_release,
                                            .asks_host = while_asks_host,
                                            .start = while_start,
                                            .is_over = while_is_over,
                                            .finish = while_finish};

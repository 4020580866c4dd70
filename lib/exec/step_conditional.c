/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_conditional.c: one of several lists of steps, by a value on the device. */
#include "exec/run.h"

#include "base/memory.h"

#include <string.h>

typedef struct conditional_state {
  halo_cl_word selector; /* on its way from the device: a pred or an s32 */
  cl_event read;
} conditional_state;

static halo_status conditional_prepare(halo_program *p, const halo_step *step, void **out) {
  (void)step;
  conditional_state *state = halo_alloc(sizeof *state);
  *out = state;
  return halo_cl_word_create(p->device, &state->selector);
}

static void conditional_release(void *data) {
  conditional_state *state = data;
  halo_cl_word_release(&state->selector);
  halo_free(state);
}

static bool conditional_asks_host(const halo_program *p, const halo_step *step) {
  (void)p;
  (void)step;
  return true;
}

static halo_status conditional_start(halo_run *run, const halo_step *step, void *data) {
  conditional_state *state = data;
  halo_place_at at = halo_run_resolve(run, step->args[0].buffer);
  size_t size = step->selector_is_pred ? sizeof(unsigned char) : sizeof(int32_t);
  run->wanted = NULL;
  HALO_TRY(
      halo_cl_check(halo_cl.clEnqueueReadBuffer(run->queue, at.mem, CL_FALSE, (size_t)at.offset,
                                                size, state->selector.data, 0, NULL, &state->read),
                    "reading a branch's selector"));
  return halo_cl_check(halo_cl.clFlush(run->queue), "clFlush");
}

static halo_status conditional_finish(halo_run *run, const halo_step *step, void *data) {
  conditional_state *state = data;
  double since = halo_run_clock(run);
  halo_status status = halo_cl_await(state->read);
  halo_run_spent(run, HALO_HOST_WAIT, since);
  halo_cl.clReleaseEvent(state->read);
  HALO_TRY(status);
  run->ahead = 0;
  int32_t branch = *state->selector.data ? 0 : 1;
  if (!step->selector_is_pred) {
    memcpy(&branch, state->selector.data, sizeof branch);
    if (branch < 0 || branch >= step->list_count) branch = step->list_count - 1;
  }
  HALO_TRY(halo_run_steps(run, &step->lists[branch]));
  run->branch = branch;
  return HALO_OK;
}

const halo_step_runner halo_runner_conditional = {.prepare = conditional_prepare,
                                                  .release = conditional_release,
                                                  .asks_host = conditional_asks_host,
                                                  .start = conditional_start,
                                                  .finish = conditional_finish};

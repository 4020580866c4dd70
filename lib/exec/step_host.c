/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_host.c: values that come from the host, and that go to it, while a program runs. */
#include "exec/feed.h"
#include "exec/run.h"
#include "shape/shape.h"

static bool host_asks_host(const halo_program *p, const halo_step *step) {
  (void)p;
  (void)step;
  return true;
}

static halo_status host_start(halo_run *run, const halo_step *step, void *state) {
  (void)step;
  (void)state;
  run->wanted = NULL;
  return HALO_OK;
}

/* Copies all leaves of an item to the step's buffers, or from them, in order. */
static halo_status host_copy(halo_run *run, const halo_step *step, halo_literal *item, bool out,
                             int32_t *arg) {
  if (halo_shape_is_tuple(item->shape)) {
    for (int32_t i = 0; i < item->shape->count; i++) {
      HALO_TRY(host_copy(run, step, item->elements[i], out, arg));
    }
    return HALO_OK;
  }
  size_t size = (size_t)halo_shape_byte_size(item->shape);
  if (!halo_shape_is_array(item->shape) || size == 0) return HALO_OK;
  halo_place_at at = halo_run_resolve(run, step->args[(*arg)++].buffer);
  if (!at.mem) return HALO_OK; /* nobody reads what came in */
  run->began = true;
  run->ahead =
      out ? 0 : 1; /* what is written need not be there when the host's memory is free again */
  cl_int code = out ? halo_cl.clEnqueueReadBuffer(run->queue, at.mem, CL_TRUE, (size_t)at.offset,
                                                  size, item->data, 0, NULL, NULL)
                    : halo_cl.clEnqueueWriteBuffer(run->queue, at.mem, CL_TRUE, (size_t)at.offset,
                                                   size, item->data, 0, NULL, NULL);
  return halo_cl_check(code, step->label);
}

static halo_status host_check(const halo_step *step, const halo_literal *item) {
  if (item && halo_shape_compatible(item->shape, step->host_shape)) return HALO_OK;
  char want[256], got[256] = "nothing";
  halo_shape_to_text(step->host_shape, false, want, sizeof want);
  if (item) halo_shape_to_text(item->shape, false, got, sizeof got);
  return halo_fail(HALO_INVALID_ARGUMENT, "%s is wanted from the host, and %s was given", want,
                   got);
}

/* The functions of the run itself, or those of the device. */
static halo_status host_channel(const halo_run *run, int64_t id, halo_channel *out) {
  for (int32_t i = 0; i < run->channels.count; i++) {
    if (run->channels.data[i].id != id) continue;
    *out = run->channels.data[i];
    return HALO_OK;
  }
  return halo_feeds_channel(run->program->site.feeds, id, out);
}

static halo_status host_recv(halo_run *run, const halo_step *step, halo_literal **item) {
  halo_channel channel;
  HALO_TRY(host_channel(run, step->channel, &channel));
  if (!channel.on_recv) {
    return halo_fail(HALO_FAILED_PRECONDITION, "nothing can be received on channel %lld",
                     (long long)step->channel);
  }
  return channel.on_recv(channel.user, step->channel, step->host_shape, item);
}

static halo_status host_send(halo_run *run, const halo_step *step, halo_literal *item) {
  halo_channel channel;
  HALO_TRY(host_channel(run, step->channel, &channel));
  if (!channel.on_send) {
    return halo_fail(HALO_FAILED_PRECONDITION, "nothing can be sent on channel %lld",
                     (long long)step->channel);
  }
  return channel.on_send(channel.user, step->channel, item);
}

static halo_status host_in(halo_run *run, const halo_step *step) {
  halo_literal *item = NULL;
  if (step->channel >= 0) {
    HALO_TRY(host_recv(run, step, &item));
  } else {
    HALO_TRY(halo_feed_take(run->program->site.feeds, HALO_FEED_IN, true, &item));
  }
  int32_t arg = 0;
  halo_status status = host_check(step, item);
  if (status == HALO_OK) status = host_copy(run, step, item, false, &arg);
  halo_literal_release(item);
  return status;
}

static halo_status host_out(halo_run *run, const halo_step *step) {
  halo_literal *item;
  HALO_TRY(halo_literal_create(step->host_shape, &item));
  int32_t arg = 0;
  halo_status status = host_copy(run, step, item, true, &arg);
  if (status == HALO_OK && step->channel < 0) {
    halo_feed_put(run->program->site.feeds, HALO_FEED_OUT, item);
    return HALO_OK;
  }
  if (status == HALO_OK) status = host_send(run, step, item);
  halo_literal_release(item);
  return status;
}

static halo_status host_finish(halo_run *run, const halo_step *step, void *state) {
  (void)state;
  if (!run->program->site.feeds) {
    return halo_fail(HALO_FAILED_PRECONDITION, "%s: there is no host to talk to", step->label);
  }
  double since = halo_run_clock(run);
  halo_status status = step->kind == HALO_STEP_IN ? host_in(run, step) : host_out(run, step);
  halo_run_spent(run, HALO_HOST_CALL, since);
  return status == HALO_OK ? HALO_OK : halo_fail_in(status, "%s", step->label);
}

const halo_step_runner halo_runner_in = {
    .asks_host = host_asks_host, .start = host_start, .finish = host_finish};
const halo_step_runner halo_runner_out = {
    .asks_host = host_asks_host, .start = host_start, .finish = host_finish};

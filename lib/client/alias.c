/* SPDX-License-Identifier: Apache-2.0 */
/* client/alias.c: buffers that have the value of another one. */
#include "client/client.h"

#include "base/memory.h"

/* ---- With other shapes ---- */

halo_status halo_buffer_bitcast(halo_buffer *buffer, const halo_shape *shape, halo_buffer **out) {
  if (!buffer || !shape || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_bitcast: NULL argument");
  }
  *out = NULL;
  char from[256], to[256];
  halo_shape_texts(buffer->shape, shape, from, to, sizeof from);
  if (!halo_shape_is_array(shape) || halo_shape_is_dynamic(shape) ||
      halo_shape_is_dynamic(buffer->shape)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_bitcast: %s as %s: both must be static",
                     from, to);
  }
  if (halo_shape_byte_size(shape) != halo_shape_byte_size(buffer->shape)) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_buffer_bitcast: %s as %s: they have not as many bytes", from, to);
  }
  halo_device_value *value;
  HALO_TRY(halo_buffer_borrow(buffer, &value));
  *out = halo_buffer_wrap(buffer->device, shape, value, NULL, NULL);
  return HALO_OK;
}

/* ---- Promised, and given later ---- */

typedef struct alias_job {
  halo_device_value *to, *from; /* a reference each */
} alias_job;

/* The other value is there, or failed. Its memory is that of both. */
static void alias_give(halo_cl_event *made, void *data) {
  alias_job job = *(alias_job *)data;
  halo_free(data);
  halo_cl_event *ready = job.to->ready;
  halo_cl_event_retain(ready);
  halo_status status = halo_cl_event_wait(made);
  char *message = status == HALO_OK ? NULL : halo_error_save();
  if (status == HALO_OK && job.from->block) {
    halo_cl_free(job.to->block);
    halo_cl_block_retain(job.from->block);
    job.to->block = job.from->block;
  }
  halo_device_value_release(job.to);
  halo_device_value_release(job.from);
  if (status == HALO_OK) {
    halo_cl_event_set_done(ready);
  } else {
    halo_cl_event_set_failed(ready, status, message);
  }
  halo_free(message);
  halo_cl_event_release(ready);
}

static halo_status alias_check(const halo_buffer *buffer, const halo_buffer *from) {
  char want[256], got[256];
  if (buffer->device != from->device) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_buffer_fulfil_with: a buffer of device %d for one of device %d",
                     from->device->index, buffer->device->index);
  }
  if (halo_shape_equal(buffer->shape, from->shape) && !halo_shape_is_dynamic(from->shape)) {
    return HALO_OK;
  }
  halo_shape_texts(buffer->shape, from->shape, want, got, sizeof want);
  return halo_fail(HALO_INVALID_ARGUMENT,
                   "halo_buffer_fulfil_with: %s was promised, and %s is given", want, got);
}

/* Memory that was lent is its own buffer's alone, which others must be able to tell without waiting. */
static halo_status alias_own(halo_device_value **from) {
  halo_device_value *copy;
  if (!halo_cl_event_is_queued((*from)->ready) || !(*from)->block || !(*from)->block->lent) {
    return HALO_OK;
  }
  HALO_TRY(halo_transfer_across(*from, (*from)->block->size, (*from)->device,
                                "a copy of the host's memory", &copy));
  halo_device_value_release(*from);
  *from = copy;
  return HALO_OK;
}

halo_status halo_buffer_fulfil_with(halo_buffer *buffer, halo_buffer *from) {
  halo_device_value *value, *promise;
  if (!buffer || !from) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_fulfil_with: NULL argument");
  }
  HALO_TRY(alias_check(buffer, from));
  HALO_TRY(halo_buffer_borrow(from, &value));
  halo_status status = alias_own(&value);
  if (status == HALO_OK) {
    status = halo_buffer_keep_promise(buffer, "halo_buffer_fulfil_with", &promise);
  }
  if (status != HALO_OK) {
    halo_device_value_release(value);
    return status;
  }
  alias_job *job = halo_alloc(sizeof *job);
  *job = (alias_job){promise, value};
  halo_cl_event_when_over(value->ready, alias_give, job);
  return HALO_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/buffer.c: arrays in device memory: making, copying in, out and across, donating. */
#include "base/memory.h"
#include "client/client.h"
#include "shape/literal.h"

#include <stdio.h>
#include <string.h>

/* ---- Life ---- */

halo_buffer *halo_buffer_wrap(halo_device *device, const halo_shape *shape,
                              halo_device_value *value, halo_device_value **sizes,
                              const halo_plan *plan) {
  halo_buffer *buffer = halo_alloc(sizeof *buffer);
  atomic_init(&buffer->references, 1);
  pthread_mutex_init(&buffer->lock, NULL);
  buffer->device = device;
  halo_client_retain(device->client);
  buffer->shape = plan ? shape : halo_shape_clone_heap(shape);
  buffer->plan = (halo_plan *)plan;
  if (plan) halo_plan_retain(buffer->plan);
  buffer->value = value;
  buffer->sizes = sizes;
  return buffer;
}

void halo_buffer_retain(halo_buffer *buffer) {
  if (buffer) atomic_fetch_add(&buffer->references, 1);
}

void halo_buffer_release(halo_buffer *buffer) {
  if (!buffer || atomic_fetch_sub(&buffer->references, 1) != 1) return;
  if (buffer->promise) {
    halo_cl_event_set_failed(buffer->promise->ready, HALO_FAILED_PRECONDITION,
                             "a promised buffer was released without a value");
    halo_device_value_release(buffer->promise);
  }
  halo_device_value_release(buffer->value);
  halo_sizes_release(buffer->shape, buffer->sizes);
  if (buffer->plan) {
    halo_plan_release(buffer->plan);
  } else {
    halo_shape_release((halo_shape *)buffer->shape);
  }
  pthread_mutex_destroy(&buffer->lock);
  halo_client_release(buffer->device->client);
  halo_free(buffer);
}

const halo_shape *halo_buffer_shape(const halo_buffer *buffer) {
  return buffer ? buffer->shape : NULL;
}

halo_device *halo_buffer_device(const halo_buffer *buffer) {
  return buffer ? buffer->device : NULL;
}

bool halo_buffer_is_donated(halo_buffer *buffer) {
  if (!buffer) return false;
  pthread_mutex_lock(&buffer->lock);
  bool donated = buffer->value == NULL;
  pthread_mutex_unlock(&buffer->lock);
  return donated;
}

static halo_status buffer_fail_donated(const halo_buffer *buffer) {
  char text[256];
  halo_shape_to_text(buffer->shape, false, text, sizeof text);
  return halo_fail(HALO_FAILED_PRECONDITION,
                   "the buffer %s was donated to a program and cannot be used any more", text);
}

halo_status halo_buffer_borrow(halo_buffer *buffer, halo_device_value **out) {
  pthread_mutex_lock(&buffer->lock);
  *out = buffer->value;
  if (*out) halo_device_value_retain(*out);
  pthread_mutex_unlock(&buffer->lock);
  return *out ? HALO_OK : buffer_fail_donated(buffer);
}

halo_status halo_buffer_donate(halo_buffer *buffer, halo_device_value **out) {
  pthread_mutex_lock(&buffer->lock);
  *out = buffer->value;
  buffer->value = NULL;
  pthread_mutex_unlock(&buffer->lock);
  return *out ? HALO_OK : buffer_fail_donated(buffer);
}

void halo_buffer_undonate(halo_buffer *buffer, halo_device_value *value) {
  pthread_mutex_lock(&buffer->lock);
  buffer->value = value;
  pthread_mutex_unlock(&buffer->lock);
}

halo_status halo_buffer_ready_event(halo_buffer *buffer, halo_event **out) {
  if (!buffer || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_ready_event: NULL argument");
  }
  *out = NULL;
  halo_device_value *value;
  HALO_TRY(halo_buffer_borrow(buffer, &value));
  halo_cl_event_retain(value->ready);
  *out = halo_event_wrap(buffer->device->client, value->ready);
  halo_device_value_release(value);
  return HALO_OK;
}

/* ---- In ---- */

static halo_status buffer_check_shape(const halo_shape *shape) {
  char text[256];
  halo_shape_to_text(shape, false, text, sizeof text);
  if (!halo_shape_is_array(shape)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "a buffer holds one array, not %s", text);
  }
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] == HALO_UNBOUNDED) {
      return halo_fail(HALO_INVALID_ARGUMENT, "a buffer's dimensions must be bounded: %s", text);
    }
  }
  return HALO_OK;
}

static void buffer_name(const halo_shape *shape, char what[64]) {
  char text[40];
  halo_shape_to_text(shape, false, text, sizeof text);
  snprintf(what, 64, "buffer %s", text);
}

/* A block for an array of this shape. */
static halo_status buffer_alloc(halo_device *device, const halo_shape *shape, halo_cl_block **out) {
  char what[64];
  HALO_TRY(buffer_check_shape(shape));
  HALO_TRY(halo_cl_device_check_runs(device->cl, "a buffer"));
  buffer_name(shape, what);
  return halo_cl_alloc(device->cl, (size_t)halo_shape_byte_size(shape), what, out);
}

/* `extents`: of dynamic dimensions; NULL: the bounds. */
static halo_status buffer_put(halo_device *device, const void *data, const int64_t *strides,
                              const halo_shape *shape, const int64_t *extents, bool wait,
                              halo_buffer **out) {
  *out = NULL;
  HALO_TRY(buffer_check_shape(shape));
  if (halo_shape_byte_size(shape) && !data) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_from_host: data is NULL");
  }
  halo_cl_block *block;
  HALO_TRY(buffer_alloc(device, shape, &block));
  halo_cl_event *done = wait ? NULL : halo_cl_event_create();
  halo_device_value *value = halo_device_value_create(device->cl, block, done);
  halo_device_value **sizes = NULL;
  halo_status status = halo_sizes_put(device, shape, extents, &sizes);
  if (status == HALO_OK) {
    status = halo_transfer_in(block, shape, (halo_host_array){(void *)data, strides}, done);
  }
  if (status != HALO_OK) {
    halo_sizes_release(shape, sizes);
    halo_device_value_release(value);
    return status;
  }
  *out = halo_buffer_wrap(device, shape, value, sizes, NULL);
  return HALO_OK;
}

halo_status halo_buffer_put(halo_device *device, const void *data, const int64_t *byte_strides,
                            const halo_shape *shape, halo_buffer **out, halo_event **done) {
  if (done) *done = NULL;
  if (!device || !shape || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_put: NULL argument");
  }
  HALO_TRY(buffer_put(device, data, byte_strides, shape, NULL, !done, out));
  return done ? halo_buffer_ready_event(*out, done) : HALO_OK;
}

halo_status halo_buffer_lend(halo_device *device, const void *data, const halo_shape *shape,
                             halo_buffer **out, halo_event **done) {
  if (!device || !shape || !out || !done) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_lend: NULL argument");
  }
  *out = NULL;
  *done = NULL;
  HALO_TRY(buffer_check_shape(shape));
  size_t size = (size_t)halo_shape_byte_size(shape);
  if (halo_shape_is_dynamic(shape) || !halo_layout_is_same(shape, NULL) ||
      !halo_cl_can_lend(device->cl, data, size)) {
    return halo_buffer_put(device, data, NULL, shape, out, done);
  }
  halo_cl_event *returned = halo_cl_event_create();
  halo_cl_block *block;
  halo_status status = halo_cl_lend(device->cl, data, size, returned, &block);
  if (status != HALO_OK) {
    halo_cl_event_release(returned);
    return status;
  }
  *out = halo_buffer_wrap(device, shape, halo_device_value_create(device->cl, block, NULL), NULL,
                          NULL);
  *done = halo_event_wrap(device->client, returned);
  return HALO_OK;
}

halo_status halo_buffer_from_host(halo_client *client, const void *data, const halo_shape *shape,
                                  halo_buffer **out) {
  if (!client || !shape || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_from_host: NULL argument");
  }
  return buffer_put(client->devices, data, NULL, shape, NULL, true, out);
}

halo_status halo_buffer_from_host_async(halo_client *client, const void *data,
                                        const halo_shape *shape, halo_buffer **out,
                                        halo_event **done) {
  if (done) *done = NULL;
  if (!client || !shape || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_from_host_async: NULL argument");
  }
  HALO_TRY(buffer_put(client->devices, data, NULL, shape, NULL, false, out));
  return done ? halo_buffer_ready_event(*out, done) : HALO_OK;
}

halo_status halo_buffer_from_literal(halo_client *client, const halo_literal *literal,
                                     halo_buffer **out) {
  if (!client || !literal || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_from_literal: NULL argument");
  }
  return buffer_put(client->devices, literal->data, NULL, literal->shape, NULL, true, out);
}

halo_status halo_buffer_put_sized(halo_device *device, const void *data,
                                  const int64_t *byte_strides, const halo_shape *shape,
                                  const int64_t *sizes, halo_buffer **out) {
  void *dense;
  if (!device || !shape || !out || (shape->rank && !sizes)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_put_sized: NULL argument");
  }
  *out = NULL;
  HALO_TRY(buffer_check_shape(shape));
  for (int d = 0; d < shape->rank; d++) {
    bool dynamic = halo_shape_dim_is_dynamic(shape, d);
    if (sizes[d] == shape->dims[d] || (dynamic && sizes[d] >= 0 && sizes[d] < shape->dims[d])) {
      continue;
    }
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_buffer_put_sized: dimension %d has %s%lld element%s, not %lld", d,
                     dynamic ? "at most " : "", (long long)shape->dims[d],
                     halo_plural(shape->dims[d]), (long long)sizes[d]);
  }
  const halo_shape extents = {.type = shape->type, .rank = shape->rank, .dims = sizes};
  if (halo_shape_byte_size(&extents) && !data) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_put_sized: data is NULL");
  }
  if (!halo_shape_is_dynamic(shape)) {
    return buffer_put(device, data, byte_strides, shape, NULL, true, out);
  }
  HALO_TRY(halo_try_alloc((size_t)halo_shape_byte_size(shape), "a transfer", &dense));
  halo_layout_part_in(shape, sizes, data, byte_strides, dense);
  halo_status status = buffer_put(device, dense, NULL, shape, sizes, true, out);
  halo_free(dense);
  return status;
}

/* ---- Promised ---- */

halo_status halo_buffer_promise(halo_device *device, const halo_shape *shape, halo_buffer **out) {
  if (!device || !shape || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_promise: NULL argument");
  }
  *out = NULL;
  halo_cl_block *block;
  HALO_TRY(buffer_alloc(device, shape, &block));
  halo_device_value **sizes;
  halo_status status = halo_sizes_put(device, shape, NULL, &sizes);
  if (status != HALO_OK) {
    halo_cl_free(block);
    return status;
  }
  halo_device_value *value = halo_device_value_create(device->cl, block, halo_cl_event_create());
  *out = halo_buffer_wrap(device, shape, value, sizes, NULL);
  (*out)->promise = value;
  halo_device_value_retain(value);
  return HALO_OK;
}

halo_status halo_buffer_keep_promise(halo_buffer *buffer, const char *call,
                                     halo_device_value **out) {
  if (!buffer) return halo_fail(HALO_INVALID_ARGUMENT, "%s: buffer is NULL", call);
  pthread_mutex_lock(&buffer->lock);
  *out = buffer->promise;
  buffer->promise = NULL;
  pthread_mutex_unlock(&buffer->lock);
  if (*out) return HALO_OK;
  return halo_fail(HALO_FAILED_PRECONDITION, "%s: no value was promised, or it was given", call);
}

halo_status halo_buffer_fulfil(halo_buffer *buffer, const void *data, const int64_t *byte_strides) {
  halo_device_value *value;
  if (buffer && halo_shape_byte_size(buffer->shape) && !data) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_fulfil: data is NULL");
  }
  HALO_TRY(halo_buffer_keep_promise(buffer, "halo_buffer_fulfil", &value));
  halo_status status = halo_transfer_in(value->block, buffer->shape,
                                        (halo_host_array){(void *)data, byte_strides}, NULL);
  halo_cl_event *ready = value->ready;
  halo_cl_event_retain(ready);
  halo_device_value_release(value);
  if (status == HALO_OK) {
    halo_cl_event_set_done(ready);
  } else {
    halo_cl_event_set_failed(ready, status, halo_error_message());
  }
  halo_cl_event_release(ready);
  return status;
}

halo_status halo_buffer_fail(halo_buffer *buffer, halo_status status, const char *message) {
  halo_device_value *value;
  if (status == HALO_OK) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_fail: HALO_OK is no failure");
  }
  HALO_TRY(halo_buffer_keep_promise(buffer, "halo_buffer_fail", &value));
  halo_cl_event_set_failed(value->ready, status, message ? message : "");
  halo_device_value_release(value);
  return HALO_OK;
}

/* ---- Out ---- */

static halo_status buffer_check_out(const halo_buffer *buffer, const void *data) {
  if (!buffer) return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_to_host: buffer is NULL");
  if (halo_shape_byte_size(buffer->shape) && !data) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_to_host: data is NULL");
  }
  return halo_cl_process_check();
}

/* `wait`: for the sizes of dynamic dimensions; otherwise there must be room for the bounds. */
static halo_status buffer_check_size(halo_buffer *buffer, size_t size, bool wait) {
  if (!buffer) return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_to_host: buffer is NULL");
  size_t needed = (size_t)halo_shape_byte_size(buffer->shape);
  if (buffer->sizes && wait) {
    int64_t extents[HALO_MAX_RANK];
    halo_shape valid = {.type = buffer->shape->type, .rank = buffer->shape->rank, .dims = extents};
    HALO_TRY(halo_sizes_get(buffer->shape, buffer->sizes, extents));
    needed = (size_t)halo_shape_byte_size(&valid);
  }
  if (size == needed || (buffer->sizes && size > needed)) return HALO_OK;
  char text[256];
  halo_shape_to_text(buffer->shape, false, text, sizeof text);
  return halo_fail(HALO_INVALID_ARGUMENT,
                   "halo_buffer_to_host: %s takes %zu bytes, not the %zu given", text, needed,
                   size);
}

halo_status halo_buffer_get(halo_buffer *buffer, void *data, const int64_t *byte_strides,
                            halo_event **done) {
  if (done) *done = NULL;
  HALO_TRY(buffer_check_out(buffer, data));
  halo_device_value *value;
  HALO_TRY(halo_buffer_borrow(buffer, &value));
  halo_cl_event *event = done ? halo_cl_event_create() : NULL;
  halo_status status = halo_transfer_out(value, buffer->shape, buffer->sizes,
                                         (halo_host_array){data, byte_strides}, event);
  if (status == HALO_OK && done) {
    *done = halo_event_wrap(buffer->device->client, event);
  } else {
    halo_cl_event_release(event);
  }
  halo_device_value_release(value);
  return status;
}

halo_status halo_buffer_to_host(halo_buffer *buffer, void *data, size_t size) {
  HALO_TRY(buffer_check_size(buffer, size, true));
  return halo_buffer_get(buffer, data, NULL, NULL);
}

halo_status halo_buffer_to_host_async(halo_buffer *buffer, void *data, size_t size,
                                      halo_event **done) {
  if (!done) return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_to_host_async: done is NULL");
  *done = NULL;
  HALO_TRY(buffer_check_size(buffer, size, false));
  return halo_buffer_get(buffer, data, NULL, done);
}

halo_status halo_buffer_sizes(halo_buffer *buffer, int64_t *sizes) {
  if (!buffer || (buffer->shape->rank && !sizes)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_sizes: NULL argument");
  }
  return halo_sizes_get(buffer->shape, buffer->sizes, sizes);
}

halo_status halo_buffer_to_literal(halo_buffer *buffer, halo_literal **out) {
  if (!buffer || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_to_literal: NULL argument");
  }
  *out = NULL;
  halo_literal *literal;
  int64_t extents[HALO_MAX_RANK];
  halo_shape valid = *buffer->shape;
  HALO_TRY(halo_buffer_sizes(buffer, extents));
  valid.dims = extents;
  valid.dynamic = NULL;
  valid.has_dynamic = false;
  HALO_TRY(halo_literal_create(&valid, &literal));
  halo_status status = halo_buffer_get(buffer, literal->data, NULL, NULL);
  if (status == HALO_OK) {
    *out = literal;
  } else {
    halo_literal_release(literal);
  }
  return status;
}

/* ---- Across ---- */

halo_status halo_buffer_copy_to_device(halo_buffer *buffer, halo_device *device,
                                       halo_buffer **out) {
  if (!buffer || !device || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_copy_to_device: NULL argument");
  }
  *out = NULL;
  if (buffer->device->client != device->client) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_buffer_copy_to_device: the device belongs to another client");
  }
  halo_device_value *from, *to;
  char what[64];
  HALO_TRY(halo_cl_device_check_runs(device->cl, "a buffer"));
  HALO_TRY(halo_buffer_borrow(buffer, &from));
  buffer_name(buffer->shape, what);
  halo_status status = halo_transfer_across(from, (size_t)halo_shape_byte_size(buffer->shape),
                                            device->cl, what, &to);
  halo_device_value_release(from);
  HALO_TRY(status);
  halo_device_value **sizes;
  status = halo_sizes_across(buffer->shape, buffer->sizes, device->cl, &sizes);
  if (status == HALO_OK) {
    *out = halo_buffer_wrap(device, buffer->shape, to, sizes, NULL);
  } else {
    halo_device_value_release(to);
  }
  return status;
}

/* client/buffer.c: arrays in device memory: making, copying in and out, donating. */
#include "base/memory.h"
#include "client/client.h"
#include "shape/literal.h"

#include <stdio.h>
#include <string.h>

/* ---- Life ---- */

halo_buffer *halo_buffer_wrap(halo_client *client, const halo_shape *shape, halo_cl_block *block,
                              cl_event ready) {
  halo_buffer *buffer = halo_alloc(sizeof *buffer);
  atomic_init(&buffer->references, 1);
  pthread_mutex_init(&buffer->lock, NULL);
  buffer->client = client;
  halo_client_retain(client);
  buffer->shape = halo_shape_clone_heap(shape);
  buffer->block = block;
  buffer->ready = ready;
  return buffer;
}

void halo_buffer_retain(halo_buffer *buffer) {
  if (buffer) atomic_fetch_add(&buffer->references, 1);
}

void halo_buffer_release(halo_buffer *buffer) {
  if (!buffer || atomic_fetch_sub(&buffer->references, 1) != 1) return;
  halo_cl_free(buffer->block);
  if (buffer->ready && !halo_cl_is_forked()) clReleaseEvent(buffer->ready);
  halo_shape_release(buffer->shape);
  pthread_mutex_destroy(&buffer->lock);
  halo_client_release(buffer->client);
  halo_free(buffer);
}

const halo_shape *halo_buffer_shape(const halo_buffer *buffer) {
  return buffer ? buffer->shape : NULL;
}

static halo_status buffer_fail_donated(const halo_buffer *buffer) {
  char text[256];
  halo_shape_to_text(buffer->shape, true, text, sizeof text);
  return halo_fail(HALO_FAILED_PRECONDITION,
                   "the buffer %s was donated to a program and cannot be used any more", text);
}

halo_status halo_buffer_borrow(halo_buffer *buffer, halo_cl_block **out) {
  pthread_mutex_lock(&buffer->lock);
  *out = buffer->block;
  if (*out) halo_cl_block_retain(*out);
  pthread_mutex_unlock(&buffer->lock);
  return *out ? HALO_OK : buffer_fail_donated(buffer);
}

halo_status halo_buffer_donate(halo_buffer *buffer, halo_cl_block **out) {
  pthread_mutex_lock(&buffer->lock);
  *out = buffer->block;
  buffer->block = NULL;
  pthread_mutex_unlock(&buffer->lock);
  return *out ? HALO_OK : buffer_fail_donated(buffer);
}

void halo_buffer_undonate(halo_buffer *buffer, halo_cl_block *block) {
  pthread_mutex_lock(&buffer->lock);
  buffer->block = block;
  pthread_mutex_unlock(&buffer->lock);
}

/* The ready event with a new reference, or NULL. */
static cl_event buffer_ready(halo_buffer *buffer) {
  pthread_mutex_lock(&buffer->lock);
  cl_event ready = buffer->ready;
  if (ready) clRetainEvent(ready);
  pthread_mutex_unlock(&buffer->lock);
  return ready;
}

halo_status halo_buffer_ready_event(halo_buffer *buffer, halo_event **out) {
  if (!buffer || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_ready_event: NULL argument");
  }
  *out = halo_event_wrap(buffer->client, buffer_ready(buffer), NULL, NULL);
  return HALO_OK;
}

/* Waits until the value is there. */
static halo_status buffer_await(halo_buffer *buffer) {
  cl_event ready = buffer_ready(buffer);
  halo_status status = halo_event_await(ready);
  if (ready) clReleaseEvent(ready);
  return status;
}

/* ---- In ---- */

static halo_status buffer_check_shape(const halo_shape *shape) {
  char text[256];
  halo_shape_to_text(shape, true, text, sizeof text);
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

static halo_status buffer_alloc(halo_client *client, const halo_shape *shape, halo_cl_block **out) {
  char text[40], what[64];
  halo_shape_to_text(shape, false, text, sizeof text);
  snprintf(what, sizeof what, "buffer %s", text);
  return halo_cl_alloc(client->device.cl, (size_t)halo_shape_byte_size(shape), what, out);
}

/* Queues a copy of `size` bytes to the block; waits for it when `done` is NULL. */
static halo_status buffer_write(halo_cl_block *block, const void *data, size_t size,
                                cl_event *done) {
  halo_cl_device *device = block->device;
  cl_bool wait = done ? CL_FALSE : CL_TRUE;
  cl_int code = clEnqueueWriteBuffer(device->queue, block->mem, wait, 0, size, data, 0, NULL, done);
  if (halo_cl_check(code, "clEnqueueWriteBuffer") == HALO_OUT_OF_MEMORY) {
    /* Memory may only be taken at the first use: now. */
    halo_cl_memory_trim(device);
    clFinish(device->queue);
    code = clEnqueueWriteBuffer(device->queue, block->mem, wait, 0, size, data, 0, NULL, done);
  }
  HALO_TRY(halo_cl_check(code, "clEnqueueWriteBuffer"));
  if (done) clFlush(device->queue);
  return HALO_OK;
}

static halo_status buffer_map(halo_cl_block *block, cl_map_flags flags, size_t size, void **out) {
  cl_int code;
  *out = clEnqueueMapBuffer(block->device->queue, block->mem, CL_TRUE, flags, 0, size, 0, NULL,
                            NULL, &code);
  return halo_cl_check(code, "clEnqueueMapBuffer");
}

static halo_status buffer_unmap(halo_cl_block *block, void *mapped) {
  cl_int code = clEnqueueUnmapMemObject(block->device->queue, block->mem, mapped, 0, NULL, NULL);
  return halo_cl_check(code, "clEnqueueUnmapMemObject");
}

/* Elements change places on the way, so they go through a second piece of host memory: the block
 * itself where the host shares its memory. Plain copies do not map: on PoCL that takes longer for
 * small arrays and as long for large ones. */
static halo_status buffer_write_permuted(halo_client *client, halo_cl_block *block,
                                         const void *data, const halo_shape *shape,
                                         cl_event *done) {
  size_t size = (size_t)halo_shape_byte_size(shape);
  void *staging;
  if (!done && client->device.cl->caps.shares_host_memory) {
    HALO_TRY(buffer_map(block, CL_MAP_WRITE_INVALIDATE_REGION, size, &staging));
    halo_layout_to_device(shape, data, staging);
    return buffer_unmap(block, staging);
  }
  HALO_TRY(halo_try_alloc(size, "a transfer", &staging));
  halo_layout_to_device(shape, data, staging);
  halo_status status = buffer_write(block, staging, size, done);
  if (status == HALO_OK && done) {
    clRetainEvent(*done);
    halo_client_keep(client, *done, staging);
  } else {
    halo_free(staging);
  }
  return status;
}

static halo_status buffer_from_host(halo_client *client, const void *data, const halo_shape *shape,
                                    bool wait, halo_buffer **out) {
  *out = NULL;
  HALO_TRY(buffer_check_shape(shape));
  size_t size = (size_t)halo_shape_byte_size(shape);
  if (size && !data) return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_from_host: data is NULL");
  HALO_TRY(halo_cl_device_check_runs(client->device.cl, "a buffer"));
  halo_client_sweep(client);
  halo_cl_block *block;
  HALO_TRY(buffer_alloc(client, shape, &block));
  cl_event ready = NULL, *done = wait ? NULL : &ready;
  halo_status status = HALO_OK;
  if (size && halo_shape_has_default_layout(shape)) {
    status = buffer_write(block, data, size, done);
  } else if (size) {
    status = buffer_write_permuted(client, block, data, shape, done);
  }
  if (status != HALO_OK) {
    halo_cl_free(block);
    return status;
  }
  *out = halo_buffer_wrap(client, shape, block, ready);
  return HALO_OK;
}

halo_status halo_buffer_from_host(halo_client *client, const void *data, const halo_shape *shape,
                                  halo_buffer **out) {
  if (!client || !shape || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_from_host: NULL argument");
  }
  return buffer_from_host(client, data, shape, true, out);
}

halo_status halo_buffer_from_host_async(halo_client *client, const void *data,
                                        const halo_shape *shape, halo_buffer **out,
                                        halo_event **done) {
  if (done) *done = NULL;
  if (!client || !shape || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_from_host_async: NULL argument");
  }
  HALO_TRY(buffer_from_host(client, data, shape, false, out));
  return done ? halo_buffer_ready_event(*out, done) : HALO_OK;
}

halo_status halo_buffer_from_literal(halo_client *client, const halo_literal *literal,
                                     halo_buffer **out) {
  if (!client || !literal || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_from_literal: NULL argument");
  }
  return buffer_from_host(client, literal->data, literal->shape, true, out);
}

/* ---- Out ---- */

static halo_status buffer_check_out(const halo_buffer *buffer, const void *data, size_t size) {
  if (!buffer) return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_to_host: buffer is NULL");
  size_t needed = (size_t)halo_shape_byte_size(buffer->shape);
  if (size != needed) {
    char text[256];
    halo_shape_to_text(buffer->shape, false, text, sizeof text);
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_buffer_to_host: %s takes %zu bytes, not the %zu given", text, needed,
                     size);
  }
  if (size && !data) return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_to_host: data is NULL");
  return halo_cl_process_check();
}

/* Queues a copy out, which fails with `after` (if not NULL); waits for it when `done` is NULL. */
static halo_status buffer_read(halo_cl_block *block, void *data, size_t size, cl_event after,
                               cl_event *done) {
  cl_command_queue queue = block->device->queue;
  cl_bool wait = done ? CL_FALSE : CL_TRUE;
  HALO_TRY(halo_cl_check(clEnqueueReadBuffer(queue, block->mem, wait, 0, size, data, after ? 1 : 0,
                                             after ? &after : NULL, done),
                         "clEnqueueReadBuffer"));
  if (done) clFlush(queue);
  return HALO_OK;
}

/* Waits; as buffer_write_permuted. */
static halo_status buffer_read_permuted(halo_cl_block *block, void *data, const halo_shape *shape) {
  size_t size = (size_t)halo_shape_byte_size(shape);
  void *staging;
  if (block->device->caps.shares_host_memory) {
    HALO_TRY(buffer_map(block, CL_MAP_READ, size, &staging));
    halo_layout_to_host(shape, staging, data);
    return buffer_unmap(block, staging);
  }
  HALO_TRY(halo_try_alloc(size, "a transfer", &staging));
  halo_status status = buffer_read(block, staging, size, NULL, NULL);
  if (status == HALO_OK) halo_layout_to_host(shape, staging, data);
  halo_free(staging);
  return status;
}

halo_status halo_buffer_to_host(halo_buffer *buffer, void *data, size_t size) {
  HALO_TRY(buffer_check_out(buffer, data, size));
  halo_cl_block *block;
  HALO_TRY(halo_buffer_borrow(buffer, &block));
  halo_status status = HALO_OK;
  if (size && halo_shape_has_default_layout(buffer->shape)) {
    status = buffer_read(block, data, size, NULL, NULL);
  } else if (size) {
    status = buffer_read_permuted(block, data, buffer->shape);
  }
  halo_cl_free(block);
  /* The copy came after the value was made, so this does not wait; but it tells whether it was. */
  HALO_TRY(status);
  return buffer_await(buffer);
}

/* A copy out whose elements change places once the device has delivered them. */
typedef struct buffer_delivery {
  halo_shape *shape;
  void *staging, *target;
} buffer_delivery;

static void buffer_deliver(void *data, bool failed) {
  buffer_delivery *delivery = data;
  if (!failed) halo_layout_to_host(delivery->shape, delivery->staging, delivery->target);
  halo_shape_release(delivery->shape);
  halo_free(delivery->staging);
  halo_free(delivery);
}

static halo_status buffer_read_permuted_async(halo_buffer *buffer, halo_cl_block *block,
                                              cl_event ready, void *data, halo_event **done) {
  size_t size = (size_t)halo_shape_byte_size(buffer->shape);
  void *staging;
  cl_event event;
  HALO_TRY(halo_try_alloc(size, "a transfer", &staging));
  halo_status status = buffer_read(block, staging, size, ready, &event);
  if (status != HALO_OK) {
    halo_free(staging);
    return status;
  }
  buffer_delivery *delivery = halo_alloc(sizeof *delivery);
  delivery->shape = halo_shape_clone_heap(buffer->shape);
  delivery->staging = staging;
  delivery->target = data;
  *done = halo_event_wrap(buffer->client, event, buffer_deliver, delivery);
  return HALO_OK;
}

halo_status halo_buffer_to_host_async(halo_buffer *buffer, void *data, size_t size,
                                      halo_event **done) {
  if (!done) return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_to_host_async: done is NULL");
  *done = NULL;
  HALO_TRY(buffer_check_out(buffer, data, size));
  halo_cl_block *block;
  HALO_TRY(halo_buffer_borrow(buffer, &block));
  halo_status status = HALO_OK;
  cl_event ready = buffer_ready(buffer);
  if (size == 0) {
    status = halo_buffer_ready_event(buffer, done);
  } else if (halo_shape_has_default_layout(buffer->shape)) {
    cl_event event;
    status = buffer_read(block, data, size, ready, &event);
    if (status == HALO_OK) *done = halo_event_wrap(buffer->client, event, NULL, NULL);
  } else {
    status = buffer_read_permuted_async(buffer, block, ready, data, done);
  }
  if (ready) clReleaseEvent(ready);
  halo_cl_free(block);
  return status;
}

halo_status halo_buffer_to_literal(halo_buffer *buffer, halo_literal **out) {
  if (!buffer || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_to_literal: NULL argument");
  }
  *out = NULL;
  halo_literal *literal;
  HALO_TRY(halo_literal_create(buffer->shape, &literal));
  halo_status status =
      halo_buffer_to_host(buffer, literal->data, (size_t)halo_shape_byte_size(buffer->shape));
  if (status == HALO_OK) {
    *out = literal;
  } else {
    halo_literal_release(literal);
  }
  return status;
}

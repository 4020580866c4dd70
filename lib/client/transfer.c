/* SPDX-License-Identifier: Apache-2.0 */
/* client/transfer.c: arrays on their way between the host, a device, and another device. */
#include "base/memory.h"
#include "base/worker.h"
#include "client/client.h"

#include <string.h>

/* ---- While the caller waits ---- */

static halo_status transfer_map(halo_cl_block *block, cl_map_flags flags, size_t size,
                                cl_event after, void **out) {
  *out = NULL;
  HALO_TRY(halo_cl_await(after));
  return halo_cl_map(block->device->transfers, block->mem, flags, 0, size, true, NULL, out);
}

/* Waits too: on some devices the bytes move only now. */
static halo_status transfer_unmap(halo_cl_block *block, void *mapped) {
  cl_event done;
  HALO_TRY(halo_cl_unmap(block->device->transfers, block->mem, mapped, &done));
  halo_status status = halo_cl_await(done);
  halo_cl.clReleaseEvent(done);
  return status;
}

/* Elements change places on the way, so they go through a second piece of host memory: the block
 * itself where the host shares its memory. Plain copies do not map: that takes longer for
 * small arrays and as long for large ones. */
static halo_status transfer_in_permuted(halo_cl_block *block, const halo_shape *shape,
                                        halo_host_array from, cl_event after) {
  size_t size = (size_t)halo_shape_byte_size(shape);
  void *staging;
  if (block->device->caps.shares_host_memory) {
    HALO_TRY(transfer_map(block, CL_MAP_WRITE_INVALIDATE_REGION, size, after, &staging));
    halo_layout_to_device(shape, from.data, from.strides, staging);
    return transfer_unmap(block, staging);
  }
  HALO_TRY(halo_try_alloc(size, "a transfer", &staging));
  halo_layout_to_device(shape, from.data, from.strides, staging);
  halo_status status = halo_cl_write(block, staging, size, after);
  halo_free(staging);
  return status;
}

static halo_status transfer_in_now(halo_cl_block *block, const halo_shape *shape,
                                   halo_host_array from) {
  cl_event after = halo_cl_timeline_event(block->device, block->ticket);
  halo_status status =
      halo_layout_is_same(shape, from.strides)
          ? halo_cl_write(block, from.data, (size_t)halo_shape_byte_size(shape), after)
          : transfer_in_permuted(block, shape, from, after);
  if (after) halo_cl.clReleaseEvent(after);
  return status;
}

static halo_status transfer_out_permuted(halo_cl_block *block, const halo_shape *shape,
                                         halo_host_array to, cl_event after) {
  size_t size = (size_t)halo_shape_byte_size(shape);
  void *staging;
  if (block->device->caps.shares_host_memory) {
    HALO_TRY(transfer_map(block, CL_MAP_READ, size, after, &staging));
    halo_layout_to_host(shape, staging, to.data, to.strides);
    return transfer_unmap(block, staging);
  }
  HALO_TRY(halo_try_alloc(size, "a transfer", &staging));
  halo_status status = halo_cl_read(block, staging, size, after);
  if (status == HALO_OK) halo_layout_to_host(shape, staging, to.data, to.strides);
  halo_free(staging);
  return status;
}

static halo_status transfer_out_now(halo_device_value *value, const halo_shape *shape,
                                    halo_host_array to) {
  size_t size = (size_t)halo_shape_byte_size(shape);
  HALO_TRY(halo_cl_event_wait_queued(value->ready));
  if (!value->block || size == 0) return halo_cl_event_wait(value->ready);
  cl_event after = halo_cl_event_handle(value->ready);
  halo_status status = halo_layout_is_same(shape, to.strides)
                           ? halo_cl_read(value->block, to.data, size, after)
                           : transfer_out_permuted(value->block, shape, to, after);
  if (after) halo_cl.clReleaseEvent(after);
  /* What failed before says more than the copy that waited for it. */
  halo_status before = halo_cl_event_wait(value->ready);
  return before != HALO_OK ? before : status;
}

/* ---- Sizes of dynamic dimensions ---- */

/* A new list of the same values. */
static halo_device_value **transfer_retain_sizes(const halo_shape *shape,
                                                 halo_device_value *const *sizes) {
  int32_t count = halo_shape_dynamic_count(shape);
  if (count == 0) return NULL;
  halo_device_value **copy = halo_alloc(sizeof *copy * (size_t)count);
  for (int32_t i = 0; i < count; i++) {
    copy[i] = sizes[i];
    halo_device_value_retain(copy[i]);
  }
  return copy;
}

void halo_sizes_release(const halo_shape *shape, halo_device_value **sizes) {
  if (!sizes) return;
  int32_t count = halo_shape_dynamic_count(shape);
  for (int32_t i = 0; i < count; i++) halo_device_value_release(sizes[i]);
  halo_free(sizes);
}

halo_status halo_sizes_get(const halo_shape *shape, halo_device_value *const *sizes,
                           int64_t *extents) {
  static const halo_shape scalar = {.type = HALO_S32};
  int32_t next = 0;
  for (int d = 0; d < shape->rank; d++) {
    int32_t size;
    extents[d] = shape->dims[d];
    if (!halo_shape_dim_is_dynamic(shape, d)) continue;
    HALO_TRY(transfer_out_now(sizes[next++], &scalar, (halo_host_array){&size, NULL}));
    /* A program may set any size; there are no more elements than the bound. */
    if (size < extents[d]) extents[d] = size > 0 ? size : 0;
  }
  return HALO_OK;
}

/* The valid part of an array with dynamic dimensions, by way of all of it. */
static halo_status transfer_out_valid(halo_device_value *value, const halo_shape *shape,
                                      halo_device_value *const *sizes, halo_host_array to) {
  int64_t extents[HALO_MAX_RANK];
  void *dense;
  if (!sizes) return transfer_out_now(value, shape, to);
  HALO_TRY(halo_sizes_get(shape, sizes, extents));
  HALO_TRY(halo_try_alloc((size_t)halo_shape_byte_size(shape), "a transfer", &dense));
  halo_status status = transfer_out_now(value, shape, (halo_host_array){dense, NULL});
  if (status == HALO_OK) halo_layout_part_out(shape, extents, dense, to.data, to.strides);
  halo_free(dense);
  return status;
}

/* ---- While nobody waits ---- */

typedef struct transfer_job {
  halo_cl_device *device;
  halo_cl_block *block;      /* copying in; a reference */
  halo_device_value *value;  /* copying out; a reference */
  halo_device_value **sizes; /* of it, or NULL; a list of the job's own */
  halo_shape *shape;
  halo_host_array host;
  int64_t strides[HALO_MAX_RANK];
  halo_cl_event *done;
} transfer_job;

/* Everything is let go of before the end is told. */
static void transfer_run(void *data) {
  transfer_job *job = data;
  halo_cl_device *device = job->device;
  halo_cl_event *done = job->done;
  halo_status status = job->block
                           ? transfer_in_now(job->block, job->shape, job->host)
                           : transfer_out_valid(job->value, job->shape, job->sizes, job->host);
  halo_cl_free(job->block);
  halo_sizes_release(job->shape, job->sizes);
  halo_device_value_release(job->value);
  halo_shape_release(job->shape);
  halo_free(job);
  if (status == HALO_OK) {
    halo_cl_event_set_done(done);
  } else {
    halo_cl_event_set_failed(done, status, halo_error_message());
  }
  halo_cl_event_release(done);
  halo_cl_work_end(device);
}

static void transfer_submit(halo_cl_event *ready, void *data) {
  (void)ready;
  transfer_job *job = data;
  halo_cl_work_begin(job->device);
  halo_worker_run(transfer_run, job);
}

static transfer_job *transfer_create(halo_cl_device *device, const halo_shape *shape,
                                     halo_host_array host, halo_cl_event *done) {
  transfer_job *job = halo_alloc(sizeof *job);
  job->device = device;
  job->shape = halo_shape_clone_heap(shape);
  job->host = host;
  if (host.strides) {
    memcpy(job->strides, host.strides, sizeof *host.strides * (size_t)shape->rank);
    job->host.strides = job->strides;
  }
  job->done = done;
  halo_cl_event_retain(done);
  return job;
}

/* Whether one command without the host does it. */
static bool transfer_is_plain(const halo_cl_device *device, const halo_shape *shape,
                              const int64_t *strides) {
  return device->caps.shares_host_memory && halo_layout_is_same(shape, strides);
}

halo_status halo_transfer_in(halo_cl_block *block, const halo_shape *shape, halo_host_array from,
                             halo_cl_event *done) {
  halo_cl_device *device = block->device;
  size_t size = (size_t)halo_shape_byte_size(shape);
  if (size == 0) {
    if (done) halo_cl_event_set_done(done);
    return HALO_OK;
  }
  if (!done) return transfer_in_now(block, shape, from);
  if (!transfer_is_plain(device, shape, from.strides)) {
    transfer_job *job = transfer_create(device, shape, from, done);
    job->block = block;
    halo_cl_block_retain(block);
    transfer_submit(NULL, job);
    return HALO_OK;
  }
  cl_event after = halo_cl_timeline_event(device, block->ticket), copied;
  halo_status status;
  if (halo_cl_copy_sync(block, NULL, from.data, size, after, &status)) {
    if (after) halo_cl.clReleaseEvent(after);
    if (status == HALO_OK) halo_cl_event_set_done(done);
    return status;
  }
  cl_int code =
      halo_cl.clEnqueueWriteBuffer(device->transfers, block->mem, CL_FALSE, 0, size, from.data,
                                   after ? 1 : 0, after ? &after : NULL, &copied);
  if (after) halo_cl.clReleaseEvent(after);
  HALO_TRY(halo_cl_check(code, "clEnqueueWriteBuffer"));
  halo_cl_block_set_transfer(block, HALO_CL_TRANSFER_IN, copied);
  halo_cl.clFlush(device->transfers);
  halo_cl_event_set_queued(done, copied);
  return HALO_OK;
}

halo_status halo_transfer_out(halo_device_value *value, const halo_shape *shape,
                              halo_device_value *const *sizes, halo_host_array to,
                              halo_cl_event *done) {
  halo_cl_device *device = value->device;
  size_t size = (size_t)halo_shape_byte_size(shape);
  if (!done) return transfer_out_valid(value, shape, sizes, to);
  bool queued = halo_cl_event_is_queued(value->ready);
  if (!queued || !value->block || size == 0 || sizes ||
      !transfer_is_plain(device, shape, to.strides)) {
    transfer_job *job = transfer_create(device, shape, to, done);
    if (sizes) job->sizes = transfer_retain_sizes(shape, sizes);
    job->value = value;
    halo_device_value_retain(value);
    halo_cl_event_when_queued(value->ready, transfer_submit, job);
    return HALO_OK;
  }
  halo_status status;
  if (halo_cl_event_is_over(value->ready) && halo_cl_event_failure(value->ready) == HALO_OK &&
      halo_cl_copy_sync(value->block, to.data, NULL, size, NULL, &status)) {
    if (status == HALO_OK) halo_cl_event_set_done(done);
    return status;
  }
  halo_cl_event_add_cause(done, value->ready);
  cl_event after = halo_cl_event_handle(value->ready), copied;
  cl_int code = halo_cl.clEnqueueReadBuffer(device->transfers, value->block->mem, CL_FALSE, 0, size,
                                            to.data, after ? 1 : 0, after ? &after : NULL, &copied);
  if (after) halo_cl.clReleaseEvent(after);
  HALO_TRY(halo_cl_check(code, "clEnqueueReadBuffer"));
  halo_cl_block_set_transfer(value->block, HALO_CL_TRANSFER_OUT, copied);
  halo_cl.clFlush(device->transfers);
  halo_cl_event_set_queued(done, copied);
  return HALO_OK;
}

/* ---- From device to device ---- */

typedef struct transfer_crossing {
  halo_device_value *from, *to; /* a reference each */
  halo_cl_block *block;         /* of `to`, which receives it when it is filled */
  size_t size;
} transfer_crossing;

/* Devices have contexts of their own, so the bytes go through the host: straight from one device to the
 * other where the host sees the first one's memory. */
static halo_status transfer_cross_now(const transfer_crossing *c) {
  halo_cl_block *from = c->from->block;
  void *staging;
  if (!from) return halo_cl_event_wait(c->from->ready);
  cl_event before = halo_cl_event_handle(c->from->ready);
  cl_event free = halo_cl_timeline_event(c->block->device, c->block->ticket);
  halo_status status;
  if (from->device->caps.shares_host_memory) {
    status = transfer_map(from, CL_MAP_READ, c->size, before, &staging);
    if (status == HALO_OK) {
      status = halo_cl_write(c->block, staging, c->size, free);
      halo_status unmapped = transfer_unmap(from, staging);
      if (status == HALO_OK) status = unmapped;
    }
  } else {
    status = halo_try_alloc(c->size, "a transfer", &staging);
    if (status == HALO_OK) {
      status = halo_cl_read(from, staging, c->size, before);
      if (status == HALO_OK) status = halo_cl_write(c->block, staging, c->size, free);
      halo_free(staging);
    }
  }
  if (before) halo_cl.clReleaseEvent(before);
  if (free) halo_cl.clReleaseEvent(free);
  halo_status made = halo_cl_event_wait(c->from->ready);
  return made != HALO_OK ? made : status;
}

static void transfer_cross_run(void *data) {
  transfer_crossing c = *(transfer_crossing *)data;
  halo_cl_device *device = c.to->device;
  halo_free(data);
  halo_status status = c.size ? transfer_cross_now(&c) : halo_cl_event_wait(c.from->ready);
  char *message = status == HALO_OK ? NULL : halo_error_save();
  halo_device_value_release(c.from);
  halo_cl_event *done = c.to->ready;
  halo_cl_event_retain(done);
  if (status == HALO_OK) c.to->block = c.block;
  if (status != HALO_OK) halo_cl_free(c.block);
  halo_device_value_release(c.to);
  if (status == HALO_OK) {
    halo_cl_event_set_done(done);
  } else {
    halo_cl_event_set_failed(done, status, message);
  }
  halo_free(message);
  halo_cl_event_release(done);
  halo_cl_work_end(device);
}

static void transfer_cross_submit(halo_cl_event *ready, void *data) {
  (void)ready;
  transfer_crossing *c = data;
  halo_cl_work_begin(c->to->device);
  halo_worker_run(transfer_cross_run, c);
}

halo_status halo_transfer_across(halo_device_value *from, size_t size, halo_cl_device *device,
                                 const char *what, halo_device_value **out) {
  halo_cl_block *block;
  *out = NULL;
  HALO_TRY(halo_cl_alloc(device, size, what, &block));
  transfer_crossing *c = halo_alloc(sizeof *c);
  *c = (transfer_crossing){.from = from, .block = block, .size = size};
  halo_device_value_retain(from);
  *out = halo_device_value_create(device, NULL, halo_cl_event_create());
  halo_device_value_retain(*out);
  c->to = *out;
  halo_cl_event_when_queued(from->ready, transfer_cross_submit, c);
  return HALO_OK;
}

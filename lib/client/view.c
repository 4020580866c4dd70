/* SPDX-License-Identifier: Apache-2.0 */
/* client/view.c: buffers read where they lie, on devices that share the host's memory. */
#include "base/memory.h"
#include "client/client.h"

struct halo_view {
  halo_client *client; /* a reference, as to the value */
  halo_device_value *value;
  void *mapped; /* NULL: no bytes */
};

/* In the caller's thread where the device offers that: nothing has to be waited for. */
static cl_command_queue view_queue(halo_cl_device *device, bool *here) {
  *here = halo_cl_take_sync_queue(device);
  return *here ? device->sync_queue : device->transfers;
}

static halo_status view_map(halo_view *view, size_t size) {
  halo_cl_device *device = view->value->device;
  bool here;
  cl_command_queue queue = view_queue(device, &here);
  halo_status status =
      halo_cl_map(queue, view->value->block->mem, CL_MAP_READ, 0, size, true, NULL, &view->mapped);
  if (here) halo_cl_give_sync_queue(device);
  return status;
}

halo_status halo_buffer_view(halo_buffer *buffer, const void **data, halo_view **out) {
  if (!buffer || !data || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_buffer_view: NULL argument");
  }
  *out = NULL;
  *data = NULL;
  if (!buffer->device->cl->caps.shares_host_memory || buffer->device->cl->caps.is_null) {
    return halo_fail(HALO_UNIMPLEMENTED, "halo_buffer_view: %s does not share the host's memory",
                     buffer->device->cl->caps.name);
  }
  HALO_TRY(halo_cl_process_check());
  halo_view *view = halo_alloc(sizeof *view);
  halo_status status = halo_buffer_borrow(buffer, &view->value);
  if (status != HALO_OK) {
    halo_free(view);
    return status;
  }
  view->client = buffer->device->client;
  halo_client_retain(view->client);
  size_t size = (size_t)halo_shape_byte_size(buffer->shape);
  status = halo_cl_event_wait(view->value->ready);
  if (status == HALO_OK && size) status = view_map(view, size);
  if (status != HALO_OK) {
    char *message = halo_error_save();
    halo_view_release(view);
    halo_error_restore(message);
    return status;
  }
  *data = view->mapped;
  *out = view;
  return HALO_OK;
}

void halo_view_release(halo_view *view) {
  if (!view) return;
  if (view->mapped && !halo_cl_is_forked()) {
    halo_cl_device *device = view->value->device;
    bool here;
    cl_command_queue queue = view_queue(device, &here);
    cl_event done = NULL;
    halo_status status =
        halo_cl_unmap(queue, view->value->block->mem, view->mapped, here ? NULL : &done);
    if (here) {
      halo_cl.clFinish(queue);
      halo_cl_give_sync_queue(device);
    } else if (status == HALO_OK) {
      /* What uses the memory next comes behind it, as behind any copy out. */
      halo_cl_block_set_transfer(view->value->block, HALO_CL_TRANSFER_OUT, done);
      halo_cl.clReleaseEvent(done);
      halo_cl.clFlush(queue);
    }
  }
  halo_device_value_release(view->value);
  halo_client_release(view->client);
  halo_free(view);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/async.c: buffers that are filled in pieces. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* One of the buffers. Its pieces are gathered on the host. */
typedef struct async_part {
  halo_buffer *value;  /* a reference */
  PJRT_Buffer *buffer; /* the caller's, until it is taken */
  char *data;
  size_t size;
  bool ended;
} async_part;

struct PJRT_AsyncHostToDeviceTransferManager {
  PJRT_Memory *memory;
  pthread_mutex_t lock; /* of the parts */
  size_t count;
  async_part parts[];
};

static void async_release(PJRT_AsyncHostToDeviceTransferManager *manager) {
  for (size_t i = 0; i < manager->count; i++) {
    async_part *part = &manager->parts[i];
    if (part->buffer) {
      (void)pjrt_Buffer_Destroy(&(PJRT_Buffer_Destroy_Args){.buffer = part->buffer});
    }
    halo_buffer_release(part->value);
    free(part->data);
  }
  pthread_mutex_destroy(&manager->lock);
  free(manager);
}

static PJRT_Error *async_create_part(PJRT_Memory *memory, const PJRT_ShapeSpec *spec,
                                     const PJRT_Buffer_MemoryLayout *layout, async_part *part) {
  halo_shape *shape;
  PJRT_PASS(pjrt_shape_create(spec->element_type, spec->dims, spec->num_dims, layout, &shape));
  for (int i = 0; i < halo_shape_rank(shape); i++) {
    if (halo_shape_minor_to_major(shape, i) == halo_shape_rank(shape) - 1 - i) continue;
    halo_shape_release(shape);
    return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                      "buffers that are filled in pieces are row-major");
  }
  part->size = (size_t)halo_shape_byte_size(shape);
  part->data = calloc(1, part->size + 1);
  halo_status status = HALO_OUT_OF_MEMORY;
  if (part->data) status = halo_buffer_promise(memory->device->device, shape, &part->value);
  halo_shape_release(shape);
  if (!part->data) {
    return pjrt_error(PJRT_Error_Code_RESOURCE_EXHAUSTED,
                      "no memory for an array of %zu bytes on the host", part->size);
  }
  PJRT_TRY(status);
  halo_buffer_retain(part->value);
  part->buffer = pjrt_buffer_wrap(memory, part->value);
  return NULL;
}

PJRT_Error *pjrt_Client_CreateBuffersForAsyncHostToDevice(
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *args) {
  size_t count = args->num_shape_specs;
  PJRT_Memory *memory;
  PJRT_PASS(pjrt_memory_choose(NULL, args->memory, &memory));
  if (args->num_device_layouts && args->num_device_layouts != count) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%zu layout%s for %zu buffer%s",
                      args->num_device_layouts, args->num_device_layouts == 1 ? "" : "s", count,
                      count == 1 ? "" : "s");
  }
  if (count && !args->shape_specs) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the shapes of the buffers are NULL");
  }
  PJRT_AsyncHostToDeviceTransferManager *manager =
      pjrt_alloc(sizeof *manager + sizeof *manager->parts * count);
  pthread_mutex_init(&manager->lock, NULL);
  manager->memory = memory;
  PJRT_Error *error = NULL;
  for (; manager->count < count && !error; manager->count++) {
    const char *spec = (const char *)args->shape_specs + sizeof(PJRT_ShapeSpec) * manager->count;
    error =
        async_create_part(memory, (const PJRT_ShapeSpec *)spec,
                          args->num_device_layouts ? args->device_layouts[manager->count] : NULL,
                          &manager->parts[manager->count]);
  }
  if (error) {
    async_release(manager);
    return error;
  }
  args->transfer_manager = manager;
  return NULL;
}

/* Buffers that were taken stay; those that nobody completes any more fail. */
PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_Destroy(
    PJRT_AsyncHostToDeviceTransferManager_Destroy_Args *args) {
  PJRT_AsyncHostToDeviceTransferManager *manager = args->transfer_manager;
  if (!manager) return NULL;
  for (size_t i = 0; i < manager->count; i++) {
    async_part *part = &manager->parts[i];
    /* It was promised and not given, so that this cannot fail. */
    if (!part->ended && halo_buffer_fail(part->value, HALO_ABORTED,
                                         "the transfer to a buffer was given up before its last "
                                         "piece") != HALO_OK) {
      continue;
    }
  }
  async_release(manager);
  return NULL;
}

static PJRT_Error *async_part_at(PJRT_AsyncHostToDeviceTransferManager *manager, int index,
                                 async_part **out) {
  bool there = index >= 0 && (size_t)index < manager->count;
  *out = there ? &manager->parts[index] : NULL;
  if (there) return NULL;
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "buffer %d of %zu in a transfer", index,
                    manager->count);
}

/* Marks the end of a buffer's pieces, once. */
static PJRT_Error *async_end(PJRT_AsyncHostToDeviceTransferManager *manager, async_part *part) {
  pthread_mutex_lock(&manager->lock);
  bool again = part->ended;
  part->ended = true;
  pthread_mutex_unlock(&manager->lock);
  if (!again) return NULL;
  return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION, "the transfer to the buffer has ended");
}

PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_TransferData(
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args) {
  async_part *part;
  PJRT_PASS(async_part_at(args->transfer_manager, args->buffer_index, &part));
  if (args->offset < 0 || args->transfer_size < 0 || (size_t)args->offset > part->size ||
      (size_t)args->transfer_size > part->size - (size_t)args->offset) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "%lld bytes from %lld on are not within a buffer of %zu",
                      (long long)args->transfer_size, (long long)args->offset, part->size);
  }
  if (!args->data && args->transfer_size) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the data of the transfer is NULL");
  }
  if (args->transfer_size) {
    memcpy(part->data + args->offset, args->data, (size_t)args->transfer_size);
  }
  if (args->is_last_transfer) {
    halo_type type = halo_shape_type(halo_buffer_shape(part->value));
    PJRT_PASS(async_end(args->transfer_manager, part));
    pjrt_type_widen(type, part->data, part->size);
    PJRT_TRY(halo_buffer_fulfil(part->value, part->data, NULL));
  }
  args->done_with_h2d_transfer = pjrt_event_past();
  return NULL;
}

/* All of a buffer at once, from a dense array in the order that is said. */
PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_TransferLiteral(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args *args) {
  async_part *part;
  halo_shape *shape;
  int64_t strides[64];
  PJRT_PASS(async_part_at(args->transfer_manager, args->buffer_index, &part));
  PJRT_PASS(pjrt_shape_create(args->shape_element_type, args->shape_dims, args->shape_num_dims,
                              args->shape_layout, &shape));
  const halo_shape *wanted = halo_buffer_shape(part->value);
  bool fits = halo_shape_compatible(shape, wanted);
  pjrt_shape_strides(shape, strides);
  halo_shape_release(shape);
  if (!fits) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "the literal has not the shape of buffer %d", args->buffer_index);
  }
  if (!args->data && part->size) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the data of the transfer is NULL");
  }
  PJRT_PASS(async_end(args->transfer_manager, part));
  if (part->size) memcpy(part->data, args->data, part->size);
  pjrt_type_widen(halo_shape_type(wanted), part->data, part->size);
  PJRT_TRY(halo_buffer_fulfil(part->value, part->data, strides));
  args->done_with_h2d_transfer = pjrt_event_past();
  return NULL;
}

PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_RetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *args) {
  PJRT_AsyncHostToDeviceTransferManager *manager = args->transfer_manager;
  async_part *part;
  PJRT_PASS(async_part_at(manager, args->buffer_index, &part));
  pthread_mutex_lock(&manager->lock);
  args->buffer_out = part->buffer;
  part->buffer = NULL;
  pthread_mutex_unlock(&manager->lock);
  if (args->buffer_out) return NULL;
  return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION, "buffer %d was taken before",
                    args->buffer_index);
}

PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_Device(
    PJRT_AsyncHostToDeviceTransferManager_Device_Args *args) {
  args->device_out = args->transfer_manager->memory->device;
  return NULL;
}

PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_BufferCount(
    PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args *args) {
  args->buffer_count = args->transfer_manager->count;
  return NULL;
}

PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_BufferSize(
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args *args) {
  async_part *part;
  PJRT_PASS(async_part_at(args->transfer_manager, args->buffer_index, &part));
  args->buffer_size = part->size;
  return NULL;
}

PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_SetBufferError(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args *args) {
  async_part *part;
  PJRT_PASS(async_part_at(args->transfer_manager, args->buffer_index, &part));
  PJRT_PASS(async_end(args->transfer_manager, part));
  char *message = pjrt_copy(args->error_message, args->error_message_size);
  halo_status status = halo_buffer_fail(part->value, pjrt_status_of(args->error_code), message);
  free(message);
  return pjrt_error_of(status);
}

/* Notes for profilers. */
PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_AddMetadata(
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args *args) {
  (void)args;
  return NULL;
}

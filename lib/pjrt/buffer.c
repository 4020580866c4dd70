/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/buffer.c: buffers of the interface: objects that outlive the memory they speak of. */
#include "pjrt/pjrt.h"

#include <stdlib.h>

/* ---- Life ---- */

static PJRT_Buffer *buffer_create(PJRT_Memory *memory, PJRT_Buffer_Type type, size_t rank) {
  static atomic_uintptr_t last;
  PJRT_Buffer *buffer = pjrt_alloc(sizeof *buffer + 2 * sizeof *buffer->dims * rank);
  buffer->memory = memory;
  buffer->type = type;
  buffer->rank = rank;
  buffer->number = 64 * (1 + atomic_fetch_add(&last, 1));
  pthread_mutex_init(&buffer->lock, NULL);
  return buffer;
}

PJRT_Buffer *pjrt_buffer_wrap(PJRT_Memory *memory, halo_buffer *value) {
  const halo_shape *shape = halo_buffer_shape(value);
  int rank = halo_shape_rank(shape);
  PJRT_Buffer *buffer =
      buffer_create(memory, pjrt_type_from_halo(halo_shape_type(shape)), (size_t)rank);
  for (int d = 0; d < rank; d++) {
    buffer->dims[d] = halo_shape_dim(shape, d);
    buffer->dims[rank + d] = halo_shape_minor_to_major(shape, d);
  }
  buffer->value = value;
  return buffer;
}

PJRT_Buffer *pjrt_buffer_token(PJRT_Memory *memory, halo_event *made) {
  PJRT_Buffer *buffer = buffer_create(memory, PJRT_Buffer_Type_TOKEN, 0);
  buffer->made = made;
  return buffer;
}

void pjrt_buffer_delete(PJRT_Buffer *buffer) {
  pthread_mutex_lock(&buffer->lock);
  halo_buffer *value = buffer->value;
  halo_event *made = buffer->made;
  buffer->value = NULL;
  buffer->made = NULL;
  buffer->deleted = true;
  pthread_mutex_unlock(&buffer->lock);
  halo_buffer_release(value);
  halo_event_release(made);
}

static PJRT_Error *buffer_gone(void) {
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "Buffer has been deleted or donated.");
}

PJRT_Error *pjrt_buffer_error(halo_status status, halo_buffer *const *values, size_t count) {
  PJRT_Error *error = pjrt_error_of(status);
  bool donated = false;
  for (size_t i = 0; i < count && status == HALO_FAILED_PRECONDITION; i++) {
    donated |= halo_buffer_is_donated(values[i]);
  }
  if (!donated) return error;
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = error});
  return buffer_gone();
}

PJRT_Error *pjrt_buffer_borrow(PJRT_Buffer *buffer, halo_buffer **out) {
  pthread_mutex_lock(&buffer->lock);
  bool deleted = buffer->deleted;
  *out = buffer->value;
  halo_buffer_retain(*out);
  pthread_mutex_unlock(&buffer->lock);
  return deleted ? buffer_gone() : NULL;
}

PJRT_Error *pjrt_Buffer_Destroy(PJRT_Buffer_Destroy_Args *args) {
  PJRT_Buffer *buffer = args->buffer;
  if (!buffer) return NULL;
  pjrt_buffer_delete(buffer);
  halo_view_release(buffer->view);
  halo_buffer_release(buffer->viewed);
  pthread_mutex_destroy(&buffer->lock);
  free(buffer);
  return NULL;
}

PJRT_Error *pjrt_Buffer_Delete(PJRT_Buffer_Delete_Args *args) {
  pjrt_buffer_delete(args->buffer);
  return NULL;
}

PJRT_Error *pjrt_Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args *args) {
  pthread_mutex_lock(&args->buffer->lock);
  args->is_deleted = args->buffer->deleted;
  pthread_mutex_unlock(&args->buffer->lock);
  return NULL;
}

/* ---- What it is ---- */

PJRT_Error *pjrt_Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args *args) {
  const PJRT_Buffer *buffer = args->buffer;
  args->layout = (PJRT_Buffer_MemoryLayout){.struct_size = sizeof args->layout,
                                            .tiled = {.struct_size = sizeof args->layout.tiled,
                                                      .minor_to_major = buffer->dims + buffer->rank,
                                                      .minor_to_major_size = buffer->rank},
                                            .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
  return NULL;
}

PJRT_Error *pjrt_Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args *args) {
  const PJRT_Buffer *buffer = args->buffer;
  size_t size = halo_type_size(pjrt_type_to_halo(buffer->type));
  for (size_t d = 0; d < buffer->rank; d++) size *= (size_t)buffer->dims[d];
  args->on_device_size_in_bytes = size;
  return NULL;
}

/* ---- When it is there ---- */

PJRT_Error *pjrt_Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args *args) {
  PJRT_Buffer *buffer = args->buffer;
  halo_event *event = NULL;
  halo_status status = HALO_OK;
  pthread_mutex_lock(&buffer->lock);
  bool deleted = buffer->deleted;
  if (buffer->value) {
    status = halo_buffer_ready_event(buffer->value, &event);
    /* A run in another thread has taken it, and is about to say so. */
    deleted = status == HALO_FAILED_PRECONDITION && halo_buffer_is_donated(buffer->value);
    if (deleted) status = HALO_OK;
  } else {
    event = buffer->made;
    halo_event_retain(event);
  }
  pthread_mutex_unlock(&buffer->lock);
  PJRT_TRY(status);
  args->event = deleted ? pjrt_event_failed(buffer_gone())
                : event ? pjrt_event_of(event)
                        : pjrt_event_past();
  return NULL;
}

/* ---- Copies on the devices ---- */

static PJRT_Error *buffer_copy(PJRT_Buffer *buffer, PJRT_Memory *to, PJRT_Buffer **out) {
  halo_buffer *value, *copy;
  PJRT_PASS(pjrt_buffer_borrow(buffer, &value));
  if (!value) {
    *out = pjrt_buffer_token(to, NULL);
    return NULL;
  }
  halo_status status = halo_buffer_copy_to_device(value, to->device->device, &copy);
  PJRT_Error *error = pjrt_buffer_error(status, &value, 1);
  halo_buffer_release(value);
  if (error) return error;
  *out = pjrt_buffer_wrap(to, copy);
  return NULL;
}

PJRT_Error *pjrt_Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args *args) {
  PJRT_Memory *memory;
  PJRT_PASS(pjrt_memory_choose(args->dst_device, NULL, &memory));
  return buffer_copy(args->buffer, memory, &args->dst_buffer);
}

PJRT_Error *pjrt_Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args *args) {
  PJRT_Memory *memory;
  PJRT_PASS(pjrt_memory_choose(NULL, args->dst_memory, &memory));
  return buffer_copy(args->buffer, memory, &args->dst_buffer);
}

/* ---- Addresses and views ---- */

/* Less is copied sooner than it is mapped. */
enum { BUFFER_VIEW = 64 << 10 };

/* Whether the host sees the array as it is: row-major, elements as the interface has them, in memory that the
 * device shares with it. */
static bool buffer_is_visible(const PJRT_Buffer *buffer, const halo_buffer *value) {
  if (!value || buffer->memory->device->memory_count <= PJRT_MEMORY_PINNED_HOST) return false;
  const halo_shape *shape = halo_buffer_shape(value);
  int rank = halo_shape_rank(shape);
  for (int i = 0; i < rank; i++) {
    if (halo_shape_minor_to_major(shape, i) != rank - 1 - i) return false;
  }
  return halo_shape_byte_size(shape) >= BUFFER_VIEW && !pjrt_type_differs(halo_shape_type(shape));
}

PJRT_Error *pjrt_Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args *args) {
  PJRT_Buffer *buffer = args->buffer;
  pthread_mutex_lock(&buffer->lock);
  args->is_on_cpu = buffer_is_visible(buffer, buffer->value);
  pthread_mutex_unlock(&buffer->lock);
  return NULL;
}

/* Where it is, for those who hold a reference: it stays there until the last of them is given back. */
static PJRT_Error *buffer_address(PJRT_Buffer *buffer, const void **out) {
  halo_status status = HALO_OK;
  pthread_mutex_lock(&buffer->lock);
  bool visible = buffer_is_visible(buffer, buffer->viewed);
  if (visible && !buffer->view) {
    status = halo_buffer_view(buffer->viewed, &buffer->address, &buffer->view);
  }
  *out = buffer->address;
  pthread_mutex_unlock(&buffer->lock);
  PJRT_TRY(status);
  return visible ? NULL
                 : pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                              "this buffer has no address on the host: copy it there");
}

/* Of others a number that no other buffer has, to compare with. */
PJRT_Error *pjrt_Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args *args) {
  PJRT_Buffer *buffer = args->buffer;
  const void *address = NULL;
  pthread_mutex_lock(&buffer->lock);
  bool visible = buffer_is_visible(buffer, buffer->viewed);
  pthread_mutex_unlock(&buffer->lock);
  if (visible) PJRT_PASS(buffer_address(buffer, &address));
  args->buffer_pointer = visible ? (uintptr_t)address : buffer->number;
  return NULL;
}

PJRT_Error *pjrt_Buffer_IncreaseExternalReferenceCount(
    PJRT_Buffer_IncreaseExternalReferenceCount_Args *args) {
  PJRT_Buffer *buffer = args->buffer;
  pthread_mutex_lock(&buffer->lock);
  bool there = buffer->viewed || buffer->value;
  if (there && buffer->references++ == 0) {
    buffer->viewed = buffer->value;
    halo_buffer_retain(buffer->viewed);
  }
  pthread_mutex_unlock(&buffer->lock);
  return there ? NULL : buffer_gone();
}

PJRT_Error *pjrt_Buffer_DecreaseExternalReferenceCount(
    PJRT_Buffer_DecreaseExternalReferenceCount_Args *args) {
  PJRT_Buffer *buffer = args->buffer;
  halo_buffer *last = NULL;
  halo_view *view = NULL;
  pthread_mutex_lock(&buffer->lock);
  bool there = buffer->references > 0;
  if (there && --buffer->references == 0) {
    last = buffer->viewed;
    view = buffer->view;
    buffer->viewed = NULL;
    buffer->view = NULL;
    buffer->address = NULL;
  }
  pthread_mutex_unlock(&buffer->lock);
  halo_view_release(view);
  halo_buffer_release(last);
  if (there) return NULL;
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                    "a buffer's external references are given back once too often");
}

PJRT_Error *pjrt_Buffer_OpaqueDeviceMemoryDataPointer(
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *args) {
  const void *address;
  PJRT_PASS(buffer_address(args->buffer, &address));
  args->device_memory_ptr = (void *)address;
  return NULL;
}

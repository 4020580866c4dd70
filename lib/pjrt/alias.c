/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/alias.c: buffers over memory that is another's: of the caller, or of another buffer, at once or later. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* ---- Memory of the caller ---- */

/* The callback for the time when the memory is not used any more. */
typedef struct alias_owner {
  PJRT_OnDeleteCallback call;
  void *memory, *argument;
  PJRT_Event *done;
} alias_owner;

static void alias_returned(PJRT_Error *error, void *user) {
  alias_owner *owner = user;
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = error});
  if (owner->call) owner->call(owner->memory, owner->argument);
  (void)pjrt_Event_Destroy(&(PJRT_Event_Destroy_Args){.event = owner->done});
  free(owner);
}

/* Addresses are those of the host, as PJRT_Buffer_OpaqueDeviceMemoryDataPointer gives them: on devices that share its
 * memory. Memory that is small or not aligned cannot be used where it lies: it is copied and given back at once. */
PJRT_Error *pjrt_Client_CreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args *args) {
  PJRT_Memory *memory;
  halo_shape *shape;
  int64_t strides[64];
  PJRT_PASS(
      pjrt_memory_choose(args->device, PJRT_HAS(args, memory) ? args->memory : NULL, &memory));
  if (memory->device->memory_count <= PJRT_MEMORY_PINNED_HOST) {
    return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                      "memory of device %d has no addresses: it does not share the host's",
                      memory->device->description.id);
  }
  if (args->stream) {
    return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED, "devices of this platform have no streams");
  }
  PJRT_PASS(
      pjrt_shape_create(args->element_type, args->dims, args->num_dims, args->layout, &shape));
  pjrt_shape_strides(shape, strides);
  halo_shape_release(shape);
  PJRT_Client_BufferFromHostBuffer_Args put = {
      .struct_size = sizeof put,
      .client = args->client,
      .data = args->device_buffer_ptr,
      .type = args->element_type,
      .dims = args->dims,
      .num_dims = args->num_dims,
      .byte_strides = strides,
      .num_byte_strides = args->num_dims,
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy,
      .memory = memory,
      .device_layout = args->layout};
  PJRT_PASS(pjrt_Client_BufferFromHostBuffer(&put));
  args->buffer = put.buffer;
  alias_owner *owner = pjrt_alloc(sizeof *owner);
  *owner = (alias_owner){args->on_delete_callback, args->device_buffer_ptr,
                         args->on_delete_callback_arg, put.done_with_host_buffer};
  return pjrt_Event_OnReady(&(PJRT_Event_OnReady_Args){
      .event = owner->done, .callback = alias_returned, .user_arg = owner});
}

/* ---- Memory of another buffer ---- */

/* Elements that the library has in another form than the interface are not the same bytes. */
static PJRT_Error *alias_check_type(halo_type type) {
  if (!pjrt_type_differs(type)) return NULL;
  return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                    "buffers of elements of less than a byte cannot be read as another type");
}

static PJRT_Error *alias_bitcast(const PJRT_Buffer_Bitcast_Args *args, halo_buffer *value,
                                 const halo_shape *shape, PJRT_Buffer **out) {
  halo_type from = halo_shape_type(halo_buffer_shape(value)), to = halo_shape_type(shape);
  halo_buffer *result;
  if (from != to) {
    PJRT_PASS(alias_check_type(from));
    PJRT_PASS(alias_check_type(to));
    if (to == HALO_PRED) {
      return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                        "a buffer of another type cannot be read as truths");
    }
  }
  halo_status status = halo_buffer_bitcast(value, shape, &result);
  PJRT_PASS(pjrt_buffer_error(status, &value, 1));
  *out = pjrt_buffer_wrap(args->buffer->memory, result);
  return NULL;
}

PJRT_Error *pjrt_Buffer_Bitcast(PJRT_Buffer_Bitcast_Args *args) {
  halo_buffer *value;
  halo_shape *shape;
  PJRT_PASS(pjrt_buffer_borrow(args->buffer, &value));
  if (!value) return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a token has no bytes");
  PJRT_Error *error = pjrt_shape_create(args->element_type, args->dims, args->num_dims,
                                        args->device_layout, &shape);
  if (!error) {
    error = alias_bitcast(args, value, shape, &args->out_buffer);
    halo_shape_release(shape);
  }
  halo_buffer_release(value);
  return error;
}

/* ---- Later ---- */

/* A buffer that was promised, and what it will have, if that is known. */
struct PJRT_FulfillAliasBufferCallback {
  halo_buffer *promise, *value;
};

static PJRT_FulfillAliasBufferCallback *alias_promise(halo_buffer *promise, halo_buffer *value) {
  PJRT_FulfillAliasBufferCallback *later = pjrt_alloc(sizeof *later);
  later->promise = promise;
  later->value = value;
  return later;
}

static PJRT_Error *alias_break(halo_buffer *promise, halo_status status, const char *message) {
  return pjrt_error_of(halo_buffer_fail(promise, status, message));
}

/* With the value; one that does not fit is the promise's failure too, since nobody can give it another one. */
static PJRT_Error *alias_keep(halo_buffer *promise, halo_buffer *value) {
  halo_status status = halo_buffer_fulfil_with(promise, value);
  if (status == HALO_OK) return NULL;
  char *message = pjrt_copy(halo_error_message(), strlen(halo_error_message()));
  PJRT_Error *broken = alias_break(promise, status, message);
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = broken});
  PJRT_Error *error = pjrt_error_with(status, message);
  free(message);
  return error;
}

/* Keeps the promise, or breaks it, which ends `later`. */
static PJRT_Error *alias_end(PJRT_FulfillAliasBufferCallback *later, PJRT_Error_Code code,
                             const char *text, size_t size) {
  char *message = pjrt_copy(text, size);
  PJRT_Error *error = code == PJRT_Error_Code_OK
                          ? alias_keep(later->promise, later->value)
                          : alias_break(later->promise, pjrt_status_of(code), message);
  free(message);
  halo_buffer_release(later->promise);
  halo_buffer_release(later->value);
  free(later);
  return error;
}

PJRT_Error *pjrt_Client_CreateAliasBuffer(PJRT_Client_CreateAliasBuffer_Args *args) {
  PJRT_Memory *memory;
  halo_shape *shape;
  halo_buffer *promise;
  PJRT_PASS(pjrt_memory_choose(NULL, args->memory, &memory));
  PJRT_PASS(pjrt_shape_create(args->shape_element_type, args->shape_dims, args->shape_num_dims,
                              args->shape_layout, &shape));
  halo_status status = halo_buffer_promise(memory->device->device, shape, &promise);
  halo_shape_release(shape);
  PJRT_TRY(status);
  halo_buffer_retain(promise);
  args->alias_buffer = pjrt_buffer_wrap(memory, promise);
  args->fulfill_alias_buffer_cb = alias_promise(promise, NULL);
  return NULL;
}

/* A value that is not there any more is the alias's failure, as one that does not fit. */
PJRT_Error *pjrt_Client_FulfillAliasBuffer(PJRT_Client_FulfillAliasBuffer_Args *args) {
  PJRT_FulfillAliasBufferCallback *later = args->fulfill_alias_buffer_cb;
  PJRT_Error_Message_Args message = {.message = args->error_message,
                                     .message_size = args->error_message_size};
  PJRT_Error_Code code = args->status_code;
  PJRT_Error *error = NULL;
  if (!later || (code == PJRT_Error_Code_OK && !args->buffer)) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "PJRT_Client_FulfillAliasBuffer: the callback or the buffer is NULL");
  }
  if (code == PJRT_Error_Code_OK) error = pjrt_buffer_borrow(args->buffer, &later->value);
  if (!error && code == PJRT_Error_Code_OK && !later->value) {
    error = pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a token has no bytes");
  }
  if (error) {
    PJRT_Error_GetCode_Args got = {.error = error};
    (void)pjrt_Error_GetCode(&got);
    message.error = error;
    pjrt_Error_Message(&message);
    code = got.code;
  }
  PJRT_Error *end = alias_end(later, code, message.message, message.message_size);
  if (!error) return end;
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = end});
  return error;
}

/* A failure of the dependency fails those that wait for the buffer. */
static void alias_dependency(PJRT_Buffer_DonateWithControlDependency_Callback_Args *args) {
  PJRT_Error *error = alias_end(args->callback_data, args->error_code, args->error_message,
                                args->error_message_size);
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = error});
}

PJRT_Error *pjrt_Buffer_DonateWithControlDependency(
    PJRT_Buffer_DonateWithControlDependency_Args *args) {
  halo_buffer *value, *promise;
  PJRT_PASS(pjrt_buffer_borrow(args->buffer, &value));
  if (!value) return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a token has no bytes");
  halo_status status =
      halo_buffer_promise(halo_buffer_device(value), halo_buffer_shape(value), &promise);
  if (status != HALO_OK) {
    PJRT_Error *error = pjrt_error_of(status);
    halo_buffer_release(value);
    return error;
  }
  halo_buffer_retain(promise);
  pjrt_buffer_delete(args->buffer);
  args->out_buffer = pjrt_buffer_wrap(args->buffer->memory, promise);
  args->callback_data = alias_promise(promise, value);
  args->dependency_ready_callback = alias_dependency;
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/host.c: arrays from the host to buffers, and back. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* What has happened already needs to be looked at no more. */
static PJRT_Event *host_event(halo_event *event) {
  if (!halo_event_is_ready(event) || halo_event_wait(event) != HALO_OK) return pjrt_event_of(event);
  halo_event_release(event);
  return pjrt_event_past();
}

/* ---- In ---- */

/* Copies elements that lie `strides` bytes apart to a dense row-major array. */
static void host_pack(const char *data, const int64_t *strides, const int64_t *dims, size_t rank,
                      size_t element, char *dense) {
  int64_t index[64] = {0}, count = 1, last = rank ? dims[rank - 1] : 1;
  int64_t step = rank ? strides[rank - 1] : 0;
  for (size_t d = 0; d + 1 < rank; d++) count *= dims[d];
  for (int64_t row = 0; row < count; row++) {
    const char *from = data;
    for (size_t d = 0; d + 1 < rank; d++) from += index[d] * strides[d];
    for (int64_t i = 0; i < last; i++, dense += element) memcpy(dense, from + i * step, element);
    for (size_t d = rank - 1; d-- > 0 && ++index[d] == dims[d];) index[d] = 0;
  }
}

/* Whether elements lie as in a dense row-major array. */
static bool host_is_dense(const int64_t *strides, const int64_t *dims, size_t rank,
                          size_t element) {
  int64_t expected = (int64_t)element;
  for (size_t d = rank; d-- > 0;) {
    if (dims[d] != 1 && strides[d] != expected) return false;
    expected *= dims[d];
  }
  return true;
}

static void host_free(halo_status status, const char *message, void *data) {
  (void)status;
  (void)message;
  free(data);
}

/* The array as a dense one of the library's elements, which it is the buffer's business to free. */
static PJRT_Error *host_copy(const PJRT_Client_BufferFromHostBuffer_Args *args,
                             const halo_shape *shape, const int64_t *strides, void **out) {
  size_t size = (size_t)halo_shape_byte_size(shape);
  halo_type type = halo_shape_type(shape);
  *out = malloc(size);
  if (!*out) {
    return pjrt_error(PJRT_Error_Code_RESOURCE_EXHAUSTED,
                      "no memory for a copy of %zu bytes of an array on the host", size);
  }
  if (strides) {
    host_pack(args->data, strides, args->dims, args->num_dims, halo_type_size(type), *out);
  } else {
    memcpy(*out, args->data, size);
  }
  pjrt_type_widen(type, *out, size);
  return NULL;
}

/* Puts a copy, which is freed when it is on the device. */
static PJRT_Error *host_put_copy(const PJRT_Client_BufferFromHostBuffer_Args *args,
                                 const PJRT_Memory *memory, const halo_shape *shape,
                                 const int64_t *strides, halo_buffer **out) {
  void *copy;
  halo_event *done;
  PJRT_PASS(host_copy(args, shape, strides, &copy));
  halo_status status = halo_buffer_put(memory->device->device, copy, NULL, shape, out, &done);
  if (status != HALO_OK) {
    PJRT_Error *error = pjrt_error_of(status);
    free(copy);
    return error;
  }
  if (halo_event_is_ready(done)) {
    free(copy);
  } else {
    status = halo_event_on_ready(done, host_free, copy);
  }
  halo_event_release(done);
  return pjrt_error_of(status);
}

/* Arrays of up to so many bytes are copied during the call, whatever it allows. JAX's users change an array behind
 * jnp.array(), which JAX lends to the device until a program of its own has copied it. */
enum { HOST_SMALL = 1 << 14 };

/* What stays as it is only during the call is copied before it ends; elements of narrow types, and truths that are
 * neither 0 nor 1, change on the way (of an array with strides nobody looks whether they must). Everything else is read where it lies, strides included, until the copy to the device is done; or, where the
 * caller and the device allow it, as long as the buffer lives. */
static PJRT_Error *host_put(const PJRT_Client_BufferFromHostBuffer_Args *args,
                            const PJRT_Memory *memory, const halo_shape *shape, halo_buffer **out,
                            PJRT_Event **done_with) {
  const int64_t *strides = args->num_byte_strides ? args->byte_strides : NULL;
  halo_type type = halo_shape_type(shape);
  if (strides && host_is_dense(strides, args->dims, args->num_dims, halo_type_size(type))) {
    strides = NULL;
  }
  bool during_call =
      args->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  size_t size = (size_t)halo_shape_byte_size(shape);
  during_call |= size <= HOST_SMALL;
  bool changes = strides ? type == HALO_PRED || pjrt_type_differs(type)
                         : pjrt_type_needs_widening(type, args->data, size);
  if (size && (during_call || changes)) {
    PJRT_PASS(host_put_copy(args, memory, shape, strides, out));
    *done_with = pjrt_event_past();
    return NULL;
  }
  halo_event *done;
  bool lent =
      !strides && args->host_buffer_semantics >= PJRT_HostBufferSemantics_kImmutableZeroCopy;
  PJRT_TRY(lent ? halo_buffer_lend(memory->device->device, args->data, shape, out, &done)
                : halo_buffer_put(memory->device->device, args->data, strides, shape, out, &done));
  *done_with = host_event(done);
  return NULL;
}

PJRT_Error *pjrt_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args *args) {
  PJRT_Memory *memory;
  halo_shape *shape;
  halo_buffer *value;
  PJRT_PASS(pjrt_memory_choose(args->device, args->memory, &memory));
  if (args->type == PJRT_Buffer_Type_TOKEN) {
    args->buffer = pjrt_buffer_token(memory, NULL);
    args->done_with_host_buffer = pjrt_event_past();
    return NULL;
  }
  if (args->num_byte_strides && args->num_byte_strides != args->num_dims) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "%zu stride%s for an array of %zu dimension%s", args->num_byte_strides,
                      args->num_byte_strides == 1 ? "" : "s", args->num_dims,
                      args->num_dims == 1 ? "" : "s");
  }
  if (args->num_byte_strides && !args->byte_strides) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the strides are NULL");
  }
  PJRT_PASS(pjrt_shape_create(args->type, args->dims, args->num_dims, args->device_layout, &shape));
  if (!args->data && halo_shape_byte_size(shape)) {
    halo_shape_release(shape);
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the data of the array is NULL");
  }
  PJRT_Error *error = host_put(args, memory, shape, &value, &args->done_with_host_buffer);
  halo_shape_release(shape);
  if (error) return error;
  args->buffer = pjrt_buffer_wrap(memory, value);
  return NULL;
}

PJRT_Error *pjrt_Client_CreateUninitializedBuffer(
    PJRT_Client_CreateUninitializedBuffer_Args *args) {
  PJRT_Memory *memory;
  halo_shape *shape;
  halo_buffer *value = NULL;
  PJRT_PASS(pjrt_memory_choose(args->device, args->memory, &memory));
  PJRT_PASS(pjrt_shape_create(args->shape_element_type, args->shape_dims, args->shape_num_dims,
                              args->shape_layout, &shape));
  size_t size = (size_t)halo_shape_byte_size(shape);
  void *zeros = calloc(1, size + 1);
  halo_status status = HALO_OK;
  if (zeros) status = halo_buffer_put(memory->device->device, zeros, NULL, shape, &value, NULL);
  PJRT_Error *error = pjrt_error_of(status);
  if (!zeros) error = pjrt_error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "no memory for zeros");
  free(zeros);
  halo_shape_release(shape);
  if (!error) args->buffer = pjrt_buffer_wrap(memory, value);
  return error;
}

PJRT_Error *pjrt_Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args *args) {
  PJRT_Memory *memory;
  halo_shape *shape;
  halo_buffer *value;
  PJRT_PASS(pjrt_memory_choose(NULL, args->memory, &memory));
  PJRT_PASS(pjrt_shape_create(args->shape_element_type, args->shape_dims, args->shape_num_dims,
                              args->shape_layout, &shape));
  halo_status status = halo_buffer_promise(memory->device->device, shape, &value);
  halo_shape_release(shape);
  PJRT_TRY(status);
  char *message = pjrt_copy(args->error_message, args->error_message_size);
  status = halo_buffer_fail(value, pjrt_status_of(args->error_code), message);
  free(message);
  args->buffer = pjrt_buffer_wrap(memory, value);
  return pjrt_error_of(status);
}

/* ---- Out ---- */

/* The strides of a host array in the order that the caller wants; NULL: dense and row-major. */
static PJRT_Error *host_strides(const PJRT_Buffer_MemoryLayout *layout, const halo_shape *shape,
                                int64_t *strides, const int64_t **out) {
  int rank = halo_shape_rank(shape);
  int64_t stride = (int64_t)halo_type_size(halo_shape_type(shape));
  bool dense = true;
  *out = NULL;
  bool by_strides = layout && layout->type == PJRT_Buffer_MemoryLayout_Type_Strides;
  if (layout && rank &&
      !(by_strides ? layout->strides.byte_strides : layout->tiled.minor_to_major)) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "a layout whose order of dimensions is NULL");
  }
  if (by_strides) {
    if ((int)layout->strides.num_byte_strides == rank) {
      *out = rank ? layout->strides.byte_strides : NULL;
      return NULL;
    }
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "strides of another number of dimensions");
  }
  if (layout && layout->tiled.num_tiles) {
    return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED, "tiled layouts are not supported");
  }
  if (layout && (int)layout->tiled.minor_to_major_size != rank) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a layout of another number of dimensions");
  }
  uint64_t seen = 0;
  for (int i = 0; i < rank; i++) {
    int64_t d = layout ? layout->tiled.minor_to_major[i] : halo_shape_minor_to_major(shape, i);
    if (d < 0 || d >= rank || (seen & (uint64_t)1 << d)) {
      return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                        "a layout that does not name each of %d dimensions once", rank);
    }
    seen |= (uint64_t)1 << d;
    dense &= d == rank - 1 - i;
    strides[d] = stride;
    stride *= halo_shape_dim(shape, (int)d);
  }
  if (!dense) *out = strides;
  return NULL;
}

/* A copy that is to be changed, or of which only a part is wanted, when it is there. */
typedef struct host_job {
  halo_type type;
  bool narrow;
  char *data, *staging; /* where the elements are to go; and where they are, if elsewhere */
  size_t offset, size;
  pjrt_promise *done;
} host_job;

static void host_finish(halo_status status, const char *message, void *data) {
  host_job *job = data;
  if (status == HALO_OK) {
    if (job->staging) memcpy(job->data, job->staging + job->offset, job->size);
    if (job->narrow) pjrt_type_narrow(job->type, job->data, job->size);
  }
  pjrt_promise_end(job->done, status, message);
  pjrt_promise_release(job->done);
  free(job->staging);
  free(job);
}

/* The event of a job that goes on when `copied` has happened; both are taken over. */
static PJRT_Error *host_chain(host_job *job, halo_event *copied, PJRT_Event **out) {
  job->done = pjrt_promise_create();
  pjrt_promise_retain(job->done);
  *out = pjrt_event_promised(job->done);
  halo_status status = halo_event_on_ready(copied, host_finish, job);
  halo_event_release(copied);
  return pjrt_error_of(status);
}

static PJRT_Error *host_get(halo_buffer *value, PJRT_Buffer_ToHostBuffer_Args *args) {
  const halo_shape *shape = halo_buffer_shape(value);
  halo_type type = halo_shape_type(shape);
  size_t size = (size_t)halo_shape_byte_size(shape);
  int64_t own[64];
  const int64_t *strides;
  halo_event *copied;
  if (!args->dst) {
    args->dst_size = size;
    args->event = pjrt_event_past();
    return NULL;
  }
  if (args->dst_size < size) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "an array of %zu bytes does not fit into the %zu given", size,
                      args->dst_size);
  }
  PJRT_PASS(host_strides(args->host_layout, shape, own, &strides));
  PJRT_PASS(pjrt_buffer_error(halo_buffer_get(value, args->dst, strides, &copied), &value, 1));
  if (!pjrt_type_differs(type)) {
    args->event = host_event(copied);
    return NULL;
  }
  host_job *job = pjrt_alloc(sizeof *job);
  *job = (host_job){.type = type, .narrow = true, .data = args->dst, .size = size};
  return host_chain(job, copied, &args->event);
}

PJRT_Error *pjrt_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args *args) {
  halo_buffer *value;
  PJRT_PASS(pjrt_buffer_borrow(args->src, &value));
  if (!value) {
    args->dst_size = 0;
    args->event = pjrt_event_past();
    return NULL;
  }
  PJRT_Error *error = host_get(value, args);
  halo_buffer_release(value);
  return error;
}

static PJRT_Error *host_check_raw(const halo_buffer *value, int64_t offset, int64_t count) {
  int64_t size = halo_shape_byte_size(halo_buffer_shape(value));
  if (offset >= 0 && count >= 0 && offset <= size && count <= size - offset) return NULL;
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                    "%lld bytes from %lld on are not within an array of %lld", (long long)count,
                    (long long)offset, (long long)size);
}

/* Bytes as they lie on the device. */
static PJRT_Error *host_get_raw(halo_buffer *value, PJRT_Buffer_CopyRawToHost_Args *args) {
  const halo_shape *shape = halo_buffer_shape(value);
  int64_t size = halo_shape_byte_size(shape), own[64];
  const int64_t *strides;
  halo_event *copied;
  PJRT_PASS(host_check_raw(value, args->offset, args->transfer_size));
  if (!args->dst && args->transfer_size) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the place for the bytes is NULL");
  }
  PJRT_PASS(host_strides(NULL, shape, own, &strides));
  char *staging = malloc((size_t)size + 1);
  if (!staging) return pjrt_error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "no memory for a copy");
  halo_status status = halo_buffer_get(value, staging, strides, &copied);
  if (status != HALO_OK) {
    PJRT_Error *error = pjrt_buffer_error(status, &value, 1);
    free(staging);
    return error;
  }
  host_job *job = pjrt_alloc(sizeof *job);
  *job = (host_job){.data = args->dst,
                    .staging = staging,
                    .offset = (size_t)args->offset,
                    .size = (size_t)args->transfer_size,
                    .type = halo_shape_type(shape),
                    .narrow = pjrt_type_differs(halo_shape_type(shape))};
  return host_chain(job, copied, &args->event);
}

PJRT_Error *pjrt_Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args *args) {
  halo_buffer *value;
  PJRT_PASS(pjrt_buffer_borrow(args->buffer, &value));
  if (!value) return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a token has no bytes");
  PJRT_Error *error = host_get_raw(value, args);
  halo_buffer_release(value);
  return error;
}

/* A copy whose place is told later. */
typedef struct host_future {
  halo_buffer *value; /* a reference */
  int64_t offset, size;
  pjrt_promise *done; /* a reference */
  PJRT_Event *copied;
} host_future;

static void host_future_end(PJRT_Error *error, void *user) {
  host_future *future = user;
  PJRT_Error_GetCode_Args code = {.code = PJRT_Error_Code_OK, .error = error};
  PJRT_Error_Message_Args message = {.error = error};
  if (error) (void)pjrt_Error_GetCode(&code);
  pjrt_Error_Message(&message);
  pjrt_promise_set(future->done, code.code, message.message);
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = error});
  (void)pjrt_Event_Destroy(&(PJRT_Event_Destroy_Args){.event = future->copied});
  pjrt_promise_release(future->done);
  halo_buffer_release(future->value);
  free(future);
}

static void host_future_ready(PJRT_Buffer_CopyRawToHostFuture_Callback_Args *args) {
  host_future *future = args->callback_data;
  PJRT_Error *error = NULL;
  if (args->error_code != PJRT_Error_Code_OK) {
    error = pjrt_error(args->error_code, "%.*s", (int)args->error_message_size,
                       args->error_message ? args->error_message : "");
  } else {
    PJRT_Buffer_CopyRawToHost_Args get = {
        .dst = args->dst, .offset = future->offset, .transfer_size = future->size};
    error = host_get_raw(future->value, &get);
    future->copied = get.event;
  }
  if (!error) {
    error = pjrt_Event_OnReady(&(PJRT_Event_OnReady_Args){
        .event = future->copied, .callback = host_future_end, .user_arg = future});
  }
  if (error) host_future_end(error, future);
}

PJRT_Error *pjrt_Buffer_CopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args *args) {
  halo_buffer *value;
  PJRT_PASS(pjrt_buffer_borrow(args->buffer, &value));
  if (!value) return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a token has no bytes");
  PJRT_Error *error = host_check_raw(value, args->offset, args->transfer_size);
  if (error) {
    halo_buffer_release(value);
    return error;
  }
  host_future *future = pjrt_alloc(sizeof *future);
  *future = (host_future){.value = value, .offset = args->offset, .size = args->transfer_size};
  future->done = pjrt_promise_create();
  pjrt_promise_retain(future->done);
  args->event = pjrt_event_promised(future->done);
  args->callback_data = future;
  args->future_ready_callback = host_future_ready;
  return NULL;
}

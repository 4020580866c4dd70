/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/ffi_api.c: what typed handlers of custom calls call: errors, types and states, memory, threads, futures. */
#include "pjrt/ffi.h"

#include "os/process.h"

#include <stdlib.h>
#include <string.h>

/* ---- Errors ---- */

struct XLA_FFI_Error {
  PJRT_Error_Code code;
  char *message;
};

XLA_FFI_Error *ffi_error(PJRT_Error_Code code, const char *message) {
  XLA_FFI_Error *error = pjrt_alloc(sizeof *error);
  error->code = code;
  error->message = pjrt_copy(message, message ? strlen(message) : 0);
  return error;
}

static void error_free(XLA_FFI_Error *error) {
  if (!error) return;
  free(error->message);
  free(error);
}

halo_status ffi_fail(XLA_FFI_Error *error) {
  if (!error) return HALO_OK;
  halo_status status = halo_custom_call_fail(pjrt_status_of(error->code), error->message);
  error_free(error);
  return status;
}

static XLA_FFI_Error *api_error_create(XLA_FFI_Error_Create_Args *args) {
  return ffi_error((PJRT_Error_Code)args->errc, args->message);
}

static void api_error_get_details(XLA_FFI_Error_GetDetails_Args *args) {
  args->message = args->error->message;
  if (PJRT_HAS(args, errc)) args->errc = args->error->code;
}

static void api_error_destroy(XLA_FFI_Error_Destroy_Args *args) { error_free(args->error); }

/* ---- Types: their numbers are the process's ---- */

typedef struct type_row {
  int64_t id;
  char *name;
  void (*deleter)(void *object);
  struct type_row *next;
} type_row;

static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;
static type_row *types_rows;
/* Other platforms of the process number types from 1 on, and a type has one number for all. */
static int64_t types_next = 1 << 20;

static type_row *types_find(int64_t id, const char *name) {
  type_row *row = types_rows;
  while (row && row->id != id && !(name && strcmp(row->name, name) == 0)) row = row->next;
  return row;
}

PJRT_Error *ffi_type_register(const char *name, size_t size, int64_t *id, void (*deleter)(void *)) {
  char *copy = pjrt_copy(name, size);
  PJRT_Error *error = NULL;
  pthread_mutex_lock(&types_lock);
  type_row *row = types_find(*id, copy);
  if (row && (strcmp(row->name, copy) != 0 || (*id && *id != row->id))) {
    error = pjrt_error(PJRT_Error_Code_ALREADY_EXISTS,
                       "the type %s with the number %lld is registered as %s, number %lld", copy,
                       (long long)*id, row->name, (long long)row->id);
  } else if (row) {
    *id = row->id;
    if (!row->deleter) row->deleter = deleter;
  } else {
    row = pjrt_alloc(sizeof *row);
    *row = (type_row){*id ? *id : types_next++, copy, deleter, types_rows};
    types_rows = row;
    *id = row->id;
    copy = NULL;
  }
  pthread_mutex_unlock(&types_lock);
  free(copy);
  return error;
}

static XLA_FFI_Error *api_type_register(XLA_FFI_Type_Register_Args *args) {
  void (*deleter)(void *) =
      PJRT_HAS(args, type_info) && args->type_info ? args->type_info->deleter : NULL;
  PJRT_Error *error = ffi_type_register(args->name.ptr, args->name.len, args->type_id, deleter);
  if (!error) return NULL;
  PJRT_Error_Message_Args message = {.error = error};
  pjrt_Error_Message(&message);
  XLA_FFI_Error *out = ffi_error(PJRT_Error_Code_ALREADY_EXISTS, message.message);
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = error});
  return out;
}

/* ---- States ---- */

void ffi_state_clear(ffi_state *state) {
  if (!state->object) return;
  pthread_mutex_lock(&types_lock);
  const type_row *row = types_find(state->type, NULL);
  void (*deleter)(void *) = row ? row->deleter : NULL;
  pthread_mutex_unlock(&types_lock);
  if (deleter) deleter(state->object);
  *state = (ffi_state){0};
}

static ffi_state *state_of(const XLA_FFI_State_Args *args) {
  if (args->stage == XLA_FFI_ExecutionStage_INSTANTIATE) return args->ctx->kept;
  return (unsigned)args->stage < FFI_STATES ? &args->ctx->own[args->stage] : NULL;
}

static XLA_FFI_Error *api_state_set(XLA_FFI_State_Args *args) {
  ffi_state *state = state_of(args);
  if (!state) {
    return ffi_error(PJRT_Error_Code_INVALID_ARGUMENT, "states are of stages before executing");
  }
  pthread_mutex_lock(&types_lock);
  bool known = types_find(*args->type_id, NULL) != NULL;
  pthread_mutex_unlock(&types_lock);
  if (!known) {
    return ffi_error(PJRT_Error_Code_FAILED_PRECONDITION,
                     "the type of a handler's state is not registered for this platform");
  }
  ffi_state_clear(state);
  *state = (ffi_state){*args->type_id, args->state};
  return NULL;
}

static XLA_FFI_Error *api_state_get(XLA_FFI_State_Args *args) {
  const ffi_state *state = state_of(args);
  if (!state || !state->object) {
    return ffi_error(PJRT_Error_Code_NOT_FOUND, "no state was set in that stage");
  }
  if (state->type != *args->type_id) {
    return ffi_error(PJRT_Error_Code_INVALID_ARGUMENT, "the state is of another type");
  }
  args->state = state->object;
  return NULL;
}

/* ---- Memory and threads: the host's ---- */

static XLA_FFI_Error *api_memory_allocate(XLA_FFI_Memory_Args *args) {
  size_t alignment = args->alignment < 64 ? 64 : args->alignment;
  args->data = halo_os_alloc_aligned(alignment, args->size ? args->size : 1);
  if (args->data) return NULL;
  return ffi_error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "no memory for a handler's scratch space");
}

static XLA_FFI_Error *api_memory_free(XLA_FFI_Memory_Free_Args *args) {
  halo_os_free_aligned(args->data);
  return NULL;
}

/* In the handler's own thread, which is one of the library's and waits for nobody. */
static XLA_FFI_Error *api_pool_schedule(XLA_FFI_Schedule_Args *args) {
  args->task(args->data);
  return NULL;
}

static XLA_FFI_Error *api_pool_num_threads(XLA_FFI_NumThreads_Args *args) {
  *args->num_threads = 1;
  return NULL;
}

/* ---- Futures ---- */

/* The handler and who waits hold a reference each. */
struct XLA_FFI_Future {
  atomic_int references;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t changed;
  bool done;
  XLA_FFI_Error *error;
};

static void future_release(XLA_FFI_Future *future) {
  if (atomic_fetch_sub(&future->references, 1) != 1) return;
  pthread_cond_destroy(&future->changed);
  pthread_mutex_destroy(&future->lock);
  free(future);
}

static void future_set(XLA_FFI_Future *future, XLA_FFI_Error *error) {
  pthread_mutex_lock(&future->lock);
  future->done = true;
  future->error = error;
  pthread_cond_broadcast(&future->changed);
  pthread_mutex_unlock(&future->lock);
  future_release(future);
}

XLA_FFI_Error *ffi_future_wait(XLA_FFI_Future *future) {
  if (!future) return NULL;
  pthread_mutex_lock(&future->lock);
  while (!future->done) pthread_cond_wait(&future->changed, &future->lock);
  XLA_FFI_Error *error = future->error;
  pthread_mutex_unlock(&future->lock);
  future_release(future);
  return error;
}

/* The structure of this one ends, as its size says, before the future that it gives. */
static XLA_FFI_Error *api_future_create(XLA_FFI_Future_Args *args) {
  XLA_FFI_Future *future = pjrt_alloc(sizeof *future);
  atomic_init(&future->references, 2);
  pthread_mutex_init(&future->lock, NULL);
  pthread_cond_init(&future->changed, NULL);
  args->future = future;
  return NULL;
}

static XLA_FFI_Error *api_future_set_available(XLA_FFI_Future_Args *args) {
  future_set(args->future, NULL);
  return NULL;
}

static XLA_FFI_Error *api_future_set_error(XLA_FFI_Future_Args *args) {
  future_set(args->future, args->error);
  return NULL;
}

/* ---- The run ---- */

static XLA_FFI_Error *api_context_get(XLA_FFI_Context_Get_Args *args) {
  PJRT_ExecuteContext *context = args->ctx->call->context;
  if (context && ffi_context_find(context, *args->type_id, &args->data)) return NULL;
  char *message = pjrt_format("User data with type id %lld not found in execution context",
                              (long long)*args->type_id);
  XLA_FFI_Error *error = ffi_error(PJRT_Error_Code_NOT_FOUND, message);
  free(message);
  return error;
}

static XLA_FFI_Error *api_run_id_get(XLA_FFI_RunId_Get_Args *args) {
  args->run_id = args->ctx->call->run;
  return NULL;
}

static XLA_FFI_Error *api_device_ordinal_get(XLA_FFI_DeviceOrdinal_Get_Args *args) {
  args->device_ordinal = args->ctx->call->device;
  return NULL;
}

/* ---- What there is not ---- */

#define API_LACKING(name, what)                                                                    \
  static XLA_FFI_Error *api_##name(XLA_FFI_Query_Args *args) {                                     \
    (void)args;                                                                                    \
    return ffi_error(PJRT_Error_Code_UNIMPLEMENTED, "the halo platform gives handlers no " what);  \
  }
API_LACKING(handler_register, "way to register others")
API_LACKING(stream_get, "stream: they run on the host")

static XLA_FFI_Error *api_context_find_extension(XLA_FFI_FindExtension_Args *args) {
  args->extension = NULL;
  return NULL;
}

static XLA_FFI_Error *api_custom_options_get(XLA_FFI_CustomOptions_Args *args) {
  static const XLA_FFI_Attrs none = {.struct_size = sizeof none};
  args->attrs = &none;
  return NULL;
}

const XLA_FFI_Api pjrt_ffi_api = {
    .struct_size = sizeof pjrt_ffi_api,
    .api_version = {.struct_size = sizeof(XLA_FFI_Api_Version),
                    .major_version = XLA_FFI_MAJOR,
                    .minor_version = XLA_FFI_MINOR},
    .error_create = api_error_create,
    .error_get_details = api_error_get_details,
    .error_destroy = api_error_destroy,
    .handler_register = api_handler_register,
    .stream_get = api_stream_get,
    .type_register = api_type_register,
    .context_get = api_context_get,
    .state_set = api_state_set,
    .state_get = api_state_get,
    .memory_allocate = api_memory_allocate,
    .memory_free = api_memory_free,
    .pool_schedule = api_pool_schedule,
    .pool_num_threads = api_pool_num_threads,
    .future_create = api_future_create,
    .future_set_available = api_future_set_available,
    .future_set_error = api_future_set_error,
    .run_id_get = api_run_id_get,
    .device_ordinal_get = api_device_ordinal_get,
    .context_find_extension = api_context_find_extension,
    .custom_options_get = api_custom_options_get,
};

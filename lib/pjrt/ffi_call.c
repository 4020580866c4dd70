/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/ffi_call.c: typed handlers as functions of custom calls: frames are made of what the library hands to host
 * functions. */
#include "pjrt/ffi.h"

#include "halo/literal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The API version of calls that typed handlers get. */
enum { FFI_TYPED = 4 };

/* A target with its handlers, of which one without a typed interface has none here; lives as long as the process. */
typedef struct ffi_target {
  char *name;
  ffi_bundle bundle;
  bool of_host;
  struct ffi_target *next;
} ffi_target;

/* What an instruction keeps: its attributes as handlers see them, and the state of instantiating. */
typedef struct ffi_site {
  void *memory; /* a list of blocks, each beginning with the pointer to the next */
  XLA_FFI_Attrs attrs;
  ffi_state state;
  pthread_mutex_t
      lock; /* runs of the program may overlap: handlers of one instruction are called in turn */
} ffi_site;

static void *site_alloc(ffi_site *site, size_t size) {
  void **block = pjrt_alloc(2 * sizeof(void *) + size); /* what follows is aligned to 16 bytes */
  block[0] = site->memory;
  site->memory = block;
  return block + 2;
}

static void site_free(ffi_site *site) {
  while (site->memory) {
    void **block = site->memory;
    site->memory = block[0];
    free(block);
  }
  pthread_mutex_destroy(&site->lock);
  free(site);
}

/* ---- Attributes ---- */

static XLA_FFI_ByteSpan *attr_span(ffi_site *site, const char *text) {
  XLA_FFI_ByteSpan *span = site_alloc(site, sizeof *span);
  span->len = strlen(text);
  char *copy = site_alloc(site, span->len + 1);
  span->ptr = memcpy(copy, text, span->len);
  return span;
}

/* Numbers in memory as elements of their type. */
static halo_status attr_elements(ffi_site *site, halo_type type, int64_t count,
                                 const int64_t *integers, const double *reals, void **out) {
  halo_literal *literal;
  bool real = halo_type_name(type)[0] == 'f' || type == HALO_BF16;
  halo_shape *shape;
  halo_status status = halo_shape_create_array(type, 1, &count, &shape);
  if (status != HALO_OK) return status;
  status = halo_literal_create(shape, &literal);
  halo_shape_release(shape);
  if (status != HALO_OK) return status;
  for (int64_t i = 0; i < count; i++) {
    if (real) {
      halo_literal_set_f64(literal, i, reals[i]);
    } else {
      halo_literal_set_i64(literal, i, integers[i]);
    }
  }
  size_t size = (size_t)count * halo_type_size(type);
  *out = site_alloc(site, size);
  if (size) memcpy(*out, halo_literal_data(literal), size);
  halo_literal_release(literal);
  return HALO_OK;
}

static int attr_order(const void *a, const void *b) {
  return strcmp((*(const halo_custom_attr *const *)a)->name,
                (*(const halo_custom_attr *const *)b)->name);
}

static halo_status attrs_make(ffi_site *site, const halo_custom_attr *attrs, int64_t count,
                              XLA_FFI_Attrs *out);

static halo_status attr_make(ffi_site *site, const halo_custom_attr *attr, XLA_FFI_AttrType *type,
                             void **out) {
  switch (attr->kind) {
    case HALO_CUSTOM_INTEGER:
    case HALO_CUSTOM_REAL: {
      XLA_FFI_Scalar *scalar = site_alloc(site, sizeof *scalar);
      scalar->dtype = attr->type;
      *type = XLA_FFI_AttrType_SCALAR;
      *out = scalar;
      return attr_elements(site, attr->type, 1, &attr->integer, &attr->real, &scalar->value);
    }
    case HALO_CUSTOM_INTEGERS:
    case HALO_CUSTOM_REALS: {
      XLA_FFI_Array *array = site_alloc(site, sizeof *array);
      array->dtype = attr->type;
      array->size = (size_t)attr->count;
      *type = XLA_FFI_AttrType_ARRAY;
      *out = array;
      return attr_elements(site, attr->type, attr->count, attr->integers, attr->reals,
                           &array->data);
    }
    case HALO_CUSTOM_TEXT:
      *type = XLA_FFI_AttrType_STRING;
      *out = attr_span(site, attr->text);
      return HALO_OK;
    case HALO_CUSTOM_DICTIONARY: {
      XLA_FFI_Attrs *inner = site_alloc(site, sizeof *inner);
      *type = XLA_FFI_AttrType_DICTIONARY;
      *out = inner;
      return attrs_make(site, attr->attrs, attr->count, inner);
    }
    case HALO_CUSTOM_OTHER: break;
  }
  char *message = pjrt_format("the attribute %s is of a kind that handlers do not get: %s",
                              attr->name, attr->text);
  halo_status status = halo_custom_call_fail(HALO_UNIMPLEMENTED, message);
  free(message);
  return status;
}

/* Handlers look names up in a list that is sorted. */
static halo_status attrs_make(ffi_site *site, const halo_custom_attr *attrs, int64_t count,
                              XLA_FFI_Attrs *out) {
  const halo_custom_attr **sorted = site_alloc(site, sizeof *sorted * (size_t)count);
  for (int64_t i = 0; i < count; i++) sorted[i] = &attrs[i];
  if (count) qsort(sorted, (size_t)count, sizeof *sorted, attr_order);
  *out = (XLA_FFI_Attrs){.struct_size = sizeof *out,
                         .size = count,
                         .types = site_alloc(site, sizeof *out->types * (size_t)count),
                         .names = site_alloc(site, sizeof *out->names * (size_t)count),
                         .attrs = site_alloc(site, sizeof *out->attrs * (size_t)count)};
  halo_status status = HALO_OK;
  for (int64_t i = 0; i < count && status == HALO_OK; i++) {
    out->names[i] = attr_span(site, sorted[i]->name);
    status = attr_make(site, sorted[i], &out->types[i], &out->attrs[i]);
  }
  return status;
}

/* ---- Frames ---- */

/* Operands and results of one call. */
typedef struct ffi_arrays {
  int *types; /* all: an array */
  XLA_FFI_Buffer *buffers;
  XLA_FFI_Buffer **pointers;
} ffi_arrays;

static ffi_arrays arrays_make(const halo_custom_frame *call) {
  size_t count = (size_t)(call->operand_count + call->result_count);
  ffi_arrays arrays = {pjrt_alloc(sizeof *arrays.types * count),
                       pjrt_alloc(sizeof *arrays.buffers * count),
                       pjrt_alloc(sizeof *arrays.pointers * count)};
  for (size_t i = 0; i < count; i++) {
    const halo_custom_array *array = i < (size_t)call->operand_count
                                         ? &call->operands[i]
                                         : &call->results[i - (size_t)call->operand_count];
    arrays.types[i] = XLA_FFI_ArgType_BUFFER;
    arrays.pointers[i] = &arrays.buffers[i];
    arrays.buffers[i] = (XLA_FFI_Buffer){.struct_size = sizeof(XLA_FFI_Buffer),
                                         .dtype = array->type,
                                         .data = array->data,
                                         .rank = array->rank,
                                         .dims = array->dims};
  }
  return arrays;
}

static void arrays_free(ffi_arrays *arrays) {
  free(arrays->types);
  free(arrays->buffers);
  free(arrays->pointers);
}

/* Calls one handler, unless it is NULL. Only executing has operands and results. */
static halo_status frame_call(XLA_FFI_Handler *handler, XLA_FFI_ExecutionStage stage,
                              XLA_FFI_ExecutionContext *context, const ffi_site *site,
                              const halo_custom_frame *call, const ffi_arrays *arrays) {
  if (!handler) return HALO_OK;
  int operands = arrays ? call->operand_count : 0, results = arrays ? call->result_count : 0;
  XLA_FFI_CallFrame frame = {.struct_size = offsetof(XLA_FFI_CallFrame, future),
                             .api = &pjrt_ffi_api,
                             .ctx = context,
                             .stage = stage,
                             .args = {.struct_size = sizeof frame.args, .size = operands},
                             .rets = {.struct_size = sizeof frame.rets, .size = results},
                             .attrs = site->attrs};
  if (arrays) {
    frame.args.types = arrays->types;
    frame.args.args = arrays->pointers;
    frame.rets.types = arrays->types + operands;
    frame.rets.args = arrays->pointers + operands;
  }
  XLA_FFI_Error *error = handler(&frame);
  XLA_FFI_Error *later = ffi_future_wait(frame.future);
  return ffi_fail(error ? error : later);
}

/* ---- Functions of the library's custom calls ---- */

static void ffi_close(void *state, void *user) {
  ffi_site *site = state;
  (void)user;
  ffi_state_clear(&site->state);
  site_free(site);
}

static halo_status open_arrays(const halo_custom_array *arrays, int count) {
  for (int i = 0; i < count; i++) {
    int bits = halo_type_bits(arrays[i].type);
    if (bits && bits < 8 && arrays[i].type != HALO_PRED) {
      return halo_custom_call_fail(HALO_UNIMPLEMENTED,
                                   "handlers get no arrays of types narrower than a byte");
    }
  }
  return HALO_OK;
}

static halo_status open_version(const halo_custom_frame *call) {
  if (call->api_version == FFI_TYPED) return HALO_OK;
  return halo_custom_call_fail(HALO_INVALID_ARGUMENT,
                               "a handler with a typed interface, which only calls with "
                               "API_VERSION_TYPED_FFI (4) reach");
}

static halo_status ffi_open(const halo_custom_frame *call, void *user, void **out) {
  const ffi_target *target = user;
  ffi_site *site = pjrt_alloc(sizeof *site);
  pthread_mutex_init(&site->lock, NULL);
  XLA_FFI_ExecutionContext context = {.call = call, .kept = &site->state};
  halo_status status = open_version(call);
  if (status == HALO_OK) status = open_arrays(call->operands, call->operand_count);
  if (status == HALO_OK) status = open_arrays(call->results, call->result_count);
  if (status == HALO_OK) status = attrs_make(site, call->attrs, call->attr_count, &site->attrs);
  if (status == HALO_OK) {
    status = frame_call(target->bundle.instantiate, XLA_FFI_ExecutionStage_INSTANTIATE, &context,
                        site, call, NULL);
  }
  if (status == HALO_OK) {
    *out = site;
  } else {
    ffi_close(site, NULL);
  }
  return status;
}

static halo_status ffi_execute(const halo_custom_frame *call, void *user) {
  const ffi_bundle *bundle = &((const ffi_target *)user)->bundle;
  ffi_site *site = call->state;
  XLA_FFI_ExecutionContext context = {.call = call, .kept = &site->state};
  ffi_arrays arrays = arrays_make(call);
  pthread_mutex_lock(&site->lock);
  halo_status status =
      frame_call(bundle->prepare, XLA_FFI_ExecutionStage_PREPARE, &context, site, call, NULL);
  if (status == HALO_OK) {
    status = frame_call(bundle->initialize, XLA_FFI_ExecutionStage_INITIALIZE, &context, site, call,
                        NULL);
  }
  if (status == HALO_OK) {
    status =
        frame_call(bundle->execute, XLA_FFI_ExecutionStage_EXECUTE, &context, site, call, &arrays);
  }
  for (int i = 0; i < FFI_STATES; i++) ffi_state_clear(&context.own[i]);
  pthread_mutex_unlock(&site->lock);
  arrays_free(&arrays);
  return status;
}

/* ---- Registering ---- */

static pthread_mutex_t targets_lock = PTHREAD_MUTEX_INITIALIZER;
static ffi_target *targets_newest;

/* Asks a handler for its version. */
static PJRT_Error *target_check(const char *name, XLA_FFI_Handler *handler) {
  XLA_FFI_Metadata metadata = {.struct_size = sizeof metadata};
  XLA_FFI_Metadata_Extension extension = {
      .base = {.struct_size = sizeof extension, .type = XLA_FFI_Extension_Metadata},
      .metadata = &metadata};
  XLA_FFI_CallFrame frame = {.struct_size = offsetof(XLA_FFI_CallFrame, future),
                             .extension_start = &extension.base,
                             .api = &pjrt_ffi_api,
                             .stage = XLA_FFI_ExecutionStage_EXECUTE,
                             .args = {.struct_size = sizeof frame.args},
                             .rets = {.struct_size = sizeof frame.rets},
                             .attrs = {.struct_size = sizeof frame.attrs}};
  halo_status status = ffi_fail(handler(&frame));
  if (status != HALO_OK) return pjrt_error_of(status);
  int major = metadata.api_version.major_version, minor = metadata.api_version.minor_version;
  if (major == XLA_FFI_MAJOR && minor >= XLA_FFI_MINOR_LEAST && minor <= XLA_FFI_MINOR) return NULL;
  return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                    "%s was built with version %d.%d of XLA's interface for handlers; the halo "
                    "plugin knows %d.%d to %d.%d",
                    name, major, minor, XLA_FFI_MAJOR, XLA_FFI_MINOR_LEAST, XLA_FFI_MAJOR,
                    XLA_FFI_MINOR);
}

static void target_add(ffi_target *target) {
  pthread_mutex_lock(&targets_lock);
  target->next = targets_newest;
  targets_newest = target;
  pthread_mutex_unlock(&targets_lock);
}

/* The newest function of the name; NULL: none was registered here. */
static const ffi_target *target_find(const char *name) {
  pthread_mutex_lock(&targets_lock);
  const ffi_target *target = targets_newest;
  while (target && strcmp(target->name, name) != 0) target = target->next;
  pthread_mutex_unlock(&targets_lock);
  return target;
}

/* Whether that is a handler that was written for the host's platform. */
static bool target_is_of_host(const char *name) {
  const ffi_target *target = target_find(name);
  return target && target->of_host;
}

PJRT_Error *ffi_register(const char *name, size_t size, ffi_bundle bundle, bool of_host) {
  char *copy = pjrt_copy(name, size);
  PJRT_Error *error = NULL;
  if (!bundle.execute) {
    error =
        pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%s: there is no handler to execute", copy);
  } else if (of_host && halo_custom_call_find(copy) && !target_is_of_host(copy)) {
    error = pjrt_error(PJRT_Error_Code_ALREADY_EXISTS,
                       "%s is a function of the halo platform's own", copy);
  } else {
    error = target_check(copy, bundle.execute);
  }
  if (error) {
    free(copy);
    return error;
  }
  ffi_target *target = pjrt_alloc(sizeof *target);
  *target = (ffi_target){.name = copy, .bundle = bundle, .of_host = of_host};
  target_add(target);
  return pjrt_error_of(
      halo_custom_call_register_stateful(copy, ffi_execute, ffi_open, ffi_close, target));
}

/* ---- The extensions ---- */

static bool ffi_is(const char *name, size_t size, const char *wanted) {
  size_t i = 0;
  while (i < size && wanted[i] && tolower((unsigned char)name[i]) == wanted[i]) i++;
  return i == size && !wanted[i];
}

static PJRT_Error *extension_register_handler(PJRT_FFI_Register_Handler_Args *args) {
  const char *platform = args->platform_name;
  size_t size = args->platform_name_size;
  bool host = ffi_is(platform, size, "cpu") || ffi_is(platform, size, "host");
  if (!host && !ffi_is(platform, size, PJRT_PLATFORM)) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "a handler for %.*s: the halo plugin takes those for halo and cpu", (int)size,
                      platform);
  }
  return ffi_register(args->target_name, args->target_name_size,
                      (ffi_bundle){.execute = (XLA_FFI_Handler *)args->handler}, host);
}

static PJRT_Error *extension_register_type(PJRT_FFI_Type_Register_Args *args) {
  bool info = PJRT_HAS(args, type_info) && args->type_info;
  return ffi_type_register(args->type_name, args->type_name_size, &args->type_id,
                           info ? args->type_info->deleter : NULL);
}

static PJRT_Error *extension_add_user_data(PJRT_FFI_UserData_Add_Args *args) {
  return ffi_context_add(args->context, args->user_data.type_id, args->user_data.data);
}

/* Functions without a typed interface: nothing tells for which platform they were written, so they take no name that
 * this one has itself. */
static PJRT_Error *register_plain(const PJRT_Custom_Call_Register_Args *args) {
  char *name = pjrt_copy(args->function_name, args->function_name_size);
  PJRT_Error *error = NULL;
  if (!args->execute) {
    error =
        pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%s: there is no handler to execute", name);
  } else if (halo_custom_call_find(name) && !target_find(name)) {
    error = pjrt_error(PJRT_Error_Code_ALREADY_EXISTS,
                       "%s is a function of the halo platform's own", name);
  } else {
    error =
        pjrt_error_of(halo_custom_call_register_plain(name, (halo_custom_plain_fn *)args->execute));
  }
  if (!error) {
    ffi_target *target = pjrt_alloc(sizeof *target);
    *target = (ffi_target){.name = name, .of_host = true};
    target_add(target);
  } else {
    free(name);
  }
  return error;
}

static PJRT_Error *extension_register_call(PJRT_Custom_Call_Register_Args *args) {
  if (args->api_version == 0) return register_plain(args);
  if (args->api_version != 1) {
    return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                      "%.*s: the halo plugin knows handlers of API versions 0 and 1, not %d",
                      (int)args->function_name_size, args->function_name, args->api_version);
  }
  ffi_bundle bundle = {(XLA_FFI_Handler *)args->instantiate, (XLA_FFI_Handler *)args->prepare,
                       (XLA_FFI_Handler *)args->initialize, (XLA_FFI_Handler *)args->execute};
  return ffi_register(args->function_name, args->function_name_size, bundle, false);
}

static PJRT_Custom_Call_Extension custom_call_extension = {
    .base = {.struct_size = sizeof(PJRT_Custom_Call_Extension),
             .type = PJRT_Extension_Type_Custom_Call},
    .register_call = extension_register_call};

PJRT_FFI_Extension pjrt_ffi_extension = {.base = {.struct_size = sizeof(PJRT_FFI_Extension),
                                                  .type = PJRT_Extension_Type_FFI,
                                                  .next = &custom_call_extension.base},
                                         .type_register = extension_register_type,
                                         .user_data_add = extension_add_user_data,
                                         .register_handler = extension_register_handler};

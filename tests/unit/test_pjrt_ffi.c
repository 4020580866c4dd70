/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_ffi.c: typed handlers of custom calls through the plugin: what they get, their stages and
 * states, failures, scratch memory, what goes on later, and whose handler a name has. */
#include "pjrt_test.h"

#include "pjrt/ffi_abi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Registering ---- */

typedef struct stages {
  XLA_FFI_Handler *instantiate, *prepare, *initialize, *execute;
} stages;

static PJRT_Error *add_stages(const char *name, stages s, int version) {
  const void *extension = pjrt_extension(PJRT_Extension_Type_Custom_Call);
  PJRT_Custom_Call_Register_Args args = {.struct_size = sizeof args,
                                         .function_name = name,
                                         .function_name_size = strlen(name),
                                         .api_version = version,
                                         .instantiate = (PJRT_Handler *)s.instantiate,
                                         .prepare = (PJRT_Handler *)s.prepare,
                                         .initialize = (PJRT_Handler *)s.initialize,
                                         .execute = (PJRT_Handler *)s.execute};
  return ((const PJRT_Custom_Call_Extension *)extension)->register_call(&args);
}

static PJRT_Error *add_for(const char *name, XLA_FFI_Handler *handler, const char *platform) {
  const void *extension = pjrt_extension(PJRT_Extension_Type_FFI);
  PJRT_FFI_Register_Handler_Args args = {.struct_size = sizeof args,
                                         .target_name = name,
                                         .target_name_size = strlen(name),
                                         .handler = (PJRT_Handler *)handler,
                                         .platform_name = platform,
                                         .platform_name_size = strlen(platform)};
  return ((const PJRT_FFI_Extension *)extension)->register_handler(&args);
}

static PJRT_Error *add(const char *name, XLA_FFI_Handler *handler) {
  return add_stages(name, (stages){.execute = handler}, 1);
}

/* ---- Handlers ---- */

/* Answers who asks for the version that it was built with: whether somebody did. */
static bool version(XLA_FFI_CallFrame *frame, int minor) {
  if (!frame->extension_start) return false;
  ck_assert_int_eq(frame->extension_start->type, XLA_FFI_Extension_Metadata);
  XLA_FFI_Metadata_Extension *extension = (void *)frame->extension_start;
  extension->metadata->api_version =
      (XLA_FFI_Api_Version){.struct_size = sizeof(XLA_FFI_Api_Version), .minor_version = minor};
  return true;
}

static XLA_FFI_Error *error_of(const XLA_FFI_CallFrame *frame, const char *message, int code) {
  XLA_FFI_Error_Create_Args args = {.struct_size = sizeof args, .message = message, .errc = code};
  return frame->api->error_create(&args);
}

/* x + n * 1.0 on vectors of 4. */
static void shift(const XLA_FFI_CallFrame *frame, float by) {
  const float *x = frame->args.args[0]->data;
  float *y = frame->rets.args[0]->data;
  for (int i = 0; i < 4; i++) y[i] = x[i] + by;
}

static XLA_FFI_Error *plus_one(XLA_FFI_CallFrame *frame) {
  if (version(frame, 3)) return NULL;
  shift(frame, 1);
  return NULL;
}

static XLA_FFI_Error *plus_two(XLA_FFI_CallFrame *frame) {
  if (version(frame, 5)) return NULL;
  shift(frame, 2);
  return NULL;
}

static XLA_FFI_Error *too_new(XLA_FFI_CallFrame *frame) {
  ck_assert(version(frame, 99));
  return NULL;
}

static const void *attribute(const XLA_FFI_Attrs *attrs, const char *name, XLA_FFI_AttrType type) {
  for (int64_t i = 0; i < attrs->size; i++) {
    const XLA_FFI_ByteSpan *span = attrs->names[i];
    if (i) ck_assert_int_lt(memcmp(attrs->names[i - 1]->ptr, span->ptr, 1), 0);
    if (span->len == strlen(name) && memcmp(span->ptr, name, span->len) == 0) {
      ck_assert_int_eq(attrs->types[i], type);
      return attrs->attrs[i];
    }
  }
  ck_abort_msg("no attribute %s", name);
  return NULL;
}

static XLA_FFI_Error *looks(XLA_FFI_CallFrame *frame) {
  if (version(frame, 3)) return NULL;
  ck_assert_uint_eq(frame->struct_size, offsetof(XLA_FFI_CallFrame, future));
  ck_assert_int_eq(frame->stage, XLA_FFI_ExecutionStage_EXECUTE);
  ck_assert_int_eq(frame->args.size, 2);
  ck_assert_int_eq(frame->rets.size, 1);
  const XLA_FFI_Buffer *matrix = frame->args.args[1];
  ck_assert_int_eq(matrix->dtype, 5); /* S64 */
  ck_assert_int_eq(matrix->rank, 2);
  ck_assert_int_eq(matrix->dims[1], 3);
  ck_assert_int_eq(((const int64_t *)matrix->data)[5], 6);
  const XLA_FFI_Scalar *scalar = attribute(&frame->attrs, "b", XLA_FFI_AttrType_SCALAR);
  ck_assert_int_eq(scalar->dtype, 11); /* F32 */
  ck_assert(*(const float *)scalar->value == 1.5f);
  scalar = attribute(&frame->attrs, "a", XLA_FFI_AttrType_SCALAR);
  ck_assert_int_eq(scalar->dtype, 6); /* U8 */
  ck_assert_int_eq(*(const uint8_t *)scalar->value, 200);
  const XLA_FFI_Array *array = attribute(&frame->attrs, "c", XLA_FFI_AttrType_ARRAY);
  ck_assert_int_eq(array->dtype, 3); /* S16 */
  ck_assert_uint_eq(array->size, 2);
  ck_assert_int_eq(((const int16_t *)array->data)[1], -4);
  const XLA_FFI_ByteSpan *text = attribute(&frame->attrs, "d", XLA_FFI_AttrType_STRING);
  ck_assert(text->len == 3 && memcmp(text->ptr, "x\"y", 3) == 0);
  const XLA_FFI_Attrs *inner = attribute(&frame->attrs, "e", XLA_FFI_AttrType_DICTIONARY);
  scalar = attribute(inner, "z", XLA_FFI_AttrType_SCALAR);
  ck_assert_int_eq(scalar->dtype, 1); /* PRED */
  ck_assert_int_eq(*(const uint8_t *)scalar->value, 1);
  shift(frame, 10);
  return NULL;
}

static XLA_FFI_Error *refuses(XLA_FFI_CallFrame *frame) {
  return version(frame, 3) ? NULL
                           : error_of(frame, "not today", PJRT_Error_Code_FAILED_PRECONDITION);
}

/* ---- States ---- */

static int64_t counter_type;
static int counters;

static void free_counter(void *counter) {
  free(counter);
  counters--;
}

static XLA_FFI_Error *set(const XLA_FFI_CallFrame *frame, XLA_FFI_ExecutionStage stage, int value) {
  int *counter = malloc(sizeof *counter);
  *counter = value;
  counters++;
  XLA_FFI_State_Args args = {.struct_size = sizeof args,
                             .ctx = frame->ctx,
                             .stage = stage,
                             .type_id = &counter_type,
                             .state = counter};
  return frame->api->state_set(&args);
}

static int *get(const XLA_FFI_CallFrame *frame, XLA_FFI_ExecutionStage stage) {
  XLA_FFI_State_Args args = {
      .struct_size = sizeof args, .ctx = frame->ctx, .stage = stage, .type_id = &counter_type};
  ck_assert_ptr_null(frame->api->state_get(&args));
  return args.state;
}

static XLA_FFI_Error *instantiate(XLA_FFI_CallFrame *frame) {
  ck_assert_int_eq(frame->stage, XLA_FFI_ExecutionStage_INSTANTIATE);
  ck_assert_int_eq(frame->args.size, 0);
  const XLA_FFI_Scalar *start = attribute(&frame->attrs, "start", XLA_FFI_AttrType_SCALAR);
  return set(frame, frame->stage, *(const int32_t *)start->value);
}

static XLA_FFI_Error *prepare(XLA_FFI_CallFrame *frame) {
  ck_assert_int_eq(frame->stage, XLA_FFI_ExecutionStage_PREPARE);
  return set(frame, frame->stage, 1000);
}

static XLA_FFI_Error *initialize(XLA_FFI_CallFrame *frame) {
  ck_assert_int_eq(frame->stage, XLA_FFI_ExecutionStage_INITIALIZE);
  *get(frame, XLA_FFI_ExecutionStage_PREPARE) += 1000;
  return NULL;
}

static XLA_FFI_Error *counts(XLA_FFI_CallFrame *frame) {
  if (version(frame, 3)) return NULL;
  int *counter = get(frame, XLA_FFI_ExecutionStage_INSTANTIATE);
  shift(frame, (float)(*counter + *get(frame, XLA_FFI_ExecutionStage_PREPARE)));
  *counter += 1;
  return NULL;
}

/* ---- Later ---- */

static XLA_FFI_CallFrame late_frame;

static void *late(void *future) {
  shift(&late_frame, 3);
  XLA_FFI_Future_Args args = {.struct_size = 16 + sizeof(void *), .future = future};
  late_frame.api->future_set_available(&args);
  return NULL;
}

static void task(void *data) { *(int *)data = 1; }

static XLA_FFI_Error *goes_on(XLA_FFI_CallFrame *frame) {
  if (version(frame, 3)) return NULL;
  XLA_FFI_Memory_Args memory = {
      .struct_size = sizeof memory, .ctx = frame->ctx, .size = 100, .alignment = 128};
  ck_assert_ptr_null(frame->api->memory_allocate(&memory));
  ck_assert_uint_eq((uintptr_t)memory.data % 128, 0);
  memset(memory.data, 0, 100);
  XLA_FFI_Memory_Free_Args given = {
      .struct_size = sizeof given, .ctx = frame->ctx, .size = 100, .data = memory.data};
  ck_assert_ptr_null(frame->api->memory_free(&given));
  int done = 0;
  XLA_FFI_Schedule_Args schedule = {
      .struct_size = sizeof schedule, .ctx = frame->ctx, .task = task, .data = &done};
  ck_assert_ptr_null(frame->api->pool_schedule(&schedule));
  ck_assert_int_eq(done, 1);
  XLA_FFI_Future_Args future = {.struct_size = 16};
  ck_assert_ptr_null(frame->api->future_create(&future));
  pthread_t thread;
  late_frame = *frame;
  frame->future = future.future;
  ck_assert_int_eq(pthread_create(&thread, NULL, late, future.future), 0);
  pthread_detach(thread);
  return NULL;
}

static XLA_FFI_Error *fails_later(XLA_FFI_CallFrame *frame) {
  if (version(frame, 3)) return NULL;
  XLA_FFI_Future_Args future = {.struct_size = 16};
  ck_assert_ptr_null(frame->api->future_create(&future));
  frame->future = future.future;
  future.struct_size = sizeof future;
  future.error = error_of(frame, "in the end", PJRT_Error_Code_ABORTED);
  ck_assert_ptr_null(frame->api->future_set_error(&future));
  return NULL;
}

/* ---- Tests ---- */

static const char one[] =
    "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
    "  ROOT y = f32[4] custom-call(x), custom_call_target=\"%s\", "
    "api_version=API_VERSION_TYPED_FFI, backend_config={%s}\n}\n";

static PJRT_Error *try_compile(PJRT_Client *client, const char *target, const char *config,
                               PJRT_LoadedExecutable **out) {
  char text[1024], options[256];
  snprintf(text, sizeof text, one, target, config);
  return pjrt_try_compile(client, text, options, pjrt_options(options, 1, 1), out);
}

/* Runs a program on 1 2 3 4: by how much the handler shifted these. */
static float run(PJRT_Client *client, PJRT_LoadedExecutable *loaded) {
  float out[4];
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
  PJRT_Buffer *y = pjrt_run(loaded, &x, 1);
  pjrt_get(y, out, sizeof out);
  for (int i = 1; i < 4; i++) ck_assert(out[i] - four[i] == out[0] - four[0]);
  pjrt_drop(x);
  pjrt_drop(y);
  return out[0] - four[0];
}

static float run_target(PJRT_Client *client, const char *target, const char *config) {
  PJRT_LoadedExecutable *loaded;
  ck_call(try_compile(client, target, config, &loaded));
  float by = run(client, loaded);
  pjrt_drop_loaded(loaded);
  return by;
}

/* The error of a program that compiles. */
static PJRT_Error *run_failing(PJRT_Client *client, const char *target) {
  PJRT_LoadedExecutable *loaded;
  PJRT_Event *complete;
  ck_call(try_compile(client, target, "", &loaded));
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *y;
  ck_call(pjrt_try_run(loaded, &x, 1, &y, &complete, NULL));
  PJRT_Error *error = pjrt_await(complete);
  pjrt_drop(x);
  pjrt_drop(y);
  pjrt_drop_loaded(loaded);
  return error;
}

START_TEST(frames) {
  ck_call(add("t.looks", looks));
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded = pjrt_compile(
      client,
      "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  m = s64[2,3] constant({{1, 2, 3}, {4, 5, 6}})\n"
      "  ROOT y = f32[4] custom-call(x, m), custom_call_target=\"t.looks\", "
      "api_version=API_VERSION_TYPED_FFI, backend_config={d = \"x\\\"y\", b = 1.5 : f32, "
      "a = 200 : ui8, e = {z = true}, c = array<i16: 3, -4>}\n}\n");
  ck_assert(run(client, loaded) == 10);
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

START_TEST(failures) {
  ck_call(add("t.refuses", refuses));
  ck_call(add("t.fails_later", fails_later));
  ck_call(add("t.plus_one", plus_one));
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded;
  ck_refused(run_failing(client, "t.refuses"), FAILED_PRECONDITION,
             "custom call t.refuses: not today");
  ck_refused(run_failing(client, "t.fails_later"), ABORTED, "in the end");
  ck_refused(try_compile(client, "t.plus_one", "a = #x<1>", &loaded), UNIMPLEMENTED,
             "the attribute a is of a kind that handlers do not get");
  ck_assert(run_target(client, "t.plus_one", "") == 1);
  pjrt_close(client);
}
END_TEST

START_TEST(stages_and_states) {
  const PJRT_FFI_Extension *extension = pjrt_extension(PJRT_Extension_Type_FFI);
  PJRT_FFI_Type_Info info = {free_counter};
  PJRT_FFI_Type_Register_Args type = {
      .struct_size = sizeof type, .type_name = "counter", .type_name_size = 7, .type_info = &info};
  ck_call(extension->type_register(&type));
  ck_assert_int_ne(type.type_id, 0);
  counter_type = type.type_id;
  type.type_id = 0;
  ck_call(extension->type_register(&type));
  ck_assert_int_eq(type.type_id, counter_type);
  type.type_id = 77;
  ck_refused(extension->type_register(&type), ALREADY_EXISTS, "counter");

  ck_call(add_stages("t.counts", (stages){instantiate, prepare, initialize, counts}, 1));
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded;
  ck_call(try_compile(client, "t.counts", "start = 7 : i32", &loaded));
  for (int i = 0; i < 3; i++) ck_assert(run(client, loaded) == (float)(2007 + i));
  ck_assert_int_eq(counters, 1);
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
  ck_assert_int_eq(counters, 0);
}
END_TEST

START_TEST(handlers_that_go_on) {
  ck_call(add("t.goes_on", goes_on));
  PJRT_Client *client = pjrt_client(NULL);
  ck_assert(run_target(client, "t.goes_on", "") == 3);
  pjrt_close(client);
}
END_TEST

/* Handlers that were written for CPUs take no name that this platform has. */
START_TEST(platforms) {
  PJRT_Client *client = pjrt_client(NULL);
  ck_call(add_for("t.both", plus_one, "cpu"));
  ck_assert(run_target(client, "t.both", "") == 1);
  ck_call(add_for("t.both", plus_two, "Host"));
  ck_assert(run_target(client, "t.both", "") == 2);
  ck_call(add_for("t.both", plus_one, "halo"));
  ck_refused(add_for("t.both", plus_two, "cpu"), ALREADY_EXISTS, "t.both");
  ck_assert(run_target(client, "t.both", "") == 1);
  ck_refused(add_for("lapack_strsm_ffi", plus_one, "cpu"), ALREADY_EXISTS, "lapack_strsm_ffi");
  ck_refused(add_for("t.other", plus_one, "CUDA"), INVALID_ARGUMENT, "CUDA");
  ck_refused(add_for("t.new", too_new, "halo"), UNIMPLEMENTED, "version 0.99");
  ck_refused(add_stages("t.old", (stages){.execute = plus_one}, 2), UNIMPLEMENTED,
             "0 and 1, not 2");
  ck_refused(add_stages("t.none", (stages){.prepare = prepare}, 1), INVALID_ARGUMENT,
             "no handler to execute");
  pjrt_close(client);
}
END_TEST

/* ---- Without a typed interface ---- */

static void old_plus_five(void *out, const void **in) {
  for (int i = 0; i < 4; i++) ((float *)out)[i] = ((const float *)in[0])[i] + 5;
}

/* A status is an optional string: where it lies, how long it is, room for short ones, whether there is one. */
typedef struct old_status {
  char *message;
  size_t size;
  char inside[16];
  bool failed;
} old_status;

static void old_plus_config(void *out, const void **in, const char *config, size_t size,
                            old_status *status) {
  ck_assert_uint_eq(size, 3);
  if (memcmp(config, "bad", 3) == 0) {
    status->message = strdup("a message that is too long for the room inside");
    status->size = strlen(status->message);
    status->failed = true;
    return;
  }
  for (int i = 0; i < 4; i++) ((float *)out)[i] = ((const float *)in[0])[i] + (float)atoi(config);
}

static void old_fails(void *out, const void **in, old_status *status) {
  (void)out;
  (void)in;
  status->message = strcpy(status->inside, "too short");
  status->size = strlen(status->inside);
  status->failed = true;
}

typedef void old_function(void);

static PJRT_Error *add_old(const char *name, old_function *function) {
  return add_stages(name, (stages){.execute = (XLA_FFI_Handler *)function}, 0);
}

static PJRT_LoadedExecutable *compile_old(PJRT_Client *client, const char *target,
                                          const char *attributes) {
  char text[512];
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
           "  ROOT y = f32[4] custom-call(x), custom_call_target=\"%s\"%s\n}\n",
           target, attributes);
  return pjrt_compile(client, text);
}

static PJRT_Error *run_old_failing(PJRT_Client *client, PJRT_LoadedExecutable *loaded) {
  PJRT_Event *complete;
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *y;
  ck_call(pjrt_try_run(loaded, &x, 1, &y, &complete, NULL));
  PJRT_Error *error = pjrt_await(complete);
  pjrt_drop(x);
  pjrt_drop(y);
  pjrt_drop_loaded(loaded);
  return error;
}

START_TEST(functions_without_types) {
  ck_call(add_old("t.old_five", (old_function *)old_plus_five));
  ck_call(add_old("t.old_config", (old_function *)old_plus_config));
  ck_call(add_old("t.old_fails", (old_function *)old_fails));
  ck_call(add("t.typed", plus_one));
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded = compile_old(client, "t.old_five", "");
  ck_assert(run(client, loaded) == 5);
  pjrt_drop_loaded(loaded);
  loaded =
      compile_old(client, "t.old_config",
                  ", api_version=API_VERSION_STATUS_RETURNING_UNIFIED, backend_config=\"007\"");
  ck_assert(run(client, loaded) == 7);
  pjrt_drop_loaded(loaded);
  loaded =
      compile_old(client, "t.old_config",
                  ", api_version=API_VERSION_STATUS_RETURNING_UNIFIED, backend_config=\"bad\"");
  ck_refused(run_old_failing(client, loaded), INTERNAL, "a message that is too long for the room");
  loaded = compile_old(client, "t.old_fails", ", api_version=API_VERSION_STATUS_RETURNING");
  ck_refused(run_old_failing(client, loaded), INTERNAL, "custom call t.old_fails: too short");
  ck_refused(try_compile(client, "t.old_five", "", &loaded), INVALID_ARGUMENT, "plain function");
  char options[256], text[512];
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
           "  ROOT y = f32[4] custom-call(x), custom_call_target=\"t.typed\"\n}\n");
  ck_refused(pjrt_try_compile(client, text, options, pjrt_options(options, 1, 1), &loaded),
             INVALID_ARGUMENT, "a handler with a typed interface");
  pjrt_close(client);
}
END_TEST

/* ---- The run ---- */

static int64_t context_type, other_type, last_run;

static XLA_FFI_Error *asks(XLA_FFI_CallFrame *frame) {
  if (version(frame, 3)) return NULL;
  XLA_FFI_DeviceOrdinal_Get_Args device = {.struct_size = sizeof device, .ctx = frame->ctx};
  ck_assert_ptr_null(frame->api->device_ordinal_get(&device));
  XLA_FFI_RunId_Get_Args run = {.struct_size = sizeof run, .ctx = frame->ctx};
  ck_assert_ptr_null(frame->api->run_id_get(&run));
  ck_assert_int_gt(run.run_id, last_run);
  last_run = run.run_id;
  XLA_FFI_Query_Args stream = {.struct_size = sizeof stream, .ctx = frame->ctx};
  XLA_FFI_Error_Destroy_Args none = {.struct_size = sizeof none,
                                     .error = frame->api->stream_get(&stream)};
  ck_assert_ptr_nonnull(none.error);
  frame->api->error_destroy(&none);
  XLA_FFI_Context_Get_Args get = {
      .struct_size = sizeof get, .ctx = frame->ctx, .type_id = &context_type};
  XLA_FFI_Error *error = frame->api->context_get(&get);
  if (error) return error;
  shift(frame, *(const float *)get.data + 100 * (float)device.device_ordinal);
  return NULL;
}

START_TEST(contexts) {
  const PJRT_FFI_Extension *extension = pjrt_extension(PJRT_Extension_Type_FFI);
  PJRT_FFI_Type_Register_Args type = {
      .struct_size = sizeof type, .type_name = "offset", .type_name_size = 6};
  ck_call(extension->type_register(&type));
  context_type = type.type_id;
  type = (PJRT_FFI_Type_Register_Args){
      .struct_size = sizeof type, .type_name = "other", .type_name_size = 5};
  ck_call(extension->type_register(&type));
  other_type = type.type_id;
  ck_call(add("t.asks", asks));
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded;
  ck_call(try_compile(client, "t.asks", "", &loaded));
  PJRT_ExecuteContext_Create_Args create = {.struct_size = sizeof create};
  ck_call(api->ExecuteContext_Create(&create));
  float offset = 8, unused = 0;
  PJRT_FFI_UserData_Add_Args data = {
      .struct_size = sizeof data, .context = create.context, .user_data = {other_type, &unused}};
  ck_call(extension->user_data_add(&data));
  ck_refused(extension->user_data_add(&data), ALREADY_EXISTS,
             "already exists in execution context");
  for (int with = 0; with < 2; with++) {
    PJRT_ExecuteOptions options = {.struct_size = sizeof options, .context = create.context};
    PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *y;
    PJRT_Event *complete;
    if (with) {
      data.user_data = (PJRT_FFI_UserData){context_type, &offset};
      ck_call(extension->user_data_add(&data));
    }
    ck_call(pjrt_try_run(loaded, &x, 1, &y, &complete, &options));
    if (with) {
      PJRT_ExecuteContext_Destroy_Args destroy = {.struct_size = sizeof destroy,
                                                  .context = create.context};
      ck_call(api->ExecuteContext_Destroy(&destroy));
      ck_call(pjrt_await(complete));
      float out[4];
      pjrt_get(y, out, sizeof out);
      ck_assert(out[3] == 12);
    } else {
      ck_refused(pjrt_await(complete), NOT_FOUND, "not found in execution context");
    }
    pjrt_drop(x);
    pjrt_drop(y);
  }
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_ffi");
  TCase *tc = tcase_create("ffi");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, frames);
  tcase_add_test(tc, failures);
  tcase_add_test(tc, stages_and_states);
  tcase_add_test(tc, handlers_that_go_on);
  tcase_add_test(tc, platforms);
  tcase_add_test(tc, functions_without_types);
  tcase_add_test(tc, contexts);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}

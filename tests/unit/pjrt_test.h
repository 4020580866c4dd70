/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/pjrt_test.h: the plugin as frameworks see it: through its table alone. */
#ifndef HALO_TESTS_PJRT_TEST_H
#define HALO_TESTS_PJRT_TEST_H

#include "pjrt/c_api.h"
#include "suite.h"

#include <dlfcn.h>
#include <string.h>

static const PJRT_Api *api;

/* Opens the plugin that HALO_TEST_PJRT names. */
static inline void pjrt_open(void) {
  if (api) return;
  void *library = dlopen(HALO_TEST_PJRT, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
  ck_assert_ptr_nonnull(get);
  api = get();
}

/* A structure of arguments, as callers fill them: the size, garbage in what the plugin writes. */
#define ARGS(name, ...)                                                                            \
  (&(PJRT_##name##_Args){.struct_size = sizeof(PJRT_##name##_Args), __VA_ARGS__})

static inline PJRT_Error_Code pjrt_code(PJRT_Error *error) {
  PJRT_Error_GetCode_Args *args = ARGS(Error_GetCode, .error = error);
  ck_assert_ptr_null(api->Error_GetCode(args));
  return args->code;
}

static inline const char *pjrt_message(PJRT_Error *error) {
  static char text[4096];
  PJRT_Error_Message_Args *args = ARGS(Error_Message, .error = error);
  api->Error_Message(args);
  ck_assert_uint_lt(args->message_size, sizeof text);
  memcpy(text, args->message, args->message_size);
  text[args->message_size] = '\0';
  return text;
}

static inline void pjrt_destroy_error(PJRT_Error *error) {
  api->Error_Destroy(ARGS(Error_Destroy, .error = error));
}

/* The call succeeds. */
#define ck_call(call)                                                                              \
  do {                                                                                             \
    PJRT_Error *error_ = (call);                                                                   \
    ck_assert_msg(!error_, "%s: %s", #call, error_ ? pjrt_message(error_) : "");                   \
  } while (0)
/* The call fails like this. */
#define ck_refused(call, code_, part)                                                              \
  do {                                                                                             \
    PJRT_Error *error_ = (call);                                                                   \
    ck_assert_ptr_nonnull(error_);                                                                 \
    ck_assert_int_eq(pjrt_code(error_), PJRT_Error_Code_##code_);                                  \
    ck_assert_msg(strstr(pjrt_message(error_), part) != NULL, "\"%s\" lacks \"%s\"",               \
                  pjrt_message(error_), part);                                                     \
    pjrt_destroy_error(error_);                                                                    \
  } while (0)

/* ---- Events ---- */

static inline PJRT_Error *pjrt_await(PJRT_Event *event) {
  PJRT_Error *error = api->Event_Await(ARGS(Event_Await, .event = event));
  api->Event_Destroy(ARGS(Event_Destroy, .event = event));
  return error;
}

/* ---- Values ---- */

static inline const PJRT_NamedValue *pjrt_attribute(const PJRT_NamedValue *list, size_t count,
                                                    const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strlen(name) == list[i].name_size && memcmp(name, list[i].name, strlen(name)) == 0) {
      return &list[i];
    }
  }
  ck_abort_msg("no attribute %s", name);
  return NULL;
}

/* ---- Clients ---- */

static inline PJRT_NamedValue pjrt_text(const char *name, const char *value) {
  return (PJRT_NamedValue){.struct_size = sizeof(PJRT_NamedValue),
                           .name = name,
                           .name_size = strlen(name),
                           .type = PJRT_NamedValue_kString,
                           .string_value = value,
                           .value_size = strlen(value)};
}

/* On a device list such as "cpu*2"; NULL: the default. */
static inline PJRT_Client *pjrt_client(const char *device) {
  pjrt_open();
  const PJRT_NamedValue options[] = {pjrt_text("device", device ? device : ""),
                                     pjrt_text("cache_dir", "")};
  PJRT_Client_Create_Args *args = ARGS(Client_Create, .create_options = options, .num_options = 2);
  ck_call(api->Plugin_Initialize(ARGS(Plugin_Initialize)));
  ck_call(api->Client_Create(args));
  return args->client;
}

static inline void pjrt_close(PJRT_Client *client) {
  ck_call(api->Client_Destroy(ARGS(Client_Destroy, .client = client)));
}

static inline PJRT_Device *pjrt_device(PJRT_Client *client, size_t index) {
  PJRT_Client_AddressableDevices_Args *args = ARGS(Client_AddressableDevices, .client = client);
  ck_call(api->Client_AddressableDevices(args));
  ck_assert_uint_lt(index, args->num_addressable_devices);
  return args->addressable_devices[index];
}

static inline PJRT_Memory *pjrt_memory(PJRT_Client *client, size_t device) {
  PJRT_Device_DefaultMemory_Args *args =
      ARGS(Device_DefaultMemory, .device = pjrt_device(client, device));
  ck_call(api->Device_DefaultMemory(args));
  return args->memory;
}

/* ---- Buffers ---- */

static inline PJRT_Buffer *pjrt_put(PJRT_Memory *memory, PJRT_Buffer_Type type, const void *data,
                                    size_t rank, const int64_t *dims) {
  PJRT_Client_BufferFromHostBuffer_Args *args = ARGS(
      Client_BufferFromHostBuffer, .data = data, .type = type, .dims = dims, .num_dims = rank,
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, .memory = memory);
  ck_call(api->Client_BufferFromHostBuffer(args));
  ck_call(pjrt_await(args->done_with_host_buffer));
  return args->buffer;
}

static inline PJRT_Buffer *pjrt_put_floats(PJRT_Memory *memory, const float *data, int64_t count) {
  return pjrt_put(memory, PJRT_Buffer_Type_F32, data, 1, &count);
}

static inline PJRT_Error *pjrt_try_get(PJRT_Buffer *buffer, void *data, size_t size) {
  PJRT_Buffer_ToHostBuffer_Args *args =
      ARGS(Buffer_ToHostBuffer, .src = buffer, .dst = data, .dst_size = size);
  PJRT_Error *error = api->Buffer_ToHostBuffer(args);
  return error ? error : pjrt_await(args->event);
}

static inline void pjrt_get(PJRT_Buffer *buffer, void *data, size_t size) {
  ck_call(pjrt_try_get(buffer, data, size));
}

static inline bool pjrt_is_deleted(PJRT_Buffer *buffer) {
  PJRT_Buffer_IsDeleted_Args *args = ARGS(Buffer_IsDeleted, .buffer = buffer);
  ck_call(api->Buffer_IsDeleted(args));
  return args->is_deleted;
}

static inline void pjrt_drop(PJRT_Buffer *buffer) {
  ck_call(api->Buffer_Destroy(ARGS(Buffer_Destroy, .buffer = buffer)));
}

/* ---- Executables ---- */

static const char add_text[] =
    "HloModule add\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n"
    "  ROOT s = f32[4] add(x, y)\n}\n";
static const float four[4] = {1, 2, 3, 4};

/* A message CompileOptions for replicas times partitions on devices 0, 1, ...: at most 8 of them. */
static inline size_t pjrt_options(char *out, int replicas, int partitions) {
  char rows[64], build[96];
  size_t r = 0, b = 0, o = 0;
  rows[r++] = 1 << 3;
  rows[r++] = (char)replicas;
  rows[r++] = 2 << 3;
  rows[r++] = (char)partitions;
  for (int p = 0; p < partitions; p++) {
    rows[r++] = 3 << 3 | 2;
    rows[r++] = (char)(replicas + 2);
    rows[r++] = 1 << 3 | 2;
    rows[r++] = (char)replicas;
    for (int i = 0; i < replicas; i++) rows[r++] = (char)(i * partitions + p);
  }
  build[b++] = 4 << 3;
  build[b++] = (char)replicas;
  build[b++] = 5 << 3;
  build[b++] = (char)partitions;
  build[b++] = 9 << 3 | 2;
  build[b++] = (char)r;
  memcpy(build + b, rows, r);
  b += r;
  out[o++] = 3 << 3 | 2;
  out[o++] = (char)b;
  memcpy(out + o, build, b);
  return o + b;
}

static inline PJRT_Error *pjrt_try_compile(PJRT_Client *client, const char *text,
                                           const char *options, size_t options_size,
                                           PJRT_LoadedExecutable **out) {
  PJRT_Program program = {.struct_size = sizeof program,
                          .code = (char *)text,
                          .code_size = strlen(text),
                          .format = "hlo_text",
                          .format_size = 8};
  PJRT_Client_Compile_Args *args =
      ARGS(Client_Compile, .client = client, .program = &program, .compile_options = options,
           .compile_options_size = options_size);
  PJRT_Error *error = api->Client_Compile(args);
  *out = args->executable;
  return error;
}

static inline PJRT_LoadedExecutable *pjrt_compile(PJRT_Client *client, const char *text) {
  char options[256];
  PJRT_LoadedExecutable *loaded;
  ck_call(pjrt_try_compile(client, text, options, pjrt_options(options, 1, 1), &loaded));
  return loaded;
}

/* The plugin's extension of a PJRT_Extension_Type; for tests that begin with it, opens the plugin. */
static inline const void *pjrt_extension(int type) {
  pjrt_open();
  const PJRT_Extension_Base *at = api->extension_start;
  while (at && at->type != type) at = at->next;
  ck_assert_ptr_nonnull(at);
  return at;
}

static inline PJRT_Executable *pjrt_executable(PJRT_LoadedExecutable *loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args *args =
      ARGS(LoadedExecutable_GetExecutable, .loaded_executable = loaded);
  ck_call(api->LoadedExecutable_GetExecutable(args));
  return args->executable;
}

static inline void pjrt_drop_executable(PJRT_Executable *executable) {
  ck_call(api->Executable_Destroy(ARGS(Executable_Destroy, .executable = executable)));
}

static inline void pjrt_drop_loaded(PJRT_LoadedExecutable *loaded) {
  ck_call(api->LoadedExecutable_Destroy(ARGS(LoadedExecutable_Destroy, .executable = loaded)));
}

/* On one device. `complete` may be NULL. */
static inline PJRT_Error *pjrt_try_run(PJRT_LoadedExecutable *loaded, PJRT_Buffer **arguments,
                                       size_t count, PJRT_Buffer **results, PJRT_Event **complete,
                                       PJRT_ExecuteOptions *options) {
  PJRT_ExecuteOptions defaults = {.struct_size = sizeof defaults};
  PJRT_Buffer *const *argument_lists[] = {arguments};
  PJRT_Buffer **result_lists[] = {results};
  return api->LoadedExecutable_Execute(
      ARGS(LoadedExecutable_Execute, .executable = loaded, .options = options ? options : &defaults,
           .argument_lists = argument_lists, .num_devices = 1, .num_args = count,
           .output_lists = result_lists, .device_complete_events = complete));
}

static inline PJRT_Buffer *pjrt_run(PJRT_LoadedExecutable *loaded, PJRT_Buffer **arguments,
                                    size_t count) {
  PJRT_Buffer *result;
  PJRT_Event *complete;
  ck_call(pjrt_try_run(loaded, arguments, count, &result, &complete, NULL));
  ck_call(pjrt_await(complete));
  return result;
}

/* That the client compiles, runs and reads back. */
static inline void pjrt_check_sum(PJRT_Client *client) {
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, x};
  PJRT_Buffer *sum = pjrt_run(add, both, 2);
  float out[4];
  pjrt_get(sum, out, sizeof out);
  ck_assert_float_eq(out[3], 8);
  pjrt_drop(sum);
  pjrt_drop(x);
  pjrt_drop_loaded(add);
}

#endif

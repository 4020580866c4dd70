/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_misuse.c: the plugin called wrongly, by older and by newer callers: each function with sizes of
 * any version, objects that are not there and arguments that make no sense. */
#include "pjrt_test.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Every function of the table ---- */

/* What each row says of a function: its size, and whether its first field is an object that must be there. */
typedef struct row {
  const char *name;
  size_t size, place;
  bool object, lacking;
} row;

static const row rows[] = {
#define ROW_PLACE(name) offsetof(PJRT_Api, name)
#define PJRT_FUNCTION(name, size, ...) {#name, size, ROW_PLACE(name), true, false},
#define PJRT_LOOSE(name, size, ...) {#name, size, ROW_PLACE(name), false, false},
#define PJRT_PROCEDURE(name, size, ...) {NULL, size, ROW_PLACE(name), false, false},
#define PJRT_LACKING(name) {#name, 0, ROW_PLACE(name), false, true},
#include "pjrt/functions.def"
#undef PJRT_FUNCTION
#undef PJRT_PROCEDURE
#undef PJRT_LACKING
};
enum { ROWS = sizeof rows / sizeof rows[0] };

typedef PJRT_Error *any_function(void *args);

static any_function *function_of(const row *r) {
  any_function *function;
  memcpy(&function, (const char *)api + r->place, sizeof function);
  return function;
}

/* No arguments, sizes that cannot be, and no object: said with the function's name, and nothing is written. */
START_TEST(every_function) {
  pjrt_open();
  for (int i = 0; i < ROWS; i++) {
    const row *r = &rows[i];
    if (!r->name) continue;
    any_function *function = function_of(r);
    size_t args[32];
    char name[128];
    snprintf(name, sizeof name, "PJRT_%s", r->name);
    if (r->lacking) {
      ck_refused(function(NULL), UNIMPLEMENTED, name);
      continue;
    }
    ck_refused(function(NULL), INVALID_ARGUMENT, name);
    for (size_t size = 0; size < 16; size += 8) {
      memset(args, 0, sizeof args);
      args[0] = size;
      ck_refused(function(args), INVALID_ARGUMENT, name);
    }
    if (!r->object) continue;
    /* As large as it is, and as a newer caller's may be. */
    for (size_t size = r->size; size <= sizeof args; size += sizeof args - r->size) {
      memset(args, 0x5a, sizeof args);
      args[0] = size;
      args[1] = args[2] = 0;
      ck_refused(function(args), INVALID_ARGUMENT, name);
      for (size_t w = 3; w < 32; w++) ck_assert_uint_eq(args[w], 0x5a5a5a5a5a5a5a5a);
    }
  }
}
END_TEST

/* Functions without a result do nothing. */
START_TEST(procedures) {
  pjrt_open();
  api->Error_Destroy(NULL);
  api->Error_Message(NULL);
  PJRT_Error_Message_Args *args = ARGS(Error_Message);
  api->Error_Message(args);
  ck_assert_uint_eq(args->message_size, 0);
}
END_TEST

/* ---- Extensions that are not known ---- */

static PJRT_Extension_Base *chain(PJRT_Extension_Base links[4]) {
  for (int i = 0; i < 4; i++) {
    links[i] = (PJRT_Extension_Base){.struct_size = i == 2 ? 0 : sizeof links[i],
                                     .type = i * 1000 - 1,
                                     .next = i < 3 ? &links[i + 1] : NULL};
  }
  return links;
}

START_TEST(extensions) {
  PJRT_Extension_Base links[4];
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, x}, *result;
  PJRT_Buffer *const *arguments[] = {both};
  PJRT_Buffer **results[] = {&result};
  PJRT_ExecuteOptions options = {.struct_size = sizeof options, .extension_start = chain(links)};
  PJRT_LoadedExecutable_Execute_Args *args =
      ARGS(LoadedExecutable_Execute, .extension_start = chain(links), .executable = add,
           .options = &options, .argument_lists = arguments, .num_devices = 1, .num_args = 2,
           .output_lists = results);
  ck_call(api->LoadedExecutable_Execute(args));
  float out[4];
  PJRT_Buffer_ToHostBuffer_Args *get = ARGS(Buffer_ToHostBuffer, .extension_start = chain(links),
                                            .src = result, .dst = out, .dst_size = sizeof out);
  ck_call(api->Buffer_ToHostBuffer(get));
  ck_call(pjrt_await(get->event));
  ck_assert_float_eq(out[3], 8);
  pjrt_drop(result);
  pjrt_drop(x);
  pjrt_drop_loaded(add);
  pjrt_close(client);
}
END_TEST

/* ---- Older callers ---- */

/* Structures that end before fields of later versions, in memory that ends there too: a sanitizer sees who reads on. */
__attribute__((noinline)) static void *cut(const void *args, size_t size) {
  size_t *copy = malloc(size);
  memcpy(copy, args, size);
  copy[0] = size;
  return copy;
}

START_TEST(older) {
  pjrt_open();
  const PJRT_NamedValue option = pjrt_text("cache_dir", "");
  PJRT_Client_Create_Args *create =
      cut(ARGS(Client_Create, .create_options = &option, .num_options = 1), 72);
  ck_call(api->Client_Create(create));
  PJRT_Client *client = create->client;
  free(create);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, x}, *result;
  PJRT_Buffer *const *arguments[] = {both};
  PJRT_Buffer **results[] = {&result};
  PJRT_ExecuteOptions *options = cut(&(PJRT_ExecuteOptions){0}, 56);
  PJRT_LoadedExecutable_Execute_Args *run = cut(
      ARGS(LoadedExecutable_Execute, .executable = add, .options = options,
           .argument_lists = arguments, .num_devices = 1, .num_args = 2, .output_lists = results),
      72);
  ck_call(api->LoadedExecutable_Execute(run));
  free(run);
  free(options);
  PJRT_Executable *e = pjrt_executable(add);
  PJRT_Executable_GetCompiledMemoryStats_Args *stats =
      cut(ARGS(Executable_GetCompiledMemoryStats, .executable = e), 64);
  ck_call(api->Executable_GetCompiledMemoryStats(stats));
  ck_assert_int_eq(stats->argument_size_in_bytes, 32);
  free(stats);
  PJRT_Executable_Serialize_Args *out = ARGS(Executable_Serialize, .executable = e);
  ck_call(api->Executable_Serialize(out));
  PJRT_Executable_DeserializeAndLoad_Args *in =
      cut(ARGS(Executable_DeserializeAndLoad, .client = client,
               .serialized_executable = out->serialized_bytes,
               .serialized_executable_size = out->serialized_bytes_size),
          48);
  ck_call(api->Executable_DeserializeAndLoad(in));
  pjrt_drop_loaded(in->loaded_executable);
  free(in);
  out->serialized_executable_deleter(out->serialized_executable);
  const int64_t dims[] = {4};
  PJRT_Client_CreateErrorBuffer_Args *broken = cut(
      ARGS(Client_CreateErrorBuffer, .client = client, .error_code = PJRT_Error_Code_INTERNAL,
           .error_message = "x", .error_message_size = 1, .shape_dims = dims, .shape_num_dims = 1,
           .shape_element_type = PJRT_Buffer_Type_F32, .memory = pjrt_memory(client, 0)),
      96);
  ck_call(api->Client_CreateErrorBuffer(broken));
  PJRT_Buffer *all[] = {x, result, broken->buffer};
  free(broken);
  for (int i = 0; i < 3; i++) pjrt_drop(all[i]);
  pjrt_drop_executable(e);
  pjrt_drop_loaded(add);
  pjrt_close(client);
}
END_TEST

/* ---- Arguments that make no sense ---- */

START_TEST(arrays) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_Memory *memory = pjrt_memory(client, 0);
  const int64_t dims[] = {2, 2}, negative[] = {2, -2}, huge[] = {INT64_MAX / 2, 1 << 20};
  const int64_t twice[] = {1, 1}, far[] = {7, 0}, strides[] = {8, 4};
  float data[4] = {1, 2, 3, 4}, out[4];
  PJRT_Buffer_MemoryLayout layout = {.struct_size = sizeof layout};
  PJRT_Client_BufferFromHostBuffer_Args good =
      *ARGS(Client_BufferFromHostBuffer, .client = client, .data = data,
            .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 2, .memory = memory);
  static const char *const parts[] = {"neither a device nor a memory",
                                      "data of the array is NULL",
                                      "extents of 2 dimensions are NULL",
                                      "strides are NULL",
                                      "3 strides",
                                      "-2",
                                      "",
                                      "70 dimensions",
                                      "order of dimensions is NULL",
                                      "",
                                      ""};
  for (int i = 0; i < 11; i++) {
    PJRT_Client_BufferFromHostBuffer_Args args = good;
    if (i == 0) args.memory = NULL;
    if (i == 1) args.data = NULL;
    if (i == 2) args.dims = NULL;
    if (i == 3) args.num_byte_strides = 2;
    if (i == 4) args.byte_strides = strides, args.num_byte_strides = 3;
    if (i == 5) args.dims = negative;
    if (i == 6) args.dims = huge;
    if (i == 7) args.num_dims = 70;
    if (i >= 8) args.device_layout = &layout;
    layout.tiled.minor_to_major_size = 2;
    layout.tiled.minor_to_major = i == 9 ? twice : i == 10 ? far : NULL;
    ck_refused(api->Client_BufferFromHostBuffer(&args), INVALID_ARGUMENT, parts[i]);
  }
  static const int types[] = {PJRT_Buffer_Type_INVALID, 34, 1000, -1};
  for (int i = 0; i < 4; i++) {
    PJRT_Client_BufferFromHostBuffer_Args args = good;
    args.type = (PJRT_Buffer_Type)types[i];
    ck_refused(api->Client_BufferFromHostBuffer(&args), UNIMPLEMENTED, "element type");
  }
  /* Host layouts. */
  PJRT_Buffer *x = pjrt_put(memory, PJRT_Buffer_Type_F32, data, 2, dims);
  const int64_t *const orders[] = {NULL, twice, far};
  for (int i = 0; i < 3; i++) {
    layout.tiled.minor_to_major = orders[i];
    ck_refused(api->Buffer_ToHostBuffer(ARGS(Buffer_ToHostBuffer, .src = x, .dst = out,
                                             .dst_size = sizeof out, .host_layout = &layout)),
               INVALID_ARGUMENT, "a layout");
  }
  ck_refused(api->Buffer_CopyRawToHost(ARGS(Buffer_CopyRawToHost, .buffer = x, .transfer_size = 4)),
             INVALID_ARGUMENT, "is NULL");
  ck_refused(api->Buffer_CopyToMemory(ARGS(Buffer_CopyToMemory, .buffer = x)), INVALID_ARGUMENT,
             "neither");
  ck_refused(api->Buffer_CopyToDevice(ARGS(Buffer_CopyToDevice, .buffer = x)), INVALID_ARGUMENT,
             "neither");
  /* Two layouts at a time. */
  PJRT_Buffer_GetMemoryLayout_Args *first = ARGS(Buffer_GetMemoryLayout, .buffer = x);
  ck_call(api->Buffer_GetMemoryLayout(first));
  const int64_t columns[] = {0, 1};
  layout.tiled.minor_to_major = columns;
  good.device_layout = &layout;
  ck_call(api->Client_BufferFromHostBuffer(&good));
  ck_call(pjrt_await(good.done_with_host_buffer));
  PJRT_Buffer_GetMemoryLayout_Args *second = ARGS(Buffer_GetMemoryLayout, .buffer = good.buffer);
  ck_call(api->Buffer_GetMemoryLayout(second));
  ck_assert_int_eq(first->layout.tiled.minor_to_major[0], 1);
  ck_assert_int_eq(second->layout.tiled.minor_to_major[0], 0);
  pjrt_drop(good.buffer);
  pjrt_drop(x);
  pjrt_close(client);
}
END_TEST

START_TEST(programs) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_Program program = {.struct_size = sizeof program, .code_size = 7};
  PJRT_Client_Compile_Args *compile = ARGS(Client_Compile, .client = client);
  ck_refused(api->Client_Compile(compile), INVALID_ARGUMENT, "NULL");
  compile->program = &program;
  ck_refused(api->Client_Compile(compile), INVALID_ARGUMENT, "NULL");
  program.code = (char *)add_text;
  program.code_size = 0;
  ck_refused(api->Client_Compile(compile), INVALID_ARGUMENT, "the program:1");
  program.code_size = strlen(add_text);
  compile->compile_options_size = 3;
  ck_refused(api->Client_Compile(compile), INVALID_ARGUMENT, "NULL");
  compile->compile_options_size = 0;
  ck_call(api->Client_Compile(compile));
  PJRT_LoadedExecutable *add = compile->executable;
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, NULL}, *result;
  PJRT_Buffer *const *arguments[] = {both}, *const * nothing[] = {NULL};
  PJRT_Buffer **results[] = {&result}, **nowhere[] = {NULL};
  PJRT_LoadedExecutable_Execute_Args *run =
      ARGS(LoadedExecutable_Execute, .executable = add, .num_devices = 1, .num_args = 2);
  ck_refused(api->LoadedExecutable_Execute(run), INVALID_ARGUMENT, "is NULL");
  run->argument_lists = nothing;
  run->output_lists = results;
  ck_refused(api->LoadedExecutable_Execute(run), INVALID_ARGUMENT, "is NULL");
  run->argument_lists = arguments;
  run->output_lists = nowhere;
  ck_refused(api->LoadedExecutable_Execute(run), INVALID_ARGUMENT, "is NULL");
  run->output_lists = results;
  ck_refused(api->LoadedExecutable_Execute(run), INVALID_ARGUMENT, "argument 1 of add is NULL");
  PJRT_ExecuteOptions options = {.struct_size = sizeof options, .num_send_ops = 1};
  both[1] = x;
  run->options = &options;
  ck_refused(api->LoadedExecutable_Execute(run), INVALID_ARGUMENT, "callbacks");
  run->options = NULL;
  ck_call(api->LoadedExecutable_Execute(run));
  ck_call(api->LoadedExecutable_Delete(ARGS(LoadedExecutable_Delete, .executable = add)));
  PJRT_Buffer *kept = result;
  ck_refused(api->LoadedExecutable_Execute(run), INVALID_ARGUMENT, "deleted");
  PJRT_Executable *e = pjrt_executable(add);
  ck_refused(api->Executable_OptimizedProgram(ARGS(Executable_OptimizedProgram, .executable = e)),
             INVALID_ARGUMENT, "no place");
  ck_refused(
      api->Executable_DeserializeAndLoad(ARGS(Executable_DeserializeAndLoad, .client = client,
                                              .serialized_executable_size = 1000)),
      INVALID_ARGUMENT, "damaged");
  pjrt_drop(kept);
  pjrt_drop(x);
  pjrt_drop_executable(e);
  pjrt_drop_loaded(add);
  pjrt_close(client);
}
END_TEST

START_TEST(others) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_Event_Create_Args *event = ARGS(Event_Create);
  ck_call(api->Event_Create(event));
  ck_refused(api->Event_OnReady(ARGS(Event_OnReady, .event = event->event)), INVALID_ARGUMENT,
             "no callback");
  ck_call(api->Event_Set(ARGS(Event_Set, .event = event->event,
                              .error_code = PJRT_Error_Code_INTERNAL, .error_message_size = 3)));
  ck_refused(pjrt_await(event->event), INTERNAL, "");
  ck_refused(
      api->Client_DefaultDeviceAssignment(ARGS(Client_DefaultDeviceAssignment, .client = client,
                                               .num_replicas = 1, .num_partitions = 1)),
      INVALID_ARGUMENT, "no place");
  ck_refused(api->Client_CreateBuffersForAsyncHostToDevice(
                 ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client,
                      .num_shape_specs = 2, .memory = pjrt_memory(client, 0))),
             INVALID_ARGUMENT, "are NULL");
  ck_refused(api->Client_Create(ARGS(Client_Create, .num_options = 1)), INVALID_ARGUMENT, "NULL");
  ck_refused(api->Client_LookupAddressableDevice(
                 ARGS(Client_LookupAddressableDevice, .client = client, .local_hardware_id = -1)),
             INVALID_ARGUMENT, "no device -1");
  pjrt_close(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_misuse");
  TCase *functions = tcase_create("functions");
  tcase_set_timeout(functions, 120);
  tcase_add_test(functions, every_function);
  tcase_add_test(functions, procedures);
  tcase_add_test(functions, extensions);
  tcase_add_test(functions, older);
  suite_add_tcase(suite, functions);
  TCase *arguments = tcase_create("arguments");
  tcase_set_timeout(arguments, 120);
  tcase_add_test(arguments, arrays);
  tcase_add_test(arguments, programs);
  tcase_add_test(arguments, others);
  suite_add_tcase(suite, arguments);
  return suite_run(suite);
}

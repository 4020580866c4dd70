/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_run.c: the plugin's executables from outside: what they say, runs, donation, failures,
 * bytes, several devices, threads. Programs are HLO text. */
#include "pjrt_test.h"

#include <pthread.h>

/* ---- Executables ---- */

START_TEST(runs) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, x};
  PJRT_Buffer *sum = pjrt_run(add, both, 2), *again[] = {sum, x};
  PJRT_Buffer *third = pjrt_run(add, again, 2);
  float out[4];
  pjrt_get(third, out, sizeof out);
  for (int i = 0; i < 4; i++) ck_assert_float_eq(out[i], 3 * four[i]);
  PJRT_Buffer *result;
  ck_refused(pjrt_try_run(add, both, 1, &result, NULL, NULL), INVALID_ARGUMENT, "takes 2");
  PJRT_Buffer *short_ = pjrt_put_floats(pjrt_memory(client, 0), four, 3);
  PJRT_Buffer *wrong[] = {x, short_};
  ck_refused(pjrt_try_run(add, wrong, 2, &result, NULL, NULL), INVALID_ARGUMENT, "f32[3]");
  /* Executables may go before their results. */
  pjrt_drop_loaded(add);
  pjrt_get(sum, out, sizeof out);
  PJRT_Buffer *all[] = {x, sum, third, short_};
  for (int i = 0; i < 4; i++) pjrt_drop(all[i]);
  pjrt_close(client);
}
END_TEST

/* As frameworks send programs, but for being text. */
START_TEST(stablehlo) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded = pjrt_compile(
      client,
      "module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, "
      "%b: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = \"\"}) {\n"
      "    %0 = stablehlo.multiply %a, %b : tensor<4xf32>\n"
      "    return %0 : tensor<4xf32>\n  }\n}\n");
  PJRT_Executable *e = pjrt_executable(loaded);
  PJRT_Executable_Name_Args *name = ARGS(Executable_Name, .executable = e);
  ck_call(api->Executable_Name(name));
  ck_assert_mem_eq(name->executable_name, "jit_f", name->executable_name_size);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
  PJRT_Buffer *y = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, y};
  PJRT_Buffer *result = pjrt_run(loaded, both, 2);
  ck_assert(pjrt_is_deleted(x));
  ck_assert(!pjrt_is_deleted(y));
  float out[4];
  pjrt_get(result, out, sizeof out);
  ck_assert_float_eq(out[3], 16);
  PJRT_Buffer *all[] = {x, y, result};
  for (int i = 0; i < 3; i++) pjrt_drop(all[i]);
  pjrt_drop_executable(e);
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

/* Layouts and kinds of memory that a program names are those of its buffers. */
START_TEST(places) {
  PJRT_Client *client = pjrt_client("cpu");
  PJRT_LoadedExecutable *loaded = pjrt_compile(
      client,
      "module @jit_f {\n  func.func public @main(%a: tensor<2x3xf32>) -> "
      "(tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\", mhlo.memory_kind = \"pinned_host\"}) {\n"
      "    %0 = stablehlo.negate %a : tensor<2x3xf32>\n"
      "    return %0 : tensor<2x3xf32>\n  }\n}\n");
  PJRT_Executable *e = pjrt_executable(loaded);
  PJRT_Executable_OutputMemoryKinds_Args *kinds =
      ARGS(Executable_OutputMemoryKinds, .executable = e);
  ck_call(api->Executable_OutputMemoryKinds(kinds));
  ck_assert_str_eq(kinds->memory_kinds[0], "pinned_host");
  const float in[6] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {2, 3};
  PJRT_Buffer *x = pjrt_put(pjrt_memory(client, 0), PJRT_Buffer_Type_F32, in, 2, dims);
  PJRT_Buffer *result = pjrt_run(loaded, &x, 1);
  PJRT_Buffer_Memory_Args *memory = ARGS(Buffer_Memory, .buffer = result);
  ck_call(api->Buffer_Memory(memory));
  PJRT_Memory_Kind_Args *kind = ARGS(Memory_Kind, .memory = memory->memory);
  ck_call(api->Memory_Kind(kind));
  ck_assert_str_eq(kind->kind, "pinned_host");
  float raw[6];
  PJRT_Buffer_CopyRawToHost_Args *bytes =
      ARGS(Buffer_CopyRawToHost, .buffer = result, .dst = raw, .transfer_size = sizeof raw);
  ck_call(api->Buffer_CopyRawToHost(bytes));
  ck_call(pjrt_await(bytes->event));
  ck_assert_float_eq(raw[1], -4);
  pjrt_drop(x);
  pjrt_drop(result);
  pjrt_drop_executable(e);
  pjrt_drop_loaded(loaded);
  PJRT_LoadedExecutable *none;
  char options[256];
  ck_refused(pjrt_try_compile(client,
                              "module @m {\n  func.func public @main(%a: tensor<2xf32> "
                              "{mhlo.layout_mode = \"{0:T(2)}\"}) -> tensor<2xf32> {\n"
                              "    return %a : tensor<2xf32>\n  }\n}\n",
                              options, pjrt_options(options, 1, 1), &none),
             INVALID_ARGUMENT, "no tiles");
  pjrt_close(client);
}
END_TEST

START_TEST(questions) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded =
      pjrt_compile(client,
                   "HloModule several\nENTRY e {\n  x = f32[2,3]{0,1} parameter(0)\n"
                   "  t = token[] parameter(1)\n  u = u8[5] constant({1,2,3,4,5})\n"
                   "  ROOT r = (f32[2,3]{0,1}, token[], u8[5]) tuple(x, t, u)\n}\n");
  PJRT_Executable *e = pjrt_executable(loaded);
  PJRT_Executable_NumOutputs_Args *outputs = ARGS(Executable_NumOutputs, .executable = e);
  ck_call(api->Executable_NumOutputs(outputs));
  ck_assert_uint_eq(outputs->num_outputs, 3);
  PJRT_Executable_OutputElementTypes_Args *types =
      ARGS(Executable_OutputElementTypes, .executable = e);
  ck_call(api->Executable_OutputElementTypes(types));
  ck_assert_int_eq(types->output_types[1], PJRT_Buffer_Type_TOKEN);
  ck_assert_int_eq(types->output_types[2], PJRT_Buffer_Type_U8);
  PJRT_Executable_OutputDimensions_Args *dims = ARGS(Executable_OutputDimensions, .executable = e);
  ck_call(api->Executable_OutputDimensions(dims));
  ck_assert_uint_eq(dims->dim_sizes[0], 2);
  ck_assert_uint_eq(dims->dim_sizes[1], 0);
  ck_assert_int_eq(dims->dims[2], 5);
  PJRT_Executable_OutputMemoryKinds_Args *kinds =
      ARGS(Executable_OutputMemoryKinds, .executable = e);
  ck_call(api->Executable_OutputMemoryKinds(kinds));
  ck_assert_str_eq(kinds->memory_kinds[2], "device");
  PJRT_Executable_GetCompiledMemoryStats_Args *stats =
      ARGS(Executable_GetCompiledMemoryStats, .executable = e);
  ck_call(api->Executable_GetCompiledMemoryStats(stats));
  ck_assert_int_eq(stats->argument_size_in_bytes, 24);
  ck_assert_int_eq(stats->output_size_in_bytes, 29);
  ck_assert_int_eq(stats->alias_size_in_bytes, 0);
  PJRT_Executable_GetCostAnalysis_Args *costs = ARGS(Executable_GetCostAnalysis, .executable = e);
  ck_call(api->Executable_GetCostAnalysis(costs));
  ck_assert_int_eq(pjrt_attribute(costs->properties, costs->num_properties, "flops")->type,
                   PJRT_NamedValue_kFloat);
  const PJRT_Layouts_Extension *layouts = pjrt_extension(PJRT_Extension_Type_Layouts);
  PJRT_Layouts_Executable_Args list = {.struct_size = sizeof list, .executable = e};
  ck_call(layouts->output_layouts(&list));
  static const char *const expected[] = {"{0,1}", "{}", "{0}"};
  for (int i = 0; i < 3; i++) {
    PJRT_Layouts_MemoryLayout_Serialize_Args text = {.struct_size = sizeof text,
                                                     .layout = list.layouts[i]};
    ck_call(layouts->layout_serialize(&text));
    ck_assert_uint_eq(text.serialized_bytes_size, strlen(expected[i]));
    ck_assert_mem_eq(text.serialized_bytes, expected[i], strlen(expected[i]));
    text.serialized_layout_deleter(text.serialized_layout);
  }
  /* Handles share what they stand for. */
  pjrt_drop_loaded(loaded);
  PJRT_Executable_Name_Args *name = ARGS(Executable_Name, .executable = e);
  ck_call(api->Executable_Name(name));
  ck_assert_uint_eq(name->executable_name_size, 7);
  pjrt_drop_executable(e);
  pjrt_close(client);
}
END_TEST

START_TEST(tokens) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded = pjrt_compile(
      client,
      "HloModule ordered\nENTRY e {\n  t = token[] parameter(0)\n  x = f32[4] parameter(1)\n"
      "  y = f32[4] negate(x)\n  ROOT r = (token[], f32[4]) tuple(t, y)\n}\n");
  const int64_t none = 0;
  /* Frameworks give an empty array for the first token, and what came out for the next. */
  PJRT_Buffer *arguments[2] = {
      pjrt_put(pjrt_memory(client, 0), PJRT_Buffer_Type_PRED, NULL, 1, &none),
      pjrt_put_floats(pjrt_memory(client, 0), four, 4)};
  for (int round = 0; round < 3; round++) {
    PJRT_Buffer *results[2];
    PJRT_Event *complete;
    ck_call(pjrt_try_run(loaded, arguments, 2, results, &complete, NULL));
    ck_call(pjrt_await(complete));
    PJRT_Buffer_ElementType_Args *type = ARGS(Buffer_ElementType, .buffer = results[0]);
    ck_call(api->Buffer_ElementType(type));
    ck_assert_int_eq(type->type, PJRT_Buffer_Type_TOKEN);
    PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent, .buffer = results[0]);
    ck_call(api->Buffer_ReadyEvent(ready));
    ck_call(pjrt_await(ready->event));
    for (int i = 0; i < 2; i++) {
      pjrt_drop(arguments[i]);
      arguments[i] = results[i];
    }
  }
  float out[4];
  pjrt_get(arguments[1], out, sizeof out);
  ck_assert_float_eq(out[3], -4);
  for (int i = 0; i < 2; i++) pjrt_drop(arguments[i]);
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

/* ---- Donation ---- */

static const char take_text[] =
    "HloModule take, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e {\n"
    "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  ROOT s = f32[4] add(x, y)\n}\n";

static int64_t aliased_bytes(PJRT_LoadedExecutable *loaded) {
  PJRT_Executable *e = pjrt_executable(loaded);
  PJRT_Executable_GetCompiledMemoryStats_Args *stats =
      ARGS(Executable_GetCompiledMemoryStats, .executable = e);
  ck_call(api->Executable_GetCompiledMemoryStats(stats));
  pjrt_drop_executable(e);
  return stats->alias_size_in_bytes;
}

START_TEST(donation) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *take = pjrt_compile(client, take_text);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  ck_assert_int_eq(aliased_bytes(take), 16);
  ck_assert_int_eq(aliased_bytes(add), 0);
  pjrt_drop_loaded(add);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
  PJRT_Buffer *y = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, y}, *result;
  PJRT_Buffer *twice[] = {x, x};
  ck_refused(pjrt_try_run(take, twice, 2, &result, NULL, NULL), INVALID_ARGUMENT,
             "flattened argument 1");
  ck_assert(!pjrt_is_deleted(x));
  /* The caller may keep it. */
  const int64_t keep = 0;
  PJRT_ExecuteOptions options = {.struct_size = sizeof options,
                                 .non_donatable_input_indices = &keep,
                                 .num_non_donatable_input_indices = 1};
  ck_call(pjrt_try_run(take, both, 2, &result, NULL, &options));
  ck_assert(!pjrt_is_deleted(x));
  pjrt_drop(result);
  /* What is seen from outside keeps its memory. */
  ck_call(api->Buffer_IncreaseExternalReferenceCount(
      ARGS(Buffer_IncreaseExternalReferenceCount, .buffer = x)));
  result = pjrt_run(take, both, 2);
  ck_assert(pjrt_is_deleted(x));
  ck_assert(!pjrt_is_deleted(y));
  ck_call(api->Buffer_DecreaseExternalReferenceCount(
      ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = x)));
  ck_refused(api->Buffer_DecreaseExternalReferenceCount(
                 ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = x)),
             INVALID_ARGUMENT, "once too often");
  PJRT_Buffer *more;
  ck_refused(pjrt_try_run(take, both, 2, &more, NULL, NULL), INVALID_ARGUMENT, "donated");
  /* A run takes no new memory for the result then. */
  PJRT_Device_MemoryStats_Args *stats = ARGS(Device_MemoryStats, .device = pjrt_device(client, 0));
  ck_call(api->Device_MemoryStats(stats));
  int64_t before = stats->bytes_in_use;
  PJRT_Buffer *next[] = {result, y};
  more = pjrt_run(take, next, 2);
  ck_assert(pjrt_is_deleted(result));
  ck_call(api->Device_MemoryStats(stats));
  ck_assert_int_eq(stats->bytes_in_use, before);
  float out[4];
  pjrt_get(more, out, sizeof out);
  ck_assert_float_eq(out[2], 9);
  PJRT_Buffer *all[] = {x, y, result, more};
  for (int i = 0; i < 4; i++) pjrt_drop(all[i]);
  pjrt_drop_loaded(take);
  pjrt_close(client);
}
END_TEST

/* ---- Failures ---- */

START_TEST(failures_travel) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  const int64_t dims[] = {4};
  PJRT_Client_CreateErrorBuffer_Args *make =
      ARGS(Client_CreateErrorBuffer, .client = client, .error_code = PJRT_Error_Code_INTERNAL,
           .error_message = "broken pipe", .error_message_size = 11, .shape_dims = dims,
           .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32,
           .memory = pjrt_memory(client, 0));
  ck_call(api->Client_CreateErrorBuffer(make));
  PJRT_Buffer *good = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
  PJRT_Buffer *bad[] = {good, make->buffer}, *result, *fine[] = {good, good};
  PJRT_Event *complete;
  ck_call(pjrt_try_run(add, bad, 2, &result, &complete, NULL));
  ck_refused(pjrt_await(complete), INTERNAL, "broken pipe");
  float out[4];
  ck_refused(pjrt_try_get(result, out, sizeof out), INTERNAL, "broken pipe");
  /* The next is not harmed. */
  PJRT_Buffer *sum = pjrt_run(add, fine, 2);
  pjrt_get(sum, out, sizeof out);
  ck_assert_float_eq(out[3], 8);
  PJRT_Buffer *all[] = {good, make->buffer, result, sum};
  for (int i = 0; i < 4; i++) pjrt_drop(all[i]);
  pjrt_drop_loaded(add);
  pjrt_close(client);
}
END_TEST

START_TEST(refused_programs) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded;
  char options[256];
  size_t size = pjrt_options(options, 1, 1);
  ck_refused(pjrt_try_compile(client, "not a program", options, size, &loaded), INVALID_ARGUMENT,
             "the program:1:");
  ck_refused(pjrt_try_compile(client, add_text, "\x1a\x7f", 2, &loaded), INVALID_ARGUMENT,
             "CompileOptions");
  /* env_option_overrides {"no_such": "x"} */
  static const char unknown[] = "\x3a\x0e\x0a\x07no_such\x12\x03\x0a\x01x";
  ck_refused(pjrt_try_compile(client, add_text, unknown, sizeof unknown - 1, &loaded),
             INVALID_ARGUMENT, "No such compile option: 'no_such'");
  static const char known[] = "\x3a\x14\x0a\x0ehalo_no_fusion\x12\x02\x10\x01";
  ck_call(pjrt_try_compile(client, add_text, known, sizeof known - 1, &loaded));
  pjrt_drop_loaded(loaded);
  ck_refused(pjrt_try_compile(client, add_text, options, pjrt_options(options, 2, 2), &loaded),
             INVALID_ARGUMENT, "do not fit");
  /* More memory than there is. */
  ck_call(pjrt_try_compile(client,
                           "HloModule large\nENTRY e {\n  x = f32[] parameter(0)\n"
                           "  ROOT b = f32[4000000000000] broadcast(x), dimensions={}\n}\n",
                           options, pjrt_options(options, 1, 1), &loaded));
  PJRT_Buffer *scalar = pjrt_put(pjrt_memory(client, 0), PJRT_Buffer_Type_F32, four, 0, NULL);
  PJRT_Buffer *result;
  ck_refused(pjrt_try_run(loaded, &scalar, 1, &result, NULL, NULL), RESOURCE_EXHAUSTED, "bytes");
  pjrt_drop(scalar);
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

/* ---- Bytes ---- */

START_TEST(serialized) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *take = pjrt_compile(client, take_text);
  PJRT_Executable *e = pjrt_executable(take);
  PJRT_Executable_Serialize_Args *out = ARGS(Executable_Serialize, .executable = e);
  ck_call(api->Executable_Serialize(out));
  PJRT_Executable_DeserializeAndLoad_Args *in =
      ARGS(Executable_DeserializeAndLoad, .client = client,
           .serialized_executable = out->serialized_bytes,
           .serialized_executable_size = out->serialized_bytes_size);
  pjrt_drop_loaded(take);
  pjrt_drop_executable(e);
  ck_call(api->Executable_DeserializeAndLoad(in));
  /* It still takes its first argument. */
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
  PJRT_Buffer *y = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, y};
  PJRT_Buffer *result = pjrt_run(in->loaded_executable, both, 2);
  float values[4];
  pjrt_get(result, values, sizeof values);
  ck_assert_float_eq(values[1], 4);
  ck_assert(pjrt_is_deleted(x));
  pjrt_drop_loaded(in->loaded_executable);
  /* Any damage is seen. */
  char *bytes = malloc(out->serialized_bytes_size);
  memcpy(bytes, out->serialized_bytes, out->serialized_bytes_size);
  in->serialized_executable = bytes;
  for (size_t i = 0; i < out->serialized_bytes_size; i += 1 + out->serialized_bytes_size / 20) {
    bytes[i] ^= 0x20;
    ck_refused(api->Executable_DeserializeAndLoad(in), INVALID_ARGUMENT, "damaged");
    bytes[i] ^= 0x20;
  }
  in->serialized_executable_size = 5;
  ck_refused(api->Executable_DeserializeAndLoad(in), INVALID_ARGUMENT, "damaged");
  free(bytes);
  out->serialized_executable_deleter(out->serialized_executable);
  PJRT_Buffer *all[] = {x, y, result};
  for (int i = 0; i < 3; i++) pjrt_drop(all[i]);
  pjrt_close(client);
}
END_TEST

/* ---- Several devices ---- */

START_TEST(partitions) {
  PJRT_Client *client = pjrt_client("cpu*2");
  char options[256];
  PJRT_LoadedExecutable *loaded;
  ck_call(pjrt_try_compile(
      client,
      "HloModule sum, num_partitions=2\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  ROOT s = f32[4] all-reduce(x), channel_id=1, replica_groups={{0,1}}, "
      "use_global_device_ids=true, to_apply=add\n}\n",
      options, pjrt_options(options, 1, 2), &loaded));
  PJRT_LoadedExecutable_AddressableDevices_Args *on =
      ARGS(LoadedExecutable_AddressableDevices, .executable = loaded);
  ck_call(api->LoadedExecutable_AddressableDevices(on));
  ck_assert_uint_eq(on->num_addressable_devices, 2);
  PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args *ids =
      ARGS(LoadedExecutable_AddressableDeviceLogicalIds, .executable = loaded);
  ck_call(api->LoadedExecutable_AddressableDeviceLogicalIds(ids));
  ck_assert_int_eq(ids->addressable_device_logical_ids[1].partition, 1);
  PJRT_LoadedExecutable_GetDeviceAssignment_Args *assignment =
      ARGS(LoadedExecutable_GetDeviceAssignment, .executable = loaded);
  ck_call(api->LoadedExecutable_GetDeviceAssignment(assignment));
  ck_assert_uint_eq(assignment->serialized_bytes_size, 14);
  assignment->serialized_device_assignment_deleter(assignment->serialized_device_assignment);
  /* What each partition computes is told in the form in which callers ask for messages. */
  PJRT_LoadedExecutable_GetExecutable_Args *get =
      ARGS(LoadedExecutable_GetExecutable, .loaded_executable = loaded);
  ck_call(api->LoadedExecutable_GetExecutable(get));
  PJRT_Program program = {.struct_size = sizeof program};
  ck_call(api->Executable_OptimizedProgram(
      ARGS(Executable_OptimizedProgram, .executable = get->executable, .program = &program)));
  ck_assert_uint_eq(program.format_size, strlen("hlo_with_config"));
  ck_assert_mem_eq(program.format, "hlo_with_config", program.format_size);
  program.code = malloc(program.code_size);
  ck_call(api->Executable_OptimizedProgram(
      ARGS(Executable_OptimizedProgram, .executable = get->executable, .program = &program)));
  ck_assert_ptr_nonnull(memmem(program.code, program.code_size, "all-reduce", 10));
  free(program.code);
  pjrt_drop_executable(get->executable);
  float second[4] = {10, 20, 30, 40}, out[4];
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
  PJRT_Buffer *y = pjrt_put_floats(pjrt_memory(client, 1), second, 4), *results[2];
  PJRT_Buffer *const *arguments[] = {&x, &y};
  PJRT_Buffer **lists[] = {&results[0], &results[1]};
  PJRT_Event *complete[2];
  PJRT_ExecuteOptions run = {.struct_size = sizeof run};
  PJRT_LoadedExecutable_Execute_Args *args = ARGS(
      LoadedExecutable_Execute, .executable = loaded, .options = &run, .argument_lists = arguments,
      .num_devices = 2, .num_args = 1, .output_lists = lists, .device_complete_events = complete);
  ck_call(api->LoadedExecutable_Execute(args));
  for (int d = 0; d < 2; d++) {
    ck_call(pjrt_await(complete[d]));
    pjrt_get(results[d], out, sizeof out);
    ck_assert_float_eq(out[2], 33);
    pjrt_drop(results[d]);
  }
  PJRT_Buffer *const *swapped[] = {&y, &x};
  args->argument_lists = swapped;
  ck_refused(api->LoadedExecutable_Execute(args), INVALID_ARGUMENT, "lies on device 1");
  args->num_devices = 1;
  ck_refused(api->LoadedExecutable_Execute(args), INVALID_ARGUMENT, "runs on 2 devices");
  pjrt_drop(x);
  pjrt_drop(y);
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

/* Compiled for no device in particular (compile_portable_executable). */
START_TEST(portable) {
  PJRT_Client *client = pjrt_client("cpu*2");
  PJRT_LoadedExecutable *loaded;
  ck_call(pjrt_try_compile(client, add_text, "\x20\x01", 2, &loaded));
  for (size_t d = 0; d < 2; d++) {
    PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, d), four, 4), *both[] = {x, x}, *result;
    PJRT_Buffer *const *arguments[] = {both};
    PJRT_Buffer **lists[] = {&result};
    ck_call(api->LoadedExecutable_Execute(ARGS(LoadedExecutable_Execute, .executable = loaded,
                                               .argument_lists = arguments, .num_devices = 1,
                                               .num_args = 2, .output_lists = lists,
                                               .execute_device = pjrt_device(client, d))));
    float out[4];
    pjrt_get(result, out, sizeof out);
    ck_assert_float_eq(out[3], 8);
    pjrt_drop(result);
    pjrt_drop(x);
  }
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

/* ---- Threads ---- */

typedef struct worker {
  PJRT_Client *client;
  PJRT_LoadedExecutable *add;
} worker;

static void *work(void *data) {
  const worker *w = data;
  for (int round = 0; round < 20; round++) {
    PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(w->client, 0), four, 4), *both[] = {x, x};
    PJRT_Buffer *sum = pjrt_run(w->add, both, 2);
    float out[4];
    pjrt_get(sum, out, sizeof out);
    ck_assert_float_eq(out[1], 4);
    pjrt_drop(x);
    pjrt_drop(sum);
  }
  return NULL;
}

START_TEST(threads) {
  worker w = {.client = pjrt_client(NULL)};
  w.add = pjrt_compile(w.client, add_text);
  pthread_t all[4];
  for (int i = 0; i < 4; i++) pthread_create(&all[i], NULL, work, &w);
  for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
  pjrt_drop_loaded(w.add);
  pjrt_close(w.client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_run");
  TCase *executables = tcase_create("executables");
  tcase_set_timeout(executables, 120);
  tcase_add_test(executables, runs);
  tcase_add_test(executables, stablehlo);
  tcase_add_test(executables, places);
  tcase_add_test(executables, questions);
  tcase_add_test(executables, tokens);
  tcase_add_test(executables, donation);
  tcase_add_test(executables, serialized);
  suite_add_tcase(suite, executables);
  TCase *failures = tcase_create("failures");
  tcase_set_timeout(failures, 120);
  tcase_add_test(failures, failures_travel);
  tcase_add_test(failures, refused_programs);
  suite_add_tcase(suite, failures);
  TCase *several = tcase_create("several");
  tcase_set_timeout(several, 120);
  tcase_add_test(several, partitions);
  tcase_add_test(several, portable);
  suite_add_tcase(suite, several);
  TCase *beside = tcase_create("beside");
  tcase_set_timeout(beside, 120);
  tcase_add_test(beside, threads);
  suite_add_tcase(suite, beside);
  return suite_run(suite);
}

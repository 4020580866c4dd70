/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt.c: the plugin from outside: what it says of itself, devices, buffers and events. */
#include "pjrt_test.h"

#include <pthread.h>

/* ---- The table ---- */

START_TEST(table) {
  pjrt_open();
  ck_assert_uint_eq(api->struct_size, 1144);
  ck_assert_int_eq(api->pjrt_api_version.major_version, 0);
  ck_assert_int_ge(api->pjrt_api_version.minor_version, 112);
  /* No entry is empty: callers do not look. */
  for (size_t at = offsetof(PJRT_Api, Error_Destroy); at < sizeof *api; at += sizeof(void *)) {
    void *entry;
    memcpy(&entry, (const char *)api + at, sizeof entry);
    ck_assert_msg(entry != NULL, "function %zu is empty", 1 + (at - 40) / 8);
  }
  int found = 0;
  for (const PJRT_Extension_Base *e = api->extension_start; e; e = e->next) {
    found |= 1 << e->type;
  }
  int expected = 1 << PJRT_Extension_Type_Custom_Call | 1 << PJRT_Extension_Type_Layouts |
                 1 << PJRT_Extension_Type_FFI | 1 << PJRT_Extension_Type_Shardings |
                 1 << PJRT_Extension_Type_Custom_Partitioner | 1 << PJRT_Extension_Type_Profiler |
                 1 << PJRT_Extension_Type_MemoryDescriptions;
  ck_assert_int_eq(found, expected);
  api->Error_Destroy(ARGS(Error_Destroy, .error = NULL));
  ck_call(api->Event_Destroy(ARGS(Event_Destroy, .event = NULL)));
  ck_call(api->Buffer_Destroy(ARGS(Buffer_Destroy, .buffer = NULL)));
  ck_call(api->Executable_Destroy(ARGS(Executable_Destroy, .executable = NULL)));
}
END_TEST

START_TEST(lacking) {
  pjrt_open();
  ck_refused(api->Device_PoisonExecution(NULL), UNIMPLEMENTED, "PJRT_Device_PoisonExecution ");
}
END_TEST

START_TEST(attributes) {
  pjrt_open();
  PJRT_Plugin_Attributes_Args *args = ARGS(Plugin_Attributes);
  ck_call(api->Plugin_Attributes(args));
  const PJRT_NamedValue *version =
      pjrt_attribute(args->attributes, args->num_attributes, "stablehlo_current_version");
  ck_assert_int_eq(version->type, PJRT_NamedValue_kInt64List);
  ck_assert_uint_eq(version->value_size, 3);
}
END_TEST

/* ---- Clients ---- */

START_TEST(client_options) {
  pjrt_open();
  PJRT_NamedValue options[1] = {pjrt_text("colour", "blue")};
  PJRT_Client_Create_Args *args = ARGS(Client_Create, .create_options = options, .num_options = 1);
  ck_refused(api->Client_Create(args), INVALID_ARGUMENT, "'colour'");
  options[0] = pjrt_text("memory_limit", "much");
  ck_refused(api->Client_Create(args), INVALID_ARGUMENT, "memory_limit must be a number");
  options[0] = pjrt_text("num_nodes", "2");
  ck_refused(api->Client_Create(args), INVALID_ARGUMENT, "key-value store's callbacks");
  options[0] = pjrt_text("device", "no such device");
  ck_refused(api->Client_Create(args), NOT_FOUND, "no such device");
  options[0] = pjrt_text("memory_limit", "1000000");
  ck_call(api->Client_Create(args));
  PJRT_Device_MemoryStats_Args *stats =
      ARGS(Device_MemoryStats, .device = pjrt_device(args->client, 0));
  ck_call(api->Device_MemoryStats(stats));
  ck_assert(stats->bytes_limit_is_set);
  ck_assert_int_eq(stats->bytes_limit, 1000000);
  pjrt_close(args->client);
}
END_TEST

START_TEST(devices) {
  PJRT_Client *client = pjrt_client("cpu*3");
  PJRT_Client_Devices_Args *all = ARGS(Client_Devices, .client = client);
  ck_call(api->Client_Devices(all));
  ck_assert_uint_eq(all->num_devices, 3);
  for (int i = 0; i < 3; i++) {
    PJRT_Device *device = pjrt_device(client, (size_t)i);
    ck_assert_ptr_eq(device, all->devices[i]);
    PJRT_Device_GetDescription_Args *about = ARGS(Device_GetDescription, .device = device);
    ck_call(api->Device_GetDescription(about));
    PJRT_DeviceDescription_Id_Args *id =
        ARGS(DeviceDescription_Id, .device_description = about->device_description);
    ck_call(api->DeviceDescription_Id(id));
    ck_assert_int_eq(id->id, i);
    PJRT_Client_LookupDevice_Args *look = ARGS(Client_LookupDevice, .client = client, .id = i);
    ck_call(api->Client_LookupDevice(look));
    ck_assert_ptr_eq(look->device, device);
    PJRT_DeviceDescription_Attributes_Args *list =
        ARGS(DeviceDescription_Attributes, .device_description = about->device_description);
    ck_call(api->DeviceDescription_Attributes(list));
    ck_assert_int_ge(
        pjrt_attribute(list->attributes, list->num_attributes, "compute_units")->int64_value, 1);
    /* Callers take texts, numbers and lists of numbers. */
    for (size_t a = 0; a < list->num_attributes; a++) {
      ck_assert_int_le(list->attributes[a].type, PJRT_NamedValue_kInt64List);
    }
  }
  ck_refused(api->Client_LookupDevice(ARGS(Client_LookupDevice, .client = client, .id = 3)),
             INVALID_ARGUMENT, "no device 3");
  pjrt_close(client);
}
END_TEST

static int dropped;
static void drop(void *data) { dropped += *(int *)data; }

START_TEST(memories) {
  PJRT_Client *client = pjrt_client("cpu*2");
  PJRT_Client_AddressableMemories_Args *all = ARGS(Client_AddressableMemories, .client = client);
  ck_call(api->Client_AddressableMemories(all));
  ck_assert_uint_eq(all->num_addressable_memories % 2, 0);
  static const char keys[2];
  int one = 1, ten = 10;
  for (size_t i = 0; i < all->num_addressable_memories; i++) {
    PJRT_Memory *memory = all->addressable_memories[i];
    PJRT_Memory_Id_Args *id = ARGS(Memory_Id, .memory = memory);
    ck_call(api->Memory_Id(id));
    ck_assert_int_eq(id->id, (int)i);
    /* The table that callers go through. */
    const PJRT_Memory_FunctionTable *functions = *(const PJRT_Memory_FunctionTable **)memory;
    ck_assert_ptr_null(functions->get_user_data(memory, &keys[0]));
    functions->set_user_data(memory, &keys[0], &one, drop);
    functions->set_user_data(memory, &keys[1], &one, drop);
    functions->set_user_data(memory, &keys[1], &ten, drop);
    ck_assert_ptr_eq(functions->get_user_data(memory, &keys[1]), &ten);
    ck_assert_ptr_eq(functions->get_user_data(memory, &keys[0]), &one);
  }
  int count = (int)all->num_addressable_memories;
  ck_assert_int_eq(dropped, count);
  pjrt_close(client);
  ck_assert_int_eq(dropped, 12 * count);
}
END_TEST

/* Older callers know fewer fields, and what is behind them is theirs. */
START_TEST(older_callers) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_Device_MemoryStats_Args stats;
  memset(&stats, 0x5a, sizeof stats);
  stats.struct_size = offsetof(PJRT_Device_MemoryStats_Args, peak_allocated_bytes);
  stats.device = pjrt_device(client, 0);
  ck_call(api->Device_MemoryStats(&stats));
  ck_assert(stats.peak_pool_bytes_is_set);
  ck_assert_int_eq(stats.peak_allocated_bytes, 0x5a5a5a5a5a5a5a5a);
  pjrt_close(client);
}
END_TEST

/* Newer callers give larger structures, of which the plugin does not touch what it does not know. */
START_TEST(newer_callers) {
  pjrt_open();
  const PJRT_NamedValue option = pjrt_text("cache_dir", "");
  struct {
    PJRT_Client_Create_Args known;
    int64_t newer[8];
  } create = {.known = {.struct_size = sizeof create, .create_options = &option, .num_options = 1}};
  memset(create.newer, 0x5a, sizeof create.newer);
  ck_call(api->Client_Create(&create.known));
  struct {
    PJRT_Device_MemoryStats_Args known;
    int64_t newer[8];
  } stats;
  memset(&stats, 0x5a, sizeof stats);
  stats.known.struct_size = sizeof stats;
  stats.known.device = pjrt_device(create.known.client, 0);
  ck_call(api->Device_MemoryStats(&stats.known));
  ck_assert(stats.known.num_allocs_is_set);
  for (int i = 0; i < 8; i++) {
    ck_assert_int_eq(create.newer[i], 0x5a5a5a5a5a5a5a5a);
    ck_assert_int_eq(stats.newer[i], 0x5a5a5a5a5a5a5a5a);
  }
  pjrt_close(create.known.client);
}
END_TEST

/* ---- Buffers ---- */

START_TEST(types_come_back) {
  static const struct {
    PJRT_Buffer_Type type;
    size_t size;
  } types[] = {
      {PJRT_Buffer_Type_PRED, 1},   {PJRT_Buffer_Type_S8, 1},        {PJRT_Buffer_Type_S16, 2},
      {PJRT_Buffer_Type_U32, 4},    {PJRT_Buffer_Type_S64, 8},       {PJRT_Buffer_Type_BF16, 2},
      {PJRT_Buffer_Type_F16, 2},    {PJRT_Buffer_Type_C64, 8},       {PJRT_Buffer_Type_C128, 16},
      {PJRT_Buffer_Type_F8E5M2, 1}, {PJRT_Buffer_Type_F8E8M0FNU, 1}, {PJRT_Buffer_Type_S4, 1},
      {PJRT_Buffer_Type_U4, 1},     {PJRT_Buffer_Type_S2, 1}};
  PJRT_Client *client = pjrt_client(NULL);
  const int64_t dims[] = {2, 3};
  for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
    unsigned char in[96], out[96];
    size_t size = 6 * types[t].size;
    for (size_t i = 0; i < size; i++) in[i] = types[t].size == 1 ? i % 2 : (unsigned char)(7 * i);
    if (types[t].type == PJRT_Buffer_Type_S4) memcpy(in, "\0\1\7\10\16\17", 6);
    if (types[t].type == PJRT_Buffer_Type_S2) memcpy(in, "\0\1\2\3\0\3", 6);
    PJRT_Buffer *buffer = pjrt_put(pjrt_memory(client, 0), types[t].type, in, 2, dims);
    PJRT_Buffer_ElementType_Args *type = ARGS(Buffer_ElementType, .buffer = buffer);
    ck_call(api->Buffer_ElementType(type));
    ck_assert_int_eq(type->type, types[t].type);
    PJRT_Buffer_ToHostBuffer_Args *ask = ARGS(Buffer_ToHostBuffer, .src = buffer);
    ck_call(api->Buffer_ToHostBuffer(ask));
    ck_call(pjrt_await(ask->event));
    ck_assert_uint_eq(ask->dst_size, size);
    pjrt_get(buffer, out, size);
    ck_assert_mem_eq(in, out, size);
    ck_refused(pjrt_try_get(buffer, out, size - 1), INVALID_ARGUMENT, "does not fit");
    pjrt_drop(buffer);
  }
  PJRT_Client_BufferFromHostBuffer_Args *args =
      ARGS(Client_BufferFromHostBuffer, .type = PJRT_Buffer_Type_F6E2M3FN,
           .memory = pjrt_memory(client, 0));
  ck_refused(api->Client_BufferFromHostBuffer(args), UNIMPLEMENTED, "32");
  pjrt_close(client);
}
END_TEST

/* Whatever bytes a host has for true, of a dense array and of one with strides, lent or copied: programs see 1, and so
 * does who reads the array back. */
START_TEST(truths_are_ones) {
  PJRT_Client *client = pjrt_client(NULL);
  static const unsigned char data[] = {0, 1, 120, 0, 255, 2}, dense[] = {0, 1, 1, 0, 1, 1};
  static const unsigned char turned[] = {0, 0, 1, 1, 1, 1};
  const int64_t dims[][2] = {{2, 3}, {3, 2}}, strides[] = {1, 3};
  for (int way = 0; way < 8; way++) {
    PJRT_Client_BufferFromHostBuffer_Args *args =
        ARGS(Client_BufferFromHostBuffer, .data = data, .type = PJRT_Buffer_Type_PRED,
             .dims = dims[way / 4], .num_dims = 2, .byte_strides = strides,
             .num_byte_strides = way < 4 ? 0 : 2,
             .host_buffer_semantics = (PJRT_HostBufferSemantics)(way % 4),
             .device = pjrt_device(client, 0));
    ck_call(api->Client_BufferFromHostBuffer(args));
    ck_call(pjrt_await(args->done_with_host_buffer));
    unsigned char out[6];
    pjrt_get(args->buffer, out, sizeof out);
    ck_assert_mem_eq(out, way < 4 ? dense : turned, 6);
    pjrt_drop(args->buffer);
  }
  pjrt_close(client);
}
END_TEST

/* Four ways to lend an array, each with strides, of which some are negative. */
START_TEST(strides_and_semantics) {
  PJRT_Client *client = pjrt_client(NULL);
  static int32_t data[2][3][4];
  const int64_t dims[] = {4, 3, 2}, strides[] = {4, -16, 48};
  for (int i = 0; i < 24; i++) (&data[0][0][0])[i] = i;
  for (int semantics = 0; semantics < 4; semantics++) {
    PJRT_Client_BufferFromHostBuffer_Args *args =
        ARGS(Client_BufferFromHostBuffer, .data = &data[0][2][0], .type = PJRT_Buffer_Type_S32,
             .dims = dims, .num_dims = 3, .byte_strides = strides, .num_byte_strides = 3,
             .host_buffer_semantics = (PJRT_HostBufferSemantics)semantics,
             .device = pjrt_device(client, 0));
    ck_call(api->Client_BufferFromHostBuffer(args));
    ck_assert_ptr_nonnull(args->done_with_host_buffer);
    if (semantics == PJRT_HostBufferSemantics_kImmutableOnlyDuringCall) data[0][2][0] = -1;
    if (semantics < 2) ck_call(pjrt_await(args->done_with_host_buffer));
    int32_t out[4][3][2];
    pjrt_get(args->buffer, out, sizeof out);
    data[0][2][0] = 8;
    for (int i = 0; i < 24; i++) {
      int x = i / 6, y = i / 2 % 3, z = i % 2;
      ck_assert_int_eq(out[x][y][z], data[z][2 - y][x]);
    }
    pjrt_drop(args->buffer);
    if (semantics >= 2) ck_call(pjrt_await(args->done_with_host_buffer));
  }
  pjrt_close(client);
}
END_TEST

START_TEST(scalars_and_nothing) {
  PJRT_Client *client = pjrt_client(NULL);
  float value = 3, out = 0;
  PJRT_Buffer *scalar = pjrt_put(pjrt_memory(client, 0), PJRT_Buffer_Type_F32, &value, 0, NULL);
  pjrt_get(scalar, &out, sizeof out);
  ck_assert_float_eq(out, 3);
  pjrt_drop(scalar);
  const int64_t dims[] = {3, 0, 2};
  PJRT_Buffer *empty = pjrt_put(pjrt_memory(client, 0), PJRT_Buffer_Type_S4, NULL, 3, dims);
  pjrt_get(empty, &out, 0);
  PJRT_Buffer_Dimensions_Args *shape = ARGS(Buffer_Dimensions, .buffer = empty);
  ck_call(api->Buffer_Dimensions(shape));
  ck_assert_uint_eq(shape->num_dims, 3);
  ck_assert_int_eq(shape->dims[1], 0);
  pjrt_drop(empty);
  pjrt_close(client);
}
END_TEST

START_TEST(deleted) {
  PJRT_Client *client = pjrt_client(NULL);
  float values[4] = {1, 2, 3, 4};
  PJRT_Buffer *buffer = pjrt_put_floats(pjrt_memory(client, 0), values, 4);
  PJRT_Device_MemoryStats_Args *stats = ARGS(Device_MemoryStats, .device = pjrt_device(client, 0));
  ck_call(api->Device_MemoryStats(stats));
  ck_assert_int_gt(stats->bytes_in_use, 0);
  ck_assert(!pjrt_is_deleted(buffer));
  PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent, .buffer = buffer);
  ck_call(api->Buffer_ReadyEvent(ready));
  ck_call(pjrt_await(ready->event));
  for (int i = 0; i < 2; i++) ck_call(api->Buffer_Delete(ARGS(Buffer_Delete, .buffer = buffer)));
  ck_assert(pjrt_is_deleted(buffer));
  ck_call(api->Device_MemoryStats(stats));
  ck_assert_int_eq(stats->bytes_in_use, 0);
  ck_refused(pjrt_try_get(buffer, values, 16), INVALID_ARGUMENT, "deleted");
  ck_call(api->Buffer_ReadyEvent(ready));
  ck_refused(pjrt_await(ready->event), INVALID_ARGUMENT, "deleted");
  pjrt_drop(buffer);
  pjrt_close(client);
}
END_TEST

START_TEST(host_layouts) {
  PJRT_Client *client = pjrt_client(NULL);
  const int64_t dims[] = {2, 3}, columns[] = {0, 1};
  const float in[6] = {1, 2, 3, 4, 5, 6}, turned[6] = {1, 4, 2, 5, 3, 6};
  float out[6];
  PJRT_Buffer *buffer = pjrt_put(pjrt_memory(client, 0), PJRT_Buffer_Type_F32, in, 2, dims);
  PJRT_Buffer_MemoryLayout layout = {
      .struct_size = sizeof layout, .tiled = {.minor_to_major = columns, .minor_to_major_size = 2}};
  PJRT_Buffer_ToHostBuffer_Args *args = ARGS(Buffer_ToHostBuffer, .src = buffer, .dst = out,
                                             .dst_size = sizeof out, .host_layout = &layout);
  ck_call(api->Buffer_ToHostBuffer(args));
  ck_call(pjrt_await(args->event));
  ck_assert_mem_eq(out, turned, sizeof out);
  /* The same order on the device, whose bytes come as they are. */
  PJRT_Client_BufferFromHostBuffer_Args *put =
      ARGS(Client_BufferFromHostBuffer, .data = in, .type = PJRT_Buffer_Type_F32, .dims = dims,
           .num_dims = 2, .memory = pjrt_memory(client, 0), .device_layout = &layout);
  ck_call(api->Client_BufferFromHostBuffer(put));
  ck_call(pjrt_await(put->done_with_host_buffer));
  PJRT_Buffer_CopyRawToHost_Args *raw = ARGS(Buffer_CopyRawToHost, .buffer = put->buffer,
                                             .dst = out, .offset = 4, .transfer_size = 12);
  ck_call(api->Buffer_CopyRawToHost(raw));
  ck_call(pjrt_await(raw->event));
  ck_assert_mem_eq(out, turned + 1, 12);
  raw->offset = 16;
  ck_refused(api->Buffer_CopyRawToHost(raw), INVALID_ARGUMENT, "not within");
  pjrt_drop(put->buffer);
  pjrt_drop(buffer);
  pjrt_close(client);
}
END_TEST

START_TEST(copies) {
  PJRT_Client *client = pjrt_client("cpu*2");
  float in[3] = {1, 2, 3}, out[3];
  PJRT_Buffer *buffer = pjrt_put_floats(pjrt_memory(client, 0), in, 3);
  for (size_t d = 0; d < 2; d++) {
    PJRT_Buffer_CopyToMemory_Args *args =
        ARGS(Buffer_CopyToMemory, .buffer = buffer, .dst_memory = pjrt_memory(client, d));
    ck_call(api->Buffer_CopyToMemory(args));
    PJRT_Buffer_Device_Args *where = ARGS(Buffer_Device, .buffer = args->dst_buffer);
    ck_call(api->Buffer_Device(where));
    ck_assert_ptr_eq(where->device, pjrt_device(client, d));
    pjrt_get(args->dst_buffer, out, sizeof out);
    ck_assert_mem_eq(in, out, sizeof out);
    pjrt_drop(args->dst_buffer);
  }
  pjrt_drop(buffer);
  pjrt_close(client);
}
END_TEST

/* Large arrays are seen where they lie, also when they were deleted since. */
START_TEST(views) {
  enum { COUNT = 1 << 16 };
  PJRT_Client *client = pjrt_client("cpu");
  float *in = malloc(sizeof *in * COUNT);
  for (int i = 0; i < COUNT; i++) in[i] = (float)i;
  PJRT_Buffer *buffer = pjrt_put_floats(pjrt_memory(client, 0), in, COUNT);
  PJRT_Buffer *small = pjrt_put_floats(pjrt_memory(client, 0), in, 4);
  PJRT_Buffer_IsOnCpu_Args *seen = ARGS(Buffer_IsOnCpu, .buffer = buffer);
  ck_call(api->Buffer_IsOnCpu(seen));
  ck_assert(seen->is_on_cpu);
  seen->buffer = small;
  ck_call(api->Buffer_IsOnCpu(seen));
  ck_assert(!seen->is_on_cpu);
  ck_refused(api->Buffer_OpaqueDeviceMemoryDataPointer(
                 ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer)),
             UNIMPLEMENTED, "no address");
  for (int i = 0; i < 2; i++) {
    ck_call(api->Buffer_IncreaseExternalReferenceCount(
        ARGS(Buffer_IncreaseExternalReferenceCount, .buffer = buffer)));
  }
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *where =
      ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer);
  ck_call(api->Buffer_OpaqueDeviceMemoryDataPointer(where));
  PJRT_Buffer_UnsafePointer_Args *same = ARGS(Buffer_UnsafePointer, .buffer = buffer);
  ck_call(api->Buffer_UnsafePointer(same));
  ck_assert_uint_eq(same->buffer_pointer, (uintptr_t)where->device_memory_ptr);
  ck_call(api->Buffer_DecreaseExternalReferenceCount(
      ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = buffer)));
  ck_call(api->Buffer_Delete(ARGS(Buffer_Delete, .buffer = buffer)));
  /* Memory that others get now is not this. */
  PJRT_Buffer *other = pjrt_put_floats(pjrt_memory(client, 0), in + 1, COUNT - 1);
  ck_assert_mem_eq(where->device_memory_ptr, in, sizeof *in * COUNT);
  ck_call(api->Buffer_DecreaseExternalReferenceCount(
      ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = buffer)));
  PJRT_Buffer *all[] = {buffer, small, other};
  for (int i = 0; i < 3; i++) pjrt_drop(all[i]);
  free(in);
  pjrt_close(client);
}
END_TEST

static bool is_ready(PJRT_Event *event) {
  PJRT_Event_IsReady_Args *args = ARGS(Event_IsReady, .event = event);
  ck_call(api->Event_IsReady(args));
  return args->is_ready;
}

/* Of an aligned array: what a program returns that does nothing is no longer the host's. */
static void lend_and_return(PJRT_Client *client, float *data, const int64_t *dims) {
  PJRT_LoadedExecutable *same =
      pjrt_compile(client, "HloModule same\nENTRY e {\n  ROOT x = f32[65536] parameter(0)\n}\n");
  PJRT_Client_BufferFromHostBuffer_Args *args =
      ARGS(Client_BufferFromHostBuffer, .data = data, .type = PJRT_Buffer_Type_F32, .dims = dims,
           .num_dims = 1, .memory = pjrt_memory(client, 0),
           .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy);
  ck_call(api->Client_BufferFromHostBuffer(args));
  PJRT_Buffer *result = pjrt_run(same, &args->buffer, 1);
  pjrt_drop(args->buffer);
  ck_call(pjrt_await(args->done_with_host_buffer));
  float before = data[7], *out = malloc(sizeof *out * (size_t)dims[0]);
  data[7] = -1;
  pjrt_get(result, out, sizeof *out * (size_t)dims[0]);
  ck_assert_float_eq(out[7], before);
  data[7] = before;
  free(out);
  pjrt_drop(result);
  pjrt_drop_loaded(same);
}

/* Arrays that stay as they are are read where they lie, from aligned places on, and never written to. */
START_TEST(lent) {
  enum { COUNT = 1 << 16 };
  PJRT_Client *client = pjrt_client("cpu");
  float *data = aligned_alloc(64, sizeof *data * (COUNT + 16));
  for (int i = 0; i < COUNT + 16; i++) data[i] = (float)i;
  PJRT_LoadedExecutable *take =
      pjrt_compile(client,
                   "HloModule take, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e {\n"
                   "  x = f32[65536] parameter(0)\n  ROOT s = f32[65536] add(x, x)\n}\n");
  const int64_t dims[] = {COUNT};
  for (int offset = 0; offset < 2; offset++) {
    PJRT_Client_BufferFromHostBuffer_Args *args =
        ARGS(Client_BufferFromHostBuffer, .data = data + offset, .type = PJRT_Buffer_Type_F32,
             .dims = dims, .num_dims = 1, .memory = pjrt_memory(client, 0),
             .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy);
    ck_call(api->Client_BufferFromHostBuffer(args));
    ck_call(api->Buffer_IncreaseExternalReferenceCount(
        ARGS(Buffer_IncreaseExternalReferenceCount, .buffer = args->buffer)));
    PJRT_Buffer_UnsafePointer_Args *where = ARGS(Buffer_UnsafePointer, .buffer = args->buffer);
    ck_call(api->Buffer_UnsafePointer(where));
    ck_assert_int_eq(where->buffer_pointer == (uintptr_t)(data + offset), offset == 0);
    ck_call(api->Buffer_DecreaseExternalReferenceCount(
        ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = args->buffer)));
    /* Donated, it is given up, and its memory is not. */
    if (offset == 0) ck_assert(!is_ready(args->done_with_host_buffer));
    PJRT_Buffer *result = pjrt_run(take, &args->buffer, 1);
    ck_assert(pjrt_is_deleted(args->buffer));
    float *out = malloc(sizeof *out * COUNT);
    pjrt_get(result, out, sizeof *out * COUNT);
    ck_assert_float_eq(out[COUNT - 1], 2 * data[offset + COUNT - 1]);
    ck_assert_float_eq(data[offset + 1], (float)(offset + 1));
    free(out);
    pjrt_drop(result);
    pjrt_drop(args->buffer);
    ck_call(pjrt_await(args->done_with_host_buffer));
  }
  lend_and_return(client, data, dims);
  free(data);
  PJRT_Device_MemoryStats_Args *stats = ARGS(Device_MemoryStats, .device = pjrt_device(client, 0));
  ck_call(api->Device_MemoryStats(stats));
  ck_assert_int_eq(stats->bytes_in_use, 0);
  pjrt_drop_loaded(take);
  pjrt_close(client);
}
END_TEST

START_TEST(in_pieces) {
  PJRT_Client *client = pjrt_client(NULL);
  const int64_t dims[] = {4};
  PJRT_ShapeSpec specs[2];
  for (int i = 0; i < 2; i++) {
    specs[i] = (PJRT_ShapeSpec){.struct_size = sizeof specs[i],
                                .dims = dims,
                                .num_dims = 1,
                                .element_type = PJRT_Buffer_Type_F32};
  }
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *make =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = specs,
           .num_shape_specs = 2, .memory = pjrt_memory(client, 0));
  ck_call(api->Client_CreateBuffersForAsyncHostToDevice(make));
  PJRT_Buffer *buffers[2];
  for (int i = 0; i < 2; i++) {
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *take =
        ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer,
             .transfer_manager = make->transfer_manager, .buffer_index = i);
    ck_call(api->AsyncHostToDeviceTransferManager_RetrieveBuffer(take));
    buffers[i] = take->buffer_out;
  }
  float values[4] = {1, 2, 3, 4}, out[4];
  for (int64_t piece = 1; piece >= 0; piece--) {
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *give = ARGS(
        AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = make->transfer_manager,
        .buffer_index = 0, .data = values + 2 * piece, .offset = 8 * piece, .transfer_size = 8,
        .is_last_transfer = piece == 0);
    ck_call(api->AsyncHostToDeviceTransferManager_TransferData(give));
    ck_call(pjrt_await(give->done_with_h2d_transfer));
  }
  pjrt_get(buffers[0], out, sizeof out);
  ck_assert_mem_eq(values, out, sizeof out);
  ck_call(api->AsyncHostToDeviceTransferManager_SetBufferError(ARGS(
      AsyncHostToDeviceTransferManager_SetBufferError, .transfer_manager = make->transfer_manager,
      .buffer_index = 1, .error_code = PJRT_Error_Code_INTERNAL, .error_message = "cut",
      .error_message_size = 3)));
  ck_refused(pjrt_try_get(buffers[1], out, sizeof out), INTERNAL, "cut");
  ck_call(api->AsyncHostToDeviceTransferManager_Destroy(
      ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = make->transfer_manager)));
  for (int i = 0; i < 2; i++) pjrt_drop(buffers[i]);
  pjrt_close(client);
}
END_TEST

/* ---- Events ---- */

typedef struct heard {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int count;
  PJRT_Error_Code code;
  PJRT_Event *event; /* destroyed from inside the callback */
} heard;

static void hear(PJRT_Error *error, void *user) {
  heard *h = user;
  PJRT_Error_Code code = error ? pjrt_code(error) : PJRT_Error_Code_OK;
  if (error) pjrt_destroy_error(error);
  api->Event_Destroy(ARGS(Event_Destroy, .event = h->event));
  pthread_mutex_lock(&h->lock);
  h->event = NULL;
  h->code = code;
  h->count++;
  pthread_cond_signal(&h->changed);
  pthread_mutex_unlock(&h->lock);
}

START_TEST(events) {
  PJRT_Client *client = pjrt_client(NULL);
  heard h = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  /* Of the caller's own. */
  PJRT_Event_Create_Args *make = ARGS(Event_Create);
  ck_call(api->Event_Create(make));
  PJRT_Event_IsReady_Args *ready = ARGS(Event_IsReady, .event = make->event);
  ck_call(api->Event_IsReady(ready));
  ck_assert(!ready->is_ready);
  for (int i = 0; i < 2; i++) {
    ck_call(api->Event_OnReady(
        ARGS(Event_OnReady, .event = make->event, .callback = hear, .user_arg = &h)));
  }
  ck_assert_int_eq(h.count, 0);
  ck_call(
      api->Event_Set(ARGS(Event_Set, .event = make->event, .error_code = PJRT_Error_Code_ABORTED,
                          .error_message = "stop", .error_message_size = 4)));
  ck_assert_int_eq(h.count, 2);
  ck_assert_int_eq(h.code, PJRT_Error_Code_ABORTED);
  ck_call(api->Event_IsReady(ready));
  ck_assert(ready->is_ready);
  for (int i = 0; i < 2; i++) {
    ck_refused(api->Event_Error(ARGS(Event_Error, .event = make->event)), ABORTED, "stop");
  }
  ck_refused(pjrt_await(make->event), ABORTED, "stop");
  /* Of many runs. */
  enum { RUNS = 50 };
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
  heard each[RUNS];
  h.count = 0;
  for (int i = 0; i < RUNS; i++) {
    PJRT_Buffer *both[] = {x, x}, *result;
    each[i] = (heard){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    ck_call(pjrt_try_run(add, both, 2, &result, &each[i].event, NULL));
    ck_call(api->Event_OnReady(
        ARGS(Event_OnReady, .event = each[i].event, .callback = hear, .user_arg = &each[i])));
    pjrt_drop(x);
    x = result;
  }
  for (int i = 0; i < RUNS; i++) {
    pthread_mutex_lock(&each[i].lock);
    while (!each[i].count) pthread_cond_wait(&each[i].changed, &each[i].lock);
    ck_assert_int_eq(each[i].code, PJRT_Error_Code_OK);
    pthread_mutex_unlock(&each[i].lock);
  }
  pjrt_drop(x);
  pjrt_drop_loaded(add);
  pjrt_close(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt");
  TCase *table_ = tcase_create("api");
  tcase_set_timeout(table_, 120);
  tcase_add_test(table_, table);
  tcase_add_test(table_, lacking);
  tcase_add_test(table_, attributes);
  suite_add_tcase(suite, table_);
  TCase *clients = tcase_create("clients");
  tcase_set_timeout(clients, 120);
  tcase_add_test(clients, client_options);
  tcase_add_test(clients, devices);
  tcase_add_test(clients, memories);
  tcase_add_test(clients, older_callers);
  tcase_add_test(clients, newer_callers);
  suite_add_tcase(suite, clients);
  TCase *buffers = tcase_create("buffers");
  tcase_set_timeout(buffers, 120);
  tcase_add_test(buffers, types_come_back);
  tcase_add_test(buffers, truths_are_ones);
  tcase_add_test(buffers, strides_and_semantics);
  tcase_add_test(buffers, scalars_and_nothing);
  tcase_add_test(buffers, deleted);
  suite_add_tcase(suite, buffers);
  TCase *transfers = tcase_create("transfers");
  tcase_set_timeout(transfers, 120);
  tcase_add_test(transfers, host_layouts);
  tcase_add_test(transfers, copies);
  tcase_add_test(transfers, views);
  tcase_add_test(transfers, lent);
  tcase_add_test(transfers, in_pieces);
  tcase_add_test(transfers, events);
  suite_add_tcase(suite, transfers);
  return suite_run(suite);
}

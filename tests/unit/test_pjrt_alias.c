/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_alias.c: functions that clients other than jaxlib call: buffers over memory of the caller and of
 * other buffers, copies and values that are told later, memories and what is known of them, loading. */
#include "pjrt_test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE = 1 << 15 };
static _Alignas(64) float large[LARGE];

static void fill_large(void) {
  for (int i = 0; i < LARGE; i++) large[i] = (float)(i % 251);
}

static bool is_ready(PJRT_Buffer *buffer) {
  PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent, .buffer = buffer);
  ck_call(api->Buffer_ReadyEvent(ready));
  PJRT_Event_IsReady_Args *is = ARGS(Event_IsReady, .event = ready->event);
  ck_call(api->Event_IsReady(is));
  api->Event_Destroy(ARGS(Event_Destroy, .event = ready->event));
  return is->is_ready;
}

static PJRT_Error *wait_for(PJRT_Buffer *buffer) {
  PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent, .buffer = buffer);
  ck_call(api->Buffer_ReadyEvent(ready));
  return pjrt_await(ready->event);
}

/* ---- Memory of the caller ---- */

static atomic_int returned;

static void on_delete(void *memory, void *user) {
  ck_assert_ptr_eq(memory, user);
  atomic_fetch_add(&returned, 1);
}

static PJRT_Error *view(PJRT_Client *client, void *data, int64_t rows, int64_t columns,
                        PJRT_Buffer_MemoryLayout *layout, PJRT_Buffer **out) {
  const int64_t dims[] = {rows, columns};
  PJRT_Client_CreateViewOfDeviceBuffer_Args *args =
      ARGS(Client_CreateViewOfDeviceBuffer, .client = client, .device_buffer_ptr = data,
           .dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32, .layout = layout,
           .on_delete_callback = on_delete, .on_delete_callback_arg = data,
           .memory = pjrt_memory(client, 0));
  PJRT_Error *error = api->Client_CreateViewOfDeviceBuffer(args);
  *out = args->buffer;
  return error;
}

static void wait_returned(int count) {
  for (int i = 0; i < 5000 && atomic_load(&returned) < count; i++) usleep(1000);
  ck_assert_int_eq(atomic_load(&returned), count);
}

/* Large aligned memory is read where it lies, and given back when the buffer is gone; once. */
START_TEST(views) {
  PJRT_Client *client = pjrt_client("cpu");
  PJRT_Buffer *x;
  float out[6];
  fill_large();
  ck_call(view(client, large, LARGE / 2, 2, NULL, &x));
  PJRT_Buffer_IncreaseExternalReferenceCount_Args *more =
      ARGS(Buffer_IncreaseExternalReferenceCount, .buffer = x);
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *where =
      ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = x);
  ck_call(api->Buffer_IncreaseExternalReferenceCount(more));
  ck_call(api->Buffer_OpaqueDeviceMemoryDataPointer(where));
  ck_assert_ptr_eq(where->device_memory_ptr, large);
  ck_call(api->Buffer_DecreaseExternalReferenceCount(
      ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = x)));
  usleep(20000);
  ck_assert_int_eq(atomic_load(&returned), 0);
  pjrt_drop(x);
  wait_returned(1);
  /* A small array, whose columns lie together. */
  int64_t order[] = {0, 1};
  PJRT_Buffer_MemoryLayout layout = {.struct_size = sizeof layout,
                                     .tiled = {.minor_to_major = order, .minor_to_major_size = 2}};
  float turned[6] = {1, 4, 2, 5, 3, 6};
  ck_call(view(client, turned, 2, 3, &layout, &x));
  wait_returned(2);
  int64_t rows[] = {1, 0};
  PJRT_Buffer_MemoryLayout plain = {.struct_size = sizeof plain,
                                    .tiled = {.minor_to_major = rows, .minor_to_major_size = 2}};
  PJRT_Buffer_ToHostBuffer_Args *get = ARGS(Buffer_ToHostBuffer, .src = x, .host_layout = &plain,
                                            .dst = out, .dst_size = sizeof out);
  ck_call(api->Buffer_ToHostBuffer(get));
  ck_call(pjrt_await(get->event));
  for (int i = 0; i < 6; i++) ck_assert_float_eq(out[i], (float)(i + 1));
  pjrt_drop(x);
  ck_refused(view(client, NULL, 2, 3, NULL, &x), INVALID_ARGUMENT, "NULL");
  pjrt_close(client);
}
END_TEST

/* A program that returns a view returns a copy: the memory is the caller's. */
START_TEST(views_are_not_results) {
  PJRT_Client *client = pjrt_client("cpu");
  PJRT_LoadedExecutable *same =
      pjrt_compile(client, "HloModule same\nENTRY e {\n  ROOT x = f32[16384,2] parameter(0)\n}\n");
  PJRT_Buffer *x;
  float *out = malloc(sizeof large);
  fill_large();
  atomic_store(&returned, 0);
  ck_call(view(client, large, LARGE / 2, 2, NULL, &x));
  PJRT_Buffer *y = pjrt_run(same, &x, 1);
  pjrt_drop(x);
  wait_returned(1);
  memset(large, 0, sizeof large);
  pjrt_get(y, out, sizeof large);
  ck_assert_float_eq(out[250], 250);
  free(out);
  pjrt_drop(y);
  pjrt_drop_loaded(same);
  pjrt_close(client);
}
END_TEST

/* ---- Memory of other buffers ---- */

static PJRT_Error *bitcast(PJRT_Buffer *buffer, PJRT_Buffer_Type type, size_t rank,
                           const int64_t *dims, PJRT_Buffer **out) {
  PJRT_Buffer_Bitcast_Args *args =
      ARGS(Buffer_Bitcast, .buffer = buffer, .element_type = type, .dims = dims, .num_dims = rank);
  PJRT_Error *error = api->Buffer_Bitcast(args);
  *out = args->out_buffer;
  return error;
}

START_TEST(bitcasts) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *y;
  const int64_t dims[] = {2, 2, 2}, wrong[] = {3};
  uint16_t halves[8];
  ck_call(bitcast(x, PJRT_Buffer_Type_U16, 3, dims, &y));
  pjrt_drop(x);
  pjrt_get(y, halves, sizeof halves);
  ck_assert_mem_eq(halves, four, sizeof four);
  ck_refused(bitcast(y, PJRT_Buffer_Type_F32, 1, wrong, &x), INVALID_ARGUMENT, "as many bytes");
  ck_refused(bitcast(y, PJRT_Buffer_Type_S4, 1, (const int64_t[]){16}, &x), UNIMPLEMENTED,
             "less than a byte");
  ck_refused(bitcast(y, PJRT_Buffer_Type_PRED, 1, (const int64_t[]){16}, &x), UNIMPLEMENTED,
             "truths");
  pjrt_drop(y);
  pjrt_close(client);
}
END_TEST

static PJRT_Client_CreateAliasBuffer_Args alias(PJRT_Client *client, int64_t count) {
  PJRT_Client_CreateAliasBuffer_Args args = {.struct_size = sizeof args,
                                             .client = client,
                                             .memory = pjrt_memory(client, 0),
                                             .shape_dims = &count,
                                             .shape_num_dims = 1,
                                             .shape_element_type = PJRT_Buffer_Type_F32};
  ck_call(api->Client_CreateAliasBuffer(&args));
  return args;
}

START_TEST(aliases) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *sum;
  PJRT_Client_CreateAliasBuffer_Args later = alias(client, 4), bad = alias(client, 4),
                                     other = alias(client, 3);
  PJRT_Buffer *arguments[] = {x, later.alias_buffer};
  PJRT_Event *complete;
  float out[4];
  ck_call(pjrt_try_run(add, arguments, 2, &sum, &complete, NULL));
  ck_assert(!is_ready(later.alias_buffer) && !is_ready(sum));
  ck_call(api->Client_FulfillAliasBuffer(
      ARGS(Client_FulfillAliasBuffer, .buffer = x, .status_code = PJRT_Error_Code_OK,
           .fulfill_alias_buffer_cb = later.fulfill_alias_buffer_cb)));
  pjrt_drop(x);
  ck_call(pjrt_await(complete));
  pjrt_get(sum, out, sizeof out);
  ck_assert_float_eq(out[3], 8);
  pjrt_get(later.alias_buffer, out, sizeof out);
  ck_assert_float_eq(out[3], 4);
  ck_call(api->Client_FulfillAliasBuffer(ARGS(
      Client_FulfillAliasBuffer, .status_code = PJRT_Error_Code_INTERNAL, .error_message = "lost",
      .error_message_size = 4, .fulfill_alias_buffer_cb = bad.fulfill_alias_buffer_cb)));
  ck_refused(wait_for(bad.alias_buffer), INTERNAL, "lost");
  ck_refused(api->Client_FulfillAliasBuffer(
                 ARGS(Client_FulfillAliasBuffer, .buffer = sum, .status_code = PJRT_Error_Code_OK,
                      .fulfill_alias_buffer_cb = other.fulfill_alias_buffer_cb)),
             INVALID_ARGUMENT, "was promised");
  ck_refused(wait_for(other.alias_buffer), INVALID_ARGUMENT, "was promised");
  pjrt_drop(other.alias_buffer);
  pjrt_drop(bad.alias_buffer);
  pjrt_drop(later.alias_buffer);
  pjrt_drop(sum);
  pjrt_drop_loaded(add);
  pjrt_close(client);
}
END_TEST

START_TEST(dependencies) {
  PJRT_Client *client = pjrt_client(NULL);
  float out[4];
  for (int fails = 0; fails < 2; fails++) {
    PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
    PJRT_Buffer_DonateWithControlDependency_Args *args =
        ARGS(Buffer_DonateWithControlDependency, .buffer = x);
    ck_call(api->Buffer_DonateWithControlDependency(args));
    ck_assert(pjrt_is_deleted(x) && !is_ready(args->out_buffer));
    PJRT_Buffer_DonateWithControlDependency_Callback_Args over = {
        .struct_size = sizeof over,
        .callback_data = args->callback_data,
        .error_code = fails ? PJRT_Error_Code_ABORTED : PJRT_Error_Code_OK,
        .error_message = "no way",
        .error_message_size = fails ? 6 : 0};
    args->dependency_ready_callback(&over);
    if (fails) {
      ck_refused(wait_for(args->out_buffer), ABORTED, "no way");
    } else {
      pjrt_get(args->out_buffer, out, sizeof out);
      ck_assert_float_eq(out[2], 3);
    }
    pjrt_drop(args->out_buffer);
    ck_refused(api->Buffer_DonateWithControlDependency(
                   ARGS(Buffer_DonateWithControlDependency, .buffer = x)),
               INVALID_ARGUMENT, "deleted");
    pjrt_drop(x);
  }
  pjrt_close(client);
}
END_TEST

/* ---- Copies ---- */

START_TEST(copies_to_a_place_told_later) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
  for (int fails = 0; fails < 2; fails++) {
    float out[2] = {0, 0};
    PJRT_Buffer_CopyRawToHostFuture_Args *args =
        ARGS(Buffer_CopyRawToHostFuture, .buffer = x, .offset = 4, .transfer_size = 8);
    ck_call(api->Buffer_CopyRawToHostFuture(args));
    PJRT_Event_IsReady_Args *is = ARGS(Event_IsReady, .event = args->event);
    ck_call(api->Event_IsReady(is));
    ck_assert(!is->is_ready);
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args told = {
        .struct_size = sizeof told,
        .callback_data = args->callback_data,
        .error_code = fails ? PJRT_Error_Code_CANCELLED : PJRT_Error_Code_OK,
        .error_message = "never mind",
        .error_message_size = 10,
        .dst = out};
    args->future_ready_callback(&told);
    if (fails) {
      ck_refused(pjrt_await(args->event), CANCELLED, "never mind");
    } else {
      ck_call(pjrt_await(args->event));
      ck_assert(out[0] == 2 && out[1] == 3);
    }
  }
  ck_refused(api->Buffer_CopyRawToHostFuture(
                 ARGS(Buffer_CopyRawToHostFuture, .buffer = x, .offset = 12, .transfer_size = 8)),
             INVALID_ARGUMENT, "not within");
  pjrt_drop(x);
  pjrt_close(client);
}
END_TEST

START_TEST(literals) {
  PJRT_Client *client = pjrt_client(NULL);
  const int64_t dims[] = {2, 3}, order[] = {0, 1};
  PJRT_ShapeSpec spec = {.struct_size = sizeof spec,
                         .dims = dims,
                         .num_dims = 2,
                         .element_type = PJRT_Buffer_Type_F32};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *make =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &spec,
           .num_shape_specs = 1, .memory = pjrt_memory(client, 0));
  ck_call(api->Client_CreateBuffersForAsyncHostToDevice(make));
  PJRT_Buffer_MemoryLayout layout = {.struct_size = sizeof layout,
                                     .tiled = {.minor_to_major = order, .minor_to_major_size = 2}};
  const float turned[] = {1, 4, 2, 5, 3, 6};
  PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args *args =
      ARGS(AsyncHostToDeviceTransferManager_TransferLiteral,
           .transfer_manager = make->transfer_manager, .data = turned, .shape_dims = dims,
           .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
  ck_refused(api->AsyncHostToDeviceTransferManager_TransferLiteral(args), INVALID_ARGUMENT,
             "shape of buffer 0");
  args->shape_num_dims = 2;
  args->shape_layout = &layout;
  ck_call(api->AsyncHostToDeviceTransferManager_TransferLiteral(args));
  ck_call(pjrt_await(args->done_with_h2d_transfer));
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *take = ARGS(
      AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = make->transfer_manager);
  ck_call(api->AsyncHostToDeviceTransferManager_RetrieveBuffer(take));
  float out[6];
  pjrt_get(take->buffer_out, out, sizeof out);
  for (int i = 0; i < 6; i++) ck_assert_float_eq(out[i], (float)(i + 1));
  ck_refused(api->AsyncHostToDeviceTransferManager_TransferLiteral(args), FAILED_PRECONDITION,
             "has ended");
  pjrt_drop(take->buffer_out);
  ck_call(api->AsyncHostToDeviceTransferManager_Destroy(
      ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = make->transfer_manager)));
  pjrt_close(client);
}
END_TEST

START_TEST(mapped_memory) {
  PJRT_Client *client = pjrt_client(NULL);
  float data[4];
  PJRT_Client_DmaMap_Args *map =
      ARGS(Client_DmaMap, .client = client, .data = data, .size = sizeof data);
  PJRT_Client_DmaUnmap_Args *unmap = ARGS(Client_DmaUnmap, .client = client, .data = data);
  ck_refused(api->Client_DmaUnmap(unmap), NOT_FOUND, "not mapped");
  ck_call(api->Client_DmaMap(map));
  ck_refused(api->Client_DmaMap(map), ALREADY_EXISTS, "is mapped");
  ck_call(api->Client_DmaUnmap(unmap));
  ck_call(api->Client_DmaMap(map));
  pjrt_close(client);
}
END_TEST

/* ---- Loading ---- */

START_TEST(loaded_again) {
  PJRT_Client *client = pjrt_client(NULL), *other = pjrt_client(NULL);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PJRT_Executable *e = pjrt_executable(add);
  PJRT_LoadedExecutable_Fingerprint_Args *of_loaded =
      ARGS(LoadedExecutable_Fingerprint, .executable = add);
  PJRT_Executable_Fingerprint_Args *of_compiled = ARGS(Executable_Fingerprint, .executable = e);
  ck_call(api->LoadedExecutable_Fingerprint(of_loaded));
  ck_call(api->Executable_Fingerprint(of_compiled));
  ck_assert_uint_eq(of_loaded->executable_fingerprint_size, 32);
  ck_assert_mem_eq(of_loaded->executable_fingerprint, of_compiled->executable_fingerprint, 32);
  pjrt_drop_loaded(add);
  PJRT_Client *const clients[] = {client, other};
  for (int i = 0; i < 2; i++) {
    PJRT_Client_Load_Args *load = ARGS(Client_Load, .client = clients[i], .executable = e);
    ck_call(api->Client_Load(load));
    PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(clients[i], 0), four, 4), *both[] = {x, x};
    PJRT_Buffer *sum = pjrt_run(load->loaded_executable, both, 2);
    float out[4];
    pjrt_get(sum, out, sizeof out);
    ck_assert_float_eq(out[3], 8);
    pjrt_drop(sum);
    pjrt_drop(x);
    pjrt_drop_loaded(load->loaded_executable);
  }
  ck_refused(api->Client_Load(ARGS(Client_Load, .client = client)), INVALID_ARGUMENT, "NULL");
  pjrt_drop_executable(e);
  pjrt_close(other);
  pjrt_close(client);
}
END_TEST

/* ---- Memories ---- */

START_TEST(statistics) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_Device *device = pjrt_device(client, 0);
  PJRT_Device_MemoryStats_Args stats;
  memset(&stats, 0x5a, sizeof stats);
  stats.struct_size = sizeof stats;
  stats.device = device;
  fill_large();
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), large, LARGE);
  ck_call(api->Device_MemoryStats(&stats));
  ck_assert(stats.peak_bytes_in_use_is_set && stats.num_allocs_is_set &&
            stats.largest_alloc_size_is_set && stats.bytes_limit_is_set &&
            stats.bytes_reserved_is_set && stats.peak_bytes_reserved_is_set &&
            stats.bytes_reservable_limit_is_set && stats.largest_free_block_bytes_is_set &&
            stats.pool_bytes_is_set && stats.peak_pool_bytes_is_set);
  ck_assert_int_ge(stats.bytes_in_use, (int64_t)sizeof large);
  ck_assert_int_eq(stats.largest_alloc_size, sizeof large);
  ck_assert_int_ge(stats.peak_pool_bytes, stats.pool_bytes);
  ck_assert_int_le(stats.largest_free_block_bytes, stats.bytes_limit - stats.bytes_in_use);
  ck_assert_int_gt(stats.largest_free_block_bytes, 0);
  pjrt_drop(x);
  ck_call(api->Device_ClearMemoryStats(ARGS(Device_ClearMemoryStats, .device = device)));
  ck_call(api->Device_MemoryStats(&stats));
  ck_assert_int_eq(stats.num_allocs, 0);
  ck_assert_int_eq(stats.largest_alloc_size, 0);
  ck_assert_int_eq(stats.peak_bytes_in_use, stats.bytes_in_use);
  ck_assert_int_eq(stats.peak_pool_bytes, stats.pool_bytes);
  pjrt_close(client);
}
END_TEST

START_TEST(kinds_of_memory) {
  PJRT_Client *client = pjrt_client("cpu");
  PJRT_Client_TopologyDescription_Args *of = ARGS(Client_TopologyDescription, .client = client);
  ck_call(api->Client_TopologyDescription(of));
  PJRT_TopologyDescription_GetMemorySpaceKindIds_Args *ids =
      ARGS(TopologyDescription_GetMemorySpaceKindIds, .topology = of->topology);
  ck_call(api->TopologyDescription_GetMemorySpaceKindIds(ids));
  PJRT_Device_AddressableMemories_Args *memories =
      ARGS(Device_AddressableMemories, .device = pjrt_device(client, 0));
  ck_call(api->Device_AddressableMemories(memories));
  ck_assert_uint_eq(ids->num_memory_space_kind_ids, memories->num_memories);
  const PJRT_MemoryDescriptions_Extension *extension =
      pjrt_extension(PJRT_Extension_Type_MemoryDescriptions);
  PJRT_Device_GetDescription_Args *about =
      ARGS(Device_GetDescription, .device = pjrt_device(client, 0));
  ck_call(api->Device_GetDescription(about));
  PJRT_DeviceDescription_MemoryDescriptions_Args list = {
      .struct_size = sizeof list, .device_description = about->device_description};
  ck_call(extension->descriptions(&list));
  ck_assert_uint_eq(list.num_memory_descriptions, memories->num_memories);
  ck_assert_uint_eq(list.default_memory_index, 0);
  for (size_t i = 0; i < memories->num_memories; i++) {
    PJRT_MemoryDescription_Kind_Args told = {.struct_size = sizeof told,
                                             .memory_description = list.memory_descriptions[i]};
    PJRT_Memory_Kind_Args *kind = ARGS(Memory_Kind, .memory = memories->memories[i]);
    PJRT_Memory_Kind_Id_Args *id = ARGS(Memory_Kind_Id, .memory = memories->memories[i]);
    ck_call(extension->kind(&told));
    ck_call(api->Memory_Kind(kind));
    ck_call(api->Memory_Kind_Id(id));
    ck_assert_str_eq(told.kind, kind->kind);
    ck_assert_int_eq(told.kind_id, id->kind_id);
    ck_assert_int_eq(ids->memory_space_kind_ids[i], id->kind_id);
  }
  ck_refused(extension->descriptions(NULL), INVALID_ARGUMENT, "NULL");
  ck_refused(extension->kind(NULL), INVALID_ARGUMENT, "NULL");
  pjrt_close(client);
}
END_TEST

/* A ShapeProto of f32[2,3], with dimensions that do not change, in the order of rows or as asked for. */
START_TEST(canonical_shapes) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_Client_TopologyDescription_Args *of = ARGS(Client_TopologyDescription, .client = client);
  ck_call(api->Client_TopologyDescription(of));
  const int64_t dims[] = {2, 3}, order[] = {0, 1};
  PJRT_Buffer_MemoryLayout layout = {.struct_size = sizeof layout,
                                     .tiled = {.minor_to_major = order, .minor_to_major_size = 2}};
  for (int turned = 0; turned < 2; turned++) {
    PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args *args =
        ARGS(TopologyDescription_MakeCanonicalShapeForMemorySpace, .topology = of->topology,
             .dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32,
             .layout = turned ? &layout : NULL);
    ck_call(api->TopologyDescription_MakeCanonicalShapeForMemorySpace(args));
    const char expected[] = {
        2 << 3,        11,           3 << 3 | 2, 2, 2, 3, 5 << 3 | 2, 4, 1 << 3 | 2, 2,
        (char)!turned, (char)turned, 6 << 3 | 2, 2, 0, 0};
    ck_assert_uint_eq(args->serialized_shape_size, sizeof expected);
    ck_assert_mem_eq(args->serialized_shape, expected, sizeof expected);
    args->serialized_shape_deleter(args->serialized_shape);
  }
  ck_refused(api->TopologyDescription_MakeCanonicalShapeForMemorySpace(
                 ARGS(TopologyDescription_MakeCanonicalShapeForMemorySpace,
                      .topology = of->topology, .memory_space_kind_id = 7)),
             INVALID_ARGUMENT, "kind 7");
  pjrt_close(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_alias");
  TCase *tests = tcase_create("buffers");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, views);
  tcase_add_test(tests, views_are_not_results);
  tcase_add_test(tests, bitcasts);
  tcase_add_test(tests, aliases);
  tcase_add_test(tests, dependencies);
  tcase_add_test(tests, copies_to_a_place_told_later);
  tcase_add_test(tests, literals);
  tcase_add_test(tests, mapped_memory);
  tcase_add_test(tests, loaded_again);
  tcase_add_test(tests, statistics);
  tcase_add_test(tests, kinds_of_memory);
  tcase_add_test(tests, canonical_shapes);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

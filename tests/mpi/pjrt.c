/* SPDX-License-Identifier: Apache-2.0 */
/* tests/mpi/pjrt.c: the plugin on several processes, as frameworks make its clients: `mpiexec -n N pjrt FOLDER`, or
 * `pjrt FOLDER PROCESS N` N times, where the folder stands for the framework's key-value store. Each process goes through
 * all of it. */
#include "../unit/pjrt_test.h"

#include <stdio.h>
#include <time.h>

static const char *store;
static int me, count;
static bool launched; /* by mpiexec, which knows who is who; else the processes are who they say */

/* ---- The key-value store: a file for each key ---- */

static void store_path(char out[512], const char *key, size_t size) {
  int length = snprintf(out, 512, "%s/%.*s", store, (int)size, key);
  ck_assert_int_lt(length, 500);
  for (char *c = out + strlen(store) + 1; *c; c++) {
    if (*c == '/') *c = '.';
  }
}

static PJRT_Error *store_put(PJRT_KeyValuePutCallback_Args *args) {
  char path[512], begun[520];
  ck_assert_ptr_eq(args->user_arg, &me);
  store_path(path, args->key, args->key_size);
  FILE *there = fopen(path, "rb");
  ck_assert_msg(!there, "the key %.*s is put twice", (int)args->key_size, args->key);
  snprintf(begun, sizeof begun, "%s.new", path);
  FILE *file = fopen(begun, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(args->value, 1, args->value_size, file), args->value_size);
  fclose(file);
  ck_assert_int_eq(rename(begun, path), 0);
  return NULL;
}

static void store_delete(char *value) { free(value); }

static PJRT_Error *store_get(PJRT_KeyValueGetCallback_Args *args) {
  enum { STORE_PAUSE = 2000000 }; /* nanoseconds */
  char path[512];
  FILE *file;
  ck_assert_ptr_eq(args->user_arg, &count);
  ck_assert_int_ge(args->timeout_in_ms, 60000);
  store_path(path, args->key, args->key_size);
  while (!(file = fopen(path, "rb"))) nanosleep(&(struct timespec){0, STORE_PAUSE}, NULL);
  args->value = malloc(4096);
  args->value_size = fread(args->value, 1, 4096, file);
  ck_assert(feof(file));
  args->value_deleter_callback = store_delete;
  fclose(file);
  return NULL;
}

static PJRT_Error *store_fail(PJRT_KeyValueGetCallback_Args *args) {
  static const char message[] = "timed out";
  return (*args->callback_error)(PJRT_Error_Code_DEADLINE_EXCEEDED, message, strlen(message));
}

/* ---- Clients ---- */

static PJRT_NamedValue number(const char *name, int64_t value) {
  return (PJRT_NamedValue){.struct_size = sizeof(PJRT_NamedValue),
                           .name = name,
                           .name_size = strlen(name),
                           .type = PJRT_NamedValue_kInt64,
                           .int64_value = value,
                           .value_size = 1};
}

static PJRT_Error *create(int node, PJRT_KeyValueGetCallback get, PJRT_Client **out) {
  const PJRT_NamedValue options[] = {pjrt_text("device", "cpu*2"), pjrt_text("cache_dir", ""),
                                     number("node_id", node), number("num_nodes", count)};
  PJRT_Client_Create_Args *args =
      ARGS(Client_Create, .create_options = options, .num_options = 4, .kv_get_callback = get,
           .kv_get_user_arg = &count, .kv_put_callback = store_put, .kv_put_user_arg = &me);
  PJRT_Error *error = api->Client_Create(args);
  *out = args->client;
  return error;
}

/* Each process has two devices, numbered through. */
static void check_devices(PJRT_Client *client) {
  PJRT_Client_Devices_Args *all = ARGS(Client_Devices, .client = client);
  PJRT_Client_ProcessIndex_Args *index = ARGS(Client_ProcessIndex, .client = client);
  ck_call(api->Client_Devices(all));
  ck_call(api->Client_ProcessIndex(index));
  ck_assert_uint_eq(all->num_devices, 2 * (size_t)count);
  ck_assert_int_eq(index->process_index, me);
  for (int i = 0; i < 2 * count; i++) {
    PJRT_Device *device = all->devices[i];
    bool mine = i / 2 == me;
    PJRT_Device_GetDescription_Args *d = ARGS(Device_GetDescription, .device = device);
    ck_call(api->Device_GetDescription(d));
    PJRT_DeviceDescription *description = d->device_description;
    PJRT_DeviceDescription_Id_Args *id =
        ARGS(DeviceDescription_Id, .device_description = description);
    PJRT_DeviceDescription_ProcessIndex_Args *process =
        ARGS(DeviceDescription_ProcessIndex, .device_description = description);
    PJRT_DeviceDescription_Kind_Args *kind =
        ARGS(DeviceDescription_Kind, .device_description = description);
    PJRT_DeviceDescription_DebugString_Args *text =
        ARGS(DeviceDescription_DebugString, .device_description = description);
    PJRT_DeviceDescription_Attributes_Args *attributes =
        ARGS(DeviceDescription_Attributes, .device_description = description);
    PJRT_Device_IsAddressable_Args *addressable = ARGS(Device_IsAddressable, .device = device);
    PJRT_Device_LocalHardwareId_Args *local = ARGS(Device_LocalHardwareId, .device = device);
    PJRT_Device_AddressableMemories_Args *memories =
        ARGS(Device_AddressableMemories, .device = device);
    ck_call(api->DeviceDescription_Id(id));
    ck_call(api->DeviceDescription_ProcessIndex(process));
    ck_call(api->DeviceDescription_Kind(kind));
    ck_call(api->DeviceDescription_DebugString(text));
    ck_call(api->DeviceDescription_Attributes(attributes));
    ck_call(api->Device_IsAddressable(addressable));
    ck_call(api->Device_LocalHardwareId(local));
    ck_call(api->Device_AddressableMemories(memories));
    ck_assert_int_eq(id->id, i);
    ck_assert_int_eq(process->process_index, i / 2);
    ck_assert_uint_gt(kind->device_kind_size, 0);
    ck_assert_ptr_nonnull(strstr(text->debug_string, kind->device_kind));
    ck_assert_int_eq(addressable->is_addressable, mine);
    ck_assert_int_eq(local->local_hardware_id, mine ? i % 2 : -1);
    ck_assert_int_eq(memories->num_memories > 0, mine);
    if (mine) ck_assert_ptr_eq(device, pjrt_device(client, (size_t)i % 2));
    const PJRT_NamedValue *units =
        pjrt_attribute(attributes->attributes, attributes->num_attributes, "compute_units");
    ck_assert_int_eq(units->type, PJRT_NamedValue_kInt64);
    ck_assert_int_gt(units->int64_value, 0);
    const PJRT_NamedValue *platform =
        pjrt_attribute(attributes->attributes, attributes->num_attributes, "opencl_platform");
    ck_assert_int_eq(platform->type, PJRT_NamedValue_kString);
    ck_assert_uint_gt(platform->value_size, 0);
  }
  PJRT_Client_TopologyDescription_Args *topology =
      ARGS(Client_TopologyDescription, .client = client);
  ck_call(api->Client_TopologyDescription(topology));
  PJRT_TopologyDescription_GetDeviceDescriptions_Args *described =
      ARGS(TopologyDescription_GetDeviceDescriptions, .topology = topology->topology);
  ck_call(api->TopologyDescription_GetDeviceDescriptions(described));
  ck_assert_uint_eq(described->num_descriptions, 2 * (size_t)count);
  PJRT_Device *other = all->devices[me ? 0 : 2];
  ck_refused(api->Device_MemoryStats(ARGS(Device_MemoryStats, .device = other)), INVALID_ARGUMENT,
             "another process");
  ck_refused(api->Device_DefaultMemory(ARGS(Device_DefaultMemory, .device = other)),
             INVALID_ARGUMENT, "another process");
}

/* Few parts are this process's own, many are everybody's. */
static void check_assignment(PJRT_Client *client) {
  int devices[64];
  for (int parts = 1; parts <= 2 * count; parts++) {
    PJRT_Client_DefaultDeviceAssignment_Args *args =
        ARGS(Client_DefaultDeviceAssignment, .client = client, .num_replicas = parts,
             .num_partitions = 1, .default_assignment_size = 64, .default_assignment = devices);
    ck_call(api->Client_DefaultDeviceAssignment(args));
    ck_assert_int_eq(devices[parts - 1], parts - 1 + (parts <= 2 ? 2 * me : 0));
  }
}

/* The sum over all devices of arrays that are full of 1, 2, .... */
static void check_sum(PJRT_Client *client) {
  char options[256];
  PJRT_LoadedExecutable *loaded;
  ck_call(
      pjrt_try_compile(client,
                       "HloModule sum\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                       "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[4] parameter(0)\n"
                       "  ROOT r = f32[4] all-reduce(x), replica_groups={}, to_apply=add\n}\n",
                       options, pjrt_options(options, 2 * count, 1), &loaded));
  PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args *parts =
      ARGS(LoadedExecutable_AddressableDeviceLogicalIds, .executable = loaded);
  ck_call(api->LoadedExecutable_AddressableDeviceLogicalIds(parts));
  ck_assert_uint_eq(parts->num_addressable_device_logical_ids, 2);
  PJRT_Buffer *in[2], *out[2];
  PJRT_Buffer *const *in_lists[] = {&in[0], &in[1]};
  PJRT_Buffer **out_lists[] = {&out[0], &out[1]};
  PJRT_Event *complete[2];
  for (int d = 0; d < 2; d++) {
    ck_assert_int_eq(parts->addressable_device_logical_ids[d].replica, 2 * me + d);
    float value = (float)(2 * me + d + 1), all[4] = {value, value, value, value};
    in[d] = pjrt_put_floats(pjrt_memory(client, (size_t)d), all, 4);
  }
  PJRT_ExecuteOptions how = {.struct_size = sizeof how};
  ck_call(api->LoadedExecutable_Execute(
      ARGS(LoadedExecutable_Execute, .executable = loaded, .options = &how,
           .argument_lists = in_lists, .num_devices = 2, .num_args = 1, .output_lists = out_lists,
           .device_complete_events = complete)));
  for (int d = 0; d < 2; d++) {
    float result[4];
    ck_call(pjrt_await(complete[d]));
    pjrt_get(out[d], result, sizeof result);
    ck_assert_float_eq(result[3], (float)(count * (2 * count + 1)));
    pjrt_drop(in[d]);
    pjrt_drop(out[d]);
  }
  pjrt_drop_loaded(loaded);
}

START_TEST(processes) {
  PJRT_Client *client;
  pjrt_open();
  ck_call(api->Plugin_Initialize(ARGS(Plugin_Initialize)));
  ck_refused(create(me, store_fail, &client), DEADLINE_EXCEEDED, "timed out");
  ck_refused(create(count, store_get, &client), INVALID_ARGUMENT, "there is no process");
  /* Clients one after the other. */
  for (int i = 0; i < 2; i++) {
    if (i > 0 || launched) {
      ck_refused(create((me + 1) % count, store_get, &client), FAILED_PRECONDITION,
                 "its process_id must be that number");
    }
    ck_call(create(me, store_get, &client));
    check_devices(client);
    check_assignment(client);
    check_sum(client);
    pjrt_close(client);
  }
}
END_TEST

int main(int argc, char **argv) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *size = getenv("OMPI_COMM_WORLD_SIZE");
  launched = argc == 2;
  if (argc == 4) {
    rank = argv[2];
    size = argv[3];
  }
  if ((argc != 2 && argc != 4) || !rank || !size) {
    fprintf(stderr, "usage: mpiexec -n N pjrt FOLDER, or pjrt FOLDER PROCESS N\n");
    return 2;
  }
  store = argv[1];
  me = atoi(rank);
  count = atoi(size);
  setenv("CK_FORK", "no", 1); /* mpiexec knows this process, and no child of it */
  Suite *suite = suite_create("processes");
  TCase *all = tcase_create("all");
  tcase_add_test(all, processes);
  suite_add_tcase(suite, all);
  return suite_run(suite);
}

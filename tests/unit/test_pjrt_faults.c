/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_faults.c: whatever the plugin is asked for, each OpenCL call and each large allocation on the way
 * fails once: the caller gets a status, nothing is held afterwards, and the next program is fine.
 *
 * The plugin finds these functions before those of the libraries, since they are the program's own and exported. */
#include "cl_faults.h"
#include "pjrt_test.h"

#include <link.h>
#include <stdio.h>

/* So that the OpenCL library is there for the plugin to find these functions in front of it. */
__attribute__((used)) static void *const opencl_library = (void *)clGetPlatformIDs;

/* ---- Allocations of the plugin ---- */

static atomic_int memory_countdown = -1; /* as fault_countdown */
/* Smaller ones are the library's own small things, which it does not survive. */
enum { MEMORY_LARGE = 64 << 10 };

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
static const bool memory_can_fail = false; /* the sanitizer has these functions */
#else
static const bool memory_can_fail = true;
static uintptr_t plugin_begin, plugin_end;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static bool memory_is_due(size_t size, void *caller) {
  uintptr_t at = (uintptr_t)caller;
  if (size < MEMORY_LARGE || at < plugin_begin || at >= plugin_end) return false;
  if (atomic_load(&memory_countdown) < 0) return false;
  return atomic_fetch_sub(&memory_countdown, 1) == 0;
}

#pragma GCC visibility push(default)
void *malloc(size_t size) {
  return memory_is_due(size, __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  return memory_is_due(count * size, __builtin_return_address(0)) ? NULL
                                                                  : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  return memory_is_due(size, __builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}
#pragma GCC visibility pop

static int memory_find_plugin(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  (void)data;
  if (!strstr(info->dlpi_name, "libhalo_pjrt")) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    plugin_begin = info->dlpi_addr + part->p_vaddr;
    plugin_end = plugin_begin + part->p_memsz;
  }
  return 1;
}
#endif

/* ---- What the plugin is asked for ---- */

enum { COUNT = 1 << 15 };
static float data[COUNT];

/* Two kernels without fusion, a donated argument, a constant. */
static const char work_text[] =
    "HloModule work, input_output_alias={ {0}: (0, {}, may-alias) }\n"
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    "ENTRY e {\n  x = f32[32768] parameter(0)\n  y = f32[32768] parameter(1)\n"
    "  z = f32[] constant(0)\n  t = f32[32768] add(x, y)\n"
    "  r = f32[] reduce(t, z), dimensions={0}, to_apply=add\n"
    "  ROOT o = (f32[32768], f32[]) tuple(t, r)\n}\n";

/* Takes an error, of which there must be a text. */
static bool good(PJRT_Error *error) {
  if (!error) return true;
  ck_assert_int_ne(pjrt_code(error), PJRT_Error_Code_OK);
  ck_assert_uint_gt(strlen(pjrt_message(error)), 0);
  pjrt_destroy_error(error);
  return false;
}

static PJRT_Buffer *try_put(PJRT_Client *client, PJRT_HostBufferSemantics semantics) {
  const int64_t dims[] = {COUNT};
  PJRT_Client_BufferFromHostBuffer_Args *args =
      ARGS(Client_BufferFromHostBuffer, .client = client, .data = data,
           .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1,
           .host_buffer_semantics = semantics, .memory = pjrt_memory(client, 0));
  if (!good(api->Client_BufferFromHostBuffer(args))) return NULL;
  (void)good(pjrt_await(args->done_with_host_buffer));
  return args->buffer;
}

static void try_get_all(PJRT_Buffer *buffer) {
  static float out[COUNT];
  PJRT_Buffer_CopyRawToHost_Args *raw =
      ARGS(Buffer_CopyRawToHost, .buffer = buffer, .dst = out, .transfer_size = sizeof *out);
  PJRT_Buffer_CopyToMemory_Args *copy = ARGS(Buffer_CopyToMemory, .buffer = buffer);
  PJRT_Buffer_Memory_Args *memory = ARGS(Buffer_Memory, .buffer = buffer);
  (void)good(pjrt_try_get(buffer, out, sizeof out));
  if (good(api->Buffer_CopyRawToHost(raw))) (void)good(pjrt_await(raw->event));
  ck_call(api->Buffer_Memory(memory));
  copy->dst_memory = memory->memory;
  if (good(api->Buffer_CopyToMemory(copy))) {
    (void)good(pjrt_try_get(copy->dst_buffer, out, sizeof out));
    pjrt_drop(copy->dst_buffer);
  }
  PJRT_Buffer_IncreaseExternalReferenceCount_Args *more =
      ARGS(Buffer_IncreaseExternalReferenceCount, .buffer = buffer);
  if (good(api->Buffer_IncreaseExternalReferenceCount(more))) {
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *where =
        ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer);
    (void)good(api->Buffer_OpaqueDeviceMemoryDataPointer(where));
    ck_call(api->Buffer_DecreaseExternalReferenceCount(
        ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = buffer)));
  }
  PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent, .buffer = buffer);
  if (good(api->Buffer_ReadyEvent(ready))) (void)good(pjrt_await(ready->event));
}

static void try_run(PJRT_LoadedExecutable *loaded, PJRT_Buffer *x, PJRT_Buffer *y) {
  PJRT_Buffer *arguments[] = {x, y}, *results[2];
  PJRT_Event *complete;
  if (!good(pjrt_try_run(loaded, arguments, 2, results, &complete, NULL))) return;
  (void)good(pjrt_await(complete));
  float sum;
  try_get_all(results[0]);
  (void)good(pjrt_try_get(results[1], &sum, sizeof sum));
  pjrt_drop(results[0]);
  pjrt_drop(results[1]);
}

/* In pieces. */
static void try_pieces(PJRT_Client *client) {
  const int64_t dims[] = {COUNT};
  PJRT_ShapeSpec spec = {.struct_size = sizeof spec,
                         .dims = dims,
                         .num_dims = 1,
                         .element_type = PJRT_Buffer_Type_F32};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *make =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &spec,
           .num_shape_specs = 1, .memory = pjrt_memory(client, 0));
  if (!good(api->Client_CreateBuffersForAsyncHostToDevice(make))) return;
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *take = ARGS(
      AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = make->transfer_manager);
  ck_call(api->AsyncHostToDeviceTransferManager_RetrieveBuffer(take));
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *give = ARGS(
      AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = make->transfer_manager,
      .data = data, .transfer_size = sizeof data, .is_last_transfer = true);
  if (good(api->AsyncHostToDeviceTransferManager_TransferData(give))) {
    (void)good(pjrt_await(give->done_with_h2d_transfer));
  }
  ck_call(api->AsyncHostToDeviceTransferManager_Destroy(
      ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = make->transfer_manager)));
  static float out[COUNT];
  (void)good(pjrt_try_get(take->buffer_out, out, sizeof out));
  pjrt_drop(take->buffer_out);
}

static void try_bytes(PJRT_Client *client, PJRT_LoadedExecutable *loaded) {
  PJRT_Executable *e = pjrt_executable(loaded);
  PJRT_Executable_Serialize_Args *out = ARGS(Executable_Serialize, .executable = e);
  if (good(api->Executable_Serialize(out))) {
    PJRT_Executable_DeserializeAndLoad_Args *in =
        ARGS(Executable_DeserializeAndLoad, .client = client,
             .serialized_executable = out->serialized_bytes,
             .serialized_executable_size = out->serialized_bytes_size);
    if (good(api->Executable_DeserializeAndLoad(in))) pjrt_drop_loaded(in->loaded_executable);
    out->serialized_executable_deleter(out->serialized_executable);
  }
  pjrt_drop_executable(e);
}

/* halo_no_fusion */
static const char apart[] = "\x3a\x14\x0a\x0ehalo_no_fusion\x12\x02\x10\x01";

static void try_everything(PJRT_Client *client) {
  PJRT_LoadedExecutable *loaded;
  PJRT_Buffer *x = try_put(client, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  PJRT_Buffer *y = try_put(client, PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
  if (good(pjrt_try_compile(client, work_text, apart, sizeof apart - 1, &loaded))) {
    if (x && y) try_run(loaded, x, y);
    try_bytes(client, loaded);
    pjrt_drop_loaded(loaded);
  }
  try_pieces(client);
  if (x) pjrt_drop(x);
  if (y) pjrt_drop(y);
}

/* Everything works, and no memory is held. */
static void check_client(PJRT_Client *client) {
  pjrt_check_sum(client);
  PJRT_Device_MemoryStats_Args *stats = ARGS(Device_MemoryStats, .device = pjrt_device(client, 0));
  ck_call(api->Device_MemoryStats(stats));
  ck_assert_int_eq(stats->bytes_in_use, 0);
}

/* The first, the second, ... until there are no more, or enough of them were tried. */
static void fail_each(atomic_int *countdown, const char *what) {
  PJRT_Client *client = pjrt_client("cpu");
  int most = 40, n = 0;
  for (; n < most; n++) {
    atomic_store(countdown, n);
    try_everything(client);
    bool reached = atomic_exchange(countdown, -1) < 0;
    check_client(client);
    if (!reached) break;
  }
  ck_assert_msg(n > 0, "no %s on the way", what);
  pjrt_close(client);
}

static const struct {
  fault_call call;
  const char *name;
} kinds[] = {
    {FAULT_KERNEL, "launch"}, {FAULT_FLUSH, "flush"},   {FAULT_MEMORY, "buffer"},
    {FAULT_BUILD, "build"},   {FAULT_CREATE, "kernel"}, {FAULT_ARGUMENT, "argument"},
    {FAULT_MAP, "map"},       {FAULT_READ, "read"},     {FAULT_WRITE, "write"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

START_TEST(opencl_call_fails) { fail_each(&fault_countdown[kinds[_i].call], kinds[_i].name); }
END_TEST

START_TEST(allocation_fails) {
  if (!memory_can_fail) return;
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
  pjrt_open();
  dl_iterate_phdr(memory_find_plugin, NULL);
  ck_assert_uint_gt(plugin_end, plugin_begin);
#endif
  fail_each(&memory_countdown, "large allocation");
}
END_TEST

int main(void) {
  for (int i = 0; i < COUNT; i++) data[i] = (float)i;
  Suite *suite = suite_create("pjrt_faults");
  TCase *faults = tcase_create("faults");
  tcase_set_timeout(faults, 300);
  tcase_add_loop_test(faults, opencl_call_fails, 0, KINDS);
  tcase_add_test(faults, allocation_fails);
  suite_add_tcase(suite, faults);
  return suite_run(suite);
}

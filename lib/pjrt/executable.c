/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/executable.c: executables of the interface, and what callers ask about them. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* ---- Life ---- */

pjrt_core *pjrt_core_create(PJRT_Client *client) {
  pjrt_core *core = pjrt_alloc(sizeof *core);
  atomic_init(&core->references, 1);
  core->client = client;
  pthread_mutex_init(&core->lock, NULL);
  return core;
}

void pjrt_core_retain(pjrt_core *core) { atomic_fetch_add(&core->references, 1); }

static void executable_release_slots(pjrt_slots *slots) {
  for (size_t i = 0; i < slots->count; i++) {
    free(slots->data[i].sharding);
    pjrt_layout_release(slots->data[i].layout);
  }
  free(slots->data);
  free(slots->types);
  free(slots->dims);
  free(slots->ranks);
  free(slots->kinds);
  free(slots->kind_sizes);
  free(slots->layouts);
  free(slots->shardings);
  free(slots->sharding_sizes);
}

void pjrt_core_release(pjrt_core *core) {
  if (!core || atomic_fetch_sub(&core->references, 1) != 1) return;
  for (size_t i = 0; core->elsewhere && i < core->client->addressable_count; i++) {
    halo_executable_release(core->elsewhere[i]);
  }
  halo_executable_release(core->executable);
  executable_release_slots(&core->arguments);
  executable_release_slots(&core->results);
  pthread_mutex_destroy(&core->lock);
  free(core->elsewhere);
  pjrt_writer_deinit(&core->told);
  free(core->name);
  free(core->ids);
  free(core->code);
  free(core->options);
  free(core->devices);
  free(core->parts);
  free(core->costs);
  pjrt_client_release(core->kept);
  free(core);
}

PJRT_LoadedExecutable *pjrt_core_load(pjrt_core *core) {
  PJRT_LoadedExecutable *loaded = pjrt_alloc(sizeof *loaded);
  loaded->core = core;
  return loaded;
}

/* ---- What is known of it ---- */

/* The same once more as lists, which is how callers ask. */
static void executable_list(pjrt_slots *slots) {
  size_t dims = 0, count = slots->count;
  for (size_t i = 0; i < count; i++) {
    if (slots->data[i].shape) dims += (size_t)halo_shape_rank(slots->data[i].shape);
  }
  slots->types = pjrt_alloc(sizeof *slots->types * count);
  slots->dims = pjrt_alloc(sizeof *slots->dims * dims);
  slots->ranks = pjrt_alloc(sizeof *slots->ranks * count);
  slots->kinds = pjrt_alloc(sizeof *slots->kinds * count);
  slots->kind_sizes = pjrt_alloc(sizeof *slots->kind_sizes * count);
  slots->layouts = pjrt_alloc(sizeof *slots->layouts * count);
  slots->shardings = pjrt_alloc(sizeof *slots->shardings * count);
  slots->sharding_sizes = pjrt_alloc(sizeof *slots->sharding_sizes * count);
  dims = 0;
  for (size_t i = 0; i < count; i++) {
    pjrt_slot *slot = &slots->data[i];
    int rank = slot->shape ? halo_shape_rank(slot->shape) : 0;
    slots->types[i] =
        slot->shape ? pjrt_type_from_halo(halo_shape_type(slot->shape)) : PJRT_Buffer_Type_TOKEN;
    slots->ranks[i] = (size_t)rank;
    for (int d = 0; d < rank; d++) slots->dims[dims++] = halo_shape_dim(slot->shape, d);
    slots->kinds[i] = pjrt_memory_kind_name(slot->memory);
    slots->kind_sizes[i] = strlen(slots->kinds[i]);
    slot->layout = pjrt_layout_create(slot->shape);
    slots->layouts[i] = slot->layout;
    slots->shardings[i] = slot->sharding ? slot->sharding : "";
    slots->sharding_sizes[i] = slot->sharding_size;
  }
}

static PJRT_NamedValue executable_cost(const char *name, double value) {
  return (PJRT_NamedValue){.struct_size = sizeof(PJRT_NamedValue),
                           .name = name,
                           .name_size = strlen(name),
                           .type = PJRT_NamedValue_kFloat,
                           .float_value = (float)value,
                           .value_size = 1};
}

static void executable_describe_costs(pjrt_core *core) {
  halo_executable_get_costs(core->executable, &core->sizes);
  const PJRT_NamedValue costs[] = {executable_cost("flops", core->sizes.flops),
                                   executable_cost("bytes accessed", core->sizes.traffic)};
  core->cost_count = sizeof costs / sizeof costs[0];
  core->costs = pjrt_alloc(sizeof costs);
  memcpy(core->costs, costs, sizeof costs);
}

void pjrt_core_describe(pjrt_core *core) {
  halo_executable *e = core->executable;
  for (size_t i = 0; i < core->arguments.count; i++) {
    pjrt_slot *slot = &core->arguments.data[i];
    slot->shape = halo_executable_argument_shape(e, slot->index);
  }
  for (size_t i = 0; i < core->results.count; i++) {
    pjrt_slot *slot = &core->results.data[i];
    slot->shape = halo_executable_result_shape(e, slot->index);
  }
  executable_list(&core->arguments);
  executable_list(&core->results);
  executable_describe_costs(core);
  core->device_count = (size_t)halo_executable_device_count(e);
  core->devices = pjrt_alloc(sizeof *core->devices * core->device_count);
  core->parts = pjrt_alloc(sizeof *core->parts * core->device_count);
  for (size_t i = 0; i < core->device_count; i++) {
    core->devices[i] = pjrt_client_device(core->client, halo_executable_device(e, (int)i));
    halo_executable_part(e, (int)i, &core->parts[i].replica, &core->parts[i].partition);
  }
}

/* ---- The interface: executables ---- */

PJRT_Error *pjrt_Executable_Destroy(PJRT_Executable_Destroy_Args *args) {
  if (!args->executable) return NULL;
  pjrt_core_release(args->executable->core);
  free(args->executable);
  return NULL;
}

/* The caller's structure is not zeroed: each field that it knows is written. */
PJRT_Error *pjrt_Executable_GetCompiledMemoryStats(
    PJRT_Executable_GetCompiledMemoryStats_Args *args) {
  const pjrt_core *core = args->executable->core;
  const halo_executable_costs *sizes = &core->sizes;
  PJRT_Executable_GetCompiledMemoryStats_Args all = {0};
  size_t head = offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, generated_code_size_in_bytes);
  /* The library tells what could be shared; what the program offers is. */
  int64_t offered = 0;
  for (size_t i = 0; i < core->arguments.count; i++) {
    const pjrt_slot *slot = &core->arguments.data[i];
    if (slot->offered) offered += halo_shape_byte_size(slot->shape);
  }
  int64_t aliased = sizes->aliased < offered ? sizes->aliased : offered;
  all.generated_code_size_in_bytes = sizes->code;
  all.argument_size_in_bytes = sizes->arguments;
  all.output_size_in_bytes = sizes->results;
  all.alias_size_in_bytes = aliased;
  all.temp_size_in_bytes = sizes->temporaries + sizes->constants;
  all.peak_memory_in_bytes =
      sizes->arguments + sizes->results - aliased + sizes->temporaries + sizes->constants;
  all.total_size_in_bytes = all.peak_memory_in_bytes;
  size_t known = args->struct_size < sizeof all ? args->struct_size : sizeof all;
  if (known > head) memcpy((char *)args + head, (const char *)&all + head, known - head);
  return NULL;
}

/* The module that callers are told: what each partition computes, or the program as it came. */
static halo_status executable_told_module(pjrt_core *core, halo_module **out) {
  if (core->partitions == 1) return pjrt_program_read(core->code, core->code_size, out);
  const char *text = halo_executable_report(core->executable, HALO_REPORT_PARTITION);
  return halo_module_parse(text, strlen(text), core->name, out);
}

static void executable_tell(pjrt_core *core) {
  halo_module *module;
  char *proto;
  size_t size;
  if (executable_told_module(core, &module) != HALO_OK) return;
  if (halo_module_to_proto(module, &proto, &size) == HALO_OK) {
    const uint8_t *bytes = (const uint8_t *)proto;
    pjrt_program_configure(&core->told, (pjrt_message){bytes, bytes + size}, core->replicas,
                           core->partitions);
    halo_text_release(proto);
  }
  halo_module_release(module);
}

const pjrt_writer *pjrt_core_told(pjrt_core *core) {
  pthread_mutex_lock(&core->lock);
  bool as_it_came = core->partitions == 1 && pjrt_program_is_mlir(core->code, core->code_size);
  if (!as_it_came && !core->told.size) executable_tell(core);
  pthread_mutex_unlock(&core->lock);
  return &core->told;
}

/* StableHLO as it came, which callers can read; of several partitions the program of each, for callers ask which messages
 * they send. */
PJRT_Error *pjrt_Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args *args) {
  pjrt_core *core = args->executable->core;
  PJRT_Program *program = args->program;
  if (!program) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "PJRT_Executable_OptimizedProgram: there is no place for the program");
  }
  const pjrt_writer *told = pjrt_core_told(core);
  const char *code = told->size ? (const char *)told->data : core->code;
  size_t size = told->size ? told->size : core->code_size;
  const char *format = told->size ? "hlo_with_config" : "mlir";
  if (program->code) {
    if (program->code_size < size) {
      return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the program takes %zu bytes, not %zu",
                        size, program->code_size);
    }
    memcpy(program->code, code, size);
  }
  program->code_size = size;
  program->format = format;
  program->format_size = strlen(format);
  return NULL;
}

static void executable_keep(PJRT_SerializedCompileOptions *options) { (void)options; }

PJRT_Error *pjrt_Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args *args) {
  args->serialized_bytes = args->executable->core->options;
  args->serialized_bytes_size = args->executable->core->options_size;
  args->serialized_compile_options = NULL;
  args->serialized_compile_options_deleter = executable_keep;
  return NULL;
}

/* ---- The interface: loaded executables ---- */

PJRT_Error *pjrt_LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args *args) {
  if (!args->executable) return NULL;
  pjrt_core_release(args->executable->core);
  free(args->executable);
  return NULL;
}

PJRT_Error *pjrt_LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args *args) {
  args->executable = pjrt_alloc(sizeof *args->executable);
  args->executable->core = args->loaded_executable->core;
  pjrt_core_retain(args->executable->core);
  return NULL;
}

static void executable_free_assignment(PJRT_DeviceAssignmentSerialized *assignment) {
  free(assignment);
}

PJRT_Error *pjrt_LoadedExecutable_GetDeviceAssignment(
    PJRT_LoadedExecutable_GetDeviceAssignment_Args *args) {
  const pjrt_core *core = args->executable->core;
  pjrt_writer writer = {0};
  if (!core->portable) {
    pjrt_assignment_write(&writer, core->ids, core->replicas, core->partitions);
  }
  args->serialized_bytes = (char *)writer.data;
  args->serialized_bytes_size = writer.size;
  args->serialized_device_assignment = (PJRT_DeviceAssignmentSerialized *)writer.data;
  args->serialized_device_assignment_deleter = executable_free_assignment;
  return NULL;
}

PJRT_Error *pjrt_LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args *args) {
  args->executable->deleted = true;
  return NULL;
}

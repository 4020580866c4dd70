/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/compile.c: from a program's bytes to what executables of the interface share. */
#include "halo/passes.h"
#include "pjrt/pjrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arguments and results ---- */

/* Leaves of a shape, tokens among them. */
static size_t compile_leaves(const halo_shape *shape) {
  if (halo_shape_type(shape) != HALO_TUPLE) return 1;
  size_t count = 0;
  for (int i = 0; i < halo_shape_tuple_count(shape); i++) {
    count += compile_leaves(halo_shape_tuple_element(shape, i));
  }
  return count;
}

static char *compile_sharding(const halo_sharding *sharding, size_t *size) {
  pjrt_writer writer = {0};
  if (sharding) pjrt_sharding_write(&writer, sharding);
  *size = writer.size;
  return (char *)writer.data;
}

/* Appends the leaves of a shape. `arrays` counts those that are no tokens. */
static void compile_add(pjrt_slots *slots, const halo_shape *shape, const halo_sharding *sharding,
                        int *arrays) {
  if (halo_shape_type(shape) == HALO_TUPLE) {
    bool each = sharding && sharding->kind == HALO_SHARDING_TUPLE &&
                sharding->element_count == halo_shape_tuple_count(shape);
    for (int i = 0; i < halo_shape_tuple_count(shape); i++) {
      compile_add(slots, halo_shape_tuple_element(shape, i),
                  each ? &sharding->elements[i] : sharding, arrays);
    }
    return;
  }
  pjrt_slot *slot = &slots->data[slots->count++];
  slot->index = halo_shape_type(shape) == HALO_TOKEN ? -1 : (*arrays)++;
  slot->sharding = compile_sharding(sharding, &slot->sharding_size);
}

/* The kinds of memory that the program names, of parameters and results that are no tuples. Those that are not
 * known are the device's. */
static void compile_find_memory(pjrt_slots *slots, const halo_module *module, bool result) {
  for (size_t i = 0; i < slots->count; i++) {
    const char *kind = halo_module_memory_kind(module, result, (int)i);
    for (int k = 0; kind && k < PJRT_MEMORY_KINDS; k++) {
      if (strcmp(kind, pjrt_memory_kind_name((pjrt_memory_kind)k)) != 0) continue;
      slots->data[i].memory = (pjrt_memory_kind)k;
    }
  }
}

static void compile_find_slots(pjrt_core *core, const halo_module *module) {
  int parameters = halo_module_parameter_count(module), arrays = 0;
  size_t count = 0;
  for (int p = 0; p < parameters; p++)
    count += compile_leaves(halo_module_parameter_shape(module, p));
  core->arguments.data = pjrt_alloc(sizeof *core->arguments.data * count);
  for (int p = 0; p < parameters; p++) {
    compile_add(&core->arguments, halo_module_parameter_shape(module, p),
                halo_module_parameter_sharding(module, p), &arrays);
  }
  for (size_t i = 0; i < count; i++) {
    pjrt_slot *slot = &core->arguments.data[i];
    slot->offered = slot->index >= 0 && halo_module_argument_is_offered(module, slot->index);
  }
  const halo_shape *result = halo_module_result_shape(module);
  core->results.data = pjrt_alloc(sizeof *core->results.data * compile_leaves(result));
  arrays = 0;
  compile_add(&core->results, result, halo_module_result_sharding(module), &arrays);
  compile_find_memory(&core->arguments, module, false);
  compile_find_memory(&core->results, module, true);
}

/* Where the library partitioned the program, it knows how arrays lie. */
static void compile_find_shardings(pjrt_core *core) {
  for (int side = 0; side < 2; side++) {
    pjrt_slots *slots = side ? &core->results : &core->arguments;
    for (size_t i = 0; i < slots->count; i++) {
      pjrt_slot *slot = &slots->data[i];
      const halo_sharding *sharding =
          side ? halo_executable_result_sharding(core->executable, slot->index)
               : halo_executable_argument_sharding(core->executable, slot->index);
      if (!sharding) continue;
      free(slot->sharding);
      slot->sharding = compile_sharding(sharding, &slot->sharding_size);
    }
  }
}

/* A donor gives its memory to a result of as many bytes: of those that find none callers keep their arrays. */
static void compile_match_donors(pjrt_core *core) {
  bool *taken = pjrt_alloc(core->results.count + 1);
  for (size_t i = 0; i < core->arguments.count; i++) {
    pjrt_slot *slot = &core->arguments.data[i];
    if (!slot->offered) continue;
    int64_t bytes =
        halo_shape_byte_size(halo_executable_argument_shape(core->executable, slot->index));
    slot->offered = false;
    for (size_t r = 0; r < core->results.count && !slot->offered; r++) {
      int index = core->results.data[r].index;
      if (index < 0 || taken[r]) continue;
      slot->offered = taken[r] =
          halo_shape_byte_size(halo_executable_result_shape(core->executable, index)) == bytes;
    }
  }
  free(taken);
}

static bool compile_has_calls(const halo_module *module) {
  halo_module_summary summary;
  halo_module_summarise(module, &summary);
  for (int i = 0; i < summary.opcode_count; i++) {
    if (strcmp(summary.opcodes[i].name, "custom-call") == 0) return true;
  }
  return false;
}

/* ---- Compiling ---- */

static halo_compile_options compile_options(const pjrt_options *options) {
  return (halo_compile_options){.no_fusion = options->no_fusion,
                                .no_optimization = options->no_optimization,
                                .strict_order = options->strict_order,
                                .kernels = options->kernels,
                                .dump_dir = options->dump_dir,
                                .devices = options->devices,
                                .replica_count = options->replicas,
                                .partition_count = options->partitions,
                                .free_arguments = options->free_arguments.data,
                                .free_argument_count = options->free_arguments.count,
                                .free_results = options->free_results.data,
                                .free_result_count = options->free_results.count};
}

/* Which device has each part; `devices` NULL: as the library does it. */
static void compile_assign(pjrt_core *core, const pjrt_options *options) {
  int parts = core->replicas * core->partitions;
  core->ids = pjrt_alloc(sizeof *core->ids * (size_t)parts);
  for (int i = 0; i < parts; i++) {
    core->ids[i] = options->devices ? options->devices[i]
                   : parts == 1     ? halo_device_id(halo_executable_device(core->executable, 0))
                                    : i;
  }
}

static PJRT_Error *compile_module(pjrt_core *core, const halo_module *module,
                                  const pjrt_options *options) {
  halo_compile_options compile = compile_options(options);
  PJRT_TRY(halo_client_compile(core->client->client, module, &compile, &core->executable));
  core->replicas = options->replicas ? options->replicas : halo_module_replica_count(module);
  core->partitions =
      options->partitions ? options->partitions : halo_module_partition_count(module);
  core->portable = options->portable && core->replicas * core->partitions == 1;
  core->has_calls = compile_has_calls(module);
  core->name = pjrt_copy(halo_module_name(module), strlen(halo_module_name(module)));
  compile_assign(core, options);
  compile_find_slots(core, module);
  compile_find_shardings(core);
  compile_match_donors(core);
  pjrt_core_describe(core);
  return NULL;
}

PJRT_Error *pjrt_core_compile(PJRT_Client *client, const PJRT_Program *program, const char *options,
                              size_t options_size, pjrt_core **out) {
  pjrt_options read;
  halo_module *module;
  if (!program || !program->code || (program->format_size && !program->format) ||
      (options_size && !options)) {
    return pjrt_error(
        PJRT_Error_Code_INVALID_ARGUMENT,
        "PJRT_Client_Compile: the program, its code, its format or the options are NULL");
  }
  PJRT_PASS(pjrt_options_read(options, options_size, &read));
  pjrt_writer code = {0};
  PJRT_Error *error = pjrt_program_take(program, &read, &code);
  if (!error) error = pjrt_error_of(pjrt_program_read((char *)code.data, code.size, &module));
  pjrt_core *core = NULL;
  if (error) {
    pjrt_writer_deinit(&code);
  } else {
    core = pjrt_core_create(client);
    core->code = (char *)code.data;
    core->code_size = code.size;
    core->options = pjrt_copy(options, options_size);
    core->options_size = options_size;
    error = compile_module(core, module, &read);
    halo_module_release(module);
  }
  pjrt_options_deinit(&read);
  if (error) {
    pjrt_core_release(core);
    return error;
  }
  *out = core;
  return NULL;
}

PJRT_Error *pjrt_Client_Compile(PJRT_Client_Compile_Args *args) {
  pjrt_core *core;
  PJRT_PASS(pjrt_core_compile(args->client, args->program, args->compile_options,
                              args->compile_options_size, &core));
  args->executable = pjrt_core_load(core);
  return NULL;
}

/* ---- How far it has come ---- */

/* For python/jax_halo/progress.py: whether something is being compiled; see halo_compile_progress. */
HALO_API int HaloCompileProgress(double *seconds, int *kernels, int *compiled, int *kept);

int HaloCompileProgress(double *seconds, int *kernels, int *compiled, int *kept) {
  halo_compile_progress now;
  halo_get_compile_progress(&now);
  *seconds = now.seconds;
  *kernels = now.kernels;
  *compiled = now.compiled_kernels;
  *kept = now.kept;
  return now.active;
}

/* ---- On another device ---- */

static PJRT_Error *compile_elsewhere(pjrt_core *core, int id, halo_executable **out) {
  pjrt_options options;
  halo_module *module;
  PJRT_PASS(pjrt_options_read(core->options, core->options_size, &options));
  PJRT_Error *error = pjrt_error_of(pjrt_program_read(core->code, core->code_size, &module));
  if (!error) {
    halo_compile_options compile = compile_options(&options);
    compile.devices = &id;
    compile.replica_count = compile.partition_count = 1;
    error = pjrt_error_of(halo_client_compile(core->client->client, module, &compile, out));
    halo_module_release(module);
  }
  pjrt_options_deinit(&options);
  return error;
}

PJRT_Error *pjrt_core_at(pjrt_core *core, PJRT_Device *device, halo_executable **out) {
  PJRT_Error *error = NULL;
  if (!device || (core->device_count > 0 && device == core->devices[0])) {
    *out = core->executable;
    return NULL;
  }
  if (!core->portable || device->local < 0) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "%s was not compiled to run on any device, and not for device %d", core->name,
                      device->description.id);
  }
  pthread_mutex_lock(&core->lock);
  if (!core->elsewhere) {
    core->elsewhere = pjrt_alloc(sizeof *core->elsewhere * core->client->addressable_count);
  }
  halo_executable **there = &core->elsewhere[device->local];
  if (!*there) error = compile_elsewhere(core, device->description.id, there);
  *out = *there;
  pthread_mutex_unlock(&core->lock);
  return error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tools/info_program.c: `halo info FILE`: what a program is, takes, gives and is made of. */
#include "info_program.h"

#include "tool.h"

#include "halo/passes.h"

#include <stdlib.h>
#include <string.h>

/* ---- Shardings ---- */

static void info_print_numbers(const halo_int_list *list, const char *between) {
  for (int32_t i = 0; i < list->count; i++) {
    printf("%s%lld", i ? between : "", (long long)list->data[i]);
  }
}

static void info_print_sharding(const halo_sharding *sharding) {
  switch (sharding->kind) {
    case HALO_SHARDING_REPLICATED: fputs("on each device", stdout); break;
    case HALO_SHARDING_MAXIMAL: printf("on device %lld", (long long)sharding->device); break;
    case HALO_SHARDING_MANUAL: fputs("sharded by the program", stdout); break;
    case HALO_SHARDING_UNKNOWN: fputs("sharding not known", stdout); break;
    case HALO_SHARDING_UNREDUCED: fputs("a summand on each device", stdout); break;
    case HALO_SHARDING_NAMED: printf("sharding %s", sharding->text); break;
    case HALO_SHARDING_TILED:
      fputs("in ", stdout);
      info_print_numbers(&sharding->tiles, " x ");
      fputs(" tiles", stdout);
      if (sharding->replicate_last) fputs(", the last for copies", stdout);
      break;
    case HALO_SHARDING_TUPLE:
      for (int32_t i = 0; i < sharding->element_count; i++) {
        fputs(i ? "; " : "", stdout);
        info_print_sharding(&sharding->elements[i]);
      }
      break;
  }
}

/* ---- Arguments and results ---- */

static void info_print_array(const char *name, const halo_shape *shape,
                             const halo_sharding *sharding, const char *memory, bool offered) {
  printf("  %-16s %s", name, tool_shape(shape));
  if (memory) printf(", in %s", memory);
  if (offered) fputs(", may be given up", stdout);
  if (sharding) fputs(", ", stdout);
  if (sharding) info_print_sharding(sharding);
  fputc('\n', stdout);
}

static int info_leaves(const halo_shape *shape) {
  if (halo_shape_type(shape) == HALO_TOKEN) return 0;
  if (halo_shape_type(shape) != HALO_TUPLE) return 1;
  int count = 0;
  for (int i = 0; i < halo_shape_tuple_count(shape); i++) {
    count += info_leaves(halo_shape_tuple_element(shape, i));
  }
  return count;
}

static void info_print_parameters(const halo_module *module) {
  int leaf = 0, count = halo_module_parameter_count(module);
  printf("takes %d parameter%s\n", count, count == 1 ? "" : "s");
  for (int i = 0; i < count; i++) {
    const halo_shape *shape = halo_module_parameter_shape(module, i);
    int leaves = info_leaves(shape);
    bool offered = false;
    for (int j = 0; j < leaves; j++) offered |= halo_module_argument_is_offered(module, leaf + j);
    info_print_array(halo_module_parameter_name(module, i), shape,
                     halo_module_parameter_sharding(module, i),
                     halo_module_memory_kind(module, false, i), offered);
    leaf += leaves;
  }
}

static void info_print_results(const halo_module *module) {
  const halo_shape *shape = halo_module_result_shape(module);
  const halo_sharding *sharding = halo_module_result_sharding(module);
  bool tuple = halo_shape_type(shape) == HALO_TUPLE;
  int count = tuple ? halo_shape_tuple_count(shape) : 1;
  bool each = tuple && sharding && sharding->kind == HALO_SHARDING_TUPLE &&
              sharding->element_count == count;
  printf("gives %d result%s\n", count, count == 1 ? "" : "s");
  for (int i = 0; i < count; i++) {
    char *name = tool_printf("%d", i);
    info_print_array(name, tuple ? halo_shape_tuple_element(shape, i) : shape,
                     each ? &sharding->elements[i] : sharding,
                     halo_module_memory_kind(module, true, i), false);
    free(name);
  }
}

/* ---- What it is made of ---- */

/* "12", "3.4 million": exact where that is short. */
static void info_print_operations(double count) {
  static const char *const names[] = {"thousand", "million", "billion", "trillion"};
  int name = -1;
  while (count >= 1e5 && name < 3) {
    count /= 1000;
    name++;
  }
  if (name < 0) printf("%.0f operations", count);
  if (name >= 0) printf("%.3g %s operations", count, names[name]);
}

static void info_print_opcodes(const halo_module_summary *summary) {
  int column = 0;
  for (int i = 0; i < summary->opcode_count; i++) {
    char *text =
        tool_printf("%s %s%s", summary->opcodes[i].name, tool_count(summary->opcodes[i].count),
                    i + 1 < summary->opcode_count ? "," : "");
    int length = (int)strlen(text) + 1;
    if (column + length > 100) column = 0;
    printf("%s%s", column ? " " : i ? "\n  " : "  ", text);
    column = (column ? column : 1) + length;
    free(text);
  }
  fputc('\n', stdout);
}

static void info_print_summary(const halo_module *module) {
  halo_module_summary summary;
  halo_module_summarise(module, &summary);
  printf("memory: %s of arguments, %s of results, %s of constants\n",
         tool_bytes((uint64_t)summary.argument_bytes), tool_bytes((uint64_t)summary.result_bytes),
         tool_bytes((uint64_t)summary.constant_bytes));
  fputs("work: ", stdout);
  info_print_operations(summary.operations);
  printf(" in a run%s\n",
         summary.has_open_loops ? ", with one round of each loop whose rounds are not known" : "");
  printf("%s instruction%s in %d computation%s\n", tool_count(summary.instructions),
         summary.instructions == 1 ? "" : "s", summary.computations,
         summary.computations == 1 ? "" : "s");
  info_print_opcodes(&summary);
}

static void info_print_identity(const char *name, const char *bytes, size_t size) {
  halo_program_identity identity;
  halo_program_identify(bytes, size, &identity);
  printf("%s: %s", name, identity.format);
  if (identity.producer[0]) printf(" of %s", identity.producer);
  if (identity.bytecode >= 0) printf(", bytecode version %d", identity.bytecode);
  printf(", %s\n", tool_bytes(size));
}

static void info_print_module(const halo_module *module) {
  int replicas = halo_module_replica_count(module);
  int partitions = halo_module_partition_count(module);
  printf("module %s", halo_module_name(module));
  if (replicas != 1) printf(", for %d replicas", replicas);
  if (partitions != 1) printf(", for %d partitions", partitions);
  fputc('\n', stdout);
}

/* Of a program whose extents are open no more is known than what it takes. */
static int info_print_open(const char *bytes, size_t size, const char *name) {
  char *message = tool_strdup(halo_error_message());
  halo_module *parameters = NULL;
  input_list inputs = {0};
  bool open = halo_module_read_parameters(bytes, size, name, &parameters) == HALO_OK;
  if (open) inputs_create(parameters, &inputs);
  open = open && inputs_are_open(&inputs);
  if (open) {
    info_print_identity(name, bytes, size);
    info_print_module(parameters);
    info_print_parameters(parameters);
    int first = 0;
    while (!inputs_is_open(inputs.data[first].shape)) first++;
    printf(
        "The rest depends on extents that are open: --input '%d=[...]' gives those of parameter "
        "%d.\n",
        first, first);
  }
  inputs_release(&inputs);
  halo_module_release(parameters);
  int code = open ? TOOL_OK : tool_error("%s", message);
  free(message);
  return code;
}

int info_program(const char *file, const program_inputs *inputs) {
  char *bytes;
  size_t size;
  const char *name;
  halo_module *module = NULL;
  if (!tool_read_bytes(file, &bytes, &size, &name)) return TOOL_FAILED;
  int code = TOOL_OK;
  if (inputs->count > 0) {
    code = program_read_bytes(bytes, size, name, 0, program_assign_inputs, inputs, &module);
  } else if (halo_module_read(bytes, size, name, NULL, &module) != HALO_OK) {
    code = info_print_open(bytes, size, name);
  }
  if (module) {
    info_print_identity(name, bytes, size);
    info_print_module(module);
    info_print_parameters(module);
    info_print_results(module);
    info_print_summary(module);
  }
  halo_module_release(module);
  free(bytes);
  return code;
}

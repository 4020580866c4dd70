/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/options.c: what callers say about how to compile: the message CompileOptions. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of fields, by message. */
enum { OPTIONS_LAYOUTS = 1, OPTIONS_BUILD = 3, OPTIONS_PORTABLE = 4, OPTIONS_OVERRIDES = 7 };
enum {
  BUILD_RESULT_LAYOUT = 2,
  BUILD_DEBUG = 3,
  BUILD_REPLICAS = 4,
  BUILD_PARTITIONS = 5,
  BUILD_ASSIGNMENT = 9,
  BUILD_FREE_RESULTS = 12,
  BUILD_FREE_ARGUMENTS = 18
};
enum { DEBUG_DUMP_TO = 109 };
enum { ASSIGNMENT_REPLICAS = 1, ASSIGNMENT_COMPUTATIONS = 2, ASSIGNMENT_DEVICES = 3 };
enum { SHAPE_TUPLE = 4, SHAPE_LAYOUT = 5, LAYOUT_MINOR_TO_MAJOR = 1, OPTIONS_DEEPEST = 100 };
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { VALUE_TEXT = 1, VALUE_BOOL = 2, VALUE_NUMBER = 3 };

static PJRT_Error *options_broken(void) {
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                    "the compile options are not a CompileOptions message");
}

/* Whether a loop over a message came to its end. */
static PJRT_Error *options_end(const pjrt_message *message) {
  return message->at == message->end ? NULL : options_broken();
}

static void options_set_text(char **text, pjrt_message bytes) {
  free(*text);
  *text = pjrt_copy((const char *)bytes.at, (size_t)(bytes.end - bytes.at));
}

/* ---- Devices ---- */

enum { OPTIONS_MAX_DEVICES = 1 << 16 };

static PJRT_Error *options_read_assignment(pjrt_message message, pjrt_options *out) {
  pjrt_message rest = message;
  pjrt_field field;
  uint64_t replicas = 0, computations = 0, computation = 0, id;
  while (pjrt_message_next(&rest, &field)) {
    if (field.number == ASSIGNMENT_REPLICAS) replicas = field.value;
    if (field.number == ASSIGNMENT_COMPUTATIONS) computations = field.value;
  }
  PJRT_PASS(options_end(&rest));
  if (replicas == 0 || computations == 0) return NULL;
  if (replicas > OPTIONS_MAX_DEVICES || computations > OPTIONS_MAX_DEVICES / replicas) {
    return options_broken();
  }
  int *devices = pjrt_alloc(sizeof *devices * replicas * computations);
  uint64_t read = 0;
  for (rest = message; pjrt_message_next(&rest, &field);) {
    if (field.number != ASSIGNMENT_DEVICES || computation >= computations) continue;
    pjrt_message row = field.bytes;
    uint64_t replica = 0;
    while (pjrt_message_next(&row, &field)) {
      if (field.wire == 0) {
        if (replica < replicas) devices[replica++ * computations + computation] = (int)field.value;
        continue;
      }
      while (replica < replicas && pjrt_message_number(&field.bytes, &id)) {
        devices[replica++ * computations + computation] = (int)id;
      }
    }
    read += replica;
    computation++;
  }
  if (read != replicas * computations) {
    free(devices);
    return options_broken();
  }
  free(out->devices);
  out->devices = devices;
  out->replicas = (int)replicas;
  out->partitions = (int)computations;
  return NULL;
}

void pjrt_assignment_write(pjrt_writer *writer, const int *devices, int replicas, int partitions) {
  int64_t *ids = pjrt_alloc(sizeof *ids * (size_t)replicas);
  pjrt_write_number(writer, ASSIGNMENT_REPLICAS, (uint64_t)replicas);
  pjrt_write_number(writer, ASSIGNMENT_COMPUTATIONS, (uint64_t)partitions);
  for (int p = 0; p < partitions; p++) {
    pjrt_writer row = {0};
    for (int r = 0; r < replicas; r++) ids[r] = devices[r * partitions + p];
    pjrt_write_packed(&row, 1, ids, (size_t)replicas);
    pjrt_write_bytes(writer, ASSIGNMENT_DEVICES, row.data, row.size);
    pjrt_writer_deinit(&row);
  }
  free(ids);
}

/* ---- Options of the build ---- */

static PJRT_Error *options_read_debug(pjrt_message message, pjrt_options *out) {
  pjrt_field field;
  while (pjrt_message_next(&message, &field)) {
    bool dump = field.number == DEBUG_DUMP_TO && field.bytes.at != field.bytes.end;
    if (dump) options_set_text(&out->dump_dir, field.bytes);
  }
  return options_end(&message);
}

/* Appends to a list of flags, which come one by one or packed. */
static void options_read_flags(const pjrt_field *field, pjrt_flags *out) {
  pjrt_message rest = field->bytes;
  uint64_t value = field->value;
  bool packed = field->wire != 0;
  while (!packed || pjrt_message_number(&rest, &value)) {
    bool *grown = pjrt_alloc(sizeof *grown * (size_t)(out->count + 1));
    if (out->count) memcpy(grown, out->data, sizeof *grown * (size_t)out->count);
    free(out->data);
    out->data = grown;
    out->data[out->count++] = value != 0;
    if (!packed) return;
  }
}

static PJRT_Error *options_read_build(pjrt_message message, pjrt_options *out) {
  pjrt_field field;
  int replicas = 0, partitions = 0;
  while (pjrt_message_next(&message, &field)) {
    switch (field.number) {
      case BUILD_RESULT_LAYOUT: out->result_layout = field.bytes; break;
      case BUILD_DEBUG: PJRT_PASS(options_read_debug(field.bytes, out)); break;
      case BUILD_REPLICAS: replicas = (int)field.value; break;
      case BUILD_PARTITIONS: partitions = (int)field.value; break;
      case BUILD_ASSIGNMENT: PJRT_PASS(options_read_assignment(field.bytes, out)); break;
      case BUILD_FREE_RESULTS: options_read_flags(&field, &out->free_results); break;
      case BUILD_FREE_ARGUMENTS: options_read_flags(&field, &out->free_arguments); break;
      default: break; /* how XLA's own backends go about it */
    }
  }
  if (out->devices &&
      ((replicas && replicas != out->replicas) || (partitions && partitions != out->partitions))) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "the compile options speak of %d replicas of %d partitions, and assign "
                      "devices to %d of %d",
                      replicas, partitions, out->replicas, out->partitions);
  }
  if (!out->devices) {
    out->replicas = replicas;
    out->partitions = partitions;
  }
  return options_end(&message);
}

/* ---- Options by name ---- */

static bool options_is_true(const pjrt_field *value) {
  if (value->number == VALUE_BOOL || value->number == VALUE_NUMBER) return value->value != 0;
  size_t size = (size_t)(value->bytes.end - value->bytes.at);
  return size == 4 && memcmp(value->bytes.at, "true", 4) == 0;
}

/* Flags of XLA's backends, of which there are hundreds, do nothing; those that are on or off, and that users set
 * most, must be one of the two, so that mistakes are seen here as they are there. */
static PJRT_Error *options_check_flag(pjrt_message key, const pjrt_field *value) {
  static const char *const flags[] = {"xla_embed_ir_in_executable",
                                      "xla_dump_hlo_as_text",
                                      "xla_dump_hlo_as_proto",
                                      "xla_dump_hlo_as_dot",
                                      "xla_dump_hlo_as_html",
                                      "xla_allow_excess_precision",
                                      "xla_cpu_enable_fast_math",
                                      "xla_gpu_deterministic_ops",
                                      "xla_gpu_enable_latency_hiding_scheduler",
                                      "xla_gpu_enable_triton_gemm"};
  static const char *const states[] = {"true", "false", "True", "False", "1", "0"};
  size_t size = (size_t)(key.end - key.at), length = (size_t)(value->bytes.end - value->bytes.at);
  bool known = false;
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    known |= strlen(flags[i]) == size && memcmp(flags[i], key.at, size) == 0;
  }
  if (!known || value->number != VALUE_TEXT) return NULL;
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
    if (strlen(states[i]) == length && memcmp(states[i], value->bytes.at, length) == 0) return NULL;
  }
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                    "While setting option %.*s, '%.*s' is not a valid bool value.", (int)size,
                    (const char *)key.at, (int)length, (const char *)value->bytes.at);
}

static PJRT_Error *options_set(pjrt_message key, const pjrt_field *value, pjrt_options *out) {
  const struct {
    const char *name;
    char **text;
    bool *flag;
  } known[] = {{"halo_kernels", &out->kernels, NULL},
               {"halo_dump_dir", &out->dump_dir, NULL},
               {"halo_no_fusion", NULL, &out->no_fusion},
               {"halo_no_optimization", NULL, &out->no_optimization},
               {"halo_strict_order", NULL, &out->strict_order}};
  size_t size = (size_t)(key.end - key.at);
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strlen(known[i].name) != size || memcmp(known[i].name, key.at, size) != 0) continue;
    if (known[i].flag) {
      *known[i].flag = options_is_true(value);
    } else if (value->number == VALUE_TEXT) {
      options_set_text(known[i].text, value->bytes);
    } else {
      return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the compile option %s must be a text",
                        known[i].name);
    }
    return NULL;
  }
  if (size > 4 && memcmp(key.at, "xla_", 4) == 0) return options_check_flag(key, value);
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "No such compile option: '%.*s'", (int)size,
                    (const char *)key.at);
}

static PJRT_Error *options_read_override(pjrt_message message, pjrt_options *out) {
  pjrt_message key = {0}, inner = {0};
  pjrt_field field, value = {0};
  while (pjrt_message_next(&message, &field)) {
    if (field.number == PAIR_KEY) key = field.bytes;
    if (field.number == PAIR_VALUE) inner = field.bytes;
  }
  PJRT_PASS(options_end(&message));
  while (pjrt_message_next(&inner, &field)) value = field;
  PJRT_PASS(options_end(&inner));
  return options_set(key, &value, out);
}

/* ---- Layouts ---- */

static void options_add_layout(pjrt_message shape, pjrt_options *out) {
  pjrt_message *grown = pjrt_alloc(sizeof *grown * (out->layout_count + 1));
  if (out->layout_count) memcpy(grown, out->layouts, sizeof *grown * out->layout_count);
  free(out->layouts);
  out->layouts = grown;
  out->layouts[out->layout_count++] = shape;
}

static PJRT_Error *options_check_layout(pjrt_message shape, int depth) {
  pjrt_field field;
  while (depth < OPTIONS_DEEPEST && pjrt_message_next(&shape, &field)) {
    if (field.number == SHAPE_TUPLE) PJRT_PASS(options_check_layout(field.bytes, depth + 1));
    if (field.number != SHAPE_LAYOUT) continue;
    pjrt_message layout = field.bytes;
    uint64_t last = UINT64_MAX, dimension;
    while (pjrt_message_next(&layout, &field)) {
      if (field.number != LAYOUT_MINOR_TO_MAJOR) continue;
      pjrt_message row = field.bytes;
      bool packed = field.wire != 0;
      while (packed ? pjrt_message_number(&row, &dimension) : (dimension = field.value, true)) {
        if (dimension > last) {
          return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                            "layouts in the compile options, other than row-major, of programs "
                            "that say them themselves");
        }
        last = dimension;
        if (!packed) break;
      }
    }
  }
  return options_end(&shape);
}

PJRT_Error *pjrt_options_check_layouts(const pjrt_options *options) {
  for (size_t i = 0; i < options->layout_count; i++) {
    PJRT_PASS(options_check_layout(options->layouts[i], 0));
  }
  return options_check_layout(options->result_layout, 0);
}

/* ---- All ---- */

static PJRT_Error *options_read(pjrt_message message, pjrt_options *out) {
  pjrt_field field;
  while (pjrt_message_next(&message, &field)) {
    switch (field.number) {
      case OPTIONS_LAYOUTS: options_add_layout(field.bytes, out); break;
      case OPTIONS_BUILD: PJRT_PASS(options_read_build(field.bytes, out)); break;
      case OPTIONS_PORTABLE: out->portable = field.value != 0; break;
      case OPTIONS_OVERRIDES: PJRT_PASS(options_read_override(field.bytes, out)); break;
      default: break;
    }
  }
  return options_end(&message);
}

PJRT_Error *pjrt_options_read(const void *data, size_t size, pjrt_options *out) {
  const uint8_t *bytes = data;
  *out = (pjrt_options){0};
  PJRT_Error *error = options_read((pjrt_message){bytes, size ? bytes + size : bytes}, out);
  if (error) pjrt_options_deinit(out);
  return error;
}

void pjrt_options_deinit(pjrt_options *options) {
  free(options->devices);
  free(options->kernels);
  free(options->dump_dir);
  free(options->free_arguments.data);
  free(options->free_results.data);
  free(options->layouts);
  *options = (pjrt_options){0};
}

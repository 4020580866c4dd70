/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/program.c: programs as callers give them and get them back. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

enum { MODULE_ENTRY_SHAPE = 4, PROGRAM_PARAMETERS = 1, PROGRAM_RESULT = 2 };
enum { SHAPE_TUPLE = 4, SHAPE_LAYOUT = 5 };
enum {
  CONFIGURED_MODULE = 1,
  CONFIGURED_CONFIG = 2,
  CONFIG_ENTRY = 1,
  CONFIG_REPLICAS = 4,
  CONFIG_PARTITIONS = 5
};
/* Deeper nesting than any program has would take the stack. */
enum { PROGRAM_DEEPEST = 100 };

halo_status pjrt_program_read(const char *code, size_t size, halo_module **out) {
  return halo_module_read(code, size, "the program", NULL, out);
}

bool pjrt_program_is_mlir(const char *code, size_t size) {
  halo_program_identity identity;
  halo_program_identify(code, size, &identity);
  return strncmp(identity.format, "StableHLO", 9) == 0;
}

static void program_write_message(pjrt_writer *out, uint32_t field, pjrt_message message) {
  pjrt_write_bytes(out, field, message.at, (size_t)(message.end - message.at));
}

/* ---- In ---- */

/* A shape whose arrays are row-major. */
static bool program_write_default(pjrt_writer *out, pjrt_message shape, int depth) {
  pjrt_field field;
  bool good = depth < PROGRAM_DEEPEST;
  while (good && pjrt_message_next(&shape, &field)) {
    if (field.number == SHAPE_LAYOUT) continue;
    if (field.number != SHAPE_TUPLE) {
      pjrt_write_field(out, &field);
      continue;
    }
    pjrt_writer element = {0};
    good = program_write_default(&element, field.bytes, depth + 1);
    pjrt_write_bytes(out, SHAPE_TUPLE, element.data, element.size);
    pjrt_writer_deinit(&element);
  }
  return good && shape.at == shape.end;
}

/* The shapes of a program with the layouts that the options ask for. */
static bool program_write_entry(pjrt_writer *out, pjrt_message program,
                                const pjrt_options *options) {
  pjrt_field field;
  size_t number = 0;
  bool good = true;
  while (good && pjrt_message_next(&program, &field)) {
    pjrt_message said = {0};
    bool parameter = field.number == PROGRAM_PARAMETERS;
    if (parameter && number < options->layout_count) said = options->layouts[number++];
    if (field.number == PROGRAM_RESULT) said = options->result_layout;
    if (said.at) {
      program_write_message(out, field.number, said);
    } else if (parameter || field.number == PROGRAM_RESULT) {
      pjrt_writer shape = {0};
      good = program_write_default(&shape, field.bytes, 0);
      pjrt_write_bytes(out, field.number, shape.data, shape.size);
      pjrt_writer_deinit(&shape);
    } else {
      pjrt_write_field(out, &field);
    }
  }
  return good && program.at == program.end;
}

/* The module with other shapes of its entry: `entry`, or those that it has, with the options' layouts. */
static bool program_write_module(pjrt_writer *out, pjrt_message module, const pjrt_message *entry,
                                 const pjrt_options *options) {
  pjrt_field field;
  bool good = true;
  while (good && pjrt_message_next(&module, &field)) {
    if (field.number != MODULE_ENTRY_SHAPE) {
      pjrt_write_field(out, &field);
      continue;
    }
    pjrt_writer shapes = {0};
    if (entry) {
      program_write_message(out, MODULE_ENTRY_SHAPE, *entry);
    } else {
      good = program_write_entry(&shapes, field.bytes, options);
      pjrt_write_bytes(out, MODULE_ENTRY_SHAPE, shapes.data, shapes.size);
    }
    pjrt_writer_deinit(&shapes);
  }
  return good && module.at == module.end;
}

/* A module with its config, which says what layouts its entry has. */
static bool program_write_configured(pjrt_writer *out, pjrt_message message) {
  pjrt_message module = {0}, config = {0}, entry = {0};
  pjrt_field field;
  while (pjrt_message_next(&message, &field)) {
    if (field.number == CONFIGURED_MODULE) module = field.bytes;
    if (field.number == CONFIGURED_CONFIG) config = field.bytes;
  }
  while (pjrt_message_next(&config, &field)) {
    if (field.number == CONFIG_ENTRY) entry = field.bytes;
  }
  return module.at && message.at == message.end && config.at == config.end &&
         program_write_module(out, module, entry.at ? &entry : NULL, &(pjrt_options){0});
}

static bool program_is(const PJRT_Program *program, const char *format) {
  return program->format_size == strlen(format) &&
         memcmp(program->format, format, program->format_size) == 0;
}

PJRT_Error *pjrt_program_take(const PJRT_Program *program, const pjrt_options *options,
                              pjrt_writer *out) {
  const uint8_t *bytes = (const uint8_t *)program->code;
  pjrt_message message = {bytes, bytes + program->code_size};
  bool good = true;
  *out = (pjrt_writer){.data = malloc(program->code_size + 1), .room = program->code_size + 1};
  if (!out->data) {
    return pjrt_error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "no memory for a program of %zu bytes",
                      program->code_size);
  }
  if (program_is(program, "hlo")) {
    good = program_write_module(out, message, NULL, options);
  } else if (program_is(program, "hlo_with_config")) {
    good = program_write_configured(out, message);
  } else {
    PJRT_Error *error = pjrt_options_check_layouts(options);
    if (error) pjrt_writer_deinit(out);
    if (error) return error;
    pjrt_write_raw(out, bytes, program->code_size);
  }
  if (good) return NULL;
  pjrt_writer_deinit(out);
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                    "the program is no message of the format %.*s", (int)program->format_size,
                    program->format);
}

/* ---- Out ---- */

void pjrt_program_configure(pjrt_writer *out, pjrt_message module, int replicas, int partitions) {
  pjrt_message fields = module;
  pjrt_writer config = {0};
  pjrt_field field;
  while (pjrt_message_next(&fields, &field)) {
    if (field.number == MODULE_ENTRY_SHAPE) {
      program_write_message(&config, CONFIG_ENTRY, field.bytes);
    }
  }
  pjrt_write_number(&config, CONFIG_REPLICAS, (uint64_t)replicas);
  pjrt_write_number(&config, CONFIG_PARTITIONS, (uint64_t)partitions);
  program_write_message(out, CONFIGURED_MODULE, module);
  pjrt_write_bytes(out, CONFIGURED_CONFIG, config.data, config.size);
  pjrt_writer_deinit(&config);
}

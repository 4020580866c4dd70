/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/serialize.c: executables as bytes, and from bytes.
 *
 * A line "halo pjrt 2 CHECK", of which the last word is a hash of what follows, and then a message. */
#include "pjrt/pjrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  SERIAL_NAME = 1,
  SERIAL_REPLICAS = 2,
  SERIAL_PARTITIONS = 3,
  SERIAL_IDS = 4,
  SERIAL_PORTABLE = 5,
  SERIAL_OPTIONS = 6,
  SERIAL_CODE = 8,
  SERIAL_EXECUTABLE = 9, /* as the library writes it */
  SERIAL_ARGUMENT = 10,
  SERIAL_RESULT = 11,
  SERIAL_TOLD = 12, /* for callers to read */
  SERIAL_HAS_CALLS = 13
};
enum { SLOT_INDEX = 1, SLOT_OFFERED = 2, SLOT_MEMORY = 3, SLOT_SHARDING = 4 };

/* With the hash in place of the word. */
enum { SERIAL_HEAD = 12 + 16 + 1 };

static void serial_head(char head[SERIAL_HEAD + 1], const uint8_t *data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
  snprintf(head, SERIAL_HEAD + 1, "halo pjrt 2 %016llx\n", (unsigned long long)hash);
}

/* ---- Writing ---- */

static void serial_write_slots(pjrt_writer *out, uint32_t field, const pjrt_slots *slots) {
  for (size_t i = 0; i < slots->count; i++) {
    const pjrt_slot *slot = &slots->data[i];
    pjrt_writer inner = {0};
    pjrt_write_number(&inner, SLOT_INDEX, (uint64_t)(slot->index + 1));
    pjrt_write_number(&inner, SLOT_OFFERED, slot->offered);
    pjrt_write_number(&inner, SLOT_MEMORY, slot->memory);
    pjrt_write_bytes(&inner, SLOT_SHARDING, slot->sharding, slot->sharding_size);
    pjrt_write_bytes(out, field, inner.data, inner.size);
    pjrt_writer_deinit(&inner);
  }
}

static void serial_write(pjrt_writer *out, pjrt_core *core, const char *executable,
                         size_t executable_size) {
  int parts = core->replicas * core->partitions;
  pjrt_write_bytes(out, SERIAL_NAME, core->name, strlen(core->name));
  pjrt_write_number(out, SERIAL_REPLICAS, (uint64_t)core->replicas);
  pjrt_write_number(out, SERIAL_PARTITIONS, (uint64_t)core->partitions);
  for (int i = 0; i < parts; i++) pjrt_write_number(out, SERIAL_IDS, (uint64_t)core->ids[i]);
  pjrt_write_number(out, SERIAL_PORTABLE, core->portable);
  pjrt_write_number(out, SERIAL_HAS_CALLS, core->has_calls);
  pjrt_write_bytes(out, SERIAL_OPTIONS, core->options, core->options_size);
  pjrt_write_bytes(out, SERIAL_CODE, core->code, core->code_size);
  pjrt_write_bytes(out, SERIAL_EXECUTABLE, executable, executable_size);
  serial_write_slots(out, SERIAL_ARGUMENT, &core->arguments);
  serial_write_slots(out, SERIAL_RESULT, &core->results);
  const pjrt_writer *told = pjrt_core_told(core);
  if (told->size) pjrt_write_bytes(out, SERIAL_TOLD, told->data, told->size);
}

static void serial_free(PJRT_SerializedExecutable *executable) { free(executable); }

PJRT_Error *pjrt_Executable_Serialize(PJRT_Executable_Serialize_Args *args) {
  pjrt_core *core = args->executable->core;
  char *executable, head[SERIAL_HEAD + 1];
  size_t size;
  pjrt_writer body = {0};
  PJRT_TRY(halo_executable_serialize(core->executable, &executable, &size));
  serial_write(&body, core, executable, size);
  halo_text_release(executable);
  serial_head(head, body.data, body.size);
  char *whole = malloc(SERIAL_HEAD + body.size);
  if (!whole) {
    pjrt_writer_deinit(&body);
    return pjrt_error(PJRT_Error_Code_RESOURCE_EXHAUSTED,
                      "no memory for an executable of %zu bytes", body.size);
  }
  memcpy(whole, head, SERIAL_HEAD);
  memcpy(whole + SERIAL_HEAD, body.data, body.size);
  args->serialized_bytes = whole;
  args->serialized_bytes_size = SERIAL_HEAD + body.size;
  args->serialized_executable = (PJRT_SerializedExecutable *)whole;
  args->serialized_executable_deleter = serial_free;
  pjrt_writer_deinit(&body);
  return NULL;
}

/* ---- Reading ---- */

static PJRT_Error *serial_damaged(void) {
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                    "not a serialised executable of this plugin, or a damaged one");
}

static char *serial_text(pjrt_message bytes, size_t *size) {
  size_t length = (size_t)(bytes.end - bytes.at);
  if (size) *size = length;
  return pjrt_copy((const char *)bytes.at, length);
}

static void serial_read_slot(pjrt_message message, pjrt_slots *slots) {
  pjrt_slot *slot = &slots->data[slots->count++];
  pjrt_field field;
  slot->index = -1;
  while (pjrt_message_next(&message, &field)) {
    if (field.number == SLOT_INDEX) slot->index = (int)field.value - 1;
    if (field.number == SLOT_OFFERED) slot->offered = field.value != 0;
    if (field.number == SLOT_MEMORY && field.value < PJRT_MEMORY_KINDS) {
      slot->memory = (pjrt_memory_kind)field.value;
    }
    if (field.number == SLOT_SHARDING) {
      slot->sharding = serial_text(field.bytes, &slot->sharding_size);
    }
  }
}

/* Room for as many as there are fields of a number. */
static size_t serial_count(pjrt_message message, uint32_t number) {
  size_t count = 0;
  pjrt_field field;
  while (pjrt_message_next(&message, &field)) count += field.number == number;
  return count;
}

/* Everything but the executable, of which it gives the bytes. */
static PJRT_Error *serial_read(pjrt_message message, pjrt_core *core, pjrt_message *executable) {
  pjrt_field field;
  int ids = 0, room = (int)serial_count(message, SERIAL_IDS);
  core->ids = pjrt_alloc(sizeof *core->ids * (size_t)room);
  core->arguments.data = pjrt_alloc(sizeof(pjrt_slot) * serial_count(message, SERIAL_ARGUMENT));
  core->results.data = pjrt_alloc(sizeof(pjrt_slot) * serial_count(message, SERIAL_RESULT));
  while (pjrt_message_next(&message, &field)) {
    switch (field.number) {
      case SERIAL_NAME: core->name = serial_text(field.bytes, NULL); break;
      case SERIAL_REPLICAS: core->replicas = (int)field.value; break;
      case SERIAL_PARTITIONS: core->partitions = (int)field.value; break;
      case SERIAL_IDS: core->ids[ids++] = (int)field.value; break;
      case SERIAL_PORTABLE: core->portable = field.value != 0; break;
      case SERIAL_HAS_CALLS: core->has_calls = field.value != 0; break;
      case SERIAL_OPTIONS: core->options = serial_text(field.bytes, &core->options_size); break;
      case SERIAL_CODE: core->code = serial_text(field.bytes, &core->code_size); break;
      case SERIAL_EXECUTABLE: *executable = field.bytes; break;
      case SERIAL_ARGUMENT: serial_read_slot(field.bytes, &core->arguments); break;
      case SERIAL_RESULT: serial_read_slot(field.bytes, &core->results); break;
      case SERIAL_TOLD:
        pjrt_writer_deinit(&core->told);
        core->told.data = (uint8_t *)serial_text(field.bytes, &core->told.size);
        break;
      default: break;
    }
  }
  bool complete = message.at == message.end && core->name && core->code && core->options &&
                  executable->at && core->replicas * core->partitions == room;
  return complete ? NULL : serial_damaged();
}

/* Options that the caller gives now say which devices are meant. */
static PJRT_Error *serial_override(const PJRT_Executable_DeserializeAndLoad_Args *args,
                                   pjrt_core *core) {
  pjrt_options options;
  if (!PJRT_HAS(args, overridden_serialized_compile_options_size) ||
      !args->overridden_serialized_compile_options) {
    return NULL;
  }
  PJRT_PASS(pjrt_options_read(args->overridden_serialized_compile_options,
                              args->overridden_serialized_compile_options_size, &options));
  int parts = core->replicas * core->partitions;
  bool fits = !options.devices || options.replicas * options.partitions == parts;
  if (fits && options.devices)
    memcpy(core->ids, options.devices, sizeof *core->ids * (size_t)parts);
  pjrt_options_deinit(&options);
  if (fits) return NULL;
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                    "%s was compiled for %d devices, and is to be loaded for another number",
                    core->name, parts);
}

/* Whether arrays are numbered as the executable counts them. */
static bool serial_slots_fit(const pjrt_slots *slots, int arrays) {
  int next = 0;
  for (size_t i = 0; i < slots->count; i++) {
    if (slots->data[i].index != -1 && slots->data[i].index != next++) return false;
  }
  return next == arrays;
}

static PJRT_Error *serial_load(const PJRT_Executable_DeserializeAndLoad_Args *args,
                               pjrt_message message, pjrt_core *core) {
  pjrt_message executable = {0};
  PJRT_PASS(serial_read(message, core, &executable));
  PJRT_PASS(serial_override(args, core));
  PJRT_TRY(halo_client_deserialize(args->client->client, executable.at,
                                   (size_t)(executable.end - executable.at), core->ids,
                                   &core->executable));
  if (!serial_slots_fit(&core->arguments, halo_executable_argument_count(core->executable)) ||
      !serial_slots_fit(&core->results, halo_executable_result_count(core->executable))) {
    return serial_damaged();
  }
  pjrt_core_describe(core);
  return NULL;
}

PJRT_Error *pjrt_Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args *args) {
  const uint8_t *bytes = (const uint8_t *)args->serialized_executable;
  size_t size = args->serialized_executable_size;
  char head[SERIAL_HEAD + 1];
  if (!bytes || size < SERIAL_HEAD) return serial_damaged();
  serial_head(head, bytes + SERIAL_HEAD, size - SERIAL_HEAD);
  if (memcmp(head, bytes, SERIAL_HEAD) != 0) return serial_damaged();
  pjrt_core *core = pjrt_core_create(args->client);
  PJRT_Error *error = serial_load(args, (pjrt_message){bytes + SERIAL_HEAD, bytes + size}, core);
  if (error) {
    pjrt_core_release(core);
    return error;
  }
  args->loaded_executable = pjrt_core_load(core);
  return NULL;
}

/* ---- From one client to another ---- */

/* An executable that was compiled for a topology has another client: it goes over in bytes. */
PJRT_Error *pjrt_Client_Load(PJRT_Client_Load_Args *args) {
  if (!args->executable) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "PJRT_Client_Load: the executable is NULL");
  }
  pjrt_core *core = args->executable->core;
  if (core->client == args->client) {
    pjrt_core_retain(core);
    args->loaded_executable = pjrt_core_load(core);
    return NULL;
  }
  PJRT_Executable_Serialize_Args out = {.struct_size = sizeof out, .executable = args->executable};
  PJRT_PASS(pjrt_Executable_Serialize(&out));
  PJRT_Executable_DeserializeAndLoad_Args in = {
      .struct_size = sizeof in,
      .client = args->client,
      .serialized_executable = out.serialized_bytes,
      .serialized_executable_size = out.serialized_bytes_size,
      .overridden_serialized_compile_options = args->compile_options,
      .overridden_serialized_compile_options_size = args->compile_options_size};
  PJRT_Error *error = pjrt_Executable_DeserializeAndLoad(&in);
  serial_free(out.serialized_executable);
  args->loaded_executable = in.loaded_executable;
  return error;
}

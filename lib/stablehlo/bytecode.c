/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode.c: the frame of an artifact: its header and its sections. */
#include "stablehlo/bytecode.h"

#include <string.h>

enum {
  SECTION_STRINGS = 0,
  SECTION_DIALECTS = 1,
  SECTION_ENTRIES = 2,
  SECTION_ENTRY_INDEX = 3,
  SECTION_IR = 4,
  SECTION_RESOURCES = 5,
  SECTION_RESOURCE_INDEX = 6,
  SECTION_PROPERTIES = 8,
  SECTION_COUNT = 9
};

enum { NEWEST_VERSION = 6 };

static const uint8_t magic[4] = {'M', 'L', 0xEF, 'R'};

/* ---- Properties and resources ---- */

static halo_status properties_read(halo_bytecode_cursor section) {
  halo_bytecode *reader = section.reader;
  int32_t count;
  if (section.at == section.end) return HALO_OK;
  HALO_TRY(halo_bytecode_count(&section, &count));
  reader->properties = halo_arena_array(&reader->program->arena, halo_bytecode_blob, count);
  for (int32_t i = 0; i < count; i++) {
    halo_bytecode_cursor entry;
    HALO_TRY(halo_bytecode_blob_of(&section, &entry));
    reader->properties[i] = (halo_bytecode_blob){entry.at, halo_bytecode_left(&entry)};
  }
  reader->property_count = count;
  return halo_bytecode_finish(&section, "the properties");
}

/* Bytes, after their alignment and size. */
static halo_status resource_read(halo_bytecode_cursor entry, halo_bytecode_blob *out) {
  uint64_t alignment, size;
  halo_bytecode_cursor data;
  HALO_TRY(halo_bytecode_vi(&entry, &alignment));
  HALO_TRY(halo_bytecode_vi(&entry, &size));
  HALO_TRY(halo_bytecode_align(&entry, alignment));
  HALO_TRY(halo_bytecode_take(&entry, size, &data));
  *out = (halo_bytecode_blob){data.at, (size_t)size};
  return halo_bytecode_finish(&entry, "a resource");
}

static halo_status resources_read_group(halo_bytecode_cursor *index, halo_bytecode_cursor *data,
                                        bool numbered) {
  enum { KIND_BLOB = 0 };
  halo_bytecode *reader = index->reader;
  int32_t count;
  HALO_TRY(halo_bytecode_count(index, &count));
  for (int32_t i = 0; i < count; i++) {
    halo_bytecode_string key;
    halo_bytecode_cursor entry;
    halo_bytecode_blob blob = {0};
    uint64_t size;
    uint8_t kind;
    HALO_TRY(halo_bytecode_string_of(index, &key));
    HALO_TRY(halo_bytecode_vi(index, &size));
    HALO_TRY(halo_bytecode_byte(index, &kind));
    HALO_TRY(halo_bytecode_take(data, size, &entry));
    if (kind == KIND_BLOB && size) HALO_TRY(resource_read(entry, &blob));
    if (numbered) halo_vec_push(&reader->resources, blob);
  }
  return HALO_OK;
}

static halo_status resources_read(halo_bytecode_cursor index, halo_bytecode_cursor data) {
  int32_t external;
  if (index.at == index.end) return halo_bytecode_finish(&data, "the resources");
  HALO_TRY(halo_bytecode_count(&index, &external));
  for (int32_t i = 0; i < external; i++) {
    halo_bytecode_string key;
    HALO_TRY(halo_bytecode_string_of(&index, &key));
    HALO_TRY(resources_read_group(&index, &data, false));
  }
  while (index.at < index.end) {
    int32_t dialect;
    HALO_TRY(halo_bytecode_index(&index, index.reader->dialect_count, "dialect", &dialect));
    HALO_TRY(resources_read_group(&index, &data, true));
  }
  return halo_bytecode_finish(&data, "the resources");
}

/* ---- The file ---- */

static halo_status file_read_header(halo_bytecode_cursor *file) {
  halo_bytecode *reader = file->reader;
  uint64_t version;
  if (halo_bytecode_left(file) < sizeof magic || memcmp(file->at, magic, sizeof magic) != 0)
    return halo_bytecode_fail(file, "this is no MLIR bytecode");
  file->at += sizeof magic;
  HALO_TRY(halo_bytecode_vi(file, &version));
  if (version > NEWEST_VERSION)
    return halo_bytecode_refuse(file,
                                "MLIR bytecode of version %llu; %d is the newest that is read",
                                (unsigned long long)version, NEWEST_VERSION);
  reader->version = (uint32_t)version;
  const uint8_t *end = memchr(file->at, 0, halo_bytecode_left(file));
  if (!end) return halo_bytecode_fail(file, "the name of the producer does not end");
  reader->program->producer = halo_arena_strdup(&reader->program->arena, (const char *)file->at);
  file->at = end + 1;
  return HALO_OK;
}

static halo_status file_read_sections(halo_bytecode_cursor *file, halo_bytecode_cursor *sections) {
  static const uint8_t required[] = {SECTION_STRINGS, SECTION_DIALECTS, SECTION_ENTRIES,
                                     SECTION_ENTRY_INDEX, SECTION_IR};
  bool seen[SECTION_COUNT] = {false};
  for (int i = 0; i < SECTION_COUNT; i++)
    sections[i] = (halo_bytecode_cursor){file->reader, file->end, file->end};
  while (file->at < file->end) {
    halo_bytecode_cursor start = *file, section;
    uint8_t id;
    HALO_TRY(halo_bytecode_section(file, &id, &section));
    if (id >= SECTION_COUNT || seen[id])
      return halo_bytecode_fail(&start, "%s section of number %d",
                                id < SECTION_COUNT ? "a second" : "an unknown", id);
    seen[id] = true;
    sections[id] = section;
  }
  for (size_t i = 0; i < sizeof required; i++)
    if (!seen[required[i]])
      return halo_bytecode_fail(file, "the file has no section of number %d", required[i]);
  return HALO_OK;
}

static halo_status file_read(halo_bytecode *reader) {
  halo_bytecode_cursor file = {reader, reader->begin, reader->begin + reader->size};
  halo_bytecode_cursor sections[SECTION_COUNT];
  HALO_TRY(file_read_header(&file));
  HALO_TRY(file_read_sections(&file, sections));
  HALO_TRY(halo_bytecode_read_strings(sections[SECTION_STRINGS]));
  HALO_TRY(halo_bytecode_read_names(sections[SECTION_DIALECTS]));
  HALO_TRY(halo_bytecode_read_entries(sections[SECTION_ENTRY_INDEX], sections[SECTION_ENTRIES]));
  HALO_TRY(properties_read(sections[SECTION_PROPERTIES]));
  HALO_TRY(resources_read(sections[SECTION_RESOURCE_INDEX], sections[SECTION_RESOURCES]));
  return halo_bytecode_read_ir(sections[SECTION_IR]);
}

typedef struct file_request {
  const void *bytes;
  size_t size;
  const char *name;
  halo_mlir_program *out;
} file_request;

/* Lists of operations of many megabytes of input share attributes; broken input shares them without end. */
static size_t file_attr_room(size_t size) { return size < SIZE_MAX / 32 ? size * 16 + 4096 : size; }

static halo_status file_run(void *user) {
  file_request *request = user;
  halo_bytecode reader = {.begin = request->bytes, .size = request->size};
  reader.program = halo_mlir_program_create(request->name);
  reader.name = reader.program->name;
  reader.attr_room = file_attr_room(request->size);
  halo_status status = file_read(&reader);
  halo_vec_deinit(&reader.ops);
  halo_vec_deinit(&reader.resources);
  halo_vec_deinit(&reader.scope);
  halo_vec_deinit(&reader.result_types);
  halo_vec_deinit(&reader.operands);
  halo_map_deinit(&reader.attr_lists);
  if (status == HALO_OK)
    request->out = reader.program;
  else
    halo_mlir_program_release(reader.program);
  return status;
}

halo_status halo_mlir_read_bytecode(const void *bytes, size_t size, const char *name,
                                    halo_mlir_program **out) {
  *out = NULL;
  file_request request = {bytes, size, name, NULL};
  HALO_TRY(halo_memory_guard(file_run, &request));
  *out = request.out;
  return HALO_OK;
}

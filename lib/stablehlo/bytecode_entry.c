/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_entry.c: the table of attributes and types, which are decoded when they are asked for. */
#include "stablehlo/bytecode.h"

/* Deeper nesting than any program has would take the stack. */
enum { DEEPEST = 128 };

/* ---- The index ---- */

typedef struct entry_group {
  halo_bytecode_cursor *index, *bodies;
  halo_bytecode_entry *entries;
  int32_t count; /* of all groups of this kind */
} entry_group;

static halo_status entries_read(entry_group *group, const char *what) {
  halo_bytecode_cursor *index = group->index, *bodies = group->bodies;
  halo_bytecode *reader = index->reader;
  for (int32_t done = 0; done < group->count;) {
    int32_t dialect, count;
    HALO_TRY(halo_bytecode_index(index, reader->dialect_count, "dialect", &dialect));
    halo_bytecode_cursor start = *index;
    HALO_TRY(halo_bytecode_count(index, &count));
    if (count > group->count - done)
      return halo_bytecode_fail(&start, "a group of %d %s, where %d are left", count, what,
                                group->count - done);
    for (int32_t i = 0; i < count; i++, done++) {
      uint64_t size;
      halo_bytecode_cursor body;
      HALO_TRY(halo_bytecode_vi(index, &size));
      HALO_TRY(halo_bytecode_take(bodies, size >> 1, &body));
      group->entries[done] = (halo_bytecode_entry){.at = body.at,
                                                   .size = (size_t)(size >> 1),
                                                   .dialect = (uint8_t)reader->dialects[dialect],
                                                   .custom = size & 1};
    }
  }
  return HALO_OK;
}

halo_status halo_bytecode_read_entries(halo_bytecode_cursor index, halo_bytecode_cursor bodies) {
  halo_bytecode *reader = index.reader;
  halo_arena *arena = &reader->program->arena;
  int32_t attrs, types;
  HALO_TRY(halo_bytecode_count(&index, &attrs));
  HALO_TRY(halo_bytecode_count(&index, &types));
  reader->attrs = halo_arena_array(arena, halo_bytecode_entry, attrs);
  reader->types = halo_arena_array(arena, halo_bytecode_entry, types);
  reader->locs = halo_arena_array(arena, const halo_mlir_loc *, attrs);
  entry_group group = {&index, &bodies, reader->attrs, attrs};
  HALO_TRY(entries_read(&group, "attributes"));
  group = (entry_group){&index, &bodies, reader->types, types};
  HALO_TRY(entries_read(&group, "types"));
  reader->attr_count = attrs;
  reader->type_count = types;
  HALO_TRY(halo_bytecode_finish(&index, "the index of attributes and types"));
  return halo_bytecode_finish(&bodies, "the bytes of attributes and types");
}

/* ---- Decoding ---- */

/* What refers to others over and over is a few bytes that stand for very much, once it is compared or printed. */
static uint32_t entry_heaviest(const halo_bytecode *reader) {
  return reader->size < INT32_MAX / 8 ? (uint32_t)reader->size * 4 + 4096 : INT32_MAX;
}

static halo_status entry_decode(const halo_bytecode_cursor *cursor, halo_bytecode_entry *entry,
                                bool is_type) {
  halo_bytecode *reader = cursor->reader;
  if (entry->open) return halo_bytecode_fail(cursor, "an attribute or type that contains itself");
  if (reader->depth >= DEEPEST)
    return halo_bytecode_fail(cursor, "attributes or types are nested deeper than %d", DEEPEST);
  halo_bytecode_cursor body = {reader, entry->at, entry->at + entry->size};
  halo_arena *arena = &reader->program->arena;
  uint32_t outer = reader->weight;
  reader->weight = 1;
  reader->depth++;
  entry->open = true;
  halo_status status;
  const void *decoded;
  if (is_type) {
    halo_mlir_type *type = halo_arena_new(arena, halo_mlir_type);
    status = halo_bytecode_decode_type(body, entry, type);
    decoded = type;
  } else {
    halo_mlir_attr *attr = halo_arena_new(arena, halo_mlir_attr);
    status = halo_bytecode_decode_attr(body, entry, attr);
    decoded = attr;
  }
  entry->open = false;
  reader->depth--;
  HALO_TRY(status);
  if (reader->weight > entry_heaviest(reader))
    return halo_bytecode_fail(&body, "an attribute or type that is made of too many others");
  entry->decoded = decoded;
  entry->weight = reader->weight;
  reader->weight = outer;
  return HALO_OK;
}

/* Weights stay below the heaviest, so that a sum that is checked with each step does not overflow. */
static halo_status entry_use(const halo_bytecode_cursor *cursor, halo_bytecode_entry *entry,
                             bool is_type) {
  halo_bytecode *reader = cursor->reader;
  if (!entry->decoded) HALO_TRY(entry_decode(cursor, entry, is_type));
  reader->weight += entry->weight;
  if (reader->depth == 0) reader->weight = 0;
  if (reader->weight > entry_heaviest(reader))
    return halo_bytecode_fail(cursor, "an attribute or type that is made of too many others");
  return HALO_OK;
}

halo_status halo_bytecode_attr_at(const halo_bytecode_cursor *cursor, int32_t index,
                                  const halo_mlir_attr **out) {
  halo_bytecode_entry *entry = &cursor->reader->attrs[index];
  HALO_TRY(entry_use(cursor, entry, false));
  *out = entry->decoded;
  return HALO_OK;
}

halo_status halo_bytecode_type_at(const halo_bytecode_cursor *cursor, int32_t index,
                                  const halo_mlir_type **out) {
  halo_bytecode_entry *entry = &cursor->reader->types[index];
  HALO_TRY(entry_use(cursor, entry, true));
  *out = entry->decoded;
  return HALO_OK;
}

halo_status halo_bytecode_attr(halo_bytecode_cursor *cursor, const halo_mlir_attr **out) {
  halo_bytecode_cursor start = *cursor;
  int32_t index;
  HALO_TRY(halo_bytecode_index(cursor, cursor->reader->attr_count, "attribute", &index));
  return halo_bytecode_attr_at(&start, index, out);
}

halo_status halo_bytecode_type(halo_bytecode_cursor *cursor, const halo_mlir_type **out) {
  halo_bytecode_cursor start = *cursor;
  int32_t index;
  HALO_TRY(halo_bytecode_index(cursor, cursor->reader->type_count, "type", &index));
  return halo_bytecode_type_at(&start, index, out);
}

halo_status halo_bytecode_attr_list(halo_bytecode_cursor *cursor, halo_mlir_attr *array) {
  int32_t count;
  HALO_TRY(halo_bytecode_count(cursor, &count));
  const halo_mlir_attr **data =
      halo_arena_array(&cursor->reader->program->arena, const halo_mlir_attr *, count);
  for (int32_t i = 0; i < count; i++) HALO_TRY(halo_bytecode_attr(cursor, &data[i]));
  array->kind = HALO_MLIR_ARRAY;
  array->array.data = data;
  array->array.count = count;
  return HALO_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_loc.c: locations, which are attributes that nest deeply: the name and the place that they come to
 * are found without decoding the rest, by a walk of bounded length. */
#include "stablehlo/bytecode.h"

#include <string.h>

enum {
  LOC_CALLSITE = 10,
  LOC_FILE = 11,
  LOC_FUSED = 12,
  LOC_FUSED_WITH = 13,
  LOC_NAME = 14,
  LOC_UNKNOWN = 15,
  LOC_RANGE = 22
};

enum { MOST_STEPS = 64, MOST_PENDING = 16 };

/* What was found so far, and which parts are to be looked at still, the next one last. */
typedef struct loc_walk {
  halo_mlir_loc found;
  int32_t pending[MOST_PENDING];
  int count;
} loc_walk;

static const halo_mlir_loc loc_nothing;

/* The index of a part; those beyond what is kept are left out. */
static halo_status walk_push(loc_walk *walk, halo_bytecode_cursor *body) {
  int32_t index;
  HALO_TRY(halo_bytecode_index(body, body->reader->attr_count, "location", &index));
  if (walk->count < MOST_PENDING) walk->pending[walk->count++] = index;
  return HALO_OK;
}

static halo_status walk_string(halo_bytecode_cursor *body, const char **out) {
  const halo_mlir_attr *string;
  halo_bytecode_cursor start = *body;
  HALO_TRY(halo_bytecode_attr(body, &string));
  if (string->kind != HALO_MLIR_STRING)
    return halo_bytecode_fail(&start, "a name in a location is no string");
  if (!*out) *out = string->string.text;
  return HALO_OK;
}

static halo_status walk_place(loc_walk *walk, halo_bytecode_cursor *body, bool range) {
  uint64_t numbers[2] = {0}, count = 2;
  bool first = !walk->found.file;
  HALO_TRY(walk_string(body, &walk->found.file));
  if (range) HALO_TRY(halo_bytecode_vi(body, &count));
  if (count > 4) return halo_bytecode_fail(body, "%llu numbers of a place", (long long)count);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t number;
    HALO_TRY(halo_bytecode_vi(body, &number));
    if (i < 2) numbers[i] = number <= INT32_MAX ? number : 0;
  }
  if (first) {
    walk->found.line = (int32_t)numbers[0];
    walk->found.column = (int32_t)numbers[1];
  }
  return HALO_OK;
}

/* Parts are looked at in order, a callee before its caller. */
static halo_status walk_step(loc_walk *walk, halo_bytecode_cursor *body) {
  uint64_t code;
  int32_t count = 2;
  HALO_TRY(halo_bytecode_vi(body, &code));
  switch (code) {
    case LOC_UNKNOWN: return HALO_OK;
    case LOC_FILE: return walk_place(walk, body, false);
    case LOC_RANGE: return walk_place(walk, body, true);
    case LOC_NAME: HALO_TRY(walk_string(body, &walk->found.name)); return walk_push(walk, body);
    case LOC_FUSED:
    case LOC_FUSED_WITH: HALO_TRY(halo_bytecode_count(body, &count)); break;
    case LOC_CALLSITE: break;
    default: return HALO_OK; /* a newer kind */
  }
  int first = walk->count;
  for (int32_t i = 0; i < count && walk->count < MOST_PENDING; i++) HALO_TRY(walk_push(walk, body));
  for (int a = first, b = walk->count - 1; a < b; a++, b--) {
    int32_t swapped = walk->pending[a];
    walk->pending[a] = walk->pending[b];
    walk->pending[b] = swapped;
  }
  return HALO_OK;
}

static halo_status loc_find(halo_bytecode *reader, int32_t index, halo_mlir_loc *out) {
  loc_walk walk = {.pending = {index}, .count = 1};
  for (int step = 0; step < MOST_STEPS && walk.count; step++) {
    const halo_bytecode_entry *entry = &reader->attrs[walk.pending[--walk.count]];
    halo_bytecode_cursor body = {reader, entry->at, entry->at + entry->size};
    if (!entry->custom || entry->dialect != HALO_BYTECODE_BUILTIN) continue; /* another dialect's */
    HALO_TRY(walk_step(&walk, &body));
    if (walk.found.name && walk.found.file) break;
  }
  *out = walk.found;
  return HALO_OK;
}

halo_status halo_bytecode_loc(halo_bytecode_cursor *cursor, const halo_mlir_loc **out) {
  halo_bytecode *reader = cursor->reader;
  int32_t index;
  HALO_TRY(halo_bytecode_index(cursor, reader->attr_count, "location", &index));
  if (!reader->locs[index]) {
    halo_mlir_loc found;
    HALO_TRY(loc_find(reader, index, &found));
    reader->locs[index] = &loc_nothing;
    if (found.name || found.file)
      reader->locs[index] = halo_arena_copy(&reader->program->arena, &found, sizeof found);
  }
  *out = reader->locs[index] == &loc_nothing ? NULL : reader->locs[index];
  return HALO_OK;
}

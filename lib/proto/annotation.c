/* SPDX-License-Identifier: Apache-2.0 */
/* proto/annotation.c: metadata (OpMetadata), shardings (OpSharding), frontend attributes. */
#include "proto/convert.h"

#include <string.h>

/* ---- Metadata ---- */

enum { META_PROFILE = 5, META_FRAME = 15 };

static const struct {
  uint32_t field;
  bool text;
  size_t offset;
} meta_rows[] = {
    {1, true, offsetof(halo_metadata, op_type)},
    {2, true, offsetof(halo_metadata, op_name)},
    {3, true, offsetof(halo_metadata, source_file)},
    {4, false, offsetof(halo_metadata, source_line)},
    {12, true, offsetof(halo_metadata, deduplicated_name)},
    {META_FRAME, false, offsetof(halo_metadata, stack_frame_id)},
    {16, true, offsetof(halo_metadata, scheduling_name)},
    {17, false, offsetof(halo_metadata, source_end_line)},
    {18, false, offsetof(halo_metadata, source_column)},
    {19, false, offsetof(halo_metadata, source_end_column)},
};
enum { META_ROWS = sizeof meta_rows / sizeof *meta_rows };

enum { FRAMES_FILES = 1, FRAMES_PLACES = 3, FRAMES_FRAMES = 4 };
enum { PLACE_FILE = 1, PLACE_LINE = 3, PLACE_COLUMN = 4, PLACE_END_LINE = 5, PLACE_END_COLUMN = 6 };

static int64_t number_in(halo_proto_message message, uint32_t number) {
  halo_proto_field field;
  return halo_proto_find(message, number, &field) ? halo_proto_int(&field) : 0;
}

void halo_proto_read_frames(halo_proto_message message) {
  halo_proto_reader *reader = message.reader;
  HALO_VEC(const char *) files = {0};
  HALO_VEC(halo_proto_place) places = {0}, frames = {0};
  halo_proto_field field;
  while (halo_proto_next(&message, &field)) {
    if (field.number == FRAMES_FILES) {
      halo_vec_push(&files, halo_proto_text(&field));
    } else if (field.number == FRAMES_PLACES) {
      halo_proto_message body = halo_proto_body(&field);
      int64_t file = number_in(body, PLACE_FILE);
      halo_vec_push(
          &places,
          (halo_proto_place){.file = file > 0 && file <= files.count ? files.data[file - 1] : NULL,
                             .line = number_in(body, PLACE_LINE),
                             .column = number_in(body, PLACE_COLUMN),
                             .end_line = number_in(body, PLACE_END_LINE),
                             .end_column = number_in(body, PLACE_END_COLUMN)});
    } else if (field.number == FRAMES_FRAMES) {
      int64_t place = number_in(halo_proto_body(&field), 1);
      halo_proto_place none = {0};
      halo_vec_push(&frames, place > 0 && place <= places.count ? places.data[place - 1] : none);
    }
  }
  reader->frames =
      halo_arena_copy(reader->arena, frames.data, sizeof *frames.data * (size_t)frames.count);
  reader->frame_count = frames.count;
  halo_vec_deinit(&files);
  halo_vec_deinit(&places);
  halo_vec_deinit(&frames);
}

/* Tables of places belong to one file: what a number in them says takes its place. */
static void resolve_frame(const halo_proto_reader *reader, halo_metadata *metadata) {
  int64_t frame = metadata->stack_frame_id;
  metadata->stack_frame_id = 0;
  if (frame < 1 || frame > reader->frame_count || metadata->source_file) return;
  const halo_proto_place *place = &reader->frames[frame - 1];
  metadata->source_file = place->file;
  metadata->source_line = place->line;
  metadata->source_column = place->column;
  metadata->source_end_line = place->end_line;
  metadata->source_end_column = place->end_column;
}

const halo_metadata *halo_proto_read_metadata(halo_proto_message message) {
  halo_metadata *out = halo_arena_new(message.reader->arena, halo_metadata);
  halo_proto_field field;
  out->profile_type = halo_proto_list(message, META_PROFILE);
  bool any = out->profile_type.count > 0;
  while (halo_proto_next(&message, &field)) {
    for (int i = 0; i < META_ROWS; i++) {
      char *member = (char *)out + meta_rows[i].offset;
      if (meta_rows[i].field != field.number) continue;
      any = true;
      if (meta_rows[i].text)
        *(const char **)member = halo_proto_text(&field);
      else
        *(int64_t *)member = halo_proto_int(&field);
    }
  }
  resolve_frame(message.reader, out);
  return any ? out : NULL;
}

void halo_proto_write_metadata(halo_proto_writer *out, uint32_t field,
                               const halo_metadata *metadata) {
  size_t mark = out->used;
  for (int i = META_ROWS; i-- > 0;) {
    const char *member = (const char *)metadata + meta_rows[i].offset;
    if (meta_rows[i].field == META_FRAME) continue; /* of a table that is not written */
    if (meta_rows[i].text)
      halo_proto_put_text(out, meta_rows[i].field, *(const char *const *)member);
    else
      halo_proto_put_int(out, meta_rows[i].field, *(const int64_t *)member);
  }
  halo_proto_put_ints(out, META_PROFILE, metadata->profile_type.data, metadata->profile_type.count);
  halo_proto_close(out, field, mark);
}

/* ---- Shardings ---- */

enum {
  SHARD_TYPE = 1,
  SHARD_TILES = 3,
  SHARD_DEVICES = 4,
  SHARD_TUPLE = 5,
  SHARD_REPLICATE_LAST = 6,
  SHARD_METADATA = 7,
  SHARD_LAST_KINDS = 8,
  SHARD_RESHAPE = 9,
  SHARD_TRANSPOSE = 10,
  SHARD_IN_GROUP = 11,
  SHARD_GROUP_ID = 12,
  SHARD_GROUP_KIND = 13,
  SHARD_NAMED = 14
};

/* By the numbers of OpSharding.Type. */
static const halo_sharding_kind shard_kinds[] = {
    HALO_SHARDING_REPLICATED, HALO_SHARDING_MAXIMAL, HALO_SHARDING_TUPLE,    HALO_SHARDING_TILED,
    HALO_SHARDING_MANUAL,     HALO_SHARDING_UNKNOWN, HALO_SHARDING_UNREDUCED};
enum { SHARD_KINDS = sizeof shard_kinds / sizeof *shard_kinds };

static halo_sharding_kind shard_kind(halo_proto_message at, int64_t number) {
  if (number >= 0 && number < SHARD_KINDS) return shard_kinds[number];
  halo_proto_refuse(at, "a sharding of kind %lld is not known", (long long)number);
  return HALO_SHARDING_UNKNOWN;
}

static int64_t shard_number(halo_sharding_kind kind) {
  for (int i = 0; i < SHARD_KINDS; i++)
    if (shard_kinds[i] == kind) return i;
  return 0;
}

static void read_elements(halo_proto_message message, halo_sharding *out) {
  HALO_VEC(halo_sharding) elements = {0};
  halo_proto_reader *reader = message.reader;
  halo_proto_field field;
  while (halo_proto_next(&message, &field)) {
    if (field.number != SHARD_TUPLE) continue;
    halo_sharding element = {0};
    halo_proto_read_sharding(halo_proto_body(&field), &element);
    halo_vec_push(&elements, element);
  }
  out->elements =
      halo_arena_copy(reader->arena, elements.data, sizeof *elements.data * (size_t)elements.count);
  out->element_count = elements.count;
  halo_vec_deinit(&elements);
}

static void read_group(halo_proto_message message, halo_sharding *out) {
  halo_proto_field field;
  if (!halo_proto_find(message, SHARD_IN_GROUP, &field) || !halo_proto_int(&field)) return;
  bool like = halo_proto_find(message, SHARD_GROUP_KIND, &field) && halo_proto_int(&field) == 1;
  out->group = like ? HALO_SHARD_LIKE : HALO_SHARD_AS;
  if (halo_proto_find(message, SHARD_GROUP_ID, &field)) out->group_id = halo_proto_int(&field);
}

void halo_proto_read_sharding(halo_proto_message message, halo_sharding *out) {
  halo_proto_reader *reader = message.reader;
  halo_proto_field field;
  int64_t kind = halo_proto_find(message, SHARD_TYPE, &field) ? halo_proto_int(&field) : 0;
  *out = (halo_sharding){.kind = shard_kind(message, kind)};
  if (halo_proto_find(message, SHARD_NAMED, &field))
    halo_proto_refuse(message, "shardings by the axes of a mesh are not supported in this format");
  if (reader->status != HALO_OK) return;
  read_group(message, out);
  if (out->kind == HALO_SHARDING_TUPLE) {
    if (reader->depth >= 2) {
      halo_proto_wrong(message, "a tuple of shardings in another");
      return;
    }
    reader->depth++;
    read_elements(message, out);
    reader->depth--;
    return;
  }
  halo_int_list devices = halo_proto_list(message, SHARD_DEVICES);
  if (out->kind == HALO_SHARDING_MAXIMAL) out->device = devices.count ? devices.data[0] : 0;
  if (out->kind != HALO_SHARDING_TILED) return;
  out->tiles = halo_proto_list(message, SHARD_TILES);
  out->devices = devices;
  out->reshape = halo_proto_list(message, SHARD_RESHAPE);
  out->transpose = halo_proto_list(message, SHARD_TRANSPOSE);
  if (out->reshape.count == 1) out->transpose.count = 0;
  out->replicate_last =
      halo_proto_find(message, SHARD_REPLICATE_LAST, &field) && halo_proto_int(&field);
  halo_int_list last = halo_proto_list(message, SHARD_LAST_KINDS);
  int64_t *kinds = halo_arena_array(reader->arena, int64_t, last.count);
  for (int32_t i = 0; i < last.count; i++) kinds[i] = shard_kind(message, last.data[i]);
  out->last_kinds = (halo_int_list){kinds, last.count};
  if (reader->status == HALO_OK && halo_sharding_check(out) != HALO_OK)
    halo_proto_wrong(message, "%s", halo_error_message());
}

static void write_tiled(halo_proto_writer *out, const halo_sharding *sharding) {
  int64_t kinds[HALO_MAX_RANK];
  int32_t count = sharding->last_kinds.count < HALO_MAX_RANK ? sharding->last_kinds.count : 0;
  for (int32_t i = 0; i < count; i++)
    kinds[i] = shard_number((halo_sharding_kind)sharding->last_kinds.data[i]);
  static const int64_t one_dimension = 0;
  bool straight = sharding->reshape.count == 1 && !sharding->transpose.count;
  halo_proto_put_ints(out, SHARD_TRANSPOSE, straight ? &one_dimension : sharding->transpose.data,
                      straight ? 1 : sharding->transpose.count);
  halo_proto_put_ints(out, SHARD_RESHAPE, sharding->reshape.data, sharding->reshape.count);
  halo_proto_put_ints(out, SHARD_LAST_KINDS, kinds, count);
  halo_proto_put_int(out, SHARD_REPLICATE_LAST, sharding->replicate_last);
  halo_proto_put_ints(out, SHARD_DEVICES, sharding->devices.data, sharding->devices.count);
  halo_proto_put_ints(out, SHARD_TILES, sharding->tiles.data, sharding->tiles.count);
}

void halo_proto_write_sharding(halo_proto_writer *out, uint32_t field,
                               const halo_sharding *sharding) {
  size_t mark = out->used;
  if (sharding->group != HALO_SHARD_ALONE) {
    halo_proto_put_int(out, SHARD_GROUP_KIND, sharding->group == HALO_SHARD_LIKE);
    halo_proto_put_int(out, SHARD_GROUP_ID, sharding->group_id);
    halo_proto_put_int(out, SHARD_IN_GROUP, 1);
  }
  for (int32_t i = sharding->metadata_count; i-- > 0;)
    halo_proto_write_metadata(out, SHARD_METADATA, &sharding->metadata[i]);
  for (int32_t i = sharding->element_count; i-- > 0;)
    halo_proto_write_sharding(out, SHARD_TUPLE, &sharding->elements[i]);
  if (sharding->kind == HALO_SHARDING_TILED) write_tiled(out, sharding);
  if (sharding->kind == HALO_SHARDING_MAXIMAL) {
    static const int64_t one = 1;
    halo_proto_put_ints(out, SHARD_DEVICES, &sharding->device, 1);
    halo_proto_put_ints(out, SHARD_TILES, &one, 1);
  }
  halo_proto_put_int(out, SHARD_TYPE, shard_number(sharding->kind));
  halo_proto_close(out, field, mark);
}

/* ---- Frontend attributes ---- */

enum { PAIRS_MAP = 1, PAIR_KEY = 1, PAIR_VALUE = 2 };

const char *const *halo_proto_read_pairs(halo_proto_message message, int32_t *count) {
  HALO_VEC(const char *) texts = {0};
  halo_arena *arena = message.reader->arena;
  halo_proto_field field, part;
  while (halo_proto_next(&message, &field)) {
    if (field.number != PAIRS_MAP) continue;
    halo_proto_message pair = halo_proto_body(&field);
    halo_vec_push(&texts, halo_proto_find(pair, PAIR_KEY, &part) ? halo_proto_text(&part) : "");
    halo_vec_push(&texts, halo_proto_find(pair, PAIR_VALUE, &part) ? halo_proto_text(&part) : "");
  }
  *count = texts.count;
  const char *const *out =
      halo_arena_copy(arena, texts.data, sizeof *texts.data * (size_t)texts.count);
  halo_vec_deinit(&texts);
  return out;
}

void halo_proto_write_pairs(halo_proto_writer *out, uint32_t field, const char *const *texts,
                            int32_t count) {
  size_t mark = out->used;
  for (int32_t i = count / 2; i-- > 0;) {
    size_t pair = out->used;
    halo_proto_put_text(out, PAIR_VALUE, texts[2 * i + 1]);
    halo_proto_put_text(out, PAIR_KEY, texts[2 * i]);
    halo_proto_close(out, PAIRS_MAP, pair);
  }
  halo_proto_close(out, field, mark);
}

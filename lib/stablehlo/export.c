/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/export.c: what jax.export's Exported.serialize() writes: a flatbuffer around a portable artifact.
 *
 * A flatbuffer begins with the place of its table. A table begins with the distance back to its list of fields, which has its
 * own size, the table's, and for each field its place in the table, or 0. A list of bytes is where its field says, counted from
 * the field: a length, then the bytes. All numbers are little-endian. */
#include "stablehlo/stablehlo.h"

#include <string.h>

/* The field mlir_module_serialized. Fields keep their numbers in all versions of the format. */
enum { EXPORT_FIELD = 13, EXPORT_HEAD = 4 };

typedef struct export_file {
  const unsigned char *bytes;
  size_t size;
} export_file;

/* A number of so many bytes; false outside of the file. */
static bool export_number(const export_file *file, uint64_t at, uint64_t bytes, uint64_t *out) {
  if (at > file->size || file->size - at < bytes) return false;
  *out = 0;
  for (uint64_t i = 0; i < bytes; i++) *out |= (uint64_t)file->bytes[at + i] << (8 * i);
  return true;
}

/* Where a field of the table at `table` is; false when it is missing. */
static bool export_field(const export_file *file, uint64_t table, uint64_t field, uint64_t *out) {
  uint64_t back, list_size, place, entry = EXPORT_HEAD + 2 * field;
  if (!export_number(file, table, 4, &back)) return false;
  /* The distance has a sign; a list behind its table is as good. */
  uint64_t list = table - (back >> 31 ? back - ((uint64_t)1 << 32) : back);
  if (!export_number(file, list, 2, &list_size) || list_size < entry + 2) return false;
  if (!export_number(file, list + entry, 2, &place) || place == 0) return false;
  *out = table + place;
  return true;
}

bool halo_export_artifact(const void *bytes, size_t size, const void **out, size_t *out_size) {
  static const unsigned char magic[] = {0x4d, 0x4c, 0xef, 0x52};
  const export_file file = {bytes, size};
  uint64_t table, field, distance, length;
  if (!export_number(&file, 0, 4, &table) || !export_field(&file, table, EXPORT_FIELD, &field) ||
      !export_number(&file, field, 4, &distance) ||
      !export_number(&file, field + distance, 4, &length)) {
    return false;
  }
  uint64_t at = field + distance + 4;
  if (length < sizeof magic || size - at < length) return false;
  if (memcmp(file.bytes + at, magic, sizeof magic) != 0) return false;
  *out = file.bytes + at;
  *out_size = (size_t)length;
  return true;
}

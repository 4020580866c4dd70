/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_cursor.c: the numbers, strings and sections that bytecode is made of. */
#include "stablehlo/bytecode.h"

#include <string.h>

enum { PADDING = 0xCB, ALIGNED = 0x80 };

/* ---- Faults ---- */

static halo_status cursor_fail(halo_status status, const halo_bytecode_cursor *cursor,
                               const char *format, va_list args) {
  halo_strbuf text = {0};
  halo_strbuf_vprintf(&text, format, args);
  halo_fail(status, "%s: byte %zu: %s", cursor->reader->name,
            (size_t)(cursor->at - cursor->reader->begin), halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return status;
}

halo_status halo_bytecode_fail(const halo_bytecode_cursor *cursor, const char *format, ...) {
  va_list args;
  va_start(args, format);
  halo_status status = cursor_fail(HALO_INVALID_ARGUMENT, cursor, format, args);
  va_end(args);
  return status;
}

halo_status halo_bytecode_refuse(const halo_bytecode_cursor *cursor, const char *format, ...) {
  va_list args;
  va_start(args, format);
  halo_status status = cursor_fail(HALO_UNIMPLEMENTED, cursor, format, args);
  va_end(args);
  return status;
}

/* ---- Numbers ---- */

static halo_status cursor_ends(const halo_bytecode_cursor *cursor) {
  return halo_bytecode_fail(cursor, "the bytes end here, but more were announced");
}

halo_status halo_bytecode_byte(halo_bytecode_cursor *cursor, uint8_t *out) {
  if (cursor->at == cursor->end) return cursor_ends(cursor);
  *out = *cursor->at++;
  return HALO_OK;
}

/* The low zero bits of the first byte count the bytes that follow it. */
halo_status halo_bytecode_vi(halo_bytecode_cursor *cursor, uint64_t *out) {
  if (cursor->at == cursor->end) return cursor_ends(cursor);
  uint8_t first = *cursor->at;
  if (first & 1) {
    *out = first >> 1;
    cursor->at++;
    return HALO_OK;
  }
  int bytes = first ? __builtin_ctz(first) + 1 : 9;
  if (halo_bytecode_left(cursor) < (size_t)bytes) return cursor_ends(cursor);
  uint64_t value = 0;
  int skipped = bytes == 9; /* the first byte holds nothing of the longest form */
  for (int i = skipped; i < bytes; i++) value |= (uint64_t)cursor->at[i] << (8 * (i - skipped));
  *out = skipped ? value : value >> bytes;
  cursor->at += bytes;
  return HALO_OK;
}

halo_status halo_bytecode_si(halo_bytecode_cursor *cursor, int64_t *out) {
  uint64_t zigzag;
  HALO_TRY(halo_bytecode_vi(cursor, &zigzag));
  *out = (int64_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
  return HALO_OK;
}

halo_status halo_bytecode_count(halo_bytecode_cursor *cursor, int32_t *out) {
  halo_bytecode_cursor start = *cursor;
  uint64_t value;
  HALO_TRY(halo_bytecode_vi(cursor, &value));
  if (value > halo_bytecode_left(cursor) || value > INT32_MAX)
    return halo_bytecode_fail(&start, "%llu entries are announced, but %zu bytes are left",
                              (unsigned long long)value, halo_bytecode_left(cursor));
  *out = (int32_t)value;
  return HALO_OK;
}

static halo_status cursor_check(const halo_bytecode_cursor *start, uint64_t value, int32_t limit,
                                const char *what, int32_t *out) {
  if (value >= (uint64_t)limit)
    return halo_bytecode_fail(start, "%s %llu of %d", what, (unsigned long long)value, limit);
  *out = (int32_t)value;
  return HALO_OK;
}

halo_status halo_bytecode_index(halo_bytecode_cursor *cursor, int32_t limit, const char *what,
                                int32_t *out) {
  halo_bytecode_cursor start = *cursor;
  uint64_t value;
  HALO_TRY(halo_bytecode_vi(cursor, &value));
  return cursor_check(&start, value, limit, what, out);
}

halo_status halo_bytecode_flagged(halo_bytecode_cursor *cursor, int32_t limit, const char *what,
                                  int32_t *out, bool *flag) {
  halo_bytecode_cursor start = *cursor;
  uint64_t value;
  HALO_TRY(halo_bytecode_vi(cursor, &value));
  *flag = value & 1;
  return cursor_check(&start, value >> 1, limit, what, out);
}

/* Wider integers than a byte travel as signed varints of their zero-extended bits. */
halo_status halo_bytecode_bits(halo_bytecode_cursor *cursor, int width, uint64_t *out) {
  uint64_t bits;
  if (width <= 8) {
    uint8_t byte = 0;
    HALO_TRY(halo_bytecode_byte(cursor, &byte));
    bits = byte;
  } else {
    int64_t value;
    HALO_TRY(halo_bytecode_si(cursor, &value));
    bits = (uint64_t)value;
  }
  *out = bits & (~(uint64_t)0 >> (64 - width));
  return HALO_OK;
}

/* ---- Bytes ---- */

halo_status halo_bytecode_take(halo_bytecode_cursor *cursor, uint64_t size,
                               halo_bytecode_cursor *out) {
  if (size > halo_bytecode_left(cursor))
    return halo_bytecode_fail(cursor, "%llu bytes are announced, but %zu are left",
                              (unsigned long long)size, halo_bytecode_left(cursor));
  *out = (halo_bytecode_cursor){cursor->reader, cursor->at, cursor->at + size};
  cursor->at += size;
  return HALO_OK;
}

halo_status halo_bytecode_blob_of(halo_bytecode_cursor *cursor, halo_bytecode_cursor *out) {
  uint64_t size;
  HALO_TRY(halo_bytecode_vi(cursor, &size));
  return halo_bytecode_take(cursor, size, out);
}

halo_status halo_bytecode_align(halo_bytecode_cursor *cursor, uint64_t alignment) {
  if (!alignment || (alignment & (alignment - 1)))
    return halo_bytecode_fail(cursor, "an alignment of %llu is no power of two",
                              (unsigned long long)alignment);
  while ((uint64_t)(cursor->at - cursor->reader->begin) & (alignment - 1)) {
    if (cursor->at == cursor->end || *cursor->at != PADDING)
      return halo_bytecode_fail(cursor, "padding to a multiple of %llu is missing",
                                (unsigned long long)alignment);
    cursor->at++;
  }
  return HALO_OK;
}

halo_status halo_bytecode_section(halo_bytecode_cursor *cursor, uint8_t *id,
                                  halo_bytecode_cursor *out) {
  uint64_t size, alignment = 1;
  HALO_TRY(halo_bytecode_byte(cursor, id));
  HALO_TRY(halo_bytecode_vi(cursor, &size));
  if (*id & ALIGNED) {
    HALO_TRY(halo_bytecode_vi(cursor, &alignment));
    HALO_TRY(halo_bytecode_align(cursor, alignment));
    *id &= (uint8_t)~ALIGNED;
  }
  return halo_bytecode_take(cursor, size, out);
}

halo_status halo_bytecode_finish(const halo_bytecode_cursor *cursor, const char *what) {
  if (cursor->at == cursor->end) return HALO_OK;
  return halo_bytecode_fail(cursor, "%s should end here, but %zu bytes are left", what,
                            halo_bytecode_left(cursor));
}

halo_status halo_bytecode_string_of(halo_bytecode_cursor *cursor, halo_bytecode_string *out) {
  int32_t index = 0;
  HALO_TRY(halo_bytecode_index(cursor, cursor->reader->string_count, "string", &index));
  *out = cursor->reader->strings[index];
  return HALO_OK;
}

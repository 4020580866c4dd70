/* SPDX-License-Identifier: Apache-2.0 */
/* base/json.c: writes JSON to a file. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

size_t halo_utf8_character(const char *bytes) {
  const unsigned char *text = (const unsigned char *)bytes;
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t size = text[0] < 0x80             ? 1
                : (text[0] & 0xe0) == 0xc0 ? 2
                : (text[0] & 0xf0) == 0xe0 ? 3
                : (text[0] & 0xf8) == 0xf0 ? 4
                                           : 0;
  if (size < 2) return size;
  uint32_t code = text[0] & (0x7fu >> size);
  for (size_t i = 1; i < size; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0; /* the end of the text, too */
    code = code << 6 | (text[i] & 0x3fu);
  }
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least[size] || code > 0x10ffff || surrogate ? 0 : size;
}

static void json_quote(FILE *file, const char *text) {
  fputc('"', file);
  while (*text != '\0') {
    size_t size = halo_utf8_character(text);
    if (size == 0) {
      fputs("\\ufffd", file);
      size = 1;
    } else if ((unsigned char)*text < 0x20) {
      fprintf(file, "\\u%04x", *text);
    } else {
      if (*text == '"' || *text == '\\') fputc('\\', file);
      fwrite(text, 1, size, file);
    }
    text += size;
  }
  fputc('"', file);
}

/* The comma, the line and the key before a value. */
static void json_begin(halo_json_writer *json, const char *key, bool is_object) {
  bool in_array = json->depth > 0 && (json->arrays >> (json->depth - 1) & 1);
  if (json->any) fputc(',', json->file);
  if (in_array && is_object) {
    json->lines |= UINT32_C(1) << (json->depth - 1);
    fputs("\n  ", json->file);
  } else if (json->any) {
    fputc(' ', json->file);
  }
  if (key != NULL) {
    json_quote(json->file, key);
    fputs(": ", json->file);
  }
  json->any = true;
}

static void json_open(halo_json_writer *json, const char *key, bool is_array) {
  json_begin(json, key, !is_array);
  fputc(is_array ? '[' : '{', json->file);
  uint32_t bit = UINT32_C(1) << json->depth++;
  json->arrays = is_array ? json->arrays | bit : json->arrays & ~bit;
  json->lines &= ~bit;
  json->any = false;
}

void halo_json_object(halo_json_writer *json, const char *key) { json_open(json, key, false); }
void halo_json_array(halo_json_writer *json, const char *key) { json_open(json, key, true); }

void halo_json_close(halo_json_writer *json) {
  bool is_array = json->arrays >> --json->depth & 1;
  if (json->lines >> json->depth & 1) fputc('\n', json->file);
  fputc(is_array ? ']' : '}', json->file);
  if (json->depth == 0) fputc('\n', json->file);
  json->any = true;
}

void halo_json_text(halo_json_writer *json, const char *key, const char *text) {
  json_begin(json, key, false);
  json_quote(json->file, text);
}

void halo_json_number(halo_json_writer *json, const char *key, double number) {
  json_begin(json, key, false);
  if (isfinite(number)) {
    fprintf(json->file, "%.12g", number);
  } else {
    fputs("null", json->file);
  }
}

void halo_json_integer(halo_json_writer *json, const char *key, int64_t number) {
  json_begin(json, key, false);
  fprintf(json->file, "%" PRId64, number);
}

void halo_json_bool(halo_json_writer *json, const char *key, bool value) {
  json_begin(json, key, false);
  fputs(value ? "true" : "false", json->file);
}

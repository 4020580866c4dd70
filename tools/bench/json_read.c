/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.c: reads JSON texts. */
#include "bench/json_read.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { JSON_DEEPEST = 64 };

typedef struct json_reader {
  const char *begin, *at;
  int depth;
} json_reader;

static bool json_take_value(json_reader *reader, json_value *out);

static void json_skip(json_reader *reader) { reader->at += strspn(reader->at, " \t\r\n"); }

static bool json_take(json_reader *reader, const char *word) {
  size_t length = strlen(word);
  if (strncmp(reader->at, word, length) != 0) return false;
  reader->at += length;
  return true;
}

static char *json_put_utf8(char *to, unsigned code) {
  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 63));
  } else if (code < 0x10000) {
    *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(0x80 | (code >> 6 & 63));
    *to++ = (char)(0x80 | (code & 63));
  } else {
    *to++ = (char)(0xf0 | code >> 18);
    *to++ = (char)(0x80 | (code >> 12 & 63));
    *to++ = (char)(0x80 | (code >> 6 & 63));
    *to++ = (char)(0x80 | (code & 63));
  }
  return to;
}

static bool json_take_hex(json_reader *reader, unsigned *out) {
  char digits[5] = "";
  for (int i = 0; i < 4; i++) {
    if (strchr("0123456789abcdefABCDEF", reader->at[i]) == NULL || reader->at[i] == '\0') {
      return false;
    }
    digits[i] = reader->at[i];
  }
  *out = (unsigned)strtoul(digits, NULL, 16);
  reader->at += 4;
  return true;
}

/* The character behind a backslash. */
static bool json_take_escape(json_reader *reader, char **to) {
  static const char from[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
  const char *found = *reader->at ? strchr(from, *reader->at) : NULL;
  unsigned code, low;
  if (found != NULL) {
    *(*to)++ = means[found - from];
    reader->at++;
    return true;
  }
  if (!json_take(reader, "u") || !json_take_hex(reader, &code)) return false;
  if (code >= 0xd800 && code < 0xdc00) {
    if (!json_take(reader, "\\u") || !json_take_hex(reader, &low)) return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  *to = json_put_utf8(*to, code);
  return true;
}

/* To be freed; NULL: it is no text. */
static char *json_take_text(json_reader *reader) {
  if (!json_take(reader, "\"")) return NULL;
  size_t room = 64;
  char *text = tool_alloc(room), *to = text;
  while (*reader->at != '"' && *reader->at != '\0') {
    if (room - (size_t)(to - text) < 8) {
      size_t used = (size_t)(to - text);
      text = tool_realloc(text, room *= 2);
      to = text + used;
    }
    char c = *reader->at++;
    if (c != '\\') {
      *to++ = c;
    } else if (!json_take_escape(reader, &to)) {
      free(text);
      return NULL;
    }
  }
  *to = '\0';
  if (json_take(reader, "\"")) return text;
  free(text);
  return NULL;
}

/* The items of an array or object, up to its end. */
static bool json_take_items(json_reader *reader, json_value *out, bool named, const char *end) {
  json_skip(reader);
  if (json_take(reader, end)) return true;
  for (;;) {
    size_t count = (size_t)out->count + 1;
    out->items = tool_realloc(out->items, sizeof *out->items * count);
    out->items[out->count] = (json_value){0};
    if (named) {
      out->keys = tool_realloc(out->keys, sizeof *out->keys * count);
      json_skip(reader);
      out->keys[out->count] = json_take_text(reader);
    }
    out->count++;
    if (named) {
      if (out->keys[out->count - 1] == NULL) return false;
      json_skip(reader);
      if (!json_take(reader, ":")) return false;
    }
    if (!json_take_value(reader, &out->items[out->count - 1])) return false;
    json_skip(reader);
    if (json_take(reader, end)) return true;
    if (!json_take(reader, ",")) return false;
  }
}

static bool json_take_nested(json_reader *reader, json_value *out, bool named, const char *end) {
  if (reader->depth == JSON_DEEPEST) return false;
  out->kind = named ? JSON_OBJECT : JSON_ARRAY;
  reader->depth++;
  bool ok = json_take_items(reader, out, named, end);
  reader->depth--;
  return ok;
}

static bool json_take_value(json_reader *reader, json_value *out) {
  json_skip(reader);
  if (json_take(reader, "{")) return json_take_nested(reader, out, true, "}");
  if (json_take(reader, "[")) return json_take_nested(reader, out, false, "]");
  if (*reader->at == '"') {
    out->kind = JSON_TEXT;
    out->text = json_take_text(reader);
    return out->text != NULL;
  }
  if (json_take(reader, "null")) return true;
  if (json_take(reader, "true")) {
    *out = (json_value){.kind = JSON_BOOL, .number = 1};
    return true;
  }
  if (json_take(reader, "false")) {
    *out = (json_value){.kind = JSON_BOOL};
    return true;
  }
  char *end;
  if (strchr("-0123456789", *reader->at) == NULL || *reader->at == '\0') return false;
  *out = (json_value){.kind = JSON_NUMBER, .number = strtod(reader->at, &end)};
  bool any = end != reader->at;
  reader->at = end;
  return any;
}

static void json_clear(json_value *value) {
  for (int i = 0; i < value->count; i++) {
    json_clear(&value->items[i]);
    if (value->keys != NULL) free(value->keys[i]);
  }
  free(value->keys);
  free(value->items);
  free(value->text);
}

json_value *json_parse(const char *text, int *error) {
  json_reader reader = {.begin = text, .at = text};
  json_value *value = tool_alloc(sizeof *value);
  *value = (json_value){0};
  bool ok = json_take_value(&reader, value);
  json_skip(&reader);
  if (ok && *reader.at == '\0') return value;
  *error = (int)(reader.at - reader.begin);
  json_release(value);
  return NULL;
}

void json_release(json_value *value) {
  if (value == NULL) return;
  json_clear(value);
  free(value);
}

const json_value *json_member(const json_value *object, const char *key) {
  if (object == NULL || object->kind != JSON_OBJECT) return NULL;
  for (int i = 0; i < object->count; i++) {
    if (strcmp(object->keys[i], key) == 0) return &object->items[i];
  }
  return NULL;
}

const char *json_text(const json_value *object, const char *key, const char *none) {
  const json_value *value = json_member(object, key);
  return value != NULL && value->kind == JSON_TEXT ? value->text : none;
}

double json_number(const json_value *object, const char *key, double none) {
  const json_value *value = json_member(object, key);
  return value != NULL && (value->kind == JSON_NUMBER || value->kind == JSON_BOOL) ? value->number
                                                                                   : none;
}

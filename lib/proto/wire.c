/* SPDX-License-Identifier: Apache-2.0 */
/* proto/wire.c: fields of messages, read and written. */
#include "proto/wire.h"

#include "base/strbuf.h"

#include <string.h>

/* ---- Faults ---- */

static void wire_fail(halo_proto_message at, halo_status status, const char *format, va_list args) {
  if (at.reader->status != HALO_OK) return;
  halo_strbuf text = {0};
  halo_strbuf_vprintf(&text, format, args);
  at.reader->status = halo_fail(status, "%s: byte %zu: %s", at.reader->name,
                                (size_t)(at.at - at.reader->begin), halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
}

void halo_proto_wrong(halo_proto_message at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  wire_fail(at, HALO_INVALID_ARGUMENT, format, args);
  va_end(args);
}

void halo_proto_refuse(halo_proto_message at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  wire_fail(at, HALO_UNIMPLEMENTED, format, args);
  va_end(args);
}

/* ---- Reading ---- */

static bool wire_varint(halo_proto_message *message, uint64_t *out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && message->at < message->end; shift += 7) {
    uint8_t byte = *message->at++;
    if (shift < 64) value |= (uint64_t)(byte & 0x7F) << shift;
    if (!(byte & 0x80)) {
      *out = value;
      return true;
    }
  }
  halo_proto_wrong(*message, "a number does not end");
  return false;
}

static bool wire_fixed(halo_proto_message *message, size_t size, uint64_t *out) {
  *out = 0;
  if ((size_t)(message->end - message->at) < size) {
    halo_proto_wrong(*message, "a number does not end");
    return false;
  }
  memcpy(out, message->at, size);
  message->at += size;
  return true;
}

bool halo_proto_next(halo_proto_message *message, halo_proto_field *field) {
  if (message->reader->status != HALO_OK || message->at == message->end) return false;
  uint64_t key;
  field->body = *message;
  if (!wire_varint(message, &key)) return false;
  field->number = (uint32_t)(key >> 3);
  field->wire = (halo_proto_wire)(key & 7);
  if (key >> 3 == 0 || key >> 3 > UINT32_MAX) {
    halo_proto_wrong(field->body, "no field has the number %llu", (unsigned long long)(key >> 3));
    return false;
  }
  switch (key & 7) {
    case HALO_WIRE_VARINT: return wire_varint(message, &field->value);
    case HALO_WIRE_FIXED64: return wire_fixed(message, 8, &field->value);
    case HALO_WIRE_FIXED32: return wire_fixed(message, 4, &field->value);
    case HALO_WIRE_BYTES: break;
    default:
      halo_proto_wrong(field->body, "field %u is of the unknown form %d", field->number,
                       (int)(key & 7));
      return false;
  }
  uint64_t size;
  if (!wire_varint(message, &size)) return false;
  if (size > (size_t)(message->end - message->at)) {
    halo_proto_wrong(field->body, "field %u has %llu bytes, but %zu are left", field->number,
                     (unsigned long long)size, (size_t)(message->end - message->at));
    return false;
  }
  field->body = (halo_proto_message){message->reader, message->at, message->at + size};
  message->at += size;
  return true;
}

bool halo_proto_find(halo_proto_message message, uint32_t number, halo_proto_field *field) {
  bool found = false;
  halo_proto_field next;
  while (halo_proto_next(&message, &next)) {
    if (next.number != number) continue;
    *field = next;
    found = true;
  }
  return found;
}

static bool wire_expect(const halo_proto_field *field, halo_proto_wire wire) {
  if (field->wire == wire) return true;
  halo_proto_wrong(field->body, "field %u is of form %d, not %d", field->number, (int)field->wire,
                   (int)wire);
  return false;
}

int64_t halo_proto_int(const halo_proto_field *field) {
  return wire_expect(field, HALO_WIRE_VARINT) ? (int64_t)field->value : 0;
}

double halo_proto_f64(const halo_proto_field *field) {
  double value = 0;
  if (wire_expect(field, HALO_WIRE_FIXED64)) memcpy(&value, &field->value, sizeof value);
  return value;
}

float halo_proto_f32(const halo_proto_field *field) {
  float value = 0;
  if (wire_expect(field, HALO_WIRE_FIXED32)) memcpy(&value, &field->value, sizeof value);
  return value;
}

halo_proto_message halo_proto_body(const halo_proto_field *field) {
  if (wire_expect(field, HALO_WIRE_BYTES)) return field->body;
  return (halo_proto_message){field->body.reader, NULL, NULL};
}

const char *halo_proto_text(const halo_proto_field *field) {
  halo_proto_message body = halo_proto_body(field);
  return halo_arena_strndup(body.reader->arena, (const char *)body.at,
                            (size_t)(body.end - body.at));
}

void halo_proto_append(const halo_proto_field *field, halo_proto_ints *out) {
  if (field->wire == HALO_WIRE_VARINT) {
    halo_vec_push(out, (int64_t)field->value);
    return;
  }
  halo_proto_message body = halo_proto_body(field);
  uint64_t value;
  while (body.at < body.end && wire_varint(&body, &value)) halo_vec_push(out, (int64_t)value);
}

halo_int_list halo_proto_list(halo_proto_message message, uint32_t number) {
  halo_arena *arena = message.reader->arena;
  halo_proto_ints all = {0};
  halo_proto_field field;
  while (halo_proto_next(&message, &field))
    if (field.number == number) halo_proto_append(&field, &all);
  halo_int_list list = {NULL, all.count};
  if (all.count) list.data = halo_arena_copy(arena, all.data, sizeof *all.data * (size_t)all.count);
  halo_vec_deinit(&all);
  return list;
}

/* ---- Writing ---- */

char *halo_proto_room(halo_proto_writer *out, size_t size) {
  if (out->capacity - out->used < size) {
    size_t capacity =
        out->capacity * 2 > out->used + size ? out->capacity * 2 : out->used + size + 256;
    char *data = halo_alloc(capacity);
    if (out->used)
      memcpy(data + capacity - out->used, out->data + out->capacity - out->used, out->used);
    halo_free(out->data);
    out->data = data;
    out->capacity = capacity;
  }
  out->used += size;
  return out->data + out->capacity - out->used;
}

static void put_varint(halo_proto_writer *out, uint64_t value) {
  char bytes[10];
  size_t size = 0;
  do {
    bytes[size++] = (char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
    value >>= 7;
  } while (value);
  memcpy(halo_proto_room(out, size), bytes, size);
}

static void put_key(halo_proto_writer *out, uint32_t field, halo_proto_wire wire) {
  put_varint(out, (uint64_t)field << 3 | wire);
}

void halo_proto_close(halo_proto_writer *out, uint32_t field, size_t mark) {
  put_varint(out, out->used - mark);
  put_key(out, field, HALO_WIRE_BYTES);
}

void halo_proto_put_bytes(halo_proto_writer *out, uint32_t field, const void *data, size_t size) {
  size_t mark = out->used;
  if (size) memcpy(halo_proto_room(out, size), data, size);
  halo_proto_close(out, field, mark);
}

void halo_proto_put_text(halo_proto_writer *out, uint32_t field, const char *text) {
  if (text && *text) halo_proto_put_bytes(out, field, text, strlen(text));
}

void halo_proto_put_zero(halo_proto_writer *out, uint32_t field, int64_t value) {
  put_varint(out, (uint64_t)value);
  put_key(out, field, HALO_WIRE_VARINT);
}

void halo_proto_put_int(halo_proto_writer *out, uint32_t field, int64_t value) {
  if (value) halo_proto_put_zero(out, field, value);
}

void halo_proto_put_f64(halo_proto_writer *out, uint32_t field, double value) {
  if (value == 0) return;
  memcpy(halo_proto_room(out, sizeof value), &value, sizeof value);
  put_key(out, field, HALO_WIRE_FIXED64);
}

void halo_proto_put_f32(halo_proto_writer *out, uint32_t field, float value) {
  if (value == 0) return;
  memcpy(halo_proto_room(out, sizeof value), &value, sizeof value);
  put_key(out, field, HALO_WIRE_FIXED32);
}

void halo_proto_put_ints(halo_proto_writer *out, uint32_t field, const int64_t *data,
                         int32_t count) {
  if (!count) return;
  size_t mark = out->used;
  for (int32_t i = count; i-- > 0;) put_varint(out, (uint64_t)data[i]);
  halo_proto_close(out, field, mark);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/proto.c: protocol buffers on the wire: fields in, fields out. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

enum { PROTO_NUMBER = 0, PROTO_EIGHT = 1, PROTO_BYTES = 2, PROTO_FOUR = 5 };

/* ---- Reading ---- */

static bool proto_varint(pjrt_message *message, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64 && message->at < message->end; shift += 7) {
    uint8_t byte = *message->at++;
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

static bool proto_fixed(pjrt_message *message, size_t size, uint64_t *out) {
  *out = 0;
  if ((size_t)(message->end - message->at) < size) return false;
  for (size_t i = 0; i < size; i++) *out |= (uint64_t)message->at[i] << 8 * i;
  message->at += size;
  return true;
}

static bool proto_next(pjrt_message *message, pjrt_field *field) {
  uint64_t key, size;
  if (!proto_varint(message, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX) return false;
  field->number = (uint32_t)(key >> 3);
  field->wire = (uint32_t)(key & 7);
  switch (field->wire) {
    case PROTO_NUMBER: return proto_varint(message, &field->value);
    case PROTO_EIGHT: return proto_fixed(message, 8, &field->value);
    case PROTO_FOUR: return proto_fixed(message, 4, &field->value);
    case PROTO_BYTES: break;
    default: return false; /* groups, which nobody writes any more, and nothing else */
  }
  if (!proto_varint(message, &size) || size > (size_t)(message->end - message->at)) return false;
  field->bytes = (pjrt_message){message->at, message->at + size};
  message->at += size;
  return true;
}

bool pjrt_message_next(pjrt_message *message, pjrt_field *field) {
  const uint8_t *start = message->at;
  *field = (pjrt_field){0};
  if (message->at >= message->end) return false;
  if (proto_next(message, field)) return true;
  message->at = start;
  return false;
}

bool pjrt_message_number(pjrt_message *rest, uint64_t *out) {
  return rest->at < rest->end && proto_varint(rest, out);
}

/* ---- Writing ---- */

void pjrt_write_raw(pjrt_writer *writer, const void *data, size_t size) {
  if (writer->room - writer->size < size) {
    size_t room = 2 * writer->room + size;
    uint8_t *grown = pjrt_alloc(room);
    if (writer->size) memcpy(grown, writer->data, writer->size);
    free(writer->data);
    writer->data = grown;
    writer->room = room;
  }
  if (size) memcpy(writer->data + writer->size, data, size);
  writer->size += size;
}

static void write_varint(pjrt_writer *writer, uint64_t value) {
  uint8_t bytes[10];
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = (uint8_t)(value | 0x80);
  bytes[count++] = (uint8_t)value;
  pjrt_write_raw(writer, bytes, count);
}

void pjrt_write_number(pjrt_writer *writer, uint32_t field, uint64_t value) {
  write_varint(writer, (uint64_t)field << 3 | PROTO_NUMBER);
  write_varint(writer, value);
}

void pjrt_write_field(pjrt_writer *writer, const pjrt_field *field) {
  if (field->wire == PROTO_BYTES) {
    pjrt_write_bytes(writer, field->number, field->bytes.at,
                     (size_t)(field->bytes.end - field->bytes.at));
    return;
  }
  write_varint(writer, (uint64_t)field->number << 3 | field->wire);
  if (field->wire == PROTO_NUMBER) {
    write_varint(writer, field->value);
    return;
  }
  uint8_t bytes[8];
  size_t size = field->wire == PROTO_EIGHT ? 8 : 4;
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(field->value >> 8 * i);
  pjrt_write_raw(writer, bytes, size);
}

void pjrt_write_bytes(pjrt_writer *writer, uint32_t field, const void *data, size_t size) {
  write_varint(writer, (uint64_t)field << 3 | PROTO_BYTES);
  write_varint(writer, size);
  pjrt_write_raw(writer, data, size);
}

void pjrt_write_packed(pjrt_writer *writer, uint32_t field, const int64_t *values, size_t count) {
  pjrt_writer inner = {0};
  if (!count) return;
  for (size_t i = 0; i < count; i++) write_varint(&inner, (uint64_t)values[i]);
  pjrt_write_bytes(writer, field, inner.data, inner.size);
  pjrt_writer_deinit(&inner);
}

void pjrt_writer_deinit(pjrt_writer *writer) {
  free(writer->data);
  *writer = (pjrt_writer){0};
}

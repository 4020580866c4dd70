/* SPDX-License-Identifier: Apache-2.0 */
/* proto/wire.h: the wire format of protocol buffers: messages are fields, each a number and a value. */
#ifndef HALO_PROTO_WIRE_H
#define HALO_PROTO_WIRE_H

#include "base/vec.h"
#include "hlo/hlo.h"

/* ---- Reading ----
 * A fault is kept in the reader, the first one; from then on messages have no more fields. */

/* A place in a source file, which metadata names by a number. */
typedef struct halo_proto_place {
  const char *file;
  int64_t line, column, end_line, end_column;
} halo_proto_place;

typedef struct halo_proto_reader {
  halo_module *module;
  halo_arena *arena; /* the module's */
  const char *name;  /* of the file */
  const uint8_t *begin;
  halo_status status;
  int depth;                      /* of shapes, literals and shardings within one another */
  const halo_proto_place *frames; /* by numbers from 1 */
  int32_t frame_count;
  int64_t group_ids; /* in replica groups that were computed */
} halo_proto_reader;

typedef struct halo_proto_message {
  halo_proto_reader *reader;
  const uint8_t *at, *end;
} halo_proto_message;

typedef enum halo_proto_wire {
  HALO_WIRE_VARINT = 0,
  HALO_WIRE_FIXED64 = 1,
  HALO_WIRE_BYTES = 2,
  HALO_WIRE_FIXED32 = 5
} halo_proto_wire;

typedef struct halo_proto_field {
  uint32_t number;
  halo_proto_wire wire;
  uint64_t value;          /* but of BYTES */
  halo_proto_message body; /* of BYTES: their place; of others too, for messages */
} halo_proto_field;

typedef HALO_VEC(int64_t) halo_proto_ints;

/* Keeps a fault at a place: HALO_INVALID_ARGUMENT with "name: byte N: ...". */
void halo_proto_wrong(halo_proto_message at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same, HALO_UNIMPLEMENTED. */
void halo_proto_refuse(halo_proto_message at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The next field; false at the end and after a fault. */
bool halo_proto_next(halo_proto_message *message, halo_proto_field *field);
/* The last field of this number; false: there is none. */
bool halo_proto_find(halo_proto_message message, uint32_t number, halo_proto_field *field);
/* Values of fields; one of another wire type is a fault, and 0. */
int64_t halo_proto_int(const halo_proto_field *field);
double halo_proto_f64(const halo_proto_field *field);
float halo_proto_f32(const halo_proto_field *field);
/* A message; an empty one after a fault. */
halo_proto_message halo_proto_body(const halo_proto_field *field);
/* The text, in the module's arena; what follows a NUL is lost. */
const char *halo_proto_text(const halo_proto_field *field);
/* Appends a repeated integer, packed or not. */
void halo_proto_append(const halo_proto_field *field, halo_proto_ints *out);
/* All values of a repeated integer, in the module's arena. */
halo_int_list halo_proto_list(halo_proto_message message, uint32_t number);

/* ---- Writing ----
 * From the end to the beginning, so that a message's size is known when it is written; so what is to come first is
 * written last. */

typedef struct halo_proto_writer {
  char *data; /* the last `used` of `capacity` bytes; heap */
  size_t used, capacity;
} halo_proto_writer;

void halo_proto_put_bytes(halo_proto_writer *out, uint32_t field, const void *data, size_t size);
/* Nothing for NULL and "". */
void halo_proto_put_text(halo_proto_writer *out, uint32_t field, const char *text);
/* Nothing for 0, which is what a missing field says; `put_zero` writes it nevertheless. */
void halo_proto_put_int(halo_proto_writer *out, uint32_t field, int64_t value);
void halo_proto_put_zero(halo_proto_writer *out, uint32_t field, int64_t value);
void halo_proto_put_f64(halo_proto_writer *out, uint32_t field, double value);
void halo_proto_put_f32(halo_proto_writer *out, uint32_t field, float value);
/* Packed; nothing for none. */
void halo_proto_put_ints(halo_proto_writer *out, uint32_t field, const int64_t *data,
                         int32_t count);
/* Makes what was written since `used` was `mark` the body of a field. */
void halo_proto_close(halo_proto_writer *out, uint32_t field, size_t mark);
/* Room for so many bytes in front of what there is, which the caller fills. */
char *halo_proto_room(halo_proto_writer *out, size_t size);

#endif

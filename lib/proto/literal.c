/* SPDX-License-Identifier: Apache-2.0 */
/* proto/literal.c: constants (LiteralProto). Elements lie in the order of the shape's layout, in a field for each
 * element type. */
#include "proto/convert.h"
#include "shape/types.h"

#include <string.h>

enum { LITERAL_SHAPE = 1, LITERAL_TUPLE = 10 };

/* How elements are written. */
typedef enum literal_form {
  LITERAL_NONE = 0,
  LITERAL_RAW,   /* bytes, little-endian; packed numbers of fixed size are the same */
  LITERAL_VARINT /* packed varints */
} literal_form;

static const struct {
  uint32_t field;
  literal_form form;
} literal_rows[HALO_TYPE_COUNT] = {
    [HALO_PRED] = {2, LITERAL_VARINT},   [HALO_S1] = {30, LITERAL_RAW},
    [HALO_S2] = {26, LITERAL_RAW},       [HALO_S4] = {21, LITERAL_RAW},
    [HALO_S8] = {15, LITERAL_RAW},       [HALO_U1] = {31, LITERAL_RAW},
    [HALO_U2] = {27, LITERAL_RAW},       [HALO_U4] = {22, LITERAL_RAW},
    [HALO_U8] = {3, LITERAL_RAW},        [HALO_S32] = {4, LITERAL_VARINT},
    [HALO_S64] = {5, LITERAL_VARINT},    [HALO_U32] = {6, LITERAL_VARINT},
    [HALO_U64] = {7, LITERAL_VARINT},    [HALO_F32] = {8, LITERAL_RAW},
    [HALO_F64] = {9, LITERAL_RAW},       [HALO_C64] = {12, LITERAL_RAW},
    [HALO_C128] = {18, LITERAL_RAW},     [HALO_F16] = {11, LITERAL_RAW},
    [HALO_BF16] = {13, LITERAL_RAW},     [HALO_U16] = {16, LITERAL_RAW},
    [HALO_S16] = {17, LITERAL_RAW},      [HALO_F4E2M1FN] = {32, LITERAL_RAW},
    [HALO_F8E3M4] = {29, LITERAL_RAW},   [HALO_F8E4M3B11FNUZ] = {23, LITERAL_RAW},
    [HALO_F8E4M3FN] = {20, LITERAL_RAW}, [HALO_F8E4M3FNUZ] = {25, LITERAL_RAW},
    [HALO_F8E4M3] = {28, LITERAL_RAW},   [HALO_F8E5M2FNUZ] = {24, LITERAL_RAW},
    [HALO_F8E5M2] = {19, LITERAL_RAW},   [HALO_F8E8M0FNU] = {33, LITERAL_RAW},
};

/* ---- Order ---- */

/* Moves elements between row-major order and that of the shape's layout. */
static void literal_reorder(const halo_shape *shape, const char *from, char *to, bool to_layout) {
  int64_t index[HALO_MAX_RANK] = {0}, strides[HALO_MAX_RANK];
  int64_t count = halo_shape_element_count(shape);
  size_t size = halo_type_size(shape->type);
  halo_shape_strides(shape, strides);
  for (int64_t i = 0; i < count; i++) {
    int64_t place = 0;
    for (int d = 0; d < shape->rank; d++) place += index[d] * strides[d];
    memcpy(to + (size_t)(to_layout ? place : i) * size,
           from + (size_t)(to_layout ? i : place) * size, size);
    for (int d = shape->rank; d-- > 0 && ++index[d] == shape->dims[d];) index[d] = 0;
  }
}

/* Signed elements narrower than a byte are sign-extended in memory, and not when written. */
static void literal_widen(halo_type type, uint8_t *data, size_t size, bool sign) {
  int bits = halo_type_bits(type);
  if (bits >= 8 || type == HALO_PRED) return;
  for (size_t i = 0; i < size; i++) {
    data[i] &= (uint8_t)((1 << bits) - 1);
    if (sign && halo_type_is_sint(type))
      data[i] = (uint8_t)((int8_t)(uint8_t)(data[i] << (8 - bits)) >> (8 - bits));
  }
}

/* ---- Reading ---- */

static halo_status literal_fill(halo_proto_message message, halo_type type, char *data,
                                size_t count) {
  halo_proto_reader *reader = message.reader;
  size_t size = halo_type_size(type), done = 0;
  halo_proto_field field;
  halo_proto_message start = message;
  while (halo_proto_next(&message, &field)) {
    if (field.number != literal_rows[type].field) continue;
    if (literal_rows[type].form == LITERAL_RAW && field.wire == HALO_WIRE_BYTES) {
      size_t bytes = (size_t)(field.body.end - field.body.at);
      if (bytes > (count - done) * size || bytes % size) break;
      if (bytes) memcpy(data + done * size, field.body.at, bytes);
      done += bytes / size;
    } else if (literal_rows[type].form == LITERAL_VARINT) {
      halo_proto_ints values = {0};
      halo_proto_append(&field, &values);
      bool fits = (size_t)values.count <= count - done;
      for (int32_t i = 0; fits && i < values.count; i++) {
        int64_t value = type == HALO_PRED ? values.data[i] != 0 : values.data[i];
        memcpy(data + done++ * size, &value, size);
      }
      halo_vec_deinit(&values);
      if (!fits) break;
    } else {
      break;
    }
  }
  if (reader->status == HALO_OK && (done != count || message.at != message.end))
    halo_proto_wrong(start, "a constant of %zu element%s has another number of them", count,
                     halo_plural(count));
  return reader->status;
}

/* Elements are there before memory for them is: none is taken for what a few bytes claim. */
static bool literal_is_there(halo_proto_message message, const halo_shape *shape) {
  size_t bytes = (size_t)(message.end - message.at);
  return halo_shape_element_count(shape) <= (int64_t)bytes;
}

static halo_literal *read_array(halo_proto_message message, const halo_shape *shape) {
  halo_proto_reader *reader = message.reader;
  if (literal_rows[shape->type].form == LITERAL_NONE || halo_shape_is_dynamic(shape)) {
    halo_proto_refuse(message, "constants of this shape are not supported");
    return NULL;
  }
  if (!literal_is_there(message, shape)) {
    halo_proto_wrong(message, "a constant of %lld element%s in %zu bytes",
                     (long long)halo_shape_element_count(shape),
                     halo_plural(halo_shape_element_count(shape)),
                     (size_t)(message.end - message.at));
    return NULL;
  }
  halo_literal *literal;
  halo_status status = halo_literal_create(shape, &literal);
  if (status != HALO_OK) {
    reader->status = status;
    return NULL;
  }
  size_t size = (size_t)halo_shape_byte_size(shape);
  char *data = halo_literal_data(literal);
  bool plain = halo_shape_has_default_layout(shape);
  char *ordered = plain ? data : halo_alloc(size);
  status = literal_fill(message, shape->type, ordered, (size_t)halo_shape_element_count(shape));
  if (!plain) {
    literal_reorder(shape, ordered, data, false);
    halo_free(ordered);
  }
  if (status != HALO_OK) {
    halo_literal_release(literal);
    return NULL;
  }
  literal_widen(shape->type, (uint8_t *)data, size, true);
  return literal;
}

static halo_literal *read_tuple(halo_proto_message message, const halo_shape *shape);

static halo_literal *read_literal(halo_proto_message message) {
  halo_proto_reader *reader = message.reader;
  halo_proto_field field;
  if (!halo_proto_find(message, LITERAL_SHAPE, &field)) {
    halo_proto_wrong(message, "a constant without a shape");
    return NULL;
  }
  const halo_shape *shape = halo_proto_read_shape(halo_proto_body(&field));
  if (reader->status != HALO_OK) return NULL;
  if (halo_shape_is_array(shape)) return read_array(message, shape);
  if (halo_shape_is_tuple(shape)) return read_tuple(message, shape);
  halo_proto_refuse(message, "constants that are neither arrays nor tuples are not supported");
  return NULL;
}

static halo_literal *read_tuple(halo_proto_message message, const halo_shape *shape) {
  halo_proto_reader *reader = message.reader;
  HALO_VEC(halo_literal *) elements = {0};
  halo_proto_message start = message;
  halo_proto_field field;
  halo_literal *tuple = NULL;
  reader->depth++;
  while (reader->depth < 100 && halo_proto_next(&message, &field)) {
    if (field.number != LITERAL_TUPLE) continue;
    halo_literal *element = read_literal(halo_proto_body(&field));
    if (element) halo_vec_push(&elements, element);
  }
  reader->depth--;
  if (reader->status == HALO_OK && (elements.count != shape->count || message.at != message.end))
    halo_proto_wrong(start, "a constant tuple of %d element%s has %d", shape->count,
                     halo_plural(shape->count), elements.count);
  if (reader->status == HALO_OK)
    reader->status = halo_literal_create_tuple(elements.count, elements.data, &tuple);
  for (int32_t i = 0; i < elements.count; i++) halo_literal_release(elements.data[i]);
  halo_vec_deinit(&elements);
  return tuple;
}

halo_literal *halo_proto_read_literal(halo_proto_message message) {
  halo_literal *literal = read_literal(message);
  if (literal) halo_vec_push(&message.reader->module->literals, literal);
  return literal;
}

/* ---- Writing ---- */

static void write_varints(halo_proto_writer *out, uint32_t field, halo_type type, const char *data,
                          int64_t count) {
  size_t size = halo_type_size(type), mark = out->used;
  for (int64_t i = count; i-- > 0;) {
    uint64_t value = 0;
    memcpy(&value, data + (size_t)i * size, size);
    if (type == HALO_S32) value = (uint64_t)(int64_t)(int32_t)value;
    char bytes[10];
    size_t length = 0;
    do {
      bytes[length++] = (char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
      value >>= 7;
    } while (value);
    memcpy(halo_proto_room(out, length), bytes, length);
  }
  halo_proto_close(out, field, mark);
}

static void write_array(halo_proto_writer *out, const halo_literal *literal) {
  const halo_shape *shape = literal->shape;
  halo_type type = shape->type;
  int64_t count = halo_shape_element_count(shape);
  size_t size = (size_t)halo_shape_byte_size(shape);
  const char *data = literal->data;
  char *ordered = NULL;
  if (!halo_shape_has_default_layout(shape)) {
    ordered = halo_alloc(size ? size : 1);
    literal_reorder(shape, data, ordered, true);
    data = ordered;
  }
  if (count && literal_rows[type].form == LITERAL_VARINT) {
    write_varints(out, literal_rows[type].field, type, data, count);
  } else if (count) {
    size_t mark = out->used;
    char *bytes = halo_proto_room(out, size);
    memcpy(bytes, data, size);
    literal_widen(type, (uint8_t *)bytes, size, false);
    halo_proto_close(out, literal_rows[type].field, mark);
  }
  halo_free(ordered);
}

void halo_proto_write_literal(halo_proto_writer *out, uint32_t field, const halo_literal *literal) {
  size_t mark = out->used;
  if (halo_shape_is_array(literal->shape)) write_array(out, literal);
  for (int i = literal->shape->count; i-- > 0;)
    halo_proto_write_literal(out, LITERAL_TUPLE, literal->elements[i]);
  halo_proto_write_shape(out, LITERAL_SHAPE, literal->shape);
  halo_proto_close(out, field, mark);
}

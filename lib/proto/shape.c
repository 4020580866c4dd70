/* SPDX-License-Identifier: Apache-2.0 */
/* proto/shape.c: shapes with their layouts (ShapeProto, LayoutProto). */
#include "base/strbuf.h"
#include "proto/convert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_TYPE = 2, SHAPE_DIMS = 3, SHAPE_TUPLE = 4, SHAPE_LAYOUT = 5, SHAPE_DYNAMIC = 6 };
enum { SHAPE_BUFFER = 34 }; /* an element type */
enum { LAYOUT_ORDER = 1, LAYOUT_TILES = 6, LAYOUT_BITS = 7, LAYOUT_SPACE = 8, LAYOUT_PADDING = 16 };
enum { TILE_DIMS = 1 };

/* Deeper nesting than any program has would take the stack. */
enum { DEEPEST = 100 };

static const halo_shape *shape_nothing(halo_proto_reader *reader) {
  return halo_shape_new_tuple(reader->arena, 0, NULL);
}

/* ---- Layouts ---- */

/* What is not the order of dimensions is kept as text: "T(8,128)E(4)S(1)". */
static const char *layout_extras(halo_proto_message layout) {
  halo_strbuf text = {0};
  halo_proto_field field;
  halo_proto_message tiles = layout;
  bool first = true;
  while (halo_proto_next(&tiles, &field)) {
    if (field.number != LAYOUT_TILES) continue;
    halo_int_list dims = halo_proto_list(halo_proto_body(&field), TILE_DIMS);
    halo_strbuf_append(&text, first ? "T(" : "(");
    first = false;
    for (int32_t i = 0; i < dims.count; i++)
      halo_strbuf_printf(&text, "%s%" PRId64, i ? "," : "", dims.data[i]);
    halo_strbuf_append(&text, ")");
  }
  if (halo_proto_find(layout, LAYOUT_BITS, &field) && halo_proto_int(&field))
    halo_strbuf_printf(&text, "E(%" PRId64 ")", halo_proto_int(&field));
  if (halo_proto_find(layout, LAYOUT_SPACE, &field) && halo_proto_int(&field))
    halo_strbuf_printf(&text, "S(%" PRId64 ")", halo_proto_int(&field));
  const char *out =
      text.length ? halo_arena_strdup(layout.reader->arena, halo_strbuf_text(&text)) : NULL;
  halo_strbuf_deinit(&text);
  return out;
}

/* The order of dimensions; NULL: the default one, and after a fault. */
static const int32_t *layout_order(halo_proto_message layout, int32_t rank) {
  halo_int_list order = halo_proto_list(layout, LAYOUT_ORDER);
  if (!order.count && rank) return NULL;
  if (order.count != rank) {
    halo_proto_wrong(layout, "a layout of %d dimension%s for %d", order.count,
                     halo_plural(order.count), rank);
    return NULL;
  }
  int32_t *out = halo_arena_array(layout.reader->arena, int32_t, rank);
  for (int32_t d = 0; d < rank; d++)
    out[d] = order.data[d] >= 0 && order.data[d] < rank ? (int32_t)order.data[d] : -1;
  if (halo_shape_check_layout(rank, out) != HALO_OK) {
    halo_proto_wrong(layout, "a layout that is no order of the dimensions");
    return NULL;
  }
  return out;
}

static const char *extra_number(const char *text, const char *opening, int64_t *out) {
  const char *at = strstr(text, opening);
  *out = at ? strtoll(at + strlen(opening), NULL, 10) : 0;
  return at;
}

static void write_tiles(halo_proto_writer *out, const char *text) {
  HALO_VEC(int64_t) dims = {0};
  HALO_VEC(int32_t) starts = {0};
  const char *at = strstr(text, "T(");
  for (at = at ? at + 1 : ""; *at == '('; at++) {
    halo_vec_push(&starts, dims.count);
    char *end = (char *)at;
    do {
      halo_vec_push(&dims, strtoll(end + 1, &end, 10));
    } while (*end == ',');
    if (*end != ')') break;
    at = end;
  }
  halo_vec_push(&starts, dims.count);
  for (int32_t t = starts.count - 1; t-- > 0;) {
    size_t mark = out->used;
    halo_proto_put_ints(out, TILE_DIMS, dims.data + starts.data[t],
                        starts.data[t + 1] - starts.data[t]);
    halo_proto_close(out, LAYOUT_TILES, mark);
  }
  halo_vec_deinit(&dims);
  halo_vec_deinit(&starts);
}

static void write_layout(halo_proto_writer *out, const halo_shape *shape) {
  size_t mark = out->used;
  const char *extras = shape->layout_extras ? shape->layout_extras : "";
  int64_t bits, space;
  halo_proto_put_int(out, LAYOUT_PADDING, 1); /* what XLA writes for none */
  extra_number(extras, "S(", &space);
  extra_number(extras, "E(", &bits);
  halo_proto_put_int(out, LAYOUT_SPACE, space);
  halo_proto_put_int(out, LAYOUT_BITS, bits);
  write_tiles(out, extras);
  int64_t order[HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) order[d] = shape->minor_to_major[d];
  halo_proto_put_ints(out, LAYOUT_ORDER, order, shape->rank);
  halo_proto_close(out, SHAPE_LAYOUT, mark);
}

/* ---- Shapes ---- */

static const halo_shape *read_tuple(halo_proto_message message) {
  HALO_VEC(const halo_shape *) elements = {0};
  halo_arena *arena = message.reader->arena;
  halo_proto_field field;
  while (halo_proto_next(&message, &field))
    if (field.number == SHAPE_TUPLE)
      halo_vec_push(&elements, halo_proto_read_shape(halo_proto_body(&field)));
  const halo_shape *out = halo_shape_new_tuple(arena, elements.count, elements.data);
  halo_vec_deinit(&elements);
  return out;
}

static const halo_shape *read_array(halo_proto_message message, halo_type type) {
  halo_proto_reader *reader = message.reader;
  halo_int_list dims = halo_proto_list(message, SHAPE_DIMS);
  halo_int_list marks = halo_proto_list(message, SHAPE_DYNAMIC);
  bool dynamic[HALO_MAX_RANK] = {false}, any = false;
  if (dims.count > HALO_MAX_RANK ||
      halo_shape_check_array(type, dims.count, dims.data) != HALO_OK) {
    halo_proto_wrong(message, "%s",
                     dims.count > HALO_MAX_RANK ? "more than 64 dimensions" : halo_error_message());
    return shape_nothing(reader);
  }
  for (int32_t d = 0; d < dims.count; d++) {
    dynamic[d] = d < marks.count && marks.data[d];
    any |= dynamic[d];
  }
  halo_proto_field layout;
  const int32_t *order = NULL;
  const char *extras = NULL;
  if (halo_proto_find(message, SHAPE_LAYOUT, &layout)) {
    order = layout_order(halo_proto_body(&layout), dims.count);
    extras = layout_extras(halo_proto_body(&layout));
  }
  halo_shape *shape = (halo_shape *)halo_shape_new_full(reader->arena, type, dims.count, dims.data,
                                                        any ? dynamic : NULL, order);
  shape->layout_extras = extras;
  return shape;
}

const halo_shape *halo_proto_read_shape(halo_proto_message message) {
  halo_proto_reader *reader = message.reader;
  halo_proto_field field;
  int64_t type = halo_proto_find(message, SHAPE_TYPE, &field) ? halo_proto_int(&field) : 0;
  if (reader->status != HALO_OK) return shape_nothing(reader);
  if (type == HALO_TOKEN) return halo_shape_new_token(reader->arena);
  if (type == HALO_TUPLE) {
    if (reader->depth >= DEEPEST) {
      halo_proto_wrong(message, "tuples are nested deeper than %d", DEEPEST);
      return shape_nothing(reader);
    }
    reader->depth++;
    const halo_shape *tuple = read_tuple(message);
    reader->depth--;
    return tuple;
  }
  if (type == SHAPE_BUFFER && halo_proto_find(message, SHAPE_TUPLE, &field)) {
    /* An array that stays where it is, which is no matter of values. */
    halo_proto_message array = halo_proto_body(&field);
    int64_t inner = halo_proto_find(array, SHAPE_TYPE, &field) ? halo_proto_int(&field) : 0;
    if (inner != SHAPE_BUFFER) return halo_proto_read_shape(array);
  }
  if (type > 0 && type < HALO_TYPE_COUNT && halo_type_is_array((halo_type)type))
    return read_array(message, (halo_type)type);
  halo_proto_refuse(message, "element type %" PRId64 " is not supported", type);
  return shape_nothing(reader);
}

void halo_proto_write_shape(halo_proto_writer *out, uint32_t field, const halo_shape *shape) {
  size_t mark = out->used;
  if (halo_shape_is_array(shape)) {
    int64_t marks[HALO_MAX_RANK];
    for (int d = 0; d < shape->rank; d++) marks[d] = shape->dynamic && shape->dynamic[d];
    halo_proto_put_ints(out, SHAPE_DYNAMIC, marks, shape->rank);
    write_layout(out, shape);
    halo_proto_put_ints(out, SHAPE_DIMS, shape->dims, shape->rank);
  }
  for (int i = shape->count; i-- > 0;) halo_proto_write_shape(out, SHAPE_TUPLE, shape->elements[i]);
  halo_proto_put_int(out, SHAPE_TYPE, shape->type);
  halo_proto_close(out, field, mark);
}

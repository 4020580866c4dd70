/* SPDX-License-Identifier: Apache-2.0 */
/* proto/attr.c: attributes of a form of their own: windows, slices, groups, computations, ... */
#include "base/memory.h"
#include "base/strbuf.h"
#include "proto/convert.h"

#include <string.h>

enum {
  INSTR_METADATA = 7,
  INSTR_LITERAL = 8,
  INSTR_WINDOW = 15,
  INSTR_CONV = 16,
  INSTR_SLICES = 17,
  INSTR_PADDING = 21,
  INSTR_OUTFEED_SHAPE = 29,
  INSTR_SHARDING = 40,
  INSTR_BACKEND_CONFIG = 43,
  INSTR_GROUPS = 49,
  INSTR_PAIRS = 52,
  INSTR_DOMAIN_ENTRY = 54,
  INSTR_DOMAIN_EXIT = 55,
  INSTR_CONSTRAIN_LAYOUT = 56,
  INSTR_OPERAND_SHAPES = 57,
  INSTR_REPLICATION = 61,
  INSTR_FRONTEND = 68,
  INSTR_ALIASING = 74,
  INSTR_DEVICE_LIST = 87,
  INSTR_ACCURACY = 91,
  INSTR_IOTA_GROUPS = 92,
  INSTR_MESH_GROUPS = 93
};

/* ---- Lists of messages of integers ---- */

/* Rows of `width` integers, fields 1 to width of each message of this number. */
static halo_int_list read_rows(halo_proto_message message, uint32_t number, int width,
                               const int64_t *defaults) {
  halo_arena *arena = message.reader->arena;
  halo_proto_ints all = {0};
  halo_proto_field field, part;
  while (halo_proto_next(&message, &field)) {
    if (field.number != number) continue;
    int64_t row[8];
    memcpy(row, defaults, sizeof *row * (size_t)width);
    halo_proto_message body = halo_proto_body(&field);
    while (halo_proto_next(&body, &part))
      if (part.number <= (uint32_t)width) row[part.number - 1] = halo_proto_int(&part);
    for (int i = 0; i < width; i++) halo_vec_push(&all, row[i]);
  }
  halo_int_list out = {halo_arena_copy(arena, all.data, sizeof *all.data * (size_t)all.count),
                       all.count};
  halo_vec_deinit(&all);
  return out;
}

static void write_rows(halo_proto_writer *out, uint32_t number, int width, const int64_t *data,
                       int32_t count) {
  for (int32_t r = count / width; r-- > 0;) {
    size_t mark = out->used;
    for (int i = width; i-- > 0;) halo_proto_put_int(out, (uint32_t)i + 1, data[r * width + i]);
    halo_proto_close(out, number, mark);
  }
}

static const int64_t zeros[8];

static void set_ints(halo_instr *instr, halo_attr_id id, halo_int_list list) {
  halo_attr attr = {.id = id};
  attr.ints.data = list.data;
  attr.ints.count = list.count;
  halo_instr_set_attr(instr, &attr);
}

/* ---- Windows and convolutions ---- */

enum { WINDOW_FIELDS = 7 }; /* size, stride, low, high, window dilation, base dilation, reversal */

static void read_window(halo_proto_message message, halo_instr *instr) {
  halo_arena *arena = message.reader->arena;
  halo_int_list rows = read_rows(message, 1, WINDOW_FIELDS, zeros);
  int32_t count = rows.count / WINDOW_FIELDS;
  if (!count && instr->opcode == HALO_OP_CUSTOM_CALL) return;
  halo_window_dim *dims = halo_arena_array(arena, halo_window_dim, count);
  for (int32_t i = 0; i < count; i++) {
    const int64_t *row = rows.data + i * WINDOW_FIELDS;
    dims[i] = (halo_window_dim){.size = row[0],
                                .stride = row[1],
                                .pad_low = row[2],
                                .pad_high = row[3],
                                .window_dilation = row[4],
                                .base_dilation = row[5],
                                .reversal = row[6] != 0};
  }
  halo_attr attr = {.id = HALO_ATTR_WINDOW};
  attr.window.data = dims;
  attr.window.count = count;
  halo_instr_set_attr(instr, &attr);
}

static void write_window(halo_proto_writer *out, const halo_attr *attr) {
  size_t mark = out->used;
  for (int32_t i = attr->window.count; i-- > 0;) {
    const halo_window_dim *d = &attr->window.data[i];
    const int64_t row[] = {d->size,     d->stride,          d->pad_low,
                           d->pad_high, d->window_dilation, d->base_dilation,
                           d->reversal};
    write_rows(out, 1, WINDOW_FIELDS, row, WINDOW_FIELDS);
  }
  halo_proto_close(out, INSTR_WINDOW, mark);
}

enum {
  CONV_RHS_INPUT = 3,
  CONV_RHS_OUTPUT = 4,
  CONV_RHS_SPATIAL = 6,
  CONV_LHS_BATCH = 7,
  CONV_LHS_FEATURE = 8,
  CONV_OUT_BATCH = 9,
  CONV_OUT_FEATURE = 10,
  CONV_LHS_SPATIAL = 11,
  CONV_OUT_SPATIAL = 12
};

/* Text as "b01f_01io->b01f": by the place of each dimension. */
static void conv_side(halo_strbuf *text, int spatial, int first, char first_letter, int second,
                      char second_letter, const int *places) {
  char letters[HALO_MAX_RANK + 3] = {0};
  letters[first] = first_letter;
  letters[second] = second_letter;
  for (int d = 0; d < spatial + 2; d++) {
    if (letters[d]) {
      halo_strbuf_char(text, letters[d]);
      continue;
    }
    for (int s = 0; s < spatial; s++)
      if (places[s] == d) halo_strbuf_printf(text, "%d", s);
  }
}

static bool conv_is_order(const halo_conv_dims *conv, int first, int second, const int *places) {
  bool seen[HALO_MAX_RANK + 3] = {false};
  int rank = conv->spatial + 2;
  for (int i = 0; i < rank; i++) {
    int place = i == 0 ? first : i == 1 ? second : places[i - 2];
    if (place < 0 || place >= rank || seen[place]) return false;
    seen[place] = true;
  }
  return true;
}

static int conv_number(halo_proto_message message, uint32_t number) {
  halo_proto_field field;
  int64_t value = halo_proto_find(message, number, &field) ? halo_proto_int(&field) : 0;
  return value >= 0 && value < HALO_MAX_RANK ? (int)value : -1;
}

static int conv_places(halo_proto_message message, uint32_t number, int *out) {
  halo_int_list list = halo_proto_list(message, number);
  if (list.count > HALO_MAX_RANK - 2) return -1;
  for (int32_t i = 0; i < list.count; i++)
    out[i] = list.data[i] >= 0 && list.data[i] < HALO_MAX_RANK ? (int)list.data[i] : -1;
  return list.count;
}

static void read_conv(halo_proto_message message, halo_instr *instr) {
  halo_proto_reader *reader = message.reader;
  if (message.at == message.end && instr->opcode == HALO_OP_CUSTOM_CALL) return;
  halo_conv_dims *conv = halo_arena_new(reader->arena, halo_conv_dims);
  conv->spatial = conv_places(message, CONV_LHS_SPATIAL, conv->lhs_spatial);
  int rhs = conv_places(message, CONV_RHS_SPATIAL, conv->rhs_spatial);
  int result = conv_places(message, CONV_OUT_SPATIAL, conv->out_spatial);
  conv->lhs_batch = conv_number(message, CONV_LHS_BATCH);
  conv->lhs_feature = conv_number(message, CONV_LHS_FEATURE);
  conv->rhs_input = conv_number(message, CONV_RHS_INPUT);
  conv->rhs_output = conv_number(message, CONV_RHS_OUTPUT);
  conv->out_batch = conv_number(message, CONV_OUT_BATCH);
  conv->out_feature = conv_number(message, CONV_OUT_FEATURE);
  if (conv->spatial < 0 || rhs != conv->spatial || result != conv->spatial ||
      !conv_is_order(conv, conv->lhs_batch, conv->lhs_feature, conv->lhs_spatial) ||
      !conv_is_order(conv, conv->rhs_input, conv->rhs_output, conv->rhs_spatial) ||
      !conv_is_order(conv, conv->out_batch, conv->out_feature, conv->out_spatial)) {
    halo_proto_wrong(message, "dimensions of a convolution that are no order of dimensions");
    return;
  }
  halo_strbuf text = {0};
  conv_side(&text, conv->spatial, conv->lhs_batch, 'b', conv->lhs_feature, 'f', conv->lhs_spatial);
  halo_strbuf_append(&text, "_");
  conv_side(&text, conv->spatial, conv->rhs_input, 'i', conv->rhs_output, 'o', conv->rhs_spatial);
  halo_strbuf_append(&text, "->");
  conv_side(&text, conv->spatial, conv->out_batch, 'b', conv->out_feature, 'f', conv->out_spatial);
  conv->text = halo_arena_strdup(reader->arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_DIM_LABELS, .conv = conv});
}

static void write_places(halo_proto_writer *out, uint32_t field, const int *places, int count) {
  int64_t wide[HALO_MAX_RANK];
  for (int i = 0; i < count; i++) wide[i] = places[i];
  halo_proto_put_ints(out, field, wide, count);
}

static void write_conv(halo_proto_writer *out, const halo_conv_dims *conv) {
  size_t mark = out->used;
  write_places(out, CONV_OUT_SPATIAL, conv->out_spatial, conv->spatial);
  write_places(out, CONV_LHS_SPATIAL, conv->lhs_spatial, conv->spatial);
  halo_proto_put_int(out, CONV_OUT_FEATURE, conv->out_feature);
  halo_proto_put_int(out, CONV_OUT_BATCH, conv->out_batch);
  halo_proto_put_int(out, CONV_LHS_FEATURE, conv->lhs_feature);
  halo_proto_put_int(out, CONV_LHS_BATCH, conv->lhs_batch);
  write_places(out, CONV_RHS_SPATIAL, conv->rhs_spatial, conv->spatial);
  halo_proto_put_int(out, CONV_RHS_OUTPUT, conv->rhs_output);
  halo_proto_put_int(out, CONV_RHS_INPUT, conv->rhs_input);
  halo_proto_close(out, INSTR_CONV, mark);
}

/* ---- Replica groups ---- */

static void read_groups(halo_proto_message message, uint32_t number, halo_instr *instr) {
  halo_proto_reader *reader = message.reader;
  halo_proto_ints ids = {0};
  HALO_VEC(int32_t) starts = {0};
  halo_proto_field field, part;
  halo_vec_push(&starts, 0);
  while (halo_proto_next(&message, &field)) {
    if (field.number != number) continue;
    halo_proto_message group = halo_proto_body(&field);
    while (halo_proto_next(&group, &part))
      if (part.number == 1) halo_proto_append(&part, &ids);
    halo_vec_push(&starts, ids.count);
  }
  halo_groups *groups = halo_arena_new(reader->arena, halo_groups);
  groups->count = starts.count - 1;
  groups->starts =
      halo_arena_copy(reader->arena, starts.data, sizeof *starts.data * (size_t)starts.count);
  groups->ids = halo_arena_copy(reader->arena, ids.data, sizeof *ids.data * (size_t)ids.count);
  halo_vec_deinit(&starts);
  halo_vec_deinit(&ids);
  halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_REPLICA_GROUPS, .groups = groups});
}

enum { IOTA_GROUPS = 1, IOTA_SIZE = 2, IOTA_RESHAPE = 3, IOTA_TRANSPOSE = 4 };

/* A module's groups may not hold more ids than this in all: a few bytes say any number. */
enum { MOST_IDS = 1 << 20 };

/* Numbers in an array of some dimensions, transposed, in rows: "[2,4]<=[4,2]T(1,0)". */
static void read_iota_groups(halo_proto_message message, halo_instr *instr) {
  halo_proto_reader *reader = message.reader;
  halo_proto_field field;
  int64_t count = halo_proto_find(message, IOTA_GROUPS, &field) ? halo_proto_int(&field) : 0;
  int64_t size = halo_proto_find(message, IOTA_SIZE, &field) ? halo_proto_int(&field) : 0, all,
          n = 1;
  halo_int_list dims = halo_proto_list(message, IOTA_RESHAPE);
  halo_int_list order = halo_proto_list(message, IOTA_TRANSPOSE);
  int32_t order32[HALO_MAX_RANK] = {0};
  bool good = halo_mul_i64(count, size, &all) && dims.count <= HALO_MAX_RANK &&
              order.count == dims.count && reader->group_ids + all <= MOST_IDS;
  for (int32_t d = 0; good && d < dims.count; d++) {
    good = dims.data[d] > 0 && halo_mul_i64(n, dims.data[d], &n) && order.data[d] >= 0 &&
           order.data[d] < dims.count;
    if (good) order32[d] = (int32_t)order.data[d];
  }
  if (!good || n != all || halo_shape_check_layout(dims.count, order32) != HALO_OK) {
    halo_proto_wrong(message, "replica groups of numbers in an array that do not fit");
    return;
  }
  reader->group_ids += all;
  halo_groups *groups = halo_arena_new(reader->arena, halo_groups);
  int32_t *starts = halo_arena_array(reader->arena, int32_t, count + 1);
  int64_t *ids = halo_arena_array(reader->arena, int64_t, all ? all : 1);
  int64_t strides[HALO_MAX_RANK], index[HALO_MAX_RANK] = {0}, stride = 1;
  for (int32_t d = dims.count; d-- > 0; stride *= dims.data[d]) strides[d] = stride;
  for (int64_t i = 0; i < all; i++) {
    for (int32_t d = 0; d < dims.count; d++) ids[i] += index[d] * strides[order32[d]];
    for (int32_t d = dims.count; d-- > 0 && ++index[d] == dims.data[order32[d]];) index[d] = 0;
  }
  for (int64_t g = 0; g <= count; g++) starts[g] = (int32_t)(g * size);
  *groups = (halo_groups){.count = (int32_t)count, .starts = starts, .ids = ids};
  halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_REPLICA_GROUPS, .groups = groups});
}

static void read_any_groups(halo_proto_message message, halo_instr *instr) {
  halo_proto_field field;
  bool required;
  if (!halo_proto_has_attr(instr, HALO_ATTR_REPLICA_GROUPS, &required)) return;
  if (halo_proto_find(message, INSTR_IOTA_GROUPS, &field)) {
    read_iota_groups(halo_proto_body(&field), instr);
    return;
  }
  if (halo_proto_find(message, INSTR_MESH_GROUPS, &field)) {
    halo_proto_refuse(field.body,
                      "replica groups by the axes of a mesh are not supported in this format");
    return;
  }
  if (halo_proto_find(message, INSTR_GROUPS, &field))
    read_groups(message, INSTR_GROUPS, instr);
  else if (halo_proto_find(message, INSTR_DEVICE_LIST, &field))
    read_groups(halo_proto_body(&field), 1, instr);
  else
    read_groups(message, INSTR_GROUPS, instr); /* none: all replicas */
}

static void write_groups(halo_proto_writer *out, const halo_groups *groups) {
  for (int32_t g = groups->count; g-- > 0;) {
    size_t mark = out->used;
    halo_proto_put_ints(out, 1, groups->ids + groups->starts[g],
                        groups->starts[g + 1] - groups->starts[g]);
    halo_proto_close(out, INSTR_GROUPS, mark);
  }
}

/* ---- Aliasing, accuracy, domains, shapes ---- */

static void read_aliasing(halo_proto_message message, halo_instr *instr) {
  HALO_VEC(halo_alias) list = {0};
  halo_proto_reader *reader = message.reader;
  halo_proto_field field, part;
  while (halo_proto_next(&message, &field)) {
    if (field.number != INSTR_ALIASING) continue;
    halo_proto_message body = halo_proto_body(&field);
    halo_int_list result = halo_proto_list(body, 1), operand = halo_proto_list(body, 3);
    int64_t number = halo_proto_find(body, 2, &part) ? halo_proto_int(&part) : 0;
    halo_vec_push(&list, (halo_alias){.out_index = result.data,
                                      .out_index_count = result.count,
                                      .parameter = number,
                                      .param_index = operand.data,
                                      .param_index_count = operand.count});
  }
  halo_attr attr = {.id = HALO_ATTR_OUTPUT_TO_OPERAND_ALIASING};
  attr.aliases.count = list.count;
  attr.aliases.data =
      halo_arena_copy(reader->arena, list.data, sizeof *list.data * (size_t)list.count);
  if (list.count) halo_instr_set_attr(instr, &attr);
  halo_vec_deinit(&list);
}

static void write_aliasing(halo_proto_writer *out, const halo_attr *attr) {
  for (int32_t i = attr->aliases.count; i-- > 0;) {
    const halo_alias *alias = &attr->aliases.data[i];
    size_t mark = out->used;
    halo_proto_put_ints(out, 3, alias->param_index, alias->param_index_count);
    halo_proto_put_int(out, 2, alias->parameter);
    halo_proto_put_ints(out, 1, alias->out_index, alias->out_index_count);
    halo_proto_close(out, INSTR_ALIASING, mark);
  }
}

static void read_accuracy(halo_proto_message message, halo_instr *instr) {
  halo_accuracy *accuracy = halo_arena_new(message.reader->arena, halo_accuracy);
  halo_proto_field field, part;
  if (halo_proto_find(message, 2, &field)) {
    halo_proto_message tolerance = halo_proto_body(&field);
    accuracy->mode = HALO_ACCURACY_TOLERANCE;
    if (halo_proto_find(tolerance, 1, &part)) accuracy->atol = halo_proto_f64(&part);
    if (halo_proto_find(tolerance, 2, &part)) accuracy->rtol = halo_proto_f64(&part);
    if (halo_proto_find(tolerance, 3, &part)) accuracy->ulps = halo_proto_int(&part);
  } else if (halo_proto_find(message, 1, &field) && halo_proto_int(&field) == 1) {
    accuracy->mode = HALO_ACCURACY_HIGHEST;
  } else {
    return;
  }
  halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_RESULT_ACCURACY, .accuracy = accuracy});
}

static void write_accuracy(halo_proto_writer *out, const halo_accuracy *accuracy) {
  size_t mark = out->used;
  if (accuracy->mode == HALO_ACCURACY_TOLERANCE) {
    size_t inner = out->used;
    halo_proto_put_int(out, 3, accuracy->ulps);
    halo_proto_put_f64(out, 2, accuracy->rtol);
    halo_proto_put_f64(out, 1, accuracy->atol);
    halo_proto_close(out, 2, inner);
  } else {
    halo_proto_put_int(out, 1, accuracy->mode == HALO_ACCURACY_HIGHEST);
  }
  halo_proto_close(out, INSTR_ACCURACY, mark);
}

static void read_domain(halo_proto_message message, halo_instr *instr) {
  halo_domain *domain = halo_arena_new(message.reader->arena, halo_domain);
  halo_proto_field field;
  if (halo_proto_find(message, INSTR_DOMAIN_ENTRY, &field))
    halo_proto_read_sharding(halo_proto_body(&field), &domain->entry);
  if (halo_proto_find(message, INSTR_DOMAIN_EXIT, &field))
    halo_proto_read_sharding(halo_proto_body(&field), &domain->exit);
  halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_DOMAIN, .domain = domain});
}

static void read_shapes(halo_proto_message message, halo_instr *instr) {
  HALO_VEC(const halo_shape *) shapes = {0};
  halo_proto_reader *reader = message.reader;
  halo_proto_field field;
  bool constrained =
      halo_proto_find(message, INSTR_CONSTRAIN_LAYOUT, &field) && halo_proto_int(&field);
  while (constrained && halo_proto_next(&message, &field))
    if (field.number == INSTR_OPERAND_SHAPES)
      halo_vec_push(&shapes, halo_proto_read_shape(halo_proto_body(&field)));
  halo_attr attr = {.id = HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS};
  attr.shapes.count = shapes.count;
  attr.shapes.data =
      halo_arena_copy(reader->arena, shapes.data, sizeof *shapes.data * (size_t)shapes.count);
  if (constrained) halo_instr_set_attr(instr, &attr);
  halo_vec_deinit(&shapes);
}

/* ---- Texts of back ends ---- */

/* As text has it: JSON as it is, all else in quotes. */
static void read_backend_config(const halo_proto_field *field, halo_instr *instr) {
  const char *text = halo_proto_text(field);
  if (!*text) return;
  halo_strbuf quoted = {0};
  if (*text == '{') {
    halo_strbuf_append(&quoted, text);
  } else {
    halo_strbuf_char(&quoted, '"');
    for (; *text; text++) {
      if (*text == '"' || *text == '\\')
        halo_strbuf_printf(&quoted, "\\%c", *text);
      else if (*text == '\n')
        halo_strbuf_append(&quoted, "\\n");
      else
        halo_strbuf_char(&quoted, *text);
    }
    halo_strbuf_char(&quoted, '"');
  }
  halo_attr attr = {.id = HALO_ATTR_BACKEND_CONFIG};
  attr.text = halo_arena_strdup(field->body.reader->arena, halo_strbuf_text(&quoted));
  halo_strbuf_deinit(&quoted);
  halo_instr_set_attr(instr, &attr);
}

static void write_backend_config(halo_proto_writer *out, const char *text) {
  if (*text != '"') {
    halo_proto_put_text(out, INSTR_BACKEND_CONFIG, text);
    return;
  }
  halo_strbuf plain = {0};
  for (text++; *text && !(*text == '"' && !text[1]); text++) {
    if (*text == '\\' && text[1]) {
      text++;
      halo_strbuf_char(&plain, *text == 'n' ? '\n' : *text);
    } else {
      halo_strbuf_char(&plain, *text);
    }
  }
  halo_proto_put_text(out, INSTR_BACKEND_CONFIG, halo_strbuf_text(&plain));
  halo_strbuf_deinit(&plain);
}

/* ---- All of them ---- */

static void read_common(const halo_proto_field *field, halo_instr *instr) {
  halo_proto_message body = field->body;
  if (field->number == INSTR_METADATA) {
    const halo_metadata *metadata = halo_proto_read_metadata(halo_proto_body(field));
    if (metadata)
      halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_METADATA, .metadata = metadata});
  } else if (field->number == INSTR_SHARDING) {
    halo_sharding *sharding = halo_arena_new(body.reader->arena, halo_sharding);
    halo_proto_read_sharding(halo_proto_body(field), sharding);
    halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_SHARDING, .sharding = sharding});
  } else if (field->number == INSTR_FRONTEND) {
    halo_attr attr = {.id = HALO_ATTR_FRONTEND_ATTRIBUTES};
    attr.strings.data = halo_proto_read_pairs(halo_proto_body(field), &attr.strings.count);
    if (attr.strings.count) halo_instr_set_attr(instr, &attr);
  } else if (field->number == INSTR_REPLICATION) {
    halo_int_list list = halo_proto_list(halo_proto_body(field), 1);
    for (int32_t i = 0; i < list.count; i++) ((int64_t *)list.data)[i] = list.data[i] != 0;
    if (list.count) set_ints(instr, HALO_ATTR_PARAMETER_REPLICATION, list);
  } else if (field->number == INSTR_BACKEND_CONFIG) {
    read_backend_config(field, instr);
  }
}

static void read_own(const halo_proto_field *field, halo_instr *instr) {
  bool required;
  halo_proto_message body = field->body;
  if (field->number == INSTR_WINDOW && halo_proto_has_attr(instr, HALO_ATTR_WINDOW, &required)) {
    read_window(halo_proto_body(field), instr);
  } else if (field->number == INSTR_CONV &&
             halo_proto_has_attr(instr, HALO_ATTR_DIM_LABELS, &required)) {
    read_conv(halo_proto_body(field), instr);
  } else if (field->number == INSTR_PADDING && instr->opcode == HALO_OP_PAD) {
    set_ints(instr, HALO_ATTR_PADDING, read_rows(halo_proto_body(field), 1, 3, zeros));
  } else if (field->number == INSTR_ACCURACY &&
             halo_proto_has_attr(instr, HALO_ATTR_RESULT_ACCURACY, &required)) {
    read_accuracy(halo_proto_body(field), instr);
  } else if (field->number == INSTR_OUTFEED_SHAPE && instr->opcode == HALO_OP_OUTFEED) {
    const halo_shape *shape = halo_proto_read_shape(halo_proto_body(field));
    halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_OUTFEED_SHAPE, .shape = shape});
  } else if (field->number == INSTR_LITERAL && instr->opcode == HALO_OP_CUSTOM_CALL) {
    halo_literal *literal = halo_proto_read_literal(halo_proto_body(field));
    if (body.reader->status == HALO_OK)
      halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_LITERAL, .literal = literal});
  }
}

void halo_proto_read_attrs(halo_proto_message message, halo_instr *instr) {
  static const int64_t whole[3] = {0, 0, 0};
  bool required;
  if (instr->opcode == HALO_OP_SLICE)
    set_ints(instr, HALO_ATTR_SLICE, read_rows(message, INSTR_SLICES, 3, whole));
  if (instr->opcode == HALO_OP_PAD) set_ints(instr, HALO_ATTR_PADDING, (halo_int_list){0});
  if (halo_proto_has_attr(instr, HALO_ATTR_SOURCE_TARGET_PAIRS, &required)) {
    halo_int_list pairs = read_rows(message, INSTR_PAIRS, 2, zeros);
    if (pairs.count || required) set_ints(instr, HALO_ATTR_SOURCE_TARGET_PAIRS, pairs);
  }
  read_any_groups(message, instr);
  if (halo_proto_has_attr(instr, HALO_ATTR_OUTPUT_TO_OPERAND_ALIASING, &required))
    read_aliasing(message, instr);
  if (instr->opcode == HALO_OP_DOMAIN) read_domain(message, instr);
  if (halo_proto_has_attr(instr, HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS, &required))
    read_shapes(message, instr);
  halo_proto_field field;
  while (halo_proto_next(&message, &field)) {
    read_common(&field, instr);
    read_own(&field, instr);
  }
}

static void write_shapes(halo_proto_writer *out, const halo_attr *attr) {
  for (int32_t i = attr->shapes.count; i-- > 0;)
    halo_proto_write_shape(out, INSTR_OPERAND_SHAPES, attr->shapes.data[i]);
  halo_proto_put_int(out, INSTR_CONSTRAIN_LAYOUT, 1);
}

/* What XLA expects of an opcode also where it says nothing. */
static void write_empty(halo_proto_writer *out, const halo_instr *instr) {
  halo_opcode op = instr->opcode;
  if (op == HALO_OP_CONVOLUTION && !halo_instr_attr(instr, HALO_ATTR_WINDOW))
    halo_proto_put_bytes(out, INSTR_WINDOW, NULL, 0);
  if (op == HALO_OP_PAD && !halo_instr_attr(instr, HALO_ATTR_PADDING))
    halo_proto_put_bytes(out, INSTR_PADDING, NULL, 0);
}

void halo_proto_write_attrs(halo_proto_writer *out, const halo_instr *instr) {
  write_empty(out, instr);
  for (int32_t i = instr->attr_count; i-- > 0;) {
    const halo_attr *attr = &instr->attrs[i];
    const int64_t *ints = attr->ints.data;
    size_t mark = out->used;
    if (attr->id == HALO_ATTR_WINDOW) {
      write_window(out, attr);
    } else if (attr->id == HALO_ATTR_DIM_LABELS) {
      write_conv(out, attr->conv);
    } else if (attr->id == HALO_ATTR_SLICE) {
      write_rows(out, INSTR_SLICES, 3, ints, attr->ints.count);
    } else if (attr->id == HALO_ATTR_PADDING) {
      write_rows(out, 1, 3, ints, attr->ints.count);
      halo_proto_close(out, INSTR_PADDING, mark);
    } else if (attr->id == HALO_ATTR_SOURCE_TARGET_PAIRS) {
      write_rows(out, INSTR_PAIRS, 2, ints, attr->ints.count);
    } else if (attr->id == HALO_ATTR_REPLICA_GROUPS) {
      write_groups(out, attr->groups);
    } else if (attr->id == HALO_ATTR_OUTPUT_TO_OPERAND_ALIASING) {
      write_aliasing(out, attr);
    } else if (attr->id == HALO_ATTR_RESULT_ACCURACY) {
      write_accuracy(out, attr->accuracy);
    } else if (attr->id == HALO_ATTR_DOMAIN) {
      halo_proto_write_sharding(out, INSTR_DOMAIN_EXIT, &attr->domain->exit);
      halo_proto_write_sharding(out, INSTR_DOMAIN_ENTRY, &attr->domain->entry);
    } else if (attr->id == HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS) {
      write_shapes(out, attr);
    } else if (attr->id == HALO_ATTR_OUTFEED_SHAPE) {
      halo_proto_write_shape(out, INSTR_OUTFEED_SHAPE, attr->shape);
    } else if (attr->id == HALO_ATTR_LITERAL) {
      halo_proto_write_literal(out, INSTR_LITERAL, attr->literal);
    } else if (attr->id == HALO_ATTR_METADATA) {
      halo_proto_write_metadata(out, INSTR_METADATA, attr->metadata);
    } else if (attr->id == HALO_ATTR_SHARDING) {
      halo_proto_write_sharding(out, INSTR_SHARDING, attr->sharding);
    } else if (attr->id == HALO_ATTR_FRONTEND_ATTRIBUTES) {
      halo_proto_write_pairs(out, INSTR_FRONTEND, attr->strings.data, attr->strings.count);
    } else if (attr->id == HALO_ATTR_PARAMETER_REPLICATION) {
      halo_proto_put_ints(out, 1, ints, attr->ints.count);
      halo_proto_close(out, INSTR_REPLICATION, mark);
    } else if (attr->id == HALO_ATTR_BACKEND_CONFIG) {
      write_backend_config(out, attr->text);
    }
  }
}

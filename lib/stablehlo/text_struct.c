/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_struct.c: attributes of dialects: keywords, structures, and their fields as attributes of the
 * operation. */
#include "stablehlo/text_reader.h"

#include <stdio.h>
#include <string.h>

/* ---- Structures ---- */

/* What the elements of a list without names of their own are: the list's name in a structure. */
static const char *struct_element_name(const char *structure, const char *field) {
  static const struct {
    const char *structure, *field, *element;
  } rows[] = {
      {"mesh", "axes", "mesh_axis"},
      {"replica_group_mesh_axes", "axes", "axis_ref"},
      {"replica_group_mesh_axes", "mesh", "mesh"},
      {"axis_ref", "sub_axis_info", "sub_axis_info"},
      {"result_accuracy", "mode", "result_accuracy_mode"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].structure, structure) == 0 && strcmp(rows[i].field, field) == 0)
      return rows[i].element;
  return "";
}

static halo_status struct_value(halo_mlir_reader *r, const char *element,
                                const halo_mlir_attr **out);

static halo_status struct_list(halo_mlir_reader *r, const char *element,
                               const halo_mlir_attr **out) {
  HALO_VEC(const halo_mlir_attr *) list = {0};
  halo_status status = HALO_OK;
  halo_mlir_text_advance(r);
  while (status == HALO_OK && r->tok.kind != ']') {
    const halo_mlir_attr *value = NULL;
    status = struct_value(r, element, &value);
    halo_vec_push(&list, value);
    if (status == HALO_OK) status = halo_mlir_text_separator(r, ']', "',' or ']' after an element");
  }
  if (status == HALO_OK) {
    *out = halo_mlir_text_new_array(r, list.data, list.count);
    halo_mlir_text_advance(r);
  }
  halo_vec_deinit(&list);
  return status;
}

/* A keyword that stands alone. */
static const halo_mlir_attr *struct_keyword(halo_mlir_reader *r) {
  size_t length = (size_t)(r->tok.end - r->tok.start);
  const char *text = halo_mlir_text_intern(r, r->tok.start, length);
  halo_mlir_text_advance(r);
  return halo_mlir_text_new_string(r, HALO_MLIR_ENUM, text, length);
}

/* Numbers of structures have no type. */
static halo_status struct_number(halo_mlir_reader *r, const halo_mlir_attr **out) {
  int64_t value;
  HALO_TRY(halo_mlir_text_int(r, "an integer", &value));
  halo_mlir_attr *attr = halo_mlir_text_new_attr(r, HALO_MLIR_INT);
  attr->i = value;
  *out = attr;
  return HALO_OK;
}

static halo_status struct_value(halo_mlir_reader *r, const char *element,
                                const halo_mlir_attr **out) {
  if (r->tok.kind == '[') {
    HALO_TRY(halo_mlir_text_enter(r));
    HALO_TRY(struct_list(r, element, out));
    halo_mlir_text_leave(r);
    return HALO_OK;
  }
  if (r->tok.kind == '<') return halo_mlir_text_fields(r, element, out);
  if (r->tok.kind == '(') { /* "(1)2" of a part of an axis */
    halo_mlir_named rows[2] = {{.name = "pre_size"}, {.name = "size"}};
    halo_mlir_text_advance(r);
    HALO_TRY(struct_number(r, &rows[0].value));
    HALO_TRY(halo_mlir_text_expect(r, ')', "')' after a size"));
    HALO_TRY(struct_number(r, &rows[1].value));
    *out = halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, "sub_axis_info", rows, 2);
    return HALO_OK;
  }
  bool keyword = r->tok.kind == TOK_WORD && !halo_mlir_text_at_type(r) &&
                 memchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", *r->tok.start, 26);
  if (keyword) {
    *out = struct_keyword(r);
    return HALO_OK;
  }
  if (r->tok.kind == TOK_INT || r->tok.kind == '-') {
    const char *at = r->tok.start;
    halo_mlir_token next = halo_mlir_text_peek(r);
    if (r->tok.kind == TOK_INT || next.kind == TOK_INT) {
      HALO_TRY(struct_number(r, out));
      if (r->tok.kind != ':') return HALO_OK;
      return halo_mlir_text_error(r, at, "expected a number without a type");
    }
  }
  return halo_mlir_text_attr(r, out);
}

/* Fields that a text may leave out and the form of programs has. */
static void struct_complete(halo_mlir_reader *r, const char *name, halo_mlir_named_list *rows) {
  static const char *const numbers[] = {"atol", "rtol", "ulps"};
  if (strcmp(name, "result_accuracy") != 0) return;
  halo_mlir_attr *given =
      halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, name, rows->data, rows->count);
  rows->count = 0;
  for (int i = 0; i < 3; i++) {
    const halo_mlir_attr *value = halo_mlir_dict_get(given, numbers[i]);
    halo_mlir_attr *zero = halo_mlir_text_new_attr(r, i < 2 ? HALO_MLIR_FLOAT : HALO_MLIR_INT);
    if (i < 2) zero->type = halo_mlir_text_scalar_type(r, HALO_F64);
    halo_vec_push(rows, (halo_mlir_named){numbers[i], value ? value : zero});
  }
  const halo_mlir_attr *mode = halo_mlir_dict_get(given, "mode");
  if (!mode) mode = halo_mlir_text_new_string(r, HALO_MLIR_ENUM, "DEFAULT", strlen("DEFAULT"));
  halo_vec_push(rows, (halo_mlir_named){"mode", mode});
}

halo_status halo_mlir_text_fields(halo_mlir_reader *r, const char *name,
                                  const halo_mlir_attr **out) {
  HALO_TRY(halo_mlir_text_enter(r));
  halo_mlir_named_list rows = {0};
  halo_status status = halo_mlir_text_expect(r, '<', "'<'");
  while (status == HALO_OK && r->tok.kind != '>') {
    halo_mlir_named row = {0};
    if (r->tok.kind != TOK_WORD) {
      status = halo_mlir_text_expected(r, "the name of a field or '>'");
      break;
    }
    row.name = halo_mlir_text_intern(r, r->tok.start, (size_t)(r->tok.end - r->tok.start));
    halo_mlir_text_advance(r);
    if (r->tok.kind == '=') {
      halo_mlir_text_advance(r);
      status = struct_value(r, struct_element_name(name, row.name), &row.value);
    } else {
      row.value = halo_mlir_text_new_attr(r, HALO_MLIR_UNIT);
    }
    halo_vec_push(&rows, row);
    if (status == HALO_OK) status = halo_mlir_text_separator(r, '>', "',' or '>' after a field");
  }
  if (status == HALO_OK) {
    struct_complete(r, name, &rows);
    *out = halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, name, rows.data, rows.count);
    halo_mlir_text_advance(r);
    halo_mlir_text_leave(r);
  }
  halo_vec_deinit(&rows);
  return status;
}

/* ---- Convolutions' dimensions ---- */

typedef struct conv_list {
  int64_t batch, feature; /* kernels: input feature and output feature; -1: not seen */
  int64_t spatial[HALO_MAX_RANK];
  int32_t spatial_count;
} conv_list;

/* "[b, 0, 1, f]", where the two letters are as given. */
static halo_status conv_read_list(halo_mlir_reader *r, const char *letters, conv_list *out) {
  const char *start = r->tok.start;
  *out = (conv_list){.batch = -1, .feature = -1};
  for (int i = 0; i < HALO_MAX_RANK; i++) out->spatial[i] = -1;
  HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and the dimensions"));
  int64_t position = 0;
  for (; r->tok.kind != ']'; position++) {
    const char *at = r->tok.start;
    int64_t *slot = NULL, number;
    if (r->tok.kind == TOK_WORD && r->tok.end == at + 1 &&
        (*at == letters[0] || *at == letters[1])) {
      slot = *at == letters[0] ? &out->batch : &out->feature;
      halo_mlir_text_advance(r);
    } else if (halo_mlir_text_accept(r, '?')) {
      HALO_TRY(halo_mlir_text_separator(r, ']', "',' or ']' after a dimension"));
      continue; /* counts in nothing */
    } else if (r->tok.kind == TOK_INT) {
      HALO_TRY(halo_mlir_text_int(r, "a spatial dimension", &number));
      if (number >= HALO_MAX_RANK)
        return halo_mlir_text_error(r, at, "a spatial dimension must be below %d", HALO_MAX_RANK);
      slot = &out->spatial[number];
      out->spatial_count++;
    } else {
      char what[64];
      snprintf(what, sizeof what, "'%c', '%c' or a spatial dimension", letters[0], letters[1]);
      return halo_mlir_text_expected(r, what);
    }
    if (*slot >= 0) return halo_mlir_text_error(r, at, "this dimension was named before");
    *slot = position;
    HALO_TRY(halo_mlir_text_separator(r, ']', "',' or ']' after a dimension"));
  }
  for (int i = 0; i < out->spatial_count; i++)
    if (out->spatial[i] < 0)
      return halo_mlir_text_error(r, start, "expected spatial dimension %d in this list", i);
  if (out->batch < 0 || out->feature < 0)
    return halo_mlir_text_error(r, start, "expected '%c' in this list",
                                letters[out->batch < 0 ? 0 : 1]);
  halo_mlir_text_advance(r);
  return HALO_OK;
}

static halo_status conv_add(halo_mlir_reader *r, halo_mlir_named_list *out, const conv_list *list,
                            const char *batch, const char *feature, const char *spatial) {
  const halo_mlir_attr *dims;
  HALO_TRY(halo_mlir_text_new_list(r, r->tok.start, list->spatial, list->spatial_count, &dims));
  halo_vec_push(out, (halo_mlir_named){batch, halo_mlir_text_new_int(r, list->batch, HALO_S64)});
  halo_vec_push(out,
                (halo_mlir_named){feature, halo_mlir_text_new_int(r, list->feature, HALO_S64)});
  halo_vec_push(out, (halo_mlir_named){spatial, dims});
  return HALO_OK;
}

halo_status halo_mlir_text_conv(halo_mlir_reader *r, halo_mlir_named_list *out) {
  conv_list list;
  HALO_TRY(conv_read_list(r, "bf", &list));
  HALO_TRY(conv_add(r, out, &list, "input_batch_dimension", "input_feature_dimension",
                    "input_spatial_dimensions"));
  HALO_TRY(halo_mlir_text_expect_word(r, "x"));
  HALO_TRY(conv_read_list(r, "io", &list));
  HALO_TRY(conv_add(r, out, &list, "kernel_input_feature_dimension",
                    "kernel_output_feature_dimension", "kernel_spatial_dimensions"));
  HALO_TRY(halo_mlir_text_expect(r, TOK_ARROW, "'->' and the result's dimensions"));
  HALO_TRY(conv_read_list(r, "bf", &list));
  return conv_add(r, out, &list, "output_batch_dimension", "output_feature_dimension",
                  "output_spatial_dimensions");
}

/* "<[b, 0, f]x[0, i, o]->[b, 0, f]>", "<raw input_batch_dimension = 0, ...>" */
static halo_status struct_conv(halo_mlir_reader *r, const halo_mlir_attr **out) {
  halo_mlir_token next = halo_mlir_text_peek(r);
  if (halo_mlir_token_is(&next, "raw")) {
    /* The fields follow the word as they would follow '<'. */
    halo_mlir_text_advance(r);
    r->tok.kind = '<';
    return halo_mlir_text_fields(r, "conv", out);
  }
  halo_mlir_named_list rows = {0};
  halo_mlir_text_advance(r);
  halo_status status = halo_mlir_text_conv(r, &rows);
  if (status == HALO_OK) status = halo_mlir_text_expect(r, '>', "'>' after the dimensions");
  if (status == HALO_OK)
    *out = halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, "conv", rows.data, rows.count);
  halo_vec_deinit(&rows);
  return status;
}

/* ---- Attributes of dialects ---- */

/* At the '<' of the body. */
static halo_status struct_body(halo_mlir_reader *r, const char *kind, const halo_mlir_attr **out) {
  if (strcmp(kind, "conv") == 0) return struct_conv(r, out);
  halo_mlir_token next = halo_mlir_text_peek(r);
  if (next.kind == TOK_WORD && *halo_mlir_text_skip_blank(next.end) == '>') {
    halo_mlir_text_advance(r);
    *out = struct_keyword(r);
    return halo_mlir_text_expect(r, '>', "'>' after the keyword");
  }
  return halo_mlir_text_fields(r, kind, out);
}

/* "#stablehlo<precision HIGH>", "#sdy<manual_axes{"x"}>": the kind is inside. */
static halo_status struct_inside(halo_mlir_reader *r, const char *start, bool sdy,
                                 const halo_mlir_attr **out) {
  HALO_TRY(halo_mlir_text_expect(r, '<', "'<'"));
  if (r->tok.kind != TOK_WORD) return halo_mlir_text_expected(r, "the kind of an attribute");
  const char *kind = halo_mlir_text_intern(r, r->tok.start, (size_t)(r->tok.end - r->tok.start));
  halo_mlir_text_advance(r);
  if (sdy) {
    HALO_TRY(halo_mlir_text_sdy(r, kind, start, out));
  } else if (r->tok.kind == '<') {
    HALO_TRY(struct_body(r, kind, out));
  } else if (r->tok.kind == TOK_WORD) {
    *out = struct_keyword(r);
  } else {
    return halo_mlir_text_expected(r, "a keyword or '<'");
  }
  return halo_mlir_text_expect(r, '>', "'>' after the attribute");
}

static bool struct_is(const char *start, size_t length, const char *word) {
  return strlen(word) == length && memcmp(start, word, length) == 0;
}

halo_status halo_mlir_text_dialect_attr(halo_mlir_reader *r, const halo_mlir_attr **out) {
  halo_mlir_token name = r->tok;
  size_t length = (size_t)(name.end - name.start);
  const char *dot = memchr(name.start, '.', length);
  if (!dot && *name.end != '<') return halo_mlir_text_attr_alias(r, out);
  halo_mlir_text_advance(r);
  size_t dialect = dot ? (size_t)(dot - name.start) : length, kind = dot ? length - dialect - 1 : 0;
  bool body = r->tok.kind == '<' || r->tok.kind == '{' || r->tok.kind == '[';
  bool sdy = struct_is(name.start, dialect, "sdy");
  bool hlo = struct_is(name.start, dialect, "stablehlo") || struct_is(name.start, dialect, "chlo");
  if (!dot && (hlo || sdy)) return struct_inside(r, name.start - 1, sdy, out);
  if (body && sdy) {
    return halo_mlir_text_sdy(r, halo_mlir_text_intern(r, dot + 1, kind), name.start - 1, out);
  }
  /* Bounds are parts of types, which have a reader of their own. */
  if (hlo && r->tok.kind == '<' && !struct_is(dot + 1, kind, "bounds") &&
      !struct_is(dot + 1, kind, "type_extensions"))
    return struct_body(r, halo_mlir_text_intern(r, dot + 1, kind), out);
  const char *end = name.end;
  if (body) {
    HALO_TRY(halo_mlir_text_skip_brackets(r));
    end = halo_mlir_text_here(r);
  }
  *out = halo_mlir_text_opaque(r, name.start - 1, end);
  return HALO_OK;
}

/* ---- Flat attributes ---- */

static bool flat_is_structure(const char *name) {
  static const char *const names[] = {"dot_dimension_numbers", "dimension_numbers",
                                      "scatter_dimension_numbers", "channel_handle", "algorithm"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* A number or a list of a structure as an attribute of its own. */
static halo_status flat_value(halo_mlir_reader *r, const char *at, const halo_mlir_attr **value) {
  const halo_mlir_attr *old = *value;
  if (old->kind == HALO_MLIR_INT && !old->type)
    *value = halo_mlir_text_new_int(r, old->i, HALO_S64);
  if (old->kind != HALO_MLIR_ARRAY) return HALO_OK;
  int64_t *list = halo_arena_array(r->arena, int64_t, old->array.count ? old->array.count : 1);
  for (int32_t i = 0; i < old->array.count; i++) {
    if (old->array.data[i]->kind != HALO_MLIR_INT) return HALO_OK;
    list[i] = old->array.data[i]->i;
  }
  return halo_mlir_text_new_list(r, at, list, old->array.count, value);
}

halo_status halo_mlir_text_flatten(halo_mlir_reader *r, const char *at, halo_mlir_opcode opcode,
                                   halo_mlir_named_list *attrs) {
  bool typed_channel = opcode == HALO_MLIR_OP_SEND || opcode == HALO_MLIR_OP_RECV;
  for (int32_t i = attrs->count - 1; i >= 0; i--) {
    const halo_mlir_attr *value = attrs->data[i].value;
    if (value->kind != HALO_MLIR_STRUCT || !flat_is_structure(attrs->data[i].name)) continue;
    bool channel = strcmp(attrs->data[i].name, "channel_handle") == 0;
    attrs->data[i] = attrs->data[--attrs->count];
    for (int32_t f = 0; f < value->dict.count; f++) {
      halo_mlir_named row = value->dict.data[f];
      if (channel && strcmp(row.name, "handle") == 0) row.name = "channel_id";
      if (channel && strcmp(row.name, "type") == 0) {
        if (!typed_channel) continue;
        row.name = "channel_type";
      }
      HALO_TRY(flat_value(r, at, &row.value));
      halo_vec_push(attrs, row);
    }
  }
  return HALO_OK;
}

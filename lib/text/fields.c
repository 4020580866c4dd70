/* SPDX-License-Identifier: Apache-2.0 */
/* text/fields.c: groups of fields by tables: reading and printing. */
#include "text/fields.h"

#include "text/print.h"

#include <string.h>

/* ---- The tables ---- */

#define FIELD(type, name, member, kind, unset)                                                     \
  { name, HALO_FIELD_##kind, offsetof(type, member), unset }
#define FIELDS(list)                                                                               \
  { list, (int)(sizeof list / sizeof list[0]) }

static const halo_text_field metadata_list[] = {
    FIELD(halo_metadata, "op_type", op_type, STRING, 0),
    FIELD(halo_metadata, "op_name", op_name, STRING, 0),
    FIELD(halo_metadata, "source_file", source_file, STRING, 0),
    FIELD(halo_metadata, "source_line", source_line, INT, 0),
    FIELD(halo_metadata, "source_end_line", source_end_line, INT, 0),
    FIELD(halo_metadata, "source_column", source_column, INT, 0),
    FIELD(halo_metadata, "source_end_column", source_end_column, INT, 0),
    FIELD(halo_metadata, "profile_type", profile_type, INTS, 0),
    FIELD(halo_metadata, "deduplicated_name", deduplicated_name, STRING, 0),
    FIELD(halo_metadata, "preserve_layout", preserve_layout, BOOL, 0),
    FIELD(halo_metadata, "scheduling_name", scheduling_name, STRING, 0),
    FIELD(halo_metadata, "stack_frame_id", stack_frame_id, INT, 0),
    FIELD(halo_metadata, "metadata_payload", payload, STRING, 0),
};
const halo_text_fields halo_text_metadata_fields = FIELDS(metadata_list);

static const halo_text_field tolerance_list[] = {
    FIELD(halo_accuracy, "atol", atol, DOUBLE, 0), FIELD(halo_accuracy, "rtol", rtol, DOUBLE, 0),
    FIELD(halo_accuracy, "ulps", ulps, INT, INT64_MIN), /* always printed */
};
const halo_text_fields halo_text_tolerance_fields = FIELDS(tolerance_list);

static const halo_text_field sparsity_list[] = {
    FIELD(halo_operand_config, "sparsity", sparsity, SIZES, -1),
    FIELD(halo_operand_config, "dimension", dimension, INT, -1),
    FIELD(halo_operand_config, "stride", stride, INT, -1),
    FIELD(halo_operand_config, "idx", index, INT, -1),
};
const halo_text_fields halo_text_sparsity_fields = FIELDS(sparsity_list);

static const halo_text_field scaling_list[] = {
    FIELD(halo_operand_config, "scale_idx", scale_index, INT, -1),
    FIELD(halo_operand_config, "zero_idx", zero_index, INT, -1),
    FIELD(halo_operand_config, "strides", strides, SIZES, -1),
    FIELD(halo_operand_config, "steps", steps, SIZES, -1),
};
const halo_text_fields halo_text_scaling_fields = FIELDS(scaling_list);

/* ---- Reading ---- */

static halo_status field_list(halo_text_parser *p, const halo_text_field *field,
                              halo_int_list *out) {
  halo_attr attr = {0};
  HALO_TRY(field->kind == HALO_FIELD_INTS ? halo_text_ints(p, "an integer", &attr)
                                          : halo_text_sizes(p, &attr));
  *out = (halo_int_list){attr.ints.data, attr.ints.count};
  return HALO_OK;
}

/* Takes the value of one field. */
static halo_status field_value(halo_text_parser *p, const halo_text_field *field, void *at) {
  switch (field->kind) {
    case HALO_FIELD_STRING: return halo_text_string(p, "a string in quotes", at);
    case HALO_FIELD_INT: return halo_text_int(p, "an integer", at);
    case HALO_FIELD_BOOL: return halo_text_bool(p, "true or false", at);
    case HALO_FIELD_DOUBLE: return halo_text_double(p, at);
    case HALO_FIELD_INTS:
    case HALO_FIELD_SIZES: return field_list(p, field, at);
  }
  return HALO_OK;
}

/* Fails with the names that the table has. */
static halo_status fields_expected(halo_text_parser *p, halo_text_fields fields) {
  halo_strbuf names = {0};
  halo_strbuf_append(&names, "'}' or one of ");
  for (int i = 0; i < fields.count; i++) {
    halo_strbuf_printf(&names, "%s%s", i ? ", " : "", fields.list[i].name);
  }
  halo_status status = halo_text_expected(p, halo_strbuf_text(&names));
  halo_strbuf_deinit(&names);
  return status;
}

/* Takes "name=value" of a name that is not in the table. */
static halo_status fields_unknown(halo_text_parser *p, halo_text_strings *unknown) {
  const char *at = p->tok.start, *name, *value;
  HALO_TRY(halo_text_name(p, "a field's name", &name));
  for (int32_t i = 0; i < unknown->count; i += 2) {
    if (strcmp(unknown->data[i], name) == 0) return halo_text_error(p, at, "%s stands twice", name);
  }
  HALO_TRY(halo_text_expect(p, '=', "'=' after the field's name"));
  HALO_TRY(halo_text_raw(p, INT32_MAX, &value));
  halo_vec_push(unknown, name);
  halo_vec_push(unknown, value);
  return HALO_OK;
}

static int fields_find(const halo_text_parser *p, halo_text_fields fields) {
  int i = 0;
  while (i < fields.count && !halo_text_is_word(p, fields.list[i].name)) i++;
  return i;
}

halo_status halo_text_read_fields(halo_text_parser *p, halo_text_fields fields, void *into,
                                  halo_text_strings *unknown) {
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the fields"));
  uint32_t seen = 0;
  while (p->tok.kind != '}') {
    int i = fields_find(p, fields);
    if (i == fields.count) {
      if (p->tok.kind != TOK_WORD || !unknown) return fields_expected(p, fields);
      HALO_TRY(fields_unknown(p, unknown));
    } else {
      const halo_text_field *field = &fields.list[i];
      if (seen >> i & 1) return halo_text_error(p, p->tok.start, "%s stands twice", field->name);
      seen |= 1u << i;
      halo_text_advance(p);
      HALO_TRY(halo_text_expect(p, '=', "'=' after the field's name"));
      HALO_TRY(field_value(p, field, (char *)into + field->at));
    }
    halo_text_accept(p, ',');
  }
  halo_text_advance(p);
  return HALO_OK;
}

/* ---- Printing ---- */

static void field_print_sizes(halo_strbuf *out, const halo_int_list *sizes) {
  for (int32_t i = 0; i < sizes->count; i++) {
    halo_strbuf_printf(out, "%s%lld", i ? "x" : "", (long long)sizes->data[i]);
  }
}

static bool field_is_set(const halo_text_field *field, const void *at) {
  switch (field->kind) {
    case HALO_FIELD_STRING: return *(const char *const *)at != NULL && **(const char *const *)at;
    case HALO_FIELD_INT: return *(const int64_t *)at != field->unset;
    case HALO_FIELD_BOOL: return *(const bool *)at;
    case HALO_FIELD_DOUBLE: return true;
    case HALO_FIELD_INTS:
    case HALO_FIELD_SIZES: return ((const halo_int_list *)at)->count > 0;
  }
  return false;
}

static void field_print(halo_strbuf *out, const halo_text_field *field, const void *at) {
  const halo_int_list *list = at;
  halo_strbuf_printf(out, "%s=", field->name);
  switch (field->kind) {
    case HALO_FIELD_STRING: halo_text_print_string(out, *(const char *const *)at); break;
    case HALO_FIELD_INT: halo_strbuf_printf(out, "%lld", (long long)*(const int64_t *)at); break;
    case HALO_FIELD_BOOL: halo_strbuf_append(out, "true"); break;
    case HALO_FIELD_DOUBLE: halo_text_print_double(out, *(const double *)at); break;
    case HALO_FIELD_INTS: halo_text_print_ints(out, list->data, list->count); break;
    case HALO_FIELD_SIZES: field_print_sizes(out, list); break;
  }
}

void halo_text_print_fields(halo_strbuf *out, halo_text_fields fields, const void *from,
                            const char *separator) {
  bool first = true;
  for (int i = 0; i < fields.count; i++) {
    const halo_text_field *field = &fields.list[i];
    const void *at = (const char *)from + field->at;
    if (!field_is_set(field, at)) continue;
    if (!first) halo_strbuf_append(out, separator);
    first = false;
    field_print(out, field, at);
  }
}

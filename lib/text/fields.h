/* SPDX-License-Identifier: Apache-2.0 */
/* text/fields.h: groups such as {op_name="a" source_line=3}, which are read into a struct and printed
 * from it by one table of their fields. */
#ifndef HALO_TEXT_FIELDS_H
#define HALO_TEXT_FIELDS_H

#include "text/parser.h"

typedef enum halo_text_field_kind {
  HALO_FIELD_STRING, /* const char *; NULL: not set */
  HALO_FIELD_INT,    /* int64_t; `unset` when not set */
  HALO_FIELD_BOOL,   /* bool */
  HALO_FIELD_DOUBLE, /* double; always printed */
  HALO_FIELD_INTS,   /* halo_int_list, {1,2} */
  HALO_FIELD_SIZES   /* halo_int_list, 1x2 */
} halo_text_field_kind;

typedef struct halo_text_field {
  const char *name;
  halo_text_field_kind kind;
  size_t at; /* offset in the struct */
  int64_t unset;
} halo_text_field;

/* A table of at most 32 fields, in the order in which they are printed. */
typedef struct halo_text_fields {
  const halo_text_field *list;
  int count;
} halo_text_fields;

typedef HALO_VEC(const char *) halo_text_strings;

/* Takes a group in braces, its fields in any order, each at most once, with blanks or commas between. What
 * is not given stays as it is. Fields that are not in the table are an error, or go to `unknown`
 * (when it is not NULL) as names and values in turns. */
halo_status halo_text_read_fields(halo_text_parser *p, halo_text_fields fields, void *into,
                                  halo_text_strings *unknown);
/* Appends what is set, without braces. */
void halo_text_print_fields(halo_strbuf *out, halo_text_fields fields, const void *from,
                            const char *separator);

/* result_accuracy's tolerance, a side of sparsity_config or block_scaling_config, metadata. */
extern const halo_text_fields halo_text_tolerance_fields, halo_text_sparsity_fields,
    halo_text_scaling_fields, halo_text_metadata_fields;

#endif

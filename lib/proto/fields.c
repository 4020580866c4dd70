/* SPDX-License-Identifier: Apache-2.0 */
/* proto/fields.c: the table of attributes that are plain values: where in HloInstructionProto each is. */
#include "proto/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum field_form {
  FORM_INT,
  FORM_BOOL,
  FORM_FLOAT, /* of 32 bits */
  FORM_TEXT,
  FORM_INTS,
  FORM_FIRST, /* the only one of a list of integers */
  FORM_ENUM,  /* a number, by `numbers`, or 0 for the first name and so on */
  FORM_WORD,  /* the name of an enumerated value */
  FORM_TRI    /* 1: true, 2: false */
} field_form;

/* Numbers of enumerated values in our order, where those do not count up from 0. */
static const int64_t from_one[] = {1, 2, 3, 4};
static const int64_t algorithms[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 9, 10, 11, 12};
static const int64_t conv_kinds[] = {0, 1, 3, 2};

typedef struct field_row {
  halo_attr_id id;
  uint32_t path[3]; /* field in field in field; 0: ends */
  field_form form;
  int64_t default_; /* is not said */
  const int64_t *numbers;
} field_row;

/* Rows of one message stand together. */
static const field_row rows[] = {
    {HALO_ATTR_FUSION_KIND, {11}, FORM_WORD},
    {HALO_ATTR_INDEX, {13}, FORM_INT},
    {HALO_ATTR_DIMENSIONS, {14}, FORM_INTS},
    {HALO_ATTR_IOTA_DIMENSION, {14}, FORM_FIRST},
    {HALO_ATTR_INFERRED_DIMENSION, {14}, FORM_FIRST},
    {HALO_ATTR_EXPONENT_BITS, {18}, FORM_INT},
    {HALO_ATTR_MANTISSA_BITS, {19}, FORM_INT},
    {HALO_ATTR_DYNAMIC_SLICE_SIZES, {20}, FORM_INTS},
    {HALO_ATTR_OUTFEED_CONFIG, {22}, FORM_TEXT},
    {HALO_ATTR_DISTRIBUTION, {23}, FORM_ENUM, -1, from_one},
    {HALO_ATTR_EPSILON, {24}, FORM_FLOAT},
    {HALO_ATTR_FEATURE_INDEX, {25}, FORM_INT},
    {HALO_ATTR_CHANNEL_ID, {26}, FORM_INT},
    {HALO_ATTR_INFEED_CONFIG, {27}, FORM_TEXT},
    {HALO_ATTR_CUSTOM_CALL_TARGET, {28}, FORM_TEXT},
    {HALO_ATTR_LHS_CONTRACTING_DIMS, {30, 1}, FORM_INTS},
    {HALO_ATTR_RHS_CONTRACTING_DIMS, {30, 2}, FORM_INTS},
    {HALO_ATTR_LHS_BATCH_DIMS, {30, 3}, FORM_INTS},
    {HALO_ATTR_RHS_BATCH_DIMS, {30, 4}, FORM_INTS},
    {HALO_ATTR_FFT_TYPE, {31}, FORM_ENUM, -1},
    {HALO_ATTR_FFT_LENGTH, {32}, FORM_INTS},
    {HALO_ATTR_OFFSET_DIMS, {33, 1}, FORM_INTS},
    {HALO_ATTR_COLLAPSED_SLICE_DIMS, {33, 2}, FORM_INTS},
    {HALO_ATTR_START_INDEX_MAP, {33, 3}, FORM_INTS},
    {HALO_ATTR_INDEX_VECTOR_DIM, {33, 4}, FORM_INT},
    {HALO_ATTR_OPERAND_BATCHING_DIMS, {33, 5}, FORM_INTS},
    {HALO_ATTR_START_INDICES_BATCHING_DIMS, {33, 6}, FORM_INTS},
    {HALO_ATTR_SLICE_SIZES, {34}, FORM_INTS},
    {HALO_ATTR_IS_HOST_TRANSFER, {47}, FORM_BOOL},
    {HALO_ATTR_UPDATE_WINDOW_DIMS, {48, 1}, FORM_INTS},
    {HALO_ATTR_INSERTED_WINDOW_DIMS, {48, 2}, FORM_INTS},
    {HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, {48, 3}, FORM_INTS},
    {HALO_ATTR_INDEX_VECTOR_DIM, {48, 4}, FORM_INT},
    {HALO_ATTR_INPUT_BATCHING_DIMS, {48, 5}, FORM_INTS},
    {HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS, {48, 6}, FORM_INTS},
    {HALO_ATTR_FEATURE_GROUP_COUNT, {50}, FORM_INT, 1},
    {HALO_ATTR_OPERAND_PRECISION, {51, 1}, FORM_INTS},
    {HALO_ATTR_ALGORITHM, {51, 2}, FORM_ENUM, 0, algorithms},
    {HALO_ATTR_CONSTRAIN_LAYOUT, {56}, FORM_BOOL},
    {HALO_ATTR_BATCH_GROUP_COUNT, {58}, FORM_INT, 1},
    {HALO_ATTR_LEFT_SIDE, {59, 1}, FORM_BOOL},
    {HALO_ATTR_LOWER, {59, 2}, FORM_BOOL},
    {HALO_ATTR_UNIT_DIAGONAL, {59, 3}, FORM_BOOL},
    {HALO_ATTR_TRANSPOSE_A, {59, 4}, FORM_ENUM, -1, from_one},
    {HALO_ATTR_IS_STABLE, {60}, FORM_BOOL},
    {HALO_ATTR_LOWER, {62, 1}, FORM_BOOL},
    {HALO_ATTR_DIRECTION, {63}, FORM_WORD},
    {HALO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, {65}, FORM_BOOL},
    {HALO_ATTR_DELTA, {66}, FORM_INT},
    {HALO_ATTR_INDICES_ARE_SORTED, {67}, FORM_BOOL},
    {HALO_ATTR_UNIQUE_INDICES, {69}, FORM_BOOL},
    {HALO_ATTR_RNG_ALGORITHM, {70}, FORM_ENUM, -1},
    {HALO_ATTR_USE_GLOBAL_DEVICE_IDS, {71}, FORM_BOOL},
    {HALO_ATTR_COMPARE_TYPE, {72}, FORM_WORD},
    {HALO_ATTR_IS_CROSS_PROGRAM_PREFETCH, {73}, FORM_BOOL},
    {HALO_ATTR_PADDING_TYPE, {75}, FORM_ENUM, -1, from_one},
    {HALO_ATTR_SCHEDULE, {76}, FORM_ENUM, 0},
    {HALO_ATTR_API_VERSION, {77}, FORM_ENUM, 0, from_one},
    {HALO_ATTR_ASYNC_EXECUTION_THREAD, {79}, FORM_TEXT},
    {HALO_ATTR_K, {81}, FORM_INT},
    {HALO_ATTR_LARGEST, {85}, FORM_BOOL},
    {HALO_ATTR_IS_COMPOSITE, {89}, FORM_BOOL},
    {HALO_ATTR_LHS_CONTRACTING_DIMS, {90, 1, 1}, FORM_INTS},
    {HALO_ATTR_RHS_CONTRACTING_DIMS, {90, 1, 2}, FORM_INTS},
    {HALO_ATTR_LHS_BATCH_DIMS, {90, 1, 3}, FORM_INTS},
    {HALO_ATTR_RHS_BATCH_DIMS, {90, 1, 4}, FORM_INTS},
    {HALO_ATTR_LHS_RAGGED_DIMS, {90, 2}, FORM_INTS},
    {HALO_ATTR_RHS_GROUP_DIMS, {90, 3}, FORM_INTS},
    {HALO_ATTR_IS_REVERSE, {94}, FORM_BOOL},
    {HALO_ATTR_NUM_CARRIES, {95}, FORM_INT},
    {HALO_ATTR_IS_ASSOCIATIVE, {96}, FORM_TRI, -1},
    {HALO_ATTR_CONV_KIND, {97}, FORM_ENUM, 0, conv_kinds},
};
enum { ROWS = sizeof rows / sizeof *rows };

bool halo_proto_has_attr(const halo_instr *instr, halo_attr_id id, bool *required) {
  const halo_attr_spec *specs = halo_op_info_of(instr->opcode)->attrs;
  for (int i = 0; specs[i].used; i++) {
    if (specs[i].id != id) continue;
    *required = (specs[i].flags & (HALO_ATTR_REQUIRED | HALO_ATTR_ALWAYS_PRINTED)) != 0;
    return true;
  }
  return false;
}

/* Some attributes are in different messages for different opcodes. */
static bool row_is_for(const field_row *row, halo_opcode opcode) {
  switch (row->path[0]) {
    case 30: return opcode != HALO_OP_RAGGED_DOT;
    case 90: return opcode == HALO_OP_RAGGED_DOT;
    case 33: return opcode != HALO_OP_SCATTER;
    case 48: return opcode == HALO_OP_SCATTER;
    case 59: return opcode == HALO_OP_TRIANGULAR_SOLVE;
    case 62: return opcode == HALO_OP_CHOLESKY;
    default: return true;
  }
}

/* ---- Reading ---- */

/* The position of a name among an enumeration's; -1 after a fault. */
static int64_t word_position(halo_proto_message at, halo_attr_id id, const char *word) {
  const char *const *names = halo_attr_enum_names(id);
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], word) == 0) return i;
  halo_proto_refuse(at, "%s %s is not known", halo_attr_name(id), word);
  return -1;
}

static int64_t number_position(halo_proto_message at, const field_row *row, int64_t number) {
  const char *const *names = halo_attr_enum_names(row->id);
  for (int i = 0; names[i]; i++)
    if ((row->numbers ? row->numbers[i] : i) == number) return i;
  if (row->numbers == from_one && number == 0) return 0;
  halo_proto_refuse(at, "%s %lld is not known", halo_attr_name(row->id), (long long)number);
  return -1;
}

/* The number of the fewest digits that is this one in 32 bits: 0.001, as people write it. */
static double shortest(float value) {
  char digits[32];
  for (int precision = 6; precision < 9; precision++) {
    snprintf(digits, sizeof digits, "%.*g", precision, (double)value);
    if (strtof(digits, NULL) == value) return strtod(digits, NULL);
  }
  return (double)value;
}

/* Precisions that are all the default are not said. */
static bool is_all_zero(halo_int_list list) {
  for (int32_t i = 0; i < list.count; i++)
    if (list.data[i]) return false;
  return true;
}

static void check_precisions(halo_proto_message at, halo_int_list list) {
  int32_t known = 0;
  while (halo_precision_names[known]) known++;
  for (int32_t i = 0; i < list.count; i++)
    if (list.data[i] < 0 || list.data[i] >= known)
      halo_proto_refuse(at, "operand_precision %lld is not known", (long long)list.data[i]);
}

static void row_read(halo_proto_message message, const field_row *row, bool required,
                     halo_instr *instr) {
  halo_proto_reader *reader = message.reader;
  uint32_t number = row->path[0];
  halo_proto_field field;
  bool there = true;
  for (int step = 0; there && step < 2 && row->path[step + 1]; step++) {
    there = halo_proto_find(message, row->path[step], &field);
    if (there) message = halo_proto_body(&field);
    number = row->path[step + 1];
  }
  halo_attr attr = {.id = row->id};
  if (row->form == FORM_INTS || row->form == FORM_FIRST) {
    halo_int_list list = there ? halo_proto_list(message, number) : (halo_int_list){0};
    if (!list.count && !required) return;
    if (row->id == HALO_ATTR_OPERAND_PRECISION) check_precisions(message, list);
    if (row->id == HALO_ATTR_OPERAND_PRECISION && is_all_zero(list)) return;
    if (row->form == FORM_FIRST) {
      attr.i = list.count ? list.data[0] : 0;
    } else {
      attr.ints.data = list.data;
      attr.ints.count = list.count;
    }
    halo_instr_set_attr(instr, &attr);
    return;
  }
  there = there && halo_proto_find(message, number, &field);
  if (!there && !required) return;
  switch (row->form) {
    case FORM_INT: attr.i = there ? halo_proto_int(&field) : 0; break;
    case FORM_BOOL: attr.i = there && halo_proto_int(&field) != 0; break;
    case FORM_TRI: attr.i = (there ? halo_proto_int(&field) : 0) == 1; break;
    case FORM_FLOAT: attr.f = there ? shortest(halo_proto_f32(&field)) : 0; break;
    case FORM_TEXT: attr.text = there ? halo_proto_text(&field) : ""; break;
    case FORM_ENUM:
      attr.i = number_position(message, row, there ? halo_proto_int(&field) : 0);
      break;
    case FORM_WORD: {
      const char *word = there ? halo_proto_text(&field) : "";
      if (!*word && !required) return;
      attr.i = word_position(message, row->id, word);
      break;
    }
    case FORM_INTS:
    case FORM_FIRST: break;
  }
  bool plain = row->form != FORM_FLOAT && row->form != FORM_TEXT;
  if (reader->status != HALO_OK || (plain && !required && attr.i == row->default_)) return;
  if (row->form == FORM_TEXT && !*attr.text && !required) return;
  halo_instr_set_attr(instr, &attr);
}

void halo_proto_read_fields(halo_proto_message message, halo_instr *instr) {
  for (int i = 0; i < ROWS; i++) {
    bool required;
    if (row_is_for(&rows[i], instr->opcode) && halo_proto_has_attr(instr, rows[i].id, &required))
      row_read(message, &rows[i], required, instr);
  }
}

/* ---- Writing ---- */

static void row_write(halo_proto_writer *out, const field_row *row, uint32_t field,
                      const halo_attr *attr) {
  switch (row->form) {
    case FORM_INT:
    case FORM_BOOL: halo_proto_put_int(out, field, attr->i); break;
    case FORM_TRI: halo_proto_put_int(out, field, attr->i ? 1 : 2); break;
    case FORM_FLOAT: halo_proto_put_f32(out, field, (float)attr->f); break;
    case FORM_TEXT: halo_proto_put_text(out, field, attr->text); break;
    case FORM_INTS: halo_proto_put_ints(out, field, attr->ints.data, attr->ints.count); break;
    case FORM_FIRST: halo_proto_put_ints(out, field, &attr->i, 1); break;
    case FORM_ENUM:
      halo_proto_put_int(out, field, row->numbers ? row->numbers[attr->i] : attr->i);
      break;
    case FORM_WORD: halo_proto_put_text(out, field, halo_attr_enum_names(attr->id)[attr->i]); break;
  }
}

/* Dimension numbers and options are there also where they say nothing; a precision is not. */
static bool row_is_expected(const field_row *row, const halo_instr *instr) {
  enum { PRECISION = 51 };
  bool required;
  return row->path[0] != PRECISION && row_is_for(row, instr->opcode) &&
         halo_proto_has_attr(instr, row->id, &required);
}

/* Writes the rows from `last` down to the first of the same message at this depth; returns the row before. */
static int rows_write(halo_proto_writer *out, const halo_instr *instr, int last, int depth) {
  uint32_t parent = depth ? rows[last].path[depth - 1] : 0;
  uint32_t outer = depth > 1 ? rows[last].path[depth - 2] : 0;
  int i = last;
  while (i >= 0) {
    const field_row *row = &rows[i];
    if (depth && row->path[depth - 1] != parent) break;
    if (depth > 1 && row->path[depth - 2] != outer) break;
    bool nested = depth < 2 && row->path[depth + 1];
    if (nested) {
      size_t mark = out->used;
      int before = rows_write(out, instr, i, depth + 1);
      if (out->used > mark || row_is_expected(row, instr))
        halo_proto_close(out, row->path[depth], mark);
      i = before;
      continue;
    }
    const halo_attr *attr = row_is_for(row, instr->opcode) ? halo_instr_attr(instr, row->id) : NULL;
    if (attr) row_write(out, row, row->path[depth], attr);
    i--;
  }
  return i;
}

void halo_proto_write_fields(halo_proto_writer *out, const halo_instr *instr) {
  rows_write(out, instr, ROWS - 1, 0);
}

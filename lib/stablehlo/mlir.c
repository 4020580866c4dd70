/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/mlir.c: making and reading MLIR programs. */
#include "stablehlo/mlir.h"

#include "base/memory.h"
#include "base/suggest.h"
#include "shape/types.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Operations by name ---- */

static const struct {
  const char *name, *attrs;
  int32_t version;
} op_rows[HALO_MLIR_OP_COUNT] = {
#define HALO_MLIR_OP(id, name, version, attrs) [HALO_MLIR_OP_##id] = {name, attrs, version},
#define HALO_MLIR_OLD(id, version, attrs)
#include "stablehlo/ops.def"
#undef HALO_MLIR_OP
#undef HALO_MLIR_OLD
};

static const struct {
  halo_mlir_opcode opcode;
  int32_t version;
  const char *attrs;
} old_rows[] = {
#define HALO_MLIR_OP(id, name, version, attrs)
#define HALO_MLIR_OLD(id, version, attrs) {HALO_MLIR_OP_##id, version, attrs},
#include "stablehlo/ops.def"
#undef HALO_MLIR_OP
#undef HALO_MLIR_OLD
};

halo_mlir_opcode halo_mlir_opcode_from_name(const char *name) {
  for (int i = 1; i < HALO_MLIR_OP_COUNT; i++)
    if (strcmp(op_rows[i].name, name) == 0) return (halo_mlir_opcode)i;
  return HALO_MLIR_OP_UNKNOWN;
}

/* The part of the name behind the dialect. */
static const char *op_tail(const char *name) {
  const char *dot = strchr(name, '.');
  return dot ? dot + 1 : name;
}

/* The operation with this name in another dialect; else one of a similar name in its own, or in StableHLO or CHLO. */
const char *halo_mlir_suggest(const char *name, size_t length) {
  const char *dot = memchr(name, '.', length), *best = NULL;
  size_t dialect = dot ? (size_t)(dot - name) + 1 : 0, tail = length - dialect;
  for (int i = 1; i < HALO_MLIR_OP_COUNT; i++) {
    const char *own = op_tail(op_rows[i].name);
    if (tail && strlen(own) == tail && memcmp(own, name + dialect, tail) == 0)
      return op_rows[i].name;
  }
  for (int round = 0; round < 2 && !best; round++) {
    halo_suggestion search = halo_suggestion_begin(name + dialect, tail);
    for (int i = 1; i < HALO_MLIR_OP_COUNT; i++) {
      const char *row = op_rows[i].name;
      bool own = dialect && strncmp(row, name, dialect) == 0;
      bool usual = strncmp(row, "stablehlo.", 10) == 0 || strncmp(row, "chlo.", 5) == 0;
      if (round ? usual : own) halo_suggestion_offer(&search, op_tail(row));
    }
    best = halo_suggestion_best(&search);
  }
  for (int i = 1; best && i < HALO_MLIR_OP_COUNT; i++)
    if (op_tail(op_rows[i].name) == best) return op_rows[i].name;
  return NULL;
}

const char *halo_mlir_opcode_name(halo_mlir_opcode opcode) {
  return opcode == HALO_MLIR_OP_UNKNOWN ? "unknown" : op_rows[opcode].name;
}

const char *halo_mlir_vhlo_attrs(halo_mlir_opcode opcode, int32_t version) {
  if (opcode == HALO_MLIR_OP_UNKNOWN) return NULL;
  if (op_rows[opcode].version == version) return op_rows[opcode].attrs;
  for (size_t i = 0; i < sizeof old_rows / sizeof *old_rows; i++)
    if (old_rows[i].opcode == opcode && old_rows[i].version == version) return old_rows[i].attrs;
  return NULL;
}

/* ---- Making ---- */

halo_mlir_program *halo_mlir_program_create(const char *name) {
  halo_mlir_program *program = halo_alloc(sizeof *program);
  program->name = halo_arena_strdup(&program->arena, name ? name : "program");
  return program;
}

void halo_mlir_program_release(halo_mlir_program *program) {
  if (!program) return;
  for (int32_t i = 0; i < program->literals.count; i++)
    halo_literal_release(program->literals.data[i]);
  halo_vec_deinit(&program->literals);
  for (int32_t i = 0; i < program->blocks.count; i++)
    halo_vec_deinit(&program->blocks.data[i]->ops);
  halo_vec_deinit(&program->blocks);
  halo_map_deinit(&program->names);
  halo_arena_deinit(&program->arena);
  halo_free(program);
}

halo_mlir_block *halo_mlir_block_create(halo_mlir_program *program, halo_mlir_region *region,
                                        int32_t arg_count) {
  halo_mlir_block *block = halo_arena_new(&program->arena, halo_mlir_block);
  block->region = region;
  block->args = halo_arena_array(&program->arena, halo_mlir_value, arg_count);
  block->arg_count = arg_count;
  for (int32_t i = 0; i < arg_count; i++) {
    block->args[i].block = block;
    block->args[i].index = i;
  }
  region->block = block;
  halo_vec_push(&program->blocks, block);
  return block;
}

/* What all operations of one name share. */
typedef struct op_name {
  const char *text;
  halo_mlir_opcode opcode;
} op_name;

halo_mlir_op *halo_mlir_op_create(halo_mlir_program *program, halo_mlir_block *block,
                                  const char *name, int32_t operand_count, int32_t result_count,
                                  int32_t region_count) {
  halo_arena *arena = &program->arena;
  op_name *known = halo_map_get_text(&program->names, name);
  if (!known) {
    known = halo_arena_new(arena, op_name);
    *known = (op_name){halo_arena_strdup(arena, name), halo_mlir_opcode_from_name(name)};
    halo_map_set_text(&program->names, name, known);
  }
  halo_mlir_op *op = halo_arena_new(arena, halo_mlir_op);
  op->opcode = known->opcode;
  op->name = known->text;
  op->operands = halo_arena_array(arena, halo_mlir_value *, operand_count);
  op->operand_count = operand_count;
  op->results = halo_arena_array(arena, halo_mlir_value, result_count);
  op->result_count = result_count;
  op->regions = halo_arena_array(arena, halo_mlir_region, region_count);
  op->region_count = region_count;
  op->block = block;
  for (int32_t i = 0; i < result_count; i++) {
    op->results[i].def = op;
    op->results[i].block = block;
    op->results[i].index = i;
  }
  for (int32_t i = 0; i < region_count; i++) op->regions[i].op = op;
  if (block) halo_vec_push(&block->ops, op);
  return op;
}

halo_literal *halo_mlir_keep_literal(halo_mlir_program *program, halo_literal *literal) {
  halo_vec_push(&program->literals, literal);
  return literal;
}

/* ---- Attributes ---- */

static const halo_mlir_attr *find(const halo_mlir_named *rows, int32_t count, const char *name) {
  for (int32_t i = 0; i < count; i++)
    if (strcmp(rows[i].name, name) == 0) return rows[i].value;
  return NULL;
}

const halo_mlir_attr *halo_mlir_attr_of(const halo_mlir_op *op, const char *name) {
  return find(op->attrs, op->attr_count, name);
}

const halo_mlir_attr *halo_mlir_dict_get(const halo_mlir_attr *dict, const char *name) {
  if (!dict || (dict->kind != HALO_MLIR_DICT && dict->kind != HALO_MLIR_STRUCT)) return NULL;
  return find(dict->dict.data, dict->dict.count, name);
}

int64_t halo_mlir_int(const halo_mlir_op *op, const char *name, int64_t default_) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, name);
  if (!attr) return default_;
  if (attr->kind == HALO_MLIR_UNIT) return 1;
  return attr->kind == HALO_MLIR_BOOL || attr->kind == HALO_MLIR_INT ? attr->i : default_;
}

const char *halo_mlir_string(const halo_mlir_op *op, const char *name, const char *default_) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, name);
  if (!attr || (attr->kind != HALO_MLIR_STRING && attr->kind != HALO_MLIR_SYMBOL &&
                attr->kind != HALO_MLIR_ENUM))
    return default_;
  return attr->string.text;
}

/* No list of an operation has as many equal elements, and a file of a few bytes may claim any number. */
enum { LONGEST_SPLAT = 65536 };

/* Whether halo_literal_get_i64 loses nothing. */
static bool counts(halo_type type) {
  halo_type_class class_ = halo_type_class_of(type);
  return class_ == HALO_CLASS_PRED || class_ == HALO_CLASS_SINT || class_ == HALO_CLASS_UINT;
}

const int64_t *halo_mlir_ints(halo_mlir_program *program, const halo_mlir_attr *attr,
                              int32_t *count) {
  *count = -1;
  if (!attr) return NULL;
  int64_t *out = NULL;
  if (attr->kind == HALO_MLIR_DENSE) {
    if (!counts(attr->literal->shape->type)) return NULL;
    int64_t all = 1, kept = halo_shape_element_count(attr->literal->shape);
    for (int32_t d = 0; d < attr->type->rank; d++)
      if (__builtin_mul_overflow(all, attr->type->dims[d], &all)) return NULL;
    if (all < 0 || all > (all == kept ? INT32_MAX / (int64_t)sizeof *out : LONGEST_SPLAT))
      return NULL;
    out = halo_arena_array(&program->arena, int64_t, all ? all : 1);
    for (int64_t i = 0; i < all; i++)
      out[i] = halo_literal_get_i64(attr->literal, i < kept ? i : 0);
    *count = (int32_t)all;
  } else if (attr->kind == HALO_MLIR_ARRAY) {
    for (int32_t i = 0; i < attr->array.count; i++) {
      halo_mlir_attr_kind kind = attr->array.data[i]->kind;
      if (kind != HALO_MLIR_INT && kind != HALO_MLIR_BOOL) return NULL;
    }
    *count = attr->array.count;
    out = halo_arena_array(&program->arena, int64_t, *count ? *count : 1);
    for (int32_t i = 0; i < *count; i++) out[i] = attr->array.data[i]->i;
  }
  return out;
}

/* ---- Types ---- */

static const char *element_name(halo_type type) {
  static const char *const names[HALO_TYPE_COUNT] = {
      [HALO_PRED] = "i1",
      [HALO_S2] = "i2",
      [HALO_S4] = "i4",
      [HALO_S8] = "i8",
      [HALO_S16] = "i16",
      [HALO_S32] = "i32",
      [HALO_S64] = "i64",
      [HALO_U2] = "ui2",
      [HALO_U4] = "ui4",
      [HALO_U8] = "ui8",
      [HALO_U16] = "ui16",
      [HALO_U32] = "ui32",
      [HALO_U64] = "ui64",
      [HALO_C64] = "complex<f32>",
      [HALO_C128] = "complex<f64>",
      [HALO_F8E5M2] = "f8E5M2",
      [HALO_F8E4M3] = "f8E4M3",
      [HALO_F8E3M4] = "f8E3M4",
      [HALO_F8E4M3FN] = "f8E4M3FN",
      [HALO_F8E4M3B11FNUZ] = "f8E4M3B11FNUZ",
      [HALO_F8E5M2FNUZ] = "f8E5M2FNUZ",
      [HALO_F8E4M3FNUZ] = "f8E4M3FNUZ",
      [HALO_F4E2M1FN] = "f4E2M1FN",
      [HALO_F8E8M0FNU] = "f8E8M0FNU",
  };
  return names[type] ? names[type] : halo_type_name(type);
}

static void print_list(halo_strbuf *out, const halo_mlir_type *const *types, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    halo_mlir_type_print(out, types[i]);
  }
}

static void print_tensor(halo_strbuf *out, const halo_mlir_type *type) {
  halo_strbuf_append(out, "tensor<");
  for (int32_t d = 0; d < type->rank; d++) {
    if (type->dims[d] == HALO_MLIR_DYNAMIC)
      halo_strbuf_append(out, "?x");
    else
      halo_strbuf_printf(out, "%" PRId64 "x", type->dims[d]);
  }
  halo_strbuf_append(out, element_name(type->element));
  if (type->bounds) {
    halo_strbuf_append(out, ", #stablehlo.bounds<");
    for (int32_t d = 0; d < type->rank; d++) {
      if (d) halo_strbuf_append(out, ", ");
      if (type->bounds[d] == HALO_MLIR_DYNAMIC)
        halo_strbuf_append(out, "?");
      else
        halo_strbuf_printf(out, "%" PRId64, type->bounds[d]);
    }
    halo_strbuf_append(out, ">");
  }
  halo_strbuf_append(out, ">");
}

void halo_mlir_type_print(halo_strbuf *out, const halo_mlir_type *type) {
  switch (type->kind) {
    case HALO_MLIR_SCALAR: halo_strbuf_append(out, element_name(type->element)); break;
    case HALO_MLIR_TENSOR: print_tensor(out, type); break;
    case HALO_MLIR_TOKEN: halo_strbuf_append(out, "!stablehlo.token"); break;
    case HALO_MLIR_TUPLE:
    case HALO_MLIR_FUTURE:
      halo_strbuf_append(out, type->kind == HALO_MLIR_TUPLE ? "tuple<" : "!stablehlo.future<");
      print_list(out, type->inputs, type->input_count);
      halo_strbuf_append(out, ">");
      break;
    case HALO_MLIR_FUNCTION:
      halo_strbuf_append(out, "(");
      print_list(out, type->inputs, type->input_count);
      halo_strbuf_append(out, ") -> (");
      print_list(out, type->results, type->result_count);
      halo_strbuf_append(out, ")");
      break;
    case HALO_MLIR_OTHER: halo_strbuf_append(out, type->text ? type->text : "unknown type"); break;
  }
}

static bool equal_lists(const halo_mlir_type *const *a, int32_t a_count,
                        const halo_mlir_type *const *b, int32_t b_count) {
  if (a_count != b_count) return false;
  for (int32_t i = 0; i < a_count; i++)
    if (!halo_mlir_type_equal(a[i], b[i])) return false;
  return true;
}

bool halo_mlir_type_equal(const halo_mlir_type *a, const halo_mlir_type *b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->element != b->element || a->rank != b->rank) return false;
  size_t extents = (size_t)a->rank * sizeof *a->dims;
  if (a->rank && memcmp(a->dims, b->dims, extents) != 0) return false;
  if (!a->bounds != !b->bounds || (a->bounds && memcmp(a->bounds, b->bounds, extents) != 0))
    return false;
  if (a->kind == HALO_MLIR_OTHER && strcmp(a->text ? a->text : "", b->text ? b->text : "") != 0)
    return false;
  return equal_lists(a->inputs, a->input_count, b->inputs, b->input_count) &&
         equal_lists(a->results, a->result_count, b->results, b->result_count);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_table.c: what each operation becomes. */
#include "stablehlo/translate.h"

#include <string.h>

enum { TABLE_ATTRS = 4 };
enum { TABLE_ONE = 0, TABLE_ANY = -1, TABLE_NONE = -2 };

/* An attribute that HLO has, too, under the same name or another. */
typedef struct table_attr {
  halo_attr_id id;
  const char *name; /* NULL: as in HLO */
  bool used;        /* false ends the list */
} table_attr;

typedef struct table_row {
  halo_translate_fn *translate; /* NULL: the opcode on the same operands */
  halo_opcode opcode;
  int regions;   /* that it must have; TABLE_ANY */
  int results;   /* TABLE_ONE, TABLE_ANY, TABLE_NONE */
  bool accurate; /* may say how exact it is to be */
  bool dynamic;  /* extents are operands */
  table_attr attrs[TABLE_ATTRS + 1];
} table_row;

#define PLAIN(op)                                                                                  \
  { .opcode = HALO_OP_##op }
#define ACCURATE(op)                                                                               \
  { .opcode = HALO_OP_##op, .accurate = true }
#define BY(function)                                                                               \
  { .translate = halo_translate_op_##function }
#define REGIONS(function, count)                                                                   \
  { .translate = halo_translate_op_##function, .regions = count, .results = TABLE_ANY }
#define VARIADIC(function)                                                                         \
  { .translate = halo_translate_op_##function, .results = TABLE_ANY }
#define DYNAMIC(function)                                                                          \
  { .translate = halo_translate_op_##function, .dynamic = true }
#define A(id)                                                                                      \
  { HALO_ATTR_##id, NULL, true }
#define NAMED(id, text)                                                                            \
  { HALO_ATTR_##id, text, true }

static const table_row table_rows[HALO_MLIR_OP_COUNT] = {
/* Those that HLO has with the same operands. */
#define STABLEHLO(id, name) [HALO_MLIR_OP_##id] = PLAIN(id),
#define STABLEHLO_ACCURATE(id, name) [HALO_MLIR_OP_##id] = ACCURATE(id),
#define CHLO(id, name) [HALO_MLIR_OP_CHLO_##id] = BY(chlo),
#define NO_MLIR
#define OP(id, name, lo, hi, traits, types, infer, exec, rules, mlir, ...) mlir
#include "hlo/opcodes.def"
#undef OP
#undef NO_MLIR
#undef CHLO
#undef STABLEHLO_ACCURATE
#undef STABLEHLO
    [HALO_MLIR_OP_AFTER_ALL] = PLAIN(AFTER_ALL),
    [HALO_MLIR_OP_ALL_GATHER] = VARIADIC(collective),
    [HALO_MLIR_OP_ALL_REDUCE] = REGIONS(collective, 1),
    [HALO_MLIR_OP_ALL_TO_ALL] = VARIADIC(all_to_all),
    [HALO_MLIR_OP_ASYNC_DONE] = VARIADIC(async_done),
    [HALO_MLIR_OP_ASYNC_START] = {.translate = halo_translate_op_async_start, .regions = 1},
    [HALO_MLIR_OP_BATCH_NORM_GRAD] = {.opcode = HALO_OP_BATCH_NORM_GRAD,
                                      .results = TABLE_ANY,
                                      .attrs = {A(EPSILON), A(FEATURE_INDEX)}},
    [HALO_MLIR_OP_BATCH_NORM_INFERENCE] = {.opcode = HALO_OP_BATCH_NORM_INFERENCE,
                                           .attrs = {A(EPSILON), A(FEATURE_INDEX)}},
    [HALO_MLIR_OP_BATCH_NORM_TRAINING] = {.opcode = HALO_OP_BATCH_NORM_TRAINING,
                                          .results = TABLE_ANY,
                                          .attrs = {A(EPSILON), A(FEATURE_INDEX)}},
    [HALO_MLIR_OP_BITCAST_CONVERT] = BY(bitcast_convert),
    [HALO_MLIR_OP_BROADCAST] = BY(broadcast),
    [HALO_MLIR_OP_BROADCAST_IN_DIM] = BY(broadcast_in_dim),
    [HALO_MLIR_OP_CALL] = VARIADIC(call),
    [HALO_MLIR_OP_CASE] = REGIONS(case, TABLE_ANY),
    [HALO_MLIR_OP_CHOLESKY] = {.opcode = HALO_OP_CHOLESKY, .attrs = {A(LOWER)}},
    [HALO_MLIR_OP_CLAMP] = BY(clamp),
    [HALO_MLIR_OP_COLLECTIVE_BROADCAST] = VARIADIC(collective),
    [HALO_MLIR_OP_COLLECTIVE_PERMUTE] = BY(permute),
    [HALO_MLIR_OP_COLLECTIVE_REDUCE] = REGIONS(collective, 1),
    [HALO_MLIR_OP_COMPARE] = BY(compare),
    [HALO_MLIR_OP_COMPLEX] = PLAIN(COMPLEX),
    [HALO_MLIR_OP_COMPOSITE] = REGIONS(composite, TABLE_ANY),
    [HALO_MLIR_OP_CONCATENATE] = BY(concatenate),
    [HALO_MLIR_OP_CONSTANT] = BY(constant),
    [HALO_MLIR_OP_CONVERT] = BY(convert),
    [HALO_MLIR_OP_CONVOLUTION] = BY(convolution),
    [HALO_MLIR_OP_CREATE_TOKEN] = PLAIN(AFTER_ALL),
    [HALO_MLIR_OP_CROSS_REPLICA_SUM] = BY(collective),
    [HALO_MLIR_OP_CUSTOM_CALL] = VARIADIC(custom_call),
    [HALO_MLIR_OP_DOT] = BY(dot),
    [HALO_MLIR_OP_DOT_GENERAL] = BY(dot_general),
    [HALO_MLIR_OP_DYNAMIC_BROADCAST_IN_DIM] = DYNAMIC(broadcast_in_dim),
    [HALO_MLIR_OP_DYNAMIC_CONV] = DYNAMIC(convolution),
    [HALO_MLIR_OP_DYNAMIC_GATHER] = DYNAMIC(gather),
    [HALO_MLIR_OP_DYNAMIC_IOTA] = DYNAMIC(iota),
    [HALO_MLIR_OP_DYNAMIC_PAD] = DYNAMIC(pad),
    [HALO_MLIR_OP_DYNAMIC_RESHAPE] = DYNAMIC(reshape),
    [HALO_MLIR_OP_DYNAMIC_SLICE] = {.opcode = HALO_OP_DYNAMIC_SLICE,
                                    .attrs = {NAMED(DYNAMIC_SLICE_SIZES, "slice_sizes")}},
    [HALO_MLIR_OP_DYNAMIC_UPDATE_SLICE] = PLAIN(DYNAMIC_UPDATE_SLICE),
    [HALO_MLIR_OP_EINSUM] = BY(einsum),
    [HALO_MLIR_OP_FFT] = {.opcode = HALO_OP_FFT, .attrs = {A(FFT_TYPE), A(FFT_LENGTH)}},
    [HALO_MLIR_OP_GATHER] = BY(gather),
    [HALO_MLIR_OP_GET_DIMENSION_SIZE] = BY(dimension_size),
    [HALO_MLIR_OP_GET_TUPLE_ELEMENT] = {.opcode = HALO_OP_GET_TUPLE_ELEMENT, .attrs = {A(INDEX)}},
    [HALO_MLIR_OP_IF] = REGIONS(if, 2),
    [HALO_MLIR_OP_INFEED] = VARIADIC(infeed),
    [HALO_MLIR_OP_IOTA] = BY(iota),
    [HALO_MLIR_OP_IS_FINITE] = PLAIN(IS_FINITE),
    [HALO_MLIR_OP_MAP] = REGIONS(map, 1),
    [HALO_MLIR_OP_OPTIMIZATION_BARRIER] = VARIADIC(barrier),
    [HALO_MLIR_OP_OUTFEED] = BY(outfeed),
    [HALO_MLIR_OP_PAD] = BY(pad),
    [HALO_MLIR_OP_PARTITION_ID] = PLAIN(PARTITION_ID),
    [HALO_MLIR_OP_REAL_DYNAMIC_SLICE] = DYNAMIC(dynamic_slice_real),
    [HALO_MLIR_OP_RECV] = VARIADIC(recv),
    [HALO_MLIR_OP_REDUCE] = REGIONS(reduce, 1),
    [HALO_MLIR_OP_REDUCE_PRECISION] = {.opcode = HALO_OP_REDUCE_PRECISION,
                                       .attrs = {A(EXPONENT_BITS), A(MANTISSA_BITS)}},
    [HALO_MLIR_OP_REDUCE_SCATTER] = REGIONS(collective, 1),
    [HALO_MLIR_OP_REDUCE_WINDOW] = REGIONS(reduce_window, 1),
    [HALO_MLIR_OP_REPLICA_ID] = PLAIN(REPLICA_ID),
    [HALO_MLIR_OP_RESHAPE] = BY(reshape),
    [HALO_MLIR_OP_REVERSE] = {.opcode = HALO_OP_REVERSE, .attrs = {A(DIMENSIONS)}},
    [HALO_MLIR_OP_RNG] = BY(rng),
    [HALO_MLIR_OP_RNG_BIT_GENERATOR] = VARIADIC(rng_bits),
    [HALO_MLIR_OP_SCATTER] = REGIONS(scatter, 1),
    [HALO_MLIR_OP_SELECT] = BY(select),
    [HALO_MLIR_OP_SELECT_AND_SCATTER] = REGIONS(select_and_scatter, 2),
    [HALO_MLIR_OP_SEND] = BY(send),
    [HALO_MLIR_OP_SET_DIMENSION_SIZE] = BY(set_dimension_size),
    [HALO_MLIR_OP_SLICE] = BY(slice),
    [HALO_MLIR_OP_SORT] = REGIONS(sort, 1),
    [HALO_MLIR_OP_TORCH_INDEX_SELECT] = BY(index_select),
    [HALO_MLIR_OP_TRANSPOSE] = {.opcode = HALO_OP_TRANSPOSE,
                                .attrs = {NAMED(DIMENSIONS, "permutation")}},
    [HALO_MLIR_OP_TRIANGULAR_SOLVE] = {.opcode = HALO_OP_TRIANGULAR_SOLVE,
                                       .attrs = {A(LEFT_SIDE), A(LOWER), A(UNIT_DIAGONAL),
                                                 A(TRANSPOSE_A)}},
    [HALO_MLIR_OP_TUPLE] = PLAIN(TUPLE),
    [HALO_MLIR_OP_WHILE] = REGIONS(while, 2),

    [HALO_MLIR_OP_UNREALIZED_CAST] = VARIADIC(identity),
    [HALO_MLIR_OP_TENSOR_CAST] = BY(identity),
    [HALO_MLIR_OP_CONST_SHAPE] = BY(constant),

    /* Shardings of values inside say what a partitioner may do, not what is computed. */
    [HALO_MLIR_OP_SDY_SHARDING_CONSTRAINT] = BY(sharding_constraint),
    [HALO_MLIR_OP_SDY_RESHARD] = BY(sharding_constraint),
    [HALO_MLIR_OP_SDY_MANUAL_COMPUTATION] = REGIONS(manual, 1),
    [HALO_MLIR_OP_SDY_SHARDING_GROUP] = {.translate = halo_translate_op_sharding_group,
                                         .results = TABLE_NONE},
    [HALO_MLIR_OP_SDY_PROPAGATION_BARRIER] = BY(identity),
    [HALO_MLIR_OP_SDY_NAMED_COMPUTATION] = REGIONS(named_computation, 1),
    [HALO_MLIR_OP_SDY_DATA_FLOW_EDGE] = BY(identity),
    [HALO_MLIR_OP_SDY_CONSTANT] = BY(constant),
    [HALO_MLIR_OP_SDY_ALL_GATHER] = BY(sharding_constraint),
    [HALO_MLIR_OP_SDY_ALL_SLICE] = BY(sharding_constraint),
    [HALO_MLIR_OP_SDY_ALL_REDUCE] = BY(sharding_constraint),
    [HALO_MLIR_OP_SDY_REDUCE_SCATTER] = BY(sharding_constraint),
    [HALO_MLIR_OP_SDY_ALL_TO_ALL] = BY(sharding_constraint),
    [HALO_MLIR_OP_SDY_COLLECTIVE_PERMUTE] = BY(sharding_constraint),

    [HALO_MLIR_OP_CHLO_BESSEL_I1E] = BY(chlo),
    [HALO_MLIR_OP_CHLO_CONJ] = BY(chlo),
    [HALO_MLIR_OP_CHLO_DIGAMMA] = BY(chlo),
    [HALO_MLIR_OP_CHLO_ERF_INV] = BY(chlo),
    [HALO_MLIR_OP_CHLO_ERFC] = BY(chlo),
    [HALO_MLIR_OP_CHLO_IS_INF] = BY(chlo),
    [HALO_MLIR_OP_CHLO_IS_NEG_INF] = BY(chlo),
    [HALO_MLIR_OP_CHLO_IS_POS_INF] = BY(chlo),
    [HALO_MLIR_OP_CHLO_LGAMMA] = BY(chlo),
    [HALO_MLIR_OP_CHLO_SQUARE] = BY(chlo),
    [HALO_MLIR_OP_CHLO_TAN] = BY(chlo),
    [HALO_MLIR_OP_CHLO_NEXT_AFTER] = BY(chlo),
    [HALO_MLIR_OP_CHLO_POLYGAMMA] = BY(chlo),
    [HALO_MLIR_OP_CHLO_ZETA] = BY(chlo),
    [HALO_MLIR_OP_CHLO_TOP_K] = VARIADIC(chlo_topk),
    [HALO_MLIR_OP_CHLO_RAGGED_DOT] = BY(chlo_ragged_dot),
    [HALO_MLIR_OP_CHLO_ASIN_ACOS_KERNEL] = BY(chlo),
    [HALO_MLIR_OP_CHLO_SCAN] = REGIONS(scan, 1),
    [HALO_MLIR_OP_CHLO_CONSTANT_LIKE] = BY(constant_like),
    [HALO_MLIR_OP_CHLO_BROADCAST_ADD] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_AND] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_ATAN2] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_COMPARE] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_COMPLEX] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_DIVIDE] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_MAXIMUM] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_MINIMUM] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_MULTIPLY] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_NEXT_AFTER] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_OR] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_POLYGAMMA] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_POWER] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_REMAINDER] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_SELECT] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_SHIFT_LEFT] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_SHIFT_RIGHT_ARITHMETIC] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_SHIFT_RIGHT_LOGICAL] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_SUBTRACT] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_XOR] = BY(chlo_broadcast),
    [HALO_MLIR_OP_CHLO_BROADCAST_ZETA] = BY(chlo_broadcast),
};

/* ---- Operations that are a row ---- */

static bool table_read_attr(halo_translator *t, const halo_mlir_op *op, const table_attr *from,
                            halo_attr *out) {
  const char *name = from->name ? from->name : halo_attr_name(from->id);
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, name);
  int32_t count;
  if (!attr) return false; /* inference says so where HLO needs it */
  halo_attr_kind kind = halo_attr_kind_of(from->id);
  if (kind == HALO_KIND_BOOL || kind == HALO_KIND_INT) {
    *out = halo_translate_int(from->id, halo_mlir_int(op, name, 0));
  } else if (kind == HALO_KIND_FLOAT) {
    *out = (halo_attr){.id = from->id, .f = attr->kind == HALO_MLIR_FLOAT ? attr->f : 0};
  } else if (kind == HALO_KIND_ENUM) {
    *out = halo_translate_enum(t, from->id, halo_mlir_string(op, name, ""));
  } else {
    const int64_t *list = halo_translate_list(t, op, name, -1, &count);
    *out = halo_translate_ints(t, from->id, list, count);
  }
  return true;
}

static void table_plain(halo_translator *t, halo_mlir_op *op, const table_row *row) {
  halo_attr attrs[TABLE_ATTRS + 1];
  int32_t count = 0;
  for (const table_attr *attr = row->attrs; attr->used; attr++) {
    if (table_read_attr(t, op, attr, &attrs[count])) count++;
  }
  if (row->accurate && halo_translate_accuracy(t, op, &attrs[count])) count++;
  halo_translate_results(t, op,
                         halo_translate_emit(t, row->opcode, NULL, halo_translate_operands(t, op),
                                             op->operand_count, attrs, count));
}

/* ---- Results that are not what is declared ---- */

/* An array of this type, `?` being any extent. */
static bool table_fits(const halo_mlir_type *type, const halo_shape *shape) {
  if (type->kind != HALO_MLIR_TENSOR) return true;
  if (!halo_shape_is_array(shape) || shape->type != type->element || shape->rank != type->rank) {
    return false;
  }
  for (int d = 0; d < type->rank; d++) {
    if (type->dims[d] != HALO_MLIR_DYNAMIC && type->dims[d] != shape->dims[d]) return false;
  }
  return true;
}

void halo_translate_check(halo_translator *t, const char *what, int32_t i,
                          const halo_mlir_type *declared, const halo_instr *instr) {
  if (!halo_translate_ok(t) || (instr && table_fits(declared, instr->shape))) return;
  halo_strbuf text = {0};
  halo_arena scratch = {0};
  halo_mlir_type_print(&text, declared);
  halo_translate_wrong(t, "%s %d is declared as %s, but is %s", what, i, halo_strbuf_text(&text),
                       instr ? halo_shape_text(&scratch, instr->shape, false) : "missing");
  halo_arena_deinit(&scratch);
  halo_strbuf_deinit(&text);
}

static void table_check(halo_translator *t, const halo_mlir_op *op) {
  for (int32_t i = 0; i < op->result_count; i++) {
    halo_translate_check(t, "result", i, op->results[i].type, op->results[i].data);
  }
}

/* ---- One operation ---- */

static void table_count(halo_translator *t, const halo_mlir_op *op, const table_row *row) {
  if (row->regions != TABLE_ANY && op->region_count != row->regions) {
    halo_translate_wrong(t, "it has %d region%s: expected %d", op->region_count,
                         halo_plural(op->region_count), row->regions);
  }
  int results = row->results == TABLE_ONE ? 1 : 0;
  if (row->results != TABLE_ANY && op->result_count != results) {
    halo_translate_wrong(t, "it has %d result%s: expected %d", op->result_count,
                         halo_plural(op->result_count), results);
  }
}

static void table_unknown(halo_translator *t, const halo_mlir_op *op) {
  halo_mlir_opcode opcode = op->opcode;
  if (opcode == HALO_MLIR_OP_UNIFORM_QUANTIZE || opcode == HALO_MLIR_OP_UNIFORM_DEQUANTIZE) {
    halo_translate_refuse(t, "quantised values are not supported");
  } else if (opcode == HALO_MLIR_OP_RETURN || opcode == HALO_MLIR_OP_FUNC_RETURN ||
             opcode == HALO_MLIR_OP_SDY_RETURN) {
    halo_translate_wrong(t, "a return stands before the end of its region");
  } else {
    const char *like = halo_mlir_suggest(op->name, strlen(op->name));
    if (opcode == HALO_MLIR_OP_UNKNOWN && like) {
      halo_translate_refuse(t, "the operation is not supported: did you mean %s?", like);
    }
    halo_translate_refuse(t, "the operation is not supported"); /* the first failure stays */
  }
}

void halo_translate_op(halo_translator *t, halo_mlir_op *op) {
  if (!halo_translate_ok(t)) return;
  const table_row *row = &table_rows[op->opcode];
  halo_mlir_op *outer = t->op;
  halo_attr notes[HALO_TRANSLATE_NOTES];
  int32_t note_count = t->note_count;
  memcpy(notes, t->notes, sizeof notes);
  t->op = op;
  halo_translate_annotate(t, op);
  if (!row->translate && row->opcode == HALO_OP_ABS && op->opcode != HALO_MLIR_OP_ABS) {
    table_unknown(t, op); /* the table has no row: that of zeros */
  } else {
    table_count(t, op, row);
    if (halo_translate_ok(t) && row->translate) row->translate(t, op);
    if (halo_translate_ok(t) && !row->translate) table_plain(t, op, row);
    table_check(t, op);
  }
  t->op = outer;
  t->note_count = note_count;
  memcpy(t->notes, notes, sizeof notes);
}

bool halo_translate_is_dynamic(const halo_mlir_op *op) {
  const char *target = halo_mlir_string(op, "call_target_name", "");
  return table_rows[op->opcode].dynamic || strncmp(target, "stablehlo.dynamic_", 18) == 0 ||
         strcmp(target, "shape_assertion") == 0 ||
         halo_mlir_attr_of(op, "indices_of_shape_operands");
}

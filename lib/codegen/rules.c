/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/rules.c: which operation is computed in which way: the tables behind halo_emitter.rules.
 *
 * In a computation that a kernel applies to values, operations whose elements cannot be computed one by one (loops over
 * arrays, sorts, scatters) make arrays in a work item's private memory, where the computation is applied. So do
 * those whose elements are loops, since each reader of an element would repeat its loop. What is elementwise or
 * movement stays as it is: its elements are computed when they are read. */
#include "base/config.h"
#include "codegen/ctype.h"
#include "codegen/emitter_private.h"
#include "codegen/scalar.h"

#include <string.h>

/* ---- One element ---- */

static bool rule_is_uniform(const halo_literal *literal) {
  int64_t count = halo_shape_element_count(literal->shape);
  size_t size = halo_type_size(literal->shape->type);
  const char *data = literal->data;
  for (int64_t i = 1; i < count; i++) {
    if (memcmp(data, data + (size_t)i * size, size) != 0) return false;
  }
  return count > 0;
}

static halo_value rule_constant(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                emit_index *index) {
  (void)frame;
  halo_type type = instr->shape->type;
  halo_sections_add(&e->sections, halo_ctype_section(type));
  if (halo_shape_element_count(instr->shape) == 0) return halo_value_whole(e->arena, type, 0);
  if (rule_is_uniform(instr->literal)) return halo_value_constant(e->arena, instr->literal, 0);
  /* Literals are row-major whatever the constant's layout says. */
  if (e->own_constants && emit_constant_fits(instr->literal)) {
    return emit_array_load(e, emit_constant_array(e, instr->literal), index);
  }
  const char *arg = halo_emit_arg(e, HALO_ROLE_CONST, 0, type, instr->literal);
  const halo_shape *row_major =
      halo_shape_new(e->arena, type, instr->shape->rank, instr->shape->dims);
  return halo_emit_load(e, arg, type, halo_index_position(e, index, row_major));
}

static halo_value rule_iota(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                            emit_index *index) {
  (void)frame;
  int64_t d = halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, 0), known;
  const halo_integer *at = halo_index_at(index, (int)d);
  halo_type type = e->wide ? HALO_S64 : HALO_S32;
  halo_value value = halo_integer_is_constant(at, &known)
                         ? halo_value_whole(e->arena, type, known)
                         : halo_value_name(type, emit_integer_atom(e, at));
  return halo_emit_convert(e, value, instr->shape->type);
}

static halo_value rule_id(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                          emit_index *index) {
  (void)frame, (void)index;
  bool replica = instr->opcode == HALO_OP_REPLICA_ID;
  halo_argument_value what = replica ? HALO_VALUE_REPLICA_ID : HALO_VALUE_PARTITION_ID;
  return halo_value_name(HALO_U32, halo_emit_value_arg(e, what, HALO_U32, 0));
}

static halo_value rule_elementwise(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                   emit_index *index) {
  halo_value operands[3] = {{0}}, result;
  for (int32_t i = 0; i < instr->operand_count && i < 3; i++) {
    const halo_instr *operand = instr->operands[i];
    /* select's predicate and clamp's bounds may be scalars beside arrays */
    emit_index *at = operand->shape->rank == instr->shape->rank ? index : halo_index_scalar(e);
    operands[i] = halo_emit_value(e, frame, operand, 0, at);
  }
  if (e->status != HALO_OK) return halo_value_name(instr->shape->type, "0");
  halo_status status =
      halo_scalar_expr(instr, operands, !e->keep_f32, e->arena, &e->sections, &result);
  if (status != HALO_OK) {
    emit_fail(e, status);
    return halo_value_name(instr->shape->type, "0");
  }
  return emit_declare(e, result);
}

static halo_value rule_map(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                           emit_index *index) {
  halo_value *values = halo_arena_array(e->arena, halo_value, instr->operand_count), result;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    values[i] = halo_emit_value(e, frame, instr->operands[i], 0, index);
  }
  halo_emit_apply(e, halo_instr_comp(instr, HALO_ATTR_TO_APPLY), values, &result);
  return result;
}

static halo_value rule_same(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                            emit_index *index) {
  return halo_emit_value(e, frame, instr->operands[0], 0, index);
}

typedef halo_value rule_element(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                emit_index *index);
/* Of what is neither elementwise nor movement. */
static rule_element *const rule_elements[HALO_OPCODE_COUNT] = {
    [HALO_OP_CONSTANT] = rule_constant,
    [HALO_OP_IOTA] = rule_iota,
    [HALO_OP_REPLICA_ID] = rule_id,
    [HALO_OP_PARTITION_ID] = rule_id,
    [HALO_OP_MAP] = rule_map,
    [HALO_OP_OPT_BARRIER] = rule_same,
    [HALO_OP_DOMAIN] = rule_same,
    [HALO_OP_ADD_DEPENDENCY] = rule_same,
    [HALO_OP_RNG_BIT_GENERATOR] = emit_random_bits,
};

/* ---- All leaves at once ---- */

/* A call or fusion met inside another computation: its parameters are our values. Only scalars get
 * here; the passes inline everything else. */
static void rule_call(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                      halo_value *leaves) {
  const halo_computation *callee =
      halo_instr_comp(instr, instr->opcode == HALO_OP_CALL ? HALO_ATTR_TO_APPLY : HALO_ATTR_CALLS);
  int32_t total = 0, next = 0;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    total += halo_shape_leaf_count(instr->operands[i]->shape);
  }
  halo_value *values = halo_arena_array(e->arena, halo_value, total);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    int32_t count = halo_shape_leaf_count(instr->operands[i]->shape);
    for (int32_t l = 0; l < count; l++) {
      values[next++] = halo_emit_value(e, frame, instr->operands[i], l, halo_index_scalar(e));
    }
  }
  halo_emit_apply(e, callee, values, leaves);
}

/* At an index: loops over elements of the operands. */
static emit_rule *const rule_loops[HALO_OPCODE_COUNT] = {
    [HALO_OP_REDUCE] = emit_reduce, [HALO_OP_REDUCE_WINDOW] = emit_reduce_window,
    [HALO_OP_DOT] = emit_dot,       [HALO_OP_CONVOLUTION] = emit_convolution,
    [HALO_OP_WHILE] = emit_while,   [HALO_OP_CONDITIONAL] = emit_conditional,
};

static void rule_compute(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                         emit_index *index, halo_value *leaves) {
  halo_opcode opcode = instr->opcode;
  if (rule_loops[opcode]) {
    rule_loops[opcode](e, frame, instr, index, leaves);
  } else if (opcode == HALO_OP_CALL || opcode == HALO_OP_FUSION) {
    rule_call(e, frame, instr, leaves);
  } else if (emit_is_movement(opcode)) {
    leaves[0] = emit_movement(e, frame, instr, index);
  } else if (rule_elements[opcode]) {
    leaves[0] = rule_elements[opcode](e, frame, instr, index);
  } else if (halo_scalar_knows(opcode)) {
    leaves[0] = rule_elementwise(e, frame, instr, index);
  } else {
    emit_fail(e, halo_fail(HALO_UNIMPLEMENTED, "%s: %s has no kernel", instr->name,
                           halo_opcode_name(opcode)));
  }
}

/* ---- Private arrays ---- */

/* At no index: private arrays. */
static emit_rule *const rule_arrays[HALO_OPCODE_COUNT] = {
    [HALO_OP_WHILE] = emit_while,
    [HALO_OP_CONDITIONAL] = emit_conditional,
    [HALO_OP_SORT] = emit_sort,
    [HALO_OP_SCATTER] = emit_scatter,
    [HALO_OP_SELECT_AND_SCATTER] = emit_select_and_scatter,
};

bool emit_is_private(halo_opcode opcode) { return rule_arrays[opcode] != NULL; }

static bool rule_has_array(const halo_shape *shape) {
  int32_t leaves = halo_shape_leaf_count(shape);
  for (int32_t l = 0; l < leaves; l++) {
    const halo_shape *leaf = halo_leaf_shape(shape, l);
    if (halo_shape_is_array(leaf) && leaf->rank > 0) return true;
  }
  return false;
}

static int64_t rule_count_elements(const halo_shape *shape) {
  int32_t leaves = halo_shape_leaf_count(shape);
  int64_t count = 0;
  for (int32_t l = 0; l < leaves; l++) {
    const halo_shape *leaf = halo_leaf_shape(shape, l);
    if (halo_shape_is_array(leaf) && leaf->rank > 0) count += halo_shape_element_count(leaf);
  }
  return count;
}

/* Whether an instruction of a computation that is applied is held in private arrays. */
static bool rule_is_held(const halo_instr *instr) {
  if (instr->opcode == HALO_OP_WHILE || instr->opcode == HALO_OP_CONDITIONAL) {
    if (rule_has_array(instr->shape)) return true;
    for (int32_t i = 0; i < instr->operand_count; i++) {
      if (rule_has_array(instr->operands[i]->shape)) return true;
    }
    return false;
  }
  if (rule_arrays[instr->opcode]) return true;
  int64_t count = rule_count_elements(instr->shape);
  return rule_loops[instr->opcode] && count > 1 && count <= EMIT_MAX_PRIVATE;
}

/* All leaves in one loop: an element of each comes from one computation. */
static void rule_fill_all(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                          halo_value *leaves) {
  int32_t count = halo_shape_leaf_count(instr->shape);
  for (int32_t l = 0; l < count; l++) {
    leaves[l] = emit_array(e, halo_leaf_shape(instr->shape, l));
  }
  int opened = 0;
  emit_index *index = emit_loops(e, leaves[0].array, &opened);
  for (int32_t l = 0; l < count; l++) {
    emit_array_store(e, leaves[l], index, halo_emit_value(e, f, instr, l, index));
  }
  while (opened--) halo_emit_close(e);
}

/* Makes the arrays of all that a computation holds, in the scope at hand. */
static void rule_hold(halo_emitter *e, emit_frame *f, const halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count && e->status == HALO_OK; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (!rule_is_held(instr)) continue;
    int32_t count = halo_shape_leaf_count(instr->shape);
    halo_value *leaves = halo_arena_array(e->arena, halo_value, count);
    emit_rule *rule = rule_arrays[instr->opcode];
    if (rule) {
      rule(e, f, instr, NULL, leaves);
    } else {
      rule_fill_all(e, f, instr, leaves);
    }
    for (int32_t l = 0; l < count; l++) halo_frame_bind(e, f, instr, l, leaves[l]);
  }
}

int64_t emit_held_elements(const halo_instr *instr) {
  int64_t count = rule_count_elements(instr->shape);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    int64_t operand = rule_count_elements(instr->operands[i]->shape);
    if (operand > count) count = operand;
  }
  return count;
}

/* ---- Emitters ---- */

static void rule_measure(const halo_computation *computation, bool *wide, int depth) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    int32_t leaves = halo_shape_leaf_count(instr->shape);
    for (int32_t l = 0; l < leaves; l++) {
      const halo_shape *leaf = halo_leaf_shape(instr->shape, l);
      int64_t count = 1;
      for (int d = 0; d < leaf->rank; d++) count *= leaf->dims[d] > 0 ? leaf->dims[d] : 1;
      if (count > INT32_MAX / 2) *wide = true;
    }
    int32_t called = halo_instr_called_count(instr);
    for (int32_t c = 0; c < called && depth < 64; c++) {
      rule_measure(halo_instr_called(instr, c), wide, depth + 1);
    }
  }
}

static const emit_rules rules = {rule_compute, rule_hold};

void halo_emitter_init(halo_emitter *e, halo_arena *arena, const halo_computation *computation) {
  *e = (halo_emitter){.arena = arena,
                      .rules = &rules,
                      .indent = 1,
                      .wide = halo_config_flag(HALO_CONFIG_WIDE_INDICES)};
  e->integers.arena = arena;
  rule_measure(computation, &e->wide, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/instr.c: one instruction: the table of opcodes, elementwise operations, tuples. */
#include "base/memory.h"
#include "evaluator/eval.h"

#include <string.h>

static eval_fn *const instr_rows[HALO_OPCODE_COUNT] = {
#define eval_none NULL
#define RULES(evaluator, work, sizes) eval_##evaluator
#define OP(id, name, lo, hi, traits, types, infer, exec, rules, ...) [HALO_OP_##id] = rules,
#include "hlo/opcodes.def"
#undef OP
#undef RULES
#undef eval_none
};

eval_fn *eval_fn_of(halo_opcode opcode) { return instr_rows[opcode]; }

static halo_status instr_unimplemented(const halo_instr *instr) {
  halo_arena scratch = {0};
  halo_status status = halo_fail(HALO_UNIMPLEMENTED, "%s cannot be evaluated on the host",
                                 halo_instr_text(&scratch, instr));
  halo_arena_deinit(&scratch);
  return status;
}

/* Opcodes whose functions go by their operands' values alone, whatever their extents. */
static const bool instr_any_size[HALO_OPCODE_COUNT] = {
    [HALO_OP_COPY] = true,
    [HALO_OP_OPT_BARRIER] = true,
    [HALO_OP_DOMAIN] = true,
    [HALO_OP_ADD_DEPENDENCY] = true,
    [HALO_OP_TUPLE] = true,
    [HALO_OP_GET_TUPLE_ELEMENT] = true,
    [HALO_OP_TUPLE_SELECT] = true,
    [HALO_OP_AFTER_ALL] = true,
    [HALO_OP_CALL] = true,
    [HALO_OP_FUSION] = true,
    [HALO_OP_WHILE] = true,
    [HALO_OP_CONDITIONAL] = true,
    [HALO_OP_GET_DIMENSION_SIZE] = true,
    [HALO_OP_SET_DIMENSION_SIZE] = true,
    [HALO_OP_DYNAMIC_RESHAPE] = true,
};

/* Whether an operand has other extents than the text says. */
static bool instr_is_sized(const eval_call *call) {
  if (instr_any_size[call->instr->opcode]) return false;
  for (int32_t o = 0; o < call->instr->operand_count; o++) {
    if (!halo_shape_compatible(call->operands[o]->shape, call->instr->operands[o]->shape)) {
      return true;
    }
  }
  return false;
}

halo_status eval_instr(const eval_call *call, halo_literal **out) {
  const halo_instr *instr = call->instr;
  eval_fn *fn = eval_fn_of(instr->opcode);
  *out = NULL;
  if (!fn) return instr_unimplemented(instr);
  halo_status status = instr_is_sized(call) ? eval_dynamic(call, out) : fn(call, out);
  if (status != HALO_OK) {
    halo_literal_release(*out);
    *out = NULL;
  }
  return status;
}

/* Whether a value may be an operand of this shape: along dynamic dimensions it may be shorter. */
static bool instr_takes(const halo_shape *value, const halo_shape *operand) {
  if (halo_shape_is_tuple(operand) && halo_shape_is_tuple(value)) {
    bool all = value->count == operand->count;
    for (int32_t i = 0; all && i < operand->count; i++) {
      all = instr_takes(value->elements[i], operand->elements[i]);
    }
    return all;
  }
  if (!halo_shape_is_array(operand) || !halo_shape_is_dynamic(operand)) {
    return halo_shape_compatible(value, operand);
  }
  bool takes = value->type == operand->type && value->rank == operand->rank;
  for (int d = 0; takes && d < operand->rank; d++) {
    takes = halo_shape_dim_is_dynamic(operand, d) ? value->dims[d] <= operand->dims[d]
                                                  : value->dims[d] == operand->dims[d];
  }
  return takes;
}

halo_status halo_evaluate_instr(const halo_instr *instr, halo_literal *const *operands,
                                halo_literal **out) {
  *out = NULL;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (!instr_takes(operands[i]->shape, instr->operands[i]->shape)) {
      return halo_fail(HALO_INVALID_ARGUMENT, "%s: the value of operand %d has another shape",
                       instr->name, i);
    }
  }
  eval_call call = {.instr = instr, .operands = operands, .depth = 0};
  return eval_instr(&call, out);
}

halo_status eval_elementwise(const eval_call *call, halo_literal **out) {
  eval_op op;
  if (!eval_op_init(&op, call->instr)) return instr_unimplemented(call->instr);
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  int32_t count = call->instr->operand_count;
  int64_t total = halo_shape_element_count(call->instr->shape);
  int64_t step[3] = {1, 1, 1};
  for (int32_t k = 0; k < count; k++) {
    /* The predicate of select and the bounds of clamp may be scalars beside arrays. */
    if (call->operands[k]->shape->rank == 0) step[k] = 0;
  }
  for (int64_t i = 0; i < total; i++) {
    eval_scalar args[3];
    for (int32_t k = 0; k < count; k++) args[k] = eval_get(call->operands[k], i * step[k]);
    eval_set(*out, i, eval_apply(&op, args));
  }
  return HALO_OK;
}

static void instr_share(halo_literal *value, halo_literal **out) {
  halo_literal_retain(value);
  *out = value;
}

halo_status eval_constant(const eval_call *call, halo_literal **out) {
  if (call->instr->literal->elided) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s: the value of this constant was left out ({...})",
                     call->instr->name);
  }
  instr_share(call->instr->literal, out);
  return HALO_OK;
}

halo_status eval_tuple(const eval_call *call, halo_literal **out) {
  return halo_literal_create_tuple(call->instr->operand_count, call->operands, out);
}

halo_status eval_get_tuple_element(const eval_call *call, halo_literal **out) {
  int64_t index = halo_instr_int(call->instr, HALO_ATTR_INDEX, 0);
  instr_share(call->operands[0]->elements[index], out);
  return HALO_OK;
}

halo_status eval_tuple_select(const eval_call *call, halo_literal **out) {
  instr_share(call->operands[eval_get(call->operands[0], 0).re ? 1 : 2], out);
  return HALO_OK;
}

halo_status eval_after_all(const eval_call *call, halo_literal **out) {
  return halo_literal_create(call->instr->shape, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/constant_folding.c: instructions whose operands are constants become constants. */
#include "evaluator/evaluator.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

/* Larger results stay as the program that makes them; so does what takes long to compute. */
enum { FOLD_MAX_BYTES = 64 << 10, FOLD_MAX_COST = 1 << 20, FOLD_MAX_TOTAL_COST = 1 << 24 };

static bool fold_allowed(const halo_instr *instr) {
  halo_exec_class exec = halo_opcode_exec(instr->opcode);
  if (exec == HALO_EXEC_VALUE || exec == HALO_EXEC_HOST || instr->opcode == HALO_OP_TUPLE ||
      instr->opcode == HALO_OP_OPT_BARRIER) {
    return false;
  }
  /* broadcast(scalar) is the preferred form of a uniform array */
  if (instr->opcode == HALO_OP_BROADCAST) return false;
  if (instr->operand_count == 0 || halo_shape_is_dynamic(instr->shape)) return false;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_instr *operand = instr->operands[i];
    if (operand->opcode != HALO_OP_CONSTANT || operand->literal->elided) return false;
  }
  return halo_shape_byte_size(instr->shape) <= FOLD_MAX_BYTES && halo_evaluator_supports(instr);
}

/* The literal as a constant, tuples as tuples of constants; takes no reference. */
static halo_instr *fold_constant(halo_rewriter *r, const halo_instr *like, halo_literal *literal,
                                 const halo_shape *shape) {
  if (!halo_shape_is_tuple(shape)) {
    halo_instr *constant = halo_rewrite_make_shared_constant(r, like, literal);
    constant->shape = shape; /* with the layout that users know */
    return constant;
  }
  HALO_VEC(halo_instr *) parts = {0};
  for (int32_t i = 0; i < shape->count; i++) {
    halo_vec_push(&parts, fold_constant(r, like, literal->elements[i], shape->elements[i]));
  }
  halo_instr *tuple =
      halo_rewrite_make(r, like, HALO_OP_TUPLE, shape, parts.data, parts.count, NULL, 0);
  halo_vec_deinit(&parts);
  return tuple;
}

/* Where the value at hand is kept, so that it is dropped when memory runs out, too. */
typedef struct fold_holder {
  halo_literal *value;
} fold_holder;

static void fold_drop(void *object) {
  fold_holder *holder = object;
  halo_literal_release(holder->value);
  holder->value = NULL;
}

/* False when it cannot be evaluated after all (too little memory, say): then it is left to run time. */
static bool fold_evaluate(const halo_instr *instr, fold_holder *holder) {
  halo_literal **operands = halo_alloc(sizeof *operands * (size_t)instr->operand_count);
  for (int32_t i = 0; i < instr->operand_count; i++) operands[i] = instr->operands[i]->literal;
  bool good = halo_evaluate_instr(instr, operands, &holder->value) == HALO_OK;
  if (!good) fold_drop(holder);
  halo_free(operands);
  return good;
}

halo_status halo_pass_constant_folding(halo_module *module, bool *changed) {
  int64_t budget = FOLD_MAX_TOTAL_COST;
  halo_status status = HALO_OK;
  fold_holder *holder = halo_alloc_object(sizeof *holder, fold_drop);
  *changed = false;
  for (int32_t c = 0; c < module->computations.count && status == HALO_OK; c++) {
    halo_rewriter r;
    halo_rewrite_begin(&r, module->computations.data[c]);
    for (int32_t i = 0; i < r.computation->instrs.count; i++) {
      halo_instr *instr = halo_rewrite_next(&r, i);
      if (!instr || halo_rewrite_pinned(instr) || !fold_allowed(instr)) continue;
      int64_t cost = halo_evaluator_cost(instr);
      if (cost > FOLD_MAX_COST || cost > budget) continue;
      budget -= cost;
      if (!fold_evaluate(instr, holder)) continue;
      halo_rewrite_replace(&r, instr, fold_constant(&r, instr, holder->value, instr->shape));
      fold_drop(holder);
    }
    status = halo_rewrite_end(&r, changed);
  }
  halo_free(holder);
  return status;
}

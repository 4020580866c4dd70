/* passes/loop_sums.c: what a loop adds up by scattering into zeros, and adding all of that to its sum, as gradients of
 * what each round picks some elements from, is scattered into the sum.
 *
 * Elements of the sum that begin as 0 are never -0, which zeros would make 0 of. Which of several updates of an element
 * is added first is up to the scatter, and so is when the sum itself is. */
#include "hlo/collective.h"
#include "passes/loop_state.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

#include <math.h>

static bool sums_is_zero(const halo_instr *instr) {
  if (instr->opcode == HALO_OP_BROADCAST) instr = instr->operands[0];
  if (instr->opcode != HALO_OP_CONSTANT || !halo_shape_is_scalar(instr->shape) ||
      instr->literal->elided) {
    return false;
  }
  halo_type type = instr->shape->type;
  if (halo_type_is_integral(type)) return halo_literal_get_i64(instr->literal, 0) == 0;
  if (!halo_type_is_float(type)) return false;
  double value = halo_literal_get_f64(instr->literal, 0);
  return value == 0 && !signbit(value);
}

/* How often an instruction is read. */
static int32_t sums_count_uses(const halo_computation *body, const halo_instr *instr) {
  int32_t uses = 0;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *user = body->instrs.data[i];
    for (int32_t o = 0; o < user->operand_count; o++) uses += user->operands[o] == instr;
    for (int32_t p = 0; p < user->control_pred_count; p++) uses += user->control_preds[p] == instr;
  }
  return uses;
}

/* Whether this adds to zeros, in one array. Not of f16, bf16 and f8: small updates of one element are added up there before
 * they meet a sum in which each by itself would be lost. */
static bool sums_scatters(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_SCATTER || !halo_shape_is_array(instr->shape)) return false;
  halo_type type = instr->shape->type;
  if (halo_type_is_float(type) && halo_type_size(type) < 4) return false;
  halo_opcode opcode;
  return sums_is_zero(instr->operands[0]) && instr->control_pred_count == 0 &&
         halo_collective_plain_reducer(halo_instr_comp(instr, HALO_ATTR_TO_APPLY), &opcode) &&
         opcode == HALO_OP_ADD;
}

/* Element k of the state of a loop's body, where it is that element's former value and what is scattered, added up,
 * which nothing else reads. */
static void sums_join(halo_rewriter *r, const halo_instr *loop, int32_t k) {
  const halo_computation *body = halo_instr_comp(loop, HALO_ATTR_BODY);
  halo_instr *sum = body->root->operands[k];
  if (sum->opcode != HALO_OP_ADD || halo_rewrite_pinned(sum) || sums_count_uses(body, sum) != 1)
    return;
  for (int i = 0; i < 2; i++) {
    halo_instr *state = sum->operands[i], *scatter = sum->operands[1 - i];
    bool former = state->opcode == HALO_OP_GET_TUPLE_ELEMENT &&
                  state->operands[0] == body->params.data[0] &&
                  halo_instr_int(state, HALO_ATTR_INDEX, 0) == k;
    if (!former || !sums_scatters(scatter)) continue;
    if (sums_count_uses(body, state) != 1 || sums_count_uses(body, scatter) != 1) continue;
    halo_instr *operands[] = {state, scatter->operands[1], scatter->operands[2]};
    halo_rewrite_replace(r, sum,
                         halo_rewrite_make(r, scatter, HALO_OP_SCATTER, sum->shape, operands, 3,
                                           scatter->attrs, scatter->attr_count));
    return;
  }
}

static bool sums_match(const halo_instr *loop) {
  if (loop->opcode != HALO_OP_WHILE || !halo_shape_is_tuple(loop->shape)) return false;
  const halo_computation *body = halo_instr_comp(loop, HALO_ATTR_BODY);
  return loop->operands[0]->opcode == HALO_OP_TUPLE && body->mark == 1 &&
         body->root->opcode == HALO_OP_TUPLE && halo_loop_unpacked(body);
}

static halo_status sums_run(const halo_instr *loop, bool *changed) {
  halo_computation *body = halo_instr_comp(loop, HALO_ATTR_BODY);
  halo_rewriter r;
  halo_rewrite_begin(&r, body);
  for (int32_t k = 0; k < loop->shape->count; k++) {
    const halo_instr *start = loop->operands[0]->operands[k];
    if (halo_shape_is_array(start->shape) && sums_is_zero(start)) sums_join(&r, loop, k);
  }
  return halo_rewrite_end(&r, changed);
}

halo_status halo_pass_loop_sums(halo_module *module, bool *changed) {
  *changed = false;
  halo_loop_count_callers(module);
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      halo_instr *loop = computation->instrs.data[i];
      if (sums_match(loop)) HALO_TRY(sums_run(loop, changed));
    }
  }
  return HALO_OK;
}

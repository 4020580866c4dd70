/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/unroll.c: short loops over elements, as hashes and random numbers have them, become the rounds one after
 * the other: as a loop, each round reads and writes the whole state. */
#include "passes/loops/trip_count.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

enum {
  UNROLL_MOST_ROUNDS = 8,
  UNROLL_MOST_INSTRS = 768,     /* of a loop's rounds together */
  UNROLL_MOST_COPIES = 1 << 16, /* in a module */
  UNROLL_FEW_ELEMENTS = 16
};

/* Whether a kernel can do it for an element however much went before: what looks at other places of a large
 * array would have all that computed for each of them. */
static bool unroll_runs_on(const halo_instr *instr) {
  switch (halo_opcode_exec(instr->opcode)) {
    case HALO_EXEC_VALUE:
    case HALO_EXEC_ALIAS:
    case HALO_EXEC_ELEMENTWISE: return true;
    case HALO_EXEC_MOVEMENT:
      return instr->opcode == HALO_OP_BROADCAST || instr->opcode == HALO_OP_RESHAPE ||
             instr->operand_count == 0 || /* iota, partition-id */
             halo_shape_element_count(instr->operands[0]->shape) <= UNROLL_FEW_ELEMENTS;
    case HALO_EXEC_REDUCTION:
    case HALO_EXEC_STRUCTURED:
    case HALO_EXEC_EXPANDED:
    case HALO_EXEC_CONTROL:
    case HALO_EXEC_ASYNC:
    case HALO_EXEC_COLLECTIVE:
    case HALO_EXEC_HOST: return false;
  }
  return false;
}

/* The rounds of a loop that shall be written out; 0: it stays. */
static int64_t unroll_rounds(const halo_instr *instr, int64_t copies_left) {
  int64_t rounds;
  if (instr->opcode != HALO_OP_WHILE || halo_rewrite_pinned(instr)) return 0;
  const halo_computation *body = halo_instr_comp(instr, HALO_ATTR_BODY);
  const halo_computation *condition = halo_instr_comp(instr, HALO_ATTR_CONDITION);
  int64_t size = body->instrs.count;
  if (!halo_shape_equal(body->root->shape, instr->shape)) return 0;
  if (!halo_while_trip_count(instr, &rounds) || rounds > UNROLL_MOST_ROUNDS) return 0;
  if (rounds * size > UNROLL_MOST_INSTRS || rounds * size > copies_left) return 0;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *inside = body->instrs.data[i];
    if (!unroll_runs_on(inside) || halo_instr_has_side_effect(inside)) return 0;
  }
  for (int32_t i = 0; i < condition->instrs.count; i++) {
    if (halo_instr_has_side_effect(condition->instrs.data[i])) return 0;
  }
  return rounds;
}

static halo_status unroll_run(halo_computation *computation, int64_t *copies_left, bool *changed) {
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i);
    int64_t rounds = instr ? unroll_rounds(instr, *copies_left) : 0;
    if (rounds == 0) continue;
    const halo_computation *body = halo_instr_comp(instr, HALO_ATTR_BODY);
    halo_instr *state = instr->operands[0];
    for (int64_t round = 0; round < rounds; round++) {
      state = halo_computation_inline(computation, body, &state);
    }
    *copies_left -= rounds * body->instrs.count;
    halo_rewrite_replace(&r, instr, state);
  }
  return halo_rewrite_end(&r, changed);
}

halo_status halo_pass_unroll(halo_module *module, bool *changed) {
  int64_t copies_left = UNROLL_MOST_COPIES;
  *changed = false;
  for (int32_t c = 0; c < module->computations.count; c++) {
    HALO_TRY(unroll_run(module->computations.data[c], &copies_left, changed));
  }
  return HALO_OK;
}

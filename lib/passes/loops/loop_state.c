/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/loop_state.c: what of a loop's state is read where. */
#include "passes/loops/loop_state.h"

#include "base/memory.h"
#include "base/vec.h"

void halo_loop_count_callers(halo_module *module) {
  for (int32_t c = 0; c < module->computations.count; c++) module->computations.data[c]->mark = 0;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      int32_t called = halo_instr_called_count(instr);
      for (int32_t k = 0; k < called; k++) halo_instr_called(instr, k)->mark++;
    }
  }
}

bool halo_loop_unpacked(const halo_computation *computation) {
  const halo_instr *param = computation->params.data[0];
  if (computation->root == param) return false;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *user = computation->instrs.data[i];
    for (int32_t o = 0; o < user->operand_count; o++) {
      if (user->operands[o] == param && user->opcode != HALO_OP_GET_TUPLE_ELEMENT) return false;
    }
    for (int32_t p = 0; p < user->control_pred_count; p++) {
      if (user->control_preds[p] == param) return false;
    }
  }
  return true;
}

int32_t halo_loop_count_uses(const halo_computation *computation, const halo_instr *instr) {
  int32_t uses = 0;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *user = computation->instrs.data[i];
    for (int32_t o = 0; o < user->operand_count; o++) uses += user->operands[o] == instr;
    for (int32_t p = 0; p < user->control_pred_count; p++) uses += user->control_preds[p] == instr;
  }
  return uses;
}

void halo_loop_close(halo_computation *body, bool *live) {
  const halo_instr *param = body->params.data[0];
  HALO_VEC(halo_instr *) todo = {0};
  for (int32_t i = 0; i < body->instrs.count; i++) body->instrs.data[i]->mark = 0;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    if (halo_instr_has_side_effect(body->instrs.data[i]))
      halo_vec_push(&todo, body->instrs.data[i]);
  }
  for (int32_t i = 0; i < body->root->operand_count; i++) {
    if (live[i]) halo_vec_push(&todo, body->root->operands[i]);
  }
  while (todo.count) {
    halo_instr *instr = todo.data[--todo.count];
    if (instr->mark) continue;
    instr->mark = 1;
    if (instr->opcode == HALO_OP_GET_TUPLE_ELEMENT && instr->operands[0] == param) {
      int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
      if (!live[index]) {
        live[index] = true;
        halo_vec_push(&todo, body->root->operands[index]);
      }
    }
    for (int32_t o = 0; o < instr->operand_count; o++) halo_vec_push(&todo, instr->operands[o]);
    for (int32_t p = 0; p < instr->control_pred_count; p++) {
      halo_vec_push(&todo, instr->control_preds[p]);
    }
  }
  halo_vec_deinit(&todo);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/async_pairs.c: what is worth a queue of its own. */
#include "passes/simplify/async_pairs.h"

#include "evaluator/evaluator.h"
#include "hlo/collective.h"

/* At least so long the computation takes, by itself. Loops count as one round. */
static double async_seconds(const halo_computation *computation, const halo_target *target) {
  double operations = 0;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (halo_opcode_exec(instr->opcode) == HALO_EXEC_VALUE) continue;
    if (halo_opcode_exec(instr->opcode) == HALO_EXEC_ALIAS) continue;
    /* What cannot be bounded is a loop, which is long. */
    operations += (double)halo_evaluator_cost(instr);
  }
  return operations / target->prices.rate;
}

/* Whether the shapes are those that the textbook form has. */
static bool async_is_plain(const halo_instr *start) {
  const halo_computation *callee = halo_instr_comp(start, HALO_ATTR_CALLS);
  const halo_shape *shape = start->shape;
  if (!callee || !halo_shape_is_tuple(shape) || shape->count < 2) return false;
  const halo_shape *inputs = shape->elements[0];
  if (!halo_shape_is_tuple(inputs) || inputs->count != start->operand_count) return false;
  if (callee->params.count != start->operand_count) return false;
  for (int32_t i = 0; i < start->operand_count; i++) {
    if (!halo_shape_compatible(start->operands[i]->shape, inputs->elements[i])) return false;
  }
  return halo_shape_compatible(callee->root->shape, shape->elements[1]);
}

/* Whether no shape has a size that is known at run time only: those are followed in place. */
static bool async_is_static(const halo_computation *callee) {
  for (int32_t i = 0; i < callee->instrs.count; i++) {
    if (halo_shape_is_dynamic(callee->instrs.data[i]->shape)) return false;
  }
  return true;
}

/* Whether other devices take part: that is long. */
static bool async_is_shared(const halo_computation *callee) {
  if (halo_collective_world(callee->module) == 1) return false;
  for (int32_t i = 0; i < callee->instrs.count; i++) {
    if (halo_opcode_exec(callee->instrs.data[i]->opcode) == HALO_EXEC_COLLECTIVE) return true;
  }
  return false;
}

static bool async_pays(const halo_instr *start) {
  const halo_target *target = &start->parent->module->target;
  const halo_computation *callee = halo_instr_comp(start, HALO_ATTR_CALLS);
  return async_is_shared(callee) ||
         async_seconds(callee, target) > target->prices.async_switch * target->prices.launch;
}

void halo_async_pairs_keep(const halo_computation *computation, halo_pointer_map *kept) {
  halo_pointer_map starts = {0}; /* a start, or an update of its chain -> the start */
  halo_pointer_map uses = {0};   /* start -> 1 for a done, more when anything else uses its chain */
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    if (instr->opcode == HALO_OP_ASYNC_START) halo_pointer_map_set(&starts, instr, instr);
    for (int32_t o = 0; o < instr->operand_count; o++) {
      halo_instr *start = halo_pointer_map_get(&starts, instr->operands[o]);
      if (!start) continue;
      if (instr->opcode == HALO_OP_ASYNC_UPDATE && instr->operand_count == 1) {
        halo_pointer_map_set(&starts, instr, start);
        continue;
      }
      bool done = instr->opcode == HALO_OP_ASYNC_DONE && async_is_plain(start) &&
                  halo_shape_compatible(instr->shape, start->shape->elements[1]);
      intptr_t count = (intptr_t)halo_pointer_map_get(&uses, start) + (done ? 1 : 2);
      halo_pointer_map_set(&uses, start, (void *)count);
    }
  }
  halo_instr *root = halo_pointer_map_get(&starts, computation->root);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *start = computation->instrs.data[i];
    if (start->opcode != HALO_OP_ASYNC_START || start == root) continue;
    if ((intptr_t)halo_pointer_map_get(&uses, start) != 1) continue;
    bool fixed = async_is_static(halo_instr_comp(start, HALO_ATTR_CALLS));
    if (fixed && async_pays(start)) halo_pointer_map_set(kept, start, start);
  }
  halo_pointer_map_deinit(&starts);
  halo_pointer_map_deinit(&uses);
}

/* hlo/same_position.c: which parameters of a fused computation are read only where it writes. */
#include "hlo/hlo.h"

enum { SAME = 1, OTHER = 2 };

uint64_t halo_computation_same_position(const halo_computation *c) {
  for (int32_t i = 0; i < c->instrs.count; i++) c->instrs.data[i]->mark = 0;
  for (int32_t i = 0; i < c->params.count; i++) {
    if (halo_shape_is_tuple(c->params.data[i]->shape)) return 0;
  }
  c->root->mark = SAME;
  uint64_t safe = 0;
  const halo_shape *shape = halo_leaf_shape(c->root->shape, 0);
  for (int32_t i = c->instrs.count - 1; i >= 0; i--) {
    const halo_instr *instr = c->instrs.data[i];
    bool elementwise = halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW);
    bool results = instr == c->root && instr->opcode == HALO_OP_TUPLE;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      halo_instr *operand = instr->operands[o];
      bool keeps = elementwise && halo_shape_same_dims(operand->shape, instr->shape);
      operand->mark |= results ? SAME : keeps ? instr->mark : OTHER;
    }
    if (instr->opcode != HALO_OP_PARAMETER || instr->mark != SAME) continue;
    bool equal = halo_shape_same_dims(instr->shape, shape);
    for (int d = 0; equal && d < shape->rank; d++) {
      equal = instr->shape->minor_to_major[d] == shape->minor_to_major[d];
    }
    if (equal && instr->parameter_number < 64) safe |= 1ull << instr->parameter_number;
  }
  return safe;
}

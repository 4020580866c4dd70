/* hlo/same_position.c: which parameters of a fused computation are read only where it writes. */
#include "base/pointer_map.h"
#include "hlo/hlo.h"

/* How an instruction is read, as far as its users were looked at: bits. */
enum { SAME = 1, OTHER = 2 };

static intptr_t same_get(const halo_pointer_map *reads, const halo_instr *instr) {
  return (intptr_t)halo_pointer_map_get(reads, instr);
}

static void same_add(halo_pointer_map *reads, const halo_instr *instr, intptr_t how) {
  how |= same_get(reads, instr);
  if (how) halo_pointer_map_set(reads, instr, (void *)how);
}

uint64_t halo_computation_same_position(const halo_computation *c) {
  for (int32_t i = 0; i < c->params.count; i++) {
    if (halo_shape_is_tuple(c->params.data[i]->shape)) return 0;
  }
  halo_pointer_map reads = {0};
  same_add(&reads, c->root, SAME);
  uint64_t safe = 0;
  const halo_shape *shape = halo_leaf_shape(c->root->shape, 0);
  for (int32_t i = c->instrs.count - 1; i >= 0; i--) {
    const halo_instr *instr = c->instrs.data[i];
    bool elementwise = halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW);
    bool results = instr == c->root && instr->opcode == HALO_OP_TUPLE;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      const halo_instr *operand = instr->operands[o];
      bool keeps = elementwise && halo_shape_same_dims(operand->shape, instr->shape);
      same_add(&reads, operand, results ? SAME : keeps ? same_get(&reads, instr) : OTHER);
    }
    if (instr->opcode != HALO_OP_PARAMETER || same_get(&reads, instr) != SAME) continue;
    bool equal = halo_shape_same_dims(instr->shape, shape);
    for (int d = 0; equal && d < shape->rank; d++) {
      equal = instr->shape->minor_to_major[d] == shape->minor_to_major[d];
    }
    if (equal && instr->parameter_number < 64) safe |= 1ull << instr->parameter_number;
  }
  halo_pointer_map_deinit(&reads);
  return safe;
}

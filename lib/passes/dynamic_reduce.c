/* passes/dynamic_reduce.c: run-time sizes through operations that combine elements. Padding that they would
 * see becomes what changes nothing. */
#include "passes/dynamic.h"

halo_instr *halo_dynamic_reduce(halo_dynamic *d, halo_instr *instr) {
  int32_t count, inputs = instr->operand_count / 2;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  bool reduced[HALO_MAX_RANK] = {false};
  for (int32_t i = 0; i < count; i++) reduced[dims[i]] = true;
  for (int32_t o = 0; o < inputs; o++) {
    halo_instr *input = instr->operands[o];
    for (int i = 0, to = 0; i < input->shape->rank; i++) {
      if (reduced[i]) continue;
      for (int32_t leaf = 0; leaf < inputs; leaf++) {
        halo_dynamic_set_leaf(d, instr, leaf, to, halo_dynamic_size(d, input, i));
      }
      to++;
    }
    halo_dynamic_mask_operand(d, instr, o, reduced, instr->operands[inputs + o]);
  }
  return instr;
}

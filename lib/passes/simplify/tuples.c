/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/tuples.c: tuples that are only packed and unpacked. */
#include "passes/passes.h"
#include "rewrite/rewrite.h"

/* tuple(gte(t, 0), ..., gte(t, n - 1)) with n = all of t's elements: t. */
static halo_instr *tuple_source(const halo_instr *tuple) {
  if (tuple->operand_count == 0) return NULL;
  halo_instr *source = NULL;
  for (int32_t i = 0; i < tuple->operand_count; i++) {
    const halo_instr *part = tuple->operands[i];
    if (part->opcode != HALO_OP_GET_TUPLE_ELEMENT) return NULL;
    if (halo_instr_int(part, HALO_ATTR_INDEX, -1) != i) return NULL;
    halo_instr *from = halo_rewrite_resolve(part->operands[0]);
    if (source && from != source) return NULL;
    source = from;
  }
  return halo_shape_equal(source->shape, tuple->shape) ? source : NULL;
}

static halo_instr *tuple_better(halo_instr *instr) {
  if (instr->opcode == HALO_OP_TUPLE) return tuple_source(instr);
  if (instr->opcode != HALO_OP_GET_TUPLE_ELEMENT) return NULL;
  halo_instr *tuple = instr->operands[0];
  if (tuple->opcode != HALO_OP_TUPLE) return NULL;
  halo_instr *element =
      halo_rewrite_resolve(tuple->operands[halo_instr_int(instr, HALO_ATTR_INDEX, 0)]);
  return halo_shape_equal(element->shape, instr->shape) ? element : NULL;
}

static void tuple_simplify(halo_rewriter *r, halo_instr *instr) {
  halo_instr *with = halo_rewrite_pinned(instr) ? NULL : tuple_better(instr);
  if (with) halo_rewrite_replace(r, instr, with);
}

halo_status halo_pass_tuples(halo_module *module, bool *changed) {
  return halo_rewrite_instrs(module, tuple_simplify, changed);
}

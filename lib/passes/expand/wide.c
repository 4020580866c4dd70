/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/wide.c: operations of more operands than a kernel of the target may have buffers. */
#include "base/memory.h"
#include "passes/expand/expand.h"
#include "passes/fuse/state.h"

/* concatenate(many) = an array with the first few at their place, into which the others are put, a few
 * at a time. Those updates happen in place, so that each element is written twice at most. */
halo_instr *halo_expand_wide_concatenate(halo_expander *x, halo_instr *instr) {
  int32_t most = fusion_max_inputs(&x->r->computation->module->target);
  int32_t count = instr->operand_count, dims, rank = instr->shape->rank;
  if (count <= most) return NULL;
  halo_arena *arena = &x->r->computation->module->arena;
  int64_t dimension = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &dims)[0], start = 0;
  halo_instr *whole = NULL, *zero = halo_rewrite_make_scalar(x->r, instr, HALO_S64, 0);
  for (int32_t first = 0; first < count; first += most) {
    int32_t end = first + most < count ? first + most : count;
    halo_instr *part = halo_expand_join(x, instr->operands + first, end - first, dimension);
    if (!part) return NULL;
    int64_t extent = part->shape->dims[dimension];
    if (!whole) {
      int64_t *padding = halo_arena_array(arena, int64_t, 3 * rank);
      padding[3 * dimension + 1] = instr->shape->dims[dimension] - extent;
      halo_attr attr = {.id = HALO_ATTR_PADDING, .ints = {padding, 3 * rank}};
      halo_instr *fill = halo_rewrite_make_scalar(x->r, instr, instr->shape->type, 0);
      whole = halo_rewrite_make(x->r, instr, HALO_OP_PAD, instr->shape,
                                (halo_instr *[]){part, fill}, 2, &attr, 1);
    } else {
      halo_instr *operands[2 + HALO_MAX_RANK] = {whole, part};
      halo_instr *at = halo_rewrite_make_scalar(x->r, instr, HALO_S64, start);
      for (int32_t d = 0; d < rank; d++) operands[2 + d] = d == dimension ? at : zero;
      whole = halo_rewrite_make(x->r, instr, HALO_OP_DYNAMIC_UPDATE_SLICE, instr->shape, operands,
                                2 + rank, NULL, 0);
    }
    start += extent;
  }
  return whole;
}

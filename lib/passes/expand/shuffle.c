/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/shuffle.c: shuffles as slices put together, or as a gather of single elements. */
#include "passes/expand/expand.h"

#include <string.h>

/* `x` from position `shift` on, and then what was before it. */
static halo_instr *shuffle_roll(halo_expander *e, halo_instr *x, int64_t dim, int64_t shift) {
  if (!x) return NULL;
  halo_instr *parts[] = {halo_expand_range(e, x, dim, shift, x->shape->dims[dim]),
                         halo_expand_range(e, x, dim, 0, shift)};
  return halo_expand_join(e, parts, 2, dim);
}

static halo_instr *shuffle_rotate(halo_expander *e, halo_instr *instr) {
  halo_instr *x = instr->operands[0];
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const int64_t *shifts = halo_instr_ints(instr, HALO_ATTR_SHIFTS, &count);
  for (int32_t i = 0; i < count; i++) {
    int64_t size = instr->shape->dims[dims[i]];
    int64_t shift = size > 0 ? shifts[i] % size : 0;
    if (shift != 0) x = shuffle_roll(e, x, dims[i], shift < 0 ? shift + size : shift);
  }
  return x;
}

/* The indices with a vector for each element of the operand, which is `shape`. */
static halo_instr *shuffle_indices(halo_expander *e, halo_instr *instr, const halo_shape *shape,
                                   int32_t count) {
  halo_arena *arena = &e->r->computation->module->arena;
  halo_literal *literal = halo_instr_attr(instr, HALO_ATTR_INDICES)->literal;
  halo_instr *indices = halo_rewrite_make_shared_constant(e->r, instr, literal);
  int64_t full[HALO_MAX_RANK + 1], kept[HALO_MAX_RANK + 1], where[HALO_MAX_RANK + 1];
  int rank = 0;
  memcpy(full, shape->dims, sizeof *full * (size_t)shape->rank);
  full[shape->rank] = count;
  /* Dimensions of one element are shared by all. */
  for (int d = 0; d < indices->shape->rank; d++) {
    if (indices->shape->dims[d] != full[d]) continue;
    kept[rank] = full[d];
    where[rank++] = d;
  }
  halo_type type = indices->shape->type;
  halo_instr *dense = halo_rewrite_make_unary(e->r, instr, HALO_OP_RESHAPE,
                                              halo_shape_new(arena, type, rank, kept), indices);
  return halo_expand_broadcast(e, dense, where, halo_shape_new(arena, type, shape->rank + 1, full));
}

static halo_instr *shuffle_permute(halo_expander *e, halo_instr *instr) {
  halo_module *module = e->r->computation->module;
  const halo_shape *shape = instr->operands[0]->shape;
  int32_t count, others = 0, moved = 0;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  int64_t still[HALO_MAX_RANK], sorted[HALO_MAX_RANK], ones[HALO_MAX_RANK];
  bool shuffled[HALO_MAX_RANK] = {false};
  if (halo_instr_attr(instr, HALO_ATTR_INDICES)->literal->elided) {
    e->status =
        halo_fail(HALO_INVALID_ARGUMENT, "%s: the indices were left out ({...})", instr->name);
    return NULL;
  }
  for (int32_t i = 0; i < count; i++) shuffled[dims[i]] = true;
  for (int d = 0; d < shape->rank; d++) {
    ones[d] = 1;
    if (shuffled[d]) {
      sorted[moved++] = d;
    } else {
      still[others++] = d;
    }
  }
  const halo_attr attrs[] = {
      halo_rewrite_list_attr(module, HALO_ATTR_OFFSET_DIMS, NULL, 0),
      halo_rewrite_list_attr(module, HALO_ATTR_COLLAPSED_SLICE_DIMS, sorted, moved),
      halo_rewrite_list_attr(module, HALO_ATTR_START_INDEX_MAP, dims, count),
      halo_rewrite_list_attr(module, HALO_ATTR_OPERAND_BATCHING_DIMS, still, others),
      halo_rewrite_list_attr(module, HALO_ATTR_START_INDICES_BATCHING_DIMS, still, others),
      {.id = HALO_ATTR_INDEX_VECTOR_DIM, .i = shape->rank},
      halo_rewrite_list_attr(module, HALO_ATTR_SLICE_SIZES, ones, shape->rank)};
  halo_instr *operands[] = {instr->operands[0], shuffle_indices(e, instr, shape, count)};
  return halo_expand_op(e, HALO_OP_GATHER, operands, 2, attrs, 7);
}

halo_instr *halo_expand_shuffle(halo_expander *x, halo_instr *instr) {
  const halo_attr *mode = halo_instr_attr(instr, HALO_ATTR_SHUFFLE_MODE);
  if (strcmp(mode->text, "rotate") == 0) return shuffle_rotate(x, instr);
  if (strcmp(mode->text, "permute") == 0) return shuffle_permute(x, instr);
  return NULL; /* refused where it is lowered */
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/plain.c: run-time sizes through operations that keep elements where they are, or move whole
 * dimensions; and asking for sizes and setting them. */
#include "passes/dynamic/dynamic.h"

/* Operands agree in their sizes; one that is static where another is dynamic has room enough. */
halo_instr *halo_sized_elementwise(halo_dynamic *d, halo_instr *instr) {
  for (int32_t o = instr->operand_count - 1; o >= 0; o--) {
    if (instr->operands[o]->shape->rank != instr->shape->rank) continue;
    halo_dynamic_copy(d, instr->operands[o], instr);
  }
  return instr;
}

halo_instr *halo_sized_same(halo_dynamic *d, halo_instr *instr) {
  halo_dynamic_copy(d, instr->operands[0], instr);
  return instr;
}

halo_instr *halo_sized_tuple(halo_dynamic *d, halo_instr *instr) {
  for (int32_t o = 0; o < instr->operand_count; o++) {
    const halo_instr *part = instr->operands[o];
    halo_dynamic_copy_leaves(d, part, 0, instr, halo_leaf_start(instr->shape, o),
                             halo_shape_leaf_count(part->shape));
  }
  return instr;
}

halo_instr *halo_sized_get_tuple_element(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *tuple = instr->operands[0];
  int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
  halo_dynamic_copy_leaves(d, tuple, halo_leaf_start(tuple->shape, index), instr, 0,
                           halo_shape_leaf_count(instr->shape));
  return instr;
}

/* Where the two differ in a size, the predicate chooses that too. */
halo_instr *halo_sized_tuple_select(halo_dynamic *d, halo_instr *instr) {
  halo_instr *a = instr->operands[1], *b = instr->operands[2];
  for (int32_t l = 0; l < halo_shape_leaf_count(instr->shape); l++) {
    const halo_shape *leaf = halo_leaf_shape(instr->shape, l);
    for (int i = 0; i < leaf->rank; i++) {
      halo_instr *x = halo_dynamic_leaf_size(d, a, l, i), *y = halo_dynamic_leaf_size(d, b, l, i);
      if (x == y) {
        halo_dynamic_set_leaf(d, instr, l, i, x);
        continue;
      }
      if (!x) x = halo_dynamic_number(d, leaf->dims[i]);
      if (!y) y = halo_dynamic_number(d, leaf->dims[i]);
      halo_instr *size = halo_expand_select(&d->x, instr->operands[0], x, y);
      halo_dynamic_set_leaf(d, instr, l, i, size);
    }
  }
  return instr;
}

static int plain_dim(const halo_instr *instr) {
  int32_t count;
  return (int)halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0];
}

halo_instr *halo_sized_get_dimension_size(halo_dynamic *d, halo_instr *instr) {
  return halo_dynamic_extent(d, instr->operands[0], plain_dim(instr));
}

halo_instr *halo_sized_set_dimension_size(halo_dynamic *d, halo_instr *instr) {
  halo_instr *array = instr->operands[0];
  int dim = plain_dim(instr);
  /* The array may be used with its old size too, so the new one needs a value of its own. */
  halo_instr *same = halo_rewrite_make_unary(&d->r, instr, HALO_OP_COPY, array->shape, array);
  for (int i = 0; i < array->shape->rank; i++) {
    halo_instr *size = i == dim ? instr->operands[1] : halo_dynamic_size(d, array, i);
    halo_dynamic_set(d, same, i, size);
  }
  return same;
}

halo_instr *halo_sized_broadcast(halo_dynamic *d, halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  for (int32_t i = 0; i < count; i++) {
    halo_dynamic_set(d, instr, (int)dims[i], halo_dynamic_size(d, instr->operands[0], i));
  }
  return instr;
}

halo_instr *halo_sized_transpose(halo_dynamic *d, halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  for (int32_t i = 0; i < count; i++) {
    halo_dynamic_set(d, instr, i, halo_dynamic_size(d, instr->operands[0], (int)dims[i]));
  }
  return instr;
}

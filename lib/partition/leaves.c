/* SPDX-License-Identifier: Apache-2.0 */
/* partition/leaves.c: values of leaves as one value of their shape, tuples packed; and the other way. */
#include "partition/spmd.h"

halo_instr *halo_spmd_pack(halo_spmd *p, const halo_shape *shape, halo_instr *const *leaves) {
  if (!halo_shape_is_tuple(shape)) return leaves[0];
  halo_instr **parts = halo_arena_array(&p->arena, halo_instr *, shape->count + 1);
  const halo_shape **shapes = halo_arena_array(&p->arena, const halo_shape *, shape->count + 1);
  for (int32_t i = 0; i < shape->count; i++) {
    parts[i] = halo_spmd_pack(p, shape->elements[i], leaves + halo_leaf_start(shape, i));
    if (!parts[i]) return NULL;
    shapes[i] = parts[i]->shape;
  }
  return halo_rewrite_make(&p->r, p->x.like, HALO_OP_TUPLE,
                           halo_shape_new_tuple(&p->module->arena, shape->count, shapes), parts,
                           shape->count, NULL, 0);
}

void halo_spmd_unpack(halo_spmd *p, halo_instr *value, halo_instr **leaves) {
  if (!halo_shape_is_tuple(value->shape)) {
    leaves[0] = value;
    return;
  }
  for (int32_t i = 0; i < value->shape->count; i++) {
    halo_instr *part = halo_rewrite_make_gte(&p->r, p->x.like, value, i);
    halo_spmd_unpack(p, part, leaves + halo_leaf_start(value->shape, i));
  }
}

const halo_shape *halo_spmd_with_leaves(halo_spmd *p, const halo_shape *shape,
                                        const halo_shape *const *leaves) {
  if (!halo_shape_is_tuple(shape)) return leaves[0];
  const halo_shape **parts = halo_arena_array(&p->arena, const halo_shape *, shape->count + 1);
  for (int32_t i = 0; i < shape->count; i++) {
    parts[i] = halo_spmd_with_leaves(p, shape->elements[i], leaves + halo_leaf_start(shape, i));
  }
  return halo_shape_new_tuple(&p->module->arena, shape->count, parts);
}

/* The leaves' values as the operand was: of the same shape, down to the layout. */
halo_instr *halo_spmd_whole_operand(halo_spmd *p, const halo_instr *operand) {
  const halo_spmd_node *node = halo_spmd_node_of(operand);
  halo_instr **values = halo_arena_array(&p->arena, halo_instr *, node->count + 1);
  for (int32_t k = 0; k < node->count; k++) {
    halo_spmd_leaf *leaf = node->leaves[k];
    halo_spmd_sharding all = halo_spmd_replicated(p, leaf->shape->rank, leaf->box->sharding.manual);
    values[k] = halo_spmd_value(p, leaf, &all);
    if (!values[k]) return NULL;
    const halo_shape *shape = halo_leaf_shape(operand->shape, k);
    if (halo_shape_is_array(shape) && !halo_shape_equal(values[k]->shape, shape)) {
      values[k] = halo_rewrite_make_unary(&p->r, p->x.like, HALO_OP_COPY, shape, values[k]);
    }
  }
  return halo_spmd_pack(p, operand->shape, values);
}

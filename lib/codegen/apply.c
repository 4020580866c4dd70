/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/apply.c: computations that a kernel applies to values, and the leaves of instructions as values or private
 * arrays. */
#include "codegen/emitter_private.h"

/* ---- Leaves ---- */

/* Fills an array with a leaf's elements. */
static void apply_fill(halo_emitter *e, emit_frame *f, const halo_instr *instr, int32_t leaf,
                       halo_value array) {
  int opened = 0;
  emit_index *index = emit_loops(e, array.array, &opened);
  emit_array_store(e, array, index, halo_emit_value(e, f, instr, leaf, index));
  while (opened--) halo_emit_close(e);
}

halo_value emit_leaf(halo_emitter *e, emit_frame *f, const halo_instr *instr, int32_t leaf) {
  const halo_shape *shape = halo_leaf_shape(instr->shape, leaf);
  if (shape->rank == 0) return halo_emit_value(e, f, instr, leaf, halo_index_scalar(e));
  const halo_value *known = emit_known_array(e, f, instr, leaf);
  if (known) return *known;
  halo_value array = emit_array(e, shape);
  apply_fill(e, f, instr, leaf, array);
  halo_frame_bind(e, f, instr, leaf, array);
  return array;
}

halo_value emit_leaf_copy(halo_emitter *e, emit_frame *f, const halo_instr *instr, int32_t leaf,
                          const halo_shape *shape) {
  if (shape->rank == 0) {
    halo_value start = halo_emit_value(e, f, instr, leaf, halo_index_scalar(e));
    if (start.type != shape->type) start = halo_emit_convert(e, start, shape->type);
    return emit_variable(e, shape->type, start.text);
  }
  halo_value array = emit_array(e, shape);
  apply_fill(e, f, instr, leaf, array);
  return array;
}

/* ---- Applied computations ---- */

void halo_emit_apply(halo_emitter *e, const halo_computation *computation, const halo_value *values,
                     halo_value *results) {
  emit_frame *frame = emit_frame_values(e, computation, values);
  e->rules->hold(e, frame, computation);
  int32_t leaves = halo_shape_leaf_count(computation->root->shape);
  for (int32_t l = 0; l < leaves; l++) {
    results[l] = emit_leaf(e, frame, computation->root, l);
  }
}

halo_value halo_emit_inner(halo_emitter *e, const halo_computation *computation,
                           const halo_value *values, const halo_instr *instr) {
  emit_frame *frame = emit_frame_values(e, computation, values);
  e->rules->hold(e, frame, computation);
  return halo_emit_value(e, frame, instr, 0, halo_index_scalar(e));
}

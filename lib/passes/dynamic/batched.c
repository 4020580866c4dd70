/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/batched.c: run-time sizes through operations whose dynamic dimensions may only be those that
 * they do not work along; and through those that are written as others. */
#include "passes/dynamic/dynamic.h"
#include "passes/expand/expand.h"

/* Sizes of the first `count` dimensions go to those of the result, to each leaf of a tuple; the others must be
 * static. */
static halo_instr *batched_pass(halo_dynamic *d, halo_instr *instr, const halo_instr *array,
                                int count) {
  for (int i = 0; i < array->shape->rank; i++) {
    halo_instr *size = halo_dynamic_size(d, array, i);
    if (size && i >= count) {
      return halo_dynamic_fail(d, instr,
                               "cannot work along a dimension that is known at run time only");
    }
    for (int32_t leaf = 0; leaf < halo_shape_leaf_count(instr->shape); leaf++) {
      halo_dynamic_set_leaf(d, instr, leaf, i, size);
    }
  }
  return instr;
}

halo_instr *halo_sized_fft(halo_dynamic *d, halo_instr *instr) {
  int32_t count;
  halo_instr_ints(instr, HALO_ATTR_FFT_LENGTH, &count);
  const halo_instr *array = instr->operands[0];
  return batched_pass(d, instr, array, array->shape->rank - count);
}

halo_instr *halo_sized_cholesky(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *array = instr->operands[0];
  return batched_pass(d, instr, array, array->shape->rank - 2);
}

halo_instr *halo_sized_topk(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *array = instr->operands[0];
  return batched_pass(d, instr, array, array->shape->rank - 1);
}

/* Systems, and right-hand sides of each, may be few; not unknowns. */
halo_instr *halo_sized_triangular_solve(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *a = instr->operands[0], *b = instr->operands[1];
  int rank = a->shape->rank;
  int unknowns = halo_instr_bool(instr, HALO_ATTR_LEFT_SIDE, false) ? rank - 2 : rank - 1;
  batched_pass(d, instr, a, rank - 2);
  for (int i = 0; i < rank; i++) {
    halo_instr *size = halo_dynamic_size(d, b, i);
    if (size && i == unknowns) return batched_pass(d, instr, b, 0);
    halo_dynamic_set(d, instr, i, size);
  }
  return instr;
}

/* ---- Written as others ---- */

/* Marks in the shape of an array what is noted for it: those who write an operation as others look there. */
static void batched_mark(halo_dynamic *d, halo_instr *array) {
  const halo_shape *shape = array->shape;
  bool marks[HALO_MAX_RANK];
  if (!halo_shape_is_array(shape) || !halo_dynamic_any(d, array)) return;
  for (int i = 0; i < shape->rank; i++) marks[i] = halo_dynamic_size(d, array, i) != NULL;
  array->shape = halo_shape_new_full(&d->all->module->arena, shape->type, shape->rank, shape->dims,
                                     marks, shape->minor_to_major);
}

/* What an operation is written as, which is walked over in turn. */
static halo_instr *batched_expand(halo_dynamic *d, halo_instr *instr, halo_expand_fn *expand) {
  int32_t first = d->r.computation->instrs.count;
  for (int32_t o = 0; o < instr->operand_count; o++) batched_mark(d, instr->operands[o]);
  halo_instr *value = expand(&d->x, instr);
  if (!value) return NULL;
  halo_dynamic_walk_from(d, first);
  return halo_rewrite_resolve(value);
}

halo_instr *halo_sized_batch_norm_training(halo_dynamic *d, halo_instr *instr) {
  return batched_expand(d, instr, halo_expand_batch_norm_training);
}
halo_instr *halo_sized_batch_norm_inference(halo_dynamic *d, halo_instr *instr) {
  return batched_expand(d, instr, halo_expand_batch_norm_inference);
}
halo_instr *halo_sized_batch_norm_grad(halo_dynamic *d, halo_instr *instr) {
  return batched_expand(d, instr, halo_expand_batch_norm_grad);
}

/* What is shuffled has its full extent. */
halo_instr *halo_sized_shuffle(halo_dynamic *d, halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  for (int32_t i = 0; i < count; i++) {
    if (!halo_dynamic_size(d, instr->operands[0], (int)dims[i])) continue;
    return halo_dynamic_fail(d, instr,
                             "cannot work along a dimension that is known at run time only");
  }
  halo_instr *value = batched_expand(d, instr, halo_expand_shuffle);
  return value ? value : instr;
}

/* With one replica what comes in goes out; what is left is refused where it is lowered. */
halo_instr *halo_sized_collective(halo_dynamic *d, halo_instr *instr) {
  halo_instr *value = batched_expand(d, instr, halo_expand_collective);
  return value ? value : halo_dynamic_fail(d, instr, "of several replicas cannot run");
}

/* Functions get all of the memory, and their results are valid all over. */
halo_instr *halo_sized_custom_call(halo_dynamic *d, halo_instr *instr) {
  halo_instr *value = batched_expand(d, instr, halo_expand_custom_call);
  if (value || d->x.status != HALO_OK) return value;
  if (!halo_shape_is_dynamic(instr->shape)) return instr;
  return halo_dynamic_fail(d, instr, "cannot give a result whose extent is known at run time only");
}

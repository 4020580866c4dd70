/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/topk.c: the custom call "TopK", which XLA's CPU and GPU backends put in the place of a sort of
 * values and their places that is cut off: (values, places) by a comparator of both. */
#include "custom/custom.h"
#include "hlo/comparator.h"
#include "passes/expand/expand.h"

#include <string.h>

/* What the call says, checked: false when it is none of these. */
static bool topk_is_call(const halo_instr *instr, halo_computation **comparator) {
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  /* A function that somebody registered under this name goes before. */
  if (target && halo_custom_target_find(target->text)) return false;
  if (!target || strcmp(target->text, "TopK") != 0 || instr->operand_count != 1) return false;
  const halo_shape *in = instr->operands[0]->shape, *out = instr->shape;
  *comparator = halo_instr_comp(instr, HALO_ATTR_CALLED_COMPUTATIONS);
  if (!*comparator) *comparator = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  if (!*comparator || !halo_shape_is_array(in) || in->rank == 0) return false;
  if (!halo_shape_is_tuple(out) || out->count != 2) return false;
  const halo_shape *values = out->elements[0], *places = out->elements[1];
  bool fits = halo_shape_is_array(values) && halo_shape_is_array(places) &&
              values->rank == in->rank && halo_shape_same_dims(values, places) &&
              values->type == in->type && places->type == HALO_S32 &&
              values->dims[in->rank - 1] <= in->dims[in->rank - 1];
  for (int d = 0; fits && d < in->rank - 1; d++) fits = values->dims[d] == in->dims[d];
  return fits;
}

/* Whether the comparator orders values as topk does: whole numbers, or floats in total order. */
static bool topk_is_plain(const halo_computation *comparator, bool *largest) {
  halo_sort_key keys[HALO_COMPARATOR_KEYS];
  if (halo_comparator_keys(comparator, keys) != 1) return false;
  const halo_instr *value = keys[0].value;
  bool total =
      keys[0].compare == HALO_COMPARE_TOTALORDER || !halo_type_is_float(value->shape->type);
  *largest = keys[0].descending;
  return total && value->opcode == HALO_OP_PARAMETER && value->parameter_number < 2;
}

/* The first elements of a leaf of a sort along the last dimension. */
static halo_instr *topk_first(halo_expander *x, halo_instr *sort, int64_t leaf, int64_t k) {
  halo_attr index = {.id = HALO_ATTR_INDEX, .i = leaf};
  halo_instr *all = halo_expand_op(x, HALO_OP_GET_TUPLE_ELEMENT, &sort, 1, &index, 1);
  return all ? halo_expand_range(x, all, all->shape->rank - 1, 0, k) : NULL;
}

halo_instr *halo_expand_topk_call(halo_expander *x, halo_instr *instr) {
  halo_computation *comparator;
  if (!topk_is_call(instr, &comparator)) return NULL;
  halo_arena *arena = &x->r->computation->module->arena;
  const halo_shape *in = instr->operands[0]->shape;
  int64_t last = in->rank - 1, k = instr->shape->elements[0]->dims[last];
  bool largest;
  if (topk_is_plain(comparator, &largest)) {
    halo_attr attrs[2] = {{.id = HALO_ATTR_K, .i = k}, {.id = HALO_ATTR_LARGEST, .i = largest}};
    return halo_expand_op(x, HALO_OP_TOPK, instr->operands, 1, attrs, 2);
  }
  if (comparator->params.count != 4) return NULL;
  const halo_shape *places = halo_shape_new(arena, HALO_S32, in->rank, in->dims);
  halo_instr *iota = halo_expand_iota(x, places, last);
  halo_attr attrs[3] = {{.id = HALO_ATTR_DIMENSIONS},
                        {.id = HALO_ATTR_IS_STABLE, .i = 1},
                        {.id = HALO_ATTR_TO_APPLY}};
  attrs[0].ints.data = halo_arena_copy(arena, &last, sizeof last);
  attrs[0].ints.count = 1;
  attrs[2].comps.data = halo_arena_copy(arena, &comparator, sizeof comparator);
  attrs[2].comps.count = 1;
  halo_instr *both[2] = {instr->operands[0], iota};
  halo_instr *sort = halo_expand_op(x, HALO_OP_SORT, both, 2, attrs, 3);
  if (!sort) return NULL;
  halo_instr *first[2] = {topk_first(x, sort, 0, k), topk_first(x, sort, 1, k)};
  return halo_expand_tuple(x, first, 2);
}

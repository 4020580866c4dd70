/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/generate_sort.c: arrays sorted along a dimension. */
#include "generator.h"

/* A comparator of one operand. */
static halo_computation *sort_comparator(generator *g, halo_type type) {
  halo_computation *comparator = halo_computation_create(g->module, "before");
  halo_computation *outer = g->computation;
  halo_instr *sides[2] = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    halo_instr_spec spec = {
        .opcode = HALO_OP_PARAMETER, .parameter_number = i, .shape = gen_shape(g, type, 0, NULL)};
    if (halo_instr_create(comparator, &spec, &sides[i]) != HALO_OK) g->failed = true;
  }
  g->computation = comparator;
  halo_attr attrs[2] = {gen_int(HALO_ATTR_DIRECTION, gen_chance(g, 50) ? HALO_LT : HALO_GT),
                        gen_int(HALO_ATTR_COMPARE_TYPE, HALO_COMPARE_TOTALORDER)};
  int count = halo_type_is_float(type) && gen_chance(g, 50) ? 2 : 1;
  comparator->root = gen_emit(g, HALO_OP_COMPARE, NULL, 2, sides, count, attrs);
  g->computation = outer;
  return comparator;
}

/* Sorting moves no value further than the largest error was. */
bool gen_sort(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  if (shape->rank == 0 || halo_type_is_complex(shape->type)) return false;
  int64_t dimension = gen_below(g, (uint32_t)shape->rank);
  halo_attr attrs[3] = {gen_ints(g, HALO_ATTR_DIMENSIONS, 1, &dimension),
                        gen_comp(g, HALO_ATTR_TO_APPLY, sort_comparator(g, shape->type)),
                        gen_int(HALO_ATTR_IS_STABLE, 1)};
  a.instr = gen_emit(g, HALO_OP_SORT, NULL, 1, &a.instr, 3, attrs);
  if (!a.instr) return false;
  gen_push(g, a);
  return true;
}

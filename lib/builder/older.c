/* SPDX-License-Identifier: Apache-2.0 */
/* builder/older.c: operations under the names that older pages have for them. */
#include "builder/build.h"
#include "halo/collectives.h"

halo_op halo_logical_and(halo_op lhs, halo_op rhs) { return halo_and(lhs, rhs); }
halo_op halo_logical_or(halo_op lhs, halo_op rhs) { return halo_or(lhs, rhs); }
halo_op halo_logical_not(halo_op operand) { return halo_not(operand); }

halo_op halo_cross_replica_sum(halo_op operand, int groups, int size, const int64_t *replicas) {
  build_call call = halo_build_begin_with("halo_cross_replica_sum", 1, &operand);
  halo_instr *x = halo_build_operand(&call, operand);
  const halo_shape *first = x ? x->shape : NULL;
  if (first && halo_shape_is_tuple(first) && first->count > 0) first = first->elements[0];
  if (!first || !halo_shape_is_array(first)) {
    halo_build_fail(&call, "the operand is neither an array nor a tuple of arrays");
    return halo_build_result(&call, NULL);
  }
  return halo_all_reduce(operand, halo_scalar_add(operand.builder, first->type),
                         &(halo_replica_groups){.groups = groups, .size = size, .ids = replicas});
}

/* builder/older.c: operations under the names that older pages have for them. */
#include "builder/build.h"
#include "halo/collectives.h"

halo_op halo_logical_and(halo_op lhs, halo_op rhs) { return halo_and(lhs, rhs); }
halo_op halo_logical_or(halo_op lhs, halo_op rhs) { return halo_or(lhs, rhs); }
halo_op halo_logical_not(halo_op operand) { return halo_not(operand); }

halo_op halo_cross_replica_sum(halo_op operand, int groups, int size, const int64_t *replicas) {
  build_call call = halo_build_begin_with("halo_cross_replica_sum", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (!x) return halo_build_result(&call, NULL);
  return halo_all_reduce(operand, halo_scalar_add(operand.builder, x->shape->type),
                         &(halo_replica_groups){groups, size, replicas, 0, false});
}

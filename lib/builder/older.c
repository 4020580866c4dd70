/* builder/older.c: operations under the names that older pages have for them. */
#include "builder/build.h"

halo_op halo_logical_and(halo_op lhs, halo_op rhs) { return halo_and(lhs, rhs); }
halo_op halo_logical_or(halo_op lhs, halo_op rhs) { return halo_or(lhs, rhs); }
halo_op halo_logical_not(halo_op operand) { return halo_not(operand); }

/* Groups of equal size; none is all replicas together. */
static halo_attr older_groups(build_call *call, int groups, int size, const int64_t *replicas) {
  halo_arena *arena = halo_build_arena(call);
  halo_groups *made = halo_arena_new(arena, halo_groups);
  int32_t *starts = halo_arena_array(arena, int32_t, groups + 1);
  for (int g = 0; g <= groups; g++) starts[g] = g * size;
  made->count = groups;
  made->starts = starts;
  made->ids = halo_arena_copy(arena, replicas, sizeof *replicas * (size_t)groups * (size_t)size);
  halo_attr attr = {.id = HALO_ATTR_REPLICA_GROUPS};
  attr.groups = made;
  return attr;
}

halo_op halo_cross_replica_sum(halo_op operand, int groups, int size, const int64_t *replicas) {
  build_call call = halo_build_begin_with("halo_cross_replica_sum", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (!x) return halo_build_result(&call, NULL);
  if (groups < 0 || (groups > 0 && (size < 1 || size > INT32_MAX / groups || !replicas))) {
    halo_build_fail(&call, "%d groups of %d replicas are no list", groups, size);
    return halo_build_result(&call, NULL);
  }
  halo_comp sum = halo_scalar_add(operand.builder, x->shape->type);
  halo_computation *computation = halo_build_comp(&call, sum);
  if (!computation) return halo_build_result(&call, NULL);
  halo_attr attrs[2] = {older_groups(&call, groups, size, replicas),
                        halo_build_comps(&call, HALO_ATTR_TO_APPLY, 1, &computation)};
  const halo_shape *shape = halo_shape_with_default_layout(halo_build_arena(&call), x->shape);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_ALL_REDUCE, shape, (halo_instr *[3]){x}, 2, attrs));
}

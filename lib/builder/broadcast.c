/* SPDX-License-Identifier: Apache-2.0 */
/* builder/broadcast.c: implicit broadcasting made explicit, as XlaBuilder does it. */
#include "builder/build.h"

halo_instr *halo_build_expand(build_call *call, halo_instr *operand, int rank, const int64_t *dims,
                              const int64_t *mapping) {
  if (!call->ok) return NULL;
  const halo_shape *from = operand->shape;
  halo_arena *arena = halo_build_arena(call);
  /* HLO's broadcast cannot stretch a dimension of size 1, so those to be stretched are dropped. */
  int64_t kept_dims[HALO_MAX_RANK], kept_map[HALO_MAX_RANK];
  bool kept_dynamic[HALO_MAX_RANK], dynamic[HALO_MAX_RANK] = {false};
  int kept = 0;
  for (int i = 0; i < from->rank; i++) {
    if (from->dims[i] != dims[mapping[i]]) continue;
    kept_dims[kept] = from->dims[i];
    kept_dynamic[kept] = dynamic[mapping[i]] = halo_shape_dim_is_dynamic(from, i);
    kept_map[kept++] = mapping[i];
  }
  if (kept == rank) return operand;
  if (kept < from->rank) {
    const halo_shape *shape =
        halo_shape_new_full(arena, from->type, kept, kept_dims, kept_dynamic, NULL);
    operand = halo_build_op(call, HALO_OP_RESHAPE, shape, (halo_instr *[3]){operand}, 0, NULL);
  }
  const halo_shape *shape = halo_shape_new_full(arena, from->type, rank, dims, dynamic, NULL);
  halo_attr attr = halo_build_ints(call, HALO_ATTR_DIMENSIONS, kept, kept_map);
  return halo_build_op(call, HALO_OP_BROADCAST, shape, (halo_instr *[3]){operand}, 1, &attr);
}

halo_instr *halo_build_fill(build_call *call, halo_instr *scalar, const halo_shape *like) {
  return halo_build_expand(call, scalar, like->rank, like->dims, NULL);
}

static void broadcast_fail(build_call *call, const halo_shape *lhs, const halo_shape *rhs,
                           const char *rule) {
  halo_arena scratch = {0};
  halo_build_fail(call, "operands %s and %s: %s", halo_shape_text(&scratch, lhs, false),
                  halo_shape_text(&scratch, rhs, false), rule);
  halo_arena_deinit(&scratch);
}

/* The list says where the smaller operand's dimensions lie in the larger one. */
static bool broadcast_check_list(build_call *call, const halo_shape *lhs, const halo_shape *rhs,
                                 int count, const int64_t *dims) {
  const halo_shape *small = lhs->rank < rhs->rank ? lhs : rhs;
  const halo_shape *large = small == lhs ? rhs : lhs;
  const char *rule = NULL;
  if (lhs->rank == rhs->rank) {
    bool identity = count == 0 || count == lhs->rank;
    for (int i = 0; identity && i < count; i++) identity = dims[i] == i;
    if (!identity) rule = "broadcast_dimensions must be empty or the identity for equal ranks";
  } else if (count != small->rank) {
    rule = count == 0 ? "ranks must be equal without broadcast_dimensions"
                      : "broadcast_dimensions must have one entry for each dimension of the "
                        "smaller operand";
  }
  for (int i = 0; !rule && i < count; i++) {
    if (dims[i] < 0 || dims[i] >= large->rank) {
      rule = "a broadcast dimension is out of range";
    } else if (i > 0 && dims[i] <= dims[i - 1]) {
      rule = "broadcast_dimensions must be strictly increasing";
    }
  }
  if (rule) broadcast_fail(call, lhs, rhs, rule);
  return rule == NULL;
}

void halo_build_broadcast_pair(build_call *call, halo_instr **lhs, halo_instr **rhs, int count,
                               const int64_t *dims) {
  if (!call->ok || !halo_build_check_list(call, count, dims, "broadcast_dimensions")) return;
  const halo_shape *l = (*lhs)->shape, *r = (*rhs)->shape;
  if (!broadcast_check_list(call, l, r, count, dims)) return;
  const halo_shape *small = l->rank < r->rank ? l : r, *large = small == l ? r : l;
  int64_t result[HALO_MAX_RANK], identity[HALO_MAX_RANK];
  for (int i = 0; i < large->rank; i++) {
    identity[i] = i;
    result[i] = large->dims[i];
  }
  const int64_t *mapping = l->rank == r->rank ? identity : dims;
  for (int i = 0; i < small->rank; i++) {
    int64_t a = small->dims[i], b = large->dims[mapping[i]];
    if (a != b && a != 1 && b != 1) {
      broadcast_fail(call, l, r, "sizes of a dimension differ and neither is 1");
      return;
    }
    result[mapping[i]] = b == 1 ? a : b;
  }
  int rank = large->rank;
  *lhs = halo_build_expand(call, *lhs, rank, result, small == l ? mapping : identity);
  *rhs = halo_build_expand(call, *rhs, rank, result, small == l ? identity : mapping);
}

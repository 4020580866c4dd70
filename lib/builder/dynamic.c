/* SPDX-License-Identifier: Apache-2.0 */
/* builder/dynamic.c: sizes of dimensions that are known at run time only. */
#include "builder/build.h"

halo_op halo_get_dimension_size(halo_op operand, int64_t dimension) {
  build_call call = halo_build_begin_with("halo_get_dimension_size", 1, &operand);
  halo_attr attr = halo_build_ints(&call, HALO_ATTR_DIMENSIONS, 1, &dimension);
  return halo_build_nary(&call, HALO_OP_GET_DIMENSION_SIZE, 1, &operand, 1, &attr);
}

static const halo_shape *dynamic_static_dim(build_call *call, const halo_shape *shape,
                                            int64_t dim) {
  bool marks[HALO_MAX_RANK];
  for (int i = 0; i < shape->rank; i++) marks[i] = i != dim && halo_shape_dim_is_dynamic(shape, i);
  return halo_shape_new_full(halo_build_arena(call), shape->type, shape->rank, shape->dims, marks,
                             NULL);
}

halo_op halo_set_dimension_size(halo_op operand, halo_op size, int64_t dimension) {
  const halo_op operands[] = {operand, size};
  build_call call = halo_build_begin_with("halo_set_dimension_size", 2, operands);
  halo_attr attr = halo_build_ints(&call, HALO_ATTR_DIMENSIONS, 1, &dimension);
  halo_instr *x = halo_build_array(&call, operand), *n = halo_build_operand(&call, size);
  if (!x || !n) return halo_build_result(&call, NULL);
  const halo_shape *shape = NULL;
  bool number = n->opcode == HALO_OP_CONSTANT && halo_shape_is_scalar_of(n->shape, HALO_S32);
  if (number && dimension >= 0 && dimension < x->shape->rank &&
      halo_literal_get_i64(n->literal, 0) == x->shape->dims[dimension]) {
    shape = dynamic_static_dim(&call, x->shape, dimension);
  }
  halo_instr *set =
      halo_build_op(&call, HALO_OP_SET_DIMENSION_SIZE, shape, (halo_instr *[3]){x, n}, 1, &attr);
  return halo_build_result(&call, set);
}

halo_op halo_remove_dynamic_dimension(halo_op operand, int64_t dimension) {
  build_call call = halo_build_begin_with("halo_remove_dynamic_dimension", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (!x) return halo_build_result(&call, NULL);
  if (dimension < 0 || dimension >= x->shape->rank || x->shape->dims[dimension] > INT32_MAX) {
    halo_build_fail(&call, "there is no dimension %lld with a bound that fits s32",
                    (long long)dimension);
    return halo_build_result(&call, NULL);
  }
  halo_op bound = halo_constant_s32(call.builder, (int32_t)x->shape->dims[dimension]);
  return halo_set_dimension_size(operand, bound, dimension);
}

halo_op halo_dynamic_reshape(halo_op operand, int rank, const halo_op *sizes, const int64_t *bounds,
                             const bool *dynamic) {
  build_call call = halo_build_begin_with("halo_dynamic_reshape", 1, &operand);
  if (!halo_build_check_list(&call, rank, bounds, "bounds") ||
      !halo_build_check_list(&call, rank, dynamic, "dynamic") ||
      !halo_build_check_list(&call, rank, sizes, "sizes")) {
    return halo_build_result(&call, NULL);
  }
  halo_instr *x = halo_build_array(&call, operand);
  halo_status status = x ? halo_shape_check_array(x->shape->type, rank, bounds) : HALO_OK;
  if (status != HALO_OK) halo_build_record(&call, status);
  halo_op operands[1 + HALO_MAX_RANK] = {operand};
  for (int i = 0; i < rank && call.ok; i++) operands[1 + i] = sizes[i];
  halo_instr **all = halo_build_operands(&call, 1 + rank, operands);
  if (!x || !all || !call.ok) return halo_build_result(&call, NULL);
  const halo_shape *shape =
      halo_shape_new_full(halo_build_arena(&call), x->shape->type, rank, bounds, dynamic, NULL);
  halo_instr_spec spec = {.opcode = HALO_OP_DYNAMIC_RESHAPE,
                          .shape = shape,
                          .operands = all,
                          .operand_count = 1 + rank};
  return halo_build_result(&call, halo_build_add(&call, &spec));
}

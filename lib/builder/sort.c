/* SPDX-License-Identifier: Apache-2.0 */
/* builder/sort.c: sort and its comparators, and the first of what is sorted. */
#include "builder/build.h"
#include "hlo/comparator.h"

halo_op halo_sort(halo_builder *builder, int count, const halo_op *operands, halo_comp comparator,
                  int64_t dimension, bool stable) {
  build_call call = halo_build_begin(builder, "halo_sort");
  if (call.ok && (count < 1 || !operands)) halo_build_fail(&call, "at least one operand is needed");
  halo_computation *before = halo_build_comp(&call, comparator);
  halo_instr *first = call.ok ? halo_build_array(&call, operands[0]) : NULL;
  if (!first) return halo_build_result(&call, NULL);
  if (dimension == -1) dimension = first->shape->rank - 1;
  halo_attr attrs[3] = {halo_build_ints(&call, HALO_ATTR_DIMENSIONS, 1, &dimension),
                        halo_build_comps(&call, HALO_ATTR_TO_APPLY, 1, &before),
                        halo_build_int(HALO_ATTR_IS_STABLE, 1)};
  return halo_build_nary(&call, HALO_OP_SORT, count, operands, stable ? 3 : 2, attrs);
}

/* Compares the first of the operands; of the others come two parameters each, which nothing reads. */
static halo_comp sort_comparator(halo_builder *builder, const char *name, int count,
                                 const halo_type *types, bool less) {
  build_call call = halo_build_begin(builder, name);
  if (call.ok && (count < 1 || !types)) halo_build_fail(&call, "at least one type is needed");
  if (!call.ok) return (halo_comp){.id = -1};
  halo_builder *sub = halo_builder_create_sub(builder, name);
  if (!sub) return (halo_comp){.id = -1};
  halo_op a = {.id = -1}, b = a;
  for (int i = 0; i < count; i++) {
    halo_shape scalar = {.type = types[i]};
    halo_op lhs = halo_parameter(sub, 2 * i, &scalar, "lhs");
    halo_op rhs = halo_parameter(sub, 2 * i + 1, &scalar, "rhs");
    if (i > 0) continue;
    a = lhs;
    b = rhs;
  }
  bool is_float = halo_type_is_float(types[0]);
  if (less)
    return halo_builder_finish_sub(sub, is_float ? halo_lt_total_order(a, b) : halo_lt(a, b));
  return halo_builder_finish_sub(sub, is_float ? halo_gt_total_order(a, b) : halo_gt(a, b));
}

halo_comp halo_comparator_lt(halo_builder *builder, int count, const halo_type *types) {
  return sort_comparator(builder, "halo_comparator_lt", count, types, true);
}

halo_comp halo_comparator_gt(halo_builder *builder, int count, const halo_type *types) {
  return sort_comparator(builder, "halo_comparator_gt", count, types, false);
}

halo_op halo_sort_ascending(halo_builder *builder, int count, const halo_op *operands,
                            int64_t dimension) {
  build_call call = halo_build_begin(builder, "halo_sort_ascending");
  if (call.ok && (count < 1 || !operands)) halo_build_fail(&call, "at least one operand is needed");
  if (!call.ok) return halo_build_result(&call, NULL);
  halo_type *types = halo_arena_array(halo_build_arena(&call), halo_type, count);
  for (int i = 0; i < count; i++) {
    halo_instr *operand = halo_build_array(&call, operands[i]);
    if (!operand) return halo_build_result(&call, NULL);
    types[i] = operand->shape->type;
  }
  return halo_sort(builder, count, operands, halo_comparator_lt(builder, count, types), dimension,
                   true);
}

halo_op halo_top_k(halo_op operand, int64_t k, bool largest) {
  build_call call = halo_build_begin_with("halo_top_k", 1, &operand);
  halo_attr attrs[2] = {halo_build_int(HALO_ATTR_K, k), halo_build_int(HALO_ATTR_LARGEST, largest)};
  return halo_build_nary(&call, HALO_OP_TOPK, 1, &operand, 2, attrs);
}

halo_op halo_top_k_by(halo_op operand, int64_t k, halo_comp comparator) {
  build_call call = halo_build_begin_with("halo_top_k_by", 1, &operand);
  halo_computation *before = halo_build_comp(&call, comparator);
  if (!before) return halo_build_result(&call, NULL);
  halo_sort_key keys[HALO_COMPARATOR_KEYS];
  bool two = before->params.count == 2 && halo_shape_is_scalar_of(before->root->shape, HALO_PRED);
  if (!two || halo_comparator_keys(before, keys) != 1 ||
      keys[0].value->opcode != HALO_OP_PARAMETER) {
    halo_build_fail(&call, "the comparator must compare its two parameters by < or >");
    return halo_build_result(&call, NULL);
  }
  return halo_top_k(operand, k, keys[0].descending);
}

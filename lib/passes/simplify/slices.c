/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/slices.c: rules for slice, concatenate, dynamic-slice, dynamic-update-slice. */
#include "base/vec.h"
#include "passes/simplify/simplify.h"

/* ---- slice ---- */

static halo_instr *slices_of_slice(halo_rewriter *r, halo_instr *instr, halo_instr *inner,
                                   const int64_t *outer_range) {
  int32_t count;
  const int64_t *inner_range = halo_instr_ints(inner, HALO_ATTR_SLICE, &count);
  int64_t range[3 * HALO_MAX_RANK];
  for (int32_t d = 0; d < instr->shape->rank; d++) {
    /* Strides beyond the dimension mean one element; keep the products small. */
    int64_t extent = halo_simplify_arg(inner, 0)->shape->dims[d];
    int64_t stride;
    if (__builtin_mul_overflow(inner_range[3 * d + 2], outer_range[3 * d + 2], &stride)) {
      stride = extent;
    }
    int64_t start = inner_range[3 * d] + outer_range[3 * d] * inner_range[3 * d + 2];
    range[3 * d] = start;
    range[3 * d + 1] = start + (instr->shape->dims[d] - 1) * stride + 1;
    range[3 * d + 2] = stride;
  }
  return halo_rewrite_make_listed(r, instr, HALO_OP_SLICE, instr->shape,
                                  halo_simplify_arg(inner, 0), HALO_ATTR_SLICE, range, count);
}

/* The slice lies inside one operand of the concatenation. */
static halo_instr *slices_of_concatenate(halo_rewriter *r, halo_instr *instr, halo_instr *inner,
                                         const int64_t *outer_range) {
  int32_t count;
  int64_t dim = halo_instr_ints(inner, HALO_ATTR_DIMENSIONS, &count)[0];
  int64_t start = outer_range[3 * dim];
  int64_t last = start + (instr->shape->dims[dim] - 1) * outer_range[3 * dim + 2];
  int64_t offset = 0;
  for (int32_t i = 0; i < inner->operand_count; i++) {
    halo_instr *part = halo_simplify_arg(inner, i);
    int64_t extent = part->shape->dims[dim];
    if (start >= offset && last < offset + extent) {
      int64_t range[3 * HALO_MAX_RANK];
      for (int32_t k = 0; k < 3 * instr->shape->rank; k++) range[k] = outer_range[k];
      range[3 * dim] = start - offset;
      range[3 * dim + 1] = last - offset + 1;
      return halo_rewrite_make_listed(r, instr, HALO_OP_SLICE, instr->shape, part, HALO_ATTR_SLICE,
                                      range, 3 * instr->shape->rank);
    }
    offset += extent;
  }
  return NULL;
}

halo_instr *halo_simplify_slice(halo_rewriter *r, halo_instr *instr) {
  int32_t count;
  halo_instr *operand = instr->operands[0];
  const int64_t *range = halo_instr_ints(instr, HALO_ATTR_SLICE, &count);
  /* Empty results are replaced as a whole before; below each dimension has an element. */
  if (halo_shape_same_dims(instr->shape, operand->shape)) return operand;
  halo_instr *scalar = halo_simplify_scalar(operand);
  if (scalar) return halo_rewrite_make_splat(r, instr, scalar, instr->shape);
  if (operand->opcode == HALO_OP_SLICE) return slices_of_slice(r, instr, operand, range);
  if (operand->opcode == HALO_OP_CONCATENATE) {
    return slices_of_concatenate(r, instr, operand, range);
  }
  if (operand->opcode == HALO_OP_GET_TUPLE_ELEMENT) return halo_simplify_sorted(r, instr, operand);
  return NULL;
}

/* ---- concatenate ---- */

halo_instr *halo_simplify_concatenate(halo_rewriter *r, halo_instr *instr) {
  int32_t count;
  int64_t dim = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0];
  halo_instr *scalar = halo_simplify_scalar(instr->operands[0]);
  int32_t kept = 0;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_instr *part = instr->operands[i];
    if (part->shape->dims[dim] == 0) continue;
    if (halo_simplify_scalar(part) != scalar) scalar = NULL;
    instr->operands[kept++] = part;
  }
  if (kept != instr->operand_count) {
    instr->operand_count = kept;
    r->changed = true;
    scalar = NULL;
  }
  if (kept == 1) return instr->operands[0];
  return scalar ? halo_rewrite_make_splat(r, instr, scalar, instr->shape) : NULL;
}

/* ---- dynamic-slice, dynamic-update-slice ---- */

/* The starts when all are constants, clamped as the semantics ask. */
static bool slices_constant_starts(const halo_instr *instr, int32_t first,
                                   const halo_shape *operand, const halo_shape *window,
                                   int64_t *starts) {
  if (instr->operand_count != first + operand->rank) return false;
  for (int32_t d = 0; d < operand->rank; d++) {
    int64_t most = operand->dims[d] - window->dims[d];
    const halo_instr *index = instr->operands[first + d];
    starts[d] = 0;
    if (most == 0) continue; /* whatever the index is */
    const halo_literal *literal = halo_simplify_splat(index);
    if (!literal || index->shape->rank != 0) return false;
    int64_t value = halo_literal_get_i64(literal, 0);
    bool huge = value < 0 && halo_type_is_uint(index->shape->type);
    if (huge || value > most) value = most;
    starts[d] = value < 0 ? 0 : value;
  }
  return true;
}

halo_instr *halo_simplify_dynamic_slice(halo_rewriter *r, halo_instr *instr) {
  halo_instr *operand = instr->operands[0];
  if (halo_shape_same_dims(instr->shape, operand->shape)) return operand;
  halo_instr *scalar = halo_simplify_scalar(operand);
  if (scalar) return halo_rewrite_make_splat(r, instr, scalar, instr->shape);
  int64_t starts[HALO_MAX_RANK], range[3 * HALO_MAX_RANK];
  if (!slices_constant_starts(instr, 1, operand->shape, instr->shape, starts)) return NULL;
  for (int32_t d = 0; d < operand->shape->rank; d++) {
    range[3 * d] = starts[d];
    range[3 * d + 1] = starts[d] + instr->shape->dims[d];
    range[3 * d + 2] = 1;
  }
  return halo_rewrite_make_listed(r, instr, HALO_OP_SLICE, instr->shape, operand, HALO_ATTR_SLICE,
                                  range, 3 * operand->shape->rank);
}

halo_instr *halo_simplify_dynamic_update_slice(halo_rewriter *r, halo_instr *instr) {
  (void)r;
  halo_instr *operand = instr->operands[0], *update = instr->operands[1];
  if (halo_shape_same_dims(operand->shape, update->shape)) return update;
  if (halo_shape_element_count(update->shape) == 0) return operand;
  return NULL;
}

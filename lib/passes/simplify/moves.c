/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/moves.c: rules for ops that only move elements: reshape, transpose, broadcast,
 * reverse, pad, iota. */
#include "passes/simplify/simplify.h"

/* The same scalar everywhere stays so, however it is moved: broadcast(scalar) in the new shape. */
static halo_instr *moves_splat(halo_rewriter *r, halo_instr *instr, halo_instr *operand) {
  halo_instr *scalar = halo_simplify_scalar(operand);
  if (!scalar || operand->shape->rank == 0) return NULL;
  return halo_rewrite_make_splat(r, instr, scalar, instr->shape);
}

halo_instr *halo_simplify_reshape(halo_rewriter *r, halo_instr *instr) {
  halo_instr *operand = instr->operands[0];
  if (halo_shape_same_dims(instr->shape, operand->shape)) return operand;
  if (operand->opcode == HALO_OP_RESHAPE) {
    return halo_rewrite_make_unary(r, instr, HALO_OP_RESHAPE, instr->shape,
                                   halo_simplify_arg(operand, 0));
  }
  return moves_splat(r, instr, operand);
}

/* ---- transpose ---- */

static bool moves_is_identity(const int64_t *perm, int32_t rank) {
  for (int32_t i = 0; i < rank; i++) {
    if (perm[i] != i) return false;
  }
  return true;
}

/* Dimensions of size other than 1 keep their order. */
static bool moves_only_ones(const halo_shape *operand, const int64_t *perm) {
  int64_t last = -1;
  for (int32_t i = 0; i < operand->rank; i++) {
    if (operand->dims[perm[i]] == 1) continue;
    if (perm[i] < last) return false;
    last = perm[i];
  }
  return true;
}

halo_instr *halo_simplify_transpose(halo_rewriter *r, halo_instr *instr) {
  int32_t rank, inner_count;
  halo_instr *operand = instr->operands[0];
  const int64_t *perm = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &rank);
  if (moves_is_identity(perm, rank)) return operand;
  halo_instr *splat = moves_splat(r, instr, operand);
  if (splat) return splat;
  int64_t composed[HALO_MAX_RANK];
  if (operand->opcode == HALO_OP_TRANSPOSE) {
    const int64_t *inner = halo_instr_ints(operand, HALO_ATTR_DIMENSIONS, &inner_count);
    for (int32_t i = 0; i < rank; i++) composed[i] = inner[perm[i]];
    return halo_rewrite_make_listed(r, instr, HALO_OP_TRANSPOSE, instr->shape,
                                    halo_simplify_arg(operand, 0), HALO_ATTR_DIMENSIONS, composed,
                                    rank);
  }
  if (operand->opcode == HALO_OP_BROADCAST) {
    const int64_t *inner = halo_instr_ints(operand, HALO_ATTR_DIMENSIONS, &inner_count);
    int64_t place[HALO_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) place[perm[i]] = i;
    for (int32_t i = 0; i < inner_count; i++) composed[i] = place[inner[i]];
    return halo_rewrite_make_listed(r, instr, HALO_OP_BROADCAST, instr->shape,
                                    halo_simplify_arg(operand, 0), HALO_ATTR_DIMENSIONS, composed,
                                    inner_count);
  }
  if (moves_only_ones(operand->shape, perm)) {
    return halo_rewrite_make_unary(r, instr, HALO_OP_RESHAPE, instr->shape, operand);
  }
  return NULL;
}

/* ---- broadcast ---- */

static bool moves_ascending(const int64_t *dims, int32_t count) {
  for (int32_t i = 1; i < count; i++) {
    if (dims[i] <= dims[i - 1]) return false;
  }
  return true;
}

halo_instr *halo_simplify_broadcast(halo_rewriter *r, halo_instr *instr) {
  int32_t count, inner_count;
  halo_instr *operand = instr->operands[0];
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  if (count == instr->shape->rank) {
    if (moves_is_identity(dims, count)) return operand;
    /* A permutation: out.dim(dims[i]) = in.dim(i). */
    int64_t perm[HALO_MAX_RANK];
    for (int32_t i = 0; i < count; i++) perm[dims[i]] = i;
    return halo_rewrite_make_listed(r, instr, HALO_OP_TRANSPOSE, instr->shape, operand,
                                    HALO_ATTR_DIMENSIONS, perm, count);
  }
  if (operand->opcode == HALO_OP_BROADCAST) {
    const int64_t *inner = halo_instr_ints(operand, HALO_ATTR_DIMENSIONS, &inner_count);
    int64_t composed[HALO_MAX_RANK];
    for (int32_t i = 0; i < inner_count; i++) composed[i] = dims[inner[i]];
    return halo_rewrite_make_listed(r, instr, HALO_OP_BROADCAST, instr->shape,
                                    halo_simplify_arg(operand, 0), HALO_ATTR_DIMENSIONS, composed,
                                    inner_count);
  }
  if (count > 0 && moves_ascending(dims, count) &&
      halo_shape_element_count(instr->shape) == halo_shape_element_count(operand->shape)) {
    return halo_rewrite_make_unary(r, instr, HALO_OP_RESHAPE, instr->shape, operand);
  }
  return NULL;
}

/* ---- reverse, pad, iota ---- */

halo_instr *halo_simplify_reverse(halo_rewriter *r, halo_instr *instr) {
  int32_t count, inner_count;
  halo_instr *operand = instr->operands[0];
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  bool moves = false;
  for (int32_t i = 0; i < count; i++) moves |= instr->shape->dims[dims[i]] > 1;
  if (!moves) return operand;
  if (operand->opcode == HALO_OP_REVERSE) {
    const int64_t *inner = halo_instr_ints(operand, HALO_ATTR_DIMENSIONS, &inner_count);
    int seen[HALO_MAX_RANK] = {0};
    int64_t left[HALO_MAX_RANK];
    int32_t left_count = 0;
    for (int32_t i = 0; i < count; i++) seen[dims[i]] ^= 1;
    for (int32_t i = 0; i < inner_count; i++) seen[inner[i]] ^= 1;
    for (int32_t d = 0; d < instr->shape->rank; d++) {
      if (seen[d]) left[left_count++] = d;
    }
    return halo_rewrite_make_listed(r, instr, HALO_OP_REVERSE, instr->shape,
                                    halo_simplify_arg(operand, 0), HALO_ATTR_DIMENSIONS, left,
                                    left_count);
  }
  return moves_splat(r, instr, operand);
}

halo_instr *halo_simplify_pad(halo_rewriter *r, halo_instr *instr) {
  int32_t count;
  halo_instr *operand = instr->operands[0], *value = instr->operands[1];
  const int64_t *padding = halo_instr_ints(instr, HALO_ATTR_PADDING, &count);
  bool crops = false, adds = false, inside = false;
  int64_t range[3 * HALO_MAX_RANK];
  for (int32_t d = 0; d < operand->shape->rank; d++) {
    int64_t low = padding[3 * d], high = padding[3 * d + 1], interior = padding[3 * d + 2];
    crops |= low < 0 || high < 0;
    adds |= low > 0 || high > 0;
    inside |= interior > 0 && operand->shape->dims[d] > 1;
    range[3 * d] = -low;
    range[3 * d + 1] = operand->shape->dims[d] + high;
    range[3 * d + 2] = 1;
  }
  if (!crops && !adds && !inside) return operand;
  halo_instr *scalar = halo_simplify_scalar(operand);
  if (scalar && scalar == value && operand->shape->rank > 0) {
    return halo_rewrite_make_splat(r, instr, scalar, instr->shape);
  }
  if (crops && !adds && !inside) {
    return halo_rewrite_make_listed(r, instr, HALO_OP_SLICE, instr->shape, operand, HALO_ATTR_SLICE,
                                    range, 3 * operand->shape->rank);
  }
  return NULL;
}

halo_instr *halo_simplify_iota(halo_rewriter *r, halo_instr *instr) {
  int64_t dim = halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, 0);
  return instr->shape->dims[dim] == 1 ? halo_simplify_fill(r, instr, 0) : NULL;
}

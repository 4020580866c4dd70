/* SPDX-License-Identifier: Apache-2.0 */
/* passes/layout/dots.c: transposes around matrix products move into their dimension numbers, where they cost
 * nothing: kernels read operands in any order and the result can be computed transposed. Integers that were
 * widened in front of a product are multiplied as they are. */
#include "base/memory.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

#include <string.h>

static const halo_attr_id dots_side_attrs[2][2] = {
    {HALO_ATTR_LHS_BATCH_DIMS, HALO_ATTR_LHS_CONTRACTING_DIMS},
    {HALO_ATTR_RHS_BATCH_DIMS, HALO_ATTR_RHS_CONTRACTING_DIMS}};

/* dot(transpose(x), y) = dot(x, y) with other dimension numbers, as long as the free dimensions of x
 * come in the same order. */
static bool dots_fold_operand(halo_rewriter *r, halo_instr *dot, int side) {
  halo_instr *transpose = dot->operands[side];
  if (transpose->opcode != HALO_OP_TRANSPOSE || transpose->control_pred_count) return false;
  int32_t rank;
  const int64_t *permutation = halo_instr_ints(transpose, HALO_ATTR_DIMENSIONS, &rank);
  bool used[HALO_MAX_RANK] = {false};
  halo_attr attrs[2];
  for (int k = 0; k < 2; k++) {
    int32_t count;
    const int64_t *dims = halo_instr_ints(dot, dots_side_attrs[side][k], &count);
    int64_t mapped[HALO_MAX_RANK];
    for (int32_t i = 0; i < count; i++) {
      used[dims[i]] = true;
      mapped[i] = permutation[dims[i]];
    }
    attrs[k] =
        halo_rewrite_list_attr(r->computation->module, dots_side_attrs[side][k], mapped, count);
  }
  int64_t last = -1;
  for (int32_t d = 0; d < rank; d++) {
    if (used[d] || transpose->shape->dims[d] == 1) continue;
    if (permutation[d] < last) return false;
    last = permutation[d];
  }
  for (int k = 0; k < 2; k++) {
    if (attrs[k].ints.count || halo_instr_attr(dot, attrs[k].id))
      halo_instr_set_attr(dot, &attrs[k]);
  }
  dot->operands[side] = halo_rewrite_resolve(transpose->operands[0]);
  r->changed = true;
  return true;
}

/* dot(convert(x), convert(y)) of integers that are only widened = dot(x, y): narrow ones are multiplied in pairs. */
static bool dots_fold_widening(halo_rewriter *r, halo_instr *dot) {
  halo_type to = dot->shape->type;
  if (to != HALO_S32 && to != HALO_U32) return false;
  halo_type from = HALO_TYPE_INVALID;
  for (int side = 0; side < 2; side++) {
    const halo_instr *convert = dot->operands[side];
    if (convert->opcode != HALO_OP_CONVERT || convert->control_pred_count > 0 ||
        convert->shape->type != to) {
      return false;
    }
    halo_type type = convert->operands[0]->shape->type;
    bool narrow = type == HALO_S8 || type == HALO_U8 || type == HALO_S16;
    if (!narrow || (side == 1 && type != from)) return false;
    from = type;
  }
  for (int side = 0; side < 2; side++) {
    dot->operands[side] = halo_rewrite_resolve(dot->operands[side]->operands[0]);
  }
  r->changed = true;
  return true;
}

/* Dimensions of extent 1 may stand elsewhere among an operand's free ones now, and so do the result's. */
static void dots_mend_result(halo_rewriter *r, halo_instr *dot) {
  halo_module *module = r->computation->module;
  int64_t dims[2 * HALO_MAX_RANK];
  int rank = 0;
  for (int side = 0; side < 2; side++) {
    bool used[HALO_MAX_RANK] = {false};
    const halo_shape *shape = dot->operands[side]->shape;
    for (int k = 0; k < 2; k++) {
      int32_t count;
      const int64_t *list = halo_instr_ints(dot, dots_side_attrs[side][k], &count);
      for (int32_t i = 0; i < count; i++) {
        used[list[i]] = true;
        if (side == 0 && k == 0) dims[rank++] = shape->dims[list[i]];
      }
    }
    for (int d = 0; d < shape->rank; d++) {
      if (!used[d]) dims[rank++] = shape->dims[d];
    }
  }
  const halo_shape *shape = halo_shape_new(&module->arena, dot->shape->type, rank, dims);
  if (halo_shape_same_dims(shape, dot->shape)) return;
  halo_instr *mended =
      halo_rewrite_make(r, dot, HALO_OP_DOT, shape, dot->operands, 2, dot->attrs, dot->attr_count);
  halo_rewrite_replace(r, dot,
                       halo_rewrite_make_unary(r, dot, HALO_OP_RESHAPE, dot->shape, mended));
}

/* transpose(dot(x, y)) that only exchanges the free dimensions of x and y = dot(y, x). */
static bool dots_fold_result(halo_rewriter *r, halo_instr *transpose, const int32_t *uses,
                             int32_t use_count) {
  halo_instr *dot = transpose->operands[0];
  if (dot->opcode != HALO_OP_DOT || dot->operand_count != 2) return false;
  if (dot->id >= use_count || uses[dot->id] != 1 || dot == r->computation->root) return false;
  int32_t batch, contracting, rank;
  halo_instr_ints(dot, HALO_ATTR_LHS_BATCH_DIMS, &batch);
  halo_instr_ints(dot, HALO_ATTR_LHS_CONTRACTING_DIMS, &contracting);
  int left = dot->operands[0]->shape->rank - batch - contracting;
  int right = dot->operands[1]->shape->rank - batch - contracting;
  const int64_t *permutation = halo_instr_ints(transpose, HALO_ATTR_DIMENSIONS, &rank);
  for (int32_t d = 0; d < rank; d++) {
    int64_t want = d < batch ? d : d < batch + right ? d + left : d - right;
    if (permutation[d] != want) return false;
  }
  halo_attr *attrs = halo_alloc(sizeof *attrs * (size_t)dot->attr_count);
  for (int32_t i = 0; i < dot->attr_count; i++) {
    attrs[i] = dot->attrs[i];
    for (int k = 0; k < 2; k++) {
      if (dot->attrs[i].id == dots_side_attrs[0][k]) attrs[i].id = dots_side_attrs[1][k];
      if (dot->attrs[i].id == dots_side_attrs[1][k]) attrs[i].id = dots_side_attrs[0][k];
    }
    if (attrs[i].id == HALO_ATTR_OPERAND_PRECISION && attrs[i].ints.count == 2) {
      int64_t swapped[2] = {attrs[i].ints.data[1], attrs[i].ints.data[0]};
      attrs[i] = halo_rewrite_list_attr(r->computation->module, attrs[i].id, swapped, 2);
    }
  }
  halo_instr *operands[2] = {dot->operands[1], dot->operands[0]};
  halo_instr *swapped =
      halo_rewrite_make(r, dot, HALO_OP_DOT, transpose->shape, operands, 2, attrs, dot->attr_count);
  halo_free(attrs);
  halo_rewrite_replace(r, transpose, swapped);
  return true;
}

halo_status halo_pass_dots(halo_module *module, bool *changed) {
  *changed = false;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_computation *computation = module->computations.data[c];
    int32_t use_count = module->next_id;
    int32_t *uses = halo_alloc(sizeof *uses * (size_t)use_count);
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      for (int32_t o = 0; o < instr->operand_count; o++) uses[instr->operands[o]->id]++;
    }
    halo_rewriter r;
    halo_rewrite_begin(&r, computation);
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      halo_instr *instr = halo_rewrite_next(&r, i);
      if (!instr || halo_rewrite_pinned(instr)) continue;
      if (instr->opcode == HALO_OP_DOT && instr->operand_count == 2) {
        bool folded = false, widened = true;
        while (widened) { /* there may be transposes behind conversions */
          for (int side = 0; side < 2; side++) {
            while (dots_fold_operand(&r, instr, side)) folded = true;
          }
          widened = dots_fold_widening(&r, instr);
        }
        if (folded) dots_mend_result(&r, instr);
      }
      if (instr->opcode == HALO_OP_TRANSPOSE) dots_fold_result(&r, instr, uses, use_count);
    }
    halo_status status = halo_rewrite_end(&r, changed);
    halo_free(uses);
    HALO_TRY(status);
  }
  return HALO_OK;
}

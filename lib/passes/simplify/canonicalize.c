/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/canonicalize.c: old and redundant forms become the ones that the rest of the library knows:
 * identity ops go, tuple-select becomes selects of leaves, index vectors become scalars, scalar
 * operands of select and clamp are broadcast, bitcasts become reshapes and transposes. Forms that have to do with
 * element types: canonical_types.c and mixed.c. */
#include "passes/simplify/canonicalize.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

/* ---- Ordering and identity ---- */

/* add-dependency(x, token): x, and its users run after what made the token. */
static void canonical_add_dependency(halo_rewriter *r, halo_instr *instr) {
  halo_instr *token = instr->operands[1];
  while (token->opcode == HALO_OP_AFTER_ALL && token->operand_count == 1) {
    token = token->operands[0];
  }
  bool source = token->opcode != HALO_OP_PARAMETER &&
                !(token->opcode == HALO_OP_AFTER_ALL && token->operand_count == 0);
  if (source) halo_rewrite_add_control_pred(instr, token);
  halo_rewrite_replace(r, instr, instr->operands[0]);
}

/* A parameter is there from the start: who uses it, or comes after it, comes after what it was said to come after. */
static void canonical_parameters(halo_rewriter *r) {
  halo_computation *c = r->computation;
  bool any = false;
  for (int32_t p = 0; p < c->params.count; p++) any |= c->params.data[p]->control_pred_count > 0;
  if (!any) return;
  for (int32_t i = 0; i < c->instrs.count; i++) {
    halo_instr *instr = c->instrs.data[i];
    int32_t preds = instr->control_pred_count;
    for (int32_t k = 0; k < instr->operand_count + preds; k++) {
      const halo_instr *before = k < preds ? instr->control_preds[k] : instr->operands[k - preds];
      if (before->opcode != HALO_OP_PARAMETER) continue;
      for (int32_t q = 0; q < before->control_pred_count; q++) {
        halo_rewrite_add_control_pred(instr, before->control_preds[q]);
      }
    }
  }
  for (int32_t p = 0; p < c->params.count; p++) c->params.data[p]->control_pred_count = 0;
  r->changed = true;
}

/* ---- tuple-select ---- */

static bool canonical_selectable(const halo_shape *shape) {
  if (halo_shape_is_array(shape) || halo_shape_is_token(shape)) return true;
  if (!halo_shape_is_tuple(shape)) return false;
  for (int32_t i = 0; i < shape->count; i++) {
    if (!canonical_selectable(shape->elements[i])) return false;
  }
  return true;
}

static halo_instr *canonical_select_leaves(halo_rewriter *r, halo_instr *like, halo_instr *pred,
                                           halo_instr *a, halo_instr *b) {
  halo_arena *arena = &r->computation->module->arena;
  const halo_shape *shape = a->shape;
  if (halo_shape_is_token(shape)) {
    return halo_rewrite_make_binary(r, like, HALO_OP_AFTER_ALL, shape, a, b);
  }
  if (halo_shape_is_array(shape)) {
    const halo_shape *mask = halo_shape_with_type(arena, shape, HALO_PRED);
    halo_instr *operands[] = {halo_rewrite_make_splat(r, like, pred, mask), a, b};
    return halo_rewrite_make(r, like, HALO_OP_SELECT, shape, operands, 3, NULL, 0);
  }
  HALO_VEC(halo_instr *) parts = {0};
  for (int32_t i = 0; i < shape->count; i++) {
    halo_vec_push(&parts,
                  canonical_select_leaves(r, like, pred, halo_rewrite_make_gte(r, like, a, i),
                                          halo_rewrite_make_gte(r, like, b, i)));
  }
  halo_instr *tuple =
      halo_rewrite_make(r, like, HALO_OP_TUPLE, shape, parts.data, parts.count, NULL, 0);
  halo_vec_deinit(&parts);
  return tuple;
}

/* ---- Scalar operands ---- */

static void canonical_broadcast_operand(halo_rewriter *r, halo_instr *instr, int32_t index) {
  halo_instr *operand = instr->operands[index];
  if (operand->shape->rank != 0 || instr->shape->rank == 0) return;
  const halo_shape *shape =
      halo_shape_with_type(&r->computation->module->arena, instr->shape, operand->shape->type);
  instr->operands[index] = halo_rewrite_make_splat(r, instr, operand, shape);
  r->changed = true;
}

/* The index vector at operand `first` becomes one scalar a dimension. */
static void canonical_index_vector(halo_rewriter *r, halo_instr *instr, int32_t first) {
  if (instr->operand_count != first + 1 || instr->operands[first]->shape->rank != 1) return;
  halo_module *module = r->computation->module;
  halo_instr *vector = instr->operands[first];
  int32_t rank = instr->operands[0]->shape->rank;
  halo_instr **operands = halo_arena_array(&module->arena, halo_instr *, first + rank);
  for (int32_t i = 0; i < first; i++) operands[i] = instr->operands[i];
  const int64_t one = 1;
  halo_type type = vector->shape->type;
  const halo_shape *element = halo_shape_new(&module->arena, type, 1, &one);
  const halo_shape *scalar = halo_shape_new(&module->arena, type, 0, NULL);
  for (int32_t d = 0; d < rank; d++) {
    const int64_t range[] = {d, d + 1, 1};
    halo_instr *part = halo_rewrite_make_listed(r, instr, HALO_OP_SLICE, element, vector,
                                                HALO_ATTR_SLICE, range, 3);
    operands[first + d] = halo_rewrite_make_unary(r, instr, HALO_OP_RESHAPE, scalar, part);
  }
  instr->operands = operands;
  instr->operand_count = first + rank;
  r->changed = true;
}

/* ---- bitcast ---- */

static bool canonical_plain_array(const halo_shape *shape) {
  return halo_shape_is_array(shape) && !halo_shape_is_dynamic(shape) && !shape->layout_extras;
}

/* ---- The pass ---- */

static void canonical_domain(halo_rewriter *r, halo_instr *instr) {
  halo_rewrite_replace(r, instr, instr->operands[0]);
}

static void canonical_copy(halo_rewriter *r, halo_instr *instr) {
  bool same = halo_shape_equal(instr->shape, instr->operands[0]->shape);
  if (same) halo_rewrite_replace(r, instr, instr->operands[0]);
}

static void canonical_tuple_select(halo_rewriter *r, halo_instr *instr) {
  if (!canonical_selectable(instr->shape)) return;
  halo_rewrite_replace(r, instr,
                       canonical_select_leaves(r, instr, instr->operands[0], instr->operands[1],
                                               instr->operands[2]));
}

static void canonical_select(halo_rewriter *r, halo_instr *instr) {
  canonical_broadcast_operand(r, instr, 0);
}

static void canonical_clamp(halo_rewriter *r, halo_instr *instr) {
  canonical_broadcast_operand(r, instr, 0);
  canonical_broadcast_operand(r, instr, 2);
  if (halo_type_is_complex(instr->shape->type)) halo_canonical_complex_clamp(r, instr);
}

static void canonical_dynamic_slice(halo_rewriter *r, halo_instr *instr) {
  canonical_index_vector(r, instr, 1);
}

static void canonical_dynamic_update_slice(halo_rewriter *r, halo_instr *instr) {
  canonical_index_vector(r, instr, 2);
}

static void canonical_bitcast_op(halo_rewriter *r, halo_instr *instr) {
  if (!canonical_plain_array(instr->shape)) return;
  if (!canonical_plain_array(instr->operands[0]->shape)) return;
  halo_rewrite_replace(r, instr, halo_bitcast_expand(r, instr));
}

static halo_canonical_rule *const canonical_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_DOMAIN] = canonical_domain,
    [HALO_OP_ADD_DEPENDENCY] = canonical_add_dependency,
    [HALO_OP_COPY] = canonical_copy,
    [HALO_OP_TUPLE_SELECT] = canonical_tuple_select,
    [HALO_OP_SELECT] = canonical_select,
    [HALO_OP_CLAMP] = canonical_clamp,
    [HALO_OP_DYNAMIC_SLICE] = canonical_dynamic_slice,
    [HALO_OP_DYNAMIC_UPDATE_SLICE] = canonical_dynamic_update_slice,
    [HALO_OP_FFT] = halo_canonical_fft,
    [HALO_OP_COMPARE] = halo_canonical_compare,
    [HALO_OP_ALL_REDUCE] = halo_canonical_collective,
    [HALO_OP_ALL_GATHER] = halo_canonical_collective,
    [HALO_OP_REDUCE_SCATTER] = halo_canonical_collective,
    [HALO_OP_ALL_TO_ALL] = halo_canonical_collective,
    [HALO_OP_COLLECTIVE_PERMUTE] = halo_canonical_collective,
    [HALO_OP_COLLECTIVE_BROADCAST] = halo_canonical_collective,
    [HALO_OP_COLLECTIVE_REDUCE] = halo_canonical_collective,
    [HALO_OP_BITCAST] = canonical_bitcast_op,
    [HALO_OP_BITCAST_CONVERT] = halo_canonical_bitcast_convert,
};

halo_status halo_pass_canonicalize(halo_module *module, bool *changed) {
  *changed = false;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_rewriter r;
    halo_rewrite_begin(&r, module->computations.data[c]);
    canonical_parameters(&r);
    for (int32_t i = 0; i < r.computation->instrs.count; i++) {
      halo_instr *instr = halo_rewrite_next(&r, i);
      if (!instr) continue;
      halo_mixed_convert(&r, instr);
      instr = halo_rewrite_next(&r, i);
      if (instr && canonical_rules[instr->opcode]) canonical_rules[instr->opcode](&r, instr);
    }
    HALO_TRY(halo_rewrite_end(&r, changed));
  }
  return HALO_OK;
}

static void canonical_drop_barrier(halo_rewriter *r, halo_instr *instr) {
  if (instr->opcode == HALO_OP_OPT_BARRIER) halo_rewrite_replace(r, instr, instr->operands[0]);
}

halo_status halo_pass_drop_barriers(halo_module *module, bool *changed) {
  return halo_rewrite_instrs(module, canonical_drop_barrier, changed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/reduce.c: reductions over dimensions between which others are kept, as several over neighbouring
 * dimensions. Kernels reduce rows or columns, in parts that work side by side and lose few digits; what alternates
 * was added up element by element, by one work item for each result, and sums of 2^24 ones in f32 grew no more. */
#include "passes/expand/expand.h"

/* Elements that a result is made of from which on it is worth a second reduction, and those of the longest stretch of
 * reduced dimensions: what lies between the reductions is so much smaller than the operand. */
enum { REDUCE_LONG = 4096, REDUCE_STRETCH = 16 };

typedef struct reduce_stretches {
  int32_t count;
  int first, end;   /* dimensions of the longest */
  int64_t elements; /* of the longest */
} reduce_stretches;

/* Dimensions of one element neither make nor divide a stretch. */
static reduce_stretches reduce_find(const halo_shape *shape, const bool *reduced) {
  reduce_stretches all = {0};
  int64_t elements = 1;
  int first = -1;
  for (int d = 0; d <= shape->rank; d++) {
    if (d < shape->rank && shape->dims[d] == 1) continue;
    if (d < shape->rank && reduced[d]) {
      if (first < 0) first = d;
      elements *= shape->dims[d];
      continue;
    }
    if (first >= 0 && elements > all.elements) {
      all.first = first;
      all.end = d;
      all.elements = elements;
    }
    all.count += first >= 0;
    first = -1;
    elements = 1;
  }
  return all;
}

/* Whether operands are combined in any order, and by what. */
static bool reduce_describe(const halo_instr *instr, halo_opcode *op) {
  if (instr->operand_count != 2) return false;
  const halo_instr *root = halo_instr_comp(instr, HALO_ATTR_TO_APPLY)->root;
  if (root->operand_count != 2 || root->operands[0] == root->operands[1]) return false;
  for (int k = 0; k < 2; k++) {
    if (root->operands[k]->opcode != HALO_OP_PARAMETER) return false;
    if (root->operands[k]->shape->type != instr->shape->type) return false;
  }
  *op = root->opcode;
  return *op == HALO_OP_ADD || *op == HALO_OP_MULTIPLY || *op == HALO_OP_MAXIMUM ||
         *op == HALO_OP_MINIMUM || *op == HALO_OP_AND || *op == HALO_OP_OR;
}

/* The reduction of `a` over those of its dimensions from `first` to `end` - 1 that are reduced; `reduced` becomes what
 * is left to do. */
static halo_instr *reduce_some(halo_expander *x, halo_instr *a, halo_instr *start,
                               halo_computation *body, bool *reduced, int first, int end) {
  if (!a) return NULL;
  halo_module *module = x->r->computation->module;
  int64_t dims[HALO_MAX_RANK];
  int32_t count = 0;
  for (int d = 0; d < a->shape->rank; d++) {
    if (reduced[d] && d >= first && d < end) {
      dims[count++] = d;
    } else {
      reduced[d - count] = reduced[d];
    }
  }
  halo_computation **comps = halo_arena_new(&module->arena, halo_computation *);
  *comps = body;
  halo_attr attrs[2] = {halo_rewrite_list_attr(module, HALO_ATTR_DIMENSIONS, dims, count),
                        {.id = HALO_ATTR_TO_APPLY, .comps = {comps, 1}}};
  return halo_expand_op(x, HALO_OP_REDUCE, (halo_instr *[]){a, start}, 2, attrs, 2);
}

halo_instr *halo_expand_reduce(halo_expander *x, halo_instr *instr) {
  halo_opcode op;
  if (!reduce_describe(instr, &op)) return NULL;
  halo_instr *a = instr->operands[0], *start = instr->operands[1];
  halo_computation *body = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  halo_type type = instr->shape->type;
  bool reduced[HALO_MAX_RANK] = {false};
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  int64_t elements = 1;
  for (int32_t i = 0; i < count; i++) {
    reduced[dims[i]] = true;
    elements *= a->shape->dims[dims[i]];
  }
  reduce_stretches all = reduce_find(a->shape, reduced);
  if (all.count < 2 || all.elements < REDUCE_STRETCH || elements < REDUCE_LONG) return NULL;
  bool sums = op == HALO_OP_ADD || op == HALO_OP_MULTIPLY;
  if (sums && halo_type_is_float(type) && halo_type_size(type) < 4) {
    /* Narrow floats are added up in f32, and rounded once. */
    a = halo_expand_convert(x, a, HALO_F32);
    start = halo_expand_convert(x, start, HALO_F32);
    body = halo_expand_combiner(x, op, HALO_F32);
  }
  /* What results start with goes into the last reduction, and into all where it may be met more than once. */
  halo_instr *neutral = start;
  if (sums) neutral = halo_expand_scalar(x, body->root->shape->type, op == HALO_OP_MULTIPLY);
  while (a && all.count > 1) {
    a = reduce_some(x, a, neutral, body, reduced, all.first, all.end);
    if (a) all = reduce_find(a->shape, reduced);
  }
  a = reduce_some(x, a, start, body, reduced, 0, HALO_MAX_RANK);
  return halo_expand_convert(x, a, type);
}

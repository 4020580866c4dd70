/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/loop_sums.c: a round of a loop adds to a part of a sum in place. The gradient of a loop whose rounds read parts of
 * an array adds zeros with a part put in, or with updates scattered in, to a whole sum in each round. Here the part is
 * added to that part of the sum, and the updates are scattered into the sum.
 *
 * The full sum would turn -0 into 0 elsewhere. XLA makes these rewrites too and leaves -0 as it is (it keeps the sum where
 * zeros are padded around a part). Which of several updates of an element is added first is up to the scatter, and so is
 * when the sum itself is. */
#include "hlo/collective.h"
#include "passes/loops/loop_state.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

#include <math.h>

/* A part is at most one of so many of its sum: one kernel that adds to all of it takes no longer otherwise. */
enum { SUMS_LESS = 4 };

/* 0 everywhere, and not -0. */
static bool sums_is_zero(const halo_instr *instr) {
  if (instr->opcode == HALO_OP_BROADCAST || instr->opcode == HALO_OP_RESHAPE) {
    return sums_is_zero(instr->operands[0]);
  }
  if (instr->opcode != HALO_OP_CONSTANT || !halo_shape_is_scalar(instr->shape) ||
      instr->literal->elided) {
    return false;
  }
  double re, im;
  halo_literal_get_c128(instr->literal, 0, &re, &im);
  return re == 0 && im == 0 && !signbit(re) && !signbit(im);
}

/* ---- What a round brings ---- */

static bool sums_is_little(const halo_instr *part, const halo_instr *sum) {
  int64_t most = halo_shape_element_count(sum->shape) / SUMS_LESS;
  return halo_shape_element_count(part->shape) <= most;
}

static bool sums_is_slice(const halo_instr *instr) {
  return instr->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE && sums_is_zero(instr->operands[0]) &&
         instr->operand_count == 2 + instr->shape->rank &&
         sums_is_little(instr->operands[1], instr);
}

/* Zeros around, none between. */
static bool sums_is_padded(const halo_instr *instr) {
  bool pad = instr->opcode == HALO_OP_PAD && sums_is_zero(instr->operands[1]);
  if (!pad || !sums_is_little(instr->operands[0], instr)) return false;
  int32_t count;
  const int64_t *padding = halo_instr_ints(instr, HALO_ATTR_PADDING, &count);
  bool plain = true;
  for (int d = 0; d < instr->shape->rank; d++) {
    plain &= padding[3 * d] >= 0 && padding[3 * d + 1] >= 0 && padding[3 * d + 2] == 0;
  }
  return plain;
}

/* One window: each element gets one update. */
static bool sums_scatters_once(const halo_instr *scatter) {
  int32_t batching, mapped;
  halo_instr_ints(scatter, HALO_ATTR_INPUT_BATCHING_DIMS, &batching);
  halo_instr_ints(scatter, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, &mapped);
  return batching == 0 && halo_shape_element_count(scatter->operands[1]->shape) == mapped;
}

/* Whether elements become sums of what they were and of updates. Several updates of f16, bf16 and f8 do not: they are
 * added up before they meet a sum in which each by itself would be lost. */
static bool sums_adds(const halo_instr *scatter) {
  halo_type type = scatter->shape->type;
  bool narrow = halo_type_is_float(type) && halo_type_size(type) < 4;
  halo_opcode opcode;
  return (!narrow || sums_scatters_once(scatter)) &&
         halo_collective_plain_reducer(halo_instr_comp(scatter, HALO_ATTR_TO_APPLY), &opcode) &&
         opcode == HALO_OP_ADD;
}

static bool sums_is_scattered(const halo_instr *instr) {
  return instr->opcode == HALO_OP_SCATTER && halo_shape_is_array(instr->shape) &&
         sums_is_zero(instr->operands[0]) && sums_adds(instr);
}

/* Whether the types of an instruction and of its operands, but for indices, are all this one. */
static bool sums_is_of_type(const halo_instr *instr, halo_type type) {
  bool same = instr->shape->type == type;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    halo_type read = instr->operands[o]->shape->type;
    same &= read == type || halo_type_is_integral(read);
  }
  return same;
}

/* Which operand of a sum is zeros but for something, which nothing else reads; -1: none. */
static int sums_find_new(const halo_computation *c, const halo_instr *sum) {
  if (sum->opcode != HALO_OP_ADD || halo_rewrite_pinned(sum)) return -1;
  if (!sums_is_of_type(sum, sum->shape->type)) return -1;
  for (int o = 1; o >= 0; o--) {
    const halo_instr *new = sum->operands[o];
    bool found = sums_is_slice(new) || sums_is_padded(new) || sums_is_scattered(new);
    if (found && !halo_rewrite_pinned(new) && sums_is_of_type(new, sum->shape->type) &&
        halo_loop_count_uses(c, new) == 1) {
      return o;
    }
  }
  return -1;
}

/* ---- The way of a sum through a computation ---- */

static bool sums_is_former(const halo_instr *value) {
  const halo_instr *param = value;
  if (value->opcode == HALO_OP_GET_TUPLE_ELEMENT) param = value->operands[0];
  return param->opcode == HALO_OP_PARAMETER;
}

/* What this value was before something was added or put in; NULL when it was something else. */
static halo_instr *sums_before(const halo_computation *c, const halo_instr *value) {
  bool update = value->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE || value->opcode == HALO_OP_SCATTER;
  if (update && halo_shape_is_array(value->shape)) return halo_rewrite_resolve(value->operands[0]);
  int new = sums_find_new(c, value);
  return new < 0 ? NULL : halo_rewrite_resolve(value->operands[1 - new]);
}

/* Whether a value is what the computation was given, with something added and put in. */
static bool sums_goes_on(const halo_computation *c, const halo_instr *value) {
  while (value && !sums_is_former(value)) value = sums_before(c, value);
  return value != NULL;
}

/* ---- Putting together ---- */

static halo_instr *sums_add_part(halo_rewriter *r, halo_instr *sum, halo_instr *before,
                                 halo_instr *part, halo_instr *const *starts) {
  int rank = sum->shape->rank;
  halo_instr *operands[2 + HALO_MAX_RANK] = {before};
  for (int d = 0; d < rank; d++) operands[1 + d] = starts[d];
  halo_attr sizes = halo_rewrite_list_attr(r->computation->module, HALO_ATTR_DYNAMIC_SLICE_SIZES,
                                           part->shape->dims, rank);
  halo_instr *old =
      halo_rewrite_make(r, sum, HALO_OP_DYNAMIC_SLICE, part->shape, operands, 1 + rank, &sizes, 1);
  for (int d = 0; d < rank; d++) operands[2 + d] = starts[d];
  operands[1] = halo_rewrite_make_binary(r, sum, HALO_OP_ADD, part->shape, old, part);
  return halo_rewrite_make(r, sum, HALO_OP_DYNAMIC_UPDATE_SLICE, sum->shape, operands, 2 + rank,
                           NULL, 0);
}

static halo_instr *sums_add_padded(halo_rewriter *r, halo_instr *sum, halo_instr *before,
                                   halo_instr *pad) {
  int32_t count;
  const int64_t *padding = halo_instr_ints(pad, HALO_ATTR_PADDING, &count);
  halo_instr *starts[HALO_MAX_RANK];
  for (int d = 0; d < sum->shape->rank; d++) {
    starts[d] = halo_rewrite_make_scalar(r, pad, HALO_S64, padding[3 * d]);
  }
  return sums_add_part(r, sum, before, pad->operands[0], starts);
}

static void sums_add(halo_rewriter *r, halo_instr *sum, halo_instr *before, halo_instr *new) {
  halo_instr *made;
  if (new->opcode == HALO_OP_SCATTER) {
    halo_instr *operands[] = {before, new->operands[1], new->operands[2]};
    made = halo_rewrite_make(r, new, HALO_OP_SCATTER, sum->shape, operands, 3, new->attrs,
                             new->attr_count);
  } else if (new->opcode == HALO_OP_PAD) {
    made = sums_add_padded(r, sum, before, new);
  } else {
    made = sums_add_part(r, sum, before, new->operands[1], new->operands + 2);
  }
  halo_rewrite_replace(r, sum, made);
}

static void sums_join(halo_rewriter *r, halo_instr *value) {
  const halo_computation *c = r->computation;
  value = halo_rewrite_resolve(value);
  if (!sums_goes_on(c, value)) return;
  while (!sums_is_former(value)) {
    halo_instr *before = sums_before(c, value);
    int new = sums_find_new(c, value);
    if (new >= 0) sums_add(r, value, before, value->operands[new]);
    value = before;
  }
}

/* ---- Loops and branches ---- */

/* What a round of a loop or a branch, perhaps in a loop, hands on. */
static halo_status sums_run(halo_computation *c, bool *changed) {
  if (c->mark != 1) return HALO_OK;
  halo_rewriter r;
  halo_rewrite_begin(&r, c);
  bool several = c->root->opcode == HALO_OP_TUPLE;
  for (int32_t o = 0; several && o < c->root->operand_count; o++) {
    sums_join(&r, c->root->operands[o]);
  }
  if (!several) sums_join(&r, c->root);
  return halo_rewrite_end(&r, changed);
}

halo_status halo_pass_loop_sums(halo_module *module, bool *changed) {
  *changed = false;
  halo_loop_count_callers(module);
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      if (instr->opcode == HALO_OP_WHILE) {
        HALO_TRY(sums_run(halo_instr_comp(instr, HALO_ATTR_BODY), changed));
      }
      if (instr->opcode != HALO_OP_CONDITIONAL) continue;
      for (int32_t b = 0; b < halo_instr_called_count(instr); b++) {
        HALO_TRY(sums_run(halo_instr_called(instr, b), changed));
      }
    }
  }
  return HALO_OK;
}

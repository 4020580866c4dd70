/* SPDX-License-Identifier: Apache-2.0 */
/* partition/tidy.c: what is done to a computation when it is written: sums of what was summed up over the
 * same partitions are summed up once (gradients of several products meet again), and what nothing needs goes. */
#include "base/pointer_map.h"
#include "partition/spmd.h"

#include <string.h>

static intptr_t tidy_uses(const halo_pointer_map *uses, const halo_instr *instr) {
  return (intptr_t)halo_pointer_map_get(uses, instr);
}

static void tidy_count(halo_pointer_map *uses, const halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    for (int32_t o = 0; o < instr->operand_count; o++) {
      intptr_t count = tidy_uses(uses, instr->operands[o]) + 1;
      halo_pointer_map_set(uses, instr->operands[o], (void *)count);
    }
  }
}

/* An all-reduce that adds, which nothing else reads. */
static bool tidy_is_one(const halo_pointer_map *uses, const halo_instr *instr) {
  if (instr->opcode != HALO_OP_ALL_REDUCE || instr->operand_count != 1) return false;
  const halo_computation *combiner = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  return combiner->root->opcode == HALO_OP_ADD && tidy_uses(uses, instr) == 1 &&
         halo_instr_int(instr, HALO_ATTR_USE_GLOBAL_DEVICE_IDS, 0) != 0 &&
         !halo_rewrite_pinned(instr) && instr->parent->root != instr;
}

static bool tidy_same_groups(const halo_instr *a, const halo_instr *b) {
  const halo_groups *x = halo_instr_attr(a, HALO_ATTR_REPLICA_GROUPS)->groups;
  const halo_groups *y = halo_instr_attr(b, HALO_ATTR_REPLICA_GROUPS)->groups;
  if (x->count != y->count || x->starts[x->count] != y->starts[y->count]) return false;
  return memcmp(x->starts, y->starts, sizeof *x->starts * (size_t)(x->count + 1)) == 0 &&
         memcmp(x->ids, y->ids, sizeof *x->ids * (size_t)x->starts[x->count]) == 0;
}

static halo_status tidy_join_sums(halo_computation *computation) {
  halo_pointer_map uses = {0};
  halo_rewriter r;
  bool changed;
  tidy_count(&uses, computation);
  halo_rewrite_begin(&r, computation);
  int32_t count = computation->instrs.count;
  for (int32_t i = 0; i < count; i++) {
    halo_instr *sum = halo_rewrite_next(&r, i);
    if (!sum || sum->opcode != HALO_OP_ADD || halo_rewrite_pinned(sum)) continue;
    halo_instr *a = sum->operands[0], *b = sum->operands[1];
    if (a == b || !tidy_is_one(&uses, a) || !tidy_is_one(&uses, b) || !tidy_same_groups(a, b))
      continue;
    halo_instr *part =
        halo_rewrite_make_binary(&r, sum, HALO_OP_ADD, sum->shape, a->operands[0], b->operands[0]);
    halo_instr *all =
        halo_rewrite_make(&r, a, HALO_OP_ALL_REDUCE, sum->shape, &part, 1, a->attrs, a->attr_count);
    intptr_t users = tidy_uses(&uses, sum);
    if (users) halo_pointer_map_set(&uses, all, (void *)users);
    halo_rewrite_replace(&r, sum, all);
    halo_rewrite_replace(&r, a, part); /* nothing reads them now */
    halo_rewrite_replace(&r, b, part);
  }
  halo_pointer_map_deinit(&uses);
  return halo_rewrite_end(&r, &changed);
}

/* Collectives count as having effects, since partitions wait for each other there; those that this pass made are
 * made, or not, on all of them. */
static bool tidy_has_effect(const halo_spmd *p, const halo_instr *instr) {
  if (!halo_instr_has_side_effect(instr)) return false;
  return !halo_opcode_has_trait(instr->opcode, HALO_TRAIT_COLL) ||
         halo_instr_int(instr, HALO_ATTR_CHANNEL_ID, 0) < p->first_channel;
}

static void tidy_remove_dead(const halo_spmd *p, halo_computation *computation) {
  int32_t kept = 0;
  for (int32_t i = 0; i < computation->instrs.count; i++) computation->instrs.data[i]->mark = 0;
  computation->root->mark = 1;
  for (int32_t i = computation->instrs.count - 1; i >= 0; i--) {
    halo_instr *instr = computation->instrs.data[i];
    instr->mark |= instr->opcode == HALO_OP_PARAMETER || tidy_has_effect(p, instr);
    for (int32_t o = 0; instr->mark && o < instr->operand_count; o++) instr->operands[o]->mark = 1;
    for (int32_t c = 0; instr->mark && c < instr->control_pred_count; c++) {
      instr->control_preds[c]->mark = 1;
    }
  }
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    if (instr->mark) computation->instrs.data[kept++] = instr;
  }
  computation->instrs.count = kept;
}

halo_status halo_spmd_tidy(const halo_spmd *p, halo_computation *computation) {
  tidy_remove_dead(p, computation);
  return tidy_join_sums(computation);
}

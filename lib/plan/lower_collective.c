/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_collective.c: exchanges with other devices, as passes/expand/exchange.c leaves them. */
#include "hlo/collective.h"
#include "plan/lowering.h"

static const struct {
  halo_opcode opcode;
  halo_collective_kind kind;
} collective_kinds[] = {
    {HALO_OP_ALL_GATHER, HALO_COLLECTIVE_GATHER},
    {HALO_OP_ALL_REDUCE, HALO_COLLECTIVE_GATHER},
    {HALO_OP_REDUCE_SCATTER, HALO_COLLECTIVE_SWAP},
    {HALO_OP_ALL_TO_ALL, HALO_COLLECTIVE_SWAP},
    {HALO_OP_COLLECTIVE_BROADCAST, HALO_COLLECTIVE_BROADCAST},
    {HALO_OP_COLLECTIVE_PERMUTE, HALO_COLLECTIVE_PERMUTE},
    {HALO_OP_RAGGED_ALL_TO_ALL, HALO_COLLECTIVE_RAGGED},
};

static void collective_set_groups(halo_arena *arena, const halo_instr *instr,
                                  halo_plan_collective *out) {
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_REPLICA_GROUPS);
  int32_t count = attr ? attr->groups->starts[attr->groups->count] : 0;
  const int64_t *ids = attr ? attr->groups->ids : NULL;
  if (!attr) ids = halo_instr_ints(instr, HALO_ATTR_SOURCE_TARGET_PAIRS, &count);
  out->group_count = attr ? attr->groups->count : count / 2;
  int32_t *starts = halo_arena_array(arena, int32_t, out->group_count + 1);
  int32_t *members = halo_arena_array(arena, int32_t, count + 1);
  for (int32_t g = 0; g <= out->group_count; g++)
    starts[g] = attr ? attr->groups->starts[g] : 2 * g;
  for (int32_t i = 0; i < count; i++) members[i] = (int32_t)ids[i];
  out->starts = starts;
  out->members = members;
}

static const struct {
  halo_opcode opcode;
  halo_fold_op fold, of_pred;
} collective_folds[] = {
    {HALO_OP_ADD, HALO_FOLD_ADD, HALO_FOLD_OR},
    {HALO_OP_MULTIPLY, HALO_FOLD_MULTIPLY, HALO_FOLD_AND},
    {HALO_OP_MAXIMUM, HALO_FOLD_MAXIMUM, HALO_FOLD_OR},
    {HALO_OP_MINIMUM, HALO_FOLD_MINIMUM, HALO_FOLD_AND},
    {HALO_OP_AND, HALO_FOLD_AND, HALO_FOLD_AND},
    {HALO_OP_OR, HALO_FOLD_OR, HALO_FOLD_OR},
    {HALO_OP_XOR, HALO_FOLD_XOR, HALO_FOLD_XOR},
};

/* Where there is a reducer, passes/expand/exchange.c found that the host can combine; what passes noted on it since changes
 * nothing. */
static void collective_set_fold(const halo_instr *instr, halo_plan_collective *out) {
  const halo_computation *reducer = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  if (!reducer) return;
  for (size_t i = 0; i < sizeof collective_folds / sizeof collective_folds[0]; i++) {
    if (collective_folds[i].opcode != reducer->root->opcode) continue;
    bool pred = instr->shape->type == HALO_PRED;
    out->fold = pred ? collective_folds[i].of_pred : collective_folds[i].fold;
  }
  const halo_attr *groups = halo_instr_attr(instr, HALO_ATTR_REPLICA_GROUPS);
  out->fold_type = instr->shape->type;
  out->fold_pairs = halo_collective_in_pairs(groups->groups);
}

halo_status lower_collective(lower_state *s, halo_instr *instr, halo_steps *steps) {
  halo_arena *arena = &s->plan->arena;
  size_t k = 0, kinds = sizeof collective_kinds / sizeof collective_kinds[0];
  while (k < kinds && collective_kinds[k].opcode != instr->opcode) k++;
  bool ready = halo_instr_attr(instr, HALO_ATTR_EXCHANGE) && halo_shape_is_array(instr->shape);
  if (k == kinds || !ready) return halo_emitter_check(instr);
  halo_plan_collective *collective = halo_arena_new(arena, halo_plan_collective);
  collective->kind = collective_kinds[k].kind;
  collective->op = (uint32_t)halo_instr_int(instr, HALO_ATTR_EXCHANGE, 0);
  const halo_attr *title = halo_instr_attr(instr, HALO_ATTR_EXCHANGE_FOR);
  collective->what = halo_arena_strdup(arena, title ? title->text : instr->name);
  collective_set_groups(arena, instr, collective);
  collective_set_fold(instr, collective);
  int32_t *leaves = lower_leaves(s, instr);
  leaves[0] = lower_temp(s, instr->shape, instr->name);
  bool ragged = collective->kind == HALO_COLLECTIVE_RAGGED;
  if (ragged) {
    const halo_shape *rows = instr->operands[0]->shape, *lists = instr->operands[2]->shape;
    collective->row_count = rows->dims[0];
    collective->result_rows = instr->shape->dims[0];
    int64_t bytes = halo_shape_byte_size(instr->shape);
    collective->row_bytes = collective->result_rows > 0 ? bytes / collective->result_rows : 0;
    collective->updates = lists->rank == 2 ? lists->dims[1] : 1;
    lower_copy(s, steps, lower_value(instr->operands[1])[0], leaves[0], instr->name);
  }
  halo_step *step = lower_step(s, steps, HALO_STEP_COLLECTIVE, instr->name);
  step->collective = collective;
  s->plan->is_shared = true;
  lower_set_args(s, step, ragged ? 5 : 2);
  lower_arg(s, step, 0, lower_value(instr->operands[0])[0], 1, false);
  lower_arg(s, step, 1, leaves[0], 1, true);
  for (int32_t i = 2; ragged && i < 5; i++) {
    lower_arg(s, step, i, lower_value(instr->operands[i])[0], 1, false);
  }
  step->bytes = halo_shape_byte_size(instr->shape);
  return HALO_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* partition/rules_indexed.c: which dimensions of the arrays of gather and scatter go together. */
#include "partition/spmd.h"

typedef struct rule_list {
  const int64_t *data;
  int32_t count;
} rule_list;

static rule_list rule_attr_list(const halo_instr *instr, halo_attr_id id) {
  rule_list list;
  list.data = halo_instr_ints(instr, id, &list.count);
  return list;
}

static bool rule_in(rule_list list, int64_t value) {
  for (int32_t i = 0; i < list.count; i++) {
    if (list.data[i] == value) return true;
  }
  return false;
}

/* Dimension `dim` of the operand beside which dimension of the indices it stands as a batch; -1: none. */
static int64_t rule_batch_of(rule_list indices_batch, rule_list operand_batch,
                             int64_t indices_dim) {
  for (int32_t i = 0; i < indices_batch.count; i++) {
    if (indices_batch.data[i] == indices_dim) return operand_batch.data[i];
  }
  return -1;
}

void halo_spmd_rule_gather(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  rule_list offset = rule_attr_list(instr, HALO_ATTR_OFFSET_DIMS);
  rule_list collapsed = rule_attr_list(instr, HALO_ATTR_COLLAPSED_SLICE_DIMS);
  rule_list batch = rule_attr_list(instr, HALO_ATTR_OPERAND_BATCHING_DIMS);
  rule_list indices_batch = rule_attr_list(instr, HALO_ATTR_START_INDICES_BATCHING_DIMS);
  rule_list map = rule_attr_list(instr, HALO_ATTR_START_INDEX_MAP);
  rule_list sizes = rule_attr_list(instr, HALO_ATTR_SLICE_SIZES);
  int64_t vector = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  const halo_shape *from = rule->leaf[0]->shape, *indices = rule->leaf[1]->shape;
  const halo_shape *to = rule->leaf[2]->shape;
  int64_t next = 0; /* dimension of the indices */
  for (int d = 0; d < to->rank; d++) {
    if (rule_in(offset, d)) continue;
    if (next == vector) next++;
    int32_t factor = halo_spmd_rule_pair(p, rule, 2, d, 1, next);
    int64_t beside = rule_batch_of(indices_batch, batch, next++);
    if (beside >= 0) halo_spmd_rule_put(p, rule, 0, beside, factor);
  }
  for (int d = 0, k = 0; d < from->rank; d++) {
    if (rule_in(batch, d)) continue;
    if (rule_in(collapsed, d)) {
      /* Each part gives the rows that it has. */
      bool alone = map.count == 1 && map.data[0] == d && indices->rank > 0;
      if (!alone || halo_type_is_complex(to->type) || from->dims[d] > INT32_MAX) continue;
      int32_t factor = halo_spmd_rule_factor(p, rule, from->dims[d], HALO_SPMD_SUMMED);
      halo_spmd_rule_put(p, rule, 0, d, factor);
      continue;
    }
    if (sizes.data[d] == from->dims[d]) halo_spmd_rule_pair(p, rule, 2, offset.data[k], 0, d);
    k++;
  }
}

void halo_spmd_rule_scatter(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  rule_list window = rule_attr_list(instr, HALO_ATTR_UPDATE_WINDOW_DIMS);
  rule_list inserted = rule_attr_list(instr, HALO_ATTR_INSERTED_WINDOW_DIMS);
  rule_list batch = rule_attr_list(instr, HALO_ATTR_INPUT_BATCHING_DIMS);
  rule_list indices_batch = rule_attr_list(instr, HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS);
  rule_list map = rule_attr_list(instr, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  int64_t vector = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0), next = 0;
  int32_t arrays = (rule->operands - 1) / 2, indices = arrays, updates = arrays + 1;
  const halo_shape *to = rule->leaf[0]->shape, *update = rule->leaf[updates]->shape;
  halo_computation *combiner = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  bool sums = arrays == 1 && halo_spmd_rule_can_combine(combiner, to->type);
  if (sums) rule->combiner = combiner;
  for (int d = 0; d < update->rank; d++) {
    if (rule_in(window, d)) continue;
    if (next == vector) next++;
    int64_t beside = rule_batch_of(indices_batch, batch, next);
    halo_spmd_factor_kind kind = beside >= 0 ? HALO_SPMD_PARALLEL : HALO_SPMD_SUMMED;
    if (beside < 0 && !sums) kind = HALO_SPMD_WHOLE;
    int32_t factor = halo_spmd_rule_factor(p, rule, update->dims[d], kind);
    halo_spmd_rule_put(p, rule, indices, next++, factor);
    for (int32_t t = 0; t < arrays; t++) {
      halo_spmd_rule_put(p, rule, updates + t, d, factor);
      if (beside < 0) continue;
      halo_spmd_rule_put(p, rule, t, beside, factor);
      halo_spmd_rule_put(p, rule, rule->operands + t, beside, factor);
    }
  }
  for (int d = 0, k = 0; d < to->rank; d++) {
    if (rule_in(batch, d)) continue;
    int64_t beside = rule_in(inserted, d) ? -1 : window.data[k++];
    if (beside >= 0 && update->dims[beside] == 0) continue;
    if (beside < 0 || update->dims[beside] != to->dims[d]) {
      /* Each part takes what of the windows lies in it, and needs all of them. */
      if (!rule_in(map, d) || to->dims[d] > INT32_MAX) continue;
      beside = -1;
    }
    int32_t factor = halo_spmd_rule_factor(p, rule, to->dims[d], HALO_SPMD_PARALLEL);
    for (int32_t t = 0; t < arrays; t++) {
      halo_spmd_rule_put(p, rule, t, d, factor);
      halo_spmd_rule_put(p, rule, rule->operands + t, d, factor);
      if (beside >= 0) halo_spmd_rule_put(p, rule, updates + t, beside, factor);
    }
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* partition/batch.c: custom calls that treat each problem of a batch by itself, LAPACK's routines among them:
 * partitions call the function for their part of the batch. */
#include "custom/custom.h"
#include "partition/ops.h"

#include <stdlib.h>
#include <string.h>

/* The calls that passes/expand/factors.c writes as LAPACK's: their first operand is a matrix. */
static bool batch_is_factors(const char *target) {
  static const char *const names[] = {"Qr", "Eigh", "ProductOfElementaryHouseholderReflectors"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i], target) == 0) return true;
  }
  return false;
}

/* What the call's target says, which nothing holds against the shapes yet. */
static int batch_said(const halo_instr *instr, const char *target) {
  const halo_custom_partitioner *partitioner = halo_custom_partitioner_find(target);
  if (partitioner && partitioner->function) return 0;
  const char *text = halo_spmd_frontend(instr, "num_batch_dims");
  if (partitioner && text) return atoi(text);
  const halo_custom_target *function = halo_custom_target_find(target);
  int rank = batch_is_factors(target) ? 2 : halo_custom_lapack_rank(target);
  /* A function that a user registered under such a name may compute anything. */
  if (rank < 0 || function != halo_custom_lapack_find(target) || instr->operand_count == 0)
    return 0;
  return instr->operands[0]->shape->rank - rank;
}

static bool batch_fits(const halo_shape *shape, const halo_shape *first, int dims) {
  for (int32_t i = 0; i < shape->count; i++) {
    if (!batch_fits(shape->elements[i], first, dims)) return false;
  }
  if (halo_shape_is_tuple(shape)) return true;
  if (!halo_shape_is_array(shape) || shape->rank < dims) return false;
  for (int d = 0; d < dims; d++) {
    if (shape->dims[d] != first->dims[d]) return false;
  }
  return true;
}

int halo_spmd_batch_dims(const halo_instr *instr) {
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  if (instr->opcode != HALO_OP_CUSTOM_CALL || !target || halo_instr_has_side_effect(instr)) {
    return 0;
  }
  int dims = batch_said(instr, target->text);
  bool fits = dims > 0 && instr->operand_count > 0;
  for (int32_t i = 0; i < instr->operand_count && fits; i++) {
    const halo_shape *shape = instr->operands[i]->shape;
    fits = halo_shape_is_array(shape) && batch_fits(shape, instr->operands[0]->shape, dims);
  }
  return fits && batch_fits(instr->shape, instr->operands[0]->shape, dims) ? dims : 0;
}

void halo_spmd_rule_batched(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  int dims = halo_spmd_batch_dims(instr);
  for (int d = 0; d < dims; d++) {
    int32_t factor =
        halo_spmd_rule_factor(p, rule, rule->leaf[0]->shape->dims[d], HALO_SPMD_PARALLEL);
    for (int32_t t = 0; t < rule->tensors; t++) halo_spmd_rule_put(p, rule, t, d, factor);
  }
}

static const halo_shape *batch_part(halo_spmd_site *s, int32_t tensor, const halo_shape *shape) {
  halo_spmd_sharding needed = halo_spmd_needed(s->p, s->rule, tensor, s->axes);
  return halo_spmd_local(s->p, shape, &needed);
}

/* The function wants the layouts that the call names: parts keep those. */
halo_instr *halo_spmd_batched(halo_spmd_site *s) {
  halo_spmd *p = s->p;
  const halo_spmd_node *node = halo_spmd_node_of(s->instr);
  const halo_shape **parts = halo_arena_array(&p->arena, const halo_shape *, node->count + 1);
  for (int32_t k = 0; k < node->count; k++) {
    parts[k] = batch_part(s, s->rule->operands + k, node->leaves[k]->shape);
  }
  s->shape = halo_spmd_with_leaves(p, s->instr->shape, parts);
  for (int32_t i = 0; i < s->attr_count; i++) {
    halo_attr *attr = &s->attrs[i];
    if (attr->id != HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS) continue;
    const halo_shape **shapes =
        halo_arena_array(&p->module->arena, const halo_shape *, attr->shapes.count + 1);
    for (int32_t k = 0; k < attr->shapes.count; k++) {
      shapes[k] = batch_part(s, k, attr->shapes.data[k]);
    }
    attr->shapes.data = shapes;
  }
  return halo_spmd_plain(s);
}

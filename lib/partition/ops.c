/* SPDX-License-Identifier: Apache-2.0 */
/* partition/ops.c: one partition's part of an operation, by the operation's rule. */
#include "partition/ops.h"

#include <math.h>
#include <string.h>

/* ---- Attributes ---- */

static void ops_copy_attrs(halo_spmd_site *s) {
  s->attrs = halo_arena_array(&s->p->module->arena, halo_attr, s->instr->attr_count + 1);
  for (int32_t i = 0; i < s->instr->attr_count; i++) {
    halo_attr_id id = s->instr->attrs[i].id;
    if (id == HALO_ATTR_SHARDING || id == HALO_ATTR_METADATA ||
        id == HALO_ATTR_INFERRED_DIMENSION) {
      continue; /* metadata comes from `like` */
    }
    s->attrs[s->attr_count++] = s->instr->attrs[i];
  }
}

static void ops_set_list(halo_spmd_site *s, halo_attr_id id, const int64_t *list, int32_t count) {
  for (int32_t i = 0; i < s->attr_count; i++) {
    if (s->attrs[i].id == id) {
      s->attrs[i] = halo_rewrite_list_attr(s->p->module, id, list, count);
    }
  }
}

/* ---- Operations that need no more than the shapes ---- */

/* Numbers are counted as integers, which no type rounds. */
halo_instr *halo_spmd_iota(halo_spmd_site *s) {
  halo_expander *x = &s->p->x;
  int64_t dim = halo_instr_int(s->instr, HALO_ATTR_IOTA_DIMENSION, 0);
  halo_instr *begin = halo_spmd_begin(s, 0, (int)dim);
  if (!begin) return halo_spmd_plain(s);
  const halo_shape *shape =
      halo_shape_with_type(&s->p->module->arena, s->shape, begin->shape->type);
  halo_instr *number = halo_expand_iota(x, shape, dim);
  number = halo_expand_binary(x, HALO_OP_ADD, number, halo_expand_splat(x, begin, shape));
  return halo_expand_convert(x, number, s->shape->type);
}

/* Dimensions that are cut between partitions are taken as they are. */
halo_instr *halo_spmd_slice(halo_spmd_site *s) {
  int64_t bounds[3 * HALO_MAX_RANK];
  int32_t count;
  const int64_t *written = halo_instr_ints(s->instr, HALO_ATTR_SLICE, &count);
  memcpy(bounds, written, sizeof *bounds * (size_t)count);
  for (int d = 0; d < s->shape->rank; d++) {
    int64_t all = s->instr->operands[0]->shape->dims[d];
    if (s->instr->shape->dims[d] == all) bounds[3 * d + 1] = s->shape->dims[d];
  }
  ops_set_list(s, HALO_ATTR_SLICE, bounds, count);
  return halo_spmd_plain(s);
}

halo_instr *halo_spmd_dynamic_slice(halo_spmd_site *s) {
  ops_set_list(s, HALO_ATTR_DYNAMIC_SLICE_SIZES, s->shape->dims, s->shape->rank);
  return halo_spmd_plain(s);
}

/* What the partitions have is combined from an identity on; the initial value comes last, once. */
halo_instr *halo_spmd_reduce(halo_spmd_site *s) {
  if (!s->summed) return halo_spmd_plain(s);
  halo_spmd *p = s->p;
  const halo_instr *init = s->instr->operands[1];
  bool plain = halo_spmd_is_identity(init, s->rule->combiner);
  if (!plain) s->operands[1] = halo_spmd_identity(p, s->rule->combiner);
  halo_instr *value = halo_spmd_plain(s);
  if (plain || !value) {
    halo_spmd_define_sum(s, value, s->rule->combiner);
    return NULL;
  }
  halo_spmd_leaf *leaf = halo_spmd_node_of(s->instr)->leaves[0];
  halo_spmd_sharding from = halo_spmd_needed(p, s->rule, s->rule->operands, s->axes);
  value = halo_spmd_combine(p, value, &from, s->summed, &leaf->box->sharding, s->rule->combiner);
  if (!value) return NULL;
  from.unreduced |= halo_spmd_summands_of_result(s->instr);
  halo_spmd_sharding once = halo_spmd_replicated(p, 0, from.manual);
  once.unreduced = from.unreduced; /* one of the partitions that have summands adds it */
  halo_instr *first = halo_spmd_value(p, halo_spmd_node_of(init)->leaves[0], &once);
  if (!first) return NULL;
  first = halo_expand_splat(&p->x, first, value->shape);
  value = halo_expand_binary(&p->x, s->rule->combiner->root->opcode, first, value);
  halo_spmd_define(p, leaf, value, &from);
  return NULL;
}

/* ---- The table ---- */

static halo_spmd_op_fn *const ops_table[HALO_OPCODE_COUNT] = {
    [HALO_OP_IOTA] = halo_spmd_iota,
    [HALO_OP_SLICE] = halo_spmd_slice,
    [HALO_OP_DYNAMIC_SLICE] = halo_spmd_dynamic_slice,
    [HALO_OP_DYNAMIC_UPDATE_SLICE] = halo_spmd_dynamic_update_slice,
    [HALO_OP_REDUCE] = halo_spmd_reduce,
    [HALO_OP_GATHER] = halo_spmd_gather,
    [HALO_OP_SCATTER] = halo_spmd_scatter,
    [HALO_OP_CONVOLUTION] = halo_spmd_convolution,
    [HALO_OP_REDUCE_WINDOW] = halo_spmd_reduce_window,
    [HALO_OP_PAD] = halo_spmd_pad,
};

void halo_spmd_define_sum(halo_spmd_site *s, halo_instr *value, halo_computation *combiner) {
  halo_spmd *p = s->p;
  halo_spmd_leaf *leaf = halo_spmd_node_of(s->instr)->leaves[0];
  halo_spmd_sharding from = halo_spmd_needed(p, s->rule, s->rule->operands, s->axes);
  if (!value) return;
  value = halo_spmd_combine(p, value, &from, s->summed, &leaf->box->sharding, combiner);
  from.unreduced |= halo_spmd_summands_of_result(s->instr);
  halo_spmd_define(p, leaf, value, &from);
}

/* The shape of one part of the result; in the layout that is the default, which what comes of the parts has. */
static const halo_shape *ops_shape(halo_spmd_site *s) {
  const halo_spmd_node *node = halo_spmd_node_of(s->instr);
  const halo_shape **leaves = halo_arena_array(&s->p->arena, const halo_shape *, node->count + 1);
  for (int32_t k = 0; k < node->count; k++) {
    halo_spmd_sharding needed = halo_spmd_needed(s->p, s->rule, s->rule->operands + k, s->axes);
    leaves[k] = halo_shape_with_default_layout(
        &s->p->module->arena, halo_spmd_local(s->p, node->leaves[k]->shape, &needed));
  }
  return halo_spmd_with_leaves(s->p, s->instr->shape, leaves);
}

void halo_spmd_write_ruled(halo_spmd *p, halo_instr *instr) {
  halo_spmd_node *node = halo_spmd_node_of(instr);
  halo_spmd_site s = {.p = p, .instr = instr, .rule = node->rule};
  s.axes = halo_spmd_assign(p, instr);
  s.summed = halo_spmd_summed(node->rule, s.axes);
  s.operands = halo_arena_array(&p->arena, halo_instr *, instr->operand_count + 1);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_spmd_sharding needed = halo_spmd_needed(p, node->rule, i, s.axes);
    needed.unreduced = halo_spmd_summands(instr, i);
    s.operands[i] = halo_spmd_value(p, halo_spmd_node_of(instr->operands[i])->leaves[0], &needed);
  }
  ops_copy_attrs(&s);
  s.shape = ops_shape(&s);
  halo_spmd_op_fn *write = ops_table[instr->opcode];
  int dim;
  int64_t by;
  if (halo_spmd_is_rotation(instr, &dim, &by)) write = halo_spmd_rotate;
  if (halo_spmd_batch_dims(instr) > 0) write = halo_spmd_batched;
  halo_instr *value = write ? write(&s) : halo_spmd_plain(&s);
  if (!value) return; /* it failed, or has defined its leaves itself */
  node->written = value;
  if (s.summed) {
    halo_computation *combiner = node->rule->combiner;
    if (!combiner) combiner = halo_expand_combiner(&p->x, HALO_OP_ADD, value->shape->type);
    halo_spmd_define_sum(&s, value, combiner);
    return;
  }
  halo_instr **values = halo_arena_array(&p->arena, halo_instr *, node->count + 1);
  halo_spmd_unpack(p, value, values);
  for (int32_t k = 0; k < node->count; k++) {
    halo_spmd_sharding from = halo_spmd_needed(p, node->rule, node->rule->operands + k, s.axes);
    from.unreduced = halo_spmd_summands_of_result(instr);
    halo_spmd_define(p, node->leaves[k], values[k], &from);
  }
}

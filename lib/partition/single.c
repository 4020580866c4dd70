/* SPDX-License-Identifier: Apache-2.0 */
/* partition/single.c: what happens once in the program, not once for each partition: callbacks, outfeeds,
 * what is sent to the host and received from it. One partition does it, and the others are told what came of it. */
#include "base/status.h"
#include "partition/spmd.h"

/* ---- A computation for the one, and one for the others ---- */

static halo_computation *single_computation(halo_spmd *p, const char *name, const halo_shape *param,
                                            halo_instr **out) {
  halo_computation *c = halo_computation_create(p->module, NULL);
  halo_instr_spec spec = {
      .opcode = HALO_OP_PARAMETER, .name = "operands", .shape = param, .line = p->x.like->line};
  c->name = halo_module_fresh_name(p->module, name);
  *out = halo_instr_create_unchecked(c, &spec);
  return c;
}

/* Zeros in the places of a result. */
static halo_instr *single_nothing(halo_spmd *p, const halo_shape *shape) {
  if (halo_shape_is_token(shape)) {
    return halo_rewrite_make(&p->r, p->x.like, HALO_OP_AFTER_ALL, shape, NULL, 0, NULL, 0);
  }
  if (halo_shape_is_array(shape)) {
    return halo_rewrite_make_splat(
        &p->r, p->x.like, halo_rewrite_make_scalar(&p->r, p->x.like, shape->type, 0), shape);
  }
  halo_instr **parts = halo_arena_array(&p->arena, halo_instr *, shape->count + 1);
  for (int32_t i = 0; i < shape->count; i++) parts[i] = single_nothing(p, shape->elements[i]);
  return halo_rewrite_make(&p->r, p->x.like, HALO_OP_TUPLE, shape, parts, shape->count, NULL, 0);
}

static halo_instr *single_copy(halo_spmd *p, const halo_instr *instr, halo_instr *const *operands) {
  halo_instr *copy = halo_rewrite_make(&p->r, instr, instr->opcode, instr->shape, operands,
                                       instr->operand_count, instr->attrs, instr->attr_count);
  halo_instr_remove_attr(copy, HALO_ATTR_SHARDING);
  return copy;
}

/* The instruction, and before it the one that begins what it ends. */
static halo_computation *single_one(halo_spmd *p, const halo_instr *begin, const halo_instr *end,
                                    const halo_shape *param) {
  halo_instr *operands,
      **parts = halo_arena_array(&p->arena, halo_instr *, begin->operand_count + 1);
  halo_computation *before = p->r.computation,
                   *c = single_computation(p, "alone", param, &operands);
  p->r.computation = c;
  for (int32_t i = 0; i < begin->operand_count; i++) {
    parts[i] = halo_rewrite_make_gte(&p->r, begin, operands, i);
  }
  c->root = single_copy(p, begin, parts);
  if (end != begin) c->root = single_copy(p, end, &c->root);
  p->r.computation = before;
  return c;
}

static halo_computation *single_others(halo_spmd *p, const halo_shape *result,
                                       const halo_shape *param) {
  halo_instr *operands;
  halo_computation *before = p->r.computation,
                   *c = single_computation(p, "others", param, &operands);
  p->r.computation = c;
  c->root = single_nothing(p, result);
  p->r.computation = before;
  return c;
}

/* ---- Writing ---- */

/* Everybody gets what `device` has. */
static halo_instr *single_tell(halo_spmd *p, halo_instr *value, int64_t device) {
  int64_t count = p->mesh.devices, *ids = halo_arena_array(&p->module->arena, int64_t, count);
  int32_t *starts = halo_arena_array(&p->module->arena, int32_t, 2), next = 0;
  halo_groups *groups = halo_arena_new(&p->module->arena, halo_groups);
  ids[next++] = device;
  for (int64_t i = 0; i < count; i++) {
    if (i != device) ids[next++] = i;
  }
  starts[1] = next;
  *groups = (halo_groups){.count = 1, .starts = starts, .ids = ids};
  const halo_attr attrs[] = {{.id = HALO_ATTR_CHANNEL_ID, .i = p->channel++},
                             {.id = HALO_ATTR_REPLICA_GROUPS, .groups = groups}};
  return halo_rewrite_make(&p->r, p->x.like, HALO_OP_COLLECTIVE_BROADCAST, value->shape, &value, 1,
                           attrs, 2);
}

static halo_instr *single_choose(halo_spmd *p, int64_t device) {
  halo_instr *me =
      halo_rewrite_make(&p->r, p->x.like, HALO_OP_PARTITION_ID,
                        halo_shape_new(&p->module->arena, HALO_U32, 0, NULL), NULL, 0, NULL, 0);
  halo_instr *one = halo_rewrite_make_scalar(&p->r, p->x.like, HALO_U32, device);
  return halo_expand_compare(&p->x, me, HALO_EQ, one);
}

static halo_attr single_attr(halo_spmd *p, halo_attr_id id, halo_computation *computation) {
  halo_computation **comps = halo_arena_new(&p->module->arena, halo_computation *);
  *comps = computation;
  return (halo_attr){.id = id, .comps = {comps, 1}};
}

halo_status halo_spmd_write_single(halo_spmd *p, halo_instr *instr) {
  bool ends = instr->opcode == HALO_OP_SEND_DONE || instr->opcode == HALO_OP_RECV_DONE;
  const halo_instr *begin = ends ? instr->operands[0] : instr;
  const halo_attr *said = halo_instr_attr(instr, HALO_ATTR_SHARDING);
  const halo_sharding *one = said ? halo_sharding_leaf(said->sharding, 0) : NULL;
  int64_t device = one && one->kind == HALO_SHARDING_MAXIMAL ? one->device : 0;
  if (device >= p->mesh.devices) device = 0;
  halo_instr **operands = halo_arena_array(&p->arena, halo_instr *, begin->operand_count + 1);
  const halo_shape **shapes =
      halo_arena_array(&p->arena, const halo_shape *, begin->operand_count + 1);
  for (int32_t i = 0; i < begin->operand_count; i++) {
    operands[i] = halo_spmd_whole_operand(p, begin->operands[i]);
    if (!operands[i]) return p->x.status;
    shapes[i] = operands[i]->shape;
  }
  const halo_shape *param = halo_shape_new_tuple(&p->module->arena, begin->operand_count, shapes);
  halo_instr *given = halo_rewrite_make(&p->r, instr, HALO_OP_TUPLE, param, operands,
                                        begin->operand_count, NULL, 0);
  halo_instr *choice[] = {single_choose(p, device), given, given};
  if (!choice[0]) return p->x.status;
  const halo_attr attrs[] = {
      single_attr(p, HALO_ATTR_TRUE_COMPUTATION, single_one(p, begin, instr, param)),
      single_attr(p, HALO_ATTR_FALSE_COMPUTATION, single_others(p, instr->shape, param))};
  halo_spmd_node *node = halo_spmd_node_of(instr);
  node->written =
      halo_rewrite_make(&p->r, instr, HALO_OP_CONDITIONAL, instr->shape, choice, 3, attrs, 2);
  halo_instr **values = halo_arena_array(&p->arena, halo_instr *, node->count + 1);
  halo_spmd_unpack(p, node->written, values);
  for (int32_t k = 0; k < node->count; k++) {
    halo_spmd_leaf *leaf = node->leaves[k];
    halo_spmd_sharding all = halo_spmd_replicated(p, leaf->shape->rank, 0);
    if (halo_spmd_is_array(leaf)) values[k] = single_tell(p, values[k], device);
    halo_spmd_define(p, leaf, values[k], &all);
  }
  return p->x.status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* partition/propagate.c: axes travel from what says its sharding to what does not, first along what only
 * passes elements on, then along everything. */
#include "partition/spmd.h"

#include <string.h>

static bool propagate_is_prefix(const halo_spmd_axes *a, const halo_spmd_axes *b) {
  return a->count <= b->count && memcmp(a->id, b->id, (size_t)a->count) == 0;
}

/* Dimensions get the axes that `wanted` has more of, as far as nothing else uses them. */
static bool propagate_extend(halo_spmd_box *box, const halo_spmd_sharding *wanted) {
  halo_spmd_sharding *s = &box->sharding;
  if (box->fixed) return false;
  uint32_t used = halo_spmd_set(s) | s->manual | s->unreduced | box->barred;
  bool changed = false;
  for (int d = 0; d < s->rank; d++) {
    halo_spmd_axes *have = &s->dims[d];
    const halo_spmd_axes *want = &wanted->dims[d];
    if ((box->closed >> d & 1) || !propagate_is_prefix(have, want)) continue;
    while (have->count < want->count && !(used & 1u << want->id[have->count])) {
      used |= 1u << want->id[have->count];
      have->id[have->count] = want->id[have->count];
      have->count++;
      changed = true;
    }
  }
  return changed;
}

/* The axes of each factor: what the first tensor says that says something, or another that says more of the
 * same. Results speak first. */
static void propagate_merge(halo_spmd *p, const halo_spmd_rule *rule, halo_spmd_assignment *axes,
                            halo_spmd_assignment *said) {
  memset(axes, 0, sizeof *axes * (size_t)rule->factors);
  for (int32_t i = 0; i < rule->tensors; i++) {
    int32_t t = (i + rule->operands) % rule->tensors;
    halo_spmd_project(p, rule, t, &rule->leaf[t]->box->sharding, said);
    for (int32_t f = 0; f < rule->factors; f++) {
      if (propagate_is_prefix(&axes[f], &said[f])) axes[f] = said[f];
    }
  }
}

static bool propagate_rule(halo_spmd *p, const halo_spmd_rule *rule, halo_spmd_assignment *room) {
  bool changed = false;
  propagate_merge(p, rule, room, room + rule->factors);
  for (int32_t t = rule->tensors - 1; t >= 0; t--) {
    /* What everybody needs all of gains nothing from being cut because a result is. */
    for (int32_t f = 0; f < rule->factors && t == rule->operands - 1; f++) {
      if (rule->kind[f] == HALO_SPMD_CARRIED) room[f].count = 0;
    }
    if (!halo_spmd_is_array(rule->leaf[t]) || rule->leaf[t]->box->fixed) continue;
    halo_spmd_axes dims[HALO_MAX_RANK];
    halo_spmd_sharding wanted = {.rank = rule->leaf[t]->shape->rank, .dims = dims};
    halo_spmd_assemble(p, rule, t, room, &wanted);
    changed |= propagate_extend(rule->leaf[t]->box, &wanted);
  }
  return changed;
}

static bool propagate_link(const halo_spmd_link *link) {
  if (!halo_spmd_is_array(link->a)) return false;
  bool changed = propagate_extend(link->a->box, &link->b->box->sharding);
  return propagate_extend(link->b->box, &link->a->box->sharding) || changed;
}

/* Where arrays of partitions begin or end, the axes behind those that are manual inside go on. */
static bool propagate_marker(const halo_instr *instr) {
  halo_spmd_marker marker = halo_spmd_marker_of(instr);
  if (marker != HALO_SPMD_TO_PART && marker != HALO_SPMD_TO_ALL) return false;
  halo_spmd_box *box = halo_spmd_node_of(instr)->leaves[0]->box;
  halo_spmd_box *from = halo_spmd_node_of(instr->operands[0])->leaves[0]->box;
  halo_spmd_box *inside = marker == HALO_SPMD_TO_PART ? box : from;
  halo_spmd_box *outside = marker == HALO_SPMD_TO_PART ? from : box;
  uint32_t manual = inside->sharding.manual & ~outside->sharding.manual;
  if (inside->sharding.rank != outside->sharding.rank) return false;
  halo_spmd_axes in[HALO_MAX_RANK], out[HALO_MAX_RANK];
  for (int d = 0; d < outside->sharding.rank; d++) {
    const halo_spmd_axes *all = &outside->sharding.dims[d], *rest = &inside->sharding.dims[d];
    int front = 0;
    while (front < all->count && (manual & 1u << all->id[front])) front++;
    in[d] = (halo_spmd_axes){.count = (int8_t)(all->count - front)};
    memcpy(in[d].id, all->id + front, (size_t)in[d].count);
    out[d] = *all;
    out[d].count = (int8_t)(front + rest->count);
    memcpy(out[d].id + front, rest->id, (size_t)rest->count);
  }
  halo_spmd_sharding wanted = {.rank = outside->sharding.rank, .dims = in};
  bool changed = propagate_extend(inside, &wanted);
  wanted.dims = out;
  return propagate_extend(outside, &wanted) || changed;
}

static bool propagate_sweep(halo_spmd *p, bool all, bool backwards, halo_spmd_assignment *room) {
  bool changed = false;
  for (int32_t n = 0; n < p->instrs.count; n++) {
    int32_t i = backwards ? p->instrs.count - 1 - n : n;
    const halo_spmd_rule *rule = halo_spmd_node_of(p->instrs.data[i])->rule;
    if (rule && (all || rule->passes)) changed |= propagate_rule(p, rule, room);
    if (!rule) changed |= propagate_marker(p->instrs.data[i]);
  }
  for (int32_t i = 0; i < p->links.count; i++) changed |= propagate_link(&p->links.data[i]);
  return changed;
}

void halo_spmd_propagate(halo_spmd *p) {
  int32_t most = 0;
  for (int32_t i = 0; i < p->instrs.count; i++) {
    const halo_spmd_rule *rule = halo_spmd_node_of(p->instrs.data[i])->rule;
    if (rule && rule->factors > most) most = rule->factors;
  }
  halo_spmd_assignment *room = halo_arena_array(&p->arena, halo_spmd_assignment, 2 * most + 1);
  for (int all = 0; all <= 1; all++) {
    for (bool changed = true; changed;) {
      changed = propagate_sweep(p, all, false, room);
      changed |= propagate_sweep(p, all, true, room);
    }
  }
}

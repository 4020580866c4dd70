/* SPDX-License-Identifier: Apache-2.0 */
/* partition/assign.c: axes of a rule's factors, and over which of them an operation is computed: of a few ways,
 * the one that moves the fewest bytes. */
#include "partition/ops.h"

#include <string.h>

/* ---- Choosing ---- */

/* Prices, in bytes that come from another partition. They are no rows of prices/prices.def on purpose: every process partitions
 * for itself, all must decide alike, and what a device stores as measured may differ from one process to the next. They are
 * guesses: no network was measured. */
static const double assign_operations = 20; /* multiplications that take as long as one */
static const double assign_local = 0.1;     /* one of the partition's own memory */
static const double assign_message = 2048;  /* a message, whatever its length */

/* Takes the axes from factors of a dimension that lie behind one with several tiles left: those would not lie
 * side by side. Whether any were taken. */
static bool assign_close(const halo_spmd *p, const halo_spmd_rule *rule,
                         halo_spmd_assignment *axes) {
  bool changed = false;
  for (int32_t t = 0; t < rule->tensors; t++) {
    for (int d = 0; d < rule->leaf[t]->shape->rank; d++) {
      const halo_spmd_factors *factors = &rule->dims[t][d];
      bool open = true;
      for (int32_t i = 0; i < factors->count; i++) {
        halo_spmd_axes *at = &axes[factors->id[i]];
        changed |= !open && at->count > 0;
        if (!open) at->count = 0;
        open &= halo_spmd_tiles(p, at) == rule->size[factors->id[i]];
      }
    }
  }
  return changed;
}

/* An axis belongs to one factor. */
static void assign_clean(const halo_spmd *p, const halo_spmd_rule *rule, uint32_t forbidden,
                         halo_spmd_assignment *axes) {
  uint32_t used = forbidden;
  for (int32_t f = 0; f < rule->factors; f++) {
    for (int k = 0; k < axes[f].count; k++) {
      if (used & 1u << axes[f].id[k]) axes[f].count = (int8_t)k;
    }
    used |= halo_spmd_axes_set(&axes[f]);
  }
  while (assign_close(p, rule, axes)) continue;
}

/* Takes over what a tensor says of factors that have no axes yet. */
static void assign_take(halo_spmd *p, const halo_spmd_rule *rule, int32_t tensor, bool sums,
                        halo_spmd_assignment *axes) {
  halo_spmd_assignment *said = halo_arena_array(&p->arena, halo_spmd_assignment, rule->factors + 1);
  uint32_t used = 0;
  halo_spmd_project(p, rule, tensor, &rule->leaf[tensor]->box->sharding, said);
  for (int32_t f = 0; f < rule->factors; f++) used |= halo_spmd_axes_set(&axes[f]);
  for (int32_t f = 0; f < rule->factors; f++) {
    if (axes[f].count > 0 || (rule->kind[f] == HALO_SPMD_SUMMED && !sums)) continue;
    if (rule->kind[f] == HALO_SPMD_CARRIED) continue;
    int n = 0;
    while (n < said[f].count && !(used & 1u << said[f].id[n])) n++;
    axes[f] = said[f];
    axes[f].count = (int8_t)n;
    used |= halo_spmd_axes_set(&axes[f]);
  }
}

halo_spmd_sharding halo_spmd_needed(halo_spmd *p, const halo_spmd_rule *rule, int32_t tensor,
                                    const halo_spmd_assignment *axes) {
  const halo_spmd_leaf *leaf = rule->leaf[tensor];
  halo_spmd_sharding out = halo_spmd_replicated(p, leaf->shape->rank, leaf->box->sharding.manual);
  halo_spmd_assemble(p, rule, tensor, axes, &out);
  return out;
}

uint32_t halo_spmd_summed(const halo_spmd_rule *rule, const halo_spmd_assignment *axes) {
  uint32_t set = 0;
  for (int32_t f = 0; f < rule->factors; f++) {
    if (rule->kind[f] == HALO_SPMD_SUMMED) set |= halo_spmd_axes_set(&axes[f]);
  }
  return set;
}

static double assign_bytes(const halo_spmd *p, const halo_shape *shape,
                           const halo_spmd_sharding *s) {
  double bytes = (double)halo_shape_byte_size(shape);
  for (int d = 0; d < s->rank; d++) bytes /= (double)halo_spmd_tiles(p, &s->dims[d]);
  return bytes;
}

/* What summing up costs; *from becomes how the sum lies. */
static double assign_sum_cost(halo_spmd *p, const halo_shape *shape, halo_spmd_sharding *from,
                              uint32_t partial, const halo_spmd_sharding *to) {
  double cost = 0, bytes = assign_bytes(p, shape, from);
  for (int d = 0; d < from->rank; d++) {
    halo_spmd_axes *have = &from->dims[d];
    const halo_spmd_axes *want = &to->dims[d];
    if (have->count > want->count || memcmp(have->id, want->id, (size_t)have->count) != 0) continue;
    while (have->count < want->count && (partial & 1u << want->id[have->count])) {
      int axis = want->id[have->count];
      cost += bytes * (1 - 1 / (double)p->mesh.radix[axis]) + assign_message;
      bytes /= (double)p->mesh.radix[axis];
      partial &= ~(1u << axis);
      have->id[have->count++] = (int8_t)axis;
    }
  }
  double tiles = 1;
  for (int a = 0; a < p->mesh.axes; a++) {
    if (partial & 1u << a) tiles *= (double)p->mesh.radix[a];
  }
  return tiles > 1 ? cost + 2 * bytes * (1 - 1 / tiles) + assign_message : cost;
}

/* What a part of the first operand gets of its neighbours: two messages, and their bytes. */
static double assign_border_cost(const halo_spmd *p, const halo_spmd_rule *rule,
                                 const halo_spmd_assignment *axes, const halo_spmd_sharding *here) {
  const halo_shape *shape = rule->leaf[0]->shape;
  double cost = 0;
  for (int d = 0; d < shape->rank; d++) {
    const halo_spmd_factors *factors = &rule->dims[0][d];
    int32_t f = factors->count == 1 ? factors->id[0] : -1;
    if (f < 0 || axes[f].count == 0 || rule->border[f] == 0) continue;
    double part = (double)shape->dims[d] / (double)halo_spmd_tiles(p, &axes[f]);
    cost += 2 * assign_message + assign_bytes(p, shape, here) * (double)rule->border[f] / part;
  }
  return cost;
}

/* Bytes and messages that bring an operand to where it is needed. Summing up is a message of its own. */
static double assign_operand_cost(halo_spmd *p, const halo_spmd_leaf *leaf,
                                  const halo_spmd_sharding *here) {
  double moved = halo_spmd_value_cost(p, leaf, here);
  if (moved == 0) return 0;
  halo_spmd_sharding own = leaf->box->sharding;
  bool sums = (own.unreduced & ~here->unreduced) != 0;
  own.unreduced = here->unreduced;
  return moved + assign_message * (sums && !halo_spmd_equal(&own, here) ? 2 : 1);
}

static double assign_cost(halo_spmd *p, const halo_instr *instr, const halo_spmd_assignment *axes) {
  const halo_spmd_rule *rule = halo_spmd_node_of(instr)->rule;
  double cost = 0, work = rule->work / assign_operations;
  uint32_t partial = halo_spmd_summed(rule, axes);
  for (int32_t f = 0; f < rule->factors; f++) work /= (double)halo_spmd_tiles(p, &axes[f]);
  for (int32_t t = 0; t < rule->tensors; t++) {
    const halo_spmd_leaf *leaf = rule->leaf[t];
    if (!halo_spmd_is_array(leaf)) continue;
    const halo_spmd_sharding *own = &leaf->box->sharding;
    halo_spmd_sharding here = halo_spmd_needed(p, rule, t, axes);
    cost += assign_local * assign_bytes(p, leaf->shape, &here);
    if (t == 0) cost += assign_border_cost(p, rule, axes, &here);
    if (t < rule->operands) {
      here.unreduced = halo_spmd_summands(instr, t);
      cost += assign_operand_cost(p, leaf, &here);
    } else {
      here.unreduced = partial & own->unreduced;
      if (partial & ~own->unreduced) {
        cost += assign_sum_cost(p, leaf->shape, &here, partial & ~own->unreduced, own);
      }
      here.unreduced |= halo_spmd_summands_of_result(instr);
      double moved = halo_spmd_reshard_cost(p, leaf->shape, &here, own);
      cost += moved > 0 ? moved + assign_message : 0;
    }
  }
  return cost + work;
}

/* The order in which tensors are asked: results first, or operands by their size. */
static void assign_order(const halo_spmd_rule *rule, int way, int32_t *order) {
  int32_t results = rule->tensors - rule->operands, count = 0;
  for (int32_t t = 0; t < results && way == 0; t++) order[count++] = rule->operands + t;
  int32_t first = count;
  for (int32_t t = 0; t < rule->operands; t++) {
    int32_t at = count++;
    double size = (double)halo_shape_element_count(rule->leaf[t]->shape);
    for (; at > first; at--) {
      double before = (double)halo_shape_element_count(rule->leaf[order[at - 1]]->shape);
      if (way == 2 ? before <= size : before >= size) break;
      order[at] = order[at - 1];
    }
    order[at] = t;
  }
  for (int32_t t = 0; t < results && way != 0; t++) order[count++] = rule->operands + t;
}

static bool assign_same(const halo_spmd_rule *rule, const halo_spmd_assignment *a,
                        const halo_spmd_assignment *b) {
  for (int32_t f = 0; f < rule->factors; f++) {
    if (!halo_spmd_axes_equal(&a[f], &b[f])) return false;
  }
  return true;
}

halo_spmd_assignment *halo_spmd_assign(halo_spmd *p, const halo_instr *instr) {
  const halo_spmd_rule *rule = halo_spmd_node_of(instr)->rule;
  int32_t *order = halo_arena_array(&p->arena, int32_t, rule->tensors + 1);
  halo_spmd_assignment *best = NULL;
  double least = 0;
  uint32_t forbidden = 0;
  for (int32_t t = 0; t < rule->tensors; t++) forbidden |= rule->leaf[t]->box->sharding.manual;
  forbidden |= halo_spmd_summands_of_result(instr);
  for (int way = 0; way < 6; way++) {
    halo_spmd_assignment *axes =
        halo_arena_array(&p->arena, halo_spmd_assignment, rule->factors + 1);
    assign_order(rule, way / 2, order);
    for (int32_t i = 0; i < rule->tensors; i++) {
      if (halo_shape_is_array(rule->leaf[order[i]]->shape)) {
        assign_take(p, rule, order[i], way % 2 == 0, axes);
      }
    }
    assign_clean(p, rule, forbidden, axes);
    if (best && assign_same(rule, axes, best)) continue;
    double cost = assign_cost(p, instr, axes);
    if (best && cost >= least) continue;
    best = axes;
    least = cost;
  }
  return best;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* partition/summands.c: arrays of which each partition has a summand: through which operations summands go on
 * as they are, and how far back from where they are wanted. */
#include "partition/spmd.h"

typedef enum summands_way {
  SUMMANDS_NONE, /* the operand is needed summed up */
  SUMMANDS_ALL,  /* summands of the operands give summands of the result */
  SUMMANDS_ONE   /* likewise, where this operand is the only one that consists of summands */
} summands_way;

/* Conversions round each summand: not to integers, whose sum would be another one, nor to types that may have no zero. */
static bool summands_rounds(const halo_instr *instr) {
  halo_type from = instr->operands[0]->shape->type, to = instr->shape->type;
  if (halo_type_bits(from) < 16 || halo_type_bits(to) < 16) return false;
  return (halo_type_is_float(from) && halo_type_is_float(to)) ||
         (halo_type_is_complex(from) && halo_type_is_complex(to));
}

static bool summands_adds(const halo_instr *instr) {
  const halo_computation *reducer = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  return instr->operand_count == 2 && reducer->root->opcode == HALO_OP_ADD &&
         halo_spmd_rule_can_combine(reducer, instr->shape->type);
}

static summands_way summands_of_call(const halo_instr *instr) {
  int dim;
  int64_t by;
  bool moves =
      halo_spmd_marker_of(instr) == HALO_SPMD_SAME || halo_spmd_is_rotation(instr, &dim, &by);
  return moves ? SUMMANDS_ALL : SUMMANDS_NONE;
}

static summands_way summands_way_of(const halo_instr *instr, int32_t operand) {
  if (!halo_shape_is_array(instr->shape)) return SUMMANDS_NONE;
  switch ((int)instr->opcode) {
    case HALO_OP_ADD:
    case HALO_OP_SUBTRACT:
    case HALO_OP_NEGATE:
    case HALO_OP_COPY:
    case HALO_OP_RESHAPE:
    case HALO_OP_TRANSPOSE:
    case HALO_OP_BROADCAST:
    case HALO_OP_SLICE:
    case HALO_OP_REVERSE:
    case HALO_OP_CONCATENATE:
    case HALO_OP_PAD: return SUMMANDS_ALL;
    case HALO_OP_CONVERT:
    case HALO_OP_REDUCE_PRECISION: return summands_rounds(instr) ? SUMMANDS_ALL : SUMMANDS_NONE;
    case HALO_OP_DYNAMIC_SLICE: return operand == 0 ? SUMMANDS_ALL : SUMMANDS_NONE;
    case HALO_OP_DYNAMIC_UPDATE_SLICE: return operand <= 1 ? SUMMANDS_ALL : SUMMANDS_NONE;
    case HALO_OP_SELECT: return operand >= 1 ? SUMMANDS_ALL : SUMMANDS_NONE;
    case HALO_OP_MULTIPLY: return SUMMANDS_ONE;
    case HALO_OP_DOMAIN:
    case HALO_OP_CUSTOM_CALL: return summands_of_call(instr);
    default: return SUMMANDS_NONE;
  }
}

static halo_spmd_box *summands_box(const halo_instr *instr, int32_t leaf) {
  return halo_spmd_node_of(instr)->leaves[leaf]->box;
}

/* Along which axes the first operand of a sum over dimensions consists of summands, so that its sum does too. */
static uint32_t summands_of_reduce(const halo_instr *instr) {
  return summands_adds(instr) ? summands_box(instr->operands[0], 0)->sharding.unreduced : 0;
}

uint32_t halo_spmd_summands(const halo_instr *instr, int32_t operand) {
  if (!halo_shape_is_array(instr->shape)) return 0;
  uint32_t set = summands_box(instr, 0)->sharding.unreduced;
  if (!set) return 0;
  if (instr->opcode == HALO_OP_REDUCE) return set & summands_of_reduce(instr);
  switch (summands_way_of(instr, operand)) {
    case SUMMANDS_NONE: return 0;
    case SUMMANDS_ALL: return set;
    case SUMMANDS_ONE: break;
  }
  for (int32_t o = 0; o < instr->operand_count; o++) {
    uint32_t others = summands_box(instr->operands[o], 0)->sharding.unreduced;
    if (o < operand) set &= ~others;
    if (o == operand) set &= others;
  }
  return set;
}

uint32_t halo_spmd_summands_of_result(const halo_instr *instr) {
  uint32_t set = 0;
  for (int32_t o = 0; o < instr->operand_count; o++) set |= halo_spmd_summands(instr, o);
  return set;
}

/* ---- Where they are wanted ---- */

static bool summands_want(halo_spmd_box *box, uint32_t set) {
  bool cut = (halo_spmd_set(&box->sharding) | box->sharding.manual) & set;
  uint32_t more = set & ~box->sharding.unreduced;
  if (!more || cut || box->fixed) return false;
  box->sharding.unreduced |= set;
  box->derived |= more;
  return true;
}

/* What an instruction's operands are to be so that its result is as it is wanted. */
static bool summands_want_operands(const halo_instr *instr) {
  const halo_spmd_node *node = halo_spmd_node_of(instr);
  bool changed = false;
  if (instr->opcode == HALO_OP_OPT_BARRIER) {
    for (int32_t k = 0; k < node->count; k++) {
      uint32_t set = node->leaves[k]->box->sharding.unreduced;
      changed |= set && summands_want(summands_box(instr->operands[0], k), set);
    }
    return changed;
  }
  for (int32_t o = 0; o < instr->operand_count; o++) {
    if (summands_way_of(instr, o) != SUMMANDS_ALL) continue;
    changed |= summands_want(summands_box(instr->operands[o], 0), halo_spmd_summands(instr, o));
  }
  return changed;
}

void halo_spmd_want_summands(halo_spmd *p) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = p->instrs.count - 1; i >= 0; i--) {
      changed |= summands_want_operands(p->instrs.data[i]);
    }
    /* Of the state of a loop both what enters it and what each round gives. */
    for (int32_t i = p->links.count - 1; i >= 0; i--) {
      const halo_spmd_link *link = &p->links.data[i];
      changed |= summands_want(link->a->box, link->b->box->sharding.unreduced);
    }
  }
}

/* ---- Sums over the rounds of loops ---- */

enum { SUMMANDS_DEPTH = 16 };

/* How often a computation reads a leaf, its result included. */
static int32_t summands_uses(const halo_computation *computation, const halo_spmd_leaf *leaf) {
  int32_t uses = 0;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    bool names = instr->opcode == HALO_OP_TUPLE || instr->opcode == HALO_OP_GET_TUPLE_ELEMENT;
    for (int32_t o = 0; o < instr->operand_count && !names; o++) {
      const halo_spmd_node *from = halo_spmd_node_of(instr->operands[o]);
      for (int32_t k = 0; k < from->count; k++) uses += from->leaves[k] == leaf;
    }
  }
  const halo_spmd_node *root = halo_spmd_node_of(computation->root);
  for (int32_t k = 0; k < root->count; k++) uses += root->leaves[k] == leaf;
  return uses;
}

/* The axes along which what an instruction gives is a sum of what partitions have, as operands lie. What a reduction reads
 * may be gathered for others too, which makes its sum one of what is there. */
static uint32_t summands_made(halo_spmd *p, const halo_instr *instr, int depth) {
  const halo_spmd_node *node = halo_spmd_node_of(instr);
  const halo_spmd_rule *rule = node->rule;
  uint32_t set = 0;
  if (depth == 0 || !rule || rule->tensors != rule->operands + 1 || node->leaves[0]->box->fixed)
    return 0;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    if (summands_way_of(instr, o) == SUMMANDS_ALL) {
      set |= summands_made(p, instr->operands[o], depth - 1);
    }
  }
  bool adds = !rule->combiner || rule->combiner->root->opcode == HALO_OP_ADD;
  if (instr->opcode == HALO_OP_REDUCE) {
    adds &= summands_uses(instr->parent, halo_spmd_node_of(instr->operands[0])->leaves[0]) == 1;
  }
  halo_spmd_assignment *said = halo_arena_array(&p->arena, halo_spmd_assignment, rule->factors + 1);
  for (int32_t t = 0; t < rule->operands && adds; t++) {
    halo_spmd_project(p, rule, t, &rule->leaf[t]->box->sharding, said);
    for (int32_t f = 0; f < rule->factors; f++) {
      if (rule->kind[f] == HALO_SPMD_SUMMED) set |= halo_spmd_axes_set(&said[f]);
    }
  }
  const halo_spmd_sharding *s = &node->leaves[0]->box->sharding;
  return set & ~(halo_spmd_set(s) | s->manual);
}

/* Leaves sums on the way to an instruction's result apart. */
static void summands_keep(halo_spmd *p, const halo_instr *instr, uint32_t set, int depth) {
  set &= summands_made(p, instr, depth);
  if (!set) return;
  summands_want(summands_box(instr, 0), set);
  for (int32_t o = 0; o < instr->operand_count; o++) {
    if (summands_way_of(instr, o) == SUMMANDS_ALL) {
      summands_keep(p, instr->operands[o], set, depth - 1);
    }
  }
}

/* What a round adds to part `part` of its state, where it reads that for nothing else; else NULL. */
static const halo_instr *summands_added(const halo_computation *body, int32_t part,
                                        const halo_instr **out_sum) {
  const halo_spmd_leaf *before = halo_spmd_node_of(body->params.data[0])->leaves[part];
  const halo_spmd_leaf *after = halo_spmd_node_of(body->root)->leaves[part];
  if (summands_uses(body, before) != 1 || summands_uses(body, after) != 1) return NULL;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *sum = body->instrs.data[i];
    if (sum->opcode != HALO_OP_ADD || halo_spmd_node_of(sum)->leaves[0] != after) continue;
    *out_sum = sum;
    for (int32_t o = 0; o < 2; o++) {
      if (halo_spmd_node_of(sum->operands[o])->leaves[0] == before) return sum->operands[1 - o];
    }
  }
  return NULL;
}

static void summands_keep_part(halo_spmd *p, const halo_instr *loop, int32_t part) {
  halo_spmd_box *box = halo_spmd_node_of(loop)->leaves[part]->box;
  const halo_computation *condition = halo_instr_comp(loop, HALO_ATTR_CONDITION), *body;
  const halo_spmd_leaf *leaf = halo_spmd_node_of(loop)->leaves[part], *asked;
  body = halo_instr_comp(loop, HALO_ATTR_BODY);
  asked = halo_spmd_node_of(condition->params.data[0])->leaves[part];
  bool rounds = halo_type_is_float(leaf->shape->type) && halo_type_bits(leaf->shape->type) <= 8;
  if (!halo_spmd_is_array(leaf) || leaf->shape->type == HALO_PRED || rounds) return;
  const halo_instr *sum, *added = summands_added(body, part, &sum);
  if (!added || summands_uses(condition, asked) > 0 || summands_box(sum, 0)->fixed) return;
  const halo_spmd_sharding *s = &summands_box(sum, 0)->sharding;
  uint32_t set = summands_made(p, added, SUMMANDS_DEPTH);
  set &= ~(halo_spmd_set(s) | s->manual | box->sharding.unreduced);
  if (!set || !summands_want(box, set)) return;
  summands_want(summands_box(sum, 0), set);
  summands_keep(p, added, set, SUMMANDS_DEPTH);
}

void halo_spmd_keep_sums(halo_spmd *p) {
  for (int32_t i = 0; i < p->instrs.count; i++) {
    const halo_instr *loop = p->instrs.data[i];
    if (loop->opcode != HALO_OP_WHILE) continue;
    for (int32_t k = 0; k < halo_spmd_node_of(loop)->count; k++) summands_keep_part(p, loop, k);
  }
}

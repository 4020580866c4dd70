/* SPDX-License-Identifier: Apache-2.0 */
/* partition/site.c: what operations that are written for one partition have in common. */
#include "partition/ops.h"

#include <math.h>

/* ---- Identities ---- */

static int64_t site_greatest(halo_type type) {
  int bits = halo_type_bits(type) - halo_type_is_sint(type);
  return bits >= 64 ? -1 : (int64_t)((1ull << bits) - 1);
}

halo_instr *halo_spmd_identity(halo_spmd *p, const halo_computation *combiner) {
  halo_opcode opcode = combiner->root->opcode;
  halo_type type = combiner->root->shape->type;
  bool floating = halo_type_is_float(type);
  if (opcode == HALO_OP_ADD || opcode == HALO_OP_OR) {
    return floating ? halo_expand_scalar(&p->x, type, -0.0)
                    : halo_rewrite_make_scalar(&p->r, p->x.like, type, 0);
  }
  if (opcode == HALO_OP_MULTIPLY) return halo_rewrite_make_scalar(&p->r, p->x.like, type, 1);
  if (floating) {
    double most = opcode == HALO_OP_MAXIMUM ? -(double)INFINITY : (double)INFINITY;
    return halo_expand_scalar(&p->x, type, most);
  }
  int64_t value = 0;
  if (type == HALO_PRED) {
    value = opcode != HALO_OP_MAXIMUM;
  } else if (opcode == HALO_OP_AND) {
    value = halo_type_is_sint(type) ? -1 : site_greatest(type);
  } else if (opcode == HALO_OP_MINIMUM) {
    value = site_greatest(type);
  } else if (halo_type_is_sint(type)) {
    value = -site_greatest(type) - 1;
  }
  return halo_rewrite_make_scalar(&p->r, p->x.like, type, value);
}

bool halo_spmd_is_identity(const halo_instr *instr, const halo_computation *combiner) {
  while (instr->opcode == HALO_OP_BROADCAST) instr = instr->operands[0];
  const halo_literal *literal = instr->literal;
  if (instr->opcode != HALO_OP_CONSTANT || instr->shape->rank > 0) return false;
  halo_type type = literal->shape->type;
  if (halo_type_is_complex(type)) return false;
  bool floating = halo_type_is_float(type);
  switch ((int)combiner->root->opcode) {
    case HALO_OP_ADD:
    case HALO_OP_OR:
      return floating ? halo_literal_get_f64(literal, 0) == 0
                      : halo_literal_get_i64(literal, 0) == 0;
    case HALO_OP_MAXIMUM: return floating && halo_literal_get_f64(literal, 0) == -(double)INFINITY;
    case HALO_OP_MINIMUM: return floating && halo_literal_get_f64(literal, 0) == (double)INFINITY;
    case HALO_OP_AND: return type == HALO_PRED && halo_literal_get_i64(literal, 0) == 1;
    default: return false;
  }
}

/* ---- Parts ---- */

halo_instr *halo_spmd_plain(halo_spmd_site *s) {
  halo_spmd *p = s->p;
  for (int32_t i = 0; i < s->instr->operand_count; i++) {
    if (!s->operands[i]) return NULL;
  }
  return halo_rewrite_make(&p->r, s->instr, s->instr->opcode, s->shape, s->operands,
                           s->instr->operand_count, s->attrs, s->attr_count);
}

halo_instr *halo_spmd_begin(halo_spmd_site *s, int32_t tensor, int dim) {
  halo_spmd_sharding needed = halo_spmd_needed(s->p, s->rule, tensor, s->axes);
  const halo_spmd_axes *axes = &needed.dims[dim];
  if (axes->count == 0) return NULL;
  int64_t size = s->rule->leaf[tensor]->shape->dims[dim] / halo_spmd_tiles(s->p, axes);
  return halo_spmd_offset(s->p, axes, size);
}

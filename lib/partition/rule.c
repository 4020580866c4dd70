/* SPDX-License-Identifier: Apache-2.0 */
/* partition/rule.c: what a rule is made of, factors and their dimensions; shardings by these factors; combiners and windows
 * whose parts can be computed apart. */
#include "partition/spmd.h"

#include <string.h>

/* ---- Factors ---- */

int32_t halo_spmd_rule_factor(halo_spmd *p, halo_spmd_rule *rule, int64_t size,
                              halo_spmd_factor_kind kind) {
  if (rule->factors == rule->room) {
    rule->room = rule->room ? 2 * rule->room : 8;
    int64_t *sizes = halo_arena_array(&p->arena, int64_t, rule->room);
    int64_t *borders = halo_arena_array(&p->arena, int64_t, rule->room);
    halo_spmd_factor_kind *kinds = halo_arena_array(&p->arena, halo_spmd_factor_kind, rule->room);
    if (rule->factors) {
      memcpy(sizes, rule->size, sizeof *sizes * (size_t)rule->factors);
      memcpy(borders, rule->border, sizeof *borders * (size_t)rule->factors);
      memcpy(kinds, rule->kind, sizeof *kinds * (size_t)rule->factors);
    }
    rule->size = sizes;
    rule->border = borders;
    rule->kind = kinds;
  }
  rule->size[rule->factors] = size;
  rule->kind[rule->factors] = kind;
  return rule->factors++;
}

void halo_spmd_rule_put(halo_spmd *p, halo_spmd_rule *rule, int32_t tensor, int64_t dim,
                        int32_t factor) {
  halo_spmd_factors *at = &rule->dims[tensor][dim];
  int32_t *ids = halo_arena_array(&p->arena, int32_t, at->count + 1);
  for (int32_t i = 0; i < at->count; i++) ids[i] = at->id[i];
  ids[at->count] = factor;
  *at = (halo_spmd_factors){at->count + 1, ids};
}

int32_t halo_spmd_rule_pair(halo_spmd *p, halo_spmd_rule *rule, int32_t a, int64_t a_dim, int32_t b,
                            int64_t b_dim) {
  int32_t factor =
      halo_spmd_rule_factor(p, rule, rule->leaf[a]->shape->dims[a_dim], HALO_SPMD_PARALLEL);
  halo_spmd_rule_put(p, rule, a, a_dim, factor);
  if (b >= 0) halo_spmd_rule_put(p, rule, b, b_dim, factor);
  return factor;
}

/* ---- Between axes of dimensions and axes of factors ---- */

void halo_spmd_project(const halo_spmd *p, const halo_spmd_rule *rule, int32_t tensor,
                       const halo_spmd_sharding *sharding, halo_spmd_assignment *out) {
  memset(out, 0, sizeof *out * (size_t)rule->factors);
  if (!halo_shape_is_array(rule->leaf[tensor]->shape)) return;
  for (int d = 0; d < sharding->rank; d++) {
    const halo_spmd_axes *axes = &sharding->dims[d];
    const halo_spmd_factors *factors = &rule->dims[tensor][d];
    for (int32_t i = 0, next = 0; i < factors->count; i++) {
      int32_t f = factors->id[i];
      int64_t left = rule->size[f];
      while (next < axes->count && left % p->mesh.radix[axes->id[next]] == 0) {
        left /= p->mesh.radix[axes->id[next]];
        out[f].id[out[f].count++] = axes->id[next++];
      }
      /* Tiles of what comes behind would not lie side by side. */
      if (left > 1) break;
    }
  }
  for (int32_t f = 0; f < rule->factors; f++) {
    if (rule->kind[f] == HALO_SPMD_WHOLE) out[f].count = 0;
  }
}

void halo_spmd_assemble(const halo_spmd *p, const halo_spmd_rule *rule, int32_t tensor,
                        const halo_spmd_assignment *axes, halo_spmd_sharding *out) {
  for (int d = 0; d < out->rank; d++) {
    const halo_spmd_factors *factors = &rule->dims[tensor][d];
    out->dims[d].count = 0;
    for (int32_t i = 0; i < factors->count; i++) {
      const halo_spmd_axes *more = &axes[factors->id[i]];
      for (int k = 0; k < more->count; k++) out->dims[d].id[out->dims[d].count++] = more->id[k];
      if (halo_spmd_tiles(p, more) != rule->size[factors->id[i]]) break;
    }
  }
}

/* ---- Combiners ---- */

bool halo_spmd_rule_can_sum(halo_type type) {
  return type != HALO_PRED && !(halo_type_is_float(type) && halo_type_bits(type) <= 8);
}

/* Whether combining begins with a number that changes nothing: infinity for a maximum. */
static bool rule_has_identity(halo_opcode opcode, halo_type type) {
  if (opcode != HALO_OP_MAXIMUM && opcode != HALO_OP_MINIMUM) return true;
  return !halo_type_is_float(type) || type == HALO_F16 || type == HALO_BF16 || type == HALO_F32 ||
         type == HALO_F64;
}

static bool rule_is_reducer(halo_opcode opcode) {
  static const halo_opcode known[] = {HALO_OP_ADD,     HALO_OP_MULTIPLY, HALO_OP_MAXIMUM,
                                      HALO_OP_MINIMUM, HALO_OP_AND,      HALO_OP_OR};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (known[i] == opcode) return true;
  }
  return false;
}

bool halo_spmd_rule_can_combine(const halo_computation *c, halo_type type) {
  const halo_instr *root = c->root;
  if (c->params.count != 2 || root->operand_count != 2 || !rule_is_reducer(root->opcode))
    return false;
  const halo_instr *a = root->operands[0], *b = root->operands[1];
  if (a->opcode != HALO_OP_PARAMETER || b->opcode != HALO_OP_PARAMETER || a == b) return false;
  if (a->shape->type != type || b->shape->type != type || root->shape->type != type) return false;
  if (!rule_has_identity(root->opcode, type)) return false;
  if (type != HALO_PRED && !halo_spmd_rule_can_sum(type)) return false;
  return halo_opcode_associates(root->opcode, type) && halo_opcode_commutes(root->opcode, type);
}

/* ---- Neighbours that parts of a window need ---- */

static int64_t rule_floor(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/* Where parts need most of the array, it is gathered instead. */
static bool rule_are_few(const halo_spmd_reach *reach, int64_t size) {
  return (reach->low > 0 ? reach->low : 0) + (reach->high > 0 ? reach->high : 0) <= size / 2;
}

/* Part i of the result, of `t` elements, begins in the padded operand at i * t * stride. */
bool halo_spmd_window_reach(const halo_window_dim *w, int64_t size, int64_t out,
                            halo_spmd_reach *reach) {
  int64_t span = (w->size - 1) * w->window_dilation;
  *reach = (halo_spmd_reach){0};
  if (w->size < 1 || size < 1) return false;
  if (w->base_dilation == 1 && size == out * w->stride) {
    reach->low = w->pad_low;
    reach->high = span + 1 - w->stride - w->pad_low;
  } else if (w->stride == 1 && out == size * w->base_dilation) {
    /* Elements stand b apart: those that are wanted, and holes before the first and behind the last. */
    int64_t b = w->base_dilation, behind = span - 1 - w->pad_low;
    reach->low = rule_floor(w->pad_low, b);
    reach->pad_low = w->pad_low - reach->low * b;
    reach->high = rule_floor(behind, b) + 1;
    reach->pad_high = behind - rule_floor(behind, b) * b;
  } else {
    return false;
  }
  return rule_are_few(reach, size) && -reach->low < w->stride * w->size &&
         -reach->high < w->stride * w->size;
}

/* Part i of the window, of t elements, meets the operand from i * t * dilation - pad_low on. */
bool halo_spmd_kernel_reach(const halo_window_dim *w, int64_t size, int64_t out,
                            halo_spmd_reach *reach) {
  *reach = (halo_spmd_reach){0};
  if (w->stride != 1 || w->base_dilation != 1 || w->reversal) return false;
  if (size != w->size * w->window_dilation) return false;
  reach->low = w->pad_low;
  reach->high = out - w->window_dilation - w->pad_low;
  return reach->low >= 0 && reach->high >= 0 && rule_are_few(reach, size);
}

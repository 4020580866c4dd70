/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/rectify.c: whether a number is above a bound is asked of its maximum with that bound, where only these two
 * things are asked of it. Gradients of max(x, 0) ask for x > 0, which max(x, 0) > 0 says as well: then x need not be
 * kept beside it, and what makes x can finish with the maximum. */
#include "passes/passes.h"
#include "passes/simplify/simplify.h"
#include "rewrite/rewrite.h"
#include "rewrite/users.h"

#include <string.h>

/* The same number everywhere, down to its bits. */
static bool rectify_same_bound(const halo_instr *a, const halo_instr *b) {
  if (a == b) return true;
  const halo_literal *x = halo_simplify_splat(a), *y = halo_simplify_splat(b);
  halo_type type = a->shape->type;
  return x && y && type == b->shape->type && memcmp(x->data, y->data, halo_type_size(type)) == 0;
}

/* Whether the comparison gives the same of a number and of its maximum (minimum) with the bound, also of what is not a
 * number: both are that then. */
static bool rectify_keeps(halo_opcode clamp, const halo_instr *compare) {
  if (halo_compare_type_of(compare) == HALO_COMPARE_TOTALORDER) return false;
  halo_direction direction = (halo_direction)halo_instr_int(compare, HALO_ATTR_DIRECTION, HALO_EQ);
  return clamp == HALO_OP_MAXIMUM ? direction == HALO_GT || direction == HALO_LE
                                  : direction == HALO_LT || direction == HALO_GE;
}

/* The only clamp of x, where all its other users compare it with the same bound; else NULL. */
static halo_instr *rectify_clamp(const halo_computation *c, const halo_users *users,
                                 const halo_instr *x) {
  const int32_t *first = users->list + users->first[x->mark];
  const int32_t *end = users->list + users->first[x->mark + 1];
  halo_instr *clamp = NULL;
  for (const int32_t *u = first; u < end; u++) {
    halo_instr *user = c->instrs.data[*u];
    bool clamps = user->opcode == HALO_OP_MAXIMUM || user->opcode == HALO_OP_MINIMUM;
    if (clamps && clamp) return NULL;
    if (clamps) clamp = user;
  }
  /* Nothing but x and the bound may have to come before it: it comes before the comparisons now. */
  if (!clamp || clamp->operands[0] != x || clamp->operands[1] == x) return NULL;
  if (clamp->control_pred_count > 0) return NULL;
  for (const int32_t *u = first; u < end; u++) {
    const halo_instr *user = c->instrs.data[*u];
    if (user == clamp) continue;
    if (user->opcode != HALO_OP_COMPARE || user->operands[0] != x || user->operands[1] == x ||
        !rectify_same_bound(clamp->operands[1], user->operands[1]) ||
        !rectify_keeps(clamp->opcode, user)) {
      return NULL;
    }
  }
  return clamp;
}

static halo_status rectify_computation(halo_computation *c, bool *changed) {
  halo_users users;
  halo_rewriter r;
  halo_rewrite_begin(&r, c);
  int32_t count = c->instrs.count;
  for (int32_t i = 0; i < count; i++) c->instrs.data[i]->mark = i;
  halo_users_collect(&users, c, true);
  for (int32_t i = 0; i < count; i++) {
    halo_instr *x = c->instrs.data[i];
    bool several = users.first[i + 1] - users.first[i] > 1;
    if (!several || x == c->root || !halo_shape_is_array(x->shape) || x->shape->rank == 0) continue;
    halo_instr *clamp = rectify_clamp(c, &users, x);
    for (int32_t u = users.first[i]; clamp && u < users.first[i + 1]; u++) {
      halo_instr *user = c->instrs.data[users.list[u]];
      if (user == clamp) continue;
      user->operands[0] = clamp;
      r.changed = true;
    }
  }
  halo_users_deinit(&users);
  return halo_rewrite_end(&r, changed);
}

halo_status halo_pass_rectify(halo_module *module, bool *changed) {
  return halo_rewrite_computations(module, rectify_computation, changed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/exchange_root.c: collectives with one member that sends to all, or gets what all reduce. */
#include "passes/expand/exchange_site.h"
#include "passes/expand/expand.h"

/* s32[]: root `i` of those that are chosen at run time, a place in the group. */
static halo_instr *exchange_root(exchange_site *s, int32_t i) {
  halo_instr *roots = s->instr->operands[s->instr->operand_count - 1];
  int64_t count = halo_shape_element_count(roots->shape);
  halo_instr *flat = halo_expand_reshape(s->x, roots, 1, &count);
  halo_instr *one = halo_expand_reshape(s->x, halo_expand_range(s->x, flat, 0, i, i + 1), 0, NULL);
  return halo_expand_convert(s->x, one, HALO_S32);
}

/* `value` where the test is true, else zeros. */
static halo_instr *exchange_or_zeros(exchange_site *s, halo_instr *test, halo_instr *value) {
  if (!test || !value) return NULL;
  halo_expander *x = s->x;
  halo_instr *zero =
      halo_expand_splat(x, halo_expand_scalar(x, value->shape->type, 0), value->shape);
  return halo_expand_select(x, halo_expand_splat(x, test, value->shape), value, zero);
}

/* One's place in the group, s32[]; -1 for who is in none. */
static halo_instr *exchange_place(exchange_site *s) {
  int32_t *places = exchange_values(s);
  for (int64_t i = 0; i < halo_collective_world(s->module); i++) places[i] = -1;
  for (int32_t g = 0; g < s->groups.count; g++) {
    for (int32_t i = s->groups.starts[g]; i < s->groups.starts[g + 1]; i++) {
      places[s->groups.ids[i]] = i - s->groups.starts[g];
    }
  }
  return exchange_mine(s, places);
}

/* A reduction is one of all, which the root keeps; `root` NULL: the first. */
static halo_instr *exchange_reduce_to(exchange_site *s, halo_instr *value, halo_instr *root) {
  halo_expander *x = s->x;
  if (!root) root = halo_expand_scalar(x, HALO_S32, 0);
  halo_instr *all = exchange_reduce(s, value);
  return exchange_or_zeros(s, halo_expand_compare(x, exchange_place(s), HALO_EQ, root), all);
}

/* Everybody's arrays go to all, since nobody knows who will want which. A root behind the group's last member
 * stands for that: what lies behind it in a larger group's array is nothing. */
static halo_instr *exchange_choose(exchange_site *s, halo_instr *value, halo_instr *root) {
  halo_expander *x = s->x;
  int64_t count = halo_shape_element_count(value->shape), size[2] = {1, count};
  halo_instr *rows = exchange_gather(s, halo_expand_reshape(x, value, 1, &count));
  if (!rows || !root) return NULL;
  int32_t *last = exchange_values(s);
  for (int32_t g = 0; g < s->groups.count; g++) {
    for (int32_t i = s->groups.starts[g]; i < s->groups.starts[g + 1]; i++) {
      last[s->groups.ids[i]] = s->groups.starts[g + 1] - s->groups.starts[g] - 1;
    }
  }
  root = halo_expand_binary(x, HALO_OP_MINIMUM, root, exchange_mine(s, last));
  halo_instr *starts[2] = {root, halo_expand_scalar(x, HALO_S32, 0)};
  halo_instr *row = halo_expand_dynamic_slice(x, rows, starts, size);
  row = halo_expand_reshape(x, row, value->shape->rank, value->shape->dims);
  halo_instr *test =
      halo_expand_compare(x, exchange_place(s), HALO_GE, halo_expand_scalar(x, HALO_S32, 0));
  return exchange_or_zeros(s, test, row);
}

static halo_instr *exchange_rooted_one(exchange_site *s, int32_t i, bool dynamic) {
  halo_instr *value = s->instr->operands[i], *root = dynamic ? exchange_root(s, i) : NULL;
  if (s->instr->opcode == HALO_OP_COLLECTIVE_REDUCE) return exchange_reduce_to(s, value, root);
  if (dynamic) return exchange_choose(s, value, root);
  return exchange_make(s, s->instr->opcode, value->shape, &value, 1);
}

/* The first of each group, or the member of that place, sends to all of it, or gets what all reduce; others get
 * zeros. Roots that are chosen at run time are the last operand, one for each of the others. */
halo_instr *halo_expand_exchange_root(halo_expander *x, halo_instr *instr) {
  exchange_site s;
  bool dynamic = halo_instr_int(instr, HALO_ATTR_HAS_DYNAMIC_ROOT, 0) != 0;
  if (!exchange_open(x, instr, instr->opcode == HALO_OP_COLLECTIVE_REDUCE, &s)) return NULL;
  const halo_shape *shape = instr->shape;
  int32_t count = instr->operand_count - dynamic;
  bool fits = halo_shape_is_tuple(shape) ? shape->count == count : count == 1;
  int64_t roots = dynamic ? halo_shape_element_count(instr->operands[count]->shape) : count;
  if (!fits || roots < count) {
    x->status = halo_fail(HALO_INVALID_ARGUMENT,
                          "line %d: %s: %d operands and %lld roots do not make its result",
                          instr->line, instr->name, count, (long long)roots);
    return NULL;
  }
  if (!halo_shape_is_tuple(shape)) {
    return exchange_as(&s, exchange_rooted_one(&s, 0, dynamic), shape);
  }
  HALO_VEC(halo_instr *) parts = {0};
  for (int32_t i = 0; i < count && x->status == HALO_OK; i++) {
    halo_vec_push(&parts, exchange_as(&s, exchange_rooted_one(&s, i, dynamic), shape->elements[i]));
  }
  halo_instr *tuple = NULL;
  if (x->status == HALO_OK) {
    tuple = halo_rewrite_make(x->r, instr, HALO_OP_TUPLE, shape, parts.data, count, NULL, 0);
  }
  halo_vec_deinit(&parts);
  return tuple;
}

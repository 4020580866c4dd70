/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/sort.c: rules for what is made of sorts. */
#include "hlo/comparator.h"
#include "passes/simplify/simplify.h"

/* More than these are sorted. */
enum { SORT_FIRST_MOST = 1024 };

/* The elements from the first on along the last dimension, and all along the others. */
static bool sort_is_first(const halo_instr *slice) {
  int32_t count;
  if (slice->opcode != HALO_OP_SLICE) return false;
  const int64_t *range = halo_instr_ints(slice, HALO_ATTR_SLICE, &count);
  const halo_shape *from = halo_simplify_arg(slice, 0)->shape;
  for (int d = 0; d < from->rank; d++) {
    bool all = slice->shape->dims[d] == from->dims[d];
    if (range[3 * d] != 0 || range[3 * d + 2] != 1 || !(all || d == from->rank - 1)) return false;
  }
  return true;
}

/* Whether nothing but such slices reads the sort's results. */
static bool sort_is_cut(const halo_computation *computation, const halo_instr *sort) {
  const halo_instr *root = halo_rewrite_resolve(computation->root);
  if (root == sort || root->opcode == HALO_OP_GET_TUPLE_ELEMENT) return false;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *user = computation->instrs.data[i];
    if (halo_rewrite_resolve(user) != user) continue;
    for (int32_t o = 0; o < user->operand_count; o++) {
      const halo_instr *read = halo_simplify_arg(user, o);
      if (read == sort && user->opcode != HALO_OP_GET_TUPLE_ELEMENT) return false;
      bool leaf = read->opcode == HALO_OP_GET_TUPLE_ELEMENT && halo_simplify_arg(read, 0) == sort;
      if (leaf && !sort_is_first(user)) return false;
    }
  }
  return true;
}

/* An s32 that counts along the last dimension. */
static bool sort_is_place(const halo_instr *instr) {
  int32_t count;
  int last = instr->shape->rank - 1;
  if (instr->shape->type != HALO_S32) return false;
  if (instr->opcode == HALO_OP_IOTA) {
    return halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, 0) == last;
  }
  if (instr->opcode != HALO_OP_BROADCAST) return false;
  const halo_instr *row = halo_simplify_arg(instr, 0);
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  return row->opcode == HALO_OP_IOTA && row->shape->rank == 1 && dims[0] == last;
}

/* Whether the sort is of values and their places along the last dimension, by nothing but the values: as topk orders
 * them, or by a comparison that leaves open which of two zeros comes first, and where NaNs are, for which it is no
 * order. */
static bool sort_is_by_value(const halo_instr *sort, bool *largest) {
  int32_t count;
  if (sort->opcode != HALO_OP_SORT || sort->operand_count != 2) return false;
  const halo_shape *in = sort->operands[0]->shape;
  if (in->rank == 0) return false;
  if (halo_instr_ints(sort, HALO_ATTR_DIMENSIONS, &count)[0] != in->rank - 1) return false;
  halo_sort_key keys[HALO_COMPARATOR_KEYS];
  if (halo_comparator_keys(halo_instr_comp(sort, HALO_ATTR_TO_APPLY), keys) != 1) return false;
  const halo_instr *value = keys[0].value;
  bool total = keys[0].compare == HALO_COMPARE_TOTALORDER || !halo_type_is_float(in->type);
  *largest = keys[0].descending;
  return value->opcode == HALO_OP_PARAMETER && value->parameter_number < 2 &&
         (total || !halo_instr_bool(sort, HALO_ATTR_IS_STABLE, false)) &&
         sort_is_place(halo_simplify_arg(sort, 1));
}

halo_instr *halo_simplify_sorted(halo_rewriter *r, halo_instr *instr, halo_instr *leaf) {
  halo_instr *sort = halo_simplify_arg(leaf, 0);
  bool largest;
  if (!sort_is_first(instr) || !sort_is_by_value(sort, &largest)) return NULL;
  int last = instr->shape->rank - 1;
  int64_t k = instr->shape->dims[last];
  if (k > SORT_FIRST_MOST || halo_rewrite_pinned(sort)) return NULL;
  if (!sort_is_cut(r->computation, sort)) return NULL;
  halo_arena *arena = &r->computation->module->arena;
  halo_instr *values = halo_simplify_arg(sort, 0);
  const halo_shape *both[2] = {
      halo_shape_new(arena, values->shape->type, last + 1, instr->shape->dims),
      halo_shape_new(arena, HALO_S32, last + 1, instr->shape->dims)};
  halo_attr attrs[2] = {{.id = HALO_ATTR_K, .i = k}, {.id = HALO_ATTR_LARGEST, .i = largest}};
  halo_instr *top = halo_rewrite_make(r, instr, HALO_OP_TOPK, halo_shape_new_tuple(arena, 2, both),
                                      &values, 1, attrs, 2);
  return halo_rewrite_make_gte(r, instr, top, halo_instr_int(leaf, HALO_ATTR_INDEX, 0));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/branch_updates.c: a conditional that updates a part of an array, or leaves the array as it is, gives the part and its
 * place, and the array is updated behind the conditional. A loop around it then keeps the array where it is, while a
 * conditional that gives the array would copy it in every iteration, whatever branch is taken.
 *
 * A branch without an update that another branch makes puts elements where they are already, or scatters to no place. */
#include "base/memory.h"
#include "base/vec.h"
#include "passes/loops/loop_state.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

#include <string.h>

/* An update is at most one of so many of its array, and at most so many follow each other. */
enum { UPDATES_LESS = 2, UPDATES_MOST = 4 };

/* A value of the conditional's computation: an element of a tuple, or (-1) the instruction itself. */
typedef struct updates_source {
  halo_instr *instr;
  int64_t index;
} updates_source;

/* A result of the conditional. Its updates, of which each branch makes some, are counted from the last one. */
typedef struct updates_result {
  bool moves; /* else it stays as it is */
  updates_source array;
  int32_t levels;
  halo_instr *like[UPDATES_MOST]; /* one branch's */
} updates_result;

/* A branch's update for each of the result's; NULL: it does not make this one. */
typedef struct updates_own {
  halo_instr *update[UPDATES_MOST];
  halo_instr *array; /* before all of them */
} updates_own;

/* ---- What branches give ---- */

/* Whether an instruction is an update of a small part of operand 0, with nothing else that reads its result. */
static bool updates_is_little(const halo_computation *branch, const halo_instr *instr) {
  bool slice = instr->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE;
  bool scatter = instr->opcode == HALO_OP_SCATTER && instr->operand_count == 3;
  if ((!slice && !scatter) || halo_rewrite_pinned(instr)) return false;
  if (instr->shape->rank == 0 || (slice && instr->operand_count != 2 + instr->shape->rank)) {
    return false;
  }
  int64_t most = halo_shape_element_count(instr->shape) / UPDATES_LESS;
  const halo_instr *part = instr->operands[slice ? 1 : 2];
  return halo_shape_element_count(part->shape) <= most && halo_loop_count_uses(branch, instr) <= 1;
}

/* The value that branch b gives as result k; NULL where that has no name of its own. */
static halo_instr *updates_value(const halo_instr *conditional, int32_t b, int32_t k) {
  halo_instr *root = halo_conditional_branch(conditional, b)->root;
  if (!halo_shape_is_tuple(conditional->shape)) return root;
  return root->opcode == HALO_OP_TUPLE ? root->operands[k] : NULL;
}

static updates_source updates_source_of(halo_instr *value) {
  value = halo_rewrite_resolve(value);
  if (value->opcode != HALO_OP_GET_TUPLE_ELEMENT) return (updates_source){value, -1};
  return (updates_source){halo_rewrite_resolve(value->operands[0]),
                          halo_instr_int(value, HALO_ATTR_INDEX, 0)};
}

/* Where a branch's value comes from; no instruction where the branch computes it. */
static updates_source updates_find_source(const halo_instr *conditional, int32_t b,
                                          const halo_instr *value) {
  const halo_instr *param = halo_conditional_branch(conditional, b)->params.data[0];
  halo_instr *operand = halo_rewrite_resolve(conditional->operands[1 + b]);
  if (value == param) return updates_source_of(operand);
  if (value->opcode != HALO_OP_GET_TUPLE_ELEMENT || value->operands[0] != param) {
    return (updates_source){0};
  }
  int64_t index = halo_instr_int(value, HALO_ATTR_INDEX, 0);
  if (operand->opcode == HALO_OP_TUPLE) return updates_source_of(operand->operands[index]);
  return (updates_source){operand, index};
}

/* ---- Updates of several branches ---- */

/* Attributes that say what is computed. */
static bool updates_same_attrs(const halo_instr *a, const halo_instr *b) {
  for (const halo_attr_spec *spec = halo_op_info_of(a->opcode)->attrs; spec->used; spec++) {
    const halo_attr *x = halo_instr_attr(a, spec->id), *y = halo_instr_attr(b, spec->id);
    if (!x && !y) continue;
    if (!x || !y) return false;
    halo_attr_kind kind = halo_attr_kind_of(spec->id);
    if (kind == HALO_KIND_INTS) {
      int32_t n, m;
      const int64_t *first = halo_instr_ints(a, spec->id, &n);
      const int64_t *second = halo_instr_ints(b, spec->id, &m);
      if (n != m || (n && memcmp(first, second, sizeof *first * (size_t)n) != 0)) return false;
    } else if (kind == HALO_KIND_COMPS) {
      if (halo_instr_comp(a, spec->id) != halo_instr_comp(b, spec->id)) return false;
    } else if (x->i != y->i) {
      return false;
    }
  }
  return true;
}

/* Whether one instruction can make both updates, given the operands of either. */
static bool updates_agree(const halo_instr *a, const halo_instr *b) {
  if (a->opcode != b->opcode || !updates_same_attrs(a, b)) return false;
  for (int32_t o = 1; o < a->operand_count; o++) {
    if (!halo_shape_equal(a->operands[o]->shape, b->operands[o]->shape)) return false;
  }
  return true;
}

/* Finds the place of each of a branch's updates among those of the result, which gets new ones where `extend` is set;
 * false where there are too many. */
static bool updates_place(updates_result *result, const halo_computation *branch, halo_instr *value,
                          bool extend, updates_own *own) {
  int32_t l = 0;
  *own = (updates_own){0};
  for (; updates_is_little(branch, value); value = value->operands[0], l++) {
    while (l < result->levels && !updates_agree(result->like[l], value)) l++;
    if (l == UPDATES_MOST) return false;
    if (l == result->levels && extend) result->like[result->levels++] = value;
    own->update[l] = value;
  }
  own->array = value;
  return true;
}

/* Whether a branch can do without an update after others of its own. Elements that are put where they are would be those from
 * before its own updates. A scatter needs an index that is no place of the array. */
static bool updates_can_skip(const updates_result *result, const updates_own *own) {
  bool later = true;
  for (int32_t l = result->levels; l-- > 0;) {
    const halo_instr *like = result->like[l];
    if (own->update[l]) {
      later = false;
    } else if (like->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE) {
      if (!later) return false;
    } else {
      int32_t mapped;
      halo_instr_ints(like, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, &mapped);
      if (mapped == 0 || !halo_type_is_sint(like->operands[1]->shape->type)) return false;
    }
  }
  return true;
}

static bool updates_match(const halo_instr *conditional, int32_t k, updates_result *result) {
  int32_t branches = halo_conditional_branch_count(conditional);
  const halo_shape *shape = conditional->shape;
  updates_own own;
  if (halo_shape_is_tuple(shape)) shape = shape->elements[k];
  if (!halo_shape_is_array(shape)) return false;
  for (int32_t b = 0; b < branches; b++) {
    halo_instr *value = updates_value(conditional, b, k);
    if (!value ||
        !updates_place(result, halo_conditional_branch(conditional, b), value, true, &own)) {
      return false;
    }
    updates_source source = updates_find_source(conditional, b, own.array);
    if (b == 0) result->array = source;
    if (!source.instr || !halo_shape_equal(own.array->shape, shape) ||
        source.instr != result->array.instr || source.index != result->array.index) {
      return false;
    }
  }
  for (int32_t b = 0; b < branches; b++) {
    halo_instr *value = updates_value(conditional, b, k);
    bool placed =
        updates_place(result, halo_conditional_branch(conditional, b), value, false, &own);
    if (!placed || !updates_can_skip(result, &own)) return false;
  }
  return true;
}

/* ---- Moving ---- */

typedef HALO_VEC(halo_instr *) updates_list;

/* Operands of an update that changes nothing. */
static void updates_skip(halo_rewriter *r, halo_instr *array, const halo_instr *like,
                         updates_list *out) {
  if (like->opcode == HALO_OP_SCATTER) {
    const halo_shape *indices = like->operands[1]->shape, *values = like->operands[2]->shape;
    halo_instr *nowhere = halo_rewrite_make_scalar(r, array, indices->type, -1);
    halo_instr *nothing = halo_rewrite_make_scalar(r, array, values->type, 0);
    halo_vec_push(out, halo_rewrite_make_splat(r, array, nowhere, indices));
    halo_vec_push(out, halo_rewrite_make_splat(r, array, nothing, values));
    return;
  }
  const halo_shape *part = like->operands[1]->shape;
  halo_instr *operands[1 + HALO_MAX_RANK] = {array};
  for (int d = 0; d < part->rank; d++) {
    operands[1 + d] = halo_rewrite_make_scalar(r, array, like->operands[2 + d]->shape->type, 0);
  }
  halo_attr sizes = halo_rewrite_list_attr(r->computation->module, HALO_ATTR_DYNAMIC_SLICE_SIZES,
                                           part->dims, part->rank);
  halo_vec_push(out, halo_rewrite_make(r, array, HALO_OP_DYNAMIC_SLICE, part, operands,
                                       1 + part->rank, &sizes, 1));
  for (int d = 0; d < part->rank; d++) halo_vec_push(out, operands[1 + d]);
}

/* The operands of each update but for the array, the first update first. */
static void updates_give(halo_rewriter *r, updates_result *result, halo_instr *value,
                         updates_list *out) {
  updates_own own;
  bool placed = updates_place(result, r->computation, value, false, &own);
  for (int32_t l = result->levels; placed && l-- > 0;) {
    if (!own.update[l]) updates_skip(r, own.array, result->like[l], out);
    for (int32_t o = 1; own.update[l] && o < own.update[l]->operand_count; o++) {
      halo_vec_push(out, own.update[l]->operands[o]);
    }
  }
}

static halo_instr *updates_make_tuple(halo_rewriter *r, const halo_instr *like,
                                      const updates_list *parts) {
  halo_arena *arena = &r->computation->module->arena;
  const halo_shape **shapes = halo_arena_array(arena, const halo_shape *, parts->count);
  for (int32_t i = 0; i < parts->count; i++) shapes[i] = parts->data[i]->shape;
  return halo_rewrite_make(r, like, HALO_OP_TUPLE,
                           halo_shape_new_tuple(arena, parts->count, shapes), parts->data,
                           parts->count, NULL, 0);
}

static halo_status updates_change_branch(const halo_instr *conditional, int32_t b,
                                         updates_result *results, int32_t count) {
  halo_computation *branch = halo_conditional_branch(conditional, b);
  updates_list parts = {0};
  halo_rewriter r;
  bool changed;
  halo_rewrite_begin(&r, branch);
  for (int32_t k = 0; k < count; k++) {
    halo_instr *value = updates_value(conditional, b, k);
    if (results[k].moves) {
      updates_give(&r, &results[k], value, &parts);
    } else {
      halo_vec_push(&parts, value);
    }
  }
  branch->root = updates_make_tuple(&r, branch->root, &parts);
  r.changed = true;
  halo_vec_deinit(&parts);
  HALO_TRY(halo_rewrite_end(&r, &changed));
  (void)halo_computation_remove_dead(branch);
  return HALO_OK;
}

/* The array with the updates that the conditional gives from element *next on. */
static halo_instr *updates_apply(halo_rewriter *r, halo_instr *conditional,
                                 const updates_result *result, int32_t *next) {
  halo_instr *array = result->array.instr;
  if (result->array.index >= 0) {
    array = halo_rewrite_make_gte(r, conditional, array, result->array.index);
  }
  for (int32_t l = result->levels; l-- > 0;) {
    const halo_instr *like = result->like[l];
    halo_instr *operands[2 + HALO_MAX_RANK] = {array};
    for (int32_t o = 1; o < like->operand_count; o++) {
      operands[o] = halo_rewrite_make_gte(r, conditional, conditional, (*next)++);
    }
    array = halo_rewrite_make(r, conditional, like->opcode, array->shape, operands,
                              like->operand_count, like->attrs, like->attr_count);
  }
  return array;
}

static halo_status updates_move(halo_rewriter *r, halo_instr *conditional, updates_result *results,
                                int32_t count) {
  bool several = halo_shape_is_tuple(conditional->shape);
  int32_t branches = halo_conditional_branch_count(conditional), next = 0;
  for (int32_t b = 0; b < branches; b++) {
    HALO_TRY(updates_change_branch(conditional, b, results, count));
  }
  halo_instr *made =
      halo_rewrite_make(r, conditional, HALO_OP_CONDITIONAL,
                        halo_conditional_branch(conditional, 0)->root->shape, conditional->operands,
                        conditional->operand_count, conditional->attrs, conditional->attr_count);
  updates_list values = {0};
  for (int32_t k = 0; k < count; k++) {
    halo_vec_push(&values, results[k].moves ? updates_apply(r, made, &results[k], &next)
                                            : halo_rewrite_make_gte(r, made, made, next++));
  }
  halo_rewrite_replace(r, conditional,
                       several ? updates_make_tuple(r, made, &values) : values.data[0]);
  halo_vec_deinit(&values);
  return HALO_OK;
}

/* ---- The pass ---- */

/* Branches that nothing else calls can be changed. */
static bool updates_can_change(const halo_instr *conditional) {
  if (conditional->opcode != HALO_OP_CONDITIONAL || halo_rewrite_pinned(conditional)) return false;
  for (int32_t b = 0; b < halo_conditional_branch_count(conditional); b++) {
    if (halo_conditional_branch(conditional, b)->mark != 1) return false;
  }
  return true;
}

static halo_status updates_run(halo_computation *computation, bool *changed) {
  halo_rewriter r;
  halo_status status = HALO_OK;
  int32_t before = computation->instrs.count;
  halo_rewrite_begin(&r, computation);
  for (int32_t i = 0; i < before && status == HALO_OK; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i);
    if (!instr || !updates_can_change(instr)) continue;
    bool several = halo_shape_is_tuple(instr->shape), any = false;
    int32_t count = several ? instr->shape->count : 1;
    updates_result *results = halo_alloc(sizeof *results * (size_t)(count + 1));
    for (int32_t k = 0; k < count; k++) {
      results[k] = (updates_result){0};
      results[k].moves = updates_match(instr, k, &results[k]);
      any |= results[k].moves;
    }
    if (any) status = updates_move(&r, instr, results, count);
    halo_free(results);
  }
  halo_status end = halo_rewrite_end(&r, changed);
  return status == HALO_OK ? end : status;
}

halo_status halo_pass_branch_updates(halo_module *module, bool *changed) {
  halo_loop_count_callers(module);
  return halo_rewrite_computations(module, updates_run, changed);
}

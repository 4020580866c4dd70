/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/control.c: run-time sizes into loops and branches, and out of them: they become a part of what
 * goes in and comes out. */
#include "passes/dynamic/dynamic.h"

#include "base/memory.h"

/* A dynamic dimension of a value that goes in or comes out. */
typedef struct control_dim {
  int32_t leaf;
  int dim;
} control_dim;
typedef HALO_VEC(control_dim) control_dims;

static halo_arena *control_arena(const halo_dynamic *d) { return &d->all->module->arena; }

static bool control_listed(const control_dims *dims, int32_t leaf, int dim) {
  for (int32_t i = 0; i < dims->count; i++) {
    if (dims->data[i].leaf == leaf && dims->data[i].dim == dim) return true;
  }
  return false;
}

/* Lists the dimensions of a value that have sizes, and those that are marked in its shape, or in another one of
 * the same extents, with `marked`. */
static void control_list(const halo_dynamic *d, const halo_instr *value, const halo_shape *marked,
                         control_dims *dims) {
  for (int32_t l = 0; l < halo_shape_leaf_count(value->shape); l++) {
    const halo_shape *leaf = halo_leaf_shape(value->shape, l);
    const halo_shape *marks = marked ? halo_leaf_shape(marked, l) : NULL;
    for (int i = 0; i < leaf->rank; i++) {
      bool dynamic = halo_dynamic_leaf_size(d, value, l, i) != NULL ||
                     (marks && halo_shape_dim_is_dynamic(marks, i));
      if (dynamic && !control_listed(dims, l, i)) halo_vec_push(dims, (control_dim){l, i});
    }
  }
}

static int32_t control_parts(const halo_shape *shape) {
  return halo_shape_is_tuple(shape) ? shape->count : 1;
}

/* A tuple of the value, or of its elements where it is a tuple, and of the sizes of these dimensions. */
static halo_instr *control_widen(halo_dynamic *d, halo_instr *value, const control_dims *dims) {
  if (dims->count == 0) return value;
  int32_t count = control_parts(value->shape);
  halo_instr **parts = halo_arena_array(control_arena(d), halo_instr *, count + dims->count);
  parts[0] = value;
  for (int32_t i = 0; i < count && halo_shape_is_tuple(value->shape); i++) {
    parts[i] = value->opcode == HALO_OP_TUPLE ? halo_rewrite_resolve(value->operands[i])
                                              : halo_rewrite_make_gte(&d->r, d->x.like, value, i);
  }
  for (int32_t i = 0; i < dims->count; i++) {
    const control_dim *at = &dims->data[i];
    halo_instr *size = halo_dynamic_leaf_size(d, value, at->leaf, at->dim);
    int64_t bound = halo_leaf_shape(value->shape, at->leaf)->dims[at->dim];
    parts[count + i] = size ? size : halo_dynamic_number(d, bound);
  }
  return halo_expand_tuple(&d->x, parts, count + dims->count);
}

/* The value of a shape that was widened, with its sizes noted. */
static halo_instr *control_narrow(halo_dynamic *d, halo_instr *wide, const halo_shape *shape,
                                  const control_dims *dims) {
  if (dims->count == 0) return wide;
  int32_t count = control_parts(shape);
  halo_instr **parts = halo_arena_array(control_arena(d), halo_instr *, count);
  for (int32_t i = 0; i < count; i++) {
    parts[i] = halo_rewrite_make_gte(&d->r, d->x.like, wide, i);
  }
  halo_instr *value = parts[0];
  if (halo_shape_is_tuple(shape)) value = halo_expand_tuple(&d->x, parts, count);
  for (int32_t i = 0; i < dims->count && value; i++) {
    halo_instr *size = halo_rewrite_make_gte(&d->r, d->x.like, wide, count + i);
    halo_dynamic_set_leaf(d, value, dims->data[i].leaf, dims->data[i].dim, size);
  }
  return value;
}

/* ---- Computations ---- */

/* A copy of a computation in the making. */
typedef struct control_callee {
  halo_dynamic d;
  halo_instr *root;
} control_callee;

/* Copies a computation of one parameter for one that is `wide`, which is `shape` and the sizes of `dims`. */
static void control_enter(halo_dynamic *outer, control_callee *c, const halo_computation *from,
                          const halo_shape *wide, const halo_shape *shape,
                          const control_dims *dims) {
  halo_module *module = outer->all->module;
  halo_computation *computation = halo_computation_create(module, NULL);
  computation->name = halo_module_fresh_name(module, from->name);
  computation->execution_thread = from->execution_thread;
  halo_dynamic_begin(&c->d, outer->all, computation);
  c->d.x.like = outer->x.like;
  halo_instr_spec spec = {
      .opcode = HALO_OP_PARAMETER, .shape = wide, .line = from->params.data[0]->line};
  halo_instr *param = halo_instr_create_unchecked(computation, &spec);
  halo_instr *value = control_narrow(&c->d, param, shape, dims);
  computation->root = halo_computation_inline(computation, from, &value);
  c->root = halo_dynamic_walk(&c->d);
}

/* Finishes it with the sizes of these dimensions behind its result. */
static halo_computation *control_leave(halo_dynamic *outer, control_callee *c,
                                       const control_dims *dims) {
  halo_computation *computation = c->d.r.computation;
  c->d.x.like = outer->x.like;
  if (c->d.x.status == HALO_OK) {
    computation->root = control_widen(&c->d, c->root, dims);
    c->d.r.changed = true;
  }
  halo_status status = halo_dynamic_end(&c->d);
  if (outer->x.status == HALO_OK) outer->x.status = status;
  return computation;
}

/* The instruction with other computations, operands and shape. */
static halo_instr *control_again(halo_dynamic *d, const halo_instr *old, const halo_shape *shape,
                                 halo_instr *const *operands) {
  halo_instr *instr = halo_rewrite_make(&d->r, old, old->opcode, shape, operands,
                                        old->operand_count, old->attrs, old->attr_count);
  instr->control_preds = old->control_preds;
  instr->control_pred_count = old->control_pred_count;
  return instr;
}

static void control_set_comps(halo_dynamic *d, halo_instr *instr, halo_attr_id id,
                              halo_computation *const *comps, int32_t count) {
  halo_attr attr = {.id = id};
  attr.comps.data = halo_arena_copy(control_arena(d), comps, sizeof *comps * (size_t)count);
  attr.comps.count = count;
  halo_instr_set_attr(instr, &attr);
}

/* ---- Loops ---- */

/* What is dynamic in the state: before the loop, or as the shapes of the loop, and of what it calls, say. */
static void control_state(const halo_dynamic *d, const halo_instr *loop, control_dims *dims) {
  const halo_instr *init = loop->operands[0];
  const halo_computation *body = halo_instr_comp(loop, HALO_ATTR_BODY);
  control_list(d, init, loop->shape, dims);
  control_list(d, init, init->shape, dims);
  control_list(d, init, body->params.data[0]->shape, dims);
  control_list(d, init, body->root->shape, dims);
}

halo_instr *halo_sized_while(halo_dynamic *d, halo_instr *instr) {
  control_dims dims = {0}, after = {0}, none = {0};
  control_callee body, condition;
  const halo_shape *shape = halo_shape_static(control_arena(d), instr->shape);
  halo_instr *value = NULL;
  control_state(d, instr, &dims);
  halo_instr *init = control_widen(d, instr->operands[0], &dims);
  const halo_shape *wide = init ? halo_shape_static(control_arena(d), init->shape) : NULL;
  if (!wide) goto done;
  control_enter(d, &body, halo_instr_comp(instr, HALO_ATTR_BODY), wide, shape, &dims);
  control_list(&body.d, body.root, NULL, &after);
  for (int32_t i = 0; i < after.count; i++) {
    if (control_listed(&dims, after.data[i].leaf, after.data[i].dim)) continue;
    halo_dynamic_fail(d, instr, "has a state whose extent is known at run time only in its body");
  }
  halo_computation *comps[] = {control_leave(d, &body, &dims)};
  control_enter(d, &condition, halo_instr_comp(instr, HALO_ATTR_CONDITION), wide, shape, &dims);
  halo_computation *conditions[] = {control_leave(d, &condition, &none)};
  if (d->x.status != HALO_OK) goto done;
  halo_instr *loop = control_again(d, instr, wide, &init);
  control_set_comps(d, loop, HALO_ATTR_BODY, comps, 1);
  control_set_comps(d, loop, HALO_ATTR_CONDITION, conditions, 1);
  value = control_narrow(d, loop, shape, &dims);
done:
  halo_vec_deinit(&dims);
  halo_vec_deinit(&after);
  return value;
}

/* ---- Branches ---- */

static void control_set_branches(halo_dynamic *d, halo_instr *instr,
                                 halo_computation *const *branches, int32_t count) {
  if (halo_instr_attr(instr, HALO_ATTR_BRANCH_COMPUTATIONS)) {
    control_set_comps(d, instr, HALO_ATTR_BRANCH_COMPUTATIONS, branches, count);
  } else {
    control_set_comps(d, instr, HALO_ATTR_TRUE_COMPUTATION, branches, 1);
    control_set_comps(d, instr, HALO_ATTR_FALSE_COMPUTATION, branches + 1, 1);
  }
}

/* A result's dimension is dynamic where it is in any branch; the others give its bound. */
halo_instr *halo_sized_conditional(halo_dynamic *d, halo_instr *instr) {
  int32_t count = halo_conditional_branch_count(instr);
  halo_arena *arena = control_arena(d);
  control_callee *branches = halo_arena_array(arena, control_callee, count);
  halo_computation **comps = halo_arena_array(arena, halo_computation *, count);
  halo_instr **operands = halo_arena_array(arena, halo_instr *, 1 + count);
  control_dims results = {0};
  int32_t entered = 0;
  operands[0] = instr->operands[0];
  for (int32_t b = 0; b < count && d->x.status == HALO_OK; b++) {
    control_dims dims = {0};
    halo_instr *operand = instr->operands[1 + b];
    control_list(d, operand, NULL, &dims);
    operands[1 + b] = control_widen(d, operand, &dims);
    if (operands[1 + b]) {
      control_callee *c = &branches[entered++];
      control_enter(d, c, halo_conditional_branch(instr, b),
                    halo_shape_static(arena, operands[1 + b]->shape),
                    halo_shape_static(arena, operand->shape), &dims);
      control_list(&c->d, c->root, NULL, &results);
    }
    halo_vec_deinit(&dims);
  }
  for (int32_t b = 0; b < entered; b++) comps[b] = control_leave(d, &branches[b], &results);
  halo_instr *value = NULL;
  if (d->x.status == HALO_OK) {
    const halo_shape *wide = halo_shape_static(arena, comps[0]->root->shape);
    halo_instr *chosen = control_again(d, instr, wide, operands);
    control_set_branches(d, chosen, comps, count);
    value = control_narrow(d, chosen, halo_shape_static(arena, instr->shape), &results);
  }
  halo_vec_deinit(&results);
  return value;
}

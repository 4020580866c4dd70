/* SPDX-License-Identifier: Apache-2.0 */
/* partition/scatter.c: one partition's part of scatter. Indices are counted from the part's first element on:
 * those of other parts lie outside and are left out, as scatter does with these. */
#include "partition/ops.h"

#include <string.h>

/* The attributes of a scatter, which change while windows are taken apart. */
typedef struct scatter_list {
  int64_t data[HALO_MAX_RANK];
  int32_t count;
} scatter_list;

typedef struct scatter_form {
  halo_spmd_site *s;
  int32_t arrays;
  scatter_list window, inserted, batch, indices_batch, map;
  int64_t vector;
} scatter_form;

static scatter_list scatter_read_list(const halo_instr *instr, halo_attr_id id) {
  scatter_list list;
  const int64_t *data = halo_instr_ints(instr, id, &list.count);
  if (list.count) memcpy(list.data, data, sizeof *data * (size_t)list.count);
  return list;
}

static scatter_form scatter_read(halo_spmd_site *s) {
  const halo_instr *instr = s->instr;
  return (scatter_form){
      .s = s,
      .arrays = (instr->operand_count - 1) / 2,
      .window = scatter_read_list(instr, HALO_ATTR_UPDATE_WINDOW_DIMS),
      .inserted = scatter_read_list(instr, HALO_ATTR_INSERTED_WINDOW_DIMS),
      .batch = scatter_read_list(instr, HALO_ATTR_INPUT_BATCHING_DIMS),
      .indices_batch = scatter_read_list(instr, HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS),
      .map = scatter_read_list(instr, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
      .vector = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0)};
}

static int32_t scatter_find(const scatter_list *list, int64_t value) {
  for (int32_t i = 0; i < list->count; i++) {
    if (list->data[i] == value) return i;
  }
  return -1;
}

/* Which dimension of the updates a dimension of the operand is; -1: none. */
static int64_t scatter_update_dim(const scatter_form *f, int64_t dim) {
  if (scatter_find(&f->inserted, dim) >= 0 || scatter_find(&f->batch, dim) >= 0) return -1;
  int32_t k = 0;
  for (int64_t d = 0; d < dim; d++) {
    k += scatter_find(&f->inserted, d) < 0 && scatter_find(&f->batch, d) < 0;
  }
  return f->window.data[k];
}

static bool scatter_is_cut(const scatter_form *f, int64_t dim) {
  return halo_spmd_needed(f->s->p, f->s->rule, 0, f->s->axes).dims[dim].count > 0;
}

/* Whether the operand is cut along a dimension of which windows have a part. */
static bool scatter_reaches(const scatter_form *f, int64_t dim) {
  int64_t update_dim = scatter_update_dim(f, dim);
  const halo_shape *update = f->s->instr->operands[f->arrays + 1]->shape;
  return update_dim >= 0 && scatter_is_cut(f, dim) &&
         update->dims[update_dim] < f->s->instr->operands[0]->shape->dims[dim];
}

/* ---- One window ---- */

/* What combines an element with its update, where that is one operation of both, or the update alone (a copy). */
static bool scatter_combiner(const halo_instr *instr, halo_opcode *out) {
  const halo_computation *apply = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  const halo_instr *root = apply->root;
  if (apply->params.count != 2) return false;
  const halo_instr *a = apply->params.data[0], *b = apply->params.data[1];
  *out = root == b ? HALO_OP_COPY : root->opcode;
  if (root == b) return true;
  return root->operand_count == 2 && root->operands[0] == a && root->operands[1] == b &&
         halo_opcode_has_trait(root->opcode, HALO_TRAIT_EW) && a->shape->type == b->shape->type &&
         root->shape->type == a->shape->type && !halo_instr_attr(root, HALO_ATTR_DIRECTION);
}

static bool scatter_is_one(const scatter_form *f, halo_opcode *combiner) {
  const halo_instr *instr = f->s->instr;
  bool reaches = false;
  for (int d = 0; d < instr->operands[0]->shape->rank; d++) reaches |= scatter_reaches(f, d);
  return reaches && f->arrays == 1 && f->batch.count == 0 && !f->s->summed &&
         halo_shape_element_count(instr->operands[1]->shape) == f->map.count &&
         instr->operands[0]->shape->type == instr->operands[2]->shape->type &&
         scatter_combiner(instr, combiner);
}

/* A window that begins before or ends behind the array is left out. */
static halo_instr *scatter_one(const scatter_form *f, halo_opcode combiner) {
  halo_spmd_site *s = f->s;
  halo_spmd *p = s->p;
  halo_expander *x = &p->x;
  const halo_shape *whole = s->instr->operands[0]->shape, *update = s->instr->operands[2]->shape;
  halo_instr *indices = halo_spmd_widen(p, s->operands[1]), *starts[HALO_MAX_RANK], *valid = NULL;
  int64_t dims[HALO_MAX_RANK], extents[HALO_MAX_RANK], count = f->map.count;
  indices = halo_expand_reshape(x, indices, 1, &count);
  const halo_shape *scalar = halo_shape_new(&p->module->arena, indices->shape->type, 0, NULL);
  for (int d = 0; d < whole->rank; d++) {
    int64_t update_dim = scatter_update_dim(f, d), k = scatter_find(&f->map, d);
    extents[d] = update_dim >= 0 ? update->dims[update_dim] : 1;
    dims[d] = update_dim >= 0 ? s->operands[2]->shape->dims[update_dim] : 1;
    starts[d] = halo_spmd_splat(p, scalar, 0);
    if (k < 0) continue;
    starts[d] = halo_expand_reshape(x, halo_expand_range(x, indices, 0, k, k + 1), 0, NULL);
    halo_instr *inside = halo_spmd_between(p, starts[d], 0, whole->dims[d] - extents[d]);
    valid = valid ? halo_expand_binary(x, HALO_OP_AND, valid, inside) : inside;
  }
  halo_instr *value = halo_expand_reshape(x, s->operands[2], whole->rank, dims);
  halo_spmd_window w = {s, s->operands[0], value, extents, starts, valid, combiner};
  return halo_spmd_write_window(&w);
}

/* ---- Windows taken apart ---- */

/* Indices with their components along the last dimension. */
static void scatter_normalise(scatter_form *f) {
  halo_expander *x = &f->s->p->x;
  halo_instr **indices = &f->s->operands[f->arrays];
  *indices = halo_spmd_widen(f->s->p, *indices);
  int rank = (*indices)->shape->rank;
  int64_t dims[HALO_MAX_RANK], order[HALO_MAX_RANK];
  memcpy(dims, (*indices)->shape->dims, sizeof *dims * (size_t)rank);
  if (f->vector == rank) {
    dims[rank] = 1;
    *indices = halo_expand_reshape(x, *indices, rank + 1, dims);
    return;
  }
  for (int d = 0, n = 0; d < rank; d++) {
    if (d != f->vector) order[n++] = d;
  }
  order[rank - 1] = f->vector;
  halo_attr attr = halo_rewrite_list_attr(f->s->p->module, HALO_ATTR_DIMENSIONS, order, rank);
  if (f->vector != rank - 1) {
    *indices = halo_expand_op(x, HALO_OP_TRANSPOSE, indices, 1, &attr, 1);
  }
  for (int32_t i = 0; i < f->indices_batch.count; i++) {
    f->indices_batch.data[i] -= f->indices_batch.data[i] > f->vector;
  }
  f->vector = rank - 1;
}

/* Where windows have a part of a dimension, each of their elements along it gets an index of its own. */
static void scatter_split(scatter_form *f, int64_t dim) {
  halo_spmd *p = f->s->p;
  halo_expander *x = &p->x;
  const halo_shape *update = f->s->operands[f->arrays + 1]->shape;
  int64_t update_dim = scatter_update_dim(f, dim), window = update->dims[update_dim], place = 0;
  for (int64_t d = 0; d < update_dim; d++) place += scatter_find(&f->window, d) < 0;
  halo_instr *old = f->s->operands[f->arrays];
  int rank = old->shape->rank + 1;
  int64_t dims[HALO_MAX_RANK], along[HALO_MAX_RANK];
  for (int d = 0; d < rank; d++) {
    dims[d] = d == place ? window : old->shape->dims[d - (d > place)];
    if (d != place) along[d - (d > place)] = d;
  }
  const halo_shape *shape = halo_shape_new(&p->module->arena, old->shape->type, rank, dims);
  halo_instr *all = halo_expand_broadcast(x, old, along, shape);
  /* Windows that reach over the array's ends are left out, all of them. */
  int64_t last = f->s->instr->operands[0]->shape->dims[dim] - window;
  halo_instr *each = halo_expand_binary(x, HALO_OP_ADD, all, halo_expand_iota(x, shape, place));
  each = halo_expand_select(x, halo_spmd_between(p, all, 0, last), each,
                            halo_spmd_splat(p, shape, -1));
  halo_instr *mine = halo_expand_compare(x, halo_expand_iota(x, shape, rank - 1), HALO_EQ,
                                         halo_spmd_splat(p, shape, scatter_find(&f->map, dim)));
  f->s->operands[f->arrays] = halo_expand_select(x, mine, each, all);
  int32_t at = scatter_find(&f->window, update_dim);
  for (int32_t i = at; i + 1 < f->window.count; i++) f->window.data[i] = f->window.data[i + 1];
  f->window.count--;
  for (at = f->inserted.count++; at > 0 && f->inserted.data[at - 1] > dim; at--) {
    f->inserted.data[at] = f->inserted.data[at - 1];
  }
  f->inserted.data[at] = dim;
  for (int32_t i = 0; i < f->indices_batch.count; i++) {
    f->indices_batch.data[i] += f->indices_batch.data[i] >= place;
  }
  f->vector = rank - 1;
}

/* The attributes as they have become; indices are in no order now. */
static void scatter_write_attrs(const scatter_form *f) {
  const struct {
    halo_attr_id id;
    const scatter_list *list;
  } lists[] = {{HALO_ATTR_UPDATE_WINDOW_DIMS, &f->window},
               {HALO_ATTR_INSERTED_WINDOW_DIMS, &f->inserted},
               {HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS, &f->indices_batch}};
  enum { LISTS = sizeof lists / sizeof lists[0] };
  halo_spmd_site *s = f->s;
  halo_attr *attrs = halo_arena_array(&s->p->module->arena, halo_attr, s->attr_count + LISTS + 1);
  int32_t count = 0;
  for (int32_t i = 0; i < s->attr_count; i++) {
    halo_attr_id id = s->attrs[i].id;
    bool changes = id == HALO_ATTR_INDICES_ARE_SORTED || id == HALO_ATTR_INDEX_VECTOR_DIM;
    for (int k = 0; k < LISTS; k++) changes |= id == lists[k].id;
    if (!changes) attrs[count++] = s->attrs[i];
  }
  for (int k = 0; k < LISTS; k++) {
    bool optional = lists[k].id == HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS;
    if (optional && lists[k].list->count == 0) continue;
    attrs[count++] = halo_rewrite_list_attr(s->p->module, lists[k].id, lists[k].list->data,
                                            lists[k].list->count);
  }
  attrs[count++] = (halo_attr){.id = HALO_ATTR_INDEX_VECTOR_DIM, .i = f->vector};
  s->attrs = attrs;
  s->attr_count = count;
}

static void scatter_split_all(scatter_form *f) {
  bool split = false;
  for (int d = 0; d < f->s->instr->operands[0]->shape->rank; d++) {
    if (!scatter_reaches(f, d)) continue;
    if (!split) scatter_normalise(f);
    split = true;
    scatter_split(f, d);
  }
  if (split) scatter_write_attrs(f);
}

/* ---- Several windows ---- */

/* Indices counted from the part's first element on, along dimensions that are cut and that they choose in. */
static halo_instr *scatter_shift(const scatter_form *f) {
  halo_spmd *p = f->s->p;
  halo_expander *x = &p->x;
  halo_instr *indices = f->s->operands[f->arrays];
  for (int32_t k = 0; k < f->map.count && indices; k++) {
    int64_t dim = f->map.data[k];
    if (scatter_find(&f->inserted, dim) < 0 || !scatter_is_cut(f, dim)) continue;
    indices = halo_spmd_widen(p, indices);
    const halo_shape *shape = indices->shape;
    halo_instr *begin = halo_spmd_begin(f->s, 0, (int)dim);
    halo_instr *by = halo_expand_splat(x, halo_expand_convert(x, begin, shape->type), shape);
    if (f->vector < shape->rank) {
      halo_instr *mine = halo_expand_compare(x, halo_expand_iota(x, shape, f->vector), HALO_EQ,
                                             halo_spmd_splat(p, shape, k));
      by = halo_expand_select(x, mine, by, halo_spmd_splat(p, shape, 0));
    }
    indices = halo_expand_binary(x, HALO_OP_SUBTRACT, indices, by);
  }
  return indices;
}

/* Where updates are spread, one partition begins with the operand, the others with an identity. */
static halo_instr *scatter_begin_with(halo_spmd_site *s) {
  halo_spmd *p = s->p;
  halo_expander *x = &p->x;
  halo_instr *operand = s->operands[0];
  if (halo_spmd_is_identity(s->instr->operands[0], s->rule->combiner)) return operand;
  halo_spmd_axes axes = {0};
  for (int a = 0; a < p->mesh.axes; a++) {
    if (s->summed & 1u << a) axes.id[axes.count++] = (int8_t)a;
  }
  halo_instr *position = halo_spmd_offset(p, &axes, 1);
  if (!position) return NULL;
  halo_instr *zero = halo_expand_scalar(x, position->shape->type, 0);
  halo_instr *first = halo_expand_compare(x, position, HALO_EQ, zero);
  first = halo_expand_splat(x, first, operand->shape);
  halo_instr *none = halo_expand_splat(x, halo_spmd_identity(p, s->rule->combiner), operand->shape);
  return halo_expand_select(x, first, operand, none);
}

halo_instr *halo_spmd_scatter(halo_spmd_site *s) {
  halo_opcode combiner;
  for (int32_t i = 0; i < s->instr->operand_count; i++) {
    if (!s->operands[i]) return NULL;
  }
  scatter_form f = scatter_read(s);
  if (scatter_is_one(&f, &combiner)) return scatter_one(&f, combiner);
  scatter_split_all(&f);
  s->operands[f.arrays] = scatter_shift(&f);
  if (s->summed) s->operands[0] = scatter_begin_with(s);
  return halo_spmd_plain(s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/indexed.c: run-time sizes through operations that find elements by their indices, and sorts. */
#include "passes/dynamic/dynamic.h"

/* ---- Slices at run-time places ---- */

/* A type of indices that holds all sizes, which are s32. */
static halo_type indexed_wide(halo_type type) { return halo_type_size(type) < 4 ? HALO_S32 : type; }

/* The start along a dimension; starts are scalars from operand `first` on, or one vector. */
static halo_instr *indexed_start(halo_dynamic *d, const halo_instr *instr, int32_t first, int dim) {
  halo_instr *start = instr->operands[first];
  bool vector = instr->operand_count == first + 1 && start->shape->rank == 1;
  halo_type wide = indexed_wide(start->shape->type);
  if (!vector) return halo_expand_convert(&d->x, instr->operands[first + dim], wide);
  halo_arena *arena = &d->all->module->arena;
  const int64_t one = 1, range[] = {dim, dim + 1, 1};
  start = halo_rewrite_make_listed(&d->r, instr, HALO_OP_SLICE,
                                   halo_shape_new(arena, start->shape->type, 1, &one), start,
                                   HALO_ATTR_SLICE, range, 3);
  start = halo_rewrite_make_unary(&d->r, instr, HALO_OP_RESHAPE,
                                  halo_shape_new(arena, start->shape->type, 0, NULL), start);
  return halo_expand_convert(&d->x, start, wide);
}

/* `start` moved so that as many elements as `part` says fit into `size`. */
static halo_instr *indexed_fit(halo_dynamic *d, halo_instr *start, halo_instr *size,
                               halo_instr *part) {
  halo_type type = start->shape->type;
  halo_instr *zero = halo_rewrite_make_scalar(&d->r, d->x.like, type, 0);
  halo_instr *last = halo_dynamic_binary(d, HALO_OP_SUBTRACT, size, part);
  last = halo_dynamic_binary(d, HALO_OP_MAXIMUM, last, halo_dynamic_number(d, 0));
  last = halo_expand_convert(&d->x, last, type);
  return halo_expand_op(&d->x, HALO_OP_CLAMP, (halo_instr *[]){zero, start, last}, 3, NULL, 0);
}

/* All of a dimension is all there is of it; less is taken from within that. */
halo_instr *halo_sized_dynamic_slice(halo_dynamic *d, halo_instr *instr) {
  halo_instr *array = instr->operands[0], *starts[HALO_MAX_RANK];
  bool moved = false;
  for (int i = 0; i < array->shape->rank; i++) {
    halo_instr *size = halo_dynamic_size(d, array, i);
    starts[i] = indexed_start(d, instr, 1, i);
    if (!size || instr->shape->dims[i] == array->shape->dims[i]) continue;
    starts[i] = indexed_fit(d, starts[i], size, halo_dynamic_number(d, instr->shape->dims[i]));
    moved = true;
  }
  halo_instr *value =
      moved ? halo_expand_dynamic_slice(&d->x, array, starts, instr->shape->dims) : instr;
  for (int i = 0; i < array->shape->rank; i++) {
    bool all = instr->shape->dims[i] == array->shape->dims[i];
    halo_dynamic_set(d, value, i, all ? halo_dynamic_size(d, array, i) : NULL);
  }
  return value;
}

/* The array with room behind it, so that an update's padding fits wherever its valid elements do; or, with
 * `back`, without. */
static halo_instr *indexed_room(halo_dynamic *d, halo_instr *array, const int64_t *room,
                                bool back) {
  int64_t padding[3 * HALO_MAX_RANK] = {0};
  if (!array) return NULL;
  for (int i = 0; i < array->shape->rank; i++) padding[3 * i + 1] = back ? -room[i] : room[i];
  halo_instr *zero = halo_rewrite_make_scalar(&d->r, d->x.like, array->shape->type, 0);
  return halo_expand_pad(&d->x, array, zero, padding);
}

halo_instr *halo_sized_dynamic_update_slice(halo_dynamic *d, halo_instr *instr) {
  halo_instr *array = instr->operands[0], *update = instr->operands[1];
  halo_instr *operands[2 + HALO_MAX_RANK] = {array, update};
  int rank = array->shape->rank;
  int64_t room[HALO_MAX_RANK] = {0};
  for (int i = 0; i < rank; i++) {
    halo_instr *part = halo_dynamic_size(d, update, i);
    operands[2 + i] = indexed_start(d, instr, 2, i);
    if (part) room[i] = update->shape->dims[i];
    if (!part && !halo_dynamic_size(d, array, i)) continue;
    operands[2 + i] = indexed_fit(d, operands[2 + i], halo_dynamic_extent(d, array, i),
                                  halo_dynamic_extent(d, update, i));
  }
  bool partial = halo_dynamic_any(d, update);
  if (partial) {
    operands[0] = indexed_room(d, array, room, false);
    halo_instr *old =
        halo_expand_dynamic_slice(&d->x, operands[0], operands + 2, update->shape->dims);
    operands[1] = halo_dynamic_choose(d, update, NULL, old);
  }
  halo_instr *value =
      halo_expand_op(&d->x, HALO_OP_DYNAMIC_UPDATE_SLICE, operands, 2 + rank, NULL, 0);
  if (partial) value = indexed_room(d, value, room, true);
  halo_dynamic_copy(d, array, value);
  return value;
}

/* ---- Gather and scatter ---- */

static bool indexed_in(int64_t dim, const int64_t *list, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == dim) return true;
  }
  return false;
}

/* Scalars along a vector. */
static halo_instr *indexed_vector(halo_dynamic *d, halo_instr *const *scalars, int32_t count,
                                  halo_type type) {
  const int64_t one = 1;
  halo_instr **parts = halo_arena_array(&d->all->module->arena, halo_instr *, count);
  for (int32_t i = 0; i < count; i++) {
    halo_instr *part = halo_expand_convert(&d->x, scalars[i], type);
    parts[i] = halo_expand_reshape(&d->x, part, 1, &one);
  }
  return halo_expand_join(&d->x, parts, count, 0);
}

/* The indices moved so that slices lie within the valid elements. */
static halo_instr *indexed_clamp(halo_dynamic *d, halo_instr *instr) {
  halo_instr *array = instr->operands[0], *indices = instr->operands[1];
  int32_t count, n;
  const int64_t *map = halo_instr_ints(instr, HALO_ATTR_START_INDEX_MAP, &count);
  const int64_t *slices = halo_instr_ints(instr, HALO_ATTR_SLICE_SIZES, &n);
  int64_t vector = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  halo_instr *last[HALO_MAX_RANK];
  bool dynamic = false;
  for (int32_t i = 0; i < count; i++) {
    halo_instr *slice = halo_dynamic_number(d, slices[map[i]]);
    bool all = slices[map[i]] == array->shape->dims[map[i]];
    dynamic |= halo_dynamic_size(d, array, (int)map[i]) != NULL && !all;
    last[i] = halo_dynamic_extent(d, array, (int)map[i]);
    last[i] = halo_dynamic_binary(d, HALO_OP_SUBTRACT, last[i], slice);
    last[i] = halo_dynamic_binary(d, HALO_OP_MAXIMUM, last[i], halo_dynamic_number(d, 0));
    if (all) last[i] = halo_dynamic_number(d, 0);
  }
  if (!dynamic) return indices;
  halo_type wide = indexed_wide(indices->shape->type);
  halo_instr *limits = indexed_vector(d, last, count, wide);
  indices = halo_expand_convert(&d->x, indices, wide);
  if (!limits || !indices) return NULL;
  if (vector == indices->shape->rank) { /* an index is a scalar */
    limits = halo_rewrite_make_unary(&d->r, instr, HALO_OP_RESHAPE,
                                     halo_shape_new(&d->all->module->arena, wide, 0, NULL), limits);
    limits = halo_expand_splat(&d->x, limits, indices->shape);
  } else {
    limits = halo_expand_broadcast(&d->x, limits, &vector, indices->shape);
  }
  return halo_expand_binary(&d->x, HALO_OP_MINIMUM, indices, limits);
}

/* The size of the result's batch dimension number `batch`. */
static halo_instr *indexed_batch_size(const halo_dynamic *d, const halo_instr *instr, int batch) {
  const halo_instr *array = instr->operands[0], *indices = instr->operands[1];
  int64_t vector = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  int dim = batch < vector ? batch : batch + 1;
  halo_instr *size = halo_dynamic_size(d, indices, dim);
  int32_t count;
  const int64_t *of_array = halo_instr_ints(instr, HALO_ATTR_OPERAND_BATCHING_DIMS, &count);
  const int64_t *of_indices = halo_instr_ints(instr, HALO_ATTR_START_INDICES_BATCHING_DIMS, &count);
  for (int32_t i = 0; i < count && !size; i++) {
    if (of_indices[i] == dim) size = halo_dynamic_size(d, array, (int)of_array[i]);
  }
  return size;
}

halo_instr *halo_sized_gather(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *array = instr->operands[0], *indices = instr->operands[1];
  int32_t offsets, dropped, batching, n;
  const int64_t *offset = halo_instr_ints(instr, HALO_ATTR_OFFSET_DIMS, &offsets);
  const int64_t *collapsed = halo_instr_ints(instr, HALO_ATTR_COLLAPSED_SLICE_DIMS, &dropped);
  const int64_t *batch = halo_instr_ints(instr, HALO_ATTR_OPERAND_BATCHING_DIMS, &batching);
  const int64_t *slices = halo_instr_ints(instr, HALO_ATTR_SLICE_SIZES, &n);
  int64_t vector = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  if (vector < indices->shape->rank && halo_dynamic_size(d, indices, (int)vector)) {
    return halo_dynamic_fail(d, instr, "needs indices whose length is known");
  }
  for (int to = 0, b = 0, kept = 0; to < instr->shape->rank; to++) {
    if (!indexed_in(to, offset, offsets)) {
      halo_dynamic_set(d, instr, to, indexed_batch_size(d, instr, b++));
      continue;
    }
    while (indexed_in(kept, collapsed, dropped) || indexed_in(kept, batch, batching)) kept++;
    bool all = slices[kept] == array->shape->dims[kept];
    halo_dynamic_set(d, instr, to, all ? halo_dynamic_size(d, array, kept) : NULL);
    kept++;
  }
  halo_instr *fitting = indexed_clamp(d, instr);
  if (fitting && fitting != indices) {
    instr->operands[1] = fitting;
    d->r.changed = true;
  }
  return instr;
}

/* A window of updates is as long as the array's dimension, of the same size, where it is dynamic at all. */
static bool indexed_windows_fit(const halo_dynamic *d, const halo_instr *instr, int32_t n) {
  const halo_instr *array = instr->operands[0], *updates = instr->operands[n + 1];
  int32_t windows, dropped, batching;
  const int64_t *window = halo_instr_ints(instr, HALO_ATTR_UPDATE_WINDOW_DIMS, &windows);
  const int64_t *inserted = halo_instr_ints(instr, HALO_ATTR_INSERTED_WINDOW_DIMS, &dropped);
  const int64_t *batch = halo_instr_ints(instr, HALO_ATTR_INPUT_BATCHING_DIMS, &batching);
  for (int i = 0, kept = 0; i < windows; i++, kept++) {
    while (indexed_in(kept, inserted, dropped) || indexed_in(kept, batch, batching)) kept++;
    if (!halo_dynamic_size(d, updates, (int)window[i])) continue;
    bool all = updates->shape->dims[window[i]] == array->shape->dims[kept];
    if (!all || !halo_dynamic_size(d, array, kept)) return false;
  }
  return true;
}

/* Indices behind the size of a batch dimension, or of that dimension of the updates, are out of bounds. */
static void indexed_drop(halo_dynamic *d, halo_instr *instr, int32_t n) {
  const halo_instr *updates = instr->operands[n + 1];
  halo_instr *indices = instr->operands[n], *sizes[HALO_MAX_RANK] = {NULL};
  int32_t windows;
  const int64_t *window = halo_instr_ints(instr, HALO_ATTR_UPDATE_WINDOW_DIMS, &windows);
  int64_t vector = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  bool any = false;
  for (int i = 0, to = 0; i < indices->shape->rank; i++) {
    if (i == vector) continue;
    while (indexed_in(to, window, windows)) to++;
    sizes[i] = halo_dynamic_size(d, indices, i);
    if (!sizes[i]) sizes[i] = halo_dynamic_size(d, updates, to);
    any |= sizes[i] != NULL;
    to++;
  }
  if (!any) return;
  /* The largest of a narrow unsigned type may be an index. */
  halo_type type = indices->shape->type;
  bool narrow = halo_type_is_uint(type) && halo_type_size(type) < 4;
  if (narrow) {
    halo_instr *wide = halo_expand_convert(&d->x, indices, HALO_S32);
    halo_dynamic_copy(d, indices, wide);
    instr->operands[n] = wide;
  }
  halo_instr *outside = halo_rewrite_make_scalar(&d->r, instr, narrow ? HALO_S32 : type, -1);
  halo_dynamic_mask_operand(d, instr, n, sizes, outside);
  halo_instr_remove_attr(instr, HALO_ATTR_INDICES_ARE_SORTED);
  d->r.changed = true;
}

halo_instr *halo_sized_scatter(halo_dynamic *d, halo_instr *instr) {
  int32_t n = instr->operand_count / 2;
  const halo_instr *indices = instr->operands[n];
  int64_t vector = halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  if (vector < indices->shape->rank && halo_dynamic_size(d, indices, (int)vector)) {
    return halo_dynamic_fail(d, instr, "needs indices whose length is known");
  }
  if (!indexed_windows_fit(d, instr, n)) {
    return halo_dynamic_fail(d, instr, "needs windows whose extent is known, or the array's");
  }
  for (int32_t o = 0; o < n; o++) {
    for (int i = 0; i < instr->operands[o]->shape->rank; i++) {
      halo_dynamic_set_leaf(d, instr, o, i, halo_dynamic_size(d, instr->operands[0], i));
    }
  }
  indexed_drop(d, instr, n);
  return instr;
}

/* ---- Sort ---- */

/* The comparator with one more pair of parameters, which are true behind the size: such elements come last,
 * in any order. */
static halo_computation *indexed_comparator(halo_dynamic *d, const halo_computation *old) {
  halo_module *module = d->all->module;
  halo_computation *comparator = halo_computation_create(module, NULL);
  comparator->name = halo_module_fresh_name(module, old->name);
  int32_t count = old->params.count;
  halo_instr **params = halo_arena_array(&module->arena, halo_instr *, count + 2);
  const halo_shape *pred = halo_shape_new(&module->arena, HALO_PRED, 0, NULL);
  for (int32_t p = 0; p < count + 2; p++) {
    halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                            .shape = p < count ? old->params.data[p]->shape : pred,
                            .parameter_number = p,
                            .line = d->x.like->line};
    params[p] = halo_instr_create_unchecked(comparator, &spec);
  }
  halo_rewriter r = {.computation = comparator};
  halo_instr *before = halo_computation_inline(comparator, old, params);
  halo_instr *valid = halo_rewrite_make_unary(&r, d->x.like, HALO_OP_NOT, pred, params[count]);
  before = halo_rewrite_make_binary(&r, d->x.like, HALO_OP_OR, pred, params[count + 1], before);
  comparator->root = halo_rewrite_make_binary(&r, d->x.like, HALO_OP_AND, pred, valid, before);
  return comparator;
}

/* Sorts with one more operand, which says what lies behind the size. */
static halo_instr *indexed_sort(halo_dynamic *d, halo_instr *instr, int dim, halo_instr *size) {
  halo_module *module = d->all->module;
  int32_t count = instr->operand_count;
  const halo_shape *shape = instr->operands[0]->shape;
  halo_instr **operands = halo_arena_array(&module->arena, halo_instr *, count + 1);
  for (int32_t o = 0; o < count; o++) operands[o] = instr->operands[o];
  operands[count] = halo_expand_compare(&d->x, halo_dynamic_iota(d, shape, dim), HALO_GE,
                                        halo_expand_splat(&d->x, size, shape));
  halo_attr *attrs = halo_arena_copy(&module->arena, instr->attrs,
                                     sizeof *instr->attrs * (size_t)instr->attr_count);
  halo_computation **comparator = halo_arena_new(&module->arena, halo_computation *);
  *comparator = indexed_comparator(d, halo_instr_comp(instr, HALO_ATTR_TO_APPLY));
  for (int32_t a = 0; a < instr->attr_count; a++) {
    if (attrs[a].id == HALO_ATTR_TO_APPLY) attrs[a].comps.data = comparator;
  }
  halo_instr *sorted =
      halo_expand_op(&d->x, HALO_OP_SORT, operands, count + 1, attrs, instr->attr_count);
  halo_instr **parts = halo_arena_array(&module->arena, halo_instr *, count);
  for (int32_t o = 0; o < count && sorted; o++) {
    parts[o] = halo_rewrite_make_gte(&d->r, instr, sorted, o);
  }
  if (!sorted) return NULL;
  return count == 1 ? parts[0] : halo_expand_tuple(&d->x, parts, count);
}

halo_instr *halo_sized_sort(halo_dynamic *d, halo_instr *instr) {
  int32_t count;
  int dim = (int)halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0];
  const halo_shape *shape = instr->operands[0]->shape;
  halo_instr *sizes[HALO_MAX_RANK] = {NULL};
  for (int i = 0; i < shape->rank; i++) {
    for (int32_t o = 0; o < instr->operand_count && !sizes[i]; o++) {
      sizes[i] = halo_dynamic_size(d, instr->operands[o], i);
    }
  }
  halo_instr *value = sizes[dim] ? indexed_sort(d, instr, dim, sizes[dim]) : instr;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    for (int i = 0; i < shape->rank; i++) halo_dynamic_set_leaf(d, value, o, i, sizes[i]);
  }
  return value;
}

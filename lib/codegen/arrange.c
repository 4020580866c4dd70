/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/arrange.c: sort, scatter and select-and-scatter of arrays in private memory. */
#include "codegen/ctype.h"
#include "codegen/emitter_private.h"

/* ---- Sort ---- */

typedef struct arrange_sort {
  const halo_instr *sort;
  const halo_computation *comparator;
  const halo_value *arrays;
  const halo_integer *at[HALO_MAX_RANK]; /* the line, but for place `dim` along it */
  int dim;
} arrange_sort;

static emit_index *arrange_place(halo_emitter *e, arrange_sort *s, const halo_integer *place) {
  const halo_shape *shape = s->sort->operands[0]->shape;
  s->at[s->dim] = place;
  return halo_index_of(e, shape->rank, shape->dims, s->at);
}

/* Whether `taken` goes before `other`. */
static halo_value arrange_before(halo_emitter *e, const arrange_sort *s, const halo_value *taken,
                                 const halo_value *other) {
  int32_t n = s->sort->operand_count;
  halo_value *values = halo_arena_array(e->arena, halo_value, 2 * n), before;
  for (int32_t i = 0; i < 2 * n; i++) {
    halo_type type = s->comparator->params.data[i]->shape->type;
    values[i] = i % 2 ? other[i / 2] : taken[i / 2];
    if (values[i].type != type) values[i] = halo_emit_convert(e, values[i], type);
  }
  halo_emit_apply(e, s->comparator, values, &before);
  return before;
}

/* Puts the element at each place, from the second on, before those that it goes before: stable. */
static void arrange_sort_line(halo_emitter *e, arrange_sort *s, int64_t size) {
  int32_t n = s->sort->operand_count;
  const char *itype = halo_emitter_index_type(e), *i = emit_name(e, "r"), *j = emit_name(e, "r");
  halo_integers *pool = &e->integers;
  halo_value *taken = halo_arena_array(e->arena, halo_value, n);
  halo_value *other = halo_arena_array(e->arena, halo_value, n);
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (%s %s = 1; %s < %lld; ++%s)", itype, i, i,
                                      (long long)size, i));
  emit_index *from = arrange_place(e, s, halo_integer_variable(pool, i, 1, size - 1));
  for (int32_t k = 0; k < n; k++) taken[k] = emit_array_load(e, s->arrays[k], from);
  halo_emit_line(e, "%s %s = %s;", itype, j, i);
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (; %s > 0; --%s)", j, j));
  const halo_integer *place = halo_integer_variable(pool, j, 1, size - 1);
  emit_index *before = arrange_place(e, s, halo_integer_plus(pool, place, -1));
  for (int32_t k = 0; k < n; k++) other[k] = emit_array_load(e, s->arrays[k], before);
  halo_emit_line(e, "if (!%s) break;", arrange_before(e, s, taken, other).text);
  emit_index *to = arrange_place(e, s, place);
  for (int32_t k = 0; k < n; k++) emit_array_store(e, s->arrays[k], to, other[k]);
  halo_emit_close(e);
  to = arrange_place(e, s, halo_integer_variable(pool, j, 0, size - 1));
  for (int32_t k = 0; k < n; k++) emit_array_store(e, s->arrays[k], to, taken[k]);
  halo_emit_close(e);
}

void emit_sort(halo_emitter *e, emit_frame *f, const halo_instr *instr, emit_index *index,
               halo_value *leaves) {
  (void)index; /* all of it */
  int32_t count;
  const halo_shape *shape = instr->operands[0]->shape;
  arrange_sort s = {.sort = instr,
                    .comparator = halo_instr_comp(instr, HALO_ATTR_TO_APPLY),
                    .arrays = leaves,
                    .dim = (int)halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0]};
  for (int32_t k = 0; k < instr->operand_count; k++) {
    leaves[k] = emit_leaf_copy(e, f, instr->operands[k], 0, halo_leaf_shape(instr->shape, k));
  }
  if (halo_shape_element_count(shape) == 0 || shape->dims[s.dim] == 1) return;
  int opened = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (d != s.dim) s.at[d] = emit_loop(e, shape->dims[d], &opened);
  }
  arrange_sort_line(e, &s, shape->dims[s.dim]);
  while (opened--) halo_emit_close(e);
}

/* ---- Scatter ---- */

static int arrange_find(const int64_t *list, int32_t count, int64_t value) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == value) return i;
  }
  return -1;
}

/* Where the element of the updates at `update` goes, and the name of a test that the whole of its window lies inside
 * the array (NULL: it always does). Where it does not, the place is another one that is there: the text does not
 * branch, since compilers that make vectors of work items read on both sides of a branch (Intel's for CPUs does,
 * for arrays in private memory). */
static emit_index *arrange_target(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                  emit_index *update, const char **inside_test) {
  int32_t arity = instr->operand_count / 2, n_window, n_inserted, n_map, n_batch, ignored;
  const halo_instr *indices = instr->operands[arity];
  const halo_shape *array = instr->operands[0]->shape, *updates = instr->operands[arity + 1]->shape;
  const int64_t *window = halo_instr_ints(instr, HALO_ATTR_UPDATE_WINDOW_DIMS, &n_window);
  const int64_t *inserted = halo_instr_ints(instr, HALO_ATTR_INSERTED_WINDOW_DIMS, &n_inserted);
  const int64_t *map = halo_instr_ints(instr, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, &n_map);
  const int64_t *batch = halo_instr_ints(instr, HALO_ATTR_INPUT_BATCHING_DIMS, &n_batch);
  const int64_t *index_batch =
      halo_instr_ints(instr, HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS, &ignored);
  int vector_dim = (int)halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0), next = 0;
  const halo_integer *from[HALO_MAX_RANK], *to[HALO_MAX_RANK];
  for (int d = 0; d < updates->rank; d++) {
    if (arrange_find(window, n_window, d) >= 0) continue;
    if (next == vector_dim) next++;
    from[next++] = halo_index_at(update, d);
  }
  halo_strbuf all = {0};
  int32_t offset = 0;
  for (int d = 0; d < array->rank; d++) {
    int b = arrange_find(batch, n_batch, d), k = arrange_find(map, n_map, d);
    bool inside = b < 0 && arrange_find(inserted, n_inserted, d) < 0;
    int64_t extent = inside ? updates->dims[window[offset]] : 1;
    to[d] = b >= 0 ? from[index_batch[b]] : halo_integer_constant(&e->integers, 0);
    if (k >= 0) {
      if (vector_dim < indices->shape->rank) {
        from[vector_dim] = halo_integer_constant(&e->integers, k);
      }
      emit_index *where = halo_index_of(e, indices->shape->rank, indices->shape->dims, from);
      halo_value start = halo_emit_value(e, f, indices, 0, where);
      int64_t most = array->dims[d] - extent;
      const char *itype = halo_emitter_index_type(e), *name = emit_name(e, "i");
      const char *test = halo_emit_start_test(e, start, most);
      halo_strbuf_printf(&all, "%s%s", all.length ? " && " : "", test);
      halo_emit_line(e, "const %s %s = %s ? (%s)%s : 0;", itype, name, test, itype, start.text);
      to[d] = halo_emit_counter(e, name, most + 1);
    }
    if (inside) {
      to[d] = halo_integer_add(&e->integers, to[d], halo_index_at(update, (int)window[offset++]));
    }
  }
  *inside_test = all.length ? emit_name(e, "t") : NULL;
  if (*inside_test) halo_emit_line(e, "const bool %s = %s;", *inside_test, halo_strbuf_text(&all));
  halo_strbuf_deinit(&all);
  return halo_index_of(e, array->rank, array->dims, to);
}

/* `value` where the test holds, else `other`, whose type both get. */
static halo_value arrange_choose(halo_emitter *e, const char *test, halo_value value,
                                 halo_value other) {
  if (value.type != other.type) value = halo_emit_convert(e, value, other.type);
  return halo_value_expression(
      other.type, halo_arena_printf(e->arena, "(%s ? %s : %s)", test, value.text, other.text));
}

void emit_scatter(halo_emitter *e, emit_frame *f, const halo_instr *instr, emit_index *index,
                  halo_value *leaves) {
  (void)index; /* all of it */
  int32_t n = instr->operand_count / 2;
  const halo_computation *computation = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  for (int32_t k = 0; k < n; k++) {
    leaves[k] = emit_leaf_copy(e, f, instr->operands[k], 0, halo_leaf_shape(instr->shape, k));
  }
  if (halo_shape_element_count(instr->operands[n + 1]->shape) == 0) return;
  int opened = 0;
  emit_index *update = emit_loops(e, instr->operands[n + 1]->shape, &opened);
  const char *inside;
  emit_index *to = arrange_target(e, f, instr, update, &inside);
  halo_value *values = halo_arena_array(e->arena, halo_value, 2 * n);
  halo_value *results = halo_arena_array(e->arena, halo_value, n);
  halo_value *before = halo_arena_array(e->arena, halo_value, n);
  for (int32_t k = 0; k < n; k++) {
    values[k] = before[k] = emit_array_load(e, leaves[k], to);
    values[n + k] = halo_emit_value(e, f, instr->operands[n + 1 + k], 0, update);
  }
  for (int32_t k = 0; k < 2 * n; k++) {
    halo_type type = computation->params.data[k]->shape->type;
    if (values[k].type != type) values[k] = halo_emit_convert(e, values[k], type);
  }
  halo_emit_apply(e, computation, values, results);
  for (int32_t k = 0; k < n; k++) {
    if (inside) results[k] = arrange_choose(e, inside, results[k], before[k]);
    emit_array_store(e, leaves[k], to, results[k]);
  }
  while (opened--) halo_emit_close(e);
}

/* ---- Select and scatter ---- */

/* The result of a computation of two values, which are converted to what it takes. */
static halo_value arrange_apply(halo_emitter *e, const halo_computation *computation, halo_value a,
                                halo_value b) {
  halo_value both[2] = {a, b}, result;
  for (int i = 0; i < 2; i++) {
    halo_type type = computation->params.data[i]->shape->type;
    if (both[i].type != type) both[i] = halo_emit_convert(e, both[i], type);
  }
  halo_emit_apply(e, computation, both, &result);
  return result;
}

/* The position in the operand of the element that a window settles on; -1: the window is all padding. */
static const char *arrange_select(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                  const emit_index *source) {
  const halo_shape *in = instr->operands[0]->shape;
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  const halo_shape *row_major = halo_shape_new(e->arena, in->type, in->rank, in->dims);
  const char *best = emit_name(e, "i");
  halo_emit_line(e, "%s %s = -1;", halo_emitter_index_type(e), best);
  halo_value held = emit_variable(e, in->type, halo_ctype_constant_i64(e->arena, in->type, 0));
  const halo_integer *at[HALO_MAX_RANK];
  int opened = 0;
  for (int d = 0; d < in->rank; d++) {
    at[d] = halo_index_at(source, d);
    if (!window) continue;
    const halo_window_dim *w = &window->window.data[d];
    const halo_integer *k = emit_loop(e, w->size, &opened);
    at[d] = emit_window_position(e, w, in->dims[d], at[d], k, &opened);
  }
  emit_index *here = halo_index_of(e, in->rank, in->dims, at);
  halo_value value = halo_emit_value(e, f, instr->operands[0], 0, here);
  halo_value keep = arrange_apply(e, halo_instr_comp(instr, HALO_ATTR_SELECT), held, value);
  const char *position = halo_emit_integer(e, halo_index_position(e, here, row_major));
  halo_emit_branch(e, halo_arena_printf(e->arena, "if (%s < 0 || !(%s))", best, keep.text));
  halo_emit_line(e, "%s = %s;", best, position);
  halo_emit_line(e, "%s = %s;", held.text, value.text);
  halo_emit_close(e);
  while (opened--) halo_emit_close(e);
  return best;
}

void emit_select_and_scatter(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                             emit_index *index, halo_value *leaves) {
  (void)index; /* all of it */
  const halo_shape *shape = instr->shape, *source = instr->operands[1]->shape;
  leaves[0] = emit_leaf_variable(e, shape);
  halo_value start = halo_emit_value(e, f, instr->operands[2], 0, halo_index_scalar(e));
  int opened = 0;
  emit_array_store(e, leaves[0], emit_loops(e, shape, &opened), start);
  while (opened--) halo_emit_close(e);
  if (halo_shape_element_count(source) == 0 || halo_shape_element_count(shape) == 0) return;
  opened = 0;
  emit_index *from = emit_loops(e, source, &opened);
  const char *best = arrange_select(e, f, instr, from);
  int64_t count = halo_shape_element_count(shape);
  const char *itype = halo_emitter_index_type(e), *place = emit_name(e, "i");
  halo_emit_line(e, "const %s %s = max(%s, (%s)0);", itype, place, best,
                 itype); /* as in arrange_target */
  emit_index *to = halo_index_from_position(e, leaves[0].array, halo_emit_counter(e, place, count));
  halo_value value = halo_emit_value(e, f, instr->operands[1], 0, from);
  halo_value before = emit_array_load(e, leaves[0], to);
  halo_value sum = arrange_apply(e, halo_instr_comp(instr, HALO_ATTR_SCATTER), before, value);
  sum = arrange_choose(e, halo_arena_printf(e->arena, "%s >= 0", best), sum, before);
  emit_array_store(e, leaves[0], to, sum);
  while (opened--) halo_emit_close(e);
}

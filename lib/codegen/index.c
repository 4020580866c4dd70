/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/index.c: integers put into variables and printed, and the indices of elements. */
#include "codegen/emitter_private.h"

#include <string.h>

/* ---- Printing integers ---- */

static int64_t index_limit(const halo_emitter *e) { return e->wide ? INT64_MAX : INT32_MAX; }

/* Whether a term or a partial sum may leave the index type although the whole does not. */
static bool index_overflows(const halo_emitter *e, const halo_integer *sum) {
  int64_t limit = index_limit(e), low = sum->value, high = sum->value;
  if (e->wide) return false;
  for (int32_t i = 0; i < sum->count; i++) {
    const halo_integer_term *t = &sum->terms[i];
    int64_t a, b, least, most;
    if (__builtin_mul_overflow(t->node->low, t->by, &a) ||
        __builtin_mul_overflow(t->node->high, t->by, &b)) {
      return true;
    }
    least = a < b ? a : b;
    most = a < b ? b : a;
    if (least < -limit || most > limit) return true;
    low += least < 0 ? least : 0;
    high += most > 0 ? most : 0;
  }
  return low < -limit || high > limit;
}

static const char *index_sum_text(halo_emitter *e, const halo_integer *sum) {
  bool widen = index_overflows(e, sum);
  bool constant_first = sum->value > 0 && sum->terms[0].by < 0;
  halo_strbuf text = {0};
  if (widen) halo_strbuf_append(&text, "(int)(");
  if (constant_first) halo_strbuf_printf(&text, "%lld", (long long)sum->value);
  for (int32_t i = 0; i < sum->count; i++) {
    int64_t by = sum->terms[i].by;
    const char *atom = emit_integer_atom(e, sum->terms[i].node);
    bool first = i == 0 && !constant_first;
    const char *sign = by < 0 ? (first ? "-" : " - ") : first ? "" : " + ";
    halo_strbuf_printf(&text, "%s%s%s", sign, widen ? "(long)" : "", atom);
    if (by != 1 && by != -1) {
      halo_strbuf_printf(&text, " * %llu",
                         by < 0 ? -(unsigned long long)by : (unsigned long long)by);
    }
  }
  if (sum->value > 0 && !constant_first)
    halo_strbuf_printf(&text, " + %lld", (long long)sum->value);
  if (sum->value < 0) halo_strbuf_printf(&text, " - %lld", -(long long)sum->value);
  if (widen) halo_strbuf_append(&text, ")");
  const char *copy = halo_arena_strdup(e->arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return copy;
}

/* Dividends are never negative, and an unsigned division by a constant is the cheaper one. */
static const char *index_quotient_text(halo_emitter *e, const halo_integer *a) {
  const char *type = halo_emitter_index_type(e), *of = emit_integer_atom(e, a->of);
  return halo_arena_printf(e->arena, "(%s)((u%s)%s %c %lld%s)", type, type, of,
                           a->kind == HALO_INTEGER_DIV ? '/' : '%', (long long)a->value,
                           e->wide ? "UL" : "u");
}

static const char *index_text(halo_emitter *e, const halo_integer *a) {
  switch (a->kind) {
    case HALO_INTEGER_CONSTANT:
      return halo_arena_printf(e->arena, a->value < 0 ? "(%lld)" : "%lld", (long long)a->value);
    case HALO_INTEGER_VARIABLE: return a->name;
    case HALO_INTEGER_SUM: return index_sum_text(e, a);
    case HALO_INTEGER_DIV:
    case HALO_INTEGER_MOD: return index_quotient_text(e, a);
  }
  return "0";
}

static const char *index_variable(halo_emitter *e, const char *expression) {
  const char *name = emit_name(e, "i");
  halo_emit_line(e, "const %s %s = %s;", halo_emitter_index_type(e), name, expression);
  return name;
}

const char *emit_integer_atom(halo_emitter *e, const halo_integer *a) {
  if (a->kind == HALO_INTEGER_CONSTANT || a->kind == HALO_INTEGER_VARIABLE) {
    return index_text(e, a);
  }
  if (!a->held) {
    const char *name = index_variable(e, index_text(e, a));
    emit_remember(e, (const void **)&a->held, name);
  }
  return a->held;
}

/* Sums of so few parts are written where they are used. */
enum { INDEX_SHORT_SUM = 2 };

const char *halo_emit_integer(halo_emitter *e, const halo_integer *a) {
  bool is_short = a->kind == HALO_INTEGER_SUM && a->count + (a->value != 0) <= INDEX_SHORT_SUM;
  return is_short && !a->held ? index_sum_text(e, a) : emit_integer_atom(e, a);
}

/* ---- Integers with ranges ---- */

const halo_integer *halo_emit_counter(halo_emitter *e, const char *name, int64_t size) {
  return halo_integer_variable(&e->integers, name, 0, size > 0 ? size - 1 : 0);
}

const halo_integer *emit_integer_of(halo_emitter *e, const char *expression, int64_t low,
                                    int64_t high) {
  const char *known = emit_memo_get(e, expression, strlen(expression));
  if (!known) {
    known = index_variable(e, expression);
    emit_memo_set(e, expression, strlen(expression), known);
  }
  return halo_integer_variable(&e->integers, known, low, high);
}

const halo_integer *emit_integer_bounded(halo_emitter *e, const halo_integer *a, int64_t low,
                                         int64_t high) {
  if (halo_integer_is_within(a, low, high)) return a;
  if (a->low > low) low = a->low;
  if (a->high < high) high = a->high;
  if (low >= high) return halo_integer_constant(&e->integers, low);
  return halo_integer_variable(&e->integers, emit_integer_atom(e, a), low, high);
}

/* Of by * counter + offset: the first value of the counter from which on it is no longer on the same side of `end`. */
void emit_note_test(halo_emitter *e, const halo_integer *a, int64_t end) {
  if (!e->breaks) return;
  bool sum = a->kind == HALO_INTEGER_SUM && a->count == 1;
  const halo_integer *counter = sum ? a->terms[0].node : a;
  int64_t by = sum ? a->terms[0].by : 1, offset = sum ? a->value : 0;
  if (counter->kind != HALO_INTEGER_VARIABLE || strcmp(counter->name, e->breaks->counter) != 0)
    return;
  int64_t away = by > 0 ? end - offset : offset - end, step = by > 0 ? by : -by;
  int64_t at = by > 0 ? (away + step - 1) / step : away / step + 1;
  if (at > counter->low && at <= counter->high) halo_vec_push(&e->breaks->at, at);
}

const char *emit_integer_test(halo_emitter *e, const halo_integer *a, int64_t end) {
  if (halo_integer_is_within(a, 0, end - 1)) return NULL;
  if (a->high < 0 || a->low >= end) return "false";
  emit_note_test(e, a, 0);
  emit_note_test(e, a, end);
  const char *text = emit_integer_atom(e, a);
  if (a->high < end) return halo_arena_printf(e->arena, "%s >= 0", text);
  if (a->low >= 0) return halo_arena_printf(e->arena, "h_below(%s, %lld)", text, (long long)end);
  return halo_arena_printf(e->arena, "h_inside(u%s, %s, %lld)", halo_emitter_index_type(e), text,
                           (long long)end);
}

/* ---- Indices of elements ---- */

/* The index with these coordinates, which are copied. */
static emit_index *index_intern(halo_emitter *e, int rank, const halo_integer *const *at) {
  int32_t key[HALO_MAX_RANK + 2];
  key[0] = rank;
  for (int d = 0; d < rank; d++) key[1 + d] = at[d]->id;
  size_t size = sizeof *key * (size_t)(rank + 1);
  emit_index *index = halo_map_get(&e->indices, key, size);
  if (index) return index;
  index = halo_arena_new(e->arena, emit_index);
  index->id = e->next_index++;
  index->rank = rank;
  index->at = halo_arena_copy(e->arena, at, sizeof *at * (size_t)rank);
  halo_map_set(&e->indices, key, size, index);
  return index;
}

emit_index *halo_index_of(halo_emitter *e, int rank, const int64_t *dims,
                          const halo_integer *const *at) {
  const halo_integer *kept[HALO_MAX_RANK + 1];
  for (int d = 0; d < rank; d++) {
    kept[d] = dims[d] == 1 ? halo_integer_constant(&e->integers, 0) : at[d];
  }
  return index_intern(e, rank, kept);
}

emit_index *halo_index_scalar(halo_emitter *e) { return index_intern(e, 0, NULL); }

emit_index *halo_index_from_position(halo_emitter *e, const halo_shape *shape,
                                     const halo_integer *position) {
  const halo_integer *at[HALO_MAX_RANK + 1];
  const int32_t *order = shape->minor_to_major;
  int slowest = -1; /* needs no remainder */
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[order[i]] != 1) slowest = order[i];
  }
  int64_t stride = 1;
  for (int i = 0; i < shape->rank; i++) {
    int d = order[i];
    at[d] = halo_integer_constant(&e->integers, 0);
    if (shape->dims[d] <= 1) continue;
    at[d] = halo_integer_div(&e->integers, position, stride);
    if (d != slowest) at[d] = halo_integer_mod(&e->integers, at[d], shape->dims[d]);
    stride *= shape->dims[d];
  }
  return index_intern(e, shape->rank, at);
}

const halo_integer *halo_index_at(const emit_index *index, int d) { return index->at[d]; }

/* An index made for another shape names another element: a wrong value that looks right. Of an empty array nothing is
 * read or written. */
static bool index_fits(const emit_index *index, const halo_shape *shape) {
  if (index->rank != shape->rank) return false;
  for (int d = 0; d < index->rank; d++) {
    bool within = index->at[d]->low >= 0 && index->at[d]->high < shape->dims[d];
    if (!within && shape->dims[d] > 0) return false;
  }
  return true;
}

const halo_integer *halo_index_position(halo_emitter *e, const emit_index *index,
                                        const halo_shape *shape) {
  int64_t strides[HALO_MAX_RANK];
  if (!index_fits(index, shape)) {
    emit_fail(e, halo_fail(HALO_INTERNAL, "an index of %d dimensions, or beyond them, in %s",
                           index->rank, halo_shape_text(e->arena, shape, false)));
    return halo_integer_constant(&e->integers, 0);
  }
  halo_shape_strides(shape, strides);
  const halo_integer *sum = halo_integer_constant(&e->integers, 0);
  for (int i = 0; i < index->rank; i++) { /* from the fast end: digits join as they come */
    int d = shape->minor_to_major[i];
    if (shape->dims[d] == 1) continue;
    const halo_integer *part = halo_integer_mul(&e->integers, index->at[d], strides[d]);
    sum = halo_integer_add(&e->integers, sum, part);
  }
  return sum;
}

static void index_prepare(halo_emitter *e, const halo_integer *a) {
  for (int32_t i = 0; i < a->count; i++) index_prepare(e, a->terms[i].node);
  if (a->kind == HALO_INTEGER_DIV || a->kind == HALO_INTEGER_MOD) emit_integer_atom(e, a);
}

void emit_index_prepare(halo_emitter *e, const emit_index *index) {
  for (int d = 0; d < index->rank; d++) index_prepare(e, index->at[d]);
}

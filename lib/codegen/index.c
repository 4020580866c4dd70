/* codegen/index.c: index expressions: constants fold, equal texts share one variable, and an index
 * keeps whichever of its forms (coordinates, row-major position, physical position) it was made from
 * until another is needed, so that reshapes and equal layouts cost no arithmetic. */
#include "codegen/emitter.h"

#include <stdlib.h>
#include <string.h>

bool halo_int_is_constant(const char *expr, int64_t *value) {
  char *end;
  *value = 0;
  if (*expr == '\0') return false;
  *value = strtoll(expr, &end, 10);
  return *end == '\0';
}

const char *halo_int(halo_emitter *e, int64_t value) {
  return halo_arena_printf(e->arena, "%lld", (long long)value);
}

const char *halo_int_name(halo_emitter *e, const char *expr) {
  const char *known = emit_memo_get(e, expr, strlen(expr));
  if (known) return known;
  const char *name = emit_name(e, "i");
  halo_emit_line(e, "const %s %s = %s;", halo_emitter_index_type(e), name, expr);
  emit_memo_set(e, expr, strlen(expr), name);
  return name;
}

const char *halo_int_add(halo_emitter *e, const char *a, const char *b) {
  int64_t x, y;
  bool a_is = halo_int_is_constant(a, &x), b_is = halo_int_is_constant(b, &y);
  if (a_is && b_is) return halo_int(e, x + y);
  if (a_is && x == 0) return b;
  if (b_is && y == 0) return a;
  if (b_is && y < 0) {
    return halo_int_name(e, halo_arena_printf(e->arena, "%s - %lld", a, -(long long)y));
  }
  return halo_int_name(e, halo_arena_printf(e->arena, "%s + %s", a, b));
}

const char *halo_int_mul(halo_emitter *e, const char *a, int64_t by) {
  int64_t x;
  if (halo_int_is_constant(a, &x)) return halo_int(e, x * by);
  if (by == 1) return a;
  if (by == 0) return "0";
  return halo_int_name(e, halo_arena_printf(e->arena, "%s * %lld", a, (long long)by));
}

/* Positions are never negative, and an unsigned division by a constant is the cheaper one. */
static const char *index_unsigned(halo_emitter *e, const char *a, const char *op, int64_t by) {
  const char *type = halo_emitter_index_type(e);
  return halo_int_name(e, halo_arena_printf(e->arena, "(%s)((u%s)%s %s %lld%s)", type, type, a, op,
                                            (long long)by, e->wide ? "UL" : "u"));
}

const char *halo_int_div(halo_emitter *e, const char *a, int64_t by) {
  int64_t x;
  if (by <= 1) return a;
  if (halo_int_is_constant(a, &x)) return halo_int(e, x / by);
  return index_unsigned(e, a, "/", by);
}

const char *halo_int_mod(halo_emitter *e, const char *a, int64_t by) {
  int64_t x;
  if (by <= 1) return "0";
  if (halo_int_is_constant(a, &x)) return halo_int(e, x % by);
  return index_unsigned(e, a, "%", by);
}

static emit_index *index_new(halo_emitter *e, int rank, const int64_t *dims) {
  emit_index *index = halo_arena_new(e->arena, emit_index);
  index->id = e->next_index++;
  index->rank = rank;
  index->dims = halo_arena_copy(e->arena, dims, sizeof *dims * (size_t)rank);
  index->at = halo_arena_array(e->arena, const char *, rank);
  for (int d = 0; d < rank; d++) {
    if (dims[d] == 1) index->at[d] = "0";
  }
  return index;
}

emit_index *halo_index_of(halo_emitter *e, int rank, const int64_t *dims, const char *const *at) {
  /* Equal coordinates give the same index, so that two paths to one element share its value. */
  halo_strbuf key = {0};
  halo_strbuf_append(&key, "@");
  for (int d = 0; d < rank; d++) {
    halo_strbuf_printf(&key, "%s/%lld,", dims[d] == 1 ? "0" : at[d], (long long)dims[d]);
  }
  emit_index *index = (emit_index *)emit_memo_get(e, key.data, key.length);
  if (!index) {
    index = index_new(e, rank, dims);
    for (int d = 0; d < rank; d++) {
      if (dims[d] != 1) index->at[d] = at[d];
    }
    emit_memo_set(e, key.data, key.length, index);
  }
  halo_strbuf_deinit(&key);
  return index;
}

emit_index *halo_index_from_position(halo_emitter *e, const halo_shape *shape,
                                     const char *position) {
  halo_strbuf key = {0};
  halo_strbuf_printf(&key, "#%s/", position);
  halo_shape_print(&key, shape, true);
  emit_index *index = (emit_index *)emit_memo_get(e, key.data, key.length);
  if (!index) {
    index = index_new(e, shape->rank, shape->dims);
    if (halo_shape_has_default_layout(shape)) {
      index->linear = position;
    } else {
      index->physical = position;
      index->order = shape->minor_to_major;
    }
    emit_memo_set(e, key.data, key.length, index);
  }
  halo_strbuf_deinit(&key);
  return index;
}

/* Splits a position into coordinates, fastest dimension first. */
static void index_split(halo_emitter *e, emit_index *index, const char *position,
                        const int32_t *order) {
  int last = -1; /* the slowest dimension of more than one element needs no modulo */
  for (int i = 0; i < index->rank; i++) {
    int d = order ? order[i] : index->rank - 1 - i;
    if (index->dims[d] != 1) last = d;
  }
  const char *rest = position;
  for (int i = 0; i < index->rank; i++) {
    int d = order ? order[i] : index->rank - 1 - i;
    if (index->dims[d] == 1) continue;
    int64_t size = index->dims[d] > 0 ? index->dims[d] : 1;
    const char *at = d == last ? rest : halo_int_mod(e, rest, size);
    if (!index->at[d]) emit_remember(e, (const void **)&index->at[d], at);
    if (d != last) rest = halo_int_div(e, rest, size);
  }
}

const char *halo_index_at(halo_emitter *e, emit_index *index, int d) {
  if (!index->at[d]) {
    if (index->linear) {
      index_split(e, index, index->linear, NULL);
    } else {
      index_split(e, index, index->physical, index->order);
    }
  }
  return index->at[d];
}

static bool index_is_default_order(int rank, const int32_t *order) {
  for (int i = 0; i < rank; i++) {
    if (order[i] != rank - 1 - i) return false;
  }
  return true;
}

/* The same order of the dimensions that have more than one element. */
static bool index_same_order(const emit_index *index, const int32_t *a, const int32_t *b) {
  int i = 0, j = 0;
  for (;;) {
    while (i < index->rank && index->dims[a[i]] == 1) i++;
    while (j < index->rank && index->dims[b[j]] == 1) j++;
    if (i == index->rank || j == index->rank) return i == j;
    if (a[i++] != b[j++]) return false;
  }
}

const char *halo_index_position(halo_emitter *e, emit_index *index, const halo_shape *shape) {
  bool row_major = index_is_default_order(index->rank, shape->minor_to_major);
  if (row_major && index->linear) return index->linear;
  if (index->physical && index_same_order(index, index->order, shape->minor_to_major)) {
    return index->physical;
  }
  if (index->linear) {
    int32_t order[HALO_MAX_RANK];
    for (int i = 0; i < index->rank; i++) order[i] = index->rank - 1 - i;
    if (index_same_order(index, order, shape->minor_to_major)) return index->linear;
  }
  int64_t strides[HALO_MAX_RANK];
  halo_shape_strides(shape, strides);
  const char *sum = "0";
  for (int i = index->rank - 1; i >= 0; i--) {
    int d = shape->minor_to_major[i];
    if (index->dims[d] == 1) continue;
    sum = halo_int_add(e, sum, halo_int_mul(e, halo_index_at(e, index, d), strides[d]));
  }
  if (row_major) emit_remember(e, (const void **)&index->linear, sum);
  return sum;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/loop/spans.c: loop:spans, for CPUs: where neighbours along a row do not all do the same, as at the edges of a
 * stencil, the row is cut where they begin to differ. A work item does a row, each span of it in a loop without tests,
 * of which compilers make vectors that load what lies side by side. */
#include "codegen/ctype.h"
#include "kernels/families.h"

enum {
  SPANS_MOST = 8,        /* of a row */
  SPANS_CODE = 400,      /* instructions, each counted once a span */
  SPANS_LEAST = 16,      /* elements of the longest one */
  SPANS_ROWS = 4,        /* for each core, at least */
  SPANS_ALONE = 1 << 14, /* elements that need no second core */
  SPANS_GROUP = 1 << 13  /* elements that a group does */
};

static int64_t spans_end(const halo_loop_spans *s, int k) {
  return k + 1 < s->count ? s->begin[k + 1] : s->columns;
}

static int64_t spans_band_end(const halo_loop_spans *s, int b) {
  return b + 1 < s->bands ? s->band[b + 1] : s->rows;
}

/* Emits what a work item does for the columns of span `k`, of a row of band `b`. */
static void spans_emit(const halo_lowering *l, halo_emitter *e, const halo_loop_spans *s, int b,
                       int k) {
  const halo_integer *row =
      halo_integer_variable(&e->integers, "r", s->band[b], spans_band_end(s, b) - 1);
  const halo_integer *column =
      halo_integer_variable(&e->integers, "c", s->begin[k], spans_end(s, k) - 1);
  if (e->neighbours) e->neighbours->counter = column;
  s->emit(l, e,
          halo_integer_add(&e->integers, halo_integer_mul(&e->integers, row, s->columns), column));
}

void halo_loop_begin_spans(halo_emitter *e, const halo_lowering *l) {
  halo_lowering_emitter(l, e);
  e->wide = e->vectors = true;
}

/* Emits span `k` to note what there is of either; false: it cannot be emitted, or elements keep arrays of their own. */
static bool spans_try(const halo_lowering *l, const halo_loop_spans *s, int k, halo_breaks *breaks,
                      halo_neighbours *neighbours) {
  halo_emitter e;
  halo_loop_begin_spans(&e, l);
  e.breaks = breaks;
  e.neighbours = neighbours;
  spans_emit(l, &e, s, 0, k);
  bool fits = e.status == HALO_OK && !e.has_arrays;
  halo_emitter_deinit(&e);
  return fits;
}

/* Puts a place where a span begins among the `count` others, in order. */
static bool spans_cut(int64_t *begin, int *count, int64_t at) {
  int i = *count;
  for (int k = 0; k < *count; k++) {
    if (begin[k] == at) return true;
  }
  if (*count == SPANS_MOST) return false;
  for (; begin[i - 1] > at; i--) begin[i] = begin[i - 1];
  begin[i] = at;
  ++*count;
  return true;
}

/* Whether rows come from several places: of the sums that these are, compilers find pairs of like ones in an element,
 * which keeps them from making vectors across work items, but not in a loop. */
static bool spans_choose(const halo_computation *body) {
  int32_t places = 0;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    halo_opcode opcode = body->instrs.data[i]->opcode;
    places += opcode == HALO_OP_SLICE;
    if (opcode == HALO_OP_CONCATENATE || opcode == HALO_OP_PAD) return true;
    if (opcode == HALO_OP_CONVOLUTION) return halo_emitter_unrolls(body->instrs.data[i]);
  }
  return places > 1;
}

/* Cuts a row where tests change their answers, by emitting its spans until no test is left that could; what is behind
 * one may ask anew. Fails where elements keep arrays of their own: the spans' loops are said to be independent, and a
 * work item has one place for such an array. */
static bool spans_find(const halo_lowering *l, halo_loop_spans *s) {
  enum { TIMES = 4 };
  s->begin[0] = 0;
  s->band[0] = 0;
  s->count = s->bands = 1;
  for (int times = 0, before = 0; times < TIMES && before != s->count; times++) {
    halo_breaks breaks = {.counter = "c"};
    before = s->count;
    bool fits = true;
    for (int k = 0; k < before; k++) {
      fits &= spans_try(l, s, k, &breaks, NULL);
    }
    for (int32_t i = 0; i < breaks.at.count && fits; i++)
      fits = spans_cut(s->begin, &s->count, breaks.at.data[i]);
    halo_vec_deinit(&breaks.at);
    if (!fits || s->count * l->computation->instrs.count > SPANS_CODE) return false;
  }
  int64_t longest = 0;
  for (int k = 0; k < s->count; k++) {
    int64_t length = spans_end(s, k) - s->begin[k];
    if (length > longest) longest = length;
  }
  return (s->count > 1 || spans_choose(l->computation) ||
          halo_loop_row_is_guarded(l, s->columns)) &&
         longest >= SPANS_LEAST;
}

/* Parts rows into bands, within which all do the same, where there are few: of a loop with a test of the row in it, whatever
 * is dear behind that, compilers make no vectors. */
static void spans_find_bands(const halo_lowering *l, halo_loop_spans *s) {
  halo_breaks breaks = {.counter = "r"};
  for (int k = 0; k < s->count; k++) {
    spans_try(l, s, k, &breaks, NULL);
  }
  int64_t band[SPANS_MOST] = {0};
  int bands = 1;
  bool fits = true;
  for (int32_t i = 0; i < breaks.at.count && fits; i++) {
    fits = spans_cut(band, &bands, breaks.at.data[i]);
  }
  halo_vec_deinit(&breaks.at);
  if (!fits || bands * s->count * l->computation->instrs.count > SPANS_CODE) return;
  s->bands = bands;
  for (int b = 0; b < bands; b++) s->band[b] = band[b];
}

bool halo_loop_find_spans(const halo_lowering *l, const halo_shape *shape, halo_loop_body *emit,
                          halo_loop_spans *s) {
  int64_t items = halo_shape_element_count(shape);
  if (!l->caps->is_cpu || items == 0 || l->computation->instrs.count > SPANS_CODE / 2) return false;
  s->emit = emit;
  s->columns = halo_loop_row(l, shape);
  if (!s->columns && items <= SPANS_ALONE) s->columns = items;
  if (s->columns < SPANS_LEAST) return false;
  s->rows = items / s->columns;
  bool shared = s->rows >= SPANS_ROWS * (int64_t)l->caps->compute_units;
  if ((!shared && items > SPANS_ALONE) || !spans_find(l, s)) return false;
  spans_find_bands(l, s);
  return true;
}

void halo_loop_launch_spans(const halo_lowering *l, halo_launch *launch, const halo_loop_spans *s) {
  /* A divisor of the rows that leaves every core something to do. */
  int64_t local = s->rows / (SPANS_ROWS * (int64_t)l->caps->compute_units);
  if (local > SPANS_GROUP / s->columns) local = SPANS_GROUP / s->columns;
  if (local < 1) local = 1;
  while (s->rows % local != 0) local--;
  launch->grid.dims = 1;
  launch->grid.items = launch->grid.global[0] = (size_t)s->rows;
  launch->grid.local[0] = (size_t)local;
}

/* Elements that are a register of 64 bytes, by the largest type of what is computed of each. */
static int spans_lanes(const halo_lowering *l) {
  size_t largest = 1;
  for (int32_t i = 0; i < l->computation->instrs.count; i++) {
    const halo_shape *shape = l->computation->instrs.data[i]->shape;
    if (!halo_shape_is_array(shape) || halo_shape_is_scalar(shape)) continue;
    halo_type type = halo_type_real_part(shape->type);
    size_t size = halo_type_is_float(type) && halo_type_size(type) < 4 ? 4 : halo_type_size(type);
    if (size > largest) largest = size;
  }
  return 64 / (int)largest;
}

/* Emits the loops over the spans of a row of band `b`. */
static void spans_emit_row(const halo_lowering *l, halo_emitter *e, const halo_loop_spans *s,
                           int b) {
  for (int k = 0; k < s->count; k++) {
    int64_t begin = s->begin[k], end = spans_end(s, k);
    const char *loop = NULL;
    const char *zero = NULL;
    if (end - begin > 1) {
      zero = halo_loop_zero(l, e);
      halo_emit_line(e, "H_INDEPENDENT(%d)", spans_lanes(l));
      loop =
          halo_arena_printf(l->arena, "for (long %s = %lld; %s < %lld; ++%s)", zero ? "n" : "c",
                            (long long)begin, zero ? "n" : "c", (long long)end, zero ? "n" : "c");
    }
    loop ? halo_emit_loop(e, loop) : halo_emit_open(e);
    if (zero) halo_emit_line(e, "const long c = n + h_zero(%s);", zero);
    spans_emit(l, e, s, b, k);
    halo_emit_close(e);
  }
}

/* Whether a long span of a single row reads several elements of an array for each. Places are the counter and a constant
 * there, and compilers see that what one round of the loop reads is what the next ones read beside it: they keep it from
 * round to round, and LLVM makes no vectors of such a loop. */
static bool spans_read_neighbours(const halo_lowering *l, const halo_loop_spans *s) {
  enum { LONG = 128 };
  bool several = false;
  for (int k = 0; k < s->count && s->rows == 1 && !several; k++) {
    if (spans_end(s, k) - s->begin[k] < LONG) continue;
    halo_neighbours neighbours = {0};
    spans_try(l, s, k, NULL, &neighbours);
    several = neighbours.several;
    halo_vec_deinit(&neighbours.args);
    halo_vec_deinit(&neighbours.at);
  }
  return several;
}

void halo_loop_emit_spans(const halo_lowering *l, halo_emitter *e, const halo_loop_spans *s) {
  halo_sections_add(&e->sections, "neighbours");
  halo_emit_line(e, "const long r = (long)" HALO_GLOBAL_ID_0 ";");
  if (spans_read_neighbours(l, s)) {
    halo_emit_line(e, "volatile long hidden = 0;");
    halo_emit_line(e, "const long origin = hidden;");
    e->origin = "origin";
  }
  for (int b = 0; b < s->bands; b++) {
    bool first = b == 0, last = b == s->bands - 1;
    if (first && last) {
      spans_emit_row(l, e, s, b);
      return;
    }
    const char *test = halo_arena_printf(l->arena, "%s (r < %lld)", first ? "if" : "else if",
                                         (long long)spans_band_end(s, b));
    halo_emit_branch(e, last ? "else" : test);
    spans_emit_row(l, e, s, b);
    halo_emit_close(e);
  }
}

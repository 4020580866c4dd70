/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/loop/forms.c: the forms of loops over elements, which compete by price. Other families have the cheapest of
 * them as their last implementation. */
#include "kernels/loop/loop.h"

typedef enum form_answer { FORM_UNASKED, FORM_NO, FORM_YES } form_answer;

/* Answers that need code to be emitted and looked at, found once for all questions about a fusion. */
struct halo_loop_facts {
  bool known;
  loop_shape shape; /* items, and the row of what is not flat */
  uint64_t transposed;
  form_answer is_short, has_spans;
  halo_loop_short rows;
  halo_loop_spans spans;
};

static const halo_shape *form_result(const halo_lowering *l) {
  return halo_leaf_shape(halo_lowering_root(l)->shape, 0);
}

static halo_loop_facts *form_facts(const halo_lowering *l) {
  halo_loop_facts *f = l->loop;
  if (f->known) return f;
  const halo_shape *shape = form_result(l);
  f->known = true;
  f->shape = (loop_shape){.items = halo_shape_element_count(shape), .lanes = 1};
  if (f->shape.items == 0) return f;
  f->transposed = loop_transposed_inputs(l, f->shape.items);
  if (!loop_is_flat(l->computation)) f->shape.row = halo_loop_row(l, shape);
  return f;
}

halo_loop_facts *halo_loop_facts_create(halo_arena *arena) {
  return halo_arena_new(arena, halo_loop_facts);
}

/* The price of the simplest loop, so many times. */
static double form_cost(const halo_lowering *l, double times) {
  double launch = halo_lowering_prices(l)->launch;
  return launch + times * (halo_loop_cost(l) - launch);
}

/* ---- Whole rows of a short last dimension ---- */

static bool form_short_supports(const halo_lowering *l, const char **why) {
  halo_loop_facts *f = form_facts(l);
  *why = "for short rows whose elements differ in what they do";
  if (f->shape.items == 0) return false;
  if (f->is_short == FORM_UNASKED) {
    f->is_short = halo_loop_find_short(l, &f->rows) ? FORM_YES : FORM_NO;
  }
  return f->is_short == FORM_YES;
}

static double form_short_cost(const halo_lowering *l) {
  return form_cost(l, halo_lowering_prices(l)->loop_short);
}

static halo_status form_short_lower(halo_lowering *l) {
  const halo_loop_short *s = &form_facts(l)->rows;
  halo_emitter e;
  halo_loop_begin_spans(&e, l);
  halo_loop_emit_short(l, &e, s);
  if (e.status == HALO_OK) halo_loop_launch_short(l, loop_add(l, &e, "short", ":short"), s);
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}

/* ---- Spans of rows ---- */

static bool form_spans_supports(const halo_lowering *l, const char **why) {
  halo_loop_facts *f = form_facts(l);
  *why = "for rows along which elements differ in what they do";
  if (f->shape.items == 0) return false;
  if (f->has_spans == FORM_UNASKED) {
    bool found = halo_loop_find_spans(l, form_result(l), loop_emit_element, &f->spans);
    f->has_spans = found ? FORM_YES : FORM_NO;
  }
  return f->has_spans == FORM_YES;
}

static double form_spans_cost(const halo_lowering *l) {
  return form_cost(l, halo_lowering_prices(l)->loop_spans);
}

static halo_status form_spans_lower(halo_lowering *l) {
  const halo_loop_spans *s = &form_facts(l)->spans;
  halo_emitter e;
  halo_loop_begin_spans(&e, l);
  halo_loop_emit_spans(l, &e, s);
  if (e.status == HALO_OK) halo_loop_launch_spans(l, loop_add(l, &e, "spans", ":spans"), s);
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}

/* Whether a convolution is a stencil: a small window, along rows. */
bool halo_loop_is_stencil(const halo_lowering *l) {
  const char *why;
  return halo_emitter_unrolls(l->hero) && form_spans_supports(l, &why);
}

/* ---- Lines of neighbours ---- */

static bool form_line_supports(const halo_lowering *l, const char **why) {
  const loop_shape *s = &form_facts(l)->shape;
  *why = "for whole lines of 16 elements";
  return s->items > 0 && s->items % LOOP_LINE == 0 && s->row % LOOP_LINE == 0;
}

static double form_line_cost(const halo_lowering *l) {
  const halo_loop_facts *f = form_facts(l);
  const halo_prices *p = halo_lowering_prices(l);
  bool gains = f->transposed || loop_has_pairs(l, f->shape.items);
  return form_cost(l, gains ? p->loop_line : p->loop_line_plain);
}

static halo_status form_line_lower(halo_lowering *l) {
  loop_shape s = form_facts(l)->shape;
  s.line = true;
  s.transposed = form_facts(l)->transposed;
  return loop_lower_shape(l, &s);
}

/* Stores of 16 narrow elements fill no cache line: they took up to twice as long. */
static bool form_stream_supports(const halo_lowering *l, const char **why) {
  size_t narrowest;
  if (!form_line_supports(l, why)) return false;
  *why = "an element has less than 4 bytes";
  (void)loop_result_bytes(l, &narrowest);
  return narrowest >= 4;
}

static double form_stream_cost(const halo_lowering *l) {
  size_t narrowest;
  const halo_prices *p = halo_lowering_prices(l);
  bool leaves = halo_loop_leaves_caches(l, loop_result_bytes(l, &narrowest));
  return form_cost(l, leaves ? p->loop_stream : p->loop_stream_near);
}

static halo_status form_stream_lower(halo_lowering *l) {
  loop_shape s = form_facts(l)->shape;
  s.line = s.stream = true;
  s.transposed = form_facts(l)->transposed;
  return loop_lower_shape(l, &s);
}

/* ---- Lanes ---- */

static bool form_lanes_supports(const halo_lowering *l, const char **why) {
  const loop_shape *s = &form_facts(l)->shape;
  *why = "elements have places of their own, or are no whole vectors";
  return s->items > 0 && loop_lanes(l, s->items) > 1;
}

static double form_lanes_cost(const halo_lowering *l) {
  return form_cost(l, halo_lowering_prices(l)->loop_lanes);
}

static halo_status form_lanes_lower(halo_lowering *l) {
  loop_shape s = form_facts(l)->shape;
  s.lanes = loop_lanes(l, s.items);
  return loop_lower_shape(l, &s);
}

/* ---- Rows, and one by one ---- */

static bool form_rows_supports(const halo_lowering *l, const char **why) {
  *why = "for elements that depend on their place in rows of 16 and more";
  return form_facts(l)->shape.row > 0;
}

static double form_rows_cost(const halo_lowering *l) {
  return form_cost(l, halo_lowering_prices(l)->loop_rows);
}

static halo_status form_rows_lower(halo_lowering *l) {
  return loop_lower_shape(l, &form_facts(l)->shape);
}

static halo_status form_generic_lower(halo_lowering *l) {
  return loop_lower_shape(l, &(loop_shape){.items = form_facts(l)->shape.items, .lanes = 1});
}

/* ---- The table ---- */

/* Places in the table: tiles turn elementwise code only; the forms from the second on take all code. */
enum { FORM_TRANSPOSE, FORM_OF_ALL_CODE };

/* Of forms that are as dear the first is taken. */
static const halo_implementation form_implementations[] = {
    [FORM_TRANSPOSE] = {"turn", halo_transpose_supports, halo_transpose_cost, halo_transpose_lower,
                        HALO_COUNTS_ALWAYS, halo_transpose_works_on, .in_groups = true},
    [FORM_OF_ALL_CODE] = {"short", form_short_supports, form_short_cost, form_short_lower,
                          HALO_COUNTS_ALWAYS, halo_kernels_on_cpus},
    {"spans", form_spans_supports, form_spans_cost, form_spans_lower, HALO_COUNTS_ALWAYS,
     halo_kernels_on_cpus},
    {"stream", form_stream_supports, form_stream_cost, form_stream_lower, HALO_COUNTS_ALWAYS,
     halo_kernels_on_cpus},
    {"line", form_line_supports, form_line_cost, form_line_lower, HALO_COUNTS_ALWAYS,
     halo_kernels_on_cpus},
    {"lanes", form_lanes_supports, form_lanes_cost, form_lanes_lower, HALO_COUNTS_ALWAYS},
    {"rows", form_rows_supports, form_rows_cost, form_rows_lower, HALO_COUNTS_ALWAYS,
     halo_kernels_on_cpus},
    {"generic", halo_loop_supports, halo_loop_cost, form_generic_lower, HALO_COUNTS_ALWAYS},
    {0}};
const halo_family halo_family_loop = {"loop", HALO_OPCODE_COUNT, form_implementations};

halo_status halo_loop_lower(halo_lowering *l) {
  const halo_implementation *best = NULL;
  double cost;
  HALO_TRY(
      halo_kernels_choose(l, "loop", &form_implementations[FORM_OF_ALL_CODE], NULL, &best, &cost));
  return best->lower(l);
}

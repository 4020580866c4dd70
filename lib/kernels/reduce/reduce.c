/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/reduce/reduce.c: reductions that run in parallel, in one or two stages, alone or several together, and
 * what follows them; reduce:loop in loop.c is the general one. The order in which elements are combined
 * depends on the shape and the class of device alone, and on GPUs on the largest group, so results repeat bit for bit. */
#include "kernels/families.h"
#include "kernels/helpers.h"
#include "kernels/reduce/text.h"

#include <string.h>

extern const char halo_cl_reduce[];

/* The reductions of a fusion. */
typedef struct reduce_desc {
  double combined;     /* elements that all of them combine */
  int64_t longest;     /* elements that one combines for a result, at most */
  halo_reduce_desc v;  /* those of one shape, */
  const char *why_not; /* unless they cannot be computed together; NULL: they can */
} reduce_desc;

static const halo_shape *reduce_result(const halo_lowering *l) {
  return halo_leaf_shape(halo_lowering_root(l)->shape, 0);
}

static const void *reduce_describe(const halo_lowering *l) {
  reduce_desc *desc = halo_desc_new(l, reduce_desc);
  halo_reduce_desc *v = &desc->v;
  int64_t each = halo_shape_element_count(reduce_result(l));
  desc->longest = 1;
  halo_reduce_find(l->computation, v);
  for (int32_t h = 0; h < v->hero_count && h < HALO_REDUCE_HEROES; h++) {
    int64_t count = halo_shape_element_count(v->heroes[h]->operands[0]->shape);
    desc->combined += (double)count;
    if (each > 0 && count / each > desc->longest) desc->longest = count / each;
  }
  const char *why;
  if (!halo_reduce_describe(l->computation, v, &why)) desc->why_not = why;
  return desc;
}

static bool reduce_supports(const halo_lowering *l, bool columns, const char **why) {
  const reduce_desc *desc = l->desc;
  *why = desc->why_not;
  if (desc->why_not) return false;
  *why = columns ? "rows are reduced" : "columns are reduced";
  return columns == (desc->v.inner > 1);
}

static bool reduce_row_supports(const halo_lowering *l, const char **why) {
  return reduce_supports(l, false, why);
}

static bool reduce_column_supports(const halo_lowering *l, const char **why) {
  return reduce_supports(l, true, why);
}

/* Simple operations that computing a result takes behind the reductions, or beside them. */
static double reduce_cost_behind(const halo_lowering *l, const halo_shape *out) {
  int64_t count = halo_shape_element_count(out);
  int32_t results = halo_shape_leaf_count(l->computation->root->shape);
  return (double)(halo_reduce_cost_each(l, count) + results) * (double)count;
}

/* Work items of a launch that do something. */
static int64_t reduce_items(const halo_reduce_cut *cut) {
  int64_t work = cut->outer * cut->chunks / cut->rows;
  int64_t strip = cut->wide ? cut->wide : cut->lanes;
  if (cut->columns) work *= (cut->inner + strip - 1) / strip;
  return work * cut->local;
}

/* The stage behind the first, which combines a [chunks, results] array. */
static halo_reduce_cut reduce_second(const halo_reduce_text *t, const halo_reduce_cut *first) {
  return halo_reduce_cut_of(t, 1, first->chunks, t->v.outer * t->v.inner, false);
}

/* Seconds of what makes the elements that are combined, of which a work item has several. */
static double reduce_seconds_before(const halo_lowering *l, double items) {
  const halo_reduce_desc *v = &((const reduce_desc *)l->desc)->v;
  if (v->hero_count == 0) return 0;
  int64_t count = halo_shape_element_count(v->heroes[0]->operands[0]->shape);
  return halo_lowering_elements(l, (double)halo_reduce_cost_each(l, count) * (double)count,
                                items * halo_lowering_prices(l)->item_overlap);
}

/* Elements that are combined, many at a time, and what follows, which a CPU does one at a time. There a row counts as if
 * `group` work items had it, and there are as many pieces as on a GPU. The plan adds the launch of a second stage: with that, a
 * loop in one launch, but slower within a region, would seem as cheap where a region is what the reduction ends up in. */
static double reduce_cost(const halo_lowering *l, double group) {
  const halo_reduce_desc *v = &((const reduce_desc *)l->desc)->v;
  const halo_prices *p = halo_lowering_prices(l);
  halo_lowering own = *l;
  halo_reduce_text t = {.l = &own, .v = *v};
  int64_t results = v->outer * v->inner, elements = results * v->n;
  halo_reduce_cut first = halo_reduce_cut_of(&t, v->outer, v->n, v->inner, true);
  double items = l->caps->is_cpu ? group * (double)halo_reduce_pieces(elements, results)
                                 : (double)reduce_items(&first);
  double combined = p->reduce_element * (double)v->hero_count * (double)elements;
  double behind = p->reduce_behind * reduce_cost_behind(l, v->out);
  double before = reduce_seconds_before(l, items);
  if (first.chunks == 1) return before + halo_lowering_seconds(l, combined + behind, items);
  halo_reduce_cut second = reduce_second(&t, &first);
  double partials = (double)(first.chunks * results * v->value_count);
  double more = l->caps->is_cpu ? items : (double)reduce_items(&second);
  return before + halo_lowering_seconds(l, combined, items) +
         halo_target_bytes(halo_lowering_target(l), p->reduce_element * partials + behind, more);
}

static double reduce_row_cost(const halo_lowering *l) {
  return reduce_cost(l, halo_lowering_parameters(l)->reduce_group_items);
}

static double reduce_column_cost(const halo_lowering *l) { return reduce_cost(l, 1); }

/* Element by element every result costs its whole inner loop, with no help from neighbours, but where that is
 * written out. */
static double reduce_loop_cost(const halo_lowering *l) {
  const reduce_desc *desc = l->desc;
  const halo_shape *out = reduce_result(l);
  const halo_prices *p = halo_lowering_prices(l);
  bool vectors = desc->longest <= HALO_WRITTEN_OUT;
  double behind = vectors ? p->reduce_loop_vectors : p->reduce_loop_behind;
  double element = vectors ? p->reduce_loop_short : p->reduce_loop;
  double work = element * desc->combined + behind * reduce_cost_behind(l, out);
  double results = (double)halo_shape_element_count(out);
  return halo_lowering_seconds(l, p->loop_element * results + work, results) +
         reduce_seconds_before(l, results);
}

/* ---- Text ---- */

/* The element with this row-major position. */
static emit_index *reduce_index(halo_emitter *e, const halo_shape *shape,
                                const halo_integer *position) {
  const halo_shape *row_major = halo_shape_new(e->arena, shape->type, shape->rank, shape->dims);
  return halo_index_from_position(e, row_major, position);
}

/* The position of the element at "o", "r" and "c". It is put together from them here so that what is fused
 * in front, which may need a row's number alone, takes nothing apart again. */
static const halo_integer *reduce_position(halo_emitter *e, const halo_reduce_cut *cut) {
  halo_integers *n = &e->integers;
  const halo_integer *at = halo_emit_counter(e, "o", cut->outer);
  if (cut->transposed) {
    at = halo_integer_mul(n, halo_emit_counter(e, "c", cut->inner), cut->n);
    return halo_integer_add(n, at, halo_emit_counter(e, "r", cut->n));
  }
  if (cut->within_lines) {
    const halo_integer *chunk = halo_emit_counter(e, "c", cut->chunks);
    at = halo_integer_add(n, halo_integer_mul(n, at, cut->n),
                          halo_integer_mul(n, chunk, cut->chunk));
    return halo_integer_add(n, at, halo_emit_counter(e, "r", cut->chunk));
  }
  at = halo_integer_add(n, halo_integer_mul(n, at, cut->n), halo_emit_counter(e, "r", cut->n));
  if (cut->inner == 1) return at;
  return halo_integer_add(n, halo_integer_mul(n, at, cut->inner),
                          halo_emit_counter(e, "c", cut->inner));
}

/* How a function that gives an element is declared. Compilers put no long one in place that is called from several
 * places, and make no vectors of a loop that calls one. */
static const char *reduce_returns(const halo_reduce_text *t, const halo_reduce_cut *cut) {
  enum { LONG = 16, MANY = 64 };
  bool in_place = t->l->caps->is_cpu && !cut->columns && cut->chunk >= MANY &&
                  halo_reduce_cost_before(t) >= LONG;
  return in_place ? halo_arena_printf(t->l->arena, "__attribute__((always_inline)) %s", t->a.type)
                  : t->a.type;
}

/* Whether elements are made of complex numbers: of loads of pairs compilers make no vectors. */
static bool reduce_has_pairs(const halo_reduce_text *t) {
  for (int32_t i = 0; i < t->l->computation->params.count; i++) {
    const halo_shape *shape = t->l->computation->params.data[i]->shape;
    if (halo_shape_is_array(shape) && halo_type_is_complex(shape->type)) return true;
  }
  return false;
}

/* The input at a position, through everything fused in front of the reductions. */
static void reduce_emit_in(const halo_reduce_text *t, const halo_reduce_cut *cut,
                           halo_helpers *helpers) {
  halo_emitter *e = &helpers->e;
  emit_frame *frame = halo_helpers_open(helpers);
  e->vectors = t->l->caps->is_cpu && reduce_has_pairs(t);
  halo_value values[HALO_REDUCE_VALUES];
  emit_index *index = reduce_index(e, t->v.in, reduce_position(e, cut));
  for (int32_t i = 0; i < t->v.value_count; i++) {
    const halo_reduce_value *value = &t->v.values[i];
    values[i] = halo_emit_value(e, frame, value->reduce->operands[value->leaf], 0, index);
  }
  halo_accumulator_return(&t->a, e, values);
  halo_helpers_close(helpers, reduce_returns(t, cut), "_in", "o, r, c", NULL);
}

/* Combines a total with the initial values, rounds it, and computes and stores what follows. */
static void reduce_emit_out(const halo_reduce_text *t, const halo_reduce_cut *cut,
                            halo_helpers *helpers) {
  (void)cut;
  halo_emitter *e = &helpers->e;
  emit_frame *frame = halo_helpers_open(helpers);
  halo_value starts[HALO_REDUCE_VALUES], totals[HALO_REDUCE_VALUES], results[HALO_REDUCE_VALUES];
  for (int32_t i = 0; i < t->v.value_count; i++) {
    const halo_reduce_value *value = &t->v.values[i];
    int32_t n = value->reduce->operand_count / 2;
    starts[i] = halo_emit_value(e, frame, value->reduce->operands[n + value->leaf], 0,
                                halo_index_scalar(e));
    totals[i] = halo_accumulator_load(&t->a, "v", i);
  }
  halo_accumulator_combine(&t->a, e, starts, totals, results);
  for (int32_t i = 0; i < t->v.value_count; i++) {
    const halo_reduce_value *value = &t->v.values[i];
    halo_frame_bind(e, frame, value->reduce, value->leaf,
                    halo_accumulator_round(&t->a, e, "total", results, i));
  }
  const halo_integer *p = halo_emit_counter(e, "p", halo_shape_element_count(t->v.out));
  halo_helpers_store(helpers, frame, t->v.out, reduce_index(e, t->v.out, p));
  halo_helpers_close(helpers, "void", "_out", "p", t->a.type);
}

/* Inputs that only what follows the reductions reads, each element where its result is written. */
static uint64_t reduce_in_place(const halo_reduce_text *t) {
  const halo_computation *body = t->l->computation;
  int64_t count = halo_shape_element_count(t->v.out);
  int32_t leaves = halo_shape_leaf_count(body->root->shape);
  uint64_t bits = 0;
  for (int32_t k = 0; k < leaves; k++) {
    if (!halo_shape_has_default_layout(halo_leaf_shape(body->root->shape, k))) return 0;
  }
  for (int32_t p = 0; p < body->params.count; p++) {
    const halo_shape *shape = body->params.data[p]->shape;
    if (!halo_shape_is_array(shape)) return 0;
    if (p < 64 && halo_shape_element_count(shape) == count &&
        halo_shape_has_default_layout(shape) && halo_reduce_reads_behind(body, &t->v, p)) {
      bits |= 1ull << p;
    }
  }
  return bits;
}

/* Partial results go to scratch in the accumulator's own type. */
static const char *reduce_scratch_arg(const halo_reduce_text *t, halo_emitter *e, int32_t i) {
  return halo_emit_arg(e, HALO_ROLE_SCRATCH, i, t->v.values[i].accumulator, NULL);
}

/* There are fewer of them than elements of the input. */
static void reduce_emit_partial_out(const halo_reduce_text *t, const halo_reduce_cut *cut,
                                    halo_helpers *helpers) {
  halo_emitter *e = &helpers->e;
  halo_helpers_open(helpers);
  for (int32_t i = 0; i < t->v.value_count; i++) {
    halo_value value =
        halo_value_name(t->v.values[i].accumulator, halo_accumulator_member(&t->a, "v", i));
    const halo_integer *p = halo_emit_counter(e, "p", cut->outer * cut->n * cut->inner);
    halo_emit_store(e, reduce_scratch_arg(t, e, i), p, value);
  }
  halo_helpers_close(helpers, "void", "_out", "p", t->a.type);
}

static void reduce_emit_partial_in(const halo_reduce_text *t, const halo_reduce_cut *cut,
                                   halo_helpers *helpers) {
  halo_emitter *e = &helpers->e;
  halo_helpers_open(helpers);
  halo_value values[HALO_REDUCE_VALUES];
  for (int32_t i = 0; i < t->v.value_count; i++) {
    values[i] = halo_emit_load(e, reduce_scratch_arg(t, e, i), t->v.values[i].accumulator,
                               reduce_position(e, cut));
  }
  halo_accumulator_return(&t->a, e, values);
  halo_helpers_close(helpers, t->a.type, "_in", "o, r, c", NULL);
}

/* ---- Kernels ---- */

/* Rows that a work item of a CPU reads at a time, one below the other in a strip of columns. */
enum { REDUCE_STREAMS = 8 };

/* How many of them are written out, which compilers take their time for: as many as are worth it. */
static int reduce_copies(const halo_reduce_text *t) {
  enum { INSTRS = 64 };
  int copies = REDUCE_STREAMS;
  while (copies > 1 && copies * t->l->computation->instrs.count > INSTRS) copies /= 2;
  return copies;
}

/* Rows that are summed by themselves, where columns are long sums of numbers with fractions: one after the other 4096
 * lose three binary digits more than in stretches; XLA sums them by 32. */
static int64_t reduce_stretch(const halo_reduce_text *t, const halo_reduce_cut *cut) {
  enum { STRETCH = 128 };
  int64_t rows = cut->wide ? cut->chunk / (cut->local / cut->wide) : cut->chunk;
  if (!cut->columns || rows < 2 * STRETCH) return 0;
  for (int32_t i = 0; i < t->v.value_count; i++) {
    halo_type real = halo_type_real_part(t->v.values[i].accumulator);
    const halo_instr *root = halo_instr_comp(t->v.values[i].reduce, HALO_ATTR_TO_APPLY)->root;
    if (halo_type_is_float(real) && root->opcode == HALO_OP_ADD) return STRETCH;
  }
  return 0;
}

/* Whether the sums of all columns stay in registers. */
static bool reduce_is_narrow(const halo_reduce_text *t, const halo_reduce_cut *cut) {
  enum { REGISTERS = 8 };
  return cut->columns && cut->line && cut->lanes == cut->inner && cut->lanes % cut->line == 0 &&
         cut->lanes / cut->line * t->v.value_count <= REGISTERS;
}

/* Whether columns are so short that all of one is written out, and stays in a register. */
static bool reduce_is_few(const halo_reduce_text *t, const halo_reduce_cut *cut) {
  enum { ALWAYS = 4, MOST = 16, INSTRS = 256 };
  if (!cut->columns || cut->chunks > 1 || cut->line || cut->n > MOST) return false;
  return cut->n <= ALWAYS || cut->n * t->l->computation->instrs.count <= INSTRS;
}

/* Where each of the rows is written out, they are fewer; what lies in the caches is read one by one. */
static int reduce_streams(const halo_reduce_text *t, const halo_reduce_cut *cut, bool first) {
  enum { INSTRS = 64 };
  if (!t->l->caps->is_cpu) return 1;
  if (cut->line) return REDUCE_STREAMS;
  if (!first || cut->lanes < REDUCE_STREAMS) return 1;
  int streams = REDUCE_STREAMS;
  while (streams > 1 && (streams >= cut->n || streams * t->l->computation->instrs.count > INSTRS)) {
    streams /= 2;
  }
  return streams;
}

typedef void reduce_emit_fn(const halo_reduce_text *t, const halo_reduce_cut *cut,
                            halo_helpers *helpers);

/* The holes for a work item's own accumulators side by side: an array for each value, so that neighbours
 * are neighbours in memory and registers. */
static void reduce_lane_holes(const halo_reduce_text *t, const halo_helpers *helpers,
                              halo_template *k) {
  halo_strbuf type = {0}, get = {0}, set = {0}, into = {0};
  bool one = t->v.value_count == 1;
  for (int32_t i = 0; i < t->v.value_count; i++) {
    halo_strbuf_printf(&type, "%s m%d[H_ROOM]; ", halo_accumulator_ctype(&t->v.values[i]), i);
    halo_strbuf_printf(&get, "%s(l).m%d[j]", i ? ", " : "", i);
    halo_strbuf_printf(&set, "(l).m%d[j] = (v)%s; ", i,
                       one ? "" : halo_arena_printf(t->l->arena, ".m%d", i));
    halo_strbuf_printf(&into, "(l).m%d = h_v.m%d; ", i, i);
  }
  halo_helpers_hole(helpers, k, "H_SIDE", "struct { %s}", halo_strbuf_text(&type));
  halo_helpers_hole(helpers, k, "H_GET(l, j)", one ? "(%s)" : "((H_T){%s})",
                    halo_strbuf_text(&get));
  halo_helpers_hole(helpers, k, "H_SET(l, j, v)", "%s", halo_strbuf_text(&set));
  /* One by one: Mesa 22 copies structs of members of several sizes wrongly. */
  halo_helpers_hole(helpers, k, "H_INTO(l, v)", one ? "(l) = (v);" : "{ const H_T h_v = v; %s}",
                    halo_strbuf_text(&into));
  halo_strbuf *const texts[] = {&type, &get, &set, &into};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) halo_strbuf_deinit(texts[i]);
}

/* Text that sums member `i` of a line, half by half: a loop of halves would go through memory. Compilers that are
 * told to prefer shorter vectors keep to whole lines where some function takes one, as a store does. */
static void reduce_line_total(halo_strbuf *text, const char *element, int line, int i,
                              const char *target) {
  int half = line / 2;
  halo_strbuf_printf(text, "%s all%d[%d]; vstore%d((l).m%d, 0, all%d); ", element, i, line, line, i,
                     i);
  halo_strbuf_printf(text, "const %s%d t%d_%d = vload%d(0, all%d) + vload%d(0, all%d + %d); ",
                     element, half, i, half, half, i, half, i, half);
  for (int width = half / 2; width > 1; width /= 2) {
    halo_strbuf_printf(text, "const %s%d t%d_%d = t%d_%d.lo + t%d_%d.hi; ", element, width, i,
                       width, i, 2 * width, i, 2 * width);
  }
  halo_strbuf_printf(text, "%s = t%d_2.x + t%d_2.y; ", target, i, i);
}

/* The holes for sums that are kept in vectors, which compilers leave in registers where arrays of lanes go
 * through memory. What the elements are computed by is there once a line, not once an element: compilers took ten
 * times as long to make vectors of 256 elements that were written out. Lines start with what changes no sum, -0 among
 * floats, so that the first elements need no text of their own. */
static void reduce_line_holes(const halo_reduce_text *t, const halo_reduce_cut *cut,
                              halo_helpers *helpers, halo_template *k) {
  halo_strbuf type = {0}, lines = {0}, fill = {0}, update = {0}, get = {0}, set = {0}, none = {0};
  halo_strbuf one = {0}, last = {0}, join = {0}, total = {0};
  for (int32_t i = 0; i < t->v.value_count; i++) {
    const char *element = halo_accumulator_ctype(&t->v.values[i]);
    bool is_float = halo_type_is_float(t->v.values[i].accumulator);
    halo_strbuf_printf(&type, "%s%d m%d; ", element, cut->line, i);
    halo_strbuf_printf(&lines, "%s%d x%d; %s *e%d = (%s *)&x%d; ", element, cut->line, i, element,
                       i, element, i);
    halo_strbuf_printf(&fill, "e%d[h] = %s; ", i, halo_accumulator_member(&t->a, "x", i));
    halo_strbuf_printf(&update, "(l).m%d += x%d; ", i, i);
    halo_strbuf_printf(&get, "(l).m%d = vload%d(0, &(s).m%d[j]); ", i, cut->line, i);
    halo_strbuf_printf(&set, "vstore%d((l).m%d, 0, &(s).m%d[j]); ", cut->line, i, i);
    const char *zero = is_float ? "-0.0f" : "0";
    halo_strbuf_printf(&none, "(l).m%d = (%s%d)(%s); ", i, element, cut->line, zero);
    halo_strbuf_printf(&one, "%s%s", i ? ", " : "", zero);
    halo_strbuf_printf(&last, "e%d[h] = h < (skip) ? (%s)%s : %s; ", i, element, zero,
                       halo_accumulator_member(&t->a, "x", i));
    halo_strbuf_printf(&join, "(l).m%d += (m).m%d; ", i, i);
    reduce_line_total(&total, element, cut->line, i, halo_accumulator_member(&t->a, "(v)", i));
  }
  halo_sections_add(&helpers->e.sections, "neighbours");
  halo_helpers_hole(helpers, k, "H_LINE", "struct { %s}", halo_strbuf_text(&type));
  halo_helpers_hole(helpers, k, "H_LINE_NONE(l)", "%s", halo_strbuf_text(&none));
  const char *const names[] = {"H_LINE_ADD(l, o, r, c)", "H_LINE_LAST(l, o, r, c, skip)"};
  for (int i = 0; i < (cut->columns ? 1 : 2); i++) {
    halo_helpers_hole(
        helpers, k, names[i],
        "{ %sH_LINE_LOOP(%d) for (int h = 0; h < %d; ++h) { const H_T x = H_IN(o, r%s, "
        "c%s); %s} %s}",
        halo_strbuf_text(&lines), cut->line, cut->line, cut->columns ? "" : " + h",
        cut->columns ? " + h" : "", halo_strbuf_text(i ? &last : &fill), halo_strbuf_text(&update));
  }
  halo_helpers_hole(helpers, k, "H_LINE_JOIN(l, m)", "%s", halo_strbuf_text(&join));
  if (!cut->columns) {
    halo_helpers_hole(helpers, k, "H_LINE_TOTAL(l, v)", "{ %s}", halo_strbuf_text(&total));
  }
  halo_helpers_hole(helpers, k, "H_LINE_GET(l, s, j)", "%s", halo_strbuf_text(&get));
  halo_helpers_hole(helpers, k, "H_LINE_SET(l, s, j)", "%s", halo_strbuf_text(&set));
  halo_helpers_hole(helpers, k, "H_NONE", t->v.value_count == 1 ? "(%s)" : "((H_T){%s})",
                    halo_strbuf_text(&one));
  halo_strbuf *const texts[] = {&type, &lines, &fill, &update, &get,  &set,
                                &none, &one,   &last, &join,   &total};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) halo_strbuf_deinit(texts[i]);
}

static void reduce_size_launch(const halo_reduce_text *t, const halo_reduce_cut *cut,
                               halo_launch *launch) {
  const halo_caps *caps = t->l->caps;
  int64_t work = reduce_items(cut);
  size_t local = (size_t)(cut->local * cut->beside);
  if (cut->local == 1) {
    /* On a GPU neighbours side by side. On a CPU work items are long: a few a group, so that groups cost
     * nothing, but enough groups to share out evenly. */
    local = caps->is_cpu ? 1 : halo_kernel_local_size(caps, work);
    while (caps->is_cpu && local < 32 && work >= (int64_t)(64 * local)) local *= 2;
  }
  halo_launch_line(launch, work, local);
}

/* One kernel: helper functions for input and output, then the template. */
static halo_status reduce_stage(const halo_reduce_text *t, const halo_reduce_cut *cut,
                                const char *suffix, reduce_emit_fn *emit_in,
                                reduce_emit_fn *emit_out) {
  halo_lowering *l = t->l;
  halo_helpers helpers;
  /* 64 bits: neighbours are then seen to be neighbours whatever an index is made of. */
  halo_helpers_begin(&helpers, l, halo_arena_printf(l->arena, "%s%s", t->name, suffix),
                     cut->line > 0 || cut->within_lines || cut->transposed);
  emit_in(t, cut, &helpers);
  emit_out(t, cut, &helpers);
  if (emit_out == reduce_emit_out) helpers.in_place = reduce_in_place(t);
  halo_sections_add(&helpers.e.sections, "rolled");
  halo_template k;
  halo_helpers_template(&helpers, &k, halo_cl_reduce, "");
  halo_helpers_hole(&helpers, &k, "H_T", "%s", t->a.type);
  if (cut->within_lines) {
    halo_helpers_hole(&helpers, &k, "H_IN(o, r, c)", "%s_in(%s, o, (r) - %s, chunk)", helpers.name,
                      helpers.texts.arguments, cut->columns ? "begin" : "first");
  } else {
    halo_helpers_call(&helpers, &k, "H_IN", "_in", "o, r, c");
  }
  halo_helpers_call(&helpers, &k, "H_OUT", "_out", "p, v");
  halo_helpers_hole(&helpers, &k, "H_OP(a, b)", "%s_op(a, b)", t->name);
  reduce_lane_holes(t, &helpers, &k);
  if (cut->line) reduce_line_holes(t, cut, &helpers, &k);
  halo_template_define_int(&k, "H_N", cut->n);
  halo_template_define_int(&k, "H_INNER", cut->inner);
  halo_template_define_int(&k, "H_OUTER", cut->outer);
  halo_template_define_int(&k, "H_CHUNK", cut->chunk);
  halo_template_define_int(&k, "H_CHUNKS", cut->chunks);
  halo_template_define_int(&k, "H_LANES", cut->lanes);
  int room =
      cut->columns && cut->line ? (cut->lanes + cut->line - 1) / cut->line * cut->line : cut->lanes;
  halo_template_define_int(&k, "H_ROOM", room);
  halo_template_define_int(&k, "H_LOCAL", cut->local);
  halo_template_define_int(&k, "H_WIDE", cut->wide);
  halo_template_define_int(&k, "H_BESIDE", cut->beside);
  halo_template_define_int(&k, "H_COLUMNS", cut->columns);
  halo_template_define_int(&k, "H_ROWS", cut->rows);
  halo_template_define_int(&k, "H_STREAMS", reduce_streams(t, cut, emit_in == reduce_emit_in));
  halo_template_define_int(&k, "H_NARROW", reduce_is_narrow(t, cut));
  halo_template_define_int(&k, "H_FEW", reduce_is_few(t, cut));
  halo_template_define_int(&k, "H_COPIES", reduce_copies(t));
  halo_template_define_int(&k, "H_STRETCH", reduce_stretch(t, cut));
  halo_template_define_int(&k, "H_SPAN", cut->line);
  halo_template_define_int(&k, "H_ORDERED", t->v.ordered);
  if (cut->local > 1) {
    halo_kernel_group(l, (size_t)(cut->local * cut->beside), 1);
    halo_kernel_local(l, cut->local * (cut->columns ? 1 : cut->beside),
                      halo_accumulator_size(t->v.values, t->v.value_count));
  }
  halo_helpers_finish(&helpers, &k);
  const char *label = halo_arena_printf(
      l->arena, "reduce:%s%s", cut->columns && !cut->transposed ? "column" : "row", suffix);
  reduce_size_launch(t, cut, halo_helpers_launch(&helpers, label));
  return halo_helpers_end(&helpers);
}

static halo_status reduce_lower(halo_lowering *l) {
  halo_reduce_text t = {.l = l, .v = ((const reduce_desc *)l->desc)->v};
  t.name = halo_kernel_name(l, t.v.inner > 1 ? "column" : "row");
  HALO_TRY(halo_accumulator_declare(l, &t.a, t.name, t.v.values, t.v.value_count));
  halo_reduce_cut first = halo_reduce_cut_of(&t, t.v.outer, t.v.n, t.v.inner, true);
  if (first.chunks == 1) return reduce_stage(&t, &first, "", reduce_emit_in, reduce_emit_out);
  int64_t partials = first.chunks * t.v.outer * t.v.inner;
  for (int32_t i = 0; i < t.v.value_count; i++) {
    int64_t size = (int64_t)halo_type_size(t.v.values[i].accumulator);
    halo_vec_push(&l->scratch, (halo_scratch){partials * size});
  }
  HALO_TRY(reduce_stage(&t, &first, "_parts", reduce_emit_in, reduce_emit_partial_out));
  halo_reduce_cut second = reduce_second(&t, &first);
  return reduce_stage(&t, &second, "", reduce_emit_partial_in, reduce_emit_out);
}

static const halo_implementation reduce_implementations[] = {
    {"row", reduce_row_supports, reduce_row_cost, reduce_lower, HALO_COUNTS_ON_CPUS,
     .in_groups = true, .one_launch = true},
    {"column", reduce_column_supports, reduce_column_cost, reduce_lower, HALO_COUNTS_ON_CPUS,
     .one_launch = true},
    {"loop", halo_loop_supports, reduce_loop_cost, halo_loop_lower},
    {0}};
const halo_family halo_family_reduce = {"reduce", HALO_OP_REDUCE, reduce_implementations,
                                        reduce_describe};

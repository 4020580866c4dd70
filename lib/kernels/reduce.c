/* kernels/reduce.c: reductions that run in parallel, in one or two stages, alone or several together, and
 * what follows them; reduce:loop in loop.c is the general one. The order in which elements are combined
 * depends on the shape and the class of device alone, so results repeat bit for bit. */
#include "hlo/reduction.h"
#include "kernels/accumulator.h"
#include "kernels/families.h"
#include "kernels/parts.h"

#include <string.h>

extern const char halo_cl_reduce[];

static bool reduce_supports(const halo_lowering *l, bool columns, const char **why) {
  halo_reduce_view v;
  if (!halo_reduce_describe(l->computation, &v, why)) return false;
  *why = columns ? "rows are reduced" : "columns are reduced";
  return columns == (v.inner > 1);
}

static bool reduce_row_supports(const halo_lowering *l, const char **why) {
  return reduce_supports(l, false, why);
}

static bool reduce_column_supports(const halo_lowering *l, const char **why) {
  return reduce_supports(l, true, why);
}

/* Simple operations that one of `count` elements takes: of the instructions whose results are as many. */
static int64_t reduce_cost_each(const halo_lowering *l, int64_t count) {
  int64_t cost = 0;
  for (int32_t i = 0; i < l->computation->instrs.count; i++) {
    const halo_instr *instr = l->computation->instrs.data[i];
    bool counts =
        halo_shape_is_array(instr->shape) && halo_shape_element_count(instr->shape) == count;
    if (counts) cost += halo_op_info_of(instr->opcode)->cost;
  }
  return cost;
}

/* Simple operations that computing a result takes behind the reductions, or beside them. */
static double reduce_cost_behind(const halo_lowering *l, const halo_reduce_view *v) {
  int64_t count = halo_shape_element_count(v->out);
  int32_t results = halo_shape_leaf_count(l->computation->root->shape);
  return (double)(reduce_cost_each(l, count) + results) * (double)count;
}

/* Elements that are combined, many at a time, and what follows, which a CPU does one at a time. */
static double reduce_cost(const halo_lowering *l) {
  halo_reduce_view v;
  const char *why;
  halo_reduce_describe(l->computation, &v, &why);
  double combined = (double)v.hero_count * (double)(v.outer * v.n * v.inner);
  double behind = reduce_cost_behind(l, &v) * (l->caps->is_cpu ? 4 : 1);
  return halo_lowering_seconds(l, 4 * (combined + behind));
}

/* Element by element every result costs its whole inner loop, with no help from neighbours. */
static double reduce_loop_cost(const halo_lowering *l) {
  halo_reduce_view v;
  halo_reduce_find(l->computation, &v);
  v.out = halo_leaf_shape(l->computation->root->shape, 0);
  double combined = 0;
  for (int32_t h = 0; h < v.hero_count && h < HALO_REDUCE_HEROES; h++) {
    combined += (double)halo_shape_element_count(v.heroes[h]->operands[0]->shape);
  }
  double work = 16 * combined + 4 * reduce_cost_behind(l, &v);
  return halo_loop_cost(l) + work / halo_lowering_target(l)->bandwidth;
}

/* ---- Text ---- */

typedef struct reduce_text {
  halo_lowering *l;
  halo_reduce_view v;
  const char *name; /* of the last kernel; prefix of the names of all of them */
  halo_accumulator a;
} reduce_text;

/* The element with this row-major position. */
static emit_index *reduce_index(halo_emitter *e, const halo_shape *shape,
                                const halo_integer *position) {
  const halo_shape *row_major = halo_shape_new(e->arena, shape->type, shape->rank, shape->dims);
  return halo_index_from_position(e, row_major, position);
}

/* How the work of one stage is cut: an [outer, n, inner] array, summed over n. */
typedef struct reduce_cut {
  int64_t outer, n, inner, chunk, chunks;
  int lanes, local;
  bool columns;
  int rows;    /* that a work item takes side by side */
  int line;    /* neighbours whose sums are a vector, or 0: `lanes` is a multiple */
  bool placed; /* of rows: elements are counted within their chunk, whose number "c" is */
  bool turned; /* the columns are rows of the input */
} reduce_cut;

/* The position of the element at "o", "r" and "c". It is put together from them here so that what is fused
 * in front, which may need a row's number alone, takes nothing apart again. */
static const halo_integer *reduce_position(halo_emitter *e, const reduce_cut *cut) {
  halo_integers *n = &e->integers;
  const halo_integer *at = halo_emit_counter(e, "o", cut->outer);
  if (cut->turned) {
    at = halo_integer_mul(n, halo_emit_counter(e, "c", cut->inner), cut->n);
    return halo_integer_add(n, at, halo_emit_counter(e, "r", cut->n));
  }
  if (cut->placed) {
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

/* Simple operations that an element of the input takes before it is combined. */
static int64_t reduce_cost_before(const reduce_text *t) {
  return reduce_cost_each(t->l, halo_shape_element_count(t->v.in));
}

/* How a function that gives an element is declared. Compilers put no long one in place that is called from several
 * places, and make no vectors of a loop that calls one. */
static const char *reduce_returns(const reduce_text *t, const reduce_cut *cut) {
  enum { LONG = 16, MANY = 64 };
  bool in_place =
      t->l->caps->is_cpu && !cut->columns && cut->chunk >= MANY && reduce_cost_before(t) >= LONG;
  return in_place ? halo_arena_printf(t->l->arena, "__attribute__((always_inline)) %s", t->a.type)
                  : t->a.type;
}

/* Whether elements are made of complex numbers: of loads of pairs compilers make no vectors. */
static bool reduce_has_pairs(const reduce_text *t) {
  for (int32_t i = 0; i < t->l->computation->params.count; i++) {
    const halo_shape *shape = t->l->computation->params.data[i]->shape;
    if (halo_shape_is_array(shape) && halo_type_is_complex(shape->type)) return true;
  }
  return false;
}

/* The input at a position, through everything fused in front of the reductions. */
static void reduce_emit_in(const reduce_text *t, const reduce_cut *cut, halo_parts *parts) {
  halo_emitter *e = &parts->e;
  emit_frame *frame = halo_parts_open(parts);
  e->parts = t->l->caps->is_cpu && reduce_has_pairs(t);
  halo_value values[HALO_REDUCE_VALUES];
  emit_index *index = reduce_index(e, t->v.in, reduce_position(e, cut));
  for (int32_t i = 0; i < t->v.value_count; i++) {
    const halo_reduce_value *value = &t->v.values[i];
    values[i] = halo_emit_value(e, frame, value->reduce->operands[value->leaf], 0, index);
  }
  halo_accumulator_return(&t->a, e, values);
  halo_parts_close(parts, reduce_returns(t, cut), "_in", "o, r, c", NULL);
}

/* Combines a total with the initial values, rounds it, and computes and stores what follows. */
static void reduce_emit_out(const reduce_text *t, const reduce_cut *cut, halo_parts *parts) {
  (void)cut;
  halo_emitter *e = &parts->e;
  emit_frame *frame = halo_parts_open(parts);
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
  halo_parts_store(parts, frame, t->v.out, reduce_index(e, t->v.out, p));
  halo_parts_close(parts, "void", "_out", "p", t->a.type);
}

/* Inputs that only what follows the reductions reads, each element where its result is written. */
static uint64_t reduce_in_place(const reduce_text *t) {
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
static const char *reduce_scratch_arg(const reduce_text *t, halo_emitter *e, int32_t i) {
  return halo_emit_arg(e, HALO_ROLE_SCRATCH, i, t->v.values[i].accumulator, NULL);
}

/* There are fewer of them than elements of the input. */
static void reduce_emit_partial_out(const reduce_text *t, const reduce_cut *cut,
                                    halo_parts *parts) {
  halo_emitter *e = &parts->e;
  halo_parts_open(parts);
  for (int32_t i = 0; i < t->v.value_count; i++) {
    halo_value value =
        halo_value_name(t->v.values[i].accumulator, halo_accumulator_member(&t->a, "v", i));
    const halo_integer *p = halo_emit_counter(e, "p", cut->outer * cut->n * cut->inner);
    halo_emit_store(e, reduce_scratch_arg(t, e, i), p, value);
  }
  halo_parts_close(parts, "void", "_out", "p", t->a.type);
}

static void reduce_emit_partial_in(const reduce_text *t, const reduce_cut *cut, halo_parts *parts) {
  halo_emitter *e = &parts->e;
  halo_parts_open(parts);
  halo_value values[HALO_REDUCE_VALUES];
  for (int32_t i = 0; i < t->v.value_count; i++) {
    values[i] = halo_emit_load(e, reduce_scratch_arg(t, e, i), t->v.values[i].accumulator,
                               reduce_position(e, cut));
  }
  halo_accumulator_return(&t->a, e, values);
  halo_parts_close(parts, t->a.type, "_in", "o, r, c", NULL);
}

/* ---- Kernels ---- */

/* Rows that a work item of a CPU reads at a time, one below the other in a strip of columns. */
enum { REDUCE_STREAMS = 8 };

/* How many of them are written out, which compilers take their time for: as many as are worth it. */
static int reduce_copies(const reduce_text *t) {
  enum { INSTRS = 64 };
  int copies = REDUCE_STREAMS;
  while (copies > 1 && copies * t->l->computation->instrs.count > INSTRS) copies /= 2;
  return copies;
}

/* Whether the sums of all columns stay in registers. */
static bool reduce_is_narrow(const reduce_text *t, const reduce_cut *cut) {
  enum { REGISTERS = 8 };
  return cut->columns && cut->line && cut->lanes == cut->inner && cut->lanes % cut->line == 0 &&
         cut->lanes / cut->line * t->v.value_count <= REGISTERS;
}

/* Whether columns are so short that all of one is written out, and stays in a register. */
static bool reduce_is_few(const reduce_text *t, const reduce_cut *cut) {
  enum { ALWAYS = 4, MOST = 16, INSTRS = 256 };
  if (!cut->columns || cut->chunks > 1 || cut->line || cut->n > MOST) return false;
  return cut->n <= ALWAYS || cut->n * t->l->computation->instrs.count <= INSTRS;
}

/* Where each of the rows is written out, they are fewer; what lies in the caches is read one by one. */
static int reduce_streams(const reduce_text *t, const reduce_cut *cut, bool first) {
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

/* Whether a work item does so much that calling it costs nothing. */
static bool reduce_is_apart(const reduce_text *t, const reduce_cut *cut) {
  enum { ELEMENTS = 1024 };
  int64_t side = cut->columns ? cut->lanes : cut->rows;
  return t->l->caps->is_cpu && side * cut->chunk * t->v.value_count >= ELEMENTS;
}

typedef void reduce_emit_fn(const reduce_text *t, const reduce_cut *cut, halo_parts *parts);

/* The holes for a work item's own accumulators side by side: an array for each value, so that neighbours
 * are neighbours in memory and registers. */
static void reduce_lane_holes(const reduce_text *t, const halo_parts *parts, halo_template *k) {
  halo_strbuf type = {0}, get = {0}, set = {0}, into = {0};
  bool one = t->v.value_count == 1;
  for (int32_t i = 0; i < t->v.value_count; i++) {
    halo_strbuf_printf(&type, "%s m%d[H_ROOM]; ", halo_accumulator_ctype(&t->v.values[i]), i);
    halo_strbuf_printf(&get, "%s(l).m%d[j]", i ? ", " : "", i);
    halo_strbuf_printf(&set, "(l).m%d[j] = (v)%s; ", i,
                       one ? "" : halo_arena_printf(t->l->arena, ".m%d", i));
    halo_strbuf_printf(&into, "(l).m%d = h_v.m%d; ", i, i);
  }
  halo_parts_hole(parts, k, "H_SIDE", "struct { %s}", halo_strbuf_text(&type));
  halo_parts_hole(parts, k, "H_GET(l, j)", one ? "(%s)" : "((H_T){%s})", halo_strbuf_text(&get));
  halo_parts_hole(parts, k, "H_SET(l, j, v)", "%s", halo_strbuf_text(&set));
  /* One by one: Mesa 22 copies structs of members of several sizes wrongly. */
  halo_parts_hole(parts, k, "H_INTO(l, v)", one ? "(l) = (v);" : "{ const H_T h_v = v; %s}",
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
static void reduce_line_holes(const reduce_text *t, const reduce_cut *cut, halo_parts *parts,
                              halo_template *k) {
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
  halo_sections_add(&parts->e.sections, "neighbours");
  halo_parts_hole(parts, k, "H_LINE", "struct { %s}", halo_strbuf_text(&type));
  halo_parts_hole(parts, k, "H_LINE_NONE(l)", "%s", halo_strbuf_text(&none));
  const char *const names[] = {"H_LINE_ADD(l, o, r, c)", "H_LINE_LAST(l, o, r, c, skip)"};
  for (int i = 0; i < (cut->columns ? 1 : 2); i++) {
    halo_parts_hole(parts, k, names[i],
                    "{ %sH_LINE_LOOP(%d) for (int h = 0; h < %d; ++h) { const H_T x = H_IN(o, r%s, "
                    "c%s); %s} %s}",
                    halo_strbuf_text(&lines), cut->line, cut->line, cut->columns ? "" : " + h",
                    cut->columns ? " + h" : "", halo_strbuf_text(i ? &last : &fill),
                    halo_strbuf_text(&update));
  }
  if (!cut->columns) {
    halo_parts_hole(parts, k, "H_LINE_JOIN(l, m)", "%s", halo_strbuf_text(&join));
    halo_parts_hole(parts, k, "H_LINE_TOTAL(l, v)", "{ %s}", halo_strbuf_text(&total));
  }
  halo_parts_hole(parts, k, "H_LINE_GET(l, s, j)", "%s", halo_strbuf_text(&get));
  halo_parts_hole(parts, k, "H_LINE_SET(l, s, j)", "%s", halo_strbuf_text(&set));
  halo_parts_hole(parts, k, "H_NONE", t->v.value_count == 1 ? "(%s)" : "((H_T){%s})",
                  halo_strbuf_text(&one));
  halo_strbuf *const texts[] = {&type, &lines, &fill, &update, &get,  &set,
                                &none, &one,   &last, &join,   &total};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) halo_strbuf_deinit(texts[i]);
}

static void reduce_size_launch(const reduce_text *t, const reduce_cut *cut, halo_launch *launch) {
  const halo_caps *caps = t->l->caps;
  int64_t work = cut->outer * cut->chunks / cut->rows;
  if (cut->columns) work *= (cut->inner + cut->lanes - 1) / cut->lanes;
  size_t local = (size_t)cut->local;
  if (cut->columns || cut->local == 1) {
    /* On a GPU neighbours side by side. On a CPU work items are long: a few a group, so that groups cost
     * nothing, but enough groups to share out evenly. */
    local = caps->is_cpu ? 1 : halo_kernel_local_size(caps, work);
    while (caps->is_cpu && local < 32 && work >= (int64_t)(64 * local)) local *= 2;
  } else {
    work *= cut->local;
  }
  launch->any_local = cut->columns || cut->local == 1;
  launch->items = (size_t)work;
  launch->local[0] = local;
  launch->global[0] = ((size_t)work + local - 1) / local * local;
}

/* One kernel: helper functions for input and output, then the template. */
static halo_status reduce_stage(const reduce_text *t, const reduce_cut *cut, const char *suffix,
                                reduce_emit_fn *emit_in, reduce_emit_fn *emit_out) {
  halo_lowering *l = t->l;
  halo_parts parts;
  /* 64 bits: neighbours are then seen to be neighbours whatever an index is made of. */
  halo_parts_begin(&parts, l, halo_arena_printf(l->arena, "%s%s", t->name, suffix),
                   cut->line > 0 || cut->placed || cut->turned);
  emit_in(t, cut, &parts);
  emit_out(t, cut, &parts);
  if (emit_out == reduce_emit_out) parts.in_place = reduce_in_place(t);
  halo_sections_add(&parts.e.sections, "rolled");
  halo_template k;
  halo_parts_template(&parts, &k, halo_cl_reduce, "");
  halo_parts_kernel_holes(&parts, &k, reduce_is_apart(t, cut));
  halo_parts_hole(&parts, &k, "H_T", "%s", t->a.type);
  if (cut->placed) {
    halo_parts_hole(&parts, &k, "H_IN(o, r, c)", "%s_in(%s, o, (r) - first, chunk)", parts.name,
                    parts.texts.arguments);
  } else {
    halo_parts_call(&parts, &k, "H_IN", "_in", "o, r, c");
  }
  halo_parts_call(&parts, &k, "H_OUT", "_out", "p, v");
  halo_parts_hole(&parts, &k, "H_OP(a, b)", "%s_op(a, b)", t->name);
  reduce_lane_holes(t, &parts, &k);
  if (cut->line) reduce_line_holes(t, cut, &parts, &k);
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
  halo_template_define_int(&k, "H_COLUMNS", cut->columns);
  halo_template_define_int(&k, "H_ROWS", cut->rows);
  halo_template_define_int(&k, "H_STREAMS", reduce_streams(t, cut, emit_in == reduce_emit_in));
  halo_template_define_int(&k, "H_NARROW", reduce_is_narrow(t, cut));
  halo_template_define_int(&k, "H_FEW", reduce_is_few(t, cut));
  halo_template_define_int(&k, "H_COPIES", reduce_copies(t));
  halo_template_define_int(&k, "H_SPAN", cut->line);
  halo_template_define_int(&k, "H_ORDERED", t->v.ordered);
  halo_template_finish(&k, l->source);
  const char *label = halo_arena_printf(l->arena, "reduce:%s%s",
                                        cut->columns && !cut->turned ? "column" : "row", suffix);
  reduce_size_launch(t, cut, halo_parts_launch(&parts, label));
  return halo_parts_end(&parts);
}

/* ---- Cutting ---- */

/* Columns that one work item of a CPU keeps sums of: as many as a part of the first-level cache holds, so
 * that memory is read in long pieces. */
enum { REDUCE_CACHE_BYTES = 16384, REDUCE_CACHED_LANES = 256 };

/* How far reductions of few results are cut. A cut is an order of summation, and results repeat on
 * however many cores: so it follows from the shape and the class of device, never from the number of
 * compute units. There are pieces enough for the largest devices of a class, and each is worth its
 * share of a second kernel. */
typedef struct reduce_limits {
  int64_t pieces; /* wanted at most, those that there are anyway counted in */
  int64_t least;  /* elements of a piece */
  int64_t plenty; /* of so many pieces that there are anyway ... */
  int64_t large;  /* ... only inputs of so many elements are cut further */
} reduce_limits;

static const reduce_limits reduce_cpu_rows = {64, 32768, 4, 4 << 20},
                           reduce_cpu_columns = {64, 131072, 8, 4 << 20},
                           reduce_gpu = {1024, 2048, 64, 4 << 20};

static int64_t reduce_divide_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

/* Bytes of an accumulator. */
static int64_t reduce_bytes(const reduce_text *t) {
  int64_t bytes = 0, most = 1;
  for (int32_t i = 0; i < t->v.value_count; i++) {
    int64_t size = (int64_t)halo_type_size(t->v.values[i].accumulator);
    bytes += size;
    if (size > most) most = size;
  }
  return (bytes + most - 1) / most * most;
}

/* Neighbouring columns for a work item of a CPU: strips of equal length. */
static int reduce_strip(const reduce_text *t, int64_t inner, bool cached) {
  int64_t most = cached ? REDUCE_CACHED_LANES : REDUCE_CACHE_BYTES / reduce_bytes(t);
  return (int)reduce_divide_up(inner, reduce_divide_up(inner, most));
}

/* Sums that a work item of a CPU has side by side in a row: what its vector registers hold. */
static int reduce_lanes(const reduce_text *t) {
  int lanes = 64;
  while (!t->v.ordered && lanes > 8 && lanes * t->v.value_count > 64) lanes /= 2;
  return lanes;
}

/* Whether what makes the input depends on coordinates, beyond the element's place. */
static bool reduce_needs_places(const reduce_text *t) {
  if (t->v.in->rank < 2) return false;
  for (int32_t i = 0; i < t->l->computation->instrs.count; i++) {
    const halo_instr *instr = t->l->computation->instrs.data[i];
    if (instr->opcode == HALO_OP_CONCATENATE || instr->opcode == HALO_OP_SLICE ||
        instr->opcode == HALO_OP_PAD || instr->opcode == HALO_OP_IOTA ||
        (instr->opcode == HALO_OP_BROADCAST && instr->operands[0]->shape->rank > 0)) {
      return true;
    }
  }
  return false;
}

/* Chunks that are equal parts of a line of the input, about as long as they are: coordinates other than the last
 * are the same for all elements of one then, and nothing is divided for each of them. */
static void reduce_place_chunks(const reduce_text *t, reduce_cut *cut) {
  enum { LEAST = 256 };
  int64_t line = t->v.in->dims[t->v.in->rank - 1];
  if (cut->columns || line < LEAST || cut->n % line || !reduce_needs_places(t)) return;
  if (!halo_shape_has_default_layout(t->v.in)) return;
  int64_t parts = reduce_divide_up(line, cut->chunk);
  while (line % parts && line / parts >= LEAST) parts++;
  if (line % parts || 2 * (line / parts) < cut->chunk) return;
  cut->chunk = line / parts;
  cut->chunks = cut->n / cut->chunk;
  cut->placed = true;
}

/* Rows of elements that take long are cut into shorter pieces. */
static reduce_limits reduce_row_limits(const reduce_text *t) {
  enum {
    SIMPLE = 4,
    PLACES = 16,
    LEAST = 2048
  }; /* operations of an element, and its coordinates */
  reduce_limits limits = reduce_cpu_rows;
  int64_t cost = SIMPLE + reduce_cost_before(t) + (reduce_needs_places(t) ? PLACES : 0);
  limits.least = limits.least * SIMPLE / cost;
  if (limits.least < LEAST) limits.least = LEAST;
  return limits;
}

static void reduce_split(const reduce_text *t, reduce_cut *cut, const reduce_limits *limits,
                         int64_t parallel) {
  int64_t elements = cut->outer * cut->n * cut->inner;
  if (parallel >= limits->pieces || cut->n * cut->inner < 2 * limits->least) return;
  if (parallel >= limits->plenty && elements < limits->large) return;
  int64_t want = reduce_divide_up(limits->pieces, parallel);
  int64_t rows = reduce_divide_up(limits->least, cut->inner); /* of a piece, at least */
  int64_t most = cut->n / rows > 0 ? cut->n / rows : 1;
  if (cut->columns && most > cut->n / 8) most = cut->n / 8 > 0 ? cut->n / 8 : 1;
  if (want > most) want = most;
  cut->chunk = reduce_divide_up(cut->n, want);
  if (!cut->columns) cut->chunk = reduce_divide_up(cut->chunk, 64) * 64;
  cut->chunks = reduce_divide_up(cut->n, cut->chunk);
  reduce_place_chunks(t, cut);
}

/* How many sums are a vector: those of one kind of numbers, computed by few instructions, since each element
 * of a line is written out; 0: they are kept one by one, as on processors that run a work item a lane. */
static int reduce_line(const reduce_text *t) {
  enum { LINE_INSTRS = 16, LINE_BYTES = 64 };
  if (t->l->caps->simd_width == 1) return 0;
  if (t->l->computation->instrs.count > LINE_INSTRS + 16 * t->v.value_count) return 0;
  int size = (int)halo_type_size(t->v.values[0].accumulator);
  for (int32_t i = 0; i < t->v.value_count; i++) {
    const halo_reduce_value *value = &t->v.values[i];
    const halo_instr *sum = halo_instr_comp(value->reduce, HALO_ATTR_TO_APPLY)->root;
    if (value->reduce->operand_count != 2 || sum->opcode != HALO_OP_ADD ||
        sum->operands[0]->opcode != HALO_OP_PARAMETER ||
        sum->operands[1]->opcode != HALO_OP_PARAMETER || sum->operands[0] == sum->operands[1] ||
        (int)halo_type_size(value->accumulator) != size ||
        halo_type_is_complex(value->accumulator)) {
      return 0;
    }
  }
  return size == 4 || size == 8 ? LINE_BYTES / size : 0;
}

/* Instructions up to which a fusion is read in several rows side by side. */
enum { REDUCE_SHORT_INSTRS = 24 };

/* A core that reads several streams at once uses more of the memory's bandwidth. Sums of all rows together
 * stay in registers. */
static void reduce_side_by_side(const reduce_text *t, reduce_cut *cut) {
  int64_t last_chunk = cut->n - (cut->chunks - 1) * cut->chunk;
  int line = reduce_line(t), lines = 128 / (line ? line : 1) / t->v.value_count;
  for (int rows = 4; line && rows > 0; rows /= 4) {
    int lanes = line * (lines / rows > 4 ? 4 : lines / rows > 1 ? lines / rows : 1);
    if (cut->outer % rows || last_chunk < lanes || cut->outer * cut->chunks < 8 * rows) continue;
    if (lanes * rows * t->v.value_count > 256) continue;
    /* Long texts are not bound by memory, and compilers take their time for each copy of one. */
    cut->rows = t->l->computation->instrs.count > REDUCE_SHORT_INSTRS && rows > 2 ? 2 : rows;
    cut->lanes = lanes;
    cut->line = line;
    return;
  }
  for (int rows = 8; rows >= 4; rows /= 2) {
    int lanes = cut->lanes;
    while (lanes > 8 && lanes * rows * t->v.value_count > 256) lanes /= 2;
    if (cut->outer % rows || last_chunk < lanes || cut->outer * cut->chunks < 8 * rows) continue;
    cut->rows = rows;
    cut->lanes = lanes;
    return;
  }
}

/* Short rows whose elements are combined one after the other, as a choice among them is where the order counts, or a
 * maximum of floats, leave nothing for lanes: vectors go over neighbouring rows, as if these were columns. So do the
 * shortest rows, whatever combines them. */
static bool reduce_turns(const reduce_text *t, int64_t outer, int64_t n) {
  enum { LANES = 16, SHORTEST = 16 };
  if (!t->l->caps->is_cpu || outer < LANES) return false;
  if (t->v.ordered) return n < 2 * reduce_lanes(t);
  bool alone = halo_type_is_float(t->v.values[0].accumulator) && !reduce_line(t);
  return alone ? n < reduce_lanes(t) : n <= SHORTEST;
}

static reduce_cut reduce_cut_turned(int64_t rows, int64_t n) {
  enum { LANES = 64 };
  int lanes = rows < LANES ? (int)rows : LANES;
  return (reduce_cut){1, n, rows, n, 1, lanes, 1, true, 1, 0, false, true};
}

/* `first`: the stage that reads the input, which may be cut; the other reads what that left in the
 * caches. */
static reduce_cut reduce_cut_of(const reduce_text *t, int64_t outer, int64_t n, int64_t inner,
                                bool first) {
  const halo_caps *caps = t->l->caps;
  reduce_cut cut = {outer, n, inner, n, 1, 1, 1, inner > 1, 1, 0, false, false};
  reduce_limits limits = reduce_gpu;
  int64_t parallel; /* independent pieces of work there are already */
  if (inner == 1 && first && reduce_turns(t, outer, n)) return reduce_cut_turned(outer, n);
  if (caps->is_cpu) {
    cut.lanes = cut.columns ? reduce_strip(t, inner, !first) : reduce_lanes(t);
    parallel = cut.columns ? outer * reduce_divide_up(inner, cut.lanes) : outer;
    limits = cut.columns ? reduce_cpu_columns : reduce_row_limits(t);
  } else {
    uint64_t most = caps->local_memory / (uint64_t)reduce_bytes(t);
    if (most > caps->max_work_group) most = caps->max_work_group;
    if (most > caps->max_items[0]) most = caps->max_items[0];
    while (!cut.columns && cut.local < 256 && cut.local < n && 2 * (uint64_t)cut.local <= most) {
      cut.local *= 2;
    }
    parallel = cut.columns ? outer * inner / 256 + 1 : outer;
  }
  if (first) reduce_split(t, &cut, &limits, parallel);
  if (caps->is_cpu && !cut.columns && !t->v.ordered) reduce_side_by_side(t, &cut);
  int line = caps->is_cpu && cut.columns && first ? reduce_line(t) : 0;
  if (line && cut.lanes >= line) {
    cut.line = line;
    /* Strips of whole lines. */
    if (cut.lanes < inner) cut.lanes = (cut.lanes + line - 1) / line * line;
  }
  return cut;
}

static halo_status reduce_lower(halo_lowering *l) {
  reduce_text t = {.l = l};
  const char *why;
  halo_reduce_describe(l->computation, &t.v, &why);
  t.name = halo_kernel_name(l, t.v.inner > 1 ? "column" : "row");
  HALO_TRY(halo_accumulator_declare(l, &t.a, t.name, t.v.values, t.v.value_count));
  reduce_cut first = reduce_cut_of(&t, t.v.outer, t.v.n, t.v.inner, true);
  if (first.chunks == 1) return reduce_stage(&t, &first, "", reduce_emit_in, reduce_emit_out);
  int64_t partials = first.chunks * t.v.outer * t.v.inner;
  for (int32_t i = 0; i < t.v.value_count; i++) {
    int64_t size = (int64_t)halo_type_size(t.v.values[i].accumulator);
    halo_vec_push(&l->scratch, (halo_scratch){partials * size});
  }
  HALO_TRY(reduce_stage(&t, &first, "_parts", reduce_emit_in, reduce_emit_partial_out));
  /* The partial results are a [chunks, outer * inner] array. */
  reduce_cut second = reduce_cut_of(&t, 1, first.chunks, t.v.outer * t.v.inner, false);
  return reduce_stage(&t, &second, "", reduce_emit_partial_in, reduce_emit_out);
}

static const halo_implementation reduce_implementations[] = {
    {"row", reduce_row_supports, reduce_cost, reduce_lower},
    {"column", reduce_column_supports, reduce_cost, reduce_lower},
    {"loop", halo_loop_supports, reduce_loop_cost, halo_loop_lower},
    {0}};
const halo_family halo_family_reduce = {"reduce", HALO_OP_REDUCE, reduce_implementations};

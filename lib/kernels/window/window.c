/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/window.c: reductions of windows: scans (scan.c), neighbours side by side, or a work item for each
 * window. */
#include "hlo/window.h"
#include "codegen/ctype.h"
#include "kernels/families.h"
#include "kernels/window/text.h"

extern const char halo_cl_window[], halo_cl_window_lines[];

static double window_results(const halo_lowering *l) {
  return (double)halo_shape_element_count(halo_leaf_shape(halo_lowering_root(l)->shape, 0));
}

/* Additions of all windows together. */
static double window_work(const halo_lowering *l) {
  const halo_instr *root = halo_lowering_root(l);
  const halo_attr *window = halo_instr_attr(root, HALO_ATTR_WINDOW);
  double work = window_results(l);
  for (int32_t d = 0; window && d < window->window.count; d++) {
    work *= (double)window->window.data[d].size;
  }
  const halo_window_desc *desc = l->desc;
  return work * desc->body_cost;
}

/* Seconds: each element of a window costs a few operations, with no help from its neighbours. */
static double window_loop_cost(const halo_lowering *l) {
  return halo_loop_cost(l) +
         halo_lowering_operations(l, halo_lowering_prices(l)->window_loop * window_work(l),
                                  window_results(l));
}

/* ---- Neighbours along the last dimension ---- */

/* Columns of a work item: more where windows do not reach along them, so that all are found together. */
enum { WINDOW_LANES = 16, WINDOW_LANES_ALONE = 64, WINDOW_LEAST = 4, WINDOW_MOST = 1 << 30 };

static bool window_lanes_supports(const halo_lowering *l, const char **why) {
  const halo_instr *root = halo_lowering_root(l);
  const halo_shape *shape = halo_leaf_shape(root->shape, 0);
  const halo_attr *window = halo_instr_attr(root, HALO_ATTR_WINDOW);
  const halo_window_desc *desc = l->desc;
  *why = "the last dimension is short, or dilated";
  if (!window || shape->rank == 0 || shape->dims[shape->rank - 1] < WINDOW_LEAST) return false;
  if (window->window.data[shape->rank - 1].base_dilation != 1) return false;
  *why = "windows are too large";
  int64_t size = 1;
  for (int d = 0; d < shape->rank; d++) {
    if (window->window.data[d].size > WINDOW_MOST / size) return false;
    size *= window->window.data[d].size;
  }
  *why = desc->why_not;
  return !desc->why_not;
}

static double window_lanes_cost(const halo_lowering *l) {
  return halo_loop_cost(l) +
         halo_lowering_operations(l, halo_lowering_prices(l)->window_lanes * window_work(l),
                                  window_results(l));
}

/* Element k of a window as its offset along each dimension. */
static void window_offsets(halo_emitter *e, const halo_attr *window, int rank,
                           const halo_integer **offsets) {
  int64_t size = 1;
  for (int d = 0; d < rank; d++) size *= window->window.data[d].size;
  const halo_integer *k = halo_emit_counter(e, "k", size);
  for (int d = rank - 1; d >= 0; d--) {
    offsets[d] = halo_integer_mod(&e->integers, k, window->window.data[d].size);
    k = halo_integer_div(&e->integers, k, window->window.data[d].size);
  }
}

/* Where a window's element lies along a dimension of the base with its holes. */
static const char *window_at(halo_emitter *e, const halo_window_dim *w, const halo_integer *out,
                             const halo_integer *offset) {
  halo_integers *pool = &e->integers;
  const halo_integer *at = halo_integer_add(pool, halo_integer_mul(pool, out, w->stride),
                                            halo_integer_mul(pool, offset, w->window_dilation));
  return halo_emit_integer(e, halo_integer_plus(pool, at, -w->pad_low));
}

/* "_row(r, k)": all dimensions but the last. */
static void window_emit_row(const halo_window_text *w, halo_helpers *p) {
  const halo_shape *in = w->instr->operands[0]->shape, *out = halo_leaf_shape(w->instr->shape, 0);
  const halo_attr *window = halo_instr_attr(w->instr, HALO_ATTR_WINDOW);
  int last = in->rank - 1;
  int64_t rows = 1;
  for (int d = 0; d < last; d++) rows *= out->dims[d];
  halo_helpers_open(p);
  halo_emitter *e = &p->e;
  const halo_integer *offsets[HALO_MAX_RANK], *at[HALO_MAX_RANK];
  window_offsets(e, window, in->rank, offsets);
  const halo_integer *row = halo_emit_counter(e, "r", rows);
  for (int d = last - 1; d >= 0; d--) {
    at[d] = halo_integer_mod(&e->integers, row, out->dims[d]);
    row = halo_integer_div(&e->integers, row, out->dims[d]);
  }
  halo_emit_line(e, "%s from = 0;", p->itype);
  for (int d = 0; d < last; d++) {
    const halo_window_dim *dim = &window->window.data[d];
    long long holes = (long long)dim->base_dilation, size = (long long)in->dims[d];
    halo_emit_line(e, "const %s t%d = %s;", p->itype, d, window_at(e, dim, at[d], offsets[d]));
    halo_emit_line(e, "if (!h_inside(u%s, t%d, %lld)) return -1;", p->itype, d, size * holes);
    if (holes > 1) halo_emit_line(e, "if (t%d %% %lld != 0) return -1;", d, holes);
    halo_emit_line(e, "from = from * %lld + t%d / %lld;", size, d, holes);
  }
  halo_emit_line(e, "return from * %lld;", (long long)in->dims[last]);
  halo_helpers_close(p, p->itype, "_row", "r, k", NULL);
}

/* "_along(c, k)": the last one. */
static void window_emit_along(const halo_window_text *w, halo_helpers *p) {
  const halo_shape *out = halo_leaf_shape(w->instr->shape, 0);
  const halo_attr *window = halo_instr_attr(w->instr, HALO_ATTR_WINDOW);
  int last = out->rank - 1;
  halo_helpers_open(p);
  const halo_integer *offsets[HALO_MAX_RANK];
  window_offsets(&p->e, window, out->rank, offsets);
  halo_emit_line(&p->e, "return %s;",
                 window_at(&p->e, &window->window.data[last],
                           halo_emit_counter(&p->e, "c", out->dims[last]), offsets[last]));
  halo_helpers_close(p, p->itype, "_along", "c, k", NULL);
}

/* A loop over a dimension of the window, of those of its elements that lie inside. Gives where in the array. */
static const char *window_emit_loop(halo_emitter *e, const halo_window_dim *w, int d, int64_t size,
                                    int64_t results, const halo_integer *out) {
  long long dilation = (long long)w->window_dilation, holes = (long long)w->base_dilation;
  long long last = (long long)((results - 1) * w->stride - w->pad_low), n = (long long)size;
  halo_integers *pool = &e->integers;
  const char *at = halo_arena_printf(e->arena, "t%d", d);
  const halo_integer *start =
      halo_integer_plus(pool, halo_integer_mul(pool, out, w->stride), -w->pad_low);
  if (halo_window_is_trivial(w)) return halo_emit_integer(e, out);
  halo_emit_line(e, "const H_INT s%d = %s;", d, halo_emit_integer(e, start));
  halo_emit_line(e, "H_INT low%d = 0, high%d = %lld;", d, d, (long long)w->size);
  if (holes == 1 && w->pad_low > 0) {
    halo_emit_line(e, "if (s%d < 0) low%d = (%lld - s%d) / %lld;", d, d, dilation - 1, d, dilation);
  }
  if (holes == 1 && last + (w->size - 1) * dilation >= n) {
    halo_emit_line(e, "const H_INT room%d = %lld - s%d;", d, n, d);
    halo_emit_line(e, "const H_INT most%d = room%d > 0 ? (room%d + %lld) / %lld : 0;", d, d, d,
                   dilation - 1, dilation);
    halo_emit_line(e, "if (most%d < high%d) high%d = most%d;", d, d, d, d);
  }
  halo_emit_line(e, "for (H_INT k%d = low%d; k%d < high%d; ++k%d) {", d, d, d, d, d);
  halo_emit_line(e, "H_INT t%d = s%d + k%d * %lld;", d, d, d, dilation);
  if (holes > 1) {
    halo_emit_line(e, "if (!h_inside(u%s, t%d, %lld) || t%d %% %lld != 0) continue;",
                   halo_emitter_index_type(e), d, n * holes, d, holes);
    halo_emit_line(e, "t%d /= %lld;", d, holes);
  }
  return at;
}

/* The holes H_EACH and H_END: loops over all dimensions of the window but the last. */
static void window_each_holes(const halo_window_text *w, halo_helpers *p, halo_template *k) {
  const halo_shape *in = w->instr->operands[0]->shape, *out = halo_leaf_shape(w->instr->shape, 0);
  const halo_attr *window = halo_instr_attr(w->instr, HALO_ATTR_WINDOW);
  int last = in->rank - 1, loops = 0;
  int64_t rows = 1;
  for (int d = 0; d < last; d++) rows *= out->dims[d];
  halo_helpers_open(p);
  halo_emitter *e = &p->e;
  const halo_integer *at[HALO_MAX_RANK], *row = halo_emit_counter(e, "r", rows);
  for (int d = last - 1; d >= 0; d--) {
    at[d] = halo_integer_mod(&e->integers, row, out->dims[d]);
    row = halo_integer_div(&e->integers, row, out->dims[d]);
  }
  const char *from = "0";
  for (int d = 0; d < last; d++) {
    const halo_window_dim *dim = &window->window.data[d];
    loops += !halo_window_is_trivial(dim);
    from = halo_arena_printf(e->arena, "(%s * %lld + %s)", from, (long long)in->dims[d],
                             window_emit_loop(e, dim, d, in->dims[d], out->dims[d], at[d]));
  }
  halo_emit_line(e, "const H_INT from = %s * %lld;", from, (long long)in->dims[last]);
  halo_helpers_hole(p, k, "H_EACH(r)", "%s", halo_strbuf_text(&e->body));
  const char *end = "";
  for (int i = 0; i < loops; i++) end = halo_arena_printf(e->arena, "%s}", end);
  halo_helpers_hole(p, k, "H_END", "%s", end);
}

/* Columns of a work item. */
static int64_t window_lanes(const halo_window_dim *last, int64_t columns) {
  int64_t lanes = halo_window_is_trivial(last) ? WINDOW_LANES_ALONE : WINDOW_LANES;
  while (lanes > columns) lanes /= 2;
  return lanes;
}

/* Elements one by one. */
static void window_plain_template(const halo_window_text *w, halo_helpers *p, halo_template *k,
                                  bool lines) {
  const halo_attr *window = halo_instr_attr(w->instr, HALO_ATTR_WINDOW);
  int64_t size = 1;
  for (int32_t d = 0; d < window->window.count; d++) size *= window->window.data[d].size;
  window_emit_row(w, p);
  window_emit_along(w, p);
  halo_helpers_template(p, k, halo_cl_window, "");
  halo_helpers_call(p, k, "H_ROW", "_row", "r, k");
  halo_helpers_call(p, k, "H_ALONG", "_along", "c, k");
  halo_template_define_int(k, "H_WINDOW", size);
  halo_template_define_int(k, "H_LINE", HALO_WINDOW_LINE);
  halo_window_stream_holes(w, p, k, lines && halo_window_streams(w, HALO_WINDOW_LINE));
}

/* Rows by lines that are vectors. */
static void window_line_template(const halo_window_text *w, halo_helpers *p, halo_template *k,
                                 int width, bool lines) {
  const halo_shape *in = w->instr->operands[0]->shape;
  const halo_attr *window = halo_instr_attr(w->instr, HALO_ATTR_WINDOW);
  const halo_window_dim *last = &window->window.data[in->rank - 1];
  halo_helpers_template(p, k, halo_cl_window_lines, "");
  window_each_holes(w, p, k);
  halo_window_line_holes(w, p, k, width, true, lines && halo_window_streams(w, width));
  halo_template_define_int(k, "H_SIZE", last->size);
  halo_template_define_int(k, "H_DILATION", last->window_dilation);
  halo_template_define_int(k, "H_PAD", last->pad_low);
}

static halo_status window_lanes_lower(halo_lowering *l) {
  halo_window_text w = ((const halo_window_desc *)l->desc)->parts;
  const halo_shape *in = w.instr->operands[0]->shape, *out = halo_leaf_shape(w.instr->shape, 0);
  const halo_attr *window = halo_instr_attr(w.instr, HALO_ATTR_WINDOW);
  int64_t count = halo_shape_element_count(out);
  if (count == 0) return HALO_OK;
  HALO_TRY(halo_window_declare(&w, l, "lanes"));
  const halo_window_dim *last = &window->window.data[out->rank - 1];
  int64_t columns = out->dims[out->rank - 1], lanes = window_lanes(last, columns);
  bool lines = columns % lanes == 0 && lanes % HALO_WINDOW_LINE == 0;
  int width = halo_window_line(&w, l);
  if (width && lanes % width != 0) width = 0;
  halo_helpers p;
  /* 64 bits: neighbours are then seen to be neighbours whatever an index is made of. */
  halo_helpers_begin(&p, l, w.name, width > 0);
  halo_window_emit_in(&w, &p);
  halo_window_emit_start(&w, &p);
  halo_window_emit_out(&w, &p);
  halo_template k;
  if (width) {
    halo_window_emit_line(&w, width);
    window_line_template(&w, &p, &k, width, lines);
  } else {
    window_plain_template(&w, &p, &k, lines);
  }
  halo_window_holes(&w, &p, &k);
  halo_template_define_int(&k, "H_ROWS", count / columns);
  halo_template_define_int(&k, "H_COLUMNS", columns);
  halo_template_define_int(&k, "H_N", in->dims[out->rank - 1]);
  halo_template_define_int(&k, "H_STRIDE", last->stride);
  halo_template_define_int(&k, "H_LANES", lanes);
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, "window:lanes");
  halo_launch_items(l->caps, launch, count / columns * ((columns + lanes - 1) / lanes));
  return halo_helpers_end(&p);
}

static const halo_implementation window_implementations[] = {
    {"scan", halo_scan_supports, halo_scan_cost, halo_scan_lower, .in_groups = true},
    {"lanes", window_lanes_supports, window_lanes_cost, window_lanes_lower,
     .works_on = halo_kernels_on_cpus},
    {"loop", halo_loop_supports, window_loop_cost, halo_loop_lower},
    {0}};

static int window_body_cost(const halo_instr *instr) {
  const halo_computation *body = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  int cost = 0;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    cost += halo_op_info_of(body->instrs.data[i]->opcode)->cost;
  }
  return cost > 0 ? cost : 1;
}

static const void *window_describe(const halo_lowering *l) {
  halo_window_desc *desc = halo_desc_new(l, halo_window_desc);
  halo_window_text *w = &desc->parts;
  const halo_instr *instr = w->instr = halo_lowering_root(l);
  w->count = instr->operand_count / 2;
  desc->body_cost = window_body_cost(instr);
  if (w->count > HALO_REDUCE_VALUES) desc->why_not = "too many arrays together";
  for (int32_t i = 0; i < w->count && !desc->why_not; i++) {
    halo_type type = halo_leaf_shape(instr->shape, i)->type;
    bool narrow = halo_type_is_float(type) && halo_ctype_is_narrow(type);
    w->values[i] = (halo_reduce_value){instr, i, type, narrow ? HALO_F32 : type};
  }
  desc->scan = halo_scan_describe(l, desc, &desc->why_no_scan);
  return desc;
}

const halo_family halo_family_window = {"window", HALO_OP_REDUCE_WINDOW, window_implementations,
                                        window_describe};

/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/triangular_solve.c: triangular systems by substitution, strips of lines side by side. Large ones are
 * written as several by passes/expand/linalg.c, those of few lines on CPUs only when they are very large. */
#include "codegen/ctype.h"
#include "hlo/linalg.h"
#include "kernels/families.h"
#include "kernels/linalg/linalg.h"

extern const char halo_cl_triangular_solve[];

/* How the work is cut: lines a strip and a panel of scratch memory, unknowns at a time. */
typedef struct solve_cut {
  int lanes, vectors, strip, panel, rows;
  int64_t strips, panels;
} solve_cut;

static solve_cut solve_choose(const halo_caps *caps, const halo_solve_desc *v, halo_type type) {
  solve_cut cut = {.lanes = 1, .vectors = 1, .panel = 32, .rows = 4};
  if (caps->is_cpu) {
    /* Two vectors, and as many rows as 32 vector registers, or 16, hold beside them. */
    cut.lanes = halo_type_is_complex(type) ? 1 : halo_linalg_lanes(caps, type, INT64_MAX);
    cut.vectors = v->lines > cut.lanes ? 2 : 1;
    cut.panel = cut.vectors * cut.lanes;
    cut.rows = caps->simd_width >= 16 ? 8 : 6;
    if (v->n < cut.rows) cut.rows = (int)v->n;
  }
  cut.strip = cut.vectors * cut.lanes;
  cut.strips = halo_linalg_pieces(v->lines, cut.strip);
  cut.panels = halo_linalg_pieces(v->lines, cut.panel);
  return cut;
}

static double solve_lines_cost(const halo_lowering *l) {
  const halo_solve_desc *v = l->desc;
  double n = (double)v->n, lines = (double)v->lines * (double)halo_linalg_batch(v->b);
  const halo_prices *p = halo_lowering_prices(l);
  return p->launch + halo_lowering_operations(l, p->solve_product * n * n * lines, lines);
}

/* Whether an equation's factors lie in a column of `a`, far from each other, and an unknown's in a row. */
static bool solve_by_columns(const halo_solve_desc *v) {
  return (v->op == HALO_NO_TRANSPOSE) != v->left;
}

/* Unknown `i` in the order of substitution, as a row or column of the arrays. */
static const halo_integer *solve_place(halo_emitter *e, const halo_solve_desc *v,
                                       const halo_integer *i) {
  return v->ascending
             ? i
             : halo_integer_sub(&e->integers, halo_integer_constant(&e->integers, v->n - 1), i);
}

static void solve_emit_factor(halo_helpers *p, const halo_instr *solve, const halo_solve_desc *v) {
  halo_emitter *e = &p->e;
  emit_frame *frame = halo_helpers_open(p);
  const halo_integer *b = halo_emit_counter(e, "b", halo_linalg_batch(v->b));
  const halo_integer *i = solve_place(e, v, halo_emit_counter(e, "i", v->n));
  const halo_integer *k = solve_place(e, v, halo_emit_counter(e, "k", v->n));
  bool swapped = solve_by_columns(v);
  halo_value value =
      halo_linalg_element(e, frame, solve->operands[0], b, swapped ? k : i, swapped ? i : k);
  halo_emit_line(e, "return %s;", value.text);
  halo_helpers_close(p, halo_ctype_compute(value.type), "_a", "b, i, k", NULL);
}

static void solve_emit_line(halo_helpers *p, const halo_instr *solve, const halo_solve_desc *v,
                            bool store) {
  halo_emitter *e = &p->e;
  emit_frame *frame = halo_helpers_open(p);
  halo_type type = halo_linalg_type(solve->shape->type);
  const halo_integer *b = halo_emit_counter(e, "b", halo_linalg_batch(v->b));
  const halo_integer *i = solve_place(e, v, halo_emit_counter(e, "i", v->n));
  const halo_integer *line = halo_emit_counter(e, "line", v->lines);
  const halo_integer *row = v->left ? i : line, *column = v->left ? line : i;
  if (store) {
    halo_linalg_store(e, solve->shape, type, b, row, column);
    halo_helpers_close(p, "void", "_out", "b, i, line", halo_ctype_compute(type));
  } else {
    halo_value value = halo_linalg_element(e, frame, solve->operands[1], b, row, column);
    halo_emit_line(e, "return %s;", value.text);
    halo_helpers_close(p, halo_ctype_compute(type), "_b", "b, i, line", NULL);
  }
}

static void solve_holes(halo_helpers *p, halo_template *k, const halo_solve_desc *v,
                        const solve_cut *cut, halo_type type) {
  halo_linalg_holes(p, k, type);
  halo_linalg_vector_holes(p, k, type, cut->lanes);
  halo_helpers_call(p, k, "H_B", "_b", "b, i, line");
  halo_helpers_call(p, k, "H_OUT", "_out", "b, i, line, v");
  halo_helpers_hole(p, k, "H_A(b, i, k)",
                    v->op == HALO_ADJOINT ? "H_CONJ(%s_a(%s, b, i, k))" : "%s_a(%s, b, i, k)",
                    p->name, p->texts.arguments);
  halo_template_define_int(k, "H_N", v->n);
  halo_template_define_int(k, "H_LINES", v->lines);
  halo_template_define_int(k, "H_BATCH", halo_linalg_batch(v->b));
  halo_template_define_int(k, "H_NV", cut->vectors);
  halo_template_define_int(k, "H_P", cut->panel);
  halo_template_define_int(k, "H_ROWS", cut->rows);
  halo_template_define_int(k, "H_UNIT", v->unit);
  halo_template_define_int(k, "H_AHEAD", p->l->caps->is_cpu && solve_by_columns(v));
  halo_template_define_int(k, "H_ACROSS", !v->left);
}

static halo_status solve_lines_lower(halo_lowering *l) {
  const halo_instr *solve = halo_lowering_root(l);
  const halo_solve_desc *v = l->desc;
  if (halo_shape_element_count(solve->shape) == 0) return HALO_OK;
  halo_type type = halo_linalg_type(solve->shape->type);
  solve_cut cut = solve_choose(l->caps, v, type);
  int64_t batch = halo_linalg_batch(v->b), unknowns = batch * cut.panels * cut.panel * v->n;
  int32_t scratch = l->scratch.count;
  halo_vec_push(&l->scratch, (halo_scratch){unknowns * (int64_t)halo_type_size(type)});
  halo_helpers p;
  halo_linalg_begin(&p, l, halo_kernel_name(l, "lines"), type, unknowns > 1 << 30);
  solve_emit_factor(&p, solve, v);
  solve_emit_line(&p, solve, v, false);
  solve_emit_line(&p, solve, v, true);
  const char *x = halo_emit_arg(&p.e, HALO_ROLE_SCRATCH, scratch, type, NULL);
  halo_template k;
  halo_helpers_template(
      &p, &k, halo_cl_triangular_solve,
      halo_arena_printf(l->arena, "  __global %s *X = %s;", halo_ctype_compute(type), x));
  solve_holes(&p, &k, v, &cut, type);
  halo_kernel_private(l, (2 * cut.rows + 1) * cut.strip, halo_type_size(type));
  halo_kernel_private(l, cut.rows, p.e.wide ? 8 : 4);
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, "triangular-solve:lines");
  int64_t items = cut.strips * batch;
  halo_launch_items(l->caps, launch, items);
  if (l->caps->is_cpu) {
    /* Long work items: a few a group, but enough groups to share out, and groups of one where they are so few that
     * a region may take them. */
    enum { MOST = 32, GROUPS = 512 };
    size_t local = 1;
    while (local < MOST && items >= (int64_t)(GROUPS * local)) local *= 2;
    halo_launch_line(launch, items, local);
  }
  return halo_helpers_end(&p);
}

static const halo_implementation solve_implementations[] = {
    {"lines", halo_loop_supports, solve_lines_cost, solve_lines_lower}, {0}};

static const void *solve_describe(const halo_lowering *l) {
  halo_solve_desc *v = halo_desc_new(l, halo_solve_desc);
  *v = halo_solve_describe(halo_lowering_root(l));
  return v;
}

const halo_family halo_family_triangular_solve = {"triangular-solve", HALO_OP_TRIANGULAR_SOLVE,
                                                  solve_implementations, solve_describe};

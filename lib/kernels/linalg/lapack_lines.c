/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_lines.c: factorisations by reflectors on CPUs, several of these at a time: a work item a matrix, in its
 * private memory where it is small. */
#include "codegen/ctype.h"
#include "kernels/linalg/lapack_text.h"

extern const char halo_cl_lapack_lines[], halo_cl_lapack_apply[], halo_cl_lapack_inner[];

/* How a matrix is laid out. */
typedef struct lines_cut {
  int lanes, vectors; /* elements a vector, and vectors that are worked on at once */
  int64_t stride, left,
      room; /* elements of a row, those before the matrix, and of a column's copy */
  bool own; /* in private memory */
} lines_cut;

enum { LINES_REFLECTORS = 4 };

static lines_cut lines_choose(const halo_caps *caps, const halo_lapack_desc *v) {
  enum { MOST = 2 };
  lines_cut cut = {.lanes = halo_linalg_lanes(caps, v->type, v->columns)};
  int64_t needed = halo_linalg_pieces(v->columns, cut.lanes);
  cut.vectors = needed < MOST ? (int)needed : MOST;
  int64_t step = (int64_t)cut.vectors * cut.lanes;
  cut.stride = halo_linalg_pieces(v->columns, step) * step;
  cut.left = cut.stride - v->columns;
  int64_t longest = v->rows > LINES_REFLECTORS ? v->rows : LINES_REFLECTORS;
  cut.room = halo_linalg_pieces(longest, cut.lanes) * cut.lanes;
  cut.own = v->rows * v->columns * (int64_t)halo_type_size(v->type) <= HALO_LAPACK_OWN;
  return cut;
}

bool lapack_lines_supports(const halo_lowering *l, const char **why) {
  const halo_lapack_desc *v = l->desc;
  *why = "for reflectors of some thousand elements";
  return halo_lapack_has_short_reflectors(v) && v->columns > 0 && v->rows > 0;
}

double lapack_lines_cost(const halo_lowering *l) {
  const halo_prices *p = halo_lowering_prices(l);
  const halo_lapack_desc *v = l->desc;
  double each = p->lapack_lines * halo_lapack_operations(v) +
                p->lapack_lines_step * (double)v->steps + p->lapack_start;
  return lapack_items_cost(l, each, v->batch);
}

static void lines_holes(halo_helpers *p, halo_template *k, const lines_cut *cut, halo_type type) {
  halo_linalg_vector_holes(p, k, type, cut->lanes);
  halo_helpers_hole(p, k, "H_SPACE", "%s", cut->own ? "__private" : "__global");
  halo_template_define_int(k, "H_B", LINES_REFLECTORS);
  halo_template_define_int(k, "H_NV", cut->vectors);
  halo_template_define_int(k, "H_S", cut->stride);
  halo_template_define_int(k, "H_L", cut->room);
}

/* Puts a function into the text that all kernels which need one of this name share; gives the name. */
static const char *lines_add_function(halo_helpers *p, const char *text, const char *name,
                                      const lines_cut *cut, halo_type type) {
  halo_template k;
  halo_template_init(&k, text);
  halo_helpers_hole(p, &k, "H_NAME", "%s", name);
  lines_holes(p, &k, cut, type);
  lapack_arithmetic(p, &k, type);
  halo_strbuf function = {0};
  halo_template_finish(&k, &function);
  halo_kernel_add_function(p->l->source, name, halo_strbuf_text(&function));
  halo_strbuf_deinit(&function);
  return name;
}

static void lines_add_functions(halo_helpers *p, halo_template *k, const lines_cut *cut,
                                halo_type type) {
  halo_arena *arena = p->l->arena;
  const char *name = halo_type_name(type);
  const char *inner = halo_arena_printf(arena, HALO_SHARED_NAME "inner_%s_%d", name, cut->lanes);
  const char *apply = halo_arena_printf(arena, HALO_SHARED_NAME "apply_%s_%lldx%lld_%dx%d%s", name,
                                        (long long)cut->room, (long long)cut->stride, cut->vectors,
                                        cut->lanes, cut->own ? "" : "_far");
  halo_helpers_hole(p, k, "H_INNER", "%s",
                    lines_add_function(p, halo_cl_lapack_inner, inner, cut, type));
  halo_helpers_hole(p, k, "H_APPLY", "%s",
                    lines_add_function(p, halo_cl_lapack_apply, apply, cut, type));
}

/* Where the copy of a matrix lies. */
static const char *lines_pointers(halo_helpers *p, const lines_cut *cut,
                                  const halo_lapack_desc *v) {
  halo_lowering *l = p->l;
  const char *type = halo_ctype_compute(v->type);
  int64_t size = v->rows * cut->stride;
  if (cut->own) {
    int64_t room = halo_private_room(size, halo_type_size(v->type));
    halo_kernel_private(l, room, halo_type_size(v->type));
    return halo_arena_printf(l->arena, "  %s w[%lld];", type, (long long)room);
  }
  int32_t scratch = l->scratch.count;
  halo_vec_push(&l->scratch, (halo_scratch){size * v->batch * (int64_t)halo_type_size(v->type)});
  const char *all = halo_emit_arg(&p->e, HALO_ROLE_SCRATCH, scratch, v->type, NULL);
  return halo_arena_printf(l->arena, "  __global %s *const w = %s + batch * (%s)%lld;", type, all,
                           p->itype, (long long)size);
}

halo_status lapack_lines_lower(halo_lowering *l) {
  const halo_lapack_desc *v = l->desc;
  if (v->batch == 0) return HALO_OK;
  lines_cut cut = lines_choose(l->caps, v);
  halo_helpers p;
  halo_linalg_begin(&p, l, halo_kernel_name(l, "lines"), v->type,
                    v->batch * v->rows * cut.stride > 1 << 30);
  lapack_emit_helpers(&p, v);
  const char *pointers = lines_pointers(&p, &cut, v);
  halo_template k;
  halo_helpers_template(&p, &k, halo_cl_lapack_lines, pointers);
  lapack_holes(&p, &k, v);
  lines_holes(&p, &k, &cut, v->type);
  lines_add_functions(&p, &k, &cut, v->type);
  halo_helpers_hole(&p, &k, "H_REFLECT", "%s_reflect", p.name);
  halo_helpers_hole(&p, &k, "H_TAKE", "%s_take", p.name);
  halo_template_define_int(&k, "H_Q", v->routine == HALO_LAPACK_ORGQR);
  halo_template_define_int(&k, "H_LEFT", cut.left);
  halo_kernel_private(l, LINES_REFLECTORS * (2 * cut.room + LINES_REFLECTORS + 1),
                      halo_type_size(v->type));
  halo_helpers_finish(&p, &k);
  lapack_launch_items(l->caps, halo_helpers_launch(&p, "lapack:lines"), v->batch);
  return halo_helpers_end(&p);
}

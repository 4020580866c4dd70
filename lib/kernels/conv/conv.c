/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/conv.c: convolutions: as products of matrices, from packed panels on CPUs, in local-memory
 * tiles on GPUs; and element by element. */
#include "kernels/conv/conv.h"

#include "codegen/ctype.h"
#include "kernels/dot/panels.h"
#include "kernels/families.h"

extern const char halo_cl_gemm_tile[];

/* ---- Tiles ---- */

/* "inline T name_a(..., b, x, k)": an element of lhs for a row and a k. */
static void conv_tile_lhs(halo_helpers *p, const halo_conv_desc *v) {
  halo_emitter *e = &p->e;
  emit_frame *frame = halo_helpers_open(p);
  halo_conv_axes rows = halo_conv_rows(v), window = halo_conv_window(v);
  const halo_integer *y[HALO_MAX_RANK], *k[HALO_MAX_RANK], *n, *f;
  halo_conv_place(e, &rows, halo_emit_counter(e, "x", v->m), y, &n);
  halo_conv_place(e, &window, halo_emit_counter(e, "k", v->k), k, &f);
  for (int s = 0; s < v->dims->spatial; s++) {
    y[s] = halo_conv_meets(e, v, s, y[s], k[s]);
  }
  const halo_integer *group = halo_conv_group(e, v, halo_emit_counter(e, "b", v->products));
  halo_value value = halo_conv_lhs(e, frame, v, group, n, f, y);
  halo_emit_line(e, "return %s;", value.text);
  halo_helpers_close(p, halo_ctype_compute(v->accumulator), "_a", "b, x, k", NULL);
}

/* Likewise of rhs for a column. */
static void conv_tile_rhs(halo_helpers *p, const halo_conv_desc *v) {
  halo_emitter *e = &p->e;
  emit_frame *frame = halo_helpers_open(p);
  halo_conv_axes window = halo_conv_window(v);
  const halo_integer *k[HALO_MAX_RANK], *f;
  halo_conv_place(e, &window, halo_emit_counter(e, "k", v->k), k, &f);
  halo_value value = halo_conv_rhs(e, frame, v, halo_emit_counter(e, "b", v->products),
                                   halo_emit_counter(e, "x", v->n), f, k);
  halo_emit_line(e, "return %s;", value.text);
  halo_helpers_close(p, halo_ctype_compute(v->accumulator), "_b", "b, x, k", NULL);
}

static bool conv_tile_supports(const halo_lowering *l, const char **why) {
  const halo_conv_desc *v = &((const halo_conv_descs *)l->desc)->phases;
  if (l->caps->local_memory < HALO_TILE_LOCAL * halo_type_size(v->accumulator)) {
    *why = "the device has too little local memory";
    return false;
  }
  return halo_conv_is_plain(v, why);
}

/* Parts of the terms, of `share` each; not of products in phases, whose places may be outside of the result. */
static int64_t conv_tile_parts(const halo_lowering *l, const halo_conv_desc *v, int64_t *chunk) {
  int64_t tiles = v->products * ((v->m + 63) / 64) * ((v->n + 63) / 64), parts = 1;
  if (v->products == v->groups) parts = halo_panels_tile_parts(l, tiles, v->k, chunk);
  if (parts == 1) *chunk = v->k;
  return parts;
}

static double conv_tile_cost(const halo_lowering *l) {
  const halo_conv_desc v = ((const halo_conv_descs *)l->desc)->phases;
  double rows = (double)halo_panels_round_up(v.m, 64),
         columns = (double)halo_panels_round_up(v.n, 64);
  double work = (double)v.products * rows * columns * (double)v.k;
  int64_t chunk, parts = conv_tile_parts(l, &v, &chunk);
  double results = (double)v.products * rows * columns, items = results / 16 * (double)parts;
  const halo_prices *p = halo_lowering_prices(l);
  double cost = p->launch + halo_lowering_operations(l, p->product_tile * work, items);
  return parts == 1 ? cost : cost + halo_panels_finish_seconds(l, v.accumulator, parts, results);
}

/* Places of the windows of all results that are holes for each that is none. */
static double conv_holes(const halo_conv_desc *v) {
  double holes = 1;
  for (int s = 0; s < v->dims->spatial; s++) {
    /* A step of a stride that has something in common with the holes' meets them more or less often. */
    int64_t d = v->window[s].base_dilation;
    holes *= (double)(d < v->window[s].size ? d : v->window[s].size);
  }
  return holes;
}

static double conv_loop_cost(const halo_lowering *l) {
  const halo_conv_desc v = ((const halo_conv_descs *)l->desc)->whole;
  const halo_prices *p = halo_lowering_prices(l);
  double results = (double)v.groups * (double)v.m * (double)v.n;
  if (halo_loop_is_stencil(l)) {
    return p->launch +
           halo_lowering_operations(l, results * (1 + (double)v.k * p->conv_stencil), results);
  }
  double holes = conv_holes(&v), places = (double)v.k / (double)v.inputs;
  double asking = holes > 1 ? results * places * p->conv_ask : 0;
  double work = halo_conv_work(&v) / holes * p->product_loop;
  return p->launch + halo_lowering_operations(l, asking + work, results);
}

/* Whether a dimension is the one whose neighbours are neighbours in memory. */
static bool conv_is_minor(const halo_shape *shape, int dim) {
  return shape->minor_to_major[0] == dim;
}

static halo_status conv_tile_lower(halo_lowering *l) {
  const halo_conv_desc v = ((const halo_conv_descs *)l->desc)->phases;
  const char *name = halo_kernel_name(l, "tile");
  halo_helpers p;
  halo_conv_begin(&p, l, &v, name);
  conv_tile_lhs(&p, &v);
  conv_tile_rhs(&p, &v);
  int64_t chunk, parts = conv_tile_parts(l, &v, &chunk);
  int64_t elements = halo_shape_element_count(v.conv->shape);
  int32_t scratch = l->scratch.count;
  const char *partial = NULL;
  if (parts > 1) {
    halo_conv_emit_at(&p, &v);
    partial = halo_panels_tile_scratch(&p, v.accumulator, parts * elements);
  } else {
    halo_conv_store(&p, &v);
  }
  /* What lies side by side in the result is computed side by side: output features, or places. */
  bool transposed = !conv_is_minor(v.conv->shape, v.dims->out_feature);
  int64_t rows = transposed ? v.n : v.m, columns = transposed ? v.m : v.n;
  halo_template k;
  halo_helpers_template(&p, &k, halo_cl_gemm_tile, "");
  halo_helpers_hole(&p, &k, "H_T", "%s", halo_ctype_compute(v.accumulator));
  halo_helpers_hole(&p, &k, "H_A(b, row, k)", "%s_%c(%s, b, row, k)", name, transposed ? 'b' : 'a',
                    p.texts.arguments);
  halo_helpers_hole(&p, &k, "H_B(b, k, column)", "%s_%c(%s, b, column, k)", name,
                    transposed ? 'a' : 'b', p.texts.arguments);
  halo_helpers_hole(&p, &k, "H_FMA(a, b, c)", "((a) * (b) + (c))");
  halo_panels_tile_holes(&k, parts, chunk);
  if (parts > 1) {
    halo_panels_tile_store(&p, &k, partial, elements, transposed);
  } else {
    halo_helpers_hole(&p, &k, "H_OUT(b, row, column, v)", "%s_out(%s, b, %s, v)", name,
                      p.texts.arguments, transposed ? "column, row" : "row, column");
  }
  halo_template_define_int(&k, "H_M", rows);
  halo_template_define_int(&k, "H_N", columns);
  halo_template_define_int(&k, "H_K", v.k);
  halo_template_define_int(&k, "H_BATCH", v.products);
  bool lhs_k = conv_is_minor(v.lhs->shape, v.dims->lhs_feature) && v.inputs > 1;
  bool rhs_k = !conv_is_minor(v.rhs->shape, v.dims->rhs_output);
  halo_template_define_int(&k, "H_AKFAST", transposed ? rhs_k : lhs_k);
  halo_template_define_int(&k, "H_BKFAST", transposed ? lhs_k : rhs_k);
  halo_panels_tile_facts(l, v.accumulator);
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, "conv:tile");
  launch->grid.dims = 3;
  launch->grid.global[0] = (size_t)((columns + 63) / 64 * 16);
  launch->grid.global[1] = (size_t)((rows + 63) / 64 * 16);
  launch->grid.global[2] = (size_t)(v.products * parts);
  HALO_TRY(halo_helpers_end(&p));
  if (parts == 1) return HALO_OK;
  return halo_panels_finish(l, v.conv, v.accumulator, scratch, parts, "conv:finish");
}

static const halo_implementation conv_implementations[] = {
    {"panels", halo_conv_panels_supports, halo_conv_panels_cost, halo_conv_panels_lower,
     .works_on = halo_kernels_on_cpus},
    {"depthwise", halo_conv_depthwise_supports, halo_conv_depthwise_cost, halo_conv_depthwise_lower,
     .works_on = halo_kernels_on_cpus},
    {"tile", conv_tile_supports, conv_tile_cost, conv_tile_lower, .works_on = halo_kernels_on_tiles,
     .in_groups = true},
    {"loop", halo_loop_supports, conv_loop_cost, halo_loop_lower},
    {0}};

static const void *conv_describe(const halo_lowering *l) {
  halo_conv_descs *descs = halo_desc_new(l, halo_conv_descs);
  halo_conv_describe(l->hero, &descs->whole);
  descs->phases = descs->whole;
  halo_conv_fill_holes(&descs->phases);
  if (l->caps->is_cpu)
    descs->lines = halo_conv_lines_describe(l, &descs->whole, &descs->why_no_lines);
  return descs;
}

const halo_family halo_family_conv = {"conv", HALO_OP_CONVOLUTION, conv_implementations,
                                      conv_describe};

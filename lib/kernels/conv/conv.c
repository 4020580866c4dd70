/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/conv.c: convolutions: as products of matrices, from packed panels on CPUs, in local-memory
 * tiles on GPUs; and element by element. */
#include "kernels/conv/conv.h"

#include "codegen/ctype.h"
#include "kernels/dot/panels.h"
#include "kernels/dot/tile.h"
#include "kernels/families.h"

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
  return halo_conv_is_plain(v, why) && halo_tile_fits(l, v->accumulator, why);
}

/* Whether a dimension is the one whose neighbours are neighbours in memory. */
static bool conv_is_minor(const halo_shape *shape, int dim) {
  return shape->minor_to_major[0] == dim;
}

/* Results that are neighbours in memory are computed side by side: output features, or places. */
static bool conv_tile_turned(const halo_conv_desc *v) {
  return !conv_is_minor(v->conv->shape, v->dims->out_feature);
}

/* The terms of products in phases are not divided: their places may be outside of the result. */
static halo_tile_product conv_tile_product(const halo_conv_desc *v) {
  bool turned = conv_tile_turned(v);
  return (halo_tile_product){.type = v->accumulator,
                             .count = v->products,
                             .rows = turned ? v->n : v->m,
                             .columns = turned ? v->m : v->n,
                             .terms = v->k,
                             .whole = v->products != v->groups};
}

static double conv_tile_cost(const halo_lowering *l) {
  halo_tile_product p = conv_tile_product(&((const halo_conv_descs *)l->desc)->phases);
  return halo_lowering_prices(l)->launch + halo_tile_price(l, &p);
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

static halo_status conv_tile_lower(halo_lowering *l) {
  const halo_conv_desc v = ((const halo_conv_descs *)l->desc)->phases;
  halo_tile_product p = conv_tile_product(&v);
  halo_tile tile = halo_tile_choose(l, &p);
  halo_helpers helpers;
  halo_conv_begin(&helpers, l, &v, halo_kernel_name(l, "tile"));
  conv_tile_lhs(&helpers, &v);
  conv_tile_rhs(&helpers, &v);
  int64_t elements = halo_shape_element_count(v.conv->shape);
  int32_t scratch = l->scratch.count;
  const char *partial = NULL;
  if (tile.parts > 1) {
    halo_conv_emit_at(&helpers, &v);
    partial = halo_panels_parts_scratch(&helpers, v.accumulator, tile.parts * elements);
  } else {
    halo_conv_store(&helpers, &v);
  }
  halo_tile_side image = {
      .suffix = "_a", .k_fast = conv_is_minor(v.lhs->shape, v.dims->lhs_feature) && v.inputs > 1};
  halo_tile_side window = {.suffix = "_b",
                           .k_fast = !conv_is_minor(v.rhs->shape, v.dims->rhs_output)};
  bool turned = conv_tile_turned(&v);
  halo_template k;
  halo_tile_template(&helpers, &k, &tile, &p, turned ? window : image, turned ? image : window);
  if (tile.parts > 1) {
    halo_tile_partial_results(&helpers, &k, &p, turned, partial, elements, false);
  } else {
    halo_tile_results(&helpers, &k, &p, turned, "_out", NULL);
  }
  halo_tile_launch(&helpers, &k, &tile, &p, "conv:tile");
  HALO_TRY(halo_helpers_end(&helpers));
  if (tile.parts == 1) return HALO_OK;
  return halo_panels_finish(l, v.conv, v.accumulator, scratch, tile.parts, "conv:finish");
}

static const halo_implementation conv_implementations[] = {
    {"panels", halo_conv_panels_supports, halo_conv_panels_cost, halo_conv_panels_lower,
     .works_on = halo_kernels_on_cpus},
    {"depthwise", halo_conv_depthwise_supports, halo_conv_depthwise_cost, halo_conv_depthwise_lower,
     .works_on = halo_kernels_on_cpus},
    {"tile", conv_tile_supports, conv_tile_cost, conv_tile_lower, .works_on = halo_tile_works_on,
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

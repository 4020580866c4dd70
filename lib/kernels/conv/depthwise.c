/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/depthwise.c: convolutions in which each feature is a group of its own and lies beside the
 * next in memory, on CPUs: bound by memory, so image and kernel are read in place. */
#include "codegen/ctype.h"
#include "kernels/conv/conv.h"
#include "kernels/dot/panels.h"
#include "kernels/families.h"

extern const char halo_cl_conv_depthwise[];

/* Results along a line that a work item keeps in registers: of 32, or of 16. */
enum { DEPTHWISE_WIDE = 8, DEPTHWISE_NARROW = 4 };
/* Work items of a group: neighbours, for the sake of what they both read. */
enum { DEPTHWISE_GROUP = 8 };

struct halo_conv_lines {
  halo_conv_desc v;
  halo_panels b;
  halo_conv_axes lines, window; /* without the dimension that lines run along */
  int along;                    /* that dimension, a spatial one */
  int64_t block;
};

/* Where operands and result have such features, and lines of them. */
static bool depthwise_fits(const halo_lowering *l, halo_conv_lines *d, const char **why) {
  const halo_conv_desc *v = &d->v;
  if (!halo_conv_is_plain(v, why)) return false;
  d->b = halo_panels_choose(l, v->accumulator, INT64_MAX);
  d->block = d->b.nv > 2 ? DEPTHWISE_WIDE : DEPTHWISE_NARROW;
  *why = "not every feature is a group of its own";
  if (v->by_batch || v->inputs != 1 || v->outputs != 1) return false;
  *why = "there are fewer features than a vector has";
  if (v->groups < d->b.w) return false;
  *why = "an operand is not in memory as what sums are made of";
  if (v->lhs->opcode != HALO_OP_PARAMETER || v->lhs->shape->type != v->accumulator ||
      v->rhs->opcode != HALO_OP_PARAMETER || v->rhs->shape->type != v->accumulator) {
    return false;
  }
  *why = "features are not neighbours in memory";
  int64_t strides[HALO_MAX_RANK];
  halo_shape_strides(v->rhs->shape, strides);
  if (v->lhs->shape->minor_to_major[0] != v->dims->lhs_feature ||
      v->conv->shape->minor_to_major[0] != v->dims->out_feature ||
      strides[v->dims->rhs_output] != 1) {
    return false;
  }
  *why = "the result has no lines, or the image has holes along them";
  halo_conv_axes rows = halo_conv_rows(v);
  if (rows.count == 0 || rows.axis[rows.count - 1].part < 0) return false;
  d->along = rows.axis[rows.count - 1].part;
  if (v->window[d->along].base_dilation != 1) return false;
  d->lines = rows;
  d->lines.count--;
  d->window = (halo_conv_axes){0};
  for (int s = 0; s < v->dims->spatial; s++) {
    if (s == d->along || v->window[s].size == 1) continue;
    d->window.axis[d->window.count++] = (halo_conv_axis){.size = v->window[s].size, .part = s};
  }
  return true;
}

const halo_conv_lines *halo_conv_lines_describe(const halo_lowering *l, const halo_conv_desc *v,
                                                const char **why) {
  halo_conv_lines *d = halo_desc_new(l, halo_conv_lines);
  d->v = *v;
  return depthwise_fits(l, d, why) ? d : NULL;
}

bool halo_conv_depthwise_supports(const halo_lowering *l, const char **why) {
  const halo_conv_descs *descs = l->desc;
  *why = descs->why_no_lines;
  return descs->lines != NULL;
}

double halo_conv_depthwise_cost(const halo_lowering *l) {
  const halo_conv_lines *d = ((const halo_conv_descs *)l->desc)->lines;
  double size = (double)halo_type_size(d->v.accumulator);
  double results = (double)halo_shape_element_count(d->v.conv->shape);
  double elements = (double)halo_shape_element_count(d->v.lhs->shape) + results;
  double work = results * (double)d->v.k / d->b.w;
  return halo_lowering_seconds(l, size * elements, results) +
         halo_lowering_operations(l, halo_lowering_prices(l)->conv_depthwise * work, results);
}

static int64_t depthwise_product(const halo_conv_axes *axes) {
  int64_t product = 1;
  for (int i = 0; i < axes->count; i++) product *= axes->axis[i].size;
  return product;
}

/* "inline int name_line(..., x, k)": where in the image the line lies that line k of the window meets for line
 * x of the result; -1 when that is padding or a hole. */
static void depthwise_emit_line(halo_helpers *p, const halo_conv_lines *d) {
  const halo_conv_desc *v = &d->v;
  halo_emitter *e = &p->e;
  halo_helpers_open(p);
  const halo_integer *y[HALO_MAX_RANK], *k[HALO_MAX_RANK], *n, *none;
  halo_conv_place(e, &d->lines, halo_emit_counter(e, "x", depthwise_product(&d->lines)), y, &n);
  halo_conv_place(e, &d->window, halo_emit_counter(e, "k", depthwise_product(&d->window)), k,
                  &none);
  int64_t strides[HALO_MAX_RANK];
  halo_shape_strides(v->lhs->shape, strides);
  const halo_integer *sum = halo_integer_mul(&e->integers, n, strides[v->dims->lhs_batch]);
  for (int s = 0; s < v->dims->spatial; s++) {
    if (s == d->along) continue;
    const halo_integer *t = halo_conv_meets(e, v, s, y[s], k[s]);
    const halo_integer *place = halo_conv_place_in_image(e, v, s, t, "-1");
    place = halo_integer_mul(&e->integers, place, strides[v->dims->lhs_spatial[s]]);
    sum = halo_integer_add(&e->integers, sum, place);
  }
  halo_emit_line(e, "return %s;", halo_emit_integer(e, sum));
  halo_helpers_close(p, p->itype, "_line", "x, k", NULL);
}

/* "inline int name_tap(..., k, x)": where an element of line k of the window lies in the kernel. */
static void depthwise_emit_tap(halo_helpers *p, const halo_conv_lines *d) {
  const halo_conv_desc *v = &d->v;
  halo_emitter *e = &p->e;
  halo_helpers_open(p);
  const halo_integer *k[HALO_MAX_RANK], *none;
  halo_conv_place(e, &d->window, halo_emit_counter(e, "k", depthwise_product(&d->window)), k,
                  &none);
  k[d->along] = halo_emit_counter(e, "x", v->window[d->along].size);
  int64_t strides[HALO_MAX_RANK];
  halo_shape_strides(v->rhs->shape, strides);
  const halo_integer *sum = halo_integer_constant(&e->integers, 0);
  for (int s = 0; s < v->dims->spatial; s++) {
    const halo_integer *place = halo_conv_place_in_kernel(e, v, s, k[s], NULL, "0");
    place = halo_integer_mul(&e->integers, place, strides[v->dims->rhs_spatial[s]]);
    sum = halo_integer_add(&e->integers, sum, place);
  }
  halo_emit_line(e, "return %s;", halo_emit_integer(e, sum));
  halo_helpers_close(p, p->itype, "_tap", "k, x", NULL);
}

static void depthwise_size_holes(halo_template *k, const halo_conv_lines *d) {
  const halo_conv_desc *v = &d->v;
  const halo_window_dim *w = &v->window[d->along];
  int64_t strides[HALO_MAX_RANK];
  int image = v->dims->lhs_spatial[d->along];
  halo_shape_strides(v->lhs->shape, strides);
  halo_template_define_int(k, "H_LINES", depthwise_product(&d->lines));
  halo_template_define_int(k, "H_X", v->conv->shape->dims[v->dims->out_spatial[d->along]]);
  halo_template_define_int(k, "H_XB", d->block);
  halo_template_define_int(k, "H_C", v->groups);
  halo_template_define_int(k, "H_KLINES", depthwise_product(&d->window));
  halo_template_define_int(k, "H_KX", w->size);
  halo_template_define_int(k, "H_SIZE", v->lhs->shape->dims[image]);
  halo_template_define_int(k, "H_STEP", strides[image]);
  halo_template_define_int(k, "H_STRIDE", w->stride);
  halo_template_define_int(k, "H_PAD", w->pad_low);
  halo_template_define_int(k, "H_DILATION", w->window_dilation);
}

/* How a vector of features is stored: past the caches where the result is large and vectors are
 * aligned, and one by one where something is fused behind. A result is found by group, row and column. */
static void depthwise_store_hole(halo_helpers *p, halo_template *k, const halo_conv_lines *d,
                                 const char *out) {
  const halo_conv_desc *v = &d->v;
  halo_arena *arena = p->l->arena;
  int w = d->b.w;
  const char *type = halo_ctype_compute(v->accumulator), *args = p->texts.arguments;
  const char *row =
      halo_arena_printf(arena, "(line) * (%s)%lld + (x)", p->itype,
                        (long long)v->conv->shape->dims[v->dims->out_spatial[d->along]]);
  if (v->conv != halo_lowering_root(p->l) || v->result != v->accumulator) {
    halo_helpers_hole(p, k, "H_OUTV(c, line, x, v)",
                      "do { %s lanes[%d]; vstore%d(v, 0, lanes); for (int q = 0; q < %d; ++q) "
                      "%s_out(%s, (c) + q, %s, 0, lanes[q]); } while (0)",
                      type, w, w, w, p->name, args, row);
    return;
  }
  const char *at = halo_arena_printf(arena, "%s + %s_at(%s, c, %s, 0)", out, p->name, args, row);
  if (halo_shape_byte_size(v->conv->shape) >= HALO_STREAM_BYTES && v->groups % w == 0) {
    halo_sections_add(&p->e.sections, "stream");
    halo_helpers_hole(p, k, "H_OUTV(c, line, x, v)", "h_stream(v, (__global %s%d *)(%s))", type, w,
                      at);
  } else {
    halo_helpers_hole(p, k, "H_OUTV(c, line, x, v)", "vstore%d(v, 0, %s)", w, at);
  }
}

halo_status halo_conv_depthwise_lower(halo_lowering *l) {
  const halo_conv_lines *d = ((const halo_conv_descs *)l->desc)->lines;
  const halo_conv_desc *v = &d->v;
  const char *name = halo_kernel_name(l, "depthwise");
  halo_helpers p;
  halo_conv_begin(&p, l, v, name);
  depthwise_emit_line(&p, d);
  depthwise_emit_tap(&p, d);
  halo_conv_emit_at(&p, v);
  halo_conv_store(&p, v);
  const halo_instr *root = halo_lowering_root(l);
  const char *out = halo_emit_arg(&p.e, HALO_ROLE_OUTPUT, 0, root->shape->type, NULL);
  const char *px = halo_conv_operand(&p, v, v->lhs, -1), *pk = halo_conv_operand(&p, v, v->rhs, -1);
  const char *type = halo_ctype_compute(v->accumulator);
  halo_template k;
  halo_helpers_template(
      &p, &k, halo_cl_conv_depthwise,
      halo_arena_printf(l->arena, "  __global const %s *PX = %s, *PK = %s;", type, px, pk));
  halo_panels_vector_holes(&p, &k, &d->b, v->accumulator);
  bool fetches = halo_shape_byte_size(v->lhs->shape) >= HALO_STREAM_BYTES;
  if (fetches) halo_sections_add(&p.e.sections, "fetch");
  halo_helpers_hole(&p, &k, "H_FETCH(p)", fetches ? "h_fetch(p)" : "((void)0)");
  halo_helpers_call(&p, &k, "H_LINE", "_line", "x, k");
  halo_helpers_call(&p, &k, "H_TAP", "_tap", "k, x");
  depthwise_size_holes(&k, d);
  depthwise_store_hole(&p, &k, d, out);
  halo_kernel_private(l, d->block * d->b.w, halo_type_size(v->accumulator));
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, "conv:depthwise");
  int64_t size = v->conv->shape->dims[v->dims->out_spatial[d->along]];
  launch->grid.local[0] = DEPTHWISE_GROUP;
  launch->grid.global[0] = (size_t)halo_panels_round_up(
      depthwise_product(&d->lines) * ((size + d->block - 1) / d->block), DEPTHWISE_GROUP);
  return halo_helpers_end(&p);
}

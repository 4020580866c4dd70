/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/panels.c: convolutions on CPUs as products of matrices whose rows are read where they lie: all
 * that a row of the product is of lhs lies at the same distances from where the row begins. Padding and other
 * element types are put into a copy of lhs first; holes are done without, in phases. */
#include "kernels/dot/panels.h"
#include "codegen/ctype.h"
#include "kernels/conv/conv.h"

extern const char halo_cl_conv_image[];

/* Where the kernel finds lhs: in place, or a copy of all that windows meet. */
typedef struct conv_image {
  bool in_place;
  int64_t low[HALO_MAX_RANK]; /* where the copy begins, by spatial dimension */
  int64_t dims[HALO_MAX_RANK], strides[HALO_MAX_RANK]; /* by lhs's dimensions */
  int64_t elements;
  const int32_t *order; /* minor to major */
  int rank;
} conv_image;

static const halo_conv_desc *conv_panels_desc(const halo_lowering *l) {
  return &((const halo_conv_descs *)l->desc)->phases;
}

static conv_image conv_image_of(const halo_conv_desc *v) {
  const halo_shape *shape = v->lhs->shape;
  conv_image image = {.elements = 1, .order = shape->minor_to_major, .rank = shape->rank};
  int64_t high[HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) image.dims[d] = shape->dims[d];
  image.in_place = v->lhs->opcode == HALO_OP_PARAMETER && shape->type == v->accumulator;
  for (int s = 0; s < v->dims->spatial; s++) {
    int64_t size = shape->dims[v->dims->lhs_spatial[s]];
    const halo_window_dim *w = &v->window[s];
    image.low[s] = -w->pad_low;
    high[s] = (v->results[s] - 1) * w->stride - w->pad_low + (v->taps[s] - 1) * w->window_dilation;
    bool holes = w->base_dilation > 1 && size > 1;
    if (image.low[s] < 0 || high[s] >= size || holes) image.in_place = false;
  }
  for (int s = 0; s < v->dims->spatial; s++) {
    if (image.in_place) {
      image.low[s] = 0;
    } else {
      image.dims[v->dims->lhs_spatial[s]] = high[s] - image.low[s] + 1;
    }
  }
  for (int i = 0; i < shape->rank; i++) {
    image.strides[image.order[i]] = image.elements;
    image.elements *= image.dims[image.order[i]];
  }
  return image;
}

/* How the product is computed. */
typedef struct conv_product {
  halo_conv_desc v;
  conv_image image;
  halo_panels b;
  bool rhs_in_place;
  halo_conv_axes rows, window; /* with distances; the window's by falling distance in the image */
  int64_t base_a, group_a;     /* of the first window in the image, and from group to group */
  halo_conv_axes loops; /* the window's axes, neighbours joined where they are one in memory */
  int outer;            /* so many loops are one, which is cut */
  int64_t cuts, chunk;  /* parts, and steps of that loop in each */
} conv_product;

/* rhs may be read in place: whole panels of neighbouring columns, which are not so far from each other that
 * they fall on few places of the caches. */
static bool conv_rhs_in_place(const halo_conv_desc *v, const halo_panels *b) {
  const halo_shape *shape = v->rhs->shape;
  int64_t strides[HALO_MAX_RANK];
  if (v->rhs->opcode != HALO_OP_PARAMETER || shape->type != v->accumulator) return false;
  halo_shape_strides(shape, strides);
  if (strides[v->dims->rhs_output] != 1 || v->n % b->nr != 0) return false;
  for (int s = 0; s < v->dims->spatial; s++) {
    if (v->phases[s] != 1 || (v->window[s].reversal && v->window[s].size > 1)) return false;
  }
  return v->n * v->groups <= 2 * b->nr;
}

static void conv_sort(halo_conv_axes *axes) {
  for (int i = 1; i < axes->count; i++) {
    halo_conv_axis axis = axes->axis[i];
    int at = i;
    for (; at > 0 && axes->axis[at - 1].a < axis.a; at--) axes->axis[at] = axes->axis[at - 1];
    axes->axis[at] = axis;
  }
}

static void conv_set_distances(conv_product *p) {
  const halo_conv_desc *v = &p->v;
  int64_t strides[HALO_MAX_RANK];
  halo_shape_strides(v->rhs->shape, strides);
  const int64_t *image = p->image.strides;
  for (int i = 0; i < p->rows.count; i++) {
    halo_conv_axis *x = &p->rows.axis[i];
    x->a = x->part == HALO_CONV_BATCH
               ? image[v->dims->lhs_batch]
               : image[v->dims->lhs_spatial[x->part]] * v->window[x->part].stride;
  }
  for (int i = 0; i < p->window.count; i++) {
    halo_conv_axis *x = &p->window.axis[i];
    bool feature = x->part == HALO_CONV_FEATURE;
    x->a = feature ? image[v->dims->lhs_feature]
                   : image[v->dims->lhs_spatial[x->part]] * v->window[x->part].window_dilation;
    x->b = strides[feature ? v->dims->rhs_input : v->dims->rhs_spatial[x->part]];
  }
  conv_sort(&p->window);
  int64_t packed = p->b.nr;
  for (int i = p->window.count - 1; i >= 0 && !p->rhs_in_place; i--) {
    p->window.axis[i].b = packed;
    packed *= p->window.axis[i].size;
  }
  p->base_a = 0;
  for (int s = 0; s < v->dims->spatial; s++) {
    p->base_a -= (v->window[s].pad_low + p->image.low[s]) * image[v->dims->lhs_spatial[s]];
  }
  p->group_a =
      v->by_batch ? v->batch * image[v->dims->lhs_batch] : v->inputs * image[v->dims->lhs_feature];
}

static void conv_join_loops(conv_product *p) {
  p->loops.count = 0;
  for (int i = 0; i < p->window.count; i++) {
    const halo_conv_axis *x = &p->window.axis[i];
    halo_conv_axis *last = p->loops.count ? &p->loops.axis[p->loops.count - 1] : NULL;
    bool some = x->part >= 0 && halo_conv_has_short_phases(&p->v, x->part);
    if (last && !some && last->a == x->a * x->size && last->b == x->b * x->size) {
      last->size *= x->size;
      last->a = x->a;
      last->b = x->b;
    } else {
      p->loops.axis[p->loops.count++] = *x;
    }
  }
}

/* A panel of rhs of more bytes is cut into pieces, which stay in a core's cache
 * while all rows meet them. */
enum { CONV_LONG_PANEL = 2 << 20 };

static void conv_choose_cuts(const halo_lowering *l, conv_product *p) {
  int64_t bytes = p->v.k * p->b.nr * (int64_t)halo_type_size(p->v.accumulator), steps = 1;
  p->cuts = p->chunk = 1;
  /* Parts are summed for all of the result at once. */
  if (bytes <= CONV_LONG_PANEL || p->v.products != p->v.groups) return;
  int64_t piece = halo_lowering_parameters(l)->conv_panels_bytes;
  int64_t want = (bytes + piece - 1) / piece;
  while (steps < want && p->outer < p->loops.count) steps *= p->loops.axis[p->outer++].size;
  p->chunk = (steps + want - 1) / want;
  p->cuts = (steps + p->chunk - 1) / p->chunk;
}

static conv_product conv_product_of(const halo_lowering *l, const halo_conv_desc *v,
                                    const conv_image *image) {
  conv_product p = {.v = *v, .image = *image, .cuts = 1};
  p.b = halo_panels_choose(l, p.v.accumulator, p.v.n);
  p.rhs_in_place = conv_rhs_in_place(&p.v, &p.b);
  p.rows = halo_conv_rows(&p.v);
  p.window = halo_conv_window(&p.v);
  conv_set_distances(&p);
  conv_join_loops(&p);
  conv_choose_cuts(l, &p);
  return p;
}

enum { CONV_WIDEST = 64 }; /* columns of a panel at most */

bool halo_conv_panels_supports(const halo_lowering *l, const char **why) {
  const halo_conv_desc *v = conv_panels_desc(l);
  if (!halo_conv_is_plain(v, why)) return false;
  /* In floating point, since it may be anything. */
  double bytes = (double)halo_type_size(v->accumulator) * (double)v->batch * (double)v->groups *
                 (double)v->inputs;
  for (int s = 0; s < v->dims->spatial; s++) {
    const halo_window_dim *w = &v->window[s];
    bytes *= ((double)v->results[s] * (double)w->stride +
              (double)v->taps[s] * (double)w->window_dilation);
  }
  *why = "the image with its padding is larger than the device allocates";
  if (bytes > (double)l->caps->max_allocation) return false;
  *why = "the kernel's panels are larger than the device allocates";
  bytes = (double)halo_type_size(v->accumulator) * (double)v->products * (double)v->k *
          (double)(v->n + CONV_WIDEST);
  return bytes <= (double)l->caps->max_allocation;
}

/* Seconds of the product, its image apart. */
static double conv_product_cost(const halo_lowering *l, const conv_product *p) {
  const halo_conv_desc *v = &p->v;
  double size = (double)halo_type_size(v->accumulator), products = (double)v->products;
  double m = (double)halo_panels_round_up(v->m, p->b.mr);
  double n = (double)halo_panels_round_up(v->n, p->b.nr), k = (double)v->k;
  double packing = halo_lowering_seconds(l, 2 * size * products * n * k, products * n * k);
  for (int s = 0; s < v->dims->spatial; s++) {
    if (!halo_conv_has_short_phases(v, s)) continue;
    k *= (double)v->window[s].size / ((double)v->taps[s] * (double)v->phases[s]);
  }
  const halo_prices *prices = halo_lowering_prices(l);
  double each = k * prices->conv_panels / p->b.w + prices->conv_panels_store;
  double cost =
      prices->launch + halo_lowering_operations(l, products * m * n * each, products * m * n);
  if (!p->rhs_in_place) cost += packing;
  if (p->cuts > 1) {
    cost +=
        halo_lowering_seconds(l, 2 * size * products * m * n * (double)p->cuts, products * m * n);
  }
  return cost;
}

double halo_conv_panels_cost(const halo_lowering *l) {
  const halo_conv_desc *v = conv_panels_desc(l);
  conv_image image = conv_image_of(v);
  conv_product p = conv_product_of(l, v, &image);
  double bytes = 2 * (double)halo_type_size(v->accumulator) * (double)image.elements;
  return conv_product_cost(l, &p) +
         (image.in_place ? 0 : halo_lowering_seconds(l, bytes, (double)image.elements));
}

/* ---- Copies ---- */

/* The image with its padding and holes. */
static halo_status conv_image_lower(halo_lowering *l, const halo_conv_desc *v,
                                    const conv_image *image, const char *name, int32_t scratch) {
  halo_helpers helpers;
  halo_conv_begin(&helpers, l, v, name);
  halo_emitter *e = &helpers.e;
  emit_frame *frame = halo_helpers_open(&helpers);
  int inner = image->order[0], next = image->order[1];
  int64_t lines = image->elements / image->dims[inner] / image->dims[next];
  const halo_integer *at[HALO_MAX_RANK], *line = halo_emit_counter(e, "line", lines);
  at[inner] = halo_emit_counter(e, "i", image->dims[inner]);
  at[next] = halo_emit_counter(e, "x", image->dims[next]);
  for (int i = 2; i < image->rank; i++) {
    int d = image->order[i];
    at[d] = i + 1 < image->rank ? halo_integer_mod(&e->integers, line, image->dims[d]) : line;
    line = halo_integer_div(&e->integers, line, image->dims[d]);
  }
  const halo_integer *t[HALO_MAX_RANK], *zero = halo_integer_constant(&e->integers, 0);
  for (int s = 0; s < v->dims->spatial; s++) {
    t[s] = halo_integer_plus(&e->integers, at[v->dims->lhs_spatial[s]], image->low[s]);
  }
  /* All groups at once: as the first one's, beyond its end. */
  halo_value value =
      halo_conv_lhs(e, frame, v, zero, at[v->dims->lhs_batch], at[v->dims->lhs_feature], t);
  halo_emit_line(e, "return %s;", value.text);
  halo_helpers_close(&helpers, halo_ctype_compute(v->accumulator), "_in", "line, x, i", NULL);
  const char *out = halo_emit_arg(e, HALO_ROLE_SCRATCH, scratch, v->accumulator, NULL);
  halo_template k;
  halo_helpers_template(&helpers, &k, halo_cl_conv_image, "");
  halo_helpers_call(&helpers, &k, "H_IN", "_in", "line, x, i");
  halo_helpers_hole(&helpers, &k, "H_OUT(p, v)", "%s[p] = (v)", out);
  halo_template_define_int(&k, "H_LINES", lines);
  halo_template_define_int(&k, "H_X", image->dims[next]);
  halo_template_define_int(&k, "H_I", image->dims[inner]);
  halo_helpers_finish(&helpers, &k);
  halo_launch *launch = halo_helpers_launch(&helpers, "conv:panels image");
  launch->grid.local[0] = 1;
  launch->grid.global[0] = (size_t)lines;
  return halo_helpers_end(&helpers);
}

/* rhs in panels. */
static halo_status conv_pack_lower(halo_lowering *l, const conv_product *p, const char *name,
                                   const halo_panels_pack *pack, int32_t scratch) {
  const halo_conv_desc *v = &p->v;
  halo_helpers helpers;
  halo_conv_begin(&helpers, l, v, name);
  halo_emitter *e = &helpers.e;
  emit_frame *frame = halo_helpers_open(&helpers);
  const halo_integer *k[HALO_MAX_RANK], *f;
  halo_conv_place(e, &p->window, halo_emit_counter(e, "k", v->k), k, &f);
  halo_value value = halo_conv_rhs(e, frame, v, halo_emit_counter(e, "b", v->products),
                                   halo_emit_counter(e, "x", v->n), f, k);
  halo_emit_line(e, "return %s;", value.text);
  halo_helpers_close(&helpers, halo_ctype_compute(v->accumulator), "_in", "b, x, k", NULL);
  return halo_panels_pack_lower(&helpers, pack, scratch, "conv:panels pack");
}

/* ---- The product ---- */

/* "inline int name_row(..., b, x)": where row x of product b begins in the image. */
static void conv_emit_row(halo_helpers *helpers, const conv_product *p) {
  halo_emitter *e = &helpers->e;
  halo_helpers_open(helpers);
  const halo_integer *at[HALO_MAX_RANK], *n;
  halo_conv_place(e, &p->rows, halo_emit_counter(e, "x", p->v.m), at, &n);
  const halo_integer *sum = halo_integer_constant(&e->integers, p->base_a);
  const halo_integer *group = halo_conv_group(e, &p->v, halo_emit_counter(e, "b", p->v.products));
  sum = halo_integer_add(&e->integers, sum, halo_integer_mul(&e->integers, group, p->group_a));
  for (int i = 0; i < p->rows.count; i++) {
    const halo_conv_axis *x = &p->rows.axis[i];
    const halo_integer *digit = x->part == HALO_CONV_BATCH ? n : at[x->part];
    sum = halo_integer_add(&e->integers, sum, halo_integer_mul(&e->integers, digit, x->a));
  }
  halo_emit_line(e, "return %s;", halo_emit_integer(e, sum));
  halo_helpers_close(helpers, helpers->itype, "_row", "b, x", NULL);
}

/* How often a loop over k goes round: where some phases have an element of the kernel less, that depends on the phase. */
static const char *conv_loop_end(halo_arena *arena, const conv_product *p,
                                 const halo_conv_axis *x) {
  const halo_conv_desc *v = &p->v;
  if (x->part < 0 || !halo_conv_has_short_phases(v, x->part)) {
    return halo_arena_printf(arena, "%lld", (long long)x->size);
  }
  int64_t taps = v->taps[x->part], phases = v->phases[x->part], below = 1;
  for (int s = x->part + 1; s < v->dims->spatial; s++) below *= v->phases[s];
  int64_t full = v->window[x->part].size - (taps - 1) * phases; /* phases that have all */
  return halo_arena_printf(arena, "(%lld - (batch / %lld %% %lld >= %lld)) * %lld", (long long)taps,
                           (long long)below, (long long)phases, (long long)full,
                           (long long)(x->size / taps));
}

/* The loops over k, and where they are in the image and in a panel. */
static void conv_loop_holes(halo_helpers *helpers, halo_template *k, const conv_product *p) {
  halo_strbuf loops = {0}, a = {0}, b = {0};
  const char *type = helpers->itype;
  int64_t steps = 1, below = 1;
  for (int i = 0; i < p->outer; i++) steps *= p->loops.axis[i].size;
  if (p->outer > 0) {
    halo_strbuf_printf(
        &loops, "for (%s q = part * (%s)%lld; q < (part + 1) * (%s)%lld && q < %lld; ++q)", type,
        type, (long long)p->chunk, type, (long long)p->chunk, (long long)steps);
  }
  halo_strbuf_append(&a, "0");
  halo_strbuf_append(&b, "0");
  for (int i = p->loops.count - 1; i >= 0; i--) {
    const halo_conv_axis *x = &p->loops.axis[i];
    const char *at = halo_arena_printf(helpers->l->arena, "k%d", i);
    if (i < p->outer) {
      at = halo_arena_printf(helpers->l->arena, "q / %lld %% %lld", (long long)below,
                             (long long)x->size);
      below *= x->size;
    }
    halo_strbuf_printf(&a, " + %s * (%s)%lld", at, type, (long long)x->a);
    halo_strbuf_printf(&b, " + %s * (%s)%lld", at, type, (long long)x->b);
  }
  for (int i = p->outer; i < p->loops.count; i++) {
    halo_strbuf_printf(&loops, "for (%s k%d = 0; k%d < %s; ++k%d) ", type, i, i,
                       conv_loop_end(helpers->l->arena, p, &p->loops.axis[i]), i);
  }
  halo_template_define_int(k, "H_STRETCH", 0);
  halo_helpers_hole(helpers, k, "H_LOOPS", "%s", halo_strbuf_text(&loops));
  halo_helpers_hole(helpers, k, "H_KA", "%s", halo_strbuf_text(&a));
  halo_helpers_hole(helpers, k, "H_KB", "%s", halo_strbuf_text(&b));
  halo_strbuf_deinit(&loops);
  halo_strbuf_deinit(&a);
  halo_strbuf_deinit(&b);
}

/* Whether results, or parts of them, are stored as vectors. */
static bool conv_stores_vectors(const halo_helpers *helpers, const conv_product *p) {
  const halo_conv_desc *v = &p->v;
  bool minor = v->conv->shape->minor_to_major[0] == v->dims->out_feature;
  bool plain = v->conv == halo_lowering_root(helpers->l) && v->result == v->accumulator;
  return minor && (plain || p->cuts > 1);
}

/* How results are stored: parts into a scratch as the result's memory will be, or finished; as vectors
 * where output features are neighbours there. */
static void conv_store_holes(halo_helpers *helpers, halo_template *k, const conv_product *p,
                             const char *out, bool split) {
  const halo_conv_desc *v = &p->v;
  const char *at = halo_arena_printf(helpers->l->arena, "%s_at(%s, b, x, y)", helpers->name,
                                     helpers->texts.arguments);
  if (p->cuts > 1) {
    at = halo_arena_printf(helpers->l->arena, "part * (%s)%lld + %s", helpers->itype,
                           (long long)halo_shape_element_count(v->conv->shape), at);
    halo_template_define_int(k, "H_SPLIT", 0);
    halo_helpers_hole(helpers, k, "H_OUT(b, x, y, v)", "%s[%s] = (v)", out, at);
  } else {
    halo_panels_result(helpers, k, split);
  }
  bool vectors = conv_stores_vectors(helpers, p), edges = false;
  for (int s = 0; s < v->dims->spatial; s++) edges |= halo_conv_has_edges(v, s);
  halo_template_define_int(k, "H_VECTORS", vectors);
  if (vectors && edges) {
    halo_helpers_hole(helpers, k, "H_OUTV(b, x, y, v)",
                      "do { const %s at = %s; if (at >= 0) vstore%d(v, 0, %s + at); } while (0)",
                      helpers->itype, at, p->b.w, out);
  } else if (vectors) {
    halo_helpers_hole(helpers, k, "H_OUTV(b, x, y, v)", "vstore%d(v, 0, %s + %s)", p->b.w, out, at);
  }
}

/* Scratch numbers: of the image, the panels, the parts; -1 where there is none. */
typedef struct conv_places {
  int32_t image, panels, parts;
} conv_places;

static halo_status conv_product_lower(halo_lowering *l, const conv_product *p, const char *name,
                                      conv_places places) {
  const halo_conv_desc *v = &p->v;
  const char *type = halo_ctype_compute(v->accumulator), *out;
  halo_helpers helpers;
  halo_conv_begin(&helpers, l, v, name);
  conv_emit_row(&helpers, p);
  halo_conv_emit_at(&helpers, v);
  bool split = false;
  if (p->cuts > 1) {
    out = halo_emit_arg(&helpers.e, HALO_ROLE_SCRATCH, places.parts, v->accumulator, NULL);
  } else {
    /* Stored when all but what finishes it has been read. */
    helpers.in_place = halo_computation_same_position(l->computation);
    split = !conv_stores_vectors(&helpers, p) && halo_helpers_can_split(l, v->conv->shape);
    if (split) {
      halo_conv_store_split(&helpers, v);
    } else {
      halo_conv_store(&helpers, v);
    }
    const halo_instr *root = halo_lowering_root(l);
    out = halo_emit_arg(&helpers.e, HALO_ROLE_OUTPUT, 0, root->shape->type, NULL);
  }
  const char *pa = halo_conv_operand(&helpers, v, v->lhs, places.image);
  const char *pb = halo_conv_operand(&helpers, v, v->rhs, places.panels);
  halo_template k;
  halo_panels_sizes sizes = {.rows = v->m,
                             .columns = v->n,
                             .batch = v->products,
                             .cuts = p->cuts,
                             .k = v->k / p->cuts + 1};
  halo_panels_begin(&helpers, &p->b, &sizes);
  halo_panels_template(
      &helpers, &k, &p->b, v->accumulator, &sizes,
      halo_arena_printf(l->arena, "  __global const %s *PA = %s, *PB = %s;", type, pa, pb));
  const char *row = halo_arena_printf(l->arena, "(p) * %d + (i)", p->b.mr);
  if (v->m % p->b.mr != 0) {
    row = halo_arena_printf(l->arena, "min(%s, (%s)%lld)", row, helpers.itype, (long long)v->m - 1);
  }
  halo_helpers_hole(&helpers, &k, "H_ROW(b, p, i)", "%s_row(%s, b, %s)", name,
                    helpers.texts.arguments, row);
  int64_t panels = (v->n + p->b.nr - 1) / p->b.nr;
  halo_template_define_int(&k, "H_BBATCH", p->rhs_in_place ? v->n : panels * p->b.nr * v->k);
  halo_template_define_int(&k, "H_BPANEL", p->rhs_in_place ? p->b.nr : p->b.nr * v->k);
  conv_loop_holes(&helpers, &k, p);
  conv_store_holes(&helpers, &k, p, out, split);
  halo_helpers_finish(&helpers, &k);
  halo_panels_launch(&helpers, "conv:panels", &p->b, &sizes);
  return halo_helpers_end(&helpers);
}

static int32_t conv_scratch(halo_lowering *l, const halo_conv_desc *v, int64_t elements) {
  halo_vec_push(&l->scratch, (halo_scratch){elements * (int64_t)halo_type_size(v->accumulator)});
  return l->scratch.count - 1;
}

halo_status halo_conv_panels_lower(halo_lowering *l) {
  const halo_conv_desc *v = conv_panels_desc(l);
  conv_image image = conv_image_of(v);
  conv_product product = conv_product_of(l, v, &image), *p = &product;
  conv_places places = {-1, -1, -1};
  if (!image.in_place) {
    places.image = conv_scratch(l, v, image.elements);
    HALO_TRY(conv_image_lower(l, v, &image, halo_kernel_name(l, "image"), places.image));
  }
  const char *name = halo_kernel_name(l, "conv");
  if (!p->rhs_in_place) {
    halo_panels_pack pack = {.type = v->accumulator,
                             .batch = v->products,
                             .lines = v->n,
                             .k = v->k,
                             .panel = p->b.nr,
                             .group = 1,
                             .k_fast = v->rhs->shape->minor_to_major[0] != v->dims->rhs_output};
    int64_t elements = halo_panels_pack_size(&pack);
    places.panels = conv_scratch(l, v, elements > 0 ? elements : 1);
    if (elements > 0) {
      HALO_TRY(conv_pack_lower(l, p, halo_arena_printf(l->arena, "%s_pack", name), &pack,
                               places.panels));
    }
  }
  if (p->cuts > 1) {
    places.parts = conv_scratch(l, v, p->cuts * halo_shape_element_count(v->conv->shape));
  }
  HALO_TRY(conv_product_lower(l, p, name, places));
  if (p->cuts == 1) return HALO_OK;
  return halo_panels_finish(l, v->conv, v->accumulator, places.parts, p->cuts, "conv:finish");
}

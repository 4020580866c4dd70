/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/describe.c: a convolution seen as products of matrices. */
#include "kernels/conv/describe.h"

#include "kernels/dot/describe.h"

static void conv_set_sizes(halo_conv_desc *v) {
  v->m = v->batch;
  v->n = v->outputs;
  v->k = v->inputs;
  v->products = v->groups;
  for (int s = 0; s < v->dims->spatial; s++) {
    v->m *= v->results[s];
    v->k *= v->taps[s];
    v->products *= v->phases[s];
  }
}

void halo_conv_describe(const halo_instr *conv, halo_conv_desc *v) {
  const halo_conv_dims *dims = halo_instr_attr(conv, HALO_ATTR_DIM_LABELS)->conv;
  const halo_attr *window = halo_instr_attr(conv, HALO_ATTR_WINDOW);
  const halo_shape *x = conv->operands[0]->shape, *y = conv->operands[1]->shape;
  int64_t feature_groups = halo_instr_int(conv, HALO_ATTR_FEATURE_GROUP_COUNT, 1);
  int64_t batch_groups = halo_instr_int(conv, HALO_ATTR_BATCH_GROUP_COUNT, 1);
  *v = (halo_conv_desc){.conv = conv,
                        .lhs = conv->operands[0],
                        .rhs = conv->operands[1],
                        .dims = dims,
                        .groups = feature_groups * batch_groups, /* one of them is 1 */
                        .by_batch = batch_groups > 1,
                        .batch = x->dims[dims->lhs_batch] / batch_groups,
                        .inputs = y->dims[dims->rhs_input],
                        .result = conv->shape->type,
                        .accumulator = halo_dot_accumulator(conv->shape->type)};
  v->outputs = y->dims[dims->rhs_output] / v->groups;
  for (int d = 0; d < dims->spatial; d++) {
    v->window[d] = window->window.data[d];
    v->results[d] = conv->shape->dims[dims->out_spatial[d]];
    v->taps[d] = v->window[d].size;
    v->phases[d] = 1;
  }
  conv_set_sizes(v);
}

/* ---- Phases ---- */

void halo_conv_fill_holes(halo_conv_desc *v) {
  for (int s = 0; s < v->dims->spatial; s++) {
    halo_window_dim *w = &v->window[s];
    int64_t d = w->base_dilation, results = v->results[s];
    if (d <= 1 || w->stride != 1 || w->window_dilation != 1 || results == 0) continue;
    /* Result y and element k meet the image at (y - pad + k) / d, where that is whole. With y = d * i + first - u,
     * k = d * t + u and first = pad modulo d that is i + t - (pad - first) / d. */
    int64_t first = (w->pad_low % d + d) % d;
    v->phases[s] = d;
    v->first[s] = first;
    v->results[s] = (results - 1 - first + d - 1) / d + 1;
    v->taps[s] = (w->size + d - 1) / d;
    w->pad_low = (w->pad_low - first) / d;
    w->base_dilation = 1;
  }
  conv_set_sizes(v);
}

double halo_conv_work(const halo_conv_desc *v) {
  return (double)v->products * (double)v->m * (double)v->n * (double)v->k;
}

bool halo_conv_has_edges(const halo_conv_desc *v, int s) {
  int64_t results = v->conv->shape->dims[v->dims->out_spatial[s]], d = v->phases[s];
  return d > 1 && (v->first[s] != d - 1 || v->results[s] * d != results);
}

bool halo_conv_has_short_phases(const halo_conv_desc *v, int s) {
  return v->phases[s] > 1 && v->taps[s] * v->phases[s] != v->window[s].size;
}

const halo_integer *halo_conv_group(halo_emitter *e, const halo_conv_desc *v,
                                    const halo_integer *product) {
  return v->products == v->groups
             ? product
             : halo_integer_div(&e->integers, product, v->products / v->groups);
}

static void conv_phase(halo_emitter *e, const halo_conv_desc *v, const halo_integer *product,
                       const halo_integer **u) {
  for (int s = v->dims->spatial - 1; s >= 0; s--) {
    u[s] = halo_integer_mod(&e->integers, product, v->phases[s]);
    product = halo_integer_div(&e->integers, product, v->phases[s]);
  }
}

/* ---- Places ---- */

static void conv_add_axis(halo_conv_axes *axes, int part, int64_t size) {
  if (size != 1) axes->axis[axes->count++] = (halo_conv_axis){.size = size, .part = part};
}

halo_conv_axes halo_conv_rows(const halo_conv_desc *v) {
  halo_conv_axes axes = {0};
  const halo_shape *shape = v->conv->shape;
  for (int i = shape->rank - 1; i >= 0; i--) {
    int d = shape->minor_to_major[i];
    if (d == v->dims->out_batch) conv_add_axis(&axes, HALO_CONV_BATCH, v->batch);
    for (int s = 0; s < v->dims->spatial; s++) {
      if (d == v->dims->out_spatial[s]) conv_add_axis(&axes, s, v->results[s]);
    }
  }
  return axes;
}

halo_conv_axes halo_conv_window(const halo_conv_desc *v) {
  halo_conv_axes axes = {0};
  for (int s = 0; s < v->dims->spatial; s++) conv_add_axis(&axes, s, v->taps[s]);
  conv_add_axis(&axes, HALO_CONV_FEATURE, v->inputs);
  return axes;
}

void halo_conv_place(halo_emitter *e, const halo_conv_axes *axes, const halo_integer *position,
                     const halo_integer **at, const halo_integer **other) {
  for (int d = 0; d < HALO_MAX_RANK; d++) at[d] = halo_integer_constant(&e->integers, 0);
  *other = halo_integer_constant(&e->integers, 0);
  for (int i = axes->count - 1; i >= 0; i--) {
    const halo_conv_axis *axis = &axes->axis[i];
    const halo_integer *digit =
        i == 0 ? position : halo_integer_mod(&e->integers, position, axis->size);
    *(axis->part >= 0 ? &at[axis->part] : other) = digit;
    if (i > 0) position = halo_integer_div(&e->integers, position, axis->size);
  }
}

/* A coordinate that counts through the groups' own ones. */
static const halo_integer *conv_grouped(halo_emitter *e, const halo_integer *group,
                                        const halo_integer *own, int64_t size) {
  return halo_integer_add(&e->integers, halo_integer_mul(&e->integers, group, size), own);
}

const halo_integer *halo_conv_meets(halo_emitter *e, const halo_conv_desc *v, int s,
                                    const halo_integer *y, const halo_integer *k) {
  const halo_window_dim *w = &v->window[s];
  const halo_integer *t =
      halo_integer_add(&e->integers, halo_integer_mul(&e->integers, y, w->stride),
                       halo_integer_mul(&e->integers, k, w->window_dilation));
  return halo_integer_plus(&e->integers, t, -w->pad_low);
}

/* Writes a test that a whole number is at least 0 and below `size`, where its range leaves that open. */
static const halo_integer *conv_keep_within(halo_emitter *e, const halo_integer *t, int64_t size,
                                            const char *name, const char *otherwise) {
  if (halo_integer_is_within(t, 0, size - 1)) return t;
  halo_emit_line(e, "const %s %s = %s;", halo_emitter_index_type(e), name, halo_emit_integer(e, t));
  halo_emit_line(e, "if (!h_inside(u%s, %s, %lld)) return%s%s;", halo_emitter_index_type(e), name,
                 (long long)size, *otherwise ? " " : "", otherwise);
  return halo_emit_counter(e, name, size);
}

const halo_integer *halo_conv_place_in_image(halo_emitter *e, const halo_conv_desc *v, int s,
                                             const halo_integer *t, const char *nothing) {
  int64_t holes = v->window[s].base_dilation;
  int64_t size = v->lhs->shape->dims[v->dims->lhs_spatial[s]];
  int64_t extent = size > 0 ? (size - 1) * holes + 1 : 0;
  t = conv_keep_within(e, t, extent, halo_arena_printf(e->arena, "t%d", s), nothing);
  if (!halo_integer_is_multiple(t, holes)) {
    halo_emit_line(e, "if ((%s) %% %lld) return %s;", halo_emit_integer(e, t), (long long)holes,
                   nothing);
  }
  return halo_integer_div(&e->integers, t, holes);
}

const halo_integer *halo_conv_place_in_kernel(halo_emitter *e, const halo_conv_desc *v, int s,
                                              const halo_integer *k, const halo_integer *u,
                                              const char *nothing) {
  int64_t size = v->window[s].size;
  if (v->phases[s] > 1) {
    k = halo_integer_add(&e->integers, halo_integer_mul(&e->integers, k, v->phases[s]), u);
    k = conv_keep_within(e, k, size, halo_arena_printf(e->arena, "tap%d", s), nothing);
  }
  if (!v->window[s].reversal) return k;
  return halo_integer_plus(&e->integers, halo_integer_mul(&e->integers, k, -1), size - 1);
}

halo_value halo_conv_lhs(halo_emitter *e, emit_frame *frame, const halo_conv_desc *v,
                         const halo_integer *group, const halo_integer *n, const halo_integer *f,
                         const halo_integer *const *t) {
  const halo_shape *shape = v->lhs->shape;
  const halo_integer *at[HALO_MAX_RANK];
  at[v->dims->lhs_batch] = v->by_batch ? conv_grouped(e, group, n, v->batch) : n;
  at[v->dims->lhs_feature] = v->by_batch ? f : conv_grouped(e, group, f, v->inputs);
  for (int s = 0; s < v->dims->spatial; s++) {
    at[v->dims->lhs_spatial[s]] = halo_conv_place_in_image(e, v, s, t[s], "0");
  }
  halo_value value =
      halo_emit_value(e, frame, v->lhs, 0, halo_index_of(e, shape->rank, shape->dims, at));
  return halo_emit_convert(e, value, v->accumulator);
}

halo_value halo_conv_rhs(halo_emitter *e, emit_frame *frame, const halo_conv_desc *v,
                         const halo_integer *product, const halo_integer *column,
                         const halo_integer *f, const halo_integer *const *k) {
  const halo_shape *shape = v->rhs->shape;
  const halo_integer *at[HALO_MAX_RANK], *u[HALO_MAX_RANK];
  const halo_integer *group = halo_conv_group(e, v, product);
  conv_phase(e, v, product, u);
  at[v->dims->rhs_output] = conv_grouped(e, group, column, v->outputs);
  at[v->dims->rhs_input] = f;
  for (int s = 0; s < v->dims->spatial; s++) {
    at[v->dims->rhs_spatial[s]] = halo_conv_place_in_kernel(e, v, s, k[s], u[s], "0");
  }
  halo_value value =
      halo_emit_value(e, frame, v->rhs, 0, halo_index_of(e, shape->rank, shape->dims, at));
  return halo_emit_convert(e, value, v->accumulator);
}

emit_index *halo_conv_result_index(halo_emitter *e, const halo_conv_desc *v,
                                   const halo_conv_axes *rows, const halo_integer *product,
                                   const halo_integer *row, const halo_integer *column,
                                   const char *outside) {
  const halo_shape *shape = v->conv->shape;
  const halo_integer *at[HALO_MAX_RANK], *spatial[HALO_MAX_RANK], *u[HALO_MAX_RANK];
  halo_conv_place(e, rows, row, spatial, &at[v->dims->out_batch]);
  conv_phase(e, v, product, u);
  for (int s = 0; s < v->dims->spatial; s++) {
    const halo_integer *y = spatial[s];
    int64_t size = shape->dims[v->dims->out_spatial[s]];
    if (v->phases[s] > 1) {
      y = halo_integer_plus(&e->integers, halo_integer_mul(&e->integers, y, v->phases[s]),
                            v->first[s]);
      y = halo_integer_add(&e->integers, y, halo_integer_mul(&e->integers, u[s], -1));
      y = conv_keep_within(e, y, size, halo_arena_printf(e->arena, "y%d", s), outside);
    }
    at[v->dims->out_spatial[s]] = y;
  }
  at[v->dims->out_feature] = conv_grouped(e, halo_conv_group(e, v, product), column, v->outputs);
  return halo_index_of(e, shape->rank, shape->dims, at);
}

/* kernels/conv_view.c: a convolution seen as products of matrices. */
#include "kernels/conv_view.h"

#include "kernels/dot_view.h"

static void conv_set_sizes(halo_conv_view *v) {
  v->m = v->batch;
  v->n = v->outputs;
  v->k = v->inputs;
  for (int s = 0; s < v->dims->spatial; s++) {
    v->m *= v->results[s].count;
    v->k *= v->taps[s].count;
  }
}

void halo_conv_describe(const halo_instr *conv, halo_conv_view *v) {
  const halo_conv_dims *dims = halo_instr_attr(conv, HALO_ATTR_DIM_LABELS)->conv;
  const halo_attr *window = halo_instr_attr(conv, HALO_ATTR_WINDOW);
  const halo_shape *x = conv->operands[0]->shape, *y = conv->operands[1]->shape;
  int64_t feature_groups = halo_instr_int(conv, HALO_ATTR_FEATURE_GROUP_COUNT, 1);
  int64_t batch_groups = halo_instr_int(conv, HALO_ATTR_BATCH_GROUP_COUNT, 1);
  *v = (halo_conv_view){.conv = conv,
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
    v->results[d].count = conv->shape->dims[dims->out_spatial[d]];
    v->taps[d].count = v->window[d].size;
    v->results[d].step = v->taps[d].step = 1;
  }
  conv_set_sizes(v);
}

/* Whether the holes along a spatial dimension can be done without. */
static bool conv_has_phases(const halo_window_dim *w) {
  return w->base_dilation > 1 && w->stride == 1 && w->window_dilation == 1;
}

int64_t halo_conv_phases(const halo_conv_view *v) {
  int64_t phases = 1;
  for (int s = 0; s < v->dims->spatial; s++) {
    if (conv_has_phases(&v->window[s]) &&
        __builtin_mul_overflow(phases, v->window[s].base_dilation, &phases)) {
      return INT64_MAX;
    }
  }
  return phases;
}

/* The least number that is not negative and equal to a modulo d. */
static int64_t conv_modulo(int64_t a, int64_t d) { return (a % d + d) % d; }

halo_conv_view halo_conv_phase(const halo_conv_view *v, int64_t phase) {
  halo_conv_view p = *v;
  for (int s = 0; s < v->dims->spatial; s++) {
    halo_window_dim *w = &p.window[s];
    int64_t d = w->base_dilation;
    if (!conv_has_phases(w)) continue;
    int64_t first = phase % d, results = p.results[s].count;
    phase /= d;
    /* Result y meets the image at (y - pad + k) / d, where that is whole. */
    int64_t tap = conv_modulo(w->pad_low - first, d);
    p.results[s].first = first;
    p.results[s].step = p.taps[s].step = d;
    p.results[s].count = first < results ? (results - first + d - 1) / d : 0;
    p.taps[s].first = tap;
    p.taps[s].count = tap < w->size ? (w->size - tap + d - 1) / d : 0;
    w->pad_low = -((first - w->pad_low + tap) / d);
    w->base_dilation = 1;
  }
  conv_set_sizes(&p);
  return p;
}

static void conv_add_axis(halo_conv_axes *axes, int part, int64_t size) {
  if (size != 1) axes->axis[axes->count++] = (halo_conv_axis){.size = size, .part = part};
}

halo_conv_axes halo_conv_rows(const halo_conv_view *v) {
  halo_conv_axes axes = {0};
  const halo_shape *shape = v->conv->shape;
  for (int i = shape->rank - 1; i >= 0; i--) {
    int d = shape->minor_to_major[i];
    if (d == v->dims->out_batch) conv_add_axis(&axes, HALO_CONV_BATCH, v->batch);
    for (int s = 0; s < v->dims->spatial; s++) {
      if (d == v->dims->out_spatial[s]) conv_add_axis(&axes, s, v->results[s].count);
    }
  }
  return axes;
}

halo_conv_axes halo_conv_window(const halo_conv_view *v) {
  halo_conv_axes axes = {0};
  for (int s = 0; s < v->dims->spatial; s++) conv_add_axis(&axes, s, v->taps[s].count);
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

const halo_integer *halo_conv_meets(halo_emitter *e, const halo_conv_view *v, int s,
                                    const halo_integer *y, const halo_integer *k) {
  const halo_window_dim *w = &v->window[s];
  const halo_integer *t =
      halo_integer_add(&e->integers, halo_integer_mul(&e->integers, y, w->stride),
                       halo_integer_mul(&e->integers, k, w->window_dilation));
  return halo_integer_plus(&e->integers, t, -w->pad_low);
}

const halo_integer *halo_conv_place_in_image(halo_emitter *e, const halo_conv_view *v, int s,
                                             const halo_integer *t, const char *nothing) {
  int64_t holes = v->window[s].base_dilation;
  int64_t size = v->lhs->shape->dims[v->dims->lhs_spatial[s]];
  int64_t extent = size > 0 ? (size - 1) * holes + 1 : 0;
  if (!halo_integer_is_within(t, 0, extent - 1)) {
    const char *name = halo_arena_printf(e->arena, "t%d", s);
    halo_emit_line(e, "const %s %s = %s;", halo_emitter_index_type(e), name,
                   halo_emit_integer(e, t));
    halo_emit_line(e, "if (!h_inside(u%s, %s, %lld)) return %s;", halo_emitter_index_type(e), name,
                   (long long)extent, nothing);
    t = halo_emit_counter(e, name, extent);
  }
  if (!halo_integer_is_multiple(t, holes)) {
    halo_emit_line(e, "if ((%s) %% %lld) return %s;", halo_emit_integer(e, t), (long long)holes,
                   nothing);
  }
  return halo_integer_div(&e->integers, t, holes);
}

const halo_integer *halo_conv_place_in_kernel(halo_emitter *e, const halo_conv_view *v, int s,
                                              const halo_integer *k) {
  k = halo_integer_plus(&e->integers, halo_integer_mul(&e->integers, k, v->taps[s].step),
                        v->taps[s].first);
  if (!v->window[s].reversal) return k;
  return halo_integer_plus(&e->integers, halo_integer_mul(&e->integers, k, -1),
                           v->window[s].size - 1);
}

halo_value halo_conv_lhs(halo_emitter *e, emit_frame *frame, const halo_conv_view *v,
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

halo_value halo_conv_rhs(halo_emitter *e, emit_frame *frame, const halo_conv_view *v,
                         const halo_integer *group, const halo_integer *column,
                         const halo_integer *f, const halo_integer *const *k) {
  const halo_shape *shape = v->rhs->shape;
  const halo_integer *at[HALO_MAX_RANK];
  at[v->dims->rhs_output] = conv_grouped(e, group, column, v->outputs);
  at[v->dims->rhs_input] = f;
  for (int s = 0; s < v->dims->spatial; s++) {
    at[v->dims->rhs_spatial[s]] = halo_conv_place_in_kernel(e, v, s, k[s]);
  }
  halo_value value =
      halo_emit_value(e, frame, v->rhs, 0, halo_index_of(e, shape->rank, shape->dims, at));
  return halo_emit_convert(e, value, v->accumulator);
}

emit_index *halo_conv_result_index(halo_emitter *e, const halo_conv_view *v,
                                   const halo_conv_axes *rows, const halo_integer *group,
                                   const halo_integer *row, const halo_integer *column) {
  const halo_shape *shape = v->conv->shape;
  const halo_integer *at[HALO_MAX_RANK], *spatial[HALO_MAX_RANK];
  halo_conv_place(e, rows, row, spatial, &at[v->dims->out_batch]);
  for (int s = 0; s < v->dims->spatial; s++) {
    const halo_integer *y = halo_integer_mul(&e->integers, spatial[s], v->results[s].step);
    at[v->dims->out_spatial[s]] = halo_integer_plus(&e->integers, y, v->results[s].first);
  }
  at[v->dims->out_feature] = conv_grouped(e, group, column, v->outputs);
  return halo_index_of(e, shape->rank, shape->dims, at);
}

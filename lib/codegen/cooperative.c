/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/cooperative.c: ops whose one element needs many others, as loops: reduce, reduce-window, dot,
 * convolution; while and conditional on scalars are such too (control.c). */
#include "codegen/ctype.h"
#include "codegen/emitter_private.h"

/* The accumulators of a reduction with their initial values in the first n of `values`. */
static void coop_start(halo_emitter *e, emit_frame *f, const halo_instr *instr, int32_t n,
                       halo_value *values, halo_value *leaves) {
  for (int32_t i = 0; i < n; i++) {
    halo_value init = halo_emit_value(e, f, instr->operands[n + i], 0, halo_index_scalar(e));
    halo_type type = halo_leaf_shape(instr->shape, i)->type;
    leaves[i] = values[i] = emit_variable(e, type, init.text);
  }
}

/* One step: combines the accumulators with the inputs' elements at an index. XLA accumulates narrow
 * floats in f32 and rounds once. */
static void coop_step(halo_emitter *e, emit_frame *f, const halo_instr *instr, int32_t n,
                      emit_index *from, halo_value *values, const halo_value *leaves) {
  halo_value *next = halo_arena_array(e->arena, halo_value, n);
  for (int32_t i = 0; i < n; i++) {
    values[n + i] = halo_emit_value(e, f, instr->operands[i], 0, from);
  }
  bool kept = e->keep_f32;
  e->keep_f32 = true;
  halo_emit_apply(e, halo_instr_comp(instr, HALO_ATTR_TO_APPLY), values, next);
  e->keep_f32 = kept;
  emit_assign(e, leaves, next, n);
}

/* Rounds finished accumulators to what their types hold. */
static void coop_round(halo_emitter *e, int32_t n, halo_value *leaves) {
  for (int32_t i = 0; i < n && !e->keep_f32; i++) {
    halo_type type = leaves[i].type;
    if (!halo_type_is_float(type) || !halo_ctype_is_narrow(type)) continue;
    leaves[i] = emit_declare(e, halo_value_fit(e->arena, type, leaves[i].text));
  }
}

/* A sum of `all` elements begins, whose loops coop_loop opens. Few are written out by compilers when they are asked to:
 * with a loop within each they make no vectors of the elements around it. Gives whether these are, and counts with
 * what they stand in, which coop_end has back. */
typedef struct coop_sum {
  bool few;
  int64_t around;
} coop_sum;
static coop_sum coop_begin(halo_emitter *e, int64_t all) {
  int64_t around = e->written ? e->written : 1;
  bool few = all > 1 && all <= HALO_WRITTEN_OUT && all <= HALO_WRITTEN_OUT_NESTED / around;
  coop_sum sum = {few, e->written};
  if (sum.few) e->written = around * all;
  return sum;
}
static void coop_end(halo_emitter *e, const coop_sum *sum) { e->written = sum->around; }

static const halo_integer *coop_loop(halo_emitter *e, const coop_sum *sum, int64_t size,
                                     int *opened) {
  bool has_loops = e->has_loops;
  if (size > 1 && sum->few) halo_emit_line(e, "#pragma unroll");
  const halo_integer *at = emit_loop(e, size, opened);
  if (sum->few) e->has_loops = has_loops;
  return at;
}

void emit_reduce(halo_emitter *e, emit_frame *f, const halo_instr *instr, emit_index *index,
                 halo_value *leaves) {
  int32_t n = instr->operand_count / 2, n_dims;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &n_dims);
  const halo_shape *in = instr->operands[0]->shape;
  halo_value *values = halo_arena_array(e->arena, halo_value, 2 * n);
  coop_start(e, f, instr, n, values, leaves);
  const halo_integer *at[HALO_MAX_RANK];
  bool reduced[HALO_MAX_RANK] = {false};
  for (int32_t i = 0; i < n_dims; i++) reduced[dims[i]] = true;
  int outer = 0, opened = 0;
  emit_index_prepare(e, index);
  for (int d = 0; d < in->rank; d++) {
    if (!reduced[d]) at[d] = halo_index_at(index, outer++);
  }
  int64_t all = 1;
  for (int d = 0; d < in->rank; d++) all *= reduced[d] ? in->dims[d] : 1;
  const coop_sum sum = coop_begin(e, all);
  for (int d = 0; d < in->rank; d++) {
    if (reduced[d]) at[d] = coop_loop(e, &sum, in->dims[d], &opened);
  }
  coop_step(e, f, instr, n, halo_index_of(e, in->rank, in->dims, at), values, leaves);
  while (opened--) halo_emit_close(e);
  coop_end(e, &sum);
  coop_round(e, n, leaves);
}

const halo_integer *emit_window_position(halo_emitter *e, const halo_window_dim *w, int64_t size,
                                         const halo_integer *out, const halo_integer *k,
                                         int *opened) {
  halo_integers *pool = &e->integers;
  const halo_integer *t = halo_integer_add(pool, halo_integer_mul(pool, out, w->stride),
                                           halo_integer_mul(pool, k, w->window_dilation));
  t = halo_integer_plus(pool, t, -w->pad_low);
  int64_t base = size > 0 ? (size - 1) * w->base_dilation + 1 : 0;
  const char *inside = emit_integer_test(e, t, base);
  bool whole = halo_integer_is_multiple(t, w->base_dilation);
  t = emit_integer_bounded(e, t, 0, base - 1);
  if (!whole) {
    inside = halo_arena_printf(e->arena, "%s%s%s %% %lld == 0", inside ? inside : "",
                               inside ? " && " : "", emit_integer_atom(e, t),
                               (long long)w->base_dilation);
  }
  if (inside) {
    halo_emit_branch(e, halo_arena_printf(e->arena, "if (%s)", inside));
    ++*opened;
  }
  return halo_integer_div(pool, t, w->base_dilation);
}

void emit_reduce_window(halo_emitter *e, emit_frame *f, const halo_instr *instr, emit_index *index,
                        halo_value *leaves) {
  int32_t n = instr->operand_count / 2;
  const halo_shape *in = instr->operands[0]->shape;
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  halo_value *values = halo_arena_array(e->arena, halo_value, 2 * n);
  coop_start(e, f, instr, n, values, leaves);
  const halo_integer *at[HALO_MAX_RANK], *k[HALO_MAX_RANK];
  int opened = 0;
  emit_index_prepare(e, index);
  for (int d = 0; d < in->rank; d++) {
    at[d] = halo_index_at(index, d);
    if (window) k[d] = emit_loop(e, window->window.data[d].size, &opened);
  }
  for (int d = 0; d < in->rank && window; d++) {
    at[d] = emit_window_position(e, &window->window.data[d], in->dims[d], at[d], k[d], &opened);
  }
  coop_step(e, f, instr, n, halo_index_of(e, in->rank, in->dims, at), values, leaves);
  while (opened--) halo_emit_close(e);
  coop_round(e, n, leaves);
}

/* The type a dot accumulates in: f32 for narrower floats, the result's own otherwise. */
static halo_type coop_accumulator(halo_type result) {
  if (halo_type_is_float(result) && halo_ctype_is_narrow(result)) return HALO_F32;
  return result;
}

/* sum += a * b */
static void coop_multiply_add(halo_emitter *e, halo_value sum, halo_value x, halo_value y) {
  const char *s = sum.text, *a = x.text, *b = y.text;
  if (sum.type == HALO_PRED) {
    halo_emit_line(e, "%s = %s | (%s & %s);", s, s, a, b);
  } else if (halo_type_is_complex(sum.type)) {
    halo_sections_add(&e->sections, halo_type_name(sum.type));
    halo_emit_line(e, "%s += h_mul_%s(%s, %s);", s, halo_type_name(sum.type), a, b);
  } else if (halo_type_is_integral(sum.type)) {
    const char *c = halo_ctype_compute(sum.type);
    const char *u = halo_type_size(sum.type) == 8 ? "ulong" : "uint";
    halo_emit_line(e, "%s = (%s)((%s)%s + (%s)%s * (%s)%s);", s, c, u, s, u, a, u, b);
  } else {
    halo_emit_line(e, "%s += %s * %s;", s, a, b);
  }
}

/* sum += the product of an element of each operand. */
static void coop_add_product(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                             const halo_integer *at[2][HALO_MAX_RANK], halo_value sum) {
  halo_value values[2];
  for (int i = 0; i < 2; i++) {
    const halo_instr *operand = instr->operands[i];
    const halo_shape *shape = operand->shape;
    values[i] =
        halo_emit_value(e, f, operand, 0, halo_index_of(e, shape->rank, shape->dims, at[i]));
  }
  halo_value a = halo_emit_convert(e, values[0], sum.type);
  coop_multiply_add(e, sum, a, halo_emit_convert(e, values[1], sum.type));
}

/* What a sum gives, rounded once. */
static halo_value coop_finish_sum(halo_emitter *e, halo_value sum, halo_type result) {
  sum.type = result;
  if (!halo_ctype_is_narrow(result)) return sum;
  return emit_declare(e, halo_value_fit(e->arena, result, sum.text));
}

void emit_dot(halo_emitter *e, emit_frame *f, const halo_instr *instr, emit_index *index,
              halo_value *leaves) {
  const halo_instr *x = instr->operands[0], *y = instr->operands[1];
  int32_t n_batch, n_contract, count;
  const int64_t *xb = halo_instr_ints(instr, HALO_ATTR_LHS_BATCH_DIMS, &n_batch);
  const int64_t *yb = halo_instr_ints(instr, HALO_ATTR_RHS_BATCH_DIMS, &count);
  const int64_t *xc = halo_instr_ints(instr, HALO_ATTR_LHS_CONTRACTING_DIMS, &n_contract);
  const int64_t *yc = halo_instr_ints(instr, HALO_ATTR_RHS_CONTRACTING_DIMS, &count);
  const halo_integer *at[2][HALO_MAX_RANK] = {{0}}, **x_at = at[0], **y_at = at[1];
  halo_type result = instr->shape->type, type = coop_accumulator(result);
  halo_value sum = emit_variable(e, type, halo_ctype_constant_i64(e->arena, type, 0));
  int next = 0, opened = 0;
  emit_index_prepare(e, index);
  for (int32_t i = 0; i < n_batch; i++) {
    x_at[xb[i]] = y_at[yb[i]] = halo_index_at(index, next++);
  }
  bool contracted[2][HALO_MAX_RANK] = {{false}};
  for (int32_t i = 0; i < n_contract; i++) contracted[0][xc[i]] = contracted[1][yc[i]] = true;
  for (int d = 0; d < x->shape->rank; d++) {
    if (!x_at[d] && !contracted[0][d]) x_at[d] = halo_index_at(index, next++);
  }
  for (int d = 0; d < y->shape->rank; d++) {
    if (!y_at[d] && !contracted[1][d]) y_at[d] = halo_index_at(index, next++);
  }
  int64_t all = 1;
  for (int32_t i = 0; i < n_contract; i++) all *= x->shape->dims[xc[i]];
  const coop_sum terms = coop_begin(e, all);
  for (int32_t i = 0; i < n_contract; i++) {
    x_at[xc[i]] = y_at[yc[i]] = coop_loop(e, &terms, x->shape->dims[xc[i]], &opened);
  }
  coop_add_product(e, f, instr, at, sum);
  while (opened--) halo_emit_close(e);
  coop_end(e, &terms);
  leaves[0] = coop_finish_sum(e, sum, result);
}

/* Products of a window that are written one by one: in a loop compilers make no vectors of the elements around it. */
enum { COOP_UNROLLED = 27 };

/* A window dimension that the text leaves out does nothing. */
static halo_window_dim coop_conv_window(const halo_instr *instr, int d, int64_t size) {
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  if (window && d < window->window.count) return window->window.data[d];
  return (halo_window_dim){.size = size, .stride = 1, .base_dilation = 1, .window_dilation = 1};
}

/* What of the operands' coordinates a result element's index gives: batch and output feature. Gives the group of input
 * features. */
static const halo_integer *coop_conv_begin(halo_emitter *e, const halo_instr *instr,
                                           const emit_index *index, const halo_integer **lhs,
                                           const halo_integer **rhs) {
  const halo_conv_dims *dims = halo_instr_attr(instr, HALO_ATTR_DIM_LABELS)->conv;
  const halo_shape *x = instr->operands[0]->shape, *y = instr->operands[1]->shape;
  halo_integers *pool = &e->integers;
  int64_t batch_groups = halo_instr_int(instr, HALO_ATTR_BATCH_GROUP_COUNT, 1);
  int64_t feature_groups = halo_instr_int(instr, HALO_ATTR_FEATURE_GROUP_COUNT, 1);
  int64_t outputs = y->dims[dims->rhs_output];
  if (outputs == 0) outputs = batch_groups * feature_groups; /* no element is ever computed */
  const halo_integer *n = halo_index_at(index, dims->out_batch);
  const halo_integer *o = halo_index_at(index, dims->out_feature);
  const halo_integer *part = halo_integer_div(pool, o, outputs / batch_groups);
  lhs[dims->lhs_batch] = halo_integer_add(
      pool, n, halo_integer_mul(pool, part, x->dims[dims->lhs_batch] / batch_groups));
  rhs[dims->rhs_output] = o;
  return halo_integer_div(pool, o, outputs / feature_groups);
}

/* Window dimensions, and COOP_FEATURES for the input features, in the order in which products are added: as the
 * image lies, slowest first. Kernels from panels go through it so, and the sums are the same to the bit. */
enum { COOP_FEATURES = -1 };
static int coop_conv_order(const halo_instr *instr, int order[HALO_MAX_RANK]) {
  const halo_conv_dims *dims = halo_instr_attr(instr, HALO_ATTR_DIM_LABELS)->conv;
  const halo_shape *image = instr->operands[0]->shape;
  int count = 0;
  for (int i = image->rank - 1; i >= 0; i--) {
    int at = image->minor_to_major[i];
    if (at == dims->lhs_feature) order[count++] = COOP_FEATURES;
    for (int d = 0; d < dims->spatial; d++) {
      if (at == dims->lhs_spatial[d]) order[count++] = d;
    }
  }
  return count;
}

/* Coordinates in the operands of a convolution for a result element, dimension by dimension: opens the
 * loops over the window, and behind each the test that what it meets lies inside the array. */
static void coop_conv_coordinates(halo_emitter *e, const halo_instr *instr, const emit_index *index,
                                  const halo_integer **lhs, const halo_integer **rhs, int *opened) {
  const halo_conv_dims *dims = halo_instr_attr(instr, HALO_ATTR_DIM_LABELS)->conv;
  const halo_shape *x = instr->operands[0]->shape, *y = instr->operands[1]->shape;
  halo_integers *pool = &e->integers;
  const halo_integer *group = coop_conv_begin(e, instr, index, lhs, rhs);
  int64_t inputs = y->dims[dims->rhs_input];
  int order[HALO_MAX_RANK], count = coop_conv_order(instr, order);
  for (int i = 0; i < count; i++) {
    int d = order[i];
    if (d == COOP_FEATURES) {
      rhs[dims->rhs_input] = emit_loop(e, inputs, opened);
      lhs[dims->lhs_feature] =
          halo_integer_add(pool, halo_integer_mul(pool, group, inputs), rhs[dims->rhs_input]);
      continue;
    }
    int at = dims->lhs_spatial[d];
    int64_t size = y->dims[dims->rhs_spatial[d]];
    halo_window_dim w = coop_conv_window(instr, d, size);
    const halo_integer *k = emit_loop(e, size, opened);
    lhs[at] = emit_window_position(e, &w, x->dims[at], halo_index_at(index, dims->out_spatial[d]),
                                   k, opened);
    if (w.reversal) k = halo_integer_plus(pool, halo_integer_mul(pool, k, -1), size - 1);
    rhs[dims->rhs_spatial[d]] = k;
  }
}

/* Where element k of window dimension d lies in lhs; `*test` is what has to hold for it to be inside, NULL for nothing.
 * Where it does not hold, this is some other place inside. */
static const halo_integer *coop_conv_place(halo_emitter *e, const halo_instr *instr,
                                           const emit_index *index, int d, int64_t k,
                                           const char **test) {
  const halo_conv_dims *dims = halo_instr_attr(instr, HALO_ATTR_DIM_LABELS)->conv;
  int64_t size = instr->operands[1]->shape->dims[dims->rhs_spatial[d]];
  int64_t whole = instr->operands[0]->shape->dims[dims->lhs_spatial[d]];
  halo_window_dim w = coop_conv_window(instr, d, size);
  const halo_integer *out = halo_index_at(index, dims->out_spatial[d]);
  const halo_integer *at =
      halo_integer_plus(&e->integers, halo_integer_mul(&e->integers, out, w.stride),
                        k * w.window_dilation - w.pad_low);
  *test = emit_integer_test(e, at, whole);
  if (!*test || at->high < 0 || at->low >= whole) return at;
  const char *place = halo_arena_printf(e->arena, "(%s) ? %s : 0", *test, emit_integer_atom(e, at));
  return emit_integer_of(e, place, 0, whole - 1);
}

/* The products of a small window's elements, one by one, from the dimension at order[0] on; all are computed, and
 * those inside the array added, since compilers have no good vectors for what a branch loads from one place for all
 * neighbours. */
static void coop_conv_unrolled(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                               const emit_index *index, const halo_integer *group, const int *order,
                               int count, const char *tests,
                               const halo_integer *at[2][HALO_MAX_RANK], halo_value sum) {
  const halo_conv_dims *dims = halo_instr_attr(instr, HALO_ATTR_DIM_LABELS)->conv;
  const int64_t *kernel = instr->operands[1]->shape->dims;
  int64_t inputs = kernel[dims->rhs_input];
  if (count == 0) {
    halo_value next = tests ? emit_variable(e, sum.type, sum.text) : sum;
    coop_add_product(e, f, instr, at, next);
    if (tests) halo_emit_line(e, "%s = (%s) ? %s : %s;", sum.text, tests, next.text, sum.text);
    return;
  }
  int d = order[0];
  for (int64_t i = 0; d == COOP_FEATURES && i < inputs; i++) {
    at[1][dims->rhs_input] = halo_integer_constant(&e->integers, i);
    at[0][dims->lhs_feature] =
        halo_integer_plus(&e->integers, halo_integer_mul(&e->integers, group, inputs), i);
    coop_conv_unrolled(e, f, instr, index, group, order + 1, count - 1, tests, at, sum);
  }
  for (int64_t k = 0; d != COOP_FEATURES && k < kernel[dims->rhs_spatial[d]]; k++) {
    const char *test;
    const halo_integer *place = coop_conv_place(e, instr, index, d, k, &test);
    if (place->high < 0 || place->low >= instr->operands[0]->shape->dims[dims->lhs_spatial[d]])
      continue;
    at[0][dims->lhs_spatial[d]] = place;
    at[1][dims->rhs_spatial[d]] = halo_integer_constant(&e->integers, k);
    const char *both = tests && test ? halo_arena_printf(e->arena, "%s && %s", tests, test) : test;
    coop_conv_unrolled(e, f, instr, index, group, order + 1, count - 1, both ? both : tests, at,
                       sum);
  }
}

bool halo_emitter_unrolls(const halo_instr *convolution) {
  const halo_conv_dims *dims = halo_instr_attr(convolution, HALO_ATTR_DIM_LABELS)->conv;
  const halo_shape *kernel = convolution->operands[1]->shape;
  double products = (double)kernel->dims[dims->rhs_input];
  for (int d = 0; d < dims->spatial; d++) {
    halo_window_dim w = coop_conv_window(convolution, d, kernel->dims[dims->rhs_spatial[d]]);
    if (w.base_dilation != 1 || w.reversal) return false;
    products *= (double)kernel->dims[dims->rhs_spatial[d]];
  }
  return products <= COOP_UNROLLED;
}

void emit_convolution(halo_emitter *e, emit_frame *f, const halo_instr *instr, emit_index *index,
                      halo_value *leaves) {
  const halo_integer *at[2][HALO_MAX_RANK];
  halo_type result = instr->shape->type, type = coop_accumulator(result);
  halo_value sum = emit_variable(e, type, halo_ctype_constant_i64(e->arena, type, 0));
  int opened = 0;
  emit_index_prepare(e, index);
  bool any = halo_shape_element_count(instr->operands[0]->shape) > 0 &&
             halo_shape_element_count(instr->operands[1]->shape) > 0;
  if (any && e->vectors && halo_emitter_unrolls(instr)) {
    const halo_integer *group = coop_conv_begin(e, instr, index, at[0], at[1]);
    int order[HALO_MAX_RANK], count = coop_conv_order(instr, order);
    coop_conv_unrolled(e, f, instr, index, group, order, count, NULL, at, sum);
  } else if (any) {
    coop_conv_coordinates(e, instr, index, at[0], at[1], &opened);
    coop_add_product(e, f, instr, at, sum);
  }
  while (opened--) halo_emit_close(e);
  leaves[0] = coop_finish_sum(e, sum, result);
}

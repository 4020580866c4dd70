/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/window.c: large windows as smaller ones. A reduction that combines in any order goes one
 * dimension after the other; and along a dimension a long window is the end of one block and the
 * beginning of the next, which running combinations of the blocks give for all windows at once, however long
 * they are (M. van Herk, "A fast algorithm for local minimum and maximum filters on rectangular and
 * octagonal kernels", 1992; J. Gil, M. Werman, 1993). Nothing is taken away again, so that it serves for what has no
 * inverse, and sums lose no digits. */
#include "hlo/window.h"
#include "passes/expand/expand.h"

#include <math.h>

/* Combinations that an element costs as much as: one that is written and read again between two dimensions, and one
 * that is in blocks. */
enum { WINDOW_BETWEEN = 8, WINDOW_BLOCKS = 10 };

typedef struct window_reduction {
  halo_opcode op;
  halo_computation *body;
  halo_instr *start;
} window_reduction;

/* ---- What can be rewritten ---- */

/* Whether a scalar changes nothing in combinations by `op`. */
static bool window_is_neutral(halo_opcode op, const halo_instr *scalar) {
  if (scalar->opcode != HALO_OP_CONSTANT) return false;
  halo_type type = scalar->shape->type;
  bool floating = halo_type_is_float(type);
  if (!floating && halo_type_class_of(type) != HALO_CLASS_SINT) return false;
  double value = halo_literal_get_f64(scalar->literal, 0);
  double most = floating ? INFINITY : ldexp(1, (int)halo_type_bits(type) - 1);
  if (op == HALO_OP_ADD) return value == 0;
  if (op == HALO_OP_MULTIPLY) return value == 1;
  if (op == HALO_OP_MAXIMUM) return value == -most;
  return op == HALO_OP_MINIMUM && floating && value == most;
}

/* One array, combined by an operation whose order and start do not matter. */
static bool window_describe(const halo_instr *instr, window_reduction *out) {
  if (instr->operand_count != 2) return false;
  halo_computation *body = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  const halo_instr *root = body->root;
  if (root->operand_count != 2 || root->operands[0] == root->operands[1]) return false;
  for (int k = 0; k < 2; k++) {
    if (root->operands[k]->opcode != HALO_OP_PARAMETER) return false;
    if (root->operands[k]->shape->type != root->shape->type) return false;
  }
  if (root->shape->type != instr->shape->type) return false;
  *out = (window_reduction){root->opcode, body, instr->operands[1]};
  return window_is_neutral(root->opcode, instr->operands[1]);
}

/* Elements along a dimension without holes, with what is put before and behind them. */
static int64_t window_padded(const halo_window_dim *w, int64_t n) {
  return n + w->pad_low + w->pad_high;
}

/* `n` elements along the dimension, `count` windows. */
static bool window_wants_blocks(const halo_window_dim *w, int64_t n, int64_t count) {
  /* Running ones have a kernel of their own (kernels/window/scan.c). */
  if (w->base_dilation != 1 || w->window_dilation != 1 || halo_window_is_running(w, n))
    return false;
  return (double)count * (double)w->size >= WINDOW_BLOCKS * (double)window_padded(w, n);
}

/* Whether going through the dimensions, the last one first, takes half the combinations at most. */
static bool window_pays(const halo_window_dim *window, const halo_shape *in,
                        const halo_shape *out) {
  double together = 1, apart = 0, elements = 1;
  for (int d = 0; d < in->rank; d++) {
    elements *= (double)in->dims[d];
    together *= (double)out->dims[d] * (double)window[d].size;
  }
  for (int d = in->rank - 1; d >= 0; d--) {
    const halo_window_dim *w = &window[d];
    if (halo_window_is_trivial(w)) continue;
    double others = elements / (double)in->dims[d], count = (double)out->dims[d];
    bool blocks = window_wants_blocks(w, in->dims[d], out->dims[d]);
    apart += others * (blocks ? WINDOW_BLOCKS * (double)window_padded(w, in->dims[d])
                              : count * (double)w->size);
    elements = others * count;
    apart += WINDOW_BETWEEN * elements;
  }
  return together >= 2 * apart;
}

/* ---- How ---- */

/* The reduction of `a` with these windows. */
static halo_instr *window_reduce(halo_expander *x, const window_reduction *r, halo_instr *a,
                                 const halo_window_dim *window, int rank) {
  if (!a) return NULL;
  halo_arena *arena = &x->r->computation->module->arena;
  halo_computation **body = halo_arena_new(arena, halo_computation *);
  *body = r->body;
  halo_attr attrs[2] = {{.id = HALO_ATTR_WINDOW}, {.id = HALO_ATTR_TO_APPLY, .comps = {body, 1}}};
  attrs[0].window.data = halo_arena_copy(arena, window, sizeof *window * (size_t)rank);
  attrs[0].window.count = rank;
  return halo_expand_op(x, HALO_OP_REDUCE_WINDOW, (halo_instr *[]){a, r->start}, 2, attrs, 2);
}

/* With windows along one dimension only. */
static halo_instr *window_reduce_along(halo_expander *x, const window_reduction *r, halo_instr *a,
                                       int dim, const halo_window_dim *w) {
  if (!a) return NULL;
  halo_window_dim window[HALO_MAX_RANK];
  for (int d = 0; d < a->shape->rank; d++) {
    window[d] = (halo_window_dim){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  }
  window[dim] = *w;
  return window_reduce(x, r, a, window, a->shape->rank);
}

/* What lies before and behind made part of the array, which becomes `length` long. */
static halo_instr *window_pad(halo_expander *x, const window_reduction *r, halo_instr *a, int dim,
                              const halo_window_dim *w, int64_t length) {
  int64_t padding[3 * HALO_MAX_RANK] = {0};
  padding[3 * dim] = w->pad_low;
  padding[3 * dim + 1] = length - a->shape->dims[dim] - w->pad_low;
  return halo_expand_pad(x, a, r->start, padding);
}

/* Running combinations of blocks [.., blocks, size, ..], from their starts or their ends, as an array of the
 * dimensions of `like`, and of that the elements from `from` on that windows take. */
static halo_instr *window_running(halo_expander *x, const window_reduction *r, halo_instr *blocks,
                                  int dim, bool from_ends, const halo_instr *like, int64_t from,
                                  const halo_window_dim *w, int64_t count) {
  if (!blocks || !like) return NULL;
  halo_window_dim run = {.size = w->size, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  if (from_ends) {
    run.pad_high = w->size - 1;
  } else {
    run.pad_low = w->size - 1;
  }
  const halo_shape *flat = like->shape;
  halo_instr *all = window_reduce_along(x, r, blocks, dim + 1, &run);
  all = halo_expand_reshape(x, all, flat->rank, flat->dims);
  if (!all) return NULL;
  int64_t bounds[3 * HALO_MAX_RANK];
  for (int d = 0; d < flat->rank; d++) {
    bounds[3 * d] = d == dim ? from : 0;
    bounds[3 * d + 1] = d == dim ? from + (count - 1) * w->stride + 1 : flat->dims[d];
    bounds[3 * d + 2] = d == dim ? w->stride : 1;
  }
  return halo_expand_slice(x, all, bounds);
}

/* Whether windows are whole blocks, at the places of `like`. */
static halo_instr *window_is_block(halo_expander *x, const halo_shape *like, int dim,
                                   const halo_window_dim *w) {
  halo_module *module = x->r->computation->module;
  const halo_shape *shape = halo_shape_new(&module->arena, HALO_S64, 1, &like->dims[dim]);
  halo_instr *at = halo_expand_iota(x, shape, 0);
  halo_instr *stride =
      halo_expand_splat(x, halo_expand_scalar(x, HALO_S64, (double)w->stride), shape);
  halo_instr *size = halo_expand_splat(x, halo_expand_scalar(x, HALO_S64, (double)w->size), shape);
  halo_instr *zero = halo_expand_splat(x, halo_expand_scalar(x, HALO_S64, 0), shape);
  at = halo_expand_binary(x, HALO_OP_MULTIPLY, at, stride);
  at = halo_expand_binary(x, HALO_OP_REMAINDER, at, size);
  int64_t along = dim;
  return halo_expand_broadcast(x, halo_expand_compare(x, at, HALO_EQ, zero), &along, like);
}

/* result[i] = suffix[i s] combined with prefix[i s + size - 1], unless both are of one block. */
static halo_instr *window_by_blocks(halo_expander *x, const window_reduction *r, halo_instr *a,
                                    int dim, const halo_window_dim *w) {
  const halo_shape *shape = a->shape;
  int64_t n = shape->dims[dim], count = x->like->shape->dims[dim];
  int64_t blocks = (window_padded(w, n) + w->size - 1) / w->size, dims[HALO_MAX_RANK];
  halo_instr *padded = window_pad(x, r, a, dim, w, blocks * w->size);
  for (int d = 0; d <= shape->rank; d++) {
    dims[d] = d == dim ? blocks : d == dim + 1 ? w->size : shape->dims[d > dim ? d - 1 : d];
  }
  halo_instr *cut = halo_expand_reshape(x, padded, shape->rank + 1, dims);
  halo_instr *ends = window_running(x, r, cut, dim, true, padded, 0, w, count);
  halo_instr *starts = window_running(x, r, cut, dim, false, padded, w->size - 1, w, count);
  halo_instr *both = halo_expand_binary(x, r->op, ends, starts);
  if (!both) return NULL;
  halo_instr *whole = window_is_block(x, both->shape, dim, w);
  return halo_expand_select(x, whole, ends, both);
}

static halo_instr *window_along(halo_expander *x, const window_reduction *r, halo_instr *a, int dim,
                                const halo_window_dim *w) {
  if (!a) return NULL;
  return window_wants_blocks(w, a->shape->dims[dim], x->like->shape->dims[dim])
             ? window_by_blocks(x, r, a, dim, w)
             : window_reduce_along(x, r, a, dim, w);
}

/* What narrow floats are added up in: they are rounded once. */
static halo_instr *window_widen(halo_expander *x, window_reduction *r, halo_instr *a) {
  bool exact = r->op == HALO_OP_MAXIMUM || r->op == HALO_OP_MINIMUM;
  if (exact || !halo_type_is_float(a->shape->type) || halo_type_size(a->shape->type) >= 4) return a;
  r->start = halo_expand_convert(x, r->start, HALO_F32);
  r->body = halo_expand_combiner(x, r->op, HALO_F32);
  return halo_expand_convert(x, a, HALO_F32);
}

halo_instr *halo_expand_window(halo_expander *x, halo_instr *instr) {
  window_reduction r;
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  if (!window || !window_describe(instr, &r)) return NULL;
  const halo_shape *in = instr->operands[0]->shape;
  if (halo_shape_element_count(in) == 0 || halo_shape_element_count(instr->shape) == 0) return NULL;
  /* Blocks are a dimension more. */
  if (in->rank == HALO_MAX_RANK || !window_pays(window->window.data, in, instr->shape)) return NULL;
  halo_type type = instr->shape->type;
  halo_instr *a = window_widen(x, &r, instr->operands[0]);
  for (int d = in->rank - 1; d >= 0; d--) {
    const halo_window_dim *w = &window->window.data[d];
    if (!halo_window_is_trivial(w)) a = window_along(x, &r, a, d, w);
  }
  return halo_expand_convert(x, a, type);
}

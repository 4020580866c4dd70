/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite/bitcast.c: a bitcast keeps the bytes and gives them another shape, layout and element type. It is
 * written as the operations it stands for: the operand's dimensions in the order of memory, the new type,
 * a reshape, and the result's dimensions in their logical order. */
#include "rewrite/rewrite.h"

/* An array's dimensions in the order of memory, slowest first. */
static halo_instr *bitcast_to_memory(halo_rewriter *r, halo_instr *x) {
  const halo_shape *from = x->shape;
  if (halo_shape_has_default_layout(from)) return x;
  int64_t dims[HALO_MAX_RANK], order[HALO_MAX_RANK];
  for (int i = 0; i < from->rank; i++) {
    order[i] = from->minor_to_major[from->rank - 1 - i];
    dims[i] = from->dims[order[i]];
  }
  const halo_shape *to =
      halo_shape_new(&r->computation->module->arena, from->type, from->rank, dims);
  return halo_rewrite_make_listed(r, x, HALO_OP_TRANSPOSE, to, x, HALO_ATTR_DIMENSIONS, order,
                                  from->rank);
}

/* The reverse. The layout stays: it tells a bitcast of the result what lies where. */
static halo_instr *bitcast_from_memory(halo_rewriter *r, halo_instr *x, const halo_shape *to) {
  if (halo_shape_has_default_layout(to)) return x;
  int64_t order[HALO_MAX_RANK];
  for (int i = 0; i < to->rank; i++) order[to->minor_to_major[to->rank - 1 - i]] = i;
  return halo_rewrite_make_listed(r, x, HALO_OP_TRANSPOSE, to, x, HALO_ATTR_DIMENSIONS, order,
                                  to->rank);
}

static halo_instr *bitcast_reshape(halo_rewriter *r, halo_instr *x, int rank, const int64_t *dims) {
  const halo_shape *to = halo_shape_new(&r->computation->module->arena, x->shape->type, rank, dims);
  if (halo_shape_same_dims(x->shape, to)) return x;
  return halo_rewrite_make_unary(r, x, HALO_OP_RESHAPE, to, x);
}

static halo_instr *bitcast_convert(halo_rewriter *r, halo_instr *x, halo_type type, int rank,
                                   const int64_t *dims) {
  const halo_shape *to = halo_shape_new(&r->computation->module->arena, type, rank, dims);
  return halo_rewrite_make_unary(r, x, HALO_OP_BITCAST_CONVERT, to, x);
}

/* Real and imaginary parts of complex numbers [n] as [2 * n]. */
static halo_instr *bitcast_from_complex(halo_rewriter *r, halo_instr *x) {
  halo_arena *arena = &r->computation->module->arena;
  int64_t n = x->shape->dims[0];
  halo_type real = halo_type_real_part(x->shape->type);
  const halo_shape *part = halo_shape_new(arena, real, 1, (const int64_t[]){n});
  const halo_shape *pairs = halo_shape_new(arena, real, 2, (const int64_t[]){n, 2});
  halo_instr *parts[2];
  for (int i = 0; i < 2; i++) {
    parts[i] = halo_rewrite_make_unary(r, x, i ? HALO_OP_IMAG : HALO_OP_REAL, part, x);
    parts[i] = bitcast_reshape(r, parts[i], 2, (const int64_t[]){n, 1});
  }
  halo_attr along =
      halo_rewrite_list_attr(r->computation->module, HALO_ATTR_DIMENSIONS, (const int64_t[]){1}, 1);
  x = halo_rewrite_make(r, x, HALO_OP_CONCATENATE, pairs, parts, 2, &along, 1);
  return bitcast_reshape(r, x, 1, (const int64_t[]){2 * n});
}

/* The reverse, of parts [n]. */
static halo_instr *bitcast_to_complex(halo_rewriter *r, halo_instr *x, halo_type type) {
  halo_arena *arena = &r->computation->module->arena;
  int64_t n = x->shape->dims[0] / 2;
  x = bitcast_reshape(r, x, 2, (const int64_t[]){n, 2});
  halo_instr *parts[2];
  for (int i = 0; i < 2; i++) {
    const halo_shape *half = halo_shape_new(arena, x->shape->type, 2, (const int64_t[]){n, 1});
    const int64_t ranges[] = {0, n, 1, i, i + 1, 1};
    parts[i] = halo_rewrite_make_listed(r, x, HALO_OP_SLICE, half, x, HALO_ATTR_SLICE, ranges, 6);
    parts[i] = bitcast_reshape(r, parts[i], 1, &n);
  }
  return halo_rewrite_make_binary(r, x, HALO_OP_COMPLEX, halo_shape_new(arena, type, 1, &n),
                                  parts[0], parts[1]);
}

/* Numbers [n] that are neither complex nor pred as those of another width. */
static halo_instr *bitcast_width(halo_rewriter *r, halo_instr *x, halo_type to) {
  int from_bits = halo_type_bits(x->shape->type), to_bits = halo_type_bits(to);
  int64_t n = x->shape->dims[0];
  if (from_bits < to_bits) {
    int64_t ratio = to_bits / from_bits, wide[] = {n / ratio, ratio};
    return bitcast_convert(r, bitcast_reshape(r, x, 2, wide), to, 1, wide);
  }
  int64_t narrow[] = {n, from_bits / to_bits}, all = n * narrow[1];
  return bitcast_reshape(r, bitcast_convert(r, x, to, 2, narrow), 1, &all);
}

/* Whether elements of one type are elements of the other, bit by bit. */
static bool bitcast_is_plain(halo_type from, halo_type to) {
  return halo_type_stored_bits(from) == halo_type_stored_bits(to) &&
         halo_type_is_complex(from) == halo_type_is_complex(to);
}

/* An array in memory's order as one of another type: in one dimension unless the widths are the same. */
static halo_instr *bitcast_type(halo_rewriter *r, halo_instr *x, halo_type to) {
  halo_type from = x->shape->type;
  bool complex_to = halo_type_is_complex(to);
  if (from == to) return x;
  if (bitcast_is_plain(from, to)) return bitcast_convert(r, x, to, x->shape->rank, x->shape->dims);
  int64_t count = halo_shape_element_count(x->shape);
  halo_type last = complex_to ? halo_type_real_part(to) : to == HALO_PRED ? HALO_U8 : to;
  x = bitcast_reshape(r, x, 1, &count);
  if (halo_type_is_complex(from)) x = bitcast_from_complex(r, x);
  if (from == HALO_PRED) x = bitcast_convert(r, x, HALO_U8, 1, &count);
  if (x->shape->type != last) x = bitcast_width(r, x, last);
  if (complex_to) x = bitcast_to_complex(r, x, to);
  if (to == HALO_PRED) x = bitcast_convert(r, x, to, 1, x->shape->dims);
  return x;
}

halo_instr *halo_bitcast_expand(halo_rewriter *r, halo_instr *bitcast) {
  halo_instr *x = bitcast->operands[0];
  const halo_shape *to = bitcast->shape;
  halo_arena *arena = &r->computation->module->arena;
  if (halo_shape_equal(x->shape, to)) return x;
  if (bitcast_is_plain(x->shape->type, to->type) &&
      halo_shape_equal(halo_shape_with_type(arena, x->shape, to->type), to)) {
    return halo_rewrite_make_unary(r, bitcast, HALO_OP_BITCAST_CONVERT, to, x);
  }
  int64_t dims[HALO_MAX_RANK];
  for (int i = 0; i < to->rank; i++) dims[i] = to->dims[to->minor_to_major[to->rank - 1 - i]];
  x = bitcast_type(r, bitcast_to_memory(r, x), to->type);
  return bitcast_from_memory(r, bitcast_reshape(r, x, to->rank, dims), to);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/pads.c: rules for sums of what lies apart, as gradients of pieces are: of jnp.roll, split, a
 * concatenation taken to pieces. */
#include "passes/simplify/simplify.h"

/* An array with zeros before and behind it along one dimension. */
typedef struct pads_piece {
  halo_instr *array;
  int64_t dim, low, high;
} pads_piece;

/* False unless `instr` is a pad of +0 along one dimension, without any between the elements. */
static bool pads_match(const halo_instr *instr, pads_piece *piece) {
  if (instr->opcode != HALO_OP_PAD) return false;
  const halo_instr *value = halo_simplify_arg(instr, 1);
  if (!halo_simplify_is_int(value, 0) && !halo_simplify_is_float(value, 0)) return false;
  int32_t count, padded = 0;
  const int64_t *padding = halo_instr_ints(instr, HALO_ATTR_PADDING, &count);
  for (int32_t d = 0; d < instr->shape->rank; d++) {
    int64_t low = padding[3 * d], high = padding[3 * d + 1];
    if (low < 0 || high < 0 || padding[3 * d + 2] != 0) return false;
    if (low == 0 && high == 0) continue;
    *piece = (pads_piece){halo_simplify_arg(instr, 0), d, low, high};
    padded++;
  }
  return padded == 1;
}

/* What `piece` was joined from already, or itself: the sum with zero around that is made anew. */
static halo_instr *pads_bare(halo_instr *array, int64_t dim) {
  if (array->opcode != HALO_OP_ADD) return array;
  halo_instr *joined = halo_simplify_arg(array, 0);
  int32_t count;
  bool is_sum = halo_simplify_is_float(halo_simplify_arg(array, 1), 0) &&
                joined->opcode == HALO_OP_CONCATENATE &&
                halo_instr_ints(joined, HALO_ATTR_DIMENSIONS, &count)[0] == dim;
  return is_sum ? joined : array;
}

static const halo_shape *pads_extent(halo_rewriter *r, const halo_shape *like, int64_t dim,
                                     int64_t extent) {
  int64_t dims[HALO_MAX_RANK];
  for (int32_t d = 0; d < like->rank; d++) dims[d] = d == dim ? extent : like->dims[d];
  return halo_shape_new(&r->computation->module->arena, like->type, like->rank, dims);
}

/* Adding pads whose elements are neighbours is putting these side by side. Zero is added still: -0 and the zero of
 * the other pad give 0. */
halo_instr *halo_simplify_add(halo_rewriter *r, halo_instr *instr) {
  pads_piece a, b;
  if (!pads_match(instr->operands[0], &a) || !pads_match(instr->operands[1], &b) ||
      a.dim != b.dim || !halo_shape_has_default_layout(instr->shape)) {
    return halo_simplify_binary(r, instr);
  }
  if (a.low > b.low) {
    pads_piece other = a;
    a = b;
    b = other;
  }
  int64_t extent = instr->shape->dims[a.dim] - a.low - b.high;
  if (b.low != a.low + a.array->shape->dims[a.dim]) return NULL;
  const halo_shape *shape = pads_extent(r, instr->shape, a.dim, extent);
  halo_instr *pieces[] = {pads_bare(a.array, a.dim), pads_bare(b.array, a.dim)};
  halo_attr along = halo_rewrite_list_attr(r->computation->module, HALO_ATTR_DIMENSIONS, &a.dim, 1);
  halo_instr *joined =
      halo_rewrite_make(r, instr, HALO_OP_CONCATENATE, shape, pieces, 2, &along, 1);
  halo_instr *zero = halo_rewrite_make_scalar(r, instr, shape->type, 0);
  halo_instr *sum = halo_rewrite_make_binary(r, instr, HALO_OP_ADD, shape, joined,
                                             halo_rewrite_make_splat(r, instr, zero, shape));
  if (a.low == 0 && b.high == 0) return sum;
  int64_t padding[3 * HALO_MAX_RANK] = {0};
  padding[3 * a.dim] = a.low;
  padding[3 * a.dim + 1] = b.high;
  halo_attr around =
      halo_rewrite_list_attr(r->computation->module, HALO_ATTR_PADDING, padding, 3 * shape->rank);
  halo_instr *operands[] = {sum, zero};
  return halo_rewrite_make(r, instr, HALO_OP_PAD, instr->shape, operands, 2, &around, 1);
}

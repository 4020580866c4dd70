/* SPDX-License-Identifier: Apache-2.0 */
/* partition/indexed.c: one partition's part of gather. */
#include "partition/ops.h"

#include <string.h>

static bool indexed_in(const int64_t *list, int32_t count, int64_t value) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == value) return true;
  }
  return false;
}

/* ---- Gather ---- */

static void indexed_slice_sizes(halo_spmd_site *s) {
  int64_t sizes[HALO_MAX_RANK];
  int32_t count;
  const int64_t *written = halo_instr_ints(s->instr, HALO_ATTR_SLICE_SIZES, &count);
  const halo_shape *whole = s->instr->operands[0]->shape, *part = s->operands[0]->shape;
  for (int32_t d = 0; d < count; d++) {
    sizes[d] = written[d] == whole->dims[d] ? part->dims[d] : written[d];
  }
  for (int32_t i = 0; i < s->attr_count; i++) {
    if (s->attrs[i].id != HALO_ATTR_SLICE_SIZES) continue;
    s->attrs[i] = halo_rewrite_list_attr(s->p->module, HALO_ATTR_SLICE_SIZES, sizes, count);
  }
}

/* Whether each element of the result comes of an index within the part: pred of the result's extents. */
static halo_instr *indexed_inside(halo_spmd_site *s, halo_instr *indices, int64_t size) {
  halo_expander *x = &s->p->x;
  const halo_shape *shape = indices->shape;
  int64_t vector = halo_instr_int(s->instr, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  int64_t dims[HALO_MAX_RANK], kept[HALO_MAX_RANK];
  int32_t offsets;
  const int64_t *offset = halo_instr_ints(s->instr, HALO_ATTR_OFFSET_DIMS, &offsets);
  halo_instr *inside = halo_spmd_between(s->p, indices, 0, size - 1);
  int rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (d != vector) kept[rank++] = shape->dims[d];
  }
  inside = halo_expand_reshape(x, inside, rank, kept);
  for (int d = 0, k = 0; d < s->shape->rank; d++) {
    if (!indexed_in(offset, offsets, d)) dims[k++] = d;
  }
  return halo_expand_broadcast(x, inside, dims, s->shape);
}

static halo_type indexed_bits(halo_type type) {
  switch (halo_type_bits(type)) {
    case 4: return HALO_U4;
    case 8: return HALO_U8;
    case 16: return HALO_U16;
    case 32: return HALO_U32;
    default: return HALO_U64;
  }
}

/* Each partition looks up the rows that it has, and zeros elsewhere. Bits are joined, not numbers, so that every
 * one arrives as it was. */
halo_instr *halo_spmd_gather(halo_spmd_site *s) {
  halo_spmd *p = s->p;
  halo_expander *x = &p->x;
  if (!s->operands[0] || !s->operands[1]) return NULL;
  indexed_slice_sizes(s);
  if (!s->summed) return halo_spmd_plain(s);
  int32_t count;
  int64_t dim = halo_instr_ints(s->instr, HALO_ATTR_START_INDEX_MAP, &count)[0];
  int64_t whole = s->instr->operands[0]->shape->dims[dim], size = s->operands[0]->shape->dims[dim];
  halo_instr *indices = halo_spmd_widen(p, s->operands[1]),
             *begin = halo_spmd_begin(s, 0, (int)dim);
  const halo_shape *shape = indices->shape;
  halo_instr *bounds[3] = {halo_spmd_splat(p, shape, 0), indices,
                           halo_spmd_splat(p, shape, whole - 1)};
  indices = halo_expand_op(x, HALO_OP_CLAMP, bounds, 3, NULL, 0);
  begin = halo_expand_convert(x, begin, shape->type);
  indices = halo_expand_binary(x, HALO_OP_SUBTRACT, indices, halo_expand_splat(x, begin, shape));
  s->operands[1] = indices;
  halo_instr *value = indices ? halo_spmd_plain(s) : NULL;
  if (!value) return NULL;
  halo_type type = value->shape->type, bits = type;
  if (halo_type_is_float(type)) {
    bits = indexed_bits(type);
    value =
        halo_rewrite_make_unary(&p->r, s->instr, HALO_OP_BITCAST_CONVERT,
                                halo_shape_with_type(&p->module->arena, value->shape, bits), value);
  }
  halo_instr *inside = indexed_inside(s, indices, size);
  value = halo_expand_select(x, inside, value, halo_spmd_splat(p, value->shape, 0));
  halo_spmd_leaf *leaf = halo_spmd_node_of(s->instr)->leaves[0];
  halo_spmd_sharding from = halo_spmd_needed(p, s->rule, s->rule->operands, s->axes);
  if (!value) return NULL;
  value = halo_spmd_combine(p, value, &from, s->summed, &leaf->box->sharding,
                            halo_expand_combiner(x, HALO_OP_OR, bits));
  if (value && bits != type) {
    value =
        halo_rewrite_make_unary(&p->r, s->instr, HALO_OP_BITCAST_CONVERT,
                                halo_shape_with_type(&p->module->arena, value->shape, type), value);
  }
  halo_spmd_define(p, leaf, value, &from);
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* partition/borders.c: operations that move a window, or everything, along a dimension that is cut: partitions get
 * no more of each other than the borders of their parts. */
#include "partition/ops.h"

#include <string.h>

/* ---- Moving ---- */

/* What the partition `by` places on along the axes has; zeros where there is none, unless they go round. */
static halo_instr *borders_from(halo_spmd *p, halo_instr *value, const halo_spmd_axes *axes,
                                int64_t by, bool round) {
  int64_t tiles = halo_spmd_tiles(p, axes), *pairs;
  int32_t count = 0;
  if (!value || by == 0 || (round && by % tiles == 0)) return value;
  pairs = halo_arena_array(&p->arena, int64_t, 2 * p->mesh.devices);
  for (int64_t device = 0; device < p->mesh.devices; device++) {
    int64_t here = halo_spmd_position(p, axes, device), there = here + by, from = device;
    if (round) there = (there % tiles + tiles) % tiles;
    if (there < 0 || there >= tiles) continue;
    for (int k = axes->count - 1; k >= 0; k--) {
      int64_t radix = p->mesh.radix[axes->id[k]], stride = p->mesh.stride[axes->id[k]];
      from += (there % radix - here % radix) * stride;
      here /= radix;
      there /= radix;
    }
    pairs[count++] = from;
    pairs[count++] = device;
  }
  halo_attr attrs[] = {
      {.id = HALO_ATTR_CHANNEL_ID, .i = p->channel++},
      halo_rewrite_list_attr(p->module, HALO_ATTR_SOURCE_TARGET_PAIRS, pairs, count)};
  return halo_rewrite_make(&p->r, p->x.like, HALO_OP_COLLECTIVE_PERMUTE, value->shape, &value, 1,
                           attrs, 2);
}

/* `size` elements of the part that lies `by` places on: its last ones where it comes before, else its first ones. What
 * lies outside of the array is `fill`, NULL: zero. */
static halo_instr *borders_piece(halo_spmd *p, halo_instr *value, int dim,
                                 const halo_spmd_axes *axes, int64_t by, int64_t size,
                                 halo_instr *fill) {
  halo_expander *x = &p->x;
  int64_t all = value->shape->dims[dim], tiles = halo_spmd_tiles(p, axes);
  int64_t begin = by < 0 ? all - size : 0, distance = by < 0 ? -by : by;
  halo_instr *piece = halo_expand_range(x, value, dim, begin, begin + size);
  if (!piece) return NULL;
  halo_instr *outside = fill ? fill : halo_expand_scalar(x, piece->shape->type, 0);
  outside = halo_expand_splat(x, outside, piece->shape);
  if (distance >= tiles) return outside;
  piece = borders_from(p, piece, axes, by, false);
  if (!fill) return piece;
  halo_instr *place = halo_spmd_offset(p, axes, 1);
  if (!place) return NULL;
  halo_instr *bound =
      halo_expand_scalar(x, place->shape->type, (double)(by < 0 ? distance : tiles - distance));
  halo_instr *inside = halo_expand_compare(x, place, by < 0 ? HALO_GE : HALO_LT, bound);
  const halo_shape *flags = halo_shape_with_type(&p->module->arena, outside->shape, HALO_PRED);
  return halo_expand_select(x, halo_expand_splat(x, inside, flags), piece, outside);
}

/* Each part with what the reach says of its neighbours. */
static halo_instr *borders_extend(halo_spmd *p, halo_instr *value, int dim,
                                  const halo_spmd_axes *axes, const halo_spmd_reach *reach,
                                  halo_instr *fill) {
  if (!value) return NULL;
  int64_t size = value->shape->dims[dim];
  int64_t before = reach->low > 0 ? (reach->low + size - 1) / size : 0;
  int64_t behind = reach->high > 0 ? (reach->high + size - 1) / size : 0;
  halo_instr **parts = halo_arena_array(&p->arena, halo_instr *, before + behind + 2);
  int32_t count = 0;
  for (int64_t j = before; j >= 1; j--) {
    int64_t left = reach->low - (j - 1) * size;
    parts[count++] = borders_piece(p, value, dim, axes, -j, left < size ? left : size, fill);
  }
  parts[count++] = value;
  for (int64_t j = 1; j <= behind; j++) {
    int64_t left = reach->high - (j - 1) * size;
    parts[count++] = borders_piece(p, value, dim, axes, j, left < size ? left : size, fill);
  }
  for (int32_t i = 0; i < count; i++) {
    if (!parts[i]) return NULL;
  }
  value = halo_expand_join(&p->x, parts, count, dim);
  if (!value || (reach->low >= 0 && reach->high >= 0)) return value;
  int64_t end = value->shape->dims[dim] + (reach->high < 0 ? reach->high : 0);
  return halo_expand_range(&p->x, value, dim, reach->low < 0 ? -reach->low : 0, end);
}

/* ---- Windows ---- */

/* The window attribute, to be changed. */
static halo_window_dim *borders_window(halo_spmd_site *s) {
  for (int32_t i = 0; i < s->attr_count; i++) {
    if (s->attrs[i].id != HALO_ATTR_WINDOW) continue;
    size_t size = sizeof(halo_window_dim) * (size_t)s->attrs[i].window.count;
    halo_window_dim *copy = halo_arena_copy(&s->p->module->arena, s->attrs[i].window.data, size);
    s->attrs[i].window.data = copy;
    return copy;
  }
  return NULL;
}

halo_instr *halo_spmd_convolution(halo_spmd_site *s) {
  halo_spmd *p = s->p;
  halo_window_dim *window = borders_window(s);
  const halo_conv_dims *dims = halo_instr_attr(s->instr, HALO_ATTR_DIM_LABELS)->conv;
  halo_spmd_sharding lhs = halo_spmd_needed(p, s->rule, 0, s->axes);
  halo_spmd_sharding rhs = halo_spmd_needed(p, s->rule, 1, s->axes);
  for (int k = 0; k < dims->spatial && window && s->operands[0] && s->operands[1]; k++) {
    int in = dims->lhs_spatial[k], kernel = dims->rhs_spatial[k];
    int64_t size = s->rule->leaf[0]->shape->dims[in];
    int64_t out = s->rule->leaf[2]->shape->dims[dims->out_spatial[k]];
    halo_spmd_reach reach;
    if (lhs.dims[in].count == 0) continue;
    if (rhs.dims[kernel].count > 0) {
      (void)halo_spmd_kernel_reach(&window[k], size, out, &reach);
      window[k].size = s->operands[1]->shape->dims[kernel];
    } else {
      (void)halo_spmd_window_reach(&window[k], size, out, &reach);
    }
    s->operands[0] = borders_extend(p, s->operands[0], in, &lhs.dims[in], &reach, NULL);
    window[k].pad_low = reach.pad_low;
    window[k].pad_high = reach.pad_high;
  }
  return halo_spmd_plain(s);
}

halo_instr *halo_spmd_reduce_window(halo_spmd_site *s) {
  halo_spmd *p = s->p;
  halo_window_dim *window = borders_window(s);
  int32_t arrays = s->instr->operand_count / 2;
  halo_spmd_sharding lies = halo_spmd_needed(p, s->rule, 0, s->axes);
  const halo_shape *from = s->rule->leaf[0]->shape;
  const halo_shape *to = s->rule->leaf[s->rule->operands]->shape;
  for (int d = 0; d < from->rank && window; d++) {
    halo_spmd_reach reach;
    if (lies.dims[d].count == 0 ||
        !halo_spmd_window_reach(&window[d], from->dims[d], to->dims[d], &reach)) {
      continue;
    }
    for (int32_t i = 0; i < arrays; i++) {
      s->operands[i] =
          borders_extend(p, s->operands[i], d, &lies.dims[d], &reach, s->operands[arrays + i]);
    }
    window[d].pad_low = reach.pad_low;
    window[d].pad_high = reach.pad_high;
  }
  return halo_spmd_plain(s);
}

/* ---- Everything moves ---- */

halo_instr *halo_spmd_pad(halo_spmd_site *s) {
  halo_spmd *p = s->p;
  int32_t count;
  int64_t padding[3 * HALO_MAX_RANK];
  const int64_t *written = halo_instr_ints(s->instr, HALO_ATTR_PADDING, &count);
  halo_spmd_sharding lies = halo_spmd_needed(p, s->rule, 0, s->axes);
  memcpy(padding, written, sizeof *padding * (size_t)count);
  for (int d = 0; d < lies.rank; d++) {
    if (lies.dims[d].count == 0 || padding[3 * d] == 0) continue;
    const halo_spmd_reach reach = {.low = padding[3 * d], .high = padding[3 * d + 1]};
    s->operands[0] = borders_extend(p, s->operands[0], d, &lies.dims[d], &reach, s->operands[1]);
    padding[3 * d] = padding[3 * d + 1] = 0;
  }
  for (int32_t i = 0; i < s->attr_count; i++) {
    if (s->attrs[i].id != HALO_ATTR_PADDING) continue;
    s->attrs[i] = halo_rewrite_list_attr(p->module, HALO_ATTR_PADDING, padding, count);
  }
  return halo_spmd_plain(s);
}

halo_instr *halo_spmd_rotate(halo_spmd_site *s) {
  halo_spmd *p = s->p;
  halo_instr *value = s->operands[0], *parts[2];
  int dim;
  int64_t by;
  if (!value || !halo_spmd_is_rotation(s->instr, &dim, &by)) return value;
  halo_spmd_sharding lies = halo_spmd_needed(p, s->rule, 0, s->axes);
  const halo_spmd_axes *axes = &lies.dims[dim];
  int64_t size = value->shape->dims[dim], whole = by / size, rest = by % size;
  parts[0] = halo_expand_range(&p->x, value, dim, rest, size);
  parts[0] = borders_from(p, parts[0], axes, whole, true);
  if (rest == 0) return parts[0];
  parts[1] = halo_expand_range(&p->x, value, dim, 0, rest);
  parts[1] = borders_from(p, parts[1], axes, whole + 1, true);
  return parts[0] && parts[1] ? halo_expand_join(&p->x, parts, 2, dim) : NULL;
}

/* ---- Finding shifts ---- */

/* The sharding that is written on what is replaced. */
static int32_t shift_sharding(const halo_instr *instr, halo_attr *attrs, int32_t count) {
  const halo_attr *said = halo_instr_attr(instr, HALO_ATTR_SHARDING);
  if (said) attrs[count++] = *said;
  return count;
}

/* Where a slice begins along `dim`, of which it takes `size` elements, and all of the others; -1: it is none such. */
static int64_t shift_begin(const halo_instr *slice, int dim, int64_t size) {
  int32_t count;
  const int64_t *bounds = halo_instr_ints(slice, HALO_ATTR_SLICE, &count);
  const halo_shape *from = slice->operands[0]->shape;
  if (from->dynamic) return -1;
  for (int d = 0; d < from->rank; d++) {
    bool all = bounds[3 * d] == 0 && bounds[3 * d + 1] == from->dims[d];
    if (bounds[3 * d + 2] != 1 || (d != dim && !all)) return -1;
  }
  return bounds[3 * dim + 1] - bounds[3 * dim] == size ? bounds[3 * dim] : -1;
}

static halo_instr *shift_rotation(halo_rewriter *r, const halo_instr *like, halo_instr *x, int dim,
                                  int64_t by) {
  int64_t list[2] = {dim, by};
  halo_attr attrs[3] = {
      {.id = HALO_ATTR_CUSTOM_CALL_TARGET, .text = HALO_SPMD_ROTATION},
      halo_rewrite_list_attr(r->computation->module, HALO_ATTR_DIMENSIONS, list, 2)};
  int32_t count = shift_sharding(like, attrs, 2);
  return halo_rewrite_make(r, like, HALO_OP_CUSTOM_CALL, like->shape, &x, 1, attrs, count);
}

/* concatenate(slice(x, by to the end), slice(x, 0 to by)). */
static halo_instr *shift_concatenate(halo_rewriter *r, halo_instr *instr) {
  int32_t count;
  if (instr->operand_count != 2 || !halo_shape_is_array(instr->shape)) return NULL;
  int dim = (int)halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0];
  halo_instr *end = instr->operands[0], *begin = instr->operands[1];
  if (end->opcode != HALO_OP_SLICE || begin->opcode != HALO_OP_SLICE) return NULL;
  halo_instr *x = end->operands[0];
  int64_t by = begin->shape->dims[dim];
  if (begin->operands[0] != x || !halo_shape_same_dims(x->shape, instr->shape)) return NULL;
  if (shift_begin(begin, dim, by) != 0 || shift_begin(end, dim, x->shape->dims[dim] - by) != by ||
      by == 0) {
    return NULL;
  }
  return shift_rotation(r, instr, x, dim, by);
}

/* pad(slice(x)) is a padding of x where what is cut off at an end is not padded there. */
static halo_instr *shift_pad(halo_rewriter *r, halo_instr *instr) {
  halo_instr *slice = instr->operands[0];
  int64_t padding[3 * HALO_MAX_RANK];
  int32_t count;
  if (slice->opcode != HALO_OP_SLICE || instr->shape->dynamic || slice->shape->dynamic) return NULL;
  const int64_t *written = halo_instr_ints(instr, HALO_ATTR_PADDING, &count);
  const int64_t *bounds = halo_instr_ints(slice, HALO_ATTR_SLICE, &count);
  bool moves = false;
  for (int d = 0; d < instr->shape->rank; d++) {
    int64_t front = bounds[3 * d], back = slice->operands[0]->shape->dims[d] - bounds[3 * d + 1];
    int64_t low = written[3 * d], high = written[3 * d + 1];
    if (written[3 * d + 2] != 0 || bounds[3 * d + 2] != 1) return NULL;
    if ((front > 0 && low > 0) || (back > 0 && high > 0)) return NULL;
    moves |= low != front && low - front + high - back == 0;
    padding[3 * d] = low - front;
    padding[3 * d + 1] = high - back;
    padding[3 * d + 2] = 0;
  }
  if (!moves) return NULL;
  halo_instr *operands[2] = {slice->operands[0], instr->operands[1]};
  halo_attr attrs[2] = {halo_rewrite_list_attr(r->computation->module, HALO_ATTR_PADDING, padding,
                                               3 * instr->shape->rank)};
  int32_t attr_count = shift_sharding(instr, attrs, 1);
  return halo_rewrite_make(r, instr, HALO_OP_PAD, instr->shape, operands, 2, attrs, attr_count);
}

/* By how much an array is moved along its only dimension that is padded, zeros filling up; 0: it is none such. */
static int64_t shift_distance(const halo_instr *pad, int *dim) {
  int32_t count;
  int64_t distance = 0;
  if (pad->opcode != HALO_OP_PAD || pad->operands[1]->opcode != HALO_OP_CONSTANT) return 0;
  const halo_literal *fill = pad->operands[1]->literal;
  for (size_t i = 0; i < halo_type_size(fill->shape->type); i++) {
    if (((const char *)fill->data)[i]) return 0;
  }
  const int64_t *padding = halo_instr_ints(pad, HALO_ATTR_PADDING, &count);
  for (int d = 0; d < pad->shape->rank; d++) {
    if (padding[3 * d] + padding[3 * d + 1] != 0 || padding[3 * d + 2]) return 0;
    if (padding[3 * d] && distance) return 0;
    if (padding[3 * d]) *dim = d;
    distance += padding[3 * d];
  }
  return distance;
}

/* pad(x, moved down by some) + pad(x, moved up by the rest): the gradient of a rotation. The sum with zero stays, for the
 * sign of zeros. */
static halo_instr *shift_add(halo_rewriter *r, halo_instr *instr) {
  halo_instr *a = instr->operands[0], *b = instr->operands[1];
  int dim = 0, other = 0;
  int64_t up = shift_distance(a, &dim), down = up ? shift_distance(b, &other) : 0;
  if (!up || !down || dim != other || a->operands[0] != b->operands[0]) return NULL;
  if ((up < 0) == (down < 0) || (up < 0 ? down - up : up - down) != instr->shape->dims[dim]) {
    return NULL;
  }
  halo_instr *sum[2] = {shift_rotation(r, instr, a->operands[0], dim, up < 0 ? -up : -down),
                        halo_rewrite_make_splat(r, instr, a->operands[1], instr->shape)};
  halo_attr said[1];
  int32_t count = shift_sharding(instr, said, 0);
  return halo_rewrite_make(r, instr, HALO_OP_ADD, instr->shape, sum, 2, said, count);
}

/* slice(pad(x)) is a padding by less, where something of x is left of it. */
static halo_instr *shift_slice(halo_rewriter *r, halo_instr *instr) {
  halo_instr *pad = instr->operands[0];
  int64_t padding[3 * HALO_MAX_RANK];
  int32_t count;
  if (pad->opcode != HALO_OP_PAD || instr->shape->dynamic || pad->shape->dynamic) return NULL;
  const int64_t *written = halo_instr_ints(pad, HALO_ATTR_PADDING, &count);
  const int64_t *bounds = halo_instr_ints(instr, HALO_ATTR_SLICE, &count);
  bool moves = false;
  for (int d = 0; d < instr->shape->rank; d++) {
    int64_t size = pad->operands[0]->shape->dims[d];
    if (written[3 * d + 2] != 0 || bounds[3 * d + 2] != 1) return NULL;
    int64_t low = written[3 * d] - bounds[3 * d];
    int64_t high = bounds[3 * d + 1] - written[3 * d] - size;
    if (low <= -size || high <= -size) return NULL;
    moves |= low != 0 && low + high == 0;
    padding[3 * d] = low;
    padding[3 * d + 1] = high;
    padding[3 * d + 2] = 0;
  }
  if (!moves) return NULL;
  halo_attr attrs[2] = {halo_rewrite_list_attr(r->computation->module, HALO_ATTR_PADDING, padding,
                                               3 * instr->shape->rank)};
  int32_t attr_count = shift_sharding(instr, attrs, 1);
  return halo_rewrite_make(r, instr, HALO_OP_PAD, instr->shape, pad->operands, 2, attrs,
                           attr_count);
}

halo_status halo_spmd_find_shifts(halo_module *module) {
  bool changed = false;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_rewriter r;
    halo_rewrite_begin(&r, module->computations.data[c]);
    int32_t count = r.computation->instrs.count;
    for (int32_t i = 0; i < count; i++) {
      halo_instr *instr = halo_rewrite_next(&r, i), *with = NULL;
      if (!instr || halo_rewrite_pinned(instr)) continue;
      if (instr->opcode == HALO_OP_CONCATENATE) with = shift_concatenate(&r, instr);
      if (instr->opcode == HALO_OP_SLICE) with = shift_slice(&r, instr);
      if (instr->opcode == HALO_OP_PAD) with = shift_pad(&r, instr);
      if (instr->opcode == HALO_OP_ADD) with = shift_add(&r, instr);
      if (with) halo_rewrite_replace(&r, instr, with);
    }
    HALO_TRY(halo_rewrite_end(&r, &changed));
    if (changed) halo_computation_remove_dead(r.computation);
  }
  return HALO_OK;
}

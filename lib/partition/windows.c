/* SPDX-License-Identifier: Apache-2.0 */
/* partition/windows.c: updates of a window of an array that is cut along dimensions of which the window has a
 * part. Each partition writes what of the window lies in its part; nothing is sent. */
#include "partition/ops.h"

halo_instr *halo_spmd_splat(halo_spmd *p, const halo_shape *like, int64_t value) {
  halo_instr *scalar = halo_rewrite_make_scalar(&p->r, p->x.like, like->type, value);
  return like->rank ? halo_expand_splat(&p->x, scalar, like) : scalar;
}

halo_instr *halo_spmd_between(halo_spmd *p, halo_instr *a, int64_t low, int64_t high) {
  halo_expander *x = &p->x;
  return halo_expand_binary(x, HALO_OP_AND,
                            halo_expand_compare(x, a, HALO_GE, halo_spmd_splat(p, a->shape, low)),
                            halo_expand_compare(x, a, HALO_LE, halo_spmd_splat(p, a->shape, high)));
}

static halo_instr *windows_clamp(halo_spmd *p, halo_instr *a, int64_t high) {
  halo_instr *bounds[3] = {halo_spmd_splat(p, a->shape, 0), a, halo_spmd_splat(p, a->shape, high)};
  return halo_expand_op(&p->x, HALO_OP_CLAMP, bounds, 3, NULL, 0);
}

/* Whether the first operand is cut along a dimension of which the window, of `extent`, has a part. */
static bool windows_is_cut(halo_spmd_site *s, int64_t extent, int d) {
  bool part = extent < s->instr->operands[0]->shape->dims[d];
  return part && halo_spmd_needed(s->p, s->rule, 0, s->axes).dims[d].count > 0;
}

/* One type for all of them. */
static void windows_widen(const halo_spmd_window *w) {
  halo_expander *x = &w->s->p->x;
  halo_type type = HALO_S32;
  for (int d = 0; d < w->operand->shape->rank; d++) {
    if (w->starts[d]->shape->type == HALO_S64) type = HALO_S64;
  }
  for (int d = 0; d < w->operand->shape->rank; d++) {
    w->starts[d] = halo_expand_convert(x, w->starts[d], type);
  }
}

/* What lies in the part of the window is read, changed where it does, and put back: as much as the window is long, or
 * the part where that is shorter. */
halo_instr *halo_spmd_write_window(halo_spmd_window *w) {
  halo_spmd *p = w->s->p;
  halo_expander *x = &p->x;
  int rank = w->operand->shape->rank;
  int64_t sizes[HALO_MAX_RANK] = {0}, padding[3 * HALO_MAX_RANK] = {0};
  halo_instr *at[HALO_MAX_RANK + 2], *from[HALO_MAX_RANK], *shift[HALO_MAX_RANK] = {0};
  halo_instr *value = w->update, *mask = NULL;
  bool moves = false;
  windows_widen(w);
  for (int d = 0; d < rank; d++) {
    int64_t part = w->operand->shape->dims[d], window = w->update->shape->dims[d];
    at[2 + d] = w->starts[d];
    from[d] = halo_spmd_splat(p, w->starts[d]->shape, 0);
    sizes[d] = window;
    if (!windows_is_cut(w->s, w->extents[d], d)) continue;
    sizes[d] = window < part ? window : part;
    halo_instr *begin =
        halo_expand_convert(x, halo_spmd_begin(w->s, 0, d), w->starts[d]->shape->type);
    halo_instr *local = halo_expand_binary(x, HALO_OP_SUBTRACT, w->starts[d], begin);
    at[2 + d] = windows_clamp(p, local, part - sizes[d]);
    shift[d] = halo_expand_binary(x, HALO_OP_SUBTRACT, at[2 + d], local);
    if (window == 1) continue; /* it is all there, or not */
    moves = true;
    padding[3 * d] = padding[3 * d + 1] = sizes[d];
    from[d] =
        halo_expand_binary(x, HALO_OP_ADD, shift[d], halo_spmd_splat(p, shift[d]->shape, sizes[d]));
  }
  halo_arena *arena = &p->module->arena;
  const halo_shape *shape = halo_shape_new(arena, w->operand->shape->type, rank, sizes);
  for (int d = 0; d < rank; d++) {
    if (!shift[d]) continue;
    const halo_shape *places = halo_shape_with_type(arena, shape, shift[d]->shape->type);
    halo_instr *place = halo_expand_binary(x, HALO_OP_ADD, halo_expand_iota(x, places, d),
                                           halo_expand_splat(x, shift[d], places));
    halo_instr *inside = halo_spmd_between(p, place, 0, w->update->shape->dims[d] - 1);
    mask = mask ? halo_expand_binary(x, HALO_OP_AND, mask, inside) : inside;
  }
  const halo_shape *flags = halo_shape_with_type(arena, shape, HALO_PRED);
  if (w->valid && mask) {
    mask = halo_expand_binary(x, HALO_OP_AND, mask, halo_expand_splat(x, w->valid, flags));
  }
  if (moves) {
    value = halo_expand_pad(x, value, halo_expand_scalar(x, shape->type, 0), padding);
    value = halo_expand_dynamic_slice(x, value, from, sizes);
  }
  if (mask) {
    halo_instr *old = halo_expand_dynamic_slice(x, w->operand, at + 2, sizes);
    if (w->combiner != HALO_OP_COPY) value = halo_expand_binary(x, w->combiner, old, value);
    value = halo_expand_select(x, mask, value, old);
  }
  at[0] = w->operand;
  at[1] = value;
  return value ? halo_rewrite_make(&p->r, w->s->instr, HALO_OP_DYNAMIC_UPDATE_SLICE,
                                   w->operand->shape, at, rank + 2, NULL, 0)
               : NULL;
}

halo_instr *halo_spmd_widen(halo_spmd *p, halo_instr *indices) {
  halo_type type = indices->shape->type;
  bool fits = type == HALO_S32 || type == HALO_S64;
  bool large = halo_type_bits(type) >= 32;
  return fits ? indices : halo_expand_convert(&p->x, indices, large ? HALO_S64 : HALO_S32);
}

halo_instr *halo_spmd_dynamic_update_slice(halo_spmd_site *s) {
  const halo_shape *whole = s->instr->operands[0]->shape;
  const int64_t *extents = s->instr->operands[1]->shape->dims;
  halo_instr *starts[HALO_MAX_RANK];
  bool part = false;
  for (int32_t i = 0; i < s->instr->operand_count; i++) {
    if (!s->operands[i]) return NULL;
  }
  for (int d = 0; d < whole->rank; d++) part |= windows_is_cut(s, extents[d], d);
  if (!part) return halo_spmd_plain(s);
  for (int d = 0; d < whole->rank; d++) {
    /* An unsigned start of 64 bits that is no signed number lies behind all ends. */
    halo_instr *start = s->operands[2 + d];
    if (start->shape->type == HALO_U64) {
      halo_instr *bounds[3] = {halo_spmd_splat(s->p, start->shape, 0), start,
                               halo_spmd_splat(s->p, start->shape, whole->dims[d] - extents[d])};
      start = halo_expand_op(&s->p->x, HALO_OP_CLAMP, bounds, 3, NULL, 0);
    }
    starts[d] = windows_clamp(s->p, halo_spmd_widen(s->p, start), whole->dims[d] - extents[d]);
  }
  halo_spmd_window w = {s, s->operands[0], s->operands[1], extents, starts, NULL, HALO_OP_COPY};
  return halo_spmd_write_window(&w);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/canonical_types.c: forms that HLO allows and kernels do not know: comparisons with another signedness than
 * their operands', bits of pred as those of wider types, transforms of no elements, clamps of complex numbers, and
 * collectives that change the precision of what they exchange. */
#include "passes/simplify/canonicalize.h"

/* The integer type of the same width and the other signedness. */
static halo_type types_other_sign(halo_type type) {
  for (int t = 0; t < HALO_TYPE_COUNT; t++) {
    halo_type other = (halo_type)t;
    bool fits = halo_type_is_sint(type) ? halo_type_is_uint(other) : halo_type_is_sint(other);
    if (fits && halo_type_bits(other) == halo_type_bits(type)) return other;
  }
  return HALO_TYPE_INVALID;
}

/* Where the written type has the other signedness than the operands, they become what it asks for. */
void halo_canonical_compare(halo_rewriter *r, halo_instr *instr) {
  halo_instr *a = instr->operands[0], *b = instr->operands[1];
  halo_type type = a->shape->type;
  bool sign = halo_type_is_sint(type);
  if (!halo_type_is_integral(type) && type != HALO_PRED) return;
  if (halo_compare_type_of(instr) == (sign ? HALO_COMPARE_SIGNED : HALO_COMPARE_UNSIGNED)) return;
  if (type == HALO_PRED) { /* true is -1 */
    instr->operands[0] = b;
    instr->operands[1] = a;
  } else {
    halo_type other = types_other_sign(type);
    halo_arena *arena = &r->computation->module->arena;
    for (int i = 0; i < 2; i++) {
      halo_instr *x = instr->operands[i];
      instr->operands[i] = halo_rewrite_make_unary(r, instr, HALO_OP_BITCAST_CONVERT,
                                                   halo_shape_with_type(arena, x->shape, other), x);
    }
  }
  halo_instr_remove_attr(instr, HALO_ATTR_COMPARE_TYPE);
  r->changed = true;
}

/* Between pred and other widths by way of bytes. */
void halo_canonical_bitcast_convert(halo_rewriter *r, halo_instr *instr) {
  halo_instr *x = instr->operands[0];
  bool from = x->shape->type == HALO_PRED, to = instr->shape->type == HALO_PRED;
  if (from == to || x->shape->rank == instr->shape->rank) return;
  const halo_shape *bytes =
      halo_shape_with_type(&r->computation->module->arena, from ? x->shape : instr->shape, HALO_U8);
  instr->operands[0] = halo_rewrite_make_unary(r, instr, HALO_OP_BITCAST_CONVERT, bytes, x);
  r->changed = true;
}

/* A transform of no elements along an extent of one is one of that element. */
void halo_canonical_fft(halo_rewriter *r, halo_instr *instr) {
  int32_t count;
  const int64_t *lengths = halo_instr_ints(instr, HALO_ATTR_FFT_LENGTH, &count);
  const halo_shape *from = instr->operands[0]->shape;
  int64_t ones[HALO_MAX_RANK];
  bool changed = false;
  for (int32_t i = 0; i < count; i++) {
    bool one = lengths[i] == 0 && from->dims[from->rank - count + i] == 1 &&
               instr->shape->dims[from->rank - count + i] == 1;
    ones[i] = one ? 1 : lengths[i];
    changed |= one;
  }
  if (!changed) return;
  halo_attr attr =
      halo_rewrite_list_attr(r->computation->module, HALO_ATTR_FFT_LENGTH, ones, count);
  halo_instr_set_attr(instr, &attr);
  r->changed = true;
}

/* The real parts decide between complex numbers. */
void halo_canonical_complex_clamp(halo_rewriter *r, halo_instr *instr) {
  halo_instr *raised = halo_rewrite_make_binary(r, instr, HALO_OP_MAXIMUM, instr->shape,
                                                instr->operands[0], instr->operands[1]);
  halo_rewrite_replace(r, instr,
                       halo_rewrite_make_binary(r, instr, HALO_OP_MINIMUM, instr->shape, raised,
                                                instr->operands[2]));
}

/* ---- Collectives between floats of different types ---- */

/* The type in which values of the first operand are exchanged: the reduction's, else the result's. */
static halo_type types_exchanged(const halo_instr *instr) {
  const halo_shape *result = instr->shape;
  if (halo_shape_is_tuple(result)) result = result->elements[0];
  const halo_attr *reducer = halo_instr_attr(instr, HALO_ATTR_TO_APPLY);
  return reducer ? reducer->comps.data[0]->params.data[0]->shape->type : result->type;
}

static halo_instr *types_convert(halo_rewriter *r, const halo_instr *like, halo_instr *x,
                                 halo_type type) {
  if (x->shape->type == type) return x;
  return halo_rewrite_make_unary(
      r, like, HALO_OP_CONVERT,
      halo_shape_with_type(&r->computation->module->arena, x->shape, type), x);
}

static bool types_are_mixed(const halo_instr *instr) {
  const halo_shape *result = instr->shape;
  bool tuple = halo_shape_is_tuple(result);
  for (int32_t i = 0; i < (tuple ? result->count : 1); i++) {
    const halo_shape *part = tuple ? result->elements[i] : result;
    if (part->type != instr->operands[i]->shape->type) return true;
  }
  return false;
}

/* Values are converted before the exchange, and after it where what it gives is not what was asked for. */
void halo_canonical_collective(halo_rewriter *r, halo_instr *instr) {
  if (!types_are_mixed(instr)) return;
  halo_arena *arena = &r->computation->module->arena;
  const halo_shape *result = instr->shape;
  halo_type type = types_exchanged(instr);
  bool tuple = halo_shape_is_tuple(result);
  int32_t count = tuple ? result->count : 1;
  halo_instr **operands = halo_arena_array(arena, halo_instr *, instr->operand_count);
  halo_instr **parts = halo_arena_array(arena, halo_instr *, count);
  const halo_shape **shapes = halo_arena_array(arena, const halo_shape *, count);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_instr *x = instr->operands[i];
    operands[i] = i < count ? types_convert(r, instr, x, type) : x;
  }
  for (int32_t i = 0; i < count; i++) {
    shapes[i] = halo_shape_with_type(arena, tuple ? result->elements[i] : result, type);
  }
  const halo_shape *shape = tuple ? halo_shape_new_tuple(arena, count, shapes) : shapes[0];
  halo_instr *value = halo_rewrite_make(r, instr, instr->opcode, shape, operands,
                                        instr->operand_count, instr->attrs, instr->attr_count);
  for (int32_t i = 0; i < count; i++) {
    halo_instr *part = tuple ? halo_rewrite_make_gte(r, instr, value, i) : value;
    parts[i] = types_convert(r, instr, part, (tuple ? result->elements[i] : result)->type);
  }
  halo_rewrite_replace(
      r, instr,
      tuple ? halo_rewrite_make(r, instr, HALO_OP_TUPLE, result, parts, count, NULL, 0) : parts[0]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_elementwise.c: inference of the elementwise ops. Element types of operand 0 and
 * array-ness are checked by the gate already. */
#include "hlo/infer_util.h"

/* `shape` with another type, layout kept and its machine's extras dropped; `other`, if not NULL,
 * has the same dimensions and adds its dynamic marks. */
static const halo_shape *elementwise_like(halo_arena *arena, const halo_shape *shape,
                                          halo_type type, const halo_shape *other) {
  if (shape->type == type && !shape->layout_extras && (!other || !other->dynamic)) return shape;
  bool dynamic[HALO_MAX_RANK];
  for (int i = 0; i < shape->rank; i++) {
    dynamic[i] =
        halo_shape_dim_is_dynamic(shape, i) || (other && halo_shape_dim_is_dynamic(other, i));
  }
  return halo_shape_new_full(arena, type, shape->rank, shape->dims, dynamic, shape->minor_to_major);
}

static halo_status elementwise_check_pair(const halo_instr *instr, int32_t i, int32_t j) {
  const halo_shape *a = halo_infer_operand(instr, i), *b = halo_infer_operand(instr, j);
  if (!halo_shape_same_dims(a, b)) {
    return halo_infer_fail(instr, "operands %d and %d must have the same dimensions", i, j);
  }
  if (!halo_infer_types_agree(a->type, b->type)) {
    return halo_infer_fail(instr, "operands %d and %d must have the same element type", i, j);
  }
  return HALO_OK;
}

halo_status halo_infer_unary(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  const halo_shape *shape = halo_infer_operand(instr, 0);
  *out = elementwise_like(arena, shape, shape->type, NULL);
  return HALO_OK;
}

halo_status halo_infer_abs(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  const halo_shape *shape = halo_infer_operand(instr, 0);
  *out = elementwise_like(arena, shape, halo_type_real_part(shape->type), NULL);
  return HALO_OK;
}

halo_status halo_infer_real_imag(const halo_instr *instr, halo_arena *arena,
                                 const halo_shape **out) {
  return halo_infer_abs(instr, arena, out);
}

halo_status halo_infer_is_finite(const halo_instr *instr, halo_arena *arena,
                                 const halo_shape **out) {
  *out = elementwise_like(arena, halo_infer_operand(instr, 0), HALO_PRED, NULL);
  return HALO_OK;
}

halo_status halo_infer_convert(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_written(instr));
  const halo_shape *shape = halo_infer_operand(instr, 0);
  if (!halo_shape_same_dims(shape, instr->shape)) {
    return halo_infer_fail(instr, "the result must have the operand's dimensions");
  }
  *out = elementwise_like(arena, shape, instr->shape->type, NULL);
  return HALO_OK;
}

halo_status halo_infer_stochastic_convert(const halo_instr *instr, halo_arena *arena,
                                          const halo_shape **out) {
  HALO_TRY(halo_infer_need_written(instr));
  const halo_shape *value = halo_infer_operand(instr, 0), *bits = halo_infer_operand(instr, 1);
  if (!halo_shape_same_dims(value, bits) || !halo_shape_same_dims(value, instr->shape)) {
    return halo_infer_fail(instr, "operands and result must have the same dimensions");
  }
  if (!halo_type_is_uint(bits->type) || halo_type_bits(bits->type) != halo_type_bits(value->type)) {
    return halo_infer_fail(instr, "operand 1 must be unsigned and as wide as operand 0");
  }
  if (!halo_type_is_float(instr->shape->type) && !halo_type_is_integral(instr->shape->type)) {
    return halo_infer_fail(instr, "the result must be of a float or integer type");
  }
  *out = elementwise_like(arena, value, instr->shape->type, NULL);
  return HALO_OK;
}

halo_status halo_infer_reduce_precision(const halo_instr *instr, halo_arena *arena,
                                        const halo_shape **out) {
  if (halo_instr_int(instr, HALO_ATTR_EXPONENT_BITS, 0) < 1) {
    return halo_infer_fail(instr, "exponent_bits must be at least 1");
  }
  if (halo_instr_int(instr, HALO_ATTR_MANTISSA_BITS, 0) < 0) {
    return halo_infer_fail(instr, "mantissa_bits must not be negative");
  }
  return halo_infer_unary(instr, arena, out);
}

halo_status halo_infer_binary(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(elementwise_check_pair(instr, 0, 1));
  const halo_shape *a = halo_infer_operand(instr, 0), *b = halo_infer_operand(instr, 1);
  *out = elementwise_like(arena, a, halo_infer_result_type(instr, a->type, b->type), b);
  return HALO_OK;
}

halo_status halo_infer_complex(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(elementwise_check_pair(instr, 0, 1));
  const halo_shape *a = halo_infer_operand(instr, 0), *b = halo_infer_operand(instr, 1);
  if (a->type != b->type || (a->type != HALO_F32 && a->type != HALO_F64)) {
    return halo_infer_fail(instr, "real and imaginary part must both be f32 or both f64");
  }
  *out = elementwise_like(arena, a, a->type == HALO_F32 ? HALO_C64 : HALO_C128, b);
  return HALO_OK;
}

static halo_status elementwise_check_compare(const halo_instr *instr, halo_type type) {
  bool complex_ = halo_type_is_complex(type);
  int64_t direction = halo_instr_int(instr, HALO_ATTR_DIRECTION, 0);
  if (complex_ && direction != HALO_EQ && direction != HALO_NE) {
    return halo_infer_fail(instr, "complex values compare by EQ and NE only");
  }
  const halo_attr *kind = halo_instr_attr(instr, HALO_ATTR_COMPARE_TYPE);
  const halo_attr *order = halo_instr_attr(instr, HALO_ATTR_COMPARE_ORDER);
  if (kind && order) return halo_infer_fail(instr, "type and order exclude each other");
  if (complex_ && order && order->i == HALO_ORDER_TOTAL) {
    return halo_infer_fail(instr, "complex values have no total order");
  }
  if (complex_ && kind && kind->i == HALO_COMPARE_TOTALORDER) {
    return halo_infer_fail(instr, "values of type %s do not compare as TOTALORDER",
                           halo_type_name(type));
  }
  return HALO_OK;
}

halo_status halo_infer_compare(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(elementwise_check_pair(instr, 0, 1));
  const halo_shape *a = halo_infer_operand(instr, 0);
  HALO_TRY(elementwise_check_compare(instr, a->type));
  *out = elementwise_like(arena, a, HALO_PRED, halo_infer_operand(instr, 1));
  return HALO_OK;
}

halo_status halo_infer_select(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  const halo_shape *pred = halo_infer_operand(instr, 0);
  const halo_shape *a = halo_infer_operand(instr, 1), *b = halo_infer_operand(instr, 2);
  HALO_TRY(elementwise_check_pair(instr, 1, 2));
  if (pred->rank != 0 && !halo_shape_same_dims(pred, a)) {
    return halo_infer_fail(instr,
                           "the predicate must be a scalar or have the branches' dimensions");
  }
  *out = elementwise_like(arena, a, halo_infer_result_type(instr, a->type, b->type), b);
  return HALO_OK;
}

halo_status halo_infer_clamp(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  const halo_shape *x = halo_infer_operand(instr, 1);
  halo_type type = x->type;
  for (int32_t i = 0; i < 3; i += 2) {
    const halo_shape *bound = halo_infer_operand(instr, i);
    if (bound->rank != 0 && !halo_shape_same_dims(bound, x)) {
      return halo_infer_fail(instr, "bound %d must be a scalar or have the value's dimensions", i);
    }
    if (!halo_infer_types_agree(bound->type, x->type)) {
      return halo_infer_fail(instr, "operands must have the same element type");
    }
    type = halo_infer_result_type(instr, type, bound->type);
  }
  *out = elementwise_like(arena, x, type, NULL);
  return HALO_OK;
}

halo_status halo_infer_tuple_select(const halo_instr *instr, halo_arena *arena,
                                    const halo_shape **out) {
  (void)arena;
  const halo_shape *a = halo_infer_operand(instr, 1), *b = halo_infer_operand(instr, 2);
  if (!halo_shape_is_scalar(halo_infer_operand(instr, 0))) {
    return halo_infer_fail(instr, "the predicate must be a scalar");
  }
  if (!halo_shape_compatible(a, b)) {
    return halo_infer_fail(instr, "operands 1 and 2 must have the same shape");
  }
  *out = a;
  return HALO_OK;
}

halo_status halo_infer_bitcast_convert(const halo_instr *instr, halo_arena *arena,
                                       const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(halo_infer_need_written(instr));
  const halo_shape *from = halo_infer_operand(instr, 0), *to = instr->shape;
  int from_bits = halo_type_stored_bits(from->type), to_bits = halo_type_stored_bits(to->type);
  if (halo_type_is_complex(from->type) != halo_type_is_complex(to->type)) {
    return halo_infer_fail(instr, "complex and other types cannot be bitcast to each other");
  }
  int wide = from_bits > to_bits ? from_bits : to_bits;
  int narrow = from_bits > to_bits ? to_bits : from_bits;
  if (wide % narrow != 0) {
    return halo_infer_fail(instr, "cannot bitcast types whose widths do not divide (%s to %s)",
                           halo_type_name(from->type), halo_type_name(to->type));
  }
  int64_t dims[HALO_MAX_RANK + 1];
  bool dynamic[HALO_MAX_RANK + 1];
  int rank = from->rank;
  for (int i = 0; i < rank; i++) {
    dims[i] = from->dims[i];
    dynamic[i] = halo_shape_dim_is_dynamic(from, i);
  }
  if (from_bits > to_bits) {
    dims[rank] = wide / narrow;
    dynamic[rank++] = false;
  } else if (from_bits < to_bits) {
    if (rank == 0 || dims[rank - 1] != wide / narrow) {
      return halo_infer_fail(instr, "the last dimension must be the ratio of the widths, %d",
                             wide / narrow);
    }
    rank--;
  }
  if (rank > HALO_MAX_RANK) return halo_infer_fail(instr, "the result's rank is too large");
  *out = halo_shape_new_full(arena, to->type, rank, dims, dynamic, NULL);
  return HALO_OK;
}

halo_status halo_infer_bitcast(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  (void)arena;
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(halo_infer_need_written(instr));
  const halo_shape *from = halo_infer_operand(instr, 0), *to = instr->shape;
  if (halo_shape_element_count(from) * halo_type_stored_bits(from->type) !=
      halo_shape_element_count(to) * halo_type_stored_bits(to->type)) {
    return halo_infer_fail(instr, "the result must take as many bytes as the operand");
  }
  *out = instr->shape;
  return HALO_OK;
}

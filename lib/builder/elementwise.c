/* SPDX-License-Identifier: Apache-2.0 */
/* builder/elementwise.c: constants and elementwise ops. */
#include "builder/build.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Constants ---- */

static halo_op elementwise_constant(build_call *call, halo_literal *literal) {
  return halo_build_result(call, halo_build_literal(call, literal));
}

halo_op halo_constant_literal(halo_builder *builder, halo_literal *literal) {
  build_call call = halo_build_begin(builder, "halo_constant_literal");
  if (call.ok && !literal) halo_build_fail(&call, "the literal is NULL");
  return elementwise_constant(&call, literal);
}

static halo_op elementwise_array(build_call *call, halo_type type, int rank, const int64_t *dims,
                                 const void *data) {
  if (!call->ok) return halo_build_result(call, NULL);
  halo_literal *literal;
  halo_status status = halo_literal_create_array(type, rank, dims, data, &literal);
  if (status != HALO_OK) {
    halo_build_record(call, status);
    return halo_build_result(call, NULL);
  }
  halo_op op = elementwise_constant(call, literal);
  halo_literal_release(literal);
  return op;
}

halo_op halo_constant_array(halo_builder *builder, halo_type type, int rank, const int64_t *dims,
                            const void *data) {
  build_call call = halo_build_begin(builder, "halo_constant_array");
  return elementwise_array(&call, type, rank, dims, data);
}

#define ELEMENTWISE_SCALAR(name, id, c_type)                                                       \
  halo_op halo_constant_##name(halo_builder *builder, c_type value) {                              \
    build_call call = halo_build_begin(builder, "halo_constant_" #name);                           \
    return elementwise_array(&call, id, 0, NULL, &value);                                          \
  }
ELEMENTWISE_SCALAR(s32, HALO_S32, int32_t)
ELEMENTWISE_SCALAR(s64, HALO_S64, int64_t)
ELEMENTWISE_SCALAR(u32, HALO_U32, uint32_t)
ELEMENTWISE_SCALAR(u64, HALO_U64, uint64_t)
ELEMENTWISE_SCALAR(f32, HALO_F32, float)
ELEMENTWISE_SCALAR(f64, HALO_F64, double)

halo_op halo_constant_pred(halo_builder *builder, bool value) {
  build_call call = halo_build_begin(builder, "halo_constant_pred");
  unsigned char byte = value;
  return elementwise_array(&call, HALO_PRED, 0, NULL, &byte);
}

halo_op halo_constant_c64(halo_builder *builder, float re, float im) {
  build_call call = halo_build_begin(builder, "halo_constant_c64");
  return elementwise_array(&call, HALO_C64, 0, NULL, (float[]){re, im});
}

halo_op halo_constant_c128(halo_builder *builder, double re, double im) {
  build_call call = halo_build_begin(builder, "halo_constant_c128");
  return elementwise_array(&call, HALO_C128, 0, NULL, (double[]){re, im});
}

static halo_instr *elementwise_scalar(build_call *call, halo_type type, double value) {
  if (!call->ok) return NULL;
  halo_literal *literal;
  halo_status status = halo_literal_create_array(type, 0, NULL, (double[2]){0}, &literal);
  if (status != HALO_OK) {
    halo_build_record(call, status);
    return NULL;
  }
  if (type == HALO_PRED) {
    halo_literal_set_i64(literal, 0, value != 0);
  } else {
    halo_literal_set_f64(literal, 0, value);
  }
  halo_instr *instr = halo_build_literal(call, literal);
  halo_literal_release(literal);
  return instr;
}

halo_op halo_constant_scalar(halo_builder *builder, halo_type type, double value) {
  build_call call = halo_build_begin(builder, "halo_constant_scalar");
  return halo_build_result(&call, elementwise_scalar(&call, type, value));
}

halo_op halo_zero(halo_builder *builder, halo_type type) {
  build_call call = halo_build_begin(builder, "halo_zero");
  return halo_build_result(&call, elementwise_scalar(&call, type, 0));
}

halo_op halo_one(halo_builder *builder, halo_type type) {
  build_call call = halo_build_begin(builder, "halo_one");
  return halo_build_result(&call, elementwise_scalar(&call, type, 1));
}

/* Infinity where the type has one, else the largest value; rounding finds out which. */
static halo_op elementwise_extreme(build_call *call, halo_type type, int sign) {
  if (call->ok && halo_type_is_complex(type)) {
    halo_build_fail(call, "%s has no order", halo_type_name(type));
  }
  halo_instr *instr = NULL;
  if (call->ok && type == HALO_PRED) {
    instr = elementwise_scalar(call, type, sign > 0);
  } else if (call->ok && halo_type_is_integral(type)) {
    instr = elementwise_scalar(call, type, sign * INFINITY);
  } else if (call->ok) {
    static const struct {
      halo_type type;
      double largest;
    } finite[] = {{HALO_F4E2M1FN, 6},
                  {HALO_F8E4M3FN, 448},
                  {HALO_F8E4M3B11FNUZ, 30},
                  {HALO_F8E4M3FNUZ, 240},
                  {HALO_F8E5M2FNUZ, 57344}};
    double value = sign * INFINITY;
    for (size_t i = 0; i < sizeof finite / sizeof finite[0]; i++) {
      if (finite[i].type == type) value = sign * finite[i].largest;
    }
    if (type == HALO_F8E8M0FNU) value = sign > 0 ? 0x1p127 : 0x1p-127;
    instr = elementwise_scalar(call, type, value);
  }
  return halo_build_result(call, instr);
}

halo_op halo_min_value(halo_builder *builder, halo_type type) {
  build_call call = halo_build_begin(builder, "halo_min_value");
  return elementwise_extreme(&call, type, -1);
}

halo_op halo_max_value(halo_builder *builder, halo_type type) {
  build_call call = halo_build_begin(builder, "halo_max_value");
  return elementwise_extreme(&call, type, 1);
}

halo_op halo_scalar_like(halo_op operand, double value) {
  build_call call = halo_build_begin_with("halo_scalar_like", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  return halo_build_result(&call, x ? elementwise_scalar(&call, x->shape->type, value) : NULL);
}

static halo_op elementwise_full(const char *function, halo_op operand, double value) {
  build_call call = halo_build_begin_with(function, 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  halo_instr *scalar = x ? elementwise_scalar(&call, x->shape->type, value) : NULL;
  return halo_build_result(&call, scalar ? halo_build_fill(&call, scalar, x->shape) : NULL);
}

halo_op halo_full_like(halo_op operand, double value) {
  return elementwise_full("halo_full_like", operand, value);
}
halo_op halo_zeros_like(halo_op operand) { return elementwise_full("halo_zeros_like", operand, 0); }
halo_op halo_ones_like(halo_op operand) { return elementwise_full("halo_ones_like", operand, 1); }

/* ---- One operand ---- */

static halo_op elementwise_unary(const char *function, halo_opcode opcode, halo_op operand) {
  build_call call = halo_build_begin_with(function, 1, &operand);
  halo_instr *x = halo_build_operand(&call, operand);
  return halo_build_result(&call,
                           halo_build_op(&call, opcode, NULL, (halo_instr *[3]){x}, 0, NULL));
}

#define ELEMENTWISE_UNARY(name, opcode)                                                            \
  halo_op halo_##name(halo_op operand) {                                                           \
    return elementwise_unary("halo_" #name, HALO_OP_##opcode, operand);                            \
  }
ELEMENTWISE_UNARY(abs, ABS)
ELEMENTWISE_UNARY(acos, ACOS)
ELEMENTWISE_UNARY(acosh, ACOSH)
ELEMENTWISE_UNARY(asin, ASIN)
ELEMENTWISE_UNARY(asinh, ASINH)
ELEMENTWISE_UNARY(atan, ATAN)
ELEMENTWISE_UNARY(atanh, ATANH)
ELEMENTWISE_UNARY(cbrt, CBRT)
ELEMENTWISE_UNARY(ceil, CEIL)
ELEMENTWISE_UNARY(floor, FLOOR)
ELEMENTWISE_UNARY(cos, COS)
ELEMENTWISE_UNARY(cosh, COSH)
ELEMENTWISE_UNARY(sin, SIN)
ELEMENTWISE_UNARY(sinh, SINH)
ELEMENTWISE_UNARY(tan, TAN)
ELEMENTWISE_UNARY(tanh, TANH)
ELEMENTWISE_UNARY(erf, ERF)
ELEMENTWISE_UNARY(exp, EXP)
ELEMENTWISE_UNARY(expm1, EXPM1)
ELEMENTWISE_UNARY(log, LOG)
ELEMENTWISE_UNARY(log1p, LOG1P)
ELEMENTWISE_UNARY(logistic, LOGISTIC)
ELEMENTWISE_UNARY(sqrt, SQRT)
ELEMENTWISE_UNARY(rsqrt, RSQRT)
ELEMENTWISE_UNARY(neg, NEGATE)
ELEMENTWISE_UNARY(sign, SIGN)
ELEMENTWISE_UNARY(not, NOT)
ELEMENTWISE_UNARY(population_count, POPCNT)
ELEMENTWISE_UNARY(clz, CLZ)
ELEMENTWISE_UNARY(is_finite, IS_FINITE)
ELEMENTWISE_UNARY(real, REAL)
ELEMENTWISE_UNARY(imag, IMAG)
ELEMENTWISE_UNARY(round_nearest_afz, ROUND_AFZ)
ELEMENTWISE_UNARY(round_nearest_even, ROUND_EVEN)
ELEMENTWISE_UNARY(round, ROUND_AFZ)
ELEMENTWISE_UNARY(copy, COPY)
ELEMENTWISE_UNARY(optimization_barrier, OPT_BARRIER)

static halo_instr *elementwise_step(build_call *call, halo_opcode opcode, halo_instr *a,
                                    halo_instr *b) {
  return halo_build_op(call, opcode, NULL, (halo_instr *[3]){a, b}, 0, NULL);
}

halo_op halo_conj(halo_op operand) {
  build_call call = halo_build_begin_with("halo_conj", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (!x || !halo_type_is_complex(x->shape->type)) return halo_build_result(&call, x);
  halo_instr *im = elementwise_step(&call, HALO_OP_IMAG, x, NULL);
  im = elementwise_step(&call, HALO_OP_NEGATE, im, NULL);
  halo_instr *re = elementwise_step(&call, HALO_OP_REAL, x, NULL);
  return halo_build_result(&call, elementwise_step(&call, HALO_OP_COMPLEX, re, im));
}

halo_op halo_square(halo_op operand) {
  build_call call = halo_build_begin_with("halo_square", 1, &operand);
  halo_instr *x = halo_build_operand(&call, operand);
  return halo_build_result(&call, elementwise_step(&call, HALO_OP_MULTIPLY, x, x));
}

halo_op halo_reciprocal(halo_op operand) {
  build_call call = halo_build_begin_with("halo_reciprocal", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  halo_instr *one = x ? elementwise_scalar(&call, x->shape->type, 1) : NULL;
  if (one) one = halo_build_fill(&call, one, x->shape);
  return halo_build_result(&call, elementwise_step(&call, HALO_OP_DIVIDE, one, x));
}

halo_op halo_convert(halo_op operand, halo_type type) {
  build_call call = halo_build_begin_with("halo_convert", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (call.ok && !halo_type_is_array(type)) halo_build_fail(&call, "the type is no element type");
  if (!call.ok) return halo_build_result(&call, NULL);
  if (halo_type_is_complex(x->shape->type) && !halo_type_is_complex(type)) {
    x = elementwise_step(&call, HALO_OP_REAL, x, NULL);
  }
  if (!call.ok || x->shape->type == type) return halo_build_result(&call, x);
  const halo_shape *shape = halo_shape_with_type(halo_build_arena(&call), x->shape, type);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_CONVERT, shape, (halo_instr *[3]){x}, 0, NULL));
}

halo_op halo_bitcast_convert(halo_op operand, halo_type type) {
  build_call call = halo_build_begin_with("halo_bitcast_convert", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (call.ok && !halo_type_is_array(type)) halo_build_fail(&call, "the type is no element type");
  if (!call.ok) return halo_build_result(&call, NULL);
  const halo_shape *from = x->shape;
  int from_bits = halo_type_bits(from->type), to_bits = halo_type_bits(type), rank = from->rank;
  int64_t dims[HALO_MAX_RANK + 1];
  if (rank) memcpy(dims, from->dims, sizeof *dims * (size_t)rank);
  /* pred counts as a byte; inference refuses what does not fit. */
  if (from->type == HALO_PRED) from_bits = 8;
  if (type == HALO_PRED) to_bits = 8;
  if (from_bits > to_bits && rank < HALO_MAX_RANK) dims[rank++] = from_bits / to_bits;
  if (from_bits < to_bits && rank > 0) rank--;
  const halo_shape *shape = halo_shape_new(halo_build_arena(&call), type, rank, dims);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_BITCAST_CONVERT, shape, (halo_instr *[3]){x}, 0, NULL));
}

halo_op halo_reduce_precision(halo_op operand, int exponent_bits, int mantissa_bits) {
  build_call call = halo_build_begin_with("halo_reduce_precision", 1, &operand);
  halo_instr *x = halo_build_operand(&call, operand);
  halo_attr attrs[] = {halo_build_int(HALO_ATTR_EXPONENT_BITS, exponent_bits),
                       halo_build_int(HALO_ATTR_MANTISSA_BITS, mantissa_bits)};
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_REDUCE_PRECISION, NULL, (halo_instr *[3]){x}, 2, attrs));
}

/* ---- Two operands ---- */

static halo_op elementwise_binary(const char *function, halo_opcode opcode, halo_op lhs,
                                  halo_op rhs, int count, const int64_t *dims, int attr_count,
                                  const halo_attr *attrs) {
  build_call call = halo_build_begin_with(function, 2, (halo_op[]){lhs, rhs});
  halo_instr *l = halo_build_array(&call, lhs), *r = halo_build_array(&call, rhs);
  halo_build_broadcast_pair(&call, &l, &r, count, dims);
  return halo_build_result(
      &call, halo_build_op(&call, opcode, NULL, (halo_instr *[3]){l, r}, attr_count, attrs));
}

#define ELEMENTWISE_BINARY(name, opcode)                                                           \
  halo_op halo_##name(halo_op lhs, halo_op rhs) {                                                  \
    return elementwise_binary("halo_" #name, HALO_OP_##opcode, lhs, rhs, 0, NULL, 0, NULL);        \
  }                                                                                                \
  halo_op halo_##name##_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims) {           \
    return elementwise_binary("halo_" #name "_dims", HALO_OP_##opcode, lhs, rhs, count, dims, 0,   \
                              NULL);                                                               \
  }
ELEMENTWISE_BINARY(add, ADD)
ELEMENTWISE_BINARY(sub, SUBTRACT)
ELEMENTWISE_BINARY(mul, MULTIPLY)
ELEMENTWISE_BINARY(div, DIVIDE)
ELEMENTWISE_BINARY(rem, REMAINDER)
ELEMENTWISE_BINARY(pow, POWER)
ELEMENTWISE_BINARY(max, MAXIMUM)
ELEMENTWISE_BINARY(min, MINIMUM)
ELEMENTWISE_BINARY(mulhi, MULHI)
ELEMENTWISE_BINARY(atan2, ATAN2)
ELEMENTWISE_BINARY(and, AND)
ELEMENTWISE_BINARY(or, OR)
ELEMENTWISE_BINARY(xor, XOR)
ELEMENTWISE_BINARY(shift_left, SHIFT_LEFT)
ELEMENTWISE_BINARY(shift_right_logical, SHIFT_RIGHT_LOGICAL)
ELEMENTWISE_BINARY(shift_right_arithmetic, SHIFT_RIGHT_ARITHMETIC)
ELEMENTWISE_BINARY(complex, COMPLEX)

static halo_op elementwise_compare(const char *function, halo_direction direction, bool total,
                                   halo_op lhs, halo_op rhs, int count, const int64_t *dims) {
  const halo_shape *shape = halo_op_shape(lhs);
  halo_attr attrs[] = {halo_build_int(HALO_ATTR_DIRECTION, direction),
                       halo_build_int(HALO_ATTR_COMPARE_TYPE, HALO_COMPARE_TOTALORDER)};
  /* On other types than floats the ordinary order is total, and says so by itself. */
  bool ordinary =
      !total || (shape && (halo_type_is_integral(shape->type) || shape->type == HALO_PRED));
  return elementwise_binary(function, HALO_OP_COMPARE, lhs, rhs, count, dims, ordinary ? 1 : 2,
                            attrs);
}

#define ELEMENTWISE_COMPARE(name, direction, total)                                                \
  halo_op halo_##name(halo_op lhs, halo_op rhs) {                                                  \
    return elementwise_compare("halo_" #name, direction, total, lhs, rhs, 0, NULL);                \
  }                                                                                                \
  halo_op halo_##name##_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims) {           \
    return elementwise_compare("halo_" #name "_dims", direction, total, lhs, rhs, count, dims);    \
  }
ELEMENTWISE_COMPARE(eq, HALO_EQ, false)
ELEMENTWISE_COMPARE(ne, HALO_NE, false)
ELEMENTWISE_COMPARE(ge, HALO_GE, false)
ELEMENTWISE_COMPARE(gt, HALO_GT, false)
ELEMENTWISE_COMPARE(le, HALO_LE, false)
ELEMENTWISE_COMPARE(lt, HALO_LT, false)
ELEMENTWISE_COMPARE(eq_total_order, HALO_EQ, true)
ELEMENTWISE_COMPARE(ne_total_order, HALO_NE, true)
ELEMENTWISE_COMPARE(ge_total_order, HALO_GE, true)
ELEMENTWISE_COMPARE(gt_total_order, HALO_GT, true)
ELEMENTWISE_COMPARE(le_total_order, HALO_LE, true)
ELEMENTWISE_COMPARE(lt_total_order, HALO_LT, true)

/* ---- Three operands ---- */

/* A computation that returns its parameter. */
static halo_comp elementwise_identity(halo_builder *builder, const halo_shape *shape) {
  halo_builder *sub = halo_builder_create_sub(builder, "identity");
  return halo_builder_finish_sub(sub, halo_parameter(sub, 0, shape, "x"));
}

halo_op halo_select(halo_op pred, halo_op on_true, halo_op on_false) {
  const halo_shape *shape = halo_op_shape(on_true);
  if (shape && halo_shape_is_tuple(shape)) {
    halo_comp pass_true = elementwise_identity(on_true.builder, shape);
    const halo_shape *other = halo_op_shape(on_false);
    halo_comp pass_false = elementwise_identity(on_true.builder, other ? other : shape);
    return halo_conditional(pred, on_true, pass_true, on_false, pass_false);
  }
  build_call call = halo_build_begin_with("halo_select", 3, (halo_op[]){pred, on_true, on_false});
  halo_instr *p = halo_build_array(&call, pred), *a = halo_build_array(&call, on_true);
  halo_instr *b = halo_build_array(&call, on_false);
  if (!call.ok) return halo_build_result(&call, NULL);
  const halo_shape *full = a->shape->rank ? a->shape : b->shape->rank ? b->shape : p->shape;
  if (a->shape->rank == 0) a = halo_build_fill(&call, a, full);
  if (b->shape->rank == 0) b = halo_build_fill(&call, b, full);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_SELECT, NULL, (halo_instr *[3]){p, a, b}, 0, NULL));
}

halo_op halo_clamp(halo_op min, halo_op operand, halo_op max) {
  build_call call = halo_build_begin_with("halo_clamp", 3, (halo_op[]){min, operand, max});
  halo_instr *lo = halo_build_operand(&call, min), *x = halo_build_operand(&call, operand);
  halo_instr *hi = halo_build_operand(&call, max);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_CLAMP, NULL, (halo_instr *[3]){lo, x, hi}, 0, NULL));
}

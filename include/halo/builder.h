/* SPDX-License-Identifier: Apache-2.0 */
/* halo/builder.h: building modules operation by operation, in the style of XlaBuilder.
 *
 *     halo_builder *b = halo_builder_create("axpy");
 *     halo_op x = halo_parameter(b, 0, shape, "x"), y = halo_parameter(b, 1, shape, "y");
 *     halo_op sum = halo_add(halo_mul(halo_constant_f32(b, 2), x), y);
 *     halo_module *module;
 *     halo_status status = halo_builder_build(b, sum, &module);
 *     halo_builder_release(b);
 *
 * Single calls do not report errors. The builder keeps the first error; the call that caused it and all
 * later calls return an invalid handle, and halo_builder_build reports it. A builder and its
 * sub-builders may be used by one thread at a time. Lists are passed as (count, array) and copied; the
 * array may be NULL if the count is 0. "XLA: Name" gives the name of the XlaBuilder function. */
#ifndef HALO_BUILDER_H
#define HALO_BUILDER_H

#include "halo/annotations.h"
#include "halo/literal.h"
#include "halo/module.h"
#include "halo/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A computation under construction. A top-level builder makes the entry computation, its
 * sub-builders the others. */
typedef struct halo_builder halo_builder;

/* A value of a builder. It can be copied freely and owns nothing; it is no longer valid once its
 * builder was built, finished or released. It is invalid after an error, or if zero-initialised:
 * builder NULL or id < 0. */
typedef struct halo_op {
  halo_builder *builder;
  int32_t id;
} halo_op;

/* A finished sub-computation. It can be used anywhere below the same top-level builder until that
 * is built. */
typedef struct halo_comp {
  halo_builder *builder; /* the top-level one */
  int32_t id;
} halo_comp;

/* ---- Builders ---- */

/* A builder for a module of this name (NULL: "module"). Never NULL; the caller releases it. */
HALO_API halo_builder *halo_builder_create(const char *name);
/* Releases a top-level builder, built or not, with all its sub-builders; NULL is allowed. Does
 * nothing for sub-builders. */
HALO_API void halo_builder_release(halo_builder *builder);
/* A builder for a computation that operations of the same module can call. Owned by the top-level
 * builder. NULL only if `parent` is NULL. */
HALO_API halo_builder *halo_builder_create_sub(halo_builder *parent, const char *name);
/* Finishes a sub-builder with its result. It accepts no operations afterwards. */
HALO_API halo_comp halo_builder_finish_sub(halo_builder *sub, halo_op root);
/* Finishes a top-level builder. On success *out is the verified module, with one reference for the
 * caller. Otherwise *out is NULL, and the first error is returned, with a message that names the
 * call ("axpy: call 3 (halo_add): ..."). Afterwards the builder can only be released. */
HALO_API HALO_MUST_USE halo_status halo_builder_build(halo_builder *builder, halo_op root,
                                                      halo_module **out);
/* The first error so far in the whole tree of builders, or HALO_OK. */
HALO_API halo_status halo_builder_status(const halo_builder *builder);
/* The message of that error, or "". Owned by the builder. */
HALO_API const char *halo_builder_message(const halo_builder *builder);
/* The shape of a value; NULL for an invalid handle. Valid as long as the handle. */
HALO_API const halo_shape *halo_op_shape(halo_op op);

/* ---- Annotations ---- */

/* Sets the origin (XlaBuilder::SetOpMetadata) of operations that are created from now on in this
 * computation, until it is set again; NULL clears it. A call that creates several instructions
 * applies it to each. The metadata is copied. A NULL builder is ignored; other faults become the
 * builder's first error. */
HALO_API void halo_builder_set_metadata(halo_builder *builder, const halo_metadata *metadata);
/* Sets the sharding (XlaBuilder::SetSharding) of later operations, as halo_builder_set_metadata
 * does. There must be as many devices as tiles, and no tuple inside a tuple. The text of a
 * HALO_SHARDING_NAMED one is not checked. */
HALO_API void halo_builder_set_sharding(halo_builder *builder, const halo_sharding *sharding);
/* Sets a frontend attribute (XlaBuilder::SetFrontendAttributes) of later operations, as
 * halo_builder_set_metadata does. `name` is an HLO identifier. With `value` NULL the attribute is
 * removed; with `name` NULL all are. */
HALO_API void halo_builder_set_frontend_attribute(halo_builder *builder, const char *name,
                                                  const char *value);
/* Sets the metadata of one existing operation. Of several instructions that a call created, the one
 * with the result is changed. */
HALO_API void halo_op_set_metadata(halo_op op, const halo_metadata *metadata);
/* Sets the sharding of one existing operation (XlaBuilder::SetInstructionSharding). */
HALO_API void halo_op_set_sharding(halo_op op, const halo_sharding *sharding);
/* Sets a frontend attribute of one existing operation
 * (XlaBuilder::SetInstructionFrontendAttribute). */
HALO_API void halo_op_set_frontend_attribute(halo_op op, const char *name, const char *value);
/* Sets the required accuracy of an operation's results, for operations that have result_accuracy in
 * docs/ops.md. NULL: the default. (XlaBuilder: an argument of Exp and similar functions.) */
HALO_API void halo_op_set_accuracy(halo_op op, const halo_accuracy *accuracy);

/* ---- Parameters and constants ---- */

/* Parameter `number` of the computation; each number from 0 on must be used once. The shape is
 * copied. `name` may be NULL; it is made a valid HLO name, and gets a suffix if it is taken. */
HALO_API halo_op halo_parameter(halo_builder *builder, int64_t number, const halo_shape *shape,
                                const char *name);
/* A constant. The literal is retained and must not change any more. */
HALO_API halo_op halo_constant_literal(halo_builder *builder, halo_literal *literal);
/* A constant array of row-major data (halo_type_size bytes per element), which is copied. */
HALO_API halo_op halo_constant_array(halo_builder *builder, halo_type type, int rank,
                                     const int64_t *dims, const void *data);
/* A scalar of any type from a double, rounded; integers are truncated and saturated. */
HALO_API halo_op halo_constant_scalar(halo_builder *builder, halo_type type, double value);
/* A scalar constant of the type in the function's name. */
HALO_API halo_op halo_constant_pred(halo_builder *builder, bool value);
HALO_API halo_op halo_constant_s32(halo_builder *builder, int32_t value);
HALO_API halo_op halo_constant_s64(halo_builder *builder, int64_t value);
HALO_API halo_op halo_constant_u32(halo_builder *builder, uint32_t value);
HALO_API halo_op halo_constant_u64(halo_builder *builder, uint64_t value);
HALO_API halo_op halo_constant_f32(halo_builder *builder, float value);
HALO_API halo_op halo_constant_f64(halo_builder *builder, double value);
HALO_API halo_op halo_constant_c64(halo_builder *builder, float re, float im);
HALO_API halo_op halo_constant_c128(halo_builder *builder, double re, double im);
/* The scalar 0. */
HALO_API halo_op halo_zero(halo_builder *builder, halo_type type);
/* The scalar 1. */
HALO_API halo_op halo_one(halo_builder *builder, halo_type type);
/* The least value of a type: -infinity if the type has it. */
HALO_API halo_op halo_min_value(halo_builder *builder, halo_type type);
/* The greatest value of a type: infinity if the type has it. */
HALO_API halo_op halo_max_value(halo_builder *builder, halo_type type);
/* A scalar of the operand's element type. */
HALO_API halo_op halo_scalar_like(halo_op operand, double value);
/* An array of the operand's shape in which all elements are `value`. */
HALO_API halo_op halo_full_like(halo_op operand, double value);
/* An array of the operand's shape, filled with zeros. */
HALO_API halo_op halo_zeros_like(halo_op operand);
/* An array of the operand's shape, filled with ones. */
HALO_API halo_op halo_ones_like(halo_op operand);
/* The vector 0, 1, 2, ... size - 1. */
HALO_API halo_op halo_iota(halo_builder *builder, halo_type type, int64_t size);
/* An array whose elements are their own index along `iota_dimension`. (XLA's Iota takes a shape:
 * its type and dimensions.) */
HALO_API halo_op halo_iota_array(halo_builder *builder, halo_type type, int rank,
                                 const int64_t *dims, int64_t iota_dimension);

/* ---- Tuples ---- */

/* A tuple of values of `builder`; `count` may be 0. */
HALO_API halo_op halo_tuple(halo_builder *builder, int count, const halo_op *elements);
/* An element of a tuple. */
HALO_API halo_op halo_get_tuple_element(halo_op tuple, int64_t index);

/* ---- Elementwise, one operand: the result has the operand's dimensions ---- */

/* The absolute value; for complex numbers, the real magnitude. */
HALO_API halo_op halo_abs(halo_op operand);
/* Functions of float and complex numbers, element by element. docs/accuracy.md has error bounds. */
HALO_API halo_op halo_acos(halo_op operand);
HALO_API halo_op halo_acosh(halo_op operand);
HALO_API halo_op halo_asin(halo_op operand);
HALO_API halo_op halo_asinh(halo_op operand);
HALO_API halo_op halo_atan(halo_op operand);
HALO_API halo_op halo_atanh(halo_op operand);
/* The cube root of floats. */
HALO_API halo_op halo_cbrt(halo_op operand);
/* Floats rounded up, or down, to whole numbers. */
HALO_API halo_op halo_ceil(halo_op operand);
HALO_API halo_op halo_floor(halo_op operand);
/* Functions of float and complex numbers, element by element; halo_erf of floats only.
 * docs/accuracy.md has error bounds. */
HALO_API halo_op halo_cos(halo_op operand);
HALO_API halo_op halo_cosh(halo_op operand);
HALO_API halo_op halo_sin(halo_op operand);
HALO_API halo_op halo_sinh(halo_op operand);
HALO_API halo_op halo_tan(halo_op operand);
HALO_API halo_op halo_tanh(halo_op operand);
HALO_API halo_op halo_erf(halo_op operand);
HALO_API halo_op halo_exp(halo_op operand);
HALO_API halo_op halo_expm1(halo_op operand);
HALO_API halo_op halo_log(halo_op operand);
HALO_API halo_op halo_log1p(halo_op operand);
/* 1 / (1 + exp(-x)). */
HALO_API halo_op halo_logistic(halo_op operand);
/* The square root, and its reciprocal. */
HALO_API halo_op halo_sqrt(halo_op operand);
HALO_API halo_op halo_rsqrt(halo_op operand);
/* The negated value; unsigned integers wrap around. */
HALO_API halo_op halo_neg(halo_op operand);
/* -1, 0 or 1; for floats also -0 and NaN, as the operand; for complex numbers x / |x|. */
HALO_API halo_op halo_sign(halo_op operand);
/* pred: logical negation; integers: bitwise. */
HALO_API halo_op halo_not(halo_op operand);
/* The number of 1 bits of an integer. */
HALO_API halo_op halo_population_count(halo_op operand);
/* The number of leading zero bits of an integer. */
HALO_API halo_op halo_clz(halo_op operand);
/* pred: whether a float is neither infinite nor NaN. */
HALO_API halo_op halo_is_finite(halo_op operand);
/* The real part; of a real value, the value. */
HALO_API halo_op halo_real(halo_op operand);
/* The imaginary part; of a real value, 0. */
HALO_API halo_op halo_imag(halo_op operand);
/* Floats rounded to the nearest whole number, ties away from zero. */
HALO_API halo_op halo_round_nearest_afz(halo_op operand);
/* Floats rounded to the nearest whole number, ties to even. */
HALO_API halo_op halo_round_nearest_even(halo_op operand);
/* The same as halo_round_nearest_afz. */
HALO_API halo_op halo_round(halo_op operand);
/* The complex conjugate; of a real value, the value. */
HALO_API halo_op halo_conj(halo_op operand);
/* x * x. */
HALO_API halo_op halo_square(halo_op operand);
/* 1 / x. */
HALO_API halo_op halo_reciprocal(halo_op operand);
/* The same value in a buffer of its own. Any shape. */
HALO_API halo_op halo_copy(halo_op operand);
/* Values converted to another element type; complex to real takes the real part. */
HALO_API halo_op halo_convert(halo_op operand, halo_type type);
/* The same bits as another type. Conversion to a narrower type adds a minor dimension, the ratio of
 * the widths; conversion to a wider type removes it. */
HALO_API halo_op halo_bitcast_convert(halo_op operand, halo_type type);
/* Floats rounded as if they had only so many exponent and mantissa bits. */
HALO_API halo_op halo_reduce_precision(halo_op operand, int exponent_bits, int mantissa_bits);

/* ---- Elementwise, two operands ----
 *
 * Element types must match. If ranks are equal, dimensions of size 1 are broadcast to the other
 * operand's size. A scalar is broadcast to any shape. For other ranks use the form with _dims: its
 * list, strictly increasing, says which dimension of the larger operand each dimension of the smaller
 * one is. Broadcasts become separate instructions in the module. */

/* The sum; for pred, logical or. */
HALO_API halo_op halo_add(halo_op lhs, halo_op rhs);
/* The difference. */
HALO_API halo_op halo_sub(halo_op lhs, halo_op rhs);
/* The product; for pred, logical and. */
HALO_API halo_op halo_mul(halo_op lhs, halo_op rhs);
/* The quotient. Integers: truncated toward zero; x / 0 is all ones. */
HALO_API halo_op halo_div(halo_op lhs, halo_op rhs);
/* The remainder, with the sign of lhs. */
HALO_API halo_op halo_rem(halo_op lhs, halo_op rhs);
/* lhs to the power of rhs. */
HALO_API halo_op halo_pow(halo_op lhs, halo_op rhs);
/* The larger element; NaN if either is NaN. */
HALO_API halo_op halo_max(halo_op lhs, halo_op rhs);
/* The smaller element; NaN if either is NaN. */
HALO_API halo_op halo_min(halo_op lhs, halo_op rhs);
/* The high half of the product of two integers. */
HALO_API halo_op halo_mulhi(halo_op lhs, halo_op rhs);
/* The angle of the point (rhs, lhs): lhs is y and rhs is x. */
HALO_API halo_op halo_atan2(halo_op lhs, halo_op rhs);
/* pred: logical; integers: bitwise. */
HALO_API halo_op halo_and(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_or(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_xor(halo_op lhs, halo_op rhs);
/* Integers shifted by rhs bits. */
HALO_API halo_op halo_shift_left(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_shift_right_logical(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_shift_right_arithmetic(halo_op lhs, halo_op rhs);
/* Complex numbers from their parts: f32 gives c64, f64 gives c128. */
HALO_API halo_op halo_complex(halo_op real, halo_op imag);
/* A comparison; the result is pred. For floats, a comparison with NaN is false, except halo_ne. For
 * pred, false < true. */
HALO_API halo_op halo_eq(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_ne(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_ge(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_gt(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_le(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_lt(halo_op lhs, halo_op rhs);
/* A comparison in the total order of floats: -NaN < -Inf < ... < -0 < +0 < ... < Inf < NaN. */
HALO_API halo_op halo_eq_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_ne_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_ge_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_gt_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_le_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_lt_total_order(halo_op lhs, halo_op rhs);

/* The operation of that name with a list of broadcast dimensions (count 0: none). */
HALO_API halo_op halo_add_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_sub_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_mul_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_div_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_rem_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_pow_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_max_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_min_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_mulhi_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_atan2_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_and_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_or_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_xor_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_shift_left_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_shift_right_logical_dims(halo_op lhs, halo_op rhs, int count,
                                               const int64_t *dims);
HALO_API halo_op halo_shift_right_arithmetic_dims(halo_op lhs, halo_op rhs, int count,
                                                  const int64_t *dims);
HALO_API halo_op halo_complex_dims(halo_op real, halo_op imag, int count, const int64_t *dims);
HALO_API halo_op halo_eq_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_ne_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_ge_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_gt_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_le_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_lt_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_eq_total_order_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_ne_total_order_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_ge_total_order_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_gt_total_order_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_le_total_order_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);
HALO_API halo_op halo_lt_total_order_dims(halo_op lhs, halo_op rhs, int count, const int64_t *dims);

/* ---- Elementwise, three operands ---- */

/* on_true where pred holds, otherwise on_false. Both are arrays of one shape (a scalar is
 * broadcast); pred is a scalar or has the same dimensions. For tuples pred must be a scalar, and
 * the result is a conditional. */
HALO_API halo_op halo_select(halo_op pred, halo_op on_true, halo_op on_false);
/* min(max, max(min, x)). Each bound is a scalar or of x's shape. */
HALO_API halo_op halo_clamp(halo_op min, halo_op operand, halo_op max);

/* ---- Movement ---- */

/* Adds new dimensions of these sizes in front. */
HALO_API halo_op halo_broadcast(halo_op operand, int count, const int64_t *sizes);
/* Broadcasts to `dims`. Operand dimension i becomes dimension broadcast_dims[i] (strictly
 * increasing, one per operand dimension) and has that size or 1. */
HALO_API halo_op halo_broadcast_in_dim(halo_op operand, int rank, const int64_t *dims, int count,
                                       const int64_t *broadcast_dims);
/* The same elements in row-major order, with other dimensions of the same product. */
HALO_API halo_op halo_reshape(halo_op operand, int rank, const int64_t *dims);
/* As halo_reshape, to a shape with the operand's element type, including its dynamic marks. */
HALO_API halo_op halo_reshape_to(halo_op operand, const halo_shape *shape);
/* As halo_reshape, after a transpose by `permutation`: the operand's dimensions from slowest to
 * fastest varying. */
HALO_API halo_op halo_reshape_permuted(halo_op operand, int count, const int64_t *permutation,
                                       int rank, const int64_t *dims);
/* Merges consecutive dimensions into one. Lists of fewer than two change nothing. */
HALO_API halo_op halo_collapse(halo_op operand, int count, const int64_t *dims);
/* Result dimension i is operand dimension permutation[i]. */
HALO_API halo_op halo_transpose(halo_op operand, int count, const int64_t *permutation);
/* Elements start, start + stride, ... below limit along each dimension. `count` must be the rank;
 * `strides` NULL means all 1. */
HALO_API halo_op halo_slice(halo_op operand, int count, const int64_t *starts,
                            const int64_t *limits, const int64_t *strides);
/* As halo_slice, along one dimension. */
HALO_API halo_op halo_slice_in_dim(halo_op operand, int64_t start, int64_t limit, int64_t stride,
                                   int64_t dimension);
/* A window of `sizes` at run-time starts, one integer scalar per dimension. Starts are clamped so
 * that the window fits. */
HALO_API halo_op halo_dynamic_slice(halo_op operand, int count, const halo_op *starts,
                                    const int64_t *sizes);
/* The older form, with the starts in one vector; `count` is the number of sizes. */
HALO_API halo_op halo_dynamic_slice_vector(halo_op operand, halo_op starts, int count,
                                           const int64_t *sizes);
/* The operand with a window replaced by `update`; starts as in halo_dynamic_slice. */
HALO_API halo_op halo_dynamic_update_slice(halo_op operand, halo_op update, int count,
                                           const halo_op *starts);
/* The older form, with the starts in one vector. */
HALO_API halo_op halo_dynamic_update_slice_vector(halo_op operand, halo_op update, halo_op starts);

/* How halo_pad changes a dimension: the number of elements added before, after (negative: removed)
 * and between. */
typedef struct halo_padding {
  int64_t low, high, interior;
} halo_padding;

/* Pads an array with the scalar `value`; `count` must be the rank. */
HALO_API halo_op halo_pad(halo_op operand, halo_op value, int count, const halo_padding *padding);
/* Pads both ends of one dimension. */
HALO_API halo_op halo_pad_in_dim(halo_op operand, halo_op value, int64_t dimension, int64_t low,
                                 int64_t high);
/* Concatenates operands, at least one, along a dimension; their other dimensions must be equal. */
HALO_API halo_op halo_concat_in_dim(halo_builder *builder, int count, const halo_op *operands,
                                    int64_t dimension);
/* Reverses the order of elements along these dimensions. */
HALO_API halo_op halo_rev(halo_op operand, int count, const int64_t *dims);
/* A shuffle that takes element i along dims[k] from i + shifts[k], wrapping around at the end. */
HALO_API halo_op halo_shuffle_rotate(halo_op operand, int count, const int64_t *dims,
                                     const int64_t *shifts);
/* A shuffle that takes each element from the place that `indices` gives. `indices` are integers;
 * they have the operand's dimensions, or 1 where all elements share an index, and then one index
 * for each of `dims`. Along other dimensions elements stay in place. The literal is retained. */
HALO_API halo_op halo_shuffle_permute(halo_op operand, int count, const int64_t *dims,
                                      halo_literal *indices);

/* ---- Dynamic dimensions ----
 * A dynamic dimension has a bound, which is its extent in shapes, and at run time a size from 0 to the
 * bound. Operations ignore elements beyond the size. halo_shape_create_dynamic makes shapes of parameters
 * with dynamic dimensions. */

/* The size of a dimension as an s32 scalar; for a static dimension, its extent. */
HALO_API halo_op halo_get_dimension_size(halo_op operand, int64_t dimension);
/* The operand with the number of elements along a dimension given by an s32 scalar from 0 to the
 * bound. Nothing moves. The result's dimension is dynamic, unless `size` is a constant equal to the
 * bound. */
HALO_API halo_op halo_set_dimension_size(halo_op operand, halo_op size, int64_t dimension);
/* The operand with a dimension as long as its bound. */
HALO_API halo_op halo_remove_dynamic_dimension(halo_op operand, int64_t dimension);
/* The valid elements in row-major order as an array of `sizes`, one s32 scalar per dimension. The
 * product of the bounds must be the operand's. Dimensions that are not `dynamic` are as long as
 * their bounds. */
HALO_API halo_op halo_dynamic_reshape(halo_op operand, int rank, const halo_op *sizes,
                                      const int64_t *bounds, const bool *dynamic);

/* The dimensions of a gather, as in XLA. Zero-initialise unused fields. */
typedef struct halo_gather_dims {
  int offset_count, collapsed_count, start_map_count, batching_count;
  const int64_t *offset_dims;                                         /* [offset_count] */
  const int64_t *collapsed_slice_dims;                                /* [collapsed_count] */
  const int64_t *start_index_map;                                     /* [start_map_count] */
  const int64_t *operand_batching_dims, *start_indices_batching_dims; /* [batching_count] each */
  int64_t index_vector_dim;
} halo_gather_dims;

/* The dimensions of a scatter, as in XLA. Zero-initialise unused fields. */
typedef struct halo_scatter_dims {
  int window_count, inserted_count, operand_count, batching_count;
  const int64_t *update_window_dims;                                  /* [window_count] */
  const int64_t *inserted_window_dims;                                /* [inserted_count] */
  const int64_t *scatter_dims_to_operand_dims;                        /* [operand_count] */
  const int64_t *input_batching_dims, *scatter_indices_batching_dims; /* [batching_count] each */
  int64_t index_vector_dim;
} halo_scatter_dims;

/* Slices of `slice_sizes` (`count` is the operand's rank) at the places in `indices`, clamped so
 * that they fit. `sorted` promises sorted indices. */
HALO_API halo_op halo_gather(halo_op operand, halo_op indices, const halo_gather_dims *dims,
                             int count, const int64_t *slice_sizes, bool sorted);
/* The operand with windows of `updates` combined into it at the places in `indices`, in order:
 * element = computation(element, update). A window that does not fit is left out completely.
 * `sorted` promises sorted indices, `unique` that no element is updated twice. */
HALO_API halo_op halo_scatter(halo_op operand, halo_op indices, halo_op updates,
                              halo_comp computation, const halo_scatter_dims *dims, bool sorted,
                              bool unique);
/* Scatters into n arrays of equal dimensions at once. The computation maps (elements.., updates..)
 * to a tuple; the result is a tuple. */
HALO_API halo_op halo_scatter_many(halo_builder *builder, int n, const halo_op *operands,
                                   halo_op indices, const halo_op *updates, halo_comp computation,
                                   const halo_scatter_dims *dims, bool sorted, bool unique);

/* ---- Fourier transforms ---- */

/* The kind of a Fourier transform. */
typedef enum halo_fft_type {
  HALO_FFT_FORWARD,
  HALO_FFT_INVERSE,     /* divided by the number of elements */
  HALO_FFT_REAL,        /* real to the first half of a complex spectrum, including the middle */
  HALO_FFT_REAL_INVERSE /* the inverse of that */
} halo_fft_type;

/* Transforms the last `count` (1 to 3) dimensions, whose extents are `lengths`, of any size; other
 * dimensions are a batch. Complex transforms take and give c64 or c128. HALO_FFT_REAL maps f32 or
 * f64 to complex numbers with lengths / 2 + 1 elements in the last dimension, and
 * HALO_FFT_REAL_INVERSE maps them back. */
HALO_API halo_op halo_fft(halo_op operand, halo_fft_type type, int count, const int64_t *lengths);

/* ---- Random numbers ---- */

/* The algorithm of halo_rng_bit_generator. */
typedef enum halo_rng_algorithm {
  HALO_RNG_DEFAULT, /* Philox */
  HALO_RNG_THREE_FRY,
  HALO_RNG_PHILOX
} halo_rng_algorithm;

/* Random bits for an array, determined by the state (u64[2], or u64[3] for Philox); the same bits
 * as XLA's. Integers of any type, or floats with these bits. The result is a tuple: the next state,
 * and the array. */
HALO_API halo_op halo_rng_bit_generator(halo_op initial_state, halo_rng_algorithm algorithm,
                                        halo_type type, int rank, const int64_t *dims);

/* Random numbers from a to b, from the program's own random state (halo_executable_set_seed), of
 * the type of the two scalars. Integers are below b; floats nearly always are. Distributed as
 * XLA's, whose values are not defined. */
HALO_API halo_op halo_rng_uniform(halo_op a, halo_op b, int rank, const int64_t *dims);
/* Normally distributed floats with mean mu and standard deviation sigma; otherwise as
 * halo_rng_uniform. */
HALO_API halo_op halo_rng_normal(halo_op mu, halo_op sigma, int rank, const int64_t *dims);
/* u32: 1 with the probability `mean`, an f32 scalar, otherwise 0. An operation of older documents,
 * composed of others. */
HALO_API halo_op halo_rng_bernoulli(halo_op mean, int rank, const int64_t *dims);
/* Floats rounded stochastically to signed integers: the magnitude is rounded up with a probability
 * equal to its fractional part, where `random` (unsigned, of the float's width) is below that
 * fraction of its range. Values that are too large become the largest, NaN becomes 0. */
HALO_API halo_op halo_stochastic_convert_type(halo_op operand, halo_op random, halo_type type);

/* ---- Computations ---- */

/* The result of the computation for these arguments. */
HALO_API halo_op halo_call(halo_builder *builder, halo_comp computation, int count,
                           const halo_op *args);
/* As halo_call, for a computation that stands for one operation of this name, which other compilers
 * may know (XLA's CompositeCall, StableHLO's composite). `attributes` is a dictionary as MLIR text,
 * such as "{n = 1 : i32}" (NULL: none); `version` is not negative. */
HALO_API halo_op halo_composite_call(halo_builder *builder, halo_comp computation, int count,
                                     const halo_op *args, const char *name, const char *attributes,
                                     int64_t version);
/* Applies a scalar computation to each element of arrays of equal dimensions (at least one
 * array). */
HALO_API halo_op halo_map_elements(halo_builder *builder, int count, const halo_op *operands,
                                   halo_comp computation);
/* As halo_map_elements, with XLA's other arguments: `dims` must be all dimensions in order, and
 * `static_operands` must be empty, as in XLA. */
HALO_API halo_op halo_map_dims(halo_builder *builder, int count, const halo_op *operands,
                               halo_comp computation, int dim_count, const int64_t *dims,
                               int static_count, const halo_op *static_operands);
/* While condition(value) holds, value = body(value), starting with `init`. */
HALO_API halo_op halo_while(halo_comp condition, halo_comp body, halo_op init);
/* on_true(true_operand) or on_false(false_operand), depending on a pred scalar. */
HALO_API halo_op halo_conditional(halo_op pred, halo_op true_operand, halo_comp on_true,
                                  halo_op false_operand, halo_comp on_false);
/* branches[index](operands[index]) for an s32 scalar; an index out of range runs the last
 * branch. */
HALO_API halo_op halo_conditional_indexed(halo_op index, int count, const halo_comp *branches,
                                          const halo_op *operands);
/* Reduces these dimensions with computation(accumulator, value), starting with the scalar
 * `init`. */
HALO_API halo_op halo_reduce(halo_op operand, halo_op init, halo_comp computation, int count,
                             const int64_t *dims);
/* As halo_reduce, over all dimensions. */
HALO_API halo_op halo_reduce_all(halo_op operand, halo_op init, halo_comp computation);
/* Reduces n arrays of equal dimensions at once. The computation maps (accumulators.., values..) to
 * a tuple; the result is a tuple. */
HALO_API halo_op halo_reduce_many(halo_builder *builder, int n, const halo_op *operands,
                                  const halo_op *inits, halo_comp computation, int count,
                                  const int64_t *dims);
/* Sorts along a dimension (-1: the last one). All operands have equal dimensions, and elements at
 * the same place stay together. comparator(lhs0, rhs0, lhs1, rhs1, ...) says whether lhs goes
 * before rhs, and must be a strict weak order; otherwise the resulting order is unspecified. With
 * `stable` equal elements keep their order (here always). One operand gives an array, several a
 * tuple. XLA: Sort. */
HALO_API halo_op halo_sort(halo_builder *builder, int count, const halo_op *operands,
                           halo_comp comparator, int64_t dimension, bool stable);
/* The older form without a comparator: ascending by the first operand, floats in total order; other
 * operands are reordered with it. */
HALO_API halo_op halo_sort_ascending(halo_builder *builder, int count, const halo_op *operands,
                                     int64_t dimension);
/* A tuple of the k largest (or smallest) elements along the last dimension, in order, and their
 * indices as s32. Floats are compared in total order; among equal elements the one with the lower
 * index comes first. XLA: TopK. */
HALO_API halo_op halo_top_k(halo_op operand, int64_t k, bool largest);
/* The older form: comparator(a, b) says whether a goes before b, by a < b or a > b. */
HALO_API halo_op halo_top_k_by(halo_op operand, int64_t k, halo_comp comparator);
/* A new sub-computation for an ascending sort: it compares the first of `count` operands of these
 * types, floats in total order. XLA: CreateScalarLtComputation. */
HALO_API halo_comp halo_comparator_lt(halo_builder *builder, int count, const halo_type *types);
/* The same for a descending sort. XLA: CreateScalarGtComputation. */
HALO_API halo_comp halo_comparator_gt(halo_builder *builder, int count, const halo_type *types);
/* The same value; optimisations do not move operations across it. */
HALO_API halo_op halo_optimization_barrier(halo_op operand);

/* ---- Exchange with the host ----
 *
 * halo/channels.h describes the host's side. Tokens order operations with effects; a call without a
 * token is not ordered after anything. Shapes are copied. */

/* A token that nothing precedes. XLA: CreateToken. */
HALO_API halo_op halo_create_token(halo_builder *builder);
/* A token that follows all of `tokens`. */
HALO_API halo_op halo_after_all(halo_builder *builder, int count, const halo_op *tokens);
/* The next item of the infeed queue, which must have this shape (an array or a tuple). `config` has
 * no effect and is kept (NULL: none). XLA: Infeed. */
HALO_API halo_op halo_infeed(halo_builder *builder, const halo_shape *shape, const char *config);
/* As halo_infeed, after a token; the result is (item, token). XLA: InfeedWithToken. */
HALO_API halo_op halo_infeed_with_token(halo_op token, const halo_shape *shape, const char *config);
/* Appends a value to the outfeed queue. `shape` (NULL: the operand's) may have another layout,
 * which has no effect. The result is a token, where XLA's Outfeed gives an empty tuple. */
HALO_API halo_op halo_outfeed(halo_op operand, const halo_shape *shape, const char *config);
/* As halo_outfeed, after a token. */
HALO_API halo_op halo_outfeed_with_token(halo_op operand, halo_op token, const halo_shape *shape,
                                         const char *config);
/* Passes a value to the functions of a channel, after a token; the result is a token. XLA:
 * SendToHost. */
HALO_API halo_op halo_send_to_host(halo_op operand, halo_op token, int64_t channel);
/* A value from the functions of a channel, after a token; the result is (value, token). XLA:
 * RecvFromHost. */
HALO_API halo_op halo_recv_from_host(halo_op token, const halo_shape *shape, int64_t channel);

/* ---- Transfers from one device to another ----
 *
 * One send and one receive of a computation share a channel, a number above 0. The frontend
 * attribute _xla_send_recv_source_target_pairs ("{{0,1},{1,2}}") of the receive or of the send says
 * which device sends to which; set it with halo_builder_set_frontend_attribute before the calls. A
 * program without it is rejected when it is compiled. A device to which nobody sends receives
 * zeros. */

/* Sends a value; the result is a token. XLA: Send. */
HALO_API halo_op halo_send(halo_op operand, int64_t channel);
/* As halo_send, after a token. XLA: SendWithToken. */
HALO_API halo_op halo_send_with_token(halo_op operand, halo_op token, int64_t channel);
/* The value that the channel's send sends, which has this shape. XLA: Recv. */
HALO_API halo_op halo_recv(halo_builder *builder, const halo_shape *shape, int64_t channel);
/* As halo_recv, after a token; the result is (value, token). XLA: RecvWithToken. */
HALO_API halo_op halo_recv_with_token(halo_op token, const halo_shape *shape, int64_t channel);

/* A new sub-computation (a, b) -> a op b on scalars of a type, for halo_reduce and similar
 * operations. */
HALO_API halo_comp halo_scalar_add(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_mul(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_max(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_min(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_and(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_or(halo_builder *builder, halo_type type);

/* ---- Dot ---- */

/* The required accuracy of a product; implementations may be more accurate. */
typedef enum halo_precision {
  HALO_PRECISION_DEFAULT = 0,
  HALO_PRECISION_HIGH = 1,
  HALO_PRECISION_HIGHEST = 2
} halo_precision;

/* Options of a product. Zero-initialise unused fields. */
typedef struct halo_dot_options {
  halo_type preferred_type; /* of the result; HALO_TYPE_INVALID: the operands' */
  halo_precision lhs_precision, rhs_precision;
} halo_dot_options;

/* The dimensions of a product. Lists correspond by position. Zero-initialise unused fields. */
typedef struct halo_dot_dims {
  int batch_count, contracting_count;
  const int64_t *lhs_batch, *rhs_batch;             /* [batch_count] each */
  const int64_t *lhs_contracting, *rhs_contracting; /* [contracting_count] each */
} halo_dot_dims;

/* Products of vectors and matrices: the last dimension of lhs with the first of rhs. `options` may
 * be NULL. */
HALO_API halo_op halo_dot(halo_op lhs, halo_op rhs, const halo_dot_options *options);
/* A product over any dimensions. The result's dimensions are the batch dimensions, then lhs's
 * others, then rhs's others. `options` may be NULL. */
HALO_API halo_op halo_dot_general(halo_op lhs, halo_op rhs, const halo_dot_dims *dims,
                                  const halo_dot_options *options);

/* A product in which dimension `lhs_ragged` of lhs is divided into groups of the sizes in
 * `group_sizes`: [g], or one list for each index of the lhs dimensions before it that are batch
 * dimensions or of its kind. The kind of dimension decides:
 *
 * Free: each group is multiplied with its own entry of rhs dimension `rhs_group`; rows in no group
 * give 0. Contracting (`rhs_group` -1): one result per group, numbered by dimension 0. Batch:
 * groups have no effect. As in XLA, lhs is used once per group, so that work grows with the number
 * of groups. */
HALO_API halo_op halo_ragged_dot(halo_op lhs, halo_op rhs, halo_op group_sizes,
                                 const halo_dot_dims *dims, int64_t lhs_ragged, int64_t rhs_group,
                                 const halo_dot_options *options);
/* A product of scaled operands. Each extent of a scale divides its operand's extent, and each
 * element of a scale applies to a block of neighbours. A scalar scale means none, whatever its
 * value. */
HALO_API halo_op halo_scaled_dot(halo_op lhs, halo_op lhs_scale, halo_op rhs, halo_op rhs_scale,
                                 const halo_dot_dims *dims, const halo_dot_options *options);

/* ---- Convolution ----
 *
 * Each element of the result is the sum, over a window of `lhs` and its input features, of products with
 * elements of the kernel `rhs`. As in XLA, the calls differ in their defaults. `count` is the number of
 * spatial dimensions (0 or more) and the length of all lists. A NULL list means all 1 (strides,
 * dilations), all 0 (padding) or all false (window_reversal). */

/* The padding around the image. */
typedef enum halo_conv_padding {
  HALO_CONV_VALID, /* nothing */
  HALO_CONV_SAME   /* the result has ceil(size / stride) elements; the odd one is at the end */
} halo_conv_padding;

/* The role of each dimension of each array. */
typedef struct halo_conv_numbers {
  int64_t lhs_batch, lhs_feature;
  int64_t rhs_input_feature, rhs_output_feature;
  int64_t out_batch, out_feature;
  const int64_t *lhs_spatial, *rhs_spatial, *out_spatial; /* [count] each */
} halo_conv_numbers;

/* Options of a convolution. Zero-initialise unused fields. */
typedef struct halo_conv_options {
  /* The number of independent groups of features (the kernel has the input features of one group) or of
   * the batch. At most one of them may exceed 1; 0 means 1. */
  int64_t feature_group_count, batch_group_count;
  halo_type preferred_type; /* of the result; HALO_TYPE_INVALID: the higher of the operands' */
  halo_precision lhs_precision, rhs_precision;
} halo_conv_options;

/* A convolution with default dimension numbers: batch (for the kernel: output features) 0, features
 * (for the kernel: input features) 1, then the spatial dimensions. `options` may be NULL, here and
 * below. */
HALO_API halo_op halo_conv(halo_op lhs, halo_op rhs, int count, const int64_t *strides,
                           halo_conv_padding padding, const halo_conv_options *options);
/* As halo_conv, with padding as (low, high) pairs; negative padding crops. `interior` must be 0. */
HALO_API halo_op halo_conv_with_general_padding(halo_op lhs, halo_op rhs, int count,
                                                const int64_t *strides, const halo_padding *padding,
                                                const halo_conv_options *options);
/* As halo_conv, with explicit dimension numbers. */
HALO_API halo_op halo_conv_with_general_dimensions(halo_op lhs, halo_op rhs, int count,
                                                   const int64_t *strides,
                                                   halo_conv_padding padding,
                                                   const halo_conv_numbers *numbers,
                                                   const halo_conv_options *options);
/* As halo_conv, with explicit padding and dimension numbers. */
HALO_API halo_op halo_conv_general(halo_op lhs, halo_op rhs, int count, const int64_t *strides,
                                   const halo_padding *padding, const halo_conv_numbers *numbers,
                                   const halo_conv_options *options);
/* The general form. A dilation of d puts d - 1 zeros between neighbouring elements, of the image
 * before padding (lhs_dilation) or of the kernel (rhs_dilation). `window_reversal` runs the kernel
 * backwards along a dimension. */
HALO_API halo_op halo_conv_general_dilated(halo_op lhs, halo_op rhs, int count,
                                           const int64_t *strides, const halo_padding *padding,
                                           const int64_t *lhs_dilation, const int64_t *rhs_dilation,
                                           const bool *window_reversal,
                                           const halo_conv_numbers *numbers,
                                           const halo_conv_options *options);

/* ---- Linear algebra ----
 *
 * A matrix is the last two dimensions of an array; the others are a batch. */

/* Which form of a matrix is used in a system of equations. */
typedef enum halo_matrix_op { HALO_NO_TRANSPOSE, HALO_TRANSPOSE, HALO_ADJOINT } halo_matrix_op;

/* The l of a = l l^H for each Hermitian positive definite matrix of `a`, of which the lower
 * triangle is read; or the u of a = u^H u from the upper triangle. The other triangle of the result
 * is 0. A matrix without a factor gives NaN in all elements. Floats and complex numbers. */
HALO_API halo_op halo_cholesky(halo_op a, bool lower);
/* The x of op(a) x = b, or of x op(a) = b if not `left_side`, for each matrix of `a` and `b`, whose
 * batch dimensions are equal. Only the lower or the upper triangle of `a` is read; the other counts
 * as 0. With `unit_diagonal` the diagonal counts as 1 and is not read. A 0 on the diagonal gives
 * infinities and NaN. Floats and complex numbers. */
HALO_API halo_op halo_triangular_solve(halo_op a, halo_op b, bool left_side, bool lower,
                                       bool unit_diagonal, halo_matrix_op transpose_a);
/* ---- Windows ---- */

/* Windows over an array, by its dimensions; `count` must be the rank. NULL strides and dilations
 * are all 1. NULL padding is none (VALID), unless `same`: then the padding makes the result
 * ceil(extent / stride) long, with the odd element at the end (SAME). Padding may be negative; its
 * interior must be 0. Zero-initialise unused fields. */
typedef struct halo_window {
  int count;
  const int64_t *sizes, *strides, *base_dilations, *window_dilations; /* [count] each */
  const halo_padding *padding;                                        /* [count] */
  bool same;
} halo_window;

/* Reduces the elements of each window with computation(accumulator, value), starting with the
 * scalar `init`; padding and holes are left out. XLA: ReduceWindow and
 * ReduceWindowWithGeneralPadding. */
HALO_API halo_op halo_reduce_window(halo_op operand, halo_op init, halo_comp computation,
                                    const halo_window *window);
/* As halo_reduce_window for n arrays of equal dimensions at once; otherwise as halo_reduce_many. */
HALO_API halo_op halo_reduce_window_many(halo_builder *builder, int n, const halo_op *operands,
                                         const halo_op *inits, halo_comp computation,
                                         const halo_window *window);
/* The gradient of pooling. Each window of the operand selects an element: the first one for which
 * select(selected, other) holds against all others. The window's element of `source` is combined
 * into that place by scatter(held, source); all places start as the scalar `init`. The window has
 * no dilations. XLA: SelectAndScatter and SelectAndScatterWithGeneralPadding. */
HALO_API halo_op halo_select_and_scatter(halo_op operand, halo_comp select,
                                         const halo_window *window, halo_op source, halo_op init,
                                         halo_comp scatter);
/* Whether a scan's computation is associative, so that its results may be combined in another
 * order. */
typedef enum halo_associativity {
  HALO_ASSOCIATIVITY_UNKNOWN,
  HALO_ASSOCIATIVE,
  HALO_NOT_ASSOCIATIVE
} halo_associativity;

/* Goes through slices of the inputs along a dimension, in order (from the last one if `reverse`),
 * and carries values from one to the next. computation(slices.., carries..) returns a tuple of
 * outputs and new carries. The result is a tuple of the outputs, concatenated along that dimension,
 * and the last carries. `associative` (XLA: is_associative) is kept in the module; the order does
 * not depend on it. XLA: Scan. */
HALO_API halo_op halo_scan(halo_builder *builder, int inputs, const halo_op *arrays, int carries,
                           const halo_op *inits, halo_comp computation, int64_t dimension,
                           bool reverse, halo_associativity associative);

/* ---- Batch normalisation ----
 *
 * `feature_index` is the dimension of the features; each feature is normalised over all other
 * dimensions. Operands other than `operand` and `grad_output` are vectors with one element per
 * feature. All are floats of one type. */

/* A tuple: (operand - mean) / sqrt(variance + epsilon) * scale + offset, and the mean and the
 * (biased) variance of each feature of the operand. XLA: BatchNormTraining. */
HALO_API halo_op halo_batch_norm_training(halo_op operand, halo_op scale, halo_op offset,
                                          float epsilon, int64_t feature_index);
/* The first of these results, with the given mean and variance. XLA: BatchNormInference. */
HALO_API halo_op halo_batch_norm_inference(halo_op operand, halo_op scale, halo_op offset,
                                           halo_op mean, halo_op variance, float epsilon,
                                           int64_t feature_index);
/* A tuple of the gradients with respect to the operand, the scale and the offset of
 * halo_batch_norm_training, given the gradient of its first result. `batch_mean` and `batch_var`
 * are its other results. XLA: BatchNormGrad. */
HALO_API halo_op halo_batch_norm_grad(halo_op operand, halo_op scale, halo_op batch_mean,
                                      halo_op batch_var, halo_op grad_output, float epsilon,
                                      int64_t feature_index);

/* ---- Names of older documents ----
 *
 * docs/older-names.md lists all of them, and older orders of arguments. */

/* The same as halo_and, halo_or and halo_not. */
HALO_API halo_op halo_logical_and(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_logical_or(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_logical_not(halo_op operand);
/* An all-reduce that adds: the sum over the replicas of each group. `replicas` has `groups` lists
 * of `size` numbers, one after the other; 0 groups: over all replicas. */
HALO_API halo_op halo_cross_replica_sum(halo_op operand, int groups, int size,
                                        const int64_t *replicas);

/* ---- Custom calls ----
 *
 * halo/custom_call.h describes the functions, which are found by the name of their target. */

/* Options of a custom call. Zero-initialise unused fields. */
typedef struct halo_custom_options {
  const char
      *config; /* passed to the function: any text, or with `typed` "{name = 1 : i64, ...}" */
  bool typed;  /* API_VERSION_TYPED_FFI: `config` is a dictionary of attributes */
  bool has_side_effect; /* called even if the result is unused */
} halo_custom_options;

/* The function's result for these operands, row-major. It has this shape, including tuples and
 * layouts; nothing checks that the function writes it. `options` may be NULL, here and below. */
HALO_API halo_op halo_custom_call(halo_builder *builder, const char *target, int count,
                                  const halo_op *operands, const halo_shape *shape,
                                  const halo_custom_options *options);
/* As halo_custom_call, with the operands in the layouts of `operand_shapes` [count]. */
HALO_API halo_op halo_custom_call_with_layout(halo_builder *builder, const char *target, int count,
                                              const halo_op *operands, const halo_shape *shape,
                                              const halo_shape *const *operand_shapes,
                                              const halo_custom_options *options);
/* As halo_custom_call, with a computation for readers of the module; functions do not receive
 * it. */
HALO_API halo_op halo_custom_call_with_computation(halo_builder *builder, const char *target,
                                                   int count, const halo_op *operands,
                                                   halo_comp computation, const halo_shape *shape,
                                                   const halo_custom_options *options);

#ifdef __cplusplus
}
#endif
#endif

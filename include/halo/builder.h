/* halo/builder.h: making modules op by op, in the manner of XlaBuilder.
 *
 *   halo_builder *b = halo_builder_create("axpy");
 *   halo_op x = halo_parameter(b, 0, shape, "x"), y = halo_parameter(b, 1, shape, "y");
 *   halo_op sum = halo_add(halo_mul(halo_constant_f32(b, 2), x), y);
 *   halo_module *module;
 *   halo_status status = halo_builder_build(b, sum, &module);
 *   halo_builder_release(b);
 *
 * Ops never fail by themselves: the first error is kept in the builder, the op that made it and all
 * that follow return an invalid handle, and halo_builder_build reports it. A builder with its subs
 * is for one thread at a time. Lists are given as (count, array); the array may be NULL when count
 * is 0 and is copied. */
#ifndef HALO_BUILDER_H
#define HALO_BUILDER_H

#include "halo/annotations.h"
#include "halo/literal.h"
#include "halo/module.h"
#include "halo/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A computation in the making; a top builder makes the entry computation, its subs the others. */
typedef struct halo_builder halo_builder;

/* A value of a builder. Copy it freely; it owns nothing and is dead once its builder is built,
 * finished or released. Invalid after an error, or zero-initialised: builder NULL or id < 0. */
typedef struct halo_op {
  halo_builder *builder;
  int32_t id;
} halo_op;

/* A finished sub-computation; usable anywhere below the same top builder until that is built. */
typedef struct halo_comp {
  halo_builder *builder; /* the top one */
  int32_t id;
} halo_comp;

/* ---- Builders ---- */

/* A builder for a module of this name (NULL: "module"). Never NULL; release it. */
HALO_API halo_builder *halo_builder_create(const char *name);
/* Releases a top builder, built or not, and all its subs; NULL is allowed. Subs are not released on
 * their own: the call does nothing for them. */
HALO_API void halo_builder_release(halo_builder *builder);
/* A builder for a computation that ops of `parent`'s module can call. Owned by the top builder.
 * NULL only when `parent` is. */
HALO_API halo_builder *halo_builder_create_sub(halo_builder *parent, const char *name);
/* Ends a sub with its result. Afterwards the sub takes no more ops. */
HALO_API halo_comp halo_builder_finish_sub(halo_builder *sub, halo_op root);
/* Ends a top builder: the module, verified, with one reference for the caller; or the first error
 * with a message that names the call ("axpy: call 3 (halo_add): ..."), and *out NULL. The builder
 * can only be released then. */
HALO_API HALO_MUST_USE halo_status halo_builder_build(halo_builder *builder, halo_op root,
                                                      halo_module **out);
/* The first error so far (of the whole tree of builders), or HALO_OK. */
HALO_API halo_status halo_builder_status(const halo_builder *builder);
/* Its message, or ""; owned by the builder. */
HALO_API const char *halo_builder_message(const halo_builder *builder);
/* The shape of a value; NULL for an invalid handle. Lives as long as the handle. */
HALO_API const halo_shape *halo_op_shape(halo_op op);

/* ---- Annotations ---- */

/* What the ops that are made from now on in this computation carry, until it is set anew; at first nothing.
 * NULL: nothing again. A call that makes several instructions gives it to each. All is copied. A NULL
 * builder is ignored; what is wrong becomes the builder's first error. */

/* Where they come from (XlaBuilder::SetOpMetadata). */
HALO_API void halo_builder_set_metadata(halo_builder *builder, const halo_metadata *metadata);
/* How their results are spread (XlaBuilder::SetSharding): as many devices as tiles, and no tuple within a
 * tuple. A NAMED one's text is taken as it is. */
HALO_API void halo_builder_set_sharding(halo_builder *builder, const halo_sharding *sharding);
/* One of their frontend attributes (XlaBuilder::SetFrontendAttributes). The name is an HLO identifier;
 * value NULL: none of this name; name NULL: none at all. */
HALO_API void halo_builder_set_frontend_attribute(halo_builder *builder, const char *name,
                                                  const char *value);
/* The same for one op that is made already (XlaBuilder::SetInstructionSharding and
 * SetInstructionFrontendAttribute); of several instructions that a call made, the one with its result. */
HALO_API void halo_op_set_metadata(halo_op op, const halo_metadata *metadata);
HALO_API void halo_op_set_sharding(halo_op op, const halo_sharding *sharding);
HALO_API void halo_op_set_frontend_attribute(halo_op op, const char *name, const char *value);
/* How exact an op's results are to be; of those alone that have result_accuracy in docs/ops.md. NULL: by
 * default. (XlaBuilder: an argument of Exp and the others.) */
HALO_API void halo_op_set_accuracy(halo_op op, const halo_accuracy *accuracy);

/* ---- Parameters and constants ---- */

/* Parameter `number` of the computation; each number from 0 once. The shape is copied; `name` may
 * be NULL, is made an HLO name, and gets a suffix when it is taken. */
HALO_API halo_op halo_parameter(halo_builder *builder, int64_t number, const halo_shape *shape,
                                const char *name);
/* A value in the program. The literal is retained; it must not change any more. */
HALO_API halo_op halo_constant_literal(halo_builder *builder, halo_literal *literal);
/* An array of row-major data (halo_type_size bytes an element), copied. */
HALO_API halo_op halo_constant_array(halo_builder *builder, halo_type type, int rank,
                                     const int64_t *dims, const void *data);
/* A scalar of any type from a double, rounded (integers: truncated and saturated). */
HALO_API halo_op halo_constant_scalar(halo_builder *builder, halo_type type, double value);
HALO_API halo_op halo_constant_pred(halo_builder *builder, bool value);
HALO_API halo_op halo_constant_s32(halo_builder *builder, int32_t value);
HALO_API halo_op halo_constant_s64(halo_builder *builder, int64_t value);
HALO_API halo_op halo_constant_u32(halo_builder *builder, uint32_t value);
HALO_API halo_op halo_constant_u64(halo_builder *builder, uint64_t value);
HALO_API halo_op halo_constant_f32(halo_builder *builder, float value);
HALO_API halo_op halo_constant_f64(halo_builder *builder, double value);
HALO_API halo_op halo_constant_c64(halo_builder *builder, float re, float im);
HALO_API halo_op halo_constant_c128(halo_builder *builder, double re, double im);
/* The scalars 0 and 1, and the least and greatest value (infinities where the type has them). */
HALO_API halo_op halo_zero(halo_builder *builder, halo_type type);
HALO_API halo_op halo_one(halo_builder *builder, halo_type type);
HALO_API halo_op halo_min_value(halo_builder *builder, halo_type type);
HALO_API halo_op halo_max_value(halo_builder *builder, halo_type type);
/* A scalar of the operand's element type, and arrays of its shape filled with one value. */
HALO_API halo_op halo_scalar_like(halo_op operand, double value);
HALO_API halo_op halo_full_like(halo_op operand, double value);
HALO_API halo_op halo_zeros_like(halo_op operand);
HALO_API halo_op halo_ones_like(halo_op operand);
/* 0, 1, 2, ... size-1. */
HALO_API halo_op halo_iota(halo_builder *builder, halo_type type, int64_t size);
/* An array whose elements are their own index along `iota_dimension`. (XLA's Iota of a shape: its type and dimensions.) */
HALO_API halo_op halo_iota_array(halo_builder *builder, halo_type type, int rank,
                                 const int64_t *dims, int64_t iota_dimension);

/* ---- Tuples ---- */

/* A tuple of values of `builder`; `count` may be 0. */
HALO_API halo_op halo_tuple(halo_builder *builder, int count, const halo_op *elements);
HALO_API halo_op halo_get_tuple_element(halo_op tuple, int64_t index);

/* ---- Elementwise, one operand: the result has the operand's dimensions ---- */

HALO_API halo_op halo_abs(halo_op operand); /* complex: the real magnitude */
HALO_API halo_op halo_acos(halo_op operand);
HALO_API halo_op halo_acosh(halo_op operand);
HALO_API halo_op halo_asin(halo_op operand);
HALO_API halo_op halo_asinh(halo_op operand);
HALO_API halo_op halo_atan(halo_op operand);
HALO_API halo_op halo_atanh(halo_op operand);
HALO_API halo_op halo_cbrt(halo_op operand);
HALO_API halo_op halo_ceil(halo_op operand);
HALO_API halo_op halo_floor(halo_op operand);
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
HALO_API halo_op halo_logistic(halo_op operand); /* 1 / (1 + exp(-x)) */
HALO_API halo_op halo_sqrt(halo_op operand);
HALO_API halo_op halo_rsqrt(halo_op operand);
HALO_API halo_op halo_neg(halo_op operand);
HALO_API halo_op halo_sign(halo_op operand);
HALO_API halo_op halo_not(halo_op operand); /* pred: logical; integers: bitwise */
HALO_API halo_op halo_population_count(halo_op operand);
HALO_API halo_op halo_clz(halo_op operand);       /* leading zero bits */
HALO_API halo_op halo_is_finite(halo_op operand); /* result pred */
HALO_API halo_op halo_real(halo_op operand);
HALO_API halo_op halo_imag(halo_op operand);
HALO_API halo_op halo_round_nearest_afz(halo_op operand); /* ties away from zero */
HALO_API halo_op halo_round_nearest_even(halo_op operand);
HALO_API halo_op halo_round(halo_op operand); /* round_nearest_afz */
HALO_API halo_op halo_conj(halo_op operand);  /* real values: themselves */
HALO_API halo_op halo_square(halo_op operand);
HALO_API halo_op halo_reciprocal(halo_op operand); /* 1 / x */
/* The same value, in a buffer of its own. Any shape. */
HALO_API halo_op halo_copy(halo_op operand);
/* Values converted to another element type; complex to real takes the real part. */
HALO_API halo_op halo_convert(halo_op operand, halo_type type);
/* Bits reinterpreted. To a narrower type adds a minor dimension of the ratio of the widths, to a
 * wider one takes it away. */
HALO_API halo_op halo_bitcast_convert(halo_op operand, halo_type type);
/* Floats rounded as if they had so few bits. */
HALO_API halo_op halo_reduce_precision(halo_op operand, int exponent_bits, int mantissa_bits);

/* ---- Elementwise, two operands ----
 *
 * Element types must match. Operands of equal rank broadcast dimensions of size 1 to the other's
 * size. A scalar broadcasts to any shape. Otherwise the ranks must be equal, or the form with _dims
 * says for each dimension of the smaller operand which dimension of the larger one it is: a
 * strictly increasing list. Broadcasts become ops of their own in the module. */

HALO_API halo_op halo_add(halo_op lhs, halo_op rhs); /* pred: or */
HALO_API halo_op halo_sub(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_mul(halo_op lhs, halo_op rhs); /* pred: and */
HALO_API halo_op halo_div(halo_op lhs, halo_op rhs); /* integers: truncates; x/0 is all ones */
HALO_API halo_op halo_rem(halo_op lhs, halo_op rhs); /* sign of lhs */
HALO_API halo_op halo_pow(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_max(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_min(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_mulhi(halo_op lhs, halo_op rhs); /* high half of the integer product */
HALO_API halo_op halo_atan2(halo_op lhs, halo_op rhs); /* y, x */
HALO_API halo_op halo_and(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_or(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_xor(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_shift_left(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_shift_right_logical(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_shift_right_arithmetic(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_complex(halo_op real, halo_op imag); /* f32: c64, f64: c128 */
/* Comparisons: result pred. Floats: NaN makes all but ne false; pred: false < true. */
HALO_API halo_op halo_eq(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_ne(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_ge(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_gt(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_le(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_lt(halo_op lhs, halo_op rhs);
/* The same in the total order of floats: -NaN < -Inf < ... < -0 < +0 < ... < Inf < NaN. */
HALO_API halo_op halo_eq_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_ne_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_ge_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_gt_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_le_total_order(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_lt_total_order(halo_op lhs, halo_op rhs);

/* The same ops with a list of broadcast dimensions (count 0: none given). */
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

/* on_true where pred holds, else on_false: arrays of one shape (a scalar is broadcast), pred a
 * scalar or of the same dimensions. Tuples: pred a scalar; becomes a conditional. */
HALO_API halo_op halo_select(halo_op pred, halo_op on_true, halo_op on_false);
/* min(max, max(min, x)); each bound a scalar or of x's shape. */
HALO_API halo_op halo_clamp(halo_op min, halo_op operand, halo_op max);

/* ---- Movement ---- */

/* New dimensions of these sizes in front. */
HALO_API halo_op halo_broadcast(halo_op operand, int count, const int64_t *sizes);
/* To `dims`; operand dimension i becomes dimension broadcast_dims[i] (strictly increasing, one for
 * each operand dimension) and is of that size or 1. */
HALO_API halo_op halo_broadcast_in_dim(halo_op operand, int rank, const int64_t *dims, int count,
                                       const int64_t *broadcast_dims);
/* The same elements in row-major order under other dimensions of the same product. */
HALO_API halo_op halo_reshape(halo_op operand, int rank, const int64_t *dims);
/* As above with the result's shape (its dynamic marks included); element types must be equal. */
HALO_API halo_op halo_reshape_to(halo_op operand, const halo_shape *shape);
/* Transposes by `permutation` first: the operand's dimensions from slowest to fastest varying. */
HALO_API halo_op halo_reshape_permuted(halo_op operand, int count, const int64_t *permutation,
                                       int rank, const int64_t *dims);
/* Merges consecutive dimensions into one; fewer than two are left as they are. */
HALO_API halo_op halo_collapse(halo_op operand, int count, const int64_t *dims);
/* Result dimension i is operand dimension permutation[i]. */
HALO_API halo_op halo_transpose(halo_op operand, int count, const int64_t *permutation);
/* Elements start, start+stride, ... below limit of each dimension; `count` must be the rank;
 * strides NULL: all 1. */
HALO_API halo_op halo_slice(halo_op operand, int count, const int64_t *starts,
                            const int64_t *limits, const int64_t *strides);
/* The same along one dimension. */
HALO_API halo_op halo_slice_in_dim(halo_op operand, int64_t start, int64_t limit, int64_t stride,
                                   int64_t dimension);
/* A window of `sizes` at run-time starts, one integer scalar a dimension, moved to fit inside. */
HALO_API halo_op halo_dynamic_slice(halo_op operand, int count, const halo_op *starts,
                                    const int64_t *sizes);
/* The older form: starts in one vector; `count` is the number of sizes. */
HALO_API halo_op halo_dynamic_slice_vector(halo_op operand, halo_op starts, int count,
                                           const int64_t *sizes);
/* The operand with a window replaced by `update`; starts as in dynamic_slice. */
HALO_API halo_op halo_dynamic_update_slice(halo_op operand, halo_op update, int count,
                                           const halo_op *starts);
HALO_API halo_op halo_dynamic_update_slice_vector(halo_op operand, halo_op update, halo_op starts);

/* How pad changes one dimension: elements before, after (negative: cropped) and between. */
typedef struct halo_padding {
  int64_t low, high, interior;
} halo_padding;

/* `value` is a scalar; `count` must be the rank. */
HALO_API halo_op halo_pad(halo_op operand, halo_op value, int count, const halo_padding *padding);
/* The same at both ends of one dimension. */
HALO_API halo_op halo_pad_in_dim(halo_op operand, halo_op value, int64_t dimension, int64_t low,
                                 int64_t high);
/* Operands of equal other dimensions one after the other; at least one. */
HALO_API halo_op halo_concat_in_dim(halo_builder *builder, int count, const halo_op *operands,
                                    int64_t dimension);
/* Reverses the order along these dimensions. */
HALO_API halo_op halo_rev(halo_op operand, int count, const int64_t *dims);
/* A shuffle that takes element i along dims[k] from i + shifts[k], and from the front again behind the end. */
HALO_API halo_op halo_shuffle_rotate(halo_op operand, int count, const int64_t *dims,
                                     const int64_t *shifts);
/* A shuffle that takes each element from the place that `indices`, integers, say: they have the operand's
 * dimensions, or 1 where all elements share them, and then one index for each of `dims`. Along other
 * dimensions elements stay. The literal is kept. */
HALO_API halo_op halo_shuffle_permute(halo_op operand, int count, const int64_t *dims,
                                      halo_literal *indices);

/* ---- Dimensions that are known at run time only ----
 * A dynamic dimension has a bound, which is its extent in shapes, and a size from 0 to that when the program
 * runs; operations do not see what lies behind the size. Parameters have some by halo_shape_create_dynamic. */

/* The size as an s32 scalar; the extent, of a dimension that is not dynamic. */
HALO_API halo_op halo_get_dimension_size(halo_op operand, int64_t dimension);
/* The operand with as many elements along a dimension as an s32 scalar says, which must be from 0 to the bound.
 * Nothing moves. The result's dimension is dynamic, unless `size` is a constant and is the bound. */
HALO_API halo_op halo_set_dimension_size(halo_op operand, halo_op size, int64_t dimension);
/* The operand with as many as the bound. */
HALO_API halo_op halo_remove_dynamic_dimension(halo_op operand, int64_t dimension);
/* The elements in row-major order as an array of `sizes`, an s32 scalar a dimension: as many as there are.
 * The product of the bounds must be the operand's; dimensions that are not `dynamic` are as long as their
 * bounds. */
HALO_API halo_op halo_dynamic_reshape(halo_op operand, int rank, const halo_op *sizes,
                                      const int64_t *bounds, const bool *dynamic);

/* What gather's dimensions mean, as in XLA. Zero-initialise what is not used. */
typedef struct halo_gather_dims {
  int offset_count, collapsed_count, start_map_count, batching_count;
  const int64_t *offset_dims;                                         /* [offset_count] */
  const int64_t *collapsed_slice_dims;                                /* [collapsed_count] */
  const int64_t *start_index_map;                                     /* [start_map_count] */
  const int64_t *operand_batching_dims, *start_indices_batching_dims; /* [batching_count] each */
  int64_t index_vector_dim;
} halo_gather_dims;

/* What scatter's dimensions mean, likewise. */
typedef struct halo_scatter_dims {
  int window_count, inserted_count, operand_count, batching_count;
  const int64_t *update_window_dims;                                  /* [window_count] */
  const int64_t *inserted_window_dims;                                /* [inserted_count] */
  const int64_t *scatter_dims_to_operand_dims;                        /* [operand_count] */
  const int64_t *input_batching_dims, *scatter_indices_batching_dims; /* [batching_count] each */
  int64_t index_vector_dim;
} halo_scatter_dims;

/* Slices of `slice_sizes` (count: the operand's rank) at the places that `indices` lists, moved to
 * fit inside. `sorted` promises sorted indices. */
HALO_API halo_op halo_gather(halo_op operand, halo_op indices, const halo_gather_dims *dims,
                             int count, const int64_t *slice_sizes, bool sorted);
/* The operand with windows of `updates` combined into it at the places that `indices` lists, one after
 * the other: element = computation(element, update). A window that does not fit inside is left out as
 * a whole. `sorted` promises sorted indices, `unique` that no element is met twice. */
HALO_API halo_op halo_scatter(halo_op operand, halo_op indices, halo_op updates,
                              halo_comp computation, const halo_scatter_dims *dims, bool sorted,
                              bool unique);
/* N arrays of equal dimensions at once: (elements.., updates..) to a tuple; result a tuple. */
HALO_API halo_op halo_scatter_many(halo_builder *builder, int n, const halo_op *operands,
                                   halo_op indices, const halo_op *updates, halo_comp computation,
                                   const halo_scatter_dims *dims, bool sorted, bool unique);

/* ---- Fourier transforms ---- */

typedef enum halo_fft_type {
  HALO_FFT_FORWARD,
  HALO_FFT_INVERSE,     /* divided by the number of elements */
  HALO_FFT_REAL,        /* real to the first half, and the middle, of a complex spectrum */
  HALO_FFT_REAL_INVERSE /* the inverse of that */
} halo_fft_type;

/* Transforms the last `count` (1 to 3) dimensions, whose extents in space are `lengths`, any numbers; the
 * others number transforms of their own. c64 or c128 to the same; real: f32 or f64 to complex with lengths / 2
 * + 1 elements in the last dimension, and back. */
HALO_API halo_op halo_fft(halo_op operand, halo_fft_type type, int count, const int64_t *lengths);

/* ---- Random numbers ---- */

typedef enum halo_rng_algorithm {
  HALO_RNG_DEFAULT, /* Philox */
  HALO_RNG_THREE_FRY,
  HALO_RNG_PHILOX
} halo_rng_algorithm;

/* Random bits for an array, which the state (u64[2], or u64[3] for Philox) determines: the same bits as
 * XLA's. Integers of any type, or floats, which get the bits as they are. The result is a tuple: the
 * state for the next call, and the array. */
HALO_API halo_op halo_rng_bit_generator(halo_op initial_state, halo_rng_algorithm algorithm,
                                        halo_type type, int rank, const int64_t *dims);

/* Numbers of the program's own random state (halo_executable_set_seed), of the type of the two scalars:
 * from a to b, of floats mostly below b, of integers always; and with mean mu and deviation sigma, floats
 * only. Statistically as XLA's, which promises no values. */
HALO_API halo_op halo_rng_uniform(halo_op a, halo_op b, int rank, const int64_t *dims);
HALO_API halo_op halo_rng_normal(halo_op mu, halo_op sigma, int rank, const int64_t *dims);
/* u32: 1 with the probability `mean`, an f32 scalar, else 0. An operation of old pages, made of others. */
HALO_API halo_op halo_rng_bernoulli(halo_op mean, int rank, const int64_t *dims);
/* Floats rounded to signed integers, up with the probability of what is cut off: where `random`, unsigned
 * and of the float's width, is less than that fraction of its range. What is too large becomes the largest, NaN 0. */
HALO_API halo_op halo_stochastic_convert_type(halo_op operand, halo_op random, halo_type type);

/* ---- Computations ---- */

/* fn(args..); the result is what the computation returns. */
HALO_API halo_op halo_call(halo_builder *builder, halo_comp computation, int count,
                           const halo_op *args);
/* The same for a computation that stands for one operation by this name, which other compilers may know: XLA's
 * CompositeCall and StableHLO's composite. `attributes` is a dictionary in MLIR's text, such as "{n = 1 : i32}" (NULL: none),
 * `version` is not negative. Here it runs as a call does. */
HALO_API halo_op halo_composite_call(halo_builder *builder, halo_comp computation, int count,
                                     const halo_op *args, const char *name, const char *attributes,
                                     int64_t version);
/* The scalar computation applied to each element of arrays of equal dimensions (at least one). */
HALO_API halo_op halo_map_elements(halo_builder *builder, int count, const halo_op *operands,
                                   halo_comp computation);
/* The form with XLA's further arguments: `dims` must be all dimensions in order, and there must be no static
 * operands, as in XLA. */
HALO_API halo_op halo_map_dims(halo_builder *builder, int count, const halo_op *operands,
                               halo_comp computation, int dim_count, const int64_t *dims,
                               int static_count, const halo_op *static_operands);
/* While condition(value) holds, value = body(value), from `init` on. */
HALO_API halo_op halo_while(halo_comp condition, halo_comp body, halo_op init);
/* on_true(true_operand) or on_false(false_operand), by a pred scalar. */
HALO_API halo_op halo_conditional(halo_op pred, halo_op true_operand, halo_comp on_true,
                                  halo_op false_operand, halo_comp on_false);
/* branches[index](operands[index]) by an s32 scalar; an index out of range runs the last branch. */
HALO_API halo_op halo_conditional_indexed(halo_op index, int count, const halo_comp *branches,
                                          const halo_op *operands);
/* Folds these dimensions with computation(accumulator, value), from the scalar `init` on. */
HALO_API halo_op halo_reduce(halo_op operand, halo_op init, halo_comp computation, int count,
                             const int64_t *dims);
/* The same over all dimensions. */
HALO_API halo_op halo_reduce_all(halo_op operand, halo_op init, halo_comp computation);
/* N arrays of equal dimensions at once: (accumulators.., values..) to a tuple; result a tuple. */
HALO_API halo_op halo_reduce_many(halo_builder *builder, int n, const halo_op *operands,
                                  const halo_op *inits, halo_comp computation, int count,
                                  const int64_t *dims);
/* Sorts along a dimension (-1: the last one): arrays of equal dimensions, of which equally placed elements
 * stay together. comparator(lhs0, rhs0, lhs1, rhs1, ...) says whether lhs goes before rhs, and must be a
 * strict weak order, else the order is anyhow. Equal elements keep their order if `stable` (here always).
 * One operand gives an array, several a tuple. XLA: Sort. */
HALO_API halo_op halo_sort(halo_builder *builder, int count, const halo_op *operands,
                           halo_comp comparator, int64_t dimension, bool stable);
/* The older form without a comparator: ascending by the first operand, floats in total order; the other
 * operands go along. */
HALO_API halo_op halo_sort_ascending(halo_builder *builder, int count, const halo_op *operands,
                                     int64_t dimension);
/* The k largest (or smallest) elements along the last dimension, the first of them first, and their places as
 * s32: a tuple. Floats are in total order; of equal ones the first comes first. XLA: TopK. */
HALO_API halo_op halo_top_k(halo_op operand, int64_t k, bool largest);
/* The older form: comparator(a, b) says whether a goes before b, by a < b or a > b. */
HALO_API halo_op halo_top_k_by(halo_op operand, int64_t k, halo_comp comparator);
/* New sub-computations that compare the first of `count` operands of these types, floats in total order:
 * comparators of an ascending and of a descending sort. XLA: CreateScalarLtComputation and -Gt-. */
HALO_API halo_comp halo_comparator_lt(halo_builder *builder, int count, const halo_type *types);
HALO_API halo_comp halo_comparator_gt(halo_builder *builder, int count, const halo_type *types);
/* The value, unchanged; nothing is moved across. */
HALO_API halo_op halo_optimization_barrier(halo_op operand);

/* ---- Exchange with the host: halo/channels.h says what happens. Tokens order what has effects; a call
 * without one is ordered after nothing. Shapes are copied. ---- */

/* A token that nothing comes before: XLA's CreateToken. */
HALO_API halo_op halo_create_token(halo_builder *builder);
/* A token that comes after all of `tokens`. */
HALO_API halo_op halo_after_all(halo_builder *builder, int count, const halo_op *tokens);
/* The next item of the infeed queue, which must be of this shape (an array, or a tuple). `config` means
 * nothing here and is kept (NULL: none). Infeed. */
HALO_API halo_op halo_infeed(halo_builder *builder, const halo_shape *shape, const char *config);
/* The same, after a token, as (item, token). InfeedWithToken. */
HALO_API halo_op halo_infeed_with_token(halo_op token, const halo_shape *shape, const char *config);
/* Puts a value into the outfeed queue. `shape` (NULL: the operand's) may say another layout, which changes
 * nothing. The result is a token, where XLA's Outfeed gives an empty tuple. */
HALO_API halo_op halo_outfeed(halo_op operand, const halo_shape *shape, const char *config);
HALO_API halo_op halo_outfeed_with_token(halo_op operand, halo_op token, const halo_shape *shape,
                                         const char *config);
/* Hands a value to the functions of a channel, after a token; the result is a token. SendToHost. */
HALO_API halo_op halo_send_to_host(halo_op operand, halo_op token, int64_t channel);
/* A value from the functions of a channel, after a token, as (value, token). RecvFromHost. */
HALO_API halo_op halo_recv_from_host(halo_op token, const halo_shape *shape, int64_t channel);

/* ---- From one device to another, by a channel (a number above 0) that one send and one receive of a computation
 * share. Which device sends to which is said by the frontend attribute _xla_send_recv_source_target_pairs,
 * "{{0,1},{1,2}}", of the receive or of the send (halo_builder_set_frontend_attribute before the calls); a program whose
 * pairs are not said is refused when it is compiled. A device that nobody sends to receives zeros. ---- */

/* Sends a value; the result is a token. Send and SendWithToken. */
HALO_API halo_op halo_send(halo_op operand, int64_t channel);
HALO_API halo_op halo_send_with_token(halo_op operand, halo_op token, int64_t channel);
/* The value that the send of the channel sends, which has this shape. Recv. */
HALO_API halo_op halo_recv(halo_builder *builder, const halo_shape *shape, int64_t channel);
/* The same, after a token, as (value, token). RecvWithToken. */
HALO_API halo_op halo_recv_with_token(halo_op token, const halo_shape *shape, int64_t channel);

/* New sub-computations (a, b) -> a op b on scalars of a type, for reduce and its like. */
HALO_API halo_comp halo_scalar_add(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_mul(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_max(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_min(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_and(halo_builder *builder, halo_type type);
HALO_API halo_comp halo_scalar_or(halo_builder *builder, halo_type type);

/* ---- Dot ---- */

/* How exact a product must be; implementations may be more so. */
typedef enum halo_precision {
  HALO_PRECISION_DEFAULT = 0,
  HALO_PRECISION_HIGH = 1,
  HALO_PRECISION_HIGHEST = 2
} halo_precision;

/* Zero-initialise what is not used. */
typedef struct halo_dot_options {
  halo_type preferred_type; /* of the result; HALO_TYPE_INVALID: the operands' */
  halo_precision lhs_precision, rhs_precision;
} halo_dot_options;

/* Which dimensions meet. Lists pair up by position. Zero-initialise what is not used. */
typedef struct halo_dot_dims {
  int batch_count, contracting_count;
  const int64_t *lhs_batch, *rhs_batch;             /* [batch_count] each */
  const int64_t *lhs_contracting, *rhs_contracting; /* [contracting_count] each */
} halo_dot_dims;

/* Vector and matrix products: the last (or second) dimension of lhs with the first of rhs.
 * `options` may be NULL. */
HALO_API halo_op halo_dot(halo_op lhs, halo_op rhs, const halo_dot_options *options);
/* Result dimensions: batch, then lhs's others, then rhs's others. `options` may be NULL. */
HALO_API halo_op halo_dot_general(halo_op lhs, halo_op rhs, const halo_dot_dims *dims,
                                  const halo_dot_options *options);

/* A product whose lhs dimension `lhs_ragged` is cut into groups of the sizes that `group_sizes` lists: [g], or
 * one list for each index of the lhs dimensions before it that are batch or of its kind. A free dimension:
 * each group meets its own entry of rhs dimension `rhs_group`, and what is in no group gives 0. A contracting
 * one (`rhs_group` -1): a result for each group, numbered by dimension 0. A batch one: groups mean nothing.
 * As in XLA lhs is taken once for each group, so that work grows with their number. */
HALO_API halo_op halo_ragged_dot(halo_op lhs, halo_op rhs, halo_op group_sizes,
                                 const halo_dot_dims *dims, int64_t lhs_ragged, int64_t rhs_group,
                                 const halo_dot_options *options);
/* A product of scaled sides: each extent of a scale divides its operand's, and a scale holds for a block of
 * neighbours. A scalar scale stands for none, whatever its value. */
HALO_API halo_op halo_scaled_dot(halo_op lhs, halo_op lhs_scale, halo_op rhs, halo_op rhs_scale,
                                 const halo_dot_dims *dims, const halo_dot_options *options);

/* ---- Convolution ----
 *
 * Each result element is the sum, over a window of `lhs` and its input features, of products with the
 * elements of the kernel `rhs`. The calls differ in what they leave to defaults, as in XLA. `count` is
 * the number of spatial dimensions, of every list too: 0 or more. Lists that are NULL are all 1 (strides,
 * dilations), all 0 (padding) or all false (window_reversal). */

/* What is put around the image. */
typedef enum halo_conv_padding {
  HALO_CONV_VALID, /* nothing */
  HALO_CONV_SAME /* as much as makes the result ceil(size / stride) large; the odd one at the end */
} halo_conv_padding;

/* Which dimension of each array plays which part. */
typedef struct halo_conv_numbers {
  int64_t lhs_batch, lhs_feature;
  int64_t rhs_input_feature, rhs_output_feature;
  int64_t out_batch, out_feature;
  const int64_t *lhs_spatial, *rhs_spatial, *out_spatial; /* [count] each */
} halo_conv_numbers;

/* Zero-initialise what is not used. */
typedef struct halo_conv_options {
  /* Groups that do not see each other, of features (the kernel's input features are those of one) or of
   * the batch; at most one of the two above 1. 0 is 1. */
  int64_t feature_group_count, batch_group_count;
  halo_type preferred_type; /* of the result; HALO_TYPE_INVALID: the higher of the operands' */
  halo_precision lhs_precision, rhs_precision;
} halo_conv_options;

/* Numbers by default: batch (the kernel: output features) 0, features (the kernel: input features) 1,
 * then the spatial dimensions. `options` may be NULL in all five. */
HALO_API halo_op halo_conv(halo_op lhs, halo_op rhs, int count, const int64_t *strides,
                           halo_conv_padding padding, const halo_conv_options *options);
/* Padding as (low, high) pairs, where negative ones crop; `interior` must be 0. */
HALO_API halo_op halo_conv_with_general_padding(halo_op lhs, halo_op rhs, int count,
                                                const int64_t *strides, const halo_padding *padding,
                                                const halo_conv_options *options);
HALO_API halo_op halo_conv_with_general_dimensions(halo_op lhs, halo_op rhs, int count,
                                                   const int64_t *strides,
                                                   halo_conv_padding padding,
                                                   const halo_conv_numbers *numbers,
                                                   const halo_conv_options *options);
HALO_API halo_op halo_conv_general(halo_op lhs, halo_op rhs, int count, const int64_t *strides,
                                   const halo_padding *padding, const halo_conv_numbers *numbers,
                                   const halo_conv_options *options);
/* All of it: holes of dilation - 1 zeros between the elements of the image before it is padded, and
 * of the kernel; kernels that run backwards along a dimension. */
HALO_API halo_op halo_conv_general_dilated(halo_op lhs, halo_op rhs, int count,
                                           const int64_t *strides, const halo_padding *padding,
                                           const int64_t *lhs_dilation, const int64_t *rhs_dilation,
                                           const bool *window_reversal,
                                           const halo_conv_numbers *numbers,
                                           const halo_conv_options *options);

/* ---- Linear algebra: a matrix is the last two dimensions of an array, the others number it ---- */

/* What stands for a in a system of equations. */
typedef enum halo_matrix_op { HALO_NO_TRANSPOSE, HALO_TRANSPOSE, HALO_ADJOINT } halo_matrix_op;

/* The l of a = l l^H for each (Hermitian, positive definite) matrix of `a`, of which the lower triangle is
 * read; or the u of a = u^H u from the upper one. The other triangle of the result is 0. A matrix that has no
 * factor gives NaN altogether. Floats and complex numbers. */
HALO_API halo_op halo_cholesky(halo_op a, bool lower);
/* The x of op(a) x = b, or of x op(a) = b where not `left_side`, for each matrix of `a` and of `b`, whose
 * batch dimensions are equal. Of `a` the lower or the upper triangle is read and taken to be all there is;
 * with `unit_diagonal` its diagonal is taken to be 1 and not read. A 0 on the diagonal gives infinities and
 * NaN. Floats and complex numbers. */
HALO_API halo_op halo_triangular_solve(halo_op a, halo_op b, bool left_side, bool lower,
                                       bool unit_diagonal, halo_matrix_op transpose_a);
/* ---- Windows ---- */

/* Windows over an array, by its dimensions: `count` must be the rank. NULL strides and dilations are all 1, NULL
 * padding is none (VALID), unless `same`: then as much as makes the result ceil(extent / stride) large, the
 * odd one at the end (SAME). Padding may be negative; its interior must be 0. Zero-initialise what is not
 * used. */
typedef struct halo_window {
  int count;
  const int64_t *sizes, *strides, *base_dilations, *window_dilations; /* [count] each */
  const halo_padding *padding;                                        /* [count] */
  bool same;
} halo_window;

/* Folds the elements of each window with computation(accumulator, value), from the scalar `init` on; padding and
 * holes are left out. XLA: ReduceWindow and ReduceWindowWithGeneralPadding. */
HALO_API halo_op halo_reduce_window(halo_op operand, halo_op init, halo_comp computation,
                                    const halo_window *window);
/* N arrays of equal dimensions at once, as in halo_reduce_many; result a tuple. */
HALO_API halo_op halo_reduce_window_many(halo_builder *builder, int n, const halo_op *operands,
                                         const halo_op *inits, halo_comp computation,
                                         const halo_window *window);
/* The gradient of a pooling: each window of the operand settles on an element, the first one that
 * select(settled, another) keeps throughout, and its element of `source` is combined with what lies there by
 * scatter(held, source); all begins as the scalar `init`. The window has no dilations. XLA:
 * SelectAndScatter and SelectAndScatterWithGeneralPadding. */
HALO_API halo_op halo_select_and_scatter(halo_op operand, halo_comp select,
                                         const halo_window *window, halo_op source, halo_op init,
                                         halo_comp scatter);
/* Whether a scan's computation is associative: its results may be combined in another order. */
typedef enum halo_associativity {
  HALO_ASSOCIATIVITY_UNKNOWN,
  HALO_ASSOCIATIVE,
  HALO_NOT_ASSOCIATIVE
} halo_associativity;

/* Slices of the inputs along a dimension one after the other (from the last one on if `reverse`), and carries
 * from one to the next: computation(slices.., carries..) gives a tuple of outputs and new carries. The
 * result is a tuple of the outputs, put together along that dimension, and the last carries. `associative` (XLA: is_associative)
 * is kept in the module; the order does not depend on it. XLA: Scan. */
HALO_API halo_op halo_scan(halo_builder *builder, int inputs, const halo_op *arrays, int carries,
                           const halo_op *inits, halo_comp computation, int64_t dimension,
                           bool reverse, halo_associativity associative);

/* ---- Batch normalisation: `feature_index` is the dimension of the features, each of which is normalised over all
 * other dimensions. Other operands than `operand` and `grad_output` are vectors, an element a feature. Floats of one type.
 * ---- */

/* A tuple: (operand - mean) / sqrt(variance + epsilon) * scale + offset, and the mean and (biased) variance of the
 * operand's features. XLA: BatchNormTraining. */
HALO_API halo_op halo_batch_norm_training(halo_op operand, halo_op scale, halo_op offset,
                                          float epsilon, int64_t feature_index);
/* The first of these, with a mean and a variance that are given. XLA: BatchNormInference. */
HALO_API halo_op halo_batch_norm_inference(halo_op operand, halo_op scale, halo_op offset,
                                           halo_op mean, halo_op variance, float epsilon,
                                           int64_t feature_index);
/* A tuple: the gradients by the operand, the scale and the offset of batch_norm_training, from that by its first result.
 * `batch_mean` and `batch_var` are its other results. XLA: BatchNormGrad. */
HALO_API halo_op halo_batch_norm_grad(halo_op operand, halo_op scale, halo_op batch_mean,
                                      halo_op batch_var, halo_op grad_output, float epsilon,
                                      int64_t feature_index);

/* ---- Names of older pages: docs/older-names.md has all of them, and older orders of arguments ---- */

/* halo_and, halo_or, halo_not. */
HALO_API halo_op halo_logical_and(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_logical_or(halo_op lhs, halo_op rhs);
HALO_API halo_op halo_logical_not(halo_op operand);
/* An all-reduce that adds: the sum over the replicas of each group, which are `groups` lists of `size` numbers, one
 * behind the other; 0 groups: over all replicas. */
HALO_API halo_op halo_cross_replica_sum(halo_op operand, int groups, int size,
                                        const int64_t *replicas);

/* ---- Custom calls: functions by the name of their target (halo/custom_call.h) ---- */

/* Zero-initialise what is not used. */
typedef struct halo_custom_options {
  const char
      *config; /* handed to the function: any text, or "{name = 1 : i64, ...}" with `typed` */
  bool typed;  /* API_VERSION_TYPED_FFI: `config` is a dictionary of attributes */
  bool has_side_effect; /* is called even where nobody uses the result */
} halo_custom_options;

/* The function's result for these operands. It has this shape, tuples and layouts included; nothing checks that
 * the function writes it. Operands are row-major. `options` may be NULL in all three. */
HALO_API halo_op halo_custom_call(halo_builder *builder, const char *target, int count,
                                  const halo_op *operands, const halo_shape *shape,
                                  const halo_custom_options *options);
/* The operands in the layouts of `operand_shapes` [count]. */
HALO_API halo_op halo_custom_call_with_layout(halo_builder *builder, const char *target, int count,
                                              const halo_op *operands, const halo_shape *shape,
                                              const halo_shape *const *operand_shapes,
                                              const halo_custom_options *options);
/* With a computation, for those that read the module; functions do not get it. */
HALO_API halo_op halo_custom_call_with_computation(halo_builder *builder, const char *target,
                                                   int count, const halo_op *operands,
                                                   halo_comp computation, const halo_shape *shape,
                                                   const halo_custom_options *options);

#ifdef __cplusplus
}
#endif
#endif

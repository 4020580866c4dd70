/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_builder.c: the builder: every op's shape, broadcasting, names. */
#include "builder_test.h"
#include "suite.h"

START_TEST(build_axpy) {
  halo_builder *b = halo_builder_create("axpy");
  halo_shape *shape;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 1, DIMS(8), &shape), HALO_OK);
  halo_op x = halo_parameter(b, 0, shape, "x"), y = halo_parameter(b, 1, shape, "x");
  halo_op sum = halo_add(halo_mul(halo_constant_f32(b, 2), x), y);
  halo_shape_release(shape);
  check_shape(sum, "f32[8]");
  halo_module *module;
  ck_assert_int_eq(halo_builder_build(b, sum, &module), HALO_OK);
  halo_builder_release(b);
  ck_assert_str_eq(halo_module_name(module), "axpy");
  ck_assert_int_eq(halo_module_parameter_count(module), 2);
  ck_assert_str_eq(halo_module_parameter_name(module, 0), "x");
  ck_assert_str_ne(halo_module_parameter_name(module, 1), "x");
  ck_assert_ptr_eq(module->entry->root->shape, halo_module_result_shape(module));
  halo_module_release(module);
}
END_TEST

/* ---- Broadcasting, as XlaBuilder's page has it ---- */

typedef struct broadcast_case {
  int lhs_rank;
  int64_t lhs[4];
  int rhs_rank;
  int64_t rhs[4];
  int count;
  int64_t dims[4];
  const char *expect; /* "!" and a fragment of the message, or the result */
} broadcast_case;

static const broadcast_case broadcasts[] = {
    {1, {4}, 2, {1, 2}, 1, {0}, "f32[4,2]"},
    {2, {1, 2}, 3, {4, 3, 1}, 2, {1, 2}, "f32[4,3,2]"},
    {1, {2}, 2, {4, 2}, 0, {0}, "!ranks must be equal"},
    {1, {3}, 2, {4, 3}, 1, {0}, "!sizes of a dimension differ"},
    {2, {2, 1}, 2, {1, 3}, 0, {0}, "f32[2,3]"},
    {1, {3}, 2, {2, 3}, 1, {1}, "f32[2,3]"},
    {1, {2}, 2, {2, 3}, 1, {0}, "f32[2,3]"},
    {2, {2, 3}, 1, {2}, 1, {0}, "f32[2,3]"},
    {0, {0}, 2, {2, 3}, 0, {0}, "f32[2,3]"},
    {2, {2, 3}, 0, {0}, 0, {0}, "f32[2,3]"},
    {0, {0}, 1, {3}, 1, {0}, "!one entry for each"},
    {2, {2, 3}, 2, {2, 3}, 2, {0, 1}, "f32[2,3]"},
    {2, {2, 3}, 2, {2, 3}, 2, {1, 0}, "!empty or the identity"},
    {2, {2, 3}, 2, {2, 3}, 1, {0}, "!empty or the identity"},
    {2, {2, 3}, 2, {2, 4}, 0, {0}, "!sizes of a dimension differ"},
    {1, {1}, 1, {0}, 0, {0}, "f32[0]"},
    {1, {0}, 1, {1}, 0, {0}, "f32[0]"},
    {1, {3}, 1, {0}, 0, {0}, "!sizes of a dimension differ"},
    {2, {2, 3}, 3, {4, 2, 3}, 2, {1, 2}, "f32[4,2,3]"},
    {2, {3, 2}, 3, {4, 2, 3}, 2, {2, 1}, "!strictly increasing"},
    {2, {3, 3}, 3, {3, 3, 3}, 2, {1, 1}, "!strictly increasing"},
    {1, {3}, 2, {4, 3}, 1, {2}, "!out of range"},
    {1, {3}, 2, {4, 3}, 1, {-1}, "!out of range"},
    {1, {3}, 3, {2, 4, 3}, 2, {1, 2}, "!one entry for each"},
    {3, {1, 1, 1}, 3, {2, 3, 4}, 0, {0}, "f32[2,3,4]"},
};

START_TEST(build_broadcasts) {
  const broadcast_case *c = &broadcasts[_i];
  halo_builder *b = halo_builder_create("broadcast");
  halo_op l = param(b, 0, HALO_F32, c->lhs_rank, c->lhs);
  halo_op r = param(b, 1, HALO_F32, c->rhs_rank, c->rhs);
  halo_op sum = halo_add_dims(l, r, c->count, c->dims);
  if (c->expect[0] == '!') {
    fails(b, sum, c->expect + 1);
  } else {
    check_shape(sum, c->expect);
    check_shape(halo_lt_dims(l, r, c->count, c->dims),
                halo_arena_printf(&b->top->module->arena, "pred%s", c->expect + 3));
    finish(b, sum);
  }
}
END_TEST

/* ---- Every op once ---- */

START_TEST(build_elementwise) {
  halo_builder *b = halo_builder_create("elementwise");
  halo_op f = param(b, 0, HALO_F32, LIST(2, 3)), s = param(b, 1, HALO_S32, LIST(2, 3));
  halo_op c = param(b, 2, HALO_C64, LIST(2, 3));
  halo_op (*floats[])(halo_op) = {halo_abs,
                                  halo_acos,
                                  halo_acosh,
                                  halo_asin,
                                  halo_asinh,
                                  halo_atan,
                                  halo_atanh,
                                  halo_cbrt,
                                  halo_ceil,
                                  halo_floor,
                                  halo_cos,
                                  halo_cosh,
                                  halo_sin,
                                  halo_sinh,
                                  halo_tan,
                                  halo_tanh,
                                  halo_erf,
                                  halo_exp,
                                  halo_expm1,
                                  halo_log,
                                  halo_log1p,
                                  halo_sqrt,
                                  halo_logistic,
                                  halo_rsqrt,
                                  halo_neg,
                                  halo_sign,
                                  halo_real,
                                  halo_imag,
                                  halo_round,
                                  halo_round_nearest_afz,
                                  halo_conj,
                                  halo_copy,
                                  halo_square,
                                  halo_reciprocal,
                                  halo_round_nearest_even,
                                  halo_optimization_barrier,
                                  halo_zeros_like,
                                  halo_ones_like};
  for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
    check_shape(floats[i](f), "f32[2,3]");
  halo_op (*ints[])(halo_op) = {halo_not, halo_population_count, halo_clz};
  for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++) check_shape(ints[i](s), "s32[2,3]");
  halo_op (*pairs[])(halo_op, halo_op) = {halo_add,
                                          halo_sub,
                                          halo_mul,
                                          halo_div,
                                          halo_rem,
                                          halo_pow,
                                          halo_max,
                                          halo_min,
                                          halo_mulhi,
                                          halo_and,
                                          halo_or,
                                          halo_xor,
                                          halo_shift_left,
                                          halo_shift_right_logical,
                                          halo_shift_right_arithmetic};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    check_shape(pairs[i](s, halo_constant_s32(b, 3)), "s32[2,3]");
  }
  halo_op (*compares[])(halo_op, halo_op) = {halo_eq,
                                             halo_ne,
                                             halo_ge,
                                             halo_gt,
                                             halo_le,
                                             halo_lt,
                                             halo_eq_total_order,
                                             halo_ne_total_order,
                                             halo_ge_total_order,
                                             halo_gt_total_order,
                                             halo_le_total_order,
                                             halo_lt_total_order};
  for (size_t i = 0; i < sizeof compares / sizeof compares[0]; i++) {
    check_shape(compares[i](f, f), "pred[2,3]");
    check_shape(compares[i](s, halo_scalar_like(s, 1)), "pred[2,3]");
  }
  check_shape(halo_atan2(f, f), "f32[2,3]");
  check_shape(halo_complex(f, f), "c64[2,3]");
  check_shape(halo_is_finite(f), "pred[2,3]");
  check_shape(halo_abs(c), "f32[2,3]");
  check_shape(halo_conj(c), "c64[2,3]");
  check_shape(halo_convert(c, HALO_S8), "s8[2,3]");
  check_shape(halo_convert(f, HALO_C128), "c128[2,3]");
  check_shape(halo_bitcast_convert(f, HALO_U8), "u8[2,3,4]");
  check_shape(halo_bitcast_convert(halo_bitcast_convert(f, HALO_U8), HALO_S32), "s32[2,3]");
  check_shape(halo_reduce_precision(f, 5, 10), "f32[2,3]");
  halo_op p = halo_constant_pred(b, true);
  check_shape(halo_select(p, f, f), "f32[2,3]");
  check_shape(halo_select(halo_lt(f, f), halo_one(b, HALO_F32), f), "f32[2,3]");
  check_shape(halo_select(halo_lt(f, f), halo_one(b, HALO_F32), halo_zero(b, HALO_F32)),
              "f32[2,3]");
  check_shape(halo_clamp(halo_zero(b, HALO_F32), f, halo_one(b, HALO_F32)), "f32[2,3]");
  halo_op pair = halo_tuple(b, 2, (halo_op[]){f, s});
  check_shape(halo_select(p, pair, pair), "(f32[2,3], s32[2,3])");
  check_shape(halo_full_like(c, 3), "c64[2,3]");
  finish(b, f);
}
END_TEST

START_TEST(build_constants) {
  halo_builder *b = halo_builder_create(NULL);
  check_shape(halo_constant_s64(b, -1), "s64[]");
  check_shape(halo_constant_u32(b, 1), "u32[]");
  check_shape(halo_constant_u64(b, 1), "u64[]");
  check_shape(halo_constant_f64(b, 1), "f64[]");
  check_shape(halo_constant_c64(b, 1, 2), "c64[]");
  check_shape(halo_constant_c128(b, 1, 2), "c128[]");
  check_shape(halo_constant_scalar(b, HALO_BF16, 1.5), "bf16[]");
  check_shape(halo_constant_array(b, HALO_S32, 2, DIMS(1, 2), (int32_t[]){5, 6}), "s32[1,2]");
  check_shape(halo_constant_array(b, HALO_S32, 1, DIMS(0), NULL), "s32[0]");
  check_shape(halo_iota(b, HALO_S32, 5), "s32[5]");
  check_shape(halo_iota_array(b, HALO_F32, 2, DIMS(2, 5), 1), "f32[2,5]");
  for (int t = 1; t < HALO_TYPE_COUNT; t++) {
    halo_type type = (halo_type)t;
    if (halo_type_size(type) == 0 || type == HALO_C64 || type == HALO_C128) continue;
    halo_op low = halo_min_value(b, type), high = halo_max_value(b, type);
    const halo_instr *lo = b->ops.data[low.id], *hi = b->ops.data[high.id];
    double least = halo_literal_get_f64(lo->literal, 0),
           most = halo_literal_get_f64(hi->literal, 0);
    ck_assert_msg(least < most, "%s: %g, %g", halo_type_name(type), least, most);
  }
  halo_literal *literal;
  ck_assert_int_eq(halo_literal_create_array(HALO_F32, 1, DIMS(2), (float[]){1, 2}, &literal),
                   HALO_OK);
  halo_op op = halo_constant_literal(b, literal);
  halo_literal_release(literal);
  finish(b, op);
}
END_TEST

START_TEST(build_movement) {
  halo_builder *b = halo_builder_create("movement");
  halo_op x = param(b, 0, HALO_F32, LIST(2, 3, 4)), i = param(b, 1, HALO_S32, 0, NULL);
  halo_op zero = halo_zero(b, HALO_F32), iv = param(b, 2, HALO_S32, LIST(3));
  check_shape(halo_broadcast(x, LIST(5, 6)), "f32[5,6,2,3,4]");
  check_shape(halo_broadcast(x, 0, NULL), "f32[2,3,4]");
  check_shape(halo_broadcast_in_dim(zero, LIST(5, 6), 0, NULL), "f32[5,6]");
  check_shape(halo_broadcast_in_dim(x, LIST(2, 7, 3, 4), LIST(0, 2, 3)), "f32[2,7,3,4]");
  check_shape(halo_broadcast_in_dim(halo_reshape(x, LIST(24, 1)), LIST(24, 5), LIST(0, 1)),
              "f32[24,5]");
  check_shape(halo_reshape(x, LIST(6, 4)), "f32[6,4]");
  check_shape(halo_reshape_to(x, halo_op_shape(halo_reshape(x, LIST(6, 4)))), "f32[6,4]");
  check_shape(halo_reshape_permuted(x, LIST(1, 2, 0), LIST(12, 2)), "f32[12,2]");
  check_shape(halo_collapse(x, LIST(0, 1)), "f32[6,4]");
  check_shape(halo_collapse(x, LIST(1, 2)), "f32[2,12]");
  check_shape(halo_collapse(x, LIST(0, 1, 2)), "f32[24]");
  check_shape(halo_collapse(x, LIST(1)), "f32[2,3,4]");
  check_shape(halo_collapse(x, 0, NULL), "f32[2,3,4]");
  check_shape(halo_transpose(x, LIST(2, 0, 1)), "f32[4,2,3]");
  check_shape(halo_slice(x, 3, DIMS(0, 1, 0), DIMS(2, 3, 4), NULL), "f32[2,2,4]");
  check_shape(halo_slice(x, 3, DIMS(0, 1, 0), DIMS(2, 3, 4), DIMS(1, 1, 3)), "f32[2,2,2]");
  check_shape(halo_slice_in_dim(x, 1, 3, 1, 2), "f32[2,3,2]");
  check_shape(halo_dynamic_slice(x, 3, (halo_op[]){i, i, i}, DIMS(1, 2, 3)), "f32[1,2,3]");
  check_shape(halo_dynamic_slice_vector(x, iv, LIST(1, 2, 3)), "f32[1,2,3]");
  halo_op part = halo_slice_in_dim(x, 0, 1, 1, 0);
  check_shape(halo_dynamic_update_slice(x, part, 3, (halo_op[]){i, i, i}), "f32[2,3,4]");
  check_shape(halo_dynamic_update_slice_vector(x, part, iv), "f32[2,3,4]");
  check_shape(halo_pad(x, zero, 3, (halo_padding[]){{1, 2, 0}, {-1, 0, 0}, {0, 0, 1}}),
              "f32[5,2,7]");
  check_shape(halo_pad_in_dim(x, zero, 1, 1, 1), "f32[2,5,4]");
  check_shape(halo_concat_in_dim(b, 2, (halo_op[]){x, part}, 0), "f32[3,3,4]");
  check_shape(halo_rev(x, LIST(0, 2)), "f32[2,3,4]");
  halo_gather_dims dims = {.offset_count = 2,
                           .offset_dims = DIMS(1, 2),
                           .collapsed_count = 1,
                           .collapsed_slice_dims = DIMS(0),
                           .start_map_count = 1,
                           .start_index_map = DIMS(0),
                           .index_vector_dim = 1};
  check_shape(halo_gather(x, iv, &dims, LIST(1, 3, 4), true), "f32[3,3,4]");
  halo_op tuple = halo_tuple(b, 2, (halo_op[]){x, halo_tuple(b, 0, NULL)});
  check_shape(halo_get_tuple_element(tuple, 1), "()");
  finish(b, tuple);
}
END_TEST

START_TEST(build_computations) {
  halo_builder *b = halo_builder_create("computations");
  halo_op x = param(b, 0, HALO_F32, LIST(2, 3)), n = param(b, 1, HALO_S32, 0, NULL);
  halo_op zero = halo_zero(b, HALO_F32);
  halo_comp add = halo_scalar_add(b, HALO_F32);
  check_shape(halo_reduce(x, zero, add, LIST(1)), "f32[2]");
  check_shape(halo_reduce_all(x, zero, halo_scalar_max(b, HALO_F32)), "f32[]");
  check_shape(
      halo_reduce_all(halo_lt(x, x), halo_constant_pred(b, false), halo_scalar_or(b, HALO_PRED)),
      "pred[]");
  check_shape(halo_map_elements(b, 2, (halo_op[]){x, x}, halo_scalar_mul(b, HALO_F32)), "f32[2,3]");
  check_shape(halo_call(b, add, 2, (halo_op[]){zero, zero}), "f32[]");

  halo_builder *both = halo_builder_create_sub(b, "add");
  halo_op a0 = param(both, 0, HALO_F32, 0, NULL), a1 = param(both, 1, HALO_S32, 0, NULL);
  halo_op v0 = param(both, 2, HALO_F32, 0, NULL), v1 = param(both, 3, HALO_S32, 0, NULL);
  halo_comp sums = halo_builder_finish_sub(
      both, halo_tuple(both, 2, (halo_op[]){halo_add(a0, v0), halo_max(a1, v1)}));
  halo_op many = halo_reduce_many(b, 2, (halo_op[]){x, halo_convert(x, HALO_S32)},
                                  (halo_op[]){zero, n}, sums, LIST(0));
  check_shape(many, "(f32[3], s32[3])");

  halo_op at = param(b, 2, HALO_S64, LIST(4)), rows = param(b, 3, HALO_F32, LIST(4, 3));
  halo_scatter_dims dims = {.window_count = 1,
                            .update_window_dims = DIMS(1),
                            .inserted_count = 1,
                            .inserted_window_dims = DIMS(0),
                            .operand_count = 1,
                            .scatter_dims_to_operand_dims = DIMS(0),
                            .index_vector_dim = 1};
  check_shape(halo_scatter(x, at, rows, add, &dims, true, true), "f32[2,3]");
  halo_op scattered =
      halo_scatter_many(b, 2, (halo_op[]){x, halo_convert(x, HALO_S32)}, at,
                        (halo_op[]){rows, halo_convert(rows, HALO_S32)}, sums, &dims, false, false);
  check_shape(scattered, "(f32[2,3], s32[2,3])");
  halo_scatter_dims batched = {.inserted_count = 1,
                               .inserted_window_dims = DIMS(1),
                               .operand_count = 1,
                               .scatter_dims_to_operand_dims = DIMS(1),
                               .batching_count = 1,
                               .input_batching_dims = DIMS(0),
                               .scatter_indices_batching_dims = DIMS(0),
                               .index_vector_dim = 2};
  halo_op places = param(b, 4, HALO_U8, LIST(2, 5)), points = param(b, 5, HALO_F32, LIST(2, 5));
  check_shape(halo_scatter(x, places, points, add, &batched, false, false), "f32[2,3]");

  halo_op key = param(b, 6, HALO_U64, LIST(2));
  check_shape(halo_rng_bit_generator(key, HALO_RNG_THREE_FRY, HALO_F32, LIST(3, 2)),
              "(u64[2], f32[3,2])");
  halo_op square = param(b, 7, HALO_C64, LIST(4, 3, 3)),
          sides = param(b, 8, HALO_C64, LIST(4, 2, 3));
  check_shape(halo_cholesky(square, true), "c64[4,3,3]");
  check_shape(halo_triangular_solve(square, sides, false, true, false, HALO_ADJOINT), "c64[4,2,3]");
  halo_op keys[] = {rows, halo_convert(rows, HALO_S32)};
  halo_type types[] = {HALO_F32, HALO_S32};
  check_shape(halo_sort(b, 2, keys, halo_comparator_gt(b, 2, types), 0, true),
              "(f32[4,3], s32[4,3])");
  check_shape(halo_sort(b, 1, keys + 1, halo_comparator_lt(b, 1, types + 1), -1, false),
              "s32[4,3]");
  check_shape(halo_sort_ascending(b, 1, keys, -1), "f32[4,3]");
  check_shape(halo_top_k(rows, 2, false), "(f32[4,2], s32[4,2])");
  check_shape(halo_top_k_by(rows, 3, halo_comparator_gt(b, 1, types)), "(f32[4,3], s32[4,3])");
  check_shape(halo_sort_ascending(b, 2, keys, 0), "(f32[4,3], s32[4,3])");

  halo_window window = {.count = 2, .sizes = DIMS(2, 2), .strides = DIMS(2, 1), .same = true};
  check_shape(halo_reduce_window(rows, zero, add, &window), "f32[2,3]");
  halo_window padded = {.count = 2,
                        .sizes = DIMS(2, 2),
                        .base_dilations = DIMS(2, 1),
                        .window_dilations = DIMS(1, 2),
                        .padding = (halo_padding[]){{1, 0, 0}, {-1, 2, 0}}};
  check_shape(halo_reduce_window_many(b, 2, keys, (halo_op[]){zero, n}, sums, &padded),
              "(f32[7,2], s32[7,2])");
  halo_window pool = {.count = 2, .sizes = DIMS(2, 3), .strides = DIMS(2, 3)};
  halo_comp greater = halo_comparator_gt(b, 1, types);
  halo_op pooled = halo_reduce_window(rows, zero, halo_scalar_max(b, HALO_F32), &pool);
  check_shape(halo_select_and_scatter(rows, greater, &pool, pooled, zero, add), "f32[4,3]");

  halo_builder *stepper = halo_builder_create_sub(b, "step");
  halo_op row = param(stepper, 0, HALO_F32, LIST(3)), held = param(stepper, 1, HALO_F32, 0, NULL);
  halo_op scaled = halo_mul(row, halo_broadcast(held, LIST(3)));
  halo_comp scaling = halo_builder_finish_sub(
      stepper, halo_tuple(stepper, 2, (halo_op[]){halo_exp(scaled), halo_neg(held)}));
  check_shape(halo_scan(b, 1, &rows, 1, &zero, scaling, 0, true, HALO_ASSOCIATIVE),
              "(f32[4,3], f32[])");

  halo_builder *cond = halo_builder_create_sub(b, "cond");
  halo_comp less = halo_builder_finish_sub(
      cond, halo_lt(param(cond, 0, HALO_S32, 0, NULL), halo_constant_s32(cond, 9)));
  halo_builder *body = halo_builder_create_sub(b, "body");
  /* A sub of a sub, and a call from one sub to another. */
  halo_builder *inner = halo_builder_create_sub(body, "inner");
  halo_comp one_more = halo_builder_finish_sub(
      inner, halo_add(param(inner, 0, HALO_S32, 0, NULL), halo_one(inner, HALO_S32)));
  halo_op carried = param(body, 0, HALO_S32, 0, NULL);
  halo_comp step = halo_builder_finish_sub(body, halo_call(body, one_more, 1, &carried));
  check_shape(halo_while(less, step, n), "s32[]");
  check_shape(halo_conditional(halo_lt(n, n), n, one_more, n, step), "s32[]");
  check_shape(
      halo_conditional_indexed(n, 3, (halo_comp[]){one_more, step, step}, (halo_op[]){n, n, n}),
      "s32[]");
  halo_builder_create_sub(b, "never_finished");
  finish(b, many);
}
END_TEST

/* Grouped and scaled products, transforms, random numbers. */
START_TEST(build_late_operations) {
  halo_builder *b = halo_builder_create("late");
  halo_op zero = halo_zero(b, HALO_F32), n = halo_constant_s32(b, 5);
  halo_op sides[] = {param(b, 0, HALO_F32, LIST(8, 4)), param(b, 1, HALO_F32, LIST(2, 4, 3))};
  halo_op sizes = param(b, 2, HALO_S32, LIST(2));
  halo_dot_dims meeting = {
      .contracting_count = 1, .lhs_contracting = DIMS(1), .rhs_contracting = DIMS(1)};
  check_shape(halo_ragged_dot(sides[0], sides[1], sizes, &meeting, 0, 0, NULL), "f32[8,3]");
  meeting.rhs_contracting = DIMS(0);
  halo_op plain = param(b, 3, HALO_F32, LIST(4, 3));
  check_shape(halo_ragged_dot(sides[0], plain, sizes, &meeting, 1, -1, NULL), "f32[2,8,3]");
  halo_dot_options wide = {.preferred_type = HALO_F64};
  check_shape(
      halo_scaled_dot(sides[0], param(b, 4, HALO_F32, LIST(8, 2)), plain, zero, &meeting, &wide),
      "f64[8,3]");
  halo_op x = param(b, 5, HALO_F32, LIST(2, 3));
  check_shape(halo_fft(x, HALO_FFT_REAL, LIST(2, 3)), "c64[2,2]");
  halo_op spectrum = halo_complex(x, x);
  check_shape(halo_fft(spectrum, HALO_FFT_FORWARD, LIST(3)), "c64[2,3]");
  check_shape(halo_fft(spectrum, HALO_FFT_INVERSE, LIST(2, 3)), "c64[2,3]");
  check_shape(halo_fft(spectrum, HALO_FFT_REAL_INVERSE, LIST(4)), "f32[2,4]");
  check_shape(halo_rng_uniform(n, n, LIST(4, 2)), "s32[4,2]");
  check_shape(halo_rng_normal(zero, zero, 0, NULL), "f32[]");
  check_shape(halo_rng_bernoulli(zero, LIST(7)), "u32[7]");
  check_shape(halo_stochastic_convert_type(x, halo_convert(x, HALO_U32), HALO_S8), "s8[2,3]");
  halo_op image = param(b, 6, HALO_F32, LIST(2, 3, 5)), features = param(b, 7, HALO_F32, LIST(3));
  check_shape(halo_batch_norm_training(image, features, features, 0.1f, 1),
              "(f32[2,3,5], f32[3], f32[3])");
  check_shape(halo_batch_norm_inference(image, features, features, features, features, 0.1f, 1),
              "f32[2,3,5]");
  check_shape(halo_batch_norm_grad(image, features, features, features, image, 0.1f, 1),
              "(f32[2,3,5], f32[3], f32[3])");
  finish(b, halo_rng_bernoulli(zero, LIST(7)));
}
END_TEST

/* A call that stands for one operation keeps its name, attributes and version. */
START_TEST(build_composite) {
  halo_builder *b = halo_builder_create("composite");
  halo_op x = param(b, 0, HALO_F32, LIST(4));
  halo_builder *sub = halo_builder_create_sub(b, "twice");
  halo_op y = param(sub, 0, HALO_F32, LIST(4));
  halo_comp twice = halo_builder_finish_sub(sub, halo_add(y, y));
  halo_op call = halo_composite_call(b, twice, 1, &x, "my.twice", "{n = 2 : i32}", 3);
  check_shape(call, "f32[4]");
  sub = halo_builder_create_sub(b, "negated");
  halo_comp negated = halo_builder_finish_sub(sub, halo_neg(param(sub, 0, HALO_F32, 0, NULL)));
  halo_op mapped = halo_map_dims(b, 1, &call, negated, LIST(0), 0, NULL);
  check_shape(mapped, "f32[4]");
  halo_module *module;
  char *text;
  ck_assert_int_eq(halo_builder_build(b, mapped, &module), HALO_OK);
  ck_assert_int_eq(halo_module_to_text(module, 0, &text), HALO_OK);
  ck_assert_ptr_nonnull(strstr(text, "is_composite=true"));
  ck_assert_ptr_nonnull(strstr(text, "composite.name=\"my.twice\""));
  ck_assert_ptr_nonnull(strstr(text, "composite.attributes={n = 2 : i32}"));
  ck_assert_ptr_nonnull(strstr(text, "composite.version=\"3\""));
  halo_text_release(text);
  halo_module_release(module);
  halo_builder_release(b);
}
END_TEST

START_TEST(build_dots) {
  halo_builder *b = halo_builder_create("dots");
  halo_op m = param(b, 0, HALO_F32, LIST(2, 3)), v = param(b, 1, HALO_F32, LIST(3));
  halo_op s = param(b, 2, HALO_S8, LIST(4, 2, 3));
  check_shape(halo_dot(m, v, NULL), "f32[2]");
  check_shape(halo_dot(v, v, NULL), "f32[]");
  check_shape(halo_dot(m, halo_transpose(m, LIST(1, 0)), NULL), "f32[2,2]");
  halo_dot_dims dims = {.batch_count = 1,
                        .lhs_batch = DIMS(0),
                        .rhs_batch = DIMS(0),
                        .contracting_count = 1,
                        .lhs_contracting = DIMS(2),
                        .rhs_contracting = DIMS(2)};
  halo_dot_options options = {.preferred_type = HALO_S32,
                              .lhs_precision = HALO_PRECISION_HIGHEST,
                              .rhs_precision = HALO_PRECISION_HIGH};
  halo_op dot = halo_dot_general(s, s, &dims, &options);
  check_shape(dot, "s32[4,2,2]");
  const halo_instr *instr = b->ops.data[dot.id];
  int32_t count;
  const int64_t *precision = halo_instr_ints(instr, HALO_ATTR_OPERAND_PRECISION, &count);
  ck_assert_int_eq(count, 2);
  ck_assert_int_eq(precision[0], 2);
  ck_assert_int_eq(precision[1], 1);
  finish(b, dot);
}
END_TEST

/* ---- Names of older pages ---- */

START_TEST(build_older_names) {
  halo_builder *b = halo_builder_create("older");
  halo_op p = param(b, 0, HALO_PRED, LIST(4)), q = param(b, 1, HALO_PRED, LIST(4));
  halo_op x = param(b, 2, HALO_F32, LIST(2, 3));
  static const struct {
    halo_opcode opcode;
    const char *shape;
  } expect[] = {{HALO_OP_AND, "pred[4]"},
                {HALO_OP_OR, "pred[4]"},
                {HALO_OP_NOT, "pred[4]"},
                {HALO_OP_ALL_REDUCE, "f32[2,3]"},
                {HALO_OP_ALL_REDUCE, "f32[2,3]"}};
  halo_op made[] = {halo_logical_and(p, q), halo_logical_or(p, q), halo_logical_not(p),
                    halo_cross_replica_sum(x, 0, 0, NULL),
                    halo_cross_replica_sum(x, 2, 2, DIMS(0, 2, 1, 3))};
  enum { COUNT_MADE = sizeof made / sizeof made[0] };
  for (int i = 0; i < COUNT_MADE; i++) {
    check_shape(made[i], expect[i].shape);
    ck_assert_int_eq(b->ops.data[made[i].id]->opcode, expect[i].opcode);
  }
  const halo_instr *grouped = b->ops.data[made[4].id];
  const halo_groups *groups = halo_instr_attr(grouped, HALO_ATTR_REPLICA_GROUPS)->groups;
  ck_assert_int_eq(groups->count, 2);
  ck_assert_int_eq(groups->starts[2], 4);
  ck_assert_int_eq(groups->ids[1], 2);
  const halo_computation *sum = halo_instr_comp(grouped, HALO_ATTR_TO_APPLY);
  ck_assert_int_eq(sum->root->opcode, HALO_OP_ADD);
  finish(b, halo_tuple(b, COUNT_MADE, made));
}
END_TEST

START_TEST(build_accuracy) {
  halo_builder *b = halo_builder_create("accuracy");
  halo_op x = param(b, 0, HALO_F32, LIST(2)), y = halo_exp(x);
  halo_accuracy two = {.mode = HALO_ACCURACY_TOLERANCE, .ulps = 2};
  halo_op_set_accuracy(y, &two);
  const halo_instr *exp = b->ops.data[y.id];
  ck_assert_int_eq(halo_instr_attr(exp, HALO_ATTR_RESULT_ACCURACY)->accuracy->ulps, 2);
  halo_op_set_accuracy(y, &(halo_accuracy){.mode = HALO_ACCURACY_HIGHEST});
  ck_assert_int_eq(halo_instr_attr(exp, HALO_ATTR_RESULT_ACCURACY)->accuracy->mode,
                   HALO_ACCURACY_HIGHEST);
  halo_op_set_accuracy(y, NULL);
  ck_assert_ptr_null(halo_instr_attr(exp, HALO_ATTR_RESULT_ACCURACY));
  halo_op_set_accuracy(y, &two);
  finish(b, y);
}
END_TEST

START_TEST(build_cleans_names) {
  halo_builder *b = halo_builder_create("my model/2");
  halo_shape *shape;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 0, NULL, &shape), HALO_OK);
  halo_op x = halo_parameter(b, 0, shape, "1st input\n");
  halo_shape_release(shape);
  halo_module *module;
  ck_assert_int_eq(halo_builder_build(b, x, &module), HALO_OK);
  ck_assert_str_eq(halo_module_name(module), "my_model_2");
  ck_assert_str_eq(halo_module_parameter_name(module, 0), "_1st_input_");
  halo_builder_release(b);
  halo_module_release(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("builder");
  TCase *tc = tcase_create("builder");
  tcase_add_test(tc, build_axpy);
  tcase_add_loop_test(tc, build_broadcasts, 0, sizeof broadcasts / sizeof broadcasts[0]);
  tcase_add_test(tc, build_elementwise);
  tcase_add_test(tc, build_constants);
  tcase_add_test(tc, build_movement);
  tcase_add_test(tc, build_computations);
  tcase_add_test(tc, build_late_operations);
  tcase_add_test(tc, build_composite);
  tcase_add_test(tc, build_dots);
  tcase_add_test(tc, build_older_names);
  tcase_add_test(tc, build_accuracy);
  tcase_add_test(tc, build_cleans_names);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}

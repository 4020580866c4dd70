/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_evaluator_scalar.c: what operations mean on single elements: the value tables. */
#include "evaluator/eval.h"
#include "evaluator/scalar.h"
#include "shape/floats.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>

/* The value as an element of the type, integers from the low bits of a whole number. */
static eval_scalar make(halo_type type, double value) {
  if (halo_type_is_float(type)) return (eval_scalar){eval_encode(type, value), 0};
  if (type == HALO_PRED) return (eval_scalar){value != 0, 0};
  int64_t whole = value >= 0x1p63 ? (int64_t)(uint64_t)value : (int64_t)value;
  return (eval_scalar){eval_wrap(type, (uint64_t)whole), 0};
}

static double value_of(halo_type type, eval_scalar value) {
  if (halo_type_is_float(type)) return eval_decode(type, value.re);
  return halo_type_is_sint(type) ? (double)(int64_t)value.re : (double)value.re;
}

/* Equal, NaN to NaN and zeros by sign. */
static bool same(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b && signbit(a) == signbit(b);
}

/* ---- One and two operands ---- */

typedef struct op_case {
  halo_opcode opcode;
  halo_type type;
  double a, b, expected;
} op_case;

static const op_case op_cases[] = {
    /* Division by zero and of the least number. */
    {HALO_OP_DIVIDE, HALO_S32, 7, 0, -1},
    {HALO_OP_DIVIDE, HALO_S8, -128, -1, -128},
    {HALO_OP_DIVIDE, HALO_S64, -0x1p63, -1, -0x1p63},
    {HALO_OP_DIVIDE, HALO_U8, 7, 0, 255},
    {HALO_OP_DIVIDE, HALO_U4, 7, 0, 15},
    {HALO_OP_DIVIDE, HALO_S32, -7, 2, -3},
    {HALO_OP_REMAINDER, HALO_S32, -7, 0, -7},
    {HALO_OP_REMAINDER, HALO_S32, -7, 2, -1},
    {HALO_OP_REMAINDER, HALO_S64, -0x1p63, -1, 0},
    {HALO_OP_REMAINDER, HALO_U16, 65535, 0, 65535},
    {HALO_OP_REMAINDER, HALO_F32, -6, 3, -0.0},
    {HALO_OP_REMAINDER, HALO_F32, 5, INFINITY, 5},
    {HALO_OP_REMAINDER, HALO_F64, 5, 0, NAN},
    {HALO_OP_DIVIDE, HALO_F32, -1, 0, -INFINITY},
    {HALO_OP_DIVIDE, HALO_F16, 0, 0, NAN},
    /* Wrapping. */
    {HALO_OP_ADD, HALO_S8, 127, 1, -128},
    {HALO_OP_ADD, HALO_S4, 7, 1, -8},
    {HALO_OP_ADD, HALO_U4, 15, 1, 0},
    {HALO_OP_MULTIPLY, HALO_S2, -2, -2, 0},
    {HALO_OP_SUBTRACT, HALO_U32, 0, 1, 4294967295.0},
    {HALO_OP_NEGATE, HALO_S8, -128, 0, -128},
    {HALO_OP_NEGATE, HALO_U8, 1, 0, 255},
    {HALO_OP_ABS, HALO_S16, -32768, 0, -32768},
    {HALO_OP_SIGN, HALO_S8, -7, 0, -1},
    {HALO_OP_SIGN, HALO_F32, -0.0, 0, -0.0},
    {HALO_OP_SIGN, HALO_F32, NAN, 0, NAN},
    {HALO_OP_MULHI, HALO_S8, -128, 2, -1},
    {HALO_OP_MULHI, HALO_U8, 255, 255, 254},
    {HALO_OP_MULHI, HALO_U64, 0x1p63, 4, 2},
    /* Shifts: amounts are unsigned and saturate. */
    {HALO_OP_SHIFT_LEFT, HALO_S32, 1, 31, -0x1p31},
    {HALO_OP_SHIFT_LEFT, HALO_S32, 1, 32, 0},
    {HALO_OP_SHIFT_LEFT, HALO_S32, 1, -1, 0},
    {HALO_OP_SHIFT_LEFT, HALO_U4, 3, 3, 8},
    {HALO_OP_SHIFT_RIGHT_LOGICAL, HALO_S8, -1, 1, 127},
    {HALO_OP_SHIFT_RIGHT_LOGICAL, HALO_S64, -1, 64, 0},
    {HALO_OP_SHIFT_RIGHT_ARITHMETIC, HALO_S8, -100, 200, -1},
    {HALO_OP_SHIFT_RIGHT_ARITHMETIC, HALO_S8, 100, 200, 0},
    {HALO_OP_SHIFT_RIGHT_ARITHMETIC, HALO_U8, 0x80, 3, 0xf0},
    {HALO_OP_SHIFT_RIGHT_ARITHMETIC, HALO_S64, -0x1p63, 70, -1},
    /* Powers. */
    {HALO_OP_POWER, HALO_S32, 0, 0, 1},
    {HALO_OP_POWER, HALO_S32, 3, 4, 81},
    {HALO_OP_POWER, HALO_S32, 2, -1, 0},
    {HALO_OP_POWER, HALO_S32, 1, -9, 1},
    {HALO_OP_POWER, HALO_S32, -1, -9, -1},
    {HALO_OP_POWER, HALO_S32, -1, -8, 1},
    {HALO_OP_POWER, HALO_S32, 0, -1, 0},
    {HALO_OP_POWER, HALO_U8, 3, 6, 217},
    {HALO_OP_POWER, HALO_U8, 2, 200, 0},
    {HALO_OP_POWER, HALO_F32, NAN, 0, 1},
    {HALO_OP_POWER, HALO_F32, 1, NAN, 1},
    {HALO_OP_POWER, HALO_F64, -1, INFINITY, 1},
    {HALO_OP_POWER, HALO_F64, -8, 1.0 / 3, NAN},
    {HALO_OP_POWER, HALO_F32, -0.0, -3, -INFINITY},
    {HALO_OP_POWER, HALO_F32, -0.0, 3, -0.0},
    /* Maximum and minimum: NaN wins, zeros are ordered. */
    {HALO_OP_MAXIMUM, HALO_F32, NAN, 1, NAN},
    {HALO_OP_MAXIMUM, HALO_F32, 1, NAN, NAN},
    {HALO_OP_MAXIMUM, HALO_F32, -0.0, 0.0, 0.0},
    {HALO_OP_MAXIMUM, HALO_BF16, 0.0, -0.0, 0.0},
    {HALO_OP_MINIMUM, HALO_F32, 0.0, -0.0, -0.0},
    {HALO_OP_MINIMUM, HALO_F64, -0.0, 0.0, -0.0},
    {HALO_OP_MAXIMUM, HALO_U8, 200, 100, 200},
    {HALO_OP_MAXIMUM, HALO_S8, -56, 100, 100},
    /* Pred is logical. */
    {HALO_OP_ADD, HALO_PRED, 1, 1, 1},
    {HALO_OP_MULTIPLY, HALO_PRED, 1, 0, 0},
    {HALO_OP_XOR, HALO_PRED, 1, 1, 0},
    {HALO_OP_NOT, HALO_PRED, 0, 0, 1},
    {HALO_OP_NOT, HALO_U4, 5, 0, 10},
    {HALO_OP_NOT, HALO_S8, 0, 0, -1},
    /* Bit counting is over the type's own width. */
    {HALO_OP_CLZ, HALO_S8, 0, 0, 8},
    {HALO_OP_CLZ, HALO_S8, -1, 0, 0},
    {HALO_OP_CLZ, HALO_U4, 1, 0, 3},
    {HALO_OP_CLZ, HALO_U64, 1, 0, 63},
    {HALO_OP_POPCNT, HALO_S4, -1, 0, 4},
    {HALO_OP_POPCNT, HALO_S64, -1, 0, 64},
    /* Rounding. */
    {HALO_OP_CEIL, HALO_F32, -0.5, 0, -0.0},
    {HALO_OP_ROUND_AFZ, HALO_F32, 2.5, 0, 3},
    {HALO_OP_ROUND_AFZ, HALO_F32, -0.5, 0, -1},
    {HALO_OP_ROUND_EVEN, HALO_F32, 2.5, 0, 2},
    {HALO_OP_ROUND_EVEN, HALO_F64, -0.5, 0, -0.0},
    /* Functions at their edges. */
    {HALO_OP_EXP, HALO_F32, -INFINITY, 0, 0},
    {HALO_OP_LOG, HALO_F32, -0.0, 0, -INFINITY},
    {HALO_OP_LOG, HALO_F32, -1, 0, NAN},
    {HALO_OP_LOG1P, HALO_F32, -1, 0, -INFINITY},
    {HALO_OP_LOG1P, HALO_F32, -0.0, 0, -0.0},
    {HALO_OP_EXPM1, HALO_F32, -0.0, 0, -0.0},
    {HALO_OP_LOGISTIC, HALO_F32, -100, 0, 0},
    {HALO_OP_LOGISTIC, HALO_F32, INFINITY, 0, 1},
    {HALO_OP_LOGISTIC, HALO_F64, -800, 0, 0},
    {HALO_OP_RSQRT, HALO_F32, -0.0, 0, -INFINITY},
    {HALO_OP_RSQRT, HALO_F32, INFINITY, 0, 0},
    {HALO_OP_SQRT, HALO_F32, -0.0, 0, -0.0},
    {HALO_OP_CBRT, HALO_F64, -27, 0, -3},
    {HALO_OP_TANH, HALO_F16, INFINITY, 0, 1},
    {HALO_OP_SIN, HALO_F32, INFINITY, 0, NAN},
    {HALO_OP_IMAG, HALO_F32, NAN, 0, 0.0},
    {HALO_OP_NEGATE, HALO_F32, 0.0, 0, -0.0},
    {HALO_OP_NEGATE, HALO_F8E4M3FNUZ, 0.0, 0, 0.0},
    {HALO_OP_ABS, HALO_F8E4M3FNUZ, -3, 0, 3},
    /* Each operation rounds to its type once. */
    {HALO_OP_ADD, HALO_F16, 2048, 1, 2048},
    {HALO_OP_ADD, HALO_BF16, 256, 1, 256},
    {HALO_OP_ADD, HALO_F16, 65504, 16, INFINITY},
    {HALO_OP_MULTIPLY, HALO_F8E4M3FN, 448, 2, NAN},
    {HALO_OP_MULTIPLY, HALO_F4E2M1FN, 6, 6, 6},
    {HALO_OP_ADD, HALO_F32, 16777216, 1, 16777216},
};

START_TEST(operations_known) {
  const op_case *c = &op_cases[_i];
  eval_op op = {.opcode = c->opcode, .in = c->type, .out = c->type};
  eval_scalar args[3] = {make(c->type, c->a), make(c->type, c->b)};
  double result = value_of(c->type, eval_apply(&op, args));
  ck_assert_msg(same(result, c->expected), "%s %s of %g, %g gives %g, not %g",
                halo_type_name(c->type), halo_opcode_name(c->opcode), c->a, c->b, result,
                c->expected);
}
END_TEST

START_TEST(clamp_known) {
  static const struct {
    halo_type type;
    double low, value, high, expected;
  } cases[] = {
      {HALO_S32, 0, -1, 6, 0},      {HALO_S32, 0, 9, 6, 6},      {HALO_S32, 5, 3, 1, 1},
      {HALO_U8, 10, 200, 100, 100}, {HALO_F32, 0, NAN, 1, NAN},  {HALO_F32, NAN, 0.5, 1, NAN},
      {HALO_F32, 0, 0.5, NAN, NAN}, {HALO_F32, 0, -0.0, 1, 0.0}, {HALO_BF16, -1, -7, 1, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    halo_type type = cases[i].type;
    eval_op op = {.opcode = HALO_OP_CLAMP, .in = type, .out = type};
    eval_scalar args[3] = {make(type, cases[i].low), make(type, cases[i].value),
                           make(type, cases[i].high)};
    double result = value_of(type, eval_apply(&op, args));
    ck_assert_msg(same(result, cases[i].expected), "case %zu gives %g", i, result);
  }
}
END_TEST

/* Whatever elementwise operation the opcode table admits for a type, the evaluator computes, but those
 * that it has not at all. */
START_TEST(every_operation_has_a_rule) {
  for (int i = 0; i < HALO_OPCODE_COUNT; i++) {
    halo_opcode opcode = (halo_opcode)i;
    const halo_op_info *info = halo_op_info_of(opcode);
    if (eval_fn_of(opcode) != eval_elementwise) continue;
    for (int type = 1; type < HALO_TYPE_COUNT; type++) {
      if (!(info->types & halo_type_mask((halo_type)type))) continue;
      halo_shape shape = {.type = (halo_type)type}, pred = {.type = HALO_PRED};
      halo_instr a = {.shape = &shape}, p = {.shape = &pred};
      halo_instr *operands[] = {opcode == HALO_OP_SELECT ? &p : &a, &a, &a};
      halo_instr instr = {.opcode = opcode,
                          .shape = &shape,
                          .operands = operands,
                          .operand_count = info->min_operands};
      eval_op op;
      ck_assert_msg(eval_op_init(&op, &instr), "%s of %s", info->name,
                    halo_type_name((halo_type)type));
    }
  }
}
END_TEST

/* ---- Compare ---- */

static bool compare(halo_type type, halo_compare_type how, halo_direction direction, uint64_t a,
                    uint64_t b) {
  eval_op op = {.opcode = HALO_OP_COMPARE,
                .in = type,
                .out = HALO_PRED,
                .direction = direction,
                .compare = how};
  eval_scalar args[2] = {{a, 0}, {b, 0}};
  return eval_apply(&op, args).re;
}

START_TEST(compare_by_value) {
  uint64_t nan = eval_encode(HALO_F32, NAN), one = eval_encode(HALO_F32, 1);
  uint64_t minus_zero = eval_encode(HALO_F32, -0.0);
  ck_assert(compare(HALO_F32, HALO_COMPARE_FLOAT, HALO_EQ, minus_zero, 0));
  ck_assert(!compare(HALO_F32, HALO_COMPARE_FLOAT, HALO_LT, minus_zero, 0));
  ck_assert(!compare(HALO_F32, HALO_COMPARE_FLOAT, HALO_EQ, nan, nan));
  ck_assert(compare(HALO_F32, HALO_COMPARE_FLOAT, HALO_NE, nan, nan));
  ck_assert(!compare(HALO_F32, HALO_COMPARE_FLOAT, HALO_GE, nan, one));
  ck_assert(!compare(HALO_F32, HALO_COMPARE_FLOAT, HALO_LT, nan, one));
  ck_assert(compare(HALO_S8, HALO_COMPARE_SIGNED, HALO_LT, (uint64_t)-1, 1));
  ck_assert(compare(HALO_U64, HALO_COMPARE_UNSIGNED, HALO_GT, (uint64_t)-1, 1));
  ck_assert(compare(HALO_PRED, HALO_COMPARE_UNSIGNED, HALO_LT, 0, 1));
}
END_TEST

/* -NaN < -Inf < -1 < -denormal < -0 < +0 < denormal < 1 < Inf < NaN, with payloads in order. */
START_TEST(compare_by_total_order) {
  static const struct {
    halo_type type;
    uint64_t ascending[10];
  } cases[] = {
      {HALO_F32,
       {0xffc00001, 0xffc00000, 0xff800000, 0xbf800000, 0x80000001, 0x80000000, 0x00000000,
        0x3f800000, 0x7f800000, 0x7fc00000}},
      {HALO_F16, {0xfe01, 0xfe00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0x0000, 0x3c00, 0x7c00, 0x7e00}},
      {HALO_BF16, {0xffc1, 0xffc0, 0xff80, 0xbf80, 0x8001, 0x8000, 0x0000, 0x3f80, 0x7f80, 0x7fc0}},
      {HALO_F64,
       {0xfff8000000000001, 0xfff8000000000000, 0xfff0000000000000, 0xbff0000000000000,
        0x8000000000000001, 0x8000000000000000, 0, 0x3ff0000000000000, 0x7ff0000000000000,
        0x7ff8000000000000}},
      {HALO_F8E5M2, {0xff, 0xfe, 0xfc, 0xbc, 0x81, 0x80, 0x00, 0x3c, 0x7c, 0x7e}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    for (int i = 0; i < 10; i++) {
      for (int j = 0; j < 10; j++) {
        uint64_t a = cases[c].ascending[i], b = cases[c].ascending[j];
        bool less = compare(cases[c].type, HALO_COMPARE_TOTALORDER, HALO_LT, a, b);
        bool equal = compare(cases[c].type, HALO_COMPARE_TOTALORDER, HALO_EQ, a, b);
        ck_assert_msg(less == (i < j) && equal == (i == j), "%s %d %d",
                      halo_type_name(cases[c].type), i, j);
      }
    }
  }
}
END_TEST

START_TEST(select_keeps_bits) {
  eval_op op = {.opcode = HALO_OP_SELECT, .in = HALO_F32, .out = HALO_F32};
  eval_scalar args[3] = {{1, 0}, {0x7f800001, 0}, {0x80000000, 0}};
  ck_assert_uint_eq(eval_apply(&op, args).re, 0x7f800001); /* a signalling NaN stays one */
  args[0].re = 0;
  ck_assert_uint_eq(eval_apply(&op, args).re, 0x80000000);
}
END_TEST

/* ---- Convert ---- */

typedef struct convert_case {
  halo_type from;
  double value;
  halo_type to;
  double expected;
} convert_case;

static const convert_case convert_cases[] = {
    {HALO_PRED, 1, HALO_F32, 1},
    {HALO_S32, -3, HALO_PRED, 1},
    {HALO_F32, NAN, HALO_PRED, 1},
    {HALO_F32, -0.0, HALO_PRED, 0},
    {HALO_F32, 0.25, HALO_PRED, 1},
    {HALO_S32, 300, HALO_S8, 44},
    {HALO_S32, -1, HALO_U8, 255},
    {HALO_S8, -1, HALO_U32, 4294967295.0},
    {HALO_U8, 255, HALO_S32, 255},
    {HALO_S32, 9, HALO_S4, -7},
    {HALO_S32, 16777217, HALO_F32, 16777216},
    {HALO_S32, 16777219, HALO_F32, 16777220},
    {HALO_U64, 0x1p63, HALO_F32, 0x1p63},
    {HALO_S64, -0x1p63, HALO_F64, -0x1p63},
    {HALO_S32, 65519, HALO_F16, 65504},
    {HALO_S32, 65520, HALO_F16, INFINITY},
    {HALO_S32, 257, HALO_BF16, 256},
    {HALO_S32, 465, HALO_F8E4M3FN, NAN},
    {HALO_F32, 2.9, HALO_S32, 2},
    {HALO_F32, -2.9, HALO_S32, -2},
    {HALO_F32, 1e10, HALO_S32, 2147483647},
    {HALO_F32, -1e10, HALO_S32, -2147483648.0},
    {HALO_F32, NAN, HALO_S32, 0},
    {HALO_F32, 300, HALO_S8, 127},
    {HALO_F32, 100, HALO_S4, 7},
    {HALO_F32, -100, HALO_S4, -8},
    {HALO_F32, 7.9, HALO_S4, 7},
    {HALO_F32, -5, HALO_U8, 0},
    {HALO_F32, 300, HALO_U8, 255},
    {HALO_F32, 255.9, HALO_U8, 255},
    {HALO_F64, 1e30, HALO_S64, 0x1p63 - 1},
    {HALO_F64, 1e30, HALO_U64, 0x1p64},
    {HALO_F64, INFINITY, HALO_U32, 4294967295.0},
    {HALO_F32, NAN, HALO_U32, 0},
    {HALO_F32, 65520, HALO_F16, INFINITY},
    {HALO_F32, 65519.996, HALO_F16, 65504},
    {HALO_F32, 0x1p-24, HALO_F16, 0x1p-24},
    {HALO_F32, 0x1p-25, HALO_F16, 0},
    {HALO_F32, 3.4e38, HALO_BF16, INFINITY},
    {HALO_F64, 1e39, HALO_F32, INFINITY},
    {HALO_F32, 464, HALO_F8E4M3FN, 448},
    {HALO_F32, 465, HALO_F8E4M3FN, NAN},
    {HALO_F32, INFINITY, HALO_F8E4M3FN, NAN},
    {HALO_F32, 1000, HALO_F8E4M3FNUZ, NAN},
    {HALO_F32, -0.0, HALO_F8E5M2FNUZ, 0.0},
    {HALO_F32, 61440, HALO_F8E5M2, INFINITY},
    {HALO_F32, 16, HALO_F8E3M4, INFINITY},
    {HALO_F32, 15.6, HALO_F8E3M4, 15.5},
    {HALO_F32, 0, HALO_F8E8M0FNU, NAN},
    {HALO_F32, 3, HALO_F8E8M0FNU, 4},
    {HALO_F32, 1.5, HALO_F8E8M0FNU, 2},
    {HALO_F32, -1, HALO_F8E8M0FNU, NAN},
    {HALO_F32, 7, HALO_F4E2M1FN, 6},
    {HALO_F32, -INFINITY, HALO_F4E2M1FN, -6},
    {HALO_F32, 0.25, HALO_F4E2M1FN, 0},
    {HALO_F32, 0.75, HALO_F4E2M1FN, 1},
    {HALO_F32, NAN, HALO_F4E2M1FN, -0.0},
};

START_TEST(convert_known) {
  const convert_case *c = &convert_cases[_i];
  eval_scalar from = make(c->from, c->value);
  double result = value_of(c->to, eval_convert(c->from, c->to, from));
  ck_assert_msg(same(result, c->expected), "%s %.17g to %s gives %.17g, not %.17g",
                halo_type_name(c->from), c->value, halo_type_name(c->to), result, c->expected);
}
END_TEST

/* Between any two types and back, what both hold survives. */
START_TEST(convert_round_trips) {
  for (int from = 1; from < HALO_TYPE_COUNT; from++) {
    for (int to = 1; to < HALO_TYPE_COUNT; to++) {
      halo_type a = (halo_type)from, b = (halo_type)to;
      if (!halo_type_is_array(a) || !halo_type_is_array(b)) continue;
      if (a == HALO_S1 || b == HALO_S1) continue; /* has no 1 */
      eval_scalar one = eval_convert(HALO_S32, a, (eval_scalar){1, 0});
      eval_scalar back = eval_convert(b, a, eval_convert(a, b, one));
      ck_assert_msg(back.re == one.re && back.im == one.im, "%s through %s", halo_type_name(a),
                    halo_type_name(b));
    }
  }
}
END_TEST

/* ---- Reduce-precision ---- */

START_TEST(reduce_precision_known) {
  static const struct {
    halo_type type;
    double value;
    int exponent, mantissa;
    double expected;
  } cases[] = {
      {HALO_F32, 65520, 5, 10, INFINITY},
      {HALO_F32, 65519.996, 5, 10, 65504},
      {HALO_F32, 0x1p-15, 5, 10, 0},
      {HALO_F32, -0x1p-15, 5, 10, -0.0},
      {HALO_F32, 0x1p-14, 5, 10, 0x1p-14},
      {HALO_F32, 1.00048828125, 5, 10, 1},
      {HALO_F32, 1.00146484375, 5, 10, 1.001953125},
      {HALO_F32, 3.14159274101257324, 8, 0, 4},
      {HALO_F32, 1e-40, 8, 10, 73728 * 0x1p-149},
      {HALO_F32, 1e-40, 7, 23, 0},
      {HALO_F32, INFINITY, 5, 0, INFINITY},
      {HALO_F32, NAN, 5, 2, NAN},
      {HALO_F32, NAN, 5, 0, NAN},
      {HALO_F32, 1.75, 8, 23, 1.75},
      {HALO_F32, 3.4028235e38, 8, 7, INFINITY},
      {HALO_F64, 1e300, 8, 23, INFINITY},
      {HALO_F64, 0.1, 8, 23, 0.100000001490116119},
      {HALO_BF16, 1.0078125, 8, 3, 1},
      {HALO_F16, 0x1p-20, 5, 8, 0x1p-20},
      {HALO_F16, 0x1p-20, 5, 5, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    halo_type type = cases[i].type;
    eval_scalar result = eval_reduce_precision(type, cases[i].exponent, cases[i].mantissa,
                                               make(type, cases[i].value));
    double value = value_of(type, result);
    ck_assert_msg(same(value, cases[i].expected), "case %zu gives %.17g", i, value);
  }
}
END_TEST

/* ---- Complex ---- */

typedef struct complex_case {
  halo_opcode opcode;
  double re, im, other_re, other_im, expected_re, expected_im;
} complex_case;

static const complex_case complex_cases[] = {
    {HALO_OP_ADD, 1, 2, 3, -5, 4, -3},
    {HALO_OP_MULTIPLY, 1, 2, 3, 4, -5, 10},
    {HALO_OP_DIVIDE, -5, 10, 3, 4, 1, 2},
    {HALO_OP_DIVIDE, -5, 10, 1, 2, 3, 4},
    {HALO_OP_DIVIDE, 1, 1, 0, 0, INFINITY, INFINITY},
    {HALO_OP_DIVIDE, 1, 1, INFINITY, 0, 0, 0},
    {HALO_OP_DIVIDE, INFINITY, 0, 1, 1, INFINITY, -INFINITY},
    {HALO_OP_NEGATE, 1, -2, 0, 0, -1, 2},
    {HALO_OP_EXP, 0, 3.14159265358979324, 0, 0, -1, 0},
    {HALO_OP_EXPM1, 1e-10, 0, 0, 0, 1e-10, 0},
    {HALO_OP_LOG, -1, 0, 0, 0, 0, 3.14159265358979324},
    {HALO_OP_LOG1P, 1e-10, 0, 0, 0, 1e-10, 0},
    {HALO_OP_SQRT, -4, 0, 0, 0, 0, 2},
    {HALO_OP_SQRT, -0.0, 0, 0, 0, 0, 0},
    {HALO_OP_SQRT, -INFINITY, -3, 0, 0, 0, -INFINITY},
    {HALO_OP_RSQRT, 4, 0, 0, 0, 0.5, 0},
    {HALO_OP_RSQRT, 0, 0, 0, 0, INFINITY, NAN},
    {HALO_OP_POWER, 0, 0, 2, 0, 0, 0},
    {HALO_OP_POWER, 0, 0, 0, 0, 1, 0},
    {HALO_OP_POWER, 1, 0, 5, 7, 1, 0},
    {HALO_OP_POWER, 0, 1, 2, 0, -1, 0},
    {HALO_OP_POWER, INFINITY, 0, 2, 0, INFINITY, 0},
    {HALO_OP_SIN, 1, 1, 0, 0, 1.2984575814159773, 0.6349639147847361},
    {HALO_OP_COS, 1, 1, 0, 0, 0.8337300251311491, -0.9888977057628651},
    {HALO_OP_TAN, 1, 1, 0, 0, 0.27175258531951172, 1.0839233273386946},
    {HALO_OP_TANH, 1, 1, 0, 0, 1.0839233273386946, 0.27175258531951172},
    {HALO_OP_TANH, INFINITY, 5, 0, 0, 1, 0},
    {HALO_OP_TANH, 1, INFINITY, 0, 0, NAN, NAN},
    {HALO_OP_ATAN2, 1, 0, 1, 0, 0.78539816339744831, 0},
    {HALO_OP_LOGISTIC, 0, 0, 0, 0, 0.5, 0},
    {HALO_OP_SIGN, 3, 4, 0, 0, 0.6, 0.8},
    {HALO_OP_SIGN, 0, 0, 0, 0, 0, 0},
    {HALO_OP_ABS, 3, 4, 0, 0, 5, 0},
    {HALO_OP_ABS, INFINITY, NAN, 0, 0, NAN, 0},
    {HALO_OP_ABS, -INFINITY, INFINITY, 0, 0, INFINITY, 0},
    {HALO_OP_ACOS, 2, 0, 0, 0, 0, -1.3169578969248167},
    {HALO_OP_SINH, 1, 1, 0, 0, 0.6349639147847361, 1.2984575814159773},
};

static bool near(double a, double b) {
  return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-14 * (1 + fabs(b));
}

START_TEST(complex_known) {
  const complex_case *c = &complex_cases[_i];
  eval_op op = {.opcode = c->opcode, .in = HALO_C128, .out = HALO_C128};
  eval_scalar args[2] = {{halo_bits_of_f64(c->re), halo_bits_of_f64(c->im)},
                         {halo_bits_of_f64(c->other_re), halo_bits_of_f64(c->other_im)}};
  eval_scalar result = eval_apply(&op, args);
  double re = halo_f64_of_bits(result.re), im = halo_f64_of_bits(result.im);
  ck_assert_msg(near(re, c->expected_re) && near(im, c->expected_im), "%s gives %.17g, %.17g",
                halo_opcode_name(c->opcode), re, im);
}
END_TEST

START_TEST(elements_are_stored_as_they_are) {
  unsigned char bytes[16];
  eval_store(HALO_S4, bytes, 0, (eval_scalar){(uint64_t)-3, 0});
  ck_assert_uint_eq(bytes[0], 0xfd);
  ck_assert_int_eq((int64_t)eval_load(HALO_S4, bytes, 0).re, -3);
  eval_store(HALO_C64, bytes, 1, (eval_scalar){0x3f800000, 0x40000000});
  ck_assert_uint_eq(bytes[11], 0x3f);
  ck_assert_uint_eq(bytes[15], 0x40);
  ck_assert_uint_eq(eval_load(HALO_C64, bytes, 1).im, 0x40000000);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("evaluator-scalar");
  TCase *tests = tcase_create("scalar");
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, operations_known, 0, sizeof op_cases / sizeof op_cases[0]);
  tcase_add_test(tests, clamp_known);
  tcase_add_test(tests, every_operation_has_a_rule);
  tcase_add_test(tests, compare_by_value);
  tcase_add_test(tests, compare_by_total_order);
  tcase_add_test(tests, select_keeps_bits);
  tcase_add_loop_test(tests, convert_known, 0, sizeof convert_cases / sizeof convert_cases[0]);
  tcase_add_test(tests, convert_round_trips);
  tcase_add_test(tests, reduce_precision_known);
  tcase_add_loop_test(tests, complex_known, 0, sizeof complex_cases / sizeof complex_cases[0]);
  tcase_add_test(tests, elements_are_stored_as_they_are);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}

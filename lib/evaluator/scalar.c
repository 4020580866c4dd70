/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/scalar.c: integers and pred, and the choice of family. */
#include "evaluator/scalar.h"

/* ---- Integers and pred ---- */

static uint64_t integer_divide(halo_type type, uint64_t a, uint64_t b) {
  if (b == 0) return UINT64_MAX; /* -1, or all ones */
  if (!halo_type_is_sint(type)) return a / b;
  if ((int64_t)b == -1) return 0 - a;
  return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t integer_remainder(halo_type type, uint64_t a, uint64_t b) {
  if (b == 0) return a;
  if (!halo_type_is_sint(type)) return a % b;
  if ((int64_t)b == -1) return 0;
  return (uint64_t)((int64_t)a % (int64_t)b);
}

static uint64_t integer_power(halo_type type, uint64_t base, uint64_t exponent) {
  if (halo_type_is_sint(type) && (int64_t)exponent < 0) {
    if (base == 1) return 1;
    if ((int64_t)base == -1) return exponent & 1 ? base : 1;
    return 0;
  }
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

static uint64_t integer_mulhi(halo_type type, uint64_t a, uint64_t b) {
  int bits = halo_type_bits(type);
  if (halo_type_is_sint(type)) {
    return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> bits);
  }
  return (uint64_t)((unsigned __int128)a * b >> bits);
}

/* The amount counts as unsigned; one of the width or more shifts everything out. */
static uint64_t integer_shift(halo_opcode opcode, halo_type type, uint64_t a, uint64_t b) {
  int bits = halo_type_bits(type);
  uint64_t mask = UINT64_MAX >> (64 - bits), amount = b & mask, value = a & mask;
  bool all = amount >= (uint64_t)bits;
  if (opcode == HALO_OP_SHIFT_LEFT) return all ? 0 : value << amount;
  if (opcode == HALO_OP_SHIFT_RIGHT_LOGICAL) return all ? 0 : value >> amount;
  int64_t filled = (int64_t)(value << (64 - bits)) >> (64 - bits);
  return (uint64_t)(filled >> (all ? bits - 1 : (int)amount));
}

static bool integer_less(halo_type type, uint64_t a, uint64_t b) {
  return halo_type_is_sint(type) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t integer_clamp(halo_type type, uint64_t low, uint64_t x, uint64_t high) {
  uint64_t raised = integer_less(type, x, low) ? low : x;
  return integer_less(type, high, raised) ? high : raised;
}

static uint64_t integer_clz(halo_type type, uint64_t a) {
  int bits = halo_type_bits(type);
  uint64_t top = a << (64 - bits);
  return (uint64_t)(top ? __builtin_clzll(top) : bits);
}

/* One operation on integers, which are extended to 64 bits; the result is wrapped by the caller. */
typedef uint64_t integer_fn(halo_type type, uint64_t a, uint64_t b, uint64_t c);

#define INTEGER(name, expression)                                                                  \
  static uint64_t integer_op_##name(halo_type type, uint64_t a, uint64_t b, uint64_t c) {          \
    (void)type, (void)a, (void)b, (void)c;                                                         \
    return expression;                                                                             \
  }

INTEGER(abs, halo_type_is_sint(type) && (int64_t)a < 0 ? 0 - a : a)
INTEGER(negate, 0 - a)
INTEGER(sign, a == 0 ? 0 : halo_type_is_sint(type) && (int64_t)a < 0 ? UINT64_MAX : 1)
INTEGER(not, ~a)
INTEGER(popcnt, (uint64_t)__builtin_popcountll(a << (64 - halo_type_bits(type))))
INTEGER(clz, integer_clz(type, a))
INTEGER(add, a + b)
INTEGER(subtract, a - b)
INTEGER(multiply, a *b)
INTEGER(divide, integer_divide(type, a, b))
INTEGER(remainder, integer_remainder(type, a, b))
INTEGER(power, integer_power(type, a, b))
INTEGER(mulhi, integer_mulhi(type, a, b))
INTEGER(maximum, integer_less(type, a, b) ? b : a)
INTEGER(minimum, integer_less(type, b, a) ? b : a)
INTEGER(and, a &b)
INTEGER(or, a | b)
INTEGER(xor, a ^ b)
INTEGER(shift_left, integer_shift(HALO_OP_SHIFT_LEFT, type, a, b))
INTEGER(shift_right_logical, integer_shift(HALO_OP_SHIFT_RIGHT_LOGICAL, type, a, b))
INTEGER(shift_right_arithmetic, integer_shift(HALO_OP_SHIFT_RIGHT_ARITHMETIC, type, a, b))
INTEGER(clamp, integer_clamp(type, a, b, c))
#undef INTEGER

static integer_fn *const integer_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_ABS] = integer_op_abs,
    [HALO_OP_NEGATE] = integer_op_negate,
    [HALO_OP_SIGN] = integer_op_sign,
    [HALO_OP_NOT] = integer_op_not,
    [HALO_OP_POPCNT] = integer_op_popcnt,
    [HALO_OP_CLZ] = integer_op_clz,
    [HALO_OP_ADD] = integer_op_add,
    [HALO_OP_SUBTRACT] = integer_op_subtract,
    [HALO_OP_MULTIPLY] = integer_op_multiply,
    [HALO_OP_DIVIDE] = integer_op_divide,
    [HALO_OP_REMAINDER] = integer_op_remainder,
    [HALO_OP_POWER] = integer_op_power,
    [HALO_OP_MULHI] = integer_op_mulhi,
    [HALO_OP_MAXIMUM] = integer_op_maximum,
    [HALO_OP_MINIMUM] = integer_op_minimum,
    [HALO_OP_AND] = integer_op_and,
    [HALO_OP_OR] = integer_op_or,
    [HALO_OP_XOR] = integer_op_xor,
    [HALO_OP_SHIFT_LEFT] = integer_op_shift_left,
    [HALO_OP_SHIFT_RIGHT_LOGICAL] = integer_op_shift_right_logical,
    [HALO_OP_SHIFT_RIGHT_ARITHMETIC] = integer_op_shift_right_arithmetic,
    [HALO_OP_CLAMP] = integer_op_clamp,
};

static eval_scalar integer_op(const eval_op *op, const eval_scalar *args) {
  int count = halo_op_info_of(op->opcode)->min_operands;
  uint64_t b = count > 1 ? args[1].re : 0, c = count > 2 ? args[2].re : 0;
  return (eval_scalar){eval_wrap(op->in, integer_rules[op->opcode](op->in, args[0].re, b, c)), 0};
}

/* The integer operation that does the same to 0 and 1. */
static integer_fn *const pred_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_ADD] = integer_op_or,      [HALO_OP_MAXIMUM] = integer_op_or,
    [HALO_OP_OR] = integer_op_or,       [HALO_OP_MULTIPLY] = integer_op_and,
    [HALO_OP_MINIMUM] = integer_op_and, [HALO_OP_AND] = integer_op_and,
    [HALO_OP_XOR] = integer_op_xor,     [HALO_OP_SUBTRACT] = integer_op_xor,
    [HALO_OP_CLAMP] = integer_op_clamp, [HALO_OP_NOT] = integer_op_not,
};

static eval_scalar pred_op(const eval_op *op, const eval_scalar *args) {
  int count = halo_op_info_of(op->opcode)->min_operands;
  uint64_t b = count > 1 ? args[1].re : 0, c = count > 2 ? args[2].re : 0;
  return (eval_scalar){pred_rules[op->opcode](HALO_PRED, args[0].re, b, c) & 1, 0};
}

/* ---- Any type ---- */

static bool scalar_by_direction(halo_direction direction, bool less, bool equal, bool greater) {
  switch (direction) {
    case HALO_EQ: return equal;
    case HALO_NE: return !equal;
    case HALO_GE: return greater || equal;
    case HALO_GT: return greater;
    case HALO_LE: return less || equal;
    case HALO_LT: return less;
  }
  return false;
}

static eval_scalar scalar_compare(const eval_op *op, const eval_scalar *args) {
  eval_scalar a = args[0], b = args[1];
  halo_type type = op->in;
  bool result = false;
  if (halo_type_is_complex(type)) {
    halo_type part = halo_type_real_part(type);
    bool equal = eval_decode(part, a.re) == eval_decode(part, b.re) &&
                 eval_decode(part, a.im) == eval_decode(part, b.im);
    result = (op->direction == HALO_EQ) == equal;
  } else if (halo_type_is_float(type) && op->compare != HALO_COMPARE_TOTALORDER) {
    double x = eval_decode(type, a.re), y = eval_decode(type, b.re);
    result = scalar_by_direction(op->direction, x<y, x == y, x> y);
  } else if (halo_type_is_float(type)) {
    int64_t x = eval_total_order_key(type, a), y = eval_total_order_key(type, b);
    result = scalar_by_direction(op->direction, x<y, x == y, x> y);
  } else if (op->compare == HALO_COMPARE_SIGNED) {
    int above = 64 - halo_type_bits(type);
    int64_t x = (int64_t)(a.re << above) >> above, y = (int64_t)(b.re << above) >> above;
    result = scalar_by_direction(op->direction, x<y, x == y, x> y);
  } else {
    result = scalar_by_direction(op->direction, a.re<b.re, a.re == b.re, a.re> b.re);
  }
  return (eval_scalar){result, 0};
}

static eval_scalar scalar_reinterpret(const eval_op *op, const eval_scalar *args) {
  char bytes[16] = {0};
  eval_store(op->in, bytes, 0, args[0]);
  return eval_load(op->out, bytes, 0);
}

static eval_scalar any_copy(const eval_op *op, const eval_scalar *args) {
  (void)op;
  return args[0];
}

static eval_scalar any_select(const eval_op *op, const eval_scalar *args) {
  (void)op;
  return args[0].re ? args[1] : args[2];
}

static eval_scalar any_convert(const eval_op *op, const eval_scalar *args) {
  return eval_convert(op->in, op->out, args[0]);
}

static eval_scalar any_reduce_precision(const eval_op *op, const eval_scalar *args) {
  return eval_reduce_precision(op->in, op->exponent_bits, op->mantissa_bits, args[0]);
}

static eval_scalar any_complex(const eval_op *op, const eval_scalar *args) {
  (void)op;
  return (eval_scalar){args[0].re, args[1].re};
}

static eval_scalar any_real(const eval_op *op, const eval_scalar *args) {
  (void)op;
  return (eval_scalar){args[0].re, 0};
}

static eval_scalar any_imag(const eval_op *op, const eval_scalar *args) {
  if (halo_type_is_complex(op->in)) return (eval_scalar){args[0].im, 0};
  return (eval_scalar){eval_encode(op->in, 0), 0};
}

/* What one function does for all types. */
static eval_apply_fn *const any_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_COPY] = any_copy,
    [HALO_OP_SELECT] = any_select,
    [HALO_OP_COMPARE] = scalar_compare,
    [HALO_OP_CONVERT] = any_convert,
    [HALO_OP_BITCAST_CONVERT] = scalar_reinterpret,
    [HALO_OP_REDUCE_PRECISION] = any_reduce_precision,
    [HALO_OP_COMPLEX] = any_complex,
    [HALO_OP_REAL] = any_real,
    [HALO_OP_IMAG] = any_imag,
};

/* What computes the operation on elements of the type; NULL: nothing does. */
static eval_apply_fn *scalar_rule(halo_opcode opcode, halo_type type) {
  if (any_rules[opcode]) return any_rules[opcode];
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED: return pred_rules[opcode] ? pred_op : NULL;
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT: return integer_rules[opcode] ? integer_op : NULL;
    case HALO_CLASS_FLOAT: return eval_float_knows(opcode) ? eval_float_op : NULL;
    case HALO_CLASS_COMPLEX: return eval_complex_knows(opcode) ? eval_complex_op : NULL;
    case HALO_CLASS_OTHER: break;
  }
  return NULL;
}

bool eval_op_init(eval_op *op, const halo_instr *instr) {
  halo_opcode opcode = instr->opcode;
  bool bits = opcode == HALO_OP_BITCAST_CONVERT;
  if (!halo_opcode_has_trait(opcode, HALO_TRAIT_EW) && !bits) return false;
  if (!halo_shape_is_array(instr->shape)) return false;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (!halo_shape_is_array(instr->operands[i]->shape)) return false;
  }
  int32_t typed = opcode == HALO_OP_SELECT ? 1 : 0;
  for (int32_t i = typed + 1; i < instr->operand_count; i++) {
    if (instr->operands[i]->shape->type != instr->operands[typed]->shape->type) return false;
  }
  *op = (eval_op){
      .opcode = opcode, .in = instr->operands[typed]->shape->type, .out = instr->shape->type};
  if (!scalar_rule(opcode, op->in)) return false;
  if (bits)
    return halo_type_size(op->in) == halo_type_size(op->out) &&
           halo_type_bits(op->in) == halo_type_bits(op->out);
  unsigned mask = halo_type_mask(instr->operands[0]->shape->type);
  if (!(halo_op_info_of(opcode)->types & mask)) return false;
  if (opcode == HALO_OP_COMPARE) {
    op->direction = (halo_direction)halo_instr_int(instr, HALO_ATTR_DIRECTION, HALO_EQ);
    op->compare = halo_compare_type_of(instr);
  } else if (opcode == HALO_OP_REDUCE_PRECISION) {
    op->exponent_bits = (int)halo_instr_int(instr, HALO_ATTR_EXPONENT_BITS, 0);
    op->mantissa_bits = (int)halo_instr_int(instr, HALO_ATTR_MANTISSA_BITS, 0);
  }
  return true;
}

eval_scalar eval_apply(const eval_op *op, const eval_scalar *args) {
  return scalar_rule(op->opcode, op->in)(op, args);
}

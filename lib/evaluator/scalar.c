/* evaluator/scalar.c: loading and storing elements, integers and pred, and the choice of family. */
#include "evaluator/scalar.h"

#include "shape/floats.h"

#include <string.h>

/* ---- Elements ---- */

uint64_t eval_wrap(halo_type type, uint64_t value) {
  int unused = 64 - halo_type_bits(type);
  if (halo_type_is_sint(type)) return (uint64_t)((int64_t)(value << unused) >> unused);
  return value << unused >> unused;
}

static uint64_t scalar_raw(const char *data, size_t size) {
  uint64_t bits = 0;
  memcpy(&bits, data, size);
  return bits;
}

eval_scalar eval_load(halo_type type, const void *data, int64_t i) {
  size_t size = halo_type_size(type);
  const char *at = (const char *)data + (size_t)i * size;
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED: return (eval_scalar){*at != 0, 0};
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT: return (eval_scalar){eval_wrap(type, scalar_raw(at, size)), 0};
    case HALO_CLASS_FLOAT: return (eval_scalar){scalar_raw(at, size), 0};
    case HALO_CLASS_COMPLEX:
      return (eval_scalar){scalar_raw(at, size / 2), scalar_raw(at + size / 2, size / 2)};
    case HALO_CLASS_OTHER: break;
  }
  return (eval_scalar){0, 0};
}

void eval_store(halo_type type, void *data, int64_t i, eval_scalar value) {
  size_t size = halo_type_size(type);
  char *at = (char *)data + (size_t)i * size;
  if (halo_type_is_complex(type)) {
    memcpy(at, &value.re, size / 2);
    memcpy(at + size / 2, &value.im, size / 2);
  } else {
    memcpy(at, &value.re, size);
  }
}

double eval_decode(halo_type type, uint64_t bits) {
  if (type == HALO_F64) return halo_f64_of_bits(bits);
  if (type == HALO_F32 || type == HALO_BF16) {
    uint32_t low = (uint32_t)(type == HALO_BF16 ? bits << 16 : bits);
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
  }
  return halo_float_decode(type, bits);
}

uint64_t eval_encode(halo_type type, double value) {
  if (type == HALO_F64) return halo_bits_of_f64(value);
  if (type == HALO_F32) {
    float rounded = (float)value;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return bits;
  }
  return halo_float_encode(type, value);
}

uint64_t eval_encode_long(halo_type type, long double value) {
  return eval_encode(type, (double)value);
}

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

static uint64_t integer_clz(halo_type type, uint64_t a) {
  int bits = halo_type_bits(type);
  uint64_t top = a << (64 - bits);
  return (uint64_t)(top ? __builtin_clzll(top) : bits);
}

static eval_scalar integer_op(const eval_op *op, const eval_scalar *args) {
  halo_type type = op->in;
  uint64_t a = args[0].re, r = 0;
  uint64_t b = halo_op_info_of(op->opcode)->min_operands > 1 ? args[1].re : 0;
  switch ((int)op->opcode) {
    case HALO_OP_ABS: r = (int64_t)a < 0 && halo_type_is_sint(type) ? 0 - a : a; break;
    case HALO_OP_NEGATE: r = 0 - a; break;
    case HALO_OP_SIGN:
      r = a == 0 ? 0 : halo_type_is_sint(type) && (int64_t)a < 0 ? UINT64_MAX : 1;
      break;
    case HALO_OP_NOT: r = ~a; break;
    case HALO_OP_POPCNT:
      r = (uint64_t)__builtin_popcountll(a << (64 - halo_type_bits(type)));
      break;
    case HALO_OP_CLZ: r = integer_clz(type, a); break;
    case HALO_OP_ADD: r = a + b; break;
    case HALO_OP_SUBTRACT: r = a - b; break;
    case HALO_OP_MULTIPLY: r = a * b; break;
    case HALO_OP_DIVIDE: r = integer_divide(type, a, b); break;
    case HALO_OP_REMAINDER: r = integer_remainder(type, a, b); break;
    case HALO_OP_POWER: r = integer_power(type, a, b); break;
    case HALO_OP_MULHI: r = integer_mulhi(type, a, b); break;
    case HALO_OP_MAXIMUM: r = integer_less(type, a, b) ? b : a; break;
    case HALO_OP_MINIMUM: r = integer_less(type, b, a) ? b : a; break;
    case HALO_OP_AND: r = a & b; break;
    case HALO_OP_OR: r = a | b; break;
    case HALO_OP_XOR: r = a ^ b; break;
    case HALO_OP_SHIFT_LEFT:
    case HALO_OP_SHIFT_RIGHT_LOGICAL:
    case HALO_OP_SHIFT_RIGHT_ARITHMETIC: r = integer_shift(op->opcode, type, a, b); break;
    case HALO_OP_CLAMP:
      r = integer_less(type, b, a) ? a : b;
      if (integer_less(type, args[2].re, r)) r = args[2].re;
      break;
  }
  return (eval_scalar){eval_wrap(type, r), 0};
}

static eval_scalar pred_op(const eval_op *op, const eval_scalar *args) {
  uint64_t a = args[0].re;
  switch ((int)op->opcode) {
    case HALO_OP_NOT: return (eval_scalar){!a, 0};
    case HALO_OP_ADD:
    case HALO_OP_MAXIMUM:
    case HALO_OP_OR: return (eval_scalar){a | args[1].re, 0};
    case HALO_OP_MULTIPLY:
    case HALO_OP_MINIMUM:
    case HALO_OP_AND: return (eval_scalar){a & args[1].re, 0};
    case HALO_OP_XOR: return (eval_scalar){a ^ args[1].re, 0};
    case HALO_OP_CLAMP: return (eval_scalar){(a | args[1].re) & args[2].re, 0};
  }
  return (eval_scalar){0, 0};
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

static eval_scalar scalar_compare(const eval_op *op, eval_scalar a, eval_scalar b) {
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
  } else if (halo_type_is_float(type) || halo_type_is_sint(type)) {
    int64_t x = eval_total_order_key(type, a), y = eval_total_order_key(type, b);
    result = scalar_by_direction(op->direction, x<y, x == y, x> y);
  } else {
    result = scalar_by_direction(op->direction, a.re<b.re, a.re == b.re, a.re> b.re);
  }
  return (eval_scalar){result, 0};
}

static eval_scalar scalar_reinterpret(halo_type from, halo_type to, eval_scalar value) {
  char bytes[16] = {0};
  eval_store(from, bytes, 0, value);
  return eval_load(to, bytes, 0);
}

bool eval_op_init(eval_op *op, const halo_instr *instr) {
  halo_opcode opcode = instr->opcode;
  bool bits = opcode == HALO_OP_BITCAST_CONVERT;
  if (!halo_opcode_has_trait(opcode, HALO_TRAIT_EW) && !bits) return false;
  if (opcode == HALO_OP_STOCHASTIC_CONVERT || !halo_shape_is_array(instr->shape)) return false;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (!halo_shape_is_array(instr->operands[i]->shape)) return false;
  }
  int32_t typed = opcode == HALO_OP_SELECT ? 1 : 0;
  for (int32_t i = typed + 1; i < instr->operand_count; i++) {
    if (instr->operands[i]->shape->type != instr->operands[typed]->shape->type) return false;
  }
  *op = (eval_op){
      .opcode = opcode, .in = instr->operands[typed]->shape->type, .out = instr->shape->type};
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
  halo_type part = halo_type_real_part(op->in);
  switch ((int)op->opcode) {
    case HALO_OP_COPY: return args[0];
    case HALO_OP_SELECT: return args[0].re ? args[1] : args[2];
    case HALO_OP_COMPARE: return scalar_compare(op, args[0], args[1]);
    case HALO_OP_CONVERT: return eval_convert(op->in, op->out, args[0]);
    case HALO_OP_BITCAST_CONVERT: return scalar_reinterpret(op->in, op->out, args[0]);
    case HALO_OP_REDUCE_PRECISION:
      return eval_reduce_precision(op->in, op->exponent_bits, op->mantissa_bits, args[0]);
    case HALO_OP_COMPLEX: return (eval_scalar){args[0].re, args[1].re};
    case HALO_OP_REAL: return (eval_scalar){args[0].re, 0};
    case HALO_OP_IMAG:
      if (halo_type_is_complex(op->in)) return (eval_scalar){args[0].im, 0};
      return (eval_scalar){eval_encode(part, 0), 0};
  }
  switch (halo_type_class_of(op->in)) {
    case HALO_CLASS_PRED: return pred_op(op, args);
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT: return integer_op(op, args);
    case HALO_CLASS_FLOAT: return eval_float_op(op, args);
    case HALO_CLASS_COMPLEX: return eval_complex_op(op, args);
    case HALO_CLASS_OTHER: break;
  }
  return (eval_scalar){0, 0};
}

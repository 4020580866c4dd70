/* codegen/scalar.c: the meaning of every elementwise op as an OpenCL C expression. */
#include "codegen/scalar.h"

#include "codegen/ctype.h"
#include "shape/types.h"

#include <math.h>

typedef struct scalar_ctx {
  const halo_instr *instr;
  const halo_value *operands;
  const char *in[3]; /* their texts */
  halo_arena *arena;
  halo_sections *sections;
  halo_type type;    /* element type of operand 0 */
  halo_type carrier; /* whose helpers compute it */
} scalar_ctx;

#define EXPR(c, ...) halo_arena_printf((c)->arena, __VA_ARGS__)

static void scalar_need(const scalar_ctx *c, const char *section) {
  halo_sections_add(c->sections, section);
}

static const char *scalar_name(halo_type type) { return halo_type_name(type); }

/* h_<op>_<carrier>(operands...), after adding the complex section where it is one. */
static const char *scalar_helper(const scalar_ctx *c, const char *op) {
  if (halo_type_is_complex(c->type)) scalar_need(c, scalar_name(c->type));
  if (c->instr->operand_count == 1) {
    return EXPR(c, "h_%s_%s(%s)", op, scalar_name(c->carrier), c->in[0]);
  }
  return EXPR(c, "h_%s_%s(%s, %s)", op, scalar_name(c->carrier), c->in[0], c->in[1]);
}

/* An OpenCL builtin on real floats, the complex helper on complex ones. */
static const char *scalar_math(const scalar_ctx *c, const char *builtin, const char *helper) {
  if (halo_type_is_complex(c->type)) return scalar_helper(c, helper);
  if (c->instr->operand_count == 1) return EXPR(c, "%s(%s)", builtin, c->in[0]);
  return EXPR(c, "%s(%s, %s)", builtin, c->in[0], c->in[1]);
}

/* Integer arithmetic that wraps: signed overflow is undefined in C, so it goes through unsigned. */
static const char *scalar_wrapping(const scalar_ctx *c, const char *op) {
  const char *type = halo_ctype_compute(c->type);
  const char *unsigned_ = halo_type_size(c->type) == 8 ? "ulong" : "uint";
  return EXPR(c, "(%s)((%s)%s %s (%s)%s)", type, unsigned_, c->in[0], op, unsigned_, c->in[1]);
}

static const char *scalar_arithmetic(const scalar_ctx *c, const char *op, const char *on_pred) {
  if (c->type == HALO_PRED) return EXPR(c, "(bool)(%s %s %s)", c->in[0], on_pred, c->in[1]);
  if (halo_type_is_integral(c->type)) return scalar_wrapping(c, op);
  return EXPR(c, "%s %s %s", c->in[0], op, c->in[1]);
}

/* A float constant that minmax may use: finite, not -0. */
static bool scalar_is_plain(const halo_value *value) {
  return value->is_constant && isfinite(value->real) && !(value->real == 0 && signbit(value->real));
}

static const char *scalar_minmax(const scalar_ctx *c, halo_type type, halo_value x, halo_value y,
                                 bool max) {
  const char *a = x.text, *b = y.text;
  if (type == HALO_PRED) return EXPR(c, "(bool)(%s %s %s)", a, max ? "|" : "&", b);
  if (!halo_type_is_float(type)) return EXPR(c, "%s %s %s ? %s : %s", a, max ? ">" : "<", b, a, b);
  /* Against a plain constant one comparison keeps NaN and turns -0 into the constant +0. For min the
   * constant 0 would have to lose against -0, so that goes the general way. */
  halo_value k = y;
  if (scalar_is_plain(&x)) {
    k = x;
    x = y;
  }
  if (scalar_is_plain(&k) && (max || k.real != 0)) {
    return EXPR(c, "!(%s %s %s) ? %s : %s", x.text, max ? "<=" : ">=", k.text, x.text, k.text);
  }
  scalar_need(c, type == HALO_F64 ? "dminmax" : "fminmax");
  return EXPR(c, "h_%s_%s(%s, %s)", max ? "max" : "min", scalar_name(halo_ctype_carrier(type)), a,
              b);
}

static const char *scalar_shift(const scalar_ctx *c, const char *op) {
  scalar_need(c, "shift");
  return EXPR(c, "h_%s_%s(%s, %s, %du)", op, scalar_name(c->carrier), c->in[0], c->in[1],
              halo_type_bits(c->type));
}

static const char *scalar_clz(const scalar_ctx *c) {
  int spare = (int)halo_type_size(c->type) * 8 - halo_type_bits(c->type);
  const char *unsigned_ = halo_type_is_uint(c->type) ? "" : "u";
  const char *type = halo_ctype_compute(c->type);
  if (!spare) return EXPR(c, "(%s)clz((%s%s)%s)", type, unsigned_, type, c->in[0]);
  return EXPR(c, "(%s)(clz((uchar)(%s & %d)) - %d)", type, c->in[0],
              (1 << halo_type_bits(c->type)) - 1, spare);
}

static const char *scalar_popcnt(const scalar_ctx *c) {
  const char *unsigned_ = halo_type_is_uint(c->type) ? "" : "u";
  const char *type = halo_ctype_compute(c->type);
  if (halo_type_bits(c->type) >= 8) {
    return EXPR(c, "(%s)popcount((%s%s)%s)", type, unsigned_, type, c->in[0]);
  }
  return EXPR(c, "(%s)popcount((uchar)(%s & %d))", type, c->in[0],
              (1 << halo_type_bits(c->type)) - 1);
}

/* The key whose signed order is the total order of a float value in compute type. */
static const char *scalar_total_key(const scalar_ctx *c, const char *value) {
  if (c->type == HALO_F64) {
    scalar_need(c, "dtotal");
    return EXPR(c, "h_total_f64(%s)", value);
  }
  scalar_need(c, "ftotal");
  return EXPR(c, "h_total_f32(%s)", value);
}

static const char *scalar_compare(const scalar_ctx *c) {
  static const char *const signs[] = {"==", "!=", ">=", ">", "<=", "<"};
  int direction = (int)halo_instr_int(c->instr, HALO_ATTR_DIRECTION, HALO_EQ);
  const char *a = c->in[0], *b = c->in[1];
  if (halo_type_is_complex(c->type)) {
    return EXPR(c,
                direction == HALO_EQ ? "(bool)(%s.x == %s.x && %s.y == %s.y)"
                                     : "(bool)(%s.x != %s.x || %s.y != %s.y)",
                a, b, a, b);
  }
  if (halo_type_is_float(c->type) && halo_compare_type_of(c->instr) == HALO_COMPARE_TOTALORDER) {
    a = scalar_total_key(c, a);
    b = scalar_total_key(c, b);
  }
  return EXPR(c, "(bool)(%s %s %s)", a, signs[direction], b);
}

static const char *scalar_reduce_precision(const scalar_ctx *c) {
  int e = (int)halo_instr_int(c->instr, HALO_ATTR_EXPONENT_BITS, 8);
  int m = (int)halo_instr_int(c->instr, HALO_ATTR_MANTISSA_BITS, 23);
  /* No type has more bits than these; larger requests mean "as many as there are". */
  if (e > 30) e = 30;
  if (m > 60) m = 60;
  if (c->type == HALO_F64) {
    scalar_need(c, "dreduce_precision");
    return EXPR(c, "as_double(h_rp_64(as_ulong(%s), 11, 52, %d, %d))", c->in[0], e, m);
  }
  scalar_need(c, "freduce_precision");
  if (c->type == HALO_F32) {
    return EXPR(c, "as_float(h_rp_32(as_uint(%s), 8, 23, %d, %d))", c->in[0], e, m);
  }
  const char *name = scalar_name(c->type), *storage = halo_ctype_storage(c->type);
  return EXPR(c, "h_dec_%s((%s)h_rp_32(h_enc_%s(%s), %d, %d, %d, %d))", name, storage, name,
              c->in[0], halo_type_exponent_bits(c->type), halo_type_mantissa_bits(c->type), e, m);
}

static const char *scalar_clamp(const scalar_ctx *c) {
  halo_type type = c->instr->shape->type;
  const char *low = c->in[0], *x = c->in[1], *high = c->in[2];
  if (!halo_type_is_float(type)) {
    const char *raised = EXPR(c, "(%s > %s ? %s : %s)", x, low, x, low);
    return EXPR(c, "%s < %s ? %s : %s", raised, high, raised, high);
  }
  const char *raised =
      EXPR(c, "(%s)", scalar_minmax(c, type, c->operands[0], c->operands[1], true));
  return scalar_minmax(c, type, halo_value_expression(type, raised), c->operands[2], false);
}

static const char *scalar_float_unary(const scalar_ctx *c, const char *f, const char *d,
                                      const char *helper) {
  scalar_need(c, c->type == HALO_F64 ? d : f);
  return scalar_helper(c, helper);
}

static const char *scalar_is_finite(const scalar_ctx *c) {
  if (c->type == HALO_F64) {
    return EXPR(c, "(bool)((as_ulong(%s) & 0x7ff0000000000000UL) != 0x7ff0000000000000UL)",
                c->in[0]);
  }
  return EXPR(c, "(bool)((as_uint(%s) & 0x7f800000u) != 0x7f800000u)", c->in[0]);
}

static const char *scalar_power(const scalar_ctx *c) {
  if (!halo_type_is_integral(c->type)) return scalar_math(c, "pow", "pow");
  scalar_need(c, "ipow");
  bool is_signed = halo_type_is_sint(c->type);
  return EXPR(c, "(%s)h_pow_%s(%s, %s)", halo_ctype_compute(c->type), is_signed ? "s64" : "u64",
              c->in[0], c->in[1]);
}

/* ---- Conversions ---- */

static const char *scalar_convert_to_float(halo_arena *arena, halo_sections *sections,
                                           halo_type from, halo_type to, const char *x) {
  bool narrow = halo_ctype_is_narrow(to);
  if (to == HALO_F64) return halo_arena_printf(arena, "(double)%s", x);
  if (from == HALO_F64 && narrow && to != HALO_BF16) {
    /* XLA's CPU backend rounds f64 -> bf16 through f32, every other narrow float once. */
    halo_sections_add(sections, "odd");
    return halo_ctype_fit(arena, to, halo_arena_printf(arena, "h_f64_to_f32_odd(%s)", x));
  }
  const char *value =
      halo_type_is_float(from) && from != HALO_F64 ? x : halo_arena_printf(arena, "(float)%s", x);
  if (!narrow || from == to) return value;
  return halo_ctype_fit(arena, to, value);
}

static const char *scalar_convert_to_int(halo_arena *arena, halo_sections *sections, halo_type from,
                                         halo_type to, const char *x) {
  halo_type carrier = halo_ctype_carrier(to);
  const char *value;
  if (halo_type_is_float(from)) {
    bool is_double = from == HALO_F64;
    halo_sections_add(sections, is_double ? "d2i" : "f2i");
    value = halo_arena_printf(arena, "h_%s_to_%s(%s)", is_double ? "double" : "float",
                              halo_type_name(carrier), x);
    if (carrier != to) { /* floats saturate at the narrow type's own ends */
      int bits = halo_type_bits(to);
      bool is_signed = halo_type_is_sint(to);
      const char *type = halo_ctype_compute(to);
      return halo_arena_printf(arena, "clamp(%s, (%s)(%d), (%s)%d)", value, type,
                               is_signed ? -(1 << (bits - 1)) : 0, type,
                               (1 << (is_signed ? bits - 1 : bits)) - 1);
    }
  } else {
    value = halo_arena_printf(arena, "(%s)%s", halo_ctype_compute(to), x);
  }
  return halo_ctype_fit(arena, to, value);
}

static const char *scalar_convert(halo_arena *arena, halo_sections *sections, halo_type from,
                                  halo_type to, const char *x) {
  if (from == to) return x;
  if (halo_type_is_complex(from)) {
    halo_type part = halo_type_real_part(from);
    if (halo_type_is_complex(to)) {
      return halo_arena_printf(arena, "convert_%s(%s)", halo_ctype_compute(to), x);
    }
    x = halo_arena_printf(arena, "%s.x", x);
    return part == to ? x : scalar_convert(arena, sections, part, to, x);
  }
  switch (halo_type_class_of(to)) {
    case HALO_CLASS_PRED: return halo_arena_printf(arena, "(bool)(%s != 0)", x);
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT: return scalar_convert_to_int(arena, sections, from, to, x);
    case HALO_CLASS_FLOAT: return scalar_convert_to_float(arena, sections, from, to, x);
    case HALO_CLASS_COMPLEX: {
      halo_type part = halo_type_real_part(to);
      const char *re = scalar_convert(arena, sections, from, part, x);
      return halo_arena_printf(arena, "(%s)(%s, 0)", halo_ctype_compute(to), re);
    }
    case HALO_CLASS_OTHER: break;
  }
  return x;
}

/* ---- By the number of operands ---- */

static const char *scalar_unary(const scalar_ctx *c) {
  bool complex_ = halo_type_is_complex(c->type), integer = halo_type_is_integral(c->type);
  const char *x = c->in[0];
  const char *one = c->type == HALO_F64 ? "1.0" : "1.0f";
  switch ((int)c->instr->opcode) {
    case HALO_OP_ABS:
      if (complex_) return scalar_helper(c, "abs");
      if (!integer) return EXPR(c, "fabs(%s)", x);
      return EXPR(c, "(%s)(%s < 0 ? (u%s)0 - (u%s)%s : (u%s)%s)", halo_ctype_compute(c->type), x,
                  halo_ctype_compute(c->type), halo_ctype_compute(c->type), x,
                  halo_ctype_compute(c->type), x);
    case HALO_OP_NEGATE:
      if (!integer) return EXPR(c, "-%s", x);
      return EXPR(c, "(%s)(0%s - (%s)%s)", halo_ctype_compute(c->type),
                  halo_type_size(c->type) == 8 ? "UL" : "u",
                  halo_type_size(c->type) == 8 ? "ulong" : "uint", x);
    case HALO_OP_SIGN:
      if (complex_) return scalar_helper(c, "sign");
      if (!integer) return scalar_float_unary(c, "fsign", "dsign", "sign");
      return EXPR(c, "(%s)((%s > 0) - (%s < 0))", halo_ctype_compute(c->type), x, x);
    case HALO_OP_NOT:
      if (c->type == HALO_PRED) return EXPR(c, "(bool)!%s", x);
      return EXPR(c, "(%s)~%s", halo_ctype_compute(c->type), x);
    case HALO_OP_ACOS: return scalar_math(c, "acos", "acos");
    case HALO_OP_ACOSH: return scalar_math(c, "acosh", "acosh");
    case HALO_OP_ASIN: return scalar_math(c, "asin", "asin");
    case HALO_OP_ASINH: return scalar_math(c, "asinh", "asinh");
    case HALO_OP_ATAN: return scalar_math(c, "atan", "atan");
    case HALO_OP_ATANH: return scalar_math(c, "atanh", "atanh");
    case HALO_OP_CBRT: return scalar_math(c, "cbrt", "cbrt");
    case HALO_OP_CEIL: return scalar_math(c, "ceil", "ceil");
    case HALO_OP_FLOOR: return scalar_math(c, "floor", "floor");
    case HALO_OP_COS: return scalar_math(c, "cos", "cos");
    case HALO_OP_COSH: return scalar_math(c, "cosh", "cosh");
    case HALO_OP_SIN: return scalar_math(c, "sin", "sin");
    case HALO_OP_SINH: return scalar_math(c, "sinh", "sinh");
    case HALO_OP_TAN: return scalar_math(c, "tan", "tan");
    case HALO_OP_TANH: return scalar_math(c, "tanh", "tanh");
    case HALO_OP_ERF: return scalar_math(c, "erf", "erf");
    case HALO_OP_EXP: return scalar_math(c, "exp", "exp");
    case HALO_OP_EXPM1: return scalar_math(c, "expm1", "expm1");
    case HALO_OP_LOG: return scalar_math(c, "log", "log");
    case HALO_OP_LOG1P: return scalar_math(c, "log1p", "log1p");
    case HALO_OP_SQRT: return scalar_math(c, "sqrt", "sqrt");
    case HALO_OP_ROUND_AFZ: return scalar_math(c, "round", "round");
    case HALO_OP_ROUND_EVEN: return scalar_math(c, "rint", "rint");
    case HALO_OP_RSQRT:
      return complex_ ? scalar_helper(c, "rsqrt") : EXPR(c, "%s / sqrt(%s)", one, x);
    case HALO_OP_LOGISTIC:
      if (complex_) return scalar_helper(c, "logistic");
      return scalar_float_unary(c, "flogistic", "dlogistic", "logistic");
    case HALO_OP_POPCNT: return scalar_popcnt(c);
    case HALO_OP_CLZ: return scalar_clz(c);
    case HALO_OP_IS_FINITE: return scalar_is_finite(c);
    case HALO_OP_REAL: return complex_ ? EXPR(c, "%s.x", x) : x;
    case HALO_OP_IMAG:
      if (complex_) return EXPR(c, "%s.y", x);
      return c->type == HALO_F64 ? "0.0" : "0.0f";
    case HALO_OP_CONVERT:
      return scalar_convert(c->arena, c->sections, c->type, c->instr->shape->type, x);
    case HALO_OP_COPY: return x;
    case HALO_OP_REDUCE_PRECISION: return scalar_reduce_precision(c);
    default: return NULL;
  }
}

static const char *scalar_binary(const scalar_ctx *c) {
  bool complex_ = halo_type_is_complex(c->type), integer = halo_type_is_integral(c->type);
  const char *a = c->in[0], *b = c->in[1];
  switch ((int)c->instr->opcode) {
    case HALO_OP_ADD: return scalar_arithmetic(c, "+", "|");
    case HALO_OP_SUBTRACT: return scalar_arithmetic(c, "-", "^");
    case HALO_OP_MULTIPLY:
      return complex_ ? scalar_helper(c, "mul") : scalar_arithmetic(c, "*", "&");
    case HALO_OP_DIVIDE:
      if (complex_) return scalar_helper(c, "div");
      if (!integer) return EXPR(c, "%s / %s", a, b);
      scalar_need(c, "idiv");
      return scalar_helper(c, "div");
    case HALO_OP_REMAINDER:
      if (!integer) return EXPR(c, "fmod(%s, %s)", a, b);
      scalar_need(c, "idiv");
      return scalar_helper(c, "rem");
    case HALO_OP_POWER: return scalar_power(c);
    case HALO_OP_MAXIMUM: return scalar_minmax(c, c->type, c->operands[0], c->operands[1], true);
    case HALO_OP_MINIMUM: return scalar_minmax(c, c->type, c->operands[0], c->operands[1], false);
    case HALO_OP_MULHI:
      if (halo_type_bits(c->type) >= 8) return EXPR(c, "mul_hi(%s, %s)", a, b);
      return EXPR(c, "(%s)(((int)%s * (int)%s) >> %d)", halo_ctype_compute(c->type), a, b,
                  halo_type_bits(c->type));
    case HALO_OP_ATAN2: return scalar_math(c, "atan2", "atan2");
    case HALO_OP_AND: return EXPR(c, "(%s)(%s & %s)", halo_ctype_compute(c->type), a, b);
    case HALO_OP_OR: return EXPR(c, "(%s)(%s | %s)", halo_ctype_compute(c->type), a, b);
    case HALO_OP_XOR: return EXPR(c, "(%s)(%s ^ %s)", halo_ctype_compute(c->type), a, b);
    case HALO_OP_SHIFT_LEFT: return scalar_shift(c, "shl");
    case HALO_OP_SHIFT_RIGHT_LOGICAL: return scalar_shift(c, "shr");
    case HALO_OP_SHIFT_RIGHT_ARITHMETIC: return scalar_shift(c, "sar");
    case HALO_OP_COMPLEX:
      return EXPR(c, "(%s)(%s, %s)", halo_ctype_compute(c->instr->shape->type), a, b);
    case HALO_OP_COMPARE: return scalar_compare(c);
    default: return NULL;
  }
}

/* Whether an op's result may fall outside what a narrow type holds although its operands do not. */
static bool scalar_needs_fit(halo_opcode opcode, halo_type type) {
  switch ((int)opcode) {
    case HALO_OP_COPY:
    case HALO_OP_SELECT:
    case HALO_OP_CLAMP:
    case HALO_OP_MAXIMUM:
    case HALO_OP_MINIMUM:
    case HALO_OP_REAL:
    case HALO_OP_IMAG:
    case HALO_OP_CONVERT:
    case HALO_OP_REDUCE_PRECISION: return false;
    case HALO_OP_ABS:
    case HALO_OP_NEGATE:
    case HALO_OP_SIGN: /* exact for the floats that have a sign, but FNUZ types lack -0 */
      return !halo_type_is_float(type) || type == HALO_F8E8M0FNU || halo_type_size(type) == 1;
    case HALO_OP_AND:
    case HALO_OP_OR:
    case HALO_OP_XOR: return false;
    default: return true;
  }
}

halo_status halo_scalar_expr(const halo_instr *instr, const halo_value *operands, bool round,
                             halo_arena *arena, halo_sections *sections, halo_value *out) {
  halo_type type = instr->operands[0]->shape->type, result = instr->shape->type;
  scalar_ctx c = {.instr = instr,
                  .operands = operands,
                  .arena = arena,
                  .sections = sections,
                  .type = type,
                  .carrier = halo_ctype_carrier(type)};
  for (int32_t i = 0; i < instr->operand_count && i < 3; i++) c.in[i] = operands[i].text;
  halo_sections_add(sections, halo_ctype_section(type));
  halo_sections_add(sections, halo_ctype_section(result));
  const char *expr = NULL;
  if (instr->operand_count == 1) expr = scalar_unary(&c);
  if (instr->operand_count == 2) expr = scalar_binary(&c);
  if (instr->opcode == HALO_OP_SELECT) {
    expr = EXPR(&c, "%s ? %s : %s", c.in[0], c.in[1], c.in[2]);
  }
  if (instr->opcode == HALO_OP_CLAMP) expr = scalar_clamp(&c);
  if (!expr) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s of %s has no device code yet",
                     halo_opcode_name(instr->opcode), halo_type_name(type));
  }
  bool fit = round || !halo_type_is_float(result);
  if (fit && halo_ctype_is_narrow(result) && scalar_needs_fit(instr->opcode, result)) {
    expr = halo_ctype_fit(arena, result, expr);
  }
  *out = halo_value_expression(result, expr);
  out->is_atom = instr->opcode == HALO_OP_REAL || instr->opcode == HALO_OP_IMAG; /* z.x, 0.0f */
  if (expr == c.in[0]) { /* nothing to compute */
    *out = operands[0];
    out->type = result;
  }
  return HALO_OK;
}

halo_value halo_scalar_convert(halo_arena *arena, halo_sections *sections, halo_value value,
                               halo_type to) {
  halo_sections_add(sections, halo_ctype_section(value.type));
  halo_sections_add(sections, halo_ctype_section(to));
  if (value.type == to) return value;
  const char *text = scalar_convert(arena, sections, value.type, to, value.text);
  if (text != value.text) return halo_value_expression(to, text);
  value.type = to;
  return value;
}

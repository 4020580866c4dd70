/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/scalar.c: the meaning of every elementwise op as an OpenCL C expression. */
#include "codegen/scalar.h"

#include "codegen/ctype.h"
#include "shape/types.h"

#include <math.h>
#include <string.h>

typedef struct scalar_rule scalar_rule;

typedef struct scalar_ctx {
  const halo_instr *instr;
  const scalar_rule *rule;
  const halo_value *operands;
  const char *in[3]; /* their texts */
  halo_arena *arena;
  halo_sections *sections;
  const char *
      *stored;       /* receives the result as it is in memory, where that is what is rounded to */
  halo_type type;    /* element type of operand 0 */
  halo_type carrier; /* whose helpers compute it */
} scalar_ctx;

typedef const char *scalar_write(const scalar_ctx *c);

/* When a result may fall outside what a narrow type holds although the operands do not. */
typedef enum scalar_fit {
  SCALAR_ROUNDS = 0,
  SCALAR_FITS,
  SCALAR_SIGNS /* exact for the floats that have a sign, but FNUZ types lack -0 */
} scalar_fit;

/* How one operation is written. */
struct scalar_rule {
  scalar_write *write; /* NULL: not elementwise */
  /* What tells the operations of one `write` apart: the operator or OpenCL function on real numbers,
   * and the operator on pred or the helper on complex numbers. */
  const char *real, *other;
  scalar_fit fit;
};

#define EXPR(c, ...) halo_arena_printf((c)->arena, __VA_ARGS__)

static void scalar_need(const scalar_ctx *c, const char *section) {
  halo_sections_add(c->sections, section);
}

/* Asks for the part of a section that is for the computing type. */
static void scalar_need_type(const scalar_ctx *c, const char *section) {
  halo_sections_add_for(c->sections, section, halo_type_name(c->carrier));
}

static const char *scalar_name(halo_type type) { return halo_type_name(type); }

/* The section of complex.cl in which an operation is: "c64_log". */
static const char *scalar_complex_section(const scalar_ctx *c, const char *op) {
  static const struct {
    const char *op, *section;
  } rows[] = {{"mul", ""},
              {"div", ""},
              {"abs", ""},
              {"sign", ""},
              {"exp", "_exp"},
              {"expm1", "_expm1"},
              {"log", "_log"},
              {"log1p", "_log"},
              {"sin", "_sin"},
              {"cos", "_sin"},
              {"sinh", "_sin"},
              {"cosh", "_sin"},
              {"tan", "_tanh"},
              {"tanh", "_tanh"},
              {"sqrt", "_sqrt"},
              {"rsqrt", "_sqrt"},
              {"pow", "_pow"},
              {"atan2", "_atan2"},
              {"logistic", "_logistic"}};
  const char *section = "_inverse";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].op, op) == 0) section = rows[i].section;
  }
  return EXPR(c, "%s%s", scalar_name(c->type), section);
}

/* h_<op>_<carrier>(operands...), after adding the complex section where it is one. */
static const char *scalar_helper(const scalar_ctx *c, const char *op) {
  if (halo_type_is_complex(c->type)) scalar_need(c, scalar_complex_section(c, op));
  if (c->instr->operand_count == 1) {
    return EXPR(c, "h_%s_%s(%s)", op, scalar_name(c->carrier), c->in[0]);
  }
  return EXPR(c, "h_%s_%s(%s, %s)", op, scalar_name(c->carrier), c->in[0], c->in[1]);
}

/* An OpenCL builtin on real floats, the complex helper on complex ones. */
static const char *scalar_math(const scalar_ctx *c) {
  if (halo_type_is_complex(c->type)) return scalar_helper(c, c->rule->other);
  if (c->instr->operand_count == 1) return EXPR(c, "%s(%s)", c->rule->real, c->in[0]);
  return EXPR(c, "%s(%s, %s)", c->rule->real, c->in[0], c->in[1]);
}

/* The form for 16 bits that takes less than that of f32, by the name of its type; NULL: there is none. */
static const char *scalar_short_form(const scalar_ctx *c) {
  halo_opcode op = c->instr->opcode;
  bool is_sine = op == HALO_OP_SIN || op == HALO_OP_COS;
  if (c->type == HALO_F16 && (is_sine || op == HALO_OP_TANH || op == HALO_OP_LOGISTIC))
    return "f16";
  if (c->type != HALO_BF16) return NULL;
  return is_sine ? "bf16" : op == HALO_OP_TANH ? "f16" : NULL;
}

/* An elementary function: our own on real numbers, the complex helper on complex ones. */
static const char *scalar_function(const scalar_ctx *c) {
  if (halo_type_is_complex(c->type)) return scalar_math(c);
  const char *form = scalar_short_form(c);
  if (form) {
    scalar_need(c, EXPR(c, "f16_%s", c->rule->real)); /* has both */
    return EXPR(c, "h_%s_%s(%s)", c->rule->real, form, c->in[0]);
  }
  scalar_need(c, EXPR(c, "%s_%s", scalar_name(c->carrier), c->rule->real));
  return scalar_helper(c, c->rule->real);
}

/* Integer arithmetic that wraps: signed overflow is undefined in C, so it goes through unsigned. */
static const char *scalar_wrapping(const scalar_ctx *c) {
  const char *type = halo_ctype_compute(c->type);
  const char *unsigned_ = halo_type_size(c->type) == 8 ? "ulong" : "uint";
  return EXPR(c, "(%s)((%s)%s %s (%s)%s)", type, unsigned_, c->in[0], c->rule->real, unsigned_,
              c->in[1]);
}

static const char *scalar_arithmetic(const scalar_ctx *c) {
  const scalar_rule *rule = c->rule;
  if (c->type == HALO_PRED) return EXPR(c, "(bool)(%s %s %s)", c->in[0], rule->other, c->in[1]);
  if (halo_type_is_integral(c->type)) return scalar_wrapping(c);
  if (halo_type_is_complex(
          c->type)) { /* part by part, which compilers make vectors of neighbours of */
    return EXPR(c, "(%s)(%s.x %s %s.x, %s.y %s %s.y)", halo_ctype_compute(c->type), c->in[0],
                rule->real, c->in[1], c->in[0], rule->real, c->in[1]);
  }
  return EXPR(c, "%s %s %s", c->in[0], rule->real, c->in[1]);
}

static const char *scalar_multiply(const scalar_ctx *c) {
  return halo_type_is_complex(c->type) ? scalar_helper(c, "mul") : scalar_arithmetic(c);
}

static const char *scalar_bitwise(const scalar_ctx *c) {
  return EXPR(c, "(%s)(%s %s %s)", halo_ctype_compute(c->type), c->in[0], c->rule->real, c->in[1]);
}

static const char *scalar_divide(const scalar_ctx *c) {
  if (halo_type_is_complex(c->type)) return scalar_helper(c, "div");
  if (!halo_type_is_integral(c->type)) return EXPR(c, "%s / %s", c->in[0], c->in[1]);
  scalar_need_type(c, "idiv");
  return scalar_helper(c, "div");
}

static const char *scalar_remainder(const scalar_ctx *c) {
  if (c->type == HALO_F64) return EXPR(c, "fmod(%s, %s)", c->in[0], c->in[1]);
  if (!halo_type_is_integral(c->type)) {
    const char *form = c->type == HALO_F16 ? "f16" : "f32";
    halo_sections_add_for(c->sections, "frem", form);
    return EXPR(c, "h_rem_%s(%s, %s)", form, c->in[0], c->in[1]);
  }
  scalar_need_type(c, "idiv");
  return scalar_helper(c, "rem");
}

static const char *scalar_mulhi(const scalar_ctx *c) {
  const char *a = c->in[0], *b = c->in[1];
  if (halo_type_bits(c->type) >= 8) return EXPR(c, "mul_hi(%s, %s)", a, b);
  return EXPR(c, "(%s)(((int)%s * (int)%s) >> %d)", halo_ctype_compute(c->type), a, b,
              halo_type_bits(c->type));
}

/* A float constant that minmax may use: finite, not -0. */
static bool scalar_is_plain(const halo_value *value) {
  return value->is_constant && isfinite(value->real) && !(value->real == 0 && signbit(value->real));
}

/* What stands for an operand where it is asked which one is larger. */
static const char *scalar_order(const scalar_ctx *c, halo_type type, const char *x) {
  return type == HALO_S64 ? EXPR(c, "h_order_s64(%s)", x) : x;
}

static const char *scalar_minmax(const scalar_ctx *c, halo_type type, halo_value x, halo_value y,
                                 bool max) {
  const char *a = x.text, *b = y.text;
  if (type == HALO_PRED) return EXPR(c, "(bool)(%s %s %s)", a, max ? "|" : "&", b);
  if (!halo_type_is_float(type)) {
    return EXPR(c, "%s %s %s ? %s : %s", scalar_order(c, type, a), max ? ">" : "<",
                scalar_order(c, type, b), a, b);
  }
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

/* Of complex numbers the real parts decide; the second one is taken where they do not compare. */
static const char *scalar_complex_extreme(const scalar_ctx *c, const char *sign) {
  const char *a = c->in[0], *b = c->in[1];
  return EXPR(c, "(%s)(%s.x %s %s.x ? %s.x : %s.x, %s.x %s %s.x ? %s.y : %s.y)",
              halo_ctype_compute(c->type), a, sign, b, a, b, a, sign, b, a, b);
}

static const char *scalar_maximum(const scalar_ctx *c) {
  if (halo_type_is_complex(c->type)) return scalar_complex_extreme(c, ">=");
  return scalar_minmax(c, c->type, c->operands[0], c->operands[1], true);
}

static const char *scalar_minimum(const scalar_ctx *c) {
  if (halo_type_is_complex(c->type)) return scalar_complex_extreme(c, "<=");
  return scalar_minmax(c, c->type, c->operands[0], c->operands[1], false);
}

static const char *scalar_shift(const scalar_ctx *c) {
  scalar_need_type(c, "shift");
  return EXPR(c, "h_%s_%s(%s, %s, %du)", c->rule->real, scalar_name(c->carrier), c->in[0], c->in[1],
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
                direction == HALO_EQ ? "(bool)((%s.x == %s.x) & (%s.y == %s.y))"
                                     : "(bool)((%s.x != %s.x) | (%s.y != %s.y))",
                a, b, a, b);
  }
  bool total = halo_compare_type_of(c->instr) == HALO_COMPARE_TOTALORDER;
  if (c->type == HALO_F16 && !total && c->operands[0].stored && c->operands[1].stored) {
    a = c->operands[0].stored;
    b = c->operands[1].stored;
    return EXPR(c, "(bool)((h_place_f16(%s) %s h_place_f16(%s)) %sh_ordered_f16(%s, %s))", a,
                signs[direction], b, direction == HALO_NE ? "| !" : "& ", a, b);
  }
  if (halo_type_is_float(c->type) && total) {
    a = scalar_total_key(c, a);
    b = scalar_total_key(c, b);
  }
  bool ordered = direction != HALO_EQ && direction != HALO_NE;
  if (ordered) {
    a = scalar_order(c, c->type, a);
    b = scalar_order(c, c->type, b);
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
  const char *raised =
      EXPR(c, "(%s)", scalar_minmax(c, type, c->operands[0], c->operands[1], true));
  return scalar_minmax(c, type, halo_value_expression(type, raised), c->operands[2], false);
}

static const char *scalar_abs(const scalar_ctx *c) {
  const char *x = c->in[0], *type = halo_ctype_compute(c->type);
  if (halo_type_is_complex(c->type)) return scalar_helper(c, "abs");
  /* Of floats that become f16, LLVM would take the magnitudes one by one, after rounding. */
  if (c->type == HALO_F16) return EXPR(c, "as_float(as_uint(%s) & 0x7fffffffu)", x);
  if (!halo_type_is_integral(c->type)) return EXPR(c, "fabs(%s)", x);
  return EXPR(c, "(%s)(%s < 0 ? (u%s)0 - (u%s)%s : (u%s)%s)", type, x, type, type, x, type, x);
}

static const char *scalar_negate(const scalar_ctx *c) {
  const char *x = c->in[0];
  if (halo_type_is_complex(c->type)) {
    return EXPR(c, "(%s)(-%s.x, -%s.y)", halo_ctype_compute(c->type), x, x);
  }
  if (c->type == HALO_F16) return EXPR(c, "as_float(as_uint(%s) ^ 0x80000000u)", x); /* likewise */
  if (!halo_type_is_integral(c->type)) return EXPR(c, "-%s", x);
  bool wide = halo_type_size(c->type) == 8;
  return EXPR(c, "(%s)(0%s - (%s)%s)", halo_ctype_compute(c->type), wide ? "UL" : "u",
              wide ? "ulong" : "uint", x);
}

static const char *scalar_sign(const scalar_ctx *c) {
  const char *x = c->in[0];
  if (halo_type_is_integral(c->type)) {
    return EXPR(c, "(%s)((%s > 0) - (%s < 0))", halo_ctype_compute(c->type), x, x);
  }
  if (!halo_type_is_complex(c->type)) scalar_need(c, c->type == HALO_F64 ? "dsign" : "fsign");
  return scalar_helper(c, "sign");
}

static const char *scalar_not(const scalar_ctx *c) {
  if (c->type == HALO_PRED) return EXPR(c, "(bool)!%s", c->in[0]);
  return EXPR(c, "(%s)~%s", halo_ctype_compute(c->type), c->in[0]);
}

static const char *scalar_rsqrt(const scalar_ctx *c) {
  if (halo_type_is_complex(c->type)) return scalar_helper(c, "rsqrt");
  return EXPR(c, "%s / sqrt(%s)", c->type == HALO_F64 ? "1.0" : "1.0f", c->in[0]);
}

static const char *scalar_round(const scalar_ctx *c) {
  scalar_need(c, c->type == HALO_F64 ? "dround_afz" : "fround_afz");
  return scalar_helper(c, "round_afz");
}

static const char *scalar_real(const scalar_ctx *c) {
  return halo_type_is_complex(c->type) ? EXPR(c, "%s.x", c->in[0]) : c->in[0];
}

static const char *scalar_imag(const scalar_ctx *c) {
  if (halo_type_is_complex(c->type)) return EXPR(c, "%s.y", c->in[0]);
  return c->type == HALO_F64 ? "0.0" : "0.0f";
}

static const char *scalar_complex(const scalar_ctx *c) {
  return EXPR(c, "(%s)(%s, %s)", halo_ctype_compute(c->instr->shape->type), c->in[0], c->in[1]);
}

static const char *scalar_copy(const scalar_ctx *c) { return c->in[0]; }

static const char *scalar_select(const scalar_ctx *c) {
  halo_type type = c->instr->shape->type;
  if (halo_type_is_complex(type)) {
    return EXPR(c, "(%s)(%s ? %s.x : %s.x, %s ? %s.y : %s.y)", halo_ctype_compute(type), c->in[0],
                c->in[1], c->in[2], c->in[0], c->in[1], c->in[2]);
  }
  /* LLVM 15, as Mesa's llvmpipe uses it, cannot compile some choices between signed bytes. */
  if (!strcmp(halo_ctype_compute(type), "char")) {
    return EXPR(c, "(char)(%s ? (uchar)(%s) : (uchar)(%s))", c->in[0], c->in[1], c->in[2]);
  }
  return EXPR(c, "%s ? %s : %s", c->in[0], c->in[1], c->in[2]);
}

static const char *scalar_is_finite(const scalar_ctx *c) {
  if (c->type == HALO_F64) {
    return EXPR(c, "(bool)((as_ulong(%s) & 0x7ff0000000000000UL) != 0x7ff0000000000000UL)",
                c->in[0]);
  }
  return EXPR(c, "(bool)((as_uint(%s) & 0x7f800000u) != 0x7f800000u)", c->in[0]);
}

static const char *scalar_power(const scalar_ctx *c) {
  if (!halo_type_is_integral(c->type)) return scalar_function(c);
  bool wide = halo_type_size(c->type) == 8, is_signed = halo_type_is_sint(c->type);
  const char *form = is_signed ? (wide ? "s64" : "s32") : wide ? "u64" : "u32";
  halo_sections_add_for(c->sections, "ipow", form);
  return EXPR(c, "(%s)h_pow_%s(%s, %s)", halo_ctype_compute(c->type), form, c->in[0], c->in[1]);
}

static const char *scalar_convert_op(const scalar_ctx *c) {
  return halo_scalar_convert_text(c->arena, c->sections, c->type, c->instr->shape->type, c->in[0],
                                  c->stored);
}

/* ---- The table ---- */

static const scalar_rule scalar_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_ACOS] = {scalar_function, "acos", "acos"},
    [HALO_OP_ACOSH] = {scalar_function, "acosh", "acosh"},
    [HALO_OP_ASIN] = {scalar_function, "asin", "asin"},
    [HALO_OP_ASINH] = {scalar_function, "asinh", "asinh"},
    [HALO_OP_ATAN] = {scalar_function, "atan", "atan"},
    [HALO_OP_ATANH] = {scalar_function, "atanh", "atanh"},
    [HALO_OP_CBRT] = {scalar_function, "cbrt", "cbrt"},
    [HALO_OP_CEIL] = {scalar_math, "ceil", "ceil"},
    [HALO_OP_FLOOR] = {scalar_math, "floor", "floor"},
    [HALO_OP_COS] = {scalar_function, "cos", "cos"},
    [HALO_OP_COSH] = {scalar_function, "cosh", "cosh"},
    [HALO_OP_SIN] = {scalar_function, "sin", "sin"},
    [HALO_OP_SINH] = {scalar_function, "sinh", "sinh"},
    [HALO_OP_TAN] = {scalar_function, "tan", "tan"},
    [HALO_OP_TANH] = {scalar_function, "tanh", "tanh"},
    [HALO_OP_ERF] = {scalar_function, "erf", "erf"},
    [HALO_OP_EXP] = {scalar_function, "exp", "exp"},
    [HALO_OP_EXPM1] = {scalar_function, "expm1", "expm1"},
    [HALO_OP_LOG] = {scalar_function, "log", "log"},
    [HALO_OP_LOG1P] = {scalar_function, "log1p", "log1p"},
    [HALO_OP_SQRT] = {scalar_math, "sqrt", "sqrt"},
    [HALO_OP_ROUND_AFZ] = {scalar_round},
    [HALO_OP_ROUND_EVEN] = {scalar_math, "rint", "rint"},
    [HALO_OP_RSQRT] = {scalar_rsqrt},
    [HALO_OP_LOGISTIC] = {scalar_function, "logistic", "logistic"},
    [HALO_OP_POPCNT] = {scalar_popcnt},
    [HALO_OP_CLZ] = {scalar_clz},
    [HALO_OP_IS_FINITE] = {scalar_is_finite},
    [HALO_OP_ABS] = {scalar_abs, .fit = SCALAR_SIGNS},
    [HALO_OP_NEGATE] = {scalar_negate, .fit = SCALAR_SIGNS},
    [HALO_OP_SIGN] = {scalar_sign, .fit = SCALAR_SIGNS},
    [HALO_OP_NOT] = {scalar_not},
    [HALO_OP_REAL] = {scalar_real, .fit = SCALAR_FITS},
    [HALO_OP_IMAG] = {scalar_imag, .fit = SCALAR_FITS},
    [HALO_OP_CONVERT] = {scalar_convert_op, .fit = SCALAR_FITS},
    [HALO_OP_COPY] = {scalar_copy, .fit = SCALAR_FITS},
    [HALO_OP_REDUCE_PRECISION] = {scalar_reduce_precision, .fit = SCALAR_FITS},
    [HALO_OP_ADD] = {scalar_arithmetic, "+", "|"},
    [HALO_OP_SUBTRACT] = {scalar_arithmetic, "-", "^"},
    [HALO_OP_MULTIPLY] = {scalar_multiply, "*", "&"},
    [HALO_OP_DIVIDE] = {scalar_divide},
    [HALO_OP_REMAINDER] = {scalar_remainder},
    [HALO_OP_MULHI] = {scalar_mulhi},
    [HALO_OP_COMPLEX] = {scalar_complex},
    [HALO_OP_COMPARE] = {scalar_compare},
    [HALO_OP_POWER] = {scalar_power, "pow", "pow"},
    [HALO_OP_ATAN2] = {scalar_function, "atan2", "atan2"},
    [HALO_OP_MAXIMUM] = {scalar_maximum, .fit = SCALAR_FITS},
    [HALO_OP_MINIMUM] = {scalar_minimum, .fit = SCALAR_FITS},
    [HALO_OP_AND] = {scalar_bitwise, "&", .fit = SCALAR_FITS},
    [HALO_OP_OR] = {scalar_bitwise, "|", .fit = SCALAR_FITS},
    [HALO_OP_XOR] = {scalar_bitwise, "^", .fit = SCALAR_FITS},
    [HALO_OP_SHIFT_LEFT] = {scalar_shift, "shl"},
    [HALO_OP_SHIFT_RIGHT_LOGICAL] = {scalar_shift, "shr"},
    [HALO_OP_SHIFT_RIGHT_ARITHMETIC] = {scalar_shift, "sar"},
    [HALO_OP_SELECT] = {scalar_select, .fit = SCALAR_FITS},
    [HALO_OP_CLAMP] = {scalar_clamp, .fit = SCALAR_FITS},
};

bool halo_scalar_knows(halo_opcode opcode) { return scalar_rules[opcode].write != NULL; }

/* Whether a result of this narrow type has to be made to fit. */
static bool scalar_needs_fit(const scalar_rule *rule, halo_type type) {
  switch (rule->fit) {
    case SCALAR_ROUNDS: return true;
    case SCALAR_FITS: return false;
    case SCALAR_SIGNS:
      return !halo_type_is_float(type) || type == HALO_F8E8M0FNU || halo_type_size(type) == 1;
  }
  return true;
}

/* Whether it makes NaNs quiet in any case, and compilers make vectors of it in f16 too. */
static bool scalar_is_quiet(const halo_instr *instr) {
  halo_opcode op = instr->opcode;
  if (op == HALO_OP_CONVERT) return instr->shape->type == HALO_F32;
  return op == HALO_OP_ADD || op == HALO_OP_SUBTRACT || op == HALO_OP_MULTIPLY ||
         op == HALO_OP_DIVIDE;
}

halo_status halo_scalar_expr(const halo_instr *instr, const halo_value *operands, bool round,
                             halo_arena *arena, halo_sections *sections, halo_value *out) {
  halo_type type = instr->operands[0]->shape->type, result = instr->shape->type;
  const scalar_rule *rule = &scalar_rules[instr->opcode];
  const char *stored = NULL;
  scalar_ctx c = {.instr = instr,
                  .rule = rule,
                  .operands = operands,
                  .arena = arena,
                  .sections = sections,
                  .stored = &stored,
                  .type = type,
                  .carrier = halo_ctype_carrier(type)};
  bool quiet = scalar_is_quiet(instr);
  for (int32_t i = 0; i < instr->operand_count && i < 3; i++) {
    c.in[i] = quiet && operands[i].quiet ? operands[i].quiet : operands[i].text;
  }
  halo_sections_add(sections, halo_ctype_section(type));
  halo_sections_add(sections, halo_ctype_section(result));
  const char *expr = rule->write ? rule->write(&c) : NULL;
  if (!expr) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s of %s has no device code yet",
                     halo_opcode_name(instr->opcode), halo_type_name(type));
  }
  bool fit = round || !halo_type_is_float(result);
  if (fit && halo_ctype_is_narrow(result) && scalar_needs_fit(rule, result)) {
    stored = halo_ctype_fit_stored(arena, result, expr, true);
    expr = halo_ctype_fit_quiet(arena, result, expr);
  }
  *out = halo_value_expression(result, expr);
  const char *half = halo_scalar_half(instr, operands, arena);
  out->stored = half ? half : stored;
  out->is_atom = instr->opcode == HALO_OP_REAL || instr->opcode == HALO_OP_IMAG; /* z.x, 0.0f */
  if (expr == c.in[0]) { /* nothing to compute */
    *out = halo_value_as(operands[0], result);
    out->text = expr;
  }
  return HALO_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_chlo.c: operations of CHLO, in text, as composites, and as custom calls of older JAX. */
#include "shape/types.h"
#include "stablehlo/translate_forms.h"

#include <math.h>
#include <string.h>

/* ---- Those that HLO has ---- */

/* Older programs call tan so, too, which StableHLO has by now. */
static bool chlo_opcode(const char *name, halo_opcode *out) {
  if (!halo_opcode_from_name(name, out)) return false;
  return *out == HALO_OP_TAN || halo_op_info_of(*out)->dialect == HALO_DIALECT_CHLO;
}

static int64_t chlo_number(const halo_mlir_attr *attrs, const char *name, int64_t default_) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(attrs, name);
  return attr && (attr->kind == HALO_MLIR_INT || attr->kind == HALO_MLIR_BOOL) ? attr->i : default_;
}

static void chlo_ragged(halo_translator *t, halo_mlir_op *op, const halo_mlir_attr *dims) {
  static const struct {
    halo_attr_id id;
    const char *name;
  } lists[] = {{HALO_ATTR_LHS_BATCH_DIMS, "lhs_batching_dimensions"},
               {HALO_ATTR_RHS_BATCH_DIMS, "rhs_batching_dimensions"},
               {HALO_ATTR_LHS_CONTRACTING_DIMS, "lhs_contracting_dimensions"},
               {HALO_ATTR_RHS_CONTRACTING_DIMS, "rhs_contracting_dimensions"},
               {HALO_ATTR_LHS_RAGGED_DIMS, "lhs_ragged_dimensions"},
               {HALO_ATTR_RHS_GROUP_DIMS, "rhs_group_dimensions"}};
  halo_attr attrs[7];
  int32_t count = 0;
  for (int32_t i = 0; i < 6; i++) {
    /* A structure in text; in composites the six lists in this order. */
    const halo_mlir_attr *list = halo_mlir_dict_get(dims, lists[i].name);
    if (dims && dims->kind == HALO_MLIR_ARRAY && i < dims->array.count) list = dims->array.data[i];
    int32_t length;
    const int64_t *numbers = halo_mlir_ints(t->program, list, &length);
    attrs[count++] = halo_translate_ints(t, lists[i].id, numbers, length < 0 ? 0 : length);
  }
  if (halo_translate_precision(t, op, &attrs[count])) count++;
  halo_instr **operands = halo_translate_operands(t, op);
  const halo_shape *shape = halo_translate_declared(t, op, 0);
  halo_translate_results(
      t, op,
      halo_translate_emit(t, HALO_OP_RAGGED_DOT, shape, operands, op->operand_count, attrs, count));
}

bool halo_translate_named(halo_translator *t, halo_mlir_op *op, const char *name,
                          const halo_mlir_attr *attrs) {
  if (!halo_translate_ok(t)) return false;
  halo_opcode opcode;
  if (chlo_opcode(name, &opcode)) {
    halo_translate_results(t, op,
                           halo_translate_emit(t, opcode, NULL, halo_translate_operands(t, op),
                                               op->operand_count, NULL, 0));
    return true;
  }
  if (strcmp(name, "top_k") == 0 || strcmp(name, "topk") == 0) {
    int64_t k = chlo_number(attrs, "k", -1);
    if (k < 0) halo_translate_wrong(t, "k is missing");
    halo_translate_topk(t, op, halo_translate_operand(t, op, 0), k,
                        chlo_number(attrs, "largest", 1) != 0);
    return true;
  }
  if (strcmp(name, "ragged_dot") == 0) {
    chlo_ragged(t, op, halo_mlir_dict_get(attrs, "ragged_dot_dimension_numbers"));
    return true;
  }
  return false;
}

void halo_translate_op_chlo_topk(halo_translator *t, halo_mlir_op *op) {
  int64_t k = halo_translate_integer(t, op, "k");
  halo_translate_topk(t, op, halo_translate_operand(t, op, 0), k, true);
}

void halo_translate_op_chlo_ragged_dot(halo_translator *t, halo_mlir_op *op) {
  chlo_ragged(t, op, halo_mlir_attr_of(op, "ragged_dot_dimension_numbers"));
}

/* ---- Those that a few operations make ---- */

/* (a + b)(a - b) + 2 a b i overflows later than a product of complex numbers. */
static halo_instr *chlo_square(halo_translator *t, halo_instr *x) {
  if (!halo_type_is_complex(x->shape->type)) return form_mul(t, x, x);
  halo_instr *a = halo_translate_unary(t, HALO_OP_REAL, x);
  halo_instr *b = halo_translate_unary(t, HALO_OP_IMAG, x);
  halo_instr *real = form_mul(t, form_sub(t, a, b), form_add(t, a, b));
  halo_instr *imag = form_mul(t, form_mul(t, a, b), form_number(t, a, 2));
  return halo_translate_binary(t, HALO_OP_COMPLEX, real, imag);
}

/* The common part of asin and acos (Kahan): the real part of sqrt(1 - z) sqrt(1 + z), and how large the imaginary part of
 * acos z is. */
static halo_instr *chlo_asin_acos_kernel(halo_translator *t, halo_instr *z) {
  if (!halo_type_is_complex(z->shape->type)) {
    halo_translate_wrong(t, "the operand must be of complex numbers, not %s",
                         halo_type_name(z->shape->type));
    return NULL;
  }
  halo_instr *one = form_number(t, z, 1);
  halo_instr *below = halo_translate_unary(t, HALO_OP_SQRT, form_sub(t, one, z));
  halo_instr *above = halo_translate_unary(t, HALO_OP_SQRT, form_add(t, one, z));
  halo_instr *real = halo_translate_unary(t, HALO_OP_REAL, form_mul(t, below, above));
  halo_instr *acos = halo_translate_unary(t, HALO_OP_ACOS, z);
  halo_instr *imag =
      halo_translate_unary(t, HALO_OP_ABS, halo_translate_unary(t, HALO_OP_IMAG, acos));
  return halo_translate_binary(t, HALO_OP_COMPLEX, real, imag);
}

static halo_instr *chlo_conj(halo_translator *t, halo_instr *x) {
  if (!halo_type_is_complex(x->shape->type)) return x;
  halo_instr *imag = halo_translate_unary(t, HALO_OP_IMAG, x);
  return halo_translate_binary(t, HALO_OP_COMPLEX, halo_translate_unary(t, HALO_OP_REAL, x),
                               halo_translate_unary(t, HALO_OP_NEGATE, imag));
}

static halo_instr *chlo_infinity(halo_translator *t, halo_instr *x, double sign) {
  return halo_translate_compare(t, HALO_EQ, x, halo_translate_number(t, x->shape, sign * HUGE_VAL));
}

static halo_instr *chlo_is_pos_inf(halo_translator *t, halo_instr *x) {
  return chlo_infinity(t, x, 1);
}

static halo_instr *chlo_is_neg_inf(halo_translator *t, halo_instr *x) {
  return chlo_infinity(t, x, -1);
}

static halo_instr *chlo_is_inf(halo_translator *t, halo_instr *x) {
  return chlo_infinity(t, halo_translate_unary(t, HALO_OP_ABS, x), 1);
}

/* Special functions of narrow types are computed in f32. */
static halo_instr *chlo_wide(halo_translator *t, halo_instr *x,
                             halo_instr *(*make)(halo_translator *t, halo_instr *x)) {
  halo_type type = x->shape->type;
  if (!halo_type_is_float(type)) {
    halo_translate_wrong(t, "the operand must be of floats, not %s", halo_type_name(type));
    return NULL;
  }
  bool wide = type == HALO_F32 || type == HALO_F64;
  halo_instr *value = make(t, wide ? x : halo_translate_convert(t, x, HALO_F32));
  return halo_translate_convert(t, value, type);
}

static halo_instr *chlo_erf_inv(halo_translator *t, halo_instr *x) {
  return chlo_wide(t, x, halo_translate_erf_inv);
}

static halo_instr *chlo_erfc(halo_translator *t, halo_instr *x) {
  return chlo_wide(t, x, halo_translate_erfc);
}

static halo_instr *chlo_bessel_i1e(halo_translator *t, halo_instr *x) {
  return chlo_wide(t, x, halo_translate_bessel_i1e);
}

static halo_instr *chlo_lgamma(halo_translator *t, halo_instr *x) {
  return chlo_wide(t, x, halo_translate_lgamma);
}

static halo_instr *chlo_digamma(halo_translator *t, halo_instr *x) {
  return chlo_wide(t, x, halo_translate_digamma);
}

/* The same for two operands. */
static halo_instr *chlo_wide_pair(halo_translator *t, halo_instr *a, halo_instr *b,
                                  halo_instr *(*make)(halo_translator *t, halo_instr *a,
                                                      halo_instr *b)) {
  halo_type type = a->shape->type;
  if (!halo_type_is_float(type) || b->shape->type != type) {
    halo_translate_wrong(t, "the operands must be floats of one type, not %s and %s",
                         halo_type_name(type), halo_type_name(b->shape->type));
    return NULL;
  }
  bool wide = type == HALO_F32 || type == HALO_F64;
  halo_instr *value = wide ? make(t, a, b)
                           : make(t, halo_translate_convert(t, a, HALO_F32),
                                  halo_translate_convert(t, b, HALO_F32));
  return halo_translate_convert(t, value, type);
}

static halo_instr *chlo_zeta(halo_translator *t, halo_instr *a, halo_instr *b) {
  return chlo_wide_pair(t, a, b, halo_translate_zeta);
}

static halo_instr *chlo_polygamma(halo_translator *t, halo_instr *a, halo_instr *b) {
  return chlo_wide_pair(t, a, b, halo_translate_polygamma);
}

static const struct {
  halo_mlir_opcode opcode;
  halo_instr *(*make)(halo_translator *t, halo_instr *a, halo_instr *b);
} chlo_pair_makers[] = {
    {HALO_MLIR_OP_CHLO_NEXT_AFTER, halo_translate_next_after},
    {HALO_MLIR_OP_CHLO_POLYGAMMA, chlo_polygamma},
    {HALO_MLIR_OP_CHLO_ZETA, chlo_zeta},
};

static const struct {
  halo_mlir_opcode opcode;
  halo_instr *(*make)(halo_translator *t, halo_instr *x);
} chlo_makers[] = {
    {HALO_MLIR_OP_CHLO_ASIN_ACOS_KERNEL, chlo_asin_acos_kernel},
    {HALO_MLIR_OP_CHLO_BESSEL_I1E, chlo_bessel_i1e},
    {HALO_MLIR_OP_CHLO_ERF_INV, chlo_erf_inv},
    {HALO_MLIR_OP_CHLO_ERFC, chlo_erfc},
    {HALO_MLIR_OP_CHLO_LGAMMA, chlo_lgamma},
    {HALO_MLIR_OP_CHLO_DIGAMMA, chlo_digamma},
    {HALO_MLIR_OP_CHLO_SQUARE, chlo_square},
    {HALO_MLIR_OP_CHLO_CONJ, chlo_conj},
    {HALO_MLIR_OP_CHLO_IS_INF, chlo_is_inf},
    {HALO_MLIR_OP_CHLO_IS_NEG_INF, chlo_is_neg_inf},
    {HALO_MLIR_OP_CHLO_IS_POS_INF, chlo_is_pos_inf},
};

void halo_translate_op_chlo(halo_translator *t, halo_mlir_op *op) {
  const char *name = halo_mlir_opcode_name(op->opcode) + strlen("chlo.");
  if (halo_translate_named(t, op, name, NULL)) return;
  halo_instr *x = halo_translate_operand(t, op, 0);
  for (size_t i = 0; x && i < sizeof chlo_pair_makers / sizeof chlo_pair_makers[0]; i++) {
    if (chlo_pair_makers[i].opcode != op->opcode) continue;
    halo_instr *y = halo_translate_operand(t, op, 1);
    if (y) halo_translate_results(t, op, chlo_pair_makers[i].make(t, x, y));
    return;
  }
  for (size_t i = 0; x && i < sizeof chlo_makers / sizeof chlo_makers[0]; i++) {
    if (chlo_makers[i].opcode != op->opcode) continue;
    halo_translate_results(t, op, chlo_makers[i].make(t, x));
    return;
  }
  halo_translate_refuse(t, "the operation is not supported");
}

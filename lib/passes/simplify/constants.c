/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/constants.c: what rules ask of constants, and constants that rules make. */
#include "passes/simplify/simplify.h"

#include <math.h>

halo_instr *halo_simplify_scalar(halo_instr *instr) {
  if (halo_shape_is_scalar(instr->shape)) return instr;
  if (instr->opcode != HALO_OP_BROADCAST) return NULL;
  halo_instr *scalar = halo_simplify_arg(instr, 0);
  return scalar->shape->rank == 0 ? scalar : NULL;
}

const halo_literal *halo_simplify_splat(const halo_instr *instr) {
  if (instr->opcode == HALO_OP_BROADCAST) instr = halo_simplify_arg(instr, 0);
  if (instr->opcode != HALO_OP_CONSTANT || !halo_shape_is_scalar(instr->shape)) return NULL;
  return instr->literal->elided ? NULL : instr->literal;
}

bool halo_simplify_is_int(const halo_instr *instr, int64_t value) {
  const halo_literal *literal = halo_simplify_splat(instr);
  if (!literal) return false;
  halo_type type = literal->shape->type;
  if (!halo_type_is_integral(type) && type != HALO_PRED) return false;
  uint64_t mask = UINT64_MAX >> (64 - halo_type_bits(type));
  return (((uint64_t)halo_literal_get_i64(literal, 0) ^ (uint64_t)value) & mask) == 0;
}

bool halo_simplify_is_float(const halo_instr *instr, double value) {
  const halo_literal *literal = halo_simplify_splat(instr);
  if (!literal || !halo_type_is_float(literal->shape->type)) return false;
  double held = halo_literal_get_f64(literal, 0);
  return held == value && signbit(held) == signbit(value);
}

halo_instr *halo_simplify_fill(halo_rewriter *r, const halo_instr *like, int64_t value) {
  halo_instr *scalar = halo_rewrite_make_scalar(r, like, like->shape->type, value);
  return halo_rewrite_make_splat(r, like, scalar, like->shape);
}

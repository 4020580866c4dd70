/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/stochastic.c: stochastic-convert, floats to signed integers: the magnitude is cut to a whole
 * number, or to the next one where the random number is less than the fraction that is cut off. */
#include "passes/expand/expand.h"

#include <math.h>

#define BINARY(op, a, b) halo_expand_binary(x, HALO_OP_##op, a, b)

static halo_instr *stochastic_float(halo_expander *x, double value, const halo_instr *like) {
  return halo_expand_splat(x, halo_expand_scalar(x, like->shape->type, value), like->shape);
}

static halo_instr *stochastic_whole(halo_expander *x, halo_type type, int64_t value,
                                    const halo_instr *like) {
  halo_instr *scalar = halo_rewrite_make_scalar(x->r, x->like, type, value);
  return halo_expand_splat(x, scalar, like->shape);
}

halo_instr *halo_expand_stochastic_convert(halo_expander *x, halo_instr *instr) {
  halo_type to = instr->shape->type;
  if (!halo_type_is_sint(to)) return NULL; /* XLA has no others either */
  halo_instr *random = instr->operands[1], *value = instr->operands[0];
  value = halo_expand_convert(x, value, value->shape->type == HALO_F64 ? HALO_F64 : HALO_F32);
  int bits = halo_type_bits(to);
  int64_t least = (int64_t)(UINT64_MAX << (bits - 1));
  halo_instr *size = halo_expand_unary(x, HALO_OP_ABS, value);
  halo_instr *whole = halo_expand_unary(x, HALO_OP_FLOOR, size);
  double range = ldexp(1, halo_type_bits(random->shape->type));
  halo_instr *fraction =
      BINARY(MULTIPLY, BINARY(SUBTRACT, size, whole), stochastic_float(x, range, value));
  fraction = halo_expand_convert(x, fraction, random->shape->type);
  halo_instr *cut = halo_expand_convert(x, whole, to);
  halo_instr *next = BINARY(ADD, cut, stochastic_whole(x, to, 1, value));
  halo_instr *out =
      halo_expand_select(x, halo_expand_compare(x, random, HALO_LT, fraction), next, cut);
  halo_instr *below = halo_expand_compare(x, value, HALO_LT, stochastic_float(x, 0, value));
  out = halo_expand_select(x, below, halo_expand_unary(x, HALO_OP_NEGATE, out), out);
  /* What is out of range, or rounds to it. */
  halo_instr *low = stochastic_float(x, (double)least, value);
  halo_instr *high = stochastic_float(x, -(double)least - (bits < 54 ? 1 : 0), value);
  out = halo_expand_select(x, halo_expand_compare(x, value, HALO_GE, high),
                           stochastic_whole(x, to, -(least + 1), value), out);
  return halo_expand_select(x, halo_expand_compare(x, value, HALO_LE, low),
                            stochastic_whole(x, to, least, value), out);
}

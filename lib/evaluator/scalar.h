/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/scalar.h: what every operation means on single elements. */
#ifndef HALO_EVALUATOR_SCALAR_H
#define HALO_EVALUATOR_SCALAR_H

#include "hlo/hlo.h"

/* One element of any array type, as its own bits, so that moving and selecting change nothing.
 * Integers and pred are extended to 64 bits by their signedness; floats are in the low bits of re;
 * complex parts in re and im. The type is known from elsewhere. */
typedef struct eval_scalar {
  uint64_t re, im;
} eval_scalar;

eval_scalar eval_load(halo_type type, const void *data, int64_t i);
void eval_store(halo_type type, void *data, int64_t i, eval_scalar value);

/* Float types (and parts of complex ones) to numbers and back; encoding rounds once. */
double eval_decode(halo_type type, uint64_t bits);
uint64_t eval_encode(halo_type type, double value);
/* As eval_encode from a wider number: F64 is rounded once, narrower types through double. */
uint64_t eval_encode_long(halo_type type, long double value);
/* Wraps a 64-bit number to an integral type and extends it again. */
uint64_t eval_wrap(halo_type type, uint64_t value);

/* An elementwise operation and what it needs to know. */
typedef struct eval_op {
  halo_opcode opcode;
  halo_type in;  /* of operand 0; of the branches for select */
  halo_type out; /* of the result */
  halo_direction direction;
  halo_compare_type compare;
  int exponent_bits, mantissa_bits;
} eval_op;

/* Whether the instruction is one that eval_apply knows for its element types; fills *op then.
 * Bitcast-convert counts when its widths are equal. */
bool eval_op_init(eval_op *op, const halo_instr *instr);
/* The result for the operands' elements. */
typedef eval_scalar eval_apply_fn(const eval_op *op, const eval_scalar *args);
eval_apply_fn eval_apply;

/* Families, by file. */
eval_scalar eval_convert(halo_type from, halo_type to, eval_scalar value); /* convert.c */
eval_scalar eval_reduce_precision(halo_type type, int exponent_bits, int mantissa_bits,
                                  eval_scalar value); /* convert.c */
/* The key whose signed order is the total order of a float type, or the plain order of others. */
int64_t eval_total_order_key(halo_type type, eval_scalar value); /* convert.c */
/* Floats (float.c) and complex numbers (complex.c), and which operations they have. */
eval_apply_fn eval_float_op, eval_complex_op;
bool eval_float_knows(halo_opcode opcode), eval_complex_knows(halo_opcode opcode);

#endif

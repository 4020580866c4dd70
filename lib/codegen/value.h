/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/value.h: a value of an element type in generated code. */
#ifndef HALO_CODEGEN_VALUE_H
#define HALO_CODEGEN_VALUE_H

#include "base/arena.h"
#include "shape/literal.h"

/* A value in its compute type (see ctype.h), or an array of such values. */
typedef struct halo_value {
  halo_type type;
  const char *text; /* an expression in the scope at hand */
  const halo_shape
      *array; /* not NULL: `text` names a private array of this shape's elements, row-major */
  const char *stored; /* not NULL: the same value as it is in memory */
  const char *
      quiet; /* not NULL: the same value for arithmetic, which need not see which NaNs are signalling */
  bool is_atom; /* a name or a literal: may be used any number of times, anywhere */
  bool
      is_constant; /* known when the code is made: `integer` of integers and pred, `real` of floats */
  int64_t integer; /* u64 by its bits */
  double real;
} halo_value;

/* The value as it is in memory. */
const char *halo_value_stored(halo_arena *arena, const halo_value *value);
/* A variable of the compute type, or any other atom. */
halo_value halo_value_name(halo_type type, const char *name);
/* An f16 by the name of its form in memory. */
halo_value halo_value_half(halo_arena *arena, const char *name);
/* The same text as a value of the type; where that is another one, it is in memory in no form yet. */
halo_value halo_value_as(halo_value value, halo_type type);
/* An expression of the compute type, and one that is rounded or wrapped to what the type can hold. */
halo_value halo_value_expression(halo_type type, const char *text);
halo_value halo_value_fit(halo_arena *arena, halo_type type, const char *text);
/* Element `i` of a literal, exactly, INT_MIN and NaN included. */
halo_value halo_value_constant(halo_arena *arena, const halo_literal *literal, int64_t i);
/* A whole number that the type can hold. */
halo_value halo_value_whole(halo_arena *arena, halo_type type, int64_t value);

#endif

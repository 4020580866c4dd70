/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/accumulator.h: what reductions and scans carry along: one value or several, the text of their
 * type, and the function that combines two of them. */
#ifndef HALO_KERNELS_ACCUMULATOR_H
#define HALO_KERNELS_ACCUMULATOR_H

#include "hlo/reduction.h"
#include "kernels/kernels.h"

typedef struct halo_accumulator {
  halo_arena *arena;
  const halo_reduce_value *values; /* [count]: those of each reduction side by side */
  int32_t count;
  const char *type; /* in OpenCL C: a struct of m0, m1, ... where there are several */
} halo_accumulator;

/* Declares, in the program's text, the type ("`name`_t", if it needs one) and "T `name`_op(T a, T b)". */
halo_status halo_accumulator_declare(halo_lowering *l, halo_accumulator *out, const char *name,
                                     const halo_reduce_value *values, int32_t count);
/* The type alone. */
void halo_accumulator_declare_type(halo_lowering *l, halo_accumulator *out, const char *name,
                                   const halo_reduce_value *values, int32_t count);
/* Bytes of that type, as compilers lay it out. */
size_t halo_accumulator_size(const halo_reduce_value *values, int32_t count);
/* The C type of one value. */
const char *halo_accumulator_ctype(const halo_reduce_value *value);
/* Value i of accumulator `name` as it lies there, and as a value to compute with. */
const char *halo_accumulator_member(const halo_accumulator *a, const char *name, int32_t i);
halo_value halo_accumulator_load(const halo_accumulator *a, const char *name, int32_t i);
/* "return values;" */
void halo_accumulator_return(const halo_accumulator *a, halo_emitter *e, const halo_value *values);
/* Combines values by the bodies of their reductions: x is on the left. */
void halo_accumulator_combine(const halo_accumulator *a, halo_emitter *e, const halo_value *x,
                              const halo_value *y, halo_value *results);
/* Value i of a combination, rounded to its type and in a variable `prefix`i. */
halo_value halo_accumulator_round(const halo_accumulator *a, halo_emitter *e, const char *prefix,
                                  const halo_value *results, int32_t i);

#endif

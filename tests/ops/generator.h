/* SPDX-License-Identifier: Apache-2.0 */
/* generator.h: what the files of the program generator share. */
#ifndef TESTS_OPS_GENERATOR_H
#define TESTS_OPS_GENERATOR_H

#include "base/vec.h"
#include "generate.h"

/* A value of the program under construction and what is known about it: |x| <= size (of each part),
 * two correct evaluations differ by at most `error`, and `whole` numbers stay exact in sums and
 * products while they are small. Integers have error 0. */
typedef struct gen_value {
  halo_instr *instr;
  double size, error;
  bool whole;
} gen_value;

typedef struct generator {
  uint64_t state;
  halo_test_options options;
  halo_module *module;
  halo_computation *computation; /* that grows now */
  int depth;                     /* 0: the entry */
  HALO_VEC(gen_value) pool;      /* of that computation */
  HALO_VEC(halo_literal *) args;
  bool failed;
} generator;

enum { GEN_MAX_ELEMENTS = 2000, GEN_MAX_PARAMETERS = 10 };
/* Floats stay below this: what grows beyond is scaled down by a power of two. */
#define GEN_LARGEST 64.0

/* A number below n, n > 0. */
uint32_t gen_below(generator *g, uint32_t n);
static inline bool gen_chance(generator *g, uint32_t percent) {
  return gen_below(g, 100) < percent;
}
double gen_unit(generator *g); /* in [0, 1) */

/* Half the spacing of the type's numbers around 1. */
double gen_epsilon(halo_type type);
/* Whole numbers up to this are exact in the type. */
double gen_whole_limit(halo_type type);

const halo_shape *gen_shape(generator *g, halo_type type, int rank, const int64_t *dims);
halo_attr gen_ints(generator *g, halo_attr_id id, int count, const int64_t *values);
halo_attr gen_int(halo_attr_id id, int64_t value);
halo_attr gen_comp(generator *g, halo_attr_id id, halo_computation *computation);

/* Appends an instruction; `shape` NULL: inferred. NULL, and g->failed, when it is refused. */
halo_instr *gen_emit(generator *g, halo_opcode opcode, const halo_shape *shape, int operand_count,
                     halo_instr *const *operands, int attr_count, const halo_attr *attrs);
static inline halo_instr *gen_unary(generator *g, halo_opcode opcode, halo_instr *a) {
  return gen_emit(g, opcode, NULL, 1, &a, 0, NULL);
}
static inline halo_instr *gen_binary(generator *g, halo_opcode opcode, halo_instr *a,
                                     halo_instr *b) {
  halo_instr *operands[2] = {a, b};
  return gen_emit(g, opcode, NULL, 2, operands, 0, NULL);
}

/* Remembers a value, scaled down when it is large. */
void gen_push(generator *g, gen_value value);
/* A random value of the pool. */
gen_value gen_pick(generator *g);
/* Another value of the same type and extents. */
gen_value gen_partner(generator *g, gen_value like);
/* A pred of these extents. */
gen_value gen_pred_like(generator *g, gen_value like);
gen_value gen_constant(generator *g, halo_type type, int rank, const int64_t *dims, double value);
gen_value gen_random_constant(generator *g, halo_type type, int rank, const int64_t *dims);
/* A parameter of the entry with a random argument; small: whole numbers from -4 to 11 (0 to 15). */
gen_value gen_parameter(generator *g, halo_type type, int rank, const int64_t *dims, bool small);
halo_type gen_random_type(generator *g);

/* One elementwise operation on `a`; false when none was found. elementwise.c of the generator. */
bool gen_elementwise(generator *g, gen_value a);
/* One operation that moves, reduces, multiplies or runs computations. */
bool gen_structural(generator *g, gen_value a);
/* Two of these: products.c of the generator. */
bool gen_dot(generator *g, gen_value a);
bool gen_convolution(generator *g, gen_value a);
/* Two kinds of it; false where they do not fit. generate_transform.c */
bool gen_fft(generator *g, gen_value a);
bool gen_random_bits(generator *g, gen_value a);
/* A sort along one dimension. */
bool gen_sort(generator *g, gen_value a);
/* A reduction of windows with any attributes. */
bool gen_window(generator *g, gen_value a);
/* A new computation: its parameters have the types and extents of `params` and their bounds, `steps`
 * elementwise operations follow. *result is in it; its type and extents are those of params[0] when
 * `same`. */
halo_computation *gen_body(generator *g, int count, const gen_value *params, bool scalar, int steps,
                           bool same, gen_value *result);

#endif

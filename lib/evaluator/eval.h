/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/eval.h: what the files of the evaluator share. */
#ifndef HALO_EVALUATOR_EVAL_H
#define HALO_EVALUATOR_EVAL_H

#include "evaluator/evaluator.h"
#include "evaluator/scalar.h"

/* Calls nest at most this deep; deeper programs are HALO_UNIMPLEMENTED. */
enum { EVAL_MAX_DEPTH = 1000 };

/* One instruction to evaluate. */
typedef struct eval_call {
  const halo_instr *instr;
  halo_literal *const *operands;
  int depth; /* of computations being evaluated */
} eval_call;

/* Evaluates one opcode: *out is NULL on entry and becomes a new reference. After a failure *out may
 * hold an unfinished literal, which the caller releases. */
typedef halo_status eval_fn(const eval_call *call, halo_literal **out);

/* The opcode's function, or NULL when there is none. instr.c */
eval_fn *eval_fn_of(halo_opcode opcode);
halo_status eval_instr(const eval_call *call, halo_literal **out);
/* control.c */
halo_status eval_computation(const halo_computation *computation, halo_literal *const *args,
                             int32_t arg_count, int depth, halo_literal **out);

/* Those of opcodes.def, in the files of their families. */
#define RULES(evaluator, work, sizes) eval_fn eval_##evaluator;
#define OP(id, name, lo, hi, traits, types, infer, exec, rules, ...) rules
#include "hlo/opcodes.def"
#undef OP
#undef RULES
/* Any operation, when operands have other extents than the shapes in its text (dynamic.c). */
eval_fn eval_dynamic;

/* ---- Computations of scalars: the bodies of map, reduce, sort, ... (scalar_program.c) ---- */

typedef struct eval_program eval_program;

/* A computation prepared for many calls. Not for several threads. */
typedef struct eval_function {
  const halo_computation *computation;
  int depth;
  eval_program *program; /* NULL: not a plain list of scalar operations; evaluated as literals */
  int32_t arg_count, result_count;
  const halo_type *arg_types;   /* what the caller passes */
  const halo_type *param_types; /* what the computation takes: args are converted to it */
  const halo_type *result_types;
  halo_arena arena;
} eval_function;

/* Prepares `computation`, whose parameters and results are scalars; `arg_types` [arg_count] are
 * copied. Deinit is due after a failure too. */
halo_status eval_function_init(eval_function *function, const halo_computation *computation,
                               const halo_type *arg_types, int32_t arg_count, int depth);
void eval_function_deinit(eval_function *function);
halo_status eval_function_call(eval_function *function, const eval_scalar *args,
                               eval_scalar *results);
/* The opcode when the computation is one operation of its two parameters, in order or swapped where
 * that is the same; else HALO_OPCODE_COUNT. */
halo_opcode eval_function_binary(const eval_function *function);

/* ---- Accumulating with a computation (reduce.c) ---- */

/* The running values of reduce and reduce-window. Plain float and complex addition is summed in long
 * double and rounded once; everything else goes through the computation, value by value. */
typedef struct eval_reducer {
  int32_t count; /* of accumulators */
  eval_function function;
  eval_scalar *values, *results, *init; /* values: accumulators, then room for the next elements */
  halo_literal **outs;
  bool sums;
  long double re, im;
  halo_arena arena;
} eval_reducer;

/* For an instruction whose operands are `count` arrays and then `count` initial values; results go
 * to `out`, or to its elements when it is a tuple. Deinit is due after a failure too. */
halo_status eval_reducer_init(eval_reducer *reducer, const eval_call *call, halo_attr_id body,
                              int32_t count, halo_literal *out);
void eval_reducer_deinit(eval_reducer *reducer);
void eval_reducer_start(eval_reducer *reducer);
/* Takes in element i of each operand. */
halo_status eval_reducer_add(eval_reducer *reducer, halo_literal *const *operands, int64_t i);
/* Stores the accumulators as element i of the results. */
void eval_reducer_finish(eval_reducer *reducer, int64_t i);

/* ---- Index arithmetic ---- */

/* Distances in elements between neighbours along each dimension of a dense row-major array. */
void eval_strides(int rank, const int64_t *dims, int64_t *strides);
int64_t eval_count(int rank, const int64_t *dims);
/* Steps `index` to the next one in row-major order within dims; false after the last (then all 0).
 * Dims must be positive. */
bool eval_next(int rank, const int64_t *dims, int64_t *index);
static inline int64_t eval_offset(int rank, const int64_t *index, const int64_t *strides) {
  int64_t offset = 0;
  for (int d = 0; d < rank; d++) offset += index[d] * strides[d];
  return offset;
}
/* Copies a box of elements of `size` bytes between two places, each with its strides in elements. */
void eval_move(size_t size, int rank, const int64_t *dims, char *to, const int64_t *to_strides,
               const char *from, const int64_t *from_strides);
/* Element `i` of an integral literal, clamped to 0 .. most in its own signedness. */
int64_t eval_clamped_index(const halo_literal *literal, int64_t i, int64_t most);

static inline eval_scalar eval_get(const halo_literal *literal, int64_t i) {
  return eval_load(literal->shape->type, literal->data, i);
}
static inline void eval_set(halo_literal *literal, int64_t i, eval_scalar value) {
  eval_store(literal->shape->type, literal->data, i, value);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/emitter_private.h: what the emitter's own files share. */
#ifndef HALO_CODEGEN_EMITTER_PRIVATE_H
#define HALO_CODEGEN_EMITTER_PRIVATE_H

#include "codegen/emitter.h"

/* What the parameters of a computation mean. */
struct emit_frame {
  int32_t id;
  const halo_computation *computation;
  bool is_kernel;           /* kernel arguments */
  const halo_value *values; /* otherwise: one a parameter leaf */
};

/* Coordinates of an element; equal ones are one object. */
struct emit_index {
  int32_t id, rank;
  const halo_integer **at;
};

/* Computes all leaves of an instruction at an index; or, as private arrays, at none (NULL). */
typedef void emit_rule(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                       emit_index *index, halo_value *leaves);

/* rules.c stands above the files that compute operations, and these above the walk, which reaches it by this table. */
struct emit_rules {
  emit_rule *compute; /* one element of any operation but a parameter */
  /* Makes private arrays, in the scope at hand, of what a computation that is applied cannot compute element by element. */
  void (*hold)(halo_emitter *e, emit_frame *frame, const halo_computation *computation);
};

/* ---- emitter.c: state ---- */

/* A name that no other variable of the body has. */
const char *emit_name(halo_emitter *e, const char *prefix);
void emit_fail(halo_emitter *e, halo_status status);
/* What is known in the scope at hand, by key. */
const void *emit_memo_get(halo_emitter *e, const void *key, size_t size);
void emit_memo_set(halo_emitter *e, const void *key, size_t size, const void *value);
/* Sets *slot until the scope closes. */
void emit_remember(halo_emitter *e, const void **slot, const void *value);
/* Puts an expression into a variable, unless it is an atom. */
halo_value emit_declare(halo_emitter *e, halo_value value);

/* ---- index.c ---- */

/* An integer as an atom. */
const char *emit_integer_atom(halo_emitter *e, const halo_integer *a);
/* An expression of the index type that is in [low, high], in a variable. */
const halo_integer *emit_integer_of(halo_emitter *e, const char *expression, int64_t low,
                                    int64_t high);
/* `a` where a test has shown that it is in [low, high]; it is put into a variable of the scope at
 * hand, so call before the scope of the test is opened. */
const halo_integer *emit_integer_bounded(halo_emitter *e, const halo_integer *a, int64_t low,
                                         int64_t high);
/* The test for low <= a < end, or NULL when the range of `a` says that it is always so. */
const char *emit_integer_test(halo_emitter *e, const halo_integer *a, int64_t end);
/* Notes that a test for a < end is written, where such are collected. */
void emit_note_test(halo_emitter *e, const halo_integer *a, int64_t end);
/* Puts the quotients and remainders in an index into variables now: before a loop or branches that
 * would each do so again. */
void emit_index_prepare(halo_emitter *e, const emit_index *index);

/* ---- element.c: the walk ---- */

/* A frame whose parameters are these values, one a leaf in order. */
emit_frame *emit_frame_values(halo_emitter *e, const halo_computation *computation,
                              const halo_value *values);
/* The private array that holds a leaf of rank 1 or more already, or NULL. */
const halo_value *emit_known_array(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                   int32_t leaf);

/* ---- movement.c: ops that say where an element comes from ---- */
bool emit_is_movement(halo_opcode opcode);
halo_value emit_movement(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                         emit_index *index);

/* ---- random.c: rng-bit-generator as an array of random bits ---- */
halo_value emit_random_bits(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                            emit_index *index);

/* ---- private.c: variables, loops and arrays in private memory ---- */

enum { EMIT_MAX_PRIVATE = 1024 }; /* elements of an array */

/* Opens "for (v = 0; v < size; ++v)" and returns the variable; an extent of 1 needs no loop. */
const halo_integer *emit_loop(halo_emitter *e, int64_t size, int *opened);
/* Such loops over all elements of a shape. */
emit_index *emit_loops(halo_emitter *e, const halo_shape *shape, int *opened);
/* A mutable variable with a start value. */
halo_value emit_variable(halo_emitter *e, halo_type type, const char *start);
/* A private array of the shape; or where the shape is a scalar's, a mutable variable. Without values yet. */
halo_value emit_array(halo_emitter *e, const halo_shape *shape);
halo_value emit_leaf_variable(halo_emitter *e, const halo_shape *shape);
/* Assigns all at once: the new values may be written in terms of the old variables. */
void emit_assign(halo_emitter *e, const halo_value *variables, const halo_value *values,
                 int32_t count);
halo_value emit_array_load(halo_emitter *e, halo_value array, emit_index *index);
/* Converts where the types differ. */
void emit_array_store(halo_emitter *e, halo_value array, emit_index *index, halo_value value);
/* A constant as an array in the scope at hand, if it is small enough. */
bool emit_constant_fits(const halo_literal *literal);
halo_value emit_constant_array(halo_emitter *e, const halo_literal *literal);

/* ---- apply.c: leaves as values or arrays ---- */

/* A leaf of an instruction: its value, or a private array, made where there is none yet. Not to be
 * written to. */
halo_value emit_leaf(halo_emitter *e, emit_frame *frame, const halo_instr *instr, int32_t leaf);
/* A mutable variable or array of the shape that begins as a leaf. */
halo_value emit_leaf_copy(halo_emitter *e, emit_frame *frame, const halo_instr *instr, int32_t leaf,
                          const halo_shape *shape);

/* ---- rules.c ---- */

/* Whether an operation makes private arrays in a computation that is applied; and the elements of the largest array among an
 * instruction's operands and results. */
bool emit_is_private(halo_opcode opcode);
int64_t emit_held_elements(const halo_instr *instr);

/* ---- control.c, arrange.c ---- */

emit_rule emit_while, emit_conditional, emit_sort, emit_scatter, emit_select_and_scatter;

/* ---- cooperative.c: operations that become loops ---- */

emit_rule emit_reduce, emit_reduce_window, emit_dot, emit_convolution;
/* Where a window's element lies along one dimension: the position in the input, after a test, if one is
 * needed, that skips padding and the holes of a dilated base. */
const halo_integer *emit_window_position(halo_emitter *e, const halo_window_dim *w, int64_t size,
                                         const halo_integer *out, const halo_integer *k,
                                         int *opened);

#endif

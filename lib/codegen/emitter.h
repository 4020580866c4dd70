/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/emitter.h: OpenCL C for "element of this instruction at this index".
 *
 * Indices travel down from a root through broadcasts, transposes, slices, ... to the parameters of a
 * fused computation; values travel up. Any tree of such ops becomes straight code; ops that cooperate
 * (reduce, dot, scalar while and conditional) become loops, so that everything the emitter takes can
 * be computed element by element: it is the general implementation of every op, and the prologue and
 * epilogue of the fast kernels.
 *
 * One emitter writes one OpenCL C function body. The first error sticks (halo_emitter.status); calls
 * after it are harmless. */
#ifndef HALO_CODEGEN_EMITTER_H
#define HALO_CODEGEN_EMITTER_H

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "codegen/integer.h"
#include "codegen/value.h"
#include "hlo/hlo.h"
#include "kernel/kernel.h"
#include "kernel/prelude.h"

/* Where a kernel's argument comes from. */
typedef enum halo_role {
  HALO_ROLE_INPUT,   /* `index`: number of a parameter of the fused computation, or rather of its
                        leaf, counted over all parameters */
  HALO_ROLE_CONST,   /* `literal`: an array constant that became a buffer */
  HALO_ROLE_OUTPUT,  /* `index`: leaf of the root */
  HALO_ROLE_SCRATCH, /* `index`: a kernel family's own; `bytes` says how much */
  HALO_ROLE_ITEM, /* `index`: a memory that each work item has a piece of, of `number` bytes; it becomes a scratch
                        (halo_kernel_give_items) */
  HALO_ROLE_VALUE /* no buffer: `index` is a halo_argument_value, `number` that of a NUMBER */
} halo_role;

/* One argument: in OpenCL C a pointer and an element offset, or a value. The same list makes the
 * signature and, on the host, the clSetKernelArg calls. */
typedef struct halo_kernel_arg {
  halo_role role;
  int32_t index;
  const halo_literal *literal;
  halo_type type;
  const char *name; /* of the pointer or value in OpenCL C */
  int64_t number;
} halo_kernel_arg;

/* What an instruction's parameters mean, and the place of an element in an array: emitter_private.h. */
typedef struct emit_frame emit_frame;
typedef struct emit_index emit_index;
typedef struct emit_rules emit_rules; /* which operation is computed in which way */

/* An undone entry of the scope log. */
typedef struct emit_undo {
  const void **slot;
  const void *old;
} emit_undo;

/* Where along a counter tests of places begin or cease to hold. */
typedef struct halo_breaks {
  const char *counter;
  HALO_VEC(int64_t) at; /* its values from which on a test has another answer, in no order */
} halo_breaks;

/* Arrays of rows of 16 words, one for each element, whose words are read each for itself: rows of 16 neighbours are
 * turned over, so that neighbours find their words side by side. */
typedef struct halo_transposed {
  const halo_integer *at; /* the element's position */
  const char *lane;       /* the counter of neighbours in it */
  HALO_VEC(halo_kernel_arg) args;
  HALO_VEC(uint32_t) words; /* which are read of each, by bits */
  bool complete;            /* no other array is turned over */
} halo_transposed;

/* What is read of arrays at a counter's place and at a constant's distance from it. */
typedef struct halo_neighbours {
  const halo_integer *counter;
  HALO_VEC(const char *) args; /* of each array that was read so */
  HALO_VEC(int64_t) at;        /* where it was first */
  bool several;                /* of some array, more than one element */
} halo_neighbours;

typedef struct halo_emitter {
  halo_arena *arena; /* of the whole lowering; everything below lives in it */
  halo_status status;
  bool wide; /* indices need 64 bits */
  bool
      vectors; /* vectors of neighbours are made, on CPUs: complex numbers are loaded part by part, small windows are
                 written out */
  bool keep_f32; /* do not round f32 results to narrower types: inside a reduction */
  bool
      ordered_names; /* arguments are named in the order of their use, not by what they are: so that kernels which
                         have others in the same places have equal texts */
  halo_neighbours *neighbours; /* not NULL: what is read is noted there */
  const char
      *origin; /* not NULL: 0, which compilers do not know, to be added to places that are read */
  bool has_loops;        /* the body so far, as in halo_kernel_facts */
  bool has_arrays;       /* likewise, in private memory, */
  int64_t private_bytes; /* and what they take; of all bodies */
  int64_t
      private_most; /* that they may take: other arrays are pieces of a HALO_ROLE_ITEM; 0: any number */
  bool
      own_constants; /* small array constants stand in the body: a function that gets no arguments */
  halo_breaks
      *breaks; /* not NULL: tests that ask a counter alone are noted there as they are written */
  halo_transposed *
      transposed; /* not NULL: what is read so is noted, and read where it is when it has been turned over: in vectors
                           called by the argument's name and "_turned" */
  halo_sections sections;
  HALO_VEC(halo_kernel_arg) args;
  halo_strbuf body;
  halo_integers integers; /* index arithmetic of the body */
  /* the emitter's own */
  const emit_rules *rules;
  int indent;
  int32_t next_name, next_index, next_frame;
  int64_t written;  /* how often compilers write out what is emitted now; 0: once */
  halo_map memo;    /* key -> box, see emitter.c */
  halo_map indices; /* coordinates -> emit_index */
  HALO_VEC(emit_undo) undo;
  HALO_VEC(int32_t) scopes;
  int32_t depth;
} halo_emitter;

/* An emitter for code over `computation` (decides the index width, as HALO_WIDE_INDICES may). */
void halo_emitter_init(halo_emitter *e, halo_arena *arena, const halo_computation *computation);
void halo_emitter_deinit(halo_emitter *e);
/* Starts another function body over the same computation: clears the body, the memo, the integers and
 * the scopes; arguments and sections stay. */
void halo_emitter_restart(halo_emitter *e);

/* "int" or "long". */
const char *halo_emitter_index_type(const halo_emitter *e);

/* A statement line with the right indentation. */
void halo_emit_line(halo_emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Scopes: values computed inside are forgotten at the close. Those of loops ("for (...)") and of branches ("if (x)",
 * "else") note what they are. */
void halo_emit_open(halo_emitter *e);
void halo_emit_loop(halo_emitter *e, const char *header);
void halo_emit_branch(halo_emitter *e, const char *header);
/* Declares an array in private memory, of `count` elements of `size` bytes. */
void halo_emit_array(halo_emitter *e, const char *type, const char *name, int64_t count,
                     size_t size);
void halo_emit_close(halo_emitter *e);

/* The argument for a buffer, added when it is not there yet; its pointer's name is returned. */
const char *halo_emit_arg(halo_emitter *e, halo_role role, int32_t index, halo_type type,
                          const halo_literal *literal);

/* The argument for a value of a type (integers of 32 or 64 bits), added when it is not there yet; its
 * name is returned. `number` is that of a HALO_VALUE_NUMBER: it is no part of the text, so that kernels
 * that differ in nothing else are one. */
const char *halo_emit_value_arg(halo_emitter *e, halo_argument_value what, halo_type type,
                                int64_t number);
/* One more argument, of the index type, for a number, even where another has the same: kernels in which the two differ
 * have the same text then. */
const char *halo_emit_number_arg(halo_emitter *e, int64_t number);

/* An argument for memory of which each work item has a piece of `count` elements of a type, as they are computed, and where
 * the piece begins: an expression. */
const char *halo_emit_item_memory(halo_emitter *e, halo_type type, int64_t count);

/* How many elements, of `size` bytes each, an array in private memory is declared with that needs `count`: at least
 * 64 bytes, as templates do by adding so many. LLVM (15 at least) makes vectors of a loop over an array that are
 * longer than the array is, where the loop's bound is computed, and never gets to them; but from an access longer
 * than the array it concludes that no access touches it, and reads old values in other loops. */
int64_t halo_private_room(int64_t count, size_t size);

/* ---- Indices ---- */

/* A C variable of the index type that is in [0, size), declared by the caller. */
const halo_integer *halo_emit_counter(halo_emitter *e, const char *name, int64_t size);
/* An integer as an expression that may stand in brackets, be assigned or returned; what it needs is
 * put into variables of the scope at hand. */
const char *halo_emit_integer(halo_emitter *e, const halo_integer *a);

/* The index of an element of `dims` by its coordinates. */
emit_index *halo_index_of(halo_emitter *e, int rank, const int64_t *dims,
                          const halo_integer *const *at);
/* The index of a scalar. */
emit_index *halo_index_scalar(halo_emitter *e);
/* By the position in an array of this shape and layout. */
emit_index *halo_index_from_position(halo_emitter *e, const halo_shape *shape,
                                     const halo_integer *position);
/* Coordinate d, and the position under the shape's layout. */
const halo_integer *halo_index_at(const emit_index *index, int d);
const halo_integer *halo_index_position(halo_emitter *e, const emit_index *index,
                                        const halo_shape *shape);

/* ---- Values ---- */

/* The frame of the fused computation itself: its parameters are kernel arguments. */
emit_frame *halo_frame_kernel(halo_emitter *e, const halo_computation *computation);
/* Makes `instr` leaf `leaf` in `frame` mean this value at every index: a fast kernel's accumulator in
 * its epilogue. */
void halo_frame_bind(halo_emitter *e, emit_frame *frame, const halo_instr *instr, int32_t leaf,
                     halo_value value);

/* The same at one index, in the scope at hand. */
void halo_frame_bind_at(halo_emitter *e, emit_frame *frame, const halo_instr *instr, int32_t leaf,
                        const emit_index *index, halo_value value);

/* The value of a leaf of an instruction at an index. */
halo_value halo_emit_value(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                           int32_t leaf, emit_index *index);
/* The value that lies in a buffer argument at a position, and storing it there. */
halo_value halo_emit_load(halo_emitter *e, const char *arg, halo_type type,
                          const halo_integer *position);
void halo_emit_store(halo_emitter *e, const char *arg, const halo_integer *position,
                     halo_value value);
/* Converts between element types, with the rounding and saturation that XLA's convert has. */
halo_value halo_emit_convert(halo_emitter *e, halo_value value, halo_type to);
/* Applies a computation to scalar values (one a parameter leaf): results[leaf of its root]. Arrays inside of
 * it that must be held lie in private memory. */
void halo_emit_apply(halo_emitter *e, const halo_computation *computation, const halo_value *values,
                     halo_value *results);
/* The value that a scalar instruction of such a computation has then. */
halo_value halo_emit_inner(halo_emitter *e, const halo_computation *computation,
                           const halo_value *values, const halo_instr *instr);

/* Start index `d` of a dynamic-slice or -update-slice whose start operands begin at operand `first`,
 * clamped to [0, most]. */
const halo_integer *halo_emit_start(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                    int32_t first, int d, int64_t most);

/* The test that a start index of a window lies in [0, most]. */
const char *halo_emit_start_test(halo_emitter *e, halo_value start, int64_t most);

/* Whether the emitter can compute this instruction (its called computations included); otherwise a
 * message is recorded naming instruction and line. Non-scalar while and conditional, for example,
 * are steps of a plan, not code, unless they stand in a called computation. */
halo_status halo_emitter_check(const halo_instr *instr);
/* Whether it can apply the computations that an instruction calls. */
halo_status halo_emitter_check_called(const halo_instr *instr);
/* Whether the window of a convolution is so small that its products are written one by one, where neighbours are made
 * vectors of. */
bool halo_emitter_unrolls(const halo_instr *convolution);
/* So many elements of a sum within an element, and fewer, compilers are asked to write out, for the same; and so many in all, where sums
 * are nested. */
enum { HALO_WRITTEN_OUT = 8, HALO_WRITTEN_OUT_NESTED = 16 };

#endif

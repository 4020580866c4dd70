/* codegen/emitter.h: OpenCL C for "element of this instruction at this index".
 *
 * Index expressions travel down from a root through broadcasts, transposes, slices, ... to the
 * parameters of a fused computation; values travel up. Any tree of such ops becomes straight code;
 * ops that cooperate (reduce, dot, scalar while and conditional) become loops, so that everything the
 * emitter takes can be computed element by element: it is the general implementation of every op,
 * and the prologue and epilogue of the fast kernels.
 *
 * One emitter writes one OpenCL C function body. The first error sticks (halo_emitter.status); calls
 * after it are harmless. */
#ifndef HALO_CODEGEN_EMITTER_H
#define HALO_CODEGEN_EMITTER_H

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "codegen/prelude.h"
#include "hlo/hlo.h"

/* Where a kernel's buffer comes from. */
typedef enum halo_role {
  HALO_ROLE_INPUT,  /* `index`: number of a parameter of the fused computation, or rather of its
                        leaf, counted over all parameters */
  HALO_ROLE_CONST,  /* `literal`: an array constant that became a buffer */
  HALO_ROLE_OUTPUT, /* `index`: leaf of the root */
  HALO_ROLE_SCRATCH /* `index`: a kernel family's own; `bytes` says how much */
} halo_role;

/* One buffer argument: in OpenCL C a pointer and an element offset. The same list makes the signature
 * and, on the host, the clSetKernelArg calls. */
typedef struct halo_kernel_arg {
  halo_role role;
  int32_t index;
  const halo_literal *literal;
  halo_type type;
  const char *name; /* of the pointer in OpenCL C */
} halo_kernel_arg;

typedef struct emit_frame emit_frame;
typedef struct emit_index emit_index;

/* An undone entry of the scope log. */
typedef struct emit_undo {
  const void **slot;
  const void *old;
} emit_undo;

typedef struct halo_emitter {
  halo_arena *arena; /* of the whole lowering; everything below lives in it */
  halo_status status;
  bool wide;     /* indices need 64 bits */
  bool keep_f32; /* do not round f32 results to narrower types: inside a reduction */
  halo_sections sections;
  HALO_VEC(halo_kernel_arg) args;
  halo_strbuf body;
  int indent;
  int32_t next_name, next_index, next_frame;
  halo_map memo; /* key -> box, see emitter.c */
  HALO_VEC(emit_undo) undo;
  HALO_VEC(int32_t) scopes;
  int32_t depth;
} halo_emitter;

/* An emitter for code over `computation` (decides the index width, as HALO_WIDE_INDICES may). */
void halo_emitter_init(halo_emitter *e, halo_arena *arena, const halo_computation *computation);
void halo_emitter_deinit(halo_emitter *e);
/* Starts another function body over the same computation: clears the body, the memo and the scopes;
 * arguments and sections stay. */
void halo_emitter_restart(halo_emitter *e);

/* "int" or "long". */
const char *halo_emitter_index_type(const halo_emitter *e);

/* A statement line with the right indentation. */
void halo_emit_line(halo_emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Scopes: values computed inside are forgotten at the close. `header` is e.g. "if (x)"; NULL: none. */
void halo_emit_open(halo_emitter *e, const char *header);
void halo_emit_close(halo_emitter *e);

/* The argument for a buffer, added when it is not there yet; its pointer's name is returned. */
const char *halo_emit_arg(halo_emitter *e, halo_role role, int32_t index, halo_type type,
                          const halo_literal *literal);

/* ---- Indices ---- */

/* The index of an element of `dims` by its coordinates (expressions). */
emit_index *halo_index_of(halo_emitter *e, int rank, const int64_t *dims, const char *const *at);
/* By its position (an expression) in an array of this shape and layout. */
emit_index *halo_index_from_position(halo_emitter *e, const halo_shape *shape,
                                     const char *position);
/* Coordinate d as an expression, and the position under the shape's layout. */
const char *halo_index_at(halo_emitter *e, emit_index *index, int d);
const char *halo_index_position(halo_emitter *e, emit_index *index, const halo_shape *shape);

/* Integer arithmetic on index expressions, folded where constant. Operands of div and mod must not
 * be negative; `by` is a positive constant. */
const char *halo_int(halo_emitter *e, int64_t value);
const char *halo_int_add(halo_emitter *e, const char *a, const char *b);
const char *halo_int_mul(halo_emitter *e, const char *a, int64_t by);
const char *halo_int_div(halo_emitter *e, const char *a, int64_t by);
const char *halo_int_mod(halo_emitter *e, const char *a, int64_t by);
/* An expression put into a variable (or found again, when the same text already is in one). */
const char *halo_int_name(halo_emitter *e, const char *expr);
bool halo_int_is_constant(const char *expr, int64_t *value);

/* ---- Values ---- */

/* The frame of the fused computation itself: its parameters are kernel arguments. */
emit_frame *halo_frame_kernel(halo_emitter *e, const halo_computation *computation);
/* A frame whose (scalar or tuple-of-scalar) parameters are these expressions, one a leaf in order. */
emit_frame *halo_frame_values(halo_emitter *e, const halo_computation *computation,
                              const char *const *values);
/* Makes `instr` leaf `leaf` in `frame` mean this expression at every index: a fast kernel's
 * accumulator in its epilogue. */
void halo_frame_bind(halo_emitter *e, emit_frame *frame, const halo_instr *instr, int32_t leaf,
                     const char *value);

/* The value (a name or literal of the compute type) of a leaf of an instruction at an index. */
const char *halo_emit_value(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                            int32_t leaf, emit_index *index);
/* Stores a value to a buffer argument at a position. */
void halo_emit_store(halo_emitter *e, const char *arg, halo_type type, const char *position,
                     const char *value);
/* Applies a computation on scalars to values (one a parameter leaf): results[leaf of its root]. */
void halo_emit_apply(halo_emitter *e, const halo_computation *computation,
                     const char *const *values, const char **results);

/* Start index `d` of a dynamic-slice or -update-slice whose start operands begin at operand `first`,
 * clamped to [0, most]. */
const char *halo_emit_start(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                            int32_t first, int d, int64_t most);

/* Whether the emitter can compute this instruction (its called computations included); otherwise a
 * message is recorded naming instruction and line. Non-scalar while and conditional, for example,
 * are steps of a plan, not code. */
halo_status halo_emitter_check(const halo_instr *instr);

/* ---- Kept for the emitter's own files ---- */
const char *emit_name(halo_emitter *e, const char *prefix);
void emit_fail(halo_emitter *e, halo_status status);
const void *emit_memo_get(halo_emitter *e, const void *key, size_t size);
void emit_memo_set(halo_emitter *e, const void *key, size_t size, const void *value);
void emit_remember(halo_emitter *e, const void **slot, const void *value);
/* Declares a variable of an element type's compute type with a value; returns its name. */
const char *emit_declare(halo_emitter *e, halo_type type, const char *expr);

struct emit_frame {
  int32_t id;
  const halo_computation *computation;
  bool is_kernel;
  const char *const *values; /* per parameter leaf, when not the kernel's frame */
};

struct emit_index {
  int32_t id, rank;
  const int64_t *dims;
  const char **at;      /* [rank], entries NULL until they are needed */
  const char *linear;   /* row-major position, or NULL until it is needed */
  const char *physical; /* position under `order`, or NULL */
  const int32_t *order; /* minor-to-major of `physical` */
};

/* movement.c: the operand index of a data-movement op. cooperative.c: ops that become loops. */
const char *emit_movement(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                          emit_index *index);
void emit_cooperative(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                      emit_index *index, const char **leaves);
bool emit_is_movement(halo_opcode opcode);
bool emit_is_cooperative(halo_opcode opcode);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/describe.h: a dot-general seen as batched matrix products [b,m,k] x [b,k,n]. */
#ifndef HALO_KERNELS_DOT_DESCRIBE_H
#define HALO_KERNELS_DOT_DESCRIBE_H

#include "hlo/dot.h"
#include "kernels/kernels.h"

/* The dimensions of an operand that play one part, slowest first. */
typedef struct halo_dot_group {
  int count;
  int dims[HALO_MAX_RANK];
  int64_t size; /* product of their extents */
  /* When the operand is a plain parameter whose dimensions of this group follow each other in memory:
   * the distance in elements from one to the next. -1 otherwise. */
  int64_t stride;
} halo_dot_group;

typedef struct halo_dot_side {
  const halo_instr *operand;
  bool is_parameter;
  halo_dot_group batch, free, contract;
} halo_dot_side;

typedef struct halo_dot_desc {
  const halo_instr *dot;
  halo_dot_side lhs, rhs;
  int64_t batch, m, n, k;
  halo_type result;      /* element type */
  halo_type accumulator; /* f32 for narrower floats, 32 bits for narrower integers */
  bool made_real;        /* halo_dot_make_real made it */
} halo_dot_desc;

void halo_dot_describe(const halo_instr *dot, halo_dot_desc *out);
/* Makes of a product of complex matrices one of real ones: rows of A hold the real and the imaginary part of each
 * element side by side, as memory does, so do those of the result, and each element of B is a square of four, whose
 * lower row is the upper one times i. Then n and k are twice as large, the accumulator is the type of a part, and
 * strides are counted in parts; they are -1 where that cannot be said. Does nothing to other products. */
void halo_dot_make_real(halo_dot_desc *desc);

/* The element (batch, line, k) of a side as an accumulator value; in parts, of the real matrix. */
halo_value halo_dot_element(halo_emitter *e, emit_frame *frame, const halo_dot_desc *desc, bool rhs,
                            const halo_integer *batch, const halo_integer *line,
                            const halo_integer *k);
/* Result element (batch, row, column) as an index of the dot's shape. */
emit_index *halo_dot_result_index(halo_emitter *e, const halo_dot_desc *desc,
                                  const halo_integer *batch, const halo_integer *row,
                                  const halo_integer *column);

/* Elements of the result's memory from a row, or a column, to the next; -1 where that is not the same everywhere. */
typedef struct halo_dot_strides {
  int64_t row, column;
} halo_dot_strides;
halo_dot_strides halo_dot_result_strides(const halo_dot_desc *desc);

/* Whether elements of an operand lie at fixed distances along all three directions. */
bool halo_dot_is_strided(const halo_dot_side *side);
/* Whether steps along the contracted dimension all lie on the same few places of the caches. */
bool halo_dot_steps_collide(const halo_dot_desc *v, const halo_dot_side *side);

#endif

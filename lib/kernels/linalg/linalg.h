/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/linalg.h: what kernels on batches of matrices have in common. A matrix is the last two dimensions
 * of an array; the others number it. */
#ifndef HALO_KERNELS_LINALG_LINALG_H
#define HALO_KERNELS_LINALG_LINALG_H

#include "kernels/helpers.h"

/* The type that is computed in: f32 for narrow floats. */
halo_type halo_linalg_type(halo_type type);
/* How many pieces of b hold a. */
static inline int64_t halo_linalg_pieces(int64_t a, int64_t b) { return (a + b - 1) / b; }
/* How many matrices an array holds. */
int64_t halo_linalg_batch(const halo_shape *shape);
/* An element of a matrix operand, in the type that is computed in. */
halo_value halo_linalg_element(halo_emitter *e, emit_frame *frame, const halo_instr *operand,
                               const halo_integer *batch, const halo_integer *row,
                               const halo_integer *column);
/* Begins a kernel that computes in a type; `wide` as in halo_helpers_begin. */
void halo_linalg_begin(halo_helpers *p, halo_lowering *l, const char *name, halo_type type,
                       bool wide);
/* Ends the body of a helper that stores v, of type `type`, at an element of the hero's result. */
void halo_linalg_store(halo_emitter *e, const halo_shape *result, halo_type type,
                       const halo_integer *batch, const halo_integer *row,
                       const halo_integer *column);
/* How many elements of a type of `halo_linalg_type` a vector of a CPU holds; no more than it takes for
 * `wanted` of them. */
int halo_linalg_lanes(const halo_caps *caps, halo_type type, int64_t wanted);
/* The holes for vectors of `lanes` elements: H_V, H_W (how many), H_LOADV(space, p) and H_STOREV(v, space, p)
 * by the address space of p, H_LESS(c, a, b) (c - a b of an element a and vectors), H_PLUS(c, a, b) (c + conj(a) b of
 * vectors). */
void halo_linalg_vector_holes(halo_helpers *p, halo_template *k, halo_type type, int lanes);
/* The holes for arithmetic: H_T, H_R (its real part's type), H_RE(v), H_CONJ(v), H_NAN, H_SUBMUL(c, a, b)
 * (c - a b), H_DIV(a, b). */
void halo_linalg_holes(halo_helpers *p, halo_template *k, halo_type type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/lapack.h: what custom calls of LAPACK's routines compute, by the names that JAX has for them on CPUs, where
 * kernels do the same for small matrices. */
#ifndef HALO_HLO_LAPACK_H
#define HALO_HLO_LAPACK_H

#include "hlo/hlo.h"

typedef enum halo_lapack_routine {
  HALO_LAPACK_GETRF, /* a -> (its factors L and U, pivots counted from 1, info) */
  HALO_LAPACK_POTRF, /* a -> (the factor in one triangle of it, info) */
  HALO_LAPACK_GEQRF, /* a -> (R and the reflectors below it, their factors) */
  HALO_LAPACK_ORGQR  /* (reflectors, their factors) -> Q */
} halo_lapack_routine;

enum {
  HALO_LAPACK_OWN = 64 << 10
}; /* bytes of a matrix that a work item of a CPU holds in its private memory */

/* A batch of problems with matrices of `rows` x `columns`, the last two dimensions of the call's first operand. */
typedef struct halo_lapack_desc {
  halo_lapack_routine routine;
  halo_type type; /* f32, f64, c64 or c128 */
  int64_t batch, rows, columns;
  int64_t steps; /* pivots, columns of the factor, or reflectors */
  bool lower;    /* potrf: the triangle */
} halo_lapack_desc;

/* Whether a call is one of these, with arrays of the right types and extents, and the name means LAPACK: nobody has
 * registered another function under it. Layouts are not looked at. */
bool halo_lapack_describe(const halo_instr *call, halo_lapack_desc *out);
/* Additions and multiplications of one matrix, roughly, by real numbers. */
double halo_lapack_operations(const halo_lapack_desc *v);
/* Whether it makes or applies reflectors, several columns of which fit into a work item's private memory on CPUs. */
bool halo_lapack_has_short_reflectors(const halo_lapack_desc *v);
/* Whether the matrix is small enough for a kernel. Whether that or the host's LAPACK takes less is for the family
 * lapack to say (kernels/linalg). */
bool halo_lapack_is_small(const halo_lapack_desc *v, const halo_target *target);
/* Whether the host has a function for this call. */
bool halo_lapack_is_installed(const halo_instr *call);
/* Whether it has LAPACK's functions at all. */
bool halo_lapack_has_library(void);

#endif

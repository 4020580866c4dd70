/* SPDX-License-Identifier: Apache-2.0 */
/* tools/compare.h: results against expected ones. */
#ifndef HALO_TOOLS_COMPARE_H
#define HALO_TOOLS_COMPARE_H

#include "halo/literal.h"

typedef struct compare_request {
  const char *path;  /* .npz, .npy (one result), or a folder of out0.npy, out1.npy, ... */
  double rtol, atol; /* negative: by element type */
} compare_request;

/* Reads the expected values and prints a table; elements agree when they are both NaN, or equal, or
 * differ by at most atol + rtol * |expected|. An exit code, TOOL_FAILED also for a difference. */
int compare_results(const compare_request *request, halo_literal *const *results, int count);

typedef struct compare_stats {
  int64_t different, worst;        /* how many elements; the position of the worst of them */
  double absolute, relative, ulps; /* the largest */
  double excess;                   /* of the worst, over what is allowed */
} compare_stats;

/* The relative tolerance of an element type when none is given; 0: exactly equal. The absolute one is a tenth of it. */
double compare_default_rtol(halo_type type);
/* Compares two arrays of one shape. */
compare_stats compare_arrays(const halo_literal *got, const halo_literal *expected, double rtol,
                             double atol);

#endif

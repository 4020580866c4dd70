/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_inner.cl: the sum of conj(a) b over `count` elements, whole vectors.
 *
 * Holes: H_NAME; vectors and arithmetic as in kernels/linalg/linalg.h. */
#ifndef H_NAME
#define H_NAME lapack_inner_function
#include "linalg_defaults.clh"
#endif

static __attribute__((min_vector_width(512), noinline)) H_T H_NAME(const H_T *a, const H_T *b,
                                                                   const int count) {
  H_T lanes[H_W];
  H_V sum = 0;
  _Pragma("clang loop unroll(disable)") for (int i = 0; i < count; i += H_W) {
    const H_V x = H_LOADV(__private, a + i), y = H_LOADV(__private, b + i);
    sum = H_PLUS(sum, x, y);
  }
  H_STOREV(sum, __private, lanes);
#pragma unroll
  for (int n = H_W / 2; n > 0; n /= 2) {
#pragma unroll
    for (int q = 0; q < n; ++q) lanes[q] += lanes[q + n];
  }
  return lanes[0];
}

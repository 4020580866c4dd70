/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_apply.cl: applies H_B reflectors I - tau u u^H to columns of a matrix, in the order in which they stand:
 * what each takes of a column depends on what those before it took, which inner products of the u say, so that the
 * column is read twice for all of them.
 *
 * w is the matrix from the row on in which the first u begins, H_S elements a row; u has H_L elements each, `rows`
 * of which count; taus and inner, H_B by H_B, u_b^H u_c for c < b. Columns from `first` on, a multiple of H_NV vectors.
 *
 * Holes: H_NAME; H_SPACE, of w; H_B, H_S, H_L, H_NV; H_IS_ZERO(v); vectors and arithmetic as in kernels/linalg/linalg.h. */
#ifndef H_NAME
#define H_NAME lapack_apply_function
#include "linalg_defaults.clh"
#define H_SPACE __global
#define H_B 4
#define H_NV 2
#define H_S 16
#define H_L 12
#endif

static __attribute__((min_vector_width(512), noinline)) void H_NAME(
    H_SPACE H_T *restrict w, const H_T *restrict u, const H_T *restrict taus,
    const H_T *restrict inner, const int rows, const int first) {
  for (int j = first; j < H_S; j += H_NV * H_W) {
    H_V t[H_B][H_NV];
#pragma unroll
    for (int b = 0; b < H_B; ++b) {
#pragma unroll
      for (int q = 0; q < H_NV; ++q) t[b][q] = 0;
    }
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int q = 0; q < H_NV; ++q) {
        const H_V x = H_LOADV(H_SPACE, w + i * H_S + j + q * H_W);
#pragma unroll
        for (int b = 0; b < H_B; ++b) {
          const H_T a = H_CONJ(u[b * H_L + i]);
          t[b][q] = H_LESS(t[b][q], a, x);
        }
      }
    }
#pragma unroll
    for (int b = 0; b < H_B; ++b) {
      const H_T tau = taus[b];
      const bool none = H_IS_ZERO(tau);
#pragma unroll
      for (int q = 0; q < H_NV; ++q) {
#pragma unroll
        for (int c = 0; c < b; ++c) {
          const H_T a = -inner[b * H_B + c];
          t[b][q] = H_LESS(t[b][q], a, t[c][q]);
        }
        t[b][q] = none ? (H_V)0 : H_LESS((H_V)0, tau, t[b][q]); /* 0 inf is none too */
      }
    }
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int q = 0; q < H_NV; ++q) {
        H_SPACE H_T *const at = w + i * H_S + j + q * H_W;
        H_V x = H_LOADV(H_SPACE, at);
#pragma unroll
        for (int b = 0; b < H_B; ++b) {
          const H_T a = u[b * H_L + i];
          x = H_LESS(x, a, t[b][q]);
        }
        H_STOREV(x, H_SPACE, at);
      }
    }
  }
}

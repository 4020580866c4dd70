/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_q.cl: the first columns of the product of reflectors I - tau v v^H, as LAPACK's orgqr and ungqr
 * make them of what geqrf leaves. A work item has a matrix to itself, in private memory (H_ALONE 1), or a work group
 * has one in local memory.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_A(b, i, j) elements, H_FACTOR(b, k) tau; H_OUT(b, i, j, v) results; H_M x H_N
 * extents, H_K reflectors; H_BATCH matrices;
 * H_AT(i, j) where an element lies, H_BARRIER what a group waits at; H_X, H_Y the work group; H_INT; arithmetic as in kernels/linalg/linalg.h,
 * H_MUL(a, b), H_REAL(r) a real number as one of the matrix, H_IS_ZERO(v). */
#ifndef H_NAME
#define H_NAME lapack_q_example
#include "linalg_defaults.clh"
#define H_PARAMS __global const float *A_, __global const float *T_, __global float *Q_
#define H_POINTERS
#define H_A(b, i, j) A_[((b)*H_M + (i)) * H_N + (j)]
#define H_FACTOR(b, k) T_[(b)*H_K + (k)]
#define H_OUT(b, i, j, v) Q_[((b)*H_M + (i)) * H_N + (j)] = (v)
#define H_M 10
#define H_N 9
#define H_K 7
#define H_BATCH 2
#define H_ALONE 0
#define H_BARRIER barrier(CLK_LOCAL_MEM_FENCE);
#define H_AT(i, j) ((i) * (H_N + 1) + (j))
#define H_X 8
#define H_Y 4
#endif

#include "lapack_matrix.clh"
#if H_ALONE
  H_T sums[H_N + 64 / sizeof(H_T)];
#else
  __local H_T sums[H_N];
#endif
  for (int i = 0; i < H_M; ++i) {
    for (int j = item; j < H_N; j += H_X * H_Y) {
      const bool below = j < H_K && i > j;
      w[H_AT(i, j)] = below ? H_A(batch, i, j) : H_REAL(i == j ? 1 : 0);
    }
  }
  for (int k = H_K - 1; k >= 0; --k) {
    H_BARRIER
    const H_T tau = H_FACTOR(batch, k);
    if (!H_IS_ZERO(tau)) {
      for (int j = k + 1 + item; j < H_N; j += H_X * H_Y) sums[j] = w[H_AT(k, j)];
      for (int i = k + 1; i < H_M; ++i) {
        const H_T v = H_CONJ(w[H_AT(i, k)]);
        for (int j = k + 1 + item; j < H_N; j += H_X * H_Y) sums[j] += H_MUL(v, w[H_AT(i, j)]);
      }
      for (int j = k + 1 + item; j < H_N; j += H_X * H_Y) {
        sums[j] = H_MUL(tau, sums[j]);
        w[H_AT(k, j)] -= sums[j];
      }
      for (int i = k + 1; i < H_M; ++i) {
        const H_T v = w[H_AT(i, k)];
        for (int j = k + 1 + item; j < H_N; j += H_X * H_Y) {
          w[H_AT(i, j)] = H_SUBMUL(w[H_AT(i, j)], v, sums[j]);
        }
      }
    }
    H_BARRIER
    for (int i = k + item; i < H_M; i += H_X * H_Y) {
      w[H_AT(i, k)] = i == k ? H_REAL(1) - tau : H_MUL(-tau, w[H_AT(i, k)]);
    }
  }
  H_BARRIER
  for (int i = 0; i < H_M; ++i) {
    for (int j = item; j < H_N; j += H_X * H_Y) H_OUT(batch, i, j, w[H_AT(i, j)]);
  }
}

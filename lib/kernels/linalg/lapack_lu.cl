/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_lu.cl: P A = L U of small matrices with partial pivoting, as LAPACK's getrf has it: the pivot is the
 * first of the largest numbers of a column (|re| + |im| of complex ones), and info the first column whose pivot is 0,
 * by which nothing is divided. A work item has a matrix to itself, in private memory (H_ALONE 1), or a work group has
 * one in local memory.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_A(b, i, j) elements; H_OUT(b, i, j, v), H_PIVOT(b, k, v), H_INFO(b, v)
 * results; H_M x H_N extents, H_K the smaller one; H_BATCH matrices;
 * H_AT(i, j) where an element lies, H_BARRIER what a group waits at; H_X, H_Y the work group; H_INT; arithmetic as in
 * kernels/linalg/linalg.h, H_SIZE(v) what pivots are compared by, H_IS_ZERO(v). */
#ifndef H_NAME
#define H_NAME lapack_lu_example
#include "linalg_defaults.clh"
#define H_PARAMS __global const float *A_, __global float *L_, __global int *P_, __global int *I_
#define H_POINTERS
#define H_A(b, i, j) A_[((b)*H_M + (i)) * H_N + (j)]
#define H_OUT(b, i, j, v) L_[((b)*H_M + (i)) * H_N + (j)] = (v)
#define H_PIVOT(b, k, v) P_[(b)*H_K + (k)] = (v)
#define H_INFO(b, v) I_[b] = (v)
#define H_M 10
#define H_N 9
#define H_K 9
#define H_BATCH 2
#define H_ALONE 0
#define H_BARRIER barrier(CLK_LOCAL_MEM_FENCE);
#define H_AT(i, j) ((i) * (H_N + 1) + (j))
#define H_X 8
#define H_Y 4
#endif

#include "lapack_matrix.clh"
  for (int i = ly; i < H_M; i += H_Y) {
    for (int j = lx; j < H_N; j += H_X) w[H_AT(i, j)] = H_A(batch, i, j);
  }
  int info = 0;
  for (int k = 0; k < H_K; ++k) {
    H_BARRIER
    int pivot = k;
    H_R most = H_SIZE(w[H_AT(k, k)]);
    for (int i = k + 1; i < H_M; ++i) {
      const H_R size = H_SIZE(w[H_AT(i, k)]);
      if (size > most) {
        most = size;
        pivot = i;
      }
    }
    const H_T top = w[H_AT(pivot, k)];
    const bool zero = H_IS_ZERO(top);
    if (zero && info == 0) info = k + 1;
    if (item == 0) H_PIVOT(batch, k, pivot + 1);
    H_BARRIER
    if (pivot != k) {
      for (int j = item; j < H_N; j += H_X * H_Y) {
        const H_T upper = w[H_AT(k, j)];
        w[H_AT(k, j)] = w[H_AT(pivot, j)];
        w[H_AT(pivot, j)] = upper;
      }
    }
    H_BARRIER
    if (!zero) {
      for (int i = k + 1 + item; i < H_M; i += H_X * H_Y) {
        w[H_AT(i, k)] = H_DIV(w[H_AT(i, k)], top);
      }
    }
    H_BARRIER
    for (int i = k + 1 + ly; i < H_M; i += H_Y) {
      const H_T factor = w[H_AT(i, k)];
      for (int j = k + 1 + lx; j < H_N; j += H_X) {
        w[H_AT(i, j)] = H_SUBMUL(w[H_AT(i, j)], factor, w[H_AT(k, j)]);
      }
    }
  }
  H_BARRIER
  for (int i = ly; i < H_M; i += H_Y) {
    for (int j = lx; j < H_N; j += H_X) H_OUT(batch, i, j, w[H_AT(i, j)]);
  }
  if (item == 0) H_INFO(batch, info);
}

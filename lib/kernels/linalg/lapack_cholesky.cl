/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_cholesky.cl: Cholesky factors of small matrices as LAPACK's potrf has them: one triangle is read
 * and written, the other one stays; info is the first column that has no factor, where the work ends: what comes behind
 * stays too. A work item has a matrix to itself, in private memory (H_ALONE 1), or a work group has one in local
 * memory, where row k is column k of the lower factor, so that neighbours are written together.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_A(b, i, j) elements; H_OUT(b, i, j, v), H_INFO(b, v) results; H_N extent;
 * H_LOWER 1: the lower triangle, else the upper one; H_BATCH matrices;
 * H_AT(i, j) where an element lies, H_BARRIER what a group waits at; H_X, H_Y the work group; H_INT; arithmetic as
 * in kernels/linalg/linalg.h, H_REAL(r) a real number as one of the matrix. */
#ifndef H_NAME
#define H_NAME lapack_cholesky_example
#include "linalg_defaults.clh"
#define H_PARAMS __global const float *A_, __global float *L_, __global int *I_
#define H_POINTERS
#define H_A(b, i, j) A_[((b)*H_N + (i)) * H_N + (j)]
#define H_OUT(b, i, j, v) L_[((b)*H_N + (i)) * H_N + (j)] = (v)
#define H_INFO(b, v) I_[b] = (v)
#define H_M 10
#define H_N 10
#define H_LOWER 1
#define H_BATCH 2
#define H_ALONE 0
#define H_BARRIER barrier(CLK_LOCAL_MEM_FENCE);
#define H_AT(i, j) ((i) * (H_N + 1) + (j))
#define H_X 8
#define H_Y 4
#endif

#include "lapack_matrix.clh"
  for (int i = ly; i < H_N; i += H_Y) {
#if H_LOWER
    for (int j = lx; j <= i; j += H_X) w[H_AT(j, i)] = H_A(batch, i, j);
#else
    for (int j = i + lx; j < H_N; j += H_X) w[H_AT(i, j)] = H_CONJ(H_A(batch, i, j));
#endif
  }
  int done = 0;
  for (; done < H_N; ++done) {
    const int k = done;
    H_BARRIER
    const H_R pivot = H_RE(w[H_AT(k, k)]);
    H_BARRIER
    if (pivot <= 0) break;
    const H_R root = sqrt(pivot);
    for (int j = k + 1 + item; j < H_N; j += H_X * H_Y) w[H_AT(k, j)] /= root;
    if (item == 0) w[H_AT(k, k)] = H_REAL(root);
    H_BARRIER
    for (int i = k + 1 + ly; i < H_N; i += H_Y) {
      const H_T factor = H_CONJ(w[H_AT(k, i)]);
      for (int j = i + lx; j < H_N; j += H_X) {
        w[H_AT(i, j)] = H_SUBMUL(w[H_AT(i, j)], factor, w[H_AT(k, j)]);
      }
    }
  }
  H_BARRIER
  for (int i = ly; i < H_N; i += H_Y) {
    for (int j = lx; j < H_N; j += H_X) {
#if H_LOWER
      const int column = j, row = i;
#else
      const int column = i, row = j;
#endif
      H_T v;
      if (column == row && column <= done) {
        v = H_REAL(H_RE(w[H_AT(row, row)]));
      } else if (column < row && column < done) {
        v = w[H_AT(column, row)];
#if !H_LOWER
        v = H_CONJ(v);
#endif
      } else {
        v = H_A(batch, i, j);
      }
      H_OUT(batch, i, j, v);
    }
  }
  if (item == 0) H_INFO(batch, done < H_N ? done + 1 : 0);
}

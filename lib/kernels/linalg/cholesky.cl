/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/cholesky.cl: Cholesky factors of small matrices, a work group each, in local memory.
 *
 * Row k of the local array is column k of the lower factor, so that neighbours write neighbouring elements.
 * The diagonal is divided by the root of its real part like the column below it, as XLA does.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_IN(b, x, y), H_OUT(b, x, y, v) elements; H_N extent; H_LOWER 1:
 * the lower triangle is read and written, else the upper one; H_X, H_Y the work group; H_INT; arithmetic
 * as in kernels/linalg/linalg.h. */
#ifndef H_NAME
#define H_NAME cholesky_example
#include "linalg_defaults.clh"
#define H_PARAMS __global const float *A_, __global float *L_
#define H_POINTERS
#define H_NAN NAN
#define H_IN(b, x, y) A_[((b)*H_N + (x)) * H_N + (y)]
#define H_OUT(b, x, y, v) L_[((b)*H_N + (x)) * H_N + (y)] = (v)
#define H_N 10
#define H_LOWER 1
#define H_X 8
#define H_Y 4
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  __local H_T w[H_N][H_N + 1];
  const int lx = (int)get_local_id(0), ly = (int)get_local_id(1);
  const H_INT batch = (H_INT)get_group_id(0);
  for (int x = ly; x < H_N; x += H_Y) {
#if H_LOWER
    for (int y = lx; y <= x; y += H_X) w[y][x] = H_IN(batch, x, y);
#else
    for (int y = x + lx; y < H_N; y += H_X) w[x][y] = H_CONJ(H_IN(batch, x, y));
#endif
  }
  bool fails = false;
  for (int k = 0; k < H_N; ++k) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const H_R root = sqrt(H_RE(w[k][k]));
    fails = fails || isnan(root);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = k + ly * H_X + lx; j < H_N; j += H_X * H_Y) w[k][j] /= root;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = k + 1 + ly; i < H_N; i += H_Y) {
      const H_T factor = H_CONJ(w[k][i]);
      for (int j = i + lx; j < H_N; j += H_X) w[i][j] = H_SUBMUL(w[i][j], factor, w[k][j]);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int x = ly; x < H_N; x += H_Y) {
    for (int y = lx; y < H_N; y += H_X) {
      H_T v = (H_T)0;
#if H_LOWER
      if (y <= x) v = w[y][x];
#else
      if (y >= x) v = H_CONJ(w[x][y]);
#endif
      if (fails) v = H_NAN;
      H_OUT(batch, x, y, v);
    }
  }
}

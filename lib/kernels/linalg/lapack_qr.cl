/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_qr.cl: A = Q R of small matrices by reflectors I - tau v v^H, as LAPACK's geqrf has them: R, and
 * below it the vectors v without their first element, which is 1; tau is 0 where there is nothing below to take away.
 * A work item has a matrix to itself, in private memory (H_ALONE 1), or a work group has one in local memory.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_A(b, i, j) elements; H_OUT(b, i, j, v), H_TAU(b, k, v) results; H_M x H_N
 * extents, H_K the smaller one; H_LEAST the least sum of squares that is exact enough; H_BATCH matrices;
 * H_AT(i, j) where an element lies, H_BARRIER what a group waits at; H_X, H_Y the
 * work group; H_INT; arithmetic as in kernels/linalg/linalg.h, H_IM(v), H_MUL(a, b), H_MAKE(re, im). */
#ifndef H_NAME
#define H_NAME lapack_qr_example
#include "linalg_defaults.clh"
#define H_PARAMS __global const float *A_, __global float *R_, __global float *T_
#define H_POINTERS
#define H_A(b, i, j) A_[((b)*H_M + (i)) * H_N + (j)]
#define H_OUT(b, i, j, v) R_[((b)*H_M + (i)) * H_N + (j)] = (v)
#define H_TAU(b, k, v) T_[(b)*H_K + (k)] = (v)
#define H_LEAST 1e-25f
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
#define QR_SQUARE(v) (H_RE(v) * H_RE(v) + H_IM(v) * H_IM(v))

#include "lapack_matrix.clh"
#if H_ALONE
  H_T sums[H_N + 64 / sizeof(H_T)];
#else
  __local H_T sums[H_N];
#endif
  for (int i = 0; i < H_M; ++i) {
    for (int j = item; j < H_N; j += H_X * H_Y) w[H_AT(i, j)] = H_A(batch, i, j);
  }
  for (int k = 0; k < H_K; ++k) {
    H_BARRIER
    const H_T alpha = w[H_AT(k, k)];
    H_R below = 0, most = H_SIZE(alpha);
    bool none = H_IM(alpha) == 0;
    for (int i = k + 1; i < H_M; ++i) {
      const H_T v = w[H_AT(i, k)];
      const H_R size = H_SIZE(v);
      none = none && size == 0;
      most = size > most ? size : most;
      below += QR_SQUARE(v);
    }
    H_R norm = below + QR_SQUARE(alpha);
    if (norm > H_LEAST && norm < INFINITY) {
      norm = sqrt(norm);
    } else if (most > 0 && most < INFINITY) {
      norm = 0;
      for (int i = k; i < H_M; ++i) {
        const H_T v = w[H_AT(i, k)] / most;
        norm += QR_SQUARE(v);
      }
      norm = most * sqrt(norm);
    }
    const H_R beta = none ? H_RE(alpha) : H_RE(alpha) < 0 ? norm : -norm;
    const H_T tau = none ? (H_T)0 : H_MAKE((beta - H_RE(alpha)) / beta, -H_IM(alpha) / beta);
    const H_T from = H_MAKE(H_RE(alpha) - beta, H_IM(alpha));
    H_BARRIER
    for (int i = k + 1 + item; i < H_M && !none; i += H_X * H_Y) {
      w[H_AT(i, k)] = H_DIV(w[H_AT(i, k)], from);
    }
    if (item == 0) {
      w[H_AT(k, k)] = H_MAKE(beta, 0);
      H_TAU(batch, k, tau);
    }
    H_BARRIER
    /* Without a reflector nothing is to be done in any column. */
    const int end = none ? 0 : H_N;
    for (int j = k + 1 + item; j < end; j += H_X * H_Y) sums[j] = w[H_AT(k, j)];
    for (int i = k + 1; i < H_M; ++i) {
      const H_T v = H_CONJ(w[H_AT(i, k)]);
      for (int j = k + 1 + item; j < end; j += H_X * H_Y) sums[j] += H_MUL(v, w[H_AT(i, j)]);
    }
    for (int j = k + 1 + item; j < end; j += H_X * H_Y) {
      sums[j] = H_MUL(H_CONJ(tau), sums[j]);
      w[H_AT(k, j)] -= sums[j];
    }
    for (int i = k + 1; i < H_M; ++i) {
      const H_T v = w[H_AT(i, k)];
      for (int j = k + 1 + item; j < end; j += H_X * H_Y) {
        w[H_AT(i, j)] = H_SUBMUL(w[H_AT(i, j)], v, sums[j]);
      }
    }
  }
  H_BARRIER
  for (int i = 0; i < H_M; ++i) {
    for (int j = item; j < H_N; j += H_X * H_Y) H_OUT(batch, i, j, w[H_AT(i, j)]);
  }
}
#undef QR_SQUARE

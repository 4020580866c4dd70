/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/triangular_solve.cl: triangular systems by substitution. A work item solves a strip of H_L
 * lines (columns of b, or its rows where x stands on the left of a) from the first unknown to the last,
 * H_ROWS of them at a time: what the unknowns before them take away is a small matrix product in registers; or,
 * H_AHEAD, these are taken away from all behind them, in the same order. The one goes along the equations' factors,
 * the other along the unknowns'.
 *
 * Unknowns lie in scratch memory in panels of H_P lines: unknown i of a line at i * H_P + its place.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS (which declare X, the scratch memory); H_A(b, i, k), k <= i, the
 * factor of unknown k in equation i; H_B(b, i, line), H_OUT(b, i, line, v); H_N unknowns, H_LINES, H_BATCH;
 * H_NV vectors a strip, with holes as in kernels/linalg/linalg.h; H_UNIT 1: the diagonal is 1
 * and not read; H_AHEAD; H_ACROSS 1: unknowns of a line are neighbours in memory, not lines;
 * H_INT; arithmetic as in kernels/linalg/linalg.h. */
#ifndef H_NAME
#define H_NAME triangular_solve_example
#include "linalg_defaults.clh"
#define H_PARAMS __global const float *A_, __global const float *B_, __global float *X_, __global float *X
#define H_POINTERS
#define H_A(b, i, k) A_[((b)*H_N + (i)) * H_N + (k)]
#define H_B(b, i, line) B_[((b)*H_N + (i)) * H_LINES + (line)]
#define H_OUT(b, i, line, v) X_[((b)*H_N + (i)) * H_LINES + (line)] = (v)
#define H_N 10
#define H_LINES 9
#define H_BATCH 2
#define H_NV 2
#define H_P 8
#define H_ROWS 3
#define H_UNIT 0
#define H_AHEAD 0
#define H_ACROSS 1
#endif
#define H_L (H_NV * H_W)
/* Elements of b in the order of memory, so that lines far apart are not fetched again for each unknown. */
#if H_ACROSS
#define SOLVE_EACH for (int q = 0; q < H_L; ++q) for (int r = 0; r < H_ROWS; ++r)
#else
#define SOLVE_EACH for (int r = 0; r < H_ROWS; ++r) for (int q = 0; q < H_L; ++q)
#endif
/* H_ROWS rows of b from i0 on, those behind the last one being that again, TO places r and q. */
#define SOLVE_LOAD(TO)                                                                             \
  _Pragma("unroll") for (int r = 0; r < H_ROWS; ++r) rows[r] = i0 + r < H_N ? i0 + r : H_N - 1;    \
  if (lines == H_L) {                                                                              \
    SOLVE_EACH TO = H_B(batch, rows[r], line + q);                                                 \
  } else {                                                                                         \
    SOLVE_EACH TO = q < lines ? H_B(batch, rows[r], line + q) : (H_T)0;                            \
  }

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT strips = (H_LINES + H_L - 1) / H_L, panels = (H_LINES + H_P - 1) / H_P;
  const H_INT item = (H_INT)get_global_id(0);
  if (item >= strips * H_BATCH) return;
  const H_INT batch = item / strips, line = item % strips * H_L;
  const int lines = H_LINES - line < H_L ? (int)(H_LINES - line) : H_L;
  __global H_T *x = X + (batch * panels + line / H_P) * H_N * H_P + line % H_P;
  H_INT rows[H_ROWS];
#if H_AHEAD
  for (H_INT i0 = 0; i0 < H_N; i0 += H_ROWS) {
    SOLVE_LOAD(x[rows[r] * H_P + q])
  }
#endif
  for (H_INT i0 = 0; i0 < H_N; i0 += H_ROWS) {
    H_V v[H_ROWS][H_NV];
    H_T lanes[H_ROWS][H_L];
#if H_AHEAD
#pragma unroll
    for (int r = 0; r < H_ROWS; ++r) {
      const H_INT i = i0 + r < H_N ? i0 + r : H_N - 1;
#pragma unroll
      for (int j = 0; j < H_NV; ++j) v[r][j] = H_LOADV(__global, x + i * H_P + j * H_W);
    }
#else
    SOLVE_LOAD(lanes[r][q])
#pragma unroll
    for (int r = 0; r < H_ROWS; ++r) {
#pragma unroll
      for (int j = 0; j < H_NV; ++j) v[r][j] = H_LOADV(__private, lanes[r] + j * H_W);
    }
    for (H_INT k = 0; k < i0; ++k) {
      H_V known[H_NV];
#pragma unroll
      for (int j = 0; j < H_NV; ++j) known[j] = H_LOADV(__global, x + k * H_P + j * H_W);
#pragma unroll
      for (int r = 0; r < H_ROWS; ++r) {
        const H_T a = H_A(batch, rows[r], k);
#pragma unroll
        for (int j = 0; j < H_NV; ++j) v[r][j] = H_LESS(v[r][j], a, known[j]);
      }
    }
#endif
#pragma unroll
    for (int r = 0; r < H_ROWS; ++r) {
      if (i0 + r < H_N) {
#pragma unroll
        for (int k = 0; k < r; ++k) {
          const H_T a = H_A(batch, i0 + r, i0 + k);
#pragma unroll
          for (int j = 0; j < H_NV; ++j) v[r][j] = H_LESS(v[r][j], a, v[k][j]);
        }
#if !H_UNIT
        const H_T pivot = H_A(batch, i0 + r, i0 + r);
#endif
#pragma unroll
        for (int j = 0; j < H_NV; ++j) {
#if !H_UNIT
          v[r][j] = H_DIV(v[r][j], pivot);
#endif
#if !H_AHEAD
          H_STOREV(v[r][j], __global, x + (i0 + r) * H_P + j * H_W);
#endif
          H_STOREV(v[r][j], __private, lanes[r] + j * H_W);
        }
      }
    }
    if (lines == H_L && i0 + H_ROWS <= H_N) {
      SOLVE_EACH H_OUT(batch, i0 + r, line + q, lanes[r][q]);
    } else {
      SOLVE_EACH if (q < lines && i0 + r < H_N) H_OUT(batch, i0 + r, line + q, lanes[r][q]);
    }
#if H_AHEAD
    for (H_INT i = i0 + H_ROWS; i < H_N; ++i) {
      H_V left[H_NV];
#pragma unroll
      for (int j = 0; j < H_NV; ++j) left[j] = H_LOADV(__global, x + i * H_P + j * H_W);
#pragma unroll
      for (int r = 0; r < H_ROWS; ++r) {
        const H_T a = H_A(batch, i, i0 + r);
#pragma unroll
        for (int j = 0; j < H_NV; ++j) left[j] = H_LESS(left[j], a, v[r][j]);
      }
#pragma unroll
      for (int j = 0; j < H_NV; ++j) H_STOREV(left[j], __global, x + i * H_P + j * H_W);
    }
#endif
  }
}
#undef H_L
#undef SOLVE_EACH
#undef SOLVE_LOAD

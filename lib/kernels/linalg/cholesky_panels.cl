/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/cholesky_panels.cl: Cholesky factors on CPUs. The factor is kept with its rows along its columns
 * (A = U^H U, for a lower one U = L^T), in panels of H_B columns: row x of panel j at x * H_B of it, as far
 * as the diagonal, so that what a product reads lies in order.
 *
 * A launch is a turn, for H_PANELS - turn work items a matrix. One finishes rows of the block before `turn`
 * in its panel: what earlier rows take away is a product of blocks in registers, then it is solved
 * with the factor on the diagonal. Whoever has panel `turn` goes on with the factor on the diagonal there.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS (which declare W, the scratch memory, unless H_PANELS is 1);
 * H_IN(b, x, y), H_OUT(b, x, y, v) elements; H_N extent; H_LOWER 1: the lower triangle is read and written,
 * else the upper one; H_PANELS panels; H_TURN the turn; H_ROWS rows and H_NV vectors in registers, which
 * divide H_B; H_INT; vectors and arithmetic as in kernels/linalg/linalg.h. */
#ifndef H_NAME
#define H_NAME cholesky_panels_example
#include "linalg_defaults.clh"
#define H_PARAMS __global const float *A_, __global float *L_, __global float *W
#define H_POINTERS
#define H_NAN NAN
#define H_IN(b, x, y) A_[((b)*H_N + (x)) * H_N + (y)]
#define H_OUT(b, x, y, v) L_[((b)*H_N + (x)) * H_N + (y)] = (v)
#define H_N 20
#define H_LOWER 1
#define H_PANELS 3
#define H_TURN (H_PANELS - (H_INT)get_global_size(0))
#define H_B 8
#define H_ROWS 4
#define H_NV 2
#endif
#define H_L (H_NV * H_W)
#define CHOLESKY_PANEL(j) ((H_INT)(H_B * H_B) * ((j) * ((j) + 1) / 2))
/* Elements of U by row and column, and rows and columns in the order of memory. */
#if H_LOWER
#define CHOLESKY_IN(x, y) H_IN(batch, y, x)
#define CHOLESKY_OUT(x, y, v) H_OUT(batch, y, x, v)
#define CHOLESKY_EACH(rows, columns) \
  for (H_INT q = 0; q < (columns); ++q) for (H_INT r = 0; r < (rows); ++r)
#else
#define CHOLESKY_IN(x, y) H_IN(batch, x, y)
#define CHOLESKY_OUT(x, y, v) H_OUT(batch, x, y, v)
#define CHOLESKY_EACH(rows, columns) \
  for (H_INT r = 0; r < (rows); ++r) for (H_INT q = 0; q < (columns); ++q)
#endif
#if H_PANELS == 1
#define H_SPACE __private
#else
#define H_SPACE __global
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT batch = (H_INT)get_global_id(1);
#if H_PANELS == 1
  H_T w[H_B * H_B + 64 / sizeof(H_T)]; /* halo_private_room says what for */
#else
  __global H_T *w = W + batch * CHOLESKY_PANEL(H_PANELS);
#endif
  const H_INT turn = H_TURN;
  const H_INT j = H_PANELS - 1 - (H_INT)get_global_id(0);
  const int columns = H_N - j * H_B < H_B ? (int)(H_N - j * H_B) : H_B;
  H_SPACE H_T *panel = w + CHOLESKY_PANEL(j);
  H_T pivots[H_B + 64 / sizeof(H_T)];
  bool fails = false;
  if (turn == 0) {
    const H_INT height = j * H_B + columns;
    if (columns < H_B) {
      for (H_INT p = 0; p < CHOLESKY_PANEL(j + 1) - CHOLESKY_PANEL(j); ++p) panel[p] = (H_T)0;
    }
    for (H_INT from = 0; from < height; from += H_B) {
      CHOLESKY_EACH(min((H_INT)H_B, height - from), columns) {
        panel[(from + r) * H_B + q] = CHOLESKY_IN(from + r, j * H_B + q);
      }
    }
    CHOLESKY_EACH(H_N - height, columns) CHOLESKY_OUT(height + r, j * H_B + q, (H_T)0);
  }
  for (H_INT i = turn > 0 ? turn - 1 : 0; i <= (j == turn ? turn : turn - 1); ++i) {
    const bool diagonal = i == j;
    const int rows = diagonal ? columns : H_B;
    /* Tiles of what the registers hold; a row of them is done on the diagonal before the next one. */
    const int down = (rows + H_ROWS - 1) / H_ROWS, across = (columns + H_L - 1) / H_L;
    H_SPACE H_T *block = panel + i * H_B * H_B;
    for (int step = 0; step < (i + 1) * down * across; ++step) {
      const H_INT p = step / (down * across);
      const int tile = step % (down * across);
      const int top = (diagonal ? tile / across : tile % down) * H_ROWS;
      const int side = (diagonal ? tile % across : tile / down) * H_L;
      if (diagonal && side + H_L <= top) continue;
      H_SPACE const H_T *left = w + CHOLESKY_PANEL(i) + p * H_B * H_B + top;
      H_SPACE const H_T *right = panel + p * H_B * H_B + side;
      H_SPACE H_T *here = block + top * H_B + side;
      H_V v[H_ROWS][H_NV];
#pragma unroll
      for (int r = 0; r < H_ROWS; ++r) {
#pragma unroll
        for (int c = 0; c < H_NV; ++c) v[r][c] = (H_V)0;
      }
      const int known_rows = p < i ? H_B : top;
      for (int k = 0; k < known_rows; ++k) {
        H_V known[H_NV];
#pragma unroll
        for (int c = 0; c < H_NV; ++c) known[c] = H_LOADV(H_SPACE, right + k * H_B + c * H_W);
#pragma unroll
        for (int r = 0; r < H_ROWS; ++r) {
          const H_T a = H_CONJ(left[k * H_B + r]);
#pragma unroll
          for (int c = 0; c < H_NV; ++c) v[r][c] = H_LESS(v[r][c], a, known[c]);
        }
      }
#pragma unroll
      for (int r = 0; r < H_ROWS; ++r) {
#pragma unroll
        for (int c = 0; c < H_NV; ++c) v[r][c] += H_LOADV(H_SPACE, here + r * H_B + c * H_W);
      }
      if (p == i && !diagonal) {
        H_SPACE const H_T *factor = left + top * H_B;
#pragma unroll
        for (int r = 0; r < H_ROWS; ++r) {
#pragma unroll
          for (int k = 0; k < r; ++k) {
            const H_T a = H_CONJ(factor[k * H_B + r]);
#pragma unroll
            for (int c = 0; c < H_NV; ++c) v[r][c] = H_LESS(v[r][c], a, v[k][c]);
          }
          const H_R root = H_RE(factor[r * H_B + r]);
#pragma unroll
          for (int c = 0; c < H_NV; ++c) v[r][c] /= root;
        }
      }
#pragma unroll
      for (int r = 0; r < H_ROWS; ++r) {
#pragma unroll
        for (int c = 0; c < H_NV; ++c) H_STOREV(v[r][c], H_SPACE, here + r * H_B + c * H_W);
      }
      if (p < i || !diagonal || side + H_L < columns) continue;
      for (int r = top; r < top + H_ROWS && r < rows; ++r) {
        H_SPACE H_T *line = block + r * H_B;
        const H_R root = sqrt(H_RE(line[r]));
        fails = fails || isnan(root);
        pivots[r] = line[r] / root;
        for (int q = top / H_W * H_W; q < columns; q += H_W) {
          H_STOREV(H_LOADV(H_SPACE, line + q) / root, H_SPACE, line + q);
        }
        for (int s = r + 1; s < top + H_ROWS; ++s) {
          const H_T a = H_CONJ(line[s]);
          H_SPACE H_T *other = block + s * H_B;
          for (int q = top / H_W * H_W; q < columns; q += H_W) {
            const H_V u = H_LESS(H_LOADV(H_SPACE, other + q), a, H_LOADV(H_SPACE, line + q));
            H_STOREV(u, H_SPACE, other + q);
          }
        }
        line[r] = (H_T)root;
      }
    }
    if (diagonal) {
      CHOLESKY_EACH(columns, columns) {
        const H_T v = q > r ? block[r * H_B + q] : q == r ? pivots[r] : (H_T)0;
        CHOLESKY_OUT(i * H_B + r, j * H_B + q, v);
      }
    } else {
      CHOLESKY_EACH(H_B, columns) CHOLESKY_OUT(i * H_B + r, j * H_B + q, block[r * H_B + q]);
    }
  }
  /* NaN in a row spreads to all pivots behind it. */
  if (turn == H_PANELS - 1 && fails) {
    CHOLESKY_EACH(H_N, H_N) CHOLESKY_OUT(r, q, H_NAN);
  }
}
#undef H_L
#undef CHOLESKY_PANEL
#undef CHOLESKY_IN
#undef CHOLESKY_OUT
#undef CHOLESKY_EACH
#undef H_SPACE

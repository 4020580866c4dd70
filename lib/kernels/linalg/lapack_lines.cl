/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_lines.cl: A = Q R, as LAPACK's geqrf has it (lapack_qr.cl says how), or Q of the reflectors that geqrf
 * leaves, as orgqr and ungqr make it, H_B reflectors at a time: a work item has a matrix, whose rows are vectors.
 *
 * The H_B columns at hand are copied, one behind the other, and made reflectors; these are then applied to all other
 * columns at once (lapack_apply.cl). Rows of the copy begin before the matrix (H_LEFT elements), so that they end with it
 * and are whole numbers of vectors; columns that are done may be overwritten.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS (which declare H_SPACE H_T *w, the copy of matrix `batch`); H_Q 1: makes Q;
 * H_APPLY and H_INNER, the functions of lapack_apply.cl and lapack_inner.cl; names H_REFLECT, H_TAKE; H_A(b, i, j)
 * elements; H_OUT(b, i, j, v) results; of Q, H_FACTOR(b, k) tau; else H_TAU(b, k, v) results, and H_LEAST the least sum
 * of squares that is exact enough; H_M x H_N extents, H_K reflectors; H_BATCH matrices; H_B, H_S, H_L, H_NV as in
 * lapack_apply.cl; H_LEFT; H_INT; vectors and arithmetic as in kernels/linalg/linalg.h, H_IM(v), H_MUL(a, b), H_MAKE(re, im),
 * H_REAL(r), H_SIZE(v), H_IS_ZERO(v). */
#ifndef H_NAME
#define H_NAME lapack_lines_example
#include "linalg_defaults.clh"
#define H_PARAMS __global const float *A_, __global float *R_, __global float *T_, __global float *W_
#define H_POINTERS __global float *const w = W_ + batch * (H_M * H_S);
#define H_SPACE __global
#define H_APPLY(w, u, taus, inner, rows, first) ((void)0)
#define H_INNER(a, b, count) ((a)[0] * (b)[0])
#define H_REFLECT lapack_lines_example_reflect
#define H_TAKE lapack_lines_example_take
#define H_A(b, i, j) A_[((b)*H_M + (i)) * H_N + (j)]
#define H_OUT(b, i, j, v) R_[((b)*H_M + (i)) * H_N + (j)] = (v)
#define H_TAU(b, k, v) T_[(b)*H_K + (k)] = (v)
#define H_LEAST 1e-25f
#define H_M 10
#define H_N 9
#define H_K 9
#define H_BATCH 2
#define H_Q 0
#define H_B 4
#define H_NV 2
#define H_S 16
#define H_L 12
#define H_LEFT 7
#endif
/* Loops over rows, and others: what is quick to compile. */
#define LINES_ROW _Pragma("clang loop interleave(disable) unroll(disable)")
#define LINES_PLAIN _Pragma("clang loop vectorize(disable) unroll(disable)")
#define LINES_APART static __attribute__((min_vector_width(512), noinline))

#if !H_Q
/* Makes v, of `rows` elements of which those from b + 1 on are what is to be taken away below alpha, a reflector without
 * its element b; gives tau, and what stands in alpha's place. */
LINES_APART H_T H_REFLECT(H_T *v, const H_T alpha, const int b, const int rows, const int whole,
                          H_T *made) {
  const H_R below = H_RE(H_INNER(v, v, whole));
  H_R norm = below + H_RE(alpha) * H_RE(alpha) + H_IM(alpha) * H_IM(alpha);
  *made = alpha;
  if (below > 0 && norm > H_LEAST && norm < INFINITY) {
    norm = sqrt(norm);
  } else {
    H_R most = H_SIZE(alpha), sum = 0;
    bool none = H_IM(alpha) == 0;
    LINES_PLAIN for (int i = b + 1; i < rows; ++i) {
      const H_R size = H_SIZE(v[i]);
      none = none && size == 0;
      most = size > most ? size : most;
    }
    if (none) return 0;
    if (most > 0 && most < INFINITY) {
      LINES_PLAIN for (int i = b; i < rows; ++i) {
        const H_T part = (i == b ? alpha : v[i]) / most;
        sum += H_RE(part) * H_RE(part) + H_IM(part) * H_IM(part);
      }
      norm = most * sqrt(sum);
    }
  }
  const H_R beta = H_RE(alpha) < 0 ? norm : -norm;
  const H_T from = H_MAKE(H_RE(alpha) - beta, H_IM(alpha));
  if (norm > H_LEAST && norm < 1 / H_LEAST) {
    const H_T by = -H_DIV(H_REAL(1), from);
    LINES_PLAIN for (int i = 0; i < whole; i += H_W) {
      const H_V part = H_LESS((H_V)0, by, H_LOADV(__private, v + i));
      H_STOREV(part, __private, v + i);
    }
  } else { /* the reciprocal may be no number, or 0 */
    LINES_PLAIN for (int i = b + 1; i < rows; ++i) v[i] = H_DIV(v[i], from);
  }
  *made = H_MAKE(beta, 0);
  return H_MAKE((beta - H_RE(alpha)) / beta, -H_IM(alpha) / beta);
}

/* y -= less v */
LINES_APART void H_TAKE(H_T *restrict y, const H_T *restrict v, const H_T less, const int whole) {
  LINES_PLAIN for (int i = 0; i < whole; i += H_W) {
    const H_V part = H_LOADV(__private, v + i);
    const H_V left = H_LESS(H_LOADV(__private, y + i), less, part);
    H_STOREV(left, __private, y + i);
  }
}
#endif

__kernel void H_NAME(H_PARAMS) {
  const H_INT batch = (H_INT)get_global_id(0);
  if (batch >= H_BATCH) return;
  H_POINTERS
  H_T u[H_B * H_L], taus[H_B], inner[H_B * H_B];
#if H_Q
  for (int i = 0; i < H_M; ++i) {
    LINES_ROW for (int j = 0; j < H_S; ++j) w[i * H_S + j] = H_REAL(j == H_LEFT + i ? 1 : 0);
  }
  LINES_PLAIN for (int k = (H_K - 1) / H_B * H_B; k >= 0; k -= H_B) {
    const int rows = H_M - k, whole = (rows + H_W - 1) & -H_W;
    const int count = H_K - k < H_B ? H_K - k : H_B;
    /* The last one is the first to be applied. */
    LINES_PLAIN for (int b = 0; b < H_B; ++b) {
      const int at = count - 1 - b;
      H_T *const v = u + b * H_L;
      LINES_PLAIN for (int i = 0; i < whole; ++i) {
        v[i] = at >= 0 && i > at && i < rows ? H_A(batch, k + i, k + at) : H_REAL(i == at ? 1 : 0);
      }
      taus[b] = at >= 0 ? H_FACTOR(batch, k + at) : H_REAL(0);
      LINES_PLAIN for (int c = 0; c < b; ++c) {
        inner[b * H_B + c] = H_INNER(v, u + c * H_L, whole);
      }
      /* What was made of them while they were not there yet. */
      LINES_PLAIN for (int i = 0; i < rows && at >= 0; ++i) {
        w[(k + i) * H_S + H_LEFT + k + at] = H_REAL(i == at ? 1 : 0);
      }
    }
    const int first = (H_LEFT + k) & -(H_NV * H_W);
    H_APPLY(w + k * H_S, u, taus, inner, rows, first);
  }
  for (int i = 0; i < H_M; ++i) {
    LINES_ROW for (int j = 0; j < H_N; ++j) H_OUT(batch, i, j, w[i * H_S + H_LEFT + j]);
  }
#else
  H_T x[H_B * H_L];
  for (int i = 0; i < H_M; ++i) {
    LINES_PLAIN for (int j = 0; j < H_LEFT; ++j) w[i * H_S + j] = H_REAL(0);
    LINES_ROW for (int j = 0; j < H_N; ++j) w[i * H_S + H_LEFT + j] = H_A(batch, i, j);
  }
  LINES_PLAIN for (int k = 0; k < H_K; k += H_B) {
    const int rows = H_M - k, whole = (rows + H_W - 1) & -H_W;
    const int count = H_K - k < H_B ? H_K - k : H_B;
    LINES_PLAIN for (int b = 0; b < H_B; ++b) {
      LINES_PLAIN for (int i = 0; i < whole; ++i) {
        const bool there = b < count && i < rows;
        x[b * H_L + i] = there ? w[(k + i) * H_S + H_LEFT + k + b] : H_REAL(0);
      }
    }
    LINES_PLAIN for (int b = 0; b < H_B; ++b) {
      H_T *const v = u + b * H_L;
      LINES_PLAIN for (int i = 0; i < whole; ++i) {
        v[i] = i > b && b < count ? x[b * H_L + i] : H_REAL(0);
      }
      H_T made = 0;
      const H_T tau =
          b < count ? H_REFLECT(v, x[b * H_L + b], b, rows, whole, &made) : H_REAL(0);
      if (b < count) {
        LINES_PLAIN for (int i = 0; i < rows; ++i) {
          const H_T value = i < b ? x[b * H_L + i] : i == b ? made : v[i];
          H_OUT(batch, k + i, k + b, value);
        }
        H_TAU(batch, k + b, tau);
      }
      v[b] = H_REAL(1);
      taus[b] = H_CONJ(tau);
      LINES_PLAIN for (int c = 0; c < b; ++c) {
        inner[b * H_B + c] = H_INNER(v, u + c * H_L, whole);
      }
      LINES_PLAIN for (int c = b + 1; c < count && !H_IS_ZERO(tau); ++c) {
        H_T *const y = x + c * H_L;
        H_TAKE(y, v, H_MUL(taus[b], H_INNER(v, y, whole)), whole);
      }
    }
    const int next = k + count, first = (H_LEFT + next) & -(H_NV * H_W);
    if (next < H_N) H_APPLY(w + k * H_S, u, taus, inner, rows, first);
    for (int i = k; i < next; ++i) {
      LINES_ROW for (int j = next; j < H_N; ++j) H_OUT(batch, i, j, w[i * H_S + H_LEFT + j]);
    }
  }
#endif
}
#undef LINES_ROW
#undef LINES_PLAIN
#undef LINES_APART

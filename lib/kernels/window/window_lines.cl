/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/window_lines.cl: reductions of windows, as window.cl, where lines of neighbours along the last dimension
 * are vectors, which stay in registers.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_T        the accumulator's type               H_WIDTH   elements of a line: 8 or 16
 *   H_LINE     its type                             H_MASK    that of as many integers of the same size
 *   H_LINE_OP(a, b) combines two lines, element by element
 *   H_IN(p)    the element at a row-major position  H_OUT(p, v) finishes and stores result p
 *   H_LOADS    1: H_INV(p) is the line of elements from p on
 *   H_STORES   1: H_OUTV(p, v) stores the line of results from p on
 *   H_START(p) the initial value
 *   H_EACH(r)  begins loops over the rows that the windows of row r of the results meet, each of which begins at
 *              `from`; H_END ends them
 *   H_ROWS H_COLUMNS rows and columns of results    H_N       elements along the last dimension
 *   H_STRIDE H_SIZE H_DILATION H_PAD of windows along it
 *   H_LANES    columns that a work item takes: a multiple of H_WIDTH */
#ifndef H_NAME
#define H_NAME window_lines_example
#define H_PARAMS __global const float *in_, __global float *out_
#define H_POINTERS
#define H_INT long
#define H_T float
#define H_WIDTH 16
#define H_LINE float16
#define H_MASK int16
#define H_LINE_OP(a, b) ((a) + (b))
#define H_IN(p) in_[p]
#define H_OUT(p, v) out_[p] = (v)
#define H_LOADS 0
#define H_STORES 0
#define H_START(p) 0
#define H_EACH(r) for (long k_ = 0; k_ < 3; ++k_) { const long from = ((r) + k_) * 20;
#define H_END }
#define H_ROWS 5
#define H_COLUMNS 20
#define H_N 20
#define H_STRIDE 1
#define H_SIZE 3
#define H_DILATION 1
#define H_PAD 1
#define H_LANES 16
#endif

#include "lines.clh"
#if H_WIDTH == 16
#define LINES_COUNT (H_MASK)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#else
#define LINES_COUNT (H_MASK)(0, 1, 2, 3, 4, 5, 6, 7)
#endif
#define LINES (H_LANES / H_WIDTH)
/* The line of every H_STRIDE-th element from p on, and how many elements all lines touch. */
#if H_LOADS && H_STRIDE == 1
#define LINES_IN(v, p) v = H_INV(p);
#define LINES_REACH H_LANES
#elif H_LOADS && H_STRIDE == 2
#define LINES_IN(v, p) v = (H_LINE)(H_INV(p).even, H_INV((p) + H_WIDTH).even);
#define LINES_REACH (2 * H_LANES)
#else
#define LINES_IN(v, p) { \
  H_T x[H_WIDTH]; \
  LINES_SIDE for (int j = 0; j < H_WIDTH; ++j) x[j] = H_IN((p) + j * H_STRIDE); \
  v = LINES_VLOAD(0, x); \
}
#define LINES_REACH ((H_LANES - 1) * H_STRIDE + 1)
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_global_id(0);
  const H_INT strips = (H_COLUMNS + H_LANES - 1) / H_LANES;
  if (item >= (H_INT)H_ROWS * strips) return;
  const H_INT row = item / strips, column = item % strips * H_LANES;
  const bool whole = column + H_LANES <= H_COLUMNS;
  H_LINE sums[LINES];
  LINES_UNROLL for (int m = 0; m < LINES; ++m) sums[m] = (H_LINE)(H_START(0));
  H_EACH(row)
    for (H_INT k = 0; k < H_SIZE; ++k) {
      const H_INT first = column * H_STRIDE + k * H_DILATION - H_PAD;
      if (whole && first >= 0 && first + LINES_REACH <= H_N) {
        LINES_UNROLL for (int m = 0; m < LINES; ++m) {
          H_LINE v;
          LINES_IN(v, from + first + m * (H_WIDTH * H_STRIDE))
          sums[m] = H_LINE_OP(sums[m], v);
        }
      } else {
        /* Those that lie inside; the last one stands for what lies outside and for columns that are not there. */
        LINES_UNROLL for (int m = 0; m < LINES; ++m) {
          const H_INT begin = first + m * (H_WIDTH * H_STRIDE);
          H_T x[H_WIDTH];
          for (int j = 0; j < H_WIDTH; ++j) {
            const H_INT p = begin + j * H_STRIDE;
            x[j] = H_IN(from + (p < 0 ? 0 : p < H_N ? p : H_N - 1));
          }
          const H_MASK at = (H_MASK)(begin) + LINES_COUNT * H_STRIDE;
          const H_LINE both = H_LINE_OP(sums[m], LINES_VLOAD(0, x));
          sums[m] = (at >= 0) & (at < H_N) ? both : sums[m];
        }
      }
    }
  H_END
  if (whole) {
    LINES_UNROLL for (int m = 0; m < LINES; ++m) {
      LINES_OUT(row * H_COLUMNS + column + m * H_WIDTH, sums[m])
    }
  } else {
    H_T x[H_LANES];
    LINES_UNROLL for (int m = 0; m < LINES; ++m) LINES_VSTORE(sums[m], m, x);
    for (H_INT l = 0; column + l < H_COLUMNS; ++l) H_OUT(row * H_COLUMNS + column + l, x[l]);
  }
}
#undef LINES_VLOAD
#undef LINES_VSTORE
#undef LINES_COUNT
#undef LINES
#undef LINES_UNROLL
#undef LINES_SIDE
#undef LINES_IN
#undef LINES_REACH
#undef LINES_OUT

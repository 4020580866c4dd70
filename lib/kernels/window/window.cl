/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/window.cl: reductions of windows, neighbours along the last dimension side by side.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_T        the accumulator's type               H_OP(a, b) combines two
 *   H_IN(p)    the element at a row-major position  H_OUT(p, v) finishes and stores result p
 *   H_START(p) the initial value
 *   H_ROW(r, k) where the elements begin that element k of the windows of row r of the results meets along
 *              the last dimension; -1: nowhere
 *   H_ALONG(c, k) and the one of these that it meets for column c
 *   H_ROWS H_COLUMNS rows and columns of results    H_WINDOW  elements of a window
 *   H_N        elements along the last dimension    H_STRIDE  from a column to the next one
 *   H_LANES    columns that a work item takes
 *   H_STREAM   1: H_OUTV(p, line) stores H_LINE neighbouring results; columns are multiples of H_LANES, and
 *              these of H_LINE */
#ifndef H_NAME
#define H_NAME window_example
#define H_PARAMS __global const float *in_, __global float *out_
#define H_POINTERS
#define H_INT int
#define H_T float
#define H_OP(a, b) ((a) + (b))
#define H_IN(p) in_[p]
#define H_OUT(p, v) out_[p] = (v)
#define H_START(p) 0
#define H_ROW(r, k) (((r) + (k)) * 8)
#define H_ALONG(c, k) (c)
#define H_ROWS 5
#define H_COLUMNS 8
#define H_WINDOW 3
#define H_N 8
#define H_STRIDE 1
#define H_LANES 4
#define H_LINE 4
#define H_STREAM 0
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_global_id(0);
  const H_INT strips = (H_COLUMNS + H_LANES - 1) / H_LANES;
  if (item >= (H_INT)H_ROWS * strips) return;
  const H_INT row = item / strips, column = item % strips * H_LANES;
#if H_COLUMNS % H_LANES == 0
  const H_INT lanes = H_LANES;
#else
  const H_INT lanes = H_COLUMNS - column < H_LANES ? H_COLUMNS - column : H_LANES;
#endif
  H_T sums[H_LANES + 64 / sizeof(H_T)]; /* halo_private_room says what for */
  for (H_INT l = 0; l < H_LANES; ++l) sums[l] = H_START(0);
  for (H_INT k = 0; k < H_WINDOW; ++k) {
    const H_INT from = H_ROW(row, k);
    if (from < 0) continue;
    const H_INT first = H_ALONG(column, k);
    if (lanes == H_LANES && first >= 0 && first + (H_LANES - 1) * H_STRIDE < H_N) {
      for (H_INT l = 0; l < H_LANES; ++l) {
        sums[l] = H_OP(sums[l], H_IN(from + first + l * H_STRIDE));
      }
    } else {
      /* Those that lie inside. */
      const H_INT low = first < 0 ? (H_STRIDE - 1 - first) / H_STRIDE : 0;
      const H_INT room = H_N - first <= 0 ? 0 : (H_N - first + H_STRIDE - 1) / H_STRIDE;
      const H_INT high = room < lanes ? room : lanes;
      for (H_INT l = low; l < high; ++l) sums[l] = H_OP(sums[l], H_IN(from + first + l * H_STRIDE));
    }
  }
#if H_STREAM
  for (H_INT l = 0; l < H_LANES; l += H_LINE) H_OUTV(row * H_COLUMNS + column + l, sums + l);
#else
  for (H_INT l = 0; l < lanes; ++l) H_OUT(row * H_COLUMNS + column + l, sums[l]);
#endif
}

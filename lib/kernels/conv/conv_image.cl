/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/conv_image.cl: the image of a convolution laid out with its padding and its holes, so that
 * kernels find each element of a window without tests.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_IN(line, x, i) an element, or 0; H_OUT(p, v) stores it at a
 * position; H_LINES lines of H_X places of H_I elements, the last neighbours in memory. */
#ifndef H_NAME
#define H_NAME conv_image_example
#define H_PARAMS __global const float *in_, __global float *out_
#define H_POINTERS
#define H_IN(line, x, i) ((x) < 1 ? 0 : in_[((line) * (H_X - 1) + (x)-1) * H_I + (i)])
#define H_OUT(p, v) out_[p] = (v)
#define H_LINES 10
#define H_X 9
#define H_I 16
#define H_INT int
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT line = (H_INT)get_global_id(0);
  if (line >= H_LINES) return;
  for (H_INT x = 0; x < H_X; ++x) {
    const H_INT first = (line * H_X + x) * (H_INT)H_I;
    for (H_INT i = 0; i < H_I; ++i) H_OUT(first + i, H_IN(line, x, i));
  }
}

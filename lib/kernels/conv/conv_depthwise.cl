/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/conv_depthwise.cl: a convolution in which each feature is a group of its own, for CPUs: features
 * lie side by side in memory and in vectors. One work item computes H_XB results along a line, for all
 * features, and keeps them in registers.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS (they declare PX and PK, image and kernel); H_T, H_V, H_W,
 * H_LOADV(p) as in gemm_panels.cl; H_LINES lines of H_X results, H_C features; H_LINE(line, k) where in the
 * image the line lies that line of the window k meets, below 0: outside; H_TAP(k, x) where element x of
 * line k of the window lies in the kernel; H_KLINES lines of the window of H_KX elements; along a line of the
 * image: H_SIZE places H_STEP apart in memory, of which result x meets those from x * H_STRIDE - H_PAD on,
 * H_DILATION apart; H_OUTV(c, line, x, v) stores H_W features.
 * H_FETCH(p) asks for what the next columns read. */
#ifndef H_NAME
#define H_NAME conv_depthwise_example
#define H_PARAMS __global const float *PX_, __global const float *PK_, __global float *out_
#define H_POINTERS __global const float *PX = PX_, *PK = PK_;
#define H_T float
#define H_V float16
#define H_W 16
#define H_LOADV(p) vload16(0, p)
#define H_LINES 10
#define H_X 20
#define H_XB 8
#define H_C 40
#define H_LINE(line, k) ((line) + (k) < 1 ? -1 : ((line) + (k)-1) * H_SIZE * H_C)
#define H_TAP(k, x) ((k)*H_KX + (x)) * H_C
#define H_KLINES 2
#define H_KX 3
#define H_SIZE 20
#define H_STEP H_C
#define H_STRIDE 1
#define H_PAD 1
#define H_DILATION 1
#define H_FETCH(p) ((void)0)
#define H_OUTV(c, line, x, v) vstore16(v, 0, out_ + ((line)*H_X + (x)) * H_C + (c))
#define H_INT int
#endif
#define H_BLOCKS ((H_X + H_XB - 1) / H_XB)

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_global_id(0);
  if (item >= (H_INT)H_LINES * H_BLOCKS) return;
  const H_INT line = item / H_BLOCKS, x0 = item % H_BLOCKS * H_XB;
  const H_INT first = x0 * H_STRIDE - H_PAD;
  const H_INT last = first + (H_XB - 1) * H_STRIDE + (H_KX - 1) * H_DILATION;
  const bool inner = first >= 0 && last < H_SIZE;
  for (H_INT step = 0; step < H_C; step += H_W) {
    /* The last vector may overlap the one before. */
    const H_INT c = step + H_W > H_C ? H_C - H_W : step;
    H_V sum[H_XB];
#pragma unroll
    for (int j = 0; j < H_XB; ++j) sum[j] = (H_V)((H_T)0);
    for (H_INT k = 0; k < H_KLINES; ++k) {
      const H_INT at = H_LINE(line, k);
      if (at < 0) continue;
      if (inner) {
        __global const H_T *from = PX + at + first * H_STEP + c;
#pragma unroll
        for (int j = 0; j < H_XB; ++j) H_FETCH(from + (j + H_XB) * H_STRIDE * H_STEP);
#pragma unroll
        for (int x = 0; x < H_KX; ++x) {
          const H_V w = H_LOADV(PK + H_TAP(k, x) + c);
#pragma unroll
          for (int j = 0; j < H_XB; ++j) {
            sum[j] += H_LOADV(from + (j * H_STRIDE + x * H_DILATION) * H_STEP) * w;
          }
        }
      } else {
        for (int x = 0; x < H_KX; ++x) {
          const H_V w = H_LOADV(PK + H_TAP(k, x) + c);
#pragma unroll
          for (int j = 0; j < H_XB; ++j) {
            const H_INT t = first + j * H_STRIDE + x * H_DILATION;
            if (t >= 0 && t < H_SIZE) sum[j] += H_LOADV(PX + at + t * H_STEP + c) * w;
          }
        }
      }
    }
#pragma unroll
    for (int j = 0; j < H_XB; ++j) {
      if (x0 + j < H_X) H_OUTV(c, line, x0 + j, sum[j]);
    }
  }
}
#undef H_BLOCKS

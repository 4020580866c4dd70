/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/gemm_tile.cl: matrix product C = A B for GPUs: a work group of 16 x 16 computes a tile of
 * 64 x 64, stepping through k with tiles of both operands in local memory; each work item keeps 4 x 4
 * results in registers, 16 apart, so that neighbours read and write neighbouring elements.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_A(b, row, k), H_B(b, k, column) elements; H_OUT(b, row,
 * column, v); H_T; H_FMA(a, b, c); H_M, H_N, H_K; H_INT; H_PARTS, into which the terms are divided, of H_SHARE each, which 16
 * divides: then there is a result for each "part". Batches, and their parts, are the third dimension. */
#ifndef H_NAME
#define H_NAME gemm_tile_example
#define H_PARAMS __global const float *A_, __global const float *B_, __global float *C_
#define H_POINTERS
#define H_T float
#define H_A(b, row, k) A_[((b)*H_M + (row)) * H_K + (k)]
#define H_B(b, k, column) B_[((b)*H_K + (k)) * H_N + (column)]
#define H_FMA(a, b, c) ((a) * (b) + (c))
#define H_OUT(b, row, column, v) C_[((b)*H_M + (row)) * H_N + (column)] = (v)
#define H_M 70
#define H_N 50
#define H_K 33
#define H_AKFAST 1
#define H_BKFAST 0
#define H_INT int
#define H_PARTS 1
#define H_SHARE 48
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  /* One column more than needed: transposed stores then spread over the banks. */
  __local H_T as[16][65];
  __local H_T bs[16][65];
  const int x = (int)get_local_id(0), y = (int)get_local_id(1), lid = y * 16 + x;
  const H_INT c0 = (H_INT)get_group_id(0) * 64;
#if H_PARTS > 1
  const H_INT batch = (H_INT)get_global_id(2) / H_PARTS, part = (H_INT)get_global_id(2) % H_PARTS;
  const H_INT begin = part * H_SHARE, end = H_K - begin < H_SHARE ? H_K : begin + H_SHARE;
#else
  const H_INT batch = (H_INT)get_global_id(2), begin = 0, end = H_K;
#endif
  const H_INT r0 = (H_INT)((get_global_id(1) - get_local_id(1)) / 16) * 64;
  /* Registers, wherever all loops over them are unrolled: else AMD's compiler keeps them in memory. */
  H_T c[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) c[i][j] = (H_T)0;
  }
  for (H_INT k0 = begin; k0 < end; k0 += 16) {
    for (int e = lid; e < 16 * 64; e += 256) {
#if H_AKFAST
      const int ak = e % 16, al = e / 16;
#else
      const int ak = e / 64, al = e % 64;
#endif
#if H_BKFAST
      const int bk = e % 16, bl = e / 16;
#else
      const int bk = e / 64, bl = e % 64;
#endif
      H_T a = (H_T)0, b = (H_T)0;
      if (r0 + al < H_M && k0 + ak < H_K) a = H_A(batch, r0 + al, k0 + ak);
      if (c0 + bl < H_N && k0 + bk < H_K) b = H_B(batch, k0 + bk, c0 + bl);
      as[ak][al] = a;
      bs[bk][bl] = b;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) {
      H_T row[4], column[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) row[i] = as[k][y + 16 * i];
#pragma unroll
      for (int j = 0; j < 4; ++j) column[j] = bs[k][x + 16 * j];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) c[i][j] = H_FMA(row[i], column[j], c[i][j]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const H_INT row = r0 + y + 16 * i, column = c0 + x + 16 * j;
      if (row < H_M && column < H_N) H_OUT(batch, row, column, c[i][j]);
    }
  }
}

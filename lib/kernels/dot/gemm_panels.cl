/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/gemm_panels.cl: matrix product C = A B for CPUs, from packed panels.
 *
 * B lies as panels of H_NR columns, element (k, column) of a panel at k * H_NR + column, padded with
 * zeros (the packing of Goto and van de Geijn, 2008), or is read in place when its rows are whole panels;
 * A is read in place, row by row wherever rows lie, or from panels of H_MR rows. An item keeps an
 * H_MR x H_NR block of C in registers, H_NV vectors of H_W elements wide; a work item does H_TURNS of them. Sums over
 * many k may be cut into H_PARTS.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_BLOCK, a function that does an item, H_BLOCK_PARAMS, H_BLOCK_POINTERS (they
 * declare PA and PB), H_ARGUMENTS of calls of it; H_T element type, H_V vector type,
 * H_LOADV(p), H_STOREV(v, p), H_MAD(x, y, c) x times y plus c; H_ROW(batch, panel, i) where row i of a row panel begins in A, the last row
 * of A for those beyond it; H_BBATCH, H_BPANEL strides of B from batch to batch and panel to panel; H_LOOPS the
 * loops over what is k of part `part`, and in them H_KA, H_KB where in a row of A and in a panel of B; H_M, H_N;
 * H_FIRST the column of C at which PB begins; H_MR, H_NV, H_W; H_STRETCH terms, 0: all, are added up on their own, of H_STEPS, and then
 * H_LOOPS goes from k_begin to k_end; H_MPANELS, H_NPANELS, H_BATCH, H_PARTS, H_TURNS: these and H_M, H_N may be arguments; H_RIM 1: there
 * may be blocks that reach beyond C; H_TARGET what the function needs of the processor; H_BIASED 1: elements are four bytes, to each of
 * which in A 128 was added; H_VECTORS 1: H_OUTV(b, row, column, v) stores H_W elements of one row; H_SPLIT 0:
 * H_OUT(b, row, column, v) finishes and stores one element, 1: H_VALUE(b, row, column, v) finishes it, H_PUT(b, row,
 * column, v) stores it, of type H_R. */
#ifndef H_NAME
#define H_NAME gemm_panels_example
#define H_PARAMS __global const float *PA_, __global const float *PB_, __global float *C_
#define H_POINTERS
#define H_BLOCK gemm_panels_example_block
#define H_BLOCK_PARAMS __global const float *PA, __global const float *PB, __global float *C_
#define H_BLOCK_POINTERS
#define H_ARGUMENTS PA_, PB_, C_
#define H_T float
#define H_V float16
#define H_W 16
#define H_LOADV(p) vload16(0, p)
#define H_STOREV(v, p) vstore16(v, 0, p)
#define H_MAD(x, y, c) ((x) * (y) + (c))
#define H_M 13
#define H_N 100
#define H_K 64
#define H_ROW(b, p, i) ((b)*H_M + ((p)*H_MR + (i) < H_M ? (p)*H_MR + (i) : H_M - 1)) * H_K
#define H_BBATCH (H_NPANELS * H_K * H_NV * H_W)
#define H_BPANEL (H_K * H_NV * H_W)
#define H_STRETCH 32
#define H_STEPS H_K
#define H_LOOPS for (int k = k_begin; k < k_end; ++k)
#define H_KA k
#define H_KB k *H_NV *H_W
#define H_BATCH 1
#define H_PARTS 1
#define H_TURNS 1
#define H_RIM 1
#define H_VECTORS 1
#define H_SPLIT 0
#define H_TARGET
#define H_BIASED 0
#define H_MR 6
#define H_NV 4
#define H_MPANELS 3
#define H_NPANELS 2
#define H_FIRST 0
#define H_OUT(b, row, column, v) C_[((b)*H_M + (row)) * H_N + (column)] = (v)
#define H_OUTV(b, row, column, v) vstore16(v, 0, C_ + ((b)*H_M + (row)) * H_N + (column))
#define H_INT int
#endif
#define H_NR (H_NV * H_W)

/* A function of its own: within the kernel it takes longer to compile, most where a driver makes several copies of kernels. */
static __attribute__((noinline)) H_TARGET void H_BLOCK(const H_INT item, H_BLOCK_PARAMS) {
  H_BLOCK_POINTERS
  /* Work items run through the row panels first: the panel of B, the larger one, stays in cache. */
  if (item >= (H_INT)H_MPANELS * H_NPANELS * H_BATCH * H_PARTS) return;
  const H_INT mp = item % H_MPANELS, rest = item / H_MPANELS;
  const H_INT np = rest % H_NPANELS, batch = rest / H_NPANELS % H_BATCH;
  const H_INT part = rest / H_NPANELS / H_BATCH;
  const H_INT r0 = mp * H_MR, c0 = H_FIRST + np * H_NR;
  __global const H_T *b0 = PB + batch * (H_INT)H_BBATCH + np * (H_INT)H_BPANEL;
  H_INT rows[H_MR];
#pragma unroll
  for (int i = 0; i < H_MR; ++i) rows[i] = H_ROW(batch, mp, i);
  H_V c[H_MR][H_NV];
#if H_STRETCH
  /* One sum of all would lose a digit with each tenfold number of terms. */
  H_V total[H_MR][H_NV];
#pragma unroll
  for (int i = 0; i < H_MR; ++i) {
#pragma unroll
    for (int j = 0; j < H_NV; ++j) total[i][j] = (H_V)((H_T)0);
  }
  for (H_INT k_begin = 0; k_begin < H_STEPS; k_begin += H_STRETCH) {
  const H_INT k_end = H_STEPS - k_begin < H_STRETCH ? H_STEPS : k_begin + H_STRETCH;
#endif
#pragma unroll
  for (int i = 0; i < H_MR; ++i) {
#pragma unroll
    for (int j = 0; j < H_NV; ++j) c[i][j] = (H_V)((H_T)0);
  }
#if H_BIASED
  /* The sum of a column times the added 128. */
  const H_V ones = (H_V)((H_T)0x80808080);
  H_V bias[H_NV];
#pragma unroll
  for (int j = 0; j < H_NV; ++j) bias[j] = (H_V)((H_T)0);
#endif
  H_LOOPS {
    __global const H_T *a = PA + (H_KA), *b = b0 + (H_KB);
    H_V row[H_NV];
#pragma unroll
    for (int j = 0; j < H_NV; ++j) row[j] = H_LOADV(b + j * H_W);
#pragma unroll
    for (int i = 0; i < H_MR; ++i) {
      const H_V x = (H_V)(a[rows[i]]);
#pragma unroll
      for (int j = 0; j < H_NV; ++j) c[i][j] = H_MAD(x, row[j], c[i][j]);
    }
#if H_BIASED
#pragma unroll
    for (int j = 0; j < H_NV; ++j) bias[j] = H_MAD(ones, row[j], bias[j]);
#endif
  }
#if H_BIASED
#pragma unroll
  for (int i = 0; i < H_MR; ++i) {
#pragma unroll
    for (int j = 0; j < H_NV; ++j) c[i][j] -= bias[j];
  }
#endif
#if H_STRETCH
#pragma unroll
  for (int i = 0; i < H_MR; ++i) {
#pragma unroll
    for (int j = 0; j < H_NV; ++j) total[i][j] += c[i][j];
  }
  }
#pragma unroll
  for (int i = 0; i < H_MR; ++i) {
#pragma unroll
    for (int j = 0; j < H_NV; ++j) c[i][j] = total[i][j];
  }
#endif
#if H_VECTORS
#if H_RIM
  if (r0 + H_MR <= H_M && c0 + H_NR <= H_N)
#endif
  {
#pragma unroll
    for (int i = 0; i < H_MR; ++i) {
#pragma unroll
      for (int j = 0; j < H_NV; ++j) H_OUTV(batch, r0 + i, c0 + j * H_W, c[i][j]);
    }
    return;
  }
#endif
#if H_RIM || !H_VECTORS
  /* Through memory, element by element: so what finishes them is there once, not once a vector. What it reads may lie
   * where results go, so that vectors can be made of it only where nothing is stored meanwhile. */
  H_T rim[H_MR][H_NR];
#pragma unroll
  for (int i = 0; i < H_MR; ++i) {
#pragma unroll
    for (int j = 0; j < H_NV; ++j) H_STOREV(c[i][j], &rim[i][j * H_W]);
  }
#if H_RIM
  const int height = H_M - r0 < H_MR ? (int)(H_M - r0) : H_MR;
  const int width = H_N - c0 < H_NR ? (int)(H_N - c0) : H_NR;
#else
  const int height = H_MR, width = H_NR;
#endif
  for (int i = 0; i < height; ++i) {
#if H_SPLIT
    H_R row[H_NR < 64 ? 64 : H_NR];
    for (int j = 0; j < width; ++j) row[j] = H_VALUE(batch, r0 + i, c0 + j, rim[i][j]);
    for (int j = 0; j < width; ++j) H_PUT(batch, r0 + i, c0 + j, row[j]);
#else
    for (int j = 0; j < width; ++j) H_OUT(batch, r0 + i, c0 + j, rim[i][j]);
#endif
  }
#endif
}

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  for (H_INT q = 0; q < H_TURNS; ++q) H_BLOCK((H_INT)get_global_id(0) * H_TURNS + q, H_ARGUMENTS);
}
#undef H_NR

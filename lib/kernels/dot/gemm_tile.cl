/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/gemm_tile.cl: matrix product C = A B for GPUs. A work group computes a tile of H_TM x H_TN results. It steps
 * through k by H_TK: both operands' parts lie in local memory, in one of two buffers, while each work item reads its share of
 * the next step into registers. A work item has H_RM x H_RN results in registers, in blocks of H_WIDTH x H_WIDTH neighbours, so that it
 * reads H_WIDTH elements of a row or column at a time; 8 x 8 work items lie side by side.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS, H_INT as everywhere; H_T, and H_WIDE_T, vectors of H_WIDTH of it, 2 or 4; H_A(b, row, k) and
 * H_B(b, k, column), elements; H_AFAST 1: of A, neighbours in k, not in rows, are neighbours in memory; H_AW 1, or H_WIDTH where
 * H_AV(b, row, k) reads so many neighbours in that direction at once; likewise H_BFAST, H_BW, H_BV; H_OUT(b, row, column, v), or,
 * where H_OUTW is H_WIDTH, H_OUTV for neighbours of a row; H_FMA(a, b, c); H_M, H_N, H_K; H_BAND rows of tiles that are gone
 * through column by column; H_RM and H_RN are H_WIDTH or twice that; H_PARTS, into which the terms are divided, of H_SHARE each, which H_TK divides: then there is a
 * result for each "part". Batches, and their parts, are the third dimension. */
#ifndef H_NAME
#define H_NAME gemm_tile_example
#define H_PARAMS __global const float *A_, __global const float *B_, __global float *C_
#define H_POINTERS
#define H_T float
#define H_WIDE_T float4
#define H_WIDTH 4
#define H_A(b, row, k) A_[((b)*H_M + (row)) * H_K + (k)]
#define H_B(b, k, column) B_[((b)*H_K + (k)) * H_N + (column)]
#define H_AV(b, row, k) *(__global const float4 *)(A_ + (((b)*H_M + (row)) * H_K + (k)))
#define H_BV(b, k, column) *(__global const float4 *)(B_ + (((b)*H_K + (k)) * H_N + (column)))
#define H_FMA(a, b, c) ((a) * (b) + (c))
#define H_OUT(b, row, column, v) C_[((b)*H_M + (row)) * H_N + (column)] = (v)
#define H_OUTV(b, row, column, v)                                                                  \
  *(__global float4 *)(C_ + (((b)*H_M + (row)) * H_N + (column))) = (v)
#define H_M 70
#define H_N 52
#define H_K 36
#define H_AFAST 1
#define H_BFAST 0
#define H_AW 4
#define H_BW 4
#define H_OUTW 4
#define H_INT int
#define H_TM 64
#define H_TN 64
#define H_TK 8
#define H_RM 4
#define H_RN 4
#define H_BAND 8
#define H_PARTS 1
#define H_SHARE 40
#endif

#define H_X (H_TN / H_RN)
#define H_Y (H_TM / H_RM)
#define H_ITEMS (H_X * H_Y)
/* Work items lie in blocks of 8 x 8, or as many rows as there are. */
#define H_NEAR (H_X < 8 ? H_X : 8)
#define H_FAR (H_Y < 8 ? H_Y : 8)
/* Vectors from one k to the next in local memory: with one more than needed, turned stores spread over the banks. */
#define H_ALINE (H_TM / H_WIDTH + 1)
#define H_BLINE (H_TN / H_WIDTH + 1)
/* Vectors of a buffer: those of A, then those of B. */
#define H_BOTH (H_TK * (H_ALINE + H_BLINE))
/* Reads of a work item for a step, and the place of the one that is number e of the tile. */
#define H_AREADS ((H_TM * H_TK / H_AW + H_ITEMS - 1) / H_ITEMS)
#define H_BREADS ((H_TN * H_TK / H_BW + H_ITEMS - 1) / H_ITEMS)
#if H_AW > 1
#define H_AREAD H_WIDE_T
#define H_AGET H_AV
#else
#define H_AREAD H_T
#define H_AGET H_A
#endif
#if H_BW > 1
#define H_BREAD H_WIDE_T
#define H_BGET H_BV
#else
#define H_BREAD H_T
#define H_BGET H_B
#endif
#if H_AFAST
#define H_AK(e) ((e) % (H_TK / H_AW) * H_AW)
#define H_AX(e) ((e) / (H_TK / H_AW))
#else
#define H_AK(e) ((e) / (H_TM / H_AW))
#define H_AX(e) ((e) % (H_TM / H_AW) * H_AW)
#endif
#if H_BFAST
#define H_BK(e) ((e) % (H_TK / H_BW) * H_BW)
#define H_BX(e) ((e) / (H_TK / H_BW))
#else
#define H_BK(e) ((e) / (H_TN / H_BW))
#define H_BX(e) ((e) % (H_TN / H_BW) * H_BW)
#endif
#define H_ELEMENTS(p) ((__local H_T *)(p))
/* Rows and columns beyond the last are read and not stored: any others do for them. Terms beyond the last are 0. */
#if H_M % H_TM
#define H_AIN(row) ((row) < H_M ? (row) : H_M - (H_AFAST ? 1 : H_AW))
#else
#define H_AIN(row) (row)
#endif
#if H_N % H_TN
#define H_BIN(column) ((column) < H_N ? (column) : H_N - (H_BFAST ? 1 : H_BW))
#else
#define H_BIN(column) (column)
#endif
#if H_K % H_TK
#define H_TERM(k, type, v) ((k) < H_K ? (v) : (type)0)
#else
#define H_TERM(k, type, v) (v)
#endif
/* Whether a work item has a read of number e. */
#define H_AHAS(e) (H_TM * H_TK / H_AW % H_ITEMS == 0 || (e) < H_TM * H_TK / H_AW)
#define H_BHAS(e) (H_TN * H_TK / H_BW % H_ITEMS == 0 || (e) < H_TN * H_TK / H_BW)
/* Puts what was read into local memory, vectors along k turned. */
#define H_PUT(v, p) *(p) = (v)
#define H_PUTV(v, p) *(__local H_WIDE_T *)(p) = (v)
#if H_WIDTH == 4
#define H_TURN(v, p, line) (p)[0] = (v).s0, (p)[line] = (v).s1, (p)[2 * (line)] = (v).s2, (p)[3 * (line)] = (v).s3
#else
#define H_TURN(v, p, line) (p)[0] = (v).s0, (p)[line] = (v).s1
#endif
#if H_AW == 1
#define H_APUT(v, p) H_PUT(v, p)
#elif H_AFAST
#define H_APUT(v, p) H_TURN(v, p, H_ALINE *H_WIDTH)
#else
#define H_APUT(v, p) H_PUTV(v, p)
#endif
#if H_BW == 1
#define H_BPUT(v, p) H_PUT(v, p)
#elif H_BFAST
#define H_BPUT(v, p) H_TURN(v, p, H_BLINE *H_WIDTH)
#else
#define H_BPUT(v, p) H_PUTV(v, p)
#endif
/* Reads a work item's share of the step at k0 into registers a and b; then puts it into a buffer. */
#define H_FETCH(k0)                                                                                \
  _Pragma("unroll") for (int i = 0; i < H_AREADS; ++i) {                                           \
    const int e = lid + i * H_ITEMS;                                                               \
    const H_INT k = (k0) + H_AK(e), row = r0 + H_AX(e);                                            \
    if (H_AHAS(e)) a[i] = H_TERM(k, H_AREAD, H_AGET(batch, H_AIN(row), k));                        \
  }                                                                                                \
  _Pragma("unroll") for (int i = 0; i < H_BREADS; ++i) {                                           \
    const int e = lid + i * H_ITEMS;                                                               \
    const H_INT k = (k0) + H_BK(e), column = c0 + H_BX(e);                                         \
    if (H_BHAS(e)) b[i] = H_TERM(k, H_BREAD, H_BGET(batch, k, H_BIN(column)));                     \
  }
#define H_KEEP(buffer)                                                                             \
  _Pragma("unroll") for (int i = 0; i < H_AREADS; ++i) {                                           \
    const int e = lid + i * H_ITEMS;                                                               \
    __local H_T *p = H_ELEMENTS(tiles + (buffer)) + H_AK(e) * (H_ALINE * H_WIDTH) + H_AX(e);\
    if (H_AHAS(e)) { H_APUT(a[i], p); }                                                            \
  }                                                                                                \
  _Pragma("unroll") for (int i = 0; i < H_BREADS; ++i) {                                           \
    const int e = lid + i * H_ITEMS;                                                               \
    __local H_T *p = H_ELEMENTS(tiles + (buffer) + H_TK * H_ALINE) + H_BK(e) * (H_BLINE * H_WIDTH) + H_BX(e);\
    if (H_BHAS(e)) { H_BPUT(b[i], p); }                                                            \
  }

/* Something for each row of a work item's results; for the elements of a row that lie side by side; each row's term for what lies in
 * the rows of a vector from `first` on. */
#if H_RM == 8
#define H_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#elif H_RM == 4
#define H_ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#else
#define H_ROWS(DO) DO(0) DO(1)
#endif
#if H_RN > H_WIDTH
#define H_ZERO(i) c[i][0] = (H_WIDE_T)0, c[i][1] = (H_WIDE_T)0;
#define H_UP(i) c[i][0] = c[(i + 1) % H_RM][0], c[i][1] = c[(i + 1) % H_RM][1];
#define H_TERM_OF(i, v)                                                                            \
  c[i][0] = H_FMA((H_WIDE_T)(v), column, c[i][0]);                                                 \
  c[i][1] = H_FMA((H_WIDE_T)(v), right, c[i][1]);
#else
#define H_ZERO(i) c[i][0] = (H_WIDE_T)0;
#define H_UP(i) c[i][0] = c[(i + 1) % H_RM][0];
#define H_TERM_OF(i, v) c[i][0] = H_FMA((H_WIDE_T)(v), column, c[i][0]);
#endif
#if H_WIDTH == 4
#define H_TERMS(first, v)                                                                          \
  H_TERM_OF(first, (v).s0)                                                                         \
  H_TERM_OF(first + 1, (v).s1)                                                                     \
  H_TERM_OF(first + 2, (v).s2)                                                                     \
  H_TERM_OF(first + 3, (v).s3)
#else
#define H_TERMS(first, v)                                                                          \
  H_TERM_OF(first, (v).s0)                                                                         \
  H_TERM_OF(first + 1, (v).s1)
#endif
/* Stores neighbours of a row. */
#define H_FINISH_ONE(column, v)                                                                    \
  if ((column) < H_N) { H_OUT(batch, row, column, v); }
#if H_OUTW > 1
#define H_FINISH(column, v)                                                                        \
  if ((column) < H_N) { H_OUTV(batch, row, column, v); }
#elif H_WIDTH == 4
#define H_FINISH(column, v)                                                                        \
  H_FINISH_ONE(column, (v).s0)                                                                     \
  H_FINISH_ONE((column) + 1, (v).s1)                                                               \
  H_FINISH_ONE((column) + 2, (v).s2)                                                               \
  H_FINISH_ONE((column) + 3, (v).s3)
#else
#define H_FINISH(column, v)                                                                        \
  H_FINISH_ONE(column, (v).s0)                                                                     \
  H_FINISH_ONE((column) + 1, (v).s1)
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  /* Arrays of vectors, so that compilers know the alignment and read 16 bytes at a time. */
  __local H_WIDE_T tiles[2 * H_BOTH];
  const int lid = (int)get_local_id(0), block = lid / (H_NEAR * H_FAR);
  const int x = lid % H_NEAR + block % (H_X / H_NEAR) * H_NEAR;
  const int y = lid / H_NEAR % H_FAR + block / (H_X / H_NEAR) * H_FAR;
  const H_INT group = (H_INT)get_group_id(0), tm = (H_M + H_TM - 1) / H_TM, tn = (H_N + H_TN - 1) / H_TN;
  const H_INT band = group / (H_BAND * tn) * H_BAND, rows = tm - band < H_BAND ? tm - band : H_BAND;
  const H_INT r0 = (band + group % (H_BAND * tn) % rows) * H_TM, c0 = group % (H_BAND * tn) / rows * H_TN;
#if H_PARTS > 1
  const H_INT batch = (H_INT)get_global_id(2) / H_PARTS, part = (H_INT)get_global_id(2) % H_PARTS;
  const H_INT begin = part * H_SHARE, end = H_K - begin < H_SHARE ? H_K : begin + H_SHARE;
#else
  const H_INT batch = (H_INT)get_global_id(2), begin = 0, end = H_K;
#endif
  /* Written out below without loops, which not all compilers unroll: then c lies in registers. */
  H_WIDE_T c[H_RM][H_RN / H_WIDTH];
  H_AREAD a[H_AREADS];
  H_BREAD b[H_BREADS];
  H_ROWS(H_ZERO)
  H_FETCH(begin)
  H_KEEP(0)
  barrier(CLK_LOCAL_MEM_FENCE);
  int buffer = 0;
  for (H_INT k0 = begin; k0 < end; k0 += H_TK) {
    /* After the last step it is read once more: a loop without conditions keeps results in their registers. */
    H_FETCH(k0 + H_TK < end ? k0 + H_TK : k0)
    const __local H_WIDE_T *at = tiles + buffer + y;
    const __local H_WIDE_T *bt = tiles + buffer + H_TK * H_ALINE + x;
#pragma unroll 8 /* with more, compilers read so far ahead that registers spill */
    for (int k = 0; k < H_TK; ++k) {
      const H_WIDE_T row = at[k * H_ALINE], column = bt[k * H_BLINE];
#if H_RN > H_WIDTH
      const H_WIDE_T right = bt[k * H_BLINE + H_X];
#endif
      H_TERMS(0, row)
#if H_RM > H_WIDTH
      const H_WIDE_T below = at[k * H_ALINE + H_Y];
      H_TERMS(H_WIDTH, below)
#endif
    }
    buffer = H_BOTH - buffer;
    H_KEEP(buffer)
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  /* The text that finishes a row is there once: the rows behind it move up. */
#pragma unroll 1
  for (int i = 0; i < H_RM; ++i) {
    const H_INT row = r0 + (i / H_WIDTH * H_Y + y) * H_WIDTH + i % H_WIDTH;
    if (row < H_M) {
      H_FINISH(c0 + x * H_WIDTH, c[0][0])
#if H_RN > H_WIDTH
      H_FINISH(c0 + (H_X + x) * H_WIDTH, c[0][1])
#endif
    }
    H_ROWS(H_UP)
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/loop/transpose.cl: elementwise work whose input and output run along different dimensions: a tile of
 * H_TILE x H_TILE is read along p, the input's fast dimension, and written along o, the output's.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_BLOCK, a function that does an item, with H_BLOCK_PARAMS and
 * H_ARGUMENTS of calls; H_T the value's type; H_IN(b, p, o) computes one value;
 * H_OUT(b, p, o, v) stores it; H_P, H_O sizes; H_BATCH the product of all other dimensions; H_TILE;
 * H_MODE 0: one work item a tile, 1: through local memory by groups of H_TILE x H_ROWS, 2: one work item
 * a tile that is turned over in registers, with H_V the vector type of H_TILE (8 or 16) unsigned
 * integers of the value's size, H_LOADV(p) and H_STOREV(v, b, p, o), and H_LO(a, b), H_HI(a, b) that
 * interleave the lower and upper halves of two vectors. */
#ifndef H_NAME
#define H_NAME transpose_example
#define H_PARAMS __global const float *in_, __global float *out_
#define H_POINTERS
#define H_BLOCK transpose_example_block
#define H_BLOCK_PARAMS H_PARAMS
#define H_ARGUMENTS in_, out_
#define H_T float
#define H_IN(b, p, o) in_[((b)*H_O + (o)) * H_P + (p)]
#define H_OUT(b, p, o, v) out_[((b)*H_P + (p)) * H_O + (o)] = (v)
#define H_P 100
#define H_O 70
#define H_BATCH 1
#define H_TILE 8
#define H_ROWS 8
#define H_MODE 2
#define H_W uint
#define H_V uint8
#define H_LOADV(p) vload8(0, p)
#define H_STOREV(v, b, p, o) \
  vstore8(v, 0, (__global uint *)out_ + ((b)*H_P + (p)) * H_O + (o))
#define H_BITS(v) as_uint(v)
#define H_LO(a, b) (uint8)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3)
#define H_HI(a, b) (uint8)(a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define H_INT int
#endif

#if H_MODE == 1
__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  /* One column more than needed: reads across the rows then spread over the banks. */
  __local H_T tile[H_TILE][H_TILE + 1];
  const int x = (int)get_local_id(0), y = (int)get_local_id(1);
  const H_INT o0 = (H_INT)get_group_id(0) * H_TILE, b = (H_INT)get_global_id(2);
  const H_INT p0 = (H_INT)((get_global_id(1) - get_local_id(1)) / H_ROWS) * H_TILE;
  for (int k = y; k < H_TILE; k += H_ROWS) {
    if (p0 + x < H_P && o0 + k < H_O) tile[k][x] = H_IN(b, p0 + x, o0 + k);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = y; k < H_TILE; k += H_ROWS) {
    if (p0 + k < H_P && o0 + x < H_O) H_OUT(b, p0 + k, o0 + x, tile[x][k]);
  }
}
#else
/* A function of its own: drivers that make loops over the items of a group take twice as long with it within the kernel. */
static __attribute__((noinline)) void H_BLOCK(const H_INT item, H_BLOCK_PARAMS) {
  const H_INT tiles_p = (H_P + H_TILE - 1) / H_TILE, tiles_o = (H_O + H_TILE - 1) / H_TILE;
  if (item >= tiles_p * tiles_o * H_BATCH) return;
  const H_INT p0 = item % tiles_p * H_TILE, rest = item / tiles_p;
  const H_INT o0 = rest % tiles_o * H_TILE, b = rest / tiles_o;
#if H_P % H_TILE != 0 || H_O % H_TILE != 0
  if (p0 + H_TILE > H_P || o0 + H_TILE > H_O) {
    for (int p = 0; p < H_TILE && p0 + p < H_P; ++p) {
      for (int o = 0; o < H_TILE && o0 + o < H_O; ++o) {
        H_OUT(b, p0 + p, o0 + o, H_IN(b, p0 + p, o0 + o));
      }
    }
    return;
  }
#endif
#if H_MODE == 2
  H_V x[H_TILE];
#pragma unroll
  for (int o = 0; o < H_TILE; ++o) {
    H_W line[H_TILE];
    for (int p = 0; p < H_TILE; ++p) line[p] = H_BITS(H_IN(b, p0 + p, o0 + o));
    x[o] = H_LOADV(line);
  }
  /* log2(H_TILE) perfect shuffles of the rows transpose the tile. */
#pragma unroll
  for (int stage = 1; stage < H_TILE; stage *= 2) {
    H_V y[H_TILE];
#pragma unroll
    for (int i = 0; i < H_TILE / 2; ++i) {
      y[2 * i] = H_LO(x[i], x[i + H_TILE / 2]);
      y[2 * i + 1] = H_HI(x[i], x[i + H_TILE / 2]);
    }
#pragma unroll
    for (int i = 0; i < H_TILE; ++i) x[i] = y[i];
  }
#pragma unroll
  for (int p = 0; p < H_TILE; ++p) H_STOREV(x[p], b, p0 + p, o0);
#else
  H_T tile[H_TILE][H_TILE];
  for (int o = 0; o < H_TILE; ++o) {
    for (int p = 0; p < H_TILE; ++p) tile[p][o] = H_IN(b, p0 + p, o0 + o);
  }
  for (int p = 0; p < H_TILE; ++p) {
    for (int o = 0; o < H_TILE; ++o) H_OUT(b, p0 + p, o0 + o, tile[p][o]);
  }
#endif
}

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  H_BLOCK((H_INT)get_global_id(0), H_ARGUMENTS);
}
#endif

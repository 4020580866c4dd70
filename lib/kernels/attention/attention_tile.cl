/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/attention/attention_tile.cl: softmax(f(Q K)) V for GPUs, without an array of scores. A work group has a tile of
 * H_Y * 4 queries and takes H_BLOCK keys at a time, then the values of the same places, through local memory; a work
 * item (x, y) keeps 4 queries' scores of H_BLOCK / H_X keys, and their sums of some elements of values, in registers.
 * A query's maximum and sums are those of the keys so far; the sums are scaled when the maximum grows (Milakov and
 * Gimelshein, 2018; Dao et al., 2022).
 *
 * Where all logits so far are -inf, exponentials are taken to the base 0: they are 0, and 0 / 0 makes a NaN of a row
 * that has no others, as the definition does.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS, H_INT as everywhere; H_Q(b, r, k) element k of query r of group b, H_K(b, j,
 * k) of key j, H_V(b, j, d) element d of value j; H_LOGIT(b, r, j, v) what is made of the score v; H_EXP(v);
 * H_OUT(b, r, d, v) stores a result; H_GROUPS of H_M queries and H_N keys of H_DEPTH elements, values of H_WIDTH;
 * H_X, H_Y: work items of a group, H_X <= H_BLOCK; H_DEEP: H_DEPTH rounded up to vectors of 4; H_LINE: elements
 * from a query or key to the next in local memory, an odd number of vectors, so that neighbours are in other banks;
 * H_VECTOR neighbouring elements of a value, H_UNITS times, for a work item; H_TILE: elements of H_BLOCK keys or values
 * in local memory; H_CAUSAL 1: the logits of all keys behind a query's own place are H_BEHIND. */
#ifndef H_NAME
#define H_NAME attention_tile_example
#define H_PARAMS                                                                                   \
  __global const float *q_, __global const float *k_, __global const float *v_, __global float *out_
#define H_POINTERS
#define H_INT int
#define H_Q(b, r, k) q_[((b)*H_M + (r)) * H_DEPTH + (k)]
#define H_K(b, j, k) k_[((b)*H_N + (j)) * H_DEPTH + (k)]
#define H_V(b, j, d) v_[((b)*H_N + (j)) * H_WIDTH + (d)]
#define H_LOGIT(b, r, j, v) ((v)*0.125f)
#define H_EXP(v) exp(v)
#define H_OUT(b, r, d, v) out_[((b)*H_M + (r)) * H_WIDTH + (d)] = (v)
#define H_GROUPS 2
#define H_M 40
#define H_N 50
#define H_DEPTH 9
#define H_WIDTH 10
#define H_BLOCK 16
#define H_X 8
#define H_Y 8
#define H_DEEP 12
#define H_LINE 12
#define H_VECTOR 2
#define H_UNITS 1
#define H_TILE 256
#define H_CAUSAL 0
#define H_BEHIND -INFINITY
#endif

#define H_ITEMS (H_X * H_Y)
#define H_QUERIES (4 * H_Y)
#define H_EACH (H_BLOCK / H_X)
#define H_COLUMNS (H_UNITS * H_VECTOR)
/* The element of a value that a work item has as its own number c. */
#define H_COLUMN(c) (((c) / H_VECTOR * H_X + x) * H_VECTOR + (c) % H_VECTOR)
#define H_WIDE (H_X * H_COLUMNS)  /* elements of a value, with what fills the last vectors */
#define H_WEIGHTS (H_BLOCK + 4)   /* from a query's weights to the next one's in local memory */
#define H_FLOATS(p) ((__local float *)(p))
#if H_VECTOR == 4
#define H_READ(to, p) vstore4(*(__local const float4 *)(p), 0, to)
#elif H_VECTOR == 2
#define H_READ(to, p) vstore2(*(__local const float2 *)(p), 0, to)
#else
#define H_READ(to, p) *(to) = *(p)
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  /* Arrays of vectors, so that compilers know the alignment and read 16 bytes at a time. */
  __local float4 queries[H_QUERIES * H_LINE / 4], tile[H_TILE / 4];
  __local float4 weights[H_QUERIES * H_WEIGHTS / 4], most[H_Y], scale[H_Y];
  __local float part[H_X * (H_QUERIES + 1)];
#if H_CAUSAL
  __local int open;
#endif
  const int lid = (int)get_local_id(0), x = lid % H_X, y = lid / H_X;
  const H_INT place = (H_INT)get_group_id(0), tiles = (H_M + H_QUERIES - 1) / H_QUERIES;
  const H_INT group = place / tiles, first = place % tiles * H_QUERIES;
  for (int i = lid; i < H_QUERIES * H_DEEP; i += H_ITEMS) {
    const int r = i / H_DEEP, k = i % H_DEEP;
    const H_INT row = first + r < H_M ? first + r : H_M - 1;
    float v = 0;
    if (k < H_DEPTH) v = H_Q(group, row, k);
    H_FLOATS(queries)[r * H_LINE + k] = v;
  }
  for (int r = lid; r < H_QUERIES; r += H_ITEMS) H_FLOATS(most)[r] = -INFINITY;
  float sum[4][H_COLUMNS], total[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    total[i] = 0;
#pragma unroll
    for (int c = 0; c < H_COLUMNS; ++c) sum[i][c] = 0;
  }
  H_INT end = H_N; /* of the keys whose scores are needed */
  for (H_INT key = 0; key < end; key += H_BLOCK) {
    barrier(CLK_LOCAL_MEM_FENCE);
#if H_CAUSAL
    if (lid == 0) open = 0;
#endif
    for (int i = lid; i < H_BLOCK * H_DEEP; i += H_ITEMS) {
      const int j = i / H_DEEP, k = i % H_DEEP;
      float v = 0;
      if (k < H_DEPTH && key + j < H_N) v = H_K(group, key + j, k);
      H_FLOATS(tile)[j * H_LINE + k] = v;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float logit[4][H_EACH];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < H_EACH; ++j) logit[i][j] = 0;
    }
#pragma unroll 2
    for (int k = 0; k < H_DEEP / 4; ++k) {
      float4 query[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) query[i] = queries[(4 * y + i) * (H_LINE / 4) + k];
#pragma unroll
      for (int j = 0; j < H_EACH; ++j) {
        const float4 v = tile[(j * H_X + x) * (H_LINE / 4) + k];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          logit[i][j] = query[i].x * v.x + logit[i][j];
          logit[i][j] = query[i].y * v.y + logit[i][j];
          logit[i][j] = query[i].z * v.z + logit[i][j];
          logit[i][j] = query[i].w * v.w + logit[i][j];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const H_INT row = first + 4 * y + i < H_M ? first + 4 * y + i : H_M - 1;
      float largest = -INFINITY;
#pragma unroll
      for (int j = 0; j < H_EACH; ++j) {
        const H_INT at = key + j * H_X + x;
        if (at < H_N) logit[i][j] = H_LOGIT(group, row, at, logit[i][j]);
        if (at < H_N && logit[i][j] > largest) largest = logit[i][j];
      }
      part[x * (H_QUERIES + 1) + 4 * y + i] = largest;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    /* Nobody reads keys any more. */
    for (int i = lid; i < H_BLOCK * H_WIDE; i += H_ITEMS) {
      const int j = i / H_WIDE, d = i % H_WIDE;
      float v = 0;
      if (d < H_WIDTH && key + j < H_N) v = H_V(group, key + j, d);
      H_FLOATS(tile)[i] = v;
    }
    for (int r = lid; r < H_QUERIES; r += H_ITEMS) {
      const float former = H_FLOATS(most)[r];
      float largest = former;
#pragma unroll
      for (int j = 0; j < H_X; ++j) {
        const float v = part[j * (H_QUERIES + 1) + r];
        largest = v > largest ? v : largest;
      }
      H_FLOATS(most)[r] = largest;
      H_FLOATS(scale)[r] = H_EXP(former - (largest == -INFINITY ? 0 : largest));
#if H_CAUSAL
      /* Whether a key that the query does not see would count. */
      if (!(H_BEHIND - largest < -105.0f)) atomic_or(&open, 1);
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if H_CAUSAL
    if (!open && key + H_BLOCK >= first + H_QUERIES) end = key + H_BLOCK;
#endif
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float largest = H_FLOATS(most)[4 * y + i], by = H_FLOATS(scale)[4 * y + i];
      const float base = largest == -INFINITY ? 0 : largest;
      total[i] *= by;
#pragma unroll
      for (int j = 0; j < H_EACH; ++j) {
        float v = 0;
        if (key + j * H_X + x < H_N) v = H_EXP(logit[i][j] - base);
        total[i] += v;
        H_FLOATS(weights)[(4 * y + i) * H_WEIGHTS + j * H_X + x] = v;
      }
#pragma unroll
      for (int c = 0; c < H_COLUMNS; ++c) sum[i][c] *= by;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int j = 0; j < H_BLOCK; j += 4) {
      float weight[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        vstore4(weights[((4 * y + i) * H_WEIGHTS + j) / 4], 0, weight[i]);
      }
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        float value[H_COLUMNS];
#pragma unroll
        for (int u = 0; u < H_UNITS; ++u) {
          H_READ(value + u * H_VECTOR,
                 H_FLOATS(tile) + (j + n) * H_WIDE + (u * H_X + x) * H_VECTOR);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int c = 0; c < H_COLUMNS; ++c) sum[i][c] = weight[i][n] * value[c] + sum[i][c];
        }
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#if H_CAUSAL
  /* Of values behind what all queries see, there is nothing to add but what 0 times a value is. */
  float zero[H_COLUMNS];
#pragma unroll
  for (int c = 0; c < H_COLUMNS; ++c) zero[c] = 0;
  for (H_INT j = end + y; j < H_N; j += H_Y) {
#pragma unroll
    for (int c = 0; c < H_COLUMNS; ++c) {
      if (H_COLUMN(c) < H_WIDTH) zero[c] += 0.0f * H_V(group, j, H_COLUMN(c));
    }
  }
#pragma unroll
  for (int c = 0; c < H_COLUMNS; ++c) H_FLOATS(tile)[y * H_WIDE + H_COLUMN(c)] = zero[c];
#endif
#pragma unroll
  for (int i = 0; i < 4; ++i) part[x * (H_QUERIES + 1) + 4 * y + i] = total[i];
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const H_INT row = first + 4 * y + i;
    float all = 0;
    for (int j = 0; j < H_X; ++j) all += part[j * (H_QUERIES + 1) + 4 * y + i];
#pragma unroll
    for (int c = 0; c < H_COLUMNS; ++c) {
#if H_CAUSAL
      for (int j = 0; j < H_Y; ++j) sum[i][c] += H_FLOATS(tile)[j * H_WIDE + H_COLUMN(c)];
#endif
      if (row < H_M && H_COLUMN(c) < H_WIDTH) H_OUT(group, row, H_COLUMN(c), sum[i][c] / all);
    }
  }
}
#undef H_ITEMS
#undef H_QUERIES
#undef H_EACH
#undef H_COLUMNS
#undef H_COLUMN
#undef H_WIDE
#undef H_WEIGHTS
#undef H_FLOATS
#undef H_READ

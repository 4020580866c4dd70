/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/attention/attention.cl: softmax(f(Q K)) V without an array of scores. Keys are taken a block at a time; a query
 * keeps the maximum of its logits so far, the sum of their exponentials and the sum of values that these weigh, which
 * are scaled when the maximum grows (Milakov and Gimelshein, 2018; Dao et al., 2022).
 *
 * Where all logits so far are -inf, exponentials are taken to the base 0: they are 0, and 0 / 0 makes a NaN of a row
 * that has no others, as the definition does.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS, H_INT as everywhere; H_Q(b, r, k) element k of query r of group b, H_K(b, j,
 * k) of key j, H_V(b, j, d) element d of value j; H_LOGIT(b, r, j, v) what is made of the score v; H_EXP(v);
 * H_OUT(b, r, d, v) stores a result; H_GROUPS of H_M queries and H_N keys of H_DEPTH elements, values of H_WIDTH;
 * H_BLOCK keys at a time; H_R queries a work item or group; H_KEYS keys (or elements of values) whose sums are in
 * registers together; H_CAUSAL 1: the logits of all keys behind a query's own place are
 * H_BEHIND. */
#ifndef H_NAME
#define H_NAME attention_example
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
#define H_R 32
#define H_KEYS 4
#define H_CAUSAL 0
#define H_BEHIND -INFINITY
#endif

/* Queries lie side by side in vectors, so that keys and values are read where they are, a number at a time. */
#define H_VECTORS (H_R / 16)
#define H_ROWS ((H_WIDTH + H_KEYS - 1) / H_KEYS * H_KEYS)
__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_global_id(0), tiles = (H_M + H_R - 1) / H_R;
  if (item >= tiles * H_GROUPS) return;
  const H_INT group = item / tiles, first = item % tiles * H_R;
#if H_M % H_R == 0
  const int live = H_R;
#define H_QUERY(r) (first + (r))
#else
  /* Lanes beyond the last query do what it does. */
  const int live = H_M - first < H_R ? (int)(H_M - first) : H_R;
#define H_QUERY(r) (first + ((r) < live ? (r) : live - 1))
#endif
  float query[H_DEPTH][H_R], logit[H_BLOCK][H_R], sum[H_ROWS][H_R];
  float most[H_R], total[H_R], base[H_R], scale[H_R];
  for (int r = 0; r < H_R; ++r) {
    for (int k = 0; k < H_DEPTH; ++k) query[k][r] = H_Q(group, H_QUERY(r), k);
    most[r] = -INFINITY;
    total[r] = 0;
  }
  for (int d = 0; d < H_ROWS; ++d) {
    for (int r = 0; r < H_R; ++r) sum[d][r] = 0;
  }
  for (H_INT key = 0; key < H_N; key += H_BLOCK) {
    const int keys = H_N - key < H_BLOCK ? (int)(H_N - key) : H_BLOCK;
#if H_CAUSAL
    /* Keys that no query sees: once their weights are 0 beside what was seen, there is nothing to add but what 0
     * times a value is. */
    if (key > first + live - 1) {
      int seen = 0;
      for (int r = 0; r < H_R; ++r) seen += H_BEHIND - most[r] < -105.0f;
      if (seen == H_R) {
        float zero[H_WIDTH];
        for (int d = 0; d < H_WIDTH; ++d) zero[d] = 0;
        for (H_INT j = key; j < H_N; ++j) {
          for (int d = 0; d < H_WIDTH; ++d) zero[d] += 0.0f * H_V(group, j, d);
        }
        for (int d = 0; d < H_WIDTH; ++d) {
          for (int r = 0; r < H_R; ++r) sum[d][r] += zero[d];
        }
        break;
      }
    }
#endif
    for (int j = 0; j < keys; j += H_KEYS) {
      float16 c[H_KEYS][H_VECTORS];
      H_INT at[H_KEYS]; /* beyond the last key: it again, in rows of logits that nobody reads */
#pragma unroll
      for (int i = 0; i < H_KEYS; ++i) {
        at[i] = key + j + i < H_N ? key + j + i : H_N - 1;
#pragma unroll
        for (int v = 0; v < H_VECTORS; ++v) c[i][v] = 0;
      }
      for (int k = 0; k < H_DEPTH; ++k) {
#pragma unroll
        for (int i = 0; i < H_KEYS; ++i) {
          const float16 x = H_K(group, at[i], k);
#pragma unroll
          for (int v = 0; v < H_VECTORS; ++v) c[i][v] = x * vload16(v, query[k]) + c[i][v];
        }
      }
#pragma unroll
      for (int i = 0; i < H_KEYS; ++i) {
#pragma unroll
        for (int v = 0; v < H_VECTORS; ++v) vstore16(c[i][v], v, logit[j + i]);
      }
    }
    for (int r = 0; r < H_R; ++r) scale[r] = most[r];
    for (int j = 0; j < keys; ++j) {
      for (int r = 0; r < H_R; ++r) {
        const float v = H_LOGIT(group, H_QUERY(r), key + j, logit[j][r]);
        logit[j][r] = v;
        most[r] = v > most[r] ? v : most[r];
      }
    }
    for (int r = 0; r < H_R; ++r) {
      base[r] = most[r] == -INFINITY ? 0 : most[r];
      scale[r] = H_EXP(scale[r] - base[r]);
      total[r] *= scale[r];
    }
    for (int j = 0; j < keys; ++j) {
      for (int r = 0; r < H_R; ++r) {
        const float v = H_EXP(logit[j][r] - base[r]);
        logit[j][r] = v;
        total[r] += v;
      }
    }
    for (int d = 0; d < H_WIDTH; d += H_KEYS) {
      float16 c[H_KEYS][H_VECTORS];
#pragma unroll
      for (int i = 0; i < H_KEYS; ++i) {
#pragma unroll
        for (int v = 0; v < H_VECTORS; ++v) c[i][v] = vload16(v, sum[d + i]) * vload16(v, scale);
      }
      for (int j = 0; j < keys; ++j) {
#pragma unroll
        for (int i = 0; i < H_KEYS; ++i) {
          const int there = d + i < H_WIDTH ? d + i : H_WIDTH - 1;
          const float16 x = H_V(group, key + j, there);
#pragma unroll
          for (int v = 0; v < H_VECTORS; ++v) c[i][v] = x * vload16(v, logit[j]) + c[i][v];
        }
      }
#pragma unroll
      for (int i = 0; i < H_KEYS; ++i) {
#pragma unroll
        for (int v = 0; v < H_VECTORS; ++v) vstore16(c[i][v], v, sum[d + i]);
      }
    }
  }
  for (int r = 0; r < live; ++r) {
    for (int d = 0; d < H_WIDTH; ++d) H_OUT(group, first + r, d, sum[d][r] / total[r]);
  }
}
#undef H_VECTORS
#undef H_ROWS
#undef H_QUERY

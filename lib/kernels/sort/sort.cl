/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort/sort.cl: stable merge sort of records along rows.
 *
 * Either the first step, in which H_TEAM work items together load a block of a row into local memory, sort
 * it and hand it on, or a later one, in which each work item makes a segment of the merger of two sorted
 * runs. Where the segment begins in both runs is found by a search, so that work items need nothing of
 * each other. A left record stays before a right one unless the right one comes before it.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_OWN      1: each work item has a team of its own, and its block is in memory of its own
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_T        a record's type                      H_BEFORE(a, b) whether a comes before b
 *   H_IN(row, i) record i of a row                  H_OUT(row, i, r) hands it on
 *   H_ROWS H_N rows, and records in each
 *   H_BLOCK    records of a block, a power of two from 8 on; 0: a later step
 *   H_TEAM H_TEAMS work items that share a block, a power of two; teams in a group
 *   H_BLOCKS   blocks in a row
 *   H_KEEP     records that are handed on from each block, from its first on
 *   H_SEGMENT  of a later step: records that a work item makes
 *   H_WIDTH    and the length of the runs that it merges, a power of two
 *   H_DISTINCT 1: no two records are alike, so that no order has to be kept */
#ifndef H_NAME
#define H_NAME sort_example
#define H_PARAMS __global const float *in_, __global float *out_
#define H_OWN 0
#define H_POINTERS
#define H_INT int
#define H_T float
#define H_BEFORE(a, b) ((a) < (b))
#define H_IN(row, i) in_[(row) * 100 + (i)]
#define H_OUT(row, i, r) out_[(row) * 100 + (i)] = (r)
#define H_ROWS 3
#define H_N 100
#define H_BLOCK 128
#define H_TEAM 4
#define H_TEAMS 2
#define H_BLOCKS 1
#define H_KEEP 128
#define H_SEGMENT 16
#define H_WIDTH 8
#define H_DISTINCT 0
#endif

#if H_TEAM > 1
#define SORT_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#else
#define SORT_BARRIER
#endif
#if H_BLOCK
#define SORT_GET(i) from[i]
#define SORT_PUT(i, r) to[i] = (r)
#else
#define SORT_GET(i) H_IN(row, i)
#define SORT_PUT(i, r) H_OUT(row, i, r)
#endif
#define SORT_SWAP(x, y)                                                                            \
  {                                                                                                \
    const H_T p = from[run + x], q = from[run + y];                                                \
    const bool turn = H_BEFORE(q, p);                                                              \
    from[run + x] = turn ? q : p;                                                                  \
    from[run + y] = turn ? p : q;                                                                  \
  }

#if H_OWN
#define SORT_MEMORY __private
#else
#define SORT_MEMORY __local
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
#if H_BLOCK
#if H_OWN
  /* halo_private_room says what the spare ones are for. */
  H_T first[H_BLOCK + 64 / sizeof(H_T)], second[H_BLOCK + 64 / sizeof(H_T)];
  const H_INT slot = 0, t = 0, item = (H_INT)get_global_id(0);
#else
  __local H_T first[H_TEAMS * H_BLOCK], second[H_TEAMS * H_BLOCK];
  const H_INT slot = (H_INT)get_local_id(0) / H_TEAM, t = (H_INT)get_local_id(0) % H_TEAM;
  const H_INT item = (H_INT)get_group_id(0) * H_TEAMS + slot;
#endif
  const H_INT row = item / H_BLOCKS, base = item % H_BLOCKS * H_BLOCK;
  H_INT length = 0;
  if (item < (H_INT)H_ROWS * H_BLOCKS) length = H_N - base < H_BLOCK ? H_N - base : H_BLOCK;
  SORT_MEMORY H_T *from = first + slot * H_BLOCK, *to = second + slot * H_BLOCK;
  for (H_INT i = t; i < length; i += H_TEAM) from[i] = H_IN(row, base + i);
  SORT_BARRIER;
  for (H_INT run = t * 8; run < length; run += H_TEAM * 8) {
    const H_INT stop = run + 8 < length ? run + 8 : length;
#if H_DISTINCT
    if (run + 8 == stop) {
      SORT_SWAP(0, 1) SORT_SWAP(2, 3) SORT_SWAP(4, 5) SORT_SWAP(6, 7)
      SORT_SWAP(0, 2) SORT_SWAP(1, 3) SORT_SWAP(4, 6) SORT_SWAP(5, 7)
      SORT_SWAP(1, 2) SORT_SWAP(5, 6) SORT_SWAP(0, 4) SORT_SWAP(3, 7)
      SORT_SWAP(1, 5) SORT_SWAP(2, 6) SORT_SWAP(1, 4) SORT_SWAP(3, 6)
      SORT_SWAP(2, 4) SORT_SWAP(3, 5) SORT_SWAP(3, 4)
      continue;
    }
#endif
    for (H_INT i = run + 1; i < stop; ++i) {
      const H_T r = from[i];
      H_INT j = i;
      for (; j > run && H_BEFORE(r, from[j - 1]); --j) from[j] = from[j - 1];
      from[j] = r;
    }
  }
  SORT_BARRIER;
  for (H_INT width = 8; width < H_BLOCK; width *= 2) {
    const H_INT share = H_BLOCK / H_TEAM;
    H_INT at = t * share, end = at + share < length ? at + share : length;
#else
  const H_INT item = (H_INT)get_global_id(0);
  const H_INT segments = (H_N + H_SEGMENT - 1) / H_SEGMENT;
  if (item >= (H_INT)H_ROWS * segments) return;
  const H_INT row = item / segments, length = H_N, width = H_WIDTH;
  H_INT at = item % segments * H_SEGMENT, end = at + H_SEGMENT < length ? at + H_SEGMENT : length;
  {
#endif
    while (at < end) {
      /* The pair of runs, of which records from `at` on are wanted. */
      const H_INT left = at & ~(2 * width - 1);
      const H_INT middle = left + width < length ? left + width : length;
      const H_INT close = length - middle < width ? length : middle + width;
      const H_INT stop = end < close ? end : close, skip = at - left;
      H_INT low = skip > close - middle ? skip - (close - middle) : 0;
      H_INT high = skip < middle - left ? skip : middle - left;
      while (low < high) {
        const H_INT guess = (low + high) / 2;
        if (H_BEFORE(SORT_GET(middle + skip - 1 - guess), SORT_GET(left + guess))) {
          high = guess;
        } else {
          low = guess + 1;
        }
      }
      H_INT i = left + low, j = middle + skip - low;
      while (at < stop && i < middle && j < close) {
        const H_T a = SORT_GET(i), b = SORT_GET(j);
        const bool right = H_BEFORE(b, a);
        SORT_PUT(at, right ? b : a);
        i += right ? 0 : 1;
        j += right ? 1 : 0;
        ++at;
      }
      for (; at < stop && i < middle; ++at, ++i) SORT_PUT(at, SORT_GET(i));
      for (; at < stop; ++at, ++j) SORT_PUT(at, SORT_GET(j));
    }
#if H_BLOCK
    SORT_BARRIER;
    SORT_MEMORY H_T *other = from;
    from = to;
    to = other;
#endif
  }
#if H_BLOCK
  const H_INT keep = length < H_KEEP ? length : H_KEEP;
  for (H_INT i = t; i < keep; i += H_TEAM) H_OUT(row, item % H_BLOCKS * H_KEEP + i, from[i]);
#endif
}
#undef SORT_MEMORY
#undef SORT_BARRIER
#undef SORT_GET
#undef SORT_PUT
#undef SORT_SWAP

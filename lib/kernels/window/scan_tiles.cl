/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/scan_tiles.cl: running combinations along the rows of a row-major array, for work groups with local memory.
 *
 * A group has H_TEAMS teams of H_TEAM work items. A team takes a row, or a chunk of one, tile by tile. A tile is read into
 * local memory and written from there as it lies in memory. In between, each work item combines H_SHARE neighbours, and the
 * sums of a team's work items are combined in a logarithmic number of steps.
 * Where rows are cut into chunks, the first kernel combines each chunk. In the second a group combines what it left of all
 * chunks before its own, and begins with that.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_T        the accumulator's type               H_OP(a, b) combines two
 *   H_IN(p)    the value at position p              H_OUT(p, v) finishes and stores result p
 *   H_START(s) the initial value                    H_HELD(s) what is kept of chunk s,
 *   H_HOLD(s, v) and keeping it
 *   H_STEP     0: combine chunks, 1: results        H_REVERSE 1: from the end, where what is met later stands to the left
 *   H_ROWS H_N rows, and elements of each           H_CHUNK H_CHUNKS of a row, which is a tile or several
 *   H_TEAM     work items of a team, a power of two
 *   H_TEAMS    teams of a group; more than 1: a row is one tile
 *   H_SHARE    neighbours of a work item in a tile, an odd number: reads from local memory fall on different banks */
#ifndef H_NAME
#define H_NAME scan_tiles_example
#define H_PARAMS __global const float *in_, __global float *held_, __global float *out_
#define H_POINTERS
#define H_INT int
#define H_T float
#define H_OP(a, b) ((a) + (b))
#define H_IN(p) in_[p]
#define H_OUT(p, v) out_[p] = (v)
#define H_START(s) 0
#define H_HELD(s) held_[s]
#define H_HOLD(s, v) held_[s] = (v)
#define H_STEP 1
#define H_ROWS 2
#define H_N 1000
#define H_CHUNK 480
#define H_CHUNKS 3
#define H_REVERSE 0
#define H_TEAM 16
#define H_TEAMS 1
#define H_SHARE 15
#endif

#if H_REVERSE
#define SCAN_OP(a, b) H_OP(b, a)
#else
#define SCAN_OP(a, b) H_OP(a, b)
#endif
#define SCAN_LOCAL ((H_INT)H_TEAM * H_TEAMS)
#define SCAN_TILE ((H_INT)H_TEAM * H_SHARE)
#define SCAN_UNROLL _Pragma("unroll")
#define SCAN_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
/* Combinations of the sums of `size` work items from the first one of which `t` counts, up to each: sums[side + lid]. There is a
 * barrier before and behind it. */
#define SCAN_SUMS(size, has)                                                                       \
  side = 0;                                                                                        \
  SCAN_BARRIER;                                                                                    \
  for (H_INT width = 1; width < (size); width *= 2) {                                              \
    if (has) {                                                                                     \
      H_T both = sums[side + lid];                                                                 \
      if (t >= width) both = SCAN_OP(sums[side + lid - width], both);                              \
      sums[SCAN_LOCAL - side + lid] = both;                                                        \
    }                                                                                              \
    side = SCAN_LOCAL - side;                                                                      \
    SCAN_BARRIER;                                                                                  \
  }

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  __local H_T tile[SCAN_LOCAL * H_SHARE], sums[2 * SCAN_LOCAL];
  const H_INT lid = (H_INT)get_local_id(0), group = (H_INT)get_group_id(0);
  const H_INT team = lid / H_TEAM, t = lid % H_TEAM;
  const H_INT chunk = group % H_CHUNKS, row = group / H_CHUNKS * H_TEAMS;
  const H_INT rows = H_ROWS - row < H_TEAMS ? H_ROWS - row : H_TEAMS;
  const H_INT begin = chunk * H_CHUNK;
  const H_INT size = H_N - begin < H_CHUNK ? H_N - begin : H_CHUNK;
  H_INT side = 0;
#if H_STEP == 1
  H_T before = H_START(0);
#if H_CHUNKS > 1
  { /* Of all chunks before this one. */
    const H_INT share = ((H_INT)H_CHUNKS + SCAN_LOCAL - 1) / SCAN_LOCAL, from = row * H_CHUNKS;
    const H_INT low = t * share, high = low + share < chunk ? low + share : chunk;
    const bool has = low < high;
    if (has) {
      H_T sum = H_HELD(from + low);
      for (H_INT k = low + 1; k < high; ++k) sum = SCAN_OP(sum, H_HELD(from + k));
      sums[lid] = sum;
    }
    SCAN_SUMS(SCAN_LOCAL, has)
    if (chunk > 0) before = SCAN_OP(before, sums[side + (chunk - 1) / share]);
    SCAN_BARRIER;
  }
#endif
#else
  H_T before;
#endif
  for (H_INT at = 0; at < size; at += SCAN_TILE) {
#if H_TEAMS > 1
    const H_INT count = H_N;
#else
    const H_INT count = size - at < SCAN_TILE ? size - at : SCAN_TILE;
#endif
    SCAN_UNROLL for (int j = 0; j < H_SHARE; ++j) {
      const H_INT q = j * SCAN_LOCAL + lid;
      if (q < rows * count) {
        const H_INT r = H_TEAMS > 1 ? q / count : 0, i = begin + at + q - r * count;
        tile[r * SCAN_TILE + i - begin - at] =
            H_IN((row + r) * H_N + (H_REVERSE ? H_N - 1 - i : i));
      }
    }
    SCAN_BARRIER;
    H_INT number = team < rows ? count - t * H_SHARE : 0;
    H_T own[H_SHARE], sum;
    SCAN_UNROLL for (int j = 0; j < H_SHARE; ++j) {
      if (j < number) {
        own[j] = tile[lid * H_SHARE + j];
        if (j > 0) own[j] = SCAN_OP(sum, own[j]);
        sum = own[j];
      }
    }
    const bool has = number > 0;
    if (has) sums[lid] = sum;
    SCAN_SUMS(H_TEAM, has)
#if H_STEP == 1
    if (has) {
      H_T left = before;
      if (t > 0) left = SCAN_OP(before, sums[side + lid - 1]);
      SCAN_UNROLL for (int j = 0; j < H_SHARE; ++j) {
        if (j < number) tile[lid * H_SHARE + j] = SCAN_OP(left, own[j]);
      }
    }
    SCAN_BARRIER;
    SCAN_UNROLL for (int j = 0; j < H_SHARE; ++j) {
      const H_INT q = j * SCAN_LOCAL + lid;
      if (q < rows * count) {
        const H_INT r = H_TEAMS > 1 ? q / count : 0, i = begin + at + q - r * count;
        const H_T result = tile[r * SCAN_TILE + i - begin - at];
        H_OUT((row + r) * H_N + (H_REVERSE ? H_N - 1 - i : i), result);
      }
    }
#if H_CHUNK > H_TEAM * H_SHARE
    before = SCAN_OP(before, sums[side + (count - 1) / H_SHARE]);
    SCAN_BARRIER;
#endif
#else
    const H_T all = sums[side + (count - 1) / H_SHARE];
    if (at > 0) {
      before = SCAN_OP(before, all);
    } else {
      before = all;
    }
    SCAN_BARRIER;
#endif
  }
#if H_STEP == 0
  if (lid == 0) H_HOLD(group, before);
#endif
}
#undef SCAN_OP
#undef SCAN_LOCAL
#undef SCAN_TILE
#undef SCAN_UNROLL
#undef SCAN_BARRIER
#undef SCAN_SUMS

/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort/sort_radix_tiles.cl: one digit of 8 bits of a stable radix sort of records along rows, for work groups with
 * local memory.
 *
 * A group takes a piece of a row. The first kernel counts how often each digit occurs in each piece. Counts of a row lie by
 * digit and then by piece. In the second kernel a group takes the counts of one digit: each becomes the sum of those before
 * it, and their total is left. Counts of a row of one piece are totals, without that kernel. The third kernel takes its piece tile by tile. It sorts a tile in local memory, first by the
 * lower and then by the upper half of the digit, and writes it: neighbours of one digit go to neighbouring places.
 *
 * In a round of half a digit each work item has H_SHARE neighbours in registers. It counts them by value, in counters of its
 * own; sums over the counters of all values and work items, in this order, say where its records go within the tile.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_STEP     0: count, 1: sum, 2: put
 *   H_COUNTS   where counts are (global memory): of several pieces H_ROWS * 256 * H_PIECES; then H_ROWS * 256 totals
 *   H_T        a record's type                      H_DIGIT(r) a record's digit
 *   H_IN(row, i) record i of a row                  H_OUT(row, i, r) puts it there
 *   H_ROWS H_N rows, and records in each            H_PIECES  pieces of a row
 *   H_TILES    tiles of a piece                     H_LOCAL   work items of a group, 16 to 256, a power of two
 *   H_SHARE    records of a work item in a tile, an odd number: reads from local memory fall on different banks */
#ifndef H_NAME
#define H_NAME sort_radix_tiles_example
#define H_PARAMS __global const uint *in_, __global uint *out_, __global uint *counts_
#define H_POINTERS
#define H_INT int
#define H_STEP 2
#define H_COUNTS counts_
#define H_T uint
#define H_DIGIT(r) ((int)((r)&255))
#define H_IN(row, i) in_[(row)*1000 + (i)]
#define H_OUT(row, i, r) out_[(row)*1000 + (i)] = (r)
#define H_ROWS 3
#define H_N 1000
#define H_PIECES 2
#define H_TILES 2
#define H_SHARE 15
#define H_LOCAL 32
#endif

#define RADIX_DIGITS 256
#define RADIX_HALF 16
#define RADIX_TILE ((H_INT)H_LOCAL * H_SHARE)
#define RADIX_UNROLL _Pragma("unroll")
#define RADIX_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
/* A word is left free behind each work item's counters, so that these begin on different banks. */
#define RADIX_COUNTER(i) ((i) + (i) / RADIX_HALF * 2)
#define RADIX_POOL(bytes) (((bytes) + sizeof(ulong2) - 1) / sizeof(ulong2))
#define RADIX_RECORDS RADIX_POOL(RADIX_TILE * sizeof(H_T))
#define RADIX_COUNTERS RADIX_POOL(RADIX_COUNTER(RADIX_HALF * H_LOCAL) * sizeof(ushort))
/* Sums of the `own` of all work items up to each: sums[at + t]. There is a barrier before and behind it. */
#define RADIX_SUM(own)                                                                             \
  H_INT at = 0;                                                                                    \
  sums[t] = own;                                                                                   \
  RADIX_BARRIER;                                                                                   \
  for (H_INT width = 1; width < H_LOCAL; width *= 2) {                                             \
    uint sum = sums[at + t];                                                                       \
    if (t >= width) sum += sums[at + t - width];                                                   \
    at = H_LOCAL - at;                                                                             \
    sums[at + t] = sum;                                                                            \
    RADIX_BARRIER;                                                                                 \
  }

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT t = (H_INT)get_local_id(0), group = (H_INT)get_group_id(0);
#if H_STEP == 1
  __local uint sums[2 * H_LOCAL];
  __global uint *counts = H_COUNTS + group * H_PIECES;
  __global uint *totals = H_COUNTS + (H_INT)H_ROWS * RADIX_DIGITS * H_PIECES;
  uint before = 0;
  for (H_INT first = 0; first < H_PIECES; first += H_LOCAL) {
    const H_INT i = first + t;
    uint count = 0;
    if (i < H_PIECES) count = counts[i];
    RADIX_SUM(count)
    if (i < H_PIECES) counts[i] = before + sums[at + t] - count;
    before += sums[at + H_LOCAL - 1];
    RADIX_BARRIER;
  }
  if (t == 0) totals[group] = before;
#else
  const H_INT row = group / H_PIECES, piece = group % H_PIECES;
  const H_INT length = RADIX_TILE * H_TILES, begin = piece * length;
  const H_INT end = H_N - begin < length ? H_N : begin + length;
#if H_PIECES > 1
  __global uint *counts = H_COUNTS + row * (RADIX_DIGITS * H_PIECES) + piece;
#endif
  __global uint *totals = H_COUNTS + (H_ROWS * (H_PIECES > 1 ? H_PIECES : 0) + row) * RADIX_DIGITS;
#if H_STEP == 0
  __local uint bins[RADIX_DIGITS];
  for (H_INT d = t; d < RADIX_DIGITS; d += H_LOCAL) bins[d] = 0;
  RADIX_BARRIER;
  /* Several loads are under way before the first is needed. */
  for (H_INT tile = begin; tile < end; tile += 4 * H_LOCAL) {
    int digits[4];
    RADIX_UNROLL for (int j = 0; j < 4; ++j) {
      const H_INT i = tile + j * H_LOCAL + t;
      digits[j] = -1;
      if (i < end) {
        const H_T r = H_IN(row, i);
        digits[j] = H_DIGIT(r);
      }
    }
    RADIX_UNROLL for (int j = 0; j < 4; ++j) {
      if (digits[j] >= 0) atomic_inc(&bins[digits[j]]);
    }
  }
  RADIX_BARRIER;
  for (H_INT d = t; d < RADIX_DIGITS; d += H_LOCAL) {
#if H_PIECES > 1
    counts[d * H_PIECES] = bins[d];
#else
    totals[d] = bins[d];
#endif
  }
#else
  __local ulong2 pool[RADIX_RECORDS > RADIX_COUNTERS ? RADIX_RECORDS : RADIX_COUNTERS];
  __local uint sums[2 * H_LOCAL], bases[RADIX_DIGITS], begins[RADIX_DIGITS];
#if H_TILES > 1
  __local uint ends[RADIX_DIGITS];
#endif
  __local H_T *records = (__local H_T *)pool;
  __local ushort *counters = (__local ushort *)pool;
  { /* Where the first record of each digit goes. */
    const H_INT share = RADIX_DIGITS / H_LOCAL;
    uint own = 0;
    for (H_INT d = t * share; d < (t + 1) * share; ++d) own += totals[d];
    RADIX_SUM(own)
    uint base = sums[at + t] - own;
    for (H_INT d = t * share; d < (t + 1) * share; ++d) {
      bases[d] = base;
#if H_PIECES > 1
      bases[d] += counts[d * H_PIECES];
#endif
      base += totals[d];
    }
  }
  for (H_INT tile = begin; tile < end; tile += RADIX_TILE) {
    const H_INT count = end - tile < RADIX_TILE ? end - tile : RADIX_TILE;
    RADIX_UNROLL for (int j = 0; j < H_SHARE; ++j) {
      const H_INT p = j * H_LOCAL + t;
      if (p < count) records[p] = H_IN(row, tile + p);
    }
    for (H_INT d = t; d < RADIX_DIGITS; d += H_LOCAL) {
      begins[d] = 0;
#if H_TILES > 1
      ends[d] = 0;
#endif
    }
    for (int shift = 0; shift < 8; shift += 4) {
      H_T own[H_SHARE];
      uint places[H_SHARE];
      RADIX_BARRIER;
      RADIX_UNROLL for (int j = 0; j < H_SHARE; ++j) {
        const H_INT p = t * H_SHARE + j;
        if (p < count) own[j] = records[p];
      }
      RADIX_BARRIER;
      RADIX_UNROLL for (int d = 0; d < RADIX_HALF; ++d) {
        counters[RADIX_COUNTER(d * H_LOCAL + t)] = 0;
      }
      RADIX_UNROLL for (int j = 0; j < H_SHARE; ++j) {
        const H_INT p = t * H_SHARE + j;
        if (p < count) {
          const H_INT d = H_DIGIT(own[j]) >> shift & (RADIX_HALF - 1);
          const ushort met = counters[RADIX_COUNTER(d * H_LOCAL + t)];
          counters[RADIX_COUNTER(d * H_LOCAL + t)] = met + 1;
          places[j] = met;
        }
      }
      RADIX_BARRIER;
      uint sum_of_own = 0;
      RADIX_UNROLL for (int d = 0; d < RADIX_HALF; ++d) {
        sum_of_own += counters[RADIX_COUNTER(t * RADIX_HALF + d)];
      }
      RADIX_SUM(sum_of_own)
      uint before = sums[at + t] - sum_of_own;
      RADIX_UNROLL for (int d = 0; d < RADIX_HALF; ++d) {
        const uint met = counters[RADIX_COUNTER(t * RADIX_HALF + d)];
        counters[RADIX_COUNTER(t * RADIX_HALF + d)] = (ushort)before;
        before += met;
      }
      RADIX_BARRIER;
      RADIX_UNROLL for (int j = 0; j < H_SHARE; ++j) {
        const H_INT p = t * H_SHARE + j;
        if (p < count) {
          const H_INT d = H_DIGIT(own[j]) >> shift & (RADIX_HALF - 1);
          places[j] += counters[RADIX_COUNTER(d * H_LOCAL + t)];
        }
      }
      RADIX_BARRIER;
      RADIX_UNROLL for (int j = 0; j < H_SHARE; ++j) {
        const H_INT p = t * H_SHARE + j;
        if (p < count) records[places[j]] = own[j];
      }
    }
    RADIX_BARRIER;
    for (H_INT p = t; p < count; p += H_LOCAL) {
      const H_INT d = H_DIGIT(records[p]);
      H_INT last = d;
      if (p > 0) last = H_DIGIT(records[p - 1]);
      if (d != last) begins[d] = (uint)p;
#if H_TILES > 1
      if (d != last) ends[last] = (uint)p;
      if (p + 1 == count) ends[d] = (uint)count;
#endif
    }
    RADIX_BARRIER;
    RADIX_UNROLL for (int j = 0; j < H_SHARE; ++j) {
      const H_INT p = j * H_LOCAL + t;
      if (p < count) {
        const H_T r = records[p];
        const H_INT d = H_DIGIT(r), place = (H_INT)(bases[d] + (uint)p - begins[d]);
        H_OUT(row, place, r);
      }
    }
#if H_TILES > 1
    RADIX_BARRIER;
    for (H_INT d = t; d < RADIX_DIGITS; d += H_LOCAL) bases[d] += ends[d] - begins[d];
#endif
  }
#endif
#endif
}
#undef RADIX_DIGITS
#undef RADIX_HALF
#undef RADIX_TILE
#undef RADIX_UNROLL
#undef RADIX_BARRIER
#undef RADIX_COUNTER
#undef RADIX_POOL
#undef RADIX_RECORDS
#undef RADIX_COUNTERS
#undef RADIX_SUM

/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort/sort_radix.cl: one digit of a stable radix sort of records along rows.
 *
 * A group takes a piece of a row, each work item of it neighbouring records. The first kernel counts how
 * often each digit occurs in each piece; the second turns the counts of a row, which lie by digit and then
 * by piece, into sums of all that come before; the third puts records where these say.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_STEP     0: count, 1: sum, 2: put             H_COUNTS  where counts are (global memory)
 *   H_T        a record's type                      H_DIGIT(r) a record's digit
 *   H_IN(row, i) record i of a row                  H_OUT(row, i, r) puts it there
 *   H_ROWS H_N rows, and records in each            H_DIGITS  digits that there are
 *   H_PIECES   pieces of a row                      H_SHARE   records that a work item takes
 *   H_LOCAL    work items of a group */
#ifndef H_NAME
#define H_NAME sort_radix_example
#define H_PARAMS __global const uint *in_, __global uint *out_, __global uint *counts_
#define H_POINTERS
#define H_INT int
#define H_STEP 2
#define H_COUNTS counts_
#define H_T uint
#define H_DIGIT(r) ((r) & 15)
#define H_IN(row, i) in_[(row) * 100 + (i)]
#define H_OUT(row, i, r) out_[(row) * 100 + (i)] = (r)
#define H_ROWS 3
#define H_N 100
#define H_DIGITS 16
#define H_PIECES 2
#define H_SHARE 8
#define H_LOCAL 8
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT t = (H_INT)get_local_id(0), group = (H_INT)get_group_id(0);
#if H_STEP == 1
  __local uint sums[H_LOCAL];
  const H_INT all = (H_INT)H_DIGITS * H_PIECES, share = (all + H_LOCAL - 1) / H_LOCAL;
  const H_INT first = t * share < all ? t * share : all;
  const H_INT end = first + share < all ? first + share : all;
  __global uint *counts = H_COUNTS + group * all;
  uint sum = 0;
  for (H_INT i = first; i < end; ++i) sum += counts[i];
  sums[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = 0;
  for (H_INT i = 0; i < t; ++i) sum += sums[i];
  for (H_INT i = first; i < end; ++i) {
    const uint count = counts[i];
    counts[i] = sum;
    sum += count;
  }
#else
  /* How often each work item meets each digit; then where the next one of it goes. */
  __local uint bins[H_DIGITS * H_LOCAL];
  const H_INT row = group / H_PIECES, piece = group % H_PIECES;
  __global uint *counts = H_COUNTS + row * (H_DIGITS * H_PIECES) + piece;
  H_INT first = (piece * H_LOCAL + t) * H_SHARE;
  first = first < H_N ? first : H_N;
  const H_INT end = first + H_SHARE < H_N ? first + H_SHARE : H_N;
#if H_STEP == 0 || H_LOCAL > 1
  for (H_INT d = 0; d < H_DIGITS; ++d) bins[d * H_LOCAL + t] = 0;
  for (H_INT i = first; i < end; ++i) {
    const H_T r = H_IN(row, i);
    bins[H_DIGIT(r) * H_LOCAL + t] += 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  for (H_INT d = t; d < H_DIGITS; d += H_LOCAL) {
#if H_STEP == 0
    uint sum = 0;
    for (H_INT i = 0; i < H_LOCAL; ++i) sum += bins[d * H_LOCAL + i];
    counts[d * H_PIECES] = sum;
#else
    uint place = counts[d * H_PIECES];
    for (H_INT i = 0; i < H_LOCAL; ++i) {
#if H_LOCAL > 1
      const uint count = bins[d * H_LOCAL + i];
#else
      const uint count = 0;
#endif
      bins[d * H_LOCAL + i] = place;
      place += count;
    }
#endif
  }
#if H_STEP == 2
  barrier(CLK_LOCAL_MEM_FENCE);
  for (H_INT i = first; i < end; ++i) {
    const H_T r = H_IN(row, i);
    const H_INT place = (H_INT)bins[H_DIGIT(r) * H_LOCAL + t]++;
    H_OUT(row, place, r);
  }
#endif
#endif
}

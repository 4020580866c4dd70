/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort/sort_radix.cl: one digit of a stable radix sort of records along rows, for CPUs.
 *
 * A group of one work item takes a piece of a row. The first kernel counts how often each digit occurs in each piece; the second turns the
 * counts of a row, which lie by digit and then by piece, into sums of all that come before; the third puts records where
 * these say.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_STEP     0: count, 1: sum, 2: put             H_COUNTS  where counts are (global memory)
 *   H_T        a record's type                      H_DIGIT(r) a record's digit
 *   H_IN(row, i) record i of a row                  H_OUT(row, i, r) puts it there
 *   H_ROWS H_N rows, and records in each            H_DIGITS  digits that there are
 *   H_PIECES   pieces of a row                      H_SHARE   records of a piece */
#ifndef H_NAME
#define H_NAME sort_radix_example
#define H_PARAMS __global const uint *in_, __global uint *out_, __global uint *counts_
#define H_POINTERS
#define H_INT int
#define H_STEP 2
#define H_COUNTS counts_
#define H_T uint
#define H_DIGIT(r) ((r)&15)
#define H_IN(row, i) in_[(row)*100 + (i)]
#define H_OUT(row, i, r) out_[(row)*100 + (i)] = (r)
#define H_ROWS 3
#define H_N 100
#define H_DIGITS 16
#define H_PIECES 2
#define H_SHARE 64
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_group_id(0);
#if H_STEP == 1
  const H_INT all = (H_INT)H_DIGITS * H_PIECES;
  __global uint *counts = H_COUNTS + item * all;
  uint sum = 0;
  for (H_INT i = 0; i < all; ++i) {
    const uint count = counts[i];
    counts[i] = sum;
    sum += count;
  }
#else
  /* How often each digit is met; then where the next one of it goes. */
  __local uint bins[H_DIGITS];
  const H_INT row = item / H_PIECES, piece = item % H_PIECES;
  __global uint *counts = H_COUNTS + row * (H_DIGITS * H_PIECES) + piece;
  H_INT first = piece * H_SHARE;
  first = first < H_N ? first : H_N;
  const H_INT end = first + H_SHARE < H_N ? first + H_SHARE : H_N;
#if H_STEP == 0
  for (H_INT d = 0; d < H_DIGITS; ++d) bins[d] = 0;
  for (H_INT i = first; i < end; ++i) {
    const H_T r = H_IN(row, i);
    bins[H_DIGIT(r)] += 1;
  }
  for (H_INT d = 0; d < H_DIGITS; ++d) counts[d * H_PIECES] = bins[d];
#else
  for (H_INT d = 0; d < H_DIGITS; ++d) bins[d] = counts[d * H_PIECES];
  for (H_INT i = first; i < end; ++i) {
    const H_T r = H_IN(row, i);
    const H_INT place = (H_INT)bins[H_DIGIT(r)]++;
    H_OUT(row, place, r);
  }
#endif
#endif
}

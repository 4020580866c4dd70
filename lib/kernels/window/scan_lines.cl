/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/scan_lines.cl: running combinations along the rows of a row-major [outer, n] array, as scan.cl, by
 * lines of neighbours that are vectors: within a line each step combines twice as many, and what comes before a
 * line waits for one operation only. Rows are cut into chunks. The first kernel combines each chunk, the third goes
 * through the chunks once more; the second, what comes before each chunk, is scan.cl's. Combining is commutative.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_T        the accumulator's type               H_OP(a, b) combines two
 *   H_WIDTH    elements of a line: 8 or 16          H_LINE    its type
 *   H_MASK     the type of as many integers of the same size
 *   H_LINE_OP(a, b) combines two lines, element by element
 *   H_IN(p)    the value at position p              H_OUT(p, v) finishes and stores result p
 *   H_START(s) the initial value                    H_HELD(s) what comes before chunk s,
 *   H_HOLD(s, v) and keeping what it gives
 *   H_STEP     0: combine chunks, 2: results
 *   H_OUTER H_N sizes                               H_CHUNK H_CHUNKS along n; H_CHUNK >= H_WIDTH
 *   H_REVERSE  1: from the end
 *   H_LANES    chunks of a work item
 *   H_LOADS    1: H_INV(p) is the line of values from p on
 *   H_STORES   1: H_OUTV(p, v) stores the line of results from p on */
#ifndef H_NAME
#define H_NAME scan_lines_example
#define H_PARAMS __global const float *in_, __global float *held_, __global float *out_
#define H_POINTERS
#define H_INT long
#define H_T float
#define H_OP(a, b) ((a) + (b))
#define H_WIDTH 16
#define H_LINE float16
#define H_MASK int16
#define H_LINE_OP(a, b) ((a) + (b))
#define H_IN(p) in_[p]
#define H_OUT(p, v) out_[p] = (v)
#define H_START(s) 0
#define H_HELD(s) held_[s]
#define H_HOLD(s, v) held_[s] = (v)
#define H_STEP 2
#define H_OUTER 2
#define H_N 40
#define H_CHUNK 24
#define H_CHUNKS 2
#define H_REVERSE 0
#define H_LANES 2
#define H_LOADS 0
#define H_STORES 0
#endif

#include "lines.clh"
/* Each step gives every second run of elements what the run before it ends with. */
#if H_WIDTH == 16
#define LINES_TURN(v) v.sfedcba9876543210
#define LINES_LAST(v) v.sf
#define LINES_STEPS(v) \
  LINES_STEP(v, v.s0022446688aaccee, (H_MASK)(0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1)) \
  LINES_STEP(v, v.s011145558999cddd, (H_MASK)(0, 0, -1, -1, 0, 0, -1, -1, 0, 0, -1, -1, 0, 0, -1, -1)) \
  LINES_STEP(v, v.s0123333389abbbbb, (H_MASK)(0, 0, 0, 0, -1, -1, -1, -1, 0, 0, 0, 0, -1, -1, -1, -1)) \
  LINES_STEP(v, v.s0123456777777777, (H_MASK)(0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1))
#else
#define LINES_TURN(v) v.s76543210
#define LINES_LAST(v) v.s7
#define LINES_STEPS(v) \
  LINES_STEP(v, v.s00224466, (H_MASK)(0, -1, 0, -1, 0, -1, 0, -1)) \
  LINES_STEP(v, v.s01114555, (H_MASK)(0, 0, -1, -1, 0, 0, -1, -1)) \
  LINES_STEP(v, v.s01233333, (H_MASK)(0, 0, 0, 0, -1, -1, -1, -1))
#endif
#define LINES_STEP(v, before, mask) { const H_LINE both = H_LINE_OP(before, v); v = (mask) ? both : v; }
#if H_LOADS
#define LINES_IN(v, p) v = H_INV(p);
#else
#define LINES_IN(v, p) { \
  H_T x[H_WIDTH]; \
  LINES_SIDE for (int j = 0; j < H_WIDTH; ++j) x[j] = H_IN((p) + j); \
  v = LINES_VLOAD(0, x); \
}
#endif
/* Element i of a sequence, and the line from there on, in the sequence's order. */
#if H_REVERSE
#define LINES_AT(at, i) ((at) - (i))
#define LINES_FIRST(at, i) ((at) - (i) - (H_WIDTH - 1))
#define LINES_ORDER(v) LINES_TURN(v)
#else
#define LINES_AT(at, i) ((at) + (i))
#define LINES_FIRST(at, i) ((at) + (i))
#define LINES_ORDER(v) v
#endif
/* Line i of sequence l. What is combined of the chunk stays apart from what comes before the chunk, so that sums of
 * many lines round less often. */
#if H_STEP == 0
#define LINES_DO(l, i, first) { \
  H_LINE v; \
  LINES_IN(v, LINES_FIRST(at[l], i)) \
  if (first) sums[l] = v; else sums[l] = H_LINE_OP(sums[l], v); \
}
#else
#define LINES_DO(l, i, first) { \
  const H_INT p = LINES_FIRST(at[l], i); \
  H_LINE v; \
  LINES_IN(v, p) \
  v = LINES_ORDER(v); \
  LINES_STEPS(v) \
  const H_LINE whole = (H_LINE)(LINES_LAST(v)); \
  if (!(first)) v = H_LINE_OP(sums[l], v); \
  if (first) sums[l] = whole; else sums[l] = H_LINE_OP(sums[l], whole); \
  const H_LINE done = H_LINE_OP(before[l], v); \
  LINES_OUT(p, LINES_ORDER(done)) \
}
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT all = (H_INT)H_OUTER * H_CHUNKS;
  const H_INT low = (H_INT)get_global_id(0) * H_LANES;
  if (low >= all) return;
  H_LINE sums[H_LANES];
#if H_STEP == 2
  H_LINE before[H_LANES];
#endif
  /* Where each sequence begins, and how many elements it has; as many as all of them have. */
  H_INT at[H_LANES], size[H_LANES], least = H_CHUNK;
  LINES_UNROLL for (int l = 0; l < H_LANES; ++l) {
    const H_INT s = low + l < all ? low + l : all - 1;
    const H_INT start = s % H_CHUNKS * H_CHUNK;
    at[l] = s / H_CHUNKS * H_N + (H_REVERSE ? H_N - 1 - start : start);
    size[l] = H_N - start < H_CHUNK ? H_N - start : H_CHUNK;
    if (low + l >= all) size[l] = 0;
    if (size[l] < least) least = size[l];
#if H_STEP == 2
    before[l] = (H_LINE)(H_CHUNKS > 1 ? H_HELD(s) : H_START(0));
#endif
    if (size[l] >= H_WIDTH) LINES_DO(l, 0, true)
  }
  H_INT i = H_WIDTH;
  for (; i + H_WIDTH <= least; i += H_WIDTH) {
    LINES_UNROLL for (int l = 0; l < H_LANES; ++l) LINES_DO(l, i, false)
  }
  LINES_UNROLL for (int l = 0; l < H_LANES; ++l) {
    H_INT k = i;
#if H_N % H_CHUNK != 0 || H_OUTER * H_CHUNKS % H_LANES != 0
    for (; k + H_WIDTH <= size[l]; k += H_WIDTH) LINES_DO(l, k, false)
#endif
#if H_STEP == 0
    if (low + l >= all) continue;
    H_T sum;
    if (size[l] >= H_WIDTH) {
      H_LINE v = sums[l];
      LINES_STEPS(v)
      sum = LINES_LAST(v);
    } else {
      k = 1;
      sum = H_IN(at[l]);
    }
    for (; k < size[l]; ++k) sum = H_OP(sum, H_IN(LINES_AT(at[l], k)));
    H_HOLD(low + l, sum);
#elif H_N % H_WIDTH != 0 || H_CHUNK % H_WIDTH != 0
    H_T sum = LINES_LAST(before[l]);
    if (size[l] >= H_WIDTH) {
      sum = H_OP(sum, LINES_LAST(sums[l]));
    } else {
      k = 0;
    }
    for (; k < size[l]; ++k) {
      sum = H_OP(sum, H_IN(LINES_AT(at[l], k)));
      H_OUT(LINES_AT(at[l], k), sum);
    }
#endif
  }
}
#undef LINES_IN
#undef LINES_TURN
#undef LINES_VLOAD
#undef LINES_VSTORE
#undef LINES_SIDE
#undef LINES_LAST
#undef LINES_AT
#undef LINES_FIRST
#undef LINES_ORDER
#undef LINES_UNROLL
#undef LINES_STEP
#undef LINES_STEPS
#undef LINES_DO
#undef LINES_OUT

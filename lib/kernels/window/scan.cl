/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/scan.cl: running combinations along the middle of a row-major [outer, n, inner] array, which is
 * cut into chunks. The first kernel combines each chunk, the second what these give, so that each chunk
 * knows what comes before it, and the third goes through the chunks once more. A work item has several of
 * them at once, so that they need not wait for each other.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_T        the accumulator's type               H_OP(a, b) combines two
 *   H_IN(p)    the value at position p              H_OUT(p, v) finishes and stores result p
 *   H_START(s) the initial value                    H_HELD(s) what is kept of sequence s,
 *   H_HOLD(s, v) and keeping it
 *   H_STEP     0: combine chunks, 1: what comes before them, 2: results
 *   H_OUTER H_N H_INNER sizes                       H_CHUNK H_CHUNKS along n
 *   H_REVERSE  1: from the end, where what is met later stands to the left
 *   H_LANES    sequences (outer, chunk, inner) of a work item
 *   H_LINE     elements of a sequence that are combined side by side: 1 or a multiple of 4
 *   H_SIDE     1: its sequences go on together, each in a lane of a vector; the last one may be there more than
 *              once
 *   H_SHORT    1: H_INNER and H_CHUNKS are 1, and rows are written out
 *   H_STREAM   1: H_OUTV(p, line) stores H_LINE neighbouring results from p on; sizes of chunks, or
 *              H_LANES where a work item has neighbouring columns, are multiples of H_LINE
 *   H_LOCAL    work items of a group of the second kernel */
#ifndef H_NAME
#define H_NAME scan_example
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
#define H_STEP 2
#define H_OUTER 2
#define H_N 40
#define H_INNER 3
#define H_CHUNK 8
#define H_CHUNKS 5
#define H_REVERSE 0
#define H_LANES 3
#define H_LINE 1
#define H_SIDE 0
#define H_SHORT 0
#define H_STREAM 0
#define H_LOCAL 1
#endif

#if H_REVERSE
#define SCAN_OP(a, b) H_OP(b, a)
#else
#define SCAN_OP(a, b) H_OP(a, b)
#endif
#define SCAN_RUN 16
#define SCAN_UNROLL _Pragma("unroll")
#if H_SIDE
#define SCAN_TAIL(size) (least > begin ? least : begin)
#else
#define SCAN_TAIL(size) (begin + (H_LINE > 1 && size > 0 ? (size - begin) / H_LINE * H_LINE : 0))
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
#if H_STEP == 1 && H_LOCAL == 1
  /* Runs of some chunks by themselves and then what comes before them: sums of many round less often. */
  const H_INT line = (H_INT)get_group_id(0);
  const H_INT base = line / H_INNER * (H_INNER * H_CHUNKS) + line % H_INNER;
  H_T before = H_START(0);
  for (H_INT first = 0; first < H_CHUNKS; first += SCAN_RUN) {
    const H_INT end = first + SCAN_RUN < H_CHUNKS ? first + SCAN_RUN : H_CHUNKS;
    H_T sum = H_HELD(base + first * H_INNER);
    H_HOLD(base + first * H_INNER, before);
    for (H_INT k = first + 1; k < end; ++k) {
      const H_T own = H_HELD(base + k * H_INNER);
      H_HOLD(base + k * H_INNER, SCAN_OP(before, sum));
      sum = SCAN_OP(sum, own);
    }
    before = SCAN_OP(before, sum);
  }
#elif H_STEP == 1
  __local H_T sums[H_LOCAL];
  const H_INT t = (H_INT)get_local_id(0), line = (H_INT)get_group_id(0);
  const H_INT base = line / H_INNER * (H_INNER * H_CHUNKS) + line % H_INNER;
  const H_INT share = (H_CHUNKS + H_LOCAL - 1) / H_LOCAL, first = t * share;
  const H_INT end = first + share < H_CHUNKS ? first + share : H_CHUNKS;
  if (first < end) {
    H_T sum = H_HELD(base + first * H_INNER);
    for (H_INT k = first + 1; k < end; ++k) sum = SCAN_OP(sum, H_HELD(base + k * H_INNER));
    sums[t] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (first < end) {
    H_T sum = H_START(0);
    for (H_INT k = 0; k < t; ++k) sum = SCAN_OP(sum, sums[k]);
    for (H_INT k = first; k < end; ++k) {
      const H_T own = H_HELD(base + k * H_INNER);
      H_HOLD(base + k * H_INNER, sum);
      sum = SCAN_OP(sum, own);
    }
  }
#else
  const H_INT all = (H_INT)H_OUTER * H_CHUNKS * H_INNER;
  const H_INT low = (H_INT)get_global_id(0) * H_LANES;
  if (low >= all) return;
#if H_SHORT
  const H_INT end = low + H_LANES < all ? low + H_LANES : all;
  for (H_INT s = low; s < end; ++s) {
    H_T sum = H_START(0);
    SCAN_UNROLL for (int i = 0; i < H_N; ++i) {
      const H_INT p = s * H_N + (H_REVERSE ? H_N - 1 - i : i);
      sum = SCAN_OP(sum, H_IN(p));
      H_OUT(p, sum);
    }
  }
#else
  const H_INT step = H_REVERSE ? -H_INNER : H_INNER;
  H_T sums[H_LANES + 64 / sizeof(H_T)]; /* halo_private_room says what for */
  /* Where each sequence begins, and how many elements it has. */
  H_INT at[H_LANES], size[H_LANES];
  for (H_INT l = 0; l < H_LANES; ++l) {
    const H_INT s = low + l < all ? low + l : all - 1;
    const H_INT chunk = s / H_INNER % H_CHUNKS, first = chunk * H_CHUNK;
    const H_INT row = s / H_INNER / H_CHUNKS * H_N + (H_REVERSE ? H_N - 1 - first : first);
    at[l] = row * H_INNER + s % H_INNER;
    size[l] = H_N - first < H_CHUNK ? H_N - first : H_CHUNK;
#if !H_SIDE
    if (low + l >= all) size[l] = 0;
#endif
  }
  /* Results begin with what comes before the chunk, sums of chunks with the first element. */
  const H_INT begin = H_STEP == 0;
  for (H_INT l = 0; l < H_LANES; ++l) {
#if H_STEP == 0
    sums[l] = H_IN(at[l]);
#else
    sums[l] = H_CHUNKS > 1 ? H_HELD(low + l < all ? low + l : all - 1) : H_START(0);
#endif
  }
#if H_INNER % H_LANES == 0 && H_INNER > 1
  /* Neighbouring columns of one chunk. */
  H_INT p = at[0] + begin * step;
  for (H_INT i = begin; i < size[0]; ++i, p += step) {
#if H_STEP == 2 && H_STREAM
    for (H_INT m = 0; m < H_LANES; m += H_LINE) {
      H_T line[H_LINE];
      for (H_INT l = 0; l < H_LINE; ++l) {
        line[l] = SCAN_OP(sums[m + l], H_IN(p + m + l));
        sums[m + l] = line[l];
      }
      H_OUTV(p + m, line);
    }
#else
    for (H_INT l = 0; l < H_LANES; ++l) {
      sums[l] = SCAN_OP(sums[l], H_IN(p + l));
#if H_STEP == 2
      H_OUT(p + l, sums[l]);
#endif
    }
#endif
  }
#else
#if H_SIDE
  H_INT least = H_CHUNK;
  for (H_INT l = 0; l < H_LANES; ++l) least = size[l] < least ? size[l] : least;
  for (H_INT i = begin; i < least; ++i) {
    _Pragma("clang loop unroll(disable) vectorize_width(H_LANES)")
    for (int l = 0; l < H_LANES; ++l) {
      const H_INT p = at[l] + i * step;
      sums[l] = SCAN_OP(sums[l], H_IN(p));
#if H_STEP == 2
      H_OUT(p, sums[l]);
#endif
    }
  }
#elif H_LINE > 1
  for (H_INT i = begin; i + H_LINE <= H_CHUNK; i += H_LINE) {
    for (H_INT l = 0; l < H_LANES; ++l) {
      if (i + H_LINE > size[l]) continue;
      H_T line[H_LINE];
      SCAN_UNROLL for (int j = 0; j < H_LINE; ++j) line[j] = H_IN(at[l] + (i + j) * step);
#if H_STEP == 0
      SCAN_UNROLL for (int m = 1; m < H_LINE; m *= 2) {
        SCAN_UNROLL for (int j = 0; j < H_LINE; j += 2 * m) line[j] = SCAN_OP(line[j], line[j + m]);
      }
      sums[l] = SCAN_OP(sums[l], line[0]);
#else
      /* Runs of four side by side, and then what comes before each. */
      SCAN_UNROLL for (int j = 1; j < H_LINE; ++j) {
        if (j % 4 > 0) line[j] = SCAN_OP(line[j - 1], line[j]);
      }
      SCAN_UNROLL for (int j = 4; j < H_LINE; ++j) line[j] = SCAN_OP(line[j / 4 * 4 - 1], line[j]);
      SCAN_UNROLL for (int j = 0; j < H_LINE; ++j) line[j] = SCAN_OP(sums[l], line[j]);
      sums[l] = line[H_LINE - 1];
#if H_STREAM && H_REVERSE
      H_T turned[H_LINE];
      SCAN_UNROLL for (int j = 0; j < H_LINE; ++j) turned[j] = line[H_LINE - 1 - j];
      H_OUTV(at[l] - i - (H_LINE - 1), turned);
#elif H_STREAM
      H_OUTV(at[l] + i, line);
#else
      SCAN_UNROLL for (int j = 0; j < H_LINE; ++j) H_OUT(at[l] + (i + j) * step, line[j]);
#endif
#endif
    }
  }
#endif
  for (H_INT l = 0; l < H_LANES; ++l) {
    for (H_INT i = SCAN_TAIL(size[l]); i < size[l]; ++i) {
      sums[l] = SCAN_OP(sums[l], H_IN(at[l] + i * step));
#if H_STEP == 2
      H_OUT(at[l] + i * step, sums[l]);
#endif
    }
  }
#endif
#if H_STEP == 0
  for (H_INT l = 0; l < H_LANES; ++l) {
    if (low + l < all) H_HOLD(low + l, sums[l]);
  }
#endif
#endif
#endif
}
#undef SCAN_OP
#undef SCAN_RUN
#undef SCAN_UNROLL
#undef SCAN_TAIL

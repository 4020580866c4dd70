/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort/topk.cl: the first records of each piece of a row, in order, one work item a piece.
 *
 * They are kept in a heap with the last of them on top, so that most records cost one comparison.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_T        a record's type                      H_BEFORE(a, b) whether a comes before b
 *   H_IN(row, i) record i of a row                  H_OUT(row, i, r) hands one on
 *   H_ROWS H_N rows, and records in each            H_PIECES  pieces of a row, of H_SHARE records
 *   H_KEEP     records that are kept of each piece; the last one may have fewer */
#ifndef H_NAME
#define H_NAME topk_example
#define H_PARAMS __global const float *in_, __global float *out_
#define H_POINTERS
#define H_INT int
#define H_T float
#define H_BEFORE(a, b) ((a) < (b))
#define H_IN(row, i) in_[(row) * 100 + (i)]
#define H_OUT(row, i, r) out_[(row) * 10 + (i)] = (r)
#define H_ROWS 3
#define H_N 100
#define H_PIECES 2
#define H_SHARE 50
#define H_KEEP 5
#endif

/* Records that are looked at together: mostly none of them is kept. */
#define TOPK_STRIP 16
/* Puts a record in at a place of the heap or below it, where what lies above comes later. */
#define TOPK_SINK(place, size, record)                                                             \
  {                                                                                                \
    H_INT at = place, below = 2 * at + 1;                                                          \
    while (below < (size)) {                                                                       \
      if (below + 1 < (size) && H_BEFORE(heap[below], heap[below + 1])) ++below;                   \
      const int sinks = H_BEFORE(record, heap[below]);                                             \
      heap[at] = sinks ? heap[below] : record;                                                     \
      at = sinks ? below : at;                                                                     \
      below = sinks ? 2 * below + 1 : (size);                                                      \
    }                                                                                              \
    heap[at] = record;                                                                             \
  }
#define TOPK_TAKE(record)                                                                          \
  if (H_BEFORE(record, heap[0])) TOPK_SINK(0, keep, record)

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_global_id(0);
  if (item >= (H_INT)H_ROWS * H_PIECES) return;
  const H_INT row = item / H_PIECES, piece = item % H_PIECES;
  const H_INT first = piece * H_SHARE, end = first + H_SHARE < H_N ? first + H_SHARE : H_N;
  const H_INT keep = end - first < H_KEEP ? end - first : H_KEEP;
  H_T heap[H_KEEP + 64 / sizeof(H_T)]; /* halo_private_room says what for */
  for (H_INT i = 0; i < keep; ++i) heap[i] = H_IN(row, first + i);
  for (H_INT i = keep / 2 - 1; i >= 0; --i) {
    const H_T r = heap[i];
    TOPK_SINK(i, keep, r)
  }
  H_INT i = first + keep;
  for (; i + TOPK_STRIP <= end; i += TOPK_STRIP) {
    const H_T last = heap[0];
    int any = 0;
    for (H_INT j = 0; j < TOPK_STRIP; ++j) any |= H_BEFORE(H_IN(row, i + j), last);
    if (any) {
      for (H_INT j = 0; j < TOPK_STRIP; ++j) {
        const H_T r = H_IN(row, i + j);
        TOPK_TAKE(r)
      }
    }
  }
  for (; i < end; ++i) {
    const H_T r = H_IN(row, i);
    TOPK_TAKE(r)
  }
  for (H_INT left = keep - 1; left > 0; --left) {
    const H_T r = heap[left];
    heap[left] = heap[0];
    TOPK_SINK(0, left, r)
  }
  for (H_INT j = 0; j < keep; ++j) H_OUT(row, piece * H_KEEP + j, heap[j]);
}
#undef TOPK_STRIP
#undef TOPK_SINK
#undef TOPK_TAKE

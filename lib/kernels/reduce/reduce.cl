/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/reduce/reduce.cl: reductions of a row-major [outer, n, inner] array over n.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_T       the accumulator's type
 *   H_IN(o, r, c) the value at [o, r, c]            H_OP(a, b) combines two accumulators
 *   H_OUT(p, v) finishes and stores result p        H_INTO(a, v) { } that sets an accumulator to a value
 *   H_N H_INNER sizes of the reduced and inner part; H_OUTER of the outer
 *   H_CHUNK    part of n that one work item or group takes; H_CHUNKS = ceil(n / chunk)
 *   H_LANES    independent accumulators of a work item; H_LOCAL the work-group size
 *   H_ROOM     H_LANES, or more: whole lines of H_SPAN
 *   H_SIDE     the type of H_ROOM accumulators, H_GET(l, j) one of them, H_SET(l, j, v) sets it
 *   H_ROWS     rows that one work item takes side by side (1: the plain kernel)
 *   H_STREAMS  rows that a strip of columns takes in one step
 *   H_NARROW   1: these columns are all there are, few whole lines of H_SPAN, whose sums are registers
 *   H_FEW      1: columns are so short that what combines one is written out
 *   H_COPIES   of what H_SPAN sums, how often the text for a row is there in a step
 *   H_SPAN    0, or: accumulators are sums, which are kept in lines of so many neighbours. H_LINE is the type
 *              of a line of accumulators, H_LINE_NONE(l) makes it a sum of nothing, H_LINE_ADD(l, o, r, c) adds
 *              the elements from [o, r, c] on, H_LINE_LAST(l, o, r, c, skip) without the first `skip` of them,
 *              H_LINE_JOIN(l, m) adds another line, H_LINE_TOTAL(l, v) sets v to its sum, H_LINE_GET(l, s, j),
 *              H_LINE_SET(l, s, j) move it from and to an H_SIDE; H_NONE is one sum of nothing
 *   H_COLUMNS  1: the kernel for inner > 1, else the one for rows
 *   H_WIDE     0, or: the work items of a group share the rows of so many columns (a power of two)
 *   H_BESIDE   rows that a group takes, each by H_LOCAL of its work items
 *   H_STRETCH  0, or: so many rows of columns are combined by themselves, then what these give, so that long sums keep
 *              their digits
 *   H_ORDERED  1: H_OP is only associative: its left argument must come before its right one */
#ifndef H_NAME
#define H_NAME reduce_example
#define H_PARAMS __global const float *in_, __global float *out_
#define H_POINTERS
#define H_T float
#define H_IN(o, r, c) in_[((o) * H_N + (r)) * H_INNER + (c)]
#define H_OP(a, b) ((a) + (b))
#define H_OUT(p, v) out_[p] = (v)
#define H_INTO(a, v) (a) = (v);
#define H_SIDE struct { float m0[H_ROOM]; }
#define H_GET(l, j) (l).m0[j]
#define H_SET(l, j, v) (l).m0[j] = (v)
#define H_N 64
#define H_INNER 1
#define H_OUTER 4
#define H_CHUNK 64
#define H_CHUNKS 1
#define H_LANES 1
#define H_ROOM 1
#define H_LOCAL 8
#define H_COLUMNS 0
#define H_WIDE 0
#define H_BESIDE 1
#define H_STRETCH 0
#define H_ROWS 1
#define H_STREAMS 1
#define H_COPIES 1
#define H_NARROW 0
#define H_FEW 0
#define H_SPAN 0
#define H_NONE 0
#define H_ORDERED 0
#define H_INT int
#define H_ROLLED
#define H_SINGLE
#endif

#if H_COLUMNS
/* Each work item takes H_LANES neighbouring columns of one chunk, so that a step reads one piece of a
 * row; or a work group takes H_WIDE of them, whose rows its work items divide among themselves. Result
 * order: chunk, outer, inner. */
__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
#if H_WIDE
  const H_INT strips = (H_INNER + H_WIDE - 1) / H_WIDE, item = (H_INT)get_group_id(0);
#else
  const H_INT strips = (H_INNER + H_LANES - 1) / H_LANES, item = (H_INT)get_global_id(0);
#endif
  if (item >= strips * H_OUTER * H_CHUNKS) return; /* the whole group or none of it */
  const H_INT strip = item % strips, rest = item / strips;
  const H_INT outer = rest % H_OUTER, chunk = rest / H_OUTER;
#if H_WIDE
  __local H_T shared[H_LOCAL];
  const int lid = (int)get_local_id(0), slices = H_LOCAL / H_WIDE, slice = lid / H_WIDE;
  const H_INT wanted = strip * H_WIDE + lid % H_WIDE;
  const H_INT column = wanted < H_INNER ? wanted : H_INNER - 1;
  const H_INT rows = H_N - chunk * H_CHUNK < H_CHUNK ? H_N - chunk * H_CHUNK : H_CHUNK;
  const H_INT piece = (rows + slices - 1) / slices;
  const int live = (int)((rows + piece - 1) / piece); /* slices that have rows */
  const H_INT begin = chunk * H_CHUNK + (slice < live ? slice * piece : 0);
  const H_INT beyond = chunk * H_CHUNK + rows;
  const H_INT last = begin + piece < beyond ? begin + piece : beyond;
#else
  const H_INT column = strip * H_LANES;
  const H_INT begin = chunk * H_CHUNK;
  const H_INT last = begin + H_CHUNK < H_N ? begin + H_CHUNK : H_N;
#endif
  const H_INT out = (chunk * H_OUTER + outer) * H_INNER + column;
#if H_STRETCH
#define H_STRETCHES for (H_INT first = begin, end; first < last; first = end)
#define H_STRETCH_END end = last - first < H_STRETCH ? last : first + H_STRETCH;
#else
#define H_STRETCHES
#define H_STRETCH_END const H_INT first = begin, end = last;
#endif
#if H_LANES == 1
  H_T acc;
#if H_STRETCH
  H_T total;
#endif
  H_STRETCHES {
    H_STRETCH_END
    H_INTO(acc, H_IN(outer, first, column))
    for (H_INT r = first + 1; r < end; ++r) H_INTO(acc, H_OP(acc, H_IN(outer, r, column)))
#if H_STRETCH
    if (first > begin) H_INTO(acc, H_OP(total, acc))
    H_INTO(total, acc)
#endif
  }
#if H_WIDE
  H_INTO(shared[lid], acc)
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = 1; width < slices; width *= 2) {
    if (slice % (2 * width) == 0 && slice + width < live) {
      H_INTO(shared[lid], H_OP(shared[lid], shared[lid + width * H_WIDE]))
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if ((slice == 0) & (wanted < H_INNER)) H_OUT(out, shared[lid]);
#else
  H_OUT(out, acc);
#endif
#else
/* Sums of a few lanes stay in registers only where the loops over lanes are written out. */
#if H_INNER % H_LANES == 0 && H_LANES <= 8
#define H_EACH_LANE _Pragma("unroll")
#else
#define H_EACH_LANE H_SINGLE
#endif
#if H_INNER % H_LANES == 0
  const int lanes = H_LANES;
#else
  const int lanes = H_INNER - column < H_LANES ? (int)(H_INNER - column) : H_LANES;
#endif
#if H_FEW
  H_SINGLE
  for (int j = 0; j < lanes; ++j) {
    H_T acc = H_IN(outer, 0, column + j);
#pragma unroll
    for (int r = 1; r < H_N; ++r) H_INTO(acc, H_OP(acc, H_IN(outer, r, column + j)))
    H_OUT(out + j, acc);
  }
#else
#if H_STRETCH && !H_NARROW
  H_SIDE acc, total;
#else
  H_SIDE acc;
#endif
#if H_NARROW
  H_LINE line[H_LANES / H_SPAN];
#if H_STRETCH
  H_LINE total[H_LANES / H_SPAN];
#pragma unroll
  for (int j = 0; j < H_LANES / H_SPAN; ++j) {
    H_LINE_NONE(total[j])
  }
#endif
  H_STRETCHES {
    H_STRETCH_END
#pragma unroll
    for (int j = 0; j < H_LANES / H_SPAN; ++j) {
      H_LINE_NONE(line[j])
    }
    H_ROLLED
    for (H_INT r = first; r < end; ++r) {
#pragma unroll
      for (int j = 0; j < H_LANES / H_SPAN; ++j) H_LINE_ADD(line[j], outer, r, j * H_SPAN)
    }
#if H_STRETCH
#pragma unroll
    for (int j = 0; j < H_LANES / H_SPAN; ++j) {
      H_LINE_JOIN(total[j], line[j])
    }
#endif
  }
#pragma unroll
  for (int j = 0; j < H_LANES / H_SPAN; ++j) {
#if H_STRETCH
    H_LINE_SET(total[j], acc, j * H_SPAN)
#else
    H_LINE_SET(line[j], acc, j * H_SPAN)
#endif
  }
#elif H_SPAN
#if H_STRETCH
  H_SINGLE
  for (int j = 0; j < H_ROOM; ++j) {
    H_SET(total, j, H_NONE);
  }
#endif
  H_STRETCHES {
    H_STRETCH_END
    H_SINGLE
    for (int j = 0; j < H_ROOM; ++j) {
      H_SET(acc, j, H_NONE);
    }
    for (H_INT r = first, rows; r < end; r += rows) {
      rows = end - r < H_STREAMS ? 1 : H_STREAMS;
      for (int j = 0; j < lanes; j += H_SPAN) {
        /* The last line may begin within the one before, or within the strip before: what both have is summed twice. */
        const H_INT at = column + (j + H_SPAN <= lanes ? j : lanes - H_SPAN);
        H_LINE line;
        H_LINE_GET(line, acc, j)
#if H_COPIES > 1
        if (rows > 1) {
#pragma unroll H_COPIES
          for (int s = 0; s < H_STREAMS; ++s) H_LINE_ADD(line, outer, r + s, at)
        } else
#endif
        {
          H_ROLLED
          for (int s = 0; s < rows; ++s) H_LINE_ADD(line, outer, r + s, at)
        }
        H_LINE_SET(line, acc, j)
      }
    }
#if H_STRETCH
    H_SINGLE
    for (int j = 0; j < H_ROOM; ++j) {
      const H_T v = H_OP(H_GET(total, j), H_GET(acc, j));
      H_SET(total, j, v);
    }
#endif
  }
#if H_STRETCH
  acc = total;
#endif
#if H_INNER % H_SPAN || H_LANES % H_SPAN
  const int whole = lanes - lanes % H_SPAN, skipped = H_SPAN - lanes % H_SPAN;
  H_ROLLED
  for (int j = whole; j < lanes; ++j) {
    const H_T v = H_GET(acc, j + skipped);
    H_SET(acc, j, v);
  }
#endif
#else
  H_STRETCHES {
    H_STRETCH_END
    H_EACH_LANE
    for (int j = 0; j < lanes; ++j) {
      const H_T v = H_IN(outer, first, column + j);
      H_SET(acc, j, v);
    }
    H_INT r = first + 1;
#if H_STREAMS > 1
    for (; r + H_STREAMS <= end; r += H_STREAMS) {
      H_EACH_LANE
      for (int j = 0; j < lanes; ++j) {
        H_T v = H_GET(acc, j);
#pragma unroll
        for (int s = 0; s < H_STREAMS; ++s) H_INTO(v, H_OP(v, H_IN(outer, r + s, column + j)))
        H_SET(acc, j, v);
      }
    }
#endif
    H_ROLLED
    for (; r < end; ++r) {
      H_EACH_LANE
      for (int j = 0; j < lanes; ++j) {
        const H_T v = H_OP(H_GET(acc, j), H_IN(outer, r, column + j));
        H_SET(acc, j, v);
      }
    }
#if H_STRETCH
    H_EACH_LANE
    for (int j = 0; j < lanes; ++j) {
      if (first > begin) {
        const H_T v = H_OP(H_GET(total, j), H_GET(acc, j));
        H_SET(acc, j, v);
      }
      const H_T v = H_GET(acc, j);
      H_SET(total, j, v);
    }
#endif
  }
#endif
  H_EACH_LANE
  for (int j = 0; j < lanes; ++j) H_OUT(out + j, H_GET(acc, j));
#endif
#endif
}
#undef H_EACH_LANE
#undef H_STRETCHES
#undef H_STRETCH_END
#elif H_ROWS > 1 || H_SPAN
/* One work item takes one chunk of H_ROWS neighbouring rows at a time: a core then reads several streams,
 * which is what it takes to use the memory's bandwidth. H_ROWS divides H_OUTER, and every chunk is at
 * least H_LANES long. Result order: chunk, row. */
__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_global_id(0), blocks = H_OUTER / H_ROWS;
  if (item >= blocks * H_CHUNKS) return;
  const H_INT row = item % blocks * H_ROWS, chunk = item / blocks;
  const H_INT first = chunk * H_CHUNK;
#if H_N % H_CHUNK == 0
  const H_INT size = H_CHUNK;
#else
  const H_INT size = H_N - chunk * H_CHUNK < H_CHUNK ? H_N - chunk * H_CHUNK : H_CHUNK;
#endif
#if H_SPAN
  H_INT c = 0;
  H_LINE line[H_ROWS * (H_LANES / H_SPAN)];
#pragma unroll
  for (int j = 0; j < H_ROWS * (H_LANES / H_SPAN); ++j) {
    H_LINE_NONE(line[j])
  }
  for (; c + H_LANES <= size; c += H_LANES) {
#pragma unroll
    for (int r = 0; r < H_ROWS; ++r) {
#pragma unroll
      for (int j = 0; j < H_LANES; j += H_SPAN) {
        H_LINE_ADD(line[r * (H_LANES / H_SPAN) + j / H_SPAN], row + r, first + c + j, 0)
      }
    }
  }
  /* What is left over is less than all lines: a line each, and the last elements as a line that begins with some
   * that were summed already. */
#if H_N % H_CHUNK || H_CHUNK % H_LANES
#pragma unroll
  for (int r = 0; r < H_ROWS; ++r) {
#pragma unroll
    for (int j = 0; j + 1 < H_LANES / H_SPAN; ++j) {
      if (c + (j + 1) * H_SPAN <= size) {
        H_LINE_ADD(line[r * (H_LANES / H_SPAN) + j], row + r, first + c + j * H_SPAN, 0)
      }
    }
    const int skip = (int)((H_SPAN - (size - c) % H_SPAN) % H_SPAN);
    if (skip) H_LINE_LAST(line[r * (H_LANES / H_SPAN)], row + r, first + size - H_SPAN, 0, skip)
  }
#endif
#pragma unroll
  for (int r = 0; r < H_ROWS; ++r) {
#if H_LANES / H_SPAN == 4
    H_LINE_JOIN(line[r * 4], line[r * 4 + 2])
    H_LINE_JOIN(line[r * 4 + 1], line[r * 4 + 3])
#elif H_LANES / H_SPAN == 3
    H_LINE_JOIN(line[r * 3], line[r * 3 + 2])
#endif
#if H_LANES / H_SPAN > 1
    H_LINE_JOIN(line[r * (H_LANES / H_SPAN)], line[r * (H_LANES / H_SPAN) + 1])
#endif
    H_T acc;
    H_LINE_TOTAL(line[r * (H_LANES / H_SPAN)], acc)
    H_OUT(chunk * H_OUTER + row + r, acc);
  }
#else
  H_SIDE lane[H_ROWS];
  H_INT c = H_LANES;
#pragma unroll
  for (int r = 0; r < H_ROWS; ++r) {
    for (int j = 0; j < H_LANES; ++j) {
      const H_T v = H_IN(row + r, first + j, 0);
      H_SET(lane[r], j, v);
    }
  }
  for (; c + H_LANES <= size; c += H_LANES) {
#pragma unroll
    for (int r = 0; r < H_ROWS; ++r) {
      for (int j = 0; j < H_LANES; ++j) {
        const H_T v = H_OP(H_GET(lane[r], j), H_IN(row + r, first + c + j, 0));
        H_SET(lane[r], j, v);
      }
    }
  }
  for (int r = 0; r < H_ROWS; ++r) {
    for (int width = H_LANES / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) {
        const H_T v = H_OP(H_GET(lane[r], j), H_GET(lane[r], j + width));
        H_SET(lane[r], j, v);
      }
    }
    H_T acc = H_GET(lane[r], 0);
    for (H_INT k = c; k < size; ++k) H_INTO(acc, H_OP(acc, H_IN(row + r, first + k, 0)))
    H_OUT(chunk * H_OUTER + row + r, acc);
  }
#endif
}
#else
/* One work group takes one chunk of one row, or H_BESIDE of them; its work items take H_LANES neighbours at a time, or, when
 * the order counts, a piece each. Result order: chunk, row. */
__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
#if H_LOCAL > 1
  __local H_T all[H_LOCAL * H_BESIDE];
  __local H_T *const shared = all + get_local_id(0) / H_LOCAL * H_LOCAL;
  const int lid = (int)get_local_id(0) % H_LOCAL;
  const H_INT wanted = (H_INT)get_group_id(0) * H_BESIDE + (H_INT)get_local_id(0) / H_LOCAL;
  if ((H_INT)get_group_id(0) * H_BESIDE >= H_OUTER * H_CHUNKS) return; /* the whole group or none of it */
  const H_INT group = wanted < H_OUTER * H_CHUNKS ? wanted : H_OUTER * H_CHUNKS - 1;
#else
  const int lid = 0;
  const H_INT group = (H_INT)get_global_id(0);
  if (group >= H_OUTER * H_CHUNKS) return;
#endif
  const H_INT row = group % H_OUTER, chunk = group / H_OUTER;
  const H_INT first = chunk * H_CHUNK;
#if H_N % H_CHUNK == 0
  const H_INT size = H_CHUNK;
#else
  const H_INT size = H_N - chunk * H_CHUNK < H_CHUNK ? H_N - chunk * H_CHUNK : H_CHUNK;
#endif
  H_T acc;
#if H_ORDERED
  const H_INT piece = (size + H_LOCAL - 1) / H_LOCAL;
  const H_INT live = (size + piece - 1) / piece; /* work items that hold a value of their own */
  const H_INT begin = lid < live ? lid * piece : 0;
  const H_INT end = begin + piece < size ? begin + piece : size;
  const H_INT part = (end - begin) / H_LANES;
  H_INT c = begin + 1;
  H_INTO(acc, H_IN(row, first + begin, 0))
#if H_LANES > 1
  if (part > 1) {
    H_SIDE lane;
    for (int j = 0; j < H_LANES; ++j) {
      const H_T v = H_IN(row, first + begin + j * part, 0);
      H_SET(lane, j, v);
    }
    for (H_INT k = 1; k < part; ++k) {
      for (int j = 0; j < H_LANES; ++j) {
        const H_T v = H_OP(H_GET(lane, j), H_IN(row, first + begin + j * part + k, 0));
        H_SET(lane, j, v);
      }
    }
    H_INTO(acc, H_GET(lane, 0))
    for (int j = 1; j < H_LANES; ++j) H_INTO(acc, H_OP(acc, H_GET(lane, j)))
    c = begin + H_LANES * part;
  }
#endif
  for (; c < end; ++c) H_INTO(acc, H_OP(acc, H_IN(row, first + c, 0)))
#else
#if H_LANES > 1
  /* The lanes start with the first elements: no identity needs to be known. */
  if (size >= H_LANES * H_LOCAL) {
    H_SIDE lane;
    H_INT c = lid * H_LANES;
    for (int j = 0; j < H_LANES; ++j) {
      const H_T v = H_IN(row, first + c + j, 0);
      H_SET(lane, j, v);
    }
    for (c += H_LANES * H_LOCAL; c + H_LANES <= size; c += H_LANES * H_LOCAL) {
      for (int j = 0; j < H_LANES; ++j) {
        const H_T v = H_OP(H_GET(lane, j), H_IN(row, first + c + j, 0));
        H_SET(lane, j, v);
      }
    }
    for (int width = H_LANES / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) {
        const H_T v = H_OP(H_GET(lane, j), H_GET(lane, j + width));
        H_SET(lane, j, v);
      }
    }
    H_INTO(acc, H_GET(lane, 0))
    if (c < size) {
      for (H_INT k = c; k < size; ++k) H_INTO(acc, H_OP(acc, H_IN(row, first + k, 0)))
    }
  } else
#endif
  {
    H_INT c = lid < size ? lid : size - 1;
    H_INTO(acc, H_IN(row, first + c, 0))
    for (c = lid + H_LOCAL; c < size; c += H_LOCAL) H_INTO(acc, H_OP(acc, H_IN(row, first + c, 0)))
  }
#if H_LOCAL > 1
  const H_INT live = size < H_LOCAL ? size : H_LOCAL; /* work items that hold a value of their own */
#endif
#endif
#if H_LOCAL > 1
  H_INTO(shared[lid], acc)
  barrier(CLK_LOCAL_MEM_FENCE);
#if H_ORDERED
  for (int width = 1; width < H_LOCAL; width *= 2) {
    if (lid % (2 * width) == 0 && lid + width < live) {
      H_INTO(shared[lid], H_OP(shared[lid], shared[lid + width]))
    }
#else
  for (int width = H_LOCAL / 2; width > 0; width /= 2) {
    if (lid < width && lid + width < live) H_INTO(shared[lid], H_OP(shared[lid], shared[lid + width]))
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  /* Without &&: PoCL 3.1 without optimisations leaves out work items there, behind a barrier. */
  if ((lid == 0) & (wanted == group)) H_OUT(chunk * H_OUTER + row, shared[0]);
#else
  H_OUT(chunk * H_OUTER + row, acc);
#endif
}
#endif

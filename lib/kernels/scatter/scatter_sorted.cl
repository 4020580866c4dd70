/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/scatter_sorted.cl: updates that are sorted by place, combined into an array, place by place.
 *
 * Neighbours of one place are a run. A work item takes one element of the updates of a chunk of H_CHUNK neighbours.
 * It combines runs within its chunk with the array in order, and so those of up to H_SHORT neighbours that begin there. Of
 * a longer run that reaches into another chunk it leaves the combination of its own updates for the next launch, which
 * finds two such items for each chunk: what its first run gave if that began in an earlier chunk, and what its last run
 * gave if it ends in a later one.
 *
 * A key is twice a place, plus 1 where nothing is to be combined: the window does not fit into the array. H_NOWHERE
 * is the key of nothing at no place, which separates runs.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_T        the type of an element of all arrays that are updated
 *   H_N        neighbours                           H_CHUNK H_CHUNKS  how they are cut
 *   H_STRIP    elements of an update                H_KEY(i)  the key of neighbour i
 *   H_VALUE(i, w) element w of its update           H_STEP(i, w, v) v combined with that
 *   H_OLD(place, w) what the array holds            H_NEW(place, w, v) puts v there
 *   H_PART(i, w, v) makes v element w of the next launch's neighbour i; H_SET_KEY(i, key) is its key
 *   H_LAST     1: there is no next launch           H_SHORT   0, or: the length of short runs
 *   H_IN_ORDER 1: combinations must not be combined: chunks are of one, and whoever finds the first update of a run
 *              takes all of it */
#ifndef H_NAME
#define H_NAME scatter_sorted_example
#define H_PARAMS                                                                                   \
  __global const ulong *at_, __global const float *in_, __global float *out_,                      \
      __global ulong *keys_, __global float *parts_
#define H_POINTERS
#define H_INT int
#define H_T float
#define H_N 100
#define H_CHUNK 16
#define H_CHUNKS 7
#define H_STRIP 1
#define H_KEY(i) at_[i]
#define H_VALUE(i, w) in_[(i) * H_STRIP + (w)]
#define H_STEP(i, w, v) ((v) + in_[(i) * H_STRIP + (w)])
#define H_OLD(place, w) out_[(place) * H_STRIP + (w)]
#define H_NEW(place, w, v) out_[(place) * H_STRIP + (w)] = (v)
#define H_PART(i, w, v) parts_[(i) * H_STRIP + (w)] = (v)
#define H_SET_KEY(i, key) keys_[i] = (key)
#define H_LAST 0
#define H_SHORT 32
#define H_IN_ORDER 0
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_global_id(0);
  if (item >= (H_INT)H_CHUNKS * H_STRIP) return;
  const H_INT w = item % H_STRIP, chunk = item / H_STRIP;
  const H_INT first = chunk * H_CHUNK;
  const H_INT end = H_N - first < H_CHUNK ? H_N : first + H_CHUNK;
#if !H_LAST
#define H_NOWHERE (~0UL)
  ulong head = H_NOWHERE, tail = H_NOWHERE;
#endif
  for (H_INT i = first, stop; i < end; i = stop) {
    const ulong place = H_KEY(i) >> 1;
    stop = i + 1;
#if H_IN_ORDER
    if (i > 0 && H_KEY(i - 1) >> 1 == place) continue;
    while (stop < H_N && H_KEY(stop) >> 1 == place) ++stop;
#else
    while (stop < end && H_KEY(stop) >> 1 == place) ++stop;
#if !H_LAST
    const bool comes = i == first && i > 0 && H_KEY(i - 1) >> 1 == place;
    bool goes = stop == end && end < H_N && H_KEY(end) >> 1 == place;
#if H_SHORT
    if (comes || goes) {
      H_INT begin = i, beyond = stop;
      while (begin > 0 && beyond - begin <= H_SHORT && H_KEY(begin - 1) >> 1 == place) --begin;
      while (beyond < H_N && beyond - begin <= H_SHORT && H_KEY(beyond) >> 1 == place) ++beyond;
      if (beyond - begin <= H_SHORT) {
        if (comes) continue;
        stop = beyond;
        goes = false;
      }
    }
#endif
    if (comes || goes) {
      H_INT next = i;
      while (next < stop && H_KEY(next) & 1) ++next;
      const ulong key = place << 1 | (next == stop);
      if (next < stop) {
        H_T part = H_VALUE(next, w);
        for (++next; next < stop; ++next) {
          if (!(H_KEY(next) & 1)) part = H_STEP(next, w, part);
        }
        H_PART(2 * chunk + (comes ? 0 : 1), w, part);
      }
      if (comes) {
        head = key;
        if (goes) tail = key | 1;
      } else {
        tail = key;
      }
      continue;
    }
#endif
#endif
    H_INT next = i;
    while (next < stop && H_KEY(next) & 1) ++next;
    if (next < stop) {
      H_T sum = H_OLD((H_INT)place, w);
      for (; next < stop; ++next) {
        if (!(H_KEY(next) & 1)) sum = H_STEP(next, w, sum);
      }
      H_NEW((H_INT)place, w, sum);
    }
  }
#if !H_LAST
  if (w == 0) {
    H_SET_KEY(2 * chunk, head);
    H_SET_KEY(2 * chunk + 1, tail);
  }
#undef H_NOWHERE
#endif
}

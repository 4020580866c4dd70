/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/scatter_private.cl: updates of an array so small that each work group has a copy of it in local memory.
 *
 * The first kernel gives each group a fixed share of the updates. The group reads H_LOCAL of them at a time; each of its work
 * items owns every H_LOCAL-th element of the copy, looks at all of these updates in order, and combines those of its
 * elements. So no two work items write one element, and its updates keep their order. The second kernel combines the groups'
 * copies, whose order is fixed too, with what the array holds: a group takes H_WIDE elements, and its work items divide
 * the copies among themselves.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_T        the type of an element               H_OP(a, b) combines two
 *   H_NONE     combined with a value, gives the value
 *   H_STEP     0: the first kernel, 1: the second   H_LOCAL   work items of a group, a power of two
 *   H_N        updates                              H_SHARE   of them for a group; H_COPIES groups
 *   H_PLACES   elements of the array                H_WIDE    of them for a group of the second kernel
 *   H_PLACE(u) where update u goes, or -1           H_VALUE(u) its value
 *   H_PUT(i, v) element i of all copies is v        H_GET(i)  is that element
 *   H_OLD(p)   what the array holds                 H_NEW(p, v) puts v there */
#ifndef H_NAME
#define H_NAME scatter_private_example
#define H_PARAMS                                                                                   \
  __global const int *at_, __global const float *in_, __global float *out_, __global float *copies_
#define H_POINTERS
#define H_INT int
#define H_T float
#define H_OP(a, b) ((a) + (b))
#define H_NONE (-0.0f)
#define H_STEP 0
#define H_LOCAL 64
#define H_N 1000
#define H_SHARE 256
#define H_COPIES 4
#define H_PLACES 10
#define H_WIDE 16
#define H_PLACE(u) at_[u]
#define H_VALUE(u) in_[u]
#define H_PUT(i, v) copies_[i] = (v)
#define H_GET(i) copies_[i]
#define H_OLD(p) out_[p]
#define H_NEW(p, v) out_[p] = (v)
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const int lid = (int)get_local_id(0);
  const H_INT group = (H_INT)get_group_id(0);
#if H_STEP == 0
  __local H_T copy[H_PLACES];
  __local H_T values[H_LOCAL];
  __local int places[H_LOCAL];
  if (group >= H_COPIES) return; /* the whole group or none of it */
  for (int p = lid; p < H_PLACES; p += H_LOCAL) copy[p] = H_NONE;
  const H_INT first = group * H_SHARE;
  const H_INT end = H_N - first < H_SHARE ? H_N : first + H_SHARE;
  for (H_INT begin = first; begin < end; begin += H_LOCAL) {
    const H_INT u = begin + lid;
    int own = -1;
    if (u < end) own = H_PLACE(u);
    places[lid] = own;
    values[lid] = own >= 0 ? H_VALUE(u) : H_NONE;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < H_LOCAL; ++j) {
      const int place = places[j];
      if (place >= 0 && (place & (H_LOCAL - 1)) == lid) copy[place] = H_OP(copy[place], values[j]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int p = lid; p < H_PLACES; p += H_LOCAL) H_PUT(group * H_PLACES + p, copy[p]);
#else
  __local H_T sums[H_LOCAL];
  if (group >= (H_PLACES + H_WIDE - 1) / H_WIDE) return; /* the whole group or none of it */
  const int slice = lid / H_WIDE, slices = H_LOCAL / H_WIDE;
  const H_INT wanted = group * H_WIDE + lid % H_WIDE;
  const H_INT place = wanted < H_PLACES ? wanted : H_PLACES - 1;
  const H_INT piece = (H_COPIES + slices - 1) / slices, first = slice * piece;
  const H_INT end = H_COPIES - first < piece ? H_COPIES : first + piece;
  H_T sum = H_NONE;
  for (H_INT i = first; i < end; ++i) sum = H_OP(sum, H_GET(i * H_PLACES + place));
  sums[lid] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = 1; width < slices; width *= 2) {
    if (slice % (2 * width) == 0 && slice + width < slices) {
      sums[lid] = H_OP(sums[lid], sums[lid + width * H_WIDE]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if ((slice == 0) & (wanted < H_PLACES)) H_NEW(place, H_OP(H_OLD(place), sums[lid]));
#endif
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/scatter.cl: windows of updates combined into an array, one after the other.
 *
 * A work item owns elements of the array that no other one writes: those of one group that the elements
 * of one strip of the window fall on, in one part of the array. It walks over all windows of its group in
 * order, so that what falls on one element is combined in order, whoever does it.
 *
 * Holes (each instance defines them, includes this text and undefines them):
 *   H_NAME     the kernel's name                    H_PARAMS  its parameters
 *   H_POINTERS declarations at its start            H_INT     the index type
 *   H_APPLY(group, step, first, end, low, high)
 *              combines elements first .. end - 1 of a window, if it lies in low .. high - 1
 *   H_GROUPS   groups of windows that cannot meet   H_STEPS   windows in a group
 *   H_WINDOW   elements of a window that cannot meet those of another at another place
 *   H_LANES    of them that a work item takes       H_PARTS   parts of the array, of H_SHARE each */
#ifndef H_NAME
#define H_NAME scatter_example
#define H_PARAMS __global const int *at_, __global const float *in_, __global float *out_
#define H_POINTERS
#define H_APPLY(group, step, first, end, low, high)                                                \
  if (at_[step] >= low && at_[step] < high) out_[at_[step]] += in_[step]
#define H_GROUPS 1
#define H_STEPS 16
#define H_WINDOW 1
#define H_LANES 1
#define H_PARTS 2
#define H_SHARE 8
#define H_INT int
#endif

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_global_id(0);
  const H_INT strips = (H_WINDOW + H_LANES - 1) / H_LANES;
  if (item >= strips * H_GROUPS * H_PARTS) return;
  const H_INT strip = item % strips, rest = item / strips;
  const H_INT group = rest % H_GROUPS, low = rest / H_GROUPS * H_SHARE;
  const H_INT first = strip * H_LANES;
  const H_INT end = first + H_LANES < H_WINDOW ? first + H_LANES : H_WINDOW;
  for (H_INT step = 0; step < H_STEPS; ++step) {
    H_APPLY(group, step, first, end, low, low + H_SHARE);
  }
}

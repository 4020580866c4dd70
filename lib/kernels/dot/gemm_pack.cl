/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/gemm_pack.cl: packs one operand of a matrix product into panels: P lines (rows of A,
 * columns of B) side by side for each k, zeros beyond the last line.
 *
 * Holes: H_NAME, H_PARAMS, H_POINTERS; H_IN(b, line, k) an element; H_OUT(p, v) stores it at panel
 * position p; H_T; H_LINES, H_K, H_BATCH sizes; H_P lines of a panel; H_KBLOCK k that a work item packs;
 * H_KFAST 1: neighbours in k are neighbours in memory, 0: neighbouring lines are; 2: as 1, of words of 4 bytes that are turned
 * over in registers, 16 lines by 16 k, with H_OUTV(p, v) for 16 words at a panel position; H_P is a multiple of 16 then. */
#ifndef H_NAME
#define H_NAME gemm_pack_example
#define H_PARAMS __global const float *in_, __global float *out_
#define H_POINTERS
#define H_T float
#define H_IN(b, line, k) in_[((b)*H_K + (k)) * H_LINES + (line)]
#define H_OUT(p, v) out_[p] = (v)
#define H_LINES 100
#define H_K 64
#define H_BATCH 1
#define H_P 64
#define H_KBLOCK 16
#define H_KFAST 0
#define H_INT int
#define H_ROLLED
#define H_SINGLE
#endif
/* One work item packs a block of k of one panel. */
#define H_KBLOCKS ((H_K + H_KBLOCK - 1) / H_KBLOCK)
#define H_PANELS ((H_LINES + H_P - 1) / H_P)

__kernel void H_NAME(H_PARAMS) {
  H_POINTERS
  const H_INT item = (H_INT)get_global_id(0);
  if (item >= (H_INT)H_KBLOCKS * H_PANELS * H_BATCH) return;
  const H_INT k0 = item % H_KBLOCKS * H_KBLOCK, rest = item / H_KBLOCKS;
  const H_INT l0 = rest % H_PANELS * H_P, batch = rest / H_PANELS;
  const H_INT base = (rest * H_K + k0) * H_P;
  const int ks = H_K - k0 < H_KBLOCK ? (int)(H_K - k0) : H_KBLOCK;
  const int lines = H_LINES - l0 < H_P ? (int)(H_LINES - l0) : H_P;
#if H_KFAST
  int l = 0;
#if H_KFAST == 2
  for (; ks == 16 && l + 16 <= lines; l += 16) {
    uint16 words[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      H_SINGLE
      for (int k = 0; k < 16; ++k) ((H_T *)&words[i])[k] = H_IN(batch, l0 + l + i, k0 + k);
    }
    h_turn_rows(words);
#pragma unroll
    for (int k = 0; k < 16; ++k) H_OUTV(base + k * H_P + l, words[k]);
  }
#endif
  for (; l < lines; ++l) {
    H_SINGLE
    for (int k = 0; k < ks; ++k) H_OUT(base + k * H_P + l, H_IN(batch, l0 + l, k0 + k));
  }
#else
  for (int k = 0; k < ks; ++k) {
    H_SINGLE
    for (int l = 0; l < lines; ++l) H_OUT(base + k * H_P + l, H_IN(batch, l0 + l, k0 + k));
  }
#endif
  if (lines == H_P) return;
  H_ROLLED
  for (int k = 0; k < ks; ++k) {
    H_ROLLED
    for (int l = lines; l < H_P; ++l) H_OUT(base + k * H_P + l, (H_T)0);
  }
}
#undef H_KBLOCKS
#undef H_PANELS

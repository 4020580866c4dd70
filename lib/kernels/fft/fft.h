/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/fft/fft.h: Fourier transforms in passes, each a kernel that transforms lines in local memory. Private to this
 * folder.
 *
 * One axis of an array [outer][length][tail] is transformed at a time. A length is a product of digits n1 n2
 * ... nd, each short enough for local memory (mostly of one): pass 1 transforms lines of n1 elements that lie
 * length / n1 apart and turns what comes out by roots of unity, pass 2 lines of n2 elements likewise, and
 * the last one puts the digits of the frequency in reverse order. Lengths with large prime factors go through
 * a convolution with a chirp (Bluestein), of a length that has cheap radices only. Inverse transforms are forward
 * ones of numbers with real and imaginary parts exchanged. */
#ifndef HALO_KERNELS_FFT_FFT_H
#define HALO_KERNELS_FFT_FFT_H

#include "kernels/helpers.h"

enum { FFT_ARRAY = -1, FFT_STAGES = 32 }; /* FFT_ARRAY: the operand or the result; else a scratch */

typedef struct fft_pass {
  halo_type part; /* f32 or f64 */
  int dimension;  /* of the operand and the result that is transformed */
  /* Lines: [lead][n][inner], of which `n` is transformed; `before` is the product of earlier digits. */
  int64_t n, lead, inner, before;
  int64_t length, tail; /* of the axis; longer than the transform's where that is a convolution */
  int64_t axis;         /* the transform's own length */
  bool first, last;     /* of the axis's digits */
  int from, to;         /* FFT_ARRAY or a scratch */
  /* First pass: elements along the axis that the source holds; the rest are 0, or, where `mirror`, the
   * conjugates of the others. Last pass: how many the target holds; the rest are dropped. */
  int64_t extent_in, extent_out;
  /* Parts are exchanged: of what is loaded, of what is stored, and before `after_table`. */
  bool mirror, swap_in, swap_out, swap_middle;
  /* Of real numbers: the frequencies 0 and, of even lengths, the highest have no imaginary part. */
  bool real;
  int64_t digits[4]; /* the earlier ones */
  double scale;      /* of what the last pass stores */
  /* Complex tables; NULL: none. By place on the axis: what the first pass multiplies by, and the last. */
  halo_literal *before_table, *after_table;
  halo_literal *twiddles; /* roots of unity behind this digit: fine ones, then coarse ones */
  int64_t twiddles_fine;
  /* How a group works: radices of the stages, their roots of unity (parts of type `part`: all real ones,
   * then all imaginary ones), lines side by side, work items. */
  int radices[FFT_STAGES], stage_count;
  halo_literal *roots;
  int64_t lanes, items;
} fft_pass;

/* ---- tables.c: new literals; the lowering holds the reference ---- */

/* Radices up to FFT_WRITTEN are written out, primes between that and FFT_LARGEST are sums in loops: cheaper
 * than a convolution, which is two transforms of at least twice the length. */
enum { FFT_WRITTEN = 13, FFT_LARGEST = 127 };
/* The number of radices of a length without prime factors above FFT_LARGEST; -1: it has some. */
int fft_factor(int64_t n, int radices[FFT_STAGES]);
/* The smallest length at or above n that has cheap radices only. */
int64_t fft_padded(int64_t n);
/* How many roots a stage has that leaves lines of `left` elements. */
int64_t fft_stage_roots(int radix, int64_t left);
/* Roots for the stages of a line; NULL when there are none. */
halo_literal *fft_table_roots(halo_lowering *l, const fft_pass *pass);
/* exp(-2 pi i k / n) for k < fine, then those of k = 0, fine, 2 fine, ... < n. */
halo_literal *fft_table_twiddles(halo_lowering *l, halo_type part, int64_t n, int64_t fine);
/* exp(-pi i k^2 / n) for k < n; and the transform of its conjugate around 0 in an array of m, over m. */
halo_literal *fft_table_chirp(halo_lowering *l, halo_type part, int64_t n);
halo_literal *fft_table_filter(halo_lowering *l, halo_type part, int64_t n, int64_t m);

/* ---- pass.c ---- */

/* Appends the pass's kernel and launch. */
halo_status fft_pass_lower(halo_lowering *l, const fft_pass *pass);

#endif

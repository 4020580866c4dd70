/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/fft/tables.c: numbers that transforms need, computed in long double and rounded once. */
#include "base/memory.h"
#include "kernels/fft/fft.h"

#include <math.h>

int64_t fft_stage_roots(int radix, int64_t left) {
  return (left > 1 ? (radix - 1) * left : 0) + (radix > FFT_WRITTEN ? radix : 0);
}

/* A multiple of 16 and of 3 and 5 at most. */
int64_t fft_padded(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (int64_t five = 16; five < best; five *= 5) {
    for (int64_t three = five; three < best; three *= 3) {
      int64_t m = three;
      while (m < n) m *= 2;
      if (m < best) best = m;
    }
  }
  return best;
}

/* Longest first: few stages. A power of two comes first, whose interleaved stores are the cheapest; what
 * is not written out comes last, when most lines lie side by side. */
int fft_factor(int64_t n, int radices[FFT_STAGES]) {
  static const int odd[] = {13, 11, 7, 5, 3};
  int count = 0, twos = 0;
  for (; n % 2 == 0 && n > 0; n /= 2) twos++;
  if (twos % 3 == 1 && twos > 1) {
    radices[count++] = 4;
    radices[count++] = 4;
    twos -= 4;
  } else if (twos % 3) {
    radices[count++] = 1 << twos % 3;
    twos -= twos % 3;
  }
  for (; twos > 0; twos -= 3) radices[count++] = 8;
  for (int i = 0, j = count - 1; i < j; i++, j--) {
    int swapped = radices[i];
    radices[i] = radices[j];
    radices[j] = swapped;
  }
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    for (; n % odd[i] == 0; n /= odd[i]) radices[count++] = odd[i];
  }
  for (int r = FFT_WRITTEN + 2; r <= FFT_LARGEST; r += 2) {
    for (; n % r == 0 && n > 0; n /= r) radices[count++] = r;
  }
  return n == 1 ? count : -1;
}

/* exp(-2 pi i k / n), 0 <= k < n; the angle is brought below an eighth of a turn. */
static void table_root(int64_t k, int64_t n, long double *re, long double *im) {
  static const long double pi = 3.141592653589793238462643383279502884L;
  int64_t eighth = (int64_t)((__int128)k * 8 / n); /* k = n eighth / 8 + rest */
  int odd = eighth & 1;
  __int128 rest = (__int128)k * 8 - (__int128)n * (eighth + odd);
  long double angle = 2 * pi * (long double)(odd ? -rest : rest) / ((long double)n * 8);
  long double c = cosl(angle), s = sinl(angle);
  if (odd) s = -s;
  switch ((eighth + odd) / 2 % 4) {
    case 0: *re = c, *im = -s; break;
    case 1: *re = -s, *im = -c; break;
    case 2: *re = -c, *im = s; break;
    case 3: *re = s, *im = c; break;
  }
}

static halo_literal *table_new(halo_lowering *l, halo_type type, int64_t count) {
  halo_literal *literal = NULL;
  halo_status status = halo_literal_create(halo_shape_new(l->arena, type, 1, &count), &literal);
  if (status != HALO_OK) {
    l->tables_status = status;
    return NULL;
  }
  halo_vec_push(&l->tables, literal);
  return literal;
}

static void table_set(halo_literal *literal, halo_type part, int64_t i, long double value) {
  if (part == HALO_F64) {
    ((double *)literal->data)[i] = (double)value;
  } else {
    ((float *)literal->data)[i] = (float)value;
  }
}

static void table_set_pair(halo_literal *literal, halo_type part, int64_t i, long double re,
                           long double im) {
  table_set(literal, part, 2 * i, re);
  table_set(literal, part, 2 * i + 1, im);
}

static halo_type table_complex(halo_type part) { return part == HALO_F64 ? HALO_C128 : HALO_C64; }

halo_literal *fft_table_roots(halo_lowering *l, const fft_pass *pass) {
  int64_t count = 0, left = pass->n;
  for (int i = 0; i < pass->stage_count; i++) {
    left /= pass->radices[i];
    count += fft_stage_roots(pass->radices[i], left);
  }
  if (count == 0) return NULL;
  halo_literal *literal = table_new(l, pass->part, 2 * count);
  int64_t at = 0, length = pass->n;
  for (int i = 0; i < pass->stage_count && literal; i++) {
    int r = pass->radices[i];
    left = length / r;
    for (int k = 1; k < r && left > 1; k++) {
      for (int64_t p = 0; p < left; p++, at++) {
        long double re, im;
        table_root(p * k, length, &re, &im);
        table_set(literal, pass->part, at, re);
        table_set(literal, pass->part, count + at, im);
      }
    }
    for (int k = 0; k < r && r > FFT_WRITTEN; k++, at++) {
      long double re, im;
      table_root(k, r, &re, &im);
      table_set(literal, pass->part, at, re);
      table_set(literal, pass->part, count + at, im);
    }
    length = left;
  }
  return literal;
}

halo_literal *fft_table_twiddles(halo_lowering *l, halo_type part, int64_t n, int64_t fine) {
  int64_t coarse = (n + fine - 1) / fine;
  halo_literal *literal = table_new(l, table_complex(part), fine + coarse);
  for (int64_t i = 0; i < fine + coarse && literal; i++) {
    long double re, im;
    table_root(i < fine ? i % n : (i - fine) * fine, n, &re, &im);
    table_set_pair(literal, part, i, re, im);
  }
  return literal;
}

/* k^2 modulo 2 n, so that the angle is exact. */
static void table_chirp(int64_t k, int64_t n, long double *re, long double *im) {
  table_root((int64_t)((unsigned __int128)k * (unsigned __int128)k % (unsigned __int128)(2 * n)),
             2 * n, re, im);
}

halo_literal *fft_table_chirp(halo_lowering *l, halo_type part, int64_t n) {
  halo_literal *literal = table_new(l, table_complex(part), n);
  for (int64_t i = 0; i < n && literal; i++) {
    long double re, im;
    table_chirp(i, n, &re, &im);
    table_set_pair(literal, part, i, re, im);
  }
  return literal;
}

/* What table_transform works with: exp(-2 pi i k / m) for k < m. */
typedef struct table_roots {
  const double *roots;
  int64_t m;
} table_roots;

/* One output of a short transform: the sum of r numbers that lie `apart`, each turned by `turn` more. */
static void table_sum(const table_roots *t, const double *x, int r, int64_t apart, int64_t turn,
                      double sum[2]) {
  sum[0] = sum[1] = 0;
  for (int j = 0; j < r; j++) {
    int64_t at = turn * j % t->m;
    const double *v = x + 2 * apart * j;
    double c = t->roots[2 * at], s = t->roots[2 * at + 1];
    sum[0] += v[0] * c - v[1] * s;
    sum[1] += v[0] * s + v[1] * c;
  }
}

/* The transform of n complex numbers that lie `stride` apart in x, a divisor of m: those of every r-th number, for
 * the smallest factor r (2, 3 or 5), and sums over these. */
static void table_transform(const table_roots *t, const double *x, int64_t stride, int64_t n,
                            double *y) {
  enum { MOST = 5 };
  if (n == 1) {
    y[0] = x[0], y[1] = x[1];
    return;
  }
  int r = n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : MOST;
  int64_t part = n / r;
  for (int j = 0; j < r; j++) {
    table_transform(t, x + 2 * stride * j, stride * r, part, y + 2 * part * j);
  }
  for (int64_t k = 0; k < part; k++) {
    double sums[2 * MOST];
    for (int q = 0; q < r; q++) {
      table_sum(t, y + 2 * k, r, part, (k + q * part) * (t->m / n), sums + 2 * q);
    }
    for (int q = 0; q < r; q++) {
      y[2 * (k + q * part)] = sums[2 * q], y[2 * (k + q * part) + 1] = sums[2 * q + 1];
    }
  }
}

halo_literal *fft_table_filter(halo_lowering *l, halo_type part, int64_t n, int64_t m) {
  halo_literal *literal = table_new(l, table_complex(part), m);
  void *memory = NULL;
  if (!literal) return NULL;
  l->tables_status = halo_try_alloc(sizeof(double) * 6 * (size_t)m, "a transform's table", &memory);
  if (l->tables_status != HALO_OK) return NULL;
  double *x = memory, *roots = x + 2 * m, *y = roots + 2 * m;
  for (int64_t k = 0; k < n; k++) {
    long double re, im;
    table_chirp(k, n, &re, &im);
    x[2 * k] = (double)re, x[2 * k + 1] = (double)-im;
    if (k > 0) x[2 * (m - k)] = (double)re, x[2 * (m - k) + 1] = (double)-im;
  }
  for (int64_t k = 0; k < m; k++) {
    long double re, im;
    table_root(k, m, &re, &im);
    roots[2 * k] = (double)re, roots[2 * k + 1] = (double)im;
  }
  table_transform(&(table_roots){roots, m}, x, 1, m, y);
  for (int64_t k = 0; k < m; k++) {
    table_set_pair(literal, part, k, y[2 * k] / (double)m, y[2 * k + 1] / (double)m);
  }
  halo_free(memory);
  return literal;
}

/* kernels/fft_tables.c: numbers that transforms need, computed in long double and rounded once. */
#include "base/memory.h"
#include "kernels/fft.h"

#include <math.h>

/* Longest first: few stages. A power of two comes first, whose interleaved stores are the cheapest. */
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
    if (left > 1) count += (pass->radices[i] - 1) * left;
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
    length = left;
  }
  return literal;
}

halo_literal *fft_table_turn(halo_lowering *l, halo_type part, int64_t n, int64_t fine) {
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

/* The transform of m complex numbers, a power of two, in place: the plain loop of bit-reversed halves. */
static void table_transform(double *x, int64_t m, const double *roots) {
  for (int64_t i = 1, j = 0; i < m; i++) {
    int64_t bit = m >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j |= bit;
    for (int part = 0; part < 2 && i < j; part++) {
      double swapped = x[2 * i + part];
      x[2 * i + part] = x[2 * j + part];
      x[2 * j + part] = swapped;
    }
  }
  for (int64_t half = 1; half < m; half *= 2) {
    int64_t step = m / (2 * half);
    for (int64_t at = 0; at < m; at += 2 * half) {
      for (int64_t k = 0; k < half; k++) {
        double *a = x + 2 * (at + k), *b = a + 2 * half;
        double c = roots[2 * k * step], s = roots[2 * k * step + 1];
        double re = b[0] * c - b[1] * s, im = b[0] * s + b[1] * c;
        b[0] = a[0] - re, b[1] = a[1] - im;
        a[0] += re, a[1] += im;
      }
    }
  }
}

halo_literal *fft_table_filter(halo_lowering *l, halo_type part, int64_t n, int64_t m) {
  halo_literal *literal = table_new(l, table_complex(part), m);
  void *memory = NULL;
  if (!literal) return NULL;
  l->tables_status = halo_try_alloc(sizeof(double) * 3 * (size_t)m, "a transform's table", &memory);
  if (l->tables_status != HALO_OK) return NULL;
  double *x = memory, *roots = x + 2 * m;
  for (int64_t k = 0; k < n; k++) {
    long double re, im;
    table_chirp(k, n, &re, &im);
    x[2 * k] = (double)re, x[2 * k + 1] = (double)-im;
    if (k > 0) x[2 * (m - k)] = (double)re, x[2 * (m - k) + 1] = (double)-im;
  }
  for (int64_t k = 0; k < m / 2; k++) {
    long double re, im;
    table_root(k, m, &re, &im);
    roots[2 * k] = (double)re, roots[2 * k + 1] = (double)im;
  }
  table_transform(x, m, roots);
  for (int64_t k = 0; k < m; k++) {
    table_set_pair(literal, part, k, x[2 * k] / (double)m, x[2 * k + 1] / (double)m);
  }
  halo_free(memory);
  return literal;
}

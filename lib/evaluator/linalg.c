/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/linalg.c: Cholesky, triangular solve and FFT by their definitions, in complex long
 * double whatever the type. */
#include "hlo/linalg.h"
#include "base/memory.h"
#include "evaluator/cmplx.h"
#include "evaluator/eval.h"

#include <math.h>
#include <string.h>

typedef long double _Complex linalg_number;

static halo_status linalg_alloc(int64_t count, linalg_number **out) {
  void *memory;
  HALO_TRY(halo_try_alloc((size_t)count * sizeof **out, "a matrix", &memory));
  *out = memory;
  return HALO_OK;
}

static linalg_number linalg_get(const halo_literal *literal, int64_t i) {
  double re, im;
  halo_literal_get_c128(literal, i, &re, &im);
  return CMPLXL(re, im);
}

static void linalg_set(halo_literal *literal, int64_t i, linalg_number value) {
  halo_type type = literal->shape->type, part = halo_type_real_part(type);
  eval_scalar scalar = {eval_encode_long(part, creall(value)), 0};
  if (halo_type_is_complex(type)) scalar.im = eval_encode_long(part, cimagl(value));
  eval_set(literal, i, scalar);
}

/* ---- Cholesky ---- */

/* Factors a (n by n, lower triangle read) in place; false when it is not positive definite. What the
 * diagonal has of imaginary parts stays there, as with XLA; a pivot of 0 gives NaN, but for a matrix of one
 * element. */
static bool linalg_cholesky(linalg_number *a, int64_t n) {
  for (int64_t j = 0; j < n; j++) {
    long double pivot = creall(a[j * n + j]);
    for (int64_t k = 0; k < j; k++) {
      linalg_number l = a[j * n + k];
      pivot -= creall(l) * creall(l) + cimagl(l) * cimagl(l);
    }
    if (isnan(pivot) || pivot < 0) return false;
    long double root = sqrtl(pivot);
    if (n == 1) {
      a[0] = root;
      return true;
    }
    for (int64_t i = j; i < n; i++) {
      linalg_number sum = a[i * n + j];
      for (int64_t k = 0; k < j; k++) sum -= a[i * n + k] * conjl(a[j * n + k]);
      a[i * n + j] = CMPLXL(creall(sum) / root, cimagl(sum) / root);
    }
  }
  return true;
}

halo_status eval_cholesky(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_shape *shape = call->instr->shape;
  int64_t n = shape->dims[shape->rank - 1], matrices = eval_count(shape->rank - 2, shape->dims);
  bool lower = halo_instr_bool(call->instr, HALO_ATTR_LOWER, false);
  linalg_number *a;
  HALO_TRY(linalg_alloc(n * n, &a));
  for (int64_t m = 0; m < matrices; m++) {
    int64_t base = m * n * n;
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j <= i; j++) {
        /* The upper form is the lower one of the conjugate transpose. */
        a[i * n + j] = lower ? linalg_get(call->operands[0], base + i * n + j)
                             : conjl(linalg_get(call->operands[0], base + j * n + i));
      }
    }
    bool ok = linalg_cholesky(a, n);
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < n; j++) {
        linalg_number value =
            lower ? (j <= i ? a[i * n + j] : 0) : (j >= i ? conjl(a[j * n + i]) : 0);
        linalg_set(*out, base + i * n + j, ok ? value : CMPLXL(NAN, 0));
      }
    }
  }
  halo_free(a);
  return HALO_OK;
}

/* ---- Triangular solve ---- */

/* Solves t x = b for one column, t a dense triangular matrix of size n. */
static void linalg_substitute(const linalg_number *t, int64_t n, bool lower, linalg_number *x) {
  for (int64_t s = 0; s < n; s++) {
    int64_t i = lower ? s : n - 1 - s;
    linalg_number sum = x[i];
    for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); k++) sum -= t[i * n + k] * x[k];
    linalg_number pivot = t[i * n + i];
    x[i] = cimagl(pivot) == 0 ? CMPLXL(creall(sum) / creall(pivot), cimagl(sum) / creall(pivot))
                              : sum / pivot;
  }
}

/* The matrix that is solved with, from the triangle that counts: op(a), or its transpose when x is
 * on the left of it. Returns whether it is lower. */
static bool linalg_triangle(const eval_call *call, int64_t base, int64_t n, linalg_number *t) {
  bool lower = halo_instr_bool(call->instr, HALO_ATTR_LOWER, false);
  bool left = halo_instr_bool(call->instr, HALO_ATTR_LEFT_SIDE, false);
  bool unit = halo_instr_bool(call->instr, HALO_ATTR_UNIT_DIAGONAL, false);
  int64_t op = halo_instr_int(call->instr, HALO_ATTR_TRANSPOSE_A, HALO_NO_TRANSPOSE);
  bool transposed = (op != HALO_NO_TRANSPOSE) != !left;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      bool inside = lower ? j <= i : j >= i;
      linalg_number value = inside ? linalg_get(call->operands[0], base + i * n + j) : 0;
      if (i == j && unit) value = 1;
      if (op == HALO_ADJOINT) value = conjl(value);
      t[transposed ? j * n + i : i * n + j] = value;
    }
  }
  return lower != transposed;
}

halo_status eval_triangular_solve(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_shape *shape = call->instr->shape;
  int rank = shape->rank;
  bool left = halo_instr_bool(call->instr, HALO_ATTR_LEFT_SIDE, false);
  int64_t rows = shape->dims[rank - 2], columns = shape->dims[rank - 1];
  int64_t n = left ? rows : columns, lines = left ? columns : rows;
  int64_t step = left ? columns : 1, line_step = left ? 1 : columns;
  linalg_number *t;
  HALO_TRY(linalg_alloc(n * n + n, &t));
  linalg_number *x = t + n * n;
  int64_t matrices = eval_count(rank - 2, shape->dims);
  for (int64_t m = 0; m < matrices; m++) {
    bool lower = linalg_triangle(call, m * n * n, n, t);
    for (int64_t line = 0; line < lines; line++) {
      int64_t base = m * rows * columns + line * line_step;
      for (int64_t i = 0; i < n; i++) x[i] = linalg_get(call->operands[1], base + i * step);
      linalg_substitute(t, n, lower, x);
      for (int64_t i = 0; i < n; i++) linalg_set(*out, base + i * step, x[i]);
    }
  }
  halo_free(t);
  return HALO_OK;
}

/* ---- FFT ---- */

enum { LINALG_FFT, LINALG_IFFT, LINALG_RFFT, LINALG_IRFFT }; /* fft_type */

/* e^(2 pi i k / n) or its conjugate, exact at the quarters. */
static linalg_number linalg_root(int64_t k, int64_t n, bool positive) {
  int64_t quarter = 4 * k / n;
  long double angle = 3.14159265358979323846264338327950288L / 2 * (4 * k % n) / n;
  long double c = cosl(angle), s = sinl(angle), re = c, im = s;
  if (quarter == 1) re = -s, im = c;
  if (quarter == 2) re = -c, im = -s;
  if (quarter == 3) re = s, im = -c;
  return CMPLXL(re, positive ? im : -im);
}

/* The transform of one line of n numbers, in place, `step` apart; `spare` holds n and the roots. */
static void linalg_dft(linalg_number *x, int64_t n, int64_t step, bool inverse,
                       linalg_number *spare) {
  linalg_number *roots = spare + n;
  for (int64_t k = 0; k < n; k++) roots[k] = linalg_root(k, n, inverse);
  for (int64_t k = 0; k < n; k++) {
    linalg_number sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i * step] * roots[i * k % n];
    spare[k] = inverse ? CMPLXL(creall(sum) / n, cimagl(sum) / n) : sum;
  }
  for (int64_t k = 0; k < n; k++) x[k * step] = spare[k];
}

/* Transforms the axis of every line of an array of these dims. */
static void linalg_dft_axis(linalg_number *x, int rank, const int64_t *dims, int axis, bool inverse,
                            linalg_number *spare) {
  int64_t strides[HALO_MAX_RANK], others[HALO_MAX_RANK], index[HALO_MAX_RANK] = {0};
  eval_strides(rank, dims, strides);
  memcpy(others, dims, sizeof *others * (size_t)rank);
  others[axis] = 1;
  do {
    linalg_dft(x + eval_offset(rank, index, strides), dims[axis], strides[axis], inverse, spare);
  } while (eval_next(rank, others, index));
}

/* Reads the operand into an array of the full extents; a half spectrum is completed by symmetry
 * along the last axis, once the outer axes are transformed. */
static void linalg_mirror(linalg_number *x, int64_t n) {
  x[0] = creall(x[0]);
  if (n % 2 == 0) x[n / 2] = creall(x[n / 2]);
  for (int64_t k = n / 2 + 1; k < n; k++) x[k] = conjl(x[n - k]);
}

halo_status eval_fft(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_shape *from = call->operands[0]->shape, *to = call->instr->shape;
  int64_t type = halo_instr_int(call->instr, HALO_ATTR_FFT_TYPE, LINALG_FFT);
  bool inverse = type == LINALG_IFFT || type == LINALG_IRFFT;
  int32_t axes;
  const int64_t *lengths = halo_instr_ints(call->instr, HALO_ATTR_FFT_LENGTH, &axes);
  int rank = from->rank;
  int64_t dims[HALO_MAX_RANK], longest = 1;
  memcpy(dims, from->dims, sizeof *dims * (size_t)rank);
  if (type == LINALG_IRFFT) dims[rank - 1] = lengths[axes - 1];
  for (int d = 0; d < rank; d++) longest = dims[d] > longest ? dims[d] : longest;
  int64_t total = eval_count(rank, dims);
  if (total == 0 || halo_shape_element_count(to) == 0) return HALO_OK;
  linalg_number *x, *spare;
  HALO_TRY(linalg_alloc(total, &x));
  halo_status status = linalg_alloc(2 * longest, &spare);
  if (status == HALO_OK) {
    int64_t n = dims[rank - 1], half = from->dims[rank - 1], rows = total / n;
    for (int64_t i = 0; i < rows * half; i++) {
      x[i / half * n + i % half] = linalg_get(call->operands[0], i);
    }
    if (type == LINALG_IRFFT) {
      for (int32_t i = 0; i < axes - 1; i++) {
        linalg_dft_axis(x, rank, dims, rank - axes + i, inverse, spare);
      }
      for (int64_t row = 0; row < rows; row++) linalg_mirror(x + row * n, n);
      linalg_dft_axis(x, rank, dims, rank - 1, inverse, spare);
    } else {
      for (int32_t i = 0; i < axes; i++) {
        linalg_dft_axis(x, rank, dims, rank - 1 - i, inverse, spare);
      }
    }
    int64_t kept = to->dims[rank - 1];
    for (int64_t i = 0; i < rows * kept; i++) linalg_set(*out, i, x[i / kept * n + i % kept]);
    halo_free(spare);
  }
  halo_free(x);
  return status;
}

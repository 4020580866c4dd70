/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c: whether the answers of a case are right: by the evaluator, which shares no code with the kernels, for all of a program, for
 * blocks at its ends, or by a program that states an identity. */
#include "bench/runner.h"
#include "compare.h"
#include "tool.h"

#include "halo/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERIFY_ARRAYS = 64 };

/* The arrays of a value, which keeps them; returns how many. */
static int verify_flatten(halo_literal *value, halo_literal **out, int count) {
  const halo_shape *shape = halo_literal_shape(value);
  if (halo_shape_type(shape) != HALO_TUPLE) {
    if (count < VERIFY_ARRAYS) out[count] = value;
    return count + 1;
  }
  for (int i = 0; i < halo_shape_tuple_count(shape); i++) {
    count = verify_flatten(halo_literal_element(value, i), out, count);
  }
  return count;
}

/* The root of the mean square of the finite elements: a sum whose terms cancel is off by what its terms are, not by what it is. */
static double verify_size(const halo_literal *value) {
  int64_t count = halo_shape_element_count(halo_literal_shape(value)), used = 0;
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    double re, im;
    halo_literal_get_c128(value, i, &re, &im);
    double square = re * re + im * im;
    if (!isfinite(square)) continue;
    sum += square;
    used++;
  }
  return used ? sqrt(sum / (double)used) : 0;
}

static void verify_compare(const bench_case *c, const halo_literal *got,
                           const halo_literal *expected, bench_row *row) {
  halo_type type = halo_shape_type(halo_literal_shape(expected));
  double rtol = compare_default_rtol(type);
  if (rtol > 0 && c->tolerance > rtol) rtol = c->tolerance;
  double size = verify_size(expected);
  double atol = rtol * (size > c->smallest ? size : c->smallest);
  row->wrong += compare_arrays(got, expected, rtol, atol).different;
  row->checked += halo_shape_element_count(halo_literal_shape(expected));
}

/* Evaluates a text. *out is NULL after a failure, which is noted. */
static void verify_evaluate(const bench_case *c, const char *text, halo_literal *const *arguments,
                            int count, bench_row *row, halo_literal **out) {
  halo_module *module = NULL;
  *out = NULL;
  halo_status status = halo_module_read(text, strlen(text), c->name, NULL, &module);
  if (status == HALO_OK) status = halo_module_evaluate(module, arguments, count, out);
  halo_module_release(module);
  if (status != HALO_OK) bench_row_fail(row, BENCH_FAILED, NULL);
}

static bool verify_same_shape(const halo_literal *a, const halo_literal *b) {
  const halo_shape *x = halo_literal_shape(a), *y = halo_literal_shape(b);
  if (halo_shape_type(x) != halo_shape_type(y) || halo_shape_rank(x) != halo_shape_rank(y)) {
    return false;
  }
  for (int d = 0; d < halo_shape_rank(x); d++) {
    if (halo_shape_dim(x, d) != halo_shape_dim(y, d)) return false;
  }
  return true;
}

/* ---- All of it ---- */

static void verify_whole(const bench_case *c, halo_literal *const *arguments, int argument_count,
                         halo_literal *const *results, int result_count, bench_row *row) {
  halo_literal *value, *expected[VERIFY_ARRAYS];
  strcpy(row->check, "evaluator");
  verify_evaluate(c, c->text, arguments, argument_count, row, &value);
  if (value == NULL) return;
  int count = verify_flatten(value, expected, 0);
  for (int i = 0; i < count && i < VERIFY_ARRAYS && i < result_count; i++) {
    verify_compare(c, results[i], expected[i], row);
  }
  if (count != result_count || count > VERIFY_ARRAYS) {
    bench_row_fail(row, BENCH_FAILED, "the evaluator has another number of results");
  }
  halo_literal_release(value);
}

/* ---- Blocks ---- */

/* The part of `whole` that has the shape of a block, at the first or the last place along each dimension. A new literal; NULL: it does
 * not fit. */
static halo_literal *verify_cut(const halo_literal *whole, const halo_shape *block, bool last) {
  const halo_shape *shape = halo_literal_shape(whole);
  int rank = halo_shape_rank(shape);
  halo_literal *out = NULL;
  if (rank != halo_shape_rank(block) || halo_shape_type(shape) != halo_shape_type(block) ||
      halo_literal_create(block, &out) != HALO_OK) {
    return NULL;
  }
  size_t size = halo_type_size(halo_shape_type(shape));
  const char *from = halo_literal_data((halo_literal *)whole);
  char *to = halo_literal_data(out);
  int64_t count = halo_shape_element_count(block), row = rank ? halo_shape_dim(block, rank - 1) : 1;
  for (int64_t i = 0; i < count; i += row) {
    int64_t rest = i, at = 0, stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
      int64_t extent = halo_shape_dim(shape, d), part = halo_shape_dim(block, d);
      at += (rest % part + (last ? extent - part : 0)) * stride;
      rest /= part;
      stride *= extent;
    }
    memcpy(to + (size_t)i * size, from + (size_t)at * size, (size_t)row * size);
  }
  return out;
}

static void verify_block_at(const bench_case *c, halo_module *module, bool last,
                            halo_literal *const *arguments, int argument_count,
                            halo_literal *const *results, int result_count, bench_row *row) {
  halo_literal *cut[VERIFY_ARRAYS] = {0}, *expected[VERIFY_ARRAYS], *value = NULL;
  bool fits =
      argument_count <= VERIFY_ARRAYS && argument_count == halo_module_parameter_count(module);
  for (int i = 0; i < argument_count && fits; i++) {
    cut[i] = verify_cut(arguments[i], halo_module_parameter_shape(module, i), last);
    fits = cut[i] != NULL;
  }
  if (fits && halo_module_evaluate(module, cut, argument_count, &value) != HALO_OK) {
    bench_row_fail(row, BENCH_FAILED, NULL);
  } else if (fits) {
    int count = verify_flatten(value, expected, 0);
    fits = count == result_count && count <= VERIFY_ARRAYS;
    for (int i = 0; i < count && fits; i++) {
      halo_literal *got = verify_cut(results[i], halo_literal_shape(expected[i]), last);
      fits = got != NULL;
      if (fits) verify_compare(c, got, expected[i], row);
      halo_literal_release(got);
    }
  }
  if (!fits) bench_row_fail(row, BENCH_FAILED, "the block for the check does not fit the case");
  halo_literal_release(value);
  for (int i = 0; i < argument_count && i < VERIFY_ARRAYS; i++) halo_literal_release(cut[i]);
}

static void verify_blocks(const bench_case *c, halo_literal *const *arguments, int argument_count,
                          halo_literal *const *results, int result_count, bench_row *row) {
  halo_module *module;
  strcpy(row->check, "block");
  if (halo_module_read(c->block, strlen(c->block), c->name, NULL, &module) != HALO_OK) {
    bench_row_fail(row, BENCH_FAILED, NULL);
    return;
  }
  for (int last = 0; last < 2; last++) {
    verify_block_at(c, module, last, arguments, argument_count, results, result_count, row);
  }
  halo_module_release(module);
}

/* ---- Identities ---- */

static void verify_identity(const bench_case *c, halo_literal *const *arguments, int argument_count,
                            halo_literal *const *results, int result_count, bench_row *row) {
  halo_literal *all[VERIFY_ARRAYS], *value, *pairs[VERIFY_ARRAYS];
  strcpy(row->check, "identity");
  int count = 0;
  for (int i = 0; i < argument_count && count < VERIFY_ARRAYS; i++) all[count++] = arguments[i];
  for (int i = 0; i < result_count && count < VERIFY_ARRAYS; i++) all[count++] = results[i];
  verify_evaluate(c, c->identity, all, count, row, &value);
  if (value == NULL) return;
  count = verify_flatten(value, pairs, 0);
  bool fits = count > 0 && count % 2 == 0 && count <= VERIFY_ARRAYS;
  for (int i = 0; i < count && fits; i += 2) {
    fits = verify_same_shape(pairs[i], pairs[i + 1]);
    if (fits) verify_compare(c, pairs[i], pairs[i + 1], row);
  }
  if (!fits) bench_row_fail(row, BENCH_FAILED, "the identity gives no pairs of one shape");
  halo_literal_release(value);
}

void bench_verify(const bench_case *c, halo_literal *const *arguments, int argument_count,
                  halo_literal *const *results, int result_count, bench_row *row) {
  row->wrong = row->checked = row->elements = 0;
  for (int i = 0; i < result_count; i++) {
    row->elements += halo_shape_element_count(halo_literal_shape(results[i]));
  }
  if (c->identity != NULL) {
    verify_identity(c, arguments, argument_count, results, result_count, row);
  } else if (c->block != NULL) {
    verify_blocks(c, arguments, argument_count, results, result_count, row);
  } else {
    verify_whole(c, arguments, argument_count, results, result_count, row);
  }
}

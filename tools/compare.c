/* SPDX-License-Identifier: Apache-2.0 */
/* tools/compare.c: results against expected ones: absolute, relative and ULP differences. */
#include "compare.h"

#include "output.h"
#include "tool.h"

#include "halo/npy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Differences ---- */

/* Some ten ULPs of the type, since a sum taken in another order already differs by that. */
double compare_default_rtol(halo_type type) {
  switch (halo_type_name(type)[0]) {
    case 's':
    case 'u':
    case 'p': return 0;
  }
  switch (halo_type_bits(type)) {
    case 128: return 1e-12;
    case 64: return type == HALO_C64 ? 1e-5 : 1e-12;
    case 32: return 1e-5;
    case 16: return type == HALO_BF16 ? 2e-2 : 2e-3;
  }
  return 0.25;
}

/* A place on the line of all values of the type, so that neighbours differ by one. */
static int64_t compare_ordered(const unsigned char *at, size_t size) {
  uint64_t bits = 0;
  memcpy(&bits, at, size);
  uint64_t sign = (uint64_t)1 << (8 * size - 1);
  return bits & sign ? -(int64_t)(bits & ~sign) : (int64_t)bits;
}

/* The distance in representable values; parts of complex numbers are looked at one by one. NAN for
 * types that are exact. */
static double compare_ulps(const halo_literal *a, const halo_literal *b, int64_t i) {
  halo_type type = halo_shape_type(halo_literal_shape(a));
  if (strchr("sup", halo_type_name(type)[0]) || halo_type_bits(type) < 8) return NAN;
  int parts = type == HALO_C64 || type == HALO_C128 ? 2 : 1;
  size_t size = halo_type_size(type) / (size_t)parts;
  const unsigned char *x = halo_literal_data((halo_literal *)a);
  const unsigned char *y = halo_literal_data((halo_literal *)b);
  double most = 0;
  for (int p = 0; p < parts; p++) {
    size_t at = ((size_t)i * (size_t)parts + (size_t)p) * size;
    int64_t from = compare_ordered(x + at, size), to = compare_ordered(y + at, size);
    double distance = fabs((double)from - (double)to);
    if (fabs(distance) < 0x1p53) distance = (double)llabs(from - to);
    if (distance > most) most = distance;
  }
  return most;
}

/* The difference of two parts; 0 when they agree as special values do, INFINITY when one of them is
 * special and the other is not the same. */
static double compare_part(double got, double expected) {
  if (isnan(got) && isnan(expected)) return 0;
  if (got == expected) return 0;
  double difference = fabs(got - expected);
  return isfinite(difference) ? difference : INFINITY;
}

static void compare_element(const halo_literal *got, const halo_literal *expected, int64_t i,
                            double rtol, double atol, compare_stats *stats) {
  halo_type type = halo_shape_type(halo_literal_shape(got));
  double re, im, expected_re, expected_im;
  halo_literal_get_c128(got, i, &re, &im);
  halo_literal_get_c128(expected, i, &expected_re, &expected_im);
  double absolute = hypot(compare_part(re, expected_re), compare_part(im, expected_im));
  /* 64-bit integers that are equal as doubles may differ still. */
  if (absolute == 0 && halo_type_size(type) == 8 && strchr("su", halo_type_name(type)[0])) {
    uint64_t a = (uint64_t)halo_literal_get_i64(got, i);
    uint64_t b = (uint64_t)halo_literal_get_i64(expected, i);
    absolute = (double)(a > b ? a - b : b - a);
  }
  if (absolute == 0) return;
  double size = hypot(expected_re, expected_im);
  double allowed = atol + rtol * size;
  if (absolute > stats->absolute) stats->absolute = absolute;
  if (size > 0 && isfinite(size) && absolute / size > stats->relative) {
    stats->relative = absolute / size;
  }
  if (isfinite(absolute)) {
    double ulps = compare_ulps(got, expected, i);
    if (ulps > stats->ulps) stats->ulps = ulps;
  }
  if (isfinite(absolute) && absolute <= allowed) return;
  stats->different++;
  double excess = absolute - (isfinite(allowed) ? allowed : 0);
  if (excess > stats->excess || stats->different == 1) {
    stats->excess = excess;
    stats->worst = i;
  }
}

compare_stats compare_arrays(const halo_literal *got, const halo_literal *expected, double rtol,
                             double atol) {
  compare_stats stats = {0};
  int64_t count = halo_shape_element_count(halo_literal_shape(got));
  for (int64_t i = 0; i < count; i++) {
    compare_element(got, expected, i, rtol, atol, &stats);
  }
  return stats;
}

/* ---- Expected values ---- */

static bool compare_read_folder(const char *path, halo_literal *const *results, int count,
                                halo_literal **out) {
  for (int i = 0; i < count; i++) {
    char *file = tool_printf("%s/out%d.npy", path, i);
    halo_type type = halo_shape_type(halo_literal_shape(results[i]));
    bool ok = tool_check(halo_npy_read(file, type, &out[i]));
    free(file);
    if (!ok) return false;
  }
  return true;
}

/* Arrays called out0, out1, ...; with other names they count in their order. */
static bool compare_read_archive(const char *path, halo_literal *const *results, int count,
                                 halo_literal **out) {
  halo_npz *npz;
  if (!tool_check(halo_npz_open(path, &npz))) return false;
  bool ok = halo_npz_count(npz) == count;
  if (!ok) {
    tool_error("%s has %d array%s, and the program has %d result%s", path, halo_npz_count(npz),
               halo_npz_count(npz) == 1 ? "" : "s", count, count == 1 ? "" : "s");
  }
  for (int i = 0; i < count && ok; i++) {
    int index = i;
    char name[32];
    snprintf(name, sizeof name, "out%d", i);
    for (int k = 0; k < count; k++) {
      if (strcmp(halo_npz_name(npz, k), name) == 0) index = k;
    }
    halo_type type = halo_shape_type(halo_literal_shape(results[i]));
    ok = tool_check(halo_npz_read(npz, index, type, &out[i]));
  }
  halo_npz_close(npz);
  return ok;
}

static bool compare_read(const char *path, halo_literal *const *results, int count,
                         halo_literal **out) {
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
    return compare_read_folder(path, results, count, out);
  }
  if (tool_ends_with(path, ".npz")) return compare_read_archive(path, results, count, out);
  if (count != 1) {
    tool_error("the program has %d results; --compare takes a .npz file or a folder for them",
               count);
    return false;
  }
  return tool_check(halo_npy_read(path, halo_shape_type(halo_literal_shape(results[0])), &out[0]));
}

/* ---- The table ---- */

static void compare_print_worst(const halo_literal *got, const halo_literal *expected,
                                int64_t position) {
  const halo_shape *shape = halo_literal_shape(got);
  int rank = halo_shape_rank(shape);
  int64_t index[64], left = position;
  for (int d = rank - 1; d >= 0; d--) {
    index[d] = left % halo_shape_dim(shape, d);
    left /= halo_shape_dim(shape, d);
  }
  char a[OUTPUT_ELEMENT_SIZE], b[OUTPUT_ELEMENT_SIZE];
  output_element(got, position, a);
  output_element(expected, position, b);
  fputs("      worst at [", stdout);
  for (int d = 0; d < rank; d++) printf("%s%lld", d ? "," : "", (long long)index[d]);
  printf("]: %s, expected %s\n", a, b);
}

/* Prints one row; false when the result differs too much. */
static bool compare_one(const compare_request *request, int number, int width,
                        const halo_literal *got, const halo_literal *expected) {
  const halo_shape *shape = halo_literal_shape(got);
  printf("  %2d  %-*s ", number, width, tool_shape(shape));
  if (!halo_shape_compatible(shape, halo_literal_shape(expected))) {
    printf("DIFFERS: %s was expected\n", tool_shape(halo_literal_shape(expected)));
    return false;
  }
  double type_rtol = compare_default_rtol(halo_shape_type(shape));
  double rtol = request->rtol >= 0 ? request->rtol : type_rtol;
  double atol = request->atol >= 0 ? request->atol : type_rtol / 10;
  int64_t count = halo_shape_element_count(shape);
  compare_stats stats = compare_arrays(got, expected, rtol, atol);
  printf("%9.3g %9.3g %9.4g %8.3g %8.3g  ", stats.absolute, stats.relative, stats.ulps, rtol, atol);
  if (stats.different == 0) {
    puts("ok");
    return true;
  }
  printf("DIFFERS in %s of %s\n", tool_count(stats.different), tool_count(count));
  compare_print_worst(got, expected, stats.worst);
  return false;
}

int compare_results(const compare_request *request, halo_literal *const *results, int count) {
  halo_literal **expected = tool_alloc(sizeof(halo_literal *) * (size_t)count);
  int different = 0;
  bool ok = compare_read(request->path, results, count, expected);
  if (ok) {
    int width = 0;
    for (int i = 0; i < count; i++) {
      int length = (int)strlen(tool_shape(halo_literal_shape(results[i])));
      if (length > width) width = length;
    }
    printf("Compared with %s\n", request->path);
    printf("      %*s %9s %9s %9s %8s %8s\n", width, "", "max abs", "max rel", "max ULP", "rtol",
           "atol");
    for (int i = 0; i < count; i++) {
      different += !compare_one(request, i, width, results[i], expected[i]);
    }
  }
  for (int i = 0; i < count; i++) halo_literal_release(expected[i]);
  free(expected);
  if (!ok) return TOOL_FAILED;
  if (different == 0) return TOOL_OK;
  if (count == 1) return tool_error("the result differs from %s", request->path);
  return tool_error("%d of %d results differ%s from %s", different, count,
                    different == 1 ? "s" : "", request->path);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tools/output.c: values for people to read: whole arrays, or what matters about large ones. */
#include "output.h"

#include "tool.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_INDENT = 2, OUTPUT_WIDTH = 100, OUTPUT_MAX_RANK = 64, OUTPUT_ALIGN_LIMIT = 100000 };

/* ---- Elements ---- */

/* Whether reading the text gives the value again in the type. */
static bool output_reads_back(halo_type type, double value, const char *text) {
  double again = strtod(text, NULL);
  if (type == HALO_F64 || type == HALO_C128) return again == value;
  if (type == HALO_F32 || type == HALO_C64) return (float)again == (float)value;
  halo_literal *scalar;
  if (halo_literal_create_array(type, 0, NULL, &(uint64_t){0}, &scalar) != HALO_OK) return true;
  halo_literal_set_f64(scalar, 0, again);
  bool same = halo_literal_get_f64(scalar, 0) == value;
  halo_literal_release(scalar);
  return same;
}

static void output_float(halo_type type, double value, char *text, size_t size) {
  if (!isfinite(value)) {
    snprintf(text, size, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return;
  }
  /* This many digits always survive the type, so fewer need not be tried; %g drops the zeros. */
  bool wide = type == HALO_F64 || type == HALO_C128;
  int digits = wide ? DBL_DIG : type == HALO_F32 || type == HALO_C64 ? FLT_DIG : 1;
  do {
    snprintf(text, size, "%.*g", digits, value);
  } while (++digits <= DBL_DECIMAL_DIG && !output_reads_back(type, value, text));
}

static bool output_is_complex(halo_type type) { return type == HALO_C64 || type == HALO_C128; }

/* Neither a float nor complex. */
static bool output_is_whole(halo_type type) {
  switch (halo_type_name(type)[0]) {
    case 's':
    case 'u':
    case 'p': return true;
  }
  return false;
}

void output_element(const halo_literal *literal, int64_t i, char *text) {
  halo_type type = halo_shape_type(halo_literal_shape(literal));
  size_t size = OUTPUT_ELEMENT_SIZE;
  if (type == HALO_PRED) {
    snprintf(text, size, "%s", halo_literal_get_i64(literal, i) ? "true" : "false");
  } else if (type == HALO_U64) {
    snprintf(text, size, "%llu", (unsigned long long)halo_literal_get_i64(literal, i));
  } else if (output_is_whole(type)) {
    snprintf(text, size, "%lld", (long long)halo_literal_get_i64(literal, i));
  } else if (output_is_complex(type)) {
    double re, im;
    halo_literal_get_c128(literal, i, &re, &im);
    output_float(type, re, text, size);
    size_t used = strlen(text);
    if (!signbit(im) || isnan(im)) text[used++] = '+';
    output_float(type, im, text + used, size - used - 1);
    strcat(text, "j");
  } else {
    output_float(type, halo_literal_get_f64(literal, i), text, size);
  }
}

/* ---- In full ---- */

typedef struct output_grid {
  const halo_literal *literal;
  int rank, width; /* columns of the widest element */
  int64_t dims[OUTPUT_MAX_RANK];
  int64_t next; /* the element to print next */
} output_grid;

static void output_spaces(int count) { printf("%*s", count, ""); }

/* The innermost dimension: "[1 2 3]", broken into lines that fit. */
static void output_row(output_grid *grid, int column) {
  char text[OUTPUT_ELEMENT_SIZE];
  int64_t count = grid->dims[grid->rank - 1];
  int start = column + 1;
  putchar('[');
  column = start;
  for (int64_t i = 0; i < count && !ferror(stdout); i++) {
    if (i > 0 && column + 1 + grid->width >= OUTPUT_WIDTH) {
      putchar('\n');
      output_spaces(start);
      column = start;
    } else if (i > 0) {
      putchar(' ');
      column++;
    }
    output_element(grid->literal, grid->next++, text);
    column += printf("%*s", grid->width, text);
  }
  putchar(']');
}

static void output_block(output_grid *grid, int dimension) {
  int column = OUTPUT_INDENT + dimension;
  if (dimension == grid->rank - 1) {
    output_row(grid, column);
    return;
  }
  putchar('[');
  for (int64_t i = 0; i < grid->dims[dimension] && !ferror(stdout); i++) {
    if (i > 0) {
      for (int d = dimension; d < grid->rank - 1; d++) putchar('\n');
      output_spaces(column + 1);
    }
    output_block(grid, dimension + 1);
  }
  putchar(']');
}

static void output_full(const halo_literal *literal) {
  const halo_shape *shape = halo_literal_shape(literal);
  output_grid grid = {.literal = literal, .rank = halo_shape_rank(shape)};
  int64_t count = halo_shape_element_count(shape);
  char text[OUTPUT_ELEMENT_SIZE] = "";
  /* Nobody reads the columns of a very large array, and measuring it takes as long as printing it. */
  for (int64_t i = 0; i < count && count <= OUTPUT_ALIGN_LIMIT; i++) {
    output_element(literal, i, text);
    if ((int)strlen(text) > grid.width) grid.width = (int)strlen(text);
  }
  for (int d = 0; d < grid.rank; d++) grid.dims[d] = halo_shape_dim(shape, d);
  output_spaces(OUTPUT_INDENT);
  if (count == 0) {
    fputs("(no elements)", stdout);
  } else if (grid.rank == 0) {
    fputs(text, stdout);
  } else {
    output_block(&grid, 0);
  }
  putchar('\n');
}

/* ---- Summary ---- */

typedef struct output_stats {
  int64_t nans, infinities, trues;
  double least, most, mean, deviation; /* of finite elements; complex: of absolute values */
  int64_t finite;
} output_stats;

static void output_measure(const halo_literal *literal, output_stats *stats) {
  const halo_shape *shape = halo_literal_shape(literal);
  int64_t count = halo_shape_element_count(shape);
  *stats = (output_stats){.least = INFINITY, .most = -INFINITY};
  double mean = 0, m2 = 0; /* Welford's: no cancellation when the mean is large */
  for (int64_t i = 0; i < count; i++) {
    double re, im;
    halo_literal_get_c128(literal, i, &re, &im);
    double value = output_is_complex(halo_shape_type(shape)) ? hypot(re, im) : re;
    if (isnan(re) || isnan(im)) {
      stats->nans++;
    } else if (isinf(value)) {
      stats->infinities++;
    } else {
      stats->finite++;
      stats->trues += value != 0;
      if (value < stats->least) stats->least = value;
      if (value > stats->most) stats->most = value;
      double delta = value - mean;
      mean += delta / (double)stats->finite;
      m2 += delta * (value - mean);
    }
  }
  stats->mean = mean;
  stats->deviation = stats->finite ? sqrt(m2 / (double)stats->finite) : 0;
}

/* As many elements as fit on a line. */
static void output_first(const halo_literal *literal) {
  int64_t count = halo_shape_element_count(halo_literal_shape(literal));
  char text[OUTPUT_ELEMENT_SIZE];
  int column = printf("  first");
  for (int64_t i = 0; i < count; i++) {
    output_element(literal, i, text);
    if (column + 1 + (int)strlen(text) + 4 > OUTPUT_WIDTH - 20) {
      fputs(" ...", stdout);
      break;
    }
    column += printf(" %s", text);
  }
  putchar('\n');
}

static void output_summary(const halo_literal *literal) {
  const halo_shape *shape = halo_literal_shape(literal);
  halo_type type = halo_shape_type(shape);
  int64_t count = halo_shape_element_count(shape);
  if (count == 0) {
    puts("  (no elements)");
    return;
  }
  output_stats stats;
  output_measure(literal, &stats);
  printf("  %s element%s, %s", tool_count(count), count == 1 ? "" : "s",
         tool_bytes((uint64_t)halo_shape_byte_size(shape)));
  if (type == HALO_PRED) {
    printf(": %s true, %s false\n", tool_count(stats.trues), tool_count(count - stats.trues));
  } else {
    if (!output_is_whole(type) && stats.finite == count) fputs(", all finite", stdout);
    if (stats.nans > 0) printf(", %s NaN", tool_count(stats.nans));
    if (stats.infinities > 0) printf(", %s infinite", tool_count(stats.infinities));
    putchar('\n');
    if (stats.finite > 0) {
      const char *bar = output_is_complex(type) ? "|" : "";
      printf("  %smin%s %.6g  %smax%s %.6g  %smean%s %.6g  std %.6g\n", bar, bar, stats.least, bar,
             bar, stats.most, bar, bar, stats.mean, stats.deviation);
    }
  }
  output_first(literal);
}

void output_value(const halo_literal *literal, output_mode mode) {
  int64_t count = halo_shape_element_count(halo_literal_shape(literal));
  if (mode == OUTPUT_NONE) return;
  if (mode == OUTPUT_AUTO) mode = count <= OUTPUT_FULL_LIMIT ? OUTPUT_FULL : OUTPUT_SUMMARY;
  if (mode == OUTPUT_FULL) {
    output_full(literal);
  } else {
    output_summary(literal);
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c: `halo bench compare`: ratios of rates by row and group, beside what the samples differ by anyhow. */
#include "bench/comparison.h"
#include "args.h"
#include "bench/bench.h"
#include "bench/show.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARE_RECORDS = 8, COMPARE_GROUPS = 64 };

/* ---- One row against another ---- */

typedef struct compare_ratio {
  double ratio; /* of the rates: above 1 is faster; 0: one of the two is missing */
  double noise; /* what it may be off by, relative */
} compare_ratio;

/* The row of another record that stands for the same: of the same name, and, where the base has several of that name, of the same
 * implementation. */
static const bench_row *compare_match(const bench_record *base, const bench_row *row,
                                      const bench_record *other) {
  bool first = bench_record_find(base, row->name, NULL) == row;
  const bench_row *found = bench_record_find(other, row->name, first ? NULL : row->implementation);
  /* Another size is another measurement. The size of a limit is the form that was fastest. */
  bool limit = strncmp(row->name, "limit.", 6) == 0;
  return found != NULL && (limit || strcmp(found->size, row->size) == 0) ? found : NULL;
}

/* The error of a row's median, as a logarithm: its spread, or how far it is above the fastest sample. Where other programs took
 * the processor half of the time, the middle half of the samples may be all slow or all fast. */
static double compare_noise(const bench_row *row) {
  double spread = log1p(row->spread);
  double above = row->minimum > 0 ? log(row->median / row->minimum) : 0;
  return spread > above ? spread : above;
}

static compare_ratio compare_rows(const bench_row *base, const bench_row *other) {
  double a = bench_row_rate(base), b = other ? bench_row_rate(other) : 0;
  if (a <= 0 || b <= 0) return (compare_ratio){0};
  double ratio = bench_row_is_time(base) ? a / b : b / a;
  return (compare_ratio){ratio, expm1(hypot(compare_noise(base), compare_noise(other)))};
}

/* The reason that a row has no ratio, in a word. */
static const char *compare_reason(const bench_row *base, const bench_row *other) {
  if (other == NULL) return "missing";
  return bench_status_name(other->median > 0 ? base->status : other->status);
}

static const char *compare_verdict(compare_ratio r) {
  if (fabs(log(r.ratio)) <= log1p(r.noise)) return "~";
  return r.ratio > 1 ? "+" : "-";
}

/* ---- The table ---- */

void bench_compare_show(const bench_record *records, int count) {
  double sums[COMPARE_GROUPS][COMPARE_RECORDS] = {0};
  int counts[COMPARE_GROUPS][COMPARE_RECORDS] = {0}, group_count = 0;
  char groups[COMPARE_GROUPS][24];
  puts("```text");
  for (int r = 0; r < count; r++) {
    const bench_record *record = &records[r];
    printf("%c = %.40s, %.30s\n", 'A' + r, record->device, record->driver);
    printf("    halo %s (%s), %s, %.30s\n", record->version, record->commit, record->date,
           record->os);
  }
  printf("\nratios of rates to A's, +- what the samples of both differ by: above 1 is faster\n\n");
  printf("%-26s %12s", "row", "A");
  for (int r = 1; r < count; r++) printf("  %12c", 'A' + r);
  putchar('\n');
  for (int i = 0; i < records[0].row_count; i++) {
    const bench_row *row = &records[0].rows[i];
    char group[24];
    bench_row_group(row, group);
    int g = 0;
    while (g < group_count && strcmp(groups[g], group) != 0) g++;
    if (g == group_count && g < COMPARE_GROUPS) strcpy(groups[group_count++], group);
    printf("%-26.26s %12s", row->name,
           row->median > 0 ? bench_show_rate(row) : bench_status_name(row->status));
    for (int r = 1; r < count; r++) {
      const bench_row *other = compare_match(&records[0], row, &records[r]);
      compare_ratio ratio = compare_rows(row, other);
      if (ratio.ratio > 0) {
        printf("  %5.2f +-%.2f%s", ratio.ratio, ratio.ratio * ratio.noise, compare_verdict(ratio));
        if (g < COMPARE_GROUPS) sums[g][r] += log(ratio.ratio);
        if (g < COMPARE_GROUPS) counts[g][r]++;
      } else {
        printf("  %12s", compare_reason(row, other));
      }
    }
    putchar('\n');
  }
  puts("\ngeometric means by group");
  for (int g = 0; g < group_count; g++) {
    printf("%-26s %12s", groups[g], "");
    for (int r = 1; r < count; r++) {
      if (counts[g][r] == 0) {
        printf("  %12s", "");
      } else {
        printf("  %5.2f  of %3d", exp(sums[g][r] / counts[g][r]), counts[g][r]);
      }
    }
    putchar('\n');
  }
  puts("```");
}

/* ---- Several runs as one ---- */

/* The medians of the runs' medians; the spread is the larger of that within a run and that among them. */
static void compare_merge(bench_record *runs, int count) {
  double medians[COMPARE_RECORDS * 4];
  for (int i = 0; i < runs[0].row_count; i++) {
    bench_row *row = &runs[0].rows[i];
    int used = 0;
    for (int r = 0; r < count; r++) {
      const bench_row *one = compare_match(&runs[0], row, &runs[r]);
      if (one == NULL || one->median <= 0) continue;
      medians[used++] = one->median;
      if (one->minimum < row->minimum) row->minimum = one->minimum;
      if (one->spread > row->spread) row->spread = one->spread;
    }
    if (used < 2) continue;
    row->median = bench_median(medians, used);
    double among = (medians[used - 1] - medians[0]) / row->median;
    if (among > row->spread) row->spread = among;
  }
}

/* "A.json,B.json": runs of the same; false after a message. */
static bool compare_load(const char *paths, bench_record *out) {
  bench_record runs[COMPARE_RECORDS * 4] = {0};
  int count = 0;
  bool good = true;
  for (const char *at = paths; *at != '\0' && good;) {
    size_t length = strcspn(at, ",");
    char *path = tool_printf("%.*s", (int)length, at);
    good = count < COMPARE_RECORDS * 4;
    if (!good) tool_error("there are at most %d runs of one thing", COMPARE_RECORDS * 4);
    if (good) good = bench_record_load(path, &runs[count]);
    count += good;
    free(path);
    at += length + (at[length] == ',');
  }
  if (good && count > 0) compare_merge(runs, count);
  for (int r = 1; r < count || (!good && r < count); r++) bench_record_release(&runs[r]);
  if (good) {
    *out = runs[0];
  } else if (count > 0) {
    bench_record_release(&runs[0]);
  }
  return good && count > 0;
}

/* ---- The command ---- */

/* How many rows of the others are slower than the base by more than the threshold and by more than their samples differ, or have no
 * result where the base has one. Says which. */
static int compare_count_worse(const bench_record *records, int count, double threshold) {
  int worse = 0;
  for (int r = 1; r < count; r++) {
    for (int i = 0; i < records[0].row_count; i++) {
      const bench_row *row = &records[0].rows[i];
      const bench_row *other = compare_match(&records[0], row, &records[r]);
      if (row->median <= 0) continue;
      compare_ratio ratio = compare_rows(row, other);
      bool slower = ratio.ratio > 0 && 1 / ratio.ratio > 1 + threshold / 100 &&
                    1 / ratio.ratio > 1 + ratio.noise;
      if (ratio.ratio > 0 && !slower) continue;
      worse++;
      if (ratio.ratio > 0) {
        printf("%c: %s takes %.2f times as long\n", 'A' + r, row->name, 1 / ratio.ratio);
      } else {
        printf("%c: %s is %s\n", 'A' + r, row->name, compare_reason(row, other));
      }
    }
  }
  return worse;
}

enum { COMPARE_THRESHOLD = 1, COMPARE_HELP };

static const tool_option compare_options[] = {
    {COMPARE_THRESHOLD, 0, "threshold", "PERCENT",
     "exit code 1 when a row is slower than A's by more than that, and by more than the samples "
     "differ, or has no result"},
    {COMPARE_HELP, 'h', "help", NULL, "this text"},
    {0},
};

int bench_compare(int argc, char **argv) {
  tool_args args = {.command = "bench compare",
                    .options = compare_options,
                    .argc = argc,
                    .argv = argv,
                    .next = 1};
  const char *value, *paths[COMPARE_RECORDS];
  double threshold = -1;
  int count = 0;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case COMPARE_THRESHOLD:
        if (!args_number(&args, "threshold", value, &threshold)) return TOOL_USAGE;
        break;
      case COMPARE_HELP:
        puts(
            "Usage: halo bench compare [OPTIONS] A.json B.json ...\n\n"
            "Compares results that 'halo bench --json' wrote: ratios of rates by row, with what "
            "the\n"
            "samples differ by anyhow, and geometric means by group. Runs of the same thing are "
            "one\n"
            "operand, with commas: A1.json,A2.json.\n");
        args_print_options(stdout, compare_options);
        return TOOL_OK;
      case ARGS_OPERAND:
        if (count == COMPARE_RECORDS) {
          return args_usage_error(&args, "there are at most %d files", COMPARE_RECORDS);
        }
        paths[count++] = value;
        break;
      default: return TOOL_USAGE;
    }
  }
  if (count < 2) return args_usage_error(&args, "two files or more are compared");
  bench_record records[COMPARE_RECORDS] = {0};
  bool good = true;
  for (int i = 0; i < count && good; i++) good = compare_load(paths[i], &records[i]);
  int worse = 0;
  if (good) bench_compare_show(records, count);
  if (good && threshold >= 0) worse = compare_count_worse(records, count, threshold);
  for (int i = 0; i < count; i++) bench_record_release(&records[i]);
  return good && worse == 0 ? TOOL_OK : TOOL_FAILED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* show.c: the block of `halo bench`: at most 80 columns, between the fences of a Markdown code block. */
#include "bench/show.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* Three digits, or two below a tenth. */
static const char *show_number(double number) {
  static char texts[8][16];
  static int next;
  char *text = texts[next = (next + 1) % 8];
  int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  snprintf(text, sizeof texts[0], number < 0.0995 ? "%.*g" : "%.*f", decimals, number);
  return text;
}

static const char *show_seconds(double seconds) {
  static char texts[8][20];
  static int next;
  char *text = texts[next = (next + 1) % 8];
  if (seconds <= 0) return "";
  const char *unit = seconds < 1e-6 ? "ns" : seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";
  double scale = seconds < 1e-6 ? 1e9 : seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
  snprintf(text, sizeof texts[0], "%s %s", show_number(seconds * scale), unit);
  return text;
}

const char *bench_show_rate(const bench_row *row) {
  static char texts[8][32];
  static int next;
  char *text = texts[next = (next + 1) % 8];
  if (row->median <= 0) return "";
  if (bench_row_is_time(row)) return show_seconds(row->median);
  if (strcmp(row->unit, "runs/s") == 0) return show_seconds(row->median);
  snprintf(text, sizeof texts[0], "%s %s", show_number(bench_row_shown(row)), row->unit);
  return text;
}

static const char *show_percent(double part) {
  static char texts[8][16];
  static int next;
  char *text = texts[next = (next + 1) % 8];
  if (part <= 0) return "";
  if (part >= 99.95) return ">99x";
  if (part >= 9.995) {
    snprintf(text, sizeof texts[0], "%.0fx", part);
    return text;
  }
  snprintf(text, sizeof texts[0], part < 0.0995 ? "%.1f%%" : "%.0f%%", part * 100);
  return text;
}

/* "ok", "above", or how many elements are wrong. */
static const char *show_verdict(const bench_row *row) {
  static char text[24];
  if (row->status != BENCH_WRONG) return bench_status_name(row->status);
  snprintf(text, sizeof text, "WRONG");
  return text;
}

/* ---- The block ---- */

static void show_labelled(const char *label, const char *text) {
  printf("%-9s %.70s\n", label, text);
}

static void show_block_heading(const bench_record *r) {
  char text[200];
  printf("```text\n");
  snprintf(text, sizeof text, "%s (%s), %s, %s", r->version, r->commit, r->date, r->suite);
  show_labelled("halo", text);
  snprintf(text, sizeof text, "%s, %d compute unit%s, %s", r->device, r->compute_units,
           r->compute_units == 1 ? "" : "s", tool_bytes(r->memory));
  show_labelled("device", text);
  snprintf(text, sizeof text, "%s, %s", r->platform, r->driver);
  show_labelled("driver", text);
  if (r->tuning[0] != '\0') show_labelled("tuning", r->tuning);
  snprintf(text, sizeof text, "%s, load %.1f", r->os, r->load);
  show_labelled("system", text);
  if (r->load > 1) show_labelled("", "other programs are running: all figures are rough");
  snprintf(text, sizeof text, "%s, resolution %s, a reading takes %s",
           r->device_times ? "times of the device" : "times on the wall",
           show_seconds(r->timer_resolution), show_seconds(r->timer_overhead));
  show_labelled("timer", text);
  /* A reference takes the columns of first starts, which the JSON form has beside it. */
  bool refers = r->reference_name[0] != '\0';
  if (refers) show_labelled("reference", r->reference_name);
  printf("\n%-32s %12s %5s %4s %7s %7s %s\n", "row", "median", "limit", "+-",
         refers ? "refer." : "cold", refers ? "of it" : "warm", "right");
}

static void show_block_row(const bench_row *row) {
  const char *verdict = show_verdict(row);
  bool refers = row->reference > 0;
  if (row->status > BENCH_ABOVE) {
    printf("%-32.32s %s: %.*s\n", row->name, verdict, (int)(80 - 35 - strlen(verdict)),
           row->reason);
    return;
  }
  printf("%-32.32s %12s %5s %4s %7s %7s %s\n", row->name, bench_show_rate(row),
         show_percent(bench_row_efficiency(row)), show_percent(row->spread),
         show_seconds(refers ? row->reference : row->cold),
         refers ? show_number(row->median / row->reference) : show_seconds(row->warm), verdict);
}

static void show_block_end(const bench_record *record, const bench_record *reference) {
  int count, wrong = 0, missing = 0;
  for (int i = 0; i < record->row_count; i++) {
    wrong += record->rows[i].status == BENCH_WRONG;
    missing += record->rows[i].status == BENCH_FAILED || record->rows[i].status == BENCH_SKIPPED;
  }
  putchar('\n');
  double figure = reference ? bench_record_throughput(record, reference, &count) : 0;
  if (figure > 0) {
    printf("throughput %6s  geometric mean of %d rows, where 100 is an %s\n",
           show_number(100 * figure), count, reference->device);
    printf("%19sby halo %s of %.10s: for comparing devices\n", "", reference->commit,
           reference->date);
  }
  figure = bench_record_efficiency(record, &count);
  if (figure > 0) {
    printf("efficiency %6s  geometric mean of %d rows' parts of this device's own limits:\n",
           show_percent(figure), count);
    printf("%19show much of it the software uses, not for ranking devices\n", "");
  }
  printf("%d rows, %d wrong, %d without a result; took %s\n", record->row_count, wrong, missing,
         show_seconds(record->seconds));
  printf("```\n");
}

/* ---- Markdown ---- */

static void show_markdown_heading(const bench_record *r) {
  printf("**%s**, %s, %s; %s; halo %s (%s), %s%s%s\n\n", r->device, r->platform, r->driver, r->os,
         r->version, r->commit, r->date, r->tuning[0] != '\0' ? ", tuning " : "", r->tuning);
  puts("| row | size | median | of limit | spread | cold | warm | implementation | answer |");
  puts("|---|---|---|---|---|---|---|---|---|");
}

static void show_markdown_row(const bench_row *row) {
  printf("| %s | %s | %s | %s | %s | %s | %s | %s | %s%s%s |\n", row->name, row->size,
         bench_show_rate(row), show_percent(bench_row_efficiency(row)), show_percent(row->spread),
         show_seconds(row->cold), show_seconds(row->warm), row->implementation, show_verdict(row),
         row->reason[0] ? ": " : "", row->reason);
}

static void show_markdown_end(const bench_record *record, const bench_record *reference) {
  int count;
  double figure = reference ? bench_record_throughput(record, reference, &count) : 0;
  if (figure > 0) {
    printf("\nThroughput %s (%d rows; 100 is %s).", show_number(100 * figure), count,
           reference->device);
  }
  figure = bench_record_efficiency(record, &count);
  if (figure > 0) printf(" Efficiency %s (%d rows).", show_percent(figure), count);
  putchar('\n');
}

/* ---- By format ---- */

void bench_show_heading(const bench_record *record, bench_format format) {
  switch (format) {
    case BENCH_BLOCK: show_block_heading(record); break;
    case BENCH_MARKDOWN: show_markdown_heading(record); break;
    case BENCH_CSV: bench_record_write_csv_heading(stdout); break;
    case BENCH_QUIET: break;
  }
  fflush(stdout);
}

void bench_show_row(const bench_row *row, bench_format format) {
  switch (format) {
    case BENCH_BLOCK: show_block_row(row); break;
    case BENCH_MARKDOWN: show_markdown_row(row); break;
    case BENCH_CSV: bench_record_write_csv(stdout, row); break;
    case BENCH_QUIET: break;
  }
  fflush(stdout);
}

void bench_show_end(const bench_record *record, const bench_record *reference,
                    bench_format format) {
  switch (format) {
    case BENCH_BLOCK: show_block_end(record, reference); break;
    case BENCH_MARKDOWN: show_markdown_end(record, reference); break;
    case BENCH_CSV:
    case BENCH_QUIET: break;
  }
  fflush(stdout);
}

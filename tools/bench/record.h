/* SPDX-License-Identifier: Apache-2.0 */
/* record.h: what a run of `halo bench` found out: rows, and on what they were measured. docs/benchmarks.md describes the JSON form. */
#ifndef HALO_TOOLS_BENCH_RECORD_H
#define HALO_TOOLS_BENCH_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Version of the JSON form. It grows when a member changes its meaning or goes; new members alone do not change it. */
enum { BENCH_SCHEMA_VERSION = 1 };

typedef enum bench_status {
  BENCH_OK,    /* measured, and right */
  BENCH_ABOVE, /* measured, and right, but faster than the limit: one of the two figures misleads */
  BENCH_WRONG, /* the answer is wrong: not measured */
  BENCH_FAILED, /* did not run, or its answer could not be checked: not measured */
  BENCH_SKIPPED /* cannot run here: not measured */
} bench_status;

/* "ok", "above", "wrong", "failed", "skipped". */
const char *bench_status_name(bench_status status);

/* A row of the result. Times are in seconds of one run; a member of 0 was not measured, unless it says otherwise. */
typedef struct bench_row {
  char name[64]; /* "dot.square.f32"; what stands before the first dot is its group */
  char size[40]; /* "1024x1024x1024" */
  char unit
      [12]; /* of the rate: "GB/s", "GFLOP/s", "Mitems/s"; "s": the row is a time, and less is better */
  char limit[32];          /* the row of the limit that the rate is held against, or "" */
  char implementation[48]; /* of the steps, with "+" between: "dot:panels" */
  double work;             /* bytes, operations or items of one run */
  double flops, bytes;     /* operations and bytes of one run, for a roofline; 0: not stated */
  double limit_rate;       /* of the limit: bytes, operations or items a second */
  double median, minimum;  /* over the samples */
  double spread;           /* the distance between the quartiles, relative to the median */
  int samples, runs;       /* samples, and runs in each */
  double cold, warm; /* compiling and the first run in a new process: caches empty, and filled */
  double reference;  /* the median of the same program by `reference` of the options */
  bool waited;       /* each run was waited for; else those of a sample were queued together */
  char check[16];    /* how the answer was checked: "evaluator", "block", "identity", "pattern" */
  int64_t wrong, checked; /* elements of the answer */
  int64_t elements;       /* of the answer in all */
  bench_status status;
  char reason[200]; /* why it is not BENCH_OK, or "" */
} bench_row;

/* Work a second, by the median; for a row that is a time, its seconds. 0: not measured. */
double bench_row_rate(const bench_row *row);
/* The part of the limit; 0: there is no limit, or nothing was measured. */
double bench_row_efficiency(const bench_row *row);
bool bench_row_is_time(const bench_row *row);
/* The rate in the unit of the row. */
double bench_row_shown(const bench_row *row);
/* The group: what stands before the first dot of the name. */
void bench_row_group(const bench_row *row, char group[24]);

typedef struct bench_record {
  char version[32], commit[24], date[32]; /* of the program; of the run, "2026-11-29T18:00:00Z" */
  char device[96], platform[96], vendor[64], driver[96], device_version[96], kind[16];
  char os[96], processor[96], governor[24];
  char tuning[17]; /* what stands for the device's own prices and parameters; "": defaults */
  char suite[16], filter[96], reference_name[48];
  uint64_t memory;
  int compute_units;
  double load; /* of the machine, when the run began: runnable tasks over the last minute */
  double timer_resolution, timer_overhead; /* seconds */
  double min_time, max_time;               /* of a row, seconds */
  bool device_times; /* times of the device's events, not of the clock on the wall */
  double seconds;    /* of the whole run */
  bench_row *rows;   /* owned */
  int row_count;
} bench_record;

/* A new row of zeros; valid until the next is added. */
bench_row *bench_record_add(bench_record *record);
/* The row of this name and implementation, or, with `implementation` NULL, the first of this name; NULL: there is none. */
const bench_row *bench_record_find(const bench_record *record, const char *name,
                                   const char *implementation);
void bench_record_release(bench_record *record);

void bench_record_write(FILE *file, const bench_record *record);
/* False after a message. */
bool bench_record_save(const char *path, const bench_record *record);
/* Reads what bench_record_write wrote, of this version or an earlier one; `name` is for messages. False after a message. */
bool bench_record_parse(const char *text, const char *name, bench_record *out);
bool bench_record_load(const char *path, bench_record *out);
void bench_record_write_csv_heading(FILE *file);
void bench_record_write_csv(FILE *file, const bench_row *row);

/* The two figures, with the rows that they were made of in *count; 0 where there are none. Of reference rates, the geometric mean over
 * the rows that both have. */
double bench_record_throughput(const bench_record *record, const bench_record *reference,
                               int *count);
/* The geometric mean of the parts of the device's own limits. */
double bench_record_efficiency(const bench_record *record, int *count);

#endif

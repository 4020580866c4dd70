/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h: what `halo bench` can measure with compiled programs: the files of cases/, and the programs of tools/bench/programs. */
#ifndef HALO_TOOLS_BENCH_CASES_H
#define HALO_TOOLS_BENCH_CASES_H

#include <stdbool.h>

/* A program to measure. The texts are owned. */
typedef struct bench_case {
  char *name, *size;
  char *text;  /* the module, behind lines "//! input RECIPE", one for each parameter */
  char *block; /* the module at the size of a block of it, for the check; or NULL */
  char *
      identity; /* a module that takes arguments and results, and gives pairs of got and expected; or NULL */
  char *limit; /* the row of the limit, or NULL */
  char unit[12];
  double work, flops, bytes; /* as in bench_row */
  double tolerance;          /* relative; 0: by type */
  double
      smallest; /* results are compared as if they were of this size at least: some are differences of others, of which only rounding
                      is left */
  bool waited;  /* as in bench_row */
} bench_case;

typedef struct bench_cases {
  bench_case *data;
  int count;
} bench_cases;

/* One of the files that come with the program. */
typedef struct bench_case_file {
  const char *name, *text;
} bench_case_file;
extern const bench_case_file bench_case_files[]; /* ends with NULL; made of the files of cases/ */

typedef enum bench_sizes { BENCH_SMALL, BENCH_MEDIUM, BENCH_LARGE } bench_sizes;

/* Adds the cases of a text, in the form that docs/benchmarks.md describes; `name` is for messages. False after a message. */
bool bench_cases_parse(const char *text, const char *name, bench_sizes sizes, bench_cases *cases);
/* Adds a program of tools/bench/programs, or another file whose heading has its recipes; false after a message. */
bool bench_cases_add_program(const char *name, const char *path, bench_cases *cases);
/* Adds all programs of a folder, "program.NAME" each, in the order of their names, or those that `wants`, if not NULL, says are to be
 * read: their texts take some 20 MB. False after a message. */
bool bench_cases_add_folder(const char *folder, bool (*wants)(const char *name, void *user),
                            void *user, bench_cases *cases);
const bench_case *bench_cases_find(const bench_cases *cases, const char *name);
void bench_cases_release(bench_cases *cases);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* runner.h: measures one case of `halo bench`: it compiles, checks the answer, and only then takes the time. */
#ifndef HALO_TOOLS_BENCH_RUNNER_H
#define HALO_TOOLS_BENCH_RUNNER_H

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/record.h"

/* Faults that are made on purpose, to see that they show. */
typedef enum bench_fault {
  BENCH_NO_FAULT,
  BENCH_FAULT_WRONG,   /* one element of the answer is changed */
  BENCH_FAULT_MISSING, /* nothing runs: the answer is what lay in its memory */
  BENCH_FAULT_SLOW     /* every run is done twice */
} bench_fault;

typedef struct bench_runner {
  halo_client *client;
  const char *device;    /* as the options name it, for new processes; NULL: the default */
  struct bench_jax *jax; /* NULL: none */
  char folder[BENCH_FOLDER];
  double min_time, max_time; /* seconds to spend on a row's samples */
  int repeat;                /* samples at least */
  bool device_times;         /* the client profiles */
  bool starts;               /* measure compiling in new processes */
  uint64_t cache;            /* bytes of the device's caches */
} bench_runner;

/* Measures a case with the implementations that `kernels` names (as HALO_KERNELS), or as compiling chooses (NULL), into the row, whose
 * limit is filled in already. */
void bench_runner_measure(const bench_runner *runner, const bench_case *c, const char *kernels,
                          bench_fault fault, bench_row *row);
/* Median, minimum and spread of samples, which it sorts. */
void bench_summarize(double *seconds, int count, bench_row *row);
/* Notes that there is no result, with the library's message if `why` is NULL. */
void bench_row_fail(bench_row *row, bench_status status, const char *why);
/* Compares with the limit: BENCH_OK or BENCH_ABOVE. */
void bench_row_judge(bench_row *row);

/* ---- One compiled case, for those who take samples of several in turns ---- */

typedef struct bench_subject bench_subject;
/* Compiles a case as bench_runner_measure, runs it once and checks the answer. NULL: the row has status and reason. `runner` and the case
 * must stay until bench_subject_close. */
bench_subject *bench_subject_open(const bench_runner *runner, const bench_case *c,
                                  const char *kernels, bench_row *row);
/* *seconds: of one of `runs` runs, which the case says how to wait for. */
halo_status bench_subject_sample(bench_subject *subject, int runs, double *seconds);
/* How many runs, of so many seconds each, are a sample of so many seconds. */
int bench_subject_runs(double seconds, double sample);
/* Its kernels' OpenCL C; valid until bench_subject_close. */
const char *bench_subject_source(bench_subject *subject);
/* NULL is allowed. */
void bench_subject_close(bench_subject *subject);

/* ---- Checks (verify.c) ---- */

/* Compares results with what the case says they should be: fills in check, wrong, checked, elements, and, when the check itself
 * failed, status and reason. */
void bench_verify(const bench_case *c, halo_literal *const *arguments, int argument_count,
                  halo_literal *const *results, int result_count, bench_row *row);

#endif

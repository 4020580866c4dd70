/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h: what the parts of `halo tune` share. Values are texts "name=value,name=value", as halo_device_use_tuning takes them. */
#ifndef HALO_TOOLS_TUNE_TUNE_H
#define HALO_TOOLS_TUNE_TUNE_H

#include "bench/cases.h"
#include "bench/runner.h"

#include <stdint.h>

/* Ratios of times, of rounds in which both were measured. */
typedef struct tune_ratio {
  double median;  /* how many times as fast as what it is compared with; 0: not measured */
  double low, up; /* quartiles of the rounds */
  char why[200];  /* why it is not measured, such as a wrong answer */
} tune_ratio;

typedef struct tune_state {
  bench_runner runner;  /* on the device */
  halo_client *planner; /* makes plans for the device, and builds no kernels */
  bench_cases rows, programs;
} tune_state;

/* A hash of the kernels and the steps of a case with these values; false after a message. */
bool tune_plan(const tune_state *state, const bench_case *c, const char *values, uint64_t *out);

/* Measures a case with each of the values in turns, and compares all with the first. Each checks its answer before. `rounds`:
 * how many there are, if the case does not take long. */
enum { TUNE_VALUES = 12 };
void tune_compare(const tune_state *state, const bench_case *c, char *const *values, int count,
                  int rounds, tune_ratio *out);

/* A line with the hash of the device's own prices and parameters, and one that says why a stored file is not used. */
void tune_print_state(const halo_device *device);

#endif

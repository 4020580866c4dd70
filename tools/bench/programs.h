/* SPDX-License-Identifier: Apache-2.0 */
/* programs.h: what `halo bench programs` found out about a program. */
#ifndef HALO_TOOLS_BENCH_PROGRAMS_H
#define HALO_TOOLS_BENCH_PROGRAMS_H

#include "bench/bench.h"

#include <stdio.h>

/* Seconds of one run, over the rounds. */
typedef struct programs_time {
  double median, low, high; /* the least and the most; all 0: not measured */
} programs_time;

typedef struct programs_row {
  char name[40], field[24], size[12];
  bool has_loop;
  programs_time ours, xla;
  double client; /* seconds of making a client, in a new process */
  double cold;   /* of compiling and the first run there at once, nothing cached; 0: not measured */
  double running;    /* the same, where the client was there for a second already */
  double xla_cold;   /* the same, by XLA */
  int kernels;       /* different ones */
  uint64_t launches; /* of kernels, in one run */
  uint64_t commands; /* launches, copies and what else the device does */
  char failure[200]; /* why there is nothing, or "" */
} programs_row;

void programs_print_heading(void);
void programs_print_row(const programs_row *row);
/* Geometric means of the ratios by loops, size and field. */
void programs_print_groups(const programs_row *rows, int count);
/* One object for each row, in an array. */
void programs_write_json(FILE *file, const programs_row *rows, int count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* choices.h: what `halo bench choices` found out about the steps of a program. */
#ifndef HALO_TOOLS_BENCH_CHOICES_H
#define HALO_TOOLS_BENCH_CHOICES_H

#include "bench/bench.h"

#include <stdio.h>

/* An implementation that can do a step, or a way to run a whole program. */
typedef struct choices_entry {
  char name[40];    /* "dot:panels" */
  double price;     /* seconds that it is expected to take; 0: nobody says */
  double seconds;   /* that it took in one execution; 0: not measured */
  double reference; /* that the chosen implementation took in the same turns */
} choices_entry;

enum { CHOICES_ENTRIES = 16 };

typedef struct choices_step {
  char *name; /* of the fusion; owned */
  choices_entry entries[CHOICES_ENTRIES];
  int entry_count;
  int chosen;     /* the entry */
  uint64_t runs;  /* how often one run of the program executes it */
  double seconds; /* of one execution, as chosen */
} choices_step;

typedef struct choices_program {
  char name[64];
  choices_step *steps;
  int step_count;
  choices_step whole; /* a run of the whole program, with its regions and bundles and without */
  double seconds;     /* the chosen steps of one run of the program, on the device */
  char failure[200];  /* why there is nothing, or "" */
} choices_program;

/* A step is slow where the chosen implementation took more than this many times what the fastest took. */
#define CHOICES_SLOW 1.3

/* ---- Steps (choices_steps.c) ---- */

/* Reads steps and implementations from the report of what was chosen (HALO_REPORT_EXPLAIN). */
void choices_read_steps(const char *report, choices_program *program);
void choices_release(choices_program *program);
/* The step of the fusion whose name these characters are; -1: none. */
int choices_find_step(const choices_program *program, const char *name, size_t length);
/* The entry of an implementation; -1: it cannot do the step. */
int choices_find_entry(const choices_step *step, const char *name);
/* The fastest of what was measured; -1: nothing but what was chosen. */
int choices_fastest(const choices_step *step);
/* What the chosen implementation took by the time of the fastest; 1: it is that, or alone. */
double choices_ratio(const choices_step *step);
/* The part of the program's time that the fastest would save. */
double choices_loss(const choices_program *program, const choices_step *step);

/* ---- Measuring (choices_measure.c) ---- */

typedef struct choices_clients {
  halo_client *plain, *profiling;
  int rounds;
  double limit; /* seconds of one run: what prices say takes longer is not measured */
} choices_clients;

/* Fills in everything but the name; notes a failure in the program. */
void choices_measure(const choices_clients *clients, const char *path, choices_program *program);

/* ---- Printing (choices_show.c) ---- */

/* `slow_only`: just steps that are slow. */
void choices_print(const choices_program *program, bool slow_only);
void choices_print_summary(const choices_program *programs, int count);
/* One object for each program, in an array. */
void choices_write_json(FILE *file, const choices_program *programs, int count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tools/run.h: what `halo run` was asked for, and what it has of a run: shared by its command line (run.c),
   its work (run_work.c) and its results (run_results.c). */
#ifndef HALO_TOOLS_RUN_H
#define HALO_TOOLS_RUN_H

#include "compare.h"
#include "feeds.h"
#include "inputs.h"
#include "output.h"
#include "parts.h"
#include "profile.h"

#include "halo/client.h"

#include <stdio.h>

typedef struct run_request {
  const char *file, *output, *outfeed;
  output_mode print;
  compare_request compare;
  bool quiet, compile_only, explain, plan, source;
  int64_t repeat;
  const char *trace; /* where to write when steps ran; NULL: nowhere */
  const char *graph; /* where to draw the module; NULL: nowhere */
  halo_client_options client;
  halo_compile_options compile;
  int platform;        /* of those that the program was exported for */
  const char **inputs; /* what --input and --inputs said, in order */
  bool *is_archive;
  int input_count;
  const char **infeeds;
  int infeed_count;
  uint64_t seed;
  bool convert;
  parts_counts counts; /* as asked for */
} run_request;

/* What one device of this process runs. */
typedef struct run_part {
  parts_place place;
  input_list inputs;
  halo_buffer **arguments;
  halo_literal **results;
} run_part;

typedef struct run_state {
  halo_module *module;
  halo_communicator *communicator;
  feed_list infeed, outfeed; /* of each run; of the first */
  halo_client *client;
  halo_executable *executable;
  parts_counts counts;
  bool joined;        /* results of partitions are put together: those of replicas are left */
  parts_counts shown; /* of which there are results */
  run_part *parts;
  int part_count;
  int argument_count, result_count; /* of each part */
  double compile_seconds, first_seconds;
  double *seconds;    /* of each repeat, in order of time */
  profile_mark first; /* with --profile and repeats: behind the first run */
} run_state;

/* Reads, compiles and runs the program, shows and writes its results; an exit code. run_release frees what `state`
 * then holds, also after a failure; `code` is what run_work returned. */
int run_work(const run_request *request, run_state *state);
void run_release(run_state *state, int code);

/* Whether what --compare names can be read, and the results can go where --output says; found out before the
 * program runs. False after a message. */
bool run_check_compare(const run_request *request, const run_state *state);
bool run_check_output(const run_request *request, const run_state *state);

/* The parts of the output, in this order: the first line, before the program is compiled; reports on the executable, inputs (of which
 * `generated` were made up), results, and times. */
void run_print_heading(const run_request *request, const run_state *state);
void run_print_reports(const run_request *request, const run_state *state);
void run_print_inputs(const run_request *request, const run_state *state, int generated);
void run_print_results(const run_request *request, const run_state *state);
void run_print_times(FILE *out, const run_request *request, const run_state *state);
/* Where the time went: of the repeats, or else of the first run, in which drivers compile. False after a message. */
bool run_print_profile(const run_request *request, const run_state *state);

/* Writes the results where --output says. False after a message. */
bool run_write_results(const run_request *request, const run_state *state);
/* Compares the results of all parts of this process with those of --compare; the worst exit code. */
int run_compare_results(const run_request *request, const run_state *state);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h: results of several devices, drivers or versions beside each other. */
#ifndef HALO_TOOLS_BENCH_COMPARISON_H
#define HALO_TOOLS_BENCH_COMPARISON_H

#include "bench/record.h"

/* `halo bench compare`: argv[0] is "compare". */
int bench_compare(int argc, char **argv);
/* Prints the rates of the first record, and of each other one the ratio to them: by row, and geometric means by group. */
void bench_compare_show(const bench_record *records, int count);
/* The results that throughput is relative to, in the JSON form: tools/bench/standard.json. */
extern const char bench_standard[];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* show.h: results of `halo bench` for people. */
#ifndef HALO_TOOLS_BENCH_SHOW_H
#define HALO_TOOLS_BENCH_SHOW_H

#include "bench/record.h"

typedef enum bench_format { BENCH_BLOCK, BENCH_MARKDOWN, BENCH_CSV, BENCH_QUIET } bench_format;

/* The device of the rows, before the first of them. */
void bench_show_heading(const bench_record *record, bench_format format);
void bench_show_row(const bench_row *row, bench_format format);
/* The two figures, behind the last row; rates of `reference` (NULL: none) are 100. */
void bench_show_end(const bench_record *record, const bench_record *reference, bench_format format);
/* "205 GFLOP/s", "3.1 us", or "" when nothing was measured; in one of a few static buffers. */
const char *bench_show_rate(const bench_row *row);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.h: exchanges between replicas, as rows of `halo bench`. */
#ifndef HALO_TOOLS_BENCH_COLLECTIVES_H
#define HALO_TOOLS_BENCH_COLLECTIVES_H

#include "bench/record.h"
#include "parts.h"

typedef struct bench_collectives {
  halo_communicator *communicator; /* NULL: this process is alone */
  halo_client *client;             /* with a device for each replica of this process */
  parts_counts counts;
  int rounds; /* samples; all processes take the same number */
} bench_collectives;

/* Meets the processes that mpiexec started; false after a message. */
bool bench_collectives_connect(bench_collectives *b);
/* Whether there are several processes. */
bool bench_collectives_spread(const bench_collectives *b);
/* Opens the devices; `replicas` may be 0: two, or one for each device of the processes. All but the first process are silent from then
 * on. False after a message. */
bool bench_collectives_open(bench_collectives *b, const char *device, int replicas);
/* To be called in any case behind bench_collectives_connect, with the exit code. */
void bench_collectives_close(bench_collectives *b, int code);

/* The names of all rows, from 0 on; false: there are no more. */
bool bench_collectives_name(int index, char name[64]);
/* Adds a row for each name that is wanted, which must be the same in all processes, and calls `show` with it. Bandwidths are as
 * nccl-tests defines that of the bus; up to 1 KiB a row is a time. False after a message. */
bool bench_collectives_measure(bench_collectives *b, bool (*wanted)(const char *name, void *user),
                               void (*show)(const bench_row *row, void *user), void *user,
                               bench_record *record);
/* `halo bench overlap`: argv[0] is "overlap". */
int bench_overlap(int argc, char **argv);

#endif

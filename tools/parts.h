/* SPDX-License-Identifier: Apache-2.0 */
/* tools/parts.h: programs on several devices at the command line: processes that were started together, how
 * many devices are opened, and texts that differ by part. */
#ifndef HALO_TOOLS_PARTS_H
#define HALO_TOOLS_PARTS_H

#include "halo/client.h"
#include "halo/module.h"

#include <stdbool.h>

/* How many replicas and partitions were asked for; 0: not said. */
typedef struct parts_counts {
  int replicas, partitions;
} parts_counts;

/* One part of a program. */
typedef struct parts_place {
  int replica, partition, rank;
} parts_place;

/* The communicator of the processes that mpiexec started; *out is NULL where it started one, or none did. From
 * then on messages to people begin with the rank. False after a message. */
bool parts_connect(halo_communicator **out);
/* Ends the connection. After a failure (`code` is not TOOL_OK) it does not wait for others. */
void parts_disconnect(halo_communicator *communicator, int code);

/* The client with as many devices as the program needs: by `counts`, else by the module (may be NULL), else one for each
 * device there is among several processes. One device that is named becomes several, each with a queue and
 * memory of its own. `counts` receives what was settled on. False after a message. */
bool parts_open(const halo_module *module, const halo_client_options *options, parts_counts *counts,
                halo_client **out);

/* A text in which {replica}, {partition} and {rank} are numbers of a part. To be freed. */
char *parts_text(const char *pattern, parts_place place);
/* Likewise of a file that is written, where parts must not overwrite each other's: without any of these words,
 * and with several parts, "out.npz" is "out.r1.npz", or "out.r1p0.npz". */
char *parts_path(const char *pattern, parts_place place, parts_counts counts);
/* "replica 1", "partition 0", "replica 1, partition 0"; in a static buffer. */
const char *parts_name(parts_place place, parts_counts counts);

#endif

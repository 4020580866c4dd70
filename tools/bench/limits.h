/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h: what the device can do, measured with hand-written kernels through OpenCL itself: rows "limit.NAME". */
#ifndef HALO_TOOLS_BENCH_LIMITS_H
#define HALO_TOOLS_BENCH_LIMITS_H

#include "bench/record.h"

#include "halo/client.h"

/* The names of all limits, in their order; ends with NULL. */
extern const char *const bench_limit_names[];
/* The bytes of the device's caches; a guess where the driver says nothing. */
uint64_t bench_limits_cache(const halo_device *device);
/* Adds a row for each limit whose name fits (`wanted` may be NULL: all), and calls `show` with it. Each takes the form, of several,
 * that is the fastest, and is checked. False after a message: the device is no OpenCL device. */
bool bench_limits_measure(const halo_device *device, bool (*wanted)(const char *name, void *user),
                          void (*show)(const bench_row *row, void *user), void *user,
                          bench_record *record);
/* The rate that a case of this limit is held against: "bandwidth" is the largest of copy and triads, "read" that or reading,
 * "multiply-add.T" that of f32 where the device does not compute in T. *name receives the row; 0: it was not measured. */
double bench_limits_rate(const bench_record *record, const char *limit, const char **name);

#endif

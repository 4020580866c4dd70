/* SPDX-License-Identifier: Apache-2.0 */
/* system.h: the device and machine that a run of `halo bench` is made on. */
#ifndef HALO_TOOLS_BENCH_SYSTEM_H
#define HALO_TOOLS_BENCH_SYSTEM_H

#include "bench/record.h"

#include "halo/client.h"

/* Fills in all of the record that is known before the first row. */
void bench_system_describe(const halo_device *device, bench_record *record);

#endif

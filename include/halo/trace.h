/* SPDX-License-Identifier: Apache-2.0 */
/* halo/trace.h: when programs and their steps ran on devices. */
#ifndef HALO_TRACE_H
#define HALO_TRACE_H

#include "halo/annotations.h"
#include "halo/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A run of a program on a device, or a step of it: a kernel, a copy, a call of a library. */
typedef struct halo_trace_span {
  const char *program; /* the module's name */
  const char
      *step; /* named after its instruction; NULL: the whole run, from its first step to its last */
  const char *
      kind; /* of a kernel its implementation ("dot:panels"), else "copy", "library", ...; "run" of a run */
  int device;          /* of its client: halo_client_device(client, device) */
  uint64_t begin, end; /* nanoseconds of CLOCK_REALTIME */
} halo_trace_span;

/* Records all clients of the process from now on, at most about a million steps. Times are those of the device's own
 * events, which its queues have if the device is a CPU, if the client was made with `profile`, or if HALO_TIME_COMMANDS is
 * set; runs on other devices are not recorded. A run that the host alone did has no steps. HALO_FAILED_PRECONDITION
 * while something is recorded. Any thread. */
HALO_API HALO_MUST_USE halo_status halo_trace_start(void);
/* Runs that are started later are not recorded. */
HALO_API void halo_trace_stop(void);
/* Waits for the recorded steps, and gives all spans by the time of their begin. They live until the next start or
 * collection. */
HALO_API HALO_MUST_USE halo_status halo_trace_collect(const halo_trace_span **spans, int *count);

#ifdef __cplusplus
}
#endif

#endif

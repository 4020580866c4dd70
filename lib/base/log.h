/* SPDX-License-Identifier: Apache-2.0 */
/* base/log.h: what the library does, as lines of text with times, where the user asks for it by HALO_LOG. */
#ifndef HALO_BASE_LOG_H
#define HALO_BASE_LOG_H

#include "base/status.h"

#include <stdatomic.h>

typedef enum halo_log_level {
  HALO_LOG_OFF,
  HALO_LOG_INFO, /* clients, compilations, caches */
  HALO_LOG_DEBUG /* also passes, programs, runs and collectives */
} halo_log_level;

/* Reads HALO_LOG and HALO_LOG_FILE, the first time it is called in the process; until then nothing is logged.
 * HALO_INVALID_ARGUMENT for an unknown level, HALO_IO_ERROR for a file that cannot be written, at each call. Any
 * thread. */
halo_status halo_log_open(void);

extern atomic_int halo_log_threshold; /* a halo_log_level */

/* Whether lines of this level are wanted. Costs one load. */
#define HALO_LOGS(level)                                                                           \
  (atomic_load_explicit(&halo_log_threshold, memory_order_relaxed) >= (int)(level))
/* Writes one line, without evaluating the arguments where it is not wanted. Any thread; lines of threads and of
 * processes that share a file are never mixed. */
#define HALO_LOG(level, ...)                                                                       \
  do {                                                                                             \
    if (HALO_LOGS(level)) halo_log_write(__VA_ARGS__);                                             \
  } while (0)

/* "halo[PID] SECONDS TEXT", with the seconds since the process started. A text that is longer than a line should be
 * is cut. Does not change the thread's error message. */
void halo_log_write(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* mpi/process.h: what the test programs that mpiexec starts share. Included once by each. */
#ifndef HALO_TESTS_MPI_PROCESS_H
#define HALO_TESTS_MPI_PROCESS_H

#include "halo/halo.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Says what went wrong, with the library's last message, and ends the process at once: MPI would wait for the others. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void process_die(const char *format,
                                                                               ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "failed: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, ": %s\n", halo_error_message());
  va_end(arguments);
  _exit(1);
}

/* Seconds since some time. */
static inline double process_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* An all-reduce of so many f32 among so many replicas, by `op`: add, maximum. */
static inline halo_status process_compile(halo_client *client, const char *op, int elements,
                                          int replicas, halo_executable **out) {
  char text[512];
  halo_module *module;
  int length =
      snprintf(text, sizeof text,
               "HloModule m, replica_count=%d\n"
               "op { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] %s(a, b) }\n"
               "ENTRY e {\n  x = f32[%d] parameter(0)\n"
               "  ROOT r = f32[%d] all-reduce(x), replica_groups={}, to_apply=op\n}\n",
               replicas, op, elements, elements);
  halo_status status = halo_module_parse(text, (size_t)length, "m", &module);
  if (status != HALO_OK) return status;
  status = halo_client_compile(client, module, NULL, out);
  halo_module_release(module);
  return status;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/compiler.h: processes that compile kernels for this one (lib/compiler). */
#ifndef HALO_OPENCL_COMPILER_H
#define HALO_OPENCL_COMPILER_H

#include "compiler/messages.h"

#include <stdbool.h>
#include <stddef.h>

/* One such process. For one thread at a time. */
typedef struct halo_cl_compiler halo_cl_compiler;

/* What is sent with a request, of the sizes that it says. */
typedef struct halo_cl_compiler_parts {
  uint64_t
      program; /* its number, never 0: a process is sent a binary once as long as it remembers it */
  const void *binary;
  size_t binary_size;
  const char *options, *name;
  const unsigned char *arguments; /* [argument_count] */
  double seconds;                 /* that compiling is expected to take */
} halo_cl_compiler_parts;

/* Starts a process that uses the platform of this version (CL_PLATFORM_VERSION). NULL where the program is not found or
 * cannot be started; one that cannot do its work fails with its first request. No signals of this process are touched,
 * and nothing of it is open in the other one. */
halo_cl_compiler *halo_cl_compiler_start(const char *platform_version);
/* Has a kernel compiled, and waits for that. `request` says how it is launched, and the number of its arguments; the
 * rest is filled in. *done: it was compiled. False: the process is gone, of no use any more, or takes 10 s and 50 times
 * what is expected; it can only be stopped then. */
bool halo_cl_compiler_request(halo_cl_compiler *compiler, halo_compiler_request *request,
                              const halo_cl_compiler_parts *parts, bool *done);
/* Ends the process, waits for its end and frees `compiler`. */
void halo_cl_compiler_stop(halo_cl_compiler *compiler);

#endif

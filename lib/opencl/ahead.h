/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/ahead.h: kernels compiled before they are launched, side by side, where the runtime does that one at a time and
 * at the first launch: on PoCL. */
#ifndef HALO_OPENCL_AHEAD_H
#define HALO_OPENCL_AHEAD_H

#include "base/strbuf.h"
#include "opencl/opencl.h"

/* A kernel of a program, and how it will be launched. Borrowed for the call. */
typedef struct halo_cl_launch {
  const char *kernel;
  uint32_t dims;
  const size_t *global, *local;
  const unsigned char *arguments; /* a byte each: 0 for a buffer, else the size of a value */
  int32_t argument_count;
  double seconds; /* that compiling it is expected to take */
} halo_cl_launch;

/* Kernels of programs that one caller needs: for one thread at a time. */
typedef struct halo_cl_ahead halo_cl_ahead;

/* How many processes may compile for this one: 0 where the device's kernels are not compiled so, the variable
 * HALO_COMPILE_PROCESSES says so, or there is one core for this process. */
int halo_cl_ahead_processes(const halo_cl_device *device);
/* Whether the runtime compiles kernels when they are first launched, if nobody did so before: not when it builds programs. */
bool halo_cl_compiles_at_launch(const halo_cl_device *device);
/* Has processes started beside the caller once, unless a list is opened within 50 ms: what is compiled later finds them
 * there, and what is compiled at once is not held up by their start. */
void halo_cl_ahead_prepare(halo_cl_device *device);
/* NULL where that is 0 and no thread compiles either (HALO_COMPILE_THREADS), which the calls below take as a list of
 * nothing. `seconds`, and the `longest` of them: what is expected to be added, if the cache has nothing. Where that is
 * worth it, and no kernel is added for so long that the cache does not seem to have their program, processes are started
 * meanwhile. */
halo_cl_ahead *halo_cl_ahead_open(halo_cl_device *device, double seconds, double longest);
/* Whether programs are to be built for kernels that this process makes machine code itself, in threads, in the place of
 * the runtime (opencl/native.h). Such programs may be older than the list, and no process is started for them. */
bool halo_cl_ahead_is_native(const halo_cl_ahead *ahead);
/* Adds a kernel of a program that was built since the list was opened; others, and what the runtime's cache has already,
 * are left out. Compiling begins when what there is to compile is worth starting processes for it. */
void halo_cl_ahead_add(halo_cl_ahead *ahead, halo_cl_program *program,
                       const halo_cl_launch *launch);
/* How many kernels were added that are compiled ahead, or that the runtime's cache has; 0 for NULL. */
int halo_cl_ahead_kernels(const halo_cl_ahead *ahead);
/* Waits until all that was begun is compiled, or given up, and frees the list. Kernels that nobody compiled are compiled
 * when they are first launched, as ever: nothing here is an error; but from the second list on with such, a process is started
 * for those that come later. What became of the kernels is appended to `report`. */
void halo_cl_ahead_close(halo_cl_ahead *ahead, halo_strbuf *report);

#endif

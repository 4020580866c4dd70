/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/fork.c: processes that were forked from one which uses OpenCL. */
#include "opencl/private.h"
#include "os/process.h"

#include <pthread.h>

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static bool fork_is_child; /* written in the child before it has a second thread */

static void fork_note_child(void) { fork_is_child = true; }

static void fork_register(void) { halo_os_at_fork(fork_note_child); }

void halo_cl_process_begin(void) { pthread_once(&fork_once, fork_register); }

bool halo_cl_is_forked(void) { return fork_is_child; }

halo_status halo_cl_process_check(void) {
  if (!fork_is_child) return HALO_OK;
  return halo_fail(HALO_FAILED_PRECONDITION,
                   "this process was forked from one that had used OpenCL, whose driver does not "
                   "survive that: fork before the first client is made, or start a new program");
}

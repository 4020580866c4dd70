/* opencl/process.c: processes that were forked from one which uses OpenCL. */
#include "base/config.h"
#include "opencl/private.h"

#include <pthread.h>

static pthread_once_t process_once = PTHREAD_ONCE_INIT;
static bool process_is_forked; /* written in the child before it has a second thread */

static void process_in_child(void) { process_is_forked = true; }

static void process_register(void) {
  pthread_atfork(NULL, NULL, process_in_child);
  halo_config_share_cache_dir();
}

void halo_cl_process_begin(void) { pthread_once(&process_once, process_register); }

bool halo_cl_is_forked(void) { return process_is_forked; }

halo_status halo_cl_process_check(void) {
  if (!process_is_forked) return HALO_OK;
  return halo_fail(HALO_FAILED_PRECONDITION,
                   "this process was forked from one that had used OpenCL, whose driver does not "
                   "survive that: fork before the first client is made, or start a new program");
}

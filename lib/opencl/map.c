/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/map.c: memory in the host's address space, from several threads. */
#include "opencl/opencl.h"

#include <pthread.h>
#include <stdint.h>

/* PoCL 3.1 finds what to unmap by the address alone, and a call that maps looks at its own entry once more when it
 * has been waited for: if another thread unmaps the same memory in between, it may take that entry away. So the
 * calls about one piece of memory come one after the other. */
enum { MAP_LOCKS = 16 };
static pthread_mutex_t map_locks[MAP_LOCKS] = {[0 ... MAP_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t *map_lock(cl_mem mem) {
  return &map_locks[((uintptr_t)mem >> 6) % MAP_LOCKS];
}

halo_status halo_cl_map(cl_command_queue queue, cl_mem mem, cl_map_flags flags, size_t offset,
                        size_t size, bool wait, cl_event *done, void **out) {
  cl_int code = wait ? halo_cl.clFinish(queue) : CL_SUCCESS;
  *out = NULL;
  HALO_TRY(halo_cl_check(code, "clFinish before mapping"));
  pthread_mutex_lock(map_lock(mem));
  *out = halo_cl.clEnqueueMapBuffer(queue, mem, wait, flags, offset, size, 0, NULL, done, &code);
  pthread_mutex_unlock(map_lock(mem));
  return halo_cl_check(code, "clEnqueueMapBuffer");
}

halo_status halo_cl_unmap(cl_command_queue queue, cl_mem mem, void *mapped, cl_event *done) {
  pthread_mutex_lock(map_lock(mem));
  cl_int code = halo_cl.clEnqueueUnmapMemObject(queue, mem, mapped, 0, NULL, done);
  pthread_mutex_unlock(map_lock(mem));
  return halo_cl_check(code, "clEnqueueUnmapMemObject");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/synchronous.c: devices whose driver does commands in the thread that queues them, and the lock of
 * their queues. */
#include "base/memory.h"
#include "opencl/pocl.h"
#include "opencl/private.h"

#include <pthread.h>
#include <string.h>

/* ---- Names ---- */

/* PoCL's drivers for processors: in the thread that queues, and with threads of their own. Versions from 4.0 on call them
 * otherwise; the driver's name comes first in the device's. */
static const struct {
  const char *synchronous, *threads;
} sync_drivers[] = {{"basic", "pthread"}, {"cpu-minimal", "cpu"}};
enum { SYNC_DRIVERS = sizeof sync_drivers / sizeof *sync_drivers };

/* The rest of the device's name behind the driver's, which may be empty; NULL: another driver. */
static const char *sync_processor(const char *device, const char *driver) {
  size_t length = strlen(driver);
  bool fits = strncmp(device, driver, length) == 0;
  return fits && (device[length] == '-' || !device[length]) ? device + length : NULL;
}

bool halo_cl_is_synchronous(const halo_caps *caps) {
  bool is = false;
  for (int i = 0; i < SYNC_DRIVERS; i++)
    is |= sync_processor(caps->name, sync_drivers[i].synchronous) != NULL;
  return is && halo_pocl_is(caps);
}

bool halo_cl_is_synchronous_of(const char *synchronous, const char *threads) {
  for (int i = 0; i < SYNC_DRIVERS; i++) {
    const char *one = sync_processor(synchronous, sync_drivers[i].synchronous);
    const char *other = sync_processor(threads, sync_drivers[i].threads);
    if (one && other && strcmp(one, other) == 0) return true;
  }
  return false;
}

/* ---- The lock ---- */

enum { SYNC_MAX = 8 };

/* One lock for all: a process has one such device, unless somebody tries out what happens. */
static pthread_mutex_t sync_queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sync_lock = PTHREAD_MUTEX_INITIALIZER; /* of additions */
static _Atomic(cl_device_id) sync_devices[SYNC_MAX]; /* NULL from the first free place on */

static bool sync_is_listed(cl_device_id id) {
  for (int i = 0; i < SYNC_MAX; i++) {
    cl_device_id one = atomic_load_explicit(&sync_devices[i], memory_order_acquire);
    if (!one) return false;
    if (one == id) return true;
  }
  return false;
}

halo_status halo_cl_queue_lock_device(cl_device_id id) {
  int i = 0;
  pthread_mutex_lock(&sync_lock);
  while (i < SYNC_MAX && atomic_load(&sync_devices[i]) && atomic_load(&sync_devices[i]) != id) i++;
  if (i < SYNC_MAX) atomic_store(&sync_devices[i], id);
  pthread_mutex_unlock(&sync_lock);
  if (i < SYNC_MAX) return HALO_OK;
  return halo_fail(HALO_UNIMPLEMENTED,
                   "more than %d devices whose drivers work in the caller's thread", SYNC_MAX);
}

static bool sync_is_listed_queue(cl_command_queue queue) {
  cl_device_id id = NULL;
  if (!atomic_load_explicit(&sync_devices[0], memory_order_acquire)) return false;
  cl_int code = halo_cl.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
  return code == CL_SUCCESS && sync_is_listed(id);
}

void halo_cl_queue_lock(cl_command_queue queue) {
  if (sync_is_listed_queue(queue)) pthread_mutex_lock(&sync_queue_mutex);
}

void halo_cl_queue_unlock(cl_command_queue queue) {
  if (sync_is_listed_queue(queue)) pthread_mutex_unlock(&sync_queue_mutex);
}

/* The functions without the lock. */
static halo_cl_api sync_plain;

/* The function of the table with this name, of a queue and arguments, under the lock. */
#define SYNC_LOCKED(name, parameters, arguments)                                                   \
  static cl_int CL_API_CALL sync_##name parameters {                                               \
    halo_cl_queue_lock(queue);                                                                     \
    cl_int code = sync_plain.name arguments;                                                       \
    halo_cl_queue_unlock(queue);                                                                   \
    return code;                                                                                   \
  }

SYNC_LOCKED(clFinish, (cl_command_queue queue), (queue))
SYNC_LOCKED(clFlush, (cl_command_queue queue), (queue))
SYNC_LOCKED(clEnqueueReadBuffer,
            (cl_command_queue queue, cl_mem from, cl_bool wait, size_t offset, size_t size,
             void *to, cl_uint count, const cl_event *list, cl_event *event),
            (queue, from, wait, offset, size, to, count, list, event))
SYNC_LOCKED(clEnqueueWriteBuffer,
            (cl_command_queue queue, cl_mem to, cl_bool wait, size_t offset, size_t size,
             const void *from, cl_uint count, const cl_event *list, cl_event *event),
            (queue, to, wait, offset, size, from, count, list, event))
SYNC_LOCKED(clEnqueueCopyBuffer,
            (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
             size_t size, cl_uint count, const cl_event *list, cl_event *event),
            (queue, from, to, from_offset, to_offset, size, count, list, event))
SYNC_LOCKED(clEnqueueFillBuffer,
            (cl_command_queue queue, cl_mem mem, const void *pattern, size_t pattern_size,
             size_t offset, size_t size, cl_uint count, const cl_event *list, cl_event *event),
            (queue, mem, pattern, pattern_size, offset, size, count, list, event))
SYNC_LOCKED(clEnqueueNDRangeKernel,
            (cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
             const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
             cl_event *event),
            (queue, kernel, dims, offset, global, local, count, list, event))
SYNC_LOCKED(clEnqueueMarkerWithWaitList,
            (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),
            (queue, count, list, event))
SYNC_LOCKED(clEnqueueBarrierWithWaitList,
            (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),
            (queue, count, list, event))
SYNC_LOCKED(clEnqueueUnmapMemObject,
            (cl_command_queue queue, cl_mem mem, void *mapped, cl_uint count, const cl_event *list,
             cl_event *event),
            (queue, mem, mapped, count, list, event))

static void *CL_API_CALL sync_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait,
                                                 cl_map_flags flags, size_t offset, size_t size,
                                                 cl_uint count, const cl_event *list,
                                                 cl_event *event, cl_int *code) {
  halo_cl_queue_lock(queue);
  void *mapped = sync_plain.clEnqueueMapBuffer(queue, mem, wait, flags, offset, size, count, list,
                                               event, code);
  halo_cl_queue_unlock(queue);
  return mapped;
}

void halo_cl_queue_lock_wrap(const halo_cl_api *plain, halo_cl_api *out) {
  sync_plain = *plain;
  halo_cl_api wrapped = *plain;
  wrapped.clFinish = sync_clFinish;
  wrapped.clFlush = sync_clFlush;
  wrapped.clEnqueueReadBuffer = sync_clEnqueueReadBuffer;
  wrapped.clEnqueueWriteBuffer = sync_clEnqueueWriteBuffer;
  wrapped.clEnqueueCopyBuffer = sync_clEnqueueCopyBuffer;
  wrapped.clEnqueueFillBuffer = sync_clEnqueueFillBuffer;
  wrapped.clEnqueueNDRangeKernel = sync_clEnqueueNDRangeKernel;
  wrapped.clEnqueueMarkerWithWaitList = sync_clEnqueueMarkerWithWaitList;
  wrapped.clEnqueueBarrierWithWaitList = sync_clEnqueueBarrierWithWaitList;
  wrapped.clEnqueueUnmapMemObject = sync_clEnqueueUnmapMemObject;
  wrapped.clEnqueueMapBuffer = sync_clEnqueueMapBuffer;
  *out = wrapped;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/here.c: devices whose driver does commands in the thread that queues them, and their turns. */
#include "base/memory.h"
#include "opencl/pocl.h"
#include "opencl/private.h"

#include <pthread.h>
#include <string.h>

/* ---- Names ---- */

/* PoCL's drivers for processors: in the thread that queues, and with threads of their own. Versions from 4.0 on call them
 * otherwise; the driver's name comes first in the device's. */
static const struct {
  const char *here, *threads;
} here_drivers[] = {{"basic", "pthread"}, {"cpu-minimal", "cpu"}};
enum { HERE_DRIVERS = sizeof here_drivers / sizeof *here_drivers };

/* The rest of the device's name behind the driver's, which may be empty; NULL: another driver. */
static const char *here_processor(const char *device, const char *driver) {
  size_t length = strlen(driver);
  bool fits = strncmp(device, driver, length) == 0;
  return fits && (device[length] == '-' || !device[length]) ? device + length : NULL;
}

bool halo_cl_is_here(const halo_caps *caps) {
  bool is = false;
  for (int i = 0; i < HERE_DRIVERS; i++)
    is |= here_processor(caps->name, here_drivers[i].here) != NULL;
  return is && halo_pocl_is(caps);
}

bool halo_cl_is_here_of(const char *here, const char *threads) {
  for (int i = 0; i < HERE_DRIVERS; i++) {
    const char *one = here_processor(here, here_drivers[i].here);
    const char *other = here_processor(threads, here_drivers[i].threads);
    if (one && other && strcmp(one, other) == 0) return true;
  }
  return false;
}

/* ---- Turns ---- */

enum { HERE_MAX = 8 };

/* One lock for all: a process has one such device, unless somebody tries out what happens. */
static pthread_mutex_t here_turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t here_lock = PTHREAD_MUTEX_INITIALIZER; /* of additions */
static _Atomic(cl_device_id) here_devices[HERE_MAX]; /* NULL from the first free place on */

static bool here_is_listed(cl_device_id id) {
  for (int i = 0; i < HERE_MAX; i++) {
    cl_device_id one = atomic_load_explicit(&here_devices[i], memory_order_acquire);
    if (!one) return false;
    if (one == id) return true;
  }
  return false;
}

halo_status halo_cl_turn_add(cl_device_id id) {
  int i = 0;
  pthread_mutex_lock(&here_lock);
  while (i < HERE_MAX && atomic_load(&here_devices[i]) && atomic_load(&here_devices[i]) != id) i++;
  if (i < HERE_MAX) atomic_store(&here_devices[i], id);
  pthread_mutex_unlock(&here_lock);
  if (i < HERE_MAX) return HALO_OK;
  return halo_fail(HALO_UNIMPLEMENTED,
                   "more than %d devices whose drivers work in the caller's thread", HERE_MAX);
}

static bool here_takes_turns(cl_command_queue queue) {
  cl_device_id id = NULL;
  if (!atomic_load_explicit(&here_devices[0], memory_order_acquire)) return false;
  cl_int code = halo_cl.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
  return code == CL_SUCCESS && here_is_listed(id);
}

void halo_cl_turn_begin(cl_command_queue queue) {
  if (here_takes_turns(queue)) pthread_mutex_lock(&here_turn);
}

void halo_cl_turn_end(cl_command_queue queue) {
  if (here_takes_turns(queue)) pthread_mutex_unlock(&here_turn);
}

/* The functions without turns. */
static halo_cl_api here_plain;

/* The function of the table with this name, of a queue and arguments, in turns. */
#define HERE_IN_TURNS(name, parameters, arguments)                                                 \
  static cl_int CL_API_CALL here_##name parameters {                                               \
    halo_cl_turn_begin(queue);                                                                     \
    cl_int code = here_plain.name arguments;                                                       \
    halo_cl_turn_end(queue);                                                                       \
    return code;                                                                                   \
  }

HERE_IN_TURNS(clFinish, (cl_command_queue queue), (queue))
HERE_IN_TURNS(clFlush, (cl_command_queue queue), (queue))
HERE_IN_TURNS(clEnqueueReadBuffer,
              (cl_command_queue queue, cl_mem from, cl_bool wait, size_t offset, size_t size,
               void *to, cl_uint count, const cl_event *list, cl_event *event),
              (queue, from, wait, offset, size, to, count, list, event))
HERE_IN_TURNS(clEnqueueWriteBuffer,
              (cl_command_queue queue, cl_mem to, cl_bool wait, size_t offset, size_t size,
               const void *from, cl_uint count, const cl_event *list, cl_event *event),
              (queue, to, wait, offset, size, from, count, list, event))
HERE_IN_TURNS(clEnqueueCopyBuffer,
              (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
               size_t size, cl_uint count, const cl_event *list, cl_event *event),
              (queue, from, to, from_offset, to_offset, size, count, list, event))
HERE_IN_TURNS(clEnqueueFillBuffer,
              (cl_command_queue queue, cl_mem mem, const void *pattern, size_t pattern_size,
               size_t offset, size_t size, cl_uint count, const cl_event *list, cl_event *event),
              (queue, mem, pattern, pattern_size, offset, size, count, list, event))
HERE_IN_TURNS(clEnqueueNDRangeKernel,
              (cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
               const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
               cl_event *event),
              (queue, kernel, dims, offset, global, local, count, list, event))
HERE_IN_TURNS(clEnqueueMarkerWithWaitList,
              (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),
              (queue, count, list, event))
HERE_IN_TURNS(clEnqueueBarrierWithWaitList,
              (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),
              (queue, count, list, event))
HERE_IN_TURNS(clEnqueueUnmapMemObject,
              (cl_command_queue queue, cl_mem mem, void *mapped, cl_uint count,
               const cl_event *list, cl_event *event),
              (queue, mem, mapped, count, list, event))

static void *CL_API_CALL here_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait,
                                                 cl_map_flags flags, size_t offset, size_t size,
                                                 cl_uint count, const cl_event *list,
                                                 cl_event *event, cl_int *code) {
  halo_cl_turn_begin(queue);
  void *mapped = here_plain.clEnqueueMapBuffer(queue, mem, wait, flags, offset, size, count, list,
                                               event, code);
  halo_cl_turn_end(queue);
  return mapped;
}

void halo_cl_turn_wrap(const halo_cl_api *plain, halo_cl_api *out) {
  here_plain = *plain;
  halo_cl_api wrapped = *plain;
  wrapped.clFinish = here_clFinish;
  wrapped.clFlush = here_clFlush;
  wrapped.clEnqueueReadBuffer = here_clEnqueueReadBuffer;
  wrapped.clEnqueueWriteBuffer = here_clEnqueueWriteBuffer;
  wrapped.clEnqueueCopyBuffer = here_clEnqueueCopyBuffer;
  wrapped.clEnqueueFillBuffer = here_clEnqueueFillBuffer;
  wrapped.clEnqueueNDRangeKernel = here_clEnqueueNDRangeKernel;
  wrapped.clEnqueueMarkerWithWaitList = here_clEnqueueMarkerWithWaitList;
  wrapped.clEnqueueBarrierWithWaitList = here_clEnqueueBarrierWithWaitList;
  wrapped.clEnqueueUnmapMemObject = here_clEnqueueUnmapMemObject;
  wrapped.clEnqueueMapBuffer = here_clEnqueueMapBuffer;
  *out = wrapped;
}

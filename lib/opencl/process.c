/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/process.c: the end of a process whose devices are open. */
#include "os/process.h"
#include "base/config.h"
#include "opencl/event.h"
#include "opencl/private.h"

#include <pthread.h>
#include <time.h>

/* How long the process's end waits for what is queued: for most of it, and not for what will never happen. */
enum { PROCESS_END_SECONDS = 10 };

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static halo_cl_device *process_devices; /* that are open; by next_open */
static bool process_is_ending;          /* and has waited, or does; under the lock, as the list */

static bool process_is_late(const struct timespec *until) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec > until->tv_sec ||
         (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

static void process_drain(cl_command_queue queue, const struct timespec *until) {
  static const struct timespec pause = {.tv_nsec = 200000};
  cl_event last;
  if (halo_cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, &last) != CL_SUCCESS) return;
  halo_cl.clFlush(queue);
  while (!halo_cl_has_happened(last) && !process_is_late(until)) nanosleep(&pause, NULL);
  halo_cl.clReleaseEvent(last);
}

static void process_end(void) {
  if (halo_cl_is_forked()) return;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PROCESS_END_SECONDS;
  pthread_mutex_lock(&process_lock);
  halo_cl_device *first = process_is_ending ? NULL : process_devices;
  process_is_ending = true;
  for (halo_cl_device *device = first; device; device = device->next_open) {
    halo_cl_timeline_drain(device->timeline, &until);
    process_drain(device->transfers, &until);
    process_drain(device->aside, &until);
    process_drain(device->queue, &until);
  }
  pthread_mutex_unlock(&process_lock);
}

/* Drivers compile in threads of their own (PoCL at the first launch of a kernel), which do not survive that their
 * libraries are taken down beneath them. At a process's end what was registered last goes first, and a compiler
 * registers parts of itself when it first needs them: so the wait comes with the destructors of the first thread's
 * variables, which are before all that. Where another thread ends the process, it comes with the rest. */
static void process_register_end(void) { halo_os_at_end(process_end); }

void halo_cl_process_add(halo_cl_device *device) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, process_register_end);
  pthread_mutex_lock(&process_lock);
  device->next_open = process_devices;
  process_devices = device;
  pthread_mutex_unlock(&process_lock);
}

void halo_cl_process_remove(halo_cl_device *device) {
  pthread_mutex_lock(&process_lock);
  halo_cl_device **at = &process_devices;
  while (*at && *at != device) at = &(*at)->next_open;
  if (*at) *at = device->next_open;
  pthread_mutex_unlock(&process_lock);
}

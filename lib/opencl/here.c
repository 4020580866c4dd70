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
  cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
  return code == CL_SUCCESS && here_is_listed(id);
}

void halo_cl_turn_begin(cl_command_queue queue) {
  if (here_takes_turns(queue)) pthread_mutex_lock(&here_turn);
}

void halo_cl_turn_end(cl_command_queue queue) {
  if (here_takes_turns(queue)) pthread_mutex_unlock(&here_turn);
}

cl_int halo_cl_turn_over(cl_command_queue queue, cl_int code) {
  halo_cl_turn_end(queue);
  return code;
}

void *halo_cl_turn_mapped(cl_command_queue queue, void *mapped) {
  halo_cl_turn_end(queue);
  return mapped;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/private.h: what the files of the OpenCL room know of each other. */
#ifndef HALO_OPENCL_PRIVATE_H
#define HALO_OPENCL_PRIVATE_H

#include "opencl/opencl.h"

#include <time.h>

/* The end of messages about devices that are missing. */
#define HALO_CL_DOCTOR "; 'halo doctor', or 'python -m jax_halo doctor', says what is missing"
/* The end of messages about commands that failed on the device. */
#define HALO_CL_LOST                                                                               \
  "; if nothing runs any more, the driver has given up the device's context: a new client gets "   \
  "another. HALO_WAIT_EACH=1 names the kernel"

/* fork.c: notes that this process uses OpenCL; from then on its children do not. To be called before any other call
 * of OpenCL. */
void halo_cl_process_begin(void);
/* process.c: a device with queues is open. When the process ends, what it has queued is waited for, some seconds at
 * most. Removing one that was not added is allowed. */
void halo_cl_process_add(halo_cl_device *device);
void halo_cl_process_remove(halo_cl_device *device);

/* drivers.c: has drivers bound at once, and to the libraries that they were linked with, whatever else the process shows
 * in their place. To be called before any other call of OpenCL, by one thread at a time; the first call counts. */
void halo_cl_drivers_shield(void);
/* Where there is no ICD loader: fills the table with the functions of the first driver that an .icd file names and that has
 * a device. False: there is none. By one thread at a time. */
bool halo_cl_drivers_direct(halo_cl_api *out);

/* Whether a driver is installed whose devices may be preferred to our own processor device: any that has a device but PoCL's for
 * processors, which stays closed. By one thread at a time. */
bool halo_cl_drivers_matter(void);

/* providers.c: opens the providers of providers.def; *any: there is at least one. Failures are theirs. By one thread at a time. */
halo_status halo_cl_providers_open(bool *any);
/* One table of the loader's functions (all NULL where there is no loader) and of the providers that were opened: each call goes
 * to whose object it is about. Once. */
void halo_cl_providers_join(const halo_cl_api *system, halo_cl_api *out);
/* Has the joined table call these for objects that are not the providers', before there are any. */
void halo_cl_providers_set_system(const halo_cl_api *system);
/* Whether `system` finds the functions of the opened providers by their objects, as an ICD loader does. */
bool halo_cl_providers_are_found(const halo_cl_api *system);
/* Whose object it is; NULL: the loader's. */
const halo_cl_provider *halo_cl_provider_of(const void *object);
/* Whether a platform is that of a provider for this machine's processor. */
bool halo_cl_provider_is_host(const char *platform);

/* select.c: the device that `selector` (not NULL, not null:FILE; "" for the default) means. */
halo_status halo_cl_select(const char *selector, cl_platform_id *platform, cl_device_id *id,
                           halo_caps *caps);
/* identity.c: where a device is, as in halo_device_identity, or "". */
void halo_cl_address(cl_device_id id, char out[HALO_CL_ADDRESS]);
/* synchronous.c: whether the device's driver does commands in the thread that queues them. */
bool halo_cl_is_synchronous(const halo_caps *caps);
/* Whether these are names that PoCL gives one processor under a driver of that kind, and under the one with threads. */
bool halo_cl_is_synchronous_of(const char *synchronous, const char *threads);
/* From now on commands of the device's queues take the lock of queue_lock.h. Before its first queue is made. */
halo_status halo_cl_queue_lock_device(cl_device_id id);

/* subdevices.c: one of the parts of `units` compute units each that a device has; it stays valid. */
halo_status halo_cl_subdevice(cl_device_id whole, cl_uint units, int index, cl_device_id *id);

/* memory.c: `limit` 0: what the device has. Release gives cached blocks back; no block
 * may be live. */
halo_cl_memory *halo_cl_memory_create(uint64_t limit);
void halo_cl_memory_release(halo_cl_memory *memory);

/* direct.c: a buffer of a device that is `direct`, and where the host finds it; NULL: there is no memory. */
cl_mem halo_cl_direct_create(halo_cl_device *device, size_t size, char **host);

/* staging.c */
halo_cl_stages *halo_cl_stages_create(void);
/* Of a device whose queues still work. */
void halo_cl_stages_release(halo_cl_device *device);

/* ahead.c */
halo_cl_ahead *halo_cl_ahead_create(void);
void halo_cl_ahead_release(halo_cl_ahead *ahead);

/* timeline.c */
halo_cl_timeline *halo_cl_timeline_create(void);
void halo_cl_timeline_release(halo_cl_timeline *timeline);
/* Waits until no work on host threads goes on, or until a moment of CLOCK_REALTIME; NULL: however long it takes. */
void halo_cl_timeline_drain(halo_cl_timeline *timeline, const struct timespec *until);

/* program.c: takes `directory` (heap, or NULL for no disk cache). `chosen_by_hand`: by whoever
 * opened the device, and so to be filled whatever caches the runtime has. */
halo_cl_programs *halo_cl_programs_create(char *directory, bool chosen_by_hand);
void halo_cl_programs_release(halo_cl_programs *programs);

/* disk.c: files of program binaries, named by key, in one folder. */
typedef enum halo_disk_result {
  HALO_DISK_FOUND,
  HALO_DISK_ABSENT,
  HALO_DISK_DAMAGED
} halo_disk_result;
/* The binary under a key; free with halo_free. */
halo_disk_result halo_disk_load(const char *directory, const uint64_t key[2],
                                unsigned char **binary, size_t *size);
/* Forgets a file whose contents proved useless. */
void halo_disk_remove(const char *directory, const uint64_t key[2]);
/* Writes a file, making the folder when it is not there; false when that cannot be done. */
bool halo_disk_save(const char *directory, const uint64_t key[2], const unsigned char *binary,
                    size_t size);

#endif

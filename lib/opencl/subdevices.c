/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/subdevices.c: equal parts of devices, which are devices too. They are made once and stay as long as
 * the process: PoCL 3.1's contexts and queues hold no reference to a part, and its threads still look at
 * it after the last command counts as done, when a part given back would be gone. */
#include "base/memory.h"
#include "opencl/private.h"

#include <pthread.h>

typedef struct parts_list {
  struct parts_list *next;
  cl_device_id whole;
  cl_uint units, count; /* compute units of each; how many there are */
  cl_device_id ids[];
} parts_list;

static pthread_mutex_t parts_lock = PTHREAD_MUTEX_INITIALIZER;
static parts_list *parts_made; /* the newest first */

static halo_status parts_make(cl_device_id whole, cl_uint units, parts_list **out) {
  const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY, (intptr_t)units, 0};
  cl_uint count = 0, most = 0;
  /* PoCL built with OpenMP or TBB, as Debian's 7.1 is, has no parts. */
  halo_cl.clGetDeviceInfo(whole, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL);
  if (most < 2)
    return halo_fail(HALO_UNIMPLEMENTED,
                     "the driver cannot divide the device into parts: it has no sub-devices");
  HALO_TRY(
      halo_cl_check(halo_cl.clCreateSubDevices(whole, how, 0, NULL, &count), "clCreateSubDevices"));
  parts_list *list = halo_alloc(sizeof *list + sizeof *list->ids * count);
  halo_status status = halo_cl_check(halo_cl.clCreateSubDevices(whole, how, count, list->ids, NULL),
                                     "clCreateSubDevices");
  if (status != HALO_OK) {
    halo_free(list);
    return status;
  }
  list->whole = whole;
  list->units = units;
  list->count = count;
  list->next = parts_made;
  *out = parts_made = list;
  return HALO_OK;
}

halo_status halo_cl_subdevice(cl_device_id whole, cl_uint units, int index, cl_device_id *id) {
  pthread_mutex_lock(&parts_lock);
  parts_list *list = parts_made;
  while (list && (list->whole != whole || list->units != units)) list = list->next;
  halo_status status = list ? HALO_OK : parts_make(whole, units, &list);
  if (status == HALO_OK && (cl_uint)index >= list->count) {
    status = halo_fail(HALO_DEVICE_ERROR, "the device gives %u part%s of %u compute unit%s, not %d",
                       list->count, halo_plural(list->count), units, halo_plural(units), index + 1);
  }
  if (status == HALO_OK) *id = list->ids[index];
  pthread_mutex_unlock(&parts_lock);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* unit/vendor_limits.h: the OpenCL driver at hand with another vendor's limits: what that vendor's driver refuses is refused. Included
 * once by a test program, whose definitions of these functions come before those of the OpenCL library. */
#ifndef HALO_TESTS_VENDOR_LIMITS_H
#define HALO_TESTS_VENDOR_LIMITS_H

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

static const char *vendor_name;       /* CL_DEVICE_VENDOR; NULL: the driver's own */
static size_t vendor_groups_most;     /* groups along y and along z of a launch; 0: any number */
static atomic_int vendor_launches;    /* made so far, */
static atomic_int vendor_with_offset; /* and those of them that have an offset */

/* The library calls what the process has, before it opens a loader; so the program links one. */
__attribute__((used)) static cl_int (*const vendor_link)(cl_uint, cl_platform_id *,
                                                         cl_uint *) = clGetPlatformIDs;

/* The OpenCL library's own function. */
#define VENDOR_REAL(name, ...) (((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__))

/* The library finds them among what the program exports. */
#pragma GCC visibility push(default)

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out,
                       size_t *length) {
  if (what != CL_DEVICE_VENDOR || !vendor_name) {
    return VENDOR_REAL(clGetDeviceInfo, device, what, size, out, length);
  }
  size_t bytes = strlen(vendor_name) + 1;
  if (length) *length = bytes;
  if (out && size < bytes) return CL_INVALID_VALUE;
  if (out) memcpy(out, vendor_name, bytes);
  return CL_SUCCESS;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint count, const cl_event *list, cl_event *event) {
  for (cl_uint d = 1; d < dims && vendor_groups_most; d++) {
    if (global[d] / local[d] > vendor_groups_most) return CL_INVALID_GLOBAL_WORK_SIZE;
  }
  atomic_fetch_add(&vendor_launches, 1);
  if (offset) atomic_fetch_add(&vendor_with_offset, 1);
  return VENDOR_REAL(clEnqueueNDRangeKernel, queue, kernel, dims, offset, global, local, count,
                     list, event);
}

#pragma GCC visibility pop

#endif

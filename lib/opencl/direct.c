/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/direct.c: device memory that the host reads and writes in its place, without mapping it: fine-grained shared
 * virtual memory of OpenCL 2.0, as buffers. */
#undef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue */
#include "opencl/private.h"

static bool direct_has(cl_device_id id) {
  cl_device_svm_capabilities can = 0;
  cl_int code = halo_cl.clGetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL);
  return code == CL_SUCCESS && (can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
}

void halo_cl_device_allow_direct(halo_cl_device *device) {
  if (device->caps.is_null || !device->caps.shares_host_memory) return;
  device->direct = halo_cl.clSVMAlloc && halo_cl.clSVMFree && direct_has(device->id);
}

/* When nothing uses the buffer any more. */
static void CL_CALLBACK direct_release(cl_mem mem, void *host) {
  cl_context context = NULL;
  if (halo_cl.clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
    return;
  halo_cl.clSVMFree(context, host);
}

cl_mem halo_cl_direct_create(halo_cl_device *device, size_t size, char **host) {
  enum { DIRECT_ALIGN = 128 }; /* of the largest type of OpenCL C */
  cl_int code;
  *host = halo_cl.clSVMAlloc(device->context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER,
                             size, DIRECT_ALIGN);
  if (!*host) return NULL;
  cl_mem mem = halo_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                      size, *host, &code);
  if (code == CL_SUCCESS)
    code = halo_cl.clSetMemObjectDestructorCallback(mem, direct_release, *host);
  if (code == CL_SUCCESS) return mem;
  if (mem) halo_cl.clReleaseMemObject(mem);
  halo_cl.clSVMFree(device->context, *host);
  *host = NULL;
  return NULL;
}

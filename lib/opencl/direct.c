/* opencl/direct.c: device memory that the host reads and writes in its place, without mapping it: fine-grained shared
 * virtual memory of OpenCL 2.0, as buffers. */
#undef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 200
#include "opencl/private.h"

#include <dlfcn.h>

/* Loaders of OpenCL 1.2 do not have these. */
typedef struct direct_calls {
  __typeof__(&clSVMAlloc) allocate;
  __typeof__(&clSVMFree) release;
} direct_calls;

static direct_calls direct_find(void) {
  return (direct_calls){(__typeof__(&clSVMAlloc))dlsym(RTLD_DEFAULT, "clSVMAlloc"),
                        (__typeof__(&clSVMFree))dlsym(RTLD_DEFAULT, "clSVMFree")};
}

static bool direct_has(cl_device_id id) {
  cl_device_svm_capabilities can = 0;
  if (!id) return true;
  cl_int code = clGetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL);
  return code == CL_SUCCESS && (can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
}

void halo_cl_device_allow_direct(halo_cl_device *device) {
  if (device->caps.is_null || !device->caps.shares_host_memory) return;
  direct_calls calls = direct_find();
  device->direct =
      calls.allocate && calls.release && direct_has(device->id) && direct_has(device->here_id);
}

/* When nothing uses the buffer any more. */
static void CL_CALLBACK direct_release(cl_mem mem, void *host) {
  cl_context context = NULL;
  if (clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS) return;
  direct_find().release(context, host);
}

cl_mem halo_cl_direct_create(halo_cl_device *device, size_t size, char **host) {
  enum { DIRECT_ALIGN = 128 }; /* of the largest type of OpenCL C */
  cl_int code;
  direct_calls calls = direct_find();
  *host = calls.allocate(device->context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, size,
                         DIRECT_ALIGN);
  if (!*host) return NULL;
  cl_mem mem =
      clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, *host, &code);
  if (code == CL_SUCCESS) code = clSetMemObjectDestructorCallback(mem, direct_release, *host);
  if (code == CL_SUCCESS) return mem;
  if (mem) clReleaseMemObject(mem);
  calls.release(device->context, *host);
  *host = NULL;
  return NULL;
}

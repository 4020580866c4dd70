/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/api.h: OpenCL's functions as a table. The library links no OpenCL: it calls the functions of this table, which
 * come from the system's ICD loader, opened when a device is first asked for, from a driver where there is no loader, and from
 * the providers of providers.def, as the library's own processor device (lib/cpu). */
#ifndef HALO_OPENCL_API_H
#define HALO_OPENCL_API_H

#include "base/status.h"

#include <CL/cl.h>
#include <stdbool.h>

/* Every function that the library calls, all of OpenCL 1.2. */
#define HALO_CL_FUNCTIONS(X)                                                                       \
  X(clBuildProgram)                                                                                \
  X(clCompileProgram)                                                                              \
  X(clCreateBuffer)                                                                                \
  X(clCreateCommandQueue)                                                                          \
  X(clCreateContext)                                                                               \
  X(clCreateKernel)                                                                                \
  X(clCreateProgramWithBinary)                                                                     \
  X(clCreateProgramWithSource)                                                                     \
  X(clCreateSubDevices)                                                                            \
  X(clEnqueueBarrierWithWaitList)                                                                  \
  X(clEnqueueCopyBuffer)                                                                           \
  X(clEnqueueFillBuffer)                                                                           \
  X(clEnqueueMapBuffer)                                                                            \
  X(clEnqueueMarkerWithWaitList)                                                                   \
  X(clEnqueueNDRangeKernel)                                                                        \
  X(clEnqueueReadBuffer)                                                                           \
  X(clEnqueueUnmapMemObject)                                                                       \
  X(clEnqueueWriteBuffer)                                                                          \
  X(clFinish)                                                                                      \
  X(clFlush)                                                                                       \
  X(clGetCommandQueueInfo)                                                                         \
  X(clGetDeviceIDs)                                                                                \
  X(clGetDeviceInfo)                                                                               \
  X(clGetEventInfo)                                                                                \
  X(clGetEventProfilingInfo)                                                                       \
  X(clGetKernelWorkGroupInfo)                                                                      \
  X(clGetMemObjectInfo)                                                                            \
  X(clGetPlatformIDs)                                                                              \
  X(clGetPlatformInfo)                                                                             \
  X(clGetProgramBuildInfo)                                                                         \
  X(clGetProgramInfo)                                                                              \
  X(clReleaseCommandQueue)                                                                         \
  X(clReleaseContext)                                                                              \
  X(clReleaseEvent)                                                                                \
  X(clReleaseKernel)                                                                               \
  X(clReleaseMemObject)                                                                            \
  X(clReleaseProgram)                                                                              \
  X(clRetainEvent)                                                                                 \
  X(clSetEventCallback)                                                                            \
  X(clSetKernelArg)                                                                                \
  X(clSetMemObjectDestructorCallback)                                                              \
  X(clWaitForEvents)

#define HALO_CL_MEMBER(name) __typeof__(&name) name;
typedef struct halo_cl_api {
  HALO_CL_FUNCTIONS(HALO_CL_MEMBER)
  /* Of OpenCL 2.0; NULL where the loader does not have them. */
  void *(CL_API_CALL *clSVMAlloc)(cl_context, cl_bitfield, size_t, cl_uint);
  void(CL_API_CALL *clSVMFree)(cl_context, void *);
} halo_cl_api;
#undef HALO_CL_MEMBER

/* A provider of these functions in the library itself: a row of providers.def. All its objects (a platform, device, context,
 * queue, event, program, kernel or memory object) begin with a pointer to a dispatch table of its own, as those of all
 * implementations of OpenCL do: the ICD loader finds its functions there, and halo_cl by its address whose object it is. */
typedef struct halo_cl_provider {
  const char *platform;                    /* CL_PLATFORM_NAME of its one platform */
  const struct _cl_icd_dispatch *dispatch; /* that its objects begin with */
  /* Gives its functions, which stay; NULL where it is not wanted, or this machine cannot have it. A failure says why one that
   * the user asked for cannot be had. Any thread. */
  halo_status (*open)(const halo_cl_api **out);
  /* Of clCreateCommandQueue, beside OpenCL's properties: commands are executed in the thread that queues them, before the call
   * returns; they wait for nothing but what they name. 0: it has no such queues. */
  cl_command_queue_properties in_caller;
  bool
      is_host; /* its device is this machine's processor, whose own instructions its kernels may use */
} halo_cl_provider;

/* Fills a table from the functions that the process has already (it links a loader, or a tool was preloaded), else from
 * libOpenCL. Returns NULL, or why it cannot: a text that stays valid until the thread's next call of this or of os/library.h. */
const char *halo_cl_api_load(halo_cl_api *out);

/* The same before or in halo_cl_api_open, by one thread at a time: has drivers bound well (drivers.c), and without a loader takes the first
 * driver that has a device. Returns NULL, or why there is neither. */
const char *halo_cl_api_system(halo_cl_api *out);

/* Whether the process has OpenCL's functions already. Any thread. */
bool halo_cl_api_is_loaded(void);

/* Where a loader is installed and cannot be used: writes to `out` which file that is, and returns why, a part of `error`,
 * which is the text of halo_cl_api_load, or dlerror's about libOpenCL.so.1. `folders` is the value of LD_LIBRARY_PATH, or
 * NULL. Returns NULL where there is no such file. */
const char *halo_cl_api_find_broken(const char *error, const char *folders, char *out, size_t size);

/* The table that the library calls. It is empty until halo_cl_api_open has succeeded; whoever has a device may use it.
 * Calls that queue or wait hold a lock where the driver needs that (queue_lock.h). */
extern halo_cl_api halo_cl;

/* Fills halo_cl, once: with our own processor device's functions, and from the loader, or without one from the first driver
 * that has a device. Without `drivers` the loader and the drivers are left alone where our own device is there and no other driver is
 * installed than PoCL's for processors: opening it takes longer than many programs run. Any thread may call it.
 * HALO_NO_DEVICE, with the package to install, where there is neither; a later call tries again. */
halo_status halo_cl_api_open(bool drivers);

#endif

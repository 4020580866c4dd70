/* SPDX-License-Identifier: Apache-2.0 */
/* unit/cl_faults.h: OpenCL calls that fail when a test says so. Included once by a test program, whose
 * definitions of these functions come before those of the OpenCL library. */
#ifndef HALO_TESTS_CL_FAULTS_H
#define HALO_TESTS_CL_FAULTS_H

#include <CL/cl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef enum fault_call {
  FAULT_KERNEL,
  FAULT_COPY,
  FAULT_READ,
  FAULT_WRITE,
  FAULT_FLUSH,
  FAULT_MARKER,
  FAULT_BARRIER,
  FAULT_ARGUMENT,
  FAULT_MAP,
  FAULT_UNMAP,
  FAULT_FINISH,
  FAULT_WAIT,
  FAULT_STATE,  /* a command that was queued and ends badly, as far as one look at it */
  FAULT_MEMORY, /* of the device */
  FAULT_HOST,   /* large blocks of the host's memory, which the test program itself asks for */
  FAULT_BUILD,
  FAULT_CREATE,
  FAULT_CALLS
} fault_call;

/* Calls that may still succeed before one fails; negative: none fails. */
static atomic_int fault_countdown[FAULT_CALLS] = {[0 ... FAULT_CALLS - 1] = -1};
static atomic_int fault_calls[FAULT_CALLS]; /* calls made */

static atomic_int fault_refusals; /* of memory that are to come */

/* The call of this kind after `count` more fails, and only that one. */
static inline void fault_after(fault_call call, int count) {
  atomic_store(&fault_refusals, 0);
  atomic_store(&fault_countdown[call], count);
}

/* Whether the call that was to fail has done so. */
static inline cl_bool fault_has_come(fault_call call) {
  return atomic_load(&fault_countdown[call]) < 0;
}

static inline cl_bool fault_is_due(fault_call call) {
  atomic_fetch_add(&fault_calls[call], 1);
  if (atomic_load(&fault_countdown[call]) < 0) return CL_FALSE;
  return atomic_fetch_sub(&fault_countdown[call], 1) == 0;
}

/* The library calls what the process has, before it opens a loader; so the program links one. */
__attribute__((used)) static cl_int (*const fault_link)(cl_uint, cl_platform_id *,
                                                        cl_uint *) = clGetPlatformIDs;

/* The OpenCL library's own function. */
#define FAULT_REAL(name, ...) (((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__))

/* The library finds them among what the program exports. */
#pragma GCC visibility push(default)

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint count, const cl_event *list, cl_event *event) {
  if (fault_is_due(FAULT_KERNEL)) return CL_INVALID_KERNEL_ARGS;
  return FAULT_REAL(clEnqueueNDRangeKernel, queue, kernel, dims, offset, global, local, count, list,
                    event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint count, const cl_event *list,
                           cl_event *event) {
  if (fault_is_due(FAULT_COPY)) return CL_INVALID_MEM_OBJECT;
  return FAULT_REAL(clEnqueueCopyBuffer, queue, from, to, from_offset, to_offset, size, count, list,
                    event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, cl_bool wait, size_t offset,
                           size_t size, void *to, cl_uint count, const cl_event *list,
                           cl_event *event) {
  if (fault_is_due(FAULT_READ)) return CL_INVALID_MEM_OBJECT;
  return FAULT_REAL(clEnqueueReadBuffer, queue, from, wait, offset, size, to, count, list, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, cl_bool wait, size_t offset,
                            size_t size, const void *from, cl_uint count, const cl_event *list,
                            cl_event *event) {
  if (fault_is_due(FAULT_WRITE)) return CL_INVALID_MEM_OBJECT;
  return FAULT_REAL(clEnqueueWriteBuffer, queue, to, wait, offset, size, from, count, list, event);
}

cl_int clFlush(cl_command_queue queue) {
  if (fault_is_due(FAULT_FLUSH)) return CL_INVALID_COMMAND_QUEUE;
  return FAULT_REAL(clFlush, queue);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *list,
                                   cl_event *event) {
  if (fault_is_due(FAULT_MARKER)) return CL_INVALID_COMMAND_QUEUE;
  return FAULT_REAL(clEnqueueMarkerWithWaitList, queue, count, list, event);
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *list,
                                    cl_event *event) {
  if (fault_is_due(FAULT_BARRIER)) return CL_INVALID_EVENT_WAIT_LIST;
  return FAULT_REAL(clEnqueueBarrierWithWaitList, queue, count, list, event);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
  if (fault_is_due(FAULT_ARGUMENT)) return CL_INVALID_ARG_VALUE;
  return FAULT_REAL(clSetKernelArg, kernel, index, size, value);
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint count, const cl_event *list,
                         cl_event *event, cl_int *code) {
  if (fault_is_due(FAULT_MAP)) {
    *code = CL_MAP_FAILURE;
    return NULL;
  }
  return FAULT_REAL(clEnqueueMapBuffer, queue, mem, wait, flags, offset, size, count, list, event,
                    code);
}

/* It fails, and is done all the same: memory that stays mapped would be the driver's mistake, not ours. */
cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *mapped, cl_uint count,
                               const cl_event *list, cl_event *event) {
  cl_bool fails = fault_is_due(FAULT_UNMAP);
  cl_int code =
      FAULT_REAL(clEnqueueUnmapMemObject, queue, mem, mapped, count, list, fails ? NULL : event);
  return fails ? CL_OUT_OF_RESOURCES : code;
}

cl_int clFinish(cl_command_queue queue) {
  cl_int code = FAULT_REAL(clFinish, queue);
  return fault_is_due(FAULT_FINISH) ? CL_OUT_OF_RESOURCES : code;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *list) {
  cl_int code = FAULT_REAL(clWaitForEvents, count, list);
  return fault_is_due(FAULT_WAIT) ? CL_OUT_OF_RESOURCES : code;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *out, size_t *length) {
  cl_int code = FAULT_REAL(clGetEventInfo, event, what, size, out, length);
  if (what != CL_EVENT_COMMAND_EXECUTION_STATUS || *(cl_int *)out > CL_COMPLETE) return code;
  if (fault_is_due(FAULT_STATE)) *(cl_int *)out = CL_OUT_OF_RESOURCES;
  return code;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                      cl_int *code) {
  /* Memory of another kind is tried, and others' is given back, before it is asked for again. */
  if (fault_is_due(FAULT_MEMORY)) atomic_store(&fault_refusals, 4);
  if (atomic_load(&fault_refusals) > 0) {
    atomic_fetch_sub(&fault_refusals, 1);
    if (code) *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
  }
  return FAULT_REAL(clCreateBuffer, context, flags, size, host, code);
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *user) {
  if (fault_is_due(FAULT_BUILD)) return CL_OUT_OF_HOST_MEMORY;
  return FAULT_REAL(clBuildProgram, program, count, devices, options, notify, user);
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error) {
  if (!fault_is_due(FAULT_CREATE)) return FAULT_REAL(clCreateKernel, program, name, error);
  if (error) *error = CL_OUT_OF_HOST_MEMORY;
  return NULL;
}

static atomic_bool fault_no_device; /* no device is available */

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out,
                       size_t *length) {
  cl_int code = FAULT_REAL(clGetDeviceInfo, device, what, size, out, length);
  if (what == CL_DEVICE_AVAILABLE && out && atomic_load(&fault_no_device)) {
    *(cl_bool *)out = CL_FALSE;
  }
  return code;
}

#pragma GCC visibility pop

extern char __executable_start[], etext[]; /* the linker's */

int posix_memalign(void **out, size_t align, size_t size) {
  const char *caller = __builtin_return_address(0);
  if (caller >= __executable_start && caller < etext && fault_is_due(FAULT_HOST)) return ENOMEM;
  return FAULT_REAL(posix_memalign, out, align, size);
}

#endif

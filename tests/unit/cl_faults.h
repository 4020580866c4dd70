/* unit/cl_faults.h: OpenCL calls that fail when a test says so. Included once by a test program, whose
 * definitions of these functions come before those of the OpenCL library. */
#ifndef HALO_TESTS_CL_FAULTS_H
#define HALO_TESTS_CL_FAULTS_H

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>

typedef enum fault_call {
  FAULT_KERNEL,
  FAULT_COPY,
  FAULT_READ,
  FAULT_WRITE,
  FAULT_FLUSH,
  FAULT_MARKER,
  FAULT_BUFFER,
  FAULT_BUILD,
  FAULT_CREATE,
  FAULT_ARGUMENT,
  FAULT_MAP,
  FAULT_CALLS
} fault_call;

/* Calls that may still succeed before one fails; negative: none fails. */
static atomic_int fault_countdown[FAULT_CALLS] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
static atomic_int fault_calls[FAULT_CALLS]; /* calls made */

/* The call of this kind after `count` more fails, and only that one. */
static inline void fault_after(fault_call call, int count) {
  atomic_store(&fault_countdown[call], count);
}

static inline cl_bool fault_is_due(fault_call call) {
  atomic_fetch_add(&fault_calls[call], 1);
  if (atomic_load(&fault_countdown[call]) < 0) return CL_FALSE;
  return atomic_fetch_sub(&fault_countdown[call], 1) == 0;
}

/* The OpenCL library's own function. */
#define FAULT_REAL(name, ...) (((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__))

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

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                      cl_int *error) {
  if (!fault_is_due(FAULT_BUFFER))
    return FAULT_REAL(clCreateBuffer, context, flags, size, host, error);
  if (error) *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return NULL;
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

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
  if (fault_is_due(FAULT_ARGUMENT)) return CL_OUT_OF_RESOURCES;
  return FAULT_REAL(clSetKernelArg, kernel, index, size, value);
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool wait, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint count, const cl_event *list,
                         cl_event *event, cl_int *error) {
  if (!fault_is_due(FAULT_MAP)) {
    return FAULT_REAL(clEnqueueMapBuffer, queue, buffer, wait, flags, offset, size, count, list,
                      event, error);
  }
  if (error) *error = CL_MAP_FAILURE;
  return NULL;
}

#endif

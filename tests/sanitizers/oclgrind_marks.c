/* SPDX-License-Identifier: Apache-2.0 */
/* sanitizers/oclgrind_marks.c: a library for LD_PRELOAD before Oclgrind's, used by tools/dev oclgrind. Oclgrind 21.10 marks
 * a whole block as uninitialised, or replaces the marks of the whole, when the host copies or writes a part of it, and
 * knows nothing of memory that the host maps. Here a kernel copies each part, byte by byte, whose marks are right. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static void *marks_find(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function) return function;
  fprintf(stderr, "oclgrind_marks: there is no %s\n", name);
  abort();
}

/* Oclgrind's function of this name. */
#define OCLGRIND(name) ((__typeof__(&name))marks_find(#name))

static pthread_mutex_t marks_lock = PTHREAD_MUTEX_INITIALIZER;

static void marks_check(cl_int code, const char *what) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "oclgrind_marks: %s: error %d\n", what, code);
  abort();
}

static cl_context marks_context(cl_command_queue queue) {
  cl_context context = NULL;
  marks_check(
      OCLGRIND(clGetCommandQueueInfo)(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL),
      "clGetCommandQueueInfo");
  return context;
}

/* The kernel that copies, built anew when another context than the last one's wants it. */
static cl_kernel marks_kernel(cl_context context) {
  static const char *const text =
      "__kernel void marks_copy(__global const uchar *from, __global uchar *to, ulong first,"
      " ulong at) {\n"
      "  to[at + get_global_id(0)] = from[first + get_global_id(0)];\n"
      "}\n";
  static cl_context of;
  static cl_kernel kernel;
  if (of == context) return kernel;
  cl_int code;
  cl_program program =
      OCLGRIND(clCreateProgramWithSource)(context, 1, (const char **)&text, NULL, &code);
  marks_check(code, "clCreateProgramWithSource");
  marks_check(OCLGRIND(clBuildProgram)(program, 0, NULL, "", NULL, NULL), "clBuildProgram");
  kernel = OCLGRIND(clCreateKernel)(program, "marks_copy", &code);
  marks_check(code, "clCreateKernel");
  of = context;
  return kernel;
}

static void marks_copy(cl_command_queue queue, cl_mem from, cl_mem to, size_t first, size_t at,
                       size_t size) {
  if (size == 0) return;
  pthread_mutex_lock(&marks_lock);
  cl_kernel kernel = marks_kernel(marks_context(queue));
  cl_ulong places[2] = {first, at};
  cl_int code = OCLGRIND(clSetKernelArg)(kernel, 0, sizeof(cl_mem), &from);
  code |= OCLGRIND(clSetKernelArg)(kernel, 1, sizeof(cl_mem), &to);
  code |= OCLGRIND(clSetKernelArg)(kernel, 2, sizeof places[0], &places[0]);
  code |= OCLGRIND(clSetKernelArg)(kernel, 3, sizeof places[1], &places[1]);
  marks_check(code, "clSetKernelArg");
  marks_check(OCLGRIND(clEnqueueNDRangeKernel)(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
              "clEnqueueNDRangeKernel");
  marks_check(OCLGRIND(clFinish)(queue), "clFinish");
  pthread_mutex_unlock(&marks_lock);
}

/* All is done when a call returns; an event that the caller wants is that of a marker. */
static cl_int marks_event(cl_command_queue queue, cl_uint count, const cl_event *list,
                          cl_event *event) {
  return event ? OCLGRIND(clEnqueueMarkerWithWaitList)(queue, count, list, event) : CL_SUCCESS;
}

static void marks_wait(cl_uint count, const cl_event *list) {
  if (count) marks_check(OCLGRIND(clWaitForEvents)(count, list), "clWaitForEvents");
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                                    size_t first, size_t at, size_t size,
                                                    cl_uint count, const cl_event *list,
                                                    cl_event *event) {
  marks_wait(count, list);
  marks_copy(queue, from, to, first, at, size);
  return marks_event(queue, count, list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to,
                                                     cl_bool wait, size_t at, size_t size,
                                                     const void *data, cl_uint count,
                                                     const cl_event *list, cl_event *event) {
  size_t whole = 0;
  marks_check(OCLGRIND(clGetMemObjectInfo)(to, CL_MEM_SIZE, sizeof whole, &whole, NULL),
              "clGetMemObjectInfo");
  if (at == 0 && size == whole) {
    return OCLGRIND(clEnqueueWriteBuffer)(queue, to, wait, at, size, data, count, list, event);
  }
  marks_wait(count, list);
  cl_int code;
  cl_mem between = OCLGRIND(clCreateBuffer)(marks_context(queue), CL_MEM_READ_WRITE,
                                            size ? size : 1, NULL, &code);
  marks_check(code, "clCreateBuffer");
  if (size) {
    marks_check(
        OCLGRIND(clEnqueueWriteBuffer)(queue, between, CL_TRUE, 0, size, data, 0, NULL, NULL),
        "clEnqueueWriteBuffer");
  }
  marks_copy(queue, between, to, 0, at, size);
  OCLGRIND(clReleaseMemObject)(between);
  return marks_event(queue, count, list, event);
}

/* What is mapped: memory of the host's own, which is written to the buffer when it is unmapped. */
typedef struct {
  void *host; /* NULL: free */
  size_t at, size;
  bool written;
} marks_map;

static marks_map marks_maps[4096];

static marks_map *marks_map_of(const void *host) {
  for (size_t i = 0; i < sizeof marks_maps / sizeof marks_maps[0]; i++) {
    if (marks_maps[i].host == host) return &marks_maps[i];
  }
  fprintf(stderr, "oclgrind_marks: %s\n", host ? "memory that is not mapped" : "too many maps");
  abort();
}

CL_API_ENTRY void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem from, cl_bool wait,
                                                  cl_map_flags flags, size_t at, size_t size,
                                                  cl_uint count, const cl_event *list,
                                                  cl_event *event, cl_int *result) {
  (void)wait;
  void *host = aligned_alloc(128, (size + 128) / 128 * 128);
  cl_int code =
      OCLGRIND(clEnqueueReadBuffer)(queue, from, CL_TRUE, at, size, host, count, list, event);
  if (result) *result = code;
  pthread_mutex_lock(&marks_lock);
  *marks_map_of(NULL) = (marks_map){host, at, size, (flags & ~(cl_map_flags)CL_MAP_READ) != 0};
  pthread_mutex_unlock(&marks_lock);
  return host;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem to,
                                                        void *host, cl_uint count,
                                                        const cl_event *list, cl_event *event) {
  pthread_mutex_lock(&marks_lock);
  marks_map *map = marks_map_of(host), was = *map;
  map->host = NULL;
  pthread_mutex_unlock(&marks_lock);
  cl_int code = was.written ? clEnqueueWriteBuffer(queue, to, CL_TRUE, was.at, was.size, host,
                                                   count, list, event)
                            : marks_event(queue, count, list, event);
  free(host);
  return code;
}

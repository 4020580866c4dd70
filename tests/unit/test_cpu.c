/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_cpu.c: the library's own processor device, by OpenCL's functions. */
#include "base/memory.h"
#include "cpu/cpu.h"
#include "suite.h"

#include <CL/cl_icd.h>
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const halo_cl_api *cl;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

#define ck_cl(call) ck_assert_int_eq(call, CL_SUCCESS)

static void open_device(void) {
  cl_platform_id platform;
  cl_int code;
  ck_cl(cl->clGetPlatformIDs(1, &platform, NULL));
  ck_cl(cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
  context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  ck_cl(code);
  queue = cl->clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
  ck_cl(code);
}

static void close_device(void) {
  ck_cl(cl->clReleaseCommandQueue(queue));
  ck_cl(cl->clReleaseContext(context));
}

static cl_program try_build(const char *source, const char *options, cl_int expected) {
  cl_int code;
  cl_program program = cl->clCreateProgramWithSource(context, 1, &source, NULL, &code);
  ck_cl(code);
  code = cl->clBuildProgram(program, 1, &device, options, NULL, NULL);
  char log[4096] = "";
  cl->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
  ck_assert_msg(code == expected, "%d: %s", code, log);
  if (expected != CL_SUCCESS) ck_assert_msg(strstr(log, "error:"), "%s", log);
  return program;
}

static cl_program build(const char *source) {
  return try_build(source, "-cl-std=CL1.2", CL_SUCCESS);
}

static cl_kernel kernel_of(cl_program program, const char *name) {
  cl_int code;
  cl_kernel kernel = cl->clCreateKernel(program, name, &code);
  ck_cl(code);
  return kernel;
}

static cl_mem buffer_of(size_t size) {
  cl_int code;
  cl_mem mem = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &code);
  ck_cl(code);
  return mem;
}

/* Where all items of a launch in three dimensions are, in the order of their global numbers. */
static const char places_text[] =
    "__kernel void places(__global ulong *out) {\n"
    "  size_t at = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0)"
    " + get_global_id(0);\n"
    "  out[at] = ((get_group_id(2) * 100 + get_group_id(1)) * 100 + get_group_id(0)) * 1000000 +\n"
    "    (get_local_id(2) * 100 + get_local_id(1)) * 100 + get_local_id(0);\n"
    "}\n";

START_TEST(places) {
  enum { X = 12, Y = 6, Z = 4 };
  const size_t global[3] = {X, Y, Z}, locals[][3] = {{1, 1, 1}, {4, 3, 2}, {12, 1, 4}};
  cl_program program = build(places_text);
  cl_kernel kernel = kernel_of(program, "places");
  cl_mem out = buffer_of(sizeof(cl_ulong) * X * Y * Z);
  cl_ulong got[X * Y * Z];
  ck_cl(cl->clSetKernelArg(kernel, 0, sizeof out, &out));
  for (int l = 0; l < 3; l++) {
    const size_t *local = locals[l];
    ck_cl(cl->clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, NULL));
    ck_cl(cl->clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    for (size_t i = 0; i < X * Y * Z; i++) {
      size_t at[3] = {i % X, i / X % Y, i / X / Y};
      size_t group = 0, item = 0;
      for (int d = 2; d >= 0; d--) {
        group = group * 100 + at[d] / local[d];
        item = item * 100 + at[d] % local[d];
      }
      ck_assert_uint_eq(got[i], group * 1000000 + item);
    }
  }
  cl->clReleaseMemObject(out);
  cl->clReleaseKernel(kernel);
  cl->clReleaseProgram(program);
}
END_TEST

/* Rows of few items, whose places are all that a kernel asks for, are run many at a time; each item once, by whichever thread. */
START_TEST(rows) {
  enum { X = 7, Y = 5000, Z = 3, ROUNDS = 8 };
  const size_t global[3] = {X, Y, Z}, offset[3] = {1000, 100, 10};
  cl_program program = build(
      "__kernel void rows(__global ulong *out, int add) {\n"
      "  size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
      "  out[((z - 10) * 5000 + y - 100) * 7 + x - 1000] += x * 1000000 + y * 100 + z + add;\n}\n");
  cl_kernel kernel = kernel_of(program, "rows");
  cl_mem out = buffer_of(sizeof(cl_ulong) * X * Y * Z);
  cl_ulong *got = malloc(sizeof *got * X * Y * Z);
  const cl_int add = 5, zero = 0;
  ck_cl(cl->clEnqueueFillBuffer(queue, out, &zero, 1, 0, sizeof *got * X * Y * Z, 0, NULL, NULL));
  ck_cl(cl->clSetKernelArg(kernel, 0, sizeof out, &out));
  ck_cl(cl->clSetKernelArg(kernel, 1, sizeof add, &add));
  for (int i = 0; i < ROUNDS; i++) {
    ck_cl(cl->clEnqueueNDRangeKernel(queue, kernel, 3, offset, global, NULL, 0, NULL, NULL));
  }
  ck_cl(
      cl->clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof *got * X * Y * Z, got, 0, NULL, NULL));
  for (size_t i = 0; i < X * Y * Z; i++) {
    size_t x = i % X + 1000, y = i / X % Y + 100, z = i / X / Y + 10;
    ck_assert_uint_eq(got[i], ROUNDS * (x * 1000000 + y * 100 + z + add));
  }
  free(got);
  cl->clReleaseMemObject(out);
  cl->clReleaseKernel(kernel);
  cl->clReleaseProgram(program);
}
END_TEST

/* A kernel whose items wait for each other can have groups of one item only. */
START_TEST(barriers) {
  cl_program program = build(
      "__kernel void waits(__global int *x) {\n"
      "  __local int l[4];\n  l[0] = x[get_global_id(0)];\n"
      "  barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  x[get_global_id(0)] = l[0] + 1;\n}\n"
      "__kernel void goes(__global int *x) { x[get_global_id(0)] = 7; }\n");
  cl_kernel waits = kernel_of(program, "waits"), goes = kernel_of(program, "goes");
  cl_mem x = buffer_of(4 * sizeof(cl_int));
  const size_t four = 4, one = 1;
  const cl_int start[4] = {1, 2, 3, 4};
  cl_int got[4];
  size_t most = 0;
  ck_cl(cl->clGetKernelWorkGroupInfo(waits, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                     NULL));
  ck_assert_uint_eq(most, 1);
  ck_cl(cl->clGetKernelWorkGroupInfo(goes, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                     NULL));
  ck_assert_uint_gt(most, 1);
  ck_assert_int_eq(cl->clEnqueueNDRangeKernel(queue, waits, 1, NULL, &four, &one, 0, NULL, NULL),
                   CL_INVALID_KERNEL_ARGS);
  ck_cl(cl->clSetKernelArg(waits, 0, sizeof x, &x));
  ck_assert_int_eq(cl->clEnqueueNDRangeKernel(queue, waits, 1, NULL, &four, &four, 0, NULL, NULL),
                   CL_INVALID_WORK_GROUP_SIZE);
  ck_cl(cl->clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, sizeof start, start, 0, NULL, NULL));
  ck_cl(cl->clEnqueueNDRangeKernel(queue, waits, 1, NULL, &four, &one, 0, NULL, NULL));
  ck_cl(cl->clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
  for (int i = 0; i < 4; i++) ck_assert_int_eq(got[i], start[i] + 1);
  cl->clReleaseMemObject(x);
  cl->clReleaseKernel(waits);
  cl->clReleaseKernel(goes);
  cl->clReleaseProgram(program);
}
END_TEST

START_TEST(arguments) {
  cl_program program = build(
      "__kernel void k(__global float *x, int n, long m, float f) {\n"
      "  x[0] = n + m + f;\n}\n");
  cl_kernel kernel = kernel_of(program, "k");
  cl_mem x = buffer_of(sizeof(cl_float));
  cl_int n = 1, code;
  cl_long m = 20;
  cl_float f = 300, got = 0;
  const size_t one = 1;
  ck_assert_int_eq(cl->clSetKernelArg(kernel, 1, sizeof m, &m), CL_INVALID_ARG_SIZE);
  ck_assert_int_eq(cl->clSetKernelArg(kernel, 4, sizeof m, &m), CL_INVALID_ARG_INDEX);
  ck_cl(cl->clSetKernelArg(kernel, 0, sizeof x, &x));
  ck_cl(cl->clSetKernelArg(kernel, 1, sizeof n, &n));
  ck_cl(cl->clSetKernelArg(kernel, 2, sizeof m, &m));
  ck_cl(cl->clSetKernelArg(kernel, 3, sizeof f, &f));
  ck_cl(cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
  /* A command has the arguments that it was queued with. */
  f = 0;
  ck_cl(cl->clSetKernelArg(kernel, 3, sizeof f, &f));
  ck_cl(cl->clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof got, &got, 0, NULL, NULL));
  ck_assert_float_eq(got, 321);
  ck_assert_ptr_null(cl->clCreateKernel(program, "none", &code));
  ck_assert_int_eq(code, CL_INVALID_KERNEL_NAME);
  cl->clReleaseMemObject(x);
  cl->clReleaseKernel(kernel);
  cl->clReleaseProgram(program);
}
END_TEST

START_TEST(faulty_text) {
  cl->clReleaseProgram(try_build("__kernel void k(__global int *x) { x[0] = nothing; }\n", "",
                                 CL_BUILD_PROGRAM_FAILURE));
}
END_TEST

/* ---- Binaries ---- */

static cl_program from_binary(const unsigned char *bytes, size_t size, cl_int *code) {
  cl_int fit;
  return cl->clCreateProgramWithBinary(context, 1, &device, &size, &bytes, &fit, code);
}

/* A binary runs, and each cut one is refused. */
START_TEST(binaries) {
  cl_program program = build("__kernel void k(__global int *x) { x[get_global_id(0)] = 5; }\n");
  size_t size = 0;
  ck_cl(cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
  ck_assert_uint_gt(size, 0);
  unsigned char *bytes = malloc(size);
  ck_cl(cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL));
  cl->clReleaseProgram(program);
  cl_int code;
  for (size_t cut = 0; cut + 8 < size; cut += 1 + cut / 8) {
    program = from_binary(bytes, cut, &code);
    /* A cut that takes an object's end is found where the object is placed. */
    cl_int built = program ? cl->clBuildProgram(program, 1, &device, "", NULL, NULL) : code;
    ck_assert_int_ne(built, CL_SUCCESS);
    if (program) cl->clReleaseProgram(program);
  }
  program = from_binary(bytes, size, &code);
  ck_cl(code);
  ck_cl(cl->clBuildProgram(program, 1, &device, "", NULL, NULL));
  cl_kernel kernel = kernel_of(program, "k");
  cl_mem x = buffer_of(sizeof(cl_int) * 3);
  const size_t three = 3;
  cl_int got[3];
  ck_cl(cl->clSetKernelArg(kernel, 0, sizeof x, &x));
  ck_cl(cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &three, NULL, 0, NULL, NULL));
  ck_cl(cl->clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
  for (int i = 0; i < 3; i++) ck_assert_int_eq(got[i], 5);
  cl->clReleaseMemObject(x);
  cl->clReleaseKernel(kernel);
  cl->clReleaseProgram(program);
  free(bytes);
}
END_TEST

/* A binary with a wrong bit anywhere is refused or placed; it ends no process. (Its code is not run.) */
START_TEST(damaged_binaries) {
  cl_program program = build(
      "__constant float table[] = {1, 2, 3, 5};\n"
      "__kernel void k(__global float *x, __global const int *y) {\n"
      "  x[get_global_id(0)] = exp(x[0]) + table[y[get_global_id(0)] & 3];\n}\n");
  size_t size = 0;
  ck_cl(cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
  unsigned char *bytes = malloc(size);
  ck_cl(cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL));
  cl->clReleaseProgram(program);
  int refused = 0;
  for (size_t bit = 0; bit < size * 8; bit += 3) {
    cl_int code;
    bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    program = from_binary(bytes, size, &code);
    if (program) code = cl->clBuildProgram(program, 1, &device, "", NULL, NULL);
    if (program) cl->clReleaseProgram(program);
    refused += code != CL_SUCCESS;
    bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  ck_assert_int_gt(refused, 100);
  free(bytes);
}
END_TEST

/* ---- Queues ---- */

static void CL_CALLBACK count_call(cl_event event, cl_int state, void *data) {
  (void)event;
  if (state == CL_COMPLETE) atomic_fetch_add((atomic_int *)data, 1);
}

/* Commands of two queues in the order that events say, calls behind them, and times that grow. */
START_TEST(events) {
  cl_int code;
  cl_command_queue other = cl->clCreateCommandQueue(context, device, 0, &code);
  enum { ROUNDS = 200 };
  cl_mem x = buffer_of(sizeof(cl_int) * ROUNDS);
  cl_int got[ROUNDS], first = 42;
  atomic_int calls = 0;
  cl_event last = NULL;
  for (int i = 0; i < ROUNDS; i++) {
    cl_command_queue q = i % 2 ? other : queue;
    cl_event event;
    ck_cl(i == 0
              ? cl->clEnqueueWriteBuffer(q, x, CL_FALSE, 0, sizeof first, &first, 0, NULL, &event)
              : cl->clEnqueueCopyBuffer(q, x, x, (size_t)(i - 1) * 4, (size_t)i * 4, 4, 1, &last,
                                        &event));
    ck_cl(cl->clSetEventCallback(event, CL_COMPLETE, count_call, &calls));
    if (last) cl->clReleaseEvent(last);
    last = event;
  }
  ck_cl(cl->clWaitForEvents(1, &last));
  ck_cl(cl->clEnqueueReadBuffer(other, x, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
  for (int i = 0; i < ROUNDS; i++) ck_assert_int_eq(got[i], first);
  ck_cl(cl->clFinish(queue));
  ck_cl(cl->clFinish(other));
  while (atomic_load(&calls) < ROUNDS) sched_yield();
  cl->clReleaseEvent(last);
  cl->clReleaseCommandQueue(other);
  cl->clReleaseMemObject(x);
}
END_TEST

/* A blocking call whose events fail says so, with and without an event of its own, and touches no memory. */
START_TEST(failed_wait) {
  cl_int code, got = 5;
  cl_mem x = buffer_of(sizeof got);
  cl_event failed = halo_cpu_dispatch.clCreateUserEvent(context, &code), own;
  ck_cl(code);
  ck_cl(halo_cpu_dispatch.clSetUserEventStatus(failed, -1));
  const cl_int expected = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  code = cl->clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof got, &got, 1, &failed, NULL);
  ck_assert_int_eq(code, expected);
  code = cl->clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof got, &got, 1, &failed, &own);
  ck_assert_int_eq(code, expected);
  ck_assert_int_eq(got, 5);
  cl->clReleaseEvent(own);
  ck_assert_ptr_null(cl->clEnqueueMapBuffer(queue, x, CL_TRUE, CL_MAP_READ, 0, sizeof got, 1,
                                            &failed, NULL, &code));
  ck_assert_int_eq(code, expected);
  cl->clReleaseEvent(failed);
  cl->clReleaseMemObject(x);
}
END_TEST

static void CL_CALLBACK note_end(cl_mem mem, void *over) {
  (void)mem;
  atomic_store((atomic_bool *)over, true);
}

/* Has *over say when no command needs the buffer any more. */
static void release_and_note(cl_mem mem, atomic_bool *over) {
  ck_cl(halo_cpu_dispatch.clSetMemObjectDestructorCallback(mem, note_end, over));
  ck_cl(cl->clReleaseMemObject(mem));
}

/* A queue that is released does what was queued. */
START_TEST(released_queue) {
  for (int with_event = 0; with_event < 2; with_event++) {
    cl_int code, value = 5, got = 0;
    atomic_bool over = false;
    cl_mem x = buffer_of(sizeof value);
    cl_event event = NULL, *out = with_event ? &event : NULL;
    cl_command_queue own = cl->clCreateCommandQueue(context, device, 0, &code);
    ck_cl(code);
    ck_cl(cl->clEnqueueWriteBuffer(own, x, CL_FALSE, 0, sizeof value, &value, 0, NULL, NULL));
    ck_cl(cl->clEnqueueReadBuffer(own, x, CL_FALSE, 0, sizeof got, &got, 0, NULL, out));
    release_and_note(x, &over);
    ck_cl(cl->clReleaseCommandQueue(own));
    while (!atomic_load(&over)) sched_yield();
    ck_assert_int_eq(got, value);
    if (!event) continue;
    ck_cl(cl->clWaitForEvents(1, &event));
    ck_cl(cl->clReleaseEvent(event));
  }
}
END_TEST

static void CL_CALLBACK release_other(cl_event event, cl_int status, void *other) {
  (void)event, (void)status;
  ck_cl(cl->clReleaseCommandQueue(other));
}

/* A queue may lose its last reference in another queue's thread, though it has commands that wait for what that one is still to do. */
START_TEST(released_by_another) {
  cl_int code, got = 0;
  const cl_int value = 2;
  atomic_bool over = false;
  cl_mem x = buffer_of(sizeof got);
  cl_event begin = halo_cpu_dispatch.clCreateUserEvent(context, &code), early, late;
  cl_command_queue one = cl->clCreateCommandQueue(context, device, 0, &code);
  cl_command_queue other = cl->clCreateCommandQueue(context, device, 0, &code);
  ck_cl(cl->clEnqueueBarrierWithWaitList(one, 1, &begin, &early)); /* until all is queued */
  ck_cl(cl->clEnqueueFillBuffer(one, x, &value, sizeof value, 0, sizeof value, 0, NULL, &late));
  ck_cl(cl->clEnqueueReadBuffer(other, x, CL_FALSE, 0, sizeof got, &got, 1, &late, NULL));
  ck_cl(cl->clSetEventCallback(early, CL_COMPLETE, release_other, other));
  release_and_note(x, &over);
  ck_cl(halo_cpu_dispatch.clSetUserEventStatus(begin, CL_COMPLETE));
  ck_cl(cl->clWaitForEvents(1, &late));
  while (!atomic_load(&over)) sched_yield();
  ck_assert_int_eq(got, value);
  const cl_event all[] = {begin, early, late};
  for (int i = 0; i < 3; i++) ck_cl(cl->clReleaseEvent(all[i]));
  ck_cl(cl->clReleaseCommandQueue(one));
}
END_TEST

START_TEST(times) {
  cl_mem x = buffer_of(1 << 20);
  cl_ulong time[4];
  cl_event event;
  const cl_uchar zero = 0;
  ck_cl(cl->clEnqueueFillBuffer(queue, x, &zero, 1, 0, 1 << 20, 0, NULL, &event));
  ck_cl(cl->clWaitForEvents(1, &event));
  for (int i = 0; i < 4; i++) {
    const cl_profiling_info what[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                      CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    ck_cl(cl->clGetEventProfilingInfo(event, what[i], sizeof time[i], &time[i], NULL));
    if (i > 0) ck_assert_uint_ge(time[i], time[i - 1]);
  }
  cl->clReleaseEvent(event);
  cl->clReleaseMemObject(x);
}
END_TEST

/* In the caller's thread a command is over when the call returns. */
START_TEST(in_caller) {
  cl_int code, state = CL_QUEUED, value = 6, got = 0;
  cl_command_queue here =
      cl->clCreateCommandQueue(context, device, HALO_CPU_QUEUE_IN_CALLER, &code);
  ck_cl(code);
  cl_mem x = buffer_of(sizeof value);
  cl_event event;
  ck_cl(cl->clEnqueueWriteBuffer(here, x, CL_FALSE, 0, sizeof value, &value, 0, NULL, &event));
  ck_cl(cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
  ck_assert_int_eq(state, CL_COMPLETE);
  ck_cl(cl->clEnqueueReadBuffer(here, x, CL_FALSE, 0, sizeof got, &got, 0, NULL, NULL));
  ck_assert_int_eq(got, value);
  cl->clReleaseEvent(event);
  cl->clReleaseCommandQueue(here);
  cl->clReleaseMemObject(x);
}
END_TEST

/* A large launch is shared by threads, and every item is done once. */
static void *add_many(void *data) {
  enum { COUNT = 1 << 18, ROUNDS = 20 };
  cl_program program = data;
  cl_int code;
  cl_command_queue own = cl->clCreateCommandQueue(context, device, 0, &code);
  cl_kernel kernel = kernel_of(program, "add");
  cl_mem x = buffer_of(sizeof(cl_int) * COUNT);
  const cl_int zero = 0;
  const size_t count = COUNT;
  cl_int *got = malloc(sizeof *got * COUNT);
  ck_cl(cl->clSetKernelArg(kernel, 0, sizeof x, &x));
  ck_cl(cl->clEnqueueFillBuffer(own, x, &zero, sizeof zero, 0, sizeof zero * COUNT, 0, NULL, NULL));
  for (int i = 0; i < ROUNDS; i++) {
    ck_cl(cl->clEnqueueNDRangeKernel(own, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
    if (i % 3 == 0) ck_cl(cl->clFlush(own));
  }
  ck_cl(cl->clEnqueueReadBuffer(own, x, CL_TRUE, 0, sizeof *got * COUNT, got, 0, NULL, NULL));
  for (int i = 0; i < COUNT; i++) ck_assert_int_eq(got[i], ROUNDS);
  free(got);
  cl->clReleaseMemObject(x);
  cl->clReleaseKernel(kernel);
  cl->clReleaseCommandQueue(own);
  return NULL;
}

START_TEST(threads) {
  cl_program program = build("__kernel void add(__global int *x) { x[get_global_id(0)] += 1; }\n");
  pthread_t all[4];
  for (int t = 0; t < 4; t++) ck_assert_int_eq(pthread_create(&all[t], NULL, add_many, program), 0);
  for (int t = 0; t < 4; t++) pthread_join(all[t], NULL);
  cl->clReleaseProgram(program);
}
END_TEST

START_TEST(ranges) {
  cl_int code, value = 0;
  cl_mem x = buffer_of(16);
  ck_assert_ptr_null(cl->clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_BUFFER_SIZE);
  ck_assert_int_eq(cl->clEnqueueReadBuffer(queue, x, CL_TRUE, 13, 4, &value, 0, NULL, NULL),
                   CL_INVALID_VALUE);
  ck_assert_int_eq(
      cl->clEnqueueWriteBuffer(queue, x, CL_TRUE, 16, (size_t)-1, &value, 0, NULL, NULL),
      CL_INVALID_VALUE);
  ck_assert_ptr_null(
      cl->clEnqueueMapBuffer(queue, x, CL_TRUE, CL_MAP_READ, 8, 9, 0, NULL, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_VALUE);
  cl->clReleaseMemObject(x);
}
END_TEST

/* ---- What is asked, and asked wrongly ---- */

/* All that OpenCL 1.2 lets be asked of a device is answered, in as many bytes as are promised. */
START_TEST(device_answers) {
  for (cl_device_info what = CL_DEVICE_TYPE; what <= CL_DEVICE_PRINTF_BUFFER_SIZE; what++) {
    char value[1024];
    size_t size = 0;
    /* Of other versions, extensions, or none. */
    bool other = what == 0x1033;
    cl_int code = cl->clGetDeviceInfo(device, what, sizeof value, value, &size);
    if (other && code == CL_INVALID_VALUE) continue;
    ck_assert_msg(code == CL_SUCCESS, "0x%x: %d", what, code);
    if (size) {
      ck_assert_int_eq(cl->clGetDeviceInfo(device, what, size - 1, value, NULL), CL_INVALID_VALUE);
    }
  }
}
END_TEST

/* Wrong arguments of commands and events are refused. */
START_TEST(odd_commands) {
  cl_mem x = buffer_of(16);
  cl_int value = 0, code;
  cl_event none = NULL, event;
  const cl_uchar zero = 0;
  ck_assert_int_eq(cl->clEnqueueReadBuffer(NULL, x, CL_TRUE, 0, 4, &value, 0, NULL, NULL),
                   CL_INVALID_COMMAND_QUEUE);
  ck_assert_int_eq(cl->clEnqueueReadBuffer(queue, NULL, CL_TRUE, 0, 4, &value, 0, NULL, NULL),
                   CL_INVALID_MEM_OBJECT);
  ck_assert_int_eq(cl->clEnqueueReadBuffer(queue, x, CL_TRUE, 0, 4, NULL, 0, NULL, NULL),
                   CL_INVALID_VALUE);
  ck_assert_int_eq(cl->clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, 4, &value, 1, NULL, NULL),
                   CL_INVALID_EVENT_WAIT_LIST);
  ck_assert_int_eq(cl->clEnqueueCopyBuffer(queue, x, NULL, 0, 0, 4, 0, NULL, NULL),
                   CL_INVALID_MEM_OBJECT);
  ck_assert_int_eq(cl->clEnqueueFillBuffer(queue, x, &zero, 1, 0, 16, 1, &none, NULL),
                   CL_INVALID_EVENT_WAIT_LIST);
  ck_assert_int_eq(cl->clEnqueueFillBuffer(queue, x, &zero, 0, 0, 16, 0, NULL, NULL),
                   CL_INVALID_VALUE);
  ck_assert_ptr_null(
      cl->clEnqueueMapBuffer(queue, NULL, CL_TRUE, CL_MAP_READ, 0, 1, 0, NULL, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_MEM_OBJECT);
  ck_assert_int_eq(cl->clEnqueueUnmapMemObject(queue, x, NULL, 0, NULL, NULL), CL_INVALID_VALUE);
  ck_assert_int_eq(cl->clEnqueueMarkerWithWaitList(NULL, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
  ck_assert_int_eq(cl->clEnqueueBarrierWithWaitList(queue, 0, &none, NULL),
                   CL_INVALID_EVENT_WAIT_LIST);
  ck_cl(cl->clEnqueueMarkerWithWaitList(queue, 0, NULL, &event));
  ck_assert_int_eq(cl->clSetEventCallback(event, CL_COMPLETE, NULL, NULL), CL_INVALID_VALUE);
  ck_assert_int_eq(cl->clSetEventCallback(event, 77, count_call, NULL), CL_INVALID_VALUE);
  ck_assert_int_eq(cl->clWaitForEvents(0, NULL), CL_INVALID_VALUE);
  ck_assert_int_eq(cl->clWaitForEvents(1, &none), CL_INVALID_EVENT);
  ck_assert_int_eq(cl->clSetMemObjectDestructorCallback(x, NULL, NULL), CL_INVALID_VALUE);
  cl->clReleaseEvent(event);
  cl->clReleaseMemObject(x);
}
END_TEST

static void CL_CALLBACK count_build(cl_program program, void *data) {
  (void)program;
  ++*(int *)data;
}

/* A program with kernels cannot be built again: their code would go. */
START_TEST(odd_programs) {
  const char *text = "__kernel void k(__global int *x) { x[0] = 1; }\n", *none = NULL;
  const size_t four = 4;
  cl_int code;
  int calls = 0;
  ck_assert_ptr_null(cl->clCreateProgramWithSource(context, 0, &text, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_VALUE);
  ck_assert_ptr_null(cl->clCreateProgramWithSource(context, 1, &none, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_VALUE);
  ck_assert_ptr_null(cl->clCreateProgramWithBinary(context, 1, &device, NULL, NULL, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_VALUE);
  cl_program program = cl->clCreateProgramWithSource(context, 1, &text, NULL, &code);
  ck_assert_ptr_null(cl->clCreateKernel(program, "k", &code));
  ck_assert_int_eq(code, CL_INVALID_PROGRAM_EXECUTABLE);
  ck_assert_int_eq(cl->clBuildProgram(program, 1, &device, "", NULL, &calls), CL_INVALID_VALUE);
  ck_cl(cl->clBuildProgram(program, 1, &device, "", count_build, &calls));
  ck_assert_int_eq(calls, 1);
  ck_assert_ptr_null(cl->clCreateKernel(program, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_VALUE);
  cl_kernel kernel = kernel_of(program, "k");
  ck_assert_int_eq(cl->clBuildProgram(program, 1, &device, "", NULL, NULL), CL_INVALID_OPERATION);
  ck_assert_int_eq(cl->clSetKernelArg(kernel, 0, 3, &text), CL_INVALID_ARG_SIZE);
  ck_assert_int_eq(cl->clEnqueueNDRangeKernel(queue, kernel, 4, NULL, &four, NULL, 0, NULL, NULL),
                   CL_INVALID_WORK_DIMENSION);
  ck_assert_int_eq(cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, NULL, NULL, 0, NULL, NULL),
                   CL_INVALID_GLOBAL_WORK_SIZE);
  ck_assert_int_eq(cl->clEnqueueNDRangeKernel(queue, NULL, 1, NULL, &four, NULL, 0, NULL, NULL),
                   CL_INVALID_KERNEL);
  cl->clReleaseKernel(kernel);
  ck_cl(cl->clBuildProgram(program, 1, &device, "", NULL, NULL));
  size_t size = 0, count = 0;
  char names[8];
  ck_cl(cl->clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, NULL));
  ck_cl(cl->clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL));
  ck_cl(cl->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size));
  ck_assert_uint_eq(count, 1);
  ck_assert_str_eq(names, "k");
  ck_assert_uint_eq(size, strlen(text) + 1);
  cl->clReleaseProgram(program);
}
END_TEST

/* The ICD loader finds a function for every call that takes a handle; those that are not there say so. */
START_TEST(other_functions) {
  const struct _cl_icd_dispatch *f = &halo_cpu_dispatch;
  cl_int code = CL_SUCCESS;
  cl_mem x = buffer_of(16);
  cl_uint count = 0;
  cl_kernel kernel;
  char name[8];
  ck_cl(f->clRetainDevice(device));
  ck_cl(f->clReleaseDevice(device));
  ck_cl(f->clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL));
  ck_assert_uint_eq(count, 1);
  ck_assert_ptr_null(f->clCreateSubBuffer(x, 0, CL_BUFFER_CREATE_TYPE_REGION, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_OPERATION);
  code = CL_SUCCESS;
  ck_assert_ptr_null(f->clCreateImage(context, 0, NULL, NULL, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_OPERATION);
  ck_assert_int_eq(f->clEnqueueNativeKernel(queue, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL),
                   CL_INVALID_OPERATION);
  ck_cl(f->clEnqueueMigrateMemObjects(queue, 1, &x, 0, 0, NULL, NULL));
  cl_program program = build("__kernel void k(__global int *x) { x[0] = 1; }\n");
  ck_cl(f->clCreateKernelsInProgram(program, 1, &kernel, &count));
  ck_assert_uint_eq(count, 1);
  ck_cl(f->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
  ck_assert_str_eq(name, "k");
  cl_event event = f->clCreateUserEvent(context, &code);
  ck_cl(code);
  ck_cl(cl->clSetKernelArg(kernel, 0, sizeof x, &x));
  ck_cl(cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &(size_t){1}, NULL, 1, &event, NULL));
  ck_assert_int_eq(f->clSetUserEventStatus(event, CL_RUNNING), CL_INVALID_VALUE);
  /* The launch still waits: what it runs stays, though nobody has the kernel any more. */
  cl->clReleaseKernel(kernel);
  ck_assert_int_eq(cl->clBuildProgram(program, 1, &device, "", NULL, NULL), CL_INVALID_OPERATION);
  ck_cl(f->clSetUserEventStatus(event, CL_COMPLETE));
  ck_assert_int_eq(f->clSetUserEventStatus(event, CL_COMPLETE), CL_INVALID_OPERATION);
  ck_cl(cl->clFinish(queue));
  ck_cl(cl->clBuildProgram(program, 1, &device, "", NULL, NULL));
  cl->clReleaseEvent(event);
  cl->clReleaseProgram(program);
  cl->clReleaseMemObject(x);
  cl_context another = f->clCreateContextFromType(NULL, CL_DEVICE_TYPE_CPU, NULL, NULL, &code);
  ck_cl(code);
  ck_cl(cl->clReleaseContext(another));
  code = CL_SUCCESS;
  ck_assert_ptr_null(f->clCreateContextFromType(NULL, CL_DEVICE_TYPE_GPU, NULL, NULL, &code));
  ck_assert_int_eq(code, CL_DEVICE_NOT_FOUND);
  code = CL_SUCCESS;
  ck_assert_ptr_null(f->clCreateImage2D(context, 0, NULL, 1, 1, 0, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_OPERATION);
}
END_TEST

/* A program that calls through the ICD loader never jumps to address 0, but for the functions of Windows' Direct3D. */
START_TEST(no_function_is_missing) {
  void *const *table = (void *const *)&halo_cpu_dispatch;
  const size_t first = offsetof(struct _cl_icd_dispatch, clGetDeviceIDsFromD3D10KHR);
  const size_t last = offsetof(struct _cl_icd_dispatch, clEnqueueReleaseD3D10ObjectsKHR);
  const size_t first_11 = offsetof(struct _cl_icd_dispatch, clGetDeviceIDsFromD3D11KHR);
  const size_t last_11 = offsetof(struct _cl_icd_dispatch, clEnqueueReleaseD3D11ObjectsKHR);
  const size_t first_9 = offsetof(struct _cl_icd_dispatch, clGetDeviceIDsFromDX9MediaAdapterKHR);
  const size_t last_9 = offsetof(struct _cl_icd_dispatch, clEnqueueReleaseDX9MediaSurfacesKHR);
  for (size_t at = 0; at < sizeof halo_cpu_dispatch; at += sizeof *table) {
    bool windows = (at >= first && at <= last) || (at >= first_11 && at <= last_11) ||
                   (at >= first_9 && at <= last_9);
    ck_assert_msg(windows || table[at / sizeof *table], "function %zu", at / sizeof *table);
  }
}
END_TEST

int main(void) {
  const char *missing;
  cl = halo_cpu_open(&missing);
  if (!cl) {
    printf("skipped: cpu: %s\n", missing);
    return 77;
  }
  Suite *suite = suite_create("cpu");
  TCase *all = tcase_create("cpu");
  tcase_add_checked_fixture(all, open_device, close_device);
  tcase_set_timeout(all, 120);
  tcase_add_test(all, places);
  tcase_add_test(all, rows);
  tcase_add_test(all, barriers);
  tcase_add_test(all, arguments);
  tcase_add_test(all, faulty_text);
  tcase_add_test(all, binaries);
  tcase_add_test(all, damaged_binaries);
  tcase_add_test(all, events);
  tcase_add_test(all, failed_wait);
  tcase_add_test(all, released_queue);
  tcase_add_test(all, released_by_another);
  tcase_add_test(all, times);
  tcase_add_test(all, in_caller);
  tcase_add_test(all, threads);
  tcase_add_test(all, ranges);
  tcase_add_test(all, device_answers);
  tcase_add_test(all, odd_commands);
  tcase_add_test(all, odd_programs);
  tcase_add_test(all, other_functions);
  tcase_add_test(all, no_function_is_missing);
  suite_add_tcase(suite, all);
  return suite_run(suite);
}

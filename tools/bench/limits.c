/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c: what the machine can do, measured with hand-written kernels through OpenCL. */
#include "bench/bench.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* V is a vector of W floats, or a float; the head that limits_build adds says which. */
static const char limits_source[] =
    "__kernel void triad(__global const V *b, __global const V *c, __global V *a) {\n"
    "  size_t i = get_global_id(0);\n"
    "  a[i] = b[i] + 3.0f * c[i];\n"
    "}\n"
    "#ifdef __has_builtin\n"
    "#if __has_builtin(__builtin_nontemporal_store)\n"
    "__kernel void streaming(__global const V *b, __global const V *c, __global V *a) {\n"
    "  size_t i = get_global_id(0);\n"
    "  __builtin_nontemporal_store(b[i] + 3.0f * c[i], &a[i]);\n"
    "}\n"
    "#endif\n"
    "#endif\n"
    "__kernel void increment(__global const float *b, __global float *a) {\n"
    "  size_t i = get_global_id(0);\n"
    "  a[i] = b[i] + 1.0f;\n"
    "}\n"
    "__kernel void multiply_add(__global float *out, float s, float t, int steps) {\n"
    "  V x0 = (V)(0.1f), x1 = (V)(0.2f), x2 = (V)(0.3f), x3 = (V)(0.4f);\n"
    "  V x4 = (V)(0.5f), x5 = (V)(0.6f), x6 = (V)(0.7f), x7 = (V)(0.8f);\n"
    "  V x8 = (V)(0.9f), x9 = (V)(1.0f), xa = (V)(1.1f), xb = (V)(1.2f);\n"
    "  V vs = (V)(s), vt = (V)(t);\n"
    "  for (int i = 0; i < steps; i++) {\n"
    "    x0 = x0 * vs + vt; x1 = x1 * vs + vt; x2 = x2 * vs + vt;\n"
    "    x3 = x3 * vs + vt; x4 = x4 * vs + vt; x5 = x5 * vs + vt;\n"
    "    x6 = x6 * vs + vt; x7 = x7 * vs + vt; x8 = x8 * vs + vt;\n"
    "    x9 = x9 * vs + vt; xa = xa * vs + vt; xb = xb * vs + vt;\n"
    "  }\n"
    "  V x = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + xa + xb;\n"
    "  float part[W];\n"
    "  STORE(x, part);\n"
    "  float sum = 0.0f;\n"
    "  for (int i = 0; i < W; i++) sum += part[i];\n"
    "  out[get_global_id(0)] = sum;\n"
    "}\n";

enum { LIMITS_FMAS_A_STEP = 12, LIMITS_ROUNDS = 3 };

static halo_cl_api limits_cl; /* OpenCL's functions, for the bare yardsticks */

/* The program for vectors of `width` floats. */
static cl_program limits_build(const bench_machine *machine, int width) {
  char head[160];
  if (width == 1) {
    snprintf(head, sizeof head,
             "typedef float V;\n#define W 1\n#define STORE(x, p) (p)[0] = (x)\n");
  } else {
    snprintf(head, sizeof head,
             "typedef float%d V;\n#define W %d\n#define STORE(x, p) vstore%d(x, 0, p)\n", width,
             width, width);
  }
  const char *sources[] = {head, limits_source};
  cl_int code;
  cl_program program =
      limits_cl.clCreateProgramWithSource(machine->context, 2, sources, NULL, &code);
  bench_check_cl(code, "clCreateProgramWithSource");
  code = limits_cl.clBuildProgram(program, 1, &machine->device, "", NULL, NULL);
  if (code != CL_SUCCESS) {
    char log[4096] = "";
    limits_cl.clGetProgramBuildInfo(program, machine->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1,
                                    log, NULL);
    fprintf(stderr, "halo bench: %s\n", log);
  }
  bench_check_cl(code, "building the yardsticks");
  return program;
}

/* Its kernel is NULL when the program has none of that name. */
static bench_yardstick limits_yardstick(const bench_machine *machine, cl_program program,
                                        const char *kernel, size_t global, size_t local,
                                        double work) {
  bench_yardstick y = {.queue = machine->queue, .global = global, .local = local, .work = work};
  y.kernel = limits_cl.clCreateKernel(program, kernel, NULL);
  return y;
}

static void limits_set_arrays(const bench_machine *machine, cl_kernel kernel, int count) {
  for (int i = 0; i < count; i++) {
    bench_check_cl(
        limits_cl.clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &machine->arrays[i]),
        "clSetKernelArg");
  }
}

double bench_yardstick_run(const bench_yardstick *y) {
  double start = tool_now();
  bench_check_cl(limits_cl.clEnqueueNDRangeKernel(y->queue, y->kernel, 1, NULL, &y->global,
                                                  &y->local, 0, NULL, NULL),
                 "clEnqueueNDRangeKernel");
  bench_check_cl(limits_cl.clFinish(y->queue), "clFinish");
  return tool_now() - start;
}

double bench_yardstick_enqueue(const bench_yardstick *y) {
  double start = tool_now();
  cl_int code = limits_cl.clEnqueueNDRangeKernel(y->queue, y->kernel, 1, NULL, &y->global,
                                                 &y->local, 0, NULL, NULL);
  double seconds = tool_now() - start;
  bench_check_cl(code, "clEnqueueNDRangeKernel");
  bench_check_cl(limits_cl.clFinish(y->queue), "clFinish");
  return seconds;
}

/* Leaves the faster of the two in `best`, by the median rate of a few launches, and releases the
 * other. */
static void limits_keep_faster(bench_yardstick *best, double *best_rate,
                               bench_yardstick *candidate) {
  double seconds[LIMITS_ROUNDS];
  bench_yardstick_run(candidate);
  for (int i = 0; i < LIMITS_ROUNDS; i++) seconds[i] = bench_yardstick_run(candidate);
  double rate = candidate->work / bench_median(seconds, LIMITS_ROUNDS);
  if (rate > *best_rate) {
    *best_rate = rate;
    bench_yardstick former = *best;
    *best = *candidate;
    *candidate = former;
  }
  if (candidate->kernel != NULL) limits_cl.clReleaseKernel(candidate->kernel);
}

/* The smallest work group to measure with: the library's own processor device has groups of one item only. */
static size_t limits_smallest_group(size_t max_group) { return max_group < 64 ? 1 : 64; }

/* Bandwidth: every width with a few sizes of work groups. */
static void limits_pick_bandwidth(bench_machine *machine, const char *kernel,
                                  const cl_program *programs, const int *widths, int width_count,
                                  size_t max_group, bench_yardstick *best) {
  double rate = 0;
  for (int w = 0; w < width_count; w++) {
    for (size_t local = limits_smallest_group(max_group); local <= max_group && local <= 1024;
         local *= 4) {
      bench_yardstick y =
          limits_yardstick(machine, programs[w], kernel, BENCH_ARRAY_ELEMENTS / (size_t)widths[w],
                           local, 3.0 * sizeof(cl_float) * BENCH_ARRAY_ELEMENTS);
      if (y.kernel == NULL) return;
      limits_set_arrays(machine, y.kernel, 3);
      snprintf(y.form, sizeof y.form, "float%d, groups of %zu", widths[w], local);
      limits_keep_faster(best, &rate, &y);
    }
  }
}

/* Peak: enough groups for every core, each for about the same work whatever the form. */
static void limits_pick_peak(bench_machine *machine, const cl_program *programs, const int *widths,
                             int width_count, size_t max_group, cl_uint units,
                             bench_yardstick *best) {
  double rate = 0;
  const double flops = 2e9;
  for (int w = 0; w < width_count; w++) {
    for (size_t local = 1; local <= max_group && local <= 64; local *= 64) {
      size_t global = (size_t)units * 8 * local;
      double a_step = 2.0 * LIMITS_FMAS_A_STEP * widths[w] * (double)global;
      cl_int steps = (cl_int)(flops / a_step) + 1;
      bench_yardstick y =
          limits_yardstick(machine, programs[w], "multiply_add", global, local, a_step * steps);
      cl_float s = 0.999f, t = 0.001f;
      limits_set_arrays(machine, y.kernel, 1);
      bench_check_cl(limits_cl.clSetKernelArg(y.kernel, 1, sizeof s, &s), "clSetKernelArg");
      bench_check_cl(limits_cl.clSetKernelArg(y.kernel, 2, sizeof t, &t), "clSetKernelArg");
      bench_check_cl(limits_cl.clSetKernelArg(y.kernel, 3, sizeof steps, &steps), "clSetKernelArg");
      snprintf(y.form, sizeof y.form, "float%d, groups of %zu", widths[w], local);
      limits_keep_faster(best, &rate, &y);
    }
  }
}

void bench_machine_open(bench_machine *machine, const halo_device *device) {
  halo_device_info info;
  static const int widths[] = {1, 4, 16};
  enum { WIDTHS = sizeof widths / sizeof *widths };
  cl_int code;
  const char *missing = halo_cl_api_load(&limits_cl);
  if (missing) {
    fprintf(stderr, "halo bench: the OpenCL loader cannot be used: %s\n", missing);
    exit(1);
  }
  memset(machine, 0, sizeof *machine);
  halo_device_get_info(device, &info);
  machine->device = halo_device_get_cl_device(device);
  if (!machine->device) {
    fprintf(stderr, "halo bench: %s is not an OpenCL device\n", info.name);
    exit(1);
  }
  machine->context = limits_cl.clCreateContext(NULL, 1, &machine->device, NULL, NULL, &code);
  bench_check_cl(code, "clCreateContext");
  machine->queue = limits_cl.clCreateCommandQueue(machine->context, machine->device, 0, &code);
  bench_check_cl(code, "clCreateCommandQueue");

  size_t size = sizeof(cl_float) * BENCH_ARRAY_ELEMENTS;
  float *zeros = calloc(BENCH_ARRAY_ELEMENTS, sizeof *zeros);
  for (int i = 0; i < 3; i++) {
    machine->arrays[i] =
        limits_cl.clCreateBuffer(machine->context, CL_MEM_READ_WRITE, size, NULL, &code);
    bench_check_cl(code, "clCreateBuffer");
    bench_check_cl(limits_cl.clEnqueueWriteBuffer(machine->queue, machine->arrays[i], CL_TRUE, 0,
                                                  size, zeros, 0, NULL, NULL),
                   "clEnqueueWriteBuffer");
  }
  free(zeros);

  cl_program programs[WIDTHS];
  for (int w = 0; w < WIDTHS; w++) programs[w] = limits_build(machine, widths[w]);
  limits_pick_bandwidth(machine, "triad", programs, widths, WIDTHS, info.max_work_group,
                        &machine->triad);
  limits_pick_bandwidth(machine, "streaming", programs, widths, WIDTHS, info.max_work_group,
                        &machine->streaming);
  limits_pick_peak(machine, programs, widths, WIDTHS, info.max_work_group, info.compute_units,
                   &machine->fma);
  machine->increment =
      limits_yardstick(machine, programs[0], "increment", BENCH_INCREMENT_ELEMENTS,
                       limits_smallest_group(info.max_work_group), BENCH_INCREMENT_ELEMENTS);
  limits_set_arrays(machine, machine->increment.kernel, 2);
  /* Kernels keep their programs alive. */
  for (int w = 0; w < WIDTHS; w++) limits_cl.clReleaseProgram(programs[w]);
}

void bench_machine_close(bench_machine *machine) {
  limits_cl.clReleaseKernel(machine->triad.kernel);
  if (machine->streaming.kernel != NULL) limits_cl.clReleaseKernel(machine->streaming.kernel);
  limits_cl.clReleaseKernel(machine->fma.kernel);
  limits_cl.clReleaseKernel(machine->increment.kernel);
  for (int i = 0; i < 3; i++) limits_cl.clReleaseMemObject(machine->arrays[i]);
  limits_cl.clReleaseCommandQueue(machine->queue);
  limits_cl.clReleaseContext(machine->context);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c: what the device can do, measured with hand-written kernels through OpenCL. */
#include "bench/limits.h"
#include "bench/runner.h"
#include "opencl/api.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* V is a vector of W floats; the head that limits_build adds says which. */
static const char limits_streams[] =
    "__kernel void copy(__global V *a, __global const V *b, __global const V *c) {\n"
    "  size_t i = get_global_id(0);\n"
    "  a[i] = b[i];\n"
    "}\n"
    "__kernel void triad(__global V *a, __global const V *b, __global const V *c) {\n"
    "  size_t i = get_global_id(0);\n"
    "  a[i] = b[i] + 3.0f * c[i];\n"
    "}\n"
    "#ifdef __has_builtin\n"
    "#if __has_builtin(__builtin_nontemporal_store)\n"
    "__kernel void streaming(__global V *a, __global const V *b, __global const V *c) {\n"
    "  size_t i = get_global_id(0);\n"
    "  __builtin_nontemporal_store(b[i] + 3.0f * c[i], &a[i]);\n"
    "}\n"
    "#endif\n"
    "#endif\n"
    "__kernel void read(__global V *a, __global const V *b, int count, int step, int jump) {\n"
    "  size_t i = get_global_id(0), at = i * jump;\n"
    "  V s = b[at], t = b[at + step], u = b[at + 2 * step], v = b[at + 3 * step];\n"
    "  for (int k = 4; k < count; k += 4) {\n"
    "    at += 4 * step;\n"
    "    s += b[at]; t += b[at + step]; u += b[at + 2 * step]; v += b[at + 3 * step];\n"
    "  }\n"
    "  a[i] = s + t + u + v;\n"
    "}\n"
    "__kernel void increment(__global float *a, __global const float *b) {\n"
    "  size_t i = get_global_id(0);\n"
    "  a[i] = b[i] + 1.0f;\n"
    "}\n"
    "__kernel void local_read(__global float *a, __global const float *b, int steps) {\n"
    "  __local float part[1024];\n"
    "  size_t i = get_local_id(0), n = get_local_size(0);\n"
    "  for (size_t k = i; k < 1024; k += n) part[k] = b[k];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  float s = 0, t = 0, u = 0, v = 0;\n"
    "  for (int k = 0; k < steps; k++) {\n"
    "    s += part[i]; t += part[i + 256 & 1023]; u += part[i + 512 & 1023]; v += part[i + 768 & "
    "1023];\n"
    "    i = i + 1 & 1023;\n"
    "  }\n"
    "  a[get_global_id(0)] = s + t + u + v;\n"
    "}\n";

/* For vectors of WIDTH elements. */
static const char limits_peak[] =
    "__kernel void multiply_add(__global float *out, int steps, int scale) {\n"
    "  VECTOR vs = (VECTOR)((ELEMENT)SCALE), vt = (VECTOR)((ELEMENT)ADDEND);\n"
    "  VECTOR one = (VECTOR)((ELEMENT)1);\n"
    "  VECTOR x0 = one * (ELEMENT)(1 + (int)(get_global_id(0) & 7));\n"
    "  VECTOR x1 = x0 + one * (ELEMENT)1, x2 = x0 + one * (ELEMENT)2, x3 = x0 + one * (ELEMENT)3, "
    "x4 = x0 + one * (ELEMENT)4;\n"
    "  VECTOR x5 = x0 + one * (ELEMENT)5, x6 = x0 + one * (ELEMENT)6, x7 = x0 + one * (ELEMENT)7, "
    "x8 = x0 + one * (ELEMENT)8;\n"
    "  VECTOR x9 = x0 + one * (ELEMENT)9, xa = x0 + one * (ELEMENT)10, xb = x0 + one * "
    "(ELEMENT)11;\n"
    "  for (int i = 0; i < steps; i++) {\n"
    "    x0 = x0 * vs + vt; x1 = x1 * vs + vt; x2 = x2 * vs + vt;\n"
    "    x3 = x3 * vs + vt; x4 = x4 * vs + vt; x5 = x5 * vs + vt;\n"
    "    x6 = x6 * vs + vt; x7 = x7 * vs + vt; x8 = x8 * vs + vt;\n"
    "    x9 = x9 * vs + vt; xa = xa * vs + vt; xb = xb * vs + vt;\n"
    "  }\n"
    "  ELEMENT part[WIDTH];\n"
    "  STORE(x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + xa + xb, part);\n"
    "  float sum = 0;\n"
    "  for (int i = 0; i < WIDTH; i++) sum += (float)part[i];\n"
    "  out[get_global_id(0)] = sum;\n"
    "}\n";

/* The element types of peaks. Items begin with different values: where all compute the same, a compiler may do it once. After many steps of x * SCALE + ADDEND every element is at the fixed point 1, whatever it began with; whole
 * numbers are multiplied by 1, which the compiler does not know, and count. */
typedef struct limits_type {
  const char *name, *element, *scale, *addend;
} limits_type;

static const limits_type limits_types[] = {
    {"f32", "float", "(scale * 0.5f)", "(scale * 0.5f)"},
    {"f16", "half", "(scale * 0.5f)", "(scale * 0.5f)"},
    {"f64", "double", "(scale * 0.5)", "(scale * 0.5)"},
    {"s32", "int", "scale", "scale"},
};
enum {
  LIMITS_TYPES = sizeof limits_types / sizeof *limits_types,
  LIMITS_WIDTHS = 3,
  LIMITS_FMAS = 12, /* multiply-adds of a step */
  LIMITS_ELEMENTS = 16 * 1024 * 1024,
  LIMITS_SMALL = 1024,
  LIMITS_PICKS = 3,
  LIMITS_SAMPLES = 9, /* at least */
  LIMITS_MOST = 200
};
static const int limits_widths[LIMITS_WIDTHS] = {1, 4, 16};

static halo_cl_api limits_cl;

/* A kernel with its launch. */
typedef struct limits_launch {
  cl_kernel kernel; /* NULL: none */
  size_t global, local;
  double work;
  int steps; /* of a peak */
  int width;
  char form[40]; /* which of several forms it is */
} limits_launch;

typedef struct limits {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_mem arrays[3]; /* where results go; i % 1024; i % 512 */
  cl_program streams[LIMITS_WIDTHS], peaks[LIMITS_TYPES][LIMITS_WIDTHS];
  halo_device_info info;
  bool (*wanted)(const char *name, void *user);
  void (*show)(const bench_row *row, void *user);
  void *user;
  bench_record *record;
  char trouble[120]; /* the first call that failed, or "" */
} limits;

/* Whether the call succeeded; notes the first that did not. */
static bool limits_ok(limits *l, cl_int code, const char *call) {
  if (code == CL_SUCCESS) return true;
  if (l->trouble[0] == '\0') {
    snprintf(l->trouble, sizeof l->trouble, "%s failed with OpenCL's code %d", call, (int)code);
  }
  return false;
}

/* ---- Programs ---- */

/* NULL: it does not build here. */
static cl_program limits_build(limits *l, const char *head, const char *text) {
  const char *sources[] = {head, text};
  cl_int code;
  cl_program program = limits_cl.clCreateProgramWithSource(l->context, 2, sources, NULL, &code);
  if (code != CL_SUCCESS) return NULL;
  if (limits_cl.clBuildProgram(program, 1, &l->device, "", NULL, NULL) == CL_SUCCESS)
    return program;
  limits_cl.clReleaseProgram(program);
  return NULL;
}

static cl_program limits_streams_of(limits *l, int w) {
  char head[120];
  if (l->streams[w] != NULL) return l->streams[w];
  int width = limits_widths[w];
  if (width == 1) {
    strcpy(head, "typedef float V;\n");
  } else {
    snprintf(head, sizeof head, "typedef float%d V;\n", width);
  }
  return l->streams[w] = limits_build(l, head, limits_streams);
}

static cl_program limits_peak_of(limits *l, int t, int w) {
  char head[600], width[12] = "", store[48] = "(p)[0] = (x)";
  const limits_type *type = &limits_types[t];
  if (l->peaks[t][w] != NULL) return l->peaks[t][w];
  if (limits_widths[w] > 1) {
    snprintf(width, sizeof width, "%d", limits_widths[w]);
    snprintf(store, sizeof store, "vstore%d(x, 0, p)", limits_widths[w]);
  }
  snprintf(head, sizeof head,
           "%s#define ELEMENT %s\n#define VECTOR %s%s\n#define WIDTH %d\n#define SCALE %s\n"
           "#define ADDEND %s\n#define STORE(x, p) %s\n",
           strcmp(type->name, "f16") == 0   ? "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
           : strcmp(type->name, "f64") == 0 ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                                            : "",
           type->element, type->element, width, limits_widths[w], type->scale, type->addend, store);
  return l->peaks[t][w] = limits_build(l, head, limits_peak);
}

static bool limits_set(limits *l, cl_kernel kernel, int index, size_t size, const void *value) {
  return limits_ok(l, limits_cl.clSetKernelArg(kernel, (cl_uint)index, size, value),
                   "clSetKernelArg");
}

static bool limits_set_arrays(limits *l, cl_kernel kernel, int count) {
  bool ok = true;
  for (int i = 0; i < count && ok; i++) {
    ok = limits_set(l, kernel, i, sizeof(cl_mem), &l->arrays[i]);
  }
  return ok;
}

/* ---- Launches ---- */

static bool limits_enqueue(limits *l, const limits_launch *y) {
  return limits_ok(l,
                   limits_cl.clEnqueueNDRangeKernel(l->queue, y->kernel, 1, NULL, &y->global,
                                                    &y->local, 0, NULL, NULL),
                   "clEnqueueNDRangeKernel");
}

static bool limits_finish(limits *l) {
  return limits_ok(l, limits_cl.clFinish(l->queue), "clFinish");
}

/* Seconds of one of `count` launches that are waited for together. */
static double limits_time(limits *l, const limits_launch *y, int count) {
  double start = tool_now();
  bool ok = true;
  for (int i = 0; i < count && ok; i++) ok = limits_enqueue(l, y);
  ok = ok && limits_finish(l);
  double seconds = (tool_now() - start) / count;
  return ok && seconds > 0 ? seconds : 1e9;
}

/* Keeps the faster of two, by the shortest of a few launches, and releases the other. */
static void limits_keep_faster(limits *l, limits_launch *best, double *best_rate,
                               limits_launch *candidate) {
  double shortest = limits_time(l, candidate, 1);
  for (int i = 0; i < LIMITS_PICKS; i++) {
    double seconds = limits_time(l, candidate, 1);
    if (seconds < shortest) shortest = seconds;
  }
  double rate = candidate->work / shortest;
  if (rate > *best_rate) {
    limits_launch former = *best;
    *best_rate = rate;
    *best = *candidate;
    *candidate = former;
  }
  if (candidate->kernel != NULL) limits_cl.clReleaseKernel(candidate->kernel);
}

/* ---- Rows ---- */

static bench_row *limits_begin(limits *l, const char *name, const char *unit) {
  if (l->wanted != NULL && !l->wanted(name, l->user)) return NULL;
  bench_row *row = bench_record_add(l->record);
  snprintf(row->name, sizeof row->name, "%s", name);
  snprintf(row->unit, sizeof row->unit, "%s", unit);
  l->trouble[0] = '\0';
  return row;
}

static void limits_end(limits *l, bench_row *row, const char *why_not) {
  if (l->trouble[0] != '\0') {
    bench_row_fail(row, BENCH_FAILED, l->trouble);
  } else if (why_not != NULL) {
    bench_row_fail(row, BENCH_SKIPPED, why_not);
  } else if (row->wrong > 0 || row->checked == 0) {
    bench_row_fail(row, BENCH_WRONG, "the kernel's answer is wrong");
    row->median = row->minimum = 0;
  }
  l->show(row, l->user);
}

/* The first array, of which `count` floats were written; to be freed. */
static float *limits_fetch(limits *l, size_t count) {
  float *data = tool_alloc(sizeof *data * count);
  if (!limits_ok(l,
                 limits_cl.clEnqueueReadBuffer(l->queue, l->arrays[0], CL_TRUE, 0,
                                               sizeof *data * count, data, 0, NULL, NULL),
                 "clEnqueueReadBuffer")) {
    memset(data, 0xff, sizeof *data * count);
  }
  return data;
}

static bool limits_poison(limits *l, size_t count) {
  void *ones = tool_alloc(sizeof(float) * count);
  memset(ones, 0xff, sizeof(float) * count);
  bool ok = limits_ok(l,
                      limits_cl.clEnqueueWriteBuffer(l->queue, l->arrays[0], CL_TRUE, 0,
                                                     sizeof(float) * count, ones, 0, NULL, NULL),
                      "clEnqueueWriteBuffer");
  free(ones);
  return ok;
}

/* One more launch on poisoned memory, then the samples. */
static void limits_sample(limits *l, const limits_launch *y, int runs, size_t written,
                          double (*expected)(const limits_launch *y, size_t i), bench_row *row) {
  const double least = 0.25; /* seconds: others who use the machine may not do so all the time */
  double seconds[LIMITS_MOST];
  strcpy(row->check, "pattern");
  snprintf(row->size, sizeof row->size, "%s", y->form);
  row->work = y->work;
  row->runs = runs;
  if (!limits_poison(l, written) || !limits_enqueue(l, y) || !limits_finish(l)) return;
  float *data = limits_fetch(l, written);
  for (size_t i = 0; i < written; i++) {
    double is = data[i], should = expected(y, i);
    /* Sums of floats differ by their order. */
    row->wrong += !(fabs(is - should) <= 1e-4 * fabs(should));
  }
  free(data);
  row->checked = row->elements = (int64_t)written;
  if (row->wrong > 0) return;
  int taken = 0;
  double start = tool_now();
  while (taken < LIMITS_SAMPLES || (taken < LIMITS_MOST && tool_now() - start < least)) {
    seconds[taken++] = limits_time(l, y, runs);
  }
  bench_summarize(seconds, taken, row);
}

static double limits_b(size_t i) { return (double)(i % 1024); }
static double limits_c(size_t i) { return (double)(i % 512); }
static double limits_expect_copy(const limits_launch *y, size_t i) {
  (void)y;
  return limits_b(i);
}
static double limits_expect_triad(const limits_launch *y, size_t i) {
  (void)y;
  return limits_b(i) + 3 * limits_c(i);
}
static double limits_expect_increment(const limits_launch *y, size_t i) {
  (void)y;
  return limits_b(i) + 1;
}

/* The smallest work group to measure with: our own processor device has groups of one item only. */
static size_t limits_smallest(const limits *l) { return l->info.max_work_group < 64 ? 1 : 64; }

static void limits_stream(limits *l, const char *name, const char *kernel, int arrays,
                          double (*expected)(const limits_launch *y, size_t i)) {
  bench_row *row = limits_begin(l, name, "GB/s");
  if (row == NULL) return;
  limits_launch best = {0};
  double rate = 0;
  for (int w = 0; w < LIMITS_WIDTHS; w++) {
    cl_program program = limits_streams_of(l, w);
    for (size_t local = limits_smallest(l); local <= l->info.max_work_group && local <= 1024;
         local *= 4) {
      int width = limits_widths[w];
      limits_launch y = {.global = LIMITS_ELEMENTS / (size_t)width,
                         .local = local,
                         .work = (double)arrays * sizeof(float) * LIMITS_ELEMENTS};
      y.kernel = program ? limits_cl.clCreateKernel(program, kernel, NULL) : NULL;
      if (y.kernel == NULL || !limits_set_arrays(l, y.kernel, 3)) break;
      snprintf(y.form, sizeof y.form, "3 x 16M, float%d, groups of %zu", width, local);
      limits_keep_faster(l, &best, &rate, &y);
    }
  }
  if (best.kernel != NULL) limits_sample(l, &best, 1, LIMITS_ELEMENTS, expected, row);
  row->bytes = row->work;
  limits_end(l, row, best.kernel ? NULL : "its compiler has no such store");
  if (best.kernel != NULL) limits_cl.clReleaseKernel(best.kernel);
}

/* ---- Reading ---- */

static double limits_expect_read(const limits_launch *y, size_t i) {
  /* Item i / width adds component i % width of `steps` vectors, next to each other or spread. */
  size_t item = i / (size_t)y->width, component = i % (size_t)y->width, step = y->global;
  double sum = 0;
  bool spread = strstr(y->form, "spread") != NULL;
  for (int k = 0; k < y->steps; k++) {
    size_t vector = spread ? item + (size_t)k * step : item * (size_t)y->steps + (size_t)k;
    sum += limits_b(vector * (size_t)y->width + component);
  }
  return sum;
}

static void limits_read(limits *l) {
  bench_row *row = limits_begin(l, "limit.read", "GB/s");
  if (row == NULL) return;
  limits_launch best = {0};
  double rate = 0;
  for (int form = 0; form < 2 * LIMITS_WIDTHS; form++) {
    int w = form / 2, width = limits_widths[w];
    bool spread = form % 2;
    size_t local = limits_smallest(l), items = LIMITS_ELEMENTS / (size_t)width;
    size_t global = local == 1 ? (size_t)l->info.compute_units * 32 : (size_t)1 << 16;
    while (global > items / 16 || items % global) global /= 2;
    cl_int count = (cl_int)(items / global), step = spread ? (cl_int)global : 1;
    cl_int jump = spread ? 1 : count;
    limits_launch y = {.global = global,
                       .local = local,
                       .steps = count,
                       .width = width,
                       .work = sizeof(float) * (double)LIMITS_ELEMENTS};
    cl_program program = limits_streams_of(l, w);
    y.kernel = program ? limits_cl.clCreateKernel(program, "read", NULL) : NULL;
    if (y.kernel == NULL || count % 4 || !limits_set_arrays(l, y.kernel, 2) ||
        !limits_set(l, y.kernel, 2, sizeof count, &count) ||
        !limits_set(l, y.kernel, 3, sizeof step, &step) ||
        !limits_set(l, y.kernel, 4, sizeof jump, &jump)) {
      continue;
    }
    snprintf(y.form, sizeof y.form, "16M, float%d, %s", width, spread ? "spread" : "in runs");
    limits_keep_faster(l, &best, &rate, &y);
  }
  size_t written = best.global * (size_t)best.width;
  if (best.kernel != NULL) limits_sample(l, &best, 1, written, limits_expect_read, row);
  row->bytes = row->work;
  limits_end(l, row, best.kernel ? NULL : "its kernel does not build here");
  if (best.kernel != NULL) limits_cl.clReleaseKernel(best.kernel);
}

/* ---- Arithmetic ---- */

static double limits_expect_peak(const limits_launch *y, size_t i) {
  double sum = 0;
  bool whole = strncmp(y->form, "int", 3) == 0;
  for (int k = 0; k < LIMITS_FMAS; k++) sum += whole ? k + 1 + (double)(i & 7) + y->steps : 1;
  return sum * y->width;
}

static void limits_peak_row(limits *l, int t) {
  char name[40];
  const limits_type *type = &limits_types[t];
  snprintf(name, sizeof name, "limit.multiply-add.%s", type->name);
  bench_row *row = limits_begin(l, name, "GFLOP/s");
  if (row == NULL) return;
  limits_launch best = {0};
  double rate = 0;
  const double operations = 1e9;
  bool has = strcmp(type->name, "f16") == 0   ? l->info.has_f16
             : strcmp(type->name, "f64") == 0 ? l->info.has_f64
                                              : true;
  for (int w = 0; w < LIMITS_WIDTHS && has; w++) {
    cl_program program = limits_peak_of(l, t, w);
    for (size_t local = 1; local <= l->info.max_work_group && local <= 64 && program; local *= 64) {
      /* Enough groups for every core, each for about the same work whatever the form. */
      limits_launch y = {.local = local, .width = limits_widths[w]};
      y.global = (size_t)l->info.compute_units * (local == 1 ? 8 : 32) * local;
      double a_step = 2.0 * LIMITS_FMAS * y.width * (double)y.global;
      cl_int steps = (cl_int)(operations / a_step) + 100, one = 1;
      y.steps = steps;
      y.work = a_step * steps;
      y.kernel = limits_cl.clCreateKernel(program, "multiply_add", NULL);
      if (y.kernel == NULL || !limits_set_arrays(l, y.kernel, 1) ||
          !limits_set(l, y.kernel, 1, sizeof steps, &steps) ||
          !limits_set(l, y.kernel, 2, sizeof one, &one)) {
        break;
      }
      snprintf(y.form, sizeof y.form, "%s%d, groups of %zu", type->element, y.width, local);
      limits_keep_faster(l, &best, &rate, &y);
    }
  }
  if (best.kernel != NULL) {
    limits_sample(l, &best, 1, best.global, limits_expect_peak, row);
  }
  row->flops = row->work;
  limits_end(l, row,
             !has                  ? "no arithmetic in this type"
             : best.kernel == NULL ? "its kernel does not build here"
                                   : NULL);
  if (best.kernel != NULL) limits_cl.clReleaseKernel(best.kernel);
}

static double limits_expect_local(const limits_launch *y, size_t i) {
  size_t at = i % y->local;
  double sum = 0;
  for (int k = 0; k < y->steps; k++) {
    for (size_t j = 0; j < 1024; j += 256) sum += limits_b((at + j) % 1024);
    at = (at + 1) % 1024;
  }
  return sum;
}

static void limits_local(limits *l) {
  bench_row *row = limits_begin(l, "limit.local_memory", "GB/s");
  if (row == NULL) return;
  cl_int steps = 512;
  size_t local = limits_smallest(l);
  limits_launch y = {.local = local, .steps = steps};
  y.global = local * l->info.compute_units * (local == 1 ? 512 : 256);
  y.work = 16.0 * steps * (double)y.global;
  cl_program program = limits_streams_of(l, 0);
  y.kernel = program ? limits_cl.clCreateKernel(program, "local_read", NULL) : NULL;
  if (y.kernel != NULL && limits_set_arrays(l, y.kernel, 2) &&
      limits_set(l, y.kernel, 2, sizeof steps, &steps)) {
    snprintf(y.form, sizeof y.form, "groups of %zu", local);
    limits_time(l, &y, 1);
    limits_sample(l, &y, 1, y.global, limits_expect_local, row);
  }
  limits_end(l, row, y.kernel ? NULL : "its kernel does not build here");
  if (y.kernel != NULL) limits_cl.clReleaseKernel(y.kernel);
}

/* ---- Launches and transfers ---- */

static void limits_launches(limits *l) {
  static const struct {
    const char *name, *form;
    int runs;
  } rows[] = {{"limit.round_trip", "a launch that is waited for", 1},
              {"limit.launch", "of 200 queued together", 200}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bench_row *row = limits_begin(l, rows[i].name, "s");
    if (row == NULL) continue;
    limits_launch y = {.global = LIMITS_SMALL, .local = limits_smallest(l), .work = 1};
    cl_program program = limits_streams_of(l, 0);
    y.kernel = program ? limits_cl.clCreateKernel(program, "increment", NULL) : NULL;
    snprintf(y.form, sizeof y.form, "%s", rows[i].form);
    if (y.kernel != NULL && limits_set_arrays(l, y.kernel, 2)) {
      limits_time(l, &y, 200);
      limits_sample(l, &y, rows[i].runs, LIMITS_SMALL, limits_expect_increment, row);
    }
    limits_end(l, row, y.kernel ? NULL : "its kernel does not build here");
    if (y.kernel != NULL) limits_cl.clReleaseKernel(y.kernel);
  }
}

static bool limits_move(limits *l, bool to_device, float *host, size_t size) {
  cl_int code = to_device ? limits_cl.clEnqueueWriteBuffer(l->queue, l->arrays[0], CL_TRUE, 0, size,
                                                           host, 0, NULL, NULL)
                          : limits_cl.clEnqueueReadBuffer(l->queue, l->arrays[0], CL_TRUE, 0, size,
                                                          host, 0, NULL, NULL);
  return limits_ok(l, code, to_device ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer");
}

/* 32 MiB there or back, from and to memory of malloc or memory that the driver gave. */
static void limits_transfer(limits *l, const char *name, bool to_device, bool pinned) {
  enum { COUNT = 8 << 20 };
  const size_t size = COUNT * sizeof(float);
  bench_row *row = limits_begin(l, name, "GB/s");
  if (row == NULL) return;
  cl_int code = CL_SUCCESS;
  cl_mem memory = NULL;
  float *host;
  if (pinned) {
    memory = limits_cl.clCreateBuffer(l->context, CL_MEM_ALLOC_HOST_PTR, size, NULL, &code);
    host = limits_ok(l, code, "clCreateBuffer")
               ? limits_cl.clEnqueueMapBuffer(l->queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                              0, size, 0, NULL, NULL, &code)
               : NULL;
    limits_ok(l, code, "clEnqueueMapBuffer");
  } else {
    host = tool_alloc(size);
  }
  double seconds[LIMITS_SAMPLES];
  if (host != NULL) {
    for (size_t i = 0; i < COUNT; i++) host[i] = (float)limits_b(i);
    bool ok = limits_move(l, true, host, size);
    memset(host, 0xff, size);
    ok = ok && limits_move(l, false, host, size); /* there and back */
    for (size_t i = 0; i < COUNT && ok; i++) row->wrong += host[i] != (float)limits_b(i);
    for (int i = 0; i < LIMITS_SAMPLES && ok; i++) {
      double start = tool_now();
      ok = limits_move(l, to_device, host, size);
      seconds[i] = tool_now() - start;
    }
    row->work = (double)size;
    row->checked = row->elements = COUNT;
    row->runs = 1;
    strcpy(row->check, "pattern");
    strcpy(row->size, "32 MiB");
    if (ok) bench_summarize(seconds, LIMITS_SAMPLES, row);
  }
  limits_end(l, row, NULL);
  if (memory != NULL) {
    if (host != NULL) {
      (void)limits_cl.clEnqueueUnmapMemObject(l->queue, memory, host, 0, NULL, NULL);
      (void)limits_cl.clFinish(l->queue);
    }
    limits_cl.clReleaseMemObject(memory);
  } else {
    free(host);
  }
}

/* ---- All of it ---- */

const char *const bench_limit_names[] = {"limit.copy",
                                         "limit.read",
                                         "limit.triad",
                                         "limit.triad.streaming",
                                         "limit.multiply-add.f32",
                                         "limit.multiply-add.f16",
                                         "limit.multiply-add.f64",
                                         "limit.multiply-add.s32",
                                         "limit.matrix_unit",
                                         "limit.local_memory",
                                         "limit.round_trip",
                                         "limit.launch",
                                         "limit.to_device",
                                         "limit.to_device.pinned",
                                         "limit.from_device",
                                         "limit.from_device.pinned",
                                         NULL};

static bool limits_open(limits *l, const halo_device *device) {
  const char *missing = halo_cl_api_load(&limits_cl);
  if (missing) return tool_error("the OpenCL loader cannot be used: %s", missing), false;
  halo_device_get_info(device, &l->info);
  l->device = halo_device_get_cl_device(device);
  if (l->device == NULL) return tool_error("%s is not an OpenCL device", l->info.name), false;
  cl_int code;
  l->context = limits_cl.clCreateContext(NULL, 1, &l->device, NULL, NULL, &code);
  if (!limits_ok(l, code, "clCreateContext")) return false;
  l->queue = limits_cl.clCreateCommandQueue(l->context, l->device, 0, &code);
  bool ok = limits_ok(l, code, "clCreateCommandQueue");
  size_t size = sizeof(float) * LIMITS_ELEMENTS;
  float *data = tool_alloc(size);
  for (int a = 0; a < 3 && ok; a++) {
    l->arrays[a] = limits_cl.clCreateBuffer(l->context, CL_MEM_READ_WRITE, size, NULL, &code);
    ok = limits_ok(l, code, "clCreateBuffer");
    for (size_t i = 0; i < LIMITS_ELEMENTS; i++) {
      data[i] = (float)(a == 1 ? limits_b(i) : limits_c(i));
    }
    ok = ok && limits_ok(l,
                         limits_cl.clEnqueueWriteBuffer(l->queue, l->arrays[a], CL_TRUE, 0, size,
                                                        data, 0, NULL, NULL),
                         "clEnqueueWriteBuffer");
  }
  free(data);
  return ok;
}

static void limits_close(limits *l) {
  for (int w = 0; w < LIMITS_WIDTHS; w++) {
    if (l->streams[w] != NULL) limits_cl.clReleaseProgram(l->streams[w]);
    for (int t = 0; t < LIMITS_TYPES; t++) {
      if (l->peaks[t][w] != NULL) limits_cl.clReleaseProgram(l->peaks[t][w]);
    }
  }
  for (int i = 0; i < 3; i++) {
    if (l->arrays[i] != NULL) limits_cl.clReleaseMemObject(l->arrays[i]);
  }
  if (l->queue != NULL) limits_cl.clReleaseCommandQueue(l->queue);
  if (l->context != NULL) limits_cl.clReleaseContext(l->context);
}

bool bench_limits_measure(const halo_device *device, bool (*wanted)(const char *name, void *user),
                          void (*show)(const bench_row *row, void *user), void *user,
                          bench_record *record) {
  limits l = {.wanted = wanted, .show = show, .user = user, .record = record};
  bool ok = limits_open(&l, device);
  if (ok) {
    limits_stream(&l, "limit.copy", "copy", 2, limits_expect_copy);
    limits_read(&l);
    limits_stream(&l, "limit.triad", "triad", 3, limits_expect_triad);
    limits_stream(&l, "limit.triad.streaming", "streaming", 3, limits_expect_triad);
    for (int t = 0; t < LIMITS_TYPES; t++) limits_peak_row(&l, t);
    bench_row *row = limits_begin(&l, "limit.matrix_unit", "GFLOP/s");
    if (row != NULL) limits_end(&l, row, "no portable matrix instructions");
    limits_local(&l);
    limits_launches(&l);
    limits_transfer(&l, "limit.to_device", true, false);
    limits_transfer(&l, "limit.to_device.pinned", true, true);
    limits_transfer(&l, "limit.from_device", false, false);
    limits_transfer(&l, "limit.from_device.pinned", false, true);
  } else if (l.trouble[0] != '\0') {
    tool_error("%s", l.trouble);
  }
  limits_close(&l);
  return ok;
}

uint64_t bench_limits_cache(const halo_device *device) {
  const uint64_t guess = 64 << 20;
  cl_ulong bytes = 0;
  cl_device_id id = halo_device_get_cl_device(device);
  if (id == NULL || halo_cl_api_load(&limits_cl) != NULL) return guess;
  if (limits_cl.clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof bytes, &bytes, NULL) !=
      CL_SUCCESS) {
    return guess;
  }
  return bytes > guess ? bytes : guess;
}

double bench_limits_rate(const bench_record *record, const char *limit, const char **name) {
  static const char *const read[] = {"limit.copy", "limit.triad", "limit.triad.streaming",
                                     "limit.read"};
  int count = strcmp(limit, "read") == 0 ? 4 : strcmp(limit, "bandwidth") == 0 ? 3 : 0;
  double best = 0;
  *name = "";
  for (int i = 0; i < count; i++) {
    const bench_row *row = bench_record_find(record, read[i], NULL);
    if (row == NULL || row->minimum <= 0 || row->work / row->minimum <= best) continue;
    best = row->work / row->minimum;
    *name = row->name;
  }
  if (count > 0) return best;
  char full[40];
  snprintf(full, sizeof full, "limit.%s", limit);
  const bench_row *row = bench_record_find(record, full, NULL);
  if ((row == NULL || row->minimum <= 0) && strncmp(limit, "multiply-add.", 13) == 0) {
    row = bench_record_find(record, "limit.multiply-add.f32", NULL);
  }
  if (row == NULL || row->minimum <= 0) return 0;
  *name = row->name;
  return row->work / row->minimum;
}

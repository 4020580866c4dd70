/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/probe_kernels.c: the kernels of probes, and what their results should be. */
#include "opencl/probe_kernels.h"

#include "base/memory.h"
#include "base/strbuf.h"
#include "opencl/private.h"

#include <math.h>
#include <string.h>

/* ---- Kernels ---- */

static const char *const probe_sources[HALO_PROBE_KINDS] = {
    [HALO_PROBE_FMA] =
        "__kernel void probe_fma(__global const float *x, __global float *r) {\n"
        "  size_t i = get_global_id(0);\n"
        "  r[i] = fma(x[3 * i], x[3 * i + 1], x[3 * i + 2]);\n"
        "}\n",
    [HALO_PROBE_CONTRACTION] =
        "static inline float probe_product(float a, float b) { return a * b; }\n"
        "__kernel void probe_contraction(__global const float *x, __global float *r) {\n"
        "  size_t i = get_global_id(0);\n"
        "  float a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];\n"
        "  r[2 * i] = a * b + c;\n"
        "  r[2 * i + 1] = probe_product(a, b) + c;\n"
        "}\n",
    [HALO_PROBE_CONVERSION] =
        "__kernel void probe_load(__global const ushort *h, __global float *x) {\n"
        "  size_t i = get_global_id(0);\n"
        "  ushort v = h[i];\n"
        "  x[i] = vload_half(0, (const __private half *)&v);\n"
        "}\n"
        "__kernel void probe_store(__global const float *x, __global ushort *h) {\n"
        "  size_t i = get_global_id(0);\n"
        "  ushort r;\n"
        "  vstore_half(x[i], 0, (__private half *)&r);\n"
        "  h[i] = r;\n"
        "}\n",
    [HALO_PROBE_ARITHMETIC] =
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        "__kernel void probe_half(__global const ushort *x, __global ushort *r) {\n"
        "  size_t i = get_global_id(0);\n"
        "  half a = as_half(x[2 * i]), b = as_half(x[2 * i + 1]);\n"
        "  r[2 * i] = as_ushort((half)(a + b));\n"
        "  r[2 * i + 1] = as_ushort((half)(a * b));\n"
        "}\n",
    [HALO_PROBE_LOCAL] =
        "__kernel __attribute__((reqd_work_group_size(PROBE_ITEMS, 1, 1)))\n"
        "void probe_local(__global const uint *seeds, __global uint *r) {\n"
        "  __local uint a[PROBE_WORDS];\n"
        "  uint item = get_local_id(0), seed = seeds[get_group_id(0)], sum = 0;\n"
        "  for (uint i = item; i < PROBE_WORDS; i += PROBE_ITEMS) a[i] = (i ^ seed) * "
        "2654435761u;\n"
        "  barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  for (uint i = item; i < PROBE_WORDS; i += PROBE_ITEMS)\n"
        "    sum = sum * 31u + a[PROBE_WORDS - 1 - i];\n"
        "  r[get_global_id(0)] = sum;\n"
        "}\n"};

enum { PROBE_ITEMS = 64, PROBE_GROUPS = 4 };

static uint32_t probe_items(const halo_probe_session *s) {
  const halo_caps *caps = &s->device->caps;
  uint64_t items = PROBE_ITEMS;
  while (items > 1 && items > halo_caps_largest_group(caps)) items /= 2;
  return (uint32_t)items;
}

static uint32_t probe_words(const halo_probe_session *s) {
  return (uint32_t)(s->local_memory / sizeof(uint32_t));
}

/* ---- Sessions ---- */

static bool probe_build(halo_probe_session *s, unsigned asked) {
  cl_int code;
  halo_strbuf text = {0};
  halo_strbuf_append(&text, "#pragma OPENCL FP_CONTRACT OFF\n");
  halo_strbuf_printf(&text, "#define PROBE_ITEMS %uu\n#define PROBE_WORDS %uu\n", probe_items(s),
                     probe_words(s));
  for (int kind = 0; kind < HALO_PROBE_KINDS; kind++)
    if (asked >> kind & 1) halo_strbuf_append(&text, probe_sources[kind]);
  const char *source = halo_strbuf_text(&text);
  s->program = halo_cl.clCreateProgramWithSource(s->context, 1, &source, NULL, &code);
  halo_strbuf_deinit(&text);
  if (code != CL_SUCCESS) return false;
  char *options = halo_cl_program_options(&s->device->caps, NULL);
  code = halo_cl.clBuildProgram(s->program, 1, &s->device->id, options, NULL, NULL);
  halo_free(options);
  return code == CL_SUCCESS;
}

bool halo_probe_session_open(halo_probe_session *s, unsigned asked) {
  const halo_cl_device *device = s->device;
  cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                        (cl_context_properties)device->platform, 0};
  cl_int code;
  if (halo_cl_provider_of(device->id)) properties[0] = 0; /* the ICD loader does not list it */
  s->context = halo_cl.clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
  if (code != CL_SUCCESS) return false;
  s->queue = halo_cl.clCreateCommandQueue(s->context, device->id, 0, &code);
  return code == CL_SUCCESS && probe_build(s, asked);
}

void halo_probe_session_close(halo_probe_session *s) {
  if (s->program) halo_cl.clReleaseProgram(s->program);
  if (s->queue) halo_cl.clReleaseCommandQueue(s->queue);
  if (s->context) halo_cl.clReleaseContext(s->context);
}

/* Runs a kernel from one array to another, by so many work items; false: a call fails. */
static bool probe_launch(halo_probe_session *s, const char *name, const void *from,
                         size_t from_size, void *to, size_t to_size, size_t items) {
  cl_int code, codes[2];
  size_t local = probe_items(s);
  while (items % local) local /= 2;
  cl_kernel kernel = halo_cl.clCreateKernel(s->program, name, &code);
  if (code != CL_SUCCESS) return false;
  memset(to, 0xa5, to_size);
  cl_mem in = halo_cl.clCreateBuffer(s->context, CL_MEM_READ_WRITE, from_size, NULL, &codes[0]);
  cl_mem out = halo_cl.clCreateBuffer(s->context, CL_MEM_READ_WRITE, to_size, NULL, &codes[1]);
  bool works = codes[0] == CL_SUCCESS && codes[1] == CL_SUCCESS;
  works = works && halo_cl.clEnqueueWriteBuffer(s->queue, in, CL_TRUE, 0, from_size, from, 0, NULL,
                                                NULL) == CL_SUCCESS;
  works = works && halo_cl.clEnqueueWriteBuffer(s->queue, out, CL_TRUE, 0, to_size, to, 0, NULL,
                                                NULL) == CL_SUCCESS;
  works = works && halo_cl.clSetKernelArg(kernel, 0, sizeof in, &in) == CL_SUCCESS &&
          halo_cl.clSetKernelArg(kernel, 1, sizeof out, &out) == CL_SUCCESS;
  works = works && halo_cl.clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &items, &local, 0,
                                                  NULL, NULL) == CL_SUCCESS;
  works = works && halo_cl.clEnqueueReadBuffer(s->queue, out, CL_TRUE, 0, to_size, to, 0, NULL,
                                               NULL) == CL_SUCCESS;
  works = halo_cl.clFinish(s->queue) == CL_SUCCESS && works;
  if (codes[0] == CL_SUCCESS) halo_cl.clReleaseMemObject(in);
  if (codes[1] == CL_SUCCESS) halo_cl.clReleaseMemObject(out);
  halo_cl.clReleaseKernel(kernel);
  return works;
}

static halo_probe_verdict probe_verdict(bool works, bool right) {
  return !works ? HALO_PROBE_FAILS : right ? HALO_PROBE_RIGHT : HALO_PROBE_WRONG;
}

/* ---- Sums of products in f32 ---- */

enum { PROBE_SUMS = 250 };

/* Numbers whose product is not exact, and what cancels its rounded form; one rounding leaves what two do not. */
static void probe_sums(float *x) {
  uint32_t state = 12345;
  for (int i = 0; i < PROBE_SUMS; i++) {
    float ab[2];
    for (int k = 0; k < 2; k++) {
      state = state * 1664525u + 1013904223u;
      ab[k] = ldexpf(1.0f + (float)(state >> 9 | 1) * 0x1p-23f, (int)(state >> 28) - 8);
    }
    volatile float product = ab[0] * ab[1]; /* rounded here, whatever the compiler likes */
    x[3 * i] = ab[0];
    x[3 * i + 1] = i & 1 ? -ab[1] : ab[1];
    x[3 * i + 2] = i & 1 ? product : -product;
    if (i % 4 >= 2) x[3 * i + 2] *= 1.5f;
  }
}

static halo_probe_verdict probe_ask_fma(halo_probe_session *s) {
  float x[3 * PROBE_SUMS], r[PROBE_SUMS];
  bool right = true;
  probe_sums(x);
  bool works = probe_launch(s, "probe_fma", x, sizeof x, r, sizeof r, PROBE_SUMS);
  for (int i = 0; i < PROBE_SUMS; i++) right &= r[i] == fmaf(x[3 * i], x[3 * i + 1], x[3 * i + 2]);
  return probe_verdict(works, right);
}

/* Two roundings, or anything but one: a wrong sum is no contraction, and every program would show it. */
static halo_probe_verdict probe_ask_contraction(halo_probe_session *s) {
  float x[3 * PROBE_SUMS], r[2 * PROBE_SUMS];
  bool right = true;
  probe_sums(x);
  bool works = probe_launch(s, "probe_contraction", x, sizeof x, r, sizeof r, PROBE_SUMS);
  for (int i = 0; i < 2 * PROBE_SUMS; i++) {
    const float *of = x + i / 2 * 3;
    volatile float product = of[0] * of[1];
    right &= r[i] == product + of[2];
  }
  return probe_verdict(works, right);
}

/* ---- f16 ---- */

static double probe_half_value(uint16_t h) {
  int exponent = h >> 10 & 31, mantissa = h & 1023;
  double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                 : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                : ldexp(mantissa, -24);
  return h >> 15 ? -value : value;
}

/* Rounded to nearest, ties to even; no NaN. */
static uint16_t probe_half_of(double x) {
  double a = fabs(x);
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  if (a >= 65520) return sign | 0x7c00;
  int exponent = a >= 0x1p-14 ? ilogb(a) : -14;
  double steps = rint(ldexp(a, 10 - exponent)); /* ties to even, as the process rounds */
  return sign | (uint16_t)((exponent + 15) * 1024 + (int)steps - 1024);
}

enum { PROBE_HALVES = 1 << 16, PROBE_MANTISSAS = 8, PROBE_STORES = 31 * PROBE_MANTISSAS * 4 * 2 };

static const uint16_t probe_mantissas[PROBE_MANTISSAS] = {0, 1, 2, 3, 511, 512, 1022, 1023};

static bool probe_check_loads(const uint16_t *h, const float *x) {
  bool right = true;
  for (int i = 0; i < PROBE_HALVES; i++) {
    double value = probe_half_value(h[i]);
    bool same =
        isnan(value) ? isnan(x[i]) != 0 : x[i] == (float)value && !signbit(x[i]) == !signbit(value);
    right &= same;
  }
  return right;
}

/* Numbers of f16, those in the middle between two, and those beside the middle. */
static void probe_stores(float *x) {
  for (int i = 0; i < PROBE_STORES; i++) {
    int place = i / 8;
    uint16_t h =
        (uint16_t)(place / PROBE_MANTISSAS << 10 | probe_mantissas[place % PROBE_MANTISSAS]);
    /* 65536 stands behind the largest number. */
    double next = h + 1 == 0x7c00 ? 65536 : probe_half_value((uint16_t)(h + 1));
    float value = (float)probe_half_value(h), middle = (float)((value + next) / 2);
    float chosen = i % 4 == 0   ? value
                   : i % 4 == 1 ? middle
                   : i % 4 == 2 ? nextafterf(middle, 0)
                                : nextafterf(middle, INFINITY);
    x[i] = i % 8 >= 4 ? -chosen : chosen;
  }
}

static halo_probe_verdict probe_ask_conversion(halo_probe_session *s) {
  uint16_t *h = halo_alloc(sizeof *h * PROBE_HALVES);
  float *x = halo_alloc(sizeof *x * PROBE_HALVES);
  for (int i = 0; i < PROBE_HALVES; i++) h[i] = (uint16_t)i;
  bool works = probe_launch(s, "probe_load", h, sizeof *h * PROBE_HALVES, x,
                            sizeof *x * PROBE_HALVES, PROBE_HALVES);
  bool right = works && probe_check_loads(h, x);
  probe_stores(x);
  works = works && probe_launch(s, "probe_store", x, sizeof *x * PROBE_STORES, h,
                                sizeof *h * PROBE_STORES, PROBE_STORES);
  for (int i = 0; i < PROBE_STORES; i++) right &= h[i] == probe_half_of((double)x[i]);
  halo_free(h);
  halo_free(x);
  return probe_verdict(works, right);
}

static bool probe_is_tiny(double x) { return x != 0 && fabs(x) < 0x1p-14; }

/* Sums and products of f16 are exact in f64. */
static bool probe_check_half(halo_probe_session *s, const uint16_t *x, const uint16_t *r,
                             int pairs) {
  bool right = true;
  for (int i = 0; i < 2 * pairs; i++) {
    double a = probe_half_value(x[i / 2 * 2]), b = probe_half_value(x[i / 2 * 2 + 1]);
    double expected = i & 1 ? a * b : a + b;
    if (r[i] == probe_half_of(expected)) continue;
    bool tiny = probe_is_tiny(a) || probe_is_tiny(b) || probe_is_tiny(expected);
    s->flushes_f16 |= tiny;
    right &= tiny;
  }
  return right;
}

enum { PROBE_OPERANDS = 31 * 2, PROBE_PAIRS = PROBE_OPERANDS * PROBE_OPERANDS };

static halo_probe_verdict probe_ask_arithmetic(halo_probe_session *s) {
  uint16_t *x = halo_alloc(sizeof *x * 2 * PROBE_PAIRS),
           *r = halo_alloc(sizeof *r * 2 * PROBE_PAIRS);
  for (int i = 0; i < 2 * PROBE_PAIRS; i++) {
    int operand = i & 1 ? i / 2 % PROBE_OPERANDS : i / 2 / PROBE_OPERANDS;
    uint16_t sign = operand & 1 ? 0x8000 : 0;
    x[i] = sign | (uint16_t)(operand / 2 << 10 | (operand * 173 + 1) % 1024);
  }
  bool works = probe_launch(s, "probe_half", x, sizeof *x * 2 * PROBE_PAIRS, r,
                            sizeof *r * 2 * PROBE_PAIRS, PROBE_PAIRS);
  bool right = works && probe_check_half(s, x, r, PROBE_PAIRS);
  halo_free(x);
  halo_free(r);
  return probe_verdict(works, right);
}

/* ---- Local memory ---- */

static uint32_t probe_local_sum(uint32_t words, uint32_t items, uint32_t item, uint32_t seed) {
  uint32_t sum = 0;
  for (uint32_t i = item; i < words; i += items)
    sum = sum * 31u + ((words - 1 - i) ^ seed) * 2654435761u;
  return sum;
}

static halo_probe_verdict probe_ask_local(halo_probe_session *s) {
  uint32_t seeds[PROBE_GROUPS] = {1, 0x9e3779b9u, 77777777, 0xffffffffu};
  uint32_t r[PROBE_GROUPS * PROBE_ITEMS], items = probe_items(s);
  bool right = true;
  bool works = probe_launch(s, "probe_local", seeds, sizeof seeds, r, sizeof r,
                            (size_t)PROBE_GROUPS * items);
  for (uint32_t i = 0; i < PROBE_GROUPS * items; i++)
    right &= r[i] == probe_local_sum(probe_words(s), items, i % items, seeds[i / items]);
  return probe_verdict(works, right);
}

halo_probe_verdict halo_probe_session_ask(halo_probe_session *session, halo_probe_kind kind) {
  switch (kind) {
    case HALO_PROBE_FMA: return probe_ask_fma(session);
    case HALO_PROBE_CONTRACTION: return probe_ask_contraction(session);
    case HALO_PROBE_CONVERSION: return probe_ask_conversion(session);
    case HALO_PROBE_ARITHMETIC: return probe_ask_arithmetic(session);
    case HALO_PROBE_LOCAL: return probe_ask_local(session);
    case HALO_PROBE_KINDS: break;
  }
  return HALO_PROBE_FAILS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_program_cache.c: device programs: how they are built, remembered, saved and read again. */
#include "base/memory.h"
#include "base/processor.h"
#include "base/strbuf.h"
#include "opencl/pocl.h"
#include "opencl_test.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char good_source[] =
    "__kernel void twice(__global float *a) { a[get_global_id(0)] *= 2.0f; }\n";

static char cache_dir[] = "/tmp/halo-test-program.XXXXXX";

static halo_cl_program_stats program_stats(halo_cl_device *device) {
  halo_cl_program_stats stats;
  halo_cl_program_get_stats(device, &stats);
  return stats;
}

static void cache_set_up(void) {
  strcpy(cache_dir + strlen(cache_dir) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(cache_dir));
}

static void cache_tear_down(void) {
  DIR *folder = opendir(cache_dir);
  for (struct dirent *item; folder && (item = readdir(folder));) {
    unlinkat(dirfd(folder), item->d_name, 0);
  }
  if (folder) closedir(folder);
  rmdir(cache_dir);
}

static halo_cl_device *open_cached(void) {
  return open_device((halo_cl_options){.cache_dir = cache_dir});
}

/* The only file in the cache, or "" when there is none. */
static void cache_file(char *path, size_t size) {
  DIR *folder = opendir(cache_dir);
  int count = 0;
  path[0] = '\0';
  for (struct dirent *item; (item = readdir(folder));) {
    if (item->d_name[0] == '.') continue;
    snprintf(path, size, "%s/%s", cache_dir, item->d_name);
    count++;
  }
  closedir(folder);
  ck_assert_int_le(count, 1);
}

/* Runs `twice` on 1.5. */
static void run_twice(halo_cl_program *program) {
  halo_cl_device *device = program->device;
  halo_cl_block *block;
  cl_kernel kernel;
  float value = 1.5f;
  size_t one = 1;
  ck_assert_int_eq(halo_cl_alloc(device, sizeof value, "a", &block), HALO_OK);
  clEnqueueWriteBuffer(device->queue, block->mem, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
  ck_assert_int_eq(halo_cl_kernel_create(program, "twice", &kernel), HALO_OK);
  clSetKernelArg(kernel, 0, sizeof block->mem, &block->mem);
  ck_assert_int_eq(
      clEnqueueNDRangeKernel(device->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL),
      CL_SUCCESS);
  clEnqueueReadBuffer(device->queue, block->mem, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
  ck_assert_float_eq(value, 3.0f);
  clReleaseKernel(kernel);
  halo_cl_free(block);
}

/* Gets, runs and saves the program on a fresh device; what the cache did is returned. */
static halo_cl_program_stats use_program(const char *source, const char *options) {
  halo_cl_device *device = open_cached();
  halo_cl_program *program;
  halo_status status = halo_cl_program_get(device, source, options, &program);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  run_twice(program);
  halo_cl_program_save(program);
  halo_cl_program_save(program);
  halo_cl_program_release(program);
  halo_cl_program_stats stats = program_stats(device);
  halo_cl_device_release(device);
  return stats;
}

START_TEST(program_memory) {
  halo_cl_device *device = open_device((halo_cl_options){.cache_dir = ""});
  halo_cl_program *a, *b, *c;
  cl_kernel kernel;
  ck_assert_int_eq(halo_cl_program_get(device, good_source, NULL, &a), HALO_OK);
  ck_assert_int_eq(halo_cl_program_get(device, good_source, "", &b), HALO_OK);
  ck_assert_int_eq(halo_cl_program_get(device, good_source, "-DX=1", &c), HALO_OK);
  ck_assert_ptr_eq(a, b);
  ck_assert_ptr_ne(a, c);
  halo_cl_program_release(a);
  run_twice(b);
  halo_cl_program_release(b);
  ck_assert_int_eq(halo_cl_program_get(device, good_source, NULL, &a), HALO_OK);
  halo_cl_program_stats stats = program_stats(device);
  ck_assert_uint_eq(stats.builds, 2);
  ck_assert_uint_eq(stats.memory_hits, 2);
  ck_assert_uint_eq(stats.saved, 0);
  ck_assert_ptr_null(stats.directory);
  ck_assert_int_eq(halo_cl_kernel_create(a, "thrice", &kernel), HALO_DEVICE_ERROR);
  ck_message_has("kernel thrice");
  ck_message_has("CL_INVALID_KERNEL_NAME");
  halo_cl_device_release(device);
  halo_cl_program_release(a);
  halo_cl_program_release(c);
}
END_TEST

START_TEST(program_many) {
  halo_cl_device *device = open_device((halo_cl_options){.device = wave64});
  halo_cl_program *held, *program;
  ck_assert_int_eq(halo_cl_program_get(device, "held", NULL, &held), HALO_OK);
  for (int i = 0; i < 500; i++) {
    char source[16];
    snprintf(source, sizeof source, "%d", i);
    ck_assert_int_eq(halo_cl_program_get(device, source, NULL, &program), HALO_OK);
    halo_cl_program_release(program);
  }
  /* The newest are remembered, as is what is held; the oldest are not. */
  ck_assert_int_eq(halo_cl_program_get(device, "499", NULL, &program), HALO_OK);
  halo_cl_program_release(program);
  ck_assert_uint_eq(program_stats(device).memory_hits, 1);
  ck_assert_int_eq(halo_cl_program_get(device, "held", NULL, &program), HALO_OK);
  ck_assert_ptr_eq(program, held);
  ck_assert_int_eq(halo_cl_program_get(device, "0", NULL, &program), HALO_OK);
  ck_assert_uint_eq(program_stats(device).memory_hits, 2);
  halo_cl_program_release(program);
  halo_cl_program_release(held);
  halo_cl_program_release(held);
  halo_cl_device_release(device);
}
END_TEST

/* A program whose source is a letter, many times. */
static uint64_t use_large_program(halo_cl_device *device, char letter, size_t size) {
  halo_cl_program *program;
  char *source = halo_alloc(size + 1);
  memset(source, letter, size);
  uint64_t hits = program_stats(device).memory_hits;
  ck_assert_int_eq(halo_cl_program_get(device, source, NULL, &program), HALO_OK);
  halo_cl_program_release(program);
  halo_free(source);
  return program_stats(device).memory_hits - hits;
}

START_TEST(program_large) {
  halo_cl_device *device = open_device((halo_cl_options){.device = wave64});
  const size_t size = 400 << 10;
  for (char letter = 'a'; letter < 'f'; letter++) use_large_program(device, letter, size);
  /* Two are remembered, the newest first. */
  ck_assert_uint_eq(use_large_program(device, 'e', size), 1);
  ck_assert_uint_eq(use_large_program(device, 'd', size), 1);
  ck_assert_uint_eq(use_large_program(device, 'c', size), 0);
  /* One is, whatever its size, and nothing beside that. */
  use_large_program(device, 'x', 16 * size);
  ck_assert_uint_eq(use_large_program(device, 'x', 16 * size), 1);
  ck_assert_uint_eq(use_large_program(device, 'c', size), 0);
  halo_cl_device_release(device);
}
END_TEST

START_TEST(program_disk) {
  halo_cl_program_stats stats = use_program(good_source, NULL);
  ck_assert_uint_eq(stats.builds, 1);
  ck_assert_uint_eq(stats.saved, 1);
  ck_assert(!stats.left_to_runtime);
  stats = use_program(good_source, NULL);
  ck_assert_uint_eq(stats.builds, 0);
  ck_assert_uint_eq(stats.disk_hits, 1);
  ck_assert_uint_eq(stats.saved, 0);
  stats = use_program(good_source, "-DX=1");
  ck_assert_uint_eq(stats.builds, 1);
}
END_TEST

typedef enum damage {
  DAMAGE_CUT,
  DAMAGE_EMPTY,
  DAMAGE_FLIP,
  DAMAGE_MAGIC,
  DAMAGE_KEY,
  DAMAGE_LONG,
  DAMAGE_ZERO,
  DAMAGE_COUNT
} damage;

static void damage_file(const char *path, damage how) {
  struct stat about;
  ck_assert_int_eq(stat(path, &about), 0);
  FILE *file = fopen(path, how == DAMAGE_LONG ? "ab" : "r+b");
  switch (how) {
    case DAMAGE_CUT: ck_assert_int_eq(truncate(path, about.st_size / 2), 0); break;
    case DAMAGE_EMPTY: ck_assert_int_eq(truncate(path, 0), 0); break;
    case DAMAGE_FLIP:
      fseek(file, about.st_size * 3 / 4, SEEK_SET);
      fputs("#", file);
      break;
    case DAMAGE_MAGIC: fputs("HALOPRG0", file); break;
    case DAMAGE_KEY:
      fseek(file, 9, SEEK_SET);
      fputs("zz", file);
      break;
    case DAMAGE_LONG: fputs("more", file); break;
    case DAMAGE_ZERO:
      for (long i = 0; i < about.st_size; i++) fputc(0, file);
      break;
    case DAMAGE_COUNT: break;
  }
  fclose(file);
}

START_TEST(program_damaged) {
  char path[512];
  use_program(good_source, NULL);
  cache_file(path, sizeof path);
  ck_assert_str_ne(path, "");
  damage_file(path, (damage)_i);
  halo_cl_program_stats stats = use_program(good_source, NULL);
  ck_assert_uint_eq(stats.damaged, 1);
  ck_assert_uint_eq(stats.builds, 1);
  ck_assert_uint_eq(stats.disk_hits, 0);
  ck_assert_uint_eq(stats.saved, 1);
  stats = use_program(good_source, NULL);
  ck_assert_uint_eq(stats.disk_hits, 1);
  ck_assert_uint_eq(stats.damaged, 0);
}
END_TEST

/* A whole file under the name of another program is not believed. */
START_TEST(program_swapped) {
  char first[512], second[512];
  use_program(good_source, "-DX=1");
  cache_file(first, sizeof first);
  ck_assert_int_eq(rename(first, "/tmp/halo-swapped.bin"), 0);
  use_program(good_source, "-DX=2");
  cache_file(second, sizeof second);
  ck_assert_int_eq(rename("/tmp/halo-swapped.bin", second), 0);
  ck_assert_uint_eq(use_program(good_source, "-DX=2").damaged, 1);
}
END_TEST

/* ---- Builtins ---- */

/* Every form of builtin, and vectors. */
START_TEST(program_builtins) {
  static const char source[] =
      "__kernel void twice(__global float *a, __global uchar *b, __global half *h) {\n"
      "  const size_t i = get_global_id(0);\n"
      "  float4 v = sqrt(vload4(i, a));\n"
      "  int t = isnan(a[1]) + convert_int(max(a[2], 0.0f)) + (int)clz((uchar)3);\n"
      "  vstore_half_rte(vload_half(1, h) + clamp(t, 0, 3), 0, h);\n"
      "  vstore4(v, i, a);\n"
      "  b[i] = mul_hi(rotate(b[0], (uchar)1), popcount(b[1]));\n"
      "  barrier(CLK_GLOBAL_MEM_FENCE);\n"
      "}\n";
  static const char more[] =
      "__kernel void twice(__global int *a) { a[0] = max((int2)(1, 2), a[1]).x + atomic_inc(a + "
      "2); }\n";
  setenv("HALO_CPU", "off",
         1); /* the library's own device has the builtins that its kernels need */
  halo_cl_device *device = open_device((halo_cl_options){.cache_dir = ""});
  bool pocl = strstr(device->caps.platform, "Portable Computing Language");
  halo_cl_program *program;
  ck_assert_int_eq(halo_cl_program_get(device, source, NULL, &program), HALO_OK);
  halo_cl_program_release(program);
  ck_assert_uint_eq(program_stats(device).long_builds, !pocl);
  /* What is not known here comes from the header. */
  ck_assert_int_eq(halo_cl_program_get(device, more, NULL, &program), HALO_OK);
  halo_cl_program_release(program);
  ck_assert_uint_eq(program_stats(device).long_builds, pocl ? 1 : 2);
  ck_assert_uint_eq(program_stats(device).builds, 2);
  halo_cl_device_release(device);
}
END_TEST

/* A name that has a declaration has all those for numbers, and nothing else has one. CPUs have a page to touch. */
START_TEST(program_declarations) {
  halo_strbuf text = {0};
  halo_caps caps = {.has_f64 = true};
  halo_pocl_declare(&text, &caps, "x = sqrt(y) + my_max(sqrt(z)) + convert_int(w); /* vload */");
  ck_assert_ptr_nonnull(strstr(halo_strbuf_text(&text), "float sqrt(float);"));
  ck_assert_ptr_nonnull(strstr(halo_strbuf_text(&text), "double16 sqrt(double16);"));
  ck_assert_ptr_nonnull(strstr(halo_strbuf_text(&text), "int convert_int(double);"));
  ck_assert_ptr_null(strstr(halo_strbuf_text(&text), "max"));
  ck_assert_ptr_null(strstr(halo_strbuf_text(&text), "vload"));
  ck_assert_ptr_null(strstr(halo_strbuf_text(&text), "h_page"));
  halo_strbuf_deinit(&text);
  caps.has_f64 = false;
  caps.is_cpu = true;
  halo_pocl_declare(&text, &caps, "min(a, b)");
  ck_assert_ptr_nonnull(strstr(halo_strbuf_text(&text), "float min(float, float);"));
  ck_assert_ptr_null(strstr(halo_strbuf_text(&text), "double"));
  ck_assert_ptr_nonnull(strstr(halo_strbuf_text(&text), "#define h_touch()"));
  halo_strbuf_deinit(&text);
}
END_TEST

/* Whether the text declares the function of such a type, which a definition of it would contradict. */
static bool is_declared(const halo_strbuf *text, const char *declaration) {
  return strstr(halo_strbuf_text(text), declaration) != NULL;
}

/* On processors whose instructions do what a builtin does, the program has its definition for numbers, and declarations for
 * what that leaves out. Functions of PoCL 4.0's library are not put in place where subnormals are flushed. */
START_TEST(program_definitions) {
  halo_strbuf text = {0};
  halo_caps caps = {.has_f64 = true, .is_cpu = true};
  bool defines = halo_pocl_has_instructions(&caps);
  halo_pocl_declare(&text, &caps,
                    "fma(a, b, c) + isnan(d) + clamp(e, 0, 1) + rotate(f, g) + fmod(h, i)");
  ck_assert(is_declared(&text, "float fma(float, float, float);") == !defines);
  ck_assert(is_declared(&text, "__builtin_fmaf(x, y, z)") == defines);
  ck_assert(is_declared(&text, "int isnan(double);") == !defines);
  ck_assert(is_declared(&text, "int clamp(int, int, int);") == !defines);
  ck_assert(is_declared(&text, "uint rotate(uint, uint);") == !defines);
  ck_assert(is_declared(&text, "float16 fma(float16, float16, float16);"));
  ck_assert(is_declared(&text, "int2 isnan(float2);"));
  ck_assert(is_declared(&text, "float clamp(float, float, float);"));
  ck_assert(is_declared(&text, "int rotate(int, int);"));
  ck_assert(is_declared(&text, "float fmod(float, float);")); /* is a call of the C library */
  halo_strbuf_deinit(&text);
}
END_TEST

/* Of a program with a kernel `bits`: what the definitions of builtins over bits, and of fmod, give. */
static void program_alone_bits(const halo_cl_device *device, const halo_cl_program *program,
                               cl_command_queue queue) {
  cl_uint a[5] = {0x00f0000fu};
  cl_ulong b[5] = {0x000000f00000000ful};
  cl_uchar c[4] = {0x16};
  cl_float d[2] = {-5.5f};
  void *const data[] = {a, b, c, d};
  const size_t sizes[] = {sizeof a, sizeof b, sizeof c, sizeof d}, one = 1;
  cl_mem memory[4];
  cl_int code;
  cl_kernel kernel = clCreateKernel(program->handle, "bits", &code);
  ck_assert_int_eq(code, CL_SUCCESS);
  for (cl_uint i = 0; i < 4; i++) {
    memory[i] = clCreateBuffer(device->context, CL_MEM_COPY_HOST_PTR, sizes[i], data[i], &code);
    clSetKernelArg(kernel, i, sizeof memory[i], &memory[i]);
  }
  ck_assert_int_eq(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL),
                   CL_SUCCESS);
  for (int i = 0; i < 4; i++) {
    ck_assert_int_eq(
        clEnqueueReadBuffer(queue, memory[i], CL_TRUE, 0, sizes[i], data[i], 0, NULL, NULL),
        CL_SUCCESS);
    clReleaseMemObject(memory[i]);
  }
  clReleaseKernel(kernel);
  static const cl_uint narrow[] = {0x00f0000fu, 0x0000f00fu, 8, 8, 32};
  static const cl_ulong wide[] = {0x000000f00000000ful, 0x000f00000000f000ul, 8, 24, 64};
  static const cl_uchar bytes[] = {0x16, 3, 3, 8};
  ck_assert_mem_eq(a, narrow, sizeof a);
  ck_assert_mem_eq(b, wide, sizeof b);
  ck_assert_mem_eq(c, bytes, sizeof c);
  ck_assert_float_eq(d[1], -0.25f);
}

#if defined(__x86_64__)
/* After one program that needs nothing of PoCL's library. Binaries of another form than PoCL 3.1's are seen once. */
static void check_alone(halo_cl_device *device) {
  static const char another[] = "__kernel void another(__global int *a) { a[0] = 2; }\n";
  int major = 0;
  if (sscanf(device->caps.driver, "%d", &major) == 1 && major < 4) {
    ck_assert_uint_eq(program_stats(device).alone_builds, 1);
    return;
  }
  halo_cl_program *program;
  ck_assert_uint_eq(program_stats(device).vain_builds, 1);
  ck_assert_int_eq(halo_cl_program_get(device, another, NULL, &program), HALO_OK);
  ck_assert_uint_eq(program_stats(device).vain_builds, 1);
  halo_cl_program_release(program);
}
#endif

/* Programs whose builtins can be defined do without PoCL's library of them: kernels have their names and parameters,
 * from macros too, and compute. Others are built as ever. So are those that are optimised as kernels only (_i is 1), which
 * are programs of their own. */
START_TEST(program_alone) {
  static const char source[] =
      "static inline float half_of(float x) { return floor(fabs(x)) * 0.5f; }\n"
      "__kernel void first(__global float *a, const int n, ulong last) {\n"
      "  const int i = (int)get_global_id(0);\n"
      "  if (i < n) a[i] = half_of(i + 1.25f) + (float)min(get_group_id(0), last);\n"
      "}\n"
      "#define H_NAME second\n"
      "#define H_PARAMS __global const float *restrict a_, ulong ao, __global float *b_, \\\n  "
      "long bo\n"
      "__kernel void H_NAME(H_PARAMS) { vstore4(vload4(1, a_ + ao), 0, b_ + bo); }\n"
      "#undef H_NAME\n#undef H_PARAMS\n"
      "#define H_LOCAL 1\n"
      "__attribute__((reqd_work_group_size(H_LOCAL, 1, 1))) __kernel void last(__global int *a) {\n"
      "  __local int b[H_LOCAL];\n  b[get_local_id(0)] = 1;\n  barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  a[0] = b[0];\n}\n"
      "__kernel void bits(__global uint *a, __global ulong *b, __global uchar *c, __global float "
      "*d) {\n"
      "#if H_LOCAL > 1\n  __local int e[H_LOCAL];\n  barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  d[1] = sin(d[0]);\n#endif\n"
      "  a[1] = rotate(a[0], (uint)12);\n  a[2] = popcount(a[0]);\n  a[3] = clz(a[0]);\n"
      "  a[4] = clz(a[0] & 0);\n  b[1] = rotate(b[0], (ulong)12);\n  b[2] = popcount(b[0]);\n"
      "  b[3] = clz(b[0]);\n  b[4] = clz(b[0] & 0);\n  c[1] = clz(c[0]);\n"
      "  c[2] = popcount(c[0]);\n  c[3] = clz((uchar)(c[0] & 0));\n"
      "  d[1] = fmod(d[0], 0.75f);\n}\n";
  static const char *const others[] = {
      "__kernel void third(__global float *a) { a[0] = sin(a[1]); }\n",
      "__kernel void third(__global float *a) { __local float b[4]; b[get_local_id(0)] = 1;\n"
      "  barrier(CLK_LOCAL_MEM_FENCE); a[0] = b[1]; }\n",
      "#define H_LOCAL 2\n"
      "__attribute__((reqd_work_group_size(H_LOCAL, 1, 1))) __kernel void third(__global int *a) "
      "{\n"
      "  barrier(CLK_GLOBAL_MEM_FENCE); a[get_local_id(0)] = 0; }\n",
      "void wait(__local int *a) { barrier(CLK_LOCAL_MEM_FENCE); a[0] = 1; }\n"
      "__kernel void third(__global int *a) { a[0] = 1; }\n",
      "__kernel void third(__global int *a, float4 b) { a[0] = b.x; }\n"};
  halo_cl_device *device = open_device((halo_cl_options){.cache_dir = ""});
  bool pocl = strstr(device->caps.platform, "Portable Computing Language");
  halo_cl_program *program;
  const halo_cl_program_use use = {.brief = _i};
  ck_assert_int_eq(halo_cl_program_get_for(device, use, source, NULL, &program), HALO_OK);
  if (pocl && halo_processor_has_avx2()) check_alone(device);
  cl_int code;
  cl_kernel first = clCreateKernel(program->handle, "first", &code);
  ck_assert_int_eq(code, CL_SUCCESS);
  cl_kernel second = clCreateKernel(program->handle, "second", &code);
  ck_assert_int_eq(code, CL_SUCCESS);
  cl_mem a = clCreateBuffer(device->context, CL_MEM_READ_WRITE, 64 * sizeof(float), NULL, &code);
  cl_mem b = clCreateBuffer(device->context, CL_MEM_READ_WRITE, 64 * sizeof(float), NULL, &code);
  cl_int n = 40;
  cl_ulong last = 2, zero = 0;
  clSetKernelArg(first, 0, sizeof a, &a);
  clSetKernelArg(first, 1, sizeof n, &n);
  clSetKernelArg(first, 2, sizeof last, &last);
  clSetKernelArg(second, 0, sizeof a, &a);
  clSetKernelArg(second, 1, sizeof zero, &zero);
  clSetKernelArg(second, 2, sizeof b, &b);
  clSetKernelArg(second, 3, sizeof zero, &zero);
  cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &code);
  size_t items = 48, local = 8, one = 1;
  float got[40], moved[4];
  ck_assert_int_eq(clEnqueueNDRangeKernel(queue, first, 1, NULL, &items, &local, 0, NULL, NULL),
                   CL_SUCCESS);
  ck_assert_int_eq(clEnqueueNDRangeKernel(queue, second, 1, NULL, &one, &one, 0, NULL, NULL),
                   CL_SUCCESS);
  ck_assert_int_eq(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL),
                   CL_SUCCESS);
  ck_assert_int_eq(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof moved, moved, 0, NULL, NULL),
                   CL_SUCCESS);
  for (int i = 0; i < n; i++) {
    ck_assert_float_eq(got[i], (float)(i + 1) * 0.5f + (float)(i / 8 < 2 ? i / 8 : 2));
  }
  for (int i = 0; i < 4; i++) ck_assert_float_eq(moved[i], got[4 + i]);
  program_alone_bits(device, program, queue);
  halo_cl_program *other;
  ck_assert_int_eq(halo_cl_program_get(device, source, NULL, &other), HALO_OK);
  ck_assert((other == program) == !_i);
  halo_cl_program_release(other);
  clReleaseCommandQueue(queue);
  clReleaseMemObject(a);
  clReleaseMemObject(b);
  clReleaseKernel(first);
  clReleaseKernel(second);
  halo_cl_program_release(program);
  uint64_t before = program_stats(device).alone_builds;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    ck_assert_int_eq(halo_cl_program_get_for(device, use, others[i], NULL, &program), HALO_OK);
    ck_assert_uint_eq(program_stats(device).alone_builds, before);
    halo_cl_program_release(program);
  }
  halo_cl_device_release(device);
}
END_TEST

/* A folder that cannot be: saving stops quietly, building goes on. */
START_TEST(program_unwritable) {
  halo_cl_device *device = open_device((halo_cl_options){.cache_dir = "/dev/null/cache"});
  for (int i = 0; i < 5; i++) {
    halo_cl_program *program;
    char options[16];
    snprintf(options, sizeof options, "-DX=%d", i);
    ck_assert_int_eq(halo_cl_program_get(device, good_source, options, &program), HALO_OK);
    halo_cl_program_save(program);
    halo_cl_program_release(program);
  }
  halo_cl_program_stats stats = program_stats(device);
  ck_assert_uint_eq(stats.builds, 5);
  ck_assert_uint_eq(stats.saved, 0);
  ck_assert_uint_eq(stats.save_failures, 3);
  ck_assert_str_eq(stats.directory, "/dev/null/cache");
  halo_cl_device_release(device);
}
END_TEST

/* A file size limit makes writes fail half-way, as a full disk does. PoCL's compiler does not survive
 * that, so there the program is built before; elsewhere building stores at once. */
START_TEST(program_full_disk) {
  char path[512];
  halo_cl_device *device = open_cached();
  halo_cl_program *program;
  bool pocl = strstr(device->caps.platform, "Portable Computing Language");
  struct rlimit limit = {1000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
  if (pocl) ck_assert_int_eq(halo_cl_program_get(device, good_source, NULL, &program), HALO_OK);
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit); /* of Check's own files too, so no checks meanwhile */
  halo_status status = HALO_OK;
  if (!pocl) status = halo_cl_program_get(device, good_source, NULL, &program);
  if (status == HALO_OK) halo_cl_program_save(program);
  setrlimit(RLIMIT_FSIZE, &all);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  halo_cl_program_stats stats = program_stats(device);
  ck_assert_uint_eq(stats.saved, 0);
  ck_assert_uint_eq(stats.save_failures, 1);
  cache_file(path, sizeof path);
  ck_assert_str_eq(path, "");
  run_twice(program);
  halo_cl_program_release(program);
  halo_cl_device_release(device);
}
END_TEST

START_TEST(program_bad_source) {
  static const char source[] =
      "__kernel void k(__global float *a) {\n"
      "  a[0] = 1.0f;\n"
      "  a[0] = undeclared_thing + 1.0f;\n"
      "}\n";
  halo_cl_device *device = open_device((halo_cl_options){.cache_dir = ""});
  halo_cl_program *program;
  ck_assert_int_eq(halo_cl_program_get(device, source, "-DY=2", &program), HALO_DEVICE_ERROR);
  ck_assert_ptr_null(program);
  ck_message_has("CL_BUILD_PROGRAM_FAILURE");
  ck_message_has("-DY=2");
  ck_message_has("undeclared_thing");
  ck_message_has("     3 |   a[0] = undeclared_thing + 1.0f;\n");
  ck_assert_int_eq(halo_cl_program_get(device, good_source, NULL, &program), HALO_OK);
  halo_cl_program_release(program);
  halo_cl_device_release(device);
}
END_TEST

static void *program_worker(void *data) {
  halo_cl_device *device = data;
  for (int i = 0; i < 20; i++) {
    halo_cl_program *program;
    char options[16];
    snprintf(options, sizeof options, "-DX=%d", i % 3);
    ck_assert_int_eq(halo_cl_program_get(device, good_source, options, &program), HALO_OK);
    if (i < 3) run_twice(program);
    halo_cl_program_save(program);
    halo_cl_program_release(program);
  }
  return NULL;
}

START_TEST(program_threads) {
  halo_cl_device *device = open_cached();
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, program_worker, device);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  halo_cl_program_stats stats = program_stats(device);
  ck_assert_uint_eq(stats.save_failures, 0);
  ck_assert_uint_eq(stats.saved, 3);
  halo_cl_device_release(device);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("program_cache");
  TCase *plain = tcase_create("plain");
  tcase_set_timeout(plain, 120);
  tcase_add_test(plain, program_memory);
  tcase_add_test(plain, program_many);
  tcase_add_test(plain, program_large);
  tcase_add_test(plain, program_bad_source);
  tcase_add_test(plain, program_builtins);
  tcase_add_test(plain, program_declarations);
  tcase_add_test(plain, program_definitions);
  tcase_add_test(plain, program_unwritable);
  suite_add_tcase(suite, plain);
  TCase *disk = tcase_create("disk");
  tcase_set_timeout(disk, 120);
  tcase_add_checked_fixture(disk, cache_set_up, cache_tear_down);
  tcase_add_test(disk, program_disk);
  tcase_add_loop_test(disk, program_damaged, 0, DAMAGE_COUNT);
  tcase_add_test(disk, program_swapped);
  tcase_add_test(disk, program_full_disk);
  tcase_add_test(disk, program_threads);
  tcase_add_loop_test(disk, program_alone, 0, 2);
  suite_add_tcase(suite, disk);
  return suite_run(suite);
}

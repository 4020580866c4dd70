/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/record.c: a library for LD_PRELOAD, before OpenCL's loader, used by tools/dev simulate. It writes each kernel's first
 * launch to the folder HALO_RECORD_TO: the program's text with its options (PROGRAM.cl), the launch and its arguments
 * (PROGRAM.KERNEL.launch), and the bytes of all buffers before and after (PROGRAM.KERNEL.before, .after). Launches of more
 * than HALO_RECORD_ITEMS work items, or whose buffers have more than HALO_RECORD_BYTES bytes, are written without these bytes;
 * a later and smaller launch of the same kernel replaces one of them. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_MAX_ARGS = 512, RECORD_MAX_VALUE = 64, RECORD_TABLE = 1 << 16 };

typedef struct {
  size_t size;
  bool is_local;
  unsigned char value[RECORD_MAX_VALUE];
} record_arg;

/* A program: what it was made from. */
typedef struct {
  char *text, *options;
  uint64_t hash; /* of both */
} record_program;

/* A kernel: its arguments as they were last set. */
typedef struct {
  const record_program *program;
  char name[256];
  size_t count;
  record_arg args[RECORD_MAX_ARGS];
  bool done;
} record_kernel;

/* OpenCL's objects and what belongs to them. An object that takes a released one's address replaces it. */
typedef struct {
  const void *object;
  void *value;
} record_entry;

static record_entry record_programs[RECORD_TABLE], record_kernels[RECORD_TABLE],
    record_buffers[RECORD_TABLE];
static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;

static void record_fail(const char *what, const char *which) {
  fprintf(stderr, "simulate/record: %s %s\n", what, which);
  abort();
}

static void *record_find(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) record_fail("there is no", name);
  return function;
}

/* The implementation's function of this name. */
#define REAL(name) ((__typeof__(&name))record_find(#name))

static void record_check(cl_int code, const char *what) {
  if (code != CL_SUCCESS) record_fail("an error of", what);
}

/* The place of an object in a table, free or its own. */
static record_entry *record_place(record_entry *table, const void *object) {
  size_t at = ((uintptr_t)object >> 4) % RECORD_TABLE;
  for (size_t i = 0; i < RECORD_TABLE; i++, at = (at + 1) % RECORD_TABLE) {
    if (!table[at].object || table[at].object == object) return &table[at];
  }
  record_fail("more objects than", "the table has places");
  return NULL;
}

static void record_put(record_entry *table, const void *object, void *value) {
  if (!object) return;
  pthread_mutex_lock(&record_lock);
  *record_place(table, object) = (record_entry){object, value};
  pthread_mutex_unlock(&record_lock);
}

static void *record_get(record_entry *table, const void *object) {
  pthread_mutex_lock(&record_lock);
  void *value = record_place(table, object)->value;
  pthread_mutex_unlock(&record_lock);
  return value;
}

static size_t record_limit(const char *name, size_t otherwise) {
  const char *value = getenv(name);
  return value ? strtoull(value, NULL, 10) : otherwise;
}

static FILE *record_open(const record_kernel *kernel, const char *what) {
  char path[1024];
  if (strcmp(what, "cl") == 0) {
    snprintf(path, sizeof path, "%s/%016llx.cl", getenv("HALO_RECORD_TO"),
             (unsigned long long)kernel->program->hash);
  } else {
    snprintf(path, sizeof path, "%s/%016llx.%s.%s", getenv("HALO_RECORD_TO"),
             (unsigned long long)kernel->program->hash, kernel->name, what);
  }
  FILE *file = fopen(path, "wb");
  if (!file) record_fail("cannot write", path);
  return file;
}

static bool record_exists(const record_kernel *kernel) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%016llx.%s.after", getenv("HALO_RECORD_TO"),
           (unsigned long long)kernel->program->hash, kernel->name);
  return access(path, R_OK) == 0;
}

/* FNV-1a. */
static uint64_t record_hash(uint64_t hash, const char *text) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                               void *host, cl_int *result) {
  cl_mem buffer = REAL(clCreateBuffer)(context, flags, size, host, result);
  record_put(record_buffers, buffer, buffer);
  return buffer;
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count,
                                                              const char **texts,
                                                              const size_t *sizes, cl_int *result) {
  record_program *program = calloc(1, sizeof *program);
  size_t size = 0;
  FILE *text = open_memstream(&program->text, &size);
  /* Where compilers may contract products and sums, each does it its own way. */
  fputs("#pragma OPENCL FP_CONTRACT OFF\n", text);
  for (cl_uint i = 0; i < count; i++) {
    fwrite(texts[i], 1, sizes && sizes[i] ? sizes[i] : strlen(texts[i]), text);
  }
  fclose(text);
  cl_program made =
      REAL(clCreateProgramWithSource)(context, 1, (const char **)&program->text, NULL, result);
  record_put(record_programs, made, program);
  return made;
}

CL_API_ENTRY cl_int CL_API_CALL clBuildProgram(cl_program made, cl_uint count,
                                               const cl_device_id *devices, const char *options,
                                               void(CL_CALLBACK *then)(cl_program, void *),
                                               void *data) {
  record_program *program = record_get(record_programs, made);
  if (program && !program->options) {
    program->options = strdup(options ? options : "");
    program->hash = record_hash(record_hash(0xcbf29ce484222325u, program->text), program->options);
  }
  return REAL(clBuildProgram)(made, count, devices, options, then, data);
}

CL_API_ENTRY cl_kernel CL_API_CALL clCreateKernel(cl_program made, const char *name,
                                                  cl_int *result) {
  cl_kernel created = REAL(clCreateKernel)(made, name, result);
  record_kernel *kernel = calloc(1, sizeof *kernel);
  kernel->program = record_get(record_programs, made);
  snprintf(kernel->name, sizeof kernel->name, "%s", name);
  record_put(record_kernels, created, kernel);
  return created;
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArg(cl_kernel created, cl_uint i, size_t size,
                                               const void *value) {
  record_kernel *kernel = record_get(record_kernels, created);
  if (kernel) {
    if (i >= RECORD_MAX_ARGS || (value && size > RECORD_MAX_VALUE)) {
      record_fail("more arguments than are kept, in", kernel->name);
    }
    if (i >= kernel->count) kernel->count = i + 1;
    kernel->args[i].size = size;
    kernel->args[i].is_local = !value;
    if (value) memcpy(kernel->args[i].value, value, size);
  }
  return REAL(clSetKernelArg)(created, i, size, value);
}

/* The buffer that is an argument, or NULL. */
static cl_mem record_buffer_of(const record_arg *arg) {
  cl_mem buffer;
  if (arg->is_local || arg->size != sizeof buffer) return NULL;
  memcpy(&buffer, arg->value, sizeof buffer);
  return buffer ? record_get(record_buffers, buffer) : NULL;
}

/* The different buffers among the arguments; returns their bytes together. */
static size_t record_list(const record_kernel *kernel, cl_mem *buffers, size_t *sizes,
                          size_t *count) {
  size_t bytes = 0;
  *count = 0;
  for (size_t i = 0; i < kernel->count; i++) {
    cl_mem buffer = record_buffer_of(&kernel->args[i]);
    size_t at = 0;
    while (at < *count && buffers[at] != buffer) at++;
    if (!buffer || at < *count) continue;
    buffers[at] = buffer;
    record_check(REAL(clGetMemObjectInfo)(buffer, CL_MEM_SIZE, sizeof(size_t), &sizes[at], NULL),
                 "clGetMemObjectInfo");
    bytes += sizes[at];
    (*count)++;
  }
  return bytes;
}

static void record_bytes(const record_kernel *kernel, const char *what, cl_command_queue queue,
                         const cl_mem *buffers, const size_t *sizes, size_t count) {
  FILE *file = record_open(kernel, what);
  for (size_t i = 0; i < count; i++) {
    void *data = malloc(sizes[i] + 1);
    record_check(
        REAL(clEnqueueReadBuffer)(queue, buffers[i], CL_TRUE, 0, sizes[i], data, 0, NULL, NULL),
        "clEnqueueReadBuffer");
    fwrite(data, 1, sizes[i], file);
    free(data);
  }
  fclose(file);
}

static void record_launch(const record_kernel *kernel, const size_t *offset, const size_t *global,
                          const size_t *local, cl_uint dims, const cl_mem *buffers,
                          const size_t *sizes, size_t count) {
  FILE *file = record_open(kernel, "launch");
  fprintf(file, "kernel %s\n", kernel->name);
  const size_t *const numbers[] = {offset, global, local};
  static const char *const names[] = {"offset", "global", "local"};
  for (int k = 0; k < 3; k++) {
    fprintf(file, "%s", names[k]);
    for (cl_uint d = 0; d < 3; d++) {
      fprintf(file, " %zu", d < dims && numbers[k] ? numbers[k][d] : k == 0 ? 0 : (size_t)1);
    }
    fprintf(file, "\n");
  }
  for (size_t i = 0; i < count; i++) fprintf(file, "buffer %zu\n", sizes[i]);
  for (size_t i = 0; i < kernel->count; i++) {
    const record_arg *arg = &kernel->args[i];
    cl_mem buffer = record_buffer_of(arg);
    if (buffer) {
      size_t at = 0;
      while (buffers[at] != buffer) at++;
      fprintf(file, "arg buffer %zu\n", at);
    } else if (arg->is_local) {
      fprintf(file, "arg local %zu\n", arg->size);
    } else {
      fprintf(file, "arg value ");
      for (size_t b = 0; b < arg->size; b++) fprintf(file, "%02x", arg->value[b]);
      fprintf(file, "\n");
    }
  }
  fclose(file);
  file = record_open(kernel, "cl");
  fprintf(file, "/* options: %s */\n%s", kernel->program->options, kernel->program->text);
  fclose(file);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel created,
                                                       cl_uint dims, const size_t *offset,
                                                       const size_t *global, const size_t *local,
                                                       cl_uint waits, const cl_event *list,
                                                       cl_event *event) {
  record_kernel *kernel = record_get(record_kernels, created);
  /* The names of kernels of programs begin with their unit; others try out what a driver does. */
  bool wanted = kernel && kernel->name[0] == 'u' && kernel->program && kernel->program->options;
  if (!wanted || kernel->done || record_exists(kernel)) {
    return REAL(clEnqueueNDRangeKernel)(queue, created, dims, offset, global, local, waits, list,
                                        event);
  }
  static cl_mem buffers[RECORD_MAX_ARGS];
  static size_t sizes[RECORD_MAX_ARGS];
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&one);
  size_t count, items = 1, bytes = record_list(kernel, buffers, sizes, &count);
  for (cl_uint d = 0; d < dims; d++) items *= global[d];
  bool whole = items <= record_limit("HALO_RECORD_ITEMS", 4096) &&
               bytes <= record_limit("HALO_RECORD_BYTES", (size_t)1 << 24);
  record_launch(kernel, offset, global, local, dims, buffers, sizes, count);
  if (whole) {
    if (waits) record_check(REAL(clWaitForEvents)(waits, list), "clWaitForEvents");
    record_check(REAL(clFinish)(queue), "clFinish");
    record_bytes(kernel, "before", queue, buffers, sizes, count);
  }
  cl_int code =
      REAL(clEnqueueNDRangeKernel)(queue, created, dims, offset, global, local, waits, list, event);
  if (whole && code == CL_SUCCESS) {
    record_check(REAL(clFinish)(queue), "clFinish");
    record_bytes(kernel, "after", queue, buffers, sizes, count);
    kernel->done = true;
  }
  pthread_mutex_unlock(&one);
  return code;
}

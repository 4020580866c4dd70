/* SPDX-License-Identifier: Apache-2.0 */
/* compiler/main.c: a program that has PoCL compile kernels for another process, into the cache that both use.
 *
 * PoCL compiles a kernel when it is first launched, under one lock; so a process compiles one at a time, however many
 * cores there are. What it compiled it keeps in files. This program is given binaries of programs and the kernels in
 * them that will be launched, and launches each so that PoCL compiles it and does not run it: on the driver "basic",
 * which compiles where a launch is queued, behind an event that never happens. (One that fails will not do: PoCL 3.1
 * frees such a launch and keeps it in a list.) The other process finds the files.
 *
 * It is started by the library (lib/opencl/ahead.c), trusts what comes through its socket alone, and ends with it. */
#include "compiler/messages.h"

#include <CL/cl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct compiler {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_event gate; /* never happens, so that what waits for it never begins */
  char identity[HALO_COMPILER_DEVICE_SIZE]; /* of the device, in binaries */
  cl_program programs[HALO_COMPILER_PROGRAMS];
} compiler;

enum { COMPILER_PLATFORMS = 32, COMPILER_TEXT = 256, COMPILER_SIZE_MAX = 1 << 30 };

/* ---- The device ---- */

static bool compiler_find_platform(const char *version, cl_platform_id *out) {
  cl_platform_id platforms[COMPILER_PLATFORMS];
  cl_uint count = 0;
  if (clGetPlatformIDs(COMPILER_PLATFORMS, platforms, &count) != CL_SUCCESS) return false;
  for (cl_uint i = 0; i < count && i < COMPILER_PLATFORMS; i++) {
    char text[COMPILER_TEXT] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_VERSION, sizeof text - 1, text, NULL);
    *out = platforms[i];
    if (strncmp(text, version, strlen(version)) == 0) return true;
  }
  return false;
}

/* A binary names the device that it is for, by a number that is read from one of an empty program. */
static bool compiler_learn_identity(compiler *c) {
  static const char *source = "";
  cl_int code;
  size_t size = 0;
  cl_program program = clCreateProgramWithSource(c->context, 1, &source, NULL, &code);
  if (!program) return false;
  code = clCompileProgram(program, 1, &c->device, "-D_OPENCL_H_", 0, NULL, NULL, NULL, NULL);
  if (code == CL_SUCCESS) {
    code = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
  }
  bool good = code == CL_SUCCESS && size >= HALO_COMPILER_DEVICE_AT + sizeof c->identity;
  unsigned char *binary = good ? malloc(size) : NULL;
  good = binary &&
         clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS;
  if (good) memcpy(c->identity, binary + HALO_COMPILER_DEVICE_AT, sizeof c->identity);
  free(binary);
  clReleaseProgram(program);
  return good;
}

static bool compiler_open(compiler *c, const char *version) {
  cl_platform_id platform;
  cl_int code;
  if (!compiler_find_platform(version, &platform) ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &c->device, NULL) != CL_SUCCESS) {
    return false;
  }
  c->context = clCreateContext(NULL, 1, &c->device, NULL, NULL, &code);
  if (code == CL_SUCCESS) c->queue = clCreateCommandQueue(c->context, c->device, 0, &code);
  if (code == CL_SUCCESS) c->gate = clCreateUserEvent(c->context, &code);
  return code == CL_SUCCESS && compiler_learn_identity(c);
}

/* ---- Kernels ---- */

static bool compiler_set_program(compiler *c, uint32_t place, unsigned char *binary, size_t size,
                                 const char *options) {
  const unsigned char *bytes = binary;
  cl_int fit, code;
  if (c->programs[place]) clReleaseProgram(c->programs[place]);
  c->programs[place] = NULL;
  if (size < HALO_COMPILER_DEVICE_AT + sizeof c->identity) return false;
  memcpy(binary + HALO_COMPILER_DEVICE_AT, c->identity, sizeof c->identity);
  cl_program program =
      clCreateProgramWithBinary(c->context, 1, &c->device, &size, &bytes, &fit, &code);
  if (code == CL_SUCCESS) code = fit;
  if (code == CL_SUCCESS) code = clBuildProgram(program, 1, &c->device, options, NULL, NULL);
  if (code == CL_SUCCESS) {
    c->programs[place] = program;
  } else if (program) {
    clReleaseProgram(program);
  }
  return code == CL_SUCCESS;
}

static bool compiler_set_arguments(cl_kernel kernel, const unsigned char *sizes, uint32_t count) {
  static const cl_ulong zeros[2];
  cl_int code = CL_SUCCESS;
  for (uint32_t a = 0; a < count && code == CL_SUCCESS; a++) {
    if (sizes[a] > sizeof zeros) return false;
    code = sizes[a] == HALO_COMPILER_POINTER ? clSetKernelArg(kernel, a, sizeof(cl_mem), NULL)
                                             : clSetKernelArg(kernel, a, sizes[a], zeros);
  }
  return code == CL_SUCCESS;
}

/* The launch waits for the gate. */
static bool compiler_launch(compiler *c, cl_kernel kernel, const halo_compiler_request *request) {
  size_t global[HALO_COMPILER_DIMS], local[HALO_COMPILER_DIMS];
  for (int d = 0; d < HALO_COMPILER_DIMS; d++) {
    global[d] = request->global[d];
    local[d] = request->local[d];
  }
  return clEnqueueNDRangeKernel(c->queue, kernel, request->dims, NULL, global, local, 1, &c->gate,
                                NULL) == CL_SUCCESS;
}

static bool compiler_compile(compiler *c, const halo_compiler_request *request, const char *name,
                             const unsigned char *arguments) {
  cl_int code;
  if (!c->programs[request->place]) return false;
  cl_kernel kernel = clCreateKernel(c->programs[request->place], name, &code);
  if (code != CL_SUCCESS) return false;
  bool good = compiler_set_arguments(kernel, arguments, request->argument_count) &&
              compiler_launch(c, kernel, request);
  clReleaseKernel(kernel);
  return good;
}

/* ---- Requests ---- */

static bool compiler_receive(void *data, size_t size) {
  for (char *at = data; size > 0;) {
    ssize_t got = recv(HALO_COMPILER_SOCKET, at, size, MSG_WAITALL);
    if (got <= 0) return false;
    at += got;
    size -= (size_t)got;
  }
  return true;
}

/* So many bytes and a zero behind them; NULL at the end of the requests. */
static void *compiler_receive_new(uint32_t size) {
  char *data = size <= COMPILER_SIZE_MAX ? malloc((size_t)size + 1) : NULL;
  if (data && compiler_receive(data, size)) {
    data[size] = 0;
    return data;
  }
  free(data);
  return NULL;
}

/* False at the end of the requests. */
static bool compiler_serve(compiler *c) {
  halo_compiler_request request;
  if (!compiler_receive(&request, sizeof request) || request.place >= HALO_COMPILER_PROGRAMS ||
      request.dims < 1 || request.dims > HALO_COMPILER_DIMS) {
    return false;
  }
  unsigned char *binary = compiler_receive_new(request.binary_size);
  char *options = binary ? compiler_receive_new(request.options_size) : NULL;
  char *name = options ? compiler_receive_new(request.name_size) : NULL;
  unsigned char *arguments = name ? compiler_receive_new(request.argument_count) : NULL;
  bool good = arguments != NULL;
  if (good) {
    bool known = request.binary_size == 0 ||
                 compiler_set_program(c, request.place, binary, request.binary_size, options);
    bool done = known && compiler_compile(c, &request, name, arguments);
    char answer = done ? HALO_COMPILER_DONE : HALO_COMPILER_FAILED;
    good = send(HALO_COMPILER_SOCKET, &answer, 1, MSG_NOSIGNAL) == 1;
  }
  free(binary);
  free(options);
  free(name);
  free(arguments);
  return good;
}

/* PoCL has each file that it writes brought to the disk, but for a kernel's library, which its linker writes: so what is
 * lost with the machine's power is no less without, and each takes as long as the disk does. This stands in the place of the
 * C library's function in all of this process. */
__attribute__((visibility("default"))) int fdatasync(int file) {
  (void)file;
  return 0;
}

/* What the process that started this one has open is none of this one's business. */
static void compiler_close_others(void) {
#ifdef SYS_close_range
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
#endif
}

/* Kernels are linked by a program of ours (lib/linker) where it is found: clang asks this variable first. */
static void compiler_choose_linker(void) {
  /* As installed, and in a build folder. */
  static const char *const places[] = {"/linker", "/../linker"};
  char own[PATH_MAX], folder[PATH_MAX + 32], path[PATH_MAX + 64], all[2 * PATH_MAX + 64];
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  const char *others = getenv("COMPILER_PATH");
  if (length <= 0) return;
  own[length] = 0;
  *strrchr(own, '/') = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(folder, sizeof folder, "%s%s", own, places[i]);
    snprintf(path, sizeof path, "%s/ld", folder);
    if (access(path, X_OK) != 0) continue;
    int size = snprintf(all, sizeof all, "%s%s%s", folder, others ? ":" : "", others ? others : "");
    if (size < (int)sizeof all) setenv("COMPILER_PATH", all, 1);
    return;
  }
}

int main(int count, char **words) {
  compiler c = {0};
  compiler_close_others();
  compiler_choose_linker();
  if (count != 2 || !compiler_open(&c, words[1])) return EXIT_FAILURE;
  while (compiler_serve(&c)) {}
  /* Without the end of OpenCL's library, which waits for what was never run. */
  _exit(EXIT_SUCCESS);
}

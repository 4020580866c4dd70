/* SPDX-License-Identifier: Apache-2.0 */
/* unit/vendor_limits.h: the OpenCL driver at hand with another vendor's limits: what that vendor's driver refuses is refused. Included
 * once by a test program, whose definitions of these functions come before those of the OpenCL library. */
#ifndef HALO_TESTS_VENDOR_LIMITS_H
#define HALO_TESTS_VENDOR_LIMITS_H

#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *vendor_name;   /* CL_DEVICE_VENDOR; NULL: the driver's own */
static size_t vendor_groups_most; /* groups along y and along z of a launch; 0: any number */
static size_t vendor_allocation;  /* CL_DEVICE_MAX_MEM_ALLOC_SIZE; 0: the driver's own; */
static cl_ulong vendor_memory;    /* CL_DEVICE_GLOBAL_MEM_SIZE; 0: the driver's own */
static cl_bool vendor_enforces;   /* larger blocks are refused, */
static cl_bool vendor_is_intel;   /* but those with Intel's flag are not */
static cl_int vendor_touch_state; /* of commands that write one byte; 0: as they end */
static const char
    *vendor_option; /* that programs are to be built with, and the driver does not know */
static atomic_int vendor_with_option; /* programs built with it, */
static atomic_int vendor_with_flag;   /* and blocks made with Intel's flag */
static atomic_int vendor_touches;     /* commands that wrote one byte */
static int
    vendor_deadly_launch;      /* which launch, from 1 on, the context does not survive; 0: none */
static atomic_int vendor_maps; /* of memory, made so far */
static atomic_int vendor_short_reads; /* of 4 bytes at most, */
static atomic_int vendor_pinned;      /* and those of them that go to memory which was mapped */
static cl_bool vendor_builds_nothing; /* and does not say why */
static const char *vendor_refused;    /* text with which programs do not build; NULL: none */
static unsigned vendor_words;         /* of local memory that programs may define; 0: any number */
static atomic_int vendor_probes;      /* programs of probes that were built */
static const char *vendor_deadly;     /* the kernel that the context does not survive, or, */
static cl_bool vendor_ends;           /* the process; NULL: none */
static const char *vendor_extension;  /* that the driver states, too; NULL: none */
static size_t vendor_spoils;          /* blocking reads of so many bytes give something else */
static atomic_int vendor_launches;    /* made so far, */
static atomic_int vendor_with_offset; /* and those of them that have an offset */
static double vendor_group_seconds; /* that a launch takes for each of its groups; 0: as it does */
static double
    vendor_factor; /* by which a region takes longer than its text counts; 0: as it does */
static cl_bool
    vendor_later; /* launches that take such a time do so in the queue; else the call does */
static double vendor_watchdog; /* seconds of a launch that the context does not survive; 0: any */
static double vendor_longest;  /* of the launches that took a time of these */

/* The library calls what the process has, before it opens a loader; so the program links one. */
__attribute__((used)) static cl_int (*const vendor_link)(cl_uint, cl_platform_id *,
                                                         cl_uint *) = clGetPlatformIDs;

/* The OpenCL library's own function. */
#define VENDOR_REAL(name, ...) (((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__))

/* The library finds them among what the program exports. */
#pragma GCC visibility push(default)

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out,
                       size_t *length) {
  if (what == CL_DEVICE_EXTENSIONS && vendor_extension) {
    char text[4096];
    cl_int code = VENDOR_REAL(clGetDeviceInfo, device, what, sizeof text - 64, text, NULL);
    strcat(strcat(text, " "), vendor_extension);
    if (length) *length = strlen(text) + 1;
    if (out) memcpy(out, text, strlen(text) + 1);
    return code;
  }
  if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE && vendor_allocation) {
    if (length) *length = sizeof(cl_ulong);
    if (out) *(cl_ulong *)out = vendor_allocation;
    return CL_SUCCESS;
  }
  if (what == CL_DEVICE_GLOBAL_MEM_SIZE && vendor_memory) {
    if (length) *length = sizeof(cl_ulong);
    if (out) *(cl_ulong *)out = vendor_memory;
    return CL_SUCCESS;
  }
  if (what != CL_DEVICE_VENDOR || !vendor_name) {
    return VENDOR_REAL(clGetDeviceInfo, device, what, size, out, length);
  }
  size_t bytes = strlen(vendor_name) + 1;
  if (length) *length = bytes;
  if (out && size < bytes) return CL_INVALID_VALUE;
  if (out) memcpy(out, vendor_name, bytes);
  return CL_SUCCESS;
}

static _Atomic(cl_context) vendor_dead;

/* The last number of 8 bytes that a kernel got, behind all others: of a region, when it is to leave. */
static struct {
  cl_kernel kernel;
  cl_uint index;
  cl_long value;
} vendor_numbers[64];
static int vendor_number_count;

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
  int i = 0;
  while (i < vendor_number_count && vendor_numbers[i].kernel != kernel) i++;
  if (size == sizeof(cl_long) && value && i < 64 &&
      (i == vendor_number_count || index >= vendor_numbers[i].index)) {
    vendor_numbers[i].kernel = kernel;
    vendor_numbers[i].index = index;
    memcpy(&vendor_numbers[i].value, value, size);
    if (i == vendor_number_count) vendor_number_count++;
  }
  return VENDOR_REAL(clSetKernelArg, kernel, index, size, value);
}

/* The time of a launch, as the test says. */
static double vendor_model(cl_kernel kernel, cl_uint dims, const size_t *global,
                           const size_t *local) {
  double seconds = vendor_group_seconds;
  for (cl_uint d = 0; d < dims; d++) seconds *= (double)(global[d] / (local ? local[d] : 1));
  for (int i = 0; i < vendor_number_count && vendor_factor > 0; i++) {
    if (vendor_numbers[i].kernel != kernel) continue;
    seconds = (double)vendor_numbers[i].value * 1e-9 * vendor_factor;
  }
  if (seconds > vendor_longest) vendor_longest = seconds;
  return seconds;
}

typedef struct vendor_delay {
  cl_event end;
  double seconds;
} vendor_delay;

static void *vendor_end_delay(void *data) {
  vendor_delay *delay = data;
  usleep((useconds_t)(delay->seconds * 1e6));
  VENDOR_REAL(clSetUserEventStatus, delay->end, CL_COMPLETE);
  VENDOR_REAL(clReleaseEvent, delay->end);
  free(delay);
  return NULL;
}

/* The next commands wait on the queue. */
static void vendor_begin_delay(cl_command_queue queue, double seconds) {
  cl_context context;
  pthread_t thread;
  vendor_delay *delay = malloc(sizeof *delay);
  VENDOR_REAL(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  delay->seconds = seconds;
  delay->end = VENDOR_REAL(clCreateUserEvent, context, NULL);
  VENDOR_REAL(clEnqueueBarrierWithWaitList, queue, 1, &delay->end, NULL);
  pthread_create(&thread, NULL, vendor_end_delay, delay);
  pthread_detach(thread);
}

/* A new context may lie where a dead one was. */
cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *user, cl_int *code) {
  cl_context context = VENDOR_REAL(clCreateContext, properties, count, devices, notify, user, code);
  cl_context dead = context;
  atomic_compare_exchange_strong(&vendor_dead, &dead, NULL);
  return context;
}

static cl_bool vendor_is_dead(cl_command_queue queue) {
  cl_context context = NULL;
  cl_context dead = atomic_load(&vendor_dead);
  return dead &&
         VENDOR_REAL(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, sizeof context, &context,
                     NULL) == CL_SUCCESS &&
         context == dead;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint count, const cl_event *list, cl_event *event) {
  if (vendor_is_dead(queue)) return CL_INVALID_COMMAND_QUEUE;
  for (cl_uint d = 1; d < dims && vendor_groups_most; d++) {
    if (global[d] / (local ? local[d] : 1) > vendor_groups_most) return CL_INVALID_GLOBAL_WORK_SIZE;
  }
  int number = atomic_fetch_add(&vendor_launches, 1) + 1;
  if (offset) atomic_fetch_add(&vendor_with_offset, 1);
  double seconds = vendor_model(kernel, dims, global, local);
  if (vendor_later && seconds > 0) vendor_begin_delay(queue, seconds);
  cl_int code = VENDOR_REAL(clEnqueueNDRangeKernel, queue, kernel, dims, offset, global, local,
                            count, list, event);
  if (!vendor_later) usleep((useconds_t)(seconds * 1e6));
  char name[64] = "";
  VENDOR_REAL(clGetKernelInfo, kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
  bool deadly = vendor_deadly && strcmp(name, vendor_deadly) == 0;
  if (deadly && vendor_ends) _exit(0);
  if (deadly || number == vendor_deadly_launch ||
      (vendor_watchdog > 0 && seconds > vendor_watchdog)) {
    cl_context context;
    VENDOR_REAL(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    atomic_store(&vendor_dead, context);
  }
  return code;
}

enum { VENDOR_MAPS = 256 };
static const char *vendor_mapped[VENDOR_MAPS]; /* by number of the map */
static size_t vendor_mapped_size[VENDOR_MAPS];

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint count, const cl_event *list,
                         cl_event *event, cl_int *code) {
  char *mapped = VENDOR_REAL(clEnqueueMapBuffer, queue, mem, wait, flags, offset, size, count, list,
                             event, code);
  int number = atomic_fetch_add(&vendor_maps, 1) % VENDOR_MAPS;
  vendor_mapped[number] = mapped;
  vendor_mapped_size[number] = size;
  return mapped;
}

static void vendor_note_read(const char *to, size_t size) {
  if (size > 4) return;
  atomic_fetch_add(&vendor_short_reads, 1);
  cl_bool pinned = CL_FALSE;
  for (int i = 0; i < VENDOR_MAPS; i++) {
    pinned |= vendor_mapped[i] && to >= vendor_mapped[i] &&
              to + size <= vendor_mapped[i] + vendor_mapped_size[i];
  }
  atomic_fetch_add(&vendor_pinned, pinned);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, cl_bool wait, size_t offset,
                           size_t size, void *to, cl_uint count, const cl_event *list,
                           cl_event *event) {
  if (vendor_is_dead(queue)) return CL_INVALID_COMMAND_QUEUE;
  vendor_note_read(to, size);
  cl_int code =
      VENDOR_REAL(clEnqueueReadBuffer, queue, from, wait, offset, size, to, count, list, event);
  if (wait && size == vendor_spoils) memset(to, 1, 64);
  return code;
}

cl_int clFinish(cl_command_queue queue) {
  cl_int code = VENDOR_REAL(clFinish, queue);
  return vendor_is_dead(queue) ? CL_OUT_OF_RESOURCES : code;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                      cl_int *code) {
  const cl_mem_flags unrestricted = 1 << 23; /* CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL */
  cl_bool free_size = vendor_is_intel && (flags & unrestricted);
  if (vendor_enforces && size > vendor_allocation && !free_size) {
    *code = CL_INVALID_BUFFER_SIZE;
    return NULL;
  }
  if (free_size) {
    atomic_fetch_add(&vendor_with_flag, 1);
    flags &= ~unrestricted;
  }
  return VENDOR_REAL(clCreateBuffer, context, flags, size, host, code);
}

static _Atomic(cl_event) vendor_touch; /* the last of these commands */

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, cl_bool wait, size_t offset,
                            size_t size, const void *from, cl_uint count, const cl_event *list,
                            cl_event *event) {
  if (vendor_is_dead(queue)) return CL_INVALID_COMMAND_QUEUE;
  cl_int code =
      VENDOR_REAL(clEnqueueWriteBuffer, queue, to, wait, offset, size, from, count, list, event);
  if (size == 1) atomic_fetch_add(&vendor_touches, 1);
  if (size == 1 && event) atomic_store(&vendor_touch, *event);
  return code;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *out, size_t *length) {
  cl_int code = VENDOR_REAL(clGetEventInfo, event, what, size, out, length);
  if (vendor_touch_state && what == CL_EVENT_COMMAND_EXECUTION_STATUS &&
      event == atomic_load(&vendor_touch)) {
    *(cl_int *)out = vendor_touch_state;
  }
  cl_context context = NULL, dead = atomic_load(&vendor_dead);
  if (dead && what == CL_EVENT_COMMAND_EXECUTION_STATUS &&
      VENDOR_REAL(clGetEventInfo, event, CL_EVENT_CONTEXT, sizeof context, &context, NULL) ==
          CL_SUCCESS &&
      context == dead && *(cl_int *)out <= CL_COMPLETE) {
    *(cl_int *)out = CL_OUT_OF_RESOURCES;
  }
  return code;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *user) {
  if (vendor_builds_nothing) return CL_BUILD_PROGRAM_FAILURE;
  static char source[1 << 20];
  source[0] = '\0';
  VENDOR_REAL(clGetProgramInfo, program, CL_PROGRAM_SOURCE, sizeof source, source, NULL);
  if (vendor_refused && strstr(source, vendor_refused)) return CL_BUILD_PROGRAM_FAILURE;
  const char *words = strstr(source, "#define PROBE_WORDS ");
  if (words) atomic_fetch_add(&vendor_probes, 1);
  if (words && vendor_words && strstr(source, "probe_local") &&
      strtoul(words + strlen("#define PROBE_WORDS "), NULL, 10) > vendor_words) {
    return CL_BUILD_PROGRAM_FAILURE;
  }
  char known[1024];
  const char *at = vendor_option ? strstr(options, vendor_option) : NULL;
  if (at) {
    atomic_fetch_add(&vendor_with_option, 1);
    snprintf(known, sizeof known, "%.*s%s", (int)(at - options), options,
             at + strlen(vendor_option));
    options = known;
  }
  return VENDOR_REAL(clBuildProgram, program, count, devices, options, notify, user);
}

#pragma GCC visibility pop

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/provider.c: the table of this provider's functions. */
#include "base/memory.h"
#include "cpu/compile.h"
#include "cpu/objects.h"

#include <CL/cl_icd.h>

static const halo_cl_api provider_table = {
#define PROVIDER_ROW(name) .name = cpu_##name,
    HALO_CL_FUNCTIONS(PROVIDER_ROW)
#undef PROVIDER_ROW
        .clSVMAlloc = cpu_clSVMAlloc,
    .clSVMFree = cpu_clSVMFree};

/* ---- For who has a handle, and calls OpenCL's functions of the ICD loader with it, as functions of custom calls do ---- */

static cl_int CL_API_CALL provider_retain_context(cl_context context) {
  atomic_fetch_add(&context->references, 1);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL provider_retain_queue(cl_command_queue queue) {
  cpu_queue_retain(queue);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL provider_retain_mem(cl_mem mem) {
  cpu_mem_retain(mem);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL provider_retain_program(cl_program program) {
  atomic_fetch_add(&program->references, 1);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL provider_retain_kernel(cl_kernel kernel) {
  atomic_fetch_add(&kernel->references, 1);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL provider_context_info(cl_context context, cl_context_info what,
                                                size_t room, void *out, size_t *size) {
  cl_uint count = 1;
  switch (what) {
    case CL_CONTEXT_NUM_DEVICES: return cpu_answer(&count, sizeof count, room, out, size);
    case CL_CONTEXT_DEVICES:
      return cpu_answer(&context->device, sizeof context->device, room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

/* A queue of its own takes the place of the command's that it stands for. */
static cl_event CL_API_CALL provider_user_event(cl_context context, cl_int *code) {
  cl_command_queue queue = cpu_clCreateCommandQueue(context, context->device, 0, code);
  cl_event event = cpu_event_create(queue, CL_COMMAND_USER);
  cpu_clReleaseCommandQueue(queue); /* the event has a reference */
  return event;
}

static cl_int CL_API_CALL provider_end_user_event(cl_event event, cl_int status) {
  if (event->type != CL_COMMAND_USER || status > CL_COMPLETE) return CL_INVALID_VALUE;
  cpu_event_end(event, status);
  return CL_SUCCESS;
}

/* The loader finds functions here, by the first word of each object. Those of OpenCL that the library itself does not use are
 * missing but for these. */
static const struct _cl_icd_dispatch provider_dispatch = {
#define PROVIDER_ROW(name) .name = cpu_##name,
    HALO_CL_FUNCTIONS(PROVIDER_ROW)
#undef PROVIDER_ROW
        .clRetainContext = provider_retain_context,
    .clRetainCommandQueue = provider_retain_queue,
    .clRetainMemObject = provider_retain_mem,
    .clRetainProgram = provider_retain_program,
    .clRetainKernel = provider_retain_kernel,
    .clGetContextInfo = provider_context_info,
    .clCreateUserEvent = provider_user_event,
    .clSetUserEventStatus = provider_end_user_event,
    .clSVMAlloc = cpu_clSVMAlloc,
    .clSVMFree = cpu_clSVMFree};

/* ---- The library's own table ---- */

static pthread_once_t provider_once = PTHREAD_ONCE_INIT;
static void provider_fill(void) { halo_cpu_dispatch = provider_dispatch; }

const halo_cl_api *halo_cpu_open(const char **missing) {
#if defined(__x86_64__)
  *missing = cpu_front_find();
#else
  *missing = "code is made for x86-64 only";
#endif
  if (*missing) return NULL;
  pthread_once(&provider_once, provider_fill);
  return &provider_table;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/providers.c: one table for the system's loader and the providers of providers.def: each call goes to the provider of the object that
 * it is about. */
#include "opencl/private.h"

#include <stddef.h>
#include <string.h>

#define PROVIDER(room) extern const halo_cl_provider halo_##room##_provider;
#include "opencl/providers.def"
#undef PROVIDER

static const halo_cl_provider *const providers_rows[] = {
#define PROVIDER(room) &halo_##room##_provider,
#include "opencl/providers.def"
#undef PROVIDER
};
enum { PROVIDERS = sizeof providers_rows / sizeof *providers_rows };

/* The loader's functions; those of no loader are NULL, as are then its objects. */
static halo_cl_api providers_system;
/* By row; NULL: it is not there. */
static const halo_cl_api *providers_opened[PROVIDERS];

/* The row whose object it is, or -1. */
static int providers_find(const void *object) {
  for (int i = 0; object && i < PROVIDERS; i++) {
    if (*(const void *const *)object == providers_rows[i]->dispatch) return i;
  }
  return -1;
}

static const halo_cl_api *providers_of(const void *object) {
  int row = providers_find(object);
  return row >= 0 ? providers_opened[row] : &providers_system;
}

/* A function of the table whose first or named argument says whose it is. */
#define PROVIDERS_CALL(result, name, key, parameters, arguments)                                   \
  static result CL_API_CALL providers_##name parameters {                                          \
    return providers_of(key)->name arguments;                                                      \
  }
#define PROVIDERS_CODE(name, key, parameters, arguments)                                           \
  PROVIDERS_CALL(cl_int, name, key, parameters, arguments)

/* ---- Platforms and devices ---- */

static cl_int CL_API_CALL providers_clGetPlatformIDs(cl_uint room, cl_platform_id *out,
                                                     cl_uint *count) {
  cl_uint all = 0;
  bool fails = !providers_system.clGetPlatformIDs ||
               providers_system.clGetPlatformIDs(room, out, &all) != CL_SUCCESS;
  if (fails) all = 0; /* as a loader without drivers does */
  for (int i = 0; i < PROVIDERS; i++) {
    cl_uint own = 0;
    bool fits = out && room > all;
    if (!providers_opened[i]) continue;
    providers_opened[i]->clGetPlatformIDs(fits ? room - all : 0, fits ? out + all : NULL, &own);
    all += own;
  }
  if (count) *count = all;
  return CL_SUCCESS;
}

PROVIDERS_CODE(clGetPlatformInfo, platform,
               (cl_platform_id platform, cl_platform_info what, size_t room, void *out,
                size_t *size),
               (platform, what, room, out, size))
PROVIDERS_CODE(clGetDeviceIDs, platform,
               (cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *out,
                cl_uint *count),
               (platform, type, room, out, count))
PROVIDERS_CODE(clGetDeviceInfo, id,
               (cl_device_id id, cl_device_info what, size_t room, void *out, size_t *size),
               (id, what, room, out, size))
PROVIDERS_CODE(clCreateSubDevices, id,
               (cl_device_id id, const cl_device_partition_property *how, cl_uint room,
                cl_device_id *out, cl_uint *count),
               (id, how, room, out, count))

/* ---- Contexts and memory ---- */

PROVIDERS_CALL(cl_context, clCreateContext, count ? ids[0] : NULL,
               (const cl_context_properties *properties, cl_uint count, const cl_device_id *ids,
                void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
                cl_int *code),
               (properties, count, ids, notify, data, code))
PROVIDERS_CODE(clReleaseContext, context, (cl_context context), (context))
PROVIDERS_CALL(cl_mem, clCreateBuffer, context,
               (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code),
               (context, flags, size, host, code))
PROVIDERS_CODE(clReleaseMemObject, mem, (cl_mem mem), (mem))
PROVIDERS_CODE(clGetMemObjectInfo, mem,
               (cl_mem mem, cl_mem_info what, size_t room, void *out, size_t *size),
               (mem, what, room, out, size))
PROVIDERS_CODE(clSetMemObjectDestructorCallback, mem,
               (cl_mem mem, void(CL_CALLBACK *call)(cl_mem, void *), void *data), (mem, call, data))

static void *CL_API_CALL providers_clSVMAlloc(cl_context context, cl_bitfield flags, size_t size,
                                              cl_uint align) {
  const halo_cl_api *api = providers_of(context);
  return api->clSVMAlloc ? api->clSVMAlloc(context, flags, size, align) : NULL;
}

static void CL_API_CALL providers_clSVMFree(cl_context context, void *data) {
  providers_of(context)->clSVMFree(context, data);
}

/* ---- Programs and kernels ---- */

PROVIDERS_CALL(cl_program, clCreateProgramWithSource, context,
               (cl_context context, cl_uint count, const char **parts, const size_t *lengths,
                cl_int *code),
               (context, count, parts, lengths, code))
PROVIDERS_CALL(cl_program, clCreateProgramWithBinary, context,
               (cl_context context, cl_uint count, const cl_device_id *ids, const size_t *sizes,
                const unsigned char **binaries, cl_int *fit, cl_int *code),
               (context, count, ids, sizes, binaries, fit, code))
PROVIDERS_CODE(clBuildProgram, program,
               (cl_program program, cl_uint count, const cl_device_id *ids, const char *options,
                void(CL_CALLBACK *notify)(cl_program, void *), void *data),
               (program, count, ids, options, notify, data))
PROVIDERS_CODE(clCompileProgram, program,
               (cl_program program, cl_uint count, const cl_device_id *ids, const char *options,
                cl_uint headers, const cl_program *list, const char **names,
                void(CL_CALLBACK *notify)(cl_program, void *), void *data),
               (program, count, ids, options, headers, list, names, notify, data))
PROVIDERS_CODE(clGetProgramInfo, program,
               (cl_program program, cl_program_info what, size_t room, void *out, size_t *size),
               (program, what, room, out, size))
PROVIDERS_CODE(clGetProgramBuildInfo, program,
               (cl_program program, cl_device_id id, cl_program_build_info what, size_t room,
                void *out, size_t *size),
               (program, id, what, room, out, size))
PROVIDERS_CODE(clReleaseProgram, program, (cl_program program), (program))
PROVIDERS_CALL(cl_kernel, clCreateKernel, program,
               (cl_program program, const char *name, cl_int *code), (program, name, code))
PROVIDERS_CODE(clReleaseKernel, kernel, (cl_kernel kernel), (kernel))
PROVIDERS_CODE(clSetKernelArg, kernel,
               (cl_kernel kernel, cl_uint index, size_t size, const void *value),
               (kernel, index, size, value))
PROVIDERS_CODE(clGetKernelWorkGroupInfo, kernel,
               (cl_kernel kernel, cl_device_id id, cl_kernel_work_group_info what, size_t room,
                void *out, size_t *size),
               (kernel, id, what, room, out, size))

/* ---- Events ---- */

PROVIDERS_CODE(clGetEventInfo, event,
               (cl_event event, cl_event_info what, size_t room, void *out, size_t *size),
               (event, what, room, out, size))
PROVIDERS_CODE(clGetEventProfilingInfo, event,
               (cl_event event, cl_profiling_info what, size_t room, void *out, size_t *size),
               (event, what, room, out, size))
PROVIDERS_CODE(clRetainEvent, event, (cl_event event), (event))
PROVIDERS_CODE(clReleaseEvent, event, (cl_event event), (event))
PROVIDERS_CODE(clSetEventCallback, event,
               (cl_event event, cl_int state, void(CL_CALLBACK *call)(cl_event, cl_int, void *),
                void *data),
               (event, state, call, data))
/* All of a list are of one context. */
PROVIDERS_CODE(clWaitForEvents, count ? events[0] : NULL, (cl_uint count, const cl_event *events),
               (count, events))

/* ---- Queues ---- */

PROVIDERS_CALL(cl_command_queue, clCreateCommandQueue, context,
               (cl_context context, cl_device_id id, cl_command_queue_properties properties,
                cl_int *code),
               (context, id, properties, code))
PROVIDERS_CODE(clGetCommandQueueInfo, queue,
               (cl_command_queue queue, cl_command_queue_info what, size_t room, void *out,
                size_t *size),
               (queue, what, room, out, size))
PROVIDERS_CODE(clReleaseCommandQueue, queue, (cl_command_queue queue), (queue))
PROVIDERS_CODE(clFinish, queue, (cl_command_queue queue), (queue))
PROVIDERS_CODE(clFlush, queue, (cl_command_queue queue), (queue))
PROVIDERS_CODE(clEnqueueReadBuffer, queue,
               (cl_command_queue queue, cl_mem from, cl_bool wait, size_t offset, size_t size,
                void *to, cl_uint count, const cl_event *list, cl_event *event),
               (queue, from, wait, offset, size, to, count, list, event))
PROVIDERS_CODE(clEnqueueWriteBuffer, queue,
               (cl_command_queue queue, cl_mem to, cl_bool wait, size_t offset, size_t size,
                const void *from, cl_uint count, const cl_event *list, cl_event *event),
               (queue, to, wait, offset, size, from, count, list, event))
PROVIDERS_CODE(clEnqueueCopyBuffer, queue,
               (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                size_t to_offset, size_t size, cl_uint count, const cl_event *list,
                cl_event *event),
               (queue, from, to, from_offset, to_offset, size, count, list, event))
PROVIDERS_CODE(clEnqueueFillBuffer, queue,
               (cl_command_queue queue, cl_mem mem, const void *pattern, size_t pattern_size,
                size_t offset, size_t size, cl_uint count, const cl_event *list, cl_event *event),
               (queue, mem, pattern, pattern_size, offset, size, count, list, event))
PROVIDERS_CODE(clEnqueueNDRangeKernel, queue,
               (cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
                cl_event *event),
               (queue, kernel, dims, offset, global, local, count, list, event))
PROVIDERS_CODE(clEnqueueMarkerWithWaitList, queue,
               (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),
               (queue, count, list, event))
PROVIDERS_CODE(clEnqueueBarrierWithWaitList, queue,
               (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),
               (queue, count, list, event))
PROVIDERS_CALL(void *, clEnqueueMapBuffer, queue,
               (cl_command_queue queue, cl_mem mem, cl_bool wait, cl_map_flags flags, size_t offset,
                size_t size, cl_uint count, const cl_event *list, cl_event *event, cl_int *code),
               (queue, mem, wait, flags, offset, size, count, list, event, code))
PROVIDERS_CODE(clEnqueueUnmapMemObject, queue,
               (cl_command_queue queue, cl_mem mem, void *mapped, cl_uint count,
                const cl_event *list, cl_event *event),
               (queue, mem, mapped, count, list, event))

/* ---- The rows ---- */

halo_status halo_cl_providers_open(bool *any) {
  *any = false;
  for (int i = 0; i < PROVIDERS; i++) {
    HALO_TRY(providers_rows[i]->open(&providers_opened[i]));
    *any |= providers_opened[i] != NULL;
  }
  return HALO_OK;
}

void halo_cl_providers_set_system(const halo_cl_api *system) { providers_system = *system; }

void halo_cl_providers_join(const halo_cl_api *system, halo_cl_api *out) {
  providers_system = *system;
  *out = (halo_cl_api){
#define PROVIDERS_ROW(name) .name = providers_##name,
      HALO_CL_FUNCTIONS(PROVIDERS_ROW)
#undef PROVIDERS_ROW
          .clSVMAlloc = providers_clSVMAlloc,
      .clSVMFree = providers_clSVMFree};
}

bool halo_cl_providers_are_found(const halo_cl_api *system) {
  for (int i = 0; i < PROVIDERS; i++) {
    cl_platform_id platform;
    char name[64] = "";
    if (!providers_opened[i]) continue;
    providers_opened[i]->clGetPlatformIDs(1, &platform, NULL);
    cl_int code =
        system->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    if (code != CL_SUCCESS || strcmp(name, providers_rows[i]->platform) != 0) return false;
  }
  return true;
}

const halo_cl_provider *halo_cl_provider_of(const void *object) {
  int row = providers_find(object);
  return row >= 0 ? providers_rows[row] : NULL;
}

bool halo_cl_provider_is_host(const char *platform) {
  for (int i = 0; i < PROVIDERS; i++) {
    const halo_cl_provider *row = providers_rows[i];
    if (row->is_host && strcmp(row->platform, platform) == 0) return true;
  }
  return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/others.c: OpenCL's functions that the library itself does not call, for whoever has a handle and calls the ICD loader with it, as
 * functions of custom calls do. There are no images, samplers, pipes and sub-buffers, and nothing of SVM but memory. */
#undef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "cpu/objects.h"

#include <CL/cl_icd.h>
#include <string.h>

/* No object, and why. */
static void *others_refuse(cl_int *code, cl_int why) {
  if (code) *code = why;
  return NULL;
}

/* ---- References ---- */

static cl_int CL_API_CALL others_retain_context(cl_context context) {
  atomic_fetch_add(&context->references, 1);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL others_retain_queue(cl_command_queue queue) {
  cpu_queue_retain(queue);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL others_retain_mem(cl_mem mem) {
  cpu_mem_retain(mem);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL others_retain_program(cl_program program) {
  atomic_fetch_add(&program->references, 1);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL others_retain_kernel(cl_kernel kernel) {
  atomic_fetch_add(&kernel->references, 1);
  return CL_SUCCESS;
}

/* Devices stay. */
static cl_int CL_API_CALL others_keep_device(cl_device_id id) {
  (void)id;
  return CL_SUCCESS;
}

/* ---- Answers ---- */

static cl_int CL_API_CALL others_context_info(cl_context context, cl_context_info what, size_t room,
                                              void *out, size_t *size) {
  cl_uint number = what == CL_CONTEXT_NUM_DEVICES ? 1 : (cl_uint)atomic_load(&context->references);
  switch (what) {
    case CL_CONTEXT_NUM_DEVICES:
    case CL_CONTEXT_REFERENCE_COUNT: return cpu_answer(&number, sizeof number, room, out, size);
    case CL_CONTEXT_DEVICES:
      return cpu_answer(&context->device, sizeof context->device, room, out, size);
    case CL_CONTEXT_PROPERTIES: return cpu_answer(NULL, 0, room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

static cl_int CL_API_CALL others_kernel_info(cl_kernel kernel, cl_kernel_info what, size_t room,
                                             void *out, size_t *size) {
  cl_program program = kernel->program;
  cl_uint number = what == CL_KERNEL_NUM_ARGS ? kernel->code->parameter_count
                                              : (cl_uint)atomic_load(&kernel->references);
  switch (what) {
    case CL_KERNEL_FUNCTION_NAME: return cpu_answer_text(kernel->code->name, room, out, size);
    case CL_KERNEL_ATTRIBUTES: return cpu_answer_text("", room, out, size);
    case CL_KERNEL_NUM_ARGS:
    case CL_KERNEL_REFERENCE_COUNT: return cpu_answer(&number, sizeof number, room, out, size);
    case CL_KERNEL_CONTEXT:
      return cpu_answer(&program->context, sizeof program->context, room, out, size);
    case CL_KERNEL_PROGRAM: return cpu_answer(&program, sizeof program, room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

static cl_int CL_API_CALL others_argument_info(cl_kernel kernel, cl_uint index,
                                               cl_kernel_arg_info what, size_t room, void *out,
                                               size_t *size) {
  (void)what, (void)room, (void)out, (void)size;
  bool known = index < kernel->code->parameter_count;
  return known ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : CL_INVALID_ARG_INDEX;
}

/* ---- Making objects ---- */

static cl_int CL_API_CALL others_create_kernels(cl_program program, cl_uint room, cl_kernel *out,
                                                cl_uint *count) {
  cl_int code = CL_SUCCESS;
  if (!program->image) return CL_INVALID_PROGRAM_EXECUTABLE;
  if (count) *count = program->kernel_count;
  if (!out) return CL_SUCCESS;
  if (room < program->kernel_count) return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < program->kernel_count && code == CL_SUCCESS; i++) {
    out[i] = cpu_clCreateKernel(program, program->kernels[i].name, &code);
  }
  return code;
}

static cl_command_queue CL_API_CALL others_create_queue(cl_context context, cl_device_id id,
                                                        const cl_queue_properties *list,
                                                        cl_int *code) {
  cl_command_queue_properties properties = 0;
  for (; list && *list; list += 2) {
    if (*list == CL_QUEUE_PROPERTIES) {
      properties = list[1];
    } else {
      return others_refuse(code, CL_INVALID_VALUE);
    }
  }
  return cpu_clCreateCommandQueue(context, id, properties, code);
}

static cl_mem CL_API_CALL others_create_buffer(cl_context context, const cl_mem_properties *list,
                                               cl_mem_flags flags, size_t size, void *host,
                                               cl_int *code) {
  if (!list || !*list) return cpu_clCreateBuffer(context, flags, size, host, code);
  return others_refuse(code, CL_INVALID_PROPERTY);
}

/* A queue of its own takes the place of the command's that it stands for. */
static cl_event CL_API_CALL others_user_event(cl_context context, cl_int *code) {
  cl_command_queue queue = cpu_clCreateCommandQueue(context, context->device, 0, code);
  if (!queue) return NULL;
  cl_event event = cpu_event_create(queue, CL_COMMAND_USER);
  atomic_store(&event->status, CL_SUBMITTED);
  cpu_clReleaseCommandQueue(queue); /* the event has a reference */
  return event;
}

static cl_int CL_API_CALL others_end_user_event(cl_event event, cl_int status) {
  if (event->type != CL_COMMAND_USER) return CL_INVALID_EVENT;
  if (status > CL_COMPLETE) return CL_INVALID_VALUE;
  if (cpu_event_is_over(event)) return CL_INVALID_OPERATION;
  cpu_event_end(event, status);
  return CL_SUCCESS;
}

/* ---- Commands ---- */

static cl_int CL_API_CALL others_task(cl_command_queue queue, cl_kernel kernel, cl_uint count,
                                      const cl_event *waits, cl_event *event) {
  const size_t one = 1;
  return cpu_clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, count, waits, event);
}

static cl_int CL_API_CALL others_mark(cl_command_queue queue, cl_event *event) {
  if (!event) return CL_INVALID_VALUE;
  return cpu_clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
}

static cl_int CL_API_CALL others_wait(cl_command_queue queue, cl_uint count,
                                      const cl_event *events) {
  if (!count || !events) return CL_INVALID_VALUE;
  return cpu_clEnqueueBarrierWithWaitList(queue, count, events, NULL);
}

static cl_int CL_API_CALL others_barrier(cl_command_queue queue) {
  return cpu_clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
}

/* There is one memory. */
static cl_int CL_API_CALL others_migrate(cl_command_queue queue, cl_uint mem_count,
                                         const cl_mem *mems, cl_mem_migration_flags flags,
                                         cl_uint count, const cl_event *waits, cl_event *event) {
  (void)flags;
  if (!mem_count || !mems) return CL_INVALID_VALUE;
  return cpu_clEnqueueMarkerWithWaitList(queue, count, waits, event);
}

/* ---- What there is not ---- */

static cl_mem CL_API_CALL others_sub_buffer(cl_mem mem, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *about,
                                            cl_int *code) {
  (void)mem, (void)flags, (void)type, (void)about;
  return others_refuse(code, CL_INVALID_OPERATION);
}

static cl_mem CL_API_CALL others_image(cl_context context, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *about,
                                       void *host, cl_int *code) {
  (void)context, (void)flags, (void)format, (void)about, (void)host;
  return others_refuse(code, CL_INVALID_OPERATION);
}

static cl_int CL_API_CALL others_image_formats(cl_context context, cl_mem_flags flags,
                                               cl_mem_object_type type, cl_uint room,
                                               cl_image_format *out, cl_uint *count) {
  (void)context, (void)flags, (void)type, (void)room, (void)out;
  if (count) *count = 0;
  return CL_SUCCESS;
}

static cl_sampler CL_API_CALL others_sampler(cl_context context, cl_bool normalized,
                                             cl_addressing_mode addressing, cl_filter_mode filter,
                                             cl_int *code) {
  (void)context, (void)normalized, (void)addressing, (void)filter;
  return others_refuse(code, CL_INVALID_OPERATION);
}

static cl_program CL_API_CALL others_link(cl_context context, cl_uint count,
                                          const cl_device_id *ids, const char *options,
                                          cl_uint program_count, const cl_program *programs,
                                          void(CL_CALLBACK *notify)(cl_program, void *), void *data,
                                          cl_int *code) {
  (void)context, (void)count, (void)ids, (void)options, (void)program_count, (void)programs;
  (void)notify, (void)data;
  return others_refuse(code, CL_INVALID_OPERATION);
}

static cl_program CL_API_CALL others_built_in(cl_context context, cl_uint count,
                                              const cl_device_id *ids, const char *names,
                                              cl_int *code) {
  (void)context, (void)count, (void)ids, (void)names;
  return others_refuse(code, CL_INVALID_VALUE);
}

static cl_int CL_API_CALL others_no_command(void) { return CL_INVALID_OPERATION; }
static void *CL_API_CALL others_no_object(void) { return NULL; }

static cl_context CL_API_CALL
others_context_from_type(const cl_context_properties *properties, cl_device_type type,
                         void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                         void *data, cl_int *code) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int found = cpu_clGetPlatformIDs(1, &platform, NULL);
  if (found == CL_SUCCESS) found = cpu_clGetDeviceIDs(platform, type, 1, &device, NULL);
  if (found == CL_SUCCESS) return cpu_clCreateContext(properties, 1, &device, notify, data, code);
  return others_refuse(code, found);
}

static cl_mem CL_API_CALL others_image_2d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t pitch, void *data, cl_int *code) {
  (void)context, (void)flags, (void)format, (void)width, (void)height, (void)pitch, (void)data;
  return others_refuse(code, CL_INVALID_OPERATION);
}

static cl_mem CL_API_CALL others_image_3d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t depth, size_t row, size_t slice,
                                          void *data, cl_int *code) {
  (void)context, (void)flags, (void)format, (void)width, (void)height, (void)depth, (void)row;
  (void)slice, (void)data;
  return others_refuse(code, CL_INVALID_OPERATION);
}

static void *CL_API_CALL others_map_image(cl_command_queue queue, cl_mem image, cl_bool blocks,
                                          cl_map_flags flags, const size_t *origin,
                                          const size_t *region, size_t *row, size_t *slice,
                                          cl_uint count, const cl_event *waits, cl_event *event,
                                          cl_int *code) {
  (void)queue, (void)image, (void)blocks, (void)flags, (void)origin, (void)region, (void)row;
  (void)slice, (void)count, (void)waits, (void)event;
  return others_refuse(code, CL_INVALID_OPERATION);
}

/* Functions that give a code, whatever they take: callers remove arguments from the stack. */
#define OTHERS_NO_COMMANDS(X)                                                                      \
  X(clSetCommandQueueProperty)                                                                     \
  X(clGetImageInfo)                                                                                \
  X(clEnqueueReadImage)                                                                            \
  X(clEnqueueWriteImage)                                                                           \
  X(clEnqueueCopyImage)                                                                            \
  X(clEnqueueCopyImageToBuffer)                                                                    \
  X(clEnqueueCopyBufferToImage)                                                                    \
  X(clEnqueueFillImage)                                                                            \
  X(clEnqueueReadBufferRect)                                                                       \
  X(clEnqueueWriteBufferRect)                                                                      \
  X(clEnqueueCopyBufferRect)                                                                       \
  X(clEnqueueNativeKernel)                                                                         \
  X(clGetGLObjectInfo)                                                                             \
  X(clGetGLTextureInfo)                                                                            \
  X(clEnqueueAcquireGLObjects)                                                                     \
  X(clEnqueueReleaseGLObjects)                                                                     \
  X(clUnloadPlatformCompiler)                                                                      \
  X(clEnqueueSVMFree)                                                                              \
  X(clEnqueueSVMMemcpy)                                                                            \
  X(clEnqueueSVMMemFill)                                                                           \
  X(clEnqueueSVMMap)                                                                               \
  X(clEnqueueSVMUnmap)                                                                             \
  X(clEnqueueSVMMigrateMem)                                                                        \
  X(clSetKernelArgSVMPointer)                                                                      \
  X(clSetKernelExecInfo)                                                                           \
  X(clGetKernelSubGroupInfo)                                                                       \
  X(clGetKernelSubGroupInfoKHR)                                                                    \
  X(clGetDeviceAndHostTimer)                                                                       \
  X(clGetHostTimer)                                                                                \
  X(clSetDefaultDeviceCommandQueue)                                                                \
  X(clSetProgramReleaseCallback)                                                                   \
  X(clSetProgramSpecializationConstant)                                                            \
  X(clSetContextDestructorCallback)                                                                \
  X(clRetainSampler)                                                                               \
  X(clReleaseSampler)                                                                              \
  X(clGetSamplerInfo)                                                                              \
  X(clUnloadCompiler)                                                                              \
  X(clEnqueueAcquireEGLObjectsKHR)                                                                 \
  X(clEnqueueReleaseEGLObjectsKHR)                                                                 \
  X(clGetPipeInfo)                                                                                 \
  X(clCreateSubDevicesEXT)                                                                         \
  X(clRetainDeviceEXT)                                                                             \
  X(clReleaseDeviceEXT)                                                                            \
  X(clGetGLContextInfoKHR)

/* Functions that give an object, of newer versions of OpenCL or for OpenGL: NULL, without a code. */
#define OTHERS_NO_OBJECTS(X)                                                                       \
  X(clCreateImageWithProperties)                                                                   \
  X(clCreatePipe)                                                                                  \
  X(clCreateSamplerWithProperties)                                                                 \
  X(clCloneKernel)                                                                                 \
  X(clCreateProgramWithIL)                                                                         \
  X(clCreateFromGLBuffer)                                                                          \
  X(clCreateFromGLTexture)                                                                         \
  X(clCreateFromGLTexture2D)                                                                       \
  X(clCreateFromGLTexture3D)                                                                       \
  X(clCreateFromGLRenderbuffer)                                                                    \
  X(clCreateFromEGLImageKHR)                                                                       \
  X(clCreateEventFromEGLSyncKHR)                                                                   \
  X(clGetExtensionFunctionAddress)                                                                 \
  X(clCreateEventFromGLsyncKHR)                                                                    \
  X(clGetExtensionFunctionAddressForPlatform)

void cpu_others_fill(struct _cl_icd_dispatch *out) {
#define OTHERS_ROW(name) *(void **)&out->name = (void *)others_no_command;
  OTHERS_NO_COMMANDS(OTHERS_ROW)
#undef OTHERS_ROW
#define OTHERS_ROW(name) *(void **)&out->name = (void *)others_no_object;
  OTHERS_NO_OBJECTS(OTHERS_ROW)
#undef OTHERS_ROW
  out->clCreateContextFromType = others_context_from_type;
  out->clCreateImage2D = others_image_2d;
  out->clCreateImage3D = others_image_3d;
  out->clEnqueueMapImage = others_map_image;
  out->clRetainContext = others_retain_context;
  out->clRetainCommandQueue = others_retain_queue;
  out->clRetainMemObject = others_retain_mem;
  out->clRetainProgram = others_retain_program;
  out->clRetainKernel = others_retain_kernel;
  out->clRetainDevice = others_keep_device;
  out->clReleaseDevice = others_keep_device;
  out->clGetContextInfo = others_context_info;
  out->clGetKernelInfo = others_kernel_info;
  out->clGetKernelArgInfo = others_argument_info;
  out->clCreateKernelsInProgram = others_create_kernels;
  out->clCreateCommandQueueWithProperties = others_create_queue;
  out->clCreateBufferWithProperties = others_create_buffer;
  out->clCreateUserEvent = others_user_event;
  out->clSetUserEventStatus = others_end_user_event;
  out->clEnqueueTask = others_task;
  out->clEnqueueMarker = others_mark;
  out->clEnqueueWaitForEvents = others_wait;
  out->clEnqueueBarrier = others_barrier;
  out->clEnqueueMigrateMemObjects = others_migrate;
  out->clCreateSubBuffer = others_sub_buffer;
  out->clCreateImage = others_image;
  out->clGetSupportedImageFormats = others_image_formats;
  out->clCreateSampler = others_sampler;
  out->clLinkProgram = others_link;
  out->clCreateProgramWithBuiltInKernels = others_built_in;
  out->clSVMAlloc = cpu_clSVMAlloc;
  out->clSVMFree = cpu_clSVMFree;
}

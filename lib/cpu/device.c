/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/device.c: the platform, the processor as a device, its parts, and contexts. */
#include "base/memory.h"
#include "cpu/objects.h"
#include "cpu/target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  DEVICE_GROUP = 1,               /* items of a group: kernels ask for no neighbours */
  DEVICE_LOCAL_MEMORY = 1 << 20,  /* it is private memory */
  DEVICE_PARAMETERS = 64 << 10,   /* bytes of a kernel's arguments */
  DEVICE_ALIGNMENT_BITS = 128 * 8 /* of the largest vectors of OpenCL C */
};

static struct _cl_platform_id device_platform = {&halo_cpu_dispatch};
static struct _cl_device_id device_whole = {.tag = &halo_cpu_dispatch};

/* ---- The platform ---- */

cl_int CL_API_CALL cpu_clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *count) {
  if (count) *count = 1;
  if (out && room > 0) out[0] = &device_platform;
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clGetPlatformInfo(cl_platform_id platform, cl_platform_info what,
                                         size_t room, void *out, size_t *size) {
  (void)platform;
  switch (what) {
    case CL_PLATFORM_NAME: return cpu_answer_text(HALO_CPU_PLATFORM, room, out, size);
    case CL_PLATFORM_VENDOR: return cpu_answer_text("The Halocline authors", room, out, size);
    case CL_PLATFORM_VERSION:
      return cpu_answer_text("OpenCL 1.2 Halocline " HALO_VERSION_TEXT, room, out, size);
    case CL_PLATFORM_PROFILE: return cpu_answer_text("FULL_PROFILE", room, out, size);
    case CL_PLATFORM_EXTENSIONS: return cpu_answer_text("", room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

/* ---- The processor ---- */

cl_int CL_API_CALL cpu_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room,
                                      cl_device_id *out, cl_uint *count) {
  (void)platform;
  if (!(type & (CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT))) return CL_DEVICE_NOT_FOUND;
  device_whole.units = cpu_pool_cores();
  if (count) *count = 1;
  if (out && room > 0) out[0] = &device_whole;
  return CL_SUCCESS;
}

/* A line of /proc/cpuinfo, or else the kind of machine. */
static void device_name(char *out, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "re");
  char line[256];
  snprintf(out, size, "processor");
  while (file && fgets(line, sizeof line, file)) {
    const char *value = strchr(line, ':');
    if (!value || strncmp(line, "model name", strlen("model name")) != 0) continue;
    value += 1 + strspn(value + 1, " \t");
    snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
    break;
  }
  if (file) fclose(file);
}

static cl_ulong device_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (cl_ulong)pages * (cl_ulong)page : (cl_ulong)1 << 30;
}

static cl_ulong device_cache(void) {
#ifdef _SC_LEVEL3_CACHE_SIZE
  long last = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (last <= 0) last = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (last > 0) return (cl_ulong)last;
#endif
  return 0;
}

/* Bytes of a vector register, of the processor that code is made for. */
static cl_uint device_vector(void) {
  const char *march = cpu_target_march();
  return strcmp(march, "skylake-avx512") == 0 ? 64 : strcmp(march, "haswell") == 0 ? 32 : 16;
}

static cl_int device_text(cl_device_info what, size_t room, void *out, size_t *size) {
  char text[256];
  switch (what) {
    case CL_DEVICE_NAME: device_name(text, sizeof text); break;
    case CL_DRIVER_VERSION: cpu_describe_driver(text, sizeof text); break;
    case CL_DEVICE_VENDOR: snprintf(text, sizeof text, "the processor's maker"); break;
    case CL_DEVICE_PROFILE: snprintf(text, sizeof text, "FULL_PROFILE"); break;
    case CL_DEVICE_EXTENSIONS: snprintf(text, sizeof text, "cl_khr_fp64"); break;
    case CL_DEVICE_OPENCL_C_VERSION: snprintf(text, sizeof text, "OpenCL C 1.2"); break;
    default: snprintf(text, sizeof text, "OpenCL 1.2 " HALO_CPU_PLATFORM); break;
  }
  return cpu_answer_text(text, room, out, size);
}

static cl_int device_sizes(cl_device_id id, cl_device_info what, size_t room, void *out,
                           size_t *size) {
  const size_t items[3] = {DEVICE_GROUP, DEVICE_GROUP, DEVICE_GROUP};
  const cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_EQUALLY};
  size_t value = what == CL_DEVICE_MAX_WORK_GROUP_SIZE ? DEVICE_GROUP : DEVICE_PARAMETERS;
  cl_platform_id platform = &device_platform;
  cl_device_id whole = id->whole;
  switch (what) {
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return cpu_answer(items, sizeof items, room, out, size);
    case CL_DEVICE_PARTITION_PROPERTIES:
      return cpu_answer(parts, id->whole ? 0 : sizeof parts, room, out, size);
    case CL_DEVICE_PLATFORM: return cpu_answer(&platform, sizeof platform, room, out, size);
    case CL_DEVICE_PARENT_DEVICE: return cpu_answer(&whole, sizeof whole, room, out, size);
    default: return cpu_answer(&value, sizeof value, room, out, size);
  }
}

static cl_int device_wide(cl_device_info what, size_t room, void *out, size_t *size) {
  const cl_ulong floats = CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_DENORM | CL_FP_FMA;
  cl_ulong value = 0;
  switch (what) {
    case CL_DEVICE_TYPE: value = CL_DEVICE_TYPE_CPU; break;
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE: value = device_memory(); break;
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE: value = device_cache(); break;
    case CL_DEVICE_LOCAL_MEM_SIZE: value = DEVICE_LOCAL_MEMORY; break;
    case CL_DEVICE_DOUBLE_FP_CONFIG: value = floats; break;
    case CL_DEVICE_SINGLE_FP_CONFIG: value = floats | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT; break;
    default: value = CL_QUEUE_PROFILING_ENABLE; break;
  }
  return cpu_answer(&value, sizeof value, room, out, size);
}

static cl_int device_narrow(cl_device_id id, cl_device_info what, size_t room, void *out,
                            size_t *size) {
  cl_uint value = CL_TRUE;
  switch (what) {
    case CL_DEVICE_MAX_COMPUTE_UNITS:
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES: value = id->units; break;
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: value = 0; break;
    case CL_DEVICE_ADDRESS_BITS: value = 8 * sizeof(void *); break;
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: value = DEVICE_ALIGNMENT_BITS; break;
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE: value = 64; break;
    case CL_DEVICE_LOCAL_MEM_TYPE: value = CL_GLOBAL; break;
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: value = 3; break;
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: value = device_vector() / sizeof(cl_float); break;
    default: break;
  }
  return cpu_answer(&value, sizeof value, room, out, size);
}

enum { DEVICE_SVM_CAPABILITIES = 0x1053, DEVICE_SVM_FINE_BUFFER = 1 << 1 };

cl_int CL_API_CALL cpu_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t room, void *out,
                                       size_t *size) {
  cl_bitfield svm = 1 | DEVICE_SVM_FINE_BUFFER;
  switch (what) {
    case CL_DEVICE_NAME:
    case CL_DEVICE_VENDOR:
    case CL_DEVICE_PROFILE:
    case CL_DEVICE_EXTENSIONS:
    case CL_DEVICE_OPENCL_C_VERSION:
    case CL_DRIVER_VERSION:
    case CL_DEVICE_VERSION: return device_text(what, room, out, size);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
    case CL_DEVICE_MAX_PARAMETER_SIZE:
    case CL_DEVICE_PARTITION_PROPERTIES:
    case CL_DEVICE_PLATFORM:
    case CL_DEVICE_PARENT_DEVICE: return device_sizes(id, what, room, out, size);
    case CL_DEVICE_TYPE:
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
    case CL_DEVICE_LOCAL_MEM_SIZE:
    case CL_DEVICE_DOUBLE_FP_CONFIG:
    case CL_DEVICE_SINGLE_FP_CONFIG:
    case CL_DEVICE_QUEUE_PROPERTIES: return device_wide(what, room, out, size);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
    case CL_DEVICE_ADDRESS_BITS:
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE:
    case CL_DEVICE_LOCAL_MEM_TYPE:
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_LINKER_AVAILABLE:
    case CL_DEVICE_HOST_UNIFIED_MEMORY: return device_narrow(id, what, room, out, size);
    case DEVICE_SVM_CAPABILITIES: return cpu_answer(&svm, sizeof svm, room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

/* Parts stay: their queues do not hold them. */
cl_int CL_API_CALL cpu_clCreateSubDevices(cl_device_id id, const cl_device_partition_property *how,
                                          cl_uint room, cl_device_id *out, cl_uint *count) {
  if (!how || how[0] != CL_DEVICE_PARTITION_EQUALLY || id->whole) return CL_INVALID_VALUE;
  cl_uint units = (cl_uint)how[1];
  if (units == 0 || units > id->units) return CL_DEVICE_PARTITION_FAILED;
  cl_uint parts = id->units / units;
  if (count) *count = parts;
  if (!out) return CL_SUCCESS;
  if (room < parts) return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < parts; i++) {
    struct _cl_device_id *part = halo_alloc(sizeof *part);
    *part = (struct _cl_device_id){&halo_cpu_dispatch, id, units};
    out[i] = part;
  }
  return CL_SUCCESS;
}

/* ---- Contexts ---- */

cl_context CL_API_CALL cpu_clCreateContext(const cl_context_properties *properties, cl_uint count,
                                           const cl_device_id *ids,
                                           void(CL_CALLBACK *notify)(const char *, const void *,
                                                                     size_t, void *),
                                           void *data, cl_int *code) {
  (void)properties;
  (void)notify;
  (void)data;
  if (code) *code = count ? CL_SUCCESS : CL_INVALID_VALUE;
  if (!count) return NULL;
  struct _cl_context *context = halo_alloc(sizeof *context);
  context->tag = &halo_cpu_dispatch;
  context->device = ids[0];
  atomic_init(&context->references, 1);
  return context;
}

/* Its objects hold no references: a context has nothing that they need. */
cl_int CL_API_CALL cpu_clReleaseContext(cl_context context) {
  if (atomic_fetch_sub(&context->references, 1) == 1) halo_free(context);
  return CL_SUCCESS;
}

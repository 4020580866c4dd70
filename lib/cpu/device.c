/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/device.c: the platform, the processor as a device, its parts, and contexts. */
#include "base/memory.h"
#include "cpu/objects.h"
#include "cpu/target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  DEVICE_GROUP = 1,                /* items of a group: kernels ask for no neighbours */
  DEVICE_LOCAL_MEMORY = 1 << 20,   /* it is private memory */
  DEVICE_PARAMETERS = 64 << 10,    /* bytes of a kernel's arguments */
  DEVICE_ALIGNMENT_BITS = 128 * 8, /* of the largest vectors of OpenCL C */
  DEVICE_FLOATS = CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_DENORM | CL_FP_FMA,
  /* Of OpenCL 2.0. */
  DEVICE_SVM_CAPABILITIES = 0x1053,
  DEVICE_SVM_BUFFERS = 3 /* coarse- and fine-grained */
};

static struct _cl_platform_id device_platform = {&halo_cpu_dispatch};
static struct _cl_device_id device_whole = {.tag = &halo_cpu_dispatch};

/* ---- The platform ---- */

cl_int CL_API_CALL cpu_clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *count) {
  if (out ? room == 0 : !count) return CL_INVALID_VALUE;
  if (count) *count = 1;
  if (out) out[0] = &device_platform;
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
  if (out ? room == 0 : !count) return CL_INVALID_VALUE;
  if (count) *count = 1;
  if (out) out[0] = &device_whole;
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

/* Properties that are numbers and the same everywhere; those of images, which the device has none of, are 0. */
static const struct {
  cl_device_info what;
  cl_uint bytes;
  cl_ulong value;
} device_numbers[] = {
#define DEVICE_UINT(NAME, VALUE)                                                                   \
  { CL_DEVICE_##NAME, sizeof(cl_uint), VALUE }
#define DEVICE_ULONG(NAME, VALUE)                                                                  \
  { CL_DEVICE_##NAME, sizeof(cl_ulong), VALUE }
#define DEVICE_SIZE(NAME, VALUE)                                                                   \
  { CL_DEVICE_##NAME, sizeof(size_t), VALUE }
    DEVICE_UINT(ADDRESS_BITS, 8 * sizeof(void *)),
    DEVICE_UINT(AVAILABLE, CL_TRUE),
    DEVICE_UINT(COMPILER_AVAILABLE, CL_TRUE),
    DEVICE_ULONG(DOUBLE_FP_CONFIG, DEVICE_FLOATS),
    DEVICE_UINT(ENDIAN_LITTLE, CL_TRUE),
    DEVICE_UINT(ERROR_CORRECTION_SUPPORT, CL_FALSE),
    DEVICE_ULONG(EXECUTION_CAPABILITIES, CL_EXEC_KERNEL),
    DEVICE_UINT(GLOBAL_MEM_CACHE_TYPE, CL_READ_WRITE_CACHE),
    DEVICE_UINT(GLOBAL_MEM_CACHELINE_SIZE, 64),
    DEVICE_UINT(HOST_UNIFIED_MEMORY, CL_TRUE),
    DEVICE_UINT(IMAGE_SUPPORT, CL_FALSE),
    DEVICE_SIZE(IMAGE2D_MAX_HEIGHT, 0),
    DEVICE_SIZE(IMAGE2D_MAX_WIDTH, 0),
    DEVICE_SIZE(IMAGE3D_MAX_DEPTH, 0),
    DEVICE_SIZE(IMAGE3D_MAX_HEIGHT, 0),
    DEVICE_SIZE(IMAGE3D_MAX_WIDTH, 0),
    DEVICE_SIZE(IMAGE_MAX_ARRAY_SIZE, 0),
    DEVICE_SIZE(IMAGE_MAX_BUFFER_SIZE, 0),
    DEVICE_UINT(LINKER_AVAILABLE, CL_FALSE),
    DEVICE_ULONG(LOCAL_MEM_SIZE, DEVICE_LOCAL_MEMORY),
    DEVICE_UINT(LOCAL_MEM_TYPE, CL_GLOBAL),
    DEVICE_UINT(MAX_CLOCK_FREQUENCY, 0),
    DEVICE_UINT(MAX_CONSTANT_ARGS, DEVICE_PARAMETERS / sizeof(void *)),
    DEVICE_SIZE(MAX_PARAMETER_SIZE, DEVICE_PARAMETERS),
    DEVICE_UINT(MAX_READ_IMAGE_ARGS, 0),
    DEVICE_UINT(MAX_SAMPLERS, 0),
    DEVICE_SIZE(MAX_WORK_GROUP_SIZE, DEVICE_GROUP),
    DEVICE_UINT(MAX_WORK_ITEM_DIMENSIONS, 3),
    DEVICE_UINT(MAX_WRITE_IMAGE_ARGS, 0),
    DEVICE_UINT(MEM_BASE_ADDR_ALIGN, DEVICE_ALIGNMENT_BITS),
    DEVICE_UINT(MIN_DATA_TYPE_ALIGN_SIZE, DEVICE_ALIGNMENT_BITS / 8),
    DEVICE_UINT(NATIVE_VECTOR_WIDTH_HALF, 0),
    DEVICE_ULONG(PARTITION_AFFINITY_DOMAIN, 0),
    DEVICE_UINT(PREFERRED_INTEROP_USER_SYNC, CL_TRUE),
    DEVICE_UINT(PREFERRED_VECTOR_WIDTH_HALF, 0),
    DEVICE_SIZE(PRINTF_BUFFER_SIZE, 0),
    DEVICE_SIZE(PROFILING_TIMER_RESOLUTION, 1),
    DEVICE_ULONG(QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE),
    DEVICE_UINT(REFERENCE_COUNT, 1),
    DEVICE_ULONG(SINGLE_FP_CONFIG, DEVICE_FLOATS | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT),
    DEVICE_ULONG(TYPE, CL_DEVICE_TYPE_CPU),
    DEVICE_UINT(VENDOR_ID, 0),
    {DEVICE_SVM_CAPABILITIES, sizeof(cl_ulong), DEVICE_SVM_BUFFERS},
#undef DEVICE_UINT
#undef DEVICE_ULONG
#undef DEVICE_SIZE
};

/* The processor's vectors, in elements of some bytes. */
static cl_int device_answer_width(size_t element, size_t room, void *out, size_t *size) {
  cl_uint width = device_vector() / (cl_uint)element;
  return cpu_answer(&width, sizeof width, room, out, size);
}

static cl_int device_answer_ulong(cl_ulong value, size_t room, void *out, size_t *size) {
  return cpu_answer(&value, sizeof value, room, out, size);
}

static cl_int device_answer_parts(cl_device_id id, cl_device_info what, size_t room, void *out,
                                  size_t *size) {
  const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY,
                                              (cl_device_partition_property)id->units, 0};
  bool is_part = id->whole != NULL;
  if (what == CL_DEVICE_PARTITION_TYPE) {
    return cpu_answer(how, is_part ? sizeof how : 0, room, out, size);
  }
  return cpu_answer(how, is_part ? 0 : sizeof *how, room, out, size);
}

cl_int CL_API_CALL cpu_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t room, void *out,
                                       size_t *size) {
  const size_t items[3] = {DEVICE_GROUP, DEVICE_GROUP, DEVICE_GROUP};
  cl_platform_id platform = &device_platform;
  char text[256];
  for (size_t i = 0; i < sizeof device_numbers / sizeof *device_numbers; i++) {
    if (device_numbers[i].what != what) continue; /* x86-64: the lower bytes come first */
    return cpu_answer(&device_numbers[i].value, device_numbers[i].bytes, room, out, size);
  }
  switch (what) {
    case CL_DEVICE_NAME: device_name(text, sizeof text); break;
    case CL_DRIVER_VERSION: cpu_describe_driver(text, sizeof text); break;
    case CL_DEVICE_VENDOR: snprintf(text, sizeof text, "the processor's maker"); break;
    case CL_DEVICE_PROFILE: snprintf(text, sizeof text, "FULL_PROFILE"); break;
    case CL_DEVICE_EXTENSIONS: snprintf(text, sizeof text, "cl_khr_fp64"); break;
    case CL_DEVICE_BUILT_IN_KERNELS: text[0] = '\0'; break;
    case CL_DEVICE_OPENCL_C_VERSION: snprintf(text, sizeof text, "OpenCL C 1.2"); break;
    case CL_DEVICE_VERSION: snprintf(text, sizeof text, "OpenCL 1.2 " HALO_CPU_PLATFORM); break;
    case CL_DEVICE_MAX_COMPUTE_UNITS:
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
      return cpu_answer(&id->units, sizeof id->units, room, out, size);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
      return device_answer_ulong(device_memory(), room, out, size);
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
      return device_answer_ulong(device_cache(), room, out, size);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return cpu_answer(items, sizeof items, room, out, size);
    case CL_DEVICE_PARTITION_PROPERTIES:
    case CL_DEVICE_PARTITION_TYPE: return device_answer_parts(id, what, room, out, size);
    case CL_DEVICE_PLATFORM: return cpu_answer(&platform, sizeof platform, room, out, size);
    case CL_DEVICE_PARENT_DEVICE: return cpu_answer(&id->whole, sizeof id->whole, room, out, size);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR: return device_answer_width(1, room, out, size);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT: return device_answer_width(2, room, out, size);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_INT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: return device_answer_width(4, room, out, size);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE: return device_answer_width(8, room, out, size);
    default: return CL_INVALID_VALUE;
  }
  return cpu_answer_text(text, room, out, size);
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
  bool good = count && ids && ids[0];
  if (code) *code = good ? CL_SUCCESS : CL_INVALID_VALUE;
  if (!good) return NULL;
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

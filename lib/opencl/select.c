/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/select.c: asking OpenCL for its devices, and choosing one. */
#include "base/config.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/processor.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "opencl/pocl.h"
#include "opencl/private.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Of vendors' and newer headers; queries that a device does not know just fail. */
enum {
  SELECT_HALF_FP_CONFIG = 0x1033,
  SELECT_WARP_SIZE_NV = 0x4003,
  SELECT_BOARD_NAME_AMD = 0x4038,
  SELECT_WAVEFRONT_WIDTH_AMD = 0x4043,
  SELECT_WORK_GROUP_MULTIPLE_CL30 = 0x1067
};

typedef struct select_found {
  cl_platform_id platform;
  cl_device_id id;
  halo_cl_listing listing;
} select_found;

typedef HALO_VEC(select_found) select_list;

static void select_platform_text(cl_platform_id id, cl_platform_info what, char *out, size_t size) {
  char text[1024] = "";
  halo_cl.clGetPlatformInfo(id, what, sizeof text - 1, text, NULL);
  snprintf(out, size, "%.*s", (int)size - 1, text);
}

static void select_text(cl_device_id id, cl_device_info what, char *out, size_t size) {
  char text[1024] = "";
  halo_cl.clGetDeviceInfo(id, what, sizeof text - 1, text, NULL);
  const char *start = text;
  while (isspace((unsigned char)*start)) start++;
  snprintf(out, size, "%.*s", (int)size - 1, start);
}

/* An unsigned property of 4 or 8 bytes, or `fallback` when the device does not tell. */
static uint64_t select_number(cl_device_id id, cl_device_info what, uint64_t fallback) {
  uint64_t wide = 0;
  size_t size = 0;
  if (halo_cl.clGetDeviceInfo(id, what, sizeof wide, &wide, &size) != CL_SUCCESS) return fallback;
  if (size == sizeof(uint64_t)) return wide;
  uint32_t narrow;
  memcpy(&narrow, &wide, sizeof narrow);
  return size == sizeof narrow ? narrow : fallback;
}

static bool select_has_word(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)); at += length) {
    bool starts = at == list || at[-1] == ' ';
    if (starts && (at[length] == ' ' || at[length] == '\0')) return true;
  }
  return false;
}

static char *select_extensions(cl_device_id id) {
  size_t size = 0;
  halo_cl.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size);
  char *text = halo_alloc(size + 1);
  if (halo_cl.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, text, NULL) != CL_SUCCESS)
    text[0] = '\0';
  return text;
}

/* CPUs take some hundred cycles for an operation on subnormal numbers, or one that gives such, and whole vectors
 * with it: exponentials of much less than 0, as under a softmax's mask, took seven times as long. XLA's CPU
 * backend flushes them too. */
static bool select_flushes(const halo_caps *caps) {
  const char *wish = halo_config_text(HALO_CONFIG_DENORMALS);
  return wish && *wish ? strcmp(wish, "flush") == 0 : caps->is_cpu;
}

static void select_floats(cl_device_id id, halo_caps *caps) {
  char *extensions = select_extensions(id);
  uint64_t f32 = select_number(id, CL_DEVICE_SINGLE_FP_CONFIG, 0);
  uint64_t f64 = select_number(id, CL_DEVICE_DOUBLE_FP_CONFIG, 0);
  uint64_t f16 = select_number(id, SELECT_HALF_FP_CONFIG, 0);
  caps->has_f64 = f64 != 0 || select_has_word(extensions, "cl_khr_fp64");
  caps->has_f16 = select_has_word(extensions, "cl_khr_fp16");
  caps->has_atomics64 = select_has_word(extensions, "cl_khr_int64_base_atomics");
  caps->has_atomics64_extended = select_has_word(extensions, "cl_khr_int64_extended_atomics");
  caps->correctly_rounded = (f32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  bool keeps = !select_flushes(caps);
  caps->denormals_f32 = keeps && (f32 & CL_FP_DENORM) != 0;
  caps->denormals_f64 = keeps && (f64 & CL_FP_DENORM) != 0;
  caps->denormals_f16 = (f16 & CL_FP_DENORM) != 0;
  caps->fma_f32 = (f32 & CL_FP_FMA) != 0;
  caps->converts_f16 = true; /* until a probe says otherwise */
  halo_free(extensions);
}

static void select_sizes(cl_device_id id, halo_caps *caps) {
  size_t items[16] = {1, 1, 1}, group = 1;
  halo_cl.clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL);
  halo_cl.clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL);
  for (int i = 0; i < 3; i++) caps->max_items[i] = items[i];
  caps->max_work_group = group;
  caps->compute_units = (uint32_t)select_number(id, CL_DEVICE_MAX_COMPUTE_UNITS, 1);
  caps->clock_mhz = (uint32_t)select_number(id, CL_DEVICE_MAX_CLOCK_FREQUENCY, 0);
  caps->address_bits = (uint32_t)select_number(id, CL_DEVICE_ADDRESS_BITS, 64);
  caps->base_alignment = (uint32_t)select_number(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024) / 8;
  if (caps->base_alignment < 16) caps->base_alignment = 16;
  caps->cache_line = (uint32_t)select_number(id, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 0);
  uint64_t width = select_number(id, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 1);
  caps->vector_width_float = width ? (uint32_t)width : 1;
  caps->local_memory = select_number(id, CL_DEVICE_LOCAL_MEM_SIZE, 0);
  caps->local_is_real = select_number(id, CL_DEVICE_LOCAL_MEM_TYPE, CL_GLOBAL) == CL_LOCAL;
  caps->global_memory = select_number(id, CL_DEVICE_GLOBAL_MEM_SIZE, 0);
  caps->max_allocation = select_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0);
  caps->global_cache = select_number(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 0);
  caps->max_constant = select_number(id, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, 0);
  size_t parameters = 1024;
  halo_cl.clGetDeviceInfo(id, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof parameters, &parameters, NULL);
  caps->max_parameters = parameters;
  caps->shares_host_memory = select_number(id, CL_DEVICE_HOST_UNIFIED_MEMORY, 0) != 0;
}

/* Work items in step: told by the vendor or by OpenCL 3.0, or guessed. */
static uint32_t select_simd_width(cl_device_id id, const halo_caps *caps) {
  static const cl_device_info questions[] = {SELECT_WARP_SIZE_NV, SELECT_WAVEFRONT_WIDTH_AMD,
                                             SELECT_WORK_GROUP_MULTIPLE_CL30};
  if (caps->is_cpu) {
    return (uint32_t)select_number(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                                   caps->vector_width_float);
  }
  for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
    uint64_t width = select_number(id, questions[i], 0);
    if (width && width <= 1024) return (uint32_t)width;
  }
  return caps->is_gpu ? 32 : 1;
}

/* Products of several narrow numbers at once need functions that are compiled for the processor's own instructions. Drivers
 * may compile for lesser processors, and LLVM ends the process where they put such a function into a kernel for one. */
static void select_products(cl_device_id id, halo_caps *caps) {
  const halo_cl_provider *own = halo_cl_provider_of(id);
  if (!own || !own->is_host || caps->simd_width < 16) return;
  caps->multiplies_bytes = halo_processor_has_avx512vnni();
  caps->multiplies_bf16 = halo_processor_has_avx512bf16() && halo_caps_flushes(caps);
}

/* PoCL's devices are called DRIVER-PROCESSOR-PRODUCT, where LLVM's name of the processor, which also ends the version, may have
 * dashes of its own. */
static const char *select_product_of_pocl(const halo_caps *caps) {
  const char *processor = strchr(caps->name, '-');
  size_t version = strlen(caps->version);
  for (const char *end = processor ? strchr(processor + 1, '-') : NULL; end;
       end = strchr(end + 1, '-')) {
    size_t length = (size_t)(end - processor); /* with the dash before it */
    if (length > version || !end[1]) continue;
    if (memcmp(caps->version + version - length, processor, length) == 0) return end + 1;
  }
  return caps->name;
}

/* AMD's drivers call devices by their architecture, as gfx1100. */
static void select_product(cl_device_id id, halo_caps *caps) {
  snprintf(caps->product, sizeof caps->product, "%s",
           halo_pocl_is(caps) ? select_product_of_pocl(caps) : caps->name);
  if (!strstr(caps->vendor, "AMD") && !strstr(caps->vendor, "Advanced Micro")) return;
  char board[sizeof caps->product] = "";
  select_text(id, SELECT_BOARD_NAME_AMD, board, sizeof board);
  if (*board) memcpy(caps->product, board, sizeof board);
}

/* OpenCL has no question for this. CUDA's grids end at 65535 groups along y and z; AMD's dispatch packets count work items in
 * 32 bits. */
static void select_groups(halo_caps *caps) {
  static const uint64_t nvidia[3] = {INT32_MAX, 65535, 65535};
  if (strstr(caps->vendor, "NVIDIA")) memcpy(caps->max_groups, nvidia, sizeof nvidia);
  bool amd = strstr(caps->vendor, "AMD") || strstr(caps->vendor, "Advanced Micro");
  if (amd && caps->is_gpu) caps->max_launch = UINT32_MAX;
}

static void select_describe(cl_platform_id platform, cl_device_id id, halo_cl_listing *out) {
  halo_caps *caps = &out->caps;
  select_platform_text(platform, CL_PLATFORM_NAME, caps->platform, sizeof caps->platform);
  select_platform_text(platform, CL_PLATFORM_VERSION, caps->platform_version,
                       sizeof caps->platform_version);
  select_text(id, CL_DEVICE_NAME, caps->name, sizeof caps->name);
  select_text(id, CL_DEVICE_VENDOR, caps->vendor, sizeof caps->vendor);
  select_text(id, CL_DRIVER_VERSION, caps->driver, sizeof caps->driver);
  select_text(id, CL_DEVICE_VERSION, caps->version, sizeof caps->version);
  select_product(id, caps);
  halo_cl_address(id, out->address);
  uint64_t type = select_number(id, CL_DEVICE_TYPE, CL_DEVICE_TYPE_ACCELERATOR);
  caps->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  caps->is_gpu = !caps->is_cpu && (type & CL_DEVICE_TYPE_GPU) != 0;
  caps->kind = caps->is_cpu ? HALO_CAPS_CPU : caps->is_gpu ? HALO_CAPS_GPU : HALO_CAPS_ACCELERATOR;
  select_sizes(id, caps);
  select_groups(caps);
  /* Mesa's llvmpipe counts rounds for the whole work item, and leaves every loop once there were so many (seen with
   * 22.3; lp_bld_limits.h there). */
  if (strncmp(caps->name, "llvmpipe", 8) == 0) caps->max_rounds = 65535;
  select_floats(id, caps);
  caps->simd_width = select_simd_width(id, caps);
  if (caps->simd_width == 0) caps->simd_width = 1;
  select_products(id, caps);
  caps->adds_barriers =
      caps->is_cpu && halo_pocl_is(caps) && halo_pocl_version(caps->platform_version) >= 400;
  int major = 0, minor = 0;
  bool version = sscanf(caps->version, "OpenCL %d.%d", &major, &minor) == 2;
  out->usable = version && (major > 1 || minor >= 2) && caps->global_memory &&
                caps->max_allocation && select_number(id, CL_DEVICE_AVAILABLE, 0) &&
                select_number(id, CL_DEVICE_ENDIAN_LITTLE, 0) &&
                select_number(id, CL_DEVICE_COMPILER_AVAILABLE, 0);
}

static void select_add_platform(cl_platform_id platform, int number, select_list *list) {
  cl_uint count = 0;
  if (halo_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS ||
      !count) {
    return;
  }
  cl_device_id *ids = halo_alloc(sizeof *ids * count);
  if (halo_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL) == CL_SUCCESS) {
    for (cl_uint i = 0; i < count; i++) {
      select_found found = {.platform = platform, .id = ids[i]};
      found.listing.platform = number;
      found.listing.device = (int)i;
      select_describe(platform, ids[i], &found.listing);
      halo_vec_push(list, found);
    }
  }
  halo_free(ids);
}

/* Runtimes find their devices when they are first asked, and PoCL 3.1 offers none, or crashes, when two
 * threads are the first at once. */
static pthread_mutex_t select_lock = PTHREAD_MUTEX_INITIALIZER;

/* What only serves another device is none of its own, and has no number. */
static void select_drop_synchronous(select_list *list) {
  int32_t kept = 0, dropped = 0;
  for (int32_t i = 0; i < list->count; i++) {
    select_found one = list->data[i];
    bool serves = false;
    for (int32_t k = 0; k < list->count; k++) {
      const select_found *other = &list->data[k];
      serves |= other->platform == one.platform && halo_pocl_is(&other->listing.caps) &&
                halo_cl_is_synchronous_of(one.listing.caps.name, other->listing.caps.name);
    }
    if (i > 0 && list->data[i - 1].platform != one.platform) dropped = 0;
    dropped += serves;
    if (serves) continue;
    one.listing.device -= dropped;
    list->data[kept++] = one;
  }
  list->count = kept;
}

/* Why PoCL, which is there, has no device: it has none where it cannot write its cache, or is told to have none. */
static halo_status select_none_of_pocl(void) {
  char *folder = halo_config_pocl_cache_dir();
  const char *drivers = halo_config_pocl_devices();
  halo_status status;
  if (folder) halo_folder_make(folder); /* as PoCL does */
  if (folder && access(folder, W_OK | X_OK) != 0) {
    status =
        halo_fail(HALO_NO_DEVICE,
                  "no OpenCL device: PoCL offers none, as it cannot write to the folder of its "
                  "cache, %s; POCL_CACHE_DIR names another",
                  folder);
  } else if (drivers) {
    status = halo_fail(HALO_NO_DEVICE,
                       "no OpenCL device: PoCL offers those that POCL_DEVICES names, and that is "
                       "\"%s\"; unset it to have all",
                       drivers);
  } else {
    status = halo_fail(HALO_NO_DEVICE,
                       "no OpenCL device: PoCL is there, and offers none" HALO_CL_DOCTOR);
  }
  halo_free(folder);
  return status;
}

/* All devices; without `drivers` our own processor device may be the only one (halo_cl_api_open). */
static halo_status select_all(bool drivers, select_list *list) {
  cl_uint count = 0;
  char name[64] = ""; /* of a platform */
  bool has_pocl = false;
  HALO_TRY(halo_cl_process_check());
  halo_cl_process_begin();
  /* Drivers that are opened add platforms: not between the two questions of another thread. */
  pthread_mutex_lock(&select_lock);
  halo_status status = halo_cl_api_open(drivers);
  if (status != HALO_OK) {
    pthread_mutex_unlock(&select_lock);
    return status;
  }
  cl_int code = halo_cl.clGetPlatformIDs(0, NULL, &count);
  if (code == CL_SUCCESS && count) {
    cl_platform_id *platforms = halo_alloc(sizeof *platforms * count);
    code = halo_cl.clGetPlatformIDs(count, platforms, NULL);
    for (cl_uint i = 0; code == CL_SUCCESS && i < count; i++) {
      halo_caps caps = {0};
      select_platform_text(platforms[i], CL_PLATFORM_NAME, caps.platform, sizeof caps.platform);
      has_pocl |= halo_pocl_is(&caps);
      if (i == 0) snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, caps.platform);
      select_add_platform(platforms[i], (int)i, list);
    }
    halo_free(platforms);
  }
  pthread_mutex_unlock(&select_lock);
  select_drop_synchronous(list);
  if (list->count) return HALO_OK;
  if (has_pocl) return select_none_of_pocl();
  if (*name) {
    return halo_fail(HALO_NO_DEVICE,
                     "no OpenCL device: the driver is there (%s), and offers none" HALO_CL_DOCTOR,
                     name);
  }
  return halo_fail(
      HALO_NO_DEVICE,
      "no OpenCL device: install your GPU vendor's OpenCL driver or, for the processor, "
      "clang-15 or newer (x86-64) or PoCL (Debian and Ubuntu: apt install "
      "pocl-opencl-icd brings both)" HALO_CL_DOCTOR);
}

static halo_cl_listing *select_listings(const select_list *list) {
  halo_cl_listing *listings = halo_alloc(sizeof *listings * (size_t)list->count);
  for (int i = 0; i < list->count; i++) listings[i] = list->data[i].listing;
  return listings;
}

/* The numbers by which a device is selected; -1: it is not there. */
static void select_find_numbers(cl_device_id id, int *platform, int *device) {
  select_list list = {0};
  *platform = *device = -1;
  if (select_all(true, &list) != HALO_OK) return;
  for (int32_t i = 0; i < list.count; i++) {
    if (list.data[i].id != id) continue;
    *platform = list.data[i].listing.platform;
    *device = list.data[i].listing.device;
  }
  halo_vec_deinit(&list);
}

static cl_device_id select_parent(cl_device_id id) {
  cl_device_id parent = NULL;
  cl_int code = halo_cl.clGetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL);
  return code == CL_SUCCESS ? parent : NULL;
}

void halo_cl_identify(const halo_cl_device *device, halo_cl_identity *out) {
  *out = (halo_cl_identity){.platform = -1, .device = -1};
  if (device->caps.is_null) return;
  cl_device_id id = device->id;
  for (cl_device_id parent; (parent = select_parent(id)) != NULL;) id = parent;
  select_find_numbers(id, &out->platform, &out->device);
  halo_cl_address(id, out->address);
}

/* Whether a driver's device stands for a GPU. */
static bool select_treats_as_gpu(void) {
  const char *kind = halo_config_text(HALO_CONFIG_TREAT_AS);
  return kind && strcmp(kind, "gpu") == 0;
}

/* Whether our own processor device is the one that a selector means where only PoCL has others. */
static bool select_takes_own(const char *selector) {
  return (!*selector || strcasecmp(selector, "cpu") == 0) && !select_treats_as_gpu();
}

halo_status halo_cl_enumerate(const char *selector, halo_cl_listing **out, int *count) {
  select_list list = {0};
  *out = NULL;
  *count = 0;
  halo_status status = select_all(!selector || !select_takes_own(selector), &list);
  if (status == HALO_OK) {
    *out = select_listings(&list);
    *count = list.count;
  }
  halo_vec_deinit(&list);
  return status;
}

static int select_first(const halo_cl_listing *list, int count, const char *kind) {
  for (int i = 0; i < count; i++) {
    bool fits = !kind || strcasecmp(kind, halo_caps_kind_name(&list[i].caps)) == 0;
    if (fits && list[i].usable) return i;
  }
  return -1;
}

/* Whether a text has a part, in capital letters or small ones. */
static bool select_has(const char *text, const char *part) {
  size_t length = strlen(part);
  while (*text && strncasecmp(text, part, length) != 0) text++;
  return *text || !length;
}

static int select_named(const halo_cl_listing *list, int count, const char *part) {
  for (int round = 0; round < 2; round++) { /* usable ones first */
    for (int i = 0; i < count; i++) {
      const halo_caps *caps = &list[i].caps;
      bool fits = select_has(caps->name, part) || select_has(caps->platform, part) ||
                  select_has(caps->platform_version, part);
      if (fits && (list[i].usable || round)) return i;
    }
  }
  return -1;
}

/* The processor by our own provider, in the place of PoCL: programs start sooner and run faster on it. Kernels for GPUs, which
 * $HALO_TREAT_AS may ask for, have nothing to share among its groups of one item. */
static int select_own(const halo_cl_listing *list, int count, int chosen) {
  if (select_treats_as_gpu()) return chosen;
  if (chosen < 0 || !halo_pocl_is(&list[chosen].caps) || !list[chosen].caps.is_cpu) return chosen;
  for (int i = 0; i < count; i++) {
    if (list[i].usable && halo_cl_provider_is_host(list[i].caps.platform)) return i;
  }
  return chosen;
}

int halo_cl_choose(const halo_cl_listing *list, int count, const char *selector) {
  int platform = 0, device = 0, used = 0;
  if (!*selector) {
    int gpu = select_first(list, count, "gpu");
    return select_own(list, count, gpu >= 0 ? gpu : select_first(list, count, NULL));
  }
  for (int kind = HALO_CAPS_CPU; kind <= HALO_CAPS_ACCELERATOR; kind++) {
    const char *name = halo_caps_kind_name(&(halo_caps){.kind = (halo_caps_kind)kind});
    if (strcasecmp(selector, name) == 0) {
      return select_own(list, count, select_first(list, count, name));
    }
  }
  if (sscanf(selector, "%d:%d%n", &platform, &device, &used) == 2 && !selector[used]) {
    for (int i = 0; i < count; i++) {
      if (list[i].platform == platform && list[i].device == device) return i;
    }
    return -1;
  }
  return select_named(list, count, selector);
}

/* ---- Several ---- */

/* Whether a device of another platform is at the same place of the machine as an earlier one. */
static bool select_is_again(const halo_cl_listing *list, int count, int index) {
  if (select_own(list, count, index) != index) return true; /* the same processor */
  for (int i = 0; i < index; i++) {
    if (list[i].usable && list[index].address[0] && list[i].platform != list[index].platform &&
        strcmp(list[i].address, list[index].address) == 0) {
      return true;
    }
  }
  return false;
}

/* The platform whose GPUs have most memory; -1: none has any. */
static int select_gpu_platform(const halo_cl_listing *list, int count) {
  int best = -1;
  uint64_t most = 0;
  for (int i = 0; i < count; i++) {
    uint64_t memory = 0;
    for (int k = 0; k < count; k++) {
      bool counts = list[k].platform == list[i].platform && list[k].usable && list[k].caps.is_gpu;
      if (counts) memory += list[k].caps.global_memory;
    }
    if (memory > most) best = list[i].platform;
    if (memory > most) most = memory;
  }
  return best;
}

int halo_cl_choose_several(const halo_cl_listing *list, int count, const char *selector, int *out) {
  bool all = strcasecmp(selector, "all") == 0;
  if (!all && strcasecmp(selector, "all-gpus") != 0) return -1;
  int platform = all ? -1 : select_gpu_platform(list, count), found = 0;
  for (int i = 0; i < count; i++) {
    bool fits = all ? !select_is_again(list, count, i)
                    : list[i].caps.is_gpu && list[i].platform == platform;
    if (fits && list[i].usable) out[found++] = i;
  }
  return found;
}

#define SELECT_NEEDS                                                                               \
  "OpenCL 1.2, a compiler for its C, little-endian byte order and a device that is available"

static halo_status select_none(const select_list *list, const char *selector) {
  halo_strbuf text = {0};
  bool all = true;
  for (int i = 0; i < list->count; i++) {
    const halo_cl_listing *listing = &list->data[i].listing;
    all = all && listing->usable;
    halo_strbuf_printf(&text, "%s%d:%d %s \"%s\"%s", i ? ", " : "", listing->platform,
                       listing->device, halo_caps_kind_name(&listing->caps), listing->caps.name,
                       listing->usable ? "" : " (not usable)");
  }
  if (!all) halo_strbuf_append(&text, "; usable is what has " SELECT_NEEDS);
  halo_strbuf_append(&text, "; 'halo doctor' says why there are no others");
  halo_status status =
      *selector ? halo_fail(HALO_NOT_FOUND, "no OpenCL device matches \"%.80s\"; there are: %s",
                            selector, halo_strbuf_text(&text))
                : halo_fail(HALO_NOT_FOUND, "no OpenCL device can be used; there are: %s",
                            halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return status;
}

halo_status halo_cl_select(const char *selector, cl_platform_id *platform, cl_device_id *id,
                           halo_caps *caps) {
  select_list list = {0};
  halo_status status = select_all(!select_takes_own(selector), &list);
  const select_found *found = NULL;
  if (status == HALO_OK) {
    halo_cl_listing *listings = select_listings(&list);
    int index = halo_cl_choose(listings, list.count, selector);
    if (index >= 0) found = &list.data[index];
    halo_free(listings);
  }
  if (status == HALO_OK && !found) status = select_none(&list, selector);
  if (found && !found->listing.usable) {
    status = halo_fail(HALO_UNIMPLEMENTED, "%s (%s) cannot be used: that takes " SELECT_NEEDS,
                       found->listing.caps.name, found->listing.caps.version);
  }
  if (status == HALO_OK) {
    *platform = found->platform;
    *id = found->id;
    *caps = found->listing.caps;
  }
  halo_vec_deinit(&list);
  return status;
}

/* opencl/device.c: opening and closing a device. */
#include "base/config.h"
#include "base/memory.h"
#include "opencl/private.h"

#include <string.h>

static halo_status device_open_queue(halo_cl_device *device, const char *selector) {
  cl_int code;
  HALO_TRY(halo_cl_select(selector, &device->platform, &device->id, &device->caps));
  cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                        (cl_context_properties)device->platform, 0};
  device->context = clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
  HALO_TRY(halo_cl_check(code, "clCreateContext"));
  device->queue = clCreateCommandQueue(device->context, device->id,
                                       device->profile ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
  return halo_cl_check(code, "clCreateCommandQueue");
}

/* Kernels for GPUs can be tried on a CPU, and the other way round. */
static halo_status device_treat(halo_caps *caps) {
  const char *kind = halo_config_text(HALO_CONFIG_TREAT_AS);
  if (!kind || !*kind) return HALO_OK;
  caps->is_cpu = strcmp(kind, "cpu") == 0;
  caps->is_gpu = strcmp(kind, "gpu") == 0;
  caps->kind = caps->is_cpu ? HALO_CAPS_CPU : HALO_CAPS_GPU;
  if (caps->is_cpu || caps->is_gpu) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT, "%s: \"gpu\" or \"cpu\" is expected, not \"%s\"",
                   halo_config_name(HALO_CONFIG_TREAT_AS), kind);
}

static halo_status device_init(halo_cl_device *device, const halo_cl_options *options) {
  static const char null_prefix[] = "null:";
  const char *selector = options->device;
  if (!selector || !*selector) selector = halo_config_text(HALO_CONFIG_DEVICE);
  if (!selector) selector = "";
  uint64_t limit = options->memory_limit;
  if (!limit) HALO_TRY(halo_config_bytes(HALO_CONFIG_MEMORY_LIMIT, &limit));
  device->profile = options->profile;
  if (strncmp(selector, null_prefix, strlen(null_prefix)) == 0) {
    HALO_TRY(halo_caps_read(selector + strlen(null_prefix), &device->caps));
  } else {
    HALO_TRY(device_open_queue(device, selector));
    HALO_TRY(device_treat(&device->caps));
  }
  device->memory = halo_cl_memory_create(limit ? limit : device->caps.global_memory);
  bool by_hand = options->cache_dir || halo_config_text(HALO_CONFIG_CACHE_DIR);
  char *directory = !options->cache_dir   ? halo_config_cache_dir()
                    : *options->cache_dir ? halo_strdup(options->cache_dir)
                                          : NULL;
  device->programs = halo_cl_programs_create(directory, by_hand);
  return HALO_OK;
}

halo_status halo_cl_device_open(const halo_cl_options *options, halo_cl_device **out) {
  static const halo_cl_options defaults;
  *out = NULL;
  HALO_TRY(halo_cl_process_check());
  halo_cl_device *device = halo_alloc(sizeof *device);
  atomic_init(&device->references, 1);
  halo_status status = device_init(device, options ? options : &defaults);
  if (status != HALO_OK) {
    char *message = halo_error_save();
    halo_cl_device_release(device);
    halo_error_restore(message);
    return status;
  }
  *out = device;
  return HALO_OK;
}

void halo_cl_device_retain(halo_cl_device *device) { atomic_fetch_add(&device->references, 1); }

void halo_cl_device_release(halo_cl_device *device) {
  if (!device || atomic_fetch_sub(&device->references, 1) != 1) return;
  if (halo_cl_is_forked()) return; /* the driver's things are the parent's */
  if (device->queue) clFinish(device->queue);
  halo_cl_programs_release(device->programs);
  halo_cl_memory_release(device->memory);
  if (device->queue) clReleaseCommandQueue(device->queue);
  if (device->context) clReleaseContext(device->context);
  halo_free(device);
}

halo_status halo_cl_device_check_runs(const halo_cl_device *device, const char *what) {
  if (!device->caps.is_null) return halo_cl_process_check();
  return halo_fail(HALO_UNIMPLEMENTED, "%s needs a device that can run; \"%s\" is a null device",
                   what, device->caps.name);
}

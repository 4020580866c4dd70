/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/device.c: opening and closing a device. */
#include "base/config.h"
#include "base/memory.h"
#include "base/vec.h"
#include "opencl/private.h"

#include <stdlib.h>
#include <string.h>

/* An equal part of the selected device becomes the device. */
static halo_status device_take_part(halo_cl_device *device, const halo_cl_item *item) {
  cl_uint units = device->caps.compute_units / (cl_uint)item->parts;
  if (units == 0) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s has %u compute unit%s: not enough for %d parts",
                     device->caps.name, device->caps.compute_units,
                     halo_plural(device->caps.compute_units), item->parts);
  }
  HALO_TRY(halo_cl_subdevice(device->id, units, item->part, &device->id));
  device->caps.compute_units = units;
  return HALO_OK;
}

static halo_status device_open_queues(halo_cl_device *device, const halo_cl_item *item) {
  cl_int code;
  HALO_TRY(halo_cl_select(item->selector, &device->platform, &device->id, &device->caps));
  if (item->parts) HALO_TRY(device_take_part(device, item));
  const halo_cl_provider *own = halo_cl_provider_of(device->id);
  cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                        (cl_context_properties)device->platform, 0};
  if (own) properties[0] = 0; /* the ICD loader does not list this platform */
  if (halo_cl_is_synchronous(&device->caps)) HALO_TRY(halo_cl_queue_lock_device(device->id));
  device->context = halo_cl.clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
  HALO_TRY(halo_cl_check(code, "clCreateContext"));
  /* Times cost a processor nothing; what they cost a GPU is its driver's matter. */
  device->timed =
      device->profile || device->caps.is_cpu || halo_config_flag(HALO_CONFIG_TIME_COMMANDS);
  cl_command_queue_properties timed = device->timed ? CL_QUEUE_PROFILING_ENABLE : 0;
  device->queue = halo_cl.clCreateCommandQueue(device->context, device->id, timed, &code);
  HALO_TRY(halo_cl_check(code, "clCreateCommandQueue"));
  device->aside = halo_cl.clCreateCommandQueue(device->context, device->id, timed, &code);
  HALO_TRY(halo_cl_check(code, "clCreateCommandQueue"));
  device->transfers = halo_cl.clCreateCommandQueue(device->context, device->id, 0, &code);
  HALO_TRY(halo_cl_check(code, "clCreateCommandQueue"));
  if (!own || !own->in_caller) return HALO_OK;
  timed |= own->in_caller;
  device->sync_queue = halo_cl.clCreateCommandQueue(device->context, device->id, timed, &code);
  return halo_cl_check(code, "clCreateCommandQueue");
}

static halo_status device_check_denormals(void) {
  const char *wish = halo_config_text(HALO_CONFIG_DENORMALS);
  if (!wish || !*wish || strcmp(wish, "keep") == 0 || strcmp(wish, "flush") == 0) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT, "%s: \"keep\" or \"flush\" is expected, not \"%s\"",
                   halo_config_name(HALO_CONFIG_DENORMALS), wish);
}

/* Kernels for GPUs can be tried on a CPU, and the other way round; and memory that the host must copy. */
static halo_status device_treat(halo_caps *caps) {
  if (halo_config_flag(HALO_CONFIG_SEPARATE_MEMORY)) caps->shares_host_memory = false;
  const char *kind = halo_config_text(HALO_CONFIG_TREAT_AS);
  if (!kind || !*kind) return HALO_OK;
  caps->is_cpu = strcmp(kind, "cpu") == 0;
  caps->is_gpu = strcmp(kind, "gpu") == 0;
  caps->kind = caps->is_cpu ? HALO_CAPS_CPU : HALO_CAPS_GPU;
  if (caps->is_cpu || caps->is_gpu) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT, "%s: \"gpu\" or \"cpu\" is expected, not \"%s\"",
                   halo_config_name(HALO_CONFIG_TREAT_AS), kind);
}

/* Drivers of GPUs end what takes some seconds, and a display waits for every launch. */
static halo_status device_limit_time(halo_cl_device *device) {
  uint64_t micros;
  HALO_TRY(halo_caps_launch_time(&device->caps, &micros));
  device->longest = (double)micros * 1e-6;
  if (micros) device->ahead = halo_cl_ahead_create();
  return HALO_OK;
}

static halo_status device_init(halo_cl_device *device, const halo_cl_options *options,
                               const halo_cl_item *item) {
  uint64_t limit = options->memory_limit;
  if (!limit) HALO_TRY(halo_config_bytes(HALO_CONFIG_MEMORY_LIMIT, &limit));
  device->profile = options->profile;
  if (halo_cl_is_null(item->selector)) {
    HALO_TRY(halo_caps_read(item->selector + strlen(halo_cl_null_prefix), &device->caps));
  } else {
    HALO_TRY(device_check_denormals());
    HALO_TRY(device_open_queues(device, item));
    HALO_TRY(device_treat(&device->caps));
    HALO_TRY(device_limit_time(device));
  }
  device->memory = halo_cl_memory_create(limit ? limit : device->caps.global_memory);
  char *directory = !options->cache_dir   ? halo_config_cache_dir()
                    : *options->cache_dir ? halo_strdup(options->cache_dir)
                                          : NULL;
  device->programs = halo_cl_programs_create(directory, options->cache_dir);
  device->timeline = halo_cl_timeline_create();
  device->stages = halo_cl_stages_create();
  return HALO_OK;
}

static void device_finish_queues(halo_cl_device *device) {
  if (device->aside) halo_cl.clFinish(device->aside);
  if (device->sync_queue) halo_cl.clFinish(device->sync_queue);
  if (device->queue) halo_cl.clFinish(device->queue);
  if (device->transfers) halo_cl.clFinish(device->transfers);
}

static void device_destroy(halo_cl_device *device) {
  if (halo_cl_is_forked()) return; /* the driver's things are the parent's */
  halo_cl_process_remove(device);
  halo_cl_stages_release(device);
  device_finish_queues(device);
  halo_cl_ahead_release(device->ahead);
  halo_cl_timeline_release(device->timeline);
  halo_cl_programs_release(device->programs);
  halo_cl_memory_release(device->memory);
  if (device->sync_queue) halo_cl.clReleaseCommandQueue(device->sync_queue);
  if (device->transfers) halo_cl.clReleaseCommandQueue(device->transfers);
  if (device->aside) halo_cl.clReleaseCommandQueue(device->aside);
  if (device->queue) halo_cl.clReleaseCommandQueue(device->queue);
  if (device->context) halo_cl.clReleaseContext(device->context);
  halo_free(device);
}

static halo_status device_open_item(const halo_cl_options *options, const halo_cl_item *item,
                                    halo_cl_device **out) {
  *out = NULL;
  HALO_TRY(halo_cl_process_check());
  halo_cl_device *device = halo_alloc(sizeof *device);
  atomic_init(&device->references, 1);
  device->destroy = device_destroy;
  halo_status status = device_init(device, options, item);
  if (status != HALO_OK) {
    char *message = halo_error_save();
    halo_cl_device_release(device);
    halo_error_restore(message);
    return status;
  }
  if (device->queue) halo_cl_process_add(device);
  *out = device;
  return HALO_OK;
}

/* ---- Lists ---- */

halo_status halo_cl_devices_open(const halo_cl_options *options, halo_cl_device ***out,
                                 int *count) {
  halo_cl_items items = {0};
  *out = NULL;
  *count = 0;
  halo_status status = halo_cl_items_parse(options->device, &items);
  if (status == HALO_OK) status = halo_cl_items_expand(&items);
  halo_cl_device **devices = halo_alloc(sizeof *devices * ((size_t)items.count + 1));
  int opened = 0;
  for (int i = 0; i < items.count && status == HALO_OK; i++) {
    status = device_open_item(options, &items.data[i], &devices[i]);
    opened += status == HALO_OK;
  }
  halo_cl_items_release(&items);
  if (status == HALO_OK) {
    *out = devices;
    *count = opened;
    return HALO_OK;
  }
  char *message = halo_error_save();
  for (int i = 0; i < opened; i++) halo_cl_device_release(devices[i]);
  halo_free(devices);
  halo_error_restore(message);
  return status;
}

halo_status halo_cl_device_open(const halo_cl_options *options, halo_cl_device **out) {
  static const halo_cl_options defaults;
  halo_cl_device **devices;
  int count;
  *out = NULL;
  HALO_TRY(halo_cl_devices_open(options ? options : &defaults, &devices, &count));
  *out = devices[0];
  for (int i = 1; i < count; i++) halo_cl_device_release(devices[i]);
  halo_free(devices);
  return HALO_OK;
}

void halo_cl_device_finish(halo_cl_device *device) {
  if (halo_cl_is_forked()) return;
  halo_cl_timeline_drain(device->timeline, NULL);
  device_finish_queues(device);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/client.c: the client and its devices. */
#include "client/client.h"

#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* "PLATFORM:DEVICE" for the local'th device of the kind that the selector stands for, in a buffer; the selector
 * itself where it says more than a kind. */
static halo_status client_local_device(const char *selector, int local, char *out, size_t size) {
  const char *text = selector && *selector ? selector : halo_config_text(HALO_CONFIG_DEVICE);
  snprintf(out, size, "%s", text ? text : "");
  if (*out && strcmp(out, "gpu") != 0 && strcmp(out, "cpu") != 0) return HALO_OK;
  halo_cl_listing *list;
  int count, alike = 0;
  HALO_TRY(halo_cl_enumerate(out, &list, &count));
  int chosen = halo_cl_choose(list, count, out);
  for (int pass = 0; pass < 2 && chosen >= 0; pass++) {
    for (int i = 0, seen = 0; i < count; i++) {
      if (list[i].platform != list[chosen].platform || !list[i].usable) continue;
      if (strcmp(halo_caps_kind_name(&list[i].caps), halo_caps_kind_name(&list[chosen].caps)) !=
          0) {
        continue;
      }
      if (pass == 0) alike++;
      if (pass == 1 && alike > 1 && seen++ == local % alike) {
        snprintf(out, size, "%d:%d", list[i].platform, list[i].device);
      }
    }
  }
  halo_free(list);
  return HALO_OK;
}

/* Whether this machine has GPUs; where devices cannot be listed, opening one says why. */
static bool client_has_gpus(void) {
  halo_cl_listing *list;
  int count, found = 0;
  if (halo_cl_enumerate("", &list, &count) != HALO_OK) return false;
  int *chosen = halo_alloc(sizeof *chosen * ((size_t)count + 1));
  found = halo_cl_choose_several(list, count, "all-gpus", chosen);
  halo_free(chosen);
  halo_free(list);
  return found > 0;
}

/* Whether it is left to the library which device is taken. */
static bool client_is_free(const char *selector) {
  const char *text = selector && *selector ? selector : halo_config_text(HALO_CONFIG_DEVICE);
  return !text || !*text;
}

/* Opens the devices. Where the environment names them, errors about the name say so; errors about other variables begin
 * with theirs. */
static halo_status client_open_devices(const halo_client_options *options, const char *selector,
                                       halo_cl_device ***opened, int *count) {
  halo_cl_options open = {.device = selector,
                          .memory_limit = options->memory_limit,
                          .cache_dir = options->cache_dir,
                          .profile = options->profile};
  halo_status status = halo_cl_devices_open(&open, opened, count);
  const char *name = halo_config_text(HALO_CONFIG_DEVICE);
  bool by_variable = (!options->device || !*options->device) && name && *name;
  bool by_name =
      status == HALO_NOT_FOUND || status == HALO_INVALID_ARGUMENT || status == HALO_UNIMPLEMENTED;
  if (!by_variable || !by_name || strncmp(halo_error_message(), "HALO_", 5) == 0) return status;
  return halo_fail_in(status, "%s=%s", halo_config_name(HALO_CONFIG_DEVICE), name);
}

static void client_log(const halo_client *client) {
  for (int i = 0; i < client->device_count; i++) {
    const halo_caps *caps = &client->devices[i].cl->caps;
    halo_cl_program_stats cache;
    halo_cl_program_get_stats(client->devices[i].cl, &cache);
    const char *kept = !cache.directory        ? "not kept on disk"
                       : cache.left_to_runtime ? "kept by the OpenCL runtime"
                                               : cache.directory;
    halo_log_write(
        "client: device %d is %s (platform %s, driver %s, %u compute unit%s); programs %s%s",
        halo_device_id(&client->devices[i]), caps->name, caps->platform, caps->driver,
        caps->compute_units, halo_plural(caps->compute_units),
        kept == cache.directory ? "are kept in " : "are ", kept);
  }
  int processes = halo_world_process_count(client->world);
  if (processes == 1) return;
  halo_log_write("client: process %d of %d, with %d of %d devices",
                 halo_world_process(client->world), processes, client->device_count,
                 halo_world_device_count(client->world));
}

halo_status halo_client_create(const halo_client_options *options, halo_client **out) {
  static const halo_client_options defaults;
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_client_create: out is NULL");
  *out = NULL;
  if (!options) options = &defaults;
  HALO_TRY(halo_config_check_names());
  HALO_TRY(halo_log_open());
  halo_cl_device **opened;
  int count;
  const char *selector = options->device;
  char local[1024];
  const halo_communicator *communicator = options->communicator;
  if (communicator && communicator->process_count > 1 && communicator->local >= 0 &&
      (!selector || strlen(selector) < sizeof local)) {
    HALO_TRY(client_local_device(selector, communicator->local, local, sizeof local));
    selector = local;
  }
  bool alone = !communicator || communicator->process_count <= 1;
  if (options->all_gpus && alone && client_is_free(selector) && client_has_gpus()) {
    selector = "all-gpus";
  }
  HALO_TRY(client_open_devices(options, selector, &opened, &count));
  halo_client *client = halo_alloc(sizeof *client);
  atomic_init(&client->references, 1);
  client->device_count = count;
  client->devices = halo_alloc(sizeof *client->devices * (size_t)count);
  for (int i = 0; i < count; i++) {
    client->devices[i] = (halo_device){.client = client,
                                       .cl = opened[i],
                                       .tuned = halo_alloc(sizeof(halo_device_tuned)),
                                       .index = i,
                                       .feeds = halo_feeds_create()};
  }
  halo_free(opened);
  double timeout = options->collective_timeout;
  halo_status status = HALO_OK;
  if (timeout <= 0) {
    uint64_t seconds;
    status = halo_config_number(HALO_CONFIG_COLLECTIVE_TIMEOUT, 60, &seconds);
    timeout = (double)seconds;
  }
  if (status == HALO_OK) {
    status = halo_world_create(options->communicator, count, timeout, &client->world);
  }
  for (int i = 0; i < count && status == HALO_OK; i++) {
    status = halo_device_begin_tuning(&client->devices[i]);
  }
  if (status == HALO_OK) {
    bool several = halo_world_device_count(client->world) > 1;
    for (int i = 0; i < count && several; i++) {
      halo_cl_device_allow_direct(client->devices[i].cl);
    }
    *out = client;
    if (HALO_LOGS(HALO_LOG_INFO)) client_log(client);
    return HALO_OK;
  }
  char *message = halo_error_save();
  halo_client_release(client);
  halo_error_restore(message);
  return status;
}

void halo_client_retain(halo_client *client) { atomic_fetch_add(&client->references, 1); }

void halo_client_release(halo_client *client) {
  if (!client || atomic_fetch_sub(&client->references, 1) != 1) return;
  /* Runs that wait for the host wait in vain. */
  for (int i = 0; i < client->device_count; i++) halo_feeds_close(client->devices[i].feeds);
  for (int i = 0; i < client->device_count; i++) halo_cl_device_finish(client->devices[i].cl);
  for (int i = 0; i < client->device_count; i++) {
    halo_cl_device_release(client->devices[i].cl);
    halo_free(client->devices[i].tuned);
    halo_feeds_release(client->devices[i].feeds);
  }
  halo_world_release(client->world);
  halo_free(client->devices);
  halo_free(client);
}

int halo_client_device_count(const halo_client *client) {
  return client ? client->device_count : 0;
}

halo_device *halo_client_device(const halo_client *client, int index) {
  return client && index >= 0 && index < client->device_count ? &client->devices[index] : NULL;
}

int halo_client_process_index(const halo_client *client) {
  return halo_world_process(client->world);
}

int halo_client_process_count(const halo_client *client) {
  return halo_world_process_count(client->world);
}

int halo_client_global_device_count(const halo_client *client) {
  return halo_world_device_count(client->world);
}

int halo_device_id(const halo_device *device) {
  const halo_world *world = device->client->world;
  return halo_world_first_device(world, halo_world_process(world)) + device->index;
}

void halo_client_describe(const halo_caps *caps, halo_device_info *out) {
  *out = (halo_device_info){
      .platform = caps->platform,
      .name = caps->name,
      .product = caps->product,
      .vendor = caps->vendor,
      .driver = caps->driver,
      .version = caps->version,
      .kind = halo_caps_kind_name(caps),
      .memory = caps->global_memory,
      .max_allocation = caps->max_allocation,
      .local_memory =
          __atomic_load_n(&caps->local_memory, __ATOMIC_RELAXED), /* probes correct it */
      .compute_units = caps->compute_units,
      .max_work_group = (uint32_t)caps->max_work_group,
      .has_f64 = caps->has_f64,
      .has_f16 = __atomic_load_n(&caps->has_f16, __ATOMIC_RELAXED),
      .shares_host_memory = caps->shares_host_memory,
  };
}

void halo_device_get_info(const halo_device *device, halo_device_info *out) {
  halo_client_describe(&device->cl->caps, out);
}

void halo_device_reset_memory_stats(halo_device *device) { halo_cl_memory_reset_stats(device->cl); }

void halo_device_get_identity(const halo_device *device, halo_device_identity *out) {
  halo_cl_identity identity;
  halo_cl_identify(device->cl, &identity);
  *out = (halo_device_identity){.platform = identity.platform, .device = identity.device};
  memcpy(out->address, identity.address, sizeof out->address);
}

void *halo_device_get_cl_device(const halo_device *device) { return device->cl->id; }

void halo_device_memory_stats(halo_device *device, halo_memory_stats *out) {
  halo_cl_memory_stats stats;
  halo_cl_memory_get_stats(device->cl, &stats);
  *out = (halo_memory_stats){.live = stats.live,
                             .cached = stats.cached,
                             .peak = stats.peak,
                             .limit = stats.limit,
                             .allocations = stats.allocations,
                             .reused = stats.reused,
                             .largest = stats.largest,
                             .peak_held = stats.peak_held};
}

void halo_device_trim_memory(halo_device *device) { halo_cl_memory_trim(device->cl); }

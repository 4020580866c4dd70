/* client/client.c: the client and its devices. */
#include "client/client.h"

#include "base/memory.h"

halo_status halo_client_create(const halo_client_options *options, halo_client **out) {
  static const halo_client_options defaults;
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_client_create: out is NULL");
  *out = NULL;
  if (!options) options = &defaults;
  halo_cl_device **opened;
  int count;
  HALO_TRY(halo_cl_devices_open(&(halo_cl_options){.device = options->device,
                                                   .memory_limit = options->memory_limit,
                                                   .cache_dir = options->cache_dir,
                                                   .profile = options->profile},
                                &opened, &count));
  halo_client *client = halo_alloc(sizeof *client);
  atomic_init(&client->references, 1);
  client->device_count = count;
  client->devices = halo_alloc(sizeof *client->devices * (size_t)count);
  for (int i = 0; i < count; i++) {
    halo_device_costs_kept *costs = halo_alloc(sizeof *costs);
    pthread_mutex_init(&costs->lock, NULL);
    client->devices[i] = (halo_device){.client = client,
                                       .cl = opened[i],
                                       .costs = costs,
                                       .index = i,
                                       .feeds = halo_feeds_create()};
  }
  halo_free(opened);
  *out = client;
  return HALO_OK;
}

void halo_client_retain(halo_client *client) { atomic_fetch_add(&client->references, 1); }

void halo_client_release(halo_client *client) {
  if (!client || atomic_fetch_sub(&client->references, 1) != 1) return;
  /* Runs that wait for the host wait in vain. */
  for (int i = 0; i < client->device_count; i++) halo_feeds_close(client->devices[i].feeds);
  for (int i = 0; i < client->device_count; i++) halo_cl_device_finish(client->devices[i].cl);
  for (int i = 0; i < client->device_count; i++) {
    halo_cl_device_release(client->devices[i].cl);
    pthread_mutex_destroy(&client->devices[i].costs->lock);
    halo_free(client->devices[i].costs);
    halo_feeds_release(client->devices[i].feeds);
  }
  halo_free(client->devices);
  halo_free(client);
}

int halo_client_device_count(const halo_client *client) {
  return client ? client->device_count : 0;
}

halo_device *halo_client_device(const halo_client *client, int index) {
  return client && index >= 0 && index < client->device_count ? &client->devices[index] : NULL;
}

void halo_client_describe(const halo_caps *caps, halo_device_info *out) {
  *out = (halo_device_info){
      .platform = caps->platform,
      .name = caps->name,
      .vendor = caps->vendor,
      .driver = caps->driver,
      .version = caps->version,
      .kind = halo_caps_kind_name(caps),
      .memory = caps->global_memory,
      .max_allocation = caps->max_allocation,
      .local_memory = caps->local_memory,
      .compute_units = caps->compute_units,
      .max_work_group = (uint32_t)caps->max_work_group,
      .has_f64 = caps->has_f64,
      .has_f16 = caps->has_f16,
      .shares_host_memory = caps->shares_host_memory,
  };
}

void halo_device_get_info(const halo_device *device, halo_device_info *out) {
  halo_client_describe(&device->cl->caps, out);
}

void halo_device_memory_stats(halo_device *device, halo_memory_stats *out) {
  halo_cl_memory_stats stats;
  halo_cl_memory_get_stats(device->cl, &stats);
  *out = (halo_memory_stats){.live = stats.live,
                             .cached = stats.cached,
                             .peak = stats.peak,
                             .limit = stats.limit,
                             .allocations = stats.allocations,
                             .reused = stats.reused};
}

void halo_device_trim_memory(halo_device *device) { halo_cl_memory_trim(device->cl); }

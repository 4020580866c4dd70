/* client/client.c: the client, its device, and host memory that queued writes still read. */
#include "client/client.h"

#include "base/memory.h"

halo_status halo_client_create(const halo_client_options *options, halo_client **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_client_create: out is NULL");
  *out = NULL;
  halo_cl_device *cl;
  static const halo_client_options defaults;
  if (!options) options = &defaults;
  HALO_TRY(halo_cl_device_open(&(halo_cl_options){.device = options->device,
                                                  .memory_limit = options->memory_limit,
                                                  .cache_dir = options->cache_dir,
                                                  .profile = options->profile},
                               &cl));
  halo_client *client = halo_alloc(sizeof *client);
  atomic_init(&client->references, 1);
  pthread_mutex_init(&client->lock, NULL);
  client->device.client = client;
  client->device.cl = cl;
  *out = client;
  return HALO_OK;
}

void halo_client_retain(halo_client *client) { atomic_fetch_add(&client->references, 1); }

void halo_client_release(halo_client *client) {
  if (!client || atomic_fetch_sub(&client->references, 1) != 1) return;
  bool forked = halo_cl_is_forked();
  if (client->device.cl->queue && !forked) clFinish(client->device.cl->queue);
  for (halo_pending *p = client->pending, *next; p; p = next) {
    next = p->next;
    if (!forked) clReleaseEvent(p->event);
    halo_free(p->memory);
    halo_free(p);
  }
  pthread_mutex_destroy(&client->lock);
  halo_cl_device_release(client->device.cl);
  halo_free(client);
}

static bool client_event_is_over(cl_event event) {
  cl_int state = CL_QUEUED;
  cl_int code =
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  return code == CL_SUCCESS && state <= CL_COMPLETE;
}

void halo_client_sweep(halo_client *client) {
  pthread_mutex_lock(&client->lock);
  for (halo_pending **at = &client->pending; *at;) {
    halo_pending *p = *at;
    if (!client_event_is_over(p->event)) {
      at = &p->next;
      continue;
    }
    *at = p->next;
    clReleaseEvent(p->event);
    halo_free(p->memory);
    halo_free(p);
  }
  pthread_mutex_unlock(&client->lock);
}

void halo_client_keep(halo_client *client, cl_event event, void *memory) {
  halo_pending *pending = halo_alloc(sizeof *pending);
  pending->event = event;
  pending->memory = memory;
  pthread_mutex_lock(&client->lock);
  pending->next = client->pending;
  client->pending = pending;
  pthread_mutex_unlock(&client->lock);
}

int halo_client_device_count(const halo_client *client) { return client ? 1 : 0; }

halo_device *halo_client_device(const halo_client *client, int index) {
  return client && index == 0 ? (halo_device *)&client->device : NULL;
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

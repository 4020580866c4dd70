/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/client.c: the client: its options and its devices. */
#include "pjrt/pjrt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options ---- */

typedef struct client_options {
  char *device, *cache_dir;
  int64_t memory_limit, profile, collective_timeout, nodes, node;
} client_options;

/* Frameworks hand numbers on as texts when they came in an environment variable. */
static PJRT_Error *client_number(const PJRT_NamedValue *value, int64_t *out) {
  if (value->type == PJRT_NamedValue_kInt64) {
    *out = value->int64_value;
    return NULL;
  }
  if (value->type == PJRT_NamedValue_kBool) {
    *out = value->bool_value;
    return NULL;
  }
  if (value->type == PJRT_NamedValue_kString) {
    char *text = pjrt_copy(value->string_value, value->value_size), *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    bool good = errno == 0 && end != text && *end == '\0';
    if (!good && (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)) {
      *out = strcasecmp(text, "true") == 0;
      good = true;
    }
    free(text);
    if (good) return NULL;
  }
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the client's option %.*s must be a number",
                    (int)value->name_size, value->name);
}

static PJRT_Error *client_text(const PJRT_NamedValue *value, char **out) {
  if (value->type != PJRT_NamedValue_kString) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the client's option %.*s must be a text",
                      (int)value->name_size, value->name);
  }
  free(*out);
  *out = pjrt_copy(value->string_value, value->value_size);
  return NULL;
}

static PJRT_Error *client_option(const PJRT_NamedValue *value, client_options *o) {
  const struct {
    const char *name;
    char **text;
    int64_t *number;
  } known[] = {{"device", &o->device, NULL},
               {"cache_dir", &o->cache_dir, NULL},
               {"memory_limit", NULL, &o->memory_limit},
               {"profile", NULL, &o->profile},
               {"collective_timeout", NULL, &o->collective_timeout},
               {"num_nodes", NULL, &o->nodes},
               {"node_id", NULL, &o->node},
               {"partition_index", NULL, &(int64_t){0}}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strlen(known[i].name) != value->name_size ||
        memcmp(known[i].name, value->name, value->name_size) != 0) {
      continue;
    }
    return known[i].text ? client_text(value, known[i].text)
                         : client_number(value, known[i].number);
  }
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                    "the client has no option '%.*s': there are device, memory_limit, cache_dir, "
                    "profile and collective_timeout",
                    (int)value->name_size, value->name);
}

/* ---- What it says of itself ---- */

/* Appends a text word by word. Frameworks that find the name of a vendor's own language in a platform's version
 * take it for that vendor's platform, so that such words are left out. */
static void client_append(char *out, size_t size, const char *text) {
  size_t length = strlen(out);
  while (*text) {
    size_t word = strcspn(text, " "), next = word + strspn(text + word, " ");
    bool skip = strncasecmp(text, "cuda", 4) == 0 || strncasecmp(text, "rocm", 4) == 0;
    if (!skip && length + word + 2 < size) {
      if (length) out[length++] = ' ';
      memcpy(out + length, text, word);
      length += word;
      out[length] = '\0';
    }
    text += next;
  }
}

/* Whatever makes programs compiled before useless is in it: it is a part of caches' keys. */
static char *client_describe(const PJRT_Client *client) {
  char text[1024] = "";
  halo_device_info info;
  halo_device_get_info(halo_client_device(client->client, 0), &info);
  client_append(text, sizeof text, "halo " HALO_VERSION_TEXT ",");
  client_append(text, sizeof text, info.platform);
  client_append(text, sizeof text, "|");
  client_append(text, sizeof text, info.name);
  client_append(text, sizeof text, "|");
  client_append(text, sizeof text, info.version);
  client_append(text, sizeof text, "| driver");
  client_append(text, sizeof text, info.driver);
  return pjrt_copy(text, strlen(text));
}

/* ---- Life ---- */

void pjrt_client_release(PJRT_Client *client) {
  if (!client || atomic_fetch_sub(&client->references, 1) != 1) return;
  for (size_t i = 0; i < client->device_count; i++) {
    if (!client->devices[i]->device) pjrt_device_release(client->devices[i]);
  }
  for (size_t i = 0; i < client->addressable_count; i++) {
    pjrt_device_release(client->addressable[i]);
  }
  for (pjrt_mapping *at = client->mappings, *next; at; at = next) {
    next = at->next;
    free(at);
  }
  pthread_mutex_destroy(&client->lock);
  free(client->devices);
  free(client->addressable);
  free(client->memories);
  free(client->topology.descriptions);
  free(client->platform_version);
  halo_client_release(client->client);
  free(client);
}

void pjrt_client_retain(PJRT_Client *client) { atomic_fetch_add(&client->references, 1); }

static void client_add(PJRT_Client *client, PJRT_Device *device) {
  client->devices[client->device_count++] = device;
  if (!device->device) return;
  client->addressable[client->addressable_count++] = device;
  for (size_t m = 0; m < device->memory_count; m++) {
    client->memories[client->memory_count++] = device->memories[m];
  }
}

static void client_add_own(PJRT_Client *client) {
  int count = halo_client_device_count(client->client);
  for (int i = 0; i < count; i++) {
    client_add(client, pjrt_device_create(client, halo_client_device(client->client, i), i,
                                          (int)client->memory_count));
  }
}

/* What a process told of its devices. */
static PJRT_Error *client_add_others(PJRT_Client *client, int process, const pjrt_writer *told) {
  pjrt_message message = {told->data, told->data + told->size};
  pjrt_field field;
  while (pjrt_message_next(&message, &field)) {
    PJRT_Device *device = NULL;
    if ((int)client->device_count < halo_client_global_device_count(client->client)) {
      device = pjrt_device_told(client, process, (int)client->device_count, field.bytes);
    }
    if (!device) break;
    client_add(client, device);
  }
  if (message.at == message.end) return NULL;
  return pjrt_error(PJRT_Error_Code_INTERNAL,
                    "what process %d says of its devices cannot be read: it has another version",
                    process);
}

/* The devices of all processes, in the order of their numbers. */
static PJRT_Error *client_exchange_devices(PJRT_Client *client, const pjrt_job *job) {
  pjrt_writer mine = {0}, *all = pjrt_alloc(sizeof *all * (size_t)job->count);
  PJRT_Device **own = client->addressable;
  client_add_own(client);
  size_t count = client->addressable_count;
  for (size_t i = 0; i < count; i++) pjrt_device_tell(own[i], &mine, 1);
  client->device_count = 0;
  PJRT_Error *error = pjrt_job_exchange(job, "devices", &mine, all);
  for (int p = 0; p < job->count && !error; p++) {
    if (p == job->process) {
      memcpy(client->devices + client->device_count, own, sizeof *own * count);
      client->device_count += count;
    } else {
      error = client_add_others(client, p, &all[p]);
    }
  }
  for (int p = 0; p < job->count; p++) pjrt_writer_deinit(&all[p]);
  pjrt_writer_deinit(&mine);
  free(all);
  return error;
}

static PJRT_Error *client_make_devices(PJRT_Client *client, const pjrt_job *job) {
  size_t all = (size_t)halo_client_global_device_count(client->client);
  size_t own = (size_t)halo_client_device_count(client->client);
  client->devices = pjrt_alloc(sizeof *client->devices * all);
  client->addressable = pjrt_alloc(sizeof *client->addressable * own);
  client->memories = pjrt_alloc(sizeof *client->memories * own * PJRT_MEMORY_KINDS);
  if (job->count > 1) return client_exchange_devices(client, job);
  client_add_own(client);
  return NULL;
}

static PJRT_Error *client_check(const client_options *options) {
  const char *negative = options->memory_limit < 0         ? "memory_limit"
                         : options->collective_timeout < 0 ? "collective_timeout"
                                                           : NULL;
  if (!negative) return NULL;
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the client's option %s is negative",
                    negative);
}

static uint64_t client_hash(uint64_t hash, const char *text) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return (hash ^ 0xff) * 0x100000001b3u;
}

static void client_make_topology(PJRT_Client *client) {
  PJRT_TopologyDescription *topology = &client->topology;
  topology->client = client;
  topology->count = client->device_count;
  topology->descriptions = pjrt_alloc(sizeof *topology->descriptions * topology->count);
  topology->fingerprint = client_hash(0xcbf29ce484222325u, client->platform_version);
  for (size_t i = 0; i < topology->count; i++) {
    topology->descriptions[i] = &client->devices[i]->description;
    topology->fingerprint = client_hash(topology->fingerprint, topology->descriptions[i]->kind);
  }
}

static PJRT_Error *client_open(const PJRT_Client_Create_Args *args, const client_options *options,
                               PJRT_Client *client) {
  pjrt_job job;
  PJRT_PASS(client_check(options));
  PJRT_PASS(pjrt_job_open(args, options->node, options->nodes, &job));
  halo_client_options wanted = {.device = options->device,
                                .memory_limit = (uint64_t)options->memory_limit,
                                .cache_dir = options->cache_dir,
                                .profile = options->profile != 0,
                                .all_gpus = true,
                                .communicator = job.communicator,
                                .collective_timeout = (double)options->collective_timeout};
  PJRT_TRY(halo_client_create(&wanted, &client->client));
  client->process = halo_client_process_index(client->client);
  PJRT_PASS(client_make_devices(client, &job));
  client->platform_version = client_describe(client);
  client_make_topology(client);
  return NULL;
}

PJRT_Error *pjrt_Client_Create(PJRT_Client_Create_Args *args) {
  client_options options = {0};
  PJRT_Error *error = NULL;
  args->client = NULL;
  if (args->num_options && !args->create_options) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "PJRT_Client_Create: the options are NULL");
  }
  for (size_t i = 0; i < args->num_options && !error; i++) {
    error = client_option(&args->create_options[i], &options);
  }
  PJRT_Client *client = pjrt_alloc(sizeof *client);
  atomic_init(&client->references, 1);
  pthread_mutex_init(&client->lock, NULL);
  if (!error) error = client_open(args, &options, client);
  free(options.device);
  free(options.cache_dir);
  if (error) {
    pjrt_client_release(client);
  } else {
    args->client = client;
  }
  return error;
}

PJRT_Error *pjrt_Client_Destroy(PJRT_Client_Destroy_Args *args) {
  pjrt_client_release(args->client);
  return NULL;
}

/* ---- Memory of the host ---- */

/* OpenCL pins memory by itself when it copies: what is registered is kept, to tell mistakes. */
PJRT_Error *pjrt_Client_DmaMap(PJRT_Client_DmaMap_Args *args) {
  PJRT_Client *client = args->client;
  if (!args->data) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the memory to be mapped is NULL");
  }
  pthread_mutex_lock(&client->lock);
  const pjrt_mapping *at = client->mappings;
  while (at && at->data != args->data) at = at->next;
  if (!at) {
    pjrt_mapping *mapping = pjrt_alloc(sizeof *mapping);
    *mapping = (pjrt_mapping){args->data, client->mappings};
    client->mappings = mapping;
  }
  pthread_mutex_unlock(&client->lock);
  if (!at) return NULL;
  return pjrt_error(PJRT_Error_Code_ALREADY_EXISTS, "the memory at %p is mapped", args->data);
}

PJRT_Error *pjrt_Client_DmaUnmap(PJRT_Client_DmaUnmap_Args *args) {
  PJRT_Client *client = args->client;
  pthread_mutex_lock(&client->lock);
  pjrt_mapping **at = &client->mappings;
  while (*at && (*at)->data != args->data) at = &(*at)->next;
  pjrt_mapping *mapping = *at;
  if (mapping) *at = mapping->next;
  pthread_mutex_unlock(&client->lock);
  free(mapping);
  if (mapping) return NULL;
  return pjrt_error(PJRT_Error_Code_NOT_FOUND, "the memory at %p is not mapped", args->data);
}

/* ---- Questions ---- */

PJRT_Device *pjrt_client_device(const PJRT_Client *client, const halo_device *device) {
  for (size_t i = 0; i < client->addressable_count; i++) {
    if (client->addressable[i]->device == device) return client->addressable[i];
  }
  return NULL;
}

PJRT_Device *pjrt_client_device_by_id(const PJRT_Client *client, int id) {
  for (size_t i = 0; i < client->device_count; i++) {
    if (client->devices[i]->description.id == id) return client->devices[i];
  }
  return NULL;
}

PJRT_Error *pjrt_Client_LookupDevice(PJRT_Client_LookupDevice_Args *args) {
  args->device = pjrt_client_device_by_id(args->client, args->id);
  if (args->device) return NULL;
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "there is no device %d", args->id);
}

PJRT_Error *pjrt_Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args *args) {
  const PJRT_Client *client = args->client;
  bool there =
      args->local_hardware_id >= 0 && (size_t)args->local_hardware_id < client->addressable_count;
  args->addressable_device = there ? client->addressable[args->local_hardware_id] : NULL;
  if (there) return NULL;
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "this process has no device %d",
                    args->local_hardware_id);
}

PJRT_Error *pjrt_Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args *args) {
  const PJRT_Client *client = args->client;
  int64_t count = (int64_t)args->num_replicas * args->num_partitions;
  if (!args->default_assignment) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "there is no place for the assignment");
  }
  /* Those of this process, if there are enough. */
  bool own = count > 0 && (uint64_t)count <= client->addressable_count;
  if (args->num_replicas < 1 || args->num_partitions < 1 ||
      (uint64_t)count > client->device_count) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "%d replica%s of %d partition%s do not fit the %zu device%s of the client",
                      args->num_replicas, args->num_replicas == 1 ? "" : "s", args->num_partitions,
                      args->num_partitions == 1 ? "" : "s", client->device_count,
                      client->device_count == 1 ? "" : "s");
  }
  if (args->default_assignment_size < (size_t)count) {
    return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION,
                      "an assignment of %lld devices does not fit into %zu", (long long)count,
                      args->default_assignment_size);
  }
  for (int64_t i = 0; i < count; i++) {
    args->default_assignment[i] = (own ? client->addressable : client->devices)[i]->description.id;
  }
  return NULL;
}

/* Callers tell from a thread of their own which processes live, and end when they are refused. */
PJRT_Error *pjrt_Client_UpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args *args) {
  (void)args;
  return NULL;
}

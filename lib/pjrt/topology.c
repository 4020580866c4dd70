/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/topology.c: topologies: which devices there are, for callers that compile for them before they run
 * anything. */
#include "pjrt/pjrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Topologies that are made without a client ---- */

/* Programs are compiled by the driver of a device, which must be there: a topology is a client that nobody runs
 * anything on. */
static PJRT_Error *topology_open(const char *devices, size_t devices_size,
                                 const PJRT_NamedValue *options, size_t option_count,
                                 PJRT_TopologyDescription **out) {
  PJRT_NamedValue *all = pjrt_alloc(sizeof *all * (option_count + 1));
  if (option_count) memcpy(all, options, sizeof *all * option_count);
  if (devices_size) {
    all[option_count++] = (PJRT_NamedValue){.struct_size = sizeof *all,
                                            .name = "device",
                                            .name_size = strlen("device"),
                                            .type = PJRT_NamedValue_kString,
                                            .string_value = devices,
                                            .value_size = devices_size};
  }
  PJRT_Client_Create_Args create = {
      .struct_size = sizeof create, .create_options = all, .num_options = option_count};
  PJRT_Error *error = pjrt_Client_Create(&create);
  free(all);
  if (error) return error;
  *out = &create.client->topology;
  return NULL;
}

PJRT_Error *pjrt_TopologyDescription_Create(PJRT_TopologyDescription_Create_Args *args) {
  return topology_open(args->topology_name, args->topology_name_size, args->create_options,
                       args->num_options, &args->topology);
}

/* Gives back the reference that making it gave; callers do not destroy a client's. */
PJRT_Error *pjrt_TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args *args) {
  if (args->topology) pjrt_client_release(args->topology->client);
  return NULL;
}

PJRT_Error *pjrt_Compile(PJRT_Compile_Args *args) {
  PJRT_Client *client = args->topology->client;
  pjrt_core *core;
  PJRT_PASS(pjrt_core_compile(client, args->program, args->compile_options,
                              args->compile_options_size, &core));
  pjrt_client_retain(client);
  core->kept = client;
  args->executable = pjrt_alloc(sizeof *args->executable);
  args->executable->core = core;
  return NULL;
}

/* ---- As bytes ---- */

/* The message PjRtTopologyDescriptionProto, which JAX parses from 0.12 on, and in its Any a text of our own: what
 * tells topologies apart, and no more. The devices themselves are looked for where it is read. */
enum {
  TOPOLOGY_NAME = 2,
  TOPOLOGY_VERSION = 3,
  TOPOLOGY_SPECIFIC = 9,
  ANY_TYPE = 1,
  ANY_VALUE = 2
};
static const char topology_head[] = "halo topology ", topology_type[] = "halo/topology";

static void topology_write(pjrt_writer *out, uint32_t field, const char *text) {
  pjrt_write_bytes(out, field, text, strlen(text));
}

static void topology_delete(PJRT_SerializedTopology *topology) { free(topology); }

PJRT_Error *pjrt_TopologyDescription_Serialize(PJRT_TopologyDescription_Serialize_Args *args) {
  char *text = pjrt_format("%s%016llx of %zu devices", topology_head,
                           (unsigned long long)args->topology->fingerprint, args->topology->count);
  pjrt_writer any = {0}, all = {0};
  topology_write(&any, ANY_TYPE, topology_type);
  topology_write(&any, ANY_VALUE, text);
  topology_write(&all, TOPOLOGY_NAME, PJRT_PLATFORM);
  topology_write(&all, TOPOLOGY_VERSION, args->topology->client->platform_version);
  pjrt_write_bytes(&all, TOPOLOGY_SPECIFIC, any.data, any.size);
  pjrt_writer_deinit(&any);
  free(text);
  args->serialized_bytes = (const char *)all.data;
  args->serialized_bytes_size = all.size;
  args->serialized_topology = (PJRT_SerializedTopology *)all.data;
  args->serialized_topology_deleter = topology_delete;
  return NULL;
}

/* The bytes of the last field of that number; empty where there is none, or no message. */
static pjrt_message topology_field(pjrt_message message, uint32_t number) {
  enum { BYTES = 2 };
  pjrt_message found = {0};
  pjrt_field field;
  while (pjrt_message_next(&message, &field)) {
    if (field.number == number && field.wire == BYTES) found = field.bytes;
  }
  return message.at == message.end ? found : (pjrt_message){0};
}

/* Only of the devices that this process sees, too. */
PJRT_Error *pjrt_TopologyDescription_Deserialize(PJRT_TopologyDescription_Deserialize_Args *args) {
  unsigned long long fingerprint;
  PJRT_TopologyDescription *here;
  size_t size = args->serialized_topology ? args->serialized_topology_size : 0;
  const uint8_t *bytes = (const uint8_t *)args->serialized_topology;
  pjrt_message all = {bytes, bytes ? bytes + size : NULL};
  pjrt_message any = topology_field(all, TOPOLOGY_SPECIFIC);
  pjrt_message value = topology_field(any, ANY_VALUE);
  char *text = pjrt_copy((const char *)value.at, (size_t)(value.end - value.at));
  bool good = strncmp(text, topology_head, sizeof topology_head - 1) == 0 &&
              sscanf(text + sizeof topology_head - 1, "%16llx", &fingerprint) == 1;
  free(text);
  if (!good) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "not a serialised topology of this plugin");
  }
  PJRT_PASS(topology_open(NULL, 0, NULL, 0, &here));
  if (here->fingerprint == fingerprint) {
    args->topology = here;
    return NULL;
  }
  pjrt_client_release(here->client);
  return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION,
                    "the topology was that of other devices than there are here");
}

/* ---- Questions ---- */

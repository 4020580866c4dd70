/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/device.c: devices, their descriptions, and their memories. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* ---- Memories ---- */

const char *pjrt_memory_kind_name(pjrt_memory_kind kind) {
  static const char *const names[] = {[PJRT_MEMORY_DEVICE] = "device",
                                      [PJRT_MEMORY_PINNED_HOST] = "pinned_host",
                                      [PJRT_MEMORY_UNPINNED_HOST] = "unpinned_host"};
  return names[kind];
}

/* Callers look the same keys up for each buffer, from many threads. */
static void *memory_get_user_data(PJRT_Memory *memory, const void *key) {
  void *data = NULL;
  pthread_rwlock_rdlock(&memory->lock);
  for (const pjrt_user_data *slot = memory->user_data; slot && !data; slot = slot->next) {
    if (slot->key == key) data = slot->data;
  }
  pthread_rwlock_unlock(&memory->lock);
  return data;
}

static void memory_set_user_data(PJRT_Memory *memory, const void *key, void *data,
                                 void (*dtor)(void *)) {
  pthread_rwlock_wrlock(&memory->lock);
  pjrt_user_data *slot = memory->user_data;
  while (slot && slot->key != key) slot = slot->next;
  if (!slot) {
    slot = pjrt_alloc(sizeof *slot);
    slot->key = key;
    slot->next = memory->user_data;
    memory->user_data = slot;
  }
  const pjrt_user_data old = *slot;
  slot->data = data;
  slot->dtor = dtor;
  pthread_rwlock_unlock(&memory->lock);
  if (old.dtor && old.data) old.dtor(old.data);
}

static const PJRT_Memory_FunctionTable memory_functions = {.struct_size = sizeof memory_functions,
                                                           .instance_struct_size = sizeof(void *),
                                                           .get_user_data = memory_get_user_data,
                                                           .set_user_data = memory_set_user_data};

static PJRT_Memory *memory_create(PJRT_Device *device, pjrt_memory_kind kind, int id) {
  PJRT_Memory *memory = pjrt_alloc(sizeof *memory);
  memory->functions = &memory_functions;
  memory->device = device;
  memory->kind = kind;
  memory->id = id;
  memory->to_string = pjrt_format("HaloMemory(id=%d, kind=%s, device=%d)", id,
                                  pjrt_memory_kind_name(kind), device->description.id);
  pthread_rwlock_init(&memory->lock, NULL);
  return memory;
}

static void memory_release(PJRT_Memory *memory) {
  for (pjrt_user_data *slot = memory->user_data, *next; slot; slot = next) {
    next = slot->next;
    if (slot->dtor && slot->data) slot->dtor(slot->data);
    free(slot);
  }
  pthread_rwlock_destroy(&memory->lock);
  free(memory->to_string);
  free(memory);
}

PJRT_Error *pjrt_memory_choose(PJRT_Device *device, PJRT_Memory *memory, PJRT_Memory **out) {
  *out = memory ? memory : device && device->memory_count ? device->memories[0] : NULL;
  if (*out) return NULL;
  return pjrt_error(
      PJRT_Error_Code_INVALID_ARGUMENT, "%s",
      device ? "the device belongs to another process" : "neither a device nor a memory was given");
}

/* ---- Descriptions ---- */

static PJRT_NamedValue description_number(const char *name, uint64_t value) {
  return (PJRT_NamedValue){.struct_size = sizeof(PJRT_NamedValue),
                           .name = name,
                           .name_size = strlen(name),
                           .type = PJRT_NamedValue_kInt64,
                           .int64_value = (int64_t)value,
                           .value_size = 1};
}

static PJRT_NamedValue description_text(const char *name, const char *value) {
  return (PJRT_NamedValue){.struct_size = sizeof(PJRT_NamedValue),
                           .name = name,
                           .name_size = strlen(name),
                           .type = PJRT_NamedValue_kString,
                           .string_value = value,
                           .value_size = strlen(value)};
}

/* How many attributes there are, and the places of some. */
enum { DESCRIPTION_ATTRIBUTES = 14, DESCRIPTION_PLATFORM = 1, DESCRIPTION_PRODUCT = 2 };

/* Numbers and texts only: callers take nothing else. */
static void description_fill(PJRT_DeviceDescription *d, const halo_device_info *info) {
  const PJRT_NamedValue values[DESCRIPTION_ATTRIBUTES] = {
      description_text("opencl_kind", info->kind),
      description_text("opencl_platform", info->platform),
      description_text("product", info->product),
      description_text("opencl_version", info->version),
      description_text("vendor", info->vendor),
      description_text("driver", info->driver),
      description_number("compute_units", info->compute_units),
      description_number("memory_bytes", info->memory),
      description_number("max_allocation_bytes", info->max_allocation),
      description_number("local_memory_bytes", info->local_memory),
      description_number("max_work_group", info->max_work_group),
      description_number("has_f64", info->has_f64),
      description_number("has_f16", info->has_f16),
      description_number("shares_host_memory", info->shares_host_memory),
  };
  d->attribute_count = DESCRIPTION_ATTRIBUTES;
  d->attributes = pjrt_alloc(sizeof values);
  memcpy(d->attributes, values, sizeof values);
  d->kind = pjrt_copy(info->name, strlen(info->name));
}

/* The texts that show a device to people. */
static void description_name(PJRT_DeviceDescription *d) {
  const PJRT_NamedValue *platform = &d->attributes[DESCRIPTION_PLATFORM];
  const PJRT_NamedValue *product = &d->attributes[DESCRIPTION_PRODUCT];
  d->to_string = pjrt_format("HaloDevice(id=%d, %.*s)", d->id, (int)product->value_size,
                             product->string_value);
  d->debug_string = pjrt_format("halo:%d (%s, %.*s)", d->id, d->kind, (int)platform->value_size,
                                platform->string_value);
}

/* As others are told: the kind, then the attributes, each a message of its name and its text or number. */
enum { TOLD_KIND = 1, TOLD_ATTRIBUTE = 2, TOLD_NAME = 1, TOLD_TEXT = 2, TOLD_NUMBER = 3 };

void pjrt_device_tell(const PJRT_Device *device, pjrt_writer *writer, uint32_t number) {
  const PJRT_DeviceDescription *d = &device->description;
  pjrt_writer all = {0};
  pjrt_write_bytes(&all, TOLD_KIND, d->kind, strlen(d->kind));
  for (size_t i = 0; i < d->attribute_count; i++) {
    const PJRT_NamedValue *value = &d->attributes[i];
    pjrt_writer one = {0};
    pjrt_write_bytes(&one, TOLD_NAME, value->name, value->name_size);
    if (value->type == PJRT_NamedValue_kString) {
      pjrt_write_bytes(&one, TOLD_TEXT, value->string_value, value->value_size);
    } else {
      pjrt_write_number(&one, TOLD_NUMBER, (uint64_t)value->int64_value);
    }
    pjrt_write_bytes(&all, TOLD_ATTRIBUTE, one.data, one.size);
    pjrt_writer_deinit(&one);
  }
  pjrt_write_bytes(writer, number, all.data, all.size);
  pjrt_writer_deinit(&all);
}

static bool description_read_attribute(pjrt_message message, PJRT_NamedValue *out) {
  pjrt_field field;
  *out = description_number("", 0);
  while (pjrt_message_next(&message, &field)) {
    const char *text = (const char *)field.bytes.at;
    size_t size = (size_t)(field.bytes.end - field.bytes.at);
    switch (field.number) {
      case TOLD_NAME:
        out->name = text;
        out->name_size = size;
        break;
      case TOLD_TEXT:
        out->type = PJRT_NamedValue_kString;
        out->string_value = text;
        out->value_size = size;
        break;
      case TOLD_NUMBER: out->int64_value = (int64_t)field.value; break;
      default: break;
    }
  }
  return message.at == message.end && out->name_size;
}

/* The attributes point into the message. */
static bool description_read(PJRT_DeviceDescription *d, pjrt_message message) {
  pjrt_field field;
  d->attributes = pjrt_alloc(sizeof *d->attributes * DESCRIPTION_ATTRIBUTES);
  while (pjrt_message_next(&message, &field)) {
    if (field.number == TOLD_KIND && !d->kind) {
      d->kind = pjrt_copy((const char *)field.bytes.at, (size_t)(field.bytes.end - field.bytes.at));
    } else if (d->attribute_count == DESCRIPTION_ATTRIBUTES ||
               !description_read_attribute(field.bytes, &d->attributes[d->attribute_count++])) {
      return false;
    }
  }
  return message.at == message.end && d->kind && d->attribute_count == DESCRIPTION_ATTRIBUTES &&
         d->attributes[DESCRIPTION_PLATFORM].type == PJRT_NamedValue_kString &&
         d->attributes[DESCRIPTION_PRODUCT].type == PJRT_NamedValue_kString;
}

/* ---- Devices ---- */

PJRT_Device *pjrt_device_create(PJRT_Client *client, halo_device *handle, int local,
                                int first_memory) {
  halo_device_info info;
  PJRT_Device *device = pjrt_alloc(sizeof *device);
  halo_device_get_info(handle, &info);
  device->client = client;
  device->device = handle;
  device->local = local;
  device->description.id = halo_device_id(handle);
  device->description.process = client->process;
  description_fill(&device->description, &info);
  description_name(&device->description);
  device->completions = pjrt_completions_create();
  device->memory_count = info.shares_host_memory ? PJRT_MEMORY_KINDS : 1;
  for (size_t i = 0; i < device->memory_count; i++) {
    device->memories[i] = memory_create(device, (pjrt_memory_kind)i, first_memory + (int)i);
  }
  return device;
}

PJRT_Device *pjrt_device_told(PJRT_Client *client, int process, int id, pjrt_message message) {
  size_t size = (size_t)(message.end - message.at);
  PJRT_Device *device = pjrt_alloc(sizeof *device);
  device->client = client;
  device->local = -1;
  device->told = (uint8_t *)pjrt_copy((const char *)message.at, size);
  device->description.id = id;
  device->description.process = process;
  if (description_read(&device->description, (pjrt_message){device->told, device->told + size})) {
    description_name(&device->description);
    return device;
  }
  pjrt_device_release(device);
  return NULL;
}

void pjrt_device_release(PJRT_Device *device) {
  if (!device) return;
  for (size_t i = 0; i < device->memory_count; i++) memory_release(device->memories[i]);
  pjrt_completions_release(device->completions);
  free(device->told);
  free(device->description.attributes);
  free(device->description.kind);
  free(device->description.to_string);
  free(device->description.debug_string);
  free(device);
}

/* ---- The interface ---- */

PJRT_Error *pjrt_Device_DefaultMemory(PJRT_Device_DefaultMemory_Args *args) {
  return pjrt_memory_choose(args->device, NULL, &args->memory);
}

/* What a device can have when all have as much: those that share the host's memory share it with each other. */
static uint64_t device_reservable(const PJRT_Device *device, uint64_t limit) {
  halo_device_info info;
  uint64_t sharing = 0;
  halo_device_get_info(device->device, &info);
  if (!info.shares_host_memory) return limit;
  for (size_t i = 0; i < device->client->addressable_count; i++) {
    halo_device_get_info(device->client->addressable[i]->device, &info);
    sharing += info.shares_host_memory;
  }
  return limit / sharing;
}

/* How much one array could have. */
static uint64_t device_largest_free(const PJRT_Device *device, const halo_memory_stats *stats) {
  halo_device_info info;
  halo_device_get_info(device->device, &info);
  uint64_t room = stats->limit > stats->live ? stats->limit - stats->live : 0;
  return room < info.max_allocation ? room : info.max_allocation;
}

/* The caller's structure is not zeroed: each field that it knows is written. */
PJRT_Error *pjrt_Device_MemoryStats(PJRT_Device_MemoryStats_Args *args) {
  halo_memory_stats stats;
  PJRT_Device_MemoryStats_Args all = {0};
  size_t head = offsetof(PJRT_Device_MemoryStats_Args, bytes_in_use);
  if (!args->device->device) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the device belongs to another process");
  }
  halo_device_memory_stats(args->device->device, &stats);
  all.bytes_in_use = (int64_t)stats.live;
  all.peak_bytes_in_use = (int64_t)stats.peak;
  all.num_allocs = (int64_t)stats.allocations;
  all.bytes_limit = (int64_t)stats.limit;
  all.bytes_reservable_limit = (int64_t)device_reservable(args->device, stats.limit);
  all.pool_bytes = (int64_t)(stats.live + stats.cached);
  all.peak_pool_bytes = (int64_t)stats.peak_held;
  all.largest_alloc_size = (int64_t)stats.largest;
  all.largest_free_block_bytes = (int64_t)device_largest_free(args->device, &stats);
  all.peak_bytes_in_use_is_set = all.num_allocs_is_set = all.largest_alloc_size_is_set = true;
  all.bytes_limit_is_set = all.pool_bytes_is_set = all.peak_pool_bytes_is_set = true;
  /* Nothing is set aside for anything else. */
  all.bytes_reserved_is_set = all.peak_bytes_reserved_is_set = true;
  all.bytes_reservable_limit_is_set = all.largest_free_block_bytes_is_set = true;
  size_t known = args->struct_size < sizeof all ? args->struct_size : sizeof all;
  if (known > head) memcpy((char *)args + head, (const char *)&all + head, known - head);
  return NULL;
}

PJRT_Error *pjrt_Device_ClearMemoryStats(PJRT_Device_ClearMemoryStats_Args *args) {
  if (!args->device->device) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the device belongs to another process");
  }
  halo_device_reset_memory_stats(args->device->device);
  return NULL;
}

static void device_attributes_delete(PJRT_Device_Attributes *attributes) { (void)attributes; }

PJRT_Error *pjrt_Device_GetAttributes(PJRT_Device_GetAttributes_Args *args) {
  args->attributes = args->device->description.attributes;
  args->num_attributes = args->device->description.attribute_count;
  args->device_attributes = NULL;
  args->attributes_deleter = device_attributes_delete;
  return NULL;
}

/* Profilers' notes about what a device is about to do are not kept. */
PJRT_Error *pjrt_AsyncTrackingEvent_Destroy(PJRT_AsyncTrackingEvent_Destroy_Args *args) {
  (void)args;
  return NULL;
}

/* client/list.c: what devices and which program cache there are, for those who want to look. */
#include "base/config.h"
#include "base/memory.h"
#include "client/client.h"

#include <string.h>

/* The list that users see is the `entries` of one of these. */
typedef struct list_block {
  halo_cl_listing *listings; /* whose texts the entries point into */
  int count;
  halo_device_entry entries[];
} list_block;

static list_block *list_block_of(halo_device_entry *entries) {
  return (list_block *)((char *)entries - offsetof(list_block, entries));
}

static void list_fill(halo_device_entry *entry, const halo_cl_listing *listing) {
  const halo_caps *caps = &listing->caps;
  entry->platform = listing->platform;
  entry->device = listing->device;
  entry->usable = listing->usable;
  entry->capabilities = halo_caps_text(caps);
  halo_client_describe(caps, &entry->info);
}

halo_status halo_device_list(const char *selector, halo_device_entry **out, int *count) {
  static const char null_prefix[] = "null:";
  if (!out || !count) return halo_fail(HALO_INVALID_ARGUMENT, "halo_device_list: NULL argument");
  *out = NULL;
  *count = 0;
  if (!selector || !*selector) selector = halo_config_text(HALO_CONFIG_DEVICE);
  if (!selector) selector = "";
  halo_cl_listing *listings = NULL;
  int found = 0, chosen = 0;
  if (strncmp(selector, null_prefix, strlen(null_prefix)) == 0) {
    halo_caps caps;
    HALO_TRY(halo_caps_read(selector + strlen(null_prefix), &caps));
    listings = halo_alloc(sizeof *listings);
    *listings = (halo_cl_listing){.usable = true, .caps = caps};
    found = 1;
  } else {
    HALO_TRY(halo_cl_enumerate(&listings, &found));
    chosen = halo_cl_choose(listings, found, selector);
  }
  list_block *block = halo_alloc(sizeof *block + sizeof *block->entries * (size_t)found);
  block->listings = listings;
  block->count = found;
  for (int i = 0; i < found; i++) {
    list_fill(&block->entries[i], &listings[i]);
    block->entries[i].chosen = i == chosen;
  }
  *out = block->entries;
  *count = found;
  return HALO_OK;
}

void halo_device_list_release(halo_device_entry *list) {
  if (!list) return;
  list_block *block = list_block_of(list);
  for (int i = 0; i < block->count; i++) halo_free((char *)block->entries[i].capabilities);
  halo_free(block->listings);
  halo_free(block);
}

halo_status halo_cache_directory(char **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_cache_directory: out is NULL");
  *out = halo_config_cache_dir();
  return HALO_OK;
}

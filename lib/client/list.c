/* SPDX-License-Identifier: Apache-2.0 */
/* client/list.c: what devices and which program cache there are, for those who want to look. */
#include "base/config.h"
#include "base/memory.h"
#include "base/vec.h"
#include "client/client.h"
#include "opencl/probe.h"

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

static void list_fill(halo_device_entry *entry, halo_cl_listing *listing) {
  halo_caps *caps = &listing->caps;
  halo_probe_facts facts;
  char *directory = halo_config_cache_dir();
  if (halo_cl_probe_recall(directory, caps, &facts)) entry->probes = halo_cl_probe_text(&facts);
  halo_free(directory);
  entry->platform = listing->platform;
  entry->device = listing->device;
  entry->usable = listing->usable;
  entry->capabilities = halo_caps_text(caps);
  halo_client_describe(caps, &entry->info);
}

typedef HALO_VEC(halo_cl_listing) list_listings;

/* The devices that the items name: null devices, each as often as it is named, and all of the machine when
 * any is not null. `uses` [of all]: how often each is meant. */
static halo_status list_find(const halo_cl_items *items, list_listings *all, int **uses) {
  bool machine = false;
  for (int i = 0; i < items->count; i++) {
    const char *selector = items->data[i].selector;
    halo_cl_listing listing = {.usable = true};
    machine |= !halo_cl_is_null(selector);
    if (!halo_cl_is_null(selector)) continue;
    HALO_TRY(halo_caps_read(selector + strlen(halo_cl_null_prefix), &listing.caps));
    halo_vec_push(all, listing);
  }
  int nulls = all->count, found = 0;
  halo_cl_listing *listings = NULL;
  if (machine) HALO_TRY(halo_cl_enumerate(NULL, &listings, &found));
  for (int i = 0; i < found; i++) halo_vec_push(all, listings[i]);
  *uses = halo_alloc(sizeof **uses * (size_t)all->count);
  for (int i = 0; i < nulls; i++) (*uses)[i] = 1;
  for (int i = 0; i < items->count; i++) {
    if (halo_cl_is_null(items->data[i].selector)) continue;
    int chosen = halo_cl_choose(listings, found, items->data[i].selector);
    if (chosen >= 0) (*uses)[nulls + chosen]++;
  }
  halo_free(listings);
  return HALO_OK;
}

halo_status halo_device_list(const char *selector, halo_device_entry **out, int *count) {
  if (!out || !count) return halo_fail(HALO_INVALID_ARGUMENT, "halo_device_list: NULL argument");
  HALO_TRY(halo_config_check_names());
  *out = NULL;
  *count = 0;
  halo_cl_items items = {0};
  list_listings all = {0};
  int *uses = NULL;
  halo_status status = halo_cl_items_parse(selector, &items);
  if (status == HALO_OK) status = halo_cl_items_expand(&items);
  if (status == HALO_OK) status = list_find(&items, &all, &uses);
  halo_cl_items_release(&items);
  if (status != HALO_OK) {
    halo_vec_deinit(&all);
    return status;
  }
  list_block *block = halo_alloc(sizeof *block + sizeof *block->entries * (size_t)all.count);
  block->listings = all.data;
  block->count = all.count;
  for (int i = 0; i < all.count; i++) {
    list_fill(&block->entries[i], &all.data[i]);
    block->entries[i].chosen = uses[i] > 0;
    block->entries[i].uses = uses[i];
  }
  halo_free(uses);
  *out = block->entries;
  *count = all.count;
  return HALO_OK;
}

void halo_device_list_release(halo_device_entry *list) {
  if (!list) return;
  list_block *block = list_block_of(list);
  for (int i = 0; i < block->count; i++) {
    halo_free((char *)block->entries[i].capabilities);
    halo_free((char *)block->entries[i].probes);
  }
  halo_free(block->listings);
  halo_free(block);
}

halo_status halo_cache_directory(char **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_cache_directory: out is NULL");
  *out = halo_config_cache_dir();
  return HALO_OK;
}

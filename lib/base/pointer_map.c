/* SPDX-License-Identifier: Apache-2.0 */
/* base/pointer_map.c: open addressing with linear probing. There is no removal. */
#include "base/pointer_map.h"

#include "base/memory.h"

struct halo_pointer_slot {
  const void *key; /* NULL: free */
  void *value;
};

static halo_pointer_slot *pointer_map_find(const halo_pointer_map *map, const void *key) {
  /* Addresses differ in their middle bits; a multiplication carries those to the top. */
  uint64_t hash = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
  for (size_t i = (hash >> 32) & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
    halo_pointer_slot *slot = &map->slots[i];
    if (!slot->key || slot->key == key) return slot;
  }
}

void *halo_pointer_map_get(const halo_pointer_map *map, const void *key) {
  return map->count ? pointer_map_find(map, key)->value : NULL;
}

static void pointer_map_grow(halo_pointer_map *map) {
  halo_pointer_map old = *map;
  map->capacity = old.capacity ? old.capacity * 2 : 16;
  map->slots = halo_alloc(map->capacity * sizeof *map->slots);
  for (size_t i = 0; i < old.capacity; i++) {
    if (old.slots[i].key) *pointer_map_find(map, old.slots[i].key) = old.slots[i];
  }
  halo_free(old.slots);
}

void *halo_pointer_map_set(halo_pointer_map *map, const void *key, void *value) {
  if (map->count * 4 >= map->capacity * 3) pointer_map_grow(map);
  halo_pointer_slot *slot = pointer_map_find(map, key);
  void *old = slot->value;
  map->count += slot->key == NULL;
  *slot = (halo_pointer_slot){key, value};
  return old;
}

void halo_pointer_map_deinit(halo_pointer_map *map) {
  halo_free(map->slots);
  *map = (halo_pointer_map){0};
}

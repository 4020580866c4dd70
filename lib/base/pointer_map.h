/* SPDX-License-Identifier: Apache-2.0 */
/* base/pointer_map.h: a hash map from addresses to addresses: what a walk notes about objects that are
 * not its own to write to. */
#ifndef HALO_BASE_POINTER_MAP_H
#define HALO_BASE_POINTER_MAP_H

#include <stddef.h>

typedef struct halo_pointer_slot halo_pointer_slot;

/* Nothing that is pointed to is owned or read. Zero-initialised is a valid empty map. Not thread-safe.
 * Takes 16 to 43 bytes an entry. */
typedef struct halo_pointer_map {
  halo_pointer_slot *slots;
  size_t capacity, count;
} halo_pointer_map;

/* What was set for `key`, or NULL. */
void *halo_pointer_map_get(const halo_pointer_map *map, const void *key);
/* Sets a value and returns the older one, or NULL. Neither `key` nor `value` may be NULL. */
void *halo_pointer_map_set(halo_pointer_map *map, const void *key, void *value);
void halo_pointer_map_deinit(halo_pointer_map *map);

#endif

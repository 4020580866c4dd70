/* SPDX-License-Identifier: Apache-2.0 */
/* base/map.h: a hash map from byte strings to pointers, and the hash it uses. */
#ifndef HALO_BASE_MAP_H
#define HALO_BASE_MAP_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct halo_map_slot halo_map_slot;

/* Keys are copied; values are not owned. Zero-initialised is a valid empty map. Not thread-safe. */
typedef struct halo_map {
  halo_map_slot *slots;
  size_t capacity, count;
  halo_arena keys;
} halo_map;

/* The value under a key, or NULL. */
void *halo_map_get(const halo_map *map, const void *key, size_t size);
/* Sets a value and returns the older one, or NULL. `value` must not be NULL. */
void *halo_map_set(halo_map *map, const void *key, size_t size, void *value);
/* The same with NUL-terminated keys. */
void *halo_map_get_text(const halo_map *map, const char *key);
void *halo_map_set_text(halo_map *map, const char *key, void *value);
void halo_map_deinit(halo_map *map);

/* 64-bit FNV-1a with a final mix. `seed` chains calls; start with 0. */
uint64_t halo_hash(const void *data, size_t size, uint64_t seed);
/* Adds data to a key of 128 bits: two unlike hashes, so that equal keys can be taken for equal data.
 * Begin with any two numbers. */
void halo_hash_wide(uint64_t key[2], const void *data, size_t size);

#endif

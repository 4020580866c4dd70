/* SPDX-License-Identifier: Apache-2.0 */
/* base/map.c: open addressing with linear probing. There is no removal. */
#include "base/map.h"

#include "base/memory.h"

#include <string.h>

struct halo_map_slot {
  uint64_t hash;
  void *key;
  size_t size;
  void *value; /* NULL: free slot */
};

/* The finaliser of MurmurHash3 (Appleby, public domain): the low bits of the hashes below mix poorly. */
static uint64_t map_mix(uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdu;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 33);
}

uint64_t halo_hash(const void *data, size_t size, uint64_t seed) {
  const unsigned char *bytes = data;
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 0x100000001b3u;
  return map_mix(h);
}

/* A second hash, unlike halo_hash: eight bytes at a time, multiply and fold. */
static uint64_t map_fold_word(uint64_t state, uint64_t word) {
  state = (state ^ word) * 0x9e3779b97f4a7c15ull;
  state ^= state >> 29;
  return (state << 23) | (state >> 41);
}

static uint64_t map_fold(uint64_t state, const unsigned char *data, size_t size) {
  uint64_t word;
  size_t i = 0;
  for (; size - i >= sizeof word; i += sizeof word) {
    memcpy(&word, data + i, sizeof word);
    state = map_fold_word(state, word);
  }
  if (i == size) return state;
  word = 0;
  memcpy(&word, data + i, size - i);
  return map_fold_word(state, word);
}

/* Of keys in memory: kernels' texts are long, and looked up often. */
static uint64_t map_hash(const void *key, size_t size) {
  return map_mix(map_fold(size, key, size));
}

void halo_hash_wide(uint64_t key[2], const void *data, size_t size) {
  uint64_t length = size;
  key[0] = halo_hash(&length, sizeof length, key[0]);
  key[0] = halo_hash(data, size, key[0]);
  key[1] = map_fold(key[1] + length, data, size);
}

static halo_map_slot *map_find(const halo_map *map, const void *key, size_t size, uint64_t hash) {
  for (size_t i = hash & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
    halo_map_slot *slot = &map->slots[i];
    if (!slot->value) return slot;
    if (slot->hash == hash && slot->size == size && memcmp(slot->key, key, size) == 0) return slot;
  }
}

void *halo_map_get(const halo_map *map, const void *key, size_t size) {
  if (!map->count) return NULL;
  return map_find(map, key, size, map_hash(key, size))->value;
}

static void map_grow(halo_map *map) {
  halo_map old = *map;
  map->capacity = old.capacity ? old.capacity * 2 : 16;
  map->slots = halo_alloc(map->capacity * sizeof *map->slots);
  for (size_t i = 0; i < old.capacity; i++) {
    halo_map_slot *slot = &old.slots[i];
    if (slot->value) *map_find(map, slot->key, slot->size, slot->hash) = *slot;
  }
  halo_free(old.slots);
}

void *halo_map_set(halo_map *map, const void *key, size_t size, void *value) {
  if (map->count * 3 >= map->capacity * 2) map_grow(map);
  uint64_t hash = map_hash(key, size);
  halo_map_slot *slot = map_find(map, key, size, hash);
  void *old = slot->value;
  if (!old) {
    slot->hash = hash;
    slot->key = halo_arena_copy(&map->keys, key, size);
    slot->size = size;
    map->count++;
  }
  slot->value = value;
  return old;
}

void *halo_map_get_text(const halo_map *map, const char *key) {
  return halo_map_get(map, key, strlen(key));
}

void *halo_map_set_text(halo_map *map, const char *key, void *value) {
  return halo_map_set(map, key, strlen(key), value);
}

void halo_map_deinit(halo_map *map) {
  halo_arena_deinit(&map->keys);
  halo_free(map->slots);
  *map = (halo_map){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/facts.c: what was found out about a device, kept beside the programs for later processes. */
#include "base/map.h"
#include "base/memory.h"
#include "opencl/private.h"

#include <string.h>

/* The driver may come to behave otherwise with another version; so may what this library asks. */
static void facts_key(const halo_caps *caps, const char *about, uint64_t key[2]) {
  const char *const parts[] = {
      "fact",           about,         caps->name,     caps->vendor,
      caps->driver,     caps->version, caps->platform, caps->platform_version,
      HALO_VERSION_TEXT};
  key[0] = 0;
  key[1] = 0x48414c4f;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    halo_hash_wide(key, parts[i], strlen(parts[i]) + 1);
  }
}

bool halo_cl_fact_load(const char *directory, const halo_caps *caps, const char *about, void *data,
                       size_t size) {
  uint64_t key[2];
  unsigned char *found = NULL;
  size_t found_size = 0;
  if (!directory) return false;
  facts_key(caps, about, key);
  if (halo_disk_load(directory, key, &found, &found_size) != HALO_DISK_FOUND) return false;
  bool fits = found_size == size;
  if (fits) memcpy(data, found, size);
  halo_free(found);
  return fits;
}

bool halo_cl_fact_save(const char *directory, const halo_caps *caps, const char *about,
                       const void *data, size_t size) {
  uint64_t key[2];
  if (!directory) return false;
  facts_key(caps, about, key);
  return halo_disk_save(directory, key, data, size);
}

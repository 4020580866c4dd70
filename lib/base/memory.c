/* base/memory.c: host memory. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *memory_checked(void *memory, size_t size) {
  if (memory) return memory;
  fprintf(stderr, "halo: out of host memory: %zu bytes of bookkeeping could not be allocated\n",
          size);
  abort();
}

void *halo_alloc(size_t size) { return memory_checked(calloc(1, size ? size : 1), size); }

void *halo_realloc(void *old, size_t size) {
  return memory_checked(realloc(old, size ? size : 1), size);
}

char *halo_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  return memcpy(halo_alloc(size), text, size);
}

void halo_free(void *memory) { free(memory); }

halo_status halo_try_alloc(size_t size, const char *what, void **out) {
  void *memory = NULL;
  *out = NULL;
  if (size > PTRDIFF_MAX - 64 || posix_memalign(&memory, 64, size ? size : 1) != 0 || !memory) {
    return halo_fail(HALO_OUT_OF_MEMORY, "%s needs %zu bytes of host memory, which could not be had",
                     what, size);
  }
  memset(memory, 0, size);
  *out = memory;
  return HALO_OK;
}

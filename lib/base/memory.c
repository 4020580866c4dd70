/* base/memory.c: host memory. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

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

enum { MEMORY_LAZY = 1 << 20 }; /* from this size on pages are zeroed by the system, when touched */

/* Large blocks come from the system as fresh pages or were such once: dropping the pages makes them
 * zero without touching them, so that what is never read (a lost constant of a dump, say) costs
 * nothing. */
static void memory_zero(char *memory, size_t size) {
#ifdef __linux__
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (size >= MEMORY_LAZY) {
    char *first = (char *)(((uintptr_t)memory + page - 1) / page * page);
    char *last = (char *)((uintptr_t)(memory + size) / page * page);
    if (madvise(first, (size_t)(last - first), MADV_DONTNEED) == 0) {
      memset(memory, 0, (size_t)(first - memory));
      memset(last, 0, (size_t)(memory + size - last));
      return;
    }
  }
#endif
  memset(memory, 0, size);
}

halo_status halo_try_alloc(size_t size, const char *what, void **out) {
  void *memory = NULL;
  *out = NULL;
  if (size > PTRDIFF_MAX - 64 || posix_memalign(&memory, 64, size ? size : 1) != 0 || !memory) {
    return halo_fail(HALO_OUT_OF_MEMORY,
                     "%s needs %zu bytes of host memory, which could not be had", what, size);
  }
  memory_zero(memory, size);
  *out = memory;
  return HALO_OK;
}

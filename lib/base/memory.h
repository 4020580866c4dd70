/* base/memory.h: host memory. Bookkeeping memory (small, not sized by user data) ends the process
 * with one clear line when the system has none left, as glib and LLVM do; memory whose size comes
 * from a user's shapes or files is asked for with halo_try_alloc and can fail with a status. */
#ifndef HALO_BASE_MEMORY_H
#define HALO_BASE_MEMORY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory, never NULL (size 0 gives a unique pointer). Free with halo_free. */
void *halo_alloc(size_t size);
/* As realloc; new bytes are not zeroed; never NULL. */
void *halo_realloc(void *old, size_t size);
char *halo_strdup(const char *text);
void halo_free(void *memory);

/* User-sized memory, zeroed, aligned to 64 bytes (size 0 gives a unique pointer). Fails with
 * HALO_OUT_OF_MEMORY naming `what` and the size. Free with halo_free. */
halo_status halo_try_alloc(size_t size, const char *what, void **out);

/* a*b into *out; false on overflow of a signed 64-bit product or when either is negative. */
static inline int halo_mul_i64(int64_t a, int64_t b, int64_t *out) {
  return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

#endif

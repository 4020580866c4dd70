/* SPDX-License-Identifier: Apache-2.0 */
/* base/memory.h: host memory. What is asked for with halo_try_alloc can fail with a status: that is for
 * single large blocks whose size comes from a user's shapes or files. All else is bookkeeping, which
 * nobody checks: where the system has none left, what runs under halo_memory_guard ends with a status,
 * and outside of one the process ends with one clear line, as with glib and LLVM. */
#ifndef HALO_BASE_MEMORY_H
#define HALO_BASE_MEMORY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory, never NULL (size 0 gives a unique pointer). Free with halo_free. */
void *halo_alloc(size_t size);
/* As halo_alloc, for an object that holds references to what others share: when a guard gives up,
 * `undo` is to drop them. It must bear an object that is half made, may be called before or after that
 * of other objects, and frees no memory that the guard saw allocated, though what it drops may. */
void *halo_alloc_object(size_t size, void (*undo)(void *object));
/* As realloc; new bytes are not zeroed; never NULL. */
void *halo_realloc(void *old, size_t size);
char *halo_strdup(const char *text);
void halo_free(void *memory);

/* User-sized memory, zeroed, aligned to 64 bytes (size 0 gives a unique pointer). Fails with
 * HALO_OUT_OF_MEMORY naming `what` and the size. Free with halo_free. */
halo_status halo_try_alloc(size_t size, const char *what, void **out);

/* Runs `run(user)` and returns what it returns. When this thread runs out of memory meanwhile, `run` is
 * left where it is (by longjmp), all memory that it allocated and did not free is freed, the thread's
 * locale is as before, and the result is HALO_OUT_OF_MEMORY. So `run` must be a computation on memory
 * of its own: it may read what is older than it, but must not hang on to that what it allocates, nor
 * hold locks, files or OpenCL objects across an allocation; what it stored through `user` counts only
 * when it has returned. Guards may be nested. */
halo_status halo_memory_guard(halo_status (*run)(void *user), void *user);

/* For tests: the n-th allocation of this thread from now on fails; 0: none does. Returns how many were
 * still to come until the one that was set before: 0 when it has failed or none was set. */
int64_t halo_memory_fail(int64_t n);

/* a*b into *out; false on overflow of a signed 64-bit product or when either is negative. */
static inline int halo_mul_i64(int64_t a, int64_t b, int64_t *out) {
  return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* base/arena.h: many small allocations, one release. Modules, plans and parsers live in arenas. */
#ifndef HALO_BASE_ARENA_H
#define HALO_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct halo_arena_block halo_arena_block;

/* A bump allocator. Zero-initialised is a valid empty arena. Not thread-safe. */
typedef struct halo_arena {
  halo_arena_block *head;
} halo_arena;

/* Zeroed memory aligned for any type; never NULL; lives until halo_arena_deinit. */
void *halo_arena_alloc(halo_arena *arena, size_t size);
/* A copy of `size` bytes at `data`. */
void *halo_arena_copy(halo_arena *arena, const void *data, size_t size);
char *halo_arena_strdup(halo_arena *arena, const char *text);
char *halo_arena_strndup(halo_arena *arena, const char *text, size_t length);
char *halo_arena_printf(halo_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *halo_arena_vprintf(halo_arena *arena, const char *format, va_list args);
/* Frees everything; the arena is empty and usable again. */
void halo_arena_deinit(halo_arena *arena);

#define halo_arena_new(arena, type) ((type *)halo_arena_alloc((arena), sizeof(type)))
#define halo_arena_array(arena, type, count)                                                       \
  ((type *)halo_arena_alloc((arena), sizeof(type) * (size_t)(count)))

#endif

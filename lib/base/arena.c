/* SPDX-License-Identifier: Apache-2.0 */
/* base/arena.c: a bump allocator over a chain of growing blocks. */
#include "base/arena.h"

#include "base/format.h"
#include "base/memory.h"

#include <stdint.h>
#include <string.h>

enum { ARENA_FIRST_BLOCK = 512, ARENA_LAST_BLOCK = 1 << 20 };

struct halo_arena_block {
  halo_arena_block *next;
  size_t used, size;
  _Alignas(16) char data[];
};

void *halo_arena_alloc(halo_arena *arena, size_t size) {
  size = (size + 15) & ~(size_t)15;
  halo_arena_block *head = arena->head;
  if (!head || head->size - head->used < size) {
    size_t want = head ? head->size * 2 : ARENA_FIRST_BLOCK;
    if (want > ARENA_LAST_BLOCK) want = ARENA_LAST_BLOCK;
    if (want < size) want = size;
    halo_arena_block *block = halo_alloc(sizeof *block + want);
    block->size = want;
    block->next = head;
    arena->head = head = block;
  }
  void *memory = head->data + head->used;
  head->used += size;
  return memory;
}

void *halo_arena_copy(halo_arena *arena, const void *data, size_t size) {
  void *memory = halo_arena_alloc(arena, size);
  if (size) memcpy(memory, data, size);
  return memory;
}

char *halo_arena_strndup(halo_arena *arena, const char *text, size_t length) {
  char *copy = halo_arena_alloc(arena, length + 1);
  if (length) memcpy(copy, text, length);
  return copy;
}

char *halo_arena_strdup(halo_arena *arena, const char *text) {
  return halo_arena_strndup(arena, text, strlen(text));
}

char *halo_arena_vprintf(halo_arena *arena, const char *format, va_list args) {
  char likely[256];
  va_list again;
  va_copy(again, args);
  size_t length = halo_format(likely, sizeof likely, format, args);
  char *text;
  if (length < sizeof likely) {
    text = halo_arena_copy(arena, likely, length + 1);
  } else {
    text = halo_arena_alloc(arena, length + 1);
    halo_format(text, length + 1, format, again);
  }
  va_end(again);
  return text;
}

char *halo_arena_printf(halo_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = halo_arena_vprintf(arena, format, args);
  va_end(args);
  return text;
}

void halo_arena_deinit(halo_arena *arena) {
  for (halo_arena_block *block = arena->head, *next; block; block = next) {
    next = block->next;
    halo_free(block);
  }
  arena->head = NULL;
}

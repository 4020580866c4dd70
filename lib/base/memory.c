/* SPDX-License-Identifier: Apache-2.0 */
/* base/memory.c: host memory, and what happens when there is none. */
#include "base/memory.h"

#include "os/locale.h"
#include "os/process.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before each block. Those that a guard saw allocated are its list, in a ring; others have no next. */
typedef struct memory_block {
  struct memory_block *next, *previous;
  void (*undo)(void *object); /* NULL: none */
  void *base; /* what the system gave: the block itself, or aligned memory before it */
} memory_block;

enum { MEMORY_ALIGN = 64, MEMORY_HEADER = sizeof(memory_block) };
_Static_assert(MEMORY_HEADER < MEMORY_ALIGN, "a block in aligned memory does not begin it");

typedef struct memory_guard {
  struct memory_guard *outer;
  memory_block ring;
  jmp_buf jump;
  size_t wanted; /* bytes that could not be had */
  void *locale;  /* halo_c_locale_mark */
} memory_guard;

static _Thread_local memory_guard *memory_current;
static _Thread_local int64_t memory_countdown;

static memory_block *memory_block_of(void *memory) {
  return (memory_block *)((char *)memory - MEMORY_HEADER);
}

/* ---- Running out ---- */

int64_t halo_memory_fail(int64_t n) {
  int64_t left = memory_countdown;
  memory_countdown = n;
  return left;
}

static bool memory_is_to_fail(void) { return memory_countdown > 0 && --memory_countdown == 0; }

static void memory_give_up(size_t size) __attribute__((noreturn));
static void memory_give_up(size_t size) {
  if (memory_current) {
    memory_current->wanted = size;
    longjmp(memory_current->jump, 1);
  }
  fprintf(stderr, "halo: out of host memory: %zu bytes of bookkeeping could not be allocated\n",
          size);
  abort();
}

/* ---- Blocks ---- */

static void memory_link(memory_block *block) {
  memory_block *ring = &memory_current->ring;
  block->next = ring;
  block->previous = ring->previous;
  ring->previous->next = block;
  ring->previous = block;
}

static void memory_unlink(memory_block *block) {
  if (!block->next) return;
  block->next->previous = block->previous;
  block->previous->next = block->next;
}

void *halo_alloc_object(size_t size, void (*undo)(void *object)) {
  memory_block *block = NULL;
  if (size <= PTRDIFF_MAX - MEMORY_HEADER && !memory_is_to_fail()) {
    block = calloc(1, MEMORY_HEADER + size);
  }
  if (!block) memory_give_up(size);
  block->base = block;
  block->undo = undo;
  if (memory_current) memory_link(block);
  return (char *)block + MEMORY_HEADER;
}

void *halo_alloc(size_t size) { return halo_alloc_object(size, NULL); }

void *halo_realloc(void *old, size_t size) {
  if (!old) return halo_alloc(size);
  memory_block *block = NULL;
  if (size <= PTRDIFF_MAX - MEMORY_HEADER && !memory_is_to_fail()) {
    block = realloc(memory_block_of(old), MEMORY_HEADER + size);
  }
  if (!block) memory_give_up(size);
  block->base = block;
  if (block->next) block->next->previous = block->previous->next = block;
  return (char *)block + MEMORY_HEADER;
}

char *halo_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  return memcpy(halo_alloc(size), text, size);
}

void halo_free(void *memory) {
  if (!memory) return;
  memory_block *block = memory_block_of(memory);
  memory_unlink(block);
  if (block->base == block) {
    free(block);
  } else {
    halo_os_free_aligned(block->base);
  }
}

halo_status halo_try_alloc(size_t size, const char *what, void **out) {
  bool may = size <= PTRDIFF_MAX - MEMORY_ALIGN && !memory_is_to_fail();
  char *base = may ? halo_os_alloc_aligned(MEMORY_ALIGN, MEMORY_ALIGN + size) : NULL;
  *out = NULL;
  if (!base) {
    return halo_fail(HALO_OUT_OF_MEMORY,
                     "%s needs %zu bytes of host memory, which could not be had", what, size);
  }
  /* Large blocks are mostly fresh pages, which are zero, and untouched as long as nobody uses them (a lost constant of a dump). */
  halo_os_zero(base, MEMORY_ALIGN + size);
  *out = base + MEMORY_ALIGN;
  memory_block *block = memory_block_of(*out);
  block->base = base;
  if (memory_current) memory_link(block);
  return HALO_OK;
}

/* ---- Guards ---- */

/* What is alive at the end outlives the guard; an outer one keeps an eye on it. */
static void memory_keep(memory_guard *guard) {
  for (memory_block *block = guard->ring.next, *next; block != &guard->ring; block = next) {
    next = block->next;
    block->next = NULL;
    if (guard->outer) memory_link(block);
  }
}

/* References first, while all memory is there; dropping one may free other blocks of the ring. */
static void memory_undo(memory_guard *guard) {
  memory_block *ring = &guard->ring;
  for (memory_block *block = ring->next; block != ring;) {
    void (*undo)(void *) = block->undo;
    block->undo = NULL;
    if (undo) undo((char *)block + MEMORY_HEADER);
    block = undo ? ring->next : block->next;
  }
  while (ring->next != ring) halo_free((char *)ring->next + MEMORY_HEADER);
}

halo_status halo_memory_guard(halo_status (*run)(void *user), void *user) {
  memory_guard guard = {.outer = memory_current, .locale = halo_c_locale_mark()};
  guard.ring.next = guard.ring.previous = &guard.ring;
  if (setjmp(guard.jump)) {
    memory_current = guard.outer;
    halo_c_locale_return(guard.locale);
    memory_undo(&guard);
    return halo_fail(HALO_OUT_OF_MEMORY, "%zu bytes of host memory could not be had", guard.wanted);
  }
  memory_current = &guard;
  halo_status status = run(user);
  memory_current = guard.outer;
  memory_keep(&guard);
  return status;
}

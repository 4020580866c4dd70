/* plan/assign.c: offsets for temporaries. Largest first, each at the lowest place where nothing that
 * is alive at the same time lies (the greedy-by-size method of Pisarchyk and Lee, 2020). */
#include "plan/plan.h"

#include <stdlib.h>

typedef struct assign_item {
  int32_t buffer;
  int64_t size, offset;
  int32_t arena, first, last;
} assign_item;

static int assign_larger_first(const void *a, const void *b) {
  const assign_item *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return x->buffer - y->buffer;
}

static int assign_by_offset(const void *a, const void *b) {
  const assign_item *x = *(const assign_item *const *)a, *y = *(const assign_item *const *)b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return x->buffer - y->buffer;
}

/* The lowest free offset in an arena for `item` among the placed ones. */
static int64_t assign_place(const assign_item *items, int32_t placed, const assign_item *item,
                            int32_t arena, const assign_item **scratch) {
  int32_t count = 0;
  for (int32_t i = 0; i < placed; i++) {
    const assign_item *other = &items[i];
    bool together = other->first <= item->last && item->first <= other->last;
    if (other->arena == arena && together) scratch[count++] = other;
  }
  qsort(scratch, (size_t)count, sizeof *scratch, assign_by_offset);
  int64_t offset = 0;
  for (int32_t i = 0; i < count; i++) {
    if (scratch[i]->offset - offset >= item->size) break;
    int64_t end = scratch[i]->offset + scratch[i]->size;
    if (end > offset) offset = end;
  }
  return offset;
}

halo_status halo_plan_assign(halo_plan *plan, int64_t alignment, int64_t max_arena) {
  int32_t count = 0;
  assign_item *items = halo_alloc(sizeof *items * (size_t)plan->buffers.count);
  const assign_item **scratch = halo_alloc(sizeof *scratch * (size_t)plan->buffers.count);
  halo_status status = HALO_OK;
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    const halo_plan_buffer *b = &plan->buffers.data[i];
    if (b->place != HALO_PLACE_TEMP) continue;
    int64_t size = (b->size + alignment - 1) / alignment * alignment;
    items[count++] = (assign_item){i, size, 0, 0, b->first, b->last};
  }
  qsort(items, (size_t)count, sizeof *items, assign_larger_first);
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    assign_item *item = &items[i];
    if (item->size > max_arena) {
      status = halo_fail(
          HALO_OUT_OF_MEMORY, "%s needs %lld bytes in one piece, the device gives at most %lld",
          plan->buffers.data[item->buffer].name, (long long)item->size, (long long)max_arena);
      break;
    }
    for (int32_t arena = 0;; arena++) {
      if (arena == plan->arenas.count) halo_vec_push(&plan->arenas, 0);
      int64_t offset = assign_place(items, i, item, arena, scratch);
      if (offset + item->size > max_arena) continue;
      item->arena = arena;
      item->offset = offset;
      if (offset + item->size > plan->arenas.data[arena]) {
        plan->arenas.data[arena] = offset + item->size;
      }
      break;
    }
    plan->buffers.data[item->buffer].index = item->arena;
    plan->buffers.data[item->buffer].offset = item->offset;
  }
  halo_free(items);
  halo_free(scratch);
  return status;
}

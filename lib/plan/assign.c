/* SPDX-License-Identifier: Apache-2.0 */
/* plan/assign.c: offsets for temporaries. Largest first, each at the lowest place where nothing that
 * is alive at the same time lies (the greedy-by-size method of Pisarchyk and Lee, 2020). What would make an arena
 * larger goes into the memory of a result that is written later, where there is one. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- Taken places: sorted spans of offsets that neither touch nor overlap ---- */

typedef struct assign_span {
  int64_t begin, end;
} assign_span;
typedef HALO_VEC(assign_span) assign_spans;

/* The first span that ends behind `offset`; the count when there is none. */
static int32_t assign_span_behind(const assign_spans *spans, int64_t offset) {
  int32_t low = 0, high = spans->count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (spans->data[middle].end > offset) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/* What is taken grows together, since places are handed out from below: the lists stay short. */
static void assign_span_add(assign_spans *spans, int64_t begin, int64_t end) {
  int32_t at = assign_span_behind(spans, begin - 1), behind = at;
  for (; behind < spans->count && spans->data[behind].begin <= end; behind++) {
    if (spans->data[behind].begin < begin) begin = spans->data[behind].begin;
    if (spans->data[behind].end > end) end = spans->data[behind].end;
  }
  if (behind == at) halo_vec_push(spans, (assign_span){0});
  int32_t tail = spans->count - behind - (behind == at);
  int32_t to = at + 1;
  if (tail > 0 && to != behind) {
    memmove(&spans->data[to], &spans->data[behind], sizeof *spans->data * (size_t)tail);
  }
  spans->count = to + tail;
  spans->data[at] = (assign_span){begin, end};
}

/* ---- One arena: a tree over the steps ---- */

/* Node n halves the steps of its parent n / 2; node 1 has all. A lifetime is a few whole nodes. */
typedef struct assign_node {
  assign_spans whole; /* taken through all of the node's steps */
  assign_spans any;   /* taken in some of them */
} assign_node;

typedef struct assign_tree {
  int32_t steps; /* a power of two */
  assign_node *nodes;
} assign_tree;

static void assign_tree_deinit(assign_tree *tree) {
  for (int32_t n = 0; n < 2 * tree->steps; n++) {
    halo_vec_deinit(&tree->nodes[n].whole);
    halo_vec_deinit(&tree->nodes[n].any);
  }
  halo_free(tree->nodes);
}

static void assign_take(assign_tree *tree, int32_t n, int32_t low, int32_t high,
                        const assign_item *item) {
  if (item->last < low || item->first > high) return;
  assign_span_add(&tree->nodes[n].any, item->offset, item->offset + item->size);
  if (item->first <= low && high <= item->last) {
    assign_span_add(&tree->nodes[n].whole, item->offset, item->offset + item->size);
    return;
  }
  int32_t middle = low + (high - low) / 2;
  assign_take(tree, 2 * n, low, middle, item);
  assign_take(tree, 2 * n + 1, middle + 1, high, item);
}

/* The lists that together say what is taken while the item is alive, each with its next span that may
 * be in the way: a heap, the lowest begin on top. */
typedef struct assign_cursor {
  const assign_spans *spans;
  int32_t at;
} assign_cursor;

typedef struct assign_heap {
  assign_cursor cursors[4 * 32];
  int count;
} assign_heap;

static int64_t assign_begin(const assign_cursor *c) { return c->spans->data[c->at].begin; }

static void assign_sift_down(assign_heap *heap, int i) {
  for (;;) {
    int least = i;
    for (int child = 2 * i + 1; child <= 2 * i + 2 && child < heap->count; child++) {
      if (assign_begin(&heap->cursors[child]) < assign_begin(&heap->cursors[least])) least = child;
    }
    if (least == i) return;
    assign_cursor old = heap->cursors[i];
    heap->cursors[i] = heap->cursors[least];
    heap->cursors[least] = old;
    i = least;
  }
}

static void assign_gather(const assign_tree *tree, int32_t n, int32_t low, int32_t high,
                          const assign_item *item, assign_heap *out) {
  if (item->last < low || item->first > high) return;
  bool inside = item->first <= low && high <= item->last;
  const assign_spans *spans = inside ? &tree->nodes[n].any : &tree->nodes[n].whole;
  if (spans->count) out->cursors[out->count++] = (assign_cursor){spans, 0};
  if (inside) return;
  int32_t middle = low + (high - low) / 2;
  assign_gather(tree, 2 * n, low, middle, item, out);
  assign_gather(tree, 2 * n + 1, middle + 1, high, item, out);
}

/* The lowest free offset in an arena for `item` among the placed ones. */
static int64_t assign_place(const assign_tree *tree, const assign_item *item) {
  assign_heap heap = {.count = 0};
  assign_gather(tree, 1, 0, tree->steps - 1, item, &heap);
  for (int i = heap.count / 2; i >= 0; i--) assign_sift_down(&heap, i);
  int64_t offset = 0;
  while (heap.count) {
    assign_cursor *top = &heap.cursors[0];
    const assign_span *span = &top->spans->data[top->at];
    if (span->begin - offset >= item->size) break;
    if (span->end > offset) offset = span->end;
    /* Spans of a list do not touch, so the next one that matters is mostly the next one. */
    top->at++;
    bool behind = top->at < top->spans->count && top->spans->data[top->at].end <= offset;
    if (behind) top->at = assign_span_behind(top->spans, offset);
    if (top->at == top->spans->count) *top = heap.cursors[--heap.count];
    assign_sift_down(&heap, 0);
  }
  return offset;
}

/* ---- One piece of memory ---- */

int64_t halo_plan_assign_part(halo_plan *plan, const int32_t *buffers, int32_t count,
                              int64_t alignment) {
  assign_item *items = halo_alloc(sizeof *items * ((size_t)count + 1));
  assign_tree tree = {.steps = 1};
  int32_t first = INT32_MAX;
  int64_t bytes = 0;
  for (int32_t i = 0; i < count; i++) {
    int32_t begin = plan->buffers.data[buffers[i]].first;
    if (begin < first) first = begin;
  }
  for (int32_t i = 0; i < count; i++) {
    const halo_plan_buffer *b = &plan->buffers.data[buffers[i]];
    int64_t size = (b->size + alignment - 1) / alignment * alignment;
    items[i] = (assign_item){buffers[i], size, 0, 0, b->first - first, b->last - first};
    while (tree.steps <= items[i].last) tree.steps *= 2;
  }
  tree.nodes = halo_alloc(sizeof *tree.nodes * 2 * (size_t)tree.steps);
  qsort(items, (size_t)count, sizeof *items, assign_larger_first);
  for (int32_t i = 0; i < count; i++) {
    items[i].offset = assign_place(&tree, &items[i]);
    assign_take(&tree, 1, 0, tree.steps - 1, &items[i]);
    plan->buffers.data[items[i].buffer].offset = items[i].offset;
    int64_t end = items[i].offset + items[i].size;
    if (end > bytes) bytes = end;
  }
  assign_tree_deinit(&tree);
  halo_free(items);
  return bytes;
}

/* ---- All items ---- */

typedef struct assign_state {
  halo_plan *plan;
  int32_t steps; /* a power of two */
  HALO_VEC(assign_tree) trees;
  int32_t *of_result; /* the arena in each result's memory; -1: none */
} assign_state;

static assign_tree *assign_arena(assign_state *s, int32_t arena) {
  if (arena == s->trees.count) {
    assign_tree tree = {.steps = s->steps};
    tree.nodes = halo_alloc(sizeof *tree.nodes * 2 * (size_t)tree.steps);
    halo_vec_push(&s->trees, tree);
    halo_vec_push(&s->plan->arenas, ((halo_plan_arena){.result = -1}));
  }
  return &s->trees.data[arena];
}

/* Looks for the item's place in an arena of at most `most` bytes, and takes it. */
static bool assign_try(assign_state *s, int32_t arena, assign_item *item, int64_t most) {
  assign_tree *tree = assign_arena(s, arena);
  int64_t offset = assign_place(tree, item), end = offset + item->size;
  if (offset > most - item->size) return false;
  item->arena = arena;
  item->offset = offset;
  assign_take(tree, 1, 0, tree->steps - 1, item);
  if (end > s->plan->arenas.data[arena].size) s->plan->arenas.data[arena].size = end;
  return true;
}

/* Below this many bytes a result's memory is not worth thinking of. */
enum { ASSIGN_LARGE = 1 << 16 };
/* So many results are tried for one item. */
enum { ASSIGN_TRIES = 16 };

/* A result whose memory is its own, unless the caller gives away more than the module asks for. */
static bool assign_has_memory(const halo_plan *plan, int32_t result) {
  const halo_plan_buffer *b = &plan->buffers.data[plan->result_buffers[result]];
  return b->place == HALO_PLACE_RESULT && b->first <= b->last && b->size >= ASSIGN_LARGE &&
         !(plan->result_alias[result] >= 0 && plan->result_offered[result]);
}

/* Before the first write of a result its memory is free. */
static bool assign_in_result(assign_state *s, assign_item *item, int64_t alignment) {
  const halo_plan *plan = s->plan;
  int tries = item->size >= ASSIGN_LARGE ? ASSIGN_TRIES : 0;
  for (int32_t r = 0; r < plan->result_count && tries > 0; r++) {
    const halo_plan_buffer *b = &plan->buffers.data[plan->result_buffers[r]];
    if (!assign_has_memory(plan, r) || b->first <= item->last) continue;
    int64_t room = b->size / alignment * alignment;
    if (item->size > room) continue;
    int32_t arena = s->of_result[r] >= 0 ? s->of_result[r] : s->trees.count;
    bool made = arena == s->trees.count;
    tries--;
    if (!assign_try(s, arena, item, room)) continue;
    s->plan->arenas.data[arena].result = r;
    if (made) s->of_result[r] = arena;
    return true;
  }
  return false;
}

/* In an arena that there is, which does not grow; in a result's memory; in an arena that may grow. */
static void assign_one(assign_state *s, assign_item *item, int64_t alignment, int64_t max_arena) {
  halo_plan *plan = s->plan;
  bool placed = false;
  for (int32_t a = 0; a < plan->arenas.count && !placed; a++) {
    const halo_plan_arena *arena = &plan->arenas.data[a];
    placed = arena->result < 0 && assign_try(s, a, item, arena->size);
  }
  if (!placed) placed = assign_in_result(s, item, alignment);
  for (int32_t a = 0; !placed; a++) {
    bool other = a < plan->arenas.count && plan->arenas.data[a].result >= 0;
    placed = !other && assign_try(s, a, item, max_arena);
  }
  plan->buffers.data[item->buffer].index = item->arena;
  plan->buffers.data[item->buffer].offset = item->offset;
}

halo_status halo_plan_assign(halo_plan *plan, int64_t alignment, int64_t max_arena,
                             int64_t memory) {
  int32_t count = 0;
  assign_item *items = halo_alloc(sizeof *items * (size_t)plan->buffers.count);
  assign_state s = {.plan = plan, .steps = 1};
  halo_status status = HALO_OK;
  s.of_result = halo_alloc(sizeof *s.of_result * ((size_t)plan->result_count + 1));
  for (int32_t r = 0; r < plan->result_count; r++) s.of_result[r] = -1;
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    const halo_plan_buffer *b = &plan->buffers.data[i];
    if (b->place != HALO_PLACE_TEMP) continue;
    int64_t size = (b->size + alignment - 1) / alignment * alignment;
    items[count++] = (assign_item){i, size, 0, 0, b->first, b->last};
    while (s.steps <= b->last) s.steps *= 2;
  }
  qsort(items, (size_t)count, sizeof *items, assign_larger_first);
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    if (items[i].size > memory) {
      status = halo_fail(
          HALO_OUT_OF_MEMORY, "%s needs %lld bytes in one piece, the device has %lld",
          plan->buffers.data[items[i].buffer].name, (long long)items[i].size, (long long)memory);
      break;
    }
    assign_one(&s, &items[i], alignment, items[i].size > max_arena ? items[i].size : max_arena);
  }
  for (int32_t t = 0; t < s.trees.count; t++) assign_tree_deinit(&s.trees.data[t]);
  halo_vec_deinit(&s.trees);
  halo_free(s.of_result);
  halo_free(items);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/donate.c: which argument's memory each result could take over when that argument is donated. */
#include "base/memory.h"
#include "plan/coalesce.h"

#include <stdlib.h>

typedef struct donate_pair {
  int64_t size;
  int32_t at;    /* result: the step of its first write; argument: that of its last read */
  int32_t index; /* of the result or argument */
} donate_pair;

typedef HALO_VEC(donate_pair) donate_list;

typedef struct donate_state {
  halo_plan *plan;
  halo_step **steps; /* by number */
  int32_t *buffers;  /* of each argument */
  bool *taken;       /* by argument */
  bool *offered;     /* by argument: the module's buffer_donor */
} donate_state;

static const halo_plan_buffer *donate_buffer(const donate_state *s, int32_t argument) {
  return &s->plan->buffers.data[s->buffers[argument]];
}

/* Whether the step reads the argument's buffer only where it writes the result's, or copies the one to
 * the other. */
static bool donate_in_place(const halo_step *step, int32_t from, int32_t to) {
  if (!step) return false;
  if (step->kind == HALO_STEP_COPY) {
    return step->args[0].buffer == from && step->args[1].buffer == to;
  }
  if (step->kind != HALO_STEP_KERNEL || !step->in_place) return false;
  for (int32_t a = 0; a < step->arg_count; a++) {
    if (step->args[a].buffer != from) continue;
    if (a >= 64 || !(step->in_place >> a & 1)) return false;
  }
  return true;
}

/* Whether result buffer `id` may lie where the argument lies: the argument is not read after the
 * result's first write, or only by that write itself, in place. */
static bool donate_may(const donate_state *s, int32_t argument, int32_t id) {
  const halo_plan_buffer *from = donate_buffer(s, argument), *to = &s->plan->buffers.data[id];
  if (from->size != to->size || from->size == 0) return false;
  if (from->last < to->first) return true;
  return from->last == to->first && donate_in_place(s->steps[to->first], s->buffers[argument], id);
}

/* `wanted`: the module names the pair. */
static void donate_take(donate_state *s, int32_t argument, int32_t result, bool wanted) {
  s->plan->result_alias[result] = argument;
  s->plan->result_offered[result] = wanted || s->offered[argument];
  s->taken[argument] = true;
}

/* ---- What the module says ---- */

static int32_t donate_flat_index(const halo_shape *shape, const int64_t *index, int32_t count) {
  int32_t flat = 0;
  for (int32_t i = 0; i < count; i++) {
    if (!halo_shape_is_tuple(shape) || index[i] < 0 || index[i] >= shape->count) return -1;
    flat += halo_leaf_start(shape, index[i]);
    shape = shape->elements[index[i]];
  }
  return halo_shape_is_array(shape) ? flat : -1;
}

/* The flat argument that a row speaks of, or -1. `starts`: the first leaf of each parameter. */
static int32_t donate_argument(const halo_module *module, const int32_t *starts,
                               const halo_alias *alias) {
  if (alias->parameter < 0 || alias->parameter >= module->entry->params.count) return -1;
  int32_t leaf = donate_flat_index(module->entry_params[alias->parameter], alias->param_index,
                                   alias->param_index_count);
  return leaf < 0 ? -1 : starts[alias->parameter] + leaf;
}

static void donate_wanted(donate_state *s, const halo_module *module) {
  halo_plan *plan = s->plan;
  int32_t *starts = halo_alloc(sizeof *starts * ((size_t)module->entry->params.count + 1));
  for (int32_t p = 0; p < module->entry->params.count; p++) {
    starts[p + 1] = starts[p] + halo_shape_leaf_count(module->entry_params[p]);
  }
  for (int32_t i = 0; i < module->donors.count; i++) {
    int32_t argument = donate_argument(module, starts, &module->donors.data[i]);
    if (argument >= 0 && argument < plan->argument_count) s->offered[argument] = true;
  }
  for (int32_t i = 0; i < module->aliases.count; i++) {
    const halo_alias *alias = &module->aliases.data[i];
    int32_t argument = donate_argument(module, starts, alias);
    int32_t result =
        donate_flat_index(module->entry_result, alias->out_index, alias->out_index_count);
    if (argument < 0 || argument >= plan->argument_count || result < 0 ||
        result >= plan->result_count) {
      continue;
    }
    int32_t id = plan->result_buffers[result];
    bool fits = !s->taken[argument] && plan->buffers.data[id].place == HALO_PLACE_RESULT &&
                plan->result_alias[result] < 0;
    if (fits && donate_may(s, argument, id)) donate_take(s, argument, result, true);
  }
  halo_free(starts);
}

/* ---- The others ---- */

static int donate_by_size_and_step(const void *a, const void *b) {
  const donate_pair *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? -1 : 1;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return x->index - y->index;
}

static void donate_sort(donate_list *list) {
  if (list->count == 0) return;
  qsort(list->data, (size_t)list->count, sizeof *list->data, donate_by_size_and_step);
}

/* A heap of free arguments, the lowest number on top. */
typedef HALO_VEC(int32_t) donate_heap;

static void donate_push(donate_heap *heap, int32_t argument) {
  halo_vec_push(heap, argument);
  for (int32_t i = heap->count - 1; i > 0 && heap->data[(i - 1) / 2] > heap->data[i];) {
    int32_t up = (i - 1) / 2, old = heap->data[up];
    heap->data[up] = heap->data[i];
    heap->data[i] = old;
    i = up;
  }
}

static void donate_pop(donate_heap *heap) {
  heap->data[0] = heap->data[--heap->count];
  for (int32_t i = 0;;) {
    int32_t least = i;
    for (int32_t child = 2 * i + 1; child <= 2 * i + 2 && child < heap->count; child++) {
      if (heap->data[child] < heap->data[least]) least = child;
    }
    if (least == i) return;
    int32_t old = heap->data[i];
    heap->data[i] = heap->data[least];
    heap->data[least] = old;
    i = least;
  }
}

static int32_t donate_top(const donate_state *s, donate_heap *heap) {
  while (heap->count && s->taken[heap->data[0]]) donate_pop(heap);
  return heap->count ? heap->data[0] : -1;
}

/* An argument that the result's first kernel may overwrite as it reads it. */
static int32_t donate_beside(const donate_state *s, const halo_step *step, int32_t id,
                             bool offered) {
  int32_t best = -1;
  for (int32_t a = 0; step && a < step->arg_count && a < 64; a++) {
    const halo_plan_buffer *b = &s->plan->buffers.data[step->args[a].buffer];
    if (b->place != HALO_PLACE_ARGUMENT || s->taken[b->index] || s->offered[b->index] != offered) {
      continue;
    }
    bool better = best < 0 || b->index < best;
    if (better && b->last == step->number && donate_may(s, b->index, id)) best = b->index;
  }
  return best;
}

static int32_t donate_choose(const donate_state *s, const donate_pair *result, donate_heap *free,
                             int32_t id) {
  const halo_step *step = s->steps[result->at];
  for (int offered = 1; offered >= 0; offered--) {
    int32_t argument = donate_beside(s, step, id, offered);
    if (argument < 0) argument = donate_top(s, &free[offered]);
    if (argument >= 0) return argument;
  }
  return -1;
}

/* By size, and then from the first result to the last: what one can have the later ones can, too, so
 * that as many as possible get one. */
static void donate_rest(donate_state *s) {
  halo_plan *plan = s->plan;
  donate_list results = {0}, arguments = {0};
  for (int32_t r = 0; r < plan->result_count; r++) {
    const halo_plan_buffer *b = &plan->buffers.data[plan->result_buffers[r]];
    bool open = b->place == HALO_PLACE_RESULT && plan->result_alias[r] < 0 && b->size > 0;
    if (open && b->first <= b->last) halo_vec_push(&results, (donate_pair){b->size, b->first, r});
  }
  for (int32_t a = 0; a < plan->argument_count; a++) {
    const halo_plan_buffer *b = donate_buffer(s, a);
    if (!s->taken[a]) halo_vec_push(&arguments, (donate_pair){b->size, b->last, a});
  }
  donate_sort(&results);
  donate_sort(&arguments);
  donate_heap free[2] = {{0}, {0}}; /* [1]: those the module offers */
  int64_t size = -1;
  for (int32_t r = 0, a = 0; r < results.count; r++) {
    const donate_pair *result = &results.data[r];
    if (result->size != size) free[0].count = free[1].count = 0;
    size = result->size;
    for (; a < arguments.count; a++) {
      const donate_pair *argument = &arguments.data[a];
      if (argument->size > size || (argument->size == size && argument->at >= result->at)) break;
      if (argument->size == size) donate_push(&free[s->offered[argument->index]], argument->index);
    }
    int32_t chosen = donate_choose(s, result, free, plan->result_buffers[result->index]);
    if (chosen >= 0) donate_take(s, chosen, result->index, false);
  }
  halo_vec_deinit(&free[0]);
  halo_vec_deinit(&free[1]);
  halo_vec_deinit(&results);
  halo_vec_deinit(&arguments);
}

void halo_plan_donate(halo_plan *plan, const halo_module *module) {
  size_t arguments = (size_t)plan->argument_count + 1;
  donate_state s = {.plan = plan,
                    .steps = halo_alloc(sizeof *s.steps * ((size_t)plan->step_count + 1)),
                    .buffers = halo_alloc(sizeof *s.buffers * arguments),
                    .taken = halo_alloc(arguments),
                    .offered = halo_alloc(arguments)};
  halo_plan_index_steps(&plan->steps, s.steps);
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    const halo_plan_buffer *b = &plan->buffers.data[i];
    if (b->place == HALO_PLACE_ARGUMENT) s.buffers[b->index] = i;
  }
  for (int32_t r = 0; r < plan->result_count; r++) {
    const halo_plan_buffer *b = &plan->buffers.data[plan->result_buffers[r]];
    if (b->place == HALO_PLACE_ARGUMENT) s.taken[b->index] = true;
  }
  donate_wanted(&s, module);
  donate_rest(&s);
  halo_free(s.steps);
  halo_free(s.buffers);
  halo_free(s.taken);
  halo_free(s.offered);
}

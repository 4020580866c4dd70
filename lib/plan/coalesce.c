/* plan/coalesce.c: taking copies out of a plan and letting results reuse memory. */
#include "plan/coalesce.h"

#include "base/memory.h"
#include "kernels/kernels.h"

typedef struct coalesce_state {
  halo_plan *plan;
  halo_step **steps; /* by number; NULL where a number marks the end of a loop or branch list */
  int32_t *renamed;  /* buffer -> the buffer it was merged into, or itself */
} coalesce_state;

static void coalesce_collect(coalesce_state *s, halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    s->steps[step->number] = step;
    coalesce_collect(s, &step->condition);
    coalesce_collect(s, &step->body);
    for (int32_t b = 0; b < step->branch_count; b++) coalesce_collect(s, &step->branches[b]);
  }
}

static int32_t coalesce_find(const coalesce_state *s, int32_t buffer) {
  while (s->renamed[buffer] != buffer) buffer = s->renamed[buffer];
  return buffer;
}

static bool coalesce_uses(const coalesce_state *s, const halo_step *step, int32_t buffer) {
  for (int32_t a = 0; step && a < step->arg_count; a++) {
    if (coalesce_find(s, step->args[a].buffer) == buffer) return true;
  }
  return false;
}

/* All uses of `buffer` in `step` are reads that an output may overwrite as it goes; a buffer that the
 * step writes already has its reader. */
static bool coalesce_in_place(const coalesce_state *s, const halo_step *step, int32_t buffer) {
  if (!step || step->kind != HALO_STEP_KERNEL) return false;
  for (int32_t a = 0; a < step->arg_count; a++) {
    if (coalesce_find(s, step->args[a].buffer) != buffer) continue;
    if (a >= 64 || !(step->in_place >> a & 1)) return false;
  }
  return true;
}

static bool coalesce_is_copy(const coalesce_state *s, const halo_step *step, int32_t from,
                             int32_t to) {
  return step && step->kind == HALO_STEP_COPY && coalesce_find(s, step->args[0].buffer) == from &&
         coalesce_find(s, step->args[1].buffer) == to;
}

static void coalesce_merge(coalesce_state *s, int32_t from, int32_t to) {
  halo_plan_buffer *source = &s->plan->buffers.data[from], *target = &s->plan->buffers.data[to];
  if (source->first < target->first) target->first = source->first;
  if (source->last > target->last) target->last = source->last;
  if (target->place == HALO_PLACE_RESULT) target->name = source->name;
  source->place = HALO_PLACE_NONE;
  s->renamed[from] = to;
}

/* A copy can go when its source is a temporary that nobody reads later, and nobody uses the target
 * between the source's first use and the copy: then the two can be one buffer. */
static bool coalesce_copy(coalesce_state *s, const halo_step *copy) {
  int32_t from = coalesce_find(s, copy->args[0].buffer);
  int32_t to = coalesce_find(s, copy->args[1].buffer);
  if (from == to) return true;
  const halo_plan_buffer *source = &s->plan->buffers.data[from];
  const halo_plan_buffer *target = &s->plan->buffers.data[to];
  if (source->place != HALO_PLACE_TEMP || source->last != copy->number) return false;
  if (target->place != HALO_PLACE_TEMP && target->place != HALO_PLACE_RESULT) return false;
  if (source->size != target->size || source->first < 0) return false;
  for (int32_t n = source->first; n < copy->number; n++) {
    if (!coalesce_uses(s, s->steps[n], to)) continue;
    if (n == source->first && coalesce_in_place(s, s->steps[n], to)) continue;
    /* The source began as a copy of the target: then nothing has to be copied at all. */
    if (n == source->first && coalesce_is_copy(s, s->steps[n], to, from)) continue;
    return false;
  }
  coalesce_merge(s, from, to);
  return true;
}

/* An elementwise kernel's result takes over an operand that it is the last to read. */
static void coalesce_reuse(coalesce_state *s, const halo_step *step) {
  if (step->kind != HALO_STEP_KERNEL || !step->in_place) return;
  for (int32_t w = 0; w < step->arg_count; w++) {
    int32_t output = coalesce_find(s, step->args[w].buffer);
    const halo_plan_buffer *target = &s->plan->buffers.data[output];
    if (!step->args[w].written || target->place != HALO_PLACE_TEMP ||
        target->first != step->number) {
      continue;
    }
    for (int32_t a = 0; a < step->arg_count; a++) {
      int32_t input = coalesce_find(s, step->args[a].buffer);
      const halo_plan_buffer *source = &s->plan->buffers.data[input];
      if (input == output || source->place != HALO_PLACE_TEMP || source->last != step->number ||
          source->first == step->number || source->size != target->size ||
          !coalesce_in_place(s, step, input)) {
        continue;
      }
      coalesce_merge(s, output, input);
      break;
    }
  }
}

static void coalesce_rewrite(coalesce_state *s, halo_steps *steps) {
  int32_t kept = 0;
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    coalesce_rewrite(s, &step->condition);
    coalesce_rewrite(s, &step->body);
    for (int32_t b = 0; b < step->branch_count; b++) coalesce_rewrite(s, &step->branches[b]);
    for (int32_t a = 0; a < step->arg_count; a++) {
      step->args[a].buffer = coalesce_find(s, step->args[a].buffer);
    }
    bool dead = step->kind == HALO_STEP_COPY && step->args[0].buffer == step->args[1].buffer;
    if (!dead) steps->data[kept++] = *step;
  }
  steps->count = kept;
}

/* ---- Donation ---- */

/* Whether result buffer `id` may lie where argument buffer `argument` lies: the argument is not read
 * after the result's first write, or only by that write itself, in place. */
static bool coalesce_may_donate(const coalesce_state *s, int32_t argument, int32_t id) {
  const halo_plan_buffer *from = &s->plan->buffers.data[argument];
  const halo_plan_buffer *to = &s->plan->buffers.data[id];
  if (from->size != to->size || from->size == 0) return false;
  if (from->last < to->first) return true;
  if (from->last != to->first) return false;
  const halo_step *step = s->steps[to->first];
  return coalesce_in_place(s, step, argument) || coalesce_is_copy(s, step, argument, id);
}

static int32_t coalesce_flat_index(const halo_shape *shape, const int64_t *index, int32_t count) {
  int32_t flat = 0;
  for (int32_t i = 0; i < count; i++) {
    if (!halo_shape_is_tuple(shape) || index[i] < 0 || index[i] >= shape->count) return -1;
    flat += halo_leaf_start(shape, index[i]);
    shape = shape->elements[index[i]];
  }
  return halo_shape_is_array(shape) ? flat : -1;
}

static void coalesce_donate(coalesce_state *s, const halo_module *module) {
  halo_plan *plan = s->plan;
  bool *taken = halo_alloc((size_t)plan->argument_count + 1);
  int32_t *argument_buffers = halo_alloc(sizeof(int32_t) * ((size_t)plan->argument_count + 1));
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    if (plan->buffers.data[i].place == HALO_PLACE_ARGUMENT) {
      argument_buffers[plan->buffers.data[i].index] = i;
    }
  }
  for (int32_t r = 0; r < plan->result_count; r++) {
    const halo_plan_buffer *b = &plan->buffers.data[plan->result_buffers[r]];
    if (b->place == HALO_PLACE_ARGUMENT) taken[b->index] = true;
  }
  for (int32_t i = 0; i < module->aliases.count; i++) {
    const halo_alias *alias = &module->aliases.data[i];
    if (alias->parameter < 0 || alias->parameter >= module->entry->params.count) continue;
    int32_t before = 0;
    for (int64_t p = 0; p < alias->parameter; p++) {
      before += halo_shape_leaf_count(module->entry_params[p]);
    }
    int32_t argument = coalesce_flat_index(module->entry_params[alias->parameter],
                                           alias->param_index, alias->param_index_count);
    int32_t result =
        coalesce_flat_index(module->entry_result, alias->out_index, alias->out_index_count);
    if (argument < 0 || result < 0 || result >= plan->result_count) continue;
    argument += before;
    int32_t id = plan->result_buffers[result];
    bool fits = argument < plan->argument_count && !taken[argument] &&
                plan->buffers.data[id].place == HALO_PLACE_RESULT && plan->result_alias[result] < 0;
    if (fits && coalesce_may_donate(s, argument_buffers[argument], id)) {
      plan->result_alias[result] = argument;
      taken[argument] = true;
    }
  }
  for (int32_t r = 0; r < plan->result_count; r++) {
    int32_t id = plan->result_buffers[r];
    if (plan->buffers.data[id].place != HALO_PLACE_RESULT || plan->result_alias[r] >= 0) continue;
    for (int32_t a = 0; a < plan->argument_count; a++) {
      if (taken[a] || !coalesce_may_donate(s, argument_buffers[a], id)) continue;
      plan->result_alias[r] = a;
      taken[a] = true;
      break;
    }
  }
  halo_free(taken);
  halo_free(argument_buffers);
}

void halo_plan_coalesce(halo_plan *plan, const halo_module *module) {
  coalesce_state s = {.plan = plan};
  s.steps = halo_alloc(sizeof *s.steps * ((size_t)plan->step_count + 1));
  s.renamed = halo_alloc(sizeof *s.renamed * ((size_t)plan->buffers.count + 1));
  for (int32_t i = 0; i < plan->buffers.count; i++) s.renamed[i] = i;
  coalesce_collect(&s, &plan->steps);
  /* Last copies first: a chain of copies then collapses into its end. */
  for (int32_t n = plan->step_count - 1; n >= 0; n--) {
    if (s.steps[n] && s.steps[n]->kind == HALO_STEP_COPY) coalesce_copy(&s, s.steps[n]);
  }
  for (int32_t n = 0; n < plan->step_count; n++) {
    if (s.steps[n]) coalesce_reuse(&s, s.steps[n]);
  }
  for (int32_t r = 0; r < plan->result_count; r++) {
    plan->result_buffers[r] = coalesce_find(&s, plan->result_buffers[r]);
  }
  coalesce_donate(&s, module);
  coalesce_rewrite(&s, &plan->steps);
  halo_free(s.steps);
  halo_free(s.renamed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/coalesce.c: taking copies out of a plan, and letting kernels write over what dies with them. */
#include "plan/coalesce.h"

#include "base/memory.h"
#include "kernels/kernels.h"

/* The steps that use a buffer, in order: a slice of one array. Buffers that were merged are a list of
 * such runs, by first step. */
typedef struct coalesce_run {
  const int32_t *steps;
  int32_t count, next; /* the buffer of the next run; -1: none */
} coalesce_run;

typedef struct coalesce_state {
  halo_plan *plan;
  halo_step **steps;  /* by number; NULL where a number marks the end of a loop or branch list */
  int32_t *renamed;   /* buffer -> one it was merged into, or itself */
  coalesce_run *runs; /* by buffer */
  int32_t *heads;     /* buffer, if it is its own -> buffer of its first run; -1: none */
  int32_t *uses;      /* what the runs are slices of */
} coalesce_state;

static int32_t coalesce_find(const coalesce_state *s, int32_t buffer) {
  while (s->renamed[buffer] != buffer) {
    s->renamed[buffer] = s->renamed[s->renamed[buffer]];
    buffer = s->renamed[buffer];
  }
  return buffer;
}

/* ---- Uses ---- */

/* Counting first, so that all uses lie in one array, by buffer and then by step. */
static void coalesce_note_uses(coalesce_state *s) {
  const halo_plan *plan = s->plan;
  int64_t total = 0;
  for (int32_t n = 0; n < plan->step_count; n++) {
    for (int32_t a = 0; s->steps[n] && a < s->steps[n]->arg_count; a++) {
      s->runs[s->steps[n]->args[a].buffer].count++;
      total++;
    }
  }
  s->uses = halo_alloc(sizeof *s->uses * (size_t)total);
  int32_t *next = s->uses;
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    s->runs[i].steps = next;
    next += s->runs[i].count;
    s->runs[i].count = 0;
    s->runs[i].next = s->heads[i] = -1;
  }
  for (int32_t n = 0; n < plan->step_count; n++) {
    for (int32_t a = 0; s->steps[n] && a < s->steps[n]->arg_count; a++) {
      coalesce_run *run = &s->runs[s->steps[n]->args[a].buffer];
      s->uses[run->steps - s->uses + run->count++] = n;
      s->heads[s->steps[n]->args[a].buffer] = s->steps[n]->args[a].buffer;
    }
  }
}

/* The first step from `from` on, and before `to`, that uses the buffer; -1 when none does. */
static int32_t coalesce_next_use(const coalesce_state *s, int32_t buffer, int32_t from,
                                 int32_t to) {
  int32_t found = -1;
  for (int32_t r = s->heads[buffer]; r >= 0 && s->runs[r].steps[0] < to; r = s->runs[r].next) {
    const coalesce_run *run = &s->runs[r];
    int32_t low = 0, high = run->count;
    while (low < high) {
      int32_t middle = low + (high - low) / 2;
      if (run->steps[middle] < from) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == run->count || run->steps[low] >= to) continue;
    if (found < 0 || run->steps[low] < found) found = run->steps[low];
  }
  return found;
}

/* Two lists by first step become one. Copies are taken from the last to the first, so the runs of the
 * target that have to be passed are few. */
static void coalesce_join_uses(coalesce_state *s, int32_t from, int32_t to) {
  int32_t *place = &s->heads[to];
  for (int32_t r = s->heads[from], next; r >= 0; r = next) {
    next = s->runs[r].next;
    while (*place >= 0 && s->runs[*place].steps[0] < s->runs[r].steps[0]) {
      place = &s->runs[*place].next;
    }
    s->runs[r].next = *place;
    *place = r;
    place = &s->runs[r].next;
  }
  s->heads[from] = -1;
}

/* ---- Copies ---- */

/* All uses of `buffer` in `step` are reads that an output may overwrite as it goes; a buffer that the
 * step writes already has its reader. */
static bool coalesce_in_place(const coalesce_state *s, const halo_step *step, int32_t buffer) {
  if (!step || step->kind != HALO_STEP_KERNEL || !step->in_place) return false;
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

/* Whether the step behind a copy is a kernel that updates it, and reads what it is a copy of at most where it
 * writes. */
static bool coalesce_is_update(const coalesce_state *s, int32_t copy, int32_t from, int32_t to) {
  const halo_step *step = copy + 1 < s->plan->step_count ? s->steps[copy + 1] : NULL;
  if (!coalesce_in_place(s, step, from)) return false;
  bool reads = false, writes = false;
  for (int32_t a = 0; a < step->arg_count; a++) {
    int32_t buffer = coalesce_find(s, step->args[a].buffer);
    reads |= buffer == from;
    writes |= buffer == to && step->args[a].written;
  }
  return reads && writes;
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
  bool last = source->last == copy->number;
  if (!last && source->last == copy->number + 1)
    last = coalesce_is_update(s, copy->number, from, to);
  if (source->place != HALO_PLACE_TEMP || !last) return false;
  if (target->place != HALO_PLACE_TEMP && target->place != HALO_PLACE_RESULT) return false;
  if (source->size != target->size || source->first < 0) return false;
  int32_t use = coalesce_next_use(s, to, source->first, copy->number);
  if (use == source->first) {
    const halo_step *first = s->steps[use];
    /* The source began as a copy of the target: then nothing has to be copied at all. */
    bool copied = coalesce_is_copy(s, first, to, from);
    if (!copied && !coalesce_in_place(s, first, to)) return false;
    if (copied && coalesce_is_update(s, use, to, from)) use++;
    use = coalesce_next_use(s, to, use + 1, copy->number);
  }
  if (use >= 0) return false;
  coalesce_merge(s, from, to);
  coalesce_join_uses(s, from, to);
  return true;
}

/* From here on nobody asks for uses any more.
 *
 * An elementwise kernel's result takes over an operand that it is the last to read. */
static void coalesce_reuse(coalesce_state *s, const halo_step *step) {
  if (step->kind != HALO_STEP_KERNEL || !step->in_place) return;
  for (int32_t w = 0; w < step->arg_count; w++) {
    int32_t output = coalesce_find(s, step->args[w].buffer);
    const halo_plan_buffer *target = &s->plan->buffers.data[output];
    if (!step->args[w].written || target->place != HALO_PLACE_TEMP ||
        target->first != step->number) {
      continue;
    }
    for (int32_t a = 0; a < step->arg_count && a < 64; a++) {
      if (!(step->in_place >> a & 1)) continue;
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
    for (int32_t l = 0; l < step->list_count; l++) coalesce_rewrite(s, &step->lists[l]);
    for (int32_t a = 0; a < step->arg_count; a++) {
      step->args[a].buffer = coalesce_find(s, step->args[a].buffer);
    }
    bool dead = step->kind == HALO_STEP_COPY && step->args[0].buffer == step->args[1].buffer;
    if (!dead) steps->data[kept++] = *step;
  }
  steps->count = kept;
}

void halo_plan_coalesce(halo_plan *plan, const halo_module *module) {
  coalesce_state s = {.plan = plan};
  size_t buffers = (size_t)plan->buffers.count + 1;
  s.steps = halo_alloc(sizeof *s.steps * ((size_t)plan->step_count + 1));
  s.renamed = halo_alloc(sizeof *s.renamed * buffers);
  s.runs = halo_alloc(sizeof *s.runs * buffers);
  s.heads = halo_alloc(sizeof *s.heads * buffers);
  for (int32_t i = 0; i < plan->buffers.count; i++) s.renamed[i] = i;
  halo_plan_index_steps(&plan->steps, s.steps);
  coalesce_note_uses(&s);
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
  coalesce_rewrite(&s, &plan->steps);
  halo_free(s.steps);
  halo_free(s.renamed);
  halo_free(s.runs);
  halo_free(s.heads);
  halo_free(s.uses);
  halo_plan_donate(plan, module);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/bundles.c: which independent steps become one launch.
 *
 * A list of steps is walked once. A step that may be in a bundle waits: others of its kernel come to it, until
 * a step that cannot wait needs what it makes, or writes over what it reads. Then they go together, in front of
 * that step, and before them what they depend on of all that waits. */
#include "plan/bundles.h"

#include "base/memory.h"
#include "plan/bundle_text.h"

#include <stdlib.h>
#include <string.h>

enum {
  BUNDLE_OPEN = 64, /* that wait at a time: a bit each */
  BUNDLE_SURE = 4   /* steps of a bundle that others can count on */
};

/* Steps of one kernel that can be launched together. */
typedef struct bundle_list {
  int32_t members[BUNDLE_MEMBERS]; /* places in the list of steps */
  int32_t count;
  int32_t next;    /* another that goes with it; -1: none */
  bool goes_along; /* with another */
  int32_t before;  /* the place that it goes in front of; -1: it waits */
  int32_t order;   /* among all of them, when it goes */
  int32_t least;   /* a step alone may stay at its place, when that is not before this one */
  uint64_t needs;  /* slots of all those that wait and have to go first, directly or not */
} bundle_list;

/* How the kernel of a unit is used. */
typedef struct bundle_use {
  int32_t steps;      /* of the whole plan */
  int32_t most;       /* steps of a bundle, of the list at hand */
  uint64_t shared;    /* arguments that are the same in each bundle of several */
  const char *kernel; /* of those; a unit may have others */
} bundle_use;

typedef struct bundle_state {
  lower_state *s;
  const halo_target *target;
  bool forced;   /* by the user: bundles wherever they can be */
  int32_t units; /* of the plan before there are regions, which stay by themselves */
  bool *unit_is_plain;
  bundle_use *uses;         /* by unit */
  int32_t *memory;          /* buffer -> one that stands for all that may share its memory */
  uint64_t *reads, *writes; /* by memory: bundles that wait */
  int64_t room;             /* bytes of a kernel's arguments */
  /* of the list at hand */
  const halo_steps *steps;
  HALO_VEC(bundle_list) bundles;
  int32_t open[BUNDLE_OPEN]; /* bundles that wait; -1: none */
  double held;               /* bytes that are kept for them */
  int32_t order;             /* of the next that goes */
  int32_t *bundle_sizes;     /* by number, where they are asked for */
} bundle_state;

/* ---- What may be in one ---- */

static double bundle_held_bytes(const bundle_state *e, const halo_step *step) {
  double bytes = 0;
  for (int32_t a = 0; a < step->arg_count; a++) {
    const halo_plan_buffer *buffer = &e->s->plan->buffers.data[step->args[a].buffer];
    if (buffer->place == HALO_PLACE_TEMP) bytes += (double)buffer->size;
  }
  return bytes;
}

static bool bundle_is_able(const bundle_state *e, const halo_step *step) {
  if (step->kind != HALO_STEP_KERNEL || step->ordered || step->unit >= e->units ||
      !lower_is_plain(e->unit_is_plain, step) || !step->arg_count) {
    return false;
  }
  bundle_body alone = {.members = {step}, .count = 1, .room = 1};
  if (bundle_body_bytes(e->s->plan, e->s->caps, &alone) > e->room) return false;
  if (e->forced) return true;
  const halo_prices *p = &e->target->prices;
  double launches = lower_work(e->target, e->s->caps, step, lower_items(step)) / p->launch;
  bool free = bundle_held_bytes(e, step) / p->bandwidth <= p->launch;
  return launches <= p->bundle_member || (free && launches <= p->bundle_member_free);
}

static const halo_step *bundle_step(const bundle_state *e, int32_t at) {
  return &e->steps->data[at];
}

static bundle_body bundle_body_of(const bundle_state *e, const bundle_list *list) {
  bundle_body body = {.count = list->count, .room = list->count};
  for (int32_t m = 0; m < list->count; m++) body.members[m] = bundle_step(e, list->members[m]);
  body.shared = bundle_shared(&body);
  return body;
}

/* Whether the step is one more of a bundle. */
static bool bundle_takes(const bundle_state *e, const bundle_list *list, const halo_step *step) {
  const halo_step *first = bundle_step(e, list->members[0]);
  if (first->unit != step->unit || strcmp(first->kernel, step->kernel) != 0 ||
      list->count == BUNDLE_MEMBERS) {
    return false;
  }
  bundle_body body = bundle_body_of(e, list);
  body.members[body.count++] = step;
  body.room = body.count;
  body.shared = bundle_shared(&body);
  return bundle_body_bytes(e->s->plan, e->s->caps, &body) <= e->room;
}

/* ---- Waiting ---- */

/* Whether nobody else has this kernel: then nothing is lost when it is built together with others. */
static bool bundle_is_only(const bundle_state *e, const bundle_list *list) {
  return e->uses[bundle_step(e, list->members[0])->unit].steps == list->count;
}

static bundle_list *bundle_in(bundle_state *e, int32_t slot) {
  return e->open[slot] < 0 ? NULL : &e->bundles.data[e->open[slot]];
}

/* What waits too, fits into the same kernel, and needs nothing else, goes along. */
static void bundle_take_along(bundle_state *e, int32_t slot) {
  bundle_list *list = bundle_in(e, slot);
  if (!bundle_is_only(e, list)) return;
  bundle_body body = bundle_body_of(e, list);
  int64_t bytes = bundle_body_bytes(e->s->plan, e->s->caps, &body);
  int32_t bodies = 1;
  for (int32_t i = 0; i < BUNDLE_OPEN && bodies < BUNDLE_BODIES; i++) {
    bundle_list *other = bundle_in(e, i);
    if (!other || i == slot || other->before >= 0 || other->needs || !bundle_is_only(e, other)) {
      continue;
    }
    body = bundle_body_of(e, other);
    int64_t more = bundle_body_bytes(e->s->plan, e->s->caps, &body);
    if (bytes + more > e->room) continue;
    bytes += more;
    other->before = list->before;
    other->goes_along = true;
    other->next = list->next;
    list->next = e->open[i];
    bodies++;
  }
}

/* A step alone that nothing was moved in front of it keeps its place, whatever its text. */
static bool bundle_stays(const bundle_list *list) {
  return list->count == 1 && list->next < 0 && !list->goes_along && list->least <= list->members[0];
}

static void bundle_forget(bundle_state *e, int32_t slot) {
  const bundle_list *list = bundle_in(e, slot);
  for (int32_t m = 0; m < list->count; m++) {
    const halo_step *step = bundle_step(e, list->members[m]);
    e->held -= bundle_held_bytes(e, step);
    for (int32_t a = 0; a < step->arg_count; a++) {
      int32_t memory = e->memory[step->args[a].buffer];
      e->reads[memory] &= ~(1ull << slot);
      e->writes[memory] &= ~(1ull << slot);
    }
  }
  bool stays = bundle_stays(list);
  for (int32_t i = 0; i < BUNDLE_OPEN; i++) {
    bundle_list *other = bundle_in(e, i);
    if (!other || !(other->needs >> slot & 1)) continue;
    other->needs &= ~(1ull << slot);
    if (!stays && other->least < list->before) other->least = list->before;
  }
  e->open[slot] = -1;
}

/* What waits in a slot goes, and all that goes with it. What it needs is gone. */
static void bundle_go(bundle_state *e, int32_t slot, int32_t before) {
  bundle_list *list = bundle_in(e, slot);
  list->before = before;
  list->order = e->order++;
  bundle_take_along(e, slot);
  for (int32_t i = 0; i < BUNDLE_OPEN; i++) {
    if (e->open[i] >= 0 && e->bundles.data[e->open[i]].before >= 0) bundle_forget(e, i);
  }
}

/* What waits in the slots, and all that it needs, goes in front of a place. */
static void bundle_close(bundle_state *e, uint64_t slots, int32_t before) {
  for (int32_t i = 0; i < BUNDLE_OPEN; i++) {
    if (slots >> i & 1 && bundle_in(e, i)) slots |= bundle_in(e, i)->needs;
  }
  bool any = slots != 0;
  while (any) {
    any = false;
    for (int32_t i = 0; i < BUNDLE_OPEN; i++) {
      const bundle_list *list = slots >> i & 1 ? bundle_in(e, i) : NULL;
      if (!list || list->needs) continue;
      bundle_go(e, i, before);
      any = true;
    }
  }
}

/* The slots that have to go before a step. */
static uint64_t bundle_conflicts(const bundle_state *e, const halo_step *step) {
  uint64_t slots = 0;
  for (int32_t a = 0; a < step->arg_count; a++) {
    int32_t memory = e->memory[step->args[a].buffer];
    slots |= e->writes[memory];
    if (step->args[a].written) slots |= e->reads[memory];
  }
  for (int32_t i = 0; i < step->exchange_count; i++) {
    int32_t state = e->memory[step->exchanges[i].state], next = e->memory[step->exchanges[i].next];
    slots |= e->reads[state] | e->writes[state] | e->reads[next] | e->writes[next];
  }
  for (int32_t l = 0; l < step->list_count; l++) {
    for (int32_t i = 0; i < step->lists[l].count; i++) {
      slots |= bundle_conflicts(e, &step->lists[l].data[i]);
    }
  }
  return slots;
}

/* All slots that have to go before what has these to go before it. */
static uint64_t bundle_closure(bundle_state *e, uint64_t slots) {
  uint64_t all = slots;
  for (int32_t i = 0; i < BUNDLE_OPEN; i++) {
    if (slots >> i & 1) all |= bundle_in(e, i)->needs;
  }
  return all;
}

/* A step waits, behind the slots that it needs. */
static void bundle_wait(bundle_state *e, int32_t at, uint64_t needs) {
  const halo_step *step = bundle_step(e, at);
  int32_t slot = -1;
  for (int32_t i = 0; i < BUNDLE_OPEN && slot < 0; i++) {
    bundle_list *list = bundle_in(e, i);
    if (list && !(needs >> i & 1) && bundle_takes(e, list, step)) slot = i;
  }
  for (int32_t i = 0; i < BUNDLE_OPEN && slot < 0; i++) {
    if (e->open[i] >= 0) continue;
    slot = i;
    e->open[i] = e->bundles.count;
    halo_vec_push(&e->bundles, (bundle_list){.next = -1, .before = -1});
  }
  bundle_list *list = bundle_in(e, slot);
  list->members[list->count++] = at;
  list->needs |= needs;
  for (int32_t i = 0; i < BUNDLE_OPEN; i++) {
    bundle_list *other = bundle_in(e, i);
    if (other && other->needs >> slot & 1) other->needs |= needs;
  }
  e->held += bundle_held_bytes(e, step);
  for (int32_t a = 0; a < step->arg_count; a++) {
    int32_t memory = e->memory[step->args[a].buffer];
    (step->args[a].written ? e->writes : e->reads)[memory] |= 1ull << slot;
  }
}

static bool bundle_is_full(const bundle_state *e) {
  bool full = true;
  for (int32_t i = 0; i < BUNDLE_OPEN; i++) full &= e->open[i] >= 0;
  const halo_prices *p = &e->target->prices;
  double most = p->bundle_held * p->launch * p->bandwidth;
  return full || (!e->forced && e->held > most);
}

/* Steps that nothing is moved past. */
static bool bundle_is_wall(const halo_step *step) {
  switch (step->kind) {
    case HALO_STEP_KERNEL:
    case HALO_STEP_LIBRARY:
    case HALO_STEP_COPY:
    case HALO_STEP_RANDOM:
    case HALO_STEP_COLLECTIVE:
    case HALO_STEP_WHILE:
    case HALO_STEP_CONDITIONAL: return false;
    case HALO_STEP_CUSTOM_CALL:
    case HALO_STEP_START:
    case HALO_STEP_DONE:
    case HALO_STEP_IN:
    case HALO_STEP_OUT: break;
  }
  return true;
}

/* Finds the bundles of a list. */
static void bundle_find(bundle_state *e, const halo_steps *steps) {
  e->steps = steps;
  e->bundles.count = 0;
  for (int32_t i = 0; i < BUNDLE_OPEN; i++) e->open[i] = -1;
  e->held = 0;
  e->order = 0;
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    bool able = bundle_is_able(e, step);
    if (bundle_is_wall(step) || (able && bundle_is_full(e))) bundle_close(e, UINT64_MAX, i);
    uint64_t conflicts = bundle_conflicts(e, step);
    if (able) {
      bundle_wait(e, i, bundle_closure(e, conflicts));
    } else {
      bundle_close(e, conflicts, i);
    }
  }
  bundle_close(e, UINT64_MAX, steps->count);
}

/* ---- Launches ---- */

/* Bundles of one kernel have the same text when it has room for the largest. */
static void bundle_note_uses(bundle_state *e) {
  for (int32_t i = 0; i < e->bundles.count; i++) {
    bundle_use *use = &e->uses[bundle_step(e, e->bundles.data[i].members[0])->unit];
    use->most = 0;
    use->shared = UINT64_MAX;
  }
  for (int32_t i = 0; i < e->bundles.count; i++) {
    const bundle_list *list = &e->bundles.data[i];
    const halo_step *first = bundle_step(e, list->members[0]);
    bundle_use *use = &e->uses[first->unit];
    if (list->count < 2 || (use->most && strcmp(use->kernel, first->kernel) != 0)) continue;
    bundle_body body = bundle_body_of(e, list);
    use->kernel = first->kernel;
    use->shared &= body.shared;
    if (list->count > use->most) use->most = list->count;
  }
}

/* A bundle of one kernel as the largest of that kernel. */
static void bundle_widen(const bundle_state *e, bundle_body *body) {
  const bundle_use *use = &e->uses[body->members[0]->unit];
  if (!use->most || strcmp(use->kernel, body->members[0]->kernel) != 0) return;
  bundle_body wide = *body;
  wide.room = use->most;
  wide.shared &= use->shared;
  if (bundle_body_bytes(e->s->plan, e->s->caps, &wide) <= e->room) *body = wide;
}

/* What goes with a bundle, itself first. Gives the number of steps, of which one may stand for several; 0 when it
 * goes with another. */
static int32_t bundle_gather(const bundle_state *e, const bundle_list *list, bundle_body *bodies,
                             bundle *out) {
  *out = (bundle){.count = 0};
  if (list->goes_along) return 0;
  int32_t steps = 0;
  for (const bundle_list *l = list; l; l = l->next < 0 ? NULL : &e->bundles.data[l->next]) {
    bodies[out->count] = bundle_body_of(e, l);
    steps += l->count;
    out->bodies[out->count] = &bodies[out->count];
    out->count++;
  }
  if (out->count == 1) bundle_widen(e, bodies);
  return steps > bodies[0].room ? steps : bodies[0].room;
}

/* What the steps of a bundle come to. */
typedef struct bundle_sum {
  const bundle_state *e;
  const halo_step *first, *last; /* by number */
  int32_t steps;
  double work, flops; /* seconds without launches, operations */
  int64_t bytes;
} bundle_sum;

static bundle_sum bundle_add_up(const bundle_state *e, const bundle *b) {
  bundle_sum sum = {.e = e};
  for (int32_t i = 0; i < b->count; i++) {
    for (int32_t m = 0; m < b->bodies[i]->count; m++, sum.steps++) {
      const halo_step *step = b->bodies[i]->members[m];
      if (!sum.first || step->number < sum.first->number) sum.first = step;
      if (!sum.last || step->number > sum.last->number) sum.last = step;
      sum.work += lower_work(e->target, e->s->caps, step, lower_items(step));
      if (__builtin_add_overflow(sum.bytes, step->bytes, &sum.bytes)) sum.bytes = INT64_MAX;
      sum.flops += halo_step_work(step).flops;
    }
  }
  return sum;
}

/* What does not fit has not been put together. */
static bool bundle_supports(const halo_lowering *l, const char **why) {
  (void)l, (void)why;
  return true;
}

static double bundle_kernel_cost(const halo_lowering *l) {
  const bundle_sum *sum = l->desc;
  return sum->e->target->prices.launch + sum->work;
}

static double bundle_steps_cost(const halo_lowering *l) {
  const bundle_sum *sum = l->desc;
  return sum->steps * sum->e->target->prices.launch + sum->work;
}

static const halo_implementation bundle_implementations[] = {
    {.name = "kernel", .supports = bundle_supports, .cost = bundle_kernel_cost},
    {.name = "steps", .supports = bundle_supports, .cost = bundle_steps_cost},
    {0}};
const halo_family lower_family_bundle = {"bundle", HALO_OPCODE_COUNT, bundle_implementations};

/* Several steps are cheaper together, or the user wants them so. */
static halo_status bundle_settle(bundle_state *e, const bundle *b, halo_step *out) {
  halo_arena *arena = &e->s->plan->arena;
  bundle_sum sum = bundle_add_up(e, b);
  const char *name = lower_value_name(e->s, sum.first), *end = lower_value_name(e->s, sum.last);
  if (sum.first != sum.last) name = halo_arena_printf(arena, "%s..%s", name, end);
  halo_strbuf *explain = &e->s->explain;
  halo_strbuf_printf(explain, "%s: bundle of %d steps, kernels of %d kind%s\n", name, sum.steps,
                     b->count, halo_plural(b->count));
  halo_lowering l = {.caps = e->s->caps, .kernels = e->s->kernels, .name = name, .desc = &sum};
  const halo_implementation *best;
  double seconds;
  HALO_TRY(halo_kernels_choose(&l, lower_family_bundle.name, bundle_implementations, explain, &best,
                               &seconds));
  halo_strbuf_printf(explain, "    -> bundle:%s\n", best->name);
  *out = (halo_step){.kind = HALO_STEP_KERNEL,
                     .trips = -1,
                     .operations = -1,
                     .number = sum.first->number,
                     .seconds = seconds,
                     .bytes = sum.bytes,
                     .flops = lower_saturated(sum.flops)};
  out->label = halo_arena_printf(arena, "%s bundle:kernel", name);
  return bundle_make(e->s, e->target, b, out);
}

/* The memory of a step that waited is kept until it goes, in front of the step with this number. */
static void bundle_keep(const bundle_state *e, const bundle *b, int32_t number) {
  for (int32_t i = 0; i < b->count; i++) {
    for (int32_t m = 0; m < b->bodies[i]->count; m++) {
      const halo_step *step = b->bodies[i]->members[m];
      for (int32_t a = 0; a < step->arg_count; a++) {
        lower_touch(e->s, step->args[a].buffer, number);
      }
    }
  }
}

/* What is launched in front of each step of a list; the steps of bundles are gone then. */
typedef struct bundle_made {
  halo_step step;
  int32_t before, order;
} bundle_made;

static int bundle_by_place(const void *a, const void *b) {
  const bundle_made *x = a, *y = b;
  return x->before != y->before ? x->before - y->before : x->order - y->order;
}

/* Puts steps and launches together. */
static void bundle_merge(halo_steps *steps, const bool *gone, bundle_made *made, int32_t count) {
  halo_steps out = {.label = steps->label};
  halo_vec_reserve(&out, steps->count + count);
  qsort(made, (size_t)count, sizeof *made, bundle_by_place);
  int32_t next = 0;
  for (int32_t i = 0; i <= steps->count; i++) {
    while (next < count && made[next].before == i) halo_vec_push(&out, made[next++].step);
    if (i < steps->count && !gone[i]) halo_vec_push(&out, steps->data[i]);
  }
  halo_free(steps->data);
  *steps = out;
}

/* What becomes of a bundle: a launch, or the step that it is. False when it stays as it is. */
static bool bundle_launch(bundle_state *e, const bundle_list *list, bundle_body *bodies,
                          int32_t end, bundle_made *out, halo_status *status) {
  bundle b;
  int32_t count = bundle_gather(e, list, bodies, &b);
  if (!count || (count == 1 && bundle_stays(list))) return false;
  out->before = bundle_stays(list) ? list->members[0] : list->before;
  out->order = list->order;
  out->step = *bundle_step(e, list->members[0]);
  bundle_keep(e, &b, out->before < e->steps->count ? bundle_step(e, out->before)->number : end);
  if (count > 1) *status = bundle_settle(e, &b, &out->step);
  return *status == HALO_OK;
}

/* `end`: the number of what comes behind the list. */
static halo_status bundle_divide(bundle_state *e, halo_steps *steps, int32_t end) {
  bundle_find(e, steps);
  bundle_note_uses(e);
  bool *gone = halo_alloc((size_t)steps->count + 1);
  HALO_VEC(bundle_made) made = {0};
  bundle_body *bodies = halo_alloc(sizeof *bodies * BUNDLE_BODIES);
  halo_status status = HALO_OK;
  for (int32_t i = 0; i < e->bundles.count && status == HALO_OK; i++) {
    const bundle_list *list = &e->bundles.data[i];
    bundle_made one;
    if (!bundle_launch(e, list, bodies, end, &one, &status)) continue;
    for (const bundle_list *l = list; l; l = l->next < 0 ? NULL : &e->bundles.data[l->next]) {
      for (int32_t m = 0; m < l->count; m++) gone[l->members[m]] = true;
    }
    halo_vec_push(&made, one);
  }
  if (made.count) bundle_merge(steps, gone, made.data, made.count);
  halo_free(gone);
  halo_free(bodies);
  halo_vec_deinit(&made);
  for (int32_t i = 0; i < steps->count && status == HALO_OK; i++) {
    int32_t behind = i + 1 < steps->count ? steps->data[i + 1].number : end;
    for (int32_t l = 0; l < steps->data[i].list_count && status == HALO_OK; l++) {
      status = bundle_divide(e, &steps->data[i].lists[l], behind);
    }
  }
  return status;
}

/* Only counts. Where a region takes a step of few, the others are soon alone: a few count as none. */
static void bundle_note_sizes(bundle_state *e, const halo_steps *steps) {
  bundle_find(e, steps);
  bundle_note_uses(e);
  bundle_body *bodies = halo_alloc(sizeof *bodies * BUNDLE_BODIES);
  for (int32_t i = 0; i < e->bundles.count; i++) {
    bundle b;
    int32_t count = bundle_gather(e, &e->bundles.data[i], bodies, &b);
    if (count < BUNDLE_SURE) continue;
    for (int32_t k = 0; k < b.count; k++) {
      for (int32_t m = 0; m < bodies[k].count; m++)
        e->bundle_sizes[bodies[k].members[m]->number] = count;
    }
  }
  halo_free(bodies);
  for (int32_t i = 0; i < steps->count; i++) {
    for (int32_t l = 0; l < steps->data[i].list_count; l++) {
      bundle_note_sizes(e, &steps->data[i].lists[l]);
    }
  }
}

/* ---- The plan ---- */

static void bundle_count_uses(bundle_state *e, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    if (step->unit >= 0) e->uses[step->unit].steps++;
    for (int32_t l = 0; l < step->list_count; l++) bundle_count_uses(e, &step->lists[l]);
  }
}

/* A result may take over the memory of an argument. */
static void bundle_note_memory(bundle_state *e) {
  const halo_plan *plan = e->s->plan;
  size_t buffers = (size_t)plan->buffers.count + 1;
  e->memory = halo_alloc(sizeof *e->memory * buffers);
  e->reads = halo_alloc(sizeof *e->reads * buffers);
  e->writes = halo_alloc(sizeof *e->writes * buffers);
  int32_t *of_argument = halo_alloc(sizeof *of_argument * ((size_t)plan->argument_count + 1));
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    e->memory[i] = i;
    if (plan->buffers.data[i].place == HALO_PLACE_ARGUMENT) {
      of_argument[plan->buffers.data[i].index] = i;
    }
  }
  for (int32_t r = 0; r < plan->result_count; r++) {
    if (plan->result_alias[r] < 0) continue;
    e->memory[plan->result_buffers[r]] = of_argument[plan->result_alias[r]];
  }
  halo_free(of_argument);
}

/* False where there are to be none. */
static bool bundle_begin(bundle_state *e) {
  const lower_state *s = e->s;
  int kernel = halo_kernels_listed(s->kernels, "bundle", "kernel");
  int steps = halo_kernels_listed(s->kernels, "bundle", "steps");
  if (kernel < 0 || steps > 0) return false;
  e->forced = kernel > 0 || steps < 0;
  int64_t pointer = (int64_t)s->caps->address_bits / 8;
  e->room = s->caps->max_parameters ? (int64_t)s->caps->max_parameters
                                    : e->target->max_buffers * (pointer + 8);
  e->room -= bundle_table_bytes(s->caps);
  e->unit_is_plain = lower_plain_units(s, 0);
  e->uses = halo_alloc(sizeof *e->uses * ((size_t)s->plan->units.count + 1));
  bundle_count_uses(e, &s->plan->steps);
  bundle_note_memory(e);
  return true;
}

static void bundle_end(bundle_state *e) {
  halo_free(e->unit_is_plain);
  halo_free(e->uses);
  halo_free(e->memory);
  halo_free(e->reads);
  halo_free(e->writes);
  halo_vec_deinit(&e->bundles);
}

halo_status lower_bundles(lower_state *s, const halo_target *target, int32_t units) {
  bundle_state e = {.s = s, .target = target, .units = units};
  if (!bundle_begin(&e)) return HALO_OK;
  halo_status status = bundle_divide(&e, &s->plan->steps, s->clock - 1);
  bundle_end(&e);
  return status;
}

int32_t *lower_bundle_sizes(lower_state *s, const halo_target *target) {
  bundle_state e = {.s = s, .target = target, .units = s->plan->units.count};
  if (!bundle_begin(&e)) return NULL;
  e.bundle_sizes = halo_alloc(sizeof *e.bundle_sizes * ((size_t)s->plan->step_count + 1));
  bundle_note_sizes(&e, &s->plan->steps);
  bundle_end(&e);
  return e.bundle_sizes;
}

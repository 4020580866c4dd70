/* SPDX-License-Identifier: Apache-2.0 */
/* plan/region_price.c: what steps take on their own, and within a region. */
#include "plan/region_text.h"

/* Seconds of asking the host. */
double region_wait(const region_state *e) {
  return e->target->prices.region_wait * e->target->prices.launch;
}

void region_add_price(region_price *sum, const region_price *one) {
  if (!sum->why) sum->why = one->why;
  sum->endless |= one->endless;
  sum->steps += one->steps;
  sum->loops += one->loops;
  sum->calls += one->calls;
  if (one->depth > sum->depth) sum->depth = one->depth;
  sum->private_bytes += one->private_bytes;
  sum->as_steps += one->as_steps;
  sum->in_region += one->in_region;
  sum->rounds += one->rounds;
}

region_price region_price_list(const region_state *e, const halo_steps *steps) {
  region_price sum = {0};
  for (int32_t i = 0; i < steps->count && !sum.why; i++) {
    region_price one = region_price_step(e, &steps->data[i]);
    region_add_price(&sum, &one);
    if (!sum.why && sum.steps > REGION_STEPS) sum.why = "there are too many steps";
  }
  return sum;
}

/* Why a loop with this condition and this sum of a round cannot be in a region; NULL: it can. */
static const char *region_refuse_loop(const region_state *e, const region_price *condition,
                                      const region_price *round, bool known) {
  if (round->why) return round->why;
  if (condition->why) return condition->why;
  if (condition->loops) return "its condition has a loop";
  if (round->depth >= REGION_DEPTH) return "loops are nested too deep";
  /* A round is done whole. */
  if (round->in_region + condition->in_region >= e->target->prices.region_longest_round) {
    return "a round would take too long";
  }
  if (e->s->caps->max_rounds && !known) return "nobody knows how many rounds the device would do";
  return NULL;
}

static region_price region_price_loop(const region_state *e, const halo_step *step) {
  region_price condition = region_price_list(e, &step->lists[0]);
  region_price price = region_price_list(e, &step->lists[1]);
  bool known = step->trips >= 0;
  double rounds = known ? (double)step->trips : LOWER_ROUNDS;
  price.why = region_refuse_loop(e, &condition, &price, known);
  price.steps += condition.steps;
  price.private_bytes += condition.private_bytes;
  price.loops++;
  price.depth++;
  price.endless |= !known;
  price.as_steps += condition.as_steps + (known ? 0 : region_wait(e));
  price.in_region += condition.in_region;
  price.as_steps *= rounds;
  price.in_region *= rounds;
  price.rounds = (price.rounds + condition.rounds + 1) * rounds;
  return price;
}

/* ---- What the host does ---- */

/* Whether steps call functions of the host; *others: whether they need the host for other things. */
static bool region_calls(const halo_steps *steps, bool *others) {
  bool calls = false;
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    switch (step->kind) {
      case HALO_STEP_CUSTOM_CALL:
      case HALO_STEP_IN:
      case HALO_STEP_OUT: calls = true; break;
      case HALO_STEP_KERNEL:
      case HALO_STEP_LIBRARY:
      case HALO_STEP_COPY:
      case HALO_STEP_WHILE:
      case HALO_STEP_CONDITIONAL: break;
      case HALO_STEP_RANDOM:
      case HALO_STEP_START:
      case HALO_STEP_DONE:
      case HALO_STEP_COLLECTIVE: *others = true; break;
    }
    for (int32_t l = 0; l < step->list_count; l++) calls |= region_calls(&step->lists[l], others);
  }
  return calls;
}

bool region_is_hosted(const halo_step *conditional, int32_t branch) {
  bool here = false, elsewhere = false, others = false;
  for (int32_t l = 0; l < conditional->list_count; l++) {
    bool calls = region_calls(&conditional->lists[l], &others);
    here |= calls && l == branch;
    elsewhere |= !calls;
  }
  return here && elsewhere && !others;
}

/* One branch is taken. */
static region_price region_price_branches(const region_state *e, const halo_step *step) {
  region_price price = {.steps = 1};
  int32_t calls = 0;
  for (int32_t l = 0; l < step->list_count && !price.why; l++) {
    if (region_is_hosted(step, l)) {
      price.calls = 1;
      continue;
    }
    region_price branch = region_price_list(e, &step->lists[l]);
    price.why = branch.why;
    price.endless |= branch.endless;
    price.steps += branch.steps;
    price.loops += branch.loops;
    calls += branch.calls;
    price.private_bytes += branch.private_bytes;
    if (branch.depth > price.depth) price.depth = branch.depth;
    if (branch.as_steps > price.as_steps) price.as_steps = branch.as_steps;
    if (branch.in_region > price.in_region) price.in_region = branch.in_region;
    if (branch.rounds > price.rounds) price.rounds = branch.rounds;
  }
  price.loops += price.calls;
  price.calls += calls;
  price.as_steps += region_wait(e);
  price.in_region += e->target->prices.region_step;
  return price;
}

/* Seconds of a step in one work group alone. A group of a CPU's is a core, and takes so many times longer than all cores:
 * not longer than the step has groups, which is one for what a work item does in order. */
static double region_work(const region_state *e, const halo_step *step) {
  double all = lower_items(step), group = (double)e->group;
  if (!e->s->caps->is_cpu) {
    return lower_work(e->target, e->s->caps, step, all < group ? all : group);
  }
  double groups = step->kind == HALO_STEP_KERNEL ? halo_grid_groups(&step->grid) : e->cores;
  return lower_work(e->target, e->s->caps, step, all) * (groups < e->cores ? groups : e->cores);
}

/* An operation a round, or, of what has none that are counted, as sorts, some rounds for each word; and each work item
 * that is one of the group's rounds. */
static double region_rounds(const region_state *e, const halo_step *step) {
  enum { WORD = 4, WORD_ROUNDS = 8 };
  halo_plan_work work = halo_step_work(step);
  double items = halo_grid_count(&step->grid), group = (double)e->group;
  if (step->kind == HALO_STEP_COPY) return (double)step->bytes / group;
  double done = work.flops > 0 ? work.flops : work.traffic / WORD * WORD_ROUNDS;
  return (items + done) / (items < group ? items : group);
}

static int64_t region_private_bytes(const region_state *e, const halo_step *step) {
  const halo_plan_unit *unit = &e->s->plan->units.data[step->unit];
  int64_t bytes = 0;
  for (int32_t k = 0; k < unit->kernel_count; k++) bytes += unit->kernels[k]->facts.private_bytes;
  return bytes;
}

region_price region_price_step(const region_state *e, const halo_step *step) {
  const halo_prices *p = &e->target->prices;
  if (step->kind == HALO_STEP_WHILE) return region_price_loop(e, step);
  if (step->kind == HALO_STEP_CONDITIONAL) return region_price_branches(e, step);
  region_price price = {.steps = 1};
  if (step->kind == HALO_STEP_KERNEL) {
    bool plain = lower_is_plain(e->unit_is_plain, step);
    price.why = plain ? NULL : "a step's kernel cannot be part of another";
    price.private_bytes = region_private_bytes(e, step);
  } else if (step->kind != HALO_STEP_COPY) {
    price.why = "a step is neither a kernel nor a copy";
  }
  double work = lower_work(e->target, e->s->caps, step, lower_items(step));
  /* A step that can be launched with others costs a share of that. */
  int32_t share = e->s->bundle_sizes ? e->s->bundle_sizes[step->number] : 0;
  double launch = p->region_waking * p->launch;
  price.as_steps = launch / (share > 1 ? share : 1) + work;
  price.in_region = p->region_step + region_work(e, step);
  price.rounds = region_rounds(e, step);
  return price;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/regions.c: which runs of small steps become one kernel each, loops and branches among them. */
#include "plan/regions.h"

#include "base/config.h"
#include "base/memory.h"
#include "plan/region_text.h"

#include <string.h>

enum {
  REGION_STRAIGHT_STEPS = 32, /* where there are no rounds, see REGION_STEPS */
  REGION_GROUP = 256          /* work items, where they run side by side */
};

/* ---- Which runs ---- */

/* The best way to cut the first steps of a list. */
typedef struct region_cut {
  double gain;   /* seconds that regions save */
  int32_t start; /* of the run that ends here; the step itself when it stays as it is: -1 */
} region_cut;

/* What a run of steps, put together from its last one on, comes to. */
typedef struct region_sum {
  const region_state *e;
  region_price price;
  region_buffers buffers;
  double within; /* seconds that regions within a loop save if it stays as it is */
} region_sum;

/* What may take long leaves off after a while, and goes on. */
static bool region_may_leave(const region_state *e, const region_price *price) {
  return price->endless || price->calls || price->in_region > e->longest;
}

/* ---- Implementations of a run ---- */

static const char REGION_BUFFERS[] = "a kernel cannot have so many buffers";

/* Why neither this run nor a longer one can be a region; NULL: there is no such reason. */
static const char *region_refuse(const region_sum *sum) {
  const region_price *price = &sum->price;
  int32_t most = price->loops ? REGION_STEPS : REGION_STRAIGHT_STEPS;
  const halo_caps *caps = sum->e->s->caps;
  uint64_t most_rounds = caps->max_rounds;
  if (price->why) return price->why;
  if (most_rounds && price->rounds > (double)most_rounds) {
    return "the device ends kernels of so many rounds";
  }
  if (price->steps > most) return "there are too many steps";
  if (!caps->is_cpu && price->private_bytes > halo_caps_private_bytes(caps)) {
    return "its steps have too large private arrays";
  }
  bool exceed = region_buffers_exceed(sum->e, &sum->buffers);
  return exceed ? REGION_BUFFERS : NULL;
}

static bool region_kernel_supports(const halo_lowering *l, const char **why) {
  const region_sum *sum = l->desc;
  *why = region_refuse(sum);
  if (*why) return false;
  *why = REGION_BUFFERS;
  if (!region_buffers_fit(sum->e, &sum->buffers)) return false;
  *why = "it is one step";
  return sum->price.steps >= 2 || sum->price.loops;
}

/* A launch stands for all, and another, with a question, for what may leave. */
static double region_kernel_cost(const halo_lowering *l) {
  const region_sum *sum = l->desc;
  double leaving = region_may_leave(sum->e, &sum->price) ? region_wait(sum->e) : 0;
  return sum->price.in_region + sum->e->target->prices.launch + leaving;
}

static bool region_steps_supports(const halo_lowering *l, const char **why) {
  (void)l, (void)why;
  return true;
}

static double region_steps_cost(const halo_lowering *l) {
  const region_sum *sum = l->desc;
  return sum->price.as_steps - sum->within;
}

static const halo_implementation region_implementations[] = {
    {.name = "kernel", .supports = region_kernel_supports, .cost = region_kernel_cost},
    {.name = "steps", .supports = region_steps_supports, .cost = region_steps_cost},
    {0}};
const halo_family lower_family_region = {"region", HALO_OPCODE_COUNT, region_implementations};

static halo_lowering region_lowering(const region_sum *sum, const char *name) {
  const lower_state *s = sum->e->s;
  return (halo_lowering){.caps = s->caps, .kernels = s->kernels, .name = name, .desc = sum};
}

/* Seconds that a region saves; 0 where there can be none. */
static double region_gain(const region_sum *sum) {
  const char *why;
  halo_lowering l = region_lowering(sum, "");
  if (!region_kernel_supports(&l, &why)) return 0;
  if (sum->e->forced) return sum->price.steps - 0.5; /* as few regions as there can be */
  return region_steps_cost(&l) - region_kernel_cost(&l);
}

/* Says in the report what the implementations take, and why a loop stays as it is. */
static halo_status region_explain(const region_sum *sum, const char *name) {
  halo_lowering l = region_lowering(sum, name);
  halo_strbuf *explain = &sum->e->s->explain;
  const halo_implementation *best;
  double cost;
  halo_strbuf_printf(explain, "%s: region of %d step%s\n", name, sum->price.steps,
                     halo_plural(sum->price.steps));
  const char *why = NULL;
  if (!region_kernel_supports(&l,
                              &why)) { /* whatever the user's list says: there is no other way */
    halo_strbuf_printf(explain,
                       "    kernel     no: %s\n    steps      %.3g us\n    -> region:steps\n", why,
                       region_steps_cost(&l) * 1e6);
    return HALO_OK;
  }
  HALO_TRY(halo_kernels_choose(&l, lower_family_region.name, region_implementations, explain, &best,
                               &cost));
  halo_strbuf_printf(explain, "    -> region:%s\n", best->name);
  return HALO_OK;
}

/* ---- Which runs are best ---- */

static region_cut *region_cut_list(region_state *e, const halo_steps *steps);

/* What regions within a loop save if it stays as it is: where rounds have long steps among short ones, the long ones are
 * better done by all, and the rest by regions. Of shorter rounds, threads that are woken and data that goes from core to
 * core take more than is gained (five programs with rounds of 0.1 to 0.6 ms took 1.3 to 1.6 times as long). */
static double region_gain_within(region_state *e, const halo_step *step) {
  if (e->forced || step->kind != HALO_STEP_WHILE) return 0;
  region_price round = region_price_list(e, &step->lists[1]);
  if (round.why || round.in_region < e->target->prices.region_long_round) return 0;
  double rounds = step->trips >= 0 ? (double)step->trips : LOWER_ROUNDS;
  region_cut *cuts = region_cut_list(e, &step->lists[1]);
  double gain = cuts[step->lists[1].count].gain;
  halo_free(cuts);
  return gain * rounds;
}

static region_cut *region_cut_list(region_state *e, const halo_steps *steps) {
  int32_t n = steps->count;
  region_price *prices = halo_alloc(sizeof *prices * ((size_t)n + 1));
  region_cut *cuts = halo_alloc(sizeof *cuts * ((size_t)n + 1));
  for (int32_t i = 0; i < n; i++) prices[i] = region_price_step(e, &steps->data[i]);
  cuts[0] = (region_cut){0, -1};
  for (int32_t end = 0; end < n; end++) {
    region_cut *best = &cuts[end + 1];
    *best = (region_cut){cuts[end].gain + region_gain_within(e, &steps->data[end]), -1};
    region_sum sum = {.e = e};
    region_begin_buffers(e, &sum.buffers, steps, end);
    for (int32_t start = end; start >= 0; start--) {
      region_add_price(&sum.price, &prices[start]);
      if (sum.price.why) break;
      region_add_buffers(e, &sum.buffers, &steps->data[start]);
      if (region_refuse(&sum)) break;
      double gain = cuts[start].gain + region_gain(&sum);
      if (gain > best->gain) *best = (region_cut){gain, start};
    }
  }
  halo_free(prices);
  return cuts;
}

/* ---- The steps ---- */

static void region_free_lists(halo_step *step) {
  for (int32_t l = 0; l < step->list_count; l++) {
    halo_steps *list = &step->lists[l];
    for (int32_t i = 0; i < list->count; i++) region_free_lists(&list->data[i]);
    halo_free(list->data);
    *list = (halo_steps){.label = list->label};
  }
}

static halo_step region_launch(const region_state *e, const region_kernel *kernel, int32_t number,
                               const char *label) {
  return (halo_step){.kind = HALO_STEP_KERNEL,
                     .number = number,
                     .label = label,
                     .kernel = kernel->name,
                     .unit = kernel->unit,
                     .args = kernel->args,
                     .arg_count = kernel->arg_count,
                     .grid = halo_grid_line((int64_t)e->group, e->group),
                     .operations = -1,
                     .trips = -1};
}

/* Whether the region goes on, and when it is to leave. */
static void region_give_values(const region_state *e, halo_step *launch, int64_t goes_on) {
  const halo_plan_value values[] = {
      {.what = HALO_VALUE_NUMBER, .size = 4, .number = goes_on},
      {.what = HALO_VALUE_TIME, .size = 8, .number = (int64_t)(e->longest * 1e9)}};
  launch->values = halo_arena_copy(&e->s->plan->arena, values, sizeof values);
  launch->value_count = 2;
}

/* A buffer for the place where a region leaves off, alive from its first step to its last. */
static int32_t region_place(const region_state *e, const halo_step *first, const halo_step *last) {
  int32_t place = lower_buffer(e->s, HALO_PLACE_TEMP, 0, REGION_PLACE_BYTES, "place in a region");
  lower_touch(e->s, place, first->number);
  /* A loop's end is counted behind its last step. */
  int32_t end = lower_last_number(last) + 1;
  lower_touch(e->s, place, end < e->s->clock ? end : e->s->clock - 1);
  return place;
}

typedef HALO_VEC(halo_steps) region_lists;

/* Takes the branches that the host does out of steps, in the order of their numbers: those of a conditional, and then those
 * within its others. */
static void region_take_hosted(halo_steps *steps, region_lists *out) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    int32_t first = out->count;
    for (int32_t l = 0; l < step->list_count && step->kind == HALO_STEP_CONDITIONAL; l++) {
      if (region_is_hosted(step, l)) halo_vec_push(out, step->lists[l]);
    }
    for (int32_t l = 0; l < step->list_count; l++) {
      bool taken = first < out->count && out->data[first].data == step->lists[l].data;
      if (taken) {
        step->lists[l] = (halo_steps){.label = step->lists[l].label};
        first++;
      } else {
        region_take_hosted(&step->lists[l], out);
      }
    }
  }
}

/* The conditional that does what the region asks the host for, if anything. */
static void region_call_host(const region_state *e, halo_steps *steps, const region_lists *hosted,
                             int32_t called) {
  halo_plan_arg selector = {called, 4, false};
  halo_step step = {.kind = HALO_STEP_CONDITIONAL, .unit = -1, .operations = -1, .trips = -1};
  step.number = hosted->data[0].data[0].number;
  step.label = "what a region asks for";
  step.args = halo_arena_copy(&e->s->plan->arena, &selector, sizeof selector);
  step.arg_count = 1;
  halo_steps *lists = lower_lists(e->s, &step, hosted->count + 1);
  lists[0].label = "nothing";
  for (int32_t i = 0; i < hosted->count; i++) lists[i + 1] = hosted->data[i];
  halo_vec_push(steps, step);
}

/* Puts the region of the steps of a list from `start` up to `end` at `out`, and how many steps that makes into *made. */
static halo_status region_settle(region_state *e, const halo_steps *list, int32_t start,
                                 int32_t end, halo_step *out, int32_t *made) {
  region_sum sum = {.e = e};
  halo_step *steps = &list->data[start];
  int32_t count = end - start;
  int32_t number = steps[0].number;
  int64_t bytes = 0;
  double flops = 0;
  region_begin_buffers(e, &sum.buffers, list, end - 1);
  for (int32_t i = count - 1; i >= 0; i--) {
    region_price one = region_price_step(e, &steps[i]);
    region_add_price(&sum.price, &one);
    region_add_buffers(e, &sum.buffers, &steps[i]);
    if (__builtin_add_overflow(bytes, steps[i].bytes, &bytes)) bytes = INT64_MAX;
    flops += halo_step_work(&steps[i]).flops;
  }
  halo_arena *arena = &e->s->plan->arena;
  const char *name = lower_value_name(e->s, &steps[0]);
  const char *last = lower_value_name(e->s, &steps[count - 1]);
  if (strcmp(name, last) != 0) name = halo_arena_printf(arena, "%s..%s", name, last);
  const char *label = halo_arena_printf(arena, "%s region:kernel", name);
  HALO_TRY(region_explain(&sum, name));
  bool may_leave = region_may_leave(e, &sum.price);
  region_run run = {steps, count, -1, -1, -1, -1};
  if (region_is_packed(e, &sum.buffers)) region_pack(e, &run);
  if (may_leave) run.place = region_place(e, &steps[0], &steps[count - 1]);
  if (sum.price.calls) run.called = region_place(e, &steps[0], &steps[count - 1]);
  region_kernel kernel = region_make_kernel(e, &run);
  halo_steps taken = {steps, count, count, NULL};
  region_lists hosted = {0};
  if (sum.price.calls) region_take_hosted(&taken, &hosted);
  for (int32_t i = 0; i < count; i++) region_free_lists(&steps[i]);
  out[0] = region_launch(e, &kernel, number, label);
  out[0].seconds = e->target->prices.launch + sum.price.in_region;
  out[0].bytes = sum.price.loops ? 0 : bytes;
  out[0].flops = lower_saturated(flops);
  *made = may_leave ? 2 : 1;
  if (!may_leave) return HALO_OK;
  region_give_values(e, &out[0], 0);
  halo_plan_arg place = {run.place, 1, false};
  out[1] = (halo_step){.kind = HALO_STEP_WHILE, .number = number, .unit = -1, .trips = -1};
  out[1].label = halo_arena_printf(arena, "%s goes on", name);
  out[1].args = halo_arena_copy(arena, &place, sizeof place);
  out[1].arg_count = 1;
  out[1].goes_on = true;
  halo_steps *lists = lower_lists(e->s, &out[1], 2);
  lists[0].label = "condition";
  lists[1].label = "body";
  if (hosted.count) region_call_host(e, &lists[1], &hosted, run.called);
  halo_vec_deinit(&hosted);
  halo_step again = region_launch(e, &kernel, number, label);
  region_give_values(e, &again, 1);
  halo_vec_push(&lists[1], again);
  return HALO_OK;
}

static halo_status region_divide(region_state *e, halo_steps *steps);

/* A step that stays as it is. */
static halo_status region_keep(region_state *e, const halo_steps *steps, int32_t index) {
  halo_step *step = &steps->data[index];
  if (!step->list_count) return HALO_OK;
  region_sum sum = {.e = e, .price = region_price_step(e, step)};
  region_begin_buffers(e, &sum.buffers, steps, index);
  region_add_buffers(e, &sum.buffers, step);
  sum.within = region_gain_within(e, step);
  HALO_TRY(region_explain(&sum, lower_value_name(e->s, step)));
  e->depth++;
  halo_status status = HALO_OK;
  for (int32_t l = 0; l < step->list_count && status == HALO_OK; l++) {
    status = region_divide(e, &step->lists[l]);
  }
  e->depth--;
  return status;
}

/* Replaces the best runs of a list by regions, and looks for such within the others. */
static halo_status region_divide(region_state *e, halo_steps *steps) {
  if (!steps->count) return HALO_OK;
  region_cut *cuts = region_cut_list(e, steps);
  halo_step *made = halo_alloc(sizeof *made * 2 * (size_t)steps->count);
  int32_t next = 2 * steps->count;
  halo_status status = HALO_OK;
  for (int32_t end = steps->count; end > 0 && status == HALO_OK;) {
    int32_t start = cuts[end].start;
    if (start < 0) {
      status = region_keep(e, steps, --end);
      made[--next] = steps->data[end];
      continue;
    }
    halo_step out[2];
    int32_t count = 0;
    status = region_settle(e, steps, start, end, out, &count);
    next -= count;
    memcpy(&made[next], out, sizeof *out * (size_t)count);
    end = start;
  }
  int32_t count = 2 * steps->count - next;
  if (status == HALO_OK) {
    halo_vec_reserve(steps, count);
    memcpy(steps->data, &made[next], sizeof *made * (size_t)count);
    steps->count = count;
  }
  halo_free(made);
  halo_free(cuts);
  return status;
}

/* ---- The plan ---- */

/* Arguments that a kernel may have beside two numbers. */
static int32_t region_most_buffers(const halo_caps *caps, const halo_target *target) {
  enum { NUMBERS = 16 };
  int32_t most = target->max_buffers, each = (int32_t)caps->address_bits / 8 + 8;
  if (!caps->max_parameters) return most;
  int64_t room = ((int64_t)caps->max_parameters - NUMBERS) / each;
  return room < most ? (int32_t)room : most;
}

/* Whether the list of kernels leaves regions out: -1; wants them wherever they can be: 1. */
static int region_listed(const lower_state *s) {
  int kernel = halo_kernels_listed(s->kernels, "region", "kernel");
  int steps = halo_kernels_listed(s->kernels, "region", "steps");
  if (kernel < 0 || steps > 0) return -1;
  return kernel > 0 || steps < 0;
}

/* Work items of the one group. */
static size_t region_group(const lower_state *s) {
  size_t group = s->caps->is_cpu ? 1 : halo_kernel_local_size(s->caps, REGION_GROUP);
  size_t most = s->limits ? s->limits->regions : 0;
  while (most && group > most) group /= 2;
  return group;
}

void lower_begin_regions(lower_state *s, const halo_target *target) {
  double group = (double)region_group(s);
  s->has_regions = !s->caps->is_cpu && region_listed(s) >= 0;
  s->one_group = *target;
  s->one_group.prices.launch = target->prices.region_step;
  s->one_group.prices.rate = 1 / halo_target_operations(target, 1, group);
  s->one_group.prices.bandwidth = 1 / halo_target_bytes(target, 1, group);
}

halo_status lower_regions(lower_state *s, const halo_target *target) {
  halo_plan *plan = s->plan;
  /* Where launches are limited, this is a first guess by estimates that may be too low by a factor of 50. */
  uint64_t limit, longest;
  HALO_TRY(halo_caps_launch_time(s->caps, &limit));
  HALO_TRY(halo_config_number(HALO_CONFIG_REGION_TIME, limit ? 2000 : 50000, &longest));
  if (region_listed(s) < 0) return HALO_OK;
  region_state e = {
      .s = s, .target = target, .forced = region_listed(s) > 0, .longest = (double)longest * 1e-6};
  e.group = region_group(s);
  e.cores = s->caps->compute_units > 1 ? s->caps->compute_units : 1;
  e.most_buffers = region_most_buffers(s->caps, target);
  e.unit_is_plain = lower_plain_units(s, e.group);
  e.number_of_unit = halo_alloc(sizeof(int32_t) * ((size_t)plan->units.count + 1));
  size_t added = REGION_ADDED * ((size_t)plan->step_count + 1);
  size_t buffers = (size_t)plan->buffers.count + added;
  e.arg_of_buffer = halo_alloc(sizeof(int32_t) * buffers);
  e.stamps = halo_alloc(sizeof(int32_t) * buffers);
  e.is_own = halo_alloc(buffers);
  halo_status status = region_divide(&e, &plan->steps);
  halo_free(e.unit_is_plain);
  halo_free(e.number_of_unit);
  halo_free(e.arg_of_buffer);
  halo_free(e.stamps);
  halo_free(e.is_own);
  return status;
}

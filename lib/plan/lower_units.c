/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_units.c: units of a plan as parts of others, whose kernels are then functions; and numbers, of
 * units and steps, when some are gone. */
#include "base/memory.h"
#include "plan/lowering.h"

#include <string.h>

/* ---- Text ---- */

/* What stands in a text, and what is to stand there. */
typedef const char *unit_pair[2];

/* Appends what stands from `from` to `end`, with other things in it. The last pair is empty. */
static void unit_replace(halo_strbuf *out, const char *from, const char *end,
                         const unit_pair *pairs) {
  while (from < end) {
    const unit_pair *p = pairs;
    while ((*p)[0] && strncmp(from, (*p)[0], strlen((*p)[0])) != 0) p++;
    if ((*p)[0]) {
      halo_strbuf_append(out, (*p)[1]);
      from += strlen((*p)[0]);
    } else {
      halo_strbuf_char(out, *from++);
    }
  }
}

void lower_unit_name(halo_strbuf *out, const char *name, const char *number) {
  unit_replace(out, name, name + strlen(name), (unit_pair[]){{"@", number}, {NULL, NULL}});
}

/* How functions say what kernels do: what work items that are alone in their groups do, all do, and all ask for
 * nothing but their places. */
static const unit_pair unit_alone[] = {{"get_group_id(0)", "h_x"},
                                       {"get_group_id(1)", "h_y"},
                                       {"get_local_id(0)", "0"},
                                       {"get_local_id(1)", "0"},
                                       {"__local ", ""},
                                       {"barrier(", "(void)("},
                                       {"__kernel void ", "static void "},
                                       {HALO_KERNEL_APART, ""},
                                       {"h_touch();", ""},
                                       {"get_global_id(0)", "h_x"},
                                       {"get_global_id(1)", "h_y"},
                                       {NULL, NULL}};
static const unit_pair *const unit_any = &unit_alone[6], *const unit_places = &unit_alone[9];

void lower_places(halo_strbuf *out, const char *from, const char *end) {
  unit_replace(out, from, end, unit_places);
}

/* Without the sizes of groups that kernels ask for, which are no business of functions. */
static void unit_drop_sizes(halo_strbuf *out, const char *text) {
  static const char start[] = "__attribute__((reqd_work_group_size(", end[] = ")))";
  const char *found;
  while ((found = strstr(text, start)) != NULL) {
    halo_strbuf_append_n(out, text, (size_t)(found - text));
    text = strstr(found, end) + strlen(end);
  }
  halo_strbuf_append(out, text);
}

void lower_unit_functions(halo_strbuf *out, const char *text, const char *number, bool alone) {
  halo_strbuf sized = {0}, named = {0}, opened = {0};
  unit_drop_sizes(&sized, text);
  lower_unit_name(&named, halo_strbuf_text(&sized), number);
  const char *at = halo_strbuf_text(&named), *kernel;
  while ((kernel = strstr(at, "__kernel void ")) != NULL) {
    const char *open = strchr(kernel, '(') + 1;
    halo_strbuf_append_n(&opened, at, (size_t)(open - at));
    halo_strbuf_append(&opened, "const size_t h_x, const size_t h_y, ");
    at = open;
  }
  halo_strbuf_append(&opened, at);
  const char *all = halo_strbuf_text(&opened);
  unit_replace(out, all, all + opened.length, alone ? unit_alone : unit_any);
  halo_strbuf_deinit(&sized);
  halo_strbuf_deinit(&named);
  halo_strbuf_deinit(&opened);
}

/* ---- Steps ---- */

typedef void unit_visitor(void *data, halo_step *step);

static void unit_visit(halo_steps *steps, unit_visitor *visit, void *data) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    visit(data, step);
    for (int32_t l = 0; l < step->list_count; l++) unit_visit(&step->lists[l], visit, data);
  }
}

typedef struct unit_plain {
  bool alone, *of_unit;
} unit_plain;

static void unit_note_plain(void *data, halo_step *step) {
  const unit_plain *p = data;
  if (step->unit < 0 || step->any_local) return;
  bool alone = p->alone;
  for (uint32_t d = 0; d < step->dims; d++) alone = alone && step->local[d] == 1;
  p->of_unit[step->unit] &= alone;
}

bool *lower_plain_units(const lower_state *s) {
  unit_plain p = {s->caps->is_cpu, halo_alloc((size_t)s->plan->units.count + 1)};
  memset(p.of_unit, true, (size_t)s->plan->units.count + 1);
  unit_visit(&s->plan->steps, unit_note_plain, &p);
  return p.of_unit;
}

bool lower_is_plain(const bool *plain_units, const halo_step *step) {
  bool plain = plain_units[step->unit] && step->dims <= 2;
  for (int32_t v = 0; v < step->value_count; v++) {
    plain = plain && step->values[v].what == HALO_VALUE_NUMBER;
  }
  return plain;
}

bool lower_is_narrow(const halo_step *step) {
  bool narrow = true;
  for (int32_t a = 0; a < step->arg_count; a++) {
    narrow &= !step->args[a].written || step->args[a].element_size <= HALO_NARROW;
  }
  return narrow;
}

/* Units that steps still have, numbered anew. */
typedef struct unit_numbers {
  const halo_plan *plan;
  halo_plan_unit *kept;
  int32_t *number; /* + 1 */
  int32_t count;
} unit_numbers;

static void unit_renumber(void *data, halo_step *step) {
  unit_numbers *u = data;
  if (step->unit < 0) return;
  int32_t *number = &u->number[step->unit];
  if (!*number) {
    u->kept[u->count] = u->plan->units.data[step->unit];
    *number = ++u->count;
  }
  step->unit = *number - 1;
}

void lower_drop_units(halo_plan *plan) {
  size_t count = (size_t)plan->units.count + 1;
  unit_numbers u = {plan, halo_alloc(sizeof *u.kept * count), halo_alloc(sizeof *u.number * count),
                    0};
  unit_visit(&plan->steps, unit_renumber, &u);
  memcpy(plan->units.data, u.kept, sizeof *u.kept * (size_t)u.count);
  plan->units.count = u.count;
  halo_free(u.kept);
  halo_free(u.number);
}

void lower_keep_texts(halo_plan *plan) {
  for (int32_t u = 0; u < plan->units.count; u++) {
    halo_plan_unit *unit = &plan->units.data[u];
    unit->text = halo_arena_strdup(&plan->arena, unit->text);
  }
}

static void unit_count_launch(void *data, halo_step *step) {
  int32_t *launches = data;
  if (step->unit >= 0) launches[step->unit]++;
}

void lower_brief_units(lower_state *s, const halo_target *target) {
  const halo_prices *p = &target->prices;
  halo_plan *plan = s->plan;
  /* By unit, those in loops and branches included; then without those that are brief. */
  int32_t *launches = halo_alloc(sizeof *launches * ((size_t)plan->units.count + 1));
  unit_visit(&plan->steps, unit_count_launch, launches);
  for (int32_t i = 0; i < plan->steps.count; i++) {
    const halo_step *step = &plan->steps.data[i];
    if (step->kind != HALO_STEP_KERNEL) continue;
    double work = lower_work(target, s->caps, step), apart = step->seconds - p->launch;
    if (apart > work) work = apart;
    if (work <= p->brief_step * p->launch) launches[step->unit]--;
  }
  /* Regions have said what they are. */
  for (int32_t u = 0; u < plan->units.count; u++) plan->units.data[u].brief |= launches[u] == 0;
  halo_free(launches);
}

typedef struct step_numbers {
  int32_t *of_old, count;
} step_numbers;

/* `done` knows its start, which comes before it, by the number. */
static void step_number(void *data, halo_step *step) {
  step_numbers *n = data;
  if (step->number >= 0) n->of_old[step->number] = n->count;
  step->number = n->count++;
  if (step->kind == HALO_STEP_DONE) step->ends = n->of_old[step->ends];
}

void lower_number_steps(halo_plan *plan) {
  step_numbers n = {halo_alloc(sizeof(int32_t) * ((size_t)plan->step_count + 1)), 0};
  unit_visit(&plan->steps, step_number, &n);
  plan->step_count = n.count;
  halo_free(n.of_old);
}

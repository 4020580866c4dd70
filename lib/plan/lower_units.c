/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_units.c: units of a plan as parts of others, whose kernels are then functions; and numbers, of
 * units and steps, when some are gone. */
#include "base/memory.h"
#include "plan/lowering.h"

#include <string.h>

/* ---- Units ---- */

/* All that makes a unit what it is. */
static void unit_content(halo_strbuf *key, const halo_kernel *const *kernels, int32_t count,
                         const halo_sections *sections) {
  for (int32_t k = 0; k < count; k++) {
    halo_strbuf_append(key, kernels[k]->text);
    const size_t *group = kernels[k]->facts.group;
    halo_strbuf_append_n(key, (const char *)group, sizeof kernels[k]->facts.group);
  }
  halo_strbuf_append_n(key, (const char *)sections, sizeof *sections);
}

void lower_unit_key(uint64_t key[2], const halo_kernel *const *kernels, int32_t count,
                    const halo_sections *sections) {
  halo_strbuf content = {0};
  unit_content(&content, kernels, count, sections);
  halo_hash_wide(key, content.data, content.length);
  halo_strbuf_deinit(&content);
}

int32_t lower_unit(lower_state *s, const halo_kernel *const *kernels, int32_t count,
                   halo_sections sections) {
  halo_strbuf key = {0};
  unit_content(&key, kernels, count, &sections);
  intptr_t known = (intptr_t)halo_map_get(&s->units, key.data, key.length);
  if (!known) {
    halo_plan_unit unit = {.kernel_count = count, .sections = sections};
    halo_hash_wide(unit.key, key.data, key.length);
    unit.kernels = halo_arena_copy(&s->texts, kernels, sizeof *kernels * (size_t)count);
    known = s->plan->units.count + 1;
    halo_map_set(&s->units, key.data, key.length, (void *)known);
    halo_vec_push(&s->plan->units, unit);
  }
  halo_strbuf_deinit(&key);
  return (int32_t)known - 1;
}

int32_t lower_own_unit(lower_state *s, const halo_kernel *kernel, halo_sections sections) {
  const halo_kernel *made = halo_kernel_make(&s->texts, kernel);
  int32_t unit = lower_unit(s, &made, 1, sections);
  s->plan->units.data[unit].of_steps = true;
  return unit;
}

void lower_keep_texts(halo_plan *plan) {
  for (int32_t u = 0; u < plan->units.count; u++) {
    halo_plan_unit *unit = &plan->units.data[u];
    const halo_kernel **kernels =
        halo_arena_array(&plan->arena, const halo_kernel *, unit->kernel_count);
    for (int32_t k = 0; k < unit->kernel_count; k++) {
      kernels[k] = halo_kernel_copy(&plan->arena, unit->kernels[k]);
    }
    unit->kernels = kernels;
  }
}

/* ---- Functions ---- */

void lower_unit_name(halo_strbuf *out, const char *name, const char *number) {
  halo_text_render(out, name, strlen(name), HALO_FORM_KERNEL, number);
}

void lower_unit_functions(halo_strbuf *out, const halo_plan_unit *unit, const char *number,
                          bool single_items, halo_kernel_facts *facts) {
  for (int32_t k = 0; k < unit->kernel_count; k++) {
    const halo_kernel_facts *own = &unit->kernels[k]->facts;
    halo_kernel_form form = single_items     ? HALO_FORM_SINGLE_ITEM
                            : own->has_block ? HALO_FORM_IN_GROUP
                                             : HALO_FORM_FUNCTION;
    halo_kernel_render(out, unit->kernels[k], form, number);
    facts->private_bytes += own->private_bytes;
    if (own->has_block && own->local_bytes > facts->local_bytes) {
      facts->local_bytes = own->local_bytes;
    }
  }
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
  const lower_state *s;
  size_t group;
  bool *of_unit;
} unit_plain;

bool lower_is_in_group(const lower_state *s, const halo_step *step) {
  const halo_kernel *kernel = halo_plan_kernel(s->plan, step);
  return kernel && kernel->facts.has_block;
}

static void unit_note_plain(void *data, halo_step *step) {
  const unit_plain *p = data;
  if (step->unit < 0) return;
  if (step->grid.part_groups) p->of_unit[step->unit] = false;
  if (step->grid.any_local) return;
  bool fits = p->s->caps->is_cpu ? halo_grid_has_single_items(&step->grid)
                                 : step->grid.dims == 1 && step->grid.local[0] == p->group &&
                                       lower_is_in_group(p->s, step);
  p->of_unit[step->unit] &= fits;
}

bool *lower_plain_units(const lower_state *s, size_t group) {
  unit_plain p = {s, group, halo_alloc((size_t)s->plan->units.count + 1)};
  memset(p.of_unit, true, (size_t)s->plan->units.count + 1);
  unit_visit(&s->plan->steps, unit_note_plain, &p);
  return p.of_unit;
}

bool lower_is_plain(const bool *plain_units, const halo_step *step) {
  bool plain = plain_units[step->unit] && step->grid.dims <= 2;
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

bool lower_has_loops(const lower_state *s, const halo_step *step) {
  const halo_plan_unit *unit = &s->plan->units.data[step->unit];
  bool loops = false;
  for (int32_t k = 0; k < unit->kernel_count; k++) {
    loops |= unit->kernels[k]->facts.has_loops;
  }
  return loops;
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

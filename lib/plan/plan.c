/* SPDX-License-Identifier: Apache-2.0 */
/* plan/plan.c: plans as objects and as text. */
#include "plan/plan.h"

#include "base/memory.h"
#include "custom/custom.h"

#include <string.h>

static const struct plan_kind {
  const char *name;
  bool is_command;
} plan_kinds[] = {
#define HALO_STEP(KIND, name, is_command) {#name, is_command},
#include "plan/steps.def"
#undef HALO_STEP
};

const char *halo_step_kind_name(halo_step_kind kind) { return plan_kinds[kind].name; }

bool halo_step_is_command(const halo_step *step) { return plan_kinds[step->kind].is_command; }

static void plan_free_steps(halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    for (int32_t l = 0; l < step->list_count; l++) plan_free_steps(&step->lists[l]);
  }
  halo_free(steps->data);
}

static void plan_drop_literals(halo_plan *plan) {
  for (int32_t i = 0; i < plan->constants.count; i++) {
    halo_literal_release(plan->constants.data[i].literal);
  }
  plan->constants.count = 0;
}

static void plan_undo(void *object) { plan_drop_literals(object); }

halo_plan *halo_plan_create(void) { return halo_alloc_object(sizeof(halo_plan), plan_undo); }

void halo_plan_retain(halo_plan *plan) { atomic_fetch_add(&plan->owners, 1); }

void halo_plan_release(halo_plan *plan) {
  if (!plan || atomic_fetch_sub(&plan->owners, 1) > 0) return;
  plan_free_steps(&plan->steps);
  plan_drop_literals(plan);
  for (int32_t i = 0; i < plan->calls.count; i++) halo_custom_site_deinit(plan->calls.data[i]);
  halo_vec_deinit(&plan->calls);
  halo_vec_deinit(&plan->buffers);
  halo_vec_deinit(&plan->arenas);
  halo_vec_deinit(&plan->constants);
  halo_vec_deinit(&plan->units);
  halo_arena_deinit(&plan->arena);
  halo_free(plan);
}

halo_plan_work halo_step_work(const halo_step *step) {
  halo_plan_work inner = {0};
  for (int32_t l = 0; l < step->list_count; l++) {
    halo_plan_work list = {0};
    for (int32_t i = 0; i < step->lists[l].count; i++) {
      halo_plan_work one = halo_step_work(&step->lists[l].data[i]);
      list.flops += one.flops;
      list.traffic += one.traffic;
    }
    if (step->kind != HALO_STEP_CONDITIONAL) {
      inner.flops += list.flops;
      inner.traffic += list.traffic;
    } else if (list.flops + list.traffic > inner.flops + inner.traffic) {
      inner = list;
    }
  }
  double rounds = step->kind == HALO_STEP_WHILE && step->trips >= 0 ? (double)step->trips : 1;
  double own = step->flops > 0 ? (double)step->flops : step->operations > 0 ? step->operations : 0;
  double moved = (double)(step->kind == HALO_STEP_COPY ? 2 * step->bytes : step->bytes);
  return (halo_plan_work){own + rounds * inner.flops, moved + rounds * inner.traffic};
}

void halo_plan_index_steps(halo_steps *steps, halo_step **by_number) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    by_number[step->number] = step;
    for (int32_t l = 0; l < step->list_count; l++)
      halo_plan_index_steps(&step->lists[l], by_number);
  }
}

bool halo_step_leaves(const halo_step *step, int64_t *budget) {
  for (int32_t v = 0; v < step->value_count; v++) {
    if (step->values[v].what != HALO_VALUE_TIME) continue;
    if (budget) *budget = step->values[v].number;
    return true;
  }
  return false;
}

static void plan_print_buffer(halo_strbuf *out, const halo_plan *plan, int32_t id) {
  const halo_plan_buffer *b = &plan->buffers.data[id];
  switch (b->place) {
    case HALO_PLACE_NONE: halo_strbuf_append(out, "none"); return;
    case HALO_PLACE_ARGUMENT: halo_strbuf_printf(out, "argument %d", b->index); return;
    case HALO_PLACE_RESULT: halo_strbuf_printf(out, "result %d", b->index); return;
    case HALO_PLACE_TEMP:
      halo_strbuf_printf(out, "temp %d+%lld", b->index, (long long)b->offset);
      return;
    case HALO_PLACE_CONSTANT:
      halo_strbuf_printf(out, "constant +%lld", (long long)b->offset);
      return;
  }
}

static void plan_print_value(halo_strbuf *out, const halo_plan_value *value) {
  switch (value->what) {
    case HALO_VALUE_NUMBER:
    case HALO_VALUE_TIME: halo_strbuf_printf(out, ", %lld", (long long)value->number); return;
    case HALO_VALUE_REPLICA_ID: halo_strbuf_append(out, ", replica"); return;
    case HALO_VALUE_PARTITION_ID: halo_strbuf_append(out, ", partition"); return;
    case HALO_VALUE_NONE: return;
  }
}

const halo_kernel *halo_plan_kernel(const halo_plan *plan, const halo_step *step) {
  const halo_plan_unit *unit = &plan->units.data[step->unit];
  for (int32_t k = 0; k < unit->kernel_count; k++) {
    if (strcmp(unit->kernels[k]->name, step->kernel) == 0) return unit->kernels[k];
  }
  return NULL;
}

static void plan_print_launch(halo_strbuf *out, const halo_plan *plan, const halo_step *step) {
  halo_strbuf_char(out, ' ');
  halo_plan_kernel_name(out, step->kernel, step->unit);
  halo_strbuf_append(out, " global");
  for (uint32_t d = 0; d < step->grid.dims; d++) {
    halo_strbuf_printf(out, "%s%zu", d ? "x" : " ", step->grid.global[d]);
  }
  halo_strbuf_append(out, " local");
  for (uint32_t d = 0; d < step->grid.dims; d++) {
    halo_strbuf_printf(out, "%s%zu", d ? "x" : " ", step->grid.local[d]);
  }
  const halo_kernel *kernel = halo_plan_kernel(plan, step);
  if (!kernel) return;
  const halo_kernel_facts *facts = &kernel->facts;
  if (facts->local_bytes)
    halo_strbuf_printf(out, ", %lld bytes local", (long long)facts->local_bytes);
  if (facts->private_bytes) {
    halo_strbuf_printf(out, ", %lld bytes private", (long long)facts->private_bytes);
  }
  if (facts->has_barriers) halo_strbuf_append(out, ", barriers");
}

static void plan_print_exchanges(halo_strbuf *out, const halo_plan *plan, const halo_step *step) {
  for (int32_t i = 0; i < step->exchange_count; i++) {
    halo_strbuf_append(out, i ? ", " : " exchanges ");
    plan_print_buffer(out, plan, step->exchanges[i].state);
    halo_strbuf_append(out, " with ");
    plan_print_buffer(out, plan, step->exchanges[i].next);
  }
}

static void plan_print_collective(halo_strbuf *out, const halo_plan_collective *collective) {
  static const char *const kinds[] = {[HALO_COLLECTIVE_GATHER] = "gather",
                                      [HALO_COLLECTIVE_SWAP] = "swap",
                                      [HALO_COLLECTIVE_BROADCAST] = "broadcast",
                                      [HALO_COLLECTIVE_PERMUTE] = "permute",
                                      [HALO_COLLECTIVE_RAGGED] = "ragged"};
  static const char *const folds[] = {
      [HALO_FOLD_ADD] = "add",         [HALO_FOLD_MULTIPLY] = "multiply",
      [HALO_FOLD_MAXIMUM] = "maximum", [HALO_FOLD_MINIMUM] = "minimum",
      [HALO_FOLD_AND] = "and",         [HALO_FOLD_OR] = "or",
      [HALO_FOLD_XOR] = "xor"};
  halo_strbuf_printf(out, " %s", kinds[collective->kind]);
  if (collective->fold == HALO_FOLD_NONE) return;
  halo_strbuf_printf(out, " host %s%s", folds[collective->fold],
                     collective->fold_pairs ? " pairs" : "");
}

static void plan_print_steps(halo_strbuf *out, const halo_plan *plan, const halo_steps *steps,
                             int indent) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    halo_strbuf_printf(out, "%*s%d: %s %s", indent, "", step->number,
                       halo_step_kind_name(step->kind), step->label ? step->label : "");
    if (step->kernel) plan_print_launch(out, plan, step);
    if (step->collective) plan_print_collective(out, step->collective);
    if (step->trips >= 0) halo_strbuf_printf(out, " trips %lld", (long long)step->trips);
    plan_print_exchanges(out, plan, step);
    if (step->kind == HALO_STEP_DONE) halo_strbuf_printf(out, " ends %d", step->ends);
    halo_strbuf_append(out, " (");
    for (int32_t a = 0; a < step->arg_count; a++) {
      halo_strbuf_append(out, a ? ", " : "");
      if (step->args[a].written) halo_strbuf_append(out, "-> ");
      plan_print_buffer(out, plan, step->args[a].buffer);
    }
    for (int32_t v = 0; v < step->value_count; v++) plan_print_value(out, &step->values[v]);
    halo_strbuf_append(out, ")\n");
    for (int32_t l = 0; l < step->list_count; l++) {
      if (!step->lists[l].label) continue;
      halo_strbuf_printf(out, "%*s%s:\n", indent + 2, "", step->lists[l].label);
      plan_print_steps(out, plan, &step->lists[l], indent + 4);
    }
  }
}

void halo_plan_print(halo_strbuf *out, const halo_plan *plan) {
  halo_strbuf_printf(out, "plan %s: %d steps, %lld bytes of constants, arenas", plan->name,
                     plan->step_count, (long long)plan->constant_bytes);
  for (int32_t i = 0; i < plan->arenas.count; i++) {
    halo_strbuf_printf(out, " %lld", (long long)plan->arenas.data[i].size);
    int32_t result = plan->arenas.data[i].result;
    if (result >= 0) halo_strbuf_printf(out, " in result %d", result);
  }
  halo_strbuf_append(out, plan->arenas.count ? " bytes\n" : " none\n");
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    const halo_plan_buffer *b = &plan->buffers.data[i];
    if (b->place == HALO_PLACE_NONE) continue;
    halo_strbuf_append(out, "  ");
    plan_print_buffer(out, plan, i);
    halo_strbuf_printf(out, " size %lld: %s\n", (long long)b->size, b->name);
  }
  plan_print_steps(out, plan, &plan->steps, 0);
  for (int32_t i = 0; i < plan->result_count; i++) {
    halo_strbuf_printf(out, "result %d is ", i);
    plan_print_buffer(out, plan, plan->result_buffers[i]);
    if (plan->result_alias[i] >= 0) {
      halo_strbuf_printf(out, ", may take over argument %d", plan->result_alias[i]);
    }
    halo_strbuf_char(out, '\n');
  }
}

/* plan/plan.c: plans as objects and as text. */
#include "plan/plan.h"

#include "base/memory.h"

const char *halo_step_kind_name(halo_step_kind kind) {
  static const char *const names[] = {"kernel", "library", "copy", "while", "conditional"};
  return names[kind];
}

bool halo_step_is_command(const halo_step *step) {
  return step->kind == HALO_STEP_KERNEL || step->kind == HALO_STEP_GEMM ||
         step->kind == HALO_STEP_COPY;
}

static void plan_free_steps(halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    plan_free_steps(&step->condition);
    plan_free_steps(&step->body);
    for (int32_t b = 0; b < step->branch_count; b++) plan_free_steps(&step->branches[b]);
  }
  halo_free(steps->data);
}

void halo_plan_release(halo_plan *plan) {
  if (!plan) return;
  plan_free_steps(&plan->steps);
  for (int32_t i = 0; i < plan->constants.count; i++) {
    halo_literal_release(plan->constants.data[i].literal);
  }
  halo_vec_deinit(&plan->buffers);
  halo_vec_deinit(&plan->arenas);
  halo_vec_deinit(&plan->constants);
  halo_vec_deinit(&plan->units);
  halo_arena_deinit(&plan->arena);
  halo_free(plan);
}

void halo_plan_index_steps(halo_steps *steps, halo_step **by_number) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    by_number[step->number] = step;
    halo_plan_index_steps(&step->condition, by_number);
    halo_plan_index_steps(&step->body, by_number);
    for (int32_t b = 0; b < step->branch_count; b++) {
      halo_plan_index_steps(&step->branches[b], by_number);
    }
  }
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
    case HALO_VALUE_NUMBER: halo_strbuf_printf(out, ", %lld", (long long)value->number); return;
    case HALO_VALUE_REPLICA_ID: halo_strbuf_append(out, ", replica"); return;
    case HALO_VALUE_PARTITION_ID: halo_strbuf_append(out, ", partition"); return;
    case HALO_VALUE_NONE: return;
  }
}

static void plan_print_steps(halo_strbuf *out, const halo_plan *plan, const halo_steps *steps,
                             int indent) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    halo_strbuf_printf(out, "%*s%d: %s %s", indent, "", step->number,
                       halo_step_kind_name(step->kind), step->label ? step->label : "");
    if (step->kind == HALO_STEP_KERNEL) {
      halo_strbuf_char(out, ' ');
      halo_plan_kernel_name(out, step->kernel, step->unit);
      halo_strbuf_append(out, " global");
      for (uint32_t d = 0; d < step->dims; d++) {
        halo_strbuf_printf(out, "%s%zu", d ? "x" : " ", step->global[d]);
      }
      halo_strbuf_append(out, " local");
      for (uint32_t d = 0; d < step->dims; d++) {
        halo_strbuf_printf(out, "%s%zu", d ? "x" : " ", step->local[d]);
      }
    }
    if (step->kind == HALO_STEP_WHILE && step->trips >= 0) {
      halo_strbuf_printf(out, " trips %lld", (long long)step->trips);
    }
    halo_strbuf_append(out, " (");
    for (int32_t a = 0; a < step->arg_count; a++) {
      halo_strbuf_append(out, a ? ", " : "");
      if (step->args[a].written) halo_strbuf_append(out, "-> ");
      plan_print_buffer(out, plan, step->args[a].buffer);
    }
    for (int32_t v = 0; v < step->value_count; v++) plan_print_value(out, &step->values[v]);
    halo_strbuf_append(out, ")\n");
    if (step->kind == HALO_STEP_WHILE) {
      if (step->trips < 0) {
        halo_strbuf_printf(out, "%*scondition:\n", indent + 2, "");
        plan_print_steps(out, plan, &step->condition, indent + 4);
      }
      halo_strbuf_printf(out, "%*sbody:\n", indent + 2, "");
      plan_print_steps(out, plan, &step->body, indent + 4);
    }
    for (int32_t b = 0; b < step->branch_count; b++) {
      halo_strbuf_printf(out, "%*sbranch %d:\n", indent + 2, "", b);
      plan_print_steps(out, plan, &step->branches[b], indent + 4);
    }
  }
}

void halo_plan_print(halo_strbuf *out, const halo_plan *plan) {
  halo_strbuf_printf(out, "plan %s: %d steps, %lld bytes of constants, arenas", plan->name,
                     plan->step_count, (long long)plan->constant_bytes);
  for (int32_t i = 0; i < plan->arenas.count; i++) {
    halo_strbuf_printf(out, " %lld", (long long)plan->arenas.data[i]);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower.c: walks the entry computation and what it loops over and branches to, in order, and
 * turns each instruction into steps; values become numbered buffers. */
#include "plan/lower.h"

#include "base/memory.h"
#include "base/pointer_map.h"
#include "custom/custom.h"
#include "passes/fuse/fusion.h"
#include "passes/passes.h"
#include "plan/bundles.h"
#include "plan/coalesce.h"
#include "plan/lowering.h"
#include "plan/regions.h"

static void lower_tuple(lower_state *s, halo_instr *instr) {
  int32_t *leaves = lower_leaves(s, instr), next = 0;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    int32_t count = halo_shape_leaf_count(instr->operands[i]->shape);
    for (int32_t l = 0; l < count; l++) leaves[next++] = lower_value(instr->operands[i])[l];
  }
}

/* The context of a send or a recv, of which the program sees that it is a number. */
static halo_status lower_context(lower_state *s, halo_instr *instr) {
  halo_literal *zero;
  HALO_TRY(halo_literal_create(instr->shape, &zero));
  lower_leaves(s, instr)[0] = lower_constant_leaf(s, zero, instr->name);
  halo_literal_release(zero);
  return HALO_OK;
}

static bool lower_is_context(const halo_instr *instr) {
  const halo_instr *transfer = instr->operands[0];
  return (transfer->opcode == HALO_OP_SEND || transfer->opcode == HALO_OP_RECV) &&
         halo_instr_int(instr, HALO_ATTR_INDEX, 0) == 1;
}

/* A name for, a part of, or a pack of values that are there. */
static halo_status lower_alias(lower_state *s, halo_instr *instr) {
  if (instr->opcode == HALO_OP_TUPLE) {
    lower_tuple(s, instr);
  } else if (instr->opcode == HALO_OP_GET_TUPLE_ELEMENT) {
    if (lower_is_context(instr)) return lower_context(s, instr);
    halo_instr *tuple = instr->operands[0];
    int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
    instr->data = (void *)(lower_value(tuple) + halo_leaf_start(tuple->shape, index));
  } else if (halo_shape_is_token(instr->shape)) {
    lower_leaves(s, instr)[0] = LOWER_NO_BUFFER;
  } else {
    instr->data = instr->operands[0]->data;
  }
  return HALO_OK;
}

static halo_status lower_instr(lower_state *s, halo_instr *instr, const int32_t *params,
                               halo_steps *steps) {
  if (lower_is_dead(instr)) {
    lower_dead(s, instr);
    return HALO_OK;
  }
  switch (halo_opcode_exec(instr->opcode)) {
    case HALO_EXEC_VALUE:
      if (instr->opcode == HALO_OP_PARAMETER) {
        instr->data = (void *)params;
        return HALO_OK;
      }
      HALO_TRY(halo_emitter_check(instr));
      lower_constant(s, instr->literal, instr->name, lower_leaves(s, instr));
      return HALO_OK;
    case HALO_EXEC_ALIAS: return lower_alias(s, instr);
    case HALO_EXEC_ELEMENTWISE:
    case HALO_EXEC_MOVEMENT:
    case HALO_EXEC_REDUCTION:
    case HALO_EXEC_STRUCTURED:
    case HALO_EXEC_EXPANDED: return lower_compute(s, instr, steps);
    case HALO_EXEC_CONTROL:
      if (instr->opcode == HALO_OP_FUSION || halo_fusion_is_compute(instr)) {
        return lower_compute(s, instr, steps);
      }
      if (instr->opcode == HALO_OP_WHILE) return lower_while(s, instr, steps);
      if (instr->opcode == HALO_OP_CONDITIONAL) return lower_conditional(s, instr, steps);
      break;
    case HALO_EXEC_HOST:
      if (instr->opcode == HALO_OP_CUSTOM_CALL) return lower_custom_call(s, instr, steps);
      if (instr->opcode != HALO_OP_RNG_GET_AND_UPDATE_STATE) return lower_host(s, instr, steps);
      lower_random(s, instr, steps);
      return HALO_OK;
    case HALO_EXEC_ASYNC:
      if (instr->opcode == HALO_OP_ASYNC_START || instr->opcode == HALO_OP_ASYNC_DONE) {
        return lower_async(s, instr, steps);
      }
      break;
    case HALO_EXEC_COLLECTIVE: return lower_collective(s, instr, steps);
  }
  return halo_emitter_check(instr);
}

/* Notes what has control edges. */
static void lower_note_edges(lower_state *s, const halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    for (int32_t c = 0; c < instr->control_pred_count; c++) {
      halo_pointer_map_set(&s->ordered, instr, instr);
      halo_pointer_map_set(&s->ordered, instr->control_preds[c], instr);
    }
  }
}

halo_status lower_computation(lower_state *s, halo_computation *computation, const int32_t *params,
                              halo_steps *steps, const int32_t **out_root) {
  HALO_TRY(lower_check_pairs(computation));
  /* First number of each parameter's leaves. */
  int32_t start = 0;
  HALO_VEC(int32_t) starts = {0};
  for (int32_t p = 0; p < computation->params.count; p++) {
    halo_vec_push(&starts, start);
    start += halo_shape_leaf_count(computation->params.data[p]->shape);
  }
  halo_status status = HALO_OK;
  lower_spread_pairs(computation);
  lower_note_reads(s, computation);
  lower_note_edges(s, computation);
  int32_t count = computation->instrs.count;
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    halo_instr *instr = computation->instrs.data[i];
    int32_t at = instr->opcode == HALO_OP_PARAMETER ? starts.data[instr->parameter_number] : 0;
    int32_t first = steps->count;
    status = lower_instr(s, instr, params + at, steps);
    if (!halo_pointer_map_get(&s->ordered, instr)) continue;
    for (int32_t k = first; k < steps->count; k++) steps->data[k].ordered = true;
  }
  halo_vec_deinit(&starts);
  if (status == HALO_OK) *out_root = lower_value(computation->root);
  return status;
}

static bool lower_is_one_group(const halo_step *step) {
  bool one = true;
  for (uint32_t d = 0; d < step->grid.dims; d++)
    one = one && step->grid.global[d] == step->grid.local[d];
  return one;
}

/* What the host computes for a custom call: of each matrix some operations for each element of each line. */
static double lower_call_work(const halo_custom_site *site, const halo_target *target) {
  const double operations = target->prices.host_call_element;
  double sum = 0;
  for (int i = 0; i < site->call.result_count; i++) {
    const halo_custom_array *array = &site->call.results[i];
    double all = 1;
    for (int d = 0; d < array->rank; d++) all *= (double)array->dims[d];
    sum += operations * all * (array->rank > 0 ? (double)array->dims[array->rank - 1] : 1);
  }
  return sum / target->prices.rate;
}

/* Seconds that steps take (`work`), those of it that one core does in whatever thread (`one_core`), and the waiting that the
 * caller's thread saves (`saved`): a queue with threads of its own is woken and waited for wherever the host takes part. */
typedef struct lower_total {
  double work, one_core, saved;
  int32_t kernels; /* outside of loops */
  bool able, loops, calls,
      exchanges; /* exchanges wait for other devices: they do not stay in loops */
} lower_total;

static void lower_add_step(lower_total *sum, const halo_step *step, const halo_target *target);

static lower_total lower_list_work(const halo_steps *steps, const halo_target *target) {
  lower_total sum = {.able = true};
  for (int32_t i = 0; i < steps->count && sum.able; i++) {
    lower_add_step(&sum, &steps->data[i], target);
  }
  return sum;
}

static void lower_add_loop(lower_total *sum, const halo_step *step, const halo_target *target) {
  bool known = step->trips >= 0;
  double rounds = known ? (double)step->trips : LOWER_ROUNDS;
  for (int32_t l = 0; l < step->list_count; l++) {
    const halo_steps *list = &step->lists[l];
    lower_total round = lower_list_work(list, target);
    sum->able = sum->able && round.able && !round.exchanges;
    sum->work += rounds * (round.work + target->prices.host_command * list->count);
    sum->one_core += rounds * round.one_core;
    sum->saved += rounds * round.saved;
    sum->calls = sum->calls || round.calls;
  }
  sum->loops = true;
  if (!known) sum->saved += rounds * target->prices.host_waking;
}

static void lower_add_step(lower_total *sum, const halo_step *step, const halo_target *target) {
  const halo_prices *p = &target->prices;
  if (step->kind == HALO_STEP_COPY) {
    sum->work += (double)step->bytes / p->bandwidth;
  } else if (step->kind == HALO_STEP_KERNEL) {
    double work = step->seconds > p->launch ? step->seconds - p->launch : 0;
    bool one_group = lower_is_one_group(step);
    sum->work += one_group ? work / p->host_one_group : work;
    if (one_group) sum->one_core += work / p->host_one_group;
    sum->kernels++;
  } else if (step->kind == HALO_STEP_COLLECTIVE) {
    /* It waits in another thread where it takes long. */
    sum->work += (double)step->bytes / (p->exchange_gain * p->bandwidth);
    sum->exchanges = true;
  } else if (step->kind == HALO_STEP_CUSTOM_CALL && step->custom->target->computes) {
    double work = lower_call_work(step->custom, target);
    sum->work += work;
    sum->one_core += work;
    sum->saved += p->host_waking;
    sum->calls = true;
  } else if (step->kind == HALO_STEP_WHILE && !step->goes_on) {
    lower_add_loop(sum, step, target);
  } else if (!step->goes_on) {
    sum->able = false;
  }
}

/* As halo_plan.work. */
static double lower_total_work(const halo_steps *steps, const halo_target *target) {
  lower_total sum = lower_list_work(steps, target);
  if (!sum.able) return -1;
  if (!sum.calls && sum.loops) return -1;
  if (sum.work > target->prices.host_longest) return -1;
  /* Threads are woken for each of a chain of kernels. */
  double lost = sum.work - (sum.kernels > 1 ? (sum.kernels - 1) * target->prices.host_waking : 0);
  if (sum.calls) lost = sum.work - sum.one_core - sum.saved;
  return lost > 0 ? lost : 0;
}

halo_status halo_plan_lower(halo_module *module, const halo_caps *caps, const char *kernels,
                            const halo_plan_limits *limits, halo_plan **out) {
  *out = NULL;
  const halo_family *const own[] = {&lower_family_region, &lower_family_bundle, NULL};
  HALO_TRY(halo_kernels_check_list(caps, kernels, own));
  HALO_TRY(halo_module_check_size(module, true));
  lower_state s = {.plan = halo_plan_create(), .caps = caps, .kernels = kernels, .limits = limits};
  s.plan->name = halo_arena_strdup(&s.plan->arena, module->name);
  int32_t *params = NULL;
  const int32_t *root = NULL;
  lower_arguments(&s, module, &params);
  lower_begin_regions(&s, &module->target);
  halo_status status = lower_computation(&s, module->entry, params, &s.plan->steps, &root);
  if (status == HALO_OK) {
    lower_results(&s, module, root);
    s.plan->step_count = s.clock;
    halo_plan_coalesce(s.plan, module);
    lower_hold_pairs(s.plan);
    lower_exchanges(&s);
    int32_t units = s.plan->units.count;
    s.bundle_sizes = lower_bundle_sizes(&s, &module->target);
    status = lower_regions(&s, &module->target);
    halo_free(s.bundle_sizes);
    if (status == HALO_OK) status = lower_bundles(&s, &module->target, units);
    if (s.plan->units.count > units) lower_drop_units(s.plan);
    lower_keep_texts(s.plan);
    int64_t alignment = caps->base_alignment > 128 ? caps->base_alignment : 128;
    int64_t most = caps->max_allocation ? (int64_t)caps->max_allocation : INT64_MAX;
    int64_t memory = caps->global_memory ? (int64_t)caps->global_memory : INT64_MAX;
    if (status == HALO_OK) status = halo_plan_assign(s.plan, alignment, most, memory);
    if (status == HALO_OK) status = lower_check_limits(s.plan, caps);
    lower_number_steps(s.plan);
    s.plan->work = lower_total_work(&s.plan->steps, &module->target);
    s.plan->explain = halo_arena_strdup(&s.plan->arena, halo_strbuf_text(&s.explain));
  }
  halo_strbuf_deinit(&s.explain);
  halo_map_deinit(&s.units);
  halo_arena_deinit(&s.texts);
  halo_map_deinit(&s.constants);
  halo_pointer_map_deinit(&s.starts);
  halo_pointer_map_deinit(&s.reads);
  halo_pointer_map_deinit(&s.ordered);
  if (status != HALO_OK) {
    halo_plan_release(s.plan);
    return status;
  }
  *out = s.plan;
  return HALO_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_kernel.c: what kernels compute. A fusion's text is a unit of the plan; fusions of equal
 * text share one. */
#include "base/memory.h"
#include "passes/fuse/fusion.h"
#include "plan/lowering.h"

#include <string.h>

/* A fusion that only renames positions: its value is its operand's memory. Gives the operand. */
static halo_instr *lower_view(const halo_instr *instr, const halo_computation *body) {
  const halo_instr *at = body->root;
  if (!halo_shape_is_array(at->shape) || !halo_shape_has_default_layout(at->shape)) return NULL;
  while (at->opcode == HALO_OP_RESHAPE || at->opcode == HALO_OP_COPY) at = at->operands[0];
  if (at->opcode != HALO_OP_PARAMETER || !halo_shape_has_default_layout(at->shape)) return NULL;
  return instr->operands[at->parameter_number];
}

/* ---- Launches ---- */

/* Buffers that a launch's arguments stand for. */
typedef struct lower_binding {
  const int32_t *inputs, *outputs, *scratch;
  const halo_computation *body;
  const int64_t *touched; /* bytes of each input that a launch reads at most */
  const char *name;       /* of the fusion */
  int32_t unit;
} lower_binding;

static const int32_t *lower_inputs(lower_state *s, const halo_instr *instr) {
  int32_t total = 0;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    total += halo_shape_leaf_count(instr->operands[i]->shape);
  }
  int32_t *inputs = halo_arena_array(&s->plan->arena, int32_t, total), next = 0;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    int32_t count = halo_shape_leaf_count(instr->operands[i]->shape);
    for (int32_t l = 0; l < count; l++) inputs[next++] = lower_value(instr->operands[i])[l];
  }
  return inputs;
}

static int32_t lower_resolve(lower_state *s, const lower_binding *b, const halo_kernel_arg *arg) {
  switch (arg->role) {
    case HALO_ROLE_INPUT: return b->inputs[arg->index];
    case HALO_ROLE_OUTPUT: return b->outputs[arg->index];
    case HALO_ROLE_SCRATCH: return b->scratch[arg->index];
    case HALO_ROLE_ITEM: break; /* halo_kernel_give_items made a scratch of it */
    case HALO_ROLE_CONST: return lower_constant_leaf(s, (halo_literal *)arg->literal, b->name);
    case HALO_ROLE_VALUE: break;
  }
  return LOWER_NO_BUFFER;
}

/* Bytes of an argument's buffer that a launch touches at most. */
static int64_t lower_touched(const lower_binding *b, const halo_launch *launch,
                             const halo_kernel_arg *arg) {
  if (arg->role == HALO_ROLE_INPUT) return b->touched[arg->index];
  bool over = arg->role == HALO_ROLE_OUTPUT && arg->index < launch->update_count &&
              launch->updates[arg->index] >= 0;
  return over ? lower_output_touched(b->body, arg->index) : INT64_MAX;
}

static int32_t lower_value_count(const halo_launch *launch) {
  int32_t count = 0;
  for (int32_t i = 0; i < launch->arg_count; i++) {
    count += launch->args[i].role == HALO_ROLE_VALUE;
  }
  return count;
}

static void lower_launch(lower_state *s, halo_steps *steps, const halo_launch *launch,
                         const lower_binding *binding, int64_t flops) {
  for (int32_t k = 0; k < launch->update_count; k++) {
    if (launch->updates[k] < 0) continue;
    lower_copy(s, steps, binding->inputs[launch->updates[k]], binding->outputs[k], binding->name);
  }
  halo_step *step =
      lower_step(s, steps, launch->gemm ? HALO_STEP_LIBRARY : HALO_STEP_KERNEL, launch->label);
  step->unit = binding->unit;
  step->kernel = launch->kernel ? halo_arena_strdup(&s->plan->arena, launch->kernel->name) : NULL;
  step->grid = launch->grid;
  step->grid.any_x = launch->kernel && !launch->kernel->facts.asks_x;
  if (launch->gemm) {
    step->gemm = halo_arena_copy(&s->plan->arena, launch->gemm, sizeof *launch->gemm);
  }
  step->flops = flops;
  int32_t values = lower_value_count(launch), buffers = launch->arg_count - values;
  step->values = halo_arena_array(&s->plan->arena, halo_plan_value, values);
  lower_set_args(s, step, buffers);
  int32_t next = 0;
  for (int32_t i = 0; i < launch->arg_count; i++) {
    const halo_kernel_arg *arg = &launch->args[i];
    int32_t size = (int32_t)halo_type_size(arg->type);
    if (arg->role == HALO_ROLE_VALUE) {
      step->values[step->value_count++] =
          (halo_plan_value){(halo_argument_value)arg->index, size, arg->number};
      continue;
    }
    bool written = arg->role == HALO_ROLE_OUTPUT || arg->role == HALO_ROLE_SCRATCH;
    int32_t buffer = lower_resolve(s, binding, arg);
    lower_arg(s, step, next, buffer, (size_t)size, written);
    int64_t touched = lower_touched(binding, launch, arg);
    int64_t all = s->plan->buffers.data[buffer].size;
    if (__builtin_add_overflow(step->bytes, touched < all ? touched : all, &step->bytes)) {
      step->bytes = INT64_MAX;
    }
    bool in_place = arg->role == HALO_ROLE_INPUT && arg->index < 64 &&
                    (launch->in_place >> arg->index & 1) && next < 64;
    if (in_place) step->in_place |= 1ull << next;
    next++;
  }
}

/* Additions and multiplications of a product, as if no window met padding. */
static int64_t lower_flops(const halo_instr *hero) {
  if (!hero || (hero->opcode != HALO_OP_DOT && hero->opcode != HALO_OP_CONVOLUTION)) return 0;
  int64_t flops = halo_shape_element_count(hero->shape);
  bool fits = halo_mul_i64(flops, 2, &flops);
  if (hero->opcode == HALO_OP_CONVOLUTION) {
    const halo_shape *kernel = hero->operands[1]->shape;
    int output = halo_instr_attr(hero, HALO_ATTR_DIM_LABELS)->conv->rhs_output;
    for (int d = 0; d < kernel->rank && fits; d++) {
      if (d != output) fits = halo_mul_i64(flops, kernel->dims[d], &flops);
    }
    return fits ? flops : INT64_MAX;
  }
  int32_t count;
  const int64_t *dims = halo_instr_ints(hero, HALO_ATTR_LHS_CONTRACTING_DIMS, &count);
  for (int32_t i = 0; i < count && fits; i++) {
    fits = halo_mul_i64(flops, hero->operands[0]->shape->dims[dims[i]], &flops);
  }
  return fits ? flops : INT64_MAX;
}

/* ---- Kernels ---- */

/* Whether drivers would have to set more private memory aside than they should. */
static bool lower_is_heavy(const halo_lowering *l) {
  int64_t most = 0;
  for (int32_t k = 0; k < l->made.count; k++) {
    int64_t bytes = l->made.data[k]->facts.private_bytes;
    if (bytes > most) most = bytes;
  }
  return !l->caps->is_cpu && most > halo_caps_private_bytes(l->caps);
}

static void lower_restart(lower_state *s, halo_lowering *l, const halo_lowering *fresh,
                          size_t reported) {
  halo_lowering_deinit(l);
  halo_strbuf_deinit(l->source);
  *l->sections = (halo_sections){0};
  s->explain.data[s->explain.length = reported] = '\0';
  *l = *fresh;
}

/* Chooses and lowers. Where private arrays take too much, an implementation that has none such is taken, if there is any. */
static halo_status lower_light(lower_state *s, halo_lowering *l) {
  const halo_lowering fresh = *l;
  const size_t reported = s->explain.length;
  const char *chosen;
  halo_status status = halo_kernels_lower(l, &chosen);
  const char *list = l->kernels ? l->kernels : "", *without = list;
  while (status == HALO_OK && lower_is_heavy(l) && !halo_kernels_forces(list, chosen)) {
    without = halo_arena_printf(l->arena, "%s,-%s", without, chosen);
    lower_restart(s, l, &fresh, reported);
    l->kernels = without;
    status = halo_kernels_lower(l, &chosen);
  }
  if (status == HALO_OK || without == list) return status;
  lower_restart(s, l, &fresh, reported); /* all others take as much */
  return halo_kernels_lower(l, &chosen);
}

/* Chooses and lowers; once more, as if the device's groups were smaller, where it is known not to give the kernels theirs. */
static halo_status lower_choose(lower_state *s, halo_lowering *l) {
  const halo_lowering fresh = *l;
  const size_t reported = s->explain.length;
  halo_status status = lower_light(s, l);
  if (!s->limits || !s->limits->units.count) return status;
  halo_caps small = *s->caps;
  while (status == HALO_OK) {
    uint64_t key[2] = {0};
    lower_unit_key(key, l->made.data, l->made.count, l->sections);
    size_t most = halo_plan_limits_find(s->limits, key);
    if (!most || most >= small.max_work_group) break;
    small.max_work_group = most;
    lower_restart(s, l, &fresh, reported);
    l->caps = &small;
    status = lower_light(s, l);
  }
  l->caps = s->caps;
  return status;
}

halo_status lower_compute(lower_state *s, halo_instr *instr, halo_steps *steps) {
  halo_computation *body = instr->opcode == HALO_OP_FUSION ? halo_instr_comp(instr, HALO_ATTR_CALLS)
                                                           : halo_fusion_wrap(instr);
  int32_t *leaves = lower_leaves(s, instr);
  halo_instr *view = lower_view(instr, body);
  if (view) {
    leaves[0] = lower_value(view)[0];
    return HALO_OK;
  }
  int32_t count;
  const halo_shape **shapes = lower_leaf_shapes(s, instr->shape, &count);
  if (count == 0) return HALO_OK; /* a loop or a branch that gives () */
  halo_strbuf source = {0};
  halo_sections sections = {0};
  halo_lowering l = {.arena = &s->plan->arena,
                     .caps = s->caps,
                     .kernels = s->kernels,
                     .texts = &s->texts,
                     .source = &source,
                     .sections = &sections,
                     .explain = &s->explain,
                     .prefix = "u@_",
                     .name = instr->name,
                     .computation = body,
                     .region = s->has_regions ? &s->one_group : NULL};
  halo_status status = lower_choose(s, &l);
  if (status == HALO_OK && l.host_call) {
    status = lower_host_call(s, instr, l.host_call, steps);
    leaves = instr->data;
  } else {
    for (int32_t i = 0; i < count; i++) leaves[i] = lower_temp(s, shapes[i], instr->name);
  }
  int32_t *scratch = halo_arena_array(&s->plan->arena, int32_t, l.scratch.count);
  for (int32_t i = 0; i < l.scratch.count; i++) {
    scratch[i] = lower_buffer(s, HALO_PLACE_TEMP, 0, l.scratch.data[i].bytes,
                              halo_arena_printf(&s->plan->arena, "scratch of %s", instr->name));
  }
  lower_binding binding = {.inputs = lower_inputs(s, instr),
                           .outputs = leaves,
                           .scratch = scratch,
                           .body = body,
                           .touched = lower_inputs_touched(s, body),
                           .name = instr->name,
                           .unit = -1};
  bool own_units = l.launches.count > 0 && l.launches.data[0].own_unit;
  if (status == HALO_OK && l.made.count && !own_units) {
    binding.unit = lower_unit(s, l.made.data, l.made.count, sections);
  }
  int64_t flops = lower_flops(l.hero);
  double start = halo_lowering_prices(&l)->launch;
  for (int32_t i = 0; i < l.launches.count && status == HALO_OK; i++) {
    bool last = i + 1 == l.launches.count;
    const halo_launch *launch = &l.launches.data[i];
    if (own_units) binding.unit = lower_unit(s, &launch->kernel, 1, launch->sections);
    lower_launch(s, steps, launch, &binding, last ? flops : 0);
    halo_step *step = &steps->data[steps->count - 1];
    /* The cost has the launches; the rest is shared out. */
    double starts = l.one_launch ? start : start * l.launches.count;
    double work = l.seconds > starts ? l.seconds - starts : 0;
    step->seconds = start + work / l.launches.count;
    if (l.counts_operations) step->operations = halo_kernel_operations(body) / l.launches.count;
  }
  halo_strbuf_deinit(&source);
  halo_lowering_deinit(&l);
  return status;
}

/* plan/lower.c: walks the entry computation and what it loops over and branches to, in order, and
 * turns each instruction into steps; values become numbered buffers. */
#include "plan/lower.h"

#include "base/memory.h"
#include "codegen/ctype.h"
#include "kernels/kernels.h"
#include "passes/fusion.h"
#include "passes/trip_count.h"
#include "plan/coalesce.h"

#include <string.h>

typedef struct lower_state {
  halo_plan *plan;
  const halo_caps *caps;
  const char *kernels;
  halo_strbuf source, explain;
  halo_sections sections;
  int32_t next_fusion, clock, depth;
} lower_state;

enum { LOWER_MAX_DEPTH = 100, LOWER_NO_BUFFER = -1 };

static halo_status lower_computation(lower_state *s, const halo_computation *computation,
                                     const int32_t *params, halo_steps *steps,
                                     const int32_t **out_root);

/* ---- Buffers ---- */

static int32_t lower_buffer(lower_state *s, halo_place place, int32_t index, int64_t size,
                            const char *name) {
  halo_plan_buffer buffer = {.place = size ? place : HALO_PLACE_NONE,
                             .index = index,
                             .size = size,
                             .first = INT32_MAX,
                             .last = -1,
                             .name = halo_arena_strdup(&s->plan->arena, name)};
  if (place == HALO_PLACE_ARGUMENT || place == HALO_PLACE_RESULT) buffer.place = place;
  halo_vec_push(&s->plan->buffers, buffer);
  return s->plan->buffers.count - 1;
}

static int32_t lower_temp(lower_state *s, const halo_shape *shape, const char *name) {
  return lower_buffer(s, HALO_PLACE_TEMP, 0, halo_shape_byte_size(shape), name);
}

static void lower_touch(lower_state *s, int32_t buffer, int32_t step) {
  halo_plan_buffer *b = &s->plan->buffers.data[buffer];
  if (step < b->first) b->first = step;
  if (step > b->last) b->last = step;
}

/* ---- Steps ---- */

static halo_step *lower_step(lower_state *s, halo_steps *steps, halo_step_kind kind,
                             const char *label) {
  halo_vec_reserve(steps, steps->count + 1);
  halo_step *step = &steps->data[steps->count++];
  *step = (halo_step){.kind = kind,
                      .number = s->clock++,
                      .label = label ? halo_arena_strdup(&s->plan->arena, label) : "",
                      .trips = -1};
  return step;
}

static void lower_set_args(lower_state *s, halo_step *step, int32_t count) {
  step->args = halo_arena_array(&s->plan->arena, halo_plan_arg, count);
  step->arg_count = count;
}

static void lower_arg(lower_state *s, halo_step *step, int32_t i, int32_t buffer, size_t element,
                      bool written) {
  step->args[i] = (halo_plan_arg){buffer, (int32_t)element, written};
  lower_touch(s, buffer, step->number);
}

static void lower_copy(lower_state *s, halo_steps *steps, int32_t from, int32_t to,
                       const char *label) {
  int64_t bytes = s->plan->buffers.data[to].size;
  if (bytes == 0 || from == to) return;
  halo_step *step = lower_step(s, steps, HALO_STEP_COPY, label);
  lower_set_args(s, step, 2);
  lower_arg(s, step, 0, from, 1, false);
  lower_arg(s, step, 1, to, 1, true);
  step->bytes = bytes;
}

/* ---- Values ---- */

/* Buffers of an instruction's leaves live in its `data` while its computation is walked. */
static int32_t *lower_leaves(lower_state *s, halo_instr *instr) {
  int32_t *leaves = halo_arena_array(&s->plan->arena, int32_t, halo_shape_leaf_count(instr->shape));
  instr->data = leaves;
  return leaves;
}

static const int32_t *lower_value(const halo_instr *instr) { return instr->data; }

static int32_t lower_constant_leaf(lower_state *s, halo_literal *literal, const char *name) {
  int64_t size = halo_shape_byte_size(literal->shape);
  int32_t id = lower_buffer(s, HALO_PLACE_CONSTANT, 0, size, name);
  for (int32_t i = 0; i < s->plan->constants.count; i++) {
    if (s->plan->constants.data[i].literal == literal) {
      s->plan->buffers.data[id].offset = s->plan->constants.data[i].offset;
      return id;
    }
  }
  if (size == 0) return id;
  s->plan->buffers.data[id].offset = s->plan->constant_bytes;
  halo_literal_retain(literal);
  halo_vec_push(&s->plan->constants, (halo_plan_constant){s->plan->constant_bytes, literal});
  s->plan->constant_bytes += (size + 127) / 128 * 128;
  return id;
}

static int32_t lower_constant(lower_state *s, halo_literal *literal, const char *name,
                              int32_t *leaves) {
  if (!halo_shape_is_tuple(literal->shape)) {
    leaves[0] = halo_shape_is_token(literal->shape) ? LOWER_NO_BUFFER
                                                    : lower_constant_leaf(s, literal, name);
    return 1;
  }
  int32_t count = 0;
  for (int32_t i = 0; i < literal->shape->count; i++) {
    count += lower_constant(s, literal->elements[i], name, leaves + count);
  }
  return count;
}

/* A fusion that only renames positions: its value is its operand's memory. Gives the operand. */
static halo_instr *lower_view(const halo_instr *instr, const halo_computation *body) {
  const halo_instr *at = body->root;
  if (!halo_shape_is_array(at->shape) || !halo_shape_has_default_layout(at->shape)) return NULL;
  while (at->opcode == HALO_OP_RESHAPE || at->opcode == HALO_OP_COPY) at = at->operands[0];
  if (at->opcode != HALO_OP_PARAMETER || !halo_shape_has_default_layout(at->shape)) return NULL;
  return instr->operands[at->parameter_number];
}

/* ---- Kernels ---- */

/* Buffers that a launch's arguments stand for. */
typedef struct lower_binding {
  const halo_instr *fusion;
  const int32_t *outputs, *scratch;
} lower_binding;

static int32_t lower_resolve(lower_state *s, const lower_binding *b, const halo_kernel_arg *arg) {
  switch (arg->role) {
    case HALO_ROLE_INPUT: {
      int32_t leaf = arg->index, i = 0;
      for (;; i++) {
        int32_t count = halo_shape_leaf_count(b->fusion->operands[i]->shape);
        if (leaf < count) break;
        leaf -= count;
      }
      return lower_value(b->fusion->operands[i])[leaf];
    }
    case HALO_ROLE_OUTPUT: return b->outputs[arg->index];
    case HALO_ROLE_SCRATCH: return b->scratch[arg->index];
    case HALO_ROLE_CONST:
      return lower_constant_leaf(s, (halo_literal *)arg->literal, b->fusion->name);
  }
  return LOWER_NO_BUFFER;
}

static void lower_launch(lower_state *s, halo_steps *steps, const halo_launch *launch,
                         const lower_binding *binding, int64_t flops) {
  if (launch->updates >= 0) {
    int32_t from = lower_value(binding->fusion->operands[launch->updates])[0];
    lower_copy(s, steps, from, binding->outputs[0], binding->fusion->name);
  }
  halo_step *step =
      lower_step(s, steps, launch->gemm ? HALO_STEP_GEMM : HALO_STEP_KERNEL, launch->label);
  step->kernel = launch->kernel ? halo_arena_strdup(&s->plan->arena, launch->kernel) : NULL;
  step->dims = launch->dims;
  memcpy(step->global, launch->global, sizeof step->global);
  memcpy(step->local, launch->local, sizeof step->local);
  if (launch->gemm) {
    step->gemm = halo_arena_copy(&s->plan->arena, launch->gemm, sizeof *launch->gemm);
  }
  step->flops = flops;
  lower_set_args(s, step, launch->arg_count);
  for (int32_t i = 0; i < launch->arg_count; i++) {
    const halo_kernel_arg *arg = &launch->args[i];
    bool written = arg->role == HALO_ROLE_OUTPUT || arg->role == HALO_ROLE_SCRATCH;
    int32_t buffer = lower_resolve(s, binding, arg);
    lower_arg(s, step, i, buffer, halo_type_size(arg->type), written);
    step->bytes += s->plan->buffers.data[buffer].size;
    bool in_place = arg->role == HALO_ROLE_INPUT && arg->index < 64 &&
                    (launch->in_place >> arg->index & 1) && i < 64;
    if (in_place) step->in_place |= 1ull << i;
  }
}

static int64_t lower_flops(const halo_instr *dot) {
  if (!dot) return 0;
  int64_t flops = 2 * halo_shape_element_count(dot->shape);
  int32_t count;
  const int64_t *dims = halo_instr_ints(dot, HALO_ATTR_LHS_CONTRACTING_DIMS, &count);
  for (int32_t i = 0; i < count; i++) flops *= dot->operands[0]->shape->dims[dims[i]];
  return flops;
}

static halo_status lower_compute(lower_state *s, halo_instr *instr, halo_steps *steps) {
  halo_computation *body = instr->opcode == HALO_OP_FUSION ? halo_instr_comp(instr, HALO_ATTR_CALLS)
                                                           : halo_fusion_wrap(instr);
  int32_t count = halo_shape_leaf_count(instr->shape);
  int32_t *leaves = lower_leaves(s, instr);
  halo_instr *view = lower_view(instr, body);
  if (view) {
    leaves[0] = lower_value(view)[0];
    return HALO_OK;
  }
  for (int32_t l = 0; l < count; l++) {
    leaves[l] = lower_temp(s, halo_leaf_shape(instr->shape, l), instr->name);
  }
  halo_lowering l = {.arena = &s->plan->arena,
                     .caps = s->caps,
                     .kernels = s->kernels,
                     .source = &s->source,
                     .sections = &s->sections,
                     .explain = &s->explain,
                     .prefix = halo_arena_printf(&s->plan->arena, "f%d_", s->next_fusion++),
                     .name = instr->name,
                     .computation = body};
  const char *chosen = "";
  halo_status status = halo_kernels_lower(&l, &chosen);
  int32_t *scratch = halo_arena_array(&s->plan->arena, int32_t, l.scratch.count);
  for (int32_t i = 0; i < l.scratch.count; i++) {
    scratch[i] = lower_buffer(s, HALO_PLACE_TEMP, 0, l.scratch.data[i].bytes,
                              halo_arena_printf(&s->plan->arena, "scratch of %s", instr->name));
  }
  lower_binding binding = {instr, leaves, scratch};
  int64_t flops = lower_flops(l.dot);
  for (int32_t i = 0; i < l.launches.count && status == HALO_OK; i++) {
    bool last = i + 1 == l.launches.count;
    lower_launch(s, steps, &l.launches.data[i], &binding, last ? flops : 0);
  }
  halo_vec_deinit(&l.launches);
  halo_vec_deinit(&l.scratch);
  return status;
}

/* ---- Control flow ---- */

/* Whatever was made before a loop and is used in it must live to its end. */
static void lower_extend(lower_state *s, int32_t begin, int32_t end) {
  for (int32_t i = 0; i < s->plan->buffers.count; i++) {
    halo_plan_buffer *b = &s->plan->buffers.data[i];
    if (b->first < begin && b->last >= begin && b->last < end) b->last = end;
  }
}

/* State := next state, for all leaves at once: values that are themselves parts of the old state are
 * saved before any part is overwritten. */
static void lower_assign_state(lower_state *s, halo_steps *steps, const int32_t *state,
                               const int32_t *next, int32_t count, const char *label) {
  int32_t *from = halo_arena_array(&s->plan->arena, int32_t, count);
  for (int32_t l = 0; l < count; l++) {
    from[l] = next[l];
    if (next[l] < 0 || next[l] == state[l]) continue;
    for (int32_t k = 0; k < count; k++) {
      if (next[l] != state[k]) continue;
      from[l] = lower_buffer(s, HALO_PLACE_TEMP, 0, s->plan->buffers.data[state[k]].size, label);
      lower_copy(s, steps, state[k], from[l], label);
      break;
    }
  }
  for (int32_t l = 0; l < count; l++) {
    if (from[l] >= 0) lower_copy(s, steps, from[l], state[l], label);
  }
}

/* Leaf l of the body's root is its own parameter leaf: that part of the state never changes. Looks
 * through one tuple, which is what front ends write; others merely cost a copy. */
static bool lower_is_invariant(const halo_computation *body, int32_t leaf) {
  const halo_instr *root = body->root;
  if (root->opcode == HALO_OP_PARAMETER) return true;
  if (root->opcode != HALO_OP_TUPLE) return false;
  int32_t i = 0, start = 0;
  for (;; i++) {
    int32_t count = halo_shape_leaf_count(root->operands[i]->shape);
    if (leaf < start + count) break;
    start += count;
  }
  const halo_instr *element = root->operands[i];
  return element->opcode == HALO_OP_GET_TUPLE_ELEMENT &&
         element->operands[0]->opcode == HALO_OP_PARAMETER &&
         halo_leaf_start(element->operands[0]->shape,
                         halo_instr_int(element, HALO_ATTR_INDEX, 0)) == start;
}

static bool lower_reads_state(const halo_instr *instr, int64_t part) {
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_instr *operand = instr->operands[i];
    if (operand->opcode == HALO_OP_GET_TUPLE_ELEMENT &&
        operand->operands[0]->opcode == HALO_OP_PARAMETER &&
        halo_instr_int(operand, HALO_ATTR_INDEX, 0) == part) {
      return true;
    }
  }
  return false;
}

/* Moves the computation of a part of the next state behind the last reader of the old part, where
 * nothing else needs it: it can then be written over the old part, without a copy. */
static void lower_delay_state(halo_computation *body) {
  const halo_instr *root = body->root;
  int32_t last = body->instrs.count - 1;
  halo_instr **instrs = body->instrs.data;
  if (root->opcode != HALO_OP_TUPLE || instrs[last] != root) return;
  for (int32_t i = 0; i <= last; i++) instrs[i]->mark = 0;
  for (int32_t i = 0; i <= last; i++) {
    for (int32_t o = 0; o < instrs[i]->operand_count; o++) instrs[i]->operands[o]->mark++;
    for (int32_t c = 0; c < instrs[i]->control_pred_count; c++) instrs[i]->control_preds[c]->mark++;
  }
  for (int32_t part = 0; part < root->operand_count; part++) {
    halo_instr *next = root->operands[part];
    if (next->mark != 1 || next->opcode == HALO_OP_PARAMETER) continue;
    int32_t at = 0, reader = -1;
    for (int32_t i = 0; i < last; i++) {
      if (instrs[i] == next) at = i;
      if (instrs[i] != next && lower_reads_state(instrs[i], part)) reader = i;
    }
    if (reader < at) continue;
    memmove(&instrs[at], &instrs[at + 1], sizeof *instrs * (size_t)(reader - at));
    instrs[reader] = next;
  }
}

static halo_status lower_while(lower_state *s, halo_instr *instr, halo_steps *steps) {
  halo_computation *condition = halo_instr_comp(instr, HALO_ATTR_CONDITION);
  halo_computation *body = halo_instr_comp(instr, HALO_ATTR_BODY);
  int32_t count = halo_shape_leaf_count(instr->shape);
  const int32_t *init = lower_value(instr->operands[0]);
  int32_t *state = lower_leaves(s, instr);
  for (int32_t l = 0; l < count; l++) {
    state[l] = init[l];
    if (init[l] < 0 || lower_is_invariant(body, l)) continue;
    state[l] = lower_temp(s, halo_leaf_shape(instr->shape, l), instr->name);
    lower_copy(s, steps, init[l], state[l], instr->name);
  }
  halo_step *step = lower_step(s, steps, HALO_STEP_WHILE, instr->name);
  int32_t begin = step->number;
  step->trips = halo_noted_trip_count(instr);
  halo_steps inner_condition = {0}, inner_body = {0};
  const int32_t *predicate = NULL, *next = NULL;
  halo_status status = HALO_OK;
  /* A loop of known length asks nobody. */
  if (step->trips < 0) {
    status = lower_computation(s, condition, state, &inner_condition, &predicate);
    /* The predicate must stay alive until it is read. */
    if (status == HALO_OK) lower_touch(s, predicate[0], s->clock++);
  }
  lower_delay_state(body);
  if (status == HALO_OK) status = lower_computation(s, body, state, &inner_body, &next);
  if (status == HALO_OK) lower_assign_state(s, &inner_body, state, next, count, instr->name);
  step = &steps->data[steps->count - 1];
  step->condition = inner_condition;
  step->body = inner_body;
  HALO_TRY(status);
  int32_t end = s->clock++;
  if (predicate) {
    lower_set_args(s, step, 1);
    step->args[0] = (halo_plan_arg){predicate[0], 1, false};
  }
  for (int32_t l = 0; l < count; l++) {
    if (state[l] < 0) continue;
    lower_touch(s, state[l], begin);
    lower_touch(s, state[l], end);
  }
  lower_extend(s, begin, end);
  return HALO_OK;
}

static halo_status lower_conditional(lower_state *s, halo_instr *instr, halo_steps *steps) {
  int32_t branches = halo_conditional_branch_count(instr);
  int32_t count = halo_shape_leaf_count(instr->shape);
  int32_t *leaves = lower_leaves(s, instr);
  for (int32_t l = 0; l < count; l++) {
    const halo_shape *leaf = halo_leaf_shape(instr->shape, l);
    leaves[l] = halo_shape_is_token(leaf) ? LOWER_NO_BUFFER : lower_temp(s, leaf, instr->name);
  }
  halo_step *step = lower_step(s, steps, HALO_STEP_CONDITIONAL, instr->name);
  lower_set_args(s, step, 1);
  lower_arg(s, step, 0, lower_value(instr->operands[0])[0], 1, false);
  step->selector_is_pred = instr->operands[0]->shape->type == HALO_PRED;
  halo_steps *lists = halo_arena_array(&s->plan->arena, halo_steps, branches);
  step->branches = lists;
  step->branch_count = branches;
  int32_t begin = step->number;
  for (int32_t b = 0; b < branches; b++) {
    const int32_t *root = NULL;
    HALO_TRY(lower_computation(s, halo_conditional_branch(instr, b),
                               lower_value(instr->operands[1 + b]), &lists[b], &root));
    for (int32_t l = 0; l < count; l++) {
      if (leaves[l] >= 0) lower_copy(s, &lists[b], root[l], leaves[l], instr->name);
    }
  }
  int32_t end = s->clock++;
  for (int32_t l = 0; l < count; l++) {
    if (leaves[l] < 0) continue;
    lower_touch(s, leaves[l], begin);
    lower_touch(s, leaves[l], end);
  }
  return HALO_OK;
}

/* ---- The walk ---- */

static void lower_tuple(lower_state *s, halo_instr *instr) {
  int32_t *leaves = lower_leaves(s, instr), next = 0;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    int32_t count = halo_shape_leaf_count(instr->operands[i]->shape);
    for (int32_t l = 0; l < count; l++) leaves[next++] = lower_value(instr->operands[i])[l];
  }
}

static halo_status lower_instr(lower_state *s, halo_instr *instr, const int32_t *params,
                               halo_steps *steps) {
  switch ((int)instr->opcode) {
    case HALO_OP_PARAMETER: instr->data = (void *)params; return HALO_OK;
    case HALO_OP_CONSTANT:
      HALO_TRY(halo_emitter_check(instr));
      lower_constant(s, instr->literal, instr->name, lower_leaves(s, instr));
      return HALO_OK;
    case HALO_OP_TUPLE: lower_tuple(s, instr); return HALO_OK;
    case HALO_OP_GET_TUPLE_ELEMENT: {
      halo_instr *tuple = instr->operands[0];
      int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
      instr->data = (void *)(lower_value(tuple) + halo_leaf_start(tuple->shape, index));
      return HALO_OK;
    }
    case HALO_OP_OPT_BARRIER:
    case HALO_OP_DOMAIN:
    case HALO_OP_ADD_DEPENDENCY: instr->data = instr->operands[0]->data; return HALO_OK;
    case HALO_OP_AFTER_ALL: lower_leaves(s, instr)[0] = LOWER_NO_BUFFER; return HALO_OK;
    default: break;
  }
  if (halo_fusion_is_compute(instr) || instr->opcode == HALO_OP_FUSION) {
    return lower_compute(s, instr, steps);
  }
  if (instr->opcode == HALO_OP_WHILE) return lower_while(s, instr, steps);
  if (instr->opcode == HALO_OP_CONDITIONAL) return lower_conditional(s, instr, steps);
  return halo_emitter_check(instr);
}

static halo_status lower_computation(lower_state *s, const halo_computation *computation,
                                     const int32_t *params, halo_steps *steps,
                                     const int32_t **out_root) {
  if (++s->depth > LOWER_MAX_DEPTH) {
    return halo_fail(HALO_UNIMPLEMENTED, "control flow is nested more than %d deep",
                     LOWER_MAX_DEPTH);
  }
  /* First number of each parameter's leaves. */
  int32_t start = 0;
  HALO_VEC(int32_t) starts = {0};
  for (int32_t p = 0; p < computation->params.count; p++) {
    halo_vec_push(&starts, start);
    start += halo_shape_leaf_count(computation->params.data[p]->shape);
  }
  halo_status status = HALO_OK;
  int32_t count = computation->instrs.count;
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    halo_instr *instr = computation->instrs.data[i];
    int32_t at = instr->opcode == HALO_OP_PARAMETER ? starts.data[instr->parameter_number] : 0;
    status = lower_instr(s, instr, params + at, steps);
  }
  halo_vec_deinit(&starts);
  s->depth--;
  if (status == HALO_OK) *out_root = lower_value(computation->root);
  return status;
}

/* ---- Arguments and results ---- */

static void lower_arguments(lower_state *s, const halo_module *module, int32_t **out) {
  halo_plan *plan = s->plan;
  int32_t leaves = 0, next = 0;
  for (int32_t p = 0; p < module->entry->params.count; p++) {
    leaves += halo_shape_leaf_count(module->entry_params[p]);
  }
  int32_t *ids = halo_arena_array(&plan->arena, int32_t, leaves);
  plan->arguments = halo_arena_array(&plan->arena, const halo_shape *, leaves);
  for (int32_t p = 0; p < module->entry->params.count; p++) {
    const halo_shape *shape = module->entry_params[p];
    int32_t count = halo_shape_leaf_count(shape);
    for (int32_t l = 0; l < count; l++) {
      const halo_shape *leaf = halo_leaf_shape(shape, l);
      ids[next] = LOWER_NO_BUFFER;
      if (halo_shape_is_array(leaf)) {
        ids[next] = lower_buffer(s, HALO_PLACE_ARGUMENT, plan->argument_count,
                                 halo_shape_byte_size(leaf), module->entry->params.data[p]->name);
        s->plan->buffers.data[ids[next]].first = -1;
        plan->arguments[plan->argument_count++] = halo_shape_clone(&plan->arena, leaf);
      }
      next++;
    }
  }
  *out = ids;
}

static void lower_results(lower_state *s, const halo_module *module, const int32_t *root) {
  halo_plan *plan = s->plan;
  int32_t leaves = halo_shape_leaf_count(module->entry_result);
  plan->results = halo_arena_array(&plan->arena, const halo_shape *, leaves);
  plan->result_buffers = halo_arena_array(&plan->arena, int32_t, leaves);
  plan->result_alias = halo_arena_array(&plan->arena, int32_t, leaves);
  for (int32_t l = 0; l < leaves; l++) {
    const halo_shape *leaf = halo_leaf_shape(module->entry_result, l);
    if (!halo_shape_is_array(leaf)) continue;
    int32_t n = plan->result_count++;
    plan->results[n] = halo_shape_clone(&plan->arena, leaf);
    plan->result_alias[n] = -1;
    plan->result_buffers[n] = root[l];
    if (plan->buffers.data[root[l]].place == HALO_PLACE_ARGUMENT) continue;
    int32_t id = lower_buffer(s, HALO_PLACE_RESULT, n, halo_shape_byte_size(leaf), "result");
    lower_copy(s, &plan->steps, root[l], id, "result");
    plan->result_buffers[n] = id;
  }
}

static void lower_finish_source(lower_state *s) {
  halo_strbuf whole = {0};
  if (s->source.length) {
    halo_sections_print(&whole, s->sections);
    halo_strbuf_append_n(&whole, s->source.data, s->source.length);
  }
  s->plan->source = halo_arena_strdup(&s->plan->arena, halo_strbuf_text(&whole));
  s->plan->explain = halo_arena_strdup(&s->plan->arena, halo_strbuf_text(&s->explain));
  halo_strbuf_deinit(&whole);
}

halo_status halo_plan_lower(halo_module *module, const halo_caps *caps, const char *kernels,
                            halo_plan **out) {
  lower_state s = {.plan = halo_alloc(sizeof(halo_plan)), .caps = caps, .kernels = kernels};
  s.plan->name = halo_arena_strdup(&s.plan->arena, module->name);
  *out = NULL;
  int32_t *params = NULL;
  const int32_t *root = NULL;
  lower_arguments(&s, module, &params);
  halo_status status = lower_computation(&s, module->entry, params, &s.plan->steps, &root);
  if (status == HALO_OK) {
    lower_results(&s, module, root);
    s.plan->step_count = s.clock;
    halo_plan_coalesce(s.plan, module);
    int64_t alignment = caps->base_alignment > 128 ? caps->base_alignment : 128;
    int64_t most = caps->max_allocation ? (int64_t)caps->max_allocation : INT64_MAX;
    status = halo_plan_assign(s.plan, alignment, most);
    lower_finish_source(&s);
  }
  halo_strbuf_deinit(&s.source);
  halo_strbuf_deinit(&s.explain);
  if (status != HALO_OK) {
    halo_plan_release(s.plan);
    return status;
  }
  *out = s.plan;
  return HALO_OK;
}

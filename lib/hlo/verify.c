/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/verify.c: the rules of a whole module: structure, call graph, every shape inferred again. */
#include "base/map.h"
#include "hlo/infer_util.h"

#include <stdio.h>
#include <string.h>

typedef struct verify_state {
  const halo_module *module;
  halo_arena scratch;        /* shapes of one instruction */
  halo_map computations;     /* address -> 1-based position */
  const halo_instr **passed; /* [module->next_id]: the instructions seen so far, by id */
} verify_state;

static halo_status verify_fail(const halo_instr *instr, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts the instruction, its computation and its line before a failure's message. */
static halo_status verify_at(halo_status status, const halo_instr *instr) {
  if (status == HALO_OK) return HALO_OK;
  const char *computation = instr->parent ? instr->parent->name : "?";
  if (instr->line > 0) {
    return halo_fail_in(status, "%s in %s, line %d", instr->name, computation, instr->line);
  }
  return halo_fail_in(status, "%s in %s", instr->name, computation);
}

static halo_status verify_fail(const halo_instr *instr, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return verify_at(halo_fail(HALO_INVALID_ARGUMENT, "%s", text), instr);
}

static bool verify_is_known(const verify_state *state, const halo_computation *computation) {
  return computation &&
         halo_map_get(&state->computations, &computation, sizeof computation) != NULL;
}

static bool verify_is_defined(const verify_state *state, const halo_computation *computation,
                              const halo_instr *instr) {
  return instr && instr->parent == computation && instr->id >= 0 &&
         instr->id < state->module->next_id && state->passed[instr->id] == instr;
}

/* ---- One instruction ---- */

static halo_status verify_edges(const verify_state *state, const halo_instr *instr) {
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_instr *operand = instr->operands[i];
    if (!operand) return verify_fail(instr, "operand %d is missing", i);
    if (!verify_is_defined(state, instr->parent, operand)) {
      return verify_fail(instr, "operand %d (%s) is not defined earlier in the same computation", i,
                         operand->name);
    }
  }
  for (int32_t i = 0; i < instr->control_pred_count; i++) {
    if (!verify_is_defined(state, instr->parent, instr->control_preds[i])) {
      return verify_fail(
          instr, "control predecessor %d is not defined earlier in the same computation", i);
    }
  }
  int32_t called = halo_instr_called_count(instr);
  for (int32_t i = 0; i < called; i++) {
    if (!verify_is_known(state, halo_instr_called(instr, i))) {
      return verify_fail(instr, "a called computation does not belong to the module");
    }
  }
  return HALO_OK;
}

static halo_status verify_shape(verify_state *state, const halo_instr *instr) {
  if (!instr->shape) return verify_fail(instr, "the instruction has no shape");
  const halo_shape *inferred;
  HALO_TRY(verify_at(halo_infer_shape(instr, &state->scratch, &inferred), instr));
  if (!halo_shape_compatible(inferred, instr->shape)) {
    return verify_fail(instr, "the shape %s is not the inferred %s",
                       halo_shape_text(&state->scratch, instr->shape, false),
                       halo_shape_text(&state->scratch, inferred, false));
  }
  return HALO_OK;
}

/* What an instruction says of its output_to_operand_aliasing. (An asynchronous one repeats what the
 * wrapped one says, by whose shapes it goes.) */
static halo_status verify_aliasing(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_CUSTOM_CALL && instr->opcode != HALO_OP_FUSION) return HALO_OK;
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  for (int32_t i = 0; attr && i < attr->aliases.count; i++) {
    const halo_alias *alias = &attr->aliases.data[i];
    const halo_shape *out = halo_shape_part(instr->shape, alias->out_index, alias->out_index_count);
    if (!out) {
      return verify_fail(instr, "output_to_operand_aliasing: the result has no such part");
    }
    if (alias->parameter < 0 || alias->parameter >= instr->operand_count) {
      return verify_fail(instr, "output_to_operand_aliasing: there is no operand %lld",
                         (long long)alias->parameter);
    }
    const halo_shape *in = halo_shape_part(instr->operands[alias->parameter]->shape,
                                           alias->param_index, alias->param_index_count);
    if (!in || !halo_shape_compatible(out, in)) {
      return verify_fail(instr,
                         "output_to_operand_aliasing: operand %lld has no such part, or one of "
                         "another shape than the result's",
                         (long long)alias->parameter);
    }
  }
  return HALO_OK;
}

static halo_status verify_instr(verify_state *state, const halo_computation *computation,
                                const halo_instr *instr) {
  if ((unsigned)instr->opcode >= HALO_OPCODE_COUNT) {
    return verify_fail(instr, "%d is no opcode", (int)instr->opcode);
  }
  if (instr->parent != computation) {
    return verify_fail(instr, "the instruction is listed in %s, too", computation->name);
  }
  if (instr->id < 0 || instr->id >= state->module->next_id || state->passed[instr->id]) {
    return verify_fail(instr, "the id %d is not unique in the module", (int)instr->id);
  }
  HALO_TRY(verify_edges(state, instr));
  if (instr->opcode == HALO_OP_PARAMETER) {
    int64_t n = instr->parameter_number;
    if (n < 0 || n >= computation->params.count || computation->params.data[n] != instr) {
      return verify_fail(instr, "parameter number %lld is used twice or not entered", (long long)n);
    }
  }
  halo_status status = verify_shape(state, instr);
  halo_arena_deinit(&state->scratch);
  HALO_TRY(status);
  return verify_aliasing(instr);
}

/* ---- One computation ---- */

static halo_status verify_names_and_order(verify_state *state,
                                          const halo_computation *computation) {
  halo_map names = {0};
  halo_status status = HALO_OK;
  for (int32_t i = 0; i < computation->instrs.count && status == HALO_OK; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (halo_map_set_text(&names, instr->name, (void *)instr)) {
      status = verify_fail(instr, "the name is used twice in the computation");
    }
    if (status == HALO_OK) status = verify_instr(state, computation, instr);
    if (status == HALO_OK) state->passed[instr->id] = instr;
  }
  halo_map_deinit(&names);
  return status;
}

static halo_status verify_params(const halo_computation *computation) {
  for (int32_t i = 0; i < computation->params.count; i++) {
    const halo_instr *param = computation->params.data[i];
    if (!param) {
      return halo_fail(HALO_INVALID_ARGUMENT, "%s: parameter %d is missing", computation->name, i);
    }
    if (param->opcode != HALO_OP_PARAMETER || param->parameter_number != i) {
      return verify_fail(param, "the instruction is not parameter %d", i);
    }
  }
  return HALO_OK;
}

static halo_status verify_computation(verify_state *state, const halo_computation *computation) {
  HALO_TRY(verify_params(computation));
  HALO_TRY(verify_names_and_order(state, computation));
  for (int32_t i = 0; i < computation->params.count; i++) {
    if (!verify_is_defined(state, computation, computation->params.data[i])) {
      return verify_fail(computation->params.data[i], "the parameter is not in the computation %s",
                         computation->name);
    }
  }
  if (!computation->root) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s: the computation has no root", computation->name);
  }
  if (!verify_is_defined(state, computation, computation->root)) {
    return verify_fail(computation->root, "the root does not belong to the computation %s",
                       computation->name);
  }
  return HALO_OK;
}

/* ---- The call graph ---- */

enum { VERIFY_NEW = 0, VERIFY_OPEN = 1, VERIFY_DONE = 2 };

/* What is known of a computation. */
typedef struct verify_node {
  char colour;
  int32_t height; /* calls on the longest way down from it, as far as it was looked through */
} verify_node;

static intptr_t verify_position(const verify_state *state, const halo_computation *computation) {
  return (intptr_t)halo_map_get(&state->computations, &computation, sizeof computation) - 1;
}

/* Depth-first with a stack of its own; `nodes` are by position. */
static halo_status verify_calls_from(const verify_state *state, halo_computation *start,
                                     verify_node *nodes) {
  HALO_VEC(halo_call_walk) stack = {0};
  halo_status status = HALO_OK;
  halo_vec_push(&stack, (halo_call_walk){.computation = start});
  while (stack.count && status == HALO_OK) {
    halo_call_walk *top = &stack.data[stack.count - 1];
    verify_node *node = &nodes[verify_position(state, top->computation)];
    node->colour = VERIFY_OPEN;
    const halo_instr *from;
    halo_computation *called = halo_call_walk_next(top, &from);
    if (!called) {
      node->colour = VERIFY_DONE;
      stack.count--;
      continue;
    }
    const verify_node *callee = &nodes[verify_position(state, called)];
    if (callee->colour == VERIFY_OPEN) {
      status =
          verify_fail(from, "computations must not call themselves, but %s does", called->name);
    } else if (callee->colour == VERIFY_NEW) {
      /* The call is met again when it has been looked through. */
      top->called--;
      halo_vec_push(&stack, (halo_call_walk){.computation = called});
    } else if (callee->height >= HALO_MAX_CALL_DEPTH) {
      status =
          verify_fail(from, "computations call each other more than %d deep", HALO_MAX_CALL_DEPTH);
    } else if (node->height <= callee->height) {
      node->height = callee->height + 1;
    }
  }
  halo_vec_deinit(&stack);
  return status;
}

static halo_status verify_calls(const verify_state *state) {
  int32_t count = state->module->computations.count;
  verify_node *nodes = halo_alloc(sizeof *nodes * (size_t)count);
  halo_status status = HALO_OK;
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    if (nodes[i].colour == VERIFY_NEW) {
      status = verify_calls_from(state, state->module->computations.data[i], nodes);
    }
  }
  halo_free(nodes);
  return status;
}

/* ---- The module ---- */

static halo_status verify_list(verify_state *state) {
  halo_map names = {0};
  halo_status status = HALO_OK;
  for (int32_t i = 0; i < state->module->computations.count && status == HALO_OK; i++) {
    halo_computation *computation = state->module->computations.data[i];
    halo_map_set(&state->computations, &computation, sizeof computation, (void *)(intptr_t)(i + 1));
    if (halo_map_set_text(&names, computation->name, computation)) {
      status = halo_fail(HALO_INVALID_ARGUMENT, "%s: two computations have this name",
                         computation->name);
    }
  }
  halo_map_deinit(&names);
  if (status == HALO_OK && !verify_is_known(state, state->module->entry)) {
    status = halo_fail(HALO_INVALID_ARGUMENT, "the module %s has no entry computation",
                       state->module->name);
  }
  return status;
}

/* A scalar for each dynamic dimension where the module says so. */
static halo_status verify_sizes(const halo_module *module) {
  if (!halo_module_sizes_are_values(module)) return HALO_OK;
  const halo_computation *entry = module->entry;
  const halo_shape *result = module->entry_result;
  int32_t visible = halo_module_visible_params(module);
  bool good = visible >= 0;
  for (int32_t p = visible; good && p < entry->params.count; p++) {
    good = halo_shape_is_scalar_of(module->entry_params[p], HALO_S32);
  }
  if (halo_shape_is_dynamic(result)) {
    int32_t hidden = halo_shape_dynamic_count(result);
    good = good && result->count == 1 + hidden;
    for (int32_t i = 1; good && i < result->count; i++) {
      good = halo_shape_is_scalar_of(result->elements[i], HALO_S32);
    }
  }
  if (good) return HALO_OK;
  return verify_fail(entry->root,
                     "the module lacks the sizes that it says its entry takes and gives");
}

static halo_status verify_entry(const halo_module *module) {
  const halo_computation *entry = module->entry;
  for (int32_t i = 0; i < entry->params.count; i++) {
    if (!module->entry_params || !module->entry_params[i] ||
        !halo_shape_compatible(module->entry_params[i], entry->params.data[i]->shape)) {
      return verify_fail(entry->params.data[i],
                         "the entry layout gives the parameter another shape");
    }
  }
  if (!module->entry_result || !halo_shape_compatible(module->entry_result, entry->root->shape)) {
    return verify_fail(entry->root, "the entry layout gives the result another shape");
  }
  return verify_sizes(module);
}

static halo_status verify_run(void *user) {
  const halo_module *module = user;
  verify_state state = {.module = module};
  state.passed = halo_alloc(sizeof *state.passed * (size_t)module->next_id);
  halo_status status = verify_list(&state);
  /* Structure first: inference reads called computations, which must be sound by then. */
  for (int32_t i = 0; i < module->computations.count && status == HALO_OK; i++) {
    status = verify_params(module->computations.data[i]);
  }
  for (int32_t i = 0; i < module->computations.count && status == HALO_OK; i++) {
    status = verify_computation(&state, module->computations.data[i]);
  }
  if (status == HALO_OK) status = verify_calls(&state);
  if (status == HALO_OK) status = verify_entry(module);
  halo_free(state.passed);
  halo_map_deinit(&state.computations);
  halo_arena_deinit(&state.scratch);
  return status;
}

halo_status halo_module_verify(const halo_module *module) {
  if (!module) return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_verify: module is NULL");
  return halo_memory_guard(verify_run, (void *)module);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/module.c: making, reading and changing modules, computations and instructions. */
#include "base/map.h"
#include "base/memory.h"
#include "hlo/hlo.h"
#include "hlo/infer.h"

#include <stdio.h>
#include <string.h>

/* ---- Modules ---- */

static void module_drop_literals(halo_module *module) {
  for (int32_t i = 0; i < module->literals.count; i++) {
    halo_literal_release(module->literals.data[i]);
  }
  module->literals.count = 0;
}

static void module_undo(void *object) { module_drop_literals(object); }

halo_module *halo_module_create(const char *name) {
  halo_module *module = halo_alloc_object(sizeof *module, module_undo);
  atomic_init(&module->references, 1);
  module->name = halo_arena_strdup(&module->arena, name && *name ? name : "module");
  module->replica_count = module->num_partitions = 1;
  module->target = halo_target_cpu();
  module->next_id = 1;
  return module;
}

void halo_module_retain(halo_module *module) { atomic_fetch_add(&module->references, 1); }

void halo_module_release(halo_module *module) {
  if (!module || atomic_fetch_sub(&module->references, 1) != 1) return;
  for (int32_t i = 0; i < module->computations.count; i++) {
    halo_vec_deinit(&module->computations.data[i]->instrs);
    halo_vec_deinit(&module->computations.data[i]->params);
  }
  module_drop_literals(module);
  halo_vec_deinit(&module->computations);
  halo_vec_deinit(&module->literals);
  halo_vec_deinit(&module->aliases);
  halo_vec_deinit(&module->donors);
  halo_vec_deinit(&module->header);
  halo_arena_deinit(&module->arena);
  halo_free(module);
}

const char *halo_module_name(const halo_module *module) { return module->name; }
static int module_count(int64_t count) { return count > INT32_MAX ? INT32_MAX : (int)count; }
int halo_module_replica_count(const halo_module *module) {
  return module_count(module->replica_count);
}
int halo_module_partition_count(const halo_module *module) {
  return module_count(module->num_partitions);
}

int halo_module_parameter_count(const halo_module *module) {
  return halo_module_visible_params(module);
}
const halo_shape *halo_module_parameter_shape(const halo_module *module, int index) {
  return module->entry_params[index];
}
const char *halo_module_parameter_name(const halo_module *module, int index) {
  return module->entry->params.data[index]->name;
}
const halo_shape *halo_module_result_shape(const halo_module *module) {
  return halo_module_visible_result(module);
}
void halo_text_release(char *text) { halo_free(text); }

static bool module_has_computation(const halo_module *module, const char *name) {
  for (int32_t i = 0; i < module->computations.count; i++) {
    if (strcmp(module->computations.data[i]->name, name) == 0) return true;
  }
  return false;
}

const char *halo_module_fresh_name(halo_module *module, const char *prefix) {
  /* Ids are never reused, so a suffix with one can only meet a name that a text brought along. */
  return halo_arena_printf(&module->arena, "%s.h%d", prefix, module->next_id++);
}

halo_computation *halo_computation_create(halo_module *module, const char *name) {
  halo_computation *computation = halo_arena_new(&module->arena, halo_computation);
  computation->module = module;
  if (!name) {
    computation->name = ""; /* the caller's business */
  } else if (module_has_computation(module, name)) {
    computation->name = halo_module_fresh_name(module, name);
  } else {
    computation->name = halo_arena_strdup(&module->arena, name);
  }
  halo_vec_push(&module->computations, computation);
  return computation;
}

static void module_visit(halo_computation *computation, halo_module *module) {
  if (computation->mark) return;
  computation->mark = 1;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    int32_t called = halo_instr_called_count(instr);
    for (int32_t c = 0; c < called; c++) module_visit(halo_instr_called(instr, c), module);
  }
  halo_vec_push(&module->computations, computation);
}

void halo_module_remove_dead(halo_module *module) {
  HALO_VEC(halo_computation *) old = {0};
  for (int32_t i = 0; i < module->computations.count; i++) {
    module->computations.data[i]->mark = 0;
    halo_vec_push(&old, module->computations.data[i]);
  }
  module->computations.count = 0;
  module_visit(module->entry, module);
  for (int32_t i = 0; i < old.count; i++) {
    if (old.data[i]->mark) continue;
    halo_vec_deinit(&old.data[i]->instrs);
    halo_vec_deinit(&old.data[i]->params);
  }
  halo_vec_deinit(&old);
}

/* ---- Instructions ---- */

halo_instr *halo_instr_create_unchecked(halo_computation *computation,
                                        const halo_instr_spec *spec) {
  halo_module *module = computation->module;
  halo_arena *arena = &module->arena;
  halo_instr *instr = halo_arena_new(arena, halo_instr);
  instr->opcode = spec->opcode;
  instr->id = module->next_id++;
  instr->line = spec->line;
  instr->name = spec->name && *spec->name
                    ? halo_arena_strdup(arena, spec->name)
                    : halo_arena_printf(arena, "%s.h%d", halo_opcode_name(spec->opcode), instr->id);
  instr->shape = spec->shape;
  size_t operand_count = (size_t)spec->operand_count, attr_count = (size_t)spec->attr_count;
  instr->operands = halo_arena_copy(arena, spec->operands, sizeof(halo_instr *) * operand_count);
  instr->operand_count = spec->operand_count;
  instr->attrs = halo_arena_copy(arena, spec->attrs, sizeof(halo_attr) * attr_count);
  instr->attr_count = spec->attr_count;
  instr->parameter_number = spec->parameter_number;
  instr->parent = computation;
  if (spec->literal) {
    halo_vec_push(&module->literals, spec->literal);
    halo_literal_retain(spec->literal);
    instr->literal = spec->literal;
  }
  halo_vec_push(&computation->instrs, instr);
  if (spec->opcode == HALO_OP_PARAMETER) {
    int32_t n = (int32_t)spec->parameter_number;
    while (computation->params.count <= n) halo_vec_push(&computation->params, NULL);
    computation->params.data[n] = instr;
  }
  return instr;
}

halo_status halo_instr_create(halo_computation *computation, const halo_instr_spec *spec,
                              halo_instr **out) {
  *out = NULL;
  if (spec->opcode == HALO_OP_PARAMETER) {
    int64_t n = spec->parameter_number;
    if (n < 0 || n > INT32_MAX / 64) {
      return halo_fail(HALO_INVALID_ARGUMENT, "parameter number %lld is out of range",
                       (long long)n);
    }
    if (n < computation->params.count && computation->params.data[n]) {
      return halo_fail(HALO_INVALID_ARGUMENT, "parameter number %lld is used twice in %s",
                       (long long)n, computation->name);
    }
  }
  int32_t params = computation->params.count;
  halo_instr *instr = halo_instr_create_unchecked(computation, spec);
  const halo_shape *inferred = NULL;
  halo_status status = halo_infer_shape(instr, &computation->module->arena, &inferred);
  if (status == HALO_OK && instr->shape && !halo_shape_compatible(instr->shape, inferred)) {
    halo_arena scratch = {0};
    status = halo_fail(HALO_INVALID_ARGUMENT, "%s: the written shape %s is not the inferred %s",
                       instr->name, halo_shape_text(&scratch, instr->shape, false),
                       halo_shape_text(&scratch, inferred, false));
    halo_arena_deinit(&scratch);
  }
  if (status != HALO_OK) {
    computation->instrs.count--;
    if (spec->opcode == HALO_OP_PARAMETER) {
      computation->params.data[spec->parameter_number] = NULL;
      computation->params.count = params;
    }
    return status;
  }
  if (!instr->shape) instr->shape = inferred;
  *out = instr;
  return HALO_OK;
}

halo_instr *halo_instr_constant(halo_computation *computation, halo_literal *literal) {
  halo_instr_spec spec = {.opcode = HALO_OP_CONSTANT,
                          .literal = literal,
                          .shape = halo_shape_clone(&computation->module->arena, literal->shape)};
  return halo_instr_create_unchecked(computation, &spec);
}

/* ---- Order ---- */

typedef struct sort_frame {
  halo_instr *instr;
  int32_t next;
} sort_frame;

enum { SORT_NEW = 0, SORT_OPEN = 1, SORT_DONE = 2 };

bool halo_computation_sort(halo_computation *computation) {
  HALO_VEC(halo_instr *) order = {0};
  HALO_VEC(sort_frame) stack = {0};
  bool ok = true;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    computation->instrs.data[i]->mark = SORT_NEW;
  }
  for (int32_t i = 0; i < computation->params.count; i++) {
    computation->params.data[i]->mark = SORT_DONE;
    halo_vec_push(&order, computation->params.data[i]);
  }
  for (int32_t i = 0; i < computation->instrs.count && ok; i++) {
    if (computation->instrs.data[i]->mark != SORT_NEW) continue;
    halo_vec_push(&stack, (sort_frame){computation->instrs.data[i], 0});
    computation->instrs.data[i]->mark = SORT_OPEN;
    while (stack.count && ok) {
      sort_frame *top = &stack.data[stack.count - 1];
      halo_instr *instr = top->instr, *child = NULL;
      int32_t n = top->next++;
      if (n < instr->operand_count) {
        child = instr->operands[n];
      } else if (n - instr->operand_count < instr->control_pred_count) {
        child = instr->control_preds[n - instr->operand_count];
      } else {
        instr->mark = SORT_DONE;
        halo_vec_push(&order, instr);
        stack.count--;
        continue;
      }
      if (child->mark == SORT_OPEN) ok = false;
      if (child->mark == SORT_NEW) {
        child->mark = SORT_OPEN;
        halo_vec_push(&stack, (sort_frame){child, 0});
      }
    }
  }
  if (ok) {
    computation->instrs.count = 0;
    for (int32_t i = 0; i < order.count; i++) halo_vec_push(&computation->instrs, order.data[i]);
  }
  halo_vec_deinit(&order);
  halo_vec_deinit(&stack);
  return ok;
}

bool halo_computation_remove_dead(halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) computation->instrs.data[i]->mark = 0;
  if (computation->root) computation->root->mark = 1;
  /* Users come after what they use, so one backward walk marks everything. */
  int32_t live = 0;
  for (int32_t i = computation->instrs.count - 1; i >= 0; i--) {
    halo_instr *instr = computation->instrs.data[i];
    if (!instr->mark && (instr->opcode == HALO_OP_PARAMETER || halo_instr_has_side_effect(instr))) {
      instr->mark = 1;
    }
    if (!instr->mark) continue;
    live++;
    for (int32_t o = 0; o < instr->operand_count; o++) instr->operands[o]->mark = 1;
    for (int32_t o = 0; o < instr->control_pred_count; o++) instr->control_preds[o]->mark = 1;
  }
  if (live == computation->instrs.count) return false;
  int32_t kept = 0;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    if (instr->mark) computation->instrs.data[kept++] = instr;
  }
  computation->instrs.count = kept;
  return true;
}

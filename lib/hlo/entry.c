/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/entry.c: what a module says about its arguments and its result, for callers. */
#include "hlo/hlo.h"

#include <stdio.h>
#include <string.h>

/* The leaf of a parameter that a row speaks of, counted over all parameters; -1: no array. */
static int32_t entry_leaf(const halo_module *module, const halo_alias *alias) {
  if (alias->parameter < 0 || alias->parameter >= module->entry->params.count) return -1;
  int32_t leaf = 0;
  for (int64_t p = 0; p < alias->parameter; p++) {
    leaf += halo_shape_leaf_count(module->entry_params[p]);
  }
  const halo_shape *shape = module->entry_params[alias->parameter];
  for (int32_t i = 0; i < alias->param_index_count; i++) {
    int64_t index = alias->param_index[i];
    if (!halo_shape_is_tuple(shape) || index < 0 || index >= shape->count) return -1;
    leaf += halo_leaf_start(shape, index);
    shape = shape->elements[index];
  }
  return halo_shape_is_array(shape) ? leaf : -1;
}

bool halo_module_argument_is_offered(const halo_module *module, int argument) {
  for (int32_t i = 0; i < module->aliases.count; i++) {
    if (entry_leaf(module, &module->aliases.data[i]) == argument) return true;
  }
  for (int32_t i = 0; i < module->donors.count; i++) {
    if (entry_leaf(module, &module->donors.data[i]) == argument) return true;
  }
  return false;
}

static const halo_sharding *entry_sharding(const halo_instr *instr) {
  const halo_attr *attr = instr ? halo_instr_attr(instr, HALO_ATTR_SHARDING) : NULL;
  return attr ? attr->sharding : NULL;
}

const halo_sharding *halo_module_parameter_sharding(const halo_module *module, int index) {
  bool there = index >= 0 && index < module->entry->params.count;
  return entry_sharding(there ? module->entry->params.data[index] : NULL);
}

const halo_sharding *halo_module_result_sharding(const halo_module *module) {
  return entry_sharding(module->entry->root);
}

/* ---- Kinds of memory: notes among the module's frontend attributes, so that they live in text ---- */

static void entry_memory_note(bool result, int number, char out[64]) {
  snprintf(out, 64, "halo_%s_memory_%d", result ? "result" : "argument", number);
}

void halo_module_set_memory_kind(halo_module *module, bool result, int number, const char *kind) {
  char note[64];
  entry_memory_note(result, number, note);
  int32_t count = module->frontend_count;
  const char **list = halo_arena_array(&module->arena, const char *, count + 2);
  for (int32_t i = 0; i < count; i++) list[i] = module->frontend[i];
  list[count] = halo_arena_strdup(&module->arena, note);
  list[count + 1] = halo_arena_strdup(&module->arena, kind);
  module->frontend = list;
  module->frontend_count = count + 2;
}

const char *halo_module_memory_kind(const halo_module *module, bool result, int number) {
  char note[64];
  entry_memory_note(result, number, note);
  for (int32_t i = 0; i + 1 < module->frontend_count; i += 2) {
    if (strcmp(module->frontend[i], note) == 0) return module->frontend[i + 1];
  }
  return NULL;
}

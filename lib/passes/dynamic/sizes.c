/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/sizes.c: the pass that makes run-time sizes of dimensions into values: all shapes are static
 * after it, and the sizes of dynamic parameters and results are parameters and results of their own. */
#include "passes/dynamic/dynamic.h"
#include "passes/passes.h"

/* ---- The table ---- */

/* What such an operation gives is valid all over. */
halo_instr *halo_sized_whole(halo_dynamic *d, halo_instr *instr) {
  (void)d;
  return instr;
}

static halo_dynamic_rule *const sizes_rules[HALO_OPCODE_COUNT] = {
#define halo_sized_none NULL
#define RULES(evaluator, work, sizes) halo_sized_##sizes
#define OP(id, name, lo, hi, traits, types, infer, exec, rules, ...) [HALO_OP_##id] = rules,
#include "hlo/opcodes.def"
#undef OP
#undef RULES
#undef halo_sized_none
};

static halo_dynamic_rule *sizes_rule(halo_opcode opcode) { return sizes_rules[opcode]; }

/* ---- Which computations are concerned ---- */

static bool sizes_touch(const halo_dynamic_module *all, const halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (halo_dynamic_makes_sizes(instr->opcode) || halo_shape_is_dynamic(instr->shape)) return true;
    for (int32_t c = 0; c < halo_instr_called_count(instr); c++) {
      if (halo_pointer_map_get(&all->touched, halo_instr_called(instr, c))) return true;
    }
  }
  return false;
}

static bool sizes_find_touched(halo_dynamic_module *all) {
  halo_module *module = all->module;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_computation *computation = module->computations.data[c];
    if (sizes_touch(all, computation)) {
      halo_pointer_map_set(&all->touched, computation, computation);
    }
  }
  if (halo_pointer_map_get(&all->touched, module->entry)) return true;
  if (halo_module_sizes_are_values(module)) return false;
  bool dynamic = halo_shape_is_dynamic(module->entry_result);
  for (int32_t p = 0; p < module->entry->params.count; p++) {
    dynamic |= halo_shape_is_dynamic(module->entry_params[p]);
  }
  return dynamic;
}

/* ---- The entry ---- */

static const halo_shape *sizes_scalar(halo_module *module) {
  return halo_shape_new(&module->arena, HALO_S32, 0, NULL);
}

/* A parameter more for each dynamic dimension of those that callers see. */
static void sizes_add_parameters(halo_dynamic *d) {
  halo_module *module = d->all->module;
  halo_computation *entry = module->entry;
  int32_t visible = entry->params.count, hidden = 0;
  for (int32_t p = 0; p < visible; p++) hidden += halo_shape_dynamic_count(module->entry_params[p]);
  if (hidden == 0) return;
  d->r.changed = true;
  halo_module_set_sizes_are_values(module);
  const halo_shape **shapes =
      halo_arena_array(&module->arena, const halo_shape *, visible + hidden);
  for (int32_t p = 0; p < visible; p++) {
    halo_instr *param = entry->params.data[p];
    d->x.like = param;
    shapes[p] = module->entry_params[p];
    for (int32_t l = 0; l < halo_shape_leaf_count(shapes[p]); l++) {
      const halo_shape *leaf = halo_leaf_shape(shapes[p], l);
      for (int i = 0; i < leaf->rank; i++) {
        if (!halo_shape_dim_is_dynamic(leaf, i)) continue;
        halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                                .shape = sizes_scalar(module),
                                .parameter_number = entry->params.count,
                                .line = param->line};
        shapes[entry->params.count] = spec.shape;
        halo_dynamic_set_leaf(d, param, l, i, halo_instr_create_unchecked(entry, &spec));
      }
    }
  }
  module->entry_params = shapes;
}

/* What a result's alias said of the whole result now holds for element 0. */
static void sizes_move_aliases(halo_module *module) {
  for (int32_t a = 0; a < module->aliases.count; a++) {
    halo_alias *alias = &module->aliases.data[a];
    int64_t *index = halo_arena_array(&module->arena, int64_t, alias->out_index_count + 1);
    for (int32_t i = 0; i < alias->out_index_count; i++) index[i + 1] = alias->out_index[i];
    alias->out_index = index;
    alias->out_index_count++;
  }
}

/* The result becomes a tuple of itself and a scalar for each of its dynamic dimensions. */
static void sizes_add_results(halo_dynamic *d, halo_instr *root) {
  halo_module *module = d->all->module;
  const halo_shape *result = module->entry_result;
  int32_t hidden = halo_shape_dynamic_count(result), next = 1;
  if (hidden == 0 || d->x.status != HALO_OK) return;
  halo_instr **parts = halo_arena_array(&module->arena, halo_instr *, 1 + hidden);
  const halo_shape **shapes = halo_arena_array(&module->arena, const halo_shape *, 1 + hidden);
  d->x.like = root;
  parts[0] = root;
  shapes[0] = result;
  for (int32_t l = 0; l < halo_shape_leaf_count(result); l++) {
    const halo_shape *leaf = halo_leaf_shape(result, l);
    for (int i = 0; i < leaf->rank; i++) {
      if (!halo_shape_dim_is_dynamic(leaf, i)) continue;
      halo_instr *size = halo_dynamic_leaf_size(d, root, l, i);
      parts[next] = size ? size : halo_dynamic_number(d, leaf->dims[i]);
      shapes[next++] = sizes_scalar(module);
    }
  }
  module->entry->root = halo_expand_tuple(&d->x, parts, next);
  module->entry_result = halo_shape_new_tuple(&module->arena, next, shapes);
  sizes_move_aliases(module);
  halo_module_set_sizes_are_values(module);
  d->r.changed = true;
}

halo_status halo_pass_dynamic_sizes(halo_module *module, bool *changed) {
  halo_dynamic_module all = {.module = module, .rule_of = sizes_rule};
  halo_status status = HALO_OK;
  *changed = sizes_find_touched(&all);
  if (*changed) {
    halo_dynamic d;
    halo_dynamic_begin(&d, &all, module->entry);
    bool given = halo_module_sizes_are_values(module);
    if (!given) sizes_add_parameters(&d);
    halo_instr *root = halo_dynamic_walk(&d);
    if (!given) sizes_add_results(&d, root);
    status = halo_dynamic_end(&d);
    halo_module_remove_dead(module);
  }
  halo_pointer_map_deinit(&all.touched);
  return status;
}

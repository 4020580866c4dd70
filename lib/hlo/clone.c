/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/clone.c: copies of computations and whole modules. */
#include "base/memory.h"
#include "base/pointer_map.h"
#include "hlo/hlo.h"

#include <string.h>

/* The source may be read by other threads at the same time, so what became of its parts is noted
 * here and not in them. */
typedef struct clone_state {
  halo_pointer_map copies; /* computation or instruction -> its copy */
  bool foreign;            /* what is copied comes from a module that has names of its own */
} clone_state;

static const char *const *clone_strings(halo_arena *arena, const char *const *from, int32_t count) {
  const char **strings = halo_arena_array(arena, const char *, count);
  for (int32_t i = 0; i < count; i++) strings[i] = halo_arena_strdup(arena, from[i]);
  return strings;
}

static halo_alias clone_alias(halo_arena *arena, halo_alias alias) {
  alias.out_index =
      halo_arena_copy(arena, alias.out_index, sizeof(int64_t) * (size_t)alias.out_index_count);
  alias.param_index =
      halo_arena_copy(arena, alias.param_index, sizeof(int64_t) * (size_t)alias.param_index_count);
  return alias;
}

static halo_alias *clone_aliases(halo_arena *arena, const halo_alias *from, int32_t count) {
  halo_alias *aliases = halo_arena_array(arena, halo_alias, count);
  for (int32_t i = 0; i < count; i++) aliases[i] = clone_alias(arena, from[i]);
  return aliases;
}

static const halo_shape **clone_shapes(halo_arena *arena, const halo_shape *const *from,
                                       int32_t count) {
  const halo_shape **shapes = halo_arena_array(arena, const halo_shape *, count);
  for (int32_t i = 0; i < count; i++) shapes[i] = halo_shape_clone(arena, from[i]);
  return shapes;
}

static halo_conv_dims *clone_conv(halo_arena *arena, const halo_conv_dims *from) {
  halo_conv_dims *conv = halo_arena_copy(arena, from, sizeof *conv);
  if (conv->text) conv->text = halo_arena_strdup(arena, conv->text);
  return conv;
}

static halo_groups *clone_groups(halo_arena *arena, const halo_groups *from) {
  halo_groups *groups = halo_arena_copy(arena, from, sizeof *groups);
  int32_t ids = groups->count ? groups->starts[groups->count] : 0;
  if (groups->count) {
    groups->starts =
        halo_arena_copy(arena, groups->starts, sizeof(int32_t) * (size_t)(groups->count + 1));
  }
  groups->ids = halo_arena_copy(arena, groups->ids, sizeof(int64_t) * (size_t)ids);
  if (groups->text) groups->text = halo_arena_strdup(arena, groups->text);
  return groups;
}

/* Within one module attribute payloads are immutable arena data and can be shared; across modules
 * they are copied. */
static halo_attr clone_attr(const clone_state *s, halo_module *to, const halo_attr *from) {
  halo_arena *arena = &to->arena;
  halo_attr attr = *from;
  if (from->name) attr.name = halo_arena_strdup(arena, from->name);
  switch (halo_attr_kind_of(from->id)) {
    case HALO_KIND_INT:
    case HALO_KIND_BOOL:
    case HALO_KIND_ENUM:
    case HALO_KIND_FLOAT: break;
    case HALO_KIND_STRING:
    case HALO_KIND_RAW: attr.text = halo_arena_strdup(arena, from->text); break;
    case HALO_KIND_INTS:
    case HALO_KIND_PRECISIONS:
    case HALO_KIND_SLICES:
    case HALO_KIND_PADDING:
    case HALO_KIND_PAIRS:
    case HALO_KIND_BOOLS:
      attr.ints.data =
          halo_arena_copy(arena, from->ints.data, sizeof(int64_t) * (size_t)from->ints.count);
      break;
    case HALO_KIND_WINDOW:
      attr.window.data = halo_arena_copy(arena, from->window.data,
                                         sizeof(halo_window_dim) * (size_t)from->window.count);
      break;
    case HALO_KIND_DIM_LABELS: attr.conv = clone_conv(arena, from->conv); break;
    case HALO_KIND_GROUPS: attr.groups = clone_groups(arena, from->groups); break;
    case HALO_KIND_COMPS:
      attr.comps.data = halo_arena_array(arena, halo_computation *, from->comps.count);
      for (int32_t i = 0; i < from->comps.count; i++) {
        attr.comps.data[i] = halo_pointer_map_get(&s->copies, from->comps.data[i]);
      }
      break;
    case HALO_KIND_SHAPE: attr.shape = halo_shape_clone(arena, from->shape); break;
    case HALO_KIND_SHAPES:
      attr.shapes.data = clone_shapes(arena, from->shapes.data, from->shapes.count);
      break;
    case HALO_KIND_ALIASES:
      attr.aliases.data = clone_aliases(arena, from->aliases.data, from->aliases.count);
      break;
    case HALO_KIND_STRINGS:
      attr.strings.data = clone_strings(arena, from->strings.data, from->strings.count);
      break;
    case HALO_KIND_METADATA: attr.metadata = halo_metadata_clone(arena, from->metadata); break;
    case HALO_KIND_SHARDING: attr.sharding = halo_sharding_clone(arena, from->sharding); break;
    case HALO_KIND_DOMAIN: attr.domain = halo_domain_clone(arena, from->domain); break;
    case HALO_KIND_ACCURACY:
      attr.accuracy = halo_arena_copy(arena, from->accuracy, sizeof *from->accuracy);
      break;
    case HALO_KIND_CONFIGS: attr.configs = halo_operand_configs_clone(arena, from->configs); break;
    case HALO_KIND_LITERAL:
      halo_vec_push(&to->literals, from->literal);
      halo_literal_retain(from->literal);
      break;
  }
  return attr;
}

/* Copies one instruction, whose operands were copied before. */
static halo_instr *clone_instr(clone_state *s, halo_computation *to, const halo_instr *from,
                               bool same_module) {
  halo_arena *arena = &to->module->arena;
  halo_instr **operands = halo_alloc(sizeof(halo_instr *) * (size_t)from->operand_count);
  halo_attr *attrs = halo_alloc(sizeof *attrs * (size_t)from->attr_count);
  for (int32_t i = 0; i < from->operand_count; i++) {
    operands[i] = halo_pointer_map_get(&s->copies, from->operands[i]);
  }
  for (int32_t i = 0; i < from->attr_count; i++) {
    attrs[i] = same_module ? from->attrs[i] : clone_attr(s, to->module, &from->attrs[i]);
  }
  halo_instr_spec spec = {
      .opcode = from->opcode,
      .name = same_module ? NULL : from->name,
      .shape = same_module ? from->shape : halo_shape_clone(arena, from->shape),
      .operands = operands,
      .operand_count = from->operand_count,
      .attrs = attrs,
      .attr_count = from->attr_count,
      .parameter_number = from->parameter_number,
      .literal = from->literal,
      .line = from->line,
  };
  if (same_module || s->foreign) spec.name = halo_module_fresh_name(to->module, from->name);
  halo_instr *copy = halo_instr_create_unchecked(to, &spec);
  halo_free(operands);
  halo_free(attrs);
  copy->control_pred_count = from->control_pred_count;
  copy->control_preds = halo_arena_array(arena, halo_instr *, from->control_pred_count);
  for (int32_t i = 0; i < from->control_pred_count; i++) {
    copy->control_preds[i] = halo_pointer_map_get(&s->copies, from->control_preds[i]);
  }
  halo_pointer_map_set(&s->copies, from, copy);
  return copy;
}

halo_instr *halo_computation_inline(halo_computation *to, const halo_computation *from,
                                    halo_instr *const *args) {
  clone_state s = {0};
  for (int32_t i = 0; i < from->instrs.count; i++) {
    const halo_instr *instr = from->instrs.data[i];
    if (instr->opcode == HALO_OP_PARAMETER) {
      halo_pointer_map_set(&s.copies, instr, args[instr->parameter_number]);
    } else {
      clone_instr(&s, to, instr, true);
    }
  }
  halo_instr *root = halo_pointer_map_get(&s.copies, from->root);
  halo_pointer_map_deinit(&s.copies);
  return root;
}

static void clone_body(clone_state *s, halo_computation *to, const halo_computation *from) {
  for (int32_t i = 0; i < from->instrs.count; i++) clone_instr(s, to, from->instrs.data[i], false);
  to->root = from->root ? halo_pointer_map_get(&s->copies, from->root) : NULL;
  if (from->execution_thread) {
    to->execution_thread = halo_arena_strdup(&to->module->arena, from->execution_thread);
  }
}

static halo_spmd_entry *clone_spmd(halo_arena *arena, const halo_spmd_entry *from) {
  halo_spmd_entry *copy = halo_arena_copy(arena, from, sizeof *copy);
  copy->params = halo_sharding_clone(arena, from->params);
  copy->results = halo_sharding_clone(arena, from->results);
  copy->whole_params = halo_arena_array(arena, const halo_shape *, from->whole_param_count + 1);
  for (int32_t i = 0; i < from->whole_param_count; i++) {
    copy->whole_params[i] = halo_shape_clone(arena, from->whole_params[i]);
  }
  copy->whole_result = halo_shape_clone(arena, from->whole_result);
  return copy;
}

/* What a computation calls is copied before it. */
static halo_computation *clone_import(clone_state *s, halo_module *to,
                                      const halo_computation *from) {
  halo_computation *copy = halo_pointer_map_get(&s->copies, from);
  if (copy) return copy;
  for (int32_t i = 0; i < from->instrs.count; i++) {
    const halo_instr *instr = from->instrs.data[i];
    for (int32_t a = 0; a < instr->attr_count; a++) {
      if (halo_attr_kind_of(instr->attrs[a].id) != HALO_KIND_COMPS) continue;
      const halo_attr *attr = &instr->attrs[a];
      for (int32_t c = 0; c < attr->comps.count; c++) clone_import(s, to, attr->comps.data[c]);
    }
  }
  copy = halo_computation_create(to, NULL);
  copy->name = halo_module_fresh_name(to, from->name);
  halo_pointer_map_set(&s->copies, from, copy);
  clone_body(s, copy, from);
  return copy;
}

halo_computation *halo_computation_import(halo_module *to, const halo_computation *from) {
  clone_state s = {.foreign = true};
  halo_computation *copy = clone_import(&s, to, from);
  halo_pointer_map_deinit(&s.copies);
  return copy;
}

halo_module *halo_module_clone(const halo_module *module) {
  halo_module *copy = halo_module_create(module->name);
  copy->next_id = module->next_id;
  copy->is_scheduled = module->is_scheduled;
  copy->target = module->target;
  copy->replica_count = module->replica_count;
  copy->num_partitions = module->num_partitions;
  clone_state s = {0};
  for (int32_t i = 0; i < module->computations.count; i++) {
    const halo_computation *from = module->computations.data[i];
    halo_computation *to = halo_computation_create(copy, NULL);
    to->name = halo_arena_strdup(&copy->arena, from->name);
    halo_pointer_map_set(&s.copies, from, to);
    clone_body(&s, to, from);
  }
  copy->entry = halo_pointer_map_get(&s.copies, module->entry);
  halo_pointer_map_deinit(&s.copies);
  int32_t params = module->entry->params.count;
  copy->entry_params = halo_arena_array(&copy->arena, const halo_shape *, params);
  for (int32_t i = 0; i < params; i++) {
    copy->entry_params[i] = halo_shape_clone(&copy->arena, module->entry_params[i]);
  }
  copy->entry_result = halo_shape_clone(&copy->arena, module->entry_result);
  if (module->spmd) copy->spmd = clone_spmd(&copy->arena, module->spmd);
  for (int32_t i = 0; i < module->aliases.count; i++) {
    halo_vec_push(&copy->aliases, clone_alias(&copy->arena, module->aliases.data[i]));
  }
  for (int32_t i = 0; i < module->donors.count; i++) {
    halo_vec_push(&copy->donors, clone_alias(&copy->arena, module->donors.data[i]));
  }
  copy->frontend = clone_strings(&copy->arena, module->frontend, module->frontend_count);
  copy->frontend_count = module->frontend_count;
  for (int32_t i = 0; i < module->header.count; i++) {
    halo_header_attr attr = module->header.data[i];
    attr.name = halo_arena_strdup(&copy->arena, attr.name);
    attr.text = halo_arena_strdup(&copy->arena, attr.text);
    halo_vec_push(&copy->header, attr);
  }
  return copy;
}

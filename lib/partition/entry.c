/* SPDX-License-Identifier: Apache-2.0 */
/* partition/entry.c: the entry of a partitioned program: parameters and results of each partition, and
 * what becomes of what the module says of them. */
#include "base/status.h"
#include "partition/spmd.h"

/* The piece of a leaf that one partition is given, or gives. */
static halo_status entry_piece(halo_spmd *p, const halo_sharding *said, const halo_shape *shape,
                               const halo_shape **out) {
  int64_t starts[HALO_MAX_RANK], sizes[HALO_MAX_RANK];
  *out = shape;
  if (!halo_shape_is_array(shape) || said->kind != HALO_SHARDING_TILED) return HALO_OK;
  HALO_TRY(halo_sharding_piece(said, shape, 0, starts, sizes));
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dynamic && shape->dynamic[d] && sizes[d] != shape->dims[d]) {
      return halo_fail(HALO_UNIMPLEMENTED,
                       "a dimension whose size is known at run time only cannot be cut");
    }
  }
  *out = halo_shape_new_full(&p->module->arena, shape->type, shape->rank, sizes, shape->dynamic,
                             shape->minor_to_major);
  return HALO_OK;
}

/* All of a shape's leaves as pieces, with the layouts that they have. */
static halo_status entry_shape(halo_spmd *p, const halo_sharding *const *said,
                               const halo_shape *shape, const halo_shape **out) {
  int32_t count = halo_shape_leaf_count(shape);
  const halo_shape **leaves = halo_arena_array(&p->arena, const halo_shape *, count + 1);
  for (int32_t k = 0; k < count; k++) {
    HALO_TRY(entry_piece(p, said[k], halo_leaf_shape(shape, k), &leaves[k]));
  }
  *out = halo_spmd_with_leaves(p, shape, leaves);
  return HALO_OK;
}

/* Shardings as callers will ask for them. */
static const halo_sharding *entry_list(halo_spmd *p, const halo_sharding *const *said,
                                       int32_t count) {
  halo_sharding *list = halo_arena_new(&p->module->arena, halo_sharding);
  halo_sharding *elements = halo_arena_array(&p->module->arena, halo_sharding, count + 1);
  for (int32_t k = 0; k < count; k++) elements[k] = *said[k];
  *list =
      (halo_sharding){.kind = HALO_SHARDING_TUPLE, .elements = elements, .element_count = count};
  return list;
}

static halo_status entry_write_param(halo_spmd *p, halo_instr *old, const halo_sharding **said) {
  halo_spmd_node *node = halo_spmd_node_of(old);
  int64_t number = old->parameter_number;
  const halo_shape *shape, *outside;
  for (int32_t k = 0; k < node->count; k++) {
    if (!said[k]) said[k] = halo_spmd_found(p, node->leaves[k]);
  }
  HALO_TRY(entry_shape(p, said, old->shape, &shape));
  HALO_TRY(entry_shape(p, said, p->module->entry_params[number], &outside));
  p->module->entry_params[number] = outside;
  p->module->entry->params.data[number] = NULL;
  p->x.like = old;
  halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                          .name = old->name,
                          .shape = shape,
                          .parameter_number = number,
                          .line = old->line};
  halo_instr *param = halo_instr_create_unchecked(p->module->entry, &spec);
  for (int32_t i = 0; i < old->attr_count; i++) {
    if (old->attrs[i].id != HALO_ATTR_SHARDING) halo_instr_set_attr(param, &old->attrs[i]);
  }
  halo_instr **values = halo_arena_array(&p->arena, halo_instr *, node->count + 1);
  halo_spmd_unpack(p, param, values);
  for (int32_t k = 0; k < node->count; k++) {
    halo_spmd_leaf *leaf = node->leaves[k];
    halo_spmd_sharding own = halo_spmd_copy(p, &leaf->box->sharding);
    own.unreduced &= ~leaf->box->derived;
    if (halo_spmd_is_array(leaf)) {
      values[k] = halo_spmd_enter(p, values[k], leaf->shape, said[k], &own);
    }
    halo_spmd_define(p, leaf, values[k], &own);
  }
  return p->x.status;
}

halo_status halo_spmd_write_params(halo_spmd *p) {
  halo_module *module = p->module;
  halo_computation *entry = module->entry;
  int32_t count = entry->params.count, next = 0;
  const halo_shape **whole = halo_arena_array(&module->arena, const halo_shape *, count + 1);
  for (int32_t i = 0; i < count; i++) {
    halo_instr *old = entry->params.data[i];
    whole[i] = module->entry_params[i];
    HALO_TRY(entry_write_param(p, old, p->params + next));
    next += halo_spmd_node_of(old)->count;
  }
  halo_spmd_entry *note = halo_arena_new(&module->arena, halo_spmd_entry);
  *note = (halo_spmd_entry){.params = entry_list(p, p->params, next),
                            .whole_params = whole,
                            .whole_param_count = count,
                            .whole_result = module->entry_result};
  module->spmd = note;
  return HALO_OK;
}

/* Rows of parameters and results that share memory, which they can no longer do when their pieces differ. */
static void entry_drop_aliases(halo_module *module) {
  int32_t kept = 0;
  for (int32_t i = 0; i < module->aliases.count; i++) {
    const halo_alias *alias = &module->aliases.data[i];
    const halo_shape *out =
        halo_shape_part(module->entry_result, alias->out_index, alias->out_index_count);
    const halo_shape *in = halo_shape_part(module->entry_params[alias->parameter],
                                           alias->param_index, alias->param_index_count);
    if (out && in && halo_shape_equal(out, in)) module->aliases.data[kept++] = *alias;
  }
  module->aliases.count = kept;
}

halo_status halo_spmd_write_results(halo_spmd *p, const halo_instr *root) {
  static const halo_sharding replicated = {.kind = HALO_SHARDING_REPLICATED};
  halo_module *module = p->module;
  const halo_spmd_node *node = halo_spmd_node_of(root);
  halo_instr **values = halo_arena_array(&p->arena, halo_instr *, node->count + 1);
  for (int32_t k = 0; k < node->count; k++) {
    halo_spmd_leaf *leaf = node->leaves[k];
    int32_t index = halo_shape_is_tuple(root->shape) ? halo_leaf_element(root->shape, k) : 0;
    bool is_free = halo_spmd_is_free(module, true, index) || leaf->box->sharding.manual;
    if (!p->results[k]) {
      p->results[k] = is_free ? halo_spmd_found(p, leaf) : &replicated;
    }
    values[k] = halo_spmd_leave(p, leaf, p->results[k]);
  }
  if (p->x.status != HALO_OK) return p->x.status;
  module->entry->root = halo_spmd_pack(p, root->shape, values);
  module->spmd->results = entry_list(p, p->results, node->count);
  HALO_TRY(entry_shape(p, p->results, module->entry_result, &module->entry_result));
  entry_drop_aliases(module);
  return HALO_OK;
}

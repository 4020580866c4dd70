/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/elementwise.c: scalar computations applied to whole arrays, and map made of them. */
#include "passes/expand/elementwise.h"

#include "base/pointer_map.h"
#include "passes/passes.h"

bool halo_elementwise_computation(const halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (instr->control_pred_count > 0) return false;
    if (instr->opcode == HALO_OP_TUPLE && instr == computation->root) continue;
    if (!halo_shape_is_scalar(instr->shape)) return false;
    bool leaf = instr->opcode == HALO_OP_PARAMETER || instr->opcode == HALO_OP_CONSTANT;
    if (!leaf && !halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW)) return false;
  }
  return true;
}

halo_instr *halo_elementwise_inline(halo_rewriter *r, const halo_instr *like,
                                    const halo_computation *computation, halo_instr *const *args,
                                    const halo_shape *shape) {
  halo_arena *arena = &r->computation->module->arena;
  HALO_VEC(halo_instr *) operands = {0};
  halo_pointer_map copies = {0};
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (instr->opcode == HALO_OP_PARAMETER) {
      halo_pointer_map_set(&copies, instr, args[instr->parameter_number]);
      continue;
    }
    if (instr->opcode == HALO_OP_CONSTANT) {
      halo_instr *scalar = halo_rewrite_make_shared_constant(r, like, instr->literal);
      const halo_shape *splat = halo_shape_with_type(arena, shape, instr->shape->type);
      halo_pointer_map_set(&copies, instr, halo_rewrite_make_splat(r, like, scalar, splat));
      continue;
    }
    operands.count = 0;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      halo_vec_push(&operands, halo_pointer_map_get(&copies, instr->operands[o]));
    }
    const halo_shape *result;
    if (instr->opcode == HALO_OP_TUPLE) {
      const halo_shape **parts = halo_arena_array(arena, const halo_shape *, operands.count);
      for (int32_t o = 0; o < operands.count; o++) parts[o] = operands.data[o]->shape;
      result = halo_shape_new_tuple(arena, operands.count, parts);
    } else {
      result = halo_shape_with_type(arena, shape, instr->shape->type);
    }
    halo_instr *copy = halo_rewrite_make(r, like, instr->opcode, result, operands.data,
                                         operands.count, instr->attrs, instr->attr_count);
    halo_pointer_map_set(&copies, instr, copy);
  }
  halo_vec_deinit(&operands);
  halo_instr *root = halo_pointer_map_get(&copies, computation->root);
  halo_pointer_map_deinit(&copies);
  return root;
}

/* map(arrays), to_apply=scalar program -> the program on arrays. */
static void elementwise_map(halo_rewriter *r, halo_instr *map) {
  const halo_computation *computation = halo_instr_comp(map, HALO_ATTR_TO_APPLY);
  if (!computation || halo_shape_is_dynamic(map->shape) || !halo_shape_is_array(map->shape) ||
      !halo_elementwise_computation(computation) ||
      !halo_shape_is_array(computation->root->shape)) {
    return;
  }
  halo_arena *arena = &r->computation->module->arena;
  HALO_VEC(halo_instr *) args = {0};
  for (int32_t i = 0; i < map->operand_count; i++) {
    halo_instr *operand = map->operands[i];
    if (operand->shape->rank == 0 && map->shape->rank > 0) {
      operand = halo_rewrite_make_splat(
          r, map, operand, halo_shape_with_type(arena, map->shape, operand->shape->type));
    }
    halo_vec_push(&args, operand);
  }
  halo_rewrite_replace(r, map, halo_elementwise_inline(r, map, computation, args.data, map->shape));
  halo_vec_deinit(&args);
}

static void elementwise_inline_map(halo_rewriter *r, halo_instr *instr) {
  if (instr->opcode == HALO_OP_MAP && !halo_rewrite_pinned(instr)) elementwise_map(r, instr);
}

halo_status halo_pass_inline_map(halo_module *module, bool *changed) {
  return halo_rewrite_instrs(module, elementwise_inline_map, changed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/layout/layouts.c: which layout each value has. The entry's parameters and results keep the layouts
 * that callers see; everything inside is row-major. Kernels read and write any layout, so a parameter
 * needs no copy where it is used, only where its bytes themselves flow on (into a result, a loop's
 * state, a branch), and bitcasts, whose meaning depends on layouts, become the transposes and reshape
 * they stand for. */
#include "passes/passes.h"
#include "rewrite/rewrite.h"

/* Where the value's bytes flow on, so that the layout of the operand is that of the result. */
static bool layouts_passes_on(halo_opcode opcode) {
  if (opcode == HALO_OP_GET_TUPLE_ELEMENT) return false; /* its users are asked */
  halo_exec_class exec = halo_opcode_exec(opcode);
  return exec == HALO_EXEC_ALIAS || exec == HALO_EXEC_CONTROL || exec == HALO_EXEC_ASYNC ||
         exec == HALO_EXEC_COLLECTIVE || (exec == HALO_EXEC_HOST && opcode != HALO_OP_CUSTOM_CALL);
}

static halo_instr *layouts_copy(halo_rewriter *r, halo_instr *x, const halo_shape *shape) {
  return halo_rewrite_make_unary(r, x, HALO_OP_COPY, shape, x);
}

/* Gives every operand of an instruction that passes bytes on the default layout. */
static void layouts_fix_operands(halo_rewriter *r, halo_instr *instr) {
  halo_arena *arena = &r->computation->module->arena;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_instr *x = instr->operands[i];
    if (!halo_shape_is_array(x->shape) || halo_shape_has_default_layout(x->shape)) continue;
    instr->operands[i] = layouts_copy(r, x, halo_shape_with_default_layout(arena, x->shape));
    r->changed = true;
  }
}

/* Whether `instr` is the tuple `root` or one of the tuples it is made of. */
static bool layouts_is_within(const halo_instr *root, const halo_instr *instr) {
  if (root == instr) return true;
  for (int32_t i = 0; i < root->operand_count; i++) {
    const halo_instr *x = root->operands[i];
    if (x->opcode == HALO_OP_TUPLE && layouts_is_within(x, instr)) return true;
  }
  return false;
}

/* The entry's root tuple, or a tuple within it that nothing else uses: its leaves have the layouts
 * that callers see. */
static bool layouts_is_result_tuple(const halo_instr *instr) {
  const halo_computation *c = instr->parent;
  if (instr->opcode != HALO_OP_TUPLE || c != c->module->entry || c->root->opcode != HALO_OP_TUPLE ||
      !layouts_is_within(c->root, instr)) {
    return false;
  }
  if (instr == c->root) return true;
  int32_t uses = 0;
  for (int32_t i = 0; i < c->instrs.count; i++) {
    for (int32_t k = 0; k < c->instrs.data[i]->operand_count; k++) {
      uses += c->instrs.data[i]->operands[k] == instr;
    }
  }
  return uses == 1;
}

static bool layouts_same(const halo_shape *a, const halo_shape *b) {
  for (int32_t i = 0; i < a->count; i++) {
    if (!layouts_same(a->elements[i], b->elements[i])) return false;
  }
  for (int i = 0; i < a->rank; i++) {
    if (a->minor_to_major[i] != b->minor_to_major[i]) return false;
  }
  return true;
}

static halo_instr *layouts_result(halo_rewriter *r, halo_instr *x, const halo_shape *want);

/* A tuple of the result with its leaves in the layouts that callers see. */
static halo_instr *layouts_result_tuple(halo_rewriter *r, halo_instr *x, const halo_shape *want) {
  if (x->opcode != HALO_OP_TUPLE && layouts_same(x->shape, want)) return x;
  halo_arena scratch = {0};
  halo_instr **parts = halo_arena_array(&scratch, halo_instr *, want->count);
  const halo_shape **shapes = halo_arena_array(&scratch, const halo_shape *, want->count);
  bool same = x->opcode == HALO_OP_TUPLE;
  for (int32_t i = 0; i < want->count; i++) {
    halo_instr *part =
        x->opcode == HALO_OP_TUPLE ? x->operands[i] : halo_rewrite_make_gte(r, x, x, i);
    parts[i] = layouts_result(r, part, want->elements[i]);
    shapes[i] = parts[i]->shape;
    same &= parts[i] == part;
  }
  if (!same) {
    const halo_shape *shape =
        halo_shape_new_tuple(&r->computation->module->arena, want->count, shapes);
    x = halo_rewrite_make(r, x, HALO_OP_TUPLE, shape, parts, want->count, NULL, 0);
    r->changed = true;
  }
  halo_arena_deinit(&scratch);
  return x;
}

/* A shape of the entry as instructions have it: sizes that are known at run time only are values by now. */
static const halo_shape *layouts_of_caller(halo_module *module, const halo_shape *shape) {
  return halo_shape_static(&module->arena, shape);
}

/* A part of the entry's result in the layout that callers see. */
static halo_instr *layouts_result(halo_rewriter *r, halo_instr *x, const halo_shape *want) {
  if (halo_shape_is_tuple(want)) return layouts_result_tuple(r, x, want);
  if (!halo_shape_is_array(want) || layouts_same(x->shape, want)) return x;
  r->changed = true;
  return layouts_copy(r, x, halo_shape_clone(&r->computation->module->arena, want));
}

/* Gives the entry's results, whose operands have got their final layouts, those that callers see. */
static void layouts_fix_results(halo_rewriter *r) {
  halo_computation *computation = r->computation;
  const halo_shape *want =
      layouts_of_caller(computation->module, computation->module->entry_result);
  halo_instr *root = computation->root;
  if (root->opcode != HALO_OP_TUPLE) {
    computation->root = layouts_result(r, root, want);
    return;
  }
  for (int32_t i = 0; i < root->operand_count; i++) {
    root->operands[i] = layouts_result(r, root->operands[i], want->elements[i]);
  }
}

static void layouts_instr(halo_rewriter *r, halo_instr *instr) {
  if (instr->opcode == HALO_OP_BITCAST) {
    halo_rewrite_replace(r, instr, halo_bitcast_expand(r, instr));
    return;
  }
  if (layouts_is_result_tuple(instr)) return; /* see layouts_fix_results */
  if (layouts_passes_on(instr->opcode)) layouts_fix_operands(r, instr);
}

/* Sets the row-major layout on everything inside that still has another. */
static bool layouts_normalise(halo_computation *computation) {
  halo_module *module = computation->module;
  bool entry = computation == module->entry, changed = false;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    bool result_copy = entry && instr->opcode == HALO_OP_COPY;
    bool from_caller = entry && instr->opcode == HALO_OP_PARAMETER;
    if (result_copy || from_caller) continue;
    if (instr->opcode == HALO_OP_GET_TUPLE_ELEMENT) { /* of a parameter: what callers see */
      int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
      const halo_shape *leaf = instr->operands[0]->shape->elements[index];
      if (halo_shape_equal(instr->shape, leaf)) continue;
      instr->shape = leaf;
      changed = true;
      continue;
    }
    bool entry_tuple = layouts_is_result_tuple(instr);
    if (entry_tuple || halo_shape_has_default_layout(instr->shape)) continue;
    instr->shape = halo_shape_with_default_layout(&module->arena, instr->shape);
    changed = true;
  }
  return changed;
}

halo_status halo_pass_layouts(halo_module *module, bool *changed) {
  *changed = false;
  for (int32_t p = 0; p < module->entry->params.count; p++) {
    halo_instr *param = module->entry->params.data[p];
    const halo_shape *want = layouts_of_caller(module, module->entry_params[p]);
    if (halo_shape_equal(param->shape, want)) continue;
    param->shape = want;
    *changed = true;
  }
  for (int32_t i = 0; i < module->computations.count; i++) {
    halo_computation *computation = module->computations.data[i];
    halo_rewriter r;
    halo_rewrite_begin(&r, computation);
    for (int32_t k = 0; k < computation->instrs.count; k++) {
      halo_instr *instr = halo_rewrite_next(&r, k);
      if (!instr) continue;
      /* Elements of tuple parameters have the layouts that the parameter's leaves have. */
      if (computation == module->entry && instr->opcode == HALO_OP_GET_TUPLE_ELEMENT) {
        int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
        const halo_shape *leaf = instr->operands[0]->shape->elements[index];
        if (!halo_shape_equal(instr->shape, leaf)) {
          instr->shape = leaf;
          r.changed = true;
        }
      }
      layouts_instr(&r, instr);
    }
    HALO_TRY(halo_rewrite_end(&r, changed));
    *changed |= layouts_normalise(computation);
    if (computation == module->entry) {
      halo_rewrite_begin(&r, computation);
      layouts_fix_results(&r);
      HALO_TRY(halo_rewrite_end(&r, changed));
    }
  }
  return HALO_OK;
}

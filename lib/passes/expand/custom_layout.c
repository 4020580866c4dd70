/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/custom_layout.c: custom calls whose functions want other layouts than the row-major one that everything
 * inside has get transposes around them. */
#include "hlo/lapack.h"
#include "passes/expand/expand.h"

/* Row-major over the dimensions in the order in which they lie in memory. */
static const halo_shape *layout_physical(halo_arena *arena, const halo_shape *shape) {
  if (halo_shape_is_tuple(shape)) {
    const halo_shape **elements = halo_arena_array(arena, const halo_shape *, shape->count + 1);
    for (int32_t i = 0; i < shape->count; i++) {
      elements[i] = layout_physical(arena, shape->elements[i]);
    }
    return halo_shape_new_tuple(arena, shape->count, elements);
  }
  if (!halo_shape_is_array(shape)) return shape;
  int64_t dims[HALO_MAX_RANK];
  for (int i = 0; i < shape->rank; i++) {
    dims[i] = shape->dims[shape->minor_to_major[shape->rank - 1 - i]];
  }
  return halo_shape_new(arena, shape->type, shape->rank, dims);
}

/* An array as it lies in memory under the layout of `shape`, or back. */
static halo_instr *layout_transpose(halo_expander *x, halo_instr *a, const halo_shape *shape,
                                    bool to_physical) {
  int64_t permutation[HALO_MAX_RANK];
  for (int i = 0; i < shape->rank; i++) {
    int d = shape->minor_to_major[shape->rank - 1 - i];
    permutation[to_physical ? i : d] = to_physical ? d : i;
  }
  halo_attr attr = halo_rewrite_list_attr(x->r->computation->module, HALO_ATTR_DIMENSIONS,
                                          permutation, shape->rank);
  return halo_expand_op(x, HALO_OP_TRANSPOSE, &a, 1, &attr, 1);
}

static bool layout_is_plain(const halo_shape *shape) {
  for (int32_t i = 0; i < shape->count; i++) {
    if (!layout_is_plain(shape->elements[i])) return false;
  }
  return !halo_shape_is_array(shape) || halo_shape_has_default_layout(shape);
}

/* A value as it lies in memory under the layouts of `shape`, or, `to_physical` false, the value that lies so. NULL after a failure. */
static halo_instr *layout_change(halo_expander *x, halo_instr *value, const halo_shape *shape,
                                 bool to_physical) {
  if (layout_is_plain(shape)) return value;
  if (halo_shape_is_array(shape)) return layout_transpose(x, value, shape, to_physical);
  halo_arena *arena = &x->r->computation->module->arena;
  halo_instr **parts = halo_arena_array(arena, halo_instr *, shape->count);
  for (int32_t i = 0; i < shape->count; i++) {
    halo_instr *part = halo_rewrite_make_gte(x->r, x->like, value, i);
    parts[i] = layout_change(x, part, shape->elements[i], to_physical);
    if (!parts[i]) return NULL;
  }
  return halo_expand_tuple(x, parts, shape->count);
}

/* A shape with another one in the place of a part. */
static const halo_shape *layout_with_part(halo_arena *arena, const halo_shape *shape,
                                          const int64_t *index, int32_t count,
                                          const halo_shape *part) {
  if (count == 0) return part;
  const halo_shape **elements = halo_arena_array(arena, const halo_shape *, shape->count);
  for (int32_t i = 0; i < shape->count; i++) elements[i] = shape->elements[i];
  elements[index[0]] =
      layout_with_part(arena, shape->elements[index[0]], index + 1, count - 1, part);
  return halo_shape_new_tuple(arena, shape->count, elements);
}

/* Says which layouts a call's operands have where it does not: row-major, or that of the result whose memory they
 * share. */
static void layout_constrain(halo_expander *x, halo_instr *instr) {
  const halo_attr *aliases = halo_instr_attr(instr, HALO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  halo_arena *arena = &x->r->computation->module->arena;
  if (!aliases || halo_instr_attr(instr, HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS)) return;
  const halo_shape **shapes = halo_arena_array(arena, const halo_shape *, instr->operand_count + 1);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    shapes[i] = halo_shape_with_default_layout(arena, instr->operands[i]->shape);
  }
  for (int32_t i = 0; i < aliases->aliases.count; i++) {
    const halo_alias *alias = &aliases->aliases.data[i];
    const halo_shape *part =
        halo_shape_part(instr->shape, alias->out_index, alias->out_index_count);
    shapes[alias->parameter] = layout_with_part(arena, shapes[alias->parameter], alias->param_index,
                                                alias->param_index_count, part);
  }
  const halo_attr attr = {.id = HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS,
                          .shapes = {.data = shapes, .count = instr->operand_count}};
  halo_instr_set_attr(instr, &attr);
}

static const halo_shape *layout_row_major(halo_arena *arena, const halo_shape *shape) {
  if (!halo_shape_is_tuple(shape)) {
    return halo_shape_new(arena, shape->type, shape->rank, shape->dims);
  }
  const halo_shape **elements = halo_arena_array(arena, const halo_shape *, shape->count + 1);
  for (int32_t i = 0; i < shape->count; i++) {
    elements[i] = layout_row_major(arena, shape->elements[i]);
  }
  return halo_shape_new_tuple(arena, shape->count, elements);
}

/* The same call on row-major arrays, without transposes around it, where a kernel does it (passes/fuse/lapack.c). LAPACK's
 * calls take any layout too. */
static halo_instr *layout_small(halo_expander *x, halo_instr *instr) {
  halo_lapack_desc v;
  halo_module *module = x->r->computation->module;
  bool small = halo_lapack_describe(instr, &v) && halo_lapack_is_small(&v, &module->target) &&
               !halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_RESULT);
  if (!small) return NULL;
  halo_attr *attrs = halo_arena_array(&module->arena, halo_attr, instr->attr_count + 1);
  int32_t count = 0;
  for (int32_t i = 0; i < instr->attr_count; i++) {
    if (instr->attrs[i].id != HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS)
      attrs[count++] = instr->attrs[i];
  }
  return halo_rewrite_make(x->r, instr, HALO_OP_CUSTOM_CALL,
                           layout_row_major(&module->arena, instr->shape), instr->operands,
                           instr->operand_count, attrs, count);
}

halo_instr *halo_expand_custom_layout(halo_expander *x, halo_instr *instr) {
  halo_module *module = x->r->computation->module;
  const halo_attr *wanted = halo_instr_attr(instr, HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  bool plain = layout_is_plain(instr->shape);
  for (int32_t i = 0; i < instr->operand_count && wanted; i++) {
    plain &= layout_is_plain(wanted->shapes.data[i]);
  }
  if (plain || halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_RESULT)) return NULL;
  halo_instr *small = layout_small(x, instr);
  if (small) return small;
  layout_constrain(x, instr);
  wanted = halo_instr_attr(instr, HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  halo_instr **operands = halo_arena_array(&module->arena, halo_instr *, instr->operand_count + 1);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    operands[i] = instr->operands[i];
    if (wanted) operands[i] = layout_change(x, operands[i], wanted->shapes.data[i], true);
    if (!operands[i]) return NULL;
  }
  halo_instr *call = halo_rewrite_make(x->r, instr, HALO_OP_CUSTOM_CALL,
                                       layout_physical(&module->arena, instr->shape), operands,
                                       instr->operand_count, instr->attrs, instr->attr_count);
  const halo_attr result = {.id = HALO_ATTR_CUSTOM_CALL_RESULT, .shape = instr->shape};
  halo_instr_set_attr(call, &result);
  for (int32_t i = 0; i < instr->control_pred_count; i++) {
    halo_rewrite_add_control_pred(call, instr->control_preds[i]);
  }
  return layout_change(x, call, instr->shape, false);
}

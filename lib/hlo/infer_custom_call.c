/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_custom_call.c: inference of custom calls: shapes are what the program says; those of LAPACK's routines are
 * held against what the routines take and give. */
#include "custom/custom.h"
#include "hlo/infer_util.h"

/* Whether two values have the same leaves, but for the order of extents: one may be the memory of the other. */
static bool custom_same_memory(const halo_shape *a, const halo_shape *b) {
  if (a->type != b->type || a->count != b->count) return false;
  for (int32_t i = 0; i < a->count; i++) {
    if (!custom_same_memory(a->elements[i], b->elements[i])) return false;
  }
  return !halo_shape_is_array(a) || halo_shape_element_count(a) == halo_shape_element_count(b);
}

/* There is a layout for each operand, of its shape. Where the pass `expand` has transposed operands and result, the layouts
 * still have the shapes from before. */
static halo_status custom_check_layouts(const halo_instr *instr, const halo_attr *wanted,
                                        bool transposed) {
  if (wanted->shapes.count != instr->operand_count) {
    return halo_infer_fail(instr, "operand_layout_constraints has %d shape%s for %d operand%s",
                           wanted->shapes.count, halo_plural(wanted->shapes.count),
                           instr->operand_count, halo_plural(instr->operand_count));
  }
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_shape *shape = wanted->shapes.data[i], *operand = halo_infer_operand(instr, i);
    if (transposed ? custom_same_memory(shape, operand) : halo_shape_compatible(shape, operand)) {
      continue;
    }
    return halo_infer_fail(instr, "operand_layout_constraints gives operand %d another shape", i);
  }
  return HALO_OK;
}

static halo_status custom_check_lapack(const halo_instr *instr, const char *target,
                                       const halo_attr *wanted, const halo_shape *result) {
  /* A function that a user registered under such a name takes other arrays. */
  if (halo_custom_target_find(target) != halo_custom_lapack_find(target)) return HALO_OK;
  halo_arena scratch = {0};
  const halo_shape **operands =
      halo_arena_array(&scratch, const halo_shape *, instr->operand_count + 1);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    operands[i] = wanted ? wanted->shapes.data[i] : halo_infer_operand(instr, i);
  }
  const halo_attr *config = halo_instr_attr(instr, HALO_ATTR_BACKEND_CONFIG);
  halo_status status = halo_custom_lapack_check(target, instr->operand_count, operands, result,
                                                config ? config->text : NULL);
  halo_arena_deinit(&scratch);
  return status;
}

halo_status halo_infer_custom_call(const halo_instr *instr, halo_arena *arena,
                                   const halo_shape **out) {
  HALO_TRY(halo_infer_declared(instr, arena, out));
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  const halo_attr *wanted = halo_instr_attr(instr, HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  const halo_attr *before = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_RESULT);
  if (before && !custom_same_memory(before->shape, instr->shape)) {
    return halo_infer_fail(instr, "custom_call_result has other elements than the result");
  }
  if (wanted) HALO_TRY(custom_check_layouts(instr, wanted, before != NULL));
  return custom_check_lapack(instr, target->text, wanted, before ? before->shape : instr->shape);
}

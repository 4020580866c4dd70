/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/control.c: while and conditional, of scalars in any kernel and of arrays in computations that a
 * kernel applies. */
#include "codegen/ctype.h"
#include "codegen/emitter_private.h"

/* The leaves of an operand as values. */
static halo_value *control_operand_leaves(halo_emitter *e, emit_frame *f,
                                          const halo_instr *operand) {
  int32_t count = halo_shape_leaf_count(operand->shape);
  halo_value *values = halo_arena_array(e->arena, halo_value, count);
  for (int32_t l = 0; l < count; l++) values[l] = emit_leaf(e, f, operand, l);
  return values;
}

void emit_while(halo_emitter *e, emit_frame *f, const halo_instr *instr, emit_index *index,
                halo_value *leaves) {
  (void)index; /* all of it */
  int32_t count = halo_shape_leaf_count(instr->shape);
  for (int32_t l = 0; l < count; l++) {
    leaves[l] = emit_leaf_copy(e, f, instr->operands[0], l, halo_leaf_shape(instr->shape, l));
  }
  halo_emit_loop(e, "for (;;)");
  halo_value more;
  halo_emit_apply(e, halo_instr_comp(instr, HALO_ATTR_CONDITION), leaves, &more);
  halo_emit_line(e, "if (!%s) break;", more.text);
  halo_value *next = halo_arena_array(e->arena, halo_value, count);
  halo_emit_apply(e, halo_instr_comp(instr, HALO_ATTR_BODY), leaves, next);
  emit_assign(e, leaves, next, count);
  halo_emit_close(e);
}

void emit_conditional(halo_emitter *e, emit_frame *f, const halo_instr *instr, emit_index *index,
                      halo_value *leaves) {
  (void)index; /* all of it */
  int32_t count = halo_shape_leaf_count(instr->shape);
  halo_value selector = halo_emit_value(e, f, instr->operands[0], 0, halo_index_scalar(e));
  for (int32_t l = 0; l < count; l++) {
    leaves[l] = emit_leaf_variable(e, halo_leaf_shape(instr->shape, l));
  }
  bool is_pred = selector.type == HALO_PRED;
  int32_t branches = halo_conditional_branch_count(instr);
  for (int32_t b = 0; b < branches; b++) {
    /* An index outside the range runs the last branch, which therefore has no test. */
    const char *test = NULL;
    if (b + 1 < branches) {
      test = is_pred ? halo_arena_printf(e->arena, "if (%s)", selector.text)
                     : halo_arena_printf(e->arena, "%sif (%s == %d)", b ? "else " : "",
                                         selector.text, b);
    } else if (b > 0) {
      test = "else";
    }
    halo_emit_branch(e, test);
    halo_value *next = halo_arena_array(e->arena, halo_value, count);
    halo_emit_apply(e, halo_conditional_branch(instr, b),
                    control_operand_leaves(e, f, instr->operands[1 + b]), next);
    emit_assign(e, leaves, next, count);
    halo_emit_close(e);
  }
}

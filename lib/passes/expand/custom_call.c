/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/custom_call.c: calls that are the identity on one device go, and others are written as what they do;
 * layouts of the rest: custom_layout.c. */
#include "custom/custom.h"
#include "hlo/linalg.h"
#include "passes/expand/expand.h"

#include <string.h>

/* Marks for programs of several devices, and for compilers. */
static bool custom_is_marker(const char *target) {
  static const char *const markers[] = {"Sharding",
                                        "SPMDFullToShardShape",
                                        "SPMDShardToFullShape",
                                        "LayoutConstraint",
                                        "annotate_device_placement",
                                        "MoveToHost",
                                        "MoveToDevice",
                                        "PinToDevice",
                                        "PinToDeviceSram",
                                        "Pin",
                                        "Unpin",
                                        "xla.sdy.FuncResultSharding",
                                        "xla.sdy.GlobalToLocalShape",
                                        "xla.sdy.LocalToGlobalShape"};
  for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++) {
    if (strcmp(markers[i], target) == 0) return true;
  }
  return false;
}

/* That one operation comes before another, which compilers may heed where they choose an order. */
static bool custom_is_order(const halo_instr *instr, const char *target) {
  return strcmp(target, "control_dep") == 0 && halo_shape_is_tuple(instr->shape) &&
         instr->shape->count == 0;
}

/* ---- Triangular systems ---- */

static halo_instr *custom_solve(halo_expander *x, halo_instr *instr) {
  const halo_attr *config = halo_instr_attr(instr, HALO_ATTR_BACKEND_CONFIG);
  halo_arena scratch = {0};
  halo_custom_frame call = {0};
  halo_status status = halo_custom_config_read(&scratch, config ? config->text : "", &call);
  int64_t op = halo_custom_call_integer(&call, "trans_x", 'N');
  const halo_attr attrs[4] = {
      {.id = HALO_ATTR_LEFT_SIDE, .i = halo_custom_call_integer(&call, "side", 'L') == 'L'},
      {.id = HALO_ATTR_LOWER, .i = halo_custom_call_integer(&call, "uplo", 'L') == 'L'},
      {.id = HALO_ATTR_UNIT_DIAGONAL, .i = halo_custom_call_integer(&call, "diag", 'N') == 'U'},
      {.id = HALO_ATTR_TRANSPOSE_A,
       .i = op == 'C'   ? HALO_ADJOINT
            : op == 'T' ? HALO_TRANSPOSE
                        : HALO_NO_TRANSPOSE}};
  halo_arena_deinit(&scratch);
  if (status != HALO_OK) x->status = halo_fail_in(status, "%s", instr->name);
  if (status != HALO_OK) return NULL;
  return halo_expand_op(x, HALO_OP_TRIANGULAR_SOLVE, instr->operands, instr->operand_count, attrs,
                        4);
}

/* ---- Small factorisations ---- */

halo_instr *halo_expand_custom_call(halo_expander *x, halo_instr *instr) {
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  if (target && custom_is_marker(target->text) && instr->operand_count == 1 &&
      halo_shape_same_dims(instr->shape, instr->operands[0]->shape) &&
      instr->shape->type == instr->operands[0]->shape->type) {
    return instr->operands[0];
  }
  if (target && custom_is_order(instr, target->text))
    return halo_expand_tuple(x, instr->operands, 0);
  halo_instr *topk = halo_expand_topk_call(x, instr);
  if (topk || x->status != HALO_OK) return topk;
  bool own = target && halo_custom_target_find(target->text);
  halo_instr *factors = own ? NULL : halo_expand_factors(x, instr);
  if (factors || x->status != HALO_OK) return factors;
  if (target && halo_custom_is_solve(target->text) && !halo_custom_target_find(target->text)) {
    halo_instr *solved = custom_solve(x, instr);
    halo_instr *split = solved ? halo_expand_triangular_solve(x, solved) : NULL;
    return split ? split : solved;
  }
  return halo_expand_custom_layout(x, instr);
}

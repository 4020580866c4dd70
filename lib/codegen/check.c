/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/check.c: what the emitter can compute, by the opcode table. */
#include "codegen/emitter_private.h"

static bool check_all_scalars(const halo_shape *shape) {
  if (halo_shape_is_tuple(shape)) {
    for (int32_t i = 0; i < shape->count; i++) {
      if (!check_all_scalars(shape->elements[i])) return false;
    }
    return true;
  }
  return halo_shape_is_scalar(shape);
}

static halo_status check_refuse(const halo_instr *instr, const char *why) {
  halo_arena scratch = {0};
  const char *text = halo_instr_text(&scratch, instr);
  halo_status status =
      instr->line > 0
          ? halo_fail(HALO_UNIMPLEMENTED, "line %d: %s cannot run on a device yet: %s", instr->line,
                      text, why)
          : halo_fail(HALO_UNIMPLEMENTED, "%s cannot run on a device yet: %s", text, why);
  halo_arena_deinit(&scratch);
  return status;
}

/* Whether an operation of this class has a meaning inside a kernel. */
static bool check_class(halo_opcode opcode) {
  switch (halo_opcode_exec(opcode)) {
    case HALO_EXEC_VALUE: return true;
    case HALO_EXEC_ALIAS: return opcode != HALO_OP_AFTER_ALL;
    case HALO_EXEC_ELEMENTWISE:
    case HALO_EXEC_MOVEMENT:
    case HALO_EXEC_REDUCTION:
    case HALO_EXEC_STRUCTURED: return halo_opcode_is_elemental(opcode);
    case HALO_EXEC_CONTROL: return true; /* over scalars */
    case HALO_EXEC_EXPANDED:
    case HALO_EXEC_ASYNC:
    case HALO_EXEC_COLLECTIVE:
    case HALO_EXEC_HOST: break;
  }
  return false;
}

static halo_status check_control(const halo_instr *instr) {
  bool scalars = check_all_scalars(instr->shape);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    scalars &= check_all_scalars(instr->operands[i]->shape);
  }
  return scalars
             ? HALO_OK
             : check_refuse(instr, "inside a kernel, control flow over arrays is not supported");
}

/* An operation of a computation that a kernel applies, which makes private arrays. */
static halo_status check_private(const halo_instr *instr) {
  if (emit_held_elements(instr) <= EMIT_MAX_PRIVATE) return HALO_OK;
  return check_refuse(instr,
                      "in a computation that is applied element by element, it may have no "
                      "more than 1024 elements");
}

/* What an instruction is by itself; `called`: in a computation that a kernel applies. */
static halo_status check_instr(const halo_instr *instr, bool called) {
  if (halo_opcode_exec(instr->opcode) == HALO_EXEC_COLLECTIVE) {
    return check_refuse(instr, "it names others than the one replica and partition there is");
  }
  if (called && emit_is_private(instr->opcode)) return check_private(instr);
  if (!check_class(instr->opcode)) {
    return check_refuse(instr,
                        called ? "a computation that is applied element by element cannot hold it"
                               : "the operation has no kernel");
  }
  if (halo_opcode_exec(instr->opcode) == HALO_EXEC_CONTROL) HALO_TRY(check_control(instr));
  if (instr->opcode == HALO_OP_CONSTANT && instr->literal && instr->literal->elided) {
    return check_refuse(instr, "the constant's data was left out of the text ({...})");
  }
  bool product = instr->opcode == HALO_OP_DOT || instr->opcode == HALO_OP_CONVOLUTION;
  if (product && instr->operand_count > 2) {
    return check_refuse(instr, "sparse operands are not supported");
  }
  return HALO_OK;
}

halo_status halo_emitter_check_called(const halo_instr *instr) {
  int32_t called = halo_instr_called_count(instr);
  for (int32_t c = 0; c < called; c++) {
    const halo_computation *computation = halo_instr_called(instr, c);
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      HALO_TRY(check_instr(computation->instrs.data[i], true));
      HALO_TRY(halo_emitter_check_called(computation->instrs.data[i]));
    }
  }
  return HALO_OK;
}

halo_status halo_emitter_check(const halo_instr *instr) {
  HALO_TRY(check_instr(instr, false));
  return halo_emitter_check_called(instr);
}

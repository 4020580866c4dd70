/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/scalar_half.c: operations on f16 that memory's form is enough for: nothing is converted to f32 and back. */
#include "codegen/scalar.h"

const char *halo_scalar_half(const halo_instr *instr, const halo_value *operands,
                             halo_arena *arena) {
  const char *x[3] = {0};
  if (instr->shape->type != HALO_F16 || instr->operand_count > 3) return NULL;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    bool chooses = instr->opcode == HALO_OP_SELECT && i == 0;
    x[i] = chooses ? operands[i].text : operands[i].type == HALO_F16 ? operands[i].stored : NULL;
    if (!x[i]) return NULL;
  }
  halo_opcode op = instr->opcode;
  if (op == HALO_OP_ABS) return halo_arena_printf(arena, "(ushort)(%s & 0x7fff)", x[0]);
  if (op == HALO_OP_NEGATE) return halo_arena_printf(arena, "(ushort)(%s ^ 0x8000)", x[0]);
  if (op == HALO_OP_SIGN) return halo_arena_printf(arena, "h_sign_f16(%s)", x[0]);
  if (op == HALO_OP_MAXIMUM) return halo_arena_printf(arena, "h_max_f16(%s, %s)", x[0], x[1]);
  if (op == HALO_OP_MINIMUM) return halo_arena_printf(arena, "h_min_f16(%s, %s)", x[0], x[1]);
  if (op == HALO_OP_SELECT) return halo_arena_printf(arena, "%s ? %s : %s", x[0], x[1], x[2]);
  if (op == HALO_OP_CLAMP)
    return halo_arena_printf(arena, "h_min_f16(h_max_f16(%s, %s), %s)", x[0], x[1], x[2]);
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer.h: shape inference, the only gate. One function an op or family, named in opcodes.def.
 *
 * Each reads a finished instruction (opcode, operands with shapes, attributes, called computations;
 * for NOINFER ops the written shape too) and gives the result shape in `arena`, or
 * HALO_INVALID_ARGUMENT with a message that names the op, the operand shapes and the broken rule.
 * Pure: no device, no globals. */
#ifndef HALO_HLO_INFER_H
#define HALO_HLO_INFER_H

#include "hlo/hlo.h"

/* Operand count, required attributes, then the op's own function. */
halo_status halo_infer_shape(const halo_instr *instr, halo_arena *arena, const halo_shape **out);

typedef halo_status halo_infer_fn(const halo_instr *instr, halo_arena *arena,
                                  const halo_shape **out);

/* Those of opcodes.def. */
#define OP(id, name, lo, hi, traits, types, infer, ...) halo_infer_fn halo_infer_##infer;
#include "hlo/opcodes.def"
#undef OP

#endif

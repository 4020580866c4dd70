/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/scalar.h: the meaning of every elementwise op as an OpenCL C expression; written once here,
 * it serves loop fusions, maps, reducers and every other computation passed to an op. */
#ifndef HALO_CODEGEN_SCALAR_H
#define HALO_CODEGEN_SCALAR_H

#include "codegen/value.h"
#include "hlo/hlo.h"
#include "kernel/kernel.h"
#include "kernel/prelude.h"

/* Gives the value (an expression in `arena`, or an operand itself) of an elementwise instruction from
 * its operands' values, which are atoms, and adds the sections it needs. `round`: results of narrow
 * floats are rounded to what the type holds (an accumulator may want to stay in f32).
 * HALO_UNIMPLEMENTED for an op and type that has no meaning here. */
halo_status halo_scalar_expr(const halo_instr *instr, const halo_value *operands, bool round,
                             halo_arena *arena, halo_sections *sections, halo_value *out);

/* The result of an instruction on f16 in the form of memory, as an expression of its operands' in that form, for
 * what sorts or moves values and changes signs; NULL: of another type, or one that has no such form. */
const char *halo_scalar_half(const halo_instr *instr, const halo_value *operands,
                             halo_arena *arena);

/* Whether it has a meaning for the opcode. */
bool halo_scalar_knows(halo_opcode opcode);

/* The conversion of a value, an atom, to another element type. */
halo_value halo_scalar_convert(halo_arena *arena, halo_sections *sections, halo_value value,
                               halo_type to);
/* The same of texts; `x` itself when there is nothing to do. `*stored` receives the result as it is in memory, where the
 * conversion rounds to that; it may be NULL. */
const char *halo_scalar_convert_text(halo_arena *arena, halo_sections *sections, halo_type from,
                                     halo_type to, const char *x, const char **stored);

#endif

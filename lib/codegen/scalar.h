/* codegen/scalar.h: the meaning of every elementwise op as an OpenCL C expression; written once here,
 * it serves loop fusions, maps, reducers and every other computation passed to an op. */
#ifndef HALO_CODEGEN_SCALAR_H
#define HALO_CODEGEN_SCALAR_H

#include "codegen/prelude.h"
#include "hlo/hlo.h"

/* Gives the expression (in `arena`) of an elementwise instruction from its operands' expressions
 * (names or literals, of compute types), and adds the sections it needs. `round`: results of narrow
 * floats are rounded to what the type holds (an accumulator may want to stay in f32).
 * HALO_UNIMPLEMENTED for an op and type that has no meaning here. */
halo_status halo_scalar_expr(const halo_instr *instr, const char *const *operands, bool round,
                             halo_arena *arena, halo_sections *sections, const char **out);

/* The conversion of an expression between element types. */
const char *halo_scalar_convert(halo_arena *arena, halo_sections *sections, halo_type from,
                                halo_type to, const char *expr);

#endif

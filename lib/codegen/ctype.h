/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/ctype.h: how XLA's element types are spelled in OpenCL C. Pure text, no emitter state.
 *
 * A value is computed in its compute type (f16, bf16 and f8 in float, sub-byte integers in (u)char,
 * pred in bool) and lies in memory in its storage type (pred as uchar, f16 as ushort, ...). */
#ifndef HALO_CODEGEN_CTYPE_H
#define HALO_CODEGEN_CTYPE_H

#include "base/arena.h"
#include "shape/literal.h"

const char *halo_ctype_compute(halo_type type);
const char *halo_ctype_storage(halo_type type);
/* Bytes of a value of the compute type; a bool counts as one. */
size_t halo_ctype_size(halo_type type);

/* The element type whose scalar helpers serve this one: S4 -> S8, F16 -> F32, ... */
halo_type halo_ctype_carrier(halo_type type);
/* Whether the compute type can hold more values than the type, so that results need rounding or
 * wrapping (halo_ctype_fit). */
bool halo_ctype_is_narrow(halo_type type);

/* Names of the scalar.cl sections that the conversions below need; NULL for none. */
const char *halo_ctype_section(halo_type type);

/* Expressions, in the arena: storage -> compute, compute -> storage, and compute -> compute with the
 * value rounded (floats) or wrapped (integers) to what the type can hold. */
const char *halo_ctype_load(halo_arena *arena, halo_type type, const char *expr);
const char *halo_ctype_store(halo_arena *arena, halo_type type, const char *expr);
const char *halo_ctype_fit(halo_arena *arena, halo_type type, const char *expr);
/* Likewise, of what arithmetic gave, or of a whole number: such values have no NaN that is not quiet, which the
 * rounding of others that are only moved about would have to keep. */
const char *halo_ctype_fit_quiet(halo_arena *arena, halo_type type, const char *expr);
/* The same in the form of storage, in which floats of 16 bits are rounded; NULL: of another type. `quiet`: as of
 * halo_ctype_fit_quiet. */
const char *halo_ctype_fit_stored(halo_arena *arena, halo_type type, const char *expr, bool quiet);

/* Element `i` of a literal as a constant expression of the compute type: exact, INT_MIN and NaN
 * included. */
const char *halo_ctype_constant(halo_arena *arena, const halo_literal *literal, int64_t i);
const char *halo_ctype_constant_i64(halo_arena *arena, halo_type type, int64_t value);

#endif

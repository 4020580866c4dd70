/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/simplify.h: exact rewrites of a module into fewer and plainer instructions.
 *
 * In: any verified module. Out: one with the same results, in the forms that the rest of the library knows. The passes:
 *
 *   inline_calls.c    calls, fusions and short asynchronous wrappers become what they call (async_pairs.c says which
 *                     wrappers stay, to run beside other work)
 *   canonicalize.c    identity operations go; old forms, mixed element types (mixed.c), comparisons and bitwise
 *                     operations of other types (canonical_types.c) become plain ones
 *   simplify.c        algebraic rules, a table by opcode: unary.c, arith.c, moves.c, slices.c, pads.c, sort.c, control.c;
 *                     constants.c has what they ask of constants
 *   constant_folding.c, cse.c, dce.c, tuples.c     what their names say
 *   rectify.c         x > 0 beside max(x, 0) becomes a comparison of the maximum, so that x need not be kept
 *
 * To add a rule: a function in the file of its operations, called from that file's function in the table of simplify.c, and
 * a module before and after it in tests/golden/passes.
 *
 * A rule looks at one instruction, whose operands are resolved, and returns what can stand for it (an
 * operand, or new instructions) or NULL. What it returns has the same element type and dimensions.
 * Rules are exact: they give the same value for every input, NaN, infinities, signed zeros and
 * wrapping included (payloads and signs of NaN apart). Where a comparator leaves the order of a sort open, it is
 * one of several (sort.c). */
#ifndef HALO_PASSES_SIMPLIFY_SIMPLIFY_H
#define HALO_PASSES_SIMPLIFY_SIMPLIFY_H

#include "rewrite/rewrite.h"

typedef halo_instr *halo_simplify_fn(halo_rewriter *r, halo_instr *instr);

/* arith.c */
halo_simplify_fn halo_simplify_binary; /* every binary arithmetic and logic op */
halo_simplify_fn halo_simplify_compare, halo_simplify_select;
/* unary.c */
halo_simplify_fn halo_simplify_negate, halo_simplify_not, halo_simplify_abs, halo_simplify_real,
    halo_simplify_imag, halo_simplify_complex, halo_simplify_reduce_precision;
halo_simplify_fn halo_simplify_convert, halo_simplify_bitcast_convert;
/* moves.c */
halo_simplify_fn halo_simplify_reshape, halo_simplify_transpose, halo_simplify_broadcast,
    halo_simplify_reverse, halo_simplify_pad, halo_simplify_iota;
/* slices.c */
halo_simplify_fn halo_simplify_slice, halo_simplify_concatenate, halo_simplify_dynamic_slice,
    halo_simplify_dynamic_update_slice;
/* sort.c: a slice of `leaf`, a get-tuple-element: the first of what a sort gives are the largest or smallest. */
halo_instr *halo_simplify_sorted(halo_rewriter *r, halo_instr *instr, halo_instr *leaf);
/* pads.c */
halo_simplify_fn halo_simplify_add;
/* control.c */
halo_simplify_fn halo_simplify_reduce, halo_simplify_dot, halo_simplify_conditional,
    halo_simplify_while;

/* ---- Shared by the rules (constants.c) ---- */

/* Operand `i` of an instruction that is not the one at hand, resolved. */
static inline halo_instr *halo_simplify_arg(const halo_instr *instr, int32_t i) {
  return halo_rewrite_resolve(instr->operands[i]);
}
/* The scalar instruction when `instr` is broadcast(scalar), or a scalar itself; else NULL. */
halo_instr *halo_simplify_scalar(halo_instr *instr);
/* The scalar's literal when `instr` is a scalar constant or broadcast(scalar constant); else NULL. */
const halo_literal *halo_simplify_splat(const halo_instr *instr);
/* Whether it is such a constant of an integer or pred type and equals `value` (wrapped). */
bool halo_simplify_is_int(const halo_instr *instr, int64_t value);
/* Whether it is such a constant of a real float type and equals `value`, its sign of zero included. */
bool halo_simplify_is_float(const halo_instr *instr, double value);
/* broadcast(constant) of an integer value in `like`'s element type, dimensions and layout. */
halo_instr *halo_simplify_fill(halo_rewriter *r, const halo_instr *like, int64_t value);

#endif

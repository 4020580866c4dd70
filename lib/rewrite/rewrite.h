/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite/rewrite.h: replacing instructions of a computation in time linear in its size.
 *
 *   halo_rewriter r;
 *   halo_rewrite_begin(&r, computation);
 *   for (int32_t i = 0; i < computation->instrs.count; i++) {   // grows while rules add instructions
 *     halo_instr *instr = halo_rewrite_next(&r, i);
 *     if (instr && ...) halo_rewrite_replace(&r, instr, better);
 *   }
 *   HALO_TRY(halo_rewrite_end(&r, &changed));
 *
 * A replaced instruction points to its successor through `data` until the end, which makes all uses
 * follow, drops the replaced ones and restores the order. So `data` and `mark` of the computation's
 * instructions belong to the rewriter in between. New instructions go to the end of the list. */
#ifndef HALO_REWRITE_REWRITE_H
#define HALO_REWRITE_REWRITE_H

#include "hlo/hlo.h"

typedef struct halo_rewriter {
  halo_computation *computation;
  bool changed;        /* rules that change an instruction in place set it themselves */
  int64_t copies_left; /* instructions that rules may still copy from other computations */
} halo_rewriter;

void halo_rewrite_begin(halo_rewriter *r, halo_computation *computation);
/* The i-th instruction with its operands resolved; NULL when it has been replaced already. */
halo_instr *halo_rewrite_next(halo_rewriter *r, int32_t i);
/* What stands for `instr` now: itself, or the last of its successors. */
halo_instr *halo_rewrite_resolve(halo_instr *instr);
/* Has control edges, in or out: not to be replaced by rules that do not think of order. */
bool halo_rewrite_pinned(const halo_instr *instr);
/* All users of `instr` shall use `with`, which must not depend on `instr`. Whoever is ordered after
 * `instr`, by data or by a control edge, is then ordered after its control predecessors too. */
void halo_rewrite_replace(halo_rewriter *r, halo_instr *instr, halo_instr *with);
/* Makes `instr` run after `pred`; nothing when it does already by this very edge. */
void halo_rewrite_add_control_pred(halo_instr *instr, halo_instr *pred);
/* Ends the rewriting; sets *changed (never clears it) when anything was replaced or marked changed.
 * HALO_INTERNAL when the new edges form a cycle. */
halo_status halo_rewrite_end(halo_rewriter *r, bool *changed);

/* A pass whose work is by computation: `run` for each that the module has when it begins, until one fails. *changed is false
 * before; `run` sets it. */
typedef halo_status halo_rewrite_run(halo_computation *computation, bool *changed);
halo_status halo_rewrite_computations(halo_module *module, halo_rewrite_run *run, bool *changed);
/* A pass whose work is by instruction: `rule` for each of the module's, and for those that rules add, with its operands
 * resolved. *changed says exactly whether anything was. */
typedef void halo_rewrite_rule(halo_rewriter *r, halo_instr *instr);
halo_status halo_rewrite_instrs(halo_module *module, halo_rewrite_rule *rule, bool *changed);

/* ---- New instructions: line and metadata come from `like` (never NULL); shapes are used as they
 * are and must live in the module's arena; list data is copied there. ---- */

halo_instr *halo_rewrite_make(halo_rewriter *r, const halo_instr *like, halo_opcode opcode,
                              const halo_shape *shape, halo_instr *const *operands,
                              int32_t operand_count, const halo_attr *attrs, int32_t attr_count);
halo_instr *halo_rewrite_make_unary(halo_rewriter *r, const halo_instr *like, halo_opcode opcode,
                                    const halo_shape *shape, halo_instr *operand);
halo_instr *halo_rewrite_make_binary(halo_rewriter *r, const halo_instr *like, halo_opcode opcode,
                                     const halo_shape *shape, halo_instr *lhs, halo_instr *rhs);
/* An operation with one list attribute: broadcast, transpose, slice, ... */
halo_instr *halo_rewrite_make_listed(halo_rewriter *r, const halo_instr *like, halo_opcode opcode,
                                     const halo_shape *shape, halo_instr *operand,
                                     halo_attr_id attr, const int64_t *list, int32_t count);
halo_instr *halo_rewrite_make_gte(halo_rewriter *r, const halo_instr *like, halo_instr *tuple,
                                  int64_t index);
/* A constant; `literal`'s reference is taken over, or stays with the caller. */
halo_instr *halo_rewrite_make_constant(halo_rewriter *r, const halo_instr *like,
                                       halo_literal *literal);
halo_instr *halo_rewrite_make_shared_constant(halo_rewriter *r, const halo_instr *like,
                                              halo_literal *literal);
/* A scalar constant of any type, from an integer. */
halo_instr *halo_rewrite_make_scalar(halo_rewriter *r, const halo_instr *like, halo_type type,
                                     int64_t value);
/* broadcast(scalar) to an array shape; the scalar itself when the shape is a scalar. */
halo_instr *halo_rewrite_make_splat(halo_rewriter *r, const halo_instr *like, halo_instr *scalar,
                                    const halo_shape *shape);
/* Rewrites a bitcast into operations whose results do not depend on layouts (bitcast.c). Shapes are static. */
halo_instr *halo_bitcast_expand(halo_rewriter *r, halo_instr *bitcast);
/* An INTS-like attribute whose list is copied into the module. */
halo_attr halo_rewrite_list_attr(halo_module *module, halo_attr_id id, const int64_t *list,
                                 int32_t count);

#endif

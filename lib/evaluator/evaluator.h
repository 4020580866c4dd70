/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/evaluator.h: a slow, plain interpreter of HLO on literals: constant folding, and the
 * oracle of the generated tests. It shares no code with codegen or kernels.
 *
 * Everything here reads verified modules only (inference has accepted each instruction), changes
 * nothing in them and keeps no state: safe from several threads at once. Literals are row-major
 * whatever their layouts say; only `bitcast` looks at the layouts of its shapes. A value with dynamic
 * dimensions is a literal of the extents that it has. */
#ifndef HALO_EVALUATOR_EVALUATOR_H
#define HALO_EVALUATOR_EVALUATOR_H

#include "hlo/hlo.h"

/* The value of a computation's root. `args` holds one literal a parameter, each compatible with the
 * parameter's shape (HALO_INVALID_ARGUMENT otherwise); they are borrowed. *out is a new reference,
 * which may be one of the arguments' own. HALO_UNIMPLEMENTED names the first instruction that is
 * needed and cannot be evaluated; HALO_OUT_OF_MEMORY. A `while` that never ends never returns. */
halo_status halo_evaluate(const halo_computation *computation, halo_literal *const *args,
                          int32_t arg_count, halo_literal **out);

/* The value of one instruction given its operands' values [instr->operand_count]. Not for
 * parameters. Otherwise as halo_evaluate. */
halo_status halo_evaluate_instr(const halo_instr *instr, halo_literal *const *operands,
                                halo_literal **out);

/* Whether halo_evaluate_instr can do it: opcode, element types, static shapes, and everything in the
 * computations it calls. False for instructions with side effects, for parameters, and for call
 * trees too large to look through. */
bool halo_evaluator_supports(const halo_instr *instr);

/* What evaluating it costs, roughly: scalar operations, elements read and written included. INT64_MAX
 * when it cannot be bounded (`while`, or a call tree too large to look through). */
int64_t halo_evaluator_cost(const halo_instr *instr);

#endif

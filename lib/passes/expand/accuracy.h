/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/accuracy.h: how exact the functions are that kernels call: docs/accuracy.md has it in words. */
#ifndef HALO_PASSES_EXPAND_ACCURACY_H
#define HALO_PASSES_EXPAND_ACCURACY_H

#include "hlo/hlo.h"

/* How many ULP (units in the last place of `type`) a normal result may be away from the true value: what
 * the opcode table promises of the function, or what follows from that for those made of several.
 * 0 where nothing is promised: complex numbers, and opcodes that take no result_accuracy. */
int32_t halo_accuracy_bound(const halo_target *target, halo_opcode opcode, halo_type type);

#endif

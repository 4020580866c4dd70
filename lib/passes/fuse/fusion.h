/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/fusion.h: what the plan asks of fusion. */
#ifndef HALO_PASSES_FUSE_FUSION_H
#define HALO_PASSES_FUSE_FUSION_H

#include "hlo/hlo.h"

/* Whether an instruction of a computation that a plan walks (entry, loop body, branch) is computed by
 * a kernel, rather than being a value, a tuple, control flow over arrays, or ordering. */
bool halo_fusion_is_compute(const halo_instr *instr);

/* A computation that holds just a copy of this instruction, with one parameter an operand: what the
 * plan makes of instructions that fusion left alone. Added to the module's computations. */
halo_computation *halo_fusion_wrap(halo_instr *instr);

/* Appends a copy of an instruction to a fused body, with these operands. */
halo_instr *halo_fusion_copy(halo_computation *body, const halo_instr *instr,
                             halo_instr *const *operands);
/* Appends parameter `n` of a fused body, named "param_<n>", in the place of `input`. */
halo_instr *halo_fusion_parameter(halo_computation *body, const halo_instr *input, int32_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/fusion.h: groups of instructions that one kernel computes.
 *
 * In: a simplified module, everything inside row-major. Out: the same module in which each group is a fusion
 * instruction, whose computation is the kernel's body. The plan makes a step of each fusion and of each instruction that
 * was left alone. The module's target (hlo/target.h) decides which values are worth a buffer. The passes, in order:
 *
 *   placed_updates.c  a row that is put into a value which is made and read elementwise is chosen by its position, so that
 *                     the value needs no memory
 *   attention.c       a product, the softmax of its rows and a product with that
 *   lapack.c          small factorisations that LAPACK would do on the host
 *   fusion.c          each instruction is materialised, with a kernel and a buffer of its own, or computed inside its
 *                     users' kernels; updates.c then keeps updates in place, and build.c makes the fusions
 *   rows.c            fusions over the same rows become one that goes over a row several times: a softmax is one kernel
 *   multi_output.c    fusions over the same elements become one with several results
 *
 * groups.c joins fusions without making cycles. Below: what the plan asks. */
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

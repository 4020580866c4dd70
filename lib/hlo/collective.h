/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/collective.h: who takes part in a collective, in a program of several replicas and partitions. All
 * that run it are numbered through: replica * num_partitions + partition. */
#ifndef HALO_HLO_COLLECTIVE_H
#define HALO_HLO_COLLECTIVE_H

#include "hlo/hlo.h"

/* How many there are in all. */
int64_t halo_collective_world(const halo_module *module);

/* The groups of a collective by these numbers, in `arena`, by what channel_id and use_global_device_ids make of
 * the ids that are written (four modes: replicas of one partition, partitions of one replica, replicas with all
 * their partitions, and the numbers themselves). Without written groups all are one. HALO_INVALID_ARGUMENT for ids
 * that there are not. */
halo_status halo_collective_groups(const halo_instr *instr, halo_arena *arena, halo_groups *out);
/* source_target_pairs likewise: [2 *count]. */
halo_status halo_collective_pairs(const halo_instr *instr, halo_arena *arena, int64_t **out,
                                  int32_t *count);

/* The shape of a collective's results. The start of an all-reduce may be written with the shape (operands, results), as
 * other starts are: then it is part 1 of that. NULL where no shape is written. */
const halo_shape *halo_collective_result(const halo_instr *instr);

/* The members of each group; 0 when they differ. */
int64_t halo_collective_size(const halo_groups *groups);

/* The order in which a reduction combines what members give: one after the other as XLA does it; from 32 on, where
 * all groups have as many, neighbours first, then pairs of these and so on: programs grow with the logarithm. */
bool halo_collective_in_pairs(const halo_groups *groups);

/* What a reducer does to its two parameters, where that is one elementwise operation on their type. */
bool halo_collective_plain_reducer(const halo_computation *reducer, halo_opcode *opcode);
/* Whether it is one of those that the host does as devices do, on elements of this type: sums, products, extremes,
 * and, or, xor of numbers of whole bytes that C has, of bf16, f16 and pred, and sums of complex numbers. */
bool halo_collective_folds(const halo_computation *reducer, halo_type type);

#endif

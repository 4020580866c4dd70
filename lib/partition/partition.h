/* SPDX-License-Identifier: Apache-2.0 */
/* partition/partition.h: the partitioner (docs/partitioning.md says what users see of it).
 *
 * In: a module for several partitions whose shapes are those of whole arrays, with shardings at some instructions. Out: the
 * program of one partition, with local shapes and the collectives between partitions.
 *
 * The partitions are a mesh: their number is a product of primes, and each prime factor is an axis. A sharding gives each
 * dimension of an array a list of axes, the major one first; the array is replicated over axes that it does not name.
 * The steps, in the order of partition.c:
 *
 *   borders.c    slices, pads and concatenations that shift an array become pads and rotations
 *   mesh.c       chooses the mesh and reads shardings as axes; shardings and local shapes
 *   annotate.c   makes a node for each instruction, a leaf for each of its arrays, and notes what the module says
 *                (marks.c: markers, frontend attributes)
 *   rules.c      a row an operation: which dimensions of its operands and results are sharded together, as factors.
 *                rule.c is what rows are made of; rules_indexed.c, batch.c and custom.c have the rules of gather and
 *                scatter, batched calls and calls with a partitioner of their own
 *   summands.c   which values may stay unreduced, one summand a partition
 *   propagate.c  spreads axes along the rules until nothing changes
 *   write.c      writes each computation with local shapes: ops.c by rule (assign.c chooses the axes of each operation by
 *                the bytes that move), indexed.c, scatter.c, windows.c and borders.c for operations that need indices or
 *                their neighbours' elements, single.c for what happens once, entry.c for parameters and results
 *   reshard.c    changes one sharding into another, the cheapest way that is known
 *   tidy.c       joins and removes collectives of the written computation
 *
 * To add an operation: a row in rules.c, and a function in ops.h if its attributes or indices change with the shapes. */
#ifndef HALO_PARTITION_PARTITION_H
#define HALO_PARTITION_PARTITION_H

#include "hlo/hlo.h"

/* Whether a module is to be partitioned: it has several partitions and shardings, and nobody has done it yet. */
bool halo_partition_is_wanted(const halo_module *module);
/* Partitions a module of which that is true, and in which nothing is called but by loops, branches and what applies
 * computations to elements (after halo_pass_inline_calls). HALO_INVALID_ARGUMENT for shardings that do not fit,
 * HALO_UNIMPLEMENTED for what cannot be partitioned; the module may only be released then. */
halo_status halo_partition(halo_module *module);

#endif

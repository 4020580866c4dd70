/* SPDX-License-Identifier: Apache-2.0 */
/* spmd.h: programs of several partitions on the evaluator, in lock step; and arrays cut as shardings say. */
#ifndef TESTS_OPS_SPMD_H
#define TESTS_OPS_SPMD_H

#include "evaluator/evaluator.h"

/* What went over between partitions: of each kind, how many operations and how many bytes each partition
 * received. Loops count each round. */
typedef struct spmd_traffic {
  int gathers, reductions, scatters, swaps, permutes;
  int64_t bytes, largest_gather; /* bytes of the largest result of an all-gather */
} spmd_traffic;

/* The values of a computation's root on each of `parts` partitions of one replica. args[part] holds one literal a
 * parameter; out [parts] receives new references. `traffic` may be NULL. */
halo_status spmd_evaluate(const halo_computation *computation, halo_literal *const *const *args,
                          int parts, spmd_traffic *traffic, halo_literal **out);

/* The piece of an array that a partition has; what lies behind the array is 0xa5 in each byte, so that reading it
 * shows. */
halo_literal *spmd_cut(const halo_literal *whole, const halo_sharding *sharding, int part);
/* Puts a piece into the array. False when the piece has another shape, or when elements that an earlier piece gave
 * too (`seen` [elements]) differ. */
bool spmd_join(halo_literal *whole, const halo_literal *piece, const halo_sharding *sharding,
               int part, unsigned char *seen);
/* Literals of all leaves: halo_literal_element over all depths. Returns how many. */
int spmd_leaves(halo_literal *value, halo_literal **out, int most);

#endif

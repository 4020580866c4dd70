/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/reduction.h: the reductions that a fused computation ends in: its root is one, finishes some
 * elementwise, or is a tuple of such results. */
#ifndef HALO_HLO_REDUCTION_H
#define HALO_HLO_REDUCTION_H

#include "hlo/hlo.h"

enum { HALO_REDUCE_HEROES = 16, HALO_REDUCE_VALUES = 32 };

/* One accumulator: a leaf of a reduction. */
typedef struct halo_reduce_value {
  const halo_instr *reduce;
  int32_t leaf;
  halo_type type;        /* of the result */
  halo_type accumulator; /* f32 for narrower floats */
} halo_reduce_value;

/* Reductions over the same dimensions of operands of the same dimensions: a row-major [outer, n, inner]
 * array of which n is reduced. */
typedef struct halo_reduce_desc {
  const halo_instr *heroes[HALO_REDUCE_HEROES];
  int32_t hero_count;
  halo_reduce_value values[HALO_REDUCE_VALUES]; /* of all heroes, one after the other */
  int32_t value_count;
  int64_t outer, n, inner;
  const halo_shape *in, *out; /* dimensions of all operands and of all results */
  bool ordered;               /* a body may not commute: elements must not change places */
} halo_reduce_desc;

/* Of a module's header: "true" where reductions by a body that is not known to be associative combine their elements
 * one after the other (HALO_STRICT_ORDER). */
#define HALO_STRICT_ORDER_ATTR "halo_strict_order"

/* Finds the reductions that the root is, or comes from by operations that stay at the result's own
 * position: elementwise ones, reshapes and copies. None: hero_count is 0. Only `heroes` is filled in. */
void halo_reduce_find(const halo_computation *body, halo_reduce_desc *out);
/* Whether all of them, and what follows them, can be computed together, each input element being read
 * once; the description is complete then. Otherwise *why says why not. */
bool halo_reduce_describe(const halo_computation *body, halo_reduce_desc *out, const char **why);
/* The same of one reduction alone, whatever follows it. */
bool halo_reduce_describe_one(const halo_instr *reduce, halo_reduce_desc *out, const char **why);
/* Whether a parameter is read by what follows the reductions of a complete description alone, and at the
 * result's own position: it may then be the result of another such reduction, made by the same kernel. */
bool halo_reduce_reads_behind(const halo_computation *body, const halo_reduce_desc *desc,
                              int64_t parameter);
/* Whether the reductions of two complete descriptions may be computed by one kernel over one input. */
bool halo_reduce_match(const halo_reduce_desc *a, const halo_reduce_desc *b);

#endif

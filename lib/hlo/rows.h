/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/rows.h: computations over rows. A row-major array of outer * n elements is `outer` rows of n; beside
 * such arrays there are ones of one element a row. Reductions of rows, and everything that stays in its
 * row, can be chained in one kernel, which goes over a row several times: softmax, layer norm and their
 * kin. */
#ifndef HALO_HLO_ROWS_H
#define HALO_HLO_ROWS_H

#include "hlo/reduction.h"

enum {
  HALO_ROWS_HEROES = 8,
  HALO_ROWS_GROUP = 256 /* work items that share a row, at most, where they are a work group */
};

typedef struct halo_rows {
  int64_t outer, n;
} halo_rows;

/* A reduction of rows to one value each. */
typedef struct halo_rows_hero {
  halo_reduce_value value;
  int32_t phase; /* its elements are made of results of earlier phases */
} halo_rows_hero;

typedef struct halo_rows_desc {
  halo_rows rows;
  halo_rows_hero heroes[HALO_ROWS_HEROES]; /* by rising phase */
  int32_t count, phases;
  bool elements; /* a result has an element for each of a row */
  /* Bit p: parameter p has an element for each of the rows', or one a row, and results need no other than
   * those of their own row, an element of many only at its own place or reduced. Parameters beyond 63 have
   * none. */
  uint64_t reads;
} halo_rows_desc;

/* Whether an instruction reduces the elements of rows that lie together, by an operation that may be
 * reordered, to one value a row. */
bool halo_rows_of(const halo_instr *reduce, halo_rows *out, halo_reduce_value *value);
/* Whether a kernel of these rows can compute the body row by row, with its reductions one after the other; the
 * description is complete then. Otherwise *why says why not. */
bool halo_rows_follow(const halo_computation *body, halo_rows rows, halo_rows_desc *out,
                      const char **why);
/* The same with the rows of one of its reductions, if a kernel for reductions alone would not do. */
bool halo_rows_describe(const halo_computation *body, halo_rows_desc *out, const char **why);
/* Whether a broadcast gives all elements of a row the operand's value for that row. */
bool halo_rows_spreads(const halo_instr *broadcast, halo_rows rows);

#endif
